/*
 * Crash recorder: what can still be read of a run that ends in the middle.
 *
 * Place      bench, in memory that a process shares with whoever started it (child_run.h,
 *            campaign_pool.c). run_events.c gives it the calls, run_stack.c the checking layer.
 * Model      While a process has a recorder, the last calls go into a ring. A fatal signal writes a
 *            backtrace to standard error, on a stack of its own, and into the recorder where the
 *            driver was; when the address is a guard page of the checking layer, also the finding
 *            that this is. Then the process ends by the signal. Without a recorder all functions do
 *            nothing. A process has one recorder at a time: signals belong to the process.
 * Ownership  The memory is the caller's, and outlives the process that writes it.
 * Errors     None: a call or a place that cannot be noted is left out.
 */
#ifndef DRYDOCK_BENCH_CRASH_RECORDER_H
#define DRYDOCK_BENCH_CRASH_RECORDER_H

#include "bench/child/child_end.h"
#include "check/check.h"
#include "record/record.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

#define CRASH_RECORDER_LINES      24
#define CRASH_RECORDER_LINE_BYTES 224
#define CRASH_RECORDER_TEXT       4096 /* of a process's output, or of the calls as text */
#define CRASH_RECORDER_PLACE      1536

/* A call as it began or ended; a paging operation is made a line of when it is read. */
struct crash_recorder_line {
    bool is_paging, has_returned;
    uint32_t operation, size, offset; /* is_paging: size of the buffer, MultipassOffset */
    int32_t status;
    int64_t written;
    char text[CRASH_RECORDER_LINE_BYTES];
};

struct crash_recorder {
    uint64_t count; /* lines noted; the last CRASH_RECORDER_LINES are there */
    struct crash_recorder_line lines[CRASH_RECORDER_LINES];
    bool has_finding; /* the guards explain the signal */
    struct finding finding;
    double noted;                     /* when the last line was, on the monotonic clock */
    char ddi[64];                     /* of the driver, that the signal came in; "": none */
    double ddi_seconds;               /* how long nothing had been called or had returned then */
    bool is_image;                    /* the driver was an image: its own faults do not end so */
    char place[CRASH_RECORDER_PLACE]; /* frames of the driver there; "": none ran */
    const char *model;  /* what of a GPU model runs, a literal; NULL: nothing of one */
    char model_did[64]; /* why the process ended while it did; "": by what its end says */
};

/* Memory that a child shares with its parent; NULL: none. */
void *crash_recorder_share_memory(size_t bytes);
void crash_recorder_release_memory(void *memory, size_t bytes);

/* From now on, in this process; signals are caught the first time. NULL ends it. */
void crash_recorder_begin(struct crash_recorder *recorder);

/* The record whose last items a fatal signal still writes; NULL: none. */
void crash_recorder_set_record(struct record *record);

/* Whether the process has a recorder: then it is there to run drivers, and may be lost. */
bool crash_recorder_is_on(void);

/*
 * The function that finds where the driver is, from a signal's context. It is fit for signal
 * handlers and gives the length of the text, 0 and "" for nowhere. NULL: there is none.
 */
void crash_recorder_set_locator(size_t (*locate)(const void *signal_context, char *text,
                                                 size_t size));

/*
 * A function of a GPU model (bench/board/gpu_plugin.h) runs from now on: its name, a literal, or
 * NULL when none runs; of a client or a policy "the client's ..." and "the policy's ...". Gives the
 * name that was there before.
 */
const char *crash_recorder_enter_model(const char *what);
/*
 * It has returned; before is what crash_recorder_enter_model() gave. A copy of the process that the
 * function has made (fork()) ends here: it is no run. So does the process whose files the function
 * has closed, outside of a cage: what the bench said from then on would reach nobody, or go into
 * the next file that is opened.
 */
void crash_recorder_leave_model(const char *before);
bool crash_recorder_runs_model(void);

/*
 * False: the end that `how` describes is not that of a GPU model. Else a sentence that says so: the
 * run says nothing about the driver then.
 */
bool crash_recorder_blames_model(const struct crash_recorder *recorder, const char *gpu,
                                 const char *how, char *text, size_t size);

/* The checking layer, which knows what its guard pages are for; NULL: there is none. */
void crash_recorder_set_check(struct check *check);

void crash_recorder_note_line(const char *line, size_t length);
void crash_recorder_note_paging(const struct trace_event *event);

/* The calls, a line each, the last one last; and the output to standard error before them. */
void crash_recorder_describe(const struct crash_recorder *recorder, const char *output, char *text,
                             size_t size);

/*
 * Why a process ended, from waitpid(): "ended by signal 11 (Segmentation fault): ...", with the
 * line of its output that says most.
 */
void crash_recorder_explain_end(const struct crash_recorder *recorder, int status,
                                const char *output, char *text, size_t size);

/* Why a process was ended. seconds: its time, which was over if it was CHILD_OVERDUE. */
void crash_recorder_explain_hang(const struct crash_recorder *recorder, enum child_hang hang,
                                 double seconds, char *text, size_t size);

#endif
