/*
 * The page is written front to back into memory. Each text that is not ours goes through one of
 * two functions: put_text() for HTML, put_json() for the facts.
 */
#include "report/page/page.h"
#include "report/page/viewer_assets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static bool put_story(FILE *out, const char *id, struct story *story, size_t base64_bytes,
                      char error[512])
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
    fprintf(out, "<script type=\"application/octet-stream\" id=\"%s\">%s</script>\n", id, text);
    base_free(services, text, story_base64_size(size) + 1);
    return true;
}

/* The style and the script must not end the elements that they stand in. */
static bool is_embeddable(const struct report_viewer *viewer)
{
    static const char *const ends[] = {"</script", "<!--", "</style"};

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t length = strlen(ends[i]);

        for (size_t at = 0; at + length <= viewer->script_size; at++) {
            if (strncasecmp(viewer->script + at, ends[i], length) == 0)
                return false;
        }
        for (size_t at = 0; at + length <= viewer->style_size; at++) {
            if (strncasecmp(viewer->style + at, ends[i], length) == 0)
                return false;
        }
    }
    return true;
}

static bool put_page(FILE *out, const struct report_viewer *viewer, const struct report_page *page,
                     char error[512])
{
    size_t bytes = page->story_b ? REPORT_PAGE_STORY_BYTES / 2 : REPORT_PAGE_STORY_BYTES;

    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ",
          out);
    if (!put_hash(out, viewer) || !is_embeddable(viewer)) {
        snprintf(error, 512, "the viewer of this drydock is damaged; build it again");
        return false;
    }
    fputs("; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
          out);
    put_text(out, page->title);
    fputs("</title>\n<style>", out);
    fwrite(viewer->style, 1, viewer->style_size, out);
    fputs("</style>\n</head>\n<body>\n<noscript>This report needs JavaScript, which is in this "
          "file itself: nothing is loaded.</noscript>\n"
          "<script type=\"application/json\" id=\"facts\">",
          out);
    put_json(out, page->facts);
    fputs("</script>\n", out);
    if (page->story && !put_story(out, "story", page->story, bytes, error))
        return false;
    if (page->story_b && !put_story(out, "story_b", page->story_b, bytes, error))
        return false;
    fputs("<script>", out);
    fwrite(viewer->script, 1, viewer->script_size, out);
    fputs("</script>\n</body>\n</html>\n", out);
    return true;
}

char *report_page_html_with(const struct report_viewer *viewer, const struct report_page *page,
                            size_t *out_size, char error[512])
{
    char *text = NULL;
    FILE *out = open_memstream(&text, out_size);
    bool is_put;

    if (!out) {
        snprintf(error, 512, "no memory for the page");
        return NULL;
    }
    is_put = put_page(out, viewer, page, error);
    if (ferror(out) || fclose(out) != 0) {
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
