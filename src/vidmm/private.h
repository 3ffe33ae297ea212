/*
 * Private: the objects of the memory manager and who does what with them.
 *
 * Place      vidmm, included by its own files only.
 * Model      | file              | what it does                                                  |
 *            | adapter.c         | start, stop, callbacks in, the pump that drives the rest      |
 *            | adapter_caps.c    | what the driver reports, checked                              |
 *            | segment.c         | placement: ranges, page runs, aperture slots; LRU lists       |
 *            | allocation.c      | create, destroy, backing store, states                        |
 *            | lock.c            | CPU access                                                    |
 *            | allocation_flags.c | flags of allocations, and which the manager goes by          |
 *            | residency.c       | requests; who must leave so that they fit                     |
 *            | paging_queue.c    | operations into buffers, buffers to the GPU, completions      |
 *            | aperture.c        | slots of apertures: which operations fill and empty them      |
 *            | alternate_va.c    | allocations that the CPU sees through swizzling ranges        |
 *            | agp.c             | the bridge's aperture, and getting what is on its way through |
 *            | paging_physical.c | which operations move an allocation (physical model)          |
 *            | paging_virtual.c  | the same for GpuMmu, through the paging process's scratch     |
 *            | context_allocation.c | memory of the driver's own that belongs to a context        |
 *            | scratch_view.c    | an allocation in the paging process, for one operation         |
 *            | auxiliary_mmu.c   | mappings in MMUs beside that of the engines                   |
 *            | notice.c          | operations that tell the driver where things are              |
 *            | page_table.c      | trees of page tables and the operations that write them      |
 *            | segment_tables.c  | pages for page tables                                         |
 *            | table_memory.c    | the memory that page tables lie in                            |
 *            | idle_updates.c    | page tables that change only while nobody uses them           |
 *            | table_burial.c    | page tables that nothing needs any more                       |
 *            | table_eviction.c  | page tables that leave to make room, and come back            |
 *            | table_move.c      | page tables that get another place                            |
 *            | compaction.c      | one piece of a segment, by moving what lies in it             |
 *            | root_change.c     | roots that grow, in the layout of two levels                  |
 *            | paging_process.c  | the system process: buffers, scratch range, table window      |
 *            | monitored_fence.c | values in memory that the GPU writes: the paging fences       |
 *            | native_fence.c    | fences that the GPU keeps, and where they are                |
 *            | iommu.c           | the model without page tables: addresses of the process       |
 *            | gpu_va.c          | mappings of allocations and of physical pages                 |
 *            | tile.c            | tiles: mappings that change by copies of entries              |
 *            | companion.c       | the contexts that copies of entries run on                    |
 *            | host_aperture.c   | the CPU's way to memory that it does not see                  |
 *            | submit.c, render.c| processes, devices, contexts; submissions of the two models   |
 *            | recovery.c        | time-outs, resets, and building everything up again          |
 *            | power.c           | sleeps: what must leave for them                             |
 *            | exclusive_access.c | the window in which the IOMMU changes domains                |
 *            | removal.c         | the end of an adapter that still has work                     |
 *            | check.c           | the invariant walk                                            |
 *
 *            Work flows one way: a request (residency.c) places allocations and queues jobs; a job
 *            generates paging operations one at a time; the paging queue turns them into buffers;
 *            when the buffer that holds a job's last operation retires, the job is finished and
 *            what it moved is published. Jobs run strictly in the order in which they were queued,
 *            so what a generator sees is what the GPU will see when the operation executes.
 * Errors     Whatever can fail for lack of memory fails when it is asked for, before anything is
 *            queued; a queued job cannot fail on our side.
 */
#ifndef VIDMM_PRIVATE_H
#define VIDMM_PRIVATE_H

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/page_allocator.h"
#include "base/range_allocator.h"
#include "base/services.h"
#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/vidmm.h"
#include "vidsch/vidsch.h"

#define PAGES_64K 16 /* 4 KiB pages to a 64 KiB one */

#define PAGE_BYTES_OF(pages) ((uint64_t)(pages) << PAGE_SHIFT_BITS)

/* ---- Segments (segment.c) -------------------------------------------------------------------- */

