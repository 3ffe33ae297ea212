#define _GNU_SOURCE /* open_memstream() */
/*
 * `drydock rules` and `drydock explain`: the catalogue, as a table and as lessons.
 */
#include "cli/cli.h"

#include "report/explain.h"
#include "report/finding_report.h"
#include "report/rules_report.h"
#include "zoo/zoo.h"
#include "report/document.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Those of both verbs. */
#define OPTIONS(ROW)                                                                               \
    ROW(FROM, "from", 0, "DIR", "folder of drydock check or run: how often a rule was evaluated")  \
    ROW(JSON, CLI_JSON)
CLI_OPTIONS(OPTIONS)

/* More than there are, for names that a wrong word may have meant. */
#define MOST_CLIENT_RULES 256u

/* counts stays as it is when no folder was named. */
static bool load_counts(const char *path, struct rule_counts **counts, uint64_t *runs)
{
    char error[512];

    *counts = NULL;
    *runs = 0;
    if (!path)
        return true;
    *counts = malloc(sizeof **counts);
    if (*counts && report_rule_counts_load(path, *counts, runs, error))
        return true;
    cli_error("%s", *counts ? error : "no memory");
    free(*counts);
    *counts = NULL;
    return false;
}

static void unknown_rule(const char *word)
{
    const char *names[RULE_COUNT + MOST_CLIENT_RULES + 1] = {0}, *nearest;
    const struct client_rule_row *row;
    char upper[32];
    size_t i;

    for (i = 0; word[i] && i + 1 < sizeof upper; i++)
        upper[i] = (char)toupper((unsigned char)word[i]);
    upper[i] = '\0';
    for (unsigned id = RULE_NONE + 1; id < RULE_COUNT; id++)
        names[id - 1] = rule_get((enum rule_id)id)->id;
    for (i = 0; i < MOST_CLIENT_RULES && (row = client_catalogue_at((unsigned)i)); i++)
        names[RULE_COUNT - 1 + i] = row->id;
    nearest = cli_nearest(upper, names);
    if (nearest)
        cli_error("there is no rule '%s' (did you mean %s?)", word, nearest);
    else
        cli_error("there is no rule '%s' (drydock rules lists them)", word);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static enum cli_status list_rules(const struct cli_arguments *arguments)
{
    const char *prefix = arguments->rest_count ? arguments->rest[0] : "";
    struct rule_counts *counts;
    uint64_t runs;

    if (arguments->rest_count > 1) {
        cli_error("rules takes one area or rule (drydock rules --help)");
        return CLI_USAGE;
    }
    if (!report_has_rules(prefix) && !client_catalogue_has(prefix)) {
        unknown_rule(prefix);
        return CLI_USAGE;
    }
    if (!load_counts(arguments->values[OPTION_FROM], &counts, &runs))
        return CLI_USAGE;
    if (arguments->values[OPTION_JSON]) {
        char *json = report_rules_json(prefix, counts, runs);

        puts(json ? json : "{}");
        free(json);
    } else {
        if (report_has_rules(prefix))
            report_rules_text(stdout, prefix, counts, runs);
        if (report_has_rules(prefix) && client_catalogue_has(prefix))
            printf("\n");
        if (client_catalogue_has(prefix))
            client_catalogue_text(stdout, prefix);
    }
    free(counts);
    return CLI_FINE;
}

const struct cli_verb cli_rules = {
    .name = "rules",
    .usage = "[AREA|RULE] [options]",
    .summary = "Lists the rules of the contract, and which of them were checked",
    .details =
        "A row says who must keep the rule, whether it is checked or why no run can see it, "
        "whether\n"
        "two tests show that it is found when broken and silent when kept, and with --from how "
        "often\n"
        "a campaign evaluated it and found it broken. What was never evaluated was not checked.\n"
        "The area KMT has the rules for clients, which drydock exec judges.",
    .options = options,
    .run = list_rules,
};

/* ---- explain --------------------------------------------------------------------------------- */

/* Whether a list of ids, separated by spaces, has the id. */
static bool names_rule(const char *list, const char *id)
{
    size_t length = strlen(id);

    for (const char *at = strstr(list, id); at; at = strstr(at + 1, id)) {
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

static const char *model_of(const struct zoo_defect *defect)
{
    return defect->models & ZOO_GPUMMU     ? "gpummu"
           : defect->models & ZOO_PHYSICAL ? "physical"
                                           : "iommu";
}

/* Planted defects that break it: the quickest way to see it. */
static void show_zoo(enum rule_id rule)
{
    const struct zoo_defect *defect;
    unsigned count = 0;

    for (unsigned i = 0; (defect = zoo_defect_at(i)); i++) {
        if (!names_rule(defect->rules, rule_get(rule)->id))
            continue;
        if (!count++)
            printf("\n  In the zoo\n");
        printf("      %s: %s\n", defect->id, defect->sentence);
        printf("          drydock check --driver zoo:%s --model %s --seeds 20%s%s\n", defect->id,
               model_of(defect), defect->profile ? " --profile " : "",
               defect->profile ? defect->profile : "");
    }
}

/* Where what is explained goes. */
struct lesson {
    const struct rule_counts *counts;
    json_t *rules, *clients, *kinds; /* NULL: to standard output, as text */
    bool is_begun;
};

static json_t *defects_json(enum rule_id rule)
{
    json_t *list = json_array();
    const struct zoo_defect *defect;

    for (unsigned i = 0; (defect = zoo_defect_at(i)); i++) {
        if (names_rule(defect->rules, rule_get(rule)->id))
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s?}", "id", defect->id, "does",
                                                  defect->sentence, "model", model_of(defect),
                                                  "profile", defect->profile));
    }
    return list;
}

