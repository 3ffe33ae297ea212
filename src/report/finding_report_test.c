/*
 * Findings in all forms: what a person needs is there, programs can read it, and what code-hosting
 * sites ask of an upload holds.
 */
#include "check/rules/rule_needs.h"
#include "report/finding_report.h"
#include "report/report.h"
#include "report/campaign/folder_files.h"
#include "report/rules_report.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct finding_detail detail = {
    .event = 4711,
    .where = "DxgkDdiBuildPagingBuffer(TRANSFER).pDmaBuffer",
    .objects = "allocation a3: event 7 paged in to segment 1 at 0x240000",
    .arguments = "DmaSize    256 (0x100)\nOperation  0 DXGK_OPERATION_TRANSFER\n",
};
static const struct finding_detail no_detail = {0};

static struct report_finding of_rule(void)
{
    return (struct report_finding){
        .kind = "driver",
        .rule = "PB-004",
        .text = "moved 288 bytes; 256 were offered",
        .detail = &detail,
        .case_file = "cases/a b.case",
        .line = 12,
        .driver = "ref",
        .model = "gpummu",
        .setup = "",
        .wddm = 20,
        .seed = 7,
        .replay = "drydock run 'cases/a b.case' --model gpummu --seed 7",
        .output = "",
        .broken = 3,
        .evaluated = 1000,
    };
}

static struct report_finding of_no_rule(void)
{
    struct report_finding finding = of_rule();

    finding.kind = "content";
    finding.rule = "";
    finding.text = "page <5> & \"6\" is \x01 wrong \xff";
    finding.detail = &no_detail;
    return finding;
}

static char *text_of(const struct report_finding *finding)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    report_finding_text(out, finding, 1, finding);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void the_screen_tells_what_a_person_needs(void **state)
{
    static const char *const parts[] = {
        ("error PB-004  DxgkDdiBuildPagingBuffer(TRANSFER).pDmaBuffer\n"
         "  moved 288 bytes; 256 were offered\n"),
        "  rule       Before returning, set pDmaBuffer to the byte after the last byte written",
        "  source     nc-dxgkddi_buildpagingbuffer, bug-check-0x10e\n",
        "  Windows    bug check 0x10E, parameter 1 = 0x12 when past the end\n",
        "  objects    allocation a3: event 7 paged in to segment 1 at 0x240000\n",
        "  arguments  DmaSize    256 (0x100)\n             Operation  0 DXGK_OPERATION_TRANSFER\n",
        "  case       cases/a b.case:12\n",
        "  counted    PB-004 was broken 3 times in 1,000 evaluations\n",
        "  seed       7, gpummu, driver ref\n",
        "  replay     drydock run 'cases/a b.case' --model gpummu --seed 7\n",
    };
    const struct report_finding finding = of_rule();
    char *text = text_of(&finding);

    for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
        if (!strstr(text, parts[i]))
            fail_msg("'%s' is not in\n%s", parts[i], text);
    }
    /* No line is wider than a screen. */
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 100);
    free(text);
}

static void a_finding_without_a_rule_goes_under_its_kind(void **state)
{
    const struct report_finding finding = of_no_rule();
    char *text = text_of(&finding);

    assert_int_equal(strncmp(text, "error content  cases/a b.case:12\n  page ", 40), 0);
    assert_null(strstr(text, "rule "));
    free(text);
}

/* Bytes show what the driver did with a call; what the manager asked for is judged by itself. */
static void a_content_finding_never_accuses_the_manager(void **state)
{
    struct report_finding finding = of_rule();
    json_t *json;
    char *text;

    finding.rule = "XFER-006";
    finding.kind = "manager";
    text = text_of(&finding);
    assert_non_null(strstr(text, "a defect of ours"));
    free(text);
    finding.kind = "content";
    text = text_of(&finding);
    assert_null(strstr(text, "a defect of ours"));
    assert_null(strstr(text, "system's own"));
    assert_non_null(strstr(text, "the driver's to carry out"));
    free(text);
    json = report_finding_json(&finding, 1, &finding);
    assert_string_equal(json_string_value(json_object_get(json, "side")), "driver");
    json_decref(json);
    finding.kind = "manager";
    json = report_finding_json(&finding, 1, &finding);
    assert_string_equal(json_string_value(json_object_get(json, "side")), "os");
    json_decref(json);
}

