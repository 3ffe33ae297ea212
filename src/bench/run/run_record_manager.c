/*
 * One function a kind of note, in the order of vidmm/notes.h. The structures that a note points at
 * are the manager's and are gone behind the call: what is needed later is kept in objects,
 * submissions and parts.
 */
#include "bench/run/run_record_manager.h"

#include "base/bits.h"
#include "base/services.h"
#include "miniport/operation.h"
#include "vidmm/vidmm.h"

#include <drydock/sgpu.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE UINT64_C(4096)

/* The letters under which `pointers` has objects of the manager: all of them share one. */
#define POINTER ((enum trace_handle_kind)'x')

struct run_record_object {
    uint64_t number;     /* in the record */
    uint64_t instance;   /* of a renamed allocation; 0: the first */
    uint64_t process;    /* of a device or a native fence: its process */
    const char *why;     /* it leaves its place; NULL: it does not */
    uint64_t request;    /* ... for this one */
    uint32_t segment[2]; /* of its places, the newer one behind; plus one; 0: none */
    struct vidmm_noted_run *runs[2];
    unsigned run_counts[2];
};

struct run_record_submission {
    uint64_t number, context, request, time_ns;
    unsigned node;
    bool is_present;
    size_t reference_count;
    struct record_submission_group *references;
};

/* Bytes of an operation in a paging submission. */
struct run_record_part {
    uint64_t operation, paging;
    bool is_last;
};

#define FENCE_REQUESTS 64u

/* A native fence, or the paging fence of a device, which has the number of the device. */
struct run_record_fence {
    const void *paging; /* as packets name it that wait; NULL: a native fence */
    uint64_t number, value;
    bool is_told, has_value;
    bool has_home, is_in_system;
    uint64_t address; /* where the GPU writes the value, of system memory or its own */
    /* Requests whose end a value of a paging fence tells, by the value. */
    struct {
        uint64_t value, request;
    } requests[FENCE_REQUESTS];
};

/* Until a fence has a value: a process, on the CPU, or a packet. */
struct run_record_wait {
    uint64_t number, fence, value;
    bool is_for_paging;
    uint64_t noted;  /* number of the manager's notes; 0: there are none */
    uint64_t packet; /* 0: a process */
};

/* A literal of the manager's, as the number of a text. */
static uint64_t word(const struct run_record_manager *manager, const char *literal)
{
    return record_literal(manager->record->record, literal);
}

#define ITEM(manager, kind, ...)                                                                   \
    RECORD_ITEM((manager)->record->record, kind, run_record_now((manager)->record), __VA_ARGS__)

/* False: there is no memory; nothing has changed. */
static bool grow(void **array, size_t *room, size_t size)
{
    size_t larger = *room ? 2 * *room : 64;
    void *grown = realloc(*array, larger * size);

    if (!grown)
        return false;
    *array = grown;
    *room = larger;
    return true;
}

/*
 * A number of the manager's in the record. A manager that is raised again (restart) counts anew,
 * and goes on there.
 */
static uint64_t numbered(struct run_record_manager *manager, enum run_record_count count,
                         uint64_t number)
{
    if (!number)
        return 0;
    number += manager->bases[count];
    manager->last[count] = max_u64(manager->last[count], number);
    return number;
}

/* ---- Objects --------------------------------------------------------------------------------- */

/* NULL: it is not known, or there is no memory. */
static struct run_record_object *object_of(struct run_record_manager *manager, const void *pointer)
{
    uint64_t at = trace_handles_number(&manager->pointers, POINTER, pointer);

    if (!at)
        return NULL;
    while (at > manager->object_room) {
        size_t before = manager->object_room;

        if (!grow((void **)&manager->objects, &manager->object_room, sizeof *manager->objects))
            return NULL;
        memset(manager->objects + before, 0,
               (manager->object_room - before) * sizeof *manager->objects);
    }
    return &manager->objects[at - 1];
}

static uint64_t process_of(struct run_record_manager *manager, const struct vidmm_device *device)
{
    const struct run_record_object *object = device ? object_of(manager, device) : NULL;

    return object ? object->process : 0;
}

static uint64_t number_of(struct run_record_manager *manager, const void *pointer)
{
    const struct run_record_object *object = pointer ? object_of(manager, pointer) : NULL;

    return object ? object->number : 0;
}

/* The allocation, or the instance of it, that a note is about. */
static struct run_record_object *noted_object(struct run_record_manager *manager,
                                              const struct vidmm_noted_allocation *noted)
{
    return object_of(manager, noted->instance ? noted->instance : noted->named);
}

static const char *case_name(const struct run_record_manager *manager,
                             const struct vidmm_note_object *object)
{
    const struct workload *workload = manager->workload;
    uint64_t id;

    switch (object->kind) {
    case VIDMM_OBJECT_ALLOCATION:
        id = (uintptr_t)vidmm_allocation_cookie(object->object);
        if (!id)
            return "commands"; /* the buffer that a context's command buffers are in */
        return id <= workload->allocation_count
                   ? workload_allocation_name(workload, (uint32_t)(id - 1))
                   : "";
    case VIDMM_OBJECT_PROCESS: /* opened in the order of the case; one that is renewed has none */
        return manager->processes <= workload->process_count
                   ? workload->strings + workload->processes[manager->processes - 1].name
                   : "";
    case VIDMM_OBJECT_CONTEXT:
        return manager->contexts <= workload->context_count
                   ? workload->strings + workload->contexts[manager->contexts - 1].name
                   : "";
    default:
        return "";
    }
}

