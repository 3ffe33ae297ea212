/*
 * Which finding of a run is the cause of the others.
 */
#include "bench/run/run_result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static int make_result(void **state)
{
    *state = calloc(1, sizeof(struct run_result));
    return *state ? 0 : -1;
}

static int free_result(void **state)
{
    free(*state);
    return 0;
}

/* A finding that is told in the call `seen` about the call `made`, 0: about none. */
static struct run_finding *add(struct run_result *result, enum run_finding_kind kind,
                               const char *rule, const char *where, uint64_t made, uint64_t seen)
{
    struct run_finding *finding;

    result->calls = (struct check_calls){seen, seen};
    finding = run_result_report(result, kind, 0, 0, "text");
    assert_non_null(finding);
    snprintf(finding->rule, sizeof finding->rule, "%s", rule);
    snprintf(finding->detail.where, sizeof finding->detail.where, "%s", where);
    finding->detail.event = made;
    return finding;
}

#define BUILD   "DxgkDdiBuildPagingBuffer(FILL).pDmaBuffer"
#define DECLARE "DxgkDdiQueryAdapterInfo.pOutputData"

static void the_first_breach_is_the_cause_of_the_rest(void **state)
{
    struct run_result *result = *state;
    const struct run_finding *first = add(result, RUN_FINDING_DRIVER, "PB-004", BUILD, 5, 5);
    const struct run_finding *fault = add(result, RUN_FINDING_FAULT, "", "", 0, 9);
    const struct run_finding *ours = add(result, RUN_FINDING_MANAGER, "PT-013", BUILD, 12, 12);

    run_result_find_causes(result);
    assert_int_equal(first->consequence_of, 0);
    assert_int_equal(fault->consequence_of, 1);
    assert_int_equal(ours->consequence_of, 1);
    assert_int_equal(result->consequence_count, 2);
}

static void the_call_of_the_mistake_counts_and_not_that_which_saw_it(void **state)
{
    struct run_result *result = *state;
    const struct run_finding *fault = add(result, RUN_FINDING_FAULT, "", "", 0, 20);
    const struct run_finding *slot = add(result, RUN_FINDING_DRIVER, "APER-002", BUILD, 7, 30);

    run_result_find_causes(result);
    assert_int_equal(slot->consequence_of, 0);
    assert_int_equal(fault->consequence_of, 2);
}

static void a_breach_of_a_call_is_the_cause_of_effects_that_are_told_behind_it(void **state)
{
    struct run_result *result = *state;
    const struct run_finding *submit =
        add(result, RUN_FINDING_DRIVER, "SUB-001", "DxgkDdiSubmitCommand.status", 9, 9);
    const struct run_finding *slot = add(result, RUN_FINDING_DRIVER, "APER-002", BUILD, 7, 30);

    run_result_find_causes(result);
    assert_int_equal(submit->consequence_of, 0);
    assert_int_equal(slot->consequence_of, 1);
}

static void of_one_call_what_the_driver_did_comes_before_what_is_said_of_us(void **state)
{
    struct run_result *result = *state;
    const struct run_finding *ours = add(result, RUN_FINDING_MANAGER, "PT-013", BUILD, 7, 7);
    const struct run_finding *drivers = add(result, RUN_FINDING_DRIVER, "PB-004", BUILD, 7, 7);

    run_result_find_causes(result);
    assert_int_equal(drivers->consequence_of, 0);
    assert_int_equal(ours->consequence_of, 2);
}

/* The driver tells the manager something wrong in a callback, and breaks a rule in the next. */
static void callbacks_of_one_call_are_one_call(void **state)
{
    struct run_result *result = *state;
    struct run_finding *ours = add(result, RUN_FINDING_MANAGER, "RES-005", "client, wait", 7, 8);
    struct run_finding *drivers =
        add(result, RUN_FINDING_DRIVER, "FENCE-002", "DxgkCbNotifyInterrupt", 9, 9);

    ours->seen_in = drivers->seen_in = 7;
    run_result_find_causes(result);
    assert_int_equal(drivers->consequence_of, 0);
    assert_int_equal(ours->consequence_of, 2);
}

static void a_defect_of_ours_with_nothing_before_it_stays_one(void **state)
{
    struct run_result *result = *state;
    const struct run_finding *ours = add(result, RUN_FINDING_MANAGER, "PT-013", BUILD, 7, 7);
    const struct run_finding *drivers = add(result, RUN_FINDING_DRIVER, "PB-004", BUILD, 8, 8);

    run_result_find_causes(result);
    assert_int_equal(ours->consequence_of, 0);
    assert_int_equal(drivers->consequence_of, 1);
}

