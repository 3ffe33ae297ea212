/*
 * Native fences: 64-bit values that the GPU keeps by itself, and the driver is told where.
 *
 * Place      vidmm. Public functions are in vidmm.h; those here serve start, recovery, removal.
 * Model      native_fence.c: storage, telling, packing, waiting.
 * Ownership  Fences belong to the client until vidmm_native_fence_destroy().
 * Source     contract.md NTF-010, NTF-011, FENCE-011, FENCE-013..015; docs/contract-choices.md, C8.
 */
#ifndef VIDMM_NATIVE_FENCE_H
#define VIDMM_NATIVE_FENCE_H

#include "vidmm/paging/job.h"

struct vidmm;

struct native_fences {
    struct list blocks; /* of storage, oldest first */
    struct list fences; /* oldest first */
    unsigned count;
    unsigned wait_count; /* of all fences */
    bool is_packing;
    bool is_restoring; /* restore_job is under way */
    struct job restore_job;
    DXGK_FENCE_RESIDENCY_INFO *infos; /* for it: room for all fences */
    unsigned capacity;
};

void native_fences_init(struct vidmm *vidmm);
void native_fences_fini(struct vidmm *vidmm);
/* The driver knows of no fence any more: tells it of all, by a job of the recovery. */
void native_fences_restore(struct vidmm *vidmm);
/* Ends the waits whose values are there, unless that has to wait; and all of them. */
void native_fences_rescan(struct vidmm *vidmm);
void native_fences_end_waits(struct vidmm *vidmm, NTSTATUS status);
bool native_fences_check(const struct vidmm *vidmm);

#endif
