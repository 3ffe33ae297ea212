#define _GNU_SOURCE
#include "bench/child/child_end.h"

#include "bench/child/crash_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NAP_NS 100000
#define LONGEST_NAP  10000000
#define MOST_STOOD   10

static double wall_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The second number of schedstat, in nanoseconds; 0: there is none. */
static double stood_ready(pid_t child)
{
    char path[32];
    uint64_t ran = 0, stood = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)child);
    file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &stood) != 2)
        stood = 0;
    fclose(file);
    return (double)stood * 1e-9;
}

struct child_moment child_moment_now(pid_t child)
{
    return (struct child_moment){child, wall_now(), stood_ready(child)};
}

bool child_moment_is_over(const struct child_moment *since, double seconds)
{
    const double passed = wall_now() - since->wall;

    return passed >= seconds * MOST_STOOD ||
           (passed >= seconds && passed - (stood_ready(since->child) - since->stood) >= seconds);
}

int child_end_wait(pid_t child, double seconds, bool *out_is_late)
{
    const double until = wall_now() + seconds;
    struct timespec nap = {0, FIRST_NAP_NS};
    int status = 0;
    pid_t got;

    *out_is_late = false;
    while ((got = waitpid(child, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        if (wall_now() >= until) {
            *out_is_late = true;
            kill(child, SIGKILL);
            while (waitpid(child, &status, 0) < 0 && errno == EINTR)
                ;
            break;
        }
        nanosleep(&nap, NULL);
        nap.tv_nsec = nap.tv_nsec * 2 < LONGEST_NAP ? nap.tv_nsec * 2 : LONGEST_NAP;
    }
    return status;
}

/* ---- Standard error -------------------------------------------------------------------------- */

int child_errors_open(const char *name)
{
    const int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (file >= 0 && (ftruncate(file, CRASH_RECORDER_TEXT) != 0 ||
                      fcntl(file, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)) {
        close(file);
        return -1;
    }
    return file;
}

void child_errors_clear(int file)
{
    static const char nothing[CRASH_RECORDER_TEXT];

    if (pwrite(file, nothing, sizeof nothing, 0) == (ssize_t)sizeof nothing)
        lseek(file, 0, SEEK_SET);
}
