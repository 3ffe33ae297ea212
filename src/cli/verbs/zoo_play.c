/*
 * One planted defect: seeds are played until one of its rules fires.
 */
#define _GNU_SOURCE /* madvise() */
#include "cli/verbs/zoo_play.h"

#include "base/bits.h"
#include "base/hash.h"
#include "bench/campaign/campaign_shrink.h"
#include "bench/child/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_SEED     1
#define RUN_SECONDS    3.0  /* a run takes milliseconds; one that takes longer hangs */
#define LAWFUL_SECONDS 10.0 /* a lawful driver does not hang: a busy machine must not accuse it */
#define HUNG_SECONDS   1
#define ROW_HANGS      4 /* so many runs of a row may hang; no seed is played behind the last */

/* The state of the process that plays a row. */
struct player {
    struct zoo_row *row;
    const struct campaign_options *campaign;
    struct campaign_record record;   /* the last run */
    struct campaign_summary summary; /* of the first seeds */
    struct campaign_record shown;    /* the first that broke a rule of the defect */
    char rule[16];                   /* that one */
    unsigned hangs;                  /* runs that hung */
};

/* Whole pages, for memory that others share. */
static size_t rows_bytes(size_t count)
{
    return align_up((count + 1) * sizeof(struct zoo_row), PAGE_BYTES);
}

