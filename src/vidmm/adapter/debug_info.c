/*
 * Debug information: the call. It is of synchronization level zero, so it may be made in the middle
 * of any work.
 *
 * Source     contract.md TDR-017 to TDR-020; DXGKDDI_COLLECTDBGINFO, DXGKDDI_COLLECTDBGINFO2.
 */
#include "vidmm/adapter/debug_info.h"

#include "vidmm/vidmm_private.h"

#include "miniport/miniport.h"
#include "vidsch/vidsch.h"

#include <string.h>

static NTSTATUS collect_with_cause(struct vidmm *vidmm, const struct debug_cause *cause,
                                   void *buffer, uint32_t bytes)
{
    DXGKARG_COLLECTDBGINFO_EXT extension = {0};
    DXGK_TDR_PAYLOAD_ENGINE_TIMEOUT timeout = {.NodeOrdinal = cause->node};
    DXGKARG_COLLECTDBGINFO2 args = {.Reason = cause->reason,
                                    .pBuffer = buffer,
                                    .BufferSize = bytes,
                                    .pExtension = &extension,
                                    .TdrType = cause->type};

    if (cause->has_node) {
        vidsch_node_fences(vidmm->vidsch, cause->node, &timeout.LastHwSubmittedFenceId,
                           &timeout.LastHwCompletedFenceId);
        args.TdrPayload = &timeout;
        args.TdrPayloadSize = sizeof timeout;
    }
    return miniport_collect_dbg_info2(vidmm->miniport, NULL, &args);
}

NTSTATUS debug_info_collect(struct vidmm *vidmm, const struct debug_cause *cause, void *buffer,
                            uint32_t bytes)
{
    DXGKARG_COLLECTDBGINFO_EXT extension = {0};
    const DXGKARG_COLLECTDBGINFO args = {
        .Reason = cause->reason, .pBuffer = buffer, .BufferSize = bytes, .pExtension = &extension};

    if (bytes)
        memset(buffer, 0, bytes);
    if (miniport_has(vidmm->miniport, MINIPORT_DDI_CollectDbgInfo2))
        return collect_with_cause(vidmm, cause, buffer, bytes);
    if (miniport_has(vidmm->miniport, MINIPORT_DDI_CollectDbgInfo))
        return miniport_collect_dbg_info(vidmm->miniport, NULL, &args);
    return STATUS_NOT_SUPPORTED;
}
