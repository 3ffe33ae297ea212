/*
 * drydock run: one case in one model or two, with a folder of results.
 */
#define _GNU_SOURCE /* memfd_create() */
#include "cli/cli.h"
#include "cli/terminal.h"

#include "base/bits.h"
#include "bench/config/command_line.h"
#include "bench/drivers/source_places.h"
#include "bench/child/child_run.h"
#include "bench/drivers/drivers.h"
#include "bench/run/run_text.h"
#include "report/excuses.h"
#include "report/finding_report.h"
#include "report/plain_text.h"
#include "report/report.h"
#include "workload/named_file.h"
#include "workload/words.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OPTIONS(ROW)                                                                               \
    ROW(MODEL, "model", 'm', "MODEL",                                                              \
        "physical, gpummu, iommu; both: the first two (the driver's)")                             \
    ROW(DRIVER, "driver", 0, "NAME", "ref, the reference miniport")                                \
    ROW(TABLES_IN_SYSTEM, "tables-in-system", 0, NULL, "page tables in system memory")             \
    ROW(PAGES, "pages", 0, "HOW", "system pages: scattered, fragmented or contiguous")             \
    ROW(STEPS, "steps", 0, "N", "of a trace: how often its step is repeated (2)")                  \
    ROW(EVENTS, "events", 0, "WHAT", "calls in events.txt: none, paging or all (paging)")          \
    ROW(EVENTS_LIMIT, "events-limit", 0, "N", "lines of it at most (200000, and 32M of them)")     \
    ROW(CALLS, "calls", 0, "FILE", "the order of the calls, short (one model at a time)")          \
    ROW(RECORD_LIMIT, "record-limit", 0, "SIZE", "of record.ddr; more is counted, not kept (4G)")  \
    ROW(NO_RECORD, "no-record", 0, NULL, "no record.ddr, and no events.txt")                       \
    ROW(OUT, "out", 'o', "DIR", "output folder (runs/CASE-MODEL-SEED)")                            \
    ROW(NO_OUT, "no-out", 0, NULL, "no output folder")                                             \
    ROW(REPORT, "report", 0, NULL, "a page for a browser: report.html in the output folder")       \
    ROW(REFERENCE, "reference", 0, "WHEN", "run without paging: short, always, never (short)")     \
    ROW(JUDGE, CLI_JUDGE)                                                                          \
    ROW(NO_JUDGE, CLI_NO_JUDGE)                                                                    \
    ROW(RUN_LIMIT, "run-limit", 0, "S",                                                            \
        "seconds of wall time after which it counts as hung (600)")                                \
    ROW(TRUST_CASE, CLI_TRUST_CASE)                                                                \
    ROW(OPTION, "option", 0, "KEY=VALUE",                                                          \
        "sets an option of the case (drydock options); may be repeated")                           \
    ROW(BASELINE, CLI_BASELINE)                                                                    \
    ROW(UPDATE_BASELINE, "update-baseline", 0, NULL,                                               \
        "add to FILE what is found: it is known from now on")                                      \
    ROW(ALLOW, CLI_ALLOW)                                                                          \
    ROW(JSON, "json", 0, NULL, "run.json on standard output instead of the summary")               \
    ROW(JUNIT, "junit", 0, "FILE", "write a test case for each rule, as JUnit XML")                \
    ROW(SARIF, "sarif", 0, "FILE", "write the findings as SARIF 2.1.0")
CLI_OPTIONS(OPTIONS)

#define REPLAY_BYTES      8192
#define RUN_LIMIT_SECONDS 600

struct request {
    struct workload *workload;
    struct run_config config;
    enum run_model models[2];
    size_t model_count;
    bool has_folder, has_record;
    struct run_text text; /* without its files */
    const char *calls_path;
    uint64_t run_limit_seconds;
    bool judges, judges_not; /* again, without the driver; by the options */
    struct excuses *excuses;
    const char *extended; /* the baseline that gets what is found; NULL: none */
    /* By model: how to play it again. */
    char replays[2][REPLAY_BYTES];
    struct report_origin origins[2];
};

