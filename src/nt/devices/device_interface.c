/*
 * Device interfaces: functions of the device that a driver offers by the GUID of a class. Nobody
 * opens them here. Their state is checked, and an interface that is left enabled is reported.
 */
#include "nt/memory/pool.h"
#include "nt/nt_private.h"
#include "nt/text/unicode.h"

#include "base/bits.h"

#include <wdm/device.h>

#include <string.h>

struct device_interface {
    struct list link;
    GUID class_guid;
    UNICODE_STRING name;
    bool is_enabled;
};

/* The state of the area: of struct device_interface. */
static struct list *interfaces(const struct nt *nt)
{
    return NT_STATE(nt, device_interface);
}

static void destroy(struct nt *nt, struct device_interface *interface)
{
    list_remove(&interface->link);
    base_free(nt->services, interface, sizeof *interface + interface->name.MaximumLength);
}

static void fini(struct nt *nt)
{
    struct device_interface *interface, *following;

    list_for_each_safe (interface, following, interfaces(nt), struct device_interface, link)
        destroy(nt, interface);
}

static void left(struct nt *nt, nt_leftover *tell, void *context)
{
    struct device_interface *interface;

    list_for_each (interface, interfaces(nt), struct device_interface, link) {
        if (interface->is_enabled)
            tell(context, "a device interface is still enabled");
    }
}

static struct device_interface *find(struct nt *nt, PCUNICODE_STRING name)
{
    struct device_interface *interface;

    list_for_each (interface, interfaces(nt), struct device_interface, link) {
        if (nt_is_same_text(&interface->name, name, TRUE))
            return interface;
    }
    return NULL;
}

#define PREFIX        "\\??\\PCI#drydock#0#"
#define GUID_TEXT     38u
#define MOST_IN_A_REF 255u

static struct device_interface *create(struct nt *nt, const GUID *class_guid,
                                       PCUNICODE_STRING reference)
{
    size_t prefix = sizeof PREFIX - 1,
           extra = reference ? reference->Length / sizeof(WCHAR) + 1 : 0;
    USHORT bytes = (USHORT)((prefix + GUID_TEXT + extra) * sizeof(WCHAR));
    struct device_interface *interface = base_alloc(nt->services, sizeof *interface + bytes);
    UNICODE_STRING guid;
    WCHAR *at;

    if (!interface)
        return NULL;
    interface->class_guid = *class_guid;
    interface->name = (UNICODE_STRING){bytes, bytes, (PWSTR)(interface + 1)};
    at = interface->name.Buffer;
    for (size_t i = 0; i < prefix; i++)
        *at++ = (UCHAR)PREFIX[i];
    if (!NT_SUCCESS(RtlStringFromGUID(class_guid, &guid))) {
        base_free(nt->services, interface, sizeof *interface + bytes);
        return NULL;
    }
    memcpy(at, guid.Buffer, GUID_TEXT * sizeof(WCHAR));
    RtlFreeUnicodeString(&guid);
    if (reference) {
        at[GUID_TEXT] = '\\';
        memcpy(at + GUID_TEXT + 1, reference->Buffer, reference->Length);
    }
    list_push_back(interfaces(nt), &interface->link);
    return interface;
}

