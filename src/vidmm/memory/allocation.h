/*
 * Allocation: its states and places, offers, sharing, moves, and what it counts for in budgets.
 *
 * Place      vidmm: part of private.h, which includes it where its types are known; not by itself.
 * Files      allocation.c, allocation_flags.c, lock.c, rename.c, paging_physical.c,
 *            paging_virtual.c, aperture.c, notice.c, auxiliary_mmu.c, scratch_view.c,
 *            context_allocation.c, offer.c, sharing.c, move.c, budget.c.
 */
#ifndef VIDMM_ALLOCATION_H
#define VIDMM_ALLOCATION_H

/* ---- Allocations (allocation.c) -------------------------------------------------------------- */

enum allocation_state {
    ALLOCATION_EMPTY,    /* no content yet, no place      */
    ALLOCATION_BACKED,   /* content in the backing store  */
    ALLOCATION_ENTERING, /* placed; paging in             */
    ALLOCATION_RESIDENT, /* usable by the GPU             */
    ALLOCATION_LEAVING,  /* paging out                    */
    ALLOCATION_DYING,    /* destroyed; last operations    */
};
const char *allocation_state_name(enum allocation_state state);

/*
 * Part of an allocation in the paging process's scratch range, for one operation (scratch_view.c).
 */
struct scratch_view;
typedef void scratch_view_use(struct scratch_view *view, DXGKARG_BUILDPAGINGBUFFER *args);
struct scratch_view {
    struct vidmm_allocation *allocation;
    uint64_t first_page, page_count;
    uint64_t va;   /* good from use() on, until the operations that follow it */
    uint64_t done; /* pages, of the current step */
    unsigned step;
    bool is_of_backing;    /* else of the placement */
    scratch_view_use *use; /* fills the operation */
};
/* Where the pages are is decided now: a job that is queued now sees what is queued before it. */
void scratch_view_begin(struct scratch_view *view, struct vidmm_allocation *allocation,
                        uint64_t first_page, uint64_t page_count, scratch_view_use *use);
enum job_step scratch_view_next(struct scratch_view *view, DXGKARG_BUILDPAGINGBUFFER *args);

/* Pages of a SEGMENT_PAGES segment that an allocation lies in, in the order of the allocation. */
struct placed_runs {
    uint32_t count;
    uint32_t at;      /* the last search for a page ended in this run */
    uint64_t at_page; /* first page of the allocation that lies in run `at` */
    struct page_run run[];
};

/* A place of an allocation in a segment (segment.c). */
struct placement {
    struct segment *segment; /* NULL: no place, and the other members mean nothing */
    union {
        uint64_t offset;          /* CONTIGUOUS, APERTURE, AGP: bytes from the segment's start */
        struct placed_runs *runs; /* PAGES */
    };
    uint64_t bytes; /* that the place takes of the segment */
};

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
    bool is_destroyed;                      /* or not the current one any more */
    enum { STAYS, DOOMED, GOES } departure; /* as which of the segment's bytes it counts */
    bool has_content;                       /* filled, written or locked at least once */

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
/* No work that the GPU has been given may still use it; holds are not looked at. */
bool allocation_is_idle(const struct vidmm_allocation *allocation);
NTSTATUS allocation_take_backing(struct vidmm_allocation *allocation);
void allocation_release_backing(struct vidmm_allocation *allocation);
/* Its backing store holds what it holds itself, in a memory segment (ALLOC-012). */
static inline bool allocation_is_clean(const struct vidmm_allocation *allocation)
{
    bool is_in_order =
        !allocation->is_swizzled || allocation->backing_is_linear || !allocation->unswizzles;

    return allocation->is_permanent && allocation->mdl && !allocation->is_dirty && is_in_order;
}
static inline uint64_t *allocation_backing_pages(const struct vidmm_allocation *allocation)
{
    return (uint64_t *)(allocation->mdl + 1);
}
/* What the client's call on an allocation is about: itself, unless it has been renamed. */
static inline struct vidmm_allocation *allocation_current(const struct vidmm_allocation *allocation)
{
    return allocation->first->current;
}
void allocation_hold(struct vidmm_allocation *allocation);
void allocation_unhold(struct vidmm_allocation *allocation);
/* A packet of the physical model refers to it, from the client's call to the packet's end. */
void allocation_use(struct vidmm_allocation *allocation);
void allocation_unuse(struct vidmm_allocation *allocation);

/*
 * Starts paging in (state ENTERING; it is placed) or out (LEAVING; backing is there) or dropping
 * (DYING). The job's end publishes.
 */
