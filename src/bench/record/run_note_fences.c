/*
 * Notes of fences: values, and who waits for them.
 */
#include "bench/record/run_note_private.h"

#include <drydock/sgpu.h>

struct run_record_fence *run_note_fence_of(struct run_record_manager *manager, bool is_paging,
                                           uint64_t number)
{
    for (size_t i = 0; number && i < manager->fence_count; i++) {
        struct run_record_fence *fence = &manager->fences[i];

        if (!fence->paging == !is_paging && fence->number == number)
            return fence;
    }
    return NULL;
}

void run_note_add_fence(struct run_record_manager *manager, const void *paging, uint64_t number)
{
    if (!number || run_note_fence_of(manager, paging != NULL, number))
        return;
    if (manager->fence_count == manager->fence_room &&
        !run_note_grow((void **)&manager->fences, &manager->fence_room, sizeof *manager->fences))
        return;
    manager->fences[manager->fence_count++] =
        (struct run_record_fence){.paging = paging, .number = number, .is_told = !paging};
}

static uint64_t fence_type(const struct run_record_manager *manager, bool is_paging)
{
    return run_note_word(manager, is_paging ? "paging_fence" : "fence");
}

/* A paging fence is an object from when somebody waits for it, or it has a value. */
static void tell_fence(struct run_record_manager *manager, struct run_record_fence *fence)
{
    if (!fence->is_told)
        ITEM(manager, object, .type = fence_type(manager, true), .number = fence->number,
             .parent_type = run_note_word(manager, "device"), .parent = fence->number);
    fence->is_told = true;
}

void run_note_fence_ends(struct run_record_manager *manager, bool is_paging, uint64_t number)
{
    struct run_record_fence *fence = run_note_fence_of(manager, is_paging, number);

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
        !run_note_grow((void **)&manager->waits, &manager->wait_room, sizeof *wait))
        return;
    tell_fence(manager, fence);
    wait = &manager->waits[manager->wait_count++];
    *wait = *begun;
    wait->number = ++manager->waits_begun;
    wait->fence = fence->number;
    wait->is_for_paging = fence->paging != NULL;
    ITEM(manager, fence_waits, .number = wait->number,
         .type = fence_type(manager, wait->is_for_paging), .fence = wait->fence,
         .value = wait->value,
         .waiter_type = run_note_word(manager, wait->packet ? "packet" : "process"),
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
    struct run_record_fence *fence =
        manager->record && manager->record->record
            ? run_note_fence_of(manager, true, run_note_number_of(manager, device))
            : NULL;

    if (!fence)
        return;
    if (!is_over) {
        begin_wait(manager, fence, &(struct run_record_wait){.value = value},
                   run_note_process_of(manager, device));
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

void run_note_fence_value(struct run_record_manager *manager, const struct vidmm_note_fence *noted)
{
    uint64_t number = noted->fence ? run_note_number_of(manager, noted->fence)
                                   : run_note_number_of(manager, noted->device);
    struct run_record_fence *fence = run_note_fence_of(manager, !noted->fence, number);

    if (fence)
        put_value(manager, fence, noted->value, 0,
                  run_note_numbered(manager, RUN_RECORD_REQUESTS, noted->request));
}

void run_note_fence_waits(struct run_record_manager *manager,
                          const struct vidmm_note_fence_wait *noted)
{
    const struct run_record_object *object = run_note_object_of(manager, noted->fence);
    struct run_record_fence *fence =
        object ? run_note_fence_of(manager, false, object->number) : NULL;

    if (fence)
        begin_wait(manager, fence,
                   &(struct run_record_wait){.value = noted->value, .noted = noted->number},
                   object->process);
}

void run_note_fence_wait_ends(struct run_record_manager *manager,
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
void run_note_packet_waits(struct run_record_manager *manager, uint64_t packet,
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
void run_note_packet_goes_on(struct run_record_manager *manager, uint64_t packet, NTSTATUS status)
{
    for (size_t i = manager->wait_count; i-- > 0;) {
        if (manager->waits[i].packet == packet)
            end_wait(manager, i, status);
    }
}

/* Where the driver is told that values of fences are. */
void run_note_fence_homes(struct run_record_manager *manager,
                          const DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice)
{
    for (UINT i = 0; i < notice->NumFences; i++) {
        const DXGK_FENCE_RESIDENCY_INFO *info = &notice->FenceResidencyInfo[i];
        const D3DGPU_PHYSICAL_ADDRESS *place = &info->CurrentValuePhysicalAddress;
        struct run_record_fence *fence = run_note_fence_of(
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
