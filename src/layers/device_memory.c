#include "layers/device_memory.h"

#include "layers/layer.h"

#include <string.h>

#define PAGES   4
#define PATTERN 0x6d

struct device_memory_layer {
    struct layer layer; /* first */
    struct miniport_host *host;
    /* What the driver has; NULL: nothing of the kind. */
    HANDLE pages[2], contiguous[2], mapped;
    PMDL own; /* of `mapped` */
    SIZE_T save_area_bytes;
    struct object {
        HANDLE object, adapter;
        void *view;
        SIZE_T view_bytes;
        DXGK_ADL *adl;
    } objects[4];
};

static struct device_memory_layer *layer_of(struct miniport *self)
{
    return (struct device_memory_layer *)self;
}

#define ASK(layer, kind, arg)                                                                      \
    (layer)->host->ops->memory(                                                                    \
        (layer)->host, &(struct miniport_memory_request){MINIPORT_MEMORY_##kind, {.kind = (arg)}})

static const PHYSICAL_ADDRESS below_4_gib = {.QuadPart = 0xffffffff};

/* ---- Until WDDM 2.9 -------------------------------------------------------------------------- */

/* Of one range of addresses, or of it and the ranges behind. */
static HANDLE ask_for_pages(struct device_memory_layer *layer, LONGLONG skip)
{
    DXGKARGCB_ALLOCATEPAGESFORMDL arg = {.HighAddress = below_4_gib,
                                         .SkipBytes.QuadPart = skip,
                                         .TotalBytes = PAGES * PAGE_SIZE - 1,
                                         .CacheType = DXGK_MEMORY_CACHING_TYPE_CACHED};

    return NT_SUCCESS(ASK(layer, allocate_pages, &arg)) ? arg.hMemoryHandle : NULL;
}

/* boundary 0: it may lie across any. */
static HANDLE ask_for_contiguous(struct device_memory_layer *layer, LONGLONG boundary)
{
    DXGKARGCB_ALLOCATECONTIGUOUSMEMORY arg = {.NumberOfBytes = PAGES * PAGE_SIZE,
                                              .HighestAcceptableAddress = below_4_gib,
                                              .BoundaryAddressMultiple.QuadPart = boundary,
                                              .CacheType = DXGK_MEMORY_CACHING_TYPE_CACHED};

    if (!NT_SUCCESS(ASK(layer, allocate_contiguous, &arg)))
        return NULL;
    memset(arg.pMemory, PATTERN, arg.NumberOfBytes);
    return arg.hMemoryHandle;
}

static void ask_for_lists(struct device_memory_layer *layer)
{
    DXGKARGCB_MAPMDLTOIOMMU map = {0};

    layer->pages[0] = ask_for_pages(layer, 0);
    layer->pages[1] = ask_for_pages(layer, below_4_gib.QuadPart + 1);
    layer->contiguous[0] = ask_for_contiguous(layer, 1 << 20);
    layer->contiguous[1] = ask_for_contiguous(layer, 0);
    layer->own = map.pMdl =
        MmAllocatePagesForMdl((PHYSICAL_ADDRESS){0}, below_4_gib, (PHYSICAL_ADDRESS){0}, PAGE_SIZE);
    if (layer->own && NT_SUCCESS(ASK(layer, map_mdl, &map)))
        layer->mapped = map.hMemoryHandle;
}

static void give_lists_back(struct device_memory_layer *layer)
{
    const DXGKARGCB_UNMAPMDLFROMIOMMU mapped = {layer->mapped};

    for (unsigned i = 0; i < 2; i++) {
        const DXGKARGCB_FREEPAGESFROMMDL pages = {layer->pages[i]};
        const DXGKARGCB_FREECONTIGUOUSMEMORY contiguous = {layer->contiguous[i]};

        if (layer->pages[i])
            ASK(layer, free_pages, &pages);
        if (layer->contiguous[i])
            ASK(layer, free_contiguous, &contiguous);
        layer->pages[i] = layer->contiguous[i] = NULL;
    }
    if (layer->mapped)
        ASK(layer, unmap_mdl, &mapped);
    if (layer->own) {
        MmFreePagesFromMdl(layer->own);
        ExFreePool(layer->own);
    }
    layer->mapped = NULL;
    layer->own = NULL;
}

/* ---- From WDDM 2.9 on ------------------------------------------------------------------------ */

/* The adapter is named where the object is created, or where it is opened. */
static void create(struct device_memory_layer *layer, struct object *object,
                   DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT create)
{
    DXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT open = {.hAdapter = layer};

    create.Size = PAGES * PAGE_SIZE;
    create.CacheType = DXGK_MEMORY_CACHING_TYPE_CACHED;
    if (!NT_SUCCESS(ASK(layer, create_object, &create)))
        return;
    object->object = create.hPhysicalMemoryObject;
    object->adapter = create.hAdapterMemoryObject;
    open.hPhysicalMemoryObject = object->object;
    if (!object->adapter && NT_SUCCESS(ASK(layer, open_object, &open)))
        object->adapter = open.hAdapterMemoryObject;
}

/* A view of some bytes in the middle and an ADL of all pages but the first; or both from its start.
 */
static void use(struct device_memory_layer *layer, struct object *object, UINT32 flags,
                bool is_whole)
{
    DXGKARGCB_MAP_PHYSICAL_MEMORY map = {.hPhysicalMemoryObject = object->object,
                                         .Offset = is_whole ? 0 : PAGE_SIZE - 8,
                                         .Size = 16};
    DXGKARGCB_ALLOCATE_ADL adl = {.hAdapterMemoryObject = object->adapter,
                                  .Offset = is_whole ? 0 : PAGE_SIZE,
                                  .Size = (PAGES - 1) * PAGE_SIZE,
                                  .Flags.Value = flags};

    if (object->object && NT_SUCCESS(ASK(layer, map_object, &map))) {
        object->view = map.pMappedAddress;
        object->view_bytes = map.Size;
        memset((char *)map.pMappedAddress + map.Offset, PATTERN, 16);
    }
    if (object->adapter && NT_SUCCESS(ASK(layer, allocate_adl, &adl)))
        object->adl = adl.pAdl;
}

static void ask_for_objects(struct device_memory_layer *layer)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT scattered = {
        .hAdapter = layer, .Type = DXGK_PHYSICAL_MEMORY_TYPE_MDL, .Mdl.HighAddress = below_4_gib};
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT contiguous = {
        .Type = DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY,
        .ContiguousMemory.HighestAcceptableAddress = below_4_gib};
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT bounded = contiguous;
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT section = {.Type = DXGK_PHYSICAL_MEMORY_TYPE_SECTION};
    const DXGKARGCB_ALLOCATE_ADL prefer = {.Flags.PreferContiguous = 1};
    const DXGKARGCB_ALLOCATE_ADL require = {.Flags.RequireContiguous = 1};

    bounded.ContiguousMemory.BoundaryAddressMultiple.QuadPart = 1 << 20;
    create(layer, &layer->objects[0], scattered);
    use(layer, &layer->objects[0], prefer.Flags.Value, false);
    create(layer, &layer->objects[1], contiguous);
    use(layer, &layer->objects[1], require.Flags.Value, false);
    create(layer, &layer->objects[2], section);
    use(layer, &layer->objects[2], 0, false);
    create(layer, &layer->objects[3], bounded);
    use(layer, &layer->objects[3], require.Flags.Value, true);
}

/* The adapter's object is closed, or ends with the other one. */
static void give_object_back(struct device_memory_layer *layer, struct object *object, bool closes)
{
    const DXGKARGCB_UNMAP_PHYSICAL_MEMORY unmap = {object->object, object->view,
                                                   object->view_bytes};
    const DXGKARGCB_FREE_ADL free = {object->adapter, object->adl};
    const DXGKARGCB_CLOSE_PHYSICAL_MEMORY_OBJECT close = {object->adapter};
    const DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT destroy = {object->object,
                                                              closes ? NULL : object->adapter};

    if (object->view)
        ASK(layer, unmap_object, &unmap);
    if (object->adl)
        ASK(layer, free_adl, &free);
    if (object->adapter && closes)
        ASK(layer, close_object, &close);
    if (object->object)
        ASK(layer, destroy_object, &destroy);
    *object = (struct object){0};
}

/* ---- The save area --------------------------------------------------------------------------- */

static NTSTATUS hear_answer(struct miniport *self, HANDLE object,
                            const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, arg);

    if (NT_SUCCESS(status) && arg->Type == DXGKQAITYPE_FRAMEBUFFERSAVESIZE)
        layer_of(self)->save_area_bytes =
            ((const DXGK_FRAMEBUFFERSAVEAREA *)arg->pOutputData)->MaximumSize;
    return status;
}

