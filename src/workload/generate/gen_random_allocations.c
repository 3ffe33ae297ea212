/* random: allocations, where they are, and what is mapped. */
#include "workload/generate/gen_random_private.h"

#include <stdio.h>

/* One half of any size, one half where every magnitude is equally likely. */
static uint64_t random_size(struct random *r)
{
    uint64_t most = r->values[MAX_SIZE], cap;

    if (rng_chance(r->rng, 1, 2))
        return 1 + below(r, most);
    cap = UINT64_C(1) << below(r, log2_floor_u64(most) + 1);
    return 1 + below(r, min_u64(cap * 2, most));
}

static uint64_t fresh_va(struct random *r, uint64_t size)
{
    uint64_t va = r->next_va;

    r->next_va += align_up(size, 64 * KiB) + 64 * KiB;
    return va;
}

/* Flags that few allocations have, beside those given. */
static uint32_t random_wishes(struct random *r, uint32_t flags)
{
    uint32_t wishes = 0;

    if ((flags & WORKLOAD_ALLOCATION_CPU_VISIBLE) && (flags & WORKLOAD_ALLOCATION_PRIMARY))
        wishes |= WORKLOAD_ALLOCATION_USE_ALTERNATE_VA; /* ALLOC-011 */
    if ((flags & WORKLOAD_ALLOCATION_CPU_VISIBLE) && rng_chance(r->rng, 1, 6))
        wishes |= WORKLOAD_ALLOCATION_MAP_APERTURE_CPU_VISIBLE;
    if ((flags & WORKLOAD_ALLOCATION_CPU_VISIBLE) && !(flags & WORKLOAD_ALLOCATION_PRIMARY) &&
        rng_chance(r->rng, 1, 4)) /* ALLOC-009 */
        wishes |= WORKLOAD_ALLOCATION_PERMANENT_SYSMEM;
    if (rng_chance(r->rng, 1, 4))
        wishes |= WORKLOAD_ALLOCATION_DISABLE_LARGE_PAGE_MAPPING;
    return wishes;
}

static uint32_t random_flags(struct random *r)
{
    uint32_t flags = 0;

    if (rng_chance(r->rng, 1, 2))
        flags |= WORKLOAD_ALLOCATION_CPU_VISIBLE;
    if ((flags & WORKLOAD_ALLOCATION_CPU_VISIBLE) && rng_chance(r->rng, 1, 4))
        flags |= WORKLOAD_ALLOCATION_CACHED;
    if (rng_chance(r->rng, 1, 8))
        flags |= WORKLOAD_ALLOCATION_SHARED;
    if (rng_chance(r->rng, 1, 16))
        flags |= WORKLOAD_ALLOCATION_ACCESSED_PHYSICALLY;
    if ((flags & WORKLOAD_ALLOCATION_ACCESSED_PHYSICALLY) && rng_chance(r->rng, 1, 2))
        flags |= WORKLOAD_ALLOCATION_EXPLICIT_RESIDENCY_NOTIFICATION;
    if ((flags & WORKLOAD_ALLOCATION_ACCESSED_PHYSICALLY) && rng_chance(r->rng, 1, 2))
        flags |= WORKLOAD_ALLOCATION_NOTIFY_EVICTION | WORKLOAD_ALLOCATION_NOTIFY_IOMMU_UNMAP;
    if (rng_chance(r->rng, 1, 16))
        flags |= WORKLOAD_ALLOCATION_FROM_END_OF_SEGMENT;
    if (!(flags & WORKLOAD_ALLOCATION_CACHED) && rng_chance(r->rng, 1, r->values[WISHES] ? 3 : 32))
        flags |= WORKLOAD_ALLOCATION_PRIMARY;
    if (rng_chance(r->rng, 1, 32))
        flags |= WORKLOAD_ALLOCATION_SYNCHRONOUS_PAGING;
    if (r->values[MAPS] && rng_chance(r->rng, 1, 16))
        flags |= WORKLOAD_ALLOCATION_NOMAP;
    return r->values[WISHES] ? flags | random_wishes(r, flags) : flags;
}

struct live *gen_random_add_live(struct random *r, const struct workload_allocation_info *info)
{
    struct live *live = &r->live[r->live_count++];
    char name[16];

