/*
 * Named file: what a user, or a file of somebody else, names to be read or written.
 *
 * Place      workload; whoever opens a file by a name that it was given.
 * Model      A name may be that of a pipe, and whoever opens one is held up until somebody opens
 *            its other end. Here it is a failure when nobody has within NAMED_FILE_SECONDS. Where
 *            the other end is open, whoever has it may take its time, as with any pipe.
 * Ownership  The stream is the caller's.
 * Errors     NULL, and errno says why: EPIPE when the other end of a pipe was not opened.
 */
#ifndef DRYDOCK_WORKLOAD_NAMED_FILE_H
#define DRYDOCK_WORKLOAD_NAMED_FILE_H

#include <stdio.h>

#define NAMED_FILE_SECONDS 5u

/* mode: "r" or "w", with "b" or without it. What is written is made empty first. */
FILE *named_file_open(const char *path, const char *mode);

/* strerror(), but for a pipe at whose other end nobody is. */
const char *named_file_reason(int error);

#endif
