/*
 * Zoo play: what the bench finds of a planted defect in a model.
 *
 * Place      cli, above bench and zoo; under the verb that prints it.
 * Model      A row is a defect in one model. It is played with the seeds of the default campaign,
 *            in order, until a run breaks one of the rules that the defect should break; the case
 *            of that run is then made smaller. Each row has a process of its own, so that several
 *            play at once and what a row finds does not depend on how many; rows are in memory that
 *            all of them have. The first eight seeds are played in any case: a defect is one
 *            mistake, and should have one cause in them. A lawful driver is played with all of its
 *            seeds, or until a run says anything about it.
 * Ownership  zoo_rows_new() gives the rows of a table; zoo_rows_free() takes them.
 * Errors     bool: no memory, no process.
 */
#ifndef DRYDOCK_CLI_ZOO_PLAY_H
#define DRYDOCK_CLI_ZOO_PLAY_H

#include "bench/campaign/campaign.h"
#include "zoo/zoo.h"

#define ZOO_ROW_RULES   16
#define ZOO_CAUSE_SEEDS 8

struct zoo_row {
    const struct zoo_defect *defect;
    enum campaign_model model;
    bool is_played;
    bool is_hostile; /* the image that it is planted in attacks the bench */
    bool is_found;   /* a rule of the defect is broken; of a lawful driver: anything was said */
    uint64_t seed;   /* is_found: that of the run */
    bool is_shrunk;
    uint32_t shrunk_lines; /* operations of the smallest case; with is_shrunk */
    uint64_t seeds;        /* played, up to the one that shows it */
    uint64_t operations;   /* of all of them */
    uint64_t told; /* by the first seed: a hash of what was looked at, broken and said; 0: no end */
    /* Of the first ZOO_CAUSE_SEEDS seeds, those behind `seeds` included: */
    unsigned causes;     /* that the findings have, by the campaign's summary */
    bool blames_manager; /* one of them says that it is a defect of the bench */
    char rules[ZOO_ROW_RULES]
              [16]; /* broken, or kinds of findings without one; those expected first */
    unsigned rule_count;
};

struct zoo_play {
    uint64_t seeds;        /* at most, each row */
    unsigned jobs;         /* rows at once */
    double shrink_seconds; /* each row; 0: cases stay as they are */
    const char *image;     /* of the reference driver, to plant them in; NULL: the one linked in */
    /* A row is played; they come in order. */
    void (*played)(void *context, const struct zoo_row *row, size_t index);
    void *context;
};

struct zoo_row *zoo_rows_new(size_t most); /* NULL: no memory */
void zoo_rows_free(struct zoo_row *rows, size_t most);

/*
 * Plays the rows. An interrupt (bench/child/interrupt.h) ends it: the first *out_played rows were
 * played. False: a process could not be made.
 */
bool zoo_play_rows(const struct zoo_play *play, struct zoo_row *rows, size_t count,
                   size_t *out_played);

#endif
