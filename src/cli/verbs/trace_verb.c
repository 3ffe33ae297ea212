/*
 * drydock trace: what happened in a run, for Perfetto.
 */
#include "cli/cli.h"
#include "cli/terminal.h"

#include "bench/run/run_text.h"
#include "record/record_reader.h"
#include "report/document.h"
#include "report/page/folder_page.h"
#include "report/plain_text.h"
#include "report/text_json.h"
#include "report/trace/perfetto.h"
#include "workload/named_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPTIONS(ROW)                                                                               \
    ROW(OUT, "out", 'o', "FILE", "the trace (run.pftrace in the folder; -: standard output)")      \
    ROW(TEXT, "text", 0, NULL, "the lines of the calls instead, to standard output (or FILE)")     \
    ROW(EVENTS, "events", 0, "WHAT", "with --text: paging or all (all)")                           \
    ROW(NO_CALLS, "no-calls", 0, NULL, "leave out the calls of the driver, which are most of it")  \
    ROW(JSON, "json", 0, NULL, "say what was written as JSON")
CLI_OPTIONS(OPTIONS)

/* The record that is named: a file, or the folder of a run. False with a message. */
static bool find_record(const char *name, char path[600])
{
    struct stat status;

    if (stat(name, &status) != 0) {
        cli_error("cannot read '%s': %s", name, strerror(errno));
        return false;
    }
    if ((size_t)snprintf(path, 600, "%s%s", name, S_ISDIR(status.st_mode) ? "/record.ddr" : "") >=
        600) {
        cli_error("the name is too long: '%.100s...'", name);
        return false;
    }
    if (S_ISDIR(status.st_mode) && stat(path, &status) != 0) {
        cli_error("'%s' has no record.ddr: it is no folder of a run, or the run was played without "
                  "a record",
                  name);
        return false;
    }
    if (!S_ISREG(status.st_mode)) {
        cli_error("'%s' is no file", path);
        return false;
    }
    return true;
}

/*
 * A file that is new: what has its name goes, and is not written to, for the folder of a run may be
 * anybody's, with links in it.
 */
static FILE *open_new(const char *path)
{
    int file = unlink(path) == 0 || errno == ENOENT
                   ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                   : -1;
    FILE *stream = file < 0 ? NULL : fdopen(file, "wb");

    if (file >= 0 && !stream)
        close(file);
    return stream;
}

/*
 * Whole under its name, or not at all; a device or a pipe that the user has named is written to.
 * False with a message.
 */
static bool write_trace(const char *path, bool is_named, const struct story *story,
                        const struct perfetto_options *options, struct perfetto_counts *counts,
                        long *out_bytes)
{
    bool is_standard = strcmp(path, "-") == 0, is_direct, is_written;
    struct stat status;
    char partial[640];
    FILE *out;

    is_direct = is_standard || (is_named && stat(path, &status) == 0 && !S_ISREG(status.st_mode));
    snprintf(partial, sizeof partial, "%s%s", path, is_direct ? "" : ".partial");
    out = is_standard ? stdout : is_direct ? named_file_open(path, "wb") : open_new(partial);
    if (!out) {
        cli_error("cannot write '%s': %s", partial, named_file_reason(errno));
        return false;
    }
    errno = 0;
    is_written = perfetto_write(out, story, options, counts);
    *out_bytes = is_direct ? 0 : ftell(out);
    is_written = (is_standard ? fflush(out) : fclose(out)) == 0 && is_written;
    if (!is_direct)
        is_written = is_written && rename(partial, path) == 0;
    if (!is_written) {
        cli_error("cannot write '%s': %s", path, errno ? strerror(errno) : "no memory");
        if (!is_direct)
            unlink(partial);
    }
    return is_written;
}

static void tell_written(const struct cli_arguments *arguments, const char *path,
                         const struct story *story, const struct perfetto_counts *counts,
                         long bytes)
{
    static const char *const lacks[] = {"cut", "damaged"};

    for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++) {
        if (story_fact_of(story, lacks[i]))
            cli_error("the record is not whole: %s", story_fact_of(story, lacks[i]));
    }
    if (strcmp(path, "-") == 0)
        return;
    if (arguments->values[OPTION_JSON]) {
        json_t *json = report_document("trace");

        json_object_set_new(json, "trace", report_text_json(path));
        json_object_set_new(json, "bytes", json_integer(bytes));
#define X(name) json_object_set_new(json, #name, json_integer((json_int_t)counts->name))
        X(tracks);
        X(slices);
        X(instants);
        X(counters);
        X(flows);
#undef X
        json_object_set_new(json, "left_out", report_left_out_json(story));
        cli_print_json(json);
        return;
    }
    if (terminal_is_quiet())
        return;
    plain_text_print(stdout, "%s (%.1f MB): open it at https://ui.perfetto.dev\n", path,
                     (double)bytes / 1e6);
    report_left_out_text(stdout, story);
}

