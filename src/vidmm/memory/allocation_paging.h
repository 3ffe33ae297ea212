/*
 * Paging of allocations: they enter, leave, are dropped and move.
 *
 * Place      vidmm. Uses the generators of both models and the paging queue; used by residency,
 *            locks, power and recovery.
 * Model      Each is a job of the paging queue, whose end publishes the new state.
 * Errors     STATUS_NO_MEMORY where a backing store is needed and there is none; nothing has
 *            changed then. A change that has begun cannot fail.
 * Source     contract.md ALLOC-012, RES-011..014, OFFER-001, XFER-019; sequences S-03..S-07, S-11.
 */
#ifndef VIDMM_ALLOCATION_PAGING_H
#define VIDMM_ALLOCATION_PAGING_H

#include <ntddk.h>

struct vidmm_allocation;

/* The allocation is placed; ENTERING, then RESIDENT. */
void allocation_enter(struct vidmm_allocation *allocation);
/* Its page tables are new: writes the entries of all its mappings. State ENTERING meanwhile. */
void allocation_map_again(struct vidmm_allocation *allocation);
/* The allocation is not held; LEAVING, then BACKED. */
NTSTATUS allocation_leave(struct vidmm_allocation *allocation, const char *reason);
/* Like allocation_leave(), so that the CPU can look at it: in linear order. */
NTSTATUS allocation_leave_for_cpu(struct vidmm_allocation *allocation);
/* Like allocation_leave(), of an allocation that is held or used: it keeps its place. */
NTSTATUS allocation_park(struct vidmm_allocation *allocation);
/* Like allocation_leave(), of an offered allocation: without its content. LEAVING, then EMPTY. */
void allocation_drop(struct vidmm_allocation *allocation);

/* To the place that is its `other` (move.h). LEAVING, then RESIDENT. */
void move_begin(struct vidmm_allocation *allocation);
/* Releases the place that is not in force; nothing if there is none. */
void move_release_other(struct vidmm_allocation *allocation);

#endif
