/*
 * Allocations: what they need and where they may live; openings of them by devices.
 *
 * The user-mode half describes an allocation in its private data, struct sgpu_umd_allocation. It
 * comes from user mode: every field is checked before anything is believed.
 */
#include "refkmd/ddi.h"
#include "refkmd/memory/segments.h"
#include "refkmd/objects.h"
#include "refkmd/registers.h"
#include "refkmd/traits.h"
#include "refkmd/work/packet.h"

#include <ntstatus.h>

#define PRIORITY_NORMAL 0x78000000u /* D3DDDI_ALLOCATIONPRIORITY_NORMAL */

#define RENAMING_LIST_LENGTH 4 /* one that the CPU writes, three that wait for the GPU */

#define MOST_BYTES ((UINT64)1 << 46) /* more than any memory; addresses have 47 bits */

#define KNOWN_FLAGS                                                                                \
    (SGPU_UMD_CPU_VISIBLE | SGPU_UMD_CACHED | SGPU_UMD_ACCESSED_PHYSICALLY |                       \
     SGPU_UMD_APERTURE_ONLY | SGPU_UMD_PREFER_APERTURE | SGPU_UMD_NO_APERTURE |                    \
     SGPU_UMD_HIDDEN_ONLY | SGPU_UMD_NOTIFY_RESIDENCY | SGPU_UMD_NOTIFY_EVICTION |                 \
     SGPU_UMD_NOTIFY_IOMMU_UNMAP | SGPU_UMD_APERTURE_CPU_VIEW | SGPU_UMD_NO_LARGE_PAGES |          \
     SGPU_UMD_ALTERNATE_VA | SGPU_UMD_FROM_END | SGPU_UMD_TILED | SGPU_UMD_SWIZZLED |              \
     SGPU_UMD_PRIMARY | SGPU_UMD_CPU_ON_DEMAND | SGPU_UMD_WHOLE | SGPU_UMD_ONE_SEGMENT |           \
     SGPU_UMD_OVERLAY | SGPU_UMD_CAPTURE | SGPU_UMD_SYNCHRONOUS | SGPU_UMD_HISTORY |               \
     SGPU_UMD_ROWS | SGPU_UMD_HARDWARE_PROTECTED | BACKING_FLAGS)

#define EXISTING_FLAGS (SGPU_UMD_EXISTING | SGPU_UMD_EXISTING_KERNEL)
/* Of the kinds of backing store an allocation has one at most. */
#define BACKING_FLAGS (EXISTING_FLAGS | SGPU_UMD_PERMANENT | SGPU_UMD_PROTECTED)

/* Where an allocation may live, the best place first. */
struct placement {
    UINT ids[REFKMD_SEGMENT_COUNT + 1];
    UINT count;
};

static void placement_add(struct placement *placement, UINT id)
{
    placement->ids[placement->count++] = id;
}

/*
 * Local memory that the CPU cannot see goes first to allocations that do not ask for CPU access, so
 * that the rest is left for those that do.
 */
static struct placement place(const struct refkmd_adapter *adapter, UINT flags)
{
    struct placement placement = {{0}, 0};
    BOOLEAN has_hidden = adapter->segment_count >= REFKMD_SEGMENT_HIDDEN;

    if (!adapter->has_memory_segments) { /* system memory is all there is */
        placement_add(&placement, REFKMD_ONLY_APERTURE);
        return placement;
    }
    if (flags & SGPU_UMD_TILED) {
        /* Tiles are aligned where memory starts; in apertures it would be linear (SWZ-007). */
        placement_add(&placement, REFKMD_SEGMENT_LOCAL);
        return placement;
    }
    if (flags & (SGPU_UMD_APERTURE_ONLY | SGPU_UMD_PREFER_APERTURE)) {
        if (adapter->agp_segment)
            placement_add(&placement, adapter->agp_segment);
        placement_add(&placement, REFKMD_SEGMENT_APERTURE);
    }
    if (!(flags & SGPU_UMD_APERTURE_ONLY)) {
        if (has_hidden && !(flags & SGPU_UMD_CPU_VISIBLE))
            placement_add(&placement, REFKMD_SEGMENT_HIDDEN);
        if (!has_hidden || !(flags & SGPU_UMD_HIDDEN_ONLY))
            placement_add(&placement, REFKMD_SEGMENT_LOCAL);
        if (!(flags & (SGPU_UMD_PREFER_APERTURE | SGPU_UMD_NO_APERTURE)))
            placement_add(&placement, REFKMD_SEGMENT_APERTURE);
    }
    return placement;
}

