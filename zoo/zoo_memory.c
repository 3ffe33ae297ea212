/*
 * Defects of the memory that calls lend (MEM): bytes around it, bytes that are only to be read, use
 * behind the call, answers that are not given.
 */
#include "zoo/zoo_tables.h"

#include "base/bits.h"

#include <string.h>

/* A byte that the compiler does not know to be out of bounds. */
static void flip(const void *start, int64_t offset)
{
    volatile char *at = (volatile char *)(uintptr_t)start + offset;

    *at = (char)~*at;
}

/*
 * What a defect does around a call: X(name, function, argument type, what comes before the driver
 * runs, what comes after). `arg` is the call's, `was` a copy of it from before.
 */
#define DEED(name, function, type, first, then)                                                    \
    static NTSTATUS name##_call(struct miniport *self, HANDLE object, type *arg)                   \
    {                                                                                              \
        struct zoo_layer *layer = zoo_layer_of(self);                                              \
        const __typeof__(*arg) was = *arg;                                                         \
        NTSTATUS status;                                                                           \
                                                                                                   \
        (void)was;                                                                                 \
        (void)layer;                                                                               \
        first;                                                                                     \
        status = miniport_forward_##function(self, object, arg);                                   \
        then;                                                                                      \
        return status;                                                                             \
    }                                                                                              \
                                                                                                   \
    static void name(struct zoo_layer *layer)                                                      \
    {                                                                                              \
        layer->ops.function = name##_call;                                                         \
    }

#define BEHIND(function, type, name, member, bytes)                                                \
    DEED(name, function, type, , if (was.member) flip(was.member, (int64_t)(bytes)))
#define BEFORE(function, type, name, member, distance)                                             \
    DEED(name, function, type, , if (was.member) flip(was.member, -(int64_t)(distance)))
/* Keeps the pointer of one call and writes through it in the next one. */
#define KEPT(function, type, name, pointer)                                                        \
    DEED(name, function, type,                                                                     \
         if (layer->state[0]) flip((const void *)(uintptr_t)layer->state[0], 0),                   \
         layer->state[0] = (uintptr_t)(pointer))

/* Keeps a pointer that one function was lent and writes through it when another one is called. */
#define LATER(name, function, type, pointer, later, later_type)                                    \
    DEED(name##_keeps, function, type, , layer->state[0] = (uintptr_t)(pointer))                   \
    DEED(                                                                                          \
        name##_uses, later, later_type, if (layer->state[0]) {                                     \
            flip((const void *)(uintptr_t)layer->state[0], 0);                                     \
            layer->state[0] = 0;                                                                   \
        }, )                                                                                       \
                                                                                                   \
    static void name(struct zoo_layer *layer)                                                      \
    {                                                                                              \
        name##_keeps(layer);                                                                       \
        name##_uses(layer);                                                                        \
    }

/* ---- Render ---- */

BEHIND(render, DXGKARG_RENDER, render_behind, pDmaBuffer, was.DmaSize)
BEHIND(render, DXGKARG_RENDER, render_page_behind, pDmaBuffer, was.DmaSize + 4096)
BEFORE(render, DXGKARG_RENDER, render_before, pDmaBuffer, 1)
BEFORE(render, DXGKARG_RENDER, render_page_before, pDmaBuffer, 4096)
DEED(wants_private_data, create_context, DXGKARG_CREATECONTEXT, ,
     arg->ContextInfo.DmaBufferPrivateDataSize = 40)
DEED(writes_private_data, render, DXGKARG_RENDER, ,
     if (was.DmaBufferPrivateDataSize)
         flip(was.pDmaBufferPrivateData, was.DmaBufferPrivateDataSize))

static void render_private_behind(struct zoo_layer *layer)
{
    wants_private_data(layer);
    writes_private_data(layer);
}

BEHIND(render, DXGKARG_RENDER, render_locations_behind, pPatchLocationListOut,
       was.PatchLocationListOutSize * sizeof *was.pPatchLocationListOut)
BEFORE(render, DXGKARG_RENDER, render_locations_before, pPatchLocationListOut, 8)
BEHIND(render, DXGKARG_RENDER, render_list_behind, pAllocationList,
       was.AllocationListSize * sizeof *was.pAllocationList)
DEED(render_list_changed, render, DXGKARG_RENDER, ,
     if (was.AllocationListSize) was.pAllocationList[0].SegmentId ^= 1)
KEPT(render, DXGKARG_RENDER, render_list_kept, was.AllocationListSize ? was.pAllocationList : NULL)
DEED(render_location_unwritten, render, DXGKARG_RENDER, D3DDDI_PATCHLOCATIONLIST first = {0};
     if (arg->PatchLocationListOutSize) first = arg->pPatchLocationListOut[0],
     if (arg->pPatchLocationListOut > was.pPatchLocationListOut)
         was.pPatchLocationListOut[0] = first)

