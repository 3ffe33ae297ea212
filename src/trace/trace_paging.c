/*
 * Trace: the fields of the paging operations, each under its WDK name.
 *
 * The operation is the event's, as it was before the call: the driver owns the structure then.
 */
#include "trace/trace_line.h"

#include "base/bits.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One end of a transfer: an MDL in segment 0, an address in any other. */
static void put_location(struct trace_line *line, const char *name, UINT segment,
                         LARGE_INTEGER address, const MDL *mdl)
{
    char field[32];

    if (segment) {
        trace_put(line, " %s=%" PRIu32 ":0x%" PRIx64, name, segment, (uint64_t)address.QuadPart);
        return;
    }
    snprintf(field, sizeof field, "%s.pMdl", name);
    trace_put_mdl(line, field, mdl);
}

static void put_ptes(struct trace_line *line, const char *name, const DXGK_PTE *entries, UINT count)
{
    if (!entries) {
        trace_put(line, " %s=-", name);
        return;
    }
    trace_put(line, " %s=[", name);
    for (UINT i = 0; i < count && i < TRACE_ARRAY_SHOWN; i++)
        trace_put(line, "%s0x%" PRIx64 ":0x%" PRIx64, i ? " " : "", (uint64_t)entries[i].Flags,
                  (uint64_t)entries[i].PageAddress);
    if (count > TRACE_ARRAY_SHOWN)
        trace_put(line, " .. #%016" PRIx64,
                  hash_bytes(entries, (size_t)count * sizeof *entries, 0));
    trace_put(line, "]");
}

static void put_update_page_table(struct trace_line *line,
                                  const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *op)
{
    UINT count = op->Flags.Repeat ? 1 : op->NumPageTableEntries;
    UINT flags;

    _Static_assert(sizeof op->Flags == sizeof flags, "the flags are one UINT");

    trace_put_number(line, "PageTableLevel", op->PageTableLevel);
    trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION, op->hAllocation);
    switch (op->UpdateMode) {
    case DXGK_PAGETABLEUPDATE_CPU_VIRTUAL:
        trace_put_cpu_address(line, "PageTableAddress", op->PageTableAddress.CpuVirtual);
        break;
    case DXGK_PAGETABLEUPDATE_GPU_VIRTUAL:
        trace_put_hex(line, "PageTableAddress", op->PageTableAddress.GpuVirtual);
        break;
    default:
        trace_put_gpu_physical(line, "PageTableAddress", &op->PageTableAddress.GpuPhysical);
        break;
    }
    trace_put_number(line, "UpdateMode", (uint64_t)op->UpdateMode);
    trace_put_number(line, "StartIndex", op->StartIndex);
    trace_put_number(line, "NumPageTableEntries", op->NumPageTableEntries);
    memcpy(&flags, &op->Flags, sizeof flags);
    trace_put_hex(line, "Flags", flags);
    trace_put_hex(line, "DriverProtection", op->DriverProtection);
    trace_put_number(line, "AllocationOffsetInBytes", op->AllocationOffsetInBytes);
    trace_put_handle(line, "hProcess", TRACE_HANDLE_PROCESS, op->hProcess);
    trace_put_hex(line, "FirstPteVirtualAddress", op->FirstPteVirtualAddress);
    put_ptes(line, "pPageTableEntries", op->pPageTableEntries, count);
    if (op->pPageTableEntries64KB)
        put_ptes(line, "pPageTableEntries64KB", op->pPageTableEntries64KB, 1);
}