/*
 * Keeps ALLOC-009 (Cached, PermanentSysMem and HistoryBuffer need CpuVisible, and a primary is not
 * one of the first two), ALLOC-010 (one kind of backing store), ALLOC-011 (UseAlternateVA is for
 * primaries), NTF-002 (notices of residency are about physical addresses) and RES-013 (an
 * allocation that the CPU may touch must be where it can).
 */
static NTSTATUS check_request(const struct refkmd_adapter *adapter,
                              const struct sgpu_umd_allocation *request)
{
    UINT flags = request->flags;
    UINT alignment = request->alignment;
    BOOLEAN contradicts = ((flags & SGPU_UMD_NO_APERTURE) &&
                           (flags & (SGPU_UMD_APERTURE_ONLY | SGPU_UMD_PREFER_APERTURE))) ||
                          ((flags & SGPU_UMD_HIDDEN_ONLY) &&
                           (flags & (SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE)));
    UINT kinds = flags & BACKING_FLAGS;
    BOOLEAN is_out_of_reach = adapter->has_memory_segments && (flags & SGPU_UMD_CPU_VISIBLE) &&
                              (flags & SGPU_UMD_NO_APERTURE) && !adapter->visible_bytes &&
                              !adapter->window_pages;

    if (request->version != SGPU_UMD_VERSION || (flags & ~KNOWN_FLAGS) || !request->bytes ||
        request->bytes > MOST_BYTES || (alignment & (alignment - 1)) ||
        ((flags & (SGPU_UMD_CACHED | SGPU_UMD_PERMANENT | SGPU_UMD_HISTORY)) &&
         !(flags & SGPU_UMD_CPU_VISIBLE)) ||
        ((flags & SGPU_UMD_PRIMARY) && (flags & (SGPU_UMD_CACHED | SGPU_UMD_PERMANENT))) ||
        ((flags & SGPU_UMD_ALTERNATE_VA) && !(flags & SGPU_UMD_PRIMARY)) || contradicts ||
        (kinds & (kinds - 1)) || (kinds && (flags & SGPU_UMD_PRIMARY)) ||
        ((flags & EXISTING_FLAGS) && (flags & (SGPU_UMD_TILED | SGPU_UMD_ROWS))) ||
        ((flags & SGPU_UMD_NOTIFY_RESIDENCY) && !(flags & SGPU_UMD_ACCESSED_PHYSICALLY)) ||
        ((flags & SGPU_UMD_TILED) &&
         (adapter->model != REFKMD_PHYSICAL || (flags & SGPU_UMD_APERTURE_ONLY))) ||
        ((flags & SGPU_UMD_SWIZZLED) && !(flags & SGPU_UMD_TILED)) ||
        ((flags & SGPU_UMD_ROWS) && (flags & (SGPU_UMD_TILED | SGPU_UMD_ALTERNATE_VA))) ||
        is_out_of_reach)
        return STATUS_INVALID_PARAMETER;
    return STATUS_SUCCESS;
}

/*
 * Large allocations each have a bank to themselves as long as there is room, from its start; small
 * ones share the last bank, from its end (BANK-004, BANK-005).
 */
