/*
 * Test rig: a manager on a fake driver, a fake GPU and a platform that accounts for every page.
 *
 * Place      vidmm, tests only. This file: types, memory, the platform. test_rig_gpu.h: what the
 *            GPU does with records. test_rig_build.h, test_rig_driver.h: the miniport at the
 *            bottom. test_rig_run.h: what tests call, and all that most of them include.
 * Model      Memory is pages of one 64-bit word: system pages and the pages of each segment. The
 *            driver turns an operation into records of a few words in the paging buffer and keeps
 *            the operation aside; the GPU reads the records back when the rig completes the packet,
 *            in order, and only then moves words, page-table entries and aperture slots.
 *            The ledger: a page that a queued record or a submitted packet may touch is pinned for
 *            the allocation it holds, until the manager has been told that the packet is done. A
 *            page that is released, or given to another allocation, while it is pinned has been
 *            reused before its fence retired, which is what the manager must never do.
 * Errors     A broken expectation prints what it was and how to repeat the run, and fails the test.
 */
#ifndef DRYDOCK_VIDMM_TEST_RIG_H
#define DRYDOCK_VIDMM_TEST_RIG_H

#include "vidmm/vidmm_private.h"

#include "base/failing_services.h"
#include "base/rng.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RIG_SEGMENTS      4 /* at most; the last one is an aperture */
#define RIG_LEVELS        3
#define RIG_TLB_ENTRIES   1024
#define RIG_FIRST_PAGE    UINT64_C(0x100) /* of system memory */
#define RIG_FIRST_BLOCK   UINT64_C(0x4000000)
#define RIG_BLOCKS        2048
#define RIG_POISON        UINT64_C(0xdeadbeefdeadbeef)
#define RIG_TABLE_OWNER   UINT32_MAX /* pins of page tables */
#define RIG_PROGRAM_STEPS 16
#define RIG_RANGES        4

/* How page tables are made. */
enum rig_tables {
    RIG_TABLES_PLAIN,    /* three levels of 6, 6 and 8 bits */
    RIG_TABLES_SMALL,    /* of 3, 9 and 8 bits: most mappings need several leaves */
    RIG_TABLES_GROWING,  /* two levels: a leaf of 6 bits, and a root as large as it must be */
    RIG_TABLES_ONE_LEAF, /* plain ones; an entry of level 1 leads to a leaf of 4 KiB or of 64 KiB */
    RIG_TABLES_DUAL,     /* plain ones; an entry of level 1 leads to both */
};

/* What the fake hardware and driver are like. Zero is a plain one. */
struct rig_config {
    bool is_virtual;
    bool is_iommu; /* is_virtual, without page tables: no packet of a client can be run */
    DXGK_PAGETABLEUPDATEMODE mode;
    enum rig_tables tables;
    unsigned memory_segments;             /* 0: 1 */
    uint64_t segment_pages[RIG_SEGMENTS]; /* 0: 256 */
    uint64_t start_pages;                 /* vidmm_config.local_start, in pages */
    uint64_t dead_pages[RIG_SEGMENTS];    /* invalid ones, from the segment's start; GpuMmu */
    bool hides_segment[RIG_SEGMENTS];     /* not CpuVisible */
    bool has_pitch[RIG_SEGMENTS];         /* PitchAlignment */
    bool has_64kb_pages[RIG_SEGMENTS];    /* Use64KBPages; GpuMmu */
    uint64_t kept_pages;                  /* of segment 1 in hibernation; 0: it keeps nothing */
    uint64_t aperture_pages;              /* 0: 64 */
    bool has_two_apertures;               /* of that size: the last two segments */
    uint64_t aperture_limit_pages;        /* its CommitLimit; 0: all of it */
    bool places_from_end;                 /* FromEndOfSegment of every allocation */
    uint64_t all_apertures_limit_pages;   /* DXGK_DRIVERCAPS.ApertureSegmentCommitLimit; 0: none */
    bool is_coherent;                     /* the aperture */
    bool keeps_tables_in_system;          /* else in segment 1 */
    bool caches_invalid;                  /* no InvalidTlbEntriesNotCached */
    bool invalidates_tables;              /* ExplicitPageTableInvalidation */
    bool updates_when_idle;               /* PageTableUpdateRequireAddressSpaceIdle */
    unsigned companion_node;              /* PagingCompanionNodeId of contexts */
    bool has_protections;                 /* ReadOnly, NoExecute, CacheCoherent */
    uint32_t private_bytes;               /* of a paging buffer */
    bool moves_private;                   /* one private range a record; else a shared one */
    uint32_t buffer_bytes;                /* of a paging buffer, config; 0: 4096 */
    unsigned buffer_count;                /* 0: the manager's choice */
    bool is_busy_once;                    /* TRANSFER and DISCARD are BUSY before they are idle */
    bool skips_discards;                  /* DISCARD writes nothing */
    bool completes_at_once;               /* packets run inside SubmitCommand */
    bool slots_at_once;                   /* written while the driver builds, without a byte */
    bool skips_patch;                     /* vidmm_config.skips_patch_for_paging */
    bool pages_through_aperture;          /* PagingBufferSegmentId; physical model */
    bool hides_address;                   /* vidmm_config.hides_buffer_address; one buffer */
    bool initialises_in_pieces;           /* vidmm_config.initialises_in_pieces */
    bool writes_neighbours;               /* vidmm_config.writes_neighbours */
    bool pages_in_patched_only;           /* vidmm_config.pages_in_patched_only */
    bool pins_anywhere;                   /* vidmm_config.pins_anywhere */
    uint64_t first_paging_fence;          /* vidmm_config.first_paging_fence */
    uint64_t host_slots;       /* of a CPU host aperture, through which segment 1 is seen */
    unsigned swizzling_ranges; /* physical model; RIG_RANGES at most */
    bool refuses_ranges;       /* every third time a range is UNAVAILABLE */
    bool switches_to_null;     /* vidmm_config.switches_to_null_context */
    uint64_t system_pages;     /* 0: 8192 */
    uint64_t scratch_bytes;    /* 0: one leaf table's worth */
    uint32_t dma_bytes;        /* of a render buffer; 0: 512 */
    unsigned split_steps;      /* commands between two split points of one; 0: it has none */
    bool splits_dma_buffers;   /* vidmm_config.splits_dma_buffers */
    const struct vidmm_policy *policy; /* vidmm_config.policy */
    uint64_t seed;
};

