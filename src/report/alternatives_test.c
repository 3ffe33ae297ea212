#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/alternatives.h"
#include "report/rules_report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct coverage_arm_counts some_counts(void)
{
    struct coverage_arm_counts counts = {{0}};

    for (unsigned i = 0; i < coverage_arm_count(); i += 3)
        counts.runs[i] = i + 1;
    return counts;
}

static void counts_come_back_from_their_json(void **state)
{
    struct coverage_arm_counts counts = some_counts(), again = some_counts();
    json_t *json = report_alternatives_json(&counts), *others = NULL;

    assert_int_equal(json_object_size(json), coverage_arm_counts_seen(&counts));
    assert_true(json_object_size(json) > 50);
    assert_true(report_alternatives_parse(json, &again, &others));
    assert_null(others);
    for (unsigned i = 0; i < COVERAGE_ARMS_MOST; i++)
        assert_int_equal(again.runs[i], 2 * counts.runs[i]);
    assert_true(report_alternatives_parse(NULL, &again, NULL));
    json_decref(json);
}

static void those_of_other_versions_are_kept_apart(void **state)
{
    struct coverage_arm_counts counts = {{0}};
    json_t *json = json_pack("{s:i, s:i}", "TRANSFER: a new way", 4, "TRANSFER: no allocation", 5);
    json_t *others = NULL;

    assert_true(report_alternatives_parse(json, &counts, &others));
    assert_int_equal(coverage_arm_counts_seen(&counts), 1);
    assert_int_equal(json_object_size(others), 1);
    assert_int_equal(json_integer_value(json_object_get(others, "TRANSFER: a new way")), 4);
    json_decref(json);
    json_decref(others);
}

static void what_counts_nothing_is_refused(void **state)
{
    static const char *const texts[] = {"[1]", "{\"TRANSFER: no allocation\": -1}",
                                        "{\"x\": \"y\"}", "{\"x\": 1.5}"};
    struct coverage_arm_counts counts = {{0}};

    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json_t *json = json_loads(texts[i], 0, NULL);

        assert_non_null(json);
        assert_false(report_alternatives_parse(json, &counts, NULL));
        json_decref(json);
    }
    assert_int_equal(coverage_arm_counts_seen(&counts), 0);
}

static void the_list_has_all_of_them(void **state)
{
    struct coverage_arm_counts counts = {{0}};
    json_t *list, *one;
    size_t i, reasons = 0;

    counts.runs[0] = 7;
    list = report_alternatives_list(&counts);
    assert_int_equal(json_array_size(list), coverage_arm_count());
    json_array_foreach(list, i, one)
    {
        assert_true(strlen(json_string_value(json_object_get(one, "structure"))) > 3);
        assert_true(strlen(json_string_value(json_object_get(one, "name"))) > 1);
        assert_true(json_is_string(json_object_get(one, "condition")));
        assert_true(strlen(json_string_value(json_object_get(one, "source"))) > 4);
        assert_int_equal(json_integer_value(json_object_get(one, "runs")), i ? 0 : 7);
        reasons += json_string_value(json_object_get(one, "reason"))[0] != '\0';
    }
    assert_true(reasons > 0 && reasons < coverage_arm_count() / 8); /* exceptions */
    json_decref(list);
}

static void an_older_folder_has_none_and_a_damaged_one_is_told(void **state)
{
    static const struct {
        const char *json;
        bool is_fine;
        unsigned seen;
    } files[] = {{"{\"rules\": {}, \"runs\": 1}", true, 0},
                 {"{\"alternatives\": {\"TRANSFER: no allocation\": 2}}", true, 1},
                 {"{\"alternatives\": 5}", false, 0},
                 {"{\"alternatives\":", false, 0}};
    char folder[] = "/tmp/alternatives-XXXXXX", path[64];

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/rules.json", folder);
    for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct coverage_arm_counts counts = {{0}};
        FILE *file = fopen(path, "w");

        assert_non_null(file);
        fputs(files[i].json, file);
        fclose(file);
        assert_int_equal(report_alternatives_load(folder, &counts), files[i].is_fine);
        assert_int_equal(coverage_arm_counts_seen(&counts), files[i].seen);
    }
    unlink(path);
    rmdir(folder);
}

/* A folder that a newer version has begun loses nothing when this one goes on with it. */
static void those_of_other_versions_stay_in_the_file(void **state)
{
    char folder[] = "/tmp/alternatives-XXXXXX", path[64], error[512];
    struct report_rule_file rules;
    FILE *file;
    json_t *json;
    int descriptor;

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/rules.json", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("{\"rules\": {}, \"runs\": 1, \"alternatives\": {\"TRANSFER: a new way\": 4, "
          "\"TRANSFER: no allocation\": 5}}",
          file);
    fclose(file);
    descriptor = open(folder, O_RDONLY | O_DIRECTORY);
    assert_true(report_rule_file_read(descriptor, &rules, error));
    assert_true(report_rule_file_write(descriptor, &rules, error));
    report_rule_file_fini(&rules);
    close(descriptor);
    json = json_load_file(path, 0, NULL);
    assert_int_equal(json_object_size(json_object_get(json, "alternatives")), 2);
    json_decref(json);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_come_back_from_their_json),
        cmocka_unit_test(those_of_other_versions_are_kept_apart),
        cmocka_unit_test(what_counts_nothing_is_refused),
        cmocka_unit_test(the_list_has_all_of_them),
        cmocka_unit_test(those_of_other_versions_stay_in_the_file),
        cmocka_unit_test(an_older_folder_has_none_and_a_damaged_one_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
