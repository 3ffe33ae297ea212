#include "bench/measure/record_bench.h"

#include "bench/run/run.h"

#include "base/bits.h"
#include "workload/generate/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICES       31u
#define QUICK_SLICES 15u

struct record_side {
    struct run_config config;
    const struct workload *workload;
    uint64_t bytes; /* of the record of the last run */
};

/* A record begins where its file stands. */
static bool empty_file(int file)
{
    return !file || (ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0);
}

/* One run; its time on the processor, set up and take down included. */
static double play_once(void *context)
{
    struct record_side *side = context;
    const int file = side->config.record_file;
    struct run_result *result = calloc(1, sizeof *result);
    double start = compare_now(), time = -1;

    if (!result)
        return -1;
    if (empty_file(file) && run_execute(&side->config, side->workload, result) == RUN_CLEAN &&
        !result->record_error[0])
        time = compare_now() - start;
    side->bytes = file ? (uint64_t)lseek(file, 0, SEEK_END) : 0;
    run_result_fini(result);
    free(result);
    return time;
}

static struct workload *make_workload(const char *generator, bool is_quick)
{
    static const char *const random[] = {"seed=7", "ops=5000", "maps=yes", "ptes=yes",
                                         "memory=yes"};
    static const char *const quick_random[] = {"seed=7", "ops=1000", "maps=yes", "ptes=yes",
                                               "memory=yes"};
    const bool is_random = strcmp(generator, "random") == 0;
    struct workload_error error;
    struct workload *workload;

    return workload_generate(generator, is_quick ? quick_random : random,
                             is_random ? ARRAY_COUNT(random) : 0, &workload, &error)
               ? workload
               : NULL;
}

bool record_bench_run(const char *generator, enum run_model model, bool is_quick,
                      struct record_bench *out_result)
{
    struct workload *workload = make_workload(generator, is_quick);
    FILE *file = tmpfile();
    struct record_side ours = {.workload = workload}, peer;
    bool is_run = false;

    *out_result = (struct record_bench){0};
    run_config_defaults(&ours.config);
    ours.config.model = model;
    ours.config.reference = RUN_REFERENCE_NEVER;
    peer = ours;
    if (workload && file) {
        ours.config.record_file = fileno(file);
        is_run = compare_run(play_once, &ours, play_once, &peer, is_quick ? QUICK_SLICES : SLICES,
                             &out_result->comparison);
    }
    out_result->bytes = ours.bytes;
    if (file)
        fclose(file);
    workload_free(workload);
    return is_run;
}
