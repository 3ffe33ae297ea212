/*
 * Device objects with a security descriptor.
 *
 * Place   include/wdk.
 * Source  Public documentation: WdmlibIoCreateDeviceSecure, "SDDL for Device Objects".
 */
#ifndef _WDMSEC_H
#define _WDMSEC_H

#include "wdm.h"

EXTERN_C_START

/* As IoCreateDevice: nobody opens a device here, so nobody reads the descriptor. */
NTSTATUS NTAPI WdmlibIoCreateDeviceSecure(PDRIVER_OBJECT DriverObject, ULONG DeviceExtensionSize,
                                          PUNICODE_STRING DeviceName, DEVICE_TYPE DeviceType,
                                          ULONG DeviceCharacteristics, BOOLEAN Exclusive,
                                          PCUNICODE_STRING DefaultSDDLString,
                                          LPCGUID DeviceClassGuid, PDEVICE_OBJECT *DeviceObject);
/* Whoever asks has opened the device with every right. */
NTSTATUS NTAPI WdmlibIoValidateDeviceIoControlAccess(PIRP Irp, ULONG RequiredAccess);

EXTERN_C_END

#define IoCreateDeviceSecure            WdmlibIoCreateDeviceSecure
#define IoValidateDeviceIoControlAccess WdmlibIoValidateDeviceIoControlAccess

/* Descriptors of the documentation; each is a string of its own in each source that includes this.
 */
#define WDMSEC_DESCRIPTOR(name, text)                                                              \
    static WCHAR name##_TEXT[] = text;                                                             \
    static const UNICODE_STRING name = {sizeof(text) - sizeof(WCHAR), sizeof(text), name##_TEXT};

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-variable"
#endif
#ifdef _WIN32 /* elsewhere an L"" has wider characters than a WCHAR */
WDMSEC_DESCRIPTOR(SDDL_DEVOBJ_KERNEL_ONLY, L"D:P")
WDMSEC_DESCRIPTOR(SDDL_DEVOBJ_SYS_ALL, L"D:P(A;;GA;;;SY)")
WDMSEC_DESCRIPTOR(SDDL_DEVOBJ_SYS_ALL_ADM_ALL, L"D:P(A;;GA;;;SY)(A;;GA;;;BA)")
WDMSEC_DESCRIPTOR(SDDL_DEVOBJ_SYS_ALL_ADM_RX, L"D:P(A;;GA;;;SY)(A;;GRGX;;;BA)")
WDMSEC_DESCRIPTOR(SDDL_DEVOBJ_SYS_ALL_ADM_RWX_WORLD_R,
                  L"D:P(A;;GA;;;SY)(A;;GRGWGX;;;BA)(A;;GR;;;WD)")
WDMSEC_DESCRIPTOR(SDDL_DEVOBJ_SYS_ALL_ADM_RWX_WORLD_R_RES_R,
                  L"D:P(A;;GA;;;SY)(A;;GRGWGX;;;BA)(A;;GR;;;WD)(A;;GR;;;RC)")
WDMSEC_DESCRIPTOR(SDDL_DEVOBJ_SYS_ALL_ADM_RWX_WORLD_RW_RES_R,
                  L"D:P(A;;GA;;;SY)(A;;GRGWGX;;;BA)(A;;GRGW;;;WD)(A;;GR;;;RC)")
WDMSEC_DESCRIPTOR(SDDL_DEVOBJ_SYS_ALL_ADM_RWX_WORLD_RWX_RES_RWX,
                  L"D:P(A;;GA;;;SY)(A;;GRGWGX;;;BA)(A;;GRGWGX;;;WD)(A;;GRGWGX;;;RC)")
#endif
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
#undef WDMSEC_DESCRIPTOR

#endif