enum segment_kind {
    SEGMENT_SYSTEM,     /* id 0: system pages, no address of its own; GpuMmu only */
    SEGMENT_CONTIGUOUS, /* memory, allocations are one range: physical model      */
    SEGMENT_PAGES,      /* memory, allocations are runs of pages: GpuMmu          */
    SEGMENT_AGP,        /* the bridge's window on system pages: physical model */
    SEGMENT_APERTURE,   /* slots that show system pages                           */
};

#define PRIORITY_CLASSES 5
#define OFFER_CLASSES    3
#define VICTIM_CLASSES   (OFFER_CLASSES + PRIORITY_CLASSES)

/* A slot of a CPU host aperture. */
struct host_slot {
    uint64_t page;    /* of the segment, + 1 that it shows, 0: none */
    uint32_t sharers; /* besides the first: page tables in the same page */
};

struct segment {
    enum segment_kind kind;
    unsigned id;
    const struct vidmm_segment_caps *caps; /* NULL for SEGMENT_SYSTEM */
    uint64_t size;                         /* bytes usable, after limits */
    struct range_allocator ranges;         /* CONTIGUOUS and APERTURE */
    struct page_allocator host_slots;      /* of its CPU host aperture, if it has one */
    struct host_slot *host_shown;          /* what each of them shows */
    bool host_is_closed;                   /* in D3: the driver has none of them mapped */
    struct page_allocator pages;           /* PAGES; counts units */
    uint64_t unit_pages;                   /* 16 with Use64KBPages, else 1 */
    struct list table_units;               /* that page tables share (segment_tables.c) */
    uint64_t used;                         /* bytes placed */
    uint64_t peak_used;
    uint64_t table_bytes; /* of used: page tables, paging buffers */
    uint64_t leaving;     /* bytes whose owners are on their way out, or dying */
    uint64_t doomed;      /* bytes of destroyed allocations that submitted work still uses */
    uint64_t allocation_count;
    /*
     * Allocations that may be evicted, least recently used first: those that were offered, by the
     * priority of the offer, then the others by priority class.
     */
    struct list lru[VICTIM_CLASSES];
};

/* What is placed there has its content there, not in its backing store. */
static inline bool segment_holds_content(const struct segment *segment)
{
    return segment->kind == SEGMENT_CONTIGUOUS || segment->kind == SEGMENT_PAGES;
}

NTSTATUS segments_init(struct vidmm *vidmm);
void segments_fini(struct vidmm *vidmm);
struct segment *segment_by_id(struct vidmm *vidmm, unsigned id); /* 0: system */

struct placement;

/*
 * Takes a place for the allocation in the segment. Never evicts: STATUS_GRAPHICS_NO_VIDEO_MEMORY
 * when the segment is full, STATUS_NO_MEMORY when the host is; out_place is as it was then.
 */
NTSTATUS segment_take_place(struct segment *segment, struct vidmm_allocation *allocation,
                            struct placement *out_place);
/* Gives a place back; its segment is NULL then. */
void segment_release_place(struct vidmm_allocation *allocation, struct placement *place);
/* The same of the place in force, which counts in the bytes that leave or are doomed. */
NTSTATUS segment_place(struct segment *segment, struct vidmm_allocation *allocation);

/*
 * Whether its place in a segment has to be one piece: the physical model, whatever is reached by
 * physical address, and primaries (ALLOC-016).
 */
bool segment_places_whole(const struct vidmm_allocation *allocation);
void segment_unplace(struct vidmm_allocation *allocation);
/* Byte offset in the segment of a page of a placed allocation (memory segments). */
uint64_t segment_page_offset(struct vidmm_allocation *allocation, uint64_t page);
/* How many pages from this one on are contiguous in the segment; their first byte offset. */
uint64_t segment_run(struct vidmm_allocation *allocation, uint64_t page, uint64_t *out_offset);
/* Pages of the segment that the allocation takes there: with PitchAlignment more than it has. */
uint64_t segment_page_count(const struct segment *segment,
                            const struct vidmm_allocation *allocation);
/* Bytes that placing the allocation in the segment takes. */
uint64_t segment_footprint(const struct segment *segment,
                           const struct vidmm_allocation *allocation);
