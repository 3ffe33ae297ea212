/*
 * Watcher: aperture segments (APER, ADL), as the operations name slots and as the GPU has them.
 *
 * The account changes when an operation is built, the GPU's slots when its packet runs. A few slots
 * of an operation are compared when its packet retires: the first, the last and some between; one
 * that is wrong then may be late (APER-014). All of them are compared when nothing is built and
 * under way, and at the end, where the GPU's slots must still be what they were (APER-013).
 *
 * A reset or a sleep ends all knowledge: nothing is expected of a slot before it is named again,
 * and it may be unmapped once whatever it showed (APER-018).
 */
#include "check/watchers/aperture/check_aperture.h"

#include "base/bits.h"
#include "base/hash.h"
#include "miniport/operation.h"
#include "miniport/poison.h"

#include <stdio.h>
#include <string.h>

#define SAMPLES        2u  /* slots between the first and the last */
#define DUMMY_INTERVAL 64u /* quiet moments between two looks at the dummy page */

static bool read_request(const DXGKARG_BUILDPAGINGBUFFER *arg, struct request *out)
{
    *out = (struct request){0};
    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        *out = (struct request){
            .kind = CLAIM_MDL,
            .device = arg->MapApertureSegment.hDevice,
            .allocation = arg->MapApertureSegment.hAllocation,
            .segment = arg->MapApertureSegment.SegmentId,
            .first = arg->MapApertureSegment.OffsetInPages,
            .count = arg->MapApertureSegment.NumberOfPages,
            .list_offset = arg->MapApertureSegment.MdlOffset,
            .is_coherent = arg->MapApertureSegment.Flags.CacheCoherent,
            .mdl = arg->MapApertureSegment.pMdl,
        };
        return true;
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT2:
        *out = (struct request){
            .kind = CLAIM_ADL,
            .device = arg->MapApertureSegment2.hDevice,
            .allocation = arg->MapApertureSegment2.hAllocation,
            .segment = arg->MapApertureSegment2.SegmentId,
            .first = arg->MapApertureSegment2.OffsetInPages,
            .count = arg->MapApertureSegment2.NumberOfPages,
            .list_offset = arg->MapApertureSegment2.AdlOffset,
            .is_coherent = arg->MapApertureSegment2.Flags.CacheCoherent,
            .adl = &arg->MapApertureSegment2.Adl,
            .cpu_view = arg->MapApertureSegment2.CpuVisibleAddress,
        };
        return true;
    case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
        *out = (struct request){
            .kind = CLAIM_UNMAP,
            .device = arg->UnmapApertureSegment.hDevice,
            .allocation = arg->UnmapApertureSegment.hAllocation,
            .segment = arg->UnmapApertureSegment.SegmentId,
            .first = arg->UnmapApertureSegment.OffsetInPages,
            .count = arg->UnmapApertureSegment.NumberOfPages,
            .dummy = (uint64_t)arg->UnmapApertureSegment.DummyPage.QuadPart,
        };
        return true;
    default:
        return false;
    }
}

static uint64_t page_of(const struct request *request, uint64_t i)
{
    uint64_t at = request->list_offset + i;

    switch (request->kind) {
    case CLAIM_UNMAP:
        return request->dummy / APERTURE_PAGE;
    case CLAIM_MDL:
        return ((const PFN_NUMBER *)(request->mdl + 1))[at];
    case CLAIM_ADL:
        return request->adl->Flags.Contiguous ? request->adl->BasePageNumber + at
                                              : request->adl->Pages[at];
    }
    return 0;
}

/* ---- The GPU's slots ------------------------------------------------------------------------- */

static const char *claim_operation(const struct claim *claim)
{
    return claim->kind == CLAIM_UNMAP ? "UNMAP_APERTURE_SEGMENT"
           : claim->kind == CLAIM_MDL ? "MAP_APERTURE_SEGMENT"
                                      : "MAP_APERTURE_SEGMENT2";
}

static bool find_shown(struct check *check, unsigned segment_id, uint64_t slot, uint64_t *out_page)
{
    const struct check_config *config = check_configuration(check);
    const struct check_segment *segment = check_find_segment(check_ledger(check), segment_id);

    *out_page = 0;
    return segment && config->slot_page(config->context, segment->base, slot, out_page);
}

