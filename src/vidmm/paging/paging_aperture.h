/*
 * Paging aperture: paging buffers behind slots of an aperture segment (PagingBufferSegmentId).
 *
 * Place      vidmm, below the paging queue. Not in the GpuMmu model, where the paging process maps
 *            the buffers.
 * Ownership  A buffer has its slots from paging_aperture_take() to paging_aperture_release().
 * Errors     STATUS_GRAPHICS_NO_VIDEO_MEMORY, STATUS_NO_MEMORY, the driver's own status.
 * Source     contract.md PB-018, APER-005, SUB-006; sequence S-01, step 6.
 */
#ifndef VIDMM_PAGING_APERTURE_H
#define VIDMM_PAGING_APERTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <ntddk.h>

struct paging_buffer;
struct vidmm;
struct vidmm_failure;

/* Whether paging buffers are in an aperture segment, for the GPU. */
bool paging_aperture_is_used(const struct vidmm *vidmm);
NTSTATUS paging_aperture_take(struct vidmm *vidmm, struct paging_buffer *buffer);
void paging_aperture_release(struct vidmm *vidmm, struct paging_buffer *buffer);
/* At the start, and when the slots do not show the buffers any more. */
NTSTATUS paging_aperture_map(struct vidmm *vidmm, struct vidmm_failure *failure);
/* Nothing is built or under way: before a loss of power, and before the buffers go. */
void paging_aperture_unmap(struct vidmm *vidmm);
/* The segment and the address in it that a submission names in the physical model. */
uint64_t paging_aperture_address(struct vidmm *vidmm, const struct paging_buffer *buffer,
                                 UINT *out_segment);

#endif
