/*
 * Save area: system memory for what a driver keeps in local memory beside allocations, which a
 * sleep would lose.
 *
 * Place      nt. The host of a driver calls it where the driver calls DxgkCbPinFrameBufferForSave
 *            and the other four callbacks of its kind. Their rules are judged above
 *            (check_save_area.c); here is what they do.
 * Model      One section, as large as the driver has said (DXGK_FRAMEBUFFERSAVEAREA.MaximumSize).
 *            Its pages are taken when it is made, so that there is room whenever it is asked for,
 *            and hold their content until it goes. The driver has its first bytes as a whole, for
 *            the device, by an MDL or, where an IOMMU remaps the device, by an ADL; or it maps
 *            pieces for the CPU, which begin at VIEW_BYTES (64 KiB) as views of sections do: the
 *            callback says how far behind the view's address the piece lies.
 * Ownership  The kernel's. nt_destroy() and nt_set_save_area() free it with all that shows it.
 * Errors     STATUS_INVALID_PARAMETER: no such size or place, nothing pinned, no such view;
 *            STATUS_ALREADY_COMMITTED: it is pinned; STATUS_NO_MEMORY; STATUS_NOT_SUPPORTED: an MDL
 *            is of no use to a device that is remapped. Nothing has changed then.
 * Source     "IOMMU-based GPU isolation", "IOMMU DMA remapping", the pages of the callbacks.
 */
#ifndef DRYDOCK_NT_SAVE_AREA_H
#define DRYDOCK_NT_SAVE_AREA_H

#include "nt/nt.h"

#include <dispmprt.h>
#include <d3dkmddi.h>

/* Behind the start of the adapter. 0 bytes: there is none. False: no memory, and there is none. */
bool nt_set_save_area(struct nt *nt, uint64_t bytes);

NTSTATUS nt_device_pin_save_area(struct nt *nt, DXGKARGCB_PINFRAMEBUFFERFORSAVE *arg);
NTSTATUS nt_device_pin_save_area_2(struct nt *nt, DXGKARGCB_PINFRAMEBUFFERFORSAVE2 *arg);
/* Of both. */
NTSTATUS nt_device_unpin_save_area(struct nt *nt, const DXGKARGCB_UNPINFRAMEBUFFERFORSAVE *arg);
NTSTATUS nt_device_map_save_area(struct nt *nt, DXGKARGCB_MAPFRAMEBUFFERPOINTER *arg);
NTSTATUS nt_device_unmap_save_area(struct nt *nt, const DXGKARGCB_UNMAPFRAMEBUFFERPOINTER *arg);

#endif
