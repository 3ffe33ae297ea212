#include "machine/page_watch.h"

#include "machine/page_fault.h"
#include "machine/page_store_private.h"

#include <sys/mman.h>

/* A mapping whose pages are caught. */
struct watched_range {
    struct list link;
    struct page_store *store;
    uint8_t *address;
    uint64_t page_count;
    uint64_t first_page;
    uint64_t *pages; /* NULL: they follow each other from the first one on, or it is the view */
    uint8_t is_open[];
};

/* A signal handler has no argument to find them by. */
static struct list ranges = LIST_INITIALIZER(ranges);

static bool take_fault(struct page_fault_taker *ours, const void *address);

static struct page_fault_taker taker = {.take = take_fault};

static void forget(struct watched_range *range)
{
    const struct base_services *services = range->store->services;

    list_remove(&range->link);
    if (range->pages)
        base_free_array(services, range->pages, range->page_count, sizeof *range->pages);
    base_free(services, range, sizeof *range + range->page_count);
    if (list_is_empty(&ranges))
        page_fault_end(&taker);
}

bool page_watch_add(struct page_store *store, uint8_t *address, const uint64_t *pages,
                    uint64_t first_page, uint64_t count)
{
    struct watched_range *range;

    if (!store->watch)
        return true;
    range = base_alloc(store->services, sizeof *range + count);
    if (!range)
        return false;
    range->store = store;
    range->address = address;
    range->page_count = count;
    range->first_page = first_page;
    if (pages) {
        range->pages = base_alloc_array(store->services, count, sizeof *pages);
        if (!range->pages) {
            base_free(store->services, range, sizeof *range + count);
            return false;
        }
        memcpy(range->pages, pages, count * sizeof *pages);
    }
    list_push_front(&ranges, &range->link);
    return page_fault_begin(&taker);
}

/* Of the view: the pages are those of the slots. */
static uint64_t view_pages(const struct page_store *store)
{
    return (group_count(store) + 1) * GROUP_PAGES;
}

bool page_store_set_watch(struct page_store *store, const struct page_watch *watch)
{
    store->watch = watch;
    if (!watch || store->view)
        return true;
    store->view = mmap(NULL, view_pages(store) * PAGE_BYTES, PROT_READ, MAP_SHARED | MAP_NORESERVE,
                       store->arena_file, 0);
    if (store->view == MAP_FAILED)
        store->view = NULL;
    if (store->view && page_watch_add(store, store->view, NULL, 0, view_pages(store)))
        return true;
    page_watch_end(store);
    return false;
}

static struct watched_range *find(const void *address)
{
    struct watched_range *range;

    list_for_each (range, &ranges, struct watched_range, link) {
        if ((uintptr_t)address - (uintptr_t)range->address < range->page_count * PAGE_BYTES)
            return range;
    }
    return NULL;
}

void page_watch_remove(struct page_store *store, const uint8_t *address)
{
    struct watched_range *range = find(address);

    if (!range)
        return;
    if (store->watch)
        store->watch->unmapped(store->watch->context, range->address, range->page_count);
    forget(range);
}

void page_watch_end(struct page_store *store)
{
    struct watched_range *range, *following;

    list_for_each_safe (range, following, &ranges, struct watched_range, link) {
        if (range->store == store)
            forget(range);
    }
    if (store->view)
        munmap(store->view, view_pages(store) * PAGE_BYTES);
    store->view = NULL;
    store->watch = NULL;
}

static uint64_t index_of(const struct watched_range *range, const void *address)
{
    return ((uintptr_t)address - (uintptr_t)range->address) / PAGE_BYTES;
}

/* False: it is a place of the view that no page has. */
static bool page_of(const struct watched_range *range, uint64_t index, uint64_t *out_page)
{
    const struct page_slot *slot = &range->store->slots[index / GROUP_PAGES];

    if (range->pages) {
        *out_page = range->pages[index];
    } else if (range->address != range->store->view) {
        *out_page = range->first_page + index;
    } else {
        *out_page = slot->group * GROUP_PAGES + index % GROUP_PAGES;
        return slot->is_taken;
    }
    return true;
}

bool page_watch_find_page(const struct page_store *store, const void *pointer, uint64_t *out_page)
{
    const struct watched_range *range = find(pointer);

    if (!range || range->store != store)
        return false;
    return page_of(range, index_of(range, pointer), out_page);
}

/* A page that is open already has faulted for another reason than ours. */
static bool take_fault(struct page_fault_taker *ours, const void *address)
{
    struct watched_range *range = find(address);
    uint64_t index, number;
    uint8_t *page;

    if (!range)
        return false;
    index = index_of(range, address);
    page = range->address + index * PAGE_BYTES;
    if (range->is_open[index])
        return false;
    if (range->store->watch && page_of(range, index, &number))
        range->store->watch->touched(range->store->watch->context, range->store, number, page);
    range->is_open[index] = 1;
    return mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE) == 0;
}

void page_watch_close_page(uint8_t *address)
{
    struct watched_range *range = find(address);

    if (!range)
        return;
    range->is_open[index_of(range, address)] = 0;
    mprotect(address, PAGE_BYTES, PROT_READ);
}

/* A page that is not open may show nothing yet, and is left alone. */
void page_watch_close_all(void)
{
    struct watched_range *range;

    list_for_each (range, &ranges, struct watched_range, link) {
        const uint8_t *open = range->is_open, *end = open + range->page_count;

        while ((open = memchr(open, 1, (size_t)(end - open)))) {
            page_watch_close_page(range->address + (uint64_t)(open - range->is_open) * PAGE_BYTES);
            open++;
        }
    }
}

bool page_watch_find(const void *address, struct page_store **out_store, uint64_t *out_page)
{
    const struct watched_range *range = find(address);

    *out_store = range ? range->store : NULL;
    return range && page_of(range, index_of(range, address), out_page);
}

bool page_watch_shows(const struct page_store *store, uint64_t page, const uint8_t *address)
{
    uint64_t shown;

    return page_watch_find_page(store, address, &shown) && shown == page;
}

void page_watch_show_again(const uint8_t *address)
{
    struct watched_range *range = find(address);

    if (range)
        memset(range->is_open, 0, range->page_count);
}
