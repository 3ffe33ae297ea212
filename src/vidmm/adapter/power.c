/*
 * Power: everything that a sleep would take leaves, and comes back.
 *
 *     DRAINING   rendering is held back; work of the GPU and of the paging queue ends
 *     PURGING    memory that the sleep does not keep is emptied: by a transfer, by UNMAP; offered
 * content is dropped (PWR-011). Who is held or used keeps the place and is parked TABLES     page
 * tables that the sleep does not keep are told of (NotifyEviction) OFF        after SetPowerState;
 * nothing is built, nothing runs (PWR-007) ON         the paging process's tables are written anew,
 * then all others, then parked allocations enter; mappings of the kept ones are written again. The
 * rest comes back on demand
 *
 * Whether a segment keeps its memory is told by its flags for this kind of sleep (PWR-001..003).
 * One that hibernation keeps in part keeps allocations that end at or before SystemMemoryEndAddress
 * (PWR-004, PWR-005; config.keeps_straddling: that begin there). Aperture slots are kept by
 * nothing.
 *
 * Source     contract.md PWR-001..011, PT-037; sequence S-16.
 */
#include "vidmm/adapter/power.h"

#include "vidmm/adapter/components.h"
#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/exclusive_access.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/adapter/recovery.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_paging.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/views/host_aperture.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/native_fence.h"
#include "vidmm/paging/paging_aperture.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/residency/scan_out.h"
#include "vidmm/work/null_context.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/bits.h"
#include "base/list.h"
#include "miniport/miniport.h"
#include "vidsch/vidsch.h"

#define ADAPTER_ID UINT32_MAX /* DISPLAY_ADAPTER_HW_ID: not one of the adapter's children */

/* ---- Kept memory ----------------------------------------------------------------------------- */

/* How many bytes of the segment, from its start, outlive the sleep. */
static uint64_t kept_bytes(const struct segment *segment, enum vidmm_sleep sleep)
{
    DXGK_SEGMENTFLAGS flags;

    if (segment->kind == SEGMENT_SYSTEM)
        return UINT64_MAX;
    if (segment->kind == SEGMENT_APERTURE)
        return 0;
    flags.Value = segment->caps->flags;
    if (sleep != VIDMM_SLEEP_HIBERNATE)
        return flags.PreservedDuringStandby ? UINT64_MAX : 0;
    if (flags.PreservedDuringHibernate)
        return UINT64_MAX;
    return flags.PartiallyPreservedDuringHibernate ? segment->caps->system_memory_end + 1 : 0;
}

static bool is_kept(struct vidmm_allocation *allocation, enum vidmm_sleep sleep)
{
    uint64_t kept = kept_bytes(allocation->place.segment, sleep);
    uint64_t page_count = segment_page_count(allocation->place.segment, allocation);
    uint64_t page = 0;

    if (kept == 0 || kept == UINT64_MAX)
        return kept != 0;
    if (allocation->vidmm->config.keeps_straddling)
        return segment_page_offset(allocation, 0) < kept;
    while (page < page_count) {
        uint64_t offset;
        uint64_t run = segment_run(allocation, page, &offset);

        if (offset + PAGE_BYTES_OF(min_u64(run, page_count - page)) > kept)
            return false;
        page += run;
    }
    return true;
}

static bool loses_tables(struct vidmm *vidmm, enum vidmm_sleep sleep)
{
    unsigned level;

    if (!vidmm->caps.has_page_tables)
        return false;
    for (level = 0; level < vidmm->caps.level_count; level++) {
        const struct vidmm_level_caps *caps = &vidmm->caps.levels[level];

        if (kept_bytes(segment_by_id(vidmm, caps->segment), sleep) != UINT64_MAX ||
            kept_bytes(segment_by_id(vidmm, caps->paging_segment), sleep) != UINT64_MAX)
            return true;
    }
    return false;
}

/* ---- Going down ------------------------------------------------------------------------------ */

void power_end(struct vidmm *vidmm, enum power_state state, NTSTATUS status)
{
    struct power *power = &vidmm->power;
    vidmm_done done = power->done;

    power->state = state;
    power->done = NULL;
    if (done)
        done(power->context, status, 0, 0);
}

/* False, and why, when it cannot leave. */
static bool purge(struct vidmm_allocation *allocation)
{
    struct power *power = &allocation->vidmm->power;

    if (allocation->state != ALLOCATION_RESIDENT)
        return true;
    if (allocation_is_dead(allocation)) { /* behind one that work which waits will use */
        allocation_die(allocation);
        return true;
    }
    if (is_kept(allocation, power->sleep))
        return true;
    if (allocation->is_offered && allocation_is_idle(allocation) && !allocation->uses)
        allocation_drop(allocation);
    else if (allocation_holds(allocation) || !allocation_is_idle(allocation))
        power->status = allocation_park(allocation);
    else
        power->status = allocation_leave(allocation, "power");
    return NT_SUCCESS(power->status);
}

