/*
 * What is known and what is allowed.
 */
#include "report/excuses.h"

#include "report/finding_report.h"
#include "report/plain_text.h"
#include "report/read_file.h"
#include "report/text_json.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES (16u << 20)
#define MOST_LINES 65536u
#define MOST_WORDS 256u
#define FIRST_LINE "drydock-baseline 1"

struct line {
    char id[REPORT_ID_BYTES];
    char text[120]; /* as much as is told of a finding that is gone */
    bool is_view;   /* indented: of the line above that is not */
    bool is_seen;
};

struct excuses {
    char *words[MOST_WORDS];
    size_t word_count;
    char path[512]; /* of the baseline; "": there is none */
    struct line *lines;
    size_t line_count, line_room;
    bool has_all; /* was played */
};

struct excuses *excuses_create(void)
{
    return calloc(1, sizeof(struct excuses));
}

void excuses_free(struct excuses *excuses)
{
    if (!excuses)
        return;
    for (size_t i = 0; i < excuses->word_count; i++)
        free(excuses->words[i]);
    free(excuses->lines);
    free(excuses);
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* "PB-004-e4458707": a rule or a kind, and eight hexadecimal digits. */
static bool is_id(const char *word)
{
    const char *dash = strrchr(word, '-');
    char name[REPORT_ID_BYTES];

    if (!dash || dash == word || strlen(word) >= REPORT_ID_BYTES || strlen(dash) != 9 ||
        strspn(dash + 1, "0123456789abcdef") != 8)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(dash - word), word);
    /* A rule that this version does not have any more is known nonetheless. */
    for (const char *at = name; *at; at++) {
        if (!isalnum((unsigned char)*at) && *at != '-')
            return false;
    }
    return true;
}

/* "PB-*" */
static bool is_area_of(const char *word, const char *rule)
{
    const size_t length = strlen(word);

    return length > 2 && strcmp(word + length - 2, "-*") == 0 &&
           strncmp(word, rule, length - 1) == 0;
}

static bool names_something(const char *word)
{
    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        const char *rule = rule_get((enum rule_id)i)->id;

        if (strcmp(word, rule) == 0 || is_area_of(word, rule))
            return true;
    }
    return report_is_kind(word) || is_id(word);
}

bool excuses_allow(struct excuses *excuses, const char *word, char error[512])
{
    if (!names_something(word)) {
        snprintf(error, 512,
                 "'%.100s' is no rule, area, kind or id (expected one as PB-004, PB-*, leak)",
                 word);
        return false;
    }
    if (excuses->word_count == MOST_WORDS) {
        snprintf(error, 512, "more than %u words", MOST_WORDS);
        return false;
    }
    excuses->words[excuses->word_count] = strdup(word);
    if (!excuses->words[excuses->word_count]) {
        snprintf(error, 512, "no memory");
        return false;
    }
    excuses->word_count++;
    return true;
}

/* ---- The baseline ---------------------------------------------------------------------------- */

static bool add_line(struct excuses *excuses, const struct line *line)
{
    if (excuses->line_count == excuses->line_room) {
        const size_t room = excuses->line_room ? 2 * excuses->line_room : 64;
        struct line *lines = realloc(excuses->lines, room * sizeof *lines);

        if (!lines)
            return false;
        excuses->lines = lines;
        excuses->line_room = room;
    }
    excuses->lines[excuses->line_count++] = *line;
    return true;
}