struct zoo_row *zoo_rows_new(size_t most)
{
    void *rows =
        mmap(NULL, rows_bytes(most), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return rows == MAP_FAILED ? NULL : rows;
}

void zoo_rows_free(struct zoo_row *rows, size_t most)
{
    if (rows)
        munmap(rows, rows_bytes(most));
}

/* ---- One row ---- */

static void add_rule(struct zoo_row *row, const char *name)
{
    for (unsigned i = 0; i < row->rule_count; i++) {
        if (strcmp(row->rules[i], name) == 0)
            return;
    }
    if (row->rule_count < ZOO_ROW_RULES)
        snprintf(row->rules[row->rule_count++], sizeof row->rules[0], "%s", name);
}

/* The finding of a kind that no rule names; false: none. */
static bool find_kind(const struct campaign_record *record, const char *kind, unsigned *out)
{
    for (*out = 0; *out < record->finding_count; ++*out) {
        if (!record->findings[*out].rule[0] && strcmp(record->findings[*out].kind, kind) == 0)
            return true;
    }
    return false;
}

/* The first of the defect's that the run broke; false: none. */
static bool find_rule(const struct zoo_defect *defect, const struct campaign_record *record,
                      char out[16])
{
    for (const char *at = defect->rules; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        enum rule_id rule;
        unsigned finding;

        snprintf(out, 16, "%.*s", (int)length, at);
        at += length;
        rule = rule_find(out);
        if (rule != RULE_NONE ? record->rules.broken[rule] != 0 : find_kind(record, out, &finding))
            return true;
    }
    return false;
}

/* The record of a run that hangs comes without the rules that the run broke until then. */
static void add_hung_rules(const struct player *player, struct campaign_record *record)
{
    struct run_result *result = calloc(1, sizeof *result);

    if (result && campaign_try_again(player->campaign, record, HUNG_SECONDS, result)) {
        for (enum rule_id rule = RULE_NONE + 1; rule < RULE_COUNT; rule++)
            record->rules.broken[rule] += result->rules.broken[rule];
    }
    if (result)
        run_result_fini(result);
    free(result);
}

/* Everything that the run says of the driver, in one word; 0: the run has not come to its end. */
static uint64_t told_by(const struct campaign_record *record)
{
    struct hash told;

    hash_init(&told, 0);
    hash_update_u64(&told, record->digest);
    rule_counts_hash(&told, &record->rules);
    for (unsigned i = 0; i < record->finding_count; i++) {
        const struct campaign_finding *finding = &record->findings[i];
        const char *const texts[] = {finding->kind, finding->rule, finding->text};

        for (size_t j = 0; j < ARRAY_COUNT(texts); j++)
            hash_update(&told, texts[j], strlen(texts[j]) + 1);
        finding_detail_hash(&told, &finding->detail);
        hash_update_u64(&told, finding->line);
        hash_update_u64(&told, finding->consequence_of);
        hash_update_u64(&told, finding->seen);
    }
    return record->digest ? hash_final(&told) : 0;
}

/* What the row tells of the runs up to the one that shows the defect. */
static void look_for_defect(struct player *player, const struct campaign_record *record)
{
    const char *hostile = run_finding_kind_name(RUN_FINDING_HOSTILE);
    struct zoo_row *row = player->row;

    row->seeds++;
    row->operations += record->operations;
    row->is_found = row->defect->lawful ? record->outcome != CAMPAIGN_CLEAN
                                        : find_rule(row->defect, record, player->rule);
    if (row->is_found) {
        player->shown = *record;
        row->rule_count = 0; /* of what shows it, not of what was seen before */
        row->seed = record->seed;
        if (!row->defect->lawful)
            add_rule(row, player->rule);
    }
    for (enum rule_id rule = RULE_NONE + 1; rule < RULE_COUNT; rule++) {
        if (record->rules.broken[rule])
            add_rule(row, rule_get(rule)->id);
    }
    for (unsigned i = 0; i < record->finding_count; i++) {
        row->is_hostile |= strcmp(record->findings[i].kind, hostile) == 0;
        if (!record->findings[i].rule[0])
            add_rule(row, record->findings[i].kind);
        else if (row->defect->lawful) /* the manager says it, where no rule was broken */
            add_rule(row, record->findings[i].rule);
    }
}

static bool take_record(void *context, const struct campaign_record *given)
{
    struct player *player = context;
    struct campaign_record *record = &player->record;
    struct zoo_row *row = player->row;

    *record = *given;
    if (!row->seeds)
        row->told = told_by(record);
    if (record->outcome == CAMPAIGN_HUNG) {
        add_hung_rules(player, record);
        player->hangs++;
    }
    if (player->summary.runs < ZOO_CAUSE_SEEDS)
        campaign_summary_add(&player->summary, record);
    if (!row->is_found)
        look_for_defect(player, record);
    return player->hangs < ROW_HANGS && (!row->is_found || player->summary.runs < ZOO_CAUSE_SEEDS);
}

/* How many causes the first seeds give, and whom they blame. */
static void count_causes(struct player *player)
{
    struct campaign_summary *summary = &player->summary;

    campaign_summary_settle(summary);
    for (size_t i = 0; i < summary->cause_count; i++) {
        const struct campaign_cause *cause = &summary->causes[i];

        player->row->causes += !campaign_is_advice(cause);
        player->row->blames_manager |= campaign_blames_manager(cause);
    }
}

/* Of wall time, until a run of the defect counts as hung. */
static double run_limit(const struct zoo_defect *defect)
{
    if (defect->run_seconds)
        return defect->run_seconds;
    return defect->lawful ? LAWFUL_SECONDS : RUN_SECONDS;
}

static bool play_row(const struct zoo_play *play, struct zoo_row *row)
{
    char driver[1200];
    struct campaign_options campaign = {
        .driver = driver,
        .profile = row->defect->profile,
        .model = row->model,
        .focus = row->defect->focus,
        .first_seed = FIRST_SEED,
        .seed_count = play->seeds,
        .shard_count = 1,
        .jobs = 1,
        .judge_every = play->image ? CAMPAIGN_JUDGE_EVERY : 0,
        .run_limit_seconds = run_limit(row->defect),
    };
    const struct repro_shrink how = {.seconds = play->shrink_seconds};
    struct player *player = calloc(1, sizeof *player);
    const struct campaign_watcher watcher = {.context = player, .record = take_record};
    struct workload_shrink_result result;
    struct workload_error error;
    struct workload *small = NULL;
    struct repro repro;
    unsigned finding;

    if (!player || !campaign_summary_init(&player->summary)) {
        free(player);
        return false;
    }
    player->row = row;
    player->campaign = &campaign;
    snprintf(driver, sizeof driver, "zoo:%s%s%s", row->defect->id, play->image ? "@" : "",
             play->image ? play->image : "");
    row->is_played = campaign_run(&campaign, &watcher) != CAMPAIGN_NO_WORKERS;
    count_causes(player);
    if (row->is_found && !row->defect->lawful && play->shrink_seconds > 0) {
        row->is_shrunk = find_kind(&player->shown, player->rule, &finding)
                             ? campaign_shrink_finding(&campaign, &player->shown, finding, &how,
                                                       &small, &result, &repro, &error)
                             : campaign_shrink_rule(&campaign, &player->shown, player->rule, &how,
                                                    &small, &result, &repro, &error);
        if (row->is_shrunk)
            row->shrunk_lines = result.lines_after;
    }
    workload_free(small);
    campaign_summary_fini(&player->summary);
    free(player);
    return row->is_played;
}

/* ---- All of them ---- */

/* The processes that the row makes, which run drivers, do not have the rows. */
static pid_t start_row(const struct zoo_play *play, struct zoo_row *rows, size_t count,
                       size_t index)
{
    pid_t pid;

    fflush(NULL); /* what is there goes out once */
    pid = fork();
    if (pid == 0)
        interrupt_leave_to_parent();
    if (pid == 0)
        _exit(madvise(rows, rows_bytes(count), MADV_DONTFORK) == 0 && play_row(play, &rows[index])
                  ? EXIT_SUCCESS
                  : EXIT_FAILURE);
    return pid;
}

/* The row that a process of ours played; count: none. */
static size_t end_row(pid_t *pids, size_t count)
{
    pid_t pid;

    do
        pid = wait(NULL);
    while (pid < 0 && errno == EINTR && !interrupt_came());
    for (size_t i = 0; i < count; i++) {
        if (pid > 0 && pids[i] == pid) {
            pids[i] = 0;
            return i;
        }
    }
    return count;
}

/* The rows that are being played are given up; their workers end with them. */
static void end_rows(const pid_t *pids, size_t count)
{
    for (size_t i = 0; pids && i < count; i++) {
        if (pids[i] > 0 && kill(pids[i], SIGKILL) == 0) {
            while (waitpid(pids[i], NULL, 0) < 0 && errno == EINTR)
                continue;
        }
    }
}

bool zoo_play_rows(const struct zoo_play *play, struct zoo_row *rows, size_t count,
                   size_t *out_played)
{
    pid_t *pids = calloc(count + 1, sizeof *pids);
    size_t next = 0, told = 0, running = 0;
    bool is_fine = pids != NULL;

    while (pids && (running || (is_fine && next < count))) {
        if (interrupt_came())
            break;
        if (is_fine && next < count && running < play->jobs) {
            pids[next] = start_row(play, rows, count, next);
            is_fine = pids[next] > 0;
            running += is_fine;
            next++;
            continue;
        }
        if (end_row(pids, next) == next)
            break;
        running--;
        for (; told < next && pids[told] == 0; told++) {
            is_fine &= rows[told].is_played;
            if (play->played && is_fine)
                play->played(play->context, &rows[told], told);
        }
    }
    if (interrupt_came())
        end_rows(pids, next);
    free(pids);
    *out_played = told;
    return is_fine && (told == count || interrupt_came());
}
