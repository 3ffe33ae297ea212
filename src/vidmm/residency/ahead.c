/*
 * Ahead: one decision a time, the soonest use first.
 *
 *     the client's clock   done          submitted        use of X          ahead_ns
 *                          |--- queued ---|----------------|-----------------|
 *     free in the segment  now ................ the least of it counts for X
 *
 * X comes in when what is free now, and stays free until its use while things are created and
 * destroyed, has room for X. Otherwise the policy's victim leaves, if its next use is behind that
 * of X. When nothing that is absent will be used in time, the same is done for what will be
 * created.
 */
#include "vidmm/residency/ahead.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/forecast.h"
#include "vidmm/memory/segment.h"
#include "vidmm/policy.h"
#include "vidmm/residency/budget.h"
#include "vidmm/residency/room.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/device.h"

#include "base/bits.h"
#include "base/list.h"

static const char reason[] = "for what comes next";

/* Up to this time of the client others leave for what is to come; 0: they do not. */
static uint64_t eviction_horizon(const struct vidmm *vidmm)
{
    const struct vidmm_policy *policy = vidmm->config.policy;

    if (!policy->evict_lead_ns || !policy->evict_most_ns)
        return 0;
    return min_u64(vidmm->forecast.submitted_ns + policy->evict_lead_ns,
                   vidmm->forecast.done_ns + policy->evict_most_ns);
}

/* A slot for one more that comes in; NULL: enough are under way. */
static D3DKMT_HANDLE *free_slot(struct vidmm *vidmm)
{
    for (unsigned i = 0; i < AHEAD_MOST; i++) {
        D3DKMT_HANDLE *slot = &vidmm->ahead.entering[i];
        const struct vidmm_allocation *allocation = allocation_by_handle(vidmm, *slot);

        if (!allocation || allocation->state != ALLOCATION_ENTERING)
            return slot;
    }
    return NULL;
}

/* Nobody has done anything with the allocation but put it aside. */
static bool may_come_in(const struct vidmm_allocation *allocation)
{
    return allocation->state == ALLOCATION_BACKED && !allocation->is_destroyed &&
           !allocation->is_offered && !allocation->is_parked && !allocation->lock_count &&
           !allocation->instances && !allocation->tables_left && !allocation->is_reset &&
           !allocation->is_fetched && !allocation->is_dma_buffer && !allocation->context &&
           !vidmm_device_is_in_error(allocation->device);
}

/* What will be free there up to the time, at the least. */
static int64_t least_free(const struct vidmm *vidmm, const struct segment *segment,
                          uint64_t until_ns)
{
    int64_t now = (int64_t)(segment_free(vidmm, segment) + segment->leaving + segment->doomed);

    return forecast_least_free(vidmm, segment, until_ns, now);
}

/* The policy's victim leaves when it will be used behind the time, if at all. */
static bool make_room_until(struct vidmm *vidmm, struct segment *segment, uint64_t until_ns)
{
    struct vidmm_allocation *victim = room_find_victim(vidmm, segment);
    uint64_t next_ns;

    if (!victim || !forecast_next_use(victim, &next_ns) || next_ns <= until_ns)
        return false;
    return NT_SUCCESS(room_evict(victim, reason));
}

enum outcome { NOTHING, BEGUN, BLOCKED };

/* The absent allocation that will be used first. */
static enum outcome bring_in(struct vidmm *vidmm, D3DKMT_HANDLE *slot, uint64_t horizon_ns)
{
    enum outcome outcome = BLOCKED;
    struct vidmm_allocation *allocation;
    struct segment *segment;
    uint64_t use_ns, bytes;

    allocation = forecast_take_absent(vidmm, &use_ns);
    if (!allocation)
        return NOTHING;
    if (use_ns > horizon_ns) {
        forecast_put_back(allocation);
        return NOTHING;
    }
    if (!may_come_in(allocation))
        return BEGUN; /* it stays away, and the next one is looked at */
    segment = room_wanted_segment(allocation);
    bytes = segment_footprint(segment, allocation);
    if (!segment_holds_content(segment))
        return BEGUN; /* it comes in without a copy when it is asked for */
    if (least_free(vidmm, segment, use_ns) >= (int64_t)bytes) {
        if (segment_free(vidmm, segment) >= bytes && NT_SUCCESS(room_take(segment, allocation))) {
            *slot = allocation->handle;
            vidmm->statistics.ahead++;
            vidmm->statistics.ahead_bytes += bytes;
            return BEGUN;
        }
    } else if (use_ns <= eviction_horizon(vidmm) && !segment->leaving &&
               make_room_until(vidmm, segment, use_ns)) {
        outcome = BEGUN;
    }
    forecast_put_back(allocation);
    return outcome;
}

/* Whether something has been begun for what will be created. */
static bool prepare(struct vidmm *vidmm, uint64_t horizon_ns)
{
    struct segment *segment = vidmm->forecast.segment;

    return segment && !segment->leaving && least_free(vidmm, segment, horizon_ns) < 0 &&
           make_room_until(vidmm, segment, horizon_ns);
}

/* At most so small a part of a segment is kept free. */
#define SPARE_PART 64u

/*
 * Keeps some of the segment free that had too little room last. What a waiting request wants stays,
 * and bytes of destroyed allocations count as free: they will be soon.
 */
static bool keep_spare(struct vidmm *vidmm)
{
    struct segment *segment = vidmm->ahead.pressed;
    struct vidmm_allocation *victim;
    uint64_t spare;

    if (!segment || !vidmm->config.policy->spare_bytes || !NT_SUCCESS(vidmm->refusal))
        return false;
    spare = min_u64(vidmm->config.policy->spare_bytes, segment->size / SPARE_PART);
    if (segment_free(vidmm, segment) + room_leaving(vidmm, segment) + segment->doomed >= spare)
        return false;
    victim = room_find_victim(vidmm, segment);
    return victim && !victim->uses && NT_SUCCESS(room_evict(victim, reason));
}

bool ahead_run(struct vidmm *vidmm)
{
    uint64_t ahead_ns = vidmm->config.policy->ahead_ns;
    uint64_t horizon_ns = vidmm->forecast.submitted_ns + ahead_ns;
    D3DKMT_HANDLE *slot;

    if (keep_spare(vidmm))
        return true;
    if (!ahead_ns || !vidmm->forecast.told_count || !list_is_empty(&vidmm->requests) ||
        !NT_SUCCESS(vidmm->refusal))
        return false;
    slot = free_slot(vidmm);
    if (!slot)
        return false;
    switch (bring_in(vidmm, slot, horizon_ns)) {
    case BEGUN:
        return true;
    case BLOCKED:
        return false;
    case NOTHING:
        break;
    }
    return eviction_horizon(vidmm) && prepare(vidmm, eviction_horizon(vidmm));
}