    /* Names come back after a while: the format allows it after free. */
    snprintf(name, sizeof name, "a%u", r->made++ % (2 * (unsigned)r->values[ALLOCATIONS]));
    if (workload_builder_find(r->builder, name) != WORKLOAD_NONE)
        snprintf(name, sizeof name, "b%u", r->made);
    *live = (struct live){.id = workload_builder_alloc(r->builder, name, info),
                          .device = info->device,
                          .size = info->size,
                          .shared = (info->flags & WORKLOAD_ALLOCATION_SHARED) != 0,
                          .cpu_visible = (info->flags & WORKLOAD_ALLOCATION_CPU_VISIBLE) != 0,
                          .nomap = (info->flags & WORKLOAD_ALLOCATION_NOMAP) != 0,
                          .is_over_memory =
                              (info->flags & (WORKLOAD_ALLOCATION_EXISTING_SYSMEM |
                                              WORKLOAD_ALLOCATION_EXISTING_KERNEL_SYSMEM)) != 0,
                          .user = WORKLOAD_NONE};
    return live;
}

/*
 * A page that stays where it is once it is resident, in the last fifth of its segment (ALLOC-014):
 * few of them, for nothing can make room of them.
 */
static void random_pinned(struct random *r)
{
    struct workload_allocation_info info = {
        .size = PAGE_BYTES,
        .device = (uint32_t)below(r, r->values[PROCESSES]),
        .flags =
            rng_chance(r->rng, 1, 2) ? WORKLOAD_ALLOCATION_OVERLAY : WORKLOAD_ALLOCATION_CAPTURE,
        .segments = {WORKLOAD_SEGMENT_LOCAL, WORKLOAD_SEGMENT_APERTURE},
        .segment_count = 2,
    };

    if (r->values[SHOWS])
        info.flags |= WORKLOAD_ALLOCATION_PRIMARY;
    r->pinned_count++;
    gen_random_add_live(r, &info)->is_pinned = true;
}

/*
 * Of a few allocations: whose memory the backing store is (ALLOC-010), that no CPU sees it, or that
 * a hardware protects what is in it.
 */
static uint32_t random_backing(struct random *r, uint32_t flags)
{
    const uint32_t others = WORKLOAD_ALLOCATION_PRIMARY | WORKLOAD_ALLOCATION_PERMANENT_SYSMEM |
                            WORKLOAD_ALLOCATION_TILED | WORKLOAD_ALLOCATION_SWIZZLED |
                            WORKLOAD_ALLOCATION_ROWS;

    if (!r->values[CLIENT_MEMORY] || (flags & others) || rng_chance(&r->backing_rng, 2, 3))
        return 0;
    if (!(flags & WORKLOAD_ALLOCATION_CPU_VISIBLE) && rng_chance(&r->backing_rng, 1, 3))
        return rng_chance(&r->backing_rng, 2, 3) ? WORKLOAD_ALLOCATION_PROTECTED
                                                 : WORKLOAD_ALLOCATION_HARDWARE_PROTECTED;
    return rng_chance(&r->backing_rng, 2, 3) ? WORKLOAD_ALLOCATION_EXISTING_SYSMEM
                                             : WORKLOAD_ALLOCATION_EXISTING_KERNEL_SYSMEM;
}

