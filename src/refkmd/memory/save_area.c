/*
 * Context-save areas: context allocations that the GPU loads and stores around each submission.
 *
 * The kernel owns the memory and moves it, the driver only makes its first content. An area is
 * created with its context and destroyed with it, or with the last context of the device that
 * shares it. Its place is known by a notice of residency, or it is mapped in the address space of
 * the process; in the physical model each paging operation that puts it somewhere says where. It
 * holds nothing that the process may not see (CTX-013).
 */
#include "refkmd/memory/save_area.h"

#include "refkmd/memory/segments.h"
#include "refkmd/paging/paging.h"
#include "refkmd/registers.h"
#include "refkmd/traits.h"

#include <ntstatus.h>

/* The first image and an update write these into the head and the tail, 64 bits at a time. */
struct image_word {
    UINT64 offset;
    UINT64 value;
};

#define IMAGE_WORDS 3u

#define SAVE_FLAGS                                                                                 \
    (SGPU_UMD_SAVE_MAPPED | SGPU_UMD_SAVE_LOCAL | SGPU_UMD_SAVE_SHARED | SGPU_UMD_SAVE_CPU_IMAGE)

/*
 * Private data that DxgkCbUpdateContextAllocation hands on to UPDATE_CONTEXT_ALLOCATION. An area of
 * several contexts gets its first word anew, too; a record about another one ends in front of it.
 */
struct save_area_update {
    UINT64 root;
    UINT64 first_word;
};

/* ---- Life ------------------------------------------------------------------------------------ */

/*
 * The area is accessed physically, so it is contiguous or seen through the aperture (CTX-014), and
 * the driver asks to be told where (NTF-002); or it is reached by a virtual address. It belongs to
 * this context alone, or to the device and then to no context (CTX-002), which is no system context
 * (CTX-001). An area that the CPU is to see while the first image is made is CpuVisible and
 * Protected, in the aperture only (CTX-007). A kernel of WDDM 1.x knows neither kind of access and
 * no notices.
 */
