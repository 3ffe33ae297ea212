/*
 * SARIF and JUnit against what their standards require: every member that must be there is, of the
 * right type and with one of the values that there are, whatever the findings say. SARIF: OASIS,
 * "Static Analysis Results Interchange Format 2.1.0", sections 3.13 to 3.49. JUnit: the elements
 * and attributes that the readers of it share.
 */
#include "report/finding_report.h"
#include "report/report.h"

#include "base/bits.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

static const struct finding_detail detail = {.where = "DxgkDdiPatch.pPatchLocationList[2]"};
static const struct finding_detail nothing;

static struct report_finding finding(const char *kind, const char *rule, const char *text,
                                     const char *case_file, uint32_t line)
{
    static char replays[8][512];
    static unsigned next;
    char *replay = replays[next++ % ARRAY_COUNT(replays)];

    snprintf(replay, sizeof replays[0], "drydock run '%s' --seed 7", case_file);
    return (struct report_finding){
        .kind = kind,
        .rule = rule,
        .text = text,
        .detail = rule[0] ? &detail : &nothing,
        .case_file = case_file,
        .line = line,
        .driver = "ref",
        .model = "gpummu",
        .setup = "",
        .wddm = 20,
        .seed = 7,
        .replay = replay,
        .output = "",
    };
}

/* Every way in which a finding can look. */
static size_t make_findings(struct report_finding out[8])
{
    static char beneath[4200];
    size_t count = 0;

    assert_non_null(getcwd(beneath, 4096));
    strcat(beneath, "/cases/main.case");
    out[count++] = finding("driver", "PB-004", "moved 288 bytes", "cases/a b.case", 12);
    out[count++] = finding("content", "XFER-006", "page 5 differs", "./cases/%41[1].case", 1);
    out[count++] = finding("driver", "PB-004", "moved 300 bytes", beneath, 3);
    out[count++] = finding("manager", "SEG-027", "left", "/somewhere/else/x.case", 0);
    out[count++] = finding("submission", "", "was refused", "findings/gpummu-7.case", 4);
    out[count++] = finding("crashed", "", "SIGSEGV \x01 \xff", "", 0);
    out[count++] = finding("leak", "", "3 blocks <&\">", "a\\b\"c.case", 0);
    return count;
}

/* ---- SARIF ----------------------------------------------------------------------------------- */

static const json_t *object_at(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);

    if (!json_is_object(value))
        fail_msg("'%s' is no object", key);
    return value;
}

static const json_t *array_at(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);

    if (!json_is_array(value))
        fail_msg("'%s' is no array", key);
    return value;
}

static const char *text_at(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));

    if (!text || !text[0])
        fail_msg("'%s' is no text", key);
    return text;
}

static void expect_one_of(const char *value, const char *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(value, values[i]) == 0)
            return;
    }
    fail_msg("'%s' is not one of the values that there are", value);
}

static void expect_level(const json_t *json)
{
    static const char *const levels[] = {"none", "note", "warning", "error"};

    expect_one_of(text_at(json, "level"), levels, ARRAY_COUNT(levels));
}

/*
 * RFC 3986, a relative reference: no scheme, not from the root, nothing unescaped, and not upwards.
 */
static void expect_relative_uri(const char *uri)
{
    static const char allowed[] = "-._~!$&'()*+,;=:@/%";

    assert_true(uri[0] != '/' && uri[0] != '\0');
    assert_true(strcspn(uri, ":") >= strcspn(uri, "/"));
    for (const char *at = uri; *at; at++) {
        assert_true(isalnum((unsigned char)*at) || strchr(allowed, *at));
        if (*at == '%')
            assert_true(isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2]));
    }
    assert_null(strstr(uri, "../"));
}

static void expect_no_absolute_path(const json_t *json)
{
    const char *key, *text = json_string_value(json);
    json_t *value;
    size_t index;

    /* A slash where a word begins. */
    for (const char *at = text ? strchr(text, '/') : NULL; at; at = strchr(at + 1, '/')) {
        if ((at == text || strchr(" '\"=:", at[-1])) && isalnum((unsigned char)at[1]))
            fail_msg("'%s' has an absolute path", text);
    }
    json_array_foreach((json_t *)json, index, value) expect_no_absolute_path(value);
    json_object_foreach((json_t *)json, key, value) expect_no_absolute_path(value);
}

/* reportingDescriptor, 3.49: id; of the texts, 3.12: text. */
static void expect_rules(const json_t *rules)
{
    static const char *const texts[] = {"shortDescription", "fullDescription", "help"};
    size_t i, j;
    json_t *one, *other;

    json_array_foreach((json_t *)rules, i, one)
    {
        for (size_t t = 0; t < ARRAY_COUNT(texts); t++)
            text_at(object_at(one, texts[t]), "text");
        expect_level(object_at(one, "defaultConfiguration"));
        json_array_foreach((json_t *)rules, j, other)
        {
            assert_true(i == j || strcmp(text_at(one, "id"), text_at(other, "id")) != 0);
        }
    }
}

