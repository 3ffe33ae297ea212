/*
 * Watcher: where the system places things in segments (SEG, BANK-007, BANK-008), as the operations
 * of paging buffers say: addresses in the older ones, a segment and an offset in those of WDDM 2.
 */
#include "check/check_watch.h"

#include "base/bits.h"
#include "miniport/operation.h"

#define PAGE       4096u
#define MAX_RANGES 64u

struct placement_watch {
    /* Where nothing may be (SEGMENTMEMORYSTATE), of segment id - 1. */
    DXGK_MEMORYRANGE ranges[CHECK_MAX_SEGMENTS][MAX_RANGES];
    unsigned range_counts[CHECK_MAX_SEGMENTS];
    uint64_t agp_base, agp_bytes; /* the window that the driver was told of */
    bool is_removed;
};

/* A piece of memory that an operation names. */
struct place {
    const char *field;
    unsigned segment;
    bool is_offset; /* position counts from the start of the segment, not of the address space */
    uint64_t position;
    uint64_t skipped; /* bytes of the allocation in front of the piece */
    uint64_t bytes;
    bool is_whole; /* position is that of the allocation */
};

static uint64_t unit_of(const struct check_ledger *ledger, const struct check_segment *segment)
{
    return ledger->interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0 &&
                   segment->flags.Use64KBPages
               ? 65536
               : PAGE;
}

/* Nothing may be in it: the number of the first such range, or range_count. */
static unsigned find_invalid(const struct placement_watch *watch,
                             const struct check_segment *segment, uint64_t offset, uint64_t bytes)
{
    unsigned i = 0;

    while (i < watch->range_counts[segment->id - 1] &&
           !ranges_overlap(offset, bytes, watch->ranges[segment->id - 1][i].SegmentOffset,
                           watch->ranges[segment->id - 1][i].SizeInBytes))
        i++;
    return i;
}

static void check_agp(struct check *check, const struct placement_watch *watch,
                      const struct place *place)
{
    uint64_t offset = place->position - watch->agp_base;
    bool is_inside = place->position >= watch->agp_base && offset < watch->agp_bytes &&
                     place->skipped + place->bytes <= watch->agp_bytes - offset;

    CHECK_RULE(check, RULE_BANK_007, is_inside, NULL, place->field,
               "0x%llx: the AGP window is 0x%llx bytes at bus address 0x%llx",
               (unsigned long long)place->position, (unsigned long long)watch->agp_bytes,
               (unsigned long long)watch->agp_base);
}

static void check_place(struct check *check, const struct placement_watch *watch,
                        HANDLE allocation_handle, const struct place *place)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_segment *segment = check_find_segment(ledger, place->segment);
    const struct check_allocation *allocation = check_find_allocation(ledger, allocation_handle);
    const struct check_object *object = allocation ? &allocation->object : NULL;
    uint64_t base = segment && !place->is_offset ? segment->base : 0;
    uint64_t offset = place->position - base;
    uint64_t unit;
    unsigned invalid;

    if (!place->segment)
        return;
    if (!CHECK_RULE(check, RULE_SEG_005, segment != NULL, object, place->field,
                    "is in segment {%u}; the driver reported {=1 to %u}", place->segment,
                    ledger->segment_count))
        return;
    if (segment->flags.Agp) {
        check_agp(check, watch, place);
        return;
    }
    if (!CHECK_RULE(check, RULE_SEG_018, place->position >= base && offset < segment->size, object,
                    place->field, "{0x%llx} is not %s of segment %u, 0x%llx bytes at 0x%llx",
                    (unsigned long long)place->position,
                    place->is_offset ? "an offset" : "an address", segment->id,
                    (unsigned long long)segment->size, (unsigned long long)segment->base))
        return;
    if (!CHECK_RULE(check, RULE_SEG_023, place->skipped + place->bytes <= segment->size - offset,
                    object, place->field,
                    "0x%llx and 0x%llx bytes behind it end outside of segment %u, 0x%llx bytes at "
                    "0x%llx",
                    (unsigned long long)place->position,
                    (unsigned long long)(place->skipped + place->bytes), segment->id,
                    (unsigned long long)segment->size, (unsigned long long)segment->base))
        return;
    unit = unit_of(ledger, segment);
    if (place->is_whole)
        CHECK_RULE(
            check, RULE_SEG_024, offset % unit == 0, object, place->field,
            "offset {0x%llx} of segment %u, whose pages have {=~a multiple of ~0x%llx} bytes",
            (unsigned long long)offset, segment->id, (unsigned long long)unit);
    if (!watch->range_counts[segment->id - 1] || !place->bytes)
        return;
    invalid = find_invalid(watch, segment, offset + place->skipped, place->bytes);
    CHECK_RULE(
        check, RULE_SEG_020, invalid == watch->range_counts[segment->id - 1], object, place->field,
        "offset 0x%llx to 0x%llx of segment %u, where 0x%llx bytes from 0x%llx on are invalid",
        (unsigned long long)(offset + place->skipped),
        (unsigned long long)(offset + place->skipped + place->bytes), segment->id,
        (unsigned long long)watch->ranges[segment->id - 1][invalid].SizeInBytes,
        (unsigned long long)watch->ranges[segment->id - 1][invalid].SegmentOffset);
}

