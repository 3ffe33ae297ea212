/*
 * The invariant walk: everything that must hold between two calls, checked against everything else.
 */
#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/native_fence.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/submission.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/page_allocator.h"
#include "base/range_allocator.h"
#include "vidsch/vidsch.h"

#include <stdio.h>

struct tally {
    uint64_t used[VIDMM_MAX_SEGMENTS + 1];
    uint64_t leaving[VIDMM_MAX_SEGMENTS + 1];
    uint64_t doomed[VIDMM_MAX_SEGMENTS + 1];
    uint64_t count[VIDMM_MAX_SEGMENTS + 1];
    uint64_t evictable[VIDMM_MAX_SEGMENTS + 1];
};

/* Says what does not hold; the debug build stops there. */
static bool broken(const char *what, uint64_t a, uint64_t b)
{
    fprintf(stderr, "vidmm_check: %s (%llu, %llu)\n", what, (unsigned long long)a,
            (unsigned long long)b);
    ASSERT(!"vidmm_check: an invariant does not hold");
    return false;
}

static bool check_allocation(const struct vidmm_allocation *allocation, struct tally *tally)
{
    const struct segment *segment = allocation->place.segment;
    bool is_moving =
        allocation->state == ALLOCATION_ENTERING || allocation->state == ALLOCATION_LEAVING;
    bool is_evictable = allocation->state == ALLOCATION_RESIDENT && !allocation->holds &&
                        !allocation->is_pinned && allocation->listed != LISTED_DYING;
    bool is_on_lru = allocation->listed == LISTED_EVICTABLE && list_is_linked(&allocation->link);

    if (allocation->state != ALLOCATION_DYING &&
        (segment != NULL) !=
            (is_moving || allocation->state == ALLOCATION_RESIDENT || allocation->is_parked))
        return broken("placement and state disagree", allocation->handle, allocation->state);
    if (allocation->state == ALLOCATION_BACKED && !allocation->mdl)
        return broken("backed without backing store", allocation->handle, 0);
    if (allocation->state == ALLOCATION_EMPTY && (allocation->mdl || allocation->has_content))
        return broken("empty with content", allocation->handle, 0);
    if (is_evictable != is_on_lru)
        return broken("on the LRU list and evictable disagree", allocation->handle,
                      allocation->state);
    if ((allocation->listed != LISTED_NOWHERE) != list_is_linked(&allocation->link))
        return broken("on a list and said to be on one disagree", allocation->handle,
                      allocation->listed);
    if (allocation->has_holds_aside != (allocation->offered_holds != 0))
        return broken("references put aside and their count disagree", allocation->handle,
                      allocation->offered_holds);
    if (allocation->lock_count > allocation->holds)
        return broken("more locks than holds", allocation->lock_count, allocation->holds);
    if (!segment)
        return true;
    if (placement_bytes(&allocation->place) != segment_footprint(segment, allocation))
        return broken("a place has not the bytes of its allocation",
                      placement_bytes(&allocation->place), segment_footprint(segment, allocation));
    tally->used[segment->id] += segment_footprint(segment, allocation);
    tally->count[segment->id]++;
    if (allocation->other) { /* it moves: two places, and none is given up yet */
        tally->used[allocation->other->segment->id] +=
            segment_footprint(allocation->other->segment, allocation);
        tally->count[allocation->other->segment->id]++;
    } else if (allocation->state == ALLOCATION_LEAVING || allocation->state == ALLOCATION_DYING)
        tally->leaving[segment->id] += segment_footprint(segment, allocation);
    else if (allocation->is_destroyed)
        tally->doomed[segment->id] += segment_footprint(segment, allocation);
    if (is_evictable)
        tally->evictable[segment->id]++;
    if (segment->kind == SEGMENT_PAGES) {
        const struct placed_runs *runs = allocation->place.runs;
        uint64_t pages = 0;
        uint32_t i;

        for (i = 0; i < runs->count; i++)
            pages += runs->run[i].page_count;
        if (pages != segment_footprint(segment, allocation) / PAGE_BYTES)
            return broken("runs do not add up to the allocation", pages, allocation->page_count);
    }
    return true;
}

