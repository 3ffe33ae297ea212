/*
 * Rng: the seeded generator behind every choice of a run.
 *
 * Place   base. Header only.
 * Model   xoshiro256** (Blackman and Vigna, public domain), its state filled by splitmix64 from
 *         one 64-bit seed. The same seed gives the same sequence on every host. Not for secrets.
 *         A part of a run that must not disturb the others draws from a generator of its own:
 *         rng_fork() derives one from a stream number without consuming from the parent.
 */
#ifndef DRYDOCK_BASE_RNG_H
#define DRYDOCK_BASE_RNG_H

#include "base/bits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t state[4];
};

/* One step of splitmix64: advances *state, returns a well mixed value. */
static inline uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline void rng_init(struct rng *rng, uint64_t seed)
{
    for (size_t i = 0; i < ARRAY_COUNT(rng->state); i++)
        rng->state[i] = splitmix64(&seed);
}

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate_left_u64(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left_u64(s[3], 45);
    return result;
}

/* Uniform in [0, bound), without bias. Bound is not 0. */
static inline uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    /* Values below 2^64 mod bound are dropped, which leaves a multiple of bound of them. */
    uint64_t dropped = (0 - bound) % bound;
    uint64_t value;

    do
        value = rng_next(rng);
    while (value < dropped);
    return value % bound;
}

/* Uniform in [low, high], both included. */
static inline uint64_t rng_between(struct rng *rng, uint64_t low, uint64_t high)
{
    uint64_t span = high - low + 1;

    return span ? low + rng_below(rng, span) : rng_next(rng);
}

/* True with probability numerator / denominator. */
static inline bool rng_chance(struct rng *rng, uint64_t numerator, uint64_t denominator)
{
    return rng_below(rng, denominator) < numerator;
}

/* Uniform in [0, 1), with 53 random bits. */
static inline double rng_unit(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1.0p-53;
}

static inline void rng_shuffle_u64(struct rng *rng, uint64_t *values, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)rng_below(rng, i);
        uint64_t kept = values[i - 1];

        values[i - 1] = values[j];
        values[j] = kept;
    }
}

/* A generator for stream, from the parent's current state, which does not change. */
static inline void rng_fork(const struct rng *parent, uint64_t stream, struct rng *out_child)
{
    uint64_t mix = stream;

    for (size_t i = 0; i < ARRAY_COUNT(parent->state); i++)
        mix = splitmix64(&mix) ^ parent->state[i];
    rng_init(out_child, mix);
}

#endif
