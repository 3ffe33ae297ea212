/*
 * Handles of a process.
 *
 * A handle is the number of a slot and a generation that changes when the slot is used again, so
 * that a handle of something that is gone is told from its successor's, 63 times.
 */
#include "d3dkmt/front.h"

#define GENERATION_BITS 6
#define GENERATION_MASK ((1u << GENERATION_BITS) - 1)
#define FIRST_SLOTS     64u

static bool grow_slots(struct d3dkmt_process *process)
{
    struct d3dkmt *front = process->front;
    uint32_t count = process->slot_count ? 2 * process->slot_count : FIRST_SLOTS;
    struct handle_slot *slots;

    if (count > MOST_HANDLES)
        return false;
    slots = base_alloc_array(front->services, count, sizeof *slots);
    if (!slots)
        return false;
    for (uint32_t i = 0; i < process->slot_count; i++)
        slots[i] = process->slots[i];
    base_free_array(front->services, process->slots, process->slot_count, sizeof *slots);
    /* Slot 0 is nobody's. */
    for (uint32_t i = count; i-- > max_u64(process->slot_count, 1);) {
        slots[i].next_free = process->free_slot;
        process->free_slot = i;
    }
    process->slots = slots;
    process->slot_count = count;
    return true;
}

NTSTATUS handle_give(struct d3dkmt_process *process, struct object *object, enum object_type type)
{
    struct handle_slot *slot;
    uint32_t index;

    if (!process->free_slot && !grow_slots(process))
        return STATUS_NO_MEMORY;
    index = process->free_slot;
    slot = &process->slots[index];
    process->free_slot = slot->next_free;
    slot->object = object;
    object->type = type;
    object->handle = index << GENERATION_BITS | slot->generation;
    process->handle_count++;
    return STATUS_SUCCESS;
}

void handle_take(struct d3dkmt_process *process, struct object *object)
{
    const uint32_t index = object->handle >> GENERATION_BITS;
    struct handle_slot *slot = &process->slots[index];

    if (!object->handle)
        return;
    slot->object = NULL;
    slot->generation = (uint8_t)((slot->generation + 1) & GENERATION_MASK);
    slot->next_free = process->free_slot;
    process->free_slot = index;
    process->handle_count--;
    object->handle = 0;
}

void *handle_find_going(struct d3dkmt_process *process, D3DKMT_HANDLE handle, enum object_type type)
{
    const uint32_t index = handle >> GENERATION_BITS;
    struct object *object = index < process->slot_count ? process->slots[index].object : NULL;

    return object && object->type == type && object->handle == handle ? object : NULL;
}

void *handle_find(struct d3dkmt_process *process, D3DKMT_HANDLE handle, enum object_type type)
{
    struct object *object = handle_find_going(process, handle, type);

    return object && !object->is_going ? object : NULL;
}

const struct vidmm_process *d3dkmt_process_manager(const struct d3dkmt_process *process)
{
    return process->handle;
}

uint64_t d3dkmt_process_handles(const struct d3dkmt_process *process)
{
    return process->handle_count;
}
