/*
 * Ledger: where allocations are and who may use them, as far as operations, lists and the client
 * tell.
 *
 * Places follow the operations as they are built, which is the order in which they run. Operations
 * that have not finished are counted at their allocation. Where an operation is lost (a reset)
 * nothing is known of the place until the next operation says it.
 */
#include "check/ledger/check_ledger.h"

#include "base/bits.h"
#include "check/check_watch.h"
#include "miniport/operation.h"

/* ---- What an operation does ------------------------------------------------------------------ */

static enum check_effect transfer_effect(const struct check_ledger *ledger, unsigned from,
                                         unsigned to)
{
    if (check_is_memory(ledger, to))
        return check_is_memory(ledger, from) ? CHECK_EFFECT_MOVE : CHECK_EFFECT_IN;
    return check_is_memory(ledger, from) ? CHECK_EFFECT_OUT : CHECK_EFFECT_NONE;
}

static uint64_t slot_address(const struct check_ledger *ledger, unsigned id, uint64_t slot)
{
    const struct check_segment *segment = check_find_segment(ledger, id);

    return segment ? segment->base + slot * 4096 : 0;
}

static enum check_effect entries_effect(const struct check_ledger *ledger,
                                        const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const struct check_process *process = check_find_process(ledger, update->hProcess);
    const DXGK_PTE *first =
        update->pPageTableEntries ? update->pPageTableEntries : update->pPageTableEntries64KB;

    if (!process || process->is_system || !update->hAllocation || !first ||
        !update->NumPageTableEntries || update->Flags.InitialUpdate || update->PageTableLevel)
        return CHECK_EFFECT_NONE;
    return first->Valid ? CHECK_EFFECT_VALID : CHECK_EFFECT_INVALID;
}

static enum check_effect virtual_transfer_effect(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    switch (arg->TransferVirtual.TransferDirection) {
    case DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM:
        return CHECK_EFFECT_OUT;
    case DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL:
        return CHECK_EFFECT_IN;
    default:
        return CHECK_EFFECT_MOVE;
    }
}

enum check_effect check_paging_effect(const struct check_ledger *ledger,
                                      const DXGKARG_BUILDPAGINGBUFFER *arg, unsigned *out_segment,
                                      uint64_t *out_address, uint64_t *out_size)
{
    struct miniport_place to = miniport_operation_destination(arg);
    bool is_virtual = to.kind == MINIPORT_PLACE_VIRTUAL;

    *out_segment = 0;
    *out_address = *out_size = 0;
    switch (miniport_operation_kind((unsigned)arg->Operation)) {
    case MINIPORT_KIND_TRANSFER:
        if (is_virtual)
            return virtual_transfer_effect(arg);
        *out_segment = to.segment;
        *out_address = to.address;
        *out_size = miniport_operation_offset(arg) + miniport_operation_bytes(arg);
        return transfer_effect(ledger, miniport_operation_source(arg).segment, to.segment);
    case MINIPORT_KIND_FILL:
        if (is_virtual)
            return CHECK_EFFECT_IN;
        *out_segment = to.segment;
        *out_address = to.address;
        *out_size = miniport_operation_bytes(arg);
        return check_is_memory(ledger, to.segment) ? CHECK_EFFECT_IN : CHECK_EFFECT_NONE;
    case MINIPORT_KIND_DISCARD:
        return CHECK_EFFECT_DISCARD;
    case MINIPORT_KIND_MAP:
        *out_segment = to.segment;
        if (!miniport_operation_list_offset(arg))
            *out_address = slot_address(ledger, to.segment, to.address);
        return CHECK_EFFECT_MAP;
    case MINIPORT_KIND_UNMAP:
        return CHECK_EFFECT_UNMAP;
    case MINIPORT_KIND_TABLE:
        return arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE
                   ? entries_effect(ledger, &arg->UpdatePageTable)
                   : CHECK_EFFECT_NONE;
    default:
        return CHECK_EFFECT_NONE;
    }
}

/* ---- Who may use it -------------------------------------------------------------------------- */

/* ---- Missing allocations --------------------------------------------------------------------- */

static struct check_device *device_by_number(const struct check_ledger *ledger, uint64_t number)
{
    struct check_object *object;
    size_t position = 0;

    while ((object = id_map_next(&ledger->objects[CHECK_DEVICE], &position))) {
        if (object->number == number)
            return (struct check_device *)object;
    }
    return NULL;
}

/* Counts at the devices that hold it: by 1 when it begins to be missing, -1 when that ends. */
static void count_missing(struct check_ledger *ledger, const struct check_allocation *allocation,
                          int by)
{
    for (const struct check_holder *holder = allocation->holders; holder; holder = holder->next) {
        struct check_device *device =
            holder->made > holder->evicted ? device_by_number(ledger, holder->device) : NULL;

        if (device)
            device->missing_count += (unsigned)by;
    }
}

