/*
 * Physical entries: the entries that mappings of physical pages have left in each leaf table.
 *
 * Place      vidmm. Set by gpu_va.c, read by whoever writes a table anew.
 * Model      A leaf has a record, one word for each entry, from the first physical mapping on.
 * Errors     STATUS_NO_MEMORY from physical_entries_make() only.
 * Units      Virtual addresses in bytes; pages of 4 KiB.
 * Source     contract.md PWR-009, PT-013; sequence S-16.
 */
#ifndef VIDMM_PHYSICAL_ENTRIES_H
#define VIDMM_PHYSICAL_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include <ntddk.h>
#include <d3dkmddi.h>

struct address_space;
struct page_table;

/* All leaves of the range, which exist, get a record. STATUS_NO_MEMORY: not all have. */
NTSTATUS physical_entries_make(struct address_space *space, uint64_t va, uint64_t bytes);
/* A job is queued that maps these pages; every leaf has its record. */
void physical_entries_set(struct address_space *space, uint64_t va, unsigned segment,
                          uint64_t first_page, uint64_t page_count, uint32_t protect);
/* A job is queued that unmaps whatever physical mapping is there. */
void physical_entries_clear(struct address_space *space, uint64_t va, uint64_t page_count);
/*
 * Writes the table's next run of entries from *index on, and moves that behind it. False: there are
 * no more, and nothing is filled.
 */
bool physical_entries_op_next(struct address_space *space, const struct page_table *table,
                              uint64_t *index, DXGKARG_BUILDPAGINGBUFFER *args);
/* Pages of local memory are mapped. It looks at all tables. */
bool physical_entries_show_memory(struct address_space *space);

#endif
