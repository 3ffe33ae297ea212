/*
 * Adapter caps: the queries of S-01 that tell about the driver, the adapter and its page tables;
 * adapter_caps_segments.c has those that tell about segments, and where the answers are judged.
 *
 * Not to be seen in a report, and therefore checked elsewhere or not at all: SEG-011 (linear CPU
 * access), SEG-013 (where the memory came from), SEG-017 (an observation of others, not a rule),
 * SEG-018, SEG-020 to SEG-024 (rules for the manager), PT-008 (checked when the root is sized).
 */
#include "vidmm/adapter/adapter_caps_private.h"

#include <stdio.h>

_Static_assert(DXGKDDI_INTERFACE_VERSION == DXGKDDI_INTERFACE_VERSION_WDDM3_2,
               "the manager is built with the newest structures and cuts them to the driver's");

/* IoMmu: addresses of a 64-bit process. */
#define PROCESS_VA_BITS 47

/* ---- Driver and physical adapter ---- */

/* DXGK_DRIVERCAPS grew at its end: a version's structure stops where the next one's goes on. */
uint32_t vidmm_driver_caps_bytes(uint32_t version)
{
    static const struct {
        ULONG below;
        size_t bytes;
    } sizes[] = {
        {DXGKDDI_INTERFACE_VERSION_WIN7, offsetof(DXGK_DRIVERCAPS, WDDMVersion)},
        {DXGKDDI_INTERFACE_VERSION_WIN8, offsetof(DXGK_DRIVERCAPS, PreemptionCaps)},
        {DXGKDDI_INTERFACE_VERSION_WDDM1_3, offsetof(DXGK_DRIVERCAPS, HybridDiscrete)},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_0, offsetof(DXGK_DRIVERCAPS, HybridIntegrated)},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_1,
         offsetof(DXGK_DRIVERCAPS, SupportMultiPlaneOverlayImmediateFlip)},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_4, offsetof(DXGK_DRIVERCAPS, MiscCaps)},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_9, offsetof(DXGK_DRIVERCAPS, MaxHwQueuedFlips)},
    };

    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        if (version < sizes[i].below)
            return (uint32_t)align_up(sizes[i].bytes, _Alignof(DXGK_DRIVERCAPS));
    }
    return sizeof(DXGK_DRIVERCAPS);
}

/* Which of the two models the flags choose; before 2.0 there is one. */
static NTSTATUS choose_model(struct caps_query *query, const DXGK_VIDMMCAPS *memory)
{
    if (!caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_0))
        return STATUS_SUCCESS;
    if (memory->VirtualAddressingSupported && !memory->GpuMmuSupported && !memory->IoMmuSupported)
        return caps_fail(query, "PT-001",
                         "DRIVERCAPS.MemoryManagementCaps.VirtualAddressingSupported", 1,
                         "GpuMmuSupported or IoMmuSupported with it");
    if (!memory->VirtualAddressingSupported && memory->GpuMmuSupported)
        return caps_fail(query, "PT-001", "DRIVERCAPS.MemoryManagementCaps.GpuMmuSupported", 1,
                         "VirtualAddressingSupported with it");
    if (!memory->VirtualAddressingSupported && memory->IoMmuSupported)
        return caps_fail(query, "PT-001", "DRIVERCAPS.MemoryManagementCaps.IoMmuSupported", 1,
                         "VirtualAddressingSupported with it");
    query->caps->is_virtual = memory->VirtualAddressingSupported;
    query->caps->has_page_tables = memory->GpuMmuSupported; /* both: GpuMmu */
    query->caps->va_bits = PROCESS_VA_BITS;
    return STATUS_SUCCESS;
}

static NTSTATUS set_nodes(struct caps_query *query, const char *count_path, uint64_t count,
                          const char *paging_path, uint64_t paging)
{
    if (count == 0 || count > DXGK_MAX_ASYMETRICAL_PROCESSING_NODES)
        return caps_fail(query, "", count_path, count, "1 to 64 nodes");
    if (paging >= count)
        return caps_fail(query, "", paging_path, paging, "one of the nodes");
    query->caps->node_count = (uint32_t)count;
    query->caps->paging_node = (uint32_t)paging;
    return STATUS_SUCCESS;
}

