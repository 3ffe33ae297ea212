/*
 * Physical mappings: addresses of pages that the caller has chosen, whoever owns them.
 *
 * They own whole leaf tables' worth of address space, so that any pages within may be mapped and
 * unmapped in any order; entries do not follow when content of those pages moves. The entries
 * are recorded (physical_entries.c).
 *
 * Source     contract.md PT-013, PT-031; sequence S-13.
 */
#include "vidmm/adapter/pump.h"
#include "vidmm/mappings/entry_job.h"
#include "vidmm/mappings/mapping.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/residency/request.h"
#include "vidmm/tables/address_space.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/page_tree.h"
#include "vidmm/tables/physical_entries.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/bits.h"
#include "base/range_allocator.h"
#include "base/services.h"

struct physical_update {
    struct entry_job making;
    struct vidmm_process *process;
    uint64_t va, page_count;
    unsigned segment;
    uint64_t first_page;
    uint32_t protect;
    bool is_map;
    bool is_waiting; /* for room for its tables, or behind one that does */
    vidmm_done done;
    void *context;
};

/* Moves the cursor to the next page that has a table of physical mappings; false: there is none. */
static bool skip_to_physical(struct physical_update *update)
{
    struct address_space *space = &update->process->space;
    uint64_t leaf = page_table_coverage(space->vidmm, 1);

    while (update->making.job.cursor < update->page_count) {
        uint64_t va =
            max_u64(update->va + PAGE_BYTES_OF(update->making.job.cursor), space->ranges_start);
        struct page_table *table;
        struct range_info info;

        if (!range_allocator_range_at(&space->ranges, va, &info))
            break;
        /* A table that a later job will initialise holds nothing yet. */
        table = page_table_find(space, va);
        update->making.job.cursor = (va - update->va) / PAGE_BYTES;
        if (info.owner != OWNER_PHYSICAL)
            update->making.job.cursor = (info.offset + info.size - update->va) / PAGE_BYTES;
        else if (table && table->is_initialised)
            return update->making.job.cursor < update->page_count;
        else
            update->making.job.cursor = (align_down(va, leaf) + leaf - update->va) / PAGE_BYTES;
    }
    return false;
}

static bool next_entries(struct entry_job *making, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct physical_update *update = container_of(making, struct physical_update, making);
    struct job *job = &making->job;

    if (update->is_map && job->cursor < update->page_count) {
        job->cursor +=
            page_table_op_map_physical(making->space, update->va + PAGE_BYTES_OF(job->cursor),
                                       update->segment, update->first_page + job->cursor,
                                       update->page_count - job->cursor, update->protect, args);
        return true;
    }
    if (!update->is_map && skip_to_physical(update)) {
        job->cursor += page_table_op_unmap(making->space, update->va + PAGE_BYTES_OF(job->cursor),
                                           update->page_count - job->cursor, false, NULL, 0, args);
        return true;
    }
    return false;
}

static bool flush(struct entry_job *making, DXGKARG_BUILDPAGINGBUFFER *args)
{
    const struct physical_update *update = container_of(making, struct physical_update, making);

    if (!making->space->root)
        return false;
    page_table_op_flush(making->space, update->va, PAGE_BYTES_OF(update->page_count), args);
    return true;
}

static void physical_finished(struct job *job)
{
    struct physical_update *update = container_of(job, struct physical_update, making.job);
    vidmm_done done = update->done;
    void *context = update->context;

    base_free(update->process->vidmm->services, update, sizeof *update);
    if (done)
        done(context, STATUS_SUCCESS, 0, 0);
}

static const struct entry_job_ops physical_ops = {
    .job = {.name = "physical pages",
            .next = entry_job_next,
            .finished = physical_finished,
            .restarted = entry_job_restarted},
    .next_entries = next_entries,
    .flush = flush,
};

