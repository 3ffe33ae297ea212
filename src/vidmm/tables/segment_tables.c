/*
 * Memory for page tables: pages out of a segment, or system pages.
 *
 * A segment of 64 KiB pages hands out nothing smaller, so the tables that are smaller share one:
 * each such unit has a bit for each of its pages, and goes back when none is taken.
 */
#include "vidmm/tables/segment_tables.h"

#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/residency/compaction.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"

#define ALL_PAGES ((1u << PAGES_64K) - 1)

struct table_unit {
    struct list link; /* in segment->table_units */
    uint64_t first_page;
    uint32_t taken; /* a bit for each page */
    bool at_end;    /* for tables at the end of the segment */
};

/* The first run of that many free pages, aligned to their number; PAGES_64K when there is none. */
static unsigned find_free(const struct table_unit *unit, unsigned page_count)
{
    uint32_t mask = (1u << page_count) - 1;
    unsigned first = 0;

    while (first < PAGES_64K && (unit->taken & mask << first))
        first += page_count;
    return first;
}

static NTSTATUS take_of_unit(struct vidmm *vidmm, struct segment *segment, unsigned page_count,
                             bool at_end, uint64_t *out_page)
{
    struct table_unit *unit;
    unsigned first = 0;
    NTSTATUS status;

    list_for_each (unit, &segment->table_units, struct table_unit, link) {
        if (unit->at_end != at_end ||
            compaction_closes(&vidmm->compaction, segment, unit->first_page))
            continue;
        first = find_free(unit, page_count);
        if (first < PAGES_64K)
            goto found;
    }
    unit = base_alloc(vidmm->services, sizeof *unit);
    if (!unit)
        return STATUS_NO_MEMORY;
    status = segment_take_units(vidmm, segment, PAGES_64K, PAGES_64K, at_end, &unit->first_page);
    if (!NT_SUCCESS(status)) {
        base_free(vidmm->services, unit, sizeof *unit);
        return status;
    }
    unit->at_end = at_end;
    first = 0;
    list_push_front(&segment->table_units, &unit->link);

found:
    unit->taken |= ((1u << page_count) - 1) << first;
    *out_page = unit->first_page + first;
    return STATUS_SUCCESS;
}

static void release_of_unit(struct vidmm *vidmm, struct segment *segment, unsigned page_count,
                            uint64_t first_page)
{
    struct table_unit *unit = NULL;

    list_for_each (unit, &segment->table_units, struct table_unit, link) {
        if (first_page - unit->first_page < PAGES_64K)
            break;
    }
    ASSERT(&unit->link != &segment->table_units);
    unit->taken &= ~(((1u << page_count) - 1) << (first_page - unit->first_page));
    if (unit->taken)
        return;
    list_remove(&unit->link);
    segment_release_units(vidmm, segment, unit->first_page, PAGES_64K);
    base_free(vidmm->services, unit, sizeof *unit);
}

/* Whether a table of that size shares a unit with others; its pages are then a power of two. */
static bool shares_unit(const struct segment *segment, uint64_t page_count)
{
    return segment->unit_pages > 1 && page_count <= PAGES_64K / 2;
}

NTSTATUS segment_take_pages(struct vidmm *vidmm, unsigned segment_id, uint64_t page_count,
                            uint64_t alignment_pages, bool at_end, uint64_t *out_page)
{
    struct segment *segment = segment_by_id(vidmm, segment_id);
    const struct vidmm_platform *platform = &vidmm->config.platform;

    *out_page = 0;
    if (segment->kind == SEGMENT_SYSTEM) {
        ASSERT(page_count == 1); /* PT-006 */
        return platform->take_pages(platform->context, 1, out_page);
    }
    ASSERT(segment->kind == SEGMENT_PAGES); /* adapter_caps.c: no aperture has page tables */
    if (shares_unit(segment, max_u64(page_count, alignment_pages)))
        return take_of_unit(vidmm, segment,
                            1u << log2_ceil_u64(max_u64(page_count, alignment_pages)), at_end,
                            out_page);
    return segment_take_units(vidmm, segment, page_count, alignment_pages, at_end, out_page);
}

void segment_release_pages(struct vidmm *vidmm, unsigned segment_id, uint64_t first_page,
                           uint64_t page_count, uint64_t alignment_pages)
{
    struct segment *segment = segment_by_id(vidmm, segment_id);
    const struct vidmm_platform *platform = &vidmm->config.platform;

    if (segment->kind == SEGMENT_SYSTEM)
        platform->release_pages(platform->context, 1, &first_page);
    else if (shares_unit(segment, max_u64(page_count, alignment_pages)))
        release_of_unit(vidmm, segment, 1u << log2_ceil_u64(max_u64(page_count, alignment_pages)),
                        first_page);
    else
        segment_release_units(vidmm, segment, first_page, page_count);
}
