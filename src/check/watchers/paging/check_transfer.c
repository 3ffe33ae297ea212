/*
 * Watcher: transfers, fills and discards by physical address (XFER, FILL, DISC, PHYS, SLT).
 *
 * Follows where operations leave each allocation, the transfer that is under way, and which packets
 * use an allocation as far as a patched allocation list says so. Content is judged by the
 * oracle.
 *
 * A reset, a sleep or a removal begins a new epoch: places known before are forgotten.
 */
#include "check/check_watch.h"

#include "base/bits.h"
#include "base/hash.h"
#include "miniport/operation.h"

#define PAGE            UINT64_C(4096)
#define OPERATION_COUNT 256u /* operations that are remembered: more than one buffer holds */

struct transfer_watch {
    /* The transfer that has begun and not ended. */
    bool is_open;
    HANDLE open_allocation;
    uint64_t next;

    /* The operation that came back for want of room is due again. */
    bool is_repeat;
    DXGKARG_BUILDPAGINGBUFFER repeat; /* as it was called */
    uint64_t written_hash;            /* of the driver's bytes for it */
    uint32_t written_bytes;

    uint64_t with_list[OPERATION_COUNT]; /* numbers of transfers that begin amid a page list */

    struct id_map places;  /* handle of the allocation that stands there, by place_key() */
    bool has_alternate_va; /* an allocation with UseAlternateVA was ever created */
};

/* TRANSFER and SPECIAL_LOCK_TRANSFER in one shape. */
struct move {
    bool is_special;
    HANDLE handle;
    struct check_allocation *allocation; /* NULL: not ours to know */
    uint64_t offset, bytes;
    unsigned from, to; /* segments */
    uint64_t from_address, to_address;
    const MDL *from_list, *to_list;
    DXGK_TRANSFERFLAGS flags;
};

#define TAKE_MOVE(argument)                                                                        \
    do {                                                                                           \
        move.handle = (argument)->hAllocation;                                                     \
        move.offset = (argument)->TransferOffset;                                                  \
        move.bytes = (argument)->TransferSize;                                                     \
        move.from = (argument)->Source.SegmentId;                                                  \
        move.to = (argument)->Destination.SegmentId;                                               \
        if (move.from)                                                                             \
            move.from_address = (uint64_t)(argument)->Source.SegmentAddress.QuadPart;              \
        else                                                                                       \
            move.from_list = (argument)->Source.pMdl;                                              \
        if (move.to)                                                                               \
            move.to_address = (uint64_t)(argument)->Destination.SegmentAddress.QuadPart;           \
        else                                                                                       \
            move.to_list = (argument)->Destination.pMdl;                                           \
        move.flags = (argument)->Flags;                                                            \
    } while (0)

static struct move move_of(const struct check_ledger *ledger, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct move move = {.is_special = arg->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER};

    if (move.is_special)
        TAKE_MOVE(&arg->SpecialLockTransfer);
    else
        TAKE_MOVE(&arg->Transfer);
    move.allocation = check_find_allocation(ledger, move.handle);
    return move;
}

static struct check_object *object_of(struct check_allocation *allocation)
{
    return allocation ? &allocation->object : NULL;
}

/* ---- Places ---------------------------------------------------------------------------------- */

static uint64_t place_key(unsigned segment, uint64_t address)
{
    return hash_pair(segment, address);
}

static void leave_place(struct transfer_watch *watch, const struct check_ledger *ledger,
                        struct check_allocation *allocation)
{
    struct check_movement *movement = check_movement_of(ledger, allocation);
    uint64_t key = place_key(movement->segment, movement->address);

    if (movement->segment &&
        id_map_find(&watch->places, key) == (void *)(uintptr_t)allocation->object.handle)
        id_map_remove(&watch->places, key);
    movement->segment = 0;
}

static void enter_place(struct check *check, struct transfer_watch *watch,
                        struct check_allocation *allocation, unsigned segment, uint64_t address)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct check_movement *movement = check_movement_of(ledger, allocation);

    leave_place(watch, ledger, allocation);
    if (!check_is_memory(ledger, segment))
        return;
    movement->segment = segment;
    movement->address = address;
    if (!id_map_set(&watch->places, place_key(segment, address),
                    (void *)(uintptr_t)allocation->object.handle))
        check_lost(check);
}

