/*
 * DMA buffers: their memory, and those of a context that are free.
 *
 * Source     contract.md RES-009, APER-005.
 */
#include "vidmm/work/dma_buffer.h"

#include "vidmm/adapter/pump.h"
#include "vidmm/mappings/gpu_va.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/device.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"

uint32_t dma_buffer_patch_capacity(const struct vidmm_context *context)
{
    return context->device->vidmm->caps.is_virtual ? 0 : context->info.PatchLocationListSize;
}

static void free_buffer(struct vidmm_context *context, struct dma_buffer *buffer)
{
    struct vidmm *vidmm = context->device->vidmm;
    const struct vidmm_platform *platform = &vidmm->config.platform;

    if (buffer->allocation)
        allocation_doom(buffer->allocation);
    else if (buffer->cpu)
        platform->unmap_bus(platform->context, buffer->cpu, PAGE_BYTES_OF(buffer->page_count));
    if (buffer->first_page)
        platform->release_contiguous(platform->context, buffer->page_count, buffer->first_page);
    base_free(vidmm->services, buffer->private_data, context->info.DmaBufferPrivateDataSize);
    base_free_array(vidmm->services, buffer->allocation_list, buffer->allocation_capacity,
                    sizeof *buffer->allocation_list);
    base_free_array(vidmm->services, buffer->patch_list, dma_buffer_patch_capacity(context),
                    sizeof *buffer->patch_list);
    base_free(vidmm->services, buffer, sizeof *buffer);
}

void dma_buffers_free(struct vidmm_context *context)
{
    while (context->free_buffers) {
        struct dma_buffer *buffer = context->free_buffers;

        context->free_buffers = buffer->next;
        free_buffer(context, buffer);
    }
    vidmm_pump(context->device->vidmm); /* their slots are unmapped while there is the device */
}

static NTSTATUS take_memory(struct vidmm_context *context, struct dma_buffer *buffer)
{
    struct vidmm *vidmm = context->device->vidmm;
    const struct vidmm_platform *platform = &vidmm->config.platform;
    NTSTATUS status;

    if (context->dma_segments || context->device->vidmm->caps.is_virtual) {
        status = allocation_create_for_buffer(context->device, context->info.DmaBufferSize,
                                              context->dma_segments, &buffer->allocation);
        if (NT_SUCCESS(status))
            buffer->cpu = allocation_backing(buffer->allocation)->cpu_address;
        return status;
    }
    buffer->page_count = div_round_up(context->info.DmaBufferSize, PAGE_BYTES);
    status = platform->take_contiguous(platform->context, buffer->page_count, &buffer->first_page);
    if (!NT_SUCCESS(status)) {
        buffer->first_page = 0;
        return status;
    }
    buffer->cpu = platform->map_bus(platform->context, PAGE_BYTES_OF(buffer->first_page),
                                    PAGE_BYTES_OF(buffer->page_count));
    return buffer->cpu ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

NTSTATUS dma_buffer_show(struct vidmm_context *context, struct dma_buffer *buffer)
{
    struct vidmm_allocation *allocation = buffer->allocation;
    const struct vidmm_map_request request = {.allocation = allocation,
                                              .bytes = PAGE_BYTES_OF(allocation->page_count)};

    if (!list_is_empty(&allocation->mappings))
        return STATUS_SUCCESS;
    return mapping_create(context->device->process, &request, MAPPING_ORDINARY, &buffer->va);
}

PHYSICAL_ADDRESS dma_buffer_address(const struct dma_buffer *buffer, UINT *out_segment)
{
    PHYSICAL_ADDRESS address = {0};
    const struct vidmm_allocation *allocation = buffer->allocation;

    *out_segment = 0;
    if (!allocation) {
        address.QuadPart = (LONGLONG)PAGE_BYTES_OF(buffer->first_page);
    } else if (!buffer->va && allocation->state == ALLOCATION_RESIDENT) {
        *out_segment = allocation->place.segment->id;
        address.QuadPart =
            (LONGLONG)(allocation->place.segment->caps->base + allocation->place.offset);
    }
    return address;
}

struct dma_buffer *dma_buffer_take(struct vidmm_context *context)
{
    struct vidmm *vidmm = context->device->vidmm;
    const DXGK_CONTEXTINFO *info = &context->info;
    struct dma_buffer *buffer = context->free_buffers;

    if (buffer) {
        context->free_buffers = buffer->next;
        buffer->next = NULL;
        return buffer;
    }
    buffer = base_alloc(vidmm->services, sizeof *buffer);
    if (!buffer)
        return NULL;
    if (!NT_SUCCESS(take_memory(context, buffer)))
        goto fail;
    buffer->allocation_capacity = info->AllocationListSize;
    buffer->allocation_list = base_alloc_array(vidmm->services, buffer->allocation_capacity,
                                               sizeof *buffer->allocation_list);
    if (dma_buffer_patch_capacity(context))
        buffer->patch_list = base_alloc_array(vidmm->services, dma_buffer_patch_capacity(context),
                                              sizeof *buffer->patch_list);
    if (info->DmaBufferPrivateDataSize)
        buffer->private_data = base_alloc(vidmm->services, info->DmaBufferPrivateDataSize);
    if (buffer->allocation_list && (buffer->patch_list || !dma_buffer_patch_capacity(context)) &&
        (buffer->private_data || !info->DmaBufferPrivateDataSize))
        return buffer;
fail:
    free_buffer(context, buffer);
    return NULL;
}

void dma_buffer_give_back(struct vidmm_context *context, struct dma_buffer *buffer)
{
    if (!buffer || (buffer->shares && --buffer->shares))
        return;
    buffer->next = context->free_buffers;
    context->free_buffers = buffer;
}
