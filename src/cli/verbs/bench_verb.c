/*
 * drydock bench: how long the parts of the bench and the manager take, as tables or JSON.
 */
#include "cli/verbs/bench_output.h"
#include "cli/cli.h"
#include "cli/terminal.h"

#include "bench/measure/client_bench.h"
#include "bench/measure/image_bench.h"
#include "bench/measure/page_bench.h"
#include "bench/measure/range_bench.h"
#include "bench/measure/record_bench.h"
#include "bench/measure/replay_bench.h"
#include "bench/measure/residency_bench.h"
#include "bench/measure/scaling_bench.h"
#include "bench/measure/table_bench.h"
#include "bench/measure/transfer_bench.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS(ROW)                                                                               \
    ROW(QUICK, "quick", 'q', NULL, "smaller sizes: some seconds instead of minutes")               \
    ROW(CASE, "case", 'c', "FILE", "a case that replay plays too, at 40 GiB of local memory")      \
    ROW(JSON, "json", 0, NULL, "print as JSON")                                                    \
    ROW(BOUNDS, "bounds", 'b', "FILE", "fail when a figure is worse than its bound in the file")
CLI_OPTIONS(OPTIONS)

static enum cli_status failed(const char *name)
{
    cli_error("bench %s: no memory", name);
    return CLI_INTERNAL;
}

/* The name of a row, and its key, which is the name behind the bench's. */
struct row_name {
    char key[96];
    const char *name; /* in it */
};

__attribute__((format(printf, 3, 4))) static const char *
name_row(struct row_name *row, const char *bench, const char *format, ...)
{
    int length = snprintf(row->key, sizeof row->key, "%s/", bench);
    va_list args;

    va_start(args, format);
    vsnprintf(row->key + length, sizeof row->key - (size_t)length, format, args);
    va_end(args);
    row->name = row->key + length;
    return row->key;
}

static bool print_tables(struct bench_output *out, enum table_page page, uint64_t bytes)
{
    char page_size[REPORT_NUMBER_BYTES], size[REPORT_NUMBER_BYTES];
    struct table_bench r;
    struct row_name row;

    report_bytes(page_size, table_page_bytes(page));
    report_bytes(size, bytes);
    if (!table_bench_run(page, bytes, out->is_quick ? 15 : 31, &r))
        return false;
    name_row(&row, "page-tables", "%s in pages of %s", size, page_size);
    bench_ratio(out, row.key, row.name, "stores", &r.manager);
    name_row(&row, "page-tables", "%s in pages of %s/with driver and GPU", size, page_size);
    bench_ratio(out, row.key, row.name, "manager", &r.whole);
    return true;
}

static enum cli_status bench_page_tables(struct bench_output *out)
{
    uint64_t bytes = (out->is_quick ? 4 : 64) * GiB;

    bench_begin(out, "page_tables",
                "page tables: mapping, an entry; the manager alone beside storing as many words, "
                "and with driver and GPU\n  beside the manager alone");
    for (int page = 0; page < TABLE_PAGE_COUNT; page++) {
        if (!print_tables(out, (enum table_page)page, bytes))
            return failed("page-tables");
    }
    bench_end(out);
    return CLI_FINE;
}

/* 64 MiB is beyond the cache of every host. */
static enum cli_status bench_transfers(struct bench_output *out)
{
    const uint64_t largest = out->is_quick ? 16 * MiB : TRANSFER_BENCH_MOST_BYTES;
    struct transfer_bench *bench = transfer_bench_create();
    struct comparison comparison;
    bool is_run = bench != NULL;
    struct row_name row;
    const char *peer;

    bench_begin(out, "transfers",
                "transfers: real bytes through the modelled GPU, a packet of some in a buffer, "
                "beside memcpy or memset\n  and non-temporal stores, whichever is faster");
    for (int is_copy = 1; is_copy >= 0 && is_run; is_copy--) {
        for (uint64_t bytes = 64 * KiB; bytes <= largest && is_run; bytes *= 4) {
            char size[REPORT_NUMBER_BYTES];

            is_run = transfer_bench_run(bench, is_copy, bytes, out->is_quick ? 15 : 31, &comparison,
                                        &peer);
            name_row(&row, "transfers", "%s %s", is_copy ? "copy" : "fill",
                     report_bytes(size, bytes));
            if (is_run)
                bench_ratio(out, row.key, row.name, peer, &comparison);
        }
    }
    if (bench)
        transfer_bench_destroy(bench);
    if (!is_run)
        return failed("transfers");
    bench_end(out);
    return CLI_FINE;
}

