/*
 * The policies that libvidmm brings. docs/policy.md has what each of them gains.
 */
#include "vidmm/policy.h"

/*
 * Enough for a training step, whose allocations number some thousands. A decision takes time in
 * proportion to the candidates that it compares.
 */
#define COMPARED 4096

/* One second of GPU time: some hundred submissions of a training step. */
#define AHEAD_NS UINT64_C(1000000000)

/*
 * Measured with two nets (docs/policy.md): with less the GPU waits, and more moves more bytes than
 * it saves time.
 */
#define EVICT_LEAD_NS UINT64_C(300000000)
#define EVICT_MOST_NS UINT64_C(400000000)
#define ENTRY_NS      UINT64_C(50000000)
#define LEAVING_BYTES (UINT64_C(384) << 20)
/* Without hints more than that is a guess too many. */
#define LEAVING_FOR_QUEUE (UINT64_C(192) << 20)

/*
 * Measured with the same nets: more is faster where copies go both ways at once, but with more than
 * 32 MiB the queue of BERT has less memory than it needs.
 */
#define SPARE_BYTES (UINT64_C(32) << 20)

/*
 * A set of 8.5 GB takes half a second of a link of 15.75 GB/s, most of it beside the turn in front.
 * Measured with a hundredth of such sets, memory and turns (docs/policy.md): 0.75 of the ideal.
 */
#define TURN_NS UINT64_C(1000000000)

/* What no request wants goes before what one wants, and of two that are wanted the later one. */
static bool is_wanted_later(const struct vidmm_candidate *a, const struct vidmm_candidate *b)
{
    if (!a->queued != !b->queued)
        return !a->queued;
    return a->queued > b->queued;
}

/*
 * The farthest next use goes. Candidates without a forecast go by their last use, and before those
 * with one: a client that tells its future has told all of it.
 */
static bool is_used_later(const struct vidmm_candidate *a, const struct vidmm_candidate *b)
{
    if (a->queued || b->queued)
        return is_wanted_later(a, b);
    if (a->is_forecast != b->is_forecast)
        return b->is_forecast && b->next_use_ns != VIDMM_NEVER;
    return a->next_use_ns > b->next_use_ns;
}

/* The farthest turn goes; within a process the least recently used. */
static bool has_later_turn(const struct vidmm_candidate *a, const struct vidmm_candidate *b)
{
    return a->turn > b->turn;
}

const struct vidmm_policy vidmm_policy_lru = {.name = "lru"};

const struct vidmm_policy vidmm_policy_look_ahead = {.name = "look-ahead",
                                                     .compared = COMPARED,
                                                     .leaves_before = is_used_later,
                                                     .ahead_ns = AHEAD_NS,
                                                     .evict_lead_ns = EVICT_LEAD_NS,
                                                     .evict_most_ns = EVICT_MOST_NS,
                                                     .entry_ns = ENTRY_NS,
                                                     .leaving_bytes = LEAVING_FOR_QUEUE,
                                                     .spare_bytes = SPARE_BYTES};

const struct vidmm_policy vidmm_policy_hinted = {.name = "hinted",
                                                 .compared = COMPARED,
                                                 .leaves_before = is_used_later,
                                                 .ahead_ns = AHEAD_NS,
                                                 .evict_lead_ns = EVICT_LEAD_NS,
                                                 .evict_most_ns = EVICT_MOST_NS,
                                                 .entry_ns = ENTRY_NS,
                                                 .leaving_bytes = LEAVING_BYTES};

const struct vidmm_policy vidmm_policy_turns = {
    .name = "turns", .compared = COMPARED, .leaves_before = has_later_turn, .turn_ns = TURN_NS};
