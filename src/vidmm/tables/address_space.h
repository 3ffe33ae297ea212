/*
 * Address space: page tables, the paging process that writes them, and what is mapped.
 *
 * Place      vidmm: part of private.h, which includes it where its types are known; not by itself.
 * Files      page_table.c, table_memory.c, table_burial.c, table_eviction.c, table_move.c,
 *            table_fallback.c, idle_updates.c, root_change.c, paging_process.c, scratch_view.c,
 *            gpu_va.c, physical_entries.c, compaction.c.
 */
#ifndef VIDMM_ADDRESS_SPACE_H
#define VIDMM_ADDRESS_SPACE_H

/* ---- Page tables (page_table.c) -------------------------------------------------------------- */

/* The memory that holds a table. */
struct table_memory {
    unsigned segment;     /* 0: system */
    uint64_t first_page;  /* in the segment, or system page number */
    uint64_t page_count;  /* 0: none yet */
    uint32_t window_slot; /* GPU_VIRTUAL: where the paging process sees it; 0: none */
    uint32_t host_slot;   /* through which the CPU sees it, plus 1; 0: none */
    bool slot_is_used;    /* it has shown another table before */
    void *cpu;            /* CPU_VIRTUAL or paging process: where the CPU sees it */
    uint64_t entry_count;
    uint64_t alignment_pages;
};

/* What there was no memory for when a table was last refused it. */
struct table_shortage {
    unsigned segment;
    uint64_t page_count, alignment_pages;
};

struct page_table {
    struct page_table *parent;
    unsigned index; /* in the parent */
    unsigned level;
    struct table_memory memory;
    uint64_t first_va;
    bool is_64k;                    /* a leaf of 64 KiB pages */
    bool is_initialised, is_linked; /* in the order of the paging queue */
    unsigned initialised_parts;     /* by page_table_op_initialise_part, while it is not done */
    bool is_shadowed;               /* its parent's entry maps a large page instead */
    bool is_detached;               /* out of the tree; a burial has it */
    struct list fresh;              /* in a mapping's list of tables to initialise and link */
    /* NULL at level 0. At level 1, where 64 KiB tables can be, as many of those follow. */
    struct page_table **children;
    uint64_t child_count;
    uint64_t *physical; /* of a leaf: physical_entries.c; NULL: none was ever mapped there */
};

struct address_space {
    struct vidmm *vidmm;
    HANDLE driver_process;
    struct page_table *root;       /* NULL before the first table */
    struct vidmm_process *process; /* NULL: the paging process */
    unsigned hold_count;           /* of its contexts */
    unsigned waiting_updates;      /* of physical pages, for room: others come behind them */
    bool is_held_for_updates;      /* one of them is idle_updates.c's */
    bool is_held_for_moves;        /* one of them is compaction.c's */
    struct range_allocator ranges; /* of virtual addresses; the owner is the mapping */
    uint64_t ranges_start;
    bool is_paging_process;
    struct list rebuilt; /* tables that the rebuild job will initialise and link */
    struct list *at;     /* where it is in them */
    struct job rebuild_job;
};

/* Where the paging process, or the driver, finds a table. */
NTSTATUS table_memory_take(struct address_space *space, unsigned level, uint64_t bytes,
                           uint64_t entry_count, struct table_memory *out_memory);
void table_memory_release(struct address_space *space, struct table_memory *memory);

/* Which leaves. */
#define LEAVES_4K  (1u << 0)
#define LEAVES_64K (1u << 1)

/*
 * Makes sure that all tables down to the leaves exist for [va, va + bytes); new ones are appended
 * to fresh, parents before children. All or nothing.
 */
NTSTATUS page_tables_prepare(struct address_space *space, uint64_t va, uint64_t bytes,
                             unsigned kinds, struct list *fresh);
