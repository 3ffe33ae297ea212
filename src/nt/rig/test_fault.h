/*
 * Whether an address may be written. For tests.
 *
 * Place   nt, tests only.
 */
#ifndef DRYDOCK_NT_TEST_FAULT_H
#define DRYDOCK_NT_TEST_FAULT_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static sigjmp_buf test_faulted;

static void test_on_fault(int signal, siginfo_t *info, void *context)
{
    siglongjmp(test_faulted, 1);
}

static inline bool faults(volatile uint8_t *address)
{
    struct sigaction ours = {.sa_sigaction = test_on_fault, .sa_flags = SA_SIGINFO}, before;
    volatile bool has_faulted = true;

    sigaction(SIGSEGV, &ours, &before);
    if (!sigsetjmp(test_faulted, 1)) {
        *address = 1;
        has_faulted = false;
    }
    sigaction(SIGSEGV, &before, NULL);
    return has_faulted;
}

#endif