static NTSTATUS create_update(struct vidmm_process *process, uint64_t va, uint64_t page_count,
                              vidmm_done done, void *context, struct physical_update **out_update)
{
    struct vidmm *vidmm = process->vidmm;
    struct physical_update *update;
    uint64_t va_pages;

    *out_update = NULL;
    if (!vidmm->caps.has_page_tables)
        return STATUS_NOT_SUPPORTED;
    va_pages = UINT64_C(1) << (vidmm->caps.va_bits - PAGE_SHIFT_BITS);
    if (!page_count || !is_aligned(va, PAGE_BYTES) || va / PAGE_BYTES >= va_pages ||
        page_count > va_pages - va / PAGE_BYTES)
        return STATUS_INVALID_PARAMETER;
    update = base_alloc(vidmm->services, sizeof *update);
    if (!update)
        return STATUS_NO_MEMORY;
    update->process = process;
    update->va = va;
    update->page_count = page_count;
    update->done = done;
    update->context = context;
    entry_job_init(&update->making, &process->space, &physical_ops);
    *out_update = update;
    return STATUS_SUCCESS;
}

/*
 * Makes every leaf table's range in [va, va + bytes) physical. Nothing is taken when a part is in
 * use; when memory runs out, ranges taken so far stay taken, for the next attempt.
 */
static NTSTATUS claim_leaves(struct address_space *space, uint64_t va, uint64_t bytes)
{
    uint64_t leaf = page_table_coverage(space->vidmm, 1);
    uint64_t start = align_down(va, leaf);
    uint64_t end = va + bytes;
    bool is_claim;

    for (is_claim = false;; is_claim = true) {
        for (va = start; va < end; va += leaf) {
            uint64_t first = max_u64(va, space->ranges_start);
            struct range_info info;
            NTSTATUS status;

            if (!range_allocator_range_at(&space->ranges, first, &info))
                return STATUS_INVALID_PARAMETER;
            if (!info.is_free && info.owner == OWNER_PHYSICAL)
                continue;
            if (!info.is_free || info.offset + info.size < va + leaf)
                return STATUS_RESOURCE_IN_USE;
            if (!is_claim)
                continue;
            status = range_result(
                range_allocator_take_at(&space->ranges, first, va + leaf - first, OWNER_PHYSICAL));
            if (!NT_SUCCESS(status))
                return status;
        }
        if (is_claim)
            return STATUS_SUCCESS;
    }
}

static NTSTATUS make_physical_tables(struct physical_update *update)
{
    struct address_space *space = &update->process->space;
    NTSTATUS status = page_tables_prepare(space, update->va, PAGE_BYTES_OF(update->page_count),
                                          LEAVES_4K, &update->making.fresh);

    if (!NT_SUCCESS(status))
        return status;
    status = physical_entries_make(space, update->va, PAGE_BYTES_OF(update->page_count));
    if (!NT_SUCCESS(status)) {
        page_tables_abandon(space, &update->making.fresh);
        return status;
    }
    physical_entries_set(space, update->va, update->segment, update->first_page, update->page_count,
                         update->protect);
    return STATUS_SUCCESS;
}

static void end_wait(struct physical_update *update)
{
    update->process->space.waiting_updates -= update->is_waiting;
    update->is_waiting = false;
}

static NTSTATUS make_physical(void *subject)
{
    struct physical_update *update = subject;
    struct address_space *space = &update->process->space;
    NTSTATUS status = STATUS_SUCCESS;

    if (update->is_map)
        status = make_physical_tables(update);
    else
        physical_entries_clear(space, update->va, update->page_count);
    if (!NT_SUCCESS(status))
        return status;
    end_wait(update);
    paging_queue_add(space->vidmm, &update->making.job);
    return STATUS_SUCCESS;
}

static void physical_failed(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct physical_update *update = context;
    vidmm_done done = update->done;
    void *done_context = update->context;

    end_wait(update);
    base_free(update->process->vidmm->services, update, sizeof *update);
    if (done)
        done(done_context, status, needed, available);
}

