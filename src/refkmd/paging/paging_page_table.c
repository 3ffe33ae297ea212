/*
 * Paging operations on page tables: UPDATE_PAGE_TABLE, COPY_PAGE_TABLE_ENTRIES and FLUSH_TLB.
 *
 * The kernel describes entries in its own format, DXGK_PTE; the driver writes the hardware's. It
 * keeps no copy of any table, so it need not know which process a table belongs to, and nothing
 * happens when a table leaves memory (NotifyEviction, PT-037): entries that come with such a call
 * are written like others.
 */
#include "refkmd/memory/segments.h"
#include "refkmd/paging/paging.h"
#include "refkmd/traits.h"

#include <ntstatus.h>

/*
 * The flags of an entry, all but its segment, in the hardware's format; 0 when it is not valid.
 */
static UINT64 entry_bits(const DXGK_PTE *pte, UINT64 constant)
{
    UINT64 bits = constant;

    bits |= pte->Zero ? SGPU_PTE_ZERO : 0;
    bits |= pte->ReadOnly ? SGPU_PTE_READ_ONLY : 0;
    bits |= pte->NoExecute ? SGPU_PTE_NO_EXECUTE : 0;
    bits |= pte->CacheCoherent ? SGPU_PTE_COHERENT : 0;
    bits |= pte->LargePage ? SGPU_PTE_LARGE : 0;
    bits |= pte->PageTablePageSize == DXGK_PTE_PAGE_TABLE_PAGE_64KB ? SGPU_PTE_TABLE_64K : 0;
    return pte->Valid ? bits : 0;
}

/*
 * One hardware entry, always all 64 bits of it: its value before is not looked at (PT-014). Not
 * valid is 0, whatever else the kernel's entry says (PT-031). base has, by segment, the number to
 * add to an address in it, in the format of an entry (PT-030).
 */
static UINT64 hardware_entry(const UINT64 base[32], const DXGK_PTE *pte, UINT64 constant)
{
    UINT64 bits = entry_bits(pte, constant);

    return bits ? (base[pte->Segment] + (pte->PageAddress << SGPU_PAGE_SHIFT)) | bits : 0;
}

/* Entries that mostly differ in their addresses alone: the rest is put together when it changes. */
static void convert_entries(const UINT64 base[32], const DXGK_PTE *ptes, UINT count,
                            UINT64 constant, uint64_t *out)
{
    UINT i = 0;

    while (i < count) {
        UINT64 flags = ptes[i].Flags, bits = entry_bits(&ptes[i], constant);
        UINT64 start = base[ptes[i].Segment];

        if (bits) {
            for (; i < count && ptes[i].Flags == flags; i++)
                out[i] = (start + (ptes[i].PageAddress << SGPU_PAGE_SHIFT)) | bits;
        } else {
            for (; i < count && ptes[i].Flags == flags; i++)
                out[i] = 0;
        }
    }
}

/*
 * The bits that all entries of a call share. DriverProtection belongs to the virtual address that
 * is being mapped, and goes into leaf entries (PT-027, PT-028); the GPU keeps its low 15 bits.
 */
static UINT64 constant_bits(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    UINT64 constant = SGPU_PTE_VALID;

    if (update->PageTableLevel == 0) {
        constant |= (update->DriverProtection & SGPU_PTE_PROTECTION_MASK)
                    << SGPU_PTE_PROTECTION_SHIFT;
    }
    return constant;
}

/* Words of an entry: one, or two where a level 1 entry has two pointers (PT-041). */
static UINT entry_words(const struct paging_call *call)
{
    return call->args->UpdatePageTable.PageTableLevel == 1 &&
                   (call->adapter->straps & SGPU_STRAP_64K_DUAL)
               ? 2
               : 1;
}

/*
 * The kernel's entries are 4 KiB each. Of those that point into the middle of a larger page of the
 * GPU nothing is needed: the first entry of the page maps all of it (PT-026).
 */
