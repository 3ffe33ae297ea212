/*
 * JSON that parses and has every key, numbers that people read, folders that are whole or absent.
 */
#include "report/report.h"

#include "base/bits.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void fill(struct run_result *result)
{
    memset(result, 0, sizeof *result);
    run_config_defaults(&result->config);
    result->config.local_bytes = 40 * GiB;
    result->config.policy = RUN_POLICY_TURNS;
    snprintf(result->case_name, sizeof result->case_name, "a \"quoted\" name");
    result->digest = 0xabc;
    result->virtual_time_ns = 123456789;
    result->slowdown = 1.5;
    result->statistics.operations[0] = 7;
    result->statistics.moved_in_bytes = UINT64_C(1) << 40;
    result->pages_checked = 42;
    result->mismatches = 1;
    run_result_report(result, RUN_FINDING_CONTENT, 12, 99, "page %d is wrong", 5);
}

static const json_t *member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!value)
        fail_msg("key '%s' is missing", key);
    return value;
}

static void json_has_the_keys_that_were_promised(void **state)
{
    static const char *const keys[] = {
        "driver",
        "model",
        "seed",
        "digest",
        "wall_seconds",
        "virtual_time_ns",
        "slowdown",
        "evictions",
        "moved_in_bytes",
        "moved_out_bytes",
        "content",
        "steps",
        "paging_operations",
        "peak_process_bytes",
        "findings",
    };
    struct run_result result;
    char *text;
    json_t *json;
    json_error_t error;

    fill(&result);
    text = report_run_json(&result, NULL, 1);
    assert_non_null(text);
    json = json_loads(text, 0, &error);
    if (!json)
        fail_msg("line %d: %s", error.line, error.text);
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++)
        member(json, keys[i]);
    assert_string_equal(json_string_value(member(json, "digest")), "0000000000000abc");
    assert_string_equal(json_string_value(member(json, "case")), "a \"quoted\" name");
    assert_int_equal(json_integer_value(member(json, "moved_in_bytes")), INT64_C(1) << 40);
    assert_int_equal(json_integer_value(member(member(json, "content"), "pages_checked")), 42);
    assert_int_equal(json_integer_value(member(member(json, "content"), "mismatches")), 1);
    assert_int_equal(json_integer_value(member(member(json, "paging_operations"), "TRANSFER")), 7);
    assert_int_equal(json_array_size(member(json, "findings")), 1);
    assert_string_equal(json_string_value(member(member(json, "options"), "policy")), "turns");
    assert_null(json_object_get(member(json, "options"), "model"));
    json_decref(json);
    free(text);
}

static void several_runs_are_a_document_with_each(void **state)
{
    struct run_result results[2];
    char *text;
    json_t *json;

    fill(&results[0]);
    fill(&results[1]);
    results[1].config.model = RUN_PHYSICAL;
    text = report_run_json(results, NULL, 2);
    json = json_loads(text, 0, NULL);
    assert_string_equal(json_string_value(member(json, "schema")), "runs");
    assert_int_equal(json_array_size(member(json, "runs")), 2);
    assert_string_equal(json_string_value(member(json_array_get(member(json, "runs"), 1), "model")),
                        "physical");
    json_decref(json);
    free(text);
}

static void a_name_that_is_no_text_does_not_break_json(void **state)
{
    struct run_result result;
    char *text;
    json_t *json;

    fill(&result);
    strcpy(result.case_name, "\xff\xfe");
    text = report_run_json(&result, NULL, 1);
    json = json_loads(text, 0, NULL);
    assert_non_null(json);
    json_decref(json);
    free(text);
}

