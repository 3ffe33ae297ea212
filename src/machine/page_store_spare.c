/*
 * Spare memory: what destroyed stores leave to the stores of the next run.
 *
 * A spare store has no owner and no content: all its groups are plain and zero, and its slots are
 * free. Their homes still hold old bytes, which the stains say: the pages are stale, as those of a
 * store in use can be. The next store takes the same slots in the same order, so it finds homes
 * that have host memory already.
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

/* Every group is plain and untouched, no slot is taken; pages that were BYTES are stale. */
static void forget_content(struct page_store *store)
{
    for (uint64_t i = 0; i < store->touched_groups; i++)
        store->groups[store->touched[i]] = (struct page_group){0};
    store->touched_groups = 0;
    for (uint32_t i = 1; i <= store->slot_count; i++) {
        struct page_slot *slot = &store->slots[i];

        if (slot->is_taken)
            store->groups[slot->group] = (struct page_group){0};
        slot->stale_count += slot->bytes_count;
        slot->bytes_count = 0;
        slot->is_taken = 0;
    }
    store->slot_count = 0;
    store->free_slot_count = 0;
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
    struct page_store found;
    unsigned best = spare.count;

    if (spare.owner != getpid())
        return false;
    for (unsigned i = 0; i < spare.count; i++) {
        if (spare.stores[i].capacity >= store->capacity &&
            (best == spare.count || spare.stores[i].capacity <= spare.stores[best].capacity))
            best = i;
    }
    if (best == spare.count)
        return false;
    found = spare.stores[best];
    memmove(spare.stores + best, spare.stores + best + 1,
            (--spare.count - best) * sizeof spare.stores[0]);
    found.services = store->services;
    found.page_count = store->page_count;
    *store = found;
    return true;
}
