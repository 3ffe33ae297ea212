/*
 * AGP: an aperture of the bridge, not of the GPU.
 *
 * Place      vidmm. Segments of the kind SEGMENT_AGP, physical model.
 * Model      The platform's GART maps system pages in the AGP window; the driver sees no operation.
 *            Two operations fetch the GPU's writes from the bridge before the CPU reads them.
 * Errors     STATUS_NO_MEMORY.
 * Source     contract.md BANK-006..008, PHYS-001..005.
 */
#ifndef VIDMM_AGP_H
#define VIDMM_AGP_H

#include <stdbool.h>

#include <ntddk.h>
#include <d3dkmddi.h>

struct segment;
struct vidmm;
struct vidmm_allocation;

/* Shows the scratch page at the start of the segment. agp_close() undoes it, whole or half done. */
NTSTATUS agp_open(struct vidmm *vidmm, struct segment *segment);
void agp_close(struct vidmm *vidmm);
/* The pages of a placed allocation in the bridge. */
NTSTATUS agp_map(struct vidmm_allocation *allocation);
void agp_unmap(struct vidmm_allocation *allocation);
/*
 * The next operation that gets the GPU's writes to the allocation out of the bridge, counted in
 * *step from 0; false when all have been generated.
 */
bool agp_op_flush(struct vidmm_allocation *allocation, unsigned *step,
                  DXGKARG_BUILDPAGINGBUFFER *args);

#endif
