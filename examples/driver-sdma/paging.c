/*
 * DxgkDdiBuildPagingBuffer: operations of the kernel as packets of the engine.
 *
 * Everything that is built names virtual addresses of the paging process, in whose VMID the buffer
 * runs. An operation is built in units (pages, entries, ranges). When the next one does not fit,
 * MultipassOffset says how many are built, and the kernel comes back with it (PB-010 to PB-015).
 * What is written is padded with NOPs to where an INDIRECT may begin (PB-002).
 */
#include "driver.h"

#define TRAP_MONITORED 2u /* a context, ring.c reports it */
#define FEW_ENTRIES                                                                                \
    4u /* as many are written as they are; more, if they follow each other, by PTEPDE */
#define COPY_PAGES (SDMA_MOST_BYTES / PAGE)

/* One call, and where its next packet goes. */
struct paging {
    DXGKARG_BUILDPAGINGBUFFER *args;
    ULONG *next;
    SIZE_T room; /* dwords, padding left out */
};

/* Zeros for a packet of so many dwords; NULL: no room. */
static ULONG *begin_packet(struct paging *paging, SIZE_T dwords)
{
    ULONG *packet = paging->next;

    if (dwords > paging->room)
        return NULL;
    RtlZeroMemory(packet, dwords * sizeof *packet);
    paging->next += dwords;
    paging->room -= dwords;
    return packet;
}

static void set_wide(ULONG *dwords, UINT64 value)
{
    dwords[0] = (ULONG)value;
    dwords[1] = (ULONG)(value >> 32);
}

/* Builds some units from `first` on, at most `limit`: how many; 0: no room. */
typedef UINT unit_builder(struct paging *paging, UINT64 first, UINT64 limit);

static NTSTATUS build_units(struct paging *paging, UINT64 count, unit_builder *build)
{
    UINT64 done = paging->args->MultipassOffset;

    while (done < count) {
        UINT built = build(paging, done, count - done);

        if (!built) {
            paging->args->MultipassOffset = (UINT)done;
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        }
        done += built;
    }
    return STATUS_SUCCESS;
}

/* ---- Content --------------------------------------------------------------------------------- */

static BOOLEAN copy(struct paging *paging, UINT64 from, UINT64 to, UINT64 bytes)
{
    ULONG *packet = begin_packet(paging, SDMA_COPY_DWORDS);

    if (!packet)
        return FALSE;
    packet[0] = SDMA_OP_COPY;
    packet[1] = (ULONG)bytes - 1;
    set_wide(packet + 3, from);
    set_wide(packet + 5, to);
    return TRUE;
}

/* Both addresses already point at the chunk: AllocationOffsetInBytes is not added (VX-002). */
static UINT build_transfer(struct paging *paging, UINT64 first, UINT64 limit)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *transfer = &paging->args->TransferVirtual;
    UINT64 pages = smaller_of(limit, COPY_PAGES), start = first * PAGE;
    UINT64 bytes = smaller_of(pages * PAGE, transfer->TransferSizeInBytes - start);

    if (SDMA_MISTAKE == 2 && limit == pages && bytes > PAGE)
        bytes -= PAGE;
    return copy(paging, transfer->SourceVirtualAddress + start,
                transfer->DestinationVirtualAddress + start, bytes)
               ? (UINT)pages
               : 0;
}

static UINT build_fill(struct paging *paging, UINT64 first, UINT64 limit)
{
    const DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL *fill = &paging->args->FillVirtual;
    UINT64 pages = smaller_of(limit, COPY_PAGES), start = first * PAGE;
    ULONG *packet = begin_packet(paging, SDMA_FILL_DWORDS);

    if (!packet)
        return 0;
    packet[0] = SDMA_CONST_FILL;
    set_wide(packet + 1, fill->DestinationVirtualAddress + start);
    packet[3] = fill->FillPattern;
    packet[4] = (ULONG)smaller_of(pages * PAGE, fill->FillSizeInBytes - start) - 1;
    return (UINT)pages;
}

static UINT64 pages_of(UINT64 bytes)
{
    return (bytes + PAGE - 1) / PAGE;
}

/* ---- Page tables ----------------------------------------------------------------------------- */

/*
 * All 64 bits of an entry; not valid is 0, whatever else the kernel's entry says (PT-014, PT-031).
 */
