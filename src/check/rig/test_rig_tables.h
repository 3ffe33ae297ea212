/*
 * Test rig of the checking layer, page tables: the operations that a lawful manager writes them
 * with.
 *
 * Place      check, tests only; beside test_rig.h.
 * Model      Three levels of 512 entries. Each table of a process has a fixed address in a window
 *            of the paging process that follows from its level and the first address that it
 *            translates. rig_make_tables() makes, initialises and links the tables for RIG_VA.
 */
#ifndef DRYDOCK_CHECK_TEST_RIG_TABLES_H
#define DRYDOCK_CHECK_TEST_RIG_TABLES_H

#include "check/rig/test_rig.h"

#define RIG_VA      UINT64_C(0x40000000) /* index 0 of a leaf, 0 of its parent, 1 of the root */
#define RIG_WINDOW  UINT64_C(0x4000000000)
#define RIG_ENTRIES 512u

struct rig_update {
    DXGKARG_BUILDPAGINGBUFFER arg;
    DXGK_PTE entries[RIG_ENTRIES], entries_64k[RIG_ENTRIES];
};

unsigned rig_level_shift(unsigned level);

/* Where the paging process sees the table of a process for va. */
uint64_t rig_table_va(unsigned level, uint64_t va);

/* count entries from va on, of the tables at a level; all invalid. */
void rig_begin_update(struct rig *rig, struct rig_update *update, unsigned level, uint64_t va,
                      unsigned count);

/* Leaf entries for pages of an allocation (NULL: of nobody) in local memory. */
void rig_begin_map(struct rig *rig, struct rig_update *update, uint64_t va, HANDLE allocation,
                   uint64_t page, unsigned count);
NTSTATUS rig_update(struct rig *rig, struct rig_update *update);
void rig_initialise_table(struct rig *rig, unsigned level, uint64_t va);

/*
 * The entry of a table at a level for va leads to the table below, which is said to be at a page.
 */
void rig_begin_link(struct rig *rig, struct rig_update *update, unsigned level, uint64_t va,
                    uint64_t page);
void rig_make_tables(struct rig *rig);
void rig_map(struct rig *rig, uint64_t va, HANDLE allocation, uint64_t page, unsigned count);
void rig_unmap(struct rig *rig, uint64_t va, HANDLE allocation, unsigned count);

/* Operations are built and submitted on a companion of the rig's context from now on. */
void rig_enter_companion(struct rig *rig);

/* Of a process, whole with two zeros. Its root is at page 103. */
void rig_flush(struct rig *rig, HANDLE process, uint64_t start, uint64_t end);
void rig_set_root(struct rig *rig, HANDLE context);

/* The driver says other things of its page tables from now on. */
void rig_query_mmu(struct rig *rig);

#endif
