#include "report/trace/protobuf.h"
#include "story/utf8.h"

#include <stdlib.h>
#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

void proto_clear(struct proto *proto)
{
    proto->size = 0;
}

void proto_fini(struct proto *proto)
{
    free(proto->data);
    *proto = (struct proto){0};
}

static bool reserve(struct proto *proto, size_t more)
{
    size_t room = proto->room ? proto->room : 256;
    uint8_t *grown;

    if (proto->room - proto->size >= more)
        return true;
    while (room - proto->size < more && room <= SIZE_MAX / 4)
        room *= 2;
    grown = room - proto->size < more ? NULL : realloc(proto->data, room);
    if (!grown) {
        proto->failed = true;
        return false;
    }
    proto->data = grown;
    proto->room = room;
    return true;
}

static void put_varint(struct proto *proto, uint64_t value)
{
    if (!reserve(proto, 10))
        return;
    for (; value > 0x7f; value >>= 7)
        proto->data[proto->size++] = (uint8_t)(value | 0x80);
    proto->data[proto->size++] = (uint8_t)value;
}

static void put_tag(struct proto *proto, unsigned field, enum wire_type type)
{
    put_varint(proto, (uint64_t)field << 3 | type);
}

void proto_put_uint(struct proto *proto, unsigned field, uint64_t value)
{
    put_tag(proto, field, WIRE_VARINT);
    put_varint(proto, value);
}

void proto_put_fixed64(struct proto *proto, unsigned field, uint64_t value)
{
    put_tag(proto, field, WIRE_FIXED64);
    if (!reserve(proto, 8))
        return;
    for (unsigned i = 0; i < 8; i++)
        proto->data[proto->size++] = (uint8_t)(value >> 8 * i);
}

void proto_put_bytes(struct proto *proto, unsigned field, const void *bytes, size_t size)
{
    put_tag(proto, field, WIRE_BYTES);
    put_varint(proto, size);
    if (size && reserve(proto, size)) {
        memcpy(proto->data + proto->size, bytes, size);
        proto->size += size;
    }
}

void proto_put_message(struct proto *proto, unsigned field, const struct proto *message)
{
    proto_put_bytes(proto, field, message->data, message->size);
    proto->failed = proto->failed || message->failed;
}

void proto_put_text(struct proto *proto, unsigned field, const char *text)
{
    size_t size = strlen(text);

    if (utf8_is_valid(text, size)) {
        proto_put_bytes(proto, field, text, size);
    } else {
        char *mended = malloc(3 * size);

        if (mended)
            proto_put_bytes(proto, field, mended, utf8_mend(text, size, mended));
        else
            proto->failed = true;
        free(mended);
    }
}
