/*
 * Page: one HTML file that shows a run, a campaign or two runs beside each other.
 *
 * Place      report. Uses story; the viewer (viewer/, TypeScript) is embedded where it was built.
 * Model      A page is the viewer's own (viewer.html, with style and script in it), where two marks
 *            stand for
 *
 *                <script type="application/json" id="facts">  the facts: what the page shows
 *                <script type="application/octet-stream"
 *                        id="story" data-name="...">          a packed story (story_pack.c), base64
 *
 *            A page needs no network: its Content-Security-Policy allows the one script by its
 *            hash, and nothing to be loaded. A page without a record has no story; that of a
 *            comparison has "story" for the first run and "story_b" for the second.
 *
 *            The facts are an object, whose member "page" says which page it is:
 *
 *            | "run"      | the members of run.json (folder_page.h)
 *            | "campaign" | the members of `drydock check --json`, and more (campaign_page.h)
 *            | "compare"  | "a" and "b", as run.json, and "comparison" (compare.h)
 *
 *            All have "notes", a list of sentences about what is missing, for the top of the page.
 * Safety     Texts of drivers and cases are in the facts, where "<", ">", "&", U+2028 and U+2029
 *            are written as \u escapes, and in the story, which is base64. So none of them can end
 *            the element that it stands in.
 * Ownership  A page that is given is freed with free().
 */
#ifndef DRYDOCK_REPORT_PAGE_PAGE_H
#define DRYDOCK_REPORT_PAGE_PAGE_H

#include "story/story.h"

#include <stdbool.h>
#include <stddef.h>

/* The most that the stories of a page take as base64, together; the rest of 5 MB is for the rest.
 */
#define REPORT_PAGE_STORY_BYTES STORY_PACK_BASE64_BYTES

struct report_page {
    const char *title;         /* plain text */
    const char *facts;         /* JSON: an object */
    struct story *story;       /* NULL: none */
    struct story *story_b;     /* NULL: none */
    const char *name, *name_b; /* of the stories, in plain text; NULL: "" */
};

/* Whether the viewer was there when this drydock was built. */
bool report_page_is_built(void);
/* What to tell the user when it was not. */
const char *report_page_not_built(void);

/*
 * The page as HTML; size does not count the zero byte at its end. The stories get a fact for each
 * thing that was left out of them (story_pack()). NULL with a message.
 */
char *report_page_html(const struct report_page *page, size_t *out_size, char error[512]);

/* For tests, which need no viewer: the same with another template. */
struct report_viewer {
    const char *html; /* with the two marks, each once */
    size_t html_size;
    const char *script_sha256; /* of the script in it, in hexadecimal digits */
};
char *report_page_html_with(const struct report_viewer *viewer, const struct report_page *page,
                            size_t *out_size, char error[512]);

#endif
