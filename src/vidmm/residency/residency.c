/*
 * Residency: requests are served, in the order in which they were made, or in turns (turns.h).
 *
 * The first request is active: it holds its allocations, so that resident ones stay, and places the
 * others. Room is made in the segment that an allocation prefers (room.c). When all are placed, a
 * barrier job behind the page-ins ends the request. The barrier's last operation writes the value
 * of the device's paging fence, and seeing the value ends the request; drivers older than WDDM 2.2
 * do not know the operation, and the packet that retires ends it.
 *
 * A request fails when an allocation cannot be placed and nothing is pending in the whole manager:
 * no event will come that could help. Before that it tries its last resorts, each once: its own
 * allocations leave and the largest is placed first; page tables leave; so do idle allocations of
 * other segments, and then their page tables; native fences leave; the segment is compacted.
 *
 * A reference costs a hold and two list operations. Only a last resort and the sizes that a failed
 * request tells walk the LRU lists of a segment.
 *
 * Source     contract.md RES-001..014; sequences S-03..S-07, S-12, S-22, S-23.
 */
#include "vidmm/residency/residency.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/power.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/mappings/mapping.h"
#include "vidmm/views/agp.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_paging.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/views/aperture.h"
#include "vidmm/memory/backing.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/reference_list.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/monitored_fence.h"
#include "vidmm/paging/native_fence.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/residency/budget.h"
#include "vidmm/residency/compaction.h"
#include "vidmm/residency/offer.h"
#include "vidmm/residency/request.h"
#include "vidmm/residency/room.h"
#include "vidmm/residency/turns.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/segment_tables.h"
#include "vidmm/tables/table_eviction.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/device.h"

#include "base/bits.h"
#include "base/list.h"
#include "vidsch/vidsch.h"

/* The paging fence is in memory that the GPU writes. */
static bool writes_fence(const struct request *request)
{
    return request->fence_value && request->device->paging_fence.cpu;
}

/* The value is the last thing that the request's batch writes (NTF-008). */
static enum job_step barrier_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct request *request = container_of(job, struct request, barrier);

    if (job->phase || !writes_fence(request) || request->has_ended)
        return JOB_DONE;
    job->phase = 1;
    monitored_fence_op_signal(&request->device->paging_fence, request->fence_value, args);
    return JOB_OPERATION;
}

static void signal_fence(const struct request *request, uint64_t value)
{
    if (notes_are_heard(request->vidmm))
        note_paging_fence_value(request, value);
    monitored_fence_signal(request->vidmm, &request->device->paging_fence, value);
}

/*
 * The device's fence follows: a request that failed has no batch to write its value, so the CPU
 * does once nothing of the device is pending that would still write a lower one.
 */
static void settle_fence(struct request *request, NTSTATUS status)
{
    struct vidmm_device *device = request->device;

    device->pending_requests--;
    turns_note_work(device);
    if (!request->fence_value)
        return;
    if (NT_SUCCESS(status))
        signal_fence(request, request->fence_value);
    else if (request->fence_value > device->fence_owed)
        device->fence_owed = request->fence_value;
    if (!device->pending_requests && device->fence_owed)
        signal_fence(request, device->fence_owed);
}

static void settle(struct request *request, NTSTATUS status)
{
    unsigned i;

    if (!NT_SUCCESS(status) && request->is_active) {
        for (i = 0; i < request->count; i++)
            allocation_unhold(request->allocations[i]);
    }
    for (i = 0; i < request->count; i++) {
        if (request->is_reclaim)
            offer_settle_reclaim(request->allocations[i], NT_SUCCESS(status));
        allocation_unuse(request->allocations[i]);
    }
    if (request->list)
        reference_list_requested(request->list, NT_SUCCESS(status));
    if (request->device)
        settle_fence(request, status);
}

static void end_request(struct request *request, NTSTATUS status, uint64_t needed,
                        uint64_t available)
{
    vidmm_done done = request->done;
    void *context = request->context;

    if (notes_are_heard(request->vidmm)) {
        request->vidmm->notes.serving = NULL; /* what the owner does now is not for the request */
        note_request_ends(request, status, needed, available);
    }
    settle(request, status);
    request_free(request);
    if (done)
        done(context, status, needed, available);
}