static NTSTATUS set_told_nodes(struct caps_query *query)
{
    return set_nodes(query, "DRIVERCAPS.GpuEngineTopology.NbAsymetricProcessingNodes",
                     query->told_node_count, "DRIVERCAPS.MemoryManagementCaps.PagingNode",
                     query->told_paging_node);
}

static NTSTATUS query_driver(struct caps_query *query)
{
    DXGK_DRIVERCAPS driver = {0};
    uint64_t node_count;
    NTSTATUS status = caps_ask(query, DXGKQAITYPE_DRIVERCAPS, "DRIVERCAPS", NULL, 0, &driver,
                               vidmm_driver_caps_bytes(query->version));

    if (!NT_SUCCESS(status))
        return status;
    /* The version that the driver tells counts, not that of the headers it was built with
     * (WDDMVersion). */
    query->version = miniport_interface_version(query->miniport);
    query->caps->interface_version = query->version;
    query->caps->highest_address = (uint64_t)driver.HighestAcceptableAddress.QuadPart;
    query->caps->aperture_commit_limit = driver.ApertureSegmentCommitLimit;
    query->caps->resets_engines = driver.SupportPerEngineTDR;
    query->caps->manages_components =
        caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WIN8) &&
        driver.SupportRuntimePowerManagement &&
        miniport_has(query->miniport, MINIPORT_DDI_SetPowerComponentFState) &&
        miniport_has(query->miniport, MINIPORT_DDI_PowerRuntimeControlRequest);
    query->caps->hears_of_removal_asleep =
        caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WIN8) &&
        driver.SupportSurpriseRemovalInHibernation;
    query->caps->hears_of_removal =
        caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_0) && driver.SupportSurpriseRemoval;
    query->caps->has_contexts = miniport_has(query->miniport, MINIPORT_DDI_CreateContext);
    query->caps->max_slot_id = driver.MaxAllocationListSlotId;
    if (!caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_0) &&
        miniport_has(query->miniport, MINIPORT_DDI_AcquireSwizzlingRange) &&
        miniport_has(query->miniport, MINIPORT_DDI_ReleaseSwizzlingRange))
        query->caps->swizzling_range_count =
            (uint32_t)min_u64(driver.NumberOfSwizzlingRanges, VIDMM_MAX_SWIZZLING_RANGES);
    query->caps->maps_aperture2 = caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_9) &&
                                  driver.MemoryManagementCaps.MapAperture2Supported;
    status = choose_model(query, &driver.MemoryManagementCaps);
    query->caps->has_native_fences =
        caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM3_1) &&
        query->caps->has_page_tables && driver.SchedulingCaps.NativeGpuFence &&
        miniport_has(query->miniport, MINIPORT_DDI_CreateNativeFence) &&
        miniport_has(query->miniport, MINIPORT_DDI_DestroyNativeFence) &&
        miniport_has(query->miniport, MINIPORT_DDI_UpdateMonitoredValues);
    query->caps->renders_for_kernel =
        caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WIN7) &&
        driver.PresentationCaps.SupportKernelModeCommandBuffer &&
        miniport_has(query->miniport,
                     query->caps->is_virtual ? MINIPORT_DDI_RenderGdi : MINIPORT_DDI_RenderKm);
    query->caps->flips_by_registers =
        driver.FlipCaps.FlipOnVSyncMmIo &&
        miniport_has(query->miniport, MINIPORT_DDI_SetVidPnSourceAddress) &&
        miniport_has(query->miniport, MINIPORT_DDI_SetVidPnSourceVisibility);
    query->caps->controls_sources = caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_7) &&
                                    driver.MiscCaps.IndependentVidPnVSyncControl;
    if (!NT_SUCCESS(status))
        return status;
    if (query->caps->controls_sources &&
        !miniport_has(query->miniport, MINIPORT_DDI_ControlInterrupt3))
        return caps_fail(query, "FENCE-025", "DRIVERCAPS.MiscCaps.IndependentVidPnVSyncControl", 1,
                         "0 of a driver without DxgkDdiControlInterrupt3");
    if (!query->caps->has_contexts &&
        (query->caps->is_virtual || driver.SchedulingCaps.MultiEngineAware))
        return caps_fail(query, "CTX-016", "DRIVERCAPS.SchedulingCaps.MultiEngineAware",
                         driver.SchedulingCaps.MultiEngineAware,
                         "0, and the physical model, of a driver without DxgkDdiCreateContext");
    /* A driver that knows of no engines has one. */
    node_count = driver.GpuEngineTopology.NbAsymetricProcessingNodes;
    if (!node_count && !driver.SchedulingCaps.MultiEngineAware)
        node_count = 1;
    query->told_node_count = node_count;
    query->told_paging_node = driver.MemoryManagementCaps.PagingNode;
    if (caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_0) && query->caps->is_virtual)
        return STATUS_SUCCESS; /* PHYSICALADAPTERCAPS tells them */
    return set_told_nodes(query);
}

