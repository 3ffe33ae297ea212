/*
 * Coverage: the layers.
 *
 * The driver's layer copies the arguments of a call into memory of its own, the structure first and
 * the arrays that it points at behind it, watches that memory during the call, and copies the
 * members back that the driver may change. Long arrays stay where they are and are not watched.
 */
#include "base/bits.h"
#include "base/list.h"
#include "coverage/access_watch.h"
#include "coverage/coverage.h"
#include "miniport/operation.h"

#include <string.h>

#define SHADOW_BYTES ACCESS_WATCH_MAX_BYTES
#define MAX_ARRAYS   2
#define MAX_NOTED    64u /* elements of an array whose values are looked at */
#define MAX_WATCHED  16u /* elements of an array that is watched: each costs signals */

struct coverage_layer {
    struct miniport miniport;
    struct miniport_ops ops;
    struct miniport_host_layer host; /* manager's layer */
    struct miniport_host_ops host_ops;
    const struct base_services *services;
    struct coverage *coverage;
    bool is_drivers;
    uint8_t *shadow; /* driver's layer; NULL: nothing is watched */
};

/* An array that an argument structure points at. */
struct array {
    unsigned group;
    const void **pointer; /* in the caller's structure */
    size_t count, bytes;
    size_t (*element_bytes)(const struct array *array, const void *element);
    size_t place; /* in the shadow; 0: not there */
};

struct call {
    struct coverage_layer *layer;
    void *arguments;
    size_t bytes;
    const DXGKARG_BUILDPAGINGBUFFER *around; /* the arguments, if it is a BuildPagingBuffer */
    struct array arrays[MAX_ARRAYS];
    unsigned array_count;
};

static struct coverage_layer *layer_of(struct miniport *miniport)
{
    return (struct coverage_layer *)miniport;
}

/* ---- The driver's side ----------------------------------------------------------------------- */

static size_t bytes_of_any(const struct array *array, const void *element)
{
    return array->bytes / array->count;
}

static size_t bytes_of_drawing(const struct array *array, const void *element)
{
    return ((const DXGK_RENDERKM_COMMAND *)element)->CommandSize;
}

static void add_array(struct call *call, unsigned group, const void **pointer, size_t count,
                      size_t element_bytes)
{
    if (*pointer && count)
        call->arrays[call->array_count++] =
            (struct array){group, pointer, count, count * element_bytes, bytes_of_any, 0};
}

/* Commands of the kernel's, each as long as it says; those before one that is none. */
static void add_drawings(struct call *call, const void **pointer, size_t bytes)
{
    struct array array = {COVERAGE_DRAWING, pointer, 0, 0, bytes_of_drawing, 0};
    const DXGK_RENDERKM_COMMAND *command;

    for (; bytes - array.bytes >= sizeof *command; array.bytes += command->CommandSize) {
        command = (const void *)((const uint8_t *)*pointer + array.bytes);
        if (command->CommandSize < sizeof *command || command->CommandSize > bytes - array.bytes)
            break;
        array.count++;
    }
    if (array.count)
        call->arrays[call->array_count++] = array;
}

static void find_build_arrays(struct call *call, DXGKARG_BUILDPAGINGBUFFER *args)
{
    for (unsigned i = 0; i < MINIPORT_OPERATION_ARRAYS; i++) {
        struct miniport_array array = miniport_operation_array(args, i);

        if (array.elements)
            add_array(call, coverage_group_of(array.members->type),
                      (const void **)((uint8_t *)args + array.members->elements.offset),
                      array.count, array.members->element_bytes);
    }
}

static void note_array_values(const struct call *call)
{
    for (unsigned i = 0; i < call->array_count; i++) {
        const struct array *array = &call->arrays[i];
        const uint8_t *element = *array->pointer, *before = NULL;

        for (size_t j = 0; j < min_u64(array->count, MAX_NOTED); j++) {
            coverage_note_element(call->layer->coverage, array->group, before, element,
                                  call->around);
            before = element;
            element += array->element_bytes(array, element);
        }
    }
}

/* Copies into the shadow and points the copy at the copied arrays; the bytes used. */
static size_t fill_shadow(struct call *call)
{
    uint8_t *shadow = call->layer->shadow;
    size_t used = align_up(call->bytes, 16);

    memcpy(shadow, call->arguments, call->bytes);
    for (unsigned i = 0; i < call->array_count; i++) {
        struct array *array = &call->arrays[i];
        size_t pointer_place = (size_t)((uint8_t *)array->pointer - (uint8_t *)call->arguments);
        const void *copy = shadow + used;

        if (array->count > MAX_WATCHED || array->bytes > SHADOW_BYTES - used)
            continue;
        memcpy(shadow + used, *array->pointer, array->bytes);
        memcpy(shadow + pointer_place, &copy, sizeof copy);
        array->place = used;
        used = align_up(used + array->bytes, 16);
    }
    return used;
}

