/*
 * The page is written front to back into memory: the viewer's template up to a place, what belongs
 * there, and so on. Each text that is not ours goes through one of two functions: put_text() for
 * HTML, put_json() for the facts.
 */
#include "report/page/page.h"
#include "report/page/viewer_assets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For text between tags, and within quotes. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            if ((unsigned char)*text >= 0x20)
                fputc(*text, out);
            break;
        }
    }
}

/*
 * JSON, in which these characters stand within strings only: an escape says the same. "<" could end
 * the element or begin a comment, "&" is for readers that take the page as XML, and U+2028 ends a
 * line of a script.
 */
static void put_json(FILE *out, const char *json)
{
    for (; *json; json++) {
        const unsigned char *byte = (const unsigned char *)json;

        if (*byte == '<' || *byte == '>' || *byte == '&') {
            fprintf(out, "\\u%04x", *byte);
        } else if (byte[0] == 0xe2 && byte[1] == 0x80 && (byte[2] == 0xa8 || byte[2] == 0xa9)) {
            fprintf(out, "\\u20%02x", byte[2] - 0x80);
            json += 2;
        } else {
            fputc(*json, out);
        }
    }
}

static unsigned hex_digit(char digit)
{
    return digit <= '9' ? (unsigned)(digit - '0') : (unsigned)(digit - 'a') + 10;
}

/* The hash of the script, as a Content-Security-Policy names it: base64 of its 32 bytes. */
static bool put_hash(FILE *out, const struct report_viewer *viewer)
{
    unsigned char bytes[32];
    char *text;

    if (strspn(viewer->script_sha256, "0123456789abcdef") != 64 || viewer->script_sha256[64])
        return false;
    for (unsigned i = 0; i < 32; i++)
        bytes[i] = (unsigned char)(hex_digit(viewer->script_sha256[2 * i]) << 4 |
                                   hex_digit(viewer->script_sha256[2 * i + 1]));
    text = story_base64(base_services_libc(), bytes, sizeof bytes);
    if (!text)
        return false;
    fprintf(out, "'sha256-%s'", text);
    base_free(base_services_libc(), text, story_base64_size(sizeof bytes) + 1);
    return true;
}

static bool put_story(FILE *out, const char *id, const char *name, struct story *story,
                      size_t base64_bytes, char error[512])
{
    const struct story_pack_limits limits = {.base64_bytes = base64_bytes};
    const struct base_services *services = story_services(story);
    unsigned char *bytes;
    size_t size;
    char *text;

    if (!story_pack(story, &limits, &bytes, &size, error))
        return false;
    text = story_base64(services, bytes, size);
    story_pack_free(story, bytes, size);
    if (!text) {
        snprintf(error, 512, "no memory for the page");
        return false;
    }
    fprintf(out, "<script type=\"application/octet-stream\" id=\"%s\" data-name=\"", id);
    put_text(out, name ? name : "");
    fprintf(out, "\">%s</script>\n", text);
    base_free(services, text, story_base64_size(size) + 1);
    return true;
}

/* What of the template is replaced. The first two must be there, and once. */
enum place { PLACE_FACTS, PLACE_STORIES, PLACE_TITLE, PLACE_POLICY, PLACE_COUNT };

static const char *const places[PLACE_COUNT] = {
    [PLACE_FACTS] = "<!--drydock-facts-->",
    [PLACE_STORIES] = "<!--drydock-stories-->",
    [PLACE_TITLE] = "<title>Drydock</title>",
    [PLACE_POLICY] = "script-src 'unsafe-inline'",
};

static bool put_place(FILE *out, enum place place, const struct report_viewer *viewer,
                      const struct report_page *page, char error[512])
{
    size_t bytes = page->story_b ? REPORT_PAGE_STORY_BYTES / 2 : REPORT_PAGE_STORY_BYTES;

    switch (place) {
    case PLACE_FACTS:
        put_json(out, page->facts);
        break;
    case PLACE_STORIES:
        return (!page->story || put_story(out, "story", page->name, page->story, bytes, error)) &&
               (!page->story_b ||
                put_story(out, "story_b", page->name_b, page->story_b, bytes, error));
    case PLACE_TITLE:
        fputs("<title>", out);
        put_text(out, page->title);
        fputs("</title>", out);
        break;
    case PLACE_POLICY:
        fputs("script-src ", out);
        if (!put_hash(out, viewer)) {
            snprintf(error, 512, "the hash of this drydock's viewer is damaged");
            return false;
        }
        break;
    case PLACE_COUNT:
        break;
    }
    return true;
}

/* The first of the places at or behind `at`; PLACE_COUNT: there is none. */
static enum place next_place(const struct report_viewer *viewer, size_t at, size_t *out_at)
{
    for (; at < viewer->html_size; at++) {
        for (unsigned i = 0; i < PLACE_COUNT; i++) {
            size_t length = strlen(places[i]);

            if (length <= viewer->html_size - at &&
                memcmp(viewer->html + at, places[i], length) == 0) {
                *out_at = at;
                return (enum place)i;
            }
        }
    }
    *out_at = viewer->html_size;
    return PLACE_COUNT;
}

static bool put_page(FILE *out, const struct report_viewer *viewer, const struct report_page *page,
                     char error[512])
{
    unsigned seen[PLACE_COUNT] = {0};
    size_t done = 0, at;

    for (;;) {
        enum place place = next_place(viewer, done, &at);

        fwrite(viewer->html + done, 1, at - done, out);
        if (place == PLACE_COUNT)
            break;
        if (!put_place(out, place, viewer, page, error))
            return false;
        seen[place]++;
        done = at + strlen(places[place]);
    }
    for (unsigned i = 0; i < PLACE_COUNT; i++) {
        if (seen[i] != 1) {
            snprintf(error, 512, "the viewer of this drydock has no single %s; build it again",
                     places[i]);
            return false;
        }
    }
    return true;
}

char *report_page_html_with(const struct report_viewer *viewer, const struct report_page *page,
                            size_t *out_size, char error[512])
{
    char *text = NULL;
    FILE *out = open_memstream(&text, out_size);
    bool is_put, has_failed;

    if (!out) {
        snprintf(error, 512, "no memory for the page");
        return NULL;
    }
    is_put = put_page(out, viewer, page, error);
    has_failed = ferror(out) != 0;
    if (fclose(out) != 0 || has_failed) {
        if (is_put)
            snprintf(error, 512, "no memory for the page");
        is_put = false;
    }
    if (!is_put) {
        free(text);
        return NULL;
    }
    return text;
}

bool report_page_is_built(void)
{
    return viewer_assets_get() != NULL;
}

const char *report_page_not_built(void)
{
    return "reports were left out of this build, which found no node to make them: install node "
           "18 or newer with npm, and build drydock again";
}

char *report_page_html(const struct report_page *page, size_t *out_size, char error[512])
{
    const struct report_viewer *viewer = viewer_assets_get();

    if (!viewer) {
        snprintf(error, 512, "%s", report_page_not_built());
        return NULL;
    }
    return report_page_html_with(viewer, page, out_size, error);
}
