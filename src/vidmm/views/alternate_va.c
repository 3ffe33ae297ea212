/*
 * Swizzling ranges: how the CPU sees allocations that lie in another order in memory (below WDDM
 * 2.0).
 *
 * A lock that asks for it (VIDMM_LOCK_ACQUIRE_APERTURE), of an allocation in a memory segment that
 * the CPU can see, acquires one of the driver's ranges. The range outlives the lock, for the next
 * one, until the allocation leaves, or another one that is to be locked needs its number. Where the
 * driver has no range, the allocation leaves: in system memory it is linear.
 *
 * With UseAlternateVA the address stays set up from the first lock on, wherever the allocation is:
 * when it leaves, SPECIAL_LOCK_TRANSFER takes the place of TRANSFER and the range is released
 * behind it; when it comes back, the same number is acquired again. The same holds for what a sleep
 * takes out while it is locked.
 *
 * Allocations that the driver marks Swizzled keep their order on the way out (SWZ-008). Only for
 * the CPU are they asked for in linear order (Unswizzle), and then Swizzle asks for theirs on the
 * way back. What was evicted in its own order comes back before the CPU may look at it. They are
 * never mapped in apertures.
 *
 * Source     contract.md SWZ-001..010, SLT-001..007, XFER-014, XFER-015; sequence S-19.
 */
#include "vidmm/views/alternate_va.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/adapter/driver_error.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/backing.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/vidmm_private.h"

static struct swizzling_range *range_of(const struct vidmm_allocation *allocation)
{
    return &allocation->vidmm->swizzling_ranges[allocation->range - 1];
}

bool alternate_va_is_acquired(const struct vidmm_allocation *allocation)
{
    return allocation->range && range_of(allocation)->is_acquired;
}

uint64_t alternate_va_address(const struct vidmm_allocation *allocation)
{
    return range_of(allocation)->address;
}

static void release(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;
    struct swizzling_range *range = range_of(allocation);
    DXGKARG_RELEASESWIZZLINGRANGE args = {0};
    NTSTATUS status;

    if (!range->is_acquired)
        return;
    range->is_acquired = false;
    args.hAllocation = allocation->driver_handle;
    args.PrivateDriverData = range->data;
    args.RangeId = allocation->range - 1;
    status = miniport_release_swizzling_range(vidmm->miniport, NULL, &args);
    if (status != STATUS_SUCCESS)
        vidmm_driver_error(vidmm, "SWZ-004",
                           "DxgkDdiReleaseSwizzlingRange(range %u) returned 0x%08x", args.RangeId,
                           (unsigned)status);
}

static NTSTATUS acquire(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;
    const struct segment *segment = allocation->place.segment;
    struct swizzling_range *range = range_of(allocation);
    DXGKARG_ACQUIRESWIZZLINGRANGE args = {0};
    NTSTATUS status;

    args.hAllocation = allocation->driver_handle;
    args.PrivateDriverData = range->data;
    args.RangeId = allocation->range - 1;
    args.SegmentId = segment->id;
    args.RangeSize = (SIZE_T)PAGE_BYTES_OF(allocation->page_count);
    args.CPUTranslatedAddress.QuadPart =
        (LONGLONG)(segment->caps->cpu_address + allocation->place.offset);
    status = miniport_acquire_swizzling_range(vidmm->miniport, NULL, &args);
    if (status == STATUS_SUCCESS) {
        range->is_acquired = true;
        range->address = (uint64_t)args.CPUTranslatedAddress.QuadPart;
    } else if (status != STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE &&
               status != STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED) {
        vidmm_driver_error(vidmm, "SWZ-003",
                           "DxgkDdiAcquireSwizzlingRange(range %u) returned 0x%08x, which is not "
                           "lawful",
                           args.RangeId, (unsigned)status);
    }
    return status;
}

void alternate_va_close(struct vidmm_allocation *allocation)
{
    if (!allocation->range)
        return;
    release(allocation);
    *range_of(allocation) = (struct swizzling_range){0};
    allocation->range = 0;
}

/* A number nobody has, or that of an allocation that can do without; false: none. */
static bool take_range(struct vidmm *vidmm, unsigned *out_id)
{
    unsigned id;

    for (id = 0; id < vidmm->caps.swizzling_range_count; id++) {
        *out_id = id;
        if (!vidmm->swizzling_ranges[id].owner)
            return true;
    }
    for (id = 0; id < vidmm->caps.swizzling_range_count; id++) {
        struct vidmm_allocation *owner = vidmm->swizzling_ranges[id].owner;

        *out_id = id;
        if (owner->lock_count || owner->state != ALLOCATION_RESIDENT)
            continue;
        alternate_va_close(owner);
        return true;
    }
    return false;
}