/* After the call; the values are those from before it. */
static void note_reads(const struct call *call, unsigned group)
{
    struct coverage *coverage = call->layer->coverage;

    coverage_note_reads(coverage, group, call->arguments, 0, call->around);
    if (call->around)
        coverage_note_reads(coverage, COVERAGE_BUILD, call->arguments, 0, call->around);
    for (unsigned i = 0; i < call->array_count; i++) {
        const struct array *array = &call->arrays[i];
        const uint8_t *elements = *array->pointer;
        size_t at = 0;

        for (size_t j = 0; array->place && j < array->count; j++) {
            coverage_note_reads(coverage, array->group, elements + at, array->place + at,
                                call->around);
            at += array->element_bytes(array, elements + at);
        }
    }
}

/* Copies the members back that the driver changed; the pointers to arrays are the caller's again.
 */
static void copy_back(const struct call *call)
{
    const void *pointers[MAX_ARRAYS];

    for (unsigned i = 0; i < call->array_count; i++)
        pointers[i] = *call->arrays[i].pointer;
    memcpy(call->arguments, call->layer->shadow, call->bytes);
    for (unsigned i = 0; i < call->array_count; i++) {
        if (call->arrays[i].place)
            *call->arrays[i].pointer = pointers[i];
    }
}

static NTSTATUS watch_build_paging_buffer(struct miniport *self, HANDLE object,
                                          DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct coverage_layer *layer = layer_of(self);
    unsigned operation = (unsigned)args->Operation;
    struct call call = {layer, args, sizeof *args, .around = args};
    NTSTATUS status;

    if (operation >= MINIPORT_OPERATION_COUNT)
        return miniport_forward_build_paging_buffer(self, object, args);
    find_build_arrays(&call, args);
    coverage_note_values(layer->coverage, operation, args, args);
    coverage_note_values(layer->coverage, COVERAGE_BUILD, args, args);
    note_array_values(&call);
    if (!coverage_takes_call(layer->coverage, operation) ||
        !access_watch_begin(layer->shadow, fill_shadow(&call)))
        return miniport_forward_build_paging_buffer(self, object, args);
    status = miniport_forward_build_paging_buffer(self, object,
                                                  (DXGKARG_BUILDPAGINGBUFFER *)layer->shadow);
    access_watch_end();
    note_reads(&call, operation);
    copy_back(&call);
    return status;
}

typedef NTSTATUS render_call(struct miniport *self, HANDLE object, DXGKARG_RENDER *args);

static NTSTATUS watch(struct call *call, unsigned group, HANDLE object, render_call *forward)
{
    struct coverage_layer *layer = call->layer;
    struct miniport *self = &layer->miniport;
    DXGKARG_RENDER *args = call->arguments;
    NTSTATUS status;

    coverage_note_values(layer->coverage, group, args, NULL);
    note_array_values(call);
    if (!coverage_takes_call(layer->coverage, group) ||
        !access_watch_begin(layer->shadow, fill_shadow(call)))
        return forward(self, object, args);
    status = forward(self, object, (DXGKARG_RENDER *)layer->shadow);
    access_watch_end();
    note_reads(call, group);
    copy_back(call);
    return status;
}

static NTSTATUS watch_render(struct miniport *self, HANDLE object, DXGKARG_RENDER *args)
{
    struct call call = {layer_of(self), args, sizeof *args, .around = NULL};

    return watch(&call, COVERAGE_RENDER, object, miniport_forward_render);
}

static NTSTATUS watch_render_km(struct miniport *self, HANDLE object, DXGKARG_RENDER *args)
{
    struct call call = {layer_of(self), args, sizeof *args, .around = NULL};

    add_drawings(&call, (const void **)&args->pCommand, args->CommandLength);
    return watch(&call, COVERAGE_RENDER_KM, object, miniport_forward_render_km);
}

