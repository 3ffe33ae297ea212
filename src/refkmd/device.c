/*
 * Devices: the use that a process makes of the adapter. Where the driver knows several engines,
 * buffers and lists are described by contexts, and a device only holds them together. Where it
 * knows one and has no contexts, the device describes them, and its handle comes wherever that of a
 * context would: in Render, Patch and SubmitCommand.
 */
#include "refkmd/ddi.h"
#include "refkmd/memory/segments.h"
#include "refkmd/objects.h"
#include "refkmd/registers.h"
#include "refkmd/traits.h"

#include <ntstatus.h>

static void describe_buffers(const struct refkmd_adapter *adapter, DXGK_DEVICEINFO *info)
{
    info->DmaBufferSize = REFKMD_DMA_BUFFER_BYTES;
    info->DmaBufferSegmentSet = refkmd_dma_buffer_segments(adapter);
    info->DmaBufferPrivateDataSize = 0;
    info->AllocationListSize = REFKMD_LIST_ENTRIES;
    info->PatchLocationListSize = REFKMD_LIST_ENTRIES;
    info->Flags.Value = 0;
}

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
    if (!refkmd_has_contexts(adapter)) {
        device->own.signature = REFKMD_CONTEXT_SIGNATURE;
        device->own.device = device;
        describe_buffers(adapter, args->pInfo); /* in the place of Flags */
    }
    args->hDevice = device;
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RefKmdDestroyDevice(IN_CONST_HANDLE hDevice)
{
    refkmd_free(hDevice);
    return STATUS_SUCCESS;
}
