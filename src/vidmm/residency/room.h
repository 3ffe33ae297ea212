/*
 * Room: places for allocations in segments, and the allocations that leave for them.
 *
 * Place      vidmm. Requests (residency.c) and what comes in ahead (ahead.c) use it. The policy
 *            (vidmm/policy.h) chooses where several allocations could leave.
 * Model      What leaves gives its bytes when its last packet has retired, so making room begins
 *            something, and the caller asks again later.
 * Errors     NTSTATUS of the places: STATUS_GRAPHICS_NO_VIDEO_MEMORY, STATUS_NO_MEMORY.
 * Source     contract.md RES-011..014, OFFER-001, APER-017.
 */
#ifndef VIDMM_ROOM_H
#define VIDMM_ROOM_H

#include "vidmm/vidmm.h"

struct segment;

/* The first of the preferred segments that is large enough, or, where none is, the first. */
struct segment *room_wanted_segment(const struct vidmm_allocation *allocation);

/*
 * Takes a place for the allocation in the segment, and queues its way in: ENTERING.
 * STATUS_GRAPHICS_ALLOCATION_BUSY: it is locked where the CPU could not follow (RES-014).
 */
NTSTATUS room_take(struct segment *segment, struct vidmm_allocation *allocation);

/* Something will retire and may release memory. */
bool room_is_coming(const struct vidmm *vidmm);

/* Bytes of the segment, and of those that share its limit, whose owners are on their way out. */
uint64_t room_leaving(const struct vidmm *vidmm, const struct segment *segment);

/* The allocation that would leave the segment next; NULL: there is none. */
struct vidmm_allocation *room_find_victim(struct vidmm *vidmm, struct segment *segment);

/* Such an allocation leaves: with its content, or, if it is offered, without. */
NTSTATUS room_evict(struct vidmm_allocation *victim, const char *reason);

/*
 * Starts evictions until so many bytes are free or on their way out. True: something will be
 * released; ask again then.
 */
bool room_make(struct vidmm *vidmm, struct segment *segment, uint64_t bytes, NTSTATUS *status);

#endif
