/*
 * The case parser: text to workload. docs/case-format.md is the grammar.
 *
 * The table of directives says what a line may hold; parse_line() cuts a line into words by that
 * table. A line is read in place, nothing is copied but quoted texts, and a name is looked up by
 * one hash.
 */
#include "workload/case/case_parse.h"
#include "workload/case/directives_text.h"
#include "workload/file.h"
#include "workload/words.h"

#include "base/bits.h"

#include <stdio.h>
#include <string.h>

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

/* ---- Attributes ---- */

static const struct directive_member *find_key(const struct directive *directive, const char *key,
                                               size_t length)
{
    for (const struct directive_member *m = directive->members; m->presence; m++) {
        if (m->key && *m->key == *key && strncmp(m->key, key, length) == 0 && !m->key[length])
            return m;
    }
    return NULL;
}

/* The attribute in the first form that has it: forms have alike what they have in common. */
static const struct directive_member *find_in_forms(const struct parser *parser, struct word key)
{
    const struct directive_member *member = NULL;

    for (unsigned i = 0; i < parser->head->form_count && !member; i++)
        member = find_key(&parser->first[i], key.text, key.length);
    return member;
}

static bool is_given(const struct parser *parser, const struct directive_member *member)
{
    for (uint32_t i = 0; i < parser->given_count; i++) {
        if (parser->given[i].member == member)
            return true;
    }
    return false;
}

/* A wrong number is told where it stands; what a name means, when the line is known to be whole. */
static bool is_plain_number(const struct directive_member *member)
{
    return member->type == TYPE_SIZE || member->type == TYPE_COUNT || member->type == TYPE_HEX ||
           member->type == TYPE_SIGNAL;
}

/* Stores KEY=VALUE. name_length is the length of KEY. */
static void take_attribute(struct parser *parser, struct word word, size_t name_length)
{
    struct word key = {word.text, name_length};
    struct word value = {word.text + name_length + 1, word.length - name_length - 1};
    const struct directive_member *member = find_in_forms(parser, key);

    if (!member) {
        fail(parser, "%.*s has no attribute '%.*s' (expected: %s)", (int)parser->head->length,
             parser->first->name, shown(key), key.text, case_syntax(parser));
        return;
    }
    if (is_given(parser, member)) {
        fail(parser, "%s= is given twice (expected once)", member->key);
        return;
    }
    if (parser->is_settled) {
        fail(parser, "%s= after the first reference (expected: %s)", member->key,
             case_syntax(parser));
        return;
    }
    parser->given[parser->given_count].member = member;
    parser->given[parser->given_count++].value = value;
    if (is_plain_number(member))
        case_read(parser, member, value);
}

/* Whether every form of the line's word needs the attribute. */
static bool all_forms_need(const struct parser *parser, const char *key)
{
    for (unsigned i = 0; i < parser->head->form_count; i++) {
        const struct directive_member *member = find_key(&parser->first[i], key, strlen(key));

        if (!member || member->presence != PRESENCE_NEED)
            return false;
    }
    return true;
}

/* The line begins like a form, and does not go on like it. */
static void fail_form(struct parser *parser)
{
    struct word object = parser->words[0], verb = parser->words[1];
    bool is_number = object.length && object.text[0] >= '0' && object.text[0] <= '9';

    /* A number says which of its kind the line is about; a name says less. */
    fail(parser, "'%.*s %.*s%s%.*s' (expected: %s)", (int)parser->head->length, parser->first->name,
         is_number ? shown(object) : 0, object.text, is_number ? " " : "", shown(verb), verb.text,
         case_syntax(parser));
}

/* An attribute that another form has. */
static void fail_foreign(struct parser *parser)
{
    const struct directive *other = parser->first;
    char keys[64] = "none";
    size_t used = 0;

    for (uint32_t i = 0; i < parser->given_count; i++) {
        if (!find_key(parser->directive, parser->given[i].member->key,
                      strlen(parser->given[i].member->key))) {
            while (!find_key(other, parser->given[i].member->key,
                             strlen(parser->given[i].member->key)))
                other++;
            break;
        }
    }
    for (const struct directive_member *m = parser->directive->members; m->presence; m++) {
        if (m->key && used < sizeof keys)
            used += (size_t)snprintf(keys + used, sizeof keys - used, "%s%s=", used ? " and " : "",
                                     m->key);
    }
    fail(parser, "%s with an attribute of %s (expected %s%s)", parser->directive->name, other->name,
         keys, used ? " only" : "");
}

