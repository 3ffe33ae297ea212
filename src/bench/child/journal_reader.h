/*
 * Journal reader: the parent's end of a journal (journal.h), and whether the record that a process
 * hands over can be true.
 *
 * Place      bench. Used by the parents of processes that run drivers (child_run.c,
 *            campaign_pool.c). Belongs to nobody but the parent: the process does not share it.
 * Model      Frames are read one at a time, as they come. A frame that does not fit, by its number,
 *            its seal or its kind, breaks the journal for good. When the answer is there,
 *            journal_contradiction() compares three accounts of the run: what was told while it
 *            ran, its end, and what the case had to do. An account that contradicts another one is
 *            a finding of the kind "hostile": the driver has written over the bench, by mistake or
 *            on purpose. So a driver that wants to come out clean has to invent a whole run.
 * Errors     enum journal_got.
 */
#ifndef DRYDOCK_BENCH_JOURNAL_READER_H
#define DRYDOCK_BENCH_JOURNAL_READER_H

#include "bench/child/journal.h"

struct journal_reader {
    int file;
    uint64_t seal, number;
    bool is_broken;
    char why[160]; /* is_broken */
    bool has_end;
    struct journal_tally last; /* what was told last, in a run that goes on */
    struct journal_end end;    /* has_end */
    uint32_t finding_count;
    struct run_finding findings[RUN_MAX_FINDINGS]; /* validated */
};

enum journal_got {
    JOURNAL_GOT_NOTHING, /* nothing is there to be read */
    JOURNAL_GOT_FRAME,
    JOURNAL_GOT_ANSWER,
    JOURNAL_GOT_BROKEN, /* no answer comes any more that counts */
    JOURNAL_GOT_LATE,   /* a frame has begun, and does not come whole in its time */
    JOURNAL_GOT_CLOSED, /* the process has closed its end */
};

/* A key for the journal of one run. */
uint64_t journal_new_key(void);

void journal_reader_begin(struct journal_reader *reader, int file, uint64_t key);

/* Reads one frame. Waits for the rest of a frame that has begun, and not for a frame. */
enum journal_got journal_read(struct journal_reader *reader, void *answer, size_t answer_bytes);

/* What the record says of the run. */
struct journal_claim {
    uint64_t digest;
    enum run_outcome outcome;
    struct journal_tally tally;
};

/*
 * False: the claim agrees with the journal and with the case. Else a sentence. The configuration is
 * the one that was played (run_config_complete()).
 */
bool journal_contradiction(const struct journal_reader *reader, const struct journal_claim *claim,
                           const struct run_config *config, const struct workload *workload,
                           char *why, size_t why_bytes);

/* "the record of the run cannot be true: ..." */
void journal_explain(const char *why, char *text, size_t text_bytes);

#endif