struct rig_page {
    uint64_t content;
    uint32_t pins, packet_pins;
    uint32_t pin_owner;   /* allocation number */
    uint32_t owner;       /* whose page this is, 0: nobody's */
    uint32_t owner_page;  /* which */
    uint32_t shown_owner; /* of it, while a slot or a range shows it to the CPU; 0: nothing does */
    uint32_t table;       /* index + 1 in tables */
    bool is_taken;        /* system pages: given out by the platform */
};

struct rig_table {
    bool is_initialised;
    unsigned initial_entries; /* written by InitialUpdate */
    unsigned level;
    HANDLE process;
    uint64_t first_va;
    bool is_64k;          /* a leaf of 64 KiB pages */
    unsigned entry_count; /* there is room for; of a root that grows: that it has */
    DXGK_PTE *entries;
    DXGK_PTE *entries_64k; /* level 1: to leaves of 64 KiB pages, with RIG_TABLES_DUAL */
    uint64_t *protections;
    uint64_t *mapped; /* of a leaf: the page of the allocation that an entry shows, + 1; 0: none */
};

/* hAllocation, and the handle of the device as well. */
struct rig_allocation {
    bool is_live;
    uint32_t number;
    uint64_t page_count;
    unsigned pending_operations;
    uint64_t next_transfer; /* pages, XFER-006 */
    bool is_cached;
    bool is_swizzled, is_primary;
    bool is_synchronous; /* SynchronousPaging */
    bool has_no_range;   /* no swizzling range can show it */
    HANDLE device;       /* that opened it first */
    uint64_t *model;     /* what each page must hold */
};

/* What the handle of a process leads to. */
struct rig_process {
    unsigned updates; /* of its entries and flushes of them, that have not ended */
};

/* A swizzling range, while it is acquired. */
struct rig_range {
    const struct rig_allocation *owner; /* NULL: nobody's */
    uint32_t data;
    unsigned segment;
    uint64_t first_page;
};

/* What a test asks DxgkDdiCreateAllocation for; it travels as private data. */
struct rig_request {
    uint64_t bytes;
    uint64_t claimed_bytes; /* Size, where the rig need not model the pages; 0: bytes */
    uint32_t alignment;
    uint32_t preferred[3];
    uint32_t write_set, read_set; /* 0: the segments preferred */
    uint32_t eviction_set;
    uint32_t priority; /* 0: normal */
    uint32_t flags;    /* further ones, in the shape of the model */
    uint64_t pitch_aligned_bytes;
    bool is_cpu_visible, is_cached, is_physical;
    bool is_primary; /* by vidmm_primary_create() */
    bool has_no_handle, has_no_priority, has_odd_alignment, has_no_range;
    NTSTATUS refusal;
};

