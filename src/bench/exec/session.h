/*
 * Session: the front of the thunk functions on the machine of a run, and what lets time pass.
 *
 * Place      bench. Between a guest of a run (bench/run/run.h) and who makes the calls: a server of
 *            client processes (server.h), a test.
 * Model      exec_step() does one thing: it takes the calls further, or lets the machine run to its
 *            next event. Virtual time goes as fast as it can. The manager's watchdog looks at it
 *            as often as packets may time out.
 * Ownership  Embedded by the guest, between exec_session_open() and exec_session_close().
 */
#ifndef DRYDOCK_BENCH_EXEC_SESSION_H
#define DRYDOCK_BENCH_EXEC_SESSION_H

#include "bench/board/client_memory.h"
#include "bench/exec/client_calls.h"
#include "bench/run/run.h"
#include "clients/seen.h"
#include "d3dkmt/d3dkmt.h"

struct client_rules;
struct recorder_case;

struct exec_session {
    const struct run_board *board;
    struct d3dkmt *front;
    char store[1024]; /* where the driver's files are; "": nowhere */
    uint64_t next_watch_ns;
    uint64_t secret;     /* the guest's, of struct d3dkmt_config */
    unsigned most_files; /* the same */
    /* Of struct d3dkmt_board, with this session; NULL: the host's clocks. */
    int64_t (*now)(const struct exec_session *session, enum d3dkmt_clock clock);
    struct client_calls calls; /* in the run's record */
    /* The guest's, set before the session is opened: who hears of calls; NULL: nobody. */
    struct seen *seen;
    struct recorder_case *recorder; /* needs seen */
    struct client_rules *rules;     /* the same */
    /* The same: of struct d3dkmt_board; NULL: none. */
    void (*notify)(void *session, void *client, unsigned number, uint32_t flags, uint64_t bytes);
};

/* The one adapter that there is. */
#define EXEC_LUID_LOW  0xd0ccu
#define EXEC_LUID_HIGH 0

/* Memory of the board's clients, and packets of its GPU. */
struct seen_source exec_session_source(const struct run_board *board);

NTSTATUS exec_session_open(struct exec_session *session, const struct run_board *board);
/* Every process is closed. Lets the machine run until all of them are gone. */
void exec_session_close(struct exec_session *session);

/* False: nothing is left that could happen before somebody calls. */
bool exec_step(struct exec_session *session);

/* For struct run_guest: context is the session. */
void exec_device_error(void *session, struct vidmm_device *device);
void exec_trim(void *session, struct vidmm_process *process, enum vidmm_budget_group group,
               uint64_t bytes);

#endif