static void begin_epoch(struct check *check, struct transfer_watch *watch)
{
    check_ledger(check)->movement_epoch++;
    watch->is_open = false;
    watch->is_repeat = false;
}

/* What waits behind the packets that an engine's reset ended goes on where it was. */
static bool has_ended_paging(struct check *check, const struct check_call *call)
{
    const DXGKARG_RESETENGINE *arg = call->arg.reset_engine;
    const struct check_packet *packet;

    if (!NT_SUCCESS(call->status))
        return true; /* and the adapter is reset */
    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        if (packet->is_paging && packet->node == arg->NodeOrdinal &&
            packet->state == CHECK_SUBMITTED &&
            check_fence_reached(packet->fence, arg->LastAbortedFenceId))
            return true;
    }
    return false;
}

/* A packet that used the allocation, and is not finished; NULL: none is known. */
static const struct check_packet *find_user(const struct check_ledger *ledger,
                                            struct check_allocation *allocation)
{
    const struct check_movement *movement = check_movement_of(ledger, allocation);

    return movement->is_used ? check_find_packet(ledger, movement->use_node, movement->use_fence)
                             : NULL;
}

static void note_user(const struct check_ledger *ledger, const struct transfer_watch *watch,
                      const DXGK_ALLOCATIONLIST *entry, unsigned node, uint32_t fence)
{
    uint64_t key = place_key(entry->SegmentId, (uint64_t)entry->PhysicalAddress.QuadPart);
    struct check_allocation *allocation =
        check_find_allocation(ledger, id_map_find(&watch->places, key));
    struct check_movement *movement = allocation ? check_movement_of(ledger, allocation) : NULL;

    if (!movement || movement->segment != entry->SegmentId)
        return;
    movement->is_used = true;
    movement->use_node = node;
    movement->use_fence = fence;
}

/*
 * The list says by its addresses which allocations the packet uses. It may have more than are used:
 * what counts are those that patch locations of the submission name.
 */
static void note_users(struct check *check, struct transfer_watch *watch, const DXGKARG_PATCH *arg)
{
    struct check_ledger *ledger = check_ledger(check);
    const struct check_context *context = check_find_context(ledger, arg->hContext);

    if (arg->Flags.Paging || !context || !arg->pAllocationList || !arg->pPatchLocationList)
        return;
    for (UINT i = 0; i < arg->PatchLocationListSubmissionLength; i++) {
        UINT location = arg->PatchLocationListSubmissionStart + i;
        UINT index = location < arg->PatchLocationListSize
                         ? arg->pPatchLocationList[location].AllocationIndex
                         : arg->AllocationListSize;
        const DXGK_ALLOCATIONLIST *entry = &arg->pAllocationList[index];

        if (index < arg->AllocationListSize && entry->SegmentId)
            note_user(ledger, watch, entry, context->node, arg->SubmissionFenceId);
    }
}

/* ---- Before: the manager's request ----------------------------------------------------------- */

static void check_side(struct check *check, const struct move *move, bool is_source)
{
    unsigned id = is_source ? move->from : move->to;
    uint64_t address = is_source ? move->from_address : move->to_address;
    const MDL *list = is_source ? move->from_list : move->to_list;
    const struct check_segment *segment = check_find_segment(check_ledger(check), id);
    bool holds = id ? segment && address >= segment->base &&
                          address - segment->base < segment->size &&
                          move->offset + move->bytes <= segment->size - (address - segment->base)
                    : list != NULL;
    const char *side = is_source ? "Source" : "Destination";
    const struct check_object *object = object_of(move->allocation);

    if (!id)
        CHECK_RULE(check, RULE_XFER_001, holds, object, check_field(check, "%s.pMdl", side),
                   "is {NULL} where SegmentId says system memory{=~a list of pages~}");
    else if (!segment)
        CHECK_RULE(check, RULE_XFER_001, holds, object,
                   check_field(check, "%s.SegmentAddress", side),
                   "is in segment {%u}, which the driver did not report", id);
    else
        CHECK_RULE(check, RULE_XFER_001, holds, object,
                   check_field(check, "%s.SegmentAddress", side),
                   "0x%llx with 0x%llx bytes from 0x%llx on is outside of segment %u, [0x%llx, "
                   "+0x%llx)",
                   (unsigned long long)address, (unsigned long long)move->bytes,
                   (unsigned long long)move->offset, id, (unsigned long long)segment->base,
                   (unsigned long long)segment->size);
}

