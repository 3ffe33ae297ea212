/*
 * Page tree: tables of an address space are made and freed.
 *
 * Place      vidmm. Uses table memory, the growth of roots and the fallback to 4 KiB leaves; used
 *            by mappings and the paging process. page_table.h has the operations that write tables.
 * Model      Tables are made for a range of addresses, all or none, when a mapping needs them.
 *            Their memory is garbage until the mapping's job has initialised and linked them. They
 *            stay until the space goes, unless others want their memory (table_eviction.c).
 * Ownership  The tree owns its tables; a fresh list borrows them for the job that links them.
 * Errors     As table_memory_take(): STATUS_GRAPHICS_NO_VIDEO_MEMORY, STATUS_NO_MEMORY. On failure
 *            nothing has changed.
 * Units      Virtual addresses and sizes in bytes.
 * Source     contract.md PT-005..013, PT-038, PT-040.
 */
#ifndef VIDMM_PAGE_TREE_H
#define VIDMM_PAGE_TREE_H

#include "base/list.h"

#include <ntddk.h>

#include <stdint.h>

struct address_space;
struct page_table;

/* Which leaves a range needs. */
#define LEAVES_4K  (1u << 0)
#define LEAVES_64K (1u << 1)

/*
 * Makes sure that all tables down to the leaves exist for [va, va + bytes); new ones are appended
 * to fresh, parents before children. All or nothing.
 */
NTSTATUS page_tables_prepare(struct address_space *space, uint64_t va, uint64_t bytes,
                             unsigned kinds, struct list *fresh);
/* Undoes a prepare whose tables were never handed to a job. */
void page_tables_abandon(struct address_space *space, struct list *fresh);
/* A table that is out of the tree. */
void page_table_free_detached(struct address_space *space, struct page_table *table);
/* All tables of the space. */
void page_tables_free(struct address_space *space);

#endif
