/*
 * DxgkDdiBuildPagingBuffer: the packer.
 *
 * The kernel owns the buffer and decides when to submit it; the driver appends one operation a
 * call. The common part of all operations is here: where the operation's bytes begin and end, the
 * padding that the GPU needs, the private data, and the rule that only a lack of room may stop an
 * operation. The meaning of an operation is in the file of its subject.
 */
#include "refkmd/ddi.h"
#include "refkmd/paging/paging.h"
#include "refkmd/paging/paging_record.h"

#include <ntstatus.h>

struct paging_handler {
    const char *name;
    paging_builder *build; /* NULL: not implemented */
};

/*
 * By DXGK_BUILDPAGINGBUFFER_OPERATION. Both models share the table. The kernel sends each of them
 * the operations of its own kind, and 5 and 6 to both (APER-019).
 */
static const struct paging_handler handlers[] = {
    [DXGK_OPERATION_TRANSFER] = {"TRANSFER", paging_build_transfer},
    [DXGK_OPERATION_FILL] = {"FILL", paging_build_fill},
    [DXGK_OPERATION_DISCARD_CONTENT] = {"DISCARD_CONTENT", paging_build_discard_content},
    [DXGK_OPERATION_READ_PHYSICAL] = {"READ_PHYSICAL", paging_build_read_physical},
    [DXGK_OPERATION_WRITE_PHYSICAL] = {"WRITE_PHYSICAL", paging_build_write_physical},
    [DXGK_OPERATION_MAP_APERTURE_SEGMENT] = {"MAP_APERTURE_SEGMENT",
                                             paging_build_map_aperture_segment},
    [DXGK_OPERATION_UNMAP_APERTURE_SEGMENT] = {"UNMAP_APERTURE_SEGMENT",
                                               paging_build_unmap_aperture_segment},
    [DXGK_OPERATION_SPECIAL_LOCK_TRANSFER] = {"SPECIAL_LOCK_TRANSFER",
                                              paging_build_special_lock_transfer},
    [DXGK_OPERATION_VIRTUAL_TRANSFER] = {"VIRTUAL_TRANSFER", paging_build_virtual_transfer},
    [DXGK_OPERATION_VIRTUAL_FILL] = {"VIRTUAL_FILL", paging_build_virtual_fill},
    [DXGK_OPERATION_INIT_CONTEXT_RESOURCE] = {"INIT_CONTEXT_RESOURCE",
                                              paging_build_init_context_resource},
    [DXGK_OPERATION_UPDATE_PAGE_TABLE] = {"UPDATE_PAGE_TABLE", paging_build_update_page_table},
    [DXGK_OPERATION_FLUSH_TLB] = {"FLUSH_TLB", paging_build_flush_tlb},
    [DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION] = {"UPDATE_CONTEXT_ALLOCATION",
                                                  paging_build_update_context_allocation},
    [DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES] = {"COPY_PAGE_TABLE_ENTRIES",
                                                paging_build_copy_page_table_entries},
    [DXGK_OPERATION_NOTIFY_RESIDENCY] = {"NOTIFY_RESIDENCY", paging_build_notify_residency},
    [DXGK_OPERATION_SIGNAL_MONITORED_FENCE] = {"SIGNAL_MONITORED_FENCE",
                                               paging_build_signal_monitored_fence},
    [DXGK_OPERATION_MAP_APERTURE_SEGMENT2] = {"MAP_APERTURE_SEGMENT2",
                                              paging_build_map_aperture_segment2},
    [DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY] = {"NOTIFY_FENCE_RESIDENCY",
                                               paging_build_notify_fence_residency},
    [DXGK_OPERATION_MAP_MMU] = {"MAP_MMU", paging_build_for_absent_hardware},
    [DXGK_OPERATION_UNMAP_MMU] = {"UNMAP_MMU", paging_build_for_absent_hardware},
    [DXGK_OPERATION_NOTIFY_RESIDENCY2] = {"NOTIFY_RESIDENCY2", paging_build_notify_residency2},
    [DXGK_OPERATION_NOTIFY_ALLOC] = {"NOTIFY_ALLOC", paging_build_notify_alloc},
};

