/* Trace: counting, handing on, and the lines, held to golden text. */
#include "miniport/trace.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/rng.h"
#include "miniport/trace_handles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- A bottom that does what a test tells it ---- */

static struct {
    NTSTATUS status;
    const void *object;
    const void *argument;
    UINT written; /* by which BuildPagingBuffer and Render move pDmaBuffer */
    HANDLE created;
    struct miniport_host *host;
    unsigned destroyed_count;
} bottom_state;

static NTSTATUS note(enum miniport_ddi ddi, const void *object, const void *argument)
{
    bottom_state.object = object;
    bottom_state.argument = argument;
    switch ((unsigned)ddi) {
    case MINIPORT_DDI_BuildPagingBuffer: {
        DXGKARG_BUILDPAGINGBUFFER *arg = (void *)argument;

        arg->pDmaBuffer = (char *)arg->pDmaBuffer + bottom_state.written;
        break;
    }
    case MINIPORT_DDI_Render: {
        DXGKARG_RENDER *arg = (void *)argument;

        arg->pDmaBuffer = (char *)arg->pDmaBuffer + bottom_state.written;
        break;
    }
    case MINIPORT_DDI_CreateAllocation: {
        DXGKARG_CREATEALLOCATION *arg = (void *)argument;

        for (UINT i = 0; i < arg->NumAllocations; i++) {
            arg->pAllocationInfo[i].hAllocation = (char *)bottom_state.created + i;
            arg->pAllocationInfo[i].Size = 65536;
        }
        break;
    }
    case MINIPORT_DDI_OpenAllocation: {
        const DXGKARG_OPENALLOCATION *arg = argument;

        for (UINT i = 0; i < arg->NumAllocations; i++)
            arg->pOpenAllocation[i].hDeviceSpecificAllocation = (char *)bottom_state.created + i;
        break;
    }
    case MINIPORT_DDI_CreateProcess:
        ((DXGKARG_CREATEPROCESS *)argument)->hKmdProcess = bottom_state.created;
        break;
    case MINIPORT_DDI_CreateDevice:
        ((DXGKARG_CREATEDEVICE *)argument)->hDevice = bottom_state.created;
        break;
    case MINIPORT_DDI_CreateContext:
        ((DXGKARG_CREATECONTEXT *)argument)->hContext = bottom_state.created;
        break;
    case MINIPORT_DDI_QueryCurrentFence:
        ((DXGKARG_QUERYCURRENTFENCE *)argument)->CurrentFence = 77;
        break;
    default:
        break;
    }
    return bottom_state.status;
}

#define X(function, ddi, argument)                                                                 \
    static NTSTATUS bottom_##function(struct miniport *m, HANDLE object, argument arg)             \
    {                                                                                              \
        return note(MINIPORT_DDI_##ddi, object, arg);                                              \
    }
MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi)                                                                           \
    static NTSTATUS bottom_##function(struct miniport *m, HANDLE object)                           \
    {                                                                                              \
        return note(MINIPORT_DDI_##ddi, object, NULL);                                             \
    }
MINIPORT_PLAIN_LIST(X)
#undef X

static SIZE_T bottom_get_root_page_table_size(struct miniport *m, DXGKARG_GETROOTPAGETABLESIZE *arg)
{
    return 4096;
}

static void bottom_destroy(struct miniport *m)
{
    bottom_state.destroyed_count++;
}

static ULONG bottom_interface_version(struct miniport *m)
{
    return DXGKDDI_INTERFACE_VERSION_WDDM2_6;
}

static void bottom_set_host(struct miniport *m, struct miniport_host *host)
{
    bottom_state.host = host;
}

static bool bottom_has(struct miniport *m, enum miniport_ddi ddi)
{
    return ddi == MINIPORT_DDI_Patch;
}

static NTSTATUS bottom_life(struct miniport *m)
{
    return bottom_state.status;
}

static NTSTATUS bottom_start_device(struct miniport *m, const DXGK_START_INFO *start,
                                    ULONG *video_present_sources, ULONG *children)
{
    *video_present_sources = 1;
    *children = 2;
    return bottom_state.status;
}

static NTSTATUS bottom_set_power_state(struct miniport *m, ULONG device_uid,
                                       DEVICE_POWER_STATE state, POWER_ACTION action)
{
    return bottom_state.status;
}

/* An interrupt routine as drivers write it: report, queue the DPC. */
static bool bottom_interrupt(struct miniport *m, ULONG message)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {0};
    struct miniport_host *host = bottom_state.host;

    if (!host)
        return false;
    data.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
    data.DmaCompleted.SubmissionFenceId = 12;
    data.DmaCompleted.NodeOrdinal = 1;
    host->ops->notify_interrupt(host, &data);
    host->ops->queue_dpc(host);
    return true;
}

