#include "bench/measure/residency_bench.h"

#include "bench/measure/live_manager.h"
#include "bench/measure/null_driver.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/rng.h"

#include <drydock/sgpu.h>

#include <stdlib.h>

#define BATCH            64u
#define RESIDENCY_LISTS  400u /* a slice */
#define RESIDENCY_SLICES 31u
#define PRESSURE_LISTS   40u
#define PRESSURE_SLICES  21u

/* ---- The peer: an LRU of the application's ---- */

struct lru_object {
    struct list link;
    uint64_t bytes;
    uint64_t fence, time; /* of the last use */
    uint32_t sets;        /* which command lists have it */
    bool is_resident;
};

struct lru {
    struct lru_object *objects;
    struct list resident;
    uint64_t fence, time;
    uint64_t free_bytes;
    uint64_t pairs; /* objects that came in for others that left */
};

/* Those that were used longest ago leave until there is room. */
static void lru_make_resident(struct lru *lru, struct lru_object *object)
{
    while (lru->free_bytes < object->bytes) {
        struct lru_object *victim =
            container_of(list_pop_front(&lru->resident), struct lru_object, link);

        victim->is_resident = false;
        lru->free_bytes += victim->bytes;
        lru->pairs++;
    }
    lru->free_bytes -= object->bytes;
    object->is_resident = true;
}

static void lru_execute(struct lru *lru, unsigned count, struct lru_object *const *references)
{
    struct lru_object *set[RESIDENCY_REFERENCES];
    unsigned set_count = 0;

    for (unsigned i = 0; i < count; i++) {
        if (references[i]->sets & 1)
            continue;
        references[i]->sets |= 1;
        set[set_count++] = references[i];
    }
    lru->fence++;
    lru->time++;
    for (unsigned i = 0; i < set_count; i++) {
        if (!set[i]->is_resident)
            lru_make_resident(lru, set[i]);
        list_move_back(&lru->resident, &set[i]->link);
        set[i]->fence = lru->fence;
        set[i]->time = lru->time;
    }
    for (unsigned i = 0; i < set_count; i++)
        set[i]->sets &= ~UINT32_C(1);
}

static bool lru_init(struct lru *lru, uint64_t count, uint64_t bytes, uint64_t local_bytes)
{
    *lru = (struct lru){.objects = calloc(count, sizeof *lru->objects), .free_bytes = local_bytes};
    list_init(&lru->resident);
    for (uint64_t i = 0; i < count && lru->objects; i++) {
        lru->objects[i].bytes = bytes;
        list_init(&lru->objects[i].link);
    }
    return lru->objects != NULL;
}

/* ---- The manager ---- */

/* What both measurements have: the manager over the null driver, and its allocations. */
struct residency_run {
    struct null_driver null_driver; /* first: live_manager.context leads to it */
    enum run_model model;
    uint64_t count, bytes, local_bytes;
    struct residency_bench *result;  /* where all fits; or NULL */
    struct pressure_bench *pressure; /* where 70 % do; or NULL */
    bool is_done;

    struct vidmm_process *process;
    struct vidmm_device *device;
    struct vidmm_context *context;
    struct vidmm_allocation **allocations;
};

static void note_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    bool *is_done = context;

    (void)needed;
    (void)available;
    *is_done = NT_SUCCESS(status);
}

/* Resident, used by the null driver's GPU where that is what the model has, and given up again. */
static bool request(struct residency_run *run, unsigned count,
                    struct vidmm_allocation *const *allocations)
{
    struct vidmm_reference references[RESIDENCY_REFERENCES];
    bool is_done = false;
    uint64_t fence;
    NTSTATUS status;

    if (run->model == RUN_GPUMMU) {
        status = vidmm_make_resident(run->device, count, allocations, note_done, &is_done, &fence);
        if (status == STATUS_PENDING && (!null_driver_settle(&run->null_driver) || !is_done))
            return false;
        if (NT_SUCCESS(status))
            vidmm_evict(run->device, count, allocations);
        return NT_SUCCESS(status);
    }
    for (unsigned i = 0; i < count; i++)
        references[i] = (struct vidmm_reference){allocations[i], true};
    status = vidmm_render(run->context, references, NULL_DRIVER_BYTES, count, references, note_done,
                          &is_done);
    return NT_SUCCESS(status) && null_driver_settle(&run->null_driver) && is_done;
}