uint64_t segment_free(const struct vidmm *vidmm, const struct segment *segment);
/* Apertures take from one limit: what another one gives back helps this one (APER-017). */
bool segment_shares_limit(const struct vidmm *vidmm, const struct segment *segment,
                          const struct segment *other);

/*
 * Physical model: slots of an eviction segment for the allocation's way out. Without one, or when
 * none has room, eviction_aperture stays NULL and the transfer goes to the pages directly.
 */
void segment_take_eviction_slots(struct vidmm_allocation *allocation);
void segment_release_eviction_slots(struct vidmm_allocation *allocation);

/* Takes or releases contiguous pages for a page table. segment 0: one system page. */
NTSTATUS segment_take_pages(struct vidmm *vidmm, unsigned segment_id, uint64_t page_count,
                            uint64_t alignment_pages, uint64_t *out_page);
void segment_release_pages(struct vidmm *vidmm, unsigned segment_id, uint64_t first_page,
                           uint64_t page_count, uint64_t alignment_pages);
/* The same in whole units of a segment of pages, for segment_tables.c. */
NTSTATUS segment_take_units(struct segment *segment, uint64_t page_count, uint64_t alignment_pages,
                            uint64_t *out_page);
void segment_release_units(struct segment *segment, uint64_t first_page, uint64_t page_count);

/* Moves the allocation's bytes to another of the segment's counts, if it is placed. */
void segment_set_departure(struct vidmm_allocation *allocation, int departure);

void segment_lru_add(struct vidmm_allocation *allocation);
/* Nothing when it is on no list. */
void segment_lru_remove(struct vidmm_allocation *allocation);

/* ---- CPU host aperture (host_aperture.c) ----------------------------------------------------- */

/*
 * Pages of 4 KiB, one behind the other in both; out_address is where the CPU sees the first one.
 * STATUS_GRAPHICS_NO_VIDEO_MEMORY: no such slots are free.
 */
NTSTATUS host_aperture_map_range(struct vidmm *vidmm, struct segment *segment, uint64_t first_page,
                                 uint64_t count, uint32_t *out_first_slot, uint64_t *out_address);
void host_aperture_unmap_range(struct vidmm *vidmm, struct segment *segment, uint32_t first_slot,
                               uint64_t first_page, uint64_t count);
/* Around D3: nothing is mapped in between, and what is unmapped then the driver is not told of. */
void host_apertures_close(struct vidmm *vidmm);
void host_apertures_open(struct vidmm *vidmm);
/* All pages of a placed allocation, until it is unmapped; it must not move meanwhile. */
NTSTATUS host_aperture_map_allocation(struct vidmm_allocation *allocation);
void host_aperture_unmap_allocation(struct vidmm_allocation *allocation);
static inline uint64_t host_aperture_address(const struct segment *segment, uint32_t slot)
{
    return segment->caps->host_address + PAGE_BYTES_OF((uint64_t)slot * segment->unit_pages);
}

/* ---- Paging queue (paging_queue.c) ----------------------------------------------------------- */

enum job_step {
    JOB_OPERATION, /* *args holds the next operation */
    JOB_WAIT,      /* nothing now: ask again when a paging buffer has retired */
    JOB_DONE,      /* that was all */
};

struct job;
struct job_ops {
    /*
     * Fills operation and its member of the union; the rest of *args is the queue's. What args
     * points to stays valid until the next call.
     */
    enum job_step (*next)(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args);
    /* Everything the job generated has retired. May free the job and queue others. */
    void (*finished)(struct job *job);
    /*
     * What it generated, if anything, is lost (the adapter was reset, or slept), tables are as new,
     * and it will be asked again from phase 0 and cursor 0 on: forget the rest. NULL: there is no
     * rest.
     */
    void (*restarted)(struct job *job);
};
struct job {
    const struct job_ops *ops;
    struct list link; /* in the queue, then in the submission that holds its end */
    unsigned phase;   /* generator state */
    uint64_t cursor;
    struct companion *companion; /* that its operations run on; NULL: the system context */
};

/* The companion of a context, on which entries are copied for it (companion.c). */
struct companion {
    HANDLE driver_context; /* NULL: there is none */
    struct vidsch_context *scheduler;
    unsigned node;
};