static void numbers_read_well(void **state)
{
    char text[REPORT_NUMBER_BYTES];

    assert_string_equal(report_bytes(text, 640), "640 B");
    assert_string_equal(report_bytes(text, 1536), "1.50 KiB");
    assert_string_equal(report_bytes(text, 40 * GiB), "40 GiB");
    assert_string_equal(report_count(text, 0), "0");
    assert_string_equal(report_count(text, 999), "999");
    assert_string_equal(report_count(text, 1234567), "1,234,567");
    assert_string_equal(report_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(report_time(text, 1500), "1.500 us");
    assert_string_equal(report_time(text, 2500000000), "2.500 s");
}

static void findings_are_counted_when_they_are_not_kept(void **state)
{
    struct run_result result;

    fill(&result);
    for (unsigned i = 0; i < 2 * RUN_MAX_FINDINGS; i++)
        run_result_report(&result, RUN_FINDING_DRIVER, 0, 0, "again");
    assert_int_equal(result.finding_count, RUN_MAX_FINDINGS);
    assert_int_equal(result.finding_totals[RUN_FINDING_DRIVER], 2 * RUN_MAX_FINDINGS);
}

/* ---- Folders --------------------------------------------------------------------------------- */

static bool exists(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0;
}

static int enter_scratch_folder(void **state)
{
    char path[] = "/tmp/drydock-report-XXXXXX";

    if (!mkdtemp(path) || chdir(path) != 0)
        return -1;
    *state = strdup(path);
    return 0;
}

static int leave_scratch_folder(void **state)
{
    int done = chdir("/") == 0 && rmdir(*state) == 0; /* empty: tests clean up */

    free(*state);
    return done ? 0 : -1;
}

static void remove_run(const char *path)
{
    char name[256];

    snprintf(name, sizeof name, "%s/run.json", path);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(rmdir(path), 0);
}

static void a_folder_appears_whole(void **state)
{
    struct report_folder folder;
    char error[512];

    assert_true(report_folder_begin(&folder, "runs/one", error));
    assert_true(report_folder_write(&folder, "run.json", "{}", error));
    assert_false(exists("runs/one"));
    assert_true(report_folder_end(&folder, error));
    assert_true(exists("runs/one/run.json"));
    assert_false(exists(folder.partial));

    /* Again: the old one is replaced. */
    assert_true(report_folder_begin(&folder, "runs/one/", error));
    assert_true(report_folder_write(&folder, "run.json", "{1}", error));
    assert_true(report_folder_end(&folder, error));
    remove_run("runs/one");
    assert_int_equal(rmdir("runs"), 0);
}

static void an_abandoned_folder_leaves_nothing(void **state)
{
    struct report_folder folder;
    char error[512];

    assert_true(report_folder_begin(&folder, "deep/er/gone", error));
    assert_true(report_folder_write(&folder, "events.txt", "x", error));
    report_folder_abandon(&folder);
    assert_false(exists("deep"));
    assert_false(exists(folder.partial));
}

static void a_folder_that_is_not_ours_is_left_alone(void **state)
{
    struct report_folder folder;
    char error[512];
    FILE *file;

    assert_int_equal(mkdir("theirs", 0777), 0);
    file = fopen("theirs/letter", "w");
    assert_non_null(file);
    fclose(file);
    assert_false(report_folder_begin(&folder, "theirs", error));
    assert_non_null(strstr(error, "theirs"));
    assert_true(exists("theirs/letter"));
    assert_int_equal(unlink("theirs/letter"), 0);
    assert_int_equal(rmdir("theirs"), 0);
}

/* A link in the place of the folder, before and during the run: what it leads to stays as it is. */
static void a_link_is_not_followed(void **state)
{
    struct report_folder folder;
    char error[512];

    assert_true(report_folder_begin(&folder, "theirs", error));
    assert_true(report_folder_write(&folder, "run.json", "{}", error));
    assert_true(report_folder_end(&folder, error));
    assert_int_equal(symlink("theirs", "link"), 0);
    assert_false(report_folder_begin(&folder, "link/", error));
    assert_non_null(strstr(error, "'link' is a symbolic link"));
    assert_int_equal(unlink("link"), 0);

    assert_true(report_folder_begin(&folder, "link", error));
    assert_true(report_folder_write(&folder, "run.json", "{1}", error));
    assert_int_equal(symlink("theirs", "link"), 0);
    assert_false(report_folder_end(&folder, error));
    assert_non_null(strstr(error, "'link' is a symbolic link"));
    assert_false(exists(folder.partial));
    assert_int_equal(unlink("link"), 0);
    remove_run("theirs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_the_keys_that_were_promised),
        cmocka_unit_test(several_runs_are_a_document_with_each),
        cmocka_unit_test(a_name_that_is_no_text_does_not_break_json),
        cmocka_unit_test(numbers_read_well),
        cmocka_unit_test(findings_are_counted_when_they_are_not_kept),
        cmocka_unit_test(a_folder_appears_whole),
        cmocka_unit_test(an_abandoned_folder_leaves_nothing),
        cmocka_unit_test(a_folder_that_is_not_ours_is_left_alone),
        cmocka_unit_test(a_link_is_not_followed),
    };

    return cmocka_run_group_tests(tests, enter_scratch_folder, leave_scratch_folder);
}