static void put_copy_page_table_entries(struct trace_line *line,
                                        const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *op)
{
    struct hash hash;

    hash_init(&hash, 0);
    trace_put_number(line, "NumRanges", op->NumRanges);
    trace_put(line, " pRanges=[");
    for (UINT i = 0; op->pRanges && i < op->NumRanges; i++) {
        const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range = &op->pRanges[i];

        hash_update_u64(&hash, range->NumPageTableEntries);
        hash_update_u64(&hash, range->SrcPageTableAddress);
        hash_update_u64(&hash, range->SrcStartPteIndex);
        hash_update_u64(&hash, range->DstPageTableAddress);
        hash_update_u64(&hash, range->DstStartPteIndex);
        if (i < TRACE_ARRAY_SHOWN)
            trace_put(line, "%s%" PRIu32 "*0x%" PRIx64 "+%" PRIu32 ">0x%" PRIx64 "+%" PRIu32,
                      i ? " " : "", range->NumPageTableEntries,
                      (uint64_t)range->SrcPageTableAddress, range->SrcStartPteIndex,
                      (uint64_t)range->DstPageTableAddress, range->DstStartPteIndex);
    }
    if (op->NumRanges > TRACE_ARRAY_SHOWN)
        trace_put(line, " .. #%016" PRIx64, hash_final(&hash));
    trace_put(line, "]");
}

static void put_notify_fence_residency(struct trace_line *line,
                                       const DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *op)
{
    trace_put_number(line, "NumFences", op->NumFences);
    trace_put_hex(line, "Flags", op->Flags.Reserved);
    trace_put(line, " FenceResidencyInfo=[");
    for (UINT i = 0; op->FenceResidencyInfo && i < op->NumFences; i++) {
        const DXGK_FENCE_RESIDENCY_INFO *info = &op->FenceResidencyInfo[i];

        trace_put(line, "%s{", i ? " " : "");
        trace_put_handle_value(line, TRACE_HANDLE_FENCE, info->hGlobalNativeFence);
        trace_put_gpu_physical(line, "current", &info->CurrentValuePhysicalAddress);
        trace_put_gpu_physical(line, "monitored", &info->MonitoredValuePhysicalAddress);
        trace_put(line, "}");
    }
    trace_put(line, "]");
}

