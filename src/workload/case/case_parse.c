/*
 * The case parser: text to workload. docs/case-format.md is the grammar.
 *
 * One table says for each directive what its line may hold; parse_line() cuts a line into words
 * by that table, and a short function hands them to the builder, which checks the rest. A line is
 * read in place, nothing is copied but quoted texts, and a name is looked up by one hash.
 */
#include "workload/case/case_parse.h"
#include "workload/file.h"
#include "workload/words.h"

#include "base/bits.h"

#include <inttypes.h>
#include <string.h>

enum attribute_type { TYPE_WORD, TYPE_NUMBER };

static const struct {
    const char *name;
    enum attribute_type type;
} attributes[ATTR_COUNT] = {
    [ATTR_PROCESS] = {"process", TYPE_WORD},
    [ATTR_DEVICE] = {"device", TYPE_WORD},
    [ATTR_NODE] = {"node", TYPE_NUMBER},
    [ATTR_SAVE] = {"save", TYPE_NUMBER},
    [ATTR_SAVE_IN] = {"save-in", TYPE_WORD},
    [ATTR_SAVE_BY] = {"save-by", TYPE_WORD},
    [ATTR_SAVE_FOR] = {"save-for", TYPE_WORD},
    [ATTR_SAVE_IMAGE] = {"save-image", TYPE_WORD},
    [ATTR_SIZE] = {"size", TYPE_NUMBER},
    [ATTR_ALIGN] = {"align", TYPE_NUMBER},
    [ATTR_PRIORITY] = {"priority", TYPE_WORD},
    [ATTR_SEGMENTS] = {"segments", TYPE_WORD},
    [ATTR_FLAGS] = {"flags", TYPE_WORD},
    [ATTR_VA] = {"va", TYPE_WORD},
    [ATTR_OFFSET] = {"offset", TYPE_NUMBER},
    [ATTR_KEY] = {"key", TYPE_NUMBER},
    [ATTR_DURATION] = {"duration", TYPE_NUMBER},
    [ATTR_PROTECT] = {"protect", TYPE_WORD},
    [ATTR_DRIVER_PROTECTION] = {"driver-protection", TYPE_NUMBER},
    [ATTR_SEGMENT] = {"segment", TYPE_WORD},
    [ATTR_PAGE] = {"page", TYPE_NUMBER},
    [ATTR_PAGES] = {"pages", TYPE_NUMBER},
    [ATTR_PAGE_SIZE] = {"page-size", TYPE_NUMBER},
    [ATTR_FROM] = {"from", TYPE_NUMBER},
    [ATTR_TO] = {"to", TYPE_NUMBER},
    [ATTR_POOL] = {"pool", TYPE_WORD},
    [ATTR_AFTER] = {"after", TYPE_NUMBER},
    [ATTR_SIGNAL] = {"signal", TYPE_NUMBER},
    [ATTR_VALUE] = {"value", TYPE_NUMBER},
    [ATTR_NULL] = {"null", TYPE_WORD},
    [ATTR_DISCARD] = {"discard", TYPE_WORD},
};

/* Lines -------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* "..." from *at; \" and \\ are the only escapes. Moves *at behind it. */
static bool parse_quoted(struct parser *parser, const char **at, const char *end)
{
    size_t length = 0;
    const char *p = *at + 1;

    for (; p < end && *p != '"'; p++) {
        if (*p == '\\') {
            if (++p == end || (*p != '"' && *p != '\\')) {
                fail(parser, "a backslash in a text (expected \\\" or \\\\)");
                return false;
            }
        }
        if (length == WORKLOAD_MAX_TEXT) {
            fail(parser, "the text is too long (expected at most %u characters)",
                 WORKLOAD_MAX_TEXT);
            return false;
        }
        parser->quoted[length++] = *p;
    }
    if (p == end) {
        fail(parser, "the text does not end (expected \")");
        return false;
    }
    parser->quoted[length] = '\0';
    parser->has_quoted = true;
    *at = p + 1;
    return true;
}

/* Stores KEY=VALUE. name_length is the length of KEY. */
static void take_attribute(struct parser *parser, struct word word, size_t name_length)
{
    const struct directive *directive = parser->directive;
    struct word key = {word.text, name_length};
    struct word value = {word.text + name_length + 1, word.length - name_length - 1};
    uint32_t i;

    for (i = 0; i < ATTR_COUNT && !word_is(key, attributes[i].name); i++)
        ;
    if (i == ATTR_COUNT || !(directive->allowed & (1u << i))) {
        fail(parser, "%s has no attribute '%.*s' (expected: %s)", directive->name, shown(key),
             key.text, directive->syntax);
        return;
    }
    if (parser->present & (1u << i)) {
        fail(parser, "%s= is given twice (expected once)", attributes[i].name);
        return;
    }
    if (parser->list_open || parser->list_count) {
        fail(parser, "%s= after the first reference (expected: %s)", attributes[i].name,
             directive->syntax);
        return;
    }
    parser->present |= 1u << i;
    parser->values[i] = value;
    if (attributes[i].type == TYPE_NUMBER &&
        !workload_parse_number(value.text, value.length, &parser->numbers[i]))
        fail(parser, "%s= is '%.*s' (expected a number such as 4096, 0x1000 or 64K, below 2^64)",
             attributes[i].name, shown(value), value.text);
}

