/*
 * Boundary thunks: functions that are written while the program runs. Each leads to the code that
 * passes from one stack to the other, and says which function is meant.
 *
 * Place      nt, used by boundary.c.
 * Model      A thunk has a function in r10 and jumps to the code that is common to all of its kind.
 *            Memory that a thunk is in can be written or run, never both.
 * Ownership  boundary_thunks_init() works in the caller's memory; the thunks live until
 *            boundary_thunks_fini().
 * Errors     NULL: no memory.
 */
#ifndef DRYDOCK_NT_BOUNDARY_THUNKS_H
#define DRYDOCK_NT_BOUNDARY_THUNKS_H

#include "base/list.h"
#include "base/services.h"

#include <stdint.h>

struct boundary_thunk;

struct boundary_thunks {
    const struct base_services *services;
    struct list chunks;
    struct boundary_thunk *slots; /* by hash, open addressing, never full */
    uint32_t slot_count, used;
};

void boundary_thunks_init(struct boundary_thunks *thunks, const struct base_services *services);
void boundary_thunks_fini(struct boundary_thunks *thunks);

/* The same for the same function and the same code. NULL for NULL. */
void *boundary_thunks_of(struct boundary_thunks *thunks, const void *function, const void *common);

/* A new one, which has context in rcx, too: the first argument. */
void *boundary_thunks_closure(struct boundary_thunks *thunks, const void *function,
                              const void *common, const void *context);

/* The function of a thunk; NULL: it is none of these. */
const void *boundary_thunks_target(const struct boundary_thunks *thunks, const void *thunk);

#endif