struct paging_buffer {
    uint8_t *cpu;
    uint64_t first_page; /* contiguous system pages */
    bool has_slots;      /* ... seen through the aperture that the driver wants, from ... */
    uint64_t slots;      /* ... this byte offset on (paging_aperture.c) */
    uint64_t va;         /* in the paging process; 0 in the physical model */
    uint32_t bytes;      /* usable */
    uint32_t used;       /* built so far */
    uint32_t submitted;  /* ... and handed to the scheduler */
    uint8_t *private_data;
    uint32_t private_bytes;
    uint32_t private_used;
    uint32_t private_submitted;
    unsigned in_flight; /* submissions */
};

struct paging_submission {
    struct vidsch_packet packet;
    struct vidmm *vidmm;
    struct paging_buffer *buffer;
    struct companion *companion; /* that it runs on; NULL: the system context */
    uint64_t number;             /* in the order of the queue, from 1 */
    uint32_t start, end;
    uint32_t private_start, private_end;
    HANDLE driver_context; /* NULL: nobody's, the node says where it runs (SUB-003) */
    struct list jobs;      /* that end here */
    struct list in_flight; /* in paging_queue.in_flight, or free */
};

#define PAGING_SUBMISSIONS 64

struct paging_queue {
    struct list jobs;   /* the first one is being generated */
    bool has_operation; /* operation is not complete yet */
    bool is_shown;      /* it was built, at least in part */
    bool needs_buffer;  /* the driver found the current one too small */
    bool is_pumping;
    bool is_building;                    /* the driver is in DxgkDdiBuildPagingBuffer */
    DXGKARG_BUILDPAGINGBUFFER operation; /* as the job gave it; repeated unchanged (PB-015) */
    struct vidmm_allocation *subject;    /* what it is about; NULL: no one allocation */
    unsigned fresh_failures;  /* INSUFFICIENT on fresh buffers without progress (PB-012) */
    unsigned aimless_repeats; /* ... with bytes written, and MultipassOffset as before (PB-014) */
    struct paging_buffer *buffers;
    unsigned buffer_count;
    unsigned current;  /* index into buffers */
    struct list ended; /* jobs whose end is in the current buffer, not submitted yet */
    struct list in_flight;
    struct list idle;
    struct paging_submission submissions[PAGING_SUBMISSIONS];
    NTSTATUS retired_status; /* of the packet whose jobs are being finished */
    struct companion
        *companion; /* what is built and not submitted is for it; NULL: the system context */
    struct companion *submitted_for; /* the last submission was */
    uint64_t submitted;              /* its number */
    struct vidsch_fence retired;     /* the number of the last one that has */
    /* The system context. */
    HANDLE driver_process, driver_device, driver_context;
    HANDLE spare_device; /* starts_as_observed: made, and never used */
    struct vidsch_context *context;
    unsigned node;
};

/*
 * The system's process, device and context in the driver; of a struct vidmm that knows its nodes.
 */
NTSTATUS paging_queue_create_context(void *vidmm);
NTSTATUS paging_queue_init(struct vidmm *vidmm);

/* Whether paging buffers are in an aperture segment, for the GPU; not in the GpuMmu model. */
bool paging_aperture_is_used(const struct vidmm *vidmm);
NTSTATUS paging_aperture_take(struct vidmm *vidmm, struct paging_buffer *buffer);
void paging_aperture_release(struct vidmm *vidmm, struct paging_buffer *buffer);
/* At the start, and when the slots have lost what they showed. */
NTSTATUS paging_aperture_map(struct vidmm *vidmm, struct vidmm_failure *failure);
/* What a submission names in the physical model: a segment and an address in it. */
uint64_t paging_aperture_address(struct vidmm *vidmm, const struct paging_buffer *buffer,
                                 UINT *out_segment);

/* Paging buffers are not mapped in the paging process. */
bool paging_queue_hides_buffers(const struct vidmm *vidmm);
void paging_queue_fini(struct vidmm *vidmm);
void paging_queue_add(struct vidmm *vidmm, struct job *job);
/* Builds and submits what can be; called by vidmm_pump(). True if it did anything. */
bool paging_queue_run(struct vidmm *vidmm);
/*
 * The adapter has been reset and nothing is with the driver: forgets what is built and appends the
 * jobs that have not finished, in their order, to unfinished.
 */
