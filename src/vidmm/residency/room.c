/*
 * Room: who leaves a segment, and the places that allocations take in it.
 *
 * Offered allocations leave first, then those of processes over their budget, then the lowest
 * priority class. Within a class the policy decides; without one the least recently used leaves.
 *
 * Source     contract.md RES-011..014, OFFER-001, APER-017.
 */
#include "vidmm/residency/room.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_paging.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/memory/backing.h"
#include "vidmm/memory/forecast.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/policy.h"
#include "vidmm/residency/budget.h"
#include "vidmm/residency/request.h"
#include "vidmm/views/agp.h"
#include "vidmm/views/aperture.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/list.h"
#include "vidsch/vidsch.h"

/* How many entries of an LRU list are looked at before giving up: all but the first few of those
 * that are not idle yet went on the list after the last submission. */
#define VICTIM_SCAN 64

/* The first waiting request that wants the allocation, counted from 1; 0: none does. */
static unsigned place_in_line(const struct vidmm *vidmm, const struct vidmm_allocation *allocation)
{
    const struct request *request;
    unsigned place = 0;

    if (!allocation->uses)
        return 0;
    list_for_each (request, &vidmm->requests, struct request, link) {
        place++;
        for (unsigned i = 0; i < request->count; i++) {
            if (request->allocations[i] == allocation)
                return place;
        }
    }
    return 0;
}

static struct vidmm_candidate candidate_of(const struct vidmm *vidmm,
                                           const struct vidmm_allocation *allocation)
{
    struct vidmm_candidate candidate = {
        .allocation = allocation,
        .bytes = placement_bytes(&allocation->place),
        .queued = place_in_line(vidmm, allocation),
        .turn = allocation->device->process->turn.order,
    };

    candidate.is_forecast = forecast_next_use(allocation, &candidate.next_use_ns);
    return candidate;
}

/* An offer takes effect behind all that was submitted before (OFFER-002). */
static bool may_leave(const struct vidmm_allocation *allocation)
{
    return allocation_is_idle(allocation) && !(allocation->is_offered && allocation->uses);
}

/* How the victim was found, for the note of its departure. */
static void keep_choice(struct vidmm *vidmm, const struct vidmm_allocation *victim,
                        const struct vidmm_candidate *candidate, unsigned compared,
                        unsigned passed_over, bool is_over_budget)
{
    vidmm->notes.choice = (struct noted_choice){.victim = victim,
                                                .candidate = *candidate,
                                                .compared = compared,
                                                .passed_over = passed_over,
                                                .is_over_budget = is_over_budget};
}

static struct vidmm_allocation *find_victim_among(struct vidmm *vidmm, struct segment *segment,
                                                  unsigned first_class, bool only_over_budget)
{
    const struct vidmm_policy *policy = vidmm->config.policy;
    unsigned class;

    reference_lists_settle(vidmm);
    for (class = first_class; class < VICTIM_CLASSES; class ++) {
        struct vidmm_allocation *allocation, *victim = NULL;
        struct vidmm_candidate chosen = {0};
        unsigned busy = 0, compared = 0;

        list_for_each (allocation, &segment->lru[class], struct vidmm_allocation, link) {
            if (!may_leave(allocation) || (only_over_budget && !budget_is_over(allocation))) {
                if (++busy == VICTIM_SCAN)
                    break;
                continue;
            }
            if (!policy->compared || !policy->leaves_before) {
                if (notes_are_heard(vidmm))
                    keep_choice(vidmm, allocation, &chosen, 1, busy, only_over_budget);
                return allocation;
            }
            if (compared == policy->compared)
                break;
            if (!compared++) {
                victim = allocation;
                chosen = candidate_of(vidmm, allocation);
            } else {
                struct vidmm_candidate other = candidate_of(vidmm, allocation);

                if (policy->leaves_before(&other, &chosen)) {
                    victim = allocation;
                    chosen = other;
                }
            }
        }
        if (victim) {
            if (notes_are_heard(vidmm))
                keep_choice(vidmm, victim, &chosen, compared, busy, only_over_budget);
            return victim;
        }
    }
    return NULL;
}

/* Offered allocations, then those of processes over their budget, then the others by class. */
static struct vidmm_allocation *find_victim(struct vidmm *vidmm, struct segment *segment)
{
    struct vidmm_allocation *victim = find_victim_among(vidmm, segment, 0, false);
    struct vidmm_allocation *demoted;

    if (!victim || victim->is_offered || !vidmm->limited_budgets)
        return victim;
    demoted = find_victim_among(vidmm, segment, OFFER_CLASSES, true);
    return demoted ? demoted : victim;
}

/*
 * Something will retire and may release memory. A destroyed allocation may be in use by a
 * submission whose own request stands further behind; it is not released before the first request
 * has ended.
 */
