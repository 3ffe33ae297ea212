/*
 * Segments: placement over the two allocators, and the lists of who may be evicted.
 *
 * Contiguous segments and apertures use a range allocator, GpuMmu memory segments a page allocator;
 * system memory (id 0) has no places of its own. Ranges that the driver reported as invalid are
 * taken at start and never released.
 *
 * Source     contract.md SEG-005, SEG-009, SEG-018..024, APER-017, ALLOC-014, ALLOC-016.
 */
#include "vidmm/memory/segment.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/views/agp.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/views/host_aperture.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/residency/budget.h"
#include "vidmm/vidmm_private.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/page_allocator.h"
#include "base/range_allocator.h"
#include "base/services.h"

#include <string.h>

/* Runs that a placement tries to do with before it asks for more memory. */
#define FEW_RUNS 64

static bool has_places(const struct segment *segment)
{
    return segment->kind == SEGMENT_CONTIGUOUS || segment->kind == SEGMENT_APERTURE ||
           segment->kind == SEGMENT_AGP;
}

static uint64_t unit_bytes(const struct segment *segment)
{
    return PAGE_BYTES * segment->unit_pages;
}

/* Of what is invalid: the part that does not lie in what is taken already, in front. */
static NTSTATUS reserve_invalid_ranges(struct segment *segment, uint64_t front)
{
    uint32_t i;

    for (i = 0; i < segment->caps->invalid_range_count; i++) {
        const struct vidmm_invalid_range *range = &segment->caps->invalid_ranges[i];
        uint64_t start = max_u64(range->offset, front);
        uint64_t end = min_u64(range->offset + range->size, segment->extent);

        if (start >= end)
            continue;
        if (segment->kind == SEGMENT_PAGES) {
            uint64_t first = start / unit_bytes(segment);

            if (page_allocator_take_at(&segment->pages, first,
                                       div_round_up(end, unit_bytes(segment)) - first) != PAGE_OK)
                return STATUS_INVALID_PARAMETER;
        } else if (range_allocator_take_at(&segment->ranges, start, end - start, 0) != RANGE_OK) {
            return STATUS_INVALID_PARAMETER;
        }
    }
    return STATUS_SUCCESS;
}

/* What lies in front of the part that the manager uses is taken for good. */
static NTSTATUS reserve_front(struct segment *segment, uint64_t bytes)
{
    if (!bytes)
        return STATUS_SUCCESS;
    if (segment->kind == SEGMENT_PAGES)
        return page_allocator_take_at(&segment->pages, 0, bytes / unit_bytes(segment)) == PAGE_OK
                   ? STATUS_SUCCESS
                   : STATUS_INVALID_PARAMETER;
    return range_allocator_take_at(&segment->ranges, 0, bytes, 0) == RANGE_OK ? STATUS_SUCCESS
                                                                              : STATUS_NO_MEMORY;
}

