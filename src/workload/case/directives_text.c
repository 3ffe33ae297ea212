/*
 * Directives as text: syntax, tables of the documentation, grammar.
 */
#include "workload/case/directives_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Room that is given, or that grows: then text is NULL at first. */
struct writer {
    char *text;
    size_t used, size;
    bool grows, failed;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer, const char *format,
                                                      ...)
{
    va_list arguments;
    int length;

    for (;;) {
        size_t room = writer->size - writer->used;
        char *grown;

        va_start(arguments, format);
        length =
            vsnprintf(writer->text ? writer->text + writer->used : NULL, room, format, arguments);
        va_end(arguments);
        if ((size_t)length < room || !writer->grows)
            break;
        grown = realloc(writer->text, 2 * writer->size + (size_t)length + 1);
        if (!grown) {
            writer->failed = true;
            return;
        }
        writer->text = grown;
        writer->size = 2 * writer->size + (size_t)length + 1;
    }
    writer->used += (size_t)length;
    if (writer->used >= writer->size && !writer->grows)
        writer->used = writer->size - 1;
}

static char *given(struct writer *writer)
{
    if (!writer->failed)
        return writer->text;
    free(writer->text);
    return NULL;
}

/* ---- Syntax ---- */

static void put_form(struct writer *writer, const struct directive *directive)
{
    const char *verb = directive_verb(directive);

    put(writer, "%.*s", (int)directive_word_length(directive), directive->name);
    for (const struct directive_member *m = directive->members; m->presence; m++) {
        switch ((enum directive_presence)m->presence) {
        case PRESENCE_WORD:
            put(writer, " %s", m->shown);
            if (*verb && m == directive->members)
                put(writer, " %s", verb);
            break;
        case PRESENCE_NEED:
            put(writer, " %s=%s", m->key, m->shown);
            break;
        case PRESENCE_MAY:
        case PRESENCE_ALWAYS:
            put(writer, " [%s=%s", m->key, m->shown);
            if (m[1].presence == PRESENCE_WITH)
                put(writer, " %s=%s", m[1].key, m[1].shown);
            put(writer, "]");
            break;
        case PRESENCE_LIST:
            put(writer, " %s...", m->shown);
            break;
        case PRESENCE_WITH:
        case PRESENCE_END:
            break;
        }
    }
}

const char *directive_syntax(const struct directive *first, char *out, size_t size)
{
    struct writer writer = {.text = out, .size = size};
    unsigned count = directive_form_count(first);

    for (unsigned i = 0; i < count; i++) {
        put(&writer, "%s", i ? ", or " : "");
        put_form(&writer, &first[i]);
    }
    return out;
}

const char *directive_words(char *out, size_t size)
{
    struct writer writer = {.text = out, .size = size};
    const struct directive *next;

    for (const struct directive *d = directives; d < directives + ROW_COUNT; d = next) {
        next = d + directive_form_count(d);
        put(&writer, "%s%.*s",
            d == directives                  ? ""
            : next == directives + ROW_COUNT ? " or "
                                             : ", ",
            (int)directive_word_length(d), d->name);
    }
    return out;
}

/* ---- The documentation's tables ---- */

const char *directive_section_name(enum directive_section section)
{
    static const char *const names[SECTION_COUNT] = {
        [SECTION_ALLOCATIONS] = "allocations",
        [SECTION_CPU] = "CPU access",
        [SECTION_WORK] = "GPU work",
        [SECTION_RESIDENCY] = "residency",
        [SECTION_OFFERS] = "offers",
        [SECTION_ADDRESSES] = "addresses",
        [SECTION_TILES] = "tiles",
        [SECTION_FENCES] = "fences",
        [SECTION_GPU] = "GPU",
        [SECTION_PHASES] = "phases",
        [SECTION_ENTRIES] = "raw page tables",
        [SECTION_HEADER] = "header",
    };

    return names[section];
}

static const char *models_name(enum directive_models models)
{
    static const char *const names[] = {
        [MODELS_ALL] = "all",
        [MODELS_VIRTUAL] = "GpuMmu, IoMmu",
        [MODELS_GPUMMU] = "GpuMmu",
    };

    return names[models];
}

/* A text in a cell: a bar, which would divide cells, is escaped. */
static void put_cell(struct writer *writer, const char *text)
{
    for (; *text; text++)
        put(writer, "%s%c", *text == '|' ? "\\" : "", *text);
}

/* Ways to write a line, each of them as code. */
static void put_code(struct writer *writer, const char *syntax)
{
    const char *other;

    put(writer, "`");
    for (; (other = strstr(syntax, ", or ")) != NULL; syntax = other + strlen(", or ")) {
        put(writer, "%.*s`, or `", (int)(other - syntax), syntax);
    }
    put_cell(writer, syntax);
    put(writer, "`");
}

