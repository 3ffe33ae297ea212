/*
 * Run events: the calls of a run, hashed for its digest and written down.
 *
 * Place      bench. The sink of the trace layer.
 * Model      Every event enters the digest. A call of DxgkDdiBuildPagingBuffer that wrote commands
 *            enters with its operation, status and those bytes; any other event as the line that
 *            describes it, which has no host pointer and no time in it. Lines that the level asks
 *            for are also written, each with the virtual time in front,
 *
 *                1234567 > DxgkDdiSubmitCommand ...
 *
 *            (at the level "paging" one line a call, "> call and fields < status and results"), up
 *            to a number of calls and of bytes; calls that are left out are counted, and the file's
 *            last line says so. Handles are numbered as they are first printed, so their numbers
 *            depend on which calls are recorded: the digest leaves them out, and is the same
 *            whatever is written down.
 * Errors     A file that cannot be written ends the writing; the digest goes on.
 */
#ifndef DRYDOCK_BENCH_RUN_EVENTS_H
#define DRYDOCK_BENCH_RUN_EVENTS_H

#include "base/hash.h"
#include "bench/run/run_result.h"
#include "bench/run/run_calls.h"
#include "bench/run/run_record.h"
#include "trace/trace.h"

#include <stdio.h>

#define RUN_EVENT_LINE_BYTES 1024

struct run_event_log {
    struct machine *machine;
    struct run_record *record;
    struct hash hash;
    FILE *file; /* NULL: nothing is written */
    enum run_events level;
    uint64_t limit, byte_limit;
    uint64_t written, dropped, bytes; /* bytes in the file */
    char call[RUN_EVENT_LINE_BYTES];  /* level "paging": the call under way */
    struct run_calls calls;
    struct run_result *result; /* its steps are parts of the calls; hears what fails */
    uint32_t steps_noted;
};

/* Opens the files of the configuration, as far as it names any. False: one cannot be made. */
bool run_event_log_open(struct run_event_log *log, struct machine *machine,
                        struct run_record *record, const struct run_config *config,
                        struct run_result *result);

struct trace_sink run_event_log_sink(struct run_event_log *log);
/* The driver prints: a line among the recorded calls, and nothing of the digest. */
void run_event_log_print(struct run_event_log *log, const char *text);
/* The workload has ended. Calls that take everything down go only into the list of calls. */
void run_event_log_close(struct run_event_log *log);
/* Everything has been taken down. False: the list of calls could not be written. */
bool run_event_log_end(struct run_event_log *log);

#endif
