/*
 * Devices and requests to them, as far as a display miniport needs them: that of the graphics
 * kernel, through which the WDK's static library registers a driver, those that a driver creates,
 * the bus driver's, and neighbours: devices of other drivers, which answer every request with the
 * bytes that were sent.
 *
 * That library's DxgkInitialize() loads the service DXGKrnl, asks its device \Device\DxgKrnl by an
 * internal device control request for the address of the function that registers, and calls that.
 * The codes are known from published drivers that register or filter the same way: 0x23003F for
 * drivers of Windows 7 and before, 0x230047 since Windows 8, 0x230043 for display-only drivers.
 */
#include "nt/devices/device.h"

#include "nt/devices/device_stack.h"
#include "nt/devices/driver_object.h"
#include "nt/devices/request.h"
#include "nt/machine/boundary.h"
#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"
#include "nt/text/unicode.h"

#include "machine/machine_pci.h"

#include <wdm/device.h>

#include <string.h>

#define DEVICE_TAG 0x69766544u /* "Devi" */
#define LINK_TAG   0x6b6e694cu /* "Link" */

#define IOCTL_REGISTER              0x23003Fu
#define IOCTL_REGISTER_DISPLAY_ONLY 0x230043u
#define IOCTL_REGISTER_WIN8         0x230047u

/* The state of the area. */
struct devices {
    struct list created;           /* of struct nt_device: by the driver */
    struct list symbolic_links;    /* of struct symbolic_link: by the driver */
    struct list neighbours;        /* of struct neighbour: devices of other drivers */
    DEVICE_OBJECT graphics_device; /* \Device\DxgKrnl */
    DEVICE_OBJECT physical_device; /* the bus driver's, of the board */
    struct nt_object physical;     /* counts the references to it */
    const void *registrar;         /* the function that registers a driver: DxgkInitialize() */
};

