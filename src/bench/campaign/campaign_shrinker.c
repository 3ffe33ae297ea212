/*
 *     parent                          child, one for each cause
 *       look()     <-- a pipe ---       how far it is; at last the result
 *       take()     <-- a file ---       the text of the smallest case
 */
#define _GNU_SOURCE /* memfd_create(), pipe2() */
#include "bench/campaign/campaign_shrinker.h"

#include "bench/campaign/campaign_shrink.h"
#include "bench/child/cage.h"
#include "bench/child/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 200

/* From the child, each in one write: shorter than a pipe's buffer. */
struct told {
    bool is_end;
    struct workload_shrink_result result; /* so far: lines and tries alone */
};

enum job_state { JOB_WAITS, JOB_RUNS, JOB_DONE, JOB_FAILED };

struct job {
    enum job_state state;
    struct campaign_cause *cause;
    int text; /* DONE: a file without a name that has the case */
    struct workload_shrink_result result;
};

struct campaign_shrinker {
    const struct campaign_options *options;
    struct repro_shrink how;
    struct job jobs[CAMPAIGN_MAX_CAUSES];
    size_t count;
    struct job *running; /* NULL: none */
    pid_t child;
    int pipe;
};

/* ---- The child ------------------------------------------------------------------------------- */

static void tell_progress(void *context, uint32_t before, uint32_t lines, uint32_t tries)
{
    const int *pipe = context;
    const struct told told = {
        .result = {.lines_before = before, .lines_after = lines, .tries = tries}};

    if (write(*pipe, &told, sizeof told) < 0)
        return; /* a full pipe: the parent does not look, and the next one tells it */
}

static bool write_text(int file, const struct workload *small)
{
    struct workload_error error;
    char *text;
    size_t size;
    bool is_written;

    if (!workload_print(small, &text, &size, &error))
        return false;
    is_written = write(file, text, size) == (ssize_t)size;
    free(text);
    return is_written;
}

static bool shrink_in_child(const struct campaign_shrinker *shrinker, const struct job *job,
                            int pipe)
{
    struct repro_shrink how = shrinker->how;
    struct told told = {.is_end = true};
    struct workload_error error;
    struct workload *small;
    struct repro repro;

    how.progress = tell_progress;
    how.progress_context = &pipe;
    return campaign_shrink_finding(shrinker->options, &job->cause->first, job->cause->finding, &how,
                                   &small, &told.result, &repro, &error) &&
           write_text(job->text, small) && fcntl(pipe, F_SETFL, 0) == 0 &&
           write(pipe, &told, sizeof told) == (ssize_t)sizeof told;
}

/* ---- The parent ------------------------------------------------------------------------------ */

static void begin(struct campaign_shrinker *shrinker, struct job *job)
{
    int ends[2];

    job->state = JOB_FAILED;
    job->text = memfd_create("smallest", MFD_CLOEXEC);
    if (job->text < 0)
        return;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        close(job->text);
        return;
    }
    fflush(NULL);
    shrinker->child = fork();
    if (shrinker->child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        interrupt_leave_to_parent();
        /* The campaign's workers end when their sockets are closed, which no copy may keep open. */
        cage_leave_files((const int[]){ends[1], job->text}, 2);
        _exit(shrink_in_child(shrinker, job, ends[1]) ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    close(ends[1]);
    if (shrinker->child < 0) {
        close(ends[0]);
        close(job->text);
        return;
    }
    job->state = JOB_RUNS;
    shrinker->running = job;
    shrinker->pipe = ends[0];
}

static void end(struct campaign_shrinker *shrinker, bool is_done)
{
    struct job *job = shrinker->running;

    job->state = is_done ? JOB_DONE : JOB_FAILED;
    if (!is_done) {
        kill(shrinker->child, SIGKILL);
        close(job->text);
    }
    close(shrinker->pipe);
    while (waitpid(shrinker->child, NULL, 0) < 0 && errno == EINTR)
        continue;
    shrinker->running = NULL;
}

/* What the child has told until now. */
static void read_child(struct campaign_shrinker *shrinker)
{
    struct told told;
    ssize_t got;

    while (shrinker->running) {
        got = read(shrinker->pipe, &told, sizeof told);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got == (ssize_t)sizeof told)
            shrinker->running->result = told.result;
        if (got != (ssize_t)sizeof told || told.is_end)
            end(shrinker, got == (ssize_t)sizeof told);
    }
}