/* text is a line without its end. False: error says why. */
static bool parse_line(struct excuses *excuses, const char *text, const char *path, unsigned number,
                       char error[512])
{
    const size_t margin = strspn(text, " \t");
    const char *word = text + margin;
    const size_t length = strcspn(word, " \t");
    struct line line = {.is_view = margin != 0};

    if (!word[0] || word[0] == '#')
        return true;
    snprintf(line.id, sizeof line.id, "%.*s", (int)length, word);
    if (length >= sizeof line.id || !is_id(line.id)) {
        snprintf(error, 512,
                 "%.200s:%u: '%.*s' is no id of a finding (expected one as PB-004-e4458707)", path,
                 number, length > 60 ? 60 : (int)length, word);
        return false;
    }
    if (excuses->line_count == MOST_LINES || (line.is_view && !excuses->line_count)) {
        snprintf(error, 512, "%.200s:%u: %s", path, number,
                 line.is_view ? "an indented line belongs to a finding above it"
                              : "more findings than a baseline may have");
        return false;
    }
    word += length;
    word += strspn(word, " \t");
    for (size_t i = 0; word[i] && i + 1 < sizeof line.text; i++)
        line.text[i] = word[i];
    if (add_line(excuses, &line))
        return true;
    snprintf(error, 512, "no memory");
    return false;
}

/* "\r" that no "\n" follows: to some programs it ends a line, and here what is behind it is lost.
 */
static bool has_lone_return(const char *text, size_t length)
{
    const char *first = memchr(text, '\r', length);

    return first && first + 1 < text + length;
}

bool excuses_parse_baseline(struct excuses *excuses, const char *text, size_t size,
                            const char *path, char error[512])
{
    const char *end = text + size;
    unsigned number = 0;
    bool is_first = true;

    if (size >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) {
        snprintf(error, 512, "%.200s: a text in UTF-16 (expected UTF-8)", path);
        return false;
    }
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        char line[1024];

        number++;
        if (memchr(text, '\0', length) || has_lone_return(text, length)) {
            snprintf(error, 512, "%.200s:%u: %s", path, number,
                     memchr(text, '\0', length) ? "a byte of zero (expected text)"
                                                : "a carriage return within a line");
            return false;
        }
        /* What stands far behind the id is for people. */
        snprintf(line, sizeof line, "%.*s", length > 1000 ? 1000 : (int)length, text);
        line[strcspn(line, "\r")] = '\0';
        text += length + (stop != NULL);
        if (is_first) {
            is_first = false;
            if (strcmp(line, FIRST_LINE) == 0)
                continue;
            snprintf(error, 512, "%.200s:1: not a baseline (expected '%s')", path, FIRST_LINE);
            return false;
        }
        if (!parse_line(excuses, line, path, number, error))
            return false;
    }
    if (!is_first)
        return true;
    snprintf(error, 512, "%.200s: empty (expected '%s' in its first line)", path, FIRST_LINE);
    return false;
}

bool excuses_read_baseline(struct excuses *excuses, const char *path, char error[512])
{
    size_t size;
    char *text = report_read_file(path, MOST_BYTES, &size, error);
    const bool is_fine = text && excuses_parse_baseline(excuses, text, size, path, error);

    if (is_fine)
        snprintf(excuses->path, sizeof excuses->path, "%s", path);
    free(text);
    return is_fine;
}

/* ---- Findings -------------------------------------------------------------------------------- */

static void id_of_record(const struct campaign_finding *finding, char out[REPORT_ID_BYTES])
{
    report_finding_id(finding->kind, finding->rule, finding->detail.where, finding->text, out);
}

static void id_of_view(const struct campaign_consequence *view, char out[REPORT_ID_BYTES])
{
    report_cause_id(view->kind, view->rule, view->cause, out);
}

enum campaign_excuse excuses_of(const struct excuses *excuses, const char *kind, const char *rule,
                                const char *id)
{
    for (size_t i = 0; i < excuses->word_count; i++) {
        const char *word = excuses->words[i];

        if (strcmp(word, id) == 0 || (rule[0] && strcmp(word, rule) == 0) ||
            (rule[0] && is_area_of(word, rule)) || (!rule[0] && strcmp(word, kind) == 0))
            return CAMPAIGN_ALLOWED;
    }
    for (size_t i = 0; i < excuses->line_count; i++) {
        if (strcmp(excuses->lines[i].id, id) == 0)
            return CAMPAIGN_KNOWN;
    }
    return CAMPAIGN_NOT_EXCUSED;
}

