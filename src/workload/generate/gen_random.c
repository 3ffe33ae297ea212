/*
 * random: any operation at any time, for stress and for tests.
 *
 * The generator keeps a list of the live allocations and draws each operation from a weighted
 * choice. Each operation is valid, and means the same in every run: where two contexts use one
 * allocation and one of them writes it, the second waits for the first. Nothing refers to an
 * allocation that has no GPU VA. Raw page-table updates and reservations go to GPU VAs from
 * PTE_BASE up, where no memory manager of ours puts a mapping; fixed VAs of allocations and maps
 * go below it, each at a place of its own. Tiles have the addresses of raw updates. A case
 * has either raw updates, or operations that do not go together with them: tiles, save areas at GPU
 * VAs, sleep, and resets, after which nobody could make those updates again.
 */
#include "workload/generate/gen.h"

#include "base/bits.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    OPS,
    ALLOCATIONS,
    MAX_SIZE,
    REFS,
    PROCESSES,
    CONTEXTS,
    NODES,
    MAPS,
    PTES,
    MEMORY,
    FULL,
    HELD,
    TILES,
    INCIDENTS,
    POWER,
    SAVES,
    WISHES,
    TILED,
    ROWS,
    PINNED,
    FENCES,
    DISCARDS,
    FAULTS,
    RENEWALS,
    SHOWS,
    LARGE,
    CLIENT_MEMORY,
    PRESENTS,
    ESCAPES,
    REMOVAL,
};

#define MOST_PINNED  2
#define MOST_RENEWED 24 /* allocations that go with a device or process */
#define MAX_REFS     256
#define LARGE_REFS   1500 /* so many that the commands of one submission go beyond 32 KiB */
#define MOST_HELD    64

#define MOST_FENCES  6
#define FENCES_LEAVE 2 /* of the setting */

const struct workload_param gen_random_params[] = {
    {"ops", NULL, 2000, 1, 100000000, "operations"},
    {"allocations", NULL, 128, 1, 1000000, "allocations alive at once, at most"},
    {"max-size", NULL, 512 * KiB, 1, 1 * GiB, "largest allocation"},
    {"refs", NULL, 4, 1, MAX_REFS, "references of one submission, at most"},
    {"processes", NULL, 2, 1, 64, "processes, one device each"},
    {"contexts", NULL, 2, 1, 16, "contexts of each device"},
    {"nodes", NULL, 2, 1, WORKLOAD_MAX_NODES, "engines that the contexts are on"},
    {"maps", "no|yes", 1, 0, 0, "map and unmap lines, allocations with nomap or a fixed va"},
    {"ptes", "no|yes", 0, 0, 0, "pte, vm-reserve and vm-release lines"},
    {"memory", "no|yes", 1, 0, 0, "offer, reclaim, priority, budget and move lines"},
    {"full", "no|yes", 0, 0, 0, "as many allocations alive as there may be"},
    {"held", NULL, 4, 0, MOST_HELD, "allocations that resident lines hold at once, at most"},
    {"tiles", "no|yes", 0, 0, 0, "tile lines, where there are no pte lines"},
    {"incidents", "no|yes", 0, 0, 0, "hang, lose-interrupt, preempt and reset lines"},
    {"power", "no|yes", 0, 0, 0, "power and switch-domain lines"},
    {"saves", "no|yes", 0, 0, 0, "context-save areas"},
    {"wishes", "no|yes", 0, 0, 0, "alternate VAs, permanent system memory, no large pages, ..."},
    {"tiled", "no|yes", 1, 0, 0, "allocations that are tiled or swizzled in local memory"},
    {"rows", "no|yes", 0, 0, 0, "surfaces of rows, which have a pitch on some boards"},
    {"pinned", "no|yes", 0, 0, 0, "small allocations that are pinned once they are resident"},
    {"fences", "no|yes|leave", 0, 0, 0,
     "native fences, signalled by submissions and waited for; `leave`: and sent out of segments"},
    {"discards", "no|yes", 0, 0, 0, "writes with discard, mostly of what a submission uses"},
    {"faults", "no|yes", 0, 0, 0, "fault lines, where there are no pte lines"},
    {"renewals", "no|yes", 0, 0, 0, "contexts, devices and processes that are made anew"},
    {"shows", "no|yes", 0, 0, 0, "primaries that a display shows"},
    {"large", NULL, 0, 0, 6 * GiB, "size of two allocations that are moved in the end; 0: none"},
    {"client-memory", "no|yes", 0, 0, 0, "allocations over memory of the client's, protected ones"},
    {"presents", "no|yes", 0, 0, 0, "submissions that are presents"},
    {"escapes", "no|yes", 0, 0, 0, "escapes, with data that most drivers do not know"},
    {"removal", NULL, 0, 0, 100000000,
     "operations in front of which the board is pulled out; 0: it is not"},
    {NULL, NULL, 0, 0, 0, NULL},
};

