/*
 * Page allocator: hands out sets of pages of one pool, contiguous only on demand.
 *
 * Place      base. Below segments whose pages the GPU maps one by one, and system memory.
 * Model      Pages [0, page_count), each free or taken; what a page is (4 KiB or 64 KiB) is the
 *            caller's choice. A take gives runs: few and long, for the page tables' sake. Nothing
 *            is remembered of what was taken together: any taken pages may be released, in
 *            whatever pieces.
 *            The same calls give the same pages on every host.
 * Cost       O(log n) for each run, plus one step for each 512 pages of it: 100 MB in 4 KiB pages
 *            is a microsecond or two. 1.4 to 1.8 bits of metadata a page.
 * Ownership  The struct is the caller's memory; init allocates all there is through services,
 *            which is borrowed until fini. No other function allocates.
 * Errors     enum page_status. A take is all or nothing. On failure nothing has changed and out
 *            parameters hold zero.
 * Units      Pages, everywhere.
 */
#ifndef DRYDOCK_BASE_PAGE_ALLOCATOR_H
#define DRYDOCK_BASE_PAGE_ALLOCATOR_H

#include "base/services.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_ALLOCATOR_PAGES_MAX (UINT64_C(1) << 31)

enum page_status {
    PAGE_OK,
    PAGE_FULL,          /* too few free pages, or no run as long as asked for */
    PAGE_TOO_MANY_RUNS, /* enough pages, but not in runs_max runs */
    PAGE_NO_MEMORY,     /* none for the pool's own structures (init only) */
    PAGE_INVALID,       /* an argument is out of bounds, or a page is not taken */
};

enum page_policy {
    /* The fewest runs: the first run that holds all, or else the longest, again and again. */
    PAGE_LONG_RUNS,
    /* The lowest free pages, however scattered: leaves the long runs to others. */
    PAGE_FILL_GAPS,
};

struct page_run {
    uint64_t first_page;
    uint64_t page_count;
};

struct page_block;

/* Private: read it through the functions below. */
struct page_allocator {
    const struct base_services *services;
    uint64_t page_count;
    uint64_t free_count;
    uint64_t *words; /* bit set: the page is free */
    size_t word_count;
    struct page_block *blocks; /* a binary tree, node i above 2i and 2i + 1; the root is 1 */
    size_t leaf_count;         /* a power of two */
};

/* All pages are free. Page count is 1 to PAGE_ALLOCATOR_PAGES_MAX. */
enum page_status page_allocator_init(struct page_allocator *pa,
                                     const struct base_services *services, uint64_t page_count);

/* Pages that are still taken go with it. Fine on zeroed memory and after a failed init. */
void page_allocator_fini(struct page_allocator *pa);

/*
 * Take page_count pages (not 0) in at most runs_max runs; page_count of them always suffice.
 * No two of the runs given touch.
 */
enum page_status page_allocator_take(struct page_allocator *pa, uint64_t page_count,
                                     enum page_policy policy, struct page_run *runs,
                                     size_t runs_max, size_t *out_run_count);

/* Take one run whose first page is a multiple of alignment_pages (a power of two; 0 is 1). */
enum page_status page_allocator_take_contiguous(struct page_allocator *pa, uint64_t page_count,
                                                uint64_t alignment_pages, uint64_t *out_first_page);

/*
 * The same from the end: the last run that has page_count pages however it is aligned, or, when
 * none is that long, what page_allocator_take_contiguous() gives.
 */
enum page_status page_allocator_take_last(struct page_allocator *pa, uint64_t page_count,
                                          uint64_t alignment_pages, uint64_t *out_first_page);

/* Take exactly these: PAGE_FULL when one is taken. */
enum page_status page_allocator_take_at(struct page_allocator *pa, uint64_t first_page,
                                        uint64_t page_count);

/* Free a run: PAGE_INVALID when one of its pages is not taken. */
enum page_status page_allocator_release(struct page_allocator *pa, uint64_t first_page,
                                        uint64_t page_count);

bool page_allocator_is_free(const struct page_allocator *pa, uint64_t page);
uint64_t page_allocator_free_count(const struct page_allocator *pa);
uint64_t page_allocator_longest_free_run(const struct page_allocator *pa);
uint64_t page_allocator_metadata_bytes(const struct page_allocator *pa);

/* Walk every invariant: NULL when all hold, or a sentence that says which does not. */
const char *page_allocator_check(const struct page_allocator *pa);

#endif
