/*
 * Record format: the numbers of the file that writer and reader share. docs/record.md draws them.
 *
 * Place   record, private.
 */
#ifndef DRYDOCK_RECORD_FORMAT_H
#define DRYDOCK_RECORD_FORMAT_H

#include "base/hash.h"

#include <stdint.h>

/* "DDREC", zero, major, minor; flags (0); check of the twelve bytes before. */
#define RECORD_MAGIC        "DDREC"
#define RECORD_HEADER_BYTES 16

/* A tag, bytes in the file, bytes unpacked, check of the twelve bytes before. */
#define RECORD_BLOCK_HEADER_BYTES 16
#define RECORD_TAG_ITEMS          UINT32_C(0x42494444) /* "DDIB" */
#define RECORD_TAG_END            UINT32_C(0x42454444) /* "DDEB" */

/*
 * What a block has besides items: their codes stand where an item's code stands. Kinds and patterns
 * have codes in the order in which the file names them, each two more than the one before.
 */
#define RECORD_CODE_TEXT    0 /* length, bytes: the next number is this text's */
#define RECORD_CODE_KIND    2 /* length, name; length, shape: the next code is this kind's */
#define RECORD_CODE_END     4 /* items, texts, kinds and patterns, time of the last item */
#define RECORD_CODE_PATTERN 6 /* its code, code of the kind, groups, text */
#define RECORD_CODE_FIRST   8 /* the code of the first kind; one more: the time is another one */

#define RECORD_VARINT_BYTES 10

/* So many values of an item are written as differences, at most: a bit for each. */
#define RECORD_MASK_VALUES 64u

static inline void record_store32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint32_t record_load32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint32_t record_check_of(const uint8_t header[12])
{
    return (uint32_t)hash_bytes(header, 12, 0);
}

static inline uint64_t record_zigzag(uint64_t value)
{
    return value << 1 ^ (0 - (value >> 63));
}

static inline uint64_t record_unzigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

#endif
