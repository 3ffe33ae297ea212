/*
 * Reading RMV captures; see rmv.h for the layout.
 */
#include "workload/import/rmv.h"
#include "workload/file.h"
#include "workload/owned.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES  32
#define CHUNK_BYTES   64
#define CHUNK_NAME    16
#define SEGMENT_BYTES 24
#define STREAM_HEADER 24
#define TICKS         32 /* the unit of times in tokens */
#define MAX_UNPACKED  ((size_t)1 << 30)

struct chunk {
    const unsigned char *name;
    uint8_t compression;
    uint64_t header, header_bytes, data, data_bytes, unpacked_bytes;
};

static uint64_t little(const unsigned char *bytes, unsigned count)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < count; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

/* Bits [first, first + count) of a token, count up to 56. */
static uint64_t field(const unsigned char *token, unsigned first, unsigned count)
{
    unsigned last = (first + count - 1) / 8;

    return (little(token + first / 8, last - first / 8 + 1) >> (first % 8)) & low_mask_u64(count);
}

/* Container ---------------------------------------------------------------------------------- */

static bool in_file(const struct rmv *rmv, uint64_t offset, uint64_t bytes)
{
    return offset <= rmv->size && bytes <= rmv->size - offset;
}

static bool name_is(const struct chunk *chunk, const char *name)
{
    return strlen(name) <= CHUNK_NAME && strncmp((const char *)chunk->name, name, CHUNK_NAME) == 0;
}

static bool read_chunk(struct rmv *rmv, uint64_t at, uint64_t number, struct chunk *chunk)
{
    const unsigned char *entry = rmv->data + at;

    *chunk = (struct chunk){.name = entry,
                            .compression = entry[16],
                            .header = little(entry + 24, 8),
                            .header_bytes = little(entry + 32, 8),
                            .data = little(entry + 40, 8),
                            .data_bytes = little(entry + 48, 8),
                            .unpacked_bytes = little(entry + 56, 8)};
    if (in_file(rmv, chunk->header, chunk->header_bytes) &&
        in_file(rmv, chunk->data, chunk->data_bytes) && chunk->compression <= 1)
        return true;
    workload_error_set(&rmv->error,
                       "chunk %" PRIu64 " of the index leaves the file or has an unknown "
                       "compression (expected it within %" PRIu64 " bytes)",
                       number, rmv->size);
    return false;
}

static bool read_segments(struct rmv *rmv, const struct chunk *chunk)
{
    if (chunk->compression || chunk->data_bytes % SEGMENT_BYTES ||
        chunk->data_bytes / SEGMENT_BYTES > RMV_MAX_SEGMENTS) {
        workload_error_set(&rmv->error,
                           "the heaps take %" PRIu64
                           " bytes (expected up to %d of %d bytes, not compressed)",
                           chunk->data_bytes, RMV_MAX_SEGMENTS, SEGMENT_BYTES);
        return false;
    }
    rmv->segment_count = 0;
    for (uint64_t at = 0; at < chunk->data_bytes; at += SEGMENT_BYTES) {
        const unsigned char *entry = rmv->data + chunk->data + at;
        struct rmv_segment segment = {.kind = (uint32_t)little(entry, 4),
                                      .base = little(entry + 8, 8),
                                      .size = little(entry + 16, 8)};

        if (segment.base % PAGE_BYTES || segment.base > UINT64_C(1) << 52 ||
            segment.size > UINT64_C(1) << 44) {
            workload_error_set(&rmv->error,
                               "a heap of %" PRIu64 " bytes at 0x%" PRIx64
                               " (expected at most 16 TiB, at a page below 2^52)",
                               segment.size, segment.base);
            return false;
        }
        rmv->segments[rmv->segment_count++] = segment;
    }
    return true;
}

static struct rmv_stream *find_stream(struct rmv *rmv, uint32_t index)
{
    for (uint32_t i = 0; i < rmv->stream_count; i++) {
        if (rmv->streams[i].index == index)
            return &rmv->streams[i];
    }
    return NULL;
}

