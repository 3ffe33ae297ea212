/*
 * drydock query: questions about results of campaigns, prepared ones and SQL.
 */
#include "cli/cli.h"
#include "cli/terminal.h"

#include "report/campaign/campaign_report.h"
#include "report/campaign/database.h"
#include "report/document.h"
#include "report/plain_text.h"
#include "report/rules_report.h"
#include "report/text_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OPTIONS(ROW)                                                                               \
    ROW(DB, "db", 0, "FILE", "keep what the folders have in this database (in memory)")            \
    ROW(LIST, "list", 0, NULL, "list the prepared questions")                                      \
    ROW(TABLES, "tables", 0, NULL, "print the tables that SQL may ask")                            \
    ROW(CSV, "csv", 0, NULL, "print the answer as comma-separated values")                         \
    ROW(JSON, CLI_JSON)
CLI_OPTIONS(OPTIONS)

#define MOST_WIDTH 60 /* of a column of the table; the rest is cut */

/* ---- Folders --------------------------------------------------------------------------------- */

struct import {
    struct database *database;
    char error[512]; /* "": none */
};

static bool take_record(void *context, const struct campaign_record *record)
{
    struct import *import = context;

    return database_add(import->database, record, false, import->error);
}

static bool import_folder(struct database *database, const char *path)
{
    struct import import = {.database = database};
    struct rule_counts *counts = calloc(1, sizeof *counts);
    struct campaign_damage damage;
    uint64_t runs;
    char error[512] = "no memory";
    bool is_fine = counts && database_begin(database, error) &&
                   campaign_store_read(path, take_record, &import, &damage, error) &&
                   !import.error[0] && report_rule_counts_load(path, counts, &runs, error) &&
                   database_add_rules(database, counts, error) && database_end(database, error);

    free(counts);
    if (!is_fine)
        cli_error("%s", import.error[0] ? import.error : error);
    else if (damage.count)
        cli_error("%s/results.jsonl:%" PRIu64 ": %" PRIu64 " damaged line(s) left out", path,
                  damage.first, damage.count);
    return is_fine;
}

/* Of a database, or of folders. NULL with a message. */
static struct database *open_sources(const char *const *sources, size_t count, const char *kept)
{
    struct database *database = NULL;
    struct stat status;
    char error[512];

