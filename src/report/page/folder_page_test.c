#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/page/folder_page.h"
#include "report/page/campaign_page.h"
#include "report/page/page.h"
#include "record/record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder with this run.json; "" is none. */
static void begin(char folder[64], const char *json)
{
    char path[128];
    FILE *file;

    strcpy(folder, "/tmp/folder_page.XXXXXX");
    assert_non_null(mkdtemp(folder));
    if (!json[0])
        return;
    snprintf(path, sizeof path, "%s/run.json", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(json, file);
    fclose(file);
}

static void end(const char *folder)
{
    static const char *const names[] = {"run.json", "record.ddr", "campaign.json"};
    char path[128];

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void a_run_without_a_record_has_its_figures(void **state)
{
    struct report_run run;
    char folder[64], slashes[80], error[512];

    begin(folder, "{\"case\": \"x\"}");
    snprintf(slashes, sizeof slashes, "%s//", folder);
    assert_int_equal(report_folder_kind(folder), REPORT_FOLDER_RUN);
    assert_true(report_run_load(slashes, &run, error));
    assert_string_equal(run.name, folder);
    assert_null(run.story);
    assert_int_equal(run.note_count, 1);
    assert_non_null(strstr(run.notes[0], "has no record.ddr"));
    assert_string_equal(json_string_value(json_object_get(run.json, "case")), "x");
    report_run_fini(&run);
    end(folder);
}

/* A link could lead to any file of the user's, and a pipe would be waited for. */
static void a_record_or_figures_that_are_no_files_are_not_read(void **state)
{
    struct report_run run;
    char folder[64], path[128], error[512];

    begin(folder, "{}");
    snprintf(path, sizeof path, "%s/record.ddr", folder);
    assert_int_equal(symlink("run.json", path), 0);
    assert_true(report_run_load(folder, &run, error));
    assert_null(run.story);
    assert_non_null(strstr(run.notes[0], "no ordinary file"));
    report_run_fini(&run);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_true(report_run_load(folder, &run, error));
    assert_non_null(strstr(run.notes[0], "no ordinary file"));
    report_run_fini(&run);

    snprintf(path, sizeof path, "%s/run.json", folder);
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(report_folder_kind(folder), REPORT_FOLDER_NONE);
    assert_false(report_run_load(folder, &run, error));
    assert_non_null(strstr(error, "run.json"));
    end(folder);
}

/* A record that was not closed, as a killed run leaves it; tail: bytes behind it. */
static void write_record(const char *folder, const char *tail)
{
    char path[128];
    struct record *record;
    int file;

    snprintf(path, sizeof path, "%s/record.ddr", folder);
    file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(file > 0);
    record = record_create(base_services_libc(), file, NULL);
#define T(text) record_text(record, text)
    RECORD_ITEM(record, run, 0, .key = T("case"), .value = T("killed.case"));
    RECORD_ITEM(record, run, 0, .key = T("model"), .value = T("gpummu"));
    RECORD_ITEM(record, call, 5, .sequence = 17, .name = T("DxgkDdiPatch"));
    RECORD_ITEM(record, found, 6, .number = 1, .sequence = 17, .rule = T("PB-004"),
                .text = T("moved \xff too far"));
    RECORD_ITEM(record, finding, 7, .number = 2, .sequence = 17,
                .json = T("{\"rule\": \"PB-008\", \"text\": \"whole\", \"tier\": 1}"));
#undef T
    record_flush(record);
    record_abandon(record);
    if (tail[0])
        assert_true(write(file, tail, strlen(tail)) == (ssize_t)strlen(tail));
    close(file);
}

static void a_killed_run_has_a_page_of_its_record(void **state)
{
    static const char *const tails[] = {"", "half a block of"};
    struct report_run run;
    char folder[64], error[512], *html;
    const json_t *findings;
    size_t size;

    for (unsigned i = 0; i < 2; i++) {
        begin(folder, "");
        assert_int_equal(report_folder_kind(folder), REPORT_FOLDER_NONE);
        write_record(folder, tails[i]);
        assert_int_equal(report_folder_kind(folder), REPORT_FOLDER_RUN);
        assert_true(report_run_load(folder, &run, error));
        assert_int_equal(run.note_count, 2);
        assert_non_null(strstr(run.notes[0], "no run.json"));
        assert_non_null(strstr(run.notes[1], "not whole"));
        assert_string_equal(json_string_value(json_object_get(run.json, "case")), "killed.case");
        assert_string_equal(json_string_value(json_object_get(run.json, "outcome")), "unfinished");
        findings = json_object_get(run.json, "findings");
        assert_int_equal(json_array_size(findings), 2);
        assert_int_equal(json_integer_value(json_object_get(json_array_get(findings, 0), "event")),
                         17);
        assert_string_equal(json_string_value(json_object_get(json_array_get(findings, 0), "rule")),
                            "PB-004");
        assert_int_equal(json_integer_value(json_object_get(json_array_get(findings, 1), "tier")),
                         1);
        if (report_page_is_built()) {
            html = report_run_html(&run, &size, error);
            assert_non_null(html);
            assert_non_null(strstr(html, "did not come to its end"));
            free(html);
        }
        report_run_fini(&run);
        end(folder);
    }
}

/* Nothing is known of such a run: there is nothing to show. */
static void a_folder_with_a_record_of_no_use_is_refused(void **state)
{
    struct report_run run;
    char folder[64], path[128], error[512];
    FILE *file;

    begin(folder, "");
    snprintf(path, sizeof path, "%s/record.ddr", folder);
    file = fopen(path, "w");
    fputs("DDR", file);
    fclose(file);
    assert_false(report_run_load(folder, &run, error));
    assert_non_null(strstr(error, "no run.json"));
    assert_null(run.story);
    /* A run.json that is no file is told, and no record stands for it. */
    write_record(folder, "");
    snprintf(path, sizeof path, "%s/run.json", folder);
    assert_int_equal(symlink("record.ddr", path), 0);
    assert_false(report_run_load(folder, &run, error));
    assert_non_null(strstr(error, "cannot read"));
    end(folder);
}

static void a_run_json_that_is_none_is_told(void **state)
{
    static const char *const texts[][2] = {
        {"[1]", "it has no object"}, {"{\"a\":", "line 1"}, {"{\"a\": \"\xff\"}", "line 1"}};
    struct report_run run;
    char folder[64], error[512];

    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        begin(folder, texts[i][0]);
        assert_false(report_run_load(folder, &run, error));
        assert_non_null(strstr(error, texts[i][1]));
        end(folder);
    }
}

/* Another folder of a shorter name is not read in its place. */
static void a_name_that_is_too_long_is_refused(void **state)
{
    struct report_run run;
    char folder[64], name[700] = "", error[512] = "";

    begin(folder, "{}");
    for (unsigned i = 0; i < 300; i++)
        memcpy(name + 2 * i, "./", 3);
    memmove(name + strlen(folder) + 1, name, strlen(name) + 1);
    memcpy(name, folder, strlen(folder));
    name[strlen(folder)] = '/';
    assert_false(report_run_load(name, &run, error));
    assert_non_null(strstr(error, "too long"));
    end(folder);
}

/* Of a cause that the folder has a case of; what is too long for a page is not cut. */
static void the_smallest_case_of_a_cause_is_its_text_unless_it_is_long(void **state)
{
    static const size_t sizes[] = {0, 1, CAMPAIGN_PAGE_CASE_BYTES, CAMPAIGN_PAGE_CASE_BYTES + 1};
    struct report_campaign *campaign = calloc(1, sizeof *campaign);
    char folder[64], inner[96], path[128], elsewhere[96], named[1100];

    assert_non_null(campaign);
    campaign->summary.causes = calloc(1, sizeof *campaign->summary.causes);
    campaign->summary.cause_count = 1;
    assert_non_null(campaign->summary.causes);
    strcpy(campaign->summary.causes[0].first.findings[0].rule, "PB-004");
    begin(folder, "");
    strcpy(campaign->folder, folder);
    assert_null(report_cause_case_text(campaign, 0));
    snprintf(inner, sizeof inner, "%s/findings", folder);
    assert_int_equal(mkdir(inner, 0700), 0);
    snprintf(path, sizeof path, "%s/PB-004-1.case", inner);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        FILE *file = fopen(path, "w");
        json_t *text;

        assert_non_null(file);
        for (size_t k = 0; k < sizes[i]; k++)
            fputc('x', file);
        fclose(file);
        text = report_cause_case_text(campaign, 0);
        assert_int_equal(json_string_length(text),
                         sizes[i] > CAMPAIGN_PAGE_CASE_BYTES ? 0 : sizes[i]);
        json_decref(text);
    }
    /* Not a text of somebody else's: neither by the case, nor by the folder of the cases. */
    snprintf(elsewhere, sizeof elsewhere, "%s/other", folder);
    assert_int_equal(rename(path, elsewhere), 0);
    assert_int_equal(truncate(elsewhere, 1), 0);
    assert_int_equal(symlink("../other", path), 0);
    assert_false(report_cause_case(campaign, 0, named));
    assert_null(report_cause_case_text(campaign, 0));
    unlink(path);
    assert_int_equal(rename(elsewhere, path), 0);
    assert_true(report_cause_case(campaign, 0, named));
    assert_int_equal(rename(inner, elsewhere), 0);
    assert_int_equal(symlink("other", inner), 0);
    assert_false(report_cause_case(campaign, 0, named));
    assert_null(report_cause_case_text(campaign, 0));
    unlink(path);
    unlink(inner);
    rmdir(elsewhere);
    end(folder);
    free(campaign->summary.causes);
    free(campaign);
}