struct rig_operation {
    DXGKARG_BUILDPAGINGBUFFER args;
    DXGK_PTE *entries;
    DXGK_PTE entry_64k; /* pPageTableEntries64KB */
    DXGK_BUILDPAGINGBUFFER_COPY_RANGE *ranges;
    uint64_t *pfns; /* of its MDL, from MdlOffset on */
    uint64_t units, built;
    unsigned records; /* built, not executed and told */
    bool is_complete;
    struct rig_page **pins;
    size_t pin_count, pin_capacity;
};

struct rig_record {
    uint32_t magic;
    uint32_t bytes;
    uint32_t operation; /* index */
    uint32_t check;
    uint64_t first, count;
    uint64_t payload[]; /* as many words as make it bytes long */
};

/* The GPU writes a page of an allocation, or reads it and compares it with what it must hold. */
struct rig_step {
    bool is_write;
    uint64_t value;     /* written */
    uint64_t va;        /* GpuMmu */
    uint32_t reference; /* physical: index in the list */
    uint32_t number;    /* of the allocation that must be there */
    uint32_t page;      /* of it */
};

/* A command in a DMA buffer of the physical model; address and segment are patched. */
struct rig_command {
    uint64_t magic;
    uint64_t address;
    uint64_t value;
    uint32_t segment;
    uint32_t is_write;
    uint32_t number;
    uint32_t page;
    uint32_t program, step;
    uint32_t private_bytes; /* of the first command of a buffer: that all of them have */
};

struct rig_program {
    struct list link; /* in programs, until the rig goes */
    uint32_t number;  /* from 1; its address, GpuMmu */
    struct rig *rig;
    unsigned run_count; /* steps */
    bool has_hook;      /* a test's own made its commands, which are not counted */
    vidmm_done done;
    void *done_context;
    HANDLE process;
    D3DGPU_PHYSICAL_ADDRESS root;
    unsigned count;
    struct rig_step steps[RIG_PROGRAM_STEPS];
};

struct rig_packet {
    struct list link;
    const struct rig_context *context;
    bool is_paging;
    bool is_switch; /* to the null context: no bytes */
    uint32_t fence;
    const uint8_t *start, *end;
    struct rig_program *program;
    struct rig_page **pins;
    size_t pin_count;
    uint32_t operations[512]; /* whose records it ran */
    size_t operation_count;
};

struct rig_context {
    HANDLE process, device;
    unsigned node;
    bool is_system;
    bool is_live, has_root;
    UINT root_entries;
    D3DGPU_PHYSICAL_ADDRESS root;
    DXGKARG_PATCH patch;
    struct rig_page **pins; /* by Patch, for the packet that follows */
    size_t pin_count;
};

struct rig_block {
    uint64_t first_page, page_count;
    uint8_t *memory;
};

struct rig_tlb_entry {
    bool is_used;
    HANDLE process;
    uint64_t page;
    DXGK_PTE entry;
};

struct rig {
    struct miniport miniport;
    struct miniport_ops ops;
    struct miniport *top; /* what the manager calls */
    struct rig_config config;
    struct rng rng;
    struct failing_services memory;
    struct vidmm *vidmm;
    struct vidmm_config manager;
    bool is_hung; /* nothing that the model knows of places holds any more */

    struct rig_page *system;
    uint64_t system_next, system_free_count;
    uint64_t *system_free;
    uint64_t taken_pages, taken_blocks, mapped_ranges;
    uint64_t fail_pages_at; /* take_pages and friends from now on; 0: never */
    struct rig_block blocks[RIG_BLOCKS];
    unsigned segment_count; /* the aperture included */
    struct rig_page *segments[RIG_SEGMENTS];
    uint64_t segment_pages[RIG_SEGMENTS];
    uint64_t *slots; /* system page + 1; 0: dummy */
    uint32_t *slot_owner;
    bool *slot_is_busy; /* an operation on it has not retired */
    uint64_t
        *host_shown; /* of each slot of the host aperture: the page of segment 1, + 1; 0: none */
    unsigned refused_host_map; /* the call, from now on, that maps no slot; 0: none */
    bool is_asleep;            /* set by tests of sleeps: nobody may map a slot */
    struct rig_range ranges[RIG_RANGES];

    struct rig_table *tables;
    size_t table_count, table_capacity;
    struct rig_tlb_entry tlb[RIG_TLB_ENTRIES];

    struct rig_operation **operations;
    size_t operation_count, operation_capacity;
    struct rig_operation *pending; /* told INSUFFICIENT */
    const uint8_t *buffer_start;   /* of the last call */
    const uint8_t *last_end;
    const uint8_t *last_private_end;

