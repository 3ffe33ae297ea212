/*
 * Allocation: its states, its place, and what it counts for.
 *
 * Place      vidmm. The object that nearly every other file is about.
 * Model      allocation_state.h draws the states. Entering, leaving and dying are jobs of the
 * paging queue; their ends publish the new state. place is where the allocation lies in a segment,
 * mdl its backing store in system memory; either may be missing. Ownership  The client's until
 * vidmm_allocation_destroy(); a destroyed allocation goes when nothing holds or uses it
 * (allocations_bury()). Errors     STATUS_NO_MEMORY where a backing store is taken; state changes
 * that have begun cannot fail. Units      Pages of 4 KiB; offsets in bytes of the segment. Source
 * contract.md ALLOC-001..020, RES-011..014; sequences S-03, S-04, S-06, S-12, S-15.
 */
#ifndef VIDMM_ALLOCATION_H
#define VIDMM_ALLOCATION_H

#include "vidmm/mappings/scratch_view.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/job.h"
#include "vidmm/vidmm.h"

struct vidmm_allocation {
    struct vidmm *vidmm;
    struct vidmm_device *device;
    void *cookie;
    D3DKMT_HANDLE handle;
    HANDLE driver_handle; /* hAllocation */
    HANDLE device_handle; /* hDeviceSpecificAllocation */
    uint64_t page_count;
    uint64_t pitched_pages; /* in a segment with PitchAlignment; 0: it is for none */
    uint64_t alignment;
    uint8_t preference[8]; /* segment ids, best first */
    unsigned preference_count;
    uint32_t eviction_set;
    unsigned priority_class;
    bool is_accessed_physically, is_cpu_visible, is_cached;
    bool is_primary;             /* as its creator says */
    bool is_pinned;              /* Overlay, Capture: once resident, not evicted */
    bool is_synchronous;         /* SynchronousPaging */
    bool forbids_large_pages;    /* DisableLargePageMapping */
    bool wants_residency_notice; /* ExplicitResidencyNotification */
    bool wants_eviction_notice;  /* NotifyEviction: before it leaves system memory */
    bool wants_unmap_notice;     /* NotifyIoMmuUnmap */
    bool notice_is_resident;     /* NOTIFY_RESIDENCY2: what the last part was about, ... */
    uint64_t notice_cursor;      /* ... and the first page of the next; 0: none is due */
    bool is_noticed;             /* in the order of the paging queue: told to be resident */

    /*
     * Instances of one allocation of the client's (rename.c). All have its handles; each has a
     * place, a backing store and users of its own.
     */
    struct vidmm_allocation *first;   /* which the client knows, and which outlives the others */
    struct vidmm_allocation *current; /* of the first: what the client's calls are about */
    uint32_t instance_count;          /* of the first: that have not gone */
    uint32_t renaming_limit;          /* MaximumRenamingListLength; 0: none */

    enum allocation_state state;
    bool is_destroyed; /* or not the current one any more */
    enum departure departure;
    bool has_content; /* filled, written or locked at least once */

    /* Offered (offer.c): its content may be dropped. */
    bool is_offered;
    bool is_dropped;        /* it was, or is going */
    bool had_content;       /* when it was offered or dropped */
    unsigned offer_class;   /* LOW first */
    uint32_t offered_holds; /* residency references put aside */
    struct list openings;   /* in other devices (sharing.c) */
    struct list offered;    /* in vidmm->offered while it is BACKED */

    struct placement place;  /* the one in force */
    struct placement *other; /* while the allocation moves (move.c): the place that is not in force.
                                NULL: it does not move */

    /* Physical model: slots through which it leaves (EvictionSegmentSet); NULL: directly. */
    struct segment *eviction_aperture;
    uint64_t eviction_offset;

    uint64_t aperture_cursor;      /* pages that map or unmap operations have been generated for */
    bool is_contiguous_for_device; /* its backing store, since it was mapped last */
    bool wants_cpu_view;           /* MapApertureCpuVisible */
    void *cpu_view;                /* while it is mapped in an aperture */

