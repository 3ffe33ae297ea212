/*
 *     parent                                        child
 *       shared: recorder, progress, result  <--------    plays the run, writes into them as it goes
 *       waits at a pipe: it closes when the child ends, however it ends
 */
#define _GNU_SOURCE /* memfd_create() */
#include "bench/child/child_run.h"

#include "bench/child/cage.h"
#include "bench/child/child_end.h"
#include "bench/child/validate.h"
#include "bench/child/validate_value.h"
#include "bench/child/crash_recorder.h"
#include "bench/run/run.h"
#include "workload/summary.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_MS 100
#define LAST_MS     1000 /* for a hung process to say where it is */

struct area {
    struct crash_recorder recorder;
    bool has_ended;
    const char *progress_what; /* a literal: the child has it where the parent has */
    uint64_t progress_done, progress_total;
    struct run_result result;
    struct run_step steps[]; /* the child's, when it has ended */
};

static double wall_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void note_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
    struct area *area = context;

    area->progress_what = what;
    area->progress_done = done;
    area->progress_total = total;
}

_Noreturn static void play(const struct run_config *config, const struct workload *workload,
                           struct area *area, int errors, int pipe_end)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP}; /* the parent's to handle */
    struct run_config own = *config;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], SIG_DFL);
    dup2(errors, STDERR_FILENO);
    cage_leave_files(&pipe_end, 1);
    if (own.progress) {
        own.progress = note_progress;
        own.progress_context = area;
    }
    crash_recorder_begin(&area->recorder);
    run_execute(&own, workload, &area->result);
    memcpy(area->steps, area->result.steps, area->result.step_count * sizeof *area->steps);
    area->has_ended = true;
    _exit(0);
}

static void show_progress(const struct run_config *config, const struct area *area)
{
    const char *what = validate_literal(area->progress_what);

    if (config->progress && what)
        config->progress(config->progress_context, what, area->progress_done, area->progress_total);
}

/* True when the pipe closes in time. */
static bool wait_for_end(const struct run_config *config, const struct area *area, int pipe_end,
                         double seconds)
{
    double until = wall_now() + seconds;
    struct pollfd polled = {.fd = pipe_end}; /* the child may write there: that is no end */

    for (;;) {
        double left = until - wall_now();
        int wait_ms = seconds && left * 1000 < PROGRESS_MS ? (int)(left * 1000) + 1 : PROGRESS_MS;

        if (seconds && left <= 0)
            return false;
        if (poll(&polled, 1, wait_ms) > 0)
            return true;
        show_progress(config, area);
    }
}

/* How the child ended; *out_is_hung: because it was made to. */
static int end_child(const struct run_config *config, const struct area *area, pid_t child,
                     int pipe_end, double seconds, bool *out_is_hung)
{
    bool is_late;
    int status;

    *out_is_hung = !wait_for_end(config, area, pipe_end, seconds);
    if (*out_is_hung) {
        kill(child, SIGABRT); /* the recorder writes where it is */
        if (!wait_for_end(config, area, pipe_end, LAST_MS / 1000.0))
            kill(child, SIGKILL);
    }
    status = child_end_wait(child, CHILD_END_SECONDS, &is_late);
    *out_is_hung |= is_late;
    return status;
}

/* The child did not come to the end of the run. */
static void report_end(struct area *area, int status, bool is_hung, double seconds, int errors)
{
    struct run_result *result = &area->result;
    const struct finding *found = &area->recorder.finding;
    enum run_finding_kind kind = is_hung ? RUN_FINDING_HUNG : RUN_FINDING_CRASHED;
    char output[CRASH_RECORDER_TEXT], text[FINDING_TEXT_BYTES];
    ssize_t got = pread(errors, output, sizeof output - 1, 0);
    struct run_finding *finding;

    output[got > 0 ? got : 0] = '\0';
    crash_recorder_describe(&area->recorder, output, result->ending, sizeof result->ending);
    if (is_hung)
        crash_recorder_explain_hang(&area->recorder, seconds, text, sizeof text);
    else
        crash_recorder_explain_end(&area->recorder, status, output, text, sizeof text);
    if (crash_recorder_blames_model(&area->recorder, result->config.gpu, text, result->error,
                                    sizeof result->error)) {
        result->outcome = RUN_REFUSED;
        return;
    }
    result->outcome = RUN_FINDINGS;
    if (result->finding_count == RUN_MAX_FINDINGS)
        result->finding_count--; /* this one says more than the last of so many */
    finding = run_result_report(result, kind, 0, 0, "%s", text);
    if (finding)
        run_result_explain(finding, area->recorder.place);
    if (!area->recorder.has_finding || !finding)
        return;
    result->rules.broken[found->rule]++;
    snprintf(finding->rule, sizeof finding->rule, "%s", rule_get(found->rule)->id);
    snprintf(finding->text, sizeof finding->text, "%.*s; %.*s", 400, found->text, 200, text);
    finding->detail = found->detail;
}

/* The result of the child, with steps of the parent's own. */
static bool take_result(const struct area *area, bool has_ended, struct run_result *out_result)
{
    uint32_t count = has_ended ? area->result.step_count : 0;
    struct run_step *steps = calloc((size_t)count + 1, sizeof *steps);

    if (!steps)
        return false;
    memcpy(steps, area->steps, count * sizeof *steps);
    *out_result = area->result;
    out_result->steps = steps;
    out_result->step_count = count;
    return true;
}

static bool fork_and_wait(const struct run_config *config, const struct workload *workload,
                          double seconds, uint32_t most_steps, struct area *area, int errors,
                          bool *out_has_ended)
{
    int ends[2], status;
    bool is_hung;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        play(config, workload, area, errors, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return false;
    }
    status = end_child(config, area, child, ends[0], seconds, &is_hung);
    close(ends[0]);
    validate_crash_recorder(&area->recorder);
    validate_result(&area->result, config, workload, most_steps);
    /* The child may have written any byte there. */
    *out_has_ended =
        WIFEXITED(status) && WEXITSTATUS(status) == 0 && validate_truth(&area->has_ended);
    if (!*out_has_ended)
        report_end(area, status, is_hung, seconds, errors);
    run_result_find_causes(&area->result); /* how it ended, or what the child wrote */
    return true;
}

bool child_run_execute(const struct run_config *config, const struct workload *workload,
                       double seconds, struct run_result *out_result)
{
    struct workload_summary summary;
    struct area *area;
    size_t bytes;
    int errors = memfd_create("child run", MFD_CLOEXEC);
    bool is_done, has_ended;

    memset(out_result, 0, sizeof *out_result);
    if (errors < 0)
        return false;
    workload_summarise(workload, &summary);
    bytes = sizeof *area + ((size_t)summary.step_count + 1) * sizeof *area->steps;
    area = crash_recorder_share_memory(bytes);
    is_done = area &&
              fork_and_wait(config, workload, seconds, summary.step_count + 1, area, errors,
                            &has_ended) &&
              take_result(area, has_ended, out_result);
    crash_recorder_release_memory(area, bytes);
    close(errors);
    return is_done;
}
