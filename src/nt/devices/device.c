/*
 * Devices that the driver creates, and their symbolic links. Both are blocks of the pool, so that
 * one that is left is a leak.
 */
#include "nt/devices/device.h"

#include "nt/devices/other_device.h"
#include "nt/nt_private.h"
#include "nt/text/unicode.h"

#include <wdmsec.h>

#include <string.h>

#define DEVICE_TAG 0x69766544u /* "Devi" */
#define LINK_TAG   0x6b6e694cu /* "Link" */

/* Behind the device's extension, in one block. */
struct nt_device {
    struct list link;
    PDEVICE_OBJECT object;
    UNICODE_STRING name;
};

struct symbolic_link {
    struct list link;
    UNICODE_STRING name;
};

/* The state of the area. */
struct devices {
    struct list created;        /* of struct nt_device */
    struct list symbolic_links; /* of struct symbolic_link */
};

static struct devices *devices_of(const struct nt *nt)
{
    return NT_STATE(nt, device);
}

/* ---- Devices --------------------------------------------------------------------------------- */

static struct nt_device *find_device(struct nt *nt, PCUNICODE_STRING name)
{
    struct nt_device *device;

    list_for_each (device, &devices_of(nt)->created, struct nt_device, link) {
        if (device->name.Length && nt_is_same_text(&device->name, name, TRUE))
            return device;
    }
    return NULL;
}

PDEVICE_OBJECT nt_find_device(struct nt *nt, PCUNICODE_STRING name)
{
    PDEVICE_OBJECT other = nt_find_other_device(nt, name);
    struct nt_device *own = other ? NULL : find_device(nt, name);

    if (other || own)
        return own ? own->object : other;
    nt_report_in_vain(nt, "device:", name, "");
    return NULL;
}

/* The system opens none of them; the driver itself may. */
NTSTATUS NTAPI IoCreateDevice(PDRIVER_OBJECT Driver, ULONG ExtensionBytes, PUNICODE_STRING Name,
                              DEVICE_TYPE Type, ULONG Characteristics, BOOLEAN IsExclusive,
                              PDEVICE_OBJECT *Device)
{
    struct nt *nt = nt_current();
    size_t extension = ((size_t)ExtensionBytes + 15) & ~(size_t)15,
           length = Name ? Name->Length : 0;
    struct nt_device *record;
    DEVICE_OBJECT *device;

    nt_require_irql(nt, "IoCreateDevice", APC_LEVEL);
    *Device = NULL;
    if (Driver != nt_driver_object(nt)) {
        nt_misuse(nt, "IoCreateDevice: this is not the driver object that DriverEntry got");
        return STATUS_INVALID_PARAMETER;
    }
    if (Name && Name->Length && find_device(nt, Name))
        return STATUS_OBJECT_NAME_COLLISION;
    device = ExAllocatePool2(POOL_FLAG_NON_PAGED,
                             sizeof *device + extension + sizeof *record + length, DEVICE_TAG);
    if (!device)
        return STATUS_INSUFFICIENT_RESOURCES;
    device->Type = 3;
    device->Size = (USHORT)(sizeof *device + ExtensionBytes);
    device->DriverObject = Driver;
    device->NextDevice = Driver->DeviceObject;
    device->Flags = DO_DEVICE_INITIALIZING | (IsExclusive ? DO_EXCLUSIVE : 0) |
                    (length ? DO_DEVICE_HAS_NAME : 0);
    device->Characteristics = Characteristics;
    device->DeviceType = Type;
    device->StackSize = 1;
    device->DeviceExtension = ExtensionBytes ? device + 1 : NULL;
    record = (struct nt_device *)(void *)((UCHAR *)(device + 1) + extension);
    record->object = device;
    record->name = (UNICODE_STRING){(USHORT)length, (USHORT)length, (PWSTR)(record + 1)};
    if (length)
        memcpy(record + 1, Name->Buffer, length);
    list_push_back(&devices_of(nt)->created, &record->link);
    Driver->DeviceObject = device;
    *Device = device;
    return STATUS_SUCCESS;
}

