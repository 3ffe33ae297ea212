/*
 * The table of loans, in the order of MINIPORT_DDI_LIST.
 */
#include "miniport/loans.h"

#include <string.h>

/* ---- Rows ------------------------------------------------------------------------------------ */

#define PLACE(type, member)                                                                        \
    .name = #member, .offset = offsetof(type, member), .bytes = sizeof(((type *)0)->member)
#define INTEGER(type, member)                                                                      \
    {                                                                                              \
        offsetof(type, member), sizeof(((type *)0)->member)                                        \
    }
#define WHEN(type, member, number)                                                                 \
    {                                                                                              \
        offsetof(type, member), ~0u, number                                                        \
    }

#define VALUE(way, type, member, ...)                                                              \
    {                                                                                              \
        PLACE(type, member), .kind = LOAN_VALUE, .direction = LOAN_##way, ##__VA_ARGS__            \
    }
#define BYTES(way, type, member, number, ...)                                                      \
    {                                                                                              \
        PLACE(type, member), .kind = LOAN_BYTES, .direction = LOAN_##way, .element_bytes = 1,      \
                             .count = INTEGER(type, number), ##__VA_ARGS__                         \
    }
#define ARRAY(way, type, member, number, element_type, ...)                                        \
    {                                                                                              \
        PLACE(type, member), .kind = LOAN_ARRAY, .direction = LOAN_##way,                          \
                             .element_bytes = sizeof(element_type),                                \
                             .count = INTEGER(type, number), ##__VA_ARGS__                         \
    }
#define ONE(way, type, member, element_type, ...)                                                  \
    {                                                                                              \
        PLACE(type, member), .kind = LOAN_ARRAY, .direction = LOAN_##way,                          \
                             .element_bytes = sizeof(element_type), ##__VA_ARGS__                  \
    }
#define PAGE_LIST(type, member, ...)                                                               \
    {                                                                                              \
        PLACE(type, member), .kind = LOAN_MDL, .direction = LOAN_IN, .element = &mdl_structure,    \
                             .has_pages = true, ##__VA_ARGS__                                      \
    }

#define ROWS(rows)                                                                                 \
    {                                                                                              \
        rows, sizeof(rows) / sizeof((rows)[0])                                                     \
    }
#define STRUCTURE(type, of)                                                                        \
    {                                                                                              \
        .name = #type, .bytes = sizeof(type), .rows = ROWS(of)                                     \
    }
/* One without rows: every pointer is NULL, or there is none. */
#define PLAIN(type)                                                                                \
    {                                                                                              \
        .name = #type, .bytes = sizeof(type)                                                       \
    }

/* ---- What several DDIs lend ------------------------------------------------------------------ */

/* A driver may map the pages that an MDL describes: then flags and address tell so. */
static const struct loan_member mdl[] = {
    VALUE(IN, MDL, Size),      VALUE(IN, MDL, Process),    VALUE(IN, MDL, StartVa),
    VALUE(IN, MDL, ByteCount), VALUE(IN, MDL, ByteOffset),
};
static const struct loan_structure mdl_structure = STRUCTURE(MDL, mdl);

/* ---- Queries --------------------------------------------------------------------------------- */

static const struct loan_member descriptor[] = {
    VALUE(OUT, DXGK_SEGMENTDESCRIPTOR, Size, .is_needed = true),
    VALUE(OUT, DXGK_SEGMENTDESCRIPTOR, BaseAddress),
};
static const struct loan_member descriptor3[] = {
    VALUE(OUT, DXGK_SEGMENTDESCRIPTOR3, Size, .is_needed = true),
    VALUE(OUT, DXGK_SEGMENTDESCRIPTOR3, BaseAddress),
};
static const struct loan_member descriptor4[] = {
    VALUE(OUT, DXGK_SEGMENTDESCRIPTOR4, Size, .is_needed = true),
    VALUE(OUT, DXGK_SEGMENTDESCRIPTOR4, BaseAddress),
};
static const struct loan_structure descriptor_structure =
    STRUCTURE(DXGK_SEGMENTDESCRIPTOR, descriptor);
static const struct loan_structure descriptor3_structure =
    STRUCTURE(DXGK_SEGMENTDESCRIPTOR3, descriptor3);
static const struct loan_structure descriptor4_structure =
    STRUCTURE(DXGK_SEGMENTDESCRIPTOR4, descriptor4);

static const struct loan_member segments[] = {
    ARRAY(IN_OUT, DXGK_QUERYSEGMENTOUT, pSegmentDescriptor, NbSegment, DXGK_SEGMENTDESCRIPTOR,
          .element = &descriptor_structure),
};
static const struct loan_member segments3[] = {
    ARRAY(IN_OUT, DXGK_QUERYSEGMENTOUT3, pSegmentDescriptor, NbSegment, DXGK_SEGMENTDESCRIPTOR3,
          .element = &descriptor3_structure),
};
static const struct loan_member segments4[] = {
    ARRAY(IN_OUT, DXGK_QUERYSEGMENTOUT4, pSegmentDescriptor, NbSegment, DXGK_SEGMENTDESCRIPTOR4,
          .element = &descriptor4_structure,
          .stride = INTEGER(DXGK_QUERYSEGMENTOUT4, SegmentDescriptorStride)),
};
static const struct loan_member memory_state[] = {
    ARRAY(IN_OUT, DXGK_QUERYSEGMENTMEMORYSTATE, pMemoryRanges, NumInvalidMemoryRanges,
          DXGK_MEMORYRANGE),
};
static const struct loan_member driver_caps[] = {
    VALUE(OUT, DXGK_DRIVERCAPS, HighestAcceptableAddress, .is_needed = true),
    VALUE(OUT, DXGK_DRIVERCAPS, MaxAllocationListSlotId),
    VALUE(OUT, DXGK_DRIVERCAPS, ApertureSegmentCommitLimit),
    VALUE(OUT, DXGK_DRIVERCAPS, NumberOfSwizzlingRanges),
};
static const struct loan_member gpu_mmu_caps[] = {
    VALUE(OUT, DXGK_GPUMMUCAPS, VirtualAddressBitCount, .is_needed = true),
    VALUE(OUT, DXGK_GPUMMUCAPS, PageTableLevelCount, .is_needed = true),
    VALUE(OUT, DXGK_GPUMMUCAPS, PageTableUpdateMode),
    VALUE(OUT, DXGK_GPUMMUCAPS, LeafPageTableSizeFor64KPagesInBytes),
};
static const struct loan_member level_description[] = {
    VALUE(OUT, DXGK_PAGE_TABLE_LEVEL_DESC, PageTableIndexBitCount, .is_needed = true),
    VALUE(OUT, DXGK_PAGE_TABLE_LEVEL_DESC, PageTableSegmentId),
    VALUE(OUT, DXGK_PAGE_TABLE_LEVEL_DESC, PagingProcessPageTableSegmentId),
    VALUE(OUT, DXGK_PAGE_TABLE_LEVEL_DESC, PageTableSizeInBytes),
    VALUE(OUT, DXGK_PAGE_TABLE_LEVEL_DESC, PageTableAlignmentInBytes),
};
static const struct loan_member physical_caps[] = {
    VALUE(OUT, DXGK_PHYSICALADAPTERCAPS, NumExecutionNodes, .is_needed = true),
    VALUE(OUT, DXGK_PHYSICALADAPTERCAPS, PagingNodeIndex),
};
static const struct loan_structure segments_structure = STRUCTURE(DXGK_QUERYSEGMENTOUT, segments),
                                   segments3_structure =
                                       STRUCTURE(DXGK_QUERYSEGMENTOUT3, segments3),
                                   segments4_structure =
                                       STRUCTURE(DXGK_QUERYSEGMENTOUT4, segments4),
                                   memory_state_structure =
                                       STRUCTURE(DXGK_QUERYSEGMENTMEMORYSTATE, memory_state),
                                   driver_caps_structure = STRUCTURE(DXGK_DRIVERCAPS, driver_caps),
                                   gpu_mmu_caps_structure =
                                       STRUCTURE(DXGK_GPUMMUCAPS, gpu_mmu_caps),
                                   level_description_structure =
                                       STRUCTURE(DXGK_PAGE_TABLE_LEVEL_DESC, level_description),
                                   physical_caps_structure =
                                       STRUCTURE(DXGK_PHYSICALADAPTERCAPS, physical_caps);

