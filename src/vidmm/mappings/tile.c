/*
 * Tiles: pages of a pool at addresses that change in the order of the GPU's work.
 *
 * Model  Every 64 KiB of a tiled range that show something are a mapping of their own, so that the
 *        tiles follow their pool as all mappings do. The whole pool has one more mapping, which
 *        nobody else knows: its privileged one. An update is carried out by a job that copies
 *        entries from there (or, for a copy, from the other tiles) by COPY_PAGE_TABLE_ENTRIES.
 *        Which pool a tile belongs to changes when that operation is generated: jobs run in order,
 *        so no move of a pool comes between.
 *
 *        The job runs on the companion of the context (companion.c), whose node is the driver's
 *        choice. Updates are carried out one at a time, first come first, when everything that was
 *        submitted before the update was asked for has retired.
 *
 * Source contract.md CPTE-001..007, PT-019; sequence S-25.
 */
#include "vidmm/mappings/tile.h"

#include "vidmm/adapter/pump.h"
#include "vidmm/mappings/gpu_va.h"
#include "vidmm/mappings/mapping.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/work/companion.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"

#define MAX_QUEUED_UPDATES 128 /* of one context (CPTE-006) */

enum phase {
    PHASE_TURN,
    PHASE_ENTRIES,
    PHASE_INVALID,
    PHASE_FLUSH,
    PHASE_END,
};

/* One of the current operation. */
struct tile {
    struct mapping *mapping;       /* NULL: nothing is there, and nothing will be */
    struct vidmm_allocation *pool; /* the pool that the tile will show; NULL: the tile goes */
    uint64_t first_page;
    uint64_t source_va; /* where these pages' entries are now */
    struct vidmm_allocation
        *held; /* the pool that the tile showed; it stays until the job has ended */
    uint64_t held_page;
};

struct tile_update {
    struct job job;
    struct vidmm_context *context;
    struct vidmm_process *process;
    uint64_t behind; /* submissions up to this one have retired */
    struct vidmm_tile_operation *operations;
    unsigned count, at;
    bool is_prepared; /* mappings of the current operation were made */
    bool is_queued;   /* its job */
    struct tile *tiles;
    DXGK_BUILDPAGINGBUFFER_COPY_RANGE *ranges;
    uint64_t capacity; /* of tiles and ranges */
    uint64_t tile_count;
    vidmm_done done;
    void *done_context;
    struct list link;
};

static uint64_t tile_bytes(uint64_t tiles)
{
    return tiles * VIDMM_TILE_BYTES;
}

/* Tables have addresses that the copying buffer can use, and may change under the GPU. */
static bool can_copy(const struct vidmm *vidmm)
{
    return vidmm->caps.update_mode == DXGK_PAGETABLEUPDATE_GPU_VIRTUAL &&
           !vidmm->caps.update_requires_idle;
}

/* ---- The job --------------------------------------------------------------------------------- */

static struct tile_update *job_update(struct job *job)
{
    return container_of(job, struct tile_update, job);
}

static void turn_to_pools(struct tile_update *update)
{
    for (uint64_t i = 0; i < update->tile_count; i++) {
        struct tile *tile = &update->tiles[i];

        if (!tile->mapping)
            continue;
        if (!tile->pool) {
            tile->mapping->is_live = false;
            continue;
        }
        if (notes_are_heard(tile->pool->vidmm))
            note_mapping(tile->mapping, false);
        list_remove(&tile->mapping->allocation_link);
        tile->mapping->allocation = tile->pool;
        tile->mapping->first_page = tile->first_page;
        list_push_back(&tile->pool->mappings, &tile->mapping->allocation_link);
        if (notes_are_heard(tile->pool->vidmm))
            note_mapping(tile->mapping, true);
    }
}