/* The last page, which the CPU sees, and leaves as it was. */
static void look_at_piece(struct device_memory_layer *layer)
{
    DXGKARGCB_MAPFRAMEBUFFERPOINTER map = {.Size = PAGE_SIZE,
                                           .Offset = layer->save_area_bytes - PAGE_SIZE};
    DXGKARGCB_UNMAPFRAMEBUFFERPOINTER unmap = {0};
    volatile char *byte;

    if (!NT_SUCCESS(ASK(layer, map_save_area, &map)))
        return;
    byte = (char *)map.pBaseAddress + map.Offset;
    *byte = *byte;
    unmap.pBaseAddress = map.pBaseAddress;
    ASK(layer, unmap_save_area, &unmap);
}

/* The first page for the device, or else a piece (PWR-012); given back at once. */
static void use_save_area(struct device_memory_layer *layer)
{
    DXGKARGCB_PINFRAMEBUFFERFORSAVE2 pin = {.CommitSize = PAGE_SIZE, .Flags.PreferContiguous = 1};
    const DXGKARGCB_UNPINFRAMEBUFFERFORSAVE unpin = {0};

    if (NT_SUCCESS(ASK(layer, pin_save_area_2, &pin)))
        ASK(layer, unpin_save_area, &unpin);
    look_at_piece(layer);
}