void allocation_enter(struct vidmm_allocation *allocation);
NTSTATUS allocation_leave(struct vidmm_allocation *allocation, const char *reason);
/* Like allocation_leave(), so that the CPU can look at it: in linear order. */
NTSTATUS allocation_leave_for_cpu(struct vidmm_allocation *allocation);
void allocation_die(struct vidmm_allocation *allocation);
/* Nobody asks for it any more: it goes when nothing uses it. */
void allocation_doom(struct vidmm_allocation *allocation);
/* It is nowhere, in no list, and its own first and current instance. */
void allocation_init(struct vidmm_allocation *allocation, struct vidmm_device *device);
struct vidmm_allocation *allocation_by_handle(const struct vidmm *vidmm, D3DKMT_HANDLE handle);
/* Destroyed allocations that have become idle go. True if any did. */
bool allocations_bury(struct vidmm *vidmm);

/*
 * What the driver's flags say (allocation_flags.c). STATUS_INVALID_PARAMETER and a driver error
 * when they contradict each other; STATUS_NOT_SUPPORTED for those that the manager does not know to
 * follow.
 */
NTSTATUS allocation_accept_flags(struct vidmm_allocation *allocation,
                                 const DXGK_ALLOCATIONINFO *info);
/* Whose device an aperture operation names: nobody's for the primary (APER-006). */
static inline HANDLE allocation_owner(const struct vidmm_allocation *allocation);

/*
 * The next operation that maps the backing store at offset of the aperture, or takes it off; false,
 * and ready to begin anew, when all have been generated. The last call of the second, which comes
 * when the driver has seen the last unmap, ends the driver's view of the pages.
 */
bool aperture_op_map(struct vidmm_allocation *allocation, const struct segment *aperture,
                     uint64_t offset, DXGKARG_BUILDPAGINGBUFFER *args);
bool aperture_op_unmap(struct vidmm_allocation *allocation, const struct segment *aperture,
                       uint64_t offset, DXGKARG_BUILDPAGINGBUFFER *args);
/* MapApertureCpuVisible: the address that goes with the mapping. STATUS_NO_MEMORY. */
NTSTATUS aperture_open_view(struct vidmm_allocation *allocation);
void aperture_close_view(struct vidmm_allocation *allocation);

/* What the device calls a system page: its number, or its logical page behind an IOMMU. */
uint64_t device_page(const struct vidmm *vidmm, uint64_t page);

/*
 * Gives an allocation of the driver's own for a context of the device; info is what
 * DxgkDdiCreateAllocation would have said. The driver is told nothing.
 */
NTSTATUS allocation_create_for_context(struct vidmm_device *device, const DXGK_ALLOCATIONINFO *info,
                                       struct vidmm_allocation **out_allocation);
/*
 * Context allocations (context_allocation.c): INIT_CONTEXT_RESOURCE, at the address in the segment
 * alone, or shown to the paging process as well.
 */
void context_allocation_op_init(const struct vidmm_allocation *allocation,
                                DXGKARG_BUILDPAGINGBUFFER *args);
scratch_view_use context_allocation_init_view;
/* Those of the context and those that all contexts of its device share. */
unsigned context_allocations_count(const struct vidmm_context *context);
void context_allocations_refer(const struct vidmm_context *context,
                               struct vidmm_reference *references);
/*
 * Calls of the driver that wait for an update return now (the update comes all the same). True:
 * there were.
 */
bool context_updates_end_waits(struct vidmm *vidmm);
/* What the driver has left in a list of context or device, when that goes. */
void context_allocations_drop(struct vidmm *vidmm, struct list *allocations);

/*
 * Operations that tell (notice.c). The driver learns that the placed allocation is there, or goes.
 */
void notice_op_residency(struct vidmm_allocation *allocation, bool is_resident,
                         DXGKARG_BUILDPAGINGBUFFER *args);
/* That operation is dropped, and was never shown to the driver. */
void notice_take_back(struct vidmm_allocation *allocation, const DXGKARG_BUILDPAGINGBUFFER *args);
/* The driver has not been told all of it. */
static inline bool notice_is_due(const struct vidmm_allocation *allocation)
{
    return allocation->wants_residency_notice &&
           (!allocation->is_noticed || allocation->notice_cursor);
}
/* MAP_MMU and UNMAP_MMU, counted by job.cursor (auxiliary_mmu.c); false, and 0: no more. */
bool auxiliary_mmu_next(struct vidmm_allocation *allocation, bool is_map,
                        DXGKARG_BUILDPAGINGBUFFER *args);
struct mapping;
void notice_op_iommu_unmap(const struct mapping *mapping, DXGKARG_BUILDPAGINGBUFFER *args);
/* Chunk by chunk through scratch; view.use is NULL and job.cursor 0 at first. */
enum job_step notice_next_of_eviction(struct vidmm_allocation *allocation,
                                      DXGKARG_BUILDPAGINGBUFFER *args);

