/*
 * DxgkDdiBuildPagingBuffer: operations of the kernel as packets of a copy engine.
 *
 * Everything that is built names virtual addresses of the paging process, in which the buffer runs.
 * An operation is built in units (pages, entries, ranges). When the next one does not fit,
 * MultipassOffset says how many are built, and the kernel comes back with it (PB-010 to PB-015).
 * What has been built is a batch, whose address goes into the private data (ring.c).
 */
#include "driver.h"

#define FEW_ENTRIES  8u    /* as many of one value are written as they are; more are a fill */
#define COPY_PAGES   8192u /* rows of a packet, of a page each */
#define ENTRIES_MOST 16384u
#define STORE_WORDS  3u /* of MI_STORE_DATA_IMM without its data */
#define FLUSH_PAIRS  3u
#define END_WORDS    2u /* the batch's end, and what makes whole 8 bytes of it */
#define DEPTH_1      IBLT_DEPTH(0u)
#define DEPTH_4      IBLT_DEPTH(2u)
#define DEPTH_8      IBLT_DEPTH(3u)

/* One call, and where its next packet goes. */
struct paging {
    DXGKARG_BUILDPAGINGBUFFER *args;
    ULONG *next;
    SIZE_T room; /* words, the batch's end left out */
    BOOLEAN signals;
};

/* Zeros for a packet of so many words; NULL: no room. */
static ULONG *begin_packet(struct paging *paging, SIZE_T words)
{
    ULONG *packet = paging->next;

    if (words > paging->room)
        return NULL;
    RtlZeroMemory(packet, words * sizeof *packet);
    paging->next += words;
    paging->room -= words;
    return packet;
}

static void set_wide(ULONG *words, UINT64 value)
{
    words[0] = (ULONG)value;
    words[1] = (ULONG)(value >> 32);
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

/* Rows of bytes that follow each other. */
static BOOLEAN copy(struct paging *paging, ULONG depth, UINT64 from, UINT64 to, UINT64 pitch,
                    UINT64 columns, UINT64 rows)
{
    ULONG *packet = begin_packet(paging, IBLT_BLOCK_COPY_WORDS);

    if (!packet)
        return FALSE;
    packet[0] = IBLT_BLOCK_COPY | depth | (IBLT_BLOCK_COPY_WORDS - 2);
    packet[1] = (ULONG)pitch - 1;
    packet[3] = (ULONG)(rows << 16 | columns);
    set_wide(packet + 4, to);
    packet[8] = (ULONG)pitch - 1;
    set_wide(packet + 9, from);
    return TRUE;
}

static BOOLEAN fill(struct paging *paging, ULONG depth, UINT64 colour, UINT64 to, UINT64 pitch,
                    UINT64 columns, UINT64 rows)
{
    ULONG *packet = begin_packet(paging, IBLT_FAST_COLOR_WORDS);

    if (!packet)
        return FALSE;
    packet[0] = IBLT_FAST_COLOR | depth | (IBLT_FAST_COLOR_WORDS - 2);
    packet[1] = (ULONG)pitch - 1;
    packet[3] = (ULONG)(rows << 16 | columns);
    set_wide(packet + 4, to);
    set_wide(packet + 7, colour);
    set_wide(packet + 9, colour);
    return TRUE;
}

/* Both addresses already point at the chunk: AllocationOffsetInBytes is not added (VX-002). */
static UINT build_transfer(struct paging *paging, UINT64 first, UINT64 limit)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *transfer = &paging->args->TransferVirtual;
    const UINT64 start = first * PAGE, left = transfer->TransferSizeInBytes - start;
    const UINT64 from = transfer->SourceVirtualAddress + start;
    const UINT64 to = transfer->DestinationVirtualAddress + start;
    UINT64 pages = smaller_of(smaller_of(limit, COPY_PAGES), left / PAGE);

    if (!pages) /* a part of a page is the last */
        return copy(paging, DEPTH_1, from, to, PAGE, left, 1);
    if (!copy(paging, DEPTH_1, from, to, PAGE, PAGE,
              pages - (INTEL_MISTAKE == 2 && pages == limit && pages > 1)))
        return 0;
    return (UINT)pages;
}

