/*
 * A display miniport (WDDM 2.6, GpuMmu) for the engines of examples/gpu/sdma.h: an example for
 * drivers that speak packets of their own.
 *
 * Model      Engine 0 is the clients' node, engine 1 that of paging. Each has a ring in system
 *            memory. A submission is four things in it: where the page tables of its context are,
 *            an INDIRECT to the buffer, a FENCE that writes its id behind everything else, and a
 *            TRAP.
 *
 *            Local memory is what base address 0 shows, segment 1. Segment 2 is the aperture that
 *            the contract wants; no allocation is accessed physically, so all that is there are
 *            pages with virtual addresses. Page tables are written by packets at virtual addresses
 *            of the paging process.
 * Files      adapter.c  what the driver registers; start, stop, power, what it says of itself
 *            memory.c   segments, page tables' shape; allocations, devices, contexts, processes
 *            paging.c   DxgkDdiBuildPagingBuffer
 *            ring.c     submissions, interrupts, preemption, resets
 * Data       An allocation's private data is what a run gives by default:
 *            size:u64,flags:u32,index:u32.
 * Mistakes   SDMA_MISTAKE 1: of several page-table entries the last leads to the page behind its
 *            own SDMA_MISTAKE 2: of a transfer of several pages the last is left out SDMA_MISTAKE
 *            3: FLUSH_TLB is not flushed SDMA_MISTAKE 4: the fence of every 16th submission is not
 *            written
 * Source     contract.md; rules are named where they are kept.
 */
#ifndef DRIVER_SDMA_H
#define DRIVER_SDMA_H

#include <ntddk.h>
#include <ntstatus.h>

#include <d3dkmddi.h>
#include <dispmprt.h>

#include "../gpu/sdma.h"

#ifndef SDMA_MISTAKE
#define SDMA_MISTAKE 0
#endif

#define PAGE                4096u
#define SEGMENT_SYSTEM      0u
#define SEGMENT_LOCAL       1u
#define SEGMENT_APERTURE    2u
#define NODE_PAGING         1u
#define VMID_PAGING         1u
#define VMID_OF_NODE(node)  (2u + (node))
#define QUEUE_SLOTS         64u
#define RING_BYTES          8192u
#define PAGING_BUFFER_BYTES (64u * 1024u)

struct node {
    volatile ULONG *ring; /* the CPU's view */
    volatile ULONG *fence;
    UINT64 ring_address, fence_address; /* the engine's */
    UINT64 wptr;                        /* bytes, ever growing */

    UINT submitted[QUEUE_SLOTS]; /* fence ids under way, oldest first */
    UINT oldest, newest;         /* counters */
    UINT completed_fence;
    UINT preemption_fence;
    BOOLEAN is_preempted; /* still to be reported */

    UINT serials[SDMA_VMIDS]; /* of the address space that each VMID was given last */
    UINT submissions;
};

struct adapter {
    DXGKRNL_INTERFACE dxgkrnl;
    UCHAR *registers, *doorbells;
    PHYSICAL_ADDRESS registers_pa, doorbells_pa, window_pa;
    UINT64 local_bytes;
    void *shared; /* contiguous: the rings, then the fences */
    struct node nodes[SDMA_ENGINES];
    UINT serials; /* given to address spaces */
};

struct process {
    struct adapter *adapter;
};

struct device {
    struct adapter *adapter;
};

struct context {
    struct adapter *adapter;
    UINT node;
    BOOLEAN is_paging;
    UINT64 root; /* as a VMID's base register wants it */
    BOOLEAN has_root;
    UINT serial; /* another one with each root */
};

static inline UINT64 smaller_of(UINT64 a, UINT64 b)
{
    return a < b ? a : b;
}

/* Zeroed, or NULL. */
void *sdma_alloc(SIZE_T bytes);
void sdma_free(void *memory);

/* An address in a segment as page-table entries and base registers say it. */
UINT64 sdma_entry_address(UINT segment, UINT64 offset);

/* ring.c: memory for rings and fences, and the registers that say where they are. */
NTSTATUS sdma_rings_open(struct adapter *adapter);
void sdma_rings_close(struct adapter *adapter);
void sdma_rings_start(struct adapter *adapter);

/* memory.c */
NTSTATUS sdma_query_segments(const struct adapter *adapter, const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS sdma_query_mmu(const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS sdma_query_level(const DXGKARG_QUERYADAPTERINFO *query);

/* What each file registers. */
void sdma_register_memory(DRIVER_INITIALIZATION_DATA *table);
void sdma_register_paging(DRIVER_INITIALIZATION_DATA *table);
void sdma_register_ring(DRIVER_INITIALIZATION_DATA *table);

EXTERN_C DRIVER_INITIALIZE DriverEntry;

#endif