/* ---- Operations ------------------------------------------------------------------------------ */

static uint64_t bytes_of(const struct check_ledger *ledger, HANDLE handle, unsigned segment)
{
    const struct check_allocation *allocation = check_find_allocation(ledger, handle);

    return allocation ? check_bytes_in(ledger, allocation, segment) : 0;
}

static void check_aperture_segment(struct check *check, struct miniport_place slots, uint64_t count)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_segment *segment = check_find_segment(ledger, slots.segment);

    if (CHECK_RULE(check, RULE_SEG_005, segment && (segment->flags.Aperture || segment->flags.Agp),
                   NULL, "SegmentId", "is %u: %s (slots 0x%llx and %llu more)", slots.segment,
                   segment ? "a memory segment" : "the driver reported none with that number",
                   (unsigned long long)slots.address, (unsigned long long)count))
        CHECK_RULE(check, RULE_BANK_008, !segment->flags.Agp, NULL, "SegmentId",
                   "is {%u}, an AGP aperture: its pages are mapped by the bridge's driver",
                   slots.segment);
}

static void check_transfer(struct check *check, const struct placement_watch *watch,
                           const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    HANDLE allocation = arg->Transfer.hAllocation;
    struct place place = {
        .field = "Transfer.Source.SegmentAddress",
        .segment = arg->Transfer.Source.SegmentId,
        .position = (uint64_t)arg->Transfer.Source.SegmentAddress.QuadPart,
        .skipped = arg->Transfer.TransferOffset,
        .bytes = arg->Transfer.TransferSize,
        .is_whole = true,
    };

    check_place(check, watch, allocation, &place);
    place.field = "Transfer.Destination.SegmentAddress";
    place.segment = arg->Transfer.Destination.SegmentId;
    place.position = (uint64_t)arg->Transfer.Destination.SegmentAddress.QuadPart;
    check_place(check, watch, allocation, &place);
}

/* What one access of the GPU names: a byte at least is there. */
static void check_access(struct check *check, const struct placement_watch *watch,
                         const char *field, unsigned segment, LARGE_INTEGER address)
{
    check_place(check, watch, NULL,
                &(struct place){
                    .field = field,
                    .segment = segment,
                    .position = (uint64_t)address.QuadPart,
                    .bytes = 1,
                });
}

/* Addresses in the AGP window are told to Patch, too (BANK-007). */
static void before_patch(struct check *check, const struct placement_watch *watch,
                         const DXGKARG_PATCH *arg)
{
    const struct check_ledger *ledger = check_ledger(check);

    for (unsigned i = 0; arg->pAllocationList && i < arg->AllocationListSize; i++) {
        const DXGK_ALLOCATIONLIST *entry = &arg->pAllocationList[i];
        const struct check_segment *segment = check_find_segment(ledger, entry->SegmentId);

        if (segment && segment->flags.Agp)
            check_access(check, watch, "pAllocationList.PhysicalAddress", entry->SegmentId,
                         entry->PhysicalAddress);
    }
}

static void before_build(struct check *check, const struct placement_watch *watch,
                         const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_ledger *ledger = check_ledger(check);

    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
        check_transfer(check, watch, arg);
        break;
    case DXGK_OPERATION_FILL:
        check_place(check, watch, arg->Fill.hAllocation,
                    &(struct place){
                        .field = "Fill.Destination.SegmentAddress",
                        .segment = arg->Fill.Destination.SegmentId,
                        .position = (uint64_t)arg->Fill.Destination.SegmentAddress.QuadPart,
                        .bytes = arg->Fill.FillSize,
                    });
        break;
    case DXGK_OPERATION_DISCARD_CONTENT:
        check_place(check, watch, arg->DiscardContent.hAllocation,
                    &(struct place){
                        .field = "DiscardContent.SegmentAddress",
                        .segment = arg->DiscardContent.SegmentId,
                        .position = (uint64_t)arg->DiscardContent.SegmentAddress.QuadPart,
                        .bytes = bytes_of(ledger, arg->DiscardContent.hAllocation,
                                          arg->DiscardContent.SegmentId),
                        .is_whole = true,
                    });
        break;
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT2:
    case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
        check_aperture_segment(check, miniport_operation_destination(arg),
                               miniport_operation_units(arg));
        break;
    case DXGK_OPERATION_READ_PHYSICAL:
        check_access(check, watch, "ReadPhysical.PhysicalAddress", arg->ReadPhysical.SegmentId,
                     arg->ReadPhysical.PhysicalAddress);
        break;
    case DXGK_OPERATION_WRITE_PHYSICAL:
        check_access(check, watch, "WritePhysical.PhysicalAddress", arg->WritePhysical.SegmentId,
                     arg->WritePhysical.PhysicalAddress);
        break;
    case DXGK_OPERATION_NOTIFY_RESIDENCY:
        /* Pages of a segment of WDDM 2 need not follow each other: the first one is told. */
        check_place(check, watch, arg->NotifyResidency.hAllocation,
                    &(struct place){
                        .field = "NotifyResidency.PhysicalAddress",
                        .segment = arg->NotifyResidency.PhysicalAddress.SegmentId,
                        .is_offset = true,
                        .position = arg->NotifyResidency.PhysicalAddress.SegmentOffset,
                        .bytes = PAGE,
                        .is_whole = true,
                    });
        break;
    default:
        break;
    }
}

