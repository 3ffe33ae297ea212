/*
 * Callback objects. They have names, and the driver's registrations in the order in which they were
 * made.
 */
#include "nt/nt_private.h"
#include "nt/text/unicode.h"

#include "base/bits.h"

#define NAME_CHARACTERS 128u

struct callback_object {
    struct nt_object object;
    struct list registrations;
    uint64_t registration_count; /* ever */
    bool takes_many;
    UNICODE_STRING name; /* empty: none */
    WCHAR characters[NAME_CHARACTERS];
};

struct registration {
    struct list link;
    struct callback_object *owner; /* holds a reference */
    uint64_t number;               /* of the object's registrations, from 1 */
    PCALLBACK_FUNCTION function;
    PVOID context;
};

static void destroy(struct nt *nt, struct nt_object *object)
{
    struct callback_object *callback = object->body;

    base_free(nt->services, callback, sizeof *callback);
}

static const struct nt_object_type callback_type = {"callback object", destroy};

static struct callback_object *find_named(struct nt *nt, PCUNICODE_STRING name, bool ignores_case)
{
    struct nt_object *object;

    list_for_each (object, &nt->objects, struct nt_object, link) {
        struct callback_object *callback = object->body;

        if (object->type == &callback_type && callback->name.Length &&
            nt_is_same_text(&callback->name, name, ignores_case))
            return callback;
    }
    return NULL;
}

/* NULL, told: it is none. */
static struct callback_object *object_of(struct nt *nt, const char *service, const void *pointer)
{
    struct nt_object *object;

    list_for_each (object, &nt->objects, struct nt_object, link) {
        if (object->body == pointer && object->type == &callback_type)
            return object->body;
    }
    nt_misuse(nt, "%s: there is no callback object here", service);
    return NULL;
}

NTSTATUS NTAPI ExCreateCallback(PCALLBACK_OBJECT *CallbackObject,
                                POBJECT_ATTRIBUTES ObjectAttributes, BOOLEAN Create,
                                BOOLEAN AllowMultipleCallbacks)
{
    struct nt *nt = nt_current();
    PCUNICODE_STRING name = ObjectAttributes ? ObjectAttributes->ObjectName : NULL;
    struct callback_object *callback;

    nt_require_irql(nt, "ExCreateCallback", PASSIVE_LEVEL);
    *CallbackObject = NULL;
    if (name && name->Length > sizeof callback->characters)
        return STATUS_OBJECT_NAME_INVALID;
    if (name && name->Length) {
        callback = find_named(nt, name, (ObjectAttributes->Attributes & OBJ_CASE_INSENSITIVE) != 0);
        if (callback) {
            nt_object_reference(&callback->object);
            *CallbackObject = (PCALLBACK_OBJECT)callback;
            return STATUS_SUCCESS;
        }
    }
    if (!Create)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    callback = base_alloc(nt->services, sizeof *callback);
    if (!callback)
        return STATUS_INSUFFICIENT_RESOURCES;
    list_init(&callback->registrations);
    callback->takes_many = AllowMultipleCallbacks;
    callback->name = (UNICODE_STRING){.MaximumLength = sizeof callback->characters,
                                      .Buffer = callback->characters};
    if (name)
        RtlCopyUnicodeString(&callback->name, name);
    nt_object_init(nt, &callback->object, &callback_type, callback);
    /* A permanent one lives until it is made temporary: here, as long as the system. */
    if (ObjectAttributes && (ObjectAttributes->Attributes & OBJ_PERMANENT)) {
        callback->object.is_held = true;
        nt_object_reference(&callback->object);
    }
    *CallbackObject = (PCALLBACK_OBJECT)callback;
    return STATUS_SUCCESS;
}