static NTSTATUS watch_render_gdi(struct miniport *self, HANDLE object, DXGKARG_RENDERGDI *args)
{
    struct coverage_layer *layer = layer_of(self);
    struct call call = {layer, args, sizeof *args, .around = NULL};
    NTSTATUS status;

    add_drawings(&call, (const void **)&args->pCommand, args->CommandLength);
    coverage_note_values(layer->coverage, COVERAGE_RENDER_GDI, args, NULL);
    note_array_values(&call);
    if (!coverage_takes_call(layer->coverage, COVERAGE_RENDER_GDI) ||
        !access_watch_begin(layer->shadow, fill_shadow(&call)))
        return miniport_forward_render_gdi(self, object, args);
    status = miniport_forward_render_gdi(self, object, (DXGKARG_RENDERGDI *)layer->shadow);
    access_watch_end();
    note_reads(&call, COVERAGE_RENDER_GDI);
    copy_back(&call);
    return status;
}

static NTSTATUS watch_patch(struct miniport *self, HANDLE object, const DXGKARG_PATCH *args)
{
    struct coverage_layer *layer = layer_of(self);
    DXGKARG_PATCH own = *args;
    struct call call = {layer, &own, sizeof own, .around = NULL};
    NTSTATUS status;

    add_array(&call, COVERAGE_ALLOCATION_LIST, (const void **)&own.pAllocationList,
              own.AllocationListSize, sizeof *own.pAllocationList);
    add_array(&call, COVERAGE_PATCH_LOCATION_LIST, (const void **)&own.pPatchLocationList,
              own.PatchLocationListSize, sizeof *own.pPatchLocationList);
    coverage_note_values(layer->coverage, COVERAGE_PATCH, args, NULL);
    note_array_values(&call);
    if (!coverage_takes_call(layer->coverage, COVERAGE_PATCH) ||
        !access_watch_begin(layer->shadow, fill_shadow(&call)))
        return miniport_forward_patch(self, object, args);
    status = miniport_forward_patch(self, object, (const DXGKARG_PATCH *)layer->shadow);
    access_watch_end();
    note_reads(&call, COVERAGE_PATCH);
    return status;
}

/* Calls that are not watched: the values alone. */
#define NOTE(function, group, type)                                                                \
    static NTSTATUS note_##function(struct miniport *self, HANDLE object, type *args)              \
    {                                                                                              \
        coverage_note_values(layer_of(self)->coverage, group, args, NULL);                         \
        return miniport_forward_##function(self, object, args);                                    \
    }
NOTE(collect_dbg_info, COVERAGE_COLLECT, const DXGKARG_COLLECTDBGINFO)
NOTE(collect_dbg_info2, COVERAGE_COLLECT2, DXGKARG_COLLECTDBGINFO2)
NOTE(control_interrupt, COVERAGE_INTERRUPT, const struct miniport_interrupt)
NOTE(control_interrupt2, COVERAGE_INTERRUPT2, const DXGKARG_CONTROLINTERRUPT2)
NOTE(control_interrupt3, COVERAGE_INTERRUPT3, const DXGKARG_CONTROLINTERRUPT3)
NOTE(query_adapter_info, COVERAGE_QUERY, const DXGKARG_QUERYADAPTERINFO)
NOTE(submit_command, COVERAGE_SUBMIT, const DXGKARG_SUBMITCOMMAND)
NOTE(submit_command_virtual, COVERAGE_SUBMIT_VIRTUAL, const DXGKARG_SUBMITCOMMANDVIRTUAL)
NOTE(submit_command_to_hw_queue, COVERAGE_SUBMIT_QUEUE, const DXGKARG_SUBMITCOMMANDTOHWQUEUE)
NOTE(present, COVERAGE_PRESENT, DXGKARG_PRESENT)
NOTE(present_to_hw_queue, COVERAGE_PRESENT_QUEUE, DXGKARG_PRESENT)
NOTE(create_process, COVERAGE_PROCESS, DXGKARG_CREATEPROCESS)
NOTE(create_device, COVERAGE_DEVICE, DXGKARG_CREATEDEVICE)
NOTE(create_context, COVERAGE_CONTEXT, DXGKARG_CREATECONTEXT)
NOTE(open_allocation, COVERAGE_OPENING, const DXGKARG_OPENALLOCATION)
NOTE(destroy_allocation, COVERAGE_DESTRUCTION, const DXGKARG_DESTROYALLOCATION)
#undef NOTE

/* ... and of an allocation what the driver has made of it. */
static NTSTATUS note_create_allocation(struct miniport *self, HANDLE object,
                                       DXGKARG_CREATEALLOCATION *args)
{
    struct coverage *coverage = layer_of(self)->coverage;
    NTSTATUS status;

    coverage_note_values(coverage, COVERAGE_CREATION, args, NULL);
    status = miniport_forward_create_allocation(self, object, args);
    for (UINT i = 0; NT_SUCCESS(status) && i < args->NumAllocations; i++)
        coverage_note_values(coverage, COVERAGE_ALLOCATION, &args->pAllocationInfo[i], NULL);
    return status;
}

