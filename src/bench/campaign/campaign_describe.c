/*
 * The line that describes a setup, by the column "told" of workload/case/run_options.inc.
 */
#include "bench/campaign/campaign_private.h"

#include "base/bits.h"
#include "bench/config/run_options.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct line {
    const struct run_config *config;
    char *out;
    size_t used, bytes;
};

static void say(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct line *line, const char *format, ...)
{
    va_list arguments;
    int count;

    va_start(arguments, format);
    count = vsnprintf(line->out + line->used, line->bytes - line->used, format, arguments);
    va_end(arguments);
    line->used = min_u64(line->used + (count > 0 ? (size_t)count : 0), line->bytes - 1);
}

static void say_between(struct line *line)
{
    if (line->used)
        say(line, ", ");
}

static void tell_visible(struct line *line)
{
    const struct run_config *config = line->config;

    if (!config->visible_bytes || config->visible_bytes >= config->local_bytes)
        return;
    say_between(line);
    say(line, "%" PRIu64 " of %" PRIu64 " KiB visible", config->visible_bytes / KiB,
        config->local_bytes / KiB);
}

/* ---- The rows -------------------------------------------------------------------------------- */

struct row {
    const char *text; /* # is the value */
    uint64_t unit;    /* of the value; 0: as a case says it */
    bool is_hex;
    const char *const *words; /* in place of text: by value or bit */
    void (*by)(struct line *line);
};

#define SILENT              .text = NULL
#define TOLD(line)          .text = line
#define TOLD_IN(size, line) .text = line, .unit = size
#define TOLD_HEX(line)      .text = line, .is_hex = true
#define TOLD_AS(...)                                                                               \
    .words = (const char *const[])                                                                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define TOLD_BY(function) .by = function

#define RUN_OPTION(type, member, key, values, initial, where, drawn, told, ...) {told},
#define RUN_MMU_OPTION                                                          RUN_OPTION
#define CASE_OPTION(...)                                                        {SILENT},

static const struct row rows[WORKLOAD_OPTION_COUNT] = {
#include "workload/case/run_options.inc"
};

static void tell_text(struct line *line, const struct row *row, size_t place)
{
    uint64_t number = run_option_number(place, line->config);
    size_t before = strcspn(row->text, "#");
    char value[RUN_OPTION_VALUE_BYTES];

    if (row->is_hex)
        snprintf(value, sizeof value, "%08" PRIx64, number);
    else if (row->unit)
        snprintf(value, sizeof value, "%" PRIu64, number / row->unit);
    else
        run_option_print(place, line->config, value);
    say_between(line);
    if (row->text[before])
        say(line, "%.*s%s%s", (int)before, row->text, value, row->text + before + 1);
    else
        say(line, "%s", row->text);
}

static void tell_words(struct line *line, const struct row *row, size_t place)
{
    uint64_t number = run_option_number(place, line->config);
    bool is_set = run_options[place].kind == RUN_OPTION_SET;

    for (unsigned i = 0; workload_options[place].words[i]; i++) {
        if (!(is_set ? number >> i & 1 : number == i) || !row->words[i][0])
            continue;
        say_between(line);
        say(line, "%s", row->words[i]);
    }
}

void campaign_describe(const struct run_config *config, char *out, size_t out_bytes)
{
    struct line line = {.config = config, .out = out, .bytes = out_bytes};
    struct run_config defaults;

    run_config_defaults(&defaults);
    out[0] = '\0';
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        const struct row *row = &rows[i];

        if (!(workload_options[i].where.models >> config->model & 1))
            continue;
        if (row->by)
            row->by(&line);
        else if (row->words)
            tell_words(&line, row, i);
        else if (row->text && run_option_number(i, config) != run_option_number(i, &defaults))
            tell_text(&line, row, i);
    }
}