static bool find_word(const char *option, const char *const *words, const char *value,
                      unsigned *out)
{
    char list[128] = "";

    for (unsigned i = 0; words[i]; i++) {
        if (strcmp(words[i], value) == 0) {
            *out = i;
            return true;
        }
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", words[i]);
    }
    cli_error("option --%s: unknown word '%s' (expected %s)", option, value, list);
    return false;
}

/* "64M": at least a mebibyte. */
static bool read_size(const char *option, const char *text, uint64_t *out)
{
    if (workload_parse_number(text, strlen(text), out) && *out >= MiB)
        return true;
    cli_error("option --%s: '%s' (expected a size of 1M or more, like 512M)", option, text);
    return false;
}

static bool apply_models(const char *model, struct request *request)
{
    static const char *const words[] = {"physical", "gpummu", "iommu", "both", NULL};
    unsigned choice;

    request->model_count = 1;
    if (!model) {
        run_config_choose_model(&request->config);
        request->models[0] = request->config.model;
        return true;
    }
    request->config.is_model_given = true;
    if (!find_word("model", words, model, &choice))
        return false;
    if (choice == 3) {
        request->models[0] = RUN_PHYSICAL;
        request->models[1] = RUN_GPUMMU;
        request->model_count = 2;
    } else {
        request->models[0] = (enum run_model)choice;
    }
    return true;
}

static bool apply_options(const struct cli_arguments *arguments, struct request *request)
{
    static const char *const pages[] = {"scattered", "fragmented", "contiguous", NULL};
    static const char *const events[] = {"none", "paging", "all", NULL};
    static const char *const references[] = {"short", "always", "never", NULL};
    const char *const *values = arguments->values;
    struct run_config *config = &request->config;
    unsigned word = 0;
    uint64_t number;

    if (values[OPTION_DRIVER]) {
        if (!cli_find_driver(values[OPTION_DRIVER]))
            return false;
        config->driver = values[OPTION_DRIVER];
    }
    if (values[OPTION_PAGES]) {
        if (!find_word("pages", pages, values[OPTION_PAGES], &word))
            return false;
        config->scatter = (enum machine_scatter)word;
    }
    request->text = (struct run_text){
        .level = RUN_EVENTS_PAGING, .limit = RUN_TEXT_LINES, .byte_limit = RUN_TEXT_BYTES};
    if (values[OPTION_EVENTS]) {
        if (!find_word("events", events, values[OPTION_EVENTS], &word))
            return false;
        request->text.level = (enum run_events)word;
    }
    if (values[OPTION_EVENTS_LIMIT]) {
        if (!cli_number("events-limit", values[OPTION_EVENTS_LIMIT], 1, UINT64_C(1) << 32, &number))
            return false;
        request->text.limit = number;
        request->text.byte_limit = 0;
    }
    if (values[OPTION_RECORD_LIMIT] &&
        !read_size("record-limit", values[OPTION_RECORD_LIMIT], &config->record_limit))
        return false;
    request->run_limit_seconds = RUN_LIMIT_SECONDS;
    if (values[OPTION_RUN_LIMIT] && !cli_number("run-limit", values[OPTION_RUN_LIMIT], 1, 1u << 30,
                                                &request->run_limit_seconds))
        return false;
    config->has_tables_in_system_memory |= values[OPTION_TABLES_IN_SYSTEM] != NULL;
    if (values[OPTION_REFERENCE]) {
        if (!find_word("reference", references, values[OPTION_REFERENCE], &word))
            return false;
        config->reference = (enum run_reference)word;
    }
    config->progress = cli_progress;
    request->has_folder = values[OPTION_NO_OUT] == NULL;
    if (values[OPTION_NO_OUT] && values[OPTION_OUT]) {
        cli_error("--out and --no-out exclude each other");
        return false;
    }
    request->has_record = request->has_folder && !values[OPTION_NO_RECORD];
    request->calls_path = values[OPTION_CALLS];
    if (values[OPTION_NO_RECORD] && (values[OPTION_CALLS] || values[OPTION_EVENTS])) {
        cli_error("--no-record leaves nothing of which --%s could be made",
                  values[OPTION_CALLS] ? "calls" : "events");
        return false;
    }
    if (values[OPTION_NO_OUT] && values[OPTION_REPORT]) {
        cli_error("--report needs the output folder, which --no-out leaves out");
        return false;
    }
    request->judges = values[OPTION_JUDGE] != NULL;
    request->judges_not = values[OPTION_NO_JUDGE] != NULL;
    if (!apply_models(values[OPTION_MODEL], request))
        return false;
    if (request->calls_path && request->model_count > 1) {
        cli_error("--calls takes the calls of one model");
        return false;
    }
    request->extended = values[OPTION_UPDATE_BASELINE] ? values[OPTION_BASELINE] : NULL;
    request->excuses =
        cli_excuses(values[OPTION_BASELINE], values[OPTION_UPDATE_BASELINE] != NULL, arguments);
    return request->excuses != NULL;
}