static void bottom_dpc(struct miniport *m)
{
    if (bottom_state.host)
        bottom_state.host->ops->notify_dpc(bottom_state.host);
}

static const struct miniport_ops bottom_ops = {.name = "bottom",
                                               .destroy = bottom_destroy,
                                               .interface_version = bottom_interface_version,
                                               .set_host = bottom_set_host,
                                               .has = bottom_has,
                                               .add_device = bottom_life,
                                               .start_device = bottom_start_device,
                                               .stop_device = bottom_life,
                                               .remove_device = bottom_life,
                                               .set_power_state = bottom_set_power_state,
                                               .interrupt = bottom_interrupt,
                                               .dpc = bottom_dpc,
                                               .get_root_page_table_size =
                                                   bottom_get_root_page_table_size,
#define X(function, ddi, argument) .function = bottom_##function,
                                               MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) .function = bottom_##function,
                                                   MINIPORT_PLAIN_LIST(X)
#undef X
};

static struct miniport bottom = {&bottom_ops, NULL};

/* ---- A host at the top, and a sink that collects lines ---- */

static NTSTATUS top_get_device_information(struct miniport_host *host, DXGK_DEVICE_INFO *info)
{
    return STATUS_SUCCESS;
}

static NTSTATUS top_map_memory(struct miniport_host *host, PHYSICAL_ADDRESS translated,
                               ULONG length, BOOLEAN in_io_space, BOOLEAN map_to_user_mode,
                               ULONG cache_type, PVOID *virtual_address)
{
    *virtual_address = host;
    return STATUS_SUCCESS;
}

static NTSTATUS top_unmap_memory(struct miniport_host *host, PVOID virtual_address)
{
    return STATUS_SUCCESS;
}

static void top_notify_interrupt(struct miniport_host *host,
                                 const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
}

static void top_notify_dpc(struct miniport_host *host)
{
}

static bool top_queue_dpc(struct miniport_host *host)
{
    return true;
}

static NTSTATUS top_synchronize_execution(struct miniport_host *host, PKSYNCHRONIZE_ROUTINE routine,
                                          PVOID context, ULONG message, BOOLEAN *return_value)
{
    *return_value = TRUE;
    return STATUS_SUCCESS;
}

static PVOID top_get_handle_data(struct miniport_host *host, const DXGKARGCB_GETHANDLEDATA *data)
{
    return data->hObject == 0x40 ? host : NULL;
}

static NTSTATUS
top_reserve_gpu_virtual_address_range(struct miniport_host *host, HANDLE process,
                                      DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    range->StartVirtualAddress = 0x200000;
    return STATUS_SUCCESS;
}

static NTSTATUS top_create_context_allocation(struct miniport_host *host,
                                              DXGKARGCB_CREATECONTEXTALLOCATION *allocation)
{
    allocation->hAllocation = host;
    return STATUS_SUCCESS;
}

static NTSTATUS top_destroy_context_allocation(struct miniport_host *host, HANDLE allocation)
{
    return STATUS_SUCCESS;
}

static D3DGPU_VIRTUAL_ADDRESS top_map_context_allocation(struct miniport_host *host,
                                                         const DXGKARGCB_MAPCONTEXTALLOCATION *map)
{
    return 0x5000;
}

static NTSTATUS top_update_context_allocation(struct miniport_host *host,
                                              const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    return STATUS_SUCCESS;
}

static void top_log(struct miniport_host *host, const char *text)
{
}

static void top_unsupported(struct miniport_host *host, const char *callback)
{
}

