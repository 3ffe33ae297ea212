/*
 * drydock zoo: plays every planted defect, in each model in which it can be seen, until one of the
 * rules that should fire does.
 */
#include "bench/drivers/drivers.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "cli/verbs/zoo_play.h"
#include "report/document.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS(ROW)                                                                               \
    ROW(MODEL, "model", 'm', "MODEL", "physical, gpummu, iommu or all (all)")                      \
    ROW(SEEDS, "seeds", 'n', "N", "seeds to play at most, each row (150; lawful: 300)")            \
    ROW(JOBS, "jobs", 'j', "J", "defects at once (the processors of this machine)")                \
    ROW(SECONDS, "seconds", 0, "S", "for making the case of a defect smaller (10)")                \
    ROW(KEEP, "no-shrink", 0, NULL, "leave the cases as they are")                                 \
    ROW(IMAGE, "image", 0, "FILE", "the reference driver as an image, to plant them in")           \
    ROW(CAUSES, "most-causes", 0, "N",                                                             \
        "exit status 1 for a row with more, or that blames the bench")                             \
    ROW(LIST, "list", 0, NULL, "name the defects, and play none")                                  \
    ROW(LAWFUL, "lawful", 0, NULL, "the lawful drivers instead: nothing may be said of them")      \
    ROW(JSON, "json", 0, NULL, "print the table as JSON")
CLI_OPTIONS(OPTIONS)

static const unsigned model_bits[] = {
    [CAMPAIGN_PHYSICAL] = ZOO_PHYSICAL,
    [CAMPAIGN_GPUMMU] = ZOO_GPUMMU,
    [CAMPAIGN_IOMMU] = ZOO_IOMMU,
};

/* ---- What is printed ---- */

static void print_head(bool is_lawful)
{
    printf("%-27s %-8s  %-9s %5s %10s %6s %6s  %s\n", is_lawful ? "lawful driver" : "defect",
           "model", "", "seeds", "operations", is_lawful ? "seed" : "shrunk", "causes",
           is_lawful ? "said of it" : "rules broken");
}

static const char *verdict_of(const struct zoo_row *row)
{
    if (row->is_hostile)
        return "HOSTILE";
    if (row->defect->lawful)
        return row->is_found ? "ACCUSED" : row->rule_count ? "advice" : "silence";
    return row->is_found ? "found" : "NOT FOUND";
}

/*
 * A defect is to be found and told as one mistake, a lawful driver to be left alone, and the bench
 * by both.
 */
static bool is_right(const struct zoo_row *row, uint64_t most_causes)
{
    return !row->is_hostile && row->is_found == !row->defect->lawful &&
           row->causes <= most_causes && (most_causes == UINT64_MAX || !row->blames_manager);
}

