/*
 * Campaign folders: lines that come back as they went, and what is left of a campaign that was
 * ended.
 */
#include "report/alternatives.h"
#include "report/campaign/campaign_report.h"
#include "report/rules_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct campaign_record some_record(uint64_t seed)
{
    return (struct campaign_record){
        .seed = seed,
        .driver = "ref",
        .model = CAMPAIGN_IOMMU,
        .wddm = 30,
        .outcome = CAMPAIGN_FINDINGS,
        .digest = UINT64_C(0xfedcba9876543210) + seed,
        .operations = 300,
        .pages_checked = 12345,
        .mismatches = 1,
        .finding_total = 7,
        .finding_count = 1,
        .findings = {{.kind = "content",
                      .rule = "PB-004",
                      .line = 12,
                      .text = "a \"text\"\nof two",
                      .detail = {.event = 4711,
                                 .where = "DxgkDdiBuildPagingBuffer(FILL)",
                                 .objects = "allocation a3",
                                 .arguments = "DmaSize  1\nOperation  1\n",
                                 .argument = {"DmaSize", "1", "a multiple of 4"},
                                 .bytes = "00 11"}}},
        .setup = "wddm 3.0, no patch",
        .detail = "said before",
    };
}

static const struct campaign_options options = {
    .driver = "ref", .model = CAMPAIGN_ALL_MODELS, .seed_count = 9, .shard_count = 1, .jobs = 1};

static void a_record_comes_back_from_its_line(void **state)
{
    struct campaign_record record = some_record(41), back;
    char *line = campaign_record_json(&record);

    assert_non_null(line);
    assert_null(strchr(line, '\n'));
    assert_non_null(strstr(line, "--first-seed 41"));
    assert_true(campaign_record_parse(line, &back));
    assert_memory_equal(&record, &back, sizeof record);
    line[strlen(line) / 2] = '\0';
    assert_false(campaign_record_parse(line, &back));
    assert_false(campaign_record_parse("{}", &back));
    free(line);
}

static void count_known(void *context, const struct campaign_record *record)
{
    ++*(unsigned *)context;
}

static bool count_all(void *context, const struct campaign_record *record)
{
    ++*(unsigned *)context;
    return true;
}