#define VA_BASE  UINT64_C(0x1000000000) /* fixed VAs */
#define PTE_BASE UINT64_C(0x4000000000)

#define TILE_BYTES UINT64_C(0x10000)
#define TILE_PAGES (TILE_BYTES / PAGE_BYTES)
#define TILE_SLOTS 48 /* from PTE_BASE on: few, so that tiles meet */

/* A native fence; signalled by one context, so that its values rise. */
struct random_fence {
    bool is_live;
    uint32_t context;
    uint64_t value; /* signalled last */
};

struct random {
    struct gen *gen;
    struct workload_builder *builder;
    struct rng *rng;
    struct rng backing_rng; /* of whose memory allocations are made over, and of nothing else */
    struct rng escape_rng;  /* of where escapes are, and what they are */
    const uint64_t *values;
    struct live *live;
    uint32_t live_count, made, held_count, pinned_count;
    uint64_t next_va;
    uint64_t *waits; /* per context: waits for it so far; the last one: for all */
    struct random_fence fences[MOST_FENCES];
};

struct live {
    uint32_t id, device;
    uint64_t size;
    bool shared, cpu_visible, nomap, written;
    bool has_alternate_va;
    bool is_offered;
    bool is_pinned;
    bool is_over_memory; /* of the client's */
    bool is_held;        /* by a resident line, since it was allocated */
    bool is_mapped;      /* nomap: by a map line of the whole */
    uint64_t mapped_va;  /* of a map line with a VA of its own; 0: none */
    uint32_t user;       /* context that used it last, MANY, or WORKLOAD_NONE */
    uint64_t user_wait;  /* waits[user] then: when it has grown, nothing is under way any more */
};

#define MANY         (WORKLOAD_NONE - 1)
#define MAX_CONTEXTS (64 * 16)

static uint64_t below(struct random *r, uint64_t bound)
{
    return rng_below(r->rng, bound);
}

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

static struct live *add_live(struct random *r, const struct workload_allocation_info *info)
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
    add_live(r, &info)->is_pinned = true;
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

static void random_alloc(struct random *r)
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
    add_live(r, &info)->has_alternate_va = info.flags & WORKLOAD_ALLOCATION_USE_ALTERNATE_VA;
}

static void free_live(struct random *r, uint32_t at)
{
    workload_builder_free(r->builder, r->live[at].id);
    r->held_count -= r->live[at].is_held;
    r->pinned_count -= r->live[at].is_pinned;
    r->live[at] = r->live[--r->live_count];
}

static void random_free(struct random *r)
{
    free_live(r, (uint32_t)below(r, r->live_count));
}

/* A range inside size bytes: the whole in half of the cases. */
static void random_range(struct random *r, uint64_t size, uint64_t *offset, uint64_t *length)
{
    *offset = 0;
    *length = size;
    if (rng_chance(r->rng, 1, 2))
        return;
    *offset = below(r, size);
    *length = 1 + below(r, size - *offset);
}

/* An offered allocation is reclaimed before it is used; its content may be gone then. */
static void reclaim(struct random *r, struct live *live)
{
    if (!live->is_offered)
        return;
    workload_builder_reclaim(r->builder, WORKLOAD_NONE, &live->id, 1);
    live->is_offered = false;
}

static void random_cpu_access(struct random *r, bool is_write)
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
    reclaim(r, live);
    random_range(r, live->size, &offset, &length);
    if (!is_write)
        workload_builder_read(r->builder, live->id, offset, length);
    else
        workload_builder_write(r->builder, live->id, offset, length,
                               rng_chance(r->rng, 1, 4) ? 1 + below(r, 1000) : 0);
}