#define RANGE_SEED 1

static bool print_stream(struct bench_output *out, enum range_stream stream, uint64_t count,
                         unsigned slices, double *out_p99)
{
    const char *name = range_stream_name(stream);
    struct range_bench r;
    struct row_name row;

    if (!range_bench_run(stream, count, slices, RANGE_SEED, &r))
        return false;
    name_row(&row, "ranges", "%s/%" PRIu64, name, count);
    bench_ratio(out, row.key, row.name, "segregated fit", &r.comparison);
    name_row(&row, "ranges", "%s/%" PRIu64 "/failed bytes", name, count);
    bench_figure(out, row.key, row.name, 100 * r.failed_fraction, "%");
    name_row(&row, "ranges", "%s/%" PRIu64 "/memory a range", name, count);
    bench_figure(out, row.key, row.name, r.bytes_per_range, "bytes");
    bench_hide();
    if (!out->as_json)
        printf("  %-44s %8.2f %% of bytes failed, %.1f bytes a range\n", "  the segregated fit",
               100 * r.peer_failed_fraction, r.peer_bytes_per_range);
    *out_p99 = r.ns_p99;
    return true;
}

static enum cli_status bench_ranges(struct bench_output *out)
{
    static const uint64_t counts[] = {10000, 100000, 1000000};
    size_t count_count = out->is_quick ? 2 : 3;
    unsigned slices = out->is_quick ? 31 : 61;
    struct row_name row;

    bench_begin(out, "ranges",
                "ranges: take and release at 90 % occupancy, log-normal sizes, beside a two-level "
                "segregated fit\n  (an operation; both in large host pages)");
    for (int stream = 0; stream < RANGE_STREAM_COUNT; stream++) {
        const char *name = range_stream_name((enum range_stream)stream);
        double p99[3] = {0};

        for (size_t i = 0; i < count_count; i++) {
            if (!print_stream(out, (enum range_stream)stream, counts[i], slices, &p99[i]))
                return failed("ranges");
        }
        name_row(&row, "ranges", "%s/p99 of the most beside 10000", name);
        bench_figure(out, row.key, row.name, p99[0] > 0 ? p99[count_count - 1] / p99[0] : 0,
                     "times");
    }
    for (int search = 0; search < RANGE_SEARCH_COUNT; search++) {
        struct comparison comparison;

        if (!range_bench_search((enum range_search)search, 50000, slices, &comparison))
            return failed("ranges");
        name_row(&row, "ranges", "%s", range_search_name((enum range_search)search));
        bench_ratio(out, row.key, row.name, "anywhere", &comparison);
    }
    bench_end(out);
    return CLI_FINE;
}

/* GpuMmu's allocator: 64 GiB of pages, a megabyte at a time. */
static enum cli_status bench_pages(struct bench_output *out)
{
    struct page_bench_result r;

    if (!page_bench_run(out->is_quick ? 1u << 20 : 1u << 24, 256, out->is_quick ? 1000 : 20000, 1,
                        &r))
        return failed("pages");
    bench_begin(out, "pages", "pages: 1 MiB takes, beside a bitmap searched page by page");
    if (out->as_json)
        printf("\n    {\"fresh_take_ns\": %.1f, \"fresh_peer_take_ns\": %.1f, "
               "\"fragmented_take_ns\": %.1f, \"fragmented_peer_take_ns\": %.1f, "
               "\"fragmented_runs_per_take\": %.2f, \"fragmented_peer_runs_per_take\": %.2f, "
               "\"metadata_bits_per_page\": %.2f}",
               r.fresh_take_ns, r.fresh_peer_take_ns, r.fragmented_take_ns,
               r.fragmented_peer_take_ns, r.fragmented_runs_per_take,
               r.fragmented_peer_runs_per_take, r.metadata_bits_per_page);
    else
        printf(
            "  empty pool       %7.0f ns a take  bitmap %8.0f ns\n"
            "  half, in pieces  %7.0f ns a take  bitmap %8.0f ns  runs a take %.1f, bitmap %.1f\n"
            "  metadata         %7.2f bits a page\n",
            r.fresh_take_ns, r.fresh_peer_take_ns, r.fragmented_take_ns, r.fragmented_peer_take_ns,
            r.fragmented_runs_per_take, r.fragmented_peer_runs_per_take, r.metadata_bits_per_page);
    bench_end(out);
    return CLI_FINE;
}

