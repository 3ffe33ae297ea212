/*
 * Ahead: one decision a time, the soonest use first.
 *
 *     the client's clock   done          submitted        use of X          ahead_ns
 *                          |--- queued ---|----------------|-----------------|
 *     free in the segment  now ................ the least of it counts for X
 *
 * X comes in when what is free now, and stays free until its use while things are created and
 * destroyed, has room for X. Otherwise the policy's victim leaves, if its next use is behind that
 * of X, and if X would find no room shortly before its use either. Otherwise the same is done for
 * what will be created.
 *
 * Nobody waits for all this, so its jobs give way (job.h): what is asked for meanwhile does not
 * stand behind a page-out of many megabytes, for fences of one node complete in order.
 */
#include "vidmm/residency/ahead.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/forecast.h"
#include "vidmm/memory/segment.h"
#include "vidmm/policy.h"
#include "vidmm/residency/budget.h"
#include "vidmm/residency/room.h"
#include "vidmm/residency/turns.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/device.h"
#include "vidmm/memory/handles.h"

#include "base/bits.h"
#include "base/list.h"

static const char reason[] = "for what comes next";
static const char turn[] = "for the next turn";

/* Up to this time of the client others leave for what is to come; 0: they do not. */
static uint64_t eviction_horizon(const struct vidmm *vidmm)
{
    const struct vidmm_policy *policy = vidmm->config.policy;

    if (!policy->evict_lead_ns || !policy->evict_most_ns)
        return 0;
    return min_u64(vidmm->forecast.submitted_ns + policy->evict_lead_ns,
                   vidmm->forecast.done_ns + policy->evict_most_ns);
}

/*
 * It changes when work has ended: as the client tells its own time, if it has told of its future.
 * Not 0, but for once in 2^32.
 */
static uint32_t work_ended(const struct vidmm *vidmm)
{
    return (uint32_t)(vidmm->forecast.told_count ? vidmm->forecast.done_ns : vidmm->retired) + 1;
}

/*
 * Nobody has asked for the room. The victim does not come in ahead before work has ended: it could
 * come and go for ever.
 */
static bool leave_ahead(struct vidmm_allocation *victim, const char *why)
{
    if (!NT_SUCCESS(room_evict(victim, why)))
        return false;
    victim->left_ahead = work_ended(victim->vidmm);
    return true;
}

static bool has_just_left(const struct vidmm_allocation *allocation)
{
    return allocation->left_ahead == work_ended(allocation->vidmm);
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
                          uint64_t from_ns, uint64_t until_ns)
{
    int64_t now = (int64_t)(segment_free(vidmm, segment) + segment->leaving + segment->doomed);

    return forecast_least_free(vidmm, segment, from_ns, until_ns, now);
}

/*
 * The policy's victim leaves when it will be used behind the time, twice as far at the least, if at
 * all, and when not enough is leaving already. Of what is used sooner than that, better victims may
 * be idle until then. Nobody waits for it: what is asked for meanwhile goes first.
 */
static bool make_room_until(struct vidmm *vidmm, struct segment *segment, uint64_t until_ns)
{
    struct vidmm_allocation *victim;
    uint64_t next_ns;

    if (segment->leaving >= vidmm->config.policy->leaving_bytes)
        return false;
    victim = room_find_victim(vidmm, segment);
    if (!victim)
        return false;
    forecast_next_use(victim, &next_ns);
    if (next_ns <= until_ns || next_ns - until_ns < until_ns - vidmm->forecast.done_ns ||
        !leave_ahead(victim, reason))
        return false;
    victim->job.gives_way = true;
    return true;
}

