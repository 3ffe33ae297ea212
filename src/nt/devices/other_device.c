#include "nt/devices/other_device.h"

#include "nt/devices/device_stack.h"
#include "nt/devices/driver_object.h"
#include "nt/devices/object.h"
#include "nt/machine/boundary.h"
#include "nt/nt_private.h"

#include "machine/machine_pci.h"

#include <string.h>

#define IOCTL_REGISTER              0x23003Fu
#define IOCTL_REGISTER_DISPLAY_ONLY 0x230043u
#define IOCTL_REGISTER_WIN8         0x230047u

struct neighbour {
    struct list link;
    struct nt_neighbour is;
    DEVICE_OBJECT *device; /* not in here: its alignment would be that of the list's end, too */
};

/* The state of the area. */
struct other_devices {
    struct list neighbours;        /* of struct neighbour */
    DEVICE_OBJECT graphics_device; /* \Device\DxgKrnl */
    DEVICE_OBJECT physical_device; /* the bus driver's, of the board */
    struct nt_object physical;     /* counts the references to it */
    const void *registrar;         /* the function that registers a driver: DxgkInitialize() */
    const void *display_registrar; /* DxgkInitializeDisplayOnlyDriver() */
};

static struct other_devices *devices_of(const struct nt *nt)
{
    return NT_STATE(nt, other_device);
}

static bool is_text(PCUNICODE_STRING string, const char *text)
{
    size_t length = strlen(text);

    if (string->Length != length * sizeof(WCHAR))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (RtlUpcaseUnicodeChar(string->Buffer[i]) != RtlUpcaseUnicodeChar((UCHAR)text[i]))
            return false;
    }
    return true;
}

/* ---- The devices ----------------------------------------------------------------------------- */

static DEVICE_OBJECT *describe_device(DEVICE_OBJECT *device)
{
    device->Type = 3; /* IO_TYPE_DEVICE */
    device->Size = sizeof *device;
    device->StackSize = 1;
    return device;
}

void nt_set_registrar(struct nt *nt, const void *function, const void *display_only)
{
    devices_of(nt)->registrar = function;
    devices_of(nt)->display_registrar = display_only;
}

NTSTATUS nt_add_neighbour(struct nt *nt, const struct nt_neighbour *is)
{
    struct neighbour *neighbour = base_alloc(nt->services, sizeof *neighbour);
    DEVICE_OBJECT *device = base_alloc(nt->services, sizeof *device);

    if (!neighbour || !device) {
        base_free(nt->services, neighbour, sizeof *neighbour);
        base_free(nt->services, device, sizeof *device);
        return STATUS_NO_MEMORY;
    }
    neighbour->is = *is;
    neighbour->device = describe_device(device);
    list_push_back(&devices_of(nt)->neighbours, &neighbour->link);
    return STATUS_SUCCESS;
}

static void keep(struct nt *nt, struct nt_object *object)
{
}

static const struct nt_object_type device_type = {"device object", keep};

DEVICE_OBJECT *nt_physical_device(struct nt *nt)
{
    DEVICE_OBJECT *device = &devices_of(nt)->physical_device;

    if (device->Type)
        return device;
    describe_device(device);
    device->DeviceType = FILE_DEVICE_UNKNOWN;
    device->DriverObject = nt_bus_driver_object(nt);
    device->DriverObject->DeviceObject = device;
    nt_object_init(nt, &devices_of(nt)->physical, &device_type, device);
    devices_of(nt)->physical.is_held = true;
    return device;
}

/* Of the devices, only that of the board is counted. */
PDEVICE_OBJECT NTAPI IoGetAttachedDeviceReference(PDEVICE_OBJECT Device)
{
    struct nt *nt = nt_current();
    PDEVICE_OBJECT top = nt_device_stack_top(Device);

    nt_require_irql(nt, "IoGetAttachedDeviceReference", DISPATCH_LEVEL);
    if (top == nt_physical_device(nt))
        nt_object_reference(&devices_of(nt)->physical);
    return top;
}