NTSTATUS NTAPI IoRegisterDeviceInterface(PDEVICE_OBJECT PhysicalDeviceObject,
                                         const GUID *InterfaceClassGuid,
                                         PUNICODE_STRING ReferenceString,
                                         PUNICODE_STRING SymbolicLinkName)
{
    struct nt *nt = nt_current();
    struct device_interface *interface, *other;
    PWSTR copy;

    nt_require_irql(nt, "IoRegisterDeviceInterface", PASSIVE_LEVEL);
    *SymbolicLinkName = (UNICODE_STRING){0};
    if (!PhysicalDeviceObject ||
        (ReferenceString && ReferenceString->Length > MOST_IN_A_REF * sizeof(WCHAR)))
        return STATUS_INVALID_DEVICE_REQUEST;
    for (USHORT i = 0; ReferenceString && i < ReferenceString->Length / sizeof(WCHAR); i++) {
        if (ReferenceString->Buffer[i] == '\\' || ReferenceString->Buffer[i] == '/')
            return STATUS_INVALID_DEVICE_REQUEST;
    }
    interface = create(nt, InterfaceClassGuid,
                       ReferenceString && ReferenceString->Length ? ReferenceString : NULL);
    if (!interface)
        return STATUS_INSUFFICIENT_RESOURCES;
    list_for_each (other, interfaces(nt), struct device_interface, link) {
        if (other != interface && nt_is_same_text(&other->name, &interface->name, TRUE)) {
            destroy(nt, interface); /* registered before: the same instance */
            interface = other;
            break;
        }
    }
    copy = ExAllocatePoolWithTag(PagedPool, interface->name.Length + sizeof(WCHAR), NT_STRING_TAG);
    if (!copy)
        return STATUS_INSUFFICIENT_RESOURCES;
    memcpy(copy, interface->name.Buffer, interface->name.Length);
    copy[interface->name.Length / sizeof(WCHAR)] = 0;
    *SymbolicLinkName = (UNICODE_STRING){interface->name.Length,
                                         (USHORT)(interface->name.Length + sizeof(WCHAR)), copy};
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI IoSetDeviceInterfaceState(PUNICODE_STRING SymbolicLinkName, BOOLEAN Enable)
{
    struct nt *nt = nt_current();
    struct device_interface *interface = find(nt, SymbolicLinkName);

    nt_require_irql(nt, "IoSetDeviceInterfaceState", PASSIVE_LEVEL);
    if (!interface || (!Enable && !interface->is_enabled))
        return STATUS_OBJECT_NAME_NOT_FOUND;
    if (Enable && interface->is_enabled)
        return STATUS_OBJECT_NAME_EXISTS;
    interface->is_enabled = Enable;
    return STATUS_SUCCESS;
}

static bool is_listed(const struct device_interface *interface, const GUID *class_guid, ULONG flags)
{
    return memcmp(&interface->class_guid, class_guid, sizeof *class_guid) == 0 &&
           (interface->is_enabled || flags & DEVICE_INTERFACE_INCLUDE_NONACTIVE);
}

/* The interfaces of this device, which is the only one. */
NTSTATUS NTAPI IoGetDeviceInterfaces(const GUID *InterfaceClassGuid,
                                     PDEVICE_OBJECT PhysicalDeviceObject, ULONG Flags,
                                     PZZWSTR *SymbolicLinkList)
{
    struct nt *nt = nt_current();
    struct device_interface *interface;
    size_t characters = 1;
    WCHAR *at;

    nt_require_irql(nt, "IoGetDeviceInterfaces", PASSIVE_LEVEL);
    list_for_each (interface, interfaces(nt), struct device_interface, link) {
        if (is_listed(interface, InterfaceClassGuid, Flags))
            characters += interface->name.Length / sizeof(WCHAR) + 1;
    }
    *SymbolicLinkList = at =
        ExAllocatePoolWithTag(PagedPool, characters * sizeof(WCHAR), NT_STRING_TAG);
    if (!at)
        return STATUS_INSUFFICIENT_RESOURCES;
    list_for_each (interface, interfaces(nt), struct device_interface, link) {
        if (!is_listed(interface, InterfaceClassGuid, Flags))
            continue;
        memcpy(at, interface->name.Buffer, interface->name.Length);
        at += interface->name.Length / sizeof(WCHAR);
        *at++ = 0;
    }
    *at = 0;
    return STATUS_SUCCESS;
}

static void init(struct nt *nt)
{
    list_init(interfaces(nt));
}

static const struct nt_export services[] = {
    NT_SERVICE(IoRegisterDeviceInterface),
    NT_SERVICE(IoSetDeviceInterfaceState),
    NT_SERVICE(IoGetDeviceInterfaces),
    {0},
};

const struct nt_area nt_device_interface_area = {
    .exports = services,
    .state_bytes = sizeof(struct list),
    .init = init,
    .fini = fini,
    .left = left,
};
