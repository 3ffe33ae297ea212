/*
 * Recovery: nodes that do not answer, adapters that are reset, and building everything up again.
 *
 * A reset of the adapter takes everything that was in the GPU, and only that. What follows from it
 * is decided at once, allocation by allocation (settle_allocation()), from where the content was:
 *
 *     RESIDENT in local memory      lost, but for what the backing store has, too (ALLOC-012)
 *     ENTERING local memory         still in the backing store; lost for its owner all the same
 *                                   when it had been told that it is there, and may have written to
 *                                   it
 *     LEAVING local memory, and the backing store has it, too, or the paging buffer with the last
 *     of it has run                 kept: it is there
 *     LEAVING local memory else     lost: nobody knows how much of it had arrived
 *     anywhere else                 nothing is lost
 *
 * Allocations that somebody holds or uses keep their place and enter it anew, from the backing
 * store or by a fill; the others are left where their content is and come back on demand. The jobs
 * that had not finished follow, asked again from their beginning. So the paging queue then holds,
 * in order:
 *
 *     the clean-up      TRANSFER of size 0 or UNMAP of each place; built while the GPU is silent,
 *                       submitted after the restart
 *     the page tables   of each process, initialised and linked, with the entries of physical
 *                       mappings; those of the paging process have been written by the CPU before
 *     the re-entries    with their mappings; rendering goes on when they have retired
 *     unfinished jobs   mappings, barriers
 *
 * Nothing here allocates memory: a recovery cannot fail.
 *
 * Source     contract.md TDR-001..013, XFER-016, XFER-017, APER-018, PWR-009; sequence S-17.
 */
#include "vidmm/adapter/recovery.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/adapter/debug_info.h"
#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/power.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/adapter/removal.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_paging.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/views/alternate_va.h"
#include "vidmm/views/aperture.h"
#include "vidmm/memory/backing.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/memory/sharing.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/native_fence.h"
#include "vidmm/paging/notice.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/residency/residency.h"
#include "vidmm/residency/scan_out.h"
#include "vidmm/work/companion.h"
#include "vidmm/work/null_context.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/tables/physical_entries.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/context_allocation.h"
#include "vidmm/work/device.h"
#include "vidmm/work/space_contexts.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "vidsch/vidsch.h"

#include <bugcodes.h>

/* ---- Allocations ----------------------------------------------------------------------------- */

static bool is_in_local_memory(const struct vidmm_allocation *allocation)
{
    return allocation->place.segment && (allocation->place.segment->kind == SEGMENT_CONTIGUOUS ||
                                         allocation->place.segment->kind == SEGMENT_PAGES);
}

static void lose_content(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;
    const struct vidmm_events *events = &vidmm->config.events;

    if (allocation->is_destroyed)
        return;
    vidmm->statistics.lost_allocations++;
    vidmm->statistics.lost_bytes += PAGE_BYTES_OF(allocation->page_count);
    if (events->content_lost)
        events->content_lost(events->context, allocation_first(allocation));
    allocation_fail_devices(allocation, "the content of an allocation was lost");
}

/* Offered content may go without anybody being told before it is reclaimed (OFFER-003). */
static void forget_content(struct vidmm_allocation *allocation)
{
    if (allocation->is_offered)
        allocation->is_dropped = allocation->had_content = true;
    else
        lose_content(allocation);
    allocation_release_backing(allocation);
    allocation->has_content = false;
}

/*
 * Work that is queued may use it though nobody holds it any more. What is the driver's own for a
 * context is held by all work that uses it, and its content is nobody's when the context ends.
 */
static bool is_wanted(const struct vidmm_allocation *allocation)
{
    return allocation_holds(allocation) ||
           (!allocation_is_idle(allocation) && !allocation->context);
}

static void keep_for_cleanup(struct recovery *recovery, struct vidmm_allocation *allocation)
{
    if (recovery->last)
        recovery->last->next_reset = allocation;
    else
        recovery->first = allocation;
    recovery->last = allocation;
    allocation->next_reset = NULL;
    allocation->is_reset = true;
}