static bool begin(struct residency_run *run, struct vidmm *vidmm)
{
    const struct sgpu_umd_allocation data = {.version = SGPU_UMD_VERSION, .bytes = run->bytes};

    run->allocations = calloc(run->count, sizeof *run->allocations);
    if (!run->allocations || !NT_SUCCESS(vidmm_process_create(vidmm, &run->process)) ||
        !NT_SUCCESS(vidmm_device_create(run->process, &run->device)) ||
        !NT_SUCCESS(vidmm_context_create(run->device, 0, NULL, 0, &run->context)))
        return false;
    run->null_driver.vidmm = vidmm;
    for (uint64_t i = 0; i < run->count; i++) {
        unsigned in_batch = (unsigned)(i % BATCH) + 1;

        if (!NT_SUCCESS(vidmm_allocation_create(run->device, &data, sizeof data, NULL,
                                                &run->allocations[i])))
            return false;
        if ((in_batch == BATCH || i + 1 == run->count) &&
            !request(run, in_batch, &run->allocations[i + 1 - in_batch]))
            return false;
    }
    return true;
}

static void end(struct residency_run *run)
{
    for (uint64_t i = 0; run->allocations && i < run->count && run->allocations[i]; i++)
        vidmm_allocation_destroy(run->allocations[i]);
    if (run->null_driver.vidmm)
        null_driver_settle(&run->null_driver);
    if (run->context)
        vidmm_context_destroy(run->context);
    if (run->device)
        vidmm_device_destroy(run->device);
    if (run->process)
        vidmm_process_destroy(run->process);
    if (run->null_driver.vidmm)
        null_driver_settle(&run->null_driver);
    run->null_driver.vidmm = NULL;
    free(run->allocations);
}

/* ---- Slices ---- */

/* One of the two, and the lists that it is asked for. */
struct referring {
    struct residency_run *run; /* NULL: the peer */
    struct lru *lru;           /* the peer; or NULL */
    uint64_t count;
    struct rng rng;
    unsigned references; /* in a list */
    bool is_same_list;
    struct vidmm_list *list;
};

static bool refer(struct referring *referring, const uint64_t *numbers)
{
    struct vidmm_allocation *allocations[RESIDENCY_REFERENCES];
    struct lru_object *objects[RESIDENCY_REFERENCES];
    unsigned count = referring->references;

    if (referring->lru) {
        for (unsigned i = 0; i < count; i++)
            objects[i] = &referring->lru->objects[numbers[i]];
        lru_execute(referring->lru, count, objects);
        return true;
    }
    for (unsigned i = 0; i < count; i++)
        allocations[i] = referring->run->allocations[numbers[i]];
    return request(referring->run, count, allocations);
}

/* Nanoseconds of so many lists; negative: one failed. */
static double refer_lists(struct referring *referring, unsigned lists)
{
    static uint64_t numbers[RESIDENCY_LISTS][RESIDENCY_REFERENCES];
    double start;

    for (unsigned i = 0; i < lists; i++) {
        for (unsigned j = 0; j < RESIDENCY_REFERENCES; j++)
            numbers[i][j] = rng_below(&referring->rng, referring->count);
    }
    start = compare_now();
    for (unsigned i = 0; i < lists; i++) {
        if (!refer(referring, numbers[referring->is_same_list ? 0 : i]))
            return -1;
    }
    return compare_now() - start;
}

/* Nanoseconds a reference. */
static double refer_slice(void *context)
{
    struct referring *referring = context;

    return refer_lists(referring, RESIDENCY_LISTS) /
           (RESIDENCY_LISTS * (double)referring->references);
}

/* Nanoseconds a pair of one in and one out. */
static double pressure_slice(void *context)
{
    struct referring *referring = context;
    const uint64_t *pairs = referring->lru
                                ? &referring->lru->pairs
                                : &vidmm_statistics(referring->run->null_driver.vidmm)->evictions;
    uint64_t before = *pairs;
    double ns = refer_lists(referring, PRESSURE_LISTS);

    return ns < 0 || *pairs == before ? -1 : ns / (double)(*pairs - before);
}

/* Nanoseconds a request of the list object. */
static double refer_list_slice(void *context)
{
    struct referring *referring = context;
    double start;

    referring->is_same_list = true;
    if (!referring->list)
        return refer_lists(referring, RESIDENCY_LISTS) / RESIDENCY_LISTS;
    start = compare_now();
    for (unsigned i = 0; i < RESIDENCY_LISTS; i++) {
        uint64_t fence;

        if (vidmm_list_make_resident(referring->list, NULL, NULL, &fence) != STATUS_SUCCESS)
            return -1;
        vidmm_list_evict(referring->list);
    }
    return (compare_now() - start) / RESIDENCY_LISTS;
}

/* ---- All fits ---- */

static bool measure_lists(struct referring *ours, struct referring *peer,
                          struct residency_bench *result)
{
    unsigned most = (unsigned)min_u64(ours->count, RESIDENCY_LONG_LIST);
    struct vidmm_device *device = ours->run->device;
    bool done = NT_SUCCESS(
        vidmm_list_create(device, RESIDENCY_REFERENCES, ours->run->allocations, &ours->list));

