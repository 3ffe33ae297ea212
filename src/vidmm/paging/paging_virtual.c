/*
 * Paging operations of the GpuMmu model: how an allocation enters, leaves and dies.
 *
 *     memory segment   enter   chunk by chunk through scratch: VIRTUAL_FILL without content, else
 *                              VIRTUAL_TRANSFER; then its own mappings are made valid
 *                      leave   its mappings are made invalid and flushed; then chunk by chunk out
 *     system memory    enter   its mappings are made valid, pointing at the backing store
 *                      leave   its mappings are made invalid and flushed
 *     aperture         as system memory, and MAP / UNMAP_APERTURE_SEGMENT (AccessedPhysically)
 *     of a context     without content: INIT_CONTEXT_RESOURCE, through scratch, instead of a fill;
 *                      IoMmu: at its place
 *     notices of WDDM 3.2: leave and die from system memory and apertures begin with NOTIFY_ALLOC
 *     told of residency: enter ends with NOTIFY_RESIDENCY before its mappings are made valid; leave
 *                      and die begin with it behind the mappings
 *     memory segment   move    its mappings are made invalid and flushed; chunk by chunk to the
 *                              other place; its mappings are made valid there
 *     any         die, drop    its mappings are made invalid and flushed; UNMAP from the aperture
 *
 * A chunk: scratch entries for the source and, behind them, for the destination; FLUSH_TLB where
 * invalid entries may be cached; the transfer or fill; entries invalid again; FLUSH_TLB. When
 * tables are written by the CPU the entries are left as they are (the transfer has not run yet) and
 * the flush comes before the transfer. Where the next job will move pages, too, small chunks leave
 * their entries to its chunk, which makes all of them invalid and flushes once.
 *
 * Source     contract.md VX-001..012, PT-020..025, TLB-003; sequences S-05, S-07.
 */
#include "vidmm/paging/paging_virtual.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/mappings/mapping.h"
#include "vidmm/mappings/scratch_view.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/views/aperture.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/context_init.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/notice.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/residency/move.h"
#include "vidmm/paging/auxiliary_mmu.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/bits.h"

enum phase {
    PHASE_START,
    PHASE_TELL_UNMAP,
    PHASE_TELL_EVICTION,
    PHASE_AUXILIARY,
    PHASE_APERTURE,
    PHASE_UNMAP,
    PHASE_CHUNK,
    PHASE_CHUNK_SOURCE,
    PHASE_CHUNK_DESTINATION,
    PHASE_CHUNK_FLUSH,
    PHASE_CHUNK_MOVE,
    PHASE_CHUNK_UNMAP,
    PHASE_CHUNK_UNMAP_FLUSH,
    PHASE_INIT,
    PHASE_INITIALISED,
    PHASE_MOVED,
    PHASE_NOTICE,
    PHASE_MAP,
};

/* Chunks of a job that gives way: a quarter of a millisecond of a link of 16 GB/s. */
#define GIVING_WAY_PAGES ((UINT64_C(4) << 20) / PAGE_BYTES)

static struct vidmm_allocation *job_allocation(struct job *job)
{
    return container_of(job, struct vidmm_allocation, job);
}

static struct generation *generation_of(const struct vidmm_allocation *allocation)
{
    return &allocation->vidmm->queue.generation;
}

static bool is_in_memory_segment(const struct vidmm_allocation *allocation)
{
    return allocation->place.segment && allocation->place.segment->kind == SEGMENT_PAGES;
}

/* It is resident in system memory, directly or through an aperture (NTF-017). */
static bool shows_backing(const struct vidmm_allocation *allocation)
{
    return allocation->place.segment && allocation->place.segment->kind != SEGMENT_PAGES;
}

/* The next mapping after this one (NULL: the first) whose tables are linked. */
static struct mapping *next_live_mapping(const struct vidmm_allocation *allocation,
                                         const struct mapping *after)
{
    const struct list *link = after ? after->allocation_link.next : allocation->mappings.next;

    for (; link != &allocation->mappings; link = link->next) {
        struct mapping *mapping = container_of(link, struct mapping, allocation_link);

        if (mapping->is_live)
            return mapping;
    }
    return NULL;
}

static void start_walk(struct vidmm_allocation *allocation, enum phase phase)
{
    struct generation *generation = generation_of(allocation);

    generation->walk = next_live_mapping(allocation, NULL);
    generation->piece = 0;
    allocation->job.phase = phase;
}

