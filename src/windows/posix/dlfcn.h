/* Objects that are loaded while the program runs (../objects.c). */
#ifndef DRYDOCK_POSIX_DLFCN_H
#define DRYDOCK_POSIX_DLFCN_H

#include <stdbool.h>

#define RTLD_NOW   2
#define RTLD_LOCAL 0

void *dlopen(const char *path, int flags);
void *dlsym(void *object, const char *name);
int dlclose(void *object);
const char *dlerror(void);

/* In code of the program or of a DLL. */
bool posix_is_code(const void *address);

#endif
