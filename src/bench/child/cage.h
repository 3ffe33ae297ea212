/*
 * Cage: what the process that runs a driver image may do.
 *
 * Place      bench. Closed once in a process that is made to run drivers, when the first image is
 *            loaded.
 * Model      A driver image has no business with the operating system of the bench: it asks the
 *            kernel services, which open no file and no connection for it. So a system call is
 *            lawful from the code of the bench and of the libraries that it has loaded, by the
 *            address that it comes from, and from nowhere else: not from the image, nor from memory
 *            that the image wrote code into. And wherever it comes from, it is none of those that
 *            reach out of the process: connections, other processes, programs, files that are
 *            written or renamed or removed by name, devices, the system's own settings. Such a call
 *            does not happen; it fails, with "no such system call" or "not permitted", and is
 *            reported. No core file is written, and when the host has no memory left, this process
 *            is the first that the system ends.
 * Protects   from code that was built for another system, from wild jumps and from mistakes. Not
 *            from a driver that sets out to harm: it shares the address space, and may read files
 *            through the C library and write to what the bench has open. Run what you do not trust
 *            in a container or a virtual machine.
 * Limits     Libraries that are loaded later are outside. What the bench writes is opened before.
 */
#ifndef DRYDOCK_BENCH_CAGE_H
#define DRYDOCK_BENCH_CAGE_H

#include <stdbool.h>
#include <stdint.h>

/* A call that did not happen. */
struct cage_call {
    int number;
    const char
        *name; /* of one that nobody may make; NULL: of any other, from where none is lawful */
    uint64_t address;  /* behind it */
    uint64_t stack;    /* the stack pointer */
    const void *state; /* of the signal: a ucontext_t */
};

/* Hears of such a call. Stays for the life of the process. Called in a signal handler. */
typedef void cage_reporter(void *context, const struct cage_call *call);

/* Who hears of calls from now on; NULL: nobody. */
void cage_set_reporter(cage_reporter *report, void *context);

/*
 * False: this system has no such thing, and nothing is kept from the driver. Done once, it stays.
 */
bool cage_close(void);
bool cage_is_closed(void);

#endif
