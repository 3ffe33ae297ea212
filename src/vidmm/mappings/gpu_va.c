/*
 * Mappings: GPU virtual addresses of allocations, and of physical pages chosen by the caller.
 *
 * A mapping's job makes its tables (show, initialise), writes its entries if the allocation is
 * resident at that point of the paging queue, and links the tables from the leaf up; from there on
 * the mapping is live and the allocation's own moves keep its entries (paging_virtual.c).
 *
 * Physical mappings own whole leaf tables' worth of address space, so that any pages within may be
 * mapped and unmapped in any order; nothing follows when whatever lies in those pages moves. What
 * is to be in their entries is recorded (physical_entries.c).
 *
 * Source     contract.md PT-013..017, PT-024, PT-025, TLB-003, TLB-004; sequence S-13.
 */
#include "vidmm/mappings/gpu_va.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/iommu.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/residency/residency.h"
#include "vidmm/tables/address_space.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/physical_entries.h"
#include "vidmm/tables/table_burial.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/range_allocator.h"
#include "base/services.h"

/* Of a root that grows: pools are not larger, and the root is small that reaches behind it. */
#define LOW_PRIVILEGED_END (UINT64_C(2) << 30)

NTSTATUS range_result(enum range_status status)
{
    switch (status) {
    case RANGE_OK:
        return STATUS_SUCCESS;
    case RANGE_NO_MEMORY:
        return STATUS_NO_MEMORY;
    case RANGE_FULL:
        return STATUS_RESOURCE_IN_USE;
    case RANGE_INVALID:
        break;
    }
    return STATUS_INVALID_PARAMETER;
}

static void release_range(struct address_space *space, uint64_t va, uint64_t bytes)
{
    enum range_status status = range_allocator_release(&space->ranges, va, bytes);

    ASSERT(status == RANGE_OK);
    (void)status;
}

/* ---- Making tables, as part of a job --------------------------------------------------------- */

enum phase {
    PHASE_SHOW,
    PHASE_SHOW_FLUSH,
    PHASE_INITIALISE,
    PHASE_ENTRIES,
    PHASE_LINK,
    PHASE_FLUSH,
    PHASE_END,
};

static bool has_used_slot(const struct list *fresh)
{
    const struct page_table *table;

    list_for_each (table, fresh, struct page_table, fresh) {
        if (table->memory.slot_is_used)
            return true;
    }
    return false;
}

/*
 * The next operation that makes the tables of fresh, in the phases before PHASE_ENTRIES. *at walks
 * the list. JOB_DONE: on to the entries.
 */
static enum job_step next_of_tables(struct address_space *space, struct job *job,
                                    struct list *fresh, struct list **at,
                                    DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm *vidmm = space->vidmm;
    bool is_shown = vidmm->caps.update_mode == DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;

    for (;;) {
        switch ((enum phase)job->phase) {
        case PHASE_SHOW:
            if (!*at)
                *at = fresh->next;
            if (*at == fresh || !is_shown) {
                job->phase = PHASE_SHOW_FLUSH;
                break;
            }
            page_table_op_show(space, container_of(*at, struct page_table, fresh), args);
            *at = (*at)->next;
            return JOB_OPERATION;

        case PHASE_SHOW_FLUSH:
            *at = fresh->next;
            job->phase = PHASE_INITIALISE;
            if (!is_shown || list_is_empty(fresh) ||
                (vidmm->caps.invalid_not_cached && !has_used_slot(fresh)))
                break;
            page_table_op_flush(&vidmm->paging.space, vidmm->paging.window_va,
                                PAGE_BYTES_OF(vidmm->paging.window_next), args);
            return JOB_OPERATION;

        case PHASE_INITIALISE:
            if (*at == fresh) {
                job->phase = PHASE_ENTRIES;
                break;
            }
            if (page_table_op_initialise_part(space, container_of(*at, struct page_table, fresh),
                                              args))
                *at = (*at)->next;
            return JOB_OPERATION;

        default:
            return JOB_DONE;
        }
    }
}

/* Links the tables, children first; they leave the list. JOB_DONE when all are linked. */
static enum job_step next_of_links(struct address_space *space, struct list *fresh,
                                   DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct list *link;

    while ((link = list_pop_back(fresh)) != NULL) {
        struct page_table *table = container_of(link, struct page_table, fresh);

        if (!table->parent)
            continue;
        page_table_op_link(space, table, args);
        return JOB_OPERATION;
    }
    return JOB_DONE;
}

/* ---- Mappings of allocations ----------------------------------------------------------------- */

