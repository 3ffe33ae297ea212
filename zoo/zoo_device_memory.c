/*
 * Defects of drivers that ask the graphics kernel for memory for their device (IOMMU-005, and from
 * IOMMU-008 on). Each asks where its device has started, beside what the reference driver does.
 */
#include "zoo/zoo_tables.h"

#define PAGES 4

static NTSTATUS ask(struct zoo_layer *layer, const struct miniport_memory_request *request)
{
    return layer->host.upper->ops->memory(layer->host.upper, request);
}

#define ASK(layer, kind, arg)                                                                      \
    ask(layer, &(struct miniport_memory_request){MINIPORT_MEMORY_##kind, {.kind = (arg)}})

/* A mistake that is made when the device has started. */
#define AT_START(name)                                                                             \
    static void name(struct zoo_layer *layer);                                                     \
    static NTSTATUS start_##name(struct miniport *self, const DXGK_START_INFO *start,              \
                                 ULONG *sources, ULONG *children)                                  \
    {                                                                                              \
        NTSTATUS status = miniport_start_device(self->next, start, sources, children);             \
                                                                                                   \
        if (NT_SUCCESS(status))                                                                    \
            name(zoo_layer_of(self));                                                              \
        return status;                                                                             \
    }                                                                                              \
    static void plant_##name(struct zoo_layer *layer)                                              \
    {                                                                                              \
        layer->ops.start_device = start_##name;                                                    \
    }                                                                                              \
    static void name(struct zoo_layer *layer)

static const PHYSICAL_ADDRESS anywhere = {.QuadPart = INT64_MAX};

/* ---- Pages and contiguous memory ---- */

/* Memory for the next fence is asked for where the last one is reported, at DISPATCH_LEVEL. */
static void ask_in_dpc(struct miniport *self)
{
    DXGKARGCB_ALLOCATECONTIGUOUSMEMORY allocate = {.NumberOfBytes = PAGE_SIZE,
                                                   .HighestAcceptableAddress = anywhere};
    DXGKARGCB_FREECONTIGUOUSMEMORY free;

    if (NT_SUCCESS(ASK(zoo_layer_of(self), allocate_contiguous, &allocate))) {
        free.hMemoryHandle = allocate.hMemoryHandle;
        ASK(zoo_layer_of(self), free_contiguous, &free);
    }
    miniport_dpc(self->next);
}

static void plant_ask_in_dpc(struct zoo_layer *layer)
{
    layer->ops.dpc = ask_in_dpc;
}

/* The kernel has the caps by then. */
static NTSTATUS old_callback(struct miniport *self, HANDLE object, DXGKARG_CREATEDEVICE *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARGCB_ALLOCATEPAGESFORMDL allocate = {.HighAddress = anywhere, .TotalBytes = PAGE_SIZE};
    DXGKARGCB_FREEPAGESFROMMDL free;

    if (NT_SUCCESS(ASK(layer, allocate_pages, &allocate))) {
        free.hMemoryHandle = allocate.hMemoryHandle;
        ASK(layer, free_pages, &free);
    }
    return miniport_forward_create_device(self, object, arg);
}

static void plant_old_callback(struct zoo_layer *layer)
{
    layer->ops.create_device = old_callback;
}

AT_START(skip_bytes)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT create = {
        .Size = PAGE_SIZE, .Mdl.HighAddress = anywhere, .Mdl.SkipBytes.QuadPart = 100};

    ASK(layer, create_object, &create);
}

AT_START(odd_boundary)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT create = {
        .Size = PAGE_SIZE,
        .Type = DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY,
        .ContiguousMemory.HighestAcceptableAddress = anywhere,
        .ContiguousMemory.BoundaryAddressMultiple.QuadPart = 3 * PAGE_SIZE};

    ASK(layer, create_object, &create);
}

AT_START(all_at_once)
{
    DXGKARGCB_ALLOCATEPAGESFORMDL allocate = {.HighAddress = anywhere,
                                              .TotalBytes = (SIZE_T)1 << 32};

    ASK(layer, allocate_pages, &allocate);
}

AT_START(wrong_opposite)
{
    DXGKARGCB_ALLOCATECONTIGUOUSMEMORY allocate = {.NumberOfBytes = PAGE_SIZE,
                                                   .HighestAcceptableAddress = anywhere};
    DXGKARGCB_FREEPAGESFROMMDL wrong;
    DXGKARGCB_FREECONTIGUOUSMEMORY free;

    if (!NT_SUCCESS(ASK(layer, allocate_contiguous, &allocate)))
        return;
    wrong.hMemoryHandle = free.hMemoryHandle = allocate.hMemoryHandle;
    ASK(layer, free_pages, &wrong);
    ASK(layer, free_contiguous, &free);
}

AT_START(mdl_first)
{
    PMDL mdl =
        MmAllocatePagesForMdl((PHYSICAL_ADDRESS){0}, anywhere, (PHYSICAL_ADDRESS){0}, PAGE_SIZE);
    DXGKARGCB_MAPMDLTOIOMMU map = {.pMdl = mdl};
    DXGKARGCB_UNMAPMDLFROMIOMMU unmap;
    NTSTATUS status;

    if (!mdl)
        return;
    status = ASK(layer, map_mdl, &map);
    MmFreePagesFromMdl(mdl);
    ExFreePool(mdl);
    unmap.hMemoryHandle = map.hMemoryHandle;
    if (NT_SUCCESS(status))
        ASK(layer, unmap_mdl, &unmap);
}

/* ---- Objects ---- */

