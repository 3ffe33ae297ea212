#define _GNU_SOURCE
#include "machine/signal_hook.h"

#include <stddef.h>

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
    return hook->is_set;
}

void signal_hook_release(struct signal_hook *hook)
{
    struct sigaction now;

    if (hook->is_set && sigaction(hook->signal, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
        now.sa_sigaction == hook->handler)
        hook->is_set = sigaction(hook->signal, &hook->before, NULL) != 0;
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
