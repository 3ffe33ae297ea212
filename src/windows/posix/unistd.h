/* What unistd.h of mingw-w64 lacks (../files.c). */
#ifndef DRYDOCK_POSIX_UNISTD_H
#define DRYDOCK_POSIX_UNISTD_H

#include_next <unistd.h>
#include <sys/types.h>

#define _SC_PAGESIZE         30
#define _SC_NPROCESSORS_ONLN 84
#define _SC_PHYS_PAGES       85

ssize_t pread(int file, void *out, size_t bytes, off_t offset);
ssize_t pwrite(int file, const void *from, size_t bytes, off_t offset);
int fsync(int file);
int posix_ftruncate(int file, off_t bytes);
#undef ftruncate
#define ftruncate(file, bytes) posix_ftruncate(file, bytes)
ssize_t readlink(const char *path, char *out, size_t bytes); /* fails: no link is known */
long sysconf(int name);
int geteuid(void); /* 0 */

int unlinkat(int folder, const char *name, int flags);
int faccessat(int folder, const char *name, int mode, int flags);

#endif
