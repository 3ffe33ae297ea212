/*
 * Lanes of one client, as the server sees them (thunk/lane.h).
 *
 * Place      bench. Used by server.c.
 * Model      lanes_serve() takes each call that has come, makes it, and answers; a call that waits
 *            is answered when it ends. Each lane has one call at a time: what the client writes
 *            meanwhile is not looked at.
 * Ownership  lanes_create() gives it. The process must be closed (its calls have ended) before
 *            lanes_destroy().
 * Errors     Nothing of the client's is believed: a message that is not well formed is answered
 *            with a bare header that says STATUS_INVALID_PARAMETER, and counted.
 */
#ifndef DRYDOCK_BENCH_EXEC_LANES_H
#define DRYDOCK_BENCH_EXEC_LANES_H

#include "d3dkmt/d3dkmt.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lanes;
struct lane_bell;

struct lanes_counts {
    uint64_t messages, refused;
};

/* NULL: no memory. */
struct lanes *lanes_create(struct d3dkmt_process *process);
void lanes_destroy(struct lanes *lanes); /* NULL is fine */
/* For the client to map; and what it rings. */
int lanes_file(const struct lanes *lanes);
struct lane_bell *lanes_bell(const struct lanes *lanes);
/* A notice to trim, of a registration below D3DKMT_MOST_TRIM_NOTICES. */
void lanes_notify(struct lanes *lanes, unsigned number, uint32_t flags, uint64_t bytes);
/* True: there was a call. */
bool lanes_serve(struct lanes *lanes, struct lanes_counts *counts);

#endif