static bool print_residency(struct bench_output *out, enum run_model model, uint64_t count)
{
    const char *name = run_model_name(model);
    struct residency_bench r;
    struct row_name row;

    if (!residency_bench_run(model, count, &r))
        return false;
    name_row(&row, "residency", "%s, at random/%" PRIu64, name, count);
    bench_ratio(out, row.key, row.name, "LRU", &r.reference);
    name_row(&row, "residency", "%s, the same list again/%" PRIu64, name, count);
    bench_ratio(out, row.key, row.name, "LRU", &r.again);
    name_row(&row, "residency", "%s, a request of one/%" PRIu64, name, count);
    bench_figure(out, row.key, row.name, r.fixed_ns, "ns");
    name_row(&row, "residency", "%s, created and paged in/%" PRIu64, name, count);
    bench_figure(out, row.key, row.name, r.create_ns, "ns");
    if (model != RUN_GPUMMU)
        return true;
    name_row(&row, "residency", "a list object again/%" PRIu64, count);
    bench_ratio(out, row.key, row.name, "LRU", &r.list);
    name_row(&row, "residency", "a list object again/%" PRIu64 "/100 members", count);
    bench_figure(out, row.key, row.name, r.list.ours_ns, "ns");
    name_row(&row, "residency", "a list object again/%" PRIu64 "/10000 members", count);
    bench_figure(out, row.key, row.name, r.long_list_ns, "ns");
    return true;
}

static bool print_pressure(struct bench_output *out, uint64_t bytes)
{
    struct pressure_bench r;
    struct row_name row;

    if (!residency_bench_pressure(out->is_quick ? 10000 : 50000, bytes, &r))
        return false;
    name_row(&row, "residency", "70 %% fit, a pair of %" PRIu64 " KiB", bytes / KiB);
    bench_ratio(out, row.key, row.name, "LRU", &r.pair);
    name_row(&row, "residency", "70 %% fit, a pair of %" PRIu64 " KiB/operations", bytes / KiB);
    bench_figure(out, row.key, row.name, r.operations, "");
    return true;
}

static enum cli_status bench_residency(struct bench_output *out)
{
    static const uint64_t counts[] = {10000, 100000, 1000000};
    size_t count_count = out->is_quick ? 2 : 3;

    bench_begin(out, "residency",
                "residency: a reference to what is resident, 100 a request, beside an LRU of the "
                "application's; and a pair\n  of one in and one out where 70 % fits (GpuMmu); the "
                "manager alone, over a driver that does nothing");
    for (int m = RUN_PHYSICAL; m <= RUN_GPUMMU; m++) {
        for (size_t i = 0; i < count_count; i++) {
            if (!print_residency(out, (enum run_model)m, counts[i]))
                return failed("residency");
        }
    }
    for (uint64_t bytes = 4 * KiB; bytes <= 64 * KiB; bytes *= 16) {
        if (!print_pressure(out, bytes))
            return failed("residency");
    }
    bench_end(out);
    return CLI_FINE;
}

/* What judging costs: runs with rules and content beside runs with neither. */
static enum cli_status bench_replay(struct bench_output *out)
{
    static const char *const generators[] = {"transformer", "cnn", "game", "random"};
    const char *file = out->file;
    const unsigned count = ARRAY_COUNT(generators) + (file != NULL);

    bench_begin(
        out, "replay",
        "replay: a run with every call judged and every byte looked at, beside one without");
    for (unsigned i = 0; i < count; i++) {
        for (int m = RUN_PHYSICAL; m <= RUN_GPUMMU; m++) {
            const bool is_file = i == ARRAY_COUNT(generators);
            const char *name = is_file ? file : generators[i];
            struct replay_bench r;
            struct row_name row;

            if (!replay_bench_run(name, is_file, (enum run_model)m, out->is_quick, &r)) {
                cli_error("bench replay: %s does not play", name);
                return CLI_INTERNAL;
            }
            name_row(&row, "replay", "%s, %s", is_file ? "case" : name,
                     run_model_name((enum run_model)m));
            bench_ratio(out, row.key, row.name, "unchecked", &r.comparison);
            bench_hide();
            if (!out->as_json)
                printf("  %-44s %8" PRIu64 " paging operations, %.1f GB moved, %.0f an s checked\n",
                       "", r.operations, (double)r.moved_bytes * 1e-9,
                       (double)r.operations / r.comparison.ours_ns * 1e9);
        }
    }
    bench_end(out);
    return CLI_FINE;
}

