/*
 * Compaction: one piece of a segment, made by moving the allocations and page tables in it.
 *
 * Place      vidmm. A last resort of requests (residency.c); page tables are not put in the window
 *            meanwhile.
 * Model      compaction.c: survey, window, close, move, open. One segment at a time.
 * Units      Units of the segment; pages of 4 KiB.
 * Source     contract.md PT-009, PT-043, XFER-019, RES-011, ALLOC-016.
 */
#ifndef VIDMM_COMPACTION_H
#define VIDMM_COMPACTION_H

#include "vidmm/memory/segment.h"
#include "vidmm/paging/job.h"

struct vidmm;

struct compaction {
    bool is_under_way;
    bool is_closed; /* nothing is placed in the window */
    bool is_for_pieces;
    struct segment *segment;
    uint8_t *units; /* free, movable or fixed when it began; NULL: none is under way */
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

static inline bool compaction_is_in_window(const struct compaction *compaction, uint64_t first_page,
                                           uint64_t page_count)
{
    uint64_t unit_pages = compaction->segment->unit_pages;
    uint64_t start = compaction->first_unit * unit_pages;
    uint64_t end = start + compaction->window_count * unit_pages;

    return first_page < end && start < first_page + page_count;
}
/* No page table is to be put on the page now. */
static inline bool compaction_closes(const struct compaction *compaction,
                                     const struct segment *segment, uint64_t first_page)
{
    return compaction->is_closed && compaction->segment == segment &&
           compaction_is_in_window(compaction, first_page, 1);
}

#endif