static UINT build_fill(struct paging *paging, UINT64 first, UINT64 limit)
{
    const DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL *all = &paging->args->FillVirtual;
    const UINT64 start = first * PAGE, left = all->FillSizeInBytes - start;
    const UINT64 to = all->DestinationVirtualAddress + start;
    const UINT64 colour = all->FillPattern | (UINT64)all->FillPattern << 32;
    UINT64 pages = smaller_of(smaller_of(limit, COPY_PAGES), left / PAGE);

    if (!pages)
        return fill(paging, DEPTH_4, colour, to, PAGE, (left + 3) / 4, 1);
    return fill(paging, DEPTH_4, colour, to, PAGE, PAGE / 4, pages) ? (UINT)pages : 0;
}

static UINT64 pages_of(UINT64 bytes)
{
    return (bytes + PAGE - 1) / PAGE;
}

/* ---- Page tables ----------------------------------------------------------------------------- */

/*
 * All 64 bits of an entry; not valid is 0, whatever else the kernel's entry says (PT-014, PT-031).
 * Bits of DriverProtection have no place in it.
 */
static UINT64 entry_of(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update, UINT64 index)
{
    const DXGK_PTE *pte = &update->pPageTableEntries[update->Flags.Repeat ? 0 : index]; /* PT-016 */
    UINT64 entry = IBLT_PTE_PRESENT | (pte->ReadOnly ? 0 : IBLT_PTE_WRITABLE);

    if (!pte->Valid)
        return 0;
    if (pte->Zero)
        return entry | IBLT_PTE_NULL;
    entry |= pte->PageAddress * PAGE;
    if (update->PageTableLevel == 1 && pte->PageTablePageSize == DXGK_PTE_PAGE_TABLE_PAGE_64KB)
        entry |= IBLT_PDE_TABLE_64K; /* PT-040 */
    if (update->PageTableLevel && !pte->LargePage)
        return entry; /* a table, which is in local memory */
    if (pte->LargePage)
        entry |= IBLT_PDE_LARGE;
    if (pte->Segment == SEGMENT_LOCAL && (INTEL_MISTAKE != 5 || !update->Flags.Use64KBPages))
        entry |= IBLT_PTE_LOCAL;
    if (INTEL_MISTAKE == 1 && index && index + 1 == update->NumPageTableEntries)
        entry += update->Flags.Use64KBPages ? PAGE_64K : PAGE;
    return entry;
}

/* How many entries from `first` on are the same. */
static UINT64 entries_alike(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update, UINT64 first,
                            UINT64 limit)
{
    const UINT64 entry = entry_of(update, first);
    UINT64 count = 1;

    while (count < limit && entry_of(update, first + count) == entry)
        count++;
    return count;
}

static UINT build_entries(struct paging *paging, UINT64 first, UINT64 limit)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &paging->args->UpdatePageTable;
    const UINT64 to = update->PageTableAddress.GpuVirtual + 8 * (update->StartIndex + first);
    UINT64 count = entries_alike(update, first, smaller_of(limit, ENTRIES_MOST)), i;
    ULONG *packet;

    if (count > FEW_ENTRIES)
        return fill(paging, DEPTH_8, entry_of(update, first), to, 8 * count, count, 1) ? (UINT)count
                                                                                       : 0;
    if (paging->room < STORE_WORDS + 2)
        return 0;
    count = smaller_of(smaller_of(limit, IBLT_STORE_MOST), (paging->room - STORE_WORDS) / 2);
    for (i = 0; i < count; i++) { /* up to where entries are alike */
        if (i &&
            entries_alike(update, first + i, smaller_of(limit - i, FEW_ENTRIES + 1)) > FEW_ENTRIES)
            count = i;
    }
    packet = begin_packet(paging, STORE_WORDS + 2 * count);
    packet[0] = IBLT_MI_STORE_DATA | IBLT_STORE_QWORDS | (ULONG)(STORE_WORDS + 2 * count - 2);
    set_wide(packet + 1, to);
    for (i = 0; i < count; i++)
        set_wide(packet + STORE_WORDS + 2 * i, entry_of(update, first + i));
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
            !copy(paging, DEPTH_8, range->SrcPageTableAddress + 8ull * range->SrcStartPteIndex,
                  range->DstPageTableAddress + 8ull * range->DstStartPteIndex,
                  8ull * range->NumPageTableEntries, range->NumPageTableEntries, 1))
            break;
    }
    return built;
}

