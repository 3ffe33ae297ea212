/*
 * Files: whole files in and out of memory, plain or compressed with zstd.
 *
 * Place      workload, of the module, and of the command line for its texts; the only place that
 *            knows zstd.
 * Model      Reading looks at the content: a zstd frame is unpacked, whatever the name. A mark of
 *            UTF-8 at the beginning is left out, and one of UTF-16 is an error. Writing goes by the
 *            name: .zst is packed. "-" is standard input or output. A file is written beside its
 *            place and renamed, so a failed save leaves the old one; devices, pipes and links stay
 *            what they are, and what they lead to is written.
 * Ownership  workload_file_read() gives a buffer, which the caller frees with free().
 * Errors     bool and struct workload_error; a file that unpacks to more than
 *            WORKLOAD_MAX_FILE_BYTES is an error, so a small bomb cannot fill memory.
 */
#ifndef WORKLOAD_FILE_H
#define WORKLOAD_FILE_H

#include "workload/workload.h"

#define WORKLOAD_MAX_FILE_BYTES ((size_t)2 << 30)

bool workload_file_read(const char *path, char **out, size_t *out_size,
                        struct workload_error *error);
bool workload_file_write(const char *path, const char *data, size_t size,
                         struct workload_error *error);
/* Whatever the name. */
bool workload_file_write_plain(const char *path, const void *data, size_t size,
                               struct workload_error *error);
/* Unpacks a zstd frame, or copies; limit bounds the result. For files and for fuzzing. */
bool workload_unpack(const void *data, size_t size, size_t limit, const char *path, char **out,
                     size_t *out_size, struct workload_error *error);

#endif
