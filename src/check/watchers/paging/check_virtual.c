/*
 * Watcher: transfers and fills by virtual address (VX).
 *
 * Follows the chunks in which an allocation moves, and the last leaf entries of the paging process,
 * which say what stands behind the addresses of an operation. Content is judged by the oracle.
 */
#include "check/check_watch.h"

#include "base/bits.h"

#define PAGE              UINT64_C(4096)
#define LARGE_PAGE        UINT64_C(65536)
#define UNIQUE_PROTECTION (UINT64_C(1) << 63)
#define MAPPING_COUNT     16u /* updates that are remembered: more than a chunk needs at its ends */
#define MOST_OVERRUN      LARGE_PAGE /* behind the end of a transfer that is still a part of it */
#define OPERATION_COUNT   64u /* operations that are remembered: more than one buffer holds */

/* Leaf entries of the paging process, as one update wrote them. */
struct scratch_mapping {
    uint64_t va, bytes;
    bool is_64k, is_valid;
    bool is_system; /* SegmentId 0 */
};

struct virtual_operation {
    uint64_t number; /* of the ledger */
    uint64_t bytes, offset;
    uint64_t from, to;                 /* addresses; a fill has no first one */
    bool is_from_mapped, is_to_mapped; /* at both ends, as far as is remembered */
};

struct virtual_watch {
    struct scratch_mapping mappings[MAPPING_COUNT];       /* a ring */
    unsigned mapping_count;                               /* ever */
    struct virtual_operation operations[OPERATION_COUNT]; /* by number */

    /* The packet with virtual operations that the GPU is to be handed next. */
    bool is_submitting;
    unsigned node;
    uint32_t fence;

    bool is_repeat; /* the last operation came back for want of room */
};

static bool is_virtual(unsigned operation)
{
    return operation == DXGK_OPERATION_VIRTUAL_TRANSFER || operation == DXGK_OPERATION_VIRTUAL_FILL;
}

static bool has_virtual(const struct check_packet *packet)
{
    const struct check_built *piece;

    list_for_each (piece, &packet->built, struct check_built, link) {
        if (is_virtual(piece->operation))
            return true;
    }
    return false;
}

/* The last update that covers the address; NULL: it is not remembered. */
static const struct scratch_mapping *find_mapping(const struct virtual_watch *watch, uint64_t va)
{
    unsigned known = (unsigned)min_u64(watch->mapping_count, MAPPING_COUNT);

    for (unsigned i = 1; i <= known; i++) {
        const struct scratch_mapping *mapping =
            &watch->mappings[(watch->mapping_count - i) % MAPPING_COUNT];

        if (va - mapping->va < mapping->bytes)
            return mapping;
    }
    return NULL;
}

static bool is_mapped(const struct virtual_watch *watch, uint64_t va, uint64_t bytes)
{
    const struct scratch_mapping *first = find_mapping(watch, va);
    const struct scratch_mapping *last = find_mapping(watch, va + bytes - 1);

    return first && last && first->is_valid && last->is_valid;
}

/* ---- Before ---------------------------------------------------------------------------------- */

/* Chunks of one movement of an allocation: they ascend without a gap, from its start to its end. */
static void check_chunk(struct check *check, struct check_allocation *allocation,
                        unsigned operation, uint64_t offset, uint64_t bytes)
{
    struct check_movement *movement;
    uint64_t total, due;
    bool goes_on;

    if (!allocation)
        return;
    movement = check_movement_of(check_ledger(check), allocation);
    total = check_allocation_pages(allocation) * PAGE;
    goes_on = movement->next_chunk && movement->chunk_operation == operation;
    due = goes_on ? movement->next_chunk : 0;
    /* What was reset meanwhile may have been another engine. */
    if (!movement->next_chunk && movement->former_chunk == offset &&
        movement->chunk_operation == operation)
        due = offset;
    CHECK_RULE(
        check, RULE_VX_003,
        offset == due && offset + bytes <= total && (goes_on || !movement->next_chunk),
        &allocation->object, "AllocationOffsetInBytes",
        "the chunk is {[0x%llx, +0x%llx)}; {=0x%llx~ on~} of 0x%llx bytes were moved before it",
        (unsigned long long)offset, (unsigned long long)bytes,
        (unsigned long long)movement->next_chunk, (unsigned long long)total);
}

