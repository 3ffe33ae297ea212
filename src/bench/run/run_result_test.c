/* What findings of a run are made of. */
#include "bench/run/run_private.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_call_at_the_start_of_a_text_is_its_place(void **state)
{
    static const struct {
        const char *text, *where, *rest;
    } cases[] = {
        {"DxgkDdiBuildPagingBuffer(FILL) returned 0xc01e0102, which is not lawful",
         "DxgkDdiBuildPagingBuffer(FILL)", "returned 0xc01e0102, which is not lawful"},
        {"DxgkDdiBuildPagingBuffer(A, B): no progress", "DxgkDdiBuildPagingBuffer(A, B)",
         "no progress"},
        {"DxgkDdiCreateAllocation.hAllocation is NULL", "DxgkDdiCreateAllocation.hAllocation",
         "is NULL"},
        {"a segment overlaps DxgkDdi", "", "a segment overlaps DxgkDdi"},
        {"DxgkDdiPatch", "", "DxgkDdiPatch"},
        {"DxgkDdiBuildPagingBuffer(never closed", "", "DxgkDdiBuildPagingBuffer(never closed"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct run_finding finding = {0};

        snprintf(finding.text, sizeof finding.text, "%s", cases[i].text);
        run_result_place(&finding);
        assert_string_equal(finding.detail.where, cases[i].where);
        assert_string_equal(finding.text, cases[i].rest);
    }
}

static void lines_that_explain_lose_their_indent_and_end_with_the_room(void **state)
{
    struct run_finding finding = {0};
    char many[4000];

    run_result_explain(&finding, "\n  expected 1\n  found    2");
    assert_string_equal(finding.detail.objects, "expected 1\nfound    2");
    memset(many, 'x', sizeof many);
    many[sizeof many - 1] = '\0';
    many[300] = many[600] = '\n';
    run_result_explain(&finding, many);
    assert_int_equal(strlen(finding.detail.objects), sizeof finding.detail.objects - 1);
}

static void the_last_words_stand_beside_a_finding(void **state)
{
    struct run_result *result = calloc(1, sizeof *result);
    const struct run_finding *finding;
    char many[600];

    assert_non_null(result);
    for (unsigned i = 0; i < 9; i++) {
        char line[16];

        snprintf(line, sizeof line, "line %u\r\nrest", i);
        run_result_note_print(result, line);
        run_result_note_print(result, "\n");
    }
    finding = run_result_report(result, RUN_FINDING_DRIVER, 0, 0, "%s", "a mistake");
    assert_string_equal(finding->detail.printed, "line 5\nline 6\nline 7\nline 8");
    memset(many, 'x', sizeof many);
    many[sizeof many - 1] = '\0';
    for (unsigned i = 0; i < 4; i++) {
        run_result_note_print(result, many);
        assert_true(strlen(result->printed) < sizeof result->printed);
    }
    run_result_note_print(result, "short");
    assert_non_null(strstr(result->printed, "x\nshort"));
    assert_int_equal(result->print_count, 2 * 9 + 5);
    free(result);
}

/* Advice, and what the bench lacks, are told; only a finding makes the run one with findings. */
static void a_run_with_remarks_alone_is_clean(void **state)
{
    static const enum run_finding_kind remarks[] = {RUN_FINDING_ADVICE, RUN_FINDING_LACKING};
    struct run_result *result = calloc(1, sizeof *result);

    assert_non_null(result);
    for (size_t i = 0; i < ARRAY_COUNT(remarks); i++) {
        assert_true(run_finding_is_remark(remarks[i]));
        assert_true(run_finding_kind_is_remark(run_finding_kind_name(remarks[i])));
        assert_non_null(run_result_report(result, remarks[i], 0, 0, "told"));
    }
    run_settle_outcome(result);
    assert_int_equal(result->outcome, RUN_CLEAN);
    run_result_report(result, RUN_FINDING_LEAK, 0, 0, "left");
    assert_false(run_finding_is_remark(RUN_FINDING_LEAK));
    run_settle_outcome(result);
    assert_int_equal(result->outcome, RUN_FINDINGS);
    free(result);
}

static void a_run_is_ours_when_the_manager_alone_is_to_blame(void **state)
{
    struct run_result *result = calloc(1, sizeof *result);

    assert_non_null(result);
    assert_false(run_result_is_ours(result));
    run_result_report(result, RUN_FINDING_ADVICE, 0, 0, "advice");
    assert_false(run_result_is_ours(result));
    run_result_report(result, RUN_FINDING_MANAGER, 0, 0, "ours");
    assert_true(run_result_is_ours(result));
    run_result_report(result, RUN_FINDING_CONTENT, 0, 0, "a byte");
    assert_false(run_result_is_ours(result));
    free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_with_remarks_alone_is_clean),
        cmocka_unit_test(a_call_at_the_start_of_a_text_is_its_place),
        cmocka_unit_test(lines_that_explain_lose_their_indent_and_end_with_the_room),
        cmocka_unit_test(the_last_words_stand_beside_a_finding),
        cmocka_unit_test(a_run_is_ours_when_the_manager_alone_is_to_blame),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