static json_t *lesson_json(enum rule_id rule, const struct rule_counts *counts)
{
    json_t *json = report_rule_json(rule, counts);
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);

    if (stream) {
        report_explain(stream, rule, counts);
        fclose(stream);
    }
    json_object_set_new(json, "lesson", json_string(text ? text : ""));
    json_object_set_new(json, "zoo", defects_json(rule));
    free(text);
    return json;
}

static void explain_rule(struct lesson *lesson, enum rule_id rule)
{
    if (lesson->rules) {
        json_array_append_new(lesson->rules, lesson_json(rule, lesson->counts));
        return;
    }
    if (lesson->is_begun)
        printf("\n");
    lesson->is_begun = true;
    report_explain(stdout, rule, lesson->counts);
    show_zoo(rule);
}

static void explain_client(struct lesson *lesson, const struct client_rule_row *row)
{
    json_t *json;
    char *text = NULL;
    size_t length;
    FILE *stream;

    if (!lesson->clients) {
        if (lesson->is_begun)
            printf("\n");
        lesson->is_begun = true;
        report_explain_client(stdout, row);
        return;
    }
    json = client_catalogue_row_json(row);
    stream = open_memstream(&text, &length);
    if (stream) {
        report_explain_client(stream, row);
        fclose(stream);
    }
    json_object_set_new(json, "lesson", json_string(text ? text : ""));
    json_array_append_new(lesson->clients, json);
    free(text);
}

/* As explain_area() does. */
static void explain_clients(struct lesson *lesson)
{
    const struct client_rule_row *row;

    if (!lesson->clients) {
        client_catalogue_text(stdout, "");
        return;
    }
    for (unsigned i = 0; (row = client_catalogue_at(i)) != NULL; i++)
        explain_client(lesson, row);
}

static void explain_kind(struct lesson *lesson, const char *kind)
{
    if (lesson->kinds)
        json_array_append_new(lesson->kinds, json_pack("{s:s, s:s}", "kind", kind, "sentence",
                                                       report_kind_sentence(kind)));
    else
        printf("%s   %s\n\n  A kind of finding that no rule names (docs/findings.md).\n", kind,
               report_kind_sentence(kind));
}

/* All rules of an area: as a table, or each as a lesson. */
static void explain_area(struct lesson *lesson, const char *area, uint64_t runs)
{
    if (!lesson->rules) {
        report_rules_text(stdout, area, lesson->counts, runs);
        return;
    }
    for (unsigned id = RULE_NONE + 1; id < RULE_COUNT; id++) {
        const char *name = rule_get((enum rule_id)id)->id;

        if (strncasecmp(name, area, strlen(area)) == 0 && name[strlen(area)] == '-')
            explain_rule(lesson, (enum rule_id)id);
    }
}

/* Each once, by its place. */
struct told_rules {
    bool drivers[RULE_COUNT], clients[MOST_CLIENT_RULES];
};

