/* The catalogue: what is said of its rules holds together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "check/rules/rule_needs.h"
#include "check/rules/rule_rarities.h"
#include "check/rules/rules.h"

/* One test makes the checker say the rule of calls that break it, another one is silent. */
static void each_rule_that_is_judged_has_its_pair_of_tests(void **state)
{
    unsigned judged = 0;

    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        enum rule_id id = (enum rule_id)i;

        if (rule_reason_unchecked(id)) {
            if (rule_is_tested(id))
                fail_msg("%s is tested, and said to be seen in no run", rule_get(id)->id);
            continue;
        }
        judged++;
        if (!rule_is_tested(id))
            fail_msg("%s has no pair of tests", rule_get(id)->id);
    }
    assert_true(judged > 380);
}

static void a_rule_has_one_reason_at_most(void **state)
{
    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        enum rule_id id = (enum rule_id)i;

        if (rule_reason_unchecked(id) && rule_reason_rare(id))
            fail_msg("%s has two reasons", rule_get(id)->id);
    }
}

/* Where nothing was counted, each rule that could be asked says what it would need. */
static void each_rule_that_is_not_asked_says_why(void **state)
{
    static const struct rule_counts nothing;

    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        enum rule_id id = (enum rule_id)i;
        enum rule_lack lack = rule_find_lack(id, &nothing);

        assert_int_equal(lack == RULE_LACK_NOTHING, rule_reason_unchecked(id) != NULL);
        if ((lack == RULE_LACK_GPU || lack == RULE_LACK_FEATURE) && !rule_need_sentence(id))
            fail_msg("%s does not say what it needs", rule_get(id)->id);
    }
}

static void a_rule_is_found_by_its_name_and_another_name_is_no_rules(void **state)
{
    static const char *const names[] = {"", "PB", "PB-999", "PB-004 ", " PB-004"};

    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++)
        assert_int_equal(rule_find(rule_get((enum rule_id)i)->id), i);
    assert_int_equal(rule_find("pb-004"), RULE_PB_004);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(rule_find(names[i]), RULE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_that_is_judged_has_its_pair_of_tests),
        cmocka_unit_test(a_rule_has_one_reason_at_most),
        cmocka_unit_test(each_rule_that_is_not_asked_says_why),
        cmocka_unit_test(a_rule_is_found_by_its_name_and_another_name_is_no_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
