/* References and handles, as drivers get and give them up. */
#include "nt/nt_private.h"

/* Drivers pass the address of one of these for a type. */
struct _OBJECT_TYPE {
    const struct nt_object_type *type;
};

static OBJECT_TYPE thread_type = {&nt_thread_type}, process_type = {&nt_process_type},
                   event_type = {&nt_event_type}, file_type = {&nt_file_type};
static POBJECT_TYPE thread_type_pointer = &thread_type, process_type_pointer = &process_type,
                    event_type_pointer = &event_type, file_type_pointer = &file_type;
POBJECT_TYPE *PsThreadType = &thread_type_pointer, *PsProcessType = &process_type_pointer,
             *ExEventObjectType = &event_type_pointer, *IoFileObjectType = &file_type_pointer;

NTSTATUS NTAPI ZwClose(HANDLE Handle)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt, "ZwClose", PASSIVE_LEVEL);
    return nt_handle_close(nt, Handle) ? STATUS_SUCCESS : STATUS_INVALID_HANDLE;
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

NTSTATUS NTAPI ObCloseHandle(HANDLE Handle, KPROCESSOR_MODE PreviousMode)
{
    return ZwClose(Handle);
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
    /* References of the bench and of open handles are not the driver's to give up. */
    if (object->references <= object->handles + (object->is_held ? 1 : 0)) {
        nt_misuse(nt, "ObfDereferenceObject: a %s is given up more often than it was referenced",
                  object->type->name);
        return object->references;
    }
    left = (LONG_PTR)object->references - 1;
    nt_object_dereference(nt, object);
    return left;
}

/* Tags help to trace references in a debugger; they have no effect. */
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

static const struct nt_export services[] = {
    NT_SERVICE(ObReferenceObjectByHandleWithTag),
    NT_SERVICE(ObReferenceObjectByPointerWithTag),
    NT_SERVICE(ObfReferenceObjectWithTag),
    NT_SERVICE(ObfDereferenceObjectWithTag),
    NT_SERVICE(ObDereferenceObjectDeferDelete),
    NT_SERVICE(ObDereferenceObjectDeferDeleteWithTag),
    NT_SERVICE(ZwClose),
    NT_SERVICE(ObCloseHandle),
    NT_SERVICE(ObReferenceObjectByHandle),
    NT_SERVICE(ObReferenceObjectByPointer),
    NT_SERVICE(ObfReferenceObject),
    NT_SERVICE(ObfDereferenceObject),
    {"ObDereferenceObject", (const void *)ObfDereferenceObject, NT_EXPORT_SERVICE, NULL},
    /* Drivers declare pointers to these: the import is bound to the pointer's value. */
    {"PsThreadType", &thread_type_pointer, NT_EXPORT_VARIABLE, NULL},
    {"PsProcessType", &process_type_pointer, NT_EXPORT_VARIABLE, NULL},
    {"ExEventObjectType", &event_type_pointer, NT_EXPORT_VARIABLE, NULL},
    {"IoFileObjectType", &file_type_pointer, NT_EXPORT_VARIABLE, NULL},
    {0},
};

const struct nt_area nt_object_services_area = {.exports = services};