/* Ranges stay within their tables: small ones do not fill the pages that they lie in. */
static bool continues(const struct vidmm *vidmm, const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range,
                      const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *next)
{
    uint64_t entries = page_table_entries(vidmm, 0);

    return next->SrcStartPteIndex % entries && next->DstStartPteIndex % entries &&
           range->SrcPageTableAddress == next->SrcPageTableAddress &&
           range->DstPageTableAddress == next->DstPageTableAddress &&
           range->SrcStartPteIndex + range->NumPageTableEntries == next->SrcStartPteIndex &&
           range->DstStartPteIndex + range->NumPageTableEntries == next->DstStartPteIndex;
}

/* False: there is nothing to copy. A tile never crosses the end of a table. */
static bool op_copy(struct tile_update *update, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct address_space *space = &update->process->space;
    UINT count = 0;

    for (uint64_t i = 0; i < update->tile_count; i++) {
        const struct tile *tile = &update->tiles[i];
        DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range = &update->ranges[count];

        if (!tile->mapping || !tile->pool)
            continue;
        range->NumPageTableEntries = PAGES_64K;
        page_table_entry_address(space, tile->source_va, &range->SrcPageTableAddress,
                                 &range->SrcStartPteIndex);
        page_table_entry_address(space, tile->mapping->va, &range->DstPageTableAddress,
                                 &range->DstStartPteIndex);
        if (count && continues(space->vidmm, range - 1, range))
            range[-1].NumPageTableEntries += PAGES_64K;
        else
            count++;
    }
    args->Operation = DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES;
    args->CopyPageTableEntries.NumRanges = count;
    args->CopyPageTableEntries.pRanges = update->ranges;
    return count > 0;
}

/* CPTE-005: the same by UPDATE_PAGE_TABLE. Invalid entries name the allocation that they led to. */
static void op_write(struct tile_update *update, const struct tile *tile,
                     DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct address_space *space = &update->process->space;

    if (tile->pool->entries_valid)
        page_table_op_map(space, tile->mapping->va,
                          &(struct mapped_pages){.allocation = tile->pool,
                                                 .first_page = tile->first_page,
                                                 .page_count = PAGES_64K,
                                                 .from_backing = tile->pool->place.segment->kind !=
                                                                 SEGMENT_PAGES},
                          args);
    else
        page_table_op_unmap(space, tile->mapping->va, PAGES_64K, false, tile->held->driver_handle,
                            tile->held_page, args);
}

static enum job_step update_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct tile_update *update = job_update(job);
    struct address_space *space = &update->process->space;
    const struct vidmm_tile_operation *operation = &update->operations[update->at];

    for (;;) {
        const struct tile *tile = &update->tiles[job->cursor];

        switch ((enum phase)job->phase) {
        case PHASE_TURN:
            turn_to_pools(update);
            job->phase = PHASE_ENTRIES;
            break;
        case PHASE_ENTRIES:
            if (can_copy(space->vidmm)) {
                job->phase = PHASE_INVALID;
                if (op_copy(update, args))
                    return JOB_OPERATION;
            } else if (job->cursor == update->tile_count) {
                job->phase = PHASE_INVALID;
                job->cursor = 0;
            } else {
                job->cursor++;
                if (!tile->mapping || !tile->pool)
                    break;
                op_write(update, tile, args);
                return JOB_OPERATION;
            }
            break;
        case PHASE_INVALID:
            if (job->cursor == update->tile_count) {
                job->phase = PHASE_FLUSH;
                break;
            }
            job->cursor++;
            if (!tile->mapping || tile->pool)
                break;
            page_table_op_unmap(space, tile->mapping->va, PAGES_64K, false,
                                tile->mapping->allocation->driver_handle, tile->mapping->first_page,
                                args);
            return JOB_OPERATION;
        case PHASE_FLUSH:
            job->phase = PHASE_END;
            if (!space->root)
                break;
            page_table_op_flush(space, operation->va, PAGE_BYTES_OF(operation->page_count), args);
            return JOB_OPERATION;
        case PHASE_END:
            return JOB_DONE;
        }
    }
}

