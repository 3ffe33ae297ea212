/*
 * Options: the rows are of one mind with themselves, and the values in words are those that are
 * taken.
 */
#include "workload/case/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void every_key_stands_once(void **state)
{
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++)
        assert_int_equal(workload_option_place(workload_options[i].key), i);
    assert_int_equal(workload_option_place("speed"), WORKLOAD_OPTION_COUNT);
}

static void every_row_has_what_its_kind_needs(void **state)
{
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        const struct workload_option_info *info = &workload_options[i];
        bool has_words =
            info->type == WORKLOAD_OPTION_CHOICE || info->type == WORKLOAD_OPTION_WORDS;

        assert_true(info->text[0] != '\0');
        assert_int_equal(info->words != NULL, has_words);
        assert_true(info->min <= info->max);
        assert_true(info->where.models != 0 && info->where.models <= WORKLOAD_IN_ALL);
    }
}

static void expect_taken(const char *key, const char *value, bool is_taken)
{
    struct workload_error error;

    if (workload_check_option(key, value, &error) != is_taken)
        fail_msg("option %s %s: %s", key, value, is_taken ? error.text : "is taken");
}

static void all_words_and_bounds_are_taken_and_no_others(void **state)
{
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        const struct workload_option_info *info = &workload_options[i];
        char text[32];

        for (unsigned j = 0; info->words && info->words[j]; j++)
            expect_taken(info->key, info->words[j], true);
        if (info->words)
            expect_taken(info->key, "no such word", false);
        if (info->type > WORKLOAD_OPTION_MEMORY)
            continue;
        snprintf(text, sizeof text, "%llu", (unsigned long long)info->min);
        expect_taken(info->key, text, true);
        snprintf(text, sizeof text, "%llu", (unsigned long long)info->max);
        expect_taken(info->key, text, true);
        if (info->min) {
            snprintf(text, sizeof text, "%llu", (unsigned long long)info->min - 1);
            expect_taken(info->key, text, false);
        }
    }
}

static void paths_take_blanks_and_letters_of_all_languages(void **state)
{
    char longest[252];

    memset(longest, 'a', sizeof longest);
    longest[250] = '\0';
    expect_taken("gpu", "./dry dock \xc3\xa4/#1 \"b\\.so", true);
    expect_taken("gpu", longest, true);
    longest[250] = 'a';
    longest[251] = '\0';
    expect_taken("gpu", longest, false);
    expect_taken("gpu", "", false);
    expect_taken("gpu", "a\nb", false);
    expect_taken("gpu", "a\x7f", false);
    expect_taken("profile", "dry dock", false);
}

static void expect_words(const char *key, const char *values, const char *runs)
{
    const struct workload_option_info *info = &workload_options[workload_option_place(key)];
    char text[256];

    workload_option_values(info, text, sizeof text);
    assert_string_equal(text, values);
    workload_option_runs(info, text, sizeof text);
    assert_string_equal(text, runs);
}

static void values_and_runs_are_told_in_words(void **state)
{
    expect_words("banks", "`no`, `yes`", "physical model");
    expect_words("system-memory", "4M to 1024G", "");
    expect_words("residency-part", "4K to 1G", "from WDDM 3.2 on");
    expect_words("native-fences", "0 to 64", "GpuMmu, from WDDM 3.1 on");
    expect_words("jitter", "1 and up", "");
    expect_words("profile", "a name", "");
    expect_words("driver", "a name or a path", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_stands_once),
        cmocka_unit_test(every_row_has_what_its_kind_needs),
        cmocka_unit_test(all_words_and_bounds_are_taken_and_no_others),
        cmocka_unit_test(paths_take_blanks_and_letters_of_all_languages),
        cmocka_unit_test(values_and_runs_are_told_in_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
