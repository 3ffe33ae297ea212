/*
 * What the verbs share: messages, numbers, loading and saving, progress, suggestions.
 */
#include "cli/cli.h"
#include "cli/terminal.h"

#include "bench/child/child_run.h"
#include "bench/child/explain.h"
#include "bench/child/judge.h"
#include "bench/config/command_line.h"
#include "bench/drivers/drivers.h"
#include "report/document.h"
#include "report/plain_text.h"
#include "workload/file.h"
#include "workload/import/import.h"
#include "workload/named_file.h"
#include "workload/words.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WORD 63

void cli_progress(void *context, const struct run_progress *progress)
{
    terminal_progress(&(struct terminal_task){.what = progress->what,
                                              .unit = "operations",
                                              .hides_count = true,
                                              .done = progress->done,
                                              .total = progress->total,
                                              .findings = progress->findings});
}

static void put_message(enum look_style style, const char *format, va_list arguments)
{
    struct plain_text plain;

    terminal_clear();
    fflush(stdout); /* what was said before stands before */
    plain_text_begin(&plain);
    if (plain.stream) {
        plain_text_style(&plain, style);
        fputs("drydock: ", plain.stream);
        plain_text_style(&plain, LOOK_PLAIN);
        vfprintf(plain.stream, format, arguments);
        fputc('\n', plain.stream);
    }
    plain_text_end(&plain, stderr);
}

void cli_error(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    put_message(LOOK_ERROR, format, arguments);
    va_end(arguments);
}

void cli_note(const char *format, ...)
{
    va_list arguments;

    if (terminal_is_quiet())
        return;
    va_start(arguments, format);
    put_message(LOOK_STRONG, format, arguments);
    va_end(arguments);
}

bool cli_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    if (!workload_parse_number(text, strlen(text), out)) {
        cli_error("option --%s: '%s' is no number (expected digits, or 0x..., with K, M or G)",
                  option, text);
        return false;
    }
    if (*out < min || *out > max) {
        cli_error("option --%s: %s is out of range (expected %llu to %llu)", option, text,
                  (unsigned long long)min, (unsigned long long)max);
        return false;
    }
    return true;
}

struct workload *cli_load(const char *path, uint32_t steps)
{
    const struct workload_import_options options = {.steps = steps};
    struct workload_error error;
    struct workload *workload;

    if (!workload_import(path, &options, &workload, NULL, &error)) {
        cli_error("%s", error.text);
        return NULL;
    }
    return workload;
}

const char *cli_next_repeated(const struct cli_arguments *arguments, const char *option, size_t *at)
{
    while (*at < arguments->repeated_count) {
        const struct cli_repeated *repeated = &arguments->repeated[(*at)++];

        if (strcmp(repeated->option, option) == 0)
            return repeated->value;
    }
    return NULL;
}

static bool is_set_here(const struct cli_arguments *arguments, const char *key)
{
    const size_t length = strlen(key);
    const char *pair;
    size_t at = 0;

    if (arguments->case_values[workload_option_place(key)])
        return true;
    while ((pair = cli_next_repeated(arguments, "option", &at)) != NULL) {
        if (strncmp(pair, key, length) == 0 && pair[length] == '=')
            return true;
    }
    return false;
}

bool cli_play(const struct run_config *config, const struct workload *workload, double seconds,
              bool judges, struct run_result *out_result)
{
    struct judgement judgement = {.kind = JUDGEMENT_NONE};

    if (judges ? !judge_execute(config, workload, seconds, out_result, &judgement)
               : !child_run_execute(config, workload, seconds, out_result))
        return false;
    if (judgement.kind == JUDGEMENT_UNKNOWN)
        cli_note("note: the run was not judged again without the driver: %s", judgement.why);
    if (!out_result->is_interrupted)
        explain_result(config, workload, seconds, out_result);
    return true;
}

bool cli_judges(bool is_asked, bool is_refused, const char *driver)
{
    return !is_refused && (is_asked || judge_is_usual(driver));
}

bool cli_may_play(const struct cli_arguments *arguments, bool is_trusted, const char *driver,
                  const struct workload *workload)
{
    const struct workload_option *option;
    uint32_t index = 0;

    while (!is_trusted && (option = run_next_code_option(workload, &index))) {
        const char *key = workload_string(workload, option->key);

        if ((driver && strcmp(key, "driver") == 0) || is_set_here(arguments, key))
            continue;
        cli_error("%s:%u: option %s %s: the case would have this file loaded as code (expected "
                  "--trust-case, if you know where the case and the file come from)",
                  workload->path, option->line, key, workload_string(workload, option->value));
        return false;
    }
    return true;
}