/* One operation of PHASE_UNMAP or PHASE_MAP; false when the walk has ended. */
static bool walk_mappings(struct vidmm_allocation *allocation, bool makes_valid,
                          DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct generation *generation = generation_of(allocation);
    const struct vidmm *vidmm = allocation->vidmm;
    struct mapping *mapping = generation->walk;
    bool needs_flush = !makes_valid || !vidmm->caps.invalid_not_cached;
    struct address_space *space;
    uint64_t va;

    if (!mapping)
        return false;
    space = &mapping->process->space;
    va = mapping->va + PAGE_BYTES_OF(generation->piece);
    if (generation->piece == mapping->page_count) {
        /* Only reached when a flush is wanted. */
        page_table_op_flush(space, mapping->va, PAGE_BYTES_OF(mapping->page_count), args);
        generation->walk = next_live_mapping(allocation, mapping);
        generation->piece = 0;
        return true;
    }
    if (makes_valid)
        generation->piece += page_table_op_map(
            space, va,
            &(struct mapped_pages){.allocation = allocation,
                                   .first_page = mapping->first_page + generation->piece,
                                   .page_count = mapping->page_count - generation->piece,
                                   .from_backing = !is_in_memory_segment(allocation),
                                   .is_64k = mapping_is_64k(mapping),
                                   .protect = mapping->protect,
                                   .driver_protection = mapping->driver_protection},
            args);
    else
        generation->piece += page_table_op_unmap(space, va, mapping->page_count - generation->piece,
                                                 mapping_is_64k(mapping), allocation->driver_handle,
                                                 mapping->first_page + generation->piece, args);
    if (generation->piece == mapping->page_count && !needs_flush) {
        generation->walk = next_live_mapping(allocation, mapping);
        generation->piece = 0;
    }
    return true;
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

static bool writes_tables_at_once(const struct vidmm *vidmm)
{
    return vidmm->caps.update_mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
}

/* The side in the segment is seen through 64 KiB tables. */
static bool chunk_is_64k(const struct vidmm_allocation *allocation)
{
    struct generation *generation = generation_of(allocation);
    const struct vidmm_caps *caps = &allocation->vidmm->caps;

    return caps->has_64k_leaves && caps->has_dual_pte &&
           allocation->place.segment->unit_pages == PAGES_64K &&
           is_aligned(allocation->job.cursor | generation->chunk_pages, PAGES_64K);
}

/* Where the chunks of a job go. */
enum way { WAY_IN, WAY_OUT, WAY_MOVE };

/*
 * Where the paging process sees the leaf table of the address, for drivers that ask for it
 * (VX-006). It sees those of scratch if it writes them by virtual address; 0: it does not.
 */
static uint64_t leaf_table_va(struct vidmm *vidmm, uint64_t va, bool is_64k)
{
    struct address_space *space = &vidmm->paging.space;
    const struct page_table *table;

    if (!vidmm->caps.source_table_in_transfer ||
        vidmm->caps.update_mode != DXGK_PAGETABLEUPDATE_GPU_VIRTUAL)
        return 0;
    table = is_64k ? page_table_find_64k(space, va) : page_table_find(space, va);
    return table ? paging_process_slot_va(&vidmm->paging, table->memory.window_slot) : 0;
}

static void move_chunk(struct vidmm_allocation *allocation, enum way way, bool is_fill,
                       DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct generation *generation = generation_of(allocation);
    static const DXGK_MEMORY_TRANSFER_DIRECTION directions[] = {
        [WAY_IN] = DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL,
        [WAY_OUT] = DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM,
        [WAY_MOVE] = DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL,
    };
    uint64_t bytes = PAGE_BYTES_OF(generation->chunk_pages);
    uint64_t second_va = generation->chunk_va + PAGE_BYTES_OF(generation->chunk_stride);

    if (is_fill) {
        args->Operation = DXGK_OPERATION_VIRTUAL_FILL;
        args->FillVirtual.hAllocation = allocation->driver_handle;
        args->FillVirtual.AllocationOffsetInBytes = PAGE_BYTES_OF(allocation->job.cursor);
        args->FillVirtual.FillSizeInBytes = bytes;
        args->FillVirtual.FillPattern = allocation->vidmm->config.fill_pattern;
        args->FillVirtual.DestinationVirtualAddress = generation->chunk_va;
        return;
    }
    args->Operation = DXGK_OPERATION_VIRTUAL_TRANSFER;
    args->TransferVirtual.hAllocation = allocation->driver_handle;
    args->TransferVirtual.AllocationOffsetInBytes = PAGE_BYTES_OF(allocation->job.cursor);
    args->TransferVirtual.TransferSizeInBytes = bytes;
    args->TransferVirtual.SourceVirtualAddress = generation->chunk_va;
    args->TransferVirtual.DestinationVirtualAddress = second_va;
    args->TransferVirtual.Flags.Src64KBPages = way != WAY_IN && chunk_is_64k(allocation);
    args->TransferVirtual.Flags.Dst64KBPages = way != WAY_OUT && chunk_is_64k(allocation);
    args->TransferVirtual.TransferDirection = directions[way];
    args->TransferVirtual.SourcePageTable = leaf_table_va(allocation->vidmm, generation->chunk_va,
                                                          args->TransferVirtual.Flags.Src64KBPages);
    args->TransferVirtual.DestinationPageTable =
        leaf_table_va(allocation->vidmm, second_va, args->TransferVirtual.Flags.Dst64KBPages);
}

/* Bytes of scratch from the first page of the chunk to the last one, of all sides. */
static uint64_t chunk_span(const struct generation *generation, uint64_t sides)
{
    return PAGE_BYTES_OF((sides - 1) * generation->chunk_stride + generation->chunk_pages);
}

/* One chunk, one protection: 0 but where the pages are mapped with a unique one (VX-012). */
static void limit_to_protection(struct vidmm_allocation *allocation)
{
    struct generation *generation = generation_of(allocation);
    uint64_t same = generation->chunk_pages;

    generation->chunk_protection =
        allocation->has_unique_protection
            ? mapping_unique_protection(allocation, allocation->job.cursor, &same)
            : 0;
    generation->chunk_pages = min_u64(generation->chunk_pages, same);
}

/* One operation that takes a chunk out of scratch, from piece on; returns for how many pages. */
static uint64_t unmap_chunk(struct vidmm_allocation *allocation, enum way way, uint64_t sides,
                            DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct generation *generation = generation_of(allocation);
    uint64_t pages = generation->chunk_pages;
    uint64_t piece = generation->piece;
    uint64_t in_side = piece % pages;
    bool is_local = sides == 1 || way == WAY_MOVE || (piece >= pages) == (way == WAY_IN);
    bool is_64k = chunk_is_64k(allocation);
    bool is_split = is_64k || generation->chunk_stride != pages;
    uint64_t at = piece / pages * generation->chunk_stride + in_side;

    return page_table_op_unmap(
        &allocation->vidmm->paging.space, generation->chunk_va + PAGE_BYTES_OF(at),
        is_split ? pages - in_side : sides * pages - piece, is_64k && is_local,
        allocation->driver_handle, allocation->job.cursor + in_side, args);
}

/* As many pages of scratch as one operation makes invalid, about, may be left to others. */
#define MOST_OWED 512u

/*
 * The job that follows is as small, and has a chunk, and room for it behind this one without going
 * round. Nothing that it has to wait for may wait for this one: contexts may have to be idle first.
 */
static bool is_followed_by_chunk(const struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;
    const struct job *job = paging_queue_following(vidmm, &allocation->job);
    const struct vidmm_allocation *next;
    uint64_t pages;

    if (!job || job->phase != PHASE_START || vidmm->caps.update_requires_idle ||
        vidmm->null_contexts || (job->ops->kind != JOB_ENTER && job->ops->kind != JOB_LEAVE))
        return false;
    next = container_of(job, struct vidmm_allocation, job);
    if (!is_in_memory_segment(next) || next->context)
        return false;
    pages = paging_process_scratch_stride(
        vidmm, min_u64(next->page_count, paging_process_chunk_pages(vidmm)));
    return 2 * pages <= MOST_OWED && align_up(vidmm->paging.scratch_next, PAGES_64K) + 2 * pages <=
                                         vidmm->paging.scratch_pages;
}

/* What is owed lies in front of the chunk, or a few unused pages in front of that. */
static void begin_clean_up(struct vidmm_allocation *allocation, uint64_t sides)
{
    struct generation *generation = generation_of(allocation);
    const struct scratch_debt *debt = &allocation->vidmm->queue.debt;

    generation->piece = 0;
    generation->clean_va = debt->va ? debt->va : generation->chunk_va;
    generation->clean_pages =
        (generation->chunk_va - generation->clean_va + chunk_span(generation, sides)) / PAGE_BYTES;
}

/* Leaves it to the next job, behind the last chunk of this one. */
static bool owe_clean_up(const struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;
    const struct generation *generation = generation_of(allocation);

    if (writes_tables_at_once(vidmm) || vidmm->caps.has_64k_leaves ||
        generation->clean_pages > MOST_OWED ||
        allocation->job.cursor + generation->chunk_pages != allocation->page_count ||
        !is_followed_by_chunk(allocation))
        return false;
    vidmm->queue.debt.va = generation->clean_va;
    return true;
}

/*
 * The next operation of the chunks; JOB_DONE when all have been generated. A fill has one side, a
 * transfer two, one behind the other in scratch.
 */
static enum job_step next_of_chunks(struct vidmm_allocation *allocation, enum way way,
                                    DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct generation *generation = generation_of(allocation);
    struct vidmm *vidmm = allocation->vidmm;
    struct address_space *space = &vidmm->paging.space;
    struct job *job = &allocation->job;
    bool is_fill = way == WAY_IN && !allocation->mdl;
    uint64_t sides = is_fill ? 1 : 2;

    for (;;) {
        uint64_t pages = generation->chunk_pages;
        uint64_t piece = generation->piece;
        bool is_shared; /* the clean-up of the chunk is that of others, too */

        switch ((enum phase)job->phase) {
        case PHASE_CHUNK:
            if (job->cursor == allocation->page_count)
                return JOB_DONE;
            if (job->gives_way && !job->is_paused) {
                job->is_paused = true;
                return JOB_PAUSE;
            }
            generation->chunk_pages =
                min_u64(allocation->page_count - job->cursor, paging_process_chunk_pages(vidmm));
            if (job->gives_way)
                generation->chunk_pages = min_u64(generation->chunk_pages, GIVING_WAY_PAGES);
            limit_to_protection(allocation);
            generation->chunk_stride =
                paging_process_scratch_stride(vidmm, generation->chunk_pages);
            if (!paging_process_take_scratch(vidmm, sides * generation->chunk_stride,
                                             &generation->chunk_va))
                return JOB_WAIT;
            job->is_paused = false;
            generation->piece = 0;
            job->phase = is_fill ? PHASE_CHUNK_DESTINATION : PHASE_CHUNK_SOURCE;
            break;

        case PHASE_CHUNK_SOURCE:
            if (piece == pages) {
                generation->piece = 0;
                job->phase = PHASE_CHUNK_DESTINATION;
                break;
            }
            generation->piece += page_table_op_map(
                space, generation->chunk_va + PAGE_BYTES_OF(piece),
                &(struct mapped_pages){.allocation = allocation,
                                       .first_page = job->cursor + piece,
                                       .page_count = pages - piece,
                                       .from_backing = way == WAY_IN,
                                       .is_64k = way != WAY_IN && chunk_is_64k(allocation),
                                       .driver_protection = generation->chunk_protection},
                args);
            return JOB_OPERATION;

        case PHASE_CHUNK_DESTINATION:
            if (piece == pages) {
                job->phase = PHASE_CHUNK_FLUSH;
                break;
            }
            if (way == WAY_MOVE)
                move_swap(allocation);
            generation->piece += page_table_op_map(
                space,
                generation->chunk_va +
                    PAGE_BYTES_OF((sides - 1) * generation->chunk_stride + piece),
                &(struct mapped_pages){.allocation = allocation,
                                       .first_page = job->cursor + piece,
                                       .page_count = pages - piece,
                                       .from_backing = way == WAY_OUT,
                                       .is_64k = way != WAY_OUT && chunk_is_64k(allocation),
                                       .driver_protection = generation->chunk_protection},
                args);
            if (way == WAY_MOVE)
                move_swap(allocation);
            return JOB_OPERATION;

        case PHASE_CHUNK_FLUSH:
            job->phase = PHASE_CHUNK_MOVE;
            if (vidmm->caps.invalid_not_cached && !writes_tables_at_once(vidmm))
                break;
            page_table_op_flush(space, generation->chunk_va, chunk_span(generation, sides), args);
            return JOB_OPERATION;

        case PHASE_CHUNK_MOVE:
            begin_clean_up(allocation, sides);
            job->phase = PHASE_CHUNK_UNMAP;
            move_chunk(allocation, way, is_fill, args);
            return JOB_OPERATION;

        case PHASE_CHUNK_UNMAP:
            if (piece == 0 && way == WAY_OUT && job->cursor + pages == allocation->page_count &&
                !allocation->is_reset)
                allocation->arrives_with = paging_queue_last(vidmm);
            if (piece == 0 && owe_clean_up(allocation)) {
                job->cursor += pages;
                job->phase = PHASE_CHUNK;
                break;
            }
            is_shared = generation->clean_va != generation->chunk_va;
            if (piece == (is_shared ? generation->clean_pages : sides * pages) ||
                writes_tables_at_once(vidmm)) {
                job->phase = PHASE_CHUNK_UNMAP_FLUSH;
                break;
            }
            generation->piece +=
                is_shared
                    ? page_table_op_unmap(space, generation->clean_va + PAGE_BYTES_OF(piece),
                                          generation->clean_pages - piece, false, NULL, 0, args)
                    : unmap_chunk(allocation, way, sides, args);
            return JOB_OPERATION;

        case PHASE_CHUNK_UNMAP_FLUSH:
            job->cursor += pages;
            job->phase = PHASE_CHUNK;
            if (writes_tables_at_once(vidmm))
                break;
            page_table_op_flush(space, generation->clean_va, PAGE_BYTES_OF(generation->clean_pages),
                                args);
            vidmm->queue.debt.va = 0;
            return JOB_OPERATION;

        default:
            return JOB_DONE;
        }
    }
}

/* ---- Generators ------------------------------------------------------------------------------ */

enum job_step virtual_enter_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_allocation *allocation = job_allocation(job);
    struct generation *generation = generation_of(allocation);

    if (job->phase == PHASE_START) {
        job->phase =
            allocation->place.segment->kind == SEGMENT_APERTURE ? PHASE_APERTURE : PHASE_AUXILIARY;
    }
    if (job->phase == PHASE_APERTURE) {
        if (aperture_op_map(allocation, allocation->place.segment, allocation->place.offset, args))
            return JOB_OPERATION;
        job->phase = PHASE_AUXILIARY;
    }
    if (job->phase == PHASE_AUXILIARY) {
        if (auxiliary_mmu_next(allocation, true, args))
            return JOB_OPERATION;
        job->phase = PHASE_CHUNK;
    }
    if (allocation->context && !allocation->has_content && job->phase < PHASE_INITIALISED) {
        enum job_step step;

        if (!allocation->vidmm->caps.has_page_tables) { /* nothing could show it */
            job->phase = PHASE_INITIALISED;
            context_allocation_op_init(allocation, args);
            return JOB_OPERATION;
        }
        if (job->phase < PHASE_INIT)
            scratch_view_begin(&generation->view, allocation, 0, allocation->page_count,
                               context_allocation_init_view);
        job->phase = PHASE_INIT;
        step = scratch_view_next(&generation->view, args);
        if (step != JOB_DONE)
            return step;
        job->phase = PHASE_INITIALISED;
    }
    if (job->phase >= PHASE_CHUNK && job->phase <= PHASE_CHUNK_UNMAP_FLUSH &&
        is_in_memory_segment(allocation)) {
        enum job_step step = next_of_chunks(allocation, WAY_IN, args);

        if (step != JOB_DONE)
            return step;
    }
    if (job->phase <= PHASE_NOTICE && notice_is_due(allocation)) {
        job->phase = PHASE_NOTICE;
        notice_op_residency(allocation, true, args);
        return JOB_OPERATION;
    }
    if (job->phase != PHASE_MAP) {
        start_walk(allocation, PHASE_MAP);
        allocation->entries_valid = true;
    }
    return walk_mappings(allocation, true, args) ? JOB_OPERATION : JOB_DONE;
}

