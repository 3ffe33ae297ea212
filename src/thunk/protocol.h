/*
 * Protocol: what libdxcore.so and the server of its clients say beside calls.
 *
 * Place      thunk.
 * Model      A Unix stream socket, whose path the client finds in DRYDOCK_SERVER. The client's
 *            process has one connection for itself, which stays for as long as it lives, and one
 *            for each of its threads that makes calls. On each there is one message at a time, each
 *            with its answer: a struct thunk_header, and behind it
 *
 *            | message         | from the client               | answer                        |
 *            | PROTOCOL_JOIN   | struct protocol_join          | struct protocol_joined; with  |
 *            |                 |                               | the window's file             |
 *            | PROTOCOL_WINDOW | struct protocol_window; with  | the header alone              |
 *            |                 | /proc/self/mem, open for both |                               |
 *            | PROTOCOL_LANES  | the header alone              | the header alone; with the    |
 *            |                 |                               | lanes' file (lane.h). Status  |
 *            |                 |                               | NOT_SUPPORTED: there are none |
 *            | PROTOCOL_THREAD | struct protocol_thread        | the header alone              |
 *            | PROTOCOL_VIEW   | struct protocol_view          | struct protocol_viewed; with  |
 *            |                 |                               | the file that is to be mapped |
 *            |                 |                               | there. Status NOT_FOUND: none |
 *            | D3DKMT_FN_*     | as thunk.h says; an NT handle | as thunk.h says; the NT       |
 *            |                 | of it goes with the message   | handle that it gives with it  |
 *
 *            A process begins with JOIN and WINDOW, and may go on with LANES; a thread's connection
 *            begins with THREAD. Files go along as SCM_RIGHTS. Where there are lanes, calls go
 *            through those, and threads need connections only for what has a file beside it.
 * Errors     Who sends something else is disconnected: a thread's connection alone, or the process.
 */
#ifndef DRYDOCK_THUNK_PROTOCOL_H
#define DRYDOCK_THUNK_PROTOCOL_H

#include "thunk/thunk.h"

#define PROTOCOL_VARIABLE "DRYDOCK_SERVER"
#define PROTOCOL_VERSION  5u

#define PROTOCOL_JOIN   0x10000u
#define PROTOCOL_WINDOW 0x10001u
#define PROTOCOL_THREAD 0x10002u
#define PROTOCOL_LANES  0x10003u
#define PROTOCOL_VIEW   0x10004u

struct protocol_join {
    uint32_t version, reserved;
};

struct protocol_joined {
    uint64_t token; /* which threads of the process name it by */
    uint64_t window_bytes;
    uint64_t views_start; /* from there on the window is for views: files that others have, too */
    uint32_t luid_low;
    int32_t luid_high;
    uint32_t vendor, device, subsystem, revision; /* of the board's PCI function */
    char description[64];
    uint64_t spin_ns; /* how long a thread looks before it sleeps (lane.h); 0: not at all */
};

struct protocol_window {
    uint64_t base; /* where the client has mapped it */
};

struct protocol_thread {
    uint64_t token;
};

/* At an address in the window's last part that a call has given: what is to be mapped there. */
struct protocol_view {
    uint64_t address;
};
struct protocol_viewed {
    uint64_t bytes;
};

#endif
