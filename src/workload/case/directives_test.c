/*
 * The table of directives: its rows are sound, and docs/case-format.md says what they say.
 *
 * With DRYDOCK_UPDATE_DOCS set, the documentation is written anew instead of compared.
 */
#include "workload/case/directives_text.h"
#include "workload/words.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DOCUMENT DRYDOCK_SOURCE_DIR "/docs/case-format.md"
#define END_MARK "<!-- end of directives -->"

static char *read_document(void)
{
    FILE *file = fopen(DOCUMENT, "rb");
    char *text;
    long size;

    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    rewind(file);
    text = calloc(1, (size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    fclose(file);
    return text;
}

static void write_document(const char *text)
{
    FILE *file = fopen(DOCUMENT, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
}

/* What stands between the mark of that name and the end mark is this text; gives the document. */
static char *with_part(char *document, const char *name, const char *part)
{
    char mark[64], *start, *end, *whole;

    snprintf(mark, sizeof mark, "<!-- directives: %s -->\n", name);
    start = strstr(document, mark);
    if (!start)
        fail_msg("docs/case-format.md has no mark for: %s", name);
    start += strlen(mark);
    end = strstr(start, END_MARK);
    assert_non_null(end);
    if (!getenv("DRYDOCK_UPDATE_DOCS") &&
        (strlen(part) != (size_t)(end - start) || memcmp(start, part, (size_t)(end - start)) != 0))
        fail_msg("docs/case-format.md, %s, is not what the table says. Run this test with "
                 "DRYDOCK_UPDATE_DOCS=1, and look at the difference",
                 name);
    whole = malloc(strlen(document) + strlen(part) + 1);
    assert_non_null(whole);
    sprintf(whole, "%.*s%s%s", (int)(start - document), document, part, end);
    free(document);
    return whole;
}

static void the_documentation_says_what_the_table_says(void **state)
{
    char *document = read_document(), *grammar = directive_grammar(), *block;

    for (unsigned i = 0; i < SECTION_COUNT; i++) {
        char *table = directive_table((enum directive_section)i);

        assert_non_null(table);
        document = with_part(document, directive_section_name((enum directive_section)i), table);
        free(table);
    }
    assert_non_null(grammar);
    block = malloc(strlen(grammar) + 16);
    assert_non_null(block);
    sprintf(block, "```\n%s```\n", grammar);
    document = with_part(document, "grammar", block);
    if (getenv("DRYDOCK_UPDATE_DOCS"))
        write_document(document);
    free(block);
    free(grammar);
    free(document);
}

static const struct directive_member *find(const struct directive *directive, const char *key)
{
    for (const struct directive_member *m = directive->members; m->presence; m++) {
        if (m->key && strcmp(m->key, key) == 0)
            return m;
    }
    return NULL;
}

/* The parser reads an attribute before it has seen which form a line is. */
static void forms_have_alike_what_they_share(void **state)
{
    for (const struct directive *first = directives; first < directives + ROW_COUNT;
         first += directive_form_count(first)) {
        unsigned keys = 0;

        for (unsigned i = 0; i < directive_form_count(first); i++) {
            for (const struct directive_member *m = first[i].members; m->presence; m++) {
                const struct directive_member *other;
                unsigned j = 0;

                while (m->key && j < i && !find(&first[j], m->key))
                    j++;
                keys += m->key && j == i;
                other = m->key ? find(&first[j], m->key) : NULL;
                if (other && (other->type != m->type || other->place != m->place))
                    fail_msg("%s and %s do not agree about %s=", first[j].name, first[i].name,
                             m->key);
            }
        }
        assert_true(keys <= DIRECTIVE_MAX_MEMBERS);
    }
}

static void rows_are_sound(void **state)
{
    for (const struct directive *d = directives; d < directives + ROW_COUNT; d++) {
        char syntax[512];

        assert_int_equal(d->members[DIRECTIVE_MAX_MEMBERS - 1].presence, PRESENCE_END);
        assert_true(strlen(directive_syntax(d, syntax, sizeof syntax)) < sizeof syntax - 1);
        if (*directive_verb(d)) /* the verb stands behind the first word */
            assert_int_equal(d->members[0].presence, PRESENCE_WORD);
        if (!directive_is_header(d))
            assert_true(d == &directives[ROW_PTE_ZERO] ||
                        strcmp(d->name, workload_op_name((enum workload_op_kind)d->kind)) == 0);
        for (const struct directive_member *m = d->members; m->presence; m++) {
            assert_non_null(m->shown);
            assert_true(m->presence == PRESENCE_LIST || m->bytes);
            if (m->presence == PRESENCE_LIST)
                assert_int_equal(m[1].presence, PRESENCE_END);
            if (m->presence == PRESENCE_WITH)
                assert_true(m > d->members && m[-1].key);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_documentation_says_what_the_table_says),
        cmocka_unit_test(forms_have_alike_what_they_share),
        cmocka_unit_test(rows_are_sound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
