#define _GNU_SOURCE
#include "machine/page_fault.h"

#include <signal.h>

/* A signal handler has no argument to find them by. */
static struct list takers = LIST_INITIALIZER(takers);
static struct sigaction previous_action;

bool page_fault_take(const void *address)
{
    const struct page_fault_taker *taker;

    list_for_each (taker, &takers, struct page_fault_taker, link) {
        if (taker->take(address))
            return true;
    }
    return false;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    if (page_fault_take(info->si_addr))
        return;
    if (previous_action.sa_flags & SA_SIGINFO)
        previous_action.sa_sigaction(signal, info, context);
    else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN)
        previous_action.sa_handler(signal);
    else
        sigaction(signal, &previous_action, NULL); /* the access repeats, and ends the process */
}

static bool is_our_handler(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fault;
}

/* Under a handler that was installed since ours, ours may still be. */
static bool has_handler;

bool page_fault_begin(struct page_fault_taker *taker)
{
    struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    sigemptyset(&ours.sa_mask);
    if (!has_handler && sigaction(SIGSEGV, &ours, &previous_action) != 0)
        return false;
    has_handler = true;
    if (!taker->is_there)
        list_push_front(&takers, &taker->link);
    taker->is_there = true;
    return true;
}

void page_fault_end(struct page_fault_taker *taker)
{
    struct sigaction current;

    if (taker->is_there)
        list_remove(&taker->link);
    taker->is_there = false;
    if (list_is_empty(&takers) && sigaction(SIGSEGV, NULL, &current) == 0 &&
        is_our_handler(&current))
        has_handler = sigaction(SIGSEGV, &previous_action, NULL) != 0;
}