void alternate_va_open(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;
    const struct segment *segment = allocation->place.segment;
    unsigned id, tries;

    if (allocation->has_no_range || allocation->range || !segment ||
        segment->kind != SEGMENT_CONTIGUOUS || !segment->caps->is_cpu_visible)
        return;
    for (tries = 0; tries < vidmm->caps.swizzling_range_count && take_range(vidmm, &id); tries++) {
        NTSTATUS status;

        allocation->range = (uint8_t)(id + 1);
        vidmm->swizzling_ranges[id] =
            (struct swizzling_range){.owner = allocation, .data = allocation->handle};
        status = acquire(allocation);
        if (status == STATUS_SUCCESS)
            return;
        alternate_va_close(allocation);
        if (status != STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE) {
            allocation->uses_alternate_va = false;
            allocation->has_no_range = true;
            return;
        }
    }
}

void alternate_va_leaves(struct vidmm_allocation *allocation, bool is_for_cpu)
{
    if (allocation->range && !allocation->uses_alternate_va && !allocation->lock_count)
        alternate_va_close(allocation);
    allocation->unswizzles = is_for_cpu || allocation->range != 0;
}

void alternate_va_left(struct vidmm_allocation *allocation)
{
    if (allocation->range)
        release(allocation);
}

void alternate_va_entered(struct vidmm_allocation *allocation)
{
    if (!allocation->range)
        return;
    if (allocation->place.segment->kind != SEGMENT_CONTIGUOUS ||
        !allocation->place.segment->caps->is_cpu_visible || acquire(allocation) != STATUS_SUCCESS)
        alternate_va_close(allocation);
}

/* ---- Transfers ------------------------------------------------------------------------------- */

void alternate_va_set_order(const struct vidmm_allocation *allocation, bool is_in,
                            DXGK_TRANSFERFLAGS *flags)
{
    if (!allocation->is_swizzled)
        return;
    flags->Swizzle = is_in && allocation->backing_is_linear;
    flags->Unswizzle = !is_in && allocation->unswizzles;
}

/*
 * TransferOffset counts in the segment alone. There is no MdlOffset, so that a part has a list of
 * its own pages (SLT-003).
 */
void alternate_va_op_transfer(const struct vidmm_allocation *allocation, bool is_in,
                              uint64_t offset, uint64_t size, DXGKARG_BUILDPAGINGBUFFER *args)
{
    const uint64_t total = PAGE_BYTES_OF(allocation->page_count);
    LONGLONG address = (LONGLONG)(allocation->place.segment->caps->base + allocation->place.offset);
    MDL *list = size == total ? allocation->mdl : allocation_backing_part(allocation, offset);

    args->Operation = DXGK_OPERATION_SPECIAL_LOCK_TRANSFER;
    args->SpecialLockTransfer.hAllocation = allocation->driver_handle;
    args->SpecialLockTransfer.TransferOffset = (UINT)offset;
    args->SpecialLockTransfer.TransferSize = (SIZE_T)size;
    if (is_in) {
        args->SpecialLockTransfer.Source.pMdl = list;
        args->SpecialLockTransfer.Destination.SegmentId = allocation->place.segment->id;
        args->SpecialLockTransfer.Destination.SegmentAddress.QuadPart = address;
    } else {
        args->SpecialLockTransfer.Source.SegmentId = allocation->place.segment->id;
        args->SpecialLockTransfer.Source.SegmentAddress.QuadPart = address;
        args->SpecialLockTransfer.Destination.pMdl = list;
    }
    args->SpecialLockTransfer.Flags.AllocationIsIdle = allocation->vidmm->config.announces_idle;
    alternate_va_set_order(allocation, is_in, &args->SpecialLockTransfer.Flags);
    args->SpecialLockTransfer.Flags.TransferStart = offset == 0;
    args->SpecialLockTransfer.Flags.TransferEnd = offset + size == total;
    args->SpecialLockTransfer.SwizzlingRangeId = allocation->range - 1;
    args->SpecialLockTransfer.SwizzlingRangeData = range_of(allocation)->data;
}
