/*
 * Segments: how the adapter's memory is laid out for the memory manager.
 *
 * With SGPU_STRAP_HOST_APERTURE, BAR 1 shows single pages that the driver points: local memory is
 * one segment, not CpuVisible, with a CPU host aperture (host_aperture.c).
 *
 *   id | what                         | base                | flags
 *    1 | local memory behind BAR 1    | 0                   | CpuVisible
 *    2 | aperture                     | SGPU_PA_APERTURE    | Aperture, CacheCoherent by strap
 *    3 | the rest of local memory     | bytes behind BAR 1  |
 *  last| the AGP window of the bus    | the kernel knows    | Agp; WDDM 1 with a bridge only
 *
 * CpuVisible is said of a segment as a whole, and offsets in it must be offsets in the window
 * (SEG-011). So local memory that the window covers only in part is two segments. When the window
 * covers all of it there is no third; when there is no window, the first is not CpuVisible. The
 * driver's own memory (own_memory.c) is the end of what the window covers, and in no segment.
 *
 * With SGPU_STRAP_PITCH the first one has PitchAlignment in WDDM 1: rows of surfaces have a pitch
 * there, and are packed in the others. They can be found there by their address because its base is
 * 0.
 *
 * In the IoMmu model, and with SGPU_TRAIT_LEFT_ALONE in the GpuMmu model, the board's own memory is
 * left alone: the aperture is the only segment, number 1.
 */
#include "refkmd/memory/segments.h"

#include "refkmd/memory/host_aperture.h"
#include "refkmd/paging/paging_record.h"
#include "refkmd/traits.h"

#include <ntstatus.h>

struct segment {
    DXGK_SEGMENTFLAGS flags;
    UINT64 base;
    UINT64 bytes;
    UINT64 commit_limit; /* of an aperture on boards that have more slots than they can serve */
    PHYSICAL_ADDRESS cpu_address;
    UINT64 system_memory_end; /* last byte that hibernation keeps; 0: no such border */
};

/* SEG-006: with 64 KiB pages the ends and beginnings of segments are such pages, too. */
static BOOLEAN has_64k_segments(const struct refkmd_adapter *adapter)
{
    return adapter->model == REFKMD_GPU_MMU && refkmd_has_64k_pages(adapter);
}

void refkmd_segments_init(struct refkmd_adapter *adapter)
{
    UINT64 unit = has_64k_segments(adapter) ? SGPU_64K_BYTES : SGPU_PAGE_BYTES, hidden_start;

    adapter->visible_bytes &= ~(unit - 1);
    adapter->window_pages = 0;
    if (adapter->straps & SGPU_STRAP_HOST_APERTURE && adapter->model == REFKMD_GPU_MMU &&
        adapter->has_memory_segments) {
        adapter->window_pages = (UINT)(adapter->visible_bytes / SGPU_PAGE_BYTES);
        adapter->visible_bytes = 0;
    }
    if (adapter->visible_bytes > adapter->local_bytes)
        adapter->visible_bytes = adapter->local_bytes;
    hidden_start = adapter->visible_bytes;
    if (adapter->window_pages || adapter->own_bytes & (unit - 1))
        adapter->own_bytes = 0;
    adapter->visible_bytes -= adapter->own_bytes;
    adapter->segment_count = REFKMD_SEGMENT_APERTURE;
    if (hidden_start && hidden_start < adapter->local_bytes)
        adapter->segment_count = REFKMD_SEGMENT_HIDDEN;

    adapter->agp_segment = 0;
    adapter->segment_base[REFKMD_SEGMENT_SYSTEM] = SGPU_PA_SYSTEM;
    adapter->segment_base[REFKMD_SEGMENT_LOCAL] = 0;
    adapter->segment_base[REFKMD_SEGMENT_APERTURE] = SGPU_PA_APERTURE;
    adapter->segment_base[REFKMD_SEGMENT_HIDDEN] = hidden_start;

    if (!adapter->has_memory_segments) {
        adapter->segment_count = REFKMD_ONLY_APERTURE;
        adapter->segment_base[REFKMD_ONLY_APERTURE] = SGPU_PA_APERTURE;
    }

    /* An entry says by a bit that its page is in system memory, not by the page's address. */
    RtlZeroMemory(adapter->pte_base, sizeof adapter->pte_base);
    RtlCopyMemory(adapter->pte_base, adapter->segment_base, sizeof adapter->segment_base);
    adapter->pte_base[REFKMD_SEGMENT_SYSTEM] = SGPU_PTE_SYSTEM;
}