enum campaign_excuse excuses_of_record(const struct excuses *excuses,
                                       const struct campaign_finding *finding)
{
    char id[REPORT_ID_BYTES];

    id_of_record(finding, id);
    return excuses_of(excuses, finding->kind, finding->rule, id);
}

bool excuses_apply_to_run(const struct excuses *excuses, struct report_finding *findings,
                          size_t count)
{
    bool are_excused = true;

    for (size_t i = 0; i < count; i++) {
        struct report_finding *finding = &findings[i];
        char id[REPORT_ID_BYTES];

        if (report_is_advice(finding))
            continue;
        report_finding_id(finding->kind, finding->rule, finding->detail->where, finding->text, id);
        finding->excuse = excuses_of(excuses, finding->kind, finding->rule, id);
        are_excused &= finding->excuse || (finding->cause && finding->cause->excuse);
    }
    return are_excused;
}

static void see(struct excuses *excuses, const char *id)
{
    struct line *shown = NULL;

    for (size_t i = 0; i < excuses->line_count; i++) {
        struct line *line = &excuses->lines[i];

        if (!line->is_view)
            shown = line;
        if (shown && strcmp(line->id, id) == 0)
            shown->is_seen = true;
    }
}

void excuses_apply(struct excuses *excuses, struct campaign_summary *summary, bool has_all)
{
    excuses->has_all = has_all;
    for (size_t i = 0; i < summary->cause_count; i++) {
        struct campaign_cause *cause = &summary->causes[i];
        const struct campaign_finding *finding = &cause->first.findings[cause->finding];
        char id[REPORT_ID_BYTES];

        id_of_record(finding, id);
        see(excuses, id);
        for (unsigned j = 0; j < cause->consequence_count; j++) {
            id_of_view(&cause->consequences[j], id);
            see(excuses, id);
        }
        cause->excuse =
            campaign_is_advice(cause) ? CAMPAIGN_NOT_EXCUSED : excuses_of_record(excuses, finding);
    }
}

struct totals {
    size_t fresh, known, allowed, gone;
};

static struct totals count(const struct excuses *excuses, const struct campaign_summary *summary)
{
    struct totals totals = {0};

    for (size_t i = 0; i < summary->cause_count; i++) {
        const struct campaign_cause *cause = &summary->causes[i];

        totals.known += cause->excuse == CAMPAIGN_KNOWN;
        totals.allowed += cause->excuse == CAMPAIGN_ALLOWED;
        totals.fresh += cause->excuse == CAMPAIGN_NOT_EXCUSED && !campaign_is_advice(cause);
    }
    for (size_t i = 0; i < excuses->line_count && excuses->has_all; i++)
        totals.gone += !excuses->lines[i].is_view && !excuses->lines[i].is_seen;
    return totals;
}

void excuses_report(FILE *out, const struct excuses *excuses,
                    const struct campaign_summary *summary)
{
    const struct totals totals = count(excuses, summary);

    for (size_t i = 0; i < excuses->line_count && excuses->has_all; i++) {
        if (!excuses->lines[i].is_view && !excuses->lines[i].is_seen)
            plain_text_print(out, "gone %s  %s\n", excuses->lines[i].id, excuses->lines[i].text);
    }
    if (!excuses->line_count && !excuses->path[0] && !excuses->word_count)
        return;
    fprintf(out, "  baseline  %zu new, %zu known, %zu allowed, ", totals.fresh, totals.known,
            totals.allowed);
    if (excuses->has_all)
        fprintf(out, "%zu gone\n", totals.gone);
    else
        fprintf(out, "what is gone is not known: not all was played\n");
}