static DXGK_SEGMENTBANKPREFERENCE hint_bank(const struct refkmd_adapter *adapter,
                                            const struct sgpu_umd_allocation *request,
                                            UINT preferred)
{
    DXGK_SEGMENTBANKPREFERENCE hint;

    hint.Value = 0;
    if (!(adapter->straps & SGPU_STRAP_BANKS) || adapter->model != REFKMD_PHYSICAL ||
        preferred != REFKMD_SEGMENT_LOCAL)
        return hint;
    if (request->bytes < adapter->bank_ends[0] / 2) {
        hint.Bank0 = REFKMD_BANKS;
        hint.Direction0 = 1;
        return hint;
    }
    hint.Bank0 = 1;
    hint.Bank1 = 2;
    hint.Bank2 = 3;
    hint.Direction2 = 1;
    return hint;
}

/*
 * The bytes that an allocation takes where PitchAlignment says that rows have a pitch. An
 * allocation that is no surface of rows is one row, as long as it is. 0 would mean that it may not
 * be put there, which no allocation needs (ALLOC-004).
 */
static SIZE_T pitch_aligned_size(const struct refkmd_adapter *adapter,
                                 const struct sgpu_umd_allocation *request, SIZE_T size)
{
    if (!refkmd_has_pitch(adapter))
        return 0;
    if (!(request->flags & SGPU_UMD_ROWS))
        return size;
    return (size + SGPU_ROW_BYTES - 1) / SGPU_ROW_BYTES * SGPU_PITCH_BYTES;
}

/*
 * Keeps ALLOC-001, ALLOC-003..ALLOC-005, ALLOC-008. The GPU reaches scattered system pages itself,
 * so eviction needs no segment in between unless the board is slow at that; then it is the aperture
 * (ALLOC-007, SEG-021), where nothing is tiled. Both shapes of the flags have the bits that
 * are set here in the same places, except that AccessedPhysically came with WDDM 2.0.
 */