/* What a record costs. Random operations have the most items for each of them. */
static enum cli_status bench_record(struct bench_output *out)
{
    static const char *const generators[] = {"random", "transformer"};

    bench_begin(out, "record", "record: a checked run that writes record.ddr, beside one without");
    for (unsigned i = 0; i < ARRAY_COUNT(generators); i++) {
        for (int m = RUN_PHYSICAL; m <= RUN_GPUMMU; m++) {
            const char *model = run_model_name((enum run_model)m);
            struct record_bench r;
            struct row_name row;

            if (!record_bench_run(generators[i], (enum run_model)m, out->is_quick, &r)) {
                cli_error("bench record: %s does not play", generators[i]);
                return CLI_INTERNAL;
            }
            name_row(&row, "record", "%s, %s", generators[i], model);
            bench_ratio(out, row.key, row.name, "unrecorded", &r.comparison);
            name_row(&row, "record", "%s, %s/size", generators[i], model);
            bench_figure(out, row.key, row.name, (double)r.bytes * 1e-6, "MB");
        }
    }
    bench_end(out);
    return CLI_FINE;
}

static void print_scaling_run(struct bench_output *out, const struct scaling_subject *subject,
                              const struct scaling_bench *run)
{
    double each = run->seconds / (double)run->n;

    bench_hide();
    if (out->as_json)
        printf("%s\n    {\"model\": \"%s\", \"subject\": \"%s\", \"n\": %" PRIu64
               ", \"paging_operations\": %" PRIu64
               ", \"seconds\": %.6f, \"us_each\": %.3f, \"host_bytes\": %" PRIu64 "}",
               bench_comma(out), run_model_name(subject->model), subject->name, run->n,
               run->paging_operations, run->seconds, each * 1e6, run->host_bytes);
    else
        printf("  %-9s %8" PRIu64 " %-12s %9" PRIu64
               " paging operations  %8.3f s  %9.2f us each  %6" PRIu64 " MiB\n",
               run_model_name(subject->model), run->n, subject->name, run->paging_operations,
               run->seconds, each * 1e6, run->host_bytes / MiB);
    fflush(stdout);
    bench_show(out);
}

/* How the runs of a subject grow. */
static void print_growth(struct bench_output *out, const struct scaling_subject *subject,
                         const struct scaling_bench *runs)
{
    const char *model = run_model_name(subject->model);
    struct row_name row;

    name_row(&row, "scaling", "%s, %s/exponent", model, subject->name);
    bench_figure(out, row.key, row.name, scaling_bench_exponent(runs, SCALING_BENCH_SIZES), "");
    name_row(&row, "scaling", "%s, %s/host memory each", model, subject->name);
    bench_figure(out, row.key, row.name, scaling_bench_host_bytes_each(runs, SCALING_BENCH_SIZES),
                 "bytes");
}

/* What a run costs with ever more of one thing in it. */
static enum cli_status bench_scaling(struct bench_output *out)
{
    bench_begin(
        out, "scaling",
        "scaling: what a checked run costs with n of one thing in it, in time of the processor\n"
        "  (exponent: 1 is linear; below 1 the fixed part of a run is still seen)");
    for (size_t s = 0; s < scaling_subject_count; s++) {
        const struct scaling_subject *subject = &scaling_subjects[s];
        const uint64_t *sizes = out->is_quick ? subject->quick_sizes : subject->sizes;
        struct scaling_bench runs[SCALING_BENCH_SIZES];

        for (size_t i = 0; i < SCALING_BENCH_SIZES; i++) {
            if (!scaling_bench_run(subject, sizes[i], &runs[i])) {
                cli_error("bench scaling: a run of %" PRIu64 " %s (%s) is not clean", sizes[i],
                          subject->name, run_model_name(subject->model));
                return CLI_INTERNAL;
            }
            print_scaling_run(out, subject, &runs[i]);
        }
        print_growth(out, subject, runs);
    }
    bench_end(out);
    return CLI_FINE;
}

