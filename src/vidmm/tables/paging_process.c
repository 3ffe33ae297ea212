/*
 * Paging process: the system process that paging operations run in (GpuMmu).
 *
 * Its address space has a fixed layout (PT-043), by powers of two of the addresses that the GPU
 * translates:
 *
 *     va_size / 16  monitored fences
 *     va_size / 8   paging buffers, one behind the other with a free page between, if they have
 *                   addresses
 *     va_size / 4   scratch: pages for VIRTUAL_TRANSFER and VIRTUAL_FILL, used in turn
 *     va_size / 2   window: page tables of all processes, a page each (GPU_VIRTUAL only)
 *
 * Its tables are pinned and written by the CPU when they are created, without a buffer, whatever
 * the driver's update mode (PT-020, PB-026). Afterwards scratch and window entries are written like
 * all others; for GPU_VIRTUAL that is possible because its leaf tables are themselves in the
 * window.
 *
 * The window grows while tables and allocations, which leave again, lie around. Tables that it
 * grows by are made at the end of their segment, so that they do not cut up what is free there.
 *
 * Source     contract.md PT-020, PT-043, VX-001; sequence S-02.
 */
#include "vidmm/tables/paging_process.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/views/aperture.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/paging/monitored_fence.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/page_tree.h"
#include "vidmm/tables/table_memory.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/range_allocator.h"
#include "base/services.h"

#define CHUNK_BYTES (32 * MiB)

/* Where leaf tables are small, scratch is no reason to have thousands of them. */
#define SCRATCH_LEAVES 128

/*
 * With a root that can be of any size, addresses up to here are enough: a root never moves later.
 */
#define RESIZABLE_VA_BITS 36

static uint64_t buffer_stride(const struct vidmm *vidmm)
{
    return align_up(vidmm->caps.paging_buffer_bytes, PAGE_BYTES) + PAGE_BYTES;
}

static void clear_args(DXGKARG_BUILDPAGINGBUFFER *args)
{
    static const DXGKARG_BUILDPAGINGBUFFER empty;

    *args = empty;
}

/* Until end_bootstrap() the CPU writes the tables, at once. */
static bool begin_bootstrap(struct vidmm *vidmm)
{
    bool was_ready = vidmm->paging.is_ready;

    vidmm->paging.is_ready = false;
    return was_ready;
}

static void end_bootstrap(struct vidmm *vidmm, bool was_ready)
{
    vidmm->paging.is_ready = was_ready;
}

/* Links the tables of a list into their parents, children first; they leave it. */
static void link_tables(struct vidmm *vidmm, struct list *tables)
{
    struct address_space *space = &vidmm->paging.space;
    DXGKARG_BUILDPAGINGBUFFER args;
    struct list *link;

    while ((link = list_pop_back(tables)) != NULL) {
        struct page_table *table = container_of(link, struct page_table, fresh);

        if (!table->parent)
            continue;
        clear_args(&args);
        page_table_op_link(space, table, &args);
        paging_queue_build_now(vidmm, &args);
    }
}

/* Creates, initialises and links the tables for a range, leaf first, root last. */
static NTSTATUS build_tables(struct vidmm *vidmm, uint64_t va, uint64_t bytes, unsigned kinds)
{
    struct address_space *space = &vidmm->paging.space;
    DXGKARG_BUILDPAGINGBUFFER args;
    struct list fresh;
    struct list *link;
    NTSTATUS status;
    bool was_ready;

    list_init(&fresh);
    status = page_tables_prepare(space, va, bytes, kinds, &fresh);
    if (!NT_SUCCESS(status))
        return status;
    was_ready = begin_bootstrap(vidmm);
    for (link = fresh.next; link != &fresh; link = link->next) {
        clear_args(&args);
        page_table_op_initialise(space, container_of(link, struct page_table, fresh), &args);
        paging_queue_build_now(vidmm, &args);
    }
    link_tables(vidmm, &fresh);
    end_bootstrap(vidmm, was_ready);
    return STATUS_SUCCESS;
}

/* ---- Window ---------------------------------------------------------------------------------- */