static void update_free(struct tile_update *update)
{
    const struct base_services *services = update->process->vidmm->services;

    base_free_array(services, update->operations, update->count, sizeof *update->operations);
    base_free_array(services, update->tiles, (size_t)update->capacity + 1, sizeof *update->tiles);
    base_free_array(services, update->ranges, (size_t)update->capacity, sizeof *update->ranges);
    base_free(services, update, sizeof *update);
}

static void update_end(struct tile_update *update, NTSTATUS status)
{
    vidmm_done done = update->done;
    void *context = update->done_context;

    for (unsigned i = 0; i < update->count; i++) {
        if (update->operations[i].pool)
            allocation_unuse(update->operations[i].pool);
    }
    list_remove(&update->link);
    update->context->tile_update_count--;
    update_free(update);
    if (done)
        done(context, status, 0, 0);
}

static void update_finished(struct job *job)
{
    struct tile_update *update = job_update(job);

    for (uint64_t i = 0; i < update->tile_count; i++) {
        struct tile *tile = &update->tiles[i];

        if (tile->mapping && !tile->pool)
            mapping_free(tile->mapping);
        if (tile->held)
            allocation_unuse(tile->held);
    }
    update->is_queued = update->is_prepared = false;
    if (++update->at == update->count)
        update_end(update, STATUS_SUCCESS);
}

static const struct job_ops update_ops = {
    .name = "tiles", .next = update_next, .finished = update_finished};

/* ---- Getting ready --------------------------------------------------------------------------- */

static struct mapping *privileged_mapping(const struct vidmm_process *process,
                                          const struct vidmm_allocation *pool)
{
    struct mapping *mapping;

    list_for_each (mapping, &pool->mappings, struct mapping, allocation_link) {
        if (mapping->process == process && mapping->role == MAPPING_PRIVILEGED)
            return mapping;
    }
    return NULL;
}

/* The pool that the tile of the current operation is to show, or nothing. */
static void set_target(const struct tile_update *update, uint64_t index, struct tile *tile)
{
    const struct vidmm_tile_operation *operation = &update->operations[update->at];
    const struct mapping *source;

    tile->pool = NULL;
    switch (operation->kind) {
    case VIDMM_TILE_MAP:
        source = privileged_mapping(update->process, operation->pool);
        tile->pool = operation->pool;
        tile->first_page = operation->first_page + index * PAGES_64K;
        tile->source_va = source ? source->va + PAGE_BYTES_OF(tile->first_page) : 0;
        break;
    case VIDMM_TILE_COPY:
        source = mapping_find(update->process, operation->source_va + tile_bytes(index));
        if (!source || source->role != MAPPING_TILE || source->allocation->is_destroyed)
            break; /* a pool takes its tiles with it */
        tile->pool = source->allocation;
        tile->first_page = source->first_page;
        tile->source_va = source->va;
        break;
    case VIDMM_TILE_UNMAP:
        break;
    }
}

/* Makes the mappings that the current operation wants and that are not there. */
static NTSTATUS prepare(struct tile_update *update)
{
    const struct vidmm_tile_operation *operation = &update->operations[update->at];
    struct vidmm_process *process = update->process;
    NTSTATUS status = STATUS_SUCCESS;
    uint64_t va;

    if (operation->kind == VIDMM_TILE_MAP && can_copy(process->vidmm) &&
        !privileged_mapping(process, operation->pool)) {
        operation->pool->forbids_large_pages = true; /* copies are of leaf entries */
        status = mapping_create(
            process,
            &(struct vidmm_map_request){.allocation = operation->pool,
                                        .bytes = PAGE_BYTES_OF(operation->pool->page_count)},
            MAPPING_PRIVILEGED, &va);
    }
    for (uint64_t i = 0; i < update->tile_count && NT_SUCCESS(status); i++) {
        struct tile tile = {0};

        va = operation->va + tile_bytes(i);
        set_target(update, i, &tile);
        if (tile.pool && !mapping_find(process, va))
            status =
                mapping_create(process,
                               &(struct vidmm_map_request){.allocation = tile.pool,
                                                           .offset = PAGE_BYTES_OF(tile.first_page),
                                                           .bytes = PAGE_BYTES_OF(PAGES_64K),
                                                           .va = va},
                               MAPPING_TILE, &va);
    }
    return status;
}

