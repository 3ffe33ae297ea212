/*
 * Files as POSIX describes them (../files.c): with a number of their own and the time to the
 * nanosecond. Links are followed.
 */
#ifndef DRYDOCK_POSIX_SYS_STAT_H
#define DRYDOCK_POSIX_SYS_STAT_H

#include_next <sys/stat.h>
#include <pthread.h> /* struct timespec */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct posix_stat {
    uint64_t st_dev, st_ino;
    mode_t st_mode;
    int st_uid; /* 0: every file is the user's (geteuid()) */
    int64_t st_size;
    struct timespec st_mtim;
};

int posix_stat(const char *path, struct posix_stat *out);
int posix_fstat(int file, struct posix_stat *out);
int posix_mkdir(const char *path, mode_t mode);
int fchmod(int file, mode_t mode);

#undef stat
#undef fstat
#undef st_mtime
#define stat     posix_stat
#define fstat    posix_fstat
#define lstat    posix_stat
#define mkdir    posix_mkdir
#define st_mtime st_mtim.tv_sec

#define S_ISLNK(mode) ((void)(mode), false)

int fstatat(int folder, const char *name, struct stat *out, int flags);
int mkdirat(int folder, const char *name, mode_t mode);

#endif