static void print_row(const struct zoo_row *row)
{
    char rules[ZOO_ROW_RULES * 16 + 1] = "", shrunk[16] = "-";

    for (unsigned i = 0; i < row->rule_count; i++) {
        strcat(rules, i ? " " : "");
        strcat(rules, row->rules[i]);
    }
    if (row->is_shrunk)
        snprintf(shrunk, sizeof shrunk, "%u", row->shrunk_lines);
    else if (row->defect->lawful && row->is_found)
        snprintf(shrunk, sizeof shrunk, "%" PRIu64, row->seed);
    printf("%-27s %-8s  %-9s %5" PRIu64 " %10" PRIu64 " %6s %5u%c  %s\n", row->defect->id,
           campaign_model_name(row->model), verdict_of(row), row->seeds, row->operations, shrunk,
           row->causes, row->blames_manager ? '!' : ' ', rules);
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

static json_t *row_json(const struct zoo_row *row)
{
    json_t *rules = json_array(), *json = json_object();
    char told[17];

    for (unsigned i = 0; i < row->rule_count; i++)
        json_array_append_new(rules, json_string(row->rules[i]));
    json_object_set_new(json, "id", json_string(row->defect->id));
    json_object_set_new(json, "model", json_string(campaign_model_name(row->model)));
    json_object_set_new(json, "does", json_string(row->defect->sentence));
    if (row->defect->lawful) {
        json_object_set_new(json, "source", json_string(row->defect->lawful));
        json_object_set_new(json, "accused", json_boolean(row->is_found));
        json_object_set_new(json, "seed",
                            row->is_found ? json_integer((json_int_t)row->seed) : json_null());
    } else {
        json_object_set_new(json, "since", json_string(row->defect->since));
        json_object_set_new(json, "found", json_boolean(row->is_found));
    }
    json_object_set_new(json, "focus",
                        row->defect->focus ? json_string(row->defect->focus) : json_null());
    json_object_set_new(json, "hostile", json_boolean(row->is_hostile));
    json_object_set_new(json, "expected_rules", words(row->defect->rules));
    json_object_set_new(json, "rules", rules);
    json_object_set_new(json, "seeds", json_integer((json_int_t)row->seeds));
    json_object_set_new(json, "operations", json_integer((json_int_t)row->operations));
    snprintf(told, sizeof told, "%016" PRIx64, row->told);
    json_object_set_new(json, "told", json_string(told));
    json_object_set_new(json, "causes", json_integer(row->causes));
    json_object_set_new(json, "blames_manager", json_boolean(row->blames_manager));
    json_object_set_new(json, "shrunk_lines",
                        row->is_shrunk ? json_integer(row->shrunk_lines) : json_null());
    return json;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

    return (first > second) - (first < second);
}

/* "causes in 8 seeds: median 1, at most 3; 0 rows blame the memory manager (!)" */
static void print_causes(const struct zoo_row *rows, size_t count)
{
    uint64_t *causes = calloc(count + 1, sizeof *causes);
    size_t seen = 0, blaming = 0;

    if (!causes)
        return;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].causes)
            causes[seen++] = rows[i].causes;
        blaming += rows[i].blames_manager;
    }
    qsort(causes, seen, sizeof *causes, compare_u64);
    if (seen)
        printf("causes in %d seeds: median %" PRIu64 ", at most %" PRIu64
               "; %zu rows blame the memory manager (!)\n",
               ZOO_CAUSE_SEEDS, causes[seen / 2], causes[seen - 1], blaming);
    free(causes);
}

static void print_summary(const struct zoo_row *rows, size_t count)
{
    uint64_t *seeds = calloc(count + 1, sizeof *seeds);
    size_t found = 0, defects = 0, defects_found = 0;
    uint32_t most_lines = 0;

    if (!seeds)
        return;
    for (size_t i = 0; i < count;) {
        bool is_any = false;
        size_t first = i;

        for (; i < count && rows[i].defect == rows[first].defect; i++) {
            is_any |= rows[i].is_found;
            if (rows[i].is_shrunk && rows[i].shrunk_lines > most_lines)
                most_lines = rows[i].shrunk_lines;
            if (rows[i].is_found)
                seeds[found++] = rows[i].seeds;
        }
        defects++;
        defects_found += is_any;
    }
    qsort(seeds, found, sizeof *seeds, compare_u64);
    if (count && rows[0].defect->lawful) {
        printf("%zu of %zu lawful drivers accused; in %zu of %zu models\n", defects_found, defects,
               found, count);
        free(seeds);
        return;
    }
    printf("%zu of %zu defects found; in %zu of %zu models; median of %" PRIu64 " seeds\n",
           defects_found, defects, found, count, found ? seeds[found / 2] : 0);
    print_causes(rows, count);
    if (most_lines)
        printf("the largest smallest case has %u operations\n", most_lines);
    free(seeds);
}

/* ---- The verb ---- */

static const struct zoo_defect *row_at(bool is_lawful, unsigned index)
{
    return is_lawful ? zoo_lawful_at(index) : zoo_defect_at(index);
}

static void list_defects(bool is_lawful)
{
    const struct zoo_defect *defect;

    for (unsigned i = 0; (defect = row_at(is_lawful, i)); i++)
        printf("%-26s %s%s%s  %s\n%-26s      %s %s\n", defect->id,
               defect->models & ZOO_PHYSICAL ? "p" : "-", defect->models & ZOO_GPUMMU ? "g" : "-",
               defect->models & ZOO_IOMMU ? "i" : "-", defect->sentence, "",
               is_lawful ? "allowed by" : "should break",
               is_lawful ? defect->lawful : defect->rules);
}

