#include "vidmm/rig/test_rig_build.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_gpu.h"

#include "base/bits.h"
#include "miniport/operation.h"

static void rig_copy_pfns(struct rig_operation *operation, const MDL *mdl, uint64_t first)
{
    operation->pfns = calloc(operation->units, sizeof *operation->pfns);
    EXPECT(operation->pfns && mdl);
    memcpy(operation->pfns, (const uint64_t *)(mdl + 1) + first,
           operation->units * sizeof *operation->pfns);
}

/* The device whose allocation the operation takes away from where it is; NULL: nobody's. */
static HANDLE rig_loser(const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const struct rig_allocation *allocation = miniport_operation_allocation(args);
    bool is_loss;

    switch ((int)args->Operation) {
    case DXGK_OPERATION_TRANSFER:
        is_loss = args->Transfer.Source.SegmentId;
        break;
    case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER:
        is_loss = args->SpecialLockTransfer.Source.SegmentId;
        break;
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        is_loss = args->TransferVirtual.TransferDirection != DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL;
        break;
    default:
        is_loss = args->Operation == DXGK_OPERATION_DISCARD_CONTENT ||
                  args->Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT;
        break;
    }
    return is_loss && allocation ? allocation->device : NULL;
}

/*
 * SUB-004: no node is in a context of the device, nor on its way out of one. An allocation that was
 * destroyed is not evicted, nor is one that a sleep moves out.
 */
static void rig_check_left(const struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const struct vidmm_allocation *subject = rig->vidmm->queue.subject;
    HANDLE device = NULL;

    if (rig->config.switches_to_null && subject && subject->state != ALLOCATION_DYING &&
        rig->vidmm->power.state == POWER_ON) /* else nobody's work comes back */
        device = rig_loser(args);
    for (unsigned node = 0; device && node < 2; node++) {
        const struct rig_packet *packet;

        EXPECT(!rig->current[node] || rig->current[node]->device != device);
        list_for_each (packet, &rig->queued[node], struct rig_packet, link)
            EXPECT(!packet->is_switch);
        list_for_each (packet, &rig->reported[node], struct rig_packet, link)
            EXPECT(!packet->is_switch);
    }
}

/* NULL: the operation does not change or flush entries of a process that the driver has. */
static struct rig_process *rig_updated(const DXGKARG_BUILDPAGINGBUFFER *args)
{
    return args->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE ||
                   args->Operation == DXGK_OPERATION_FLUSH_TLB
               ? miniport_operation_process(args)
               : NULL;
}

static bool rig_is_synchronous(const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const struct rig_allocation *allocation = miniport_operation_allocation(args);

    return allocation && allocation->is_synchronous;
}

/* ALLOC-015, PT-036: who must be idle has nothing with the GPU. */
static void rig_check_idle(const struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const struct rig_process *updated = rig->config.updates_when_idle ? rig_updated(args) : NULL;
    bool is_synchronous = rig_is_synchronous(args);

    for (unsigned node = 0; node < 2; node++) {
        const struct rig_packet *packet;

        list_for_each (packet, &rig->queued[node], struct rig_packet, link)
            EXPECT(packet->context->is_system ||
                   (!is_synchronous && (!updated || packet->context->process != updated)));
    }
}