/* The descriptor has no effect: nobody else opens the device. */
NTSTATUS NTAPI WdmlibIoCreateDeviceSecure(PDRIVER_OBJECT Driver, ULONG ExtensionBytes,
                                          PUNICODE_STRING Name, DEVICE_TYPE Type,
                                          ULONG Characteristics, BOOLEAN IsExclusive,
                                          PCUNICODE_STRING Descriptor, LPCGUID Class,
                                          PDEVICE_OBJECT *Device)
{
    return IoCreateDevice(Driver, ExtensionBytes, Name, Type, Characteristics, IsExclusive, Device);
}

NTSTATUS NTAPI WdmlibIoValidateDeviceIoControlAccess(PIRP Irp, ULONG RequiredAccess)
{
    return STATUS_SUCCESS;
}

VOID NTAPI IoDeleteDevice(PDEVICE_OBJECT Device)
{
    struct nt *nt = nt_current();
    PDEVICE_OBJECT *place = &nt_driver_object(nt)->DeviceObject;
    struct nt_device *record;

    nt_require_irql(nt, "IoDeleteDevice", APC_LEVEL);
    list_for_each (record, &devices_of(nt)->created, struct nt_device, link) {
        if (record->object != Device)
            continue;
        while (*place && *place != Device)
            place = &(*place)->NextDevice;
        if (*place)
            *place = Device->NextDevice;
        list_remove(&record->link);
        ExFreePoolWithTag(Device, DEVICE_TAG);
        return;
    }
    nt_misuse(nt, "IoDeleteDevice: the driver has created no such device, or has deleted it");
}

/* ---- Symbolic links -------------------------------------------------------------------------- */

static struct symbolic_link *find_link(struct nt *nt, PCUNICODE_STRING name)
{
    struct symbolic_link *link;

    list_for_each (link, &devices_of(nt)->symbolic_links, struct symbolic_link, link) {
        if (nt_is_same_text(&link->name, name, TRUE))
            return link;
    }
    return NULL;
}

NTSTATUS NTAPI IoCreateSymbolicLink(PUNICODE_STRING Name, PUNICODE_STRING Device)
{
    struct nt *nt = nt_current();
    struct symbolic_link *link;

    nt_require_irql(nt_current(), "IoCreateSymbolicLink", PASSIVE_LEVEL);
    if (find_link(nt, Name))
        return STATUS_OBJECT_NAME_COLLISION;
    link = ExAllocatePool2(POOL_FLAG_PAGED, sizeof *link + Name->Length, LINK_TAG);
    if (!link)
        return STATUS_INSUFFICIENT_RESOURCES;
    link->name = (UNICODE_STRING){Name->Length, Name->Length, (PWSTR)(link + 1)};
    memcpy(link + 1, Name->Buffer, Name->Length);
    list_push_back(&devices_of(nt)->symbolic_links, &link->link);
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI IoDeleteSymbolicLink(PUNICODE_STRING Name)
{
    struct symbolic_link *link = find_link(nt_current(), Name);

    nt_require_irql(nt_current(), "IoDeleteSymbolicLink", PASSIVE_LEVEL);
    if (!link)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    list_remove(&link->link);
    ExFreePoolWithTag(link, LINK_TAG);
    return STATUS_SUCCESS;
}

static void init(struct nt *nt)
{
    list_init(&devices_of(nt)->created);
    list_init(&devices_of(nt)->symbolic_links);
}

static const struct nt_export services[] = {
    NT_SERVICE(IoCreateDevice),
    NT_SERVICE(WdmlibIoCreateDeviceSecure),
    NT_SERVICE(WdmlibIoValidateDeviceIoControlAccess),
    NT_SERVICE(IoDeleteDevice),
    NT_SERVICE(IoCreateSymbolicLink),
    NT_SERVICE(IoDeleteSymbolicLink),
    {0},
};

const struct nt_area nt_device_area = {
    .exports = services,
    .state_bytes = sizeof(struct devices),
    .init = init,
};