/* ---- Present ---- */

BEHIND(present, DXGKARG_PRESENT, present_behind, pDmaBuffer, was.DmaSize)
BEHIND(present_to_hw_queue, DXGKARG_PRESENT, queue_present_behind, pDmaBuffer, was.DmaSize)
BEHIND(present, DXGKARG_PRESENT, present_locations_behind, pPatchLocationListOut,
       was.PatchLocationListOutSize * sizeof *was.pPatchLocationListOut)
DEED(present_list_changed, present, DXGKARG_PRESENT, ,
     was.pAllocationList[DXGK_PRESENT_DESTINATION_INDEX].SegmentId ^= 1)
DEED(present_rectangle_changed, present, DXGKARG_PRESENT, ,
     if (was.SubRectCnt) was.pDstSubRects[0].top++)
BEHIND(present, DXGKARG_PRESENT, present_private_behind, pPrivateDriverData,
       was.PrivateDriverDataSize)

/* ---- Behind a call's end, by another function ---- */

LATER(render_buffer_late, render, DXGKARG_RENDER, was.pDmaBuffer, patch, const DXGKARG_PATCH)
LATER(render_locations_late, render, DXGKARG_RENDER, was.pPatchLocationListOut, submit_command,
      const DXGKARG_SUBMITCOMMAND)
LATER(build_buffer_late, build_paging_buffer, DXGKARG_BUILDPAGINGBUFFER, was.pDmaBuffer, patch,
      const DXGKARG_PATCH)
LATER(build_private_late, build_paging_buffer, DXGKARG_BUILDPAGINGBUFFER,
      was.DmaBufferPrivateDataSize ? was.pDmaBufferPrivateData : NULL, submit_command,
      const DXGKARG_SUBMITCOMMAND)
LATER(patch_list_late, patch, const DXGKARG_PATCH,
      was.AllocationListSize ? was.pAllocationList : NULL, submit_command,
      const DXGKARG_SUBMITCOMMAND)
LATER(query_output_late, query_adapter_info, const DXGKARG_QUERYADAPTERINFO, was.pOutputData,
      create_allocation, DXGKARG_CREATEALLOCATION)
LATER(create_private_late, create_allocation, DXGKARG_CREATEALLOCATION,
      was.pAllocationInfo[0].pPrivateDriverData, open_allocation, const DXGKARG_OPENALLOCATION)
LATER(destroy_list_late, destroy_allocation, const DXGKARG_DESTROYALLOCATION,
      was.NumAllocations ? was.pAllocationList : NULL, create_allocation, DXGKARG_CREATEALLOCATION)

/* ---- Queries ---- */

#define QUERY const DXGKARG_QUERYADAPTERINFO

BEHIND(query_adapter_info, QUERY, query_output_behind, pOutputData, was.OutputDataSize)
BEHIND(query_adapter_info, QUERY, query_input_changed, pInputData, 0)
DEED(
    query_descriptor_behind, query_adapter_info, QUERY, ,
    if (was.Type == DXGKQAITYPE_QUERYSEGMENT4 && NT_SUCCESS(status)) {
        const DXGK_QUERYSEGMENTOUT4 *out = was.pOutputData;

        if (out->pSegmentDescriptor)
            flip(out->pSegmentDescriptor, (int64_t)(out->NbSegment * out->SegmentDescriptorStride));
    } else if (was.Type == DXGKQAITYPE_QUERYSEGMENT3 && NT_SUCCESS(status)) {
        const DXGK_QUERYSEGMENTOUT3 *out = was.pOutputData;

        if (out->pSegmentDescriptor)
            flip(out->pSegmentDescriptor + out->NbSegment, 0);
    } else if (was.Type == DXGKQAITYPE_QUERYSEGMENT && NT_SUCCESS(status)) {
        const DXGK_QUERYSEGMENTOUT *out = was.pOutputData;

        if (out->pSegmentDescriptor)
            flip(out->pSegmentDescriptor + out->NbSegment, 0);
    })
/* The argument structure of an older header is shorter than the one that the driver thinks of. */
DEED(query_argument_behind, query_adapter_info, QUERY, , flip(arg, sizeof *arg))
DEED(query_unwritten, query_adapter_info, QUERY, PHYSICAL_ADDRESS before = {0};
     if (arg->Type == DXGKQAITYPE_DRIVERCAPS)
         before = ((DXGK_DRIVERCAPS *)arg->pOutputData)->HighestAcceptableAddress,
     if (was.Type == DXGKQAITYPE_DRIVERCAPS)((DXGK_DRIVERCAPS *)was.pOutputData)
         ->HighestAcceptableAddress = before)