/* An operation has said which page the slot shows, and nothing has taken that back. */
static bool is_told(const struct aperture_watch *watch, const struct slot *slot)
{
    return slot && slot->claim && slot->claim->is_built && slot->claim->epoch == watch->epoch &&
           slot->page != SLOT_UNTOLD;
}

/* Nothing came of the operation at all: the driver does not have it. */
static enum rule_id missing_rule(const struct check_ledger *ledger, const struct claim *claim)
{
    bool is_two = ledger->interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0 &&
                  ledger->caps.driver.MemoryManagementCaps.MapAperture2Supported;

    return claim->kind == CLAIM_UNMAP && is_two ? RULE_APER_019 : RULE_APER_001;
}

/* The driver wrote nothing for the operation, and its first slot has not changed. */
static bool is_ignored(struct check *check, const struct claim *claim)
{
    uint64_t shown;
    bool has_page = find_shown(check, claim->segment, claim->first, &shown);

    return !claim->has_written && has_page == claim->had_page && shown == claim->page_before;
}

/* Which rule a slot breaks that shows another page than the operation put there. */
static enum rule_id wrong_page_rule(struct check *check, const struct claim *claim,
                                    uint64_t expected, bool has_page, uint64_t shown)
{
    uint64_t first;

    if (claim->is_seen_right)
        return RULE_APER_013;
    if (is_ignored(check, claim))
        return missing_rule(check_ledger(check), claim);
    if (claim->kind == CLAIM_UNMAP)
        return RULE_APER_009;
    /* A slot behind others that was left out tells of their number, not of the kind of the list. */
    if (claim->kind == CLAIM_MDL ||
        (!has_page && find_shown(check, claim->segment, claim->first, &first)))
        return RULE_APER_002;
    if (!claim->is_contiguous && has_page && shown == LEND_STALE_PAGE)
        return RULE_ADL_014;
    if (claim->is_contiguous ? claim->list_offset && shown == expected - claim->list_offset
                             : has_page && shown == LEND_POISON_PAGE)
        return RULE_ADL_006;
    return claim->is_other_kind ? RULE_ADL_009 : RULE_ADL_003;
}

static void report_page(struct check *check, const struct claim *claim, uint64_t index,
                        uint64_t expected, bool has_page, uint64_t shown)
{
    enum rule_id rule = wrong_page_rule(check, claim, expected, has_page, shown);
    struct check_allocation *allocation =
        check_find_allocation(check_ledger(check), claim->allocation);
    char found[48] = "nothing";

    if (has_page)
        snprintf(found, sizeof found, "page 0x%llx", (unsigned long long)shown);
    if (rule != RULE_APER_013) /* somebody else took it away */
        check_blame_operation(check, claim->number);
    check_report(check, rule, allocation ? &allocation->object : NULL, "",
                 "slot 0x%llx of aperture segment %u shows %s; %s of event %llu (slots 0x%llx to "
                 "0x%llx) put page 0x%llx%s there%s",
                 (unsigned long long)index, claim->segment, found, claim_operation(claim),
                 (unsigned long long)claim->event, (unsigned long long)claim->first,
                 (unsigned long long)(claim->first + claim->count - 1),
                 (unsigned long long)expected,
                 claim->kind == CLAIM_UNMAP ? ", the dummy page," : "",
                 rule == RULE_APER_013 ? ", and it was right before" : "");
    check_blame_current(check);
}

/* True: it is as it should be. A wrong one is told of once: nothing is expected of it any more. */
static bool check_slot(struct check *check, const struct claim *claim, uint64_t index,
                       struct slot *slot)
{
    uint64_t shown;
    bool has_page = find_shown(check, claim->segment, index, &shown);
    const struct check_config *config = check_configuration(check);
    const struct check_segment *segment;
    bool is_right;

    if (!has_page || shown != slot->page) {
        report_page(check, claim, index, slot->page, has_page, shown);
        slot->page = SLOT_UNTOLD;
        return false;
    }
    segment = check_find_segment(check_ledger(check), claim->segment);
    if (!claim->is_coherent || !config->slot_is_coherent || !segment)
        return true;
    check_blame_operation(check, claim->number);
    is_right = CHECK_RULE(check, RULE_APER_007,
                          config->slot_is_coherent(config->context, segment->base, index), NULL, "",
                          "slot 0x%llx of aperture segment %u does not snoop CPU caches; %s of "
                          "event %llu has Flags.CacheCoherent",
                          (unsigned long long)index, claim->segment, claim_operation(claim),
                          (unsigned long long)claim->event);
    check_blame_current(check);
    if (!is_right)
        slot->page = SLOT_UNTOLD;
    return is_right;
}