static NTSTATUS reserve_stack(struct vidmm *vidmm, struct window_stack *stack)
{
    uint32_t capacity = stack->capacity ? 2 * stack->capacity : 256;
    uint32_t *slots;
    uint32_t i;

    if (stack->given < stack->capacity)
        return STATUS_SUCCESS;
    slots = base_alloc_array(vidmm->services, capacity, sizeof *slots);
    if (!slots)
        return STATUS_NO_MEMORY;
    for (i = 0; i < stack->count; i++)
        slots[i] = stack->slots[i];
    base_free_array(vidmm->services, stack->slots, stack->capacity, sizeof *slots);
    stack->slots = slots;
    stack->capacity = capacity;
    return STATUS_SUCCESS;
}

/* Slots are taken in powers of two, at multiples of their number. */
static uint64_t slot_room(uint64_t page_count)
{
    return UINT64_C(1) << log2_ceil_u64(page_count);
}

static struct window_stack *stack_of(struct paging_process *process, uint64_t page_count)
{
    return &process->window_stacks[log2_ceil_u64(page_count)];
}

static void show_now(struct vidmm *vidmm, struct page_table *table)
{
    DXGKARG_BUILDPAGINGBUFFER args;
    bool was_ready;

    if (!table->memory.window_slot)
        return;
    was_ready = begin_bootstrap(vidmm);
    clear_args(&args);
    page_table_op_show(&vidmm->paging.space, table, &args);
    paging_queue_build_now(vidmm, &args);
    end_bootstrap(vidmm, was_ready);
}

/* Makes the leaf of the window for slots never used so far, and moves it into the window itself. */
static NTSTATUS extend_window(struct vidmm *vidmm)
{
    struct paging_process *process = &vidmm->paging;
    uint64_t va = paging_process_slot_va(process, process->window_next);
    struct page_table *leaf;
    uint64_t room;
    NTSTATUS status = build_tables(vidmm, va, PAGE_BYTES, LEAVES_4K);

    if (!NT_SUCCESS(status))
        return status;
    leaf = page_table_find(&process->space, va);
    room = slot_room(table_memory_slot_pages(&leaf->memory));
    leaf->memory.window_slot = (uint32_t)align_up(process->window_next, room);
    process->window_next = leaf->memory.window_slot + (uint32_t)room;
    show_now(vidmm, leaf);
    return STATUS_SUCCESS;
}

NTSTATUS paging_process_take_slot(struct vidmm *vidmm, uint64_t page_count, uint32_t *out_slot,
                                  bool *out_is_used)
{
    struct paging_process *process = &vidmm->paging;
    uint64_t room = slot_room(page_count);
    struct window_stack *stack = stack_of(process, page_count);
    NTSTATUS status;

    *out_slot = 0;
    if (room > page_table_entries(vidmm, 0) / 2)
        return STATUS_NOT_SUPPORTED;
    *out_is_used = stack->count != 0;
    if (stack->count) {
        *out_slot = stack->slots[--stack->count];
        return STATUS_SUCCESS;
    }
    status = reserve_stack(vidmm, stack);
    if (!NT_SUCCESS(status))
        return status;
    process->window_next = (uint32_t)align_up(process->window_next, room);
    if (!page_table_find(&process->space, paging_process_slot_va(process, process->window_next))) {
        status = extend_window(vidmm);
        if (!NT_SUCCESS(status))
            return status;
        process->window_next = (uint32_t)align_up(process->window_next, room);
    }
    *out_slot = process->window_next;
    process->window_next += (uint32_t)room;
    stack->given++;
    return STATUS_SUCCESS;
}

void paging_process_release_slot(struct vidmm *vidmm, uint64_t page_count, uint32_t slot)
{
    struct window_stack *stack = stack_of(&vidmm->paging, page_count);

    ASSERT(stack->count < stack->given);
    stack->slots[stack->count++] = slot;
}

/* 64 KiB pages are seen through 64 KiB tables where those can stand beside the others (VX-007). */
static bool has_64k_scratch(const struct vidmm *vidmm)
{
    return vidmm->caps.has_64k_leaves && vidmm->caps.has_dual_pte;
}

static NTSTATUS show_leaf(struct vidmm *vidmm, struct page_table *table)
{
    NTSTATUS status =
        paging_process_take_slot(vidmm, table_memory_slot_pages(&table->memory),
                                 &table->memory.window_slot, &table->memory.slot_is_used);

    if (NT_SUCCESS(status))
        show_now(vidmm, table);
    return status;
}