static const struct miniport_host_ops top_ops = {
#define X(function, name) .function = top_##function,
    TRACE_CALLBACK_LIST(X)
#undef X
};

static struct miniport_host top = {&top_ops};

struct fixture {
    struct failing_services memory;
    struct miniport *trace;
    char text[16384];
    size_t length;
    unsigned event_count;
    uint64_t last_sequence;
};

static void collect(void *context, const struct trace_event *event)
{
    struct fixture *fixture = context;
    size_t room = sizeof fixture->text - fixture->length;
    size_t length = trace_event_format(event, fixture->text + fixture->length, room);

    assert_true(length + 2 < room);
    fixture->length += length;
    fixture->text[fixture->length++] = '\n';
    fixture->text[fixture->length] = '\0';
    fixture->event_count++;
    if (event->phase == TRACE_BEFORE) {
        assert_int_equal(event->sequence, fixture->last_sequence + 1);
        fixture->last_sequence++;
    }
}

static void fixture_init(struct fixture *fixture, bool has_sink)
{
    struct trace_sink sink = {collect, fixture};

    memset(fixture, 0, sizeof *fixture);
    memset(&bottom_state, 0, sizeof bottom_state);
    failing_services_init(&fixture->memory);
    assert_int_equal(miniport_trace_create(&fixture->memory.services, &bottom, &fixture->trace),
                     STATUS_SUCCESS);
    miniport_set_host(fixture->trace, &top);
    if (has_sink)
        miniport_trace_set_sink(fixture->trace, &sink);
}

static void fixture_fini(struct fixture *fixture)
{
    miniport_destroy(fixture->trace);
    assert_int_equal(bottom_state.destroyed_count, 1);
    assert_int_equal(fixture->memory.live_blocks, 0);
}

/* The lines since the last call of this. */
#define assert_lines(fixture, golden)                                                              \
    do {                                                                                           \
        assert_string_equal((fixture)->text, golden);                                              \
        (fixture)->length = 0;                                                                     \
        (fixture)->text[0] = '\0';                                                                 \
    } while (0)

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
        struct fixture fixture;
        struct trace_counters *counters;
        char object = 0;

        fixture_init(&fixture, with_sink);
        counters = miniport_trace_counters(fixture.trace);
        bottom_state.status = STATUS_PENDING;
        memset(&arguments, 0, sizeof arguments);
