/*
 * Memory requests: the callbacks by which a driver gets system memory that its device reaches.
 *
 * Place      miniport. struct miniport_host_ops has one function for all of them, memory().
 * Model      A request is the kind of callback and its argument structure, which the driver lends
 *            for the call. Callbacks that return nothing have a status here: what the kernel found,
 *            for the layers between driver and kernel.
 * Source     The pages of DXGKCB_ALLOCATEPAGESFORMDL, ..., "IOMMU DMA remapping" and "IOMMU-based
 *            GPU isolation".
 */
#ifndef DRYDOCK_MINIPORT_MEMORY_REQUEST_H
#define DRYDOCK_MINIPORT_MEMORY_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

/*
 * X(slot of DXGKRNL_INTERFACE, member of the request, argument, where the slot has the adapter,
 * what it returns). ADAPTER: as its first parameter; ARGUMENT: the slot has the structure alone.
 */
#define MINIPORT_MEMORY_LIST(X)                                                                    \
    X(AllocatePagesForMdl, allocate_pages, DXGKARGCB_ALLOCATEPAGESFORMDL *, ADAPTER, STATUS)       \
    X(FreePagesFromMdl, free_pages, const DXGKARGCB_FREEPAGESFROMMDL *, ADAPTER, STATUS)           \
    X(AllocateContiguousMemory, allocate_contiguous, DXGKARGCB_ALLOCATECONTIGUOUSMEMORY *,         \
      ADAPTER, STATUS)                                                                             \
    X(FreeContiguousMemory, free_contiguous, const DXGKARGCB_FREECONTIGUOUSMEMORY *, ADAPTER,      \
      STATUS)                                                                                      \
    X(MapMdlToIoMmu, map_mdl, DXGKARGCB_MAPMDLTOIOMMU *, ADAPTER, STATUS)                          \
    X(UnmapMdlFromIoMmu, unmap_mdl, const DXGKARGCB_UNMAPMDLFROMIOMMU *, ADAPTER, NOTHING)         \
    X(CreatePhysicalMemoryObject, create_object, DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT *,        \
      ARGUMENT, STATUS)                                                                            \
    X(DestroyPhysicalMemoryObject, destroy_object,                                                 \
      const DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT *, ARGUMENT, NOTHING)                         \
    X(MapPhysicalMemory, map_object, DXGKARGCB_MAP_PHYSICAL_MEMORY *, ARGUMENT, STATUS)            \
    X(UnmapPhysicalMemory, unmap_object, const DXGKARGCB_UNMAP_PHYSICAL_MEMORY *, ARGUMENT,        \
      NOTHING)                                                                                     \
    X(AllocateAdl, allocate_adl, DXGKARGCB_ALLOCATE_ADL *, ARGUMENT, STATUS)                       \
    X(FreeAdl, free_adl, const DXGKARGCB_FREE_ADL *, ARGUMENT, NOTHING)                            \
    X(OpenPhysicalMemoryObject, open_object, DXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT *, ARGUMENT,    \
      STATUS)                                                                                      \
    X(ClosePhysicalMemoryObject, close_object, const DXGKARGCB_CLOSE_PHYSICAL_MEMORY_OBJECT *,     \
      ARGUMENT, NOTHING)                                                                           \
    X(PinFrameBufferForSave, pin_save_area, DXGKARGCB_PINFRAMEBUFFERFORSAVE *, ADAPTER, STATUS)    \
    X(PinFrameBufferForSave2, pin_save_area_2, DXGKARGCB_PINFRAMEBUFFERFORSAVE2 *, ADAPTER,        \
      STATUS)                                                                                      \
    X(UnpinFrameBufferForSave, unpin_save_area, const DXGKARGCB_UNPINFRAMEBUFFERFORSAVE *,         \
      ADAPTER, STATUS)                                                                             \
    X(MapFrameBufferPointer, map_save_area, DXGKARGCB_MAPFRAMEBUFFERPOINTER *, ADAPTER, STATUS)    \
    X(UnmapFrameBufferPointer, unmap_save_area, const DXGKARGCB_UNMAPFRAMEBUFFERPOINTER *,         \
      ADAPTER, STATUS)

enum miniport_memory_kind {
#define X(slot, member, argument, place, returns) MINIPORT_MEMORY_##member,
    MINIPORT_MEMORY_LIST(X)
#undef X
        MINIPORT_MEMORY_COUNT
};

struct miniport_memory_request {
    enum miniport_memory_kind kind;
    union { /* the member of this kind; never NULL */
        const void *any;
#define X(slot, member, argument, place, returns) argument member;
        MINIPORT_MEMORY_LIST(X)
#undef X
    };
};

/* "DxgkCbAllocatePagesForMdl" */
const char *miniport_memory_name(enum miniport_memory_kind kind);

/* The type of its argument ("const DXGKARGCB_FREE_ADL *"), and the bytes of that structure. */
const char *miniport_memory_type(enum miniport_memory_kind kind);
size_t miniport_memory_bytes(enum miniport_memory_kind kind);

/* The callbacks before WDDM 2.9, which a device behind a remapping IOMMU must not use. */
static inline bool miniport_memory_is_old(enum miniport_memory_kind kind)
{
    return kind <= MINIPORT_MEMORY_unmap_mdl || kind == MINIPORT_MEMORY_pin_save_area;
}

/* Those of the area for what a driver keeps in local memory beside allocations. */
static inline bool miniport_memory_is_of_save_area(enum miniport_memory_kind kind)
{
    return kind >= MINIPORT_MEMORY_pin_save_area && kind <= MINIPORT_MEMORY_unmap_save_area;
}

#endif
