/*
 * Text of DbgPrint and of the printf functions that the kernel exports. Not the host's printf: the
 * argument list has the driver's calling convention, and the lengths are those of Windows.
 */
#include "nt/text/format.h"

#include "nt/nt_private.h"

#include <stdio.h>
#include <string.h>

/* One conversion, as written between % and its letter. */
struct conversion {
    char flags[6];
    int width;
    int precision;  /* -1: none */
    unsigned bytes; /* of an integer argument */
    bool is_wide;   /* l or w before a string or character */
    bool is_narrow; /* h */
    char letter;
};

struct text {
    char *out;
    WCHAR *wide_out; /* instead */
    size_t size;     /* for text, without the zero */
    size_t length;   /* so far */
    size_t needed;   /* its length with room for all */
};

static size_t room_for(struct text *text, size_t length)
{
    size_t room = text->size - text->length;

    text->needed += length;
    return length < room ? length : room;
}

static void put(struct text *text, const char *from, size_t length)
{
    length = room_for(text, length);
    for (size_t i = 0; i < length && text->wide_out; i++)
        text->wide_out[text->length + i] = (UCHAR)from[i];
    if (length && !text->wide_out)
        memcpy(text->out + text->length, from, length);
    text->length += length;
}

/* Characters outside of ASCII show as '?' where the text is narrow. */
static void put_characters(struct text *text, const WCHAR *from, size_t length)
{
    length = room_for(text, length);
    for (size_t i = 0; i < length; i++) {
        if (text->wide_out)
            text->wide_out[text->length + i] = from[i];
        else
            text->out[text->length + i] = from[i] < 0x80 ? (char)from[i] : '?';
    }
    text->length += length;
}

static void put_padded(struct text *text, const struct conversion *conversion, const char *from,
                       size_t length)
{
    size_t width = conversion->width > 0 ? (size_t)conversion->width : 0;
    size_t padding = width > length ? width - length : 0;
    bool is_left = strchr(conversion->flags, '-') != NULL;

    if (is_left)
        put(text, from, length);
    while (padding--)
        put(text, " ", 1);
    if (!is_left)
        put(text, from, length);
}

static size_t limited(const struct conversion *conversion, size_t length)
{
    return conversion->precision >= 0 && (size_t)conversion->precision < length
               ? (size_t)conversion->precision
               : length;
}

static size_t narrow_length(const struct conversion *conversion, const char *string)
{
    size_t length = 0;

    while ((conversion->precision < 0 || length < (size_t)conversion->precision) && string[length])
        length++;
    return length;
}

static size_t wide_length(const struct conversion *conversion, const WCHAR *string)
{
    size_t length = 0;

    while ((conversion->precision < 0 || length < (size_t)conversion->precision) && string[length])
        length++;
    return length;
}

static void put_wide(struct text *text, const struct conversion *conversion, const WCHAR *from,
                     size_t length)
{
    size_t width = conversion->width > 0 ? (size_t)conversion->width : 0;
    size_t padding = width > length ? width - length : 0;
    bool is_left = strchr(conversion->flags, '-') != NULL;

    if (is_left)
        put_characters(text, from, length);
    while (padding--)
        put(text, " ", 1);
    if (!is_left)
        put_characters(text, from, length);
}

static void put_counted(struct text *text, const struct conversion *conversion,
                        nt_va_list *arguments)
{
    if (conversion->is_wide) {
        const UNICODE_STRING *string = NT_VA_ARG(*arguments, const UNICODE_STRING *);

        if (string && string->Buffer) {
            put_wide(text, conversion, string->Buffer,
                     limited(conversion, string->Length / sizeof(WCHAR)));
            return;
        }
    } else {
        const ANSI_STRING *string = NT_VA_ARG(*arguments, const ANSI_STRING *);

        if (string && string->Buffer) {
            put_padded(text, conversion, string->Buffer, limited(conversion, string->Length));
            return;
        }
    }
    put_padded(text, conversion, "(null)", 6);
}

static void put_string(struct text *text, const struct conversion *conversion, const void *string)
{
    if (!string)
        put_padded(text, conversion, "(null)", 6);
    else if (conversion->is_wide)
        put_wide(text, conversion, string, wide_length(conversion, string));
    else
        put_padded(text, conversion, string, narrow_length(conversion, string));
}

static void put_integer(struct text *text, const struct conversion *conversion, uint64_t value)
{
    bool is_signed = conversion->letter == 'd' || conversion->letter == 'i';
    unsigned unused_bits = 64 - 8 * conversion->bytes;
    char format[24];
    char digits[320];
    int length;

    value = is_signed ? (uint64_t)((int64_t)(value << unused_bits) >> unused_bits)
                      : value << unused_bits >> unused_bits;
    snprintf(format, sizeof format, "%%%s*.*ll%c", conversion->flags, conversion->letter);
    /* A negative precision counts as none, for the host's printf too. */
    length = snprintf(
        digits, sizeof digits, format, conversion->width < 256 ? conversion->width : 256,
        conversion->precision < 256 ? conversion->precision : 256, (unsigned long long)value);
    if (length > 0)
        put(text, digits, (size_t)length);
}