static void note_rule(struct told_rules *told, const char *id)
{
    const struct client_rule_row *row = client_catalogue_find(id);

    told->drivers[rule_find(id)] = true;
    if (row && row - client_catalogue_at(0) < MOST_CLIENT_RULES)
        told->clients[row - client_catalogue_at(0)] = true;
}

/* The rules of what a finding's, a run's or a campaign's JSON tells. */
static void collect_rules(const json_t *json, struct told_rules *told)
{
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_array(json)) {
        json_array_foreach((json_t *)json, i, value) collect_rules(value, told);
        return;
    }
    json_object_foreach((json_t *)json, key, value)
    {
        if (strcmp(key, "rule") == 0 && json_is_string(value))
            note_rule(told, json_string_value(value));
        else if (strcmp(key, "rules") != 0)
            collect_rules(value, told);
    }
}

static enum cli_status explain_file(struct lesson *lesson, const char *path)
{
    struct told_rules told = {.drivers = {false}};
    bool is_any = false;
    json_error_t where;
    json_t *json = json_load_file(path, 0, &where);

    if (!json) {
        cli_error("%s:%d: %s", path, where.line, where.text);
        return CLI_USAGE;
    }
    collect_rules(json, &told);
    json_decref(json);
    for (unsigned id = RULE_NONE + 1; id < RULE_COUNT; id++) {
        if (!told.drivers[id])
            continue;
        explain_rule(lesson, (enum rule_id)id);
        is_any = true;
    }
    for (unsigned i = 0; i < MOST_CLIENT_RULES; i++) {
        if (!told.clients[i])
            continue;
        explain_client(lesson, client_catalogue_at(i));
        is_any = true;
    }
    if (!is_any)
        cli_error("%s: tells of no rule", path);
    return is_any ? CLI_FINE : CLI_USAGE;
}

static enum cli_status explain(const struct cli_arguments *arguments)
{
    enum cli_status status = CLI_FINE;
    struct lesson lesson = {0};
    struct rule_counts *counts;
    uint64_t runs;

    if (!arguments->rest_count) {
        cli_error("explain takes rules, or a file with findings (drydock explain --help)");
        return CLI_USAGE;
    }
    if (!load_counts(arguments->values[OPTION_FROM], &counts, &runs))
        return CLI_USAGE;
    lesson.counts = counts;
    if (arguments->values[OPTION_JSON]) {
        lesson.rules = json_array();
        lesson.clients = json_array();
        lesson.kinds = json_array();
    }
    for (size_t i = 0; i < arguments->rest_count && status == CLI_FINE; i++) {
        const char *word = arguments->rest[i];
        enum rule_id rule = rule_find(word);
        const struct client_rule_row *row = client_catalogue_find(word);

        if (rule != RULE_NONE) {
            explain_rule(&lesson, rule);
        } else if (row) {
            explain_client(&lesson, row);
        } else if (strcasecmp(word, "KMT") == 0) {
            explain_clients(&lesson);
        } else if (strchr(word, '.') || strchr(word, '/')) {
            status = explain_file(&lesson, word);
        } else if (report_is_kind(word)) {
            explain_kind(&lesson, word);
        } else if (word[0] && report_has_rules(word)) {
            explain_area(&lesson, word, runs);
        } else {
            unknown_rule(word);
            status = CLI_USAGE;
        }
    }
    if (lesson.rules && status == CLI_FINE) {
        json_t *json = report_document("explain");

        json_object_set(json, "rules", lesson.rules);
        json_object_set(json, "client_rules", lesson.clients);
        json_object_set(json, "kinds", lesson.kinds);
        status = cli_print_json(json) ? CLI_FINE : CLI_INTERNAL;
    }
    json_decref(lesson.rules);
    json_decref(lesson.clients);
    json_decref(lesson.kinds);
    free(counts);
    return status;
}

const struct cli_verb cli_explain = {
    .name = "explain",
    .usage = "RULE... | FILE.json [options]",
    .summary =
        "Teaches a rule: what holds, why, what Windows does, a lawful and an unlawful example",
    .details = "RULE is an id as findings show it (PB-004, KMT-004); an area (PB) lists its rules. "
               "A FILE is a\n"
               "finding or a run.json: each of the rules that it tells of is explained.",
    .options = options,
    .run = explain,
};
