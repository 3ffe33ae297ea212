/* Stage: the bottom, the host and the sink of the trace layer's tests. */
#include "trace/test_stage.h"

#include <inttypes.h>

/* ---- A bottom that does what a test tells it ---- */

struct stage_bottom bottom_state;

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

static NTSTATUS bottom_notify_surprise_removal(struct miniport *m, DXGK_SURPRISE_REMOVAL_TYPE type)
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

static const struct miniport_ops bottom_ops = {
    .name = "bottom",
    .destroy = bottom_destroy,
    .interface_version = bottom_interface_version,
    .set_host = bottom_set_host,
    .has = bottom_has,
    .add_device = bottom_life,
    .start_device = bottom_start_device,
    .stop_device = bottom_life,
    .remove_device = bottom_life,
    .set_power_state = bottom_set_power_state,
    .notify_surprise_removal = bottom_notify_surprise_removal,
    .interrupt = bottom_interrupt,
    .dpc = bottom_dpc,
    .get_root_page_table_size = bottom_get_root_page_table_size,
#define X(function, ddi, argument) .function = bottom_##function,
    MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) .function = bottom_##function,
        MINIPORT_PLAIN_LIST(X)
#undef X
};

struct miniport bottom = {&bottom_ops, NULL};

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

static NTSTATUS top_read_device_space(struct miniport_host *host, struct miniport_space *space)
{
    space->done = space->length / 2;
    return STATUS_SUCCESS;
}

