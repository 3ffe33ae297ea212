/*
 * Threads: made, and ended.
 *
 * Place      nt, private: for the services of threads, and for work items, which threads of the
 *            bench serve.
 * Ownership  The object has one reference, the running thread's own.
 */
#ifndef DRYDOCK_NT_THREAD_H
#define DRYDOCK_NT_THREAD_H

#include "nt/threads/scheduler.h"

/* The thread runs start, a function of the driver, or bench_main; the other one is NULL. */
NTSTATUS nt_thread_create(struct nt *nt, const void *start, void (*bench_main)(void *context),
                          void *context, struct nt_thread **out_thread);

#endif