/* The generators for struct vidmm_allocation.job. */
extern const struct job_ops physical_enter_ops, physical_leave_ops, physical_die_ops;
extern const struct job_ops virtual_enter_ops, virtual_leave_ops, virtual_die_ops;
extern const struct job_ops physical_drop_ops, virtual_drop_ops;
extern const struct job_ops physical_move_ops, virtual_move_ops;
extern const struct job_ops virtual_map_again_ops;
/* It waits for its burial, and nothing that is queued uses it. */
static inline bool allocation_is_dead(const struct vidmm_allocation *allocation)
{
    return allocation->is_destroyed && !allocation->holds && !allocation->uses &&
           allocation_is_idle(allocation);
}
/* Like allocation_leave(), of an allocation that is held or used: it keeps its place. */
NTSTATUS allocation_park(struct vidmm_allocation *allocation);
/* Its page tables are new: writes the entries of all its mappings. State ENTERING meanwhile. */
void allocation_map_again(struct vidmm_allocation *allocation);
void allocation_mapped_again(struct job *job);
void allocation_moved(struct job *job);
/* Out of its place after a reset, whatever state the job that was lost had left it in. */
void allocation_cleaned_up(struct vidmm_allocation *allocation);
void allocation_entered(struct job *job);
void allocation_left(struct job *job);
void allocation_died(struct job *job);
/* A destroyed allocation that nobody holds and nothing moves waits for its last work to retire. */
void allocation_bury_if_dead(struct vidmm_allocation *allocation);

/* ---- Offers (offer.c) ------------------------------------------------------------------------ */

/* Like allocation_leave(), without content: state LEAVING, then EMPTY. */
void allocation_drop(struct vidmm_allocation *allocation);
void allocation_dropped(struct job *job);
static inline bool job_is_of_allocation(const struct job *job)
{
    return job->ops->finished == allocation_entered || job->ops->finished == allocation_left ||
           job->ops->finished == allocation_died || job->ops->finished == allocation_dropped ||
           job->ops->finished == allocation_mapped_again || job->ops->finished == allocation_moved;
}
/* An offered allocation has become BACKED: its system pages may be dropped. */
void offer_enlist(struct vidmm_allocation *allocation);
/* Releases the system pages of one offered allocation that is out; false: there is none. */
bool offer_drop_backing(struct vidmm *vidmm);
/* It is destroyed: no offer any more, all references as before. */
void offer_cancel(struct vidmm_allocation *allocation);
/* A reclaim's request has ended, which held the allocation once. */
void offer_settle_reclaim(struct vidmm_allocation *allocation, bool is_resident);

/* ---- Renaming (rename.c) --------------------------------------------------------------------- */

/*
 * Gives an allocation that work uses another instance, with a backing store and undefined content,
 * and dooms the one in force. NULL, and nothing has changed: it cannot be, or there is no memory.
 */
struct vidmm_allocation *allocation_rename(struct vidmm_allocation *allocation);
/*
 * One instance has no place and no pages any more. NULL: others are left; else the first, to be
 * freed.
 */
struct vidmm_allocation *instance_ended(struct vidmm_allocation *instance);

/* ---- Sharing (sharing.c) --------------------------------------------------------------------- */

/* The driver's handle of the allocation in a device: of its opening, or else its owner's. */
HANDLE allocation_handle_in(const struct vidmm_allocation *allocation,
                            const struct vidmm_device *device);
void openings_close_of_allocation(struct vidmm_allocation *allocation);
void openings_close_of_device(struct vidmm_device *device);

/* ---- Moves (move.c) -------------------------------------------------------------------------- */

/*
 * Takes another place in the target for a resident allocation, which is its `other` until
 * move_begin(), or move_release_other() when nothing comes of it.
 */
NTSTATUS move_take_place(struct vidmm_allocation *allocation, struct segment *target);
void move_begin(struct vidmm_allocation *allocation);
/* The two places of a moving allocation change roles. */
void move_swap(struct vidmm_allocation *allocation);
/* Releases the place that is not in force; nothing if there is none. */
void move_release_other(struct vidmm_allocation *allocation);

/* ---- Budgets (budget.c) ---------------------------------------------------------------------- */

void budget_init(struct vidmm_process *process);
void budget_fini(struct vidmm_process *process);
/* The allocation has taken the place, or gives it back. */
void budget_placed(const struct vidmm_allocation *allocation, const struct placement *place);
void budget_unplaced(const struct vidmm_allocation *allocation, const struct placement *place);
/* The place in force may be evicted or not any more; it is on its way out or not any more. */
void budget_idle(const struct vidmm_allocation *allocation, bool is_idle);
void budget_going(const struct vidmm_allocation *allocation, bool is_going);
/* Its process has more than its budget where it is. */
bool budget_is_over(const struct vidmm_allocation *allocation);

#endif
