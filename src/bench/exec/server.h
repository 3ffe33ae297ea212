/*
 * Server: client processes of one adapter.
 *
 * Place      bench. The guest of a run (bench/run/run.h), over session.h; speaks thunk/protocol.h.
 * Model      One thread. It takes messages of clients, and lets the machine run between them; when
 *            nothing is left to do it sleeps until a lane's bell or a socket says something
 *            (waiting.h). Each client process is a process of the front with a window of its own.
 *            A thread of a client has one call at a time, by its lane (lanes.h) or its socket; an
 *            answer that waits is kept until it comes.
 *
 *            A client is gone when its process has ended (pidfd) or its own connection is closed,
 *            in whatever state it was: its calls are cancelled, and everything of it goes. A
 *            message that is not well formed ends the connection that it came by.
 *
 *            The first program is started when the socket is there. The server ends when that has
 *            ended and no client is left, though there are NT handles: nobody could open them.
 *            An NT handle is a descriptor of a pipe (nt_handles.h), which a client gets with the
 *            answer to the call that gives it, and sends back with the calls that name it.
 * Ownership  exec_serve() owns all it makes.
 * Errors     exec_server.error says why nothing was served; a client's fault is never one.
 */
#ifndef DRYDOCK_BENCH_EXEC_SERVER_H
#define DRYDOCK_BENCH_EXEC_SERVER_H

#include "bench/exec/client_rules.h"
#include "bench/exec/session.h"
#include "bench/run/run_result.h"

#define EXEC_MOST_CLIENTS            256u /* at one time */
#define EXEC_MOST_CHANNELS           4096u
#define EXEC_MOST_CHANNELS_A_PROCESS 1024u
#define EXEC_MOST_SPIN_US            1000u

struct exec_server_config {
    const char *socket_path; /* where no file is; it is removed at the end */
    char *const *program;    /* its name and arguments, NULL at the end */
    const char *library_dir; /* where libdxcore.so is */
    const char *driver;      /* the image, of whose folder user mode is told; NULL: none */
    const char *record;      /* the case that is written; NULL: none */
    bool speaks_aside;       /* what the program prints goes to standard error */
    uint64_t spin_ns;        /* how long both sides look before they sleep (thunk/lane.h) */
    void (*log)(void *context, const char *text);
    void *log_context;
};

struct exec_server_counts {
    uint64_t clients, died; /* in all; those of them that had not closed everything */
    uint64_t messages, refused_messages;
    uint64_t lane_messages; /* of them, those that came by lanes */
    uint64_t looks;         /* at bells, before it slept: none unless spin_ns is set */
    uint64_t left_out;      /* commands that the GPU's model has not carried out */
    struct d3dkmt_statistics front;
};

/* A rule of clients that a process has broken, once told (client_rules.h). */
#define EXEC_MOST_BREACHES 256u
struct exec_breach {
    enum client_rule rule;
    unsigned process; /* by its place among all clients, from 1 */
    int pid;
    char text[256];
    struct finding_argument argument;
    char places[7][256]; /* of the call in the client, innermost first; "": no more are known */
};

struct exec_server {
    struct exec_server_config config;
    struct exec_session session;
    struct exec_server_counts counts;
    int program_status; /* as waitpid() gives it */
    bool has_started;
    /* What clients have broken; those behind the last that is kept are counted. */
    struct exec_breach breaches[EXEC_MOST_BREACHES];
    unsigned breach_count;
    uint64_t broken[CLIENT_RULE_COUNT];
    char error[256];
};

/* The run of a server, whole: config is completed, played and judged. */
enum run_outcome exec_serve(struct exec_server *server, const struct run_config *config,
                            struct run_result *out_result);

#endif
