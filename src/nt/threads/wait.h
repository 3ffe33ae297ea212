/*
 * Waits of the threads that do not run.
 *
 * Place      nt, private: under the services that wait.
 * Model      A wait is kept here and not in the driver's objects, and lies on the stack of its
 *            thread. The wait that has lasted longest gets an object first.
 *
 *            A wait of the first thread that nothing can end any more is a deadlock: the host is
 *            told, and the run ends. So is one without a time-out that has lasted NT_ENDLESS_NS.
 * Units      Virtual nanoseconds.
 */
#ifndef DRYDOCK_NT_WAIT_H
#define DRYDOCK_NT_WAIT_H

#include "nt/nt.h"

#define NT_ENDLESS_NS UINT64_C(600000000000)

struct nt_thread;

/* Takes a lock for the thread if it can be had now. */
typedef bool nt_take(struct nt_thread *thread, void *lock, uint64_t argument);

/* For objects with a head (dispatcher.h). The time-out is that of KeWaitForMultipleObjects(). */
NTSTATUS nt_wait_for(struct nt *nt, const char *service, uint32_t count, void *const *objects,
                     bool is_all, const LARGE_INTEGER *timeout);

/* For locks: when it returns, the thread has the lock. The caller has looked at the IRQL. */
void nt_wait_to_take(struct nt *nt, const char *service, const char *what, void *lock,
                     nt_take *take, uint64_t argument);

/* The object is signalled, or the lock can be had. */
void nt_signal(struct nt *nt, void *object);

/* Lets time pass. */
NTSTATUS nt_sleep_for(struct nt *nt, const char *service, const LARGE_INTEGER *interval);

/* The wait of the thread, or that it has not ended. */
void nt_describe_thread(const struct nt_thread *thread, char *text, size_t size);

#endif
