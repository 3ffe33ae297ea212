#include "bench/measure/manager_bench.h"
#include "bench/run/run.h"

#include "base/list.h"
#include "base/rng.h"
#include "miniport/miniport.h"
#include "workload/generate/generate.h"
#include "workload/summary.h"

#include <drydock/sgpu.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BENCH_VA           (UINT64_C(1) << 40)
#define BATCH              64u
#define RESIDENCY_LISTS    400u /* a slice */
#define RESIDENCY_SLICES   31u
#define TABLE_WORDS        512u
#define MAPPING_PIECE      (1 * GiB) /* one request: what an application maps at a time */
#define MAX_REQUEST_EVENTS 10000000u

static double wall_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/*
 * Brings up a run of an empty case and calls fn in the middle of it: the hook that tests use to
 * tamper with memory gives all that a bench needs.
 */
static bool with_manager(uint64_t local_bytes, uint64_t ram_bytes,
                         struct miniport *(*add_layer)(void *context, struct miniport *next),
                         void (*fn)(void *context, const struct run_live *live), void *context)
{
    static const char text[] = "drydock-case 1\n";
    const struct run_tamper tamper = {.op_index = 0, .fn = fn, .context = context};
    struct workload_error error;
    struct workload *workload;
    struct run_config config;
    struct run_result *result = calloc(1, sizeof *result);
    bool done;

    if (!result || !workload_parse(text, sizeof text - 1, "bench", &workload, &error)) {
        free(result);
        return false;
    }
    run_config_defaults(&config);
    config.local_bytes = local_bytes;
    config.ram_bytes = ram_bytes;
    config.checks_content = false;
    config.reference = RUN_REFERENCE_NEVER;
    config.hashes_calls = false;
    config.tamper = &tamper;
    config.add_layer = add_layer;
    config.layer_context = context;
    done = run_execute(&config, workload, result) == RUN_CLEAN;
    run_result_fini(result);
    free(result);
    workload_free(workload);
    return done;
}

/* Lets the machine run until the manager has nothing left to do. */
static bool settle(const struct run_live *live)
{
    for (unsigned i = 0; !vidmm_is_idle(live->vidmm); i++) {
        if (i == MAX_REQUEST_EVENTS || !machine_run_next(live->machine))
            return false;
    }
    return true;
}

/* ---- Page tables ----------------------------------------------------------------------------- */

/* With a layer that, while it is closed, takes page-table updates without handing them on. */
struct page_table_run {
    struct miniport layer; /* first: the layer's functions find the run by it */
    struct miniport_ops ops;
    bool is_closed;
    uint64_t entries_taken;
    uint64_t bytes;
    struct page_table_bench *result;
    bool is_done;
};

static NTSTATUS take_updates(struct miniport *layer, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct page_table_run *run = (struct page_table_run *)layer;

    if (run->is_closed && args->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE) {
        run->entries_taken += args->UpdatePageTable.NumPageTableEntries;
        return STATUS_SUCCESS;
    }
    return miniport_build_paging_buffer(layer->next, object, args);
}

static struct miniport *add_closing_layer(void *context, struct miniport *next)
{
    struct page_table_run *run = context;

    run->ops = miniport_forward_ops;
    run->ops.name = "closing";
    run->ops.build_paging_buffer = take_updates;
    run->layer = (struct miniport){.ops = &run->ops, .next = next};
    return &run->layer;
}

/*
 * The plain model: for each page a walk of four levels from the root, tables made on the way, and
 * one entry written.
 */
static bool naive_build(uint64_t va, uint64_t page_count, uint64_t first_page, double *out_seconds)
{
    double start = wall_now();
    uint64_t **tables = NULL; /* all tables, to free them */
    size_t table_count = 0, room = 0;
    uint64_t *root = calloc(TABLE_WORDS, sizeof *root);
    bool done = root != NULL;

    for (uint64_t i = 0; i < page_count && done; i++, va += PAGE_BYTES) {
        uint64_t *table = root;

        for (int level = SGPU_LEVELS - 1; level > 0 && done; level--) {
            uint64_t *slot =
                &table[(va >> (SGPU_PAGE_SHIFT + SGPU_INDEX_BITS * level)) & (TABLE_WORDS - 1)];

            if (!*slot) {
                uint64_t *child = calloc(TABLE_WORDS, sizeof *child);

                if (table_count == room) {
                    uint64_t **grown = realloc(tables, (room * 2 + 64) * sizeof *tables);

                    done = grown != NULL;
                    tables = grown ? grown : tables;
                    room = grown ? room * 2 + 64 : room;
                }
                if (!child || !done) {
                    free(child);
                    done = false;
                    break;
                }
                tables[table_count++] = child;
                *slot = (uint64_t)(uintptr_t)child | SGPU_PTE_VALID;
            }
            table = (uint64_t *)(uintptr_t)(*slot & ~(uint64_t)SGPU_PTE_VALID);
        }
        if (done)
            table[(va >> SGPU_PAGE_SHIFT) & (TABLE_WORDS - 1)] =
                ((first_page + i) << SGPU_PAGE_SHIFT) | SGPU_PTE_SYSTEM | SGPU_PTE_VALID;
    }
    *out_seconds = wall_now() - start;
    for (size_t i = 0; i < table_count; i++)
        free(tables[i]);
    free(tables);
    free(root);
    return done;
}