/* The limits of an aperture are amounts: any of its slots may be among those that are used. */
static NTSTATUS measure_aperture(const struct vidmm *vidmm, struct segment *segment)
{
    segment->extent = align_down(segment->caps->size, PAGE_BYTES);
    segment->size = segment->extent;
    if (segment->caps->commit_limit)
        segment->size = min_u64(segment->size, segment->caps->commit_limit);
    if (vidmm->caps.aperture_commit_limit)
        segment->size = min_u64(segment->size, vidmm->caps.aperture_commit_limit);
    segment->size = align_down(segment->size, PAGE_BYTES);
    if (segment->kind == SEGMENT_AGP) /* whose pages the bridge maps in order */
        segment->extent = segment->size;
    return segment->size ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

/* Of [front, extent), those bytes count that are free when all invalid ranges have been taken. */
static NTSTATUS measure_memory(const struct vidmm *vidmm, struct segment *segment, uint64_t front)
{
    segment->extent = segment->caps->size;
    if (vidmm->config.local_limit)
        segment->extent = min_u64(segment->extent, front + vidmm->config.local_limit);
    segment->extent = align_down(segment->extent, unit_bytes(segment));
    return front < segment->extent && is_aligned(front, unit_bytes(segment))
               ? STATUS_SUCCESS
               : STATUS_INVALID_PARAMETER;
}

static NTSTATUS init_segment(struct vidmm *vidmm, struct segment *segment, unsigned id)
{
    uint64_t front = 0;
    NTSTATUS status;
    unsigned i;

    segment->id = id;
    segment->unit_pages = 1;
    list_init(&segment->table_units);
    for (i = 0; i < VICTIM_CLASSES; i++)
        list_init(&segment->lru[i]);
    if (id == 0) {
        segment->kind = SEGMENT_SYSTEM;
        segment->size = segment->extent = UINT64_MAX;
        segment->budget_group = budget_group_of(segment);
        return STATUS_SUCCESS;
    }
    segment->caps = &vidmm->caps.segments[id - 1];
    if (segment->caps->is_aperture || segment->caps->is_agp) {
        segment->kind = segment->caps->is_agp ? SEGMENT_AGP : SEGMENT_APERTURE;
        status = measure_aperture(vidmm, segment);
    } else {
        segment->kind = vidmm->caps.has_page_tables ? SEGMENT_PAGES : SEGMENT_CONTIGUOUS;
        if (vidmm->caps.has_page_tables && segment->caps->uses_64kb_pages)
            segment->unit_pages = PAGES_64K;
        /* A segment that ends in front of there has nothing to do with it, and is used as it is. */
        if (segment->caps->size > vidmm->config.local_start)
            front = vidmm->config.local_start;
        status = measure_memory(vidmm, segment, front);
    }
    if (!NT_SUCCESS(status))
        return status;
    segment->budget_group = budget_group_of(segment);
    if (has_places(segment)) {
        if (range_allocator_init(&segment->ranges, vidmm->services, 0, segment->extent,
                                 PAGE_BYTES) != RANGE_OK)
            return STATUS_NO_MEMORY;
    } else {
        enum page_status status = page_allocator_init(&segment->pages, vidmm->services,
                                                      segment->extent / unit_bytes(segment));

        if (status != PAGE_OK)
            return status == PAGE_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_INVALID_PARAMETER;
    }
    if (segment->caps->has_host_aperture && segment->kind == SEGMENT_PAGES) {
        if (page_allocator_init(&segment->host_slots, vidmm->services, segment->caps->host_pages) !=
            PAGE_OK)
            return STATUS_NO_MEMORY;
        segment->host_shown = base_alloc_array(vidmm->services, segment->caps->host_pages,
                                               sizeof *segment->host_shown);
        if (!segment->host_shown)
            return STATUS_NO_MEMORY;
        memset(segment->host_shown, 0, segment->caps->host_pages * sizeof *segment->host_shown);
    }
    status = reserve_front(segment, front);
    if (NT_SUCCESS(status))
        status = reserve_invalid_ranges(segment, front);
    if (NT_SUCCESS(status) && segment_holds_content(segment))
        segment->size = segment_free(vidmm, segment);
    return status;
}

NTSTATUS segments_init(struct vidmm *vidmm)
{
    NTSTATUS status;
    unsigned i;

    init_segment(vidmm, &vidmm->system, 0);
    vidmm->segments =
        base_alloc_array(vidmm->services, vidmm->caps.segment_count, sizeof *vidmm->segments);
    if (!vidmm->segments)
        return STATUS_NO_MEMORY;
    for (i = 0; i < vidmm->caps.segment_count; i++) {
        status = init_segment(vidmm, &vidmm->segments[i], i + 1);
        if (NT_SUCCESS(status) && vidmm->segments[i].kind == SEGMENT_AGP)
            status = agp_open(vidmm, &vidmm->segments[i]);
        if (!NT_SUCCESS(status))
            return status;
    }
    return STATUS_SUCCESS;
}

void segments_fini(struct vidmm *vidmm)
{
    unsigned i;

    if (!vidmm->segments)
        return;
    agp_close(vidmm);
    for (i = 0; i < vidmm->caps.segment_count; i++) {
        range_allocator_fini(&vidmm->segments[i].ranges);
        page_allocator_fini(&vidmm->segments[i].pages);
        page_allocator_fini(&vidmm->segments[i].host_slots);
        if (vidmm->segments[i].host_shown)
            base_free_array(vidmm->services, vidmm->segments[i].host_shown,
                            vidmm->segments[i].caps->host_pages,
                            sizeof *vidmm->segments[i].host_shown);
    }
    base_free_array(vidmm->services, vidmm->segments, vidmm->caps.segment_count,
                    sizeof *vidmm->segments);
    vidmm->segments = NULL;
}

struct segment *segment_by_id(struct vidmm *vidmm, unsigned id)
{
    return id ? &vidmm->segments[id - 1] : &vidmm->system;
}

uint64_t segment_page_count(const struct segment *segment,
                            const struct vidmm_allocation *allocation)
{
    return segment->caps && segment->caps->is_pitch_aligned ? allocation->pitched_pages
                                                            : allocation->page_count;
}

uint64_t segment_footprint(const struct segment *segment, const struct vidmm_allocation *allocation)
{
    return PAGE_BYTES_OF(align_up(segment_page_count(segment, allocation), segment->unit_pages));
}

/* Slots of the bridge's window are not the driver's to map: they do not count (APER-017). */
static uint64_t left_of_limit(const struct vidmm *vidmm, const struct segment *segment)
{
    uint64_t limit = vidmm->caps.aperture_commit_limit;
    uint64_t left;

    if (segment->kind != SEGMENT_APERTURE)
        return UINT64_MAX;
    left = segment->size - segment->committed;
    return limit ? min_u64(left, limit - min_u64(limit, vidmm->aperture_bytes)) : left;
}

static void commit(struct vidmm *vidmm, struct segment *segment, uint64_t bytes)
{
    segment->committed += bytes;
    vidmm->aperture_bytes += bytes;
}

static void uncommit(struct vidmm *vidmm, struct segment *segment, uint64_t bytes)
{
    segment->committed -= bytes;
    vidmm->aperture_bytes -= bytes;
}

bool segment_shares_limit(const struct vidmm *vidmm, const struct segment *segment,
                          const struct segment *other)
{
    return vidmm->caps.aperture_commit_limit && other != segment &&
           segment->kind == SEGMENT_APERTURE && other->kind == SEGMENT_APERTURE;
}

uint64_t segment_free(const struct vidmm *vidmm, const struct segment *segment)
{
    switch (segment->kind) {
    case SEGMENT_SYSTEM:
        break;
    case SEGMENT_APERTURE:
        return min_u64(range_allocator_free_bytes(&segment->ranges), left_of_limit(vidmm, segment));
    case SEGMENT_CONTIGUOUS:
    case SEGMENT_AGP:
        return range_allocator_free_bytes(&segment->ranges);
    case SEGMENT_PAGES:
        return unit_bytes(segment) * page_allocator_free_count(&segment->pages);
    }
    return UINT64_MAX;
}

/* ---- Placement ------------------------------------------------------------------------------- */

static NTSTATUS take_request(struct segment *segment, const struct range_request *request,
                             uint64_t *out_offset, uint32_t *out_range)
{
    switch (range_allocator_take_handle(&segment->ranges, request, out_offset, out_range)) {
    case RANGE_OK:
        return STATUS_SUCCESS;
    case RANGE_NO_MEMORY:
        return STATUS_NO_MEMORY;
    default:
        return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
    }
}

static NTSTATUS take_range(struct segment *segment, uint64_t bytes, uint64_t alignment,
                           uint64_t *out_offset)
{
    const struct range_request request = {.size = bytes, .alignment = alignment};
    uint32_t range;

    return take_request(segment, &request, out_offset, &range);
}

/* The start of the last 20 % of the segment, the only place of pinned allocations (ALLOC-014). */
static uint64_t pinned_start(const struct segment *segment,
                             const struct vidmm_allocation *allocation)
{
    if (allocation->vidmm->config.pins_anywhere)
        return 0;
    return align_down(segment->extent - segment->extent / 5, PAGE_BYTES);
}

/*
 * In one of the banks that the allocation would like, as they lie in the segment it prefers most;
 * else anywhere, from the end that it asks for. A bank is a hint: what does not fit into one goes
 * elsewhere (BANK-003 to BANK-005).
 */
static NTSTATUS take_preferred(struct segment *segment, const struct vidmm_allocation *allocation,
                               struct placement *place)
{
    const DXGK_SEGMENTBANKPREFERENCE *hint = &allocation->hinted_bank;
    const unsigned banks[] = {hint->Bank0, hint->Bank1, hint->Bank2, hint->Bank3};
    const bool downward[] = {hint->Direction0, hint->Direction1, hint->Direction2,
                             hint->Direction3};
    struct range_request request = {.size = segment_footprint(segment, allocation),
                                    .alignment = allocation->alignment};
    bool is_first = allocation->preference[0] == segment->id;
    unsigned i;

    if (allocation->is_pinned) {
        request.window_low = pinned_start(segment, allocation);
        request.place = RANGE_HIGHEST;
        return take_request(segment, &request, &place->offset, &place->range);
    }
    for (i = 0; is_first && i < ARRAY_COUNT(banks); i++) {
        if (!banks[i] || banks[i] > segment->caps->bank_count)
            continue;
        request.window_low = banks[i] > 1 ? segment->caps->bank_ends[banks[i] - 2] : 0;
        request.window_high = min_u64(segment->caps->bank_ends[banks[i] - 1], segment->extent);
        request.place = downward[i] ? RANGE_HIGHEST : RANGE_LOWEST;
        if (request.window_low < request.window_high &&
            NT_SUCCESS(take_request(segment, &request, &place->offset, &place->range)))
            return STATUS_SUCCESS;
    }
    request.window_low = request.window_high = 0;
    request.place = allocation->from_end >> (segment->id - 1) & 1 ? RANGE_HIGHEST : RANGE_ANYWHERE;
    return take_request(segment, &request, &place->offset, &place->range);
}

static size_t runs_bytes(size_t count)
{
    return sizeof(struct placed_runs) + count * sizeof(struct page_run);
}

static NTSTATUS keep_runs(const struct base_services *services, const struct page_run *runs,
                          size_t count, struct placed_runs **out_runs)
{
    struct placed_runs *kept = base_alloc(services, runs_bytes(count));

    if (!kept)
        return STATUS_NO_MEMORY;
    memcpy(kept->run, runs, count * sizeof *runs);
    kept->count = (uint32_t)count;
    *out_runs = kept;
    return STATUS_SUCCESS;
}

static void release_runs(struct segment *segment, const struct page_run *runs, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        enum page_status status =
            page_allocator_release(&segment->pages, runs[i].first_page / segment->unit_pages,
                                   runs[i].page_count / segment->unit_pages);

        ASSERT(status == PAGE_OK);
        (void)status;
    }
}