/* Sub-transfers ascend and cover the allocation; the flags name the first and the last. */
static void check_cut(struct check *check, const struct transfer_watch *watch,
                      const struct move *move)
{
    uint64_t total = check_allocation_pages(move->allocation) * PAGE;
    uint64_t end = move->offset + move->bytes;
    bool is_first = move->flags.TransferStart;
    bool goes_on = watch->is_open && watch->open_allocation == move->handle && !is_first;
    uint64_t due = goes_on ? watch->next : 0;
    struct check_object *object = object_of(move->allocation);

    if (!CHECK_RULE(check, RULE_XFER_009, !watch->is_open || goes_on, object, "Flags.TransferStart",
                    "another transfer begins while one is at 0x%llx of its bytes",
                    (unsigned long long)watch->next))
        return;
    if (!CHECK_RULE(check, RULE_XFER_007, is_first || goes_on, object, "Flags.TransferStart",
                    "is {not set} at the first part of a transfer, at 0x%llx{=~set~}",
                    (unsigned long long)move->offset))
        return;
    if (!CHECK_RULE(
            check, RULE_XFER_006, move->offset == due && (!move->flags.TransferEnd || end >= total),
            object, "TransferOffset",
            move->offset == due
                ? "the transfer ends at 0x%llx; 0x%llx bytes are to be moved"
                : "the part ends at 0x%llx and does not begin at {=0x%llx}, where it is due",
            (unsigned long long)end, (unsigned long long)(move->offset == due ? total : due)))
        return;
    CHECK_RULE(check, RULE_XFER_007, move->flags.TransferEnd || end < total, object,
               "Flags.TransferEnd",
               "is {not set} at the last part, up to 0x%llx of 0x%llx bytes{=~set~}",
               (unsigned long long)end, (unsigned long long)total);
}

/* After BUSY, and whenever the flag says so: nothing uses it. */
static void check_idle(struct check *check, struct check_allocation *allocation, unsigned operation,
                       bool is_idle)
{
    enum rule_id rule = operation == DXGK_OPERATION_DISCARD_CONTENT ? RULE_DISC_005 : RULE_XFER_012;
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_packet *user;
    bool is_retry;

    if (!allocation)
        return;
    user = find_user(ledger, allocation);
    is_retry = check_movement_of(ledger, allocation)->busy_operation == operation + 1;
    if (!is_idle && !is_retry)
        return;
    CHECK_RULE(check, rule, is_idle && !user, &allocation->object, "Flags.AllocationIsIdle",
               is_idle ? "is {set}; the packet with fence 0x%x of node %u still uses it{=~clear~}"
                       : "is {not set} after the driver answered BUSY{=~set~}",
               user ? user->fence : 0, user ? user->node : 0);
}

static void check_special(struct check *check, const struct transfer_watch *watch,
                          const struct move *move, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_movement *movement = move->allocation ? &move->allocation->movement : NULL;

    if (!CHECK_RULE(check, RULE_SLT_002, watch->has_alternate_va, object_of(move->allocation), "",
                    "is called, and the driver never created an allocation with UseAlternateVA"))
        return;
    if (!movement)
        return;
    if (!CHECK_RULE(check, RULE_SLT_001,
                    movement->had_range && move->allocation->info.Flags.UseAlternateVA,
                    &move->allocation->object, "hAllocation",
                    movement->had_range
                        ? "was created without UseAlternateVA: its range was for a lock alone"
                        : "has had no alternate address: no swizzling range was acquired for it"))
        return;
    CHECK_RULE(check, RULE_SLT_005,
               arg->SpecialLockTransfer.SwizzlingRangeId == movement->range_id &&
                   arg->SpecialLockTransfer.SwizzlingRangeData == movement->range_data,
               &move->allocation->object, "SwizzlingRangeId",
               "is {%u with data 0x%x}; acquired was {=%u with 0x%x}",
               arg->SpecialLockTransfer.SwizzlingRangeId,
               arg->SpecialLockTransfer.SwizzlingRangeData, movement->range_id,
               movement->range_data);
}

static bool is_overlapping(const struct move *move)
{
    uint64_t distance = move->from_address > move->to_address
                            ? move->from_address - move->to_address
                            : move->to_address - move->from_address;

    return distance < move->bytes;
}