/*
 * Maps everything into a new process, with or without the driver; the seconds, negative on failure.
 */
static double build(struct page_table_run *run, const struct run_live *live, bool is_closed)
{
    struct vidmm_process *process;
    double seconds;
    bool done = true;
    double start;

    if (!NT_SUCCESS(vidmm_process_create(live->vidmm, &process)))
        return -1;
    run->is_closed = is_closed;
    start = wall_now();
    for (uint64_t at = 0; at < run->bytes && done; at += MAPPING_PIECE) {
        done = NT_SUCCESS(vidmm_map_physical(process, BENCH_VA + at, 0, 1 + at / PAGE_BYTES,
                                             min_u64(MAPPING_PIECE, run->bytes - at) / PAGE_BYTES,
                                             0, NULL, NULL));
    }
    done = settle(live) && done;
    seconds = wall_now() - start;
    vidmm_unmap_physical(process, BENCH_VA, run->bytes, NULL, NULL);
    done = settle(live) && done;
    vidmm_process_destroy(process);
    done = settle(live) && done;
    run->is_closed = false;
    return done ? seconds : -1;
}

static void run_page_tables(void *context, const struct run_live *live)
{
    struct page_table_run *run = context;
    struct page_table_bench *result = run->result;

    result->entries = run->bytes / PAGE_BYTES;
    result->whole_seconds = build(run, live, false);
    result->manager_seconds = build(run, live, true);
    run->is_done = naive_build(BENCH_VA, result->entries, 1, &result->naive_seconds);
    if (result->whole_seconds < 0 || result->manager_seconds < 0 ||
        run->entries_taken < result->entries)
        run->is_done = false;
}

bool manager_bench_page_tables(uint64_t bytes, struct page_table_bench *out_result)
{
    struct page_table_run run = {.bytes = bytes, .result = out_result};

    *out_result = (struct page_table_bench){0};
    return with_manager(4 * GiB, 4 * GiB, add_closing_layer, run_page_tables, &run) && run.is_done;
}

/* ---- Residency ------------------------------------------------------------------------------- */

struct residency_run {
    uint64_t count;
    struct residency_bench *result;
    bool is_done;
};

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
};

static bool lru_execute(struct lru *lru, unsigned count, struct lru_object *const *references)
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
            return false;
        list_move_back(&lru->resident, &set[i]->link);
        set[i]->fence = lru->fence;
        set[i]->time = lru->time;
    }
    for (unsigned i = 0; i < set_count; i++)
        set[i]->sets &= ~UINT32_C(1);
    return true;
}

static bool lru_init(struct lru *lru, uint64_t count)
{
    *lru = (struct lru){.objects = calloc(count, sizeof *lru->objects)};
    list_init(&lru->resident);
    for (uint64_t i = 0; i < count && lru->objects; i++) {
        lru->objects[i].bytes = PAGE_BYTES;
        lru->objects[i].is_resident = true;
        list_push_back(&lru->resident, &lru->objects[i].link);
    }
    return lru->objects != NULL;
}

static void ignore_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
}

/* Creates them and pages them in, in batches. */
static bool create_all(const struct run_live *live, struct vidmm_device *device,
                       struct vidmm_allocation **allocations, uint64_t count)
{
    const struct sgpu_umd_allocation data = {.version = SGPU_UMD_VERSION, .bytes = PAGE_BYTES};

    for (uint64_t i = 0; i < count; i++) {
        uint64_t fence;
        unsigned in_batch = (unsigned)(i % BATCH) + 1;

        if (!NT_SUCCESS(vidmm_allocation_create(device, &data, sizeof data, NULL, &allocations[i])))
            return false;
        if (in_batch != BATCH && i + 1 != count)
            continue;
        if (!NT_SUCCESS(vidmm_make_resident(device, in_batch, &allocations[i + 1 - in_batch],
                                            ignore_done, NULL, &fence)) ||
            !settle(live))
            return false;
        vidmm_evict(device, in_batch, &allocations[i + 1 - in_batch]);
    }
    return true;
}

