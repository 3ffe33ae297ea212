/*
 * drydock zoo: plays every planted defect, in each model in which it can be seen, until one of the rules
 * that should fire does.
 */
#include "bench/campaign.h"
#include "cli/cli.h"
#include "zoo/zoo.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_MODEL, OPTION_SEEDS, OPTION_JOBS, OPTION_LIST, OPTION_JSON };

static const struct cli_option options[] = {
    [OPTION_MODEL] = {"model", 'm', "MODEL", "physical, gpummu, iommu or all (all)"},
    [OPTION_SEEDS] = {"seeds", 'n', "N", "seeds to play at most, each defect and model (40)"},
    [OPTION_JOBS] = {"jobs", 'j', "J", "worker processes (the processors of this machine)"},
    [OPTION_LIST] = {"list", 0, NULL, "name the defects, and play none"},
    [OPTION_JSON] = {"json", 0, NULL, "print the table as JSON"},
    {NULL, 0, NULL, NULL},
};

#define MAX_RULES   12
#define FIRST_SEED  1
#define RUN_SECONDS 10.0
#define ROW_SECONDS 30.0 /* no new seed of a defect after it */

/* A defect in a model, and what the bench found of it. */
struct row {
    const struct zoo_defect *defect;
    enum campaign_model model;
    bool is_found;
    uint64_t found_seed; /* the lowest; with is_found */
    uint64_t lower_seeds_done;
    uint64_t *operations; /* by seed from the first */
    uint64_t seeds, total_operations;
    char rules[MAX_RULES][16]; /* of all findings, in the order in which they were seen */
    unsigned rule_count;
    uint64_t seed_count; /* that may be played */
    bool *is_done;
};

static const unsigned model_bits[] = {
    [CAMPAIGN_PHYSICAL] = ZOO_PHYSICAL,
    [CAMPAIGN_GPUMMU] = ZOO_GPUMMU,
    [CAMPAIGN_IOMMU] = ZOO_IOMMU,
};

/* Whether rule is one of the words of list. */
static bool is_listed(const char *list, const char *rule)
{
    size_t length = strlen(rule);

    for (const char *at = list; length && (at = strstr(at, rule)); at += length) {
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    }
    return false;
}

static void add_rule(struct row *row, const struct campaign_finding *finding)
{
    const char *name = finding->rule[0] ? finding->rule : finding->kind;

    for (unsigned i = 0; i < row->rule_count; i++) {
        if (strcmp(row->rules[i], name) == 0)
            return;
    }
    if (row->rule_count < MAX_RULES)
        snprintf(row->rules[row->rule_count++], sizeof row->rules[0], "%s", name);
}

static bool take_record(void *context, const struct campaign_record *record)
{
    struct row *row = context;
    uint64_t index = record->seed - FIRST_SEED;
    bool shows = false;

    row->is_done[index] = true;
    row->operations[index] = record->operations;
    for (unsigned i = 0; i < record->finding_count; i++) {
        add_rule(row, &record->findings[i]);
        shows |= is_listed(row->defect->rules, record->findings[i].rule);
    }
    if (shows && (!row->is_found || record->seed < row->found_seed)) {
        row->is_found = true;
        row->found_seed = record->seed;
    }
    if (!row->is_found)
        return true;
    for (uint64_t i = 0; i + FIRST_SEED < row->found_seed; i++) {
        if (!row->is_done[i])
            return true; /* a lower seed is under way */
    }
    return false;
}

