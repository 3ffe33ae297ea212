/*
 * Table burial: page tables that nothing needs any more.
 *
 * Place      vidmm. Uses page_table.h and the paging queue.
 * Model      Tables leave the tree at once. Their memory is free when a job behind everything
 *            queued so far has retired.
 * Ownership  A burial takes its tables, and frees itself with them.
 * Source     contract.md PT-013, PT-015, PT-035, PT-037, TLB-003; sequence S-15.
 */
#ifndef VIDMM_TABLE_BURIAL_H
#define VIDMM_TABLE_BURIAL_H

#include "vidmm/paging/job.h"

struct address_space;
struct page_table;
struct vidmm_process;

struct table_burial {
    struct job job;
    struct address_space *space;
    struct list tables; /* by fresh, parents before children */
    struct list *at;
    uint64_t va, bytes;
    bool is_moot;     /* the adapter was reset */
    bool is_eviction; /* its tables are going to be needed again */
    /* Called when all tables of a process have gone: the process ends with them. */
    void (*done)(struct vidmm_process *process);
    struct vidmm_process *process; /* NULL: only tables */
};

/* Buries all tables of the process and then calls done; false: there is no need to. */
bool tables_bury_all(struct vidmm_process *process, void (*done)(struct vidmm_process *process));
/* Buries the tables of a range that has become free, as far as nothing else is in theirs. */
void tables_bury_empty(struct address_space *space, uint64_t va, uint64_t bytes);
/*
 * Takes a table out of the tree, and tables above it that have no child left, to the front of the
 * burial's tables. The root stays.
 */
void table_detach(struct page_table *table, struct list *tables);
NTSTATUS table_burial_create(struct address_space *space, struct table_burial **out_burial);
/*
 * va, bytes: where its tables have translated; two zeros: anywhere. Without tables it is just
 * freed.
 */
void table_burial_begin(struct table_burial *burial, uint64_t va, uint64_t bytes);

#endif
