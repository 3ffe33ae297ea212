/*
 * Connection: this process's way to the server of thunk calls.
 *
 * Place      dxcore, the library that applications load as libdxcore.so. It stands in processes of
 *            others: it keeps no lock while it touches memory of theirs, handles no signal, starts
 *            no thread, prints nothing unless DRYDOCK_VERBOSE is set.
 * Model      The first call joins: a connection for the process, and the window mapped. Each thread
 *            gets a connection of its own at its first call, so that a call that waits holds
 *            nobody up, and a call from a fault handler in the middle of the program's code is like
 *            any other. A child of fork() joins anew.
 * Errors     NTSTATUS: STATUS_DEVICE_REMOVED when there is no server, or it is gone.
 */
#ifndef DRYDOCK_DXCORE_CONNECTION_H
#define DRYDOCK_DXCORE_CONNECTION_H

#include "thunk/protocol.h"

/* What the server has told of itself; NULL: there is none. */
const struct protocol_joined *connection_join(void);

/* One call, with its answer taken. */
NTSTATUS connection_call(unsigned function, void *arguments);

#endif
