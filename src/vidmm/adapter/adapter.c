/*
 * Adapter: start and stop, the callbacks in, and the table of the steps that the pump drives.
 */
#include "vidmm/adapter/pump.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/adapter/components.h"
#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/power.h"
#include "vidmm/adapter/recovery.h"
#include "vidmm/mappings/tile.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/views/aperture.h"
#include "vidmm/views/iommu.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/monitored_fence.h"
#include "vidmm/paging/native_fence.h"
#include "vidmm/work/hw_queue.h"
#include "vidmm/paging/paging_aperture.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/policy.h"
#include "vidmm/residency/ahead.h"
#include "vidmm/residency/residency.h"
#include "vidmm/residency/scan_out.h"
#include "vidmm/work/node_count.h"
#include "vidmm/work/null_context.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/memory/handles.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/node_pool.h"
#include "base/services.h"
#include "vidsch/vidsch.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_PAGING_BUFFERS       4
#define DEFAULT_HARDWARE_QUEUE_DEPTH 2
#define MAX_TRANSFER_BYTES           (1 * GiB)
#define DEFAULT_TIMEOUT_WINDOW_NS    UINT64_C(60000000000) /* TdrLimitTime */

/* Everything that goes on by itself, in the order in which the pump asks. */
static const struct pump_step pump_steps[] = {
    {recovery_run, ~(1u << POWER_OFF | 1u << POWER_EXCLUSIVE)},
    {allocations_bury, 1u << POWER_ON | 1u << POWER_DRAINING},
    {tile_updates_run, 1u << POWER_ON},
    {paging_queue_run, ~(1u << POWER_OFF | 1u << POWER_EXCLUSIVE)},
    {residency_run, 1u << POWER_ON},
    {ahead_run, 1u << POWER_ON},
    {native_fences_run, 1u << POWER_ON},
    {scan_out_run, 1u << POWER_ON},
    {components_run, ~(1u << POWER_OFF | 1u << POWER_EXCLUSIVE)},
    {power_run, ~0u},
    {NULL, 0},
};

static void scheduler_error(void *context, const char *rule, const char *text)
{
    vidmm_driver_error(context, rule, "%s", text);
}

static void scheduler_page_fault(void *context, unsigned node,
                                 const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data,
                                 const struct vidsch_packet *packet)
{
    struct vidmm *vidmm = context;

    vidmm->statistics.page_faults++;
    recovery_note_fault(vidmm, node, data, packet);
    if (vidmm->config.events.page_fault)
        vidmm->config.events.page_fault(vidmm->config.events.context, node, data);
}

const char *vidmm_version(void)
{
    return DRYDOCK_VERSION;
}