/* The rules that a comparison of the claim's slots may find broken. */
static void count_rules(struct check *check, const struct claim *claim)
{
    check_looked_at(check, missing_rule(check_ledger(check), claim));
    switch (claim->kind) {
    case CLAIM_UNMAP:
        check_looked_at(check, RULE_APER_009);
        if (!check_ledger(check)->caps.has_gpummu)
            check_looked_at(check, RULE_APER_010);
        break;
    case CLAIM_MDL:
        check_looked_at(check, RULE_APER_002);
        break;
    case CLAIM_ADL:
        check_looked_at(check, RULE_APER_002);
        check_looked_at(check, RULE_ADL_003);
        check_looked_at(check, RULE_ADL_010); /* maps() would have heard of it */
        if (claim->list_offset || !claim->is_contiguous)
            check_looked_at(check, RULE_ADL_006);
        if (claim->is_other_kind)
            check_looked_at(check, RULE_ADL_009);
        if (!claim->is_contiguous)
            check_looked_at(check, RULE_ADL_014);
        break;
    }
}

/* Its packet has retired, and one slot was not right then: by now it is late, or wrong. */
static void settle_late(struct check *check, struct aperture_watch *watch, struct claim *claim)
{
    struct slot *slot = slots_at(&watch->slots[claim->segment - 1], claim->late_slot, false);
    uint64_t shown;

    list_remove(&claim->late);
    if (!is_told(watch, slot) || slot->claim != claim)
        return;
    if (find_shown(check, claim->segment, claim->late_slot, &shown) && shown == slot->page) {
        check_blame_operation(check, claim->number);
        check_report(check, RULE_APER_014, NULL, "",
                     "slot 0x%llx of aperture segment %u shows page 0x%llx only now; %s of event "
                     "%llu had retired without it",
                     (unsigned long long)claim->late_slot, claim->segment,
                     (unsigned long long)slot->page, claim_operation(claim),
                     (unsigned long long)claim->event);
        check_blame_current(check);
        return;
    }
    check_slot(check, claim, claim->late_slot, slot);
}

/* A slot beside those of the operation has not changed; in front of slot 0 there is none. */
static void check_neighbour(struct check *check, struct aperture_watch *watch,
                            const struct claim *claim, uint64_t index)
{
    struct slot *slot = slots_at(&watch->slots[claim->segment - 1], index, false);

    if (!is_told(watch, slot) || !slot->claim->is_seen_right || slot->claim == claim)
        return;
    check_looked_at(check, RULE_APER_013);
    check_slot(check, slot->claim, index, slot);
}

/* The packet with the end of the operation has retired. */
static void check_retired(struct check *check, struct aperture_watch *watch, struct claim *claim)
{
    struct slots *slots = &watch->slots[claim->segment - 1];
    uint64_t looked_at[2 + SAMPLES] = {claim->first, claim->first + claim->count - 1};

    if (!claim->is_built || claim->epoch != watch->epoch)
        return;
    count_rules(check, claim);
    check_looked_at(check, RULE_APER_014);
    for (unsigned i = 0; i < SAMPLES; i++)
        looked_at[2 + i] = claim->first + hash_pair(claim->number, i) % claim->count;
    for (unsigned i = 0; i < 2 + SAMPLES; i++) {
        struct slot *slot = slots_at(slots, looked_at[i], false);
        uint64_t shown;

        if (!is_told(watch, slot) || slot->claim != claim)
            continue;
        if (find_shown(check, claim->segment, looked_at[i], &shown) && shown == slot->page)
            continue;
        claim->late_slot = looked_at[i];
        list_push_back(&watch->late, &claim->late);
        return;
    }
    check_neighbour(check, watch, claim, claim->first - 1);
    check_neighbour(check, watch, claim, claim->first + claim->count);
}

static void check_range(struct check *check, struct aperture_watch *watch, unsigned id,
                        uint64_t start, uint64_t end)
{
    struct slots *slots = &watch->slots[id - 1];
    struct claim *claim = NULL;
    bool is_right = true;

    for (uint64_t index = slots_next(slots, start); index < end;
         index = slots_next(slots, index + 1)) {
        struct slot *slot = slots_at(slots, index, false);

        if (!is_told(watch, slot))
            continue;
        if (slot->claim != claim) {
            if (claim)
                claim->is_seen_right |= is_right;
            claim = slot->claim;
            is_right = true;
        }
        is_right &= check_slot(check, claim, index, slot);
    }
    if (claim)
        claim->is_seen_right |= is_right;
}

