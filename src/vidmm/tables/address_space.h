/*
 * Address space: the page tables of one process, and which of its addresses are taken.
 *
 * Place      vidmm. Embedded in struct vidmm_process and in the paging process.
 * Model      The tree of tables is page_table.h's; ranges of addresses belong to mappings
 *            (gpu_va.h), to physical mappings or to the driver (reserved_va.c).
 * Ownership  From the creation of its process to page_tables_free().
 * Units      Virtual addresses in bytes.
 */
#ifndef VIDMM_ADDRESS_SPACE_H
#define VIDMM_ADDRESS_SPACE_H

#include "vidmm/paging/job.h"

#include "base/range_allocator.h"

struct page_table;
struct vidmm;
struct vidmm_process;

struct address_space {
    /* Fixed from its creation on. */
    struct vidmm *vidmm;
    HANDLE driver_process;
    struct vidmm_process *process; /* NULL: the paging process */
    bool is_paging_process;

    /* Tables and ranges of addresses. */
    struct page_table *root;       /* NULL before the first table */
    struct range_allocator ranges; /* of virtual addresses; the owner is the mapping */
    uint64_t ranges_start;

    /* Its contexts, held for a change of tables. */
    unsigned hold_count;
    unsigned root_changes;    /* written in the paging queue; no context has been told yet */
    unsigned waiting_updates; /* of physical pages, for room: others come behind them */
    bool is_held_for_updates; /* one of the holds is idle_updates.c's */
    bool is_held_for_moves;   /* one of the holds is compaction.c's */

    /* Recovery. */
    struct list rebuilt; /* tables that the rebuild job will initialise and link */
    struct list *at;     /* where the job is in them */
    struct job rebuild_job;
};

/*
 * Owner cookies of address ranges: they hold physical mappings, or are the driver's
 * (reserved_va.c).
 */
#define OWNER_PHYSICAL 1
#define OWNER_RESERVED 2

#endif
