/*
 * Allocations: creation, the backing store, state changes, and the end.
 *
 * State changes, all in this file but the last of the second line (lock.c):
 *
 *     EMPTY  --enter-->  ENTERING  -->  RESIDENT  --leave-->  LEAVING  -->  BACKED
 *     BACKED --enter-->  ENTERING                 lock of EMPTY -->  BACKED
 *     EMPTY, BACKED, RESIDENT  --die-->  DYING  -->  gone
 *
 * Entering, leaving and dying are jobs of the paging queue; the second half of each change is the
 * job's finished function, when the last packet of the move has retired.
 *
 * Source     contract.md ALLOC-001..020, RES-011..014; sequences S-03, S-04, S-06, S-12, S-15.
 */
#include "vidmm/memory/allocation.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/mappings/gpu_va.h"
#include "vidmm/memory/allocation_flags.h"
#include "vidmm/memory/alternate_va.h"
#include "vidmm/memory/aperture.h"
#include "vidmm/memory/iommu.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/rename.h"
#include "vidmm/memory/segment.h"
#include "vidmm/memory/sharing.h"
#include "vidmm/paging/paging_physical.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/paging/paging_virtual.h"
#include "vidmm/residency/offer.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"

#include <string.h>

#define MDL_MOST_BYTES 0xfffff000u /* whole pages that ByteCount can say */

const char *allocation_state_name(enum allocation_state state)
{
    static const char *const names[] = {"empty",    "backed",  "entering",
                                        "resident", "leaving", "dying"};

    return names[state];
}

/* ---- Handles --------------------------------------------------------------------------------- */

/* Handle h is slot h - 1; a free slot holds the next free handle, shifted, with bit 0 set. */
static NTSTATUS take_handle(struct vidmm *vidmm, struct vidmm_allocation *allocation)
{
    uint32_t slot;

    if (!vidmm->handle_free) {
        uint32_t capacity = vidmm->handle_capacity ? vidmm->handle_capacity * 2 : 256;
        struct vidmm_allocation **handles =
            base_alloc_array(vidmm->services, capacity, sizeof *handles);
        uint32_t i;

        if (!handles)
            return STATUS_NO_MEMORY;
        if (vidmm->handle_capacity)
            memcpy(handles, vidmm->handles, vidmm->handle_capacity * sizeof *handles);
        for (i = capacity; i > vidmm->handle_capacity; i--) {
            handles[i - 1] = (void *)(((uintptr_t)vidmm->handle_free << 1) | 1);
            vidmm->handle_free = i;
        }
        base_free_array(vidmm->services, vidmm->handles, vidmm->handle_capacity, sizeof *handles);
        vidmm->handles = handles;
        vidmm->handle_capacity = capacity;
    }
    slot = vidmm->handle_free - 1;
    vidmm->handle_free = (uint32_t)((uintptr_t)vidmm->handles[slot] >> 1);
    vidmm->handles[slot] = allocation;
    allocation->handle = slot + 1;
    return STATUS_SUCCESS;
}

static void release_handle(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;

    if (!allocation->handle)
        return;
    vidmm->handles[allocation->handle - 1] = (void *)(((uintptr_t)vidmm->handle_free << 1) | 1);
    vidmm->handle_free = allocation->handle;
    allocation->handle = 0;
}

struct vidmm_allocation *allocation_by_handle(const struct vidmm *vidmm, D3DKMT_HANDLE handle)
{
    struct vidmm_allocation *allocation;

    if (handle == 0 || handle > vidmm->handle_capacity)
        return NULL;
    allocation = vidmm->handles[handle - 1];
    return (uintptr_t)allocation & 1 ? NULL : allocation;
}

/* ---- Creation -------------------------------------------------------------------------------- */