/* Operations 0 to 7, 10 and 17: the ones on segments. */
static void put_segment_operation(struct trace_line *line, unsigned operation,
                                  const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    switch (operation) {
    case DXGK_OPERATION_TRANSFER:
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION, arg->Transfer.hAllocation);
        trace_put_number(line, "TransferOffset", arg->Transfer.TransferOffset);
        trace_put_number(line, "TransferSize", arg->Transfer.TransferSize);
        put_location(line, "Source", arg->Transfer.Source.SegmentId,
                     arg->Transfer.Source.SegmentAddress, arg->Transfer.Source.pMdl);
        put_location(line, "Destination", arg->Transfer.Destination.SegmentId,
                     arg->Transfer.Destination.SegmentAddress, arg->Transfer.Destination.pMdl);
        trace_put_hex(line, "Flags", arg->Transfer.Flags.Value);
        trace_put_number(line, "MdlOffset", arg->Transfer.MdlOffset);
        break;
    case DXGK_OPERATION_FILL:
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION, arg->Fill.hAllocation);
        trace_put_number(line, "FillSize", arg->Fill.FillSize);
        trace_put_hex(line, "FillPattern", arg->Fill.FillPattern);
        trace_put(line, " Destination=%" PRIu32 ":0x%" PRIx64, arg->Fill.Destination.SegmentId,
                  (uint64_t)arg->Fill.Destination.SegmentAddress.QuadPart);
        break;
    case DXGK_OPERATION_DISCARD_CONTENT:
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION,
                         arg->DiscardContent.hAllocation);
        trace_put_hex(line, "Flags", arg->DiscardContent.Flags.Value);
        trace_put(line, " Segment=%" PRIu32 ":0x%" PRIx64, arg->DiscardContent.SegmentId,
                  (uint64_t)arg->DiscardContent.SegmentAddress.QuadPart);
        break;
    case DXGK_OPERATION_READ_PHYSICAL:
        trace_put_number(line, "SegmentId", arg->ReadPhysical.SegmentId);
        trace_put_hex(line, "PhysicalAddress",
                      (uint64_t)arg->ReadPhysical.PhysicalAddress.QuadPart);
        break;
    case DXGK_OPERATION_WRITE_PHYSICAL:
        trace_put_number(line, "SegmentId", arg->WritePhysical.SegmentId);
        trace_put_hex(line, "PhysicalAddress",
                      (uint64_t)arg->WritePhysical.PhysicalAddress.QuadPart);
        break;
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        trace_put_handle(line, "hDevice", TRACE_HANDLE_DEVICE, arg->MapApertureSegment.hDevice);
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION,
                         arg->MapApertureSegment.hAllocation);
        trace_put_number(line, "SegmentId", arg->MapApertureSegment.SegmentId);
        trace_put_number(line, "OffsetInPages", arg->MapApertureSegment.OffsetInPages);
        trace_put_number(line, "NumberOfPages", arg->MapApertureSegment.NumberOfPages);
        trace_put_mdl(line, "pMdl", arg->MapApertureSegment.pMdl);
        trace_put_hex(line, "Flags", arg->MapApertureSegment.Flags.Value);
        trace_put_number(line, "MdlOffset", arg->MapApertureSegment.MdlOffset);
        break;
    case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
        trace_put_handle(line, "hDevice", TRACE_HANDLE_DEVICE, arg->UnmapApertureSegment.hDevice);
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION,
                         arg->UnmapApertureSegment.hAllocation);
        trace_put_number(line, "SegmentId", arg->UnmapApertureSegment.SegmentId);
        trace_put_number(line, "OffsetInPages", arg->UnmapApertureSegment.OffsetInPages);
        trace_put_number(line, "NumberOfPages", arg->UnmapApertureSegment.NumberOfPages);
        trace_put_hex(line, "DummyPage", (uint64_t)arg->UnmapApertureSegment.DummyPage.QuadPart);
        break;
    case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER:
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION,
                         arg->SpecialLockTransfer.hAllocation);
        trace_put_number(line, "TransferOffset", arg->SpecialLockTransfer.TransferOffset);
        trace_put_number(line, "TransferSize", arg->SpecialLockTransfer.TransferSize);
        put_location(line, "Source", arg->SpecialLockTransfer.Source.SegmentId,
                     arg->SpecialLockTransfer.Source.SegmentAddress,
                     arg->SpecialLockTransfer.Source.pMdl);
        put_location(line, "Destination", arg->SpecialLockTransfer.Destination.SegmentId,
                     arg->SpecialLockTransfer.Destination.SegmentAddress,
                     arg->SpecialLockTransfer.Destination.pMdl);
        trace_put_hex(line, "Flags", arg->SpecialLockTransfer.Flags.Value);
        trace_put_number(line, "SwizzlingRangeId", arg->SpecialLockTransfer.SwizzlingRangeId);
        trace_put_number(line, "SwizzlingRangeData", arg->SpecialLockTransfer.SwizzlingRangeData);
        break;
    case DXGK_OPERATION_INIT_CONTEXT_RESOURCE:
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION,
                         arg->InitContextResource.hAllocation);
        put_location(line, "Destination", arg->InitContextResource.Destination.SegmentId,
                     arg->InitContextResource.Destination.SegmentAddress,
                     arg->InitContextResource.Destination.pMdl);
        trace_put_cpu_address(line, "VirtualAddress",
                              arg->InitContextResource.Destination.VirtualAddress);
        trace_put_hex(line, "GpuVirtualAddress",
                      arg->InitContextResource.Destination.GpuVirtualAddress);
        break;
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT2:
        trace_put_handle(line, "hDevice", TRACE_HANDLE_DEVICE, arg->MapApertureSegment2.hDevice);
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION,
                         arg->MapApertureSegment2.hAllocation);
        trace_put_number(line, "SegmentId", arg->MapApertureSegment2.SegmentId);
        trace_put_number(line, "OffsetInPages", arg->MapApertureSegment2.OffsetInPages);
        trace_put_number(line, "NumberOfPages", arg->MapApertureSegment2.NumberOfPages);
        trace_put_adl(line, "Adl", &arg->MapApertureSegment2.Adl);
        trace_put_hex(line, "Flags", arg->MapApertureSegment2.Flags.Value);
        trace_put_number(line, "AdlOffset", arg->MapApertureSegment2.AdlOffset);
        trace_put_cpu_address(line, "CpuVisibleAddress",
                              arg->MapApertureSegment2.CpuVisibleAddress);
        break;
    default:
        break;
    }
}

