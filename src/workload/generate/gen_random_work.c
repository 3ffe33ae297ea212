/* random: work for the GPU, and the order of it. */
#include "workload/generate/gen_random_private.h"

void gen_random_wait_for(struct random *r, uint32_t context)
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
            gen_random_wait_for(r, live->user == MANY ? WORKLOAD_NONE : live->user);
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
void gen_random_discard(struct random *r)
{
    struct live *live = &r->live[below(r, r->live_count)];
    uint32_t context =
        (uint32_t)(live->device * r->values[CONTEXTS] + below(r, r->values[CONTEXTS]));
    uint64_t times = 1 + below(r, 3);

    if (!live->cpu_visible || (live->nomap && !live->is_mapped))
        return;
    gen_random_reclaim(r, live);
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

void gen_random_submit_on(struct random *r, uint32_t context)
{
    uint32_t device = context / (uint32_t)r->values[CONTEXTS];
    uint64_t count = rng_chance(r->rng, 1, 8) ? 0 : 1 + below(r, r->values[REFS]), used = 0;
    struct random_ref refs[MAX_REFS];
    bool is_null;

    for (uint64_t i = 0; i < count; i++) {
        struct random_ref ref = {find_usable(r, device), 1 + (uint32_t)below(r, 3)};

        if (!ref.live)
            continue;
        gen_random_reclaim(r, ref.live);
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

        gen_random_range(r, refs[i].live->size, &offset, &length);
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
        gen_random_reclaim(r, source);
        order_access(r, source, context, false);
    }
    gen_random_reclaim(r, destination);
    order_access(r, destination, context, true);
    workload_builder_submit_begin(r->builder, context, 1 + below(r, 100000));
    workload_builder_present(r->builder, (uint32_t)(1 + below(r, min_u64(rows, 64))));
    if (!is_fill)
        present_ref(r, source, rows, WORKLOAD_ACCESS_READ, 0);
    present_ref(r, destination, rows, WORKLOAD_ACCESS_WRITE,
                is_fill ? 1 + below(r, UINT32_MAX) : 0);
    workload_builder_submit_end(r->builder);
}

void gen_random_submit(struct random *r)
{
    uint32_t context = (uint32_t)below(r, r->values[PROCESSES] * r->values[CONTEXTS]);

    if (r->values[PRESENTS] && rng_chance(r->rng, 1, 4))
        present_on(r, context);
    else
        gen_random_submit_on(r, context);
}

/*
 * Work on the whole of something of the device's; what is done with it next finds it in place, and
 * in use.
 */
void gen_random_use_whole(struct random *r, uint32_t context, struct live *live)
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
void gen_random_fence(struct random *r)
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

void gen_random_wait(struct random *r)
{
    uint64_t count = r->values[PROCESSES] * r->values[CONTEXTS];

    gen_random_wait_for(r, rng_chance(r->rng, 1, 2) ? WORKLOAD_NONE : (uint32_t)below(r, count));
}