/* Places of lists that owe a release, between the allocations. */
static uint64_t marks_in(const struct vidmm *vidmm, const struct segment *segment)
{
    const struct vidmm_list *list;
    uint64_t count = 0;

    list_for_each (list, &vidmm->reference_lists.owing, struct vidmm_list, link) {
        for (unsigned i = 0; i < list->mark_count; i++)
            count += list_is_linked(&list->marks[i].link) && list->marks[i].lru >= segment->lru &&
                     list->marks[i].lru < segment->lru + VICTIM_CLASSES;
    }
    return count;
}

static bool check_segment(const struct vidmm *vidmm, const struct segment *segment,
                          const struct tally *tally)
{
    uint64_t evictable = 0;
    const char *text = NULL;
    unsigned class;

    for (class = 0; class < VICTIM_CLASSES; class ++)
        evictable += list_count(&segment->lru[class]);
    evictable -= marks_in(vidmm, segment);
    if (segment->used != tally->used[segment->id] + segment->table_bytes)
        return broken("bytes used are not those of the allocations", segment->used,
                      tally->used[segment->id] + segment->table_bytes);
    if (segment->leaving != tally->leaving[segment->id])
        return broken("bytes leaving are not those of the allocations", segment->leaving,
                      tally->leaving[segment->id]);
    if (segment->doomed != tally->doomed[segment->id])
        return broken("bytes doomed are not those of the allocations", segment->doomed,
                      tally->doomed[segment->id]);
    if (segment->allocation_count != tally->count[segment->id])
        return broken("allocations are miscounted", segment->allocation_count,
                      tally->count[segment->id]);
    if (evictable != tally->evictable[segment->id])
        return broken("the LRU lists hold others than the evictable", evictable,
                      tally->evictable[segment->id]);
    if (segment->kind == SEGMENT_PAGES)
        text = page_allocator_check(&segment->pages);
    else if (segment->kind != SEGMENT_SYSTEM)
        text = range_allocator_check(&segment->ranges);
    return text ? broken(text, segment->id, 0) : true;
}

static bool check_process(const struct vidmm_process *process, struct tally *tally)
{
    const struct vidmm_device *device;
    const char *text;

    list_for_each (device, &process->devices, struct vidmm_device, link) {
        const struct vidmm_allocation *allocation;

        list_for_each (allocation, &device->allocations, struct vidmm_allocation, device_link) {
            if (!check_allocation(allocation, tally))
                return false;
        }
    }
    if (!process->vidmm->caps.is_virtual)
        return true;
    text = range_allocator_check(&process->space.ranges);
    return text ? broken(text, 0, 0) : true;
}

/* One of a context that has gone is not used again, not even to compare addresses. */
static bool is_companion_there(const struct vidmm *vidmm, const struct companion *companion)
{
    const struct vidmm_process *process;
    const struct vidmm_device *device;
    const struct vidmm_context *context;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        list_for_each (device, &process->devices, struct vidmm_device, link) {
            list_for_each (context, &device->contexts, struct vidmm_context, link) {
                if (&context->companion == companion)
                    return true;
            }
        }
    }
    return !companion;
}

static bool check_queues(const struct vidmm *vidmm)
{
    uint64_t retired = vidmm->submitted;

    if (!is_companion_there(vidmm, vidmm->queue.companion) ||
        !is_companion_there(vidmm, vidmm->queue.submitted_for))
        return broken("the paging queue knows a companion that has gone", 0, 0);
    if (!list_is_empty(&vidmm->submissions))
        retired = container_of(vidmm->submissions.next, struct submission, link)->sequence - 1;
    return vidmm->retired == retired ||
           broken("submissions have retired beyond the oldest", vidmm->retired, retired);
}

bool vidmm_check(const struct vidmm *vidmm)
{
    const struct vidmm_process *process;
    struct tally tally = {0};
    unsigned i;

    if (!check_queues(vidmm))
        return false;
    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        if (!check_process(process, &tally))
            return false;
    }
    if (!check_segment(vidmm, &vidmm->system, &tally))
        return false;
    for (i = 0; i < vidmm->caps.segment_count; i++) {
        if (!check_segment(vidmm, &vidmm->segments[i], &tally))
            return false;
    }
    if (!native_fences_check(vidmm))
        return broken("slots of native fences and fences differ in number",
                      vidmm->native_fences.count, 0);
    if (vidmm->vidsch)
        vidsch_check(vidmm->vidsch);
    return true;
}
