/*
 * Requests on their way: built for a device, and sent down its stack. The driver's own devices are
 * served by the dispatch routines of its object, all others by other_device.c.
 */
#include "nt/devices/other_device.h"
#include "nt/devices/request.h"
#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"

#include <string.h>
#include <wdm.h>

/* ---- Building -------------------------------------------------------------------------------- */

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

/* ---- Sending --------------------------------------------------------------------------------- */

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
    return end_with(nt, request, nt_serve_other_device(nt, Device, Irp));
}

/* False: there is no location for the next driver. */
BOOLEAN NTAPI IoForwardIrpSynchronously(PDEVICE_OBJECT Device, PIRP Irp)
{
    struct nt *nt = nt_current();
    KEVENT event;

    nt_require_irql(nt, "IoForwardIrpSynchronously", APC_LEVEL);
    if (!nt_request_of(nt, "IoForwardIrpSynchronously", Irp) || Irp->CurrentLocation <= 1)
        return FALSE;
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    if (Irp->CurrentLocation <= Irp->StackCount) /* else the driver has filled the next one in */
        IoCopyCurrentIrpStackLocationToNext(Irp);
    IoSetCompletionRoutine(Irp, nt_request_wake, &event, TRUE, TRUE, TRUE);
    if (IofCallDriver(Device, Irp) == STATUS_PENDING)
        KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, NULL);
    return TRUE;
}

static const struct nt_export services[] = {
    NT_SERVICE(IoBuildDeviceIoControlRequest), NT_SERVICE(IoBuildSynchronousFsdRequest),
    NT_SERVICE(IoBuildAsynchronousFsdRequest), NT_SERVICE(IofCallDriver),
    NT_SERVICE(IoForwardIrpSynchronously),     {0},
};

const struct nt_area nt_request_send_area = {.exports = services};