/* It leaves, and what it has not done yet is to make entries of scratch invalid. */
static bool has_arrived(const struct vidmm_allocation *allocation)
{
    return allocation->state == ALLOCATION_LEAVING && !allocation->is_reset &&
           allocation->arrives_with &&
           allocation->arrives_with > allocation->vidmm->queue.refused &&
           allocation->arrives_with <= allocation->vidmm->queue.executed;
}

/*
 * Where the table at the top says. Its job, if it had one, is not with the paging queue any more.
 */
static void settle_allocation(struct vidmm_allocation *allocation)
{
    bool is_settled = allocation->is_reset; /* by a reset that is being cleaned up */
    bool was_moving = allocation->other != NULL;
    bool is_saved = allocation_is_clean(allocation) || has_arrived(allocation);

    allocation->entries_valid = false;
    if (!allocation->place.segment && allocation->state != ALLOCATION_DYING)
        return;
    if (allocation->listed == LISTED_DYING)
        allocation_leave_list(allocation);
    if (!is_settled)
        keep_for_cleanup(&allocation->vidmm->recovery, allocation);

    switch (allocation->state) {
    case ALLOCATION_RESIDENT:
        if (!allocation_holds(allocation))
            segment_lru_remove(allocation);
        if (is_in_local_memory(allocation) && !is_saved)
            forget_content(allocation);
        break;
    case ALLOCATION_ENTERING:
        if (is_in_local_memory(allocation) && allocation->has_content && !allocation->mdl)
            forget_content(allocation); /* kept through a sleep, its mappings were being written */
        else if (is_in_local_memory(allocation) && allocation->is_published)
            lose_content(allocation);
        break;
    case ALLOCATION_LEAVING:
        move_release_other(allocation);
        if ((is_in_local_memory(allocation) && !is_settled && !is_saved) ||
            (allocation->is_offered && allocation->is_dropped))
            forget_content(allocation);
        if (!allocation->is_parked && !was_moving)
            return;
        break;
    default:
        return;
    }
    if (is_wanted(allocation)) {
        allocation_set_state(allocation, ALLOCATION_BACKED); /* as if it had just been placed */
        return;
    }
    allocation->is_parked = false; /* nobody comes back to its place: the clean-up gives it up */
    allocation_set_state(allocation, ALLOCATION_LEAVING);
}

/* Calls it for every allocation of every process. */
static void for_each_allocation(struct vidmm *vidmm,
                                void (*function)(struct vidmm_allocation *allocation))
{
    struct vidmm_process *process;
    struct vidmm_device *device;
    struct vidmm_allocation *allocation, *following;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        list_for_each (device, &process->devices, struct vidmm_device, link) {
            list_for_each_safe (allocation, following, &device->allocations,
                                struct vidmm_allocation, device_link)
                function(allocation);
        }
    }
}

/* It has kept its place: its content comes, or, when it is there, its mappings do. */
static void enter_again(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;

    if (!allocation->place.segment)
        return;
    if (allocation->state == ALLOCATION_RESIDENT && vidmm->recovery.maps_again) {
        if (allocation_is_dead(allocation))
            allocation->entries_valid = false; /* it goes without having been mapped once more */
        else
            allocation_map_again(allocation);
    } else if (allocation->state == ALLOCATION_BACKED && is_wanted(allocation)) {
        allocation->is_parked = false;
        if (allocation->place.segment->kind == SEGMENT_APERTURE)
            aperture_open_view(allocation); /* unmapping closed it (ADL-011) */
        allocation_enter(allocation);
    } else if (allocation->state == ALLOCATION_BACKED) {
        allocation->is_parked = false;
        segment_unplace(allocation);
    }
}

/* ---- The clean-up ---------------------------------------------------------------------------- */

enum cleanup_phase { CLEANUP_PLACE, CLEANUP_APERTURE, CLEANUP_EVICTION, CLEANUP_NOTICE };

/* XFER-016: it was there, and is not any more. No byte moves. */
static void op_lost(struct vidmm_allocation *allocation, DXGKARG_BUILDPAGINGBUFFER *args)
{
    uint64_t offset = segment_page_offset(allocation, 0);

    args->Operation = DXGK_OPERATION_TRANSFER;
    args->Transfer.hAllocation = allocation->driver_handle;
    args->Transfer.Source.SegmentId = allocation->place.segment->id;
    args->Transfer.Source.SegmentAddress.QuadPart =
        (LONGLONG)(allocation->place.segment->caps->base + offset);
    args->Transfer.Flags.TransferStart = 1;
    args->Transfer.Flags.TransferEnd = 1;
}