static void wait_for(struct random *r, uint32_t context)
{
    uint64_t count = r->values[PROCESSES] * r->values[CONTEXTS];

    workload_builder_wait(r->builder, context);
    if (context != WORKLOAD_NONE) {
        r->waits[context]++;
        return;
    }
    for (uint64_t i = 0; i <= count; i++)
        r->waits[i]++;
}

/* Waits for whoever uses the allocation now, if the new access could meet that one. */
static void order_access(struct random *r, struct live *live, uint32_t context, bool writes)
{
    uint64_t all = r->values[PROCESSES] * r->values[CONTEXTS];
    uint64_t place = live->user == MANY ? all : live->user;
    bool is_used = live->user != WORKLOAD_NONE && r->waits[place] == live->user_wait;

    if (!is_used)
        live->written = false;
    if (is_used && live->user != context) {
        if (writes || live->written) {
            wait_for(r, live->user == MANY ? WORKLOAD_NONE : live->user);
            live->written = false;
        } else {
            context = MANY; /* readers of several contexts */
        }
    }
    live->user = context;
    live->user_wait = r->waits[context == MANY ? all : context];
    live->written |= writes;
}

/*
 * The whole of it anew, behind a submission that reads it and, as often as not, has not ended. What
 * is beside a write with discard is undefined, and so nothing that the next reads would be checked
 * by.
 */
static void random_discard(struct random *r)
{
    struct live *live = &r->live[below(r, r->live_count)];
    uint32_t context =
        (uint32_t)(live->device * r->values[CONTEXTS] + below(r, r->values[CONTEXTS]));
    uint64_t times = 1 + below(r, 3);

    if (!live->cpu_visible || (live->nomap && !live->is_mapped))
        return;
    reclaim(r, live);
    for (uint64_t i = 0; i < times; i++) {
        order_access(r, live, context, false);
        workload_builder_submit_begin(r->builder, context, 1 + below(r, 100000));
        workload_builder_ref(r->builder, live->id, 0, live->size, WORKLOAD_ACCESS_READ, 0);
        workload_builder_submit_end(r->builder);
        workload_builder_add(r->builder,
                             &(struct workload_op){.kind = WORKLOAD_OP_WRITE,
                                                   .object = live->id,
                                                   .flags = WORKLOAD_WRITE_DISCARD},
                             NULL, 0);
    }
}

struct random_ref {
    struct live *live;
    uint32_t access;
};

/* Behind the work of the submission that is open. */
static void random_signal(struct random *r, uint32_t context)
{
    struct random_fence *fence = &r->fences[below(r, MOST_FENCES)];

    if (!fence->is_live || fence->context != context)
        return;
    fence->value += 1 + below(r, 3);
    workload_builder_signal(r->builder, (uint64_t)(fence - r->fences), fence->value);
}

/* An allocation that the device may use; NULL: a few looks have found none. */
static struct live *find_usable(struct random *r, uint32_t device)
{
    for (unsigned tries = 0; tries < 4 && r->live_count; tries++) {
        struct live *live = &r->live[below(r, r->live_count)];

        if ((live->device == device || (live->shared && !live->nomap)) &&
            (!live->nomap || live->is_mapped))
            return live;
    }
    return NULL;
}

static void submit_on(struct random *r, uint32_t context)
{
    uint32_t device = context / (uint32_t)r->values[CONTEXTS];
    uint64_t count = rng_chance(r->rng, 1, 8) ? 0 : 1 + below(r, r->values[REFS]), used = 0;
    struct random_ref refs[MAX_REFS];
    bool is_null;

    for (uint64_t i = 0; i < count; i++) {
        struct random_ref ref = {find_usable(r, device), 1 + (uint32_t)below(r, 3)};

        if (!ref.live)
            continue;
        reclaim(r, ref.live);
        order_access(r, ref.live, context, (ref.access & WORKLOAD_ACCESS_WRITE) != 0);
        refs[used++] = ref;
    }
    /* An order_access() for a later reference may have waited for this context: harmless. */
    workload_builder_submit_begin(r->builder, context,
                                  rng_chance(r->rng, 1, 8) ? 0 : 1 + below(r, 100000));
    is_null = rng_chance(r->rng, 1, 24);
    if (is_null)
        workload_builder_null(r->builder);
    for (uint64_t i = 0; i < used; i++) {
        uint64_t offset, length, key = 0;

        random_range(r, refs[i].live->size, &offset, &length);
        if ((refs[i].access & WORKLOAD_ACCESS_WRITE) && rng_chance(r->rng, 1, 8))
            key = 1 + below(r, 1000);
        workload_builder_ref(r->builder, refs[i].live->id, offset, length, refs[i].access, key);
        /* A wait between has made what order_access() noted look finished. */
        refs[i].live->user_wait =
            r->waits[refs[i].live->user == MANY ? r->values[PROCESSES] * r->values[CONTEXTS]
                                                : refs[i].live->user];
    }
    if (r->values[FENCES] && !is_null) /* what does not run signals nothing */
        random_signal(r, context);
    workload_builder_submit_end(r->builder);
}