/* ---- Allocations ---- */

BEHIND(create_allocation, DXGKARG_CREATEALLOCATION, create_info_behind, pAllocationInfo,
       was.NumAllocations * sizeof *was.pAllocationInfo)
BEFORE(create_allocation, DXGKARG_CREATEALLOCATION, create_info_before, pAllocationInfo, 1)
DEED(create_private_behind, create_allocation, DXGKARG_CREATEALLOCATION, ,
     if (was.pAllocationInfo[0].pPrivateDriverData)
         flip(was.pAllocationInfo[0].pPrivateDriverData,
              was.pAllocationInfo[0].PrivateDriverDataSize))
DEED(create_private_before, create_allocation, DXGKARG_CREATEALLOCATION, ,
     if (was.pAllocationInfo[0].pPrivateDriverData)
         flip(was.pAllocationInfo[0].pPrivateDriverData, -8))
DEED(create_size_changed, create_allocation, DXGKARG_CREATEALLOCATION, ,
     was.pAllocationInfo[0].PrivateDriverDataSize++)
KEPT(create_allocation, DXGKARG_CREATEALLOCATION, create_info_kept, was.pAllocationInfo)
DEED(create_handle_unwritten, create_allocation, DXGKARG_CREATEALLOCATION,
     HANDLE before = arg->pAllocationInfo[0].hAllocation,
     was.pAllocationInfo[0].hAllocation = before)

#define OPEN const DXGKARG_OPENALLOCATION

BEHIND(open_allocation, OPEN, open_info_behind, pOpenAllocation,
       was.NumAllocations * sizeof *was.pOpenAllocation)
DEED(open_handle_changed, open_allocation, OPEN, , was.pOpenAllocation[0].hAllocation ^= 1)
DEED(open_private_behind, open_allocation, OPEN, ,
     if (was.pOpenAllocation[0].pPrivateDriverData)
         flip(was.pOpenAllocation[0].pPrivateDriverData,
              was.pOpenAllocation[0].PrivateDriverDataSize))
KEPT(open_allocation, OPEN, open_argument_kept, arg)

/* Forgets what it has freed, in the list of the caller. */
DEED(destroy_list_changed, destroy_allocation, const DXGKARG_DESTROYALLOCATION, ,
     was.pAllocationList[0] = NULL)
DEED(close_list_changed, close_allocation, const DXGKARG_CLOSEALLOCATION, ,
     was.pOpenHandleList[0] = NULL)
BEHIND(destroy_allocation, const DXGKARG_DESTROYALLOCATION, destroy_list_behind, pAllocationList,
       was.NumAllocations * sizeof *was.pAllocationList)

/* ---- Devices and contexts ---- */

DEED(context_argument_behind, create_context, DXGKARG_CREATECONTEXT, , flip(arg, sizeof *arg))
DEED(context_node_changed, create_context, DXGKARG_CREATECONTEXT, , arg->NodeOrdinal++)
DEED(device_argument_before, create_device, DXGKARG_CREATEDEVICE, , flip(arg, -1))

/* ---- Paging operations ---- */

static MDL *mdl_of(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
        return !arg->Transfer.Source.SegmentId        ? arg->Transfer.Source.pMdl
               : !arg->Transfer.Destination.SegmentId ? arg->Transfer.Destination.pMdl
                                                      : NULL;
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        return arg->MapApertureSegment.pMdl;
    default:
        return NULL;
    }
}

#define PAGING DXGKARG_BUILDPAGINGBUFFER

DEED(mdl_count_changed, build_paging_buffer, PAGING, , if (mdl_of(&was)) mdl_of(&was)->ByteCount++)
DEED(mdl_before, build_paging_buffer, PAGING, , if (mdl_of(&was)) flip(mdl_of(&was), -1))
DEED(mdl_behind, build_paging_buffer, PAGING, ,
     if (mdl_of(&was)) flip(MmGetMdlPfnArray(mdl_of(&was)) + mdl_of(&was)->ByteCount / 4096, 0))
DEED(mdl_page_changed, build_paging_buffer, PAGING, ,
     if (mdl_of(&was)) MmGetMdlPfnArray(mdl_of(&was))[0] ^= 1)
DEED(entries_behind, build_paging_buffer, PAGING, ,
     if (was.Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE)
         flip(was.UpdatePageTable.pPageTableEntries +
                  (was.UpdatePageTable.Flags.Repeat ? 1 : was.UpdatePageTable.NumPageTableEntries),
              0))
