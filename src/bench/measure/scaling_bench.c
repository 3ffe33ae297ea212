#include "bench/measure/scaling_bench.h"
#include "bench/run/run.h"

#include "base/bits.h"
#include "workload/generate/generate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Subjects -------------------------------------------------------------------------------- */

/* Random operations; how many allocations are alive at once stays the same. */
static bool make_operations(uint64_t n, struct workload **out)
{
    char operations[40];
    const char *settings[] = {operations, "allocations=64", "full=yes"};
    struct workload_error error;

    snprintf(operations, sizeof operations, "ops=%" PRIu64, n);
    return workload_generate("random", settings, ARRAY_COUNT(settings), out, &error);
}

/* The case that print writes. */
static bool make_printed(uint64_t n, void (*print)(FILE *file, uint64_t n), struct workload **out)
{
    struct workload_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    bool is_made;

    if (!file)
        return false;
    fprintf(file, "drydock-case 1\nname \"scaling\"\noption local-memory 8G\n");
    print(file, n);
    is_made = fclose(file) == 0 && workload_parse(text, size, "scaling", out, &error);
    free(text);
    return is_made;
}

/* All of one page, made resident, used once and alive until the end. */
static void print_allocations(FILE *file, uint64_t n)
{
    fprintf(file, "context c0\n");
    for (uint64_t i = 0; i < n; i++)
        fprintf(file, "alloc a%" PRIu64 " size=4K segments=local\n", i);
    for (uint64_t i = 0; i < n; i += 64) {
        fprintf(file, "submit c0 duration=1000");
        for (uint64_t j = i; j < i + 64 && j < n; j++)
            fprintf(file, " a%" PRIu64 ":w", j);
        fprintf(file, "\n");
    }
}

static bool make_allocations(uint64_t n, struct workload **out)
{
    return make_printed(n, print_allocations, out);
}

/* Each submits in turn. */
static void print_contexts(FILE *file, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        fprintf(file, "context c%" PRIu64 "\n", i);
    fprintf(file, "alloc a size=64K segments=local\n");
    for (uint64_t i = 0; i < 8 * n; i++)
        fprintf(file, "submit c%" PRIu64 " duration=1000 a:r\n", i % n);
}

static bool make_contexts(uint64_t n, struct workload **out)
{
    return make_printed(n, print_contexts, out);
}

/* Each with a device, a context and an allocation of its own. */
static void print_processes(FILE *file, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        fprintf(file, "process p%" PRIu64 "\n", i);
    for (uint64_t i = 0; i < n; i++)
        fprintf(file, "device d%" PRIu64 " process=p%" PRIu64 "\n", i, i);
    for (uint64_t i = 0; i < n; i++)
        fprintf(file, "context c%" PRIu64 " device=d%" PRIu64 "\n", i, i);
    for (uint64_t i = 0; i < n; i++)
        fprintf(file, "alloc a%" PRIu64 " size=1M segments=local device=d%" PRIu64 "\n", i, i);
    for (uint64_t i = 0; i < 4 * n; i++)
        fprintf(file, "submit c%" PRIu64 " duration=1000 a%" PRIu64 ":w\n", i % n, i % n);
}

static bool make_processes(uint64_t n, struct workload **out)
{
    return make_printed(n, print_processes, out);
}

/* One page, mapped at n places over 16 TiB: each has page tables of its own. */
static void print_mappings(FILE *file, uint64_t n)
{
    const uint64_t step = align_down(16 * (UINT64_C(1) << 40) / n, UINT64_C(2) << 20);

    fprintf(file, "context c0\nalloc a size=4K segments=local\n");
    for (uint64_t i = 0; i < n; i++)
        fprintf(file, "map a va=0x%" PRIx64 "\n", (UINT64_C(1) << 40) + i * step);
    fprintf(file, "submit c0 duration=1000 a:w\n");
}

static bool make_mappings(uint64_t n, struct workload **out)
{
    return make_printed(n, print_mappings, out);
}

