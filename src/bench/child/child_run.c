/*
 *     parent                                        child
 *       shared: recorder, progress, result  <--------    plays the run, writes into them as it goes
 *       waits at a pipe: it closes when the child ends, however it ends
 */
#define _GNU_SOURCE /* pipe2() */
#include "bench/child/child_run.h"

#include "base/hash.h"
#include "bench/child/cage.h"
#include "bench/child/child_end.h"
#include "bench/child/interrupt.h"
#include "bench/child/journal_reader.h"
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

#define PROGRESS_MS       100
#define LAST_MS           1000 /* for a hung process to say where it is */
#define INTERRUPT_SECONDS 3.0  /* for a run that is interrupted to come to an end */

struct area {
    struct crash_recorder recorder;
    volatile bool stops;          /* the parent's word: the child is to come to an end */
    struct run_progress progress; /* what it is: a literal, where the parent has it, too */
    struct run_result result;
    struct run_step steps[]; /* the child's, when it has ended */
};

static double wall_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void note_progress(void *context, const struct run_progress *progress)
{
    struct area *area = context;

    area->progress = *progress;
}

/* What the process has found, as the parent finds it there. */
static uint64_t hash_area(const struct area *area)
{
    return hash_bytes(area->steps, area->result.step_count * sizeof *area->steps,
                      hash_bytes(&area->result, sizeof area->result, 0));
}

_Noreturn static void play(const struct run_config *config, const struct workload *workload,
                           struct area *area, int errors, int pipe_end, uint64_t key)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP}; /* the parent's to handle */
    int kept[3] = {pipe_end};
    unsigned kept_count = 1;
    struct run_config own = *config;
    uint64_t answer;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], SIG_DFL);
    interrupt_leave_to_parent();
    dup2(errors, STDERR_FILENO);
    if (config->transcript_file)
        kept[kept_count++] = config->transcript_file;
    if (config->record_file)
        kept[kept_count++] = config->record_file;
    cage_leave_files(kept, kept_count);
    own.stops = &area->stops;
    if (own.progress) {
        own.progress = note_progress;
        own.progress_context = area;
    }
    crash_recorder_begin(&area->recorder);
    journal_open(pipe_end, key, true);
    run_execute(&own, workload, &area->result);
    memcpy(area->steps, area->result.steps, area->result.step_count * sizeof *area->steps);
    answer = hash_area(area);
    _exit(journal_answer(&answer, sizeof answer) ? 0 : 1);
}

static void show_progress(const struct run_config *config, const struct area *area)
{
    struct run_progress progress = area->progress;

    progress.what = validate_literal(progress.what);
    if (config->progress && progress.what)
        config->progress(config->progress_context, &progress);
}

/* The process, as its parent follows it. */
struct child {
    pid_t pid;
    int pipe_end, errors;
    struct area *area;
    struct journal_reader *journal;
    bool has_answer;
    bool is_interrupted;
    uint64_t answer;
};

/* False: no more comes that counts. */
static bool read_journal(struct child *child)
{
    switch (journal_read(child->journal, &child->answer, sizeof child->answer)) {
    case JOURNAL_GOT_ANSWER:
        child->has_answer = true;
        return true;
    case JOURNAL_GOT_NOTHING:
    case JOURNAL_GOT_FRAME:
        return true;
    case JOURNAL_GOT_BROKEN:
        kill(child->pid, SIGKILL);
        return false;
    case JOURNAL_GOT_LATE:
    case JOURNAL_GOT_CLOSED:
        break;
    }
    return false;
}

/* True when the pipe closes in time, or no more comes that counts. seconds 0: there is no limit. */
static bool wait_for_end(const struct run_config *config, struct child *child, double seconds)
{
    struct child_moment began = child_moment_now(child->pid);
    struct pollfd polled = {.fd = child->pipe_end, .events = POLLIN};

    for (;;) {
        double left_ms = (seconds - (wall_now() - began.wall)) * 1000;
        int wait_ms = left_ms > 0 && left_ms < PROGRESS_MS ? (int)left_ms + 1 : PROGRESS_MS;

        if (interrupt_came() && !child->is_interrupted) {
            child->is_interrupted = child->area->stops = true;
            seconds = INTERRUPT_SECONDS;
            began = child_moment_now(child->pid);
            continue;
        }
        if (seconds && child_moment_is_over(&began, seconds))
            return false;
        if (poll(&polled, 1, wait_ms) > 0 && !read_journal(child))
            return true;
        show_progress(config, child->area);
    }
}

