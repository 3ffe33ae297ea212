/*
 * Table moves: a page table gets another place in its segment, with its entries.
 *
 * Place      vidmm. Used by compaction.c.
 * Model      table_move.c: the new memory is written anew, the parent points at it, the old memory
 *            is free when all of that has retired.
 * Ownership  A move frees itself at its end, or in table_move_abandon().
 * Source     contract.md PT-009, PT-010, PT-013, PT-015, PT-033, PT-035, PT-037, TLB-003.
 */
#ifndef VIDMM_TABLE_MOVE_H
#define VIDMM_TABLE_MOVE_H

#include "vidmm/paging/job.h"
#include "vidmm/tables/table_memory.h"

struct address_space;
struct page_table;

struct table_move {
    struct job job;
    struct list link; /* of those that are made ready together */
    struct address_space *space;
    struct page_table *table;
    struct table_memory memory; /* the new one; once that is in use, the old one */
    uint64_t va;                /* of a leaf: up to where its entries have been written */
    bool is_rebuilt;            /* by a recovery, which writes all tables */
};

/* Gives a move to memory that is taken now; its contexts are held until it has ended. */
NTSTATUS table_move_create(struct address_space *space, struct page_table *table,
                           struct table_move **out_move);
void table_move_begin(struct table_move *move);
void table_move_abandon(struct table_move *move);

#endif