void paging_queue_reset(struct vidmm *vidmm, struct list *unfinished);
/*
 * Has the driver execute an operation at once, without a buffer: page tables of the paging process
 * (PB-026, PT-020).
 */
void paging_queue_build_now(struct vidmm *vidmm, DXGKARG_BUILDPAGINGBUFFER *args);
/* The companion goes, and none of its jobs is left. */
void paging_queue_leave(struct vidmm *vidmm, const struct companion *companion);
/* The adapter has gone: what is built is forgotten; jobs run to their ends without the driver. */
void paging_queue_abandon(struct vidmm *vidmm);
bool paging_queue_is_idle(const struct vidmm *vidmm);
/* Everything built so far has retired. */
bool paging_queue_is_drained(const struct vidmm *vidmm);

#include "vidmm/memory/allocation.h"

/* ---- Residency (residency.c) ----------------------------------------------------------------- */

struct request {
    struct list
        link; /* in vidmm->requests, then in vidmm->signalling while it waits for its value */
    struct vidmm *vidmm;
    struct vidmm_device *device;
    vidmm_done done;
    void *context;
    uint64_t fence_value; /* 0: none */
    /*
     * A request for page tables instead of allocations: makes them and queues the job, or says
     * STATUS_GRAPHICS_NO_VIDEO_MEMORY to be asked again; done then has subject as its context.
     */
    NTSTATUS (*make_tables)(void *subject);
    uint64_t table_bytes;
    bool is_active;    /* its references are held */
    bool must_succeed; /* or the device is in error */
    bool has_restored; /* page tables of what it holds: their jobs come first */
    bool is_reclaim;   /* references that were put aside come back with it */
    bool has_ended;    /* by its value in memory, before its barrier's packet has retired */
    unsigned resorts;  /* what has been tried so that it need not fail (residency.c) */
    unsigned count;
    unsigned placed;
    struct job barrier;
    size_t bytes; /* of this struct */
    struct vidmm_allocation *allocations[];
};

/* Gives a request that holds the allocations when done(STATUS_SUCCESS) is called. */
NTSTATUS request_create(struct vidmm_device *device, unsigned count, vidmm_done done, void *context,
                        struct request **out_request);
NTSTATUS request_create_for_tables(struct vidmm *vidmm, uint64_t table_bytes,
                                   NTSTATUS (*make_tables)(void *subject), vidmm_done done,
                                   void *subject, struct request **out_request);
void request_free(struct request *request);
void request_queue(struct request *request);
/* Before all that wait: in the place of a request that has just ended. */
void request_queue_first(struct request *request);
/* The device's paging fence has the request's value: ends it. */
void request_signalled(struct request *request);
bool residency_run(struct vidmm *vidmm);

/* ---- Monitored fences (monitored_fence.c) ---------------------------------------------------- */

#define MONITORED_FENCES 8192

/* Drivers of WDDM 2.2 and later (op 16); for others there is no memory, and cpu is NULL. */
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

NTSTATUS monitored_fences_init(struct vidmm *vidmm);
void monitored_fences_fini(struct vidmm *vidmm);
/* Shows them to the paging process; again after its tables have been lost. */
NTSTATUS monitored_fences_map(struct vidmm *vidmm);
/* STATUS_INSUFFICIENT_RESOURCES: all are taken. The value starts at 0. */
NTSTATUS monitored_fence_init(struct vidmm *vidmm, struct monitored_fence *fence);
void monitored_fence_fini(struct vidmm *vidmm, struct monitored_fence *fence);
void monitored_fence_op_signal(const struct monitored_fence *fence, uint64_t value,
                               DXGKARG_BUILDPAGINGBUFFER *args);
/* Sees to it that memory says at least value, and lets go the packets that wait for it. */
void monitored_fence_signal(struct vidmm *vidmm, struct monitored_fence *fence, uint64_t value);
void monitored_fences_interrupted(struct vidmm *vidmm, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);
/* Ends the requests whose values have been written. */
void monitored_fences_rescan(struct vidmm *vidmm);