static void leave_out_middles(const struct paging_call *call, UINT64 first_index, UINT count,
                              uint64_t *entries)
{
    UINT64 in_page = refkmd_gpu_page_bytes(call->adapter) / SGPU_PAGE_BYTES;
    UINT i;

    if (in_page == 1 || call->args->UpdatePageTable.PageTableLevel != 0)
        return;
    for (i = 0; i < count; i++)
        if ((first_index + i) % in_page && !(entries[i] & (SGPU_PTE_SYSTEM | SGPU_PTE_ZERO)))
            entries[i] = 0;
}

/*
 * Entry i goes to index StartIndex + i (PT-017). With Repeat there is one entry, for all indices,
 * and the array may end behind it (PT-016). Words are counted from the first one of StartIndex.
 */
static void convert(const struct paging_call *call, UINT64 first_word, UINT count, uint64_t *out)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &call->args->UpdatePageTable;
    const UINT64 *base = call->adapter->pte_base;
    const BOOLEAN repeats = update->Flags.Repeat;
    UINT64 constant = constant_bits(update);
    UINT words = entry_words(call);
    UINT i;

    if (words == 1 && !repeats) {
        convert_entries(base, update->pPageTableEntries + first_word, count, constant, out);
        leave_out_middles(call, update->StartIndex + first_word, count, out);
        return;
    }
    for (i = 0; i < count; i++) {
        UINT64 word = first_word + i;
        UINT64 entry = repeats ? 0 : word / words;
        const DXGK_PTE *ptes =
            word % words ? update->pPageTableEntries64KB : update->pPageTableEntries;

        if (repeats && i >= words) {
            out[i] = out[i - words];
            continue;
        }
        out[i] = ptes ? hardware_entry(base, &ptes[entry], constant) : 0;
    }
}

/* The CPU writes the table, now: nothing is queued, and the bytes are final (PT-021, PB-026). */
static NTSTATUS update_by_cpu(const struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &call->args->UpdatePageTable;
    UINT words = entry_words(call);
    uint64_t *table =
        (uint64_t *)update->PageTableAddress.CpuVirtual + (SIZE_T)update->StartIndex * words;

    convert(call, 0, update->NumPageTableEntries * words, table);
    return STATUS_SUCCESS;
}

/* Where the table is, in the way that the call's own UpdateMode names it (PT-019, PT-023). */
static void set_table(const struct refkmd_adapter *adapter,
                      const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update,
                      struct sgpu_packet_pte *packet)
{
    if (update->UpdateMode == DXGK_PAGETABLEUPDATE_GPU_VIRTUAL) {
        packet->flags = SGPU_PTE_TABLE_VIRTUAL;
        packet->table = update->PageTableAddress.GpuVirtual;
    } else {
        packet->flags = 0;
        packet->table =
            refkmd_physical_address(adapter, update->PageTableAddress.GpuPhysical.SegmentId,
                                    update->PageTableAddress.GpuPhysical.SegmentOffset);
    }
}

static UINT build_entries(struct paging_call *call, UINT64 first, UINT64 limit)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &call->args->UpdatePageTable;
    struct sgpu_packet_pte *packet;
    UINT count = packet_list_room(&call->writer, sizeof *packet, limit);

    if (!count)
        return 0;
    packet = packet_begin(&call->writer, SGPU_OP_PTE_WRITE,
                          sizeof *packet + count * PACKET_LIST_ELEMENT_BYTES);
    set_table(call->adapter, update, packet);
    packet->first = update->StartIndex * entry_words(call) + (uint32_t)first;
    packet->count = count;
    convert(call, first, count, packet->entries);
    return count;
}

static NTSTATUS build_repeated_entry(struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &call->args->UpdatePageTable;
    struct sgpu_packet_pte *packet;

    packet =
        packet_begin(&call->writer, SGPU_OP_PTE_FILL, sizeof *packet + PACKET_LIST_ELEMENT_BYTES);
    if (!packet)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    set_table(call->adapter, update, packet);
    packet->first = update->StartIndex * entry_words(call);
    packet->count = update->NumPageTableEntries * entry_words(call);
    convert(call, 0, 1, packet->entries);
    return STATUS_SUCCESS;
}

/* One word for all: entries of one word, or of two that are alike (both not valid, mostly). */
static BOOLEAN repeats_one_word(const struct paging_call *call)
{
    uint64_t words[2];

    if (!call->args->UpdatePageTable.Flags.Repeat)
        return FALSE;
    if (entry_words(call) == 1)
        return TRUE;
    convert(call, 0, 2, words);
    return words[0] == words[1];
}