/* The allocator counts in units of the segment; everybody else in pages. */
static void units_to_pages(const struct segment *segment, struct page_run *runs, size_t count)
{
    size_t i;

    for (i = 0; i < count && segment->unit_pages > 1; i++) {
        runs[i].first_page *= segment->unit_pages;
        runs[i].page_count *= segment->unit_pages;
    }
}

/*
 * A driver that maps large pages at addresses of their own multiples alone is helped by a run that
 * begins at one, where the allocation asks for as much by its alignment.
 */
static bool wants_aligned_run(const struct segment *segment,
                              const struct vidmm_allocation *allocation)
{
    const struct vidmm_caps *caps = &allocation->vidmm->caps;

    return caps->has_large_pages && !caps->allows_unaligned_large_pages && !caps->has_64k_leaves &&
           allocation->alignment > unit_bytes(segment) &&
           PAGE_BYTES_OF(allocation->page_count) >= allocation->alignment;
}

/* One run at a multiple of the allocation's alignment, or nothing. */
static bool take_aligned(struct segment *segment, const struct vidmm_allocation *allocation,
                         uint64_t units, struct page_run *out_run)
{
    out_run->page_count = units;
    return wants_aligned_run(segment, allocation) &&
           page_allocator_take_contiguous(&segment->pages, units,
                                          allocation->alignment / unit_bytes(segment),
                                          &out_run->first_page) == PAGE_OK;
}

