/*
 * Run events: the calls of a run, hashed for its digest and handed to its record.
 *
 * Place      bench. The sink of the trace layer.
 * Model      Every event enters the digest. A call of DxgkDdiBuildPagingBuffer that wrote commands
 *            enters with its operation, status and those bytes; any other event as the line that
 *            describes it, which has no host pointer and no time in it. Handles are numbered as
 *            they are first shown, and that of each object in the call that makes it: the digest is
 *            the same whether the run is recorded or not.
 */
#ifndef DRYDOCK_BENCH_RECORD_RUN_EVENTS_H
#define DRYDOCK_BENCH_RECORD_RUN_EVENTS_H

#include "base/hash.h"
#include "bench/record/run_record.h"
#include "bench/run/run_result.h"
#include "trace/trace.h"

#define RUN_EVENT_LINE_BYTES 1024

struct run_event_log {
    struct run_record *record;
    struct hash hash;
    struct run_result *result; /* hears what fails */
};

void run_event_log_begin(struct run_event_log *log, struct run_record *record,
                         struct run_result *result);
struct trace_sink run_event_log_sink(struct run_event_log *log);

#endif
