/*
 * Allocation: the object, its memory, and how it enters and leaves a segment.
 *
 * Place      vidmm. The object that nearly every other file is about.
 * Model      allocation_state.h draws the states. Entering, leaving and dying are jobs of the
 *            paging queue; their ends publish the new state. place is where the allocation lies in
 *            a segment, mdl its backing store in system memory; either may be missing.
 * Memory     A record of five cache lines from the manager's pool, and parts that are allocated
 *            where they are used: the runs of a place, the backing store, the second place of a
 *            move, instances, openings, the membership of a context, slots of a CPU host aperture.
 * Ownership  The client's until vidmm_allocation_destroy(); a destroyed allocation goes when
 *            nothing holds or uses it (allocations_bury()).
 * Errors     STATUS_NO_MEMORY where the record or a part is allocated; state changes that have
 *            begun cannot fail.
 * Units      Pages of 4 KiB; offsets in bytes of the segment.
 * Source     contract.md ALLOC-001..020, RES-011..014; sequences S-03, S-04, S-06, S-12, S-15.
 */
#ifndef VIDMM_ALLOCATION_H
#define VIDMM_ALLOCATION_H

#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/job.h"
#include "vidmm/vidmm.h"

struct opening;

/* The backing store of an allocation: system pages, whose numbers stand behind the MDL. */
struct backing {
    void *cpu_view;                  /* the driver's, while an aperture shows the pages */
    void *cpu_address;               /* of a context allocation that wants one */
    bool is_contiguous_for_device;   /* found out when the pages were mapped last */
    void *parts;                     /* lists of the parts of the pages; NULL: there are none */
    void (*released)(void *context); /* of the client's memory, and its context; or NULL */
    void *released_context;
    MDL mdl;
};

/*
 * All instances of one allocation of the client's (rename.c). They have its handles; each has a
 * place, a backing store and users of its own.
 */
struct instances {
    struct vidmm_allocation *first;   /* which the client knows, and which outlives the others */
    struct vidmm_allocation *current; /* which the client's calls are about */
    uint32_t count;                   /* that have not gone */
};

/* An allocation of the driver's own, of a context or a device (context_allocation.c). */
struct context_part {
    struct list link; /* in the list of the context or device, until the driver destroys it */
    struct vidmm_allocation *allocation;
    bool wants_cpu_address, is_gpu_va_wanted;
};

#define CACHE_LINE 64

/* The list of the manager that an allocation stands on; its state and its users decide. */
enum listing {
    LISTED_NOWHERE,
    LISTED_EVICTABLE, /* in an LRU list of its segment */
    LISTED_OFFERED,   /* in vidmm->offered: its system pages may be dropped */
    LISTED_DYING,     /* in vidmm->dying: it waits for its last work to retire */
    LISTED_AWAY, /* in process->turn.away: it comes back for the turn of its process (turns.h) */
};

/*
 * Memory of an allocation, by the cache line. A residency reference (GpuMmu), a list and the search
 * for a victim touch the first line only. The pool of the manager begins each allocation at a cache
 * line. (The type does not ask for it: the end of a walk over a list is the address of the list's
 * head, taken for an allocation, which is at no line.) A reference of the physical model touches
 * the second line, too: for the driver's handle and the count of uses.
 */
struct vidmm_allocation {
    /* ---- Line 1: references, lists, victims. ---- */
    struct list link;       /* in the list that `listed` says */
    struct placement place; /* the one in force */
    struct vidmm_device *device;
    uint64_t busy_until; /* GpuMmu: vidmm->submitted when the last hold went */
    uint32_t holds;      /* residency references, packets and locks; 0: it may be evicted */
    /* Changed by allocation_state.c, segment.c and the public functions. */
    enum allocation_state state : 4;
    enum departure departure : 3;
    enum listing listed : 3;
    unsigned priority_class : 3;
    unsigned offer_class : 2;     /* while it is offered; LOW first */
    unsigned is_pinned : 1;       /* Overlay, Capture: once resident, not evicted */
    unsigned is_offered : 1;      /* its content may be dropped (offer.c) */
    unsigned has_holds_aside : 1; /* offered_holds is not zero */
    unsigned is_destroyed : 1;    /* or renamed: not the current instance any more */
    unsigned is_parked : 1;       /* keeps its place through a sleep: BACKED, or on its way there */
    unsigned is_published : 1;    /* ENTERING, and its user has been told of the place */
    unsigned tables_left : 1;     /* page tables of one of its mappings at least have left */
    unsigned is_dirty : 1;        /* written since it entered: PermanentSysMem pages are stale */
    unsigned is_agp_dirty : 1;    /* the GPU wrote through the bridge since the last flush */
    unsigned was_in_list : 1;     /* a list may owe it holds, or a later place in its LRU list */

