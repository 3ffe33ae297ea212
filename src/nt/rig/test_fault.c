#include "nt/rig/test_fault.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static sigjmp_buf faulted;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    siglongjmp(faulted, 1);
}

bool faults(volatile uint8_t *address)
{
    struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, before;
    volatile bool has_faulted = true;

    sigaction(SIGSEGV, &ours, &before);
    if (!sigsetjmp(faulted, 1)) {
        *address = 1;
        has_faulted = false;
    }
    sigaction(SIGSEGV, &before, NULL);
    return has_faulted;
}
