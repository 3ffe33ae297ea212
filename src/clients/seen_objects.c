/*
 * Objects of processes, as they are seen: by handle, each a sight of a body.
 */
#include "clients/seen_own.h"

#include "base/bits.h"
#include "base/hash.h"

#include <drydock/sgpu.h>

#include <stdlib.h>
#include <string.h>

/* ---- Ends ------------------------------------------------------------------------------------ */

void seen_drop_body(struct seen_body *body)
{
    if (!body || --body->users)
        return;
    list_remove(&body->link);
    free(body->contents);
    free(body);
}

void seen_leave_shared(struct seen_object *object)
{
    if (!object->shared)
        return;
    if (object->shared->holder == object)
        object->shared->holder = NULL;
    list_remove(&object->shared_link);
    object->shared = NULL;
}

void seen_free_object(struct seen_object *object)
{
    list_remove(&object->link);
    seen_leave_shared(object);
    seen_drop_body(object->body);
    free(object);
}

/* ---- Handles --------------------------------------------------------------------------------- */

static struct seen_object **slot_of(const struct seen_process *process, D3DKMT_HANDLE handle)
{
    size_t at = hash_u64(handle) & (process->slot_count - 1);

    while (process->slots[at] && process->slots[at]->handle != handle)
        at = (at + 1) & (process->slot_count - 1);
    return &process->slots[at];
}

struct seen_object *seen_find(const struct seen_process *process, D3DKMT_HANDLE handle,
                              enum seen_kind kind)
{
    struct seen_object *object =
        process && process->slot_count && handle ? *slot_of(process, handle) : NULL;

    return object && object->kind == kind && !object->is_destroyed ? object : NULL;
}

void seen_each_named(const struct seen_process *process, UINT count, const D3DKMT_HANDLE *handles,
                     const D3DKMT_HANDLE *resources,
                     void (*each)(void *context, struct seen_object *allocation, UINT i),
                     void *context)
{
    struct seen_object *object;

    for (UINT i = 0; i < count && (handles || resources); i++) {
        object = seen_find(process, handles ? handles[i] : resources[i],
                           handles ? SEEN_ALLOCATION : SEEN_RESOURCE);
        if (object && handles)
            each(context, object, i);
        else if (object)
            object->named = i + 1;
    }
    if (handles || !resources)
        return;
    list_for_each (object, &process->objects, struct seen_object, link) {
        if (object->kind == SEEN_ALLOCATION && !object->is_destroyed && object->resource &&
            object->resource->named)
            each(context, object, object->resource->named - 1);
    }
    for (UINT i = 0; i < count; i++) {
        object = seen_find(process, resources[i], SEEN_RESOURCE);
        if (object)
            object->named = 0;
    }
}

bool seen_was_destroyed(const struct seen_process *process, D3DKMT_HANDLE handle)
{
    const struct seen_object *object =
        process && process->slot_count && handle ? *slot_of(process, handle) : NULL;

    return object && object->is_destroyed;
}

struct seen_object *seen_fence_at(const struct seen_process *process, uint64_t va)
{
    struct seen_object *fence;

    list_for_each (fence, &process->fences, struct seen_object, link) {
        if (!fence->is_destroyed && fence->va && fence->va == va)
            return fence;
    }
    return NULL;
}

static bool grow_slots(struct seen_process *process)
{
    struct seen_object **before = process->slots;
    const size_t count = process->slot_count;

    if (process->used * 2 < count)
        return true;
    process->slots = calloc(count ? count * 2 : 64, sizeof *process->slots);
    if (!process->slots) {
        process->slots = before;
        return false;
    }
    process->slot_count = count ? count * 2 : 64;
    process->used = 0;
    for (size_t i = 0; i < count; i++) {
        if (before[i]) {
            *slot_of(process, before[i]->handle) = before[i];
            process->used++;
        }
    }
    free(before);
    return true;
}

static bool has_body(enum seen_kind kind)
{
    return kind == SEEN_FENCE || kind == SEEN_ALLOCATION;
}

static struct seen_body *new_body(struct seen *seen)
{
    struct seen_body *body = calloc(1, sizeof *body);

    if (body)
        list_push_back(&seen->bodies, &body->link);
    return body;
}

struct seen_object *seen_add_sight(struct seen *seen, struct seen_process *process,
                                   enum seen_kind kind, D3DKMT_HANDLE handle,
                                   struct seen_object *device, struct seen_body *body)
{
    struct seen_object *object = calloc(1, sizeof *object), **slot;

    if (object && has_body(kind))
        object->body = body ? body : new_body(seen);
    if (object && object->body)
        object->body->users++;
    if (!object || (has_body(kind) && !object->body) || !grow_slots(process)) {
        if (object)
            seen_drop_body(object->body);
        free(object);
        seen->is_lost = true;
        return NULL;
    }
    object->kind = kind;
    object->handle = handle;
    object->process = process;
    object->device = device;
    object->number = ++seen->counts[kind];
    if (object->body && !object->body->number)
        object->body->number = object->number;
    slot = slot_of(process, handle);
    process->used += !*slot;
    *slot = object; /* what had the handle before is destroyed */
    list_push_back(kind == SEEN_FENCE ? &process->fences : &process->objects, &object->link);
    return object;
}

void seen_note_private_data(struct seen_object *allocation, const void *private_data, UINT bytes)
{
    struct sgpu_umd_allocation data;

    if (bytes != sizeof data)
        return;
    memcpy(&data, private_data, sizeof data);
    if (data.version != SGPU_UMD_VERSION)
        return;
    allocation->bytes = align_up(data.bytes, 4096);
    allocation->flags = data.flags;
}