/*
 * The kernel's promise that nothing uses the allocation, in operations that have it (XFER-012,
 * DISC-005).
 */
static BOOLEAN is_idle(const DXGKARG_BUILDPAGINGBUFFER *args)
{
    switch ((UINT)args->Operation) {
    case DXGK_OPERATION_TRANSFER:
        return args->Transfer.Flags.AllocationIsIdle;
    case DXGK_OPERATION_DISCARD_CONTENT:
        return args->DiscardContent.Flags.AllocationIsIdle;
    case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER:
        return args->SpecialLockTransfer.Flags.AllocationIsIdle;
    default:
        return FALSE;
    }
}

/*
 * Leave a record of the operation. The records help to explain a fault, nothing depends on them:
 * where there is no private data, or no room for another record, there is none (PB-022, PB-023).
 * A record is written whole, since the kernel recycles the memory as it is (PB-021).
 *
 * One thing does depend on them. A paging buffer in system memory may have no address in the paging
 * process (DmaBufferGpuVirtualAddress is 0). Its submission then says no more than how far into a
 * buffer it begins, and there are several of them. But the private data are of the buffer: the
 * first record of a submission is that of its first operation, and says where that operation is.
 * There is always a record then, for the kernel gives the private data that QUERYSEGMENT4 asked
 * for, and they last for the smallest operations.
 */
static void append_record(const struct refkmd_adapter *adapter, DXGKARG_BUILDPAGINGBUFFER *args,
                          PVOID start, UINT bytes)
{
    struct paging_record *record = args->pDmaBufferPrivateData;

    if (!record || args->DmaBufferPrivateDataSize < sizeof *record)
        return;
    record->address = 0;
    if (adapter->model == REFKMD_GPU_MMU && !args->DmaBufferGpuVirtualAddress)
        record->address = (UINT64)MmGetPhysicalAddress(start).QuadPart;
    record->operation = args->Operation;
    record->bytes = bytes;
    record->is_idle = is_idle(args);
    args->pDmaBufferPrivateData = record + 1;
}

/*
 * Keeps PB-002, PB-003 (operations follow each other without gaps, each padded to the alignment of
 * a submission), PB-004, PB-005 (never beyond DmaSize, and pDmaBuffer ends behind the last byte),
 * PB-007 (DmaSize stays as it was), PB-008, PB-009 (two statuses), PB-010..PB-015 (packets written
 * before INSUFFICIENT run by themselves, and progress lives in MultipassOffset), PB-023, PB-024,
 * PB-026 (no buffer, no commands) and PB-028.
 *
 * A buffer that is not there has no room. The only operation that then succeeds is the one that
 * needs none: page tables written by the CPU, while the kernel sets up the paging process.
 */
NTSTATUS NTAPI RefKmdBuildPagingBuffer(IN_CONST_HANDLE hAdapter, IN_PDXGKARG_BUILDPAGINGBUFFER args)
{
    struct paging_call call = {.adapter = hAdapter, .args = args};
    UINT operation = (UINT)args->Operation;
    NTSTATUS status;
    UINT bytes;

    PAGED_CODE();

    if (operation >= RTL_NUMBER_OF(handlers)) {
        DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_WARNING_LEVEL,
                   "refkmd: paging operation %u is unknown, nothing done\n", operation);
        return STATUS_SUCCESS;
    }
    if (!handlers[operation].build) {
        DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_WARNING_LEVEL,
                   "refkmd: paging operation %s is not implemented yet, nothing done\n",
                   handlers[operation].name);
        return STATUS_SUCCESS;
    }

    paging_check(&call);
    packet_writer_begin(&call.writer, args->pDmaBuffer, args->DmaSize);
    status = handlers[operation].build(&call);
    bytes = packet_writer_end(&call.writer);
    if (bytes) {
        append_record(call.adapter, args, args->pDmaBuffer, bytes);
        args->pDmaBuffer = call.writer.next;
    }
    return status;
}
