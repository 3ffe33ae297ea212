/*
 * Debug information: what the driver tells of its hardware for a debug report.
 *
 * Place      vidmm; the recovery asks in front of each reset, the embedder when it wants to
 *            (vidmm_collect_debug_info()).
 * Errors     None that change anything: a driver that has nothing to tell is lawful.
 * Source     contract.md TDR-017 to TDR-020; DXGKDDI_COLLECTDBGINFO, DXGKDDI_COLLECTDBGINFO2.
 */
#ifndef VIDMM_DEBUG_INFO_H
#define VIDMM_DEBUG_INFO_H

#include "vidmm/vidmm.h"

/* What has happened. Only DxgkDdiCollectDbgInfo2 (WDDM 3.2) hears more of it than the reason. */
struct debug_cause {
    uint32_t reason; /* the bug check code */
    DXGK_TDR_TYPE type;
    bool has_node; /* an engine timed out: its node has a payload */
    unsigned node;
};

/*
 * Calls DxgkDdiCollectDbgInfo2, or DxgkDdiCollectDbgInfo of a driver without it, with so many bytes
 * of buffer, which are zeroed first. STATUS_NOT_SUPPORTED where the driver has neither.
 */
NTSTATUS debug_info_collect(struct vidmm *vidmm, const struct debug_cause *cause, void *buffer,
                            uint32_t bytes);

#endif