/* "cases/main.case.zst" -> "main". */
static void base_name(char out[128], const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dot;

    if (strcmp(path, "-") == 0)
        path = "stdin";
    snprintf(out, 128, "%s", slash ? slash + 1 : path);
    for (dot = strchr(out, '.'); dot == out; dot = strchr(out + 1, '.'))
        ;
    if (dot)
        *dot = '\0';
}

static void folder_path(char out[512], const struct request *request, const char *out_option,
                        const char *case_path, enum run_model model)
{
    char name[128];

    if (out_option) {
        snprintf(out, 512, request->model_count > 1 ? "%s/%s" : "%s", out_option,
                 run_model_name(model));
        return;
    }
    base_name(name, case_path);
    snprintf(out, 512, "runs/%s-%s-%" PRIu64, name, run_model_name(model), request->config.seed);
}

static void append_option(char out[REPLAY_BYTES], const char *name, const char *value)
{
    char word[64];

    snprintf(word, sizeof word, "--%s", name);
    command_line_append(out, REPLAY_BYTES, word);
    if (value)
        command_line_append(out, REPLAY_BYTES, value);
}

/* The command with one model, and without what only says where results go. */
static void write_replay(const struct cli_arguments *arguments, enum run_model model,
                         char out[REPLAY_BYTES])
{
    static const int kept[] = {OPTION_DRIVER, OPTION_TABLES_IN_SYSTEM, OPTION_PAGES, OPTION_STEPS,
                               OPTION_TRUST_CASE};
    const char *pair;
    size_t at = 0;

    snprintf(out, REPLAY_BYTES, "drydock run");
    command_line_append(out, REPLAY_BYTES, arguments->rest[0]);
    append_option(out, "model", run_model_name(model));
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        const struct cli_option *option = &options[kept[i]];

        if (arguments->values[kept[i]])
            append_option(out, option->name, option->value ? arguments->values[kept[i]] : NULL);
    }
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        if (arguments->case_values[i])
            append_option(out, workload_options[i].key, arguments->case_values[i]);
    }
    while ((pair = cli_next_repeated(arguments, "option", &at)) != NULL)
        append_option(out, "option", pair);
}

