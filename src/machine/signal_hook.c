#define _GNU_SOURCE
#include "machine/signal_hook.h"

#include <stddef.h>

/* The handler of each signal, as hooks have left it; NULL: no hook has. */
static signal_handler *last[NSIG];

bool signal_hook_set(struct signal_hook *hook, int signal, signal_handler *handler)
{
    struct sigaction ours = {.sa_sigaction = handler,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

    if (hook->is_set)
        return true;
    sigemptyset(&ours.sa_mask);
    hook->signal = signal;
    hook->handler = handler;
    hook->is_set = sigaction(signal, &ours, &hook->before) == 0;
    if (hook->is_set)
        last[signal] = handler;
    return hook->is_set;
}

void signal_hook_release(struct signal_hook *hook)
{
    struct sigaction now;

    if (hook->is_set && sigaction(hook->signal, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
        now.sa_sigaction == hook->handler && sigaction(hook->signal, &hook->before, NULL) == 0) {
        hook->is_set = false;
        last[hook->signal] = hook->before.sa_sigaction;
    }
}

int signal_hook_find_lost(void)
{
    struct sigaction now;

    for (int signal = 1; signal < NSIG; signal++) {
        if (last[signal] && sigaction(signal, NULL, &now) == 0 && now.sa_sigaction != last[signal])
            return signal;
    }
    return 0;
}

void signal_hook_pass_on(const struct signal_hook *hook, siginfo_t *info, void *context)
{
    const struct sigaction *before = &hook->before;

    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(hook->signal, info, context);
    else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
        before->sa_handler(hook->signal);
    else
        sigaction(hook->signal, before,
                  NULL); /* it happens again, and the system ends the process */
}