static NTSTATUS change_power(struct miniport *self, ULONG uid, DEVICE_POWER_STATE state,
                             POWER_ACTION action)
{
    struct device_memory_layer *layer = layer_of(self);

    if (state != PowerDeviceD0 && layer->save_area_bytes &&
        layer->save_area_bytes % PAGE_SIZE == 0 &&
        miniport_interface_version(self->next) >= DXGKDDI_INTERFACE_VERSION_WDDM2_9)
        use_save_area(layer);
    return miniport_set_power_state(self->next, uid, state, action);
}

/* ---- The layer ------------------------------------------------------------------------------- */

static NTSTATUS start(struct miniport *self, const DXGK_START_INFO *info, ULONG *sources,
                      ULONG *children)
{
    NTSTATUS status = miniport_start_device(self->next, info, sources, children);
    const ULONG version = miniport_interface_version(self->next);

    if (!NT_SUCCESS(status))
        return status;
    if (version >= DXGKDDI_INTERFACE_VERSION_WDDM2_9)
        ask_for_objects(layer_of(self));
    else if (version >= DXGKDDI_INTERFACE_VERSION_WDDM2_4)
        ask_for_lists(layer_of(self));
    return status;
}

static NTSTATUS stop(struct miniport *self)
{
    struct device_memory_layer *layer = layer_of(self);

    give_lists_back(layer);
    give_object_back(layer, &layer->objects[0], false);
    give_object_back(layer, &layer->objects[1], true);
    give_object_back(layer, &layer->objects[2], false);
    give_object_back(layer, &layer->objects[3], true);
    return miniport_stop_device(self->next);
}

static void keep_host(struct miniport *self, struct miniport_host *host)
{
    layer_of(self)->host = host;
    miniport_set_host(self->next, host);
}

NTSTATUS device_memory_layer_create(const struct base_services *services, struct miniport *next,
                                    struct miniport **out_layer)
{
    struct device_memory_layer *layer =
        layer_create(services, sizeof *layer, "device memory", next);

    *out_layer = layer ? &layer->layer.miniport : NULL;
    if (!layer)
        return STATUS_NO_MEMORY;
    layer->layer.ops.start_device = start;
    layer->layer.ops.stop_device = stop;
    layer->layer.ops.set_host = keep_host;
    layer->layer.ops.query_adapter_info = hear_answer;
    layer->layer.ops.set_power_state = change_power;
    return STATUS_SUCCESS;
}
