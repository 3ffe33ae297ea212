/*
 * Moves: a resident allocation gets another place, in its segment or in another one, without going
 * out to system memory.
 *
 * The new place is taken before anything moves and the old one released when the last packet has
 * retired, so the two never overlap (XFER-019). Meanwhile the allocation is LEAVING for everybody
 * else: requests wait, and find it resident.
 *
 *     physical   TRANSFER from segment to segment; the next packet is patched with the new address
 *     GpuMmu     its mappings are made invalid and flushed; chunk by chunk through scratch, both
 *                sides in local memory; its mappings are made valid at the new place
 *
 * `place` is the place in force; the other one waits in `other`. The generator of GpuMmu swaps the
 * two for the destination side of a chunk, and for good before the mappings are written again.
 *
 * Source     contract.md XFER-019, RES-011; sequence S-11.
 */
#include "vidmm/residency/move.h"

#include "vidmm/adapter/power.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_paging.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/views/alternate_va.h"
#include "vidmm/memory/segment.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include "base/services.h"

NTSTATUS move_take_place(struct vidmm_allocation *allocation, struct segment *target)
{
    const struct base_services *services = allocation->vidmm->services;
    struct placement *other = base_alloc(services, sizeof *other);
    bool is_idle;
    NTSTATUS status;

    if (!other)
        return STATUS_NO_MEMORY;
    reference_lists_note_change(allocation);
    is_idle = allocation->listed == LISTED_EVICTABLE;
    if (is_idle)
        segment_lru_remove(allocation);
    status = segment_take_place(target, allocation, other);
    if (is_idle)
        segment_lru_add(allocation);
    if (NT_SUCCESS(status))
        allocation->other = other;
    else
        base_free(services, other, sizeof *other);
    return status;
}

static bool is_allowed_in(const struct vidmm_allocation *allocation, unsigned segment_id)
{
    unsigned i;

    for (i = 0; i < allocation->preference_count; i++) {
        if (allocation->preference[i] == segment_id)
            return true;
    }
    return false;
}

/* Of two places in one segment: nearer to the start, or in fewer pieces. */
static bool is_better(const struct placement *place, const struct placement *other)
{
    return place->segment->kind == SEGMENT_PAGES ? place->runs->count < other->runs->count
                                                 : place->offset < other->offset;
}

NTSTATUS vidmm_move(struct vidmm_allocation *named, unsigned segment_id)
{
    struct vidmm_allocation *allocation = allocation_current(named);
    struct vidmm *vidmm = allocation->vidmm;
    struct segment *target;
    NTSTATUS status;

    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    if (allocation->is_destroyed)
        return STATUS_INVALID_HANDLE;
    if (!segment_id || segment_id > vidmm->caps.segment_count)
        return STATUS_INVALID_PARAMETER;
    target = segment_by_id(vidmm, segment_id);
    if (allocation->state == ALLOCATION_ENTERING || allocation->state == ALLOCATION_LEAVING ||
        vidmm->power.state != POWER_ON)
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    if (allocation->state != ALLOCATION_RESIDENT ||
        !segment_holds_content(allocation->place.segment) || !segment_holds_content(target) ||
        !is_allowed_in(allocation, segment_id))
        return STATUS_INVALID_PARAMETER;
    if (target->unit_pages != allocation->place.segment->unit_pages)
        return STATUS_NOT_SUPPORTED; /* scratch would have to show pages of two sizes */
    if (allocation_holds(allocation) || allocation->uses || !allocation_is_idle(allocation))
        return STATUS_GRAPHICS_ALLOCATION_BUSY;

    if (allocation->is_pinned)
        return STATUS_GRAPHICS_CANT_EVICT_PINNED_ALLOCATION;
    alternate_va_close(allocation); /* the next lock has one where it is then */
    status = move_take_place(allocation, target);
    if (!NT_SUCCESS(status))
        return status;
    if (target == allocation->place.segment && !is_better(allocation->other, &allocation->place)) {
        move_release_other(allocation);
        return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
    }
    move_begin(allocation);
    vidmm_pump(vidmm);
    return STATUS_SUCCESS;
}

bool vidmm_allocation_segment(const struct vidmm_allocation *named, unsigned *out_segment)
{
    const struct vidmm_allocation *allocation = allocation_current(named);

    *out_segment = allocation->place.segment ? allocation->place.segment->id : 0;
    return allocation->state == ALLOCATION_RESIDENT;
}

unsigned vidmm_allocation_choice(const struct vidmm_allocation *named, unsigned index)
{
    const struct vidmm_allocation *allocation = allocation_current(named);

    return index < allocation->preference_count ? allocation->preference[index] : VIDMM_NO_CHOICE;
}
