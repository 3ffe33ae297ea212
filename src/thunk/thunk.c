/*
 * The table of what calls lead to, and one walk over it that all functions use.
 */
#include "thunk/thunk.h"

#include <string.h>

enum direction { GOES_NOWHERE, GOES_IN, GOES_OUT, GOES_BOTH };

struct list_row {
    uint16_t pointer, count; /* offsets in the structure; the count is a UINT */
    uint16_t element_bytes;
    uint8_t direction;
    bool is_at_least_one;          /* one element even where the count is 0 */
    bool is_single;                /* it has no count: one element */
    const struct list_row *nested; /* of each element; NULL: none */
    const char *element;           /* type of each, where it is a structure; else NULL */
    /* Of a union: with this flag set in those at the offset, the member is a value. 0: never. */
    uint16_t flags;
    uint32_t value_flag;
};

#define LIST(type, pointer_, count_, bytes, way)                                                   \
    {                                                                                              \
        .pointer = offsetof(type, pointer_), .count = offsetof(type, count_),                      \
        .element_bytes = (bytes), .direction = (way)                                               \
    }
#define STRUCTURES(type, pointer_, count_, element_, way)                                          \
    {                                                                                              \
        .pointer = offsetof(type, pointer_), .count = offsetof(type, count_),                      \
        .element_bytes = sizeof(element_), .element = #element_, .direction = (way)                \
    }
#define END_OF_LISTS                                                                               \
    {                                                                                              \
        .element_bytes = 0                                                                         \
    }

#define ENQUEUE_CPU_EVENT 2u /* D3DDDICB_SIGNALFLAGS */

static const struct list_row allocation_data[] = {
    LIST(D3DDDI_ALLOCATIONINFO2, pPrivateDriverData, PrivateDriverDataSize, 1, GOES_BOTH),
    END_OF_LISTS,
};

static const struct list_row QueryAdapterInfo_lists[] = {
    LIST(D3DKMT_QUERYADAPTERINFO, pPrivateDriverData, PrivateDriverDataSize, 1, GOES_BOTH),
    END_OF_LISTS,
};
static const struct list_row EnumAdapters2_lists[] = {
    STRUCTURES(D3DKMT_ENUMADAPTERS2, pAdapters, NumAdapters, D3DKMT_ADAPTERINFO, GOES_BOTH),
    END_OF_LISTS,
};
static const struct list_row EnumAdapters3_lists[] = {
    STRUCTURES(D3DKMT_ENUMADAPTERS3, pAdapters, NumAdapters, D3DKMT_ADAPTERINFO, GOES_BOTH),
    END_OF_LISTS,
};
static const struct list_row Escape_lists[] = {
    LIST(D3DKMT_ESCAPE, pPrivateDriverData, PrivateDriverDataSize, 1, GOES_BOTH),
    END_OF_LISTS,
};
static const struct list_row CreateContextVirtual_lists[] = {
    LIST(D3DKMT_CREATECONTEXTVIRTUAL, pPrivateDriverData, PrivateDriverDataSize, 1, GOES_IN),
    END_OF_LISTS,
};
static const struct list_row CreateAllocation2_lists[] = {
    LIST(D3DKMT_CREATEALLOCATION, pPrivateRuntimeData, PrivateRuntimeDataSize, 1, GOES_IN),
    LIST(D3DKMT_CREATEALLOCATION, pPrivateDriverData, PrivateDriverDataSize, 1, GOES_IN),
    {.pointer = offsetof(D3DKMT_CREATEALLOCATION, pAllocationInfo2),
     .count = offsetof(D3DKMT_CREATEALLOCATION, NumAllocations),
     .element_bytes = sizeof(D3DDDI_ALLOCATIONINFO2),
     .direction = GOES_BOTH,
     .nested = allocation_data,
     .element = "D3DDDI_ALLOCATIONINFO2"},
    END_OF_LISTS,
};
/* Where the data of each allocation lies in the buffer of all: the caller's side says it anew. */
static const struct list_row opened_data[] = {
    LIST(D3DDDI_OPENALLOCATIONINFO2, pPrivateDriverData, PrivateDriverDataSize, 1, GOES_NOWHERE),
    END_OF_LISTS,
};
#define OPEN_LISTS(name, type, ...)                                                                \
    static const struct list_row name##_lists[] = {                                                \
        {.pointer = offsetof(type, pOpenAllocationInfo2),                                          \
         .count = offsetof(type, NumAllocations),                                                  \
         .element_bytes = sizeof(D3DDDI_OPENALLOCATIONINFO2),                                      \
         .direction = GOES_BOTH,                                                                   \
         .nested = opened_data,                                                                    \
         .element = "D3DDDI_OPENALLOCATIONINFO2"},                                                 \
        LIST(type, pPrivateRuntimeData, PrivateRuntimeDataSize, 1, GOES_BOTH),                     \
        LIST(type, pResourcePrivateDriverData, ResourcePrivateDriverDataSize, 1, GOES_BOTH),       \
        LIST(type, pTotalPrivateDriverDataBuffer, TotalPrivateDriverDataBufferSize, 1, GOES_BOTH), \
        __VA_ARGS__ END_OF_LISTS,                                                                  \
    };