static void prefer(struct vidmm_allocation *allocation, unsigned id)
{
    const struct vidmm *vidmm = allocation->vidmm;
    unsigned i;

    /*
     * GpuMmu: an aperture segment stands for system memory, which page tables reach by themselves;
     * only what is accessed physically is really mapped there (ALLOC-016).
     */
    if (vidmm->caps.is_virtual && !allocation->is_accessed_physically &&
        vidmm->segments[id - 1].kind == SEGMENT_APERTURE)
        id = 0;
    /* IoMmu: there is system memory only (RES-017). */
    if (vidmm->caps.is_virtual && !vidmm->caps.has_page_tables && id &&
        vidmm->segments[id - 1].kind != SEGMENT_APERTURE)
        id = 0;
    /*
     * Rows are aligned there, which takes a PitchAlignedSize; slots show pages of the backing
     * store, which has no gaps between them (XFER-018).
     */
    if (id && vidmm->segments[id - 1].caps->is_pitch_aligned &&
        (!allocation->pitched_pages || (vidmm->segments[id - 1].kind != SEGMENT_CONTIGUOUS &&
                                        allocation->pitched_pages != allocation->page_count)))
        return;
    /*
     * Unswizzled ones must not be in an aperture (SWZ-008); the others could, and are not either.
     */
    if (allocation->is_swizzled && vidmm->segments[id - 1].kind != SEGMENT_CONTIGUOUS)
        return;
    for (i = 0; i < allocation->preference_count; i++) {
        if (allocation->preference[i] == id)
            return;
    }
    if (allocation->preference_count < ARRAY_COUNT(allocation->preference))
        allocation->preference[allocation->preference_count++] = (uint8_t)id;
}

/* Windows' priorities are multiples of 0x28000000 around NORMAL; a class is one of the five. */
static unsigned priority_class(uint32_t priority)
{
    unsigned class = priority / 0x28000000u;

    if (class > PRIORITY_CLASSES)
        class = PRIORITY_CLASSES;
    return class ? class - 1 : 0;
}

static bool has_memory_segment(const struct vidmm *vidmm, uint32_t set)
{
    unsigned i;

    for (i = 0; i < vidmm->caps.segment_count; i++) {
        if ((set >> i & 1) && vidmm->segments[i].kind == SEGMENT_CONTIGUOUS)
            return true;
    }
    return false;
}