/* ---- The dummy page -------------------------------------------------------------------------- */

static void check_dummy(struct check *check, struct aperture_watch *watch)
{
    const struct check_config *config = check_configuration(check);
    unsigned char now[APERTURE_PAGE];

    if (!watch->has_dummy_bytes || watch->is_dummy_told ||
        !config->read_page(config->context, watch->dummy, now, APERTURE_PAGE))
        return;
    watch->is_dummy_told = !CHECK_RULE(
        check, RULE_APER_011, memcmp(now, watch->dummy_bytes, APERTURE_PAGE) == 0, NULL, "",
        "page 0x%llx, the dummy page behind unmapped slots, was written: something "
        "still used an address that had been taken away",
        (unsigned long long)watch->dummy);
}

static void enter_dummy(struct check *check, struct aperture_watch *watch, uint64_t address)
{
    const struct check_config *config = check_configuration(check);
    bool is_page = address % APERTURE_PAGE == 0;
    bool is_same = !watch->has_dummy || watch->dummy == address / APERTURE_PAGE;
    bool is_known = true;

    if (is_page && (!watch->has_dummy || !is_same)) {
        watch->dummy = address / APERTURE_PAGE;
        watch->has_dummy_bytes = is_known =
            config->read_page &&
            config->read_page(config->context, watch->dummy, watch->dummy_bytes, APERTURE_PAGE);
        is_known |= !config->read_page;
    }
    CHECK_RULE(check, RULE_APER_011, is_page && is_same && is_known, NULL,
               "UnmapApertureSegment.DummyPage", "is {0x%llx}: %s", (unsigned long long)address,
               !is_page    ? "not the address of a page"
               : !is_known ? "there is no such page"
                           : "another page than before");
    watch->has_dummy = true;
}

/* ---- Building -------------------------------------------------------------------------------- */

static struct claim *enter_claim(struct check *check, struct aperture_watch *watch,
                                 const struct check_call *call, const struct request *request)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct claim *claim = claim_create(ledger->services);

    if (!claim) {
        check_lost(check);
        return NULL;
    }
    claim->number = ledger->operation + 1;
    claim->event = call->event;
    claim->segment = request->segment;
    claim->first = request->first;
    claim->count = request->count;
    claim->kind = request->kind;
    claim->is_coherent = request->is_coherent;
    claim->list_offset = request->list_offset;
    claim->device = request->device;
    claim->allocation = request->allocation;
    claim->object = allocation_number(check, request->allocation);
    claim->epoch = watch->epoch;
    if (request->adl) {
        claim->is_contiguous = request->adl->Flags.Contiguous;
        claim->is_other_kind = watch->has_kind && watch->is_contiguous != claim->is_contiguous;
        watch->has_kind = true;
        watch->is_contiguous = claim->is_contiguous;
    }
    if (check_configuration(check)->slot_page)
        claim->had_page = find_shown(check, claim->segment, claim->first, &claim->page_before);
    list_push_back(&watch->pending, &claim->link);
    return claim;
}

static void before_operation(struct check *check, struct aperture_watch *watch,
                             const struct check_call *call, const struct request *request)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_segment *segment = check_find_segment(ledger, request->segment);
    const struct check_allocation *allocation = check_find_allocation(ledger, request->allocation);
    struct walk walk = {0};
    struct slots *slots;
    struct claim *claim;

    watch->open = NULL;
    if (!segment || !segment->flags.Aperture || !check_bounds(check, segment, request))
        return;
    slots = &watch->slots[segment->id - 1];
    if (!slots->count)
        slots_init(slots, ledger->services, segment->size / APERTURE_PAGE);
    CHECK_RULE(
        check, RULE_APER_005,
        !request->allocation || allocation ||
            id_map_find(&watch->context_allocations, (uint64_t)(uintptr_t)request->allocation),
        NULL, "hAllocation", "is neither NULL nor an allocation that there is");
    if (request->kind == CLAIM_UNMAP)
        enter_dummy(check, watch, request->dummy);
    else
        check_map(check, segment, request, allocation);
    claim = enter_claim(check, watch, call, request);
    if (!claim)
        return;
    watch->mapped -= slots->mapped;
    for (uint64_t i = 0; i < request->count; i++) {
        struct slot *slot = slots_at(slots, request->first + i, true);

        if (!slot) {
            check_lost(check);
            break;
        }
        if (slot->claim && list_is_linked(&slot->claim->late))
            settle_late(check, watch, slot->claim);
        look_at_slot(check, watch, request, request->first + i, slot, &walk);
        slots_claim(slots, request->first + i, slot, claim, page_of(request, i));
    }
    watch->mapped += slots->mapped;
    judge_walk(check, watch, segment, request, &walk);
    check_owner(check, request,
                request->kind == CLAIM_UNMAP && walk.has_mapped ? &walk.mapped : NULL);
    if (request->kind != CLAIM_UNMAP)
        check_limits(check, watch, segment);
    watch->open = claim;
}