bool room_is_coming(const struct vidmm *vidmm)
{
    return !paging_queue_is_idle(vidmm) || !vidsch_is_idle(vidmm->vidsch) ||
           (!list_is_empty(&vidmm->dying) &&
            allocation_is_idle(container_of(vidmm->dying.next, struct vidmm_allocation, link)));
}

/* In the segment, or in an aperture that takes from the same limit (APER-017). */
struct vidmm_allocation *room_find_victim(struct vidmm *vidmm, struct segment *segment)
{
    struct vidmm_allocation *victim = find_victim(vidmm, segment);
    unsigned i;

    for (i = 0; i < vidmm->caps.segment_count && !victim; i++) {
        if (segment_shares_limit(vidmm, segment, &vidmm->segments[i]))
            victim = find_victim(vidmm, &vidmm->segments[i]);
    }
    return victim;
}

/* Bytes on their way out of the segment, and of those that take from the same limit. */
uint64_t room_leaving(const struct vidmm *vidmm, const struct segment *segment)
{
    uint64_t bytes = segment->leaving;
    unsigned i;

    for (i = 0; i < vidmm->caps.segment_count; i++) {
        if (segment_shares_limit(vidmm, segment, &vidmm->segments[i]))
            bytes += vidmm->segments[i].leaving;
    }
    return bytes;
}

NTSTATUS room_evict(struct vidmm_allocation *victim, const char *reason)
{
    if (!victim->is_offered && victim->vidmm->limited_budgets && budget_is_over(victim))
        reason = "over budget";
    victim->vidmm->notes.victim = victim; /* which the note of its departure begins with */
    if (victim->is_offered) {
        allocation_drop(victim);
        return STATUS_SUCCESS;
    }
    return allocation_leave(victim, reason);
}

/*
 * Starts evictions until bytes are free or on their way out. Free bytes do not count when there
 * were enough of them, for then the space is in pieces. Bytes of destroyed allocations count,
 * although the work that uses them has not retired: evicting others instead would be traffic for
 * nothing. True: something will be released, ask again then.
 */
bool room_make(struct vidmm *vidmm, struct segment *segment, uint64_t bytes, NTSTATUS *status)
{
    uint64_t free_bytes = segment_free(vidmm, segment);
    uint64_t doomed = room_is_coming(vidmm) ? segment->doomed : 0;
    uint64_t coming = room_leaving(vidmm, segment) + doomed;

    *status = STATUS_SUCCESS;
    if (free_bytes < bytes)
        coming += free_bytes;
    while (coming < bytes) {
        struct vidmm_allocation *victim = room_find_victim(vidmm, segment);
        uint64_t footprint;

        if (!victim)
            break;
        footprint = placement_bytes(&victim->place);
        vidmm->ahead.pressed = segment;
        *status = room_evict(victim, "memory pressure");
        if (!NT_SUCCESS(*status))
            break;
        coming += footprint;
    }
    return room_leaving(vidmm, segment) > 0 || doomed > 0;
}

/* ---- Placing --------------------------------------------------------------------------------- */

struct segment *room_wanted_segment(const struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;

    for (unsigned i = 0; i < allocation->preference_count; i++) {
        struct segment *segment = segment_by_id(vidmm, allocation->preference[i]);

        if (segment_footprint(segment, allocation) <= segment->size)
            return segment;
    }
    return segment_by_id(vidmm, allocation->preference[0]);
}

NTSTATUS room_take(struct segment *segment, struct vidmm_allocation *allocation)
{
    bool shows_backing = segment->kind == SEGMENT_SYSTEM || segment->kind == SEGMENT_APERTURE ||
                         segment->kind == SEGMENT_AGP;
    bool had_backing = allocation->mdl != NULL;
    NTSTATUS status;

    if (allocation->lock_count && !shows_backing)
        return STATUS_GRAPHICS_ALLOCATION_BUSY; /* RES-014 */
    if (shows_backing && !had_backing) {
        status = allocation_take_backing(allocation);
        if (!NT_SUCCESS(status))
            return status;
    }
    status = segment->kind == SEGMENT_APERTURE ? aperture_open_view(allocation) : STATUS_SUCCESS;
    if (NT_SUCCESS(status))
        status = segment_place(segment, allocation);
    if (NT_SUCCESS(status) && segment->kind == SEGMENT_AGP) {
        status = agp_map(allocation);
        if (!NT_SUCCESS(status))
            segment_unplace(allocation);
    }
    if (!NT_SUCCESS(status)) {
        aperture_close_view(allocation);
        if (shows_backing && !had_backing)
            allocation_release_backing(allocation);
        return status;
    }
    allocation_enter(allocation);
    return STATUS_SUCCESS;
}
