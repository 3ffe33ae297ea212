/*
 * Notices to trim: callbacks that the program has registered.
 *
 * Place      dxcore. The thunks of D3DKMTRegisterTrimNotification and its counterpart stand on it.
 * Model      The server writes notices into the board of the lanes (thunk/lane.h). A thread, which
 *            is started with the first registration, waits for them and calls back. Notices that
 *            come while a callback runs are one notice, with the newest numbers.
 *            notices_end() returns when the callback does not run any more, unless it is called
 *            from that callback.
 * Errors     STATUS_NOT_SUPPORTED: the connection has no lanes. STATUS_NO_MEMORY: no thread.
 */
#ifndef DRYDOCK_DXCORE_NOTICES_H
#define DRYDOCK_DXCORE_NOTICES_H

#include "dxcore/connection.h"

NTSTATUS notices_begin(D3DKMT_REGISTERTRIMNOTIFICATION *arguments);
NTSTATUS notices_end(D3DKMT_UNREGISTERTRIMNOTIFICATION *arguments);

#endif
