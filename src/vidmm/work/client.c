/*
 * Clients: processes, devices and contexts come and go.
 *
 * Source     contract.md PT-009, PT-010; sequence S-15.
 */
#include "vidmm/work/client.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/mappings/mapping.h"
#include "vidmm/views/iommu.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/sharing.h"
#include "vidmm/paging/monitored_fence.h"
#include "vidmm/residency/budget.h"
#include "vidmm/work/companion.h"
#include "vidmm/work/node_count.h"
#include "vidmm/work/null_context.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/page_tree.h"
#include "vidmm/tables/table_burial.h"
#include "vidmm/tables/table_memory.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/context_allocation.h"
#include "vidmm/work/device.h"
#include "vidmm/work/dma_buffer.h"
#include "vidmm/work/idle_updates.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/range_allocator.h"
#include "base/services.h"
#include "vidsch/vidsch.h"

#include <string.h>

/* Address space below this stays free: null pointers fault. */
#define FIRST_VA (64 * KiB)

/* ---- Processes ------------------------------------------------------------------------------- */

NTSTATUS vidmm_process_create(struct vidmm *vidmm, struct vidmm_process **out_process)
{
    struct vidmm_process *process;
    NTSTATUS status = STATUS_NO_MEMORY;

    *out_process = NULL;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    process = base_alloc(vidmm->services, sizeof *process);
    if (!process)
        return STATUS_NO_MEMORY;
    process->vidmm = vidmm;
    if (!NT_SUCCESS(node_counts_open_process(process)))
        goto free_process;
    process->space.vidmm = vidmm;
    budget_init(process);
    process->space.process = process;
    process->space.ranges_start = FIRST_VA;
    list_init(&process->devices);
    list_init(&process->mappings);
    turns_init(process);
    list_init(&process->space.rebuilt);
    if (vidmm->caps.is_virtual) {
        DXGKARG_CREATEPROCESS create = {0};
        ULONG pasid = 0;
        uint64_t va_size = UINT64_C(1) << vidmm->caps.va_bits;

        if (range_allocator_init(&process->space.ranges, vidmm->services, FIRST_VA,
                                 va_size - FIRST_VA, PAGE_BYTES) != RANGE_OK)
            goto close_counts;
        status = iommu_open_process(process);
        if (!NT_SUCCESS(status))
            goto fini_ranges;
        create.hDxgkProcess = process;
        if (process->has_pasid) {
            create.NumPasid = 1;
            create.pPasid = &pasid;
            pasid = process->pasid;
        }
        vidmm->process_in_creation = process;
        status = miniport_create_process(vidmm->miniport, NULL, &create);
        vidmm->process_in_creation = NULL;
        if (!NT_SUCCESS(status))
            goto close_iommu;
        process->space.driver_process = create.hKmdProcess;
    }
    list_push_back(&vidmm->processes, &process->link);
    idle_updates_meet(process);
    if (notes_are_heard(vidmm))
        note_process(process, true);
    *out_process = process;
    return STATUS_SUCCESS;

close_iommu:
    iommu_close_process(process);
fini_ranges:
    range_allocator_fini(&process->space.ranges);
close_counts:
    node_counts_close_process(process);
free_process:
    base_free(vidmm->services, process, sizeof *process);
    return status;
}

static void process_free(struct vidmm_process *process)
{
    struct vidmm *vidmm = process->vidmm;

    if (notes_are_heard(vidmm))
        note_process(process, false);
    page_tables_free(&process->space);
    range_allocator_fini(&process->space.ranges);
    if (process->space.driver_process)
        miniport_destroy_process(vidmm->miniport, process->space.driver_process);
    queue_fences_free(process);
    iommu_close_process(process);
    node_counts_close_process(process);
    base_free(vidmm->services, process, sizeof *process);
}

void vidmm_process_destroy(struct vidmm_process *process)
{
    struct vidmm *vidmm = process->vidmm;

    ASSERT(list_is_empty(&process->devices));
    ASSERT(list_is_empty(&process->mappings));
    budget_fini(process);
    turns_forget(process);
    list_remove(&process->link);
    if (tables_bury_all(process, process_free))
        vidmm_pump(vidmm);
    else
        process_free(process);
}

bool vidmm_process_root(const struct vidmm_process *process, unsigned *out_segment,
                        uint64_t *out_offset, uint64_t *out_entry_count)
{
    const struct page_table *root = process->space.root;

    *out_segment = root ? root->memory.segment : 0;
    *out_offset = root ? PAGE_BYTES_OF(table_memory_device_page(process->vidmm, &root->memory)) : 0;
    *out_entry_count = root ? root->memory.entry_count : 0;
    return root != NULL;
}

