/*
 * libdrydock-wsl.so, which `drydock exec` puts before all others in its program (LD_PRELOAD): a
 * user-mode driver for WSL opens its libdxcore.so by a path that there is on no other system. It
 * gets ours, which is in the library path. Everything else is opened as ever: the last call is a
 * jump, so that the loader sees who calls, whose own search path it uses.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static const char wsl_path[] = "/usr/lib/wsl/lib/libdxcore.so";

EXPORT void *dlopen(const char *file, int mode)
{
    void *(*next)(const char *file, int mode) =
        (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");

    if (file && strcmp(file, wsl_path) == 0)
        file = strrchr(wsl_path, '/') + 1;
    return next(file, mode);
}
