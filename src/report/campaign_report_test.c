/*
 * Campaign folders: lines that come back as they went, and what is left of a campaign that was
 * ended.
 */
#include "report/campaign_report.h"
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
    uint64_t runs = 0;
    unsigned known = 0;
    FILE *file;

    assert_non_null(mkdtemp(folder));
    assert_true(campaign_store_open(folder, &options, false, NULL, NULL, &store, error));
    assert_true(campaign_store_add(store, &record, error));
    record = some_record(6);
    assert_true(campaign_store_add(store, &record, error));
    counts.evaluated[RULE_PB_004] = 10;
    assert_true(campaign_store_count_rules(store, &counts, 2, error));
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
    assert_true(campaign_store_count_rules(store, &counts, 1, error));
    assert_int_equal(campaign_store_rules(store)->evaluated[RULE_PB_004], 30);
    campaign_store_close(store);
    known = 0;
    /* Counts of rules go on as well. */
    assert_true(report_rule_counts_load(folder, &counts, &runs, error));
    assert_int_equal(counts.evaluated[RULE_PB_004], 30);
    assert_int_equal(runs, 3);
    assert_true(campaign_store_read(folder, count_all, &known, error));
    assert_int_equal(known, 3);

    /* Each finding has a text and its case. */
    snprintf(name, sizeof name, "%s/findings/iommu-7.txt", folder);
    assert_int_equal(access(name, R_OK), 0);
    snprintf(name, sizeof name, "%s/findings/iommu-7.case", folder);
    assert_int_equal(access(name, R_OK), 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_comes_back_from_its_line),
        cmocka_unit_test(a_folder_goes_on_where_it_was_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
