#include "refkmd/work/packet.h"

/* The longest packet that a header can name, in bytes. */
#define PACKET_MAX_BYTES (0xfffffeu * sizeof(uint32_t))

void packet_writer_begin(struct packet_writer *writer, void *buffer, UINT bytes)
{
    writer->start = buffer;
    writer->next = buffer;
    writer->end = buffer;
    if (buffer)
        writer->end += bytes - bytes % SGPU_SUBMIT_ALIGN;
}

static UINT room(const struct packet_writer *writer)
{
    return (UINT)(writer->end - writer->next);
}

void *packet_begin(struct packet_writer *writer, enum sgpu_opcode opcode, UINT bytes)
{
    uint32_t *header = (uint32_t *)writer->next;

    if (bytes > room(writer) || bytes > PACKET_MAX_BYTES)
        return NULL;
    *header = SGPU_PACKET_HEADER(opcode, bytes / sizeof(uint32_t));
    writer->next += bytes;
    return header;
}

UINT packet_list_room(const struct packet_writer *writer, UINT head_bytes, UINT64 count)
{
    UINT elements;

    if (room(writer) < head_bytes)
        return 0;
    elements =
        (smaller_of(room(writer), (UINT)PACKET_MAX_BYTES) - head_bytes) / PACKET_LIST_ELEMENT_BYTES;
    return (UINT)smaller_of(count, elements);
}

UINT packet_writer_end(struct packet_writer *writer)
{
    UINT bytes = (UINT)(writer->next - writer->start);
    UINT padding = (SGPU_SUBMIT_ALIGN - bytes % SGPU_SUBMIT_ALIGN) % SGPU_SUBMIT_ALIGN;

    /* Packets are multiples of 8 bytes, so padding is 0 or at least the 8 bytes of a NOP. */
    if (padding) {
        uint32_t *nop = packet_begin(writer, SGPU_OP_NOP, padding);

        RtlZeroMemory(nop + 1, padding - sizeof *nop);
    }
    return bytes + padding;
}

BOOLEAN packet_copy(struct packet_writer *writer, ULONG flags, UINT64 source, UINT64 destination,
                    UINT64 bytes)
{
    struct sgpu_packet_copy *copy = packet_begin(writer, SGPU_OP_COPY, sizeof *copy);

    if (!copy)
        return FALSE;
    copy->flags = flags;
    copy->source = source;
    copy->destination = destination;
    copy->bytes = bytes;
    return TRUE;
}

BOOLEAN packet_fill(struct packet_writer *writer, ULONG flags, UINT64 destination, UINT64 bytes,
                    ULONG pattern)
{
    struct sgpu_packet_fill *fill = packet_begin(writer, SGPU_OP_FILL, sizeof *fill);

    if (!fill)
        return FALSE;
    fill->flags = flags;
    fill->destination = destination;
    fill->bytes = bytes;
    fill->pattern = pattern;
    fill->reserved = 0;
    return TRUE;
}
