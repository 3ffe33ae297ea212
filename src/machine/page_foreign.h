/*
 * Foreign pages: pages of a store whose bytes are memory of another process.
 *
 * Place      machine. Part of the page store, for a server of clients (src/bench/exec).
 * Model      A page of a store can be
 *
 *            | shown  | its bytes are a page of a file that the process has mapped: both sides read
 *            |        | and write the same memory. The store works on it as on any page.
 *            | remote | its bytes are the process's own memory at an address, reached by functions.
 *            |        | Copies, reads, writes and fills of the store go there, each byte once, and
 *            |        | nothing of it is kept here. What asks for the bytes of a page as memory
 *            |        | (page_store_bytes(), comparing, digests) gets a copy of that moment.
 *
 *            Two pages can be remote at one address. A remote page cannot be mapped. A process that
 *            is gone, or has no memory there, reads as zero, and what is written to it is lost.
 * Ownership  The memory is borrowed while pages of it are foreign. What is foreign is forgotten
 *            when the store is destroyed.
 * Errors     false: the host has no memory or no mappings for it (pages that do not follow each
 *            other cost one each), or the pages are mapped or watched.
 */
#ifndef DRYDOCK_MACHINE_PAGE_FOREIGN_H
#define DRYDOCK_MACHINE_PAGE_FOREIGN_H

#include "machine/page_store.h"

struct page_foreign {
    void *context;
    int file; /* of shown pages */
    /* Of remote pages. False: not all of it could be reached; out is whole all the same. */
    bool (*read)(void *context, uint64_t address, void *out, uint64_t bytes);
    bool (*write)(void *context, uint64_t address, const void *from, uint64_t bytes);
};

/* The content goes along, there and back. The pages are pinned meanwhile. */
bool page_store_show_in(struct page_store *store, const struct page_foreign *memory,
                        const uint64_t *pages, uint64_t count, uint64_t offset);
/* forgets: the content is given up, and the pages are zero. */
void page_store_end_show(struct page_store *store, const uint64_t *pages, uint64_t count,
                         bool forgets);

bool page_store_make_remote(struct page_store *store, const struct page_foreign *memory,
                            const uint64_t *pages, uint64_t count, uint64_t address);
/* The pages are zero behind it. */
void page_store_end_remote(struct page_store *store, const uint64_t *pages, uint64_t count);

#endif
