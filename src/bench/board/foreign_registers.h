/*
 * Foreign registers: what a board without a model shows on its bus.
 *
 * Place      bench. Used by run where there is no model of the GPU (foreign_board.h has the memory
 *            of such a board).
 * Model      Base addresses 0 and 4 lead to registers, those of 4 behind those of 0; base address 2
 *            is the window on local memory. Registers remember what was written to them and do
 *            nothing; they are 0 at first. Or they keep nothing and read as ones, as where no
 *            device answers. The case's surroundings (workload/case/surroundings.h) say which, how
 *            large they are, what they hold at first and what the PCI function's header says.
 * Ownership  foreign_registers_open() gives it; it borrows the machine and must be closed before
 *            that goes.
 * Errors     A sentence: no memory, or sizes that do not fit.
 */
#ifndef DRYDOCK_BENCH_FOREIGN_REGISTERS_H
#define DRYDOCK_BENCH_FOREIGN_REGISTERS_H

#include "base/services.h"
#include "machine/machine.h"

#define FOREIGN_REGISTER_BYTES (UINT64_C(1) << 20) /* of base address 0, if nobody says another */

struct foreign_registers;

/* NULL: it is done; else why not. surroundings may be NULL. */
const char *foreign_registers_open(const struct base_services *services, struct machine *machine,
                                   const char *surroundings, struct foreign_registers **out);
void foreign_registers_close(struct foreign_registers *registers); /* NULL: nothing to do */

#endif
