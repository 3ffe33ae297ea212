/*
 * Test rig: a manager on a fake driver, a fake GPU and a platform that accounts for every page.
 *
 * Place      vidmm, tests only. This file: types, memory, the platform. test_rig_gpu.h: what the
 *            GPU does with records. test_rig_build.h, test_rig_driver.h: the miniport at the
 *            bottom. test_rig_run.h: what tests call. Headers only, because every .c file here
 *            belongs to the library.
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

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/exclusive_access.h"
#include "vidmm/adapter/power.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/adapter/recovery.h"
#include "vidmm/adapter/removal.h"
#include "vidmm/mappings/entry_job.h"
#include "vidmm/mappings/gpu_va.h"
#include "vidmm/mappings/mapping.h"
#include "vidmm/mappings/scratch_view.h"
#include "vidmm/mappings/tile.h"
#include "vidmm/memory/agp.h"
#include "vidmm/memory/agp_flush.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_flags.h"
#include "vidmm/memory/allocation_info.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/alternate_va.h"
#include "vidmm/memory/aperture.h"
#include "vidmm/memory/host_aperture.h"
#include "vidmm/memory/iommu.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/rename.h"
#include "vidmm/memory/segment.h"
#include "vidmm/memory/sharing.h"
#include "vidmm/paging/context_init.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/monitored_fence.h"
#include "vidmm/paging/native_fence.h"
#include "vidmm/paging/notice.h"
#include "vidmm/paging/paging_aperture.h"
#include "vidmm/paging/paging_physical.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/paging/paging_virtual.h"
#include "vidmm/residency/budget.h"
#include "vidmm/residency/compaction.h"
#include "vidmm/residency/move.h"
#include "vidmm/residency/offer.h"
#include "vidmm/residency/residency.h"
#include "vidmm/tables/address_space.h"
#include "vidmm/tables/auxiliary_mmu.h"
#include "vidmm/tables/companion.h"
#include "vidmm/tables/idle_updates.h"
#include "vidmm/tables/null_context.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/page_tree.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/tables/physical_entries.h"
#include "vidmm/tables/root_change.h"
#include "vidmm/tables/segment_tables.h"
#include "vidmm/tables/table_burial.h"
#include "vidmm/tables/table_eviction.h"
#include "vidmm/tables/table_fallback.h"
#include "vidmm/tables/table_memory.h"
#include "vidmm/tables/table_move.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/context_allocation.h"
#include "vidmm/work/device.h"
#include "vidmm/work/render.h"
#include "vidmm/work/space_contexts.h"
#include "vidmm/work/submission.h"
#include "vidmm/vidmm.h"
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
#define RIG_BLOCKS        512
#define RIG_POISON        UINT64_C(0xdeadbeefdeadbeef)
#define RIG_TABLE_OWNER   UINT32_MAX /* pins of page tables */
#define RIG_PROGRAM_STEPS 16

/* What the fake hardware and driver are like. Zero is a plain one. */
struct rig_config {
    bool is_virtual;
    DXGK_PAGETABLEUPDATEMODE mode;
    unsigned memory_segments;             /* 0: 1 */
    uint64_t segment_pages[RIG_SEGMENTS]; /* 0: 256 */
    bool hides_segment[RIG_SEGMENTS];     /* not CpuVisible */
    bool has_pitch[RIG_SEGMENTS];         /* PitchAlignment */
    uint64_t aperture_pages;              /* 0: 64 */
    bool has_two_apertures;               /* of that size: the last two segments */
    uint64_t aperture_limit_pages;        /* its CommitLimit; 0: all of it */
    uint64_t all_apertures_limit_pages;   /* DXGK_DRIVERCAPS.ApertureSegmentCommitLimit; 0: none */
    bool is_coherent;                     /* the aperture */
    bool keeps_tables_in_system;          /* else in segment 1 */
    bool caches_invalid;                  /* no InvalidTlbEntriesNotCached */
    unsigned companion_node;              /* PagingCompanionNodeId of contexts */
    bool has_protections;                 /* ReadOnly, NoExecute, CacheCoherent */
    uint32_t private_bytes;               /* of a paging buffer */
    bool moves_private;                   /* one private range a record; else a shared one */
    uint32_t buffer_bytes;                /* of a paging buffer, config; 0: 4096 */
    unsigned buffer_count;                /* 0: the manager's choice */
    bool is_busy_once;                    /* TRANSFER and DISCARD are BUSY before they are idle */
    bool skips_discards;                  /* DISCARD writes nothing */
    bool completes_at_once;               /* packets run inside SubmitCommand */
    bool skips_patch;                     /* vidmm_config.skips_patch_for_paging */
    bool pages_through_aperture;          /* PagingBufferSegmentId; physical model */
    bool hides_address;                   /* vidmm_config.hides_buffer_address; one buffer */
    bool initialises_in_pieces;           /* vidmm_config.initialises_in_pieces */
    bool pages_in_patched_only;           /* vidmm_config.pages_in_patched_only */
    bool pins_anywhere;                   /* vidmm_config.pins_anywhere */
    uint64_t system_pages;                /* 0: 8192 */
    uint64_t scratch_bytes;               /* 0: one leaf table's worth */
    uint32_t dma_bytes;                   /* of a render buffer; 0: 512 */
    uint64_t seed;
};

