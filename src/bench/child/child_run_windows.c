/*
 * On Windows a run is played in this process. A driver that crashes takes the process with it, and
 * one that hangs is not ended: the time limit has no effect.
 */
#include "bench/child/child_run.h"

#include "bench/child/interrupt.h"
#include "bench/run/run.h"

static const struct run_config *playing;

/* An interrupt is looked at as often as progress is told. */
static void note_progress(void *context, const struct run_progress *progress)
{
    volatile bool *stops = context;

    *stops |= interrupt_came();
    if (playing->progress)
        playing->progress(playing->progress_context, progress);
}

bool child_run_execute(const struct run_config *config, const struct workload *workload,
                       double seconds, struct run_result *out_result)
{
    struct run_config own = *config;
    volatile bool stops = false;

    playing = config;
    own.stops = &stops;
    own.progress = note_progress;
    own.progress_context = (void *)&stops;
    run_execute(&own, workload, out_result);
    out_result->config.stops = config->stops;
    out_result->config.progress = config->progress;
    out_result->config.progress_context = config->progress_context;
    out_result->is_interrupted = stops;
    return true;
}