/* The device's paging fence has the request's value. */
static void end_signalled(struct request *request)
{
    unsigned i;

    request->has_ended = true;
    list_remove(&request->link);
    for (i = 0; i < request->count; i++)
        request->allocations[i]->is_published = true;
    if (notes_are_heard(request->vidmm))
        note_request_ends(request, STATUS_SUCCESS, 0, 0);
    settle(request, STATUS_SUCCESS);
    if (request->done)
        request->done(request->context, STATUS_SUCCESS, 0, 0);
}

void requests_end_reached(struct vidmm *vidmm)
{
    vidmm->fences.was_signalled = false;
    while (!list_is_empty(&vidmm->signalling)) {
        struct request *request = container_of(vidmm->signalling.next, struct request, link);

        if (*request->device->paging_fence.cpu < request->fence_value)
            break;
        end_signalled(request);
    }
}

void requests_rescan(struct vidmm *vidmm)
{
    if (vidmm->fences.was_signalled)
        requests_end_reached(vidmm);
}

static void barrier_finished(struct job *job)
{
    struct request *request = container_of(job, struct request, barrier);
    struct vidmm *vidmm = request->vidmm;

    if (request->has_ended) {
        request_free(request);
        return;
    }
    list_remove(&request->link);
    if (vidmm->is_removed) {
        end_request(request, STATUS_DEVICE_REMOVED, 0, 0);
        return;
    }
    if (writes_fence(request) && *request->device->paging_fence.cpu < request->fence_value &&
        NT_SUCCESS(vidmm->queue.retired_status))
        vidmm_driver_error(vidmm, "NTF-007",
                           "SIGNAL_MONITORED_FENCE: its packet has retired, but the fence at GPU "
                           "address 0x%llx holds %llu instead of %llu",
                           (unsigned long long)request->device->paging_fence.va,
                           (unsigned long long)*request->device->paging_fence.cpu,
                           (unsigned long long)request->fence_value);
    end_request(request, STATUS_SUCCESS, 0, 0);
}

static const struct job_ops barrier_ops = {
    .name = "request", .next = barrier_next, .finished = barrier_finished};

/* Bytes that the request still has to place in the segment. */
static uint64_t request_need(const struct request *request, const struct segment *segment)
{
    uint64_t need = 0;
    unsigned i;

    for (i = request->placed; i < request->count; i++) {
        const struct vidmm_allocation *allocation = request->allocations[i];

        if (!allocation_is_placed(allocation) && room_wanted_segment(allocation) == segment)
            need += segment_footprint(segment, allocation);
    }
    return need;
}

/* ---- Placing --------------------------------------------------------------------------------- */

enum place_result { PLACED, PLACE_LATER, PLACE_FAILED };

static enum place_result place(struct request *request, struct vidmm_allocation *allocation,
                               NTSTATUS *status)
{
    struct vidmm *vidmm = request->vidmm;
    unsigned i;

    for (i = 0; i < allocation->preference_count; i++) {
        struct segment *segment = segment_by_id(vidmm, allocation->preference[i]);

        *status = room_take(segment, allocation);
        if (NT_SUCCESS(*status))
            return PLACED;
        if (*status == STATUS_NO_MEMORY)
            return PLACE_FAILED;
        if (*status == STATUS_GRAPHICS_NO_VIDEO_MEMORY &&
            segment_footprint(segment, allocation) <= segment->size) {
            NTSTATUS room;
            uint64_t need = segment_footprint(segment, allocation);

            if (segment == room_wanted_segment(allocation) && request_need(request, segment) > need)
                need = request_need(request, segment);
            if (room_make(vidmm, segment, need, &room))
                return PLACE_LATER;
            if (!NT_SUCCESS(room)) {
                *status = room;
                return PLACE_FAILED;
            }
            /* Everything in the preferred segment is in use: another one only if that stays so. */
            if (room_is_coming(vidmm))
                return PLACE_LATER;
        }
    }
    return PLACE_LATER;
}