/* The same as JSON. */
static void list_defects_json(bool is_lawful)
{
    json_t *json = report_document("defects"), *list = json_array();
    const struct zoo_defect *defect;

    for (unsigned i = 0; (defect = row_at(is_lawful, i)); i++) {
        json_t *models = json_array();

        for (unsigned m = 0; m < CAMPAIGN_ALL_MODELS; m++) {
            if (defect->models & model_bits[m])
                json_array_append_new(models,
                                      json_string(campaign_model_name((enum campaign_model)m)));
        }
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:o, s:o, s:s?}", "id", defect->id, "does",
                            defect->sentence, "models", models, "expected_rules",
                            words(is_lawful ? "" : defect->rules), "source", defect->lawful));
    }
    json_object_set_new(json, "defects", list);
    cli_print_json(json);
}

static bool is_wanted(const struct cli_arguments *arguments, const struct zoo_defect *defect)
{
    for (size_t i = 0; i < arguments->rest_count; i++) {
        if (strncmp(defect->id, arguments->rest[i], strlen(arguments->rest[i])) == 0)
            return true;
    }
    return arguments->rest_count == 0;
}

/* Over an image rows are played that are of its kind. */
static bool is_of_image(const char *image, const struct zoo_defect *defect)
{
    struct run_driver driver;

    return !image || !run_find_driver(image, &driver) ||
           zoo_suits_image(defect, driver.is_display_only);
}

/* How many there are, and, with rows, all of them. */
static size_t make_rows(const struct cli_arguments *arguments, enum campaign_model model,
                        struct zoo_row *rows)
{
    const char *image = arguments->values[OPTION_IMAGE];
    const struct campaign_options base = {.driver = image ? image : "ref"};
    const struct zoo_defect *defect;
    size_t count = 0;

    for (unsigned i = 0; (defect = row_at(arguments->values[OPTION_LAWFUL] != NULL, i)); i++) {
        for (unsigned m = 0; m < CAMPAIGN_ALL_MODELS && is_wanted(arguments, defect); m++) {
            if (!(defect->models & model_bits[m]) || (model != CAMPAIGN_ALL_MODELS && model != m) ||
                !campaign_has_model(&base, (enum campaign_model)m) || !is_of_image(image, defect))
                continue;
            if (rows) {
                rows[count].defect = defect;
                rows[count].model = (enum campaign_model)m;
            }
            count++;
        }
    }
    return count;
}

/* Where rows go as they come. */
struct output {
    json_t *defects;      /* NULL: lines of text */
    size_t count, found;  /* of all rows */
    uint64_t most_causes; /* of a row that is as it should be */
};

static void put_row(void *context, const struct zoo_row *row, size_t index)
{
    struct output *output = context;

    terminal_clear();
    if (output->defects)
        json_array_append_new(output->defects, row_json(row));
    else if (!terminal_is_quiet() || !is_right(row, output->most_causes))
        print_row(row);
    output->found += row->is_found;
    terminal_progress(
        &(struct terminal_task){.what = row->defect->lawful ? "lawful" : "zoo",
                                .unit = "rows",
                                .done = index + 1,
                                .total = output->count,
                                .draws_at_once = true,
                                .findings = output->found,
                                .findings_name = row->defect->lawful ? "accused" : "found"});
}

/* The rows that are left begin with this one. */
static enum cli_status tell_interrupted(const struct cli_arguments *arguments,
                                        const struct zoo_row *next)
{
    char command[2048];

    cli_command_line(arguments, command, sizeof command);
    cli_note("the next row would have been %s, %s; nothing is kept of a table", next->defect->id,
             campaign_model_name(next->model));
    return cli_interrupted(NULL, command);
}

