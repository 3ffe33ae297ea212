/*
 * Lists of references: holds and releases that members hear of later.
 *
 * Members on the LRU lists stay where they are when their list is released; the list's marks are
 * where they belong.
 *
 *     A and B of a list stand in front    A  B  x  y
 *     the list is held and released       A  B  x  y  *
 *     y is used by a reference alone      A  B  x  *  y
 *     somebody looks for a victim         x  A  B  y
 *
 * Two lists may share members. Each list that owes stands once in the line of owing lists, at its
 * last use: what was owed before that is overtaken by it. A member that another list holds is not
 * moved, and its busy_until, which nobody reads while an allocation is held, is that of the last
 * release.
 *
 * Source     contract.md RES-002, RES-011..014.
 */
#include "vidmm/memory/reference_list.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/segment.h"
#include "vidmm/residency/budget.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/assert.h"
#include "base/list.h"

void reference_lists_init(struct reference_lists *lists)
{
    list_init(&lists->owing);
    lists->generation = 1;
}

static struct list_mark *mark_in(struct vidmm_list *list, const struct list *lru)
{
    for (unsigned i = 0; i < list->mark_count; i++) {
        if (list->marks[i].lru == lru)
            return &list->marks[i];
    }
    return NULL;
}

/* ---- Paying ---- */

static void take_off_lru(struct vidmm_allocation *allocation)
{
    list_remove(&allocation->link);
    allocation->listed = LISTED_NOWHERE;
    budget_idle(allocation, false);
}

static void pay_holds(struct vidmm_list *list)
{
    uint32_t owed = list->holds - list->given;

    for (unsigned i = 0; i < list->count; i++) {
        struct vidmm_allocation *allocation = list->allocations[i];

        if (!allocation->holds)
            take_off_lru(allocation);
        allocation->holds += owed;
    }
    list->given = list->holds;
}

static void pay_release(struct vidmm_list *list)
{
    for (unsigned i = 0; i < list->count; i++) {
        struct vidmm_allocation *allocation = list->allocations[i];

        if (allocation->holds)
            continue;
        list_remove(&allocation->link);
        list_insert_before(&mark_in(list, allocation_lru(allocation))->link, &allocation->link);
        allocation->busy_until = list->busy_until;
    }
}

void reference_lists_settle(struct vidmm *vidmm)
{
    struct list *owing = &vidmm->reference_lists.owing;

    while (!list_is_empty(owing)) {
        struct vidmm_list *list = container_of(list_pop_front(owing), struct vidmm_list, link);

        if (reference_list_owes_hold(list))
            pay_holds(list);
        else
            pay_release(list);
        for (unsigned i = 0; i < list->mark_count; i++)
            list_remove(&list->marks[i].link);
        list->owes_release = false;
    }
}

void reference_lists_note_change(const struct vidmm_allocation *allocation)
{
    if (!allocation->was_in_list)
        return;
    reference_lists_settle(allocation->vidmm);
    allocation->vidmm->reference_lists.generation++;
}

/* ---- Owing ---- */

void reference_list_check(struct vidmm_list *list)
{
    ASSERT(!list->owes_release && !reference_list_owes_hold(list));
    list->generation = 0;
    list->mark_count = 0;
    for (unsigned i = 0; i < list->count; i++) {
        const struct vidmm_allocation *allocation = list->allocations[i];
        struct list *lru = allocation->place.segment ? allocation_lru(allocation) : NULL;

        ASSERT(allocation_is_usable(allocation) && !allocation->is_destroyed &&
               !allocation->is_offered);
        if (allocation->is_pinned)
            return;
        if (mark_in(list, lru))
            continue;
        if (list->mark_count == LIST_MARKS)
            return;
        list->marks[list->mark_count].lru = lru;
        list_init(&list->marks[list->mark_count++].link);
    }
    list->generation = list->device->vidmm->reference_lists.generation;
}

bool reference_list_is_checked(const struct vidmm_list *list)
{
    return list->generation == list->device->vidmm->reference_lists.generation;
}

void reference_list_hold(struct vidmm_list *list)
{
    if (!reference_list_owes_hold(list))
        list_move_back(&list->device->vidmm->reference_lists.owing, &list->link);
    list->holds++;
}

void reference_list_release(struct vidmm_list *list)
{
    struct vidmm *vidmm = list->device->vidmm;

    list->holds--;
    if (reference_list_owes_hold(list))
        return;
    if (list->given) {
        list_remove(&list->link);
        return;
    }
    list->owes_release = true;
    list->busy_until = vidmm->submitted;
    list_move_back(&vidmm->reference_lists.owing, &list->link);
    for (unsigned i = 0; i < list->mark_count; i++)
        list_move_back(list->marks[i].lru, &list->marks[i].link);
}

void reference_list_requested(struct vidmm_list *list, bool is_held)
{
    list->pending--;
    list->holds += is_held;
    list->given += is_held;
}