/*
 * Windows gives a driver of WDDM 2.0 the structure up to its flags, without padding
 * (docs/observed.md, O3).
 */
static UINT physical_adapter_bytes(const struct caps_query *query)
{
    if (!caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_1))
        return offsetof(DXGK_PHYSICALADAPTERCAPS, VPRPagingNode);
    if (!caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_7))
        return (UINT)align_up(offsetof(DXGK_PHYSICALADAPTERCAPS, VirtualCopyNodeIndex),
                              _Alignof(DXGK_PHYSICALADAPTERCAPS));
    return sizeof(DXGK_PHYSICALADAPTERCAPS);
}

static NTSTATUS query_physical_adapter(struct caps_query *query)
{
    DXGK_QUERYPHYSICALADAPTERCAPSIN in = {.PhysicalAdapterIndex = 0};
    DXGK_PHYSICALADAPTERCAPS adapter = {0};
    UINT bytes = physical_adapter_bytes(query);
    NTSTATUS status;

    if (!caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_0))
        return STATUS_SUCCESS;
    status = caps_ask(query, DXGKQAITYPE_PHYSICALADAPTERCAPS, "PHYSICALADAPTERCAPS", &in, sizeof in,
                      &adapter, bytes);
    /* A driver need not know the question: DRIVERCAPS told its nodes (docs/observed.md, O2). */
    if (status == STATUS_NOT_SUPPORTED) {
        query->failure->text[0] = '\0';
        return set_told_nodes(query);
    }
    if (!NT_SUCCESS(status))
        return status;
    return set_nodes(query, "PHYSICALADAPTERCAPS.NumExecutionNodes", adapter.NumExecutionNodes,
                     "PHYSICALADAPTERCAPS.PagingNodeIndex", adapter.PagingNodeIndex);
}

/* ---- Page tables ---- */

