/*
 * Scheduling logs: where a node with hardware queues notes when its contexts run.
 *
 * Place      vidmm. hw_queue.c makes them; adapter.c opens them and hears of the node's interrupts;
 *            the paging process maps their pages behind the monitored fences.
 * Model      A node has two buffers of a system page each, by turns. The node has one of them; when
 *            the driver reports SCHEDULING_LOG_INTERRUPT it gets the other. A driver that does not
 *            have DxgkDdiSetSchedulingLogBuffer has none; one that refuses keeps what it has.
 * Source     contract.md HWQ-021, HWQ-022.
 */
#ifndef VIDMM_SCHEDULING_LOG_H
#define VIDMM_SCHEDULING_LOG_H

#include <stdint.h>

#include <ntddk.h>
#include <d3dkmddi.h>

struct vidmm;

struct scheduling_logs {
    uint64_t first_page, page_count; /* 0: there are none */
    uint8_t *cpu;
    uint64_t second;  /* nodes that have the second one of their two */
    uint64_t is_full; /* nodes that have said so, and not got the other one yet */
};

/* Most entries that a page has room for. */
#define SCHEDULING_LOG_ENTRIES 127

/* The nodes with queues are known. */
NTSTATUS scheduling_logs_init(struct vidmm *vidmm);
/* The paging process has mapped them. */
void scheduling_logs_open(struct vidmm *vidmm);
/* At device IRQL: only records. */
void scheduling_logs_interrupted(struct vidmm *vidmm, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);
void scheduling_logs_rescan(struct vidmm *vidmm);
void scheduling_logs_fini(struct vidmm *vidmm);

#endif