static UINT64 entry_of(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update, UINT64 index)
{
    const DXGK_PTE *pte = &update->pPageTableEntries[update->Flags.Repeat ? 0 : index]; /* PT-016 */
    UINT64 entry;

    if (!pte->Valid)
        return 0;
    entry = SDMA_PTE_VALID | sdma_entry_address(pte->Segment, pte->PageAddress * PAGE);
    if (update->PageTableLevel)
        return entry;
    entry |= SDMA_PTE_READABLE;
    entry |= pte->ReadOnly ? 0 : SDMA_PTE_WRITEABLE;
    entry |= pte->NoExecute ? 0 : SDMA_PTE_EXECUTABLE;
    entry |= (update->DriverProtection & SDMA_SOFTWARE_MASK) << SDMA_PTE_SOFTWARE; /* PT-028 */
    if (SDMA_MISTAKE == 1 && index && index + 1 == update->NumPageTableEntries)
        entry += PAGE;
    return entry;
}

/*
 * How many entries from `first` on have the same flags and addresses that grow by the same, which
 * is told.
 */
static UINT64 entries_in_row(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update, UINT64 first,
                             UINT64 limit, UINT64 *out_step)
{
    UINT64 count = 1, last = entry_of(update, first);

    *out_step = limit > 1 ? entry_of(update, first + 1) - last : 0;
    if (*out_step % PAGE)
        return 1; /* other flags */
    for (; count < limit && entry_of(update, first + count) - last == *out_step; count++)
        last = entry_of(update, first + count);
    return count;
}

static UINT build_entries(struct paging *paging, UINT64 first, UINT64 limit)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &paging->args->UpdatePageTable;
    UINT64 to = update->PageTableAddress.GpuVirtual + 8 * (update->StartIndex + first), i;
    UINT64 step, count = entries_in_row(update, first, limit, &step);
    ULONG *packet;

    if (count > FEW_ENTRIES) {
        UINT64 entry = entry_of(update, first);

        packet = begin_packet(paging, SDMA_PTEPDE_DWORDS);
        if (!packet)
            return 0;
        packet[0] = SDMA_OP_PTEPDE;
        set_wide(packet + 1, to);
        set_wide(packet + 3, entry & ~SDMA_PTE_ADDRESS_MASK);
        set_wide(packet + 5, entry & SDMA_PTE_ADDRESS_MASK);
        set_wide(packet + 7, step);
        packet[9] = (ULONG)count - 1;
        return (UINT)count;
    }
    if (paging->room < SDMA_WRITE_DWORDS + 2)
        return 0;
    count = smaller_of(limit, (paging->room - SDMA_WRITE_DWORDS) / 2);
    for (i = 0; i < count; i++) { /* up to where a row begins */
        if (i && entries_in_row(update, first + i, smaller_of(limit - i, FEW_ENTRIES + 1), &step) >
                     FEW_ENTRIES)
            count = i;
    }
    packet = begin_packet(paging, SDMA_WRITE_DWORDS + 2 * count);
    packet[0] = SDMA_OP_WRITE;
    set_wide(packet + 1, to);
    packet[3] = (ULONG)(2 * count) - 1;
    for (i = 0; i < count; i++)
        set_wide(packet + SDMA_WRITE_DWORDS + 2 * i, entry_of(update, first + i));
    return (UINT)count;
}

/*
 * The tables of the paging process are written by the CPU before there is anything that it could
 * run (PT-020, PT-021); all others at their virtual addresses in it (PT-023).
 */
static NTSTATUS build_update(struct paging *paging)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &paging->args->UpdatePageTable;
    UINT i;

    if (!update->pPageTableEntries)
        return STATUS_SUCCESS;
    if (update->UpdateMode != DXGK_PAGETABLEUPDATE_CPU_VIRTUAL)
        return build_units(paging, update->NumPageTableEntries, build_entries);
    for (i = 0; i < update->NumPageTableEntries; i++)
        ((UINT64 *)update->PageTableAddress.CpuVirtual)[update->StartIndex + i] =
            entry_of(update, i);
    return STATUS_SUCCESS;
}

