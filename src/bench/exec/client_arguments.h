/*
 * Client arguments: the values in a call of the thunk interface, each with its path.
 *
 * Place      bench. Over the table of lists (thunk/thunk.h) and that of layouts
 *            (d3dkmt/layout_rows.inc); used by client_calls.c.
 * Model      "NumAllocations" 2, "AllocationList[0]" 0x40000001, "pAllocationInfo2[0].hAllocation":
 *            the members of the structure, and the elements of the lists that it leads to. Left
 *            out: pointers, bytes of private data, and elements from CLIENT_ARGUMENTS_MOST on.
 * Ownership  A name is lent for the call of the visitor.
 */
#ifndef DRYDOCK_BENCH_EXEC_CLIENT_ARGUMENTS_H
#define DRYDOCK_BENCH_EXEC_CLIENT_ARGUMENTS_H

#include "thunk/thunk.h"

#define CLIENT_ARGUMENTS_MOST 16u

struct client_arguments_visitor {
    void (*value)(void *context, const char *name, uint64_t value);
    void *context;
};

/* All that the call was given. */
void client_arguments_given(enum d3dkmt_function function, const void *arguments,
                            const struct client_arguments_visitor *visitor);

/*
 * What it gave back: members that are others than before, a copy of thunk_structure_bytes(), and
 * the lists that go out.
 */
void client_arguments_answered(enum d3dkmt_function function, const void *arguments,
                               const void *before, const struct client_arguments_visitor *visitor);

#endif
