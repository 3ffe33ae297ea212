/*
 * Ledger: objects from their creation to their end, caps and segments as the driver reports them,
 * and what a call that succeeded changes.
 */
#include "check/ledger/check_ledger.h"

#include "base/bits.h"
#include "check/check_watch.h"

#include <string.h>

static uint64_t key_of(const void *handle)
{
    return (uint64_t)(uintptr_t)handle;
}

/* ---- Life ------------------------------------------------------------------------------------ */

void check_ledger_init(struct check_ledger *ledger, const struct base_services *services)
{
    memset(ledger, 0, sizeof *ledger);
    ledger->services = services;
    ledger->is_whole = true;
    for (unsigned kind = 0; kind < CHECK_KIND_COUNT; kind++)
        id_map_init(&ledger->objects[kind], services);
    id_map_init(&ledger->clients, services);
    id_map_init(&ledger->graves, services);
    id_map_init(&ledger->context_allocations, services);
    list_init(&ledger->packets);
    list_init(&ledger->works);
    check_tables_init(&ledger->tables, services);
}

static size_t size_of_kind(enum check_kind kind)
{
    static const size_t sizes[CHECK_KIND_COUNT] = {
        [CHECK_PROCESS] = sizeof(struct check_process),
        [CHECK_DEVICE] = sizeof(struct check_device),
        [CHECK_CONTEXT] = sizeof(struct check_context),
        [CHECK_QUEUE] = sizeof(struct check_queue),
        [CHECK_ALLOCATION] = sizeof(struct check_allocation),
        [CHECK_OPEN_ALLOCATION] = sizeof(struct check_open_allocation),
    };

    return sizes[kind];
}

static void free_object(struct check_ledger *ledger, struct check_object *object)
{
    check_ledger_note_leaving(ledger, object);
    if (object->kind == CHECK_ALLOCATION) {
        struct check_allocation *allocation = (struct check_allocation *)object;
        struct list *link;

        while ((link = list_pop_front(&allocation->instances)))
            list_entry(link, struct check_allocation, instance_link)->first = NULL;
        list_remove(&allocation->instance_link);
    }
    if (object->kind == CHECK_PROCESS) {
        struct check_process *process = (struct check_process *)object;

        if (ledger->system_process == process)
            ledger->system_process = NULL;
        check_tables_forget_process(ledger, process);
    }
    base_free(ledger->services, object, size_of_kind(object->kind));
}

void check_ledger_fini(struct check_ledger *ledger)
{
    check_ledger_forget_packets(ledger);
    check_ledger_forget_built(ledger);
    check_ledger_forget_work(ledger);
    for (unsigned kind = CHECK_KIND_COUNT; kind-- > 0;) {
        size_t position = 0;
        struct check_object *object;

        while ((object = id_map_next(&ledger->objects[kind], &position)))
            free_object(ledger, object);
        id_map_fini(&ledger->objects[kind]);
    }
    check_tables_fini(&ledger->tables);
    id_map_fini(&ledger->clients);
    id_map_fini(&ledger->graves);
    id_map_fini(&ledger->context_allocations);
}

/* ---- Objects --------------------------------------------------------------------------------- */

/*
 * A handle that is there already names another object from now on: the driver gave it twice, which
 * is for a watcher to judge before.
 */
static void *enter(struct check_ledger *ledger, enum check_kind kind, const void *handle,
                   uint64_t event)
{
    size_t size = size_of_kind(kind);
    struct check_object *object, *old;

    ledger->created[kind]++;
    if (!handle && kind != CHECK_PROCESS) /* NULL names no object, but a process it may */
        return NULL;
    object = base_alloc(ledger->services, size);
    if (!object) {
        ledger->is_whole = false;
        return NULL;
    }
    object->kind = kind;
    object->handle = key_of(handle);
    object->number = ledger->created[kind];
    old = id_map_remove(&ledger->objects[kind], object->handle);
    object->is_doubled = old != NULL;
    if (old)
        free_object(ledger, old);
    if (kind == CHECK_ALLOCATION)
        check_ledger_reuse_handle(ledger, handle);
    if (!id_map_set(&ledger->objects[kind], object->handle, object)) {
        base_free(ledger->services, object, size);
        ledger->is_whole = false;
        return NULL;
    }
    if (kind == CHECK_ALLOCATION) {
        list_init(&((struct check_allocation *)object)->instances);
        list_init(&((struct check_allocation *)object)->instance_link);
    }
    check_remember(object, event, "created", 0, 0);
    return object;
}