static void activate(struct request *request)
{
    unsigned i;

    if (request->is_active)
        return;
    request->is_active = true;
    if (notes_are_heard(request->vidmm) && !request->resorts)
        note_request_begins(request);
    for (i = 0; i < request->count && !request->resorts; i++) {
        const struct vidmm_allocation *allocation = request->allocations[i];

        request->vidmm->statistics.residency_requests++;
        if (allocation->state == ALLOCATION_RESIDENT || allocation->state == ALLOCATION_ENTERING)
            request->vidmm->statistics.residency_hits++;
    }
    allocations_hold(request->count, request->allocations);
}

/* Where most page tables are. */
static struct segment *table_segment(struct vidmm *vidmm)
{
    return segment_by_id(vidmm, vidmm->caps.levels[0].segment);
}

static enum place_result place_tables(struct request *request, NTSTATUS *status)
{
    struct vidmm *vidmm = request->vidmm;
    struct segment *segment = table_segment(vidmm);
    NTSTATUS room;

    *status = request->make_tables(request->context);
    if (NT_SUCCESS(*status))
        return PLACED;
    if (*status != STATUS_GRAPHICS_NO_VIDEO_MEMORY || segment->kind == SEGMENT_SYSTEM)
        return PLACE_FAILED;
    room_make(vidmm, segment, request->table_bytes, &room);
    return NT_SUCCESS(room) ? PLACE_LATER : PLACE_FAILED;
}

/* Behind the placing, so that allocations in one piece are placed before page tables. */
static enum place_result restore_tables(struct request *request, NTSTATUS *status)
{
    struct vidmm *vidmm = request->vidmm;
    unsigned i;

    for (i = 0; i < request->count; i++) {
        struct vidmm_allocation *allocation = request->allocations[i];
        const struct mapping *mapping;
        uint64_t bytes = 0;
        NTSTATUS room;

        if (!allocation->tables_left)
            continue;
        request->has_restored = true;
        *status = tables_restore(allocation);
        if (NT_SUCCESS(*status))
            continue;
        if (*status != STATUS_GRAPHICS_NO_VIDEO_MEMORY)
            return PLACE_FAILED;
        list_for_each (mapping, &allocation->mappings, struct mapping, allocation_link) {
            if (mapping->tables_left)
                bytes +=
                    page_tables_bytes(&mapping->process->space, PAGE_BYTES_OF(mapping->page_count));
        }
        if (table_segment(vidmm)->kind == SEGMENT_SYSTEM)
            return PLACE_FAILED;
        room_make(vidmm, table_segment(vidmm), bytes, &room);
        return NT_SUCCESS(room) ? PLACE_LATER : PLACE_FAILED;
    }
    return PLACED;
}

static enum place_result place_all(struct request *request, NTSTATUS *status)
{
    if (request->make_tables)
        return place_tables(request, status);
    while (request->placed < request->count) {
        struct vidmm_allocation *allocation = request->allocations[request->placed];

        switch (allocation->state) {
        case ALLOCATION_RESIDENT:
            break;
        case ALLOCATION_ENTERING:
            job_hurry(&allocation->job);
            break;
        case ALLOCATION_LEAVING:
            job_hurry(&allocation->job);
            *status = STATUS_GRAPHICS_NO_VIDEO_MEMORY;
            return PLACE_LATER;
        case ALLOCATION_DYING:
            *status = STATUS_INVALID_HANDLE;
            return PLACE_FAILED;
        case ALLOCATION_EMPTY:
        case ALLOCATION_BACKED: {
            enum place_result result = place(request, allocation, status);

            if (result != PLACED)
                return result;
            break;
        }
        }
        request->placed++;
    }
    return restore_tables(request, status);
}

/* Bytes that would be free if all victims went. */
static uint64_t evictable_bytes(struct vidmm *vidmm, const struct segment *segment)
{
    const struct vidmm_allocation *allocation;
    uint64_t bytes = 0;
    unsigned class;

    reference_lists_settle(vidmm);
    for (class = 0; class < VICTIM_CLASSES; class ++) {
        list_for_each (allocation, &segment->lru[class], struct vidmm_allocation, link)
            bytes += segment_footprint(segment, allocation);
    }
    return bytes;
}

/* The segment that has no room for the request's next allocation or page tables. */
static struct segment *failing_segment(const struct request *request)
{
    if (request->make_tables || request->placed == request->count)
        return table_segment(request->vidmm);
    return room_wanted_segment(request->allocations[request->placed]);
}

