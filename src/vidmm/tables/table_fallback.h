/*
 * Table fallback: a leaf table of 64 KiB pages gives way to one of 4 KiB pages.
 *
 * Place      vidmm, called by page_table.c where a range has 64 KiB leaves and needs 4 KiB ones.
 * Model      table_fallback.c.
 * Errors     STATUS_NO_MEMORY; nothing has changed then.
 * Source     contract.md PT-013, PT-015, PT-035, PT-037, PT-038, PT-040, TLB-003; sequence S-14.
 */
#ifndef VIDMM_TABLE_FALLBACK_H
#define VIDMM_TABLE_FALLBACK_H

#include <ntddk.h>

struct address_space;
struct page_table;

/*
 * Queues the job that puts the 4 KiB leaf, which is in the tree, in the place of the 64 KiB one
 * beside it.
 */
NTSTATUS table_fallback_begin(struct address_space *space, struct page_table *table);

#endif
