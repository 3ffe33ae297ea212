/*
 * Allocation flags: the driver's flags of an allocation, judged together.
 *
 * Place      vidmm, below allocation.c.
 * Errors     STATUS_INVALID_PARAMETER and a driver error when flags contradict each other;
 *            STATUS_NOT_SUPPORTED for flags that the manager does not follow.
 * Source     contract.md ALLOC-004, ALLOC-009..011, ALLOC-014, ALLOC-015.
 */
#ifndef VIDMM_ALLOCATION_FLAGS_H
#define VIDMM_ALLOCATION_FLAGS_H

#include <ntddk.h>
#include <d3dkmddi.h>

struct vidmm_allocation;

NTSTATUS allocation_accept_flags(struct vidmm_allocation *allocation,
                                 const DXGK_ALLOCATIONINFO *info);

#endif