/* The common start of leaving and dying: entries invalid, slots unmapped. JOB_DONE: go on. */
static enum job_step next_of_retreat(struct vidmm_allocation *allocation,
                                     DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct generation *generation = generation_of(allocation);
    struct job *job = &allocation->job;

    if (job->phase == PHASE_START) {
        start_walk(allocation, PHASE_TELL_UNMAP);
        generation->view.use = NULL;
    }
    if (job->phase == PHASE_TELL_UNMAP) {
        if (allocation->wants_unmap_notice && shows_backing(allocation) &&
            allocation->entries_valid && generation->walk) {
            /* The driver finds the address by the root that it has been told of last. */
            if (generation->walk->process->space.root_changes)
                return JOB_WAIT;
            notice_op_iommu_unmap(generation->walk, args);
            generation->walk = next_live_mapping(allocation, generation->walk);
            job->cursor = 1; /* told */
            return JOB_OPERATION;
        }
        /* Entries that the driver writes at once would go before the GPU has seen the notice. */
        if (job->cursor && writes_tables_at_once(allocation->vidmm) &&
            !paging_queue_is_drained(allocation->vidmm))
            return JOB_WAIT;
        job->cursor = 0;
        start_walk(allocation, PHASE_UNMAP);
        if (!allocation->entries_valid)
            generation->walk = NULL;
        allocation->entries_valid = false;
    }
    if (job->phase == PHASE_UNMAP) {
        if (walk_mappings(allocation, false, args))
            return JOB_OPERATION;
        if (allocation->is_noticed) {
            notice_op_residency(allocation, false, args);
            return JOB_OPERATION;
        }
        job->phase = PHASE_TELL_EVICTION;
    }
    if (job->phase == PHASE_TELL_EVICTION) {
        if (allocation->wants_eviction_notice && shows_backing(allocation)) {
            enum job_step step = notice_next_of_eviction(allocation, args);

            if (step != JOB_DONE)
                return step;
            job->cursor = 0;
        }
        job->phase = PHASE_AUXILIARY;
    }
    if (job->phase == PHASE_AUXILIARY) {
        if (auxiliary_mmu_next(allocation, false, args))
            return JOB_OPERATION;
        job->phase = PHASE_CHUNK;
        if (allocation->place.segment && allocation->place.segment->kind == SEGMENT_APERTURE)
            job->phase = PHASE_APERTURE;
    }
    if (job->phase == PHASE_APERTURE) {
        if (aperture_op_unmap(allocation, allocation->place.segment, allocation->place.offset,
                              args))
            return JOB_OPERATION;
        job->phase = PHASE_CHUNK;
    }
    return JOB_DONE;
}