void gen_random_alloc(struct random *r)
{
    static const uint32_t priorities[] = {WORKLOAD_PRIORITY_MIN, WORKLOAD_PRIORITY_LOW,
                                          WORKLOAD_PRIORITY_NORMAL, WORKLOAD_PRIORITY_HIGH,
                                          WORKLOAD_PRIORITY_MAX};
    static const uint8_t choices[][2] = {{WORKLOAD_SEGMENT_LOCAL, WORKLOAD_SEGMENT_APERTURE},
                                         {WORKLOAD_SEGMENT_APERTURE, WORKLOAD_SEGMENT_LOCAL},
                                         {WORKLOAD_SEGMENT_LOCAL, WORKLOAD_SEGMENT_LOCAL}};
    struct workload_allocation_info info = {.size = random_size(r), .flags = random_flags(r)};
    const uint8_t *choice = choices[below(r, ARRAY_COUNT(choices))];

    if (r->values[PINNED] && r->pinned_count < MOST_PINNED && rng_chance(r->rng, 1, 8)) {
        random_pinned(r);
        return;
    }
    info.device = (uint32_t)below(r, r->values[PROCESSES]);
    info.priority = rng_chance(r->rng, 1, 2) ? 0 : priorities[below(r, ARRAY_COUNT(priorities))];
    if (rng_chance(r->rng, 1, 4))
        info.align = PAGE_BYTES << below(r, 5);
    info.segments[0] = choice[0];
    info.segments[1] = choice[1];
    if (info.flags & WORKLOAD_ALLOCATION_USE_ALTERNATE_VA) { /* which is what local memory has */
        info.segments[0] = info.segments[1] = WORKLOAD_SEGMENT_LOCAL;
        info.size = max_u64(info.size, r->values[MAX_SIZE] / 2); /* and what others push out */
    }
    info.segment_count = info.segments[0] == info.segments[1] ? 1 : 2;
    if (r->values[TILED] && info.segment_count == 1 && rng_chance(r->rng, 1, 2))
        info.flags |=
            rng_chance(r->rng, 1, 2) ? WORKLOAD_ALLOCATION_TILED : WORKLOAD_ALLOCATION_SWIZZLED;
    else if (r->values[ROWS] && !(info.flags & WORKLOAD_ALLOCATION_USE_ALTERNATE_VA) &&
             rng_chance(r->rng, 1, 2))
        info.flags |= WORKLOAD_ALLOCATION_ROWS;
    if (r->values[MAPS] && !(info.flags & WORKLOAD_ALLOCATION_NOMAP) && rng_chance(r->rng, 1, 16))
        info.va = fresh_va(r, info.size);
    info.flags |= random_backing(r, info.flags);
    gen_random_add_live(r, &info)->has_alternate_va =
        info.flags & WORKLOAD_ALLOCATION_USE_ALTERNATE_VA;
}

void gen_random_free_live(struct random *r, uint32_t at)
{
    workload_builder_free(r->builder, r->live[at].id);
    r->held_count -= r->live[at].is_held;
    r->pinned_count -= r->live[at].is_pinned;
    r->live[at] = r->live[--r->live_count];
}

void gen_random_free(struct random *r)
{
    gen_random_free_live(r, (uint32_t)below(r, r->live_count));
}

/* A range inside size bytes: the whole in half of the cases. */
void gen_random_range(struct random *r, uint64_t size, uint64_t *offset, uint64_t *length)
{
    *offset = 0;
    *length = size;
    if (rng_chance(r->rng, 1, 2))
        return;
    *offset = below(r, size);
    *length = 1 + below(r, size - *offset);
}

/* An offered allocation is reclaimed before it is used; its content may be gone then. */
void gen_random_reclaim(struct random *r, struct live *live)
{
    if (!live->is_offered)
        return;
    workload_builder_reclaim(r->builder, WORKLOAD_NONE, &live->id, 1);
    live->is_offered = false;
}

void gen_random_cpu_access(struct random *r, bool is_write)
{
    struct live *live = &r->live[below(r, r->live_count)];
    uint64_t offset, length;

    /*
     * A look sets the address up, which then stays (SLT-001): those that have one are looked at
     * most.
     */
    for (uint32_t i = 0; i < r->live_count && !live->has_alternate_va; i++) {
        if (r->live[i].has_alternate_va && rng_chance(r->rng, 1, 4))
            live = &r->live[i];
    }
    if (!live->cpu_visible)
        return;
    gen_random_reclaim(r, live);
    gen_random_range(r, live->size, &offset, &length);
    if (!is_write)
        workload_builder_read(r->builder, live->id, offset, length);
    else
        workload_builder_write(r->builder, live->id, offset, length,
                               rng_chance(r->rng, 1, 4) ? 1 + below(r, 1000) : 0);
}

/* Few allocations are held resident at once: nothing can make room of a held one. */
void gen_random_residency(struct random *r)
{
    uint32_t device = (uint32_t)below(r, r->values[PROCESSES]);
    bool is_evict = rng_chance(r->rng, 1, 2);
    uint32_t ids[4], count = 0;

    for (uint32_t i = 0; i < ARRAY_COUNT(ids); i++) {
        struct live *live = &r->live[below(r, r->live_count)];

        if ((live->device != device && !live->shared) ||
            (!is_evict && !live->is_held && r->held_count >= r->values[HELD]))
            continue;
        if (!is_evict)
            gen_random_reclaim(r, live);
        if (!is_evict && !live->is_held)
            r->held_count++;
        live->is_held |= !is_evict;
        ids[count++] = live->id;
    }
    if (!count)
        return;
    if (!is_evict)
        workload_builder_resident(r->builder, device, ids, count);
    else
        workload_builder_evict(r->builder, device, ids, count);
}