static void an_argument_stands_beside_what_it_should_be(void **state)
{
    struct report_finding finding = of_rule();
    struct finding_detail about = detail;
    json_t *json, *expected;

    finding.detail = &about;
    json = report_finding_json(&finding, 1, &finding);
    assert_true(json_is_null(json_object_get(json, "argument")));
    json_decref(json);

    about.argument = (struct finding_argument){"DmaSize", "0x40", "a multiple of 256"};
    json = report_finding_json(&finding, 1, &finding);
    expected = json_pack("{s:s, s:s, s:s}", "name", "DmaSize", "value", "0x40", "expected",
                         "a multiple of 256");
    assert_true(json_equal(json_object_get(json, "argument"), expected));
    json_decref(expected);
    json_decref(json);

    about.argument.value[0] = about.argument.expected[0] = '\0';
    json = report_finding_json(&finding, 1, &finding);
    assert_true(json_is_null(json_object_get(json, "argument")));
    json_decref(json);
}

static void a_finding_has_the_address_of_each_source_of_its_rule(void **state)
{
    struct report_finding finding = of_rule();
    json_t *json = report_finding_json(&finding, 1, &finding);
    const json_t *links = json_object_get(json, "links");

    assert_int_equal(json_object_size(links), 2);
    assert_string_equal(json_string_value(json_object_get(links, "bug-check-0x10e")),
                        "https://learn.microsoft.com/windows-hardware/drivers/debugger/"
                        "bug-check-0x10e---video-memory-management-internal");
    json_decref(json);

    finding = of_no_rule();
    json = report_finding_json(&finding, 1, &finding);
    assert_true(json_is_null(json_object_get(json, "links")));
    json_decref(json);
}

static void a_run_that_could_not_end_is_a_finding_too(void **state)
{
    struct run_result *result = calloc(1, sizeof *result);
    struct report_finding findings[REPORT_RUN_FINDINGS];

    assert_non_null(result);
    run_config_defaults(&result->config);
    for (unsigned i = 0; i < RUN_MAX_FINDINGS + 3; i++)
        run_result_report(result, RUN_FINDING_FAULT, 0, 0, "fault %u", i);
    snprintf(result->error, sizeof result->error, "stuck");
    result->outcome = RUN_FINDINGS;
    assert_int_equal(report_findings_of_run(result, &(struct report_origin){"", ""}, findings),
                     RUN_MAX_FINDINGS);
    result->outcome = RUN_BROKEN;
    assert_int_equal(report_findings_of_run(result, &(struct report_origin){"", ""}, findings),
                     RUN_MAX_FINDINGS + 1);
    assert_string_equal(findings[RUN_MAX_FINDINGS].kind, "broken");
    assert_string_equal(findings[RUN_MAX_FINDINGS].text, "stuck");
    free(result);
}

static void repeats_of_a_cause_are_a_line_each(void **state)
{
    struct report_finding findings[6];
    struct finding_detail other = detail;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    snprintf(other.objects, sizeof other.objects, "allocation a9: event 1 created");
    for (size_t i = 0; i < 6; i++) {
        findings[i] = of_rule();
        findings[i].detail = i ? &other : &detail;
        findings[i].text = i ? "moved 300 bytes; 256 were offered" : findings[i].text;
    }
    findings[3].rule = "PB-005";
    report_finding_list(out, findings, 6);
    assert_int_equal(fclose(out), 0);
    /* Two causes, and four more findings of the first. */
    assert_non_null(strstr(text, "error PB-004"));
    assert_non_null(strstr(text, "error PB-005"));
    assert_null(strstr(strstr(text, "error PB-004") + 1, "error PB-004"));
    assert_non_null(strstr(text, "  also       allocation a9: moved 300 bytes; 256 were offered\n"
                                 "             allocation a9: moved 300 bytes; 256 were offered\n"
                                 "             allocation a9: moved 300 bytes; 256 were offered\n"
                                 "             and 1 more\n"));
    free(text);
}