/* As few runs as there are; the number is not known before. */
static NTSTATUS take_pages(struct segment *segment, const struct vidmm_allocation *allocation,
                           struct placed_runs **out_runs)
{
    uint64_t units = div_round_up(allocation->page_count, segment->unit_pages);
    const struct base_services *services = allocation->vidmm->services;
    struct page_run few[FEW_RUNS];
    struct page_run *runs = few;
    size_t capacity = ARRAY_COUNT(few);
    size_t count;
    enum page_status taken;
    NTSTATUS status;

    taken = take_aligned(segment, allocation, units, few) ? PAGE_OK : PAGE_TOO_MANY_RUNS;
    for (count = 1; taken == PAGE_TOO_MANY_RUNS;) {
        taken = page_allocator_take(&segment->pages, units, PAGE_LONG_RUNS, runs, capacity, &count);
        if (taken != PAGE_TOO_MANY_RUNS)
            break;
        if (runs != few)
            base_free_array(services, runs, capacity, sizeof *runs);
        capacity = (size_t)min_u64(capacity * 16, units);
        runs = base_alloc_array(services, capacity, sizeof *runs);
        if (!runs)
            return STATUS_NO_MEMORY;
    }
    units_to_pages(segment, runs, taken == PAGE_OK ? count : 0);
    status = taken == PAGE_OK ? keep_runs(services, runs, count, out_runs)
                              : STATUS_GRAPHICS_NO_VIDEO_MEMORY;
    if (taken == PAGE_OK && !NT_SUCCESS(status))
        release_runs(segment, runs, count);
    if (runs != few)
        base_free_array(services, runs, capacity, sizeof *runs);
    return status;
}

