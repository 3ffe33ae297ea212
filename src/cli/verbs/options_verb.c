/*
 * drydock options: what a case may say of its run, from the rows of workload/case/run_options.inc.
 *
 * With --markdown, the table of docs/case-format.md (scripts/options.sh puts it there).
 */
#include "cli/cli.h"
#include "report/document.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define OPTIONS(ROW)                                                                               \
    ROW(MARKDOWN, "markdown", 0, NULL, "the table of the manual")                                  \
    ROW(JSON, CLI_JSON)
CLI_OPTIONS(OPTIONS)

#define TEXT_BYTES 1024
#define WIDTH      96

/* The sentence with the runs that it is about before it. */
static void write_text(const struct workload_option_info *info, char out[TEXT_BYTES])
{
    char runs[64];

    workload_option_runs(info, runs, sizeof runs);
    if (runs[0])
        runs[0] = (char)toupper((unsigned char)runs[0]);
    snprintf(out, TEXT_BYTES, "%s%s%s%s", runs, runs[0] ? ": " : "", info->text,
             info->is_followed ? "" : " (not followed yet)");
}

static void print_row(const struct workload_option_info *info)
{
    char values[512], text[TEXT_BYTES];

    workload_option_values(info, values, sizeof values);
    write_text(info, text);
    printf("| `%s` | %s | %s |\n", info->key, values, text);
}

/* Without the marks of the manual: `word` is word, [text](target) is text. */
static void remove_marks(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++) {
        if (from[0] == ']' && from[1] == '(')
            from += strcspn(from, ")");
        else if (*from != '`' && *from != '[')
            *to++ = *from;
    }
    *to = '\0';
}

/* Lines of words, indented. */
static void print_lines(const char *text)
{
    size_t column = 0;

    while (*text) {
        size_t length = strcspn(text, " ");

        if (column && column + 1 + length > WIDTH - 4) {
            printf("\n");
            column = 0;
        }
        printf("%s%.*s", column ? " " : "    ", (int)length, text);
        column += length + (column != 0);
        text += length + (text[length] == ' ');
    }
    printf("\n");
}

static void print_option(const struct workload_option_info *info)
{
    char values[512], text[TEXT_BYTES];

    workload_option_values(info, values, sizeof values);
    write_text(info, text);
    remove_marks(values);
    remove_marks(text);
    printf("%s  %s\n", info->key, values);
    print_lines(text);
}

static json_t *option_json(const struct workload_option_info *info)
{
    char values[512], text[TEXT_BYTES], runs[64];

    workload_option_values(info, values, sizeof values);
    workload_option_runs(info, runs, sizeof runs);
    snprintf(text, sizeof text, "%s", info->text);
    remove_marks(values);
    remove_marks(text);
    return json_pack("{s:s, s:s, s:s, s:s, s:b}", "key", info->key, "values", values, "meaning",
                     text, "runs", runs, "is_followed", info->is_followed);
}

static enum cli_status print_options(const struct cli_arguments *arguments)
{
    const char *keys[WORKLOAD_OPTION_COUNT + 1] = {0};
    json_t *list = arguments->values[OPTION_JSON] ? json_array() : NULL;
    const char *nearest;

    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++)
        keys[i] = workload_options[i].key;
    for (size_t i = 0; i < arguments->rest_count; i++) {
        size_t place = workload_option_place(arguments->rest[i]);

        if (place == WORKLOAD_OPTION_COUNT) {
            nearest = cli_nearest(arguments->rest[i], keys);
            json_decref(list);
            cli_error("there is no option '%s'%s%s%s", arguments->rest[i],
                      nearest ? " (did you mean " : " (drydock options lists them",
                      nearest ? nearest : "", nearest ? "?)" : ")");
            return CLI_USAGE;
        }
        if (list)
            json_array_append_new(list, option_json(&workload_options[place]));
        else
            print_option(&workload_options[place]);
    }
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT && list && !arguments->rest_count; i++)
        json_array_append_new(list, option_json(&workload_options[i]));
    if (list) {
        json_t *json = report_document("options");

        json_object_set_new(json, "options", list);
        return cli_print_json(json) ? CLI_FINE : CLI_INTERNAL;
    }
    if (arguments->rest_count)
        return CLI_FINE;
    if (arguments->values[OPTION_MARKDOWN])
        printf("| key | value | meaning |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        if (arguments->values[OPTION_MARKDOWN])
            print_row(&workload_options[i]);
        else
            print_option(&workload_options[i]);
    }
    return CLI_FINE;
}

const struct cli_verb cli_options = {
    .name = "options",
    .usage = "[KEY...] [options]",
    .summary = "Lists the options of a case: their values, and what they say of the run",
    .details =
        "A case states one as a line \"option KEY VALUE\"; drydock run, replay and shrink take\n"
        "any as --option KEY=VALUE.",
    .options = options,
    .run = print_options,
};