/* ---- Words that are found by where they stand ---- */

/* The member that a word of the line fills, by its place; NULL: the line has fewer words. */
static const struct directive_member *member_of_word(const struct parser *parser, uint32_t place)
{
    uint32_t before = place - (parser->head->has_verb && place > 1);

    for (const struct directive_member *m = parser->directive->members; m->presence; m++) {
        if (m->presence == PRESENCE_WORD && m->type != TYPE_TEXT && before-- == 0)
            return m;
    }
    return NULL;
}

/* The word behind the object says which form it is. */
static void take_verb(struct parser *parser, struct word word)
{
    parser->words[parser->word_count++] = word;
    for (unsigned i = 0; i < parser->head->form_count; i++) {
        if (word_is(word, directive_verb(&parser->first[i]))) {
            parser->directive = &parser->first[i];
            return;
        }
    }
    parser->is_form_unknown = true;
}

/* Which members of the line's form are given, a bit each; *out_foreign: one of another form is. */
static uint32_t given_members(const struct parser *parser, bool *out_foreign)
{
    const struct directive *form = parser->directive;
    uint32_t bits = 0;

    *out_foreign = false;
    for (uint32_t i = 0; i < parser->given_count; i++) {
        const struct directive_member *member = parser->given[i].member;

        if (form != parser->first) /* its own member of that key */
            member = find_key(form, member->key, strlen(member->key));
        else if (member < form->members || member >= form->members + DIRECTIVE_MAX_MEMBERS)
            member = NULL;
        if (member)
            bits |= 1u << (member - form->members);
        else
            *out_foreign = true;
    }
    return bits;
}

/* The attributes that every form needs are there. */
static bool check_needs(struct parser *parser, uint32_t given)
{
    uint32_t needs = parser->needs[parser->directive - directives];

    if ((given & needs) == needs)
        return true;
    for (const struct directive_member *m = parser->directive->members; m->presence;
         m++, given >>= 1) {
        if (m->presence == PRESENCE_NEED && !(given & 1) && all_forms_need(parser, m->key)) {
            fail(parser, "%s= is missing (expected: %s)", m->key, case_syntax(parser));
            return false;
        }
    }
    return true;
}

/* The attributes that the form needs are there; those that are left out have their fallbacks. */
static void check_form(struct parser *parser, uint32_t given)
{
    const struct directive_member *m = parser->directive->members;
    uint32_t row = (uint32_t)(parser->directive - directives);

    if (!((parser->needs[row] & ~given) | parser->settles[row]))
        return;
    for (uint32_t bit = 1; m->presence; m++, bit <<= 1) {
        bool is_there = given & bit;

        if (m->presence == PRESENCE_NEED && !is_there) {
            fail_form(parser);
            return;
        }
        if (m->presence == PRESENCE_WITH && is_there != ((given & bit >> 1) != 0)) {
            fail(parser, "%s= without %s=, or the other way round (expected both or none)",
                 m[-1].key, m->key);
            return;
        }
        if (m->fallback && !is_there)
            directive_put(&parser->line, m, m->fallback);
    }
}

/*
 * The line is whole, but for its list: its words and attributes are read. Before the first item of
 * a list, or at the end of a line.
 */
static bool settle(struct parser *parser)
{
    uint32_t has = parser->word_count + parser->has_quoted, given;
    bool has_foreign;

    parser->is_settled = true;
    given = given_members(parser, &has_foreign);
    if (has < parser->head->word_count)
        fail(parser, "too few words (expected: %s)", case_syntax(parser));
    else if (has > parser->head->word_count)
        fail(parser, "a word and a text (expected: %s)", case_syntax(parser));
    else if (check_needs(parser, given)) {
        for (uint32_t i = 0; i < parser->word_count; i++) {
            if (!parser->head->has_verb || i != 1)
                case_read(parser, member_of_word(parser, i), parser->words[i]);
        }
        if (parser->is_form_unknown)
            fail_form(parser);
        for (uint32_t i = 0; i < parser->given_count; i++) {
            if (!is_plain_number(parser->given[i].member))
                case_read(parser, parser->given[i].member, parser->given[i].value);
        }
        if (has_foreign)
            fail_foreign(parser);
        check_form(parser, given);
    }
    return !workload_builder_failed(parser->builder);
}

/* A word behind those that are found by where they stand. */
static void take_item(struct parser *parser, struct word word)
{
    const struct directive_member *list = parser->head->list;

    if (!list)
        fail(parser, "'%.*s' is too much (expected: %s)", shown(word), word.text,
             case_syntax(parser));
    else if (parser->is_settled || settle(parser))
        case_read_item(parser, list, word);
}