UINT64 refkmd_physical_address(const struct refkmd_adapter *adapter, UINT segment, UINT64 offset)
{
    return segment < REFKMD_SEGMENT_COUNT ? adapter->segment_base[segment] + offset : offset;
}

UINT64 refkmd_bus_address(const struct refkmd_adapter *adapter, UINT segment, UINT64 address)
{
    return segment && segment == adapter->agp_segment ? SGPU_PA_SYSTEM | address : address;
}

/*
 * With an AGP bridge there is one segment more, in both passes of the query (BANK-006, SEG-002).
 * The kernel knows where and how large the window is; nothing but the flag is read (BANK-007).
 */
static void find_agp(struct refkmd_adapter *adapter, const DXGKARG_QUERYADAPTERINFO *query)
{
    const DXGK_QUERYSEGMENTIN *in = query->pInputData;

    if (in && query->InputDataSize >= sizeof *in && in->AgpApertureSize.QuadPart &&
        in->AgpFlags.Agp && !adapter->agp_segment)
        adapter->agp_segment = ++adapter->segment_count;
}

/*
 * Parts of local memory outlive standby, or hibernation too; before WDDM 1.2 there is no bit to say
 * it. Of the four lawful combinations (PWR-001) a segment that hibernation keeps in part says where
 * the part ends: at its last byte, not behind it (PWR-004, PWR-006).
 */
static void preserve(const struct refkmd_adapter *adapter, struct segment *segment)
{
    UINT64 kept = adapter->kept_bytes > segment->base ? adapter->kept_bytes - segment->base : 0;

    if (!(adapter->straps & SGPU_STRAP_KEEPS_STANDBY) ||
        !refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WIN8))
        return;
    segment->flags.PreservedDuringStandby = 1;
    if (!(adapter->straps & SGPU_STRAP_KEEPS_HIBERNATE) || !kept)
        return;
    segment->flags.PreservedDuringHibernate = kept >= segment->bytes;
    segment->flags.PartiallyPreservedDuringHibernate = kept < segment->bytes;
    if (kept < segment->bytes)
        segment->system_memory_end = kept - 1;
}

/* One list has room for less than 4 GiB. */
void refkmd_populate(struct refkmd_adapter *adapter)
{
    PHYSICAL_ADDRESS lowest = {.QuadPart = 0}, highest = {.QuadPart = -1};

    if (!(adapter->traits & SGPU_TRAIT_FROM_SYSTEM))
        return;
    if (adapter->has_memory_segments && adapter->local_bytes <= MAXULONG - SGPU_PAGE_BYTES)
        adapter->population =
            MmAllocatePagesForMdlEx(lowest, highest, lowest, (SIZE_T)adapter->local_bytes, MmCached,
                                    MM_ALLOCATE_FULLY_REQUIRED);
    if (!adapter->population)
        adapter->traits &= ~SGPU_TRAIT_FROM_SYSTEM;
}

void refkmd_depopulate(struct refkmd_adapter *adapter)
{
    if (!adapter->population)
        return;
    MmFreePagesFromMdl(adapter->population);
    ExFreePool(adapter->population);
    adapter->population = NULL;
}

/*
 * Other properties of local memory. Each bit has a name from a version on, and is not set before
 * (SEG-014). Memory is taken from the system, by refkmd_populate(), or from the firmware, never
 * from both (SEG-013).
 */
