/*
 * Starting and stopping, what the adapter says about itself, allocations.
 */
#include "refkmd/rig/test_kernel.h"

#include <stdlib.h>
#include <string.h>

#define PAGE     SGPU_PAGE_BYTES
#define LOCAL    1u
#define APERTURE 2u
#define HIDDEN   3u

static struct test_kernel kernel;

static void create(PDRIVER_INITIALIZE entry, uint64_t local_bytes, uint64_t visible_bytes,
                   uint32_t straps)
{
    struct machine_config config;
    struct sgpu_config gpu_config;

    test_config_defaults(&config, &gpu_config);
    config.local_bytes = local_bytes;
    config.visible_bytes = visible_bytes;
    gpu_config.straps = straps;
    test_create(&kernel, entry, &config, &gpu_config);
}

static void start(PDRIVER_INITIALIZE entry, uint64_t local_bytes, uint64_t visible_bytes,
                  uint32_t straps)
{
    create(entry, local_bytes, visible_bytes, straps);
    assert_int_equal(test_start(&kernel), STATUS_SUCCESS);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void each_model_registers_what_its_version_calls(void **state)
{
    create(RefKmdDriverEntryPhysical, 16 * MiB, 16 * MiB, 0);
    assert_int_equal(kernel.ddi.Version, DXGKDDI_INTERFACE_VERSION_WDDM1_3);
    assert_non_null(kernel.ddi.DxgkDdiRender);
    assert_non_null(kernel.ddi.DxgkDdiPatch);
    assert_null(kernel.ddi.DxgkDdiSubmitCommandVirtual);
    test_destroy(&kernel);

    create(RefKmdDriverEntryGpuMmu, 16 * MiB, 16 * MiB, 0);
    assert_int_equal(kernel.ddi.Version, DXGKDDI_INTERFACE_VERSION_WDDM2_6);
    assert_non_null(kernel.ddi.DxgkDdiSubmitCommandVirtual);
    assert_non_null(kernel.ddi.DxgkDdiSetRootPageTable);
    assert_non_null(kernel.ddi.DxgkDdiCreateProcess);
    test_destroy(&kernel);
}

static void a_device_can_be_stopped_and_started_again(void **state)
{
    start(RefKmdDriverEntryPhysical, 16 * MiB, 16 * MiB, 0);
    assert_int_equal(nt_pool_live_blocks(kernel.nt), 1);
    assert_int_equal(kernel.ddi.DxgkDdiStopDevice(kernel.adapter), STATUS_SUCCESS);
    assert_int_equal(nt_pool_live_blocks(kernel.nt), 1);
    assert_int_equal(test_start(&kernel), STATUS_SUCCESS);
    test_destroy(&kernel);
}

static void start_fails_cleanly(void **state)
{
    DXGK_START_INFO start_info = {.RequiredDmaQueueEntry = SGPU_QUEUE_SLOTS + 1};
    ULONG count;
    PVOID adapter;

    create(RefKmdDriverEntryPhysical, 16 * MiB, 16 * MiB, 0);
    assert_int_equal(
        kernel.ddi.DxgkDdiStartDevice(kernel.adapter, &start_info, &kernel.dxgkrnl, &count, &count),
        STATUS_NOT_SUPPORTED);
    kernel.resources.list.List[0].PartialResourceList.Count = 1;
    assert_int_equal(test_start(&kernel), STATUS_DEVICE_NOT_CONNECTED);
    kernel.resources.list.Count = 0;
    assert_int_equal(test_start(&kernel), STATUS_DEVICE_NOT_CONNECTED);

    nt_pool_fail_at(kernel.nt, 1);
    assert_int_equal(kernel.ddi.DxgkDdiAddDevice(NULL, &adapter), STATUS_NO_MEMORY);
    assert_null(adapter);
    test_destroy(&kernel);
}

/* The table of a WDDM 1.0 kernel ends long before ours. */
static void a_short_table_of_callbacks_is_not_read_beyond_its_end(void **state)
{
    ULONG size = offsetof(DXGKRNL_INTERFACE, DxgkCbCreateContextAllocation);
    DXGKRNL_INTERFACE full;
    DXGK_START_INFO start_info = {0};
    void *table = malloc(size);
    ULONG count;

    create(RefKmdDriverEntryPhysical, 16 * MiB, 16 * MiB, 0);
    full = kernel.dxgkrnl;
    full.Size = size;
    memcpy(table, &full, size);
    assert_int_equal(
        kernel.ddi.DxgkDdiStartDevice(kernel.adapter, &start_info, table, &count, &count),
        STATUS_SUCCESS);
    kernel.is_started = TRUE;
    free(table);
    test_destroy(&kernel);
}

/* No state outside the adapters: two models side by side, used by turns. */
static void two_adapters_do_not_know_of_each_other(void **state)
{
    static struct test_kernel other;
    DXGK_QUERYSEGMENTOUT3 segments = {0};
    DXGK_GPUMMUCAPS caps;

    start(RefKmdDriverEntryPhysical, 16 * MiB, 8 * MiB, 0);
    test_create_default(&other, RefKmdDriverEntryGpuMmu);

    nt_bind(kernel.nt);
    assert_int_equal(
        test_query(&kernel, DXGKQAITYPE_QUERYSEGMENT3, NULL, 0, &segments, sizeof segments),
        STATUS_SUCCESS);
    assert_int_equal(segments.NbSegment, 3);
    nt_bind(other.nt);
    assert_int_equal(test_query(&other, DXGKQAITYPE_GPUMMUCAPS, NULL, 0, &caps, sizeof caps),
                     STATUS_SUCCESS);
    assert_int_equal(
        test_query(&other, DXGKQAITYPE_QUERYSEGMENT3, NULL, 0, &segments, sizeof segments),
        STATUS_NOT_SUPPORTED);
    test_destroy(&other);
    test_bind(&kernel);
    test_destroy(&kernel);
}

/* Without power there are no interrupts; what completed in between is not lost. */
static void interrupts_follow_the_power(void **state)
{
    DXGKARG_SUBMITCOMMAND args = {.SubmissionFenceId = 1};
    const ULONG self = 0xffffffff;

    start(RefKmdDriverEntryPhysical, 16 * MiB, 16 * MiB, 0);
    assert_int_equal(
        kernel.ddi.DxgkDdiSetPowerState(kernel.adapter, self, PowerDeviceD3, PowerActionSleep),
        STATUS_SUCCESS);
    assert_int_equal(test_submit(&kernel, &args), STATUS_SUCCESS);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 0);
    assert_int_equal(
        kernel.ddi.DxgkDdiSetPowerState(kernel.adapter, self, PowerDeviceD0, PowerActionNone),
        STATUS_SUCCESS);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 1);
    assert_int_equal(kernel.ddi.DxgkDdiStopDevice(kernel.adapter), STATUS_SUCCESS);
    kernel.is_started = FALSE;
    assert_int_equal(
        kernel.ddi.DxgkDdiSetPowerState(kernel.adapter, self, PowerDeviceD3, PowerActionShutdown),
        STATUS_SUCCESS);
    test_destroy(&kernel);
}

