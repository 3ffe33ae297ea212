/*
 * Faults: an access that the processor refuses becomes a SIGSEGV. When its handler returns, the
 * access is made again, as POSIX does it. Handlers get no state of the processor (context is NULL).
 */
#include "windows/own.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include <windows.h>

static struct sigaction on_segv;

static LONG CALLBACK on_exception(EXCEPTION_POINTERS *exception)
{
    const EXCEPTION_RECORD *record = exception->ExceptionRecord;
    siginfo_t info = {.si_signo = SIGSEGV, .si_code = SEGV_ACCERR};

    if (record->ExceptionCode != EXCEPTION_ACCESS_VIOLATION)
        return EXCEPTION_CONTINUE_SEARCH;
    info.si_addr = (void *)record->ExceptionInformation[1];
    if (posix_memory_touch(info.si_addr))
        return EXCEPTION_CONTINUE_EXECUTION;
    if (!(on_segv.sa_flags & SA_SIGINFO))
        return EXCEPTION_CONTINUE_SEARCH;
    on_segv.sa_sigaction(SIGSEGV, &info, NULL);
    return EXCEPTION_CONTINUE_EXECUTION;
}

__attribute__((constructor)) static void begin(void)
{
    AddVectoredExceptionHandler(1, on_exception);
}

int sigaction(int number, const struct sigaction *action, struct sigaction *out_before)
{
    struct sigaction before = {0};

    if (number == SIGSEGV) {
        before = on_segv;
        if (action)
            on_segv = *action;
    } else if (action) {
        before.sa_handler = signal(number, action->sa_handler);
        if (before.sa_handler == SIG_ERR)
            before.sa_handler = SIG_DFL; /* a signal that never comes here */
    }
    if (out_before)
        *out_before = before;
    return 0;
}

int sigemptyset(sigset_t *set)
{
    memset(set, 0, sizeof *set);
    return 0;
}

int sigaddset(sigset_t *set, int number)
{
    return 0;
}

int sigprocmask(int how, const sigset_t *set, sigset_t *out_before)
{
    if (out_before)
        sigemptyset(out_before);
    return 0;
}

int sigaltstack(const stack_t *stack, stack_t *out_before)
{
    errno = ENOTSUP;
    return -1;
}
