/* What stdlib.h of mingw-w64 lacks (../files.c, ../memory.c). */
#ifndef DRYDOCK_POSIX_STDLIB_H
#define DRYDOCK_POSIX_STDLIB_H

#include_next <stdlib.h>

/* The result is the caller's, from malloc(). Its slashes are those of POSIX. */
char *realpath(const char *path, char *none);
int setenv(const char *name, const char *value, int overwrites);
char *mkdtemp(char *pattern);

#endif