/* After the notice nothing reaches the board, and the driver can be stopped and removed. */
static void a_board_that_has_gone_is_not_touched(void **state)
{
    DXGKARG_SUBMITCOMMAND args = {.SubmissionFenceId = 1};

    start(RefKmdDriverEntryGpuMmu, 16 * MiB, 16 * MiB, 0);
    assert_int_equal(kernel.ddi.DxgkDdiNotifySurpriseRemoval(kernel.adapter, DxgkRemovalPnPNotify),
                     STATUS_SUCCESS);
    test_submit(&kernel, &args);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 0);
    assert_false(kernel.ddi.DxgkDdiInterruptRoutine(kernel.adapter, 0));
    assert_int_equal(kernel.ddi.DxgkDdiStopDevice(kernel.adapter), STATUS_SUCCESS);
    kernel.is_started = FALSE;
    test_destroy(&kernel);
}

static void a_node_is_reset_alone(void **state)
{
    start(RefKmdDriverEntryPhysical, 16 * MiB, 16 * MiB, 0);
    for (UINT node = 0; node < 2; node++) {
        DXGKARG_QUERYDEPENDENTENGINEGROUP args = {.NodeOrdinal = node};

        assert_int_equal(kernel.ddi.DxgkDdiQueryDependentEngineGroup(kernel.adapter, &args),
                         STATUS_SUCCESS);
        assert_int_equal(args.DependentNodeOrdinalMask, 1u << node);
    }
    test_destroy(&kernel);
}

/* ---- Queries --------------------------------------------------------------------------------- */

static void driver_caps_fit_what_the_kernel_has_room_for(void **state)
{
    const UINT smallest = RTL_SIZEOF_THROUGH_FIELD(DXGK_DRIVERCAPS, GpuEngineTopology);
    const UINT wddm_1_3 = RTL_SIZEOF_THROUGH_FIELD(DXGK_DRIVERCAPS, MaxOverlayPlanes);
    union {
        DXGK_DRIVERCAPS caps;
        uint8_t bytes[sizeof(DXGK_DRIVERCAPS) + 64];
    } out;
    const UINT sizes[] = {wddm_1_3, sizeof(DXGK_DRIVERCAPS), sizeof out};
    DXGK_WDDMDEVICECAPSIN in = {.DxgkrnlInterfaceVersion = DXGKDDI_INTERFACE_VERSION_WDDM2_6};
    DXGK_WDDMDEVICECAPS device = {0};

    start(RefKmdDriverEntryPhysical, 16 * MiB, 16 * MiB, 0);
    for (size_t i = 0; i < RTL_NUMBER_OF(sizes); i++) {
        memset(&out, TEST_POISON, sizeof out);
        assert_int_equal(test_query(&kernel, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &out, sizes[i]),
                         STATUS_SUCCESS);
        assert_int_equal(out.caps.WDDMVersion, DXGKDDI_WDDMv1_3);
        assert_int_equal(out.caps.GpuEngineTopology.NbAsymetricProcessingNodes, 2);
        assert_int_equal(out.caps.MemoryManagementCaps.PagingNode, SGPU_NODE_COPY);
        assert_false(out.caps.MemoryManagementCaps.GpuMmuSupported);
        assert_int_equal(out.caps.ApertureSegmentCommitLimit, 8 * MiB);
        assert_int_equal(out.caps.MaxOverlayPlanes, 0);
        assert_true(test_is_poison(out.bytes + sizes[i], sizeof out - sizes[i]));
    }
    memset(&out, TEST_POISON, sizeof out);
    assert_int_equal(test_query(&kernel, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &out, smallest - 1),
                     STATUS_BUFFER_TOO_SMALL);
    assert_true(test_is_poison(out.bytes, sizeof out));
    test_destroy(&kernel);

    start(RefKmdDriverEntryGpuMmu, 16 * MiB, 16 * MiB, 0);
    assert_int_equal(
        test_query(&kernel, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &out.caps, sizeof out.caps),
        STATUS_SUCCESS);
    assert_int_equal(out.caps.WDDMVersion, DXGKDDI_WDDMv2_6);
    assert_true(out.caps.MemoryManagementCaps.VirtualAddressingSupported);
    assert_true(out.caps.MemoryManagementCaps.GpuMmuSupported);
    assert_int_equal(
        test_query(&kernel, DXGKQAITYPE_WDDMDEVICECAPS, &in, sizeof in, &device, sizeof device),
        STATUS_SUCCESS);
    assert_int_equal(device.WDDMVersion, out.caps.WDDMVersion);
    test_destroy(&kernel);
}