static struct devices *devices_of(const struct nt *nt)
{
    return NT_STATE(nt, device);
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

void nt_set_registrar(struct nt *nt, const void *function)
{
    devices_of(nt)->registrar = function;
}

/* ---- Services -------------------------------------------------------------------------------- */

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

/* ---- The graphics kernel's device ------------------------------------------------------------ */

struct _FILE_OBJECT {
    struct nt_object object;
    PDEVICE_OBJECT device;
};

struct neighbour {
    struct list link;
    struct nt_neighbour is;
    DEVICE_OBJECT *device; /* not in here: its alignment would be that of the list's end, too */
};

static PDEVICE_OBJECT device_of_name(struct nt *nt, PCUNICODE_STRING name);

static void destroy_file(struct nt *nt, struct nt_object *object)
{
    FILE_OBJECT *file = container_of(object, FILE_OBJECT, object);

    base_free(nt->services, file, sizeof *file);
}

const struct nt_object_type nt_file_type = {"file object", destroy_file};

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

static DEVICE_OBJECT *describe_device(DEVICE_OBJECT *device)
{
    device->Type = 3; /* IO_TYPE_DEVICE */
    device->Size = sizeof *device;
    device->StackSize = 1;
    return device;
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

/* NULL: there is no device of that name. */
static PDEVICE_OBJECT find_any_device(struct nt *nt, PCUNICODE_STRING name)
{
    struct neighbour *neighbour;

    if (is_text(name, "\\Device\\DxgKrnl"))
        return describe_device(&devices_of(nt)->graphics_device);
    list_for_each (neighbour, &devices_of(nt)->neighbours, struct neighbour, link) {
        if (is_text(name, neighbour->is.path))
            return neighbour->device;
    }
    return device_of_name(nt, name);
}

PDEVICE_OBJECT nt_find_device(struct nt *nt, PCUNICODE_STRING name)
{
    PDEVICE_OBJECT device = find_any_device(nt, name);

    if (!device)
        nt_report_in_vain(nt, "device:", name, "");
    return device;
}

static NTSTATUS open_device(struct nt *nt, PCUNICODE_STRING name, FILE_OBJECT **out_file)
{
    PDEVICE_OBJECT device = nt_find_device(nt, name);

    *out_file = NULL;
    if (!device)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    *out_file = base_alloc(nt->services, sizeof **out_file);
    if (!*out_file)
        return STATUS_INSUFFICIENT_RESOURCES;
    nt_object_init(nt, &(*out_file)->object, &nt_file_type, *out_file);
    (*out_file)->device = device;
    return STATUS_SUCCESS;
}

NTSTATUS nt_open_device(struct nt *nt, PCUNICODE_STRING name, HANDLE *out_handle)
{
    FILE_OBJECT *file;
    NTSTATUS status = open_device(nt, name, &file);

    *out_handle = NULL;
    if (!NT_SUCCESS(status))
        return status;
    status = nt_handle_create(nt, &file->object, out_handle);
    nt_object_dereference(nt, &file->object); /* the handle has one of its own */
    return status;
}

NTSTATUS NTAPI IoGetDeviceObjectPointer(PUNICODE_STRING Name, ACCESS_MASK Access,
                                        PFILE_OBJECT *File, PDEVICE_OBJECT *Device)
{
    struct nt *nt = nt_current();
    NTSTATUS status;

    nt_require_irql(nt, "IoGetDeviceObjectPointer", PASSIVE_LEVEL);
    status = open_device(nt, Name, File);
    *Device = *File ? nt_device_stack_top((*File)->device) : NULL;
    return status;
}

PDEVICE_OBJECT NTAPI IoGetRelatedDeviceObject(PFILE_OBJECT File)
{
    nt_require_irql(nt_current(), "IoGetRelatedDeviceObject", DISPATCH_LEVEL);
    return nt_device_stack_top(File->device);
}

/* ---- The bus driver's device ----------------------------------------------------------------- */

static void keep(struct nt *nt, struct nt_object *object)
{
}

static const struct nt_object_type device_type = {"device object", keep};

DEVICE_OBJECT *nt_physical_device(struct nt *nt)
{
    DEVICE_OBJECT *device = &devices_of(nt)->physical_device;

    if (device->Type)
        return device;
    device->Type = 3;
    device->Size = sizeof *device;
    device->StackSize = 1;
    device->DeviceType = FILE_DEVICE_UNKNOWN;
    device->DriverObject = nt_bus_driver_object(nt);
    device->DriverObject->DeviceObject = device;
    nt_object_init(nt, &devices_of(nt)->physical, &device_type, device);
    devices_of(nt)->physical.is_held = true;
    return device;
}

/* Of the objects, only that of the board is counted. */
PDEVICE_OBJECT NTAPI IoGetAttachedDeviceReference(PDEVICE_OBJECT Device)
{
    struct nt *nt = nt_current();
    PDEVICE_OBJECT top = nt_device_stack_top(Device);

    nt_require_irql(nt, "IoGetAttachedDeviceReference", DISPATCH_LEVEL);
    if (top == nt_physical_device(nt))
        nt_object_reference(&devices_of(nt)->physical);
    return top;
}

static void left(struct nt *nt, nt_leftover *tell, void *context)
{
    if (devices_of(nt)->physical.references > 1)
        tell(context, "references to the physical device object have not been given up");
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* One block for input and output. */
static bool give_buffer(struct nt_request *request, const void *in, ULONG in_bytes, ULONG out_bytes)
{
    ULONG bytes = in_bytes > out_bytes ? in_bytes : out_bytes;

    if (!bytes)
        return true;
    request->irp.AssociatedIrp.SystemBuffer =
        ExAllocatePool2(POOL_FLAG_NON_PAGED, bytes, NT_REQUEST_TAG);
    if (!request->irp.AssociatedIrp.SystemBuffer)
        return false;
    request->buffer_bytes = bytes;
    if (in_bytes)
        memcpy(request->irp.AssociatedIrp.SystemBuffer, in, in_bytes);
    return true;
}

PIRP NTAPI IoBuildDeviceIoControlRequest(ULONG Code, PDEVICE_OBJECT Device, PVOID In, ULONG InBytes,
                                         PVOID Out, ULONG OutBytes, BOOLEAN IsInternal,
                                         PKEVENT Event, PIO_STATUS_BLOCK Result)
{
    struct nt *nt = nt_current();
    struct nt_request *request =
        nt_request_create(nt, IsInternal ? IRP_MJ_INTERNAL_DEVICE_CONTROL : IRP_MJ_DEVICE_CONTROL,
                          Device, Event, Result);
    PIO_STACK_LOCATION next;

    nt_require_irql(nt, "IoBuildDeviceIoControlRequest", PASSIVE_LEVEL);
    if (!request)
        return NULL;
    next = IoGetNextIrpStackLocation(&request->irp);
    next->Parameters.DeviceIoControl.IoControlCode = Code;
    next->Parameters.DeviceIoControl.InputBufferLength = InBytes;
    next->Parameters.DeviceIoControl.OutputBufferLength = OutBytes;
    request->irp.UserBuffer = request->out = Out;
    request->out_bytes = OutBytes;
    if ((Code & 3) == METHOD_BUFFERED && Device && Device->DriverObject == nt_driver_object(nt)) {
        if (!give_buffer(request, In, InBytes, OutBytes)) {
            nt_request_free(request);
            return NULL;
        }
    } else {
        next->Parameters.DeviceIoControl.Type3InputBuffer = In;
    }
    return &request->irp;
}

/* NULL: no memory. */
static struct nt_request *build_request(struct nt *nt, UCHAR major, PDEVICE_OBJECT device,
                                        PVOID buffer, ULONG length, PLARGE_INTEGER offset,
                                        PKEVENT event, PIO_STATUS_BLOCK result)
{
    struct nt_request *request = nt_request_create(nt, major, device, event, result);
    PIO_STACK_LOCATION next;

    if (!request)
        return NULL;
    request->irp.UserBuffer = request->out = buffer;
    if (major != IRP_MJ_READ && major != IRP_MJ_WRITE)
        return request;
    next = IoGetNextIrpStackLocation(&request->irp);
    next->Parameters.Read.Length = length;
    if (offset)
        next->Parameters.Read.ByteOffset = *offset;
    if (!device || !(device->Flags & DO_BUFFERED_IO))
        return request;
    request->out_bytes = major == IRP_MJ_READ ? length : 0;
    if (give_buffer(request, buffer, major == IRP_MJ_WRITE ? length : 0, length))
        return request;
    nt_request_free(request);
    return NULL;
}

PIRP NTAPI IoBuildSynchronousFsdRequest(ULONG MajorFunction, PDEVICE_OBJECT Device, PVOID Buffer,
                                        ULONG Length, PLARGE_INTEGER StartingOffset, PKEVENT Event,
                                        PIO_STATUS_BLOCK Result)
{
    struct nt *nt = nt_current();
    struct nt_request *request = build_request(nt, (UCHAR)MajorFunction, Device, Buffer, Length,
                                               StartingOffset, Event, Result);

    nt_require_irql(nt, "IoBuildSynchronousFsdRequest", PASSIVE_LEVEL);
    return request ? &request->irp : NULL;
}

PIRP NTAPI IoBuildAsynchronousFsdRequest(ULONG MajorFunction, PDEVICE_OBJECT Device, PVOID Buffer,
                                         ULONG Length, PLARGE_INTEGER StartingOffset,
                                         PIO_STATUS_BLOCK Result)
{
    struct nt *nt = nt_current();
    struct nt_request *request = build_request(nt, (UCHAR)MajorFunction, Device, Buffer, Length,
                                               StartingOffset, NULL, Result);

    nt_require_irql(nt, "IoBuildAsynchronousFsdRequest", APC_LEVEL);
    if (!request)
        return NULL;
    request->is_of_driver = true;
    return &request->irp;
}

/*
 * The bus driver answers requests for configuration space. It leaves other requests of Plug and
 * Play as they are.
 */
static NTSTATUS serve_bus(struct nt *nt, struct nt_request *request)
{
    const IO_STACK_LOCATION *location = IoGetCurrentIrpStackLocation(&request->irp);
    ULONG offset = location->Parameters.ReadWriteConfig.Offset;
    ULONG length = location->Parameters.ReadWriteConfig.Length;
    PVOID buffer = location->Parameters.ReadWriteConfig.Buffer;

    if (location->MajorFunction != IRP_MJ_PNP || (location->MinorFunction != IRP_MN_READ_CONFIG &&
                                                  location->MinorFunction != IRP_MN_WRITE_CONFIG))
        return location->MajorFunction == IRP_MJ_PNP ? request->irp.IoStatus.Status
                                                     : STATUS_INVALID_DEVICE_REQUEST;
    if (location->Parameters.ReadWriteConfig.WhichSpace != PCI_WHICHSPACE_CONFIG || !nt->machine)
        return STATUS_INVALID_PARAMETER;
    request->irp.IoStatus.Information =
        location->MinorFunction == IRP_MN_READ_CONFIG
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
static NTSTATUS give_registrar(struct nt *nt, struct nt_request *request)
{
    const void *function = devices_of(nt)->registrar;
    PVOID out = answer_room(&request->irp);

    if (!out ||
        IoGetCurrentIrpStackLocation(&request->irp)->Parameters.DeviceIoControl.OutputBufferLength <
            sizeof function)
        return STATUS_BUFFER_TOO_SMALL;
    if (!function)
        return STATUS_INVALID_DEVICE_STATE;
    if (nt->boundary)
        function = boundary_service(nt->boundary, function);
    if (!function)
        return STATUS_INSUFFICIENT_RESOURCES;
    memcpy(out, &function, sizeof function);
    request->irp.IoStatus.Information = sizeof function;
    return STATUS_SUCCESS;
}

/*
 * The bytes that were sent come back, as in a buffered request that nobody writes to, with the
 * answer in them.
 */
static NTSTATUS answer(const struct nt_neighbour *is, struct nt_request *request)
{
    const IO_STACK_LOCATION *location = IoGetCurrentIrpStackLocation(&request->irp);
    const void *in = location->Parameters.DeviceIoControl.Type3InputBuffer
                         ? location->Parameters.DeviceIoControl.Type3InputBuffer
                         : request->irp.AssociatedIrp.SystemBuffer;
    PVOID out = answer_room(&request->irp);
    size_t in_bytes = location->Parameters.DeviceIoControl.InputBufferLength;
    size_t bytes = location->Parameters.DeviceIoControl.OutputBufferLength;

    if (location->MajorFunction == IRP_MJ_READ || location->MajorFunction == IRP_MJ_WRITE) {
        request->irp.IoStatus.Information =
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
    request->irp.IoStatus.Information = bytes;
    return STATUS_SUCCESS;
}

static NTSTATUS serve(struct nt *nt, const DEVICE_OBJECT *device, struct nt_request *request)
{
    const IO_STACK_LOCATION *location = IoGetCurrentIrpStackLocation(&request->irp);
    struct neighbour *neighbour;

    list_for_each (neighbour, &devices_of(nt)->neighbours, struct neighbour, link) {
        if (device == neighbour->device)
            return answer(&neighbour->is, request);
    }
    if (device == &devices_of(nt)->physical_device)
        return serve_bus(nt, request);
    if (device != &devices_of(nt)->graphics_device ||
        location->MajorFunction != IRP_MJ_INTERNAL_DEVICE_CONTROL)
        return STATUS_INVALID_DEVICE_REQUEST;
    switch (location->Parameters.DeviceIoControl.IoControlCode) {
    case IOCTL_REGISTER:
    case IOCTL_REGISTER_WIN8:
        return give_registrar(nt, request);
    case IOCTL_REGISTER_DISPLAY_ONLY:
        nt_report_missing(nt, "DxgkInitializeDisplayOnlyDriver");
        return STATUS_NOT_SUPPORTED;
    default:
        return STATUS_INVALID_DEVICE_REQUEST;
    }
}

static NTSTATUS end_with(struct nt *nt, struct nt_request *request, NTSTATUS status)
{
    request->irp.IoStatus.Status = status;
    nt_request_complete(nt, request);
    return status;
}

/* The dispatch routine in the driver's object, for a device that the driver created. */
static NTSTATUS dispatch(struct nt *nt, PDEVICE_OBJECT device, struct nt_request *request)
{
    PIRP irp = &request->irp;
    const uint64_t number = request->number;
    const CHAR level = irp->CurrentLocation;
    UCHAR major = IoGetCurrentIrpStackLocation(irp)->MajorFunction;
    PDRIVER_DISPATCH function =
        major <= IRP_MJ_MAXIMUM_FUNCTION
            ? (PDRIVER_DISPATCH)nt_driver_function(
                  nt, (const void *)nt_driver_object(nt)->MajorFunction[major])
            : NULL;
    NTSTATUS status;

    if (!function)
        return end_with(nt, request, STATUS_INVALID_DEVICE_REQUEST);
    status = function(device, irp);
    if (status == STATUS_PENDING || !nt_request_is_alive(nt, irp, number) ||
        irp->CurrentLocation > level)
        return status;
    nt_misuse(nt, "a dispatch routine returns 0x%08x and has not completed the request",
              (unsigned)status);
    return end_with(nt, request, status);
}

/* Other drivers leave no request pending: it is complete when the call returns. */
NTSTATUS NTAPI IofCallDriver(PDEVICE_OBJECT Device, PIRP Irp)
{
    struct nt *nt = nt_current();
    struct nt_request *request = nt_request_of(nt, "IofCallDriver", Irp);

    nt_require_irql(nt, "IofCallDriver", DISPATCH_LEVEL);
    if (!request)
        return STATUS_INVALID_PARAMETER;
    if (Irp->CurrentLocation <= 1)
        KeBugCheckEx(NT_NO_MORE_IRP_STACK_LOCATIONS, (ULONG_PTR)Irp, 0, 0, 0);
    IoSetNextIrpStackLocation(Irp);
    IoGetCurrentIrpStackLocation(Irp)->DeviceObject = Device;
    if (Device->DriverObject == nt_driver_object(nt))
        return dispatch(nt, Device, request);
    return end_with(nt, request, serve(nt, Device, request));
}

/* ---- The driver's own ------------------------------------------------------------------------ */

/* Behind the device's extension, in one block of the pool: one that is left is a leak. */
struct nt_device {
    struct list link;
    PDEVICE_OBJECT object;
    UNICODE_STRING name;
};

static struct nt_device *find_device(struct nt *nt, PCUNICODE_STRING name)
{
    struct nt_device *device;

    list_for_each (device, &devices_of(nt)->created, struct nt_device, link) {
        if (device->name.Length && nt_is_same_text(&device->name, name, TRUE))
            return device;
    }
    return NULL;
}

static PDEVICE_OBJECT device_of_name(struct nt *nt, PCUNICODE_STRING name)
{
    struct nt_device *device = find_device(nt, name);

    return device ? device->object : NULL;
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

VOID NTAPI IoDeleteDevice(PDEVICE_OBJECT Device)
{
    struct nt *nt = nt_current();
    PDEVICE_OBJECT *place = &nt_driver_object(nt)->DeviceObject;
    struct nt_device *record;

    nt_require_irql(nt, "IoDeleteDevice", APC_LEVEL);
    list_for_each (record, &devices_of(nt)->created, struct nt_device, link) {
        if (record->object != Device)
            continue;
        nt_device_stack_forget(nt, Device);
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

/* In the pool, so that one that is left is a leak. */
struct symbolic_link {
    struct list link;
    UNICODE_STRING name;
};

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
    struct devices *devices = devices_of(nt);

    list_init(&devices->created);
    list_init(&devices->symbolic_links);
    list_init(&devices->neighbours);
}

static const struct nt_export services[] = {
    NT_SERVICE(ZwLoadDriver),
    NT_SERVICE(ZwUnloadDriver),
    NT_SERVICE(IoGetDeviceObjectPointer),
    NT_SERVICE(IoGetRelatedDeviceObject),
    NT_SERVICE(IoBuildDeviceIoControlRequest),
    NT_SERVICE(IoBuildSynchronousFsdRequest),
    NT_SERVICE(IoBuildAsynchronousFsdRequest),
    NT_SERVICE(IoGetAttachedDeviceReference),
    NT_SERVICE(IofCallDriver),
    NT_SERVICE(IoCreateDevice),
    NT_SERVICE(IoDeleteDevice),
    NT_SERVICE(IoCreateSymbolicLink),
    NT_SERVICE(IoDeleteSymbolicLink),
    {0},
};

const struct nt_area nt_device_area = {
    .exports = services,
    .state_bytes = sizeof(struct devices),
    .init = init,
    .fini = fini,
    .left = left,
};
