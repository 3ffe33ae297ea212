/*
 * DxgkDdiPresent and DxgkDdiPresentToHwQueue: the commands of a present. In the physical model
 * Patch patches them as Render's; where the context has virtual addresses, the list has those of
 * source and destination, which stay as they are, and there is no list of places (RES-009).
 *
 * The kernel says from where to where, in pixels of surfaces, and which parts of the destination
 * are written; it has clipped them. The user-mode half says in private data which render of the
 * workload it is.
 */
#include "refkmd/ddi.h"
#include "refkmd/work/blit.h"

#include <ntstatus.h>

/*
 * MultipassOffset is the number of the first sub-rectangle that is left. Color keys,
 * rotation and stretching are not of this hardware.
 */
static NTSTATUS present(const struct refkmd_context *context, DXGKARG_PRESENT *args)
{
    const DXGK_ALLOCATIONLIST *list = args->pAllocationList;
    const struct refkmd_opening *from = list[DXGK_PRESENT_SOURCE_INDEX].hDeviceSpecificAllocation;
    const struct refkmd_opening *to =
        list[DXGK_PRESENT_DESTINATION_INDEX].hDeviceSpecificAllocation;
    D3DDDI_PATCHLOCATIONLIST *next = context->is_virtual ? NULL : args->pPatchLocationListOut;
    UINT count = args->Flags.Blt ? 2 : 1;
    UINT left = args->PatchLocationListOutSize;
    struct sgpu_umd_present request;
    struct packet_writer writer;
    struct blit blit;
    NTSTATUS status = STATUS_SUCCESS;
    UINT index;

    /* A flip is by registers, so there is nothing to put in a buffer. */
    if (args->Flags.Flip)
        return from && !args->pDmaBuffer ? STATUS_SUCCESS : STATUS_INVALID_HANDLE;
    if (!args->pPrivateDriverData || args->PrivateDriverDataSize < sizeof request)
        return STATUS_ILLEGAL_INSTRUCTION;
    RtlCopyMemory(&request, args->pPrivateDriverData, sizeof request);
    if (request.version != SGPU_UMD_VERSION || request.reserved || (args->Flags.Value & ~3u) ||
        args->Flags.Blt == args->Flags.ColorFill)
        return STATUS_ILLEGAL_INSTRUCTION;
    if (!to || (args->Flags.Blt && !from) || !list[DXGK_PRESENT_DESTINATION_INDEX].WriteOperation)
        return STATUS_INVALID_HANDLE;
    if (args->SrcRect.bottom - args->SrcRect.top != args->DstRect.bottom - args->DstRect.top)
        return STATUS_ILLEGAL_INSTRUCTION;

    blit = (struct blit){.adapter = context->device->adapter,
                         .list = list,
                         .dma_buffer = args->pDmaBuffer,
                         .token = request.token,
                         .duration_ns = request.duration_ns};
    packet_writer_begin(&writer, args->pDmaBuffer, args->DmaSize);
    for (index = args->MultipassOffset; index < args->SubRectCnt; index++) {
        RECT source = blit_source_of(&args->SrcRect, &args->DstRect, &args->pDstSubRects[index]);
        struct blit_part part = {.is_copy = (BOOLEAN)args->Flags.Blt,
                                 .source = DXGK_PRESENT_SOURCE_INDEX,
                                 .destination = DXGK_PRESENT_DESTINATION_INDEX,
                                 .color = args->Color,
                                 .first_reference = count * index,
                                 .is_first = !index,
                                 .is_last = index + 1 == args->SubRectCnt};

        if (!blit_strip_of(&args->pDstSubRects[index], to, &part.to) ||
            (part.is_copy && !blit_strip_of(&source, from, &part.from)))
            return STATUS_ILLEGAL_INSTRUCTION;
        if (!blit_write(&blit, &part, &writer, next, left)) {
            status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
            break;
        }
        if (next) {
            next += count;
            left -= count;
        }
    }
    args->pDmaBuffer = (UCHAR *)args->pDmaBuffer + packet_writer_end(&writer);
    if (next)
        args->pPatchLocationListOut = next;
    args->MultipassOffset = index;
    return status;
}

NTSTATUS NTAPI RefKmdPresent(IN_CONST_HANDLE hContext, INOUT_PDXGKARG_PRESENT args)
{
    PAGED_CODE();
    return present(refkmd_context_of(hContext), args);
}

NTSTATUS NTAPI RefKmdPresentToHwQueue(IN_CONST_HANDLE hHwQueue, INOUT_PDXGKARG_PRESENT args)
{
    const struct refkmd_hw_queue *queue = hHwQueue;

    PAGED_CODE();
    return present(queue->context, args);
}
