#define _GNU_SOURCE
#include "machine/page_window.h"

#include "machine/page_fault.h"
#include "machine/page_store_private.h"

#include "base/list.h"

#include <sys/mman.h>

/*
 * Opened together. Each stretch of open pages costs the host two of its 65,530 mappings, so a
 * process can hold 2 GiB of scattered touches; when they run out, the window opens as a whole.
 */
#define BLOCK_PAGES 16u

struct page_window {
    struct list link;
    struct page_store *store;
    uint64_t first_page;
    uint64_t *pages; /* NULL: they follow each other from the first one on */
    uint64_t page_count;
    uint8_t *address;
    uint64_t block_count;
    uint8_t *is_open; /* by block */
    uint8_t *is_shut; /* by block: one that is open has been shut by a watch */
};

/* What accesses are noticed of, at most one range at a time. */
static struct {
    struct page_store *store; /* NULL: none */
    uint64_t first, count;
    bool is_touched;
    uint64_t page; /* that was touched first */
} watch;

/* A signal handler has no argument to find them by. */
static struct list windows = LIST_INITIALIZER(windows);

static uint64_t block_pages(const struct page_window *window, uint64_t block)
{
    return min_u64(BLOCK_PAGES, window->page_count - block * BLOCK_PAGES);
}

static void pin_block(struct page_window *window, uint64_t block)
{
    if (window->is_open[block])
        return;
    window->is_open[block] = 1;
    if (!window->pages) {
        page_store_pin(window->store, window->first_page + block * BLOCK_PAGES,
                       block_pages(window, block));
        return;
    }
    for (uint64_t i = 0; i < block_pages(window, block); i++)
        page_store_pin(window->store, window->pages[block * BLOCK_PAGES + i], 1);
}

static void unpin_block(struct page_window *window, uint64_t block)
{
    if (!window->is_open[block])
        return;
    if (!window->pages) {
        page_store_unpin(window->store, window->first_page + block * BLOCK_PAGES,
                         block_pages(window, block));
        return;
    }
    for (uint64_t i = 0; i < block_pages(window, block); i++)
        page_store_unpin(window->store, window->pages[block * BLOCK_PAGES + i], 1);
}

/* Shows the pages of a block, which are pinned. False: the host has no mapping left. */
static bool show_block(struct page_window *window, uint64_t block)
{
    const uint64_t first = block * BLOCK_PAGES;
    uint64_t pages[BLOCK_PAGES];

    for (uint64_t i = 0; i < block_pages(window, block); i++)
        pages[i] = window->pages ? window->pages[first + i] : window->first_page + first + i;
    return page_store_show(window->store, pages, block_pages(window, block),
                           window->address + first * PAGE_BYTES);
}

static uint8_t *reserve(uint8_t *address, uint64_t page_count)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (address ? MAP_FIXED : 0);
    uint8_t *reserved = mmap(address, page_count * PAGE_BYTES, PROT_NONE, flags, -1, 0);

    return reserved == MAP_FAILED ? NULL : reserved;
}

/*
 * Shows all pages of a window whose pages follow each other: it takes a mapping for each group of
 * them, where open blocks between closed ones take two each.
 */
static bool show_whole(struct page_window *window)
{
    bool is_shown = true;

    munmap(window->address, window->page_count * PAGE_BYTES);
    reserve(window->address, window->page_count);
    page_watch_show_again(window->address);
    for (uint64_t block = 0; block < window->block_count && is_shown; block++) {
        pin_block(window, block);
        is_shown = show_block(window, block);
    }
    return is_shown;
}

static bool protect_block(struct page_window *window, uint64_t block, int protection)
{
    return mprotect(window->address + block * BLOCK_PAGES * PAGE_BYTES,
                    block_pages(window, block) * PAGE_BYTES, protection) == 0;
}

static void note_touched(const struct page_window *window, const uint8_t *pointer)
{
    const uint64_t page = window->first_page + (uint64_t)(pointer - window->address) / PAGE_BYTES;

    if (watch.store != window->store || window->pages || watch.is_touched || page < watch.first ||
        page - watch.first >= watch.count)
        return;
    watch.is_touched = true;
    watch.page = page;
}

/* False when the address lies in an open block already: then the fault is not for us. */
static bool open_block(struct page_window *window, const uint8_t *pointer)
{
    uint64_t block = (uint64_t)(pointer - window->address) / PAGE_BYTES / BLOCK_PAGES;

    note_touched(window, pointer);
    if (window->is_shut[block]) {
        window->is_shut[block] = 0;
        return protect_block(window, block, PROT_READ | PROT_WRITE);
    }
    if (window->is_open[block])
        return false;
    pin_block(window, block);
    return show_block(window, block) || (!window->pages && show_whole(window));
}

struct page_window *page_window_find(const void *pointer)
{
    struct page_window *window;

    list_for_each (window, &windows, struct page_window, link) {
        uintptr_t offset = (uintptr_t)pointer - (uintptr_t)window->address;

        if ((uintptr_t)pointer >= (uintptr_t)window->address &&
            offset < window->page_count * PAGE_BYTES)
            return window;
    }
    return NULL;
}

static bool take_fault(struct page_fault_taker *ours, const void *address)
{
    struct page_window *window = page_window_find(address);

    return window && open_block(window, address);
}

