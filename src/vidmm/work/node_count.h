/*
 * Node counts: what each node has done, in all, for the system, and for each process.
 *
 * Place      vidmm, private. The scheduler tells of each step of each packet.
 * Model      A node runs while the driver has packets of it. The time from when the node was last
 *            idle, or a packet of it last ended, is of the packet that ends next.
 * Ownership  In struct vidmm from node_counts_init() to node_counts_fini(), and in each process.
 * Errors     STATUS_NO_MEMORY.
 */
#ifndef VIDMM_NODE_COUNT_H
#define VIDMM_NODE_COUNT_H

#include "vidmm/vidmm.h"

struct node_count;
struct vidsch_told;

NTSTATUS node_counts_init(struct vidmm *vidmm);
void node_counts_fini(struct vidmm *vidmm);
NTSTATUS node_counts_open_process(struct vidmm_process *process);
void node_counts_close_process(struct vidmm_process *process);

/* Of struct vidsch_events: also for notes. */
void node_counts_told(void *vidmm, const struct vidsch_told *told);

#endif