/*
 * All that the current operation needs. STATUS_PENDING: tables wait for memory, or a pool that a
 * tile shows is on its way out. Such a pool takes the tile's mapping with it, so that mappings are
 * made anew before this is asked again.
 */
static NTSTATUS collect(struct tile_update *update)
{
    const struct vidmm_tile_operation *operation = &update->operations[update->at];
    struct vidmm_process *process = update->process;
    NTSTATUS status = STATUS_SUCCESS;

    if (operation->kind == VIDMM_TILE_MAP && can_copy(process->vidmm)) {
        const struct mapping *source = privileged_mapping(process, operation->pool);

        if (!source)
            return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
        if (!source->has_tables)
            return STATUS_PENDING;
    }
    for (uint64_t i = 0; i < update->tile_count; i++) {
        struct tile *tile = &update->tiles[i];

        set_target(update, i, tile);
        tile->mapping = mapping_find(process, operation->va + tile_bytes(i));
        if (tile->pool && !tile->mapping)
            return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
        if (tile->mapping && tile->mapping->role != MAPPING_TILE)
            return STATUS_RESOURCE_IN_USE;
        if (tile->mapping && tile->mapping->allocation->is_destroyed)
            update->is_prepared = false;
        if (tile->mapping &&
            (!tile->mapping->has_tables || tile->mapping->allocation->state == ALLOCATION_DYING))
            status = STATUS_PENDING;
        if (tile->pool && tile->pool->state == ALLOCATION_DYING)
            status = STATUS_PENDING;
    }
    return status;
}

static void queue_job(struct tile_update *update)
{
    for (uint64_t i = 0; i < update->tile_count; i++) {
        struct tile *tile = &update->tiles[i];

        tile->held = tile->mapping ? tile->mapping->allocation : NULL;
        if (!tile->held)
            continue;
        tile->held_page = tile->mapping->first_page;
        allocation_use(tile->held);
    }
    update->job.ops = &update_ops;
    update->job.companion = can_copy(update->process->vidmm) ? &update->context->companion : NULL;
    update->job.phase = 0;
    update->job.cursor = 0;
    update->is_queued = true;
    paging_queue_add(update->process->vidmm, &update->job);
}

bool tile_updates_run(struct vidmm *vidmm)
{
    struct tile_update *update;
    NTSTATUS status = STATUS_SUCCESS;

    if (list_is_empty(&vidmm->tile_updates) || vidmm->compaction.is_under_way)
        return false;
    update = container_of(vidmm->tile_updates.next, struct tile_update, link);
    if (update->is_queued || vidmm->retired < update->behind)
        return false;
    if (!update->is_prepared) {
        update->is_prepared = true;
        update->tile_count = update->operations[update->at].page_count / PAGES_64K;
        status = prepare(update);
    }
    if (NT_SUCCESS(status))
        status = collect(update);
    if (status == STATUS_PENDING)
        return false;
    if (NT_SUCCESS(status))
        queue_job(update);
    else
        update_end(update, status);
    return true;
}

/* ---- The call -------------------------------------------------------------------------------- */

static bool is_range(const struct vidmm *vidmm, const struct address_space *space, uint64_t va,
                     uint64_t page_count)
{
    uint64_t va_pages = UINT64_C(1) << (vidmm->caps.va_bits - PAGE_SHIFT_BITS);

    return is_aligned(va, VIDMM_TILE_BYTES) && va >= space->ranges_start &&
           va / PAGE_BYTES < va_pages && page_count <= va_pages - va / PAGE_BYTES;
}

