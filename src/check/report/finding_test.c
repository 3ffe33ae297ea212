/* What findings of one cause have in common, and what of a sentence is data. */
#include "check/report/finding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void a_rule_at_a_place_is_a_cause(void **state)
{
    uint64_t cause = finding_cause(RULE_PB_004, "DxgkDdiBuildPagingBuffer(FILL).pDmaBuffer", "a");

    assert_true(cause ==
                finding_cause(RULE_PB_004, "DxgkDdiBuildPagingBuffer(FILL).pDmaBuffer", "b"));
    assert_true(cause !=
                finding_cause(RULE_PB_005, "DxgkDdiBuildPagingBuffer(FILL).pDmaBuffer", "a"));
    assert_true(cause != finding_cause(RULE_PB_004, "DxgkDdiBuildPagingBuffer(FILL).DmaSize", "a"));
}

static void which_operation_it_was_is_no_other_cause(void **state)
{
    assert_true(finding_cause(RULE_PB_004, "DxgkDdiBuildPagingBuffer(FILL).pDmaBuffer", "") ==
                finding_cause(RULE_PB_004, "DxgkDdiBuildPagingBuffer(TRANSFER).pDmaBuffer", ""));
    assert_true(finding_cause(RULE_NONE, "DxgkDdiBuildPagingBuffer(FILL)", "bad") ==
                finding_cause(RULE_NONE, "DxgkDdiBuildPagingBuffer(TRANSFER)", "bad"));
}

static void which_element_it_was_is_no_other_cause(void **state)
{
    assert_true(finding_cause(RULE_ALLOC_001, "Create.pAllocationInfo[2].Size", "") ==
                finding_cause(RULE_ALLOC_001, "Create.pAllocationInfo[17].Size", ""));
    assert_true(finding_cause(RULE_ALLOC_001, "Create.pAllocationInfo[2].Size", "") !=
                finding_cause(RULE_ALLOC_001, "Create.pAllocationInfo[2].Alignment", ""));
    assert_true(finding_cause(RULE_SEG_001, "QUERYSEGMENT3", "") !=
                finding_cause(RULE_SEG_001, "QUERYSEGMENT4", ""));
}

static void without_a_rule_the_text_counts_but_for_its_numbers(void **state)
{
    assert_true(finding_cause(RULE_NONE, "", "a7, page 12: bad") ==
                finding_cause(RULE_NONE, "", "a131, page 0x7: bad"));
    assert_true(finding_cause(RULE_NONE, "", "a7, page 12: bad") !=
                finding_cause(RULE_NONE, "", "a7, page 12: worse"));
    assert_true(finding_cause(RULE_NONE, "read by the GPU", "bad") !=
                finding_cause(RULE_NONE, "read by the CPU", "bad"));
}

/*
 * Fingerprints are kept by others. The first is that of version 0.1; those of rules about paging
 * operations changed once, when all operations became one cause.
 */
static void causes_stay_from_version_to_version(void **state)
{
    assert_true(finding_cause(RULE_SUB_001, "DxgkDdiSubmitCommand.status", "") ==
                UINT64_C(0xde7a78a42845d34f));
    assert_true(finding_cause(RULE_PB_004, "DxgkDdiBuildPagingBuffer(FILL).pDmaBuffer", "") ==
                UINT64_C(0xe4458707d248ea0a));
}

__attribute__((format(printf, 3, 4))) static void write_sentence(struct finding_argument *argument,
                                                                 char text[FINDING_TEXT_BYTES],
                                                                 const char *format, ...)
{
    va_list values;

    va_start(values, format);
    finding_write_sentence(text, FINDING_TEXT_BYTES, argument, format, values);
    va_end(values);
}

static void a_sentence_marks_what_its_argument_has_and_should_have(void **state)
{
    struct finding_argument argument = {.name = "DmaSize"};
    char text[FINDING_TEXT_BYTES];

    write_sentence(&argument, text, "says {0x%x} bytes; {=~at most ~0x%x} are left", 64u, 32u);
    assert_string_equal(text, "says 0x40 bytes; 0x20 are left");
    assert_string_equal(argument.name, "DmaSize");
    assert_string_equal(argument.value, "0x40");
    assert_string_equal(argument.expected, "at most 0x20");

    /* All of it unsaid, and a name. */
    write_sentence(&argument, text, "{@%s} is {NULL}: no buffer{=~a buffer~}", "pDmaBuffer");
    assert_string_equal(text, "pDmaBuffer is NULL: no buffer");
    assert_string_equal(argument.name, "pDmaBuffer");
    assert_string_equal(argument.value, "NULL");
    assert_string_equal(argument.expected, "a buffer");
}

static void braces_of_a_value_mark_nothing(void **state)
{
    struct finding_argument argument = {.name = "", .expected = "kept"};
    char text[FINDING_TEXT_BYTES];

    write_sentence(&argument, text, "printed '%s', ~ and }", "{=5} {@x}");
    assert_string_equal(text, "printed '{=5} {@x}', ~ and }");
    assert_string_equal(argument.name, "");
    assert_string_equal(argument.value, "");
    assert_string_equal(argument.expected, "kept");
}

static void a_part_that_is_too_long_is_cut(void **state)
{
    struct finding_argument argument = {.name = ""};
    char text[FINDING_TEXT_BYTES], value[FINDING_TEXT_BYTES + 200];

    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    write_sentence(&argument, text, "is {%s} (expected {=%s})", value, value);
    assert_int_equal(strlen(text), sizeof text - 1);
    assert_int_equal(strlen(argument.value), sizeof argument.value - 1);
    assert_int_equal(strlen(argument.expected), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_at_a_place_is_a_cause),
        cmocka_unit_test(which_element_it_was_is_no_other_cause),
        cmocka_unit_test(which_operation_it_was_is_no_other_cause),
        cmocka_unit_test(without_a_rule_the_text_counts_but_for_its_numbers),
        cmocka_unit_test(causes_stay_from_version_to_version),
        cmocka_unit_test(a_sentence_marks_what_its_argument_has_and_should_have),
        cmocka_unit_test(braces_of_a_value_mark_nothing),
        cmocka_unit_test(a_part_that_is_too_long_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