static void end_claim(struct check *check, struct claim *claim)
{
    list_remove(&claim->link);
    claim_put(check_ledger(check)->services, claim);
}

static void after_build(struct check *check, struct aperture_watch *watch,
                        const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *was = call->before.build_paging_buffer;
    struct claim *claim = watch->open;
    bool is_part = call->status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    bool is_missing =
        call->status == STATUS_NOT_SUPPORTED || call->status == STATUS_NOT_IMPLEMENTED;
    struct request request;

    if (!read_request(was, &request))
        return;
    if (request.kind != CLAIM_ADL)
        CHECK_RULE(check, RULE_APER_015, call->status != STATUS_GRAPHICS_ALLOCATION_BUSY, NULL,
                   "status",
                   "{STATUS_GRAPHICS_ALLOCATION_BUSY} (expected {=STATUS_SUCCESS or "
                   "STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER})");
    if (!claim)
        return;
    claim->has_written |= call->arg.build_paging_buffer->pDmaBuffer != was->pDmaBuffer;
    CHECK_RULE(check, missing_rule(check_ledger(check), claim), !is_missing, NULL, "status",
               "{0x%08x}: the driver reports aperture segment %u and does not map there",
               (unsigned)call->status, claim->segment);
    if (is_part)
        return;
    claim->is_built = NT_SUCCESS(call->status);
    watch->open = NULL;
    if (claim->is_built)
        return;
    claim->epoch = UINT32_MAX; /* nobody knows what these slots show now */
    end_claim(check, claim);
}

/* After a reset it may still show what it did, and an operation that was under way may have run. */
static bool shows_buffer(const struct aperture_watch *watch, const struct claim *claim)
{
    if (!claim->is_built || claim->epoch < watch->last_reset)
        return true;
    return claim->epoch == watch->epoch && claim->kind != CLAIM_UNMAP && !claim->allocation;
}

/*
 * A DMA or paging buffer that the GPU finds behind slots: all of them show it, whose mapping named
 * no allocation (APER-005).
 */
static void check_buffer(struct check *check, struct aperture_watch *watch, enum rule_id rule,
                         const struct check_context *context, unsigned segment_id, uint64_t address,
                         uint64_t bytes, uint32_t fence)
{
    const struct check_segment *segment = check_find_segment(check_ledger(check), segment_id);
    uint64_t first, page_count = div_round_up(bytes, APERTURE_PAGE), bad = page_count;

    if (!segment || !segment->flags.Aperture || segment->flags.Agp || address < segment->base)
        return;
    first = (address - segment->base) / APERTURE_PAGE;
    for (uint64_t i = 0; i < page_count; i++) {
        struct slot *slot = slots_at(&watch->slots[segment_id - 1], first + i, false);

        if (!slot || !shows_buffer(watch, slot->claim)) {
            bad = i;
            break;
        }
        slot->claim->is_used = true;
        slot->claim->use_node = context ? context->node : 0;
        slot->claim->use_fence = fence;
    }
    CHECK_RULE(check, rule, bad == page_count, context ? &context->object : NULL,
               "DmaBufferPhysicalAddress",
               "0x%llx in aperture segment %u: slot 0x%llx does not show a buffer of 0x%llx bytes",
               (unsigned long long)address, segment_id, (unsigned long long)(first + bad),
               (unsigned long long)bytes);
}