DEED(entries_changed, build_paging_buffer, PAGING, ,
     if (was.Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE) was.UpdatePageTable.pPageTableEntries[0]
         .Flags ^= UINT64_C(1) << 40)
DEED(operation_changed, build_paging_buffer, PAGING, ,
     if (was.Operation == DXGK_OPERATION_FILL) arg->Fill.FillSize = 0)
KEPT(build_paging_buffer, PAGING, build_argument_kept, arg)

/* ---- Work ---- */

DEED(patch_list_changed, patch, const DXGKARG_PATCH, ,
     if (was.PatchLocationListSize) was.pPatchLocationList[0].PatchOffset++)
DEED(patch_allocations_behind, patch, const DXGKARG_PATCH, ,
     if (was.AllocationListSize) flip(was.pAllocationList + was.AllocationListSize, 0))
DEED(patch_private_behind, patch, const DXGKARG_PATCH, ,
     if (was.DmaBufferPrivateDataSize)
         flip(was.pDmaBufferPrivateData, was.DmaBufferPrivateDataSize))

DEED(submit_private_behind_physical, submit_command, const DXGKARG_SUBMITCOMMAND, ,
     if (was.DmaBufferPrivateDataSize)
         flip(was.pDmaBufferPrivateData, was.DmaBufferPrivateDataSize))
DEED(submit_private_behind_virtual, submit_command_virtual, const DXGKARG_SUBMITCOMMANDVIRTUAL, ,
     if (was.DmaBufferPrivateDataSize)
         flip(was.pDmaBufferPrivateData, was.DmaBufferPrivateDataSize))
KEPT(submit_command, const DXGKARG_SUBMITCOMMAND, submit_kept_physical, arg)
KEPT(submit_command_virtual, const DXGKARG_SUBMITCOMMANDVIRTUAL, submit_kept_virtual, arg)

static void submit_private_behind(struct zoo_layer *layer)
{
    submit_private_behind_physical(layer);
    submit_private_behind_virtual(layer);
}

static void submit_argument_kept(struct zoo_layer *layer)
{
    submit_kept_physical(layer);
    submit_kept_virtual(layer);
}

DEED(fence_unwritten, query_current_fence, DXGKARG_QUERYCURRENTFENCE, ,
     arg->CurrentFence = was.CurrentFence)
DEED(reset_unwritten, reset_engine, DXGKARG_RESETENGINE, ,
     arg->LastAbortedFenceId = was.LastAbortedFenceId)
DEED(group_unwritten, query_dependent_engine_group, DXGKARG_QUERYDEPENDENTENGINEGROUP, ,
     arg->DependentNodeOrdinalMask = was.DependentNodeOrdinalMask)
#define IS_STORAGE                                                                                 \
    (was.StandardAllocationType == D3DKMDT_STANDARDALLOCATION_FENCESTORAGE &&                      \
     was.pCreateFenceStorageData)
DEED(storage_behind, get_standard_allocation_driver_data, DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA, ,
     if (IS_STORAGE) flip(was.pCreateFenceStorageData, sizeof *was.pCreateFenceStorageData))
DEED(storage_changed, get_standard_allocation_driver_data, DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA,
     ,
     if (IS_STORAGE)
         was.pCreateFenceStorageData->FenceStorageValueType = D3DKARG_FENCESTORAGETYPE_CURRENTVALUE)
BEHIND(get_standard_allocation_driver_data, DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA,
       description_behind, pAllocationPrivateDriverData, was.AllocationPrivateDriverDataSize)
DEED(surface_changed, get_standard_allocation_driver_data, DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA,
     ,
     if (was.StandardAllocationType == D3DKMDT_STANDARDALLOCATION_SHAREDPRIMARYSURFACE)
         was.pCreateSharedPrimarySurfaceData->Width = 1)
BEHIND(map_cpu_host_aperture, const DXGKARG_MAPCPUHOSTAPERTURE, host_pages_behind,
       pMemorySegmentPages, was.NumberOfPages * sizeof *was.pMemorySegmentPages)

static NTSTATUS start_changed_call(struct miniport *self, const DXGK_START_INFO *start,
                                   ULONG *sources, ULONG *children)
{
    NTSTATUS status = miniport_forward_ops.start_device(self, start, sources, children);

    flip(start, 4);
    return status;
}

static void start_changed(struct zoo_layer *layer)
{
    layer->ops.start_device = start_changed_call;
}

/* ---- What callbacks hand out ---- */

