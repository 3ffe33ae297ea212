/*
 * JUnit XML. A rule is a test: it passes when it was evaluated and held, fails with what broke it,
 * and is skipped when nothing evaluated it, or when what broke it follows from another mistake. So
 * is each kind of finding that no rule names, which is looked for in every run.
 */
#include "report/finding_report.h"

#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* Kinds that no rule names. Every run looks for the first; the others are told when found. */
static const char *const kinds[] = {"content",    "translation", "driver",  "manager", "fault",
                                    "submission", "leak",        "crashed", "hung",    "hostile",
                                    "refused",    "broken",      "digest"};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

struct totals {
    unsigned tests, failures, skipped;
};

/* Bytes of one character of UTF-8; 0: it is none, or none that XML has. */
static size_t character_bytes(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length = at[0] < 0x80 ? 1 : at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;

    if (length == 1)
        return at[0] >= ' ' || at[0] == '\n' || at[0] == '\t';
    if (at[0] < 0xc2 || at[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    }
    /* Written too long, a surrogate, or behind the last character. */
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return length;
}

static void put_escaped(FILE *out, const char *text)
{
    while (*text) {
        size_t length = character_bytes(text);

        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else if (*text == '\n')
            fputs("&#10;", out);
        else if (!length)
            fputc('?', out);
        else
            fwrite(text, 1, length, out);
        text += length ? length : 1;
    }
}

static bool is_named(const char *its_rule, const char *its_kind, const char *rule, const char *kind)
{
    if (rule)
        return strcmp(its_rule, rule) == 0;
    return !its_rule[0] && strcmp(its_kind, kind) == 0;
}

/* A cause that is of the test case. */
static bool is_of(const struct report_finding *finding, const char *rule, const char *kind)
{
    return !report_is_advice(finding) && !finding->cause && !finding->excuse &&
           is_named(finding->rule, finding->kind, rule, kind);
}

/* The sentence about a test case that nothing but excused findings broke; false: there are none. */
static bool describe_excuse(const struct report_suite *suite, const char *rule, const char *kind,
                            char *text, size_t size)
{
    for (size_t i = 0; i < suite->count; i++) {
        const struct report_finding *finding = &suite->findings[i];
        char id[REPORT_ID_BYTES];

        if (!finding->excuse || !is_named(finding->rule, finding->kind, rule, kind))
            continue;
        report_finding_id(finding->kind, finding->rule, finding->detail->where, finding->text, id);
        snprintf(text, size, "%s: %s %s%s%s", campaign_excuse_name(finding->excuse), id,
                 finding->detail->where, finding->detail->where[0] ? ": " : "", finding->text);
        return true;
    }
    return false;
}

static const struct report_finding *find(const struct report_suite *suite, const char *rule,
                                         const char *kind)
{
    for (size_t i = 0; i < suite->count; i++) {
        if (is_of(&suite->findings[i], rule, kind))
            return &suite->findings[i];
    }
    return NULL;
}

/*
 * The sentence about a test case that nothing but consequences of other mistakes broke; false:
 * there are none.
 */
static bool describe_consequence(const struct report_suite *suite, const char *rule,
                                 const char *kind, char *text, size_t size)
{
    for (size_t i = 0; i < suite->count; i++) {
        const struct report_finding *cause = &suite->findings[i];
        struct report_consequence found;

        for (size_t j = 0;
             !cause->cause && report_consequence(suite->findings, suite->count, cause, j, &found);
             j++) {
            if (!is_named(found.rule, found.kind, rule, kind))
                continue;
            snprintf(text, size, "broken as a consequence of %s (%s): %s%s%s",
                     cause->rule[0] ? cause->rule : cause->kind,
                     cause->detail->where[0] ? cause->detail->where : cause->text, found.where,
                     found.where[0] ? ": " : "", found.text);
            return true;
        }
    }
    return false;
}

/* All that broke the rule, in one element: more than one is more than some readers take. */
static void put_failure(FILE *out, const struct report_suite *suite,
                        const struct report_finding *first, const char *rule, const char *kind)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    if (stream) {
        for (size_t i = 0; i < suite->count; i++) {
            if (is_of(&suite->findings[i], rule, kind))
                report_finding_text(stream, suite->findings, suite->count, &suite->findings[i]);
        }
        fclose(stream);
    }
    fputs("      <failure type=\"", out);
    put_escaped(out, rule ? rule : kind);
    fputs("\" message=\"", out);
    put_escaped(out, first->detail->where);
    put_escaped(out, first->detail->where[0] ? ": " : "");
    put_escaped(out, first->text);
    fputs("\">", out);
    put_escaped(out, text ? text : "");
    fputs("</failure>\n", out);
    free(text);
}