/* location, 3.28 to 3.30 and 3.33. */
static void expect_location(const json_t *location)
{
    const json_t *physical = object_at(location, "physicalLocation"), *names;
    json_t *name;
    size_t i;

    expect_relative_uri(text_at(object_at(physical, "artifactLocation"), "uri"));
    assert_true(json_is_integer(json_object_get(object_at(physical, "region"), "startLine")));
    assert_true(json_integer_value(json_object_get(object_at(physical, "region"), "startLine")) >=
                1);
    names = json_object_get(location, "logicalLocations");
    json_array_foreach((json_t *)names, i, name)
    {
        text_at(name, "fullyQualifiedName");
    }
}

/* result, 3.27: a message; the rule by id and by index, which agree. */
static void expect_result(const json_t *result, const json_t *rules)
{
    static const char *const kinds[] = {"notApplicable", "pass", "fail",
                                        "review",        "open", "informational"};
    const json_t *index = json_object_get(result, "ruleIndex");
    const json_t *prints = object_at(result, "partialFingerprints");
    const char *key;
    json_t *value;
    size_t i;

    assert_true(json_is_integer(index) && json_integer_value(index) >= 0);
    assert_true((size_t)json_integer_value(index) < json_array_size(rules));
    assert_string_equal(text_at(json_array_get(rules, (size_t)json_integer_value(index)), "id"),
                        text_at(result, "ruleId"));
    expect_level(result);
    expect_one_of(text_at(result, "kind"), kinds, ARRAY_COUNT(kinds));
    /* A level that is none of "none" belongs to what failed. */
    assert_string_equal(text_at(result, "kind"), "fail");
    text_at(object_at(result, "message"), "text");
    assert_true(json_array_size(array_at(result, "locations")) >= 1);
    json_array_foreach((json_t *)array_at(result, "locations"), i, value) expect_location(value);
    json_object_foreach((json_t *)prints, key, value) assert_true(json_is_string(value));
    object_at(result, "properties");
}

static void sarif_has_what_the_standard_requires(void **state)
{
    static const char *const kinds[] = {"utf16CodeUnits", "unicodeCodePoints"};
    struct report_finding findings[8];
    size_t count = make_findings(findings), i;

    for (size_t used = 0; used <= count; used++) {
        char *text = report_sarif(findings, used);
        json_t *log = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL, *result;
        const json_t *run, *driver;

        assert_true(json_is_object(log));
        assert_string_equal(text_at(log, "version"), "2.1.0");
        assert_int_equal(strncmp(text_at(log, "$schema"), "https://", 8), 0);
        assert_int_equal(json_array_size(array_at(log, "runs")), 1);
        run = json_array_get(array_at(log, "runs"), 0);
        driver = object_at(object_at(run, "tool"), "driver");
        text_at(driver, "name");
        expect_one_of(text_at(run, "columnKind"), kinds, ARRAY_COUNT(kinds));
        expect_rules(array_at(driver, "rules"));
        assert_int_equal(json_array_size(array_at(run, "results")), used);
        json_array_foreach((json_t *)array_at(run, "results"), i, result)
            expect_result(result, array_at(driver, "rules"));
        expect_no_absolute_path(run);
        json_decref(log);
        free(text);
    }
}

static void a_place_is_told_from_where_the_tool_runs(void **state)
{
    static const char *const uris[] = {"cases/a%20b.case", "cases/%2541%5B1%5D.case",
                                       "cases/main.case", "x.case"};
    struct report_finding findings[8];
    char *text = report_sarif(findings, make_findings(findings));
    json_t *log = json_loads(text, 0, NULL);
    const json_t *results = array_at(json_array_get(array_at(log, "runs"), 0), "results");

    for (size_t i = 0; i < ARRAY_COUNT(uris); i++) {
        const json_t *location =
            json_array_get(array_at(json_array_get(results, i), "locations"), 0);

        assert_string_equal(
            text_at(object_at(object_at(location, "physicalLocation"), "artifactLocation"), "uri"),
            uris[i]);
    }
    json_decref(log);
    free(text);
}

/* Properties of a result say what the screen says of its finding. */
static void sarif_tells_what_was_compared_and_how_small_the_case_is(void **state)
{
    struct finding_detail about = detail;
    struct report_finding shrunk = finding("driver", "PB-004", "moved 288 bytes", "a.case", 12);
    const json_t *results, *properties;
    json_t *log, *compared;
    char *text;

    about.argument = (struct finding_argument){"DmaSize", "0x40", "a multiple of 256"};
    shrunk.detail = &about;
    shrunk.shrunk_lines = 9;
    shrunk.shrunk_from = 4312;
    for (int is_in_part = 0; is_in_part < 2; is_in_part++) {
        shrunk.shrunk_in_part = is_in_part;
        text = report_sarif(&shrunk, 1);
        log = json_loads(text, 0, NULL);
        results = array_at(json_array_get(array_at(log, "runs"), 0), "results");
        properties = object_at(json_array_get(results, 0), "properties");
        compared = json_pack("{s:s, s:s, s:s}", "name", "DmaSize", "value", "0x40", "expected",
                             "a multiple of 256");
        assert_true(json_equal(object_at(properties, "argument"), compared));
        assert_int_equal(json_integer_value(json_object_get(properties, "shrunk_lines")), 9);
        assert_int_equal(json_integer_value(json_object_get(properties, "shrunk_from")), 4312);
        assert_true(
            json_equal(json_object_get(properties, "shrunk_in_part"), json_boolean(is_in_part)));
        json_decref(compared);
        json_decref(log);
        free(text);
    }
}

