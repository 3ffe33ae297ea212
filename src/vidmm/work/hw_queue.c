/*
 * Hardware queues.
 *
 * Source     contract.md HWQ-001..HWQ-015.
 */
#include "vidmm/work/hw_queue.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/mappings/mapping.h"
#include "vidmm/memory/handles.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/tables/address_space.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/views/aperture.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/device.h"
#include "vidmm/work/dma_buffer.h"
#include "vidmm/work/scheduling_log.h"
#include "vidmm/work/submission.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/range_allocator.h"
#include "base/services.h"
#include "vidsch/vidsch.h"

#include <stdio.h>
#include <string.h>

/* ---- Nodes ----------------------------------------------------------------------------------- */

static bool has_functions(struct miniport *miniport)
{
    return miniport_has(miniport, MINIPORT_DDI_CreateHwQueue) &&
           miniport_has(miniport, MINIPORT_DDI_DestroyHwQueue) &&
           miniport_has(miniport, MINIPORT_DDI_SubmitCommandToHwQueue);
}

/* ---- Priorities ------------------------------------------------------------------------------ */

#define MICROSECOND UINT64_C(10) /* in the units of the DDI, 100 ns */

/* Of the idle band no grace counts; real time is not kept waiting. */
static const DXGKARG_SETUPPRIORITYBANDS bands = {
    .gracePeriodForBand = {[DXGK_SCHEDULING_PRIORITY_BAND_NORMAL] = 500 * MICROSECOND,
                           [DXGK_SCHEDULING_PRIORITY_BAND_FOCUS] = 250 * MICROSECOND},
    .processQuantumForBand = {[DXGK_SCHEDULING_PRIORITY_BAND_IDLE] = 20000 * MICROSECOND,
                              [DXGK_SCHEDULING_PRIORITY_BAND_NORMAL] = 10000 * MICROSECOND,
                              [DXGK_SCHEDULING_PRIORITY_BAND_FOCUS] = 10000 * MICROSECOND,
                              [DXGK_SCHEDULING_PRIORITY_BAND_REALTIME] = 2000 * MICROSECOND},
    .processGracePeriodForBand = {[DXGK_SCHEDULING_PRIORITY_BAND_IDLE] = 1000 * MICROSECOND,
                                  [DXGK_SCHEDULING_PRIORITY_BAND_NORMAL] = 500 * MICROSECOND,
                                  [DXGK_SCHEDULING_PRIORITY_BAND_FOCUS] = 250 * MICROSECOND},
    .targetNormalBandPercentage = 10,
};

#define CALLS_OF_A_BAND 8 /* submissions of a context, where bands are mixed */

static DXGK_SCHEDULING_PRIORITY_BAND band_of(const struct vidmm *vidmm,
                                             const struct hw_queue *queue)
{
    static const DXGK_SCHEDULING_PRIORITY_BAND mixed[] = {
        DXGK_SCHEDULING_PRIORITY_BAND_NORMAL, DXGK_SCHEDULING_PRIORITY_BAND_FOCUS,
        DXGK_SCHEDULING_PRIORITY_BAND_IDLE, DXGK_SCHEDULING_PRIORITY_BAND_REALTIME};

    return vidmm->config.bands == VIDMM_BANDS_MIXED
               ? mixed[(queue->number + queue->submitted / CALLS_OF_A_BAND) % ARRAY_COUNT(mixed)]
               : DXGK_SCHEDULING_PRIORITY_BAND_NORMAL;
}

/* Levels of real time, and priorities within the process, differ from context to context. */
static NTSTATUS set_scheduling(struct vidmm_context *context)
{
    struct vidmm *vidmm = context->device->vidmm;
    const struct hw_queue *queue = &context->queue;
    const bool is_mixed = vidmm->config.bands == VIDMM_BANDS_MIXED;
    const DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES args = {
        .hContext = context->driver_context,
        .priorityBand = band_of(vidmm, queue),
        .realtimeBandPriorityLevel = is_mixed ? (INT)(queue->number % 32) : 0,
        .inProcessPriority = is_mixed ? (INT)(queue->number % 15) - 7 : 0,
        .quantum = 5000 * MICROSECOND,
        .gracePeriodSamePriority = 500 * MICROSECOND,
        .gracePeriodLowerPriority = 250 * MICROSECOND,
    };

    if (!miniport_has(vidmm->miniport, MINIPORT_DDI_SetContextSchedulingProperties))
        return STATUS_SUCCESS;
    return miniport_set_context_scheduling_properties(vidmm->miniport, NULL, &args);
}