/* The highest free run of so many units, not below first. */
static bool take_highest(struct segment *segment, uint64_t first, uint64_t units,
                         uint64_t alignment, uint64_t *out_unit)
{
    uint64_t end = segment->extent / unit_bytes(segment);
    uint64_t at;

    if (units > end)
        return false;
    alignment = alignment ? alignment : 1;
    for (at = align_down(end - units, alignment); at >= first; at -= alignment) {
        if (page_allocator_take_at(&segment->pages, at, units) == PAGE_OK) {
            *out_unit = at;
            return true;
        }
        if (at < alignment)
            break;
    }
    return false;
}

static NTSTATUS take_one_run(struct segment *segment, const struct vidmm_allocation *allocation,
                             struct placed_runs **out_runs)
{
    struct page_run run = {0, div_round_up(allocation->page_count, segment->unit_pages)};
    uint64_t alignment = div_round_up(allocation->alignment, unit_bytes(segment));
    bool is_taken;
    NTSTATUS status;

    if (allocation->is_pinned)
        is_taken = take_highest(
            segment, div_round_up(pinned_start(segment, allocation), unit_bytes(segment)),
            run.page_count, alignment, &run.first_page);
    else
        is_taken = page_allocator_take_contiguous(&segment->pages, run.page_count, alignment,
                                                  &run.first_page) == PAGE_OK;
    if (!is_taken)
        return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
    units_to_pages(segment, &run, 1);
    status = keep_runs(allocation->vidmm->services, &run, 1, out_runs);
    if (!NT_SUCCESS(status))
        release_runs(segment, &run, 1);
    return status;
}

bool segment_places_whole(const struct vidmm_allocation *allocation)
{
    return !allocation->vidmm->caps.is_virtual || allocation->is_accessed_physically ||
           allocation->is_primary || allocation->is_pinned;
}

NTSTATUS segment_take_place(struct segment *segment, struct vidmm_allocation *allocation,
                            struct placement *out_place)
{
    uint64_t bytes = segment_footprint(segment, allocation);
    struct placement place = {.segment = segment, .page_count = (uint32_t)bytes_to_pages(bytes)};
    NTSTATUS status = STATUS_SUCCESS;

    ASSERT(!out_place->segment);
    if (bytes > left_of_limit(allocation->vidmm, segment) || placement_bytes(&place) != bytes)
        return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
    switch (segment->kind) {
    case SEGMENT_SYSTEM:
        break;
    case SEGMENT_CONTIGUOUS:
    case SEGMENT_APERTURE:
    case SEGMENT_AGP:
        status = take_preferred(segment, allocation, &place);
        break;
    case SEGMENT_PAGES:
        status = segment_places_whole(allocation) ? take_one_run(segment, allocation, &place.runs)
                                                  : take_pages(segment, allocation, &place.runs);
        break;
    }
    if (!NT_SUCCESS(status))
        return status;
    *out_place = place;
    if (segment->kind == SEGMENT_APERTURE)
        commit(allocation->vidmm, segment, placement_bytes(&place));
    segment->used += placement_bytes(&place);
    segment->peak_used = max_u64(segment->peak_used, segment->used);
    segment->allocation_count++;
    if (notes_are_heard(allocation->vidmm))
        note_placed(allocation, out_place);
    budget_placed(allocation, out_place);
    return STATUS_SUCCESS;
}