static void a_declaration_swallows_no_later_mistake(void **state)
{
    struct run_result *result = *state;
    const struct run_finding *caps = add(result, RUN_FINDING_DRIVER, "SEG-001", DECLARE, 2, 2);
    const struct run_finding *same = add(result, RUN_FINDING_DRIVER, "SEG-009", DECLARE, 2, 2);
    const struct run_finding *other =
        add(result, RUN_FINDING_DRIVER, "SEG-012", DECLARE ".Flags", 2, 2);
    const struct run_finding *ours = add(result, RUN_FINDING_MANAGER, "PT-013", BUILD, 4, 4);
    const struct run_finding *refused = add(result, RUN_FINDING_SUBMISSION, "", "", 0, 5);
    const struct run_finding *later = add(result, RUN_FINDING_DRIVER, "PB-004", BUILD, 7, 7);
    const struct run_finding *fault = add(result, RUN_FINDING_FAULT, "", "", 0, 9);

    run_result_find_causes(result);
    assert_int_equal(caps->consequence_of, 0);
    assert_int_equal(same->consequence_of, 1); /* two rules about the same words */
    assert_int_equal(other->consequence_of, 0);
    assert_int_equal(ours->consequence_of, 1);
    assert_int_equal(refused->consequence_of, 1);
    assert_int_equal(later->consequence_of, 0);
    assert_int_equal(fault->consequence_of, 6);
}

#define ELEMENT "DxgkDdiCreateAllocation.pAllocationInfo"

static void what_was_not_written_says_nothing(void **state)
{
    struct run_result *result = *state;
    const struct run_finding *handle =
        add(result, RUN_FINDING_DRIVER, "ALLOC-001", ELEMENT "[1].hAllocation", 5, 5);
    const struct run_finding *other =
        add(result, RUN_FINDING_DRIVER, "ALLOC-008", ELEMENT "[0].AllocationPriority", 5, 5);
    const struct run_finding *unwritten =
        add(result, RUN_FINDING_DRIVER, "MEM-004", ELEMENT "[1].Size", 5, 5);

    run_result_find_causes(result);
    assert_int_equal(handle->consequence_of, 3);
    assert_int_equal(other->consequence_of, 0);
    assert_int_equal(unwritten->consequence_of, 0);
    add(result, RUN_FINDING_DRIVER, "PB-004", BUILD, 4, 4);
    run_result_find_causes(result);
    assert_int_equal(unwritten->consequence_of, 4);
    assert_int_equal(handle->consequence_of, 4);
}

static void advice_is_neither(void **state)
{
    struct run_result *result = *state;
    const struct run_finding *advice = add(result, RUN_FINDING_ADVICE, "PB-014", BUILD, 3, 3);
    const struct run_finding *later = add(result, RUN_FINDING_DRIVER, "PB-004", BUILD, 7, 7);

    run_result_find_causes(result);
    assert_int_equal(advice->consequence_of, 0);
    assert_int_equal(later->consequence_of, 0);
}

/* Without a checking layer. */
static void where_nobody_counts_calls_the_order_of_the_words_counts(void **state)
{
    struct run_result *result = *state;
    const struct run_finding *fault = add(result, RUN_FINDING_FAULT, "", "", 0, 0);
    const struct run_finding *content = add(result, RUN_FINDING_CONTENT, "", "", 3, 0);

    run_result_find_causes(result);
    assert_int_equal(fault->consequence_of, 0);
    assert_int_equal(content->consequence_of, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_result, free_result)
    const struct CMUnitTest tests[] = {
        TEST(the_first_breach_is_the_cause_of_the_rest),
        TEST(the_call_of_the_mistake_counts_and_not_that_which_saw_it),
        TEST(a_breach_of_a_call_is_the_cause_of_effects_that_are_told_behind_it),
        TEST(of_one_call_what_the_driver_did_comes_before_what_is_said_of_us),
        TEST(callbacks_of_one_call_are_one_call),
        TEST(a_defect_of_ours_with_nothing_before_it_stays_one),
        TEST(a_declaration_swallows_no_later_mistake),
        TEST(what_was_not_written_says_nothing),
        TEST(advice_is_neither),
        TEST(where_nobody_counts_calls_the_order_of_the_words_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
