/*
 * Native fences: 64-bit values that the GPU keeps by itself, and the driver is told where.
 *
 * Place      vidmm. Public functions are in vidmm.h; those here serve start, recovery, removal.
 * Model      native_fence.c: storage, segments, telling, packing, waiting.
 * Ownership  Fences belong to the client until vidmm_native_fence_destroy().
 * Source     contract.md NTF-010, NTF-011, FENCE-011, FENCE-013..015; docs/contract-choices.md, C8.
 */
#ifndef VIDMM_NATIVE_FENCE_H
#define VIDMM_NATIVE_FENCE_H

#include "vidmm/paging/job.h"
#include "vidmm/vidmm.h"

struct segment;
struct vidmm;

struct native_fences {
    struct list blocks; /* of storage, oldest first */
    struct list fences; /* oldest first */
    unsigned count;
    unsigned wait_count; /* of all fences */
    bool is_moving;      /* by packing, or move_job is under way */
    bool is_restoring;   /* restore_job is under way */
    struct job restore_job;
    struct job move_job; /* tells of blocks that have come to a segment, or left it */
    vidmm_done move_done;
    void *move_context;
    DXGK_FENCE_RESIDENCY_INFO *infos; /* for both: room for all fences */
    unsigned capacity;
};

void native_fences_init(struct vidmm *vidmm);
void native_fences_fini(struct vidmm *vidmm);
/* The driver knows of no fence any more: tells it of all, by a job of the recovery. */
void native_fences_restore(struct vidmm *vidmm);
/*
 * Nothing is pending in the manager, or the adapter is going asleep: fences leave the segment, or,
 * with NULL, all segments. True: the driver is being told, and the pages go then.
 */
bool native_fences_leave(struct vidmm *vidmm, const struct segment *segment);
/* A step of the pump: fences come to the segments where the driver wants them. */
bool native_fences_run(struct vidmm *vidmm);
/* Around a reset of the adapter, which may take the memory of segments. */
void native_fences_rescue(struct vidmm *vidmm);
void native_fences_drop(struct vidmm *vidmm);
/* Ends the waits whose values are there, unless that has to wait; and all of them. */
void native_fences_rescan(struct vidmm *vidmm);
void native_fences_end_waits(struct vidmm *vidmm, NTSTATUS status);
bool native_fences_check(const struct vidmm *vidmm);

#endif
