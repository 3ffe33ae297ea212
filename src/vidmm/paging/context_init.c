/*
 * First content of context allocations: INIT_CONTEXT_RESOURCE.
 *
 * Source     contract.md CTX-003..006, CTX-014; sequence S-20.
 */
#include "vidmm/paging/context_init.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/segment.h"
#include "vidmm/vidmm_private.h"

static void destination(const struct vidmm_allocation *allocation, DXGKARG_BUILDPAGINGBUFFER *args)
{
    const struct segment *segment = allocation->place.segment;

    args->Operation = DXGK_OPERATION_INIT_CONTEXT_RESOURCE;
    args->InitContextResource.hAllocation =
        allocation->vidmm->config.inits_contexts_by_driver_handle
            ? allocation->driver_handle
            : (HANDLE)(uintptr_t)allocation->handle;
    if (allocation->mdl)
        args->InitContextResource.Destination.VirtualAddress =
            allocation_backing(allocation)->cpu_address;
    if (segment->kind == SEGMENT_SYSTEM) {
        args->InitContextResource.Destination.pMdl = allocation->mdl;
        return;
    }
    args->InitContextResource.Destination.SegmentId = segment->id;
    args->InitContextResource.Destination.SegmentAddress.QuadPart =
        (LONGLONG)(segment->caps->base +
                   (segment->kind == SEGMENT_PAGES
                        ? segment_page_offset((struct vidmm_allocation *)allocation, 0)
                        : allocation->place.offset));
}

void context_allocation_op_init(const struct vidmm_allocation *allocation,
                                DXGKARG_BUILDPAGINGBUFFER *args)
{
    destination(allocation, args);
}

void context_allocation_init_view(struct scratch_view *view, DXGKARG_BUILDPAGINGBUFFER *args)
{
    destination(view->allocation, args);
    args->InitContextResource.Destination.GpuVirtualAddress = view->va;
}