/*
 * All address spaces and all addresses, on all engines: an engine flushes all that it has, and a
 * wider flush is lawful (TLB-007). Behind the writes before it (TLB-006). Of registers, a batch of
 * this engine may write these three.
 */
static NTSTATUS build_flush(struct paging *paging)
{
    const ULONG copies = INTEL_MISTAKE == 3 ? 2 : 3;
    const ULONG pairs[2 * FLUSH_PAIRS] = {IBLT_TLB_RENDER, 1,     IBLT_TLB_VIDEO, 1,
                                          IBLT_TLB_COPY,   copies};
    ULONG *packet = begin_packet(paging, IBLT_FLUSH_WORDS + 1 + 2 * FLUSH_PAIRS);

    if (!packet)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    packet[0] = IBLT_MI_FLUSH_DW | (IBLT_FLUSH_WORDS - 2);
    packet[IBLT_FLUSH_WORDS] = IBLT_MI_LOAD_REGISTER | (2 * FLUSH_PAIRS - 1);
    RtlCopyMemory(packet + IBLT_FLUSH_WORDS + 1, pairs, sizeof pairs);
    return STATUS_SUCCESS;
}

/* ---- Fences ---------------------------------------------------------------------------------- */

/*
 * 64 bits at once, so No64BitAtomics is not said (FENCE-012), and an interrupt for who waits
 * (NTF-007), when the submission has ended.
 */
static NTSTATUS build_signal(struct paging *paging)
{
    const DXGK_BUILDPAGINGBUFFER_SIGNALMONITOREDFENCE *signal = &paging->args->SignalMonitoredFence;
    ULONG *packet = begin_packet(paging, IBLT_FLUSH_WORDS);

    if (!packet)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    packet[0] = IBLT_MI_FLUSH_DW | IBLT_FLUSH_WRITE | (IBLT_FLUSH_WORDS - 2);
    set_wide(packet + 1, signal->MonitoredFenceGpuVa);
    set_wide(packet + 3, signal->MonitoredFenceValue);
    paging->signals = TRUE;
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

/* Makes a batch of what has been built, and says where it is. */
static void end_batch(struct paging *paging, const ULONG *start)
{
    DXGKARG_BUILDPAGINGBUFFER *args = paging->args;
    UINT64 *record = (UINT64 *)args->pDmaBufferPrivateData;

    *paging->next++ = IBLT_MI_BATCH_END;
    if ((paging->next - start) % END_WORDS)
        *paging->next++ = IBLT_MI_NOOP;
    *record = (args->DmaBufferGpuVirtualAddress + args->DmaBufferWriteOffset) |
              (paging->signals ? RECORD_SIGNALS : 0);
    args->pDmaBufferPrivateData = record + 1;
    args->pDmaBuffer = paging->next;
}

/*
 * Keeps PB-002 to PB-005: from pDmaBuffer on, never beyond DmaSize, and it ends behind the last
 * byte.
 */
static NTSTATUS NTAPI BuildPagingBuffer(IN_CONST_HANDLE hAdapter,
                                        IN_PDXGKARG_BUILDPAGINGBUFFER args)
{
    ULONG *start = (ULONG *)args->pDmaBuffer;
    struct paging paging = {args, start, 0, FALSE};
    NTSTATUS status;

    UNREFERENCED_PARAMETER(hAdapter);
    PAGED_CODE();
    if (start && args->pDmaBufferPrivateData && args->DmaBufferPrivateDataSize >= sizeof(UINT64)) {
        paging.room = args->DmaSize / sizeof(UINT64) * END_WORDS;
        paging.room -= smaller_of(paging.room, END_WORDS);
    }
    status = build(&paging);
    if (paging.next != start)
        end_batch(&paging, start);
    return status;
}

void intel_register_paging(DRIVER_INITIALIZATION_DATA *table)
{
    table->DxgkDdiBuildPagingBuffer = BuildPagingBuffer;
}
