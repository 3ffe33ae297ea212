/*
 * Defects of drivers that save what they have in local memory beside allocations (PWR-012, and from
 * PWR-016 on). The reference driver does so, and a layer above it asks in another way.
 */
#include "zoo/zoo_tables.h"

/* What the driver asks, as a copy that the defect may change. */
static NTSTATUS pass(struct zoo_layer *layer, const struct miniport_memory_request *request)
{
    return layer->host.upper->ops->memory(layer->host.upper, request);
}

#define UP(name)                                                                                   \
    static NTSTATUS up_##name(struct miniport_host *host,                                          \
                              const struct miniport_memory_request *request)                       \
    {                                                                                              \
        return name(zoo_layer_of_host(host), request);                                             \
    }                                                                                              \
    static void plant_##name(struct zoo_layer *layer)                                              \
    {                                                                                              \
        layer->host_ops.memory = up_##name;                                                        \
    }

/* There is no room for the whole, and so there is none for pieces. */
static NTSTATUS give_up(struct zoo_layer *layer, const struct miniport_memory_request *request)
{
    return request->kind == MINIPORT_MEMORY_map_save_area ? STATUS_NO_MEMORY : pass(layer, request);
}
UP(give_up)

static NTSTATUS pin_bytes(struct zoo_layer *layer, const struct miniport_memory_request *request)
{
    if (request->kind == MINIPORT_MEMORY_pin_save_area)
        request->pin_save_area->CommitSize -= 100;
    return pass(layer, request);
}
UP(pin_bytes)

static NTSTATUS pin_too_much(struct zoo_layer *layer, const struct miniport_memory_request *request)
{
    if (request->kind == MINIPORT_MEMORY_pin_save_area)
        request->pin_save_area->CommitSize *= 2;
    return pass(layer, request);
}
UP(pin_too_much)

/* Counts pieces from 1. */
static NTSTATUS map_next(struct zoo_layer *layer, const struct miniport_memory_request *request)
{
    if (request->kind == MINIPORT_MEMORY_map_save_area)
        request->map_save_area->Offset += request->map_save_area->Size;
    return pass(layer, request);
}
UP(map_next)

static NTSTATUS keep_pinned(struct zoo_layer *layer, const struct miniport_memory_request *request)
{
    return request->kind == MINIPORT_MEMORY_unpin_save_area ? STATUS_SUCCESS : pass(layer, request);
}
UP(keep_pinned)

static NTSTATUS keep_mapped(struct zoo_layer *layer, const struct miniport_memory_request *request)
{
    return request->kind == MINIPORT_MEMORY_unmap_save_area ? STATUS_SUCCESS : pass(layer, request);
}
UP(keep_mapped)

/* From the address of the piece, not that of the view. */
static NTSTATUS unmap_piece(struct zoo_layer *layer, const struct miniport_memory_request *request)
{
    static __thread SIZE_T offset; /* of the piece in its view */
    DXGKARGCB_UNMAPFRAMEBUFFERPOINTER unmap;
    NTSTATUS status;

    if (request->kind == MINIPORT_MEMORY_unmap_save_area) {
        unmap = *request->unmap_save_area;
        unmap.pBaseAddress = (char *)unmap.pBaseAddress + offset;
        return pass(layer, &(struct miniport_memory_request){MINIPORT_MEMORY_unmap_save_area,
                                                             {.unmap_save_area = &unmap}});
    }
    status = pass(layer, request);
    if (request->kind == MINIPORT_MEMORY_map_save_area)
        offset = request->map_save_area->Offset;
    return status;
}
UP(unmap_piece)

/* Saves as soon as the last work has ended, in the DPC that says so. */
static void save_in_dpc(struct miniport *self)
{
    DXGKARGCB_PINFRAMEBUFFERFORSAVE pin = {.CommitSize = PAGE_SIZE};
    const DXGKARGCB_UNPINFRAMEBUFFERFORSAVE unpin = {0};

    miniport_dpc(self->next);
    if (NT_SUCCESS(pass(zoo_layer_of(self),
                        &(struct miniport_memory_request){MINIPORT_MEMORY_pin_save_area,
                                                          {.pin_save_area = &pin}})))
        pass(zoo_layer_of(self), &(struct miniport_memory_request){MINIPORT_MEMORY_unpin_save_area,
                                                                   {.unpin_save_area = &unpin}});
}

static void plant_save_in_dpc(struct zoo_layer *layer)
{
    layer->ops.dpc = save_in_dpc;
}

/* As before WDDM 2.9. */
static NTSTATUS list_again(struct miniport *self, ULONG uid, DEVICE_POWER_STATE state,
                           POWER_ACTION action)
{
    DXGKARGCB_PINFRAMEBUFFERFORSAVE pin = {.CommitSize = PAGE_SIZE};

    if (state != PowerDeviceD0)
        pass(zoo_layer_of(self), &(struct miniport_memory_request){MINIPORT_MEMORY_pin_save_area,
                                                                   {.pin_save_area = &pin}});
    return miniport_set_power_state(self->next, uid, state, action);
}

static void plant_list_again(struct zoo_layer *layer)
{
    layer->ops.set_power_state = list_again;
}

#define LISTED "own-memory=128K wddm=2.6 dma-remapping=no"
#define PIECES "own-memory=128K wddm=3.0"

/* clang-format off */
const struct zoo_defect zoo_save_area_defects[] = {
    PLANT("SAVE-gives-up", ZOO_GPUMMU, "PWR-012", plant_give_up,
          "saves nothing where the save area cannot be pinned",
          .focus = LISTED " faults=save-area"),
    PLANT("SAVE-odd-size", ZOO_GPUMMU, "PWR-016", plant_pin_bytes,
          "pins bytes, not pages", .focus = LISTED),
    PLANT("SAVE-too-much", ZOO_GPUMMU, "PWR-016", plant_pin_too_much,
          "pins more than it has reported", .focus = LISTED),
    PLANT("SAVE-from-one", ZOO_GPUMMU, "PWR-017", plant_map_next,
          "counts the pieces of the save area from 1", .focus = PIECES),
    PLANT("SAVE-keeps-pinned", ZOO_GPUMMU, "PWR-018", plant_keep_pinned,
          "never unpins the save area", .focus = LISTED),
    PLANT("SAVE-keeps-mapped", ZOO_GPUMMU, "PWR-018", plant_keep_mapped,
          "never unmaps pieces of the save area", .focus = PIECES),
    PLANT("SAVE-unmaps-piece", ZOO_GPUMMU, "PWR-018", plant_unmap_piece,
          "unmaps where the piece lies, not where its view begins", .focus = PIECES),
    PLANT("SAVE-in-dpc", ZOO_GPUMMU, "PWR-019", plant_save_in_dpc,
          "pins the save area in its DPC", .focus = LISTED),
    PLANT("SAVE-list-again", ZOO_GPUMMU, "PWR-020", plant_list_again,
          "pins by an MDL for a device behind a remapping IOMMU",
          .focus = PIECES " dma-remapping=yes"),
    {0},
};
/* clang-format on */
