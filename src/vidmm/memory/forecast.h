/*
 * Forecast: what the client has told of its future.
 *
 * Place      vidmm. Told by clients (public functions, vidmm.h); asked by the choice of victims and
 *            by what comes in ahead (ahead.h).
 * Model      Time is the client's clock: when its work would begin if nothing ever waited. An
 *            allocation has the times of its uses in ascending order; a segment has the bytes that
 *            will be created and destroyed in it. The clock passes uses, and they are forgotten.
 *            Allocations that are not resident and will be used stand in a heap, the next use
 *            first.
 * Ownership  The record of an allocation goes with its handle.
 * Errors     STATUS_NO_MEMORY; what was told before then still holds.
 * Units      Nanoseconds of the client's clock; bytes.
 */
#ifndef VIDMM_FORECAST_H
#define VIDMM_FORECAST_H

#include "vidmm/vidmm.h"

#include "base/heap.h"

struct segment;

/* The uses that were told of one allocation. */
struct told_uses {
    struct vidmm_allocation *allocation;
    struct heap_node absent; /* in forecast.absent, by absent_until */
    bool is_absent;
    bool is_for_cpu; /* the CPU wants it where it is, since it came there */
    uint64_t absent_until;
    uint32_t count, at; /* uses in front of `at` have passed */
    uint64_t ns[];
};

struct forecast {
    uint64_t submitted_ns, done_ns; /* the clock: see vidmm_forecast_time() */
    uint32_t told_count;            /* allocations whose uses are known */
    struct heap absent;
    /* What will be created and destroyed in one segment. */
    struct segment *segment; /* NULL: nothing has been told */
    struct vidmm_demand *demand;
    unsigned demand_count, demand_at; /* entries in front of demand_at have passed */
};

void forecast_init(struct vidmm *vidmm);
void forecast_fini(struct vidmm *vidmm);

/* False: nothing has been told of the allocation. *out_ns is VIDMM_NEVER when no use is left. */
bool forecast_next_use(const struct vidmm_allocation *allocation, uint64_t *out_ns);
/*
 * The allocation that is not resident and will be used first; NULL: there is none. It is taken out
 * of the heap and comes back when its state changes, or by forecast_put_back().
 */
struct vidmm_allocation *forecast_take_absent(struct vidmm *vidmm, uint64_t *out_ns);
void forecast_put_back(struct vidmm_allocation *allocation);

/*
 * The least that will be free in the segment from a time up to another one, counted from what is
 * free now, if nothing came in or left but what is created and destroyed.
 */
int64_t forecast_least_free(const struct vidmm *vidmm, const struct segment *segment,
                            uint64_t from_ns, uint64_t until_ns, int64_t free_bytes);

/*
 * The CPU wants to look at the allocation. One that is not resident does not come in until it is
 * asked for; one that came in for that is used next of all.
 */
void forecast_note_cpu(struct vidmm_allocation *allocation);
/* The state of the allocation has changed: allocation_state.c calls this. */
void forecast_note_state(struct vidmm_allocation *allocation);
/* The handle of the allocation is being released. */
void forecast_forget(struct vidmm_allocation *allocation);

#endif
