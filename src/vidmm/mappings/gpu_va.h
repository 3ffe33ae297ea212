/*
 * Mappings: GPU virtual addresses of allocations, and of physical pages chosen by the caller.
 *
 * Place      vidmm. Uses page tables, the paging queue and requests; public functions are in
 *            vidmm.h.
 * Model      gpu_va.c. A mapping's job makes its tables and writes its entries; from there on the
 *            mapping is live and the allocation's own moves keep its entries.
 * Ownership  Mappings hang on their process and their allocation; mapping_free() ends one.
 * Errors     As page_tables_prepare(); STATUS_INVALID_PARAMETER; nothing has changed then.
 * Units      Virtual addresses in bytes; pages of 4 KiB.
 * Source     contract.md PT-013..017, PT-024, PT-025, TLB-003, TLB-004; sequence S-13.
 */
#ifndef VIDMM_GPU_VA_H
#define VIDMM_GPU_VA_H

#include "vidmm/paging/job.h"
#include "vidmm/vidmm.h"

#include "base/range_allocator.h"

struct address_space;

enum mapping_role {
    MAPPING_ORDINARY,
    MAPPING_PRIVILEGED, /* of a whole tile pool, for tile.c alone */
    MAPPING_TILE,       /* its job makes tables only: what it shows is copied */
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
    struct list fresh; /* tables that its job initialises and links */
    struct list *at;   /* where the job is in fresh */
    struct job job;
    struct job unmap_job;
    vidmm_done done;
    void *context;
};

struct mapping *mapping_find(struct vidmm_process *process, uint64_t va);
/* As vidmm_map_gpu_va(), for tile.c: nobody is told of the end, and leaf entries are 4 KiB ones. */
NTSTATUS mapping_create(struct vidmm_process *process, struct vidmm_allocation *allocation,
                        uint64_t first_page, uint64_t page_count, uint64_t va,
                        enum mapping_role role, uint64_t *out_va);
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
/* Makes the tables again that have left. As page_tables_prepare(). */
NTSTATUS mapping_restore_tables(struct mapping *mapping);
/*
 * Addresses for mappings that no client knows of (tile.c): the uppermost eighth, or, under a root
 * that would have to reach there, the first ones. No client's range is there. False: there are no
 * such mappings.
 */
bool mapping_privileged_range(const struct address_space *space, uint64_t *out_start,
                              uint64_t *out_end);
NTSTATUS range_result(enum range_status status);
/* Frees a mapping whose entries are gone; its address range too. */
void mapping_free(struct mapping *mapping);

#endif