static bool is_mapping(uint64_t owner)
{
    return owner != OWNER_PHYSICAL && owner != OWNER_RESERVED;
}

struct mapping *mapping_find(struct vidmm_process *process, uint64_t va)
{
    struct range_info info;

    if (!range_allocator_find(&process->space.ranges, va, &info) || info.offset != va ||
        !is_mapping(info.owner))
        return NULL;
    return (struct mapping *)(uintptr_t)info.owner;
}

struct mapping *mapping_at(const struct address_space *space, uint64_t va, uint64_t *out_end,
                           bool *is_physical)
{
    struct range_info info;

    *is_physical = false;
    if (va < space->ranges_start) {
        *out_end = space->ranges_start;
        return NULL;
    }
    if (!range_allocator_range_at(&space->ranges, va, &info)) {
        *out_end = UINT64_MAX;
        return NULL;
    }
    *out_end = info.offset + info.size;
    *is_physical = !info.is_free && info.owner == OWNER_PHYSICAL;
    return info.is_free || !is_mapping(info.owner) ? NULL : (struct mapping *)(uintptr_t)info.owner;
}

void mapping_free(struct mapping *mapping)
{
    struct vidmm *vidmm = mapping->process->vidmm;

    iommu_hide_mapping(mapping);
    release_range(&mapping->process->space, mapping->va, PAGE_BYTES_OF(mapping->page_count));
    tables_bury_empty(&mapping->process->space, mapping->va, PAGE_BYTES_OF(mapping->page_count));
    list_remove(&mapping->allocation_link);
    list_remove(&mapping->process_link);
    base_free(vidmm->services, mapping, sizeof *mapping);
}

static enum job_step map_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct mapping *mapping = container_of(job, struct mapping, job);
    struct vidmm_allocation *allocation = mapping->allocation;
    struct address_space *space = &mapping->process->space;
    enum job_step step;

    for (;;) {
        switch ((enum phase)job->phase) {
        case PHASE_SHOW:
        case PHASE_SHOW_FLUSH:
        case PHASE_INITIALISE:
            step = next_of_tables(space, job, &mapping->fresh, &mapping->at, args);
            if (step != JOB_DONE)
                return step;
            break;
        case PHASE_ENTRIES:
            if (!allocation->entries_valid || mapping->role == MAPPING_TILE ||
                job->cursor == mapping->page_count) {
                job->phase = PHASE_LINK;
                break;
            }
            job->cursor += page_table_op_map(
                space, mapping->va + PAGE_BYTES_OF(job->cursor), allocation,
                mapping->first_page + job->cursor, mapping->page_count - job->cursor,
                allocation->place.segment->kind != SEGMENT_PAGES, mapping_is_64k(mapping),
                mapping->protect, mapping->driver_protection, args);
            return JOB_OPERATION;
        case PHASE_LINK:
            step = next_of_links(space, &mapping->fresh, args);
            if (step != JOB_DONE)
                return step;
            job->phase = PHASE_FLUSH;
            break;
        case PHASE_FLUSH:
            job->phase = PHASE_END;
            mapping->is_live = true;
            if (space->vidmm->caps.invalid_not_cached || !allocation->entries_valid ||
                mapping->role == MAPPING_TILE)
                break;
            page_table_op_flush(space, mapping->va, PAGE_BYTES_OF(mapping->page_count), args);
            return JOB_OPERATION;
        case PHASE_END:
            return JOB_DONE;
        }
    }
}

static void call_done(struct mapping *mapping)
{
    vidmm_done done = mapping->done;

    mapping->done = NULL;
    if (done)
        done(mapping->context, STATUS_SUCCESS, 0, 0);
}

static void map_finished(struct job *job)
{
    struct mapping *mapping = container_of(job, struct mapping, job);

    if (!mapping->is_doomed) /* else done is that of the unmap, which comes behind */
        call_done(mapping);
}

static void map_restarted(struct job *job)
{
    container_of(job, struct mapping, job)->at = NULL;
}

static const struct job_ops map_ops = {
    .next = map_next, .finished = map_finished, .restarted = map_restarted};

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

uint64_t mapping_unique_protection(const struct vidmm_allocation *allocation, uint64_t page,
                                   uint64_t *page_count)
{
    const struct mapping *mapping;
    uint64_t protection = 0;
    uint64_t end = allocation->page_count;

    list_for_each (mapping, &allocation->mappings, struct mapping, allocation_link) {
        uint64_t mapping_end = mapping->first_page + mapping->page_count;

        if (!(mapping->driver_protection & VIDMM_UNIQUE_PROTECTION) || mapping_end <= page)
            continue;
        if (mapping->first_page > page) {
            end = min_u64(end, mapping->first_page);
        } else {
            protection = mapping->driver_protection;
            end = min_u64(end, mapping_end);
        }
    }
    *page_count = end - page;
    return protection;
}

