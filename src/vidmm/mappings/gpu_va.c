/*
 * GPU virtual addresses: mappings of allocations are made, and end.
 *
 * A mapping's job makes its tables, writes its entries if the allocation is resident at that point
 * of the paging queue, and links the tables from the leaf up (entry_job.c). From there on the
 * mapping is live and the allocation's own moves keep its entries (paging_virtual.c).
 *
 * Source     contract.md PT-013..017, PT-024, PT-025, TLB-003, TLB-004; sequence S-13.
 */
#include "vidmm/mappings/gpu_va.h"

#include "vidmm/adapter/pump.h"
#include "vidmm/mappings/entry_job.h"
#include "vidmm/mappings/mapping.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/views/iommu.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/residency/request.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/page_tree.h"
#include "vidmm/tables/table_burial.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/range_allocator.h"
#include "base/services.h"

static void release_range(struct address_space *space, uint64_t va, uint64_t bytes)
{
    enum range_status status = range_allocator_release(&space->ranges, va, bytes);

    ASSERT(status == RANGE_OK);
    (void)status;
}

/* ---- Mappings of allocations ----------------------------------------------------------------- */

void mapping_free(struct mapping *mapping)
{
    struct vidmm *vidmm = mapping->process->vidmm;

    if (notes_are_heard(vidmm))
        note_mapping(mapping, false);
    iommu_hide_mapping(mapping);
    release_range(&mapping->process->space, mapping->va, PAGE_BYTES_OF(mapping->page_count));
    tables_bury_empty(&mapping->process->space, mapping->va, PAGE_BYTES_OF(mapping->page_count));
    list_remove(&mapping->allocation_link);
    list_remove(&mapping->process_link);
    base_free(vidmm->services, mapping, sizeof *mapping);
}

static void call_done(struct mapping *mapping)
{
    vidmm_done done = mapping->done;

    mapping->done = NULL;
    if (done)
        done(mapping->context, STATUS_SUCCESS, 0, 0);
}

static bool next_entries(struct entry_job *making, DXGKARG_BUILDPAGINGBUFFER *args)
{
    const struct mapping *mapping = container_of(making, struct mapping, making);
    struct vidmm_allocation *allocation = mapping->allocation;
    struct job *job = &making->job;

    if (!allocation->entries_valid || mapping->role == MAPPING_TILE ||
        job->cursor == mapping->page_count)
        return false;
    job->cursor += page_table_op_map(
        making->space, mapping->va + PAGE_BYTES_OF(job->cursor),
        &(struct mapped_pages){.allocation = allocation,
                               .first_page = mapping->first_page + job->cursor,
                               .page_count = mapping->page_count - job->cursor,
                               .from_backing = allocation->place.segment->kind != SEGMENT_PAGES,
                               .is_64k = mapping_is_64k(mapping),
                               .protect = mapping->protect,
                               .driver_protection = mapping->driver_protection},
        args);
    return true;
}

static bool flush(struct entry_job *making, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct mapping *mapping = container_of(making, struct mapping, making);

    mapping->is_live = true;
    if (making->space->vidmm->caps.invalid_not_cached || !mapping->allocation->entries_valid ||
        mapping->role == MAPPING_TILE)
        return false;
    page_table_op_flush(making->space, mapping->va, PAGE_BYTES_OF(mapping->page_count), args);
    return true;
}

static void map_finished(struct job *job)
{
    struct mapping *mapping = container_of(job, struct mapping, making.job);

    if (!mapping->is_doomed) /* else done is that of the unmap, which comes behind */
        call_done(mapping);
}

static const struct entry_job_ops map_ops = {
    .job = {.name = "map",
            .next = entry_job_next,
            .finished = map_finished,
            .restarted = entry_job_restarted},
    .next_entries = next_entries,
    .flush = flush,
};

/* ---- Unique driver protections --------------------------------------------------------------- */