/* A part of a reference's rows, from a page on. */
static void present_ref(struct random *r, struct live *live, uint64_t rows, uint32_t access,
                        uint64_t key)
{
    uint64_t first = below(r, live->size / PAGE_BYTES - rows + 1);

    workload_builder_ref(r->builder, live->id, first * PAGE_BYTES, rows * PAGE_BYTES, access, key);
    live->user_wait =
        r->waits[live->user == MANY ? r->values[PROCESSES] * r->values[CONTEXTS] : live->user];
}

/* Rows of one allocation to another one, or of a color; nothing where there are no two. */
static void present_on(struct random *r, uint32_t context)
{
    uint32_t device = context / (uint32_t)r->values[CONTEXTS];
    struct live *source = find_usable(r, device), *destination = find_usable(r, device);
    bool is_fill = rng_chance(r->rng, 1, 4);
    uint64_t rows;

    if (!source || !destination || (source == destination && !is_fill))
        return;
    rows = (is_fill ? destination->size : min_u64(source->size, destination->size)) / PAGE_BYTES;
    if (!rows)
        return;
    rows = 1 + below(r, rows);
    if (!is_fill) {
        reclaim(r, source);
        order_access(r, source, context, false);
    }
    reclaim(r, destination);
    order_access(r, destination, context, true);
    workload_builder_submit_begin(r->builder, context, 1 + below(r, 100000));
    workload_builder_present(r->builder, (uint32_t)(1 + below(r, min_u64(rows, 64))));
    if (!is_fill)
        present_ref(r, source, rows, WORKLOAD_ACCESS_READ, 0);
    present_ref(r, destination, rows, WORKLOAD_ACCESS_WRITE,
                is_fill ? 1 + below(r, UINT32_MAX) : 0);
    workload_builder_submit_end(r->builder);
}

static void random_submit(struct random *r)
{
    uint32_t context = (uint32_t)below(r, r->values[PROCESSES] * r->values[CONTEXTS]);

    if (r->values[PRESENTS] && rng_chance(r->rng, 1, 4))
        present_on(r, context);
    else
        submit_on(r, context);
}

/*
 * Work on the whole of something of the device's; what is done with it next finds it in place, and
 * in use.
 */
static void use_whole(struct random *r, uint32_t context, struct live *live)
{
    order_access(r, live, context, true);
    workload_builder_submit_begin(r->builder, context, 1 + below(r, 1000));
    workload_builder_ref(r->builder, live->id, 0, live->size,
                         WORKLOAD_ACCESS_READ | WORKLOAD_ACCESS_WRITE, 0);
    workload_builder_submit_end(r->builder);
}

/*
 * A fence line. A wait is for a value whose signal has been submitted. No line expects a value:
 * after a reset the fence may have an older one, and a wait for a lost signal is given up.
 */
