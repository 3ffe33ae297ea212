#include "story/utf8.h"

#include <stdint.h>
#include <string.h>

/* The length of the character at text, or 0 when there is none. */
static size_t character_length(const unsigned char *text, size_t size)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t min;
    } forms[] = {{0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && i < size; i++) {
        uint32_t point = text[0] & (unsigned char)~forms[i].mask;

        if ((text[0] & forms[i].mask) != forms[i].lead)
            continue;
        for (size_t k = 1; k <= i; k++) {
            if ((text[k] & 0xc0) != 0x80)
                return 0;
            point = point << 6 | (text[k] & 0x3f);
        }
        return point < forms[i].min || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)
                   ? 0
                   : i + 1;
    }
    return 0;
}

bool utf8_is_valid(const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t length = character_length((const unsigned char *)text + at, size - at);

        if (!length)
            return false;
        at += length;
    }
    return true;
}

size_t utf8_mend(const char *text, size_t size, char *out)
{
    const char *begin = out;

    for (size_t at = 0; at < size;) {
        size_t length = character_length((const unsigned char *)text + at, size - at);

        memcpy(out, length ? text + at : "\xef\xbf\xbd", length ? length : 3);
        out += length ? length : 3;
        at += length ? length : 1;
    }
    return (size_t)(out - begin);
}
