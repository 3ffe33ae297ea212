/*
 * Processor: the kernel's structure of the running processor, where an image reads it: at gs.
 *
 * Place      nt. Set up by trap.c, with the other things that an image finds in place of a
 *            processor.
 * Model      gs points to a KPCR; compilers and public headers inline the reads of it:
 *
 *                gs:[0x18]    the structure itself
 *                gs:[0x20]    the KPRCB, which begins at 0x180
 *                gs:[0x184]   the processor's number, a byte; gs:[0x1a4] the same, 32 bits
 *                gs:[0x188]   the running thread (KeGetCurrentThread)
 *
 *            All else in it is zero. There is one processor, so there is one structure, and one for
 *            all kernels of the process; it stays when the image is gone, for nothing else here
 *            uses gs.
 * Errors     False: the system does not let gs be set; an image that reads it faults.
 * Source     Type information of the kernel's public symbol files, as it is published for x64: KPCR
 *            has Self at 0x18, CurrentPrcb at 0x20 and the KPRCB itself at 0x180; KPRCB has MxCsr
 *            at 0, LegacyNumber at 4, CurrentThread at 8 and Number at 0x24.
 */
#ifndef DRYDOCK_NT_PROCESSOR_H
#define DRYDOCK_NT_PROCESSOR_H

#include <stdbool.h>

bool processor_install(void);

/* The thread that runs, as the driver knows it (a PKTHREAD). */
void processor_set_thread(void *thread);

#endif
