#include "workload/named_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP_MS 50
#define STEPS   (NAMED_FILE_SECONDS * 1000 / STEP_MS)

/* A pipe without a writer can be opened and has nothing to read; one with a writer may have. */
static int open_to_read(const char *path)
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct pollfd ready = {.fd = file, .events = POLLIN};
    struct stat status;

    if (file < 0 || fstat(file, &status) != 0 || !S_ISFIFO(status.st_mode))
        return file;
    if (poll(&ready, 1, (int)NAMED_FILE_SECONDS * 1000) > 0)
        return file;
    /* Zero bytes are the answer when nobody writes; a writer that thinks is EAGAIN. */
    if (read(file, (char[1]){0}, 1) < 0 && errno == EAGAIN)
        return file;
    close(file);
    errno = EPIPE;
    return -1;
}

/* A pipe without a reader cannot be opened without waiting. */
static int open_to_write(const char *path)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC;
    int file = open(path, flags, 0666);

    for (unsigned i = 0; i < STEPS && file < 0 && errno == ENXIO; i++) {
        poll(NULL, 0, STEP_MS);
        file = open(path, flags, 0666);
    }
    if (file < 0 && errno == ENXIO)
        errno = EPIPE;
    return file;
}

FILE *named_file_open(const char *path, const char *mode)
{
    int file = mode[0] == 'r' ? open_to_read(path) : open_to_write(path);
    FILE *stream = NULL;
    int reason;

    if (file < 0)
        return NULL;
    /* From here on it is a file as any other, which is waited for. */
    if (fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK) == 0)
        stream = fdopen(file, mode);
    if (!stream) {
        reason = errno;
        close(file);
        errno = reason;
    }
    return stream;
}

const char *named_file_reason(int error)
{
    return error == EPIPE ? "nobody has opened the other end of this pipe" : strerror(error);
}
