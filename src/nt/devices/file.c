/*
 * Files: the volumes are there and empty. Only devices can be opened.
 */
#include "nt/devices/device.h"
#include "nt/nt_private.h"

#include <wdm.h>

NTSTATUS NTAPI ZwCreateFile(PHANDLE Handle, ACCESS_MASK Access, POBJECT_ATTRIBUTES Attributes,
                            PIO_STATUS_BLOCK Io, PLARGE_INTEGER Size, ULONG FileAttributes,
                            ULONG Share, ULONG Disposition, ULONG Options, PVOID Ea, ULONG EaLength)
{
    struct nt *nt = nt_current();
    NTSTATUS status;

    nt_require_irql(nt, "ZwCreateFile", PASSIVE_LEVEL);
    if (!Handle || !Attributes || !Attributes->ObjectName || !Io || Disposition > FILE_OVERWRITE_IF)
        return STATUS_INVALID_PARAMETER;
    status = nt_open_device(nt, Attributes->ObjectName, Handle);
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
    NT_SERVICE(ZwCreateFile),
    NT_SERVICE(ZwOpenFile),
    NT_SERVICE(ZwReadFile),
    NT_SERVICE(ZwWriteFile),
    NT_SERVICE(ZwQueryInformationFile),
    NT_SERVICE(ZwSetInformationFile),
    {0},
};

const struct nt_area nt_file_area = {.exports = services};
