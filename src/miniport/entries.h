/*
 * Entries: what a long array of page-table entries says, in few words.
 *
 * Place   miniport. The notes of the manager and the lines of the trace tell such arrays.
 * Model   An array is cut in ranges from its begin on. In a range the entries are all invalid, or
 *         have the same flags, and their addresses go on by one stride. Pages of system memory
 *         follow each other by chance, so a range of them need not have a stride.
 * Cost    This reads all entries of all page tables: an array is read once. The hash of a range
 *         with a stride is made of its first entry, its stride and its length.
 * Units   Strides in the unit of DXGK_PTE.PageAddress, pages.
 */
#ifndef MINIPORT_ENTRIES_H
#define MINIPORT_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

struct miniport_entries {
    uint64_t count;
    int64_t stride;    /* 0: all are alike, or there is one, or no stride */
    bool is_scattered; /* valid, in system memory, and no stride */
    uint64_t hash;     /* of all that the entries say */
};

/*
 * The first range of an array of count entries, at least 1. The first `even` of them are known to
 * be valid and alike but for their addresses, which go on by one stride; 0: nothing is known.
 */
struct miniport_entries miniport_entries_first(const DXGK_PTE *entries, uint64_t count,
                                               uint64_t even);

/* The hash of an array: those of its ranges, added in their order to what begins as 0. */
uint64_t miniport_entries_add_hash(uint64_t hash, uint64_t of_range);
uint64_t miniport_entries_hash(const DXGK_PTE *entries, uint64_t count);

#endif