/* Takes over what the driver reported; false and a driver error when it breaks a rule. */
static bool accept_info(struct vidmm_allocation *allocation, const DXGK_ALLOCATIONINFO *info)
{
    struct vidmm *vidmm = allocation->vidmm;
    uint32_t all = (uint32_t)((UINT64_C(1) << vidmm->caps.segment_count) - 1);
    uint32_t set = info->SupportedWriteSegmentSet;
    const char *ddi = "DxgkDdiCreateAllocation.pAllocationInfo[0]";
    unsigned preferred[5] = {info->PreferredSegment.SegmentId0, info->PreferredSegment.SegmentId1,
                             info->PreferredSegment.SegmentId2, info->PreferredSegment.SegmentId3,
                             info->PreferredSegment.SegmentId4};
    const bool from_end[5] = {info->PreferredSegment.Direction0, info->PreferredSegment.Direction1,
                              info->PreferredSegment.Direction2, info->PreferredSegment.Direction3,
                              info->PreferredSegment.Direction4};
    unsigned i;

    if (!info->hAllocation) {
        vidmm_driver_error(vidmm, "ALLOC-001", "%s.hAllocation is NULL", ddi);
        return false;
    }
    if (info->Size == 0 || info->Size > (UINT64_C(1) << 46)) {
        vidmm_driver_error(vidmm, "ALLOC-001", "%s.Size is %llu", ddi,
                           (unsigned long long)info->Size);
        return false;
    }
    if (info->Alignment && !is_power_of_two(info->Alignment)) {
        vidmm_driver_error(vidmm, "ALLOC-001", "%s.Alignment is %u, not a power of two", ddi,
                           info->Alignment);
        return false;
    }
    if (!vidmm->caps.is_virtual)
        set &= info->SupportedReadSegmentSet; /* GpuMmu: only the write set counts (ALLOC-006) */
    if ((set & all) == 0 || (info->SupportedWriteSegmentSet & ~all)) {
        vidmm_driver_error(
            vidmm, "ALLOC-005",
            "%s.SupportedWriteSegmentSet is 0x%x (read 0x%x); the adapter has segments 0x%x", ddi,
            info->SupportedWriteSegmentSet, info->SupportedReadSegmentSet, all);
        return false;
    }
    if (info->AllocationPriority == 0) {
        vidmm_driver_error(vidmm, "ALLOC-008", "%s.AllocationPriority is 0", ddi);
        return false;
    }
    if (vidmm->caps.is_virtual && info->FlagsWddm2.ExplicitResidencyNotification &&
        !info->FlagsWddm2.AccessedPhysically) {
        vidmm_driver_error(vidmm, "NTF-002",
                           "%s.FlagsWddm2.ExplicitResidencyNotification is set without "
                           "AccessedPhysically",
                           ddi);
        return false;
    }
    for (i = 0; i < ARRAY_COUNT(preferred); i++) {
        if (preferred[i] &&
            (preferred[i] > vidmm->caps.segment_count || !(set >> (preferred[i] - 1) & 1))) {
            vidmm_driver_error(
                vidmm, "ALLOC-005",
                "%s.PreferredSegment.SegmentId%u is %u, outside the supported set 0x%x", ddi, i,
                preferred[i], set);
            return false;
        }
    }
    for (i = 0; i < vidmm->caps.segment_count; i++) {
        if ((info->EvictionSegmentSet >> i & 1) && vidmm->segments[i].kind != SEGMENT_APERTURE &&
            !vidmm->caps.is_virtual) {
            vidmm_driver_error(vidmm, "ALLOC-007",
                               "%s.EvictionSegmentSet is 0x%x, but segment %u is not an aperture",
                               ddi, info->EvictionSegmentSet, i + 1);
            return false;
        }
    }

    allocation->driver_handle = info->hAllocation;
    allocation->page_count = div_round_up(info->Size, PAGE_BYTES);
    allocation->pitched_pages = div_round_up(info->PitchAlignedSize, PAGE_BYTES);
    if (allocation->is_for_context) /* nobody asks: one row, as long as it is */
        allocation->pitched_pages = allocation->page_count;
    allocation->alignment = info->Alignment > PAGE_BYTES ? info->Alignment : PAGE_BYTES;
    allocation->eviction_set = info->EvictionSegmentSet & all;
    allocation->priority_class = priority_class(info->AllocationPriority);
    allocation->is_cpu_visible = info->Flags.CpuVisible;
    allocation->is_cached = info->Flags.Cached;
    if (vidmm->caps.is_virtual) {
        allocation->is_accessed_physically = info->FlagsWddm2.AccessedPhysically;
        allocation->forbids_large_pages =
            vidmm->caps.interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_1 &&
            info->FlagsWddm2.DisableLargePageMapping;
        allocation->wants_residency_notice = info->FlagsWddm2.ExplicitResidencyNotification;
        if (vidmm->caps.interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM3_2) {
            allocation->wants_eviction_notice = info->Flags2.NotifyEviction;
            allocation->wants_unmap_notice = info->Flags2.NotifyIoMmuUnmap;
        }
    }
    allocation->is_permanent = !vidmm->caps.is_virtual && info->Flags.PermanentSysMem;
    allocation->uses_alternate_va =
        !vidmm->caps.is_virtual && info->Flags.UseAlternateVA && vidmm->caps.swizzling_range_count;
    allocation->is_swizzled =
        !vidmm->caps.is_virtual && info->Flags.Swizzled && has_memory_segment(vidmm, set);
    allocation->backing_is_linear = true;
    if (vidmm->caps.is_virtual &&
        vidmm->caps.interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_9 &&
        info->FlagsWddm2.MapApertureCpuVisible) {
        if (!vidmm->caps.maps_aperture2) {
            vidmm_driver_error(vidmm, "ADL-012",
                               "%s.Flags.MapApertureCpuVisible without MapAperture2Supported", ddi);
            return false;
        }
        allocation->wants_cpu_view = true;
    }
    for (i = 0; i < ARRAY_COUNT(preferred); i++) {
        if (preferred[i] && from_end[i])
            allocation->from_end |= 1u << (preferred[i] - 1);
        if (preferred[i])
            prefer(allocation, preferred[i]);
    }
    if (!vidmm->caps.is_virtual)
        allocation->renaming_limit = info->MaximumRenamingListLength;
    if (info->Flags.FromEndOfSegment)
        allocation->from_end = UINT32_MAX;
    if (!vidmm->caps.is_virtual)
        allocation->hinted_bank = info->HintedBank;
    for (i = 0; i < vidmm->caps.segment_count; i++) {
        if (set >> i & 1)
            prefer(allocation, i + 1);
    }
    if (!allocation->preference_count) {
        vidmm_driver_error(
            vidmm, "ALLOC-005",
            "%s.PitchAlignedSize is 0x%llx: nothing of the supported set 0x%x is left "
            "without the segments that have PitchAlignment",
            ddi, (unsigned long long)info->PitchAlignedSize, set);
        return false;
    }
    return true;
}

