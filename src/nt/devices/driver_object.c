/*
 * Driver objects: that of the driver, and that of the bus driver whose device the driver sits on.
 *
 * DriverEntry finds the object as the I/O manager makes it: every request refused, no Unload.
 * Registering with the graphics kernel takes the driver over: its dispatch table, AddDevice and
 * Unload are the graphics kernel's from then on, and replace the functions that the driver has put
 * there. Functions that it puts there afterwards stay.
 */
#include "nt/devices/driver_object.h"

#include "nt/machine/boundary.h"
#include "nt/nt_private.h"

#include "base/bits.h"
#include "image/image.h"

#include <wdm/device.h>

struct driver {
    DRIVER_OBJECT object;
    DRIVER_EXTENSION extension;
    UNICODE_STRING hardware;
    WCHAR name_room[24], service_room[16], hardware_room[48];
    PDRIVER_UNLOAD graphics_unload; /* in the object when it was taken over; NULL: it was not */
    void (*finish)(void *context);  /* of nt_unload_driver(); NULL: done, or not under way */
    void *finish_context;
};

/* The state of the area. */
struct drivers {
    struct driver driver, bus;
    void *loading; /* of nt_set_loading() */
    bool is_display_only;
    const void *present; /* of a display-only driver */
};

static struct drivers *drivers_of(const struct nt *nt)
{
    return NT_STATE(nt, driver_object);
}

/*
 * For requests that a driver does not serve: of the I/O manager at first, and of the graphics
 * kernel for devices not its own.
 */
static NTSTATUS NTAPI refuse_request(PDEVICE_OBJECT device, PIRP irp)
{
    irp->IoStatus.Status = STATUS_INVALID_DEVICE_REQUEST;
    irp->IoStatus.Information = 0;
    IofCompleteRequest(irp, IO_NO_INCREMENT);
    return STATUS_INVALID_DEVICE_REQUEST;
}

/* It does the same under another address, so that a driver sees a change when it compares. */
static NTSTATUS NTAPI graphics_dispatch(PDEVICE_OBJECT device, PIRP irp)
{
    return refuse_request(device, irp);
}

static NTSTATUS NTAPI graphics_add_device(PDRIVER_OBJECT driver, PDEVICE_OBJECT device)
{
    nt_misuse(nt_current(), "the graphics kernel's AddDevice is called by the driver");
    return STATUS_INVALID_DEVICE_REQUEST;
}

static VOID NTAPI graphics_unload(PDRIVER_OBJECT driver)
{
    nt_finish_unload(nt_current());
}

/* A function of ours as the driver may call it; NULL: no memory. */
static void *for_driver(struct nt *nt, const void *function)
{
    return nt->boundary ? boundary_service(nt->boundary, function) : (void *)(uintptr_t)function;
}

static void set_dispatch(struct nt *nt, DRIVER_OBJECT *driver, PDRIVER_DISPATCH dispatch)
{
    PDRIVER_DISPATCH function = (PDRIVER_DISPATCH)for_driver(nt, (const void *)dispatch);

    for (size_t i = 0; i < ARRAY_COUNT(driver->MajorFunction); i++)
        driver->MajorFunction[i] = function;
}

static void name(UNICODE_STRING *string, PWSTR room, size_t most, const char *text)
{
    size_t length = 0;

    for (; text[length] && length < most; length++)
        room[length] = (UCHAR)text[length];
    *string =
        (UNICODE_STRING){(USHORT)(length * sizeof(WCHAR)), (USHORT)(length * sizeof(WCHAR)), room};
}

static void make(struct nt *nt, struct driver *driver, const char *driver_name, const char *service)
{
    *driver = (struct driver){
        .object = {.Type = IO_TYPE_DRIVER,
                   .Size = sizeof driver->object,
                   .DriverExtension = &driver->extension,
                   .HardwareDatabase = &driver->hardware},
        .extension = {.DriverObject = &driver->object},
    };
    name(&driver->object.DriverName, driver->name_room, ARRAY_COUNT(driver->name_room),
         driver_name);
    name(&driver->extension.ServiceKeyName, driver->service_room, ARRAY_COUNT(driver->service_room),
         service);
    name(&driver->hardware, driver->hardware_room, ARRAY_COUNT(driver->hardware_room),
         "\\REGISTRY\\MACHINE\\HARDWARE\\DESCRIPTION\\SYSTEM");
    set_dispatch(nt, &driver->object, refuse_request);
}