/* The next operation for this allocation; false: there is none. */
static bool clean_up(struct vidmm_allocation *allocation, struct job *job,
                     DXGKARG_BUILDPAGINGBUFFER *args)
{
    switch ((enum cleanup_phase)job->phase) {
    case CLEANUP_PLACE:
        job->phase = CLEANUP_APERTURE;
        if (is_in_local_memory(allocation)) {
            op_lost(allocation, args);
            return true;
        }
        /* fall through */
    case CLEANUP_APERTURE:
        if (allocation->place.segment && allocation->place.segment->kind == SEGMENT_APERTURE &&
            aperture_op_unmap(allocation, allocation->place.segment, allocation->place.offset,
                              args))
            return true;
        job->phase = CLEANUP_EVICTION;
        /* fall through */
    case CLEANUP_EVICTION:
        if (allocation->eviction_aperture &&
            aperture_op_unmap(allocation, segment_of_eviction_slots(allocation),
                              PAGE_BYTES_OF(allocation->eviction_slot), args))
            return true;
        job->phase = CLEANUP_NOTICE;
        /* fall through */
    case CLEANUP_NOTICE:
        alternate_va_close(allocation);
        if (!allocation->is_noticed)
            return false;
        notice_op_residency(allocation, false, args);
        return true;
    }
    return false;
}

static enum job_step cleanup_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct recovery *recovery = container_of(job, struct recovery, cleanup_job);

    while (recovery->at) {
        struct vidmm_allocation *allocation = recovery->at;

        if (clean_up(allocation, job, args)) {
            allocation->vidmm->queue.subject = allocation;
            return JOB_OPERATION;
        }
        if (allocation->place.segment && allocation->place.segment->kind == SEGMENT_APERTURE &&
            (allocation->state == ALLOCATION_ENTERING || allocation->state == ALLOCATION_BACKED))
            aperture_open_view(allocation); /* for its next mapping; without, it does without */
        recovery->at = allocation->next_reset;
        job->phase = CLEANUP_PLACE;
    }
    return JOB_DONE;
}

static void cleanup_finished(struct job *job)
{
    struct recovery *recovery = container_of(job, struct recovery, cleanup_job);

    while (recovery->first) {
        struct vidmm_allocation *allocation = recovery->first;

        recovery->first = allocation->next_reset;
        allocation->next_reset = NULL;
        allocation->is_reset = false;
        allocation_cleaned_up(allocation);
    }
    recovery->last = NULL;
}

static const struct job_ops cleanup_ops = {.kind = JOB_OF_RECOVERY,
                                           .name = "clean up",
                                           .next = cleanup_next,
                                           .finished = cleanup_finished};

/* ---- Page tables ----------------------------------------------------------------------------- */

static enum job_step rebuild_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct address_space *space = container_of(job, struct address_space, rebuild_job);
    struct list *link;

    if (job->phase == 0) {
        if (!space->at)
            space->at = space->rebuilt.next;
        if (space->at != &space->rebuilt) {
            page_table_op_initialise(space, container_of(space->at, struct page_table, fresh),
                                     args);
            space->at = space->at->next;
            return JOB_OPERATION;
        }
        space->at = space->rebuilt.next;
        job->phase = 1;
    }
    while (space->at != &space->rebuilt) {
        if (physical_entries_op_next(space, container_of(space->at, struct page_table, fresh),
                                     &job->cursor, args))
            return JOB_OPERATION;
        space->at = space->at->next;
        job->cursor = 0;
    }
    while ((link = list_pop_back(&space->rebuilt)) != NULL) {
        struct page_table *table = container_of(link, struct page_table, fresh);

        if (!table->parent)
            continue;
        page_table_op_link(space, table, args);
        return JOB_OPERATION;
    }
    return JOB_DONE;
}

/*
 * The contexts are still kept from the GPU: they are told before their waiting work runs (PT-009,
 * PT-010).
 */
static void rebuild_finished(struct job *job)
{
    space_set_root(container_of(job, struct address_space, rebuild_job));
}

