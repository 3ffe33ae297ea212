/* Trace handles: linear probing; a removal moves later entries back, so there are no tombstones. */
#include "trace/trace_handles.h"

#include <stdbool.h>
#include <string.h>

#define FIRST_CAPACITY 64

void trace_handles_init(struct trace_handles *handles, const struct base_services *services)
{
    memset(handles, 0, sizeof *handles);
    handles->services = services;
}

void trace_handles_fini(struct trace_handles *handles)
{
    base_free_array(handles->services, handles->slots, handles->capacity, sizeof *handles->slots);
    trace_handles_init(handles, handles->services);
}

static size_t home_of(const struct trace_handles *handles, enum trace_handle_kind kind,
                      const void *handle)
{
    const uint64_t key = (uintptr_t)handle ^ (uint64_t)kind << 56;

    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (handles->capacity - 1);
}

/* The slot of the handle, or the free one where it belongs. The table has a free slot. */
static struct trace_handle_slot *find_slot(const struct trace_handles *handles,
                                           enum trace_handle_kind kind, const void *handle)
{
    size_t i = home_of(handles, kind, handle);

    while (handles->slots[i].handle &&
           (handles->slots[i].handle != handle || handles->slots[i].kind != kind))
        i = (i + 1) & (handles->capacity - 1);
    return &handles->slots[i];
}

/* False, and nothing has changed, without memory. */
static bool grow(struct trace_handles *handles)
{
    struct trace_handles bigger = *handles;

    bigger.capacity = handles->capacity ? 2 * handles->capacity : FIRST_CAPACITY;
    bigger.slots = base_alloc_array(handles->services, bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < handles->capacity; i++) {
        const struct trace_handle_slot *slot = &handles->slots[i];

        if (slot->handle)
            *find_slot(&bigger, slot->kind, slot->handle) = *slot;
    }
    base_free_array(handles->services, handles->slots, handles->capacity, sizeof *handles->slots);
    *handles = bigger;
    return true;
}

/* Out of line, as most handles have a number. */
__attribute__((noinline)) static uint64_t
add_handle(struct trace_handles *handles, enum trace_handle_kind kind, const void *handle)
{
    struct trace_handle_slot *slot;

    if (2 * (handles->count + 1) > handles->capacity && !grow(handles))
        return 0;
    slot = find_slot(handles, kind, handle);
    slot->handle = handle;
    slot->kind = kind;
    slot->number = ++handles->last_numbers[kind - 'a'];
    handles->count++;
    return slot->number;
}

uint64_t trace_handles_number(struct trace_handles *handles, enum trace_handle_kind kind,
                              const void *handle)
{
    const struct trace_handle_slot *slot;

    if (!handle)
        return 0;
    if (!handles->capacity)
        return add_handle(handles, kind, handle);
    slot = find_slot(handles, kind, handle);
    return slot->handle ? slot->number : add_handle(handles, kind, handle);
}

void trace_handles_forget(struct trace_handles *handles, enum trace_handle_kind kind,
                          const void *handle)
{
    size_t mask = handles->capacity - 1;
    size_t hole, i;

    if (!handle || !handles->count)
        return;
    hole = (size_t)(find_slot(handles, kind, handle) - handles->slots);
    if (!handles->slots[hole].handle)
        return;

    /* An entry may move into the hole unless its home lies behind the hole, in (hole, i]. */
    for (i = (hole + 1) & mask; handles->slots[i].handle; i = (i + 1) & mask) {
        size_t home = home_of(handles, handles->slots[i].kind, handles->slots[i].handle);

        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        handles->slots[hole] = handles->slots[i];
        hole = i;
    }
    memset(&handles->slots[hole], 0, sizeof handles->slots[hole]);
    handles->count--;
}
