/*
 * Trace handles: small numbers for the pointers that a driver and the manager use as handles.
 *
 * Place      trace; used by the trace layer only.
 * Model      Handles of each kind are numbered from 1 as they are first asked for: a1, a2, c1. A
 *            handle keeps its number until it is forgotten; if the memory comes back as a new
 *            object, that gets a new number. So two runs with the same calls print the same
 *            numbers, whatever the allocator did, and a driver whose device 1 and allocation 1 are
 *            both the handle 1 has two objects here.
 *            A hash table with linear probing, at most half full.
 * Errors     A pointer for which there is no memory has no number (0). Nothing else is lost.
 */
#ifndef DRYDOCK_TRACE_HANDLES_H
#define DRYDOCK_TRACE_HANDLES_H

#include "base/services.h"

#include <stdint.h>

/* The kind is the letter before the number. */
enum trace_handle_kind {
    TRACE_HANDLE_ALLOCATION = 'a',
    TRACE_HANDLE_OPEN = 'o', /* of an allocation in a device */
    TRACE_HANDLE_DEVICE = 'd',
    TRACE_HANDLE_CONTEXT = 'c',
    TRACE_HANDLE_PROCESS = 'p',
    TRACE_HANDLE_OS_PROCESS = 'q', /* the system's handle of a process */
    TRACE_HANDLE_RESOURCE = 'r',
    TRACE_HANDLE_FENCE = 'f',
    TRACE_HANDLE_QUEUE = 'h' /* of hardware */
};

struct trace_handle_slot {
    const void *handle; /* NULL: free */
    enum trace_handle_kind kind;
    uint64_t number;
};

struct trace_handles {
    const struct base_services *services;
    struct trace_handle_slot *slots;
    size_t capacity; /* 0 or a power of two */
    size_t count;
    uint64_t last_numbers[26]; /* of each letter */
};

void trace_handles_init(struct trace_handles *handles, const struct base_services *services);
void trace_handles_fini(struct trace_handles *handles);

/* The number of the handle, a new one if it has none. 0: NULL, or no memory. */
uint64_t trace_handles_number(struct trace_handles *handles, enum trace_handle_kind kind,
                              const void *handle);

/* The handle is dead; nothing if it has no number. Never allocates. */
void trace_handles_forget(struct trace_handles *handles, enum trace_handle_kind kind,
                          const void *handle);

#endif