/* A refusal leaves the context as it was scheduled before. */
static void change_scheduling(struct vidmm_context *context)
{
    struct hw_queue *queue = &context->queue;

    if (++queue->submitted % CALLS_OF_A_BAND == 0 &&
        context->device->vidmm->config.bands == VIDMM_BANDS_MIXED)
        set_scheduling(context);
}

NTSTATUS hw_queues_init(struct vidmm *vidmm, struct vidmm_failure *failure)
{
    NTSTATUS status;

    if (!vidmm->config.hardware_queues || !vidmm->caps.has_page_tables ||
        vidmm->caps.interface_version < DXGKDDI_INTERFACE_VERSION_WDDM2_5 ||
        !miniport_has(vidmm->miniport, MINIPORT_DDI_GetNodeMetadata))
        return STATUS_SUCCESS;
    for (unsigned i = 0; i < vidmm->caps.node_count; i++) {
        struct miniport_node node = {.NodeOrdinalAndAdapterIndex = i};
        const DXGK_NODEMETADATA_FLAGS *flags = &node.metadata.Flags;

        if (!NT_SUCCESS(miniport_get_node_metadata(vidmm->miniport, NULL, &node)) ||
            !flags->ContextSchedulingSupported)
            continue;
        if (!has_functions(vidmm->miniport)) {
            snprintf(failure->rule, sizeof failure->rule, "HWQ-014");
            snprintf(failure->text, sizeof failure->text,
                     "DxgkDdiGetNodeMetadata of node %u: Flags.ContextSchedulingSupported is 1; "
                     "expected 0 of a driver without DxgkDdiCreateHwQueue, DxgkDdiDestroyHwQueue "
                     "and DxgkDdiSubmitCommandToHwQueue",
                     i);
            return STATUS_INVALID_PARAMETER;
        }
        if (!flags->RingBufferFenceRelease)
            continue;
        vidmm->queue_nodes |= UINT64_C(1) << i;
        vidsch_limit_node(vidmm->vidsch, i, flags->MaxInFlightHwQueueBuffers);
    }
    status = scheduling_logs_init(vidmm);
    if (!NT_SUCCESS(status) || !vidmm->queue_nodes ||
        !miniport_has(vidmm->miniport, MINIPORT_DDI_SetupPriorityBands))
        return status;
    return miniport_setup_priority_bands(vidmm->miniport, NULL, &bands);
}

void hw_queues_configure(const struct vidmm *vidmm, struct vidsch_config *scheduler)
{
    static const enum vidsch_suspends suspends[] = {
        [VIDMM_SUSPENDS_NONE] = VIDSCH_SUSPENDS_NONE,
        [VIDMM_SUSPENDS_BUSY] = VIDSCH_SUSPENDS_BUSY,
        [VIDMM_SUSPENDS_ALL] = VIDSCH_SUSPENDS_ALL,
    };
    static const enum vidsch_lists lists[] = {
        [VIDMM_LISTS_NONE] = VIDSCH_LISTS_NONE,
        [VIDMM_LISTS_OLDEST] = VIDSCH_LISTS_OLDEST,
        [VIDMM_LISTS_NEWEST] = VIDSCH_LISTS_NEWEST,
    };

    scheduler->suspends = suspends[vidmm->config.suspends];
    scheduler->lists = lists[vidmm->config.lists];
}

bool hw_queues_are_on(const struct vidmm *vidmm, unsigned node)
{
    return vidmm->queue_nodes >> node & 1;
}

