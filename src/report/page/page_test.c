#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/page/page.h"
#include "report/text_json.h"
#include "story/test_synthetic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The SHA-256 of "go()": sha256sum, and the same bytes as base64. */
#define GO_SHA256 "e4a62ff8f51ba28e61fb4f9802d1913dbc2fe5dfd0c731ec94fe181a751ac51c"
#define GO_BASE64 "5KYv+PUboo5h+0+YAtGRPbwv5d/QxzHslP4YGnUaxRw="

static const char template[] =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "script-src 'unsafe-inline'\"><title>Drydock</title>"
    "<script type=\"application/json\" id=\"facts\"><!--drydock-facts--></script>"
    "<!--drydock-stories--><script>go()</script>end";

static const struct report_viewer viewer = {
    .html = template,
    .html_size = sizeof template - 1,
    .script_sha256 = GO_SHA256,
};

static const char hostile[] =
    "a</script><script>alert(1)</script>--><!--\xe2\x80\xa8\xe2\x80\xa9&]]>";

static size_t count(const char *text, const char *word)
{
    size_t found = 0;

    for (; (text = strstr(text, word)); text += strlen(word))
        found++;
    return found;
}

/* What stands between two words, of which the first is there once. */
static char *between(const char *text, const char *from, const char *to)
{
    const char *begin = strstr(text, from), *end;

    assert_non_null(begin);
    assert_int_equal(count(text, from), 1);
    begin += strlen(from);
    end = strstr(begin, to);
    assert_non_null(end);
    return strndup(begin, (size_t)(end - begin));
}

static void texts_of_drivers_cannot_become_markup(void **state)
{
    json_t *json = json_object(), *again;
    struct story *story = story_create(base_services_libc());
    struct report_page page = {.title = hostile, .story = story, .name = hostile};
    char error[512], *facts, *html, *inside;
    size_t size;

    json_object_set_new(json, "text", json_string(hostile));
    facts = json_dumps(json, 0);
    page.facts = facts;
    story_fact(story, "print", "%s", hostile);
    html = report_page_html_with(&viewer, &page, &size, error);
    assert_non_null(html);
    assert_int_equal(strlen(html), size);
    assert_int_equal(count(html, "<script"), 3); /* facts, story, viewer */
    assert_int_equal(count(html, "</script"), 3);
    assert_int_equal(count(html, "<!--"), 0);
    assert_int_equal(count(html, "-->"), 0);
    assert_int_equal(count(html, "alert"), 3);        /* in title, name and facts */
    assert_int_equal(count(html, "\xe2\x80\xa8"), 2); /* in title and name, where it is text */

    /* And yet the facts say what they said. */
    inside = between(html, "id=\"facts\">", "</script>");
    assert_null(strpbrk(inside, "<>&"));
    again = json_loads(inside, 0, NULL);
    assert_true(json_equal(json, again));
    free(inside);
    inside = between(html, "data-name=\"", "\"");
    assert_null(strpbrk(inside, "<>"));
    free(inside);
    inside = between(html, "<title>", "</title>");
    assert_null(strpbrk(inside, "<>"));
    free(inside);
    json_decref(again);
    json_decref(json);
    free(facts);
    free(html);
    story_destroy(story);
}

static void the_policy_allows_one_script(void **state)
{
    struct report_page page = {.title = "t", .facts = "{}"};
    char error[512], *html, *policy;
    size_t size;

    html = report_page_html_with(&viewer, &page, &size, error);
    policy = between(html, "Content-Security-Policy\" content=\"", "\"");
    assert_string_equal(policy, "default-src 'none'; script-src 'sha256-" GO_BASE64 "'");
    assert_non_null(strstr(html, "<script>go()</script>"));
    assert_null(strstr(html, "id=\"story\""));
    free(policy);
    free(html);
}

static void two_stories_share_the_room(void **state)
{
    struct report_page page = {
        .title = "t",
        .facts = "{}",
        .story = synthetic_story(base_services_libc(), 2000),
        .story_b = synthetic_story(base_services_libc(), 3000),
    };
    char error[512], *html, *a, *b;
    size_t size;

    html = report_page_html_with(&viewer, &page, &size, error);
    a = between(html, "id=\"story\" data-name=\"\">", "<");
    b = between(html, "id=\"story_b\" data-name=\"\">", "<");
    assert_int_equal(strspn(a, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="),
                     strlen(a));
    assert_true(strlen(a) > 1000 && strlen(b) > strlen(a));
    assert_true(size < 5000000);
    free(a);
    free(b);
    free(html);
    story_destroy(page.story);
    story_destroy(page.story_b);
}

static void a_template_without_its_marks_is_refused(void **state)
{
    static const char *const marks[] = {"<!--drydock-facts-->", "<!--drydock-stories-->",
                                        "<title>Drydock</title>", "script-src 'unsafe-inline'"};
    struct report_page page = {.title = "t", .facts = "{}"};

    for (unsigned i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        struct report_viewer damaged = viewer;
        char error[512] = "", html[sizeof template + 64];
        size_t size;

        strcpy(html, template);
        strstr(html, marks[i])[2] = '#';
        damaged.html = html;
        assert_null(report_page_html_with(&damaged, &page, &size, error));
        assert_non_null(strstr(error, marks[i]));

        snprintf(html, sizeof html, "%s%s", template, marks[i]);
        damaged.html_size = strlen(html);
        assert_null(report_page_html_with(&damaged, &page, &size, error));
    }
}

static void a_build_without_viewer_says_what_is_missing(void **state)
{
    struct report_page page = {.title = "t", .facts = "{}"};
    char error[512] = "", *html;
    size_t size;

    html = report_page_html(&page, &size, error);
    if (report_page_is_built()) {
        assert_non_null(html);
    } else {
        assert_null(html);
        assert_string_equal(error, report_page_not_built());
        assert_non_null(strstr(error, "node"));
    }
    free(html);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_drivers_cannot_become_markup),
        cmocka_unit_test(the_policy_allows_one_script),
        cmocka_unit_test(two_stories_share_the_room),
        cmocka_unit_test(a_template_without_its_marks_is_refused),
        cmocka_unit_test(a_build_without_viewer_says_what_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