static void leave(struct check_ledger *ledger, enum check_kind kind, const void *handle)
{
    struct check_object *object = id_map_remove(&ledger->objects[kind], key_of(handle));

    if (!object)
        return;
    if (kind == CHECK_ALLOCATION &&
        !id_map_set(&ledger->graves, object->handle, (void *)(uintptr_t)object->number))
        ledger->is_whole = false;
    free_object(ledger, object);
}

void check_ledger_reuse_handle(struct check_ledger *ledger, const void *handle)
{
    id_map_remove(&ledger->graves, key_of(handle));
}

bool check_ledger_enter_instance(struct check_ledger *ledger, struct check_allocation *allocation,
                                 const struct check_client_event *event)
{
    struct check_allocation *first = allocation->first ? allocation->first : allocation;
    struct check_allocation *instance = enter(ledger, CHECK_ALLOCATION, event->instance, 0);

    if (!instance)
        return false;
    ledger->created[CHECK_ALLOCATION]--;
    instance->object.number = CHECK_FIRST_INSTANCE + ledger->instances_created++;
    instance->object.happening_count = 0;
    check_remember(&instance->object, 0, "an instance of allocation a%u",
                   (unsigned)first->object.number, 0);
    instance->bytes = first->bytes;
    instance->info = first->info;
    instance->first = first;
    list_push_back(&first->instances, &instance->instance_link);
    instance->client = event->allocations[0];
    allocation->client = NULL;
    allocation->is_dying = true;
    return id_map_set(&ledger->clients, key_of(event->allocations[0]), instance);
}

void check_ledger_leave_instance(struct check_ledger *ledger,
                                 const struct check_client_event *event)
{
    struct check_allocation *ended = check_find_ended(ledger, event);
    struct check_allocation *first = ended ? ended->first : NULL;
    const void *name = ended ? ended->client : NULL;

    if (ended && !event->instance)
        ended->is_first_over = true;
    if (!ended || !event->instance)
        return;
    leave(ledger, CHECK_ALLOCATION, event->instance);
    if (!name || !first)
        return;
    /* The client has destroyed it; who is left goes by its name still. */
    first->client = name;
    ledger->is_whole &= id_map_set(&ledger->clients, key_of(name), first);
}

/* What outlives its device or process is left without one. */
static void orphan(struct check_ledger *ledger, const struct check_object *owner)
{
    struct check_object *object;
    size_t position = 0;

    if (!owner)
        return;
    if (owner->kind == CHECK_PROCESS) {
        while ((object = id_map_next(&ledger->objects[CHECK_DEVICE], &position))) {
            if (&((struct check_device *)object)->process->object == owner)
                ((struct check_device *)object)->process = NULL;
        }
        return;
    }
    while ((object = id_map_next(&ledger->objects[CHECK_CONTEXT], &position))) {
        if (&((struct check_context *)object)->device->object == owner)
            ((struct check_context *)object)->device = NULL;
    }
}

/* ---- Caps ------------------------------------------------------------------------------------ */

#define MAX_SEGMENTS CHECK_MAX_SEGMENTS

static void enter_segment(struct check_ledger *ledger, unsigned index,
                          const DXGK_SEGMENTDESCRIPTOR4 *whole)
{
    ledger->segments[index] = (struct check_segment){
        .id = index + 1,
        .flags = whole->Flags,
        .base = (uint64_t)whole->BaseAddress.QuadPart,
        .size = whole->Size,
        .commit_limit = whole->CommitLimit,
        .whole = *whole,
    };
}

#define ENTER_SEGMENTS(out)                                                                        \
    for (unsigned i = 0; i < count; i++) {                                                         \
        const DXGK_SEGMENTDESCRIPTOR4 whole = {                                                    \
            .Flags = (out)->pSegmentDescriptor[i].Flags,                                           \
            .BaseAddress = (out)->pSegmentDescriptor[i].BaseAddress,                               \
            .Size = (out)->pSegmentDescriptor[i].Size,                                             \
            .CommitLimit = (out)->pSegmentDescriptor[i].CommitLimit,                               \
            .CpuTranslatedAddress = (out)->pSegmentDescriptor[i].CpuTranslatedAddress,             \
        };                                                                                         \
                                                                                                   \
        enter_segment(ledger, i, &whole);                                                          \
    }

