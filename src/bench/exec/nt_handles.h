/*
 * NT handles of clients: descriptors that name objects of the front.
 *
 * Place      bench. Used by server.c, over waiting.h; knows neither clients nor messages.
 * Model      What a client has is the writing end of a pipe, whose reading end is here.
 *
 *            A pipe, because the kernel says when the last copy of the other end is closed,
 *            wherever copies have gone; because nothing that anybody does with an end looks like
 *            that from here, as with a socket, which can be shut down; and because no other file of
 *            a client has its number. That number is read from /proc/self/fd, which asks nothing of
 *            the file, and what a client hands in may be one of a file system that never answers.
 *
 *            Each process has NT_HANDLES_SURE, which nobody else can take from it. Beyond those are
 *            so many spare ones for all together, of which a process has NT_HANDLES_MOST_A_PROCESS
 *            with its own. A handle counts for the process that was given it, for as long as a copy
 *            is open anywhere; processes that begin and end again and again, and leave theirs to
 *            others, are not held back by that.
 * Ownership  Embedded. An object that was given an NT handle, or could not be, is let go by
 *            d3dkmt_nt_handle_closed(), once.
 */
#ifndef DRYDOCK_BENCH_EXEC_NT_HANDLES_H
#define DRYDOCK_BENCH_EXEC_NT_HANDLES_H

#include "base/list.h"
#include "bench/exec/waiting.h"
#include "d3dkmt/d3dkmt.h"

#include <sys/types.h>

#define NT_HANDLES_SURE           32u
#define NT_HANDLES_MOST_A_PROCESS 4096u
#define NT_HANDLES_CHAINS         1024u

struct nt_handles {
    struct waiting *waiting;
    unsigned kind; /* of their sources */
    struct d3dkmt *front;
    struct list chains[NT_HANDLES_CHAINS]; /* of handles, by the numbers of their pipes */
    struct list owners;                    /* processes that have been given some */
    unsigned spare, most_spare;            /* handles that are none of the sure ones */
};

void nt_handles_init(struct nt_handles *handles, struct waiting *waiting, unsigned kind,
                     struct d3dkmt *front, unsigned most_spare);

/*
 * The client's end, for the process that has shared the object; -1: there can be no more, and the
 * front is not told.
 */
int nt_handles_give(struct nt_handles *handles, pid_t pid, uint64_t object);
/* What the file names; 0: nothing. */
uint64_t nt_handles_find(const struct nt_handles *handles, int file);

/* Nobody has a copy of it any more: its source has said so. */
void nt_handles_end(struct nt_handles *handles, struct waiting_source *source);
void nt_handles_end_all(struct nt_handles *handles);

#endif
