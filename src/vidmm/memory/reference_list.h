/*
 * Lists of references: what a list has done to its members, and what it owes them.
 *
 * Place      vidmm. list_residency.c is its public side. Those who look at holds, at busy_until or
 *            at the order of an LRU list settle first what lists owe.
 * Model      A reference that a list gives, and takes back, is written down with the list at first:
 *            a hold, a release with its busy_until, and marks in the LRU lists at the places to
 *            which the release moves the members. reference_lists_settle() does to the members what
 *            the references one by one would have done, list by list in the order of their last
 *            use. So a list that is used again and again, while nobody looks at its members, costs
 *            the same however long it is.
 *            A list may owe only while it is checked: all its members were resident and usable, and
 *            none has changed since (the generation of the manager is that of the list).
 * Ownership  The client's until vidmm_list_destroy(). A list holds no reference to its members'
 *            records: a member leaves its lists before it is destroyed.
 * Source     contract.md RES-002, RES-011..014.
 */
#ifndef VIDMM_REFERENCE_LIST_H
#define VIDMM_REFERENCE_LIST_H

#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct vidmm;
struct vidmm_allocation;
struct vidmm_device;

/* The lists of a manager. */
struct reference_lists {
    struct list owing;   /* the one that was used last at the end */
    uint64_t generation; /* counts the changes of members; begins at 1 */
};

/* A place in an LRU list. */
struct list_mark {
    struct list link; /* linked while the list owes a release */
    struct list *lru;
};

/* A list whose members stand on more LRU lists than this owes nothing: it pays at once. */
#define LIST_MARKS 4

struct vidmm_list {
    struct vidmm_device *device;
    struct list link;    /* in reference_lists.owing */
    uint64_t generation; /* of the last check; 0: one member at least failed it */
    uint64_t busy_until; /* of the last release that is owed */
    uint32_t holds;      /* references that each member has by the list */
    uint32_t given;      /* of these, those that the members count */
    uint32_t pending;    /* requests for the members that have not ended */
    bool owes_release;
    unsigned mark_count;
    struct list_mark marks[LIST_MARKS];
    unsigned count, room;
    struct vidmm_allocation **allocations;
};

void reference_lists_init(struct reference_lists *lists);

/* Members hear what all lists owe them. */
void reference_lists_settle(struct vidmm *vidmm);
/* The allocation, if it is in a list, changes in a way that lists have to be checked for. */
void reference_lists_note_change(const struct vidmm_allocation *allocation);

/* Looks at all members: whether the list may owe from now on. */
void reference_list_check(struct vidmm_list *list);
bool reference_list_is_checked(const struct vidmm_list *list);

/* One reference more, or less, that the members hear of later. The list is checked. */
void reference_list_hold(struct vidmm_list *list);
void reference_list_release(struct vidmm_list *list);

/* The list owes a reference at least, which reference_list_release() can take back. */
static inline bool reference_list_owes_hold(const struct vidmm_list *list)
{
    return list->holds > list->given;
}

/* A request for the members has ended: with a reference more, which they count, or without. */
void reference_list_requested(struct vidmm_list *list, bool is_held);

#endif
