/*
 * Oracle: what a reset of the adapter takes, and what it must not.
 */
#include "check/oracle_internal.h"

/* Pages in local memory are lost; where they will be is learnt anew. */
static void lose_local_pages(struct oracle *oracle, struct oracle_allocation *allocation)
{
    for (uint64_t page = 0; allocation->locations && page < allocation->page_count; page++) {
        if (location_kind(allocation->locations[page]) != LOCATION_LOCAL)
            continue;
        lose_page(oracle, allocation, page);
        allocation->locations[page] = LOCATION_DROPPED;
        allocation->backing[page] = 0;
    }
}

void oracle_was_reset(struct oracle *oracle)
{
    struct oracle_allocation *allocation, *following;

    oracle_drop_operations(oracle);
    list_for_each_safe (allocation, following, &oracle->allocations, struct oracle_allocation, link)
        lose_local_pages(oracle, allocation);
}