static void check_mapped(struct check *check, const struct virtual_watch *watch,
                         struct check_object *object, const char *field, uint64_t va,
                         uint64_t bytes)
{
    const struct scratch_mapping *first = find_mapping(watch, va);
    const struct scratch_mapping *last = find_mapping(watch, va + bytes - 1);

    if (!first || !last)
        return;
    CHECK_RULE(check, RULE_VX_001, first->is_valid && last->is_valid, object, field,
               "0x%llx (0x%llx bytes) is not mapped in the paging process at its %s",
               (unsigned long long)va, (unsigned long long)bytes,
               first->is_valid ? "end" : "start");
}

static void check_page_size(struct check *check, const struct virtual_watch *watch,
                            struct check_object *object, const char *field, uint64_t va,
                            bool says_64k)
{
    const struct scratch_mapping *mapping = find_mapping(watch, va);

    if (!mapping || !mapping->is_valid)
        return;
    CHECK_RULE(check, RULE_VX_007, mapping->is_64k == says_64k, object, field,
               "is {%d}; address 0x%llx was mapped with pages of {=%s}", says_64k,
               (unsigned long long)va, mapping->is_64k ? "64 KiB" : "4 KiB");
}

static void check_direction(struct check *check, const struct virtual_watch *watch,
                            struct check_object *object,
                            const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *arg)
{
    static const char *const names[] = {"local to system", "system to local", "local to local"};
    const struct scratch_mapping *from = find_mapping(watch, arg->SourceVirtualAddress);
    const struct scratch_mapping *to = find_mapping(watch, arg->DestinationVirtualAddress);
    unsigned is;

    if (!from || !to || !from->is_valid || !to->is_valid || (from->is_system && to->is_system))
        return;
    is = from->is_system ? DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL
         : to->is_system ? DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM
                         : DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL;
    CHECK_RULE(check, RULE_VX_005, (unsigned)arg->TransferDirection == is, object,
               "TransferDirection", "is {%u}; the two addresses are mapped {=%s}",
               (unsigned)arg->TransferDirection, names[is]);
}

static void before_transfer(struct check *check, const struct virtual_watch *watch,
                            const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *arg)
{
    const struct check_caps *caps = &check_ledger(check)->caps;
    struct check_allocation *allocation =
        check_find_allocation(check_ledger(check), arg->hAllocation);
    struct check_object *object = allocation ? &allocation->object : NULL;

    check_chunk(check, allocation, DXGK_OPERATION_VIRTUAL_TRANSFER, arg->AllocationOffsetInBytes,
                arg->TransferSizeInBytes);
    check_mapped(check, watch, object, "SourceVirtualAddress", arg->SourceVirtualAddress,
                 arg->TransferSizeInBytes);
    check_mapped(check, watch, object, "DestinationVirtualAddress", arg->DestinationVirtualAddress,
                 arg->TransferSizeInBytes);
    check_page_size(check, watch, object, "Flags.Src64KBPages", arg->SourceVirtualAddress,
                    arg->Flags.Src64KBPages);
    check_page_size(check, watch, object, "Flags.Dst64KBPages", arg->DestinationVirtualAddress,
                    arg->Flags.Dst64KBPages);
    check_direction(check, watch, object, arg);
    if (caps->has_gpummu && caps->gpummu.LegacyBehaviors.SourcePageTableVaInTransfer &&
        caps->gpummu.PageTableUpdateMode == DXGK_PAGETABLEUPDATE_GPU_VIRTUAL)
        CHECK_RULE(
            check, RULE_VX_006, arg->SourcePageTable && arg->DestinationPageTable, object,
            arg->SourcePageTable ? "DestinationPageTable" : "SourcePageTable",
            "is {0}; the driver set LegacyBehaviors.SourcePageTableVaInTransfer{=~an address~}");
}