/* Appends bytes to a stream that already has some. */
static bool join(struct rmv *rmv, struct rmv_stream *stream, const unsigned char *more,
                 uint64_t bytes)
{
    unsigned char *joined = base_alloc(rmv->services, (size_t)(stream->size + bytes));

    if (!joined)
        return false;
    memcpy(joined, stream->data, (size_t)stream->size);
    memcpy(joined + stream->size, more, (size_t)bytes);
    base_free(rmv->services, stream->joined, (size_t)stream->joined_bytes);
    stream->joined = joined;
    stream->data = joined;
    stream->size += bytes;
    stream->joined_bytes = stream->size;
    return true;
}

static bool add_stream_data(struct rmv *rmv, const struct chunk *chunk)
{
    const unsigned char *header = rmv->data + chunk->header;
    const unsigned char *data = rmv->data + chunk->data;
    struct rmv_stream *stream;
    char *unpacked = NULL;
    size_t bytes = (size_t)chunk->data_bytes;
    bool ok = true;

    if (chunk->header_bytes != STREAM_HEADER) {
        workload_error_set(&rmv->error,
                           "the header of a stream takes %" PRIu64 " bytes (expected %d)",
                           chunk->header_bytes, STREAM_HEADER);
        return false;
    }
    if (chunk->compression) {
        if (!workload_unpack(data, bytes, MAX_UNPACKED, "a stream", &unpacked, &bytes, &rmv->error))
            return false;
        data = (const unsigned char *)unpacked;
    }
    stream = find_stream(rmv, (uint32_t)little(header + 16, 4));
    if (!stream && rmv->stream_count == RMV_MAX_STREAMS) {
        workload_error_set(&rmv->error, "too many streams (expected at most %d)", RMV_MAX_STREAMS);
        free(unpacked);
        return false;
    }
    if (!stream) {
        stream = &rmv->streams[rmv->stream_count++];
        *stream = (struct rmv_stream){
            .data = data,
            .index = (uint32_t)little(header + 16, 4),
            .pid = little(header, 4),
            .version = (uint32_t)(little(header + 20, 2) * 10 + little(header + 22, 2)),
        };
        if (!unpacked)
            stream->size = bytes;
    }
    /* Unpacked bytes are copied, so that one kind of memory belongs to a stream. */
    if (bytes && (unpacked || stream->data != data))
        ok = join(rmv, stream, data, bytes);
    if (!ok)
        workload_error_set(&rmv->error, "out of memory");
    free(unpacked);
    return ok;
}

static bool read_index(struct rmv *rmv)
{
    uint64_t at = little(rmv->data + 16, 8), bytes = little(rmv->data + 24, 8);
    struct chunk chunk;

    if (!in_file(rmv, at, bytes) || bytes % CHUNK_BYTES || bytes == 0) {
        workload_error_set(&rmv->error,
                           "the index of %" PRIu64 " bytes at %" PRIu64
                           " is not inside the file (expected entries of %d bytes within %" PRIu64
                           ": is it cut off?)",
                           bytes, at, CHUNK_BYTES, rmv->size);
        return false;
    }
    for (uint64_t i = 0; i < bytes / CHUNK_BYTES; i++) {
        if (!read_chunk(rmv, at + i * CHUNK_BYTES, i, &chunk))
            return false;
        if (name_is(&chunk, "GpuMemSegment")) {
            if (!read_segments(rmv, &chunk))
                return false;
        } else if (name_is(&chunk, "AdapterInfo")) {
            if (!chunk.compression && chunk.data_bytes >= RMV_NAME)
                memcpy(rmv->adapter, rmv->data + chunk.data, RMV_NAME);
        } else if (name_is(&chunk, "RmtData")) {
            if (!add_stream_data(rmv, &chunk))
                return false;
        }
    }
    if (rmv->stream_count && rmv->segment_count)
        return true;
    workload_error_set(&rmv->error, "no %s in the file (expected chunks %s)",
                       rmv->stream_count ? "heaps" : "token streams",
                       rmv->stream_count ? "GpuMemSegment" : "RmtData");
    return false;
}

/* Tokens ------------------------------------------------------------------------------------- */

