/*
 * Context allocations: memory of the driver's own that belongs to a context or to a device.
 *
 * Life       The driver asks for one while it creates a context or device, through a callback, and
 *            destroys it the same way. It moves like any allocation, with two differences. Its
 *            first content comes from the driver: INIT_CONTEXT_RESOURCE, once, instead of a fill.
 *            And it is resident whenever the GPU may run the context: each submission first gets it
 *            resident, holds it, and lets go when it retires.
 * Physical   The same, without addresses: the destination of the first content is a segment
 *            address, behind aperture slots where it is in an aperture, and nothing is mapped or
 *            updated.
 * IoMmu      As in the physical model: the paging process has no addresses. What is accessed
 *            physically is in an aperture; all else is system memory, named by its MDL.
 * Updates    Contents change between submissions through UPDATE_CONTEXT_ALLOCATION, at an address
 *            in the paging process that is good for that operation only, wherever the content is.
 *            While an update is queued the contexts of the process are held. GpuMmu only.
 *
 * Source     contract.md CTX-001..014; sequence S-20.
 */
#include "vidmm/work/context_allocation.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/mappings/scratch_view.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/residency/request.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/space_contexts.h"
#include "vidmm/memory/handles.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"

#include <string.h>

/* ---- Whose ----------------------------------------------------------------------------------- */

/* Handles are those that the manager gave the driver: the address of the object. */
static struct vidmm_device *find_device(const struct vidmm *vidmm, HANDLE handle)
{
    const struct vidmm_process *process;
    struct vidmm_device *device;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        list_for_each (device, &process->devices, struct vidmm_device, link) {
            if (device == handle)
                return device;
        }
    }
    return NULL;
}

static struct vidmm_context *find_context(const struct vidmm *vidmm, HANDLE handle)
{
    const struct vidmm_process *process;
    const struct vidmm_device *device;
    struct vidmm_context *context;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        list_for_each (device, &process->devices, struct vidmm_device, link) {
            list_for_each (context, &device->contexts, struct vidmm_context, link) {
                if (context == handle)
                    return context;
            }
        }
    }
    return NULL;
}

static struct vidmm_allocation *find(const struct vidmm *vidmm, HANDLE handle)
{
    struct vidmm_allocation *allocation =
        (uintptr_t)handle <= UINT32_MAX
            ? allocation_by_handle(vidmm, (D3DKMT_HANDLE)(uintptr_t)handle)
            : NULL;

    return allocation && allocation->context && !allocation->is_destroyed ? allocation : NULL;
}

/* ---- Create, destroy, map -------------------------------------------------------------------- */

/* The driver's description of an allocation, in the words of DxgkDdiCreateAllocation. */
static void describe(const struct vidmm *vidmm, const DXGKARGCB_CREATECONTEXTALLOCATION *args,
                     DXGK_ALLOCATIONINFO *info)
{
    memset(info, 0, sizeof *info);
    info->hAllocation = args->hDriverAllocation;
    info->Size = args->Size;
    info->Alignment = args->Alignment;
    info->SupportedReadSegmentSet = args->SupportedSegmentSet;
    info->SupportedWriteSegmentSet = args->SupportedSegmentSet;
    info->EvictionSegmentSet = args->EvictionSegmentSet;
    info->PreferredSegment = args->PreferredSegment;
    info->HintedBank = args->HintedBank;
    info->AllocationPriority = D3DDDI_ALLOCATIONPRIORITY_HIGH;
    if (vidmm->caps.is_virtual) {
        info->FlagsWddm2.CpuVisible = args->Flags.CpuVisible;
        info->FlagsWddm2.Cached = args->Flags.Cached;
        info->FlagsWddm2.Protected = args->Flags.Protected;
        info->FlagsWddm2.AccessedPhysically = args->Flags.AccessedPhysically;
        info->FlagsWddm2.ExplicitResidencyNotification = args->Flags.ExplicitResidencyNotification;
    } else {
        info->Flags.CpuVisible = args->Flags.CpuVisible;
        info->Flags.Cached = args->Flags.Cached;
        info->Flags.Protected = args->Flags.Protected;
        info->Flags.FromEndOfSegment = args->Flags.FromEndOfSegment;
    }
}

