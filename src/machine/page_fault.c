#define _GNU_SOURCE
#include "machine/page_fault.h"

#include "machine/signal_hook.h"

/* A signal handler has no argument to find them by. */
static struct list takers = LIST_INITIALIZER(takers);
static struct signal_hook fault;

bool page_fault_take(const void *address)
{
    struct page_fault_taker *taker;

    list_for_each (taker, &takers, struct page_fault_taker, link) {
        if (taker->take(taker, address))
            return true;
    }
    return false;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    if (page_fault_take(info->si_addr))
        return;
    signal_hook_pass_on(&fault, info, context);
}

bool page_fault_begin(struct page_fault_taker *taker)
{
    if (!signal_hook_set(&fault, SIGSEGV, on_fault))
        return false;
    if (!taker->is_there)
        list_push_front(&takers, &taker->link);
    taker->is_there = true;
    return true;
}

void page_fault_end(struct page_fault_taker *taker)
{
    if (taker->is_there)
        list_remove(&taker->link);
    taker->is_there = false;
    if (list_is_empty(&takers))
        signal_hook_release(&fault);
}
