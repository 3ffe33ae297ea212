/*
 * Run calls: the order of a run's calls, short enough to be read and compared.
 *
 * Place      bench. Fed by run_text.c with the calls of a record.
 * Model      One line a call, in the order in which they are made, with the fields that identify
 *            its subject: objects, segments, levels, flags, fence values; no address, no size of a
 *            buffer, no time. A line says how often it came in a row. A status other than success
 *            is a line of its own. Of the callbacks only interrupts are there; the routines that
 *            they run in are not.
 *
 *                # play                              a part of the run: start, play, a step, end
 *                BuildPagingBuffer FILL hAllocation=a1 Destination=1
 *                SubmitCommand hContext=c1 SubmissionFenceId=1 Flags=0x1
 *                NotifyInterrupt DMA_COMPLETED ...
 *
 *            This is the golden result of the cases under cases/sequences (scripts/sequences.sh).
 * Errors     A file that cannot be written ends the writing.
 */
#ifndef DRYDOCK_BENCH_RUN_CALLS_H
#define DRYDOCK_BENCH_RUN_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define RUN_CALLS_LINE_BYTES 512

struct run_calls {
    FILE *file; /* the caller's; NULL: nothing is written */
    uint32_t part_count;
    char line[RUN_CALLS_LINE_BYTES]; /* not written yet */
    uint64_t repeats;
};

void run_calls_begin_part(struct run_calls *calls, const char *name);
/* Whether such a call, or its end, has a line. */
bool run_calls_wants(const char *name, bool is_callback, bool is_after, uint64_t status);
/* Such a call, as the line of the trace. */
void run_calls_note(struct run_calls *calls, const char *line, bool is_after);
void run_calls_end(struct run_calls *calls);

#endif
