/*
 * Passing: this library stands before another libdxcore.so, which answers, and records what passes.
 *
 * Place      dxcore. On where the environment has DRYDOCK_PASS, the path of the other library; the
 *            record, a case, is written to DRYDOCK_RECORD when the process ends (exit()).
 * Model      Calls go to the other library as they are, from the thread that makes them. What the
 *            GPU does with packets is read where they are the Drydock GPU's; of another one the
 *            case has allocations, residency and submissions, and sizes as far as they are mapped.
 * Errors     A library that cannot be opened, or lacks a function: STATUS_NOT_SUPPORTED, and a word
 *            on standard error. A process made by fork() passes, and records nothing.
 */
#ifndef DRYDOCK_DXCORE_PASSING_H
#define DRYDOCK_DXCORE_PASSING_H

#include "thunk/thunk.h"

#include <stdbool.h>

bool passing_is_on(void);
NTSTATUS passing_call(unsigned function, void *arguments);
/* A function of the other library by its name; NULL: it has none. */
void *passing_symbol(const char *name);

#endif