#define ENTER_PAGING(out)                                                                          \
    do {                                                                                           \
        count = (unsigned)min_u64((out)->NbSegment, MAX_SEGMENTS);                                 \
        ledger->caps.paging_buffer_bytes = (out)->PagingBufferSize;                                \
        ledger->caps.paging_private_bytes = (out)->PagingBufferPrivateDataSize;                    \
        ledger->caps.paging_segment = (out)->PagingBufferSegmentId;                                \
    } while (0)

/* The answer of the second pass; the first one gives no descriptors. */
static void enter_segments(struct check_ledger *ledger, const DXGKARG_QUERYADAPTERINFO *query)
{
    unsigned count = 0;

    switch ((unsigned)query->Type) {
    case DXGKQAITYPE_QUERYSEGMENT: {
        const DXGK_QUERYSEGMENTOUT *out = query->pOutputData;

        if (!out->pSegmentDescriptor)
            return;
        ENTER_PAGING(out);
        ENTER_SEGMENTS(out);
        break;
    }
    case DXGKQAITYPE_QUERYSEGMENT3: {
        const DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;

        if (!out->pSegmentDescriptor)
            return;
        ENTER_PAGING(out);
        ENTER_SEGMENTS(out);
        for (unsigned i = 0; i < count; i++)
            ledger->segments[i].whole.SystemMemoryEndAddress =
                out->pSegmentDescriptor[i].SystemMemoryEndAddress;
        break;
    }
    case DXGKQAITYPE_QUERYSEGMENT4: {
        const DXGK_QUERYSEGMENTOUT4 *out = query->pOutputData;

        if (!out->pSegmentDescriptor || !out->SegmentDescriptorStride)
            return;
        ENTER_PAGING(out);
        for (unsigned i = 0; i < count; i++) {
            DXGK_SEGMENTDESCRIPTOR4 whole = {0};

            memcpy(&whole, out->pSegmentDescriptor + i * out->SegmentDescriptorStride,
                   min_u64(sizeof whole, out->SegmentDescriptorStride));
            enter_segment(ledger, i, &whole);
        }
        break;
    }
    default:
        return;
    }
    ledger->segment_count = count;
}