/* Of scattered pages; false: there is none. */
static bool create(struct zoo_layer *layer, DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT *object)
{
    *object = (DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT){
        .hAdapter = layer, .Size = PAGES * PAGE_SIZE, .Mdl.HighAddress = anywhere};
    return NT_SUCCESS(ASK(layer, create_object, object));
}

static void destroy(struct zoo_layer *layer, const DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT *object)
{
    const DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT destroy = {object->hPhysicalMemoryObject,
                                                              object->hAdapterMemoryObject};

    ASK(layer, destroy_object, &destroy);
}

AT_START(object_kept)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object;

    create(layer, &object);
}

AT_START(registers_inside)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT create = {.Size = 256,
                                                      .Type = DXGK_PHYSICAL_MEMORY_TYPE_IO_SPACE,
                                                      .IOSpace.BaseAddress.QuadPart = 0xfee00040};

    ASK(layer, create_object, &create);
}

AT_START(open_again)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object;
    DXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT open = {.hAdapter = layer};

    if (!create(layer, &object))
        return;
    open.hPhysicalMemoryObject = object.hPhysicalMemoryObject;
    ASK(layer, open_object, &open);
    destroy(layer, &object);
}

static void list(struct zoo_layer *layer, SIZE_T offset, UINT32 flags, unsigned frees)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object;
    DXGKARGCB_ALLOCATE_ADL adl = {.Offset = offset, .Size = PAGE_SIZE, .Flags.Value = flags};
    DXGKARGCB_FREE_ADL free;

    if (!create(layer, &object))
        return;
    adl.hAdapterMemoryObject = free.hAdapterMemoryObject = object.hAdapterMemoryObject;
    if (NT_SUCCESS(ASK(layer, allocate_adl, &adl))) {
        free.pAdl = adl.pAdl;
        for (unsigned i = 0; i < frees; i++)
            ASK(layer, free_adl, &free);
    }
    destroy(layer, &object);
}

AT_START(bytes_not_pages)
{
    list(layer, 100, 0, 1);
}

AT_START(contiguous_of_pages)
{
    list(layer, 0, 1, 1);
}

AT_START(free_twice)
{
    list(layer, 0, 0, 2);
}

AT_START(list_kept)
{
    list(layer, 0, 0, 0);
}

AT_START(unmap_requested)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object;
    DXGKARGCB_MAP_PHYSICAL_MEMORY map = {.Offset = 512, .Size = 64};
    DXGKARGCB_UNMAP_PHYSICAL_MEMORY unmap = {.Size = 64};

    if (!create(layer, &object))
        return;
    map.hPhysicalMemoryObject = unmap.hPhysicalMemoryObject = object.hPhysicalMemoryObject;
    if (NT_SUCCESS(ASK(layer, map_object, &map))) {
        unmap.pBaseAddress = map.pMappedAddress;
        ASK(layer, unmap_object, &unmap);
    }
    destroy(layer, &object);
}

/* clang-format off */
const struct zoo_defect zoo_device_memory_defects[] = {
    PLANT("IOMMU-memory-in-dpc", ZOO_ALL, "IOMMU-005", plant_ask_in_dpc,
          "calls DxgkCbAllocateContiguousMemory in its DPC"),
    PLANT("IOMMU-old-callback", ZOO_GPUMMU, "IOMMU-005", plant_old_callback,
          "calls DxgkCbAllocatePagesForMdl for a device behind a remapping IOMMU",
          .focus = "dma-remapping=yes"),
    PLANT("DEVMEM-skip-bytes", ZOO_ALL, "IOMMU-008", plant_skip_bytes,
          "skips 100 bytes where pages are skipped"),
    PLANT("DEVMEM-odd-boundary", ZOO_ALL, "IOMMU-009", plant_odd_boundary,
          "wants memory that crosses no multiple of three pages"),
    PLANT("DEVMEM-all-at-once", ZOO_ALL, "IOMMU-010", plant_all_at_once,
          "asks for an MDL of 4 GiB"),
    PLANT("DEVMEM-wrong-opposite", ZOO_ALL, "IOMMU-011", plant_wrong_opposite,
          "frees contiguous memory as the pages of an MDL first"),
    PLANT("DEVMEM-mdl-first", ZOO_ALL, "IOMMU-012", plant_mdl_first,
          "frees an MDL and unmaps it from the IOMMU behind that"),
    PLANT("DEVMEM-object-kept", ZOO_ALL, "IOMMU-013", plant_object_kept,
          "never destroys a physical memory object"),
    PLANT("DEVMEM-registers-inside", ZOO_ALL, "IOMMU-014", plant_registers_inside,
          "makes an object of registers in the middle of a page"),
    PLANT("DEVMEM-open-again", ZOO_ALL, "IOMMU-015", plant_open_again,
          "opens an object that was created for its adapter"),
    PLANT("DEVMEM-bytes-not-pages", ZOO_ALL, "IOMMU-016", plant_bytes_not_pages,
          "lists an object from its byte 100 on"),
    PLANT("DEVMEM-contiguous-of-pages", ZOO_ALL, "IOMMU-017", plant_contiguous_of_pages,
          "requires scattered pages to be contiguous"),
    PLANT("DEVMEM-free-twice", ZOO_ALL, "IOMMU-018", plant_free_twice,
          "frees an ADL twice"),
    PLANT("DEVMEM-list-kept", ZOO_ALL, "IOMMU-019", plant_list_kept,
          "destroys an object that has an ADL"),
    PLANT("DEVMEM-unmap-requested", ZOO_ALL, "IOMMU-020", plant_unmap_requested,
          "ends a view with the size that it asked for, not the one that it got"),
    {0},
};
/* clang-format on */