static const char *parse_number(const char *format, int *out, nt_va_list *arguments)
{
    if (*format == '*') {
        *out = NT_VA_ARG(*arguments, int);
        return format + 1;
    }
    for (*out = 0; *format >= '0' && *format <= '9'; format++)
        *out = *out < 100000 ? *out * 10 + (*format - '0') : *out;
    return format;
}

static const char *parse_size(const char *format, struct conversion *conversion)
{
    for (;; format++) {
        if (format[0] == 'I' && format[1] == '6' && format[2] == '4') {
            conversion->bytes = 8;
            format += 2;
        } else if (format[0] == 'I' && format[1] == '3' && format[2] == '2') {
            conversion->bytes = 4;
            format += 2;
        } else if (*format == 'I' || *format == 'z' || *format == 't' || *format == 'j') {
            conversion->bytes = 8;
        } else if (format[0] == 'l' && format[1] == 'l') {
            conversion->bytes = 8;
            format++;
        } else if (*format == 'l' || *format == 'w') {
            conversion->is_wide = true;
        } else if (*format == 'h') {
            conversion->bytes = conversion->is_narrow ? 1 : 2;
            conversion->is_narrow = true;
        } else {
            return format;
        }
    }
}

static const char *parse(const char *format, struct conversion *conversion, nt_va_list *arguments)
{
    size_t flags = 0;

    memset(conversion, 0, sizeof *conversion);
    conversion->precision = -1;
    conversion->bytes = 4;
    for (; *format && strchr("-+ #0", *format); format++) {
        if (flags < sizeof conversion->flags - 1)
            conversion->flags[flags++] = *format;
    }
    format = parse_number(format, &conversion->width, arguments);
    if (conversion->width < 0) {
        conversion->width = conversion->width > -100000 ? -conversion->width : 100000;
        conversion->flags[0] = '-';
    }
    if (*format == '.')
        format = parse_number(format + 1, &conversion->precision, arguments);
    format = parse_size(format, conversion);
    conversion->letter = *format;
    return *format ? format + 1 : format;
}

/* s and c are of the text's own kind, S and C of the other one; l, w and h say so themselves. */
static bool is_wide_string(const struct text *text, const struct conversion *conversion)
{
    bool is_other = conversion->letter == 'S' || conversion->letter == 'C';

    if (conversion->is_wide || conversion->is_narrow)
        return conversion->is_wide;
    return is_other == !text->wide_out;
}

static void convert(struct text *text, struct conversion *conversion, nt_va_list *arguments)
{
    WCHAR character;

    switch (conversion->letter) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        put_integer(text, conversion, NT_VA_ARG(*arguments, uint64_t));
        break;
    case 'p':
        conversion->bytes = 8;
        conversion->letter = 'X';
        conversion->precision = 16;
        put_integer(text, conversion, NT_VA_ARG(*arguments, uint64_t));
        break;
    case 'c':
    case 'C':
        character = (WCHAR)NT_VA_ARG(*arguments, uint64_t);
        if (!is_wide_string(text, conversion))
            character &= 0xff;
        put_wide(text, conversion, &character, 1);
        break;
    case 'S':
    case 's':
        conversion->is_wide = is_wide_string(text, conversion);
        put_string(text, conversion, NT_VA_ARG(*arguments, const void *));
        break;
    case 'Z':
        put_counted(text, conversion, arguments);
        break;
    case '%':
        put(text, "%", 1);
        break;
    case 'a':
    case 'e':
    case 'f':
    case 'g':
    case 'E':
    case 'G':
        (void)NT_VA_ARG(*arguments, uint64_t);
        put(text, "<float>", 7);
        break;
    default:
        break;
    }
}

size_t nt_print(char *out, size_t size, bool is_ended, const char *format, nt_va_list *arguments)
{
    struct text text = {.out = out, .size = is_ended && size ? size - 1 : size};

    while (*format) {
        size_t literal = strcspn(format, "%");

        put(&text, format, literal);
        format += literal;
        if (*format) {
            struct conversion conversion;

            format = parse(format + 1, &conversion, arguments);
            convert(&text, &conversion, arguments);
        }
    }
    if (text.length < size)
        out[text.length] = 0;
    return text.needed;
}

#define LONGEST_CONVERSION 48u /* from % to the last letter */

size_t nt_print_wide(WCHAR *out, size_t size, bool is_ended, const WCHAR *format,
                     nt_va_list *arguments)
{
    struct text text = {.wide_out = out, .size = is_ended && size ? size - 1 : size};

    while (*format) {
        char narrow[LONGEST_CONVERSION + 1] = {0};
        struct conversion conversion;

        if (*format != '%') {
            put_characters(&text, format++, 1);
            continue;
        }
        format++;
        for (size_t i = 0; i < LONGEST_CONVERSION && format[i]; i++)
            narrow[i] = format[i] < 0x80 ? (char)format[i] : '?';
        format += parse(narrow, &conversion, arguments) - narrow;
        convert(&text, &conversion, arguments);
    }
    if (text.length < size)
        out[text.length] = 0;
    return text.needed;
}

size_t nt_format(char *out, size_t size, const char *format, nt_va_list *arguments)
{
    size_t needed = nt_print(out, size, true, format, arguments);

    return needed < size ? needed : size - 1;
}
