/*
 * Budgets: how much memory of a group of segments a process should have resident.
 *
 * Place      vidmm. Segments report places that are taken or may be evicted; residency asks
 *            who is over.
 * Model      A budget is advice, not a wall (budget.c).
 * Units      Bytes, of one process in one group of segments (enum vidmm_budget_group).
 * Source     contract.md RES-004, RES-015, RES-016.
 */
#ifndef VIDMM_BUDGET_H
#define VIDMM_BUDGET_H

#include "vidmm/vidmm.h"

struct placement;
struct segment;
struct vidmm_allocation;
struct vidmm_process;

struct budget {
    uint64_t limit; /* UINT64_MAX: none */
    uint64_t used;  /* resident */
    uint64_t idle;  /* of used: may be evicted */
    uint64_t going; /* of used: on its way out */
    bool is_asked;  /* to trim, since it got over its limit */
};

enum vidmm_budget_group budget_group_of(const struct segment *segment);
/* Bytes that the process itself holds resident: neither evictable nor on their way out. */
uint64_t budget_held(const struct budget *budget);

void budget_init(struct vidmm_process *process);
void budget_fini(struct vidmm_process *process);
/* The allocation has taken the place, or gives it back. */
void budget_placed(const struct vidmm_allocation *allocation, const struct placement *place);
void budget_unplaced(const struct vidmm_allocation *allocation, const struct placement *place);
/* That of the allocation's process where the allocation is. */
struct budget *budget_of_place(const struct vidmm_allocation *allocation);
/* The place in force may be evicted or not any more; it is on its way out or not any more. */
void budget_idle(const struct vidmm_allocation *allocation, bool is_idle);
void budget_going(const struct vidmm_allocation *allocation, bool is_going);
/* Its state and holds are what they will be: its process is asked to trim if it is over now. */
void budget_settled(const struct vidmm_allocation *allocation);
/* Its process has more than its budget where it is. */
bool budget_is_over(const struct vidmm_allocation *allocation);

#endif