/* Bytes around what DxgkCbGetDeviceInformation gave: `at` and `offset` say where. */
#define INFORMED(name, at, offset)                                                                 \
    static NTSTATUS name##_call(struct miniport_host *host, DXGK_DEVICE_INFO *info)                \
    {                                                                                              \
        NTSTATUS status = miniport_host_forward_ops.get_device_information(host, info);            \
                                                                                                   \
        if (NT_SUCCESS(status))                                                                    \
            flip(at, (int64_t)(offset));                                                           \
        return status;                                                                             \
    }                                                                                              \
                                                                                                   \
    static void name(struct zoo_layer *layer)                                                      \
    {                                                                                              \
        layer->host_ops.get_device_information = name##_call;                                      \
    }

static size_t bytes_of_list(const DXGK_DEVICE_INFO *info)
{
    const CM_RESOURCE_LIST *list = info->TranslatedResourceList;

    return sizeof *list +
           (list->List[0].PartialResourceList.Count - 1) * sizeof(CM_PARTIAL_RESOURCE_DESCRIPTOR);
}

INFORMED(resources_behind, info->TranslatedResourceList, bytes_of_list(info))
INFORMED(resources_far_behind, info->TranslatedResourceList, bytes_of_list(info) + 8)
INFORMED(resources_page_behind, info->TranslatedResourceList, bytes_of_list(info) + 8192)
INFORMED(resources_before, info->TranslatedResourceList, -1)
INFORMED(registry_path_behind, info->DeviceRegistryPath.Buffer,
         info->DeviceRegistryPath.MaximumLength)

/* ---- Escapes ---- */

BEHIND(escape, const DXGKARG_ESCAPE, escape_behind, pPrivateDriverData, was.PrivateDriverDataSize)
KEPT(escape, const DXGKARG_ESCAPE, escape_kept, was.pPrivateDriverData)

/* ---- Debug reports ---- */

BEHIND(collect_dbg_info, const DXGKARG_COLLECTDBGINFO, report_behind, pBuffer, was.BufferSize)
BEHIND(collect_dbg_info, const DXGKARG_COLLECTDBGINFO, report_extension_behind, pExtension,
       sizeof *was.pExtension)
KEPT(collect_dbg_info, const DXGKARG_COLLECTDBGINFO, report_kept, was.pBuffer)
BEHIND(collect_dbg_info2, DXGKARG_COLLECTDBGINFO2, report2_behind, pBuffer, was.BufferSize)
BEHIND(collect_dbg_info2, DXGKARG_COLLECTDBGINFO2, payload_behind, TdrPayload, was.TdrPayloadSize)
DEED(payload_kept, collect_dbg_info2, DXGKARG_COLLECTDBGINFO2,
     if (layer->state[0]) flip((const void *)(uintptr_t)layer->state[0], 0),
     if (was.TdrPayload) layer->state[0] = (uintptr_t)was.TdrPayload)

/* ---- The table ---- */

#define ROW(name, text, in, rule, function)                                                        \
    {                                                                                              \
        .id = name, .sentence = text, .models = in, .rules = rule, .since = ZOO_SINCE,             \
        .plant = function                                                                          \
    }

/* Of presents, which not every seed has. */
#define FOCUSED(name, text, in, rule, function)                                                    \
    {                                                                                              \
        .id = name, .sentence = text, .models = in, .rules = rule, .since = ZOO_SINCE,             \
        .plant = function, .focus = "presents=yes"                                                 \
    }

#define STORAGE "wddm=3.2 native-fences=2 native-fence-memory=both"