static void close_driver_handles(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;

    openings_close_of_allocation(allocation);
    if (allocation->device_handle) {
        DXGKARG_CLOSEALLOCATION close = {0};

        close.NumAllocations = 1;
        close.pOpenHandleList = &allocation->device_handle;
        miniport_close_allocation(vidmm->miniport, allocation->device->driver_device, &close);
    }
    if (allocation->driver_handle && !allocation->is_for_context) {
        DXGKARG_DESTROYALLOCATION destroy = {0};

        destroy.NumAllocations = 1;
        destroy.pAllocationList = &allocation->driver_handle;
        miniport_destroy_allocation(vidmm->miniport, NULL, &destroy);
    }
}

static NTSTATUS create_in_driver(struct vidmm_allocation *allocation, void *private_data,
                                 uint32_t private_data_bytes)
{
    struct vidmm *vidmm = allocation->vidmm;
    DXGKARG_CREATEALLOCATION create = {0};
    DXGK_ALLOCATIONINFO info = {0};
    DXGKARG_OPENALLOCATION open = {0};
    DXGK_OPENALLOCATIONINFO open_info = {0};
    NTSTATUS status;

    info.pPrivateDriverData = private_data;
    info.PrivateDriverDataSize = private_data_bytes;
    create.NumAllocations = 1;
    create.pAllocationInfo = &info;
    status = miniport_create_allocation(vidmm->miniport, NULL, &create);
    if (!NT_SUCCESS(status))
        return status;
    allocation->driver_handle = info.hAllocation;
    if (!accept_info(allocation, &info))
        return STATUS_INVALID_PARAMETER;
    status = allocation_accept_flags(allocation, &info);
    if (!NT_SUCCESS(status))
        return status;
    if (!vidmm->caps.is_virtual && PAGE_BYTES_OF(allocation->page_count) > MDL_MOST_BYTES)
        return STATUS_NOT_SUPPORTED; /* neither an MDL nor TransferOffset could say where its end is
                                      */

    open_info.hAllocation = allocation->handle;
    open_info.pPrivateDriverData = private_data;
    open_info.PrivateDriverDataSize = private_data_bytes;
    open.NumAllocations = 1;
    open.pOpenAllocation = &open_info;
    open.Flags.Create = 1;
    status = miniport_open_allocation(vidmm->miniport, allocation->device->driver_device, &open);
    if (!NT_SUCCESS(status))
        return status;
    allocation->device_handle = open_info.hDeviceSpecificAllocation;
    return STATUS_SUCCESS;
}

void allocation_init(struct vidmm_allocation *allocation, struct vidmm_device *device)
{
    allocation->vidmm = device->vidmm;
    allocation->device = device;
    allocation->first = allocation->current = allocation;
    allocation->instance_count = 1;
    list_init(&allocation->mappings);
    list_init(&allocation->lru);
    list_init(&allocation->dying);
    list_init(&allocation->offered);
    list_init(&allocation->openings);
    list_init(&allocation->reset);
    list_init(&allocation->device_link);
    list_init(&allocation->context_link);
}

static NTSTATUS create_allocation(struct vidmm_device *device, const void *private_data,
                                  uint32_t private_data_bytes, void *cookie, bool is_primary,
                                  struct vidmm_allocation **out_allocation)
{
    struct vidmm *vidmm = device->vidmm;
    struct vidmm_allocation *allocation;
    void *private_copy = NULL;
    NTSTATUS status = STATUS_NO_MEMORY;

