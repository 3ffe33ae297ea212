/*
 * Paging of allocations: they enter, leave, are dropped and move.
 *
 * Each is a job of the paging queue. The first half of the change is made when the job is queued;
 * the second half, which publishes it, is the job's finished function, when the last packet of the
 * job has retired. Which operations a job generates depends on the model: paging_physical.h,
 * paging_virtual.h.
 *
 * Source     contract.md ALLOC-012, RES-011..014, OFFER-001, XFER-019; sequences S-03..S-07, S-11.
 */
#include "vidmm/memory/allocation_paging.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/views/alternate_va.h"
#include "vidmm/memory/backing.h"
#include "vidmm/memory/forecast.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_physical.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/paging/paging_virtual.h"
#include "vidmm/residency/move.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include "base/assert.h"
#include "base/services.h"

/* ---- Entering -------------------------------------------------------------------------------- */

static void allocation_entered(struct job *job)
{
    struct vidmm_allocation *allocation = container_of(job, struct vidmm_allocation, job);
    struct vidmm_statistics *statistics = &allocation->vidmm->statistics;
    uint64_t bytes = PAGE_BYTES_OF(allocation->page_count);

    if (segment_holds_content(allocation->place.segment)) {
        if (allocation->mdl)
            statistics->moved_in_bytes += bytes;
        else
            statistics->filled_bytes += bytes;
        /* GpuMmu: no list says what work writes to. */
        allocation->is_dirty = !allocation->mdl || allocation->vidmm->caps.is_virtual;
        if (!allocation->is_permanent)
            allocation_release_backing(allocation);
    }
    allocation->has_content = true;
    alternate_va_entered(allocation);
    allocation_set_state(allocation, ALLOCATION_RESIDENT);
}

static const struct job_ops physical_enter_ops = {
    .kind = JOB_ENTER, .next = physical_enter_next, .finished = allocation_entered};

static const struct job_ops virtual_enter_ops = {
    .kind = JOB_ENTER, .next = virtual_enter_next, .finished = allocation_entered};

void allocation_enter(struct vidmm_allocation *allocation)
{
    ASSERT(allocation->place.segment);
    allocation_set_state(allocation, ALLOCATION_ENTERING);
    allocation->job.ops =
        allocation->vidmm->caps.is_virtual ? &virtual_enter_ops : &physical_enter_ops;
    paging_queue_add(allocation->vidmm, &allocation->job);
}

static void allocation_mapped_again(struct job *job)
{
    allocation_set_state(container_of(job, struct vidmm_allocation, job), ALLOCATION_RESIDENT);
}

static const struct job_ops map_again_ops = {
    .kind = JOB_MAP_AGAIN, .next = virtual_map_again_next, .finished = allocation_mapped_again};

void allocation_map_again(struct vidmm_allocation *allocation)
{
    allocation->entries_valid = false;
    allocation_set_state(allocation, ALLOCATION_ENTERING);
    allocation->job.ops = &map_again_ops;
    paging_queue_add(allocation->vidmm, &allocation->job);
}

/* ---- Leaving --------------------------------------------------------------------------------- */

static void allocation_left(struct job *job)
{
    struct vidmm_allocation *allocation = container_of(job, struct vidmm_allocation, job);
    struct vidmm_statistics *statistics = &allocation->vidmm->statistics;

    if (segment_holds_content(allocation->place.segment) && allocation_is_clean(allocation))
        statistics->discarded_bytes += PAGE_BYTES_OF(allocation->page_count);
    else if (segment_holds_content(allocation->place.segment)) {
        statistics->moved_out_bytes += PAGE_BYTES_OF(allocation->page_count);
        allocation->backing_is_linear = allocation->unswizzles;
    }
    segment_release_eviction_slots(allocation);
    alternate_va_left(allocation);
    if (!allocation->is_parked)
        segment_unplace(allocation);
    allocation_set_state(allocation, ALLOCATION_BACKED);
}

static const struct job_ops physical_leave_ops = {
    .kind = JOB_LEAVE, .next = physical_leave_next, .finished = allocation_left};

static const struct job_ops virtual_leave_ops = {
    .kind = JOB_LEAVE, .next = virtual_leave_next, .finished = allocation_left};

/* Its state is LEAVING. */
static void tell_departure(struct vidmm_allocation *allocation, enum vidmm_departure how,
                           const char *reason)
{
    const struct vidmm_events *events = &allocation->vidmm->config.events;

    if (how != VIDMM_DEPARTURE_MOVED)
        allocation->vidmm->statistics.evictions++;
    if (how != VIDMM_DEPARTURE_MOVED && events->evicted)
        events->evicted(events->context, allocation_first(allocation), reason);
    if (notes_are_heard(allocation->vidmm))
        note_departs(allocation, how, reason);
    if (events->departs)
        events->departs(events->context, allocation_first(allocation), how);
}

