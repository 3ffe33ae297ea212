/*
 * Policy: which allocation leaves when room is needed, and what comes in before it is asked for.
 *
 * Place      Public API of libvidmm, beside vidmm.h. vidmm_config.policy names a policy; NULL is
 *            vidmm_policy_lru. A policy is a table and a comparison.
 * Model      The manager decides what may leave at all (nobody holds it, and no work of the GPU
 *            uses it) and which group goes first: what was offered, then what belongs to a process
 *            over its budget, then the lowest priority. Within a group it shows the policy pairs of
 *            candidates, in the order of their last use, and the one that wins all its comparisons
 *            leaves. What the client has told of its future (vidmm.h, "Forecasts") and which
 *            requests wait stand in the candidates.
 * Calls      leaves_before() is called in the middle of a decision: it may call no function of
 *            vidmm.h but vidmm_allocation_cookie().
 * Ownership  The manager borrows the table as long as it lives. A candidate is lent for the call.
 * Errors     None: a policy answers. A wrong answer costs time, never content.
 * Units      Bytes; nanoseconds of the clock of vidmm_forecast_time().
 */
#ifndef VIDMM_POLICY_H
#define VIDMM_POLICY_H

#include <stdbool.h>
#include <stdint.h>

struct vidmm_allocation;

/* The next use is not known, or it is known that there is none. */
#define VIDMM_NEVER UINT64_MAX

/* No turn of the process is to come: it waits for nothing. */
#define VIDMM_NO_TURN UINT32_MAX

struct vidmm_candidate {
    const struct vidmm_allocation *allocation;
    uint64_t bytes;       /* that its place takes */
    bool is_forecast;     /* the client has told its uses (vidmm_forecast_uses()) */
    uint64_t next_use_ns; /* VIDMM_NEVER: none has been told, or none is left */
    unsigned queued; /* the first waiting request that wants it, counted from 1; 0: none does */
    unsigned turn;   /* of its process (turn_ns): 0 now, 1 next, ...; VIDMM_NO_TURN: none waits */
};

struct vidmm_policy {
    const char *name;
    /*
     * Among how many candidates, the least recently used ones of their group, the policy chooses at
     * most; 0: the least recently used one leaves.
     */
    unsigned compared;
    /* a leaves rather than b, which was used less recently. NULL: the same as 0 for compared. */
    bool (*leaves_before)(const struct vidmm_candidate *a, const struct vidmm_candidate *b);
    /*
     * An allocation whose next use is at most so far behind what has been submitted comes in while
     * no request waits, and room is made for allocations that will be created; 0: neither happens.
     */
    uint64_t ahead_ns;
    /*
     * Others leave for such an allocation only when its next use is at most evict_lead_ns behind
     * what has been submitted and at most evict_most_ns behind what has run: an eviction that comes
     * too early takes memory from the work that runs now, and one that comes too late lets the work
     * wait. 0 for either: it comes in only where memory is free.
     */
    uint64_t evict_lead_ns, evict_most_ns;
    /*
     * So long before its next use an allocation comes in at the latest: others leave for it only if
     * it would find no room then either, for all that is destroyed until its use.
     */
    uint64_t entry_ns;
    /* Nobody else leaves early while so many bytes of a segment are on their way out. 0: nobody. */
    uint64_t leaving_bytes;
    /*
     * Once something had to leave a segment, so many bytes of it, but at most a 64th, are kept
     * free: what leaves for the next request goes while what this one wants comes in. 0: none.
     */
    uint64_t spare_bytes;
    /*
     * Processes that wait for memory which others have take turns of so many nanoseconds of the
     * platform's clock. Requests of the process whose turn it is are served; others are when they
     * need nothing that would have to leave. What has left a process since its last turn comes in
     * while the process in front of it runs. 0, or a platform without a clock: requests are served
     * in the order in which they were made.
     */
    uint64_t turn_ns;
};

/* The name of the table in a shared object that a run of the bench loads (option policy-file). */
#define VIDMM_POLICY_SYMBOL "vidmm_policy_own"

#endif