bool cli_set_options(const struct cli_arguments *arguments, struct workload *workload)
{
    struct workload_error error;
    const char *pair;
    size_t at = 0;

    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        if (arguments->case_values[i] && !workload_set_option(workload, workload_options[i].key,
                                                              arguments->case_values[i], &error)) {
            cli_error("%s", error.text);
            return false;
        }
    }
    while ((pair = cli_next_repeated(arguments, "option", &at)) != NULL) {
        const char *equals = strchr(pair, '=');
        char key[64];

        if (!equals || (size_t)(equals - pair) >= sizeof key) {
            cli_error("option --option: '%s' is not KEY=VALUE", pair);
            return false;
        }
        snprintf(key, sizeof key, "%.*s", (int)(equals - pair), pair);
        if (!workload_set_option(workload, key, equals + 1, &error)) {
            cli_error("%s", error.text);
            return false;
        }
    }
    return true;
}

bool cli_save(const struct workload *workload, const char *path)
{
    struct workload_error error;

    if (workload_save(workload, path, &error))
        return true;
    cli_error("%s", error.text);
    return false;
}

bool cli_write_text(const char *path, const char *text)
{
    struct workload_error error;
    const bool is_fine = workload_file_write_plain(path, text, strlen(text), &error);

    if (!is_fine)
        cli_error("cannot write '%s': %s", path, named_file_reason(errno));
    return is_fine;
}

bool cli_may_write(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct stat status;
    char folder[1024];
    bool may;

    if (strcmp(path, "-") == 0)
        return true;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - path) : 1,
             slash ? path : ".");
    may = stat(path, &status) == 0 && !S_ISDIR(status.st_mode) ? access(path, W_OK) == 0
                                                               : access(folder, W_OK) == 0;
    if (may && stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        may = false;
    }
    if (!may)
        cli_error("cannot write '%s': %s", path, strerror(errno));
    return may;
}

enum cli_status cli_interrupted(const char *files, const char *command)
{
    terminal_clear();
    fflush(stdout);
    cli_error("interrupted%s%s%s", files ? "; what is there is in " : "", files ? files : "",
              command ? ". To go on:" : "");
    if (command)
        fprintf(stderr, "  %s\n", command);
    return CLI_INTERRUPTED;
}

void cli_command_line(const struct cli_arguments *arguments, char *out, size_t size)
{
    snprintf(out, size, "drydock %s", arguments->verb);
    for (size_t i = 0; i < arguments->given_count; i++)
        command_line_append(out, size, arguments->given[i]);
}

enum cli_status cli_found(bool is_ours)
{
    if (is_ours)
        cli_error("what was found is a defect of the memory manager, not of the driver: please "
                  "report it");
    return is_ours ? CLI_INTERNAL : CLI_FINDINGS;
}

bool cli_print_json(json_t *document)
{
    char *text = report_document_text(document);

    if (text)
        puts(text);
    else
        cli_error("no memory");
    free(text);
    return text != NULL;
}

/* Edit distance; words are short. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[2][MAX_WORD + 2];
    size_t a_length = strnlen(a, MAX_WORD), b_length = strnlen(b, MAX_WORD);

    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *before = rows[(i - 1) & 1], *now = rows[i & 1];

        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t changed = before[j - 1] + (a[i - 1] != b[j - 1]);
            size_t removed = before[j] + 1, added = now[j - 1] + 1;

            now[j] = changed < removed ? changed : removed;
            if (added < now[j])
                now[j] = added;
        }
    }
    return rows[a_length & 1][b_length];
}

const char *cli_nearest(const char *word, const char *const *words)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 2;

    for (; *words; words++) {
        size_t d = distance(word, *words);

        if (d < best_distance) {
            best = *words;
            best_distance = d;
        }
    }
    return best;
}

bool cli_find_own(const char *installed, const char *built, char *path, size_t size)
{
    char program[1024];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

    if (length > 0) {
        program[length] = '\0';
        *strrchr(program, '/') = '\0';
        snprintf(path, size, "%s/../%s", program, installed);
        if (access(path, R_OK) == 0)
            return true;
    }
    snprintf(path, size, "%s/%s", DRYDOCK_SOURCE_DIR, built);
    return access(path, R_OK) == 0;
}