    *out_allocation = NULL;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    allocation = base_alloc(vidmm->services, sizeof *allocation);
    if (!allocation)
        return STATUS_NO_MEMORY;
    allocation_init(allocation, device);
    allocation->cookie = cookie;
    allocation->is_primary = is_primary;
    if (private_data_bytes) {
        private_copy = base_alloc(vidmm->services, private_data_bytes);
        if (!private_copy)
            goto fail;
        memcpy(private_copy, private_data, private_data_bytes);
    }
    status = take_handle(vidmm, allocation);
    if (!NT_SUCCESS(status))
        goto fail;
    status = create_in_driver(allocation, private_copy, private_data_bytes);
    if (!NT_SUCCESS(status))
        goto fail;
    base_free(vidmm->services, private_copy, private_data_bytes);
    list_push_back(&device->allocations, &allocation->device_link);
    *out_allocation = allocation;
    return STATUS_SUCCESS;

fail:
    close_driver_handles(allocation);
    release_handle(allocation);
    base_free(vidmm->services, private_copy, private_data_bytes);
    base_free(vidmm->services, allocation, sizeof *allocation);
    return status;
}

NTSTATUS vidmm_allocation_create(struct vidmm_device *device, const void *private_data,
                                 uint32_t private_data_bytes, void *cookie,
                                 struct vidmm_allocation **out_allocation)
{
    return create_allocation(device, private_data, private_data_bytes, cookie, false,
                             out_allocation);
}

NTSTATUS vidmm_primary_create(struct vidmm_device *device, const void *private_data,
                              uint32_t private_data_bytes, void *cookie,
                              struct vidmm_allocation **out_allocation)
{
    return create_allocation(device, private_data, private_data_bytes, cookie, true,
                             out_allocation);
}

NTSTATUS vidmm_set_priority(struct vidmm_allocation *named, uint32_t priority)
{
    struct vidmm_allocation *allocation = allocation_current(named);
    bool is_listed = list_is_linked(&allocation->lru);

    if (!priority || allocation->is_destroyed)
        return priority ? STATUS_INVALID_HANDLE : STATUS_INVALID_PARAMETER;
    if (is_listed)
        segment_lru_remove(allocation);
    allocation->priority_class = priority_class(priority);
    if (is_listed)
        segment_lru_add(allocation);
    return STATUS_SUCCESS;
}

NTSTATUS allocation_create_for_context(struct vidmm_device *device, const DXGK_ALLOCATIONINFO *info,
                                       struct vidmm_allocation **out_allocation)
{
    struct vidmm *vidmm = device->vidmm;
    struct vidmm_allocation *allocation = base_alloc(vidmm->services, sizeof *allocation);
    NTSTATUS status;

    *out_allocation = NULL;
    if (!allocation)
        return STATUS_NO_MEMORY;
    allocation_init(allocation, device);
    allocation->is_for_context = true;
    status = take_handle(vidmm, allocation);
    if (NT_SUCCESS(status) && !accept_info(allocation, info))
        status = STATUS_INVALID_PARAMETER;
    if (!NT_SUCCESS(status)) {
        release_handle(allocation);
        base_free(vidmm->services, allocation, sizeof *allocation);
        return status;
    }
    list_push_back(&device->allocations, &allocation->device_link);
    *out_allocation = allocation;
    return STATUS_SUCCESS;
}

void *vidmm_allocation_cookie(const struct vidmm_allocation *allocation)
{
    return allocation->cookie;
}

uint64_t vidmm_allocation_size(const struct vidmm_allocation *allocation)
{
    return PAGE_BYTES_OF(allocation->page_count);
}

bool vidmm_allocation_is_resident(const struct vidmm_allocation *allocation)
{
    return allocation_current(allocation)->state == ALLOCATION_RESIDENT;
}

/* ---- Backing store --------------------------------------------------------------------------- */

static size_t mdl_bytes(uint64_t page_count)
{
    return sizeof(MDL) + (size_t)page_count * sizeof(uint64_t);
}

/* Pages come zeroed; content that is there at first is something else if config.fill_pattern is. */
static NTSTATUS fill_backing(const struct vidmm_allocation *allocation, const uint64_t *pages)
{
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;
    uint32_t pattern = allocation->vidmm->config.fill_pattern;
    uint32_t *words;

    if (!pattern || allocation->has_content)
        return STATUS_SUCCESS;
    if (platform->fill_pages) {
        platform->fill_pages(platform->context, allocation->page_count, pages, pattern);
        return STATUS_SUCCESS;
    }
    words = platform->map_pages(platform->context, allocation->page_count, pages);
    if (!words)
        return STATUS_NO_MEMORY;
    for (uint64_t i = 0; i < PAGE_BYTES_OF(allocation->page_count) / sizeof *words; i++)
        words[i] = pattern;
    platform->unmap_pages(platform->context, words, allocation->page_count);
    return STATUS_SUCCESS;
}