/* Gives window slots to the leaf tables of a range, so that they can be written later. */
static NTSTATUS show_leaves(struct vidmm *vidmm, uint64_t va, uint64_t bytes)
{
    uint64_t leaf = page_table_coverage(vidmm, 1);
    uint64_t end = va + bytes;
    NTSTATUS status;

    for (va = align_down(va, leaf); va < end; va += leaf) {
        status = show_leaf(vidmm, page_table_find(&vidmm->paging.space, va));
        if (NT_SUCCESS(status) && has_64k_scratch(vidmm))
            status = show_leaf(vidmm, page_table_find_64k(&vidmm->paging.space, va));
        if (!NT_SUCCESS(status))
            return status;
    }
    return STATUS_SUCCESS;
}

/* ---- Scratch --------------------------------------------------------------------------------- */

/* Who asks for more than the default gets as many leaf tables as that takes, and long operations.
 */
static bool has_own_scratch(const struct vidmm *vidmm)
{
    return vidmm->config.scratch_bytes > VIDMM_DEFAULT_SCRATCH_BYTES;
}

uint64_t paging_process_chunk_pages(const struct vidmm *vidmm)
{
    uint64_t quarter = vidmm->paging.scratch_pages / 4;

    return has_own_scratch(vidmm) ? quarter : min_u64(quarter, CHUNK_BYTES / PAGE_BYTES);
}

/*
 * Nothing of scratch is in use, and its entries are as the last operations left them: what comes
 * next may be in the other kind of leaf table, behind an entry that would still translate.
 */
static void clear_scratch(struct vidmm *vidmm)
{
    struct paging_process *process = &vidmm->paging;

    for (unsigned is_64k = 0; is_64k < 2; is_64k++) {
        uint64_t done = 0;

        while (done < process->scratch_pages) {
            DXGKARG_BUILDPAGINGBUFFER args;

            clear_args(&args);
            done += page_table_op_unmap(&process->space, process->scratch_va + PAGE_BYTES_OF(done),
                                        process->scratch_pages - done, is_64k != 0, NULL, 0, &args);
            paging_queue_build_now(vidmm, &args);
        }
    }
}

static bool has_64k_segments(const struct vidmm *vidmm)
{
    for (unsigned i = 0; i < vidmm->caps.segment_count; i++)
        if (vidmm->segments[i].unit_pages == PAGES_64K)
            return true;
    return false;
}

/*
 * Pages of a segment of 64 KiB pages are seen at addresses that agree with theirs in the low 16
 * bits, whatever tables there are: the GPU's own page may be that large (PT-026).
 */
uint64_t paging_process_scratch_stride(const struct vidmm *vidmm, uint64_t pages)
{
    return has_64k_segments(vidmm) ? align_up(pages, PAGES_64K) : pages;
}

bool paging_process_take_scratch(struct vidmm *vidmm, uint64_t pages, uint64_t *out_va)
{
    struct paging_process *process = &vidmm->paging;

    ASSERT(pages <= process->scratch_pages);
    process->scratch_next = paging_process_scratch_stride(vidmm, process->scratch_next);
    if (process->scratch_next + pages > process->scratch_pages) {
        if (vidmm->caps.update_mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL &&
            !paging_queue_is_drained(vidmm))
            return false;
        if (vidmm->caps.update_mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL && has_64k_scratch(vidmm))
            clear_scratch(vidmm);
        process->scratch_next = 0;
    }
    *out_va = process->scratch_va + PAGE_BYTES_OF(process->scratch_next);
    process->scratch_next += pages;
    return true;
}

/* ---- Start and stop -------------------------------------------------------------------------- */

