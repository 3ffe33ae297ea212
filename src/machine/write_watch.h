/*
 * Write watch: which instruction writes which bytes, for a while.
 *
 * Place      machine. Used by a run that is played again to tell who wrote what a finding is about.
 * Model      The pages of some pieces of memory can only be read while the watch is on, and so can
 *            the pages of the machine that are mapped while their store is watched (page_watch.h).
 *            A write is caught as SIGSEGV. The function comes() is told of the processor's state,
 *            the page is opened, and the one instruction runs with the trap flag. Behind it wrote()
 *            is told which bytes have changed, and the page is closed again. A byte that was
 *            written with the value that it had is told if it is the first of the write.
 * Ownership  One watch at a time in the process. Other data on the same pages may be used
 *            meanwhile, except for a stack. The kernel may not be given a pointer to the memory.
 * Limits     x86-64 Linux. Elsewhere write_watch_begin() is false. An instruction that writes there
 *            and faults elsewhere ends the watch before its time.
 */
#ifndef DRYDOCK_MACHINE_WRITE_WATCH_H
#define DRYDOCK_MACHINE_WRITE_WATCH_H

#include "machine/page_watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct write_watch_piece {
    uint8_t *start;
    size_t bytes;
};

#define WRITE_WATCH_PIECES 80u

struct write_watch {
    void *context;
    const struct write_watch_piece *pieces; /* no two on one page */
    size_t piece_count;                     /* 0: the machine's pages alone */
    /* Both in a signal handler. */
    void (*comes)(void *context, const void *signal_context);
    /* store: NULL in a piece of memory; else this page of it lies around `at`. */
    void (*wrote)(void *context, const uint8_t *at, size_t bytes, const struct page_store *store,
                  uint64_t page);
};

/* The watch is copied. False, and nothing is watched: one is on, or the host refuses. */
bool write_watch_begin(const struct write_watch *watch);

/* Opens the pieces of memory. Nothing if no watch is on. */
void write_watch_end(void);

#endif
