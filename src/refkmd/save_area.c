/*
 * Context-save areas: context allocations that the GPU loads and stores around each submission.
 *
 * The kernel owns the memory and moves it, the driver only makes its first content. An area is created
 * with its context and destroyed with it; its place is known by a notice of residency, or it is mapped
 * in the address space of the process. It holds nothing that the process may not see (CTX-013).
 */
#include "paging.h"

#include <ntstatus.h>

/* What the first image and an update write, 64 bits at a time, into the head and the tail. */
struct image_word {
    UINT64 offset;
    UINT64 value;
};

#define HEAD_WORDS (sizeof(struct sgpu_save_area) / sizeof(UINT64))

/* What DxgkCbUpdateContextAllocation hands on to UPDATE_CONTEXT_ALLOCATION. */
struct save_area_update {
    UINT64 root;
};

/* ---- Life --------------------------------------------------------------------------------- */

/*
 * The area is accessed physically, so it is contiguous or seen through the aperture (CTX-014), and the
 * driver asks to be told where (NTF-002); or it is reached by a virtual address. It belongs to this
 * context alone (CTX-002), which is no system context (CTX-001).
 */
static NTSTATUS ask_for_area(struct refkmd_adapter *adapter, struct refkmd_save_area *area,
                             HANDLE context, UINT flags)
{
    DXGKARGCB_CREATECONTEXTALLOCATION create;
    UINT segment = flags & SGPU_UMD_SAVE_LOCAL ? REFKMD_SEGMENT_LOCAL : REFKMD_SEGMENT_APERTURE;
    NTSTATUS status;

    RtlZeroMemory(&create, sizeof create);
    create.hAdapter = adapter->dxgkrnl.DeviceHandle;
    create.hContext = context;
    create.hDriverAllocation = area;
    create.Size = (SIZE_T)area->allocation.bytes;
    create.Alignment = SGPU_PAGE_BYTES;
    create.SupportedSegmentSet = REFKMD_SEGMENT_BIT(segment);
    create.PreferredSegment.SegmentId0 = segment;
    if (flags & SGPU_UMD_SAVE_MAPPED) {
        create.ContextAllocationFlags.MapGpuVirtualAddress = 1;
    } else {
        create.Flags.AccessedPhysically = 1;
        create.Flags.ExplicitResidencyNotification = 1;
    }
    status = adapter->dxgkrnl.DxgkCbCreateContextAllocation(&create);
    area->handle = create.hAllocation;
    return status;
}

static NTSTATUS map_area(struct refkmd_adapter *adapter, struct refkmd_save_area *area)
{
    DXGKARGCB_MAPCONTEXTALLOCATION map;

    RtlZeroMemory(&map, sizeof map);
    map.hAllocation = area->handle;
    map.SizeInPages = (area->allocation.bytes + SGPU_PAGE_BYTES - 1) >> SGPU_PAGE_SHIFT;
    map.Protection.Write = 1;
    area->va = adapter->dxgkrnl.DxgkCbMapContextAllocation(adapter->dxgkrnl.DeviceHandle, &map);
    return area->va ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

/* The request comes from user mode: it is copied once and checked. */
NTSTATUS refkmd_save_area_create(struct refkmd_context *context, const DXGKARG_CREATECONTEXT *args)
{
    struct refkmd_adapter *adapter = context->device->adapter;
    struct sgpu_umd_context request;
    struct refkmd_save_area *area;
    NTSTATUS status;

    if (args->Flags.SystemContext || !args->pPrivateDriverData ||
        args->PrivateDriverDataSize < sizeof request)
        return STATUS_SUCCESS;
    RtlCopyMemory(&request, args->pPrivateDriverData, sizeof request);
    if (request.version != SGPU_UMD_VERSION ||
        (request.flags & ~(SGPU_UMD_SAVE_MAPPED | SGPU_UMD_SAVE_LOCAL)) ||
        request.save_bytes % sizeof(UINT64) || request.save_bytes > MAXULONG)
        return STATUS_INVALID_PARAMETER;
    if (!request.save_bytes || !context->is_virtual)
        return STATUS_SUCCESS;
    if (request.save_bytes < sizeof(struct sgpu_save_area) + sizeof(UINT64))
        return STATUS_INVALID_PARAMETER;

    area = refkmd_alloc(sizeof *area);
    if (!area)
        return STATUS_NO_MEMORY;
    area->allocation.bytes = request.save_bytes;
    area->node = context->node;
    area->next = adapter->save_areas;
    adapter->save_areas = area;
    context->save_area = area;
    status = ask_for_area(adapter, area, args->hContext, request.flags);
    if (NT_SUCCESS(status) && (request.flags & SGPU_UMD_SAVE_MAPPED))
        status = map_area(adapter, area);
    if (!NT_SUCCESS(status))
        refkmd_save_area_destroy(context);
    return status;
}

void refkmd_save_area_destroy(struct refkmd_context *context)
{
    struct refkmd_adapter *adapter = context->device->adapter;
    struct refkmd_save_area *area = context->save_area;
    struct refkmd_save_area **link = &adapter->save_areas;

    if (!area)
        return;
    if (area->handle)
        adapter->dxgkrnl.DxgkCbDestroyContextAllocation(adapter->dxgkrnl.DeviceHandle,
                                                        area->handle);
    while (*link != area)
        link = &(*link)->next;
    *link = area->next;
    context->save_area = NULL;
    refkmd_free(area);
}

/*
 * The root of the context has moved, and the area names it. The kernel runs the operation below and
 * returns when it has been executed (CTX-011); the context is not scheduled meanwhile (PT-010). This
 * is not called while a paging buffer is built (CTX-012).
 */
void refkmd_save_area_set_root(struct refkmd_context *context)
{
    struct refkmd_adapter *adapter = context->device->adapter;
    struct save_area_update update = {context->root};
    DXGKARGCB_UPDATECONTEXTALLOCATION args;
    NTSTATUS status;

    if (!context->save_area || context->save_area->root == context->root)
        return;
    context->save_area->root = context->root;
    if (!context->save_area->is_initialised)
        return; /* the first image will have it */
    RtlZeroMemory(&args, sizeof args);
    args.hAllocation = context->save_area->handle;
    args.pPrivateDriverData = &update;
    args.PrivateDriverDataSize = sizeof update;
    status = adapter->dxgkrnl.DxgkCbUpdateContextAllocation(adapter->dxgkrnl.DeviceHandle, &args);
    if (!NT_SUCCESS(status))
        DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL,
                   "refkmd: the root of a context-save area was not updated: 0x%08x\n", status);
}