static void before_submit(struct check *check, struct aperture_watch *watch,
                          const DXGKARG_SUBMITCOMMAND *arg)
{
    if (arg->DmaBufferSegmentId && arg->DmaBufferSize && !check_ledger(check)->caps.has_gpummu)
        check_buffer(check, watch, arg->Flags.Paging ? RULE_PB_018 : RULE_PATCH_017,
                     check_find_context(check_ledger(check), arg->hContext),
                     arg->DmaBufferSegmentId, (uint64_t)arg->DmaBufferPhysicalAddress.QuadPart,
                     arg->DmaBufferSize, arg->SubmissionFenceId);
}

/* The slots that a client's packet will use. */
static void before_patch(struct check *check, struct aperture_watch *watch,
                         const DXGKARG_PATCH *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_context *context = check_find_context(ledger, arg->hContext);

    if (arg->Flags.Paging)
        return;
    if (arg->DmaBufferSegmentId)
        check_buffer(check, watch, RULE_PATCH_017, context, arg->DmaBufferSegmentId,
                     (uint64_t)arg->DmaBufferPhysicalAddress.QuadPart, arg->DmaBufferSize,
                     arg->SubmissionFenceId);
    if (!arg->pAllocationList || !watch->mapped)
        return;
    for (UINT i = 0; i < arg->AllocationListSize; i++) {
        const DXGK_ALLOCATIONLIST *entry = &arg->pAllocationList[i];
        const struct check_segment *segment = check_find_segment(ledger, entry->SegmentId);
        uint64_t address = (uint64_t)entry->PhysicalAddress.QuadPart;
        struct slot *slot;

        if (!segment || !segment->flags.Aperture || address < segment->base)
            continue;
        slot = slots_at(&watch->slots[segment->id - 1], (address - segment->base) / APERTURE_PAGE,
                        false);
        if (!slot)
            continue;
        slot->claim->is_used = true;
        slot->claim->use_node = context ? context->node : 0;
        slot->claim->use_fence = arg->SubmissionFenceId;
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Operations under way may not happen: nothing is expected of their slots. */
static void forget_pending(struct check *check, struct aperture_watch *watch)
{
    watch->open = NULL;
    while (!list_is_empty(&watch->late))
        list_remove(watch->late.next);
    while (!list_is_empty(&watch->pending)) {
        struct claim *claim = list_first_entry(&watch->pending, struct claim, link);

        claim->is_built = false;
        end_claim(check, claim);
    }
}

/* And the effect of operations that have run may be lost. */
static void forget(struct check *check, struct aperture_watch *watch)
{
    watch->epoch++;
    forget_pending(check, watch);
}

/* APER-020: the slots still show what nobody owns any more when the power, or the driver, goes. */
static void check_all_unmapped(struct check *check, const struct aperture_watch *watch,
                               const char *what)
{
    const struct check_ledger *ledger = check_ledger(check);

    check_looked_at(check, RULE_APER_020);
    for (unsigned i = 0; i < ledger->segment_count && watch->mapped; i++) {
        struct slots *slots = (struct slots *)&watch->slots[i];
        const struct claim *left = NULL;

        for (uint64_t index = slots_next(slots, 0); index < slots->count && !left;
             index = slots_next(slots, index + 1)) {
            const struct slot *slot = slots_at(slots, index, false);

            if (is_told(watch, slot) && slot->claim->kind != CLAIM_UNMAP)
                left = slot->claim;
        }
        if (left)
            check_report(check, RULE_APER_020, NULL, "",
                         "slots 0x%llx to 0x%llx of aperture segment %u show pages that were "
                         "mapped in event %llu, and %s",
                         (unsigned long long)left->first,
                         (unsigned long long)(left->first + left->count - 1), i + 1,
                         (unsigned long long)left->event, what);
    }
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct aperture_watch *watch = state;
    struct request request;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
        if (!check_ledger(check)->is_operation_open &&
            read_request(call->arg.build_paging_buffer, &request))
            before_operation(check, watch, call, &request);
        break;
    case MINIPORT_DDI_Patch:
        before_patch(check, watch, call->arg.patch);
        break;
    case MINIPORT_DDI_SubmitCommand:
        before_submit(check, watch, call->arg.submit_command);
        break;
    case MINIPORT_DDI_SetPowerState:
        if (call->power_state == PowerDeviceD3)
            check_all_unmapped(check, watch, "the adapter loses power");
        break;
    case MINIPORT_DDI_StopDevice:
        check_all_unmapped(check, watch, "the driver is stopped");
        break;
    default:
        break;
    }
}

static void after_create(struct check *check, const DXGKARG_CREATEALLOCATION *arg)
{
    const struct check_caps *caps = &check_ledger(check)->caps;

    for (UINT i = 0; i < arg->NumAllocations; i++) {
        const DXGK_ALLOCATIONINFO *info = &arg->pAllocationInfo[i];
        const struct check_allocation *allocation =
            check_find_allocation(check_ledger(check), info->hAllocation);

        if (!info->FlagsWddm2.MapApertureCpuVisible ||
            check_ledger(check)->interface_version < DXGKDDI_INTERFACE_VERSION_WDDM2_9)
            continue;
        CHECK_RULE(check, RULE_ADL_012, caps->driver.MemoryManagementCaps.MapAperture2Supported,
                   allocation ? &allocation->object : NULL,
                   check_field(check, "pAllocationInfo[%u].Flags.MapApertureCpuVisible", i),
                   "is set by a driver without MapAperture2Supported");
    }
}

/* A driver whose device is behind an IOMMU that remaps cannot do without address lists. */
static void after_query(struct check *check, const struct check_call *call)
{
    const struct check_ledger *ledger = check_ledger(check);

    if (!NT_SUCCESS(call->status) || !check_configuration(check)->remaps_dma ||
        call->arg.query_adapter_info->Type != DXGKQAITYPE_DRIVERCAPS)
        return;
    CHECK_RULE(check, RULE_ADL_001, ledger->caps.driver.MemoryManagementCaps.MapAperture2Supported,
               NULL, "MemoryManagementCaps.MapAperture2Supported",
               "is {0}, and the device's addresses are remapped{=~1~}");
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct aperture_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
        after_build(check, watch, call);
        break;
    case MINIPORT_DDI_CreateAllocation:
        if (NT_SUCCESS(call->status))
            after_create(check, call->arg.create_allocation);
        break;
    case MINIPORT_DDI_QueryAdapterInfo:
        after_query(check, call);
        break;
    case MINIPORT_DDI_ResetFromTimeout:
        forget(check, watch);
        watch->last_reset = watch->epoch;
        break;
    case MINIPORT_DDI_ResetEngine:
        forget_pending(check, watch);
        break;
    case MINIPORT_DDI_SetPowerState:
    case MINIPORT_DDI_NotifySurpriseRemoval:
        forget(check, watch);
        break;
    default:
        break;
    }
}