static void describe_traits(const struct refkmd_adapter *adapter, DXGK_SEGMENTFLAGS *flags)
{
    ULONG traits = adapter->traits;

    flags->PopulatedFromSystemMemory = (traits & SGPU_TRAIT_FROM_SYSTEM) != 0;
    if (refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WIN8))
        flags->DirectFlip = (traits & SGPU_TRAIT_SCAN_OUT) != 0;
    if (adapter->model != REFKMD_PHYSICAL) {
        flags->ApplicationTarget = (traits & SGPU_TRAIT_FOR_USERS) != 0;
        flags->SupportsCachedCpuHostAperture =
            flags->SupportsCpuHostAperture && (traits & SGPU_TRAIT_CACHED_WINDOW);
    }
    if (refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WDDM2_9))
        flags->PopulatedByReservedDDRByFirmware =
            (traits & (SGPU_TRAIT_FROM_FIRMWARE | SGPU_TRAIT_FROM_SYSTEM)) ==
            SGPU_TRAIT_FROM_FIRMWARE;
}

/* Keeps SEG-006, SEG-007, SEG-010, SEG-012, SEG-016, SEG-026 and PWR-001. */
static struct segment segment_at(const struct refkmd_adapter *adapter, UINT id)
{
    struct segment segment;

    RtlZeroMemory(&segment, sizeof segment);
    if (id == adapter->agp_segment) {
        segment.flags.Agp = 1;
        return segment;
    }
    segment.base = adapter->segment_base[id];
    if (!adapter->has_memory_segments)
        id = REFKMD_SEGMENT_APERTURE;
    switch (id) {
    case REFKMD_SEGMENT_LOCAL:
        segment.bytes = adapter->visible_bytes ? adapter->visible_bytes : adapter->local_bytes;
        segment.flags.CpuVisible = adapter->visible_bytes != 0;
        if (adapter->visible_bytes)
            segment.cpu_address = adapter->window_pa;
        segment.flags.SupportsCpuHostAperture = adapter->window_pages != 0;
        segment.flags.PitchAlignment = refkmd_has_pitch(adapter);
        break;
    case REFKMD_SEGMENT_APERTURE:
        segment.bytes = adapter->aperture_bytes;
        segment.flags.Aperture = 1;
        /* Where the CPU finds primaries without an alternate address (SEG-010). */
        if (adapter->model == REFKMD_PHYSICAL && (adapter->straps & SGPU_STRAP_SEEN_APERTURE)) {
            segment.flags.CpuVisible = 1;
            segment.cpu_address.QuadPart =
                adapter->window_pa.QuadPart + (LONGLONG)adapter->visible_bytes;
        }
        segment.flags.CacheCoherent = (adapter->straps & SGPU_STRAP_COHERENT_APERTURE) != 0;
        break;
    default:
        segment.bytes = adapter->local_bytes - segment.base;
        break;
    }

    if (has_64k_segments(adapter) && !segment.flags.Aperture) {
        segment.flags.Use64KBPages = 1;
        segment.bytes &= ~(UINT64)(SGPU_64K_BYTES - 1);
    }
    segment.commit_limit = segment.bytes;
    if (segment.flags.Aperture && adapter->straps & SGPU_STRAP_HALF_APERTURE)
        segment.commit_limit = segment.bytes / 2 & ~(UINT64)(PAGE_SIZE - 1);
    if (!segment.flags.Aperture) {
        preserve(adapter, &segment);
        describe_traits(adapter, &segment.flags);
    }

    /* Which budget a byte counts against is a question of WDDM 2. */
    if (adapter->model != REFKMD_PHYSICAL) {
        segment.flags.LocalBudgetGroup = !segment.flags.Aperture;
        segment.flags.NonLocalBudgetGroup = segment.flags.Aperture;
    }
    return segment;
}

BOOLEAN refkmd_is_in_segment(const struct refkmd_adapter *adapter, UINT segment, UINT64 address,
                             UINT64 bytes)
{
    struct segment where;

    if (!segment || segment > adapter->segment_count)
        return FALSE;
    if (segment == adapter->agp_segment)
        return TRUE;
    where = segment_at(adapter, segment);
    return address >= where.base && address - where.base <= where.bytes &&
           bytes <= where.bytes - (address - where.base);
}

BOOLEAN refkmd_is_pitched(const struct refkmd_adapter *adapter,
                          const struct refkmd_allocation *allocation, UINT segment)
{
    return allocation && (allocation->flags & SGPU_UMD_ROWS) && segment == REFKMD_SEGMENT_LOCAL &&
           refkmd_has_pitch(adapter);
}