NTSTATUS allocation_take_backing(struct vidmm_allocation *allocation)
{
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;
    uint64_t bytes = PAGE_BYTES_OF(allocation->page_count);
    MDL *mdl;
    NTSTATUS status;

    ASSERT(!allocation->mdl);
    mdl = base_alloc(allocation->vidmm->services, mdl_bytes(allocation->page_count));
    if (!mdl)
        return STATUS_NO_MEMORY;
    do {
        status =
            platform->take_pages(platform->context, allocation->page_count, (uint64_t *)(mdl + 1));
    } while (!NT_SUCCESS(status) && offer_drop_backing(allocation->vidmm));
    if (!NT_SUCCESS(status)) {
        base_free(allocation->vidmm->services, mdl, mdl_bytes(allocation->page_count));
        return STATUS_NO_MEMORY;
    }
    status = fill_backing(allocation, (uint64_t *)(mdl + 1));
    if (!NT_SUCCESS(status)) {
        platform->release_pages(platform->context, allocation->page_count, (uint64_t *)(mdl + 1));
        base_free(allocation->vidmm->services, mdl, mdl_bytes(allocation->page_count));
        return status;
    }
    /* Size and ByteCount are too small for large allocations: they say as much as fits. */
    mdl->Size =
        (CSHORT)(mdl_bytes(allocation->page_count) < 0x7ff8 ? mdl_bytes(allocation->page_count)
                                                            : 0x7ff8);
    mdl->MdlFlags = MDL_PAGES_LOCKED;
    if (allocation->wants_cpu_address) {
        allocation->cpu_address =
            platform->map_pages(platform->context, allocation->page_count, (uint64_t *)(mdl + 1));
        if (!allocation->cpu_address) {
            platform->release_pages(platform->context, allocation->page_count,
                                    (uint64_t *)(mdl + 1));
            base_free(allocation->vidmm->services, mdl, mdl_bytes(allocation->page_count));
            return STATUS_NO_MEMORY;
        }
    }
    mdl->ByteCount = bytes <= MDL_MOST_BYTES ? (ULONG)bytes : MDL_MOST_BYTES;
    allocation->mdl = mdl;
    status = iommu_show_backing(allocation);
    if (!NT_SUCCESS(status))
        allocation_release_backing(allocation);
    return status;
}

void allocation_release_backing(struct vidmm_allocation *allocation)
{
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;

    if (!allocation->mdl)
        return;
    iommu_hide_backing(allocation);
    aperture_close_view(allocation);
    if (allocation->cpu_address)
        platform->unmap_pages(platform->context, allocation->cpu_address, allocation->page_count);
    allocation->cpu_address = NULL;
    platform->release_pages(platform->context, allocation->page_count,
                            allocation_backing_pages(allocation));
    base_free(allocation->vidmm->services, allocation->mdl, mdl_bytes(allocation->page_count));
    allocation->mdl = NULL;
}

/* ---- Holding and moving ---------------------------------------------------------------------- */

bool allocation_is_idle(const struct vidmm_allocation *allocation)
{
    /* Physical: whatever runs holds what it uses. */
    return !allocation->vidmm->caps.is_virtual ||
           allocation->busy_until <= submissions_retired(allocation->vidmm);
}

void allocation_bury_if_dead(struct vidmm_allocation *allocation)
{
    if (allocation->is_destroyed && !allocation->holds && !allocation->uses &&
        allocation->state != ALLOCATION_ENTERING && allocation->state != ALLOCATION_LEAVING) {
        list_push_back(&allocation->vidmm->dying, &allocation->dying);
        segment_lru_remove(allocation); /* the next request must not evict it as well */
    }
}

void allocation_hold(struct vidmm_allocation *allocation)
{
    if (allocation->holds++ == 0 && allocation->state == ALLOCATION_RESIDENT)
        segment_lru_remove(allocation);
}

void allocation_unhold(struct vidmm_allocation *allocation)
{
    ASSERT(allocation->holds > 0);
    if (--allocation->holds)
        return;
    allocation->busy_until = allocation->vidmm->submitted;
    if (allocation->state == ALLOCATION_RESIDENT)
        segment_lru_add(allocation);
    allocation_bury_if_dead(allocation);
}

