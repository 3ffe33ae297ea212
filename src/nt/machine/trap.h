/*
 * Trap: instructions that the processor refuses to a driver here and would run in a kernel.
 *
 * Place      nt. Installed while a driver image is loaded.
 * Model      Four kinds of faults of a driver's instruction are answered here; all others of an
 *            image become exceptions (exception.h), and a fault outside of an image goes to the
 *            handler that was there before.
 *
 *            Registers. A mapping of the device's BAR 0 is memory that must not be touched. Any
 *            instruction that touches it is decoded, to find its reads and writes there. The values
 *            to read are fetched from the device and laid where the instruction looks for them, it
 *            runs alone, and the values that it wrote are given to the device. So inlined volatile
 *            accesses reach the device like READ_REGISTER_ULONG does, in the sizes that they have.
 *
 *            Shared data. Reads of the kernel's page of clocks, which compilers inline for
 *            KeQuerySystemTime() and its like (shared_data.h).
 *
 *            The IRQL. Moves from and to CR8, which compilers inline for KeGetCurrentIrql() and
 *            KeRaiseIrql(), are those functions.
 *
 *            Instructions for a kernel only. "in" and "out" reach the ports (port.h), but for
 *            their string forms, which are exceptions. Disabling
 *            interrupts, flushing caches: nothing to do on the one processor of the bench. Machine
 *            register access, halting: reported, reads give zero. "int 29h" (__fastfail) is bug
 *            check 0x139 with its code.
 * Limits     One kernel a process. An access to registers costs two signals, some microseconds.
 *            The time stamp counter (rdtsc) is the host's, so a driver that decides by it is not
 *            deterministic. Linux can refuse it, but only to all code of the thread, and the C
 *            library's clocks, which the bench reads, would be refused too; switching at every
 *            crossing of the boundary would cost two system calls each time. An instruction that
 *            reaches a page of registers and another page at once is not answered.
 * Source     Public architecture manuals; bug check 0x139's documentation.
 */
#ifndef DRYDOCK_NT_TRAP_H
#define DRYDOCK_NT_TRAP_H

#include "nt/nt.h"

struct trap_config {
    void *context;
    /* Whether instructions for a kernel only are answered for code at this address. */
    bool (*is_driver)(void *context, uint64_t address);
};

/* False: no memory, or another one is installed. */
bool trap_install(struct nt *nt, const struct trap_config *config);
void trap_remove(struct nt *nt);

/* Register accesses that were answered, for statistics. */
uint64_t trap_register_accesses(void);

#endif