/* ---- Native fences (native_fence.c) ---------------------------------------------------------- */

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
/* The driver has lost what it knew: tells it of all of them. Its job is the recovery's. */
void native_fences_restore(struct vidmm *vidmm);
enum job_step native_fences_restore_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args);
/* Ends the waits whose values are there, unless that has to wait; and all of them. */
void native_fences_rescan(struct vidmm *vidmm);
void native_fences_end_waits(struct vidmm *vidmm, NTSTATUS status);
bool native_fences_check(const struct vidmm *vidmm);

#include "vidmm/tables/address_space.h"

/* ---- Alternate virtual addresses (alternate_va.c) -------------------------------------------- */

/* A range for a resident allocation that is being locked, if it wants one and there is one. */
void alternate_va_open(struct vidmm_allocation *allocation);
void alternate_va_close(struct vidmm_allocation *allocation);
/* It starts to leave; is_for_cpu: because the CPU wants to look at it. */
void alternate_va_leaves(struct vidmm_allocation *allocation, bool is_for_cpu);
/* It has left its segment, or has come (back) to one. */
void alternate_va_left(struct vidmm_allocation *allocation);
void alternate_va_entered(struct vidmm_allocation *allocation);
/* SPECIAL_LOCK_TRANSFER in the place of its transfer; false: that was all. */
bool alternate_va_op_transfer(struct vidmm_allocation *allocation, bool is_in,
                              DXGKARG_BUILDPAGINGBUFFER *args);
/* Which way the order of a Swizzled allocation changes between memory and its backing store. */
void alternate_va_set_order(const struct vidmm_allocation *allocation, bool is_in,
                            DXGK_TRANSFERFLAGS *flags);
/*
 * It is BACKED in its own order and is wanted by the CPU: has it paged in.
 * STATUS_GRAPHICS_ALLOCATION_BUSY, or why it cannot be.
 */
NTSTATUS alternate_va_fetch(struct vidmm_allocation *allocation);

/* ---- AGP (agp.c) ----------------------------------------------------------------------------- */

/* Shows the scratch page at the start of the segment. agp_close() undoes it, whole or half done. */
NTSTATUS agp_open(struct vidmm *vidmm, struct segment *segment);
void agp_close(struct vidmm *vidmm);
/* The pages of a placed allocation in the bridge. STATUS_NO_MEMORY. */
NTSTATUS agp_map(struct vidmm_allocation *allocation);
void agp_unmap(struct vidmm_allocation *allocation);
/*
 * The next operation that gets what the GPU wrote to the allocation through the bridge, counted in
 * *step from 0; false when all have been generated.
 */
bool agp_op_flush(struct vidmm_allocation *allocation, unsigned *step,
                  DXGKARG_BUILDPAGINGBUFFER *args);
/*
 * True: what the GPU wrote is still on its way to memory; ask again. It may have been started now.
 */
bool agp_flush(struct vidmm_allocation *allocation);

/* ---- IoMmu model (iommu.c) ------------------------------------------------------------------- */

/* STATUS_NOT_SUPPORTED: the driver wants an IOMMU and the platform has none. */
NTSTATUS iommu_check(const struct vidmm *vidmm);
/* A PASID for the process; nothing in the other models. */
NTSTATUS iommu_open_process(struct vidmm_process *process);
void iommu_close_process(struct vidmm_process *process);
/* Shows the backing store at the mapping's address; takes one for an allocation that has none. */
NTSTATUS iommu_show_mapping(struct mapping *mapping);
void iommu_hide_mapping(struct mapping *mapping);
/*
 * The same of all mappings, when the allocation gets another backing store, or loses the one it
 * has.
 */
NTSTATUS iommu_show_backing(struct vidmm_allocation *allocation);
void iommu_hide_backing(struct vidmm_allocation *allocation);

/* ---- Objects (submit.c) ---------------------------------------------------------------------- */

/* Of one group of segments (budget.c); bytes. */
struct budget {
    uint64_t limit; /* UINT64_MAX: none */
    uint64_t used;  /* resident */
    uint64_t idle;  /* of used: may be evicted */
    uint64_t going; /* of used: on its way out */
    bool is_asked;  /* to trim, since it got over its limit */
};

