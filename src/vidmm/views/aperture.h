/*
 * Aperture: the operations that show an allocation's backing store in slots, and take it off again.
 *
 * Place      vidmm. Used by the generators of allocations and by recovery.
 * Model      MAP_APERTURE_SEGMENT with an MDL, or MAP_APERTURE_SEGMENT2 with an address descriptor
 *            list; UNMAP_APERTURE_SEGMENT for both.
 * Units      Offsets in bytes of the aperture; pages of 4 KiB.
 * Source     contract.md APER-001..019, ADL-001..014; sequences S-12, S-21.
 */
#ifndef VIDMM_APERTURE_H
#define VIDMM_APERTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <ntddk.h>
#include <d3dkmddi.h>

struct segment;
struct vidmm;
struct vidmm_allocation;

/*
 * The next operation that maps the backing store at offset of the aperture, or takes it off; false,
 * and ready to begin anew, when all have been generated. The last call of the second, which comes
 * when the driver has seen the last unmap, ends the driver's view of the pages.
 */
bool aperture_op_map(struct vidmm_allocation *allocation, const struct segment *aperture,
                     uint64_t offset, DXGKARG_BUILDPAGINGBUFFER *args);
bool aperture_op_unmap(struct vidmm_allocation *allocation, const struct segment *aperture,
                       uint64_t offset, DXGKARG_BUILDPAGINGBUFFER *args);
/* MapApertureCpuVisible: the address that goes with the mapping. STATUS_NO_MEMORY. */
NTSTATUS aperture_open_view(struct vidmm_allocation *allocation);
void aperture_close_view(struct vidmm_allocation *allocation);

/* The device's number of a system page: the page's own, or its logical page behind an IOMMU. */
uint64_t device_page(const struct vidmm *vidmm, uint64_t page);

#endif
