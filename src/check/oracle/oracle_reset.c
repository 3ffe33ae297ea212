/*
 * Oracle: the pages that a reset of the adapter takes, and those that it must not.
 */
#include "check/oracle/oracle_private.h"

/*
 * Pages in local memory are lost; where they will be is learnt anew. An eviction that has not ended
 * was half done, though every page may have arrived.
 */
static void lose_local_pages(struct oracle *oracle, struct oracle_allocation *allocation)
{
    if (allocation->leaving_pages)
        allocation->last_loss = oracle->reset_count;
    allocation->leaving_pages = 0;
    for (uint64_t page = 0; allocation->locations && page < allocation->page_count; page++) {
        if (location_kind(allocation->locations[page]) != LOCATION_LOCAL)
            continue;
        lose_page(oracle, allocation, page);
        allocation->last_loss = oracle->reset_count;
        allocation->locations[page] = LOCATION_DROPPED;
        if (allocation->backing)
            allocation->backing[page] = 0;
    }
}

/* A driver is told about residency when it builds, whatever becomes of the buffer. */
static void keep_notice(const struct paging_operation *operation)
{
    if (operation && (operation->effect == EFFECT_NOTICE || operation->effect == EFFECT_FAREWELL))
        operation->allocation->is_noticed = operation->effect == EFFECT_NOTICE;
}

static void keep_notices(struct oracle *oracle)
{
    const struct paging_operation *operation;
    const struct paging_packet *packet;
    const struct paging_part *part;

    list_for_each (packet, &oracle->packets, struct paging_packet, link) {
        list_for_each (operation, &packet->operations, struct paging_operation, link)
            keep_notice(operation);
    }
    list_for_each (part, &oracle->parts, struct paging_part, link)
        keep_notice(part->operation);
}

/*
 * Where no page was in local memory, or on its way out of it, nothing was lost, and the owner's
 * message is not believed.
 */
void oracle_reset_took(struct oracle *oracle, uint64_t id)
{
    const struct oracle_allocation *allocation = id_map_find(&oracle->by_id, id);

    if (allocation && allocation->last_loss && allocation->last_loss == oracle->reset_count)
        oracle_content_lost(oracle, id);
}

void oracle_was_reset(struct oracle *oracle)
{
    struct oracle_allocation *allocation, *following;

    oracle->reset_count++;
    keep_notices(oracle);
    oracle_fences_reset(oracle);
    oracle_drop_operations(oracle);
    list_for_each_safe (allocation, following, &oracle->allocations, struct oracle_allocation,
                        link) {
        lose_local_pages(oracle, allocation);
        /* Work that waits may still use what was freed, and nobody is told of that loss. */
        if (!allocation->is_live && allocation->last_loss == oracle->reset_count)
            oracle_lose_content(oracle, allocation);
    }
}