static NTSTATUS top_write_device_space(struct miniport_host *host, struct miniport_space *space)
{
    space->done = space->length / 4;
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

static D3DKMT_HANDLE top_get_handle_parent(struct miniport_host *host, D3DKMT_HANDLE allocation)
{
    return allocation + 1;
}

static D3DKMT_HANDLE top_enum_handle_children(struct miniport_host *host,
                                              const DXGKARGCB_ENUMHANDLECHILDREN *children)
{
    return children->hObject + children->Index;
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

static NTSTATUS top_is_feature_enabled(struct miniport_host *host,
                                       DXGKARGCB_ISFEATUREENABLED *feature)
{
    feature->Enabled = TRUE;
    return STATUS_SUCCESS;
}

static NTSTATUS top_invalidate_hw_context(struct miniport_host *host,
                                          const DXGKARGCB_INVALIDATEHWCONTEXT *context)
{
    return STATUS_SUCCESS;
}

static void top_log(struct miniport_host *host, const char *text)
{
}

static NTSTATUS top_memory(struct miniport_host *host,
                           const struct miniport_memory_request *request)
{
    if (request->kind == MINIPORT_MEMORY_map_object)
        request->map_object->Offset = 16;
    return request->kind == MINIPORT_MEMORY_free_adl ? STATUS_INVALID_HANDLE : STATUS_SUCCESS;
}

static NTSTATUS top_display(struct miniport_host *host,
                            const struct miniport_display_request *request)
{
    return STATUS_GRAPHICS_INVALID_VIDPN;
}

static NTSTATUS top_power(struct miniport_host *host, const struct miniport_power_request *request)
{
    return STATUS_SUCCESS;
}

static void top_unsupported(struct miniport_host *host, const char *callback)
{
}

static const struct miniport_host_ops top_ops = {
#define X(function, name) .function = top_##function,
    TRACE_CALLBACK_LIST(X)
#undef X
};

struct miniport_host top = {&top_ops};

/* A line that is made of parts, as trace.h says. */
struct parts {
    char text[16384];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct parts *parts, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    parts->length += (size_t)vsnprintf(parts->text + parts->length,
                                       sizeof parts->text - parts->length, format, arguments);
    va_end(arguments);
}

static void add_part(void *context, const char *text, size_t length, unsigned type, uint64_t value)
{
    struct parts *parts = context;
    const bool is_field = type < TRACE_PART_PLAIN || type >= 'a';

    add(parts, is_field ? " %.*s=" : "%.*s", (int)length, text);
    if (type >= 'A' && !value)
        add(parts, "-");
    else if (type >= 'A' && value == TRACE_HANDLE_UNKNOWN)
        add(parts, "%c?", type | 0x20);
    else if (type >= 'A')
        add(parts, "%c%" PRIu64, type | 0x20, value);
    else if (type % TRACE_PART_PLAIN == TRACE_PART_DECIMAL)
        add(parts, "%" PRIu64, value);
    else if (type % TRACE_PART_PLAIN == TRACE_PART_HEX)
        add(parts, "0x%" PRIx64, value);
    else if (type % TRACE_PART_PLAIN == TRACE_PART_SIGNED)
        add(parts, "%" PRId64, (int64_t)value);
    else if (type % TRACE_PART_PLAIN == TRACE_PART_DIGITS)
        add(parts, "%016" PRIx64, value);
    else if (type % TRACE_PART_PLAIN == TRACE_PART_TEXT)
        add(parts, "%s", (const char *)(uintptr_t)value);
    else
        assert_int_equal(type, TRACE_PART_PLAIN + TRACE_PART_NOTHING);
}

/* The parts of the event are the end of its line. */
static void check_parts(const struct trace_event *event, const char *line, size_t length)
{
    struct parts parts = {.length = 0};
    const struct trace_visitor visitor = {.part = add_part, .context = &parts};

    trace_event_visit(event, &visitor);
    assert_true(parts.length <= length);
    assert_string_equal(line + length - parts.length, parts.text);
}

/* A text has the number 0 here. */
static void add_value(void *context, const char *text, size_t length, unsigned type, uint64_t value)
{
    struct trace_values *values = context;
    const bool is_text = (type & ~(unsigned)TRACE_PART_PLAIN) == TRACE_PART_TEXT;

    values->end += values->next == values->end; /* there is room behind, of which it did not know */
    trace_values_add(values, text, length, type, is_text ? 0 : value);
}

/* Values are the same, and so is their hash, whether all go through the visitor or few. */
static void check_values(const struct trace_event *event)
{
    uint64_t first[256], rooms[] = {256, 3, 0};
    size_t count = 0;
    uint64_t hash = 0;

    for (unsigned i = 0; i < 3; i++) {
        uint64_t room[256];
        struct trace_values values = {.next = room, .end = room + rooms[i], .hash = 7};
        const struct trace_visitor visitor = {
            .part = add_value, .context = &values, .values = &values};

        trace_event_visit(event, &visitor);
        if (i == 0) {
            count = (size_t)(values.next - room);
            hash = values.hash;
            memcpy(first, room, count * sizeof *room);
        }
        assert_int_equal(values.next - room, count);
        assert_int_equal(values.hash, hash);
        assert_memory_equal(room, first, count * sizeof *room);
    }
}

static void collect(void *context, const struct trace_event *event)
{
    struct stage *stage = context;
    size_t room = sizeof stage->text - stage->length;
    size_t length = trace_event_format(event, stage->text + stage->length, room);

    assert_true(length + 2 < room);
    check_parts(event, stage->text + stage->length, length);
    check_values(event);
    stage->length += length;
    stage->text[stage->length++] = '\n';
    stage->text[stage->length] = '\0';
    stage->event_count++;
    if (event->phase == TRACE_BEFORE) {
        assert_int_equal(event->sequence, stage->last_sequence + 1);
        stage->last_sequence++;
    }
}

void stage_init(struct stage *stage, bool has_sink)
{
    struct trace_sink sink = {collect, stage};

    memset(stage, 0, sizeof *stage);
    memset(&bottom_state, 0, sizeof bottom_state);
    failing_services_init(&stage->memory);
    assert_int_equal(miniport_trace_create(&stage->memory.services, &bottom, &stage->trace),
                     STATUS_SUCCESS);
    miniport_set_host(stage->trace, &top);
    if (has_sink)
        miniport_trace_set_sink(stage->trace, &sink);
}

void stage_fini(struct stage *stage)
{
    miniport_destroy(stage->trace);
    assert_int_equal(bottom_state.destroyed_count, 1);
    assert_int_equal(stage->memory.live_blocks, 0);
}
