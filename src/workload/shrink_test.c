#include "workload/shrink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a candidate must have to show it: lines that contain these texts. */
struct wish {
    const char *texts[4];
    uint32_t tries_left;
};

static bool has_texts(void *context, const struct workload *candidate)
{
    const struct wish *wish = context;
    struct workload_error error;
    bool has_all = true;
    size_t size;
    char *text;

    assert_true(workload_print(candidate, &text, &size, &error));
    for (unsigned i = 0; i < 4 && wish->texts[i]; i++)
        has_all &= strstr(text, wish->texts[i]) != NULL;
    free(text);
    return has_all;
}

static struct workload *parse(const char *text)
{
    struct workload_error error;
    struct workload *workload;

    if (!workload_parse(text, strlen(text), "test", &workload, &error))
        fail_msg("%s", error.text);
    return workload;
}

static void expect_shrunk(const char *from, const struct wish *wish, const char *expected)
{
    struct workload_shrink shrink = {.context = (void *)wish, .shows = has_texts};
    struct workload *workload = parse(from), *small;
    struct workload_shrink_result result;
    struct workload_error error;
    size_t size;
    char *text;

    if (!workload_shrink(&shrink, workload, &small, &result, &error))
        fail_msg("%s", error.text);
    assert_true(workload_print(small, &text, &size, &error));
    if (!strstr(text, expected))
        fail_msg("'%s' is not in:\n%s", expected, text);
    assert_int_equal(result.lines_after, small->op_count);
    assert_true(result.is_finished);
    free(text);
    workload_free(small);
    workload_free(workload);
}

static const char many[] = "drydock-case 1\n"
                           "option seed 7\n"
                           "alloc a size=64K segments=local\n"
                           "alloc b size=64K\n"
                           "alloc c size=128K\n"
                           "write a\n"
                           "submit c0 duration=500 a:r b:w c:rw\n"
                           "wait all\n"
                           "read b\n"
                           "evict a b\n"
                           "submit c0 duration=100 c:w\n"
                           "read c\n";

static void only_what_is_needed_stays(void **state)
{
    const struct wish wish = {.texts = {"read b"}};

    expect_shrunk(many, &wish, "alloc b size=4K");
}

static void what_the_driver_finds_around_it_stays(void **state)
{
    const struct wish wish = {.texts = {"read b"}};
    struct workload_shrink_result result;
    struct workload_error error;
    struct workload *small,
        *workload =
            parse("drydock-case 1\noption surroundings value:X=1,memory:0=64K\noption seed 7\n"
                  "option allocation-data size:u64\nalloc a size=64K\nalloc b size=64K\nread b\n");

    assert_true(
        workload_shrink(&(struct workload_shrink){.shows = has_texts, .context = (void *)&wish},
                        workload, &small, &result, &error));
    assert_string_equal(workload_option(small, "surroundings"), "value:X=1,memory:0=64K");
    assert_string_equal(workload_option(small, "allocation-data"), "size:u64");
    assert_null(workload_option(small, "seed"));
    assert_int_equal(small->op_count, 2);
    workload_free(small);
    workload_free(workload);
}

static void what_belongs_together_stays_together(void **state)
{
    const struct wish wish = {.texts = {"submit c0", "b:w"}};

    expect_shrunk(many, &wish, "b:w");
}

static const char several[] =
    "drydock-case 1\n"
    "process p0\nprocess p1\n"
    "device d0 process=p0\ndevice d1 process=p1\n"
    "context c0 device=d0\ncontext c1 device=d1 node=1\n"
    "alloc a size=64K device=d1 flags=cpu-visible,cached,from-end-of-segment\n"
    "alloc b size=300000 device=d1 flags=cpu-visible\n"
    "write b\n"
    "submit c1 duration=7 b@4096+8192:rw=99\n"
    "wait c1\n"
    "submit c1 a:r\n";

static void contexts_devices_and_processes_become_one(void **state)
{
    const struct wish wish = {.texts = {"submit", ":rw"}};

    expect_shrunk(several, &wish,
                  "process p0\ndevice d0 process=p0\ncontext c1 device=d0 node=0\n"
                  "alloc b size=4K\nsubmit c1 b:rw\n");
}

static void allocations_become_one(void **state)
{
    const struct wish wish = {.texts = {"write", ":rw", ":r\n"}};

    expect_shrunk(several, &wish,
                  "alloc a size=4K\nwrite a\n"
                  "submit c1 a:rw a:r\n");
}

static void words_of_lists_go_one_by_one(void **state)
{
    const struct wish wish = {.texts = {"from-end-of-segment"}};

    expect_shrunk(several, &wish, "alloc a size=4K flags=from-end-of-segment\n");
}

/* Shown by an odd number of waits or none: one alone cannot go. */
static bool has_even_waits(void *context, const struct workload *candidate)
{
    unsigned waits = 0;
    bool has_read = false;

    for (uint32_t i = 0; i < candidate->op_count; i++) {
        waits += candidate->ops[i].kind == WORKLOAD_OP_WAIT;
        has_read |= candidate->ops[i].kind == WORKLOAD_OP_READ;
    }
    return has_read && waits % 2 == 0;
}

static void lines_that_only_go_together_go_together(void **state)
{
    const struct workload_shrink shrink = {.shows = has_even_waits};
    struct workload *workload = parse("drydock-case 1\nalloc a size=4K\nwait all\nread a\n"
                                      "submit c0 a:r\nwait all\nread a\n"),
                    *small;
    struct workload_shrink_result result;
    struct workload_error error;

    assert_true(workload_shrink(&shrink, workload, &small, &result, &error));
    assert_int_equal(result.lines_after, 2);
    workload_free(small);
    workload_free(workload);
}

