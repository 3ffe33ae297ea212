/*
 * Budgets: how much memory of a group a process should have resident.
 *
 * A budget is advice, not a wall. The resident bytes of a process count as `used` in the group of
 * the segment where they lie. Of those, `idle` bytes may be evicted and `going` bytes are on their
 * way out; the process holds the rest. Three things follow from a limit. A request that would make
 * more than the limit resident is refused with the bytes to trim, unless it says that it cannot
 * trim. A process that holds more is asked to trim. Idle allocations of a process over its limit
 * are evicted before those of any other.
 *
 * Source     contract.md RES-004, RES-015, RES-016.
 */
#include "vidmm/residency/budget.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/segment.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/assert.h"
#include "base/bits.h"

enum vidmm_budget_group budget_group_of(const struct segment *segment)
{
    DXGK_SEGMENTFLAGS flags = {0};

    if (segment->kind == SEGMENT_SYSTEM)
        return VIDMM_BUDGET_NON_LOCAL;
    flags.Value = segment->caps->flags;
    if (flags.LocalBudgetGroup || flags.NonLocalBudgetGroup)
        return flags.LocalBudgetGroup ? VIDMM_BUDGET_LOCAL : VIDMM_BUDGET_NON_LOCAL;
    if (flags.ApplicationTarget)
        return VIDMM_BUDGET_LOCAL;
    /* Drivers before WDDM 2.0 do not say. */
    return segment->kind == SEGMENT_CONTIGUOUS || segment->kind == SEGMENT_PAGES
               ? VIDMM_BUDGET_LOCAL
               : VIDMM_BUDGET_NON_LOCAL;
}

static struct budget *budget_of(const struct vidmm_allocation *allocation,
                                const struct placement *place)
{
    return &allocation->device->process->budgets[place->segment->budget_group];
}

struct budget *budget_of_place(const struct vidmm_allocation *allocation)
{
    return budget_of(allocation, &allocation->place);
}

uint64_t budget_held(const struct budget *budget)
{
    return budget->used - budget->idle - budget->going;
}

void budget_init(struct vidmm_process *process)
{
    for (unsigned i = 0; i < ARRAY_COUNT(process->budgets); i++)
        process->budgets[i] = (struct budget){.limit = UINT64_MAX};
}

/* Asks for the bytes above the limit, once for each time that the process gets over it. */
static void ask_to_trim(struct vidmm_process *process, enum vidmm_budget_group group)
{
    struct budget *budget = &process->budgets[group];
    const struct vidmm_events *events = &process->vidmm->config.events;
    bool is_over = budget_held(budget) > budget->limit;

    if (is_over && !budget->is_asked) {
        process->vidmm->statistics.trim_requests++;
        if (notes_are_heard(process->vidmm))
            note_budget(VIDMM_NOTE_TRIM, process, group, budget_held(budget) - budget->limit);
        if (events->trim)
            events->trim(events->context, process, group, budget_held(budget) - budget->limit);
    }
    budget->is_asked = is_over;
}

/* The next time that the process is over its limit is another one. */
static void forget_request_if_under(struct budget *budget)
{
    if (budget_held(budget) <= budget->limit)
        budget->is_asked = false;
}

void budget_placed(const struct vidmm_allocation *allocation, const struct placement *place)
{
    budget_of(allocation, place)->used += placement_bytes(place);
    if (place == &allocation->place) /* else it may turn out to be no better than the one it has */
        ask_to_trim(allocation->device->process, place->segment->budget_group);
}

void budget_unplaced(const struct vidmm_allocation *allocation, const struct placement *place)
{
    struct budget *budget = budget_of(allocation, place);

    ASSERT(budget->used >= placement_bytes(place)); /* RES-015 */
    budget->used -= placement_bytes(place);
    forget_request_if_under(budget);
}

void budget_idle(const struct vidmm_allocation *allocation, bool is_idle)
{
    const struct placement *place = &allocation->place;
    struct budget *budget = budget_of(allocation, place);

    ASSERT(is_idle || budget->idle >= placement_bytes(place));
    budget->idle =
        is_idle ? budget->idle + placement_bytes(place) : budget->idle - placement_bytes(place);
    if (is_idle)
        forget_request_if_under(budget);
}

void budget_settled(const struct vidmm_allocation *allocation)
{
    if (allocation->place.segment && allocation->device->vidmm->limited_budgets)
        ask_to_trim(allocation->device->process, allocation->place.segment->budget_group);
}

void budget_going(const struct vidmm_allocation *allocation, bool is_going)
{
    const struct placement *place = &allocation->place;
    struct budget *budget = budget_of(allocation, place);

    ASSERT(is_going || budget->going >= placement_bytes(place));
    budget->going =
        is_going ? budget->going + placement_bytes(place) : budget->going - placement_bytes(place);
    forget_request_if_under(budget);
}

bool budget_is_over(const struct vidmm_allocation *allocation)
{
    const struct budget *budget = budget_of(allocation, &allocation->place);

    return budget->used - budget->going > budget->limit;
}

void vidmm_set_budget(struct vidmm_process *process, enum vidmm_budget_group group, uint64_t bytes)
{
    struct vidmm *vidmm = process->vidmm;
    struct budget *budget = &process->budgets[group];

    reference_lists_settle(vidmm);
    vidmm->limited_budgets -= budget->limit != UINT64_MAX;
    budget->limit = bytes ? bytes : UINT64_MAX;
    vidmm->limited_budgets += budget->limit != UINT64_MAX;
    budget->is_asked = false;
    if (notes_are_heard(vidmm))
        note_budget(VIDMM_NOTE_BUDGET, process, group, bytes);
    ask_to_trim(process, group);
}

void budget_fini(struct vidmm_process *process)
{
    for (unsigned i = 0; i < ARRAY_COUNT(process->budgets); i++) {
        ASSERT(!process->budgets[i].used && !process->budgets[i].idle);
        process->vidmm->limited_budgets -= process->budgets[i].limit != UINT64_MAX;
    }
}

void vidmm_budget_info(const struct vidmm_process *process, enum vidmm_budget_group group,
                       struct vidmm_budget_info *out_info)
{
    const struct budget *budget = &process->budgets[group];

    reference_lists_settle(process->vidmm);
    *out_info = (struct vidmm_budget_info){
        .budget = budget->limit == UINT64_MAX ? 0 : budget->limit,
        .resident = budget->used,
        .held = budget_held(budget),
    };
}