static void consequences_stand_under_their_cause(void **state)
{
    struct report_finding findings[4];
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    json_t *json;

    for (size_t i = 0; i < 4; i++) {
        findings[i] = i ? of_no_rule() : of_rule();
        findings[i].text = "page 5 is wrong";
        findings[i].cause = i ? &findings[0] : NULL;
    }
    findings[3].kind = "manager";
    findings[3].rule = "PT-013";
    report_finding_list(out, findings, 4);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "error PB-004"));
    assert_null(strstr(text, "error content"));
    assert_null(strstr(text, "a defect of ours"));
    assert_non_null(strstr(text, "  follows    content: page 5 is wrong (2 times)\n"
                                 "             PT-013: page 5 is wrong\n"));
    free(text);

    json = report_finding_json(findings, 4, &findings[0]);
    assert_true(json_is_null(json_object_get(json, "consequence_of")));
    assert_int_equal(json_array_size(json_object_get(json, "consequences")), 2);
    assert_int_equal(json_integer_value(json_object_get(
                         json_array_get(json_object_get(json, "consequences"), 0), "count")),
                     2);
    json_decref(json);
    json = report_finding_json(findings, 4, &findings[3]);
    assert_true(json_is_string(json_object_get(json, "consequence_of")));
    assert_int_equal(json_array_size(json_object_get(json, "consequences")), 0);
    json_decref(json);
}

static void a_crash_shows_what_was_written_last(void **state)
{
    struct report_finding finding = of_no_rule();
    char *text;

    finding.kind = "crashed";
    finding.output = "driver(function+0x12)\nbench(run+0x34)\n";
    text = text_of(&finding);
    assert_non_null(strstr(text, "  output     driver(function+0x12)\n"
                                 "             bench(run+0x34)\n"));
    free(text);
}