/* Both formats take the findings of all models. False: not all could be written. */
static bool write_reports(const struct cli_arguments *arguments, const struct request *request,
                          const struct run_result *results)
{
    struct report_finding findings[2 * REPORT_RUN_FINDINGS];
    struct report_suite suites[2];
    char names[2][192];
    size_t count = 0;
    bool is_fine = true;
    char *text;

    for (size_t i = 0; i < request->model_count; i++) {
        size_t of_run = report_findings_of_run(&results[i], &request->origins[i], findings + count);

        excuses_apply_to_run(request->excuses, findings + count, of_run);
        snprintf(names[i], sizeof names[i], "%s, %s", arguments->rest[0],
                 run_model_name(request->models[i]));
        suites[i] = (struct report_suite){
            .name = names[i],
            .rules = &results[i].rules,
            .findings = findings + count,
            .count = of_run,
            .seconds = results[i].wall_seconds,
        };
        count += of_run;
    }
    if (arguments->values[OPTION_JUNIT]) {
        text = report_junit(suites, request->model_count);
        is_fine = text && cli_write_text(arguments->values[OPTION_JUNIT], text);
        free(text);
    }
    if (arguments->values[OPTION_SARIF]) {
        text = report_sarif(findings, count);
        is_fine = text && cli_write_text(arguments->values[OPTION_SARIF], text) && is_fine;
        free(text);
    }
    return is_fine;
}

static bool is_excused(const struct excuses *excuses, const struct report_origin *origin,
                       const struct run_result *result)
{
    struct report_finding findings[REPORT_RUN_FINDINGS];

    return excuses_apply_to_run(excuses, findings,
                                report_findings_of_run(result, origin, findings));
}

/* What is found is known from now on. False: it was told why not. */
static bool extend_baseline(const struct request *request, const struct report_origin *origin,
                            const struct run_result *result)
{
    struct report_finding findings[REPORT_RUN_FINDINGS];

    return !request->extended ||
           (result->outcome != RUN_CLEAN && result->outcome != RUN_FINDINGS) ||
           cli_extend_baseline(request->extended, request->excuses, findings,
                               report_findings_of_run(result, origin, findings));
}

static enum cli_status status_of(const struct run_result *result,
                                 const struct report_origin *origin, const struct excuses *excuses)
{
    switch (result->outcome) {
    case RUN_CLEAN:
        return CLI_FINE;
    case RUN_FINDINGS:
        if (is_excused(excuses, origin, result))
            return CLI_FINE;
        return cli_found(run_result_is_ours(result));
    case RUN_REFUSED:
        return CLI_USAGE;
    case RUN_BROKEN:
        break;
    }
    return CLI_INTERNAL;
}

/* The files of a run that are made while it goes on. */
struct files {
    struct report_folder folder;
    int record;  /* 0: none */
    FILE *calls; /* NULL: none */
};

static bool open_files(struct files *files, const struct request *request, const char *folder_name)
{
    char path[600], error[512];

    if (request->has_folder && !report_folder_begin(&files->folder, folder_name, error)) {
        cli_error("%s", error);
        return false;
    }
    if (request->has_record) {
        files->record = cli_open_record(&files->folder);
        if (files->record < 0)
            return false;
    } else if (request->calls_path) {
        snprintf(path, sizeof path, "the record of the run");
        files->record = memfd_create("record", MFD_CLOEXEC);
    }
    if (files->record >= 0 && request->calls_path) {
        snprintf(path, sizeof path, "%s", request->calls_path);
        files->calls = named_file_open(path, "w");
    }
    if (files->record >= 0 && (!request->calls_path || files->calls))
        return true;
    cli_error("cannot write '%s': %s", path, named_file_reason(errno));
    return false;
}

static void close_files(struct files *files)
{
    if (files->record > 0)
        close(files->record);
    if (files->calls)
        fclose(files->calls);
    report_folder_abandon(&files->folder);
}

/* The lists of calls, of the record. */
static bool write_lists(struct files *files, const struct request *request, const char *path,
                        struct run_result *result)
{
    struct run_text text = request->text;
    struct record_reader *reader;
    char name[600], error[256];
    bool is_fine;