static void before_fill(struct check *check, const struct virtual_watch *watch,
                        const DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL *arg)
{
    struct check_allocation *allocation =
        check_find_allocation(check_ledger(check), arg->hAllocation);

    check_chunk(check, allocation, DXGK_OPERATION_VIRTUAL_FILL, arg->AllocationOffsetInBytes,
                arg->FillSizeInBytes);
    check_mapped(check, watch, allocation ? &allocation->object : NULL, "DestinationVirtualAddress",
                 arg->DestinationVirtualAddress, arg->FillSizeInBytes);
}

static bool is_of_paging_process(const struct check_ledger *ledger, HANDLE process)
{
    const struct check_process *found = check_find_process(ledger, process);

    return found && found->is_system;
}

static void before_update(struct check *check, const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *arg)
{
    const struct check_allocation *allocation =
        check_find_allocation(check_ledger(check), arg->hAllocation);

    if (arg->PageTableLevel || !allocation ||
        !is_of_paging_process(check_ledger(check), arg->hProcess))
        return;
    CHECK_RULE(check, RULE_VX_012,
               !arg->DriverProtection || (arg->DriverProtection & UNIQUE_PROTECTION),
               &allocation->object, "DriverProtection",
               "is {0x%llx} in the paging process, without the unique bit (expected {=0})",
               (unsigned long long)arg->DriverProtection);
}

static void before_submit(struct virtual_watch *watch, const struct check_call *call)
{
    if (!call->packet || !call->packet->is_paging || !has_virtual(call->packet))
        return;
    watch->is_submitting = true;
    watch->node = call->packet->node;
    watch->fence = call->packet->fence;
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct virtual_watch *watch = state;

    if (call->ddi == MINIPORT_DDI_SubmitCommand || call->ddi == MINIPORT_DDI_SubmitCommandVirtual)
        before_submit(watch, call);
    if (call->ddi != MINIPORT_DDI_BuildPagingBuffer || watch->is_repeat)
        return;
    switch ((unsigned)call->arg.build_paging_buffer->Operation) {
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        before_transfer(check, watch, &call->arg.build_paging_buffer->TransferVirtual);
        break;
    case DXGK_OPERATION_VIRTUAL_FILL:
        before_fill(check, watch, &call->arg.build_paging_buffer->FillVirtual);
        break;
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        before_update(check, &call->arg.build_paging_buffer->UpdatePageTable);
        break;
    default:
        break;
    }
}

/* ---- After ----------------------------------------------------------------------------------- */

static void note_update(struct check *check, struct virtual_watch *watch,
                        const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *arg)
{
    if (arg->PageTableLevel || !arg->pPageTableEntries || !arg->NumPageTableEntries ||
        !is_of_paging_process(check_ledger(check), arg->hProcess))
        return;
    watch->mappings[watch->mapping_count++ % MAPPING_COUNT] = (struct scratch_mapping){
        .va = arg->FirstPteVirtualAddress,
        .bytes = arg->NumPageTableEntries * (arg->Flags.Use64KBPages ? LARGE_PAGE : PAGE),
        .is_64k = arg->Flags.Use64KBPages,
        .is_valid = arg->pPageTableEntries[0].Valid,
        .is_system = arg->pPageTableEntries[0].Segment == 0,
    };
}

static void note_chunk(struct check *check, struct virtual_watch *watch,
                       const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *was = call->before.build_paging_buffer;
    const struct check_ledger *ledger = check_ledger(check);
    bool is_fill = was->Operation == DXGK_OPERATION_VIRTUAL_FILL;
    struct virtual_operation *operation = &watch->operations[ledger->operation % OPERATION_COUNT];
    struct check_allocation *allocation;
    struct check_movement *movement;

    *operation = (struct virtual_operation){
        .number = ledger->operation,
        .bytes =
            is_fill ? was->FillVirtual.FillSizeInBytes : was->TransferVirtual.TransferSizeInBytes,
        .offset = is_fill ? was->FillVirtual.AllocationOffsetInBytes
                          : was->TransferVirtual.AllocationOffsetInBytes,
        .from = is_fill ? was->FillVirtual.DestinationVirtualAddress
                        : was->TransferVirtual.SourceVirtualAddress,
        .to = is_fill ? was->FillVirtual.DestinationVirtualAddress
                      : was->TransferVirtual.DestinationVirtualAddress,
    };
    operation->is_from_mapped = is_mapped(watch, operation->from, operation->bytes);
    operation->is_to_mapped = is_mapped(watch, operation->to, operation->bytes);
    allocation = check_find_allocation(ledger, is_fill ? was->FillVirtual.hAllocation
                                                       : was->TransferVirtual.hAllocation);
    if (!allocation || call->status != STATUS_SUCCESS)
        return;
    movement = check_movement_of(ledger, allocation);
    movement->chunk_operation = (unsigned)was->Operation;
    movement->next_chunk = operation->offset + operation->bytes;
    movement->former_chunk = 0;
    if (movement->next_chunk < check_allocation_pages(allocation) * PAGE)
        return;
    movement->next_chunk = 0;
    if (is_fill)
        check_remember(&allocation->object, call->event, "filled in local memory", 0, 0);
    else
        check_remember(&allocation->object, call->event,
                       was->TransferVirtual.TransferDirection ==
                               DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM
                           ? "transferred to system memory"
                           : "transferred to local memory",
                       0, 0);
}

