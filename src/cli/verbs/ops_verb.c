/*
 * drydock ops: which members of the paging operations the cases set, the driver reads and the runs
 * vary, and which alternatives the calls had.
 */
#include "cli/cli.h"
#include "cli/terminal.h"

#include "bench/campaign/campaign.h"
#include "bench/drivers/drivers.h"
#include "bench/run/run.h"
#include "coverage/coverage.h"
#include "miniport/operation.h"
#include "report/report.h"
#include "report/document.h"

#include <dirent.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OPTIONS(ROW)                                                                               \
    ROW(JSON, "json", 0, NULL, "print as JSON")                                                    \
    ROW(TRUST_CASE, CLI_TRUST_CASE)                                                                \
    ROW(OPEN, "open", 0, NULL,                                                                     \
        "list only members and arms that are neither covered nor explained")                       \
    ROW(CHECK, "check", 0, NULL,                                                                   \
        "play only until there is no such member; exit status 1 if one is left")                   \
    ROW(SEEDS, "seeds", 'n', "N", "play what N seeds draw, in each model; no CASE, no folder")     \
    ROW(FIRST_SEED, "first-seed", 0, "S", "the first of them (1)")
CLI_OPTIONS(OPTIONS)

/* ---- Which cases ----------------------------------------------------------------------------- */

struct case_list {
    char **paths;
    size_t count, capacity;
};

static bool add_path(struct case_list *list, const char *path)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        char **paths = realloc(list->paths, capacity * sizeof *paths);

        if (!paths)
            return false;
        list->paths = paths;
        list->capacity = capacity;
    }
    list->paths[list->count] = strdup(path);
    return list->paths[list->count++] != NULL;
}

static void free_paths(struct case_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
}

static bool is_case_name(const char *name)
{
    const char *dot = strstr(name, ".case");

    return dot && (strcmp(dot, ".case") == 0 || strcmp(dot, ".case.zst") == 0);
}

/* A file, or all cases of a folder and the folders in it. */
static bool add_cases(struct case_list *list, const char *path)
{
    struct stat about;
    struct dirent *entry;
    bool is_fine = true;
    DIR *folder;

    if (stat(path, &about) != 0) {
        cli_error("there is no case or folder '%s'", path);
        return false;
    }
    if (!S_ISDIR(about.st_mode))
        return add_path(list, path);
    folder = opendir(path);
    if (!folder) {
        cli_error("cannot read the folder '%s'", path);
        return false;
    }
    while (is_fine && (entry = readdir(folder)) != NULL) {
        char inner[1024];

        if (entry->d_name[0] == '.' ||
            (size_t)snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) >= sizeof inner ||
            stat(inner, &about) != 0)
            continue;
        if (S_ISDIR(about.st_mode) || is_case_name(entry->d_name))
            is_fine = add_cases(list, inner);
    }
    closedir(folder);
    return is_fine;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Behind what was named before it, and of a folder by their names. */
