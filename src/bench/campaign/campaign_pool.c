/*
 * The workers of a campaign.
 *
 *     parent                                   worker
 *       item (seed, case)   ------------->       plays it in its own process
 *       journal             <-------------       what an image does and finds, while it plays
 *       record              <-------------       one at a time, over a socket pair
 *
 * The record of an image is compared with the journal and with the case (journal_reader.h): the
 * image may have written it. A worker has one item at a time, so the parent always knows whose end
 * it sees. A worker that ends
 * in the middle of an item, or that the parent has to kill, leaves a record in its place, made from
 * how it ended and what it wrote to standard error, which goes to a file without a name; then
 * another worker takes the next item. Workers end with their parent, however it ends.
 *
 * Some of the clean items are judged again (judge.h), in a process that the parent makes for each:
 * the worker has nothing to do meanwhile, and could not know before that it would be one of them.
 */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "bench/campaign/campaign_private.h"

#include "base/bits.h"
#include "bench/child/cage.h"
#include "bench/child/child_end.h"
#include "bench/child/journal_reader.h"
#include "bench/child/interrupt.h"
#include "bench/child/judge.h"
#include "bench/child/validate.h"
#include "bench/child/crash_recorder.h"
#include "bench/drivers/drivers.h"
#include "machine/page_store.h"

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
#define MOST_FRAMES 64   /* of one worker, before the others are looked at */
#define SLOWER      4    /* a run that is recorded, at most */

struct item {
    uint64_t seed;
    uint64_t case_index;
    uint64_t key; /* of its journal */
};

struct worker {
    pid_t pid; /* 0: there is none */
    int socket;
    int errors; /* what it writes to standard error */
    struct crash_recorder *recorder;
    struct journal_reader *journal;
    bool is_busy;
    struct item item;
    struct child_moment began; /* when it was given the item */
    pid_t judge;               /* plays the item again, whose record waits; 0: none does */
    int judge_socket;
    struct campaign_record *judged;
};

/* What the process that judges says. */
struct verdict {
    struct judgement judgement;
    struct campaign_record record;
};

