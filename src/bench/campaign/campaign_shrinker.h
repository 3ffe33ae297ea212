/*
 * Shrinker: smallest cases of causes, made in a process beside a campaign.
 *
 * Place      bench, above campaign_shrink. The caller adds causes as they appear, lets the shrinker
 *            look now and then, and takes the results when the campaign is over.
 * Model      One cause at a time, in the order in which they were added, each in a process of its
 *            own. The case does not depend on that: it is the one that campaign_shrink_cause()
 *            makes of the same record, unless the time of one of the two ran out. A cause may have
 *            another record when the campaign is over (one with a lower seed), or none: then what
 *            was made for it is dropped.
 * Ownership  Options are the caller's for the life of the shrinker. Causes are copied. Its process
 *            ends with it, or with the caller's process.
 * Errors     What cannot be made here has no result, and the caller makes it itself.
 */
#ifndef DRYDOCK_BENCH_CAMPAIGN_SHRINKER_H
#define DRYDOCK_BENCH_CAMPAIGN_SHRINKER_H

#include "bench/campaign/campaign.h"
#include "bench/child/repro.h"

struct campaign_shrinker;

/* how: the limits of each cause. NULL: no memory, which the other functions take. */
struct campaign_shrinker *campaign_shrinker_create(const struct campaign_options *options,
                                                   const struct repro_shrink *how);
void campaign_shrinker_destroy(struct campaign_shrinker *shrinker);

void campaign_shrinker_add(struct campaign_shrinker *shrinker, const struct campaign_cause *cause);
/* Takes what is ready, and begins the next. */
void campaign_shrinker_look(struct campaign_shrinker *shrinker);

/*
 * The smallest case of the cause goes into the file, and its figures into the cause. What is being
 * made is waited for, with progress as in `how` of campaign_shrinker_create(), until an interrupt
 * comes. False: there is none, or it cannot be written.
 */
bool campaign_shrinker_take(struct campaign_shrinker *shrinker, struct campaign_cause *cause,
                            const char *path);

#endif