static const char *const types[VIDMM_OBJECT_KINDS] = {
    [VIDMM_OBJECT_PROCESS] = "process",           [VIDMM_OBJECT_DEVICE] = "device",
    [VIDMM_OBJECT_CONTEXT] = "context",           [VIDMM_OBJECT_ALLOCATION] = "allocation",
    [VIDMM_OBJECT_OWN_ALLOCATION] = "allocation", [VIDMM_OBJECT_BUFFER] = "allocation",
    [VIDMM_OBJECT_INSTANCE] = "allocation",       [VIDMM_OBJECT_NATIVE_FENCE] = "fence",
};

static const char letters[VIDMM_OBJECT_KINDS] = {
    [VIDMM_OBJECT_PROCESS] = TRACE_HANDLE_PROCESS,
    [VIDMM_OBJECT_DEVICE] = TRACE_HANDLE_DEVICE,
    [VIDMM_OBJECT_CONTEXT] = TRACE_HANDLE_CONTEXT,
    [VIDMM_OBJECT_ALLOCATION] = TRACE_HANDLE_ALLOCATION,
    [VIDMM_OBJECT_OWN_ALLOCATION] = TRACE_HANDLE_ALLOCATION,
    [VIDMM_OBJECT_BUFFER] = TRACE_HANDLE_ALLOCATION,
    [VIDMM_OBJECT_INSTANCE] = TRACE_HANDLE_ALLOCATION,
    [VIDMM_OBJECT_NATIVE_FENCE] = TRACE_HANDLE_FENCE,
};

static const char *parent_type(enum vidmm_object_kind kind)
{
    switch (kind) {
    case VIDMM_OBJECT_DEVICE:
    case VIDMM_OBJECT_NATIVE_FENCE:
        return "process";
    case VIDMM_OBJECT_PROCESS:
        return "";
    default:
        return "device";
    }
}

/* ---- Fences ---------------------------------------------------------------------------------- */

static struct run_record_fence *fence_of(struct run_record_manager *manager, bool is_paging,
                                         uint64_t number)
{
    for (size_t i = 0; number && i < manager->fence_count; i++) {
        struct run_record_fence *fence = &manager->fences[i];

        if (!fence->paging == !is_paging && fence->number == number)
            return fence;
    }
    return NULL;
}

static void add_fence(struct run_record_manager *manager, const void *paging, uint64_t number)
{
    if (!number || fence_of(manager, paging != NULL, number))
        return;
    if (manager->fence_count == manager->fence_room &&
        !grow((void **)&manager->fences, &manager->fence_room, sizeof *manager->fences))
        return;
    manager->fences[manager->fence_count++] =
        (struct run_record_fence){.paging = paging, .number = number, .is_told = !paging};
}

static uint64_t fence_type(const struct run_record_manager *manager, bool is_paging)
{
    return word(manager, is_paging ? "paging_fence" : "fence");
}

/* A paging fence is an object from when somebody waits for it, or it has a value. */
static void tell_fence(struct run_record_manager *manager, struct run_record_fence *fence)
{
    if (!fence->is_told)
        ITEM(manager, object, .type = fence_type(manager, true), .number = fence->number,
             .parent_type = word(manager, "device"), .parent = fence->number);
    fence->is_told = true;
}

static void fence_ends(struct run_record_manager *manager, bool is_paging, uint64_t number)
{
    struct run_record_fence *fence = fence_of(manager, is_paging, number);

    if (!fence)
        return;
    if (is_paging && fence->is_told)
        ITEM(manager, object_end, .type = fence_type(manager, true), .number = number);
    *fence = manager->fences[--manager->fence_count];
}

static void begin_wait(struct run_record_manager *manager, struct run_record_fence *fence,
                       const struct run_record_wait *begun, uint64_t process)
{
    struct run_record_wait *wait;

    if (manager->wait_count == manager->wait_room &&
        !grow((void **)&manager->waits, &manager->wait_room, sizeof *wait))
        return;
    tell_fence(manager, fence);
    wait = &manager->waits[manager->wait_count++];
    *wait = *begun;
    wait->number = ++manager->waits_begun;
    wait->fence = fence->number;
    wait->is_for_paging = fence->paging != NULL;
    ITEM(manager, fence_waits, .number = wait->number,
         .type = fence_type(manager, wait->is_for_paging), .fence = wait->fence,
         .value = wait->value, .waiter_type = word(manager, wait->packet ? "packet" : "process"),
         .waiter = wait->packet ? wait->packet : process);
}

/* The wait is over, and the last one has its place. */
static void end_wait(struct run_record_manager *manager, size_t at, NTSTATUS status)
{
    ITEM(manager, fence_wait_ends, .number = manager->waits[at].number, .status = (uint32_t)status);
    manager->waits[at] = manager->waits[--manager->wait_count];
}

/* A value that the fence has already is no news. Packets that wait for it go on. */
static void put_value(struct run_record_manager *manager, struct run_record_fence *fence,
                      uint64_t value, uint64_t packet, uint64_t request)
{
    if (fence->has_value && fence->value == value)
        return;
    tell_fence(manager, fence);
    fence->has_value = true;
    fence->value = value;
    ITEM(manager, fence_value, .fence = fence->number, .value = value,
         .type = fence_type(manager, fence->paging != NULL), .packet = packet, .request = request);
    for (size_t i = manager->wait_count; fence->paging && i-- > 0;) {
        const struct run_record_wait *wait = &manager->waits[i];

        if (wait->packet && wait->fence == fence->number && wait->value <= value)
            end_wait(manager, i, STATUS_SUCCESS);
    }
}

void run_record_manager_fence_written(struct run_record_manager *manager, unsigned node,
                                      uint64_t address, uint64_t value)
{
    bool is_in_system = (address & SGPU_PA_SYSTEM) != 0;

    if (!manager->record || !manager->record->record)
        return;
    for (size_t i = 0; i < manager->fence_count; i++) {
        struct run_record_fence *fence = &manager->fences[i];

        if (fence->has_home && fence->is_in_system == is_in_system &&
            fence->address == (address & ~SGPU_PA_SYSTEM)) {
            put_value(manager, fence, value, manager->record->running[node % RUN_RECORD_NODES], 0);
            return;
        }
    }
}