    if (!done)
        return false;
    done = compare_run(refer_list_slice, ours, refer_list_slice, peer, RESIDENCY_SLICES,
                       &result->list);
    vidmm_list_destroy(ours->list);
    if (!NT_SUCCESS(vidmm_list_create(device, most, ours->run->allocations, &ours->list)))
        return false;
    done = done && refer_list_slice(ours) >= 0; /* the first request looks at all members */
    result->long_list_ns = refer_list_slice(ours);
    vidmm_list_destroy(ours->list);
    ours->list = NULL;
    return done && result->long_list_ns >= 0;
}

static bool measure_references(struct referring *ours, struct referring *peer,
                               struct residency_bench *result)
{
    if (!compare_run(refer_slice, ours, refer_slice, peer, RESIDENCY_SLICES, &result->reference))
        return false;
    ours->is_same_list = peer->is_same_list = true;
    if (!compare_run(refer_slice, ours, refer_slice, peer, RESIDENCY_SLICES, &result->again))
        return false;
    if (ours->run->model == RUN_GPUMMU && !measure_lists(ours, peer, result))
        return false;
    ours->references = 1;
    result->fixed_ns = refer_slice(ours);
    return result->fixed_ns >= 0;
}

/* ---- 70 % fits ---- */

static bool measure_pairs(struct referring *ours, struct referring *peer,
                          struct pressure_bench *result)
{
    const struct vidmm_statistics *statistics = vidmm_statistics(ours->run->null_driver.vidmm);
    uint64_t operations, evictions;

    for (uint64_t i = 0; i < 3 * ours->count; i += PRESSURE_LISTS * RESIDENCY_REFERENCES) {
        if (pressure_slice(ours) < 0 || refer_lists(peer, PRESSURE_LISTS) < 0)
            return false; /* now all have been written and have left once */
    }
    operations = ours->run->null_driver.operations;
    evictions = statistics->evictions;
    if (!compare_run(pressure_slice, ours, pressure_slice, peer, PRESSURE_SLICES, &result->pair))
        return false;
    result->operations = (double)(ours->run->null_driver.operations - operations) /
                         (double)(statistics->evictions - evictions);
    return true;
}

/* ---- Runs ---- */

static void measure(void *context, const struct run_live *live)
{
    struct residency_run *run = context;
    struct referring ours = {.run = run, .count = run->count, .references = RESIDENCY_REFERENCES};
    struct referring peer = {.count = run->count, .references = RESIDENCY_REFERENCES};
    struct lru lru;
    double start = compare_now(), create_ns;
    bool done = begin(run, live->vidmm);

    create_ns = compare_now() - start;
    done = done && lru_init(&lru, run->count, run->bytes, run->local_bytes);
    if (done) {
        peer.lru = &lru;
        rng_init(&ours.rng, 7);
        rng_init(&peer.rng, 7);
        for (uint64_t i = 0; i < run->count; i++)
            lru_execute(&lru, 1, (struct lru_object *[]){&lru.objects[i]});
        done = run->result ? measure_references(&ours, &peer, run->result)
                           : measure_pairs(&ours, &peer, run->pressure);
        free(lru.objects);
    }
    start = compare_now();
    end(run);
    if (run->result)
        run->result->create_ns = (create_ns + compare_now() - start) / (double)run->count;
    run->is_done = done;
}

static struct miniport *add_null_driver(void *context, struct miniport *next)
{
    return null_driver_init(context, next);
}

static bool measure_in_run(struct residency_run *run)
{
    uint64_t bytes = run->count * run->bytes;
    const struct live_manager manager = {
        .model = run->model,
        .local_bytes = align_up(run->local_bytes, MiB),
        .ram_bytes = align_up(4 * bytes, MiB) + 2 * GiB,
        .add_layer = add_null_driver,
        .fn = measure,
        .context = run,
    };

    return live_manager_run(&manager) && run->is_done;
}

bool residency_bench_run(enum run_model model, uint64_t allocation_count,
                         struct residency_bench *out_result)
{
    struct residency_run run = {.model = model,
                                .count = allocation_count,
                                .bytes = PAGE_BYTES,
                                .local_bytes = 2 * allocation_count * PAGE_BYTES + GiB,
                                .result = out_result};

    *out_result = (struct residency_bench){0};
    return measure_in_run(&run);
}

bool residency_bench_pressure(uint64_t allocation_count, uint64_t bytes,
                              struct pressure_bench *out_result)
{
    struct residency_run run = {.model = RUN_GPUMMU,
                                .count = allocation_count,
                                .bytes = bytes,
                                .local_bytes = allocation_count * bytes / 10 * 7,
                                .pressure = out_result};

    *out_result = (struct pressure_bench){0};
    return measure_in_run(&run);
}