json_t *excuses_json(const struct excuses *excuses, const struct campaign_summary *summary)
{
    struct totals totals;
    json_t *json, *gone;

    if (!excuses || (!excuses->path[0] && !excuses->word_count))
        return json_null();
    totals = count(excuses, summary);
    json = json_object();
    gone = json_array();
    for (size_t i = 0; i < excuses->line_count && excuses->has_all; i++) {
        const struct line *line = &excuses->lines[i];

        if (!line->is_view && !line->is_seen)
            json_array_append_new(gone, json_pack("{s:s, s:o}", "id", line->id, "text",
                                                  report_text_json(line->text)));
    }
    json_object_set_new(json, "file",
                        excuses->path[0] ? report_text_json(excuses->path) : json_null());
    json_object_set_new(json, "new", json_integer((json_int_t)totals.fresh));
    json_object_set_new(json, "known", json_integer((json_int_t)totals.known));
    json_object_set_new(json, "allowed", json_integer((json_int_t)totals.allowed));
    json_object_set_new(json, "gone", excuses->has_all ? gone : json_null());
    if (!excuses->has_all)
        json_decref(gone);
    return json;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_line(FILE *out, const char *margin, const char *id, const char *where,
                     const char *text)
{
    fprintf(out, "%s%s  %s%s%.*s\n", margin, id, where, where[0] ? ": " : "",
            (int)strcspn(text, "\r\n"), text);
}

static const char head[] = FIRST_LINE
    "\n# Findings that are known. Made by drydock with --baseline FILE --update-baseline.\n";

char *excuses_baseline_text(const struct campaign_summary *summary)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fprintf(out, "%s", head);
    for (size_t i = 0; i < summary->cause_count; i++) {
        const struct campaign_cause *cause = &summary->causes[i];
        const struct campaign_finding *finding = &cause->first.findings[cause->finding];
        char id[REPORT_ID_BYTES];

        if (campaign_is_advice(cause) || cause->excuse == CAMPAIGN_ALLOWED)
            continue;
        id_of_record(finding, id);
        put_line(out, "", id, finding->detail.where, finding->text);
        /* Seeds that do not see the cause itself see one of these. */
        for (unsigned j = 0; j < cause->consequence_count; j++) {
            const struct campaign_consequence *view = &cause->consequences[j];

            if (!view->alone)
                continue;
            id_of_view(view, id);
            put_line(out, "  ", id, view->where, view->text);
        }
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static bool is_new_failure(const struct excuses *excuses, const struct report_finding *finding,
                           char id[REPORT_ID_BYTES])
{
    report_finding_id(finding->kind, finding->rule, finding->detail->where, finding->text, id);
    return !report_is_advice(finding) && !finding->cause &&
           !excuses_of(excuses, finding->kind, finding->rule, id);
}

char *excuses_extended_text(const struct excuses *excuses, const char *path,
                            const struct report_finding *findings, size_t count, char error[512])
{
    const bool is_there = access(path, F_OK) == 0;
    size_t old_size = 0, size = 0;
    char *old = is_there ? report_read_file(path, MOST_BYTES, &old_size, error) : NULL;
    char *text = NULL, id[REPORT_ID_BYTES], earlier[REPORT_ID_BYTES];
    FILE *out = !is_there || old ? open_memstream(&text, &size) : NULL;

    if (!out) {
        if (!is_there || old)
            snprintf(error, 512, "no memory");
        free(old);
        return NULL;
    }
    fwrite(is_there ? old : head, 1, is_there ? old_size : strlen(head), out);
    if (old_size && old[old_size - 1] != '\n')
        fputc('\n', out);
    free(old);
    for (size_t i = 0; i < count; i++) {
        bool is_new = is_new_failure(excuses, &findings[i], id);

        for (size_t j = 0; j < i && is_new; j++)
            is_new = !is_new_failure(excuses, &findings[j], earlier) || strcmp(id, earlier) != 0;
        if (is_new)
            put_line(out, "", id, findings[i].detail->where, findings[i].text);
    }
    if (fclose(out) == 0)
        return text;
    snprintf(error, 512, "no memory");
    free(text);
    return NULL;
}