static void play_fence(struct random *r)
{
    static const uint64_t first_values[4] = {0, UINT32_MAX - 3, 0, UINT64_C(1) << 40};
    uint32_t index = (uint32_t)below(r, MOST_FENCES);
    struct random_fence *fence = &r->fences[index];

    if (!fence->is_live) {
        fence->is_live = true;
        fence->context = (uint32_t)below(r, r->values[PROCESSES] * r->values[CONTEXTS]);
        fence->value = first_values[index % 4] + below(r, 4);
        workload_builder_fence_create(r->builder, fence->context / (uint32_t)r->values[CONTEXTS],
                                      index, fence->value);
        return;
    }
    switch (below(r, 8)) {
    case 0:
        workload_builder_fence_destroy(r->builder, index);
        fence->is_live = false;
        break;
    case 1:
        if (r->values[FENCES] == FENCES_LEAVE && index % 2)
            workload_builder_evict_fences(r->builder);
        else
            workload_builder_pack_fences(r->builder);
        break;
    case 2:
    case 3:
    case 4: /* somebody waits already when it is signalled */
        fence->value++;
        workload_builder_submit_begin(r->builder, fence->context, 1000 + below(r, 100000));
        workload_builder_signal(r->builder, index, fence->value);
        workload_builder_submit_end(r->builder);
        workload_builder_fence_wait(r->builder, index, fence->value);
        break;
    default:
        workload_builder_fence_wait(r->builder, index,
                                    fence->value - below(r, min_u64(fence->value, 2) + 1));
        break;
    }
}

/* Few allocations are held resident at once: nothing can make room of a held one. */
static void random_residency(struct random *r)
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
            reclaim(r, live);
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

static void random_memory(struct random *r)
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
            use_whole(r, (uint32_t)(live->device * r->values[CONTEXTS]), live);
        to = rng_chance(r->rng, 1, 2) ? WORKLOAD_SEGMENT_LOCAL : WORKLOAD_SEGMENT_LOCAL_INVISIBLE;
        workload_builder_move(r->builder, live->id, to);
        if (rng_chance(r->rng, 1, 2)) /* and where it was, or to the other part at last */
            workload_builder_move(r->builder, live->id,
                                  to == WORKLOAD_SEGMENT_LOCAL ? WORKLOAD_SEGMENT_LOCAL_INVISIBLE
                                                               : WORKLOAD_SEGMENT_LOCAL);
        break;
    case 4:
        reclaim(r, live);
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

static void random_map(struct random *r)
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

static void random_pte(struct random *r)
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

static void random_tile(struct random *r)
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
        reclaim(r, pool);
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
static void random_shown_tiles(struct random *r)
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
    reclaim(r, pool);
    use_whole(r, context, pool);
    workload_builder_tile_map(r->builder, context, pool->id, PTE_BASE, 0, pages);
    workload_builder_tile_copy(r->builder, context, PTE_BASE,
                               PTE_BASE + TILE_BYTES * (TILE_SLOTS / 2), pages);
    use_whole(r, context, pool);
}

/* Something goes wrong with an engine, or the manager interrupts it. */
static void random_incident(struct random *r)
{
    uint32_t node = (uint32_t)below(r, max_u64(r->values[NODES], 2)), context;

    switch (below(r, r->values[PTES] ? 5 : 8)) {
    case 0:
    case 1: /* often of the last packet, whose end nothing else tells */
        context = (uint32_t)below(r, r->values[PROCESSES] * r->values[CONTEXTS]);
        if (rng_chance(r->rng, 1, 2))
            wait_for(r, context);
        workload_builder_lose_interrupt(r->builder, context % (uint32_t)r->values[NODES]);
        submit_on(r, context);
        wait_for(r, context);
        break;
    case 2:
    case 3:
    case 4:
        workload_builder_preempt(r->builder, node);
        break;
    case 5:
        workload_builder_reset(r->builder);
        break;
    default:
        workload_builder_hang(r->builder, node, below(r, 8), rng_chance(r->rng, 1, 3));
        break;
    }
}

/*
 * A context reaches what it may not. The reset that follows may be one of the whole adapter, behind
 * which nobody could make raw page-table updates again.
 */
static void random_fault(struct random *r)
{
    uint32_t context = (uint32_t)below(r, r->values[PROCESSES] * r->values[CONTEXTS]);

    workload_builder_fault(r->builder, context, (enum workload_fault)below(r, WORKLOAD_FAULT_COUNT),
                           rng_chance(r->rng, 1, 2));
}

static const enum workload_power powers[] = {WORKLOAD_POWER_STANDBY, WORKLOAD_POWER_HIBERNATE,
                                             WORKLOAD_POWER_D3};

/*
 * The board is pulled out: soon, while the case goes on, or, of every second case, in a sleep that
 * is its end. False: it is. Nothing else of the case depends on it.
 */
