/*
 * Properties of the device: what Plug and Play knows of the modelled board.
 */
#include "nt/exports.h"

#include "nt/nt_internal.h"

#include <ntstatus.h>
#include <wdm.h>

#include <string.h>

/* A board of no vendor: 0xffff is nobody's. REG_MULTI_SZ, of one string. */
#define HARDWARE_ID "PCI\\VEN_FFFF&DEV_0001"

NTSTATUS NTAPI IoGetDeviceProperty(PDEVICE_OBJECT DeviceObject,
                                   DEVICE_REGISTRY_PROPERTY DeviceProperty, ULONG BufferLength,
                                   PVOID PropertyBuffer, PULONG ResultLength)
{
    WCHAR text[sizeof HARDWARE_ID + 1] = {0};

    (void)DeviceObject;
    *ResultLength = 0;
    if (nt_current()->irql != PASSIVE_LEVEL)
        KeBugCheckEx(NT_IRQL_NOT_LESS_OR_EQUAL, (ULONG_PTR)PropertyBuffer, nt_current()->irql, 0,
                     0);
    if (DeviceProperty != DevicePropertyHardwareID && DeviceProperty != DevicePropertyCompatibleIDs)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    for (size_t i = 0; i < sizeof HARDWARE_ID; i++)
        text[i] = (WCHAR)HARDWARE_ID[i];
    *ResultLength = sizeof text;
    if (BufferLength < sizeof text)
        return STATUS_BUFFER_TOO_SMALL;
    memcpy(PropertyBuffer, text, sizeof text);
    return STATUS_SUCCESS;
}

const struct nt_export nt_device_property_exports[] = {
    NT_SERVICE(IoGetDeviceProperty),
    {0},
};
