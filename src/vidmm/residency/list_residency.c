/*
 * Lists of allocations that are asked for together: the public functions.
 *
 * Source     contract.md RES-002..005.
 */
#include "vidmm/adapter/pump.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/reference_list.h"
#include "vidmm/residency/residency.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/assert.h"
#include "base/services.h"

#include <string.h>

/* ---- Members ---- */

static bool is_in_use(const struct vidmm_list *list)
{
    return list->holds || list->pending;
}

/* Room for so many members more. */
static bool grow(struct vidmm_list *list, unsigned count)
{
    const struct base_services *services = list->device->vidmm->services;
    unsigned room = list->room;
    struct vidmm_allocation **grown;

    if (list->count + count <= room)
        return true;
    while (room < list->count + count)
        room = room ? room * 2 : count;
    grown = base_alloc(services, room * sizeof *grown);
    if (!grown)
        return false;
    if (list->room) {
        memcpy(grown, list->allocations, list->count * sizeof *grown);
        base_free(services, list->allocations, list->room * sizeof *grown);
    }
    list->allocations = grown;
    list->room = room;
    return true;
}

static NTSTATUS add(struct vidmm_list *list, unsigned count,
                    struct vidmm_allocation *const *allocations)
{
    for (unsigned i = 0; i < count; i++) {
        if (allocations[i]->is_destroyed)
            return STATUS_INVALID_HANDLE;
    }
    if (!grow(list, count))
        return STATUS_NO_MEMORY;
    for (unsigned i = 0; i < count; i++) {
        allocations[i]->was_in_list = true;
        list->allocations[list->count++] = allocations[i];
    }
    list->generation = 0;
    if (notes_are_heard(list->device->vidmm))
        note_list(list, false);
    return STATUS_SUCCESS;
}

NTSTATUS vidmm_list_add(struct vidmm_list *list, struct vidmm_allocation *allocation)
{
    if (is_in_use(list))
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    reference_lists_settle(list->device->vidmm);
    return add(list, 1, &allocation);
}

NTSTATUS vidmm_list_remove(struct vidmm_list *list, struct vidmm_allocation *allocation)
{
    unsigned i = list->count;

    if (is_in_use(list))
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    while (i && list->allocations[i - 1] != allocation)
        i--;
    if (!i)
        return STATUS_INVALID_PARAMETER;
    reference_lists_settle(list->device->vidmm);
    memmove(&list->allocations[i - 1], &list->allocations[i],
            (list->count - i) * sizeof(struct vidmm_allocation *));
    list->count--;
    list->generation = 0;
    if (notes_are_heard(list->device->vidmm))
        note_list(list, false);
    return STATUS_SUCCESS;
}

NTSTATUS vidmm_list_create(struct vidmm_device *device, unsigned count,
                           struct vidmm_allocation *const *allocations,
                           struct vidmm_list **out_list)
{
    const struct base_services *services = device->vidmm->services;
    struct vidmm_list *list = base_alloc(services, sizeof *list);
    NTSTATUS status;

    *out_list = NULL;
    if (!list)
        return STATUS_NO_MEMORY;
    list->device = device;
    list_init(&list->link);
    status = add(list, count, allocations);
    if (!NT_SUCCESS(status)) {
        base_free(services, list, sizeof *list);
        return status;
    }
    *out_list = list;
    return STATUS_SUCCESS;
}

void vidmm_list_destroy(struct vidmm_list *list)
{
    const struct base_services *services = list->device->vidmm->services;

    ASSERT(!is_in_use(list));
    if (notes_are_heard(list->device->vidmm))
        note_list(list, true);
    reference_lists_settle(list->device->vidmm);
    if (list->room)
        base_free(services, list->allocations, list->room * sizeof(struct vidmm_allocation *));
    base_free(services, list, sizeof *list);
}

/* ---- Residency ---- */

NTSTATUS vidmm_list_make_resident(struct vidmm_list *list, vidmm_done done, void *context,
                                  uint64_t *out_fence_value)
{
    struct vidmm *vidmm = list->device->vidmm;
    NTSTATUS status;

    if (reference_list_is_checked(list) && !list->device->pending_requests &&
        !vidmm->limited_budgets && NT_SUCCESS(vidmm->refusal)) {
        *out_fence_value = 0;
        reference_list_hold(list);
        vidmm->statistics.residency_requests += list->count;
        vidmm->statistics.residency_hits += list->count;
        if (notes_are_heard(vidmm))
            note_request_at_once(list->device, list, list->count, list->allocations);
        return STATUS_SUCCESS;
    }
    reference_lists_settle(vidmm);
    status = residency_ask_for_list(list, done, context, out_fence_value);
    if (status == STATUS_SUCCESS) {
        list->holds++;
        list->given++;
        reference_list_check(list);
    }
    return status;
}

void vidmm_list_evict(struct vidmm_list *list)
{
    ASSERT(list->holds > 0);
    if (notes_are_heard(list->device->vidmm))
        note_given_up(list->device, list, list->count, list->allocations);
    if (reference_list_owes_hold(list)) {
        reference_list_release(list);
        vidmm_pump(list->device->vidmm);
        return;
    }
    list->holds--;
    list->given--;
    residency_give_up(list->device, list->count, list->allocations);
}