/* PT-029: where one of two driver protections is unique, they are the same. */
static bool is_protection_allowed(const struct vidmm_allocation *allocation, uint64_t first_page,
                                  uint64_t page_count, uint64_t protection)
{
    const struct mapping *mapping;

    if (!allocation->has_unique_protection && !(protection & VIDMM_UNIQUE_PROTECTION))
        return true;
    list_for_each (mapping, &allocation->mappings, struct mapping, allocation_link) {
        if (mapping->first_page < first_page + page_count &&
            first_page < mapping->first_page + mapping->page_count &&
            mapping->driver_protection != protection &&
            ((mapping->driver_protection | protection) & VIDMM_UNIQUE_PROTECTION))
            return false;
    }
    return true;
}

/* Large mappings start on a leaf table, so that they need as few of them as they can. */
static uint64_t mapping_alignment(const struct vidmm *vidmm, uint64_t bytes)
{
    uint64_t leaf = page_table_coverage(vidmm, 1);

    return bytes >= leaf ? leaf : min_u64(64 * KiB, leaf);
}

/* It can be somewhere else than in segments of 64 KiB pages. */
static bool can_be_in_4k_pages(const struct vidmm_allocation *allocation)
{
    for (unsigned i = 0; i < allocation->preference_count; i++) {
        if (segment_by_id(allocation->vidmm, allocation->preference[i])->unit_pages == 1)
            return true;
    }
    return false;
}

/*
 * PT-038; alignment is that of the address, of the allocation and of the part of it. Where there is
 * no way back to 64 KiB entries, only an allocation that can be nowhere else has them.
 */
static bool may_be_64k(const struct mapping *mapping)
{
    const struct vidmm_allocation *allocation = mapping->allocation;

    return mapping->role == MAPPING_ORDINARY && page_table_has_64k_leaves(allocation->vidmm) &&
           (allocation->vidmm->caps.has_dual_pte || !can_be_in_4k_pages(allocation)) &&
           is_aligned(allocation->alignment, PAGE_BYTES_OF(PAGES_64K)) &&
           is_aligned(mapping->va / PAGE_BYTES | mapping->first_page | mapping->page_count,
                      PAGES_64K);
}

/* Both kinds, unless the allocation can be nowhere but in segments of 64 KiB pages. */
static unsigned mapping_leaves(const struct mapping *mapping)
{
    if (!mapping->may_be_64k)
        return LEAVES_4K;
    return LEAVES_64K | (can_be_in_4k_pages(mapping->allocation) ? LEAVES_4K : 0);
}

static NTSTATUS make_mapping_tables(void *subject)
{
    struct mapping *mapping = subject;
    struct vidmm_process *process = mapping->process;
    NTSTATUS status =
        page_tables_prepare(&process->space, mapping->va, PAGE_BYTES_OF(mapping->page_count),
                            mapping_leaves(mapping), &mapping->making.fresh);

    if (!NT_SUCCESS(status))
        return status;
    mapping->has_tables = true;
    paging_queue_add(process->vidmm, &mapping->making.job);
    if (mapping->is_waiting)
        allocation_unuse(mapping->allocation);
    return status;
}

NTSTATUS mapping_restore_tables(struct mapping *mapping)
{
    NTSTATUS status = page_tables_prepare(&mapping->process->space, mapping->va,
                                          PAGE_BYTES_OF(mapping->page_count),
                                          mapping_leaves(mapping), &mapping->making.fresh);

    if (!NT_SUCCESS(status))
        return status;
    mapping->tables_left = false;
    mapping->making.at = NULL;
    paging_queue_add(mapping->process->vidmm, &mapping->making.job);
    return STATUS_SUCCESS;
}

static void mapping_failed(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct mapping *mapping = context;
    struct vidmm_allocation *allocation = mapping->allocation;
    vidmm_done done = mapping->done;
    void *done_context = mapping->context;

    mapping_free(mapping);
    allocation_unuse(allocation);
    if (done)
        done(done_context, status, needed, available);
}

/*
 * Makes the tables of a mapping or update and queues its job, now or, when the segment that the
 * tables lie in is full, as soon as others have made room.
 */