OPEN_LISTS(OpenResource, D3DKMT_OPENRESOURCE, )
OPEN_LISTS(OpenResourceFromNtHandle, D3DKMT_OPENRESOURCEFROMNTHANDLE,
           LIST(D3DKMT_OPENRESOURCEFROMNTHANDLE, pKeyedMutexPrivateRuntimeData,
                KeyedMutexPrivateRuntimeDataSize, 1, GOES_IN), )
#define QUERY_LISTS(name, type)                                                                    \
    static const struct list_row name##_lists[] = {                                                \
        LIST(type, pPrivateRuntimeData, PrivateRuntimeDataSize, 1, GOES_BOTH),                     \
        END_OF_LISTS,                                                                              \
    };
QUERY_LISTS(QueryResourceInfo, D3DKMT_QUERYRESOURCEINFO)
QUERY_LISTS(QueryResourceInfoFromNtHandle, D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE)
static const struct list_row ShareObjects_lists[] = {
    LIST(THUNK_SHARE_OBJECTS, hObjects, cObjects, sizeof(D3DKMT_HANDLE), GOES_IN),
    LIST(THUNK_SHARE_OBJECTS, Name, NameBytes, 1, GOES_IN),
    END_OF_LISTS,
};
static const struct list_row OpenNtHandleFromName_lists[] = {
    LIST(THUNK_OPEN_BY_NAME, Name, NameBytes, 1, GOES_IN),
    END_OF_LISTS,
};
#define OpenSyncObjectNtHandleFromName_lists OpenNtHandleFromName_lists
static const struct list_row DestroyAllocation2_lists[] = {
    LIST(D3DKMT_DESTROYALLOCATION2, phAllocationList, AllocationCount, sizeof(D3DKMT_HANDLE),
         GOES_IN),
    END_OF_LISTS,
};
static const struct list_row SetAllocationPriority_lists[] = {
    LIST(D3DKMT_SETALLOCATIONPRIORITY, phAllocationList, AllocationCount, sizeof(D3DKMT_HANDLE),
         GOES_IN),
    {.pointer = offsetof(D3DKMT_SETALLOCATIONPRIORITY, pPriorities),
     .count = offsetof(D3DKMT_SETALLOCATIONPRIORITY, AllocationCount),
     .element_bytes = sizeof(UINT),
     .direction = GOES_IN,
     .is_at_least_one = true}, /* of a resource */
    END_OF_LISTS,
};
/* PriorityList is left out: a shipped driver has it lead to one number for any count. */
static const struct list_row MakeResident_lists[] = {
    LIST(D3DDDI_MAKERESIDENT, AllocationList, NumAllocations, sizeof(D3DKMT_HANDLE), GOES_IN),
    END_OF_LISTS,
};
static const struct list_row Evict_lists[] = {
    LIST(D3DKMT_EVICT, AllocationList, NumAllocations, sizeof(D3DKMT_HANDLE), GOES_IN),
    END_OF_LISTS,
};
static const struct list_row OfferAllocations_lists[] = {
    LIST(D3DKMT_OFFERALLOCATIONS, pResources, NumAllocations, sizeof(D3DKMT_HANDLE), GOES_IN),
    LIST(D3DKMT_OFFERALLOCATIONS, HandleList, NumAllocations, sizeof(D3DKMT_HANDLE), GOES_IN),
    END_OF_LISTS,
};
static const struct list_row ReclaimAllocations2_lists[] = {
    LIST(D3DKMT_RECLAIMALLOCATIONS2, pResources, NumAllocations, sizeof(D3DKMT_HANDLE), GOES_IN),
    LIST(D3DKMT_RECLAIMALLOCATIONS2, HandleList, NumAllocations, sizeof(D3DKMT_HANDLE), GOES_IN),
    LIST(D3DKMT_RECLAIMALLOCATIONS2, pResults, NumAllocations, sizeof(D3DDDI_RECLAIM_RESULT),
         GOES_BOTH),
    END_OF_LISTS,
};
static const struct list_row UpdateGpuVirtualAddress_lists[] = {
    STRUCTURES(D3DKMT_UPDATEGPUVIRTUALADDRESS, Operations, NumOperations,
               D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION, GOES_IN),
    END_OF_LISTS,
};
static const struct list_row SubmitCommand_lists[] = {
    LIST(D3DKMT_SUBMITCOMMAND, pPrivateDriverData, PrivateDriverDataSize, 1, GOES_IN),
    END_OF_LISTS,
};
static const struct list_row CreateHwQueue_lists[] = {
    LIST(D3DKMT_CREATEHWQUEUE, pPrivateDriverData, PrivateDriverDataSize, 1, GOES_BOTH),
    END_OF_LISTS,
};
static const struct list_row SubmitCommandToHwQueue_lists[] = {
    LIST(D3DKMT_SUBMITCOMMANDTOHWQUEUE, pPrivateDriverData, PrivateDriverDataSize, 1, GOES_IN),
    LIST(D3DKMT_SUBMITCOMMANDTOHWQUEUE, WrittenPrimaries, NumPrimaries, sizeof(D3DKMT_HANDLE),
         GOES_IN),
    END_OF_LISTS,
};
static const struct list_row SubmitSignalSyncObjectsToHwQueue_lists[] = {
    LIST(D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE, BroadcastHwQueueArray, BroadcastHwQueueCount,
         sizeof(D3DKMT_HANDLE), GOES_IN),
    LIST(D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE, ObjectHandleArray, ObjectCount,
         sizeof(D3DKMT_HANDLE), GOES_IN),
    LIST(D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE, FenceValueArray, ObjectCount, sizeof(UINT64),
         GOES_IN),
    END_OF_LISTS,
};
#define FENCE_LISTS(name, type, values)                                                            \
    static const struct list_row name##_lists[] = {                                                \
        LIST(type, ObjectHandleArray, ObjectCount, sizeof(D3DKMT_HANDLE), GOES_IN),                \
        LIST(type, values, ObjectCount, sizeof(UINT64), GOES_IN),                                  \
        END_OF_LISTS,                                                                              \
    };
