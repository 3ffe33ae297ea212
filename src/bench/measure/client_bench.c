#include "bench/measure/client_bench.h"
#include "bench/run/run.h"

#include "base/bits.h"
#include "workload/generate/generate.h"

#include <stdlib.h>
#include <string.h>

const struct client_subject client_subjects[] = {
    {"least recently used", "lru", NULL, true},
    {"one turn each", "turns", NULL, false},
    {"four turns each", "turns", "10000000", false},
};
const size_t client_subject_count = ARRAY_COUNT(client_subjects);

static const char *const settings[] = {"decode=8", "local-memory=160M", "decode-set=85M",
                                       "busy-ms=40", "bandwidth=90"};

/* What the machine and the manager are, beside the policy. */
static const struct {
    const char *key, *value;
} options[] = {
    {"model", "gpummu"},      {"content", "none"},      {"copy-engine", "both-ways"},
    {"hardware-queue", "32"}, {"paging-buffers", "32"},
};

static bool set_options(struct workload *workload, const struct client_subject *subject)
{
    struct workload_error error;
    bool is_set = workload_set_option(workload, "policy", subject->policy, &error);

    if (subject->turn)
        is_set = workload_set_option(workload, "turn", subject->turn, &error) && is_set;
    for (size_t i = 0; i < ARRAY_COUNT(options); i++)
        is_set = workload_set_option(workload, options[i].key, options[i].value, &error) && is_set;
    return is_set;
}

static void read_result(const struct run_result *result, struct client_bench *out_result)
{
    const struct run_step *loops = &result->steps[result->step_count - 1];

    *out_result = (struct client_bench){
        .virtual_ns = result->virtual_time_ns,
        .ideal_ns = run_result_ideal_ns(result),
        .loops_ns = loops->end_ns - loops->start_ns,
        .loops_work_ns = loops->kernel_ns,
        .moved_in_bytes = result->statistics.moved_in_bytes,
        .fairness = run_result_fairness(result),
    };
}

bool client_bench_run(const struct client_subject *subject, struct client_bench *out_result)
{
    struct run_result *result = calloc(1, sizeof *result);
    struct workload *workload = NULL;
    struct workload_error error;
    struct run_config config;
    bool is_clean = false;

    memset(out_result, 0, sizeof *out_result);
    if (result &&
        workload_generate("clients", settings, ARRAY_COUNT(settings), &workload, &error) &&
        set_options(workload, subject)) {
        run_config_defaults(&config);
        run_config_from_workload(&config, workload);
        config.reference = RUN_REFERENCE_NEVER;
        is_clean = run_execute(&config, workload, result) == RUN_CLEAN;
        if (is_clean)
            read_result(result, out_result);
        run_result_fini(result);
    }
    workload_free(workload);
    free(result);
    return is_clean;
}
