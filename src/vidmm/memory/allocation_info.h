/*
 * Allocation info: the driver's report of an allocation that is created.
 *
 * Place      vidmm. Used by allocation.c, for DxgkDdiCreateAllocation and for context allocations.
 * Model      The report is judged as a whole, rule by rule, before anything of it is copied.
 *            Flags that concern one another are allocation_flags.c's.
 * Source     contract.md ALLOC-001..009, NTF-002, ADL-012, SWZ-008, XFER-018, RES-017.
 */
#ifndef VIDMM_ALLOCATION_INFO_H
#define VIDMM_ALLOCATION_INFO_H

#include "vidmm/vidmm.h"

#include <stdbool.h>

struct vidmm_allocation;

/* Takes over the driver's report; false, and a driver error, when it breaks a rule. */
bool allocation_accept_info(struct vidmm_allocation *allocation, const DXGK_ALLOCATIONINFO *info);

/* Windows' priorities are multiples of 0x28000000 around NORMAL; a class is one of the five. */
unsigned allocation_priority_class(uint32_t priority);

#endif