struct pool {
    const struct campaign_options *options;
    const struct campaign_watcher *watcher;
    struct worker workers[MAX_WORKERS];
    unsigned worker_count;
    bool is_image;        /* the driver is: records are judged */
    uint64_t next, total; /* items of all shards: seed offset times cases plus case */
    uint64_t done, mine;  /* of this shard */
    uint64_t findings;
    uint64_t judged; /* that were begun */
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

/* The findings that a record has stand at its end, and most records have none. */
static size_t bytes_of_record(const struct campaign_record *record)
{
    return offsetof(struct campaign_record, findings) +
           min_u64(record->finding_count, CAMPAIGN_MAX_FINDINGS) * sizeof record->findings[0];
}

_Noreturn static void work(const struct pool *pool, int socket, int errors,
                           struct crash_recorder *recorder)
{
    const struct campaign_options *options = pool->options;
    struct campaign_record *record = malloc(sizeof *record);
    bool is_reused = !pool->is_image; /* the memory of the item before */
    struct item item;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    interrupt_leave_to_parent();
    dup2(errors, STDERR_FILENO);
    cage_leave_files((const int[]){socket, errors}, 2);
    while (record && transfer_all(socket, &item, sizeof item, false)) {
        child_errors_clear(errors);
        crash_recorder_begin(recorder);
        page_store_keep_memory(is_reused);
        journal_open(socket, item.key, pool->is_image);
        (options->play ? options->play : campaign_play)(options, item.seed, item.case_index,
                                                        record);
        is_reused = !pool->is_image && !record->finding_total;
        if (!journal_answer(record, bytes_of_record(record)))
            break;
    }
    _exit(0);
}

/* ---- The parent's side ----------------------------------------------------------------------- */

static bool start_worker(struct pool *pool, struct worker *worker)
{
    int pair[2];
    int errors = child_errors_open("worker");

    if (errors < 0)
        return false;
    if (!worker->recorder)
        worker->recorder = crash_recorder_share_memory(sizeof *worker->recorder);
    if (!worker->journal)
        worker->journal = malloc(sizeof *worker->journal);
    if (!worker->recorder || !worker->journal ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        close(errors);
        return false;
    }
    fflush(NULL);
    worker->pid = fork();
    if (worker->pid == 0) {
        /*
         * Another worker's end would keep its socket open after the parent, and its recorder is its
         * own.
         */
        for (unsigned i = 0; i < pool->worker_count; i++) {
            if (&pool->workers[i] == worker)
                continue;
            if (pool->workers[i].pid)
                close(pool->workers[i].socket);
            crash_recorder_release_memory(pool->workers[i].recorder,
                                          sizeof *pool->workers[i].recorder);
        }
        close(pair[0]);
        work(pool, pair[1], errors, worker->recorder);
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

/* The next item of this shard that nobody knows yet; false: there is none. */
static bool next_item(struct pool *pool, struct item *out)
{
    const struct campaign_options *options = pool->options;
    uint64_t cases = options->case_count ? options->case_count : 1;

    while (pool->next < pool->total) {
        uint64_t index = pool->next++;

        if (index % options->shard_count != options->shard)
            continue;
        *out = (struct item){options->first_seed + index / cases, index % cases, journal_new_key()};
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
    if (!pool->watcher->record(pool->watcher->context, record))
        stop(pool, CAMPAIGN_STOPPED_BY_CALLER);
    pool->findings +=
        record->outcome != CAMPAIGN_CLEAN &&
        (!pool->watcher->counts || pool->watcher->counts(pool->watcher->context, record));
    if (pool->options->max_findings && pool->findings >= pool->options->max_findings)
        stop(pool, CAMPAIGN_STOPPED_BY_FINDINGS);
    if (pool->watcher->progress)
        pool->watcher->progress(pool->watcher->context, pool->done, pool->mine);
}

/* The guards of the checking layer tell why the worker ended. */
static void name_rule(struct campaign_record *record, struct campaign_finding *finding,
                      const struct crash_recorder *recorder)
{
    const struct finding *found = &recorder->finding;
    char end[200];

    snprintf(end, sizeof end, "%.*s", (int)sizeof end - 1, finding->text);
    snprintf(finding->rule, sizeof finding->rule, "%s", rule_get(found->rule)->id);
    snprintf(finding->text, sizeof finding->text, "%.*s; %s", 400, found->text, end);
    finding->detail = found->detail;
    run_detail_add(&finding->detail, recorder->place);
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

/* The case of the worker's item, and its setup. NULL: it cannot be drawn. *out_drawn is to be
 * freed. */
static const struct workload *set_up_item(const struct pool *pool, const struct worker *worker,
                                          struct campaign_setup *out_setup,
                                          struct workload **out_drawn)
{
    const struct campaign_options *options = pool->options;
    const struct workload *workload = NULL;
    struct workload_error error;

    *out_drawn = NULL;
    if (options->case_count)
        workload = options->cases[worker->item.case_index];
    else if (campaign_draw_workload(worker->item.seed, options, out_drawn, &error))
        workload = *out_drawn;
    if (workload)
        campaign_draw_setup(options, worker->item.seed, workload, out_setup);
    return workload;
}

/* The finding comes first; one that is there already goes, if there is no room. */
static struct campaign_finding *put_first(struct campaign_record *record, const char *kind)
{
    unsigned kept = record->finding_count < CAMPAIGN_MAX_FINDINGS ? record->finding_count
                                                                  : CAMPAIGN_MAX_FINDINGS - 1;

    memmove(record->findings + 1, record->findings, kept * sizeof *record->findings);
    for (unsigned i = 1; i <= kept; i++)
        record->findings[i].consequence_of += record->findings[i].consequence_of != 0;
    record->finding_count = kept + 1;
    record->finding_total++;
    record->findings[0] = (struct campaign_finding){0};
    snprintf(record->findings[0].kind, sizeof record->findings[0].kind, "%s", kind);
    return &record->findings[0];
}

/*
 * Findings that the worker told of its run, and whose record does not have them. What was told
 * first is the cause of the others; an attack stands for itself.
 */
static void restore_findings(const struct journal_reader *journal, struct campaign_record *record)
{
    uint32_t cause = 0;

    for (uint32_t i = 0; i < journal->finding_count; i++) {
        const struct run_finding *told = &journal->findings[i];
        const bool is_hostile = told->kind == RUN_FINDING_HOSTILE;
        struct campaign_finding *finding;
        enum rule_id rule = rule_find(told->rule);
        bool is_there = record->finding_count == CAMPAIGN_MAX_FINDINGS;

        for (unsigned j = 0; j < record->finding_count && !is_there; j++)
            is_there = strcmp(record->findings[j].text, told->text) == 0;
        if (is_there)
            continue;
        finding = &record->findings[record->finding_count++];
        record->finding_total++;
        *finding = (struct campaign_finding){.line = told->line,
                                             .seen = told->seen,
                                             .detail = told->detail,
                                             .consequence_of = is_hostile ? 0 : cause};
        if (!is_hostile && !cause)
            cause = record->finding_count;
        snprintf(finding->kind, sizeof finding->kind, "%s", run_finding_kind_name(told->kind));
        memcpy(finding->rule, told->rule, sizeof finding->rule);
        memcpy(finding->text, told->text, sizeof finding->text);
        if (rule != RULE_NONE)
            record->rules.broken[rule]++;
    }
}

static void report_forgery(struct campaign_record *record, const char *why)
{
    struct campaign_finding *finding =
        put_first(record, run_finding_kind_name(RUN_FINDING_HOSTILE));

    record->outcome = CAMPAIGN_FINDINGS;
    journal_explain(why, finding->text, sizeof finding->text);
}

/*
 * The record against what was told, and what the case had to do. A run that came to no play has
 * told nothing, and is not clean.
 */
static void judge(const struct pool *pool, const struct worker *worker,
                  struct campaign_record *record)
{
    static const enum run_outcome outcomes[] = {[CAMPAIGN_CLEAN] = RUN_CLEAN,
                                                [CAMPAIGN_FINDINGS] = RUN_FINDINGS,
                                                [CAMPAIGN_REFUSED] = RUN_REFUSED,
                                                [CAMPAIGN_BROKEN] = RUN_BROKEN};
    const struct journal_reader *journal = worker->journal;
    struct journal_claim claim = {.digest = record->digest};
    struct campaign_setup setup;
    struct workload *drawn;
    const struct workload *workload;
    char why[256];

    if (!journal->has_end && record->outcome != CAMPAIGN_CLEAN)
        return;
    claim.outcome =
        record->outcome < ARRAY_COUNT(outcomes) ? outcomes[record->outcome] : journal->end.outcome;
    claim.tally = journal->end.tally;
    claim.tally.operations = record->operations;
    claim.tally.submissions = record->submissions;
    claim.tally.pages_checked = record->pages_checked;
    claim.tally.evaluated = claim.tally.broken = 0;
    for (size_t i = 0; i < RULE_COUNT; i++) {
        claim.tally.evaluated += record->rules.evaluated[i];
        claim.tally.broken += record->rules.broken[i];
    }
    workload = set_up_item(pool, worker, &setup, &drawn);
    if (workload)
        run_config_complete(&setup.config, workload);
    if (workload &&
        journal_contradiction(journal, &claim, &setup.config, workload, why, sizeof why)) {
        report_forgery(record, why);
        restore_findings(journal, record);
    }
    workload_free(drawn);
}

/* ---- Judging again --------------------------------------------------------------------------- */

unsigned campaign_judge_every(const char *driver)
{
    return judge_is_usual(driver) ? CAMPAIGN_JUDGE_EVERY : 0;
}

/* Drawn when the record has come, so that no driver knows. The first clean one always is. */
static bool is_to_be_judged(struct pool *pool, const struct campaign_record *record)
{
    const unsigned every = pool->options->judge_every;

    if (!every || record->outcome != CAMPAIGN_CLEAN || pool->is_stopping ||
        (pool->judged && journal_new_key() % every != 0))
        return false;
    pool->judged++;
    return true;
}

/* Played with the driver and without it. A second play is the same as the worker's. */
static void judge_item(const struct pool *pool, const struct worker *worker,
                       struct verdict *verdict)
{
    struct run_result *result = calloc(1, sizeof *result);
    struct campaign_setup setup;
    struct workload *drawn;
    const struct workload *workload = set_up_item(pool, worker, &setup, &drawn);

    verdict->judgement = (struct judgement){JUDGEMENT_UNKNOWN, "there is no memory for it"};
    setup.config.reference = RUN_REFERENCE_NEVER;
    if (!workload || !result ||
        !judge_execute(&setup.config, workload, pool->options->run_limit_seconds * SLOWER, result,
                       &verdict->judgement))
        return;
    if (verdict->judgement.kind == JUDGEMENT_DIFFERS) {
        verdict->record.outcome = CAMPAIGN_FINDINGS;
        campaign_take_findings(&verdict->record, result);
    } else {
        campaign_compare(&verdict->record, result);
    }
}

/* False: it cannot be made. */
static bool start_judge(const struct pool *pool, struct worker *worker,
                        const struct campaign_record *record)
{
    struct verdict *verdict = calloc(1, sizeof *verdict);
    int ends[2] = {-1, -1};

    if (verdict && (worker->judged = malloc(sizeof *record)) &&
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
        *worker->judged = verdict->record = *record;
        fflush(NULL);
        worker->judge = fork();
        if (worker->judge == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            interrupt_leave_to_parent();
            cage_leave_files(&ends[1], 1);
            judge_item(pool, worker, verdict);
            _exit(transfer_all(ends[1], verdict, sizeof *verdict, true) ? EXIT_SUCCESS
                                                                        : EXIT_FAILURE);
        }
        close(ends[1]);
        if (worker->judge > 0) {
            worker->judge_socket = ends[0];
            free(verdict);
            return true;
        }
        close(ends[0]);
    }
    free(verdict);
    free(worker->judged);
    worker->judged = NULL;
    worker->judge = 0;
    return false;
}

static void tell_judgement(const struct pool *pool, const struct judgement *judgement)
{
    if (pool->watcher->judged)
        pool->watcher->judged(pool->watcher->context, judgement);
}

static void cannot_judge(const struct pool *pool)
{
    tell_judgement(pool, &(struct judgement){JUDGEMENT_UNKNOWN, "its process cannot be made"});
}

/*
 * The finding about the end, which the record has, follows from a breach that the worker had told
 * before: a driver that writes where it must not crashes later.
 */
static void find_cause_of_end(const struct journal_reader *journal, struct campaign_record *record)
{
    const struct campaign_finding end = record->findings[0];
    struct run_result *result = calloc(1, sizeof *result);
    struct run_finding *finding;

    if (!result || !journal->finding_count) {
        free(result);
        return;
    }
    for (uint32_t i = 0; i < journal->finding_count && i < RUN_MAX_FINDINGS - 1; i++) {
        const struct run_finding *told = &journal->findings[i];
        enum rule_id rule = rule_find(told->rule);

        result->findings[result->finding_count++] = *told;
        result->finding_totals[told->kind]++;
        result->calls = (struct check_calls){told->seen, told->seen_in};
        record->rules.broken[rule] += rule != RULE_NONE;
    }
    finding = run_result_report(
        result, record->outcome == CAMPAIGN_HUNG ? RUN_FINDING_HUNG : RUN_FINDING_CRASHED, 0, 0,
        "%s", end.text);
    memcpy(finding->rule, end.rule, sizeof finding->rule);
    finding->detail = end.detail;
    run_result_find_causes(result);
    record->finding_count = 0;
    campaign_take_findings(record, result);
    free(result);
}

/* A record in the place of the one that the worker does not give any more. */
static void record_end(struct pool *pool, struct worker *worker, enum child_hang hang, int status)
{
    enum campaign_outcome outcome = hang ? CAMPAIGN_HUNG : CAMPAIGN_CRASHED;
    const struct campaign_options *options = pool->options;
    struct campaign_record *record = calloc(1, sizeof *record);
    struct campaign_finding *finding;
    struct campaign_setup setup;
    struct workload *drawn;
    char output[CRASH_RECORDER_TEXT], how[FINDING_TEXT_BYTES];
    ssize_t got;

    if (!record) {
        stop(pool, CAMPAIGN_NO_WORKERS);
        return;
    }
    validate_crash_recorder(worker->recorder);
    name_item(pool, worker, record);
    record->outcome = outcome;
    if (set_up_item(pool, worker, &setup, &drawn)) {
        record->model = setup.model;
        record->wddm = setup.config.wddm;
        memcpy(record->setup, setup.text, sizeof record->setup);
    }
    workload_free(drawn);
    got = pread(worker->errors, output, sizeof output - 1, 0);
    output[got > 0 ? got : 0] = '\0';
    crash_recorder_describe(worker->recorder, output, record->detail, sizeof record->detail);
    if (worker->journal->is_broken) {
        report_forgery(record, worker->journal->why);
        restore_findings(worker->journal, record);
        deliver(pool, record);
        free(record);
        return;
    }
    finding = put_first(record, campaign_outcome_name(outcome));
    if (hang)
        crash_recorder_explain_hang(worker->recorder, hang, options->run_limit_seconds, how,
                                    sizeof how);
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
        name_rule(record, finding, worker->recorder);
    if (outcome == CAMPAIGN_REFUSED)
        restore_findings(worker->journal, record);
    else
        find_cause_of_end(worker->journal, record);
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
        journal_reader_begin(worker->journal, worker->socket, item.key);
        worker->is_busy = true;
        worker->began = child_moment_now(worker->pid);
        /* If it cannot take it, its socket says so when it is polled. */
        transfer_all(worker->socket, &item, sizeof item, true);
    } else if (worker->pid) {
        end_worker(worker, &is_late);
        close(worker->errors);
    }
}

/* What the worker has sent until now: as JOURNAL_GOT_*, JOURNAL_GOT_FRAME stands for more of it. */
static enum journal_got read_worker(struct worker *worker, struct campaign_record *record)
{
    enum journal_got got = JOURNAL_GOT_FRAME;

    for (unsigned i = 0; i < MOST_FRAMES && got == JOURNAL_GOT_FRAME; i++)
        got = journal_read(worker->journal, record, sizeof *record);
    return got;
}

static void answer(struct pool *pool, struct worker *worker, struct campaign_record *record)
{
    bool is_late;
    int status;

    switch (read_worker(worker, record)) {
    case JOURNAL_GOT_NOTHING:
    case JOURNAL_GOT_FRAME:
        return;
    case JOURNAL_GOT_ANSWER:
        validate_record(record);
        name_item(pool, worker, record);
        if (pool->is_image)
            judge(pool, worker, record);
        if (is_to_be_judged(pool, record)) {
            if (start_judge(pool, worker, record))
                return;
            cannot_judge(pool);
        }
        worker->is_busy = false;
        deliver(pool, record);
        break;
    case JOURNAL_GOT_BROKEN:
        kill(worker->pid, SIGKILL);
        /* fall through */
    case JOURNAL_GOT_LATE:
    case JOURNAL_GOT_CLOSED:
        status = end_worker(worker, &is_late);
        record_end(pool, worker, is_late ? CHILD_CUT_OFF : CHILD_ENDS, status);
        close(worker->errors);
        break;
    }
    feed(pool, worker);
}

/* The record of a worker's item is complete now. */
static void take_verdict(struct pool *pool, struct worker *worker)
{
    struct verdict *verdict = malloc(sizeof *verdict);

    if (verdict && transfer_all(worker->judge_socket, verdict, sizeof *verdict, false)) {
        *worker->judged = verdict->record;
        tell_judgement(pool, &verdict->judgement);
    } else {
        cannot_judge(pool);
    }
    free(verdict);
    close(worker->judge_socket);
    while (waitpid(worker->judge, NULL, 0) < 0 && errno == EINTR)
        continue;
    worker->judge = 0;
    worker->is_busy = false;
    deliver(pool, worker->judged);
    free(worker->judged);
    worker->judged = NULL;
    feed(pool, worker);
}

/* A hung worker writes where it is, and ends by that or not. */
static void make_it_tell(struct worker *worker, struct campaign_record *record)
{
    struct pollfd polled = {.fd = worker->socket, .events = POLLIN};
    const double until = wall_now() + LAST_MS / 1000.0;
    enum journal_got got = JOURNAL_GOT_NOTHING;

    kill(worker->pid, SIGABRT);
    while (got <= JOURNAL_GOT_ANSWER && wall_now() < until) {
        poll(&polled, 1, LAST_MS);
        got = read_worker(worker, record);
    }
}

static void kill_late(struct pool *pool, struct campaign_record *record)
{
    double now = wall_now();
    bool is_late;

    if (pool->options->time_limit_seconds &&
        now - pool->started > pool->options->time_limit_seconds)
        stop(pool, CAMPAIGN_STOPPED_BY_TIME);
    for (unsigned i = 0; i < pool->worker_count && pool->options->run_limit_seconds; i++) {
        struct worker *worker = &pool->workers[i];

        if (!worker->is_busy || worker->judge ||
            !child_moment_is_over(&worker->began, pool->options->run_limit_seconds))
            continue;
        make_it_tell(worker, record);
        kill(worker->pid, SIGKILL);
        end_worker(worker, &is_late);
        record_end(pool, worker, CHILD_OVERDUE, 0);
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
        polled[count++] = (struct pollfd){
            .fd = pool->workers[i].judge ? pool->workers[i].judge_socket : pool->workers[i].socket,
            .events = POLLIN};
    }
    if (!count || poll(polled, count, POLL_MS) < 0)
        return count;
    for (unsigned i = 0; i < count; i++) {
        if (!polled[i].revents)
            continue;
        if (pool->workers[places[i]].judge)
            take_verdict(pool, &pool->workers[places[i]]);
        else
            answer(pool, &pool->workers[places[i]], record);
    }
    return count;
}

/* What they play now is lost: a campaign that goes on plays it again. */
static void interrupt_workers(struct pool *pool)
{
    stop(pool, CAMPAIGN_INTERRUPTED);
    for (unsigned i = 0; i < pool->worker_count; i++) {
        struct worker *worker = &pool->workers[i];

        if (worker->pid)
            kill(worker->pid, SIGKILL);
        if (!worker->judge)
            continue;
        kill(worker->judge, SIGKILL);
        close(worker->judge_socket);
        while (waitpid(worker->judge, NULL, 0) < 0 && errno == EINTR)
            continue;
        free(worker->judged);
    }
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
    struct run_driver driver;

    if (record && pool) {
        pool->options = options;
        pool->watcher = watcher;
        pool->started = wall_now();
        pool->total = options->seed_count * (options->case_count ? options->case_count : 1);
        pool->mine = count_mine(options, pool->total);
        pool->is_image = run_find_driver(options->driver, &driver) && driver.image_path;
        pool->worker_count = options->jobs < MAX_WORKERS ? options->jobs : MAX_WORKERS;
        for (unsigned i = 0; i < pool->worker_count; i++)
            feed(pool, &pool->workers[i]);
        while (!interrupt_came() && wait_for_answers(pool, record))
            kill_late(pool, record);
        if (interrupt_came())
            interrupt_workers(pool);
        why = pool->is_stopping ? pool->stop : CAMPAIGN_DONE;
        for (unsigned i = 0; i < pool->worker_count; i++) {
            bool is_late;

            if (pool->workers[i].pid) {
                end_worker(&pool->workers[i], &is_late);
                close(pool->workers[i].errors);
            }
            crash_recorder_release_memory(pool->workers[i].recorder,
                                          sizeof *pool->workers[i].recorder);
            free(pool->workers[i].journal);
        }
    }
    free(record);
    free(pool);
    return why;
}