/* Whether something has been begun for the absent allocation that will be used first. */
static bool bring_in(struct vidmm *vidmm, D3DKMT_HANDLE *slot, uint64_t horizon_ns)
{
    uint64_t entry_ns = vidmm->config.policy->entry_ns;
    bool has_begun = false;
    struct vidmm_allocation *allocation;
    struct segment *segment;
    uint64_t use_ns, bytes;

    allocation = forecast_take_absent(vidmm, &use_ns);
    if (!allocation)
        return false;
    if (use_ns > horizon_ns || has_just_left(allocation)) {
        forecast_put_back(allocation);
        return false;
    }
    if (!may_come_in(allocation))
        return true; /* it stays away, and the next one is looked at */
    segment = room_wanted_segment(allocation);
    bytes = segment_footprint(segment, allocation);
    if (!segment_holds_content(segment))
        return true; /* it comes in without a copy when it is asked for */
    if (least_free(vidmm, segment, 0, use_ns) >= (int64_t)bytes) {
        if (segment_free(vidmm, segment) >= bytes && NT_SUCCESS(room_take(segment, allocation))) {
            allocation->job.gives_way = true;
            *slot = allocation->handle;
            vidmm->statistics.ahead++;
            vidmm->statistics.ahead_bytes += bytes;
            return true;
        }
    } else if (use_ns <= eviction_horizon(vidmm) &&
               least_free(vidmm, segment, use_ns - min_u64(use_ns, entry_ns), use_ns) <
                   (int64_t)bytes &&
               make_room_until(vidmm, segment, use_ns)) {
        has_begun = true;
    }
    forecast_put_back(allocation);
    return has_begun;
}

/* Whether something has been begun for what will be created. */
static bool prepare(struct vidmm *vidmm, uint64_t horizon_ns)
{
    struct segment *segment = vidmm->forecast.segment;

    return segment && least_free(vidmm, segment, 0, horizon_ns) < 0 &&
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
    return victim && !victim->uses && leave_ahead(victim, reason);
}

/*
 * What belongs to the process that has the turn, or to the next one, comes in; others, whose turn
 * is farther, leave while it does.
 */
static bool prepare_turn(struct vidmm *vidmm)
{
    struct vidmm_allocation *allocation = turns_next_away(vidmm);
    struct vidmm_allocation *victim;
    D3DKMT_HANDLE *slot;
    struct segment *segment;
    uint64_t bytes;

    if (!allocation || !NT_SUCCESS(vidmm->refusal))
        return false;
    segment = room_wanted_segment(allocation);
    if (!may_come_in(allocation) || !segment_holds_content(segment) || has_just_left(allocation)) {
        allocation_leave_list(allocation);
        return true;
    }
    bytes = segment_footprint(segment, allocation);
    slot = free_slot(vidmm);
    if (slot && segment_free(vidmm, segment) >= bytes &&
        NT_SUCCESS(room_take(segment, allocation))) {
        *slot = allocation->handle;
        turns_note_coming(allocation);
        vidmm->statistics.ahead++;
        vidmm->statistics.ahead_bytes += bytes;
        return true;
    }
    if (segment_free(vidmm, segment) + room_leaving(vidmm, segment) + segment->doomed >=
        (AHEAD_MOST + 1) * bytes)
        return false;
    victim = room_find_victim(vidmm, segment);
    return victim && turns_are_farther(victim, allocation) && leave_ahead(victim, turn);
}

bool ahead_run(struct vidmm *vidmm)
{
    uint64_t ahead_ns = vidmm->config.policy->ahead_ns;
    uint64_t horizon_ns = vidmm->forecast.submitted_ns + ahead_ns;
    D3DKMT_HANDLE *slot;

    if (keep_spare(vidmm) || prepare_turn(vidmm))
        return true;
    if (!ahead_ns || !vidmm->forecast.told_count || !NT_SUCCESS(vidmm->refusal))
        return false;
    /* What is free while a request waits is for the request. */
    slot = list_is_empty(&vidmm->requests) ? free_slot(vidmm) : NULL;
    if (slot && bring_in(vidmm, slot, horizon_ns))
        return true;
    return eviction_horizon(vidmm) && prepare(vidmm, eviction_horizon(vidmm));
}