/* Takes over an operation that is seen for the first time, and checks it. */
static struct rig_operation *rig_begin_operation(struct rig *rig,
                                                 const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct rig_operation *operation = calloc(1, sizeof *operation);
    HANDLE allocation = miniport_operation_allocation(args);

    EXPECT(operation && args->MultipassOffset == 0);
    operation->args = *args;
    operation->units = 1;
    if (rig->operation_count == rig->operation_capacity) {
        rig->operation_capacity = rig->operation_capacity * 2 + 256;
        rig->operations =
            realloc(rig->operations, rig->operation_capacity * sizeof *rig->operations);
        EXPECT(rig->operations);
    }
    rig->operations[rig->operation_count++] = operation;
    if (allocation)
        rig_allocation_of(rig, allocation)->pending_operations++;
    rig->trace[rig->trace_count++ % ARRAY_COUNT(rig->trace)] = args->Operation;
    if (rig->watch)
        rig->watch(rig, args);
    rig_check_left(rig, args);
    rig_check_idle(rig, args);
    rig->synchronous_operations += rig_is_synchronous(args);
    if (rig_updated(args))
        rig_updated(args)->updates++;

    switch ((int)args->Operation) {
    case DXGK_OPERATION_TRANSFER:
        EXPECT(rig->config.is_virtual == false);
        operation->units = args->Transfer.TransferSize / PAGE_BYTES;
        if (!args->Transfer.Source.SegmentId)
            rig_copy_pfns(operation, args->Transfer.Source.pMdl, args->Transfer.MdlOffset);
        else if (!args->Transfer.Destination.SegmentId)
            rig_copy_pfns(operation, args->Transfer.Destination.pMdl, args->Transfer.MdlOffset);
        rig_accept_transfer(rig, operation);
        break;
    case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER:
        EXPECT(rig->config.is_virtual == false);
        operation->units = args->SpecialLockTransfer.TransferSize / PAGE_BYTES;
        rig_copy_pfns(operation,
                      args->SpecialLockTransfer.Source.SegmentId
                          ? args->SpecialLockTransfer.Destination.pMdl
                          : args->SpecialLockTransfer.Source.pMdl,
                      0);
        rig_accept_transfer(rig, operation);
        break;
    case DXGK_OPERATION_FILL:
        operation->units = args->Fill.FillSize / PAGE_BYTES;
        rig_accept_fill(rig, operation);
        break;
    case DXGK_OPERATION_DISCARD_CONTENT:
        rig_accept_discard(rig, operation);
        break;
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        operation->units = args->MapApertureSegment.NumberOfPages;
        rig_copy_pfns(operation, args->MapApertureSegment.pMdl, args->MapApertureSegment.MdlOffset);
        rig_accept_map(rig, operation);
        break;
    case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
        operation->units = args->UnmapApertureSegment.NumberOfPages;
        rig_accept_unmap(rig, operation);
        break;
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        operation->units = args->TransferVirtual.TransferSizeInBytes / PAGE_BYTES;
        rig_accept_virtual_move(rig, operation);
        break;
    case DXGK_OPERATION_VIRTUAL_FILL:
        operation->units = args->FillVirtual.FillSizeInBytes / PAGE_BYTES;
        rig_accept_virtual_move(rig, operation);
        break;
    case DXGK_OPERATION_UPDATE_PAGE_TABLE: {
        uint64_t count =
            args->UpdatePageTable.Flags.Repeat ? 1 : args->UpdatePageTable.NumPageTableEntries;

        operation->units =
            rig_is_farewell(&args->UpdatePageTable) ? 1 : args->UpdatePageTable.NumPageTableEntries;
        operation->entries = calloc(count + 1, sizeof *operation->entries);
        EXPECT(operation->entries);
        if (count)
            memcpy(operation->entries, args->UpdatePageTable.pPageTableEntries,
                   count * sizeof *operation->entries);
        rig_accept_update(rig, operation);
        break;
    }
    case DXGK_OPERATION_FLUSH_TLB: {
        const D3DGPU_PHYSICAL_ADDRESS *root = &args->FlushTlb.RootPageTableAddress;

        EXPECT(rig_page(rig, root->SegmentId, root->SegmentOffset / PAGE_BYTES));
        EXPECT(args->FlushTlb.StartVirtualAddress < args->FlushTlb.EndVirtualAddress ||
               (!args->FlushTlb.StartVirtualAddress && !args->FlushTlb.EndVirtualAddress));
        break;
    }
    case DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES:
        operation->units = args->CopyPageTableEntries.NumRanges;
        operation->ranges = calloc(operation->units, sizeof *operation->ranges);
        EXPECT(operation->units && operation->ranges);
        memcpy(operation->ranges, args->CopyPageTableEntries.pRanges,
               operation->units * sizeof *operation->ranges);
        break;
    case DXGK_OPERATION_SIGNAL_MONITORED_FENCE:
        EXPECT(args->SignalMonitoredFence.MonitoredFenceGpuVa % sizeof(uint64_t) == 0);
        EXPECT(args->SignalMonitoredFence.MonitoredFenceValue > 0);
        break;
    case DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY:
        EXPECT(args->NotifyFenceResidency.NumFences > 0);
        break;
    case DXGK_OPERATION_NOTIFY_RESIDENCY:
        EXPECT(args->NotifyResidency.hAllocation);
        break;
    case DXGK_OPERATION_NOTIFY_RESIDENCY2:
        EXPECT(args->NotifyResidency2.hAllocation && args->NotifyResidency2.SizeInPages > 0);
        break;
    case DXGK_OPERATION_NOTIFY_ALLOC:
        EXPECT(args->NotifyAllocation.SizeInBytes > 0);
        break;
    case DXGK_OPERATION_MAP_MMU:
        EXPECT(args->MmapMmu.Adl.PageCount > 0);
        break;
    case DXGK_OPERATION_UNMAP_MMU:
        EXPECT(args->UnmapMmu.NumberOfPages > 0);
        break;
    default:
        EXPECT(!"an operation that the manager does not have");
    }
    return operation;
}

