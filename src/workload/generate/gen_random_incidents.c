/* random: what goes wrong with the board, sleeps, is made anew, or is shown. */
#include "workload/generate/gen_random_private.h"

/* Something goes wrong with an engine, or the manager interrupts it. */
void gen_random_incident(struct random *r)
{
    uint32_t node = (uint32_t)below(r, max_u64(r->values[NODES], 2)), context;

    switch (below(r, r->values[PTES] ? 5 : 8)) {
    case 0:
    case 1: /* often of the last packet, whose end nothing else tells */
        context = (uint32_t)below(r, r->values[PROCESSES] * r->values[CONTEXTS]);
        if (rng_chance(r->rng, 1, 2))
            gen_random_wait_for(r, context);
        workload_builder_lose_interrupt(r->builder, context % (uint32_t)r->values[NODES]);
        gen_random_submit_on(r, context);
        gen_random_wait_for(r, context);
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
void gen_random_fault(struct random *r)
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
bool gen_random_removal(struct random *r)
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
void gen_random_sleep(struct random *r)
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
void gen_random_renewal(struct random *r)
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
            gen_random_free_live(r, i);
    }
    for (uint64_t times = 1 + below(r, 4); times; times--)
        workload_builder_renew(r->builder, context, kind);
}

/* A primary of which nothing is said but its size: the kernel makes it, and it is not shown. */
static void random_surface(struct random *r)
{
    const struct workload_allocation_info info = {.size = PAGE_BYTES * (1 + below(r, 8)),
                                                  .device =
                                                      (uint32_t)below(r, r->values[PROCESSES]),
                                                  .flags = WORKLOAD_ALLOCATION_PRIMARY};

    if (r->live_count < r->values[ALLOCATIONS])
        gen_random_add_live(r, &info);
}

/* One of the few that stay where they are anyway is shown, or none. */
void gen_random_show(struct random *r)
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