FENCE_LISTS(WaitForSynchronizationObjectFromCpu, D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU,
            FenceValueArray)
FENCE_LISTS(SignalSynchronizationObjectFromCpu, D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU,
            FenceValueArray)
FENCE_LISTS(WaitForSynchronizationObjectFromGpu, D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU,
            MonitoredFenceValueArray)
FENCE_LISTS(SignalSynchronizationObjectFromGpu, D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU,
            MonitoredFenceValueArray)
FENCE_LISTS(SubmitWaitForSyncObjectsToHwQueue, D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE,
            FenceValueArray)
static const struct list_row SignalSynchronizationObjectFromGpu2_lists[] = {
    LIST(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2, ObjectHandleArray, ObjectCount,
         sizeof(D3DKMT_HANDLE), GOES_IN),
    LIST(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2, BroadcastContextArray, BroadcastContextCount,
         sizeof(D3DKMT_HANDLE), GOES_IN),
    {.pointer = offsetof(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2, MonitoredFenceValueArray),
     .count = offsetof(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2, ObjectCount),
     .element_bytes = sizeof(UINT64),
     .direction = GOES_IN,
     .flags = offsetof(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2, Flags),
     .value_flag = ENQUEUE_CPU_EVENT}, /* CpuEventHandle */
    END_OF_LISTS,
};