/* ---- The manager's side ---------------------------------------------------------------------- */

/*
 * Descriptors are watched from the driver's answer to the manager's next call, where they are
 * looked through. One list is watched at a time.
 */
static struct {
    struct coverage *coverage;
    unsigned group;
    unsigned count;
    size_t stride, bytes;
    uint8_t values[ACCESS_WATCH_MAX_BYTES];
} answer;

static void end_answer(void)
{
    if (!answer.coverage)
        return;
    access_watch_end();
    for (unsigned i = 0; i < answer.count; i++)
        coverage_note_reads(answer.coverage, answer.group, answer.values + i * answer.stride,
                            i * answer.stride, NULL);
    answer.coverage = NULL;
}

static void begin_answer(struct coverage *coverage, unsigned group, void *descriptors,
                         unsigned count, size_t stride)
{
    size_t bytes = count * stride;

    if (!descriptors || !bytes || bytes > sizeof answer.values)
        return;
    for (unsigned i = 0; i < count; i++)
        coverage_note_values(coverage, group, (uint8_t *)descriptors + i * stride, NULL);
    if (!coverage_watches(coverage))
        return;
    memcpy(answer.values, descriptors, bytes);
    if (!access_watch_begin(descriptors, bytes))
        return;
    answer.coverage = coverage;
    answer.group = group;
    answer.count = count;
    answer.stride = stride;
    answer.bytes = bytes;
}

static NTSTATUS watch_query_adapter_info(struct miniport *self, HANDLE object,
                                         const DXGKARG_QUERYADAPTERINFO *query)
{
    struct coverage *coverage = layer_of(self)->coverage;
    NTSTATUS status;

    end_answer();
    status = miniport_forward_query_adapter_info(self, object, query);
    if (!NT_SUCCESS(status) || !query->pOutputData)
        return status;
    if (query->Type == DXGKQAITYPE_QUERYSEGMENT) {
        const DXGK_QUERYSEGMENTOUT *out = query->pOutputData;

        begin_answer(coverage, COVERAGE_SEGMENT, out->pSegmentDescriptor, out->NbSegment,
                     sizeof *out->pSegmentDescriptor);
    } else if (query->Type == DXGKQAITYPE_QUERYSEGMENT3) {
        const DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;

        begin_answer(coverage, COVERAGE_SEGMENT3, out->pSegmentDescriptor, out->NbSegment,
                     sizeof *out->pSegmentDescriptor);
    } else if (query->Type == DXGKQAITYPE_QUERYSEGMENT4) {
        const DXGK_QUERYSEGMENTOUT4 *out = query->pOutputData;

        begin_answer(coverage, COVERAGE_SEGMENT4, out->pSegmentDescriptor, out->NbSegment,
                     out->SegmentDescriptorStride);
    }
    return status;
}

/* What the driver asks of the kernel: its values alone. */
static NTSTATUS note_memory(struct miniport_host *host,
                            const struct miniport_memory_request *request)
{
    struct coverage_layer *layer = container_of(host, struct coverage_layer, host.host);
    static const unsigned groups[MINIPORT_MEMORY_COUNT] = {
        [MINIPORT_MEMORY_create_object] = COVERAGE_MEMORY_OBJECT,
        [MINIPORT_MEMORY_destroy_object] = COVERAGE_MEMORY_END,
        [MINIPORT_MEMORY_map_object] = COVERAGE_MEMORY_VIEW,
        [MINIPORT_MEMORY_allocate_adl] = COVERAGE_ADL,
        [MINIPORT_MEMORY_allocate_pages] = COVERAGE_MDL_PAGES,
        [MINIPORT_MEMORY_allocate_contiguous] = COVERAGE_CONTIGUOUS,
    };

    if (request->any && groups[request->kind])
        coverage_note_values(layer->coverage, groups[request->kind], request->any, NULL);
    return miniport_host_forward_ops.memory(host, request);
}

static void watch_host(struct miniport *self, struct miniport_host *host)
{
    struct coverage_layer *layer = layer_of(self);

    layer->host.upper = host;
    miniport_set_host(self->next, &layer->host.host);
}

/* At the manager's next call, whichever it is, the manager is through with the descriptors. */
#define X(function, ddi, argument)                                                                 \
    static NTSTATUS end_before_##function(struct miniport *self, HANDLE object, argument arg)      \
    {                                                                                              \
        end_answer();                                                                              \
        return miniport_forward_##function(self, object, arg);                                     \
    }