void vidmm_process_own_ranges(const struct vidmm_process *process,
                              void (*tell)(void *context, uint64_t va, uint64_t bytes),
                              void *context)
{
    const struct mapping *mapping;

    list_for_each (mapping, &process->mappings, struct mapping, process_link) {
        if (allocation_is_internal(mapping->allocation))
            tell(context, mapping->va, PAGE_BYTES_OF(mapping->page_count));
    }
    if (process->queue_fences.va)
        tell(context, process->queue_fences.va, PAGE_BYTES);
}

/* ---- Devices --------------------------------------------------------------------------------- */

NTSTATUS vidmm_device_create(struct vidmm_process *process, struct vidmm_device **out_device)
{
    struct vidmm *vidmm = process->vidmm;
    DXGKARG_CREATEDEVICE create = {0};
    struct vidmm_device *device;
    NTSTATUS status;

    *out_device = NULL;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    device = base_alloc(vidmm->services, sizeof *device);
    if (!device)
        return STATUS_NO_MEMORY;
    device->vidmm = vidmm;
    device->process = process;
    list_init(&device->contexts);
    list_init(&device->allocations);
    list_init(&device->context_allocations);
    list_init(&device->openings);
    device->requests_made = vidmm->config.first_paging_fence;
    status = monitored_fence_init(vidmm, &device->paging_fence, device->requests_made);
    if (!NT_SUCCESS(status))
        goto free_device;
    create.hDevice = device;
    create.hKmdProcess = process->space.driver_process;
    create.Pasid = process->pasid;
    if (!vidmm->caps.has_contexts)
        create.pInfo = &device->info; /* in the place of Flags */
    status = miniport_create_device(vidmm->miniport, NULL, &create);
    if (!NT_SUCCESS(status))
        goto fini_fence;
    if (!vidmm->caps.has_contexts && create.pInfo && create.pInfo != &device->info)
        device->info = *create.pInfo;
    device->driver_device = create.hDevice;
    list_push_back(&process->devices, &device->link);
    if (notes_are_heard(vidmm))
        note_device(device, true);
    *out_device = device;
    return STATUS_SUCCESS;

fini_fence:
    monitored_fence_fini(vidmm, &device->paging_fence);
free_device:
    base_free(vidmm->services, device, sizeof *device);
    return status;
}

void vidmm_device_destroy(struct vidmm_device *device)
{
    struct vidmm *vidmm = device->vidmm;
    const struct vidmm_allocation *allocation;

    ASSERT(list_is_empty(&device->contexts));
    list_for_each (allocation, &device->allocations, struct vidmm_allocation, device_link)
        ASSERT(allocation_is_internal(allocation) || /* the client's are destroyed, or left */
               allocation->is_orphan);
    ASSERT(!device->submission_count);
    openings_close_of_device(device);
    miniport_destroy_device(vidmm->miniport, device->driver_device);
    context_allocations_drop(vidmm, &device->context_allocations);
    monitored_fence_fini(vidmm, &device->paging_fence);
    device->is_destroyed = true;
    device_free_if_done(device);
}

uint64_t vidmm_device_paging_fence(const struct vidmm_device *device)
{
    return device->paging_fence.cpu ? *device->paging_fence.cpu
                                    : device->paging_fence.waiters.value;
}

/* ---- Contexts -------------------------------------------------------------------------------- */

/*
 * The apertures that the driver wants its DMA buffers in; 0: contiguous system memory. There are
 * none in local memory in this model (CTX-015). Addresses of the GpuMmu model are the client's.
 */
static bool find_dma_segments(struct vidmm *vidmm, UINT set, uint32_t *out_set)
{
    *out_set = 0;
    if (vidmm->caps.is_virtual)
        return true;
    for (unsigned i = 0; i < vidmm->caps.segment_count; i++) {
        if (set >> i & 1 && vidmm->caps.segments[i].is_aperture)
            *out_set |= 1u << i;
    }
    if (*out_set || !set)
        return true;
    vidmm_driver_error(vidmm, "CTX-015",
                       "DxgkDdiCreateContext.ContextInfo.DmaBufferSegmentSet is 0x%x, which has no "
                       "aperture segment: DMA buffers are in apertures or, with a set of 0, in "
                       "contiguous system memory",
                       set);
    return false;
}

/*
 * In the driver. One without contexts has described the device, whose handle takes the place of the
 * context's wherever that would be named (CTX-017).
 */
