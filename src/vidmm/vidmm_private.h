/*
 * Manager: struct vidmm, which holds everything that belongs to one adapter.
 *
 * Place      vidmm, included by its own sources only; no header includes it. Each part of the
 *            structure is of the file whose header declares its type.
 * Ownership  vidmm_create() makes it, vidmm_destroy() frees it (adapter.c).
 */
#ifndef VIDMM_PRIVATE_H
#define VIDMM_PRIVATE_H

#include "vidmm/adapter/components.h"
#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/adapter/power.h"
#include "vidmm/adapter/recovery.h"
#include "vidmm/views/alternate_va.h"
#include "vidmm/memory/forecast.h"
#include "vidmm/memory/reference_list.h"
#include "vidmm/memory/segment.h"
#include "vidmm/notes/note.h"
#include "vidmm/paging/monitored_fence.h"
#include "vidmm/paging/native_fence.h"
#include "vidmm/residency/scan_out.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/residency/ahead.h"
#include "vidmm/residency/compaction.h"
#include "vidmm/residency/turns.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/tables/segment_tables.h"
#include "vidmm/vidmm.h"
#include "vidmm/work/scheduling_log.h"

#include "base/node_pool.h"

struct node_count;
struct null_context;
struct pump_step;

struct vidmm {
    struct miniport *miniport;
    struct vidmm_config config;
    const struct base_services *services;
    struct vidmm_caps caps;
    struct vidsch *vidsch;
    struct vidsch_events scheduler_events;
    bool is_started;
    NTSTATUS refusal; /* the status of new work (removal.c); STATUS_SUCCESS: it is taken */
    bool is_removed;  /* nothing goes to the driver any more */
    const struct pump_step *pump_steps; /* a table of adapter.c */
    bool is_pumping, pump_again;
    unsigned callback_depth;    /* in the driver's completion: the pump runs afterwards */
    HANDLE process_in_creation; /* as the driver knows it, in DxgkDdiCreateProcess; else NULL */
    unsigned root_calls;        /* in DxgkDdiSetRootPageTable: the power stays as it is */

    struct segment system;
    struct segment *segments; /* [i] has id i + 1 */
    uint64_t queue_nodes;     /* whose contexts have hardware queues */
    unsigned queues_made;
    struct scheduling_logs logs; /* of these nodes */
    bool holds_for_updates;      /* idle_updates.c holds processes, ... */
    bool holds_everybody;        /* ... and all that come */
    struct swizzling_range swizzling_ranges[VIDMM_MAX_SWIZZLING_RANGES];
    struct segment *agp;     /* NULL: none */
    uint64_t aperture_bytes; /* taken in all apertures, for caps.aperture_commit_limit */
    uint64_t agp_scratch;    /* system page that WRITE_PHYSICAL goes to */
    bool has_agp_scratch;
    uint64_t dummy_page; /* system page behind unmapped aperture slots */

    struct null_context *null_contexts; /* by node; NULL: nodes are not told */
    struct paging_queue queue;
    struct paging_process paging;
    struct monitored_fences fences;
    struct native_fences native_fences;
    struct node_count *node_counts;
    struct scan_out scan_out;
    struct recovery recovery;
    struct power power;
    struct vidmm_components components;
    struct compaction compaction;
    struct forecast forecast;
    struct ahead ahead;
    struct turns turns;
    struct table_shortage table_shortage;
    DXGK_PTE *entries;           /* of one table, for the paging queue's current operation */
    DXGK_PTE *immediate_entries; /* the same for operations without a buffer */
    DXGK_PTE entry_64k, immediate_entry_64k; /* pPageTableEntries64KB of each */
    uint64_t entry_capacity;
    /* So many entries of the array go on page by page, as they were made: notes need not look. */
    struct {
        const DXGK_PTE *entries;
        uint64_t count;
    } even;

    struct list submissions; /* not retired, oldest first */
    uint64_t submitted;      /* sequence of the last one */
    uint64_t retired;        /* all submissions up to this sequence have retired */
    struct list requests;    /* not all placed yet, first come first */
    struct list signalling;  /* their barriers are queued and will write the fence */
    struct list dying;       /* destroyed, held by nobody, in the order of their last use */
    uint64_t doomed_count;   /* destroyed and not gone */
    struct list offered[OFFER_CLASSES]; /* offered and BACKED */
    unsigned limited_budgets;           /* budgets that have a limit */
    struct reference_lists reference_lists;
    struct list processes;
    struct list tile_updates;    /* first come first */
    struct list waiting_updates; /* of context allocations, whose callers wait in the driver */

    struct node_pool allocation_pool; /* records, a cache line aligned */
    /* D3DKMT handles: index -> allocation. */
    struct handle_slot *handles;
    uint32_t handle_capacity, handle_free; /* free slots are chained through the table */

    struct vidmm_statistics statistics;
    struct notes notes;
};

/* Somebody listens: places that tell what happens ask this first. */
static inline bool notes_are_heard(const struct vidmm *vidmm)
{
    return vidmm->notes.is_heard;
}

#endif