static void what_was_left_out_is_told_as_text(void **state)
{
    struct story *story = story_create(base_services_libc());
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    json_t *list;

    story_fact(story, "left_out", "12 calls");
    story_fact(story, "case", "x");
    story_fact(story, "left_out", "\033[2J");
    story_fact(story, "left_out", "\xff");
    report_left_out_text(out, story);
    fclose(out);
    assert_non_null(strstr(text, "  left out: 12 calls\n  left out: \\x1b[2J\n"));
    assert_null(strchr(text, '\033'));
    list = report_left_out_json(story);
    assert_int_equal(json_array_size(list), 3);
    assert_string_equal(json_string_value(json_array_get(list, 0)), "12 calls");
    json_decref(list);
    list = report_left_out_json(NULL);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
    free(text);
    story_destroy(story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_without_a_record_has_its_figures),
        cmocka_unit_test(a_record_or_figures_that_are_no_files_are_not_read),
        cmocka_unit_test(a_killed_run_has_a_page_of_its_record),
        cmocka_unit_test(a_folder_with_a_record_of_no_use_is_refused),
        cmocka_unit_test(a_run_json_that_is_none_is_told),
        cmocka_unit_test(a_name_that_is_too_long_is_refused),
        cmocka_unit_test(the_smallest_case_of_a_cause_is_its_text_unless_it_is_long),
        cmocka_unit_test(what_was_left_out_is_told_as_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