static NTSTATUS query_mmu(struct caps_query *query)
{
    DXGK_QUERYGPUMMUCAPSIN in = {.PhysicalAdapterIndex = 0};
    struct vidmm_caps *caps = query->caps;
    DXGK_GPUMMUCAPS mmu = {0};
    NTSTATUS status =
        caps_ask(query, DXGKQAITYPE_GPUMMUCAPS, "GPUMMUCAPS", &in, sizeof in, &mmu, sizeof mmu);

    if (!NT_SUCCESS(status))
        return status;
    if (mmu.PageTableLevelCount < 2 || mmu.PageTableLevelCount > VIDMM_MAX_LEVELS)
        return caps_fail(query, "PT-003", "GPUMMUCAPS.PageTableLevelCount", mmu.PageTableLevelCount,
                         "2 to 6 levels");
    if ((unsigned)mmu.PageTableUpdateMode > DXGK_PAGETABLEUPDATE_GPU_PHYSICAL)
        return caps_fail(query, "", "GPUMMUCAPS.PageTableUpdateMode",
                         (unsigned)mmu.PageTableUpdateMode,
                         "CPU_VIRTUAL (0), GPU_VIRTUAL (1) or GPU_PHYSICAL (2)");
    caps->va_bits = mmu.VirtualAddressBitCount;
    caps->level_count = mmu.PageTableLevelCount;
    caps->update_mode = mmu.PageTableUpdateMode;
    caps->has_zero = mmu.ZeroInPteSupported;
    caps->has_read_only = mmu.ReadOnlyMemorySupported;
    caps->has_no_execute = mmu.NoExecuteMemorySupported;
    caps->has_cache_coherent = mmu.CacheCoherentMemorySupported;
    caps->explicit_invalidation = mmu.ExplicitPageTableInvalidation;
    caps->update_requires_idle = mmu.PageTableUpdateRequireAddressSpaceIdle;
    caps->source_table_in_transfer = mmu.LegacyBehaviors.SourcePageTableVaInTransfer;
    caps->has_dual_pte = mmu.DualPteSupported;
    caps->has_large_pages = mmu.LargePageSupported;
    caps->allows_unaligned_large_pages =
        caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_1) &&
        mmu.AllowNonAlignedLargePageAddress;
    caps->leaf_64k_bytes = mmu.LeafPageTableSizeFor64KPagesInBytes;
    caps->has_64k_leaves = caps->leaf_64k_bytes != 0;
    if (!is_aligned(caps->leaf_64k_bytes, PAGE_BYTES))
        return caps_fail(query, "PT-039", "GPUMMUCAPS.LeafPageTableSizeFor64KPagesInBytes",
                         caps->leaf_64k_bytes, "a multiple of the 4 KiB page");
    caps->invalid_not_cached = caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_6) &&
                               mmu.InvalidTlbEntriesNotCached;
    return STATUS_SUCCESS;
}

static NTSTATUS fail_level(struct caps_query *query, const char *rule, unsigned level,
                           const char *field, uint64_t value, const char *expected)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "PAGETABLELEVELDESC[%u].%s", level, field);
    return caps_fail(query, rule, path, value, expected);
}

/* PT-007: the root of exactly two levels may be sized later, when the driver can be asked. */
static bool is_resizable_root(const struct caps_query *query, unsigned level)
{
    return query->caps->level_count == 2 && level == 1 &&
           miniport_has(query->miniport, MINIPORT_DDI_GetRootPageTableSize);
}

static NTSTATUS check_level(struct caps_query *query, unsigned level)
{
    const struct vidmm_level_caps *caps = &query->caps->levels[level];

    if (!is_resizable_root(query, level)) {
        if (!caps->index_bits)
            return fail_level(query, "PT-007", level, "PageTableIndexBitCount", 0,
                              "a fixed size: only the root of two levels is resizable, and by "
                              "DxgkDdiGetRootPageTableSize");
        if (!caps->table_bytes)
            return fail_level(query, "PT-007", level, "PageTableSizeInBytes", 0,
                              "a fixed size: only the root of two levels is resizable, and by "
                              "DxgkDdiGetRootPageTableSize");
    }
    if (caps->index_bits > 31)
        return fail_level(query, "", level, "PageTableIndexBitCount", caps->index_bits,
                          "at most 31 bits");
    if (!is_aligned(caps->table_bytes, PAGE_BYTES))
        return fail_level(query, "PT-006", level, "PageTableSizeInBytes", caps->table_bytes,
                          "a multiple of the 4 KiB page");
    if (caps->table_bytes > PAGE_BYTES && (!caps->segment || !caps->paging_segment))
        return fail_level(query, "PT-006", level, "PageTableSizeInBytes", caps->table_bytes,
                          "at most 4 KiB for tables in system memory (segment 0)");
    if (!is_power_of_two(caps->alignment))
        return fail_level(query, "", level, "PageTableAlignmentInBytes", caps->alignment,
                          "a power of two");
    return STATUS_SUCCESS;
}

