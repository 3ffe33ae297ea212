/*
 * Segment: one range of memory that the GPU addresses, or system memory, and who lies in it.
 *
 * Place      vidmm. Uses the range and page allocators of base; used by residency, moves and page
 *            tables. Knows no driver and no paging operation.
 * Model      A segment hands out places: one range of bytes (CONTIGUOUS, APERTURE, AGP), runs of
 *            pages (PAGES), or nothing but an account (SYSTEM). Its LRU lists hold the allocations
 *            that may be evicted.
 * Ownership  Segments live in struct vidmm from segments_init() to segments_fini(). An allocation
 *            has its place until segment_unplace().
 * Errors     STATUS_GRAPHICS_NO_VIDEO_MEMORY: the segment is full; nothing here evicts.
 *            STATUS_NO_MEMORY: the host is. On failure nothing has changed.
 * Units      Sizes and offsets in bytes, pages of 4 KiB, units of unit_pages.
 * Source     contract.md SEG-005, SEG-009, SEG-018..024, APER-017, ALLOC-014, ALLOC-016.
 */
#ifndef VIDMM_SEGMENT_H
#define VIDMM_SEGMENT_H

#include "base/list.h"
#include "base/page_allocator.h"
#include "base/range_allocator.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/notes.h"

#include <ntddk.h>

struct vidmm;
struct vidmm_allocation;
struct vidmm_segment_caps;
struct host_slot;

enum segment_kind {
    SEGMENT_SYSTEM,     /* id 0: system pages, no address of its own; GpuMmu only */
    SEGMENT_CONTIGUOUS, /* memory, allocations are one range: physical model      */
    SEGMENT_PAGES,      /* memory, allocations are runs of pages: GpuMmu          */
    SEGMENT_AGP,        /* the bridge's window on system pages: physical model */
    SEGMENT_APERTURE,   /* slots that show system pages                           */
};

#define PRIORITY_CLASSES 5
#define OFFER_CLASSES    3
#define VICTIM_CLASSES   (OFFER_CLASSES + PRIORITY_CLASSES)

struct segment {
    /* Fixed from segments_init() on. */
    enum segment_kind kind;
    unsigned id;
    const struct vidmm_segment_caps *caps; /* NULL for SEGMENT_SYSTEM */
    uint64_t size;                         /* bytes that may be used at once: after limits, and of
                                              memory without what is in front of local_start, and
                                              without invalid ranges */
    uint64_t extent;                       /* bytes of address, with those that are not used, or
                                              not at once (SEG-009) */
    uint64_t unit_pages;                   /* 16 with Use64KBPages, else 1 */

    unsigned budget_group; /* enum vidmm_budget_group */

    /* Free space (segment.c). */
    struct range_allocator ranges; /* CONTIGUOUS and APERTURE */
    struct page_allocator pages;   /* PAGES; counts units */
    struct list table_units;       /* that page tables share (segment_tables.c) */

    /* The CPU's way to it (host_aperture.c). */
    struct page_allocator host_slots; /* of its CPU host aperture, if it has one */
    struct host_slot *host_shown;     /* the page that each of them shows */
    bool host_is_closed;              /* in D3: the driver has none of them mapped */

    /* Accounts, in bytes but for the last. */
    uint64_t used; /* placed */
    uint64_t peak_used;
    uint64_t table_bytes; /* of used: page tables, paging buffers */
    uint64_t committed;   /* APERTURE: bytes of slots that are taken, by whomever */
    uint64_t leaving;     /* bytes whose owners are on their way out, or dying */
    uint64_t doomed;      /* bytes of destroyed allocations that submitted work still uses */
    uint64_t allocation_count;
    struct vidmm_note_sample told; /* of these, last (notes/note.h) */

    /*
     * Allocations that may be evicted, least recently used first: those that were offered, by the
     * priority of the offer, then the others by priority class.
     */
    struct list lru[VICTIM_CLASSES];
};

/* Pages of a SEGMENT_PAGES segment that an allocation lies in, in the order of the allocation. */
struct placed_runs {
    uint32_t count;
    uint32_t at;      /* the last search for a page ended in this run */
    uint64_t at_page; /* first page of the allocation that lies in run `at` */
    struct page_run run[];
};

/* Which byte counter of its segment includes an allocation: none, doomed, leaving. */
enum departure { STAYS, DOOMED, GOES };