static bool play(struct row *row, unsigned jobs, uint64_t seeds)
{
    char driver[32];
    const struct campaign_options campaign = {
        .driver = driver,
        .model = row->model,
        .first_seed = FIRST_SEED,
        .seed_count = seeds,
        .shard_count = 1,
        .jobs = jobs,
        .run_limit_seconds = RUN_SECONDS,
        .time_limit_seconds = ROW_SECONDS,
    };
    const struct campaign_watcher watcher = {.context = row, .record = take_record};

    row->seed_count = seeds;
    row->operations = calloc(seeds, sizeof *row->operations);
    row->is_done = calloc(seeds, sizeof *row->is_done);
    if (!row->operations || !row->is_done) {
        cli_error("no memory for the zoo");
        return false;
    }
    snprintf(driver, sizeof driver, "zoo:%s", row->defect->id);
    if (campaign_run(&campaign, &watcher) == CAMPAIGN_NO_WORKERS) {
        cli_error("no worker process could be made");
        return false;
    }
    row->seeds = row->is_found ? row->found_seed - FIRST_SEED + 1 : seeds;
    for (uint64_t i = 0; i < row->seeds; i++)
        row->total_operations += row->operations[i];
    return true;
}

/* ---- What is printed ---- */

static void print_row(const struct row *row)
{
    char rules[MAX_RULES * 16 + 1] = "";

    for (unsigned i = 0; i < row->rule_count; i++) {
        strcat(rules, i ? " " : "");
        strcat(rules, row->rules[i]);
    }
    printf("%-26s %-8s  %-9s %5" PRIu64 " %10" PRIu64 "  %s\n", row->defect->id,
           campaign_model_name(row->model), row->is_found ? "found" : "NOT FOUND", row->seeds,
           row->total_operations, rules);
    fflush(stdout);
}

static json_t *words(const char *list)
{
    json_t *array = json_array();

    while (*list) {
        size_t length = strcspn(list, " ");

        json_array_append_new(array, json_stringn(list, length));
        list += length + (list[length] == ' ');
    }
    return array;
}

static json_t *row_json(const struct row *row)
{
    json_t *rules = json_array(), *json = json_object();

    for (unsigned i = 0; i < row->rule_count; i++)
        json_array_append_new(rules, json_string(row->rules[i]));
    json_object_set_new(json, "id", json_string(row->defect->id));
    json_object_set_new(json, "model", json_string(campaign_model_name(row->model)));
    json_object_set_new(json, "does", json_string(row->defect->sentence));
    json_object_set_new(json, "since", json_string(row->defect->since));
    json_object_set_new(json, "found", json_boolean(row->is_found));
    json_object_set_new(json, "expected_rules", words(row->defect->rules));
    json_object_set_new(json, "rules", rules);
    json_object_set_new(json, "seeds", json_integer((json_int_t)row->seeds));
    json_object_set_new(json, "operations", json_integer((json_int_t)row->total_operations));
    return json;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

    return (first > second) - (first < second);
}

static void print_summary(const struct row *rows, size_t count)
{
    uint64_t *seeds = calloc(count + 1, sizeof *seeds);
    size_t found = 0, defects = 0, defects_found = 0;

    if (!seeds)
        return;
    for (size_t i = 0; i < count;) {
        bool is_any = false;
        size_t first = i;

        for (; i < count && rows[i].defect == rows[first].defect; i++) {
            is_any |= rows[i].is_found;
            if (rows[i].is_found)
                seeds[found++] = rows[i].seeds;
        }
        defects++;
        defects_found += is_any;
    }
    qsort(seeds, found, sizeof *seeds, compare_u64);
    printf("%zu of %zu defects found; in %zu of %zu models; median of %" PRIu64 " seeds\n",
           defects_found, defects, found, count, found ? seeds[found / 2] : 0);
    free(seeds);
}

/* ---- The verb ---- */

static void list_defects(void)
{
    const struct zoo_defect *defect;

    for (unsigned i = 0; (defect = zoo_defect_at(i)); i++)
        printf("%-26s %s%s%s  %s\n%-26s      should break %s\n", defect->id,
               defect->models & ZOO_PHYSICAL ? "p" : "-", defect->models & ZOO_GPUMMU ? "g" : "-",
               defect->models & ZOO_IOMMU ? "i" : "-", defect->sentence, "", defect->rules);
}

static bool is_wanted(const struct cli_arguments *arguments, const struct zoo_defect *defect)
{
    for (size_t i = 0; i < arguments->rest_count; i++) {
        if (strncmp(defect->id, arguments->rest[i], strlen(arguments->rest[i])) == 0)
            return true;
    }
    return arguments->rest_count == 0;
}

