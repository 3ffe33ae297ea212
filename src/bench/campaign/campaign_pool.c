/*
 * The workers of a campaign.
 *
 *     parent                                   worker
 *       item (seed, case)   ------------->       plays it in its own process
 *       record              <-------------       one at a time, over a socket pair
 *
 * A worker has one item at a time, so the parent always knows whose end it sees. A worker that ends
 * in the middle of an item, or that the parent has to kill, leaves a record in its place, made from
 * how it ended and what it wrote to standard error, which goes to a file without a name; then
 * another worker takes the next item. Workers end with their parent, however it ends.
 */
#define _GNU_SOURCE /* memfd_create() */
#include "bench/campaign/campaign.h"
#include "bench/child/cage.h"
#include "bench/child/child_end.h"
#include "bench/child/validate.h"
#include "bench/child/crash_recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_WORKERS 256
#define POLL_MS     200
#define LAST_MS     1000 /* for a hung worker to write where it is */
#define RECORD_MS   5000 /* for a record to come whole */

struct item {
    uint64_t seed;
    uint64_t case_index;
};

struct worker {
    pid_t pid; /* 0: there is none */
    int socket;
    int errors; /* what it writes to standard error */
    struct crash_recorder *recorder;
    bool is_busy;
    struct item item;
    double started;
};

struct pool {
    const struct campaign_options *options;
    const struct campaign_watcher *watcher;
    struct worker workers[MAX_WORKERS];
    unsigned worker_count;
    uint64_t next, total; /* items of all shards: seed offset times cases plus case */
    uint64_t done, mine;  /* of this shard */
    uint64_t findings;
    double started;
    enum campaign_stop stop;
    bool is_stopping;
};

static double wall_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- The worker's side ----------------------------------------------------------------------- */

static bool transfer_all(int socket, void *data, size_t size, bool is_send)
{
    char *at = data;

    while (size) {
        ssize_t moved = is_send ? send(socket, at, size, MSG_NOSIGNAL) : recv(socket, at, size, 0);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return false;
        at += moved;
        size -= (size_t)moved;
    }
    return true;
}

_Noreturn static void work(const struct campaign_options *options, int socket, int errors,
                           struct crash_recorder *recorder)
{
    struct campaign_record *record = malloc(sizeof *record);
    struct item item;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(errors, STDERR_FILENO);
    cage_leave_files((const int[]){socket, errors}, 2);
    while (record && transfer_all(socket, &item, sizeof item, false)) {
        if (ftruncate(errors, 0) == 0)
            lseek(errors, 0, SEEK_SET);
        crash_recorder_begin(recorder);
        (options->play ? options->play : campaign_play)(options, item.seed, item.case_index,
                                                        record);
        if (!transfer_all(socket, record, sizeof *record, true))
            break;
    }
    _exit(0);
}

/* ---- The parent's side ----------------------------------------------------------------------- */

static bool start_worker(struct pool *pool, struct worker *worker)
{
    int pair[2];
    int errors = memfd_create("worker", MFD_CLOEXEC);

    if (errors < 0)
        return false;
    if (!worker->recorder)
        worker->recorder = crash_recorder_share_memory(sizeof *worker->recorder);
    if (!worker->recorder || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        close(errors);
        return false;
    }
    fflush(NULL);
    worker->pid = fork();
    if (worker->pid == 0) {
        /* Another worker's end would keep its socket open after the parent. */
        for (unsigned i = 0; i < pool->worker_count; i++) {
            if (&pool->workers[i] != worker && pool->workers[i].pid)
                close(pool->workers[i].socket);
        }
        close(pair[0]);
        work(pool->options, pair[1], errors, worker->recorder);
    }
    close(pair[1]);
    if (worker->pid < 0) {
        worker->pid = 0;
        close(pair[0]);
        close(errors);
        return false;
    }
    worker->socket = pair[0];
    worker->errors = errors;
    worker->is_busy = false;
    return true;
}

/* Waits for its end, which is near: a worker that puts it off is killed. */
static int end_worker(struct worker *worker, bool *out_is_late)
{
    int status;

    close(worker->socket);
    status = child_end_wait(worker->pid, CHILD_END_SECONDS, out_is_late);
    worker->pid = 0;
    worker->is_busy = false;
    return status;
}

/* False: the worker has ended, or it does not send a whole record. */
static bool receive_record(const struct worker *worker, struct campaign_record *record)
{
    const double until = wall_now() + RECORD_MS / 1000.0;
    struct pollfd polled = {.fd = worker->socket, .events = POLLIN};
    size_t size = 0;

    while (size < sizeof *record) {
        ssize_t got =
            recv(worker->socket, (char *)record + size, sizeof *record - size, MSG_DONTWAIT);
        double left = until - wall_now();

        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN) || left <= 0)
            return false;
        if (got > 0)
            size += (size_t)got;
        else
            poll(&polled, 1, (int)(left * 1000) + 1);
    }
    return true;
}

