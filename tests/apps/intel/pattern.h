/*
 * pattern.h: what the client programs of this folder share: options, random numbers, and content
 * that can be checked.
 *
 * Content    Memory is seen as lines of 64 bytes. Each line has a tag, 64 bits that the CPU
 * remembers, and holds what its tag says: sixteen words that are all different, or, where FILL_TAG
 * is set, one word sixteen times (what a fill of the GPU makes). A copy between device memories
 * copies the tags. So a check needs an eighth of the memory that it checks, and a line that came
 * from elsewhere or from an earlier time is seen and named. Random     One generator a thread, from
 * the seed and the thread's number: with one thread a run repeats exactly. Exit       0: all
 * content right. 1: content wrong (the first wrong lines of each thread are printed). 2: an API
 * call failed.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE     64
#define FILL_TAG (UINT64_C(1) << 63)
#define MIB      (UINT64_C(1) << 20)

/* An API call that must succeed: both APIs say so with 0. */
#define CHECK(call)                                                                                \
    do {                                                                                           \
        long long status_ = (long long)(call);                                                     \
        if (status_ != 0) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %lld (%#llx)\n", __FILE__, __LINE__, #call, status_,       \
                    status_);                                                                      \
            exit(2);                                                                               \
        }                                                                                          \
    } while (0)

/* What the command line says: name=number, in any order. */
struct options {
    uint64_t total_mib;  /* working set of all threads together */
    uint64_t buffer_kib; /* largest buffer */
    uint64_t threads, steps, seed;
};

static inline void options_read(struct options *o, int count, char **words)
{
    struct {
        const char *name;
        uint64_t *value;
    } known[] = {
        {"total", &o->total_mib}, {"buffer", &o->buffer_kib}, {"threads", &o->threads},
        {"steps", &o->steps},     {"seed", &o->seed},
    };
    for (int i = 1; i < count; i++) {
        size_t k;
        for (k = 0; k < sizeof known / sizeof known[0]; k++) {
            size_t n = strlen(known[k].name);
            if (strncmp(words[i], known[k].name, n) == 0 && words[i][n] == '=') {
                *known[k].value = strtoull(words[i] + n + 1, NULL, 0);
                break;
            }
        }
        if (k == sizeof known / sizeof known[0]) {
            fprintf(stderr, "usage: %s [total=MiB] [buffer=KiB] [threads=N] [steps=N] [seed=N]\n",
                    words[0]);
            exit(2);
        }
    }
    if (o->threads == 0)
        o->threads = 1;
}

static inline uint64_t mix(uint64_t x)
{
    x ^= x >> 30, x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27, x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

struct rng {
    uint64_t state;
};

/* A number below n (n > 0). */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
    return mix(r->state += UINT64_C(0x9e3779b97f4a7c15)) % n;
}

static inline uint32_t tag_word(uint64_t tag, unsigned word)
{
    return (uint32_t)mix(tag & FILL_TAG ? tag : tag * 16 + word);
}

/* Writes what the tags say: count lines. */
static inline void lines_write(void *memory, const uint64_t *tags, uint64_t count)
{
    uint32_t *out = memory;
    for (uint64_t i = 0; i < count; i++)
        for (unsigned w = 0; w < LINE / 4; w++)
            *out++ = tag_word(tags[i], w);
}

/* How many lines do not hold what the tags say; the first few are told, as lines of object `name`
 * from line `first` on. */
static inline uint64_t lines_wrong(const void *memory, const uint64_t *tags, uint64_t count,
                                   const char *who, unsigned name, uint64_t first)
{
    const uint32_t *in = memory;
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; i++, in += LINE / 4) {
        for (unsigned w = 0; w < LINE / 4; w++) {
            if (in[w] != tag_word(tags[i], w)) {
                if (wrong++ < 4)
                    printf("%s: buffer %u line %llu word %u is %08x, tag %016llx wants %08x\n", who,
                           name, (unsigned long long)(first + i), w, in[w],
                           (unsigned long long)tags[i], tag_word(tags[i], w));
                break;
            }
        }
    }
    return wrong;
}

#endif