static bool random_removal(struct random *r)
{
    struct rng rng;

    rng_fork(&r->gen->rng, REMOVAL, &rng);
    if (rng_chance(&rng, 1, 2)) {
        workload_builder_remove(r->builder,
                                1 + rng_below(&rng, UINT64_C(1) << rng_below(&rng, 21)));
        return true;
    }
    workload_builder_power(r->builder, powers[rng_below(&rng, ARRAY_COUNT(powers))]);
    workload_builder_remove(r->builder, 0);
    return false;
}

/* Operations for which everything drains: a sleep, or another domain of the IOMMU. */
static void random_sleep(struct random *r)
{
    uint64_t kind = below(r, ARRAY_COUNT(powers) + 1);
    const struct live *locked = r->live_count ? &r->live[below(r, r->live_count)] : NULL;
    bool ends_asleep = rng_chance(r->rng, 1, 4);

    if (kind == ARRAY_COUNT(powers)) {
        workload_builder_switch_domain(r->builder, 1 + below(r, 100000));
        return;
    }
    /* Every third sleep comes while the CPU has access to an allocation. */
    if (!locked || !locked->cpu_visible || locked->is_offered || rng_chance(r->rng, 2, 3))
        locked = NULL;
    if (locked)
        workload_builder_lock(r->builder, locked->id);
    workload_builder_power(r->builder, powers[kind]);
    if (locked && ends_asleep)
        workload_builder_unlock(r->builder, locked->id);
    workload_builder_power(r->builder, WORKLOAD_POWER_ON);
    if (locked && !ends_asleep) {
        workload_builder_read(r->builder, locked->id, 0, 0);
        workload_builder_unlock(r->builder, locked->id);
    }
}

static bool is_gone_with(const struct live *live, uint32_t device, enum workload_renewal kind)
{
    return kind != WORKLOAD_RENEW_CONTEXT &&
           (live->device == device || (kind == WORKLOAD_RENEW_PROCESS && live->shared));
}

/* A context alone; or, where few allocations go with it, its device or process. */
static void random_renewal(struct random *r)
{
    uint32_t context = (uint32_t)below(r, r->values[PROCESSES] * r->values[CONTEXTS]);
    uint32_t device = context / (uint32_t)r->values[CONTEXTS], count = 0;
    bool has_marks = r->values[PTES] || r->values[TILES] || r->values[FENCES];
    enum workload_renewal kind =
        (enum workload_renewal)below(r, has_marks ? WORKLOAD_RENEW_PROCESS : 3);

    for (uint32_t i = 0; i < r->live_count; i++)
        count += is_gone_with(&r->live[i], device, kind);
    if (count > MOST_RENEWED)
        kind = WORKLOAD_RENEW_CONTEXT;
    for (uint32_t i = r->live_count; i-- > 0;) {
        if (is_gone_with(&r->live[i], device, kind))
            free_live(r, i);
    }
    for (uint64_t times = 1 + below(r, 4); times; times--)
        workload_builder_renew(r->builder, context, kind);
}

static void random_wait(struct random *r)
{
    uint64_t count = r->values[PROCESSES] * r->values[CONTEXTS];

    wait_for(r, rng_chance(r->rng, 1, 2) ? WORKLOAD_NONE : (uint32_t)below(r, count));
}

/* A primary of which nothing is said but its size: the kernel makes it, and it is not shown. */
static void random_surface(struct random *r)
{
    const struct workload_allocation_info info = {.size = PAGE_BYTES * (1 + below(r, 8)),
                                                  .device =
                                                      (uint32_t)below(r, r->values[PROCESSES]),
                                                  .flags = WORKLOAD_ALLOCATION_PRIMARY};

    if (r->live_count < r->values[ALLOCATIONS])
        add_live(r, &info);
}

/* One of the few that stay where they are anyway is shown, or none. */
static void random_show(struct random *r)
{
    uint32_t first = (uint32_t)below(r, r->live_count);

    if (rng_chance(r->rng, 1, 6)) {
        workload_builder_hide(r->builder);
        return;
    }
    if (rng_chance(r->rng, 1, 5)) {
        random_surface(r);
        return;
    }
    for (uint32_t i = 0; i < r->live_count; i++) {
        const struct live *live = &r->live[(first + i) % r->live_count];

        if (!live->is_pinned)
            continue;
        workload_builder_show(r->builder, live->id);
        return;
    }
}