    MDL *mdl; /* backing store: the page numbers follow the header; NULL: none */

    /* Who keeps it: residency references, packets, locks. Not evicted while not zero. */
    uint32_t holds;
    uint32_t lock_count;
    uint32_t *host_slots; /* of the CPU host aperture, one a page, while locked; or NULL */
    uint32_t uses;        /* physical: packets that refer to it, queued or running; GpuMmu: mappings
                            that wait for memory for their tables */
    uint64_t busy_until;  /* GpuMmu: vidmm->submitted when the last hold went */

    uint32_t from_end;                      /* by segment id - 1: placed from the end of it */
    DXGK_SEGMENTBANKPREFERENCE hinted_bank; /* of the first preferred segment (BANK-004) */
    /*
     * PermanentSysMem: the backing store stays while it is in memory, and is good until it is
     * written.
     */
    bool is_permanent, is_dirty;
    bool uses_alternate_va;
    bool has_no_range; /* the driver can never show it through one (SWZ-003) */
    bool is_swizzled;  /* Flags.Swizzled: in which order it is outside memory is ours to know */
    bool backing_is_linear; /* ... what the backing store holds, if anything */
    bool unswizzles;        /* ... and what it will hold when it has left */
    bool is_fetched;        /* by a request, for a lock that waits */
    NTSTATUS fetch_status;  /* of the last such request that failed, until a lock has told */
    bool has_range;         /* its number is reserved, and acquired while it is resident */
    bool range_is_acquired;
    unsigned range_id, range_data;
    uint64_t range_address; /* where the CPU sees it through the range */
    bool is_agp_dirty;      /* the GPU wrote it through the bridge since it was flushed */
    bool is_flushing;
    struct job flush_job;
    struct job job;       /* the move in progress; its generator keeps the rest here (GpuMmu) */
    struct mapping *walk; /* mapping whose entries are being written */
    uint64_t piece;       /* pages of walk, or of one side of the chunk, that are done */
    uint64_t chunk_pages; /* of the allocation, from job.cursor on, seen through scratch */
    uint64_t chunk_va;    /* source side; the destination follows it */
    uint64_t chunk_protection; /* driver protection of the chunk: 0, or a unique one (VX-012) */

    /* Context allocations (context_allocation.c). */
    bool is_for_context;
    bool wants_cpu_address, is_gpu_va_wanted;
    void *cpu_address; /* of the backing store, if wanted */
    struct list context_link;
    struct scratch_view view; /* of the job in progress */

    bool is_parked;             /* keeps its place through a sleep: BACKED, or on its way there */
    bool is_published;          /* ENTERING, and its user has been told that it is there */
    bool entries_valid;         /* in the order of the paging queue: its PTEs point at pages */
    bool has_unique_protection; /* a mapping has had one */
    bool tables_left;           /* of one of its mappings at least */
    struct list mappings;
    struct list lru;
    struct list device_link;
    struct list dying; /* in vidmm->dying */
    struct list reset; /* in vidmm->recovery.allocations: where it was is to be cleaned up */
};

/* ---- What it is ------------------------------------------------------------------------------ */

static inline bool allocation_is_placed(const struct vidmm_allocation *allocation)
{
    return allocation->place.segment != NULL;
}
/*
 * Its rows have a pitch where it is, which only the driver knows; elsewhere it is packed
 * (XFER-018).
 */
