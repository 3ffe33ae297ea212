/*
 * Watcher: the system memory for what a driver keeps in local memory beside allocations (PWR-012,
 * PWR-016 to PWR-021).
 *
 * Which bytes it saves there, and when it brings them back, is the driver's choice: what is judged
 * is how it asks for the area, and what it does when it does not get it whole.
 */
#include "check/check_watch.h"

#include <string.h>

#define MOST_PIECES 16u /* that are mapped at a time; further ones are not followed */

struct save_area_watch {
    uint64_t most;    /* DXGK_FRAMEBUFFERSAVEAREA.MaximumSize */
    bool is_remapped; /* the driver says so: DXGK_IOMMU_CAPS.DmaRemappingSupported */
    bool has_asked;
    bool is_pinned;
    bool is_refused; /* a lawful pin has failed, and nothing else was asked for since */
    const void *pieces[MOST_PIECES];
    unsigned piece_count, unfollowed;
};

/* ---- As a whole ------------------------------------------------------------------------------ */

static bool check_commit(struct check *check, const struct save_area_watch *watch, uint64_t bytes)
{
    return CHECK_RULE(check, RULE_PWR_016, bytes && bytes % PAGE_SIZE == 0 && bytes <= watch->most,
                      NULL, "CommitSize",
                      "is {0x%llx} (expected {=a multiple of 0x1000, up to 0x%llx}, which "
                      "DXGK_FRAMEBUFFERSAVEAREA.MaximumSize says)",
                      (unsigned long long)bytes, (unsigned long long)watch->most);
}

static void check_level(struct check *check)
{
    CHECK_RULE(check, RULE_PWR_019, check_irql(check) == PASSIVE_LEVEL, NULL, "",
               "is called at IRQL {%u} (expected {=PASSIVE_LEVEL})", check_irql(check));
}

/* got: the bytes that the MDL or the ADL describes. */
static void pinned(struct check *check, struct save_area_watch *watch, uint64_t bytes, uint64_t got,
                   NTSTATUS status)
{
    const bool is_once = CHECK_RULE(check, RULE_PWR_018, !watch->is_pinned, NULL, "",
                                    "is called for what is pinned, and not unpinned since");

    check_level(check);
    if (!check_commit(check, watch, bytes) || !is_once)
        return;
    watch->is_pinned = NT_SUCCESS(status);
    watch->is_refused = !watch->is_pinned;
    if (watch->is_pinned)
        CHECK_RULE(check, RULE_PWR_021, got == bytes, NULL, "",
                   "gives {%llu} bytes (expected {=%llu})", (unsigned long long)got,
                   (unsigned long long)bytes);
}

static void pinned_list(struct check *check, struct save_area_watch *watch,
                        const DXGKARGCB_PINFRAMEBUFFERFORSAVE *arg, NTSTATUS status)
{
    const MDL *mdl = NT_SUCCESS(status) ? arg->pMdl : NULL;

    if (CHECK_RULE(check, RULE_PWR_020, !watch->is_remapped, NULL, "",
                   "gives an MDL, which is not for a device behind a remapping IOMMU "
                   "(DxgkCbPinFrameBufferForSave2 gives an ADL)"))
        pinned(check, watch, arg->CommitSize, mdl ? mdl->ByteCount : 0, status);
}

static void pinned_adl(struct check *check, struct save_area_watch *watch,
                       const DXGKARGCB_PINFRAMEBUFFERFORSAVE2 *arg, NTSTATUS status)
{
    const DXGK_ADL *adl = NT_SUCCESS(status) ? arg->pAdl : NULL;

    if (watch->is_remapped)
        check_looked_at(check, RULE_PWR_020);
    pinned(check, watch, arg->CommitSize, adl ? (uint64_t)adl->PageCount * PAGE_SIZE : 0, status);
}

static void unpinned(struct check *check, struct save_area_watch *watch)
{
    check_level(check);
    CHECK_RULE(check, RULE_PWR_018, watch->is_pinned, NULL, "",
               "is called for what is not pinned, or was unpinned before");
    watch->is_pinned = false;
}

/* ---- In pieces ------------------------------------------------------------------------------- */

static void follow(struct save_area_watch *watch, const void *piece)
{
    if (watch->piece_count < MOST_PIECES)
        watch->pieces[watch->piece_count++] = piece;
    else
        watch->unfollowed++;
}