static NTSTATUS make_tables(struct vidmm_process *process, uint64_t bytes,
                            NTSTATUS (*make)(void *subject), vidmm_done failed, void *subject)
{
    struct request *request;
    NTSTATUS status = make(subject);

    if (status != STATUS_GRAPHICS_NO_VIDEO_MEMORY)
        return status;
    status = request_create_for_tables(process->vidmm, page_tables_bytes(&process->space, bytes),
                                       make, failed, subject, &request);
    if (NT_SUCCESS(status))
        request_queue(request);
    return status;
}

/* The addresses that the caller has chosen. */
static NTSTATUS take_chosen(struct address_space *space, uint64_t va, uint64_t bytes,
                            uint64_t owner)
{
    if (mapping_touches_privileged(space, va, bytes))
        return STATUS_INVALID_PARAMETER;
    return range_result(range_allocator_take_at(&space->ranges, va, bytes, owner));
}

/*
 * The upper half: callers that choose addresses themselves mostly choose low ones. Not with a root
 * that would have to reach there: then behind 2 GiB, if there are so many. The lowest that is
 * free there is taken, not the one that fits best between theirs.
 */
static NTSTATUS take_any(struct address_space *space, uint64_t bytes, enum mapping_role role,
                         uint64_t owner, uint64_t *out_va)
{
    const struct vidmm *vidmm = space->vidmm;
    struct range_request request = {.size = bytes, .owner = owner, .place = RANGE_LOWEST};
    uint64_t start, end;

    request.alignment = mapping_alignment(vidmm, bytes);
    request.window_low = UINT64_C(1) << (vidmm->caps.va_bits - 1);
    if (vidmm->caps.root_is_resizable)
        request.window_low = min_u64(request.window_low, UINT64_C(1) << 31);
    if (mapping_privileged_range(space, &start, &end)) {
        if (role == MAPPING_PRIVILEGED) {
            request.window_low = start;
            request.window_high = end;
        } else if (vidmm->caps.root_is_resizable) {
            request.window_low = end;
        } else {
            request.window_high = start;
        }
    }
    return range_result(range_allocator_take(&space->ranges, &request, out_va));
}

NTSTATUS mapping_create(struct vidmm_process *process, const struct vidmm_map_request *request,
                        enum mapping_role role, uint64_t *out_va)
{
    struct vidmm *vidmm = process->vidmm;
    struct address_space *space = &process->space;
    struct vidmm_allocation *allocation = request->allocation;
    uint64_t offset = request->offset, bytes = request->bytes, va = request->va;
    struct mapping *mapping;
    NTSTATUS status;

    *out_va = 0;
    if (!vidmm->caps.is_virtual)
        return STATUS_NOT_SUPPORTED;
    if (allocation->is_destroyed)
        return STATUS_INVALID_HANDLE;
    if (!bytes || !is_aligned(offset | bytes | va, PAGE_BYTES) ||
        offset > PAGE_BYTES_OF(allocation->page_count) ||
        bytes > PAGE_BYTES_OF(allocation->page_count) - offset ||
        (request->protect & VIDMM_PROTECT_ZERO) ||
        !is_protection_allowed(allocation, offset / PAGE_BYTES, bytes / PAGE_BYTES,
                               request->driver_protection))
        return STATUS_INVALID_PARAMETER;

