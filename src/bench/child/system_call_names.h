/*
 * Names of system calls, for people who read of one that was refused.
 *
 * Place      bench; a leaf.
 * Errors     A number without a name gives NULL.
 */
#ifndef DRYDOCK_BENCH_SYSTEM_CALL_NAMES_H
#define DRYDOCK_BENCH_SYSTEM_CALL_NAMES_H

/* By the number of the x86-64 convention. */
const char *system_call_name(int number);

#endif