static void a_cause_with_a_smaller_case_is_replayed_by_it(void **state)
{
    struct campaign_cause *cause = calloc(1, sizeof *cause);
    char strings[REPORT_RECORD_TEXT], *text;
    struct report_finding finding;

    assert_non_null(cause);
    snprintf(cause->first.driver, sizeof cause->first.driver, "ref");
    snprintf(cause->first.findings[0].kind, sizeof cause->first.findings[0].kind, "driver");
    cause->count = 3;
    finding = report_finding_of_cause(cause, NULL, strings);
    assert_non_null(strstr(finding.replay, "drydock check --driver ref"));
    assert_int_equal(finding.shrunk_from, 0);

    snprintf(cause->shrunk_path, sizeof cause->shrunk_path, "my findings/PB-004-1.case");
    cause->shrunk_lines = 9;
    cause->shrunk_from = 4312;
    finding = report_finding_of_cause(cause, NULL, strings);
    assert_string_equal(finding.replay, "drydock replay 'my findings/PB-004-1.case'");
    text = text_of(&finding);
    assert_non_null(strstr(text, "  replay     drydock replay 'my findings/PB-004-1.case'    "
                                 "(9 lines, shrunk from 4,312)\n"));
    free(text);
    free(cause);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_has_every_key_with_and_without_a_rule(void **state)
{
    static const char *const keys[] = {
        "kind",         "rule",        "cause",          "where",        "text",      "sentence",
        "source",       "windows",     "basis",          "side",         "tier",      "event",
        "versions",     "function",    "objects",        "arguments",    "bytes",     "printed",
        "case",         "line",        "seed",           "driver",       "model",     "wddm",
        "setup",        "replay",      "runs",           "broken",       "evaluated", "output",
        "shrunk_lines", "shrunk_from", "consequence_of", "consequences", "writers",   "id",
        "state",        "argument",    "shrunk_in_part", "links",
    };
    const struct report_finding findings[] = {of_rule(), of_no_rule()};

    for (size_t i = 0; i < 2; i++) {
        json_t *json = report_finding_json(findings, 2, &findings[i]);

        assert_int_equal(json_object_size(json), ARRAY_COUNT(keys));
        for (size_t k = 0; k < ARRAY_COUNT(keys); k++)
            assert_non_null(json_object_get(json, keys[k]));
        assert_int_equal(json_array_size(json_object_get(json, "arguments")), i ? 0 : 2);
        json_decref(json);
    }
}

/* ---- JUnit ----------------------------------------------------------------------------------- */

static unsigned count_of(const char *text, const char *part)
{
    unsigned count = 0;

    for (; (text = strstr(text, part)); text++)
        count++;
    return count;
}

static void junit_counts_what_it_lists(void **state)
{
    const struct report_finding findings[] = {of_rule(), of_rule(), of_no_rule()};
    struct rule_counts rules = {0};
    const struct report_suite suite = {"a \"suite\"", &rules, findings, 3, 1.5};
    char *text, expected[160];
    unsigned tests = RULE_COUNT - 1 + 13;

    rules.evaluated[RULE_PB_004] = 7;
    rules.evaluated[RULE_PB_005] = 7;
    text = report_junit(&suite, 1);
    assert_non_null(text);
    /* Two findings of a rule are one failure; content is another. */
    assert_int_equal(count_of(text, "<testcase "), tests);
    assert_int_equal(count_of(text, "<failure "), 2);
    assert_int_equal(count_of(text, "<skipped "), RULE_COUNT - 3);
    snprintf(expected, sizeof expected, " tests=\"%u\" failures=\"2\" errors=\"0\" time=\"1.500\"",
             tests);
    assert_int_equal(count_of(text, expected), 2);
    snprintf(expected, sizeof expected, "time=\"1.500\" skipped=\"%u\">", RULE_COUNT - 3);
    assert_int_equal(count_of(text, expected), 1); /* the root has no such number */
    assert_non_null(strstr(text, "<testcase classname=\"drydock.PB\" name=\"PB-005\""));
    assert_non_null(strstr(text, "<testsuite name=\"a &quot;suite&quot;\""));
    /* What XML does not have is not in it. */
    assert_non_null(strstr(text, "page &lt;5&gt; &amp; &quot;6&quot; is ? wrong ?"));
    assert_null(strchr(text, '\x01'));
    assert_null(strchr(text, '\xff'));
    free(text);
}

static void junit_does_not_fail_for_a_consequence(void **state)
{
    struct report_finding findings[] = {of_rule(), of_no_rule(), of_rule()};
    struct rule_counts rules = {0};
    const struct report_suite suite = {"suite", &rules, findings, 3, 0};
    char *text;

    findings[1].cause = &findings[0];
    findings[2].rule = "PB-005";
    findings[2].cause = &findings[0];
    rules.evaluated[RULE_PB_004] = rules.evaluated[RULE_PB_005] = 7;
    text = report_junit(&suite, 1);
    assert_non_null(text);
    assert_int_equal(count_of(text, "<failure "), 1);
    assert_int_equal(count_of(text, "<skipped message=\"broken as a consequence of PB-004"), 2);
    free(text);
}

/* ---- SARIF ----------------------------------------------------------------------------------- */

static const json_t *member(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);

    if (!value)
        fail_msg("'%s' is missing", key);
    return value;
}

static const char *string_at(const json_t *json, const char *key)
{
    const char *text = json_string_value(member(json, key));

    if (!text || !text[0])
        fail_msg("'%s' is no text", key);
    return text;
}