const struct zoo_defect zoo_memory_defects[] = {
    ROW("MEM-render-behind", "Render writes a byte behind its DMA buffer", ZOO_PHYSICAL, "MEM-001",
        render_behind),
    ROW("MEM-render-before", "Render writes a byte in front of its DMA buffer", ZOO_PHYSICAL,
        "MEM-001", render_before),
    ROW("MEM-render-page-behind", "Render writes a page behind its DMA buffer", ZOO_PHYSICAL,
        "MEM-001", render_page_behind),
    ROW("MEM-render-page-before", "Render writes a page in front of its DMA buffer", ZOO_PHYSICAL,
        "MEM-001", render_page_before),
    ROW("MEM-render-private-behind", "Render writes a byte behind its private data", ZOO_PHYSICAL,
        "MEM-001", render_private_behind),
    ROW("MEM-render-locations-behind", "Render writes behind pPatchLocationListOut", ZOO_PHYSICAL,
        "MEM-001", render_locations_behind),
    ROW("MEM-render-locations-before", "Render writes in front of pPatchLocationListOut",
        ZOO_PHYSICAL, "MEM-001", render_locations_before),
    ROW("MEM-render-list-behind", "Render writes behind pAllocationList", ZOO_PHYSICAL, "MEM-001",
        render_list_behind),
    ROW("MEM-render-list-changed", "Render changes an entry of pAllocationList", ZOO_PHYSICAL,
        "MEM-002", render_list_changed),
    ROW("MEM-render-list-kept", "Render writes to the pAllocationList of the call before",
        ZOO_PHYSICAL, "MEM-003", render_list_kept),
    ROW("MEM-render-location-unwritten", "Render moves over a patch location that it did not write",
        ZOO_PHYSICAL, "MEM-004", render_location_unwritten),
    FOCUSED("MEM-present-behind", "Present writes a byte behind its DMA buffer", ZOO_ALL, "MEM-001",
            present_behind),
    {.id = "MEM-queue-present-behind",
     .sentence = "PresentToHwQueue writes a byte behind its DMA buffer",
     .models = ZOO_GPUMMU,
     .rules = "MEM-001",
     .since = ZOO_SINCE,
     .plant = queue_present_behind,
     .focus = "hardware-queues=yes presents=yes present-by=present"},
    FOCUSED("MEM-present-locations-behind", "Present writes behind pPatchLocationListOut",
            ZOO_PHYSICAL, "MEM-001", present_locations_behind),
    FOCUSED("MEM-present-list-changed", "Present changes an entry of pAllocationList", ZOO_ALL,
            "MEM-002", present_list_changed),
    FOCUSED("MEM-present-rectangle-changed", "Present changes a rectangle of pDstSubRects", ZOO_ALL,
            "MEM-002", present_rectangle_changed),
    FOCUSED("MEM-present-private-behind", "Present writes a byte behind pPrivateDriverData",
            ZOO_ALL, "MEM-001", present_private_behind),
    ROW("MEM-query-output-behind", "QueryAdapterInfo writes a byte behind pOutputData", ZOO_ALL,
        "MEM-001", query_output_behind),
    ROW("MEM-query-input-changed", "QueryAdapterInfo changes what pInputData leads to", ZOO_ALL,
        "MEM-002", query_input_changed),
    ROW("MEM-query-descriptor-behind",
        "QueryAdapterInfo describes one segment more than there is room for", ZOO_ALL, "MEM-001",
        query_descriptor_behind),
    ROW("MEM-query-argument-behind", "QueryAdapterInfo writes behind its argument structure",
        ZOO_ALL, "MEM-001", query_argument_behind),
    ROW("MEM-query-unwritten", "DRIVERCAPS.HighestAcceptableAddress is left as it was", ZOO_ALL,
        "MEM-004", query_unwritten),
    ROW("MEM-create-info-behind", "CreateAllocation writes behind pAllocationInfo", ZOO_ALL,
        "MEM-001", create_info_behind),
    ROW("MEM-create-info-before", "CreateAllocation writes in front of pAllocationInfo", ZOO_ALL,
        "MEM-001", create_info_before),
    ROW("MEM-create-private-behind", "CreateAllocation writes behind an allocation's private data",
        ZOO_ALL, "MEM-001", create_private_behind),
    ROW("MEM-create-private-before",
        "CreateAllocation writes in front of an allocation's private data", ZOO_ALL, "MEM-001",
        create_private_before),
    ROW("MEM-create-size-changed", "CreateAllocation changes PrivateDriverDataSize", ZOO_ALL,
        "MEM-002", create_size_changed),
    ROW("MEM-create-info-kept", "CreateAllocation writes to the pAllocationInfo of the call before",
        ZOO_ALL, "MEM-003", create_info_kept),
    ROW("MEM-create-handle-unwritten", "CreateAllocation gives no hAllocation", ZOO_ALL, "MEM-004",
        create_handle_unwritten),
    ROW("MEM-open-info-behind", "OpenAllocation writes behind pOpenAllocation", ZOO_ALL, "MEM-001",
        open_info_behind),
    ROW("MEM-open-handle-changed", "OpenAllocation changes the kernel's hAllocation", ZOO_ALL,
        "MEM-002", open_handle_changed),
    ROW("MEM-open-private-behind", "OpenAllocation writes behind private data", ZOO_ALL, "MEM-001",
        open_private_behind),
    ROW("MEM-open-argument-kept", "OpenAllocation writes to the arguments of the call before",
        ZOO_ALL, "MEM-003", open_argument_kept),
    ROW("MEM-destroy-list-changed", "DestroyAllocation clears the handle in the caller's list",
        ZOO_ALL, "MEM-002", destroy_list_changed),
    ROW("MEM-destroy-list-behind", "DestroyAllocation writes behind pAllocationList", ZOO_ALL,
        "MEM-001", destroy_list_behind),
    ROW("MEM-close-list-changed", "CloseAllocation clears the handle in the caller's list", ZOO_ALL,
        "MEM-002", close_list_changed),
    ROW("MEM-context-argument-behind", "CreateContext writes behind its argument structure",
        ZOO_ALL, "MEM-001", context_argument_behind),
    ROW("MEM-context-node-changed", "CreateContext changes NodeOrdinal", ZOO_ALL, "MEM-002",
        context_node_changed),
    ROW("MEM-device-argument-before", "CreateDevice writes in front of its argument structure",
        ZOO_ALL, "MEM-001", device_argument_before),
    ROW("MEM-mdl-count-changed", "BuildPagingBuffer changes MDL.ByteCount", ZOO_PHYSICAL, "MEM-002",
        mdl_count_changed),
    ROW("MEM-mdl-page-changed", "BuildPagingBuffer changes a page of an MDL", ZOO_PHYSICAL,
        "MEM-002", mdl_page_changed),
    ROW("MEM-mdl-before", "BuildPagingBuffer writes in front of an MDL", ZOO_PHYSICAL, "MEM-001",
        mdl_before),
    ROW("MEM-mdl-behind", "BuildPagingBuffer writes behind an MDL's pages", ZOO_PHYSICAL, "MEM-001",
        mdl_behind),
    ROW("MEM-entries-behind", "BuildPagingBuffer writes behind pPageTableEntries", ZOO_GPUMMU,
        "MEM-001", entries_behind),
    ROW("MEM-entries-changed", "BuildPagingBuffer changes an entry of pPageTableEntries",
        ZOO_GPUMMU, "MEM-002", entries_changed),
    ROW("MEM-operation-changed", "BuildPagingBuffer counts down in the operation's arguments",
        ZOO_PHYSICAL, "MEM-002", operation_changed),
    ROW("MEM-build-argument-kept", "BuildPagingBuffer writes to the arguments of the call before",
        ZOO_ALL, "MEM-003", build_argument_kept),
    ROW("MEM-patch-list-changed", "Patch changes the list of patch locations", ZOO_PHYSICAL,
        "MEM-002", patch_list_changed),
    ROW("MEM-patch-allocations-behind", "Patch writes behind pAllocationList", ZOO_PHYSICAL,
        "MEM-001", patch_allocations_behind),
    ROW("MEM-patch-private-behind", "Patch writes behind its private data", ZOO_PHYSICAL, "MEM-001",
        patch_private_behind),
    ROW("MEM-submit-private-behind", "SubmitCommand writes behind its private data", ZOO_ALL,
        "MEM-001", submit_private_behind),
    ROW("MEM-submit-argument-kept", "SubmitCommand writes to the arguments of the call before",
        ZOO_ALL, "MEM-003", submit_argument_kept),
    {.id = "MEM-render-buffer-late",
     .sentence = "Patch writes to the DMA buffer by the pointer that Render had",
     .models = ZOO_PHYSICAL,
     .rules = "MEM-003",
     .since = ZOO_SINCE,
     .profile = "strict-open",
     .plant = render_buffer_late},
    ROW("MEM-render-locations-late", "SubmitCommand writes to the list that Render filled",
        ZOO_PHYSICAL, "MEM-003", render_locations_late),
    {.id = "MEM-build-buffer-late",
     .sentence = "Patch writes to the paging buffer by the pointer that BuildPagingBuffer had",
     .models = ZOO_PHYSICAL,
     .rules = "MEM-003",
     .since = ZOO_SINCE,
     .profile = "strict-open",
     .plant = build_buffer_late},
    {.id = "MEM-build-private-late",
     .sentence = "SubmitCommand writes to the private data of BuildPagingBuffer",
     .models = ZOO_PHYSICAL,
     .rules = "MEM-003",
     .since = ZOO_SINCE,
     .profile = "strict-open",
     .plant = build_private_late},
    ROW("MEM-patch-list-late", "SubmitCommand writes to the allocation list of Patch", ZOO_PHYSICAL,
        "MEM-003", patch_list_late),
    ROW("MEM-query-output-late", "CreateAllocation writes to what QueryAdapterInfo filled last",
        ZOO_ALL, "MEM-003", query_output_late),
    ROW("MEM-create-private-late", "OpenAllocation writes to the private data of CreateAllocation",
        ZOO_ALL, "MEM-003", create_private_late),
    ROW("MEM-destroy-list-late", "CreateAllocation writes to the list of DestroyAllocation",
        ZOO_ALL, "MEM-003", destroy_list_late),
    ROW("MEM-fence-unwritten", "QueryCurrentFence gives no fence", ZOO_ALL, "MEM-004",
        fence_unwritten),
    {.id = "MEM-storage-behind",
     .sentence = "GetStandardAllocationDriverData writes behind pCreateFenceStorageData",
     .models = ZOO_GPUMMU,
     .rules = "MEM-001",
     .since = ZOO_SINCE,
     .focus = STORAGE,
     .plant = storage_behind},
    {.id = "MEM-storage-changed",
     .sentence = "GetStandardAllocationDriverData changes what it was asked for",
     .models = ZOO_GPUMMU,
     .rules = "MEM-002",
     .since = ZOO_SINCE,
     .focus = STORAGE,
     .plant = storage_changed},
    {.id = "MEM-description-behind",
     .sentence = "GetStandardAllocationDriverData writes behind pAllocationPrivateDriverData",
     .models = ZOO_BOTH,
     .rules = "MEM-001",
     .since = ZOO_SINCE,
     .focus = "display=yes shows=yes",
     .plant = description_behind},
    {.id = "MEM-surface-changed",
     .sentence = "GetStandardAllocationDriverData changes the surface that it is asked for",
     .models = ZOO_BOTH,
     .rules = "MEM-002",
     .since = ZOO_SINCE,
     .focus = "display=yes shows=yes",
     .plant = surface_changed},
    ROW("MEM-reset-unwritten", "ResetEngine gives no LastAbortedFenceId", ZOO_ALL, "MEM-004",
        reset_unwritten),
    ROW("MEM-group-unwritten", "QueryDependentEngineGroup gives no group", ZOO_ALL, "MEM-004",
        group_unwritten),
    ROW("MEM-host-pages-behind", "MapCpuHostAperture writes behind pMemorySegmentPages", ZOO_GPUMMU,
        "MEM-001", host_pages_behind),
    ROW("MEM-start-changed", "StartDevice changes DXGK_START_INFO", ZOO_ALL, "MEM-002",
        start_changed),
    ROW("MEM-resources-behind", "StartDevice writes a byte behind TranslatedResourceList", ZOO_ALL,
        "MEM-001", resources_behind),
    ROW("MEM-resources-far-behind", "StartDevice writes 8 bytes behind TranslatedResourceList",
        ZOO_ALL, "MEM-001", resources_far_behind),
    ROW("MEM-resources-page-behind", "StartDevice writes pages behind TranslatedResourceList",
        ZOO_ALL, "MEM-001", resources_page_behind),
    ROW("MEM-resources-before", "StartDevice writes a byte in front of TranslatedResourceList",
        ZOO_ALL, "MEM-001", resources_before),
    ROW("MEM-registry-path-behind", "StartDevice writes a byte behind DeviceRegistryPath", ZOO_ALL,
        "MEM-001", registry_path_behind),
    {.id = "MEM-escape-behind",
     .sentence = "Escape writes a byte behind its private data",
     .models = ZOO_ALL,
     .rules = "MEM-001",
     .since = ZOO_SINCE,
     .focus = "escapes=yes",
     .plant = escape_behind},
    {.id = "MEM-escape-kept",
     .sentence = "Escape writes to the private data of the escape before it",
     .models = ZOO_ALL,
     .rules = "MEM-003",
     .since = ZOO_SINCE,
     .focus = "escapes=yes",
     .plant = escape_kept},
    ROW("MEM-report-behind", "CollectDbgInfo writes a byte behind its buffer", ZOO_ALL, "MEM-001",
        report_behind),
    ROW("MEM-report-extension-behind", "CollectDbgInfo writes a byte behind its extension", ZOO_ALL,
        "MEM-001", report_extension_behind),
    {.id = "MEM-report-kept",
     .sentence = "CollectDbgInfo writes to the buffer of the report before it",
     .models = ZOO_ALL,
     .rules = "MEM-003",
     .since = ZOO_SINCE,
     .focus = "incidents=yes ops=1000",
     .plant = report_kept},
    {.id = "MEM-report2-behind",
     .sentence = "CollectDbgInfo2 writes a byte behind its buffer",
     .models = ZOO_GPUMMU,
     .rules = "MEM-001",
     .since = ZOO_SINCE,
     .focus = "wddm=3.2",
     .plant = report2_behind},
    {.id = "MEM-payload-behind",
     .sentence = "CollectDbgInfo2 writes a byte behind the payload of a time-out",
     .models = ZOO_GPUMMU,
     .rules = "MEM-001",
     .since = ZOO_SINCE,
     .focus = "wddm=3.2 incidents=yes ops=1000",
     .plant = payload_behind},
    {.id = "MEM-payload-kept",
     .sentence = "CollectDbgInfo2 writes to the payload of the time-out before it",
     .models = ZOO_GPUMMU,
     .rules = "MEM-003",
     .since = ZOO_SINCE,
     .focus = "wddm=3.2 incidents=yes ops=1000",
     .plant = payload_kept},
    {.id = NULL},
};