/* The index counts on in the tables behind, which take a page each (CPTE-002). */
static UINT build_copies(struct paging *paging, UINT64 first, UINT64 limit)
{
    const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *all = &paging->args->CopyPageTableEntries;
    UINT built = 0;

    for (; built < limit; built++) {
        const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range = &all->pRanges[first + built];

        if (range->NumPageTableEntries &&
            !copy(paging, range->SrcPageTableAddress + 8ull * range->SrcStartPteIndex,
                  range->DstPageTableAddress + 8ull * range->DstStartPteIndex,
                  8ull * range->NumPageTableEntries))
            break;
    }
    return built;
}

/*
 * All address spaces and all addresses: the driver does not keep which VMID has this root by the
 * time that the packet runs, and a wider flush is lawful (TLB-007). Behind the writes before it
 * (TLB-006).
 */
static NTSTATUS build_flush(struct paging *paging)
{
    ULONG *packet;

    if (SDMA_MISTAKE == 3)
        return STATUS_SUCCESS;
    packet = begin_packet(paging, SDMA_SRBM_DWORDS);
    if (!packet)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    packet[0] = SDMA_SRBM_WRITE;
    packet[1] = SDMA_VM_INVALIDATE / sizeof(ULONG);
    packet[2] = (1u << SDMA_VMIDS) - 1;
    return STATUS_SUCCESS;
}

/* ---- Fences ---------------------------------------------------------------------------------- */

/*
 * 64 bits at once, so No64BitAtomics is not said (FENCE-012), and an interrupt for who waits
 * (NTF-007).
 */
static NTSTATUS build_signal(struct paging *paging)
{
    const DXGK_BUILDPAGINGBUFFER_SIGNALMONITOREDFENCE *signal = &paging->args->SignalMonitoredFence;
    ULONG *packet = begin_packet(paging, SDMA_WRITE_DWORDS + 2 + SDMA_TRAP_DWORDS);

    if (!packet)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    packet[0] = SDMA_OP_WRITE;
    set_wide(packet + 1, signal->MonitoredFenceGpuVa);
    packet[3] = 2 - 1;
    set_wide(packet + 4, signal->MonitoredFenceValue);
    packet[6] = SDMA_OP_TRAP;
    packet[7] = TRAP_MONITORED;
    return STATUS_SUCCESS;
}

/* ---- Dispatch -------------------------------------------------------------------------------- */

/*
 * An operation that is not here needs no packet of this driver: the aperture is never mapped, as
 * nothing is accessed physically (ALLOC-016), and what is not known is done by doing nothing
 * (PB-008).
 */
static NTSTATUS build(struct paging *paging)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = paging->args;

    switch ((UINT)args->Operation) {
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        return build_units(paging, pages_of(args->TransferVirtual.TransferSizeInBytes),
                           build_transfer);
    case DXGK_OPERATION_VIRTUAL_FILL:
        return build_units(paging, pages_of(args->FillVirtual.FillSizeInBytes), build_fill);
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        return build_update(paging);
    case DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES:
        return build_units(
            paging, args->CopyPageTableEntries.pRanges ? args->CopyPageTableEntries.NumRanges : 0,
            build_copies);
    case DXGK_OPERATION_FLUSH_TLB:
        return build_flush(paging);
    case DXGK_OPERATION_SIGNAL_MONITORED_FENCE:
        return build_signal(paging);
    default:
        return STATUS_SUCCESS;
    }
}

/*
 * Keeps PB-002 to PB-005: from pDmaBuffer on, never beyond DmaSize, and it ends behind the last
 * byte.
 */
static NTSTATUS NTAPI BuildPagingBuffer(IN_CONST_HANDLE hAdapter,
                                        IN_PDXGKARG_BUILDPAGINGBUFFER args)
{
    ULONG *start = (ULONG *)args->pDmaBuffer;
    struct paging paging = {args, start, 0};
    NTSTATUS status;
    SIZE_T padding;

    UNREFERENCED_PARAMETER(hAdapter);
    PAGED_CODE();
    if (start)
        paging.room = args->DmaSize / SDMA_IB_ALIGN * (SDMA_IB_ALIGN / sizeof(ULONG));
    status = build(&paging);
    if (paging.next == start)
        return status;
    padding = (SIZE_T)(start - paging.next) & (SDMA_IB_ALIGN / sizeof(ULONG) - 1);
    while (padding--)
        *paging.next++ = SDMA_NOP(0);
    args->pDmaBuffer = paging.next;
    return status;
}

void sdma_register_paging(DRIVER_INITIALIZATION_DATA *table)
{
    table->DxgkDdiBuildPagingBuffer = BuildPagingBuffer;
}