static void print_clients(struct bench_output *out, const struct client_subject *subject,
                          const struct client_bench *r)
{
    struct row_name row;

    name_row(&row, "clients", "%s", subject->name);
    bench_figure(out, row.key, row.name, (double)r->virtual_ns / (double)r->ideal_ns, "times");
    name_row(&row, "clients", "%s/loops alone", subject->name);
    bench_figure(out, row.key, row.name, (double)r->loops_ns / (double)r->loops_work_ns, "times");
    name_row(&row, "clients", "%s/unfairness", subject->name);
    bench_figure(out, row.key, row.name, 1 - r->fairness, "");
    if (!out->as_json)
        printf("    throughput %.3f of the ideal, fairness %.3f, %.2f GiB moved in\n",
               (double)r->ideal_ns / (double)r->virtual_ns, r->fairness,
               (double)r->moved_in_bytes / (double)GiB);
}

/* Processes whose memory does not fit together. */
static enum cli_status bench_clients(struct bench_output *out)
{
    bench_begin(out, "clients",
                "clients: eight decode loops whose sets exceed memory four times, beside the ideal "
                "schedule\n  (virtual time, so there is no spread; unfairness is 1 less Jain's "
                "index)");
    for (size_t i = 0; i < client_subject_count; i++) {
        struct client_bench result;

        if (client_subjects[i].is_long && out->is_quick)
            continue;
        if (!client_bench_run(&client_subjects[i], &result)) {
            cli_error("bench clients: the run with %s is not clean", client_subjects[i].name);
            return CLI_INTERNAL;
        }
        print_clients(out, &client_subjects[i], &result);
    }
    bench_end(out);
    return CLI_FINE;
}

/*
 * The reference driver as an image, made by the verb cc of this program; false: it cannot be made
 * here.
 */
static bool build_reference(char path[32])
{
    char command[4096];
    int length;

    strcpy(path, "/tmp/drydock-bench-XXXXXX");
    if (!mkdtemp(path))
        return false;
    length = snprintf(command, sizeof command,
                      "cd '%s' && set -- $(find src/refkmd -name '*.c') && "
                      "for file; do shift; case $file in *_test.c | */test_*.c) ;; *) set -- "
                      "\"$@\" $file;; esac; "
                      "done && /proc/%ld/exe cc -o %s/ref.sys --entry RefKmdDriverEntryGpuMmu "
                      "-Iinclude -Isrc \"$@\" >%s/log 2>&1",
                      DRYDOCK_SOURCE_DIR, (long)getpid(), path, path);
    return length < (int)sizeof command && system(command) == 0;
}

static void remove_reference(const char *path)
{
    static const char *const names[] = {"ref.sys", "log"};
    char file[64];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(file, sizeof file, "%s/%s", path, names[i]);
        unlink(file);
    }
    rmdir(path);
}

static enum cli_status bench_images(struct bench_output *out)
{
    uint64_t calls = out->is_quick ? 1000000 : 20000000, seeds = out->is_quick ? 20 : 200;
    struct image_bench_calls result;
    char folder[32], image[48];
    double linked = 0, loaded = 0;
    bool has_image;

    if (!image_bench_calls_run(calls, &result))
        return failed("images");
    has_image = build_reference(folder);
    snprintf(image, sizeof image, "%s/ref.sys", folder);
    has_image = has_image && image_bench_seeds("ref", RUN_GPUMMU, 26, seeds, &linked) &&
                image_bench_seeds(image, RUN_GPUMMU, 26, seeds, &loaded);
    remove_reference(folder);
    bench_begin(out, "images",
                "images: a call of a DDI through the boundary, and the reference driver as a file");
    if (out->as_json) {
        printf("\n    {\"straight_ns\": %.2f, \"boundary_ns\": %.2f, \"with_service_ns\": %.2f, "
               "\"seeds\": %" PRIu64 ", \"linked_in_seconds\": %.3f, \"image_seconds\": %.3f}",
               result.straight_ns, result.entry_ns, result.service_ns, has_image ? seeds : 0,
               linked, loaded);
    } else {
        printf("  straight %.1f ns a call, through the boundary %.1f ns, with a service called "
               "back %.1f ns\n",
               result.straight_ns, result.entry_ns, result.service_ns);
        if (has_image)
            printf("  %" PRIu64
                   " seeds of GpuMmu, WDDM 2.6: linked in %.0f a minute, as an image %.0f: %.2fx\n",
                   seeds, (double)seeds / linked * 60, (double)seeds / loaded * 60,
                   loaded / linked);
        else
            printf("  seeds are not measured: no clang, lld and llvm here, or no source\n");
    }
    bench_end(out);
    return CLI_FINE;
}