/* Bytes that the request needs there, and bytes that can be had: all but those that others hold. */
static void request_sizes(const struct request *request, uint64_t *out_needed,
                          uint64_t *out_available)
{
    const struct segment *segment = failing_segment(request);
    uint64_t needed = request->table_bytes, own = 0;
    unsigned i;

    for (i = 0; i < request->count; i++) {
        const struct vidmm_allocation *allocation = request->allocations[i];

        if (room_wanted_segment(allocation) != segment)
            continue;
        needed += segment_footprint(segment, allocation);
        if (allocation->place.segment == segment)
            own += segment_footprint(segment, allocation);
    }
    *out_needed = needed;
    *out_available =
        segment_free(request->vidmm, segment) + own + evictable_bytes(request->vidmm, segment);
}

/* ---- Starting over --------------------------------------------------------------------------- */

/* Allocations that have to be in one piece, the largest first; then the others. */
static bool goes_before(const struct vidmm_allocation *a, const struct vidmm_allocation *b)
{
    bool a_is_whole = segment_places_whole(a);
    bool b_is_whole = segment_places_whole(b);

    return a_is_whole != b_is_whole ? a_is_whole : a->page_count > b->page_count;
}

static void sort_for_placing(struct request *request)
{
    unsigned gap, i, at;

    for (gap = request->count / 2; gap > 0; gap /= 2) {
        for (i = gap; i < request->count; i++) {
            struct vidmm_allocation *allocation = request->allocations[i];

            for (at = i; at >= gap && goes_before(allocation, request->allocations[at - gap]);
                 at -= gap)
                request->allocations[at] = request->allocations[at - gap];
            request->allocations[at] = allocation;
        }
    }
}

/*
 * Free memory may be in pieces around the request's own allocations. The request gives up its
 * holds, those allocations that nobody else holds leave, and all are placed anew, the largest
 * first. False: no allocation has left.
 */
static bool start_over(struct request *request)
{
    bool has_left = false;
    unsigned i;

    for (i = 0; i < request->count; i++)
        allocation_unhold(request->allocations[i]);
    request->is_active = false;
    request->placed = 0;
    sort_for_placing(request);
    for (i = 0; i < request->count; i++) {
        struct vidmm_allocation *allocation = request->allocations[i];

        if (allocation->state != ALLOCATION_RESIDENT || allocation_holds(allocation) ||
            allocation->place.segment->kind == SEGMENT_SYSTEM)
            continue;
        if (NT_SUCCESS(allocation_leave(allocation, "fragmentation")))
            has_left = true;
    }
    return has_left;
}

/* The next allocation may be in another segment, too, that is large enough. */
static bool may_go_elsewhere(const struct request *request, const struct segment *segment)
{
    const struct vidmm_allocation *allocation;

    if (request->make_tables || request->placed == request->count)
        return false;
    allocation = request->allocations[request->placed];
    for (unsigned i = 0; i < allocation->preference_count; i++) {
        const struct segment *other = segment_by_id(request->vidmm, allocation->preference[i]);

        if (other != segment && segment_footprint(other, allocation) <= other->size)
            return true;
    }
    return false;
}

/* Makes one piece of the segment for the next allocation, by moving those that may move. */
static bool compact(struct request *request, struct segment *segment)
{
    const struct table_shortage *shortage = &request->vidmm->table_shortage;
    const struct vidmm_allocation *allocation;

    if (request->make_tables || request->placed == request->count)
        return shortage->segment == segment->id &&
               compaction_begin(request->vidmm, segment, shortage->page_count,
                                shortage->alignment_pages);
    allocation = request->allocations[request->placed];
    return segment_places_whole(allocation) &&
           compaction_begin(request->vidmm, segment, allocation->page_count,
                            bytes_to_pages(allocation->alignment));
}

/*
 * Page tables fill the segment, and those of what is elsewhere may leave when that does: idle
 * allocations of the other segments go. True: some do.
 */
static bool empty_tables(struct vidmm *vidmm, const struct segment *segment)
{
    bool has_left = false;

    for (unsigned id = 0; id <= vidmm->caps.segment_count && segment->table_bytes; id++) {
        struct segment *other = segment_by_id(vidmm, id);
        struct vidmm_allocation *victim;

        while (other != segment && (victim = room_find_victim(vidmm, other)) != NULL &&
               NT_SUCCESS(room_evict(victim, "memory pressure")))
            has_left = true;
    }
    return has_left;
}

