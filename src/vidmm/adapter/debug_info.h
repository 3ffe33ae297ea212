/*
 * Debug information: what the driver tells of its hardware for a debug report.
 *
 * Place      vidmm; the recovery asks in front of each reset, the embedder when it wants to
 *            (vidmm_collect_debug_info()).
 * Errors     None that change anything: a driver that has nothing to tell is lawful.
 * Source     contract.md TDR-017, TDR-018; DXGKDDI_COLLECTDBGINFO.
 */
#ifndef VIDMM_DEBUG_INFO_H
#define VIDMM_DEBUG_INFO_H

#include "vidmm/vidmm.h"

/*
 * Calls DxgkDdiCollectDbgInfo with so many bytes of buffer, which are zeroed first. reason is the
 * bug check code. STATUS_NOT_SUPPORTED where the driver has no such function.
 */
NTSTATUS debug_info_collect(struct vidmm *vidmm, uint32_t reason, void *buffer, uint32_t bytes);

#endif