/* The rest: the ones on GPU virtual addresses, and the notices. */
static void put_virtual_operation(struct trace_line *line, unsigned operation,
                                  const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    switch (operation) {
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION,
                         arg->TransferVirtual.hAllocation);
        trace_put_number(line, "AllocationOffsetInBytes",
                         arg->TransferVirtual.AllocationOffsetInBytes);
        trace_put_number(line, "TransferSizeInBytes", arg->TransferVirtual.TransferSizeInBytes);
        trace_put_hex(line, "SourceVirtualAddress", arg->TransferVirtual.SourceVirtualAddress);
        trace_put_hex(line, "DestinationVirtualAddress",
                      arg->TransferVirtual.DestinationVirtualAddress);
        trace_put_hex(line, "SourcePageTable", arg->TransferVirtual.SourcePageTable);
        trace_put_number(line, "TransferDirection",
                         (uint64_t)arg->TransferVirtual.TransferDirection);
        trace_put_hex(line, "Flags", arg->TransferVirtual.Flags.Flags);
        trace_put_hex(line, "DestinationPageTable", arg->TransferVirtual.DestinationPageTable);
        break;
    case DXGK_OPERATION_VIRTUAL_FILL:
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION,
                         arg->FillVirtual.hAllocation);
        trace_put_number(line, "AllocationOffsetInBytes", arg->FillVirtual.AllocationOffsetInBytes);
        trace_put_number(line, "FillSizeInBytes", arg->FillVirtual.FillSizeInBytes);
        trace_put_hex(line, "FillPattern", arg->FillVirtual.FillPattern);
        trace_put_hex(line, "DestinationVirtualAddress",
                      arg->FillVirtual.DestinationVirtualAddress);
        break;
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        put_update_page_table(line, &arg->UpdatePageTable);
        break;
    case DXGK_OPERATION_FLUSH_TLB:
        trace_put_gpu_physical(line, "RootPageTableAddress", &arg->FlushTlb.RootPageTableAddress);
        trace_put_handle(line, "hProcess", TRACE_HANDLE_PROCESS, arg->FlushTlb.hProcess);
        trace_put_hex(line, "StartVirtualAddress", arg->FlushTlb.StartVirtualAddress);
        trace_put_hex(line, "EndVirtualAddress", arg->FlushTlb.EndVirtualAddress);
        break;
    case DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION:
        trace_put_hex(line, "ContextAllocation", arg->UpdateContextAllocation.ContextAllocation);
        trace_put_number(line, "ContextAllocationSize",
                         arg->UpdateContextAllocation.ContextAllocationSize);
        trace_put_number(line, "DriverPrivateDataSize",
                         arg->UpdateContextAllocation.DriverPrivateDataSize);
        break;
    case DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES:
        put_copy_page_table_entries(line, &arg->CopyPageTableEntries);
        break;
    case DXGK_OPERATION_NOTIFY_RESIDENCY:
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION,
                         arg->NotifyResidency.hAllocation);
        trace_put_gpu_physical(line, "PhysicalAddress", &arg->NotifyResidency.PhysicalAddress);
        trace_put_number(line, "Resident", arg->NotifyResidency.Resident);
        break;
    case DXGK_OPERATION_SIGNAL_MONITORED_FENCE:
        trace_put_hex(line, "MonitoredFenceGpuVa", arg->SignalMonitoredFence.MonitoredFenceGpuVa);
        trace_put_number(line, "MonitoredFenceValue",
                         arg->SignalMonitoredFence.MonitoredFenceValue);
        break;
    case DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY:
        put_notify_fence_residency(line, &arg->NotifyFenceResidency);
        break;
    case DXGK_OPERATION_MAP_MMU:
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION, arg->MmapMmu.hAllocation);
        trace_put_hex(line, "VirtualAddress", arg->MmapMmu.VirtualAddress);
        trace_put_number(line, "MmuId", arg->MmapMmu.MmuId);
        trace_put_number(line, "SegmentId", arg->MmapMmu.SegmentId);
        trace_put_number(line, "AllocationOffsetInPages", arg->MmapMmu.AllocationOffsetInPages);
        trace_put_adl(line, "Adl", &arg->MmapMmu.Adl);
        break;
    case DXGK_OPERATION_UNMAP_MMU:
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION, arg->UnmapMmu.hAllocation);
        trace_put_hex(line, "VirtualAddress", arg->UnmapMmu.VirtualAddress);
        trace_put_number(line, "MmuId", arg->UnmapMmu.MmuId);
        trace_put_number(line, "AllocationOffset", arg->UnmapMmu.AllocationOffset);
        trace_put_number(line, "NumberOfPages", arg->UnmapMmu.NumberOfPages);
        break;
    case DXGK_OPERATION_NOTIFY_RESIDENCY2:
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION,
                         arg->NotifyResidency2.hAllocation);
        trace_put_number(line, "AllocationOffsetInPages",
                         arg->NotifyResidency2.AllocationOffsetInPages);
        trace_put_number(line, "SizeInPages", arg->NotifyResidency2.SizeInPages);
        trace_put_number(line, "SegmentId", arg->NotifyResidency2.SegmentId);
        if (arg->NotifyResidency2.SegmentId)
            trace_put_gpu_physical(line, "PhysicalAddress", &arg->NotifyResidency2.PhysicalAddress);
        else
            trace_put_mdl(line, "Mdl", arg->NotifyResidency2.Mdl);
        trace_put_number(line, "Resident", arg->NotifyResidency2.Resident);
        break;
    case DXGK_OPERATION_NOTIFY_ALLOC:
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION,
                         arg->NotifyAllocation.hAllocation);
        trace_put_handle(line, "hKmdProcessHandle", TRACE_HANDLE_PROCESS,
                         arg->NotifyAllocation.hKmdProcessHandle);
        trace_put_hex(line, "Flags", arg->NotifyAllocation.Flags.Value);
        trace_put_number(line, "OffsetInBytes", arg->NotifyAllocation.OffsetInBytes);
        trace_put_number(line, "SizeInBytes", arg->NotifyAllocation.SizeInBytes);
        trace_put_hex(line, "GpuVirtualAddressAtOffset",
                      arg->NotifyAllocation.GpuVirtualAddressAtOffset);
        break;
    default:
        break;
    }
}

void trace_put_build_paging_buffer(struct trace_line *line, const struct trace_event *event)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = event->argument;

    if (event->phase == TRACE_AFTER) {
        trace_put(line, " written=%" PRId64, event->written);
        trace_put_number(line, "MultipassOffset", arg->MultipassOffset);
        return;
    }
    trace_put_number(line, "DmaSize", arg->DmaSize);
    trace_put_number(line, "DmaBufferPrivateDataSize", arg->DmaBufferPrivateDataSize);
    trace_put_number(line, "MultipassOffset", arg->MultipassOffset);
    put_segment_operation(line, event->operation, arg);
    put_virtual_operation(line, event->operation, arg);
    if (arg->hSystemContext)
        trace_put_handle(line, "hSystemContext", TRACE_HANDLE_CONTEXT, arg->hSystemContext);
    if (arg->DmaBufferGpuVirtualAddress)
        trace_put_hex(line, "DmaBufferGpuVirtualAddress", arg->DmaBufferGpuVirtualAddress);
    if (arg->DmaBufferWriteOffset)
        trace_put_number(line, "DmaBufferWriteOffset", arg->DmaBufferWriteOffset);
}
