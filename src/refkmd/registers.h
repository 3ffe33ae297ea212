/*
 * Registers of the board, and memory of the pool.
 *
 * Place      refkmd, private; the bottom. Calls the kernel only.
 * Model      A board that has gone (surprise removal) reads as all ones, as an empty slot of the
 *            bus does, and is not written to.
 */
#ifndef REFKMD_REGISTERS_H
#define REFKMD_REGISTERS_H

#include "refkmd/adapter.h"

#define REFKMD_POOL_TAG 0x6b666552u /* "Refk" in memory */

/* reg is an offset in BAR 0. */
ULONG refkmd_read(const struct refkmd_adapter *adapter, ULONG reg);
void refkmd_write(const struct refkmd_adapter *adapter, ULONG reg, ULONG value);
UINT64 refkmd_read64(const struct refkmd_adapter *adapter, ULONG reg);
void refkmd_write64(const struct refkmd_adapter *adapter, ULONG reg, UINT64 value);

/* Zeroed nonpaged pool, or NULL. */
void *refkmd_alloc(SIZE_T bytes);
void refkmd_free(void *pointer);

#endif
