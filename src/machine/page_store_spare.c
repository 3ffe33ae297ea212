/*
 * Spare memory: what destroyed stores leave to the stores of the next run.
 *
 * A store in a spare slot has no owner and no content: all descriptors are zero. Its homes still
 * hold old bytes, which the stains say: its pages are stale, as those of a store in use can be.
 */
#include "machine/page_store_private.h"

#include <unistd.h>

/* A run has three stores: RAM, local memory, and the content that the oracle expects. */
#define SPARE_STORES 6u

static struct {
    bool is_kept;
    pid_t owner; /* the arenas are shared memory: a child of the process must not use them */
    unsigned count;
    struct page_store stores[SPARE_STORES]; /* oldest first */
} spare;

static void drop_oldest(void)
{
    page_store_release_memory(&spare.stores[0]);
    memmove(spare.stores, spare.stores + 1, --spare.count * sizeof spare.stores[0]);
}

void page_store_keep_memory(bool is_kept)
{
    spare.is_kept = is_kept;
    if (is_kept && spare.owner == getpid())
        return;
    while (spare.count)
        drop_oldest();
    spare.owner = getpid();
}

/* Every descriptor is zero and no group is touched; pages that were BYTES are stale. */
static void forget_content(struct page_store *store)
{
    for (uint64_t g = 0; store->touched_groups; g++) {
        struct page_group *group = &store->groups[g];

        if (!group->is_touched)
            continue;
        memset(store->descriptors + g * GROUP_PAGES, 0, GROUP_PAGES * sizeof *store->descriptors);
        group->stale_count += group->bytes_count;
        group->bytes_count = 0;
        group->is_touched = 0;
        store->touched_groups--;
    }
    store->stale_pages += store->bytes_pages;
    store->bytes_pages = 0;
}

bool page_store_leave_spare(const struct page_store *store)
{
    struct page_store *left;

    if (!spare.is_kept || spare.owner != getpid())
        return false;
    /* A pinned page is shown by a mapping that was never taken down: its memory is not reused. */
    if (store->pinned_pages)
        return false;
    /* Scattered pages cost less to give back as a whole than one by one. */
    if (store->bytes_pages + store->stale_pages > STALE_PAGES_KEPT)
        return false;
    if (spare.count == SPARE_STORES)
        drop_oldest();
    left = &spare.stores[spare.count++];
    *left = *store;
    left->services = NULL;
    left->page_count = left->capacity;
    forget_content(left);
    return true;
}

bool page_store_take_spare(struct page_store *store)
{
    if (spare.owner != getpid())
        return false;
    for (unsigned i = spare.count; i-- > 0;) {
        struct page_store *found = &spare.stores[i];
        const struct base_services *services = store->services;
        const uint64_t page_count = store->page_count;

        if (found->capacity != store->capacity)
            continue;
        *store = *found;
        store->services = services;
        store->page_count = page_count;
        memmove(found, found + 1, (--spare.count - i) * sizeof *found);
        return true;
    }
    return false;
}