/* Most that the tables of a range can take, in bytes. */
uint64_t page_tables_bytes(const struct address_space *space, uint64_t bytes);
/* Undoes a prepare whose tables were never handed to a job. */
void page_tables_abandon(struct address_space *space, struct list *fresh);
void page_tables_free(struct address_space *space);
/* Its first page as the device reaches it: of the segment, or what stands for a system page. */
uint64_t table_memory_device_page(const struct vidmm *vidmm, const struct table_memory *memory);
struct page_table *page_table_find(const struct address_space *space, uint64_t va);
/* Puts all tables of the space on the list, parents before children, whatever list they are on. */
void page_tables_collect(struct address_space *space, struct list *tables);
struct page_table *page_table_find_64k(const struct address_space *space, uint64_t va);
/* All tables of the space, children before their parents; visit may free the table. */
typedef void page_table_visit(struct page_table *table, void *context);
void page_tables_visit(struct address_space *space, page_table_visit *visit, void *context);

/* How many entries one table of the level holds, and what one entry covers. */
uint64_t page_table_entries(const struct vidmm *vidmm, unsigned level);
uint64_t page_table_coverage(const struct vidmm *vidmm, unsigned level);

/* Tables of 64 KiB pages stand beside the others, or in their place. */
bool page_table_has_64k_leaves(const struct vidmm *vidmm);

/* The table is about to leave memory (PT-037): no entries come with it. */
void page_table_op_farewell(struct address_space *space, struct page_table *table,
                            DXGKARG_BUILDPAGINGBUFFER *args);
/* Operations. They fill *args; the entries last until the next one is filled. */
void page_table_op_initialise(struct address_space *space, struct page_table *table,
                              DXGKARG_BUILDPAGINGBUFFER *args);
/* The same, or the next of several pieces where the system makes some; true: it is the last. */
bool page_table_op_initialise_part(struct address_space *space, struct page_table *table,
                                   DXGKARG_BUILDPAGINGBUFFER *args);
void page_table_op_link(struct address_space *space, struct page_table *table,
                        DXGKARG_BUILDPAGINGBUFFER *args);
/* Maps the table itself into the paging process's window (GPU_VIRTUAL). */
void page_table_op_show(struct address_space *space, struct page_table *table,
                        DXGKARG_BUILDPAGINGBUFFER *args);
/*
 * Points entries for [va, ...) at pages [first_page, ...) of the allocation, as far as one table
 * and page_count go; returns how many. from_backing: at its backing store, else at its placement.
 * is_64k: in the 64 KiB table, if the range has not fallen back to 4 KiB (table_fallback.c); va and
 * pages are then multiples of 64 KiB.
 */
uint64_t page_table_op_map(struct address_space *space, uint64_t va,
                           struct vidmm_allocation *allocation, uint64_t first_page,
                           uint64_t page_count, bool from_backing, bool is_64k, uint32_t protect,
                           uint64_t driver_protection, DXGKARG_BUILDPAGINGBUFFER *args);
uint64_t page_table_op_map_physical(struct address_space *space, uint64_t va, unsigned segment,
                                    uint64_t first_page, uint64_t page_count, uint32_t protect,
                                    DXGKARG_BUILDPAGINGBUFFER *args);
/*
 * Where the paging process sees the 4 KiB leaf entry of va (GPU_VIRTUAL): an address at a multiple
 * of 64 KiB (CPTE-002) and the index of the entry from there.
 */
void page_table_entry_address(struct address_space *space, uint64_t va,
                              D3DGPU_VIRTUAL_ADDRESS *out_address, UINT *out_index);
uint64_t page_table_op_unmap(struct address_space *space, uint64_t va, uint64_t page_count,
                             bool is_64k, HANDLE driver_allocation, uint64_t first_page,
                             DXGKARG_BUILDPAGINGBUFFER *args);
void page_table_op_flush(struct address_space *space, uint64_t va, uint64_t bytes,
                         DXGKARG_BUILDPAGINGBUFFER *args);

/* Of a table that a burial has: its entry in its parent, or all of its own, become invalid. */
void page_table_op_unlink(struct address_space *space, struct page_table *table,
                          DXGKARG_BUILDPAGINGBUFFER *args);
void page_table_op_clear(struct address_space *space, struct page_table *table,
                         DXGKARG_BUILDPAGINGBUFFER *args);
void page_table_free_detached(struct address_space *space, struct page_table *table);

/* ---- Tables that change only while nobody uses them (idle_updates.c) ------------------------- */

