/*
 * Excuses: what a baseline and the allowed words make of causes.
 */
#include "report/excuses.h"

#include "report/finding_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const where = "DxgkDdiBuildPagingBuffer(FILL).pDmaBuffer";

static struct campaign_record record_of(uint64_t seed, const char *kind, const char *rule,
                                        const char *place, const char *text)
{
    struct campaign_record record = {.seed = seed,
                                     .driver = "ref",
                                     .outcome = CAMPAIGN_FINDINGS,
                                     .finding_total = 1,
                                     .finding_count = 1};

    snprintf(record.findings[0].kind, sizeof record.findings[0].kind, "%s", kind);
    snprintf(record.findings[0].rule, sizeof record.findings[0].rule, "%s", rule);
    snprintf(record.findings[0].detail.where, sizeof record.findings[0].detail.where, "%s", place);
    snprintf(record.findings[0].text, sizeof record.findings[0].text, "%s", text);
    return record;
}

/* Two causes: a rule's, and a leak that no rule names. */
static void sum_up(struct campaign_summary *summary)
{
    const struct campaign_record records[] = {
        record_of(1, "driver", "PB-004", where, "moved 288 bytes; 256 were offered"),
        record_of(2, "leak", "", "", "a7 was left"),
    };

    assert_true(campaign_summary_init(summary));
    for (size_t i = 0; i < 2; i++)
        campaign_summary_add(summary, &records[i]);
    campaign_summary_settle(summary);
    assert_int_equal(summary->cause_count, 2);
}

static void expect(struct excuses *excuses, enum campaign_excuse rule, enum campaign_excuse leak,
                   bool fails)
{
    struct campaign_summary summary;

    sum_up(&summary);
    excuses_apply(excuses, &summary, true);
    assert_int_equal(summary.causes[0].excuse, rule);
    assert_int_equal(summary.causes[1].excuse, leak);
    assert_true(campaign_fails(&summary) == fails);
    campaign_summary_fini(&summary);
}

static bool parse(struct excuses *excuses, const char *text, char error[512])
{
    error[0] = '\0';
    return excuses_parse_baseline(excuses, text, strlen(text), "b", error);
}

static void what_is_not_excused_fails(void **state)
{
    struct excuses *excuses = excuses_create();

    expect(excuses, CAMPAIGN_NOT_EXCUSED, CAMPAIGN_NOT_EXCUSED, true);
    excuses_free(excuses);
}

static void a_rule_an_area_a_kind_and_an_id_may_be_allowed(void **state)
{
    const char *const words[] = {"PB-004", "PB-*", "PB-004-e4458707"};
    char error[512];

    for (size_t i = 0; i < 3; i++) {
        struct excuses *excuses = excuses_create();

        assert_true(excuses_allow(excuses, words[i], error));
        expect(excuses, CAMPAIGN_ALLOWED, CAMPAIGN_NOT_EXCUSED, true);
        assert_true(excuses_allow(excuses, "leak", error));
        expect(excuses, CAMPAIGN_ALLOWED, CAMPAIGN_ALLOWED, false);
        excuses_free(excuses);
    }
}

static void other_words_are_refused(void **state)
{
    const char *const words[] = {"", "PB", "PB-", "PB-0*", "pb-004", "-*", "*", "leaks", "PB-004-"};
    struct excuses *excuses = excuses_create();

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char error[512] = "";

        assert_false(excuses_allow(excuses, words[i], error));
        assert_non_null(strstr(error, "is no rule, area, kind or id"));
    }
    excuses_free(excuses);
}

static void what_was_written_is_known(void **state)
{
    struct excuses *excuses = excuses_create();
    struct campaign_summary summary;
    char *text, error[512];

    sum_up(&summary);
    text = excuses_baseline_text(&summary);
    assert_non_null(strstr(text, "\nPB-004-e4458707  DxgkDdiBuildPagingBuffer(FILL).pDmaBuffer: "));
    assert_true(parse(excuses, text, error));
    expect(excuses, CAMPAIGN_KNOWN, CAMPAIGN_KNOWN, false);
    campaign_summary_fini(&summary);
    excuses_free(excuses);
    free(text);
}

static void a_finding_that_is_new_fails_beside_known_ones(void **state)
{
    struct excuses *excuses = excuses_create();
    char error[512];

    assert_true(parse(excuses, "drydock-baseline 1\nPB-004-e4458707\n", error));
    expect(excuses, CAMPAIGN_KNOWN, CAMPAIGN_NOT_EXCUSED, true);
    excuses_free(excuses);
}