/* The rows wanted; NULL: no memory. */
static struct row *make_rows(const struct cli_arguments *arguments, enum campaign_model model,
                             size_t *out_count)
{
    const struct zoo_defect *defect;
    struct row *rows;
    size_t count = 0;

    while (zoo_defect_at((unsigned)count))
        count++;
    rows = calloc(count * CAMPAIGN_ALL_MODELS + 1, sizeof *rows);
    *out_count = 0;
    for (unsigned i = 0; rows && (defect = zoo_defect_at(i)); i++) {
        if (!is_wanted(arguments, defect))
            continue;
        for (unsigned m = 0; m < CAMPAIGN_ALL_MODELS; m++) {
            if (!(defect->models & model_bits[m]) || (model != CAMPAIGN_ALL_MODELS && model != m))
                continue;
            rows[*out_count].defect = defect;
            rows[(*out_count)++].model = (enum campaign_model)m;
        }
    }
    return rows;
}

static enum cli_status run(const struct cli_arguments *arguments)
{
    const char *const *values = arguments->values;
    enum campaign_model model = CAMPAIGN_ALL_MODELS;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t seeds = 40, jobs = processors > 0 ? (uint64_t)processors : 1;
    enum cli_status status = CLI_FINE;
    json_t *defects = json_array();
    struct row *rows;
    size_t count;

    if (values[OPTION_LIST]) {
        list_defects();
        json_decref(defects);
        return CLI_FINE;
    }
    if (values[OPTION_MODEL] && !campaign_find_model(values[OPTION_MODEL], &model)) {
        cli_error("option --model: unknown word '%s' (expected physical, gpummu, iommu, all)",
                  values[OPTION_MODEL]);
        return CLI_USAGE;
    }
    if ((values[OPTION_SEEDS] && !cli_number("seeds", values[OPTION_SEEDS], 1, 100000, &seeds)) ||
        (values[OPTION_JOBS] && !cli_number("jobs", values[OPTION_JOBS], 1, 256, &jobs)))
        return CLI_USAGE;
    rows = make_rows(arguments, model, &count);
    if (!rows || !count) {
        cli_error(rows ? "no defect of that name and model (see drydock zoo --list)"
                       : "no memory for the zoo");
        free(rows);
        json_decref(defects);
        return CLI_USAGE;
    }
    if (!values[OPTION_JSON])
        printf("%-26s %-8s  %-9s %5s %10s  %s\n", "defect", "model", "", "seeds", "operations",
               "rules broken");
    for (size_t i = 0; i < count && status != CLI_INTERNAL; i++) {
        cli_progress(NULL, "defects", i, count);
        if (!play(&rows[i], (unsigned)jobs, seeds))
            status = CLI_INTERNAL;
        else if (!rows[i].is_found)
            status = CLI_FINDINGS;
        cli_progress_end();
        if (values[OPTION_JSON])
            json_array_append_new(defects, row_json(&rows[i]));
        else
            print_row(&rows[i]);
    }
    if (values[OPTION_JSON]) {
        json_t *json = json_pack("{s:o}", "defects", json_incref(defects));

        json_dumpf(json, stdout, JSON_INDENT(2));
        printf("\n");
        json_decref(json);
    } else {
        print_summary(rows, count);
    }
    json_decref(defects);
    for (size_t i = 0; i < count; i++) {
        free(rows[i].operations);
        free(rows[i].is_done);
    }
    free(rows);
    return status;
}

const struct cli_verb cli_zoo = {
    .name = "zoo",
    .usage = "[ID...] [options]",
    .summary = "Plays the planted defects, and says which are found, by which rule, how fast",
    .details =
        "A defect is the reference driver with one documented mistake; drydock run and check\n"
        "play one as --driver zoo:ID. An ID may be the beginning of several. Exit status 1\n"
        "when one was not found.",
    .options = options,
    .repeated_option = -1,
    .run = run,
};