/* One of the two, its allocations, and the lists that it is asked for. */
struct referring {
    struct vidmm_device *device; /* NULL: the peer */
    struct vidmm_allocation **allocations;
    struct lru *lru;
    uint64_t count;
    struct rng rng;
    unsigned references; /* in a list */
    bool is_same_list;
    struct vidmm_list
        *list; /* of the first so many allocations; NULL: the same objects of the peer */
};

static bool refer(struct referring *referring, const uint64_t *numbers)
{
    struct vidmm_allocation *allocations[RESIDENCY_REFERENCES];
    struct lru_object *objects[RESIDENCY_REFERENCES];
    unsigned count = referring->references;
    uint64_t fence;

    if (!referring->device) {
        for (unsigned i = 0; i < count; i++)
            objects[i] = &referring->lru->objects[numbers[i]];
        return lru_execute(referring->lru, count, objects);
    }
    for (unsigned i = 0; i < count; i++)
        allocations[i] = referring->allocations[numbers[i]];
    if (vidmm_make_resident(referring->device, count, allocations, ignore_done, NULL, &fence) !=
        STATUS_SUCCESS)
        return false;
    vidmm_evict(referring->device, count, allocations);
    return true;
}

/* Nanoseconds a reference. */
static double refer_slice(void *context)
{
    struct referring *referring = context;
    static uint64_t numbers[RESIDENCY_LISTS][RESIDENCY_REFERENCES];
    double start;

    for (unsigned i = 0; i < RESIDENCY_LISTS; i++) {
        for (unsigned j = 0; j < RESIDENCY_REFERENCES; j++)
            numbers[i][j] = rng_below(&referring->rng, referring->count);
    }
    start = compare_now();
    for (unsigned i = 0; i < RESIDENCY_LISTS; i++) {
        if (!refer(referring, numbers[referring->is_same_list ? 0 : i]))
            return -1;
    }
    return (compare_now() - start) / (RESIDENCY_LISTS * (double)referring->references);
}

/* Nanoseconds a request of the list. */
static double refer_list_slice(void *context)
{
    const struct referring *referring = context;
    uint64_t numbers[RESIDENCY_REFERENCES];
    struct referring peer = *referring;
    double start;

    for (unsigned i = 0; i < RESIDENCY_REFERENCES; i++)
        numbers[i] = i;
    start = compare_now();
    for (unsigned i = 0; i < RESIDENCY_LISTS; i++) {
        uint64_t fence;

        if (!referring->list && !refer(&peer, numbers))
            return -1;
        if (!referring->list)
            continue;
        if (vidmm_list_make_resident(referring->list, ignore_done, NULL, &fence) != STATUS_SUCCESS)
            return -1;
        vidmm_list_evict(referring->list);
    }
    return (compare_now() - start) / RESIDENCY_LISTS;
}

static bool measure_lists(struct referring *ours, struct referring *peer,
                          struct residency_bench *result)
{
    unsigned most = (unsigned)min_u64(ours->count, RESIDENCY_LONG_LIST);
    bool done = NT_SUCCESS(
        vidmm_list_create(ours->device, RESIDENCY_REFERENCES, ours->allocations, &ours->list));

    if (!done)
        return false;
    done = compare_run(refer_list_slice, ours, refer_list_slice, peer, RESIDENCY_SLICES,
                       &result->list);
    vidmm_list_destroy(ours->list);
    if (!NT_SUCCESS(vidmm_list_create(ours->device, most, ours->allocations, &ours->list)))
        return false;
    done = done && refer_list_slice(ours) >= 0; /* the first request looks at all members */
    result->long_list_ns = refer_list_slice(ours);
    vidmm_list_destroy(ours->list);
    return done && result->long_list_ns >= 0;
}

static bool measure_references(struct vidmm_device *device, struct vidmm_allocation **allocations,
                               uint64_t count, struct residency_bench *result)
{
    struct referring ours = {.device = device,
                             .allocations = allocations,
                             .count = count,
                             .references = RESIDENCY_REFERENCES};
    struct referring peer = {.count = count, .references = RESIDENCY_REFERENCES};
    struct lru lru;
    bool done = lru_init(&lru, count);

    peer.lru = &lru;
    rng_init(&ours.rng, 7);
    rng_init(&peer.rng, 7);
    done = done && compare_run(refer_slice, &ours, refer_slice, &peer, RESIDENCY_SLICES,
                               &result->reference);
    ours.is_same_list = peer.is_same_list = true;
    done = done &&
           compare_run(refer_slice, &ours, refer_slice, &peer, RESIDENCY_SLICES, &result->again);
    ours.references = 1;
    result->fixed_ns = done ? refer_slice(&ours) : -1;
    ours.references = RESIDENCY_REFERENCES;
    done = done && measure_lists(&ours, &peer, result);
    free(lru.objects);
    return done && result->fixed_ns >= 0;
}