NTSTATUS vidmm_create_sized(struct miniport *miniport, const struct vidmm_config *config,
                            size_t config_bytes, struct vidmm **out_vidmm)
{
    struct vidmm *vidmm;

    *out_vidmm = NULL;
    if (config_bytes != sizeof *config)
        return STATUS_REVISION_MISMATCH;
    vidmm = base_alloc(config->platform.services, sizeof *vidmm);
    if (!vidmm)
        return STATUS_NO_MEMORY;
    vidmm->miniport = miniport;
    vidmm->config = *config;
    vidmm->services = config->platform.services;
    node_pool_init(&vidmm->allocation_pool, vidmm->services, sizeof(struct vidmm_allocation),
                   CACHE_LINE);
    if (!vidmm->config.paging_buffer_count)
        vidmm->config.paging_buffer_count = DEFAULT_PAGING_BUFFERS;
    if (!vidmm->config.hardware_queue_depth)
        vidmm->config.hardware_queue_depth = DEFAULT_HARDWARE_QUEUE_DEPTH;
    if (!vidmm->config.transfer_bytes || vidmm->config.transfer_bytes > MAX_TRANSFER_BYTES)
        vidmm->config.transfer_bytes = MAX_TRANSFER_BYTES;
    vidmm->notes.is_heard = vidmm->config.events.told != NULL;
    vidmm->notes.tell_samples = residency_tell_samples;
    vidmm->config.transfer_bytes = align_up(vidmm->config.transfer_bytes, PAGE_BYTES);
    if (!vidmm->config.scratch_bytes)
        vidmm->config.scratch_bytes = VIDMM_DEFAULT_SCRATCH_BYTES;
    if (vidmm->config.timeout_limit > VIDMM_MAX_TIMEOUT_LIMIT)
        vidmm->config.timeout_limit = VIDMM_MAX_TIMEOUT_LIMIT;
    if (!vidmm->config.policy)
        vidmm->config.policy = &vidmm_policy_lru;
    if (!vidmm->config.timeout_window_ns)
        vidmm->config.timeout_window_ns = DEFAULT_TIMEOUT_WINDOW_NS;
    list_init(&vidmm->requests);
    list_init(&vidmm->signalling);
    reference_lists_init(&vidmm->reference_lists);
    list_init(&vidmm->submissions);
    list_init(&vidmm->dying);
    list_init(&vidmm->tile_updates);
    list_init(&vidmm->waiting_updates);
    for (unsigned i = 0; i < OFFER_CLASSES; i++)
        list_init(&vidmm->offered[i]);
    list_init(&vidmm->processes);
    list_init(&vidmm->queue.jobs);
    forecast_init(vidmm);
    recovery_init(vidmm);
    vidmm->pump_steps = pump_steps;
    native_fences_init(vidmm);
    *out_vidmm = vidmm;
    return STATUS_SUCCESS;
}

/* Everything that vidmm_start() built, in reverse; each part tolerates not having been reached. */
static void tear_down(struct vidmm *vidmm)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;

    components_fini(vidmm);
    paging_process_fini(vidmm);
    native_fences_fini(vidmm);
    monitored_fences_fini(vidmm);
    paging_queue_fini(vidmm);
    scheduling_logs_fini(vidmm);
    list_init(&vidmm->queue.jobs);
    base_free_array(vidmm->services, vidmm->entries, vidmm->entry_capacity, sizeof *vidmm->entries);
    base_free_array(vidmm->services, vidmm->immediate_entries, vidmm->entry_capacity,
                    sizeof *vidmm->immediate_entries);
    vidmm->entries = vidmm->immediate_entries = NULL;
    vidmm->entry_capacity = 0;
    forecast_fini(vidmm);
    node_pool_fini(&vidmm->allocation_pool);
    handles_fini(vidmm);
    if (vidmm->dummy_page)
        platform->release_pages(platform->context, 1, &vidmm->dummy_page);
    vidmm->dummy_page = 0;
    segments_fini(vidmm);
    null_contexts_fini(vidmm);
    vidsch_destroy(vidmm->vidsch);
    vidmm->vidsch = NULL;
    node_counts_fini(vidmm);
    vidmm_caps_fini(vidmm->services, &vidmm->caps);
    vidmm->is_started = false;
}

static void fail_start(struct vidmm_failure *failure, const char *what, NTSTATUS status)
{
    if (!failure->text[0])
        snprintf(failure->text, sizeof failure->text, "%s failed with status 0x%08x", what,
                 (unsigned)status);
}

