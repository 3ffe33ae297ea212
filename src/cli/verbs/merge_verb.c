/*
 * drydock merge: folders of campaigns become one. Runs that several folders have must agree.
 */
#include "cli/cli.h"
#include "cli/terminal.h"

#include "bench/campaign/campaign.h"
#include "report/alternatives.h"
#include "report/campaign/campaign_report.h"
#include "report/excuses.h"
#include "report/rules_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS(ROW)                                                                               \
    ROW(OUT, "out", 'o', "DIR", "folder for the results of all (none is written)")                 \
    ROW(ALLOW, CLI_ALLOW)                                                                          \
    ROW(BASELINE, CLI_BASELINE)                                                                    \
    ROW(UPDATE_BASELINE, CLI_UPDATE_BASELINE)                                                      \
    ROW(JSON, "json", 0, NULL, "print the summary as JSON")                                        \
    ROW(JUNIT, "junit", 0, "FILE", "write a test case for each rule, as JUnit XML")                \
    ROW(SARIF, "sarif", 0, "FILE", "write a result for each cause, as SARIF 2.1.0")
CLI_OPTIONS(OPTIONS)

/* The result of an item that was met before. */
struct known {
    uint64_t key, digest;
    enum campaign_outcome outcome;
};

struct merge {
    struct campaign_summary summary;
    struct excuses *excuses;
    const char *baseline;         /* to be written; NULL: not */
    struct campaign_store *store; /* NULL: nothing is written */
    const char *out;              /* its folder */
    const char *folder;           /* that is read now */
    struct known *known;          /* open addressing, key 0: free */
    size_t known_count, known_room;
    uint64_t repeated, different;
    uint64_t damaged; /* lines of all folders that tell nothing */
    bool has_failed;
};

static struct known *find_known(struct known *known, size_t room, uint64_t key)
{
    size_t at = key % room;

    while (known[at].key && known[at].key != key)
        at = (at + 1) % room;
    return &known[at];
}

static bool make_room(struct merge *merge)
{
    size_t room = merge->known_room ? 2 * merge->known_room : 4096;
    struct known *known;

    if (2 * (merge->known_count + 1) <= merge->known_room)
        return true;
    known = calloc(room, sizeof *known);
    if (!known)
        return false;
    for (size_t i = 0; i < merge->known_room; i++) {
        if (merge->known[i].key)
            *find_known(known, room, merge->known[i].key) = merge->known[i];
    }
    free(merge->known);
    merge->known = known;
    merge->known_room = room;
    return true;
}

/* Two folders have the item: they have to agree. A crash or a hang has no digest to compare. */
static void compare(struct merge *merge, const struct known *known,
                    const struct campaign_record *record)
{
    merge->repeated++;
    if (known->digest == record->digest && known->outcome == record->outcome)
        return;
    merge->different++;
    cli_error("%s: seed %" PRIu64 ", %s %s: %s with digest %016" PRIx64
              ", but another folder has %s with %016" PRIx64,
              merge->folder, record->seed, campaign_model_name(record->model), record->case_path,
              campaign_outcome_name(record->outcome), record->digest,
              campaign_outcome_name(known->outcome), known->digest);
}

static void tell_progress(const struct merge *merge)
{
    terminal_progress(&(struct terminal_task){.what = "merge",
                                              .unit = "runs",
                                              .done = merge->known_count + merge->repeated,
                                              .findings = merge->summary.findings,
                                              .findings_name = "with findings"});
}

static bool take_record(void *context, const struct campaign_record *record)
{
    struct merge *merge = context;
    uint64_t key = campaign_record_key(record);
    struct known *known;
    char error[512];

    key = key ? key : 1;
    if (!make_room(merge)) {
        cli_error("no memory");
        merge->has_failed = true;
        return false;
    }
    known = find_known(merge->known, merge->known_room, key);
    if (known->key) {
        compare(merge, known, record);
        tell_progress(merge);
        return true;
    }
    *known = (struct known){key, record->digest, record->outcome};
    merge->known_count++;
    campaign_summary_add(&merge->summary, record);
    tell_progress(merge);
    if (merge->store && !campaign_store_add(merge->store, record, error)) {
        cli_error("%s", error);
        merge->has_failed = true;
    }
    return !merge->has_failed;
}

