/*
 * What many records say of causes: what follows from another mistake in some run is not counted as
 * a mistake of its own in others, in whatever order the records come.
 */
#include "bench/campaign/campaign.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define BUILD "DxgkDdiBuildPagingBuffer(FILL)"

static void add(struct campaign_record *record, const char *kind, const char *rule, uint64_t made,
                uint64_t seen, uint32_t of)
{
    struct campaign_finding *finding = &record->findings[record->finding_count++];

    snprintf(finding->kind, sizeof finding->kind, "%s", kind);
    snprintf(finding->rule, sizeof finding->rule, "%s", rule);
    snprintf(finding->text, sizeof finding->text, "what %s is", kind);
    snprintf(finding->detail.where, sizeof finding->detail.where, BUILD);
    finding->detail.event = made;
    finding->seen = seen;
    finding->consequence_of = of;
}

/* Seed 1: the rule and a fault behind it. 2, 3: the fault alone. 4: another rule. */
static void make_records(struct campaign_record records[4])
{
    for (unsigned i = 0; i < 4; i++)
        records[i] = (struct campaign_record){.seed = i + 1, .outcome = CAMPAIGN_FINDINGS};
    add(&records[0], "driver", "PB-004", 5, 5, 0);
    add(&records[0], "fault", "", 0, 9, 1);
    add(&records[0], "fault", "", 0, 10, 1);
    add(&records[0], "driver", "PB-007", 11, 11, 1);
    add(&records[1], "fault", "", 0, 9, 0);
    add(&records[2], "fault", "", 0, 9, 0);
    add(&records[2], "content", "", 5, 9, 1);
    add(&records[3], "driver", "PB-007", 5, 5, 0);
}

static const struct campaign_cause *find(const struct campaign_summary *summary, const char *rule)
{
    for (size_t i = 0; i < summary->cause_count; i++) {
        if (strcmp(summary->causes[i].first.findings[summary->causes[i].finding].rule, rule) == 0)
            return &summary->causes[i];
    }
    return NULL;
}

static void expect_two_causes(const struct campaign_summary *summary)
{
    const struct campaign_cause *cause = find(summary, "PB-004");
    unsigned faults = 0, contents = 0;

    assert_int_equal(summary->cause_count, 2);
    assert_non_null(find(summary, "PB-007")); /* seen in its call: a mistake of its own, too */
    assert_non_null(cause);
    assert_int_equal(cause->count, 3);
    assert_int_equal(cause->consequence_count, 3);
    for (unsigned i = 0; i < cause->consequence_count; i++) {
        const struct campaign_consequence *consequence = &cause->consequences[i];

        if (strcmp(consequence->kind, "fault") == 0) {
            assert_int_equal(consequence->runs, 1);
            assert_int_equal(consequence->alone, 2);
            assert_int_equal(consequence->seed, 1);
            faults++;
        }
        contents += strcmp(consequence->kind, "content") == 0;
    }
    assert_int_equal(faults, 1);
    assert_int_equal(contents, 1);
}

static void what_follows_in_one_run_is_no_cause_in_another(void **state)
{
    static const unsigned orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
    struct campaign_record records[4];

    make_records(records);
    for (size_t i = 0; i < ARRAY_COUNT(orders); i++) {
        struct campaign_summary summary;

        assert_true(campaign_summary_init(&summary));
        for (unsigned j = 0; j < 4; j++)
            campaign_summary_add(&summary, &records[orders[i][j]]);
        assert_int_equal(summary.cause_count, 3);
        campaign_summary_settle(&summary);
        expect_two_causes(&summary);
        campaign_summary_settle(&summary); /* nothing is left to do */
        expect_two_causes(&summary);
        campaign_summary_fini(&summary);
    }
}