enum job_step virtual_leave_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_allocation *allocation = job_allocation(job);
    enum job_step step = next_of_retreat(allocation, args);

    if (step != JOB_DONE)
        return step;
    return is_in_memory_segment(allocation) ? next_of_chunks(allocation, WAY_OUT, args) : JOB_DONE;
}

enum job_step virtual_die_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    return next_of_retreat(job_allocation(job), args);
}

enum job_step virtual_move_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_allocation *allocation = job_allocation(job);

    if (job->phase < PHASE_MOVED) {
        enum job_step step = next_of_retreat(allocation, args);

        if (step == JOB_DONE)
            step = next_of_chunks(allocation, WAY_MOVE, args);
        if (step != JOB_DONE)
            return step;
        move_swap(allocation); /* from here on, in the order of the queue, it is there */
        job->cursor = 0;
        job->phase = PHASE_MOVED;
    }
    if (job->phase == PHASE_MOVED) {
        if (auxiliary_mmu_next(allocation, true, args))
            return JOB_OPERATION;
        job->phase = PHASE_NOTICE;
    }
    if (job->phase == PHASE_NOTICE && notice_is_due(allocation)) {
        notice_op_residency(allocation, true, args);
        return JOB_OPERATION;
    }
    if (job->phase != PHASE_MAP) {
        start_walk(allocation, PHASE_MAP);
        allocation->entries_valid = true;
    }
    return walk_mappings(allocation, true, args) ? JOB_OPERATION : JOB_DONE;
}

enum job_step virtual_map_again_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_allocation *allocation = job_allocation(job);

    if (job->phase != PHASE_MAP) {
        start_walk(allocation, PHASE_MAP);
        allocation->entries_valid = true;
    }
    return walk_mappings(allocation, true, args) ? JOB_OPERATION : JOB_DONE;
}