/* Bytes of the description behind a resource-create token; 0 for kinds without one. */
static uint32_t description_bytes(const struct rmv_stream *stream, const unsigned char *token,
                                  uint64_t left, uint32_t kind)
{
    static const uint8_t sizes[] = {
        [0] = 38,  [1] = 11,  [2] = 1,  [3] = 1,  [6] = 12,  [7] = 1,  [8] = 4,  [9] = 6,
        [11] = 10, [12] = 19, [13] = 4, [14] = 3, [15] = 44, [16] = 1, [17] = 17};

    if (kind >= ARRAY_COUNT(sizes))
        return 0;
    if (kind == 0 && stream->version >= 16)
        return 39;
    if (kind == 14 && left > 9)
        return sizes[kind] + 4u * token[9]; /* a descriptor pool: that many pools follow */
    return sizes[kind];
}

/* Bytes of the token that begins here, 0 when its type is unknown or it is cut off. */
static uint32_t token_bytes(const struct rmv_stream *stream, const unsigned char *token,
                            uint64_t left)
{
    static const uint8_t sizes[16] = {
        [RMV_TIMESTAMP] = 12,
        [RMV_RESOURCE_UPDATE] = 14,
        [RMV_PAGE_TABLE_UPDATE] = 18,
        [RMV_USERDATA] = 4,
        [RMV_MISC] = 2,
        [RMV_RESIDENCY] = 8,
        [RMV_RESOURCE_BIND] = 17,
        [RMV_PROCESS_EVENT] = 6,
        [RMV_PAGE_REFERENCE] = 10,
        [RMV_CPU_MAP] = 8,
        [RMV_VIRTUAL_FREE] = 7,
        [RMV_VIRTUAL_ALLOCATE] = 12,
        [RMV_RESOURCE_CREATE] = 7,
        [RMV_TIME_DELTA] = 1,
        [RMV_RESOURCE_DESTROY] = 5,
    };
    enum rmv_token_type type = (enum rmv_token_type)(token[0] & 15);
    uint32_t bytes = sizes[type];

    if (bytes > left)
        return 0;
    if (type == RMV_USERDATA)
        bytes += (uint32_t)field(token, 12, 20);
    else if (type == RMV_TIME_DELTA)
        bytes += (uint32_t)field(token, 4, 3);
    else if (type == RMV_RESOURCE_CREATE)
        bytes += description_bytes(stream, token, left, (uint32_t)field(token, 48, 6));
    return bytes > left ? 0 : bytes;
}

static void decode_page_table_update(const unsigned char *t, struct rmv_token *token)
{
    static const uint8_t shifts[8] = {0, 12, 16, 18, 20, 21, 0, 0};
    uint64_t count = field(t, 80, 20);

    token->page_shift = shifts[field(t, 100, 3)];
    token->va = field(t, 8, 36) << PAGE_SHIFT_BITS;
    token->pa = field(t, 44, 36) << PAGE_SHIFT_BITS;
    token->size = count << (token->page_shift ? token->page_shift : PAGE_SHIFT_BITS);
    token->is_unmap = field(t, 103, 1) != 0;
    token->pid = field(t, 104, 32);
    token->kind = (uint32_t)field(t, 136, 2);
}

static void decode(const unsigned char *t, uint32_t bytes, struct rmv_token *token)
{
    switch (token->type) {
    case RMV_PAGE_TABLE_UPDATE:
        decode_page_table_update(t, token);
        break;
    case RMV_USERDATA:
        token->kind = (uint32_t)field(t, 8, 4);
        token->payload = t + 4;
        token->payload_bytes = bytes - 4;
        break;
    case RMV_MISC:
        token->kind = (uint32_t)field(t, 8, 4);
        break;
    case RMV_RESIDENCY:
        token->kind = (uint32_t)field(t, 8, 1);
        token->va = field(t, 9, 48);
        token->queue = (uint32_t)field(t, 57, 7);
        break;
    case RMV_RESOURCE_BIND:
        token->va = field(t, 8, 48);
        token->size = field(t, 56, 44);
        token->id = field(t, 104, 32);
        break;
    case RMV_PROCESS_EVENT:
        token->pid = field(t, 8, 32);
        token->kind = (uint32_t)field(t, 40, 8);
        break;
    case RMV_CPU_MAP:
        token->va = field(t, 8, 48);
        token->is_unmap = field(t, 56, 1) != 0;
        break;
    case RMV_VIRTUAL_FREE:
        token->va = field(t, 8, 48);
        break;
    case RMV_VIRTUAL_ALLOCATE:
        token->size = (field(t, 8, 24) + 1) * PAGE_BYTES;
        token->va = field(t, 34, 48);
        break;
    case RMV_RESOURCE_CREATE:
        token->id = field(t, 8, 32);
        token->kind = (uint32_t)field(t, 48, 6);
        break;
    case RMV_RESOURCE_DESTROY:
        token->id = field(t, 8, 32);
        break;
    case RMV_TIMESTAMP:
    case RMV_RESOURCE_UPDATE:
    case RMV_PAGE_REFERENCE:
    case RMV_TIME_DELTA:
        break;
    }
}