static void random_op(struct random *r, uint64_t index)
{
    uint64_t dice = below(r, 100);
    char text[32];

    if (r->live_count == 0 ||
        (dice < (r->values[FULL] ? 70u : 18u) && r->live_count < r->values[ALLOCATIONS]))
        random_alloc(r);
    else if (dice < 28)
        random_free(r);
    else if (dice < 37 && r->values[DISCARDS] && rng_chance(r->rng, 1, 3))
        random_discard(r);
    else if (dice < 37)
        random_cpu_access(r, true);
    else if (dice < 45)
        random_cpu_access(r, false);
    else if (dice < 82)
        random_submit(r);
    else if (dice < 87 && r->values[FENCES] && rng_chance(r->rng, 1, 2))
        play_fence(r);
    else if (dice < 87)
        random_wait(r);
    else if (dice < 90 && r->values[SHOWS])
        random_show(r);
    else if (dice < 92 && rng_chance(r->rng, 1, 2) && r->values[MEMORY])
        random_memory(r);
    else if (dice < 92)
        random_residency(r);
    else if (dice < 95 && r->values[MAPS])
        random_map(r);
    else if (dice == 97 && r->values[RENEWALS])
        random_renewal(r);
    else if (dice < 98 && r->values[PTES])
        random_pte(r);
    else if (dice < 98 && r->values[TILES] && !r->values[PTES])
        dice >= 96 ? random_shown_tiles(r) : random_tile(r);
    else if (dice == 98 && r->values[POWER] && rng_chance(r->rng, 1, 2))
        random_sleep(r);
    else if (dice >= 98 && r->values[FAULTS] && !r->values[PTES] && rng_chance(r->rng, 1, 2))
        random_fault(r);
    else if (dice >= 98 && r->values[INCIDENTS] && rng_chance(r->rng, 3, 4))
        random_incident(r);
    else if (dice == 98) {
        snprintf(text, sizeof text, "phase %u", (unsigned)index);
        workload_builder_step(r->builder, text);
    } else if (dice == 99) {
        workload_builder_note(r->builder, "a note with a \\ and a \" in it");
    }
}

/* Behind one of some operations: all else of the case stays as it is without escapes. */
static void random_escape(struct random *r)
{
    const uint64_t contexts = r->values[PROCESSES] * r->values[CONTEXTS];

    if (rng_chance(&r->escape_rng, 1, 12))
        gen_escape(r->gen, &r->escape_rng, (uint32_t)rng_below(&r->escape_rng, contexts));
}

/* A save area of few pages, for two of three contexts. */
static void random_save_area(struct random *r, uint32_t context)
{
    bool is_shared = rng_chance(r->rng, 1, 4);
    struct workload_save_area save = {.bytes = 64 + 8 * below(r, 8 * KiB),
                                      .has_cpu_image = rng_chance(r->rng, 1, 4),
                                      .is_local = rng_chance(r->rng, 1, 2),
                                      .is_mapped = rng_chance(r->rng, 1, 2) && !r->values[PTES]};

    if (is_shared) /* all of them alike */
        save = (struct workload_save_area){.bytes = 20 * KiB, .is_shared = true};
    if (rng_chance(r->rng, 2, 3))
        workload_builder_save_area(r->builder, context, &save);
}

#define FAR_BYTES (16 * PAGE_BYTES)

/* Where operations are as long as can be: pages are neighbours, and pieces large. */
static void set_large(struct random *r)
{
    static const char *const options[][2] = {
        {"scatter", "no"}, {"paging-buffer", "64K"}, {"transfer-piece", "1G"}, {"scratch", "256M"}};

    static const char *const far[][2] = {
        {"scatter", "no"},         {"paging-buffer", "64K"},          {"scratch", "24G"},
        {"transfer-piece", "16G"}, {"link-bandwidth", "15754000000"}, /* within 2 s */
        {"system-memory", "32G"}};
    bool is_far = r->values[LARGE] > GiB;

    for (size_t i = 0; i < (is_far ? ARRAY_COUNT(far) : ARRAY_COUNT(options)); i++)
        workload_builder_option(r->builder, is_far ? far[i][0] : options[i][0],
                                is_far ? far[i][1] : options[i][1]);
}

/*
 * Two allocations that push each other out of local memory. The last submission has more references
 * than 32 KiB of commands hold.
 */
