/*
 * Journal: what a run has done and found so far, told to the parent while the run goes on.
 *
 * Place      bench. Written by the process that runs a driver (run.c begins and ends a run,
 *            run_events.c gives it the calls, run_findings.c the findings), through the channel
 *            that its parent reads (journal_reader.h).
 * Model      A driver shares the address space of the bench, so nothing that is kept here is safe
 *            from it. What has been sent is: nobody takes it back. Each finding is sent before the
 *            driver gets control again, and the counts of the run every few calls. When the run has
 *            ended, its counts, digest and outcome are sent, and at last the answer: the record
 *            itself, or a hash of it where the parent has the record already.
 *
 *                PROGRESS, FINDING ...  END  ANSWER
 *
 *            A frame has a number and a seal, a hash of the frame and of all frames before it under
 *            a key of the parent. So a frame that is missing, doubled, changed or invented is seen,
 *            but for one that was made with the state of this module. That state lies on a page
 * that can be written only while a frame is sent.
 *
 *            Without a channel all functions do nothing. A process has one journal at a time.
 * Errors     A frame that cannot be sent is missing: the parent sees it.
 */
#ifndef DRYDOCK_BENCH_JOURNAL_H
#define DRYDOCK_BENCH_JOURNAL_H

#include "bench/run/run_result.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts are sent every so many calls, and behind so many of these paces one of as many. */
#define JOURNAL_PACE      64
#define JOURNAL_LONG_PACE 8
#define JOURNAL_MARK      0x6c6e726au /* "jrnl" */

enum journal_kind {
    JOURNAL_PROGRESS, /* struct journal_tally */
    JOURNAL_FINDING,  /* struct run_finding */
    JOURNAL_END,      /* struct journal_end */
    JOURNAL_ANSWER,   /* the parent knows how long */
};

struct journal_frame {
    uint32_t mark;
    uint32_t kind;
    uint64_t number; /* from 1 */
    uint64_t bytes;  /* behind the frame */
    uint64_t seal;   /* of the frame without this member, and of what is behind it */
};

/* Counts of a run; none ever becomes less while the run goes on. */
struct journal_tally {
    uint64_t calls, submit_calls;     /* of the driver's functions; of those that submit work */
    uint64_t operations, submissions; /* of the case: lines played, submissions that have run */
    uint64_t failed, aborted;         /* submissions that have not */
    uint64_t evaluated, broken;       /* rules, each time */
    uint64_t findings;                /* without advice */
    uint64_t pages_checked;
};

struct journal_end {
    struct journal_tally tally;
    uint64_t digest;
    uint64_t outcome; /* enum run_outcome */
};

/* What a result has; the other counts stay. */
void journal_count(const struct run_result *result, struct journal_tally *tally);

uint64_t journal_seal(uint64_t before, const struct journal_frame *frame, const void *content);

/*
 * From now on in this process, to this file. The key is the parent's. tells_run: the next run is
 * told, and none behind it; else there is nothing but the answer.
 */
void journal_open(int file, uint64_t key, bool tells_run);

/* The result is filled while the run goes on. */
void journal_begin_run(const struct run_result *result);
void journal_note_call(const struct trace_event *event);
/* Findings of the run that are complete and were not sent yet. */
void journal_tell_findings(void);
void journal_end_run(void);

/*
 * The reader's answer, or the first bytes of it, where the others are zero. False: it cannot be
 * sent. Closes the journal.
 */
bool journal_answer(const void *answer, size_t bytes);

#endif