void rig_end_operation(struct rig *rig, uint32_t index)
{
    struct rig_operation *operation = rig->operations[index];
    const DXGKARG_BUILDPAGINGBUFFER *args = &operation->args;
    HANDLE allocation = miniport_operation_allocation(args);

    for (size_t i = 0; i < operation->pin_count; i++) {
        EXPECT(operation->pins[i]->pins > 0);
        operation->pins[i]->pins--;
    }
    if (args->Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT) {
        for (uint64_t unit = 0; unit < operation->units; unit++) {
            uint64_t slot = rig_slot(rig, args->UnmapApertureSegment.SegmentId,
                                     args->UnmapApertureSegment.OffsetInPages + unit);

            if (rig->slot_is_busy[slot]) /* else mapped again meanwhile */
                rig->slot_owner[slot] = 0;
            rig->slot_is_busy[slot] = false;
        }
    }
    if (allocation)
        ((struct rig_allocation *)allocation)->pending_operations--;
    rig->synchronous_operations -= rig_is_synchronous(args);
    if (rig_updated(args))
        rig_updated(args)->updates--;
    free(operation->pins);
    free(operation->pfns);
    free(operation->entries);
    free(operation->ranges);
    free(operation);
    rig->operations[index] = NULL;
}

/* How many units the next record takes, and its payload in words. */
static uint64_t rig_record_units(const struct rig_operation *operation, uint64_t room,
                                 uint64_t *words)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = &operation->args;
    uint64_t left = operation->units - operation->built;
    uint64_t fit;

    *words = 1;
    if (room < sizeof(struct rig_record) + 8)
        return 0;
    switch ((int)args->Operation) {
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        if (args->UpdatePageTable.Flags.Repeat)
            return left;
        /* fall through */
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        fit = (room - sizeof(struct rig_record)) / 8;
        *words = min_u64(fit, left);
        return *words;
    case DXGK_OPERATION_TRANSFER:
    case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER:
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
    case DXGK_OPERATION_VIRTUAL_FILL:
        return min_u64(left, RIG_RECORD_PAGES);
    default:
        return left;
    }
}

static void rig_check_buffer(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    uint32_t bytes = rig->config.buffer_bytes;
    const uint8_t *start = (const uint8_t *)args->pDmaBuffer - args->DmaBufferWriteOffset;
    bool is_block = false;

    for (unsigned i = 0; i < RIG_BLOCKS; i++)
        is_block = is_block || (rig->blocks[i].memory && rig->blocks[i].memory == start);
    EXPECT(is_block);
    EXPECT(args->DmaBufferWriteOffset + args->DmaSize == bytes);
    EXPECT(args->DmaBufferWriteOffset == 0 || args->pDmaBuffer == rig->last_end);
    EXPECT((args->DmaBufferGpuVirtualAddress != 0) ==
           (rig->config.is_virtual && !rig->config.hides_address));
    rig->buffer_start = start;
    EXPECT(args->DmaBufferGpuVirtualAddress % PAGE_BYTES == 0);
    EXPECT(((const struct rig_context *)args->hSystemContext)->is_system);
    /*
     * Entries are copied on the companion of a context, everything that holds no job of one is not.
     */
    EXPECT(args->Operation != DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES ||
           args->hSystemContext != rig->system_context);
    EXPECT((args->pDmaBufferPrivateData != NULL) == (rig->config.private_bytes != 0));
    /* Both pointers go on where the last call left them (PB-023). */
    EXPECT(!rig->config.moves_private || args->DmaBufferWriteOffset == 0 ||
           args->pDmaBufferPrivateData == rig->last_private_end);
}

