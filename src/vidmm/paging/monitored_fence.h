/*
 * Monitored fences: 64-bit values in memory that the GPU writes and everybody waits for.
 *
 * Place      vidmm. The paging fence of each device is one. The paging process maps the block of
 *            values; requests wait for them.
 * Model      Drivers of WDDM 2.2 and later write values by SIGNAL_MONITORED_FENCE. For others there
 *            is no memory (cpu is NULL), and packets that retire stand for the values.
 * Ownership  A fence is the caller's from monitored_fence_init() to monitored_fence_fini().
 * Errors     STATUS_INSUFFICIENT_RESOURCES: all values are taken.
 * Source     contract.md NTF-007..009, FENCE-011, FENCE-012, RES-005, RES-006; sequence S-24.
 */
#ifndef VIDMM_MONITORED_FENCE_H
#define VIDMM_MONITORED_FENCE_H

#include "vidsch/vidsch.h"

struct vidmm;

#define MONITORED_FENCES      8192
#define MONITORED_FENCE_PAGES UINT64_C(16)

struct monitored_fences {
    uint64_t first_page;
    volatile uint64_t *cpu;
    bool was_signalled; /* an interrupt said so since the last look */
    uint64_t taken[MONITORED_FENCES / 64];
};

struct monitored_fence {
    volatile uint64_t *cpu; /* the value; NULL: packets that retire stand for it */
    uint64_t va;            /* where the paging process sees it */
    struct vidsch_fence waiters;
};

/* Takes the memory, if the driver knows the operation; the paging process maps it. */
NTSTATUS monitored_fences_init(struct vidmm *vidmm);
void monitored_fences_fini(struct vidmm *vidmm);
/* The value starts at 0. */
NTSTATUS monitored_fence_init(struct vidmm *vidmm, struct monitored_fence *fence, uint64_t value);
void monitored_fence_fini(struct vidmm *vidmm, struct monitored_fence *fence);
void monitored_fence_op_signal(const struct monitored_fence *fence, uint64_t value,
                               DXGKARG_BUILDPAGINGBUFFER *args);
/* Sees to it that memory says at least value, and lets go the packets that wait for it. */
void monitored_fence_signal(struct vidmm *vidmm, struct monitored_fence *fence, uint64_t value);
void monitored_fences_interrupted(struct vidmm *vidmm, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);

#endif
