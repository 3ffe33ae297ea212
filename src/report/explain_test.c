/*
 * Explanations: every rule has one that is whole, and words are spelled out.
 */
#include "report/explain.h"
#include "report/plain_words.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *explain(enum rule_id rule, const struct rule_counts *counts)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    report_explain(out, rule, counts);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void every_rule_is_explained_whole(void **state)
{
    static const char *const parts[] = {
        "\n  Rule      ",     "\n  Obeyed by ",       "\n  Versions  WDDM ", "\n  Basis     ",
        "\n  Source    ",     "\n  Windows   ",       "\n  Tier      ",      "\n  Checked   ",
        "\n  Lawful\n      ", "\n  Unlawful\n      ",
    };

    for (unsigned id = RULE_NONE + 1; id < RULE_COUNT; id++) {
        const struct rule *rule = rule_get((enum rule_id)id);
        char *text = explain((enum rule_id)id, NULL);

        assert_int_equal(strncmp(text, rule->id, strlen(rule->id)), 0);
        assert_non_null(rule_area_subject(rule->id));
        for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
            if (!strstr(text, parts[i]))
                fail_msg("'%s' is not in\n%s", parts[i], text);
        }
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
            const bool is_address = strncmp(line + strspn(line, " "), "https://", 8) == 0;

            if (strcspn(line, "\n") > 104 && !is_address) /* an address is not broken */
                fail_msg("%s: a line is too wide: %.120s", rule->id, line);
        }
        free(text);
    }
}

static void an_example_shows_both_sides(void **state)
{
    unsigned count = 0;

    for (unsigned id = RULE_NONE + 1; id < RULE_COUNT; id++) {
        const struct rule_example *example = rule_find_example((enum rule_id)id);

        if (!example)
            continue;
        count++;
        assert_true(example->lawful[0] && example->unlawful[0]);
        assert_string_not_equal(example->lawful, example->unlawful);
    }
    assert_true(count >= 145);
}

static void names_are_spelled_out(void **state)
{
    static const struct {
        const char *area, *from, *to;
    } cases[] = {
        {"PB", "BPB may return SUCCESS.", "DxgkDdiBuildPagingBuffer may return STATUS_SUCCESS."},
        {"NTF", "19/20: pages (ADL)", "MAP_MMU (19)/UNMAP_MMU (20): pages (ADL)"},
        {"ADL", "send only 17, never 5",
         "send only MAP_APERTURE_SEGMENT2 (17), never "
         "MAP_APERTURE_SEGMENT (5)"},
        {"APER", "Ops 5/6 are 2.x, 5 are not",
         "Ops MAP_APERTURE_SEGMENT (5)/UNMAP_APERTURE_SEGMENT (6) are 2.x, 5 are not"},
        {"NTF", "16: a 64-bit write", "SIGNAL_MONITORED_FENCE (16): a 64-bit write"},
        {"PT", "12 + sum of 64 KB at VA 0", "12 + sum of 64 KB at GPU virtual address 0"},
        {"NTF", "op 17.2 is none", "op 17.2 is none"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char text[REPORT_SENTENCE_BYTES];

        assert_string_equal(report_plain_words(cases[i].area, cases[i].from, text), cases[i].to);
    }
}

static void abbreviations_are_told(void **state)
{
    char *text = explain(RULE_XFER_004, NULL);

    assert_non_null(strstr(text, "MDL: memory descriptor list"));
    assert_non_null(strstr(text, "PFN: page frame number"));
    assert_null(strstr(text, "TLB: "));
    free(text);
}

static void a_rule_that_packets_carry_out_is_the_drivers_too(void **state)
{
    char *text = explain(RULE_XFER_006, NULL);

    assert_non_null(strstr(text, "and the driver"));
    assert_non_null(strstr(text, "not documented: anything may happen"));
    assert_null(strstr(text, "a defect of ours"));
    free(text);
    text = explain(RULE_XFER_007, NULL);
    assert_non_null(strstr(text, "a finding is a defect of"));
    free(text);
}

static void counts_say_whether_it_was_checked(void **state)
{
    struct rule_counts counts = {0};
    char *text = explain(RULE_PB_004, &counts);

    assert_non_null(strstr(text, "Never evaluated"));
    free(text);
    counts.evaluated[RULE_PB_004] = 12345;
    counts.broken[RULE_PB_004] = 6;
    text = explain(RULE_PB_004, &counts);
    assert_non_null(strstr(text, "Evaluated 12,345 times, broken 6 times"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_is_explained_whole),
        cmocka_unit_test(an_example_shows_both_sides),
        cmocka_unit_test(names_are_spelled_out),
        cmocka_unit_test(abbreviations_are_told),
        cmocka_unit_test(a_rule_that_packets_carry_out_is_the_drivers_too),
        cmocka_unit_test(counts_say_whether_it_was_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
