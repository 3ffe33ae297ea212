/*
 * Lanes: calls of a client's threads in memory that client and server share.
 *
 * Place      thunk. libdxcore.so and the server of its clients share it; what goes through a lane
 *            is the same message as through a socket (thunk.h).
 * Model      A client process has one sealed memory file of LANE_FILE_BYTES. Its first page is the
 *            board, behind it lie LANE_COUNT lanes. A thread of the client has a lane to itself:
 *
 *                client                                  server
 *                message, state = LANE_CALL
 *                sets the lane's bit in pending
 *                bell + 1, wakes who sleeps    --->      waits for bells of all clients
 *                waits for the state                     takes pending, copies the message, calls
 *                                              <---      message, state = LANE_ANSWER, wakes it
 *                takes the answer, state = LANE_FREE
 *
 *            Both sides wait in the kernel (futex), and say so: who is not asleep is not woken. A
 *            server may be asked to have both look at the word for a while before they sleep
 *            (lane_spin()), which costs a processor and saves two wakes. A message that is larger
 *            than a lane, a thread that finds no lane free, and a call from a signal handler amid
 *            another one go by a socket.
 * Errors     The server believes nothing of this memory: it copies before it looks, and a state or
 *            a bit that makes no sense costs the client its own answer.
 */
#ifndef DRYDOCK_THUNK_LANE_H
#define DRYDOCK_THUNK_LANE_H

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LANE_COUNT      64u
#define LANE_BYTES      16384u
#define LANE_HEAD_BYTES 64u
#define LANE_ROOM       (LANE_BYTES - LANE_HEAD_BYTES)
#define LANE_BOARD      4096u
#define LANE_STACK      7u
#define LANE_NOTICES    64u
#define LANE_FILE_BYTES (LANE_BOARD + LANE_COUNT * LANE_BYTES)

/* The longest look that can be asked for. */
#define LANE_MOST_SPIN_NS UINT64_C(1000000)
/* One look in so many, where looking was in vain again and again. */
#define LANE_MOST_SKIPPED 255u

enum lane_state { LANE_FREE, LANE_CALL, LANE_ANSWER };

/* By the server, for a registration of the client's for notices to trim: the newest one. */
struct lane_notice {
    _Atomic uint32_t count; /* grows with each notice */
    uint32_t flags;         /* D3DDDI_TRIMRESIDENCYSET_FLAGS */
    uint64_t bytes;
};

struct lane_bell {
    _Atomic uint32_t count;  /* grows with each ring */
    _Atomic uint32_t sleeps; /* the server does, or is about to, until the count is another */
};

struct lane_board {
    struct lane_bell bell;        /* rung with each call */
    _Atomic uint32_t notice_bell; /* grows with each notice; the client waits for it */
    _Atomic uint64_t pending;     /* a bit for each lane whose call nobody has taken */
    struct lane_notice notices[LANE_NOTICES];
};

struct lane {
    _Atomic uint32_t state;     /* enum lane_state */
    _Atomic uint32_t sleeps;    /* the client does, or is about to, until the state is another */
    uint64_t stack[LANE_STACK]; /* where the call came from, innermost first; 0 behind the last */
    uint8_t message[LANE_ROOM]; /* at a multiple of 64 */
};

_Static_assert(sizeof(struct lane_board) <= LANE_BOARD, "the board is one page");
_Static_assert(sizeof(struct lane) == LANE_BYTES, "lanes lie one behind the other");

static inline struct lane *lane_at(void *memory, unsigned number)
{
    return (struct lane *)((uint8_t *)memory + LANE_BOARD + (size_t)number * LANE_BYTES);
}

/* Waits for as long as the word is the value, or so long (NULL: for ever); may return early. */
static inline void lane_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *most)
{
    syscall(SYS_futex, word, FUTEX_WAIT, value, most, NULL, 0);
}

static inline void lane_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The count is written before the sleeper is looked at: one of the two sees the other. */
static inline void lane_ring(struct lane_bell *bell)
{
    atomic_fetch_add(&bell->count, 1);
    if (atomic_load(&bell->sleeps))
        lane_wake(&bell->count);
}

/* How a thread has fared with looking before it sleeps. */
struct lane_patience {
    unsigned skipped, left; /* looks that are left out after one in vain; of these: still to come */
    uint64_t looks;         /* that were begun */
};

/* False: there is one processor for this thread, and whom it waits for cannot run beside it. */
static inline bool lane_can_spin(void)
{
    cpu_set_t processors;

    return !sched_getaffinity(0, sizeof processors, &processors) && CPU_COUNT(&processors) > 1;
}

static inline uint64_t lane_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Looks until is_over() says so, for so long, or not at all: where it was in vain it looks less
 * often, down to once in LANE_MOST_SKIPPED + 1 times. True: it has said so.
 */
static inline bool lane_spin(struct lane_patience *patience, uint64_t most_ns,
                             bool (*is_over)(const void *context), const void *context)
{
    uint64_t until;

    if (!most_ns)
        return false;
    if (patience->left) {
        patience->left--;
        return false;
    }
    patience->looks++;
    until = lane_now_ns() + (most_ns < LANE_MOST_SPIN_NS ? most_ns : LANE_MOST_SPIN_NS);
    do {
        for (unsigned i = 0; i < 32; i++) {
            if (is_over(context)) {
                patience->skipped = 0;
                return true;
            }
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
    } while (lane_now_ns() < until);
    patience->skipped = patience->skipped * 2 + 1;
    if (patience->skipped > LANE_MOST_SKIPPED)
        patience->skipped = LANE_MOST_SKIPPED;
    patience->left = patience->skipped;
    return false;
}

#endif
