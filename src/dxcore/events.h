/*
 * Events: waits of the CPU that set an event in place of holding the caller up (hAsyncEvent).
 *
 * Place      dxcore, private.
 * Model      An event is a file descriptor of the program's that takes a number of eight bytes, an
 *            eventfd() as a rule. The library keeps its own descriptor of it, so that the program
 *            may close its one. Each such wait that is not satisfied already has a thread, which
 *            waits like any other and then adds 1 to the event. A wait that fails meanwhile, for
 *            its fence is destroyed, sets nothing. A child of fork() has none of these waits.
 * Errors     NTSTATUS. STATUS_INVALID_HANDLE: there is no such descriptor. STATUS_NO_MEMORY.
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
