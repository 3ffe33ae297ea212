/*
 * Objects are few: they are looked for one after the other. Handles look like kernel handles.
 */
#include "nt/devices/object.h"

#include "nt/nt_private.h"

#include "base/assert.h"

#include <stdio.h>

#define FIRST_HANDLE UINT64_C(0xffffffff80000004)
#define HANDLE_STEP  4u

void nt_object_init(struct nt *nt, struct nt_object *object, const struct nt_object_type *type,
                    void *body)
{
    *object = (struct nt_object){.type = type, .body = body, .references = 1};
    list_push_back(&nt->objects, &object->link);
}

void nt_object_reference(struct nt_object *object)
{
    object->references++;
}

void nt_object_dereference(struct nt *nt, struct nt_object *object)
{
    ASSERT(object->references);
    if (--object->references)
        return;
    list_remove(&object->link);
    object->type->destroy(nt, object);
}

/* ---- Handles --------------------------------------------------------------------------------- */

struct handle {
    struct nt_object *object; /* NULL: free */
};

/* The state of the area. */
struct handles {
    struct handle *slots;
    uint32_t count;
};

static struct handles *handles_of(const struct nt *nt)
{
    return NT_STATE(nt, object);
}

static struct handle *slot_of(struct nt *nt, HANDLE handle)
{
    uint64_t offset = (uint64_t)(uintptr_t)handle - FIRST_HANDLE;

    if (offset % HANDLE_STEP || offset / HANDLE_STEP >= handles_of(nt)->count)
        return NULL;
    return &handles_of(nt)->slots[offset / HANDLE_STEP];
}

static uint32_t take_slot(struct nt *nt)
{
    uint32_t count = handles_of(nt)->count ? 2 * handles_of(nt)->count : 16, i;
    struct handle *handles;

    for (i = 0; i < handles_of(nt)->count; i++) {
        if (!handles_of(nt)->slots[i].object)
            return i;
    }
    handles = base_alloc_array(nt->services, count, sizeof *handles);
    if (!handles)
        return UINT32_MAX;
    for (i = 0; i < handles_of(nt)->count; i++)
        handles[i] = handles_of(nt)->slots[i];
    base_free_array(nt->services, handles_of(nt)->slots, handles_of(nt)->count,
                    sizeof *handles_of(nt)->slots);
    handles_of(nt)->slots = handles;
    handles_of(nt)->count = count;
    return i;
}

NTSTATUS nt_handle_create(struct nt *nt, struct nt_object *object, HANDLE *out_handle)
{
    uint32_t slot = take_slot(nt);

    *out_handle = NULL;
    if (slot == UINT32_MAX)
        return STATUS_INSUFFICIENT_RESOURCES;
    handles_of(nt)->slots[slot].object = object;
    object->handles++;
    nt_object_reference(object);
    *out_handle = (HANDLE)(uintptr_t)(FIRST_HANDLE + (uint64_t)slot * HANDLE_STEP);
    return STATUS_SUCCESS;
}

struct nt_object *nt_handle_find(struct nt *nt, HANDLE handle, const struct nt_object_type *type)
{
    struct handle *slot = slot_of(nt, handle);

    if (!slot || !slot->object || (type && slot->object->type != type))
        return NULL;
    return slot->object;
}

bool nt_handle_close(struct nt *nt, HANDLE handle)
{
    struct handle *slot = slot_of(nt, handle);
    struct nt_object *object;

    if (!slot || !slot->object)
        return false;
    object = slot->object;
    slot->object = NULL;
    object->handles--;
    nt_object_dereference(nt, object);
    return true;
}

/* ---- The end --------------------------------------------------------------------------------- */

static void left(struct nt *nt, nt_leftover *tell, void *context)
{
    const struct handles *handles = handles_of(nt);
    char text[120];

    for (uint32_t i = 0; i < handles->count; i++) {
        if (!handles->slots[i].object)
            continue;
        snprintf(text, sizeof text, "a handle of a %s has not been closed",
                 handles->slots[i].object->type->name);
        tell(context, text);
    }
}

static void fini(struct nt *nt)
{
    struct handles *handles = handles_of(nt);
    struct nt_object *object, *following;

    list_for_each_safe (object, following, &nt->objects, struct nt_object, link) {
        list_remove(&object->link);
        object->type->destroy(nt, object);
    }
    base_free_array(nt->services, handles->slots, handles->count, sizeof *handles->slots);
}

const struct nt_area nt_object_area = {
    .state_bytes = sizeof(struct handles), .fini = fini, .left = left};