/* The last one counts, so none overtakes another one of the process that waits for room. */
static NTSTATUS queue_physical(struct physical_update *update)
{
    struct address_space *space = &update->process->space;
    uint64_t bytes = update->is_map ? PAGE_BYTES_OF(update->page_count) : 0;
    NTSTATUS status = STATUS_GRAPHICS_NO_VIDEO_MEMORY;
    struct request *request;

    if (!space->waiting_updates)
        status = make_physical(update);
    if (status != STATUS_GRAPHICS_NO_VIDEO_MEMORY)
        return status;
    status = request_create_for_tables(space->vidmm, bytes ? page_tables_bytes(space, bytes) : 0,
                                       make_physical, physical_failed, update, &request);
    if (!NT_SUCCESS(status))
        return status;
    update->is_waiting = true;
    space->waiting_updates++;
    request_queue(request);
    return STATUS_SUCCESS;
}

/* A leaf table's worth of addresses that the manager maps its own page in: that of fences. */
static bool touches_own(const struct vidmm_process *process, uint64_t va, uint64_t bytes)
{
    const uint64_t own = process->queue_fences.va;

    return own && va < own + page_table_coverage(process->vidmm, 1) && own < va + bytes;
}

NTSTATUS mapping_map_physical(struct vidmm_process *process, uint64_t va, unsigned segment,
                              uint64_t first_page, uint64_t page_count, uint32_t protect,
                              vidmm_done done, void *context)
{
    struct vidmm *vidmm = process->vidmm;
    struct physical_update *update;
    NTSTATUS status;

    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    if (segment > vidmm->caps.segment_count)
        return STATUS_INVALID_PARAMETER;
    if (protect & VIDMM_PROTECT_ZERO) {
        if (segment || first_page)
            return STATUS_INVALID_PARAMETER;
        if (!vidmm->caps.has_zero)
            return STATUS_NOT_SUPPORTED;
    }
    if (segment && (vidmm->segments[segment - 1].kind != SEGMENT_PAGES ||
                    first_page > vidmm->segments[segment - 1].caps->size / PAGE_BYTES ||
                    page_count > vidmm->segments[segment - 1].caps->size / PAGE_BYTES - first_page))
        return STATUS_INVALID_PARAMETER;
    status = create_update(process, va, page_count, done, context, &update);
    if (!NT_SUCCESS(status))
        return status;
    status = STATUS_INVALID_PARAMETER;
    if (va < process->space.ranges_start ||
        mapping_touches_privileged(&process->space, va, PAGE_BYTES_OF(page_count)))
        goto free_update;
    update->is_map = true;
    update->segment = segment;
    update->first_page = first_page;
    update->protect = protect;
    status = claim_leaves(&process->space, va, PAGE_BYTES_OF(page_count));
    if (!NT_SUCCESS(status))
        goto free_update;
    status = queue_physical(update);
    if (!NT_SUCCESS(status))
        goto free_update;
    vidmm_pump(vidmm);
    return STATUS_SUCCESS;

free_update:
    base_free(vidmm->services, update, sizeof *update);
    return status;
}

NTSTATUS vidmm_map_physical(struct vidmm_process *process, uint64_t va, unsigned segment,
                            uint64_t first_page, uint64_t page_count, uint32_t protect,
                            vidmm_done done, void *context)
{
    if (touches_own(process, va, PAGE_BYTES_OF(page_count)))
        return STATUS_RESOURCE_IN_USE;
    return mapping_map_physical(process, va, segment, first_page, page_count, protect, done,
                                context);
}

NTSTATUS vidmm_unmap_physical(struct vidmm_process *process, uint64_t va, uint64_t bytes,
                              vidmm_done done, void *context)
{
    struct physical_update *update;
    NTSTATUS status;

    if (!is_aligned(bytes, PAGE_BYTES))
        return STATUS_INVALID_PARAMETER;
    if (touches_own(process, va, bytes))
        return STATUS_RESOURCE_IN_USE;
    status = create_update(process, va, bytes / PAGE_BYTES, done, context, &update);
    if (!NT_SUCCESS(status))
        return status;
    status = queue_physical(update);
    if (!NT_SUCCESS(status)) {
        base_free(process->vidmm->services, update, sizeof *update);
        return status;
    }
    vidmm_pump(process->vidmm);
    return STATUS_SUCCESS;
}