enum resort {
    RESORT_START_OVER,
    RESORT_EVICT_TABLES,
    RESORT_EMPTY_TABLES,
    RESORT_EVICT_EMPTIED,
    RESORT_EVICT_FENCES,
    RESORT_COMPACT,
    RESORTS,
};

/* Nothing that is pending will help. True: a last resort has begun that may. */
static bool resort(struct request *request)
{
    struct vidmm *vidmm = request->vidmm;
    struct segment *segment = failing_segment(request);
    bool is_elsewhere = may_go_elsewhere(request, segment);
    uint64_t needed, available;

    request_sizes(request, &needed, &available);
    if (needed > available && needed > available + segment->table_bytes && !is_elsewhere)
        return false;
    while (request->resorts < RESORTS) {
        switch ((enum resort)request->resorts++) {
        case RESORT_START_OVER:
            if ((needed <= available || is_elsewhere) && !request->make_tables &&
                start_over(request))
                return true;
            break;
        case RESORT_EMPTY_TABLES:
            if (empty_tables(vidmm, segment))
                return true;
            break;
        case RESORT_EVICT_TABLES:
        case RESORT_EVICT_EMPTIED:
            if (tables_evict(vidmm, segment))
                return true;
            break;
        case RESORT_EVICT_FENCES:
            if (native_fences_leave(vidmm, segment))
                return true;
            break;
        case RESORT_COMPACT:
            if (compact(request, segment))
                return true;
            break;
        case RESORTS:
            break;
        }
    }
    return false;
}

static const char must_succeed_failed[] = "what it needs could not be made resident";

/* Why it is refused, and by which rule: nobody else has said so. */
static void tell_refusal(const struct request *request, NTSTATUS status, uint64_t needed,
                         uint64_t available)
{
    struct vidmm *vidmm = request->vidmm;

    if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
        vidmm_refuse(vidmm, vidmm->caps.is_virtual ? "RES-003" : "RES-001",
                     "segment %u cannot hold all that it needs at once%s",
                     failing_segment(request)->id, needed <= available ? ", but in pieces" : "");
    else if (status == STATUS_GRAPHICS_CANT_RENDER_LOCKED_ALLOCATION)
        vidmm_refuse(
            vidmm, "RES-014",
            "an allocation that it needs is locked, and may not enter segment %u before it "
            "is unlocked",
            failing_segment(request)->id);
}

/* The caller hears the sizes of request_sizes(). */
static void fail_request(struct request *request, NTSTATUS status)
{
    uint64_t needed, available;

    request_sizes(request, &needed, &available);
    list_remove(&request->link);
    if (request->must_succeed)
        device_fail(request->device, must_succeed_failed);
    tell_refusal(request, status, needed, available);
    end_request(request, status, needed, available);
}

static void queue_barrier(struct request *request)
{
    struct vidmm *vidmm = request->vidmm;

    if (writes_fence(request))
        list_push_back(&vidmm->signalling, &request->link);
    request->barrier.ops = &barrier_ops;
    paging_queue_add(vidmm, &request->barrier);
    if (notes_are_heard(vidmm))
        note_request_waits(request, &(struct vidmm_note_request_waits){.wait = VIDMM_WAIT_PAGING});
}

/* ---- Notes ----------------------------------------------------------------------------------- */

/* Another process has the turn. */
static void tell_turn(struct vidmm *vidmm)
{
    struct request *request = container_of(vidmm->requests.next, struct request, link);

    note_request_waits(request, &(struct vidmm_note_request_waits){.wait = VIDMM_WAIT_TURN,
                                                                   .process = vidmm->turns.holder});
}

