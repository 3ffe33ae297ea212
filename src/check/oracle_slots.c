/*
 * Oracle: aperture slots, as the operations say and as the GPU has them.
 *
 * The shadow changes when an operation is built, the GPU's slots when its packet runs. So the two
 * are compared only while nothing is built and under way, and then only where an operation has said
 * what a slot shows: after a map the page of the list that stands at its place, after an unmap the
 * dummy page (APER-009). Whoever reaches unmapped slots reaches that page, so what it holds is
 * nobody's content; a run in which it changes has written through an address that was taken away.
 *
 * Source     contract.md APER-002, APER-007..APER-014, ADL-006.
 */
#include "check/oracle_internal.h"

#include <stdio.h>
#include <string.h>

struct aperture *open_aperture(struct oracle *oracle, unsigned id)
{
    const struct oracle_segment *segment = find_segment(oracle, id);
    struct aperture *aperture;
    size_t count;

    if (!segment || !segment->is_aperture || segment->size < PAGE_BYTES)
        return NULL;
    aperture = &oracle->apertures[id - 1];
    if (aperture->slots)
        return aperture;
    count = (size_t)(segment->size / PAGE_BYTES);
    aperture->slots = base_alloc_array(oracle->services, count, sizeof *aperture->slots);
    aperture->is_told = base_alloc_array(oracle->services, count, sizeof *aperture->is_told);
    if (!aperture->slots || !aperture->is_told) {
        base_free_array(oracle->services, aperture->slots, count, sizeof *aperture->slots);
        base_free_array(oracle->services, aperture->is_told, count, sizeof *aperture->is_told);
        *aperture = (struct aperture){0};
        lose_operation(oracle);
        return NULL;
    }
    aperture->slot_count = count;
    return aperture;
}

void set_slot(struct aperture *aperture, uint64_t slot, uint64_t location)
{
    if (slot >= aperture->slot_count)
        return;
    aperture->slots[slot] = location;
    aperture->is_told[slot] = location_kind(location) == LOCATION_SYSTEM;
    if (aperture->new_start == aperture->new_end)
        aperture->new_start = aperture->new_end = slot;
    aperture->new_start = min_u64(aperture->new_start, slot);
    aperture->new_end = max_u64(aperture->new_end, slot + 1);
}

void begin_slots(struct oracle *oracle, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct aperture *aperture = NULL;
    uint64_t first = 0;
    uint64_t count = 0;

    if (arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT) {
        aperture = open_aperture(oracle, arg->MapApertureSegment.SegmentId);
        first = arg->MapApertureSegment.OffsetInPages;
        count = arg->MapApertureSegment.NumberOfPages;
    } else if (arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT2) {
        aperture = open_aperture(oracle, arg->MapApertureSegment2.SegmentId);
        first = arg->MapApertureSegment2.OffsetInPages;
        count = arg->MapApertureSegment2.NumberOfPages;
    } else if (arg->Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT) {
        aperture = open_aperture(oracle, arg->UnmapApertureSegment.SegmentId);
        first = arg->UnmapApertureSegment.OffsetInPages;
        count = arg->UnmapApertureSegment.NumberOfPages;
    }
    for (uint64_t i = 0; aperture && i < count && first + i < aperture->slot_count; i++)
        aperture->is_told[first + i] = false;
}

void keep_dummy_page(struct oracle *oracle, uint64_t location)
{
    if (oracle->dummy_page == location || location_kind(location) != LOCATION_SYSTEM)
        return;
    oracle->dummy_page = location;
    page_store_read(oracle->config.ram, location_page(location) * PAGE_BYTES, oracle->dummy_content,
                    PAGE_BYTES);
}

/* Each wrong slot is told of once: until it is set again, nothing is expected of it. */
static void check_slots(struct oracle *oracle, unsigned index, uint64_t start, uint64_t end)
{
    const struct oracle_segment *segment = &oracle->segments[index];
    struct aperture *aperture = &oracle->apertures[index];
    uint64_t wrong_count = 0, first_wrong = 0;
    char found[48] = "nothing";

    for (uint64_t slot = start; slot < end; slot++) {
        uint64_t page = 0;
        bool has_page;

        if (!aperture->is_told[slot])
            continue;
        has_page = oracle->config.slot_page(oracle->config.context, segment, slot, &page);
        if (has_page && page == location_page(aperture->slots[slot]))
            continue;
        aperture->is_told[slot] = false;
        if (wrong_count++)
            continue;
        first_wrong = slot;
        if (has_page)
            snprintf(found, sizeof found, "system page 0x%llx", (unsigned long long)page);
    }
    if (!wrong_count)
        return;
    oracle_problem(oracle, ORACLE_SLOT, NULL, NULL, first_wrong * PAGE_BYTES,
                   "aperture segment %u, slot 0x%llx: shows %s, and the last operation put system "
                   "page 0x%llx%s there (slots wrong: %llu)",
                   segment->id, (unsigned long long)first_wrong, found,
                   (unsigned long long)location_page(aperture->slots[first_wrong]),
                   aperture->slots[first_wrong] == oracle->dummy_page ? ", the dummy page," : "",
                   (unsigned long long)wrong_count);
}

void check_new_slots(struct oracle *oracle)
{
    for (unsigned i = 0; i < oracle->segment_count && oracle->config.slot_page; i++) {
        struct aperture *aperture = &oracle->apertures[i];

        if (aperture->new_start < aperture->new_end && !oracle->is_blind)
            check_slots(oracle, i, aperture->new_start, aperture->new_end);
        aperture->new_start = aperture->new_end = 0;
    }
}

void check_all_slots(struct oracle *oracle)
{
    uint8_t now[PAGE_BYTES];

    for (unsigned i = 0; i < oracle->segment_count && oracle->config.slot_page; i++) {
        if (oracle->apertures[i].slots && !oracle->is_blind)
            check_slots(oracle, i, 0, oracle->apertures[i].slot_count);
    }
    if (oracle->dummy_page == LOCATION_UNKNOWN)
        return;
    page_store_read(oracle->config.ram, location_page(oracle->dummy_page) * PAGE_BYTES, now,
                    PAGE_BYTES);
    if (memcmp(now, oracle->dummy_content, PAGE_BYTES) != 0)
        oracle_problem(oracle, ORACLE_SLOT, NULL, NULL, 0,
                       "system page 0x%llx, the dummy page behind unmapped aperture slots, was "
                       "written: something still used an address that had been taken away",
                       (unsigned long long)location_page(oracle->dummy_page));
}

void forget_slots(struct oracle *oracle)
{
    for (unsigned i = 0; i < MAX_SEGMENTS; i++) {
        struct aperture *aperture = &oracle->apertures[i];

        if (aperture->slots)
            memset(aperture->is_told, 0, (size_t)aperture->slot_count * sizeof *aperture->is_told);
    }
}

void free_slots(struct oracle *oracle)
{
    for (unsigned i = 0; i < MAX_SEGMENTS; i++) {
        struct aperture *aperture = &oracle->apertures[i];

        base_free_array(oracle->services, aperture->slots, (size_t)aperture->slot_count,
                        sizeof *aperture->slots);
        base_free_array(oracle->services, aperture->is_told, (size_t)aperture->slot_count,
                        sizeof *aperture->is_told);
        *aperture = (struct aperture){0};
    }
}
