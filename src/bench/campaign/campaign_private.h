/*
 * Steps of a setup, and the generators that seeds draw from.
 *
 * Place      bench, private to the folder.
 * Model      A setup is made in four steps: amounts that the seed draws for each option
 *            (campaign_options.c), options of the case and the command line over them
 *            (campaign_setup.c), memory for all of that (campaign_memory.c), and the line that
 *            describes it (campaign_describe.c). campaign_workload.c draws a case.
 * Ownership  Everything is borrowed during the call.
 */
#ifndef DRYDOCK_BENCH_CAMPAIGN_PRIVATE_H
#define DRYDOCK_BENCH_CAMPAIGN_PRIVATE_H

#include "base/rng.h"
#include "bench/campaign/campaign.h"
#include "bench/config/profile.h"
#include "bench/drivers/drivers.h"

/*
 * Each choice has a stream, and each stream of a seed a generator: a further choice leaves the
 * others of the seed as they are. The numbers of the streams never change, or seeds would draw
 * other setups. A new option takes STREAM_OWN, whose number is made of the option's word.
 */
enum campaign_stream {
    STREAM_MODEL,
    STREAM_LEVEL,
    STREAM_PAGE_TABLES,
    STREAM_PAGING_BUFFER,
    STREAM_PRIVATE_DATA,
    STREAM_PAGES,
    STREAM_QUEUES,
    STREAM_HIDDEN,
    STREAM_TIMING,
    STREAM_SWITCHES,
    STREAM_PIECES,
    STREAM_BOARD,
    STREAM_WORKLOAD,
    STREAM_FAULTS,
    STREAM_OPERATIONS, /* of the case: which kinds it has */
    STREAM_BANKS,
    STREAM_DEAD_MEMORY,
    STREAM_NOTICES,
    STREAM_APERTURE,
    STREAM_SPLITS,
    STREAM_BUSY,
    STREAM_BUDGET,
    STREAM_SLEEP,
    STREAM_RESETS,
    STREAM_COHERENCE,
    STREAM_FILLS,
    STREAM_DMA_SIZE,
    STREAM_PITCH,
    STREAM_RESERVED,
    STREAM_CONTEXTS,
    STREAM_FENCES,
    STREAM_RENAMES,
    STREAM_DISCARDS,
    STREAM_FAULT_LINES,
    STREAM_OBSERVED,
    STREAM_PRESSURE,
    STREAM_RENEWALS,
    STREAM_LARGE,
    STREAM_FENCE_MOVES,
    STREAM_SHOWS,
    STREAM_COUNT,
    STREAM_OWN = STREAM_COUNT, /* of one option */
    STREAM_NONE,               /* nothing is drawn */
};

void campaign_stream_of(uint64_t seed, uint64_t stream, struct rng *out);

/* From low to high, every magnitude equally likely. */
uint64_t campaign_magnitude(struct rng *rng, uint64_t low, uint64_t high);

/* For whom a seed draws: campaign_draw.c. */
struct campaign_draw {
    const struct campaign_options *options;
    const struct run_profile *profile;
    struct run_driver driver;
    const struct workload *workload;
    uint64_t seed;
};

void campaign_draw_init(struct campaign_draw *draw, const struct campaign_options *options,
                        uint64_t seed, const struct workload *workload);

/* Somebody says so, last of all the focus: no seed draws it. workload may be NULL. */
bool campaign_has_hardware_queues(const struct campaign_options *options,
                                  const struct workload *workload);
bool campaign_driver_has_level(const struct run_driver *driver, enum run_model model,
                               unsigned wddm);

/* Sets each member whose option the seed draws in the configuration's model. */
void campaign_draw_options(const struct campaign_draw *draw, struct run_config *config);

/*
 * Makes local memory and its segments large enough for the case on this board. Called behind the
 * options of the case: they say how much local memory the case needs on an ordinary board.
 */
void campaign_draw_memory(const struct campaign_draw *draw, struct run_config *config);

/* The findings of a run in their order: causes, consequences, advice. */
void campaign_take_findings(struct campaign_record *record, const struct run_result *result);
/* A clean run and another play of it: a finding when they differ. */
void campaign_compare(struct campaign_record *record, const struct run_result *again);

/* Writes the line for people. */
void campaign_describe(const struct run_config *config, char *out, size_t out_bytes);

#endif