/* The first request could not be placed, for this status: what has to happen first. */
static void tell_wait(struct request *request, NTSTATUS status)
{
    struct vidmm_note_request_waits waits = {.wait = VIDMM_WAIT_TABLES};

    if (!request->make_tables && request->placed < request->count) {
        const struct vidmm_allocation *allocation = request->allocations[request->placed];
        const struct vidmm_allocation *first = allocation_first(allocation);

        waits.wait = VIDMM_WAIT_ROOM;
        if (allocation->state == ALLOCATION_LEAVING)
            waits.wait = VIDMM_WAIT_DEPARTURE;
        else if (status == STATUS_GRAPHICS_ALLOCATION_BUSY)
            waits.wait = VIDMM_WAIT_LOCK;
        waits.allocation =
            (struct vidmm_noted_allocation){first, allocation == first ? NULL : allocation};
    }
    if (request->vidmm->compaction.is_under_way)
        waits.wait = VIDMM_WAIT_COMPACTION;
    if (waits.wait != VIDMM_WAIT_DEPARTURE && waits.wait != VIDMM_WAIT_LOCK)
        waits.segment = failing_segment(request)->id;
    note_request_waits(request, &waits);
}

/* What is wanted of a segment and is not there: requests that wait have still to place it. */
static uint64_t wanted_bytes(const struct vidmm *vidmm, const struct segment *segment)
{
    const struct request *request;
    uint64_t bytes = 0;

    list_for_each (request, &vidmm->requests, struct request, link)
        bytes += request_need(request, segment);
    return bytes;
}

void residency_tell_samples(struct vidmm *vidmm)
{
    if (!vidmm->notes.sample_is_due || !vidmm->segments)
        return;
    vidmm->notes.sample_is_due = false;
    for (unsigned id = 0; id <= vidmm->caps.segment_count; id++) {
        struct segment *segment = segment_by_id(vidmm, id);

        note_sample(vidmm, segment, id ? segment_free(vidmm, segment) : 0,
                    wanted_bytes(vidmm, segment));
    }
}

/* ---- The line -------------------------------------------------------------------------------- */

static bool serve_requests(struct vidmm *vidmm)
{
    bool did_anything = false;

    while (!list_is_empty(&vidmm->requests)) {
        struct request *request = turns_choose(vidmm);
        NTSTATUS status = STATUS_SUCCESS;
        unsigned i;

        if (!request) {
            if (notes_are_heard(vidmm))
                tell_turn(vidmm);
            return did_anything;
        }
        if (!NT_SUCCESS(vidmm->refusal)) {
            did_anything = true;
            list_remove(&request->link);
            end_request(request, vidmm->refusal, 0, 0);
            continue;
        }
        vidmm->notes.serving = request;
        activate(request);
        switch (place_all(request, &status)) {
        case PLACED:
            list_remove(&request->link);
            did_anything = true;
            if (request->make_tables) {
                if (notes_are_heard(vidmm))
                    note_request_ends(request, STATUS_SUCCESS, 0, 0);
                request_free(request);
                break;
            }
            for (i = 0; i < request->count; i++) {
                if (request->allocations[i]->state != ALLOCATION_RESIDENT)
                    break;
            }
            if (i == request->count && request->device->pending_requests == 1 &&
                !request->has_restored)
                end_request(request, STATUS_SUCCESS, 0, 0);
            else
                queue_barrier(request);
            break;
        case PLACE_LATER:
            if (room_is_coming(vidmm)) {
                if (notes_are_heard(vidmm))
                    tell_wait(request, status);
                return did_anything;
            }
            if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY && resort(request)) {
                if (notes_are_heard(vidmm))
                    tell_wait(request, status);
                return true;
            }
            activate(request);
            if (status == STATUS_GRAPHICS_ALLOCATION_BUSY)
                status = STATUS_GRAPHICS_CANT_RENDER_LOCKED_ALLOCATION;
            /* fall through */
        case PLACE_FAILED:
            did_anything = true;
            fail_request(request, status);
            break;
        }
    }
    return did_anything;
}

/* What a request has to wait for, be it all resident. */
static bool has_to_wait(const struct request *request)
{
    const struct vidmm *vidmm = request->vidmm;

    return !list_is_empty(&vidmm->requests) || request->device->pending_requests ||
           vidmm->is_pumping || vidmm->callback_depth || vidmm->power.state != POWER_ON ||
           !NT_SUCCESS(vidmm->refusal) || turns_are_taken(vidmm);
}

