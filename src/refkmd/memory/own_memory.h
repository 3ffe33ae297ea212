/*
 * The driver's own memory: the end of what BAR 1 reaches, on boards that set some apart.
 *
 * Place      refkmd, private.
 * Model      It is a table of words that the CPU writes when the device starts and after a reset,
 *            which loses local memory. No segment has it, so the kernel saves nothing of it: before
 *            a sleep the driver copies it to the save area of system memory, and back behind it, as
 *            a whole, or in pieces where the kernel cannot pin the whole (PWR-012).
 */
#ifndef REFKMD_OWN_MEMORY_H
#define REFKMD_OWN_MEMORY_H

#include "refkmd/adapter.h"

/* When the registers have been read: how much there is. */
void refkmd_own_memory_init(struct refkmd_adapter *adapter);

NTSTATUS refkmd_map_own_memory(struct refkmd_adapter *adapter);
void refkmd_unmap_own_memory(struct refkmd_adapter *adapter);

/* New words, which are not those of before. */
void refkmd_fill_own_memory(struct refkmd_adapter *adapter);

/* At PASSIVE_LEVEL. */
void refkmd_save_own_memory(struct refkmd_adapter *adapter);
void refkmd_restore_own_memory(struct refkmd_adapter *adapter);

/* It holds the words that were written last. */
BOOLEAN refkmd_own_memory_is_right(const struct refkmd_adapter *adapter);

#endif
