#include "base/hash.h"

#include "base/bits.h"

#include <string.h>

/* XXH64, from the algorithm's published description. */
#define PRIME_1 UINT64_C(0x9e3779b185ebca87)
#define PRIME_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME_3 UINT64_C(0x165667b19e3779f9)
#define PRIME_4 UINT64_C(0x85ebca77c2b2ae63)
#define PRIME_5 UINT64_C(0x27d4eb2f165667c5)

static uint64_t load_u64(const uint8_t *bytes)
{
    uint64_t value = 0;

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&value, bytes, sizeof value);
#else
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
#endif
    return value;
}

static uint32_t load_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static uint64_t round_lane(uint64_t lane, uint64_t input)
{
    return rotate_left_u64(lane + input * PRIME_2, 31) * PRIME_1;
}

static uint64_t merge_lane(uint64_t digest, uint64_t lane)
{
    return (digest ^ round_lane(0, lane)) * PRIME_1 + PRIME_4;
}

static void consume_block(uint64_t lanes[4], const uint8_t *block)
{
    for (int i = 0; i < 4; i++)
        lanes[i] = round_lane(lanes[i], load_u64(block + 8 * i));
}

/* The lanes of their own: bytes may be anything, the lanes in the structure too. */
static const uint8_t *consume_blocks(uint64_t lanes[4], const uint8_t *blocks, size_t count)
{
    uint64_t own[4];

    memcpy(own, lanes, sizeof own);
    for (; count; count--, blocks += sizeof own)
        consume_block(own, blocks);
    memcpy(lanes, own, sizeof own);
    return blocks;
}

void hash_init(struct hash *hash, uint64_t seed)
{
    memset(hash, 0, sizeof *hash);
    hash->lanes[0] = seed + PRIME_1 + PRIME_2;
    hash->lanes[1] = seed + PRIME_2;
    hash->lanes[2] = seed;
    hash->lanes[3] = seed - PRIME_1;
}

void hash_update(struct hash *hash, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    size_t held = (size_t)(hash->length % sizeof hash->tail);

    if (size == 0)
        return;
    hash->length += size;

    if (held + size < sizeof hash->tail) {
        memcpy(hash->tail + held, next, size);
        return;
    }
    if (held) {
        size_t missing = sizeof hash->tail - held;

        memcpy(hash->tail + held, next, missing);
        consume_block(hash->lanes, hash->tail);
        next += missing;
        size -= missing;
    }
    next = consume_blocks(hash->lanes, next, size / sizeof hash->tail);
    size %= sizeof hash->tail;
    memcpy(hash->tail, next, size);
}

void hash_update_u64(struct hash *hash, uint64_t value)
{
    uint8_t bytes[8];

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(bytes, &value, sizeof value);
#else
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
#endif
    hash_update(hash, bytes, sizeof bytes);
}

uint64_t hash_final(const struct hash *hash)
{
    const uint64_t *lanes = hash->lanes;
    const uint8_t *next = hash->tail;
    size_t left = (size_t)(hash->length % sizeof hash->tail);
    uint64_t digest;

    if (hash->length >= sizeof hash->tail) {
        digest = rotate_left_u64(lanes[0], 1) + rotate_left_u64(lanes[1], 7) +
                 rotate_left_u64(lanes[2], 12) + rotate_left_u64(lanes[3], 18);
        for (int i = 0; i < 4; i++)
            digest = merge_lane(digest, lanes[i]);
    } else {
        digest = lanes[2] + PRIME_5;
    }
    digest += hash->length;

    for (; left >= 8; left -= 8, next += 8)
        digest = rotate_left_u64(digest ^ round_lane(0, load_u64(next)), 27) * PRIME_1 + PRIME_4;
    for (; left >= 4; left -= 4, next += 4)
        digest = rotate_left_u64(digest ^ load_u32(next) * PRIME_1, 23) * PRIME_2 + PRIME_3;
    for (; left; left--, next++)
        digest = rotate_left_u64(digest ^ *next * PRIME_5, 11) * PRIME_1;

    digest = (digest ^ digest >> 33) * PRIME_2;
    digest = (digest ^ digest >> 29) * PRIME_3;
    return digest ^ digest >> 32;
}

uint64_t hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
    struct hash hash;

    hash_init(&hash, seed);
    hash_update(&hash, bytes, size);
    return hash_final(&hash);
}

uint64_t hash_string(const char *text)
{
    return hash_bytes(text, strlen(text), 0);
}

/* Of words that are so many words apart. */
static inline uint64_t hash_apart(const void *words, size_t step, size_t count)
{
    const uint8_t *next = words;
    uint64_t lanes[4] = {PRIME_2, PRIME_3, PRIME_4, PRIME_5};
    uint64_t digest = count * PRIME_1;
    size_t left = count;

    /* As round_lane(), with one product: the rotation brings the high bits down. */
    for (; left >= 4; left -= 4, next += 32 * step)
        for (size_t i = 0; i < 4; i++)
            lanes[i] = rotate_left_u64((lanes[i] ^ load_u64(next + 8 * step * i)) * PRIME_1, 31);
    for (; left; left--, next += 8 * step)
        digest = hash_pair(digest, load_u64(next));
    for (int i = 0; i < 4; i++)
        digest = hash_pair(digest, lanes[i]);
    return digest;
}

uint64_t hash_words(const void *words, size_t count)
{
    return hash_apart(words, 1, count);
}

uint64_t hash_every_other_word(const void *words, size_t count)
{
    return hash_apart(words, 2, count);
}
