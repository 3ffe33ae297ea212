#include "bench/record/run_samples.h"

#define FIRST_PERIOD_NS 1024

void run_samples_begin(struct run_samples *samples, uint64_t size)
{
    samples->size = size;
    samples->period_ns = FIRST_PERIOD_NS;
    samples->count = 0;
}

static void halve(struct run_samples *samples)
{
    samples->count = (samples->count + 1) / 2;
    for (uint32_t i = 0; i < samples->count; i++)
        samples->used[i] = samples->used[2 * i];
    samples->period_ns *= 2;
}

void run_samples_note(struct run_samples *samples, uint64_t time_ns, uint64_t used)
{
    const uint64_t before = samples->count ? samples->used[samples->count - 1] : used;

    if (!samples->size)
        return;
    while (time_ns / samples->period_ns >= RUN_SAMPLES)
        halve(samples);
    while (samples->count < time_ns / samples->period_ns)
        samples->used[samples->count++] = before;
    if (samples->count == time_ns / samples->period_ns)
        samples->used[samples->count++] = used;
}