bool check_is_missing(const struct check_allocation *allocation)
{
    return allocation->is_out && !allocation->is_offered && !allocation->is_reclaiming;
}

void check_ledger_set_out(struct check_ledger *ledger, struct check_allocation *allocation,
                          bool is_out)
{
    bool was_missing = check_is_missing(allocation);

    allocation->is_out = is_out;
    if (check_is_missing(allocation) != was_missing)
        count_missing(ledger, allocation, was_missing ? -1 : 1);
}

/* Until a reclaim has paged it in its references do not count. */
void check_ledger_set_offered(struct check_ledger *ledger, struct check_allocation *allocation,
                              bool is_offered, bool is_reclaiming)
{
    bool was_missing = check_is_missing(allocation);

    allocation->is_offered = is_offered;
    allocation->is_reclaiming = is_reclaiming;
    if (check_is_missing(allocation) != was_missing)
        count_missing(ledger, allocation, was_missing ? -1 : 1);
}

/* What can be nowhere but in memory segments is out when its content was taken out. */
static bool is_only_in_memory(const struct check_ledger *ledger,
                              const struct check_allocation *allocation)
{
    uint32_t set = allocation->info.SupportedWriteSegmentSet;

    for (unsigned i = 0; i < ledger->segment_count; i++) {
        if ((set >> i & 1) && !check_is_memory(ledger, i + 1))
            return false;
    }
    return set != 0;
}

/* ---- The way of an operation ----------------------------------------------------------------- */

static void remember(struct check_allocation *allocation, uint64_t event,
                     const struct check_built *piece)
{
#define SAY(what)                                                                                  \
    {                                                                                              \
        what, what ": segment %u, 0x%llx"                                                          \
    }
    static const char *const texts[][2] = {
        [CHECK_EFFECT_IN] = SAY("being brought in"),
        [CHECK_EFFECT_OUT] = SAY("being taken out"),
        [CHECK_EFFECT_MOVE] = SAY("being moved"),
        [CHECK_EFFECT_DISCARD] = SAY("discarded"),
        [CHECK_EFFECT_MAP] = SAY("being mapped in an aperture"),
        [CHECK_EFFECT_UNMAP] = SAY("being unmapped from its aperture"),
    };
#undef SAY
    const bool has_place = piece->address || piece->segment;

    if (piece->effect == CHECK_EFFECT_NONE || piece->effect > CHECK_EFFECT_UNMAP)
        return;
    check_remember(&allocation->object, event, texts[piece->effect][has_place], piece->segment,
                   piece->address);
}

void check_ledger_note_built(struct check_ledger *ledger, const struct check_call *call,
                             bool is_first, struct check_built *piece)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->before.build_paging_buffer;
    struct check_allocation *allocation =
        check_find_allocation(ledger, miniport_operation_allocation(arg));

    piece->effect =
        check_paging_effect(ledger, arg, &piece->segment, &piece->address, &piece->size);
    if (!piece->segment)
        piece->address = 0; /* it is a page list */
    if (!allocation)
        return;
    piece->allocation = (void *)(uintptr_t)allocation->object.handle;
    piece->allocation_number = allocation->object.number;
    piece->is_counted = piece->bytes != 0;
    allocation->pending += piece->is_counted;
    if (piece->effect != CHECK_EFFECT_NONE && piece->effect < CHECK_EFFECT_VALID)
        allocation->is_place_lost = false;
    if (piece->effect != CHECK_EFFECT_VALID && piece->effect != CHECK_EFFECT_NONE)
        allocation->stay++;
    if (allocation->is_placed && piece->effect >= CHECK_EFFECT_OUT) {
        piece->from_segment = allocation->segment;
        piece->from_address = allocation->address;
    }
    if (is_first)
        remember(allocation, call->event, piece);
    switch (piece->effect) {
    case CHECK_EFFECT_IN:
        allocation->reclaimed = CHECK_RECLAIMED_NOT;
        allocation->has_entered |= allocation->is_offered;
        allocation->entering += piece->is_counted;
        allocation->entering_unsubmitted += piece->is_counted;
        /* fall through */
    case CHECK_EFFECT_MOVE:
        allocation->is_placed = piece->segment != 0;
        allocation->segment = piece->segment;
        allocation->address = piece->address;
        allocation->has_content = true;
        allocation->may_be_in_memory = true;
        if (piece->effect == CHECK_EFFECT_IN)
            allocation->is_written = arg->Operation != DXGK_OPERATION_TRANSFER;
        break;
    case CHECK_EFFECT_MAP:
        allocation->reclaimed = allocation->reclaimed == CHECK_RECLAIMED_EMPTY
                                    ? CHECK_RECLAIMED_NOT
                                    : allocation->reclaimed;
        if (piece->address && !allocation->is_placed) { /* else slots to evict through */
            allocation->is_placed = true;
            allocation->segment = piece->segment;
            allocation->address = piece->address;
        }
        if (is_first)
            allocation->slot_count += miniport_operation_units(arg);
        break;
    case CHECK_EFFECT_VALID:
        if (allocation->reclaimed == CHECK_RECLAIMED_EMPTY)
            allocation->reclaimed = CHECK_RECLAIMED_NOT;
        break;
    case CHECK_EFFECT_UNMAP:
        allocation->is_placed = false;
        if (is_first)
            allocation->slot_count -=
                min_u64(allocation->slot_count, arg->UnmapApertureSegment.NumberOfPages);
        break;
    case CHECK_EFFECT_OUT:
        allocation->has_content |= piece->bytes != 0; /* 0: behind a reset, nothing is moved */
        if (ledger->interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0 &&
            is_only_in_memory(ledger, allocation))
            check_ledger_set_out(ledger, allocation, true);
        if (miniport_operation_is_end(arg)) {
            allocation->is_placed = false;
            allocation->may_be_in_memory = false; /* if it is not carried out: see below */
            allocation->is_history_lost &= !piece->bytes;
        }
        break;
    case CHECK_EFFECT_DISCARD:
        allocation->is_placed = false;
        allocation->has_entered = false;
        /* A clean PermanentSysMem allocation leaves so, and keeps its content. */
        allocation->is_dropped |= allocation->is_offered && !allocation->info.Flags.PermanentSysMem;
        break;
    default:
        break;
    }
}

