/*
 * Page watch: who is told before somebody writes through a mapping of a store's pages.
 *
 * Place      machine. Part of the page store, for recorders of what a driver writes.
 * Model      While a store is watched, its new mappings (page_store_map(), page windows) show pages
 *            that can be read alone. The first write to a page through a mapping is caught as
 *            SIGSEGV: the watch is told, the page is opened in that mapping, and the write goes on.
 *            page_watch_close_page() makes it tell again.
 *
 *            Neighbours are shown in a second view of the arena, so what the store's own functions
 *            write is not told. Which address a page is shown at does not depend on the watch
 *            but for where the view begins.
 *
 *            Nothing here is safe from code that opens pages itself. It is told of fewer writes
 *            then, and of none that did not happen.
 * Ownership  The watch is borrowed until the store is told of another one. What is mapped stays
 *            caught until it is unmapped, and is opened without a word when there is no watch.
 * Errors     false: the host has no memory or address space. So a mapping can fail.
 */
#ifndef DRYDOCK_MACHINE_PAGE_WATCH_H
#define DRYDOCK_MACHINE_PAGE_WATCH_H

#include "machine/page_store.h"

struct page_watch {
    void *context;
    /*
     * In a signal handler, before the first write to this page through the mapping, in which it
     * lies at address.
     */
    void (*touched)(void *context, struct page_store *store, uint64_t page, uint8_t *address);
    /* Pages of a mapping are gone. */
    void (*unmapped)(void *context, const uint8_t *address, uint64_t count);
};

/* Mappings that are there already are not watched. NULL: nobody; does not fail. */
bool page_store_set_watch(struct page_store *store, const struct page_watch *watch);

/* The page at this address of a mapping is told of anew; so are all pages of all mappings. */
void page_watch_close_page(uint8_t *address);
void page_watch_close_all(void);
/* Which page a watched mapping shows at the address; false: none does. */
bool page_watch_find(const void *address, struct page_store **out_store, uint64_t *out_page);
/* False: what is shown at this address has become another page since, or none. */
bool page_watch_shows(const struct page_store *store, uint64_t page, const uint8_t *address);

#endif