bool residency_serve_at_once(struct request *request)
{
    struct vidmm *vidmm = request->vidmm;

    if (has_to_wait(request))
        return false;
    for (unsigned i = 0; i < request->count; i++) {
        if (!allocation_is_usable(request->allocations[i]))
            return false;
    }
    if (notes_are_heard(vidmm)) {
        note_request(request, NULL);
        note_request_begins(request);
        note_request_ends(request, STATUS_SUCCESS, 0, 0);
    }
    vidmm->statistics.residency_requests += request->count;
    vidmm->statistics.residency_hits += request->count;
    allocations_hold(request->count, request->allocations);
    return true;
}

bool residency_run(struct vidmm *vidmm)
{
    bool did_anything = serve_requests(vidmm);

    vidmm->notes.serving = NULL;
    return did_anything;
}

/* ---- The public side (GpuMmu) ---------------------------------------------------------------- */

static NTSTATUS make_resident(struct vidmm_device *device, unsigned count,
                              struct vidmm_allocation *const *allocations, struct vidmm_list *list,
                              bool must_succeed, vidmm_done done, void *context,
                              uint64_t *out_fence_value)
{
    struct vidmm *vidmm = device->vidmm;
    struct request *request;
    bool are_usable = true;
    NTSTATUS status;
    unsigned i;

    *out_fence_value = 0;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    for (i = 0; i < count; i++) {
        const struct vidmm_allocation *allocation = allocations[i];

        if (allocation->is_destroyed)
            return STATUS_INVALID_HANDLE;
        if (allocation->is_offered)
            return STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE;
        are_usable = are_usable && allocation_is_usable(allocation);
        /* What a hold takes the allocation from between: all of them at once. */
        prefetch_to_write(allocation->link.prev);
        prefetch_to_write(allocation->link.next);
    }
    if (are_usable && !device->pending_requests) {
        allocations_hold(count, allocations);
        vidmm->statistics.residency_requests += count;
        vidmm->statistics.residency_hits += count;
        if (notes_are_heard(vidmm))
            note_request_at_once(device, list, count, allocations);
        return STATUS_SUCCESS;
    }

    status = request_create(device, count, done, context, &request);
    if (!NT_SUCCESS(status))
        return status;
    for (i = 0; i < count; i++)
        request->allocations[i] = allocations[i];
    *out_fence_value = request->fence_value = ++device->requests_made;
    request->must_succeed = must_succeed;
    request->list = list;
    if (list)
        list->pending++;
    request_queue(request);
    vidmm_pump(vidmm);
    return STATUS_PENDING;
}

NTSTATUS vidmm_make_resident(struct vidmm_device *device, unsigned count,
                             struct vidmm_allocation *const *allocations, vidmm_done done,
                             void *context, uint64_t *out_fence_value)
{
    return make_resident(device, count, allocations, NULL, false, done, context, out_fence_value);
}

NTSTATUS residency_ask_for_list(struct vidmm_list *list, vidmm_done done, void *context,
                                uint64_t *out_fence_value)
{
    return make_resident(list->device, list->count, list->allocations, list, false, done, context,
                         out_fence_value);
}

NTSTATUS vidmm_make_resident_or_fail(struct vidmm_device *device, unsigned count,
                                     struct vidmm_allocation *const *allocations, vidmm_done done,
                                     void *context, uint64_t *out_fence_value)
{
    NTSTATUS status =
        make_resident(device, count, allocations, NULL, true, done, context, out_fence_value);

    if (!NT_SUCCESS(status))
        device_fail(device, must_succeed_failed);
    return status;
}

void vidmm_evict(struct vidmm_device *device, unsigned count,
                 struct vidmm_allocation *const *allocations)
{
    if (notes_are_heard(device->vidmm))
        note_given_up(device, NULL, count, allocations);
    residency_give_up(device, count, allocations);
}

void residency_give_up(struct vidmm_device *device, unsigned count,
                       struct vidmm_allocation *const *allocations)
{
    bool are_aside = false;

    for (unsigned i = 0; i < count; i++)
        are_aside = are_aside || allocations[i]->has_holds_aside;
    if (!are_aside)
        allocations_unhold(count, allocations);
    for (unsigned i = 0; are_aside && i < count; i++) {
        if (allocations[i]->has_holds_aside)
            offer_drop_hold(allocations[i]);
        else
            allocation_unhold(allocations[i]);
    }
    vidmm_pump(device->vidmm);
}
