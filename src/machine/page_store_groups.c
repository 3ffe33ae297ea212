/*
 * Groups of pages: which are plain, and the slots of the others.
 */
#include "machine/page_store_private.h"

void page_store_touch(struct page_store *store, uint64_t page)
{
    struct page_group *group = page_group(store, page);

    if (group->is_touched)
        return;
    group->is_touched = 1;
    store->touched[store->touched_groups++] = (uint32_t)(page / GROUP_PAGES);
}

void page_store_give_slot(struct page_store *store, uint64_t page)
{
    struct page_group *group = page_group(store, page);
    uint64_t *descriptors;

    if (group->slot)
        return;
    group->slot =
        store->free_slot_count ? store->free_slots[--store->free_slot_count] : ++store->slot_count;
    if (store->slot_most < store->slot_count)
        store->slot_most = store->slot_count;
    store->slots[group->slot].group = (uint32_t)(page / GROUP_PAGES);
    store->slots[group->slot].is_taken = 1;
    descriptors = store->descriptors + group->slot * GROUP_PAGES;
    if (!group->first && !group->step) {
        memset(descriptors, 0, GROUP_PAGES * sizeof *descriptors);
    } else {
        for (uint64_t i = 0; i < GROUP_PAGES; i++)
            descriptors[i] = continue_descriptor(group->first, group->step, i);
    }
}

void page_store_make_plain(struct page_store *store, uint64_t page, uint64_t descriptor,
                           uint64_t step)
{
    struct page_group *group = page_group(store, page);
    struct page_slot *slot = &store->slots[group->slot];

    if (group->slot) {
        store->bytes_pages -= slot->bytes_count;
        store->stale_pages += slot->bytes_count;
        slot->stale_count += slot->bytes_count;
        slot->bytes_count = 0;
        slot->is_taken = 0;
        store->free_slots[store->free_slot_count++] = group->slot;
        group->slot = 0;
    }
    group->first = descriptor;
    group->step = (uint8_t)step;
    page_store_touch(store, page);
}

uint64_t page_store_plain_run(const struct page_store *store, uint64_t page, uint64_t count,
                              uint64_t *out_descriptor, uint64_t *out_step)
{
    const struct page_group *group = page_group(store, page);
    const uint64_t step = group->step;
    const uint64_t descriptor = continue_descriptor(group->first, step, page % GROUP_PAGES);
    const uint64_t most = min_u64(count, PLAIN_RUN_PAGES);
    uint64_t run = pages_in_group(page, most);

    *out_descriptor = descriptor;
    *out_step = step;
    while (run < most) {
        group++;
        if (group->slot || group->step != step ||
            group->first != continue_descriptor(descriptor, step, run))
            break;
        run += min_u64(GROUP_PAGES, most - run);
    }
    return run;
}