static const struct job_ops rebuild_ops = {.kind = JOB_OF_RECOVERY,
                                           .name = "tables again",
                                           .next = rebuild_next,
                                           .finished = rebuild_finished};

/* ---- The end --------------------------------------------------------------------------------- */

static enum job_step restored_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    return JOB_DONE;
}

/*
 * Everything that rendering uses is there again; unless a reset has retired the last packet, which
 * takes it once more.
 */
static void restored_finished(struct job *job)
{
    struct vidmm *vidmm = container_of(job, struct vidmm, recovery.restored_job);

    if (vidmm->power.state == POWER_ON && !vidmm->is_removed && !vidmm->recovery.is_silent)
        vidsch_set_gate(vidmm->vidsch, VIDSCH_OPEN);
}

static const struct job_ops restored_ops = {.kind = JOB_OF_RECOVERY,
                                            .name = "restored",
                                            .next = restored_next,
                                            .finished = restored_finished};

/* Content of pages that the manager knows by their numbers only is nowhere else (TDR-011). */
static void lose_physical_pages(struct vidmm *vidmm)
{
    struct vidmm_process *process;
    struct vidmm_device *device;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        if (!physical_entries_show_memory(&process->space))
            continue;
        list_for_each (device, &process->devices, struct vidmm_device, link)
            device_fail(device, "the content of pages that it maps by their numbers was lost");
    }
}

static void rebuild_tables(struct vidmm *vidmm)
{
    struct vidmm_process *process;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        struct address_space *space = &process->space;

        if (!space->root)
            continue;
        space->at = NULL;
        space->rebuild_job.ops = &rebuild_ops;
        paging_queue_add(vidmm, &space->rebuild_job);
    }
}

/* ---- The paging queue after a reset ---------------------------------------------------------- */

void recovery_init(struct vidmm *vidmm)
{
    list_init(&vidmm->recovery.unfinished);
    vidmm->recovery.cleanup_job.ops = &cleanup_ops;
    vidmm->recovery.restored_job.ops = &restored_ops;
}

/* From the state of an allocation, or from that of the whole adapter. */
static bool is_made_anew(const struct job *job)
{
    return job_is_of_allocation(job) || job->ops->kind == JOB_OF_RECOVERY;
}

/*
 * Jobs of allocations are made anew from their states; so are the recovery's own. The others are
 * told before any table is written.
 */
static void sort_unfinished(struct vidmm *vidmm, struct list *unfinished)
{
    struct list *link = unfinished->next;

    while (link != unfinished) {
        struct job *job = container_of(link, struct job, link);

        link = link->next;
        if (notes_are_heard(vidmm))
            note_job_ends(vidmm, job, true);
        if (is_made_anew(job))
            list_remove(&job->link);
        else if (job->ops->restarted)
            job->ops->restarted(job);
    }
}

static void queue_unfinished(struct vidmm *vidmm)
{
    struct list *link;

    while ((link = list_pop_front(&vidmm->recovery.unfinished)) != NULL)
        paging_queue_add(vidmm, container_of(link, struct job, link));
}

/*
 * Jobs that were queued while the tables were gone (by allocations that went with a reset, by calls
 * during a sleep) are treated like aborted ones: the tables that are made anew are those of the
 * end.
 */
static void restart_queued(struct list *jobs)
{
    struct list *link;

    for (link = jobs->next; link != jobs; link = link->next) {
        struct job *job = container_of(link, struct job, link);

        if (!is_made_anew(job) && job->ops->restarted)
            job->ops->restarted(job);
    }
}

void recovery_restore(struct vidmm *vidmm, bool lost_tables)
{
    if (lost_tables) {
        NTSTATUS status;

        restart_queued(&vidmm->queue.ended);
        ASSERT(list_is_empty(&vidmm->queue.debt.jobs));
        restart_queued(&vidmm->queue.jobs);
        status = paging_process_rebuild(vidmm);
        if (NT_SUCCESS(status))
            status = companions_set_root(vidmm);
        if (!NT_SUCCESS(status))
            vidmm_driver_error(vidmm, "PWR-009",
                               "the paging process could not be set up again: 0x%08x",
                               (unsigned)status);
        rebuild_tables(vidmm);
    }
    vidmm->recovery.maps_again = lost_tables;
    native_fences_restore(vidmm);
    for_each_allocation(vidmm, enter_again);
    paging_queue_add(vidmm, &vidmm->recovery.restored_job);
    vidsch_set_gate(vidmm->vidsch, VIDSCH_PAGING_ONLY);
}