#define X(function, ddi, type)                                                                     \
    assert_int_equal(miniport_##function(fixture.trace, &object, (type)(void *)&arguments),        \
                     STATUS_PENDING);                                                              \
    assert_ptr_equal(bottom_state.object, &object);                                                \
    assert_ptr_equal(bottom_state.argument, &arguments);                                           \
    assert_int_equal(counters->calls[MINIPORT_DDI_##ddi], 1);                                      \
    memset(&arguments, 0, sizeof arguments);                                                       \
    fixture.length = 0;
        MINIPORT_DDI_LIST(X)
#undef X
        bottom_state.status = STATUS_UNSUCCESSFUL;
#define X(function, ddi)                                                                           \
    assert_int_equal(miniport_##function(fixture.trace, &object), STATUS_UNSUCCESSFUL);            \
    assert_ptr_equal(bottom_state.object, &object);                                                \
    assert_int_equal(counters->calls[MINIPORT_DDI_##ddi], 1);                                      \
    assert_int_equal(counters->failures[MINIPORT_DDI_##ddi], 1);
        MINIPORT_PLAIN_LIST(X)
#undef X
        assert_int_equal(miniport_get_root_page_table_size(fixture.trace, (void *)&arguments),
                         4096);
        for (unsigned ddi = 0; ddi < MINIPORT_DDI_AddDevice; ddi++)
            assert_int_equal(counters->calls[ddi], 1);
        assert_int_equal(fixture.event_count, with_sink ? 2 * MINIPORT_DDI_AddDevice : 0);
        assert_int_equal(miniport_interface_version(fixture.trace),
                         DXGKDDI_INTERFACE_VERSION_WDDM2_6);
        assert_true(miniport_has(fixture.trace, MINIPORT_DDI_Patch));
        assert_false(miniport_has(fixture.trace, MINIPORT_DDI_Render));
        fixture_fini(&fixture);
    }
}

static void operations_and_bytes_are_counted(void **state)
{
    struct fixture fixture;
    struct trace_counters *counters;
    DXGKARG_BUILDPAGINGBUFFER build = {0};
    char buffer[256];

    fixture_init(&fixture, false);
    counters = miniport_trace_counters(fixture.trace);
    build.pDmaBuffer = buffer;
    bottom_state.written = 16;
    for (unsigned operation = 0; operation <= MINIPORT_OPERATION_COUNT; operation++) {
        build.pDmaBuffer = buffer;
        build.Operation = operation;
        miniport_build_paging_buffer(fixture.trace, NULL, &build);
        assert_int_equal(counters->operations[operation], 1);
    }
    build.Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)4711;
    bottom_state.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    bottom_state.written = 0;
    miniport_build_paging_buffer(fixture.trace, NULL, &build);
    assert_int_equal(counters->operations[MINIPORT_OPERATION_COUNT], 2);
    assert_int_equal(counters->failures[MINIPORT_DDI_BuildPagingBuffer], 1);
    assert_int_equal(counters->paging_bytes, 16 * (MINIPORT_OPERATION_COUNT + 1));
    assert_int_equal(fixture.memory.allocation_count, 1); /* the layer: nothing since */
    fixture_fini(&fixture);
}

static void callbacks_nest_inside_the_calls(void **state)
{
    struct fixture fixture;
    struct trace_counters *counters;

    fixture_init(&fixture, true);
    assert_true(miniport_interrupt(fixture.trace, 3));
    assert_lines(&fixture, "> DxgkDdiInterruptRoutine message=3\n"
                           "  > DxgkCbNotifyInterrupt DMA_COMPLETED SubmissionFenceId=12 "
                           "NodeOrdinal=1 EngineOrdinal=0\n"
                           "  < DxgkCbNotifyInterrupt 0x00000000\n"
                           "  > DxgkCbQueueDpc\n"
                           "  < DxgkCbQueueDpc 0x00000000 queued=1\n"
                           "< DxgkDdiInterruptRoutine 0x00000000 ours=1\n");
    miniport_trace_set_sink(fixture.trace, NULL);
    miniport_dpc(fixture.trace);
    assert_lines(&fixture, "");
    counters = miniport_trace_counters(fixture.trace);
    assert_int_equal(counters->callbacks[TRACE_CALLBACK_notify_interrupt], 1);
    assert_int_equal(counters->callbacks[TRACE_CALLBACK_queue_dpc], 1);
    assert_int_equal(counters->callbacks[TRACE_CALLBACK_notify_dpc], 1);
    assert_int_equal(counters->calls[MINIPORT_DDI_InterruptRoutine], 1);
    assert_int_equal(counters->calls[MINIPORT_DDI_DpcRoutine], 1);

    miniport_set_host(fixture.trace, NULL);
    assert_null(bottom_state.host);
    fixture_fini(&fixture);
}

static void the_life_of_a_device_has_its_lines(void **state)
{
    struct fixture fixture;
    DXGK_START_INFO start = {0};
    ULONG sources, children;

    fixture_init(&fixture, true);
    miniport_add_device(fixture.trace);
    miniport_start_device(fixture.trace, &start, &sources, &children);
    assert_int_equal(sources, 1);
    assert_int_equal(children, 2);
    miniport_set_power_state(fixture.trace, 0xffffffff, PowerDeviceD3, PowerActionHibernate);
    miniport_dpc(fixture.trace);
    miniport_stop_device(fixture.trace);
    bottom_state.status = STATUS_UNSUCCESSFUL;
    miniport_remove_device(fixture.trace);
    assert_lines(&fixture, "> DxgkDdiAddDevice\n"
                           "< DxgkDdiAddDevice 0x00000000\n"
                           "> DxgkDdiStartDevice\n"
                           "< DxgkDdiStartDevice 0x00000000 sources=1 children=2\n"
                           "> DxgkDdiSetPowerState uid=0xffffffff state=D3 action=3\n"
                           "< DxgkDdiSetPowerState 0x00000000\n"
                           "> DxgkDdiDpcRoutine\n"
                           "  > DxgkCbNotifyDpc\n"
                           "  < DxgkCbNotifyDpc 0x00000000\n"
                           "< DxgkDdiDpcRoutine 0x00000000\n"
                           "> DxgkDdiStopDevice\n"
                           "< DxgkDdiStopDevice 0x00000000\n"
                           "> DxgkDdiRemoveDevice\n"
                           "< DxgkDdiRemoveDevice 0xC0000001\n");
    fixture_fini(&fixture);
}

static void callbacks_have_their_lines(void **state)
{
    struct fixture fixture;
    struct miniport_host *host;
    DXGKARGCB_GETHANDLEDATA data = {.hObject = 0x40, .Type = DXGK_HANDLE_ALLOCATION};
    DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE range = {
        .hDxgkProcess = &data, .SizeInBytes = 1 * MiB, .Alignment = 65536};
    DXGKARGCB_CREATECONTEXTALLOCATION allocation = {
        .hContext = &range, .Size = 4096, .Alignment = 256, .SupportedSegmentSet = 3};
    DXGKARGCB_NOTIFY_INTERRUPT_DATA interrupt = {0};
    PHYSICAL_ADDRESS address = {.QuadPart = 0xfe000000};
    DXGK_DEVICE_INFO info;
    BOOLEAN result;
    PVOID mapped;

    fixture_init(&fixture, true);
    host = bottom_state.host;
    host->ops->get_device_information(host, &info);
    host->ops->map_memory(host, address, 4096, FALSE, FALSE, 0, &mapped);
    assert_ptr_equal(mapped, &top);
    host->ops->unmap_memory(host, mapped);
    host->ops->synchronize_execution(host, NULL, NULL, 2, &result);
    assert_ptr_equal(host->ops->get_handle_data(host, &data), &top);
    data.hObject = 0x80;
    assert_null(host->ops->get_handle_data(host, &data));
    assert_lines(&fixture,
                 "> DxgkCbGetDeviceInformation\n"
                 "< DxgkCbGetDeviceInformation 0x00000000\n"
                 "> DxgkCbMapMemory TranslatedAddress=0xfe000000 Length=4096\n"
                 "< DxgkCbMapMemory 0x00000000\n"
                 "> DxgkCbUnmapMemory\n"
                 "< DxgkCbUnmapMemory 0x00000000\n"
                 "> DxgkCbSynchronizeExecution message=2\n"
                 "< DxgkCbSynchronizeExecution 0x00000000 result=1\n"
                 "> DxgkCbGetHandleData hObject=0x40 Type=1 Flags=0x0\n"
                 "< DxgkCbGetHandleData 0x00000000 hObject=0x40 Type=1 Flags=0x0 found\n"
                 "> DxgkCbGetHandleData hObject=0x80 Type=1 Flags=0x0\n"
                 "< DxgkCbGetHandleData 0x00000000 hObject=0x80 Type=1 Flags=0x0 unknown\n");

    host->ops->reserve_gpu_virtual_address_range(host, range.hDxgkProcess, &range);
    host->ops->create_context_allocation(host, &allocation);
    host->ops->destroy_context_allocation(host, allocation.hAllocation);
    host->ops->log(host, "hello");
    host->ops->unsupported(host, "DxgkCbSignalEvent");
    assert_lines(&fixture,
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
    assert_lines(&fixture,
                 "> DxgkCbNotifyInterrupt DMA_PREEMPTED PreemptionFenceId=9 LastCompletedFenceId=7 "
                 "NodeOrdinal=0 EngineOrdinal=0\n"
                 "< DxgkCbNotifyInterrupt 0x00000000\n"
                 "> DxgkCbNotifyInterrupt DMA_PAGE_FAULTED FaultedFenceId=8 PageFaultFlags=0x0 "
                 "FaultedVirtualAddress=0x123000 NodeOrdinal=0 EngineOrdinal=0 PageTableLevel=0 "
                 "FaultedProcessHandle=-\n"
                 "< DxgkCbNotifyInterrupt 0x00000000\n"
                 "> DxgkCbNotifyInterrupt CRTC_VSYNC\n"
                 "< DxgkCbNotifyInterrupt 0x00000000\n");
    fixture_fini(&fixture);
}

/* ---- Objects ---- */

static void a_handle_that_comes_back_gets_a_new_number(void **state)
{
    struct fixture fixture;
    DXGK_ALLOCATIONINFO info[2] = {{0}};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = info};
    HANDLE list[2];
    DXGKARG_DESTROYALLOCATION destroy = {.NumAllocations = 2, .pAllocationList = list};
    DXGKARG_BUILDPAGINGBUFFER build = {0};
    char memory[4];

    fixture_init(&fixture, true);
    bottom_state.created = memory;
    create.NumAllocations = 2;
    miniport_create_allocation(fixture.trace, NULL, &create);
    list[0] = info[1].hAllocation;
    list[1] = info[0].hAllocation;
    miniport_destroy_allocation(fixture.trace, NULL, &destroy);
    assert_lines(
        &fixture,
        "> DxgkDdiCreateAllocation PrivateDriverDataSize=0 NumAllocations=2 Flags=0x0 "
        "pAllocationInfo=[{PrivateDriverDataSize=0} {PrivateDriverDataSize=0}]\n"
        "< DxgkDdiCreateAllocation 0x00000000 pAllocationInfo=[{a1 Alignment=0 Size=65536 "
        "PitchAlignedSize=0 HintedBank=0x0 PreferredSegment=0x0 SupportedReadSegmentSet=0x0 "
        "SupportedWriteSegmentSet=0x0 EvictionSegmentSet=0x0 PhysicalAdapterIndex=0 Flags=0x0 "
        "AllocationPriority=0} {a2 Alignment=0 Size=65536 "
        "PitchAlignedSize=0 HintedBank=0x0 PreferredSegment=0x0 SupportedReadSegmentSet=0x0 "
        "SupportedWriteSegmentSet=0x0 EvictionSegmentSet=0x0 PhysicalAdapterIndex=0 Flags=0x0 "
        "AllocationPriority=0}]\n"
        "> DxgkDdiDestroyAllocation pAllocationList=[a2 a1] hResource=- Flags=0x0\n"
        "< DxgkDdiDestroyAllocation 0x00000000\n");

    /* Used after its end it is not a1; the same memory again, twice, is a4 and a5. */
    build.Operation = DXGK_OPERATION_FILL;
    build.Fill.hAllocation = memory;
    for (unsigned number = 3; number <= 5; number++) {
        char golden[32];

        if (number > 3) {
            create.NumAllocations = 1;
            miniport_create_allocation(fixture.trace, NULL, &create);
        }
        fixture.length = 0;
        build.Operation = DXGK_OPERATION_FILL;
        miniport_build_paging_buffer(fixture.trace, NULL, &build);
        snprintf(golden, sizeof golden, " hAllocation=a%u ", number);
        assert_non_null(strstr(fixture.text, golden));
    }

    /* A destroy call that fails destroys nothing. */
    list[0] = memory;
    destroy.NumAllocations = 1;
    bottom_state.status = STATUS_UNSUCCESSFUL;
    fixture.length = 0;
    miniport_destroy_allocation(fixture.trace, NULL, &destroy);
    miniport_destroy_allocation(fixture.trace, NULL, &destroy);
    assert_lines(&fixture, "> DxgkDdiDestroyAllocation pAllocationList=[a5] hResource=- Flags=0x0\n"
                           "< DxgkDdiDestroyAllocation 0xC0000001\n"
                           "> DxgkDdiDestroyAllocation pAllocationList=[a5] hResource=- Flags=0x0\n"
                           "< DxgkDdiDestroyAllocation 0xC0000001\n");
    fixture_fini(&fixture);
}

static void handles_of_each_kind_have_their_own_numbers(void **state)
{
    struct fixture fixture;
    char one; /* a driver whose handles are all the same value */
    DXGKARG_CREATEPROCESS process = {.hDxgkProcess = &one};
    DXGKARG_CREATEDEVICE device = {.hKmdProcess = &one};
    DXGKARG_CREATECONTEXT context = {.NodeOrdinal = 1};
    DXGK_OPENALLOCATIONINFO info = {.hAllocation = 0x40};
    DXGKARG_OPENALLOCATION open = {.NumAllocations = 1, .pOpenAllocation = &info};
    HANDLE list[] = {&one};
    DXGKARG_CLOSEALLOCATION close = {.NumAllocations = 1, .pOpenHandleList = list};

    fixture_init(&fixture, true);
    bottom_state.created = &one;
    miniport_create_process(fixture.trace, NULL, &process);
    miniport_create_device(fixture.trace, NULL, &device);
    miniport_create_context(fixture.trace, &one, &context);
    miniport_open_allocation(fixture.trace, &one, &open);
    miniport_close_allocation(fixture.trace, &one, &close);
    miniport_open_allocation(fixture.trace, &one, &open);
    miniport_destroy_context(fixture.trace, &one);
    miniport_destroy_device(fixture.trace, &one);
    miniport_destroy_process(fixture.trace, &one);
    miniport_create_process(fixture.trace, NULL, &process);
    assert_lines(&fixture,
                 "> DxgkDdiCreateProcess hDxgkProcess=q1 Flags=0x0\n"
                 "< DxgkDdiCreateProcess 0x00000000 hKmdProcess=p1\n"
                 "> DxgkDdiCreateDevice Flags=0x0 hKmdProcess=p1\n"
                 "< DxgkDdiCreateDevice 0x00000000 hDevice=d1\n"
                 "> DxgkDdiCreateContext d1 NodeOrdinal=1 EngineAffinity=0x0 Flags=0x0 "
                 "PrivateDriverDataSize=0\n"
                 "< DxgkDdiCreateContext 0x00000000 hContext=c1 DmaBufferSize=0 "
                 "DmaBufferSegmentSet=0x0 DmaBufferPrivateDataSize=0 AllocationListSize=0 "
                 "PatchLocationListSize=0 Caps=0x0 PagingCompanionNodeId=0\n"
                 "> DxgkDdiOpenAllocation d1 Flags=0x0 pOpenAllocation=[0x40]\n"
                 "< DxgkDdiOpenAllocation 0x00000000 pOpenAllocation=[0x40:o1]\n"
                 "> DxgkDdiCloseAllocation d1 pOpenHandleList=[o1]\n"
                 "< DxgkDdiCloseAllocation 0x00000000\n"
                 "> DxgkDdiOpenAllocation d1 Flags=0x0 pOpenAllocation=[0x40]\n"
                 "< DxgkDdiOpenAllocation 0x00000000 pOpenAllocation=[0x40:o2]\n"
                 "> DxgkDdiDestroyContext c1\n"
                 "< DxgkDdiDestroyContext 0x00000000\n"
                 "> DxgkDdiDestroyDevice d1\n"
                 "< DxgkDdiDestroyDevice 0x00000000\n"
                 "> DxgkDdiDestroyProcess p1\n"
                 "< DxgkDdiDestroyProcess 0x00000000\n"
                 "> DxgkDdiCreateProcess hDxgkProcess=q2 Flags=0x0\n"
                 "< DxgkDdiCreateProcess 0x00000000 hKmdProcess=p2\n");
    fixture_fini(&fixture);
}

static void submissions_have_their_lines(void **state)
{
    struct fixture fixture;
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
    fixture_init(&fixture, true);
    bottom_state.written = 48;
    miniport_patch(fixture.trace, NULL, &patch);
    miniport_submit_command(fixture.trace, NULL, &submit);
    miniport_submit_command_virtual(fixture.trace, NULL, &virtual_submit);
    miniport_render(fixture.trace, &context, &render);
    assert_lines(&fixture,
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

    miniport_query_adapter_info(fixture.trace, NULL, &query);
    miniport_preempt_command(fixture.trace, NULL, &preempt);
    miniport_query_current_fence(fixture.trace, NULL, &fence);
    miniport_reset_engine(fixture.trace, NULL, &reset);
    miniport_set_root_page_table(fixture.trace, NULL, &root);
    miniport_get_root_page_table_size(fixture.trace, &size);
    miniport_map_cpu_host_aperture(fixture.trace, NULL, &map);
    assert_lines(&fixture,
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
    fixture_fini(&fixture);
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
    struct fixture fixture;
    struct trace_sink sink = {cut, NULL};

    fixture_init(&fixture, false);
    miniport_trace_set_sink(fixture.trace, &sink);
    miniport_set_power_state(fixture.trace, 1, PowerDeviceD0, PowerActionNone);
    assert_string_equal(cut_lines.cut, "< DxgkDdiSetPowerState ");
    assert_int_equal(cut_lines.full, strlen("< DxgkDdiSetPowerState 0x00000000"));
    fixture_fini(&fixture);
}

static void without_memory_only_the_numbers_are_lost(void **state)
{
    struct failing_services memory;
    struct fixture fixture;
    struct miniport *trace = &bottom;
    char handle;

    failing_services_init(&memory);
    failing_services_fail_at(&memory, 1);
    assert_int_equal(miniport_trace_create(&memory.services, &bottom, &trace), STATUS_NO_MEMORY);
    assert_null(trace);

    fixture_init(&fixture, true);
    failing_services_fail_at(&fixture.memory, 1);
    assert_int_equal(miniport_destroy_device(fixture.trace, &handle), STATUS_SUCCESS);
    assert_int_equal(miniport_destroy_device(fixture.trace, &handle), STATUS_SUCCESS);
    assert_lines(&fixture, "> DxgkDdiDestroyDevice d?\n"
                           "< DxgkDdiDestroyDevice 0x00000000\n"
                           "> DxgkDdiDestroyDevice d1\n"
                           "< DxgkDdiDestroyDevice 0x00000000\n");
    fixture_fini(&fixture);
}

static void random_handles_agree_with_a_plain_list(void **state)
{
    enum { HANDLE_COUNT = 300 };
    static const enum trace_handle_kind kinds[] = {TRACE_HANDLE_ALLOCATION, TRACE_HANDLE_CONTEXT};
    struct failing_services memory;
    struct trace_handles handles;
    uint64_t numbers[2][HANDLE_COUNT] = {{0}};
    uint64_t last[2] = {0};
    struct rng rng;

    failing_services_init(&memory);
    trace_handles_init(&handles, &memory.services);
    rng_init(&rng, 20);
    for (unsigned step = 0; step < 20000; step++) {
        unsigned kind = (unsigned)rng_below(&rng, 2);
        size_t i = (size_t)rng_below(&rng, HANDLE_COUNT);
        const void *handle = (const void *)(uintptr_t)(16 * (i + 1));

        if (rng_chance(&rng, 1, 2)) {
            trace_handles_forget(&handles, kinds[kind], handle);
            numbers[kind][i] = 0;
            continue;
        }
        if (!numbers[kind][i])
            numbers[kind][i] = ++last[kind];
        assert_int_equal(trace_handles_number(&handles, kinds[kind], handle), numbers[kind][i]);
    }
    for (size_t i = 0; i < HANDLE_COUNT; i++) {
        for (unsigned kind = 0; kind < 2; kind++) {
            if (numbers[kind][i])
                assert_int_equal(trace_handles_number(&handles, kinds[kind],
                                                      (const void *)(uintptr_t)(16 * (i + 1))),
                                 numbers[kind][i]);
        }
    }
    assert_int_equal(trace_handles_number(&handles, TRACE_HANDLE_DEVICE, NULL), 0);
    trace_handles_fini(&handles);
    assert_int_equal(memory.live_blocks, 0);
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
        cmocka_unit_test(every_ddi_is_counted_and_passes_unchanged),
        cmocka_unit_test(operations_and_bytes_are_counted),
        cmocka_unit_test(callbacks_nest_inside_the_calls),
        cmocka_unit_test(the_life_of_a_device_has_its_lines),
        cmocka_unit_test(callbacks_have_their_lines),
        cmocka_unit_test(a_handle_that_comes_back_gets_a_new_number),
        cmocka_unit_test(handles_of_each_kind_have_their_own_numbers),
        cmocka_unit_test(submissions_have_their_lines),
        cmocka_unit_test(a_long_line_is_cut_and_its_length_told),
        cmocka_unit_test(without_memory_only_the_numbers_are_lost),
        cmocka_unit_test(random_handles_agree_with_a_plain_list),
        cmocka_unit_test(interrupts_and_queries_have_the_names_of_the_fact_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
