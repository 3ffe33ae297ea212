/*
 * Root changes: with two levels of page tables the root is as large as the addresses in use need.
 *
 * Place      vidmm, called by page_table.c.
 * Model      root_change.c: a larger table, whose job moves the contexts over to it before anything
 *            that is queued later.
 * Errors     As table_memory_take(); STATUS_NO_MEMORY.
 * Units      Addresses and sizes in bytes.
 * Source     contract.md PT-007..011, PT-013, PT-015, PT-035.
 */
#ifndef VIDMM_ROOT_CHANGE_H
#define VIDMM_ROOT_CHANGE_H

#include <stdint.h>

#include <ntddk.h>

struct address_space;
struct vidmm;

/* Makes the root of two levels reach end. Nothing to do where it reaches already. */
NTSTATUS root_reserve(struct address_space *space, uint64_t end);
/*
 * Bytes of the root table for entry_count entries, and in *entry_count how many it will have.
 * PT-008, PT-006: a driver that answers otherwise is told of, STATUS_INVALID_PARAMETER.
 */
NTSTATUS root_size(struct address_space *space, uint64_t *entry_count, uint64_t *out_bytes);

#endif