static enum cli_status play_zoo(const struct cli_arguments *arguments, const struct zoo_play *how,
                                struct zoo_row *rows, size_t count, uint64_t most_causes,
                                bool is_json)
{
    struct output output = {
        .defects = is_json ? json_array() : NULL, .count = count, .most_causes = most_causes};
    struct zoo_play play = *how;
    enum cli_status status = CLI_FINE;
    size_t played;

    play.played = put_row;
    play.context = &output;
    if (!is_json && !terminal_is_quiet())
        print_head(count && rows[0].defect->lawful);
    interrupt_catch();
    if (!zoo_play_rows(&play, rows, count, &played)) {
        terminal_end();
        cli_error("no process could be made for a defect");
        json_decref(output.defects);
        return CLI_INTERNAL;
    }
    terminal_end();
    for (size_t i = 0; i < played; i++) {
        if (!is_right(&rows[i], most_causes))
            status = CLI_FINDINGS;
    }
    if (is_json) {
        json_t *json = report_document("zoo");

        json_object_set_new(json, "defects", output.defects);
        cli_print_json(json);
    } else if (!terminal_is_quiet()) {
        print_summary(rows, played);
    }
    return played < count ? tell_interrupted(arguments, &rows[played]) : status;
}

static enum cli_status run(const struct cli_arguments *arguments)
{
    const char *const *values = arguments->values;
    enum campaign_model model = CAMPAIGN_ALL_MODELS;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t seeds = values[OPTION_LAWFUL] ? 300 : 150,
             jobs = processors > 0 ? (uint64_t)processors : 1, seconds = 10,
             most_causes = UINT64_MAX;
    enum cli_status status;
    struct zoo_row *rows;
    struct zoo_play play;
    size_t count;

    if (values[OPTION_LIST]) {
        (values[OPTION_JSON] ? list_defects_json : list_defects)(values[OPTION_LAWFUL] != NULL);
        return CLI_FINE;
    }
    if (values[OPTION_MODEL] && !campaign_find_model(values[OPTION_MODEL], &model)) {
        cli_error("option --model: unknown word '%s' (expected physical, gpummu, iommu, all)",
                  values[OPTION_MODEL]);
        return CLI_USAGE;
    }
    if ((values[OPTION_SEEDS] && !cli_number("seeds", values[OPTION_SEEDS], 1, 100000, &seeds)) ||
        (values[OPTION_JOBS] && !cli_number("jobs", values[OPTION_JOBS], 1, 256, &jobs)) ||
        (values[OPTION_CAUSES] &&
         !cli_number("most-causes", values[OPTION_CAUSES], 1, 1000, &most_causes)) ||
        (values[OPTION_SECONDS] &&
         !cli_number("seconds", values[OPTION_SECONDS], 1, 3600, &seconds)))
        return CLI_USAGE;
    if (values[OPTION_IMAGE] && !cli_find_driver(values[OPTION_IMAGE]))
        return CLI_USAGE;
    count = make_rows(arguments, model, NULL);
    if (!count) {
        cli_error("no defect of that name and model (see drydock zoo --list)");
        return CLI_USAGE;
    }
    rows = zoo_rows_new(count);
    if (!rows) {
        cli_error("no memory for the zoo");
        return CLI_INTERNAL;
    }
    make_rows(arguments, model, rows);
    play = (struct zoo_play){.seeds = seeds,
                             .jobs = (unsigned)jobs,
                             .image = values[OPTION_IMAGE],
                             .shrink_seconds = values[OPTION_KEEP] ? 0 : (double)seconds};
    status = play_zoo(arguments, &play, rows, count, most_causes, values[OPTION_JSON] != NULL);
    zoo_rows_free(rows, count);
    return status;
}

const struct cli_verb cli_zoo = {
    .name = "zoo",
    .usage = "[ID...] [options]",
    .summary = "Plays the planted defects, and says which are found, by which rule, how fast",
    .details =
        "A defect is the reference driver with one documented mistake; drydock run and check\n"
        "play one as --driver zoo:ID. An ID may be the beginning of several. The first case that\n"
        "shows a defect is made as small as time allows. Exit status 1 when one was not found.\n"
        "The causes are those of the first eight seeds; ! behind them: one blames the bench.\n"
        "A lawful driver (--lawful) does what is unusual and allowed: exit status 1 when anything\n"
        "is said of one.",
    .options = options,
    .run = run,
};