/* It comes to be in another place, or nowhere: segment 0. */
static void check_given_up(struct check *check, struct check_allocation *allocation,
                           unsigned segment, uint64_t address, const char *field)
{
    const struct check_movement *movement;

    if (!allocation)
        return;
    movement = check_movement_of(check_ledger(check), allocation);
    CHECK_RULE(check, RULE_DISC_001,
               !movement->segment || (movement->segment == segment && movement->address == address),
               &allocation->object, field,
               "its place in segment %u at 0x%llx was not given up by DISCARD_CONTENT, nor "
               "its content taken from there",
               movement->segment, (unsigned long long)movement->address);
}

static void before_transfer(struct check *check, const struct transfer_watch *watch,
                            const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct move move = move_of(ledger, arg);
    struct check_object *object = object_of(move.allocation);

    if (!move.bytes) {
        if (!move.is_special && move.allocation)
            CHECK_RULE(
                check, RULE_XFER_016, move.allocation->movement.epoch != ledger->movement_epoch,
                object, "TransferSize",
                "is {0}, and no reset has lost the allocation since it was placed{=~not 0~}");
        return;
    }
    check_idle(check, move.allocation, (unsigned)arg->Operation, move.flags.AllocationIsIdle);
    if (!move.is_special && !watch->has_alternate_va && move.allocation &&
        move.allocation->movement.had_range)
        check_looked_at(check, RULE_SLT_002); /* a range of a lock might have made it special */
    CHECK_RULE(check, RULE_XFER_015, !move.flags.Swizzle || !move.flags.Unswizzle, object, "Flags",
               "both Swizzle and Unswizzle are set");
    if (move.is_special)
        check_special(check, watch, &move, arg);
    check_side(check, &move, true);
    check_side(check, &move, false);
    if (move.from && move.from == move.to)
        CHECK_RULE(check, RULE_XFER_019,
                   !is_overlapping(&move) || ledger->caps.physical.Flags.MovePagingSupported,
                   object, "Destination.SegmentAddress",
                   "0x%llx overlaps the source at 0x%llx in segment %u (0x%llx bytes), and the "
                   "driver does not say MovePagingSupported",
                   (unsigned long long)move.to_address, (unsigned long long)move.from_address,
                   move.from, (unsigned long long)move.bytes);
    else if (move.from && move.to && move.from != move.to)
        check_looked_at(check, RULE_XFER_019);
    if (!move.allocation)
        return;
    if (!CHECK_RULE(check, RULE_XFER_002,
                    move.offset % PAGE == 0 &&
                        move.offset + move.bytes <= check_allocation_pages(move.allocation) * PAGE,
                    object, "TransferOffset",
                    "0x%llx with 0x%llx bytes is not whole pages of the allocation's 0x%llx bytes",
                    (unsigned long long)move.offset, (unsigned long long)move.bytes,
                    (unsigned long long)move.allocation->bytes))
        return;
    if (!move.from && move.flags.TransferStart)
        check_given_up(check, move.allocation, move.to, move.to_address, "hAllocation");
    check_cut(check, watch, &move);
}

static void before_fill(struct check *check, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct check_allocation *allocation = check_find_allocation(ledger, arg->Fill.hAllocation);
    const struct check_segment *segment =
        check_find_segment(ledger, arg->Fill.Destination.SegmentId);
    const struct check_packet *user = allocation ? find_user(ledger, allocation) : NULL;
    struct check_object *object = object_of(allocation);

    CHECK_RULE(check, RULE_FILL_002, check_is_memory_segment(segment), object,
               "Destination.SegmentId", "{%u} is %s (expected {=a memory segment})",
               arg->Fill.Destination.SegmentId, segment ? "an aperture segment" : "no segment");
    CHECK_RULE(check, RULE_FILL_006, arg->Fill.FillSize % 4 == 0, object, "FillSize",
               "is {0x%llx} bytes, which is not {=a multiple of the pattern's 4}",
               (unsigned long long)arg->Fill.FillSize);
    if (allocation)
        CHECK_RULE(check, RULE_FILL_003, !user, object, "hAllocation",
                   "the packet with fence 0x%x of node %u still uses it", user->fence, user->node);
    check_given_up(check, allocation, arg->Fill.Destination.SegmentId,
                   (uint64_t)arg->Fill.Destination.SegmentAddress.QuadPart, "hAllocation");
}

