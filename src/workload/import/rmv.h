/*
 * RMV captures: the container and the token streams in it.
 *
 * Place      workload, private to the module; below import_rmv.c, which gives the tokens a meaning.
 * Model      The file is an RDF container, all integers little endian:
 *
 *                0   "AMD_RDF "        8   u32 version     16  i64 offset of the index
 *                                                          24  i64 bytes of the index
 *
 *            The index is an array of chunks of 64 bytes:
 *
 *                0   name, 16 characters             24  i64 header offset   32  i64 header bytes
 *                16  u8 compression (0, 1 = zstd)    40  i64 data offset     48  i64 data bytes
 *                20  u32 version                     56  i64 unpacked bytes, when compressed
 *
 *            Chunks RmtData with the same stream number are one stream of tokens. A token's type
 *            is the low four bits of its first byte, the next four are the time since the last
 *            token in units of 32 ticks; longer times come as tokens of their own. Streams are
 *            read side by side, the earliest token first.
 * Ownership  The file's bytes are borrowed until rmv_close(). Unpacked chunks and joined streams
 *            are the reader's.
 * Errors     bool; the sentence is in struct rmv.error. Every read is bounds-checked.
 * Source     Layout facts from the headers of the Radeon Memory Visualizer's parser (MIT); its
 *            sample capture confirms the counts.
 */
#ifndef WORKLOAD_RMV_H
#define WORKLOAD_RMV_H

#include "base/services.h"
#include "workload/workload.h"

#define RMV_MAX_STREAMS  256
#define RMV_MAX_SEGMENTS 16
#define RMV_NAME         128

enum rmv_token_type {
    RMV_TIMESTAMP = 0,
    RMV_RESOURCE_UPDATE = 1,
    RMV_PAGE_TABLE_UPDATE = 3,
    RMV_USERDATA = 4,
    RMV_MISC = 5,
    RMV_RESIDENCY = 6,
    RMV_RESOURCE_BIND = 7,
    RMV_PROCESS_EVENT = 8,
    RMV_PAGE_REFERENCE = 9,
    RMV_CPU_MAP = 10,
    RMV_VIRTUAL_FREE = 11,
    RMV_VIRTUAL_ALLOCATE = 12,
    RMV_RESOURCE_CREATE = 13,
    RMV_TIME_DELTA = 14,
    RMV_RESOURCE_DESTROY = 15,
};

/* The fields that an importer needs; those that a type does not have are zero. */
struct rmv_token {
    enum rmv_token_type type;
    uint32_t stream;
    uint64_t offset; /* in its stream */
    uint64_t time;   /* ticks */
    uint64_t pid;
    uint64_t va;
    uint64_t pa;
    uint64_t size;       /* bytes */
    uint64_t id;         /* of a resource */
    uint32_t kind;       /* of a resource, an update, a residency change or user data */
    uint32_t queue;      /* of a residency change */
    uint32_t page_shift; /* of a page-table update; 0: the capture names none */
    bool is_unmap;
    const unsigned char *payload; /* user data; lent until rmv_close() */
    uint32_t payload_bytes;
};

struct rmv_stream {
    const unsigned char *data;
    unsigned char *joined; /* the same, when it had to be put together */
    uint64_t size, joined_bytes;
    uint64_t at, time;
    uint32_t index, version; /* version: major * 10 + minor */
    uint64_t pid;
    bool has_next;
    struct rmv_token next;
};

/* A heap: kind 0 local, 1 local and invisible to the CPU, 2 system. */
struct rmv_segment {
    uint32_t kind;
    uint64_t base, size;
};

struct rmv {
    const struct base_services *services;
    const unsigned char *data;
    uint64_t size;
    struct workload_error error;
    char adapter[RMV_NAME + 1];
    struct rmv_segment segments[RMV_MAX_SEGMENTS];
    uint32_t segment_count;
    struct rmv_stream streams[RMV_MAX_STREAMS];
    uint32_t stream_count;
    uint64_t token_count;
};

/* Reads everything but the tokens. On failure there is nothing to close. */
bool rmv_open(struct rmv *rmv, const struct base_services *services, const unsigned char *data,
              uint64_t size);
void rmv_close(struct rmv *rmv);
bool rmv_rewind(struct rmv *rmv);
/* The next token in time order. False at the end, and on damage: then error.text is not empty. */
bool rmv_next(struct rmv *rmv, struct rmv_token *token);

#endif
