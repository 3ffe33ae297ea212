/*
 * Properties of the device: those that Plug and Play knows of the modelled board, and those that
 * the driver keeps with it.
 */
#include "nt/nt_private.h"

#include "base/bits.h"
#include "machine/machine.h"
#include "machine/machine_pci.h"

#include <wdm/device.h>

#include <stdio.h>
#include <string.h>

/* The state of the area. */
struct properties {
    struct list set;         /* of struct property: IoSetDevicePropertyData() set them */
    const char *hardware_id; /* NULL: the usual one */
};

static struct properties *properties_of(const struct nt *nt)
{
    return NT_STATE(nt, device_property);
}

void nt_set_hardware_id(struct nt *nt, const char *id)
{
    properties_of(nt)->hardware_id = id;
}

/* ---- Properties of the bus ------------------------------------------------------------------- */

#define TEXT_CHARACTERS 512u

struct text {
    WCHAR characters[TEXT_CHARACTERS];
    size_t count;
};

static void put(struct text *text, const char *from)
{
    do {
        if (text->count < TEXT_CHARACTERS)
            text->characters[text->count++] = (UCHAR)*from;
    } while (*from++);
}

/* As the PCI bus driver forms them, the most particular first. */
static void put_hardware_ids(const struct machine_pci *pci, struct text *text)
{
    char id[64];
    int length = snprintf(id, sizeof id, "PCI\\VEN_%04X&DEV_%04X", pci->vendor_id, pci->device_id);
    char *rest = id + length;
    size_t room = sizeof id - (size_t)length;

    snprintf(rest, room, "&SUBSYS_%04X%04X&REV_%02X", pci->subsystem_id, pci->subsystem_vendor_id,
             pci->revision);
    put(text, id);
    snprintf(rest, room, "&SUBSYS_%04X%04X", pci->subsystem_id, pci->subsystem_vendor_id);
    put(text, id);
    snprintf(rest, room, "&CC_%06X", pci->class_code);
    put(text, id);
    snprintf(rest, room, "&CC_%04X", pci->class_code >> 8);
    put(text, id);
    put(text, "");
}

static void put_compatible_ids(const struct machine_pci *pci, struct text *text)
{
    char id[64];

    snprintf(id, sizeof id, "PCI\\VEN_%04X&DEV_%04X&REV_%02X", pci->vendor_id, pci->device_id,
             pci->revision);
    put(text, id);
    snprintf(id, sizeof id, "PCI\\VEN_%04X&DEV_%04X", pci->vendor_id, pci->device_id);
    put(text, id);
    snprintf(id, sizeof id, "PCI\\VEN_%04X&CC_%06X", pci->vendor_id, pci->class_code);
    put(text, id);
    snprintf(id, sizeof id, "PCI\\VEN_%04X&CC_%04X", pci->vendor_id, pci->class_code >> 8);
    put(text, id);
    snprintf(id, sizeof id, "PCI\\VEN_%04X", pci->vendor_id);
    put(text, id);
    snprintf(id, sizeof id, "PCI\\CC_%06X", pci->class_code);
    put(text, id);
    snprintf(id, sizeof id, "PCI\\CC_%04X", pci->class_code >> 8);
    put(text, id);
    put(text, "");
}

#define DISPLAY_CLASS "{4d36e968-e325-11ce-bfc1-08002be10318}"

/* Text of a property; false: it is none of text. hardware_id: NULL: the function's. */
static bool put_text(const struct machine_pci *pci, const char *hardware_id,
                     DEVICE_REGISTRY_PROPERTY property, struct text *text)
{
    if (hardware_id &&
        (property == DevicePropertyHardwareID || property == DevicePropertyCompatibleIDs)) {
        put(text, hardware_id);
        put(text, "");
        return true;
    }
    switch (property) {
    case DevicePropertyHardwareID:
        put_hardware_ids(pci, text);
        return true;
    case DevicePropertyCompatibleIDs:
        put_compatible_ids(pci, text);
        return true;
    case DevicePropertyDeviceDescription:
        put(text, "Drydock modelled GPU");
        return true;
    case DevicePropertyManufacturer:
        put(text, "Drydock");
        return true;
    case DevicePropertyClassName:
        put(text, "Display");
        return true;
    case DevicePropertyClassGuid:
        put(text, DISPLAY_CLASS);
        return true;
    case DevicePropertyDriverKeyName: /* below the key of all classes */
        put(text, DISPLAY_CLASS "\\0000");
        return true;
    case DevicePropertyEnumeratorName:
        put(text, "PCI");
        return true;
    case DevicePropertyLocationInformation:
        put(text, "PCI bus 1, device 0, function 0");
        return true;
    case DevicePropertyPhysicalDeviceObjectName:
        put(text, "\\Device\\NTPNP_PCI0001");
        return true;
    default:
        return false;
    }
}

static const GUID pci_bus = {
    0xc8ebdfb0, 0xb510, 0x11d0, {0x80, 0xe5, 0x00, 0xa0, 0xc9, 0x25, 0x42, 0xe3}};