#define RUNTIME_DATA(type, way) LIST(type, pPrivateRuntimeData, PrivateRuntimeDataSize, 1, way)
#define TIMEOUT(type)                                                                              \
    {                                                                                              \
        .pointer = offsetof(type, pTimeout), .is_single = true,                                    \
        .element_bytes = sizeof(LARGE_INTEGER), .direction = GOES_IN                               \
    }
static const struct list_row CreateKeyedMutex2_lists[] = {
    RUNTIME_DATA(D3DKMT_CREATEKEYEDMUTEX2, GOES_IN),
    END_OF_LISTS,
};
static const struct list_row OpenKeyedMutex2_lists[] = {
    RUNTIME_DATA(D3DKMT_OPENKEYEDMUTEX2, GOES_IN),
    END_OF_LISTS,
};
static const struct list_row OpenKeyedMutexFromNtHandle_lists[] = {
    RUNTIME_DATA(D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE, GOES_IN),
    END_OF_LISTS,
};
static const struct list_row AcquireKeyedMutex_lists[] = {
    TIMEOUT(D3DKMT_ACQUIREKEYEDMUTEX),
    END_OF_LISTS,
};
static const struct list_row AcquireKeyedMutex2_lists[] = {
    TIMEOUT(D3DKMT_ACQUIREKEYEDMUTEX2),
    RUNTIME_DATA(D3DKMT_ACQUIREKEYEDMUTEX2, GOES_BOTH),
    END_OF_LISTS,
};
static const struct list_row ReleaseKeyedMutex2_lists[] = {
    RUNTIME_DATA(D3DKMT_RELEASEKEYEDMUTEX2, GOES_IN),
    END_OF_LISTS,
};

static const struct list_row no_lists[] = {END_OF_LISTS};

static const struct list_row *const lists_of[D3DKMT_FN_COUNT] = {
#define HAS_LISTS(name) [D3DKMT_FN_##name] = name##_lists
    HAS_LISTS(QueryAdapterInfo),
    HAS_LISTS(EnumAdapters2),
    HAS_LISTS(EnumAdapters3),
    HAS_LISTS(Escape),
    HAS_LISTS(CreateContextVirtual),
    HAS_LISTS(CreateAllocation2),
    HAS_LISTS(DestroyAllocation2),
    HAS_LISTS(OpenResource),
    HAS_LISTS(OpenResourceFromNtHandle),
    HAS_LISTS(QueryResourceInfo),
    HAS_LISTS(QueryResourceInfoFromNtHandle),
    HAS_LISTS(ShareObjects),
    HAS_LISTS(OpenNtHandleFromName),
    HAS_LISTS(OpenSyncObjectNtHandleFromName),
    HAS_LISTS(SetAllocationPriority),
    HAS_LISTS(MakeResident),
    HAS_LISTS(Evict),
    HAS_LISTS(OfferAllocations),
    HAS_LISTS(ReclaimAllocations2),
    HAS_LISTS(UpdateGpuVirtualAddress),
    HAS_LISTS(SubmitCommand),
    HAS_LISTS(CreateHwQueue),
    HAS_LISTS(SubmitCommandToHwQueue),
    HAS_LISTS(SubmitWaitForSyncObjectsToHwQueue),
    HAS_LISTS(SubmitSignalSyncObjectsToHwQueue),
    HAS_LISTS(WaitForSynchronizationObjectFromCpu),
    HAS_LISTS(SignalSynchronizationObjectFromCpu),
    HAS_LISTS(WaitForSynchronizationObjectFromGpu),
    HAS_LISTS(SignalSynchronizationObjectFromGpu),
    HAS_LISTS(SignalSynchronizationObjectFromGpu2),
    HAS_LISTS(CreateKeyedMutex2),
    HAS_LISTS(OpenKeyedMutex2),
    HAS_LISTS(OpenKeyedMutexFromNtHandle),
    HAS_LISTS(AcquireKeyedMutex),
    HAS_LISTS(AcquireKeyedMutex2),
    HAS_LISTS(ReleaseKeyedMutex2),
#undef HAS_LISTS
};

