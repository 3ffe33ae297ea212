#include "nt/rig/test_kernel.h"

#include "machine/machine_pci.h"

#include <string.h>
#include <wdm/irp.h>

static NTSTATUS NTAPI register_driver(PDRIVER_OBJECT driver, PUNICODE_STRING path, PVOID data)
{
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI register_display_only(void)
{
    return STATUS_SUCCESS;
}

/* Step by step what the static library does. */
static void drivers_register_through_the_device_of_the_graphics_kernel(void **state)
{
    struct test_kernel *kernel = *state;
    UNICODE_STRING service = U("\\Registry\\Machine\\System\\CurrentControlSet\\Services\\DXGKrnl");
    UNICODE_STRING name = U("\\Device\\DxgKrnl");
    static const ULONG codes[] = {0x23003F, 0x230047, 0x230043};

    nt_set_registrar(kernel->nt, (const void *)register_driver,
                     (const void *)register_display_only);
    for (int i = 0; i < 3; i++) {
        PFILE_OBJECT file;
        PDEVICE_OBJECT device;
        IO_STATUS_BLOCK result = {.Status = STATUS_PENDING};
        PVOID function = NULL;
        KEVENT event;
        PIRP irp;

        assert_int_equal(ZwLoadDriver(&service), STATUS_SUCCESS);
        assert_int_equal(IoGetDeviceObjectPointer(&name, FILE_ALL_ACCESS, &file, &device),
                         STATUS_SUCCESS);
        KeInitializeEvent(&event, NotificationEvent, FALSE);
        irp = IoBuildDeviceIoControlRequest(codes[i], device, NULL, 0, &function, sizeof function,
                                            TRUE, &event, &result);
        assert_non_null(irp);
        assert_int_equal(IofCallDriver(device, irp), STATUS_SUCCESS);
        assert_int_equal(result.Status, STATUS_SUCCESS);
        assert_int_equal(result.Information, sizeof function);
        assert_int_not_equal(KeReadStateEvent(&event), 0);
        assert_ptr_equal(function, i < 2 ? (void *)register_driver : (void *)register_display_only);
        ObDereferenceObject(file);
    }
    assert_int_equal(nt_pool_live_blocks(kernel->nt), 0);
}

static NTSTATUS ask(ULONG code, PDEVICE_OBJECT device, ULONG room, BOOLEAN is_internal)
{
    PVOID function;

    return IofCallDriver(device, IoBuildDeviceIoControlRequest(code, device, NULL, 0, &function,
                                                               room, is_internal, NULL, NULL));
}

static void other_requests_are_refused(void **state)
{
    struct test_kernel *kernel = *state;
    UNICODE_STRING name = U("\\Device\\DxgKrnl"), other = U("\\Device\\Video0");
    PFILE_OBJECT file;
    PDEVICE_OBJECT device;

    assert_int_equal(IoGetDeviceObjectPointer(&other, 0, &file, &device),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_null(file);
    assert_int_equal(ZwLoadDriver(&other), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(IoGetDeviceObjectPointer(&name, 0, &file, &device), STATUS_SUCCESS);
    assert_ptr_equal(IoGetRelatedDeviceObject(file), device);
    assert_int_equal(ask(0x23003F, device, 8, TRUE), STATUS_INVALID_DEVICE_STATE);
    nt_set_registrar(kernel->nt, (const void *)register_driver,
                     (const void *)register_display_only);
    assert_int_equal(ask(0x23003F, device, 4, TRUE), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(ask(0x23003F, device, 8, FALSE), STATUS_INVALID_DEVICE_REQUEST);
    assert_int_equal(ask(0x230000, device, 8, TRUE), STATUS_INVALID_DEVICE_REQUEST);
    assert_int_equal(ask(0x230043, device, 4, TRUE), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(ask(0x230043, device, 8, TRUE), STATUS_SUCCESS);
    /* teardown: the file object that is left is freed */
}

static void drivers_have_devices_and_links(void **state)
{
    struct test_kernel *kernel = *state;
    UNICODE_STRING link = U("\\DosDevices\\MyGpu"), same = U("\\DOSDEVICES\\MYGPU");
    UNICODE_STRING device_name = U("\\Device\\MyGpu");
    PDRIVER_OBJECT driver = nt_make_driver_object(kernel->nt, NULL);
    PDEVICE_OBJECT device, other, nameless;
    PFILE_OBJECT file;

    assert_int_equal(IoCreateDevice(driver, 64, &device_name, FILE_DEVICE_VIDEO, 0, FALSE, &device),
                     STATUS_SUCCESS);
    assert_int_equal(device->DeviceType, FILE_DEVICE_VIDEO);
    memset(device->DeviceExtension, 1, 64);
    assert_int_equal(ask(0x23003F, device, 8, TRUE), STATUS_INVALID_DEVICE_REQUEST);
    assert_int_equal(IoCreateSymbolicLink(&link, &device_name), STATUS_SUCCESS);
    assert_int_equal(IoCreateSymbolicLink(&same, &device_name), STATUS_OBJECT_NAME_COLLISION);
    assert_int_equal(nt_pool_live_blocks(kernel->nt), 2);
    assert_int_equal(IoDeleteSymbolicLink(&same), STATUS_SUCCESS);
    assert_int_equal(IoDeleteSymbolicLink(&same), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(IoCreateDevice(driver, 0, &device_name, FILE_DEVICE_VIDEO, 0, FALSE, &other),
                     STATUS_OBJECT_NAME_COLLISION);
    assert_null(other);
    assert_int_equal(IoCreateDevice(driver, 3, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &nameless),
                     STATUS_SUCCESS);
    assert_ptr_equal(driver->DeviceObject, nameless);
    assert_ptr_equal(nameless->NextDevice, device);
    assert_null(device->NextDevice);
    assert_ptr_equal(device->DriverObject, driver);
    assert_int_equal(IoGetDeviceObjectPointer(&device_name, FILE_ALL_ACCESS, &file, &other),
                     STATUS_SUCCESS);
    assert_ptr_equal(other, device);
    assert_ptr_equal(IoGetRelatedDeviceObject(file), device);
    ObDereferenceObject(file);
    IoDeleteDevice(device);
    assert_ptr_equal(driver->DeviceObject, nameless);
    assert_null(nameless->NextDevice);
    IoDeleteDevice(nameless);
    assert_null(driver->DeviceObject);
    assert_int_equal(nt_pool_live_blocks(kernel->nt), 0);
    assert_string_equal(kernel->misuse, "");
    IoDeleteDevice(device);
    assert_misuse("the driver has created no such device");
    assert_int_equal(IoCreateDevice(NULL, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device),
                     STATUS_INVALID_PARAMETER);
    assert_misuse("not the driver object that DriverEntry got");
    assert_non_null(nt_physical_device(kernel->nt)->DriverObject->MajorFunction[IRP_MJ_PNP]);
}

/* ---- Requests to a device of the driver's own ------------------------------------------------ */

#define DOUBLE_IT CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define WAIT      CTL_CODE(FILE_DEVICE_UNKNOWN, 0x801, METHOD_NEITHER, FILE_ANY_ACCESS)
#define FORGET    CTL_CODE(FILE_DEVICE_UNKNOWN, 0x802, METHOD_NEITHER, FILE_ANY_ACCESS)
#define SEND_ON   CTL_CODE(FILE_DEVICE_UNKNOWN, 0x803, METHOD_NEITHER, FILE_ANY_ACCESS)

static PIRP waiting;
static PDEVICE_OBJECT below;

static NTSTATUS NTAPI serve_request(PDEVICE_OBJECT device, PIRP irp)
{
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(irp);
    ULONG *number = irp->AssociatedIrp.SystemBuffer;

    assert_int_equal(location->MajorFunction, IRP_MJ_DEVICE_CONTROL);
    assert_ptr_equal(location->DeviceObject, device);
    switch (location->Parameters.DeviceIoControl.IoControlCode) {
    case DOUBLE_IT:
        assert_int_equal(location->Parameters.DeviceIoControl.InputBufferLength, sizeof *number);
        *number *= 2;
        irp->IoStatus.Status = STATUS_SUCCESS;
        irp->IoStatus.Information = sizeof *number;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
        return STATUS_SUCCESS;
    case WAIT:
        IoMarkIrpPending(irp);
        waiting = irp;
        return STATUS_PENDING;
    case SEND_ON:
        IoSkipCurrentIrpStackLocation(irp);
        return IofCallDriver(below, irp);
    default:
        return STATUS_UNSUCCESSFUL;
    }
}

static void a_driver_serves_its_own_device(void **state)
{
    struct test_kernel *kernel = *state;
    PDRIVER_OBJECT driver = nt_make_driver_object(kernel->nt, NULL);
    ULONG in = 21, out = 0;
    IO_STATUS_BLOCK result = {.Status = STATUS_PENDING};
    PDEVICE_OBJECT device;
    KEVENT event;
    PIRP irp;

    KeInitializeEvent(&event, NotificationEvent, FALSE);
    assert_int_equal(IoCreateDevice(driver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device),
                     STATUS_SUCCESS);
    irp = IoBuildDeviceIoControlRequest(DOUBLE_IT, device, &in, 4, &out, 4, FALSE, &event, &result);
    assert_int_equal(IofCallDriver(device, irp), STATUS_INVALID_DEVICE_REQUEST); /* nobody serves */
    assert_int_equal(result.Status, STATUS_INVALID_DEVICE_REQUEST);
    assert_int_equal(KeReadStateEvent(&event), 1);

    driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = serve_request;
    KeClearEvent(&event);
    irp = IoBuildDeviceIoControlRequest(DOUBLE_IT, device, &in, 4, &out, 4, FALSE, &event, &result);
    assert_int_equal(IofCallDriver(device, irp), STATUS_SUCCESS);
    assert_int_equal(out, 42);
    assert_int_equal(in, 21);
    assert_int_equal(result.Information, 4);
    assert_int_equal(KeReadStateEvent(&event), 1);

    below = nt_physical_device(kernel->nt);
    KeClearEvent(&event);
    irp = IoBuildDeviceIoControlRequest(SEND_ON, device, &in, 4, &out, 4, FALSE, &event, &result);
    assert_int_equal(IofCallDriver(device, irp), STATUS_INVALID_DEVICE_REQUEST);
    assert_int_equal(result.Status, STATUS_INVALID_DEVICE_REQUEST);
    assert_int_equal(KeReadStateEvent(&event), 1);
    assert_string_equal(kernel->misuse, "");

    KeClearEvent(&event);
    irp = IoBuildDeviceIoControlRequest(WAIT, device, NULL, 0, NULL, 0, FALSE, &event, &result);
    assert_int_equal(IofCallDriver(device, irp), STATUS_PENDING);
    assert_int_equal(KeReadStateEvent(&event), 0);
    waiting->IoStatus.Status = STATUS_CANCELLED;
    IoCompleteRequest(waiting, IO_NO_INCREMENT);
    assert_int_equal(result.Status, STATUS_CANCELLED);
    assert_int_equal(KeReadStateEvent(&event), 1);
    assert_string_equal(kernel->misuse, "");

    IoCompleteRequest(waiting, IO_NO_INCREMENT);
    assert_misuse("IofCompleteRequest: there is no such request, or it was completed");
    irp = IoBuildDeviceIoControlRequest(FORGET, device, NULL, 0, NULL, 0, FALSE, NULL, NULL);
    assert_int_equal(IofCallDriver(device, irp), STATUS_UNSUCCESSFUL);
    assert_misuse("returns 0xc0000001 and has not completed the request");
    IoDeleteDevice(device);
    assert_int_equal(nt_pool_live_blocks(kernel->nt), 0);
}

/* As a driver of old reads its identity. */
static void the_bus_driver_reads_configuration_space(void **state)
{
    struct test_kernel *kernel = *state;
    PDEVICE_OBJECT device = IoGetAttachedDeviceReference(nt_physical_device(kernel->nt));
    const struct machine_pci *pci = machine_pci(kernel->machine);
    USHORT ids[2] = {0};
    IO_STATUS_BLOCK result;
    PIO_STACK_LOCATION next;
    KEVENT event;
    PIRP irp;

    assert_ptr_equal(device, nt_physical_device(kernel->nt));
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    irp = IoBuildSynchronousFsdRequest(IRP_MJ_PNP, device, NULL, 0, NULL, &event, &result);
    irp->IoStatus.Status = STATUS_NOT_SUPPORTED;
    next = IoGetNextIrpStackLocation(irp);
    next->MinorFunction = IRP_MN_READ_CONFIG;
    next->Parameters.ReadWriteConfig.WhichSpace = PCI_WHICHSPACE_CONFIG;
    next->Parameters.ReadWriteConfig.Buffer = ids;
    next->Parameters.ReadWriteConfig.Length = sizeof ids;
    assert_int_equal(IofCallDriver(device, irp), STATUS_SUCCESS);
    assert_int_equal(result.Status, STATUS_SUCCESS);
    assert_int_equal(result.Information, sizeof ids);
    assert_int_equal(ids[0], pci->vendor_id);
    assert_int_equal(ids[1], pci->device_id);
    assert_int_equal(KeReadStateEvent(&event), 1);

    /* Of other minor functions it knows nothing. */
    irp = IoBuildSynchronousFsdRequest(IRP_MJ_PNP, device, NULL, 0, NULL, &event, &result);
    irp->IoStatus.Status = STATUS_NOT_SUPPORTED;
    IoGetNextIrpStackLocation(irp)->MinorFunction = 0;
    assert_int_equal(IofCallDriver(device, irp), STATUS_NOT_SUPPORTED);
    irp = IoBuildSynchronousFsdRequest(IRP_MJ_READ, device, ids, 4, NULL, &event, &result);
    assert_int_equal(IofCallDriver(device, irp), STATUS_INVALID_DEVICE_REQUEST);
    assert_int_equal(ObDereferenceObject(device), 1);
}

/* How a driver of a board talks to the firmware's, and what stands around it. */
static void neighbours_answer_with_what_was_sent(void **state)
{
    struct test_kernel *kernel = *state;
    const struct nt_neighbour neighbour = {"\\DosDevices\\RPIQ", true, 4, 0x80000000u};
    UNICODE_STRING name = U("\\DosDevices\\rpiq"), other = U("\\DosDevices\\RPIX");
    OBJECT_ATTRIBUTES attributes;
    ULONG buffer[3] = {11, 12, 13};
    IO_STATUS_BLOCK result;
    PDEVICE_OBJECT device;
    PFILE_OBJECT file;
    HANDLE handle;

    InitializeObjectAttributes(&attributes, &name, OBJ_KERNEL_HANDLE, NULL, NULL);
    assert_int_equal(ZwOpenFile(&handle, 0, &attributes, &result, 0, 0),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(nt_add_neighbour(kernel->nt, &neighbour), STATUS_SUCCESS);
    assert_int_equal(ZwOpenFile(&handle, 0, &attributes, &result, 0, 0), STATUS_SUCCESS);
    assert_int_equal(ObReferenceObjectByHandleWithTag(handle, 0, *PsThreadType, KernelMode, 1,
                                                      (PVOID *)&file, NULL),
                     STATUS_OBJECT_TYPE_MISMATCH);
    assert_int_equal(ObReferenceObjectByHandleWithTag(handle, 0, *IoFileObjectType, KernelMode, 1,
                                                      (PVOID *)&file, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(ZwClose(handle), STATUS_SUCCESS);

    device = IoGetRelatedDeviceObject(file);
    assert_int_equal(IofCallDriver(device, IoBuildDeviceIoControlRequest(
                                               1, device, buffer, sizeof buffer, buffer,
                                               sizeof buffer, FALSE, NULL, &result)),
                     STATUS_SUCCESS);
    assert_int_equal(result.Information, sizeof buffer);
    assert_int_equal(buffer[0], 11);
    assert_int_equal(buffer[1], 0x80000000u);
    assert_int_equal(buffer[2], 13);
    assert_int_equal(
        IofCallDriver(device, IoBuildSynchronousFsdRequest(IRP_MJ_WRITE, device, buffer, 7, NULL,
                                                           NULL, &result)),
        STATUS_SUCCESS);
    assert_int_equal(result.Information, 7);
    ObDereferenceObjectWithTag(file, 1);

    InitializeObjectAttributes(&attributes, &other, OBJ_KERNEL_HANDLE, NULL, NULL);
    assert_int_equal(ZwOpenFile(&handle, 0, &attributes, &result, 0, 0),
                     STATUS_OBJECT_NAME_NOT_FOUND);
}

static void a_board_has_the_hardware_id_that_it_is_given(void **state)
{
    struct test_kernel *kernel = *state;
    static const char id[] = "ACPI\\VEN_BCM&DEV_2850";
    WCHAR text[64];
    ULONG bytes;

    nt_set_hardware_id(kernel->nt, id);
    assert_int_equal(IoGetDeviceProperty(NULL, DevicePropertyHardwareID, 2, text, &bytes),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(bytes, (sizeof id + 1) * sizeof(WCHAR));
    assert_int_equal(IoGetDeviceProperty(NULL, DevicePropertyHardwareID, sizeof text, text, &bytes),
                     STATUS_SUCCESS);
    for (size_t i = 0; i < sizeof id; i++)
        assert_int_equal(text[i], (WCHAR)id[i]);
    assert_int_equal(text[sizeof id], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(drivers_register_through_the_device_of_the_graphics_kernel),
        KERNEL_TEST(other_requests_are_refused),
        KERNEL_TEST(drivers_have_devices_and_links),
        KERNEL_TEST(a_driver_serves_its_own_device),
        MACHINE_TEST(the_bus_driver_reads_configuration_space),
        KERNEL_TEST(neighbours_answer_with_what_was_sent),
        KERNEL_TEST(a_board_has_the_hardware_id_that_it_is_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