void run_record_manager_paging_wait(struct run_record_manager *manager,
                                    const struct vidmm_device *device, uint64_t value, bool is_over)
{
    struct run_record_fence *fence = manager->record && manager->record->record
                                         ? fence_of(manager, true, number_of(manager, device))
                                         : NULL;

    if (!fence)
        return;
    if (!is_over) {
        begin_wait(manager, fence, &(struct run_record_wait){.value = value},
                   process_of(manager, device));
        return;
    }
    /* The GPU has written it; the manager may learn of that later. */
    if (fence->value < value)
        put_value(manager, fence, value, 0,
                  fence->requests[value % FENCE_REQUESTS].value == value
                      ? fence->requests[value % FENCE_REQUESTS].request
                      : 0);
    for (size_t i = manager->wait_count; i-- > 0;) {
        const struct run_record_wait *wait = &manager->waits[i];

        if (!wait->packet && wait->is_for_paging && wait->fence == fence->number &&
            wait->value == value)
            end_wait(manager, i, STATUS_SUCCESS);
    }
}

static void note_fence_value(struct run_record_manager *manager,
                             const struct vidmm_note_fence *noted)
{
    uint64_t number =
        noted->fence ? number_of(manager, noted->fence) : number_of(manager, noted->device);
    struct run_record_fence *fence = fence_of(manager, !noted->fence, number);

    if (fence)
        put_value(manager, fence, noted->value, 0,
                  numbered(manager, RUN_RECORD_REQUESTS, noted->request));
}

static void note_fence_waits(struct run_record_manager *manager,
                             const struct vidmm_note_fence_wait *noted)
{
    const struct run_record_object *object = object_of(manager, noted->fence);
    struct run_record_fence *fence = object ? fence_of(manager, false, object->number) : NULL;

    if (fence)
        begin_wait(manager, fence,
                   &(struct run_record_wait){.value = noted->value, .noted = noted->number},
                   object->process);
}

static void note_fence_wait_ends(struct run_record_manager *manager,
                                 const struct vidmm_note_fence_wait *noted)
{
    for (size_t i = 0; i < manager->wait_count; i++) {
        if (manager->waits[i].noted == noted->number) {
            end_wait(manager, i, noted->status);
            return;
        }
    }
}

/* A packet is queued that waits for a paging fence, unless that has the value. */
static void note_packet_waits(struct run_record_manager *manager, uint64_t packet,
                              const struct vidmm_note_packet *noted)
{
    for (size_t i = 0; i < manager->fence_count; i++) {
        struct run_record_fence *fence = &manager->fences[i];

        if (fence->paging != noted->wait_fence)
            continue;
        if (fence->value < noted->wait_value)
            begin_wait(manager, fence,
                       &(struct run_record_wait){.value = noted->wait_value, .packet = packet}, 0);
        return;
    }
}

/* The packet does not wait any more, whatever the fence has. */
static void end_packet_wait(struct run_record_manager *manager, uint64_t packet, NTSTATUS status)
{
    for (size_t i = manager->wait_count; i-- > 0;) {
        if (manager->waits[i].packet == packet)
            end_wait(manager, i, status);
    }
}

/* Where the driver is told that values of fences are. */
static void note_homes(struct run_record_manager *manager,
                       const DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice)
{
    for (UINT i = 0; i < notice->NumFences; i++) {
        const DXGK_FENCE_RESIDENCY_INFO *info = &notice->FenceResidencyInfo[i];
        const D3DGPU_PHYSICAL_ADDRESS *place = &info->CurrentValuePhysicalAddress;
        struct run_record_fence *fence = fence_of(
            manager, false,
            run_record_number(manager->record, TRACE_HANDLE_FENCE, info->hGlobalNativeFence));

        if (!fence)
            continue;
        fence->has_home = true;
        fence->is_in_system = !place->SegmentId;
        fence->address = place->SegmentOffset;
        if (place->SegmentId && place->SegmentId < RUN_RECORD_SEGMENTS)
            fence->address += manager->segment_bases[place->SegmentId];
    }
}

/* ---- Objects that come and go ---------------------------------------------------------------- */

/*
 * What the driver has been asked to make has an item from that call, and gets its name here. What
 * it has not made, or has asked the manager for, has its item here.
 */
static void note_object(struct run_record_manager *manager, const struct vidmm_note_object *noted)
{
    struct run_record_object *object = object_of(manager, noted->object);
    uint64_t parent = number_of(manager, noted->parent), name;
    bool is_new = false;

    if (!object)
        return;
    *object = (struct run_record_object){0};
    manager->processes += noted->kind == VIDMM_OBJECT_PROCESS;
    manager->contexts += noted->kind == VIDMM_OBJECT_CONTEXT;
    if (noted->kind == VIDMM_OBJECT_INSTANCE) {
        object->number = parent;
        object->instance = ++manager->instances;
        return;
    }
    object->number = run_record_number(manager->record, letters[noted->kind], noted->driver_handle);
    if (!object->number &&
        (noted->kind == VIDMM_OBJECT_BUFFER || noted->kind == VIDMM_OBJECT_OWN_ALLOCATION))
        object->number = RUN_RECORD_OWN_NUMBERS + ++manager->buffers;
    else if (!object->number && noted->kind == VIDMM_OBJECT_PROCESS)
        object->number = manager->processes;
    if (noted->kind == VIDMM_OBJECT_DEVICE || noted->kind == VIDMM_OBJECT_NATIVE_FENCE)
        object->process = parent;
    if (!object->number)
        return;
    if (noted->kind == VIDMM_OBJECT_DEVICE || noted->kind == VIDMM_OBJECT_NATIVE_FENCE)
        add_fence(manager, noted->paging_fence, object->number);
    is_new = !noted->driver_handle || noted->kind == VIDMM_OBJECT_OWN_ALLOCATION;
    name = noted->kind == VIDMM_OBJECT_BUFFER ? word(manager, "DMA buffer")
           : noted->kind == VIDMM_OBJECT_OWN_ALLOCATION
               ? word(manager, "context allocation")
               : record_text(manager->record->record, case_name(manager, noted));
    if (is_new)
        ITEM(manager, object, .type = word(manager, types[noted->kind]), .number = object->number,
             .parent_type = word(manager, parent_type(noted->kind)), .parent = parent, .name = name,
             .bytes = noted->bytes);
    else
        ITEM(manager, named, .type = word(manager, types[noted->kind]), .number = object->number,
             .parent_type = word(manager, parent_type(noted->kind)), .parent = parent,
             .name = name);
}

