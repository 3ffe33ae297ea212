/*
 * Cage: what the process that runs a driver image may do.
 *
 * Place      bench. Closed once in a process that is made to run drivers, when the first image is loaded.
 * Model      A driver image has no business with the operating system of the bench: what it wants it
 *            asks the kernel services for, which open no file and no connection for it. So a system
 *            call is lawful from the code of the bench and of the libraries that it has loaded, by the
 *            address that it comes from, and from nowhere else: not from the image, nor from memory
 *            that the image wrote code into. Such a call does not happen; it is a finding that names
 *            it, and it fails with "no such system call".
 *            No core file is written.
 * Protects   from code that was built for another system, from wild jumps and from mistakes. Not from
 *            a driver that sets out to harm: it shares the address space, and may jump into the C
 *            library. Run what you do not trust in a container or a virtual machine.
 * Limits     Libraries that are loaded later are outside. A program that the process would start has
 *            the same cage, and so cannot run.
 */
#ifndef DRYDOCK_BENCH_CAGE_H
#define DRYDOCK_BENCH_CAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Who is told of a call: its number, and the address behind it. Stays for the life of the process. */
typedef void cage_teller(void *context, int number, uint64_t address);

/* Whom calls are told to from now on; NULL: nobody. */
void cage_set_teller(cage_teller *tell, void *context);

/* False: this system has no such thing, and nothing is kept from the driver. Done once, it stays. */
bool cage_close(void);

#endif
