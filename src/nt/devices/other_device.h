/*
 * Devices of other drivers than the one that runs here: that of the graphics kernel, through which
 * the WDK's static library registers a driver, the bus driver's, and neighbours, which answer every
 * request with the bytes that were sent. Hosts make them with nt.h.
 *
 * Place      nt, private. Below devices.
 * Source     That library's DxgkInitialize() loads the service DXGKrnl, asks its device
 *            \Device\DxgKrnl by an internal device control request for the address of the function
 *            that registers, and calls that. The codes are known from published drivers that
 *            register or filter the same way: 0x23003F for drivers of Windows 7 and before,
 *            0x230047 since Windows 8, 0x230043 for display-only drivers.
 */
#ifndef DRYDOCK_NT_OTHER_DEVICE_H
#define DRYDOCK_NT_OTHER_DEVICE_H

#include "nt/nt.h"

#include <wdm/device.h>

/* NULL: none of them has that name. */
PDEVICE_OBJECT nt_find_other_device(struct nt *nt, PCUNICODE_STRING name);

/*
 * What its driver does with the request of the packet's current location: nothing stays pending,
 * and the caller completes it with the status. STATUS_INVALID_DEVICE_REQUEST: it serves no such
 * request.
 */
NTSTATUS nt_serve_other_device(struct nt *nt, const DEVICE_OBJECT *device, PIRP irp);

#endif