void gen_random_memory(struct random *r)
{
    static const uint32_t priorities[] = {WORKLOAD_PRIORITY_MIN, WORKLOAD_PRIORITY_LOW,
                                          WORKLOAD_PRIORITY_NORMAL, WORKLOAD_PRIORITY_MAX};
    struct live *live = &r->live[below(r, r->live_count)];
    enum workload_segment to;
    uint32_t priority;

    switch (below(r, 8)) {
    case 0:
        workload_builder_priority(r->builder, live->id,
                                  priorities[below(r, ARRAY_COUNT(priorities))]);
        break;
    case 1:
        workload_builder_budget(r->builder, (uint32_t)below(r, r->values[PROCESSES]),
                                rng_chance(r->rng, 1, 3) ? 0 : below(r, 16 * r->values[MAX_SIZE]));
        break;
    case 2:
    case 3:
        /* Held and pinned allocations do not move. */
        if (live->is_offered || live->is_held || live->is_pinned)
            break;
        if (!live->nomap && rng_chance(r->rng, 1, 2)) /* from segment to segment */
            gen_random_use_whole(r, (uint32_t)(live->device * r->values[CONTEXTS]), live);
        to = rng_chance(r->rng, 1, 2) ? WORKLOAD_SEGMENT_LOCAL : WORKLOAD_SEGMENT_LOCAL_INVISIBLE;
        workload_builder_move(r->builder, live->id, to);
        if (rng_chance(r->rng, 1, 2)) /* and where it was, or to the other part at last */
            workload_builder_move(r->builder, live->id,
                                  to == WORKLOAD_SEGMENT_LOCAL ? WORKLOAD_SEGMENT_LOCAL_INVISIBLE
                                                               : WORKLOAD_SEGMENT_LOCAL);
        break;
    case 4:
        gen_random_reclaim(r, live);
        break;
    default:
        if (live->is_offered || live->is_pinned)
            break;
        priority = (uint32_t)below(r, 3);
        if (live->is_over_memory)
            break;
        workload_builder_offer(r->builder, WORKLOAD_NONE, &live->id, 1, priority);
        live->is_offered = true;
        break;
    }
}

/* Never read-only: any mapping may serve any access. */
static uint32_t random_protection(struct random *r)
{
    return rng_chance(r->rng, 1, 2) ? WORKLOAD_PROTECT_NO_EXECUTE : 0;
}

/*
 * Half of what has no mapping of its own has the same unique protection wherever it is mapped
 * (PT-029).
 */
static uint64_t driver_protection_of(const struct live *live, uint64_t otherwise)
{
    return live->nomap && live->id % 2 ? UINT64_C(1) << 63 | live->id : otherwise;
}

void gen_random_map(struct random *r)
{
    struct live *live = &r->live[below(r, r->live_count)];
    uint64_t pages = bytes_to_pages(live->size), first = below(r, pages);
    uint64_t count = 1 + below(r, pages - first), offset = first * PAGE_BYTES;

    if (live->mapped_va) {
        workload_builder_unmap(r->builder, live->id, live->mapped_va);
        live->mapped_va = 0;
        return;
    }
    if (live->nomap && !live->is_mapped) {
        workload_builder_map(r->builder, live->id, WORKLOAD_VA_AUTO, 0, 0, random_protection(r),
                             driver_protection_of(live, 0));
        live->is_mapped = true;
        return;
    }
    live->mapped_va = fresh_va(r, count * PAGE_BYTES);
    workload_builder_map(r->builder, live->id, live->mapped_va, offset,
                         min_u64(count * PAGE_BYTES, live->size - offset), random_protection(r),
                         driver_protection_of(live, live->mapped_va / PAGE_BYTES % 64));
}

