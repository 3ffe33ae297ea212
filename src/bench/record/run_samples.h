/*
 * Samples of a run: how full local memory was, over virtual time.
 *
 * Place      bench. A result has them; the player takes them, reports show them.
 * Model      A fixed number of slots, each as long as the others. The value of a slot is what was
 *            in use when its time began, as far as the events of the run tell. When the slots are
 *            used up, every second one goes and slots are twice as long: the samples of a run of
 *            any length have the same size, and cost the same.
 * Ownership  A struct run_samples that is zero has no samples; it owns nothing.
 * Units      Bytes; virtual time in ns, from when the run began.
 */
#ifndef DRYDOCK_BENCH_RECORD_RUN_SAMPLES_H
#define DRYDOCK_BENCH_RECORD_RUN_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#define RUN_SAMPLES 256

struct run_samples {
    uint64_t size;      /* of local memory; 0: the run has none, or has not begun */
    uint64_t period_ns; /* of a slot */
    uint32_t count;
    uint64_t used[RUN_SAMPLES];
};

void run_samples_begin(struct run_samples *samples, uint64_t size);

/* Whether a slot begins at this time or began before it: only then is a value worth finding out. */
static inline bool run_samples_want(const struct run_samples *samples, uint64_t time_ns)
{
    return samples->size && time_ns / samples->period_ns >= samples->count;
}

/* What is in use at this time; slots that began since the last value have that one. */
void run_samples_note(struct run_samples *samples, uint64_t time_ns, uint64_t used);

#endif