static NTSTATUS map_buffers(struct vidmm *vidmm)
{
    struct paging_process *process = &vidmm->paging;
    uint64_t page_count = div_round_up(vidmm->caps.paging_buffer_bytes, PAGE_BYTES);
    unsigned i;

    if (paging_queue_hides_buffers(vidmm))
        return STATUS_SUCCESS;
    for (i = 0; i < vidmm->queue.buffer_count; i++) {
        struct paging_buffer *buffer = &vidmm->queue.buffers[i];
        uint64_t done = 0;

        buffer->va = process->buffer_va + i * buffer_stride(vidmm);
        while (done < page_count) {
            DXGKARG_BUILDPAGINGBUFFER args;

            clear_args(&args);
            done += page_table_op_map_physical(&process->space, buffer->va + PAGE_BYTES_OF(done), 0,
                                               device_page(vidmm, buffer->first_page + done),
                                               page_count - done, 0, &args);
            paging_queue_build_now(vidmm, &args);
        }
    }
    return STATUS_SUCCESS;
}

NTSTATUS paging_process_set_root(struct vidmm *vidmm, HANDLE driver_context)
{
    struct paging_process *process = &vidmm->paging;
    DXGKARG_SETROOTPAGETABLE root = {0};

    root.hContext = driver_context;
    root.Address.SegmentId = process->space.root->memory.segment;
    root.Address.SegmentOffset =
        PAGE_BYTES_OF(table_memory_device_page(vidmm, &process->space.root->memory));
    root.NumEntries = (UINT)process->space.root->memory.entry_count;
    return miniport_set_root_page_table(vidmm->miniport, NULL, &root);
}

uint64_t paging_process_bytes(const struct vidmm *vidmm)
{
    const struct paging_process *process = &vidmm->paging;

    return page_tables_bytes(&process->space, vidmm->queue.buffer_count * buffer_stride(vidmm)) +
           page_tables_bytes(&process->space, PAGE_BYTES_OF(process->scratch_pages));
}

static uint64_t layout_bytes(const struct vidmm *vidmm)
{
    return UINT64_C(1) << (vidmm->caps.root_is_resizable
                               ? min_u64(vidmm->caps.va_bits, RESIZABLE_VA_BITS)
                               : vidmm->caps.va_bits);
}

uint64_t paging_process_layout_start(const struct vidmm *vidmm)
{
    return layout_bytes(vidmm) / 16;
}

/* The values of monitored fences: behind no flush, for the block never moves. */
static NTSTATUS map_fences(struct vidmm *vidmm)
{
    const uint64_t va = vidmm->paging.fence_va;
    uint64_t done = 0;
    NTSTATUS status;

    if (!vidmm->fences.cpu)
        return STATUS_SUCCESS;
    status = build_tables(vidmm, va, PAGE_BYTES_OF(MONITORED_FENCE_PAGES), LEAVES_4K);
    while (NT_SUCCESS(status) && done < MONITORED_FENCE_PAGES) {
        DXGKARG_BUILDPAGINGBUFFER args;

        clear_args(&args);
        done += page_table_op_map_physical(&vidmm->paging.space, va + PAGE_BYTES_OF(done), 0,
                                           device_page(vidmm, vidmm->fences.first_page + done),
                                           MONITORED_FENCE_PAGES - done, 0, &args);
        paging_queue_build_now(vidmm, &args);
    }
    return status;
}

/* Scheduling logs: behind the monitored fences, which they are like. */
static NTSTATUS map_logs(struct vidmm *vidmm)
{
    const struct scheduling_logs *logs = &vidmm->logs;
    const uint64_t va = paging_process_log_va(vidmm);
    uint64_t done = 0;
    NTSTATUS status;

    if (!logs->cpu)
        return STATUS_SUCCESS;
    status = build_tables(vidmm, va, PAGE_BYTES_OF(logs->page_count), LEAVES_4K);
    while (NT_SUCCESS(status) && done < logs->page_count) {
        DXGKARG_BUILDPAGINGBUFFER args;

        clear_args(&args);
        done += page_table_op_map_physical(&vidmm->paging.space, va + PAGE_BYTES_OF(done), 0,
                                           device_page(vidmm, logs->first_page + done),
                                           logs->page_count - done, 0, &args);
        paging_queue_build_now(vidmm, &args);
    }
    return status;
}

uint64_t paging_process_log_va(const struct vidmm *vidmm)
{
    return paging_process_layout_start(vidmm) + PAGE_BYTES_OF(MONITORED_FENCE_PAGES);
}

static uint64_t most_scratch(const struct vidmm *vidmm, uint64_t leaf)
{
    return has_own_scratch(vidmm) ? UINT64_MAX : SCRATCH_LEAVES * leaf;
}

