/*
 * Waiting: one thread of a server that sleeps until a socket or a client's bell says something.
 *
 * Place      bench. Used by server.c; knows neither clients nor messages.
 * Model      Sockets are watched by epoll, bells (thunk/lane.h) by futex_waitv(), which cannot wait
 *            for sockets. So a helper thread waits for sockets and rings a bell of the server's
 *            own; it looks again when the server has dealt with what there was. While there are no
 *            bells, and where the system has no futex_waitv() (before Linux 5.16), the server waits
 *            for sockets itself.
 * Ownership  Embedded. Sources are borrowed until waiting_remove().
 * Threads    All functions belong to the one thread of the server.
 */
#ifndef DRYDOCK_BENCH_EXEC_WAITING_H
#define DRYDOCK_BENCH_EXEC_WAITING_H

#include "thunk/lane.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The system waits for at most 128 words at once; one is the server's. */
#define WAITING_MOST_BELLS 127u
#define WAITING_MOST_READY 64u

/* Something with a file; embedded. */
struct waiting_source {
    unsigned kind; /* the user's */
    int file;
    uint32_t events; /* EPOLLIN, EPOLLOUT; 0: errors and ends only */
    bool is_watched;
};

struct waiting {
    int epoll, stop; /* stop: an event that ends the helper */
    bool has_helper;
    pthread_t helper;
    struct lane_bell bell;  /* the helper's */
    _Atomic uint32_t ready; /* 1: sockets have something, and the helper waits for the server */
    _Atomic bool stops;
    /* Bells of clients, each with what it showed when the server looked last. */
    struct lane_bell *bells[WAITING_MOST_BELLS];
    uint32_t seen[WAITING_MOST_BELLS], seen_own;
    unsigned bell_count;
    uint64_t spin_ns; /* how long the server looks at bells before it sleeps */
    struct lane_patience patience;
};

struct waiting_ready {
    struct waiting_source *source;
    uint32_t events;
};

/* spin_ns: 0: it sleeps at once. */
bool waiting_open(struct waiting *waiting, uint64_t spin_ns);
void waiting_close(struct waiting *waiting);

bool waiting_add(struct waiting *waiting, struct waiting_source *source);
/* events have changed. */
void waiting_change(struct waiting *waiting, struct waiting_source *source, uint32_t events);
void waiting_remove(struct waiting *waiting, struct waiting_source *source);

/* True: clients may have bells. */
bool waiting_has_bells(const struct waiting *waiting);
/* False: there are too many. */
bool waiting_add_bell(struct waiting *waiting, struct lane_bell *bell);
void waiting_remove_bell(struct waiting *waiting, struct lane_bell *bell);

/*
 * What is said from here on ends the next sleep: call it, then look at lanes and sockets, then
 * sleep.
 */
void waiting_look(struct waiting *waiting);
/* Sockets that have something; without a system call when there are none. */
unsigned waiting_take(struct waiting *waiting, struct waiting_ready ready[WAITING_MOST_READY]);
/* Until something has been said since waiting_look(), or so long; 0: for ever. */
void waiting_sleep(struct waiting *waiting, uint64_t most_ns);

#endif