    /* ---- Line 2: references of the physical model, and every move. ---- */
    HANDLE device_handle;        /* hDeviceSpecificAllocation */
    struct instances *instances; /* NULL: it has never been renamed */
    uint32_t uses;               /* physical: packets that refer to it, queued or running; GpuMmu:
                                    mappings that wait for memory for their tables */
    uint32_t lock_count;
    struct vidmm *vidmm;
    HANDLE driver_handle; /* hAllocation; NULL: the driver has destroyed its own */
    uint64_t page_count;
    MDL *mdl;                 /* of the backing store (struct backing); NULL: there is none */
    uint32_t offered_holds;   /* residency references that an offer has put aside */
    uint8_t range;            /* number of its swizzling range, + 1; 0: none */
    uint8_t preference_count; /* of preference[] */
    /* Content (allocation.c, lock.c, offer.c). */
    bool has_content : 1;       /* filled, written or locked at least once */
    bool had_content : 1;       /* ... when it was offered or dropped */
    bool is_dropped : 1;        /* while it is offered: its content has gone, or is going */
    bool backing_is_linear : 1; /* Swizzled: order of the backing store's content, if any */
    bool unswizzles : 1;        /* Swizzled: the order is linear when it has left */
    /* Locks that wait, and how the CPU may look at it (alternate_va.c, agp.c). */
    bool is_fetched : 1;     /* a request for a waiting lock is under way */
    bool has_no_range : 1;   /* the driver can never show it through a range (SWZ-003) */
    bool is_flushing : 1;    /* struct flush is under way */
    bool leaves_for_cpu : 1; /* not to come in again before it is asked for (turns.h) */
    bool comes_back : 1; /* PermanentSysMem: it left its segment for a lock, whose end updates it */
    /* In the order of the paging queue: changed by generators. */
    bool entries_valid : 1;         /* the entries of its mappings point at pages */
    bool is_noticed : 1;            /* the driver has been told that it is resident */
    bool notice_is_resident : 1;    /* NOTIFY_RESIDENCY2: the last part said so */
    bool has_unique_protection : 1; /* a mapping has had one (gpu_va.c) */
    bool is_reset : 1;              /* in vidmm->recovery: its place is to be cleaned up */

    /* ---- Line 3: the job in progress, and the mappings that it walks. ---- */
    struct job job;
    struct list mappings;

    /* ---- Line 4: reported or given at creation, and fixed but for the last four. ---- */
    void *cookie;           /* the client's */
    uint64_t pitched_pages; /* in a segment with PitchAlignment; 0: it is for none */
    uint8_t preference[8];  /* segment ids, best first */
    D3DKMT_HANDLE handle;
    uint32_t alignment;
    uint32_t eviction_set;                  /* EvictionSegmentSet */
    uint32_t from_end;                      /* by segment id - 1: placed from the end of it */
    DXGK_SEGMENTBANKPREFERENCE hinted_bank; /* of the first preferred segment (BANK-004) */
    uint32_t renaming_limit;                /* MaximumRenamingListLength; 0: none */
    bool is_primary : 1;                    /* as its creator says */
    bool is_accessed_physically : 1;
    bool is_cpu_visible : 1;
    bool is_cached : 1;
    bool is_permanent : 1;        /* PermanentSysMem, or over the client's memory: the backing
                                     store outlives a page-in */
    bool is_over_memory : 1;      /* of the client's: ExistingSysMem, ExistingKernelSysMem */
    bool is_protected : 1;        /* Protected: the CPU gets no access */
    bool is_swizzled : 1;         /* Flags.Swizzled: the manager knows the order outside memory */
    bool is_synchronous : 1;      /* SynchronousPaging */
    bool forbids_large_pages : 1; /* DisableLargePageMapping */
    bool wants_cpu_view : 1;      /* MapApertureCpuVisible */
    bool wants_residency_notice : 1; /* ExplicitResidencyNotification */
    bool wants_eviction_notice : 1;  /* NotifyEviction: before it leaves system memory */
    bool wants_unmap_notice : 1;     /* NotifyIoMmuUnmap */
    bool uses_alternate_va : 1;      /* UseAlternateVA, until the driver refuses a range */
    bool is_dma_buffer : 1;    /* of a context, in an aperture; no allocation of the driver's */
    bool is_orphan : 1;        /* its device has closed it, and may be gone (sharing.c) */
    uint8_t eviction_aperture; /* id of the aperture it leaves through; 0: directly */
    NTSTATUS fetch_status;     /* of a fetch that failed, until a lock has told */
    uint32_t *host_slots;      /* of the CPU host aperture, one a page, while locked; or NULL */

    /* ---- Line 5: parts, and lists of rare things. ---- */
    struct list device_link;
    struct opening *openings; /* in other devices (sharing.c) */
    /* arrives_with: the paging submission with the last of its content; 0: none has it yet. */
    union {
        struct vidmm_allocation *next_reset; /* while is_reset */
        uint64_t arrives_with;               /* else, while it leaves */
    };
    uint32_t eviction_slot;  /* first page in eviction_aperture */
    uint32_t left_ahead;     /* when it left ahead of any request (ahead.c); 0: never */
    struct placement *other; /* while it moves (move.c): the place that is not in force */
    uint64_t notice_cursor;  /* NOTIFY_RESIDENCY2: first page of the next part; 0: none is due */
    struct context_part *context; /* of an allocation of the driver's own; NULL: a client's */
};