static void fill_info(const struct refkmd_adapter *adapter,
                      const struct sgpu_umd_allocation *request, DXGK_ALLOCATIONINFO *info)
{
    struct placement placement = place(adapter, request->flags);
    const SIZE_T gpu_page = refkmd_gpu_page_bytes(adapter);
    UINT set = 0;
    UINT i;

    for (i = 0; i < placement.count; i++)
        set |= REFKMD_SEGMENT_BIT(placement.ids[i]);
    info->Alignment = request->alignment > SGPU_PAGE_BYTES ? request->alignment : SGPU_PAGE_BYTES;
    info->Size = request->bytes;
    /* PT-026: nothing else lies in its last page of the GPU. */
    if (adapter->model == REFKMD_GPU_MMU && gpu_page > SGPU_PAGE_BYTES)
        info->Size = (request->bytes + gpu_page - 1) & ~(gpu_page - 1);
    /* PT-038: an allocation that is to be mapped by 64 KiB entries is made of such pages. */
    if (adapter->model == REFKMD_GPU_MMU && refkmd_has_64k_pages(adapter) &&
        request->bytes >= SGPU_64K_BYTES)
        info->Size = (request->bytes + SGPU_64K_BYTES - 1) & ~(SIZE_T)(SGPU_64K_BYTES - 1);
    /*
     * ALLOC-003: also an allocation that is too small for them, where it can come to a segment that
     * has such pages.
     */
    if (adapter->model == REFKMD_GPU_MMU && refkmd_has_64k_pages(adapter) &&
        set != REFKMD_SEGMENT_BIT(refkmd_aperture_segment(adapter)) &&
        info->Alignment < SGPU_64K_BYTES)
        info->Alignment = SGPU_64K_BYTES;
    if (request->flags & SGPU_UMD_TILED) { /* whole tiles */
        info->Size = (request->bytes + SGPU_TILE_BYTES - 1) & ~(SIZE_T)(SGPU_TILE_BYTES - 1);
        if (info->Alignment < SGPU_TILE_BYTES)
            info->Alignment = SGPU_TILE_BYTES;
    }
    info->PitchAlignedSize = pitch_aligned_size(adapter, request, info->Size);
    if (info->PitchAlignedSize > info->Size && info->Alignment < SGPU_PITCH_BYTES)
        info->Alignment = SGPU_PITCH_BYTES;
    info->HintedBank = hint_bank(adapter, request, placement.ids[0]);
    info->PreferredSegment.Value = 0;
    info->PreferredSegment.Direction0 = (request->flags & SGPU_UMD_FROM_END) != 0;
    info->PreferredSegment.Direction1 = info->PreferredSegment.Direction0;
    info->PreferredSegment.SegmentId0 = placement.ids[0];
    info->PreferredSegment.SegmentId1 = placement.ids[1];
    info->PreferredSegment.SegmentId2 = placement.ids[2];
    info->SupportedReadSegmentSet = set;
    info->SupportedWriteSegmentSet = set;
    info->EvictionSegmentSet = 0;
    if (adapter->model == REFKMD_PHYSICAL && (adapter->straps & SGPU_STRAP_SLOW_LISTS) &&
        !(request->flags & SGPU_UMD_TILED))
        info->EvictionSegmentSet = REFKMD_SEGMENT_BIT(REFKMD_SEGMENT_APERTURE);
    /*
     * ALLOC-022: a buffer that the CPU writes anew while the GPU reads it may be in so many places
     * at once. We keep no place of an allocation: operations and patch lists say which one they are
     * about. In WDDM 2 the member is PhysicalAdapterIndex, and nothing is renamed.
     */
    info->MaximumRenamingListLength = adapter->model == REFKMD_PHYSICAL ? RENAMING_LIST_LENGTH : 0;
    info->pAllocationUsageHint = NULL;
    info->AllocationPriority = request->priority ? request->priority : PRIORITY_NORMAL;

    if (adapter->model != REFKMD_PHYSICAL) {
        if (refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WDDM3_2)) {
            info->Flags2.Value = 0;
            info->Flags2.NotifyEviction = (request->flags & SGPU_UMD_NOTIFY_EVICTION) != 0;
            info->Flags2.NotifyIoMmuUnmap = (request->flags & SGPU_UMD_NOTIFY_IOMMU_UNMAP) != 0;
            info->Flags2.DisablePartialResidency = (request->flags & SGPU_UMD_WHOLE) != 0;
            info->Flags2.RestrictedToSingleSegment = (request->flags & SGPU_UMD_ONE_SEGMENT) != 0;
        }
        info->FlagsWddm2.Value = 0;
        info->FlagsWddm2.CpuVisible = (request->flags & SGPU_UMD_CPU_VISIBLE) != 0;
        info->FlagsWddm2.Overlay = (request->flags & SGPU_UMD_OVERLAY) != 0;
        info->FlagsWddm2.Capture = (request->flags & SGPU_UMD_CAPTURE) != 0;
        info->FlagsWddm2.HistoryBuffer = (request->flags & SGPU_UMD_HISTORY) != 0;
        info->FlagsWddm2.CpuVisibleOnDemand = (request->flags & SGPU_UMD_CPU_ON_DEMAND) != 0;
        info->FlagsWddm2.Cached = (request->flags & SGPU_UMD_CACHED) != 0;
        info->FlagsWddm2.PermanentSysMem = (request->flags & SGPU_UMD_PERMANENT) != 0;
        info->FlagsWddm2.ExistingSysMem = (request->flags & SGPU_UMD_EXISTING) != 0;
        info->FlagsWddm2.ExistingKernelSysMem = (request->flags & SGPU_UMD_EXISTING_KERNEL) != 0;
        info->FlagsWddm2.Protected = (request->flags & SGPU_UMD_PROTECTED) != 0;
        info->FlagsWddm2.HardwareProtected = (request->flags & SGPU_UMD_HARDWARE_PROTECTED) != 0;
        info->FlagsWddm2.AccessedPhysically = (request->flags & SGPU_UMD_ACCESSED_PHYSICALLY) != 0;
        info->FlagsWddm2.DisableLargePageMapping =
            refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WDDM2_1) &&
            (request->flags & SGPU_UMD_NO_LARGE_PAGES) != 0;
        info->FlagsWddm2.ExplicitResidencyNotification =
            (request->flags & SGPU_UMD_NOTIFY_RESIDENCY) != 0;
        /* Only a kernel that was told of MapAperture2Supported knows the flag (ADL-012). */
        info->FlagsWddm2.MapApertureCpuVisible =
            refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WDDM2_9) &&
            (request->flags & SGPU_UMD_APERTURE_CPU_VIEW) != 0;
    } else {
        info->Flags.Value = 0;
        info->Flags.PermanentSysMem = (request->flags & SGPU_UMD_PERMANENT) != 0;
        info->Flags.ExistingSysMem = (request->flags & SGPU_UMD_EXISTING) != 0;
        info->Flags.ExistingKernelSysMem = (request->flags & SGPU_UMD_EXISTING_KERNEL) != 0;
        info->Flags.Protected = (request->flags & SGPU_UMD_PROTECTED) != 0;
        info->Flags.Overlay = (request->flags & SGPU_UMD_OVERLAY) != 0;
        info->Flags.Capture = (request->flags & SGPU_UMD_CAPTURE) != 0;
        info->Flags.SynchronousPaging = (request->flags & SGPU_UMD_SYNCHRONOUS) != 0;
        info->Flags.HistoryBuffer =
            refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WDDM1_3) &&
            (request->flags & SGPU_UMD_HISTORY) != 0;
        info->Flags.Swizzled = (request->flags & SGPU_UMD_SWIZZLED) != 0;
        info->Flags.UseAlternateVA = (request->flags & SGPU_UMD_ALTERNATE_VA) != 0;
        info->Flags.CpuVisible = (request->flags & SGPU_UMD_CPU_VISIBLE) != 0;
        info->Flags.Cached = (request->flags & SGPU_UMD_CACHED) != 0;
    }
}

