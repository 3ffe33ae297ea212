/*
 * Compaction: one piece of a segment, by moving what lies in it.
 *
 * Place      vidmm. A last resort of requests (residency.c); page tables are not put in the window
 *            meanwhile.
 * Model      compaction.c: survey, window, close, move, open. One segment at a time.
 * Units      Units of the segment; pages of 4 KiB.
 * Source     contract.md PT-009, PT-043, XFER-019, RES-011, ALLOC-016.
 */
#ifndef VIDMM_COMPACTION_H
#define VIDMM_COMPACTION_H

#include "vidmm/paging/job.h"

struct segment;
struct vidmm;

struct compaction {
    bool is_under_way;
    bool is_closed; /* nothing is placed in the window */
    bool is_for_pieces;
    struct segment *segment;
    uint8_t *units; /* what is in each, when it began; NULL: none is under way */
    uint64_t unit_count;
    uint64_t first_unit, window_count; /* the window */
    struct job end_job;
};

/*
 * Nothing is pending in the manager: begins to clear so many pages of the segment, in one piece.
 * False: it is of no use, or cannot be done.
 */
bool compaction_begin(struct vidmm *vidmm, struct segment *segment, uint64_t page_count,
                      uint64_t alignment_pages);
/* No page table is to be put on the page now. */
bool compaction_closes(const struct compaction *compaction, const struct segment *segment,
                       uint64_t first_page);

#endif
