#include "layers/transcript/transcript.h"

#include "base/bits.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ITEM_ALIGNMENT 8u
#define IRQL_MOST      31u
#define DEPTH_MOST     1000u
#define LOCKS_MOST     1024

static const struct {
    const char *name;
    size_t bytes; /* of its structure */
} kinds[TRANSCRIPT_KINDS] = {
    [TRANSCRIPT_CALL] = {"a call", sizeof(struct transcript_call)},
    [TRANSCRIPT_PATCH] = {"bytes of an answer", sizeof(struct transcript_patch)},
    [TRANSCRIPT_MOVE] = {"a pointer of an answer", sizeof(struct transcript_move)},
    [TRANSCRIPT_GIVEN] = {"memory of the driver's own", sizeof(struct transcript_patch)},
    [TRANSCRIPT_RETURN] = {"the return from a call", sizeof(struct transcript_return)},
    [TRANSCRIPT_END] = {"the end of a routine", sizeof(struct transcript_end)},
    [TRANSCRIPT_REGISTER] = {"an access to a register", sizeof(struct transcript_register)},
    [TRANSCRIPT_STALL] = {"time that passes", sizeof(struct transcript_pages)},
    [TRANSCRIPT_TAKE] = {"pages that are taken", sizeof(struct transcript_pages)},
    [TRANSCRIPT_GIVE] = {"pages that are given back", sizeof(struct transcript_pages)},
    [TRANSCRIPT_TAKE_RANGE] = {"a range of pages that is taken", sizeof(struct transcript_pages)},
    [TRANSCRIPT_GIVE_RANGE] = {"a range of pages that is given back",
                               sizeof(struct transcript_pages)},
    [TRANSCRIPT_MEMORY] = {"bytes of memory", sizeof(struct transcript_memory)},
    [TRANSCRIPT_CALLBACK] = {"a callback", sizeof(struct transcript_callback)},
    [TRANSCRIPT_RESULT] = {"the result of a callback", sizeof(struct transcript_result)},
    [TRANSCRIPT_CONFIGURE] = {"a write to configuration space",
                              sizeof(struct transcript_configure)},
    [TRANSCRIPT_SCHEDULE] = {"an event that is set", sizeof(struct transcript_event)},
    [TRANSCRIPT_CANCEL] = {"an event that is cancelled", sizeof(struct transcript_event)},
    [TRANSCRIPT_EVENT] = {"an event", sizeof(struct transcript_event)},
    [TRANSCRIPT_NEXT] = {"a wait", 0},
    [TRANSCRIPT_UNFOLLOWED] = {"something that is not written down", 0},
};

const char *transcript_kind_name(enum transcript_kind kind)
{
    return kinds[kind].name;
}

/* ---- Writing --------------------------------------------------------------------------------- */

void transcript_begin(struct transcript_writer *writer, int file)
{
    writer->file = file;
    writer->has_failed = false;
    writer->written = 0;
    writer->used = 0;
}

static void write_out(struct transcript_writer *writer, const uint8_t *bytes, size_t count)
{
    writer->written += count;
    writer->has_failed |= writer->written > TRANSCRIPT_MOST_BYTES;
    while (count && !writer->has_failed) {
        ssize_t done = write(writer->file, bytes, count);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            writer->has_failed = true;
            return;
        }
        bytes += done;
        count -= (size_t)done;
    }
}

void transcript_flush(struct transcript_writer *writer)
{
    write_out(writer, writer->buffer, writer->used);
    writer->used = 0;
}

static void put_bytes(struct transcript_writer *writer, const void *bytes, size_t count)
{
    if (count > sizeof writer->buffer - writer->used)
        transcript_flush(writer);
    if (count > sizeof writer->buffer) {
        write_out(writer, bytes, count);
        return;
    }
    if (count)
        memcpy(writer->buffer + writer->used, bytes, count);
    writer->used += count;
}

void transcript_put(struct transcript_writer *writer, enum transcript_kind kind,
                    const struct nt_moment *moment, const void *structure, size_t structure_bytes,
                    const void *tail, size_t tail_bytes)
{
    static const uint8_t padding[ITEM_ALIGNMENT];
    const struct transcript_head head = {
        (uint16_t)kind,    (uint16_t)moment->locks, moment->irql,
        moment->is_thread, (uint16_t)moment->depth, structure_bytes + tail_bytes,
    };

    put_bytes(writer, &head, sizeof head);
    put_bytes(writer, structure, structure_bytes);
    put_bytes(writer, tail, tail_bytes);
    put_bytes(writer, padding, align_up(head.bytes, ITEM_ALIGNMENT) - head.bytes);
}

/* ---- Reading --------------------------------------------------------------------------------- */

bool transcript_next(struct transcript_reader *reader, struct transcript_item *out)
{
    struct transcript_head head;
    uint64_t left = reader->size - reader->at;
    const uint8_t *at = reader->bytes + reader->at;

    memset(out, 0, sizeof *out);
    if (left < sizeof head)
        return false;
    memcpy(&head, at, sizeof head);
    left -= sizeof head;
    if (head.kind >= TRANSCRIPT_KINDS || head.irql > IRQL_MOST || head.is_thread > 1 ||
        head.depth > DEPTH_MOST || head.locks > LOCKS_MOST || head.bytes > left ||
        align_up(head.bytes, ITEM_ALIGNMENT) > left || head.bytes < kinds[head.kind].bytes)
        return false;
    out->kind = (enum transcript_kind)head.kind;
    out->moment = (struct nt_moment){head.irql, head.is_thread, head.depth, head.locks};
    out->structure = at + sizeof head;
    out->tail = at + sizeof head + kinds[head.kind].bytes;
    out->tail_bytes = head.bytes - kinds[head.kind].bytes;
    reader->at += sizeof head + align_up(head.bytes, ITEM_ALIGNMENT);
    return true;
}