static NTSTATUS query_levels(struct caps_query *query)
{
    struct vidmm_caps *caps = query->caps;
    uint64_t bits = PAGE_SHIFT_BITS;
    bool is_fixed = true;

    for (unsigned level = 0; level < caps->level_count; level++) {
        DXGK_QUERYPAGETABLELEVELDESCIN in = {.LevelIndex = (WORD)level};
        DXGK_PAGE_TABLE_LEVEL_DESC desc = {0};
        NTSTATUS status = caps_ask(query, DXGKQAITYPE_PAGETABLELEVELDESC, "PAGETABLELEVELDESC", &in,
                                   sizeof in, &desc, sizeof desc);

        if (!NT_SUCCESS(status))
            return status;
        caps->levels[level] = (struct vidmm_level_caps){
            .index_bits = desc.PageTableIndexBitCount,
            .segment = desc.PageTableSegmentId,
            .paging_segment = desc.PagingProcessPageTableSegmentId,
            .table_bytes = desc.PageTableSizeInBytes,
            .alignment =
                desc.PageTableAlignmentInBytes ? desc.PageTableAlignmentInBytes : (UINT)PAGE_BYTES,
        };
        status = check_level(query, level);
        if (!NT_SUCCESS(status))
            return status;
        bits += desc.PageTableIndexBitCount;
        is_fixed = is_fixed && desc.PageTableIndexBitCount;
    }
    if (caps->va_bits > 63)
        return caps_fail(query, "PT-005", "GPUMMUCAPS.VirtualAddressBitCount", caps->va_bits,
                         "at most 63 bits");
    if (is_fixed ? caps->va_bits != bits : caps->va_bits <= bits)
        return caps_fail(query, "PT-005", "GPUMMUCAPS.VirtualAddressBitCount", caps->va_bits,
                         is_fixed ? "12 + the sum of PageTableIndexBitCount"
                                  : "more than 12 + PageTableIndexBitCount of the leaf");
    if (!is_fixed && caps->has_dual_pte && caps->has_64k_leaves)
        return fail_level(query, "", 1, "PageTableIndexBitCount", 0,
                          "a fixed size with DualPteSupported: this build does not let roots of "
                          "two words to an entry grow");
    if (!is_fixed) {
        caps->root_is_resizable = true;
        caps->levels[1].index_bits = caps->va_bits - bits;
    }
    caps->chooses_leaf_size = is_fixed && caps->has_64k_leaves && !caps->has_dual_pte;
    return STATUS_SUCCESS;
}

/* Slots of an aperture show allocations, and page tables are none that a driver knows. */
static bool is_place_of_tables(const struct vidmm_caps *caps, unsigned segment)
{
    return !segment || !caps->segments[segment - 1].is_aperture;
}

/* Each level names a segment; levels and segments are known now. */
static NTSTATUS check_level_segments(struct caps_query *query)
{
    const struct vidmm_caps *caps = query->caps;

    for (unsigned level = 0; level < caps->level_count; level++) {
        const struct vidmm_level_caps *at = &caps->levels[level];

        if (at->segment > caps->segment_count)
            return fail_level(query, "SEG-005", level, "PageTableSegmentId", at->segment,
                              "0 or the id of a reported segment");
        if (at->paging_segment > caps->segment_count)
            return fail_level(query, "SEG-005", level, "PagingProcessPageTableSegmentId",
                              at->paging_segment, "0 or the id of a reported segment");
        if (!is_place_of_tables(caps, at->segment))
            return fail_level(query, "", level, "PageTableSegmentId", at->segment,
                              "a memory segment, or 0 for system memory, and no aperture");
        if (!is_place_of_tables(caps, at->paging_segment))
            return fail_level(query, "", level, "PagingProcessPageTableSegmentId",
                              at->paging_segment,
                              "a memory segment, or 0 for system memory, and no aperture");
        if (level && at->segment && caps->update_mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL)
            return fail_level(query, "PT-022", level, "PageTableSegmentId", at->segment,
                              "no local memory for page directories with "
                              "PageTableUpdateMode CPU_VIRTUAL");
    }
    return STATUS_SUCCESS;
}

/* ---- All of it ---- */

