/*
 * Take: pages of the machine that a driver asked for by addresses.
 *
 * Place      nt, private. MDLs, contiguous memory and memory of the graphics kernel come from here.
 * Ownership  The list of page frame numbers is the caller's, count of them, and so are the pages;
 *            nt_free_taken() gives both back.
 * Errors     NULL: no memory, or no such pages are free. *out_count is 0 then.
 * Units      Bytes of physical addresses; highest is the last byte that may be used.
 */
#ifndef DRYDOCK_NT_TAKE_H
#define DRYDOCK_NT_TAKE_H

#include "nt/nt.h"

/* Where pages may lie: [lowest, highest], and again each skip bytes further on; skip 0: once. */
struct nt_page_range {
    uint64_t lowest, highest, skip;
};

/*
 * As many pages as there are for bytes, which may be fewer than asked for unless the flags
 * (MM_ALLOCATE_*) say that all are required. They are zeroed unless the flags say otherwise.
 */
uint64_t *nt_take_pages(struct nt *nt, const struct nt_page_range *range, uint64_t bytes,
                        ULONG flags, uint64_t *out_count);

/* Pages that follow each other, and do not cross a multiple of boundary when that is not 0. */
uint64_t *nt_take_contiguous(struct nt *nt, const struct nt_page_range *range, uint64_t bytes,
                             uint64_t boundary, uint64_t *out_count);

void nt_free_taken(struct nt *nt, uint64_t *pfns, uint64_t count);

#endif
