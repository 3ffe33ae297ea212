#include "record/record_line.h"

#include <string.h>

#define BYTES_OF(value) (UINT64_C(0x0101010101010101) * (value))

/* Text that has been put is not terminated: end_line() does. */
struct line {
    char *buffer;
    size_t size;
    size_t length; /* in full */
};

static size_t end_line(struct line *line)
{
    if (line->size)
        line->buffer[line->length < line->size ? line->length : line->size - 1] = '\0';
    return line->length;
}

static inline size_t room_of(const struct line *line)
{
    return line->length < line->size ? line->size - line->length - 1 : 0;
}

/* Text of this program, or digits: as it is. */
static inline void put_own(struct line *line, const char *text, size_t length)
{
    const size_t room = room_of(line);

    if (length <= room) /* of a length that the compiler knows */
        memcpy(line->buffer + line->length, text, length);
    else if (room)
        memcpy(line->buffer + line->length, text, room);
    line->length += length;
}

/* Any of eight characters is a control character. */
static inline bool has_control(uint64_t characters)
{
    const uint64_t deleted = characters ^ BYTES_OF(0x7f);

    return (((characters - BYTES_OF(' ')) & ~characters) | ((deleted - BYTES_OF(1)) & ~deleted)) &
           BYTES_OF(0x80);
}

/* A line is one line: control characters, which terminals obey, are "?". */
static void put(struct line *line, const char *text, size_t length)
{
    const size_t room = room_of(line), count = length < room ? length : room;
    char *out = line->buffer + line->length;
    uint64_t eight;

    line->length += length;
    for (size_t i = 0; i < count;) {
        if (i + sizeof eight <= count) {
            memcpy(&eight, text + i, sizeof eight);
            memcpy(out + i, &eight, sizeof eight);
            if (!has_control(eight)) {
                i += sizeof eight;
                continue;
            }
        }
        out[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
        i++;
    }
}

static void put_text(struct line *line, const char *text)
{
    put(line, text, strlen(text));
}

#define MOST_DIGITS 24

/* Digits from first on, with as many bytes behind them, so that a copy has one length. */
static inline void put_digits(struct line *line, const char *first, size_t count)
{
    const size_t room = room_of(line);

    if (room >= MOST_DIGITS)
        memcpy(line->buffer + line->length, first, MOST_DIGITS);
    else if (room)
        memcpy(line->buffer + line->length, first, count < room ? count : room);
    line->length += count;
}

/* At least `least` digits. */
static void put_hex(struct line *line, uint64_t value, const char *digits, unsigned least)
{
    char text[2 * MOST_DIGITS] = "", *const end = text + MOST_DIGITS, *first = end;

    for (; value || first > end - least; value >>= 4)
        *--first = digits[value & 15];
    put_digits(line, first, (size_t)(end - first));
}

static void put_decimal(struct line *line, uint64_t value)
{
    char text[2 * MOST_DIGITS] = "", *const end = text + MOST_DIGITS, *first = end;

    do
        *--first = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    put_digits(line, first, (size_t)(end - first));
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
        put_own(line, "-", 1);
        return;
    }
    put_own(line, &kind, 1);
    if (number == RECORD_HANDLE_UNKNOWN)
        put_own(line, "?", 1);
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
        put_own(line, "0x", 2);
        put_hex(line, value, "0123456789abcdef", 1);
        break;
    case RECORD_PART_SIGNED:
        if ((int64_t)value < 0)
            put_own(line, "-", 1);
        put_decimal(line, (int64_t)value < 0 ? 0 - value : value);
        break;
    case RECORD_PART_DIGITS:
        put_hex(line, value, "0123456789abcdef", 16);
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
        put_own(line, " ", 1);
        put(line, text, length);
        put_own(line, "=", 1);
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

    for (uint64_t i = 0; i < call->depth && i < MOST_DEPTH; i++)
        put_own(&line, "  ", 2);
    put_text(&line, call->phase ? "< " : "> ");
    put_text(&line, record_reader_text(reader, call->name));
    if (call->operation) {
        put_own(&line, " ", 1);
        put_text(&line, record_reader_text(reader, call->operation));
    }
    if (call->object && !call->phase) {
        put_own(&line, " ", 1);
        put_handle(&line, record_reader_text(reader, call->object_type)[0], call->object);
    }
    if (call->phase) {
        put_own(&line, " 0x", 3);
        put_hex(&line, (uint32_t)call->status, "0123456789ABCDEF", 8);
    }
    put_parts(&line, reader, item);
    return end_line(&line);
}

size_t record_line_arguments(const struct record_reader *reader,
                             const struct record_reader_item *call, char *buffer, size_t size)
{
    struct line line = {buffer, size, 0};
    size_t skipped;

    put_parts(&line, reader, call);
    end_line(&line);
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

    for (size_t i = 0; i < count; i++) {
        const char handle = record_part_handle(parts[i].type);

        if (i || !record_part_is_field(parts[i].type))
            put_part(&line, reader, &parts[i]);
        else if (handle)
            put_handle(&line, handle, parts[i].value);
        else
            put_value(&line, reader, parts[i].type, parts[i].value);
    }
    return end_line(&line);
}