struct rig_page {
    uint64_t content;
    uint32_t pins, packet_pins;
    uint32_t pin_owner;  /* allocation number */
    uint32_t owner;      /* whose page this is, 0: nobody's */
    uint32_t owner_page; /* which */
    uint32_t table;      /* index + 1 in tables */
    bool is_taken;       /* system pages: given out by the platform */
};

struct rig_table {
    bool is_initialised;
    unsigned initial_entries; /* written by InitialUpdate */
    unsigned level;
    HANDLE process;
    uint64_t first_va;
    DXGK_PTE *entries;
    uint64_t *protections;
};

/* hAllocation, and the handle of the device as well. */
struct rig_allocation {
    bool is_live;
    uint32_t number;
    uint64_t page_count;
    unsigned pending_operations;
    uint64_t next_transfer; /* pages, XFER-006 */
    bool is_cached;
    uint64_t *model; /* what each page must hold */
};

/* What a test asks DxgkDdiCreateAllocation for; it travels as private data. */
struct rig_request {
    uint64_t bytes;
    uint32_t alignment;
    uint32_t preferred[3];
    uint32_t write_set, read_set; /* 0: the segments preferred */
    uint32_t eviction_set;
    uint32_t priority; /* 0: normal */
    uint32_t flags;    /* further ones, in the shape of the model */
    uint64_t pitch_aligned_bytes;
    bool is_cpu_visible, is_cached, is_physical;
    bool has_no_handle, has_no_priority, has_odd_alignment;
    NTSTATUS refusal;
};

struct rig_operation {
    DXGKARG_BUILDPAGINGBUFFER args;
    DXGK_PTE *entries;
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
};

struct rig_program {
    struct list link; /* in programs, until the rig goes */
    HANDLE process;
    D3DGPU_PHYSICAL_ADDRESS root;
    unsigned count;
    struct rig_step steps[RIG_PROGRAM_STEPS];
};

struct rig_packet {
    struct list link;
    bool is_paging;
    uint32_t fence;
    const uint8_t *start, *end;
    struct rig_program *program;
    struct rig_page **pins;
    size_t pin_count;
    uint32_t operations[512]; /* whose records it ran */
    size_t operation_count;
};

struct rig_context {
    HANDLE process;
    unsigned node;
    bool is_system;
    bool is_live, has_root;
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
    uint32_t allocation_count; /* ever */
    uint64_t live_handles, live_contexts, live_devices, live_processes;
    struct rig_context *system_context;
    struct list queued[2];   /* packets with the GPU, by node */
    struct list reported[2]; /* executed, interrupt raised, DPC not yet */
    struct list programs;
    struct vidmm_process *process;
    struct vidmm_device *device;
    struct vidmm_context *context;

    const char *expected_rules; /* driver_error may say these */
    unsigned rule_count;        /* how often it did */
    unsigned initial_updates;   /* accepted calls */
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
    uint64_t trace[64];       /* the last operations, for directed tests */
    unsigned trace_count;
    void *test; /* the test's own */
};

/* The command that repeats a failing run; set by random tests. */
static char rig_repeat[128];

static inline void rig_expect_at(bool holds, const char *text, const char *file, int line)
{
    if (!holds && rig_repeat[0])
        print_error("repeat: %s\n", rig_repeat);
    _assert_true(holds, text, file, line);
}
#define EXPECT(expression) rig_expect_at((expression), #expression, __FILE__, __LINE__)

static inline struct rig *rig_of(struct miniport *self)
{
    return (struct rig *)self;
}

/* ---- Pages ----------------------------------------------------------------------------------- */

static inline bool rig_is_aperture(const struct rig *rig, unsigned segment)
{
    return segment == rig->segment_count ||
           (rig->config.has_two_apertures && segment + 1 == rig->segment_count);
}

/* In the arrays of slots, those of the last segment first. */
static inline uint64_t rig_slot(const struct rig *rig, unsigned segment, uint64_t page)
{
    return page + (rig->segment_count - segment) * rig->config.aperture_pages;
}

