#define _GNU_SOURCE /* O_NOFOLLOW and the calls on folders */
#include "report/campaign/folder_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int folder_open(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int folder_find_within(int folder, const char *name)
{
    return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int folder_open_within(int folder, const char *name)
{
    if (mkdirat(folder, name, 0777) != 0 && errno != EEXIST)
        return -1;
    return folder_find_within(folder, name);
}

int folder_open_file(int folder, const char *name, int flags)
{
    /* A pipe that nobody writes to would be waited for. */
    int file = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    struct stat status;

    if (file < 0)
        return -1;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(file);
        errno = EINVAL;
        return -1;
    }
    return file;
}

FILE *folder_fopen(int folder, const char *name, const char *mode)
{
    int flags = mode[0] == 'r'   ? O_RDONLY
                : mode[0] == 'a' ? O_RDWR | O_CREAT | O_APPEND
                                 : O_RDWR | O_CREAT | O_TRUNC;
    int file = folder_open_file(folder, name, flags);
    FILE *stream = file < 0 ? NULL : fdopen(file, mode);

    if (file >= 0 && !stream)
        close(file);
    return stream;
}

bool folder_may_write(const char *path)
{
    struct stat status;

    if (lstat(path, &status) != 0)
        return errno == ENOENT;
    if (S_ISREG(status.st_mode))
        return true;
    errno = S_ISLNK(status.st_mode) ? ELOOP : EINVAL;
    return false;
}

bool folder_replace(int folder, const char *name, const char *text)
{
    char partial[128];
    FILE *file;
    bool is_written;

    if ((size_t)snprintf(partial, sizeof partial, "%s.partial", name) >= sizeof partial) {
        errno = ENAMETOOLONG;
        return false;
    }
    /* A file of that name is not opened: it is nobody's, or a link. */
    if (unlinkat(folder, partial, 0) != 0 && errno != ENOENT)
        return false;
    file = folder_fopen(folder, partial, "w");
    if (!file)
        return false;
    is_written = fputs(text, file) >= 0;
    if (fclose(file) != 0 || !is_written) {
        unlinkat(folder, partial, 0);
        return false;
    }
    return renameat(folder, partial, folder, name) == 0;
}