/*
 * CpuVisible and Protected, and in apertures only: then the CPU sees it during the init (CTX-007).
 */
static bool wants_cpu_address(const struct vidmm *vidmm,
                              const DXGKARGCB_CREATECONTEXTALLOCATION *args)
{
    unsigned i;

    for (i = 0; i < vidmm->caps.segment_count; i++) {
        if ((args->SupportedSegmentSet >> i & 1) && vidmm->segments[i].kind != SEGMENT_APERTURE)
            return false;
    }
    return args->Flags.CpuVisible && args->Flags.Protected;
}

NTSTATUS vidmm_context_allocation_create(struct vidmm *vidmm,
                                         DXGKARGCB_CREATECONTEXTALLOCATION *args)
{
    bool is_shared = args->ContextAllocationFlags.SharedAcrossContexts;
    struct vidmm_context *context = NULL;
    struct vidmm_device *device;
    struct vidmm_allocation *allocation;
    DXGK_ALLOCATIONINFO info;
    NTSTATUS status;

    args->hAllocation = NULL;
    if (!vidmm->is_started)
        return STATUS_INVALID_PARAMETER; /* system device and context: CTX-001 */
    if (is_shared) {
        device = args->hContext ? NULL : find_device(vidmm, args->hDevice);
    } else {
        context = find_context(vidmm, args->hContext);
        device = context ? context->device : NULL;
    }
    if (!device) {
        vidmm_driver_error(vidmm, is_shared ? "CTX-002" : "CTX-001",
                           "DxgkCbCreateContextAllocation: %s",
                           is_shared ? "SharedAcrossContexts wants a device and no context"
                                     : "hContext is not a context of a client");
        return STATUS_INVALID_PARAMETER;
    }
    if (vidmm->caps.has_page_tables &&
        div_round_up(args->Size, PAGE_BYTES) > paging_process_chunk_pages(vidmm))
        return STATUS_INVALID_PARAMETER; /* has to be seen at once through scratch */
    if (!vidmm->caps.has_page_tables && args->ContextAllocationFlags.MapGpuVirtualAddress)
        return STATUS_INVALID_PARAMETER; /* there are no addresses to map it at */
    describe(vidmm, args, &info);
    status = allocation_create_for_context(device, &info, &allocation);
    if (!NT_SUCCESS(status))
        return status;
    allocation->context->wants_cpu_address = wants_cpu_address(vidmm, args);
    allocation->context->is_gpu_va_wanted = args->ContextAllocationFlags.MapGpuVirtualAddress;
    list_push_back(context ? &context->allocations : &device->context_allocations,
                   &allocation->context->link);
    args->hAllocation = (HANDLE)(uintptr_t)allocation->handle;
    return STATUS_SUCCESS;
}

/* The driver's object is gone when the call returns: later operations name none. */
static void forget_driver(struct vidmm_allocation *allocation)
{
    allocation->driver_handle = NULL;
    allocation->wants_residency_notice = allocation->is_noticed = false;
}

NTSTATUS vidmm_context_allocation_destroy(struct vidmm *vidmm, HANDLE handle)
{
    struct vidmm_allocation *allocation = find(vidmm, handle);

    if (!allocation)
        return STATUS_INVALID_PARAMETER;
    list_remove(&allocation->context->link);
    forget_driver(allocation);
    vidmm_allocation_destroy(allocation);
    return STATUS_SUCCESS;
}

void context_allocations_drop(struct vidmm *vidmm, struct list *allocations)
{
    while (!list_is_empty(allocations)) {
        struct vidmm_allocation *allocation =
            container_of(allocations->next, struct context_part, link)->allocation;

        vidmm_driver_error(
            vidmm, "CTX-002",
            "the driver has not destroyed context allocation 0x%x of %llu bytes with "
            "what it belongs to",
            (unsigned)allocation->handle,
            (unsigned long long)PAGE_BYTES_OF(allocation->page_count));
        list_remove(&allocation->context->link);
        forget_driver(allocation);
        vidmm_allocation_destroy(allocation);
    }
}

