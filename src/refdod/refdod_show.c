/*
 * Presents and the pointer.
 *
 * The image is copied into the frame buffer at once, moves in their order first. It counts as shown
 * from the next vertical sync on: that is when the interrupt routine reports the present's end.
 */
#include "refdod/refdod_private.h"

#include <ntstatus.h>

static VOID move_rows(const struct refdod_adapter *adapter, const D3DKMT_MOVE_RECT *move)
{
    const RECT *to = &move->DestRect;
    const LONG rows = to->bottom - to->top, bytes = (to->right - to->left) * 4;
    const BOOLEAN goes_down = to->top > move->SourcePoint.y;
    LONG i;

    for (i = 0; i < rows; i++) {
        const LONG row = goes_down ? rows - 1 - i : i;

        RtlMoveMemory(adapter->frame + (SIZE_T)(to->top + row) * adapter->pitch +
                          (SIZE_T)to->left * 4,
                      adapter->frame + (SIZE_T)(move->SourcePoint.y + row) * adapter->pitch +
                          (SIZE_T)move->SourcePoint.x * 4,
                      (SIZE_T)bytes);
    }
}

static VOID copy_rows(const struct refdod_adapter *adapter,
                      const DXGKARG_PRESENT_DISPLAYONLY *present, const RECT *rect)
{
    const UCHAR *from = present->pSource;
    LONG y;

    for (y = rect->top; y < rect->bottom; y++)
        RtlCopyMemory(adapter->frame + (SIZE_T)y * adapter->pitch + (SIZE_T)rect->left * 4,
                      from + (SIZE_T)y * (SIZE_T)present->Pitch + (SIZE_T)rect->left * 4,
                      (SIZE_T)(rect->right - rect->left) * 4);
}

/* VIDPN-006, VIDPN-008. */
NTSTATUS NTAPI RefDodPresentDisplayOnly(IN_CONST_HANDLE hAdapter,
                                        IN_CONST_PDXGKARG_PRESENT_DISPLAYONLY pPresent)
{
    struct refdod_adapter *adapter = hAdapter;
    ULONG i;

    if (!adapter->width || !adapter->is_visible)
        return STATUS_UNSUCCESSFUL;
    for (i = 0; i < pPresent->NumMoves; i++)
        move_rows(adapter, &pPresent->pMoves[i]);
    for (i = 0; i < pPresent->NumDirtyRects; i++)
        copy_rows(adapter, pPresent, &pPresent->pDirtyRect[i]);
    adapter->is_pending = TRUE;
    refdod_write(adapter, SGPU_REG_SCAN_NEXT, (ULONG)adapter->frame_offset);
    refdod_write(adapter, SGPU_REG_SCAN_NEXT + 4, (ULONG)(adapter->frame_offset >> 32));
    return STATUS_PENDING;
}

/* The board has no pointer of its own, and the capabilities say so: there is nothing to be set. */
NTSTATUS NTAPI RefDodSetPointerPosition(IN_CONST_HANDLE hAdapter,
                                        IN_CONST_PDXGKARG_SETPOINTERPOSITION pSetPosition)
{
    UNREFERENCED_PARAMETER(hAdapter);
    UNREFERENCED_PARAMETER(pSetPosition);
    return STATUS_NOT_SUPPORTED;
}

NTSTATUS NTAPI RefDodSetPointerShape(IN_CONST_HANDLE hAdapter,
                                     IN_CONST_PDXGKARG_SETPOINTERSHAPE pSetShape)
{
    UNREFERENCED_PARAMETER(hAdapter);
    UNREFERENCED_PARAMETER(pSetShape);
    return STATUS_NOT_SUPPORTED;
}
