#include "check/ledger/check_slots.h"

#include "base/bits.h"

void slots_init(struct slots *slots, const struct base_services *services, uint64_t count)
{
    *slots = (struct slots){.services = services, .count = count};
}

static uint64_t chunk_count(const struct slots *slots)
{
    return (slots->count + SLOT_CHUNK - 1) / SLOT_CHUNK;
}

void slots_fini(struct slots *slots)
{
    for (uint64_t i = 0; slots->chunks && i < chunk_count(slots); i++) {
        for (unsigned j = 0; slots->chunks[i] && j < SLOT_CHUNK; j++)
            claim_put(slots->services, slots->chunks[i][j].claim);
        base_free_array(slots->services, slots->chunks[i], SLOT_CHUNK, sizeof **slots->chunks);
    }
    base_free_array(slots->services, slots->chunks, (size_t)chunk_count(slots),
                    sizeof *slots->chunks);
    *slots = (struct slots){0};
}

struct slot *slots_at(struct slots *slots, uint64_t index, bool is_made)
{
    struct slot **chunk;

    if (index >= slots->count || (!slots->chunks && !is_made))
        return NULL;
    if (!slots->chunks) {
        slots->chunks =
            base_alloc_array(slots->services, (size_t)chunk_count(slots), sizeof *slots->chunks);
        if (!slots->chunks)
            return NULL;
    }
    chunk = &slots->chunks[index / SLOT_CHUNK];
    if (!*chunk && is_made)
        *chunk = base_alloc_array(slots->services, SLOT_CHUNK, sizeof **chunk);
    return *chunk && (is_made || (*chunk)[index % SLOT_CHUNK].claim) ? &(*chunk)[index % SLOT_CHUNK]
                                                                     : NULL;
}

uint64_t slots_next(const struct slots *slots, uint64_t index)
{
    if (!slots->chunks)
        return slots->count;
    while (index < slots->count && !slots->chunks[index / SLOT_CHUNK])
        index = align_down(index, SLOT_CHUNK) + SLOT_CHUNK;
    return min_u64(index, slots->count);
}

struct claim *claim_create(const struct base_services *services)
{
    struct claim *claim = base_alloc(services, sizeof *claim);

    if (!claim)
        return NULL;
    claim->holds = 1;
    list_init(&claim->link);
    list_init(&claim->late);
    return claim;
}

void claim_put(const struct base_services *services, struct claim *claim)
{
    if (!claim || --claim->holds)
        return;
    list_remove(&claim->link);
    list_remove(&claim->late);
    base_free(services, claim, sizeof *claim);
}

void slots_claim(struct slots *slots, uint64_t index, struct slot *slot, struct claim *claim,
                 uint64_t page)
{
    bool was_mapped = slot->claim && slot->claim->kind != CLAIM_UNMAP;

    slots->mapped += claim->kind != CLAIM_UNMAP;
    slots->mapped -= was_mapped;
    claim->holds++;
    claim_put(slots->services, slot->claim);
    slot->claim = claim;
    slot->page = page;
    if (slots->new_start == slots->new_end)
        slots->new_start = slots->new_end = index;
    slots->new_start = min_u64(slots->new_start, index);
    slots->new_end = max_u64(slots->new_end, index + 1);
}
