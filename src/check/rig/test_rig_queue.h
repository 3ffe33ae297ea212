/*
 * Test rig of the checking layer, continued: two contexts with hardware queues on node 1.
 *
 * Place      check, tests only.
 * Model      rig_queues_begin() makes them and takes the driver's answers into its own hands: what
 *            SuspendContext, ResetHwEngine and ResumeHwEngine return is the test's to set. The GPU
 *            tells what it drops.
 */
#ifndef DRYDOCK_CHECK_TEST_RIG_QUEUE_H
#define DRYDOCK_CHECK_TEST_RIG_QUEUE_H

#include "check/rig/test_rig_submit.h"
#include "check/rig/test_rig_tables.h"

struct rig_queue {
    HANDLE kernels, context, queue; /* the first two are of the context */
    UINT64 value;                   /* of the progress fence */
};

struct rig_queues {
    struct rig_queue q[2];
    NTSTATUS suspends, resets, resumes;    /* what the driver returns */
    void (*in_reset)(struct rig *rig);     /* what it does in ResetHwEngine; NULL: nothing */
    void (*in_suspend)(struct rig *rig);   /* ... and in SuspendContext */
    void (*in_interrupt)(struct rig *rig); /* ... and in its interrupt routine */
};

extern struct rig_queues rig_queues;

void rig_queues_begin(struct rig *rig);
void rig_queue_submit(struct rig *rig, unsigned which, UINT64 id);
/* Of a submission of either queue. */
void rig_queue_gpu(struct rig *rig, enum check_gpu_kind kind, UINT64 id);
/* The GPU runs it, and its value is in memory: nobody is told. */
void rig_queue_run(struct rig *rig, unsigned which, UINT64 id);
/* The driver's interrupt routine tells of the values of the node. */
void rig_queue_tell(struct rig *rig);

#endif