PVOID NTAPI ExRegisterCallback(PCALLBACK_OBJECT CallbackObject, PCALLBACK_FUNCTION CallbackFunction,
                               PVOID CallbackContext)
{
    struct nt *nt = nt_current();
    struct callback_object *callback = object_of(nt, "ExRegisterCallback", CallbackObject);
    struct registration *registration;

    nt_require_irql(nt, "ExRegisterCallback", APC_LEVEL);
    if (!callback || (!callback->takes_many && !list_is_empty(&callback->registrations)))
        return NULL;
    registration = base_alloc(nt->services, sizeof *registration);
    if (!registration)
        return NULL;
    *registration = (struct registration){.owner = callback,
                                          .number = ++callback->registration_count,
                                          .function = CallbackFunction,
                                          .context = CallbackContext};
    nt_object_reference(&callback->object);
    list_push_back(&callback->registrations, &registration->link);
    return registration;
}

static struct registration *registration_of(struct nt *nt, const void *pointer)
{
    struct nt_object *object;

    list_for_each (object, &nt->objects, struct nt_object, link) {
        struct callback_object *callback = object->body;
        struct registration *registration;

        if (object->type != &callback_type)
            continue;
        list_for_each (registration, &callback->registrations, struct registration, link) {
            if (registration == pointer)
                return registration;
        }
    }
    return NULL;
}

static void unregister(struct nt *nt, struct registration *registration)
{
    struct callback_object *callback = registration->owner;

    list_remove(&registration->link);
    base_free(nt->services, registration, sizeof *registration);
    nt_object_dereference(nt, &callback->object);
}

VOID NTAPI ExUnregisterCallback(PVOID CbRegistration)
{
    struct nt *nt = nt_current();
    struct registration *registration = registration_of(nt, CbRegistration);

    nt_require_irql(nt, "ExUnregisterCallback", APC_LEVEL);
    if (registration)
        unregister(nt, registration);
    else
        nt_misuse(nt, "ExUnregisterCallback: this is no registration (any more)");
}

/* The list may change with every call. */
static struct registration *registration_after(struct callback_object *callback, uint64_t number)
{
    struct registration *registration;

    list_for_each (registration, &callback->registrations, struct registration, link) {
        if (registration->number > number)
            return registration;
    }
    return NULL;
}

/*
 * In the order of registration, at the caller's IRQL. A function may undo its own registration, and
 * others'.
 */
VOID NTAPI ExNotifyCallback(PVOID CallbackObject, PVOID Argument1, PVOID Argument2)
{
    struct nt *nt = nt_current();
    struct callback_object *callback = object_of(nt, "ExNotifyCallback", CallbackObject);
    struct registration *registration;
    uint64_t last = 0;

    nt_require_irql(nt, "ExNotifyCallback", DISPATCH_LEVEL);
    if (!callback)
        return;
    nt_object_reference(&callback->object);
    while ((registration = registration_after(callback, last))) {
        last = registration->number;
        ((PCALLBACK_FUNCTION)nt_driver_function(nt, (const void *)registration->function))(
            registration->context, Argument1, Argument2);
    }
    nt_object_dereference(nt, &callback->object);
}

static void left(struct nt *nt, nt_leftover *tell, void *context)
{
    struct nt_object *object;

    list_for_each (object, &nt->objects, struct nt_object, link) {
        struct callback_object *callback = object->body;

        if (object->type != &callback_type)
            continue;
        if (!list_is_empty(&callback->registrations))
            tell(context, "a callback of ExRegisterCallback is still registered");
        else if (object->references > (object->is_held ? 1u : 0u))
            tell(context, "a callback object of ExCreateCallback has references left");
    }
}

static void fini(struct nt *nt)
{
    struct nt_object *object, *following;

    list_for_each_safe (object, following, &nt->objects, struct nt_object, link) {
        struct callback_object *callback = object->body;

        if (object->type != &callback_type)
            continue;
        nt_object_reference(object);
        while (!list_is_empty(&callback->registrations))
            unregister(
                nt, container_of(list_first(&callback->registrations), struct registration, link));
        list_remove(&object->link);
        destroy(nt, object);
    }
}

static const struct nt_export services[] = {
    NT_SERVICE(ExCreateCallback),
    NT_SERVICE(ExRegisterCallback),
    NT_SERVICE(ExUnregisterCallback),
    NT_SERVICE(ExNotifyCallback),
    {0},
};

const struct nt_area nt_callback_object_area = {
    .exports = services,
    .fini = fini,
    .left = left,
};