static void before_discard(struct check *check, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct check_allocation *allocation =
        check_find_allocation(ledger, arg->DiscardContent.hAllocation);
    uint64_t address = (uint64_t)arg->DiscardContent.SegmentAddress.QuadPart;
    const struct check_movement *movement;

    if (!allocation)
        return;
    check_idle(check, allocation, DXGK_OPERATION_DISCARD_CONTENT,
               arg->DiscardContent.Flags.AllocationIsIdle);
    movement = check_movement_of(ledger, allocation);
    if (!movement->segment)
        return;
    CHECK_RULE(check, RULE_DISC_002,
               arg->DiscardContent.SegmentId == movement->segment && address == movement->address,
               &allocation->object, "SegmentAddress",
               "names {segment %u at 0x%llx}; it was placed in {=segment %u at 0x%llx}",
               arg->DiscardContent.SegmentId, (unsigned long long)address, movement->segment,
               (unsigned long long)movement->address);
}

/*
 * Operations 3 and 4 go by a bus address; an allocation's memory is never written for the ordering.
 */
static void before_physical(struct check *check, const struct transfer_watch *watch,
                            const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    bool is_write = arg->Operation == DXGK_OPERATION_WRITE_PHYSICAL;
    unsigned id = is_write ? arg->WritePhysical.SegmentId : arg->ReadPhysical.SegmentId;
    bool has_agp = false;

    for (unsigned i = 0; i < ledger->segment_count; i++)
        has_agp |= ledger->segments[i].flags.Agp;
    CHECK_RULE(check, RULE_PHYS_005, has_agp, NULL, "SegmentId",
               "is {%u}; the driver reported no AGP segment, the only use of the operation", id);
    if (is_write) {
        uint64_t address = (uint64_t)arg->WritePhysical.PhysicalAddress.QuadPart;
        const void *handle = id_map_find(&watch->places, place_key(id, address & ~(PAGE - 1)));
        struct check_allocation *allocation = check_find_allocation(ledger, handle);

        CHECK_RULE(check, RULE_PHYS_004,
                   !allocation || allocation->movement.epoch != ledger->movement_epoch,
                   &allocation->object, "PhysicalAddress",
                   "0x%llx of segment %u is content, not scratch", (unsigned long long)address, id);
    }
}

static void before_build(struct check *check, struct transfer_watch *watch,
                         const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (watch->is_repeat && watch->repeat.Operation == arg->Operation)
        return; /* judged at the first call; that nothing changed is PB-015 */
    watch->is_repeat = false;
    watch->written_bytes = 0;
    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
    case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER:
        before_transfer(check, watch, arg);
        break;
    case DXGK_OPERATION_FILL:
        before_fill(check, arg);
        break;
    case DXGK_OPERATION_DISCARD_CONTENT:
        before_discard(check, arg);
        break;
    case DXGK_OPERATION_READ_PHYSICAL:
    case DXGK_OPERATION_WRITE_PHYSICAL:
        before_physical(check, watch, arg);
        break;
    default:
        break;
    }
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct transfer_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
        before_build(check, watch, call->arg.build_paging_buffer);
        break;
    case MINIPORT_DDI_Patch:
        note_users(check, watch, call->arg.patch);
        break;
    case MINIPORT_DDI_DestroyAllocation: {
        const DXGKARG_DESTROYALLOCATION *arg = call->arg.destroy_allocation;

        for (UINT i = 0; i < arg->NumAllocations; i++) {
            struct check_allocation *allocation =
                check_find_allocation(check_ledger(check), arg->pAllocationList[i]);

            check_given_up(check, allocation, 0, 0, "pAllocationList");
            if (allocation)
                leave_place(watch, check_ledger(check), allocation);
        }
        break;
    }
    default:
        break;
    }
}

/* ---- After: the driver's answer -------------------------------------------------------------- */

static bool is_of_nothing(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_TRANSFER && !arg->Transfer.TransferSize;
}