NTSTATUS segment_place(struct segment *segment, struct vidmm_allocation *allocation)
{
    NTSTATUS status = segment_take_place(segment, allocation, &allocation->place);

    if (NT_SUCCESS(status) && allocation->is_destroyed)
        segment_set_departure(allocation, DOOMED);
    return status;
}

void segment_set_departure(struct vidmm_allocation *allocation, enum departure departure)
{
    struct segment *segment = allocation->place.segment;
    uint64_t bytes;

    if (!segment)
        return;
    bytes = placement_bytes(&allocation->place);
    segment->doomed -= allocation->departure == DOOMED ? bytes : 0;
    segment->leaving -= allocation->departure == GOES ? bytes : 0;
    if ((allocation->departure == GOES) != (departure == GOES))
        budget_going(allocation, departure == GOES);
    allocation->departure = departure;
    segment->doomed += departure == DOOMED ? bytes : 0;
    segment->leaving += departure == GOES ? bytes : 0;
}

void segment_release_place(struct vidmm_allocation *allocation, struct placement *place)
{
    struct segment *segment = place->segment;
    enum range_status status;

    if (notes_are_heard(allocation->vidmm))
        note_left(allocation, place);
    switch (segment->kind) {
    case SEGMENT_SYSTEM:
        break;
    case SEGMENT_CONTIGUOUS:
    case SEGMENT_APERTURE:
    case SEGMENT_AGP:
        status = range_allocator_release_handle(&segment->ranges, place->range);
        ASSERT(status == RANGE_OK);
        (void)status;
        break;
    case SEGMENT_PAGES:
        release_runs(segment, place->runs->run, place->runs->count);
        base_free(allocation->vidmm->services, place->runs, runs_bytes(place->runs->count));
        break;
    }
    if (segment->kind == SEGMENT_APERTURE)
        uncommit(allocation->vidmm, segment, placement_bytes(place));
    segment->used -= placement_bytes(place);
    budget_unplaced(allocation, place);
    segment->allocation_count--;
    *place = (struct placement){0};
}

void segment_unplace(struct vidmm_allocation *allocation)
{
    if (allocation->place.segment->kind == SEGMENT_AGP)
        agp_unmap(allocation);
    segment_set_departure(allocation, STAYS);
    segment_release_place(allocation, &allocation->place);
}

uint64_t segment_run(struct vidmm_allocation *allocation, uint64_t page, uint64_t *out_offset)
{
    const struct segment *segment = allocation->place.segment;
    struct placed_runs *runs;

    if (segment->kind != SEGMENT_PAGES) {
        *out_offset = allocation->place.offset + PAGE_BYTES_OF(page);
        return segment_page_count(segment, allocation) - page;
    }
    /* Pages are asked for in order: go on from where the last search ended. */
    runs = allocation->place.runs;
    if (page < runs->at_page || runs->at >= runs->count)
        runs->at = 0, runs->at_page = 0;
    while (page - runs->at_page >= runs->run[runs->at].page_count)
        runs->at_page += runs->run[runs->at++].page_count;
    page -= runs->at_page;
    *out_offset = PAGE_BYTES_OF(runs->run[runs->at].first_page + page);
    return runs->run[runs->at].page_count - page;
}

uint64_t segment_page_offset(struct vidmm_allocation *allocation, uint64_t page)
{
    uint64_t offset;

    segment_run(allocation, page, &offset);
    return offset;
}

NTSTATUS segment_take_slots(struct vidmm *vidmm, struct segment *aperture, uint64_t bytes,
                            uint64_t *out_offset)
{
    NTSTATUS status;

    if (bytes > left_of_limit(vidmm, aperture))
        return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
    status = take_range(aperture, bytes, PAGE_BYTES, out_offset);
    if (NT_SUCCESS(status))
        commit(vidmm, aperture, bytes);
    return status;
}

void segment_release_slots(struct vidmm *vidmm, struct segment *aperture, uint64_t offset,
                           uint64_t bytes)
{
    enum range_status status = range_allocator_release(&aperture->ranges, offset, bytes);

    ASSERT(status == RANGE_OK);
    (void)status;
    uncommit(vidmm, aperture, bytes);
}

