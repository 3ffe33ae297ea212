/*
 * Pack bytes: bytes that grow, numbers as varints, and what deflates them.
 *
 * Place   story, private to story_pack.c.
 * Errors  Without memory nothing is put, and failed is set.
 */
#ifndef DRYDOCK_STORY_PACK_BYTES_H
#define DRYDOCK_STORY_PACK_BYTES_H

#include "story/story.h"

#include <zlib.h>

struct bytes {
    const struct base_services *services;
    unsigned char *data;
    size_t size, room;
    bool failed;
};

/* Room for more bytes behind those that are there. */
bool pack_reserve(struct bytes *bytes, size_t more);
void pack_put(struct bytes *bytes, const void *data, size_t size);
void pack_put_varint(struct bytes *bytes, uint64_t value);
void pack_put_format(struct bytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void pack_bytes_free(struct bytes *bytes);

/* To choose an encoding, or for good. */
enum effort { EFFORT_TRY, EFFORT_KEEP, EFFORT_COUNT };

/* A stream is made once for each effort, and begun anew for each piece. */
struct deflater {
    z_stream streams[EFFORT_COUNT];
    bool has_stream[EFFORT_COUNT];
};

/* Deflates raw bytes behind what out has, up to a full flush. False: no memory. */
bool pack_deflate(struct deflater *deflater, const struct bytes *raw, enum effort effort,
                  struct bytes *out);
void deflater_fini(struct deflater *deflater);

#endif