/* reason NULL: it was evaluated. */
static void put_case(FILE *out, const struct report_suite *suite, const char *class_name,
                     const char *rule, const char *kind, const char *reason, struct totals *totals)
{
    const struct report_finding *first = find(suite, rule, kind);
    char consequence[2 * FINDING_TEXT_BYTES + 2 * FINDING_WHERE_BYTES];

    if (!first && describe_excuse(suite, rule, kind, consequence, sizeof consequence))
        reason = consequence;
    else if (!first && describe_consequence(suite, rule, kind, consequence, sizeof consequence))
        reason = consequence;
    totals->tests++;
    fputs("    <testcase classname=\"drydock.", out);
    put_escaped(out, class_name);
    fputs("\" name=\"", out);
    put_escaped(out, rule ? rule : kind); /* no more: readers find a test again by its name */
    if (!first && !reason) {
        fputs("\"/>\n", out);
        return;
    }
    fputs("\">\n", out);
    if (first) {
        totals->failures++;
        put_failure(out, suite, first, rule, kind);
    } else {
        totals->skipped++;
        fputs("      <skipped message=\"", out);
        put_escaped(out, reason);
        fputs("\"/>\n", out);
    }
    fputs("    </testcase>\n", out);
}

static void put_cases(FILE *out, const struct report_suite *suite, struct totals *totals)
{
    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        const struct rule *rule = rule_get((enum rule_id)i);
        const char *reason = rule_reason_unchecked((enum rule_id)i);
        char area[16];

        snprintf(area, sizeof area, "%.*s", (int)strcspn(rule->id, "-"), rule->id);
        if (suite->rules->evaluated[i])
            reason = NULL;
        else if (!reason)
            reason = "never evaluated";
        put_case(out, suite, area, rule->id, "", reason, totals);
    }
    for (size_t i = 0; i < KIND_COUNT; i++)
        put_case(out, suite, "run", NULL, kinds[i], NULL, totals);
}

static void put_totals(FILE *out, const struct totals *totals, double seconds)
{
    fprintf(out, " tests=\"%u\" failures=\"%u\" errors=\"0\" time=\"%.3f\"", totals->tests,
            totals->failures, seconds);
}

/* The numbers stand before what they count: the cases are written first. */
static bool put_suite(FILE *out, const struct report_suite *suite, struct totals *sum)
{
    struct totals totals = {0};
    char *cases = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&cases, &size);

    if (!stream)
        return false;
    put_cases(stream, suite, &totals);
    if (fclose(stream) != 0) {
        free(cases);
        return false;
    }
    fputs("  <testsuite name=\"", out);
    put_escaped(out, suite->name);
    fputs("\"", out);
    put_totals(out, &totals, suite->seconds);
    fprintf(out, " skipped=\"%u\">\n", totals.skipped);
    fputs(cases, out);
    fputs("  </testsuite>\n", out);
    free(cases);
    sum->tests += totals.tests;
    sum->failures += totals.failures;
    return true;
}

char *report_junit(const struct report_suite *suites, size_t count)
{
    char *body = NULL, *text = NULL;
    size_t size = 0;
    struct totals sum = {0};
    double seconds = 0;
    FILE *stream = open_memstream(&body, &size);
    bool is_fine = stream != NULL;

    for (size_t i = 0; i < count && is_fine; i++) {
        is_fine = put_suite(stream, &suites[i], &sum);
        seconds += suites[i].seconds;
    }
    if (stream && fclose(stream) != 0)
        is_fine = false;
    stream = is_fine ? open_memstream(&text, &size) : NULL;
    if (stream) {
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"drydock\"", stream);
        put_totals(stream, &sum, seconds); /* the root has no number of those skipped */
        fputs(">\n", stream);
        fputs(body, stream);
        fputs("</testsuites>\n", stream);
        if (fclose(stream) != 0) {
            free(text);
            text = NULL;
        }
    }
    free(body);
    return text;
}