NTSTATUS NTAPI IoGetDeviceProperty(PDEVICE_OBJECT DeviceObject,
                                   DEVICE_REGISTRY_PROPERTY DeviceProperty, ULONG BufferLength,
                                   PVOID PropertyBuffer, PULONG ResultLength)
{
    struct nt *nt = nt_current();
    struct machine_pci pci = nt->machine ? *machine_pci(nt->machine) : machine_pci_nameless();
    struct text text = {.count = 0};
    const void *data = text.characters;
    ULONG number;

    nt_require_irql(nt, "IoGetDeviceProperty", PASSIVE_LEVEL);
    *ResultLength = sizeof number;
    if (put_text(&pci, properties_of(nt)->hardware_id, DeviceProperty, &text)) {
        *ResultLength = (ULONG)(text.count * sizeof(WCHAR));
    } else {
        data = &number;
        switch (DeviceProperty) {
        case DevicePropertyBusTypeGuid:
            data = &pci_bus;
            *ResultLength = sizeof pci_bus;
            break;
        case DevicePropertyLegacyBusType:
            number = PCIBus;
            break;
        case DevicePropertyBusNumber:
            number = 1;
            break;
        case DevicePropertyAddress: /* device number, function number */
            number = 0;
            break;
        case DevicePropertyUINumber: /* none */
            number = MAXULONG;
            break;
        case DevicePropertyBootConfiguration:
        case DevicePropertyBootConfigurationTranslated:
        case DevicePropertyFriendlyName:
        case DevicePropertyInstallState:
        case DevicePropertyRemovalPolicy:
            *ResultLength = 0;
            return STATUS_OBJECT_NAME_NOT_FOUND;
        default:
            *ResultLength = 0;
            return STATUS_INVALID_PARAMETER_2;
        }
    }
    if (BufferLength < *ResultLength)
        return STATUS_BUFFER_TOO_SMALL;
    memcpy(PropertyBuffer, data, *ResultLength);
    return STATUS_SUCCESS;
}

/* ---- Properties of the driver ---------------------------------------------------------------- */

struct property {
    struct list link;
    DEVPROPKEY key;
    LCID locale;
    DEVPROPTYPE type;
    ULONG bytes;
    UCHAR data[];
};

static struct property *find(struct nt *nt, const DEVPROPKEY *key, LCID locale)
{
    struct property *property;

    list_for_each (property, &properties_of(nt)->set, struct property, link) {
        if (property->locale == locale && memcmp(&property->key, key, sizeof *key) == 0)
            return property;
    }
    return NULL;
}

static void destroy(struct nt *nt, struct property *property)
{
    list_remove(&property->link);
    base_free(nt->services, property, sizeof *property + property->bytes);
}

static void fini(struct nt *nt)
{
    struct property *property, *following;

    list_for_each_safe (property, following, &properties_of(nt)->set, struct property, link)
        destroy(nt, property);
}

/* Only properties that the driver has set: the bus's own are IoGetDeviceProperty's. */
NTSTATUS NTAPI IoGetDevicePropertyData(PDEVICE_OBJECT Pdo, const DEVPROPKEY *PropertyKey, LCID Lcid,
                                       ULONG Flags, ULONG Size, PVOID Data, PULONG RequiredSize,
                                       PDEVPROPTYPE Type)
{
    struct nt *nt = nt_current();
    const struct property *property = find(nt, PropertyKey, Lcid);

    nt_require_irql(nt, "IoGetDevicePropertyData", APC_LEVEL);
    *RequiredSize = property ? property->bytes : 0;
    if (!property)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    *Type = property->type;
    if (Size < property->bytes)
        return STATUS_BUFFER_TOO_SMALL;
    memcpy(Data, property->data, property->bytes);
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI IoSetDevicePropertyData(PDEVICE_OBJECT Pdo, const DEVPROPKEY *PropertyKey, LCID Lcid,
                                       ULONG Flags, DEVPROPTYPE Type, ULONG Size, PVOID Data)
{
    struct nt *nt = nt_current();
    struct property *before = find(nt, PropertyKey, Lcid), *property = NULL;

    nt_require_irql(nt, "IoSetDevicePropertyData", APC_LEVEL);
    if (Data) {
        property = base_alloc(nt->services, sizeof *property + Size);
        if (!property)
            return STATUS_INSUFFICIENT_RESOURCES;
        property->key = *PropertyKey;
        property->locale = Lcid;
        property->type = Type;
        property->bytes = Size;
        memcpy(property->data, Data, Size);
        list_push_back(&properties_of(nt)->set, &property->link);
    } else if (!before) {
        return STATUS_OBJECT_NAME_NOT_FOUND;
    }
    if (before)
        destroy(nt, before);
    return STATUS_SUCCESS;
}

static void init(struct nt *nt)
{
    list_init(&properties_of(nt)->set);
}

static const struct nt_export services[] = {
    NT_SERVICE(IoGetDeviceProperty),
    NT_SERVICE(IoGetDevicePropertyData),
    NT_SERVICE(IoSetDevicePropertyData),
    {0},
};

const struct nt_area nt_device_property_area = {
    .exports = services,
    .state_bytes = sizeof(struct properties),
    .init = init,
    .fini = fini,
};
