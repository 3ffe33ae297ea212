#define _GNU_SOURCE /* open_memstream() */
#include "report/plain_text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * How many bytes from here on are one character that is not to be printed; 0: it may be. In UTF-8,
 * the second set of control characters is c2 80 to c2 9f, and the marks of direction are d8 9c,
 * e2 80 8e, e2 80 8f, e2 80 aa to ae and e2 81 a6 to a9. Some terminals take 80 to 9f alone for
 * controls.
 */
static size_t unprintable(const unsigned char *at, size_t length, bool is_within_character)
{
    if (at[0] < 0x20 || at[0] == 0x7f)
        return at[0] != '\n' && at[0] != '\t';
    if (at[0] >= 0x80 && at[0] < 0xa0)
        return !is_within_character;
    if (length >= 2 && at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0)
        return 2;
    if (length >= 2 && at[0] == 0xd8 && at[1] == 0x9c)
        return 2;
    if (length >= 3 && at[0] == 0xe2 &&
        ((at[1] == 0x80 && (at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xaa && at[2] <= 0xae))) ||
         (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9)))
        return 3;
    return 0;
}

/* A command to a build service: "::name" at the beginning of a line, "##[name" or "##vso[" in it.
 */
static bool is_command(const char *text, size_t length, bool is_line_start)
{
    size_t letters = 2;

    if (length < 3)
        return is_line_start && length == 2 && memcmp(text, "::", 2) == 0;
    if (is_line_start && memcmp(text, "::", 2) == 0)
        return true;
    if (memcmp(text, "##", 2) != 0)
        return false;
    while (letters < length && text[letters] >= 'a' && text[letters] <= 'z')
        letters++;
    return letters < length && text[letters] == '[';
}

/* How many bytes follow the first byte of a character of UTF-8. */
static unsigned followers(unsigned char first)
{
    return first >= 0xf8 ? 0 : first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
}

/* Where the writer of a text stands. */
struct writer {
    FILE *out;
    unsigned continues; /* bytes of the character that has begun */
    /* Nothing of ASCII but blanks in the line: others may be blanks, too. */
    bool is_line_start;
};

/* From `from` to `to`; what stands behind is looked at, not written. */
static void write_part(struct writer *writer, const char *text, size_t from, size_t to,
                       size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;

    for (size_t i = from; i < to; i++) {
        size_t hidden = unprintable(bytes + i, length - i, writer->continues != 0);

        if (hidden) {
            for (size_t j = 0; j < hidden; j++)
                fprintf(writer->out, "\\x%02x", bytes[i + j]);
            i += hidden - 1;
            writer->is_line_start = false;
            writer->continues = 0;
            continue;
        }
        if (is_command(text + i, length - i, writer->is_line_start))
            fputc('\\', writer->out);
        fputc(bytes[i], writer->out);
        writer->continues = bytes[i] >= 0x80 && bytes[i] < 0xc0
                                ? writer->continues - (writer->continues != 0)
                                : followers(bytes[i]);
        writer->is_line_start = bytes[i] == '\n' || (writer->is_line_start &&
                                                     (bytes[i] >= 0x80 || strchr(" \t", bytes[i])));
    }
}

void plain_text_write(FILE *out, const char *text, size_t length)
{
    struct writer writer = {.out = out, .is_line_start = true};

    write_part(&writer, text, 0, length, length);
}

void plain_text_print(FILE *out, const char *format, ...)
{
    struct plain_text plain;
    va_list arguments;

    plain_text_begin(&plain);
    va_start(arguments, format);
    if (plain.stream)
        vfprintf(plain.stream, format, arguments);
    va_end(arguments);
    plain_text_end(&plain, out);
}

void plain_text_begin(struct plain_text *plain)
{
    memset(plain, 0, sizeof *plain);
    plain->stream = open_memstream(&plain->text, &plain->length);
}

/* address NULL: of a style. Where there is no memory the text is whole without the mark. */
static void add_mark(struct plain_text *plain, enum look_style style, char *address)
{
    if (plain->mark_count == plain->mark_room) {
        size_t room = plain->mark_room ? 2 * plain->mark_room : 64;
        struct plain_text_mark *marks = realloc(plain->marks, room * sizeof *marks);

        if (!marks) {
            free(address);
            return;
        }
        plain->marks = marks;
        plain->mark_room = room;
    }
    plain->marks[plain->mark_count++] = (struct plain_text_mark){plain->length, style, address};
}

void plain_text_style(struct plain_text *plain, enum look_style style)
{
    if (plain->stream && fflush(plain->stream) == 0)
        add_mark(plain, style, NULL);
}

void plain_text_link(struct plain_text *plain, const char *address)
{
    char *copy = strdup(address);

    if (copy && plain->stream && fflush(plain->stream) == 0)
        add_mark(plain, LOOK_PLAIN, copy);
    else
        free(copy);
}

static void write_marked(const struct plain_text *plain, FILE *out)
{
    struct writer writer = {.out = out, .is_line_start = true};
    size_t from = 0;

    for (size_t i = 0; i < plain->mark_count; i++) {
        const struct plain_text_mark *mark = &plain->marks[i];

        write_part(&writer, plain->text, from, mark->at, plain->length);
        from = mark->at;
        if (mark->address)
            look_link(out, mark->address);
        else
            fputs(look_begin(out, mark->style), out);
    }
    write_part(&writer, plain->text, from, plain->length, plain->length);
    if (plain->mark_count)
        fputs(look_begin(out, LOOK_PLAIN), out);
}

void plain_text_end(struct plain_text *plain, FILE *out)
{
    if (plain->stream && fclose(plain->stream) == 0)
        write_marked(plain, out);
    for (size_t i = 0; i < plain->mark_count; i++)
        free(plain->marks[i].address);
    free(plain->marks);
    free(plain->text);
}