/* What an upload must have; the sites refuse it otherwise. */
static void assert_uploadable(const json_t *log, size_t result_count)
{
    const json_t *runs = member(log, "runs"), *run = json_array_get(runs, 0), *driver, *rules,
                 *results;
    size_t i;
    json_t *one;

    assert_string_equal(string_at(log, "$schema"), "https://json.schemastore.org/sarif-2.1.0.json");
    assert_string_equal(string_at(log, "version"), "2.1.0");
    assert_int_equal(json_array_size(runs), 1);
    driver = member(member(run, "tool"), "driver");
    assert_string_equal(string_at(driver, "name"), "Drydock");
    rules = member(driver, "rules");
    results = member(run, "results");
    assert_int_equal(json_array_size(results), result_count);
    json_array_foreach((json_t *)rules, i, one)
    {
        string_at(one, "id");
        string_at(member(one, "shortDescription"), "text");
        string_at(member(one, "fullDescription"), "text");
        string_at(member(one, "help"), "text");
    }
    json_array_foreach((json_t *)results, i, one)
    {
        const json_t *locations = member(one, "locations"), *physical, *rule, *prints;
        size_t index = (size_t)json_integer_value(member(one, "ruleIndex"));
        const char *level = string_at(one, "level"), *uri;

        rule = json_array_get(rules, index);
        assert_non_null(rule);
        assert_string_equal(string_at(one, "ruleId"), string_at(rule, "id"));
        string_at(member(one, "message"), "text");
        assert_true(strcmp(level, "error") == 0 || strcmp(level, "warning") == 0 ||
                    strcmp(level, "note") == 0);
        assert_true(json_array_size(locations) >= 1);
        physical = member(json_array_get(locations, 0), "physicalLocation");
        uri = string_at(member(physical, "artifactLocation"), "uri");
        assert_int_equal(uri[strcspn(uri, " \"<>\\^`{|}")], '\0');
        assert_true(json_integer_value(member(member(physical, "region"), "startLine")) >= 1);
        prints = member(one, "partialFingerprints");
        string_at(prints, "primaryLocationLineHash");
    }
}

static void sarif_has_a_result_for_each_cause(void **state)
{
    struct report_finding findings[] = {of_rule(), of_no_rule()};
    char *text;
    json_t *log;
    const json_t *result;

    findings[1].cause = &findings[0];
    text = report_sarif(findings, 2);
    log = json_loads(text, 0, NULL);
    assert_non_null(log);
    assert_uploadable(log, 1);
    result = json_array_get(member(json_array_get(member(log, "runs"), 0), "results"), 0);
    assert_int_equal(json_array_size(member(member(result, "properties"), "consequences")), 1);
    assert_non_null(
        strstr(string_at(member(result, "message"), "text"), "What follows from it: content"));
    json_decref(log);
    free(text);
}

static void what_is_our_fault_is_no_error_of_the_author(void **state)
{
    struct report_finding findings[] = {of_no_rule(), of_no_rule()};
    char *text;
    json_t *log;
    const json_t *results;

    findings[1].kind = "manager";
    findings[1].text = "the manager forgot a fence";
    text = report_sarif(findings, 2);
    log = json_loads(text, 0, NULL);
    assert_non_null(log);
    results = member(json_array_get(member(log, "runs"), 0), "results");
    assert_string_equal(string_at(json_array_get(results, 0), "level"), "error");
    assert_string_equal(string_at(json_array_get(results, 1), "level"), "note");
    json_decref(log);
    free(text);
}

static void sarif_is_what_sites_accept(void **state)
{
    struct report_finding findings[] = {of_rule(), of_no_rule(), of_rule()};
    char *text;
    json_t *log;
    const json_t *run, *results, *place;

    findings[2].line = 0;
    findings[2].text = "moved 299 bytes; 256 were offered";
    text = report_sarif(findings, 3);
    assert_non_null(text);
    log = json_loads(text, 0, NULL);
    assert_non_null(log);
    assert_uploadable(log, 3);
    run = json_array_get(member(log, "runs"), 0);
    results = member(run, "results");
    /* Two rules for three results; numbers do not change the fingerprint. */
    assert_int_equal(json_array_size(member(member(member(run, "tool"), "driver"), "rules")), 2);
    assert_string_equal(
        string_at(member(json_array_get(results, 0), "partialFingerprints"), "drydockCause/v1"),
        string_at(member(json_array_get(results, 2), "partialFingerprints"), "drydockCause/v1"));
    place = member(json_array_get(member(json_array_get(results, 0), "locations"), 0),
                   "physicalLocation");
    assert_string_equal(string_at(member(place, "artifactLocation"), "uri"), "cases/a%20b.case");
    assert_int_equal(json_integer_value(member(member(place, "region"), "startLine")), 12);
    json_decref(log);
    free(text);
}

static void sarif_without_findings_is_what_sites_accept(void **state)
{
    char *text = report_sarif(NULL, 0);
    json_t *log = json_loads(text, 0, NULL);

    assert_non_null(log);
    assert_uploadable(log, 0);
    json_decref(log);
    free(text);
}

/* ---- What Windows would do ------------------------------------------------------------------- */