/* The next item of this shard that nobody knows yet; false: there is none. */
static bool next_item(struct pool *pool, struct item *out)
{
    const struct campaign_options *options = pool->options;
    uint64_t cases = options->case_count ? options->case_count : 1;

    while (pool->next < pool->total) {
        uint64_t index = pool->next++;

        if (index % options->shard_count != options->shard)
            continue;
        *out = (struct item){options->first_seed + index / cases, index % cases};
        if (!pool->watcher->is_known ||
            !pool->watcher->is_known(pool->watcher->context, out->seed, out->case_index))
            return true;
        pool->done++;
    }
    return false;
}

static void stop(struct pool *pool, enum campaign_stop why)
{
    if (!pool->is_stopping)
        pool->stop = why;
    pool->is_stopping = true;
}

static void deliver(struct pool *pool, const struct campaign_record *record)
{
    pool->done++;
    pool->findings += record->outcome != CAMPAIGN_CLEAN;
    if (!pool->watcher->record(pool->watcher->context, record))
        stop(pool, CAMPAIGN_STOPPED_BY_CALLER);
    if (pool->options->max_findings && pool->findings >= pool->options->max_findings)
        stop(pool, CAMPAIGN_STOPPED_BY_FINDINGS);
    if (pool->watcher->progress)
        pool->watcher->progress(pool->watcher->context, pool->done, pool->mine);
}

/* The guards of the checking layer tell why the worker ended. */
static void name_rule(struct campaign_record *record, struct campaign_finding *finding,
                      const struct finding *found)
{
    char end[200];

    snprintf(end, sizeof end, "%.*s", (int)sizeof end - 1, finding->text);
    snprintf(finding->rule, sizeof finding->rule, "%s", rule_get(found->rule)->id);
    snprintf(finding->text, sizeof finding->text, "%.*s; %s", 400, found->text, end);
    finding->detail = found->detail;
    record->rules.broken[found->rule]++;
}

/* Names the item that the worker played, whatever the record says. */
static void name_item(const struct pool *pool, const struct worker *worker,
                      struct campaign_record *record)
{
    const struct campaign_options *options = pool->options;

    record->seed = worker->item.seed;
    record->case_path[0] = '\0';
    campaign_name_record(options, record);
    if (options->case_count)
        snprintf(record->case_path, sizeof record->case_path, "%s",
                 options->cases[worker->item.case_index]->path);
}

/* A record in the place of the one that the worker does not give any more. */
static void record_end(struct pool *pool, struct worker *worker, enum campaign_outcome outcome,
                       int status)
{
    const struct campaign_options *options = pool->options;
    struct campaign_record *record = calloc(1, sizeof *record);
    struct campaign_finding *finding;
    struct campaign_setup setup;
    struct workload_error error;
    struct workload *drawn = NULL;
    const struct workload *workload =
        options->case_count ? options->cases[worker->item.case_index] : NULL;
    char output[CRASH_RECORDER_TEXT], how[FINDING_TEXT_BYTES];
    ssize_t got;

    if (!record) {
        stop(pool, CAMPAIGN_NO_WORKERS);
        return;
    }
    validate_crash_recorder(worker->recorder);
    record->seed = worker->item.seed;
    record->outcome = outcome;
    campaign_name_record(options, record);
    if (workload)
        snprintf(record->case_path, sizeof record->case_path, "%s", workload->path);
    else if (campaign_draw_workload(record->seed, &drawn, &error))
        workload = drawn;
    if (workload) {
        campaign_draw_setup(options, record->seed, workload, &setup);
        record->model = setup.model;
        record->wddm = setup.config.wddm;
        memcpy(record->setup, setup.text, sizeof record->setup);
    }
    workload_free(drawn);
    got = pread(worker->errors, output, sizeof output - 1, 0);
    output[got > 0 ? got : 0] = '\0';
    crash_recorder_describe(worker->recorder, output, record->detail, sizeof record->detail);
    finding = &record->findings[0];
    record->finding_total = record->finding_count = 1;
    if (outcome == CAMPAIGN_HUNG)
        crash_recorder_explain_hang(worker->recorder, options->run_limit_seconds, how, sizeof how);
    else
        crash_recorder_explain_end(worker->recorder, status, output, how, sizeof how);
    if (crash_recorder_blames_model(worker->recorder, campaign_setting(options, "gpu"), how,
                                    finding->text, sizeof finding->text)) {
        record->outcome = outcome = CAMPAIGN_REFUSED;
    } else {
        snprintf(finding->text, sizeof finding->text, "%s", how);
        run_detail_explain(&finding->detail, worker->recorder->place);
    }
    snprintf(finding->kind, sizeof finding->kind, "%s", campaign_outcome_name(outcome));
    if (worker->recorder->has_finding)
        name_rule(record, finding, &worker->recorder->finding);
    deliver(pool, record);
    free(record);
}