static NTSTATUS check_operation(const struct vidmm_process *process,
                                const struct vidmm_tile_operation *operation)
{
    const struct vidmm_allocation *pool = operation->pool;
    uint64_t bytes = PAGE_BYTES_OF(operation->page_count);

    if (!operation->page_count || !is_aligned(operation->page_count, PAGES_64K) ||
        !is_range(process->vidmm, &process->space, operation->va, operation->page_count) ||
        (operation->kind == VIDMM_TILE_MAP) != (pool != NULL))
        return STATUS_INVALID_PARAMETER;
    switch (operation->kind) {
    case VIDMM_TILE_MAP:
        if (pool->is_destroyed)
            return STATUS_INVALID_HANDLE;
        if (!is_aligned(operation->first_page, PAGES_64K) || pool->has_unique_protection ||
            operation->first_page > pool->page_count ||
            operation->page_count > pool->page_count - operation->first_page)
            return STATUS_INVALID_PARAMETER;
        return STATUS_SUCCESS;
    case VIDMM_TILE_COPY:
        if (!is_range(process->vidmm, &process->space, operation->source_va,
                      operation->page_count) ||
            (operation->source_va < operation->va + bytes &&
             operation->va < operation->source_va + bytes))
            return STATUS_INVALID_PARAMETER;
        return STATUS_SUCCESS;
    case VIDMM_TILE_UNMAP:
        return STATUS_SUCCESS;
    }
    return STATUS_INVALID_PARAMETER;
}

NTSTATUS vidmm_update_gpu_va(struct vidmm_context *context, unsigned count,
                             const struct vidmm_tile_operation *operations, vidmm_done done,
                             void *done_context)
{
    struct vidmm_process *process = context->device->process;
    struct vidmm *vidmm = process->vidmm;
    struct tile_update *update;
    uint64_t capacity = 0;

    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    if (!vidmm->caps.has_page_tables || page_table_coverage(vidmm, 1) < VIDMM_TILE_BYTES)
        return STATUS_NOT_SUPPORTED;
    if (!count)
        return STATUS_INVALID_PARAMETER;
    for (unsigned i = 0; i < count; i++) {
        NTSTATUS status = check_operation(process, &operations[i]);

        if (!NT_SUCCESS(status))
            return status;
        capacity = max_u64(capacity, operations[i].page_count / PAGES_64K);
    }
    if (context->tile_update_count == MAX_QUEUED_UPDATES)
        return STATUS_DEVICE_BUSY;
    if (can_copy(vidmm)) {
        NTSTATUS status = companion_create(context);

        if (!NT_SUCCESS(status))
            return status;
    }
    update = base_alloc(vidmm->services, sizeof *update);
    if (!update)
        return STATUS_NO_MEMORY;
    update->process = process;
    update->context = context;
    update->count = count;
    update->capacity = capacity;
    update->operations = base_alloc_array(vidmm->services, count, sizeof *update->operations);
    update->tiles = base_alloc_array(vidmm->services, (size_t)capacity + 1, sizeof *update->tiles);
    update->ranges = base_alloc_array(vidmm->services, (size_t)capacity, sizeof *update->ranges);
    if (!update->operations || !update->tiles || !update->ranges) {
        update_free(update);
        return STATUS_NO_MEMORY;
    }
    for (unsigned i = 0; i < count; i++) {
        update->operations[i] = operations[i];
        if (operations[i].pool)
            allocation_use(operations[i].pool);
    }
    update->behind = vidmm->submitted;
    update->done = done;
    update->done_context = done_context;
    context->tile_update_count++;
    list_push_back(&vidmm->tile_updates, &update->link);
    vidmm_pump(vidmm);
    return STATUS_SUCCESS;
}
