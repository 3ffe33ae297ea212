/*
 * Renaming: instances of one allocation, for a client that writes new content while the GPU reads
 * the old one.
 *
 * A lock with Discard of an allocation that work uses gives another instance of it: a struct
 * vidmm_allocation with the handles of the first one and nothing else in common. The first is what
 * the client knows, and its `current` is what the client's calls are about; what has been submitted
 * refers to instances. The instance that was in force is doomed like an allocation that is
 * destroyed while work uses it: it goes, with DISCARD_CONTENT or UNMAP_APERTURE_SEGMENT, when that
 * work has retired. The first has then no place, and waits for the last.
 *
 *     create            first = current
 *     rename            first -> doomed, second = current     two places of one hAllocation
 *     first is idle     first -> EMPTY (gone), second = current
 *     destroy           second -> doomed; behind it close, DxgkDdiDestroyAllocation
 *
 * The driver is neither asked nor told: the operations and lists that name its hAllocation say
 * other places. Instances are not kept for later, so a client that renames often makes its backing
 * store anew each time.
 *
 * Source     contract.md ALLOC-022.
 */
#include "vidmm/memory/rename.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/memory/backing.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/list.h"
#include "base/services.h"

const void *vidmm_allocation_instance(const struct vidmm_allocation *allocation)
{
    const struct vidmm_allocation *current = allocation_current(allocation);

    return current == allocation_first(allocation) ? NULL : current;
}

const void *vidmm_paging_instance(const struct vidmm *vidmm)
{
    const struct vidmm_allocation *subject = vidmm->queue.is_building ? vidmm->queue.subject : NULL;

    return !subject || subject == allocation_first(subject) ? NULL : subject;
}

static uint32_t instance_count(const struct vidmm_allocation *allocation)
{
    return allocation->instances ? allocation->instances->count : 1;
}

/*
 * What is shown, shared or seen through a range has users that a second place would be hidden from.
 */
static bool may_be_renamed(const struct vidmm_allocation *allocation)
{
    const struct vidmm_allocation *first = allocation_first(allocation);

    if (!allocation->vidmm->config.renames || allocation->vidmm->caps.is_virtual ||
        allocation->vidmm->caps.interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0 ||
        allocation->lock_count || allocation->is_primary || allocation->is_pinned ||
        allocation->is_over_memory || allocation->is_protected || allocation->context ||
        allocation->is_swizzled || allocation->range || first->openings)
        return false;
    return !first->renaming_limit || instance_count(allocation) < first->renaming_limit;
}

/* With the creation parameters of the first, without asking the driver again. */
static void take_after(struct vidmm_allocation *instance, const struct vidmm_allocation *other)
{
    unsigned i;

    instance->cookie = other->cookie;
    instance->driver_handle = other->driver_handle;
    instance->device_handle = other->device_handle;
    instance->page_count = other->page_count;
    instance->pitched_pages = other->pitched_pages;
    instance->alignment = other->alignment;
    for (i = 0; i < other->preference_count; i++)
        instance->preference[i] = other->preference[i];
    instance->preference_count = other->preference_count;
    instance->from_end = other->from_end;
    instance->hinted_bank = other->hinted_bank;
    instance->eviction_set = other->eviction_set;
    instance->priority_class = other->priority_class;
    instance->is_cpu_visible = other->is_cpu_visible;
    instance->is_cached = other->is_cached;
    instance->is_synchronous = other->is_synchronous;
    instance->is_permanent = other->is_permanent;
    instance->backing_is_linear = true;
}

/* The part that an allocation has from its first renaming on. */
static struct instances *make_instances(struct vidmm_allocation *first)
{
    struct instances *instances = base_alloc(first->vidmm->services, sizeof *instances);

    if (instances)
        *instances = (struct instances){.first = first, .current = first, .count = 1};
    return instances;
}

static struct vidmm_allocation *make_instance(const struct vidmm_allocation *allocation)
{
    struct vidmm_allocation *instance = allocation_alloc(allocation->device);

    if (!instance)
        return NULL;
    take_after(instance, allocation);
    if (!NT_SUCCESS(allocation_take_backing(instance))) {
        allocation_free(instance);
        return NULL;
    }
    instance->has_content = true;
    allocation_set_state(instance, ALLOCATION_BACKED);
    return instance;
}

struct vidmm_allocation *allocation_rename(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;
    struct vidmm_allocation *instance;

    if (!may_be_renamed(allocation))
        return NULL;
    if (!allocation->instances)
        allocation->instances = make_instances(allocation);
    if (!allocation->instances)
        return NULL;
    instance = make_instance(allocation);
    if (!instance)
        return NULL;
    list_push_back(&allocation->device->allocations, &instance->device_link);
    instance->instances = allocation->instances;
    instance->instances->current = instance;
    instance->instances->count++;
    if (notes_are_heard(vidmm))
        note_allocation(instance, true);
    vidmm->statistics.renames++;
    allocation_doom(allocation);
    return instance;
}

struct vidmm_allocation *instance_ended(struct vidmm_allocation *instance)
{
    struct vidmm *vidmm = instance->vidmm;
    const struct vidmm_events *events = &vidmm->config.events;
    struct instances *instances = instance->instances;
    struct vidmm_allocation *first = allocation_first(instance);
    bool is_last = !instances || --instances->count == 0;

    if ((instance != first || !is_last) && events->instance_ended)
        events->instance_ended(events->context, first, instance == first ? NULL : instance);
    if (instance != first) {
        if (notes_are_heard(vidmm))
            note_allocation(instance, false);
        list_remove(&instance->device_link);
        allocation_free(instance);
    } else if (!is_last) {
        allocation_set_state(first, ALLOCATION_EMPTY);
        first->has_content = false;
    }
    if (!is_last)
        return NULL;
    base_free(vidmm->services, instances, sizeof *instances);
    first->instances = NULL;
    return first;
}