static NTSTATUS create_in_driver(struct vidmm_context *context, DXGKARG_CREATECONTEXT *create)
{
    const struct vidmm_device *device = context->device;
    const DXGK_DEVICEINFO *info = &device->info;

    if (device->vidmm->caps.has_contexts)
        return miniport_create_context(device->vidmm->miniport, device->driver_device, create);
    create->hContext = device->driver_device;
    create->ContextInfo.DmaBufferSize = info->DmaBufferSize;
    create->ContextInfo.DmaBufferSegmentSet = info->DmaBufferSegmentSet;
    create->ContextInfo.DmaBufferPrivateDataSize = info->DmaBufferPrivateDataSize;
    create->ContextInfo.AllocationListSize = info->AllocationListSize;
    create->ContextInfo.PatchLocationListSize = info->PatchLocationListSize;
    return STATUS_SUCCESS;
}

static void destroy_in_driver(const struct vidmm *vidmm, HANDLE driver_context)
{
    if (vidmm->caps.has_contexts)
        miniport_destroy_context(vidmm->miniport, driver_context);
}

enum context_kind {
    CONTEXT_PLAIN,
    CONTEXT_GDI,
    CONTEXT_FOR_QUEUES, /* the client makes its hardware queue */
};

static NTSTATUS create_context(struct vidmm_device *device, unsigned node, enum context_kind kind,
                               const void *private_data, uint32_t private_data_bytes,
                               struct vidmm_context **out_context)
{
    struct vidmm *vidmm = device->vidmm;
    const bool is_gdi = kind == CONTEXT_GDI;
    DXGKARG_CREATECONTEXT create = {0};
    struct vidmm_context *context;
    void *private_copy = NULL;
    NTSTATUS status;
    unsigned i;

    *out_context = NULL;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    if (node >= vidmm->caps.node_count)
        return STATUS_INVALID_PARAMETER;
    if (hw_queues_are_on(vidmm, node) ? is_gdi : kind == CONTEXT_FOR_QUEUES)
        return STATUS_NOT_SUPPORTED;
    if (private_data_bytes) {
        private_copy = base_alloc(vidmm->services, private_data_bytes);
        if (!private_copy)
            return STATUS_NO_MEMORY;
        memcpy(private_copy, private_data, private_data_bytes);
    }
    context = base_alloc(vidmm->services, sizeof *context);
    if (!context) {
        base_free(vidmm->services, private_copy, private_data_bytes);
        return STATUS_NO_MEMORY;
    }
    context->device = device;
    context->first = context;
    context->node = node;
    context->is_gdi = is_gdi;
    context->is_for_queues = kind == CONTEXT_FOR_QUEUES;
    list_init(&context->allocations);
    status = vidsch_context_create(vidmm->vidsch, node, false, &context->scheduler);
    if (!NT_SUCCESS(status))
        goto free_context;
    for (i = 0; i < device->process->space.hold_count; i++)
        vidsch_context_hold(context->scheduler);
    /* Known from here on: the driver may ask for allocations of it. */
    list_push_back(&device->contexts, &context->link);
    create.hContext = context;
    create.pPrivateDriverData = private_copy;
    create.PrivateDriverDataSize = private_data_bytes;
    create.NodeOrdinal = node;
    create.EngineAffinity = 1;
    create.Flags.VirtualAddressing = vidmm->caps.is_virtual;
    create.Flags.GdiContext = is_gdi;
    create.Flags.HwQueueSupported = hw_queues_are_on(vidmm, node);
    status = create_in_driver(context, &create);
    if (!NT_SUCCESS(status))
        goto destroy_scheduler;
    if (!find_dma_segments(vidmm, create.ContextInfo.DmaBufferSegmentSet, &context->dma_segments)) {
        status = STATUS_NOT_SUPPORTED;
        destroy_in_driver(vidmm, create.hContext);
        goto destroy_scheduler;
    }
    context->driver_context = create.hContext;
    context->info = create.ContextInfo;
    if (hw_queues_are_on(vidmm, node) && !context->is_for_queues)
        status = hw_queue_create(context, (D3DDDI_CREATEHWQUEUEFLAGS){{{0}}}, NULL, 0);
    if (!NT_SUCCESS(status)) {
        destroy_in_driver(vidmm, create.hContext);
        goto destroy_scheduler;
    }
    base_free(vidmm->services, private_copy, private_data_bytes);
    if (notes_are_heard(vidmm))
        note_context(context, true);
    *out_context = context;
    return STATUS_SUCCESS;

destroy_scheduler:
    context_allocations_drop(vidmm, &context->allocations);
    list_remove(&context->link);
    vidsch_context_destroy(context->scheduler);
free_context:
    base_free(vidmm->services, private_copy, private_data_bytes);
    base_free(vidmm->services, context, sizeof *context);
    return status;
}