/* ---- Queries --------------------------------------------------------------------------------- */

/* The ranges of a segment in which nothing may be: whole pages of it (SEG-019). */
static void enter_ranges(struct check *check, struct placement_watch *watch,
                         const DXGK_QUERYSEGMENTMEMORYSTATE *state)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_segment *segment = check_find_segment(ledger, state->DriverSegmentId);
    unsigned count = state->NumInvalidMemoryRanges;
    unsigned bad = 0;
    uint64_t unit;

    if (!segment || !state->pMemoryRanges)
        return;
    unit = unit_of(ledger, segment);
    watch->range_counts[segment->id - 1] = (unsigned)min_u64(count, MAX_RANGES);
    for (unsigned i = 0; i < count; i++) {
        const DXGK_MEMORYRANGE *range = &state->pMemoryRanges[i];
        bool is_right = range->SegmentOffset % unit == 0 && range->SizeInBytes % unit == 0 &&
                        range->SizeInBytes && range->SegmentOffset < segment->size &&
                        range->SizeInBytes <= segment->size - range->SegmentOffset;

        if (!is_right && !bad)
            bad = i + 1;
        if (i < MAX_RANGES)
            watch->ranges[segment->id - 1][i] = *range;
    }
    CHECK_RULE(check, RULE_SEG_019, !bad && count == segment->whole.NumInvalidMemoryRanges, NULL,
               "pOutputData.pMemoryRanges",
               "{%u} ranges of segment %u, which was reported with {=%u}; element %u is no pages "
               "of 0x%llx bytes inside it",
               count, segment->id, segment->whole.NumInvalidMemoryRanges, bad ? bad - 1 : 0,
               (unsigned long long)unit);
}

static void after_query(struct check *check, struct placement_watch *watch,
                        const DXGKARG_QUERYADAPTERINFO *arg)
{
    const DXGK_QUERYSEGMENTIN *in = arg->pInputData;

    switch ((unsigned)arg->Type) {
    case DXGKQAITYPE_QUERYSEGMENT:
    case DXGKQAITYPE_QUERYSEGMENT3:
        if (!in || arg->InputDataSize < sizeof *in)
            break;
        watch->agp_base = (uint64_t)in->AgpApertureBase.QuadPart;
        watch->agp_bytes = (uint64_t)in->AgpApertureSize.QuadPart;
        break;
    case DXGKQAITYPE_SEGMENTMEMORYSTATE:
        if (arg->pOutputData)
            enter_ranges(check, watch, arg->pOutputData);
        break;
    default:
        break;
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* SEG-027: an allocation that is still there when the device stops is in some segment, or leaks. */
static void before_stop(struct check *check, const struct placement_watch *watch)
{
    const struct id_map *allocations = &check_ledger(check)->objects[CHECK_ALLOCATION];
    size_t position = 0;

    if (!watch->is_removed)
        CHECK_RULE(check, RULE_SEG_027, allocations->count == 0,
                   id_map_next(allocations, &position), "", "is called with %llu allocations left",
                   (unsigned long long)allocations->count);
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    const struct placement_watch *watch = state;

    if (call->ddi == MINIPORT_DDI_BuildPagingBuffer)
        before_build(check, watch, call->arg.build_paging_buffer);
    if (call->ddi == MINIPORT_DDI_Patch)
        before_patch(check, watch, call->arg.patch);
    if (call->ddi == MINIPORT_DDI_StopDevice)
        before_stop(check, watch);
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct placement_watch *watch = state;

    if (call->ddi == MINIPORT_DDI_NotifySurpriseRemoval)
        watch->is_removed = true;
    if (call->ddi == MINIPORT_DDI_QueryAdapterInfo && NT_SUCCESS(call->status))
        after_query(check, watch, call->arg.query_adapter_info);
}

const struct check_watcher check_placement_watcher = {
    .name = "placement",
    .state_bytes = sizeof(struct placement_watch),
    .before = before,
    .before_calls =
        CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_Patch, MINIPORT_DDI_StopDevice),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_NotifySurpriseRemoval, MINIPORT_DDI_QueryAdapterInfo),
};