/* The blocks of the window with pages of the watch: [*out_first, *out_end). False: none. */
static bool find_watched(const struct page_window *window, uint64_t *out_first, uint64_t *out_end)
{
    const uint64_t first = max_u64(watch.first, window->first_page);
    const uint64_t end =
        min_u64(watch.first + watch.count, window->first_page + window->page_count);

    if (window->store != watch.store || window->pages || first >= end)
        return false;
    *out_first = (first - window->first_page) / BLOCK_PAGES;
    *out_end = div_round_up(end - window->first_page, BLOCK_PAGES);
    return true;
}

bool page_windows_watch(struct page_store *store, uint64_t first_page, uint64_t count)
{
    struct page_window *window;
    uint64_t block, end;
    bool is_shown = false;

    if (store->watch)
        return false; /* a recorder of writes has closed pages, and they would be opened here */
    watch.store = store;
    watch.first = first_page;
    watch.count = count;
    watch.is_touched = false;
    list_for_each (window, &windows, struct page_window, link) {
        if (!find_watched(window, &block, &end))
            continue;
        is_shown = true;
        for (; block < end; block++) {
            if (window->is_open[block] && !window->is_shut[block])
                window->is_shut[block] = protect_block(window, block, PROT_NONE);
        }
    }
    if (!is_shown)
        watch.store = NULL;
    return is_shown;
}

bool page_windows_end_watch(uint64_t *out_page)
{
    struct page_window *window;
    uint64_t block, end;

    list_for_each (window, &windows, struct page_window, link) {
        if (!find_watched(window, &block, &end))
            continue;
        for (; block < end; block++) {
            if (window->is_shut[block])
                protect_block(window, block, PROT_READ | PROT_WRITE);
            window->is_shut[block] = 0;
        }
    }
    watch.store = NULL;
    *out_page = watch.page;
    return watch.is_touched;
}

static struct page_fault_taker taker = {.take = take_fault};

static void leave_faults(void)
{
    if (list_is_empty(&windows))
        page_fault_end(&taker);
}

static void free_window(struct page_window *window)
{
    const struct base_services *services = window->store->services;

    if (window->pages)
        base_free_array(services, window->pages, window->page_count, sizeof *window->pages);
    if (window->is_open)
        base_free(services, window->is_open, window->block_count);
    if (window->is_shut)
        base_free(services, window->is_shut, window->block_count);
    base_free(services, window, sizeof *window);
    leave_faults();
}

/* Without addresses yet, and on no list. */
static struct page_window *create_window(struct page_store *store, uint64_t page_count)
{
    struct page_window *window;

    if (page_count == 0 || !page_fault_begin(&taker))
        return NULL;
    window = base_alloc(store->services, sizeof *window);
    if (!window) {
        leave_faults();
        return NULL;
    }
    window->store = store;
    window->page_count = page_count;
    window->block_count = div_round_up(page_count, BLOCK_PAGES);
    window->is_open = base_alloc(store->services, window->block_count);
    window->is_shut = base_alloc(store->services, window->block_count);
    if (!window->is_open || !window->is_shut) {
        free_window(window);
        return NULL;
    }
    return window;
}

struct page_window *page_window_open(struct page_store *store, uint64_t first_page,
                                     uint64_t page_count)
{
    struct page_window *window;

    assert_pages(store, first_page, page_count);
    window = create_window(store, page_count);
    if (!window)
        return NULL;
    window->first_page = first_page;
    window->address = reserve(NULL, page_count);
    if (!window->address) {
        free_window(window);
        return NULL;
    }
    list_push_front(&windows, &window->link);
    if (!page_watch_add(store, window->address, NULL, first_page, page_count)) {
        page_window_close(window);
        return NULL;
    }
    return window;
}

struct page_window *page_window_open_whole(struct page_store *store, uint64_t first_page,
                                           uint64_t page_count)
{
    struct page_window *window = page_window_open(store, first_page, page_count);

    if (window && !show_whole(window)) {
        page_window_close(window);
        return NULL;
    }
    return window;
}

struct page_window *page_window_open_list(struct page_store *store, const uint64_t *pages,
                                          uint64_t page_count, uint8_t *address)
{
    struct page_window *window = create_window(store, page_count);

    if (!window)
        return NULL;
    window->pages = base_alloc_array(store->services, page_count, sizeof *pages);
    if (!window->pages) {
        free_window(window);
        return NULL;
    }
    for (uint64_t i = 0; i < page_count; i++) {
        assert_pages(store, pages[i], 1);
        window->pages[i] = pages[i];
    }
    window->address = address;
    list_push_front(&windows, &window->link);
    if (!page_watch_add(store, address, pages, 0, page_count)) {
        page_window_close(window);
        return NULL;
    }
    return window;
}

void page_window_close(struct page_window *window)
{
    if (!window)
        return;
    list_remove(&window->link);
    page_watch_remove(window->store, window->address);
    if (window->pages)
        reserve(window->address, window->page_count);
    else
        munmap(window->address, window->page_count * PAGE_BYTES);
    for (uint64_t block = 0; block < window->block_count; block++)
        unpin_block(window, block);
    free_window(window);
}

void page_windows_close_all(struct page_store *store)
{
    struct page_window *window, *following;

    list_for_each_safe (window, following, &windows, struct page_window, link) {
        if (window->store == store)
            page_window_close(window);
    }
}

uint8_t *page_window_address(const struct page_window *window)
{
    return window->address;
}