static void run_residency(void *context, const struct run_live *live)
{
    struct residency_run *run = context;
    struct vidmm_allocation **allocations = calloc(run->count, sizeof *allocations);
    struct vidmm_process *process = NULL;
    struct vidmm_device *device = NULL;
    double start = wall_now();
    double create_seconds = 0;
    bool done = allocations && NT_SUCCESS(vidmm_process_create(live->vidmm, &process)) &&
                NT_SUCCESS(vidmm_device_create(process, &device)) &&
                create_all(live, device, allocations, run->count);

    create_seconds = wall_now() - start;
    done = done && measure_references(device, allocations, run->count, run->result);

    start = wall_now();
    for (uint64_t i = 0; allocations && i < run->count && allocations[i]; i++)
        vidmm_allocation_destroy(allocations[i]);
    settle(live);
    create_seconds += wall_now() - start;
    run->result->create_ns = create_seconds * 1e9 / (double)run->count;
    if (device)
        vidmm_device_destroy(device);
    if (process)
        vidmm_process_destroy(process);
    settle(live);
    free(allocations);
    run->is_done = done;
}

bool manager_bench_residency(uint64_t allocation_count, struct residency_bench *out_result)
{
    struct residency_run run = {.count = allocation_count, .result = out_result};
    uint64_t bytes = allocation_count * PAGE_BYTES;

    *out_result = (struct residency_bench){0};
    return with_manager(align_up(2 * bytes, MiB) + GiB, align_up(4 * bytes, MiB) + 2 * GiB, NULL,
                        run_residency, &run) &&
           run.is_done;
}

/* ---- Replay ---------------------------------------------------------------------------------- */

/* ---- Replay ---- */

struct replay_side {
    const struct run_config *config;
    const struct workload *workload;
    struct replay_bench *bench;
};

/* One run; its time on the processor, set up and take down included. */
static double play_once(void *context)
{
    const struct replay_side *side = context;
    struct run_result *result = calloc(1, sizeof *result);
    double start = compare_now(), time = -1;

    if (!result)
        return -1;
    if (run_execute(side->config, side->workload, result) == RUN_CLEAN)
        time = compare_now() - start;
    side->bench->operations = 0;
    for (unsigned i = 0; i < RUN_OPERATION_COUNT; i++)
        side->bench->operations += result->statistics.operations[i];
    side->bench->moved_bytes =
        result->statistics.moved_in_bytes + result->statistics.moved_out_bytes;
    run_result_fini(result);
    free(result);
    return time;
}

static struct workload *replay_workload(const char *name, bool is_file, bool is_quick)
{
    const char *settings[] = {is_quick ? "steps=2" : "steps=8"};
    const bool has_steps = strcmp(name, "transformer") == 0 || strcmp(name, "cnn") == 0;
    struct workload_error error;
    struct workload *workload;

    if (is_file)
        return workload_load(name, &workload, &error) ? workload : NULL;
    return workload_generate(name, settings, has_steps, &workload, &error) ? workload : NULL;
}

bool manager_bench_replay(const char *name, bool is_file, enum run_model model, bool is_quick,
                          struct replay_bench *out_result)
{
    struct workload *workload = replay_workload(name, is_file, is_quick);
    struct workload_summary summary;
    struct run_config checked, unchecked;
    struct replay_side ours = {&checked, workload, out_result};
    struct replay_side peer = {&unchecked, workload, out_result};
    bool is_run;

    *out_result = (struct replay_bench){0};
    if (!workload)
        return false;
    workload_summarise(workload, &summary);
    run_config_defaults(&checked);
    checked.model = model;
    checked.reference = RUN_REFERENCE_NEVER;
    checked.local_bytes = is_file ? 40 * GiB : align_up(summary.peak_live_bytes / 3, MiB);
    unchecked = checked;
    unchecked.checks_content = unchecked.checks_rules = unchecked.hashes_calls = false;
    checked.checks_content = checked.checks_rules = checked.hashes_calls = true;
    is_run =
        compare_run(play_once, &ours, play_once, &peer, is_file ? 3 : 9, &out_result->comparison);
    workload_free(workload);
    return is_run;
}
