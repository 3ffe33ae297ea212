/*
 * Foreign board: the board of a driver of another GPU than the Drydock GPU.
 *
 * Place      bench. A layer right above the driver. Used by run.
 * Model      Without a model (gpu_plugin.h), registers are memory (foreign_registers.h); BAR 1
 *            shows local memory; no engine runs. A driver of such a board works with the CPU.
 *
 *            Where its memory segments are follows from its answer to QUERYSEGMENT: at
 *            CpuTranslatedAddress, in BAR 1 or in system memory, where it gives one; else at
 *            BaseAddress, counted from the start of local memory.
 *
 *            Memory is as volatile as the segment flags say: DxgkDdiSetPowerState to D3 takes what
 *            they do not preserve in this kind of sleep, DxgkDdiResetFromTimeout takes all of it.
 *            Bytes that were taken read as SGPU_LOST_PATTERN, once the driver has returned.
 * Ownership  foreign_board_create() gives it, and the miniport stack owns it from then on; the
 *            machine is borrowed.
 * Errors     STATUS_NO_MEMORY.
 * Source     contract.md SEG-010, SEG-011, PWR-001 to PWR-005, TDR-011.
 */
#ifndef DRYDOCK_BENCH_FOREIGN_BOARD_H
#define DRYDOCK_BENCH_FOREIGN_BOARD_H

#include "base/services.h"
#include "check/oracle/oracle.h"
#include "machine/machine.h"
#include "miniport/miniport.h"

/* On failure next is still the caller's. */
NTSTATUS foreign_board_create(const struct base_services *services, struct machine *machine,
                              struct miniport *next, struct miniport **out_layer);

/* oracle_config.resolve, for the layer that foreign_board_create() gave. */
bool foreign_board_resolve(const struct miniport *layer, const struct oracle_segment *segment,
                           uint64_t offset, uint64_t bytes, struct page_store **out_store,
                           uint64_t *out_address);

#endif