static void expect_told(struct excuses *excuses, bool has_all, const char *wanted)
{
    struct campaign_summary summary;
    char *told = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&told, &size);

    sum_up(&summary);
    excuses_apply(excuses, &summary, has_all);
    excuses_report(out, excuses, &summary);
    fclose(out);
    assert_string_equal(told, wanted);
    free(told);
    campaign_summary_fini(&summary);
}

/* A baseline is a file, and may come from anywhere. */
static void what_is_told_of_what_is_gone_is_text(void **state)
{
    struct excuses *excuses = excuses_create();
    char error[512];

    assert_true(parse(excuses,
                      "drydock-baseline 1\n"
                      "PB-004-e4458707  known\n"
                      "VA-002-00000002  \033[2J\033]0;x\007 \xe2\x80\xae ##[error]\n",
                      error));
    assert_true(excuses_allow(excuses, "leak", error));
    expect_told(excuses, true,
                "gone VA-002-00000002  \\x1b[2J\\x1b]0;x\\x07 \\xe2\\x80\\xae \\##[error]\n"
                "  baseline  0 new, 1 known, 1 allowed, 1 gone\n");
    excuses_free(excuses);
}

/* The view of a finding that was not seen is gone with it, and a view that was seen keeps it. */
static void what_was_not_seen_is_gone(void **state)
{
    const char *text = "drydock-baseline 1\n"
                       "VA-001-00000001  first\n"
                       "  PB-004-e4458707  a view\n"
                       "VA-002-00000002  second\n"
                       "  VA-003-00000003  a view\n";
    struct excuses *excuses = excuses_create();
    char error[512];

    assert_true(parse(excuses, text, error));
    assert_true(excuses_allow(excuses, "leak", error));
    expect_told(excuses, true,
                "gone VA-002-00000002  second\n"
                "  baseline  0 new, 1 known, 1 allowed, 1 gone\n");
    excuses_free(excuses);
}

static void nothing_is_gone_where_not_all_was_played(void **state)
{
    struct excuses *excuses = excuses_create();
    char error[512];

    assert_true(parse(excuses, "drydock-baseline 1\nVA-002-00000002  second\n", error));
    assert_true(excuses_allow(excuses, "leak", error));
    expect_told(excuses, false,
                "  baseline  1 new, 0 known, 1 allowed, what is gone is not known: not all was "
                "played\n");
    excuses_free(excuses);
}

static void wrong_files_are_refused_with_their_line(void **state)
{
    static const char *const cases[][2] = {
        {"", "b: empty (expected 'drydock-baseline 1' in its first line)"},
        {"drydock-case 1\n", "b:1: not a baseline (expected 'drydock-baseline 1')"},
        {"drydock-baseline 1\n\nPB-004\n",
         "b:3: 'PB-004' is no id of a finding (expected one as PB-004-e4458707)"},
        {"drydock-baseline 1\n  PB-004-e4458707\n",
         "b:2: an indented line belongs to a finding above it"},
        {"drydock-baseline 1\rPB-004-e4458707\n", "b:1: a carriage return within a line"},
        {"\xff\xfe"
         "d",
         "b: a text in UTF-16 (expected UTF-8)"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct excuses *excuses = excuses_create();
        char error[512];

        assert_false(parse(excuses, cases[i][0], error));
        assert_string_equal(error, cases[i][1]);
        excuses_free(excuses);
    }
}

static void a_byte_of_zero_is_refused(void **state)
{
    static const char text[] = "drydock-baseline 1\nPB-004-e4458707\0 and the rest\n";
    struct excuses *excuses = excuses_create();
    char error[512];

    assert_false(excuses_parse_baseline(excuses, text, sizeof text - 1, "b", error));
    assert_string_equal(error, "b:2: a byte of zero (expected text)");
    excuses_free(excuses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_excused_fails),
        cmocka_unit_test(a_rule_an_area_a_kind_and_an_id_may_be_allowed),
        cmocka_unit_test(other_words_are_refused),
        cmocka_unit_test(what_was_written_is_known),
        cmocka_unit_test(a_finding_that_is_new_fails_beside_known_ones),
        cmocka_unit_test(what_was_not_seen_is_gone),
        cmocka_unit_test(what_is_told_of_what_is_gone_is_text),
        cmocka_unit_test(nothing_is_gone_where_not_all_was_played),
        cmocka_unit_test(wrong_files_are_refused_with_their_line),
        cmocka_unit_test(a_byte_of_zero_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
