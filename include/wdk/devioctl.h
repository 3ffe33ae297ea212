/*
 * Control codes: how they are made of a device type, a function, a method and an access.
 *
 * Place   include/wdk, above basetsd.h. Included by wdm.h.
 * Source  Public documentation: "Defining I/O Control Codes", "Specifying Device Types".
 */
#ifndef _DEVIOCTL_
#define _DEVIOCTL_

#include "basetsd.h"

typedef nt_ulong DEVICE_TYPE;

#define FILE_DEVICE_VIDEO   0x00000023u
#define FILE_DEVICE_UNKNOWN 0x00000022u

#define METHOD_BUFFERED   0
#define METHOD_IN_DIRECT  1
#define METHOD_OUT_DIRECT 2
#define METHOD_NEITHER    3

#define FILE_ANY_ACCESS     0
#define FILE_SPECIAL_ACCESS FILE_ANY_ACCESS
#define FILE_READ_ACCESS    0x0001
#define FILE_WRITE_ACCESS   0x0002

#define CTL_CODE(DeviceType, Function, Method, Access)                                             \
    (((DeviceType) << 16) | ((Access) << 14) | ((Function) << 2) | (Method))

#endif