/* The version of the kernel's interface; asked for the driver's own, which DRIVERCAPS tells. */
static void ask_device_version(struct miniport *miniport)
{
    DXGK_WDDMDEVICECAPSIN in = {.DxgkrnlInterfaceVersion = miniport_interface_version(miniport)};
    DXGK_WDDMDEVICECAPS caps = {0};
    const DXGKARG_QUERYADAPTERINFO arg = {.Type = DXGKQAITYPE_WDDMDEVICECAPS,
                                          .pInputData = &in,
                                          .InputDataSize = sizeof in,
                                          .pOutputData = &caps,
                                          .OutputDataSize = sizeof caps};

    miniport_query_adapter_info(miniport, NULL, &arg);
}

/* A driver that does not know a query has nothing to say. */
static void ask_early(struct miniport *miniport, DXGK_QUERYADAPTERINFOTYPE type, void *out,
                      UINT bytes)
{
    const DXGKARG_QUERYADAPTERINFO arg = {
        .Type = type, .pOutputData = out, .OutputDataSize = bytes};

    if (!NT_SUCCESS(miniport_query_adapter_info(miniport, NULL, &arg)))
        memset(out, 0, bytes);
}

void vidmm_query_early(struct miniport *miniport, struct vidmm_early_caps *out_caps)
{
    DXGK_PHYSICAL_MEMORY_CAPS memory = {0};
    DXGK_IOMMU_CAPS iommu = {0};

    *out_caps = (struct vidmm_early_caps){0};
    if (miniport_interface_version(miniport) >= DXGKDDI_INTERFACE_VERSION_WDDM2_6)
        ask_device_version(miniport);
    if (miniport_interface_version(miniport) < DXGKDDI_INTERFACE_VERSION_WDDM2_9)
        return;
    ask_early(miniport, DXGKQAITYPE_PHYSICAL_MEMORY_CAPS, &memory, sizeof memory);
    ask_early(miniport, DXGKQAITYPE_IOMMU_CAPS, &iommu, sizeof iommu);
    out_caps->highest_visible_address = (uint64_t)memory.HighestVisibleAddress.QuadPart;
    out_caps->can_remap = iommu.DmaRemappingSupported;
}

bool vidmm_query_model(struct miniport *miniport, struct vidmm_model_caps *out_caps)
{
    const struct caps_query query = {.version = miniport_interface_version(miniport)};
    DXGK_DRIVERCAPS driver = {0};
    const DXGKARG_QUERYADAPTERINFO arg = {.Type = DXGKQAITYPE_DRIVERCAPS,
                                          .pOutputData = &driver,
                                          .OutputDataSize = vidmm_driver_caps_bytes(query.version)};

    *out_caps = (struct vidmm_model_caps){0};
    if (!NT_SUCCESS(miniport_query_adapter_info(miniport, NULL, &arg)))
        return false;
    if (miniport_interface_version(miniport) < DXGKDDI_INTERFACE_VERSION_WDDM2_0)
        return true;
    out_caps->is_virtual = driver.MemoryManagementCaps.VirtualAddressingSupported;
    out_caps->has_gpummu = driver.MemoryManagementCaps.GpuMmuSupported;
    out_caps->has_iommu = driver.MemoryManagementCaps.IoMmuSupported;
    return out_caps->is_virtual == (out_caps->has_gpummu || out_caps->has_iommu);
}

/*
 * What the bench has no use for, and Windows asks all the same, from the version on and with room
 * for exactly the documented answer: whatever the driver answers is right.
 */
static void ask_for_nothing(struct caps_query *query, ULONG least, DXGK_QUERYADAPTERINFOTYPE type,
                            UINT bytes)
{
    uint64_t answer[DXGK_MAX_ASYMETRICAL_PROCESSING_NODES / 2] = {0}; /* or a UINT32 a node */
    const DXGKARG_QUERYADAPTERINFO arg = {
        .Type = type, .pOutputData = answer, .OutputDataSize = bytes};

    if (caps_is_at_least(query, least))
        miniport_query_adapter_info(query->miniport, NULL, &arg);
}

