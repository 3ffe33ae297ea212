#include "vidmm/memory/allocation_state.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/forecast.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/reference_list.h"
#include "vidmm/memory/segment.h"
#include "vidmm/residency/budget.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/assert.h"
#include "base/list.h"

#include <stdio.h>

#define TO(state) (1u << ALLOCATION_##state)

/* The drawing in the header, by the state that is left. */
static const unsigned lawful[] = {
    [ALLOCATION_EMPTY] = TO(BACKED) | TO(ENTERING) | TO(DYING),
    [ALLOCATION_BACKED] = TO(EMPTY) | TO(ENTERING) | TO(DYING),
    [ALLOCATION_ENTERING] = TO(RESIDENT) | TO(BACKED) | TO(LEAVING),
    [ALLOCATION_RESIDENT] = TO(LEAVING) | TO(ENTERING) | TO(BACKED) | TO(DYING),
    [ALLOCATION_LEAVING] = TO(BACKED) | TO(EMPTY) | TO(RESIDENT) | TO(LEAVING),
    [ALLOCATION_DYING] = TO(EMPTY),
};

const char *allocation_state_name(enum allocation_state state)
{
    static const char *const names[] = {"empty",    "backed",  "entering",
                                        "resident", "leaving", "dying"};

    return names[state];
}

/* Tells an unlawful change; the debug build stops there. */
static bool is_lawful(const struct vidmm_allocation *allocation, enum allocation_state state)
{
    if (lawful[allocation->state] >> state & 1)
        return true;
    fprintf(stderr, "vidmm: allocation 0x%x is %s and cannot become %s\n",
            (unsigned)allocation->handle, allocation_state_name(allocation->state),
            allocation_state_name(state));
    return false;
}

/* Which byte counter of its segment includes an allocation in this state. */
static enum departure departure_of(const struct vidmm_allocation *allocation)
{
    if (allocation->other)
        return STAYS;
    if (allocation->state == ALLOCATION_LEAVING || allocation->state == ALLOCATION_DYING)
        return GOES;
    return allocation->is_destroyed ? DOOMED : STAYS;
}

void allocation_leave_list(struct vidmm_allocation *allocation)
{
    segment_lru_remove(allocation);
    if (allocation->listed == LISTED_AWAY)
        allocation->vidmm->turns.away_bytes -= PAGE_BYTES_OF(allocation->page_count);
    list_remove(&allocation->link);
    allocation->listed = LISTED_NOWHERE;
}

static void enlist(struct vidmm_allocation *allocation, struct list *list, enum listing listing)
{
    allocation_leave_list(allocation);
    list_push_back(list, &allocation->link);
    allocation->listed = listing;
}

void allocation_bury_if_dead(struct vidmm_allocation *allocation)
{
    if (!allocation->is_destroyed || allocation->holds || allocation->uses ||
        allocation->state == ALLOCATION_ENTERING || allocation->state == ALLOCATION_LEAVING)
        return;
    enlist(allocation, &allocation->vidmm->dying, LISTED_DYING);
    budget_settled(allocation); /* it may not be evicted any more, and its process holds it */
}

void allocation_list_if_offered(struct vidmm_allocation *allocation)
{
    if (allocation->is_offered && allocation->state == ALLOCATION_BACKED)
        enlist(allocation, &allocation->vidmm->offered[allocation->offer_class], LISTED_OFFERED);
}

/*
 * It has left its segment, and not for the CPU, which would want it out again. If its process has
 * used it in its last turn, and another one has the turn, it stands in the list of what comes in
 * again for the next one (turns.h).
 */
static void list_if_away(struct vidmm_allocation *allocation)
{
    const struct vidmm_process *process = allocation->device->process;
    const struct vidmm_process *holder = allocation->vidmm->turns.holder;

    if (!holder || holder == process || allocation->listed != LISTED_NOWHERE ||
        allocation->busy_until < process->turn.from || allocation->leaves_for_cpu)
        return;
    enlist(allocation, &allocation->device->process->turn.away, LISTED_AWAY);
    allocation->vidmm->turns.away_bytes += PAGE_BYTES_OF(allocation->page_count);
}

static void change_state(struct vidmm_allocation *allocation, enum allocation_state state)
{
    enum allocation_state former = allocation->state;

    ASSERT(is_lawful(allocation, state));
    reference_lists_note_change(allocation);
    allocation_leave_list(allocation);
    allocation->state = state;
    if (state == ALLOCATION_LEAVING && !allocation->is_reset)
        allocation->arrives_with = 0;
    if (notes_are_heard(allocation->vidmm))
        note_state(allocation, former);
    segment_set_departure(allocation, departure_of(allocation));
    forecast_note_state(allocation);
    switch (state) {
    case ALLOCATION_EMPTY:
        if (former == ALLOCATION_DYING)
            return; /* the first of several instances: it has gone, and is not buried twice */
        break;
    case ALLOCATION_BACKED:
        allocation_list_if_offered(allocation);
        if (former == ALLOCATION_LEAVING)
            list_if_away(allocation);
        break;
    case ALLOCATION_ENTERING:
        allocation->is_published = false;
        allocation->leaves_for_cpu = false;
        return;
    case ALLOCATION_RESIDENT:
        if (!allocation->holds)
            segment_lru_add(allocation);
        break;
    case ALLOCATION_LEAVING:
    case ALLOCATION_DYING:
        return;
    }
    allocation_bury_if_dead(allocation);
}

void allocation_set_state(struct vidmm_allocation *allocation, enum allocation_state state)
{
    change_state(allocation, state);
    budget_settled(allocation); /* on the way it was not idle, and counted as held */
}