static void for_each_allocation(struct vidmm *vidmm, bool (*function)(struct vidmm_allocation *))
{
    struct vidmm_process *process;
    struct vidmm_device *device;
    struct vidmm_allocation *allocation, *following;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        list_for_each (device, &process->devices, struct vidmm_device, link) {
            list_for_each_safe (allocation, following, &device->allocations,
                                struct vidmm_allocation, device_link) {
                if (!function(allocation))
                    return;
            }
        }
    }
}

static enum job_step farewell_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct address_space *space = container_of(job, struct address_space, rebuild_job);
    struct list *link = list_pop_front(&space->rebuilt);

    if (!link)
        return JOB_DONE;
    page_table_op_farewell(space, container_of(link, struct page_table, fresh), args);
    return JOB_OPERATION;
}

static void farewell_finished(struct job *job)
{
}

static const struct job_ops farewell_ops = {
    .kind = JOB_OF_RECOVERY, .name = "sleep", .next = farewell_next, .finished = farewell_finished};

static void tell_of_tables(struct vidmm *vidmm)
{
    struct vidmm_process *process;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        struct address_space *space = &process->space;

        page_tables_collect(space, &space->rebuilt);
        if (list_is_empty(&space->rebuilt))
            continue;
        space->rebuild_job.ops = &farewell_ops;
        paging_queue_add(vidmm, &space->rebuild_job);
    }
}

static POWER_ACTION action_of(enum vidmm_sleep sleep)
{
    switch (sleep) {
    case VIDMM_SLEEP_STANDBY:
        return PowerActionSleep;
    case VIDMM_SLEEP_HIBERNATE:
        return PowerActionHibernate;
    case VIDMM_SLEEP_D3:
        break;
    }
    return PowerActionNone;
}

static void set_power(struct vidmm *vidmm, DEVICE_POWER_STATE state, POWER_ACTION action)
{
    NTSTATUS status = miniport_set_power_state(vidmm->miniport, ADAPTER_ID, state, action);

    if (!NT_SUCCESS(status))
        vidmm_driver_error(vidmm, "PWR-008", "DxgkDdiSetPowerState(%u) returned 0x%08x",
                           (unsigned)state, (unsigned)status);
}

/* Allocations that have left already come back, and all goes on as before. */
static void give_up(struct vidmm *vidmm)
{
    NTSTATUS status = vidmm->power.status;

    recovery_restore(vidmm, false);
    power_end(vidmm, POWER_ON, status);
}

bool power_run(struct vidmm *vidmm)
{
    struct power *power = &vidmm->power;

    if (power->state == POWER_ON || power->state == POWER_OFF || power->state == POWER_EXCLUSIVE ||
        vidmm->root_calls || !paging_queue_may_sleep(vidmm) || !components_may_sleep(vidmm) ||
        !vidsch_is_drained(vidmm->vidsch))
        return false;
    switch (power->state) {
    case POWER_DRAINING:
        power->status = STATUS_SUCCESS;
        power->state = POWER_PURGING;
        native_fences_leave(vidmm, NULL);
        for_each_allocation(vidmm, purge);
        break;
    case POWER_PURGING:
        if (!NT_SUCCESS(power->status)) {
            give_up(vidmm);
            break;
        }
        power->state = POWER_TABLES;
        if (loses_tables(vidmm, power->sleep))
            tell_of_tables(vidmm);
        break;
    case POWER_SUSPENDING:
        exclusive_access_open(vidmm);
        break;
    default:
        if (null_contexts_leave_paging(vidmm))
            break;
        vidsch_set_gate(vidmm->vidsch, VIDSCH_CLOSED);
        host_apertures_close(vidmm);
        paging_aperture_unmap(vidmm);
        set_power(vidmm, PowerDeviceD3, action_of(power->sleep));
        power_end(vidmm, POWER_OFF, STATUS_SUCCESS);
        break;
    }
    return true;
}

NTSTATUS vidmm_power_down(struct vidmm *vidmm, enum vidmm_sleep sleep, vidmm_done done,
                          void *context)
{
    if (vidmm->power.state != POWER_ON)
        return STATUS_INVALID_DEVICE_STATE;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    scan_out_hide(vidmm);
    vidmm->power.state = POWER_DRAINING;
    vidmm->power.sleep = sleep;
    vidmm->power.done = done;
    vidmm->power.context = context;
    vidsch_set_gate(vidmm->vidsch, VIDSCH_PAGING_ONLY);
    vidmm_pump(vidmm);
    return STATUS_SUCCESS;
}

/* ---- Coming back ----------------------------------------------------------------------------- */

NTSTATUS vidmm_power_up(struct vidmm *vidmm)
{
    struct vidmm_failure failure = {0};

    if (vidmm->power.state != POWER_OFF)
        return STATUS_INVALID_DEVICE_STATE;
    vidmm->callback_depth++;
    set_power(vidmm, PowerDeviceD0, PowerActionNone);
    if (!NT_SUCCESS(paging_aperture_map(vidmm, &failure)))
        vidmm_driver_error(vidmm, failure.rule, "%s", failure.text);
    host_apertures_open(vidmm);
    recovery_wake(vidmm, loses_tables(vidmm, vidmm->power.sleep));
    vidmm->power.state = POWER_ON;
    vidmm->callback_depth--;
    vidmm_pump(vidmm);
    return STATUS_SUCCESS;
}
