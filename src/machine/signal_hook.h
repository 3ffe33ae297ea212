/*
 * Signal hook: a handler of a signal that hands on what is not its own.
 *
 * Place      machine. Used by everything that closes pages or steps instructions.
 * Model      Several modules look at the same signal. The handler that was installed last runs
 *            first. What it does not know goes on to the handler that was there before it, and the
 *            last one hands it to the system, which ends the process.
 * Ownership  A hook is zeroed memory that lives as long as the process: a handler that was
 *            installed behind it may still hand on to it.
 * Errors     false: the host refuses the handler.
 */
#ifndef DRYDOCK_MACHINE_SIGNAL_HOOK_H
#define DRYDOCK_MACHINE_SIGNAL_HOOK_H

#include <signal.h>
#include <stdbool.h>

typedef void signal_handler(int signal, siginfo_t *info, void *context);

struct signal_hook {
    struct sigaction before;
    int signal;
    signal_handler *handler;
    bool is_set;
};

/*
 * The handler runs on the signal stack, where there is one, and may be interrupted by its own
 * signal. A hook that is set already stays as it is.
 */
bool signal_hook_set(struct signal_hook *hook, int signal, signal_handler *handler);

/* A hook behind which another handler was installed stays, and its handler goes on to be called. */
void signal_hook_release(struct signal_hook *hook);

/* The first signal whose handler is none that a hook has set or put back; 0: there is none. */
int signal_hook_find_lost(void);

/* In the hook's handler: this signal is somebody else's. */
void signal_hook_pass_on(const struct signal_hook *hook, siginfo_t *info, void *context);

#endif