static void check_busy(struct check *check, const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->before.build_paging_buffer;
    unsigned operation = (unsigned)arg->Operation;
    enum rule_id rule = rule_about_busy(operation);
    bool is_busy = call->status == STATUS_GRAPHICS_ALLOCATION_BUSY;
    bool is_idle = !miniport_operation_may_be_busy(arg);
    struct check_allocation *allocation;

    if (rule != RULE_XFER_011 && rule != RULE_SLT_006 && rule != RULE_DISC_004 &&
        rule != RULE_FILL_004)
        return;
    allocation = check_find_allocation(check_ledger(check), miniport_operation_allocation(arg));
    if (is_idle || is_busy)
        CHECK_RULE(
            check, rule, !is_busy || !is_idle, object_of(allocation), "status",
            "{STATUS_GRAPHICS_ALLOCATION_BUSY}, though the allocation is idle%s{=~STATUS_SUCCESS~}",
            rule == RULE_FILL_004 ? " in every FILL" : ": AllocationIsIdle is set");
    if (allocation && !is_of_nothing(arg)) /* what a reset lost keeps its epoch */
        check_movement_of(check_ledger(check), allocation)->busy_operation =
            is_busy ? operation + 1 : 0;
}

/* The first part of a transfer, again in a fresh buffer: the driver must not begin anew. */
static void check_restart(struct check *check, struct transfer_watch *watch,
                          const struct check_call *call, uint32_t advance)
{
    const DXGKARG_BUILDPAGINGBUFFER *was = call->before.build_paging_buffer;
    uint64_t written;

    if (was->Operation != DXGK_OPERATION_TRANSFER || !was->Transfer.Flags.TransferStart ||
        !advance || (!watch->is_repeat && call->status == STATUS_SUCCESS))
        return;
    written = hash_bytes(was->pDmaBuffer, advance, 0);
    if (watch->is_repeat && watch->written_bytes)
        CHECK_RULE(check, RULE_XFER_008,
                   advance != watch->written_bytes || written != watch->written_hash,
                   object_of(move_of(check_ledger(check), was).allocation), "Flags.TransferStart",
                   "on the repeat (MultipassOffset %u) the driver wrote the same %u bytes again: "
                   "it began the transfer anew",
                   was->MultipassOffset, advance);
    watch->written_bytes = advance;
    watch->written_hash = written;
}

static void after_transfer(struct check *check, struct transfer_watch *watch,
                           const struct check_call *call, uint32_t advance)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct move move = move_of(ledger, call->before.build_paging_buffer);

    if (!move.bytes) {
        CHECK_RULE(check, RULE_XFER_017, !advance, object_of(move.allocation), "pDmaBuffer",
                   "{moved %u bytes} for a transfer of none, which needs no GPU{=~0~}", advance);
        if (move.allocation)
            leave_place(watch, ledger, move.allocation);
        return;
    }
    if (!move.handle && !move.is_special)
        CHECK_RULE(
            check, RULE_XFER_010, advance || watch->is_repeat, NULL, "pDmaBuffer",
            "{did not move}: without an allocation it is a plain copy, and not nothing{=~moved~}");
    if (!move.is_special && (move.from_list || move.to_list) &&
        call->before.build_paging_buffer->Transfer.MdlOffset)
        watch->with_list[ledger->operation % OPERATION_COUNT] = ledger->operation;
    watch->is_open = !move.flags.TransferEnd;
    watch->open_allocation = move.handle;
    watch->next = move.offset + move.bytes;
    if (!move.allocation || !move.flags.TransferEnd)
        return;
    if (check_is_memory(ledger, move.to)) {
        enter_place(check, watch, move.allocation, move.to, move.to_address);
        check_remember(&move.allocation->object, call->event, "transferred to segment %u at 0x%llx",
                       move.to, move.to_address);
    } else {
        leave_place(watch, ledger, move.allocation);
        check_remember(&move.allocation->object, call->event, "transferred to system memory", 0, 0);
    }
}