static void take_word(struct parser *parser, struct word word)
{
    const char *equals = memchr(word.text, '=', word.length);
    const char *colon = equals ? memchr(word.text, ':', (size_t)(equals - word.text)) : NULL;
    const struct directive_member *member = member_of_word(parser, parser->word_count);

    if (equals && !colon && !(member && member->type == TYPE_ANY_OR_TEXT)) {
        take_attribute(parser, word, (size_t)(equals - word.text));
        return;
    }
    if (parser->word_count == 1 && parser->head->has_verb) {
        take_verb(parser, word);
        return;
    }
    if (member)
        parser->words[parser->word_count++] = word;
    else
        take_item(parser, word);
}

/* ---- Lines ---- */

static void note_member(struct parser *parser, struct directive_head *head,
                        const struct directive *row, const struct directive_member *member)
{
    uint32_t bit = 1u << (member - row->members);

    if (member->presence == PRESENCE_NEED)
        parser->needs[row - directives] |= bit;
    if (member->presence == PRESENCE_WITH || member->fallback)
        parser->settles[row - directives] |= bit;
    if (row != head->first)
        return;
    head->word_count += member->presence == PRESENCE_WORD;
    if (member->presence == PRESENCE_LIST)
        head->list = member;
    if (member->type == TYPE_TEXT || member->type == TYPE_NAME_OR_TEXT ||
        member->type == TYPE_ANY_OR_TEXT)
        head->may_have_text = true;
}

/* Facts that every line asks for are found out once. */
static void list_heads(struct parser *parser)
{
    const struct directive *first = directives;

    while (first < directives + ROW_COUNT) {
        struct directive_head *head = &parser->heads[parser->head_count++];

        *head = (struct directive_head){.first = first,
                                        .length = directive_word_length(first),
                                        .initial = first->name[0],
                                        .form_count = directive_form_count(first),
                                        .has_verb = *directive_verb(first) != '\0'};
        head->word_count = head->has_verb;
        for (const struct directive *row = first; row < first + head->form_count; row++) {
            for (const struct directive_member *m = row->members; m->presence; m++)
                note_member(parser, head, row, m);
        }
        first += head->form_count;
    }
}

/* NULL: no line begins with this word. */
static const struct directive_head *find_head(const struct parser *parser, struct word word)
{
    for (unsigned i = 0; i < parser->head_count; i++) {
        const struct directive_head *head = &parser->heads[i];

        if (head->length == word.length && head->initial == word.text[0] &&
            memcmp(head->first->name, word.text, word.length) == 0)
            return head;
    }
    return NULL;
}

static void begin_line(struct parser *parser)
{
    parser->head = NULL;
    parser->first = parser->directive = NULL;
    parser->word_count = 0;
    parser->given_count = 0;
    parser->has_quoted = false;
    parser->is_form_unknown = false;
    parser->is_settled = false;
    parser->is_submission_open = false;
    parser->list_count = 0;
}

static void begin_directive(struct parser *parser, struct word word)
{
    parser->head = find_head(parser, word);
    if (!parser->head) {
        char words[PARSER_SYNTAX];

        fail(parser, "unknown directive '%.*s' (expected %s)", shown(word), word.text,
             directive_words(words, sizeof words));
        return;
    }
    parser->first = parser->directive = parser->head->first;
    memset(&parser->line, 0, sizeof parser->line);
}

static void end_line(struct parser *parser)
{
    if (!parser->is_settled && !settle(parser))
        return;
    parser->line.op.kind = parser->directive->kind;
    case_add(parser);
}

/* One line that is not empty: at is its first character that is not blank. */
static void parse_line(struct parser *parser, const char *at, const char *end)
{
    begin_line(parser);
    while (at < end && *at != '#' && !workload_builder_failed(parser->builder)) {
        struct word word = {at, 0};

        if (is_blank(*at)) {
            at++;
            continue;
        }
        if (parser->has_quoted) {
            fail(parser, "something after the text (expected: %s)", case_syntax(parser));
            return;
        }
        if (parser->first && *at == '"') {
            if (!parser->head->may_have_text) {
                fail(parser, "a text (expected: %s)", case_syntax(parser));
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
        if (parser->first)
            take_word(parser, word);
        else
            begin_directive(parser, word);
    }
    if (parser->first && !workload_builder_failed(parser->builder))
        end_line(parser);
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
    list_heads(parser);
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
