#define _GNU_SOURCE
#include "bench/exec/waiting.h"

#include "thunk/lane.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/* As the system has them since 5.16; headers of the build may be older. */
struct waited_word {
    uint64_t value, address;
    uint32_t flags, reserved;
};
#define WORD_OF_32_BITS 2u

/* ---- The helper ------------------------------------------------------------------------------ */

static void *help(void *context)
{
    struct waiting *waiting = context;
    struct epoll_event event;

    while (!atomic_load(&waiting->stops)) {
        if (atomic_load(&waiting->ready)) {
            lane_wait(&waiting->ready, 1, NULL);
            continue;
        }
        if (epoll_wait(waiting->epoll, &event, 1, -1) <= 0)
            continue;
        atomic_store(&waiting->ready, 1);
        lane_ring(&waiting->bell);
    }
    return NULL;
}

static bool system_waits_for_many(void)
{
    _Atomic uint32_t word = 1;
    struct waited_word waited = {.address = (uintptr_t)&word, .flags = WORD_OF_32_BITS};

    /* The word is another value: answered at once. */
    return syscall(SYS_futex_waitv, &waited, 1, 0, NULL, CLOCK_MONOTONIC) < 0 && errno == EAGAIN;
}

static bool start_helper(struct waiting *waiting)
{
    struct epoll_event event = {.events = EPOLLIN};
    sigset_t all, before;
    bool is_started;

    waiting->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (waiting->stop < 0 || epoll_ctl(waiting->epoll, EPOLL_CTL_ADD, waiting->stop, &event))
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    is_started = !pthread_create(&waiting->helper, NULL, help, waiting);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

bool waiting_open(struct waiting *waiting, uint64_t spin_ns)
{
    memset(waiting, 0, sizeof *waiting);
    waiting->stop = -1;
    atomic_store(&waiting->ready, 1); /* the helper begins with the first bell */
    waiting->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (waiting->epoll < 0)
        return false;
    waiting->spin_ns = lane_can_spin() ? spin_ns : 0;
    waiting->has_helper = system_waits_for_many() && start_helper(waiting);
    return true;
}

void waiting_close(struct waiting *waiting)
{
    const uint64_t one = 1;

    if (waiting->has_helper) {
        atomic_store(&waiting->stops, true);
        atomic_store(&waiting->ready, 0);
        lane_wake(&waiting->ready);
        while (write(waiting->stop, &one, sizeof one) < 0 && errno == EINTR)
            continue;
        pthread_join(waiting->helper, NULL);
    }
    if (waiting->stop >= 0)
        close(waiting->stop);
    close(waiting->epoll);
}

/* ---- Sources --------------------------------------------------------------------------------- */

bool waiting_add(struct waiting *waiting, struct waiting_source *source)
{
    struct epoll_event event = {.events = source->events, .data = {.ptr = source}};

    source->is_watched = !epoll_ctl(waiting->epoll, EPOLL_CTL_ADD, source->file, &event);
    return source->is_watched;
}

void waiting_change(struct waiting *waiting, struct waiting_source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.ptr = source}};

    if (!source->is_watched || source->events == events)
        return;
    source->events = events;
    epoll_ctl(waiting->epoll, EPOLL_CTL_MOD, source->file, &event);
}

void waiting_remove(struct waiting *waiting, struct waiting_source *source)
{
    if (source->is_watched)
        epoll_ctl(waiting->epoll, EPOLL_CTL_DEL, source->file, NULL);
    source->is_watched = false;
}

/* ---- Bells ----------------------------------------------------------------------------------- */

bool waiting_has_bells(const struct waiting *waiting)
{
    return waiting->has_helper;
}

bool waiting_add_bell(struct waiting *waiting, struct lane_bell *bell)
{
    if (waiting->bell_count == WAITING_MOST_BELLS)
        return false;
    waiting->seen[waiting->bell_count] = atomic_load(&bell->count);
    waiting->bells[waiting->bell_count++] = bell;
    return true;
}

void waiting_remove_bell(struct waiting *waiting, struct lane_bell *bell)
{
    for (unsigned i = 0; i < waiting->bell_count; i++) {
        if (waiting->bells[i] != bell)
            continue;
        waiting->bell_count--;
        waiting->bells[i] = waiting->bells[waiting->bell_count];
        waiting->seen[i] = waiting->seen[waiting->bell_count];
    }
}

/* ---- The server ------------------------------------------------------------------------------ */

void waiting_look(struct waiting *waiting)
{
    waiting->seen_own = atomic_load(&waiting->bell.count);
    for (unsigned i = 0; i < waiting->bell_count; i++)
        waiting->seen[i] = atomic_load(&waiting->bells[i]->count);
}

static unsigned take_events(struct waiting *waiting, struct waiting_ready ready[WAITING_MOST_READY])
{
    struct epoll_event events[WAITING_MOST_READY];
    const int count = epoll_wait(waiting->epoll, events, WAITING_MOST_READY, 0);
    unsigned taken = 0;

    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr) /* else the stop */
            ready[taken++] = (struct waiting_ready){events[i].data.ptr, events[i].events};
    }
    return taken;
}

unsigned waiting_take(struct waiting *waiting, struct waiting_ready ready[WAITING_MOST_READY])
{
    unsigned taken;

    if (waiting->bell_count && !atomic_load(&waiting->ready))
        return 0;
    taken = take_events(waiting, ready);
    if (waiting->bell_count) {
        atomic_store(&waiting->ready, 0);
        lane_wake(&waiting->ready);
    }
    return taken;
}

static bool has_rung(const void *context)
{
    const struct waiting *waiting = context;

    for (unsigned i = 0; i < waiting->bell_count; i++) {
        if (atomic_load(&waiting->bells[i]->count) != waiting->seen[i])
            return true;
    }
    return atomic_load(&waiting->bell.count) != waiting->seen_own;
}

static void set_sleeps(struct waiting *waiting, uint32_t sleeps)
{
    for (unsigned i = 0; i < waiting->bell_count; i++)
        atomic_store(&waiting->bells[i]->sleeps, sleeps);
    atomic_store(&waiting->bell.sleeps, sleeps);
}

void waiting_sleep(struct waiting *waiting, uint64_t most_ns)
{
    struct waited_word words[WAITING_MOST_BELLS + 1] = {
        {waiting->seen_own, (uintptr_t)&waiting->bell.count, WORD_OF_32_BITS, 0}};
    struct timespec until = {0};
    struct epoll_event event;

    if (waiting->bell_count && lane_spin(&waiting->patience, waiting->spin_ns, has_rung, waiting))
        return;
    if (!waiting->bell_count) {
        epoll_wait(waiting->epoll, &event, 1, most_ns ? (int)(most_ns / 1000000) + 1 : -1);
        return;
    }
    for (unsigned i = 0; i < waiting->bell_count; i++)
        words[i + 1] = (struct waited_word){waiting->seen[i], (uintptr_t)&waiting->bells[i]->count,
                                            WORD_OF_32_BITS, 0};
    if (most_ns) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += (time_t)(most_ns / 1000000000);
        until.tv_nsec += (long)(most_ns % 1000000000);
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
    }
    set_sleeps(waiting, 1);
    syscall(SYS_futex_waitv, words, waiting->bell_count + 1, 0, most_ns ? &until : NULL,
            CLOCK_MONOTONIC);
    set_sleeps(waiting, 0);
}