static inline bool allocation_is_pitched(const struct vidmm_allocation *allocation)
{
    return allocation->place.segment &&
           segment_page_count(allocation->place.segment, allocation) != allocation->page_count;
}
/* The GPU could use it now, at all its addresses. */
static inline bool allocation_is_usable(const struct vidmm_allocation *allocation)
{
    return allocation->state == ALLOCATION_RESIDENT && !allocation->tables_left;
}
/* Its backing store holds what it holds itself, in a memory segment (ALLOC-012). */
static inline bool allocation_is_clean(const struct vidmm_allocation *allocation)
{
    bool is_in_order =
        !allocation->is_swizzled || allocation->backing_is_linear || !allocation->unswizzles;

    return allocation->is_permanent && allocation->mdl && !allocation->is_dirty && is_in_order;
}
/* No work that the GPU has been given may still use it; holds are not looked at. */
bool allocation_is_idle(const struct vidmm_allocation *allocation);
/* It waits for its burial, and nothing that is queued uses it. */
static inline bool allocation_is_dead(const struct vidmm_allocation *allocation)
{
    return allocation->is_destroyed && !allocation->holds && !allocation->uses &&
           allocation_is_idle(allocation);
}
/* The allocation that the client's call is about: this one, unless it has been renamed. */
static inline struct vidmm_allocation *allocation_current(const struct vidmm_allocation *allocation)
{
    return allocation->first->current;
}
static inline uint64_t *allocation_backing_pages(const struct vidmm_allocation *allocation)
{
    return (uint64_t *)(allocation->mdl + 1);
}
struct vidmm_allocation *allocation_by_handle(const struct vidmm *vidmm, D3DKMT_HANDLE handle);

/* The allocation whose job it is; NULL: it is of something else. */
static inline struct vidmm_allocation *allocation_of_job(const struct job *job)
{
    return job_is_of_allocation(job) ? container_of(job, struct vidmm_allocation, job) : NULL;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

/* It is nowhere, in no list, and its own first and current instance. */
void allocation_init(struct vidmm_allocation *allocation, struct vidmm_device *device);
/*
 * Gives an allocation of the driver's own for a context of the device; info is what
 * DxgkDdiCreateAllocation would have said. The driver is told nothing.
 */
NTSTATUS allocation_create_for_context(struct vidmm_device *device, const DXGK_ALLOCATIONINFO *info,
                                       struct vidmm_allocation **out_allocation);
/* Nobody asks for it any more: it goes when nothing uses it. */
void allocation_doom(struct vidmm_allocation *allocation);
/* Destroyed allocations that have become idle go. True if any did. */
bool allocations_bury(struct vidmm *vidmm);

NTSTATUS allocation_take_backing(struct vidmm_allocation *allocation);
void allocation_release_backing(struct vidmm_allocation *allocation);

void allocation_hold(struct vidmm_allocation *allocation);
void allocation_unhold(struct vidmm_allocation *allocation);
/* A packet of the physical model refers to it, from the client's call to the packet's end. */
void allocation_use(struct vidmm_allocation *allocation);
void allocation_unuse(struct vidmm_allocation *allocation);

/* ---- Changes of state: they queue a job, whose end publishes --------------------------------- */

/* It is placed; ENTERING. */
void allocation_enter(struct vidmm_allocation *allocation);
/* Its backing store is there, or can be taken; LEAVING. */
NTSTATUS allocation_leave(struct vidmm_allocation *allocation, const char *reason);
/* Like allocation_leave(), so that the CPU can look at it: in linear order. */
NTSTATUS allocation_leave_for_cpu(struct vidmm_allocation *allocation);
/* Like allocation_leave(), of an allocation that is held or used: it keeps its place. */
NTSTATUS allocation_park(struct vidmm_allocation *allocation);
/* Content is dropped; DYING. */
void allocation_die(struct vidmm_allocation *allocation);
/* Its page tables are new: writes the entries of all its mappings. State ENTERING meanwhile. */
void allocation_map_again(struct vidmm_allocation *allocation);
/* Out of its place after a reset, whatever state the job that was lost had left it in. */
void allocation_cleaned_up(struct vidmm_allocation *allocation);

/* The ends of these jobs, for the tables of operations of the generators. */
void allocation_entered(struct job *job);
void allocation_left(struct job *job);
void allocation_died(struct job *job);
void allocation_mapped_again(struct job *job);

#endif
