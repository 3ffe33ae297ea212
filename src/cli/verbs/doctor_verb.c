/*
 * drydock doctor: what is installed, what is missing for which verb, what the kernel offers, and
 * how fast this machine is.
 */
#define _GNU_SOURCE /* syscall() */
#include "cli/cli.h"
#include "cli/settings/project.h"
#include "cli/terminal.h"

#include "bench/campaign/campaign.h"
#include "bench/drivers/drivers.h"
#include "report/document.h"
#include "report/look.h"
#include "report/page/page.h"
#include "report/plain_text.h"
#include "report/report.h"
#include "report/text_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define OPTIONS(ROW)                                                                               \
    ROW(SECONDS, "seconds", 0, "S", "to measure how fast this machine is; 0: not at all (2)")      \
    ROW(JSON, CLI_JSON)
CLI_OPTIONS(OPTIONS)

#define LANDLOCK_CREATE 444 /* newer than some C libraries' headers */

/* ---- What is looked for ---------------------------------------------------------------------- */

/* Says how it is, in a few words; false: it is missing. */
typedef bool look_function(const char *name, char *out, size_t size);

static bool look_for_program(const char *name, char *out, size_t size)
{
    const char *path = getenv("PATH");

    while (path && *path) {
        size_t length = strcspn(path, ":");

        if ((size_t)snprintf(out, size, "%.*s/%s", (int)length, path, name) < size &&
            access(out, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    snprintf(out, size, "not in PATH");
    return false;
}

static bool look_for_headers(const char *name, char *out, size_t size)
{
    return cli_find_own("include/drydock/wdk", "include/wdk", out, size);
}

static bool look_for_template(const char *name, char *out, size_t size)
{
    return cli_find_own("share/drydock/new/Makefile", "templates/new/Makefile", out, size);
}

static bool look_for_page(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s",
             report_page_is_built() ? "part of this program" : report_page_not_built());
    return report_page_is_built();
}

static bool look_for_processor(const char *name, char *out, size_t size)
{
    struct utsname about;

    snprintf(out, size, "%s", uname(&about) == 0 ? about.machine : "unknown");
    return strcmp(out, "x86_64") == 0;
}

static bool look_for_landlock(const char *name, char *out, size_t size)
{
    long version = syscall(LANDLOCK_CREATE, NULL, 0, 1);

    if (version > 0)
        snprintf(out, size, "version %ld", version);
    else
        snprintf(out, size, "the kernel has none, or it is turned off");
    return version > 0;
}

static bool look_for_seccomp(const char *name, char *out, size_t size)
{
    bool is_there = prctl(PR_GET_SECCOMP) >= 0;

    snprintf(out, size, "%s", is_there ? "there" : "the kernel has none");
    return is_there;
}

static bool look_for_peeking(const char *name, char *out, size_t size)
{
    char byte = 1, copy = 0;
    const struct iovec to = {&copy, 1}, from = {&byte, 1};
    bool is_there = process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 && copy == 1;

    snprintf(out, size, "%s", is_there ? "there" : "refused (a container's filter does that)");
    return is_there;
}

static const struct part {
    const char *name, *needed_for;
    look_function *look;
    bool is_needed; /* a verb does not work without it */
    const char *cure;
} parts[] = {
    {"clang", "cc", look_for_program, true, "Debian: clang"},
    {"lld-link", "cc", look_for_program, true, "Debian: lld"},
    {"llvm-dlltool", "cc", look_for_program, true, "Debian: llvm"},
    {"llvm-symbolizer", "places in the source of an image, in findings", look_for_program, false,
     "Debian: llvm"},
    {"make", "the Makefile of drydock new", look_for_program, false, "Debian: make"},
    {"rustc", "drivers of drydock new --rust", look_for_program, false,
     "Debian 12: rustc, libstd-rust-dev-windows"},
    {"bindgen", "drivers of drydock new --rust", look_for_program, false, "Debian: bindgen"},
    {"driver headers", "cc", look_for_headers, true, "make install puts them beside the program"},
    {"template", "new", look_for_template, true, "make install puts it beside the program"},
    {"pages", "report", look_for_page, true, "build with node and npm"},
    {"x86-64 processor", "driver images (.sys)", look_for_processor, true,
     "drivers that are linked in run everywhere"},
    {"seccomp", "what keeps driver images from the system", look_for_seccomp, true,
     "a kernel with CONFIG_SECCOMP_FILTER"},
    {"landlock", "what keeps driver images from files", look_for_landlock, false,
     "a kernel from 5.13 on, with landlock in its lsm= list"},
    {"process_vm_readv", "results of driver images that are looked at", look_for_peeking, true,
     "a container that allows it"},
};
#define PART_COUNT (sizeof parts / sizeof parts[0])

/* ---- How fast -------------------------------------------------------------------------------- */

struct speed {
    double seconds;
    struct campaign_summary summary;
};

static bool take_record(void *context, const struct campaign_record *record)
{
    struct speed *speed = context;

    campaign_summary_add(&speed->summary, record);
    return true;
}

/* The campaign of drydock check, with the reference driver, for so long. */
static bool measure(uint64_t seconds, long processors, struct speed *out)
{
    const struct campaign_options campaign = {
        .driver = "ref",
        .model = CAMPAIGN_ALL_MODELS,
        .first_seed = 1,
        .seed_count = UINT64_C(1) << 40,
        .shard_count = 1,
        .jobs = (unsigned)processors,
        .run_limit_seconds = 60,
        .time_limit_seconds = (double)seconds,
    };
    const struct campaign_watcher watcher = {.context = out, .record = take_record};
    const double started = terminal_now();
    bool is_fine;

    is_fine = campaign_summary_init(&out->summary) &&
              campaign_run(&campaign, &watcher) == CAMPAIGN_STOPPED_BY_TIME;
    out->seconds = terminal_now() - started;
    return is_fine && out->summary.runs;
}

/* ---- What is told ---------------------------------------------------------------------------- */

static void print_part(const struct part *part, bool is_there, const char *how)
{
    const enum look_style style = is_there ? LOOK_GOOD : part->is_needed ? LOOK_ERROR : LOOK_ADVICE;

    if (is_there && terminal_is_quiet())
        return;
    printf("  %s%-8s%s %-17s %s\n", look_begin(stdout, style),
           is_there          ? "there"
           : part->is_needed ? "MISSING"
                             : "absent",
           look_begin(stdout, LOOK_PLAIN), part->name, how);
    if (!is_there)
        printf("           for %s (%s)\n", part->needed_for, part->cure);
}

static void print_speed(const struct speed *speed, long processors)
{
    const double rate = (double)speed->summary.runs / speed->seconds;
    char pages[REPORT_NUMBER_BYTES];

    printf("  speed    %.0f seeds of drydock check a second on %ld processor%s, %s pages looked at "
           "a second\n           10,000 seeds take %.0f minutes\n",
           rate, processors, processors == 1 ? "" : "s",
           report_count(pages, (uint64_t)((double)speed->summary.pages_checked / speed->seconds)),
           10000 / rate / 60 + 0.5);
}

static json_t *part_json(const struct part *part, bool is_there, const char *how)
{
    return json_pack("{s:s, s:b, s:o, s:s, s:b, s:s}", "name", part->name, "is_there", is_there,
                     "how", report_text_json(how), "for", part->needed_for, "is_needed",
                     part->is_needed, "cure", part->cure);
}

/* ---- Settings -------------------------------------------------------------------------------- */

static void print_settings(const struct project *project)
{
    if (!project->path[0]) {
        printf("  settings no " PROJECT_FILE " in this folder or above it\n");
        return;
    }
    plain_text_print(stdout, "  settings %s\n", project->path);
    for (size_t i = 0; i < project->toml.count; i++) {
        const struct toml_entry *entry = &project->toml.entries[i];

        plain_text_print(stdout, "           %s%s%s%s =", entry->table[0] ? "[" : "", entry->table,
                         entry->table[0] ? "] " : "", entry->key);
        for (size_t j = 0; j < entry->count; j++)
            plain_text_print(stdout, "%s %s", j ? "," : "", entry->elements[j]);
        putchar('\n');
    }
}

static json_t *settings_json(const struct project *project)
{
    json_t *json = json_object(), *list = json_array();

    json_object_set_new(json, "file",
                        project->path[0] ? report_text_json(project->path) : json_null());
    for (size_t i = 0; i < project->toml.count; i++) {
        const struct toml_entry *entry = &project->toml.entries[i];
        json_t *one = json_object(), *values = json_array();

        json_object_set_new(one, "table", report_text_json(entry->table));
        json_object_set_new(one, "key", report_text_json(entry->key));
        for (size_t j = 0; j < entry->count; j++)
            json_array_append_new(values, report_text_json(entry->elements[j]));
        json_object_set_new(one, "values", values);
        json_object_set_new(one, "line", json_integer((json_int_t)entry->line));
        json_array_append_new(list, one);
    }
    json_object_set_new(json, "settings", list);
    return json;
}

static enum cli_status doctor(const struct cli_arguments *arguments)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN) > 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const bool is_json = arguments->values[OPTION_JSON] != NULL;
    json_t *json, *list;
    static struct speed speed;
    struct utsname about = {.release = "?"};
    char how[1024], bytes[REPORT_NUMBER_BYTES];
    bool lacks = false, is_measured;
    uint64_t seconds = 2;
    struct project project;

    if (arguments->values[OPTION_SECONDS] &&
        !cli_number("seconds", arguments->values[OPTION_SECONDS], 0, 60, &seconds))
        return CLI_USAGE;
    if (!project_load(arguments->settings, &project))
        return CLI_USAGE;
    json = is_json ? report_document("doctor") : NULL;
    list = json_array();
    uname(&about);
    if (!is_json && !terminal_is_quiet())
        printf("drydock %s\n  machine  Linux %s, %ld processor%s, %s of memory\n", DRYDOCK_VERSION,
               about.release, processors, processors == 1 ? "" : "s", report_bytes(bytes, memory));
    for (size_t i = 0; i < PART_COUNT; i++) {
        bool is_there = parts[i].look(parts[i].name, how, sizeof how);

        lacks |= !is_there && parts[i].is_needed;
        if (is_json)
            json_array_append_new(list, part_json(&parts[i], is_there, how));
        else
            print_part(&parts[i], is_there, how);
    }
    if (!is_json && !terminal_is_quiet())
        print_settings(&project);
    fflush(stdout);
    is_measured = seconds && measure(seconds, processors, &speed);
    if (is_measured && !is_json && !terminal_is_quiet())
        print_speed(&speed, processors);
    if (is_json) {
        json_object_set_new(json, "version", json_string(DRYDOCK_VERSION));
        json_object_set_new(json, "kernel", json_string(about.release));
        json_object_set_new(json, "processors", json_integer(processors));
        json_object_set_new(json, "memory_bytes", json_integer((json_int_t)memory));
        json_object_set_new(json, "parts", json_incref(list));
        json_object_set_new(json, "settings", settings_json(&project));
        json_object_set_new(json, "seeds_per_second",
                            is_measured ? json_real((double)speed.summary.runs / speed.seconds)
                                        : json_null());
        cli_print_json(json);
    }
    json_decref(list);
    project_free(&project);
    if (seconds && !is_measured)
        cli_error("the campaign that measures did not run to its time");
    if (seconds)
        campaign_summary_fini(&speed.summary);
    return seconds && !is_measured ? CLI_INTERNAL : lacks ? CLI_FINDINGS : CLI_FINE;
}

const struct cli_verb cli_doctor = {
    .name = "doctor",
    .usage = "[options]",
    .summary =
        "Says what is installed, what is missing for which verb, and how fast this machine is",
    .details =
        "Exit status 1: a verb lacks something that it needs. What is merely better to have\n"
        "does not count.",
    .options = options,
    .run = doctor,
};
