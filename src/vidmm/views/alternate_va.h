/*
 * Alternate virtual addresses: swizzling ranges, through which the CPU sees an allocation that lies
 * in another order in memory (below WDDM 2.0).
 *
 * Place      vidmm. Allocations tell it when they move; locks ask it for a range.
 * Model      alternate_va.c. An allocation has at most one range, reserved while it is out and
 *            acquired while it is resident.
 * Source     contract.md SWZ-001..010, SLT-001..007, XFER-014, XFER-015; sequence S-19.
 */
#ifndef VIDMM_ALTERNATE_VA_H
#define VIDMM_ALTERNATE_VA_H

#include <stdbool.h>
#include <stdint.h>

#include <ntddk.h>
#include <d3dkmddi.h>

struct vidmm_allocation;

/* A swizzling range of the driver's, in vidmm->swizzling_ranges by its number. */
struct swizzling_range {
    struct vidmm_allocation *owner; /* NULL: nobody has it */
    uint64_t address;               /* where the CPU sees the owner, while it is acquired */
    uint32_t data;                  /* the client's name for the lock */
    bool is_acquired;               /* while the owner is resident */
};

/* A range for a resident allocation that is being locked, if it wants one and there is one. */
void alternate_va_open(struct vidmm_allocation *allocation);
void alternate_va_close(struct vidmm_allocation *allocation);
/* It starts to leave; is_for_cpu: because the CPU wants to look at it. */
void alternate_va_leaves(struct vidmm_allocation *allocation, bool is_for_cpu);
/* It has left its segment, or has come (back) to one. */
void alternate_va_left(struct vidmm_allocation *allocation);
void alternate_va_entered(struct vidmm_allocation *allocation);
/* The CPU sees the allocation through its range; there. */
bool alternate_va_is_acquired(const struct vidmm_allocation *allocation);
uint64_t alternate_va_address(const struct vidmm_allocation *allocation);
/* SPECIAL_LOCK_TRANSFER in the place of its transfer, of that part of it. */
void alternate_va_op_transfer(const struct vidmm_allocation *allocation, bool is_in,
                              uint64_t offset, uint64_t size, DXGKARG_BUILDPAGINGBUFFER *args);
/* Which way the order of a Swizzled allocation changes between memory and its backing store. */
void alternate_va_set_order(const struct vidmm_allocation *allocation, bool is_in,
                            DXGK_TRANSFERFLAGS *flags);

#endif