static NTSTATUS create_one(const struct refkmd_adapter *adapter, DXGK_ALLOCATIONINFO *info)
{
    struct sgpu_umd_allocation request;
    struct refkmd_allocation *allocation;
    NTSTATUS status;

    if (!info->pPrivateDriverData || info->PrivateDriverDataSize < sizeof request)
        return STATUS_INVALID_PARAMETER;
    /* Once: a second look might find something else there. */
    RtlCopyMemory(&request, info->pPrivateDriverData, sizeof request);
    status = check_request(adapter, &request);
    if (!NT_SUCCESS(status))
        return status;
    allocation = refkmd_alloc(sizeof *allocation);
    if (!allocation)
        return STATUS_NO_MEMORY;
    allocation->signature = REFKMD_ALLOCATION_SIGNATURE;
    allocation->bytes = request.bytes;
    allocation->flags = request.flags;
    fill_info(adapter, &request, info);
    allocation->kernel_bytes =
        info->PitchAlignedSize > info->Size ? info->PitchAlignedSize : info->Size;
    info->hAllocation = allocation;
    return STATUS_SUCCESS;
}

/* All of them or none. The driver keeps nothing of a resource, so hResource stays unchanged. */
NTSTATUS NTAPI RefKmdCreateAllocation(IN_CONST_HANDLE hAdapter,
                                      INOUT_PDXGKARG_CREATEALLOCATION args)
{
    NTSTATUS status = STATUS_SUCCESS;
    UINT created;

    for (created = 0; created < args->NumAllocations; created++) {
        status = create_one(hAdapter, &args->pAllocationInfo[created]);
        if (!NT_SUCCESS(status))
            break;
    }
    while (!NT_SUCCESS(status) && created > 0) {
        refkmd_free(args->pAllocationInfo[--created].hAllocation);
        args->pAllocationInfo[created].hAllocation = NULL;
    }
    return status;
}

NTSTATUS NTAPI RefKmdDestroyAllocation(IN_CONST_HANDLE hAdapter,
                                       IN_CONST_PDXGKARG_DESTROYALLOCATION args)
{
    UINT i;

    UNREFERENCED_PARAMETER(hAdapter);
    for (i = 0; i < args->NumAllocations; i++)
        refkmd_free(args->pAllocationList[i]);
    return STATUS_SUCCESS;
}