NTSTATUS vidmm_context_allocation_map(struct vidmm *vidmm,
                                      const DXGKARGCB_MAPCONTEXTALLOCATION *args, uint64_t *out_va)
{
    struct vidmm_allocation *allocation = find(vidmm, args->hAllocation);
    uint64_t bytes = PAGE_BYTES_OF(args->SizeInPages);
    uint32_t protect = 0;
    NTSTATUS status;

    *out_va = 0;
    if (!allocation || !allocation->context->is_gpu_va_wanted || !bytes ||
        args->OffsetInPages + args->SizeInPages > allocation->page_count)
        return STATUS_INVALID_PARAMETER;
    if (!args->Protection.Write)
        protect |= VIDMM_PROTECT_READ_ONLY;
    if (!args->Protection.Execute)
        protect |= VIDMM_PROTECT_NO_EXECUTE;
    status =
        vidmm_map_gpu_va(allocation->device->process,
                         &(struct vidmm_map_request){.allocation = allocation,
                                                     .offset = PAGE_BYTES_OF(args->OffsetInPages),
                                                     .bytes = bytes,
                                                     .va = args->BaseAddress,
                                                     .protect = protect,
                                                     .driver_protection = args->DriverProtection},
                         out_va);
    if (!NT_SUCCESS(status))
        return status;
    if (*out_va < args->MinimumAddress ||
        (args->MaximumAddress && *out_va + bytes > args->MaximumAddress)) {
        vidmm_unmap_gpu_va(allocation->device->process, *out_va, NULL, NULL);
        *out_va = 0;
        return STATUS_NOT_SUPPORTED; /* the manager does not search a range of the driver's choice
                                      */
    }
    return STATUS_SUCCESS;
}

/* ---- Updates --------------------------------------------------------------------------------- */

struct update {
    struct job job;
    struct list waiting; /* in vidmm->waiting_updates while somebody waits for done */
    struct scratch_view view;
    struct vidmm_allocation *allocation;
    vidmm_done done;
    void *context;
    size_t bytes; /* of this struct */
    uint32_t private_bytes;
    uint64_t private_data[]; /* aligned for whatever the driver reads from it */
};

static void use_view(struct scratch_view *view, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct update *update = container_of(view, struct update, view);

    args->Operation = DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION;
    args->UpdateContextAllocation.ContextAllocation = view->va;
    args->UpdateContextAllocation.ContextAllocationSize = PAGE_BYTES_OF(view->page_count);
    args->UpdateContextAllocation.pDriverPrivateData =
        update->private_bytes ? update->private_data : NULL;
    args->UpdateContextAllocation.DriverPrivateDataSize = update->private_bytes;
}

static enum job_step update_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    return scratch_view_next(&container_of(job, struct update, job)->view, args);
}

static void end_update(struct update *update, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct vidmm *vidmm = update->allocation->vidmm;
    vidmm_done done = update->done;
    void *context = update->context;

    if (done) {
        list_remove(&update->waiting);
        vidmm->recovery.is_put_off = true; /* the call that waited has not returned */
    }
    base_free(vidmm->services, update, update->bytes);
    if (done)
        done(context, status, needed, available);
}

bool context_updates_end_waits(struct vidmm *vidmm)
{
    bool has_ended = false;
    struct list *link;

    while ((link = list_pop_front(&vidmm->waiting_updates)) != NULL) {
        struct update *update = container_of(link, struct update, waiting);
        vidmm_done done = update->done;

        update->done = NULL;
        done(update->context, STATUS_SUCCESS, 0, 0);
        has_ended = true;
    }
    return has_ended;
}

bool vidmm_end_waits(struct vidmm *vidmm)
{
    return context_updates_end_waits(vidmm);
}

static void update_finished(struct job *job)
{
    struct update *update = container_of(job, struct update, job);
    struct vidmm_allocation *allocation = update->allocation;
    NTSTATUS status = allocation->vidmm->queue.retired_status;

    space_release(&allocation->device->process->space);
    allocation_unhold(allocation);
    end_update(update, status, 0, 0);
}

