/*
 * Recorder: the calls of client processes as a case (docs/case-format.md).
 *
 * Place      bench. Over seen.h; given to a session, which tells it of each call.
 * Model      A line for what has an effect on memory, in the order in which the manager gets to
 *            know of it: allocations, residency, offers, priorities, submissions with what their
 *            packets read and write, waits. A submission is a line when the front hands it over,
 *            which is later than its call where a fence holds it up, or another process has the
 *            memory; what it names is freed behind it. What the CPU has written is found when the
 *            GPU is about to read it, by its content: a `write` line has the content's hash as its
 *            key, and what the GPU copies keeps its key, so that the case, played without the
 *            client, checks every byte against the name of what the client had there. What the GPU
 *            has written to memory that the CPU sees is read, by a `read` line, before it ends or
 *            is written anew.
 *
 *            Where contexts are ordered by a fence, or by a client that looks at one, the case has
 *            a `wait` line.
 * Ownership  recorder_case_create() gives it; all lines are kept until recorder_case_write().
 * Errors     Packets of another GPU, batches that cannot be read: a `note` line says so, once, and
 *            the submission has no references. recorder_case_write(): false, with a
 *            sentence.
 */
#ifndef DRYDOCK_BENCH_EXEC_RECORDER_H
#define DRYDOCK_BENCH_EXEC_RECORDER_H

#include "bench/exec/seen.h"

#include <stdio.h>

struct recorder_case;

/* NULL: no memory. */
struct recorder_case *recorder_case_create(struct seen *seen);
void recorder_case_destroy(struct recorder_case *recorder);

/* A call is about to be made. */
void recorder_case_called(struct recorder_case *recorder, void *client,
                          const struct d3dkmt_call *call);
/* Before seen_ended() and behind it; the process is about to be forgotten. */
void recorder_case_before(struct recorder_case *recorder, void *client,
                          const struct d3dkmt_call *call);
void recorder_case_behind(struct recorder_case *recorder, void *client,
                          const struct d3dkmt_call *call);
void recorder_case_closed(struct recorder_case *recorder, void *client);

/* What the front does with the manager: residency, as it comes and goes. */
void recorder_case_deed(struct recorder_case *recorder, const struct vidmm *vidmm,
                        const struct d3dkmt_deed *deed);

struct recorder_board {
    const char *title;
    uint64_t local_bytes, system_bytes, seed;
};
bool recorder_case_write(struct recorder_case *recorder, const char *path,
                         const struct recorder_board *board, char error[256]);

#endif
