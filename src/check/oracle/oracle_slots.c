/*
 * Oracle: where aperture slots lead, as the operations say. Whether the GPU's slots show it is
 * judged by check_aperture.c.
 *
 * Source     contract.md APER-002, APER-009, ADL-006.
 */
#include "check/oracle/oracle_private.h"

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