static void after_operation(struct check *check, struct transfer_watch *watch,
                            const struct check_call *call, uint32_t advance)
{
    const DXGKARG_BUILDPAGINGBUFFER *was = call->before.build_paging_buffer;
    const struct check_ledger *ledger = check_ledger(check);
    struct check_allocation *allocation;

    switch ((unsigned)was->Operation) {
    case DXGK_OPERATION_TRANSFER:
    case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER:
        after_transfer(check, watch, call, advance);
        break;
    case DXGK_OPERATION_FILL:
        allocation = check_find_allocation(ledger, was->Fill.hAllocation);
        if (!allocation)
            break;
        enter_place(check, watch, allocation, was->Fill.Destination.SegmentId,
                    (uint64_t)was->Fill.Destination.SegmentAddress.QuadPart);
        check_remember(&allocation->object, call->event, "filled in segment %u at 0x%llx",
                       was->Fill.Destination.SegmentId,
                       (uint64_t)was->Fill.Destination.SegmentAddress.QuadPart);
        break;
    case DXGK_OPERATION_DISCARD_CONTENT:
        allocation = check_find_allocation(ledger, was->DiscardContent.hAllocation);
        if (!allocation)
            break;
        leave_place(watch, ledger, allocation);
        check_remember(&allocation->object, call->event, "discarded from segment %u",
                       was->DiscardContent.SegmentId, 0);
        break;
    case DXGK_OPERATION_READ_PHYSICAL:
    case DXGK_OPERATION_WRITE_PHYSICAL:
        CHECK_RULE(check, RULE_PHYS_001, advance || watch->is_repeat, NULL, "pDmaBuffer",
                   "{did not move}: the GPU will touch nothing{=~moved~}");
        break;
    default:
        break;
    }
}

static void after_build(struct check *check, struct transfer_watch *watch,
                        const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *was = call->before.build_paging_buffer;
    uint64_t moved = (uint64_t)((uintptr_t)call->arg.build_paging_buffer->pDmaBuffer -
                                (uintptr_t)was->pDmaBuffer);
    uint32_t advance = moved <= was->DmaSize ? (uint32_t)moved : 0;

    check_busy(check, call);
    check_restart(check, watch, call, advance);
    if (call->status == STATUS_SUCCESS)
        after_operation(check, watch, call, advance);
    watch->is_repeat = call->status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    if (watch->is_repeat)
        watch->repeat = *was;
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct check_ledger *ledger = check_ledger(check);
    struct transfer_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
        after_build(check, watch, call);
        break;
    case MINIPORT_DDI_CreateAllocation:
        for (UINT i = 0;
             NT_SUCCESS(call->status) && i < call->arg.create_allocation->NumAllocations; i++)
            watch->has_alternate_va |=
                call->arg.create_allocation->pAllocationInfo[i].Flags.UseAlternateVA;
        break;
    case MINIPORT_DDI_AcquireSwizzlingRange: {
        const DXGKARG_ACQUIRESWIZZLINGRANGE *arg = call->arg.acquire_swizzling_range;
        struct check_allocation *allocation = check_find_allocation(ledger, arg->hAllocation);

        if (!NT_SUCCESS(call->status))
            break;
        if (!allocation)
            break;
        allocation->movement.had_range = allocation->movement.has_range = true;
        allocation->movement.range_id = arg->RangeId;
        allocation->movement.range_data = arg->PrivateDriverData;
        break;
    }
    case MINIPORT_DDI_ReleaseSwizzlingRange: {
        struct check_allocation *allocation =
            check_find_allocation(ledger, call->arg.release_swizzling_range->hAllocation);

        if (allocation)
            allocation->movement.has_range = false;
        break;
    }
    case MINIPORT_DDI_ResetEngine:
        if (has_ended_paging(check, call))
            begin_epoch(check, watch);
        else
            check_ledger(check)->movement_epoch++;
        break;
    case MINIPORT_DDI_ResetFromTimeout:
    case MINIPORT_DDI_SetPowerState:
    case MINIPORT_DDI_StopDevice:
    case MINIPORT_DDI_NotifySurpriseRemoval:
        begin_epoch(check, watch);
        break;
    default:
        break;
    }
}

/* ---- The GPU --------------------------------------------------------------------------------- */

static bool has_partial_operation(const struct check_packet *packet)
{
    const struct check_built *piece;

    list_for_each (piece, &packet->built, struct check_built, link) {
        if (!piece->is_end && piece->bytes)
            return true;
    }
    return false;
}

/* Memory that the GPU can be sent to lies in a segment, or in a page list. */
static bool is_in_segment(const struct check_ledger *ledger, uint64_t address)
{
    for (unsigned i = 0; i < ledger->segment_count; i++) {
        if (address - ledger->segments[i].base < ledger->segments[i].size)
            return true;
    }
    return false;
}

