/*
 * Oracle: where pages are. Locations, segments, and where the slots of an aperture lead, as the
 * operations say. Whether the GPU's slots show it is judged by check_aperture.c.
 *
 * Source     contract.md APER-002, APER-009, ADL-006.
 */
#include "check/oracle/oracle_private.h"

/* ---- Locations ---- */

struct page_store *location_store(const struct oracle *oracle, uint64_t location)
{
    switch (location_kind(location)) {
    case LOCATION_SYSTEM:
        return oracle->config.ram;
    case LOCATION_LOCAL:
        return oracle->config.local;
    default:
        return NULL;
    }
}

uint64_t location_in(const struct oracle *oracle, const struct page_store *store, uint64_t page)
{
    if (!store || page >= page_store_page_count(store))
        return LOCATION_UNKNOWN;
    if (store == oracle->config.ram)
        return LOCATION_SYSTEM | page;
    return store == oracle->config.local ? LOCATION_LOCAL | page : LOCATION_UNKNOWN;
}

uint64_t device_location(const struct oracle *oracle, uint64_t page)
{
    if (oracle->config.system_page &&
        !oracle->config.system_page(oracle->config.context, page, &page))
        return LOCATION_UNKNOWN;
    return location_in(oracle, oracle->config.ram, page);
}

uint64_t location_run(const uint64_t *locations, uint64_t count)
{
    uint64_t i = 1;

    /* Eight at a time while all go on; then to the exact place. */
    for (; i + 8 <= count; i += 8) {
        uint64_t wrong = 0;

        for (uint64_t j = 0; j < 8; j++)
            wrong |= locations[i + j] ^ (locations[0] + i + j);
        if (wrong)
            break;
    }
    while (i < count && locations[i] == locations[0] + i)
        i++;
    return i;
}

uint64_t operation_location(const struct paging_operation *operation, uint64_t i)
{
    if (!operation->is_linear)
        return operation->locations[i];
    return operation->locations[0] ? operation->locations[0] + i : LOCATION_UNKNOWN;
}

/* ---- Segments ---- */

const struct oracle_segment *find_segment(const struct oracle *oracle, unsigned id)
{
    return id && id <= oracle->segment_count ? &oracle->segments[id - 1] : NULL;
}

bool oracle_segment_address(const struct oracle *oracle, const struct oracle_segment *segment,
                            uint64_t offset, uint64_t bytes, struct page_store **out_store,
                            uint64_t *out_address)
{
    *out_store = oracle->config.local;
    *out_address = 0;
    if (offset > segment->size || bytes > segment->size - offset)
        return false;
    if (oracle->config.resolve)
        return oracle->config.resolve(oracle->config.context, segment, offset, bytes, out_store,
                                      out_address);
    *out_address = segment->base + offset;
    return true;
}

/* The location of a page of a segment, by its offset in the segment. */
uint64_t segment_location(const struct oracle *oracle, unsigned id, uint64_t offset)
{
    const struct oracle_segment *segment = find_segment(oracle, id);
    struct page_store *store;
    uint64_t address;

    if (!segment)
        return LOCATION_UNKNOWN;
    if (segment->is_aperture) {
        const struct aperture *aperture = &oracle->apertures[id - 1];
        uint64_t slot = offset / PAGE_BYTES;

        return slot < aperture->slot_count ? aperture->slots[slot] : LOCATION_UNKNOWN;
    }
    if (!oracle_segment_address(oracle, segment, offset, PAGE_BYTES, &store, &address))
        return LOCATION_UNKNOWN;
    return location_in(oracle, store, address / PAGE_BYTES);
}

bool is_memory_segment(const struct oracle *oracle, unsigned id)
{
    const struct oracle_segment *segment = find_segment(oracle, id);

    return segment && !segment->is_aperture;
}

bool has_layout_in(const struct oracle *oracle, const struct oracle_allocation *allocation,
                   unsigned segment_id)
{
    return allocation->layout && is_memory_segment(oracle, segment_id) &&
           (!allocation->is_pitched || find_segment(oracle, segment_id)->is_pitch_aligned);
}

/* ---- Slots ---- */

void lose_operation(struct oracle *oracle)
{
    oracle->counters.lost_operations++;
    oracle->is_blind = true;
}

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
    if (!aperture->slots) {
        lose_operation(oracle);
        return NULL;
    }
    aperture->slot_count = count;
    return aperture;
}

void set_slot(struct aperture *aperture, uint64_t slot, uint64_t location)
{
    if (slot < aperture->slot_count)
        aperture->slots[slot] = location;
}

void free_slots(struct oracle *oracle)
{
    for (unsigned i = 0; i < MAX_SEGMENTS; i++) {
        struct aperture *aperture = &oracle->apertures[i];

        base_free_array(oracle->services, aperture->slots, (size_t)aperture->slot_count,
                        sizeof *aperture->slots);
        *aperture = (struct aperture){0};
    }
}