/* ---- The page of fences ---------------------------------------------------------------------- */

/* Contexts that were made before run from now on; without the page their work cannot end. */
static void fences_mapped(void *done_context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct vidmm_process *process = done_context;
    struct vidmm_device *device;
    struct vidmm_context *context;

    process->queue_fences.is_mapped = NT_SUCCESS(status);
    process->queue_fences.is_being_mapped = false;
    list_for_each (device, &process->devices, struct vidmm_device, link) {
        list_for_each (context, &device->contexts, struct vidmm_context, link) {
            if (!context->queue.is_held)
                continue;
            if (!NT_SUCCESS(status))
                device_fail(device, "its progress fences could not be mapped");
            context->queue.is_held = false;
            vidsch_context_release(context->scheduler);
        }
    }
}

static NTSTATUS take_page(struct vidmm_process *process)
{
    struct queue_fences *fences = &process->queue_fences;
    const struct vidmm_platform *platform = &process->vidmm->config.platform;
    NTSTATUS status = platform->take_contiguous(platform->context, 1, &fences->first_page);

    if (!NT_SUCCESS(status)) {
        fences->first_page = 0;
        return status;
    }
    fences->cpu =
        platform->map_bus(platform->context, PAGE_BYTES_OF(fences->first_page), PAGE_BYTES);
    if (fences->cpu)
        return STATUS_SUCCESS;
    queue_fences_free(process);
    return STATUS_NO_MEMORY;
}

/*
 * A leaf table's worth of addresses, which mappings of pages by their numbers own: far from those
 * of the client, but not where the root would have to grow for them, and beside the manager's own.
 */
static NTSTATUS take_addresses(struct vidmm_process *process)
{
    const uint64_t leaf = page_table_coverage(process->vidmm, 1);
    const bool grows = process->vidmm->caps.root_is_resizable;
    struct range_request request = {.size = leaf,
                                    .alignment = leaf,
                                    .owner = OWNER_PHYSICAL,
                                    .place = grows ? RANGE_LOWEST : RANGE_HIGHEST};
    uint64_t start, end;

    if (mapping_privileged_range(&process->space, &start, &end)) {
        request.window_low = grows ? end : 0;
        request.window_high = grows ? 0 : start;
    }

    return range_result(
        range_allocator_take(&process->space.ranges, &request, &process->queue_fences.va));
}

/* The page and its addresses stay with the process from the first attempt on. */
static NTSTATUS open_fences(struct vidmm_process *process)
{
    struct queue_fences *fences = &process->queue_fences;
    NTSTATUS status = fences->first_page ? STATUS_SUCCESS : take_page(process);

    return NT_SUCCESS(status) && !fences->va ? take_addresses(process) : status;
}

/* The mapping may end within the call, as it may fail there. */
static NTSTATUS map_fences(struct vidmm_process *process)
{
    struct queue_fences *fences = &process->queue_fences;
    NTSTATUS status;

    if (fences->is_being_mapped)
        return STATUS_SUCCESS;
    fences->is_being_mapped = true;
    status = mapping_map_physical(process, fences->va, 0,
                                  device_page(process->vidmm, fences->first_page), 1, 0,
                                  fences_mapped, process);
    if (!NT_SUCCESS(status))
        fences->is_being_mapped = false;
    return status;
}

void queue_fences_free(struct vidmm_process *process)
{
    struct queue_fences *fences = &process->queue_fences;
    const struct vidmm_platform *platform = &process->vidmm->config.platform;

    if (fences->cpu)
        platform->unmap_bus(platform->context, (void *)fences->cpu, PAGE_BYTES);
    if (fences->first_page)
        platform->release_contiguous(platform->context, 1, fences->first_page);
    fences->cpu = NULL;
    fences->first_page = 0;
}