    if (count == 1 && stat(sources[0], &status) == 0 && !S_ISDIR(status.st_mode)) {
        if (kept)
            cli_error("--db is for folders: '%s' is a database already", sources[0]);
        else if (!database_open_to_read(sources[0], &database, error))
            cli_error("%s", error);
        return database;
    }
    if (!database_open(kept, &database, error)) {
        cli_error("%s", error);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (import_folder(database, sources[i]))
            continue;
        database_close(database, error);
        return NULL;
    }
    return database;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Lent until the next call but seven. */
static const char *text_of(const json_t *value)
{
    static char numbers[8][32];
    static unsigned next;
    char *out = numbers[next++ % 8];

    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_integer(value))
        snprintf(out, 32, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(out, 32, "%.6g", json_real_value(value));
    else
        out[0] = '\0';
    return out;
}

/* Columns of UTF-8; a character is as wide as another. */
static size_t width_of(const char *text)
{
    size_t width = 0;

    for (; *text && *text != '\n' && width < MOST_WIDTH; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void print_cell(FILE *out, const char *text, size_t width, bool is_number, bool is_last)
{
    const size_t used = width_of(text);
    size_t characters = 0;

    if (is_number)
        fprintf(out, "%*s", (int)(width - used), "");
    for (; *text && *text != '\n'; text++) {
        characters += ((unsigned char)*text & 0xc0) != 0x80;
        if (characters > width && !is_last)
            break;
        fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, out);
    }
    if (!is_number && !is_last)
        fprintf(out, "%*s", (int)(width - used), "");
    fputs(is_last ? "\n" : "  ", out);
}

static void print_table(FILE *out, const json_t *columns, const json_t *rows)
{
    const size_t count = json_array_size(columns);
    size_t *widths = calloc(count + 1, sizeof *widths);

    for (size_t i = 0; widths && i < count; i++) {
        widths[i] = width_of(text_of(json_array_get(columns, i)));
        for (size_t j = 0; j < json_array_size(rows); j++) {
            size_t width = width_of(text_of(json_array_get(json_array_get(rows, j), i)));

            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    for (size_t i = 0; widths && i < count; i++) {
        const json_t *first = json_array_get(json_array_get(rows, 0), i);

        print_cell(out, text_of(json_array_get(columns, i)), widths[i], json_is_number(first),
                   i + 1 == count);
    }
    for (size_t j = 0; widths && j < json_array_size(rows); j++) {
        for (size_t i = 0; i < count; i++) {
            const json_t *value = json_array_get(json_array_get(rows, j), i);

            print_cell(out, text_of(value), widths[i], json_is_number(value), i + 1 == count);
        }
    }
    free(widths);
}

/* As RFC 4180 has it, without the end of the line. */
static void print_values(FILE *out, const json_t *values)
{
    for (size_t i = 0; i < json_array_size(values); i++) {
        const char *text = text_of(json_array_get(values, i));
        const bool is_quoted = strpbrk(text, ",\"\r\n") != NULL;

        fputs(i ? "," : "", out);
        if (is_quoted)
            fputc('"', out);
        for (; *text; text++) {
            if (*text == '"')
                fputc('"', out);
            fputc(*text, out);
        }
        if (is_quoted)
            fputc('"', out);
    }
}

/* A line of it. The texts are whatever stands in the database, and are printed as text. */
static void print_line(const json_t *values)
{
    struct plain_text plain;

    plain_text_begin(&plain);
    if (plain.stream)
        print_values(plain.stream, values);
    plain_text_end(&plain, stdout);
    fputs("\r\n", stdout);
}

static bool print_answer(const struct cli_arguments *arguments, const char *sql, json_t *columns,
                         json_t *rows)
{
    struct plain_text plain;
    json_t *json;

    if (arguments->values[OPTION_JSON]) {
        json = report_document("query");
        json_object_set_new(json, "question", report_text_json(sql));
        json_object_set(json, "columns", columns);
        json_object_set(json, "rows", rows);
        return cli_print_json(json);
    }
    if (!arguments->values[OPTION_CSV]) {
        plain_text_begin(&plain);
        if (plain.stream)
            print_table(plain.stream, columns, rows);
        plain_text_end(&plain, stdout);
        return true;
    }
    print_line(columns);
    for (size_t i = 0; i < json_array_size(rows); i++)
        print_line(json_array_get(rows, i));
    return true;
}

/* ---- The verb -------------------------------------------------------------------------------- */

static enum cli_status list_questions(void)
{
    for (size_t i = 0; database_question(i); i++)
        printf("%-10s %s\n", database_question(i)->name, database_question(i)->summary);
    return CLI_FINE;
}

/* The SQL of a prepared question, or the word itself where it is SQL. NULL with a message. */
static const char *find_question(const char *word)
{
    const char *names[32] = {0};

    for (size_t i = 0; database_question(i); i++) {
        names[i] = database_question(i)->name;
        if (strcmp(names[i], word) == 0)
            return database_question(i)->sql;
    }
    if (strpbrk(word, " \t\n"))
        return word;
    cli_error("'%s' is neither a file, nor a folder, nor a question%s%s%s", word,
              cli_nearest(word, names) ? " (did you mean " : " (drydock query --list names them)",
              cli_nearest(word, names) ? cli_nearest(word, names) : "",
              cli_nearest(word, names) ? "?)" : "");
    return NULL;
}

static enum cli_status query(const struct cli_arguments *arguments)
{
    const char *sources[CLI_MAX_FILES], *sql = database_question(0)->sql;
    struct database *database;
    json_t *columns, *rows;
    enum cli_status status = CLI_USAGE;
    struct stat about;
    size_t count = 0;
    char error[512];

    if (arguments->values[OPTION_LIST])
        return list_questions();
    if (arguments->values[OPTION_TABLES]) {
        fputs(database_schema(), stdout);
        return CLI_FINE;
    }
    while (count < arguments->rest_count && stat(arguments->rest[count], &about) == 0) {
        sources[count] = arguments->rest[count];
        count++;
    }
    if (count + 1 < arguments->rest_count) {
        cli_error("there is no '%s'", arguments->rest[count]);
        return CLI_USAGE;
    }
    if (count < arguments->rest_count && !(sql = find_question(arguments->rest[count])))
        return CLI_USAGE;
    if (!count) {
        cli_error("query takes a database, or folders of drydock check --out");
        return CLI_USAGE;
    }
    database = open_sources(sources, count, arguments->values[OPTION_DB]);
    if (!database)
        return CLI_USAGE;
    if (database_ask(database, sql, &columns, &rows, error)) {
        status = print_answer(arguments, sql, columns, rows) ? CLI_FINE : CLI_INTERNAL;
        json_decref(columns);
        json_decref(rows);
    } else {
        cli_error("%s", error);
    }
    if (!database_close(database, error)) {
        cli_error("%s", error);
        status = CLI_USAGE;
    }
    return status;
}

const struct cli_verb cli_query = {
    .name = "query",
    .usage = "DB | DIR... [QUESTION | SQL]",
    .summary = "Asks results of campaigns: prepared questions, or SQL",
    .details =
        "DB was written by drydock check --db, each DIR by drydock check --out. Without a\n"
        "question: causes. A question of one's own is one statement of SQL that changes nothing:\n"
        "  drydock query results.db \"SELECT model, avg(evictions) FROM runs GROUP BY model\"",
    .options = options,
    .run = query,
};