/* Large mappings start on a leaf table, so that they need as few of them as they can. */
static uint64_t mapping_alignment(const struct vidmm *vidmm, uint64_t bytes)
{
    uint64_t leaf = page_table_coverage(vidmm, 1);

    return bytes >= leaf ? leaf : min_u64(64 * KiB, leaf);
}

bool mapping_is_64k(const struct mapping *mapping)
{
    const struct segment *segment = mapping->allocation->place.segment;

    return mapping->may_be_64k && segment && segment->unit_pages == PAGES_64K;
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
 * no way back to 64 KiB entries, only what can be nowhere else has them.
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
                            mapping_leaves(mapping), &mapping->fresh);

    if (!NT_SUCCESS(status))
        return status;
    mapping->has_tables = true;
    paging_queue_add(process->vidmm, &mapping->job);
    if (mapping->is_waiting)
        allocation_unuse(mapping->allocation);
    return status;
}

NTSTATUS mapping_restore_tables(struct mapping *mapping)
{
    NTSTATUS status = page_tables_prepare(&mapping->process->space, mapping->va,
                                          PAGE_BYTES_OF(mapping->page_count),
                                          mapping_leaves(mapping), &mapping->fresh);

    if (!NT_SUCCESS(status))
        return status;
    mapping->tables_left = false;
    mapping->at = NULL;
    paging_queue_add(mapping->process->vidmm, &mapping->job);
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

bool mapping_privileged_range(const struct address_space *space, uint64_t *out_start,
                              uint64_t *out_end)
{
    const struct vidmm_caps *caps = &space->vidmm->caps;
    uint64_t limit = UINT64_C(1) << caps->va_bits;

    if (!caps->has_page_tables || caps->update_mode != DXGK_PAGETABLEUPDATE_GPU_VIRTUAL ||
        caps->update_requires_idle)
        return false;
    *out_start = caps->root_is_resizable ? space->ranges_start : limit - limit / 8;
    *out_end = caps->root_is_resizable ? min_u64(LOW_PRIVILEGED_END, limit / 8) : limit;
    return true;
}

static bool touches_privileged(const struct address_space *space, uint64_t va, uint64_t bytes)
{
    uint64_t start, end;

    return mapping_privileged_range(space, &start, &end) && va < end &&
           (va >= start || bytes > start - va);
}

/* The addresses that the caller has chosen. */
static NTSTATUS take_chosen(struct address_space *space, uint64_t va, uint64_t bytes,
                            uint64_t owner)
{
    if (touches_privileged(space, va, bytes))
        return STATUS_INVALID_PARAMETER;
    return range_result(range_allocator_take_at(&space->ranges, va, bytes, owner));
}

/*
 * The upper half: callers that choose addresses themselves mostly choose low ones. Not with a root
 * that would have to reach there.
 */
static NTSTATUS take_any(struct address_space *space, uint64_t bytes, enum mapping_role role,
                         uint64_t owner, uint64_t *out_va)
{
    const struct vidmm *vidmm = space->vidmm;
    struct range_request request = {.size = bytes, .owner = owner};
    uint64_t start, end;

    request.alignment = mapping_alignment(vidmm, bytes);
    if (!vidmm->caps.root_is_resizable)
        request.window_low = UINT64_C(1) << (vidmm->caps.va_bits - 1);
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

static NTSTATUS create_mapping(struct vidmm_process *process, struct vidmm_allocation *allocation,
                               uint64_t offset, uint64_t bytes, uint64_t va, uint32_t protect,
                               uint64_t driver_protection, enum mapping_role role, vidmm_done done,
                               void *context, uint64_t *out_va)
{
    struct vidmm *vidmm = process->vidmm;
    struct address_space *space = &process->space;
    struct mapping *mapping;
    NTSTATUS status;

    *out_va = 0;
    if (!vidmm->caps.is_virtual)
        return STATUS_NOT_SUPPORTED;
    if (allocation->is_destroyed)
        return STATUS_INVALID_HANDLE;
    if (!bytes || !is_aligned(offset | bytes | va, PAGE_BYTES) ||
        offset > PAGE_BYTES_OF(allocation->page_count) ||
        bytes > PAGE_BYTES_OF(allocation->page_count) - offset || (protect & VIDMM_PROTECT_ZERO) ||
        !is_protection_allowed(allocation, offset / PAGE_BYTES, bytes / PAGE_BYTES,
                               driver_protection))
        return STATUS_INVALID_PARAMETER;

    mapping = base_alloc(vidmm->services, sizeof *mapping);
    if (!mapping)
        return STATUS_NO_MEMORY;
    status = va ? take_chosen(space, va, bytes, (uint64_t)(uintptr_t)mapping)
                : take_any(space, bytes, role, (uint64_t)(uintptr_t)mapping, &va);
    if (!NT_SUCCESS(status))
        goto free_mapping;
    list_init(&mapping->fresh);
    mapping->role = role;
    mapping->process = process;
    mapping->allocation = allocation;
    mapping->va = va;
    mapping->page_count = bytes / PAGE_BYTES;
    mapping->first_page = offset / PAGE_BYTES;
    mapping->may_be_64k = may_be_64k(mapping);
    mapping->protect = protect;
    mapping->driver_protection = driver_protection;
    mapping->done = done;
    mapping->context = context;
    mapping->job.ops = &map_ops;
    if (vidmm->caps.has_page_tables) {
        status = make_tables(process, bytes, make_mapping_tables, mapping_failed, mapping);
    } else {
        status = iommu_show_mapping(mapping);
        mapping->has_tables = true;
    }
    if (!NT_SUCCESS(status))
        goto release_va;
    if (driver_protection & VIDMM_UNIQUE_PROTECTION)
        allocation->has_unique_protection = true;
    list_push_back(&allocation->mappings, &mapping->allocation_link);
    list_push_back(&process->mappings, &mapping->process_link);
    if (!mapping->has_tables) {
        /* Until then the allocation, if it is destroyed, stays. */
        mapping->is_waiting = true;
        allocation_use(allocation);
    }
    *out_va = va;
    if (!vidmm->caps.has_page_tables)
        call_done(mapping);
    vidmm_pump(vidmm);
    return STATUS_SUCCESS;

release_va:
    release_range(space, va, bytes);
free_mapping:
    base_free(vidmm->services, mapping, sizeof *mapping);
    return status;
}

NTSTATUS vidmm_map_gpu_va(struct vidmm_process *process, struct vidmm_allocation *allocation,
                          uint64_t offset, uint64_t bytes, uint64_t va, uint32_t protect,
                          uint64_t driver_protection, vidmm_done done, void *context,
                          uint64_t *out_va)
{
    *out_va = 0;
    if (!NT_SUCCESS(process->vidmm->refusal))
        return process->vidmm->refusal;
    return create_mapping(process, allocation, offset, bytes, va, protect, driver_protection,
                          MAPPING_ORDINARY, done, context, out_va);
}

NTSTATUS mapping_create(struct vidmm_process *process, struct vidmm_allocation *allocation,
                        uint64_t first_page, uint64_t page_count, uint64_t va,
                        enum mapping_role role, uint64_t *out_va)
{
    return create_mapping(process, allocation, PAGE_BYTES_OF(first_page), PAGE_BYTES_OF(page_count),
                          va, 0, 0, role, NULL, NULL, out_va);
}

static enum job_step unmap_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct mapping *mapping = container_of(job, struct mapping, unmap_job);
    struct address_space *space = &mapping->process->space;

    mapping->is_live = false;
    if (job->phase || !mapping->allocation->entries_valid)
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

static const struct job_ops unmap_ops = {.next = unmap_next, .finished = unmap_finished};

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

/* ---- Physical mappings ----------------------------------------------------------------------- */

struct physical_update {
    struct job job;
    struct vidmm_process *process;
    uint64_t va, page_count;
    unsigned segment;
    uint64_t first_page;
    uint32_t protect;
    bool is_map;
    bool is_waiting; /* for room for its tables, or behind one that does */
    struct list fresh;
    struct list *at;
    vidmm_done done;
    void *context;
};

/* Moves the cursor to the next page that has a table of physical mappings; false: there is none. */
static bool skip_to_physical(struct physical_update *update)
{
    struct address_space *space = &update->process->space;
    uint64_t leaf = page_table_coverage(space->vidmm, 1);

    while (update->job.cursor < update->page_count) {
        uint64_t va = max_u64(update->va + PAGE_BYTES_OF(update->job.cursor), space->ranges_start);
        struct page_table *table;
        struct range_info info;

        if (!range_allocator_range_at(&space->ranges, va, &info))
            break;
        /* A table that a later job will initialise holds nothing yet. */
        table = page_table_find(space, va);
        update->job.cursor = (va - update->va) / PAGE_BYTES;
        if (info.owner != OWNER_PHYSICAL)
            update->job.cursor = (info.offset + info.size - update->va) / PAGE_BYTES;
        else if (table && table->is_initialised)
            return update->job.cursor < update->page_count;
        else
            update->job.cursor = (align_down(va, leaf) + leaf - update->va) / PAGE_BYTES;
    }
    return false;
}

static enum job_step physical_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct physical_update *update = container_of(job, struct physical_update, job);
    struct address_space *space = &update->process->space;
    enum job_step step;

    for (;;) {
        uint64_t va = update->va + PAGE_BYTES_OF(job->cursor);

        switch ((enum phase)job->phase) {
        case PHASE_SHOW:
        case PHASE_SHOW_FLUSH:
        case PHASE_INITIALISE:
            step = next_of_tables(space, job, &update->fresh, &update->at, args);
            if (step != JOB_DONE)
                return step;
            break;
        case PHASE_ENTRIES:
            if (update->is_map && job->cursor < update->page_count) {
                job->cursor += page_table_op_map_physical(
                    space, va, update->segment, update->first_page + job->cursor,
                    update->page_count - job->cursor, update->protect, args);
                return JOB_OPERATION;
            }
            if (!update->is_map && skip_to_physical(update)) {
                va = update->va + PAGE_BYTES_OF(job->cursor);
                job->cursor += page_table_op_unmap(space, va, update->page_count - job->cursor,
                                                   false, NULL, 0, args);
                return JOB_OPERATION;
            }
            job->phase = PHASE_LINK;
            break;
        case PHASE_LINK:
            step = next_of_links(space, &update->fresh, args);
            if (step != JOB_DONE)
                return step;
            job->phase = PHASE_FLUSH;
            break;
        case PHASE_FLUSH:
            job->phase = PHASE_END;
            if (!space->root)
                break;
            page_table_op_flush(space, update->va, PAGE_BYTES_OF(update->page_count), args);
            return JOB_OPERATION;
        case PHASE_END:
            return JOB_DONE;
        }
    }
}

static void physical_finished(struct job *job)
{
    struct physical_update *update = container_of(job, struct physical_update, job);
    vidmm_done done = update->done;
    void *context = update->context;

    base_free(update->process->vidmm->services, update, sizeof *update);
    if (done)
        done(context, STATUS_SUCCESS, 0, 0);
}

static void physical_restarted(struct job *job)
{
    container_of(job, struct physical_update, job)->at = NULL;
}

static const struct job_ops physical_ops = {
    .next = physical_next, .finished = physical_finished, .restarted = physical_restarted};

static NTSTATUS create_update(struct vidmm_process *process, uint64_t va, uint64_t page_count,
                              vidmm_done done, void *context, struct physical_update **out_update)
{
    struct vidmm *vidmm = process->vidmm;
    uint64_t va_pages = UINT64_C(1) << (vidmm->caps.va_bits - PAGE_SHIFT_BITS);
    struct physical_update *update;

    *out_update = NULL;
    if (!vidmm->caps.has_page_tables)
        return STATUS_NOT_SUPPORTED;
    if (!page_count || !is_aligned(va, PAGE_BYTES) || va / PAGE_BYTES >= va_pages ||
        page_count > va_pages - va / PAGE_BYTES)
        return STATUS_INVALID_PARAMETER;
    update = base_alloc(vidmm->services, sizeof *update);
    if (!update)
        return STATUS_NO_MEMORY;
    update->job.ops = &physical_ops;
    update->process = process;
    update->va = va;
    update->page_count = page_count;
    update->done = done;
    update->context = context;
    list_init(&update->fresh);
    *out_update = update;
    return STATUS_SUCCESS;
}

/*
 * Makes every leaf table's range in [va, va + bytes) physical. Nothing is taken when a part is in
 * use; when memory runs out, what was taken stays so, for the next attempt.
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
                                          LEAVES_4K, &update->fresh);

    if (!NT_SUCCESS(status))
        return status;
    status = physical_entries_make(space, update->va, PAGE_BYTES_OF(update->page_count));
    if (!NT_SUCCESS(status)) {
        page_tables_abandon(space, &update->fresh);
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
    paging_queue_add(space->vidmm, &update->job);
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

NTSTATUS vidmm_map_physical(struct vidmm_process *process, uint64_t va, unsigned segment,
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
        touches_privileged(&process->space, va, PAGE_BYTES_OF(page_count)))
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

NTSTATUS vidmm_unmap_physical(struct vidmm_process *process, uint64_t va, uint64_t bytes,
                              vidmm_done done, void *context)
{
    struct physical_update *update;
    NTSTATUS status;

    if (!is_aligned(bytes, PAGE_BYTES))
        return STATUS_INVALID_PARAMETER;
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