/* False: not yet; contexts are held, ask again. */
bool idle_updates_may_go(struct vidmm *vidmm, struct job *job,
                         const DXGKARG_BUILDPAGINGBUFFER *args);
/* Everything that was built has retired. */
void idle_updates_end(struct vidmm *vidmm);

/* ---- Tables that go (table_burial.c) --------------------------------------------------------- */

struct table_burial {
    struct job job;
    struct address_space *space;
    struct list tables; /* by fresh, parents before children */
    struct list *at;
    uint64_t va, bytes;
    bool is_moot;                  /* the adapter was reset */
    bool is_eviction;              /* what was in them is going to be needed again */
    struct vidmm_process *process; /* that goes with its tables; else NULL */
};
/* Buries all tables of the process, then the process itself; false: there is no need. */
bool tables_bury_all(struct vidmm_process *process);
/* Buries the tables of a range that has become free, as far as nothing else is in theirs. */
void tables_bury_empty(struct address_space *space, uint64_t va, uint64_t bytes);
/*
 * Takes a table out of the tree, and what has no child left above it, to the front of the burial's
 * tables. The root stays.
 */
void table_detach(struct page_table *table, struct list *tables);
NTSTATUS table_burial_create(struct address_space *space, struct table_burial **out_burial);
/*
 * va, bytes: where its tables have translated; two zeros: anywhere. Without tables it is just
 * freed.
 */
void table_burial_begin(struct table_burial *burial, uint64_t va, uint64_t bytes);

/* ---- Tables that leave, and come back (table_eviction.c) ------------------------------------- */

/*
 * Nothing is pending in the manager: all tables of the segment that hold no valid entry, and could
 * be made again, leave. True: there were any.
 */
bool tables_evict(struct vidmm *vidmm, const struct segment *segment);
/*
 * Makes the tables of the allocation's mappings that have left, behind what is queued, which may
 * have been its page-in. STATUS_GRAPHICS_NO_VIDEO_MEMORY: some are still missing; ask again.
 */
NTSTATUS tables_restore(struct vidmm_allocation *allocation);
/* What the table holds is known: the manager could write it again. */
bool table_is_reproducible(const struct address_space *space, const struct page_table *table);

/* ---- Tables that get another place (table_move.c) -------------------------------------------- */

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

/* ---- 64 KiB tables that become 4 KiB ones (table_fallback.c) --------------------------------- */

/*
 * Queues what puts the 4 KiB leaf, which is in the tree, in the place of the 64 KiB one beside it.
 */
NTSTATUS table_fallback_begin(struct address_space *space, struct page_table *table);

/* ---- Growing roots (root_change.c) ----------------------------------------------------------- */

/*
 * Makes the root of two levels reach end: a larger table, whose job moves the contexts over to it
 * before anything that is queued later. Nothing to do where it reaches already.
 */
NTSTATUS root_reserve(struct address_space *space, uint64_t end);
/* Bytes of the root table for entry_count entries, and in *entry_count how many it will have. */
NTSTATUS root_size(struct vidmm *vidmm, uint64_t *entry_count, uint64_t *out_bytes);

/* ---- Paging process (paging_process.c) ------------------------------------------------------- */

/* Released slots of tables of 2^i pages; releasing never needs memory. */
#define WINDOW_STACKS 20
struct window_stack {
    uint32_t *slots;
    uint32_t count, capacity;
    uint32_t given; /* slots that exist, free or not */
};

struct paging_process {
    bool is_ready; /* from then on tables are written in the driver's update mode */
    struct address_space space;
    uint64_t buffer_va;
    uint64_t fence_va; /* monitored fences */
    uint64_t va_end;   /* of the layout */
    uint64_t scratch_va, scratch_pages;
    uint64_t scratch_next; /* page; the range is used in turn */
    uint64_t window_va;    /* GPU_VIRTUAL: page tables are seen here, one slot each */
    uint32_t window_next;  /* slots never used start here */
    struct window_stack window_stacks[WINDOW_STACKS];
    bool has_reserved;
    struct range_allocator reserved; /* below the layout, for the driver's ranges */
};

/*
 * Gives pages of scratch address space to the operations generated next. False: not before the
 * paging queue has drained, because tables are written at once (CPU_VIRTUAL) and the transfers that
 * still use the range are not.
 */