/* How the child ended; *out_hang: why it was made to. */
static int end_child(const struct run_config *config, struct child *child, double seconds,
                     enum child_hang *out_hang)
{
    const bool is_overdue = !wait_for_end(config, child, seconds);
    bool is_late;
    int status;

    if (is_overdue && child->is_interrupted) {
        kill(child->pid, SIGKILL);
    } else if (is_overdue) {
        kill(child->pid, SIGABRT); /* the recorder writes where it is */
        if (!wait_for_end(config, child, LAST_MS / 1000.0))
            kill(child->pid, SIGKILL);
    }
    status = child_end_wait(child->pid, CHILD_END_SECONDS, &is_late);
    *out_hang = is_overdue ? CHILD_OVERDUE : is_late ? CHILD_CUT_OFF : CHILD_ENDS;
    return status;
}

/* For a finding that says more than the last of so many. */
static void make_room(struct run_result *result)
{
    if (result->finding_count == RUN_MAX_FINDINGS)
        result->finding_count--;
}

/* What was told while the run went on, and is not there any more. */
static void restore_findings(const struct journal_reader *journal, struct run_result *result)
{
    for (uint32_t i = 0; i < journal->finding_count; i++) {
        const struct run_finding *told = &journal->findings[i];
        enum rule_id rule = rule_find(told->rule);
        bool is_there = false;

        for (uint32_t j = 0; j < result->finding_count && !is_there; j++)
            is_there = result->findings[j].kind == told->kind &&
                       strcmp(result->findings[j].text, told->text) == 0;
        if (is_there)
            continue;
        make_room(result);
        result->findings[result->finding_count++] = *told;
        result->finding_totals[told->kind]++;
        if (rule != RULE_NONE)
            result->rules.broken[rule]++;
    }
}

/* The result is the driver's word: that is the finding. */
static void report_forgery(struct run_result *result, const char *why)
{
    char text[FINDING_TEXT_BYTES];

    journal_explain(why, text, sizeof text);
    result->outcome = RUN_FINDINGS;
    result->error[0] = '\0';
    make_room(result);
    run_result_report(result, RUN_FINDING_HOSTILE, 0, 0, "%s", text);
}

/* What the child has left against what it has told. */
static bool is_forged(const struct child *child, uint64_t answer, const struct run_result *result,
                      const struct workload *workload, char *why, size_t why_bytes)
{
    struct journal_claim claim = {.digest = result->digest, .outcome = result->outcome};

    if (child->answer != answer) {
        snprintf(why, why_bytes, "what is there is not what the run ended with");
        return true;
    }
    claim.tally = child->journal->end.tally; /* the calls */
    journal_count(result, &claim.tally);
    return journal_contradiction(child->journal, &claim, &result->config, workload, why, why_bytes);
}

/* The child did not come to the end of the run. */
static void report_end(struct area *area, int status, enum child_hang hang, double seconds,
                       int errors)
{
    struct run_result *result = &area->result;
    const struct finding *found = &area->recorder.finding;
    enum run_finding_kind kind = hang ? RUN_FINDING_HUNG : RUN_FINDING_CRASHED;
    char output[CRASH_RECORDER_TEXT], text[FINDING_TEXT_BYTES];
    ssize_t got = pread(errors, output, sizeof output - 1, 0);
    struct run_finding *finding;

    output[got > 0 ? got : 0] = '\0';
    crash_recorder_describe(&area->recorder, output, result->ending, sizeof result->ending);
    if (hang)
        crash_recorder_explain_hang(&area->recorder, hang, seconds, text, sizeof text);
    else
        crash_recorder_explain_end(&area->recorder, status, output, text, sizeof text);
    if (crash_recorder_blames_model(&area->recorder, result->config.gpu, text, result->error,
                                    sizeof result->error)) {
        result->outcome = RUN_REFUSED;
        return;
    }
    result->outcome = RUN_FINDINGS;
    make_room(result);
    finding = run_result_report(result, kind, 0, 0, "%s", text);
    if (finding)
        run_result_explain(finding, area->recorder.place);
    if (!area->recorder.has_finding || !finding)
        return;
    result->rules.broken[found->rule]++;
    snprintf(finding->rule, sizeof finding->rule, "%s", rule_get(found->rule)->id);
    snprintf(finding->text, sizeof finding->text, "%.*s; %.*s", 400, found->text, 200, text);
    finding->detail = found->detail;
    run_detail_add(&finding->detail, area->recorder.place);
}