NTSTATUS vidmm_start(struct vidmm *vidmm, struct vidmm_failure *failure)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;
    const struct vidmm_caps_extra extra = {paging_queue_create_context, vidmm};
    struct vidsch_config scheduler = {0};
    const char *what = "asking the driver for its caps";
    NTSTATUS status;

    memset(failure, 0, sizeof *failure);
    ASSERT(!vidmm->is_started);
    status =
        vidmm_caps_query(vidmm->miniport, vidmm->services, platform,
                         vidmm->config.starts_as_observed ? &extra : NULL, &vidmm->caps, failure);
    if (!NT_SUCCESS(status))
        goto fail;

    if (platform->device_page && !(vidmm->config.early.can_remap && vidmm->caps.maps_aperture2)) {
        snprintf(failure->rule, sizeof failure->rule, "ADL-001");
        snprintf(
            failure->text, sizeof failure->text,
            "the IOMMU remaps, but DRIVERCAPS.MemoryManagementCaps.MapAperture2Supported is %d "
            "and IOMMU_CAPS.DmaRemappingSupported is %d; expected both",
            vidmm->caps.maps_aperture2, vidmm->config.early.can_remap);
        status = STATUS_NOT_SUPPORTED;
        goto fail;
    }

    if (vidmm->caps.has_native_fences && !vidmm->config.native_fences) {
        snprintf(failure->rule, sizeof failure->rule, "FENCE-015");
        snprintf(failure->text, sizeof failure->text,
                 "DRIVERCAPS.SchedulingCaps.NativeGpuFence is 1; expected 0: native fences are not "
                 "enabled");
        status = STATUS_INVALID_PARAMETER;
        goto fail;
    }

    what = "reaching the IOMMU that the driver's IoMmuSupported asks for";
    status = iommu_check(vidmm);
    if (!NT_SUCCESS(status))
        goto fail;

    what = "creating the scheduler";
    status = node_counts_init(vidmm);
    if (!NT_SUCCESS(status))
        goto fail;
    scheduler.node_count = vidmm->caps.node_count;
    scheduler.hardware_queue_depth = vidmm->config.hardware_queue_depth;
    scheduler.timeout_ns = vidmm->config.timeout_ns;
    scheduler.ids_before_wrap = vidmm->config.ids_before_wrap;
    hw_queues_configure(vidmm, &scheduler);
    vidmm->scheduler_events.context = vidmm;
    vidmm->scheduler_events.driver_error = scheduler_error;
    vidmm->scheduler_events.page_fault = scheduler_page_fault;
    vidmm->scheduler_events.timed_out = recovery_timed_out;
    vidmm->scheduler_events.told = node_counts_told;
    status = vidsch_create(vidmm->services, vidmm->miniport, &scheduler, &vidmm->scheduler_events,
                           &vidmm->vidsch);
    if (!NT_SUCCESS(status))
        goto fail;

    what = "asking for hardware queues";
    status = hw_queues_init(vidmm, failure);
    if (!NT_SUCCESS(status))
        goto fail;

    what = "setting up the segments";
    status = segments_init(vidmm);
    if (!NT_SUCCESS(status))
        goto fail;
    status = platform->take_pages(platform->context, 1, &vidmm->dummy_page);
    if (!NT_SUCCESS(status)) {
        vidmm->dummy_page = 0;
        goto fail;
    }

    what = "creating the paging buffers and the system context";
    status = paging_queue_init(vidmm);
    if (NT_SUCCESS(status))
        status = null_contexts_init(vidmm);
    if (NT_SUCCESS(status))
        status = paging_aperture_map(vidmm, failure);
    if (!NT_SUCCESS(status))
        goto fail;

    if (vidmm->caps.has_page_tables) {
        unsigned level;

        what = "setting up the paging process";
        for (level = 0; level < vidmm->caps.level_count; level++) {
            if (page_table_entries(vidmm, level) > vidmm->entry_capacity)
                vidmm->entry_capacity = page_table_entries(vidmm, level);
        }
        vidmm->entries =
            base_alloc_array(vidmm->services, vidmm->entry_capacity, sizeof *vidmm->entries);
        vidmm->immediate_entries = base_alloc_array(vidmm->services, vidmm->entry_capacity,
                                                    sizeof *vidmm->immediate_entries);
        status = STATUS_NO_MEMORY;
        if (vidmm->entries && vidmm->immediate_entries)
            status = paging_process_init(vidmm);
        if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
            snprintf(failure->text, sizeof failure->text,
                     "the page tables of the paging process do not fit: they take up to %llu KiB, "
                     "and segment %u has %llu KiB",
                     (unsigned long long)(paging_process_bytes(vidmm) / 1024),
                     vidmm->caps.levels[0].paging_segment,
                     (unsigned long long)(segment_by_id(vidmm, vidmm->caps.levels[0].paging_segment)
                                              ->caps->size /
                                          1024));
        if (!NT_SUCCESS(status))
            goto fail;
    }
    what = "asking for the power components";
    status = components_init(vidmm);
    if (!NT_SUCCESS(status))
        goto fail;
    scheduling_logs_open(vidmm);
    vidmm->is_started = true;
    return STATUS_SUCCESS;