static void expect_ops(bool (*shows)(void *context, const struct workload *candidate),
                       const char *from, uint32_t expected)
{
    const struct workload_shrink shrink = {.shows = shows};
    struct workload *workload = parse(from), *small;
    struct workload_shrink_result result;
    struct workload_error error;

    assert_true(workload_shrink(&shrink, workload, &small, &result, &error));
    assert_int_equal(result.lines_after, expected);
    assert_true(shows(NULL, small));
    workload_free(small);
    workload_free(workload);
}

/* Shown when more is used than local memory holds. */
static bool has_pressure(void *context, const struct workload *candidate)
{
    uint64_t used = 0;

    for (uint64_t i = 0; i < candidate->op_count; i++) {
        for (uint32_t r = 0; r < candidate->ops[i].ref_count; r++)
            used += candidate->refs[candidate->ops[i].first_ref + r].size;
    }
    return workload_option(candidate, "local-memory") &&
           used > workload_option_number(candidate, "local-memory", 0);
}

static void less_memory_needs_fewer_allocations(void **state)
{
    expect_ops(has_pressure,
               "drydock-case 1\noption local-memory 5M\n"
               "alloc a size=1M\nalloc b size=1M\nalloc c size=1M\nalloc d size=2M\n"
               "submit c0 a:r\nsubmit c0 b:rw c:r\nwait c0\nsubmit c0 d:r a@4096+8192:w\n",
               2);
}

/* What does not fit would not fit into less either, and then for another reason. */
static void memory_stays_where_sizes_are_what_is_shown(void **state)
{
    const struct workload_shrink shrink = {.shows = has_pressure, .keeps_sizes = true};
    struct workload *workload = parse("drydock-case 1\noption local-memory 5M\n"
                                      "alloc a size=2M\nalloc b size=2M\nalloc c size=2M\n"
                                      "submit c0 a:r b:rw\nwait c0\nsubmit c0 c:r\n"),
                    *small;
    struct workload_shrink_result result;
    struct workload_error error;

    assert_true(workload_shrink(&shrink, workload, &small, &result, &error));
    assert_int_equal(workload_option_number(small, "local-memory", 0), 5 << 20);
    for (uint32_t i = 0; i < small->allocation_count; i++)
        assert_true(small->allocations[i].size <= 2 << 20);
    workload_free(small);
    workload_free(workload);
}

/* Shown as long as something writes, something reads and something else reads and writes. */
static bool has_all_accesses(void *context, const struct workload *candidate)
{
    unsigned seen = 0;

    for (uint32_t i = 0; i < candidate->ref_count; i++)
        seen |= 1u << candidate->refs[i].access;
    return seen == (1u << 1 | 1u << 2 | 1u << 3);
}

static void submissions_become_one(void **state)
{
    expect_ops(has_all_accesses,
               "drydock-case 1\nalloc a size=4K\nalloc b size=4K\nalloc c size=4K\n"
               "submit c0 duration=5 a:r\nwait c0\nsubmit c0 b:rw=7\nsubmit c0 c:w\n",
               2);
}

static bool has_two_sizes(void *context, const struct workload *candidate)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < candidate->allocation_count; i++)
        size += candidate->allocations[i].size;
    return size >= 1000 * 1024;
}

static void an_allocation_takes_over_the_size_of_another(void **state)
{
    expect_ops(has_two_sizes,
               "drydock-case 1\nalloc a size=600K\nalloc b size=64K\nalloc c size=500K\n", 1);
}

static void a_case_that_does_not_show_it_is_said(void **state)
{
    const struct wish wish = {.texts = {"nowhere"}};
    struct workload_shrink shrink = {.context = (void *)&wish, .shows = has_texts};
    struct workload *workload = parse(many), *small;
    struct workload_shrink_result result;
    struct workload_error error;

    assert_false(workload_shrink(&shrink, workload, &small, &result, &error));
    assert_null(small);
    assert_non_null(strstr(error.text, "does not show it"));
    workload_free(workload);
}

static void tries_have_a_limit(void **state)
{
    const struct wish wish = {.texts = {"read b"}};
    struct workload_shrink shrink = {.context = (void *)&wish, .shows = has_texts, .most_tries = 3};
    struct workload *workload = parse(many), *small;
    struct workload_shrink_result result;
    struct workload_error error;

    assert_true(workload_shrink(&shrink, workload, &small, &result, &error));
    assert_int_equal(result.tries, 3);
    assert_false(result.is_finished);
    assert_true(has_texts((void *)&wish, small));
    workload_free(small);
    workload_free(workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_needed_stays),
        cmocka_unit_test(what_the_driver_finds_around_it_stays),
        cmocka_unit_test(what_belongs_together_stays_together),
        cmocka_unit_test(contexts_devices_and_processes_become_one),
        cmocka_unit_test(allocations_become_one),
        cmocka_unit_test(words_of_lists_go_one_by_one),
        cmocka_unit_test(lines_that_only_go_together_go_together),
        cmocka_unit_test(less_memory_needs_fewer_allocations),
        cmocka_unit_test(memory_stays_where_sizes_are_what_is_shown),
        cmocka_unit_test(submissions_become_one),
        cmocka_unit_test(an_allocation_takes_over_the_size_of_another),
        cmocka_unit_test(a_case_that_does_not_show_it_is_said),
        cmocka_unit_test(tries_have_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