struct campaign_shrinker *campaign_shrinker_create(const struct campaign_options *options,
                                                   const struct repro_shrink *how)
{
    struct campaign_shrinker *shrinker = calloc(1, sizeof *shrinker);

    if (shrinker) {
        shrinker->options = options;
        shrinker->how = *how;
    }
    return shrinker;
}

void campaign_shrinker_destroy(struct campaign_shrinker *shrinker)
{
    if (!shrinker)
        return;
    if (shrinker->running)
        end(shrinker, false);
    for (size_t i = 0; i < shrinker->count; i++) {
        if (shrinker->jobs[i].state == JOB_DONE)
            close(shrinker->jobs[i].text);
        free(shrinker->jobs[i].cause);
    }
    free(shrinker);
}

void campaign_shrinker_look(struct campaign_shrinker *shrinker)
{
    if (!shrinker)
        return;
    read_child(shrinker);
    for (size_t i = 0; i < shrinker->count && !shrinker->running; i++)
        if (shrinker->jobs[i].state == JOB_WAITS)
            begin(shrinker, &shrinker->jobs[i]);
}

void campaign_shrinker_add(struct campaign_shrinker *shrinker, const struct campaign_cause *cause)
{
    struct campaign_cause *copy;

    if (!shrinker || shrinker->count == CAMPAIGN_MAX_CAUSES || !(copy = malloc(sizeof *copy)))
        return;
    *copy = *cause;
    shrinker->jobs[shrinker->count++] = (struct job){.cause = copy};
    campaign_shrinker_look(shrinker);
}

/* The job that makes the case of this record's finding. */
static struct job *find_job(struct campaign_shrinker *shrinker, const struct campaign_cause *cause)
{
    for (size_t i = 0; i < shrinker->count; i++) {
        const struct campaign_cause *own = shrinker->jobs[i].cause;

        if (own->hash == cause->hash && own->finding == cause->finding &&
            own->first.model == cause->first.model &&
            campaign_record_key(&own->first) == campaign_record_key(&cause->first))
            return &shrinker->jobs[i];
    }
    return NULL;
}

static void wait_for(struct campaign_shrinker *shrinker, const struct job *job)
{
    while (job->state == JOB_RUNS && !interrupt_came()) {
        struct pollfd polled = {.fd = shrinker->pipe, .events = POLLIN};

        poll(&polled, 1, LOOK_MS);
        read_child(shrinker);
        if (shrinker->how.progress)
            shrinker->how.progress(shrinker->how.progress_context, job->result.lines_before,
                                   job->result.lines_after, job->result.tries);
    }
}

static struct workload *read_text(int file)
{
    struct workload *small = NULL;
    struct workload_error error;
    struct stat status;
    char *text;

    if (fstat(file, &status) != 0 || !(text = malloc((size_t)status.st_size + 1)))
        return NULL;
    if (pread(file, text, (size_t)status.st_size, 0) != (ssize_t)status.st_size ||
        !workload_parse(text, (size_t)status.st_size, "smallest", &small, &error))
        small = NULL;
    free(text);
    return small;
}

bool campaign_shrinker_take(struct campaign_shrinker *shrinker, struct campaign_cause *cause,
                            const char *path)
{
    struct job *job = shrinker ? find_job(shrinker, cause) : NULL;
    struct workload_error error;
    struct workload *small;
    bool is_saved;

    if (!job)
        return false;
    if (job->state == JOB_WAITS)
        job->state = JOB_FAILED; /* it is the caller's now */
    wait_for(shrinker, job);
    if (job->state != JOB_DONE)
        return false;
    small = read_text(job->text);
    is_saved = small && campaign_save_cause(cause, small, &job->result, path, &error);
    workload_free(small);
    return is_saved;
}
