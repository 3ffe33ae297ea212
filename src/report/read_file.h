/*
 * Read file: the whole of a small file, of a size that the reader says.
 *
 * Place      report; also for cli. Cases and traces, which may be packed, are workload/file.h's.
 * Ownership  The text is the caller's, who frees it with free(). A zero stands behind it.
 * Errors     NULL, and one line.
 */
#ifndef DRYDOCK_REPORT_READ_FILE_H
#define DRYDOCK_REPORT_READ_FILE_H

#include <stddef.h>

char *report_read_file(const char *path, size_t most_bytes, size_t *out_size, char error[512]);

#endif