const struct scaling_subject scaling_subjects[] = {
    {"operations", RUN_PHYSICAL, {1000, 10000, 100000}, {250, 1000, 4000}, make_operations},
    {"operations", RUN_GPUMMU, {1000, 10000, 100000}, {250, 1000, 4000}, make_operations},
    {"operations", RUN_IOMMU, {1000, 10000, 100000}, {250, 1000, 4000}, make_operations},
    {"allocations", RUN_PHYSICAL, {10000, 30000, 100000}, {500, 2000, 8000}, make_allocations},
    {"allocations", RUN_GPUMMU, {10000, 100000, 1000000}, {500, 2000, 8000}, make_allocations},
    {"contexts", RUN_PHYSICAL, {64, 256, 1024}, {16, 64, 256}, make_contexts},
    {"contexts", RUN_GPUMMU, {64, 512, 4096}, {16, 64, 256}, make_contexts},
    {"processes", RUN_GPUMMU, {16, 64, 256}, {4, 16, 64}, make_processes},
    {"mappings", RUN_GPUMMU, {256, 2048, 16384}, {64, 256, 1024}, make_mappings},
};
const size_t scaling_subject_count = ARRAY_COUNT(scaling_subjects);

/* ---- Runs ------------------------------------------------------------------------------------ */

static bool run_here(const struct scaling_subject *subject, uint64_t n,
                     struct scaling_bench *out_result)
{
    struct run_result *result = malloc(sizeof *result);
    struct workload *workload;
    struct run_config config;
    bool is_clean;
    clock_t start;

    memset(out_result, 0, sizeof *out_result);
    if (!result || !subject->make(n, &workload)) {
        free(result);
        return false;
    }
    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.model = subject->model;
    config.reference = RUN_REFERENCE_NEVER;
    start = clock();
    is_clean = run_execute(&config, workload, result) == RUN_CLEAN;
    out_result->seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    out_result->n = n;
    out_result->host_bytes = result->peak_process_bytes;
    for (size_t i = 0; i < ARRAY_COUNT(result->statistics.operations); i++)
        out_result->paging_operations += result->statistics.operations[i];
    run_result_fini(result);
    workload_free(workload);
    free(result);
    return is_clean;
}

bool scaling_bench_run(const struct scaling_subject *subject, uint64_t n,
                       struct scaling_bench *out_result)
{
    int ends[2], how = 1;
    pid_t child;
    bool is_told;

    memset(out_result, 0, sizeof *out_result);
    if (pipe(ends) != 0)
        return false;
    child = fork();
    if (child == 0) {
        bool is_done = run_here(subject, n, out_result) &&
                       write(ends[1], out_result, sizeof *out_result) == sizeof *out_result;

        _exit(is_done ? 0 : 1);
    }
    close(ends[1]);
    is_told = read(ends[0], out_result, sizeof *out_result) == sizeof *out_result;
    close(ends[0]);
    return child > 0 && waitpid(child, &how, 0) == child && how == 0 && is_told;
}

double scaling_bench_exponent(const struct scaling_bench *runs, size_t count)
{
    double x_mean = 0, y_mean = 0, xy = 0, xx = 0;

    for (size_t i = 0; i < count; i++) {
        x_mean += log((double)runs[i].n) / (double)count;
        y_mean += log(runs[i].seconds) / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        double x = log((double)runs[i].n) - x_mean;

        xy += x * (log(runs[i].seconds) - y_mean);
        xx += x * x;
    }
    return xx > 0 ? xy / xx : 0;
}

double scaling_bench_host_bytes_each(const struct scaling_bench *runs, size_t count)
{
    const struct scaling_bench *first = runs, *last = runs + count - 1;

    if (count < 2 || last->n <= first->n || last->host_bytes <= first->host_bytes)
        return 0;
    return (double)(last->host_bytes - first->host_bytes) / (double)(last->n - first->n);
}
