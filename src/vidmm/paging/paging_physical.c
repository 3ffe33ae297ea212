/*
 * Paging operations of the physical model: how an allocation enters, leaves and dies.
 *
 *     memory segment   enter   FILL without content (INIT_CONTEXT_RESOURCE for one that belongs to
 * a context), else TRANSFER from the backing store leave   DISCARD_CONTENT where the backing store
 * is still good, else TRANSFER to the backing store, directly or, with an eviction segment, through
 * aperture slots that show it: MAP, TRANSFER, UNMAP die, drop an offered one   DISCARD_CONTENT AGP
 * the bridge's driver maps; leaving, READ_PHYSICAL and WRITE_PHYSICAL get the GPU's writes out of
 * it aperture         enter   MAP_APERTURE_SEGMENT of the backing store, and behind it the first
 *                              INIT_CONTEXT_RESOURCE
 *                      leave   UNMAP_APERTURE_SEGMENT (the content is in the backing store already)
 *                      die, drop   UNMAP_APERTURE_SEGMENT
 *
 * A transfer of more than vidmm_config.transfer_bytes is cut, at the latest because TransferOffset
 * is 32 bits wide; MdlOffset moves with it (XFER-006, XFER-007). A Swizzled allocation goes at
 * once: a part of one order is not a part of the other. So does one that takes more of its segment
 * than it has bytes: TransferSize is that of the packed copy, and where its rows are is for the
 * driver to know (XFER-018).
 *
 * Source     contract.md XFER, FILL, DISC, APER; sequences S-03, S-04, S-06, S-11, S-12.
 */
#include "vidmm/paging/paging_physical.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/views/agp.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/views/alternate_va.h"
#include "vidmm/views/aperture.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/context_init.h"
#include "vidmm/paging/job.h"
#include "vidmm/vidmm_private.h"

#include "base/bits.h"

static struct vidmm_allocation *job_allocation(struct job *job)
{
    return container_of(job, struct vidmm_allocation, job);
}

static LONGLONG segment_address(const struct vidmm_allocation *allocation)
{
    return (LONGLONG)(allocation->place.segment->caps->base + allocation->place.offset);
}

/* The part of the transfer at job->cursor; false behind the end. */
static bool transfer(struct vidmm_allocation *allocation, bool is_in,
                     DXGKARG_BUILDPAGINGBUFFER *args)
{
    uint64_t total = PAGE_BYTES_OF(allocation->page_count);
    uint64_t offset = allocation->job.cursor;
    uint64_t size = min_u64(total - offset, allocation->vidmm->config.transfer_bytes);

    if (allocation->is_swizzled || allocation_is_pitched(allocation) ||
        (allocation->other &&
         segment_page_count(allocation->other->segment, allocation) != allocation->page_count))
        size = total - offset; /* which bytes a part of it is, only the driver knows */
    if (offset == total)
        return false;
    allocation->job.cursor += size;
    /* SLT-001; without UseAlternateVA the range is given up, or a lock outlives a sleep. */
    if (allocation->range && allocation->uses_alternate_va) {
        alternate_va_op_transfer(allocation, is_in, offset, size, args);
        return true;
    }
    args->Operation = DXGK_OPERATION_TRANSFER;
    args->Transfer.hAllocation = allocation->driver_handle;
    args->Transfer.TransferOffset = (UINT)offset;
    args->Transfer.TransferSize = (SIZE_T)size;
    args->Transfer.MdlOffset = (UINT)(offset / PAGE_BYTES);
    if (is_in) {
        args->Transfer.Source.pMdl = allocation->mdl;
        args->Transfer.Destination.SegmentId = allocation->place.segment->id;
        args->Transfer.Destination.SegmentAddress.QuadPart = segment_address(allocation);
    } else {
        args->Transfer.Source.SegmentId = allocation->place.segment->id;
        args->Transfer.Source.SegmentAddress.QuadPart = segment_address(allocation);
        args->Transfer.Destination.pMdl = allocation->mdl;
    }
    args->Transfer.Flags.AllocationIsIdle = allocation->vidmm->config.announces_idle;
    alternate_va_set_order(allocation, is_in, &args->Transfer.Flags);
    args->Transfer.Flags.TransferStart = offset == 0;
    args->Transfer.Flags.TransferEnd = offset + size == total;
    return true;
}

static void fill(struct vidmm_allocation *allocation, DXGKARG_BUILDPAGINGBUFFER *args)
{
    args->Operation = DXGK_OPERATION_FILL;
    args->Fill.hAllocation = allocation->driver_handle;
    args->Fill.FillSize =
        (SIZE_T)PAGE_BYTES_OF(segment_page_count(allocation->place.segment, allocation));
    args->Fill.FillPattern = allocation->vidmm->config.fill_pattern;
    args->Fill.Destination.SegmentId = allocation->place.segment->id;
    args->Fill.Destination.SegmentAddress.QuadPart = segment_address(allocation);
}

