/*
 * Files: the volumes are there and empty. Only devices can be opened; whoever opens one talks to
 * the top of its stack.
 */
#include "nt/devices/device.h"
#include "nt/devices/device_stack.h"
#include "nt/devices/object.h"
#include "nt/nt_private.h"

#include <wdm.h>

/* ---- File objects of devices ----------------------------------------------------------------- */

struct _FILE_OBJECT {
    struct nt_object object;
    PDEVICE_OBJECT device;
};

static void destroy_file(struct nt *nt, struct nt_object *object)
{
    FILE_OBJECT *file = container_of(object, FILE_OBJECT, object);

    base_free(nt->services, file, sizeof *file);
}

const struct nt_object_type nt_file_type = {"file object", destroy_file};

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

static NTSTATUS open_handle(struct nt *nt, PCUNICODE_STRING name, HANDLE *out_handle)
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

/* ---- Files ----------------------------------------------------------------------------------- */

NTSTATUS NTAPI ZwCreateFile(PHANDLE Handle, ACCESS_MASK Access, POBJECT_ATTRIBUTES Attributes,
                            PIO_STATUS_BLOCK Io, PLARGE_INTEGER Size, ULONG FileAttributes,
                            ULONG Share, ULONG Disposition, ULONG Options, PVOID Ea, ULONG EaLength)
{
    struct nt *nt = nt_current();
    NTSTATUS status;

    nt_require_irql(nt, "ZwCreateFile", PASSIVE_LEVEL);
    if (!Handle || !Attributes || !Attributes->ObjectName || !Io || Disposition > FILE_OVERWRITE_IF)
        return STATUS_INVALID_PARAMETER;
    status = open_handle(nt, Attributes->ObjectName, Handle);
    if (status == STATUS_OBJECT_NAME_NOT_FOUND && Disposition != FILE_OPEN &&
        Disposition != FILE_OVERWRITE)
        status = STATUS_ACCESS_DENIED;
    Io->Status = status;
    Io->Information = 0;
    return status;
}

NTSTATUS NTAPI ZwOpenFile(PHANDLE Handle, ACCESS_MASK Access, POBJECT_ATTRIBUTES Attributes,
                          PIO_STATUS_BLOCK Io, ULONG Share, ULONG Options)
{
    return ZwCreateFile(Handle, Access, Attributes, Io, NULL, 0, Share, FILE_OPEN, Options, NULL,
                        0);
}

static NTSTATUS refuse(const char *service, HANDLE handle)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt, service, PASSIVE_LEVEL);
    return nt_handle_find(nt, handle, NULL) ? STATUS_OBJECT_TYPE_MISMATCH : STATUS_INVALID_HANDLE;
}

NTSTATUS NTAPI ZwReadFile(HANDLE Handle, HANDLE Event, PVOID Apc, PVOID ApcContext,
                          PIO_STATUS_BLOCK Io, PVOID Buffer, ULONG Length, PLARGE_INTEGER Offset,
                          PULONG Key)
{
    return refuse("ZwReadFile", Handle);
}

NTSTATUS NTAPI ZwWriteFile(HANDLE Handle, HANDLE Event, PVOID Apc, PVOID ApcContext,
                           PIO_STATUS_BLOCK Io, PVOID Buffer, ULONG Length, PLARGE_INTEGER Offset,
                           PULONG Key)
{
    return refuse("ZwWriteFile", Handle);
}

NTSTATUS NTAPI ZwQueryInformationFile(HANDLE Handle, PIO_STATUS_BLOCK Io, PVOID Information,
                                      ULONG Length, ULONG Class)
{
    return refuse("ZwQueryInformationFile", Handle);
}

NTSTATUS NTAPI ZwSetInformationFile(HANDLE Handle, PIO_STATUS_BLOCK Io, PVOID Information,
                                    ULONG Length, ULONG Class)
{
    return refuse("ZwSetInformationFile", Handle);
}

static const struct nt_export services[] = {
    NT_SERVICE(IoGetDeviceObjectPointer),
    NT_SERVICE(IoGetRelatedDeviceObject),
    NT_SERVICE(ZwCreateFile),
    NT_SERVICE(ZwOpenFile),
    NT_SERVICE(ZwReadFile),
    NT_SERVICE(ZwWriteFile),
    NT_SERVICE(ZwQueryInformationFile),
    NT_SERVICE(ZwSetInformationFile),
    {0},
};

const struct nt_area nt_file_area = {.exports = services};
