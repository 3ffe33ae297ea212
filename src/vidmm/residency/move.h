/*
 * Moves: a resident allocation gets another place without going out to system memory.
 *
 * Place      vidmm. Used by compaction.c and vidmm_move(); the generators swap the two places.
 * Model      The new place is taken before anything moves and the old one released when the last
 *            packet has retired. Meanwhile the allocation is LEAVING for everybody else.
 * Errors     As segment_place().
 * Source     contract.md XFER-019, RES-011; sequence S-11.
 */
#ifndef VIDMM_MOVE_H
#define VIDMM_MOVE_H

#include <ntddk.h>

struct job;
struct segment;
struct vidmm_allocation;

/*
 * Takes another place in the target for a resident allocation, which is its `other` until
 * move_begin(), or move_release_other() when nothing comes of it.
 */
NTSTATUS move_take_place(struct vidmm_allocation *allocation, struct segment *target);
void move_begin(struct vidmm_allocation *allocation);
/* The two places of a moving allocation change roles. */
void move_swap(struct vidmm_allocation *allocation);
/* Releases the place that is not in force; nothing if there is none. */
void move_release_other(struct vidmm_allocation *allocation);
void allocation_moved(struct job *job);

#endif