static void callback(struct check *check, void *state, const struct check_callback *callback)
{
    struct aperture_watch *watch = state;
    const DXGKARGCB_CREATECONTEXTALLOCATION *create = callback->data;

    if (callback->callback == TRACE_CALLBACK_create_context_allocation &&
        NT_SUCCESS(callback->status) && create->hDriverAllocation &&
        !id_map_set(&watch->context_allocations, (uint64_t)(uintptr_t)create->hDriverAllocation,
                    watch))
        check_lost(check);
}

static bool is_quiet(const struct check_ledger *ledger, const struct check_packet *last)
{
    for (unsigned i = 0; i < ledger->stream_count; i++) {
        if (!list_is_empty(&ledger->streams[i].built))
            return false;
    }
    return ledger->packets.next == &last->link && ledger->packets.prev == &last->link;
}

static void retired(struct check *check, void *state, const struct check_packet *packet)
{
    struct aperture_watch *watch = state;
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_built *piece;

    if (packet->state != CHECK_COMPLETED || (ledger->has_gpu && !packet->is_gpu_done))
        return;
    list_for_each (piece, &packet->built, struct check_built, link) {
        enum miniport_operation_kind kind = miniport_operation_kind(piece->operation);
        struct claim *claim, *following;

        if (!piece->is_end || (kind != MINIPORT_KIND_MAP && kind != MINIPORT_KIND_UNMAP))
            continue;
        list_for_each_safe (claim, following, &watch->pending, struct claim, link) {
            if (claim->number != piece->number)
                continue;
            if (check_configuration(check)->slot_page)
                check_retired(check, watch, claim);
            end_claim(check, claim);
            break;
        }
    }
    if (!is_quiet(ledger, packet) || !check_configuration(check)->slot_page)
        return;
    while (!list_is_empty(&watch->late))
        settle_late(check, watch, list_first_entry(&watch->late, struct claim, late));
    for (unsigned i = 0; i < ledger->segment_count; i++) {
        struct slots *slots = &watch->slots[i];

        check_range(check, watch, i + 1, slots->new_start, slots->new_end);
        slots->new_start = slots->new_end = 0;
    }
    if (watch->quiet_count++ % DUMMY_INTERVAL == 0)
        check_dummy(check, watch);
}