static void a_folder_goes_on_where_it_was_cut_off(void **state)
{
    char folder[] = "/tmp/campaign-XXXXXX", name[64], command[96], error[512];
    struct campaign_record record = some_record(5);
    struct campaign_options other = options;
    struct campaign_store *store;
    struct rule_counts counts = {0};
    struct coverage_arm_counts arms = {{0}};
    struct campaign_damage damage;
    uint64_t runs = 0;
    unsigned known = 0;
    FILE *file;

    assert_non_null(mkdtemp(folder));
    assert_true(campaign_store_open(folder, &options, false, NULL, NULL, &store, error));
    assert_true(campaign_store_add(store, &record, error));
    record = some_record(6);
    assert_true(campaign_store_add(store, &record, error));
    counts.evaluated[RULE_PB_004] = 10;
    arms.runs[3] = 2;
    assert_true(campaign_store_count_rules(store, &counts, &arms, 2, error));
    campaign_store_close(store);
    snprintf(name, sizeof name, "%s/results.jsonl", folder);
    file = fopen(name, "a");
    fputs("{\"seed\":7,\"half", file);
    fclose(file);

    assert_false(campaign_store_open(folder, &options, false, NULL, NULL, &store, error));
    assert_non_null(strstr(error, "--resume"));
    other.model = CAMPAIGN_PHYSICAL;
    assert_false(campaign_store_open(folder, &other, true, NULL, NULL, &store, error));
    assert_non_null(strstr(error, "another campaign"));

    assert_true(campaign_store_open(folder, &options, true, count_known, &known, &store, error));
    assert_int_equal(known, 2);
    assert_true(campaign_store_has(store, 5, ""));
    assert_true(campaign_store_has(store, 6, ""));
    assert_false(campaign_store_has(store, 7, ""));
    assert_false(campaign_store_has(store, 5, "some.case"));
    record = some_record(7);
    assert_true(campaign_store_add(store, &record, error));
    counts.evaluated[RULE_PB_004] = 20;
    arms.runs[3] = 1;
    arms.runs[4] = 1;
    assert_true(campaign_store_count_rules(store, &counts, &arms, 1, error));
    assert_int_equal(campaign_store_rules(store)->evaluated[RULE_PB_004], 30);
    assert_int_equal(campaign_store_arms(store)->runs[3], 3);
    campaign_store_close(store);
    known = 0;
    /* Counts of rules go on as well. */
    assert_true(report_rule_counts_load(folder, &counts, &runs, error));
    assert_int_equal(counts.evaluated[RULE_PB_004], 30);
    assert_int_equal(runs, 3);
    memset(&arms, 0, sizeof arms);
    assert_true(report_alternatives_load(folder, &arms));
    assert_true(arms.runs[3] == 3 && arms.runs[4] == 1 && coverage_arm_counts_seen(&arms) == 2);
    assert_true(campaign_store_read(folder, count_all, &known, &damage, error));
    assert_int_equal(known, 3);
    assert_int_equal(damage.count, 0);

    /* Each finding has a text and its case. */
    snprintf(name, sizeof name, "%s/findings/iommu-7.txt", folder);
    assert_int_equal(access(name, R_OK), 0);
    snprintf(name, sizeof name, "%s/findings/iommu-7.case", folder);
    assert_int_equal(access(name, R_OK), 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* A folder of records 1 to 4, whose rules are counted. */
static void make_folder(char folder[])
{
    const struct rule_counts counts = {.evaluated = {[RULE_PB_004] = 40}};
    struct campaign_store *store;
    char error[512];

    assert_non_null(mkdtemp(folder));
    assert_true(campaign_store_open(folder, &options, false, NULL, NULL, &store, error));
    for (unsigned i = 1; i <= 4; i++) {
        struct campaign_record record = some_record(i);

        assert_true(campaign_store_add(store, &record, error));
    }
    assert_true(campaign_store_count_rules(store, &counts, NULL, 4, error));
    campaign_store_close(store);
}

static void remove_folder(const char *folder)
{
    char command[96];

    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static char *read_text(const char *folder, const char *name)
{
    char path[128], *text = calloc(1, 65536);
    FILE *file;

    snprintf(path, sizeof path, "%s%s%s", folder, name[0] ? "/" : "", name);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, 65535, file) < 65535);
    fclose(file);
    return text;
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void a_changed_line_costs_its_own_run(void **state)
{
    char folder[] = "/tmp/campaign-XXXXXX", error[512], *text, *aside, *second;
    struct campaign_damage damage;
    struct campaign_store *store;
    struct campaign_record record = some_record(2);
    unsigned known = 0;

    make_folder(folder);
    text = read_text(folder, "results.jsonl");
    second = strchr(text, '\n') + 1;
    *strstr(second, "12345") = '9'; /* pages checked, of seed 2 */
    write_text(folder, "results.jsonl", text);

    assert_true(campaign_store_read(folder, count_all, &known, &damage, error));
    assert_int_equal(known, 3);
    assert_int_equal(damage.count, 1);
    assert_int_equal(damage.first, 2);

    known = 0;
    assert_true(campaign_store_open(folder, &options, true, count_known, &known, &store, error));
    assert_int_equal(known, 3);
    assert_int_equal(campaign_store_damage(store)->count, 1);
    assert_true(campaign_store_has(store, 1, ""));
    assert_false(campaign_store_has(store, 2, ""));
    assert_true(campaign_store_has(store, 4, ""));
    assert_true(campaign_store_add(store, &record, error));
    campaign_store_close(store);

    /* Nothing is lost: the line lies beside, and the results are whole. */
    aside = read_text(folder, "results.aside");
    assert_non_null(strstr(aside, "92345"));
    known = 0;
    assert_true(campaign_store_read(folder, count_all, &known, &damage, error));
    assert_int_equal(known, 4);
    assert_int_equal(damage.count, 0);
    free(aside);
    free(text);
    remove_folder(folder);
}

static void append_line(const char *path, const char *line)
{
    FILE *file = fopen(path, "a");

    assert_non_null(file);
    fprintf(file, "%s\n", line);
    fclose(file);
}

static void runs_whose_rules_were_lost_are_played_again(void **state)
{
    char folder[] = "/tmp/campaign-XXXXXX", error[512], *rules, *aside;
    const struct rule_counts counts = {.evaluated = {[RULE_PB_004] = 10}};
    struct campaign_record record = some_record(5);
    struct campaign_store *store;
    unsigned known = 0;

    make_folder(folder);
    rules = read_text(folder, "rules.json");
    assert_true(campaign_store_open(folder, &options, true, count_known, &known, &store, error));
    assert_int_equal(known, 4);
    assert_true(campaign_store_add(store, &record, error));
    assert_true(campaign_store_count_rules(store, &counts, NULL, 1, error));
    campaign_store_close(store);

    /* As if the process had been killed before it saved the counts. */
    write_text(folder, "rules.json", rules);
    known = 0;
    assert_true(campaign_store_open(folder, &options, true, count_known, &known, &store, error));
    assert_int_equal(known, 4);
    assert_false(campaign_store_has(store, 5, ""));
    assert_int_equal(campaign_store_uncounted(store), 1);
    aside = read_text(folder, "results.aside");
    assert_non_null(strstr(aside, "\"seed\":5"));
    free(aside);
    assert_true(campaign_store_add(store, &record, error));
    assert_true(campaign_store_count_rules(store, &counts, NULL, 1, error));
    assert_int_equal(campaign_store_rules(store)->evaluated[RULE_PB_004], 50);
    record = some_record(6);
    assert_true(campaign_store_add(store, &record, error));
    campaign_store_close(store); /* before the rules of the last run were counted */
    known = 0;
    assert_true(campaign_store_open(folder, &options, true, count_known, &known, &store, error));
    assert_int_equal(known, 5);
    assert_false(campaign_store_has(store, 6, ""));
    campaign_store_close(store);
    free(rules);
    remove_folder(folder);
}

/* Folders of others: without rules.json, without checksums, without campaign.json. */
static void records_of_a_strange_folder_stay(void **state)
{
    char folder[] = "/tmp/campaign-XXXXXX", error[512], path[64], *json;
    struct campaign_record record = some_record(77);
    struct campaign_store *store;
    unsigned known = 0;

    make_folder(folder);
    snprintf(path, sizeof path, "%s/rules.json", folder);
    unlink(path);
    json = campaign_record_json(&record);
    snprintf(path, sizeof path, "%s/results.jsonl", folder);
    append_line(path, json);
    free(json);
    assert_true(campaign_store_open(folder, &options, true, count_known, &known, &store, error));
    assert_int_equal(known, 5);
    assert_true(campaign_store_has(store, 77, ""));
    campaign_store_close(store);
    snprintf(path, sizeof path, "%s/campaign.json", folder);
    unlink(path);
    assert_false(campaign_store_open(folder, &options, false, NULL, NULL, &store, error));
    assert_non_null(strstr(error, "results.jsonl"));
    remove_folder(folder);
}

static void a_folder_has_one_campaign_at_a_time(void **state)
{
    char folder[] = "/tmp/campaign-XXXXXX", error[512];
    struct campaign_store *first, *second;

    make_folder(folder);
    assert_true(campaign_store_open(folder, &options, true, NULL, NULL, &first, error));
    assert_false(campaign_store_open(folder, &options, true, NULL, NULL, &second, error));
    assert_non_null(strstr(error, "in use by another drydock"));
    campaign_store_close(first);
    assert_true(campaign_store_open(folder, &options, true, NULL, NULL, &second, error));
    campaign_store_close(second);
    remove_folder(folder);
}

/* Each file of the folder in turn leads to one of the user's. */
static void links_in_a_folder_lead_nowhere(void **state)
{
    static const char *const names[] = {"results.jsonl", "campaign.json", "findings",
                                        "results.partial", "rules.json.partial"};
    char victim[] = "/tmp/campaign-victim-XXXXXX", error[512], path[128], *text;
    struct campaign_record record = some_record(9);
    int file = mkstemp(victim);

    assert_true(file >= 0);
    assert_int_equal(write(file, "mine\n", 5), 5);
    close(file);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char folder[] = "/tmp/campaign-XXXXXX";
        struct campaign_store *store = NULL;
        struct campaign_damage damage;
        unsigned count = 0;
        bool is_open;

        make_folder(folder);
        snprintf(path, sizeof path, "rm -rf %s/%s", folder, names[i]);
        assert_int_equal(system(path), 0);
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(symlink(i == 2 ? "/tmp" : victim, path), 0);
        is_open = campaign_store_open(folder, &options, true, NULL, NULL, &store, error);
        assert_int_equal(is_open, i >= 3); /* partial files are made anew */
        if (is_open)
            assert_true(campaign_store_add(store, &record, error));
        campaign_store_close(store);
        if (i == 0)
            assert_false(campaign_store_read(folder, count_all, &count, &damage, error));
        remove_folder(folder);
        text = read_text(victim, "");
        assert_string_equal(text, "mine\n");
        free(text);
    }
    assert_int_equal(access("/tmp/iommu-9.txt", F_OK), -1);
    unlink(victim);
}

static void a_rule_is_no_path(void **state)
{
    struct campaign_record record = some_record(1), back;
    char *line;

    snprintf(record.findings[0].rule, sizeof record.findings[0].rule, "../../X");
    line = campaign_line(&record);
    assert_false(campaign_line_parse(line, &back));
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_comes_back_from_its_line),
        cmocka_unit_test(a_folder_goes_on_where_it_was_cut_off),
        cmocka_unit_test(a_changed_line_costs_its_own_run),
        cmocka_unit_test(runs_whose_rules_were_lost_are_played_again),
        cmocka_unit_test(records_of_a_strange_folder_stay),
        cmocka_unit_test(a_folder_has_one_campaign_at_a_time),
        cmocka_unit_test(links_in_a_folder_lead_nowhere),
        cmocka_unit_test(a_rule_is_no_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
