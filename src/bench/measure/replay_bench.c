#include "bench/measure/replay_bench.h"

#include "bench/run/run.h"

#include "base/bits.h"
#include "workload/generate/generate.h"
#include "workload/summary.h"

#include <stdlib.h>
#include <string.h>

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

bool replay_bench_run(const char *name, bool is_file, enum run_model model, bool is_quick,
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
