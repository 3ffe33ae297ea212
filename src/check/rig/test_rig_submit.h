/*
 * Test rig of the checking layer, continued: clients' packets, preemption, and the GPU, which the
 * rig plays with check_gpu().
 *
 * Place      check, tests only.
 * Model      rig_packet() is a lawful submission of the rig's context on node 1 as a structure that
 *            a test may change; rig_run() is what a lawful GPU and driver make of the last one.
 */
#ifndef DRYDOCK_CHECK_TEST_RIG_SUBMIT_H
#define DRYDOCK_CHECK_TEST_RIG_SUBMIT_H

#include "check/rig/test_rig.h"

#define RIG_CLIENT_NODE  1u
#define RIG_CLIENT_BYTES 64u

DXGKARG_SUBMITCOMMAND rig_packet(struct rig *rig);
DXGKARG_SUBMITCOMMANDVIRTUAL rig_packet_virtual(struct rig *rig);
NTSTATUS rig_submit_packet(struct rig *rig, const DXGKARG_SUBMITCOMMAND *packet);
NTSTATUS rig_submit_virtual(struct rig *rig, const DXGKARG_SUBMITCOMMANDVIRTUAL *packet);

/* ---- The GPU ---- */

void rig_gpu_event(struct rig *rig, enum check_gpu_kind kind, unsigned node, uint32_t fence,
                   uint32_t bytes);

/* The GPU gets all of the packet, runs it, and the driver reports it. */
void rig_run(struct rig *rig, unsigned node, uint32_t fence, uint32_t bytes);

/* A packet of the context, of 64 bytes, under way. Gives the fence. */
uint32_t rig_render(struct rig *rig);

/* ---- Preemption and resets ---- */

NTSTATUS rig_preempt(struct rig *rig, unsigned node, uint32_t preemption);
void rig_interrupt(struct rig *rig, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);
void rig_preempted(struct rig *rig, unsigned node, uint32_t preemption, uint32_t last);
uint32_t rig_query_fence(struct rig *rig, unsigned node);
void rig_reset_adapter(struct rig *rig);

/* Resets the engine of node 1. Gives the driver's LastAbortedFenceId. */
uint32_t rig_reset_engine(struct rig *rig);

/* ---- One call that is answered otherwise ---- */

struct rig_refusal {
    enum miniport_ddi ddi;
    NTSTATUS status;
};

/* From now on the DDI returns the status, whatever it did. The refusal is borrowed by the rig. */
void rig_refuse(struct rig *rig, struct rig_refusal *refusal);

#endif