uint64_t run_record_manager_process(struct run_record_manager *manager,
                                    const struct vidmm_process *process, const char *name)
{
    const uint64_t number =
        manager->record && manager->record->record ? number_of(manager, process) : 0;

    if (number)
        ITEM(manager, named, .type = word(manager, "process"), .number = number,
             .name = record_text(manager->record->record, name));
    return number;
}

static void note_object_ends(struct run_record_manager *manager,
                             const struct vidmm_note_object *noted)
{
    struct run_record_object *object = object_of(manager, noted->object);

    if (object && object->number && !noted->driver_handle && noted->kind != VIDMM_OBJECT_INSTANCE)
        ITEM(manager, object_end, .type = word(manager, types[noted->kind]),
             .number = object->number);
    if (object && (noted->kind == VIDMM_OBJECT_DEVICE || noted->kind == VIDMM_OBJECT_NATIVE_FENCE))
        fence_ends(manager, noted->kind == VIDMM_OBJECT_DEVICE, object->number);
    for (unsigned i = 0; object && i < 2; i++)
        free(object->runs[i]);
    if (object)
        *object = (struct run_record_object){0};
    trace_handles_forget(&manager->pointers, POINTER, noted->object);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static struct run_record_submission *submission_of(struct run_record_manager *manager,
                                                   uint64_t number)
{
    for (size_t i = 0; number && i < manager->submission_count; i++) {
        if (manager->submissions[i].number == number)
            return &manager->submissions[i];
    }
    return NULL;
}

#define FEW 64u

static void note_request(struct run_record_manager *manager, const struct vidmm_note_request *noted)
{
    struct run_record_submission *submission = submission_of(manager, noted->submission);
    struct run_record_fence *fence =
        noted->fence_value ? fence_of(manager, true, number_of(manager, noted->device)) : NULL;
    size_t count = noted->allocations && !submission ? noted->count : 0;
    struct record_request_group few[FEW], *groups = few;

    if (submission)
        submission->request = numbered(manager, RUN_RECORD_REQUESTS, noted->number);
    if (fence) {
        fence->requests[noted->fence_value % FENCE_REQUESTS].value = noted->fence_value;
        fence->requests[noted->fence_value % FENCE_REQUESTS].request =
            numbered(manager, RUN_RECORD_REQUESTS, noted->number);
    }
    if (count > FEW)
        groups = malloc(count * sizeof *groups);
    if (!groups)
        count = 0;
    for (size_t i = 0; i < count; i++)
        groups[i].allocation = number_of(manager, noted->allocations[i]);
    RECORD_ITEM_WITH(manager->record->record, request, run_record_now(manager->record), groups,
                     count, .number = numbered(manager, RUN_RECORD_REQUESTS, noted->number),
                     .process = process_of(manager, noted->device),
                     .context = submission ? submission->context : 0, .allocations = noted->count,
                     .why = word(manager, vidmm_request_name(noted->kind)),
                     .submission = numbered(manager, RUN_RECORD_SUBMISSIONS, noted->submission),
                     .fence_value = noted->fence_value, .at_once = noted->at_once);
    if (groups != few)
        free(groups);
}

static void note_request_waits(struct run_record_manager *manager,
                               const struct vidmm_note_request_waits *noted)
{
    const char *type = "";
    uint64_t object = 0;

    switch (noted->wait) {
    case VIDMM_WAIT_REQUEST:
        type = "request";
        object = numbered(manager, RUN_RECORD_REQUESTS, noted->request);
        break;
    case VIDMM_WAIT_TURN:
        type = "process";
        object = number_of(manager, noted->process);
        break;
    case VIDMM_WAIT_DEPARTURE:
    case VIDMM_WAIT_LOCK:
        type = "allocation";
        object = number_of(manager, noted->allocation.named);
        break;
    case VIDMM_WAIT_ROOM:
    case VIDMM_WAIT_TABLES:
    case VIDMM_WAIT_COMPACTION:
        type = "segment";
        object = noted->segment;
        break;
    default:
        break;
    }
    ITEM(manager, request_waits, .number = numbered(manager, RUN_RECORD_REQUESTS, noted->number),
         .reason = word(manager, vidmm_wait_name(noted->wait)), .object_type = word(manager, type),
         .object = object);
}

static void note_victim(struct run_record_manager *manager, const struct vidmm_note_victim *noted)
{
    char why[160];

    /* In the policy's words: which group, and how it won. */
    snprintf(why, sizeof why, "%s: %s%s", noted->reason,
             noted->group == VIDMM_VICTIM_PRIORITY ? "lowest priority, " : "",
             noted->compared > 1                    ? noted->policy
             : noted->group == VIDMM_VICTIM_OFFERED ? "first offered"
                                                    : "least recently used");
    ITEM(manager, victim, .request = numbered(manager, RUN_RECORD_REQUESTS, noted->request),
         .allocation = number_of(manager, noted->allocation.named), .segment = noted->segment,
         .why = record_text(manager->record->record, why), .rank = noted->passed_over + 1,
         .last_use = noted->last_use);
}

/* ---- Places ---------------------------------------------------------------------------------- */

static void note_departs(struct run_record_manager *manager, const struct vidmm_note_departs *noted)
{
    struct run_record_object *object = noted_object(manager, &noted->allocation);

    if (!object)
        return;
    object->why = noted->reason;
    object->request = numbered(manager, RUN_RECORD_REQUESTS, noted->request);
    ITEM(manager, departs, .allocation = object->number, .instance = object->instance,
         .segment = noted->segment, .why = word(manager, noted->reason),
         .request = object->request);
}

static void note_placed(struct run_record_manager *manager, const struct vidmm_note_place *noted)
{
    struct run_record_object *object = noted_object(manager, &noted->allocation);
    const struct vidmm_noted_run whole = {0, noted->bytes / PAGE};
    const struct vidmm_noted_run *runs = noted->run_count ? noted->runs : &whole;
    unsigned count = noted->run_count ? noted->run_count : 1;
    unsigned place;

    if (!object)
        return;
    place = object->segment[0] ? 1 : 0;
    object->segment[place] = noted->segment + 1;
    free(object->runs[place]);
    object->runs[place] = malloc(count * sizeof *runs);
    object->run_counts[place] = object->runs[place] ? count : 0;
    if (object->runs[place])
        memcpy(object->runs[place], runs, count * sizeof *runs);
    for (unsigned i = 0; i < count; i++)
        ITEM(manager, placed, .allocation = object->number, .instance = object->instance,
             .segment = noted->segment, .offset = runs[i].first_page * PAGE,
             .bytes = runs[i].page_count * PAGE,
             .why = word(manager, vidmm_place_reason_name(noted->reason)),
             .request = numbered(manager, RUN_RECORD_REQUESTS, noted->request));
}

static bool is_place(const struct run_record_object *object, unsigned place,
                     const struct vidmm_note_place *noted)
{
    return object->segment[place] == noted->segment + 1 &&
           (!noted->run_count || !object->runs[place] ||
            object->runs[place][0].first_page == noted->runs[0].first_page);
}

/* Why it left, as its departure has said; what is destroyed or lost has none. */
static const char *why_left(const struct run_record_object *object,
                            const struct vidmm_note_place *noted)
{
    bool has_departed = noted->reason == VIDMM_LEFT_EVICTED ||
                        noted->reason == VIDMM_LEFT_DROPPED || noted->reason == VIDMM_LEFT_MOVED;

    return has_departed && object->why ? object->why : vidmm_place_reason_name(noted->reason);
}

static void note_left(struct run_record_manager *manager, const struct vidmm_note_place *noted)
{
    struct run_record_object *object = noted_object(manager, &noted->allocation);
    const struct vidmm_noted_run whole = {0, noted->bytes / PAGE};
    const struct vidmm_noted_run *runs = noted->run_count ? noted->runs : &whole;
    unsigned count = noted->run_count ? noted->run_count : 1;
    const char *why;

    if (!object)
        return;
    why = why_left(object, noted);
    for (unsigned i = 0; i < count; i++)
        ITEM(manager, left, .allocation = object->number, .instance = object->instance,
             .segment = noted->segment, .offset = runs[i].first_page * PAGE,
             .bytes = runs[i].page_count * PAGE, .why = word(manager, why),
             .request = why == object->why ? object->request : 0);
    object->why = NULL;
    object->request = 0;
    if (is_place(object, 0, noted)) {
        free(object->runs[0]);
        object->segment[0] = object->segment[1];
        object->runs[0] = object->runs[1];
        object->run_counts[0] = object->run_counts[1];
    } else {
        free(object->runs[1]);
    }
    object->segment[1] = 0;
    object->runs[1] = NULL;
    object->run_counts[1] = 0;
}

/* ---- Operations ------------------------------------------------------------------------------ */

/* The byte of the segment where a byte of the allocation lies; *segment 0: in system memory. */
static uint64_t offset_in(const struct run_record_object *object, unsigned place, uint64_t byte,
                          uint64_t *segment)
{
    uint64_t page = byte / PAGE;

    *segment = object->segment[place] ? object->segment[place] - 1 : 0;
    for (unsigned i = 0; *segment && i < object->run_counts[place]; i++) {
        const struct vidmm_noted_run *run = &object->runs[place][i];

        if (page < run->page_count)
            return (run->first_page + page) * PAGE + byte % PAGE;
        page -= run->page_count;
    }
    return 0;
}

/*
 * From where to where. Addresses in page tables are those of the paging process, which lead where
 * the job moves the allocation: in, out, or from one place to the other.
 */
static void find_place(const struct run_record_manager *manager,
                       const struct run_record_object *object, struct miniport_place place,
                       const char *job, bool is_source, uint64_t byte, uint64_t *segment,
                       uint64_t *offset)
{
    bool is_in, is_move;

    *segment = place.segment;
    *offset = place.segment ? place.address : 0;
    switch (place.kind) {
    case MINIPORT_PLACE_ADDRESS:
        if (place.segment && place.segment < RUN_RECORD_SEGMENTS)
            *offset -= manager->segment_bases[place.segment];
        break;
    case MINIPORT_PLACE_SLOT:
        *offset *= PAGE;
        break;
    case MINIPORT_PLACE_VIRTUAL:
        *segment = *offset = 0;
        is_in = !strcmp(job, "enter");
        is_move = !strcmp(job, "move");
        if (object && is_move)
            *offset = offset_in(object, is_source ? 0 : 1, byte, segment);
        else if (object && is_in != is_source)
            *offset = offset_in(object, 0, byte, segment);
        break;
    default:
        *segment = *offset = 0;
        break;
    }
}

static void note_operation(struct run_record_manager *manager,
                           const struct vidmm_note_operation *noted)
{
    const DXGKARG_BUILDPAGINGBUFFER *arguments = noted->arguments;
    const struct run_record_object *object =
        noted->allocation.named ? noted_object(manager, &noted->allocation) : NULL;
    const char *job = noted->job_name ? noted->job_name : "";
    struct record_operation item = {
        .number = numbered(manager, RUN_RECORD_OPERATIONS, noted->number),
        .job = numbered(manager, RUN_RECORD_JOBS, noted->job),
        .name = word(manager, miniport_operation_name((unsigned)arguments->Operation)),
        .process = number_of(manager, noted->process),
        .bytes = miniport_operation_bytes(arguments),
    };
    uint64_t byte = miniport_operation_offset(arguments);

    item.allocation = object ? object->number
                             : run_record_number(manager->record, TRACE_HANDLE_ALLOCATION,
                                                 miniport_operation_allocation(arguments));
    if (arguments->Operation == DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY)
        note_homes(manager, &arguments->NotifyFenceResidency);
    find_place(manager, object, miniport_operation_source(arguments), job, true, byte,
               &item.from_segment, &item.from_offset);
    find_place(manager, object, miniport_operation_destination(arguments), job, false, byte,
               &item.to_segment, &item.to_offset);
    record_item(manager->record->record, RECORD_KIND_operation, run_record_now(manager->record),
                (const uint64_t *)&item, sizeof item / sizeof(uint64_t));
    if (!noted->job)
        ITEM(manager, operation_retired,
             .number = numbered(manager, RUN_RECORD_OPERATIONS, noted->number));
}

static struct run_record_part *last_part(const struct run_record_manager *manager,
                                         uint64_t operation)
{
    struct run_record_part *part;

    if (manager->part_end == manager->part_first)
        return NULL;
    part = &manager->parts[manager->part_end - 1];
    return part->operation == operation ? part : NULL;
}

static void add_part(struct run_record_manager *manager, const struct run_record_part *part)
{
    if (manager->part_first && manager->part_end == manager->part_room) {
        memmove(manager->parts, manager->parts + manager->part_first,
                (manager->part_end - manager->part_first) * sizeof *part);
        manager->part_end -= manager->part_first;
        manager->part_first = 0;
    }
    if (manager->part_end == manager->part_room &&
        !grow((void **)&manager->parts, &manager->part_room, sizeof *part))
        return;
    manager->parts[manager->part_end++] = *part;
}

static void note_built(struct run_record_manager *manager,
                       const struct vidmm_note_operation_built *noted)
{
    struct run_record_part *part;

    ITEM(manager, operation_built,
         .number = numbered(manager, RUN_RECORD_OPERATIONS, noted->number), .buffer = noted->buffer,
         .offset = noted->offset, .bytes = noted->bytes, .passes = 1,
         .status = (uint32_t)noted->status, .is_complete = noted->is_complete);
    if (noted->bytes) {
        add_part(manager, &(struct run_record_part){
                              .operation = numbered(manager, RUN_RECORD_OPERATIONS, noted->number),
                              .paging = noted->paging,
                              .is_last = noted->is_complete});
        return;
    }
    if (!noted->is_complete)
        return;
    part = last_part(manager, numbered(manager, RUN_RECORD_OPERATIONS, noted->number));
    if (part)
        part->is_last = true;
    else /* no commands, or none that have still to run */
        ITEM(manager, operation_retired,
             .number = numbered(manager, RUN_RECORD_OPERATIONS, noted->number));
}

/* The adapter was reset: what has been built is gone. */
static void note_job_ends(struct run_record_manager *manager, const struct vidmm_note_job *noted)
{
    ITEM(manager, job_ends, .number = numbered(manager, RUN_RECORD_JOBS, noted->number),
         .is_lost = noted->is_lost);
    if (noted->is_lost)
        manager->part_first = manager->part_end = 0;
}

static void note_entries(struct run_record_manager *manager, const struct vidmm_note_entries *noted)
{
    ITEM(manager, entries, .covers = noted->entry_bytes,
         .operation = numbered(manager, RUN_RECORD_OPERATIONS, noted->operation),
         .process = number_of(manager, noted->process), .level = noted->level, .va = noted->va,
         .count = noted->count, .segment = noted->segment, .offset = noted->offset,
         .stride = (uint64_t)noted->stride, .flags = noted->flags, .valid = noted->is_valid,
         .scattered = noted->is_scattered);
}

/* ---- Submissions and packets ----------------------------------------------------------------- */

static void note_submission(struct run_record_manager *manager,
                            const struct vidmm_note_submission *noted)
{
    struct run_record_submission submission = {
        .number = noted->number,
        .context = number_of(manager, noted->context),
        .time_ns = run_record_now(manager->record),
        .node = noted->node,
        .is_present = noted->is_present,
    };

    if (manager->submission_count == manager->submission_room &&
        !grow((void **)&manager->submissions, &manager->submission_room, sizeof submission))
        return;
    if (noted->reference_count)
        submission.references = malloc(noted->reference_count * sizeof *submission.references);
    for (unsigned i = 0; submission.references && i < noted->reference_count; i++) {
        const struct vidmm_reference *reference = &noted->references[i];

        if (reference->allocation)
            submission.references[submission.reference_count++] = (struct record_submission_group){
                .allocation = number_of(manager, reference->allocation),
                .is_write = reference->is_written};
    }
    manager->submissions[manager->submission_count++] = submission;
}

static void put_submission(struct run_record_manager *manager,
                           const struct run_record_submission *submission, uint32_t fence,
                           uint64_t packet)
{
    RECORD_ITEM_WITH(manager->record->record, submission, submission->time_ns,
                     submission->references, submission->reference_count,
                     .number = numbered(manager, RUN_RECORD_SUBMISSIONS, submission->number),
                     .context = submission->context, .node = submission->node, .fence = fence,
                     .request = submission->request, .packet = packet);
    free(submission->references);
}

/* It goes to the driver, or ends before. */
static void settle_submission(struct run_record_manager *manager,
                              const struct vidmm_note_packet *noted)
{
    struct run_record_submission *submission = submission_of(manager, noted->subject);

    if (!submission)
        return;
    put_submission(manager, submission, noted->fence_id,
                   numbered(manager, RUN_RECORD_PACKETS_QUEUED, noted->number));
    *submission = manager->submissions[--manager->submission_count];
}

static const char *packet_type(struct run_record_manager *manager,
                               const struct vidmm_note_packet *noted)
{
    const struct run_record_submission *submission;

    if (noted->kind != VIDMM_PACKET_SUBMISSION)
        return vidmm_packet_name(noted->kind);
    submission = submission_of(manager, noted->subject);
    return submission && submission->is_present ? "present" : "render";
}

/* So many operations follow `number` in a row of them that is to become one item. */
struct operation_row {
    uint64_t number, more;
};

/* True, and the row is longer: the operation is the next one behind it. */
static bool is_behind(struct operation_row *row, uint64_t operation)
{
    if (!row->number || operation != row->number + row->more + 1 || row->more == RECORD_MORE_MOST)
        return false;
    row->more++;
    return true;
}

static void put_retired(struct run_record_manager *manager, const struct operation_row *row)
{
    if (row->number)
        ITEM(manager, operation_retired, .number = row->number, .more = row->more);
}

static void put_in_packet(struct run_record_manager *manager, const struct operation_row *row,
                          uint64_t packet)
{
    if (row->number)
        ITEM(manager, operation_packet, .number = row->number, .packet = packet, .more = row->more);
}

/* The operations that have parts in this paging submission. */
static void note_in_packet(struct run_record_manager *manager, uint64_t paging, uint64_t packet)
{
    struct operation_row row = {0};

    for (size_t i = manager->part_first; i < manager->part_end; i++) {
        const struct run_record_part *part = &manager->parts[i];

        if (part->paging != paging || is_behind(&row, part->operation))
            continue;
        put_in_packet(manager, &row, packet);
        row = (struct operation_row){.number = part->operation};
    }
    put_in_packet(manager, &row, packet);
}

/* All parts up to this paging submission have run, or have failed with it. */
static void retire_parts(struct run_record_manager *manager, uint64_t paging)
{
    struct operation_row row = {0};

    while (manager->part_first < manager->part_end &&
           manager->parts[manager->part_first].paging <= paging) {
        const struct run_record_part *part = &manager->parts[manager->part_first++];

        if (!part->is_last || is_behind(&row, part->operation))
            continue;
        put_retired(manager, &row);
        row = (struct operation_row){.number = part->operation};
    }
    put_retired(manager, &row);
}

static void note_packet(struct run_record_manager *manager, const struct vidmm_note_packet *noted)
{
    uint64_t number = numbered(manager, RUN_RECORD_PACKETS_QUEUED, noted->number);

    switch (noted->step) {
    case VIDMM_PACKET_QUEUED:
        run_record_packet(
            manager->record, number, packet_type(manager, noted),
            run_record_number(manager->record, TRACE_HANDLE_CONTEXT, noted->driver_context),
            noted->node, 0, noted->bytes);
        if (noted->wait_fence)
            note_packet_waits(manager, number, noted);
        if (noted->kind == VIDMM_PACKET_PAGING)
            note_in_packet(manager, noted->subject, number);
        break;
    case VIDMM_PACKET_SUBMITTED:
        end_packet_wait(manager, number, STATUS_SUCCESS);
        run_record_packet_submitted(manager->record, number, noted->node, noted->fence_id);
        if (noted->kind == VIDMM_PACKET_SUBMISSION)
            settle_submission(manager, noted);
        break;
    case VIDMM_PACKET_CAME_BACK:
        ITEM(manager, packet_returns, .number = number);
        break;
    case VIDMM_PACKET_RETIRED:
        end_packet_wait(manager, number, noted->status);
        ITEM(manager, packet_retired, .number = number, .status = (uint32_t)noted->status,
             .queue_depth = noted->queue_depth);
        if (noted->kind == VIDMM_PACKET_SUBMISSION)
            settle_submission(manager, noted);
        if (noted->kind == VIDMM_PACKET_PAGING)
            retire_parts(manager, noted->subject);
        break;
    default:
        break;
    }
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* What is known of the objects and of unfinished work of a manager. */
static void forget(struct run_record_manager *manager)
{
    for (size_t i = 0; i < manager->submission_count; i++)
        put_submission(manager, &manager->submissions[i], 0, 0);
    for (size_t i = 0; i < manager->object_room; i++) {
        free(manager->objects[i].runs[0]);
        free(manager->objects[i].runs[1]);
    }
    free(manager->submissions);
    free(manager->objects);
    free(manager->parts);
    free(manager->fences);
    free(manager->waits);
    trace_handles_fini(&manager->pointers);
}

void run_record_manager_init(struct run_record_manager *manager, struct run_record *record,
                             const struct workload *workload)
{
    struct run_record_manager former = *manager;

    if (former.record) {
        run_record_stage(record, "restart");
        forget(&former);
    }
    *manager = (struct run_record_manager){.record = record,
                                           .workload = workload,
                                           .buffers = former.buffers,
                                           .instances = former.instances,
                                           .waits_begun = former.waits_begun};
    memcpy(manager->bases, former.last, sizeof manager->bases);
    memcpy(manager->last, former.last, sizeof manager->last);
    trace_handles_init(&manager->pointers, base_services_libc());
}

void run_record_manager_fini(struct run_record_manager *manager)
{
    if (manager->record)
        forget(manager);
    *manager = (struct run_record_manager){.record = NULL};
}

void run_record_manager_segment(struct run_record_manager *manager,
                                const struct vidmm_segment_info *segment)
{
    if (segment->id < RUN_RECORD_SEGMENTS)
        manager->segment_bases[segment->id] = segment->base;
    if (manager->record->record)
        ITEM(manager, object, .type = word(manager, "segment"), .number = segment->id,
             .name = word(manager, segment->is_aperture ? "aperture" : "local memory"),
             .bytes = segment->size);
}

void run_record_manager_note(void *context, const struct vidmm_note *note)
{
    struct run_record_manager *manager = context;

    switch (note->kind) {
    case VIDMM_NOTE_OBJECT:
        note_object(manager, &note->object);
        break;
    case VIDMM_NOTE_OBJECT_ENDS:
        note_object_ends(manager, &note->object);
        break;
    case VIDMM_NOTE_REQUEST:
        note_request(manager, &note->request);
        break;
    case VIDMM_NOTE_REQUEST_WAITS:
        note_request_waits(manager, &note->request_waits);
        break;
    case VIDMM_NOTE_REQUEST_BEGINS:
        ITEM(manager, request_begins,
             .number = numbered(manager, RUN_RECORD_REQUESTS, note->request_begins.number));
        break;
    case VIDMM_NOTE_REQUEST_ENDS:
        ITEM(manager, request_ends,
             .number = numbered(manager, RUN_RECORD_REQUESTS, note->request_ends.number),
             .status = (uint32_t)note->request_ends.status);
        break;
    case VIDMM_NOTE_GIVEN_UP:
        ITEM(manager, given_up, .process = process_of(manager, note->given_up.device),
             .allocations = note->given_up.count);
        break;
    case VIDMM_NOTE_VICTIM:
        note_victim(manager, &note->victim);
        break;
    case VIDMM_NOTE_OFFER:
        ITEM(manager, offer, .allocation = number_of(manager, note->offer.allocation.named),
             .is_offered = note->offer.is_offered, .priority = note->offer.priority);
        break;
    case VIDMM_NOTE_BUDGET:
        ITEM(manager, budget, .process = number_of(manager, note->budget.process),
             .group = note->budget.group, .bytes = note->budget.bytes);
        break;
    case VIDMM_NOTE_TRIM:
        ITEM(manager, trim, .process = number_of(manager, note->budget.process),
             .group = note->budget.group, .bytes = note->budget.bytes);
        break;
    case VIDMM_NOTE_DEPARTS:
        note_departs(manager, &note->departs);
        break;
    case VIDMM_NOTE_PLACED:
        note_placed(manager, &note->place);
        break;
    case VIDMM_NOTE_LEFT:
        note_left(manager, &note->place);
        break;
    case VIDMM_NOTE_STATE: {
        const struct run_record_object *object = noted_object(manager, &note->state.allocation);

        if (object)
            ITEM(manager, allocation_state, .allocation = object->number,
                 .instance = object->instance,
                 .state = word(manager, vidmm_state_name(note->state.state)));
        break;
    }
    case VIDMM_NOTE_RANGE:
        ITEM(manager, range, .segment = note->range.segment, .offset = note->range.offset,
             .bytes = note->range.bytes, .use = word(manager, vidmm_range_name(note->range.use)),
             .is_taken = note->range.is_taken);
        break;
    case VIDMM_NOTE_SAMPLE:
        ITEM(manager, sample, .segment = note->sample.segment, .resident = note->sample.resident,
             .free = note->sample.free, .committed = note->sample.committed,
             .demand = note->sample.demand, .leaving = note->sample.leaving,
             .doomed = note->sample.doomed, .tables = note->sample.tables);
        break;
    case VIDMM_NOTE_MAPPING:
        ITEM(manager, mapping, .process = number_of(manager, note->mapping.process),
             .allocation = number_of(manager, note->mapping.allocation), .va = note->mapping.va,
             .bytes = note->mapping.bytes, .offset = note->mapping.offset,
             .is_mapped = note->mapping.is_mapped);
        break;
    case VIDMM_NOTE_FENCE_VALUE:
        note_fence_value(manager, &note->fence);
        break;
    case VIDMM_NOTE_FENCE_WAITS:
        note_fence_waits(manager, &note->fence_wait);
        break;
    case VIDMM_NOTE_FENCE_WAIT_ENDS:
        note_fence_wait_ends(manager, &note->fence_wait);
        break;
    case VIDMM_NOTE_JOB: {
        const struct run_record_object *object =
            note->job.allocation.named ? noted_object(manager, &note->job.allocation) : NULL;

        ITEM(manager, job, .number = numbered(manager, RUN_RECORD_JOBS, note->job.number),
             .name = word(manager, note->job.name), .allocation = object ? object->number : 0,
             .instance = object ? object->instance : 0,
             .request = numbered(manager, RUN_RECORD_REQUESTS, note->job.request));
        break;
    }
    case VIDMM_NOTE_JOB_ENDS:
        note_job_ends(manager, &note->job);
        break;
    case VIDMM_NOTE_QUEUE_WAITS:
        ITEM(manager, queue_waits,
             .reason = word(manager, vidmm_queue_wait_name(note->queue_waits.wait)),
             .job = numbered(manager, RUN_RECORD_JOBS, note->queue_waits.job));
        break;
    case VIDMM_NOTE_OPERATION:
        note_operation(manager, &note->operation);
        break;
    case VIDMM_NOTE_OPERATION_BUILT:
        note_built(manager, &note->built);
        break;
    case VIDMM_NOTE_ENTRIES:
        note_entries(manager, &note->entries);
        break;
    case VIDMM_NOTE_SUBMISSION:
        note_submission(manager, &note->submission);
        break;
    case VIDMM_NOTE_PACKET:
        note_packet(manager, &note->packet);
        break;
    case VIDMM_NOTE_LIST:
    case VIDMM_NOTE_KINDS:
        break;
    }
}