/* A place of an allocation in a segment. */
struct placement {
    struct segment *segment; /* NULL: no place, and the other members mean nothing */
    union {
        uint64_t offset;          /* CONTIGUOUS, APERTURE, AGP: bytes from the segment's start */
        struct placed_runs *runs; /* PAGES */
    };
    uint32_t page_count; /* that the place takes of the segment */
    uint32_t range;      /* CONTIGUOUS, APERTURE, AGP: the handle of the range there */
};

/* That the place takes of the segment. */
static inline uint64_t placement_bytes(const struct placement *place)
{
    return PAGE_BYTES_OF(place->page_count);
}

/* An allocation that is placed there has its content there, not in its backing store. */
static inline bool segment_holds_content(const struct segment *segment)
{
    return segment->kind == SEGMENT_CONTIGUOUS || segment->kind == SEGMENT_PAGES;
}

NTSTATUS segments_init(struct vidmm *vidmm);
void segments_fini(struct vidmm *vidmm);
struct segment *segment_by_id(struct vidmm *vidmm, unsigned id); /* 0: system */

/*
 * Slots of an aperture for what is no allocation there, and counts in nothing but the commit limits
 * (APER-017).
 */
NTSTATUS segment_take_slots(struct vidmm *vidmm, struct segment *aperture, uint64_t bytes,
                            uint64_t *out_offset);
void segment_release_slots(struct vidmm *vidmm, struct segment *aperture, uint64_t offset,
                           uint64_t bytes);

/* Takes a place for the allocation in the segment. */
NTSTATUS segment_take_place(struct segment *segment, struct vidmm_allocation *allocation,
                            struct placement *out_place);
/* Gives a place back; its segment is NULL then. */
void segment_release_place(struct vidmm_allocation *allocation, struct placement *place);
/* The same of the place in force, which counts in the bytes that leave or are doomed. */
NTSTATUS segment_place(struct segment *segment, struct vidmm_allocation *allocation);

/*
 * Whether its place in a segment has to be one piece: in the physical model, where the GPU reaches
 * it by physical address, and of a primary (ALLOC-016).
 */
bool segment_places_whole(const struct vidmm_allocation *allocation);
void segment_unplace(struct vidmm_allocation *allocation);
/* Byte offset in the segment of a page of a placed allocation (memory segments). */
uint64_t segment_page_offset(struct vidmm_allocation *allocation, uint64_t page);
/* How many pages from this one on are contiguous in the segment; their first byte offset. */
uint64_t segment_run(struct vidmm_allocation *allocation, uint64_t page, uint64_t *out_offset);
/* Pages of the segment that the allocation takes there: with PitchAlignment more than it has. */
uint64_t segment_page_count(const struct segment *segment,
                            const struct vidmm_allocation *allocation);
/* Bytes that placing the allocation in the segment takes. */
uint64_t segment_footprint(const struct segment *segment,
                           const struct vidmm_allocation *allocation);
uint64_t segment_free(const struct vidmm *vidmm, const struct segment *segment);
/* Apertures take from one limit: bytes that another one gives back help this one (APER-017). */
bool segment_shares_limit(const struct vidmm *vidmm, const struct segment *segment,
                          const struct segment *other);

/*
 * Physical model: slots of an eviction segment for the allocation's way out. Without one, or when
 * none has room, there are no slots and the transfer goes to the pages directly.
 */
void segment_take_eviction_slots(struct vidmm_allocation *allocation);
/* The aperture that the slots are of; NULL: there are none. */
struct segment *segment_of_eviction_slots(const struct vidmm_allocation *allocation);
void segment_release_eviction_slots(struct vidmm_allocation *allocation);

/*
 * Contiguous pages for a page table in whole units of a segment of pages (segment_tables.c), near
 * the end of the segment if that is asked for.
 */
NTSTATUS segment_take_units(struct vidmm *vidmm, struct segment *segment, uint64_t page_count,
                            uint64_t alignment_pages, bool at_end, uint64_t *out_page);
void segment_release_units(struct vidmm *vidmm, struct segment *segment, uint64_t first_page,
                           uint64_t page_count);

/* Moves the bytes of the place in force to another counter of its segment. */
void segment_set_departure(struct vidmm_allocation *allocation, enum departure departure);

void segment_lru_add(struct vidmm_allocation *allocation);
/* Nothing when it is on no LRU list. */
void segment_lru_remove(struct vidmm_allocation *allocation);

#endif
