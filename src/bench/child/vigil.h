/*
 * Vigil: what is left to read of a run that ends in the middle.
 *
 * Place      bench, in memory that a process shares with whoever started it (trial.h,
 *            campaign_pool.c). run_events.c tells it of calls, run.c of the checking layer.
 * Model      While a process stands under a vigil, the last calls go into a ring, and a fatal
 *            signal writes, on a stack of its own, which it was and a backtrace to standard error,
 *            where the driver was, and, where the address is a guard page of the checking layer,
 *            the finding that this is. Then the process ends by the signal. Without a vigil all
 *            functions do nothing. There is one at a time: signals belong to the process.
 * Ownership  The memory is the caller's, and outlives the process that writes it.
 * Errors     None: what cannot be noted is not.
 */
#ifndef DRYDOCK_BENCH_VIGIL_H
#define DRYDOCK_BENCH_VIGIL_H

#include "check/check.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

#define VIGIL_LINES      24
#define VIGIL_LINE_BYTES 224
#define VIGIL_TEXT       4096 /* of what a process wrote, or of the calls as text */
#define VIGIL_PLACE      1536

/* A call as it began or ended; a paging operation is made a line of when it is read. */
struct vigil_line {
    bool is_paging, has_returned;
    uint32_t operation, size, offset; /* is_paging: size of the buffer, MultipassOffset */
    int32_t status;
    int64_t written;
    char text[VIGIL_LINE_BYTES];
};

struct vigil {
    uint64_t count; /* lines noted; the last VIGIL_LINES are there */
    struct vigil_line lines[VIGIL_LINES];
    bool has_finding; /* the guards explain the signal */
    struct finding finding;
    double noted;            /* when the last line was, on the monotonic clock */
    char ddi[64];            /* of the driver, that the signal came in; "": none */
    double ddi_seconds;      /* how long nothing had been called or had returned then */
    bool is_image;           /* the driver was an image: what it does itself does not end so */
    char place[VIGIL_PLACE]; /* frames of the driver there; "": it ran none, or is no image */
    const char *model;       /* what of a GPU model runs, a literal; NULL: nothing of one */
};

/* Memory that a child shares with its parent; NULL: none. */
void *vigil_shared_memory(size_t bytes);
void vigil_release_memory(void *memory, size_t bytes);

/* From now on, in this process; signals are caught the first time. NULL ends it. */
void vigil_begin(struct vigil *vigil);

/* Whether one is kept: then the process is there to run drivers, and may be lost. */
bool vigil_is_kept(void);

/*
 * Who tells where the driver is, from a signal's context; fit for signal handlers. The length, 0
 * and "" for nowhere. NULL: nobody.
 */
void vigil_set_teller(size_t (*tell)(const void *signal_context, char *text, size_t size));

/*
 * What of a GPU model (bench/board/gpu_plugin.h) runs from now on, a literal; gives what ran
 * before, NULL: nothing.
 */
const char *vigil_enter_model(const char *what);
bool vigil_runs_model(void);

/*
 * False: the end, of which `how` tells, is not that of a GPU model. Else a sentence that says so:
 * the run tells nothing of the driver.
 */
bool vigil_blames_model(const struct vigil *vigil, const char *gpu, const char *how, char *text,
                        size_t size);

/* Who knows what guard pages are for; NULL: nobody. */
void vigil_watch(struct check *check);

void vigil_note_line(const char *line);
void vigil_note_paging(const struct trace_event *event);

/* The calls, a line each, the last one last; and what was written to standard error before them. */
void vigil_describe(const struct vigil *vigil, const char *output, char *text, size_t size);

/*
 * Why a process ended, from waitpid(): "ended by signal 11 (Segmentation fault): ...", with the
 * line of its output that says most.
 */
void vigil_explain_end(const struct vigil *vigil, int status, const char *output, char *text,
                       size_t size);

/* The same for one that was ended because it did not end within so many seconds. */
void vigil_explain_hang(const struct vigil *vigil, double seconds, char *text, size_t size);

#endif
