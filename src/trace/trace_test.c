/* Trace: counting, handing on, and the lines, held to golden text. */
#include "trace/test_stage.h"

#include "miniport/operation.h"

/* ---- Counting and handing on ---- */

/* A zeroed argument structure is lawful for every DDI here: no arrays, no pointers. */
static union {
#define X(function, ddi, type) __typeof__(*(type)0) ddi;
    struct {
        MINIPORT_DDI_LIST(X)
    } each;
#undef X
    char bytes[8192];
} arguments;

static void every_ddi_is_counted_and_passes_unchanged(void **state)
{
    for (unsigned with_sink = 0; with_sink < 2; with_sink++) {
        struct stage stage;
        struct trace_counters *counters;
        char object = 0;

        stage_init(&stage, with_sink);
        counters = miniport_trace_counters(stage.trace);
        bottom_state.status = STATUS_PENDING;
        memset(&arguments, 0, sizeof arguments);
#define X(function, ddi, type)                                                                     \
    assert_int_equal(miniport_##function(stage.trace, &object, (type)(void *)&arguments),          \
                     STATUS_PENDING);                                                              \
    assert_ptr_equal(bottom_state.object, &object);                                                \
    assert_ptr_equal(bottom_state.argument, &arguments);                                           \
    assert_int_equal(counters->calls[MINIPORT_DDI_##ddi], 1);                                      \
    memset(&arguments, 0, sizeof arguments);                                                       \
    stage.length = 0;
        MINIPORT_DDI_LIST(X)
#undef X
        bottom_state.status = STATUS_UNSUCCESSFUL;
#define X(function, ddi)                                                                           \
    assert_int_equal(miniport_##function(stage.trace, &object), STATUS_UNSUCCESSFUL);              \
    assert_ptr_equal(bottom_state.object, &object);                                                \
    assert_int_equal(counters->calls[MINIPORT_DDI_##ddi], 1);                                      \
    assert_int_equal(counters->failures[MINIPORT_DDI_##ddi], 1);
        MINIPORT_PLAIN_LIST(X)
#undef X
        assert_int_equal(miniport_get_root_page_table_size(stage.trace, (void *)&arguments), 4096);
        for (unsigned ddi = 0; ddi < MINIPORT_DDI_AddDevice; ddi++)
            assert_int_equal(counters->calls[ddi], 1);
        assert_int_equal(stage.event_count, with_sink ? 2 * MINIPORT_DDI_AddDevice : 0);
        assert_int_equal(miniport_interface_version(stage.trace),
                         DXGKDDI_INTERFACE_VERSION_WDDM2_6);
        assert_true(miniport_has(stage.trace, MINIPORT_DDI_Patch));
        assert_false(miniport_has(stage.trace, MINIPORT_DDI_Render));
        stage_fini(&stage);
    }
}

static void operations_and_bytes_are_counted(void **state)
{
    struct stage stage;
    struct trace_counters *counters;
    DXGKARG_BUILDPAGINGBUFFER build = {0};
    char buffer[256];

    stage_init(&stage, false);
    counters = miniport_trace_counters(stage.trace);
    build.pDmaBuffer = buffer;
    bottom_state.written = 16;
    for (unsigned operation = 0; operation <= MINIPORT_OPERATION_COUNT; operation++) {
        build.pDmaBuffer = buffer;
        build.DmaSize = 16;
        build.Operation = operation;
        miniport_build_paging_buffer(stage.trace, NULL, &build);
        assert_int_equal(counters->operations[operation], 1);
    }
    build.Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)4711;
    bottom_state.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    bottom_state.written = 0;
    miniport_build_paging_buffer(stage.trace, NULL, &build);
    assert_int_equal(counters->operations[MINIPORT_OPERATION_COUNT], 2);
    assert_int_equal(counters->failures[MINIPORT_DDI_BuildPagingBuffer], 1);
    assert_int_equal(counters->paging_bytes, 16 * (MINIPORT_OPERATION_COUNT + 1));
    /* What lies behind the end, or nowhere, is none. */
    bottom_state.status = STATUS_SUCCESS;
    bottom_state.written = 17;
    miniport_build_paging_buffer(stage.trace, NULL, &build);
    build.pDmaBuffer = NULL;
    bottom_state.written = 16;
    miniport_build_paging_buffer(stage.trace, NULL, &build);
    assert_int_equal(counters->paging_bytes, 16 * (MINIPORT_OPERATION_COUNT + 1));
    assert_int_equal(stage.memory.allocation_count, 1); /* the layer: nothing since */
    stage_fini(&stage);
}

static void callbacks_nest_inside_the_calls(void **state)
{
    struct stage stage;
    struct trace_counters *counters;

    stage_init(&stage, true);
    assert_true(miniport_interrupt(stage.trace, 3));
    assert_lines(&stage, "> DxgkDdiInterruptRoutine message=3\n"
                         "  > DxgkCbNotifyInterrupt DMA_COMPLETED SubmissionFenceId=12 "
                         "NodeOrdinal=1 EngineOrdinal=0\n"
                         "  < DxgkCbNotifyInterrupt 0x00000000\n"
                         "  > DxgkCbQueueDpc\n"
                         "  < DxgkCbQueueDpc 0x00000000 queued=1\n"
                         "< DxgkDdiInterruptRoutine 0x00000000 ours=1\n");
    miniport_trace_set_sink(stage.trace, NULL);
    miniport_dpc(stage.trace);
    assert_lines(&stage, "");
    counters = miniport_trace_counters(stage.trace);
    assert_int_equal(counters->callbacks[TRACE_CALLBACK_notify_interrupt], 1);
    assert_int_equal(counters->callbacks[TRACE_CALLBACK_queue_dpc], 1);
    assert_int_equal(counters->callbacks[TRACE_CALLBACK_notify_dpc], 1);
    assert_int_equal(counters->calls[MINIPORT_DDI_InterruptRoutine], 1);
    assert_int_equal(counters->calls[MINIPORT_DDI_DpcRoutine], 1);

    miniport_set_host(stage.trace, NULL);
    assert_null(bottom_state.host);
    stage_fini(&stage);
}

static void questions_about_the_display_have_their_names(void **state)
{
    const struct miniport_display_request request = {.kind = MINIPORT_ASK_QueryVidPnInterface};
    struct miniport_host *host;
    struct stage stage;

    stage_init(&stage, true);
    host = bottom_state.host;
    assert_int_equal(host->ops->display(host, &request), STATUS_GRAPHICS_INVALID_VIDPN);
    assert_lines(&stage, "> DxgkCbQueryVidPnInterface\n"
                         "< DxgkCbQueryVidPnInterface 0xC01E0303\n");
    stage_fini(&stage);
}

static void power_components_have_their_lines(void **state)
{
    const struct miniport_power_request active = {MINIPORT_POWER_SetPowerComponentActive, 2, 0};
    const struct miniport_power_request latency = {MINIPORT_POWER_SetPowerComponentLatency, 1, 70};
    const struct miniport_f_state to_f1 = {2, 1};
    const struct miniport_power_control started = {
        miniport_power_phase_code(MINIPORT_POWER_STARTED)};
    struct miniport_host *host;
    struct stage stage;

    stage_init(&stage, true);
    host = bottom_state.host;
    host->ops->power(host, &active);
    host->ops->power(host, &latency);
    assert_lines(&stage, "> DxgkCbSetPowerComponentActive ComponentIndex=2\n"
                         "< DxgkCbSetPowerComponentActive 0x00000000\n"
                         "> DxgkCbSetPowerComponentLatency ComponentIndex=1 time=70\n"
                         "< DxgkCbSetPowerComponentLatency 0x00000000\n");
    miniport_set_power_component_f_state(stage.trace, NULL, &to_f1);
    miniport_power_runtime_control_request(stage.trace, NULL, &started);
    assert_lines(&stage, "> DxgkDdiSetPowerComponentFState ComponentIndex=2 FState=1\n"
                         "< DxgkDdiSetPowerComponentFState 0x00000000\n"
                         "> DxgkDdiPowerRuntimeControlRequest "
                         "GUID_DXGKDDI_POWER_MANAGEMENT_STARTED\n"
                         "< DxgkDdiPowerRuntimeControlRequest 0x00000000\n");
    stage_fini(&stage);
}

static void the_life_of_a_device_has_its_lines(void **state)
{
    struct stage stage;
    DXGK_START_INFO start = {0};
    ULONG sources, children;

    stage_init(&stage, true);
    miniport_add_device(stage.trace);
    miniport_start_device(stage.trace, &start, &sources, &children);
    assert_int_equal(sources, 1);
    assert_int_equal(children, 2);
    miniport_set_power_state(stage.trace, 0xffffffff, PowerDeviceD3, PowerActionHibernate);
    miniport_dpc(stage.trace);
    miniport_notify_surprise_removal(stage.trace, DxgkRemovalPnPNotify);
    miniport_stop_device(stage.trace);
    bottom_state.status = STATUS_UNSUCCESSFUL;
    miniport_remove_device(stage.trace);
    assert_lines(&stage, "> DxgkDdiAddDevice\n"
                         "< DxgkDdiAddDevice 0x00000000\n"
                         "> DxgkDdiStartDevice\n"
                         "< DxgkDdiStartDevice 0x00000000 sources=1 children=2\n"
                         "> DxgkDdiSetPowerState uid=0xffffffff state=D3 action=3\n"
                         "< DxgkDdiSetPowerState 0x00000000\n"
                         "> DxgkDdiDpcRoutine\n"
                         "  > DxgkCbNotifyDpc\n"
                         "  < DxgkCbNotifyDpc 0x00000000\n"
                         "< DxgkDdiDpcRoutine 0x00000000\n"
                         "> DxgkDdiNotifySurpriseRemoval type=1\n"
                         "< DxgkDdiNotifySurpriseRemoval 0x00000000\n"
                         "> DxgkDdiStopDevice\n"
                         "< DxgkDdiStopDevice 0x00000000\n"
                         "> DxgkDdiRemoveDevice\n"
                         "< DxgkDdiRemoveDevice 0xC0000001\n");
    stage_fini(&stage);
}

static void memory_callbacks_have_their_lines(void **state)
{
    DXGK_PAGE_NUMBER pages[2] = {0x33, 0x44};
    DXGK_ADL adl = {.PageCount = 2, .Pages = pages};
    DXGKARGCB_ALLOCATECONTIGUOUSMEMORY allocate = {.NumberOfBytes = 8192,
                                                   .HighestAcceptableAddress.QuadPart = 0xffffffff,
                                                   .BoundaryAddressMultiple.QuadPart = 0x10000,
                                                   .CacheType = 1,
                                                   .hMemoryHandle = (HANDLE)0x10,
                                                   .pMemory = &adl};
    DXGKARGCB_MAP_PHYSICAL_MEMORY map = {
        .hPhysicalMemoryObject = (HANDLE)0x20, .Offset = 4112, .Size = 100};
    DXGKARGCB_ALLOCATE_ADL list = {.hAdapterMemoryObject = (HANDLE)0x30,
                                   .Offset = 4096,
                                   .Size = 8192,
                                   .Flags.PreferContiguous = 1,
                                   .pAdl = &adl};
    const DXGKARGCB_FREE_ADL free = {.hAdapterMemoryObject = (HANDLE)0x30, .pAdl = &adl};
    struct miniport_memory_request request = {MINIPORT_MEMORY_allocate_contiguous,
                                              {.allocate_contiguous = &allocate}};
    struct miniport_host *host;
    struct stage stage;

    stage_init(&stage, true);
    host = bottom_state.host;
    host->ops->memory(host, &request);
    request = (struct miniport_memory_request){MINIPORT_MEMORY_map_object, {.map_object = &map}};
    host->ops->memory(host, &request);
    request =
        (struct miniport_memory_request){MINIPORT_MEMORY_allocate_adl, {.allocate_adl = &list}};
    host->ops->memory(host, &request);
    request = (struct miniport_memory_request){MINIPORT_MEMORY_free_adl, {.free_adl = &free}};
    host->ops->memory(host, &request);
    assert_lines(&stage,
                 "> DxgkCbAllocateContiguousMemory lowest=0x0 highest=0xffffffff "
                 "BoundaryAddressMultiple=0x10000 NumberOfBytes=8192 CacheType=1\n"
                 "< DxgkCbAllocateContiguousMemory 0x00000000 hMemoryHandle=0x10 pMemory=cpu\n"
                 "> DxgkCbMapPhysicalMemory hPhysicalMemoryObject=0x20 AccessMode=0 Offset=0x1010 "
                 "Size=100\n"
                 "< DxgkCbMapPhysicalMemory 0x00000000 Offset=0x10 Size=100\n"
                 "> DxgkCbAllocateAdl hAdapterMemoryObject=0x30 Offset=0x1000 Size=8192 "
                 "Flags=0x2\n"
                 "< DxgkCbAllocateAdl 0x00000000 pAdl={pages=2 first=0x33}\n"
                 "> DxgkCbFreeAdl hAdapterMemoryObject=0x30\n"
                 "< DxgkCbFreeAdl 0xC0000008\n");
    assert_int_equal(miniport_trace_counters(stage.trace)->callbacks[TRACE_CALLBACK_memory], 4);
    stage_fini(&stage);
}

static void callbacks_have_their_lines(void **state)
{
    struct stage stage;
    struct miniport_host *host;
    DXGKARGCB_GETHANDLEDATA data = {.hObject = 0x40, .Type = DXGK_HANDLE_ALLOCATION};
    DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE range = {
        .hDxgkProcess = &data, .SizeInBytes = 1 * MiB, .Alignment = 65536};
    DXGKARGCB_CREATECONTEXTALLOCATION allocation = {
        .hContext = &range, .Size = 4096, .Alignment = 256, .SupportedSegmentSet = 3};
    DXGKARGCB_NOTIFY_INTERRUPT_DATA interrupt = {0};
    PHYSICAL_ADDRESS address = {.QuadPart = 0xfe000000};
    struct miniport_space space = {.type = 1, .offset = 64, .length = 8};
    DXGK_DEVICE_INFO info;
    BOOLEAN result;
    PVOID mapped;

    stage_init(&stage, true);
    host = bottom_state.host;
    host->ops->get_device_information(host, &info);
    host->ops->map_memory(host, address, 4096, FALSE, FALSE, 0, &mapped);
    assert_ptr_equal(mapped, &top);
    host->ops->unmap_memory(host, mapped);
    host->ops->read_device_space(host, &space);
    host->ops->write_device_space(host, &space);
    host->ops->synchronize_execution(host, NULL, NULL, 2, &result);
    assert_ptr_equal(host->ops->get_handle_data(host, &data), &top);
    data.hObject = 0x80;
    assert_null(host->ops->get_handle_data(host, &data));
    assert_int_equal(host->ops->get_handle_parent(host, 0x40), 0x41);
    assert_int_equal(host->ops->enum_handle_children(
                         host, &(DXGKARGCB_ENUMHANDLECHILDREN){.hObject = 0x41, .Index = 2}),
                     0x43);
    assert_lines(&stage,
                 "> DxgkCbGetDeviceInformation\n"
                 "< DxgkCbGetDeviceInformation 0x00000000\n"
                 "> DxgkCbMapMemory TranslatedAddress=0xfe000000 Length=4096\n"
                 "< DxgkCbMapMemory 0x00000000\n"
                 "> DxgkCbUnmapMemory\n"
                 "< DxgkCbUnmapMemory 0x00000000\n"
                 "> DxgkCbReadDeviceSpace DataType=0x1 Offset=0x40 Length=8\n"
                 "< DxgkCbReadDeviceSpace 0x00000000 done=4\n"
                 "> DxgkCbWriteDeviceSpace DataType=0x1 Offset=0x40 Length=8\n"
                 "< DxgkCbWriteDeviceSpace 0x00000000 done=2\n"
                 "> DxgkCbSynchronizeExecution message=2\n"
                 "< DxgkCbSynchronizeExecution 0x00000000 result=1\n"
                 "> DxgkCbGetHandleData hObject=0x40 Type=1 Flags=0x0\n"
                 "< DxgkCbGetHandleData 0x00000000 hObject=0x40 Type=1 Flags=0x0 found\n"
                 "> DxgkCbGetHandleData hObject=0x80 Type=1 Flags=0x0\n"
                 "< DxgkCbGetHandleData 0x00000000 hObject=0x80 Type=1 Flags=0x0 unknown\n"
                 "> DxgkCbGetHandleParent hAllocation=0x40\n"
                 "< DxgkCbGetHandleParent 0x00000000 hResource=0x41\n"
                 "> DxgkCbEnumHandleChildren hObject=0x41 Index=2\n"
                 "< DxgkCbEnumHandleChildren 0x00000000 hObject=0x41 Index=2 hAllocation=0x43\n");

    host->ops->reserve_gpu_virtual_address_range(host, range.hDxgkProcess, &range);
    host->ops->create_context_allocation(host, &allocation);
    host->ops->destroy_context_allocation(host, allocation.hAllocation);
    host->ops->log(host, "hello");
    host->ops->unsupported(host, "DxgkCbSignalEvent");
    assert_lines(&stage,
                 "> DxgkCbReserveGpuVirtualAddressRange hDxgkProcess=q1 SizeInBytes=1048576 "
                 "Alignment=65536 BaseAddress=0x0 Flags=0x0\n"
                 "< DxgkCbReserveGpuVirtualAddressRange 0x00000000 StartVirtualAddress=0x200000\n"
                 "> DxgkCbCreateContextAllocation ContextAllocationFlags=0x0 hDevice=- hContext=c1 "
                 "Size=4096 Alignment=256 SupportedSegmentSet=0x3 EvictionSegmentSet=0x0 "
                 "PreferredSegment=0x0 Flags=0x0\n"
                 "< DxgkCbCreateContextAllocation 0x00000000 hAllocation=a1\n"
                 "> DxgkCbDestroyContextAllocation hAllocation=a1\n"
                 "< DxgkCbDestroyContextAllocation 0x00000000\n"
                 "> DxgkCbLogEtwEvent hello\n"
                 "< DxgkCbLogEtwEvent 0x00000000\n"
                 "> unsupported DxgkCbSignalEvent\n"
                 "< unsupported 0xC00000BB\n");

    interrupt.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED;
    interrupt.DmaPreempted.PreemptionFenceId = 9;
    interrupt.DmaPreempted.LastCompletedFenceId = 7;
    host->ops->notify_interrupt(host, &interrupt);
    memset(&interrupt, 0, sizeof interrupt);
    interrupt.InterruptType = DXGK_INTERRUPT_DMA_PAGE_FAULTED;
    interrupt.DmaPageFaulted.FaultedFenceId = 8;
    interrupt.DmaPageFaulted.FaultedVirtualAddress = 0x123000;
    host->ops->notify_interrupt(host, &interrupt);
    memset(&interrupt, 0, sizeof interrupt);
    interrupt.InterruptType = DXGK_INTERRUPT_CRTC_VSYNC;
    host->ops->notify_interrupt(host, &interrupt);
    assert_lines(&stage,
                 "> DxgkCbNotifyInterrupt DMA_PREEMPTED PreemptionFenceId=9 LastCompletedFenceId=7 "
                 "NodeOrdinal=0 EngineOrdinal=0\n"
                 "< DxgkCbNotifyInterrupt 0x00000000\n"
                 "> DxgkCbNotifyInterrupt DMA_PAGE_FAULTED FaultedFenceId=8 PageFaultFlags=0x0 "
                 "FaultedVirtualAddress=0x123000 NodeOrdinal=0 EngineOrdinal=0 PageTableLevel=0 "
                 "FaultedProcessHandle=-\n"
                 "< DxgkCbNotifyInterrupt 0x00000000\n"
                 "> DxgkCbNotifyInterrupt CRTC_VSYNC VidPnTargetId=0 PhysicalAddress=0x0\n"
                 "< DxgkCbNotifyInterrupt 0x00000000\n");
    stage_fini(&stage);
}

/* ---- Submissions ---- */

static void submissions_have_their_lines(void **state)
{
    struct stage stage;
    char context, opened;
    DXGK_ALLOCATIONLIST allocations[2] = {
        {.hDeviceSpecificAllocation = NULL},
        {.hDeviceSpecificAllocation = &opened, .WriteOperation = 1, .SegmentId = 2}};
    D3DDDI_PATCHLOCATIONLIST locations[2] = {
        {.AllocationIndex = 9}, {.AllocationIndex = 1, .AllocationOffset = 16, .PatchOffset = 8}};
    DXGKARG_PATCH patch = {.hContext = &context,
                           .DmaBufferSegmentId = 1,
                           .DmaBufferSize = 4096,
                           .DmaBufferSubmissionStartOffset = 64,
                           .DmaBufferSubmissionEndOffset = 128,
                           .pAllocationList = allocations,
                           .AllocationListSize = 2,
                           .pPatchLocationList = locations,
                           .PatchLocationListSize = 2,
                           .PatchLocationListSubmissionStart = 1,
                           .PatchLocationListSubmissionLength = 1,
                           .SubmissionFenceId = 5};
    DXGKARG_SUBMITCOMMAND submit = {.hContext = &context,
                                    .DmaBufferSize = 4096,
                                    .DmaBufferSubmissionEndOffset = 128,
                                    .SubmissionFenceId = 5,
                                    .NodeOrdinal = 1};
    DXGKARG_SUBMITCOMMANDVIRTUAL virtual_submit = {.hContext = &context,
                                                   .DmaBufferVirtualAddress = 0x10000,
                                                   .DmaBufferSize = 64,
                                                   .SubmissionFenceId = 6};
    DXGKARG_RENDER render = {.CommandLength = 32, .DmaSize = 4096};
    DXGKARG_QUERYADAPTERINFO query = {.Type = DXGKQAITYPE_DRIVERCAPS, .OutputDataSize = 8};
    DXGKARG_PREEMPTCOMMAND preempt = {.PreemptionFenceId = 7, .NodeOrdinal = 1};
    DXGKARG_QUERYCURRENTFENCE fence = {.NodeOrdinal = 1};
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 1};
    DXGKARG_SETROOTPAGETABLE root = {.hContext = &context,
                                     .Address = {.SegmentId = 1, .SegmentOffset = 0x4000},
                                     .NumEntries = 512};
    DXGKARG_GETROOTPAGETABLESIZE size = {.NumberOfPte = 512};
    UINT32 aperture_pages[] = {4, 5};
    UINT64 segment_pages[] = {0x40, 0x60};
    DXGKARG_MAPCPUHOSTAPERTURE map = {.SegmentId = 1,
                                      .NumberOfPages = 2,
                                      .pCpuHostAperturePages = aperture_pages,
                                      .pMemorySegmentPages = segment_pages};

    patch.DmaBufferPhysicalAddress.QuadPart = 0x8000;
    submit.Flags.Paging = 1;
    stage_init(&stage, true);
    bottom_state.written = 48;
    miniport_patch(stage.trace, NULL, &patch);
    miniport_submit_command(stage.trace, NULL, &submit);
    miniport_submit_command_virtual(stage.trace, NULL, &virtual_submit);
    miniport_render(stage.trace, &context, &render);
    assert_lines(&stage,
                 "> DxgkDdiPatch hContext=c1 DmaBuffer=1:0x8000+4096 Submission=[64,128) "
                 "PrivateData=[0,0)/0 SubmissionFenceId=5 Flags=0x0 EngineOrdinal=0 "
                 "pAllocationList=[-@0:0x0 o1w@2:0x0] PatchLocationListSubmissionStart=1 "
                 "PatchLocationListSubmissionLength=1 [1+0x10>0x8]\n"
                 "< DxgkDdiPatch 0x00000000\n"
                 "> DxgkDdiSubmitCommand hContext=c1 DmaBuffer=0:0x0+4096 Submission=[0,128) "
                 "PrivateData=[0,0)/0 SubmissionFenceId=5 Flags=0x1 EngineOrdinal=0 "
                 "DmaBufferVirtualAddress=0x0 NodeOrdinal=1\n"
                 "< DxgkDdiSubmitCommand 0x00000000\n"
                 "> DxgkDdiSubmitCommandVirtual hContext=c1 DmaBufferVirtualAddress=0x10000 "
                 "DmaBufferSize=64 DmaBufferPrivateDataSize=0 DmaBufferUmdPrivateDataSize=0 "
                 "SubmissionFenceId=6 Flags=0x0 EngineOrdinal=0 NodeOrdinal=0\n"
                 "< DxgkDdiSubmitCommandVirtual 0x00000000\n"
                 "> DxgkDdiRender c1 CommandLength=32 DmaSize=4096 DmaBufferPrivateDataSize=0 "
                 "PatchLocationListInSize=0 PatchLocationListOutSize=0 MultipassOffset=0 "
                 "DmaBuffer=0:0x0 pAllocationList=[]\n"
                 "< DxgkDdiRender 0x00000000 written=48 MultipassOffset=0\n");

    miniport_query_adapter_info(stage.trace, NULL, &query);
    miniport_preempt_command(stage.trace, NULL, &preempt);
    miniport_query_current_fence(stage.trace, NULL, &fence);
    miniport_reset_engine(stage.trace, NULL, &reset);
    miniport_set_root_page_table(stage.trace, NULL, &root);
    miniport_get_root_page_table_size(stage.trace, &size);
    miniport_map_cpu_host_aperture(stage.trace, NULL, &map);
    assert_lines(&stage,
                 "> DxgkDdiQueryAdapterInfo Type=DRIVERCAPS InputDataSize=0 OutputDataSize=8\n"
                 "< DxgkDdiQueryAdapterInfo 0x00000000 Type=DRIVERCAPS\n"
                 "> DxgkDdiPreemptCommand PreemptionFenceId=7 NodeOrdinal=1 EngineOrdinal=0\n"
                 "< DxgkDdiPreemptCommand 0x00000000 PreemptionFenceId=7 NodeOrdinal=1 "
                 "EngineOrdinal=0\n"
                 "> DxgkDdiQueryCurrentFence NodeOrdinal=1 EngineOrdinal=0\n"
                 "< DxgkDdiQueryCurrentFence 0x00000000 NodeOrdinal=1 EngineOrdinal=0 "
                 "CurrentFence=77\n"
                 "> DxgkDdiResetEngine NodeOrdinal=1 EngineOrdinal=0\n"
                 "< DxgkDdiResetEngine 0x00000000 NodeOrdinal=1 EngineOrdinal=0 "
                 "LastAbortedFenceId=0\n"
                 "> DxgkDdiSetRootPageTable hContext=c1 Address=1:0x4000 NumEntries=512\n"
                 "< DxgkDdiSetRootPageTable 0x00000000\n"
                 "> DxgkDdiGetRootPageTableSize NumberOfPte=512 PhysicalAdapterIndex=0\n"
                 "< DxgkDdiGetRootPageTableSize 0x00000000 NumberOfPte=512 PhysicalAdapterIndex=0 "
                 "bytes=4096\n"
                 "> DxgkDdiMapCpuHostAperture hAllocation=- SegmentId=1 PhysicalAdapterIndex=0 "
                 "NumberOfPages=2 [4>0x40 5>0x60]\n"
                 "< DxgkDdiMapCpuHostAperture 0x00000000\n");
    stage_fini(&stage);
}

/* ---- The line and the numbers ---- */

static struct {
    size_t full;
    char cut[24];
    char none[1];
} cut_lines;

static void cut(void *context, const struct trace_event *event)
{
    memset(cut_lines.cut, 'x', sizeof cut_lines.cut);
    cut_lines.none[0] = 'x';
    cut_lines.full = trace_event_format(event, cut_lines.cut, sizeof cut_lines.cut);
    assert_int_equal(trace_event_format(event, cut_lines.none, 0), cut_lines.full);
    assert_int_equal(cut_lines.none[0], 'x');
    assert_int_equal(trace_event_format(event, cut_lines.none, 1), cut_lines.full);
    assert_int_equal(cut_lines.none[0], '\0');
}

static void a_long_line_is_cut_and_its_length_told(void **state)
{
    struct stage stage;
    struct trace_sink sink = {cut, NULL};

    stage_init(&stage, false);
    miniport_trace_set_sink(stage.trace, &sink);
    miniport_set_power_state(stage.trace, 1, PowerDeviceD0, PowerActionNone);
    assert_string_equal(cut_lines.cut, "< DxgkDdiSetPowerState ");
    assert_int_equal(cut_lines.full, strlen("< DxgkDdiSetPowerState 0x00000000"));
    stage_fini(&stage);
}

static void interrupts_and_queries_have_the_names_of_the_fact_table(void **state)
{
    FILE *file = fopen(DRYDOCK_SOURCE_DIR "/data/ddi/enums.tsv", "r");
    unsigned interrupts = 0, queries = 0;
    char line[1024], name[128];
    unsigned value;

    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "DXGK_INTERRUPT_%127s DXGK_INTERRUPT_TYPE %u", name, &value) == 2) {
            assert_string_equal(trace_interrupt_name(value), name);
            interrupts++;
        }
        if (sscanf(line, "DXGKQAITYPE_%127s DXGK_QUERYADAPTERINFOTYPE %u", name, &value) == 2) {
            assert_string_equal(trace_query_name(value), name);
            queries++;
        }
    }
    fclose(file);
    assert_int_equal(interrupts, 20);
    assert_int_equal(queries, 48);
    assert_string_equal(trace_interrupt_name(0), "?");
    assert_string_equal(trace_query_name(4711), "?");
    assert_string_equal(trace_callback_name(TRACE_CALLBACK_COUNT), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_about_the_display_have_their_names),
        cmocka_unit_test(power_components_have_their_lines),
        cmocka_unit_test(every_ddi_is_counted_and_passes_unchanged),
        cmocka_unit_test(operations_and_bytes_are_counted),
        cmocka_unit_test(callbacks_nest_inside_the_calls),
        cmocka_unit_test(the_life_of_a_device_has_its_lines),
        cmocka_unit_test(memory_callbacks_have_their_lines),
        cmocka_unit_test(callbacks_have_their_lines),
        cmocka_unit_test(submissions_have_their_lines),
        cmocka_unit_test(a_long_line_is_cut_and_its_length_told),
        cmocka_unit_test(interrupts_and_queries_have_the_names_of_the_fact_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