/* A page that is not there: the lists of a careful system have such ones in front and behind. */
static void check_stray(struct check *check, const struct transfer_watch *watch,
                        const struct check_gpu_event *event)
{
    const struct check_built *piece;

    if (is_in_segment(check_ledger(check), event->address))
        return;
    list_for_each (piece, &event->packet->built, struct check_built, link) {
        if (piece->operation != DXGK_OPERATION_TRANSFER ||
            watch->with_list[piece->number % OPERATION_COUNT] != piece->number)
            continue;
        CHECK_RULE(check, RULE_XFER_004, false, NULL, "",
                   "faulted at 0x%llx, in no segment and in no page of a list that is to be used: "
                   "the list begins at MdlOffset, and is as long as the transfer; fence 0x%x",
                   (unsigned long long)event->address, event->fence);
        return;
    }
}

/* FILL-005: the GPU faults in a fill, at an address that is not to be filled. */
static bool check_fill(struct check *check, const struct check_gpu_event *event)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg =
        check_find_asked(check, check_operation_at(event->packet, event->offset, NULL));
    uint64_t start, bytes;

    if (!arg || arg->Operation != DXGK_OPERATION_FILL || check_ledger(check)->caps.has_gpummu)
        return false;
    start = (uint64_t)arg->Fill.Destination.SegmentAddress.QuadPart;
    bytes = arg->Fill.FillSize;
    return !CHECK_RULE(check, RULE_FILL_005, event->address - start < bytes, NULL, "Fill.FillSize",
                       "faulted at 0x%llx, which is none of the 0x%llx bytes from 0x%llx on: fence "
                       "0x%x",
                       (unsigned long long)event->address, (unsigned long long)bytes,
                       (unsigned long long)start, event->fence);
}

/* Commands that the GPU cannot read; in a packet that was to be patched, that may be the reason. */
static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    bool is_partial;

    if (event->kind != CHECK_GPU_FAULT || !event->packet || !event->packet->is_paging)
        return;
    if (!event->is_malformed_packet) {
        if (!check_fill(check, event))
            check_stray(check, state, event);
        return;
    }
    if (check_ledger(check)->tables.has_wrong_entry)
        return; /* other commands are read than the driver wrote */
    is_partial = has_partial_operation(event->packet);
    if (!is_partial && !event->packet->is_patched && !check_ledger(check)->caps.has_gpummu)
        return;
    CHECK_RULE(check, is_partial ? RULE_PB_011 : RULE_PB_002, false, NULL, "",
               is_partial ? "cannot read the commands of an operation that went on in the next "
                            "buffer: packet with fence 0x%x, %llu bytes"
                          : "cannot read the commands of the packet with fence 0x%x, %llu bytes",
               event->fence, (unsigned long long)event->packet->bytes);
}

/* An instance of a renamed allocation goes as an allocation does that is destroyed. */
static void client(struct check *check, void *state, const struct check_client_event *event)
{
    struct check_ledger *ledger = check_ledger(check);
    struct check_allocation *instance = check_find_ended(ledger, event);

    if (!instance || ledger->is_gone)
        return;
    check_given_up(check, instance, 0, 0, "");
    leave_place(state, ledger, instance);
}

static void retired(struct check *check, void *state, const struct check_packet *packet)
{
    if (packet->is_paging && packet->state == CHECK_COMPLETED && packet->is_gpu_done &&
        has_partial_operation(packet))
        check_looked_at(check, RULE_PB_011);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void init(struct check *check, void *state)
{
    struct transfer_watch *watch = state;

    id_map_init(&watch->places, check_configuration(check)->services);
}

static void fini(struct check *check, void *state)
{
    struct transfer_watch *watch = state;

    id_map_fini(&watch->places);
}

const struct check_watcher check_transfer_watcher = {
    .name = "transfer",
    .state_bytes = sizeof(struct transfer_watch),
    .init = init,
    .fini = fini,
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_Patch,
                                MINIPORT_DDI_DestroyAllocation),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_CreateAllocation,
                               MINIPORT_DDI_AcquireSwizzlingRange,
                               MINIPORT_DDI_ReleaseSwizzlingRange, MINIPORT_DDI_ResetEngine,
                               MINIPORT_DDI_ResetFromTimeout, MINIPORT_DDI_SetPowerState,
                               MINIPORT_DDI_StopDevice, MINIPORT_DDI_NotifySurpriseRemoval),
    .client = client,
    .retired = retired,
    .gpu = gpu,
};