static void mapped(struct check *check, struct save_area_watch *watch,
                   const DXGKARGCB_MAPFRAMEBUFFERPOINTER *arg, uint64_t offset, NTSTATUS status)
{
    const bool is_inside =
        arg->Size && arg->Size <= watch->most && offset <= watch->most - arg->Size;

    if (!CHECK_RULE(check, RULE_PWR_017,
                    is_inside && arg->Size % PAGE_SIZE == 0 && offset % PAGE_SIZE == 0, NULL,
                    "Size, Offset",
                    "are {0x%llx at 0x%llx} (expected {=multiples of 0x1000, within 0x%llx}, which "
                    "DXGK_FRAMEBUFFERSAVEAREA.MaximumSize says)",
                    (unsigned long long)arg->Size, (unsigned long long)offset,
                    (unsigned long long)watch->most))
        return;
    watch->is_refused = false; /* it goes on in pieces, whatever comes of this one */
    if (NT_SUCCESS(status))
        follow(watch, arg->pBaseAddress);
}

static void unmapped(struct check *check, struct save_area_watch *watch,
                     const DXGKARGCB_UNMAPFRAMEBUFFERPOINTER *arg)
{
    unsigned i = 0;

    while (i < watch->piece_count && watch->pieces[i] != arg->pBaseAddress)
        i++;
    if (i == watch->piece_count && watch->unfollowed) {
        watch->unfollowed--;
        return;
    }
    if (CHECK_RULE(check, RULE_PWR_018, i < watch->piece_count, NULL, "pBaseAddress",
                   "is none that DxgkCbMapFrameBufferPointer gave, or was unmapped before"))
        watch->pieces[i] = watch->pieces[--watch->piece_count];
}

/* ---- The watcher ----------------------------------------------------------------------------- */

static void callback(struct check *check, void *state, const struct check_callback *event)
{
    const struct miniport_memory_request *request = event->data;
    struct save_area_watch *watch = state;

    if (event->callback != TRACE_CALLBACK_memory || !miniport_memory_is_of_save_area(request->kind))
        return;
    watch->has_asked = true;
    switch ((unsigned)request->kind) {
    case MINIPORT_MEMORY_pin_save_area:
        pinned_list(check, watch, request->pin_save_area, event->status);
        break;
    case MINIPORT_MEMORY_pin_save_area_2:
        pinned_adl(check, watch, request->pin_save_area_2, event->status);
        break;
    case MINIPORT_MEMORY_unpin_save_area:
        unpinned(check, watch);
        break;
    case MINIPORT_MEMORY_map_save_area:
        mapped(check, watch, request->map_save_area, event->offset, event->status);
        break;
    case MINIPORT_MEMORY_unmap_save_area:
        unmapped(check, watch, request->unmap_save_area);
        break;
    default:
        break;
    }
}

static void note_query(struct save_area_watch *watch, const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_FRAMEBUFFERSAVEAREA area;
    DXGK_IOMMU_CAPS caps;

    if (!query->pOutputData)
        return;
    if (query->Type == DXGKQAITYPE_FRAMEBUFFERSAVESIZE && query->OutputDataSize >= sizeof area) {
        memcpy(&area, query->pOutputData, sizeof area);
        watch->most = area.MaximumSize;
    } else if (query->Type == DXGKQAITYPE_IOMMU_CAPS && query->OutputDataSize >= sizeof caps) {
        memcpy(&caps, query->pOutputData, sizeof caps);
        watch->is_remapped = caps.DmaRemappingSupported;
    }
}

static void after_power(struct check *check, struct save_area_watch *watch)
{
    if (!watch->has_asked)
        return;
    CHECK_RULE(check, RULE_PWR_012, !watch->is_refused, NULL, "",
               "returns without what it was to save or to bring back: the save area could not be "
               "pinned, and the driver maps no piece of it (expected {=pieces by "
               "DxgkCbMapFrameBufferPointer})");
    watch->is_refused = false;
}

static void at_end(struct check *check, struct save_area_watch *watch)
{
    if (watch->has_asked)
        CHECK_RULE(
            check, RULE_PWR_018, !watch->is_pinned && !watch->piece_count && !watch->unfollowed,
            NULL, "", "leaves the save area {%s, %u pieces mapped} (expected {=unpinned, 0})",
            watch->is_pinned ? "pinned" : "unpinned", watch->piece_count + watch->unfollowed);
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    if (call->ddi == MINIPORT_DDI_SetPowerState)
        after_power(check, state);
    else if (call->ddi == MINIPORT_DDI_RemoveDevice)
        at_end(check, state);
    else if (NT_SUCCESS(call->status))
        note_query(state, call->arg.query_adapter_info);
}

const struct check_watcher check_save_area_watcher = {
    .name = "save area",
    .state_bytes = sizeof(struct save_area_watch),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_QueryAdapterInfo, MINIPORT_DDI_SetPowerState,
                               MINIPORT_DDI_RemoveDevice),
    .callback = callback,
};
