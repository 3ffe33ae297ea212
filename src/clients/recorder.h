/*
 * Recorder: the calls of client processes as a case (docs/case-format.md).
 *
 * Place      clients. Over seen.h; whoever answers the calls tells it of each.
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
 *
 *            What several processes have opened is one allocation of the case, `shared`, and a
 *            fence of theirs orders their contexts as any fence does. It is freed when the last of
 *            them has closed it.
 *
 *            What goes to a hardware queue is its context's, as in the case: there each context
 *            of such a board has a queue, from its beginning to its end. Further queues of a
 *            context are contexts of the case.
 * Ownership  recorder_case_create() gives it; all lines are kept until recorder_case_write().
 * Errors     Packets of another GPU, batches that cannot be read: a `note` line says so, once, and
 *            the submission has no references. The same of a resource that is opened when only an
 *            NT handle has kept it.
 */
#ifndef DRYDOCK_CLIENTS_RECORDER_H
#define DRYDOCK_CLIENTS_RECORDER_H

#include "clients/seen.h"

#include <stdio.h>

struct recorder_case;

/* NULL: no memory. */
struct recorder_case *recorder_case_create(struct seen *seen);
void recorder_case_destroy(struct recorder_case *recorder);

/* A call is about to be made. */
void recorder_case_called(struct recorder_case *recorder, void *client,
                          const struct client_call *call);
/* Before seen_ended() and behind it; the process is about to be forgotten. */
void recorder_case_before(struct recorder_case *recorder, void *client,
                          const struct client_call *call);
void recorder_case_behind(struct recorder_case *recorder, void *client,
                          const struct client_call *call);
void recorder_case_closed(struct recorder_case *recorder, void *client);

/* An allocation of the call that is being made, in the order of the call. */
struct recorder_created {
    uint64_t bytes;      /* 0: as its data says, or as much of it as will be mapped */
    bool first_is_local; /* the segment that its driver prefers is local memory */
    bool has_second, second_is_local;
    bool is_visible; /* the CPU may see it, wherever it is */
};
void recorder_case_created(struct recorder_case *recorder, const struct recorder_created *created);

/*
 * References of the manager's to residency: the first and the last of an allocation are lines.
 * Allocations of one call are one line: begun at the first one of them, ended by an end.
 */
void recorder_case_refer(struct recorder_case *recorder, void *client, D3DKMT_HANDLE allocation,
                         bool is_gain);
void recorder_case_end_refer(struct recorder_case *recorder);
/* The oldest submission of the context, and what stood in front of it, is the manager's. */
void recorder_case_handed_over(struct recorder_case *recorder, void *client, D3DKMT_HANDLE context);

struct recorder_board {
    const char *title;
    uint64_t local_bytes, system_bytes, seed;
    bool has_hw_queues; /* also for contexts whose clients have made none */
};
/* False: the file is not whole, for which seen->is_lost, no memory, is the reason, or errno. */
bool recorder_case_write(struct recorder_case *recorder, FILE *file,
                         const struct recorder_board *board);

#endif