X(create_process, CreateProcess, DXGKARG_CREATEPROCESS *)
X(create_device, CreateDevice, DXGKARG_CREATEDEVICE *)
X(create_context, CreateContext, DXGKARG_CREATECONTEXT *)
X(create_allocation, CreateAllocation, DXGKARG_CREATEALLOCATION *)
X(build_paging_buffer, BuildPagingBuffer, DXGKARG_BUILDPAGINGBUFFER *)
#undef X

/* ---- Life ------------------------------------------------------------------------------------ */

static void layer_destroy(struct miniport *self)
{
    struct coverage_layer *layer = layer_of(self);

    if (layer->shadow)
        access_watch_free(layer->shadow, SHADOW_BYTES);
    else if (!layer->is_drivers)
        end_answer();
    base_free(layer->services, layer, sizeof *layer);
}

static struct coverage_layer *create(struct coverage *coverage,
                                     const struct base_services *services, const char *name,
                                     struct miniport *next)
{
    struct coverage_layer *layer = base_alloc(services, sizeof *layer);

    if (!layer)
        return NULL;
    layer->services = services;
    layer->coverage = coverage;
    layer->ops = miniport_forward_ops;
    layer->ops.name = name;
    layer->ops.destroy = layer_destroy;
    layer->miniport.ops = &layer->ops;
    layer->miniport.next = next;
    return layer;
}

NTSTATUS coverage_driver_layer_create(struct coverage *coverage,
                                      const struct base_services *services, struct miniport *next,
                                      struct miniport **out_layer)
{
    struct coverage_layer *layer = create(coverage, services, "driver coverage", next);

    *out_layer = NULL;
    if (!layer)
        return STATUS_NO_MEMORY;
    layer->is_drivers = true;
    layer->shadow = coverage_watches(coverage) ? access_watch_alloc(SHADOW_BYTES) : NULL;
    if (!layer->shadow && coverage_watches(coverage)) {
        base_free(services, layer, sizeof *layer);
        return STATUS_NO_MEMORY;
    }
    layer->ops.build_paging_buffer = watch_build_paging_buffer;
    layer->ops.render = watch_render;
    layer->ops.render_km = watch_render_km;
    layer->ops.render_gdi = watch_render_gdi;
    layer->ops.patch = watch_patch;
    layer->ops.collect_dbg_info = note_collect_dbg_info;
    layer->ops.collect_dbg_info2 = note_collect_dbg_info2;
    layer->ops.control_interrupt = note_control_interrupt;
    layer->ops.control_interrupt2 = note_control_interrupt2;
    layer->ops.control_interrupt3 = note_control_interrupt3;
    layer->ops.query_adapter_info = note_query_adapter_info;
    layer->ops.submit_command = note_submit_command;
    layer->ops.submit_command_virtual = note_submit_command_virtual;
    layer->ops.submit_command_to_hw_queue = note_submit_command_to_hw_queue;
    layer->ops.present = note_present;
    layer->ops.present_to_hw_queue = note_present_to_hw_queue;
    layer->ops.create_process = note_create_process;
    layer->ops.create_device = note_create_device;
    layer->ops.create_context = note_create_context;
    layer->ops.create_allocation = note_create_allocation;
    layer->ops.open_allocation = note_open_allocation;
    layer->ops.destroy_allocation = note_destroy_allocation;
    *out_layer = &layer->miniport;
    return STATUS_SUCCESS;
}

NTSTATUS coverage_manager_layer_create(struct coverage *coverage,
                                       const struct base_services *services, struct miniport *next,
                                       struct miniport **out_layer)
{
    struct coverage_layer *layer = create(coverage, services, "manager coverage", next);

    *out_layer = NULL;
    if (!layer)
        return STATUS_NO_MEMORY;
    layer->host_ops = miniport_host_forward_ops;
    layer->host_ops.memory = note_memory;
    layer->host.host.ops = &layer->host_ops;
    layer->ops.set_host = watch_host;
    layer->ops.query_adapter_info = watch_query_adapter_info;
    layer->ops.create_process = end_before_create_process;
    layer->ops.create_device = end_before_create_device;
    layer->ops.create_context = end_before_create_context;
    layer->ops.create_allocation = end_before_create_allocation;
    layer->ops.build_paging_buffer = end_before_build_paging_buffer;
    *out_layer = &layer->miniport;
    return STATUS_SUCCESS;
}
