/*
 * Table eviction: page tables that leave local memory when others want it, and come back.
 *
 * Place      vidmm. A last resort of requests (residency.c).
 * Model      A leaf without a valid entry may leave; it comes back as a new one when an allocation
 *            of its mappings is placed.
 * Source     contract.md PT-012, PT-013, PT-015, PT-035, PT-037, TLB-003.
 */
#ifndef VIDMM_TABLE_EVICTION_H
#define VIDMM_TABLE_EVICTION_H

#include <stdbool.h>

#include <ntddk.h>

struct address_space;
struct page_table;
struct segment;
struct vidmm;
struct vidmm_allocation;

/*
 * Nothing is pending in the manager: all tables of the segment that hold no valid entry, and could
 * be made again, leave. True: there were any.
 */
bool tables_evict(struct vidmm *vidmm, const struct segment *segment);
/*
 * Makes the tables of the allocation's mappings that have left, behind all queued jobs, which may
 * include its page-in. STATUS_GRAPHICS_NO_VIDEO_MEMORY: some are still missing; ask again.
 */
NTSTATUS tables_restore(struct vidmm_allocation *allocation);
/* All entries of the table are known: the manager could write them again. */
bool table_is_reproducible(const struct address_space *space, const struct page_table *table);

#endif
