/*
 * Mappings: GPU virtual addresses of allocations, which mapping an address is in, and what its
 * entries are to be like.
 *
 * Place      vidmm. Uses address spaces only; gpu_va.h makes mappings and ends them.
 * Model      A mapping shows pages of an allocation at a range of addresses of a process. Its job
 *            makes the tables (has_tables) and links them (is_live); from there on the
 *            allocation's own moves keep its entries.
 * Ownership  Mappings hang on their process and their allocation.
 * Units      Virtual addresses in bytes; pages of 4 KiB.
 * Source     contract.md PT-013, PT-029, PT-038.
 */
#ifndef VIDMM_MAPPING_H
#define VIDMM_MAPPING_H

#include "vidmm/mappings/entry_job.h"
#include "vidmm/vidmm.h"

#include "base/range_allocator.h"

enum mapping_role {
    MAPPING_ORDINARY,
    MAPPING_PRIVILEGED, /* of a whole tile pool, for tile.c alone */
    MAPPING_TILE,       /* its job makes tables only: its entries are copies */
};

struct mapping {
    enum mapping_role role;
    struct vidmm_process *process;
    struct vidmm_allocation *allocation;
    uint64_t va, page_count, first_page;
    uint32_t protect;
    uint64_t driver_protection;
    bool has_tables;  /* its job will initialise them */
    bool is_waiting;  /* it had to wait for memory for them */
    bool tables_left; /* to make room: they are made again before its allocation is used */
    bool may_be_64k;  /* where its allocation is in a segment of 64 KiB pages (PT-038) */
    bool is_live;     /* in the order of the paging queue: its tables are linked */
    bool is_shown;    /* IoMmu: by the IOMMU */
    bool is_doomed;   /* an unmap job will free it */
    struct list allocation_link;
    struct list process_link;
    struct entry_job making; /* makes its tables, and writes and links its entries */
    struct job unmap_job;
    vidmm_done done;
    void *context;
};

/* The mapping that starts at va; NULL: there is none. */
struct mapping *mapping_find(struct vidmm_process *process, uint64_t va);
/*
 * The unique driver protection of a page of the allocation, or 0, and in *page_count for how many
 * pages from there on it is the same.
 */
uint64_t mapping_unique_protection(const struct vidmm_allocation *allocation, uint64_t page,
                                   uint64_t *page_count);
/* Whether its entries are, or would now be, in 64 KiB tables. */
bool mapping_is_64k(const struct mapping *mapping);
/*
 * The mapping that va lies in; *is_physical: physical pages that nobody remembers. NULL: neither.
 */
struct mapping *mapping_at(const struct address_space *space, uint64_t va, uint64_t *out_end,
                           bool *is_physical);
/*
 * Addresses for mappings that no client knows of (tile.c): the uppermost eighth, or, under a root
 * that would have to reach there, the first ones. No client's range is there. False: there are no
 * such mappings.
 */
bool mapping_privileged_range(const struct address_space *space, uint64_t *out_start,
                              uint64_t *out_end);
NTSTATUS range_result(enum range_status status);
/* Part of the range is among those addresses. */
bool mapping_touches_privileged(const struct address_space *space, uint64_t va, uint64_t bytes);
/* vidmm_map_physical(), where nothing of the manager's own is refused. */
NTSTATUS mapping_map_physical(struct vidmm_process *process, uint64_t va, unsigned segment,
                              uint64_t first_page, uint64_t page_count, uint32_t protect,
                              vidmm_done done, void *context);

#endif