/* The stream's clock at a token. */
static uint64_t time_at(const struct rmv_stream *stream, const unsigned char *t, uint32_t bytes,
                        enum rmv_token_type type)
{
    switch (type) {
    case RMV_TIMESTAMP:
        return (little(t, 8) >> 4) * TICKS;
    case RMV_TIME_DELTA:
        return stream->time + little(t + 1, bytes - 1) * TICKS;
    case RMV_RESOURCE_UPDATE:
    case RMV_PAGE_REFERENCE:
    case RMV_RESOURCE_DESTROY:
        return stream->time; /* these carry no time */
    default:
        return stream->time + field(t, 4, 4) * TICKS;
    }
}

/* Decodes the stream's next token into stream->next. False on damage. */
static bool advance(struct rmv *rmv, struct rmv_stream *stream)
{
    const unsigned char *t = stream->data + stream->at;
    uint64_t left = stream->size - stream->at;
    struct rmv_token *token = &stream->next;
    uint32_t bytes;

    stream->has_next = false;
    if (left == 0)
        return true;
    bytes = token_bytes(stream, t, left);
    *token = (struct rmv_token){.type = (enum rmv_token_type)(t[0] & 15),
                                .stream = stream->index,
                                .offset = stream->at,
                                .pid = stream->pid};
    if (bytes == 0 || (stream->at == 0 && token->type != RMV_TIMESTAMP)) {
        workload_error_set(&rmv->error,
                           "stream %u, byte %" PRIu64 ": a token of type %u%s (expected %s)",
                           stream->index, stream->at, (unsigned)token->type,
                           bytes ? "" : " that is unknown or cut off",
                           bytes ? "a timestamp at the beginning" : "a whole token");
        return false;
    }
    stream->time = time_at(stream, t, bytes, token->type);
    token->time = stream->time;
    decode(t, bytes, token);
    stream->at += bytes;
    stream->has_next = true;
    return true;
}

bool rmv_next(struct rmv *rmv, struct rmv_token *token)
{
    struct rmv_stream *first = NULL;

    for (uint32_t i = 0; i < rmv->stream_count; i++) {
        struct rmv_stream *stream = &rmv->streams[i];

        if (stream->has_next && (!first || stream->next.time < first->next.time))
            first = stream;
    }
    if (!first)
        return false;
    *token = first->next;
    rmv->token_count++;
    return advance(rmv, first);
}

/* Life --------------------------------------------------------------------------------------- */

bool rmv_rewind(struct rmv *rmv)
{
    rmv->token_count = 0;
    for (uint32_t i = 0; i < rmv->stream_count; i++) {
        rmv->streams[i].at = 0;
        rmv->streams[i].time = 0;
        if (!advance(rmv, &rmv->streams[i]))
            return false;
    }
    return true;
}

void rmv_close(struct rmv *rmv)
{
    for (uint32_t i = 0; i < rmv->stream_count; i++)
        base_free(rmv->services, rmv->streams[i].joined, (size_t)rmv->streams[i].joined_bytes);
    rmv->stream_count = 0;
}

bool rmv_open(struct rmv *rmv, const struct base_services *services, const unsigned char *data,
              uint64_t size)
{
    memset(rmv, 0, sizeof *rmv);
    rmv->services = services;
    rmv->data = data;
    rmv->size = size;
    if (size < HEADER_BYTES) {
        workload_error_set(&rmv->error, "the file has %" PRIu64 " bytes (expected %d and more)",
                           size, HEADER_BYTES);
        return false;
    }
    if (read_index(rmv) && rmv_rewind(rmv))
        return true;
    rmv_close(rmv);
    return false;
}
