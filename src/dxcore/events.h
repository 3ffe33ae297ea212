/*
 * Events: waits of the CPU that set an event in place of holding the caller up (hAsyncEvent).
 *
 * Place      dxcore, private.
 * Model      An event is an eventfd() of the program's. The library keeps its own descriptor of it,
 *            so that the program may close its one. The server enters the wait before the call
 *            returns (D3DKMT_MOST_EVENT_WAITS in d3dkmt.h); where the values are not reached
 *            already, a thread of the library's waits for its end and then adds 1 to the event. A
 *            wait whose fence is destroyed meanwhile sets nothing; a server that is gone sets every
 *            event. A child of fork() has none of these waits.
 * Errors     NTSTATUS. STATUS_INVALID_HANDLE: there is no such descriptor, or it is no eventfd.
 *            STATUS_NO_MEMORY, which more than D3DKMT_MOST_EVENT_WAITS is, too.
 * Source     D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU; that an event of Linux is an eventfd() is
 *            how the kernel driver of WSL has it.
 */
#ifndef DRYDOCK_DXCORE_EVENTS_H
#define DRYDOCK_DXCORE_EVENTS_H

#include <d3dkmthk.h>

/* The call, with hAsyncEvent; caller is as in connection_call(). */
NTSTATUS events_wait(const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *arguments,
                     const void *caller);

#endif
