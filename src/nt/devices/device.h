/*
 * Devices, for the services that open them by name.
 *
 * Place      nt, private.
 */
#ifndef DRYDOCK_NT_DEVICE_H
#define DRYDOCK_NT_DEVICE_H

#include "nt/nt.h"

/* NULL: there is none of that name, which the host is told (nt_report_in_vain()). */
PDEVICE_OBJECT nt_find_device(struct nt *nt, PCUNICODE_STRING name);

/* A handle to a file object of a device by name. STATUS_OBJECT_NAME_NOT_FOUND. */
NTSTATUS nt_open_device(struct nt *nt, PCUNICODE_STRING name, HANDLE *out_handle);

#endif