struct vidmm_process {
    struct vidmm *vidmm;
    struct address_space space;
    struct budget budgets[2]; /* by enum vidmm_budget_group */
    bool has_pasid;           /* IoMmu */
    uint32_t pasid;
    struct list devices;
    struct list mappings;
    struct table_burial burial;
    struct list link;
};

struct vidmm_device;
/* The end of vidmm_device_destroy(), when no allocation of the device is left. */
void device_free_if_done(struct vidmm_device *device);

/* The end of vidmm_process_destroy(), when its tables need nothing more. */
void process_free(struct vidmm_process *process);

struct vidmm_device {
    bool is_in_error;  /* until its owner says otherwise, nothing more is submitted */
    bool is_destroyed; /* and waits for the end of what the driver had for its contexts */
    struct vidmm_process *process;
    struct vidmm *vidmm;
    HANDLE driver_device;
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

static inline HANDLE allocation_owner(const struct vidmm_allocation *allocation)
{
    return allocation->is_primary ? NULL : allocation->device->driver_device;
}

/*
 * All submissions up to and including this one have retired. Whatever device made them: allocations
 * are shared. None waits for memory, so that waiting for them always ends.
 */
uint64_t submissions_retired(const struct vidmm *vidmm);

struct dma_buffer;
struct vidmm_context {
    struct vidmm_device *device;
    HANDLE driver_context;
    DXGK_CONTEXTINFO info;
    unsigned node;
    struct vidsch_context *scheduler;
    bool root_is_set;
    bool is_null_rendering;
    bool names_references;   /* in the list of patch locations that the client hands in */
    struct list allocations; /* of the driver, for this context */
    uint64_t paging_wait;    /* submissions wait until the device's paging fence has this value */
    struct dma_buffer *free_buffers;
    unsigned tile_update_count; /* not done */
    struct companion companion;
    struct list link;
};

/*
 * The contexts of an address space, together: held, they give the GPU nothing new, and quiet, the
 * GPU has nothing of theirs. Holds are counted.
 */
void space_hold(struct address_space *space);
void space_release(struct address_space *space);
bool space_is_quiet(const struct address_space *space);
/* Tells the driver where the root is now, for the contexts that it has told before. */
void space_set_root(struct address_space *space);

/* ---- Recovery (recovery.c) ------------------------------------------------------------------- */

#define VIDMM_MAX_TIMEOUT_LIMIT 64

struct recovery {
    bool is_under_way;  /* packets that retire now with a failure have not run */
    bool blames_owners; /* ... and are the ones that did not end (TDR-009) */
    bool is_put_off;    /* to the watchdog's next look: in this one a call of the driver waited */
    struct list unfinished;  /* jobs of such packets, in order */
    struct list allocations; /* whose places are to be cleaned up */
    struct list *at;         /* where the clean-up job is in them */
    bool maps_again;         /* mappings of what is resident are to be written */
    uint64_t now_ns;         /* of the watchdog's last look */
    uint64_t time_outs[VIDMM_MAX_TIMEOUT_LIMIT]; /* when the last ones were, a ring */
    struct job cleanup_job;
    struct job restored_job;
};
void recovery_init(struct vidmm *vidmm);
/*
 * Builds up again what is gone: the page tables, if they were lost, what has kept its place without
 * being there, and the mappings of what is there. Rendering goes on when that has retired.
 */
void recovery_restore(struct vidmm *vidmm, bool lost_tables);
/* A node does not answer: resets it, or everything. False: not now, a call of the driver waits. */
bool recovery_timed_out(void *context, unsigned node);
/* Takes the jobs of a paging packet that a reset aborted. */
void recovery_keep_jobs(struct vidmm *vidmm, struct list *jobs);
/* What the device has queued will fail, what it submits is refused. */
void device_fail(struct vidmm_device *device, const char *reason);
/* Why nothing may be submitted to the device; STATUS_SUCCESS: it may. */
NTSTATUS device_refusal(const struct vidmm_device *device);

/* ---- Power (power.c) ------------------------------------------------------------------------- */

enum power_state {
    POWER_ON,
    POWER_DRAINING,
    POWER_PURGING,
    POWER_TABLES,
    POWER_OFF,
    POWER_SUSPENDING, /* exclusive_access.c: on, and drained for it */
    POWER_EXCLUSIVE,  /* nothing at all goes to the driver */
};

struct power {
    enum power_state state;
    enum vidmm_sleep sleep;
    NTSTATUS status; /* of the purge */
    vidmm_done done;
    void *context;
};
/* Goes on with a power-down when the queues are empty. True if it did anything. */
bool power_run(struct vidmm *vidmm);
/* What was asked for has been done, or not: done hears of it. */
void power_end(struct vidmm *vidmm, enum power_state state, NTSTATUS status);
/* Everything has been drained: the window opens, unless the driver refuses. */
void exclusive_access_open(struct vidmm *vidmm);
/* The adapter has gone: it is not asleep, and a sleep that was under way ends with status. */
void power_abandon(struct vidmm *vidmm, NTSTATUS status);
/* Everything ends, and nothing goes to the driver any more (removal.c). The caller pumps. */
void removal_give_up(struct vidmm *vidmm, const char *reason);
enum job_step power_farewell_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args);