NTSTATUS paging_process_init(struct vidmm *vidmm)
{
    struct paging_process *process = &vidmm->paging;
    uint64_t va_size = layout_bytes(vidmm);
    uint64_t leaf = page_table_coverage(vidmm, 1);
    NTSTATUS status;

    process->space.vidmm = vidmm;
    process->space.driver_process = vidmm->queue.driver_process;
    process->space.is_paging_process = true;
    process->va_end = va_size;
    process->fence_va = paging_process_layout_start(vidmm);
    process->buffer_va = va_size / 8;
    process->scratch_va = va_size / 4;
    process->window_va = va_size / 2;
    process->scratch_pages = align_up(min_u64(vidmm->config.scratch_bytes,
                                              min_u64(va_size / 8, most_scratch(vidmm, leaf))),
                                      leaf) /
                             PAGE_BYTES;

    status = STATUS_SUCCESS;
    if (!paging_queue_hides_buffers(vidmm))
        status = build_tables(vidmm, process->buffer_va,
                              vidmm->queue.buffer_count * buffer_stride(vidmm), LEAVES_4K);
    if (!NT_SUCCESS(status))
        return status;
    status = map_buffers(vidmm);
    if (!NT_SUCCESS(status))
        return status;
    status = monitored_fences_init(vidmm);
    if (!NT_SUCCESS(status))
        return status;
    status = map_fences(vidmm);
    if (NT_SUCCESS(status))
        status = map_logs(vidmm);
    if (!NT_SUCCESS(status))
        return status;
    status = build_tables(vidmm, process->scratch_va, PAGE_BYTES_OF(process->scratch_pages),
                          LEAVES_4K | (has_64k_scratch(vidmm) ? LEAVES_64K : 0));
    if (!NT_SUCCESS(status))
        return status;
    if (vidmm->caps.update_mode == DXGK_PAGETABLEUPDATE_GPU_VIRTUAL) {
        process->window_next = 1; /* slot 0 means none */
        status = show_leaves(vidmm, process->scratch_va, PAGE_BYTES_OF(process->scratch_pages));
        if (!NT_SUCCESS(status))
            return status;
    }
    process->is_ready = true;
    return paging_process_set_root(vidmm, vidmm->queue.driver_context);
}

NTSTATUS paging_process_rebuild(struct vidmm *vidmm)
{
    struct paging_process *process = &vidmm->paging;
    struct vidmm_process *other;
    DXGKARG_BUILDPAGINGBUFFER args;
    struct list tables, *link;
    bool was_ready = begin_bootstrap(vidmm);

    list_init(&tables);
    page_tables_collect(&process->space, &tables);
    for (link = tables.next; link != &tables; link = link->next) {
        clear_args(&args);
        page_table_op_initialise(&process->space, container_of(link, struct page_table, fresh),
                                 &args);
        paging_queue_build_now(vidmm, &args);
    }
    map_buffers(vidmm);
    map_fences(vidmm);
    map_logs(vidmm);
    for (link = tables.next; link != &tables; link = link->next)
        show_now(vidmm, container_of(link, struct page_table, fresh));
    link_tables(vidmm, &tables);
    list_for_each (other, &vidmm->processes, struct vidmm_process, link) {
        page_tables_collect(&other->space, &other->space.rebuilt);
        for (link = other->space.rebuilt.next; link != &other->space.rebuilt; link = link->next)
            show_now(vidmm, container_of(link, struct page_table, fresh));
    }
    process->scratch_next = 0;
    end_bootstrap(vidmm, was_ready);
    return paging_process_set_root(vidmm, vidmm->queue.driver_context);
}

void paging_process_fini(struct vidmm *vidmm)
{
    struct paging_process *process = &vidmm->paging;
    static const struct paging_process empty;
    unsigned i;

    range_allocator_fini(&process->reserved);
    process->has_reserved = false;
    if (!process->space.vidmm)
        return;
    page_tables_free(&process->space);
    for (i = 0; i < WINDOW_STACKS; i++)
        base_free_array(vidmm->services, process->window_stacks[i].slots,
                        process->window_stacks[i].capacity,
                        sizeof *process->window_stacks[i].slots);
    *process = empty;
}