    mapping = base_alloc(vidmm->services, sizeof *mapping);
    if (!mapping)
        return STATUS_NO_MEMORY;
    status = va ? take_chosen(space, va, bytes, (uint64_t)(uintptr_t)mapping)
                : take_any(space, bytes, role, (uint64_t)(uintptr_t)mapping, &va);
    if (!NT_SUCCESS(status))
        goto free_mapping;
    entry_job_init(&mapping->making, space, &map_ops);
    mapping->role = role;
    mapping->process = process;
    mapping->allocation = allocation;
    mapping->va = va;
    mapping->page_count = bytes / PAGE_BYTES;
    mapping->first_page = offset / PAGE_BYTES;
    mapping->may_be_64k = may_be_64k(mapping);
    mapping->protect = request->protect;
    mapping->driver_protection = request->driver_protection;
    mapping->done = request->done;
    mapping->context = request->context;
    if (vidmm->caps.has_page_tables) {
        status = make_tables(process, bytes, make_mapping_tables, mapping_failed, mapping);
    } else {
        status = iommu_show_mapping(mapping);
        mapping->has_tables = true;
    }
    if (!NT_SUCCESS(status))
        goto release_va;
    if (request->driver_protection & VIDMM_UNIQUE_PROTECTION)
        allocation->has_unique_protection = true;
    list_push_back(&allocation->mappings, &mapping->allocation_link);
    list_push_back(&process->mappings, &mapping->process_link);
    if (notes_are_heard(vidmm))
        note_mapping(mapping, true);
    if (!mapping->has_tables) {
        /* Until then the allocation, if it is destroyed, stays. */
        mapping->is_waiting = true;
        allocation_use(allocation);
    }
    *out_va = va;
    if (!vidmm->caps.has_page_tables)
        call_done(mapping);
    return STATUS_SUCCESS;

release_va:
    release_range(space, va, bytes);
free_mapping:
    base_free(vidmm->services, mapping, sizeof *mapping);
    return status;
}

NTSTATUS vidmm_map_gpu_va(struct vidmm_process *process, const struct vidmm_map_request *request,
                          uint64_t *out_va)
{
    NTSTATUS status = process->vidmm->refusal;

    *out_va = 0;
    if (NT_SUCCESS(status))
        status = mapping_create(process, request, MAPPING_ORDINARY, out_va);
    if (NT_SUCCESS(status))
        vidmm_pump(process->vidmm);
    return status;
}

static enum job_step unmap_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct mapping *mapping = container_of(job, struct mapping, unmap_job);
    struct address_space *space = &mapping->process->space;

    mapping->is_live = false;
    /* Where its tables have left, they took its entries with them: none has been written since. */
    if (job->phase || !mapping->allocation->entries_valid || mapping->tables_left)
        return JOB_DONE;
    if (job->cursor < mapping->page_count) {
        job->cursor += page_table_op_unmap(
            space, mapping->va + PAGE_BYTES_OF(job->cursor), mapping->page_count - job->cursor,
            mapping_is_64k(mapping), mapping->allocation->driver_handle,
            mapping->first_page + job->cursor, args);
        return JOB_OPERATION;
    }
    job->phase = 1;
    page_table_op_flush(space, mapping->va, PAGE_BYTES_OF(mapping->page_count), args);
    return JOB_OPERATION;
}

static void unmap_finished(struct job *job)
{
    struct mapping *mapping = container_of(job, struct mapping, unmap_job);
    vidmm_done done = mapping->done;
    void *context = mapping->context;

    mapping_free(mapping);
    if (done)
        done(context, STATUS_SUCCESS, 0, 0);
}

static const struct job_ops unmap_ops = {
    .name = "unmap", .next = unmap_next, .finished = unmap_finished};

NTSTATUS vidmm_unmap_gpu_va(struct vidmm_process *process, uint64_t va, vidmm_done done,
                            void *context)
{
    struct mapping *mapping = mapping_find(process, va);

    if (!mapping || mapping->role != MAPPING_ORDINARY || mapping->is_doomed ||
        mapping->allocation->is_destroyed)
        return STATUS_NOT_FOUND; /* or on its way out already */
    if (mapping->done || !mapping->has_tables)
        return STATUS_RESOURCE_IN_USE; /* still being mapped */
    if (!process->vidmm->caps.has_page_tables) {
        mapping_free(mapping);
        if (done)
            done(context, STATUS_SUCCESS, 0, 0);
        return STATUS_SUCCESS;
    }
    mapping->is_doomed = true;
    mapping->done = done;
    mapping->context = context;
    mapping->unmap_job.ops = &unmap_ops;
    paging_queue_add(process->vidmm, &mapping->unmap_job);
    vidmm_pump(process->vidmm);
    return STATUS_SUCCESS;
}