/* The calls of the record as lines, all of them. */
static enum cli_status write_lines(const char *record, const char *path, enum run_events level)
{
    bool is_standard = !path || strcmp(path, "-") == 0, is_fine;
    char error[256];
    struct record_reader *reader = record_reader_open(base_services_libc(), record, error);
    struct run_text text = {.level = level,
                            .limit = UINT64_MAX,
                            .byte_limit = UINT64_MAX,
                            .put = plain_text_write}; /* the record may be anybody's */

    if (!reader) {
        cli_error("%s", error);
        return CLI_USAGE;
    }
    text.events = is_standard ? stdout : named_file_open(path, "w");
    if (!text.events) {
        cli_error("cannot write '%s': %s", path, named_file_reason(errno));
        record_reader_close(reader);
        return CLI_USAGE;
    }
    is_fine = run_text_write(&text, reader, error);
    record_reader_close(reader);
    if ((is_standard ? fflush(text.events) : fclose(text.events)) != 0) {
        cli_error("cannot write '%s': %s", is_standard ? "standard output" : path, strerror(errno));
        return CLI_USAGE;
    }
    /* The lines of a record that was cut are there as far as they go. */
    if (!is_fine)
        cli_error("%s", error);
    return is_fine ? CLI_FINE : CLI_USAGE;
}

static enum cli_status run(const struct cli_arguments *arguments)
{
    const struct perfetto_options options = {.leaves_out_calls =
                                                 arguments->values[OPTION_NO_CALLS] != NULL};
    const char *out = arguments->values[OPTION_OUT], *events = arguments->values[OPTION_EVENTS];
    bool is_paging = events && strcmp(events, "paging") == 0;
    struct perfetto_counts counts;
    char record[600], path[620], error[512];
    struct story *story;
    enum cli_status status = CLI_USAGE;
    long bytes;

    if (arguments->rest_count != 1) {
        cli_error("trace takes the folder of a run, or its record (drydock trace --help)");
        return CLI_USAGE;
    }
    if (events && (!arguments->values[OPTION_TEXT] || (strcmp(events, "all") != 0 && !is_paging))) {
        cli_error("--events is 'paging' or 'all', and for --text");
        return CLI_USAGE;
    }
    if (!find_record(arguments->rest[0], record))
        return CLI_USAGE;
    if (arguments->values[OPTION_TEXT])
        return write_lines(record, out, is_paging ? RUN_EVENTS_PAGING : RUN_EVENTS_ALL);
    if (out && strlen(out) >= sizeof path) {
        cli_error("the name is too long: '%.100s...'", out);
        return CLI_USAGE;
    }
    if (out)
        snprintf(path, sizeof path, "%s", out);
    else
        snprintf(path, sizeof path, "%.*s/run.pftrace",
                 (int)(strrchr(record, '/') ? strrchr(record, '/') - record : 1),
                 strrchr(record, '/') ? record : ".");
    story = story_read(base_services_libc(), record, NULL, error);
    if (!story) {
        cli_error("%s", error);
        return CLI_USAGE;
    }
    if (write_trace(path, out != NULL, story, &options, &counts, &bytes)) {
        tell_written(arguments, path, story, &counts, bytes);
        status = CLI_FINE;
    }
    story_destroy(story);
    return status;
}

const struct cli_verb cli_trace = {
    .name = "trace",
    .usage = "RUN [options]",
    .summary = "Writes what happened in a run for Perfetto, or as lines",
    .details =
        "RUN is the folder of a run (runs/...), or a record.ddr. The trace has processes, "
        "contexts\n"
        "and engines as tracks, flows from paging operations to packets, interrupts and requests,\n"
        "and counters (docs/reports.md). ui.perfetto.dev opens it, and trace_processor queries "
        "it.\n"
        "With --text, the calls between manager and driver are printed as lines instead.",
    .options = options,
    .run = run,
};