/* The commands of the operation have run when those of the fault are reached. */
static bool has_run(const struct claim *claim, const struct check_gpu_event *event)
{
    const struct check_built *piece;

    if (!list_is_linked(&claim->link) || !claim->has_written)
        return true;
    if (!event->packet || claim->number >= check_operation_at(event->packet, event->offset, NULL))
        return false;
    list_for_each (piece, &event->packet->built, struct check_built, link) {
        if (piece->number == claim->number && piece->is_end)
            return true;
    }
    return false;
}

/* APER-010: behind an unmapped slot is a page, too. */
static void check_faulted_unmapped(struct check *check, const struct check_gpu_event *event,
                                   unsigned segment, uint64_t index, const struct slot *slot)
{
    check_blame_operation(check, slot->claim->number);
    CHECK_RULE(check, RULE_APER_010, false, NULL, "",
               "faulted at 0x%llx, slot 0x%llx of aperture segment %u, which was unmapped "
               "in event %llu: the dummy page should be there",
               (unsigned long long)event->address, (unsigned long long)index, segment,
               (unsigned long long)slot->claim->event);
    check_blame_current(check);
}

/* The GPU faults at an address of an aperture, or cannot read commands there. */
static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    struct aperture_watch *watch = state;
    const struct check_ledger *ledger = check_ledger(check);
    uint64_t address =
        event->is_malformed_packet && event->packet ? event->packet->gpu_address : event->address;

    if (event->kind != CHECK_GPU_FAULT || ledger->caps.has_gpummu)
        return;
    for (unsigned i = 0; i < ledger->segment_count; i++) {
        const struct check_segment *segment = &ledger->segments[i];
        uint64_t index = (address - segment->base) / APERTURE_PAGE;
        struct slot *slot =
            address >= segment->base ? slots_at(&watch->slots[i], index, false) : NULL;

        if (!is_told(watch, slot))
            continue;
        if (slot->claim->kind == CLAIM_UNMAP && !event->is_malformed_packet)
            check_faulted_unmapped(check, event, segment->id, index, slot);
        else if (check_configuration(check)->slot_page && has_run(slot->claim, event))
            check_slot(check, slot->claim, index, slot);
    }
}

static void end(struct check *check, void *state, bool is_orderly)
{
    struct aperture_watch *watch = state;
    const struct check_ledger *ledger = check_ledger(check);

    if (!check_configuration(check)->slot_page)
        return;
    for (unsigned i = 0; is_orderly && i < ledger->segment_count; i++)
        check_range(check, watch, i + 1, 0, watch->slots[i].count);
    check_dummy(check, watch);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void init(struct check *check, void *state)
{
    struct aperture_watch *watch = state;

    list_init(&watch->pending);
    list_init(&watch->late);
    id_map_init(&watch->context_allocations, check_configuration(check)->services);
}

static void fini(struct check *check, void *state)
{
    struct aperture_watch *watch = state;

    forget(check, watch);
    for (unsigned i = 0; i < CHECK_MAX_SEGMENTS; i++)
        slots_fini(&watch->slots[i]);
    id_map_fini(&watch->context_allocations);
}

const struct check_watcher check_aperture_watcher = {
    .name = "aperture",
    .state_bytes = sizeof(struct aperture_watch),
    .init = init,
    .fini = fini,
    .before = before,
    .before_calls =
        CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_Patch, MINIPORT_DDI_SubmitCommand,
                    MINIPORT_DDI_SetPowerState, MINIPORT_DDI_StopDevice),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_CreateAllocation,
                               MINIPORT_DDI_QueryAdapterInfo, MINIPORT_DDI_ResetFromTimeout,
                               MINIPORT_DDI_ResetEngine, MINIPORT_DDI_SetPowerState,
                               MINIPORT_DDI_NotifySurpriseRemoval),
    .callback = callback,
    .retired = retired,
    .maps = judge_cpu_mapping,
    .gpu = gpu,
    .end = end,
};
