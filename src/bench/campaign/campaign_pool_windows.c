/*
 * On Windows the items of a campaign are played in this process, one after another, however many
 * jobs are asked for. A driver that crashes ends the campaign, which --resume goes on with; one
 * that hangs is not ended.
 */
#include "bench/campaign/campaign_private.h"

#include "bench/child/interrupt.h"
#include "machine/page_store.h"

#include <stdlib.h>
#include <time.h>

struct pool {
    const struct campaign_options *options;
    const struct campaign_watcher *watcher;
    struct campaign_record record;
    uint64_t done, mine; /* items of this shard */
    uint64_t findings;
    double started;
};

static double wall_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

unsigned campaign_judge_every(const char *driver)
{
    return 0; /* images alone are judged again */
}

static bool counts(const struct pool *pool, const struct campaign_record *record)
{
    return record->outcome != CAMPAIGN_CLEAN &&
           (!pool->watcher->counts || pool->watcher->counts(pool->watcher->context, record));
}

static void play(struct pool *pool, uint64_t seed, size_t case_index)
{
    const struct campaign_options *options = pool->options;

    (options->play ? options->play : campaign_play)(options, seed, case_index, &pool->record);
    page_store_keep_memory(!pool->record.finding_total);
}

/* True: *out_why is why no further item begins. */
static bool is_over(const struct pool *pool, enum campaign_stop *out_why)
{
    const struct campaign_options *options = pool->options;

    if (interrupt_came())
        *out_why = CAMPAIGN_INTERRUPTED;
    else if (options->max_findings && pool->findings >= options->max_findings)
        *out_why = CAMPAIGN_STOPPED_BY_FINDINGS;
    else if (options->time_limit_seconds &&
             wall_now() - pool->started >= options->time_limit_seconds)
        *out_why = CAMPAIGN_STOPPED_BY_TIME;
    else
        return false;
    return true;
}

static enum campaign_stop play_all(struct pool *pool, uint64_t total, uint64_t cases)
{
    const struct campaign_options *options = pool->options;
    const struct campaign_watcher *watcher = pool->watcher;
    enum campaign_stop why = CAMPAIGN_DONE;

    for (uint64_t item = options->shard; item < total; item += options->shard_count) {
        const uint64_t seed = options->first_seed + item / cases;
        const size_t case_index = (size_t)(item % cases);

        if (is_over(pool, &why))
            return why;
        pool->done++;
        if (watcher->is_known && watcher->is_known(watcher->context, seed, case_index))
            continue;
        play(pool, seed, case_index);
        pool->findings += counts(pool, &pool->record);
        if (!watcher->record(watcher->context, &pool->record))
            return CAMPAIGN_STOPPED_BY_CALLER;
        if (watcher->progress)
            watcher->progress(watcher->context, pool->done, pool->mine);
    }
    return is_over(pool, &why) ? why : CAMPAIGN_DONE;
}

enum campaign_stop campaign_run(const struct campaign_options *options,
                                const struct campaign_watcher *watcher)
{
    const uint64_t cases = options->case_count ? options->case_count : 1;
    const uint64_t total = options->seed_count * cases;
    struct pool *pool = calloc(1, sizeof *pool);
    enum campaign_stop why;

    if (!pool)
        return CAMPAIGN_NO_WORKERS;
    pool->options = options;
    pool->watcher = watcher;
    pool->started = wall_now();
    pool->mine = total / options->shard_count + (options->shard < total % options->shard_count);
    why = play_all(pool, total, cases);
    free(pool);
    return why;
}