static bool take_fence(struct vidmm_process *process, struct hw_queue *queue)
{
    struct queue_fences *fences = &process->queue_fences;

    for (unsigned i = 0; i < QUEUE_FENCES; i++) {
        if (fences->taken[i / 64] >> (i % 64) & 1)
            continue;
        fences->taken[i / 64] |= UINT64_C(1) << (i % 64);
        queue->progress = fences->cpu + i;
        queue->progress_va = fences->va + i * sizeof(uint64_t);
        *queue->progress = 0;
        return true;
    }
    return false;
}

static void release_fence(struct vidmm_process *process, struct hw_queue *queue)
{
    size_t index = (size_t)(queue->progress - process->queue_fences.cpu);

    process->queue_fences.taken[index / 64] &= ~(UINT64_C(1) << (index % 64));
    handles_release(process->vidmm, queue->fence);
    queue->progress = NULL;
    queue->fence = 0;
}

/* ---- Queues ---------------------------------------------------------------------------------- */

/* Holds the context until they are mapped. */
static NTSTATUS wait_for_fences(struct vidmm_context *context)
{
    struct vidmm_process *process = context->device->process;
    NTSTATUS status;

    if (process->queue_fences.is_mapped)
        return STATUS_SUCCESS;
    if (!context->queue.is_held) {
        context->queue.is_held = true;
        vidsch_context_hold(context->scheduler);
    }
    status = map_fences(process);
    return NT_SUCCESS(status) ? device_refusal(context->device) : status;
}

NTSTATUS hw_queue_create(struct vidmm_context *context, D3DDDI_CREATEHWQUEUEFLAGS flags,
                         void *private_data, uint32_t private_data_bytes)
{
    struct vidmm_process *process = context->device->process;
    struct hw_queue *queue = &context->queue;
    DXGKARG_CREATEHWQUEUE args = {0};
    NTSTATUS status = open_fences(process);

    if (!NT_SUCCESS(status))
        return status;
    if (!take_fence(process, queue))
        return STATUS_INSUFFICIENT_RESOURCES;
    status = STATUS_NO_MEMORY;
    queue->fence = handles_take(process->vidmm, NULL, NULL);
    if (!queue->fence)
        goto release_fence;
    args.hHwQueue = queue;
    args.Flags = flags;
    args.pPrivateDriverData = private_data;
    args.PrivateDriverDataSize = private_data_bytes;
    args.hHwQueueProgressFence = queue->fence;
    args.HwQueueProgressFenceCPUVirtualAddress = (void *)queue->progress;
    args.HwQueueProgressFenceGPUVirtualAddress = queue->progress_va;
    status = miniport_create_hw_queue(process->vidmm->miniport, context->driver_context, &args);
    if (!NT_SUCCESS(status))
        goto release_fence;
    queue->driver_queue = args.hHwQueue;
    queue->number = process->vidmm->queues_made++;
    vidsch_context_set_handles(context->first->scheduler, context->driver_context, context->first);
    vidsch_context_set_queue(context->scheduler, queue->progress);
    status = set_scheduling(context);
    if (NT_SUCCESS(status))
        status = wait_for_fences(context);
    if (NT_SUCCESS(status))
        return STATUS_SUCCESS;
    hw_queue_destroy(context);
    return status;

release_fence:
    release_fence(process, queue);
    return status;
}

NTSTATUS vidmm_hw_queue_create(struct vidmm_context *context, D3DDDI_CREATEHWQUEUEFLAGS flags,
                               void *private_data, uint32_t private_data_bytes)
{
    const struct base_services *services = context->device->vidmm->services;
    void *copy = NULL;
    NTSTATUS status;

    if (!context->is_for_queues)
        return STATUS_INVALID_PARAMETER;
    if (context->queue.progress)
        return STATUS_NOT_SUPPORTED;
    if (private_data_bytes) {
        copy = base_alloc(services, private_data_bytes);
        if (!copy)
            return STATUS_NO_MEMORY;
        memcpy(copy, private_data, private_data_bytes);
    }
    status = hw_queue_create(context, flags, copy, private_data_bytes);
    if (NT_SUCCESS(status) && copy)
        memcpy(private_data, copy, private_data_bytes);
    base_free(services, copy, private_data_bytes);
    return status;
}