static void enter_caps(struct check_ledger *ledger, const DXGKARG_QUERYADAPTERINFO *query)
{
    struct check_caps *caps = &ledger->caps;

    if (!query->pOutputData)
        return;
    switch ((unsigned)query->Type) {
    case DXGKQAITYPE_DRIVERCAPS:
        memset(&caps->driver, 0, sizeof caps->driver);
        memcpy(&caps->driver, query->pOutputData,
               min_u64(sizeof caps->driver, query->OutputDataSize));
        caps->has_driver = true;
        break;
    case DXGKQAITYPE_GPUMMUCAPS:
        memset(&caps->gpummu, 0, sizeof caps->gpummu);
        memcpy(&caps->gpummu, query->pOutputData,
               min_u64(sizeof caps->gpummu, query->OutputDataSize));
        caps->level_count = caps->gpummu.PageTableLevelCount;
        memset(caps->has_level, 0, sizeof caps->has_level);
        caps->has_gpummu = true;
        break;
    case DXGKQAITYPE_PHYSICALADAPTERCAPS:
        memset(&caps->physical, 0, sizeof caps->physical);
        memcpy(&caps->physical, query->pOutputData,
               min_u64(sizeof caps->physical, query->OutputDataSize));
        caps->has_physical = true;
        break;
    case DXGKQAITYPE_PAGETABLELEVELDESC: {
        const DXGK_QUERYPAGETABLELEVELDESCIN *in = query->pInputData;

        if (!in || in->LevelIndex >= CHECK_MAX_LEVELS)
            break;
        memcpy(&caps->levels[in->LevelIndex], query->pOutputData,
               min_u64(sizeof caps->levels[0], query->OutputDataSize));
        caps->has_level[in->LevelIndex] = true;
        break;
    }
    default:
        enter_segments(ledger, query);
        break;
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void enter_allocations(struct check_ledger *ledger, const struct check_call *call)
{
    const DXGKARG_CREATEALLOCATION *arg = call->arg.create_allocation;

    for (UINT i = 0; i < arg->NumAllocations; i++) {
        const DXGK_ALLOCATIONINFO *info = &arg->pAllocationInfo[i];
        struct check_allocation *allocation =
            enter(ledger, CHECK_ALLOCATION, info->hAllocation, call->event);

        if (!allocation)
            continue;
        allocation->info = *info;
        allocation->bytes = info->Size;
        allocation->is_primary = ledger->is_next_primary;
        allocation->memory = ledger->next_memory;
        allocation->has_content = allocation->memory.pages != NULL;
        if (i < CHECK_MAX_ASKED)
            ledger->newest_allocations[i] = allocation;
    }
}

/* The same handle again for the same allocation, NULL: it is a new one. */
static struct check_open_allocation *find_other_opening(const struct check_ledger *ledger,
                                                        const void *handle,
                                                        const struct check_allocation *allocation)
{
    return allocation && check_find_opened(ledger, handle) == allocation
               ? (struct check_open_allocation *)check_find(ledger, CHECK_OPEN_ALLOCATION, handle)
               : NULL;
}

static void enter_opened(struct check_ledger *ledger, const struct check_call *call)
{
    const DXGKARG_OPENALLOCATION *arg = call->arg.open_allocation;
    struct check_device *device = check_find_device(ledger, call->object);

    for (UINT i = 0; i < arg->NumAllocations; i++) {
        const void *handle = arg->pOpenAllocation[i].hDeviceSpecificAllocation;
        struct check_allocation *allocation =
            i < CHECK_MAX_ASKED ? check_find_allocation(ledger, ledger->asked[i]) : NULL;
        struct check_open_allocation *opened = find_other_opening(ledger, handle, allocation);

        if (!opened)
            opened = enter(ledger, CHECK_OPEN_ALLOCATION, handle, call->event);
        if (!opened)
            continue;
        opened->times++;
        if (device)
            device->open_count++;
        if (!allocation)
            continue;
        opened->allocation = ledger->asked[i];
        opened->allocation_number = allocation->object.number;
        allocation->open_count++;
        if (arg->Flags.Create && device) {
            allocation->creator = device->object.number;
            allocation->was_made_by_device = true;
        }
    }
}

static void leave_opened(struct check_ledger *ledger, const struct check_call *call)
{
    const DXGKARG_CLOSEALLOCATION *arg = call->arg.close_allocation;
    struct check_device *device = check_find_device(ledger, call->object);

    for (UINT i = 0; i < arg->NumAllocations; i++) {
        struct check_open_allocation *opened = (struct check_open_allocation *)check_find(
            ledger, CHECK_OPEN_ALLOCATION, arg->pOpenHandleList[i]);

        struct check_allocation *allocation = check_find_opened(ledger, arg->pOpenHandleList[i]);

        if (!opened)
            continue;
        if (allocation && allocation->open_count)
            allocation->open_count--;
        if (allocation && device && device->object.number == allocation->creator)
            allocation->creator = 0;
        if (device && device->open_count)
            device->open_count--;
        if (--opened->times == 0)
            leave(ledger, CHECK_OPEN_ALLOCATION, arg->pOpenHandleList[i]);
    }
}

static void enter_context(struct check_ledger *ledger, const struct check_call *call)
{
    const DXGKARG_CREATECONTEXT *arg = call->arg.create_context;
    struct check_context *context = enter(ledger, CHECK_CONTEXT, arg->hContext, call->event);

    if (!context)
        return;
    context->device = check_find_device(ledger, call->object);
    context->kernel = call->before.create_context->hContext;
    context->node = arg->NodeOrdinal;
    context->flags = arg->Flags;
    context->info = arg->ContextInfo;
    if (context->device)
        context->device->context_count++;
}

static void enter_queue(struct check_ledger *ledger, const struct check_call *call)
{
    const DXGKARG_CREATEHWQUEUE *arg = call->arg.create_hw_queue;
    const struct check_context *context = check_find_context(ledger, call->object);
    struct check_queue *queue = enter(ledger, CHECK_QUEUE, arg->hHwQueue, call->event);

    if (!queue)
        return;
    queue->kernel = call->before.create_hw_queue->hHwQueue;
    queue->context = call->object;
    queue->node = context ? context->node : 0;
    queue->progress = arg->HwQueueProgressFenceCPUVirtualAddress;
    queue->progress_va = arg->HwQueueProgressFenceGPUVirtualAddress;
}

/* In the place of contexts. Which of them is the system's nobody says. */
static void enter_device_as_context(struct check_ledger *ledger, struct check_device *device,
                                    const struct check_call *call)
{
    const DXGK_DEVICEINFO *info = call->arg.create_device->pInfo;
    struct check_context *context =
        enter(ledger, CHECK_CONTEXT, call->arg.create_device->hDevice, call->event);

    if (!context)
        return;
    context->device = device;
    if (!info)
        return;
    context->info.DmaBufferSize = info->DmaBufferSize;
    context->info.DmaBufferSegmentSet = info->DmaBufferSegmentSet;
    context->info.DmaBufferPrivateDataSize = info->DmaBufferPrivateDataSize;
    context->info.AllocationListSize = info->AllocationListSize;
    context->info.PatchLocationListSize = info->PatchLocationListSize;
}

void check_ledger_enter_context_allocation(struct check_ledger *ledger,
                                           const DXGKARGCB_CREATECONTEXTALLOCATION *made)
{
    if (made->hAllocation && made->hDriverAllocation)
        ledger->is_whole &= id_map_set(&ledger->context_allocations, key_of(made->hAllocation),
                                       made->hDriverAllocation);
}

HANDLE check_ledger_leave_context_allocation(struct check_ledger *ledger, HANDLE system_handle)
{
    return id_map_remove(&ledger->context_allocations, key_of(system_handle));
}

void check_ledger_handle_data(struct check_ledger *ledger, const struct check_callback *callback)
{
    const struct check_call *outer = callback->outer;
    const DXGKARGCB_GETHANDLEDATA *data = callback->data;
    const DXGKARG_OPENALLOCATION *open;

    if (!outer || outer->ddi != MINIPORT_DDI_OpenAllocation || !callback->result)
        return;
    open = outer->arg.open_allocation;
    for (UINT i = 0; i < open->NumAllocations && i < CHECK_MAX_ASKED; i++) {
        if (open->pOpenAllocation[i].hAllocation == data->hObject)
            ledger->asked[i] = callback->result;
    }
}

/* ---- In and out ------------------------------------------------------------------------------ */

/* What a finished operation does to page tables. */
static void enter_tables(struct check_ledger *ledger, const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->before.build_paging_buffer;

    if (arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE)
        ledger->is_whole &= check_tables_update(ledger, &arg->UpdatePageTable, call->event);
    else if (arg->Operation == DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES)
        ledger->is_whole &= check_tables_copy(ledger, &arg->CopyPageTableEntries);
}

static void enter_root(struct check_context *context, const DXGKARG_SETROOTPAGETABLE *root)
{
    struct check_process *process = context->device ? context->device->process : NULL;
    uint64_t place = CHECK_PLACE(root->Address.SegmentId, root->Address.SegmentOffset >> 12);

    context->has_root = true;
    context->root = *root;
    if (!process)
        return;
    process->is_root_replaced = false;
    if (process->has_root && process->root == place)
        return;
    process->former_root = process->root;
    process->has_former_root = process->has_root;
    process->root = place;
    process->has_root = true;
}

bool check_ledger_enter(struct check_ledger *ledger, const struct check_call *call)
{
    ledger->is_whole = true;
    if (call->ddi == MINIPORT_DDI_BuildPagingBuffer)
        check_ledger_build(ledger, call);
    if (!NT_SUCCESS(call->status))
        return ledger->is_whole;
    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_QueryAdapterInfo:
        enter_caps(ledger, call->arg.query_adapter_info);
        break;
    case MINIPORT_DDI_CreateProcess: {
        const DXGKARG_CREATEPROCESS *arg = call->arg.create_process;
        struct check_process *process = enter(ledger, CHECK_PROCESS, arg->hKmdProcess, call->event);

        if (!process)
            break;
        process->is_system = arg->Flags.SystemProcess;
        id_map_init(&process->tables, ledger->services);
        list_init(&process->table_list);
        if (process->is_system)
            ledger->system_process = process;
        break;
    }
    case MINIPORT_DDI_CreateDevice: {
        const DXGKARG_CREATEDEVICE *arg = call->arg.create_device;
        struct check_device *device = enter(ledger, CHECK_DEVICE, arg->hDevice, call->event);

        if (device)
            device->process = check_find_process(ledger, arg->hKmdProcess);
        ledger->newest_device = device;
        if (!check_has_contexts(ledger))
            enter_device_as_context(ledger, device, call);
        break;
    }
    case MINIPORT_DDI_CreateContext:
        enter_context(ledger, call);
        break;
    case MINIPORT_DDI_CreateHwQueue:
        enter_queue(ledger, call);
        break;
    case MINIPORT_DDI_CreateAllocation:
        enter_allocations(ledger, call);
        break;
    case MINIPORT_DDI_OpenAllocation:
        enter_opened(ledger, call);
        break;
    case MINIPORT_DDI_SetRootPageTable: {
        struct check_context *context =
            check_find_context(ledger, call->arg.set_root_page_table->hContext);

        if (context)
            enter_root(context, call->arg.set_root_page_table);
        break;
    }
    case MINIPORT_DDI_GetRootPageTableSize:
        ledger->tables.most_root_entries = (uint32_t)max_u64(
            ledger->tables.most_root_entries, call->arg.get_root_page_table_size->NumberOfPte);
        break;
    case MINIPORT_DDI_BuildPagingBuffer:
        enter_tables(ledger, call);
        break;
    default:
        break;
    }
    return ledger->is_whole;
}

void check_ledger_leave(struct check_ledger *ledger, const struct check_call *call)
{
    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_DestroyProcess:
        orphan(ledger, check_find(ledger, CHECK_PROCESS, call->object));
        leave(ledger, CHECK_PROCESS, call->object);
        break;
    case MINIPORT_DDI_DestroyDevice:
        orphan(ledger, check_find(ledger, CHECK_DEVICE, call->object));
        leave(ledger, CHECK_DEVICE, call->object);
        if (!check_has_contexts(ledger))
            leave(ledger, CHECK_CONTEXT, call->object);
        break;
    case MINIPORT_DDI_DestroyHwQueue:
        check_ledger_forget_queue(ledger, call->object);
        leave(ledger, CHECK_QUEUE, call->object);
        break;
    case MINIPORT_DDI_DestroyContext: {
        struct check_context *context = check_find_context(ledger, call->object);

        if (context && context->device && context->device->context_count)
            context->device->context_count--;
        leave(ledger, CHECK_CONTEXT, call->object);
        break;
    }
    case MINIPORT_DDI_DestroyAllocation: {
        const DXGKARG_DESTROYALLOCATION *arg = call->arg.destroy_allocation;

        for (UINT i = 0; i < arg->NumAllocations; i++)
            leave(ledger, CHECK_ALLOCATION, arg->pAllocationList[i]);
        break;
    }
    case MINIPORT_DDI_CloseAllocation:
        leave_opened(ledger, call);
        break;
    case MINIPORT_DDI_ResetFromTimeout:
    case MINIPORT_DDI_SetPowerState:
        check_ledger_lose_built(ledger);
        check_tables_lose(&ledger->tables);
        if (call->ddi == MINIPORT_DDI_ResetFromTimeout) {
            ledger->hung_nodes = 0;
            check_ledger_forget_packets(ledger);
            check_ledger_forget_places(ledger);
            check_ledger_forget_content(ledger);
        }
        break;
    case MINIPORT_DDI_ResetHwEngine: /* whose packets are lost, callbacks have said */
        check_ledger_forget_content(ledger);
        if (NT_SUCCESS(call->status))
            ledger->hung_nodes &=
                ~(UINT64_C(1) << call->arg.reset_hw_engine->NodeOrdinal % CHECK_MAX_NODES);
        break;
    case MINIPORT_DDI_ResetEngine:
        check_ledger_forget_content(ledger);
        if (NT_SUCCESS(call->status)) {
            ledger->hung_nodes &=
                ~(UINT64_C(1) << call->arg.reset_engine->NodeOrdinal % CHECK_MAX_NODES);
            check_ledger_abort_packets(ledger, call->arg.reset_engine);
        }
        break;
    default:
        break;
    }
}
