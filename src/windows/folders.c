/* Folders that are open, and files by their names in them. A folder's path is that of its handle.
 */
#include "windows/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <windows.h>

#undef open

static int open_folder(const char *path)
{
    HANDLE folder = CreateFileA(path, FILE_LIST_DIRECTORY,
                                FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    struct stat is;

    if (folder == INVALID_HANDLE_VALUE)
        return posix_failed();
    if (stat(path, &is) != 0 || !S_ISDIR(is.st_mode)) {
        CloseHandle(folder);
        errno = ENOTDIR;
        return -1;
    }
    return _open_osfhandle((intptr_t)folder, _O_RDONLY | _O_BINARY);
}

int posix_open(const char *path, int flags, ...)
{
    va_list rest;
    int mode = 0;

    if (flags & O_DIRECTORY)
        return open_folder(path);
    va_start(rest, flags);
    if (flags & O_CREAT)
        mode = va_arg(rest, int);
    va_end(rest);
    return open(path, flags | O_BINARY, mode);
}

/* "C:\folder\name" in path. False: too long, or no folder. */
static bool join(int folder, const char *name, char path[MAX_PATH * 2])
{
    char own[MAX_PATH];
    DWORD length = folder == AT_FDCWD ? 0
                                      : GetFinalPathNameByHandleA((HANDLE)_get_osfhandle(folder),
                                                                  own, sizeof own, 0);

    if (folder != AT_FDCWD && (!length || length >= sizeof own)) {
        errno = EBADF;
        return false;
    }
    if (!length)
        snprintf(path, MAX_PATH * 2, "%s", name);
    else
        snprintf(path, MAX_PATH * 2, "%s\\%s", strncmp(own, "\\\\?\\", 4) == 0 ? own + 4 : own,
                 name);
    return true;
}

int openat(int folder, const char *name, int flags, ...)
{
    char path[MAX_PATH * 2];

    return join(folder, name, path) ? posix_open(path, flags, 0666) : -1;
}

int mkdirat(int folder, const char *name, mode_t mode)
{
    char path[MAX_PATH * 2];

    return join(folder, name, path) ? mkdir(path, mode) : -1;
}

int unlinkat(int folder, const char *name, int flags)
{
    char path[MAX_PATH * 2];

    return join(folder, name, path) ? unlink(path) : -1;
}

int renameat(int folder, const char *from, int other, const char *to)
{
    char path[MAX_PATH * 2], new_path[MAX_PATH * 2];

    return join(folder, from, path) && join(other, to, new_path) ? rename(path, new_path) : -1;
}

int faccessat(int folder, const char *name, int mode, int flags)
{
    char path[MAX_PATH * 2];

    return join(folder, name, path) ? access(path, mode) : -1;
}

int fstatat(int folder, const char *name, struct stat *out, int flags)
{
    char path[MAX_PATH * 2];

    return join(folder, name, path) ? stat(path, out) : -1;
}

DIR *fdopendir(int folder)
{
    char path[MAX_PATH * 2];
    DIR *listing = join(folder, ".", path) ? opendir(path) : NULL;

    if (listing)
        close(folder);
    return listing;
}

int flock(int file, int operation)
{
    return 0;
}
