/*
 * Page window: a large host mapping of a store whose pages become bytes when they are touched.
 *
 * Place      machine. For drivers that map a whole BAR: a page_store_map() of gigabytes would make
 *            real bytes of all of them.
 * Model      The window begins inaccessible. The first access to a page is caught as SIGSEGV; its
 *            block of 16 pages is made bytes, pinned and opened, and the access repeats. Pages that
 *            nobody touched stay as they are, symbolic to whoever writes them. While there are
 *            windows there is a SIGSEGV handler (page_fault.h). Windows belong to one thread.
 *            System calls do not fault: given a pointer into pages that were not touched, they fail
 *            with EFAULT. A window of a list shows scattered pages one behind the other. Each that
 *            is touched then costs the host a mapping, of which a process has some 60,000.
 * Ownership  page_window_open() gives the window; close it before the store is destroyed.
 * Errors     open: NULL when the host has no address space or memory.
 */
#ifndef DRYDOCK_MACHINE_PAGE_WINDOW_H
#define DRYDOCK_MACHINE_PAGE_WINDOW_H

#include "machine/page_store.h"

struct page_window;

struct page_window *page_window_open(struct page_store *store, uint64_t first_page,
                                     uint64_t page_count);

/* All of its pages are pinned and open from the beginning. */
struct page_window *page_window_open_whole(struct page_store *store, uint64_t first_page,
                                           uint64_t page_count);

/*
 * Pages of a list, which is copied, in place of count pages of host addresses that the caller has
 * reserved without access; closing leaves them so.
 */
struct page_window *page_window_open_list(struct page_store *store, const uint64_t *pages,
                                          uint64_t page_count, uint8_t *address);
void page_window_close(struct page_window *window);

/*
 * All that are left of a store. page_store_destroy() does it: a run that was given up has closed
 * none.
 */
void page_windows_close_all(struct page_store *store);

/* Host address of the first page's first byte. */
uint8_t *page_window_address(const struct page_window *window);

/*
 * From here to page_windows_end_watch() accesses through windows to count pages of the store from
 * the first one on are noticed. False: no window shows any of them. Pages of list windows are not
 * watched, nor is a page of a block any more in which another page has been touched.
 */
bool page_windows_watch(struct page_store *store, uint64_t first_page, uint64_t count);
/* True: there was an access, *out_page is the page. */
bool page_windows_end_watch(uint64_t *out_page);

/* The window that the pointer lies in, or NULL. */
struct page_window *page_window_find(const void *pointer);

#endif