void segment_take_eviction_slots(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;
    uint64_t bytes = PAGE_BYTES_OF(allocation->page_count);
    uint64_t offset;
    unsigned i;

    for (i = 0; i < vidmm->caps.segment_count; i++) {
        struct segment *segment = &vidmm->segments[i];

        if (!(allocation->eviction_set >> i & 1) || segment->kind != SEGMENT_APERTURE)
            continue;
        if (NT_SUCCESS(segment_take_slots(vidmm, segment, bytes, &offset))) {
            /* The lowest slots: in front of the 2^32nd page, for less than that is in use. */
            allocation->eviction_slot = (uint32_t)(offset / PAGE_BYTES);
            allocation->eviction_aperture = (uint8_t)segment->id;
            if (notes_are_heard(vidmm))
                note_range(vidmm, segment, offset, bytes, VIDMM_RANGE_EVICTION, true);
            return;
        }
    }
}

struct segment *segment_of_eviction_slots(const struct vidmm_allocation *allocation)
{
    return allocation->eviction_aperture
               ? segment_by_id(allocation->vidmm, allocation->eviction_aperture)
               : NULL;
}

void segment_release_eviction_slots(struct vidmm_allocation *allocation)
{
    struct segment *aperture = segment_of_eviction_slots(allocation);
    uint64_t offset = PAGE_BYTES_OF(allocation->eviction_slot);
    uint64_t bytes = PAGE_BYTES_OF(allocation->page_count);

    if (!aperture)
        return;
    segment_release_slots(allocation->vidmm, aperture, offset, bytes);
    if (notes_are_heard(allocation->vidmm))
        note_range(allocation->vidmm, aperture, offset, bytes, VIDMM_RANGE_EVICTION, false);
    allocation->eviction_aperture = 0;
}

/* ---- Pages for page tables ------------------------------------------------------------------- */

NTSTATUS segment_take_units(struct vidmm *vidmm, struct segment *segment, uint64_t page_count,
                            uint64_t alignment_pages, bool at_end, uint64_t *out_page)
{
    uint64_t units = div_round_up(page_count, segment->unit_pages);
    uint64_t alignment = div_round_up(alignment_pages, segment->unit_pages);
    enum page_status status =
        at_end ? page_allocator_take_last(&segment->pages, units, alignment, out_page)
               : page_allocator_take_contiguous(&segment->pages, units, alignment, out_page);

    if (status != PAGE_OK)
        return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
    *out_page *= segment->unit_pages;
    segment->used += units * unit_bytes(segment);
    segment->table_bytes += units * unit_bytes(segment);
    if (notes_are_heard(vidmm))
        note_range(vidmm, segment, PAGE_BYTES_OF(*out_page), units * unit_bytes(segment),
                   VIDMM_RANGE_TABLES, true);
    segment->peak_used = max_u64(segment->peak_used, segment->used);
    return STATUS_SUCCESS;
}

void segment_release_units(struct vidmm *vidmm, struct segment *segment, uint64_t first_page,
                           uint64_t page_count)
{
    struct page_run run = {first_page, align_up(page_count, segment->unit_pages)};

    release_runs(segment, &run, 1);
    segment->used -= PAGE_BYTES_OF(run.page_count);
    segment->table_bytes -= PAGE_BYTES_OF(run.page_count);
    if (notes_are_heard(vidmm))
        note_range(vidmm, segment, PAGE_BYTES_OF(first_page), PAGE_BYTES_OF(run.page_count),
                   VIDMM_RANGE_TABLES, false);
}

/* ---- Who may be evicted ---------------------------------------------------------------------- */

void segment_lru_add(struct vidmm_allocation *allocation)
{
    if (allocation->is_pinned)
        return;
    ASSERT(allocation->listed == LISTED_NOWHERE);
    list_push_back(allocation_lru(allocation), &allocation->link);
    allocation->listed = LISTED_EVICTABLE;
    budget_idle(allocation, true);
}

void segment_lru_remove(struct vidmm_allocation *allocation)
{
    if (allocation->listed != LISTED_EVICTABLE)
        return;
    list_remove(&allocation->link);
    allocation->listed = LISTED_NOWHERE;
    budget_idle(allocation, false);
}
