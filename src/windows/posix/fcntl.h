/* What fcntl.h of mingw-w64 lacks. Files are binary (../files.c). */
#ifndef DRYDOCK_POSIX_FCNTL_H
#define DRYDOCK_POSIX_FCNTL_H

#include_next <fcntl.h>
#include <sys/types.h>

#define O_CLOEXEC   O_NOINHERIT
#define O_NONBLOCK  0 /* no file here makes an open() wait */
#define O_NOFOLLOW  0
#define O_DIRECTORY 0x40000000

#define AT_FDCWD            (-100)
#define AT_SYMLINK_NOFOLLOW 0x100

int posix_open(const char *path, int flags, ...);
#define open posix_open
/* As of ../folders.c. */
int openat(int folder, const char *name, int flags, ...);

/* Of fallocate(): fails, the file system knows no holes. */
#define FALLOC_FL_KEEP_SIZE  1
#define FALLOC_FL_PUNCH_HOLE 2
int fallocate(int file, int mode, off_t offset, off_t bytes);

#endif
