/*
 * Backing store: the system pages of an allocation.
 *
 * Place      vidmm. Uses the platform and the IOMMU; used by whatever gives an allocation content.
 * Model      An allocation has a backing store while its content is outside of a memory segment,
 *            or, with PermanentSysMem, all the time. Its page numbers follow the MDL.
 * Ownership  The allocation's, from allocation_take_backing() to allocation_release_backing().
 * Errors     STATUS_NO_MEMORY: there are no pages, nor any that an offered allocation could lose.
 * Units      Pages of 4 KiB.
 * Source     contract.md ALLOC-012, OFFER-003, RES-017.
 */
#ifndef VIDMM_BACKING_H
#define VIDMM_BACKING_H

#include <ntddk.h>

struct vidmm_allocation;

#define MDL_MOST_BYTES 0xfffff000u /* whole pages that ByteCount can say */

NTSTATUS allocation_take_backing(struct vidmm_allocation *allocation);
/* Nothing when it has none. */
void allocation_release_backing(struct vidmm_allocation *allocation);
/* The content of an offered allocation that has no place goes; EMPTY. */
void allocation_forget_content(struct vidmm_allocation *allocation);

#endif