static void discard(struct vidmm_allocation *allocation, DXGKARG_BUILDPAGINGBUFFER *args)
{
    args->Operation = DXGK_OPERATION_DISCARD_CONTENT;
    args->DiscardContent.hAllocation = allocation->driver_handle;
    args->DiscardContent.Flags.AllocationIsIdle = allocation->vidmm->config.announces_idle;
    args->DiscardContent.SegmentId = allocation->place.segment->id;
    args->DiscardContent.SegmentAddress.QuadPart = segment_address(allocation);
}

enum job_step physical_enter_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_allocation *allocation = job_allocation(job);

    bool wants_image = allocation->context && !allocation->has_content;

    if (allocation->place.segment->kind == SEGMENT_APERTURE && job->phase == 0) {
        if (aperture_op_map(allocation, allocation->place.segment, allocation->place.offset, args))
            return JOB_OPERATION;
        job->phase = 1;
    }
    if (allocation->place.segment->kind == SEGMENT_APERTURE ||
        allocation->place.segment->kind == SEGMENT_AGP) {
        if (!wants_image || job->phase == 2)
            return JOB_DONE; /* it shows the backing store */
        job->phase = 2;
        context_allocation_op_init(allocation, args);
        return JOB_OPERATION;
    }
    if (!allocation->mdl) {
        if (job->phase++)
            return JOB_DONE;
        if (wants_image)
            context_allocation_op_init(allocation, args);
        else
            fill(allocation, args);
        return JOB_OPERATION;
    }
    return transfer(allocation, true, args) ? JOB_OPERATION : JOB_DONE;
}

enum job_step physical_leave_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_allocation *allocation = job_allocation(job);
    const struct segment *aperture = segment_of_eviction_slots(allocation);

    if (allocation->place.segment->kind == SEGMENT_APERTURE)
        return aperture_op_unmap(allocation, allocation->place.segment, allocation->place.offset,
                                 args)
                   ? JOB_OPERATION
                   : JOB_DONE;
    if (allocation->place.segment->kind == SEGMENT_AGP)
        return allocation->is_agp_dirty && agp_op_flush(allocation, &job->phase, args)
                   ? JOB_OPERATION
                   : JOB_DONE;
    if (allocation_is_clean(allocation)) {
        if (job->phase++)
            return JOB_DONE;
        discard(allocation, args);
        return JOB_OPERATION;
    }
    if (!aperture)
        return transfer(allocation, false, args) ? JOB_OPERATION : JOB_DONE;

    switch (job->phase) {
    case 0:
        if (aperture_op_map(allocation, aperture, PAGE_BYTES_OF(allocation->eviction_slot), args))
            return JOB_OPERATION;
        job->phase = 1;
        /* fall through */
    case 1:
        if (transfer(allocation, false, args)) {
            args->Transfer.Destination.SegmentId = aperture->id;
            args->Transfer.Destination.SegmentAddress.QuadPart =
                (LONGLONG)(aperture->caps->base + PAGE_BYTES_OF(allocation->eviction_slot));
            args->Transfer.MdlOffset = 0;
            return JOB_OPERATION;
        }
        job->phase = 2;
        /* fall through */
    default:
        return aperture_op_unmap(allocation, aperture, PAGE_BYTES_OF(allocation->eviction_slot),
                                 args)
                   ? JOB_OPERATION
                   : JOB_DONE;
    }
}

/* From segment to segment (XFER-019). */
enum job_step physical_move_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_allocation *allocation = job_allocation(job);
    const struct placement *target = allocation->other;

    if (!transfer(allocation, false, args))
        return JOB_DONE;
    args->Transfer.Destination.SegmentId = target->segment->id;
    args->Transfer.Destination.SegmentAddress.QuadPart =
        (LONGLONG)(target->segment->caps->base + target->offset);
    args->Transfer.MdlOffset = 0;
    args->Transfer.Flags.Unswizzle = 0; /* it stays as it is (SWZ-008) */
    return JOB_OPERATION;
}

enum job_step physical_die_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_allocation *allocation = job_allocation(job);

    if (allocation->place.segment && allocation->place.segment->kind == SEGMENT_APERTURE)
        return aperture_op_unmap(allocation, allocation->place.segment, allocation->place.offset,
                                 args)
                   ? JOB_OPERATION
                   : JOB_DONE;
    if (!allocation->place.segment || allocation->place.segment->kind == SEGMENT_AGP ||
        job->phase++)
        return JOB_DONE;
    discard(allocation, args);
    return JOB_OPERATION;
}