static void random_large(struct random *r)
{
    const struct workload_allocation_info info = {
        .size = r->values[LARGE], .segments = {WORKLOAD_SEGMENT_LOCAL}, .segment_count = 1};
    uint32_t ids[2];

    workload_builder_wait(r->builder, WORKLOAD_NONE);
    for (unsigned i = 0; i < 2; i++) {
        ids[i] = workload_builder_alloc(r->builder, i ? "large1" : "large0", &info);
        workload_builder_submit_begin(r->builder, 0, 1000);
        if (info.size > 4 * GiB) { /* little is written: what all is filled with tells the rest */
            workload_builder_ref(r->builder, ids[i], 0, FAR_BYTES, WORKLOAD_ACCESS_WRITE, 0);
            workload_builder_ref(r->builder, ids[i], 4 * GiB, FAR_BYTES, WORKLOAD_ACCESS_WRITE, 0);
            workload_builder_ref(r->builder, ids[i], info.size - FAR_BYTES, FAR_BYTES,
                                 WORKLOAD_ACCESS_WRITE, 0);
        } else {
            workload_builder_ref(r->builder, ids[i], 0, info.size, WORKLOAD_ACCESS_WRITE, 0);
        }
        workload_builder_submit_end(r->builder);
        workload_builder_wait(r->builder, WORKLOAD_NONE);
    }
    workload_builder_submit_begin(r->builder, 0, 1000);
    for (uint64_t i = 0; i < min_u64(LARGE_REFS, info.size / PAGE_BYTES); i++)
        workload_builder_ref(r->builder, ids[0], i * PAGE_BYTES, PAGE_BYTES, WORKLOAD_ACCESS_READ,
                             0);
    if (info.size > 4 * GiB) { /* what has an offset of more than 32 bits has come back, too */
        workload_builder_ref(r->builder, ids[0], 4 * GiB, FAR_BYTES, WORKLOAD_ACCESS_READ, 0);
        workload_builder_ref(r->builder, ids[0], info.size - FAR_BYTES, FAR_BYTES,
                             WORKLOAD_ACCESS_READ, 0);
    }
    workload_builder_submit_end(r->builder);
}

void gen_random(struct gen *gen, const uint64_t *values)
{
    struct random r = {.gen = gen,
                       .builder = gen->builder,
                       .rng = &gen->rng,
                       .values = values,
                       .next_va = VA_BASE};
    uint64_t waits[MAX_CONTEXTS + 1] = {0};
    bool goes_on = true;
    char name[32];

    rng_fork(&gen->rng, CLIENT_MEMORY, &r.backing_rng);
    rng_fork(&gen->rng, ESCAPES, &r.escape_rng);
    r.waits = waits;
    r.live = calloc(values[ALLOCATIONS] + 1, sizeof *r.live);
    if (!r.live) {
        workload_builder_fail(gen->builder, "out of memory");
        return;
    }
    workload_builder_name(gen->builder, "random operations");
    snprintf(name, sizeof name, "%u", (unsigned)max_u64(values[NODES], 2)); /* of the GPU */
    workload_builder_option(gen->builder, "nodes", name);
    if (values[LARGE])
        set_large(&r);
    for (unsigned p = 0; p < values[PROCESSES]; p++) {
        snprintf(name, sizeof name, "p%u", p);
        workload_builder_process(gen->builder, name);
    }
    for (unsigned p = 0; p < values[PROCESSES]; p++) {
        snprintf(name, sizeof name, "d%u", p);
        workload_builder_device(gen->builder, name, p);
    }
    for (unsigned c = 0; c < values[PROCESSES] * values[CONTEXTS]; c++) {
        snprintf(name, sizeof name, "c%u", c);
        workload_builder_context(gen->builder, name, c / (unsigned)values[CONTEXTS],
                                 c % (unsigned)values[NODES]);
        if (values[SAVES])
            random_save_area(&r, c);
    }
    for (uint64_t i = 0; i < values[OPS] && goes_on && !workload_builder_failed(gen->builder);
         i++) {
        if (values[REMOVAL] && i == values[REMOVAL])
            goes_on = random_removal(&r);
        if (goes_on)
            random_op(&r, i);
        if (goes_on && values[ESCAPES])
            random_escape(&r);
    }
    if (values[LARGE] && goes_on)
        random_large(&r);
    free(r.live);
}
