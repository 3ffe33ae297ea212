#include "bench/measure/manager_bench.h"

#include "bench/measure/live_manager.h"
#include "bench/run/run.h"

#include "base/bits.h"
#include "miniport/miniport.h"
#include "workload/generate/generate.h"
#include "workload/summary.h"

#include <drydock/sgpu.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BENCH_VA      (UINT64_C(1) << 40)
#define TABLE_WORDS   512u
#define MAPPING_PIECE (1 * GiB) /* one request: what an application maps at a time */

static double wall_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
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
    done = live_manager_settle(live) && done;
    seconds = wall_now() - start;
    vidmm_unmap_physical(process, BENCH_VA, run->bytes, NULL, NULL);
    done = live_manager_settle(live) && done;
    vidmm_process_destroy(process);
    done = live_manager_settle(live) && done;
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
    const struct live_manager manager = {.model = RUN_GPUMMU,
                                         .local_bytes = 4 * GiB,
                                         .ram_bytes = 4 * GiB,
                                         .add_layer = add_closing_layer,
                                         .fn = run_page_tables,
                                         .context = &run};

    *out_result = (struct page_table_bench){0};
    return live_manager_run(&manager) && run.is_done;
}

/* ---- Replay ---------------------------------------------------------------------------------- */

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