static NTSTATUS ask_for_area(struct refkmd_adapter *adapter, struct refkmd_save_area *area,
                             HANDLE context)
{
    DXGKARGCB_CREATECONTEXTALLOCATION create;
    UINT segment = (area->flags & SGPU_UMD_SAVE_LOCAL) && adapter->has_memory_segments
                       ? REFKMD_SEGMENT_LOCAL
                       : refkmd_aperture_segment(adapter);
    NTSTATUS status;

    RtlZeroMemory(&create, sizeof create);
    create.hAdapter = adapter->dxgkrnl.DeviceHandle;
    if (area->device) {
        create.ContextAllocationFlags.SharedAcrossContexts = 1;
        create.hDevice = area->device->handle;
    } else {
        create.hContext = context;
    }
    create.hDriverAllocation = area;
    create.Size = (SIZE_T)area->allocation.bytes;
    create.Alignment = SGPU_PAGE_BYTES;
    create.SupportedSegmentSet = REFKMD_SEGMENT_BIT(segment);
    create.PreferredSegment.SegmentId0 = segment;
    if (area->flags & SGPU_UMD_SAVE_CPU_IMAGE) {
        create.Flags.CpuVisible = 1;
        create.Flags.Protected = 1;
    }
    if (area->flags & SGPU_UMD_SAVE_MAPPED) {
        create.ContextAllocationFlags.MapGpuVirtualAddress = 1;
    } else if (adapter->model != REFKMD_PHYSICAL) {
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

/* The area that the device's contexts on the node share already, or NULL. */
static struct refkmd_save_area *find_shared(const struct refkmd_context *context)
{
    struct refkmd_save_area *area = context->device->adapter->save_areas;

    while (area && (area->device != context->device || area->node != context->node))
        area = area->next;
    return area;
}

static void release_area(struct refkmd_adapter *adapter, struct refkmd_save_area *area)
{
    struct refkmd_save_area **link = &adapter->save_areas;

    if (--area->users)
        return;
    if (area->handle)
        adapter->dxgkrnl.DxgkCbDestroyContextAllocation(adapter->dxgkrnl.DeviceHandle,
                                                        area->handle);
    while (*link != area)
        link = &(*link)->next;
    *link = area->next;
    refkmd_free(area);
}

/* A new area with the context as its one user. */
static NTSTATUS create_area(struct refkmd_context *context, UINT flags, UINT64 bytes,
                            HANDLE kernel_context)
{
    struct refkmd_adapter *adapter = context->device->adapter;
    struct refkmd_save_area *area = refkmd_alloc(sizeof *area);
    NTSTATUS status;

    if (!area)
        return STATUS_NO_MEMORY;
    area->allocation.signature = REFKMD_ALLOCATION_SIGNATURE;
    area->allocation.bytes = bytes;
    area->allocation.kernel_bytes = bytes;
    area->device = flags & SGPU_UMD_SAVE_SHARED ? context->device : NULL;
    area->users = 1;
    area->node = context->node;
    area->root = context->root; /* IoMmu: the PASID, which never changes; else none yet */
    area->flags = flags;
    area->next = adapter->save_areas;
    adapter->save_areas = area;
    status = ask_for_area(adapter, area, kernel_context);
    if (NT_SUCCESS(status) && (flags & SGPU_UMD_SAVE_MAPPED))
        status = map_area(adapter, area);
    if (!NT_SUCCESS(status)) {
        release_area(adapter, area);
        return status;
    }
    context->save_area = area;
    return STATUS_SUCCESS;
}

/*
 * The request comes from user mode: it is copied once and checked. There is nobody to ask before
 * WDDM 1.2, and saving contexts is not the kernel's business then.
 */
NTSTATUS refkmd_save_area_create(struct refkmd_context *context, const DXGKARG_CREATECONTEXT *args)
{
    struct refkmd_adapter *adapter = context->device->adapter;
    struct sgpu_umd_context request;
    struct refkmd_save_area *shared;

    if (args->Flags.SystemContext || !args->pPrivateDriverData ||
        args->PrivateDriverDataSize < sizeof request)
        return STATUS_SUCCESS;
    RtlCopyMemory(&request, args->pPrivateDriverData, sizeof request);
    if (request.version != SGPU_UMD_VERSION || (request.flags & ~SAVE_FLAGS) ||
        request.save_bytes % sizeof(UINT64) || request.save_bytes > MAXULONG)
        return STATUS_INVALID_PARAMETER;
    if (!request.save_bytes || !refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WIN8))
        return STATUS_SUCCESS;
    if (request.save_bytes < sizeof(struct sgpu_save_area) + sizeof(UINT64))
        return STATUS_INVALID_PARAMETER;
    if (adapter->model != REFKMD_GPU_MMU)
        request.flags &= ~SGPU_UMD_SAVE_MAPPED;

    shared = request.flags & SGPU_UMD_SAVE_SHARED ? find_shared(context) : NULL;
    if (!shared)
        return create_area(context, request.flags, request.save_bytes, args->hContext);
    if (shared->flags != request.flags || shared->allocation.bytes != request.save_bytes)
        return STATUS_INVALID_PARAMETER;
    shared->users++;
    context->save_area = shared;
    return STATUS_SUCCESS;
}

void refkmd_save_area_destroy(struct refkmd_context *context)
{
    if (context->save_area)
        release_area(context->device->adapter, context->save_area);
    context->save_area = NULL;
}

static UINT64 first_word(const struct refkmd_save_area *area)
{
    return SGPU_SAVE_MAGIC | (UINT64)area->node << 32;
}

/*
 * The root of the context has moved, and the area names it. The kernel runs the operation below and
 * returns when it has been executed (CTX-011); the context is not scheduled meanwhile (PT-010).
 * This is not called while a paging buffer is built (CTX-012). Changing a root cannot fail, so
 * where memory is short just now it is asked for once more.
 */
void refkmd_save_area_set_root(struct refkmd_context *context)
{
    struct refkmd_adapter *adapter = context->device->adapter;
    struct save_area_update update;
    DXGKARGCB_UPDATECONTEXTALLOCATION args;
    NTSTATUS status;

    if (!context->save_area || context->save_area->root == context->root)
        return;
    context->save_area->root = context->root;
    if (!context->save_area->is_initialised)
        return; /* the first image will have it */
    update.root = context->root;
    update.first_word = first_word(context->save_area);
    RtlZeroMemory(&args, sizeof args);
    args.hAllocation = context->save_area->handle;
    args.pPrivateDriverData = &update;
    args.PrivateDriverDataSize = context->save_area->device
                                     ? sizeof update
                                     : FIELD_OFFSET(struct save_area_update, first_word);
    status = adapter->dxgkrnl.DxgkCbUpdateContextAllocation(adapter->dxgkrnl.DeviceHandle, &args);
    if (status == STATUS_NO_MEMORY)
        status =
            adapter->dxgkrnl.DxgkCbUpdateContextAllocation(adapter->dxgkrnl.DeviceHandle, &args);
    if (!NT_SUCCESS(status))
        DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL,
                   "refkmd: the root of a context-save area was not updated: 0x%08x\n", status);
}

UINT64 refkmd_save_area_address(const struct refkmd_save_area *area)
{
    return area->va ? area->va : area->allocation.resident_address;
}