void allocation_use(struct vidmm_allocation *allocation)
{
    allocation->uses++;
}

void allocation_unuse(struct vidmm_allocation *allocation)
{
    ASSERT(allocation->uses > 0);
    allocation->uses--;
    allocation_bury_if_dead(allocation);
}

void allocation_enter(struct vidmm_allocation *allocation)
{
    ASSERT(allocation->state == ALLOCATION_EMPTY || allocation->state == ALLOCATION_BACKED);
    allocation->state = ALLOCATION_ENTERING;
    allocation->is_published = false;
    allocation->job.ops =
        allocation->vidmm->caps.is_virtual ? &virtual_enter_ops : &physical_enter_ops;
    paging_queue_add(allocation->vidmm, &allocation->job);
}

void allocation_entered(struct job *job)
{
    struct vidmm_allocation *allocation = container_of(job, struct vidmm_allocation, job);
    struct vidmm_statistics *statistics = &allocation->vidmm->statistics;
    uint64_t bytes = PAGE_BYTES_OF(allocation->page_count);

    if (segment_holds_content(allocation->place.segment)) {
        if (allocation->mdl)
            statistics->moved_in_bytes += bytes;
        else
            statistics->filled_bytes += bytes;
        allocation->is_dirty = !allocation->mdl;
        if (!allocation->is_permanent)
            allocation_release_backing(allocation);
    }
    allocation->has_content = true;
    allocation->state = ALLOCATION_RESIDENT;
    alternate_va_entered(allocation);
    if (!allocation->holds)
        segment_lru_add(allocation);
    allocation_bury_if_dead(allocation);
}

static NTSTATUS leave(struct vidmm_allocation *allocation, const char *reason, bool is_for_cpu)
{
    struct vidmm *vidmm = allocation->vidmm;
    NTSTATUS status;

    ASSERT(allocation->state == ALLOCATION_RESIDENT);
    if (segment_holds_content(allocation->place.segment) && !allocation->mdl) {
        status = allocation_take_backing(allocation);
        if (!NT_SUCCESS(status))
            return status;
    }
    alternate_va_leaves(allocation, is_for_cpu);
    if (!vidmm->caps.is_virtual && segment_holds_content(allocation->place.segment) &&
        !allocation->has_range && !allocation_is_clean(allocation))
        segment_take_eviction_slots(allocation);
    if (!allocation->holds)
        segment_lru_remove(allocation);
    list_remove(&allocation->dying);
    allocation->state = ALLOCATION_LEAVING;
    segment_set_departure(allocation, GOES);
    vidmm->statistics.evictions++;
    if (vidmm->config.events.evicted)
        vidmm->config.events.evicted(vidmm->config.events.context, allocation->first, reason);
    allocation->job.ops = vidmm->caps.is_virtual ? &virtual_leave_ops : &physical_leave_ops;
    paging_queue_add(vidmm, &allocation->job);
    return STATUS_SUCCESS;
}

NTSTATUS allocation_leave(struct vidmm_allocation *allocation, const char *reason)
{
    ASSERT(!allocation->holds);
    return leave(allocation, reason, false);
}

NTSTATUS allocation_leave_for_cpu(struct vidmm_allocation *allocation)
{
    return leave(allocation, "CPU access", true);
}

NTSTATUS allocation_park(struct vidmm_allocation *allocation)
{
    NTSTATUS status = leave(allocation, "power", false);

    allocation->is_parked = NT_SUCCESS(status);
    return status;
}

void allocation_map_again(struct vidmm_allocation *allocation)
{
    if (!allocation->holds)
        segment_lru_remove(allocation);
    list_remove(&allocation->dying);
    allocation->entries_valid = false;
    allocation->state = ALLOCATION_ENTERING;
    allocation->is_published = false;
    allocation->job.ops = &virtual_map_again_ops;
    paging_queue_add(allocation->vidmm, &allocation->job);
}

void allocation_mapped_again(struct job *job)
{
    struct vidmm_allocation *allocation = container_of(job, struct vidmm_allocation, job);

    allocation->state = ALLOCATION_RESIDENT;
    if (!allocation->holds)
        segment_lru_add(allocation);
    allocation_bury_if_dead(allocation);
}

