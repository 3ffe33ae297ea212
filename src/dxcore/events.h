/*
 * Events: waits of the CPU that set an event in place of holding the caller up (hAsyncEvent), CPU
 * notifications (CPUNotification.Event), and signals that set one (EnqueueCpuEvent).
 *
 * Place      dxcore, private.
 * Model      An event is an eventfd() of the program's. The library keeps its own descriptor of it,
 *            so that the program may close its one. The server enters the wait before the call
 *            returns (D3DKMT_MOST_EVENTS in d3dkmt.h); where the values are not reached
 *            already, a thread of the library's, which was there before, waits for its end and then
 *            adds 1 to the event; a thread that has nothing to do is kept for the next one. A
 *            wait whose fence is destroyed meanwhile sets nothing; a server that is gone sets every
 *            event. A CPU notification has a thread for as long as it lives, which adds 1 for each
 *            signal whose turn has come; an event of EnqueueCpuEvent has one until then. A child of
 *            fork() has none of these threads.
 * Errors     NTSTATUS. STATUS_INVALID_HANDLE: there is no such descriptor, or it is no eventfd.
 *            STATUS_NO_MEMORY: no thread can start, or there are D3DKMT_MOST_EVENTS already.
 * Limits     These threads have at most half of the lanes; the others use sockets.
 * Source     D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU; that an event of Linux is an eventfd() is
 *            how the kernel driver of WSL has it. D3DDDI_SYNCHRONIZATIONOBJECTINFO2,
 *            D3DDDICB_SIGNALFLAGS.
 */
#ifndef DRYDOCK_DXCORE_EVENTS_H
#define DRYDOCK_DXCORE_EVENTS_H

#include <d3dkmthk.h>

/* The call, with hAsyncEvent; caller is as in connection_call(). */
NTSTATUS events_wait(const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *arguments,
                     const void *caller);

/* The creation of a CPU notification. */
NTSTATUS events_notify(D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *arguments, const void *caller);

/* Signals with EnqueueCpuEvent. */
NTSTATUS events_enqueue(const D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 *arguments, const void *caller);
NTSTATUS events_enqueue_from_gpu(const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *arguments,
                                 const void *caller);

#endif
