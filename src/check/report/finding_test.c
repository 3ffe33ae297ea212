/* What findings of one cause have in common. */
#include "check/report/finding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_at_a_place_is_a_cause),
        cmocka_unit_test(which_element_it_was_is_no_other_cause),
        cmocka_unit_test(which_operation_it_was_is_no_other_cause),
        cmocka_unit_test(without_a_rule_the_text_counts_but_for_its_numbers),
        cmocka_unit_test(causes_stay_from_version_to_version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
