/*
 * A policy of one's own: large allocations leave first, so that fewer have to.
 *
 *     cc -shared -fPIC -I include -o largest.so examples/policy/largest.c
 *     drydock run bert256.case --local-memory 40G --policy-file ./largest.so
 *
 * What a waiting request wants stays as long as there is another one. Where the client tells its
 * future, allocations come in half a second ahead, and others leave for them 20 ms before they are
 * submitted, 192 MiB of them at a time.
 */
#include <vidmm/policy.h>

#define MS UINT64_C(1000000)

static bool leaves_before(const struct vidmm_candidate *a, const struct vidmm_candidate *b)
{
    if (!a->queued != !b->queued)
        return !a->queued;
    return a->bytes > b->bytes;
}

/* The name is VIDMM_POLICY_SYMBOL, by which the bench finds the table. */
extern const struct vidmm_policy vidmm_policy_own;

const struct vidmm_policy vidmm_policy_own = {
    .name = "largest",
    .compared = 64,
    .leaves_before = leaves_before,
    .ahead_ns = 500 * MS,
    .evict_lead_ns = 20 * MS,
    .evict_most_ns = 100 * MS,
    .entry_ns = 50 * MS,
    .leaving_bytes = UINT64_C(192) << 20,
};
