/*
 * Devices: the use that a process makes of the adapter. The driver knows several engines, so
 * buffers and lists are described by contexts, and a device only holds them together.
 */
#include "refkmd/ddi.h"
#include "refkmd/objects.h"
#include "refkmd/registers.h"

#include <ntstatus.h>

NTSTATUS NTAPI RefKmdCreateDevice(IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CREATEDEVICE args)
{
    struct refkmd_adapter *adapter = hAdapter;
    struct refkmd_device *device = refkmd_alloc(sizeof *device);

    if (!device) {
        args->hDevice = NULL;
        return STATUS_NO_MEMORY;
    }
    device->signature = REFKMD_DEVICE_SIGNATURE;
    device->adapter = adapter;
    device->handle = args->hDevice;
    /* A kernel of WDDM 1.3 has no such field in the structure. */
    device->process = adapter->model == REFKMD_PHYSICAL ? NULL : args->hKmdProcess;
    device->pasid = adapter->model == REFKMD_IO_MMU ? args->Pasid : 0;
    args->hDevice = device;
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RefKmdDestroyDevice(IN_CONST_HANDLE hDevice)
{
    refkmd_free(hDevice);
    return STATUS_SUCCESS;
}
