/*
 * Contexts: a stream of submissions to one node, and the buffers and lists that it needs.
 */
#include "refkmd/ddi.h"
#include "refkmd/memory/save_area.h"
#include "refkmd/memory/segments.h"
#include "refkmd/registers.h"
#include "refkmd/work/interrupt.h"
#include "refkmd/work/schedule.h"

#include <ntstatus.h>

/* What the pages of the scheduling properties permit. */
#define REFKMD_MOST_NORMAL_PERCENT 50u
#define REFKMD_MOST_PRIORITY       7
#define REFKMD_MOST_REALTIME_LEVEL 31

#define WRITTEN_PRIMARIES 16u /* all that an allocation list is for without patching (RES-009) */

/*
 * Virtual commands hold no physical address: nothing to patch. The user-mode half builds them in
 * memory of its own. Entries of page tables may be copied by any engine: the last one has the least
 * to do, and is not that of paging where there are more than two (CPTE-007).
 */
static void describe_virtual(const struct refkmd_adapter *adapter, DXGK_CONTEXTINFO *info)
{
    RtlZeroMemory(info, sizeof *info);
    info->DmaBufferSize = REFKMD_DMA_BUFFER_BYTES;
    info->AllocationListSize = WRITTEN_PRIMARIES;
    info->Caps.NoPatchingRequired = 1;
    info->PagingCompanionNodeId =
        adapter->node_count > SGPU_NODE_COPY + 1 ? adapter->node_count - 1 : SGPU_NODE_COPY;
}

/*
 * DMA buffers lie in contiguous system memory (segment set 0), where the GPU fetches them, or, on
 * boards that want it, behind slots of the aperture (CTX-015). The structure of a WDDM 1.3 kernel
 * ends where Caps begins.
 */
static void describe_physical(const struct refkmd_adapter *adapter, DXGK_CONTEXTINFO *info)
{
    info->DmaBufferSize = REFKMD_DMA_BUFFER_BYTES;
    info->DmaBufferSegmentSet = refkmd_dma_buffer_segments(adapter);
    info->DmaBufferPrivateDataSize = 0;
    info->AllocationListSize = REFKMD_LIST_ENTRIES;
    info->PatchLocationListSize = REFKMD_LIST_ENTRIES;
    info->Reserved = 0;
}

struct refkmd_context *refkmd_context_of(HANDLE handle)
{
    struct refkmd_device *device = handle;

    return device && device->signature == REFKMD_DEVICE_SIGNATURE ? &device->own : handle;
}

NTSTATUS NTAPI RefKmdCreateContext(IN_CONST_HANDLE hDevice, INOUT_PDXGKARG_CREATECONTEXT args)
{
    struct refkmd_device *device = hDevice;
    struct refkmd_context *context;
    NTSTATUS status;

    if (args->NodeOrdinal >= device->adapter->node_count) {
        args->hContext = NULL;
        return STATUS_INVALID_PARAMETER;
    }
    context = refkmd_alloc(sizeof *context);
    if (!context) {
        args->hContext = NULL;
        return STATUS_NO_MEMORY;
    }
    context->signature = REFKMD_CONTEXT_SIGNATURE;
    context->device = device;
    context->node = args->NodeOrdinal;
    context->handle = args->hContext;
    context->is_virtual =
        device->adapter->model != REFKMD_PHYSICAL && args->Flags.VirtualAddressing;
    if (device->adapter->model == REFKMD_IO_MMU && context->is_virtual) {
        context->root = device->pasid; /* in the place of a root page table, and never changed */
        context->has_root = device->pasid != 0;
    }
    if (context->is_virtual)
        describe_virtual(device->adapter, &args->ContextInfo);
    else
        describe_physical(device->adapter, &args->ContextInfo);
    context->scheduling.priorityBand = DXGK_SCHEDULING_PRIORITY_BAND_NORMAL;
    status = refkmd_save_area_create(context, args);
    if (!NT_SUCCESS(status)) {
        refkmd_free(context);
        args->hContext = NULL;
        return status;
    }
    args->hContext = context;
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RefKmdDestroyContext(IN_CONST_HANDLE hContext)
{
    refkmd_leave_context(hContext);
    refkmd_save_area_destroy(hContext);
    refkmd_free(hContext);
    return STATUS_SUCCESS;
}

/*
 * The queue is the context's place in the ring of its node: nothing of the board is taken for it.
 * Where its progress fence is comes with each submission.
 */
NTSTATUS NTAPI RefKmdCreateHwQueue(IN_CONST_HANDLE hHwContext, INOUT_PDXGKARG_CREATEHWQUEUE args)
{
    struct refkmd_context *context = hHwContext;
    HANDLE handle = args->hHwQueue;
    struct refkmd_hw_queue *queue;

    args->hHwQueue = NULL;
    if (!context->device->adapter->has_queues || context->node != SGPU_NODE_RENDER)
        return STATUS_NOT_SUPPORTED;
    queue = refkmd_alloc(sizeof *queue);
    if (!queue)
        return STATUS_NO_MEMORY;
    queue->context = context;
    queue->handle = handle;
    args->hHwQueue = queue;
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RefKmdDestroyHwQueue(IN_CONST_HANDLE hHwQueue)
{
    const struct refkmd_hw_queue *queue = hHwQueue;

    refkmd_leave_queue(queue->context->device->adapter, queue);
    refkmd_free(hHwQueue);
    return STATUS_SUCCESS;
}

/*
 * The board runs the submissions of all queues in the order in which they come, so that nothing is
 * ever to be preempted for another band: the values are judged and kept, for a board that chooses.
 */
NTSTATUS NTAPI RefKmdSetupPriorityBands(IN_CONST_HANDLE hAdapter,
                                        IN_CONST_PDXGKARG_SETUPPRIORITYBANDS args)
{
    struct refkmd_adapter *adapter = hAdapter;

    if (args->targetNormalBandPercentage > REFKMD_MOST_NORMAL_PERCENT)
        return STATUS_INVALID_PARAMETER;
    adapter->bands = *args;
    return STATUS_SUCCESS;
}

/* May come while the context works (HWQ-015). Of a band but real time, the level says nothing. */
NTSTATUS NTAPI RefKmdSetContextSchedulingProperties(
    IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETCONTEXTSCHEDULINGPROPERTIES args)
{
    struct refkmd_context *context = refkmd_context_of(args->hContext);

    UNREFERENCED_PARAMETER(hAdapter);
    if (!context || args->priorityBand < DXGK_SCHEDULING_PRIORITY_BAND_IDLE ||
        args->priorityBand >= DXGK_SCHEDULING_PRIORITY_BAND_COUNT ||
        args->inProcessPriority < -REFKMD_MOST_PRIORITY ||
        args->inProcessPriority > REFKMD_MOST_PRIORITY ||
        (args->priorityBand == DXGK_SCHEDULING_PRIORITY_BAND_REALTIME &&
         (args->realtimeBandPriorityLevel < 0 ||
          args->realtimeBandPriorityLevel > REFKMD_MOST_REALTIME_LEVEL)))
        return STATUS_INVALID_PARAMETER;
    context->scheduling = *args;
    return STATUS_SUCCESS;
}
