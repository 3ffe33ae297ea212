/*
 * Defects of presents, and of what the kernel draws.
 */
#include "zoo/zoo_tables.h"

#include <string.h>

static NTSTATUS present_fails(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    return EVERY(zoo_layer_of(self), 3) ? STATUS_INVALID_PARAMETER
                                        : miniport_forward_present(self, object, arg);
}

static void plant_present_fails(struct zoo_layer *layer)
{
    layer->ops.present = present_fails;
}

/* The destination of the last rectangle is in the commands, and not in the list. */
static NTSTATUS present_lists_less(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    const D3DDDI_PATCHLOCATIONLIST *first = arg->pPatchLocationListOut;
    NTSTATUS status = miniport_forward_present(self, object, arg);

    if (arg->pPatchLocationListOut > first)
        arg->pPatchLocationListOut--;
    return status;
}

static void plant_present_lists_less(struct zoo_layer *layer)
{
    layer->ops.present = present_lists_less;
}

/* Begins anew in each buffer, and says that it has come no further. */
static NTSTATUS present_without_progress(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    UINT multipass = arg->MultipassOffset;
    void *start = arg->pDmaBuffer;
    D3DDDI_PATCHLOCATIONLIST *first = arg->pPatchLocationListOut;
    NTSTATUS status = miniport_forward_present(self, object, arg);

    if (arg->SubRectCnt < 8 || !NT_SUCCESS(status))
        return status;
    arg->MultipassOffset = multipass;
    arg->pDmaBuffer = start;
    arg->pPatchLocationListOut = first;
    return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

static void plant_present_without_progress(struct zoo_layer *layer)
{
    layer->ops.present = present_without_progress;
}

/* Its own idea of the source: what stands at the place of the destination. */
static NTSTATUS present_in_place(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    RECT source = arg->SrcRect;
    NTSTATUS status;

    arg->SrcRect = arg->DstRect;
    status = miniport_forward_present(self, object, arg);
    arg->SrcRect = source;
    return status;
}

static void plant_present_in_place(struct zoo_layer *layer)
{
    layer->ops.present = present_in_place;
}

/* As from a list that is good for as long as the context lives. */
static NTSTATUS present_to_the_first(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGK_ALLOCATIONLIST *given = arg->pAllocationList;
    DXGK_ALLOCATIONLIST list[MINIPORT_PRESENT_ALLOCATIONS];
    NTSTATUS status;

    memcpy(list, given, sizeof list);
    if (!layer->state[0])
        layer->state[0] = list[DXGK_PRESENT_DESTINATION_INDEX].VirtualAddress;
    list[DXGK_PRESENT_DESTINATION_INDEX].VirtualAddress = layer->state[0];
    arg->pAllocationList = list;
    status = miniport_forward_present(self, object, arg);
    arg->pAllocationList = given;
    return status;
}

static void plant_present_to_the_first(struct zoo_layer *layer)
{
    layer->ops.present = present_to_the_first;
}

/* ---- What the kernel draws ---- */

static NTSTATUS render_km_fails(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    return EVERY(zoo_layer_of(self), 3) ? STATUS_NOT_SUPPORTED
                                        : miniport_forward_render_km(self, object, arg);
}

static void plant_render_km_fails(struct zoo_layer *layer)
{
    layer->ops.render_km = render_km_fails;
}

/* Where the first command copies, its second sub-rectangle is the first one again. */
static NTSTATUS render_km_draws_one(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    const DXGK_RENDERKM_COMMAND *command = arg->pCommand;
    RECT *rectangles, second;
    NTSTATUS status;

    if (arg->CommandLength < sizeof *command || command->OpCode != DXGK_GDIOP_BITBLT ||
        command->Command.BitBlt.NumSubRects < 2)
        return miniport_forward_render_km(self, object, arg);
    rectangles = command->Command.BitBlt.pSubRects;
    second = rectangles[1];
    rectangles[1] = rectangles[0];
    status = miniport_forward_render_km(self, object, arg);
    rectangles[1] = second;
    return status;
}

static void plant_render_km_draws_one(struct zoo_layer *layer)
{
    layer->ops.render_km = render_km_draws_one;
}

/* The command behind this one; NULL: none. */
static DXGK_RENDERKM_COMMAND *next_command(const DXGKARG_RENDER *arg,
                                           const DXGK_RENDERKM_COMMAND *command)
{
    char *next = (char *)command + command->CommandSize;

    return next < (char *)arg->pCommand + arg->CommandLength ? (void *)next : NULL;
}

/* Which of the two surfaces are the source and the destination of all copies. */
static void turn_copies(DXGKARG_RENDER *arg, UINT destination)
{
    DXGK_RENDERKM_COMMAND *command = (void *)arg->pCommand;

    for (; command; command = next_command(arg, command)) {
        command->Command.BitBlt.SrcAllocationIndex = !destination;
        command->Command.BitBlt.DstAllocationIndex = destination;
    }
    arg->pAllocationList[destination].WriteOperation = 1;
    arg->pAllocationList[!destination].WriteOperation = 0;
}

/* As if the source were always the first of the list, as it is in presents. */
static NTSTATUS render_km_places(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    NTSTATUS status;

    if (arg->AllocationListSize != 2 || !arg->pAllocationList[0].WriteOperation)
        return miniport_forward_render_km(self, object, arg);
    turn_copies(arg, 1);
    status = miniport_forward_render_km(self, object, arg);
    turn_copies(arg, 0);
    return status;
}

static void plant_render_km_places(struct zoo_layer *layer)
{
    layer->ops.render_km = render_km_places;
}

/* The array of commands is taken for one. */
static NTSTATUS render_km_draws_first(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    UINT bytes = arg->CommandLength;
    NTSTATUS status;

    *(UINT *)&arg->CommandLength = ((const DXGK_RENDERKM_COMMAND *)arg->pCommand)->CommandSize;
    status = miniport_forward_render_km(self, object, arg);
    *(UINT *)&arg->CommandLength = bytes;
    return status;
}

static void plant_render_km_draws_first(struct zoo_layer *layer)
{
    layer->ops.render_km = render_km_draws_first;
}

/* Color is 32 bits; the driver fills with the lowest byte of it. */
static NTSTATUS render_km_fills_bytes(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    DXGK_RENDERKM_COMMAND *command = (void *)arg->pCommand;
    UINT color = command->Command.ColorFill.Color;
    NTSTATUS status;

    if (command->OpCode != DXGK_GDIOP_COLORFILL)
        return miniport_forward_render_km(self, object, arg);
    command->Command.ColorFill.Color = (color & 0xff) * 0x01010101u;
    status = miniport_forward_render_km(self, object, arg);
    command->Command.ColorFill.Color = color;
    return status;
}

static void plant_render_km_fills_bytes(struct zoo_layer *layer)
{
    layer->ops.render_km = render_km_fills_bytes;
}

/* In another DMA buffer it begins with the first sub-rectangle again. */
static NTSTATUS render_km_begins_anew(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    arg->MultipassOffset = 0;
    return miniport_forward_render_km(self, object, arg);
}

static void plant_render_km_begins_anew(struct zoo_layer *layer)
{
    layer->ops.render_km = render_km_begins_anew;
}

static NTSTATUS render_km_lists_less(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    const D3DDDI_PATCHLOCATIONLIST *first = arg->pPatchLocationListOut;
    NTSTATUS status = miniport_forward_render_km(self, object, arg);

    if (arg->pPatchLocationListOut > first)
        arg->pPatchLocationListOut--;
    return status;
}

static void plant_render_km_lists_less(struct zoo_layer *layer)
{
    layer->ops.render_km = render_km_lists_less;
}

/* ---- The same by virtual addresses ---- */

static NTSTATUS render_gdi_fails(struct miniport *self, HANDLE object, DXGKARG_RENDERGDI *arg)
{
    return EVERY(zoo_layer_of(self), 3) ? STATUS_INVALID_PARAMETER
                                        : miniport_forward_render_gdi(self, object, arg);
}

static void plant_render_gdi_fails(struct zoo_layer *layer)
{
    layer->ops.render_gdi = render_gdi_fails;
}

/* As from a list that is good for as long as the context lives. */
static NTSTATUS render_gdi_to_the_first(struct miniport *self, HANDLE object,
                                        DXGKARG_RENDERGDI *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGK_ALLOCATIONLIST *last = &arg->pAllocationList[arg->AllocationListSize - 1];
    D3DGPU_VIRTUAL_ADDRESS given = last->VirtualAddress;
    NTSTATUS status;

    if (!layer->state[0])
        layer->state[0] = given;
    last->VirtualAddress = layer->state[0];
    status = miniport_forward_render_gdi(self, object, arg);
    last->VirtualAddress = given;
    return status;
}

static void plant_render_gdi_to_the_first(struct zoo_layer *layer)
{
    layer->ops.render_gdi = render_gdi_to_the_first;
}

/* In another DMA buffer it begins with the first sub-rectangle again. */
static NTSTATUS render_gdi_begins_anew(struct miniport *self, HANDLE object, DXGKARG_RENDERGDI *arg)
{
    arg->MultipassOffset = 0;
    return miniport_forward_render_gdi(self, object, arg);
}

static void plant_render_gdi_begins_anew(struct zoo_layer *layer)
{
    layer->ops.render_gdi = render_gdi_begins_anew;
}

#define DRAWN_BY_KERNEL "presents=yes present-by=render-km coherent-aperture=yes"

/* clang-format off */
const struct zoo_defect zoo_present_defects[] = {
    PLANT("PRESENT-status", ZOO_ALL, "PATCH-021", plant_present_fails,
          "fails Present by a status that it does not have", .focus = "presents=yes"),
    PLANT("RENDERKM-status", ZOO_PHYSICAL, "PATCH-026", plant_render_km_fails,
          "fails RenderKm by a status that it does not have",
          .focus = DRAWN_BY_KERNEL),
    PLANT("RENDERKM-one-rectangle", ZOO_PHYSICAL, "content", plant_render_km_draws_one,
          "takes the first sub-rectangle of a command for the second one, too",
          .focus = DRAWN_BY_KERNEL),
    PLANT("RENDERKM-places", ZOO_PHYSICAL, "content", plant_render_km_places,
          "takes the first surface of the list for the source, as in presents",
          .focus = DRAWN_BY_KERNEL),
    PLANT("RENDERKM-first-command", ZOO_PHYSICAL, "content", plant_render_km_draws_first,
          "draws the first command of the array alone", .focus = DRAWN_BY_KERNEL),
    PLANT("RENDERKM-fill-byte", ZOO_PHYSICAL, "content", plant_render_km_fills_bytes,
          "fills with the lowest byte of the color", .focus = DRAWN_BY_KERNEL),
    PLANT("RENDERKM-begins-anew", ZOO_PHYSICAL, "PATCH-014", plant_render_km_begins_anew,
          "begins with the first sub-rectangle again in another DMA buffer",
          .focus = DRAWN_BY_KERNEL " dma-buffer=512"),
    PLANT("RENDERKM-location-left", ZOO_PHYSICAL, "PATCH-011", plant_render_km_lists_less,
          "leaves a reference of what the kernel draws out of the patch list",
          .focus = DRAWN_BY_KERNEL),
    PLANT("RENDERGDI-status", ZOO_GPUMMU | ZOO_IOMMU, "PATCH-026", plant_render_gdi_fails,
          "fails RenderGdi by a status that it does not have", .focus = DRAWN_BY_KERNEL),
    PLANT("RENDERGDI-address-kept", ZOO_GPUMMU | ZOO_IOMMU, "content",
          plant_render_gdi_to_the_first,
          "draws to the virtual address of the last surface of the first list",
          .focus = DRAWN_BY_KERNEL),
    PLANT("RENDERGDI-begins-anew", ZOO_GPUMMU | ZOO_IOMMU, "PATCH-014",
          plant_render_gdi_begins_anew,
          "begins with the first sub-rectangle again in another DMA buffer",
          .focus = DRAWN_BY_KERNEL " dma-buffer=512"),
    PLANT("PRESENT-location-left", ZOO_PHYSICAL, "PATCH-011", plant_present_lists_less,
          "leaves a reference of a present out of the patch list", .focus = "presents=yes"),
    PLANT("PRESENT-no-progress", ZOO_ALL, "PATCH-014", plant_present_without_progress,
          "wants another buffer for a present and has come no further", .focus = "presents=yes"),
    PLANT("PRESENT-source-moved", ZOO_ALL, "content", plant_present_in_place,
          "takes the rectangle of the destination for that of the source of a present",
          .focus = "presents=yes"),
    PLANT("PRESENT-address-kept", ZOO_GPUMMU | ZOO_IOMMU, "content", plant_present_to_the_first,
          "presents to the virtual address of the first destination that it was told",
          .focus = "presents=yes"),
    {0},
};
/* clang-format on */
