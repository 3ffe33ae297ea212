/*
 * Cage: what the process that runs a driver image may do.
 *
 * Place      bench. Closed once in a process that is made to run drivers, when the first image is
 *            loaded.
 * Model      A driver image has no business with the operating system of the bench: it asks the
 *            kernel services, which open no file and no connection for it. So the cage is a list
 *            of system calls, with their arguments: reading, writing and closing files that are
 *            open, memory, signals of the own process, time, the end. The files that the process
 *            was left with are neither closed nor cut. No other call happens; it fails with "not
 *            permitted" and is reported. A call of the list is lawful from the code of the bench
 *            and of the libraries that it has loaded, by the address that it comes from. From the
 *            image, or from code that the image wrote, it fails with "no such system call" and is
 *            reported. Where the kernel has landlock, it keeps all files closed too. The
 *            environment is emptied, standard input and output lead nowhere, no core file is
 *            written, and when the host has no memory left, this process is the first that the
 *            system ends.
 * Protects   the machine and the user's other processes, files and secrets, from code that means
 *            harm too. Not the run itself: the driver shares the address space of the bench, and
 *            can write over the findings (journal.h). docs/security.md says what is promised.
 * Limits     What the bench reads and writes is opened before the cage closes. Libraries that are
 *            loaded later cannot be.
 */
#ifndef DRYDOCK_BENCH_CAGE_H
#define DRYDOCK_BENCH_CAGE_H

#include <stdbool.h>
#include <stdint.h>

/* A call that did not happen. */
struct cage_call {
    int number;
    const char
        *name; /* of a call that is not on the list; NULL: it is, and came from the wrong place */
    uint64_t address;  /* behind it */
    uint64_t stack;    /* the stack pointer */
    const void *state; /* of the signal: a ucontext_t */
};

/* Hears of such a call. Stays for the life of the process. Called in a signal handler. */
typedef void cage_reporter(void *context, const struct cage_call *call);

/* Who hears of calls from now on; NULL: nobody. */
void cage_set_reporter(cage_reporter *report, void *context);

/*
 * Closes all files but these (at most 8) and the first three. For a process that was just made to
 * run drivers: it has the files of its parent, and among them those of results. In the cage nobody
 * closes or cuts those that are left: the parent is told through them.
 */
void cage_leave_files(const int *kept, unsigned count);

/* False: this system has no such thing, and no driver image is played. Done once, it stays. */
bool cage_close(void);
bool cage_is_closed(void);

#endif