static NTSTATUS leave(struct vidmm_allocation *allocation, const char *reason, bool is_for_cpu)
{
    struct vidmm *vidmm = allocation->vidmm;
    NTSTATUS status;

    ASSERT(allocation->state == ALLOCATION_RESIDENT);
    if (segment_holds_content(allocation->place.segment) && !allocation->mdl) {
        status = allocation_take_backing(allocation);
        if (!NT_SUCCESS(status))
            return status;
    }
    alternate_va_leaves(allocation, is_for_cpu);
    if (!vidmm->caps.is_virtual && segment_holds_content(allocation->place.segment) &&
        !allocation->range && !allocation_is_clean(allocation))
        segment_take_eviction_slots(allocation);
    allocation_set_state(allocation, ALLOCATION_LEAVING);
    tell_departure(allocation, VIDMM_DEPARTURE_EVICTED, reason);
    allocation->job.ops = vidmm->caps.is_virtual ? &virtual_leave_ops : &physical_leave_ops;
    paging_queue_add(vidmm, &allocation->job);
    return STATUS_SUCCESS;
}

NTSTATUS allocation_leave(struct vidmm_allocation *allocation, const char *reason)
{
    ASSERT(!allocation->holds);
    return leave(allocation, reason, false);
}

NTSTATUS allocation_leave_for_cpu(struct vidmm_allocation *allocation)
{
    NTSTATUS status = leave(allocation, "CPU access", true);

    if (!NT_SUCCESS(status))
        return status;
    allocation->leaves_for_cpu = true; /* it is looked at when the job has ended */
    forecast_note_cpu(allocation);
    return STATUS_SUCCESS;
}

NTSTATUS allocation_park(struct vidmm_allocation *allocation)
{
    NTSTATUS status = leave(allocation, "power", false);

    allocation->is_parked = NT_SUCCESS(status);
    return status;
}

/* ---- Dropping -------------------------------------------------------------------------------- */

static void allocation_dropped(struct job *job)
{
    struct vidmm_allocation *allocation = container_of(job, struct vidmm_allocation, job);

    alternate_va_close(allocation); /* what comes to the place is not looked at through its range */
    segment_unplace(allocation);
    allocation_forget_content(allocation);
}

static const struct job_ops physical_drop_ops = {
    .kind = JOB_DROP, .next = physical_die_next, .finished = allocation_dropped};

static const struct job_ops virtual_drop_ops = {
    .kind = JOB_DROP, .next = virtual_die_next, .finished = allocation_dropped};

void allocation_drop(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;

    ASSERT(allocation->is_offered && allocation->state == ALLOCATION_RESIDENT &&
           !allocation->holds);
    allocation_set_state(allocation, ALLOCATION_LEAVING);
    allocation->is_dropped = true;
    allocation->had_content = true; /* work that was queued before the offer may have made it */
    tell_departure(allocation, VIDMM_DEPARTURE_DROPPED, "offered");
    allocation->job.ops = vidmm->caps.is_virtual ? &virtual_drop_ops : &physical_drop_ops;
    paging_queue_add(vidmm, &allocation->job);
}

/* ---- Moving ---------------------------------------------------------------------------------- */

void move_release_other(struct vidmm_allocation *allocation)
{
    if (!allocation->other)
        return;
    segment_release_place(allocation, allocation->other);
    base_free(allocation->vidmm->services, allocation->other, sizeof *allocation->other);
    allocation->other = NULL;
}

static void allocation_moved(struct job *job)
{
    struct vidmm_allocation *allocation = container_of(job, struct vidmm_allocation, job);

    if (!allocation->vidmm->caps.is_virtual)
        move_swap(allocation);
    move_release_other(allocation);
    allocation->vidmm->statistics.moved_bytes += PAGE_BYTES_OF(allocation->page_count);
    allocation_set_state(allocation, ALLOCATION_RESIDENT);
}

static const struct job_ops physical_move_ops = {
    .kind = JOB_MOVE, .next = physical_move_next, .finished = allocation_moved};

static const struct job_ops virtual_move_ops = {
    .kind = JOB_MOVE, .next = virtual_move_next, .finished = allocation_moved};

void move_begin(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;

    allocation_set_state(allocation, ALLOCATION_LEAVING);
    tell_departure(allocation, VIDMM_DEPARTURE_MOVED,
                   vidmm->compaction.is_under_way ? "compaction" : "moved");
    allocation->job.ops = vidmm->caps.is_virtual ? &virtual_move_ops : &physical_move_ops;
    paging_queue_add(vidmm, &allocation->job);
}