static void after_build(struct check *check, struct virtual_watch *watch,
                        const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *was = call->before.build_paging_buffer;
    bool is_done = call->status == STATUS_SUCCESS;
    bool is_short = call->status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;

    watch->is_repeat = is_short;
    if (was->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE && is_done)
        note_update(check, watch, &was->UpdatePageTable);
    if (!is_virtual((unsigned)was->Operation))
        return;
    CHECK_RULE(check, RULE_VX_010, call->status != STATUS_GRAPHICS_ALLOCATION_BUSY, NULL, "status",
               "{STATUS_GRAPHICS_ALLOCATION_BUSY}, which the operation does not "
               "offer{=~STATUS_SUCCESS or STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER~}");
    if (is_done || is_short)
        note_chunk(check, watch, call);
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct virtual_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
        after_build(check, watch, call);
        break;
    case MINIPORT_DDI_ResetFromTimeout:
    case MINIPORT_DDI_ResetEngine:
    case MINIPORT_DDI_SetPowerState:
        watch->is_repeat = watch->is_submitting = false;
        watch->mapping_count = 0;
        break;
    default:
        break;
    }
}

/* ---- The GPU --------------------------------------------------------------------------------- */

static void check_node(struct check *check, struct virtual_watch *watch,
                       const struct check_gpu_event *event)
{
    const struct check_caps *caps = &check_ledger(check)->caps;

    if (!watch->is_submitting || event->fence != watch->fence)
        return;
    watch->is_submitting = false;
    if (caps->has_physical)
        CHECK_RULE(check, RULE_VX_009, event->node == caps->physical.PagingNodeIndex, NULL,
                   "SubmissionFenceId",
                   "0x%x with virtual transfers was handed to node {%u}; PagingNodeIndex is {=%u}",
                   event->fence, event->node, caps->physical.PagingNodeIndex);
}

/* The operation of the packet that may touch the address, NULL: none may. */
static const struct virtual_operation *find_operation(const struct virtual_watch *watch,
                                                      const struct check_packet *packet,
                                                      uint64_t va, bool is_shifted)
{
    const struct check_built *piece;

    list_for_each (piece, &packet->built, struct check_built, link) {
        const struct virtual_operation *operation =
            &watch->operations[piece->number % OPERATION_COUNT];
        uint64_t at = va - (is_shifted ? operation->offset : 0);

        if (!is_virtual(piece->operation) || operation->number != piece->number ||
            (is_shifted && !operation->offset))
            continue;
        if (at - operation->from < operation->bytes || at - operation->to < operation->bytes)
            return operation;
    }
    return NULL;
}

/*
 * The transfer of the packet that ends at most so many bytes below the address, NULL: there is
 * none.
 */
static const struct virtual_operation *find_overrun(const struct virtual_watch *watch,
                                                    const struct check_packet *packet, uint64_t va,
                                                    uint64_t *out_end)
{
    const struct check_built *piece;

    list_for_each (piece, &packet->built, struct check_built, link) {
        const struct virtual_operation *operation =
            &watch->operations[piece->number % OPERATION_COUNT];
        uint64_t ends[] = {operation->from + operation->bytes, operation->to + operation->bytes};

        if (piece->operation != DXGK_OPERATION_VIRTUAL_TRANSFER ||
            operation->number != piece->number)
            continue;
        for (unsigned i = 0; i < ARRAY_COUNT(ends); i++) {
            if (va - ends[i] >= MOST_OVERRUN)
                continue;
            *out_end = ends[i];
            return operation;
        }
    }
    return NULL;
}