/* Where bit-fields of different types share a word, as they do not in Microsoft's layout. */
#if UINTPTR_MAX == UINT64_MAX && !defined _WIN32
_Static_assert(offsetof(struct vidmm_allocation, device_handle) == CACHE_LINE,
               "a reference touches one cache line");
_Static_assert(offsetof(struct vidmm_allocation, job) == 2 * CACHE_LINE, "the second line");
_Static_assert(offsetof(struct vidmm_allocation, cookie) == 3 * CACHE_LINE, "the third line");
_Static_assert(offsetof(struct vidmm_allocation, device_link) == 4 * CACHE_LINE, "the fourth line");
_Static_assert(sizeof(struct vidmm_allocation) == 5 * CACHE_LINE, "five lines");
#endif

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
/* The list of its segment on which it stands while it may be evicted. */
static inline struct list *allocation_lru(const struct vidmm_allocation *allocation)
{
    unsigned class = allocation->is_offered ? allocation->offer_class
                                            : OFFER_CLASSES + allocation->priority_class;

    return &allocation->place.segment->lru[class];
}
/* The GPU could use it now, at all its addresses. */
static inline bool allocation_is_usable(const struct vidmm_allocation *allocation)
{
    return allocation->state == ALLOCATION_RESIDENT && !allocation->tables_left;
}
/* Its content in a memory segment is in the backing store, too (ALLOC-012). */
static inline bool allocation_is_clean(const struct vidmm_allocation *allocation)
{
    bool is_in_order =
        !allocation->is_swizzled || allocation->backing_is_linear || !allocation->unswizzles;

    return allocation->is_permanent && allocation->mdl && !allocation->is_dirty && is_in_order;
}
/* The allocation that the client's call is about: this one, unless it has been renamed. */
static inline struct vidmm_allocation *allocation_current(const struct vidmm_allocation *allocation)
{
    return allocation->instances ? allocation->instances->current
                                 : (struct vidmm_allocation *)allocation;
}
/* The instance that the client knows: this one, unless it came by renaming. */
static inline struct vidmm_allocation *allocation_first(const struct vidmm_allocation *allocation)
{
    return allocation->instances ? allocation->instances->first
                                 : (struct vidmm_allocation *)allocation;
}
/* NULL: the allocation has no backing store. */
static inline struct backing *allocation_backing(const struct vidmm_allocation *allocation)
{
    return allocation->mdl ? container_of(allocation->mdl, struct backing, mdl) : NULL;
}
static inline uint64_t *allocation_backing_pages(const struct vidmm_allocation *allocation)
{
    return (uint64_t *)(allocation->mdl + 1);
}

/* Memory that no client has made: of the driver's own, or a DMA buffer. */
static inline bool allocation_is_internal(const struct vidmm_allocation *allocation)
{
    return allocation->context || allocation->is_dma_buffer;
}

/* The allocation whose job it is; NULL: it is of something else. */
static inline struct vidmm_allocation *allocation_of_job(const struct job *job)
{
    return job_is_of_allocation(job) ? container_of(job, struct vidmm_allocation, job) : NULL;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

/*
 * Gives a record from the manager's pool, of an allocation that is nowhere and in no list; NULL:
 * there is no memory. allocation_free() takes it, with its part of a context.
 */
struct vidmm_allocation *allocation_alloc(struct vidmm_device *device);
void allocation_free(struct vidmm_allocation *allocation);
/*
 * Gives an allocation of the driver's own for a context of the device; info is what
 * DxgkDdiCreateAllocation would have said. The driver is told nothing.
 */
NTSTATUS allocation_create_for_context(struct vidmm_device *device, const DXGK_ALLOCATIONINFO *info,
                                       struct vidmm_allocation **out_allocation);
/*
 * Gives the memory of a DMA buffer that the GPU finds in one of the apertures of the set (bit 0:
 * segment 1) or, where it is mapped by virtual address, in system memory (an empty set), and the
 * CPU at allocation_backing()->cpu_address, always. The driver has no handle of it: operations on
 * it name no allocation (APER-005).
 */
NTSTATUS allocation_create_for_buffer(struct vidmm_device *device, uint64_t bytes,
                                      uint32_t segment_set,
                                      struct vidmm_allocation **out_allocation);
/* Destroyed allocations that have become idle go. True if any did. */
bool allocations_bury(struct vidmm *vidmm);

/*
 * The end of a destroyed allocation that is idle: its place is given back by a job; DYING. When
 * that has retired, or at once where there is no place, it is freed.
 */
void allocation_die(struct vidmm_allocation *allocation);
/* Out of its place after a reset, whatever state the job that was lost had left it in. */
void allocation_cleaned_up(struct vidmm_allocation *allocation);

#endif