/* Every type that the driver has no answer for, in both models. */
static void unknown_queries_are_not_supported(void **state)
{
    const bool is_known[2][64] = {
        {[DXGKQAITYPE_DRIVERCAPS] = true,
         [DXGKQAITYPE_QUERYSEGMENT] = true,
         [DXGKQAITYPE_HISTORYBUFFERPRECISION] = true,
         [DXGKQAITYPE_QUERYSEGMENT3] = true},
        {[DXGKQAITYPE_DRIVERCAPS] = true,
         [DXGKQAITYPE_QUERYSEGMENT4] = true,
         [DXGKQAITYPE_SEGMENTMEMORYSTATE] = true,
         [DXGKQAITYPE_UEFIFRAMEBUFFERRANGES] = true,
         [DXGKQAITYPE_GPUMMUCAPS] = true,
         [DXGKQAITYPE_IOMMU_CAPS] = true,
         [DXGKQAITYPE_PHYSICAL_MEMORY_CAPS] = true,
         [DXGKQAITYPE_PAGETABLELEVELDESC] = true,
         [DXGKQAITYPE_PHYSICALADAPTERCAPS] = true,
         [DXGKQAITYPE_HISTORYBUFFERPRECISION] = true,
         [DXGKQAITYPE_FRAMEBUFFERSAVESIZE] = true,
         [DXGKQAITYPE_DEVICE_TYPE_CAPS] = true,
         [DXGKQAITYPE_WDDMDEVICECAPS] = true},
    };
    uint8_t out[1024];

    for (int model = 0; model < 2; model++) {
        start(model ? RefKmdDriverEntryGpuMmu : RefKmdDriverEntryPhysical, 16 * MiB, 16 * MiB, 0);
        for (int type = 0; type < 64; type++) {
            if (is_known[model][type])
                continue;
            memset(out, TEST_POISON, sizeof out);
            assert_int_equal(
                test_query(&kernel, (DXGK_QUERYADAPTERINFOTYPE)type, NULL, 0, out, sizeof out),
                STATUS_NOT_SUPPORTED);
            assert_true(test_is_poison(out, sizeof out));
        }
        test_destroy(&kernel);
    }
}

/* PWC-002 to PWC-004: each engine has one, which needs the clock, and three follow. */
static void power_components_are_the_engines_and_three_more(void **state)
{
    static const DXGK_POWER_COMPONENT_TYPE further[] = {DXGK_POWER_COMPONENT_OTHER,
                                                        DXGK_POWER_COMPONENT_SHARED,
                                                        DXGK_POWER_COMPONENT_D3_TRANSITION};
    UINT count = 0;

    start(RefKmdDriverEntryGpuMmu, 16 * MiB, 16 * MiB, SGPU_STRAP_POWER | SGPU_STRAP_SLOW_POWER);
    assert_int_equal(
        test_query(&kernel, DXGKQAITYPE_NUMPOWERCOMPONENTS, NULL, 0, &count, sizeof count),
        STATUS_SUCCESS);
    assert_in_range(count, 5, 11);
    for (UINT i = 0; i <= count; i++) {
        DXGK_POWER_RUNTIME_COMPONENT component;
        NTSTATUS status = test_query(&kernel, DXGKQAITYPE_POWERCOMPONENTINFO, &i, sizeof i,
                                     &component, sizeof component);
        const UINT engines = count - RTL_NUMBER_OF(further);
        const bool is_engine = i < engines;

        assert_int_equal(status, i < count ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER);
        if (!NT_SUCCESS(status))
            continue;
        assert_int_equal(component.ComponentMapping.ComponentType,
                         is_engine ? DXGK_POWER_COMPONENT_ENGINE : further[i - engines]);
        assert_int_equal(component.ProviderCount, is_engine);
        assert_int_equal(component.Flags.DriverCompletesFStateTransition, is_engine);
        if (is_engine)
            assert_int_equal(component.ComponentMapping.EngineDesc.NodeIndex, i);
        if (is_engine)
            assert_int_equal(component.Providers[0], engines + 1);
        for (ULONG j = 1; j < component.StateCount; j++)
            assert_true(component.States[j].NominalPower < component.States[j - 1].NominalPower);
    }
    test_destroy(&kernel);
}