/*
 * MultipassOffset counts words of entries. Use64KBPages names the other kind of leaf table, with
 * indices of its own: nothing else changes (PT-039). Keeps PT-013..PT-032, PT-040 and PT-041 where
 * they bind the driver.
 */
NTSTATUS paging_build_update_page_table(struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &call->args->UpdatePageTable;

    if (!update->NumPageTableEntries || !update->pPageTableEntries)
        return STATUS_SUCCESS;
    if (update->UpdateMode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL)
        return update_by_cpu(call);
    if (repeats_one_word(call))
        return build_repeated_entry(call);
    return paging_build_units(call, (UINT64)update->NumPageTableEntries * entry_words(call),
                              build_entries);
}

/* A table, and an index in it, as the address of the entry. */
/* The index counts on in the tables behind, each of which takes whole pages (CPTE-002). */
static UINT64 entry_address(const struct refkmd_adapter *adapter, D3DGPU_VIRTUAL_ADDRESS table,
                            UINT index)
{
    UINT entries = 1u << adapter->index_bits[0];
    UINT64 bytes =
        entries * sizeof(UINT64) < SGPU_PAGE_BYTES ? SGPU_PAGE_BYTES : entries * sizeof(UINT64);

    return table + index / entries * bytes + index % entries * sizeof(UINT64);
}

static UINT build_copies(struct paging_call *call, UINT64 first, UINT64 limit)
{
    const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *copy = &call->args->CopyPageTableEntries;
    UINT built = 0;

    for (; built < limit; built++) {
        const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range = &copy->pRanges[first + built];

        if (range->NumPageTableEntries &&
            !packet_copy(
                &call->writer, 0,
                entry_address(call->adapter, range->SrcPageTableAddress, range->SrcStartPteIndex),
                entry_address(call->adapter, range->DstPageTableAddress, range->DstStartPteIndex),
                (UINT64)range->NumPageTableEntries * sizeof(UINT64)))
            break;
    }
    return built;
}

/*
 * Leaf entries are words that the copy engine moves as they are, and reads when it runs (CPTE-002,
 * CPTE-003). Tables are named by addresses in the space that the buffer runs in. Ranges go one
 * behind the other (CPTE-006); MultipassOffset counts them.
 */
NTSTATUS paging_build_copy_page_table_entries(struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *copy = &call->args->CopyPageTableEntries;

    return copy->pRanges ? paging_build_units(call, copy->NumRanges, build_copies) : STATUS_SUCCESS;
}

/*
 * Two zeros are the whole address space (TLB-001). The pages do not say whether EndVirtualAddress
 * is the last byte of the range or the first one behind it, and a wider flush than asked is lawful
 * (TLB-007): the page of the GPU that it lies in is flushed too. An empty or reversed range is
 * flushed as all. Packets run in order, so the flush comes behind earlier table writes (TLB-006).
 * Keeps TLB-002.
 */
NTSTATUS paging_build_flush_tlb(struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_FLUSHTLB *flush = &call->args->FlushTlb;
    const UINT64 page_bytes = refkmd_gpu_page_bytes(call->adapter);
    const UINT64 last_page = (1ull << call->adapter->va_bits) - page_bytes;
    UINT64 start = flush->StartVirtualAddress & ~(page_bytes - 1);
    UINT64 end = smaller_of(flush->EndVirtualAddress & ~(page_bytes - 1), last_page) + page_bytes;
    BOOLEAN is_all = (!flush->StartVirtualAddress && !flush->EndVirtualAddress) || start >= end;
    struct sgpu_packet_tlb_flush *packet;

    packet = packet_begin(&call->writer, SGPU_OP_TLB_FLUSH, sizeof *packet);
    if (!packet)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    packet->flags = is_all ? SGPU_TLB_ALL : 0;
    packet->root = refkmd_physical_address(call->adapter, flush->RootPageTableAddress.SegmentId,
                                           flush->RootPageTableAddress.SegmentOffset);
    packet->start = is_all ? 0 : start;
    packet->end = is_all ? 0 : end;
    return STATUS_SUCCESS;
}
