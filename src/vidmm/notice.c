/*
 * Notices: paging operations that move nothing and tell the driver where things are.
 *
 * NOTIFY_RESIDENCY says once a commit, behind the operations that bring the content, at which physical
 * address an allocation is that is accessed physically, and once an eviction, before the first
 * operation that takes it away, that it goes. Destroying a resident allocation is an eviction, too.
 *
 * Source     contract.md NTF-001..006; steps of S-05, S-07.
 */
#include "vidmm/private.h"

void notice_op_residency(struct vidmm_allocation *allocation, bool is_resident,
                         DXGKARG_BUILDPAGINGBUFFER *args)
{
    DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *notice = &args->NotifyResidency;

    args->Operation = DXGK_OPERATION_NOTIFY_RESIDENCY;
    notice->hAllocation = allocation->driver_handle;
    notice->Resident = is_resident;
    allocation->is_noticed = is_resident;
    if (!is_resident)
        return; /* address (0, 0): NTF-004 */
    notice->PhysicalAddress.SegmentId = allocation->segment->id;
    notice->PhysicalAddress.SegmentOffset = allocation->segment->kind == SEGMENT_PAGES
                                                ? segment_page_offset(allocation, 0)
                                                : allocation->offset;
}