/* Of physical adapter 0. */
static void ask_save_size(struct caps_query *query)
{
    UINT adapter_index = 0;
    DXGK_FRAMEBUFFERSAVEAREA area = {0};
    const DXGKARG_QUERYADAPTERINFO arg = {.Type = DXGKQAITYPE_FRAMEBUFFERSAVESIZE,
                                          .pInputData = &adapter_index,
                                          .InputDataSize = sizeof adapter_index,
                                          .pOutputData = &area,
                                          .OutputDataSize = sizeof area};

    if (caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_4) &&
        NT_SUCCESS(miniport_query_adapter_info(query->miniport, NULL, &arg)))
        query->caps->save_area_bytes = area.MaximumSize;
}

/* Behind the segments. The precision of history buffers is asked for of all nodes at once. */
static void ask_the_rest(struct caps_query *query)
{
    ask_for_nothing(query, DXGKDDI_INTERFACE_VERSION_WDDM1_3, DXGKQAITYPE_HISTORYBUFFERPRECISION,
                    query->caps->node_count * (UINT)sizeof(DXGKARG_HISTORYBUFFERPRECISION));
    ask_for_nothing(query, DXGKDDI_INTERFACE_VERSION_WDDM2_0,
                    DXGKQAITYPE_DISPLAY_DRIVERCAPS_EXTENSION, sizeof(UINT));
    ask_save_size(query);
    ask_for_nothing(query, DXGKDDI_INTERFACE_VERSION_WDDM2_5, DXGKQAITYPE_DEVICE_TYPE_CAPS,
                    sizeof(DXGK_DEVICE_TYPE_CAPS));
}

NTSTATUS vidmm_caps_query(struct miniport *miniport, const struct base_services *services,
                          const struct vidmm_platform *platform,
                          const struct vidmm_caps_extra *extra, struct vidmm_caps *out_caps,
                          struct vidmm_failure *failure)
{
    struct caps_query query = {
        .miniport = miniport,
        .services = services,
        .platform = platform,
        .caps = out_caps,
        .failure = failure,
        .version = miniport_interface_version(miniport),
    };
    NTSTATUS status;

    *out_caps = (struct vidmm_caps){.interface_version = query.version};
    *failure = (struct vidmm_failure){0};
    status = query_driver(&query);
    if (NT_SUCCESS(status))
        status = query_physical_adapter(&query);
    if (NT_SUCCESS(status) && extra)
        ask_for_nothing(&query, 0, DXGKQAITYPE_64BITONLYCAPS, sizeof(UINT));
    if (NT_SUCCESS(status) && out_caps->has_page_tables)
        status = query_mmu(&query);
    if (NT_SUCCESS(status) && out_caps->has_page_tables)
        status = query_levels(&query);
    if (NT_SUCCESS(status) && extra && query.version < DXGKDDI_INTERFACE_VERSION_WDDM2_0) {
        status = extra->before_segments(extra->context);
        if (!NT_SUCCESS(status))
            snprintf(failure->text, sizeof failure->text,
                     "creating the system's device and context failed with status 0x%08x",
                     (unsigned)status);
    }
    if (NT_SUCCESS(status))
        status = caps_query_segments(&query);
    if (NT_SUCCESS(status) && extra)
        ask_the_rest(&query);
    else if (NT_SUCCESS(status))
        ask_save_size(&query);
    if (NT_SUCCESS(status))
        status = check_level_segments(&query);
    if (!NT_SUCCESS(status))
        vidmm_caps_fini(services, out_caps);
    return status;
}

void vidmm_caps_fini(const struct base_services *services, struct vidmm_caps *caps)
{
    for (unsigned i = 0; i < caps->segment_count; i++) {
        struct vidmm_segment_caps *segment = &caps->segments[i];

        base_free_array(services, segment->bank_ends, segment->bank_count,
                        sizeof *segment->bank_ends);
        base_free_array(services, segment->invalid_ranges, segment->invalid_range_capacity,
                        sizeof *segment->invalid_ranges);
    }
    *caps = (struct vidmm_caps){0};
}