/* SEG-001: the first pass writes the count and nothing else. */
static void segments_are_counted_first_and_described_then(void **state)
{
    DXGK_QUERYSEGMENTOUT3 out;
    DXGK_QUERYSEGMENTOUT3 expected;
    DXGK_QUERYSEGMENTOUT old = {0};
    DXGK_SEGMENTDESCRIPTOR3 segments[3];
    DXGK_SEGMENTDESCRIPTOR old_segments[2];

    start(RefKmdDriverEntryPhysical, 16 * MiB, 16 * MiB, SGPU_STRAP_COHERENT_APERTURE);
    memset(&out, TEST_POISON, sizeof out);
    out.pSegmentDescriptor = NULL;
    expected = out;
    expected.NbSegment = 2;
    assert_int_equal(test_query(&kernel, DXGKQAITYPE_QUERYSEGMENT3, NULL, 0, &out, sizeof out),
                     STATUS_SUCCESS);
    assert_memory_equal(&out, &expected, sizeof out);

    memset(segments, TEST_POISON, sizeof segments);
    out.pSegmentDescriptor = segments;
    assert_int_equal(test_query(&kernel, DXGKQAITYPE_QUERYSEGMENT3, NULL, 0, &out, sizeof out),
                     STATUS_SUCCESS);
    assert_int_equal(out.NbSegment, 2);
    assert_int_equal(out.PagingBufferSegmentId, 0);
    assert_int_equal(out.PagingBufferSize, 64 << 10);
    assert_true(out.PagingBufferPrivateDataSize > 0);
    assert_int_equal(segments[0].Flags.Value, (DXGK_SEGMENTFLAGS){.CpuVisible = 1}.Value);
    assert_int_equal(segments[0].BaseAddress.QuadPart, 0);
    assert_int_equal(segments[0].CpuTranslatedAddress.QuadPart, machine_bar1_pa(kernel.machine));
    assert_int_equal(segments[0].Size, 16 * MiB);
    assert_int_equal(segments[0].CommitLimit, 16 * MiB);
    assert_int_equal(segments[0].SystemMemoryEndAddress, 0);
    assert_int_equal(segments[1].Flags.Value,
                     ((DXGK_SEGMENTFLAGS){.Aperture = 1, .CacheCoherent = 1}.Value));
    assert_int_equal(segments[1].BaseAddress.QuadPart, SGPU_PA_APERTURE);
    assert_int_equal(segments[1].Size, 8 * MiB);
    assert_true(test_is_poison((uint8_t *)&segments[2], sizeof segments[2]));

    assert_int_equal(test_query(&kernel, DXGKQAITYPE_QUERYSEGMENT, NULL, 0, &old, sizeof old),
                     STATUS_SUCCESS);
    assert_int_equal(old.NbSegment, 2);
    assert_int_equal(old.PagingBufferSize, 0);
    old.pSegmentDescriptor = old_segments;
    assert_int_equal(test_query(&kernel, DXGKQAITYPE_QUERYSEGMENT, NULL, 0, &old, sizeof old),
                     STATUS_SUCCESS);
    assert_int_equal(old.PagingBufferSize, 64 << 10);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(old_segments[i].Flags.Value, segments[i].Flags.Value);
        assert_int_equal(old_segments[i].BaseAddress.QuadPart, segments[i].BaseAddress.QuadPart);
        assert_int_equal(old_segments[i].Size, segments[i].Size);
        assert_int_equal(old_segments[i].CommitLimit, segments[i].CommitLimit);
    }
    test_destroy(&kernel);
}

/* SEG-004: the kernel's descriptor is longer than ours, or shorter. */
static void version_4_descriptors_lie_at_the_kernels_stride(void **state)
{
    const size_t strides[] = {sizeof(DXGK_SEGMENTDESCRIPTOR4), sizeof(DXGK_SEGMENTDESCRIPTOR4) + 40,
                              offsetof(DXGK_SEGMENTDESCRIPTOR4, NumUEFIFrameBufferRanges)};

    start(RefKmdDriverEntryGpuMmu, 16 * MiB, 8 * MiB, 0);
    for (size_t i = 0; i < RTL_NUMBER_OF(strides); i++) {
        uint8_t room[4 * (sizeof(DXGK_SEGMENTDESCRIPTOR4) + 40)];
        DXGK_QUERYSEGMENTOUT4 out = {.SegmentDescriptorStride = strides[i]};

        assert_int_equal(test_query(&kernel, DXGKQAITYPE_QUERYSEGMENT4, NULL, 0, &out, sizeof out),
                         STATUS_SUCCESS);
        assert_int_equal(out.NbSegment, 3);
        memset(room, TEST_POISON, sizeof room);
        out.pSegmentDescriptor = room;
        assert_int_equal(test_query(&kernel, DXGKQAITYPE_QUERYSEGMENT4, NULL, 0, &out, sizeof out),
                         STATUS_SUCCESS);
        assert_int_equal(out.NbSegment, 3);
        for (UINT id = 1; id <= 3; id++) {
            uint8_t *place = room + (id - 1) * strides[i];
            size_t ours = strides[i] < sizeof(DXGK_SEGMENTDESCRIPTOR4)
                              ? strides[i]
                              : sizeof(DXGK_SEGMENTDESCRIPTOR4);
            DXGK_SEGMENTDESCRIPTOR4 segment = {0};

            memcpy(&segment, place, ours);
            assert_int_equal(segment.Flags.Aperture, id == APERTURE);
            assert_int_equal(segment.Flags.CpuVisible, id == LOCAL);
            assert_int_equal(segment.Flags.LocalBudgetGroup, id != APERTURE);
            assert_int_equal(segment.BaseAddress.QuadPart, id == LOCAL      ? 0
                                                           : id == APERTURE ? SGPU_PA_APERTURE
                                                                            : 8 * MiB);
            assert_int_equal(segment.Size, 8 * MiB);
            assert_int_equal(segment.CommitLimit, 8 * MiB);
            assert_int_equal(segment.NumInvalidMemoryRanges, 0);
            assert_true(test_is_poison(place + ours, strides[i] - ours));
        }
        assert_true(test_is_poison(room + 3 * strides[i], strides[i]));
        out.NbSegment = 2;
        assert_int_equal(test_query(&kernel, DXGKQAITYPE_QUERYSEGMENT4, NULL, 0, &out, sizeof out),
                         STATUS_BUFFER_TOO_SMALL);
    }
    test_destroy(&kernel);
}

