/* Trace line: appends to a buffer, and counts on when the buffer is full. */
#include "trace/trace_line.h"

#include "base/assert.h"
#include "base/bits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * ---- Conversions ----
 *
 * A run formats some ten lines a packet, and in its digest are all of them: what the C library's
 * printf does for each was a tenth of a checked run. The conversions that lines are made of are
 * done here: %s, and %d, %u and %x of 32 and 64 bits, with zeros in front (%08x) or not. A
 * format with any other goes to vsnprintf() as a whole.
 */

/* The characters between % and the conversion of a 64-bit number: those of PRIu64 without its u. */
static const char wide[] = PRIu64;
#define WIDE_CHARACTERS (sizeof wide - 2)

#define NUMBER_BYTES 24u

void trace_visit_other(struct trace_line *line, const char *text, size_t length, unsigned type,
                       uint64_t value)
{
    const struct trace_visitor *visitor = line->visitor;

    if (visitor->values)
        *visitor->values = line->values;
    visitor->part(visitor->context, text, length, type, value);
    if (visitor->values)
        line->values = *visitor->values;
}

void trace_put_characters(struct trace_line *line, const char *text, size_t length)
{
    size_t room = line->length < line->size ? line->size - line->length - 1 : 0;
    size_t copied = length < room ? length : room;

    if (line->visitor) {
        if (length)
            trace_visit(line, text, length, TRACE_PART_PLAIN + TRACE_PART_NOTHING, 0);
        return;
    }
    if (line->length < line->size) {
        memcpy(line->buffer + line->length, text, copied);
        line->buffer[line->length + copied] = '\0';
    }
    line->length += length;
}

/* Where `count` characters and the zero behind them go; NULL: there is no room for all of them. */
static inline char *room_for(const struct trace_line *line, size_t count)
{
    return line->length + count < line->size ? line->buffer + line->length : NULL;
}

static inline void end_at(struct trace_line *line, char *end)
{
    *end = '\0';
    line->length = (size_t)(end - line->buffer);
}

static inline unsigned count_digits(uint64_t value, unsigned base)
{
    unsigned count = 1;

    if (base == 16)
        return (log2_floor_u64(value | 1) + 4) / 4;
    for (uint64_t next = 10; count < 20 && value >= next; next *= 10)
        count++;
    return count;
}

/* So many of the last digits; gives the place behind them. */
static inline char *write_digits(char *at, uint64_t value, unsigned base, const char *alphabet,
                                 unsigned digits)
{
    char *const end = at + digits;

    for (char *digit = end; digit > at; value /= base)
        *--digit = alphabet[value % base];
    return end;
}

/* At least `digits` of them, NUMBER_BYTES at most. Inline: a base that is known needs no division.
 */
static inline void put_digits(struct trace_line *line, uint64_t value, unsigned base,
                              const char *alphabet, unsigned digits)
{
    const unsigned needed = count_digits(value, base);
    const unsigned count = digits <= needed        ? needed
                           : digits < NUMBER_BYTES ? digits
                                                   : NUMBER_BYTES;
    char text[NUMBER_BYTES];
    char *at = room_for(line, count);

    if (at)
        end_at(line, write_digits(at, value, base, alphabet, count));
    else
        trace_put_characters(line, text,
                             (size_t)(write_digits(text, value, base, alphabet, count) - text));
}

static void put_decimal(struct trace_line *line, uint64_t value)
{
    put_digits(line, value, 10, "0123456789", 1);
}