static const struct {
    const char *name;
    uint32_t bytes;
} functions[D3DKMT_FN_COUNT] = {
#define FUNCTION(name_, type) [D3DKMT_FN_##name_] = {#name_, sizeof(type)},
    THUNK_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

const char *d3dkmt_function_name(unsigned function)
{
    return function < D3DKMT_FN_COUNT ? functions[function].name : NULL;
}

size_t thunk_structure_bytes(unsigned function)
{
    return function < D3DKMT_FN_COUNT ? functions[function].bytes : 0;
}

/*
 * Functions whose structure does not come back: it may lie in memory that the caller can only read.
 * That of EnumAdapters2 is const by its page, and has an answer all the same.
 */
static bool structure_comes_back(unsigned function)
{
    switch ((enum d3dkmt_function)function) {
    case D3DKMT_FN_CloseAdapter:
    case D3DKMT_FN_QueryAdapterInfo:
    case D3DKMT_FN_Escape:
    case D3DKMT_FN_DestroyDevice:
    case D3DKMT_FN_DestroyContext:
    case D3DKMT_FN_SetContextSchedulingPriority:
    case D3DKMT_FN_DestroyAllocation2:
    case D3DKMT_FN_Unlock2:
    case D3DKMT_FN_SetAllocationPriority:
    case D3DKMT_FN_ChangeVideoMemoryReservation:
    case D3DKMT_FN_OfferAllocations:
    case D3DKMT_FN_InvalidateCache:
    case D3DKMT_FN_FreeGpuVirtualAddress:
    case D3DKMT_FN_UpdateGpuVirtualAddress:
    case D3DKMT_FN_SubmitCommand:
    case D3DKMT_FN_DestroyHwQueue:
    case D3DKMT_FN_SubmitCommandToHwQueue:
    case D3DKMT_FN_SubmitWaitForSyncObjectsToHwQueue:
    case D3DKMT_FN_SubmitSignalSyncObjectsToHwQueue:
    case D3DKMT_FN_DestroySynchronizationObject:
    case D3DKMT_FN_DestroyKeyedMutex:
    case D3DKMT_FN_SignalSynchronizationObject:
    case D3DKMT_FN_SignalSynchronizationObject2:
    case D3DKMT_FN_SignalSynchronizationObjectFromCpu:
    case D3DKMT_FN_SignalSynchronizationObjectFromGpu:
    case D3DKMT_FN_SignalSynchronizationObjectFromGpu2:
    case D3DKMT_FN_WaitForSynchronizationObject:
    case D3DKMT_FN_WaitForSynchronizationObjectFromCpu:
    case D3DKMT_FN_WaitForSynchronizationObjectFromGpu:
        return false;
    default:
        return true;
    }
}

/* ---- The walk -------------------------------------------------------------------------------- */

enum task { MEASURE, WRITE, LINK, TAKE };

struct walk {
    enum task task;
    unsigned directions; /* which lists are in the message */
    uint8_t *at, *end;   /* WRITE: where the next list goes; LINK, TAKE: where it is */
    size_t bytes;        /* MEASURE */
};

static size_t rounded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static void *pointer_of(const uint8_t *structure, const struct list_row *row)
{
    void *pointer;

    memcpy(&pointer, structure + row->pointer, sizeof pointer);
    return pointer;
}

static void set_pointer(uint8_t *structure, const struct list_row *row, const void *pointer)
{
    memcpy(structure + row->pointer, &pointer, sizeof pointer);
}

static UINT count_of(const uint8_t *structure, const struct list_row *row)
{
    UINT count;

    if (row->is_single)
        return 1;
    memcpy(&count, structure + row->count, sizeof count);
    return !count && row->is_at_least_one ? 1 : count;
}

static bool is_value(const uint8_t *structure, const struct list_row *row)
{
    uint32_t flags;

    memcpy(&flags, structure + row->flags, sizeof flags);
    return flags & row->value_flag;
}

bool thunk_find_list(unsigned function, const void *arguments, unsigned index,
                     struct thunk_list *out_list)
{
    const struct list_row *row = function < D3DKMT_FN_COUNT ? lists_of[function] : NULL;

    for (row = row ? row : no_lists; row->element_bytes && index; row++)
        index--;
    if (!row->element_bytes)
        return false;
    *out_list = (struct thunk_list){
        .pointer = row->pointer,
        .elements = is_value(arguments, row) ? NULL : pointer_of(arguments, row),
        .element_bytes = row->element_bytes,
        .element = row->element,
        .goes_in = row->direction & GOES_IN,
        .goes_out = row->direction & GOES_OUT};
    out_list->count = out_list->elements ? count_of(arguments, row) : 0;
    return true;
}

/* The caller's pointers stay. False: the message has more than the caller has room for. */
static bool keep_pointers(uint8_t *taken, const uint8_t *callers, const struct list_row *rows)
{
    for (const struct list_row *row = rows; row->element_bytes; row++) {
        if (is_value(taken, row))
            continue;
        if (row->direction != GOES_NOWHERE && pointer_of(callers, row) &&
            count_of(taken, row) > count_of(callers, row))
            return false;
        set_pointer(taken, row, pointer_of(callers, row));
    }
    return true;
}

static bool take_elements(uint8_t *to, uint8_t *from, UINT count, const struct list_row *row)
{
    for (UINT i = 0; i < count; i++, to += row->element_bytes, from += row->element_bytes) {
        if (row->nested && !keep_pointers(from, to, row->nested))
            return false;
        memcpy(to, from, row->element_bytes);
    }
    return true;
}

/* Of a structure in a message: the other side learns which pointers there are, and no address. */
static void cut_pointers(uint8_t *structure, const struct list_row *rows)
{
    for (const struct list_row *row = rows; row->element_bytes; row++) {
        if (!is_value(structure, row))
            set_pointer(structure, row, (void *)(uintptr_t)(pointer_of(structure, row) != NULL));
    }
}

/* One list takes part in the message. */
static bool walk_list(struct walk *walk, uint8_t *structure, UINT count, const struct list_row *row)
{
    const size_t bytes = (size_t)count * row->element_bytes, room = rounded(bytes);
    uint8_t *memory = pointer_of(structure, row);
    uint8_t *at = walk->at;

    if (walk->task == MEASURE) {
        walk->bytes += room;
        return walk->bytes <= THUNK_MOST_BYTES;
    }
    if (room > (size_t)(walk->end - walk->at))
        return false;
    walk->at += room;
    if (walk->task == TAKE)
        return take_elements(memory, at, count, row);
    if (walk->task == LINK) {
        set_pointer(structure, row, at);
        return true;
    }
    memcpy(at, memory, bytes);
    memset(at + bytes, 0, room - bytes);
    for (UINT i = 0; row->nested && i < count; i++)
        cut_pointers(at + (size_t)i * row->element_bytes, row->nested);
    return true;
}

/* A list, then the lists of its elements, then the next list. */
static bool walk_lists(struct walk *walk, uint8_t *structure, const struct list_row *row)
{
    for (; row->element_bytes; row++) {
        const UINT count = count_of(structure, row);
        uint8_t *element;

        if (is_value(structure, row))
            continue;
        if (!pointer_of(structure, row) || !count || row->direction == GOES_NOWHERE) {
            if (walk->task == LINK)
                set_pointer(structure, row, NULL);
            continue;
        }
        if (count > THUNK_MOST_BYTES / row->element_bytes)
            return false;
        if ((walk->directions & row->direction) && !walk_list(walk, structure, count, row))
            return false;
        element = pointer_of(structure, row);
        for (UINT i = 0; row->nested && i < count; i++, element += row->element_bytes) {
            if (!walk_lists(walk, element, row->nested))
                return false;
        }
    }
    return true;
}

static const struct list_row *lists_of_function(unsigned function)
{
    return lists_of[function] ? lists_of[function] : no_lists;
}

/* ---- Messages -------------------------------------------------------------------------------- */

static size_t measure(unsigned function, const void *arguments, unsigned directions)
{
    struct walk walk = {.task = MEASURE, .directions = directions};

    if (function >= D3DKMT_FN_COUNT)
        return 0;
    walk.bytes = sizeof(struct thunk_header) + rounded(functions[function].bytes);
    return walk_lists(&walk, (uint8_t *)(uintptr_t)arguments, lists_of_function(function))
               ? walk.bytes
               : 0;
}

static bool pack(unsigned function, const void *arguments, unsigned directions, NTSTATUS status,
                 void *buffer, size_t bytes)
{
    const size_t structure = thunk_structure_bytes(function);
    const size_t first = sizeof(struct thunk_header) + rounded(structure);
    struct walk walk = {.task = WRITE, .directions = directions};
    struct thunk_header header = {
        .magic = THUNK_MAGIC, .function = function, .bytes = (uint32_t)bytes, .status = status};

    if (!structure || bytes < first || bytes > THUNK_MOST_BYTES || bytes % 8)
        return false;
    memcpy(buffer, &header, sizeof header);
    memset((uint8_t *)buffer + first - 8, 0, 8);
    memcpy((uint8_t *)buffer + sizeof header, arguments, structure);
    cut_pointers((uint8_t *)buffer + sizeof header, lists_of_function(function));
    walk.at = (uint8_t *)buffer + first;
    walk.end = (uint8_t *)buffer + bytes;
    return walk_lists(&walk, (uint8_t *)(uintptr_t)arguments, lists_of_function(function)) &&
           walk.at == walk.end;
}

static bool is_message(const void *message, size_t bytes, struct thunk_header *out_header)
{
    if (bytes < sizeof *out_header)
        return false;
    memcpy(out_header, message, sizeof *out_header);
    return out_header->magic == THUNK_MAGIC && out_header->bytes == bytes && bytes % 8 == 0 &&
           bytes <= THUNK_MOST_BYTES && out_header->function < D3DKMT_FN_COUNT &&
           bytes >= sizeof *out_header + rounded(functions[out_header->function].bytes);
}

size_t thunk_call_bytes(unsigned function, const void *arguments)
{
    return measure(function, arguments, GOES_IN);
}

bool thunk_pack_call(unsigned function, const void *arguments, void *buffer, size_t bytes)
{
    return pack(function, arguments, GOES_IN, 0, buffer, bytes);
}

bool thunk_open(void *message, size_t bytes, unsigned *out_function, void **out_arguments)
{
    struct walk walk = {.task = LINK, .directions = GOES_IN};
    struct thunk_header header;
    uint8_t *structure = (uint8_t *)message + sizeof header;

    if (!is_message(message, bytes, &header) || header.status)
        return false;
    walk.at = structure + rounded(functions[header.function].bytes);
    walk.end = (uint8_t *)message + bytes;
    if (!walk_lists(&walk, structure, lists_of_function(header.function)) || walk.at != walk.end)
        return false;
    *out_function = header.function;
    *out_arguments = structure;
    return true;
}

size_t thunk_answer_bytes(unsigned function, const void *arguments)
{
    return measure(function, arguments, GOES_OUT);
}

bool thunk_pack_answer(unsigned function, const void *arguments, NTSTATUS status, void *buffer,
                       size_t bytes)
{
    return pack(function, arguments, GOES_OUT, status, buffer, bytes);
}

bool thunk_take_answer(unsigned function, void *arguments, const void *message, size_t bytes,
                       NTSTATUS *out_status)
{
    struct walk walk = {.task = TAKE, .directions = GOES_OUT};
    const struct list_row *rows;
    struct thunk_header header;
    union {
        uint8_t bytes[sizeof(D3DKMT_QUERYSTATISTICS)]; /* the largest */
        uint64_t alignment;
    } taken;

    if (!is_message(message, bytes, &header) || header.function != function ||
        functions[function].bytes > sizeof taken.bytes)
        return false;
    rows = lists_of_function(function);
    memcpy(taken.bytes, (const uint8_t *)message + sizeof header, functions[function].bytes);
    walk.at = (uint8_t *)(uintptr_t)message + sizeof header + rounded(functions[function].bytes);
    walk.end = (uint8_t *)(uintptr_t)message + bytes;
    if (!keep_pointers(taken.bytes, arguments, rows) || !walk_lists(&walk, taken.bytes, rows) ||
        walk.at != walk.end)
        return false;
    if (structure_comes_back(function))
        memcpy(arguments, taken.bytes, functions[function].bytes);
    *out_status = header.status;
    return true;
}
