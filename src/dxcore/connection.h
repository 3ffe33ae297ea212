/*
 * Connection: this process's way to the server of thunk calls.
 *
 * Place      dxcore, the library that applications load as libdxcore.so. It stands in processes of
 *            others: it keeps no lock while it touches memory of theirs, handles no signal, starts
 *            no thread (but notices.h and events.h), prints nothing unless DRYDOCK_VERBOSE is set.
 * Model      The first call joins: a connection for the process, the window and the lanes mapped.
 *            Each thread has a lane (thunk/lane.h) or, where there is none or a message is too
 *            large for it, a connection of its own: a call that waits holds nobody up, and a call
 *            from a fault handler amid the program's code is like any other. A child of
 *            fork() joins anew. With DRYDOCK_NO_LANES set everything goes by connections.
 * Errors     NTSTATUS: STATUS_DEVICE_REMOVED when there is no server, or it is gone.
 */
#ifndef DRYDOCK_DXCORE_CONNECTION_H
#define DRYDOCK_DXCORE_CONNECTION_H

#include "thunk/protocol.h"

struct lane_board;

/* What the server has told of itself; NULL: there is none. */
const struct protocol_joined *connection_join(void);

/* The board of the lanes; NULL: there are none. */
struct lane_board *connection_lanes(void);

/* Descriptors beside a call: given goes along, and stays the caller's; taken is the caller's. */
struct connection_files {
    int given, taken; /* -1: none */
};
/* The same by the thread's connection, which files can go along with. */
NTSTATUS connection_call_with(unsigned function, void *arguments, struct connection_files *files);

/*
 * The thread waits for most of its life: it leaves half of the lanes to those that do not. It has
 * what its calls go by from here on; false: there is nothing, with a server that is there.
 */
bool connection_stand_back(void);

/* True: the address is in the part of the window that is for views. */
bool connection_is_view(uint64_t address);
/* What is to be mapped there; the file is the caller's. False: there is no such view. */
bool connection_ask_view(uint64_t address, uint64_t *out_bytes, int *out_file);

/* One call, with its answer taken. caller: where in the program it came from, or NULL. */
NTSTATUS connection_call(unsigned function, void *arguments, const void *caller);

#endif
