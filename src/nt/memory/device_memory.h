/*
 * Device memory: system memory that the graphics kernel gives a driver for its device.
 *
 * Place      nt. The host of a driver calls it where the driver calls DxgkCbAllocatePagesForMdl and
 *            the other 13 callbacks of its kind; save_area.h has five more. The rules of these
 *            callbacks are judged above (check_device_memory.c); here is what they do.
 * Model      Everything that a driver was given has a handle, a number that is the same in each
 *            run. Pages and contiguous memory are described by what the CPU sees. An object is
 *            pages that the CPU sees by MapPhysicalMemory, and the device by an ADL, once the
 *            object is opened for the adapter: then the pages have logical addresses where an
 *            IOMMU remaps (nt_set_device_pages()), and else their own.
 *
 *            A device that is remapped reaches nothing by physical addresses, so the callbacks that
 *            give those are refused there.
 * Ownership  The kernel's, until the driver gives it back; nt_destroy() frees what is left.
 * Errors     STATUS_INVALID_HANDLE: there is none of that kind; STATUS_INVALID_PARAMETER;
 *            STATUS_NO_MEMORY; STATUS_NOT_SUPPORTED: refused because of the IOMMU. Nothing has
 *            changed then, but for nt_device_unmap_mdl().
 *            Functions of callbacks that return nothing have a status for those who watch.
 * Source     "IOMMU-based GPU isolation", "IOMMU DMA remapping", the pages of the callbacks.
 */
#ifndef DRYDOCK_NT_DEVICE_MEMORY_H
#define DRYDOCK_NT_DEVICE_MEMORY_H

#include "nt/nt.h"

#include <dispmprt.h>
#include <d3dkmddi.h>

/* What an IOMMU that remaps the device does with pages of RAM. */
struct nt_device_pages {
    void *context;
    /* Shows them to the device one behind the other. False: no memory. */
    bool (*show)(void *context, const uint64_t *pfns, uint64_t count, uint64_t *out_first);
    void (*hide)(void *context, const uint64_t *pfns, uint64_t count);
};

/* Before the driver starts its device. NULL: the device sees pages by their own numbers. */
void nt_set_device_pages(struct nt *nt, const struct nt_device_pages *pages);

NTSTATUS nt_device_allocate_pages(struct nt *nt, DXGKARGCB_ALLOCATEPAGESFORMDL *arg);
NTSTATUS nt_device_free_pages(struct nt *nt, const DXGKARGCB_FREEPAGESFROMMDL *arg);
NTSTATUS nt_device_allocate_contiguous(struct nt *nt, DXGKARGCB_ALLOCATECONTIGUOUSMEMORY *arg);
NTSTATUS nt_device_free_contiguous(struct nt *nt, const DXGKARGCB_FREECONTIGUOUSMEMORY *arg);

NTSTATUS nt_device_map_mdl(struct nt *nt, DXGKARGCB_MAPMDLTOIOMMU *arg);
/*
 * STATUS_MEMORY_NOT_ALLOCATED: the MDL was freed before; STATUS_CONFLICTING_ADDRESSES: it has
 * changed, or its pages are no longer locked. The mapping has ended in both cases.
 */
NTSTATUS nt_device_unmap_mdl(struct nt *nt, const DXGKARGCB_UNMAPMDLFROMIOMMU *arg);

NTSTATUS nt_device_create_object(struct nt *nt, DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT *arg);
/* STATUS_DEVICE_BUSY: it has an ADL. */
NTSTATUS nt_device_destroy_object(struct nt *nt,
                                  const DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT *arg);
NTSTATUS nt_device_map_object(struct nt *nt, DXGKARGCB_MAP_PHYSICAL_MEMORY *arg);
NTSTATUS nt_device_unmap_object(struct nt *nt, const DXGKARGCB_UNMAP_PHYSICAL_MEMORY *arg);
/* STATUS_ALREADY_COMMITTED: the object is open. */
NTSTATUS nt_device_open_object(struct nt *nt, DXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT *arg);
/* STATUS_DEVICE_BUSY: it has an ADL. */
NTSTATUS nt_device_close_object(struct nt *nt, const DXGKARGCB_CLOSE_PHYSICAL_MEMORY_OBJECT *arg);

NTSTATUS nt_device_allocate_adl(struct nt *nt, DXGKARGCB_ALLOCATE_ADL *arg);
NTSTATUS nt_device_free_adl(struct nt *nt, const DXGKARGCB_FREE_ADL *arg);

/* What the driver has not given back, and of how many bytes: for those who count leaks. */
uint64_t nt_device_memory_count(const struct nt *nt, uint64_t *out_bytes);

#endif
