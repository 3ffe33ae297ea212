/*
 * What the files of the random generator share: its settings, what it knows of the case so far, and
 * the operations that it draws from.
 *
 * | file                     | operations                                                      |
 * | ------------------------ | --------------------------------------------------------------- |
 * | gen_random.c             | which one comes next; how a case begins and ends               |
 * | gen_random_allocations.c | allocations: made, freed, looked at, held, moved, mapped, tiles |
 * | gen_random_work.c        | submissions, presents, fences, and who waits for whom           |
 * | gen_random_incidents.c   | what goes wrong, sleeps, is made anew, or is shown              |
 */
#ifndef DRYDOCK_WORKLOAD_GEN_RANDOM_PRIVATE_H
#define DRYDOCK_WORKLOAD_GEN_RANDOM_PRIVATE_H

#include "workload/generate/gen.h"

#include "base/bits.h"

/* Places of the settings, in the order of gen_random_params. */
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
    MONITORS,
};

#define MOST_PINNED  2
#define MOST_RENEWED 24 /* allocations that go with a device or process */
#define MAX_REFS     256
#define LARGE_REFS   1500 /* so many that the commands of one submission go beyond 32 KiB */
#define MOST_HELD    64

#define MOST_FENCES  6
#define FENCES_LEAVE 2 /* of the setting */

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
    struct rng monitor_rng; /* of where monitors come and go */
    bool is_unplugged;      /* the monitor */
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

static inline uint64_t below(struct random *r, uint64_t bound)
{
    return rng_below(r->rng, bound);
}

/* ---- gen_random_allocations.c ---------------------------------------------------------------- */

struct live *gen_random_add_live(struct random *r, const struct workload_allocation_info *info);
void gen_random_alloc(struct random *r);
void gen_random_free_live(struct random *r, uint32_t at);
void gen_random_free(struct random *r);
/* A range inside size bytes: the whole in half of the cases. */
void gen_random_range(struct random *r, uint64_t size, uint64_t *offset, uint64_t *length);
/* Of what is offered, before it is used. */
void gen_random_reclaim(struct random *r, struct live *live);
void gen_random_cpu_access(struct random *r, bool is_write);
void gen_random_residency(struct random *r);
void gen_random_memory(struct random *r);
void gen_random_map(struct random *r);
void gen_random_pte(struct random *r);
void gen_random_tile(struct random *r);
void gen_random_shown_tiles(struct random *r);

/* ---- gen_random_work.c ----------------------------------------------------------------------- */

/* WORKLOAD_NONE: for all contexts. */
void gen_random_wait_for(struct random *r, uint32_t context);
void gen_random_discard(struct random *r);
void gen_random_submit_on(struct random *r, uint32_t context);
void gen_random_submit(struct random *r);
void gen_random_use_whole(struct random *r, uint32_t context, struct live *live);
void gen_random_fence(struct random *r);
void gen_random_wait(struct random *r);

/* ---- gen_random_incidents.c ------------------------------------------------------------------ */

void gen_random_incident(struct random *r);
void gen_random_fault(struct random *r);
/* False: the case ends with it. */
bool gen_random_removal(struct random *r);
void gen_random_sleep(struct random *r);
void gen_random_renewal(struct random *r);
void gen_random_show(struct random *r);

#endif