static void local_memory_without_a_window_is_one_hidden_segment(void **state)
{
    DXGK_SEGMENTDESCRIPTOR3 segments[2];
    DXGK_QUERYSEGMENTOUT3 out = {.pSegmentDescriptor = segments};

    start(RefKmdDriverEntryPhysical, 16 * MiB, 0, 0);
    assert_int_equal(test_query(&kernel, DXGKQAITYPE_QUERYSEGMENT3, NULL, 0, &out, sizeof out),
                     STATUS_SUCCESS);
    assert_int_equal(out.NbSegment, 2);
    assert_int_equal(segments[0].Flags.Value, 0);
    assert_int_equal(segments[0].CpuTranslatedAddress.QuadPart, 0);
    assert_int_equal(segments[0].Size, 16 * MiB);
    test_destroy(&kernel);
}

static void mmu_caps_follow_the_straps(void **state)
{
    const struct {
        uint32_t straps;
        uint64_t visible_bytes;
        DXGK_PAGETABLEUPDATEMODE mode;
        UINT table_segment;
    } boards[] = {
        {SGPU_STRAP_UPDATE_GPU_VIRTUAL, 16 << 20, DXGK_PAGETABLEUPDATE_GPU_VIRTUAL, LOCAL},
        {SGPU_STRAP_UPDATE_GPU_PHYSICAL, 16 << 20, DXGK_PAGETABLEUPDATE_GPU_PHYSICAL, LOCAL},
        {SGPU_STRAP_UPDATE_CPU, 16 << 20, DXGK_PAGETABLEUPDATE_CPU_VIRTUAL, 0},
        {SGPU_STRAP_UPDATE_GPU_VIRTUAL | SGPU_STRAP_TABLES_IN_SYSTEM, 16 << 20,
         DXGK_PAGETABLEUPDATE_GPU_VIRTUAL, 0},
        {SGPU_STRAP_UPDATE_GPU_PHYSICAL, 0, DXGK_PAGETABLEUPDATE_GPU_PHYSICAL, 0},
    };

    for (size_t i = 0; i < RTL_NUMBER_OF(boards); i++) {
        DXGK_QUERYGPUMMUCAPSIN caps_in = {0};
        DXGK_GPUMMUCAPS caps;
        DXGK_PAGE_TABLE_LEVEL_DESC level;
        DXGK_QUERYPAGETABLELEVELDESCIN level_in = {0, 0};

        start(RefKmdDriverEntryGpuMmu, 16 * MiB, boards[i].visible_bytes, boards[i].straps);
        assert_int_equal(test_query(&kernel, DXGKQAITYPE_GPUMMUCAPS, &caps_in, sizeof caps_in,
                                    &caps, sizeof caps),
                         STATUS_SUCCESS);
        assert_int_equal(caps.PageTableUpdateMode, boards[i].mode);
        assert_int_equal(caps.VirtualAddressBitCount, 48);
        assert_int_equal(caps.PageTableLevelCount, 4);
        assert_true(caps.ReadOnlyMemorySupported && caps.NoExecuteMemorySupported &&
                    caps.ZeroInPteSupported && caps.CacheCoherentMemorySupported &&
                    caps.InvalidTlbEntriesNotCached);
        assert_false(caps.LargePageSupported || caps.DualPteSupported);
        for (; level_in.LevelIndex < 4; level_in.LevelIndex++) {
            memset(&level, TEST_POISON, sizeof level);
            assert_int_equal(test_query(&kernel, DXGKQAITYPE_PAGETABLELEVELDESC, &level_in,
                                        sizeof level_in, &level, sizeof level),
                             STATUS_SUCCESS);
            assert_int_equal(level.PageTableIndexBitCount, 9);
            assert_int_equal(level.PageTableSizeInBytes, 4096);
            assert_int_equal(level.PageTableSegmentId, boards[i].table_segment);
            assert_int_equal(level.PagingProcessPageTableSegmentId, boards[i].table_segment);
        }
        assert_int_equal(test_query(&kernel, DXGKQAITYPE_PAGETABLELEVELDESC, &level_in,
                                    sizeof level_in, &level, sizeof level),
                         STATUS_INVALID_PARAMETER);
        test_destroy(&kernel);
    }
}

/* PT-008: whole pages of the segment that the root is in. */
static void a_root_fills_pages_of_its_segment(void **state)
{
    const struct {
        uint32_t straps;
        SIZE_T bytes;
    } boards[] = {
        {0, 4096},
        {SGPU_STRAP_64K_SINGLE, 64 * 1024},
        {SGPU_STRAP_64K_SINGLE | SGPU_STRAP_TABLES_IN_SYSTEM, 4096},
    };

    for (size_t i = 0; i < RTL_NUMBER_OF(boards); i++) {
        DXGKARG_GETROOTPAGETABLESIZE args = {.NumberOfPte = 3};

        start(RefKmdDriverEntryGpuMmu, 16 * MiB, 16 * MiB, boards[i].straps);
        assert_int_equal(kernel.ddi.DxgkDdiGetRootPageTableSize(kernel.adapter, &args),
                         boards[i].bytes);
        assert_int_equal(args.NumberOfPte, 512); /* an ordinary root has 9 bits */
        test_destroy(&kernel);
    }
}

