/* What string.h of mingw-w64 lacks (../strings.c). */
#ifndef DRYDOCK_POSIX_STRING_H
#define DRYDOCK_POSIX_STRING_H

#include_next <string.h>

char *strndup(const char *text, size_t length);
char *strcasestr(const char *text, const char *part);
void *memmem(const void *in, size_t in_bytes, const void *part, size_t bytes);
const char *strsignal(int signal);

#endif
