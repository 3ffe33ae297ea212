/*
 * Packet writer: commands into a piece of DMA buffer, without ever leaving it.
 *
 * Place      refkmd. Knows the packet format of drydock/sgpu.h and nothing else.
 * Model      A writer covers [start, end). Every packet asks first (packet_begin) and is either
 *            wholly inside or not written at all. The GPU starts submissions at multiples of
 *            SGPU_SUBMIT_ALIGN only, so end is cut to such a multiple, and packet_writer_end()
 *            fills up to the next one with a NOP: whatever was begun can always be ended.
 *            The memory is write combined. It is written once, upward, and never read.
 * Ownership  The buffer is the caller's.
 * Errors     No room is NULL or 0, and then nothing has changed.
 * Units      Bytes, and elements of 8 bytes in the list behind a packet's head.
 * Source     contract.md PB-002..PB-005.
 */
#ifndef REFKMD_PACKET_H
#define REFKMD_PACKET_H

#include <wdm.h>
#include <drydock/sgpu.h>

#define PACKET_LIST_ELEMENT_BYTES 8u

static inline UINT64 smaller_of(UINT64 a, UINT64 b)
{
    return a < b ? a : b;
}

struct packet_writer {
    UCHAR *start;
    UCHAR *next; /* first byte not written yet; start <= next <= end */
    UCHAR *end;
};

/*
 * buffer starts at a multiple of SGPU_SUBMIT_ALIGN of the DMA buffer. NULL is a buffer without
 * room.
 */
void packet_writer_begin(struct packet_writer *writer, void *buffer, UINT bytes);

/*
 * Reserve one packet and write its header: bytes counts head and list, a multiple of 8.
 * The caller writes everything from the flags on, reserved fields included.
 */
void *packet_begin(struct packet_writer *writer, enum sgpu_opcode opcode, UINT bytes);

/* How many list elements fit behind a head of head_bytes, at most count; 0 without room for any. */
UINT packet_list_room(const struct packet_writer *writer, UINT head_bytes, UINT64 count);

/* Pad to the alignment of a submission; returns the bytes written since packet_writer_begin(). */
UINT packet_writer_end(struct packet_writer *writer);

/* Each writes one packet, or returns FALSE. Addresses are as the flags say. */
BOOLEAN packet_copy(struct packet_writer *writer, ULONG flags, UINT64 source, UINT64 destination,
                    UINT64 bytes);
BOOLEAN packet_fill(struct packet_writer *writer, ULONG flags, UINT64 destination, UINT64 bytes,
                    ULONG pattern);

#endif