NTSTATUS vidmm_context_create(struct vidmm_device *device, unsigned node, const void *private_data,
                              uint32_t private_data_bytes, struct vidmm_context **out_context)
{
    return create_context(device, node, CONTEXT_PLAIN, private_data, private_data_bytes,
                          out_context);
}

NTSTATUS vidmm_hw_context_create(struct vidmm_device *device, unsigned node,
                                 const void *private_data, uint32_t private_data_bytes,
                                 struct vidmm_context **out_context)
{
    return create_context(device, node, CONTEXT_FOR_QUEUES, private_data, private_data_bytes,
                          out_context);
}

NTSTATUS vidmm_hw_context_share(struct vidmm_context *with, struct vidmm_context **out_context)
{
    struct vidmm_context *first = with->first;
    struct vidmm *vidmm = first->device->vidmm;
    struct vidmm_context *context;
    NTSTATUS status;

    *out_context = NULL;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    if (!hw_queues_are_on(vidmm, first->node))
        return STATUS_NOT_SUPPORTED;
    context = base_alloc(vidmm->services, sizeof *context);
    if (!context)
        return STATUS_NO_MEMORY;
    context->device = first->device;
    context->first = first;
    context->node = first->node;
    context->driver_context = first->driver_context;
    context->info = first->info;
    context->dma_segments = first->dma_segments;
    context->is_for_queues = true;
    list_init(&context->allocations);
    status = vidsch_context_create(vidmm->vidsch, first->node, false, &context->scheduler);
    if (!NT_SUCCESS(status)) {
        base_free(vidmm->services, context, sizeof *context);
        return status;
    }
    vidsch_context_share(context->scheduler, first->scheduler);
    for (unsigned i = 0; i < first->device->process->space.hold_count; i++)
        vidsch_context_hold(context->scheduler);
    first->sharers++;
    list_push_back(&first->device->contexts, &context->link);
    if (notes_are_heard(vidmm))
        note_context(context, true);
    *out_context = context;
    return STATUS_SUCCESS;
}

NTSTATUS vidmm_gdi_context_create(struct vidmm_device *device, unsigned node,
                                  struct vidmm_context **out_context)
{
    *out_context = NULL;
    if (!device->vidmm->caps.renders_for_kernel)
        return STATUS_NOT_SUPPORTED;
    return create_context(device, node, CONTEXT_GDI, NULL, 0, out_context);
}

void vidmm_context_destroy(struct vidmm_context *context)
{
    struct vidmm *vidmm = context->device->vidmm;

    ASSERT(!context->tile_update_count && !context->sharers);
    null_contexts_forget(vidmm, context);
    companion_destroy(context);
    dma_buffers_free(context);
    hw_queue_destroy(context);
    if (context->first == context)
        destroy_in_driver(vidmm, context->driver_context);
    else
        context->first->sharers--;
    context_allocations_drop(vidmm, &context->allocations);
    /*
     * The driver destroys allocations from in the call, which may hold the contexts of the space.
     */
    list_remove(&context->link);
    vidsch_context_destroy(context->scheduler);
    if (notes_are_heard(vidmm))
        note_context(context, false);
    base_free(vidmm->services, context, sizeof *context);
}

bool vidmm_context_has_tile_updates(const struct vidmm_context *context)
{
    return context->tile_update_count != 0;
}

NTSTATUS vidmm_context_wait_for_paging(struct vidmm_context *context, uint64_t value)
{
    if (value > context->device->requests_made)
        return STATUS_INVALID_PARAMETER;
    if (value > context->paging_wait)
        context->paging_wait = value;
    return STATUS_SUCCESS;
}

uint32_t vidmm_context_private_data_bytes(const struct vidmm_context *context)
{
    return context->info.DmaBufferPrivateDataSize;
}

void vidmm_context_set_null_rendering(struct vidmm_context *context, bool is_null)
{
    context->is_null_rendering = is_null;
}

void vidmm_context_set_redirected_present(struct vidmm_context *context, bool is_redirected)
{
    context->is_redirected_present = is_redirected;
}

void vidmm_context_set_patch_input(struct vidmm_context *context, bool names_references)
{
    context->names_references = names_references;
}