/* A buffer, as a surface of one row. */
NTSTATUS NTAPI RefKmdDescribeAllocation(IN_CONST_HANDLE hAdapter,
                                        INOUT_PDXGKARG_DESCRIBEALLOCATION args)
{
    const struct refkmd_allocation *allocation = args->hAllocation;

    UNREFERENCED_PARAMETER(hAdapter);
    args->Width = (UINT)smaller_of(allocation->bytes, MAXULONG);
    args->Height = 1;
    args->Format = D3DDDIFMT_UNKNOWN;
    args->MultisampleMethod.NumSamples = 0;
    args->MultisampleMethod.NumQualityLevels = 0;
    args->RefreshRate.Numerator = 0;
    args->RefreshRate.Denominator = 1;
    args->PrivateDriverFormatAttribute = 0;
    args->Rotation = D3DDDI_ROTATION_IDENTITY;
    return STATUS_SUCCESS;
}

/* The kernel's handle names our allocation by way of DxgkCbGetHandleData. */
static NTSTATUS open_one(const struct refkmd_adapter *adapter, DXGK_OPENALLOCATIONINFO *info)
{
    DXGKARGCB_GETHANDLEDATA query = {info->hAllocation, DXGK_HANDLE_ALLOCATION, {{{0}}}};
    struct refkmd_allocation *allocation = adapter->dxgkrnl.DxgkCbGetHandleData(&query);
    struct refkmd_opening *opening;

    if (!allocation)
        return STATUS_INVALID_HANDLE;
    opening = refkmd_alloc(sizeof *opening);
    if (!opening)
        return STATUS_NO_MEMORY;
    opening->allocation = allocation;
    info->hDeviceSpecificAllocation = opening;
    return STATUS_SUCCESS;
}

/* Several that are opened together are those of one resource, in their order. */
static NTSTATUS find_resource(const struct refkmd_adapter *adapter,
                              const DXGKARG_OPENALLOCATION *args)
{
    const DXGKRNL_INTERFACE *kernel = &adapter->dxgkrnl;
    DXGKARGCB_ENUMHANDLECHILDREN children = {0, 0};

    if (args->NumAllocations < 2)
        return STATUS_SUCCESS;
    children.hObject = kernel->DxgkCbGetHandleParent(args->pOpenAllocation[0].hAllocation);
    for (; children.hObject && children.Index < args->NumAllocations; children.Index++) {
        if (kernel->DxgkCbEnumHandleChildren(&children) !=
            args->pOpenAllocation[children.Index].hAllocation)
            return STATUS_INVALID_HANDLE;
    }
    return children.hObject ? STATUS_SUCCESS : STATUS_INVALID_HANDLE;
}

/* All of them or none. Private data is not written to (ALLOC-019). Keeps ALLOC-018. */
NTSTATUS NTAPI RefKmdOpenAllocation(IN_CONST_HANDLE hDevice, IN_CONST_PDXGKARG_OPENALLOCATION args)
{
    const struct refkmd_device *device = hDevice;
    NTSTATUS status = find_resource(device->adapter, args);
    UINT opened;

    for (opened = 0; NT_SUCCESS(status) && opened < args->NumAllocations; opened++) {
        status = open_one(device->adapter, &args->pOpenAllocation[opened]);
        if (!NT_SUCCESS(status))
            break;
    }
    while (!NT_SUCCESS(status) && opened > 0) {
        refkmd_free(args->pOpenAllocation[--opened].hDeviceSpecificAllocation);
        args->pOpenAllocation[opened].hDeviceSpecificAllocation = NULL;
    }
    return status;
}

NTSTATUS NTAPI RefKmdCloseAllocation(IN_CONST_HANDLE hDevice,
                                     IN_CONST_PDXGKARG_CLOSEALLOCATION args)
{
    UINT i;

    UNREFERENCED_PARAMETER(hDevice);
    for (i = 0; i < args->NumAllocations; i++)
        refkmd_free(args->pOpenHandleList[i]);
    return STATUS_SUCCESS;
}
