/*
 * Foreign pages inside: the table's entries.
 *
 * Place   machine. For the sources page_foreign*.c.
 *
 *         | page_foreign_table.c  | what the table says of pages, and their bytes of this moment |
 *         | page_foreign_access.c | reads, writes, fills and copies of remote pages              |
 *         | page_foreign.c        | pages become foreign, and the store's own again              |
 */
#ifndef DRYDOCK_MACHINE_PAGE_FOREIGN_PRIVATE_H
#define DRYDOCK_MACHINE_PAGE_FOREIGN_PRIVATE_H

#include "machine/page_foreign.h"
#include "machine/page_store_private.h"

struct page_foreign_entry {
    const struct page_foreign *memory; /* NULL: the page is the store's own */
    uint64_t place;                    /* offset in the file, or address; bit 0: it is shown */
};

#define PLACE_IS_SHOWN UINT64_C(1)

/* NULL: the page is not remote. */
static inline const struct page_foreign_entry *page_remote_at(const struct page_store *store,
                                                              uint64_t page)
{
    const struct page_foreign_entry *entry = store->remote_count ? &store->foreign[page] : NULL;

    return entry && entry->memory && !(entry->place & PLACE_IS_SHOWN) ? entry : NULL;
}

/* Of one piece of one process's memory. */
void page_remote_read(const struct page_store *store, uint64_t address, void *out, uint64_t bytes);

#endif