    text.calls = files->calls;
    if (files->folder.is_open && text.level != RUN_EVENTS_NONE) {
        snprintf(name, sizeof name, "%s/events.txt", files->folder.partial);
        text.events = fopen(name, "w");
        if (!text.events) {
            cli_error("cannot write '%s': %s", name, strerror(errno));
            return false;
        }
    }
    if (!text.events && !text.calls)
        return true;
    reader = record_reader_open_file(base_services_libc(), "record", files->record, error);
    is_fine = reader && run_text_write(&text, reader, error);
    record_reader_close(reader);
    if (text.events && fclose(text.events) != 0 && is_fine) {
        snprintf(error, sizeof error, "cannot write events.txt");
        is_fine = false;
    }
    if (files->calls && fclose(files->calls) != 0 && is_fine) {
        snprintf(error, sizeof error, "cannot write '%.200s'", request->calls_path);
        is_fine = false;
    }
    files->calls = NULL;
    result->events_written = text.written;
    result->events_dropped = text.dropped;
    if (!is_fine)
        cli_error("%s: %s", path, error);
    return is_fine;
}

/* False: something is not as it should be, and was told. */
static bool finish_record(struct files *files, const struct request *request, const char *path,
                          const struct report_origin *origin, struct run_result *result)
{
    char error[256];

    if (!files->record || result->outcome == RUN_REFUSED)
        return true;
    if (result->record_error[0]) {
        cli_error("%s: %s", path, result->record_error);
        return false;
    }
    if (!report_finish_record(files->record, result, origin, error)) {
        cli_error("%s: %s", path, error);
        return false;
    }
    return write_lists(files, request, path, result);
}

/* What the driver asked for in vain, as words to add. */
static void tell_wishes(const struct run_result *result)
{
    for (unsigned i = 0; i < result->wish_count; i++)
        cli_note("%s asked for what is not there; to add it: --surroundings '%s'",
                 result->wishes[i].where, result->wishes[i].word);
}

static enum cli_status run_model(const struct request *request, const char *path,
                                 const char *out_option, size_t index, struct run_result *result)
{
    const enum run_model model = request->models[index];
    struct run_config config = request->config;
    struct files files = {.record = 0};
    char folder_name[512];
    enum cli_status status;

    config.model = model;
    folder_path(folder_name, request, out_option, path, model);
    if (!open_files(&files, request, folder_name)) {
        close_files(&files);
        result->outcome = RUN_REFUSED;
        return CLI_USAGE;
    }
    config.record_file = files.record;
    if (!cli_play(&config, request->workload, (double)request->run_limit_seconds,
                  cli_judges(request->judges, request->judges_not, config.driver), result)) {
        cli_error("the process of the run cannot be made");
        close_files(&files);
        result->outcome = RUN_REFUSED;
        return CLI_INTERNAL;
    }
    source_places_add_to_result(result);
    terminal_end();
    if (result->error[0])
        cli_error("%s: %s: %s", path, run_model_name(model), result->error);
    report_findings(stderr, &request->origins[index], result, request->excuses);
    status = extend_baseline(request, &request->origins[index], result)
                 ? status_of(result, &request->origins[index], request->excuses)
                 : CLI_USAGE;
    tell_wishes(result);
    if (!finish_record(&files, request, path, &request->origins[index], result) &&
        status < CLI_USAGE)
        status = CLI_USAGE;
    if (files.folder.is_open && result->outcome != RUN_REFUSED &&
        !cli_finish_folder(&files.folder, result, &request->origins[index]) && status < CLI_USAGE)
        status = CLI_USAGE;
    close_files(&files);
    return status;
}

/* A run begins anew: what it has until then stands in its folder. */
static enum cli_status tell_interrupted(const struct cli_arguments *arguments,
                                        const struct request *request)
{
    char path[512], command[2 * REPLAY_BYTES];

    folder_path(path, request, arguments->values[OPTION_OUT], arguments->rest[0],
                request->models[request->model_count - 1]);
    cli_command_line(arguments, command, sizeof command);
    return cli_interrupted(request->has_folder ? path : NULL, command);
}

static enum cli_status run(const struct cli_arguments *arguments)
{
    const char *out_option = arguments->values[OPTION_OUT];
    struct request request = {0};
    struct run_result *results;
    enum cli_status status = CLI_FINE;
    uint64_t steps = 0;
    bool is_interrupted = false;
    size_t done = 0;
    const char *unsupported;