static inline uint64_t rig_segment_base(unsigned segment)
{
    return (uint64_t)segment << 40;
}

static inline uint64_t rig_segment_window(unsigned segment)
{
    return (uint64_t)(segment + 0x10) << 40;
}

/* Segment 0: a system page that the platform has given out. */
static inline struct rig_page *rig_page(struct rig *rig, unsigned segment, uint64_t page)
{
    EXPECT(segment <= rig->segment_count && !(segment && rig_is_aperture(rig, segment)));
    if (segment) {
        EXPECT(page < rig->segment_pages[segment - 1]);
        return &rig->segments[segment - 1][page];
    }
    EXPECT(page >= RIG_FIRST_PAGE && page - RIG_FIRST_PAGE < rig->config.system_pages);
    EXPECT(rig->system[page - RIG_FIRST_PAGE].is_taken);
    return &rig->system[page - RIG_FIRST_PAGE];
}

static inline struct rig_page *rig_page_at(struct rig *rig, uint64_t address)
{
    unsigned segment = (unsigned)(address >> 40);

    if (segment >= 0x10)
        return rig_page(rig, segment - 0x10, (address & (TiB - 1)) / PAGE_BYTES);
    return rig_page(rig, 0, address / PAGE_BYTES);
}

/* A page may be handed to this allocation: no unfinished work belongs to another one. */
static inline void rig_check_free_for(const struct rig_page *page, uint32_t owner)
{
    EXPECT(!page->pins || page->pin_owner == owner);
    EXPECT(!page->packet_pins || page->owner == owner);
}

static inline void rig_pin(struct rig_operation *operation, struct rig_page *page, uint32_t owner)
{
    rig_check_free_for(page, owner);
    if (operation->pin_count == operation->pin_capacity) {
        operation->pin_capacity = operation->pin_capacity * 2 + 16;
        operation->pins =
            realloc(operation->pins, operation->pin_capacity * sizeof *operation->pins);
        EXPECT(operation->pins);
    }
    operation->pins[operation->pin_count++] = page;
    page->pins++;
    page->pin_owner = owner;
}

/* ---- Platform -------------------------------------------------------------------------------- */

static inline bool rig_page_call_fails(struct rig *rig)
{
    return rig->fail_pages_at && --rig->fail_pages_at == 0;
}

static inline NTSTATUS rig_take_pages(void *context, uint64_t count, uint64_t *out_pages)
{
    struct rig *rig = context;

    if (rig_page_call_fails(rig) ||
        count > rig->system_free_count + rig->config.system_pages - rig->system_next)
        return STATUS_NO_MEMORY;
    for (uint64_t i = 0; i < count; i++) {
        struct rig_page *page;
        uint64_t index;

        if (rig->system_free_count)
            index = rig->system_free[--rig->system_free_count];
        else
            index = rig->system_next++ ^ 1; /* never contiguous */
        page = &rig->system[index];
        EXPECT(!page->is_taken && !page->pins && !page->packet_pins);
        page->is_taken = true;
        page->content = 0;
        page->owner = 0;
        page->table = 0;
        out_pages[i] = RIG_FIRST_PAGE + index;
    }
    rig->taken_pages += count;
    return STATUS_SUCCESS;
}

static inline void rig_release_pages(void *context, uint64_t count, const uint64_t *pages)
{
    struct rig *rig = context;

    for (uint64_t i = 0; i < count; i++) {
        struct rig_page *page = rig_page(rig, 0, pages[i]);

        EXPECT(!page->pins);
        EXPECT(!page->packet_pins);
        page->is_taken = false;
        page->content = RIG_POISON;
        page->owner = 0;
        rig->system_free[rig->system_free_count++] = pages[i] - RIG_FIRST_PAGE;
    }
    rig->taken_pages -= count;
}

static inline NTSTATUS rig_take_contiguous(void *context, uint64_t count, uint64_t *out_first_page)
{
    struct rig *rig = context;

    if (rig_page_call_fails(rig))
        return STATUS_NO_MEMORY;
    for (unsigned i = 0; i < RIG_BLOCKS; i++) {
        struct rig_block *block = &rig->blocks[i];

        if (block->memory)
            continue;
        block->memory = calloc(count, PAGE_BYTES);
        EXPECT(block->memory);
        block->first_page = RIG_FIRST_BLOCK + i * UINT64_C(0x1000);
        block->page_count = count;
        rig->taken_blocks++;
        *out_first_page = block->first_page;
        return STATUS_SUCCESS;
    }
    return STATUS_NO_MEMORY;
}

