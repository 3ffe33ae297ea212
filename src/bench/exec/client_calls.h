/*
 * Client calls: the calls of client processes, as items of the run's record (docs/record.md).
 *
 * Place      bench. A session has one, and tells it of each call (session.h).
 * Model      A call is an item with its arguments when it is made, and another one with its answers
 *            when it has ended; a rule that it breaks is an item in between. Before the first
 *            call of a process the process is named by its program and pid: "copytest (pid 4711)".
 *            The numbers of processes are those of the other items of the record.
 * Ownership  Embedded by the session. The board's record is borrowed.
 * Errors     A run that is not recorded has no items, and every function does nothing then. Without
 *            memory a call is left out, and the record goes on.
 */
#ifndef DRYDOCK_BENCH_EXEC_CLIENT_CALLS_H
#define DRYDOCK_BENCH_EXEC_CLIENT_CALLS_H

#include "bench/run/run.h"
#include "check/report/finding.h"
#include "d3dkmt/d3dkmt.h"

struct client_calls_process;
struct client_calls_open;

struct client_calls {
    struct run_record_manager *record; /* NULL: the run is not recorded */
    uint64_t count;                    /* calls so far */
    struct client_calls_process *processes;
    size_t process_count, process_room;
    struct client_calls_open *open; /* calls that have not ended */
    size_t open_count, open_room;
    struct record_client_call_group *values; /* of the call that is written */
    size_t value_count, value_room;
};

/* Texts of a rule that is broken (client_rules.h). */
struct client_calls_rule {
    const char *id, *says; /* "KMT-003", and the rule in words */
    const char *text;      /* "D3DKMTEvict: a3 has 1 references, and gives up 2" */
    const struct finding_argument *argument;
    const char *place; /* in the client; "": not known */
    bool is_advice;
};

void client_calls_init(struct client_calls *calls, const struct run_board *board);
void client_calls_fini(struct client_calls *calls);

/* The client is a struct client_memory. A call that waits ends later, or when its process does. */
void client_calls_made(struct client_calls *calls, const void *client,
                       const struct d3dkmt_call *call);
void client_calls_ended(struct client_calls *calls, const struct d3dkmt_call *call);
/* A rule of data/d3dkmt/contract.md is broken, by the call that was made last, or (NULL) by none.
 */
void client_calls_breach(struct client_calls *calls, const void *client,
                         const struct d3dkmt_call *call, const struct client_calls_rule *rule);
void client_calls_closed(struct client_calls *calls, const void *client);

#endif