bool paging_process_take_scratch(struct vidmm *vidmm, uint64_t pages, uint64_t *out_va);
/* Most pages that one chunk may have on each side. */
uint64_t paging_process_chunk_pages(const struct vidmm *vidmm);
/* Maps system pages for good while the paging process is set up: written by the CPU, at once. */
NTSTATUS paging_process_map_fixed(struct vidmm *vidmm, uint64_t va, uint64_t first_page,
                                  uint64_t page_count);
NTSTATUS paging_process_init(struct vidmm *vidmm);
/* What the driver knows it by while it is created. */
#define PAGING_PROCESS_HANDLE ((HANDLE)(uintptr_t)1)
/* Nothing of its own is below; known as soon as the caps are. */
uint64_t paging_process_layout_start(const struct vidmm *vidmm);
/* Most that its page tables can take; once paging_process_init() has been called. */
uint64_t paging_process_bytes(const struct vidmm *vidmm);
/* All tables are lost: writes those of the paging process anew, and shows it everybody's. */
NTSTATUS paging_process_rebuild(struct vidmm *vidmm);
/* Tells the driver the root of the paging process for one of its contexts (PT-009). */
NTSTATUS paging_process_set_root(struct vidmm *vidmm, HANDLE driver_context);
void paging_process_fini(struct vidmm *vidmm);
/*
 * The first of consecutive window slots for a table of page_count pages (GPU_VIRTUAL), never 0. All
 * lie in one leaf table of the window: STATUS_NOT_SUPPORTED when it is larger than that. A used
 * slot has shown another table before, so what it is to show now needs a flush: the GPU may have
 * cached it with its neighbours at any time.
 */
NTSTATUS paging_process_take_slot(struct vidmm *vidmm, uint64_t page_count, uint32_t *out_slot,
                                  bool *out_is_used);
void paging_process_release_slot(struct vidmm *vidmm, uint64_t page_count, uint32_t slot);
static inline uint64_t paging_process_slot_va(const struct paging_process *process, uint32_t slot)
{
    return process->window_va + ((uint64_t)slot << PAGE_SHIFT_BITS);
}

/* ---- Mappings (gpu_va.c) --------------------------------------------------------------------- */

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
/*
 * Owner cookies of address ranges: they hold physical mappings, or are the driver's
 * (reserved_va.c).
 */
#define OWNER_PHYSICAL 1
#define OWNER_RESERVED 2
NTSTATUS range_result(enum range_status status);
/* Frees a mapping whose entries are gone; its address range too. */
void mapping_free(struct mapping *mapping);

/* ---- What physical mappings left in the tables (physical_entries.c) -------------------------- */

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

/* ---- Compaction (compaction.c) --------------------------------------------------------------- */

struct compaction {
    bool is_under_way;
    bool is_closed; /* nothing is placed in the window */
    bool is_for_pieces;
    struct segment *segment;
    uint8_t *units; /* what is in each, when it began; NULL: none is under way */
    uint64_t unit_count;
    uint64_t first_unit, window_count; /* the window */
    struct job end_job;
};
/*
 * Nothing is pending in the manager: begins to clear so many pages of the segment, in one piece.
 * False: it is of no use, or cannot be done.
 */
bool compaction_begin(struct vidmm *vidmm, struct segment *segment, uint64_t page_count,
                      uint64_t alignment_pages);
/* No page table is to be put on the page now. */
bool compaction_closes(const struct compaction *compaction, const struct segment *segment,
                       uint64_t first_page);

/* ---- Tiles (tile.c) -------------------------------------------------------------------------- */

/* Starts the oldest update if its turn has come. True if it did anything. */
bool tile_updates_run(struct vidmm *vidmm);

/* ---- Companion contexts (companion.c) -------------------------------------------------------- */

/*
 * Makes the context's companion, unless it has one. The driver may refuse, or have named no node.
 */
NTSTATUS companion_create(struct vidmm_context *context);
/* No update of the context is left. */
void companion_destroy(struct vidmm_context *context);
/* The paging process's root is new to the driver: all companions are told (PT-009). */
NTSTATUS companions_set_root(struct vidmm *vidmm);

#endif