static inline void rig_release_contiguous(void *context, uint64_t count, uint64_t first_page)
{
    struct rig *rig = context;
    struct rig_block *block = &rig->blocks[(first_page - RIG_FIRST_BLOCK) / 0x1000];

    EXPECT(block->memory && block->first_page == first_page && block->page_count == count);
    for (unsigned node = 0; node < 2; node++) {
        struct rig_packet *packet;

        list_for_each (packet, &rig->queued[node], struct rig_packet, link)
            EXPECT(packet->start < block->memory ||
                   packet->start >= block->memory + count * PAGE_BYTES);
    }
    free(block->memory);
    block->memory = NULL;
    rig->taken_blocks--;
}

/* A page table for the CPU: the pointer leads to what it names. */
struct rig_cpu_table {
    struct rig_page *page;
};

static inline void *rig_map_pages(void *context, uint64_t count, const uint64_t *pages)
{
    struct rig *rig = context;
    struct rig_cpu_table *table;

    EXPECT(count == 1);
    if (rig_page_call_fails(rig))
        return NULL;
    table = malloc(sizeof *table);
    EXPECT(table);
    table->page = rig_page(rig, 0, pages[0]);
    rig->mapped_ranges++;
    return table;
}

static inline void rig_unmap_pages(void *context, void *address, uint64_t count)
{
    struct rig *rig = context;

    EXPECT(count == 1 && rig->mapped_ranges);
    rig->mapped_ranges--;
    free(address);
}

static inline struct rig_block *rig_block_at(struct rig *rig, uint64_t address)
{
    uint64_t page = address / PAGE_BYTES;
    struct rig_block *block;

    EXPECT(page >= RIG_FIRST_BLOCK && (page - RIG_FIRST_BLOCK) / 0x1000 < RIG_BLOCKS);
    block = &rig->blocks[(page - RIG_FIRST_BLOCK) / 0x1000];
    EXPECT(block->memory && page - block->first_page < block->page_count);
    return block;
}

/*
 * What the GPU finds at an address of a segment: a slot shows the block's first page, or 0 it is.
 */
static inline struct rig_block *rig_block_behind(struct rig *rig, unsigned segment,
                                                 uint64_t address)
{
    uint64_t slot;

    EXPECT(segment == (rig->config.pages_through_aperture ? rig->segment_count : 0));
    if (!segment)
        return rig_block_at(rig, address);
    slot = rig_slot(rig, segment, (address - rig_segment_base(segment)) / PAGE_BYTES);
    EXPECT(rig->slots[slot]);
    return rig_block_at(rig, PAGE_BYTES_OF(rig->slots[slot] - 1));
}

/* A paging buffer, which has no allocation, is mapped when the call returns. */
static inline bool rig_maps_buffer(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const uint64_t *pages = (const uint64_t *)(args->MapApertureSegment.pMdl + 1);

    if (args->Operation != DXGK_OPERATION_MAP_APERTURE_SEGMENT ||
        args->MapApertureSegment.hAllocation)
        return false;
    EXPECT(rig->config.pages_through_aperture && args->pDmaBuffer &&
           args->MapApertureSegment.SegmentId == rig->segment_count);
    for (uint64_t i = 0; i < args->MapApertureSegment.NumberOfPages; i++)
        rig->slots[rig_slot(rig, rig->segment_count, args->MapApertureSegment.OffsetInPages + i)] =
            pages[args->MapApertureSegment.MdlOffset + i] + 1;
    return true;
}

static inline void *rig_map_bus(void *context, uint64_t address, uint64_t bytes)
{
    struct rig *rig = context;

    if (rig_page_call_fails(rig))
        return NULL;
    rig->mapped_ranges++;
    if (address >= rig_segment_window(0)) {
        struct rig_cpu_table *table = malloc(sizeof *table);

        EXPECT(table && bytes == PAGE_BYTES);
        EXPECT(!rig->config.hides_segment[(address >> 40) - 0x11]);
        table->page = rig_page_at(rig, address);
        return table;
    }
    return rig_block_at(rig, address)->memory +
           (address - PAGE_BYTES * rig_block_at(rig, address)->first_page);
}

static inline void rig_unmap_bus(void *context, void *address, uint64_t bytes)
{
    struct rig *rig = context;

    EXPECT(rig->mapped_ranges);
    rig->mapped_ranges--;
    for (unsigned i = 0; i < RIG_BLOCKS; i++) {
        struct rig_block *block = &rig->blocks[i];

        if (block->memory && (uint8_t *)address >= block->memory &&
            (uint8_t *)address < block->memory + block->page_count * PAGE_BYTES)
            return;
    }
    free(address);
}

#endif