static void bug_checks_are_spelled_out(void **state)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"0x10E p1=0xB (inferred mapping)",
         "bug check 0x10E, parameter 1 = 0xB (inferred mapping)"},
        {"0x119 p1=0xD; 0x119 p1=0x5 if a paging packet faults",
         "bug check 0x119, parameter 1 = 0xD; bug check 0x119, parameter 1 = 0x5 if a paging "
         "packet "
         "faults"},
        {"0x116", "bug check 0x116"},
        {"undefined", "not documented: anything may happen"},
        {"content lost", "content lost"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const struct rule rule = {.side = RULE_SIDE_DRIVER, .violation = cases[i].from};
        char text[REPORT_VIOLATION_BYTES];

        assert_string_equal(report_violation(&rule, text), cases[i].to);
    }
    for (unsigned i = 1; i < RULE_COUNT; i++) {
        char text[REPORT_VIOLATION_BYTES];

        report_violation(rule_get((enum rule_id)i), text);
        assert_true(text[0] != '\0');
        assert_null(strstr(text, "p1="));
    }
}

/* ---- Rules ----------------------------------------------------------------------------------- */

static void counts_of_rules_come_back_from_their_file(void **state)
{
    char folder[] = "/tmp/rules-XXXXXX", error[512] = "", command[96];
    struct report_rule_file file = {.runs = 17, .results_bytes = 4096}, again;
    struct rule_counts back;
    uint64_t runs = 0;
    int at;

    assert_non_null(mkdtemp(folder));
    at = folder_open(folder);
    file.counts.evaluated[RULE_PB_004] = UINT64_C(1) << 40;
    file.counts.evaluated[RULE_XFER_003] = 5;
    file.counts.broken[RULE_XFER_003] = 2;
    file.others = json_pack("{s:{s:i,s:i}}", "NEW-001", "evaluated", 3, "broken", 0);
    assert_true(report_rule_file_write(at, &file, error));
    assert_true(report_rule_counts_load(folder, &back, &runs, error));
    assert_memory_equal(&file.counts, &back, sizeof back);
    assert_int_equal(runs, 17);

    /* Rules of another version stay. */
    assert_true(report_rule_file_read(at, &again, error));
    assert_memory_equal(&file.counts, &again.counts, sizeof back);
    assert_int_equal(again.results_bytes, 4096);
    assert_true(json_equal(again.others, file.others));
    report_rule_file_fini(&file);
    report_rule_file_fini(&again);
    close(at);
    assert_false(report_rule_counts_load("/nowhere/at-all", &back, &runs, error));
    assert_non_null(strstr(error, "/nowhere/at-all"));
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void a_rule_that_was_never_evaluated_is_not_checked(void **state)
{
    struct rule_counts counts = {0};
    unsigned cannot = RULE_NONE;
    char *text;
    json_t *json, *one;
    size_t i;

    for (unsigned id = 1; id < RULE_COUNT && !cannot; id++)
        cannot = rule_reason_unchecked((enum rule_id)id) ? id : RULE_NONE;
    counts.evaluated[RULE_PB_004] = 3;
    assert_int_equal(rule_state(RULE_PB_004, &counts), RULE_STATE_CHECKED);
    assert_int_equal(rule_state(RULE_PB_005, &counts), RULE_STATE_UNCHECKED);
    assert_int_equal(rule_state(RULE_PB_005, NULL), RULE_STATE_UNKNOWN);
    assert_int_equal(rule_state((enum rule_id)cannot, &counts), RULE_STATE_CANNOT);

    text = report_rules_json("pb", &counts, 1);
    json = json_loads(text, 0, NULL);
    json_array_foreach((json_t *)member(json, "rules"), i, one)
    {
        assert_int_equal(json_object_size(one), 16);
        assert_int_equal(strncmp(string_at(one, "id"), "PB-", 3), 0);
        assert_int_equal(json_is_true(member(one, "checked")),
                         strcmp(string_at(one, "id"), "PB-004") == 0);
    }
    assert_int_equal(i, 32);
    json_decref(json);
    free(text);
    text = report_rules_json("", NULL, 0);
    json = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(member(json, "rules")), RULE_COUNT - 1);
    assert_true(json_is_null(member(json_array_get(member(json, "rules"), 0), "evaluated")));
    json_decref(json);
    free(text);
    assert_true(report_has_rules("PT"));
    assert_true(report_has_rules("pt-001"));
    assert_false(report_has_rules("P"));
    assert_false(report_has_rules("XYZ"));
}