static void physical_adapter_caps_name_the_paging_node(void **state)
{
    DXGK_QUERYPHYSICALADAPTERCAPSIN in = {0};
    DXGK_PHYSICALADAPTERCAPS caps;

    start(RefKmdDriverEntryGpuMmu, 16 * MiB, 16 * MiB, 0);
    memset(&caps, TEST_POISON, sizeof caps);
    caps.DxgkPhysicalAdapterHandle = &kernel;
    assert_int_equal(
        test_query(&kernel, DXGKQAITYPE_PHYSICALADAPTERCAPS, &in, sizeof in, &caps, sizeof caps),
        STATUS_SUCCESS);
    assert_int_equal(caps.NumExecutionNodes, 2);
    assert_int_equal(caps.PagingNodeIndex, SGPU_NODE_COPY);
    assert_ptr_equal(caps.DxgkPhysicalAdapterHandle, &kernel);
    assert_int_equal(caps.Flags.Value, (DXGK_PHYSICALADAPTERFLAGS){.GpuMmuSupported = 1}.Value);
    in.PhysicalAdapterIndex = 1;
    assert_int_equal(
        test_query(&kernel, DXGKQAITYPE_PHYSICALADAPTERCAPS, &in, sizeof in, &caps, sizeof caps),
        STATUS_INVALID_PARAMETER);
    test_destroy(&kernel);
}

static void nodes_have_their_kind(void **state)
{
    DXGKARG_GETNODEMETADATA metadata;

    start(RefKmdDriverEntryGpuMmu, 16 * MiB, 16 * MiB, 0);
    assert_int_equal(kernel.ddi.DxgkDdiGetNodeMetadata(kernel.adapter, 0, &metadata),
                     STATUS_SUCCESS);
    assert_int_equal(metadata.EngineType, DXGK_ENGINE_TYPE_3D);
    assert_int_equal(kernel.ddi.DxgkDdiGetNodeMetadata(kernel.adapter, 1, &metadata),
                     STATUS_SUCCESS);
    assert_int_equal(metadata.EngineType, DXGK_ENGINE_TYPE_COPY);
    assert_true(metadata.GpuMmuSupported);
    assert_int_equal(kernel.ddi.DxgkDdiGetNodeMetadata(kernel.adapter, 2, &metadata),
                     STATUS_INVALID_PARAMETER);
    test_destroy(&kernel);
}

