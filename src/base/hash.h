/*
 * Hash: 64-bit hashes for tables and for run digests. Not for secrets.
 *
 * Place   base.
 * Model   hash_u64() mixes one integer (splitmix64's finaliser: a bijection, so distinct keys stay
 *         distinct). struct hash is a streaming XXH64: however the bytes are cut into updates, the
 *         digest is that of their concatenation, and any xxhsum can repeat it. Integers enter as
 *         little-endian bytes, whatever the host.
 */
#ifndef DRYDOCK_BASE_HASH_H
#define DRYDOCK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash {
    uint64_t lanes[4];
    uint64_t length;  /* bytes so far */
    uint8_t tail[32]; /* the length % 32 last of them, not yet in the lanes */
};

static inline uint64_t hash_u64(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* Order matters: hash_pair(a, b) is not hash_pair(b, a). */
static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
    return hash_u64(hash_u64(a + UINT64_C(0x9e3779b97f4a7c15)) ^ b);
}

void hash_init(struct hash *hash, uint64_t seed);
void hash_update(struct hash *hash, const void *bytes, size_t size);
void hash_update_u64(struct hash *hash, uint64_t value);

/* The digest of what has entered so far; more may enter afterwards. */
uint64_t hash_final(const struct hash *hash);

uint64_t hash_bytes(const void *bytes, size_t size, uint64_t seed);
uint64_t hash_string(const char *text);

/* Of an array of words, in half the time: for many of them, and not the XXH64 of their bytes. */
uint64_t hash_words(const void *words, size_t count);
/* Of so many words, the first, the third and so on. */
uint64_t hash_every_other_word(const void *words, size_t count);

#endif