/* ---- JUnit ----------------------------------------------------------------------------------- */

/* The number that an attribute of the element at text says. */
static unsigned number_at(const char *text, const char *attribute)
{
    const char *end = strchr(text, '>'), *at;
    char key[32];

    snprintf(key, sizeof key, " %s=\"", attribute);
    at = strstr(text, key);
    assert_non_null(at);
    assert_true(at < end);
    assert_true(isdigit((unsigned char)at[strlen(key)]));
    return (unsigned)strtoul(at + strlen(key), NULL, 10);
}

static unsigned count_between(const char *text, const char *end, const char *what)
{
    unsigned count = 0;

    for (const char *at = strstr(text, what); at && at < end; at = strstr(at + 1, what))
        count++;
    return count;
}

/* Every element that begins ends, in order; no attribute and no text has what must be escaped. */
static void expect_well_formed(const char *text)
{
    const char *open[16];
    size_t lengths[16], depth = 0;

    assert_int_equal(strncmp(text, "<?xml version=\"1.0\"", 19), 0);
    for (const char *at = strstr(text, "?>") + 2; *at; at++) {
        const char *end;
        unsigned quotes = 0;

        if (*at == '&')
            assert_true(strcspn(at, ";") <= 6);
        if (*at != '<') {
            assert_true(*at != '>');
            continue;
        }
        for (end = at + 1; *end && (*end != '>' || quotes % 2); end++) {
            assert_true(*end != '<');
            quotes += *end == '"';
        }
        assert_int_equal(*end, '>');
        if (at[1] == '/') {
            assert_true(depth > 0);
            depth--;
            assert_int_equal((size_t)(end - at - 2), lengths[depth]);
            assert_memory_equal(at + 2, open[depth], lengths[depth]);
        } else if (end[-1] != '/') {
            assert_true(depth < ARRAY_COUNT(open));
            open[depth] = at + 1;
            lengths[depth++] = strcspn(at + 1, " >");
        }
        at = end;
    }
    assert_int_equal(depth, 0);
}

static void junit_has_what_its_readers_require(void **state)
{
    struct report_finding findings[8];
    size_t count = make_findings(findings);
    struct rule_counts rules = {0};
    const struct report_suite suites[] = {{"first & \"last\"", &rules, findings, count, 1.5},
                                          {"none", &rules, findings, 0, 0}};
    char *text = report_junit(suites, 2);
    const char *root, *suite;
    unsigned tests = 0, failures = 0, skipped = 0;

    assert_non_null(text);
    expect_well_formed(text);
    root = strstr(text, "<testsuites ");
    assert_non_null(root);
    for (suite = strstr(root, "<testsuite "); suite; suite = strstr(suite + 1, "<testsuite ")) {
        const char *end = strstr(suite, "</testsuite>");

        assert_non_null(strstr(suite, " name=\""));
        assert_int_equal(number_at(suite, "tests"), count_between(suite, end, "<testcase "));
        assert_int_equal(number_at(suite, "failures"), count_between(suite, end, "<failure "));
        assert_int_equal(number_at(suite, "skipped"), count_between(suite, end, "<skipped "));
        assert_int_equal(number_at(suite, "errors"), 0);
        number_at(suite, "time");
        assert_int_equal(count_between(suite, end, "<testcase classname=\"drydock."),
                         number_at(suite, "tests"));
        assert_int_equal(count_between(suite, end, "<failure type=\""),
                         number_at(suite, "failures"));
        tests += number_at(suite, "tests");
        failures += number_at(suite, "failures");
        skipped += number_at(suite, "skipped");
    }
    assert_int_equal(number_at(root, "tests"), tests);
    assert_int_equal(number_at(root, "failures"), failures);
    assert_true(skipped > 0);
    assert_int_equal(count_between(root, strchr(root, '>'), " skipped="), 0); /* no such there */
    assert_int_equal(failures, 6);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sarif_has_what_the_standard_requires),
        cmocka_unit_test(sarif_tells_what_was_compared_and_how_small_the_case_is),
        cmocka_unit_test(a_place_is_told_from_where_the_tool_runs),
        cmocka_unit_test(junit_has_what_its_readers_require),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