static void the_clock_of_a_node_goes_with_the_processors(void **state)
{
    DXGKARG_CALIBRATEGPUCLOCK first, second;
    LARGE_INTEGER frequency;
    uint64_t gpu, cpu;

    start(RefKmdDriverEntryGpuMmu, 16 * MiB, 16 * MiB, 0);
    KeQueryPerformanceCounter(&frequency);
    assert_int_equal(kernel.ddi.DxgkDdiCalibrateGpuClock(kernel.adapter, 1, 0, &first),
                     STATUS_SUCCESS);
    machine_run_until(kernel.machine, machine_now(kernel.machine) + 3000000);
    assert_int_equal(kernel.ddi.DxgkDdiCalibrateGpuClock(kernel.adapter, 1, 0, &second),
                     STATUS_SUCCESS);
    gpu = second.GpuClockCounter - first.GpuClockCounter;
    cpu = second.CpuClockCounter - first.CpuClockCounter;
    assert_true(gpu >= 3 * second.GpuFrequency / 1000 && gpu < 4 * second.GpuFrequency / 1000);
    assert_true(cpu >= 3 * (uint64_t)frequency.QuadPart / 1000 &&
                cpu < 4 * (uint64_t)frequency.QuadPart / 1000);
    assert_int_equal(kernel.ddi.DxgkDdiCalibrateGpuClock(kernel.adapter, 9, 0, &first),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(kernel.ddi.DxgkDdiCalibrateGpuClock(kernel.adapter, 0, 1, &first),
                     STATUS_INVALID_PARAMETER);
    test_destroy(&kernel);
}

/* ---- Allocations ----------------------------------------------------------------------------- */

static NTSTATUS create_allocation(struct sgpu_umd_allocation *request, DXGK_ALLOCATIONINFO *info)
{
    DXGKARG_CREATEALLOCATION args = {.NumAllocations = 1, .pAllocationInfo = info};

    memset(info, 0, sizeof *info);
    info->pPrivateDriverData = request;
    info->PrivateDriverDataSize = sizeof *request;
    return kernel.ddi.DxgkDdiCreateAllocation(kernel.adapter, &args);
}

static void destroy_allocation(HANDLE allocation)
{
    DXGKARG_DESTROYALLOCATION args = {.NumAllocations = 1, .pAllocationList = &allocation};

    assert_int_equal(kernel.ddi.DxgkDdiDestroyAllocation(kernel.adapter, &args), STATUS_SUCCESS);
}

#define BIT(id) (1u << ((id)-1))

/* Where allocations go on a board whose window covers half of local memory. */
static void placement_follows_the_request(void **state)
{
    const struct {
        UINT flags;
        UINT set;
        UINT preferred[3];
    } cases[] = {
        {0, BIT(LOCAL) | BIT(APERTURE) | BIT(HIDDEN), {HIDDEN, LOCAL, APERTURE}},
        {SGPU_UMD_CPU_VISIBLE, BIT(LOCAL) | BIT(APERTURE), {LOCAL, APERTURE, 0}},
        {SGPU_UMD_APERTURE_ONLY, BIT(APERTURE), {APERTURE, 0, 0}},
        {SGPU_UMD_NO_APERTURE, BIT(LOCAL) | BIT(HIDDEN), {HIDDEN, LOCAL, 0}},
        {SGPU_UMD_NO_APERTURE | SGPU_UMD_CPU_VISIBLE, BIT(LOCAL), {LOCAL, 0, 0}},
        {SGPU_UMD_NO_APERTURE | SGPU_UMD_HIDDEN_ONLY, BIT(HIDDEN), {HIDDEN, 0, 0}},
        {SGPU_UMD_PREFER_APERTURE,
         BIT(LOCAL) | BIT(APERTURE) | BIT(HIDDEN),
         {APERTURE, HIDDEN, LOCAL}},
    };

    for (int model = 0; model < 2; model++) {
        start(model ? RefKmdDriverEntryGpuMmu : RefKmdDriverEntryPhysical, 16 * MiB, 8 * MiB, 0);
        for (size_t i = 0; i < RTL_NUMBER_OF(cases); i++) {
            struct sgpu_umd_allocation request = {SGPU_UMD_VERSION, cases[i].flags, 12345, 0, 0};
            DXGK_ALLOCATIONINFO info;

            assert_int_equal(create_allocation(&request, &info), STATUS_SUCCESS);
            assert_non_null(info.hAllocation);
            assert_int_equal(info.Size, 12345);
            assert_int_equal(info.Alignment, PAGE);
            assert_int_equal(info.SupportedWriteSegmentSet, cases[i].set);
            assert_int_equal(info.SupportedReadSegmentSet, cases[i].set);
            assert_int_equal(info.PreferredSegment.SegmentId0, cases[i].preferred[0]);
            assert_int_equal(info.PreferredSegment.SegmentId1, cases[i].preferred[1]);
            assert_int_equal(info.PreferredSegment.SegmentId2, cases[i].preferred[2]);
            assert_int_not_equal(info.AllocationPriority, 0);
            assert_int_equal(info.Flags.CpuVisible, (cases[i].flags & SGPU_UMD_CPU_VISIBLE) != 0);
            destroy_allocation(info.hAllocation);
        }
        test_destroy(&kernel);
    }
}

static void flags_have_the_shape_of_the_model(void **state)
{
    struct sgpu_umd_allocation request = {
        SGPU_UMD_VERSION, SGPU_UMD_CPU_VISIBLE | SGPU_UMD_CACHED | SGPU_UMD_ACCESSED_PHYSICALLY,
        PAGE, 0x10000, 0x11111111};
    DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 expected = {{{0}}};
    DXGK_ALLOCATIONINFO info;

    start(RefKmdDriverEntryPhysical, 16 * MiB, 16 * MiB, 0);
    assert_int_equal(create_allocation(&request, &info), STATUS_SUCCESS);
    assert_int_equal(info.Flags.Value,
                     ((DXGK_ALLOCATIONINFOFLAGS){.CpuVisible = 1, .Cached = 1}.Value));
    assert_int_equal(info.Alignment, 0x10000);
    assert_int_equal(info.AllocationPriority, 0x11111111);
    destroy_allocation(info.hAllocation);
    test_destroy(&kernel);

    start(RefKmdDriverEntryGpuMmu, 16 * MiB, 16 * MiB, 0);
    assert_int_equal(create_allocation(&request, &info), STATUS_SUCCESS);
    expected.CpuVisible = 1;
    expected.Cached = 1;
    expected.AccessedPhysically = 1;
    assert_int_equal(info.FlagsWddm2.Value, expected.Value);
    destroy_allocation(info.hAllocation);
    test_destroy(&kernel);
}

static void bad_requests_are_refused(void **state)
{
    const struct sgpu_umd_allocation requests[] = {
        {2, 0, PAGE, 0, 0},
        {1, 1u << 31, PAGE, 0, 0},
        {1, 0, 0, 0, 0},
        {1, 0, UINT64_MAX, 0, 0},
        {1, 0, PAGE, 0x3000, 0},
        {1, SGPU_UMD_CACHED, PAGE, 0, 0},
        {1, SGPU_UMD_NO_APERTURE | SGPU_UMD_APERTURE_ONLY, PAGE, 0, 0},
        {1, SGPU_UMD_NO_APERTURE | SGPU_UMD_PREFER_APERTURE, PAGE, 0, 0},
        {1, SGPU_UMD_HIDDEN_ONLY | SGPU_UMD_CPU_VISIBLE, PAGE, 0, 0},
        {1, SGPU_UMD_NO_APERTURE | SGPU_UMD_CPU_VISIBLE, PAGE, 0, 0}, /* and no window */
    };
    DXGK_ALLOCATIONINFO info = {0};
    DXGKARG_CREATEALLOCATION args = {.NumAllocations = 1, .pAllocationInfo = &info};

    start(RefKmdDriverEntryPhysical, 16 * MiB, 0, 0);
    for (size_t i = 0; i < RTL_NUMBER_OF(requests); i++) {
        struct sgpu_umd_allocation request = requests[i];

        assert_int_equal(create_allocation(&request, &info), STATUS_INVALID_PARAMETER);
        assert_null(info.hAllocation);
    }
    memset(&info, 0, sizeof info);
    assert_int_equal(kernel.ddi.DxgkDdiCreateAllocation(kernel.adapter, &args),
                     STATUS_INVALID_PARAMETER);
    test_destroy(&kernel);
}

/* The n-th allocation of pool fails: nothing is left, and it works without the failure. */
static void creating_and_opening_are_all_or_nothing(void **state)
{
    enum { COUNT = 3 };
    struct sgpu_umd_allocation request = {SGPU_UMD_VERSION, 0, 2 * PAGE, 0, 0};
    DXGK_ALLOCATIONINFO infos[COUNT];
    DXGK_OPENALLOCATIONINFO opens[COUNT] = {{0}};
    DXGKARG_CREATEALLOCATION create_args = {.NumAllocations = COUNT, .pAllocationInfo = infos};
    DXGKARG_OPENALLOCATION open_args = {.NumAllocations = COUNT, .pOpenAllocation = opens};
    DXGKARG_CREATEDEVICE device = {0};
    DXGKARG_DESCRIBEALLOCATION describe = {0};
    uint64_t before;

    start(RefKmdDriverEntryPhysical, 16 * MiB, 16 * MiB, 0);
    assert_int_equal(kernel.ddi.DxgkDdiCreateDevice(kernel.adapter, &device), STATUS_SUCCESS);
    before = nt_pool_live_blocks(kernel.nt);
    for (uint64_t n = 1; n <= COUNT + 1; n++) {
        memset(infos, 0, sizeof infos);
        for (int i = 0; i < COUNT; i++) {
            infos[i].pPrivateDriverData = &request;
            infos[i].PrivateDriverDataSize = sizeof request;
        }
        nt_pool_fail_at(kernel.nt, n);
        assert_int_equal(kernel.ddi.DxgkDdiCreateAllocation(kernel.adapter, &create_args),
                         n <= COUNT ? STATUS_NO_MEMORY : STATUS_SUCCESS);
        assert_int_equal(nt_pool_live_blocks(kernel.nt), before + (n <= COUNT ? 0 : COUNT));
    }
    before = nt_pool_live_blocks(kernel.nt);
    for (uint64_t n = 1; n <= COUNT + 1; n++) {
        for (int i = 0; i < COUNT; i++) {
            kernel.handles[i + 1] = infos[i].hAllocation;
            opens[i].hAllocation = (D3DKMT_HANDLE)(i + 1);
        }
        nt_pool_fail_at(kernel.nt, n);
        assert_int_equal(kernel.ddi.DxgkDdiOpenAllocation(device.hDevice, &open_args),
                         n <= COUNT ? STATUS_NO_MEMORY : STATUS_SUCCESS);
        assert_int_equal(nt_pool_live_blocks(kernel.nt), before + (n <= COUNT ? 0 : COUNT));
    }
    describe.hAllocation = infos[0].hAllocation;
    assert_int_equal(kernel.ddi.DxgkDdiDescribeAllocation(kernel.adapter, &describe),
                     STATUS_SUCCESS);
    assert_int_equal(describe.Width, 2 * PAGE);
    for (int i = 0; i < COUNT; i++) {
        DXGKARG_CLOSEALLOCATION close_args = {1, &opens[i].hDeviceSpecificAllocation};

        assert_int_equal(kernel.ddi.DxgkDdiCloseAllocation(device.hDevice, &close_args),
                         STATUS_SUCCESS);
        destroy_allocation(infos[i].hAllocation);
    }
    kernel.children = COUNT - 1; /* what is opened is not what the resource has */
    assert_int_equal(kernel.ddi.DxgkDdiOpenAllocation(device.hDevice, &open_args),
                     STATUS_INVALID_HANDLE);
    kernel.children = 0;
    opens[0].hAllocation = TEST_HANDLES; /* no such handle */
    assert_int_equal(kernel.ddi.DxgkDdiOpenAllocation(device.hDevice, &open_args),
                     STATUS_INVALID_HANDLE);
    assert_int_equal(kernel.ddi.DxgkDdiDestroyDevice(device.hDevice), STATUS_SUCCESS);
    test_destroy(&kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_model_registers_what_its_version_calls),
        cmocka_unit_test(a_device_can_be_stopped_and_started_again),
        cmocka_unit_test(start_fails_cleanly),
        cmocka_unit_test(a_short_table_of_callbacks_is_not_read_beyond_its_end),
        cmocka_unit_test(two_adapters_do_not_know_of_each_other),
        cmocka_unit_test(interrupts_follow_the_power),
        cmocka_unit_test(a_board_that_has_gone_is_not_touched),
        cmocka_unit_test(a_node_is_reset_alone),
        cmocka_unit_test(driver_caps_fit_what_the_kernel_has_room_for),
        cmocka_unit_test(unknown_queries_are_not_supported),
        cmocka_unit_test(power_components_are_the_engines_and_three_more),
        cmocka_unit_test(segments_are_counted_first_and_described_then),
        cmocka_unit_test(version_4_descriptors_lie_at_the_kernels_stride),
        cmocka_unit_test(local_memory_without_a_window_is_one_hidden_segment),
        cmocka_unit_test(mmu_caps_follow_the_straps),
        cmocka_unit_test(a_root_fills_pages_of_its_segment),
        cmocka_unit_test(physical_adapter_caps_name_the_paging_node),
        cmocka_unit_test(nodes_have_their_kind),
        cmocka_unit_test(the_clock_of_a_node_goes_with_the_processors),
        cmocka_unit_test(placement_follows_the_request),
        cmocka_unit_test(flags_have_the_shape_of_the_model),
        cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(creating_and_opening_are_all_or_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