void allocation_left(struct job *job)
{
    struct vidmm_allocation *allocation = container_of(job, struct vidmm_allocation, job);
    struct vidmm_statistics *statistics = &allocation->vidmm->statistics;

    if (segment_holds_content(allocation->place.segment) && allocation_is_clean(allocation))
        statistics->discarded_bytes += PAGE_BYTES_OF(allocation->page_count);
    else if (segment_holds_content(allocation->place.segment)) {
        statistics->moved_out_bytes += PAGE_BYTES_OF(allocation->page_count);
        allocation->backing_is_linear = allocation->unswizzles;
    }
    segment_release_eviction_slots(allocation);
    alternate_va_left(allocation);
    if (allocation->is_parked)
        segment_set_departure(allocation, allocation->is_destroyed ? DOOMED : STAYS);
    else
        segment_unplace(allocation);
    allocation->state = ALLOCATION_BACKED;
    offer_enlist(allocation);
    allocation_bury_if_dead(allocation);
}

/* ---- The end --------------------------------------------------------------------------------- */

void allocation_doom(struct vidmm_allocation *allocation)
{
    ASSERT(!allocation->is_destroyed);
    allocation->is_destroyed = true;
    allocation->vidmm->doomed_count++;
    if (allocation->state != ALLOCATION_LEAVING)
        segment_set_departure(allocation, DOOMED);
    if (!allocation->holds)
        allocation->busy_until = allocation->vidmm->submitted;
    allocation_bury_if_dead(allocation);
}

void vidmm_allocation_destroy(struct vidmm_allocation *named)
{
    struct vidmm_allocation *allocation = allocation_current(named);

    offer_cancel(allocation);
    allocation_doom(allocation);
    vidmm_pump(allocation->vidmm);
}

static void free_allocation(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;
    struct vidmm_device *device = allocation->device;

    while (!list_is_empty(&allocation->mappings))
        mapping_free(container_of(allocation->mappings.next, struct mapping, allocation_link));
    alternate_va_close(allocation);
    if (allocation->place.segment)
        segment_unplace(allocation);
    allocation_release_backing(allocation);
    vidmm->doomed_count--;
    allocation = instance_ended(allocation);
    if (!allocation)
        return;
    close_driver_handles(allocation);
    release_handle(allocation);
    list_remove(&allocation->device_link);
    base_free(vidmm->services, allocation, sizeof *allocation);
    device_free_if_done(device);
}

void allocation_die(struct vidmm_allocation *allocation)
{
    if (allocation->state == ALLOCATION_RESIDENT)
        segment_lru_remove(allocation);
    if (allocation->place.segment && segment_holds_content(allocation->place.segment))
        allocation->vidmm->statistics.discarded_bytes += PAGE_BYTES_OF(allocation->page_count);
    allocation->state = ALLOCATION_DYING;
    segment_set_departure(allocation, GOES);
    list_remove(&allocation->dying);
    allocation->job.ops = allocation->vidmm->caps.is_virtual ? &virtual_die_ops : &physical_die_ops;
    paging_queue_add(allocation->vidmm, &allocation->job);
}

void allocation_died(struct job *job)
{
    free_allocation(container_of(job, struct vidmm_allocation, job));
}

void allocation_cleaned_up(struct vidmm_allocation *allocation)
{
    segment_release_eviction_slots(allocation);
    switch (allocation->state) {
    case ALLOCATION_LEAVING:
        segment_unplace(allocation);
        allocation->state = allocation->mdl ? ALLOCATION_BACKED : ALLOCATION_EMPTY;
        offer_enlist(allocation);
        allocation_bury_if_dead(allocation);
        break;
    case ALLOCATION_DYING:
        free_allocation(allocation);
        break;
    default:
        break; /* it has kept its place */
    }
}

bool allocations_bury(struct vidmm *vidmm)
{
    bool did_anything = false;

    while (!list_is_empty(&vidmm->dying)) {
        struct vidmm_allocation *allocation =
            container_of(vidmm->dying.next, struct vidmm_allocation, dying);

        if (!allocation_is_idle(allocation))
            break;
        allocation_die(allocation);
        did_anything = true;
    }
    return did_anything;
}