/*
 * The manager decides what becomes of the content: the content is not followed until it is taken
 * out.
 */
void check_ledger_lose_history(struct check_allocation *allocation)
{
    allocation->has_content = allocation->had_content = false;
    allocation->is_written = true;
    allocation->is_history_lost = true;
    allocation->reclaimed = CHECK_RECLAIMED_NOT;
}

void check_ledger_note_submitted(struct check_ledger *ledger, struct check_built *piece)
{
    struct check_allocation *allocation = check_built_allocation(ledger, piece);

    piece->is_submitted = true;
    if (allocation && piece->effect == CHECK_EFFECT_IN)
        allocation->entering_unsubmitted -= piece->is_counted;
}

void check_ledger_note_ended(struct check_ledger *ledger, const struct check_built *piece,
                             bool is_done)
{
    struct check_allocation *allocation = check_built_allocation(ledger, piece);

    if (!allocation)
        return;
    allocation->pending -= piece->is_counted;
    if (piece->effect == CHECK_EFFECT_IN) {
        allocation->entering -= piece->is_counted;
        if (!piece->is_submitted)
            allocation->entering_unsubmitted -= piece->is_counted;
        if (!allocation->entering)
            check_ledger_set_out(ledger, allocation, false);
    }
    if (!is_done) {
        allocation->is_placed = false;
        allocation->is_place_lost = true;
        check_ledger_lose_history(allocation);
        check_ledger_set_out(ledger, allocation, false);
    }
}

void check_ledger_forget_places(struct check_ledger *ledger)
{
    struct check_object *object;
    size_t position = 0;

    while ((object = id_map_next(&ledger->objects[CHECK_ALLOCATION], &position))) {
        struct check_allocation *allocation = (struct check_allocation *)object;

        allocation->is_placed = false;
        allocation->is_place_lost = true;
        allocation->stay++;

        check_ledger_set_out(ledger, allocation, false);
    }
}

void check_ledger_forget_content(struct check_ledger *ledger)
{
    struct check_object *object;
    size_t position = 0;

    while ((object = id_map_next(&ledger->objects[CHECK_ALLOCATION], &position))) {
        struct check_allocation *allocation = (struct check_allocation *)object;

        if (allocation->may_be_in_memory)
            check_ledger_lose_history(allocation);
    }
}

/* ---- Life ------------------------------------------------------------------------------------ */

void check_ledger_note_leaving(struct check_ledger *ledger, struct check_object *object)
{
    struct check_allocation *allocation = (struct check_allocation *)object;
    const void *name = NULL;

    if (object->kind == CHECK_DEVICE) {
        name = ((struct check_device *)object)->client;
        if (ledger->newest_device == (struct check_device *)object)
            ledger->newest_device = NULL;
    } else if (object->kind == CHECK_ALLOCATION) {
        name = allocation->client;
        for (unsigned i = 0; i < CHECK_MAX_ASKED; i++) {
            if (ledger->newest_allocations[i] == allocation)
                ledger->newest_allocations[i] = NULL;
        }
        check_ledger_set_out(ledger, allocation, false);
        while (allocation->holders) {
            struct check_holder *holder = allocation->holders;

            allocation->holders = holder->next;
            base_free(ledger->services, holder, sizeof *holder);
        }
    }
    if (name && id_map_find(&ledger->clients, (uint64_t)(uintptr_t)name) == object)
        id_map_remove(&ledger->clients, (uint64_t)(uintptr_t)name);
}