void gen_random_pte(struct random *r)
{
    static const uint8_t shifts[] = {12, 16, 21};
    uint32_t process = (uint32_t)below(r, r->values[PROCESSES]);
    uint32_t shift = shifts[below(r, ARRAY_COUNT(shifts))];
    uint64_t pages = (1 + below(r, 8)) << (shift - PAGE_SHIFT_BITS);
    uint64_t va = PTE_BASE + (below(r, 64) << shift);
    bool is_local = rng_chance(r->rng, 1, 2) && shift < 21;
    /* The smallest local memory is 1 MiB; system pages only have a number. */
    uint64_t page = below(r, is_local ? 8 : 4096) << (shift - PAGE_SHIFT_BITS);

    switch (below(r, 8)) {
    case 0:
        workload_builder_vm_reserve(r->builder, process, va, pages * PAGE_BYTES);
        break;
    case 1:
        workload_builder_vm_release(r->builder, process, va, pages * PAGE_BYTES);
        break;
    case 2:
        workload_builder_label(r->builder, process, va, pages * PAGE_BYTES, "a \"label\"");
        break;
    case 3:
    case 4:
        workload_builder_pte_unmap(r->builder, process, va, pages);
        break;
    case 5:
        workload_builder_pte_zero(r->builder, process, va, pages);
        break;
    default:
        workload_builder_pte_map(r->builder, process, va,
                                 is_local ? WORKLOAD_SEGMENT_LOCAL : WORKLOAD_SEGMENT_SYSTEM, page,
                                 pages, shift, (uint32_t)page % 4);
        break;
    }
}

/* A range of tiles: whole ones, the same few again and again. */
static uint64_t random_tiles(struct random *r, uint64_t *out_pages)
{
    *out_pages = TILE_PAGES * (1 + below(r, 8));
    return PTE_BASE + TILE_BYTES * below(r, TILE_SLOTS);
}

void gen_random_tile(struct random *r)
{
    uint32_t device = (uint32_t)below(r, r->values[PROCESSES]);
    uint32_t context = (uint32_t)(device * r->values[CONTEXTS] + below(r, r->values[CONTEXTS]));
    struct live *pool = &r->live[below(r, r->live_count)];
    uint64_t pages, va = random_tiles(r, &pages), from, first, tiles = pool->size / TILE_BYTES;

    switch (below(r, 4)) {
    case 0:
        workload_builder_tile_unmap(r->builder, context, va, pages);
        break;
    case 1:
        from = PTE_BASE + TILE_BYTES * below(r, TILE_SLOTS);
        if (from + pages * PAGE_BYTES <= va || va + pages * PAGE_BYTES <= from)
            workload_builder_tile_copy(r->builder, context, from, va, pages);
        break;
    default:
        if (!tiles || (pool->device != device && (!pool->shared || pool->nomap)) ||
            driver_protection_of(pool, 0)) /* a pool's pages are mapped with another one */
            break;
        gen_random_reclaim(r, pool);
        first = below(r, tiles);
        workload_builder_tile_map(r->builder, context, pool->id, va, first * TILE_PAGES,
                                  min_u64(pages, (tiles - first) * TILE_PAGES));
        break;
    }
}

/*
 * A pool that is in place is shown, and shown once more. Work on it in front and behind: what tiles
 * show is told by what the GPU finds there.
 */
void gen_random_shown_tiles(struct random *r)
{
    struct live *pool = NULL;
    uint64_t tiles, pages;
    uint32_t context;

    for (unsigned tries = 0; tries < 8 && !pool; tries++) {
        struct live *live = &r->live[below(r, r->live_count)];

        if (live->size >= TILE_BYTES && !live->nomap)
            pool = live;
    }
    if (!pool)
        return;
    context = (uint32_t)(pool->device * r->values[CONTEXTS]);
    tiles = min_u64(pool->size / TILE_BYTES, TILE_SLOTS / 2);
    pages = TILE_PAGES * (1 + below(r, tiles));
    gen_random_reclaim(r, pool);
    gen_random_use_whole(r, context, pool);
    workload_builder_tile_map(r->builder, context, pool->id, PTE_BASE, 0, pages);
    workload_builder_tile_copy(r->builder, context, PTE_BASE,
                               PTE_BASE + TILE_BYTES * (TILE_SLOTS / 2), pages);
    gen_random_use_whole(r, context, pool);
}