static const struct {
    const char *name;
    enum cli_status (*run)(struct bench_output *out);
} benches[] = {
    {"page-tables", bench_page_tables}, {"transfers", bench_transfers},
    {"ranges", bench_ranges},           {"pages", bench_pages},
    {"residency", bench_residency},     {"replay", bench_replay},
    {"record", bench_record},           {"scaling", bench_scaling},
    {"clients", bench_clients},         {"images", bench_images},
};
#define BENCH_COUNT (sizeof benches / sizeof benches[0])

/* Named; without names all are, or with --bounds those that have any. */
static bool is_chosen(const struct cli_arguments *arguments, const struct bounds *bounds,
                      const char *name)
{
    for (size_t i = 0; i < arguments->rest_count; i++) {
        if (strcmp(arguments->rest[i], name) == 0)
            return true;
    }
    return arguments->rest_count == 0 && (!bounds->count || bounds_have(bounds, name));
}

static bool names_are_known(const struct cli_arguments *arguments)
{
    for (size_t i = 0; i < arguments->rest_count; i++) {
        size_t j = 0;

        while (j < BENCH_COUNT && strcmp(benches[j].name, arguments->rest[i]) != 0)
            j++;
        if (j == BENCH_COUNT) {
            cli_error(
                "unknown bench '%s' (expected page-tables, transfers, ranges, pages, residency, "
                "replay, record, scaling, clients or images)",
                arguments->rest[i]);
            return false;
        }
    }
    return true;
}

static enum cli_status bench(const struct cli_arguments *arguments)
{
    struct bench_output out = {
        .as_json = arguments->values[OPTION_JSON] != NULL,
        .is_quick = arguments->values[OPTION_QUICK] != NULL,
        .file = arguments->values[OPTION_CASE],
    };
    const char *bounds = arguments->values[OPTION_BOUNDS];
    char message[BOUNDS_MESSAGE_BYTES];
    enum cli_status status = CLI_FINE;

    if (!names_are_known(arguments))
        return CLI_USAGE;
    if (bounds && !bounds_read(&out.bounds, bounds, message)) {
        cli_error("%s", message);
        bounds_free(&out.bounds);
        return CLI_USAGE;
    }
    if (out.as_json)
        printf("{\n  \"schema\": \"bench\",\n  \"format\": 1");
    for (size_t i = 0; i < BENCH_COUNT; i++)
        out.count += is_chosen(arguments, &out.bounds, benches[i].name);
    if (!arguments->rest_count)
        bounds_expect(&out.bounds, NULL);
    for (size_t i = 0; i < BENCH_COUNT && status == CLI_FINE; i++) {
        if (!is_chosen(arguments, &out.bounds, benches[i].name))
            continue;
        out.name = benches[i].name;
        bounds_expect(&out.bounds, out.name);
        bench_show(&out);
        status = benches[i].run(&out);
        out.index++;
    }
    terminal_end();
    if (out.as_json)
        printf("\n}\n");
    if (status == CLI_FINE && !bench_verdict(&out))
        status = CLI_FINDINGS;
    bounds_free(&out.bounds);
    return status;
}

const struct cli_verb cli_bench = {
    .name = "bench",
    .usage = "[page-tables] [transfers] [ranges] [pages] [residency] [replay] [record] [scaling] "
             "[clients] [images]",
    .summary = "Measures this build, each figure beside a floor or a peer from the same run",
    .details = "Figures depend on the machine; ratios much less. Without names, all of them; with "
               "--bounds\n"
               "those that have bounds in the file. A bound of theirs that no row has fails, too.",
    .options = options,
    .run = bench,
};
