/*
 * Transcripts of drivers in a run: one is written, or one is played in place of the driver.
 */
#include "bench/run/run_private.h"

#include "bench/child/cage.h"
#include "bench/child/crash_recorder.h"

bool run_raise_recorder(struct run_assembly *run)
{
    if (!run->config->transcript_file)
        return true;
    return NT_SUCCESS(recorder_create(&run->own.services, run->machine, run->nt,
                                      run->config->transcript_file, &run->recorder)) ||
           run_refuse(run, "no memory to record the driver");
}

/* The transcript cannot be gone on with: the run ends here. */
static void stop(void *context, enum retold_end end, const char *why)
{
    struct run_assembly *run = context;

    if (end == RETOLD_UNFOLLOWED)
        run_refuse(run, "%s", why);
    else
        run_result_report(run->result, RUN_FINDING_HOSTILE, 0, machine_now(run->machine), "%s",
                          why);
    longjmp(run->bug_check, 1);
}

bool run_raise_retold(struct run_assembly *run)
{
    const struct retold_config config = {
        .services = &run->own.services,
        .machine = run->machine,
        .nt = run->nt,
        .bytes = run->config->transcript,
        .size = run->config->transcript_bytes,
        .context = run,
        .stop = stop,
    };

    if (!NT_SUCCESS(retold_create(&config, &run->retold)))
        return run_refuse(run, "no memory to play a transcript");
    /* Its reader is the bench's own, and reads what a driver may have written. */
    if (crash_recorder_is_on() && !cage_close())
        return run_refuse(run, "this system has no cage to read a transcript in");
    retold_enter(run->retold);
    run->bottom = run->top = retold_miniport(run->retold);
    return true;
}

void run_lower_transcript(struct run_assembly *run)
{
    recorder_destroy(run->recorder);
    retold_destroy(run->retold);
    run->recorder = NULL;
    run->retold = NULL;
}