/*
 * The run was stopped: it has played a part, or was ended in the middle. Its findings are those
 * that it has told.
 */
static void report_interrupted(const struct child *child, bool is_whole)
{
    struct run_result *result = &child->area->result;

    if (!is_whole)
        result->outcome = RUN_CLEAN;
    for (uint32_t i = 0; i < child->journal->finding_count; i++) {
        if (!run_finding_is_remark(child->journal->findings[i].kind))
            result->outcome = RUN_FINDINGS;
    }
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

/* The child has ended: what it has left is judged. */
static bool judge(struct child *child, int status, enum child_hang hang, double seconds,
                  const struct run_config *config, const struct workload *workload,
                  uint32_t most_steps)
{
    struct run_result *result = &child->area->result;
    const bool is_in_order = WIFEXITED(status) && WEXITSTATUS(status) == 0 && child->has_answer;
    const bool has_steps = result->step_count <= most_steps;
    const uint64_t answer = is_in_order && has_steps ? hash_area(child->area) : 0;
    char why[256];

    validate_crash_recorder(&child->area->recorder);
    validate_result(result, config, workload, most_steps);
    result->is_interrupted = child->is_interrupted;
    if (child->journal->is_broken)
        report_forgery(result, child->journal->why);
    else if (child->is_interrupted)
        report_interrupted(child, is_in_order && has_steps && child->answer == answer);
    else if (!is_in_order)
        report_end(child->area, status, hang, seconds, child->errors);
    else if (is_forged(child, answer, result, workload, why, sizeof why))
        report_forgery(result, why);
    else
        return true;
    restore_findings(child->journal, result);
    return child->is_interrupted && is_in_order && has_steps;
}

static bool fork_and_wait(const struct run_config *config, const struct workload *workload,
                          double seconds, uint32_t most_steps, struct child *child,
                          bool *out_has_ended)
{
    const uint64_t key = journal_new_key();
    enum child_hang hang;
    int ends[2], status;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    fflush(NULL);
    child->pid = fork();
    if (child->pid == 0) {
        close(ends[0]);
        play(config, workload, child->area, child->errors, ends[1], key);
    }
    close(ends[1]);
    if (child->pid < 0) {
        close(ends[0]);
        return false;
    }
    child->pipe_end = ends[0];
    journal_reader_begin(child->journal, ends[0], key);
    status = end_child(config, child, seconds, &hang);
    close(ends[0]);
    *out_has_ended = judge(child, status, hang, seconds, config, workload, most_steps);
    run_result_find_causes(&child->area->result); /* how it ended, or what the child wrote */
    return true;
}

bool child_run_execute(const struct run_config *config, const struct workload *workload,
                       double seconds, struct run_result *out_result)
{
    struct workload_summary summary;
    struct child child = {.errors = child_errors_open("child run")};
    size_t bytes;
    bool is_done, has_ended;

    memset(out_result, 0, sizeof *out_result);
    if (child.errors < 0)
        return false;
    workload_summarise(workload, &summary);
    bytes = sizeof *child.area + ((size_t)summary.step_count + 1) * sizeof *child.area->steps;
    child.area = crash_recorder_share_memory(bytes);
    child.journal = malloc(sizeof *child.journal);
    is_done =
        child.area && child.journal &&
        fork_and_wait(config, workload, seconds, summary.step_count + 1, &child, &has_ended) &&
        take_result(child.area, has_ended, out_result);
    free(child.journal);
    crash_recorder_release_memory(child.area, bytes);
    close(child.errors);
    return is_done;
}