UINT64 refkmd_listed_address(const struct refkmd_adapter *adapter, const DXGK_ALLOCATIONLIST *entry,
                             UINT64 offset)
{
    const struct refkmd_opening *opening = entry->hDeviceSpecificAllocation;
    UINT64 address =
        refkmd_bus_address(adapter, entry->SegmentId, (UINT64)entry->PhysicalAddress.QuadPart);

    return refkmd_is_pitched(adapter, opening->allocation, entry->SegmentId)
               ? SGPU_PITCHED(address, offset) | SGPU_PA_PITCHED
               : address + offset;
}

UINT refkmd_aperture_segment(const struct refkmd_adapter *adapter)
{
    return adapter->has_memory_segments ? REFKMD_SEGMENT_APERTURE : REFKMD_ONLY_APERTURE;
}

/*
 * Banks of equal size, where the board has them and the kernel is of WDDM 1: all of local memory's
 * first segment, without gaps (BANK-001, BANK-002).
 */
static UINT describe_banks(struct refkmd_adapter *adapter, UINT id, struct segment *segment)
{
    UINT i;

    if (id != REFKMD_SEGMENT_LOCAL || !(adapter->straps & SGPU_STRAP_BANKS))
        return 0;
    for (i = 0; i < REFKMD_BANKS; i++)
        adapter->bank_ends[i] =
            (SIZE_T)((segment->bytes / REFKMD_BANKS * (i + 1)) & ~(UINT64)(SGPU_PAGE_BYTES - 1));
    adapter->bank_ends[REFKMD_BANKS - 1] = (SIZE_T)segment->bytes;
    segment->flags.UseBanking = 1;
    return REFKMD_BANKS;
}

/*
 * The three versions of the query have the same shape: asked without a place for descriptors, the
 * driver says how many there are and writes nothing else (SEG-001, SEG-002); asked again, it fills
 * in all of them and describes the paging buffer. That lies in contiguous system memory (PB-018,
 * PB-019) and is large enough for any operation to progress (PB-020). The whole of a segment may be
 * committed, or half of an aperture (SEG-009).
 */

/*
 * Where the kernel puts paging buffers: system memory, or an aperture, and nowhere else (PB-019).
 * In an aperture they are mapped like allocations, by an operation that names none (aperture.c).
 */
static UINT paging_buffer_segment(const struct refkmd_adapter *adapter)
{
    if (!(adapter->straps & SGPU_STRAP_PAGING_APERTURE))
        return REFKMD_SEGMENT_SYSTEM;
    return refkmd_aperture_segment(adapter);
}

UINT refkmd_dma_buffer_segments(const struct refkmd_adapter *adapter)
{
    if (!(adapter->straps & SGPU_STRAP_DMA_APERTURE))
        return 0;
    return 1u << (refkmd_aperture_segment(adapter) - 1);
}

/* WDDM 1.0 and 1.1. */
NTSTATUS refkmd_query_segments(struct refkmd_adapter *adapter,
                               const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_QUERYSEGMENTOUT *out = query->pOutputData;
    UINT i;

    find_agp(adapter, query);
    out->NbSegment = adapter->segment_count;
    if (!out->pSegmentDescriptor)
        return STATUS_SUCCESS;
    for (i = 0; i < adapter->segment_count; i++) {
        struct segment segment = segment_at(adapter, i + 1);
        DXGK_SEGMENTDESCRIPTOR *descriptor = &out->pSegmentDescriptor[i];
        UINT banks = describe_banks(adapter, i + 1, &segment);

        RtlZeroMemory(descriptor, sizeof *descriptor);
        descriptor->NbOfBanks = banks;
        descriptor->pBankRangeTable = banks ? adapter->bank_ends : NULL;
        descriptor->BaseAddress.QuadPart = (LONGLONG)segment.base;
        descriptor->CpuTranslatedAddress = segment.cpu_address;
        descriptor->Size = segment.bytes;
        descriptor->CommitLimit = segment.commit_limit;
        descriptor->Flags = segment.flags;
    }
    out->PagingBufferSegmentId = paging_buffer_segment(adapter);
    out->PagingBufferSize = REFKMD_PAGING_BUFFER_BYTES;
    out->PagingBufferPrivateDataSize = REFKMD_PAGING_PRIVATE_BYTES;
    return STATUS_SUCCESS;
}

