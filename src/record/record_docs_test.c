/*
 * docs/record.md has every kind and every field of record_kinds.inc, in its order and with its
 * coding, and no others.
 */
#include "record/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct page {
    char kind[64];
    char shape[1024]; /* of that kind, as the page has it */
    bool in_group;
    unsigned seen[RECORD_KIND_COUNT];
};

static void end_kind(struct page *page)
{
    if (!page->kind[0])
        return;
    for (unsigned i = 0; i < RECORD_KIND_COUNT; i++) {
        if (strcmp(record_kind_name((enum record_kind)i), page->kind) != 0)
            continue;
        assert_string_equal(page->shape, record_kind_shape((enum record_kind)i));
        page->seen[i]++;
        return;
    }
    fail_msg("docs/record.md has a kind '%s' that there is not", page->kind);
}

/* "| `allocation` | d, group | ..." */
static void note_field(struct page *page, const char *line)
{
    char name[64], coding[16], what[256], field[96];

    if (sscanf(line, "| `%63[^`]` | %15[^|]| %255[^\n]", name, coding, what) != 3)
        return;
    if (strstr(coding, "group") && !page->in_group) {
        page->in_group = true;
        strcat(page->shape, "| ");
    }
    snprintf(field, sizeof field, "%s:%c ", name, coding[0]);
    assert_true(strlen(page->shape) + strlen(field) < sizeof page->shape);
    assert_true(strlen(what) > 3);
    strcat(page->shape, field);
}

static void the_page_has_every_kind(void **state)
{
    FILE *file = fopen(DRYDOCK_SOURCE_DIR "/docs/record.md", "r");
    struct page *page = calloc(1, sizeof *page);
    char line[2048];

    (void)state;
    assert_true(file && page);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "##", 2) == 0) {
            end_kind(page);
            page->kind[0] = page->shape[0] = '\0';
            page->in_group = false;
            sscanf(line, "### `%63[^`]`", page->kind);
        } else if (page->kind[0]) {
            note_field(page, line);
        }
    }
    end_kind(page);
    fclose(file);
    for (unsigned i = 0; i < RECORD_KIND_COUNT; i++) {
        if (page->seen[i] != 1)
            fail_msg("docs/record.md has kind '%s' %u times", record_kind_name((enum record_kind)i),
                     page->seen[i]);
    }
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_page_has_every_kind)};

    return cmocka_run_group_tests_name("record/docs", tests, NULL, NULL);
}
