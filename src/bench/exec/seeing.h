/*
 * Seeing: what a server keeps of what its clients do, their record and the rules that they break.
 *
 * Place      bench. Used by server.c around a session.
 */
#ifndef DRYDOCK_BENCH_EXEC_SEEING_H
#define DRYDOCK_BENCH_EXEC_SEEING_H

#include "bench/exec/server.h"

/* Before the session is opened; seen is lent until the end. */
void exec_begin_seeing(struct exec_server *shared, struct seen *seen,
                       const struct run_board *board);
/* Writes the record, where one is wanted; shared->error says why there is none. */
void exec_end_seeing(struct exec_server *shared, const struct run_board *board);

#endif