/* Each follows from the other in some run: the one that is told first more often is the cause. */
static void a_circle_ends_at_what_is_told_most_often(void **state)
{
    struct campaign_record records[3];
    struct campaign_summary summary;

    for (unsigned i = 0; i < 3; i++) {
        records[i] = (struct campaign_record){.seed = i + 1, .outcome = CAMPAIGN_FINDINGS};
        add(&records[i], i ? "content" : "fault", "", 0, 9, 0);
        add(&records[i], i ? "fault" : "content", "", 0, 9, 1);
    }
    assert_true(campaign_summary_init(&summary));
    for (unsigned i = 0; i < 3; i++)
        campaign_summary_add(&summary, &records[i]);
    assert_int_equal(summary.cause_count, 2);
    campaign_summary_settle(&summary);
    assert_int_equal(summary.cause_count, 1);
    assert_string_equal(summary.causes[0].first.findings[summary.causes[0].finding].kind,
                        "content");
    assert_int_equal(summary.causes[0].count, 3);
    campaign_summary_fini(&summary);
}

static void only_the_managers_own_findings_are_ours(void **state)
{
    static struct campaign_record ours, theirs, advice;
    struct campaign_summary summary;

    ours = (struct campaign_record){.seed = 1, .outcome = CAMPAIGN_FINDINGS};
    theirs = advice = ours;
    add(&ours, "manager", "", 5, 5, 0);
    add(&advice, "advice", "PB-014", 5, 5, 0);
    add(&theirs, "driver", "PB-004", 5, 5, 0);
    assert_true(campaign_summary_init(&summary));
    assert_false(campaign_is_ours(&summary)); /* nothing was found */
    campaign_summary_add(&summary, &advice);
    campaign_summary_settle(&summary);
    assert_false(campaign_is_ours(&summary));
    campaign_summary_add(&summary, &ours);
    campaign_summary_settle(&summary);
    assert_true(campaign_is_ours(&summary)); /* advice beside it is nobody's */
    campaign_summary_add(&summary, &theirs);
    campaign_summary_settle(&summary);
    assert_false(campaign_is_ours(&summary));
    campaign_summary_fini(&summary);
}

static void wrong_bytes_of_an_operation_are_one_cause(void **state)
{
    struct campaign_record records[3];
    struct campaign_summary summary;

    for (unsigned i = 0; i < 3; i++) {
        records[i] = (struct campaign_record){.seed = i + 1, .outcome = CAMPAIGN_FINDINGS};
        add(&records[i], "content", i == 2 ? "FILL-005" : i ? "FILL-007" : "FILL-005", 5, 9, 0);
    }
    snprintf(records[2].findings[0].detail.where, sizeof records[2].findings[0].detail.where,
             "read by the GPU");
    assert_true(campaign_summary_init(&summary));
    for (unsigned i = 0; i < 3; i++)
        campaign_summary_add(&summary, &records[i]);
    assert_int_equal(summary.cause_count, 3);
    campaign_summary_settle(&summary);
    assert_int_equal(summary.cause_count, 2); /* where no operation is known, it stays */
    campaign_summary_fini(&summary);
}

static void a_crash_that_a_rule_explains_is_a_breach_of_it(void **state)
{
    struct campaign_record records[3];
    struct campaign_summary summary;

    for (unsigned i = 0; i < 3; i++) {
        records[i] = (struct campaign_record){.seed = i + 1, .outcome = CAMPAIGN_FINDINGS};
        add(&records[i], i ? "crashed" : "driver", i == 2 ? "" : "MEM-003", 5, 5, 0);
    }
    assert_true(campaign_summary_init(&summary));
    for (unsigned i = 0; i < 3; i++)
        campaign_summary_add(&summary, &records[i]);
    campaign_summary_settle(&summary);
    assert_int_equal(summary.cause_count, 2); /* a crash without a rule stays for itself */
    assert_int_equal(find(&summary, "MEM-003")->count, 2);
    campaign_summary_fini(&summary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_follows_in_one_run_is_no_cause_in_another),
        cmocka_unit_test(wrong_bytes_of_an_operation_are_one_cause),
        cmocka_unit_test(only_the_managers_own_findings_are_ours),
        cmocka_unit_test(a_crash_that_a_rule_explains_is_a_breach_of_it),
        cmocka_unit_test(a_circle_ends_at_what_is_told_most_often),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