/* ---- INIT_CONTEXT_RESOURCE, UPDATE_CONTEXT_ALLOCATION ---------------------------------------- */

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
 * The pages disagree about which handle the operation names, the kernel's or the driver's
 * (CTX-009): both are looked up.
 */
static struct refkmd_save_area *find_area(const struct refkmd_adapter *adapter, HANDLE handle)
{
    struct refkmd_save_area *area = adapter->save_areas;

    while (area && area->handle != handle && (HANDLE)area != handle)
        area = area->next;
    return area;
}

void refkmd_save_area_place(const struct refkmd_adapter *adapter, HANDLE allocation, UINT64 address)
{
    struct refkmd_save_area *area =
        adapter->model == REFKMD_PHYSICAL && allocation ? find_area(adapter, allocation) : NULL;

    if (area)
        area->allocation.resident_address = address;
}

/* runs and its copy at the end are 0 in a cleared area. */
static void describe_image(const struct refkmd_save_area *area, struct image_word *words)
{
    words[0].offset = 0;
    words[0].value = first_word(area);
    words[1].offset = FIELD_OFFSET(struct sgpu_save_area, root);
    words[1].value = area->root;
    words[2].offset = FIELD_OFFSET(struct sgpu_save_area, root_check);
    words[2].value = SGPU_SAVE_ROOT_CHECK(area->root);
}

/* Unit 0 clears the area, each further one writes a word of the image. */
static UINT build_image(struct paging_call *call, UINT64 first, UINT64 limit)
{
    const struct refkmd_save_area *area =
        find_area(call->adapter, call->args->InitContextResource.hAllocation);
    BOOLEAN is_physical = call->adapter->model != REFKMD_GPU_MMU;
    UINT64 address =
        is_physical ? (UINT64)call->args->InitContextResource.Destination.SegmentAddress.QuadPart
                    : call->args->InitContextResource.Destination.GpuVirtualAddress;
    ULONG flags = is_physical ? SGPU_PACKET_PHYSICAL : 0;
    struct image_word words[IMAGE_WORDS];
    UINT count = 0;

    describe_image(area, words);
    while (count < limit) {
        BOOLEAN fits = first + count == 0
                           ? packet_fill(&call->writer, flags, address, area->allocation.bytes, 0)
                           : write_word(call, flags, address, &words[first + count - 1]);

        if (!fits)
            break;
        count++;
    }
    return count;
}

/* The same by the CPU, now: nothing executes later (PB-027). */
static void write_image(const struct refkmd_save_area *area, UCHAR *destination)
{
    struct image_word words[IMAGE_WORDS];
    UINT i;

    RtlZeroMemory(destination, (SIZE_T)area->allocation.bytes);
    describe_image(area, words);
    for (i = 0; i < IMAGE_WORDS; i++)
        RtlCopyMemory(destination + words[i].offset, &words[i].value, sizeof words[i].value);
}

/*
 * The first image (CTX-006), or the first after its content was lost: where the CPU sees it, if it
 * does (CTX-007), else at the address in the paging process (CTX-008) or, without page tables, in
 * the segment. MultipassOffset counts the packets.
 */
NTSTATUS paging_build_init_context_resource(struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;
    struct refkmd_save_area *area = find_area(call->adapter, args->InitContextResource.hAllocation);

    if (!area)
        return STATUS_SUCCESS;
    area->is_initialised = TRUE;
    area->runs = 0;
    area->device_resets = call->adapter->nodes[area->node].device_resets;
    area->has_lost_count = FALSE;
    refkmd_save_area_place(call->adapter, area,
                           (UINT64)args->InitContextResource.Destination.SegmentAddress.QuadPart);
    if (args->InitContextResource.Destination.VirtualAddress) {
        write_image(area, args->InitContextResource.Destination.VirtualAddress);
        return STATUS_SUCCESS;
    }
    return paging_build_units(call, 1 + IMAGE_WORDS, build_image);
}

static UINT build_update(struct paging_call *call, UINT64 first, UINT64 limit)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATECONTEXTALLOCATION *args =
        &call->args->UpdateContextAllocation;
    const struct save_area_update *update = args->pDriverPrivateData;
    const struct image_word words[] = {
        {FIELD_OFFSET(struct sgpu_save_area, root), update->root},
        {FIELD_OFFSET(struct sgpu_save_area, root_check), SGPU_SAVE_ROOT_CHECK(update->root)},
        {0, limit + first > 2 ? update->first_word : 0},
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
        args->DriverPrivateDataSize < FIELD_OFFSET(struct save_area_update, first_word) ||
        args->ContextAllocationSize < sizeof(struct sgpu_save_area))
        return STATUS_SUCCESS;
    return paging_build_units(
        call, args->DriverPrivateDataSize < sizeof(struct save_area_update) ? 2 : 3, build_update);
}
