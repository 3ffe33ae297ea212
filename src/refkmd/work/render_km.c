/*
 * DxgkDdiRenderKm: what the kernel draws, in the physical model; DxgkDdiRenderGdi: the same where
 * addresses are virtual.
 *
 * The command buffer is the kernel's: an array of commands, each as long as its CommandSize says,
 * that name surfaces by their place in the allocation list. Sub-rectangles are parts of the
 * destination; the source's follow from the two rectangles of the command. This hardware copies
 * and fills: SRCCOPY and PATCOPY of rows are what it can do (STATUS_INVALID_PARAMETER otherwise).
 *
 * MultipassOffset counts the sub-rectangles of the whole command buffer that are done (PATCH-014).
 */
#include "refkmd/ddi.h"
#include "refkmd/work/blit.h"

#include <ntstatus.h>

/* A command in one shape. */
struct drawing {
    BOOLEAN is_copy;
    UINT source, destination, color;
    RECT from, to;
    UINT rectangle_count;
    const RECT *rectangles;
};

/* The progress of one call, published to the kernel at its end. */
struct progress {
    struct packet_writer writer;
    D3DDDI_PATCHLOCATIONLIST *next_location;
    UINT locations_left;
    UINT left_out;        /* sub-rectangles that calls before have drawn, and are to come */
    UINT done;            /* sub-rectangles, of all commands */
    UINT first_reference; /* of the next one, among the references of all */
};

static NTSTATUS read_command(const DXGK_RENDERKM_COMMAND *command, struct drawing *out)
{
    const DXGK_GDIARG_BITBLT *copy = &command->Command.BitBlt;
    const DXGK_GDIARG_COLORFILL *fill = &command->Command.ColorFill;

    RtlZeroMemory(out, sizeof *out);
    if (command->OpCode == DXGK_GDIOP_BITBLT && copy->Rop == DXGK_GDIROP_SRCCOPY) {
        out->is_copy = TRUE;
        out->source = copy->SrcAllocationIndex;
        out->destination = copy->DstAllocationIndex;
        out->from = copy->SrcRect;
        out->to = copy->DstRect;
        out->rectangle_count = copy->NumSubRects;
        out->rectangles = copy->pSubRects;
        return STATUS_SUCCESS;
    }
    if (command->OpCode == DXGK_GDIOP_COLORFILL && fill->Rop == DXGK_GDIROPCF_PATCOPY) {
        out->destination = fill->DstAllocationIndex;
        out->to = fill->DstRect;
        out->color = fill->Color;
        out->rectangle_count = fill->NumSubRects;
        out->rectangles = fill->pSubRects;
        return STATUS_SUCCESS;
    }
    return STATUS_INVALID_PARAMETER;
}

/* What the kernel wants drawn, and the surfaces that its commands name. */
struct command_buffer {
    const UCHAR *first;
    UINT bytes;
    const DXGK_ALLOCATIONLIST *list;
    UINT list_size;
};

static const struct refkmd_opening *opening_of(const struct command_buffer *commands, UINT index)
{
    return index < commands->list_size ? commands->list[index].hDeviceSpecificAllocation : NULL;
}

/* The sub-rectangles of a command that are not done yet; more says that commands follow. */
static NTSTATUS draw(const struct blit *blit, const struct command_buffer *commands,
                     const struct drawing *drawing, BOOLEAN more, struct progress *progress)
{
    const struct refkmd_opening *to = opening_of(commands, drawing->destination);
    const struct refkmd_opening *from =
        drawing->is_copy ? opening_of(commands, drawing->source) : NULL;
    struct blit_part part = {.is_copy = drawing->is_copy,
                             .source = drawing->source,
                             .destination = drawing->destination,
                             .color = drawing->color};
    UINT count = blit_reference_count(&part);
    UINT index;

    if (!to || (drawing->is_copy && !from) || !commands->list[drawing->destination].WriteOperation)
        return STATUS_INVALID_HANDLE;
    for (index = 0; index < drawing->rectangle_count; index++, progress->first_reference += count) {
        const RECT *rectangle = &drawing->rectangles[index];
        RECT source = blit_source_of(&drawing->from, &drawing->to, rectangle);

        if (progress->left_out) {
            progress->left_out--;
            continue;
        }
        if (!blit_strip_of(rectangle, to, &part.to) ||
            (part.is_copy && !blit_strip_of(&source, from, &part.from)))
            return STATUS_INVALID_PARAMETER;
        part.first_reference = progress->first_reference;
        part.is_first = progress->done == 0;
        part.is_last = !more && index + 1 == drawing->rectangle_count;
        if (!blit_write(blit, &part, &progress->writer, progress->next_location,
                        progress->locations_left))
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        if (progress->next_location) {
            progress->next_location += count;
            progress->locations_left -= count;
        }
        progress->done++;
    }
    return STATUS_SUCCESS;
}

/* STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER: what is in the buffer is whole, and more is to come. */
static NTSTATUS draw_all(const struct blit *blit, const struct command_buffer *commands,
                         struct progress *progress)
{
    NTSTATUS status = STATUS_SUCCESS;
    UINT offset;

    for (offset = 0; status == STATUS_SUCCESS && offset < commands->bytes;) {
        const DXGK_RENDERKM_COMMAND *command = (const void *)(commands->first + offset);
        UINT left = commands->bytes - offset;
        struct drawing drawing;

        if (left < sizeof *command || command->CommandSize < sizeof *command ||
            command->CommandSize > left)
            return STATUS_INVALID_USER_BUFFER;
        status = read_command(command, &drawing);
        offset += command->CommandSize;
        if (!NT_SUCCESS(status))
            return status;
        status = draw(blit, commands, &drawing, offset < commands->bytes, progress);
    }
    return status;
}

static BOOLEAN has_drawn(NTSTATUS status)
{
    return NT_SUCCESS(status) || status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

NTSTATUS NTAPI RefKmdRenderKm(IN_CONST_HANDLE hContext, INOUT_PDXGKARG_RENDER args)
{
    const struct command_buffer commands = {args->pCommand, args->CommandLength,
                                            args->pAllocationList, args->AllocationListSize};
    const struct blit blit = {.adapter = refkmd_context_of(hContext)->device->adapter,
                              .list = args->pAllocationList,
                              .dma_buffer = args->pDmaBuffer};
    struct progress progress = {.next_location = args->pPatchLocationListOut,
                                .locations_left = args->PatchLocationListOutSize,
                                .left_out = args->MultipassOffset,
                                .done = args->MultipassOffset};
    NTSTATUS status;

    PAGED_CODE();

    packet_writer_begin(&progress.writer, args->pDmaBuffer, args->DmaSize);
    status = draw_all(&blit, &commands, &progress);
    if (!has_drawn(status))
        return status;
    args->pDmaBuffer = (UCHAR *)args->pDmaBuffer + packet_writer_end(&progress.writer);
    args->pPatchLocationListOut = progress.next_location;
    args->MultipassOffset = progress.done;
    return status;
}

/* The list has virtual addresses, which stay as they are: there are no places to patch. */
NTSTATUS NTAPI RefKmdRenderGdi(IN_CONST_HANDLE hContext, INOUT_PDXGKARG_RENDERGDI args)
{
    const struct command_buffer commands = {args->pCommand, args->CommandLength,
                                            args->pAllocationList, args->AllocationListSize};
    const struct blit blit = {.adapter = refkmd_context_of(hContext)->device->adapter,
                              .list = args->pAllocationList,
                              .dma_buffer = args->pDmaBuffer};
    struct progress progress = {.left_out = args->MultipassOffset, .done = args->MultipassOffset};
    NTSTATUS status;

    PAGED_CODE();

    packet_writer_begin(&progress.writer, args->pDmaBuffer, args->DmaSize);
    status = draw_all(&blit, &commands, &progress);
    if (!has_drawn(status))
        return status;
    args->pDmaBuffer = (UCHAR *)args->pDmaBuffer + packet_writer_end(&progress.writer);
    args->MultipassOffset = progress.done;
    return status;
}
