/*
 * Loans: the rule, the place and the words of each breach. layers/guard_test.c holds the layer that
 * finds them.
 */
#include "check/watchers/memory/check_loans.h"

#include "check/rig/test_rig.h"

#include <string.h>

static struct loan_breach breach_of_fill;

/* The layer below tells while the call is under way. */
static NTSTATUS answer_with_breach(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_BuildPagingBuffer)
        check_loan(rig->check, &breach_of_fill);
    return rig_answer(rig, ddi, object, arg);
}

static void build_fill(struct rig *rig)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig_build(rig, &fill);
}

static void breach(struct rig *rig, enum loan_breach_kind kind, bool is_needed)
{
    breach_of_fill = (struct loan_breach){.kind = kind,
                                          .call = "DxgkDdiBuildPagingBuffer",
                                          .offset = offsetof(DXGKARG_BUILDPAGINGBUFFER, Operation),
                                          .bytes = sizeof(DXGKARG_BUILDPAGINGBUFFER),
                                          .is_needed = is_needed};
    rig->answer = answer_with_breach;
    build_fill(rig);
}

static void keep(struct rig *rig)
{
    build_fill(rig);
}

RULE_BROKEN(MEM_001)
{
    breach(rig, LOAN_BEHIND, false);
}
RULE_KEPT(MEM_001)
{
    keep(rig);
}

RULE_BROKEN(MEM_005)
{
    breach(rig, LOAN_PAGED, false);
}
RULE_KEPT(MEM_005)
{
    keep(rig);
}

RULE_BROKEN(MEM_002)
{
    breach(rig, LOAN_CHANGED, false);
}
RULE_KEPT(MEM_002)
{
    keep(rig);
}

RULE_BROKEN(MEM_003)
{
    breach(rig, LOAN_LATE, false);
}
RULE_KEPT(MEM_003)
{
    keep(rig);
}

RULE_BROKEN(MEM_004)
{
    breach(rig, LOAN_UNWRITTEN, true);
}
/* Pages do not say whether it starts as zero: advice. */
RULE_KEPT(MEM_004)
{
    breach(rig, LOAN_UNWRITTEN, false);
    assert_true(rig->last.is_advice);
}

static void the_member_of_the_argument_structure_is_named(void **state)
{
    struct rig rig;

    rig_init(&rig, RIG_PHYSICAL);
    breach(&rig, LOAN_CHANGED, false);
    assert_string_equal(rig.last.detail.where, "DxgkDdiBuildPagingBuffer(FILL).Operation");
    assert_non_null(strstr(rig.last.text, "overwritten byte 28 of its 320 bytes"));
    rig_fini(&rig);
}

/* The offset counts from the end of the structure: no member lies there. */
static void what_lies_behind_the_argument_structure_is_no_member(void **state)
{
    struct rig rig;

    rig_init(&rig, RIG_PHYSICAL);
    breach(&rig, LOAN_BEHIND, false);
    assert_string_equal(rig.last.detail.where, "DxgkDdiBuildPagingBuffer(FILL)");
    rig_fini(&rig);
}

/* Found in the middle of another call. */
static void a_late_use_stands_at_the_call_that_lent_it(void **state)
{
    struct rig rig;

    rig_init(&rig, RIG_PHYSICAL);
    breach_of_fill = (struct loan_breach){
        .kind = LOAN_LATE, .call = "DxgkDdiRender", .name = "pAllocationList", .bytes = 16};
    rig.answer = answer_with_breach;
    build_fill(&rig);
    assert_string_equal(rig.last.detail.where, "DxgkDdiRender.pAllocationList");
    rig_fini(&rig);
}

static void an_access_that_faulted_is_explained(void **state)
{
    const struct loan_breach reached = {.kind = LOAN_BEHIND,
                                        .call = "DxgkDdiPatch",
                                        .name = "pAllocationList",
                                        .offset = 4,
                                        .bytes = 48};
    struct finding finding;
    struct rig rig;

    rig_init(&rig, RIG_PHYSICAL);
    check_explain_loan(rig.check, &reached, &finding);
    assert_int_equal(finding.rule, RULE_MEM_001);
    assert_string_equal(finding.detail.where, "DxgkDdiPatch.pAllocationList");
    assert_string_equal(finding.text, "byte 4 behind its 48 bytes was touched");
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_member_of_the_argument_structure_is_named),
        cmocka_unit_test(what_lies_behind_the_argument_structure_is_no_member),
        cmocka_unit_test(a_late_use_stands_at_the_call_that_lent_it),
        cmocka_unit_test(an_access_that_faulted_is_explained),
    };

    return RIG_RUN_TESTS(tests);
}