static void begin_view(struct update *update)
{
    scratch_view_begin(&update->view, update->allocation, 0, update->allocation->page_count,
                       use_view);
}

static void update_restarted(struct job *job)
{
    begin_view(container_of(job, struct update, job));
}

static const struct job_ops update_ops = {.name = "update context",
                                          .next = update_next,
                                          .finished = update_finished,
                                          .restarted = update_restarted};

/*
 * The allocation is held and has content somewhere. Its contexts wait until the update has run. It
 * writes to where an allocation that moves will be, so it does not go first.
 */
static void queue_update(struct update *update)
{
    struct vidmm_allocation *allocation = update->allocation;

    job_hurry(&allocation->job);
    space_hold(&allocation->device->process->space);
    begin_view(update);
    paging_queue_add(allocation->vidmm, &update->job);
}

static void update_resident(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    if (NT_SUCCESS(status))
        queue_update(context);
    else
        end_update(context, status, needed, available);
}

static NTSTATUS request_first_content(struct update *update)
{
    struct request *request;
    NTSTATUS status =
        request_create(update->allocation->device, 1, update_resident, update, &request);

    if (!NT_SUCCESS(status))
        return status;
    request->kind = VIDMM_REQUEST_UPDATE;
    request->allocations[0] = update->allocation;
    request_queue(request);
    return STATUS_SUCCESS;
}

bool vidmm_can_wait(const struct vidmm *vidmm)
{
    return !vidmm->is_pumping && !vidmm->callback_depth;
}

NTSTATUS vidmm_context_allocation_update(struct vidmm *vidmm,
                                         const DXGKARGCB_UPDATECONTEXTALLOCATION *args,
                                         vidmm_done done, void *context)
{
    struct vidmm_allocation *allocation = find(vidmm, args->hAllocation);
    size_t bytes = sizeof(struct update) + args->PrivateDriverDataSize;
    struct update *update;
    NTSTATUS status = STATUS_SUCCESS;

    if (!allocation || (args->PrivateDriverDataSize && !args->pPrivateDriverData))
        return STATUS_INVALID_PARAMETER;
    if (!vidmm->caps.has_page_tables)
        return STATUS_NOT_SUPPORTED; /* the operation names a virtual address and nothing else */
    if (vidmm->queue.is_building) {
        vidmm_driver_error(vidmm, "CTX-012",
                           "DxgkCbUpdateContextAllocation: called from DxgkDdiBuildPagingBuffer, "
                           "whose work it would wait for");
        return STATUS_INVALID_DEVICE_REQUEST;
    }
    update = base_alloc(vidmm->services, bytes);
    if (!update)
        return STATUS_NO_MEMORY;
    update->job.ops = &update_ops;
    update->allocation = allocation;
    update->done = done;
    update->context = context;
    update->bytes = bytes;
    update->private_bytes = args->PrivateDriverDataSize;
    if (update->private_bytes)
        memcpy(update->private_data, args->pPrivateDriverData, update->private_bytes);
    if (done)
        list_push_back(&vidmm->waiting_updates, &update->waiting);
    if (allocation->state == ALLOCATION_EMPTY) {
        status = request_first_content(update);
        if (!NT_SUCCESS(status)) {
            if (done)
                list_remove(&update->waiting);
            base_free(vidmm->services, update, bytes);
            return status;
        }
    } else {
        allocation_hold(allocation);
        queue_update(update);
    }
    vidmm_pump(vidmm);
    return STATUS_PENDING;
}

/* ---- Residency for submissions --------------------------------------------------------------- */

unsigned context_allocations_count(const struct vidmm_context *context)
{
    return (unsigned)(list_count(&context->first->allocations) +
                      list_count(&context->device->context_allocations));
}

void context_allocations_refer(const struct vidmm_context *context,
                               struct vidmm_reference *references)
{
    const struct context_part *part;

    list_for_each (part, &context->first->allocations, struct context_part, link)
        (references++)->allocation = part->allocation;
    list_for_each (part, &context->device->context_allocations, struct context_part, link)
        (references++)->allocation = part->allocation;
}