/* Gives it an item, or lets it go when there is none. */
static void feed(struct pool *pool, struct worker *worker)
{
    struct item item;
    bool is_late;

    if (!pool->is_stopping && next_item(pool, &item)) {
        if (!worker->pid && !start_worker(pool, worker)) {
            stop(pool, CAMPAIGN_NO_WORKERS);
            return;
        }
        worker->item = item;
        worker->is_busy = true;
        worker->started = wall_now();
        /* If it cannot take it, its socket says so when it is polled. */
        transfer_all(worker->socket, &item, sizeof item, true);
    } else if (worker->pid) {
        end_worker(worker, &is_late);
        close(worker->errors);
    }
}

static void answer(struct pool *pool, struct worker *worker, struct campaign_record *record)
{
    if (receive_record(worker, record)) {
        validate_record(record);
        name_item(pool, worker, record);
        worker->is_busy = false;
        deliver(pool, record);
    } else {
        bool is_late;
        int status = end_worker(worker, &is_late);

        record_end(pool, worker, is_late ? CAMPAIGN_HUNG : CAMPAIGN_CRASHED, status);
        close(worker->errors);
    }
    feed(pool, worker);
}

/* A hung worker writes where it is, and ends by that or not. */
static void make_it_tell(const struct worker *worker)
{
    struct pollfd polled = {.fd = worker->socket, .events = POLLIN};

    kill(worker->pid, SIGABRT);
    poll(&polled, 1, LAST_MS);
}

static void kill_late(struct pool *pool)
{
    double now = wall_now();
    bool is_late;

    if (pool->options->time_limit_seconds &&
        now - pool->started > pool->options->time_limit_seconds)
        stop(pool, CAMPAIGN_STOPPED_BY_TIME);
    for (unsigned i = 0; i < pool->worker_count && pool->options->run_limit_seconds; i++) {
        struct worker *worker = &pool->workers[i];

        if (!worker->is_busy || now - worker->started < pool->options->run_limit_seconds)
            continue;
        make_it_tell(worker);
        kill(worker->pid, SIGKILL);
        end_worker(worker, &is_late);
        record_end(pool, worker, CAMPAIGN_HUNG, 0);
        close(worker->errors);
        feed(pool, worker);
    }
}

static unsigned wait_for_answers(struct pool *pool, struct campaign_record *record)
{
    struct pollfd polled[MAX_WORKERS];
    unsigned places[MAX_WORKERS], count = 0;

    for (unsigned i = 0; i < pool->worker_count; i++) {
        if (!pool->workers[i].is_busy)
            continue;
        places[count] = i;
        polled[count++] = (struct pollfd){.fd = pool->workers[i].socket, .events = POLLIN};
    }
    if (!count || poll(polled, count, POLL_MS) < 0)
        return count;
    for (unsigned i = 0; i < count; i++) {
        if (polled[i].revents)
            answer(pool, &pool->workers[places[i]], record);
    }
    return count;
}

/* Items of this shard, known ones included. */
static uint64_t count_mine(const struct campaign_options *options, uint64_t total)
{
    return total / options->shard_count + (options->shard < total % options->shard_count);
}

enum campaign_stop campaign_run(const struct campaign_options *options,
                                const struct campaign_watcher *watcher)
{
    struct campaign_record *record = malloc(sizeof *record);
    struct pool *pool = calloc(1, sizeof *pool);
    enum campaign_stop why = CAMPAIGN_NO_WORKERS;

    if (record && pool) {
        pool->options = options;
        pool->watcher = watcher;
        pool->started = wall_now();
        pool->total = options->seed_count * (options->case_count ? options->case_count : 1);
        pool->mine = count_mine(options, pool->total);
        pool->worker_count = options->jobs < MAX_WORKERS ? options->jobs : MAX_WORKERS;
        for (unsigned i = 0; i < pool->worker_count; i++)
            feed(pool, &pool->workers[i]);
        while (wait_for_answers(pool, record))
            kill_late(pool);
        why = pool->is_stopping ? pool->stop : CAMPAIGN_DONE;
        for (unsigned i = 0; i < pool->worker_count; i++) {
            bool is_late;

            if (pool->workers[i].pid) {
                end_worker(&pool->workers[i], &is_late);
                close(pool->workers[i].errors);
            }
            crash_recorder_release_memory(pool->workers[i].recorder,
                                          sizeof *pool->workers[i].recorder);
        }
    }
    free(record);
    free(pool);
    return why;
}