PDEVICE_OBJECT nt_find_other_device(struct nt *nt, PCUNICODE_STRING name)
{
    struct neighbour *neighbour;

    if (is_text(name, "\\Device\\DxgKrnl"))
        return describe_device(&devices_of(nt)->graphics_device);
    list_for_each (neighbour, &devices_of(nt)->neighbours, struct neighbour, link) {
        if (is_text(name, neighbour->is.path))
            return neighbour->device;
    }
    return NULL;
}

/* ---- Their drivers --------------------------------------------------------------------------- */

/* The graphics kernel is there already; no other driver is. */
static NTSTATUS find_driver(PCUNICODE_STRING Service)
{
    return is_text(Service, "\\Registry\\Machine\\System\\CurrentControlSet\\Services\\DXGKrnl")
               ? STATUS_SUCCESS
               : STATUS_OBJECT_NAME_NOT_FOUND;
}

NTSTATUS NTAPI ZwLoadDriver(PUNICODE_STRING Service)
{
    nt_require_irql(nt_current(), "ZwLoadDriver", PASSIVE_LEVEL);
    return find_driver(Service);
}

NTSTATUS NTAPI ZwUnloadDriver(PUNICODE_STRING Service)
{
    nt_require_irql(nt_current(), "ZwUnloadDriver", PASSIVE_LEVEL);
    return find_driver(Service);
}

/* ---- Requests to them ------------------------------------------------------------------------ */

/*
 * The bus driver answers requests for configuration space. It leaves other requests of Plug and
 * Play as they are.
 */
static NTSTATUS serve_bus(struct nt *nt, PIRP irp)
{
    const IO_STACK_LOCATION *location = IoGetCurrentIrpStackLocation(irp);
    ULONG offset = location->Parameters.ReadWriteConfig.Offset;
    ULONG length = location->Parameters.ReadWriteConfig.Length;
    PVOID buffer = location->Parameters.ReadWriteConfig.Buffer;

    if (location->MajorFunction != IRP_MJ_PNP || (location->MinorFunction != IRP_MN_READ_CONFIG &&
                                                  location->MinorFunction != IRP_MN_WRITE_CONFIG))
        return location->MajorFunction == IRP_MJ_PNP ? irp->IoStatus.Status
                                                     : STATUS_INVALID_DEVICE_REQUEST;
    if (location->Parameters.ReadWriteConfig.WhichSpace != PCI_WHICHSPACE_CONFIG || !nt->machine)
        return STATUS_INVALID_PARAMETER;
    irp->IoStatus.Information = location->MinorFunction == IRP_MN_READ_CONFIG
                                    ? machine_pci_read(nt->machine, offset, buffer, length)
                                    : machine_pci_write(nt->machine, offset, buffer, length);
    return STATUS_SUCCESS;
}

/* Where an answer goes: what the caller gave, or the buffer that a driver has set in the packet. */
static PVOID answer_room(const IRP *irp)
{
    return irp->UserBuffer ? irp->UserBuffer : irp->AssociatedIrp.SystemBuffer;
}

/* The function that registers, as the driver may call it. */
static NTSTATUS give_registrar(struct nt *nt, PIRP irp, const void *function)
{
    PVOID out = answer_room(irp);

    if (!out || IoGetCurrentIrpStackLocation(irp)->Parameters.DeviceIoControl.OutputBufferLength <
                    sizeof function)
        return STATUS_BUFFER_TOO_SMALL;
    if (!function)
        return STATUS_INVALID_DEVICE_STATE;
    if (nt->boundary)
        function = boundary_service(nt->boundary, function);
    if (!function)
        return STATUS_INSUFFICIENT_RESOURCES;
    memcpy(out, &function, sizeof function);
    irp->IoStatus.Information = sizeof function;
    return STATUS_SUCCESS;
}

/*
 * The bytes that were sent come back, as in a buffered request that nobody writes to, with the
 * answer in them.
 */
