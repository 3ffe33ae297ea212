#include "bench/measure/scaling_bench.h"
#include "bench/run/run.h"

#include "base/bits.h"
#include "workload/generate/generate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool scaling_bench_run(enum run_model model, uint64_t operation_count,
                       struct scaling_bench *out_result)
{
    struct run_result *result = malloc(sizeof *result);
    char operations[40];
    const char *settings[] = {operations, "allocations=64", "full=yes"};
    struct workload_error error;
    struct workload *workload;
    struct run_config config;
    bool is_clean;
    clock_t start;

    memset(out_result, 0, sizeof *out_result);
    snprintf(operations, sizeof operations, "ops=%" PRIu64, operation_count);
    if (!result ||
        !workload_generate("random", settings, ARRAY_COUNT(settings), &workload, &error)) {
        free(result);
        return false;
    }
    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.model = model;
    config.reference = RUN_REFERENCE_NEVER;
    start = clock();
    is_clean = run_execute(&config, workload, result) == RUN_CLEAN;
    out_result->seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    out_result->operations = workload->op_count;
    for (size_t i = 0; i < ARRAY_COUNT(result->statistics.operations); i++)
        out_result->paging_operations += result->statistics.operations[i];
    run_result_fini(result);
    workload_free(workload);
    free(result);
    return is_clean;
}