static void take_word(struct parser *parser, struct word word)
{
    const struct directive *directive = parser->directive;
    const char *equals = memchr(word.text, '=', word.length);
    const char *colon = equals ? memchr(word.text, ':', (size_t)(equals - word.text)) : NULL;

    if (equals && !colon && !case_is_value(directive, parser->word_count))
        take_attribute(parser, word, (size_t)(equals - word.text));
    else if (parser->word_count < directive->word_count)
        parser->words[parser->word_count++] = word;
    else if (directive->item)
        directive->item(parser, word);
    else
        fail(parser, "'%.*s' is too much (expected: %s)", shown(word), word.text,
             directive->syntax);
}

/* One line that is not empty: at is its first character that is not blank. */
static void parse_line(struct parser *parser, const char *at, const char *end)
{
    const struct directive *directive = NULL;

    parser->directive = NULL;
    parser->word_count = 0;
    parser->present = 0;
    memset(parser->numbers, 0, sizeof parser->numbers); /* what a line leaves out is 0 */
    parser->has_quoted = false;
    parser->list_open = false;
    parser->list_count = 0;

    while (at < end && *at != '#' && !workload_builder_failed(parser->builder)) {
        struct word word = {at, 0};

        if (is_blank(*at)) {
            at++;
            continue;
        }
        if (directive && parser->has_quoted) {
            fail(parser, "something after the text (expected: %s)", directive->syntax);
            return;
        }
        if (directive && *at == '"') {
            if (!directive->has_text) {
                fail(parser, "a text (expected: %s)", directive->syntax);
                return;
            }
            if (!parse_quoted(parser, &at, end))
                return;
            continue;
        }
        while (at < end && !is_blank(*at) && *at != '#') {
            if ((unsigned char)*at < 0x20 || *at == 0x7f) {
                fail(parser, "a control character, 0x%02x (expected text)", (unsigned char)*at);
                return;
            }
            at++;
        }
        word.length = (size_t)(at - word.text);
        if (directive) {
            take_word(parser, word);
            continue;
        }
        directive = case_find_directive(word);
        parser->directive = directive;
        if (!directive) {
            fail(parser,
                 "unknown directive '%.*s' (expected alloc, free, write, read, submit, wait, "
                 "resident, evict, offer, reclaim, priority, budget, move, step, map, unmap, tile, "
                 "pte, fence, pack-fences, vm-reserve, vm-release, note, label, "
                 "name, option, process, device or context)",
                 shown(word), word.text);
            return;
        }
    }
    if (!directive || workload_builder_failed(parser->builder))
        return;
    if (!case_has_free_form(directive) &&
        (parser->word_count < directive->word_count || parser->has_quoted != directive->has_text)) {
        fail(parser, "too few words (expected: %s)", directive->syntax);
        return;
    }
    if ((parser->present & directive->required) != directive->required) {
        uint32_t missing = directive->required & ~parser->present;

        fail(parser, "%s= is missing (expected: %s)", attributes[ctz_u64(missing)].name,
             directive->syntax);
        return;
    }
    directive->handle(parser);
}

/* Checks the first line and returns where the second begins; NULL after an error. */
static const char *parse_first_line(struct parser *parser, const char *text, const char *end)
{
    static const char magic[] = "drydock-case ";
    const char *newline, *line_end;
    uint64_t version;

    workload_builder_set_line(parser->builder, 1);
    if (text == end) {
        fail(parser, "the file is empty (expected 'drydock-case 1')");
        return NULL;
    }
    newline = memchr(text, '\n', (size_t)(end - text));
    line_end = newline ? newline : end;
    while (line_end > text && is_blank(line_end[-1]))
        line_end--;
    if ((size_t)(line_end - text) < sizeof magic || memcmp(text, magic, sizeof magic - 1) != 0) {
        fail(parser, "this is no case file (expected the first line 'drydock-case 1')");
        return NULL;
    }
    text += sizeof magic - 1;
    if (!workload_parse_number(text, (size_t)(line_end - text), &version) || version != 1) {
        fail(parser, "version '%.*s' of the format (expected 'drydock-case 1')",
             (int)min_u64((uint64_t)(line_end - text), 20), text);
        return NULL;
    }
    return newline ? newline + 1 : end;
}

bool workload_parse(const void *text, size_t size, const char *path, struct workload **out,
                    struct workload_error *error)
{
    struct workload_builder *builder = workload_builder_create(path, error);

    *out = NULL;
    if (!builder)
        return false;
    if (!workload_parse_into(builder, text, size)) {
        workload_error_set(error, "%.200s: out of memory", path);
        workload_builder_destroy(builder);
        return false;
    }
    return workload_builder_finish(builder, out, error);
}

bool workload_parse_into(struct workload_builder *builder, const void *text, size_t size)
{
    const struct base_services *services = builder->out->services;
    struct parser *parser = base_alloc(services, sizeof *parser);
    const char *end = (const char *)text + size;
    const char *at;
    uint32_t line = 1;

    if (!parser)
        return false;
    parser->builder = builder;
    at = parse_first_line(parser, text, end);
    while (at && at < end && !workload_builder_failed(builder)) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline ? newline : end;

        workload_builder_set_line(builder, ++line);
        if ((size_t)(line_end - at) > WORKLOAD_MAX_LINE)
            fail(parser, "the line is too long (expected at most %u characters)",
                 WORKLOAD_MAX_LINE);
        else
            parse_line(parser, at, line_end);
        at = newline ? newline + 1 : end;
    }
    workload_builder_set_line(builder, 0);
    base_free(services, parser, sizeof *parser);
    return true;
}
