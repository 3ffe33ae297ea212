/*
 * Clients: processes, devices and contexts.
 *
 * Place      vidmm. Made and destroyed by submit.c; the rest of the manager reads them.
 * Model      A process has an address space and devices; a device has allocations, contexts and a
 *            paging fence; a context submits to one node. Contexts that share a context of the
 *            driver's have a hardware queue each; the first of them knows the driver's.
 * Ownership  The client's, until vidmm_process_destroy() and its like; an object that still has
 *            work goes when that has ended.
 */
#ifndef VIDMM_CLIENT_H
#define VIDMM_CLIENT_H

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/sharing.h"
#include "vidmm/paging/monitored_fence.h"
#include "vidmm/residency/budget.h"
#include "vidmm/residency/turns.h"
#include "vidmm/tables/address_space.h"
#include "vidmm/work/companion.h"
#include "vidmm/work/hw_queue.h"
#include "vidmm/tables/table_burial.h"

struct dma_buffer;

struct vidmm_process {
    struct vidmm *vidmm;
    struct address_space space;
    struct budget budgets[2]; /* by enum vidmm_budget_group */
    bool has_pasid;           /* IoMmu */
    uint32_t pasid;
    struct list devices;
    struct list mappings;
    struct table_burial burial;
    struct process_turn turn;
    struct queue_fences queue_fences;
    struct vidmm_node_counts *node_counts;
    struct list link;
};

struct vidmm_device {
    bool is_in_error;  /* until its owner says otherwise, nothing more is submitted */
    bool is_destroyed; /* and waits for the end of the driver's allocations for its contexts */
    struct vidmm_process *process;
    struct vidmm *vidmm;
    HANDLE driver_device;
    DXGK_DEVICEINFO info; /* of a driver without contexts; else zero */
    struct list contexts;
    struct list allocations;
    struct list openings;            /* of allocations of other devices (sharing.c) */
    struct list context_allocations; /* of them, shared by all contexts */
    unsigned submission_count;       /* not retired */
    uint64_t requests_made;          /* last value of the device's paging fence that was promised */
    struct monitored_fence paging_fence;
    uint64_t fence_owed; /* value of requests that failed, until the CPU may write it */
    unsigned pending_requests;
    struct list link;
};

struct vidmm_context {
    struct vidmm_device *device;
    struct vidmm_context *first; /* whose driver's context it has: itself, or another one's */
    unsigned sharers;            /* other contexts that have its driver's context */
    HANDLE driver_context;
    DXGK_CONTEXTINFO info;
    uint32_t dma_segments; /* apertures for its DMA buffers, bit 0: segment 1; 0: system memory */
    unsigned node;
    struct vidsch_context *scheduler;
    bool root_is_set; /* of the first one */
    bool is_gdi;      /* the kernel's own: DxgkDdiRenderKm or DxgkDdiRenderGdi makes what it runs */
    bool is_for_queues; /* made for hardware queues, which the client makes */
    bool is_null_rendering;
    bool is_redirected_present;
    bool names_references;   /* in the list of patch locations that the client hands in */
    struct list allocations; /* of the driver, for this context */
    uint64_t paging_wait;    /* submissions wait until the device's paging fence has this value */
    unsigned waiting_submissions; /* GpuMmu: whose request has not ended */
    struct dma_buffer *free_buffers;
    unsigned tile_update_count; /* not done */
    struct companion companion;
    struct hw_queue queue;
    struct list link;
};

/* The device that an aperture operation names: nobody's for the primary (APER-006). */
static inline HANDLE allocation_owner(const struct vidmm_allocation *allocation)
{
    return allocation->is_primary  ? NULL
           : allocation->is_orphan ? opening_owner(allocation)
                                   : allocation->device->driver_device;
}

#endif
