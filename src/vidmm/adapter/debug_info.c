/*
 * Debug information: the call. It is of synchronization level zero, so it may be made in the middle
 * of any work.
 *
 * Source     contract.md TDR-017, TDR-018; DXGKDDI_COLLECTDBGINFO.
 */
#include "vidmm/adapter/debug_info.h"

#include "vidmm/vidmm_private.h"

#include "miniport/miniport.h"

#include <string.h>

NTSTATUS debug_info_collect(struct vidmm *vidmm, uint32_t reason, void *buffer, uint32_t bytes)
{
    DXGKARG_COLLECTDBGINFO_EXT extension = {0};
    const DXGKARG_COLLECTDBGINFO args = {
        .Reason = reason, .pBuffer = buffer, .BufferSize = bytes, .pExtension = &extension};

    if (!miniport_has(vidmm->miniport, MINIPORT_DDI_CollectDbgInfo))
        return STATUS_NOT_SUPPORTED;
    if (bytes)
        memset(buffer, 0, bytes);
    return miniport_collect_dbg_info(vidmm->miniport, NULL, &args);
}
