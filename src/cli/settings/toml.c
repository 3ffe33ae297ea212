/*
 * A reader of one text, from its first byte to its last: each function takes what it names, and
 * leaves the reader behind it.
 */
#include "cli/settings/toml.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ENTRIES  1024u
#define MOST_ELEMENTS 1024u

struct reader {
    const char *at, *end;
    unsigned line;
    const char *path;
    struct toml *out;
    char *error; /* of 512 bytes */
};

const char *toml_kind_name(enum toml_kind kind)
{
    static const char *const names[] = {
        [TOML_STRING] = "a string",
        [TOML_INTEGER] = "an integer",
        [TOML_BOOLEAN] = "true or false",
        [TOML_ARRAY] = "an array",
    };

    return names[kind];
}

static bool fail(struct reader *reader, const char *what)
{
    snprintf(reader->error, 512, "%.200s:%u: %.250s", reader->path, reader->line, what);
    return false;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Lives as long as the entries; NULL: no memory, and the error says so. */
static void *take_memory(struct reader *reader, size_t size)
{
    struct toml *out = reader->out;
    void *memory;

    if (out->memory_count == out->memory_room) {
        size_t room = out->memory_room ? 2 * out->memory_room : 64;
        void **list = realloc(out->memory, room * sizeof *list);

        if (!list) {
            fail(reader, "no memory");
            return NULL;
        }
        out->memory = list;
        out->memory_room = room;
    }
    memory = calloc(1, size ? size : 1);
    if (memory)
        out->memory[out->memory_count++] = memory;
    else
        fail(reader, "no memory");
    return memory;
}

void toml_free(struct toml *toml)
{
    for (size_t i = 0; i < toml->memory_count; i++)
        free(toml->memory[i]);
    free(toml->memory);
    free(toml->entries);
    *toml = (struct toml){0};
}

/* ---- Characters ------------------------------------------------------------------------------ */

static int peek(const struct reader *reader, size_t ahead)
{
    return ahead < (size_t)(reader->end - reader->at) ? (unsigned char)reader->at[ahead] : -1;
}

static void skip_blanks(struct reader *reader)
{
    while (peek(reader, 0) == ' ' || peek(reader, 0) == '\t')
        reader->at++;
}

/* Bytes of the character at text, which is UTF-8 and none that TOML refuses; 0: it is not. */
static size_t character(const struct reader *reader)
{
    const int first = peek(reader, 0);
    const size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    const int second = peek(reader, 1);

    if (length == 1)
        return first == '\t' || (first >= ' ' && first != 0x7f);
    if (first < 0xc2 || first > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if (peek(reader, i) < 0x80 || peek(reader, i) > 0xbf)
            return 0;
    }
    /* Written too long, a surrogate, or behind the last character. */
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
        return 0;
    return length;
}

/* The end of a line, with its comment. False: something else stands there. */
static bool end_line(struct reader *reader)
{
    skip_blanks(reader);
    if (peek(reader, 0) == '#') {
        while (reader->at < reader->end && peek(reader, 0) != '\n' &&
               !(peek(reader, 0) == '\r' && peek(reader, 1) == '\n')) {
            size_t length = character(reader);

            if (!length)
                return fail(reader, "a byte that is no text in UTF-8");
            reader->at += length;
        }
    }
    if (reader->at == reader->end)
        return true;
    if (peek(reader, 0) == '\r' && peek(reader, 1) == '\n')
        reader->at++;
    if (peek(reader, 0) != '\n')
        return fail(reader, "expected the end of the line");
    reader->at++;
    reader->line++;
    return true;
}

/* ---- Strings --------------------------------------------------------------------------------- */

static size_t put_character(char *out, uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Behind the backslash. Gives how many bytes it is; 0: with an error. */
static size_t take_escape(struct reader *reader, char *out)
{
    static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
    const int letter = peek(reader, 0);
    const char *place = letter > 0 ? strchr(from, letter) : NULL;
    const size_t digits = letter == 'u' ? 4 : 8;
    uint32_t code = 0;

    if (place && *place) {
        reader->at++;
        *out = to[place - from];
        return 1;
    }
    if (letter != 'u' && letter != 'U') {
        fail(reader,
             "an escape that there is not (expected \\b \\t \\n \\f \\r \\\" \\\\ \\uXXXX)");
        return 0;
    }
    for (size_t i = 1; i <= digits; i++) {
        const int digit = peek(reader, i);
        const int value = digit >= '0' && digit <= '9'   ? digit - '0'
                          : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                          : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                                         : -1;

        if (value < 0) {
            fail(reader, "\\u needs four hexadecimal digits, \\U eight");
            return 0;
        }
        code = code << 4 | (uint32_t)value;
    }
    if (!code || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        fail(reader, "\\u names no character, or the one of zero");
        return 0;
    }
    reader->at += 1 + digits;
    return put_character(out, code);
}

/* "basic" or 'literal', in one line. NULL: with an error. */
static char *take_string(struct reader *reader)
{
    const char quote = *reader->at;
    size_t used = 0, length = 0;
    char *out;

    if (peek(reader, 1) == quote && peek(reader, 2) == quote) {
        fail(reader, "a string of several lines (expected one line, in \"\" or '')");
        return NULL;
    }
    while (peek(reader, length + 1) >= 0 && peek(reader, length + 1) != quote &&
           peek(reader, length + 1) != '\n')
        length += 1 + (quote == '"' && peek(reader, length + 1) == '\\');
    out = take_memory(reader, length + 2); /* an escape is never longer than it is written */
    if (!out)
        return NULL;
    for (reader->at++; peek(reader, 0) != quote;) {
        length = character(reader);

        if (reader->at == reader->end || peek(reader, 0) == '\n') {
            fail(reader, "a string that does not end in its line");
            return NULL;
        }
        if (!length) {
            fail(reader, "a byte in a string that is no text in UTF-8");
            return NULL;
        }
        if (quote == '"' && peek(reader, 0) == '\\') {
            size_t bytes;

            reader->at++;
            bytes = take_escape(reader, out + used);
            if (!bytes)
                return NULL;
            used += bytes;
            continue;
        }
        memcpy(out + used, reader->at, length);
        used += length;
        reader->at += length;
    }
    reader->at++;
    return out;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static bool is_bare(int letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
}

/* The digits of text, each single underscore between two of them. */
static bool read_integer(const char *text, size_t length, int64_t *out)
{
    const bool is_signed = length && (text[0] == '-' || text[0] == '+');
    const bool is_negative = length && text[0] == '-';
    uint64_t base = 10, value = 0;
    bool was_digit = false;

    text += is_signed;
    length -= is_signed;
    if (!is_signed && length > 2 && text[0] == '0' && strchr("xob", text[1])) {
        base = text[1] == 'x' ? 16 : text[1] == 'o' ? 8 : 2;
        text += 2;
        length -= 2;
    } else if (length > 1 && text[0] == '0') {
        return false; /* TOML has no leading zeros */
    }
    for (size_t i = 0; i < length; i++) {
        const char digit = text[i];
        uint64_t one;

        if (digit == '_' && was_digit && i + 1 < length) {
            was_digit = false;
            continue;
        }
        one = digit >= '0' && digit <= '9'   ? (uint64_t)(digit - '0')
              : digit >= 'a' && digit <= 'f' ? (uint64_t)(digit - 'a') + 10
              : digit >= 'A' && digit <= 'F' ? (uint64_t)(digit - 'A') + 10
                                             : base;
        if (one >= base || value > ((uint64_t)INT64_MAX - one) / base)
            return false;
        value = value * base + one;
        was_digit = true;
    }
    *out = is_negative ? -(int64_t)value : (int64_t)value;
    return was_digit;
}

/* A string, an integer or a boolean. NULL: with an error. */
static char *take_scalar(struct reader *reader, enum toml_kind *out_kind)
{
    const char *word = reader->at;
    size_t length = 0;
    int64_t number;
    char *out;

    if (peek(reader, 0) == '"' || peek(reader, 0) == '\'') {
        *out_kind = TOML_STRING;
        return take_string(reader);
    }
    while (is_bare(peek(reader, length)) || peek(reader, length) == '+' ||
           peek(reader, length) == '.' || peek(reader, length) == ':')
        length++;
    if (peek(reader, 0) == '{' || peek(reader, 0) == '[') {
        fail(reader, peek(reader, 0) == '{' ? "an inline table, which is not taken here"
                                            : "an array in an array, which is not taken here");
        return NULL;
    }
    if ((length == 4 && memcmp(word, "true", 4) == 0) ||
        (length == 5 && memcmp(word, "false", 5) == 0)) {
        *out_kind = TOML_BOOLEAN;
        out = take_memory(reader, length + 1);
        if (out)
            memcpy(out, word, length);
        reader->at += length;
        return out;
    }
    *out_kind = TOML_INTEGER;
    if (!read_integer(word, length, &number)) {
        fail(reader, "no value (expected \"text\", 'text', a whole number, true, false or [a, b])");
        return NULL;
    }
    out = take_memory(reader, 24);
    if (out)
        snprintf(out, 24, "%" PRId64, number);
    reader->at += length;
    return out;
}

/* Blanks, comments and ends of lines between elements of an array. */
static bool skip_lines(struct reader *reader)
{
    for (;;) {
        skip_blanks(reader);
        if (peek(reader, 0) != '#' && peek(reader, 0) != '\n' && peek(reader, 0) != '\r')
            return true;
        if (!end_line(reader))
            return false;
    }
}

static bool take_array(struct reader *reader, struct toml_entry *entry)
{
    char **elements = NULL;
    size_t room = 0;

    entry->kind = TOML_ARRAY;
    reader->at++;
    for (;;) {
        enum toml_kind kind;

        if (!skip_lines(reader))
            return false;
        if (peek(reader, 0) == ']')
            break;
        if (entry->count == MOST_ELEMENTS)
            return fail(reader, "more elements than an array may have");
        if (entry->count == room) {
            room = room ? 2 * room : 8;
            elements = take_memory(reader, room * sizeof *elements);
            if (!elements)
                return false;
            if (entry->count)
                memcpy(elements, entry->elements, entry->count * sizeof *elements);
            entry->elements = elements;
        }
        elements[entry->count] = take_scalar(reader, &kind);
        if (!elements[entry->count])
            return false;
        entry->count++;
        if (!skip_lines(reader))
            return false;
        if (peek(reader, 0) == ',')
            reader->at++;
        else if (peek(reader, 0) != ']')
            return fail(reader, "expected , or ] behind an element of an array");
    }
    reader->at++;
    return true;
}

static bool take_value(struct reader *reader, struct toml_entry *entry)
{
    if (peek(reader, 0) == '[')
        return take_array(reader, entry);
    entry->elements = take_memory(reader, sizeof *entry->elements);
    if (!entry->elements)
        return false;
    entry->elements[0] = take_scalar(reader, &entry->kind);
    entry->count = 1;
    return entry->elements[0] != NULL;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* NULL: with an error. */
static char *take_key(struct reader *reader)
{
    size_t length = 0;
    char *key;

    if (peek(reader, 0) == '"' || peek(reader, 0) == '\'') {
        key = take_string(reader);
    } else {
        while (is_bare(peek(reader, length)))
            length++;
        if (!length) {
            fail(reader, "expected a key or [table]");
            return NULL;
        }
        key = take_memory(reader, length + 1);
        if (key)
            memcpy(key, reader->at, length);
        reader->at += length;
    }
    skip_blanks(reader);
    if (key && peek(reader, 0) == '.') {
        fail(reader, "a dotted name, which is not taken here");
        return NULL;
    }
    return key;
}

static bool has_entry(const struct toml *toml, const char *table, const char *key)
{
    for (size_t i = 0; i < toml->count; i++) {
        if (strcmp(toml->entries[i].table, table) == 0 && strcmp(toml->entries[i].key, key) == 0)
            return true;
    }
    return false;
}

static bool take_entry(struct reader *reader, const char *table)
{
    struct toml *out = reader->out;
    struct toml_entry entry = {.table = table, .line = reader->line};

    entry.key = take_key(reader);
    if (!entry.key)
        return false;
    if (peek(reader, 0) != '=')
        return fail(reader, "expected = behind the key");
    reader->at++;
    skip_blanks(reader);
    if (has_entry(out, table, entry.key))
        return fail(reader, "a key that is there already");
    if (!take_value(reader, &entry))
        return false;
    if (out->count == MOST_ENTRIES)
        return fail(reader, "more keys than a file may have");
    if (out->count == out->room) {
        const size_t room = out->room ? 2 * out->room : 32;
        struct toml_entry *entries = realloc(out->entries, room * sizeof *entries);

        if (!entries)
            return fail(reader, "no memory");
        out->entries = entries;
        out->room = room;
    }
    out->entries[out->count++] = entry;
    return end_line(reader);
}

/* "[name]" */
static bool take_table(struct reader *reader, const char **table, char **seen, size_t *seen_count)
{
    reader->at++;
    if (peek(reader, 0) == '[')
        return fail(reader, "an array of tables, which is not taken here");
    skip_blanks(reader);
    *table = take_key(reader);
    if (!*table)
        return false;
    if (peek(reader, 0) != ']')
        return fail(reader, "expected ] behind the name of a table");
    reader->at++;
    for (size_t i = 0; i < *seen_count; i++) {
        if (strcmp(seen[i], *table) == 0)
            return fail(reader, "a table that is there already");
    }
    if (has_entry(reader->out, "", *table))
        return fail(reader, "a table of the name of a key");
    if (*seen_count == MOST_ENTRIES)
        return fail(reader, "more tables than a file may have");
    seen[*seen_count] = (char *)*table;
    ++*seen_count;
    return end_line(reader);
}

static bool take_text(struct reader *reader)
{
    char **seen = take_memory(reader, MOST_ENTRIES * sizeof *seen);
    size_t seen_count = 0;
    const char *table = "";

    if (!seen)
        return false;
    while (reader->at < reader->end) {
        bool is_fine;

        skip_blanks(reader);
        if (peek(reader, 0) == '[')
            is_fine = take_table(reader, &table, seen, &seen_count);
        else if (peek(reader, 0) == '#' || peek(reader, 0) == '\n' || peek(reader, 0) == '\r' ||
                 peek(reader, 0) < 0)
            is_fine = end_line(reader);
        else
            is_fine = take_entry(reader, table);
        if (!is_fine)
            return false;
    }
    return true;
}

bool toml_parse(const char *text, size_t size, const char *path, struct toml *out, char error[512])
{
    struct reader reader = {
        .at = text, .end = text + size, .line = 1, .path = path, .out = out, .error = error};
    bool is_fine;

    *out = (struct toml){0};
    if (size >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
        is_fine = fail(&reader, "a text in UTF-16 (expected UTF-8)");
    else if (size > TOML_MOST_BYTES)
        is_fine = fail(&reader, "more bytes than a file of settings may have");
    else {
        if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
            reader.at += 3;
        is_fine = take_text(&reader);
    }
    if (!is_fine)
        toml_free(out);
    return is_fine;
}
