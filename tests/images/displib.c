/*
 * DxgkInitialize() as a static library that asks the graphics kernel's device for the function that
 * registers.
 *
 * The reference driver is compiled with -DDxgkInitialize=LibraryInitialize and linked with this.
 */
#include <dispmprt.h>

#define IOCTL_REGISTER_WIN8 0x230047

typedef NTSTATUS NTAPI REGISTER(PDRIVER_OBJECT Driver, PUNICODE_STRING Path,
                                PDRIVER_INITIALIZATION_DATA Data);

NTSTATUS NTAPI LibraryInitialize(PDRIVER_OBJECT Driver, PUNICODE_STRING Path,
                                 PDRIVER_INITIALIZATION_DATA Data)
{
    UNICODE_STRING service, name;
    PDEVICE_OBJECT device;
    PFILE_OBJECT file;
    IO_STATUS_BLOCK result;
    REGISTER *function = NULL;
    NTSTATUS status;
    KEVENT event;
    PIRP irp;

    RtlInitUnicodeString(&service,
                         L"\\Registry\\Machine\\System\\CurrentControlSet\\Services\\DXGKrnl");
    RtlInitUnicodeString(&name, L"\\Device\\DxgKrnl");
    status = ZwLoadDriver(&service);
    if (!NT_SUCCESS(status) && status != STATUS_IMAGE_ALREADY_LOADED)
        return status;
    status = IoGetDeviceObjectPointer(&name, FILE_ALL_ACCESS, &file, &device);
    if (!NT_SUCCESS(status))
        return status;
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    irp = IoBuildDeviceIoControlRequest(IOCTL_REGISTER_WIN8, device, NULL, 0, &function,
                                        sizeof function, TRUE, &event, &result);
    status = irp ? IofCallDriver(device, irp) : STATUS_INSUFFICIENT_RESOURCES;
    if (status == STATUS_PENDING) {
        KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, NULL);
        status = result.Status;
    }
    ObDereferenceObject(file);
    return NT_SUCCESS(status) ? function(Driver, Path, Data) : status;
}
