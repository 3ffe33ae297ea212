/*
 * Page faults: accesses to memory of the machine that the host refuses until somebody opens it.
 *
 * Place      machine. Used by page_window.c and page_watch.c; knows neither.
 * Model      Who keeps pages closed is a taker. The first one installs a SIGSEGV handler, the end
 *            of the last one removes it, unless somebody has installed another since. A fault that
 *            no taker takes goes on to the handler that was there. Code that installs its own
 *            meanwhile hands on what it does not know, or asks page_fault_take() first.
 * Ownership  A taker is borrowed until it ends. It may begin and end any number of times.
 * Errors     false: the host refuses the handler.
 */
#ifndef DRYDOCK_MACHINE_PAGE_FAULT_H
#define DRYDOCK_MACHINE_PAGE_FAULT_H

#include "base/list.h"

#include <stdbool.h>

struct page_fault_taker {
    struct list link;
    /* In a signal handler: true when the access may repeat. Nothing of the thread's own (FS). */
    bool (*take)(struct page_fault_taker *taker, const void *address);
    bool is_there;
};

bool page_fault_begin(struct page_fault_taker *taker);
void page_fault_end(struct page_fault_taker *taker);

/* In a SIGSEGV handler: true when the access at that address may repeat now. */
bool page_fault_take(const void *address);

#endif
