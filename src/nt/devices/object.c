/*
 * Objects are few: they are looked for one after the other. Handles look like kernel handles.
 */
#include "nt/devices/object.h"

#include "nt/exports.h"
#include "nt/nt_internal.h"
#include "nt/threads/scheduler.h"

#include "base/assert.h"
#include "base/bits.h"

#define FIRST_HANDLE UINT64_C(0xffffffff80000004)
#define HANDLE_STEP  4u

/* What drivers pass for a type: the address of one of these says which. */
struct _OBJECT_TYPE {
    const struct nt_object_type *type;
};

static OBJECT_TYPE thread_type = {&nt_thread_type}, event_type = {&nt_event_type},
                   file_type = {&nt_file_type};
static POBJECT_TYPE thread_type_pointer = &thread_type, event_type_pointer = &event_type,
                    file_type_pointer = &file_type;
POBJECT_TYPE *PsThreadType = &thread_type_pointer, *ExEventObjectType = &event_type_pointer,
             *IoFileObjectType = &file_type_pointer;

void nt_objects_init(struct nt *nt)
{
    list_init(&nt->objects);
}

void nt_objects_fini(struct nt *nt)
{
    base_free_array(nt->services, nt->handles, nt->handle_count, sizeof *nt->handles);
    nt->handles = NULL;
    nt->handle_count = 0;
}

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

static struct nt_handle *slot_of(struct nt *nt, HANDLE handle)
{
    uint64_t offset = (uint64_t)(uintptr_t)handle - FIRST_HANDLE;

    if (offset % HANDLE_STEP || offset / HANDLE_STEP >= nt->handle_count)
        return NULL;
    return &nt->handles[offset / HANDLE_STEP];
}

static uint32_t take_slot(struct nt *nt)
{
    uint32_t count = nt->handle_count ? 2 * nt->handle_count : 16, i;
    struct nt_handle *handles;

    for (i = 0; i < nt->handle_count; i++) {
        if (!nt->handles[i].object)
            return i;
    }
    handles = base_alloc_array(nt->services, count, sizeof *handles);
    if (!handles)
        return UINT32_MAX;
    for (i = 0; i < nt->handle_count; i++)
        handles[i] = nt->handles[i];
    base_free_array(nt->services, nt->handles, nt->handle_count, sizeof *nt->handles);
    nt->handles = handles;
    nt->handle_count = count;
    return i;
}

NTSTATUS nt_handle_create(struct nt *nt, struct nt_object *object, HANDLE *out_handle)
{
    uint32_t slot = take_slot(nt);

    *out_handle = NULL;
    if (slot == UINT32_MAX)
        return STATUS_INSUFFICIENT_RESOURCES;
    nt->handles[slot].object = object;
    object->handles++;
    nt_object_reference(object);
    *out_handle = (HANDLE)(uintptr_t)(FIRST_HANDLE + (uint64_t)slot * HANDLE_STEP);
    return STATUS_SUCCESS;
}

struct nt_object *nt_handle_find(struct nt *nt, HANDLE handle, const struct nt_object_type *type)
{
    struct nt_handle *slot = slot_of(nt, handle);

    if (!slot || !slot->object || (type && slot->object->type != type))
        return NULL;
    return slot->object;
}

/* ---- Services -------------------------------------------------------------------------------- */