fail:
    fail_start(failure, what, status);
    tear_down(vidmm);
    return status;
}

void vidmm_stop(struct vidmm *vidmm)
{
    ASSERT(list_is_empty(&vidmm->processes));
    ASSERT(vidmm_is_idle(vidmm));
    tear_down(vidmm);
}

void vidmm_destroy(struct vidmm *vidmm)
{
    if (!vidmm)
        return;
    ASSERT(!vidmm->is_started);
    base_free(vidmm->services, vidmm, sizeof *vidmm);
}

void vidmm_notify_interrupt(struct vidmm *vidmm, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    if (vidmm->vidsch)
        vidsch_notify_interrupt(vidmm->vidsch, data);
    monitored_fences_interrupted(vidmm, data);
    scan_out_interrupted(vidmm, data);
    scheduling_logs_interrupted(vidmm, data);
}

void vidmm_notify_dpc(struct vidmm *vidmm)
{
    if (!vidmm->vidsch)
        return;
    vidmm->callback_depth++;
    vidsch_notify_dpc(vidmm->vidsch);
    requests_rescan(vidmm);
    native_fences_rescan(vidmm);
    scan_out_rescan(vidmm);
    scheduling_logs_rescan(vidmm);
    vidmm->callback_depth--;
    vidmm_pump(vidmm);
}

bool vidmm_is_idle(const struct vidmm *vidmm)
{
    return list_is_empty(&vidmm->requests) && !vidmm->doomed_count && paging_queue_is_idle(vidmm) &&
           components_are_settled(vidmm) && (!vidmm->vidsch || vidsch_is_idle(vidmm->vidsch));
}

void vidmm_abort(struct vidmm *vidmm, NTSTATUS status)
{
    if (!vidmm->vidsch)
        return;
    vidmm->callback_depth++;
    vidsch_abort(vidmm->vidsch, status);
    vidmm->callback_depth--;
    vidmm_pump(vidmm);
}

bool vidmm_is_virtual(const struct vidmm *vidmm)
{
    return vidmm->caps.is_virtual;
}

bool vidmm_has_page_tables(const struct vidmm *vidmm)
{
    return vidmm->caps.has_page_tables;
}

void vidmm_paging_buffers(const struct vidmm *vidmm, unsigned *out_count, uint32_t *out_bytes)
{
    *out_count = vidmm->queue.buffer_count;
    *out_bytes = (uint32_t)vidmm->queue.buffers[0].bytes;
}

uint64_t vidmm_save_area_bytes(const struct vidmm *vidmm)
{
    return vidmm->caps.save_area_bytes;
}

unsigned vidmm_segment_count(const struct vidmm *vidmm)
{
    return vidmm->caps.segment_count;
}

void vidmm_segment_info(const struct vidmm *vidmm, unsigned id, struct vidmm_segment_info *info)
{
    const struct segment *segment;

    memset(info, 0, sizeof *info);
    if (id == 0 || id > vidmm->caps.segment_count)
        return;
    segment = &vidmm->segments[id - 1];
    info->id = id;
    info->is_aperture = segment->kind == SEGMENT_APERTURE;
    info->base = segment->caps->base;
    info->size = segment->size;
    info->used = segment->used;
    info->peak_used = segment->peak_used;
    info->allocation_count = segment->allocation_count;
}

const struct vidmm_statistics *vidmm_statistics(const struct vidmm *vidmm)
{
    return &vidmm->statistics;
}