    if (arguments->rest_count != 1) {
        cli_error("run takes one case or trace (drydock run --help)");
        return CLI_USAGE;
    }
    if (arguments->values[OPTION_STEPS] &&
        !cli_number("steps", arguments->values[OPTION_STEPS], 1, 1000, &steps))
        return CLI_USAGE;
    request.workload = cli_load(arguments->rest[0], (uint32_t)steps);
    if (!request.workload)
        return CLI_USAGE;
    run_config_defaults(&request.config);
    results = calloc(2, sizeof *results);
    if (!results ||
        !cli_may_play(arguments, arguments->values[OPTION_TRUST_CASE] != NULL,
                      arguments->values[OPTION_DRIVER], request.workload) ||
        !cli_set_options(arguments, request.workload)) {
        workload_free(request.workload);
        free(results);
        return CLI_USAGE;
    }
    run_config_from_workload(&request.config, request.workload);
    if (!apply_options(arguments, &request)) {
        workload_free(request.workload);
        free(results);
        return CLI_USAGE;
    }
    unsupported = run_config_unsupported_option(request.workload);
    if (unsupported)
        cli_note("%s: option '%s' is not followed yet: the run goes on without it",
                 arguments->rest[0], unsupported);
    interrupt_catch();
    for (; done < request.model_count; done++) {
        enum cli_status one;

        write_replay(arguments, request.models[done], request.replays[done]);
        request.origins[done] = (struct report_origin){arguments->rest[0], request.replays[done]};
        one = run_model(&request, arguments->rest[0], out_option, done, &results[done]);
        if (one > status)
            status = one;
        if (results[done].outcome == RUN_REFUSED)
            break;
        if (interrupt_came()) {
            request.model_count = done + 1;
            is_interrupted = true;
        }
    }
    if (done == request.model_count) {
        if (arguments->values[OPTION_JSON]) {
            char *json = report_run_json(results, request.origins, request.model_count);

            puts(json ? json : "{}");
            free(json);
        } else if (!terminal_is_quiet()) {
            report_summary(stdout, request.workload, results, request.model_count);
            for (size_t i = 0; i < request.model_count && request.has_folder; i++) {
                char path[512];

                folder_path(path, &request, out_option, arguments->rest[0], request.models[i]);
                plain_text_print(stdout, "%s%s", i ? ", " : "\n  written to ", path);
            }
            if (request.has_folder)
                printf("\n");
        }
        for (size_t i = 0; i < request.model_count && arguments->values[OPTION_REPORT]; i++) {
            char folder[512], path[600];

            folder_path(folder, &request, out_option, arguments->rest[0], request.models[i]);
            if (!cli_report_run(folder, path))
                status = status < CLI_USAGE ? CLI_USAGE : status;
            else if (!arguments->values[OPTION_JSON])
                plain_text_print(stdout, "  report     %s\n", path);
        }
        if (!write_reports(arguments, &request, results) && status < CLI_USAGE)
            status = CLI_USAGE;
    }
    if (is_interrupted && done == request.model_count)
        status = tell_interrupted(arguments, &request);
    for (size_t i = 0; i < 2; i++)
        run_result_fini(&results[i]);
    free(results);
    excuses_free(request.excuses);
    workload_free(request.workload);
    return status;
}

const struct cli_verb cli_run = {
    .name = "run",
    .usage = "CASE [options]",
    .summary = "Plays a case, or a trace, and checks every byte",
    .details =
        "A machine, a GPU and a driver are set up, the memory manager pages the case's\n"
        "allocations in and out as it needs room, and what the GPU reads is compared with what\n"
        "was written. Prints a summary; writes run.json and the recorded calls into a folder.\n"
        "Options of the case are defaults; those of the command line win.",
    .options = options,
    .repeated_options = CLI_REPEATED(OPTION_OPTION) | CLI_REPEATED(OPTION_ALLOW),
    .case_options = CLI_OF_RUN,
    .run = run,
};