NTSTATUS NTAPI ZwClose(HANDLE Handle)
{
    struct nt *nt = nt_current();
    struct nt_handle *slot = slot_of(nt, Handle);
    struct nt_object *object;

    nt_require_irql(nt, "ZwClose", PASSIVE_LEVEL);
    if (!slot || !slot->object)
        return STATUS_INVALID_HANDLE;
    object = slot->object;
    slot->object = NULL;
    object->handles--;
    nt_object_dereference(nt, object);
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI ObReferenceObjectByHandle(HANDLE Handle, ACCESS_MASK DesiredAccess,
                                         POBJECT_TYPE ObjectType, KPROCESSOR_MODE AccessMode,
                                         PVOID *Object, PVOID HandleInformation)
{
    struct nt *nt = nt_current();
    struct nt_object *object = nt_handle_find(nt, Handle, NULL);

    nt_require_irql(nt, "ObReferenceObjectByHandle", PASSIVE_LEVEL);
    *Object = NULL;
    if (!object)
        return STATUS_INVALID_HANDLE;
    if (ObjectType && object->type != ObjectType->type)
        return STATUS_OBJECT_TYPE_MISMATCH;
    nt_object_reference(object);
    *Object = object->body;
    return STATUS_SUCCESS;
}

/* NULL, told with the service's name: it is none, or it is gone. */
static struct nt_object *find_body(struct nt *nt, const char *service, const void *body)
{
    struct nt_object *object;

    list_for_each (object, &nt->objects, struct nt_object, link) {
        if (object->body == body)
            return object;
    }
    nt_misuse(nt,
              "%s: there is no object here (its last reference was given up, or it never was one)",
              service);
    return NULL;
}

LONG_PTR NTAPI ObfReferenceObject(PVOID Object)
{
    struct nt *nt = nt_current();
    struct nt_object *object = find_body(nt, "ObfReferenceObject", Object);

    nt_require_irql(nt, "ObfReferenceObject", DISPATCH_LEVEL);
    if (!object)
        return 0;
    nt_object_reference(object);
    return (LONG_PTR)object->references;
}

NTSTATUS NTAPI ObReferenceObjectByPointer(PVOID Object, ACCESS_MASK DesiredAccess,
                                          POBJECT_TYPE ObjectType, KPROCESSOR_MODE AccessMode)
{
    struct nt_object *object = find_body(nt_current(), "ObReferenceObjectByPointer", Object);

    nt_require_irql(nt_current(), "ObReferenceObjectByPointer", DISPATCH_LEVEL);
    if (!object || (ObjectType && object->type != ObjectType->type))
        return STATUS_OBJECT_TYPE_MISMATCH;
    nt_object_reference(object);
    return STATUS_SUCCESS;
}

LONG_PTR NTAPI ObfDereferenceObject(PVOID Object)
{
    struct nt *nt = nt_current();
    struct nt_object *object = find_body(nt, "ObfDereferenceObject", Object);
    LONG_PTR left;

    nt_require_irql(nt, "ObfDereferenceObject", DISPATCH_LEVEL);
    if (!object)
        return 0;
    /* What the bench and open handles hold is not the driver's to give up. */
    if (object->references <= object->handles + (object->is_held ? 1 : 0)) {
        nt_misuse(nt, "ObfDereferenceObject: a %s is given up more often than it was referenced",
                  object->type->name);
        return object->references;
    }
    left = (LONG_PTR)object->references - 1;
    nt_object_dereference(nt, object);
    return left;
}

/* Tags are for who traces references in a debugger; they have no effect. */
NTSTATUS NTAPI ObReferenceObjectByHandleWithTag(HANDLE Handle, ACCESS_MASK DesiredAccess,
                                                POBJECT_TYPE ObjectType, KPROCESSOR_MODE AccessMode,
                                                ULONG Tag, PVOID *Object, PVOID HandleInformation)
{
    return ObReferenceObjectByHandle(Handle, DesiredAccess, ObjectType, AccessMode, Object,
                                     HandleInformation);
}

NTSTATUS NTAPI ObReferenceObjectByPointerWithTag(PVOID Object, ACCESS_MASK DesiredAccess,
                                                 POBJECT_TYPE ObjectType,
                                                 KPROCESSOR_MODE AccessMode, ULONG Tag)
{
    return ObReferenceObjectByPointer(Object, DesiredAccess, ObjectType, AccessMode);
}

LONG_PTR NTAPI ObfReferenceObjectWithTag(PVOID Object, ULONG Tag)
{
    return ObfReferenceObject(Object);
}

LONG_PTR NTAPI ObfDereferenceObjectWithTag(PVOID Object, ULONG Tag)
{
    return ObfDereferenceObject(Object);
}

VOID NTAPI ObDereferenceObjectDeferDelete(PVOID Object)
{
    ObfDereferenceObject(Object);
}

VOID NTAPI ObDereferenceObjectDeferDeleteWithTag(PVOID Object, ULONG Tag)
{
    ObfDereferenceObject(Object);
}

const struct nt_export nt_object_exports[] = {
    NT_SERVICE(ObReferenceObjectByHandleWithTag),
    NT_SERVICE(ObReferenceObjectByPointerWithTag),
    NT_SERVICE(ObfReferenceObjectWithTag),
    NT_SERVICE(ObfDereferenceObjectWithTag),
    NT_SERVICE(ObDereferenceObjectDeferDelete),
    NT_SERVICE(ObDereferenceObjectDeferDeleteWithTag),
    NT_SERVICE(ZwClose),
    NT_SERVICE(ObReferenceObjectByHandle),
    NT_SERVICE(ObReferenceObjectByPointer),
    NT_SERVICE(ObfReferenceObject),
    NT_SERVICE(ObfDereferenceObject),
    {"ObDereferenceObject", (const void *)ObfDereferenceObject, NT_EXPORT_SERVICE, NULL},
    /* Drivers declare pointers to these: what the import is bound to is the pointer's value. */
    {"PsThreadType", &thread_type_pointer, NT_EXPORT_VARIABLE, NULL},
    {"ExEventObjectType", &event_type_pointer, NT_EXPORT_VARIABLE, NULL},
    {"IoFileObjectType", &file_type_pointer, NT_EXPORT_VARIABLE, NULL},
    {0},
};
