/* What findings of a run are made of. */
#include "bench/run/run_result.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_at_the_start_of_a_text_is_its_place),
        cmocka_unit_test(lines_that_explain_lose_their_indent_and_end_with_the_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