void recovery_wake(struct vidmm *vidmm, bool lost_tables)
{
    struct list queued;

    list_init(&queued);
    list_splice(&queued, &vidmm->queue.jobs);
    if (lost_tables)
        restart_queued(&queued);
    recovery_restore(vidmm, lost_tables);
    list_splice(&vidmm->queue.jobs, &queued);
}

/* Asks the driver what it has to say in front of the reset that the cause is of. */
static void tell_before_reset(struct vidmm *vidmm, const struct debug_cause *cause)
{
    debug_info_collect(vidmm, cause, vidmm->recovery.debug_info, sizeof vidmm->recovery.debug_info);
}

/* S-17, steps 3 to 6. */
static void reset_adapter(struct vidmm *vidmm, DXGK_TDR_TYPE type)
{
    const struct debug_cause cause = {.reason = VIDEO_TDR_TIMEOUT_DETECTED, .type = type};
    struct recovery *recovery = &vidmm->recovery;
    const DXGKARG_BUILDPAGINGBUFFER *unseen;
    struct vidmm_allocation *subject;
    NTSTATUS status;

    vidmm->statistics.adapter_resets++;
    recovery->faulted_nodes = 0;
    recovery->wants_adapter = false;
    recovery->is_silent = true;
    vidsch_set_gate(vidmm->vidsch, VIDSCH_CLOSED);
    native_fences_rescue(vidmm);
    tell_before_reset(vidmm, &cause);
    status = miniport_reset_from_timeout(vidmm->miniport, NULL);
    if (status != STATUS_SUCCESS)
        vidmm_driver_error(vidmm, "TDR-001", "DxgkDdiResetFromTimeout returned 0x%08x",
                           (unsigned)status);
    native_fences_drop(vidmm);
    scan_out_forget(vidmm, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    vidsch_reset_adapter(vidmm->vidsch, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    requests_end_reached(vidmm); /* before their paging is built anew: the GPU has written that */
    null_contexts_reset(vidmm);
    unseen = paging_queue_unseen(vidmm, &subject);
    if (unseen)
        notice_take_back(subject, unseen);
    paging_queue_reset(vidmm, &recovery->unfinished);
    sort_unfinished(vidmm, &recovery->unfinished);
    for_each_allocation(vidmm, settle_allocation);

    /* As much of the clean-up as buffers hold is built while the GPU is silent. */
    recovery->at = recovery->first;
    paging_queue_add(vidmm, &recovery->cleanup_job);
    paging_queue_run(vidmm);
    status = miniport_restart_from_timeout(vidmm->miniport, NULL);
    if (status != STATUS_SUCCESS)
        vidmm_driver_error(vidmm, "TDR-005", "DxgkDdiRestartFromTimeout returned 0x%08x",
                           (unsigned)status);
    recovery->is_silent = false;

    if (vidmm->power.state != POWER_ON && vidmm->power.state != POWER_SUSPENDING)
        vidmm->power.state = POWER_DRAINING; /* once more */
    recovery_restore(vidmm, vidmm->caps.has_page_tables);
    lose_physical_pages(vidmm);
    queue_unfinished(vidmm);
}

/* ---- One engine ------------------------------------------------------------------------------ */

static bool can_reset_engines(const struct vidmm *vidmm)
{
    return vidmm->caps.resets_engines && !vidmm->config.resets_whole_adapter;
}

/* False: it takes the whole adapter. */
static bool reset_engines(struct vidmm *vidmm, unsigned node, DXGK_TDR_TYPE type)
{
    const struct debug_cause cause = {.reason = VIDEO_ENGINE_TIMEOUT_DETECTED,
                                      .type = type,
                                      .has_node = type == DXGK_TDR_TYPE_ENGINE_TIMEOUT,
                                      .node = node};
    DXGKARG_QUERYDEPENDENTENGINEGROUP group = {0};
    DXGKARG_QUERYENGINESTATUS engine = {0};
    uint64_t mask = UINT64_C(1) << node;
    bool is_enough = true;
    unsigned i;

    if (!can_reset_engines(vidmm))
        return false;
    group.NodeOrdinal = engine.NodeOrdinal = node;
    if (NT_SUCCESS(miniport_query_dependent_engine_group(vidmm->miniport, NULL, &group)))
        mask |= group.DependentNodeOrdinalMask;
    if (miniport_query_engine_status(vidmm->miniport, NULL, &engine) != STATUS_SUCCESS)
        vidmm_driver_error(vidmm, "TDR-013", "DxgkDdiQueryEngineStatus failed for node %u", node);
    tell_before_reset(vidmm, &cause);
    for (i = 0; i < vidmm->caps.node_count; i++) {
        bool hit_paging = false;

        if (!(mask >> i & 1))
            continue;
        vidmm->recovery.faulted_nodes &= ~(UINT64_C(1) << i);
        vidmm->statistics.engine_resets++;
        if (!NT_SUCCESS(vidsch_has_queues(vidmm->vidsch, i)
                            ? vidsch_reset_hw_engine(vidmm->vidsch, i)
                            : vidsch_reset_engine(vidmm->vidsch, i,
                                                  STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE,
                                                  &hit_paging)))
            is_enough = false;
        if (hit_paging) /* TDR-009 */
            is_enough = false;
    }
    return is_enough;
}

static void begin_recovery(struct vidmm *vidmm)
{
    ASSERT(!vidmm->recovery.is_under_way);
    vidmm->callback_depth++;
    vidmm->recovery.is_under_way = true;
    vidmm->recovery.blames_owners = true;
}

/* An engine that was reset may have signalled a fence, and its interrupt went with the reset. */
static void end_recovery(struct vidmm *vidmm)
{
    vidmm->recovery.is_under_way = false;
    vidmm->recovery.blames_owners = false;
    native_fences_rescan(vidmm);
    vidmm->callback_depth--;
}

/* Notes one time-out more; true: it is one too many. */
static bool is_beyond_limit(struct vidmm *vidmm)
{
    const struct vidmm_config *config = &vidmm->config;
    uint64_t *oldest;
    bool is_beyond;

    vidmm->statistics.timeouts++;
    if (!config->timeout_limit)
        return false;
    oldest = &vidmm->recovery.time_outs[vidmm->statistics.timeouts % config->timeout_limit];
    is_beyond = vidmm->statistics.timeouts > config->timeout_limit &&
                vidmm->recovery.now_ns - *oldest < config->timeout_window_ns;
    *oldest = vidmm->recovery.now_ns;
    return is_beyond;
}

/* The GPU is silenced, so that it writes to no page that is given back, and stays so. */
static void end_adapter(struct vidmm *vidmm, unsigned node)
{
    const struct vidmm_events *events = &vidmm->config.events;

    vidmm_driver_error(vidmm, "TDR-012",
                       "node %u has timed out, for the %uth time within %llu ms; %u are suffered. "
                       "Windows stops with bug check 0x116",
                       node, vidmm->config.timeout_limit + 1,
                       (unsigned long long)(vidmm->config.timeout_window_ns / 1000000),
                       vidmm->config.timeout_limit);
    miniport_reset_from_timeout(vidmm->miniport, NULL);
    removal_give_up(vidmm, "its adapter timed out too often");
    if (events->adapter_ended)
        events->adapter_ended(events->context);
}

/*
 * A reset is alone in the driver (TDR-002). When a call of the driver waits for an update, which
 * may be among the work that does not end, the wait ends, the call returns, and the watchdog's next
 * look finds the node, or the fault, as it is.
 */
static bool put_off(struct vidmm *vidmm)
{
    vidmm->recovery.is_put_off |= context_updates_end_waits(vidmm);
    return vidmm->recovery.is_put_off;
}

bool recovery_timed_out(void *context, unsigned node)
{
    struct vidmm *vidmm = context;

    if (put_off(vidmm))
        return false;
    if (is_beyond_limit(vidmm)) {
        end_adapter(vidmm, node);
        return true;
    }
    begin_recovery(vidmm);
    if (!reset_engines(vidmm, node, DXGK_TDR_TYPE_ENGINE_TIMEOUT)) {
        vidmm->recovery.blames_owners = list_is_empty(&vidmm->recovery.unfinished);
        reset_adapter(vidmm, can_reset_engines(vidmm) ? DXGK_TDR_TYPE_ENGINE_TIMEOUT_PROMOTED
                                                      : DXGK_TDR_TYPE_PREEMPT_TIMEOUT);
    }
    end_recovery(vidmm);
    return true;
}

/* ---- Faults of the GPU ----------------------------------------------------------------------- */

void recovery_note_fault(struct vidmm *vidmm, unsigned node,
                         const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data,
                         const struct vidsch_packet *packet)
{
    struct recovery *recovery = &vidmm->recovery;

    if ((packet && packet->is_paging) || !vidsch_fault_needs_reset(data))
        return;
    if (data->DmaPageFaulted.PageFaultFlags & DXGK_PAGE_FAULT_ADAPTER_RESET_REQUIRED)
        recovery->wants_adapter = true;
    else
        recovery->faulted_nodes |= UINT64_C(1) << node;
}

/* The reset of an engine may be that of others too, on which a fault waits for one as well. */
static bool reset_faulted(struct vidmm *vidmm)
{
    struct recovery *recovery = &vidmm->recovery;

    while (recovery->faulted_nodes && !recovery->wants_adapter) {
        unsigned node = ctz_u64(recovery->faulted_nodes);

        if (!reset_engines(vidmm, node, DXGK_TDR_TYPE_ENGINE_PAGE_FAULT))
            return false;
    }
    return !recovery->wants_adapter;
}

bool recovery_run(struct vidmm *vidmm)
{
    struct recovery *recovery = &vidmm->recovery;

    if (!recovery->faulted_nodes && !recovery->wants_adapter)
        return false;
    if (put_off(vidmm))
        return false;
    begin_recovery(vidmm);
    if (!reset_faulted(vidmm)) {
        recovery->blames_owners = list_is_empty(&recovery->unfinished);
        reset_adapter(vidmm, DXGK_TDR_TYPE_PAGE_FAULT);
    }
    end_recovery(vidmm);
    return true;
}

/* ---- The public side ------------------------------------------------------------------------- */

void vidmm_watch(struct vidmm *vidmm, uint64_t now_ns)
{
    if (!vidmm->vidsch)
        return;
    vidmm->recovery.now_ns = now_ns;
    vidmm->recovery.is_put_off = false;
    vidmm->callback_depth++;
    vidsch_watch(vidmm->vidsch, now_ns);
    vidmm->callback_depth--;
    vidmm_pump(vidmm);
}

void vidmm_query_fences(struct vidmm *vidmm)
{
    if (!vidmm->vidsch || vidmm->is_removed || vidmm->power.state != POWER_ON)
        return;
    vidmm->callback_depth++;
    for (unsigned i = 0; i < vidmm->caps.node_count; i++)
        vidsch_query_fence(vidmm->vidsch, i);
    vidmm->callback_depth--;
    vidmm_pump(vidmm);
}

unsigned vidmm_node_count(const struct vidmm *vidmm)
{
    return vidmm->caps.node_count;
}

NTSTATUS vidmm_preempt(struct vidmm *vidmm, unsigned node)
{
    bool is_sent;

    if (node >= vidmm->caps.node_count)
        return STATUS_INVALID_PARAMETER;
    if (vidmm->is_removed)
        return vidmm->refusal;
    if (vidmm->power.state == POWER_OFF || vidmm->power.state == POWER_EXCLUSIVE)
        return STATUS_DEVICE_BUSY;
    vidmm->callback_depth++;
    is_sent = vidsch_preempt(vidmm->vidsch, node);
    vidmm->statistics.preemptions += is_sent;
    vidmm->callback_depth--;
    vidmm_pump(vidmm);
    return is_sent ? STATUS_SUCCESS : STATUS_DEVICE_BUSY;
}

void vidmm_reset(struct vidmm *vidmm)
{
    if (vidmm->is_removed || vidmm->power.state == POWER_EXCLUSIVE)
        return;
    begin_recovery(vidmm);
    vidmm->recovery.blames_owners = false;
    reset_adapter(vidmm, DXGK_TDR_TYPE_FORCED);
    end_recovery(vidmm);
    vidmm_pump(vidmm);
}
