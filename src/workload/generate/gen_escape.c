/*
 * Escapes of random cases.
 *
 * A driver looks at the size of the data first, then at its head. So data has a length and words of
 * its own, and part of it a head that gets further.
 */
#include "workload/generate/gen.h"

#include "base/bits.h"
#include "workload/case/template.h"

#include <inttypes.h>
#include <stdio.h>

#define MOST_FIELDS 6 /* the text of so many is shorter than WORKLOAD_MAX_TEMPLATE */
#define MOST_WORDS  32

/* A field: how many words of which width, and what each of them holds. */
static int print_field(struct rng *rng, char *text, size_t size)
{
    static const uint64_t edges[] = {0, 1, 2, 0x7fffffff, 0x80000000, UINT32_MAX, UINT64_MAX};
    const unsigned bits = 8u << rng_below(rng, 4);
    const uint64_t words = rng_chance(rng, 1, 2) ? 1 : 1 + rng_below(rng, MOST_WORDS);
    const uint64_t value =
        rng_chance(rng, 1, 2) ? edges[rng_below(rng, ARRAY_COUNT(edges))] : rng_next(rng);

    if (rng_chance(rng, 1, 8))
        return snprintf(text, size, "size:u%u*%" PRIu64 " ", bits, words);
    return snprintf(text, size, "0x%" PRIx64 ":u%u*%" PRIu64 " ", value, bits, words);
}

/* Numbers of a version, a type or a length, as drivers have them in front. */
static int print_head(struct rng *rng, char *text, size_t size)
{
    const unsigned bits = rng_chance(rng, 1, 2) ? 16 : 32;

    return snprintf(text, size, "%u:u%u %u:u%u ", (unsigned)rng_below(rng, 3), bits,
                    (unsigned)rng_below(rng, 32), bits);
}

void gen_escape(struct gen *gen, struct rng *rng, uint32_t context)
{
    const uint64_t by = rng_below(rng, 3);
    const bool needs_hardware = rng_chance(rng, 1, 6);
    const uint64_t kind = rng_below(rng, 3);
    uint64_t fields = 1 + rng_below(rng, MOST_FIELDS);
    char text[WORKLOAD_MAX_TEMPLATE + 1];
    int at = 0;

    if (kind == 0) { /* struct sgpu_umd_escape: the version, a code, room for the answer */
        snprintf(text, sizeof text, "1:u32 %u:u32 0:u64*2", (unsigned)rng_below(rng, 4));
        fields = 0;
    } else if (kind == 1) {
        at = print_head(rng, text, sizeof text);
    }
    for (; fields; fields--)
        at += print_field(rng, text + at, sizeof text - (size_t)at);
    workload_builder_escape(gen->builder, context, by, needs_hardware, text);
}
