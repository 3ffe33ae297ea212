/* What a call costs. */
#define _GNU_SOURCE
#include "client.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH   250u
#define BATCHES 400u

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Microseconds of one, in the median batch and in the fastest. */
static void measure(void (*one)(void *context), void *context, double *median, double *fastest)
{
    static double costs[BATCHES];

    for (unsigned batch = 0; batch < BATCHES; batch++) {
        struct timespec begin, end;

        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (unsigned i = 0; i < BATCH; i++)
            one(context);
        clock_gettime(CLOCK_MONOTONIC, &end);
        costs[batch] =
            ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
            1e3 / BATCH;
    }
    qsort(costs, BATCHES, sizeof *costs, by_value);
    *median = costs[BATCHES / 2];
    *fastest = costs[0];
}

static void one_call(void *context)
{
    must("GetDeviceState", D3DKMTGetDeviceState(context));
}

static void one_round_trip(void *context)
{
    const int file = *(const int *)context;
    char message[80] = "";

    if (send(file, message, sizeof message, MSG_NOSIGNAL) != (ssize_t)sizeof message ||
        recv(file, message, sizeof message, MSG_WAITALL) != (ssize_t)sizeof message)
        fail("a socket", 0);
}

static void futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

/* Two wakes by futex, to another process and back, with nothing between. */
static void one_pair_of_wakes(void *context)
{
    _Atomic uint32_t *word = context;

    atomic_store(word, 1);
    futex(word, FUTEX_WAKE, 1);
    while (atomic_load(word) == 1)
        futex(word, FUTEX_WAIT, 1);
}

static void measure_wakes(double *median, double *fastest)
{
    _Atomic uint32_t *word =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;

    if (word == MAP_FAILED)
        fail("a page", 0);
    child = fork();
    while (child == 0 && atomic_load(word) != 2) {
        if (atomic_load(word) == 0) {
            futex(word, FUTEX_WAIT, 0);
            continue;
        }
        atomic_store(word, 0);
        futex(word, FUTEX_WAKE, 1);
    }
    if (child == 0)
        _exit(0);
    measure(one_pair_of_wakes, word, median, fastest);
    atomic_store(word, 2);
    futex(word, FUTEX_WAKE, 1);
    waitpid(child, NULL, 0);
    munmap(word, 4096);
}

/* Microseconds of processor time that a process has used; 0: it is another's. */
static double used_us(pid_t process)
{
    struct timespec used = {0};
    clockid_t clock;

    if (!clock_getcpuclockid(process, &clock))
        clock_gettime(clock, &used);
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

/*
 * The call, and what of it are times of processors, of this process and of the server, which has
 * started it; a round trip of such a message to a process that answers at once; and what two wakes
 * alone take there.
 */
int calls(void)
{
    double median, fastest, socket_median, socket_fastest, wakes_median, wakes_fastest;
    double own, server;
    struct driver driver;
    D3DKMT_GETDEVICESTATE state = {.StateType = D3DKMT_DEVICESTATE_EXECUTION};
    char message[80] = "";
    int files[2];
    pid_t child;

    start(&driver);
    state.hDevice = driver.device;
    own = used_us(getpid());
    server = used_us(getppid());
    measure(one_call, &state, &median, &fastest);
    own = (used_us(getpid()) - own) / (BATCH * BATCHES);
    server = (used_us(getppid()) - server) / (BATCH * BATCHES);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, files))
        fail("a socket", 0);
    child = fork();
    if (child == 0) {
        close(files[0]);
        while (recv(files[1], message, sizeof message, MSG_WAITALL) == (ssize_t)sizeof message)
            send(files[1], message, sizeof message, MSG_NOSIGNAL);
        _exit(0);
    }
    close(files[1]);
    measure(one_round_trip, &files[0], &socket_median, &socket_fastest);
    close(files[0]);
    waitpid(child, NULL, 0);
    measure_wakes(&wakes_median, &wakes_fastest);
    printf(
        "a call: %.2f us (fastest batch %.2f), of processors %.2f us here and %.2f us in the "
        "server; a round trip of such a message through a socket: %.2f us (%.2f); two bare wakes: "
        "%.2f us (%.2f), a call is %.2f of them (%.2f)\n",
        median, fastest, own, server, socket_median, socket_fastest, wakes_median, wakes_fastest,
        median / wakes_median, fastest / wakes_fastest);
    return 0;
}
