#include "story/pack_bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool pack_reserve(struct bytes *bytes, size_t more)
{
    size_t room = bytes->room ? bytes->room : 4096;
    unsigned char *grown;

    if (bytes->failed || more > SIZE_MAX / 4)
        return false;
    if (bytes->room - bytes->size >= more)
        return true;
    while (room - bytes->size < more)
        room *= 2;
    grown = base_alloc(bytes->services, room);
    if (!grown) {
        bytes->failed = true;
        return false;
    }
    if (bytes->size)
        memcpy(grown, bytes->data, bytes->size);
    base_free(bytes->services, bytes->data, bytes->room);
    bytes->data = grown;
    bytes->room = room;
    return true;
}

void pack_bytes_free(struct bytes *bytes)
{
    base_free(bytes->services, bytes->data, bytes->room);
    *bytes = (struct bytes){.services = bytes->services};
}

void pack_put(struct bytes *bytes, const void *data, size_t size)
{
    if (size && pack_reserve(bytes, size)) {
        memcpy(bytes->data + bytes->size, data, size);
        bytes->size += size;
    }
}

void pack_put_varint(struct bytes *bytes, uint64_t value)
{
    if (!pack_reserve(bytes, 10))
        return;
    for (; value > 0x7f; value >>= 7)
        bytes->data[bytes->size++] = (unsigned char)(value | 0x80);
    bytes->data[bytes->size++] = (unsigned char)value;
}

void pack_put_format(struct bytes *bytes, const char *format, ...)
{
    char text[512];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    pack_put(bytes, text, strlen(text));
}

bool pack_deflate(struct deflater *deflater, const struct bytes *raw, enum effort effort,
                  struct bytes *out)
{
    static const int levels[EFFORT_COUNT] = {1, Z_DEFAULT_COMPRESSION};
    z_stream *stream = &deflater->streams[effort];
    const unsigned char *next = raw->data;
    size_t left = raw->size;
    bool is_done = false;

    if (raw->failed)
        return false;
    if (!deflater->has_stream[effort]) {
        if (deflateInit2(stream, levels[effort], Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            return false;
        deflater->has_stream[effort] = true;
    } else {
        deflateReset(stream);
    }
    while (!is_done) {
        uInt step = (uInt)(left < (1u << 30) ? left : (1u << 30));
        int flush = step == left ? Z_FULL_FLUSH : Z_NO_FLUSH;

        stream->next_in = (unsigned char *)next;
        stream->avail_in = step;
        do {
            uInt room = (uInt)(raw->size < 65536 ? raw->size + 64 : 65536);

            if (!pack_reserve(out, room))
                return false;
            stream->next_out = out->data + out->size;
            stream->avail_out = room;
            deflate(stream, flush);
            out->size += room - stream->avail_out;
        } while (!stream->avail_out);
        if (step) /* without bytes there is no pointer to move */
            next += step;
        left -= step;
        is_done = flush == Z_FULL_FLUSH;
    }
    return true;
}

void deflater_fini(struct deflater *deflater)
{
    for (unsigned i = 0; i < EFFORT_COUNT; i++) {
        if (deflater->has_stream[i])
            deflateEnd(&deflater->streams[i]);
    }
    *deflater = (struct deflater){0};
}

char *story_base64(const struct base_services *services, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = base_alloc(services, story_base64_size(size) + 1), *next = text;

    if (!text)
        return NULL;
    for (size_t i = 0; i < size; i += 3) {
        uint32_t group = (uint32_t)bytes[i] << 16 |
                         (i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (i + 2 < size ? bytes[i + 2] : 0);

        *next++ = digits[group >> 18];
        *next++ = digits[group >> 12 & 63];
        *next++ = i + 1 < size ? digits[group >> 6 & 63] : '=';
        *next++ = i + 2 < size ? digits[group & 63] : '=';
    }
    return text;
}

size_t story_base64_size(size_t size)
{
    return (size + 2) / 3 * 4;
}
