/*
 * Signals that a faulting access is caught by (../faults.c): SIGSEGV alone. Handlers of other
 * signals are kept, and not called but for SIGINT and SIGTERM, which the C library calls.
 */
#ifndef DRYDOCK_POSIX_SIGNAL_H
#define DRYDOCK_POSIX_SIGNAL_H

#include_next <signal.h>
#include <sys/types.h>

#define SIGBUS  7
#define SIGKILL 9
#define SIGTRAP 5
#define SIGPIPE 13
#define SIGALRM 14
#define SIGCHLD 17
#define SIGSYS  12
#define SIGXFSZ 25

#define SA_RESTART   0x10000000
#define SA_ONSTACK   0x08000000
#define SA_NODEFER   0x40000000
#define SA_SIGINFO   4
#define SA_RESETHAND 0x80000000

#define SEGV_ACCERR 2

typedef struct {
    int si_signo, si_code;
    void *si_addr;
} siginfo_t;

typedef _sigset_t sigset_t;

struct sigaction {
    union {
        void (*sa_handler)(int signal);
        void (*sa_sigaction)(int signal, siginfo_t *info, void *context);
    };
    sigset_t sa_mask;
    int sa_flags;
};

#define SIGHUP      1
#define SIG_BLOCK   0
#define SIG_SETMASK 2

typedef struct {
    void *ss_sp;
    size_t ss_size;
} stack_t;
/* Handlers run on the stack of what faults. -1. */
int sigaltstack(const stack_t *stack, stack_t *out_before);

int sigaction(int signal, const struct sigaction *action, struct sigaction *out_before);
int sigemptyset(sigset_t *set);
int sigaddset(sigset_t *set, int signal);
/* Nothing is blocked. */
int sigprocmask(int how, const sigset_t *set, sigset_t *out_before);

#endif
