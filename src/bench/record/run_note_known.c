/*
 * What is known of the manager's objects behind the note that told of them, and numbers that last
 * over a restart. Every file of notes uses this one.
 */
#include "bench/record/run_note_private.h"

#include <stdlib.h>
#include <string.h>

/* The letters under which `pointers` has objects of the manager: all of them share one. */
#define POINTER ((enum trace_handle_kind)'x')

/* False: there is no memory; nothing has changed. */
bool run_note_grow(void **array, size_t *room, size_t size)
{
    size_t larger = *room ? 2 * *room : 64;
    void *grown = realloc(*array, larger * size);

    if (!grown)
        return false;
    *array = grown;
    *room = larger;
    return true;
}

/* NULL: it is not known, or there is no memory. */
struct run_record_object *run_note_object_of(struct run_record_manager *manager,
                                             const void *pointer)
{
    uint64_t at = trace_handles_number(&manager->pointers, POINTER, pointer);

    if (!at)
        return NULL;
    while (at > manager->object_room) {
        size_t before = manager->object_room;

        if (!run_note_grow((void **)&manager->objects, &manager->object_room,
                           sizeof *manager->objects))
            return NULL;
        memset(manager->objects + before, 0,
               (manager->object_room - before) * sizeof *manager->objects);
    }
    return &manager->objects[at - 1];
}

uint64_t run_note_process_of(struct run_record_manager *manager, const struct vidmm_device *device)
{
    const struct run_record_object *object = device ? run_note_object_of(manager, device) : NULL;

    return object ? object->process : 0;
}

uint64_t run_note_number_of(struct run_record_manager *manager, const void *pointer)
{
    const struct run_record_object *object = pointer ? run_note_object_of(manager, pointer) : NULL;

    return object ? object->number : 0;
}

/* The allocation, or the instance of it, that a note is about. */
struct run_record_object *run_note_allocation(struct run_record_manager *manager,
                                              const struct vidmm_noted_allocation *noted)
{
    return run_note_object_of(manager, noted->instance ? noted->instance : noted->named);
}

void run_note_forget(struct run_record_manager *manager, const void *pointer)
{
    trace_handles_forget(&manager->pointers, POINTER, pointer);
}