static bool add_sorted(struct case_list *list, const char *path)
{
    size_t first = list->count;

    if (!add_cases(list, path))
        return false;
    if (list->count > first)
        qsort(list->paths + first, list->count - first, sizeof *list->paths, compare_paths);
    return true;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/*
 * Every case is played on every level of the driver, unless it names a model or a level; on the
 * first level of a model also with every way of updating page tables, unless it names one.
 */
struct set_up {
    unsigned level;
    enum run_model model;
    unsigned wddm;
    unsigned update_mode;
    bool has_only_update_mode;
    unsigned only_wddm; /* 0: all */
    bool has_only_model;
    enum run_model only_model;
};

static const struct run_driver reference = {.name = "ref"};

static bool is_first_of_model(const struct set_up *set_up)
{
    enum run_model model;
    unsigned wddm;

    for (unsigned i = 0; i < set_up->level; i++) {
        if (run_driver_level(&reference, i, &model, &wddm) && model == set_up->model)
            return false;
    }
    return true;
}

/* set_up->level is the first one to be looked at. */
static bool find_level(struct set_up *set_up)
{
    set_up->update_mode = 0;
    while (run_driver_level(&reference, set_up->level, &set_up->model, &set_up->wddm)) {
        if ((!set_up->only_wddm || set_up->wddm == set_up->only_wddm) &&
            (!set_up->has_only_model || set_up->model == set_up->only_model))
            return true;
        set_up->level++;
    }
    return false;
}

static bool next_set_up(struct set_up *set_up)
{
    if (set_up->model != RUN_PHYSICAL && !set_up->has_only_update_mode &&
        is_first_of_model(set_up) && set_up->update_mode + 1 < RUN_UPDATE_MODE_COUNT) {
        set_up->update_mode++;
        return true;
    }
    set_up->level++;
    return find_level(set_up);
}

static enum cli_status status_of(const struct run_result *result)
{
    return result->outcome == RUN_CLEAN      ? CLI_FINE
           : result->outcome == RUN_FINDINGS ? CLI_FINDINGS
                                             : CLI_INTERNAL;
}

/* A configuration that refuses the case is passed over. */
static enum cli_status play(struct coverage *coverage, const char *path,
                            const struct workload *workload, struct run_config config,
                            bool *is_played)
{
    struct run_result result;
    enum cli_status status = CLI_FINE;

    config.reference = RUN_REFERENCE_NEVER;
    config.coverage = coverage;
    run_execute(&config, workload, &result);
    if (result.outcome != RUN_REFUSED) {
        *is_played = true;
        terminal_clear();
        report_findings(stderr, &(struct report_origin){path, ""}, &result, NULL);
        status = status_of(&result);
    }
    if (result.error[0] && result.outcome != RUN_REFUSED)
        cli_error("%s: %s, WDDM %u.%u: %s", path, run_model_name(config.model), config.wddm / 10,
                  config.wddm % 10, result.error);
    run_result_fini(&result);
    return status;
}

static enum cli_status play_once(struct coverage *coverage, const char *path,
                                 const struct workload *workload, const struct run_config *defaults,
                                 const struct set_up *set_up, bool *is_played)
{
    struct run_config config = *defaults;

    config.model = set_up->model;
    config.wddm = set_up->wddm;
    if (set_up->update_mode)
        config.update_mode = (enum run_update_mode)set_up->update_mode;
    return play(coverage, path, workload, config, is_played);
}

/* Nothing is left that another run could show, and no more than that is asked for. */
static bool is_done(const struct coverage *coverage, bool is_check)
{
    return is_check && coverage_is_all_settled(coverage);
}

/* The run has this process: an image would have the rights of the user. */
static bool is_linked_in(const char *path, const struct run_config *config)
{
    struct run_driver driver;

    if (run_find_driver(config->driver, &driver) && !driver.image_path)
        return true;
    cli_error("%s: option driver: '%s' is not linked in, and ops plays no images", path,
              config->driver);
    return false;
}

static enum cli_status play_case(struct coverage *coverage, const char *path,
                                 const struct cli_arguments *arguments)
{
    const bool is_check = arguments->values[OPTION_CHECK] != NULL;
    struct set_up set_up = {0};
    enum cli_status status = CLI_FINE;
    struct workload *workload = cli_load(path, 0);
    bool is_played = false;
    struct run_config config;

    if (!workload)
        return CLI_USAGE;
    if (!coverage_begin_case(coverage, path)) {
        workload_free(workload);
        cli_error("%s: no memory, or too many cases", path);
        return CLI_USAGE;
    }
    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    if (!cli_may_play(arguments, arguments->values[OPTION_TRUST_CASE] != NULL, NULL, workload) ||
        !is_linked_in(path, &config)) {
        workload_free(workload);
        return CLI_USAGE;
    }
    set_up.only_wddm = config.wddm;
    set_up.has_only_model = workload_option(workload, "model") != NULL;
    set_up.only_model = config.model;
    set_up.has_only_update_mode = workload_option(workload, "page-tables") != NULL;
    if (!find_level(&set_up)) {
        cli_error("%s: the driver has no WDDM %u.%u", path, config.wddm / 10, config.wddm % 10);
        workload_free(workload);
        return CLI_USAGE;
    }
    do {
        enum cli_status one = play_once(coverage, path, workload, &config, &set_up, &is_played);

        if (one > status)
            status = one;
    } while (!(is_played && is_done(coverage, is_check)) && next_set_up(&set_up));
    if (!is_played) {
        cli_error("%s: refused by every set-up of the bench (drydock run says why)", path);
        status = CLI_USAGE;
    }
    workload_free(workload);
    return status;
}

/* Before each case or seed. */
static void tell_progress(const char *unit, uint64_t done, uint64_t total)
{
    terminal_progress(
        &(struct terminal_task){.what = "ops", .unit = unit, .done = done, .total = total});
}

static enum cli_status play_all(struct coverage *coverage, const struct case_list *list,
                                const struct cli_arguments *arguments)
{
    const bool is_check = arguments->values[OPTION_CHECK] != NULL;
    enum cli_status status = CLI_FINE;

    for (size_t i = 0; i < list->count && !is_done(coverage, is_check); i++) {
        enum cli_status one;

        tell_progress("cases", i, list->count);
        one = play_case(coverage, list->paths[i], arguments);
        if (one > status)
            status = one;
    }
    return status;
}

/* What `drydock check` plays of the seed, in this process. */
static enum cli_status play_seed(struct coverage *coverage, uint64_t seed)
{
    enum cli_status status = CLI_FINE;
    struct workload_error error;
    struct workload *workload;
    char name[32];

    snprintf(name, sizeof name, "seed %" PRIu64, seed);
    if (!campaign_draw_workload(seed, NULL, &workload, &error)) {
        cli_error("%s: %s", name, error.text);
        return CLI_INTERNAL;
    }
    for (int model = CAMPAIGN_PHYSICAL; model <= CAMPAIGN_IOMMU; model++) {
        const struct campaign_options campaign = {.driver = reference.name,
                                                  .model = (enum campaign_model)model};
        struct campaign_setup setup;
        enum cli_status one;
        bool is_played;

        campaign_draw_setup(&campaign, seed, workload, &setup);
        one = play(coverage, name, workload, setup.config, &is_played);
        if (one > status)
            status = one;
    }
    workload_free(workload);
    return status;
}

static enum cli_status play_seeds(struct coverage *coverage, uint64_t first, uint64_t count,
                                  bool is_check)
{
    enum cli_status status = CLI_FINE;

    if (!coverage_begin_case(coverage, "seeds"))
        return CLI_INTERNAL;
    for (uint64_t i = 0; i < count && !is_done(coverage, is_check); i++) {
        enum cli_status one;

        tell_progress("seeds", i, count);
        one = play_seed(coverage, first + i);
        if (one > status)
            status = one;
    }
    return status;
}

/* ---- What is to be played -------------------------------------------------------------------- */

static bool find_seeds(const struct cli_arguments *arguments, uint64_t *first, uint64_t *count)
{
    const char *const *values = arguments->values;

    *first = 1;
    if (arguments->rest_count) {
        cli_error("--seeds and a case or folder (expected one of them)");
        return false;
    }
    return cli_number("seeds", values[OPTION_SEEDS], 1, 100000, count) &&
           (!values[OPTION_FIRST_SEED] ||
            cli_number("first-seed", values[OPTION_FIRST_SEED], 0, INT64_MAX, first));
}

static bool find_cases(const struct cli_arguments *arguments, struct case_list *list)
{
    bool is_found = true;

    for (size_t i = 0; i < arguments->rest_count && is_found; i++)
        is_found = add_sorted(list, arguments->rest[i]);
    if (arguments->rest_count == 0)
        is_found = add_sorted(list, "cases");
    if (is_found && list->count == 0)
        cli_error("there is no case to play (drydock ops --help)");
    return is_found && list->count;
}

/* ---- Results --------------------------------------------------------------------------------- */

static json_t *members_json(const struct coverage *coverage, unsigned group, bool only_open)
{
    json_t *json = json_object();

    for (unsigned i = 0; i < coverage_member_count(); i++) {
        const struct coverage_member *member = coverage_member(i);
        const struct coverage_tally *tally = coverage_tally(coverage, i);
        const char *reason = coverage_reason(i);

        if (member->group != group || (only_open && coverage_is_settled(coverage, i)))
            continue;
        json_object_set_new(json, member->name,
                            json_pack("{s:b, s:b, s:b, s:s?}", "set", tally->is_set, "read",
                                      tally->is_read, "varied", tally->is_varied, "reason",
                                      reason));
    }
    return json;
}

static json_t *arms_json(const struct coverage *coverage, unsigned group, bool only_open)
{
    json_t *json = json_object();

    for (unsigned i = 0; i < coverage_arm_count(); i++) {
        const struct coverage_arm *arm = coverage_arm(coverage, i);

        if (arm->group != group || (only_open && coverage_arm_is_settled(coverage, i)))
            continue;
        json_object_set_new(
            json, arm->name,
            json_pack("{s:s, s:s, s:I, s:s?}", "condition", arm->condition, "source", arm->source,
                      "calls", (json_int_t)coverage_arm_calls(coverage, i), "reason", arm->reason));
    }
    return json;
}

static json_t *group_json(const struct coverage *coverage, unsigned group, bool only_open)
{
    json_t *cases = json_array();

    for (unsigned i = 0; i < coverage_case_count(coverage); i++) {
        if (coverage_case_has(coverage, i, group))
            json_array_append_new(cases, json_string(coverage_case_name(coverage, i)));
    }
    return json_pack("{s:I, s:o, s:o, s:o}", "calls", (json_int_t)coverage_calls(coverage, group),
                     "cases", cases, "members", members_json(coverage, group, only_open), "arms",
                     arms_json(coverage, group, only_open));
}

static bool print_json(const struct coverage *coverage, bool only_open)
{
    json_t *operations = json_object();
    json_t *structures = json_object();
    json_t *json;

    for (unsigned group = 0; group < COVERAGE_GROUP_COUNT; group++)
        json_object_set_new(group < MINIPORT_OPERATION_COUNT ? operations : structures,
                            coverage_group_name(group), group_json(coverage, group, only_open));
    json = report_document("ops");
    json_object_set_new(json, "operations", operations);
    json_object_set_new(json, "structures", structures);
    return cli_print_json(json);
}

static unsigned cases_of(const struct coverage *coverage, unsigned group)
{
    unsigned count = 0;

    for (unsigned i = 0; i < coverage_case_count(coverage); i++)
        count += coverage_case_has(coverage, i, group);
    return count;
}

static void print_arms(const struct coverage *coverage, unsigned group, bool only_open)
{
    for (unsigned i = 0; i < coverage_arm_count(); i++) {
        const struct coverage_arm *arm = coverage_arm(coverage, i);
        char number[REPORT_NUMBER_BYTES];

        if (arm->group != group || (only_open && coverage_arm_is_settled(coverage, i)))
            continue;
        printf(
            "     * %-42s %-14s %s  %s%s%s\n", arm->name,
            coverage_arm_calls(coverage, i) ? report_count(number, coverage_arm_calls(coverage, i))
                                            : "-",
            arm->source, arm->condition, arm->reason ? "  " : "", arm->reason ? arm->reason : "");
    }
}

static void print_arm_totals(const struct coverage *coverage)
{
    unsigned seen = 0, settled = 0;

    for (unsigned i = 0; i < coverage_arm_count(); i++) {
        seen += coverage_arm_calls(coverage, i) != 0;
        settled += coverage_arm_is_settled(coverage, i);
    }
    printf("%u arms: %u seen; %u are seen or have a reason\n", coverage_arm_count(), seen, settled);
}

static void print_table(const struct coverage *coverage, bool only_open)
{
    unsigned totals[5] = {0}; /* members, set, read, varied, settled */

    for (unsigned group = 0; group < COVERAGE_GROUP_COUNT; group++) {
        char number[REPORT_NUMBER_BYTES];

        if (group < MINIPORT_OPERATION_COUNT)
            printf("%2u ", group);
        else
            printf("   ");
        printf("%-38s %12s %s, %u cases\n", coverage_group_name(group),
               report_count(number, coverage_calls(coverage, group)),
               group < MINIPORT_OPERATION_COUNT || group == COVERAGE_PATCH ? "calls" : "seen",
               cases_of(coverage, group));
        for (unsigned i = 0; i < coverage_member_count(); i++) {
            const struct coverage_tally *tally = coverage_tally(coverage, i);
            const char *reason = coverage_reason(i);

            if (coverage_member(i)->group != group)
                continue;
            totals[0]++;
            totals[1] += tally->is_set;
            totals[2] += tally->is_read;
            totals[3] += tally->is_varied;
            totals[4] += coverage_is_settled(coverage, i);
            if (only_open && coverage_is_settled(coverage, i))
                continue;
            printf("     %-44s %-3s %-4s %-6s%s%s\n", coverage_member(i)->name,
                   tally->is_set ? "set" : "-", tally->is_read ? "read" : "-",
                   tally->is_varied ? "varied" : "-", reason ? "  " : "", reason ? reason : "");
        }
        print_arms(coverage, group, only_open);
    }
    printf("\n%u members: %u set, %u read, %u varied; %u are all three or have a reason\n",
           totals[0], totals[1], totals[2], totals[3], totals[4]);
    print_arm_totals(coverage);
}

static enum cli_status ops(const struct cli_arguments *arguments)
{
    const char *const *values = arguments->values;
    const bool of_seeds = values[OPTION_SEEDS] != NULL, is_check = values[OPTION_CHECK] != NULL;
    struct coverage *coverage = coverage_create();
    struct case_list list = {0};
    enum cli_status status;
    uint64_t first, count;

    if (!coverage ||
        !(of_seeds ? find_seeds(arguments, &first, &count) : find_cases(arguments, &list))) {
        free_paths(&list);
        coverage_destroy(coverage);
        return CLI_USAGE;
    }
    if (is_check || of_seeds)
        coverage_set_frugal(coverage);
    status = of_seeds ? play_seeds(coverage, first, count, is_check)
                      : play_all(coverage, &list, arguments);
    terminal_end();
    if (values[OPTION_JSON]) {
        if (!print_json(coverage, values[OPTION_OPEN] != NULL))
            status = CLI_INTERNAL;
    } else if (!terminal_is_quiet()) {
        print_table(coverage, values[OPTION_OPEN] != NULL);
    }
    if (is_check && status == CLI_FINE && !coverage_is_all_settled(coverage))
        status = CLI_FINDINGS;
    free_paths(&list);
    coverage_destroy(coverage);
    return status;
}

const struct cli_verb cli_ops = {
    .name = "ops",
    .usage = "[CASE|FOLDER]... [options]",
    .summary = "Which members of the paging operations are set, read and varied, by recorded runs",
    .details =
        "Plays the cases (those under cases/, unless others are named) on every level of the\n"
        "driver and with every way of updating page tables, in the order named, those of a\n"
        "folder by their names, and records each call between manager and driver. A member is\n"
        "set when a call had something else than zero in it, varied when two calls differed,\n"
        "and read when the other side really loaded it from memory, which is measured with\n"
        "protected pages and single steps. A sentence stands where that cannot be.\n"
        "\n"
        "A line with a star is an arm: an alternative that the documents name (no allocation,\n"
        "segment 0 and others, a flag that is set), with the number of calls that had it and the\n"
        "rule of the contract that names it. With --seeds the numbers are those of random work,\n"
        "as drydock check draws it: an arm with none is seen by a case alone.",
    .options = options,
    .run = ops,
};