static NTSTATUS answer(const struct nt_neighbour *is, PIRP irp)
{
    const IO_STACK_LOCATION *location = IoGetCurrentIrpStackLocation(irp);
    const void *in = location->Parameters.DeviceIoControl.Type3InputBuffer
                         ? location->Parameters.DeviceIoControl.Type3InputBuffer
                         : irp->AssociatedIrp.SystemBuffer;
    PVOID out = answer_room(irp);
    size_t in_bytes = location->Parameters.DeviceIoControl.InputBufferLength;
    size_t bytes = location->Parameters.DeviceIoControl.OutputBufferLength;

    if (location->MajorFunction == IRP_MJ_READ || location->MajorFunction == IRP_MJ_WRITE) {
        irp->IoStatus.Information =
            location->MajorFunction == IRP_MJ_WRITE ? location->Parameters.Read.Length : 0;
        return STATUS_SUCCESS;
    }
    if (location->MajorFunction != IRP_MJ_DEVICE_CONTROL &&
        location->MajorFunction != IRP_MJ_INTERNAL_DEVICE_CONTROL)
        return STATUS_INVALID_DEVICE_REQUEST;
    if (!out)
        return STATUS_SUCCESS;
    if (in)
        memmove(out, in, in_bytes < bytes ? in_bytes : bytes);
    if (is->has_answer && is->offset + sizeof is->number <= bytes)
        memcpy((char *)out + is->offset, &is->number, sizeof is->number);
    irp->IoStatus.Information = bytes;
    return STATUS_SUCCESS;
}

NTSTATUS nt_serve_other_device(struct nt *nt, const DEVICE_OBJECT *device, PIRP irp)
{
    const IO_STACK_LOCATION *location = IoGetCurrentIrpStackLocation(irp);
    struct neighbour *neighbour;

    list_for_each (neighbour, &devices_of(nt)->neighbours, struct neighbour, link) {
        if (device == neighbour->device)
            return answer(&neighbour->is, irp);
    }
    if (device == &devices_of(nt)->physical_device)
        return serve_bus(nt, irp);
    if (device != &devices_of(nt)->graphics_device ||
        location->MajorFunction != IRP_MJ_INTERNAL_DEVICE_CONTROL)
        return STATUS_INVALID_DEVICE_REQUEST;
    switch (location->Parameters.DeviceIoControl.IoControlCode) {
    case IOCTL_REGISTER:
    case IOCTL_REGISTER_WIN8:
        return give_registrar(nt, irp, devices_of(nt)->registrar);
    case IOCTL_REGISTER_DISPLAY_ONLY:
        return give_registrar(nt, irp, devices_of(nt)->display_registrar);
    default:
        return STATUS_INVALID_DEVICE_REQUEST;
    }
}

/* ---- The area -------------------------------------------------------------------------------- */

static void init(struct nt *nt)
{
    list_init(&devices_of(nt)->neighbours);
}

static void fini(struct nt *nt)
{
    while (!list_is_empty(&devices_of(nt)->neighbours)) {
        struct neighbour *neighbour =
            container_of(list_first(&devices_of(nt)->neighbours), struct neighbour, link);

        list_remove(&neighbour->link);
        base_free(nt->services, neighbour->device, sizeof *neighbour->device);
        base_free(nt->services, neighbour, sizeof *neighbour);
    }
}

static void left(struct nt *nt, nt_leftover *tell, void *context)
{
    if (devices_of(nt)->physical.references > 1)
        tell(context, "references to the physical device object have not been given up");
}

static const struct nt_export services[] = {
    NT_SERVICE(IoGetAttachedDeviceReference),
    NT_SERVICE(ZwLoadDriver),
    NT_SERVICE(ZwUnloadDriver),
    {0},
};

const struct nt_area nt_other_device_area = {
    .exports = services,
    .state_bytes = sizeof(struct other_devices),
    .init = init,
    .fini = fini,
    .left = left,
};