DRIVER_OBJECT *nt_make_driver_object(struct nt *nt, const void *entry)
{
    make(nt, &drivers_of(nt)->driver, "\\Driver\\drydock", "drydock");
    drivers_of(nt)->driver.object.DriverInit = (PDRIVER_INITIALIZE)(uintptr_t)entry;
    if (nt->image) {
        drivers_of(nt)->driver.object.DriverInit =
            (PDRIVER_INITIALIZE)(uintptr_t)image_entry(nt->image);
        drivers_of(nt)->driver.object.DriverStart = (PVOID)(uintptr_t)image_base(nt->image);
        drivers_of(nt)->driver.object.DriverSize = (ULONG)image_size(nt->image);
    }
    return &drivers_of(nt)->driver.object;
}

DRIVER_OBJECT *nt_driver_object(struct nt *nt)
{
    return &drivers_of(nt)->driver.object;
}

DRIVER_OBJECT *nt_bus_driver_object(struct nt *nt)
{
    if (!drivers_of(nt)->bus.object.Type)
        make(nt, &drivers_of(nt)->bus, "\\Driver\\pci", "pci");
    return &drivers_of(nt)->bus.object;
}

void nt_set_loading(struct nt *nt, void *loading)
{
    drivers_of(nt)->loading = loading;
}

void *nt_loading(const struct nt *nt)
{
    return drivers_of(nt)->loading;
}

void nt_set_display_only(struct nt *nt, const void *present)
{
    drivers_of(nt)->is_display_only = true;
    drivers_of(nt)->present = present;
}

bool nt_is_display_only(const struct nt *nt, const void **out_present)
{
    *out_present = drivers_of(nt)->present;
    return drivers_of(nt)->is_display_only;
}

const void *nt_function_for_driver(struct nt *nt, const void *function)
{
    return for_driver(nt, function);
}

void nt_take_driver_over(struct nt *nt)
{
    DRIVER_OBJECT *driver = &drivers_of(nt)->driver.object;

    set_dispatch(nt, driver, graphics_dispatch);
    driver->DriverExtension->AddDevice =
        (PDRIVER_ADD_DEVICE)for_driver(nt, (const void *)graphics_add_device);
    driver->DriverUnload = (PDRIVER_UNLOAD)for_driver(nt, (const void *)graphics_unload);
    drivers_of(nt)->driver.graphics_unload = driver->DriverUnload;
}

void nt_give_driver_back(struct nt *nt)
{
    DRIVER_OBJECT *driver = &drivers_of(nt)->driver.object;

    set_dispatch(nt, driver, refuse_request);
    driver->DriverExtension->AddDevice = NULL;
    driver->DriverUnload = NULL;
    drivers_of(nt)->driver.graphics_unload = NULL;
    drivers_of(nt)->is_display_only = false;
    drivers_of(nt)->present = NULL;
}

bool nt_unload_driver(struct nt *nt, void (*finish)(void *context), void *context)
{
    DRIVER_OBJECT *driver = &drivers_of(nt)->driver.object;
    PDRIVER_UNLOAD unload;

    drivers_of(nt)->driver.finish = finish;
    drivers_of(nt)->driver.finish_context = context;
    if (!driver->DriverUnload)
        return true; /* such a driver stays for as long as the system runs */
    if (driver->DriverUnload == drivers_of(nt)->driver.graphics_unload) {
        nt_finish_unload(nt);
        return true;
    }
    unload = (PDRIVER_UNLOAD)nt_driver_function(nt, (const void *)driver->DriverUnload);
    if (!unload)
        return false;
    unload(driver);
    drivers_of(nt)->driver.finish = NULL;
    return true;
}

void nt_finish_unload(struct nt *nt)
{
    void (*finish)(void *context) = drivers_of(nt)->driver.finish;

    drivers_of(nt)->driver.finish = NULL;
    if (finish)
        finish(drivers_of(nt)->driver.finish_context);
}

const struct nt_area nt_driver_object_area = {.state_bytes = sizeof(struct drivers)};
