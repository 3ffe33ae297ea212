/*
 * Deny: a layer that lets callbacks of the driver fail, as their pages say that they may.
 *
 * Place      layers. Nearest to the manager, above the layers that record and judge: they see a
 *            callback that fails, and its status.
 * Model      Kinds, each switched on by itself. DENY_START: while the first DxgkDdiStartDevice
 *            runs, DxgkCbGetDeviceInformation fails, once, or the first DxgkCbMapMemory, or the
 *            second, behind a mapping that is there. A driver that then fails its start is removed
 *            by its kernel, and may be added and started again: nothing fails the second time.
 *            DENY_CONTEXT_ALLOCATIONS: now and then DxgkCbCreateContextAllocation,
 *            DxgkCbMapContextAllocation or DxgkCbUpdateContextAllocation finds no memory; the next
 *            DENY_GRACE calls of these are carried out, so that whoever asks again comes through.
 *            DENY_RESERVED_RANGES: the same of DxgkCbReserveGpuVirtualAddressRange, for processes
 *            of applications; that of the paging process is a part of the start. DENY_SAVE_AREA:
 *            half of the calls of DxgkCbPinFrameBufferForSave and its successor find no memory.
 *            Which calls: the
 *            seed's choice. A callback that fails does not reach the kernel, and leaves its
 *            structure alone. The callbacks that never fail have no documented failure that a
 *            correct call can meet: DxgkCbUnmapMemory, DxgkCbDestroyContextAllocation,
 *            DxgkCbGetHandleData (NULL only for a handle that is none), DxgkCbSynchronizeExecution
 *            (STATUS_UNSUCCESSFUL: no interrupt is connected yet), DxgkCbQueueDpc (FALSE: it is
 *            queued, which happens anyhow).
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY, from the constructor and from a callback that is denied.
 * Source     dispmprt.h: nc-dispmprt-dxgkcb_get_device_information, -dxgkcb_map_memory; d3dkmddi.h:
 *            nc-dxgkcb_createcontextallocation, -mapcontextallocation, -updatecontextallocation
 *            (each: "one of the error codes of ntstatus.h"),
 *            nc-dxgkcb_reservegpuvirtualaddressrange,
 *            ns-d3dkmddi-_dxgkargcb_mapframebufferpointer (of a pin that fails).
 */
#ifndef DRYDOCK_LAYERS_DENY_H
#define DRYDOCK_LAYERS_DENY_H

#include "base/services.h"
#include "miniport/miniport.h"

#include <stdint.h>

enum deny_kind {
    DENY_START = 1 << 0,
    DENY_CONTEXT_ALLOCATIONS = 1 << 1,
    DENY_RESERVED_RANGES = 1 << 2,
    DENY_SAVE_AREA = 1 << 3,
};

#define DENY_GRACE 8u /* calls that are carried out behind one that is not */

NTSTATUS deny_layer_create(const struct base_services *services, unsigned kinds, uint64_t seed,
                           struct miniport *next, struct miniport **out_layer);

/* How many callbacks have failed so far. */
uint64_t deny_layer_count(const struct miniport *layer);

#endif