/* What the runs of a driver never came to has its reason in what else they came to, or did not. */
static void a_rule_that_was_never_evaluated_has_a_reason(void **state)
{
    struct rule_counts counts = {0};
    char *text = NULL;
    size_t bytes;
    FILE *out;

    assert_int_equal(rule_find_lack(RULE_PB_025, &counts), RULE_LACK_WDDM2);
    assert_int_equal(rule_find_lack(RULE_FENCE_003, &counts), RULE_LACK_GPU);
    assert_int_equal(rule_find_lack(RULE_CHA_004, &counts), RULE_LACK_WDDM2);
    assert_int_equal(rule_find_lack(RULE_SWZ_003, &counts), RULE_LACK_FEATURE);
    assert_int_equal(rule_find_lack(RULE_PB_004, &counts), RULE_LACK_CHANCE);
    assert_int_equal(rule_find_lack(RULE_PB_017, &counts), RULE_LACK_NOTHING);

    counts.evaluated[RULE_PB_025] = 1;
    assert_int_equal(rule_find_lack(RULE_PB_025, &counts), RULE_LACK_NOTHING);
    assert_int_equal(rule_find_lack(RULE_CHA_004, &counts), RULE_LACK_FEATURE);
    assert_int_equal(rule_find_lack(RULE_PT_018, &counts), RULE_LACK_GPUMMU);
    assert_int_equal(rule_find_lack(RULE_PT_017, &counts), RULE_LACK_GPUMMU);
    counts.evaluated[RULE_PT_003] = 1;
    assert_int_equal(rule_find_lack(RULE_PT_018, &counts), RULE_LACK_CHANCE);
    assert_int_equal(rule_find_lack(RULE_PT_017, &counts), RULE_LACK_GPU);
    counts.evaluated[RULE_SUB_002] = 1;
    assert_int_equal(rule_find_lack(RULE_PT_017, &counts), RULE_LACK_CHANCE);

    out = open_memstream(&text, &bytes);
    assert_non_null(out);
    report_rules_text(out, "CHA-004", &counts, 1);
    fclose(out);
    assert_non_null(
        strstr(text, "(of features that the driver does not have: a CPU host aperture)"));
    assert_non_null(strstr(text, "not asked 1 of features that the driver does not have\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_screen_tells_what_a_person_needs),
        cmocka_unit_test(a_finding_without_a_rule_goes_under_its_kind),
        cmocka_unit_test(a_content_finding_never_accuses_the_manager),
        cmocka_unit_test(an_argument_stands_beside_what_it_should_be),
        cmocka_unit_test(a_finding_has_the_address_of_each_source_of_its_rule),
        cmocka_unit_test(a_run_that_could_not_end_is_a_finding_too),
        cmocka_unit_test(repeats_of_a_cause_are_a_line_each),
        cmocka_unit_test(consequences_stand_under_their_cause),
        cmocka_unit_test(a_crash_shows_what_was_written_last),
        cmocka_unit_test(a_cause_with_a_smaller_case_is_replayed_by_it),
        cmocka_unit_test(json_has_every_key_with_and_without_a_rule),
        cmocka_unit_test(junit_counts_what_it_lists),
        cmocka_unit_test(what_is_our_fault_is_no_error_of_the_author),
        cmocka_unit_test(sarif_is_what_sites_accept),
        cmocka_unit_test(sarif_has_a_result_for_each_cause),
        cmocka_unit_test(junit_does_not_fail_for_a_consequence),
        cmocka_unit_test(sarif_without_findings_is_what_sites_accept),
        cmocka_unit_test(bug_checks_are_spelled_out),
        cmocka_unit_test(counts_of_rules_come_back_from_their_file),
        cmocka_unit_test(a_rule_that_was_never_evaluated_is_not_checked),
        cmocka_unit_test(a_rule_that_was_never_evaluated_has_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