static void rig_stop_at(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    rig->last_end = args->pDmaBuffer;
    rig->last_private_end = args->pDmaBufferPrivateData;
}

/* Tables and slots that the CPU writes: done when the call returns, without a byte. */
static NTSTATUS rig_build_at_once(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct rig_operation *operation = rig_begin_operation(rig, args);

    rig_run_operation(rig, operation, 0, operation->units);
    rig_end_operation(rig, (uint32_t)rig->operation_count - 1);
    return STATUS_SUCCESS;
}

static bool rig_is_busy(const struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    if (!rig->config.is_busy_once)
        return false;
    return (args->Operation == DXGK_OPERATION_TRANSFER && !args->Transfer.Flags.AllocationIsIdle) ||
           (args->Operation == DXGK_OPERATION_DISCARD_CONTENT &&
            !args->DiscardContent.Flags.AllocationIsIdle);
}

static uint32_t rig_operation_index(const struct rig *rig, const struct rig_operation *operation)
{
    size_t i = rig->operation_count;

    while (rig->operations[--i] != operation)
        ;
    return (uint32_t)i;
}

NTSTATUS rig_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct rig *rig = rig_of(self);
    struct rig_operation *operation = rig->pending;
    NTSTATUS status;
    uint32_t index;

    if (rig->build_hook && rig->build_hook(rig, args, &status))
        return status;
    if (rig_maps_buffer(rig, args))
        return STATUS_SUCCESS;
    if (!args->pDmaBuffer) {
        EXPECT(args->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE &&
               args->UpdatePageTable.UpdateMode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL);
        return rig_build_at_once(rig, args);
    }
    rig_check_buffer(rig, args);
    if (rig_is_busy(rig, args)) {
        rig_stop_at(rig, args);
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    }
    if (args->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE) {
        EXPECT(args->UpdatePageTable.UpdateMode == rig->config.mode);
        if (rig->config.mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL) {
            rig_stop_at(rig, args);
            return rig_build_at_once(rig, args);
        }
    }
    if (rig->config.slots_at_once && (args->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT ||
                                      args->Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT)) {
        rig_stop_at(rig, args);
        return rig_build_at_once(rig, args);
    }
    if (operation) {
        /* The same operation again, on a fresh buffer or behind what is there (PB-010, PB-015). */
        EXPECT(operation->args.Operation == args->Operation);
        EXPECT(operation->built == args->MultipassOffset);
        EXPECT(!memcmp(&operation->args.Reserved, &args->Reserved, sizeof args->Reserved));
        EXPECT(args->DmaBufferWriteOffset == 0);
    } else {
        operation = rig_begin_operation(rig, args);
    }
    rig->pending = NULL;
    index = rig_operation_index(rig, operation);
    while (operation->built < operation->units) {
        struct rig_record *record = args->pDmaBuffer;
        uint64_t words;
        uint64_t count = rig_record_units(operation, args->DmaSize, &words);

        if (rig->config.skips_discards && args->Operation == DXGK_OPERATION_DISCARD_CONTENT)
            break;
        if (!count || (rig->config.moves_private && args->DmaBufferPrivateDataSize < 4)) {
            args->MultipassOffset = (UINT)operation->built;
            rig->pending = operation;
            rig_stop_at(rig, args);
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        }
        record->magic = RIG_MAGIC;
        record->bytes = (uint32_t)(sizeof *record + words * 8);
        record->operation = index;
        record->check = index * 2654435761u + (uint32_t)operation->built;
        record->first = operation->built;
        record->count = count;
        for (uint64_t i = 0; i < words; i++)
            record->payload[i] = record->check + i;
        operation->built += count;
        operation->records++;
        args->pDmaBuffer = (uint8_t *)args->pDmaBuffer + record->bytes;
        args->DmaSize -= record->bytes;
        args->DmaBufferWriteOffset += record->bytes;
        if (args->pDmaBufferPrivateData && rig->config.moves_private) {
            memset(args->pDmaBufferPrivateData, (int)index, 4);
            args->pDmaBufferPrivateData = (uint8_t *)args->pDmaBufferPrivateData + 4;
            args->DmaBufferPrivateDataSize -= 4;
        }
    }
    rig_stop_at(rig, args);
    operation->is_complete = true;
    if (!operation->records)
        rig_end_operation(rig, index);
    return STATUS_SUCCESS;
}
