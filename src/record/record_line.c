#include "record/record_line.h"

#include <string.h>

struct line {
    char *buffer;
    size_t size;
    size_t length; /* in full */
};

/* A line is one line: control characters, which terminals obey, are "?". */
static void put(struct line *line, const char *text, size_t length)
{
    size_t room = line->length < line->size ? line->size - line->length - 1 : 0;
    size_t copied = length < room ? length : room;

    if (line->length < line->size) {
        for (size_t i = 0; i < copied; i++)
            line->buffer[line->length + i] =
                (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
        line->buffer[line->length + copied] = '\0';
    }
    line->length += length;
}

static void put_text(struct line *line, const char *text)
{
    put(line, text, strlen(text));
}

/* At least `least` digits. */
static void put_number(struct line *line, uint64_t value, unsigned base, const char *digits,
                       unsigned least)
{
    char text[24], *first = text + sizeof text;

    for (; value || least; value /= base, least -= least != 0)
        *--first = digits[value % base];
    put(line, first, (size_t)(text + sizeof text - first));
}

static void put_decimal(struct line *line, uint64_t value)
{
    put_number(line, value, 10, "0123456789", 1);
}

char record_part_handle(uint64_t type)
{
    if (type >= 'a' && type <= 'z')
        return (char)type;
    return type >= 'A' && type <= 'Z' ? (char)(type - 'A' + 'a') : '\0';
}

bool record_part_is_field(uint64_t type)
{
    return type < RECORD_PART_PLAIN || (type >= 'a' && type <= 'z');
}

static void put_handle(struct line *line, char kind, uint64_t number)
{
    if (!number) {
        put(line, "-", 1);
        return;
    }
    put(line, &kind, 1);
    if (number == RECORD_HANDLE_UNKNOWN)
        put(line, "?", 1);
    else
        put_decimal(line, number);
}

static void put_value(struct line *line, const struct record_reader *reader, uint64_t type,
                      uint64_t value)
{
    switch (type % RECORD_PART_PLAIN) {
    case RECORD_PART_DECIMAL:
        put_decimal(line, value);
        break;
    case RECORD_PART_HEX:
        put(line, "0x", 2);
        put_number(line, value, 16, "0123456789abcdef", 1);
        break;
    case RECORD_PART_SIGNED:
        if ((int64_t)value < 0)
            put(line, "-", 1);
        put_decimal(line, (int64_t)value < 0 ? 0 - value : value);
        break;
    case RECORD_PART_DIGITS:
        put_number(line, value, 16, "0123456789abcdef", 16);
        break;
    case RECORD_PART_TEXT:
        put_text(line, record_reader_text(reader, value));
        break;
    default:
        break;
    }
}

static void put_part(struct line *line, const struct record_reader *reader,
                     const struct record_call_group *part)
{
    const char handle = record_part_handle(part->type), *text;
    size_t length;

    text = record_reader_bytes(reader, part->field, &length);
    if (record_part_is_field(part->type)) {
        put(line, " ", 1);
        put(line, text, length);
        put(line, "=", 1);
    } else {
        put(line, text, length);
    }
    if (handle)
        put_handle(line, handle, part->value);
    else
        put_value(line, reader, part->type, part->value);
}

static void put_parts(struct line *line, const struct record_reader *reader,
                      const struct record_reader_item *call)
{
    for (size_t i = 0; i < call->group_count; i++)
        put_part(line, reader, RECORD_GROUP(call, call, i));
}

/* A damaged record does not make a line of many megabytes. */
#define MOST_DEPTH 64

size_t record_line_format(const struct record_reader *reader, const struct record_reader_item *item,
                          char *buffer, size_t size)
{
    const struct record_call *call = RECORD_FIELDS(call, item);
    struct line line = {buffer, size, 0};

    if (size)
        buffer[0] = '\0';
    for (uint64_t i = 0; i < call->depth && i < MOST_DEPTH; i++)
        put(&line, "  ", 2);
    put_text(&line, call->phase ? "< " : "> ");
    put_text(&line, record_reader_text(reader, call->name));
    if (call->operation) {
        put(&line, " ", 1);
        put_text(&line, record_reader_text(reader, call->operation));
    }
    if (call->object && !call->phase) {
        put(&line, " ", 1);
        put_handle(&line, record_reader_text(reader, call->object_type)[0], call->object);
    }
    if (call->phase) {
        put(&line, " 0x", 3);
        put_number(&line, (uint32_t)call->status, 16, "0123456789ABCDEF", 8);
    }
    put_parts(&line, reader, item);
    return line.length;
}

size_t record_line_arguments(const struct record_reader *reader,
                             const struct record_reader_item *call, char *buffer, size_t size)
{
    struct line line = {buffer, size, 0};
    size_t skipped;

    if (size)
        buffer[0] = '\0';
    put_parts(&line, reader, call);
    skipped = size && buffer[0] == ' ';
    if (skipped)
        memmove(buffer, buffer + 1, strlen(buffer));
    return line.length - skipped;
}

size_t record_parts_format(const struct record_reader *reader,
                           const struct record_call_group *parts, size_t count, char *buffer,
                           size_t size)
{
    struct line line = {buffer, size, 0};

    if (size)
        buffer[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char handle = record_part_handle(parts[i].type);

        if (i || !record_part_is_field(parts[i].type))
            put_part(&line, reader, &parts[i]);
        else if (handle)
            put_handle(&line, handle, parts[i].value);
        else
            put_value(&line, reader, parts[i].type, parts[i].value);
    }
    return line.length;
}
