/*
 * Segment tables: pages for page tables, out of a segment or out of system memory.
 *
 * Place      vidmm, below table_memory.c. Uses segment.h.
 * Model      In a segment of 64 KiB pages, tables that are smaller share a unit; those that are
 *            to be at the end of the segment share units of their own.
 * Errors     STATUS_GRAPHICS_NO_VIDEO_MEMORY, noted in vidmm->table_shortage; STATUS_NO_MEMORY.
 * Units      Pages of 4 KiB, counted from the start of the segment. Segment 0: one system page.
 * Source     contract.md PT-005, PT-006.
 */
#ifndef VIDMM_SEGMENT_TABLES_H
#define VIDMM_SEGMENT_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include <ntddk.h>

struct vidmm;

/* The request for a table that was refused last. */
struct table_shortage {
    unsigned segment;
    uint64_t page_count, alignment_pages;
};

/* Tables that never move lie together at the end of the segment, where the others rarely are. */
NTSTATUS segment_take_pages(struct vidmm *vidmm, unsigned segment_id, uint64_t page_count,
                            uint64_t alignment_pages, bool at_end, uint64_t *out_page);
void segment_release_pages(struct vidmm *vidmm, unsigned segment_id, uint64_t first_page,
                           uint64_t page_count, uint64_t alignment_pages);

#endif