UINT64 refkmd_save_area_address(const struct refkmd_save_area *area)
{
    return area->va ? area->va : area->allocation.resident_address;
}

/* ---- INIT_CONTEXT_RESOURCE, UPDATE_CONTEXT_ALLOCATION ------------------------------------- */

static BOOLEAN write_word(struct paging_call *call, ULONG flags, UINT64 base,
                          const struct image_word *word)
{
    struct sgpu_packet_fence *packet = packet_begin(&call->writer, SGPU_OP_FENCE, sizeof *packet);

    if (!packet)
        return FALSE;
    packet->flags = flags;
    packet->address = base + word->offset;
    packet->value = word->value;
    return TRUE;
}

/*
 * The pages disagree about which handle the operation names, the kernel's or the driver's (CTX-009):
 * both are looked up.
 */
static struct refkmd_save_area *find_area(const struct refkmd_adapter *adapter, HANDLE handle)
{
    struct refkmd_save_area *area = adapter->save_areas;

    while (area && area->handle != handle && (HANDLE)area != handle)
        area = area->next;
    return area;
}

/* Unit 0 clears the area, each further one writes a word of the image. */
static UINT build_image(struct paging_call *call, UINT64 first, UINT64 limit)
{
    const struct refkmd_save_area *area =
        find_area(call->adapter, call->args->InitContextResource.hAllocation);
    UINT64 va = call->args->InitContextResource.Destination.GpuVirtualAddress;
    struct image_word words[1 + HEAD_WORDS] = {
        {0, SGPU_SAVE_MAGIC | (UINT64)area->node << 32},
        {FIELD_OFFSET(struct sgpu_save_area, root), area->root},
        {FIELD_OFFSET(struct sgpu_save_area, root_check), SGPU_SAVE_ROOT_CHECK(area->root)},
    };
    UINT count = 0;

    while (count < limit) {
        BOOLEAN fits = first + count == 0
                           ? packet_fill(&call->writer, 0, va, area->allocation.bytes, 0)
                           : write_word(call, 0, va, &words[first + count - 1]);

        if (!fits)
            break;
        count++;
    }
    return count;
}

/*
 * The first image, at the address in the paging process (CTX-006, CTX-008). runs and its copy at the
 * end are 0 by the fill. MultipassOffset counts the packets.
 */
NTSTATUS paging_build_init_context_resource(struct paging_call *call)
{
    struct refkmd_save_area *area =
        find_area(call->adapter, call->args->InitContextResource.hAllocation);

    if (!area)
        return STATUS_SUCCESS;
    area->is_initialised = TRUE;
    return paging_build_units(call, 4, build_image);
}

static UINT build_update(struct paging_call *call, UINT64 first, UINT64 limit)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATECONTEXTALLOCATION *args =
        &call->args->UpdateContextAllocation;
    const struct save_area_update *update = args->pDriverPrivateData;
    const struct image_word words[] = {
        {FIELD_OFFSET(struct sgpu_save_area, root), update->root},
        {FIELD_OFFSET(struct sgpu_save_area, root_check), SGPU_SAVE_ROOT_CHECK(update->root)},
    };
    UINT count = 0;

    while (count < limit && write_word(call, 0, args->ContextAllocation, &words[first + count]))
        count++;
    return count;
}

/* The private data is that of our own call to the kernel (CTX-010). */
NTSTATUS paging_build_update_context_allocation(struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATECONTEXTALLOCATION *args =
        &call->args->UpdateContextAllocation;

    if (!args->pDriverPrivateData ||
        args->DriverPrivateDataSize < sizeof(struct save_area_update) ||
        args->ContextAllocationSize < sizeof(struct sgpu_save_area))
        return STATUS_SUCCESS;
    return paging_build_units(call, 2, build_update);
}