/* WDDM 1.2 and 1.3. */
NTSTATUS refkmd_query_segments3(struct refkmd_adapter *adapter,
                                const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;
    UINT i;

    find_agp(adapter, query);
    out->NbSegment = adapter->segment_count;
    if (!out->pSegmentDescriptor)
        return STATUS_SUCCESS;
    for (i = 0; i < adapter->segment_count; i++) {
        struct segment segment = segment_at(adapter, i + 1);
        DXGK_SEGMENTDESCRIPTOR3 *descriptor = &out->pSegmentDescriptor[i];
        UINT banks = describe_banks(adapter, i + 1, &segment);

        RtlZeroMemory(descriptor, sizeof *descriptor);
        descriptor->NbOfBanks = banks;
        descriptor->pBankRangeTable = banks ? adapter->bank_ends : NULL;
        descriptor->Flags = segment.flags;
        descriptor->BaseAddress.QuadPart = (LONGLONG)segment.base;
        descriptor->CpuTranslatedAddress = segment.cpu_address;
        descriptor->Size = segment.bytes;
        descriptor->CommitLimit = segment.commit_limit;
        descriptor->SystemMemoryEndAddress = segment.system_memory_end;
    }
    out->PagingBufferSegmentId = paging_buffer_segment(adapter);
    out->PagingBufferSize = REFKMD_PAGING_BUFFER_BYTES;
    out->PagingBufferPrivateDataSize = REFKMD_PAGING_PRIVATE_BYTES;
    return STATUS_SUCCESS;
}

/*
 * The part of [start, + bytes) of local memory that lies in a segment: offset and size in it; size
 * 0: none.
 */
static DXGK_MEMORYRANGE part_in_segment(const struct refkmd_adapter *adapter, UINT id, UINT64 start,
                                        UINT64 bytes)
{
    struct segment segment = segment_at(adapter, id);
    UINT64 end = start + bytes;
    DXGK_MEMORYRANGE range;

    RtlZeroMemory(&range, sizeof range);
    if (segment.flags.Aperture)
        return range;
    if (start < segment.base)
        start = segment.base;
    if (end > segment.base + segment.bytes)
        end = segment.base + segment.bytes;
    if (start < end) {
        range.SegmentOffset = start - segment.base;
        range.SizeInBytes = end - start;
    }
    return range;
}

static DXGK_MEMORYRANGE dead_range(const struct refkmd_adapter *adapter, UINT id)
{
    return part_in_segment(adapter, id, adapter->dead_offset, adapter->dead_bytes);
}

static DXGK_MEMORYRANGE picture_range(const struct refkmd_adapter *adapter, UINT id)
{
    return part_in_segment(adapter, id, adapter->picture_offset, adapter->picture_bytes);
}

/* One structure is question and answer of both queries; the two counts share a place in it. */
static NTSTATUS answer_ranges(DXGK_QUERYSEGMENTMEMORYSTATE *state, DXGK_MEMORYRANGE range)
{
    if (!range.SizeInBytes) {
        state->NumInvalidMemoryRanges = 0;
        return STATUS_SUCCESS;
    }
    if (state->NumInvalidMemoryRanges < 1 || !state->pMemoryRanges)
        return STATUS_BUFFER_TOO_SMALL;
    state->NumInvalidMemoryRanges = 1;
    state->pMemoryRanges[0] = range;
    return STATUS_SUCCESS;
}

/* Where nothing may be placed, for a segment whose descriptor counted such ranges (SEG-019). */
NTSTATUS refkmd_query_segment_memory_state(struct refkmd_adapter *adapter,
                                           const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_QUERYSEGMENTMEMORYSTATE *state = query->pOutputData;

    if (state->DriverSegmentId < 1 || state->DriverSegmentId > adapter->segment_count)
        return STATUS_INVALID_PARAMETER;
    return answer_ranges(state, dead_range(adapter, state->DriverSegmentId));
}