static void put_signed(struct trace_line *line, int64_t value)
{
    if (value < 0)
        trace_put_characters(line, "-", 1);
    put_decimal(line, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* The text in front of a value and the value, as one part of the line. */
static void visit_value(struct trace_line *line, const char *text, size_t length, unsigned type,
                        uint64_t value)
{
    if (type == TRACE_PART_HEX && length >= 2 && memcmp(text + length - 2, "0x", 2) == 0)
        length -= 2;
    trace_visit(line, text, length, TRACE_PART_PLAIN + type, value);
}

/* False, with part of the line put: the format has a conversion that is not known here. */
static bool put_known(struct trace_line *line, const char *format, va_list arguments)
{
    const bool is_visited = line->visitor != NULL;

    for (;;) {
        const char *percent = strchr(format, '%'), *text = format;
        unsigned digits = 1;
        size_t length;
        uint64_t value;
        bool is_wide;

        if (!percent) {
            trace_put_text(line, format);
            return true;
        }
        length = (size_t)(percent - format);
        format = percent + 1;
        if (*format == '0') {
            for (digits = 0; *format >= '0' && *format <= '9'; format++)
                digits = digits * 10 + (unsigned)(*format - '0');
            if (digits < 1 || digits > 16)
                return false;
        }
        is_wide = WIDE_CHARACTERS && strncmp(format, wide, WIDE_CHARACTERS) == 0;
        format += is_wide ? WIDE_CHARACTERS : 0;
        if (!is_visited)
            trace_put_characters(line, text, length);
        switch (*format++) {
        case 's': {
            const char *words;

            if (is_wide || digits != 1)
                return false;
            words = va_arg(arguments, const char *);
            words = words ? words : "(null)";
            if (is_visited)
                visit_value(line, text, length, TRACE_PART_TEXT, (uintptr_t)words);
            else
                trace_put_text(line, words);
            break;
        }
        case 'd':
            if (digits != 1)
                return false;
            value =
                is_wide ? va_arg(arguments, uint64_t) : (uint64_t)(int64_t)va_arg(arguments, int);
            if (is_visited)
                visit_value(line, text, length, TRACE_PART_SIGNED, value);
            else
                put_signed(line, (int64_t)value);
            break;
        case 'u':
            value = is_wide ? va_arg(arguments, uint64_t) : va_arg(arguments, unsigned int);
            if (is_visited && digits != 1)
                return false;
            if (is_visited)
                visit_value(line, text, length, TRACE_PART_DECIMAL, value);
            else
                put_digits(line, value, 10, "0123456789", digits);
            break;
        case 'x':
            value = is_wide ? va_arg(arguments, uint64_t) : va_arg(arguments, unsigned int);
            if (!is_visited)
                put_digits(line, value, 16, "0123456789abcdef", digits);
            else if (digits == 16)
                visit_value(line, text, length, TRACE_PART_DIGITS, value);
            else if (digits == 1 && length >= 2 && memcmp(percent - 2, "0x", 2) == 0)
                visit_value(line, text, length, TRACE_PART_HEX, value);
            else
                return false;
            break;
        default:
            return false;
        }
    }
}

void trace_put(struct trace_line *line, const char *format, ...)
{
    size_t start = line->length;
    va_list arguments;
    bool is_put;

    va_start(arguments, format);
    is_put = put_known(line, format, arguments);
    va_end(arguments);
    if (!is_put && line->visitor) {
        ASSERT(false); /* a line in parts has no conversion of another kind */
    } else if (!is_put) {
        size_t room = start < line->size ? line->size - start : 0;
        int length;

        line->length = start;
        va_start(arguments, format);
        length = vsnprintf(room ? line->buffer + start : NULL, room, format, arguments);
        va_end(arguments);
        if (length > 0)
            line->length += (size_t)length;
    }
}

/* ---- Fields ---- */

static void put_name_characters(struct trace_line *line, const char *name, size_t length)
{
    trace_put_characters(line, " ", 1);
    trace_put_characters(line, name, length);
    trace_put_characters(line, "=", 1);
}

/* " name=", then the prefix, then the number: in one go where all of it has room. */
static inline void put_field(struct trace_line *line, const char *name, size_t name_length,
                             const char *prefix, size_t prefix_length, uint64_t value,
                             unsigned base)
{
    static const char alphabet[] = "0123456789abcdef";
    const unsigned digits = count_digits(value, base);
    char *at = room_for(line, 1 + name_length + 1 + prefix_length + digits);

    if (!at) {
        put_name_characters(line, name, name_length);
        trace_put_characters(line, prefix, prefix_length);
        put_digits(line, value, base, alphabet, 1);
        return;
    }
    *at++ = ' ';
    memcpy(at, name, name_length);
    at += name_length;
    *at++ = '=';
    memcpy(at, prefix, prefix_length);
    end_at(line, write_digits(at + prefix_length, value, base, alphabet, digits));
}

void trace_put_name(struct trace_line *line, const char *name, size_t length)
{
    if (line->visitor)
        trace_visit(line, name, length, TRACE_PART_NOTHING, 0);
    else
        put_name_characters(line, name, length);
}

void trace_put_decimal_text(struct trace_line *line, const char *name, size_t length,
                            uint64_t value)
{
    put_field(line, name, length, "", 0, value, 10);
}

void trace_put_hex_text(struct trace_line *line, const char *name, size_t length, uint64_t value)
{
    put_field(line, name, length, "0x", 2, value, 16);
}

void trace_put_plain_hex(struct trace_line *line, const char *text, size_t length, uint64_t value)
{
    if (line->visitor) {
        trace_visit(line, text, length, TRACE_PART_PLAIN + TRACE_PART_HEX, value);
        return;
    }
    trace_put_characters(line, text, length);
    trace_put_characters(line, "0x", 2);
    put_digits(line, value, 16, "0123456789abcdef", 1);
}

void trace_put_plain_digits(struct trace_line *line, const char *text, size_t length,
                            uint64_t value)
{
    if (line->visitor) {
        trace_visit(line, text, length, TRACE_PART_PLAIN + TRACE_PART_DIGITS, value);
        return;
    }
    trace_put_characters(line, text, length);
    put_digits(line, value, 16, "0123456789abcdef", 16);
}

void trace_put_named_signed(struct trace_line *line, const char *name, size_t name_length,
                            int64_t value)
{
    if (line->visitor) {
        trace_visit(line, name, name_length, TRACE_PART_SIGNED, (uint64_t)value);
        return;
    }
    trace_put_name(line, name, name_length);
    put_signed(line, value);
}

void trace_put_status(struct trace_line *line, NTSTATUS status)
{
    trace_put_characters(line, " 0x", 3);
    put_digits(line, (uint32_t)status, 16, "0123456789ABCDEF", 8);
}

/* The number of a handle as parts have it. */
static uint64_t handle_number(const struct trace_line *line, enum trace_handle_kind kind,
                              const void *handle)
{
    uint64_t number = line->handles ? trace_handles_number(line->handles, kind, handle) : 0;

    return handle && !number ? TRACE_HANDLE_UNKNOWN : number;
}

void trace_put_handle_value(struct trace_line *line, enum trace_handle_kind kind,
                            const void *handle)
{
    uint64_t number = handle_number(line, kind, handle);
    char letter = (char)kind;

    if (line->visitor) {
        trace_visit(line, "", 0, (unsigned)kind - 'a' + 'A', number);
        return;
    }
    if (!handle) {
        trace_put_characters(line, "-", 1);
        return;
    }
    trace_put_characters(line, &letter, 1);
    if (number != TRACE_HANDLE_UNKNOWN)
        put_decimal(line, number);
    else
        trace_put_characters(line, "?", 1);
}

void trace_put_named_handle(struct trace_line *line, const char *name, size_t name_length,
                            enum trace_handle_kind kind, const void *handle)
{
    if (line->visitor) {
        trace_visit(line, name, name_length, kind, handle_number(line, kind, handle));
        return;
    }
    trace_put_name(line, name, name_length);
    trace_put_handle_value(line, kind, handle);
}

void trace_put_words(struct trace_line *line, const char *name, const char *words)
{
    const size_t length = strlen(name);

    if (line->visitor) {
        trace_visit(line, name, length, TRACE_PART_TEXT, (uintptr_t)words);
        return;
    }
    trace_put_name(line, name, length);
    trace_put_text(line, words);
}

void trace_put_cpu_address(struct trace_line *line, const char *name, const void *address)
{
    trace_put_words(line, name, address ? "cpu" : "-");
}

void trace_put_mdl(struct trace_line *line, const char *name, const MDL *mdl)
{
    if (!mdl || !mdl->ByteCount) {
        trace_put_words(line, name, mdl ? "{bytes=0}" : "-");
        return;
    }
    trace_put_words(line, name, "{");
    trace_put(line, "bytes=%" PRIu32 " frame=0x%" PRIx64 "}", mdl->ByteCount,
              (uint64_t)MmGetMdlPfnArray(mdl)[0]);
}

void trace_put_adl(struct trace_line *line, const char *name, const DXGK_ADL *adl)
{
    trace_put_words(line, name, "{");
    trace_put(line, "pages=%" PRIu32, adl->PageCount);
    if (adl->Flags.Contiguous)
        trace_put(line, " base=0x%" PRIx64 "}", adl->BasePageNumber);
    else if (adl->PageCount && adl->Pages)
        trace_put(line, " first=0x%" PRIx64 "}", adl->Pages[0]);
    else
        trace_put_text(line, "}");
}

void trace_put_place(struct trace_line *line, const char *name, uint32_t segment, uint64_t address)
{
    trace_put_number(line, name, segment);
    trace_put_plain_hex(line, ":", 1, address);
}

void trace_put_gpu_physical(struct trace_line *line, const char *name,
                            const D3DGPU_PHYSICAL_ADDRESS *address)
{
    trace_put_place(line, name, address->SegmentId, address->SegmentOffset);
}

void trace_put_handles(struct trace_line *line, const char *name, enum trace_handle_kind kind,
                       const HANDLE *handles, UINT count)
{
    trace_put_words(line, name, "[");
    for (UINT i = 0; handles && i < count; i++) {
        if (i)
            trace_put_text(line, " ");
        trace_put_handle_value(line, kind, handles[i]);
    }
    trace_put_text(line, "]");
}