char *directive_table(enum directive_section section)
{
    struct writer writer = {.grows = true};
    bool tells_models = false;
    char syntax[512];

    for (const struct directive *d = directives; d < directives + ROW_COUNT; d++)
        tells_models |= d->section == section && d->models != MODELS_ALL;
    put(&writer, tells_models ? "| line | models | meaning |\n| --- | --- | --- |\n"
                              : "| line | meaning |\n| --- | --- |\n");
    for (const struct directive *d = directives; d < directives + ROW_COUNT; d++) {
        struct writer form = {.text = syntax, .size = sizeof syntax};

        if (d->section != section)
            continue;
        put_form(&form, d);
        put(&writer, "| ");
        put_code(&writer, syntax);
        put(&writer, " | ");
        if (tells_models)
            put(&writer, "%s | ", models_name((enum directive_models)d->models));
        put_cell(&writer, d->meaning);
        put(&writer, " |\n");
    }
    return given(&writer);
}

/* ---- The grammar ---- */

/* "a|b" as ( "a" | "b" ). */
static void put_choice(struct writer *writer, const char *choices)
{
    put(writer, "( \"");
    for (; *choices; choices++) {
        if (*choices == '|')
            put(writer, "\" | \"");
        else
            put(writer, "%c", *choices);
    }
    put(writer, "\" )");
}

static void put_value(struct writer *writer, const struct directive_member *member)
{
    static const char *const names[TYPE_COUNT_OF_TYPES] = {
        [TYPE_NEW_NAME] = "name",
        [TYPE_ALLOCATION] = "name",
        [TYPE_CONTEXT] = "name",
        [TYPE_CONTEXT_OR_ALL] = "( name | \"all\" )",
        [TYPE_PROCESS] = "name",
        [TYPE_DEVICE] = "name",
        [TYPE_LIST_DEVICE] = "name",
        [TYPE_VA_OR_AUTO] = "( number | \"auto\" )",
        [TYPE_SEGMENT] = "segment",
        [TYPE_SEGMENTS] = "segment { \",\" segment }",
        [TYPE_FLAGS] = "flag { \",\" flag }",
        [TYPE_PRIORITY] = "priority",
        [TYPE_PROTECTION] = "protect",
        [TYPE_REFERENCES] = "ref",
        [TYPE_ALLOCATIONS] = "name",
        [TYPE_TEXT] = "text",
        [TYPE_NAME_OR_TEXT] = "( word | text )",
        [TYPE_ANY] = "word",
        [TYPE_ANY_OR_TEXT] = "( word | text )",
    };
    const char *name = names[member->type];

    if (member->type == TYPE_CHOICE)
        put_choice(writer, member->shown);
    else if (member->type == TYPE_YES)
        put_choice(writer, "no|yes");
    else
        put(writer, "%s", name ? name : "number");
}

static void put_rule(struct writer *writer, const struct directive *directive)
{
    const char *verb = directive_verb(directive);
    bool is_open = false;

    put(writer, "\"%.*s\"", (int)directive_word_length(directive), directive->name);
    for (const struct directive_member *m = directive->members; m->presence; m++) {
        if (m->key) {
            put(writer, is_open ? " | " : " { ");
            put(writer, "\"%s=\" ", m->key);
            put_value(writer, m);
            is_open = true;
            continue;
        }
        put(writer, is_open ? " } " : " ");
        is_open = false;
        if (m->type == TYPE_ALLOCATIONS) {
            put(writer, "name { name }");
        } else if (m->presence == PRESENCE_LIST) {
            put(writer, "{ ");
            put_value(writer, m);
            put(writer, " }");
        } else {
            put_value(writer, m);
        }
        if (*verb && m == directive->members)
            put(writer, " \"%s\"", verb);
    }
    put(writer, is_open ? " }" : "");
}

/* A rule in lines of so many columns, where it can be divided. */
static void put_wrapped(struct writer *writer, const char *rule)
{
    const size_t columns = 98, indent = 14;

    while (strlen(rule) > columns - indent) {
        size_t at = columns - indent;

        while (at && (strncmp(rule + at, " | \"", 4) != 0 ||
                      rule[at + 4 + strcspn(rule + at + 4, "=\"")] != '='))
            at--;
        if (!at)
            break;
        put(writer, "%.*s\n%*s", (int)at, rule, (int)indent + 4, "");
        rule += at + 1;
    }
    put(writer, "%s\n", rule);
}

char *directive_grammar(void)
{
    struct writer writer = {.grows = true};
    char rule[1024];

    for (const struct directive *d = directives; d < directives + ROW_COUNT; d++) {
        struct writer one = {.text = rule, .size = sizeof rule};

        put_rule(&one, d);
        put(&writer, d == directives ? "directive   = " : "            | ");
        put_wrapped(&writer, rule);
    }
    return given(&writer);
}