    struct rig_allocation *allocations[4096];
    uint32_t allocation_count;       /* ever */
    unsigned synchronous_operations; /* of allocations with SynchronousPaging; have not ended */
    uint64_t live_handles, live_contexts, live_devices, live_processes;
    struct rig_context *system_context;
    struct rig_context *current[2]; /* whose work a node was given last; NULL: the null context */
    unsigned switches;              /* packets that told a node to leave its context */
    unsigned host_maps, acquired_ranges;
    unsigned grown_roots;    /* SetRootPageTable named a larger one */
    unsigned large_entries;  /* valid ones of 64 KiB */
    struct list queued[2];   /* packets with the GPU, by node */
    struct list reported[2]; /* executed, interrupt raised, DPC not yet */
    struct list programs;
    uint32_t program_count; /* ever */
    struct vidmm_process *process;
    struct vidmm_device *device;
    struct vidmm_context *context;

    const char *expected_rules; /* driver_error may say these */
    unsigned rule_count;        /* how often it did */
    char refusal_rule[16];      /* of the last one that events.refused told; "": none */
    unsigned initial_updates;   /* accepted calls */
    unsigned mixed_updates;     /* of them and others, those with entries of both kinds */
    unsigned eviction_count;
    unsigned trim_count;
    uint64_t last_trim_bytes;
    const struct vidmm_allocation *last_evicted;

    /* Tests of driver errors look here first; false: the plain driver goes on. */
    bool (*build_hook)(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *args, NTSTATUS *status);
    /* Sees every operation once, as it is given. */
    void (*watch)(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args);
    bool (*render_hook)(struct rig *rig, DXGKARG_RENDER *args, NTSTATUS *status);
    NTSTATUS fails_at_create; /* CreateProcess, CreateDevice, ... */
    NTSTATUS fails_at_open;   /* OpenAllocation alone */
    uint64_t trace[64];       /* the last operations, for directed tests */
    unsigned trace_count;
    void *test; /* the test's own */

    struct rig_notes *notes; /* what the manager has told about itself (test_rig_notes.h) */
    void (*note_hook)(struct rig *rig, const struct vidmm_note *note); /* hears it, too */
};

/* The command that repeats a failing run; set by random tests. */
extern char rig_repeat[128];

void rig_expect_at(bool holds, const char *text, const char *file, int line);

#define EXPECT(expression) rig_expect_at((expression), #expression, __FILE__, __LINE__)

struct rig *rig_of(struct miniport *self);

/* ---- Pages ----------------------------------------------------------------------------------- */

bool rig_is_aperture(const struct rig *rig, unsigned segment);

/* In the arrays of slots, those of the last segment first. */
uint64_t rig_slot(const struct rig *rig, unsigned segment, uint64_t page);
uint64_t rig_segment_base(unsigned segment);
uint64_t rig_segment_window(unsigned segment);

/* Segment 0: a system page that the platform has given out. */
struct rig_page *rig_page(struct rig *rig, unsigned segment, uint64_t page);
struct rig_page *rig_page_at(struct rig *rig, uint64_t address);
void rig_pin(struct rig_operation *operation, struct rig_page *page, uint32_t owner);

/* ---- Platform -------------------------------------------------------------------------------- */

NTSTATUS rig_take_pages(void *context, uint64_t count, uint64_t *out_pages);
void rig_release_pages(void *context, uint64_t count, const uint64_t *pages);
NTSTATUS rig_take_contiguous(void *context, uint64_t count, uint64_t *out_first_page);
void rig_release_contiguous(void *context, uint64_t count, uint64_t first_page);

/* A page table for the CPU: the pointer leads to what it names, as long as it is seen there. */
struct rig_cpu_table {
    struct rig_page *page;
    uint64_t address; /* on the bus; 0: in system memory */
};

struct rig_page *rig_cpu_table_page(struct rig *rig, const struct rig_cpu_table *table);

void *rig_map_pages(void *context, uint64_t count, const uint64_t *pages);
void rig_unmap_pages(void *context, void *address, uint64_t count);
struct rig_block *rig_block_at(struct rig *rig, uint64_t address);

/*
 * What the GPU finds at an address of a segment: a slot shows the block's first page, or 0 it is.
 */
struct rig_block *rig_block_behind(struct rig *rig, unsigned segment, uint64_t address);

/* A paging buffer, which has no allocation, is mapped when the call returns. */
bool rig_maps_buffer(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args);
void *rig_map_bus(void *context, uint64_t address, uint64_t bytes);
void rig_unmap_bus(void *context, void *address, uint64_t bytes);

#endif