#define ANSWER(type, structure)                                                                    \
    BYTES(IN_OUT, DXGKARG_QUERYADAPTERINFO, pOutputData, OutputDataSize, .element = &(structure),  \
          .when = {WHEN(DXGKARG_QUERYADAPTERINFO, Type, DXGKQAITYPE_##type)})
#define QUESTION(type, structure)                                                                  \
    BYTES(IN, DXGKARG_QUERYADAPTERINFO, pInputData, InputDataSize, .element = &(structure),        \
          .when = {WHEN(DXGKARG_QUERYADAPTERINFO, Type, DXGKQAITYPE_##type)})

static const struct loan_member query_adapter_info[] = {
    QUESTION(SEGMENTMEMORYSTATE, memory_state_structure),
    QUESTION(UEFIFRAMEBUFFERRANGES, memory_state_structure),
    BYTES(IN, DXGKARG_QUERYADAPTERINFO, pInputData, InputDataSize),
    ANSWER(QUERYSEGMENT, segments_structure),
    ANSWER(QUERYSEGMENT3, segments3_structure),
    ANSWER(QUERYSEGMENT4, segments4_structure),
    ANSWER(SEGMENTMEMORYSTATE, memory_state_structure),
    ANSWER(UEFIFRAMEBUFFERRANGES, memory_state_structure),
    ANSWER(DRIVERCAPS, driver_caps_structure),
    ANSWER(GPUMMUCAPS, gpu_mmu_caps_structure),
    ANSWER(PAGETABLELEVELDESC, level_description_structure),
    ANSWER(PHYSICALADAPTERCAPS, physical_caps_structure),
    BYTES(IN_OUT, DXGKARG_QUERYADAPTERINFO, pOutputData, OutputDataSize),
};

/* ---- The adapter ----------------------------------------------------------------------------- */

static const struct loan_member start_device[] = {
    ONE(IN, struct loan_start_device, DxgkStartInfo, DXGK_START_INFO),
    ONE(OUT, struct loan_start_device, NumberOfVideoPresentSources, ULONG),
    ONE(OUT, struct loan_start_device, NumberOfChildren, ULONG),
};

/* ---- Processes, devices and contexts --------------------------------------------------------- */

static const struct loan_member create_process[] = {
    VALUE(IN, DXGKARG_CREATEPROCESS, hDxgkProcess),
    VALUE(OUT, DXGKARG_CREATEPROCESS, hKmdProcess),
    VALUE(IN, DXGKARG_CREATEPROCESS, NumPasid),
    ARRAY(IN, DXGKARG_CREATEPROCESS, pPasid, NumPasid, ULONG),
    VALUE(IN, DXGKARG_CREATEPROCESS, ProcessNameLength),
    ARRAY(IN, DXGKARG_CREATEPROCESS, pProcessName, ProcessNameLength, WCHAR),
};
static const struct loan_member create_device[] = {
    /* pInfo shares the place of Flags; a driver with contexts may say NULL there. */
    VALUE(IN, DXGKARG_CREATEDEVICE, hKmdProcess),
};
static const struct loan_member create_context[] = {
    VALUE(IN, DXGKARG_CREATECONTEXT, NodeOrdinal),
    VALUE(IN, DXGKARG_CREATECONTEXT, EngineAffinity),
    BYTES(IN, DXGKARG_CREATECONTEXT, pPrivateDriverData, PrivateDriverDataSize),
    VALUE(IN, DXGKARG_CREATECONTEXT, PrivateDriverDataSize),
    VALUE(OUT, DXGKARG_CREATECONTEXT, ContextInfo.DmaBufferSize),
    VALUE(OUT, DXGKARG_CREATECONTEXT, ContextInfo.DmaBufferSegmentSet),
    VALUE(OUT, DXGKARG_CREATECONTEXT, ContextInfo.DmaBufferPrivateDataSize),
    VALUE(OUT, DXGKARG_CREATECONTEXT, ContextInfo.AllocationListSize),
    VALUE(OUT, DXGKARG_CREATECONTEXT, ContextInfo.PatchLocationListSize),
};

/* ---- Allocations ----------------------------------------------------------------------------- */

static const struct loan_member allocation_info[] = {
    BYTES(IN_OUT, DXGK_ALLOCATIONINFO, pPrivateDriverData, PrivateDriverDataSize),
    VALUE(IN, DXGK_ALLOCATIONINFO, PrivateDriverDataSize),
    VALUE(OUT, DXGK_ALLOCATIONINFO, Alignment),
    VALUE(OUT, DXGK_ALLOCATIONINFO, Size, .is_needed = true),
    VALUE(OUT, DXGK_ALLOCATIONINFO, SupportedReadSegmentSet),
    VALUE(OUT, DXGK_ALLOCATIONINFO, SupportedWriteSegmentSet),
    VALUE(OUT, DXGK_ALLOCATIONINFO, EvictionSegmentSet),
    VALUE(OUT, DXGK_ALLOCATIONINFO, hAllocation, .is_needed = true),
};
static const struct loan_structure allocation_info_structure =
    STRUCTURE(DXGK_ALLOCATIONINFO, allocation_info);

static const struct loan_member create_allocation[] = {
    BYTES(IN_OUT, DXGKARG_CREATEALLOCATION, pPrivateDriverData, PrivateDriverDataSize),
    VALUE(IN, DXGKARG_CREATEALLOCATION, PrivateDriverDataSize),
    VALUE(IN, DXGKARG_CREATEALLOCATION, NumAllocations),
    ARRAY(IN_OUT, DXGKARG_CREATEALLOCATION, pAllocationInfo, NumAllocations, DXGK_ALLOCATIONINFO,
          .element = &allocation_info_structure),
};

/* What the system asks for by itself. The sizes go both ways: the driver tells what it needs. */
#define STANDARD DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA
static const struct loan_member fence_storage[] = {
    VALUE(IN, D3DKMDT_FENCESTORAGESURFACEDATA, PhysicalAdapterIndex),
    VALUE(IN, D3DKMDT_FENCESTORAGESURFACEDATA, FenceStorageValueType),
    VALUE(IN, D3DKMDT_FENCESTORAGESURFACEDATA, FenceStorageType),
    VALUE(OUT, D3DKMDT_FENCESTORAGESURFACEDATA, AllocationInfo.SupportedWriteSegmentSet),
    VALUE(OUT, D3DKMDT_FENCESTORAGESURFACEDATA, AllocationInfo.EvictionSegmentSet),
};
static const struct loan_structure fence_storage_structure =
    STRUCTURE(D3DKMDT_FENCESTORAGESURFACEDATA, fence_storage);
static const struct loan_member standard_allocation[] = {
    VALUE(IN, STANDARD, StandardAllocationType),
    BYTES(OUT, STANDARD, pAllocationPrivateDriverData, AllocationPrivateDriverDataSize),
    BYTES(OUT, STANDARD, pResourcePrivateDriverData, ResourcePrivateDriverDataSize),
    VALUE(IN, STANDARD, PhysicalAdapterIndex),
};
static const struct loan_member shared_primary[] = {
    ONE(IN, STANDARD, pCreateSharedPrimarySurfaceData, D3DKMDT_SHAREDPRIMARYSURFACEDATA),
};
static const struct loan_member standard_fence_storage[] = {
    ONE(IN_OUT, STANDARD, pCreateFenceStorageData, D3DKMDT_FENCESTORAGESURFACEDATA,
        .element = &fence_storage_structure),
};
static const struct loan_rows standard_allocations[] = {
    [D3DKMDT_STANDARDALLOCATION_SHAREDPRIMARYSURFACE] = ROWS(shared_primary),
    [D3DKMDT_STANDARDALLOCATION_FENCESTORAGE] = ROWS(standard_fence_storage),
};
static const struct loan_member destroy_allocation[] = {
    ARRAY(IN, DXGKARG_DESTROYALLOCATION, pAllocationList, NumAllocations, HANDLE),
};
static const struct loan_member describe_allocation[] = {
    VALUE(IN, DXGKARG_DESCRIBEALLOCATION, hAllocation),
};

/* With Flags.Create the driver may write the private data (ALLOC-019, which is judged elsewhere).
 */
static const struct loan_member open_info[] = {
    VALUE(IN, DXGK_OPENALLOCATIONINFO, hAllocation),
    BYTES(IN_OUT, DXGK_OPENALLOCATIONINFO, pPrivateDriverData, PrivateDriverDataSize),
    VALUE(IN, DXGK_OPENALLOCATIONINFO, PrivateDriverDataSize),
    VALUE(OUT, DXGK_OPENALLOCATIONINFO, hDeviceSpecificAllocation, .is_needed = true),
};
static const struct loan_structure open_info_structure =
    STRUCTURE(DXGK_OPENALLOCATIONINFO, open_info);

static const struct loan_member open_allocation[] = {
    ARRAY(IN_OUT, DXGKARG_OPENALLOCATION, pOpenAllocation, NumAllocations, DXGK_OPENALLOCATIONINFO,
          .element = &open_info_structure),
    BYTES(IN_OUT, DXGKARG_OPENALLOCATION, pPrivateDriverData, PrivateDriverSize),
};
static const struct loan_member close_allocation[] = {
    ARRAY(IN, DXGKARG_CLOSEALLOCATION, pOpenHandleList, NumAllocations, HANDLE),
};

/* ---- Paging buffers -------------------------------------------------------------------------- */

#define BUILD DXGKARG_BUILDPAGINGBUFFER
/* The other reading of the same bytes is an address in a segment. */
#define SYSTEM(member) .when = {WHEN(BUILD, member.SegmentId, 0)}
/* Repeat: there is one entry. */
#define REPEATS(number) .when = {{offsetof(BUILD, UpdatePageTable.Flags), 1, number}}

static const struct loan_member fence_residency[] = {
    VALUE(IN, DXGK_FENCE_RESIDENCY_INFO, hGlobalNativeFence),
};
static const struct loan_structure fence_residency_structure =
    STRUCTURE(DXGK_FENCE_RESIDENCY_INFO, fence_residency);

static const struct loan_member build_paging_buffer[] = {
    BYTES(OUT, BUILD, pDmaBuffer, DmaSize, .moves = true, .is_lasting = true,
          .is_lent_above = true),
    BYTES(IN_OUT, BUILD, pDmaBufferPrivateData, DmaBufferPrivateDataSize, .moves = true,
          .is_lasting = true, .is_lent_above = true),
    VALUE(IN, BUILD, DmaBufferPrivateDataSize),
    VALUE(IN, BUILD, Operation),
    VALUE(IN, BUILD, Reserved), /* the arguments of every operation lie in it */
    VALUE(IN, BUILD, hSystemContext),
};
static const struct loan_member transfer[] = {
    PAGE_LIST(BUILD, Transfer.Source.pMdl, SYSTEM(Transfer.Source)),
    PAGE_LIST(BUILD, Transfer.Destination.pMdl, SYSTEM(Transfer.Destination)),
};
static const struct loan_member special_lock_transfer[] = {
    PAGE_LIST(BUILD, SpecialLockTransfer.Source.pMdl, SYSTEM(SpecialLockTransfer.Source)),
    PAGE_LIST(BUILD, SpecialLockTransfer.Destination.pMdl, SYSTEM(SpecialLockTransfer.Destination)),
};
static const struct loan_member map_aperture[] = {PAGE_LIST(BUILD, MapApertureSegment.pMdl)};
static const struct loan_member map_aperture2[] = {
    ARRAY(IN, BUILD, MapApertureSegment2.Adl.Pages, MapApertureSegment2.Adl.PageCount,
          DXGK_PAGE_NUMBER, .has_pages = true,
          .when = {{offsetof(BUILD, MapApertureSegment2.Adl.Flags), 1, 0}}),
};
static const struct loan_member init_context[] = {
    PAGE_LIST(BUILD, InitContextResource.Destination.pMdl, SYSTEM(InitContextResource.Destination)),
};
static const struct loan_member update_page_table[] = {
    ONE(IN, BUILD, UpdatePageTable.pPageTableEntries, DXGK_PTE, REPEATS(1)),
    ARRAY(IN, BUILD, UpdatePageTable.pPageTableEntries, UpdatePageTable.NumPageTableEntries,
          DXGK_PTE, REPEATS(0)),
    ONE(IN, BUILD, UpdatePageTable.pPageTableEntries64KB, DXGK_PTE),
};
static const struct loan_member update_context[] = {
    BYTES(IN, BUILD, UpdateContextAllocation.pDriverPrivateData,
          UpdateContextAllocation.DriverPrivateDataSize),
};
static const struct loan_member copy_entries[] = {
    ARRAY(IN, BUILD, CopyPageTableEntries.pRanges, CopyPageTableEntries.NumRanges,
          DXGK_BUILDPAGINGBUFFER_COPY_RANGE),
};
static const struct loan_member fence_notice[] = {
    ARRAY(IN, BUILD, NotifyFenceResidency.FenceResidencyInfo, NotifyFenceResidency.NumFences,
          DXGK_FENCE_RESIDENCY_INFO, .element = &fence_residency_structure),
};
static const struct loan_member map_mmu[] = {
    ARRAY(IN, BUILD, MmapMmu.Adl.Pages, MmapMmu.Adl.PageCount, DXGK_PAGE_NUMBER, .has_pages = true,
          .when = {{offsetof(BUILD, MmapMmu.Adl.Flags), 1, 0}}),
};
static const struct loan_member residency_notice2[] = {
    PAGE_LIST(BUILD, NotifyResidency2.Mdl,
              .when = {{offsetof(BUILD, NotifyResidency2.SegmentId), 0xffff, 0}}),
};

static const struct loan_rows operations[] = {
    [DXGK_OPERATION_TRANSFER] = ROWS(transfer),
    [DXGK_OPERATION_SPECIAL_LOCK_TRANSFER] = ROWS(special_lock_transfer),
    [DXGK_OPERATION_MAP_APERTURE_SEGMENT] = ROWS(map_aperture),
    [DXGK_OPERATION_MAP_APERTURE_SEGMENT2] = ROWS(map_aperture2),
    [DXGK_OPERATION_INIT_CONTEXT_RESOURCE] = ROWS(init_context),
    [DXGK_OPERATION_UPDATE_PAGE_TABLE] = ROWS(update_page_table),
    [DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION] = ROWS(update_context),
    [DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES] = ROWS(copy_entries),
    [DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY] = ROWS(fence_notice),
    [DXGK_OPERATION_MAP_MMU] = ROWS(map_mmu),
    [DXGK_OPERATION_NOTIFY_RESIDENCY2] = ROWS(residency_notice2),
};

/* ---- Work ------------------------------------------------------------------------------------ */

static const struct loan_member render[] = {
    VALUE(IN, DXGKARG_RENDER, pCommand),
    VALUE(IN, DXGKARG_RENDER, CommandLength),
    BYTES(OUT, DXGKARG_RENDER, pDmaBuffer, DmaSize, .moves = true, .is_lasting = true),
    BYTES(IN_OUT, DXGKARG_RENDER, pDmaBufferPrivateData, DmaBufferPrivateDataSize, .moves = true,
          .is_lasting = true),
    VALUE(IN, DXGKARG_RENDER, DmaBufferPrivateDataSize),
    ARRAY(IN, DXGKARG_RENDER, pAllocationList, AllocationListSize, DXGK_ALLOCATIONLIST),
    VALUE(IN, DXGKARG_RENDER, AllocationListSize),
    ARRAY(IN, DXGKARG_RENDER, pPatchLocationListIn, PatchLocationListInSize,
          D3DDDI_PATCHLOCATIONLIST),
    VALUE(IN, DXGKARG_RENDER, PatchLocationListInSize),
    ARRAY(OUT, DXGKARG_RENDER, pPatchLocationListOut, PatchLocationListOutSize,
          D3DDDI_PATCHLOCATIONLIST, .moves = true),
};
/* The command buffer is the kernel's, and goes with the call. */
static const struct loan_member render_km[] = {
    BYTES(IN, DXGKARG_RENDER, pCommand, CommandLength),
    VALUE(IN, DXGKARG_RENDER, CommandLength),
    BYTES(OUT, DXGKARG_RENDER, pDmaBuffer, DmaSize, .moves = true, .is_lasting = true),
    BYTES(IN_OUT, DXGKARG_RENDER, pDmaBufferPrivateData, DmaBufferPrivateDataSize, .moves = true,
          .is_lasting = true),
    VALUE(IN, DXGKARG_RENDER, DmaBufferPrivateDataSize),
    ARRAY(IN, DXGKARG_RENDER, pAllocationList, AllocationListSize, DXGK_ALLOCATIONLIST),
    VALUE(IN, DXGKARG_RENDER, AllocationListSize),
    ARRAY(IN, DXGKARG_RENDER, pPatchLocationListIn, PatchLocationListInSize,
          D3DDDI_PATCHLOCATIONLIST),
    VALUE(IN, DXGKARG_RENDER, PatchLocationListInSize),
    ARRAY(OUT, DXGKARG_RENDER, pPatchLocationListOut, PatchLocationListOutSize,
          D3DDDI_PATCHLOCATIONLIST, .moves = true),
};
/* As RenderKm's, with virtual addresses in the place of patch locations. */
static const struct loan_member render_gdi[] = {
    BYTES(IN, DXGKARG_RENDERGDI, pCommand, CommandLength),
    VALUE(IN, DXGKARG_RENDERGDI, CommandLength),
    BYTES(OUT, DXGKARG_RENDERGDI, pDmaBuffer, DmaSize, .moves = true, .is_lasting = true),
    BYTES(IN_OUT, DXGKARG_RENDERGDI, pDmaBufferPrivateData, DmaBufferPrivateDataSize, .moves = true,
          .is_lasting = true),
    VALUE(IN, DXGKARG_RENDERGDI, DmaBufferPrivateDataSize),
    ARRAY(IN, DXGKARG_RENDERGDI, pAllocationList, AllocationListSize, DXGK_ALLOCATIONLIST),
    VALUE(IN, DXGKARG_RENDERGDI, AllocationListSize),
};
/* The two pointers beside pAllocationList share its place and are not used. */
static const struct loan_member present[] = {
    BYTES(OUT, DXGKARG_PRESENT, pDmaBuffer, DmaSize, .moves = true, .is_lasting = true),
    BYTES(IN_OUT, DXGKARG_PRESENT, pDmaBufferPrivateData, DmaBufferPrivateDataSize, .moves = true,
          .is_lasting = true),
    VALUE(IN, DXGKARG_PRESENT, DmaBufferPrivateDataSize),
    ONE(IN, DXGKARG_PRESENT, pAllocationList, DXGK_ALLOCATIONLIST[MINIPORT_PRESENT_ALLOCATIONS]),
    ARRAY(OUT, DXGKARG_PRESENT, pPatchLocationListOut, PatchLocationListOutSize,
          D3DDDI_PATCHLOCATIONLIST, .moves = true),
    ARRAY(IN, DXGKARG_PRESENT, pDstSubRects, SubRectCnt, RECT),
    BYTES(IN, DXGKARG_PRESENT, pPrivateDriverData, PrivateDriverDataSize),
};
static const struct loan_member patch[] = {
    BYTES(IN_OUT, DXGKARG_PATCH, pDmaBuffer, DmaBufferSize, .is_lasting = true,
          .is_lent_above = true),
    BYTES(IN_OUT, DXGKARG_PATCH, pDmaBufferPrivateData, DmaBufferPrivateDataSize,
          .is_lasting = true),
    ARRAY(IN, DXGKARG_PATCH, pAllocationList, AllocationListSize, DXGK_ALLOCATIONLIST),
    ARRAY(IN, DXGKARG_PATCH, pPatchLocationList, PatchLocationListSize, D3DDDI_PATCHLOCATIONLIST),
};
static const struct loan_member submit_command[] = {
    BYTES(IN_OUT, DXGKARG_SUBMITCOMMAND, pDmaBufferPrivateData, DmaBufferPrivateDataSize,
          .is_lasting = true),
};
static const struct loan_member submit_command_virtual[] = {
    BYTES(IN_OUT, DXGKARG_SUBMITCOMMANDVIRTUAL, pDmaBufferPrivateData, DmaBufferPrivateDataSize,
          .is_lasting = true),
};
static const struct loan_member create_hw_queue[] = {
    BYTES(IN_OUT, DXGKARG_CREATEHWQUEUE, pPrivateDriverData, PrivateDriverDataSize),
};
/* The private data are freed behind the call (HWQ-013). The value of the fence stays. */
static const struct loan_member submit_command_to_hw_queue[] = {
    BYTES(IN_OUT, DXGKARG_SUBMITCOMMANDTOHWQUEUE, pDmaBufferPrivateData, DmaBufferPrivateDataSize),
};
static const struct loan_member power_runtime_control_request[] = {
    ONE(IN, struct miniport_power_control, PowerControlCode, GUID),
};
static const struct loan_member node_metadata[] = {
    VALUE(IN, struct miniport_node, NodeOrdinalAndAdapterIndex),
};
static const struct loan_member gpu_clock[] = {
    VALUE(OUT, struct miniport_clock, calibration.GpuFrequency, .is_needed = true),
    VALUE(OUT, struct miniport_clock, calibration.GpuClockCounter, .is_needed = true),
    VALUE(OUT, struct miniport_clock, calibration.CpuClockCounter, .is_needed = true),
    VALUE(IN, struct miniport_clock, NodeOrdinal),
    VALUE(IN, struct miniport_clock, EngineOrdinal),
};
static const struct loan_member cancel_command[] = {
    BYTES(IN_OUT, DXGKARG_CANCELCOMMAND, pDmaBuffer, DmaBufferSize, .is_lasting = true),
    BYTES(IN_OUT, DXGKARG_CANCELCOMMAND, pDmaBufferPrivateData, DmaBufferPrivateDataSize,
          .is_lasting = true),
    ARRAY(IN, DXGKARG_CANCELCOMMAND, pAllocationList, AllocationListSize, DXGK_ALLOCATIONLIST),
    ARRAY(IN, DXGKARG_CANCELCOMMAND, pPatchLocationList, PatchLocationListSize,
          D3DDDI_PATCHLOCATIONLIST),
};
static const struct loan_member query_current_fence[] = {
    VALUE(OUT, DXGKARG_QUERYCURRENTFENCE, CurrentFence, .is_needed = true),
    VALUE(IN, DXGKARG_QUERYCURRENTFENCE, NodeOrdinal),
    VALUE(IN, DXGKARG_QUERYCURRENTFENCE, EngineOrdinal),
};
static const struct loan_member reset_engine[] = {
    VALUE(IN, DXGKARG_RESETENGINE, NodeOrdinal),
    VALUE(IN, DXGKARG_RESETENGINE, EngineOrdinal),
    VALUE(OUT, DXGKARG_RESETENGINE, LastAbortedFenceId, .is_needed = true),
};
static const struct loan_member query_engine_status[] = {
    VALUE(IN, DXGKARG_QUERYENGINESTATUS, NodeOrdinal),
    VALUE(IN, DXGKARG_QUERYENGINESTATUS, EngineOrdinal),
};
static const struct loan_member query_dependent_engine_group[] = {
    VALUE(IN, DXGKARG_QUERYDEPENDENTENGINEGROUP, NodeOrdinal),
    VALUE(IN, DXGKARG_QUERYDEPENDENTENGINEGROUP, EngineOrdinal),
    VALUE(OUT, DXGKARG_QUERYDEPENDENTENGINEGROUP, DependentNodeOrdinalMask, .is_needed = true),
};

/* ---- Views of memory ------------------------------------------------------------------------- */

static const struct loan_member acquire_swizzling_range[] = {
    VALUE(IN, DXGKARG_ACQUIRESWIZZLINGRANGE, hAllocation),
    VALUE(IN, DXGKARG_ACQUIRESWIZZLINGRANGE, PrivateDriverData),
    VALUE(IN, DXGKARG_ACQUIRESWIZZLINGRANGE, RangeId),
    VALUE(IN, DXGKARG_ACQUIRESWIZZLINGRANGE, SegmentId),
    VALUE(IN, DXGKARG_ACQUIRESWIZZLINGRANGE, RangeSize),
    VALUE(IN, DXGKARG_ACQUIRESWIZZLINGRANGE, CPUTranslatedAddress),
};
static const struct loan_member map_cpu_host_aperture[] = {
    ARRAY(IN, DXGKARG_MAPCPUHOSTAPERTURE, pCpuHostAperturePages, NumberOfPages, UINT32),
    ARRAY(IN, DXGKARG_MAPCPUHOSTAPERTURE, pMemorySegmentPages, NumberOfPages, UINT64),
};
static const struct loan_member unmap_cpu_host_aperture[] = {
    ARRAY(IN, DXGKARG_UNMAPCPUHOSTAPERTURE, pCpuHostAperturePages, NumberOfPages, UINT32),
};

/* ---- Native fences --------------------------------------------------------------------------- */

static const struct loan_member create_native_fence[] = {
    VALUE(IN, DXGKARG_CREATENATIVEFENCE, Type),
    VALUE(IN, DXGKARG_CREATENATIVEFENCE, CurrentValueSystemProcessGpuVa),
    VALUE(IN, DXGKARG_CREATENATIVEFENCE, MonitoredValueSystemProcessGpuVa),
};
static const struct loan_member update_monitored_values[] = {
    ARRAY(IN, DXGKARG_UPDATEMONITOREDVALUES, NativeFenceArray, NumFences, HANDLE),
    ARRAY(IN, DXGKARG_UPDATEMONITOREDVALUES, UpdatedValueArray, NumFences, UINT64),
    ARRAY(IN, DXGKARG_UPDATEMONITOREDVALUES, MonitoredValueKernelCpuVa, NumFences, void *),
};

static const struct loan_member escape[] = {
    BYTES(IN_OUT, DXGKARG_ESCAPE, pPrivateDriverData, PrivateDriverDataSize),
};
/* Zeroed; the driver writes as much as it has. */
static const struct loan_member collect_dbg_info[] = {
    BYTES(IN_OUT, DXGKARG_COLLECTDBGINFO, pBuffer, BufferSize),
    ONE(IN_OUT, DXGKARG_COLLECTDBGINFO, pExtension, DXGKARG_COLLECTDBGINFO_EXT),
};
static const struct loan_member collect_dbg_info2[] = {
    BYTES(IN_OUT, DXGKARG_COLLECTDBGINFO2, pBuffer, BufferSize),
    ONE(IN_OUT, DXGKARG_COLLECTDBGINFO2, pExtension, DXGKARG_COLLECTDBGINFO_EXT),
    BYTES(IN_OUT, DXGKARG_COLLECTDBGINFO2, TdrPayload, TdrPayloadSize),
};

/* ---- Modes, children, the pointer ------------------------------------------------------------ */

/* Handles of networks are the kernel's. What pSource and pPixels lead to is the caller's to guard.
 */
static const struct loan_member is_supported_vid_pn[] = {
    VALUE(IN, DXGKARG_ISSUPPORTEDVIDPN, hDesiredVidPn),
    VALUE(OUT, DXGKARG_ISSUPPORTEDVIDPN, IsVidPnSupported),
};
static const struct loan_member recommend_functional_vid_pn[] = {
    ARRAY(IN, DXGKARG_RECOMMENDFUNCTIONALVIDPN, pVidPnTargetPrioritizationVector,
          NumberOfVidPnTargets, D3DDDI_VIDEO_PRESENT_TARGET_ID),
    BYTES(IN, DXGKARG_RECOMMENDFUNCTIONALVIDPN, pPrivateDriverData, PrivateDriverDataSize),
};
static const struct loan_member present_display_only[] = {
    ARRAY(IN, DXGKARG_PRESENT_DISPLAYONLY, pMoves, NumMoves, D3DKMT_MOVE_RECT),
    ARRAY(IN, DXGKARG_PRESENT_DISPLAYONLY, pDirtyRect, NumDirtyRects, RECT),
};
static const struct loan_member query_child_relations[] = {
    BYTES(IN_OUT, struct miniport_children, ChildRelations, ChildRelationsSize),
};
static const struct loan_member child_status[] = {
    VALUE(IN, DXGK_CHILD_STATUS, Type),
    VALUE(IN, DXGK_CHILD_STATUS, ChildUid),
};
static const struct loan_structure child_status_structure =
    STRUCTURE(DXGK_CHILD_STATUS, child_status);
static const struct loan_member query_child_status[] = {
    ONE(IN_OUT, struct miniport_child_status, ChildStatus, DXGK_CHILD_STATUS,
        .element = &child_status_structure),
};
static const struct loan_member device_descriptor[] = {
    VALUE(IN, DXGK_DEVICE_DESCRIPTOR, DescriptorOffset),
    BYTES(IN_OUT, DXGK_DEVICE_DESCRIPTOR, DescriptorBuffer, DescriptorLength),
};
static const struct loan_structure device_descriptor_structure =
    STRUCTURE(DXGK_DEVICE_DESCRIPTOR, device_descriptor);
static const struct loan_member query_device_descriptor[] = {
    ONE(IN_OUT, struct miniport_descriptor, DeviceDescriptor, DXGK_DEVICE_DESCRIPTOR,
        .element = &device_descriptor_structure),
};
static const struct loan_member stop_and_release[] = {
    ONE(IN_OUT, struct miniport_post_display, DisplayInfo, DXGK_DISPLAY_INFORMATION),
};

/* ---- The list -------------------------------------------------------------------------------- */

#define OF(ddi, type, rows) [MINIPORT_DDI_##ddi] = STRUCTURE(DXGKARG_##type, rows)
#define NO_LOANS(ddi, type) [MINIPORT_DDI_##ddi] = PLAIN(DXGKARG_##type)

static const struct loan_structure arguments[MINIPORT_DDI_COUNT] = {
    OF(QueryAdapterInfo, QUERYADAPTERINFO, query_adapter_info),
    OF(CreateProcess, CREATEPROCESS, create_process),
    OF(CreateDevice, CREATEDEVICE, create_device),
    OF(CreateContext, CREATECONTEXT, create_context),
    OF(CreateAllocation, CREATEALLOCATION, create_allocation),
    OF(DestroyAllocation, DESTROYALLOCATION, destroy_allocation),
    OF(DescribeAllocation, DESCRIBEALLOCATION, describe_allocation),
    OF(OpenAllocation, OPENALLOCATION, open_allocation),
    OF(CloseAllocation, CLOSEALLOCATION, close_allocation),
    [MINIPORT_DDI_BuildPagingBuffer] = {"DXGKARG_BUILDPAGINGBUFFER", sizeof(BUILD),
                                        ROWS(build_paging_buffer), INTEGER(BUILD, Operation),
                                        operations, sizeof operations / sizeof operations[0]},
    OF(Render, RENDER, render),
    OF(Present, PRESENT, present),
    OF(Patch, PATCH, patch),
    OF(SubmitCommand, SUBMITCOMMAND, submit_command),
    OF(SubmitCommandVirtual, SUBMITCOMMANDVIRTUAL, submit_command_virtual),
    NO_LOANS(PreemptCommand, PREEMPTCOMMAND),
    OF(QueryCurrentFence, QUERYCURRENTFENCE, query_current_fence),
    OF(ResetEngine, RESETENGINE, reset_engine),
    OF(QueryEngineStatus, QUERYENGINESTATUS, query_engine_status),
    OF(QueryDependentEngineGroup, QUERYDEPENDENTENGINEGROUP, query_dependent_engine_group),
    OF(CancelCommand, CANCELCOMMAND, cancel_command),
    OF(AcquireSwizzlingRange, ACQUIRESWIZZLINGRANGE, acquire_swizzling_range),
    NO_LOANS(ReleaseSwizzlingRange, RELEASESWIZZLINGRANGE),
    NO_LOANS(SetRootPageTable, SETROOTPAGETABLE),
    OF(MapCpuHostAperture, MAPCPUHOSTAPERTURE, map_cpu_host_aperture),
    OF(UnmapCpuHostAperture, UNMAPCPUHOSTAPERTURE, unmap_cpu_host_aperture),
    OF(CreateNativeFence, CREATENATIVEFENCE, create_native_fence),
    NO_LOANS(BeginExclusiveAccess, BEGINEXCLUSIVEACCESS),
    NO_LOANS(EndExclusiveAccess, ENDEXCLUSIVEACCESS),
    [MINIPORT_DDI_GetStandardAllocationDriverData] = {"DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA",
                                                      sizeof(STANDARD), ROWS(standard_allocation),
                                                      INTEGER(STANDARD, StandardAllocationType),
                                                      standard_allocations,
                                                      sizeof standard_allocations /
                                                          sizeof standard_allocations[0]},
    NO_LOANS(SetVidPnSourceAddress, SETVIDPNSOURCEADDRESS),
    NO_LOANS(SetVidPnSourceVisibility, SETVIDPNSOURCEVISIBILITY),
    OF(RenderKm, RENDER, render_km),
    OF(RenderGdi, RENDERGDI, render_gdi),
    OF(Escape, ESCAPE, escape),
    OF(CollectDbgInfo, COLLECTDBGINFO, collect_dbg_info),
    OF(CollectDbgInfo2, COLLECTDBGINFO2, collect_dbg_info2),
    NO_LOANS(ControlInterrupt3, CONTROLINTERRUPT3),
    [MINIPORT_DDI_SetPowerComponentFState] = PLAIN(struct miniport_f_state),
    [MINIPORT_DDI_PowerRuntimeControlRequest] =
        STRUCTURE(struct miniport_power_control, power_runtime_control_request),
    [MINIPORT_DDI_ControlInterrupt] = PLAIN(struct miniport_interrupt),
    NO_LOANS(ControlInterrupt2, CONTROLINTERRUPT2),
    OF(CreateHwQueue, CREATEHWQUEUE, create_hw_queue),
    OF(SubmitCommandToHwQueue, SUBMITCOMMANDTOHWQUEUE, submit_command_to_hw_queue),
    OF(PresentToHwQueue, PRESENT, present),
    NO_LOANS(SetupPriorityBands, SETUPPRIORITYBANDS),
    NO_LOANS(SetContextSchedulingProperties, SETCONTEXTSCHEDULINGPROPERTIES),
    NO_LOANS(SetSchedulingLogBuffer, SETSCHEDULINGLOGBUFFER),
    NO_LOANS(SuspendContext, SUSPENDCONTEXT),
    NO_LOANS(ResumeContext, RESUMECONTEXT),
    NO_LOANS(ResetHwEngine, RESETHWENGINE),
    NO_LOANS(ResumeHwEngine, RESUMEHWENGINE),
    NO_LOANS(SwitchToHwContextList, SWITCHTOHWCONTEXTLIST),
    [MINIPORT_DDI_GetNodeMetadata] = STRUCTURE(struct miniport_node, node_metadata),
    [MINIPORT_DDI_CalibrateGpuClock] = STRUCTURE(struct miniport_clock, gpu_clock),
    NO_LOANS(DestroyNativeFence, DESTROYNATIVEFENCE),
    OF(UpdateMonitoredValues, UPDATEMONITOREDVALUES, update_monitored_values),
    NO_LOANS(GetRootPageTableSize, GETROOTPAGETABLESIZE),
    OF(IsSupportedVidPn, ISSUPPORTEDVIDPN, is_supported_vid_pn),
    OF(RecommendFunctionalVidPn, RECOMMENDFUNCTIONALVIDPN, recommend_functional_vid_pn),
    NO_LOANS(EnumVidPnCofuncModality, ENUMVIDPNCOFUNCMODALITY),
    NO_LOANS(CommitVidPn, COMMITVIDPN),
    NO_LOANS(UpdateActiveVidPnPresentPath, UPDATEACTIVEVIDPNPRESENTPATH),
    NO_LOANS(RecommendMonitorModes, RECOMMENDMONITORMODES),
    NO_LOANS(QueryVidPnHWCapability, QUERYVIDPNHWCAPABILITY),
    NO_LOANS(SetPointerPosition, SETPOINTERPOSITION),
    NO_LOANS(SetPointerShape, SETPOINTERSHAPE),
    [MINIPORT_DDI_QueryChildRelations] = STRUCTURE(struct miniport_children, query_child_relations),
    [MINIPORT_DDI_QueryChildStatus] = STRUCTURE(struct miniport_child_status, query_child_status),
    [MINIPORT_DDI_QueryDeviceDescriptor] =
        STRUCTURE(struct miniport_descriptor, query_device_descriptor),
    [MINIPORT_DDI_StopDeviceAndReleasePostDisplayOwnership] =
        STRUCTURE(struct miniport_post_display, stop_and_release),
    [MINIPORT_DDI_PresentDisplayOnly] = {"DXGKARG_PRESENT_DISPLAYONLY",
                                         sizeof(DXGKARG_PRESENT_DISPLAYONLY),
                                         ROWS(present_display_only)},
    [MINIPORT_DDI_StartDevice] = STRUCTURE(struct loan_start_device, start_device),
};

/* ---- Questions ------------------------------------------------------------------------------- */

const struct loan_structure *loans_of(enum miniport_ddi ddi)
{
    return (unsigned)ddi < MINIPORT_DDI_COUNT && arguments[ddi].name ? &arguments[ddi] : NULL;
}

static bool holds(const struct loan_condition *condition, const void *bytes)
{
    uint32_t word;

    if (!condition->mask)
        return true;
    memcpy(&word, (const char *)bytes + condition->offset, sizeof word);
    return (word & condition->mask) == condition->value;
}

bool loan_conditions_hold(const struct loan_member *member, const void *bytes)
{
    return holds(&member->when[0], bytes) && holds(&member->when[1], bytes);
}

struct loan_rows loan_variant(const struct loan_structure *structure, const void *bytes)
{
    uint64_t choice;

    if (!structure->choice.bytes)
        return (struct loan_rows){NULL, 0};
    choice = loan_integer(structure->choice, bytes);
    return choice < structure->variant_count ? structure->variants[choice]
                                             : (struct loan_rows){NULL, 0};
}

uint64_t loan_integer(struct loan_integer integer, const void *bytes)
{
    uint64_t value = 0; /* x64 is little-endian */

    memcpy(&value, (const char *)bytes + integer.offset, integer.bytes);
    return value;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

struct collection {
    struct loan_piece *pieces;
    unsigned count, most;
};

static void add_piece(struct collection *all, const struct loan_piece *piece)
{
    if (all->count < all->most)
        all->pieces[all->count] = *piece;
    all->count++;
}

/* Of two rows for one pointer the first counts. */
static bool has_cell(const struct collection *all, const void *cell)
{
    for (unsigned i = 0; i < all->count && i < all->most; i++) {
        if (all->pieces[i].cell == cell)
            return true;
    }
    return false;
}

static void collect_members(struct collection *all, char *structure, size_t bytes,
                            struct loan_rows rows);

/* What the elements of an array, or the one that bytes are, lead to. */
static void collect_elements(struct collection *all, const struct loan_structure *structure,
                             char *memory, uint64_t count, size_t element_bytes)
{
    for (uint64_t i = 0; i < count; i++) {
        char *element = memory + i * element_bytes;

        collect_members(all, element, element_bytes, structure->rows);
        collect_members(all, element, element_bytes, loan_variant(structure, element));
    }
}

static void collect_members(struct collection *all, char *structure, size_t bytes,
                            struct loan_rows rows)
{
    for (uint16_t i = 0; i < rows.count; i++) {
        const struct loan_member *member = &rows.members[i];
        const bool is_array = member->kind == LOAN_ARRAY;
        char *cell = structure + member->offset, *memory;
        uint64_t count, element_bytes;

        if (member->kind == LOAN_VALUE || !(member->direction & LOAN_OUT) ||
            (size_t)member->offset + member->bytes > bytes || !loan_is_there(member, structure) ||
            has_cell(all, cell))
            continue;
        memcpy(&memory, cell, sizeof memory);
        count = member->count.bytes ? loan_integer(member->count, structure) : 1;
        element_bytes = member->stride.bytes ? loan_integer(member->stride, structure) : 0;
        if (!element_bytes)
            element_bytes = member->element_bytes;
        if (!memory || !count)
            continue;
        add_piece(all, &(struct loan_piece){member, memory, count * element_bytes, cell});
        if (member->element)
            collect_elements(all, member->element, memory, is_array ? count : 1,
                             is_array ? element_bytes : count);
    }
}

#define NO_MEMORY_BELOW 0x10000u

/* Not in the table: Flags, of devices of drivers with contexts, share the place of the pointer. */
static void collect_device_info(struct collection *all, DXGKARG_CREATEDEVICE *argument)
{
    static const struct loan_member info =
        ONE(IN_OUT, DXGKARG_CREATEDEVICE, pInfo, DXGK_DEVICEINFO);

    if ((uintptr_t)argument->pInfo >= NO_MEMORY_BELOW)
        add_piece(all, &(struct loan_piece){&info, argument->pInfo, sizeof *argument->pInfo,
                                            &argument->pInfo});
}

unsigned loans_collect(enum miniport_ddi ddi, void *argument, size_t bytes,
                       struct loan_piece *pieces, unsigned most)
{
    const struct loan_structure *structure = loans_of(ddi);
    struct collection all = {.pieces = pieces, .most = most};

    add_piece(&all, &(struct loan_piece){NULL, argument, bytes, NULL});
    if (structure)
        collect_elements(&all, structure, argument, 1, bytes);
    if (ddi == MINIPORT_DDI_CreateDevice)
        collect_device_info(&all, argument);
    return all.count;
}

/* The last bank ends with its segment: its end is not given. */
#define COLLECT_BANKS(all, type, out)                                                              \
    for (UINT i = 0; (out)->pSegmentDescriptor && i < (out)->NbSegment; i++) {                     \
        type *segment = &(out)->pSegmentDescriptor[i];                                             \
                                                                                                   \
        if (segment->Flags.UseBanking && segment->pBankRangeTable && segment->NbOfBanks > 1)       \
            add_piece(all, &(struct loan_piece){NULL, segment->pBankRangeTable,                    \
                                                (segment->NbOfBanks - 1) * sizeof(SIZE_T),         \
                                                &segment->pBankRangeTable});                       \
    }

static void collect_banks(struct collection *all, const DXGKARG_QUERYADAPTERINFO *query)
{
    const DXGK_QUERYSEGMENTOUT *out = query->pOutputData;
    const DXGK_QUERYSEGMENTOUT3 *out3 = query->pOutputData;

    if (query->Type == DXGKQAITYPE_QUERYSEGMENT) {
        COLLECT_BANKS(all, DXGK_SEGMENTDESCRIPTOR, out)
    } else if (query->Type == DXGKQAITYPE_QUERYSEGMENT3) {
        COLLECT_BANKS(all, DXGK_SEGMENTDESCRIPTOR3, out3)
    }
}

unsigned loans_collect_given(enum miniport_ddi ddi, void *argument, const void *before,
                             struct loan_piece *given, unsigned most)
{
    struct collection all = {.pieces = given, .most = most};
    const DXGKARG_CREATEDEVICE *device_before = before;
    DXGKARG_CREATEDEVICE *device = argument;

    if (ddi == MINIPORT_DDI_QueryAdapterInfo)
        collect_banks(&all, argument);
    if (ddi == MINIPORT_DDI_CreateDevice && (uintptr_t)device_before->pInfo >= NO_MEMORY_BELOW &&
        (uintptr_t)device->pInfo >= NO_MEMORY_BELOW && device->pInfo != device_before->pInfo)
        collect_device_info(&all, device);
    return all.count;
}

/* ---- Putting back ---------------------------------------------------------------------------- */

/* Whether the driver may not write the member's bytes in the structure itself. */
static bool is_read_only(const struct loan_member *member)
{
    return member->kind == LOAN_VALUE ? member->direction == LOAN_IN : !member->moves;
}

static size_t first_other(const char *now, const char *was)
{
    size_t offset = 0;

    while (now[offset] == was[offset])
        offset++;
    return offset;
}

int64_t loans_restore(enum miniport_ddi ddi, void *argument, const void *before, size_t bytes,
                      bool is_const)
{
    const struct loan_structure *structure = loans_of(ddi);
    int64_t first = -1;

    if (memcmp(argument, before, bytes) == 0)
        return -1;
    if (is_const) {
        first = (int64_t)first_other(argument, before);
        memcpy(argument, before, bytes);
        return first;
    }
    for (uint16_t i = 0; i < structure->rows.count; i++) {
        const struct loan_member *member = &structure->rows.members[i];
        char *now = (char *)argument + member->offset;
        const char *was = (const char *)before + member->offset;

        if (!is_read_only(member) || memcmp(now, was, member->bytes) == 0)
            continue;
        if (first < 0)
            first = (int64_t)(member->offset + first_other(now, was));
        memcpy(now, was, member->bytes);
    }
    return first;
}