void vidmm_hw_queue_destroy(struct vidmm_context *context)
{
    hw_queue_destroy(context);
}

bool vidmm_has_hw_queues(const struct vidmm *vidmm, unsigned node)
{
    return hw_queues_are_on(vidmm, node);
}

NTSTATUS hw_queue_ready(struct vidmm_context *context)
{
    if (context->is_for_queues && !context->queue.progress)
        return STATUS_INVALID_PARAMETER;
    if (!context->queue.progress)
        return STATUS_SUCCESS;
    change_scheduling(context);
    return wait_for_fences(context);
}

void hw_queue_invalidate(struct vidmm_context *context)
{
    vidsch_context_invalidate(context->scheduler);
    device_fail(context->device, "an engine was reset while it ran one of its contexts");
}

bool vidmm_context_is_invalid(const struct vidmm_context *context)
{
    return vidsch_context_is_invalid(context->scheduler);
}

/* The driver knows it by the system's handle. */
static struct vidmm_context *find_context(struct vidmm *vidmm, HANDLE handle)
{
    struct vidmm_process *process;
    struct vidmm_device *device;
    struct vidmm_context *context;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        list_for_each (device, &process->devices, struct vidmm_device, link) {
            list_for_each (context, &device->contexts, struct vidmm_context, link) {
                if (context == handle && context->first == context &&
                    (context->queue.progress || context->sharers))
                    return context;
            }
        }
    }
    return NULL;
}

NTSTATUS vidmm_invalidate_hw_context(struct vidmm *vidmm, const DXGKARGCB_INVALIDATEHWCONTEXT *args)
{
    struct vidmm_context *context = find_context(vidmm, args->hHwContext);

    if (!context)
        return STATUS_INVALID_PARAMETER;
    vidmm->callback_depth++;
    hw_queue_invalidate(context);
    vidmm->callback_depth--;
    return STATUS_SUCCESS;
}

void hw_queue_destroy(struct vidmm_context *context)
{
    struct vidmm *vidmm = context->device->vidmm;
    struct hw_queue *queue = &context->queue;
    NTSTATUS status;

    if (!queue->progress)
        return;
    vidsch_context_leave(context->scheduler);
    status = miniport_destroy_hw_queue(vidmm->miniport, queue->driver_queue);
    if (!NT_SUCCESS(status))
        vidmm_driver_error(vidmm, "", "DxgkDdiDestroyHwQueue returned 0x%08x", (unsigned)status);
    vidsch_context_left(context->scheduler);
    if (queue->is_held)
        vidsch_context_release(context->scheduler);
    queue->is_held = false;
    release_fence(context->device->process, queue);
}

NTSTATUS hw_queue_submit(struct vidsch_packet *packet, struct miniport *miniport)
{
    struct submission *submission = container_of(packet, struct submission, packet);
    struct vidmm_context *context = submission->context;
    DXGKARG_SUBMITCOMMANDTOHWQUEUE args = {
        .hHwQueue = context->queue.driver_queue,
        .HwQueueProgressFenceId = packet->progress_id,
        .DmaBufferVirtualAddress = submission->va,
        .DmaBufferSize = submission->is_null ? 0 : submission->va_bytes, /* there is no flag */
        .DmaBufferPrivateDataSize = submission->client_data_bytes,
        .pDmaBufferPrivateData = submission->client_data,
        .HwQueueProgressFenceGpuVa = context->queue.progress_va,
        .HwQueueProgressFenceCpuVa = (void *)context->queue.progress,
    };
    NTSTATUS status;

    args.Flags.Present = submission->is_present;
    if (submission->buffer) {
        args.pDmaBufferPrivateData = submission->buffer->private_data;
        args.DmaBufferPrivateDataSize = submission->private_bytes;
    }
    status = miniport_submit_command_to_hw_queue(miniport, NULL, &args);
    base_free(context->device->vidmm->services, submission->client_data,
              submission->client_data_bytes);
    submission->client_data = NULL;
    submission->client_data_bytes = 0;
    return status;
}