static enum cli_status finish(struct merge *merge, bool is_json)
{
    terminal_end();
    campaign_summary_settle(&merge->summary);
    excuses_apply(merge->excuses, &merge->summary, true);
    if (is_json) {
        char *json = campaign_report_json(&merge->summary, merge->out, 0, NULL, merge->excuses);

        puts(json ? json : "{}");
        free(json);
    } else {
        if (terminal_is_quiet())
            campaign_report_causes(stdout, &merge->summary, merge->out);
        else
            campaign_report_summary(stdout, &merge->summary, merge->out, 0);
    }
    if (!is_json && !terminal_is_quiet()) {
        excuses_report(stdout, merge->excuses, &merge->summary);
        printf("  merged    %" PRIu64 " runs were there more than once, %" PRIu64
               " of them with different results\n",
               merge->repeated, merge->different);
    }
    if (merge->baseline && !cli_update_baseline(merge->baseline, merge->excuses, &merge->summary))
        return CLI_USAGE;
    if (campaign_fails(&merge->summary) && !merge->different)
        return cli_found(campaign_is_ours(&merge->summary));
    return merge->different ? CLI_FINDINGS : CLI_FINE;
}

/*
 * The folder of the result is a campaign's like any other, of all models and no case in particular.
 */
static bool open_result(struct merge *merge, const char *path)
{
    const struct campaign_options campaign = {.driver = "ref", .model = CAMPAIGN_ALL_MODELS};
    char error[512];

    if (!path || campaign_store_open(path, &campaign, false, NULL, NULL, &merge->store, error))
        return true;
    cli_error("%s", error);
    return false;
}

/* Counts of rules are sums: an item that two folders have counts twice, as it was played twice. */
static bool merge_rules(struct merge *merge, char error[512])
{
    struct rule_counts *counts = malloc(sizeof *counts);
    uint64_t runs;
    struct coverage_arm_counts arms = {{0}};
    bool is_fine = counts && report_rule_counts_load(merge->folder, counts, &runs, error);

    if (is_fine && !report_alternatives_load(merge->folder, &arms)) {
        snprintf(error, 512, "'%.400s/rules.json': the counts of alternatives are damaged",
                 merge->folder);
        is_fine = false;
    }
    if (is_fine) {
        rule_counts_add(&merge->summary.rules, counts);
        coverage_arm_counts_add(&merge->summary.arms, &arms);
        if (merge->store)
            is_fine = campaign_store_count_rules(merge->store, counts, &arms, runs, error);
    }
    free(counts);
    return is_fine;
}

static enum cli_status merge_folders(const struct cli_arguments *arguments)
{
    struct merge merge = {0};
    enum cli_status status = CLI_USAGE;
    char error[512];
    size_t i = 0;

    if (arguments->rest_count == 0) {
        cli_error("merge takes folders of drydock check --out (drydock merge --help)");
        return CLI_USAGE;
    }
    if (!campaign_summary_init(&merge.summary)) {
        cli_error("no memory");
        return CLI_INTERNAL;
    }
    merge.out = arguments->values[OPTION_OUT];
    merge.baseline =
        arguments->values[OPTION_UPDATE_BASELINE] ? arguments->values[OPTION_BASELINE] : NULL;
    merge.excuses = cli_excuses(arguments->values[OPTION_BASELINE],
                                arguments->values[OPTION_UPDATE_BASELINE] != NULL, arguments);
    if (merge.excuses && open_result(&merge, merge.out)) {
        for (; i < arguments->rest_count && !merge.has_failed; i++) {
            merge.folder = arguments->rest[i];
            struct campaign_damage damage;

            if (!campaign_store_read(merge.folder, take_record, &merge, &damage, error) ||
                !merge_rules(&merge, error)) {
                cli_error("%s", error);
                break;
            }
            if (damage.count) {
                cli_error(
                    "%s/results.jsonl:%" PRIu64 ": %" PRIu64
                    " damaged line(s) left out; `drydock check --resume` plays their runs again",
                    merge.folder, damage.first, damage.count);
                merge.damaged += damage.count;
            }
        }
        if (merge.has_failed)
            status = CLI_INTERNAL;
        else if (i == arguments->rest_count)
            status = finish(&merge, arguments->values[OPTION_JSON] != NULL);
        if (status == CLI_FINE && merge.damaged)
            status = CLI_USAGE; /* what was left out may have been a finding */
        if (status <= CLI_FINDINGS &&
            !cli_write_reports(&merge.summary, merge.out, arguments->values[OPTION_JUNIT],
                               arguments->values[OPTION_SARIF], 0))
            status = CLI_USAGE;
    }
    campaign_store_close(merge.store);
    campaign_summary_fini(&merge.summary);
    excuses_free(merge.excuses);
    free(merge.known);
    return status;
}

const struct cli_verb cli_merge = {
    .name = "merge",
    .usage = "DIR... [options]",
    .summary = "Puts the results of several campaigns together, and compares what they share",
    .details = "Each DIR was written by drydock check --out. Shards of one campaign give the\n"
               "summary of the whole; two builds that played the same seeds have to agree on each\n"
               "of them, or the exit status is 1.",
    .options = options,
    .repeated_options = CLI_REPEATED(OPTION_ALLOW),
    .run = merge_folders,
};
