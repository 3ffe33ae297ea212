/*
 * A display miniport (WDDM 2.6, GpuMmu) for the engines of examples/gpu/intel_blt/intel_blt.h,
 * which takes the private data that Intel's user-mode drivers for WSL send.
 *
 * Model      Nodes 0 to 2 are the clients' (3D and compute, video, copies), node 3 is a copy engine
 *            for paging alone. Each has a ring in system memory. A submission is, in it: the root
 *            of its address space, MI_BATCH_BUFFER_START of its batch, for a client's the
 *            monitored fence that it names, MI_FLUSH_DW that writes its id behind everything else,
 *            and MI_USER_INTERRUPT.
 *
 *            A paging operation is a batch of its own, with MI_BATCH_BUFFER_END. Several of them in
 *            one submission are started one after the other: the private data of the paging buffer
 *            has their addresses.
 *
 *            Local memory is what base address 2 shows, segment 1, in pages of 64 KiB. Segment 2 is
 *            the aperture that the contract wants; no allocation is accessed physically, so all
 *            that is there are pages with virtual addresses. Page tables are in local memory and
 *            are written by packets at virtual addresses of the paging process.
 *
 *            INTEL_LARGE_PAGES 0: what is in local memory only is mapped by tables of 64 KiB pages;
 *            1: by pages of 2 MiB where they fit, else of 4 KiB. The manager does not mix the two.
 * Files      adapter.c  what the driver registers; start, stop, power, what it says of itself
 *            memory.c   segments, page tables' shape; allocations, devices, contexts, processes
 *            paging.c   DxgkDdiBuildPagingBuffer
 *            ring.c     submissions, interrupts, preemption, resets
 *            umd.c      what user mode's half asks of the adapter
 *            helper.c   a library for user mode's half, no part of the image
 * Data       An allocation's private data is a stream of tokens (../gpu/intel_blt/intel_tokens.h),
 *            so is a submission's.
 * Mistakes   INTEL_MISTAKE 1: of several page-table entries the last leads to the page behind its
 *            own. 2: of a transfer of several pages the last row is left out. 3: FLUSH_TLB does not
 *            reach the engine of the clients' copies. 4: the fence of every 16th submission is not
 *            written. 5: a page of local memory is said to be one of the system's.
 * Source     contract.md; rules are named where they are kept.
 */
#ifndef DRIVER_INTEL_H
#define DRIVER_INTEL_H

#include <ntddk.h>
#include <ntstatus.h>

#include <d3dkmddi.h>
#include <dispmprt.h>

#include "../gpu/intel_blt/intel_blt.h"
#include "../gpu/intel_blt/intel_tokens.h"

#ifndef INTEL_MISTAKE
#define INTEL_MISTAKE 0
#endif
#ifndef INTEL_LARGE_PAGES
#define INTEL_LARGE_PAGES 0
#endif

#define PAGE                4096u
#define PAGE_64K            65536u
#define SEGMENT_SYSTEM      0u
#define SEGMENT_LOCAL       1u
#define SEGMENT_APERTURE    2u
#define QUEUE_SLOTS         64u
#define RING_BYTES          65536u /* holds QUEUE_SLOTS of the longest submissions */
#define SHARED_BYTES        (IBLT_ENGINES * RING_BYTES + PAGE)
#define PAGING_BUFFER_BYTES (64u * 1024u)
#define PAGING_RECORDS      64u /* operations of a paging submission */
#define SYSTEM_ADDRESS_BITS 46u
#define PRIVATE_MOST        4096u /* bytes of a submission's private data that are looked at */

/* In a paging buffer's private data, for each operation in it. Batches begin at whole 8 bytes. */
#define RECORD_SIGNALS 1u /* bit 0 of the address: it writes a monitored fence */

struct slot {
    UINT fence;
    BOOLEAN signals; /* a monitored fence */
};

struct node {
    volatile ULONG *ring; /* the CPU's view */
    volatile UINT64 *fence;
    UINT64 ring_address, fence_address; /* the engine's, global */
    UINT tail;                          /* bytes */

    struct slot submitted[QUEUE_SLOTS]; /* what is under way, oldest first */
    UINT oldest, newest;                /* counters */
    UINT completed_fence;
    UINT preemption_fence;
    BOOLEAN is_preempted; /* still to be reported */

    UINT serial; /* of the address space whose root was loaded last; 0: none */
    UINT submissions;
};

struct adapter {
    DXGKRNL_INTERFACE dxgkrnl;
    UCHAR *registers;
    PHYSICAL_ADDRESS registers_pa, window_pa;
    UINT64 local_bytes;
    void *shared; /* contiguous: the rings, then the fences */
    PHYSICAL_ADDRESS shared_pa;
    struct node nodes[IBLT_ENGINES];
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
    UINT64 root;
    BOOLEAN has_root;
    UINT serial; /* another one with each root */
};

static inline UINT64 smaller_of(UINT64 a, UINT64 b)
{
    return a < b ? a : b;
}

/* Zeroed, or NULL. */
void *intel_alloc(SIZE_T bytes);
void intel_free(void *memory);

/* ring.c: memory for rings and fences, and the registers that say where they are. */
NTSTATUS intel_rings_open(struct adapter *adapter);
void intel_rings_close(struct adapter *adapter);
void intel_rings_start(struct adapter *adapter);

/* memory.c */
NTSTATUS intel_query_segments(const struct adapter *adapter, const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS intel_query_mmu(const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS intel_query_level(const DXGKARG_QUERYADAPTERINFO *query);

/* umd.c: STATUS_BUFFER_TOO_SMALL. */
NTSTATUS intel_query_user_mode(const struct adapter *adapter,
                               const DXGKARG_QUERYADAPTERINFO *query);

/* What each file registers. */
void intel_register_memory(DRIVER_INITIALIZATION_DATA *table);
void intel_register_paging(DRIVER_INITIALIZATION_DATA *table);
void intel_register_ring(DRIVER_INITIALIZATION_DATA *table);

EXTERN_C DRIVER_INITIALIZE DriverEntry;

#endif
