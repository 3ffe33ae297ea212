/*
 * Shared data: the page of clocks that an image reads at 0xFFFFF78000000000 (KUSER_SHARED_DATA).
 *
 * Place      nt, private; trap.c calls it from its handlers.
 * Model      The address lies in the half that Linux gives to nobody, so a read of it faults. It is
 *            answered by the instruction itself, run alone with its base register moved to a page
 *            of the bench's that has been filled for it; a load of rax from a 64-bit address, which
 *            has no base, is done in its place. A read looks at the clock (nt_look_at_clock()), on
 *            the bench's stack: a driver that polls sees time go on. Members that are not modelled
 *            are zero.
 * Limits     Reads with a base register that the instruction uses for something else too, string
 *            instructions and writes are faults, as at a page that is not there.
 * Source     Public documentation of KUSER_SHARED_DATA; TickCountMultiplier is that of
 *            GetTickCount(): ticks times it, shifted right by 24, are milliseconds.
 */
#ifndef DRYDOCK_NT_SHARED_DATA_H
#define DRYDOCK_NT_SHARED_DATA_H

#include "nt/nt.h"

bool shared_data_has(const void *address);

#if defined(__x86_64__) && defined(__linux__)
#include <Zydis/Zydis.h>

/* In a handler: answers the read that faulted, now or when it faults again. False: it cannot be. */
bool shared_data_begin(struct nt *nt, void *context, const ZydisDecodedInstruction *instruction,
                       const ZydisDecodedOperand *operands);

/* Behind the instruction, or where it will not run. False: none was begun. */
bool shared_data_end(void *context);
#endif

#endif