/* The manager had asked for valid entries there. */
static bool was_mapped(const struct virtual_operation *operation, uint64_t va)
{
    return va - operation->to < operation->bytes ? operation->is_to_mapped
                                                 : operation->is_from_mapped;
}

/*
 * An address that does not translate. Where the manager's own addresses are the reason, it is
 * VX-001, and where it had asked for their entries, these are not what they should be (PT-017); a
 * driver that adds the offset in the allocation goes astray by as much, and one that moves more
 * than TransferSizeInBytes does so behind the end of the chunk (VX-003: chunks tile the
 * allocation).
 */
static void check_fault(struct check *check, const struct virtual_watch *watch,
                        const struct check_gpu_event *event)
{
    const struct virtual_operation *operation =
        find_operation(watch, event->packet, event->address, false);
    uint64_t end = 0;

    if (operation && was_mapped(operation, event->address)) {
        CHECK_RULE(check, RULE_PT_017, false, NULL, "",
                   "faulted at 0x%llx, which the operation with 0x%llx bytes names, and for which "
                   "valid entries were asked for: they are not there, or were not flushed; fence "
                   "0x%x",
                   (unsigned long long)event->address, (unsigned long long)operation->bytes,
                   event->fence);
        return;
    }
    if (operation) {
        CHECK_RULE(check, RULE_VX_001, false, NULL, "",
                   "faulted at 0x%llx, which the operation with 0x%llx bytes names: fence 0x%x",
                   (unsigned long long)event->address, (unsigned long long)operation->bytes,
                   event->fence);
        return;
    }
    operation = find_operation(watch, event->packet, event->address, true);
    if (!operation) {
        operation = find_overrun(watch, event->packet, event->address, &end);
        if (!operation)
            return;
        CHECK_RULE(check, RULE_VX_003, false, NULL, "TransferVirtual.TransferSizeInBytes",
                   "faulted at 0x%llx, 0x%llx bytes behind the end of the transfer of 0x%llx "
                   "bytes: more was moved than asked for; fence 0x%x",
                   (unsigned long long)event->address, (unsigned long long)(event->address - end),
                   (unsigned long long)operation->bytes, event->fence);
        return;
    }
    CHECK_RULE(check, RULE_VX_002, false, NULL, "",
               "faulted at 0x%llx, 0x%llx behind what the operation names: as if "
               "AllocationOffsetInBytes had been added",
               (unsigned long long)event->address, (unsigned long long)operation->offset);
}

static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    if (event->kind == CHECK_GPU_QUEUED)
        check_node(check, state, event);
    if (event->kind == CHECK_GPU_FAULT && !event->is_malformed_packet && event->packet &&
        event->packet->is_paging)
        check_fault(check, state, event);
}

/* All addresses of the packet did translate. */
static void retired(struct check *check, void *state, const struct check_packet *packet)
{
    const struct virtual_watch *watch = state;
    const struct check_built *piece;

    if (!packet->is_paging || packet->state != CHECK_COMPLETED || !packet->is_gpu_done)
        return;
    list_for_each (piece, &packet->built, struct check_built, link) {
        const struct virtual_operation *operation =
            &watch->operations[piece->number % OPERATION_COUNT];

        if (!is_virtual(piece->operation) || operation->number != piece->number)
            continue;
        check_looked_at(check, RULE_VX_001);
        if (operation->offset)
            check_looked_at(check, RULE_VX_002);
    }
}

const struct check_watcher check_virtual_watcher = {
    .name = "virtual",
    .state_bytes = sizeof(struct virtual_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_SubmitCommand, MINIPORT_DDI_SubmitCommandVirtual,
                                MINIPORT_DDI_BuildPagingBuffer),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_ResetFromTimeout,
                               MINIPORT_DDI_ResetEngine, MINIPORT_DDI_SetPowerState),
    .retired = retired,
    .gpu = gpu,
};
