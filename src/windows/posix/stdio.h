/* What stdio.h of mingw-w64 lacks (../streams.c). */
#ifndef DRYDOCK_POSIX_STDIO_H
#define DRYDOCK_POSIX_STDIO_H

#include_next <stdio.h>
#include <sys/types.h>

/* A text in memory: *out_text and *out_bytes are set when the stream is flushed or closed. */
FILE *open_memstream(char **out_text, size_t *out_bytes);
int posix_fflush(FILE *stream);
int posix_fclose(FILE *stream);
#define fflush(stream) posix_fflush(stream)
#define fclose(stream) posix_fclose(stream)

ssize_t getdelim(char **text, size_t *size, int end, FILE *in);
ssize_t getline(char **line, size_t *size, FILE *in);

/* The new name may be there already. */
int posix_rename(const char *from, const char *to);
#define rename(from, to) posix_rename(from, to)
int renameat(int folder, const char *from, int other, const char *to);

#endif