struct vidmm {
    struct miniport *miniport;
    struct vidmm_config config;
    const struct base_services *services;
    struct vidmm_caps caps;
    struct vidsch *vidsch;
    struct vidsch_events scheduler_events;
    bool is_started;
    NTSTATUS refusal; /* what new work ends with (removal.c); STATUS_SUCCESS: it is taken */
    bool is_removed;  /* nothing goes to the driver any more */
    bool is_pumping, pump_again;
    unsigned callback_depth;    /* in the driver's completion: the pump runs afterwards */
    HANDLE process_in_creation; /* as the driver knows it, in DxgkDdiCreateProcess; else NULL */
    unsigned root_calls;        /* in DxgkDdiSetRootPageTable: the power stays as it is */

    struct segment system;
    struct segment *segments;  /* [i] has id i + 1 */
    unsigned held_for_updates; /* processes, by idle_updates.c */
    struct vidmm_allocation *swizzling_ranges[VIDMM_MAX_SWIZZLING_RANGES]; /* who has it */
    struct segment *agp;                                                   /* NULL: none */
    uint64_t aperture_bytes; /* taken in all apertures, for caps.aperture_commit_limit */
    uint64_t agp_scratch;    /* system page that WRITE_PHYSICAL goes to */
    bool has_agp_scratch;
    uint64_t dummy_page; /* system page behind unmapped aperture slots */

    struct null_context *null_contexts; /* by node; NULL: nodes are not told */
    struct paging_queue queue;
    struct paging_process paging;
    struct monitored_fences fences;
    struct native_fences native_fences;
    struct recovery recovery;
    struct power power;
    struct compaction compaction;
    struct table_shortage table_shortage;
    DXGK_PTE *entries;           /* of one table, for the paging queue's current operation */
    DXGK_PTE *immediate_entries; /* the same for operations without a buffer */
    DXGK_PTE entry_64k, immediate_entry_64k; /* pPageTableEntries64KB of each */
    uint64_t entry_capacity;

    struct list submissions; /* not retired, oldest first */
    uint64_t submitted;      /* sequence of the last one */
    struct list requests;    /* not all placed yet, first come first */
    struct list signalling;  /* their barriers are queued and will write the fence */
    struct list dying;       /* destroyed, held by nobody, in the order of their last use */
    uint64_t doomed_count;   /* destroyed and not gone */
    struct list offered[OFFER_CLASSES]; /* offered and BACKED */
    unsigned limited_budgets;           /* budgets that have a limit */
    struct list processes;
    struct list tile_updates;    /* first come first */
    struct list waiting_updates; /* of context allocations, whose callers wait in the driver */

    /* D3DKMT handles: index -> allocation. */
    struct vidmm_allocation **handles;
    uint32_t handle_capacity, handle_free; /* free slots are chained through the table */

    struct vidmm_statistics statistics;
};

/* Runs everything that can go on: requests, jobs, burials. Safe to call from anywhere. */
void vidmm_pump(struct vidmm *vidmm);
void vidmm_driver_error(struct vidmm *vidmm, const char *rule, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

#endif
