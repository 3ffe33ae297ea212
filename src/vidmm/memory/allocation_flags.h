/*
 * Allocation flags: the driver's flags of an allocation, judged together.
 *
 * Place      vidmm, below allocation.c.
 * Errors     STATUS_INVALID_PARAMETER and a driver error when flags contradict each other;
 *            STATUS_NOT_SUPPORTED for flags that the manager does not follow.
 * Source     contract.md ALLOC-004, ALLOC-009..011, ALLOC-014, ALLOC-015, ALLOC-023.
 */
#ifndef VIDMM_ALLOCATION_FLAGS_H
#define VIDMM_ALLOCATION_FLAGS_H

#include <ntddk.h>
#include <d3dkmddi.h>

struct vidmm_allocation;
struct vidmm_client_memory;

/* memory: that the client made the allocation over; NULL: none. */
NTSTATUS allocation_accept_flags(struct vidmm_allocation *allocation,
                                 const DXGK_ALLOCATIONINFO *info,
                                 const struct vidmm_client_memory *memory);

#endif