/* Where the firmware's picture stands, which is shown until somebody shows another one. */
NTSTATUS refkmd_query_firmware_ranges(struct refkmd_adapter *adapter,
                                      const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_QUERYSEGMENTMEMORYSTATE *state = query->pOutputData;

    if (state->DriverSegmentId < 1 || state->DriverSegmentId > adapter->segment_count)
        return STATUS_INVALID_PARAMETER;
    return answer_ranges(state, picture_range(adapter, state->DriverSegmentId));
}

/*
 * The range for protected content, if it begins in the segment. There may be one protected region
 * in it at a time, and its last page is the engine's own (SEG-025).
 */
static void describe_protected(const struct refkmd_adapter *adapter, UINT id,
                               DXGK_SEGMENTDESCRIPTOR4 *descriptor)
{
    DXGK_MEMORYRANGE range =
        part_in_segment(adapter, id, adapter->protected_offset, adapter->protected_bytes);

    if (!range.SizeInBytes)
        return;
    descriptor->Flags.VprSupported = 1;
    descriptor->Flags.VprPreservedDuringStandby =
        (adapter->traits & SGPU_TRAIT_KEEPS_PROTECTED) != 0;
    descriptor->Flags.EncryptedPagingSupported = (adapter->traits & SGPU_TRAIT_ENCRYPTS) != 0;
    descriptor->VprRangeStartOffset = (SIZE_T)range.SegmentOffset;
    descriptor->VprRangeSize = (SIZE_T)range.SizeInBytes;
    descriptor->VprAlignment = has_64k_segments(adapter) ? SGPU_64K_BYTES : SGPU_PAGE_BYTES;
    descriptor->NumVprSupported = 1;
    descriptor->VprReserveSize = SGPU_PAGE_BYTES;
}

/*
 * WDDM 2.0 and later. The kernel's descriptor may be longer or shorter than ours: places are
 * counted by its stride, and no more than a stride is written (SEG-004).
 */
NTSTATUS refkmd_query_segments4(struct refkmd_adapter *adapter,
                                const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_QUERYSEGMENTOUT4 *out = query->pOutputData;
    DXGK_SEGMENTDESCRIPTOR4 descriptor;
    UINT i;

    if (!out->NbSegment || !out->pSegmentDescriptor) {
        out->NbSegment = adapter->segment_count;
        return STATUS_SUCCESS;
    }
    if (out->NbSegment < adapter->segment_count)
        return STATUS_BUFFER_TOO_SMALL;
    out->NbSegment = adapter->segment_count;
    for (i = 0; i < adapter->segment_count; i++) {
        struct segment segment = segment_at(adapter, i + 1);

        RtlZeroMemory(&descriptor, sizeof descriptor);
        descriptor.Flags = segment.flags;
        descriptor.BaseAddress.QuadPart = (LONGLONG)segment.base;
        descriptor.Size = segment.bytes;
        descriptor.CommitLimit = segment.commit_limit;
        if (!segment.flags.SupportsCpuHostAperture)
            descriptor.CpuTranslatedAddress = segment.cpu_address;
        descriptor.SystemMemoryEndAddress = segment.system_memory_end;
        if (segment.flags.SupportsCpuHostAperture) {
            descriptor.CpuHostAperture.PhysicalAddress = (UINT64)adapter->window_pa.QuadPart;
            descriptor.CpuHostAperture.SizeInPages = refkmd_host_aperture_slots(adapter);
        }
        descriptor.NumInvalidMemoryRanges = dead_range(adapter, i + 1).SizeInBytes != 0;
        descriptor.NumUEFIFrameBufferRanges = picture_range(adapter, i + 1).SizeInBytes != 0;
        describe_protected(adapter, i + 1, &descriptor);
        RtlCopyMemory(
            (UCHAR *)out->pSegmentDescriptor + i * out->SegmentDescriptorStride, &descriptor,
            out->SegmentDescriptorStride < sizeof descriptor ? out->SegmentDescriptorStride
                                                             : sizeof descriptor);
    }
    out->PagingBufferSegmentId = paging_buffer_segment(adapter);
    out->PagingBufferSize = REFKMD_PAGING_BUFFER_BYTES;
    out->PagingBufferPrivateDataSize = REFKMD_PAGING_PRIVATE_BYTES;
    return STATUS_SUCCESS;
}
