/*
 * The device's life, its children, its interrupts; and the table of DDIs.
 */
#include "refdod/refdod.h"

#include "refdod/refdod_private.h"

#include <ntstatus.h>

#define POOL_TAG 0x446f6452u /* "RdoD" in memory */

/* ---- Life ------------------------------------------------------------------------------------ */

static NTSTATUS NTAPI add_device(IN_CONST_PDEVICE_OBJECT PhysicalDeviceObject,
                                 OUT_PPVOID MiniportDeviceContext)
{
    UNREFERENCED_PARAMETER(PhysicalDeviceObject);
    *MiniportDeviceContext =
        ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(struct refdod_adapter), POOL_TAG);
    return *MiniportDeviceContext ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static NTSTATUS NTAPI remove_device(IN_CONST_PVOID MiniportDeviceContext)
{
    ExFreePoolWithTag(MiniportDeviceContext, POOL_TAG);
    return STATUS_SUCCESS;
}

static VOID NTAPI unload(VOID)
{
}

/* The registers are the board's first memory range; its second one shows local memory. */
static NTSTATUS find_memory(const CM_RESOURCE_LIST *resources, PHYSICAL_ADDRESS ranges[2])
{
    const CM_PARTIAL_RESOURCE_LIST *list;
    ULONG i, found = 0;

    if (!resources || !resources->Count)
        return STATUS_DEVICE_NOT_CONNECTED;
    list = &resources->List[0].PartialResourceList;
    for (i = 0; i < list->Count && found < 2; i++) {
        const CM_PARTIAL_RESOURCE_DESCRIPTOR *range = &list->PartialDescriptors[i];

        if (range->Type == CmResourceTypeMemory || range->Type == CmResourceTypeMemoryLarge)
            ranges[found++] = range->u.Memory.Start;
    }
    return found == 2 ? STATUS_SUCCESS : STATUS_DEVICE_NOT_CONNECTED;
}

static void listen(const struct refdod_adapter *adapter)
{
    refdod_write(adapter, SGPU_REG_IRQ_STATUS, MAXULONG);
    refdod_write(adapter, SGPU_REG_IRQ_ENABLE, SGPU_IRQ_SYNC | SGPU_IRQ_CONNECTOR);
}

static NTSTATUS NTAPI start_device(IN_CONST_PVOID MiniportDeviceContext,
                                   IN_PDXGK_START_INFO DxgkStartInfo,
                                   IN_PDXGKRNL_INTERFACE DxgkInterface,
                                   OUT_PULONG NumberOfVideoPresentSources,
                                   OUT_PULONG NumberOfChildren)
{
    struct refdod_adapter *adapter = MiniportDeviceContext;
    HANDLE device = DxgkInterface->DeviceHandle;
    PHYSICAL_ADDRESS ranges[2];
    DXGK_DEVICE_INFO info;
    PVOID mapped;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(DxgkStartInfo);
    RtlZeroMemory(adapter, sizeof *adapter);
    RtlCopyMemory(&adapter->dxgkrnl, DxgkInterface,
                  DxgkInterface->Size < sizeof adapter->dxgkrnl ? DxgkInterface->Size
                                                                : sizeof adapter->dxgkrnl);
    RtlZeroMemory(&info, sizeof info);
    status = adapter->dxgkrnl.DxgkCbGetDeviceInformation(device, &info);
    if (NT_SUCCESS(status))
        status = find_memory(info.TranslatedResourceList, ranges);
    if (NT_SUCCESS(status))
        status = adapter->dxgkrnl.DxgkCbAcquirePostDisplayOwnership(device, &adapter->post);
    if (!NT_SUCCESS(status))
        return status;
    if (!adapter->post.Width)
        return STATUS_DEVICE_NOT_CONNECTED;
    adapter->frame_offset = (UINT64)(adapter->post.PhysicAddress.QuadPart - ranges[1].QuadPart);
    status = adapter->dxgkrnl.DxgkCbMapMemory(device, ranges[0], SGPU_BAR0_BYTES, FALSE, FALSE,
                                              MmNonCached, &mapped);
    if (!NT_SUCCESS(status))
        return status;
    adapter->registers = mapped;
    status =
        refdod_read(adapter, SGPU_REG_ID) == SGPU_ID ? STATUS_SUCCESS : STATUS_DEVICE_NOT_CONNECTED;
    if (NT_SUCCESS(status))
        status = adapter->dxgkrnl.DxgkCbMapMemory(device, adapter->post.PhysicAddress,
                                                  adapter->post.Pitch * adapter->post.Height, FALSE,
                                                  FALSE, MmWriteCombined, &mapped);
    if (!NT_SUCCESS(status)) {
        adapter->dxgkrnl.DxgkCbUnmapMemory(device, adapter->registers);
        adapter->registers = NULL;
        return status;
    }
    adapter->frame = mapped;
    listen(adapter);
    *NumberOfVideoPresentSources = 1;
    *NumberOfChildren = REFDOD_CHILDREN;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI stop_device(IN_CONST_PVOID MiniportDeviceContext)
{
    struct refdod_adapter *adapter = MiniportDeviceContext;
    HANDLE device = adapter->dxgkrnl.DeviceHandle;

    refdod_write(adapter, SGPU_REG_IRQ_ENABLE, 0);
    refdod_write(adapter, SGPU_REG_SCAN_CONTROL, SGPU_SCAN_HIDE);
    adapter->dxgkrnl.DxgkCbUnmapMemory(device, adapter->frame);
    adapter->dxgkrnl.DxgkCbUnmapMemory(device, adapter->registers);
    adapter->registers = adapter->frame = NULL;
    return STATUS_SUCCESS;
}

/* The next driver has the frame buffer as the firmware had set it up. */
static NTSTATUS NTAPI give_back(IN_CONST_PVOID MiniportDeviceContext,
                                D3DDDI_VIDEO_PRESENT_TARGET_ID TargetId,
                                PDXGK_DISPLAY_INFORMATION DisplayInfo)
{
    struct refdod_adapter *adapter = MiniportDeviceContext;

    *DisplayInfo = adapter->post;
    DisplayInfo->TargetId = TargetId;
    return stop_device(adapter);
}

/* Never fails. Without power the board forgets which interrupts it was to make. */
static NTSTATUS NTAPI set_power(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG DeviceUid,
                                IN_DEVICE_POWER_STATE DevicePowerState, IN_POWER_ACTION ActionType)
{
    struct refdod_adapter *adapter = MiniportDeviceContext;

    UNREFERENCED_PARAMETER(ActionType);
    if (DeviceUid == DISPLAY_ADAPTER_HW_ID && DevicePowerState == PowerDeviceD0)
        listen(adapter);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI query_adapter(IN_CONST_HANDLE hAdapter,
                                    IN_CONST_PDXGKARG_QUERYADAPTERINFO pQueryAdapterInfo)
{
    DXGK_DRIVERCAPS caps;

    UNREFERENCED_PARAMETER(hAdapter);
    if (pQueryAdapterInfo->Type != DXGKQAITYPE_DRIVERCAPS)
        return STATUS_NOT_SUPPORTED;
    RtlZeroMemory(&caps, sizeof caps);
    caps.HighestAcceptableAddress.QuadPart = -1;
    caps.WDDMVersion = DXGKDDI_WDDMv1_2;
    caps.SupportNonVGA = TRUE;
    RtlZeroMemory(pQueryAdapterInfo->pOutputData, pQueryAdapterInfo->OutputDataSize);
    RtlCopyMemory(pQueryAdapterInfo->pOutputData, &caps,
                  pQueryAdapterInfo->OutputDataSize < sizeof caps
                      ? pQueryAdapterInfo->OutputDataSize
                      : sizeof caps);
    return STATUS_SUCCESS;
}

/* ---- Children -------------------------------------------------------------------------------- */

/* VIDPN-001, VIDPN-002. */
static NTSTATUS NTAPI query_relations(IN_CONST_PVOID MiniportDeviceContext,
                                      INOUT_PDXGK_CHILD_DESCRIPTOR ChildRelations,
                                      IN_ULONG ChildRelationsSize)
{
    ULONG i;

    UNREFERENCED_PARAMETER(MiniportDeviceContext);
    for (i = 0; i < REFDOD_CHILDREN && (i + 1) * sizeof *ChildRelations < ChildRelationsSize; i++) {
        DXGK_CHILD_DESCRIPTOR *child = &ChildRelations[i];

        child->ChildDeviceType = TypeVideoOutput;
        child->ChildCapabilities.HpdAwareness = HpdAwarenessInterruptible;
        child->ChildCapabilities.Type.VideoOutput.InterfaceTechnology =
            D3DKMDT_VOT_DISPLAYPORT_EXTERNAL;
        child->ChildUid = REFDOD_CHILD + i;
    }
    return STATUS_SUCCESS;
}

static BOOLEAN is_connected(const struct refdod_adapter *adapter, ULONG child)
{
    return child == REFDOD_CHILD &&
           (refdod_read(adapter, SGPU_REG_CONNECTOR) & SGPU_CONNECTED) != 0;
}

static NTSTATUS NTAPI query_status(IN_CONST_PVOID MiniportDeviceContext,
                                   INOUT_PDXGK_CHILD_STATUS ChildStatus,
                                   IN_BOOLEAN NonDestructiveOnly)
{
    UNREFERENCED_PARAMETER(NonDestructiveOnly);
    if (ChildStatus->Type != StatusConnection)
        return STATUS_NOT_SUPPORTED;
    ChildStatus->HotPlug.Connected = is_connected(MiniportDeviceContext, ChildStatus->ChildUid);
    return STATUS_SUCCESS;
}

/* VIDPN-003. The base block of the monitor's EDID, as far as it is asked for. */
static NTSTATUS NTAPI query_descriptor(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG ChildUid,
                                       INOUT_PDXGK_DEVICE_DESCRIPTOR DeviceDescriptor)
{
    const struct refdod_adapter *adapter = MiniportDeviceContext;
    ULONG offset;

    if (!is_connected(adapter, ChildUid))
        return STATUS_MONITOR_NO_DESCRIPTOR;
    if (DeviceDescriptor->DescriptorOffset >= SGPU_EDID_BYTES)
        return STATUS_MONITOR_NO_MORE_DESCRIPTOR_DATA;
    for (offset = 0; offset + 4 <= DeviceDescriptor->DescriptorLength &&
                     DeviceDescriptor->DescriptorOffset + offset + 4 <= SGPU_EDID_BYTES;
         offset += 4) {
        const ULONG word =
            refdod_read(adapter, SGPU_REG_EDID + DeviceDescriptor->DescriptorOffset + offset);

        RtlCopyMemory((PUCHAR)DeviceDescriptor->DescriptorBuffer + offset, &word, 4);
    }
    return STATUS_SUCCESS;
}

/* ---- Interrupts ------------------------------------------------------------------------------ */

/* VIDPN-007: once, of the source of the present. */
static VOID tell_progress(struct refdod_adapter *adapter)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_DISPLAYONLY_PRESENT_PROGRESS;
    data.DisplayOnlyPresentProgress.ProgressId = DXGK_PRESENT_DISPLAYONLY_PROGRESS_ID_COMPLETE;
    adapter->is_pending = FALSE;
    adapter->dxgkrnl.DxgkCbNotifyInterrupt(adapter->dxgkrnl.DeviceHandle, &data);
}

static BOOLEAN NTAPI interrupt(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG MessageNumber)
{
    struct refdod_adapter *adapter = MiniportDeviceContext;
    const ULONG causes = adapter->registers ? refdod_read(adapter, SGPU_REG_IRQ_STATUS) &
                                                  (SGPU_IRQ_SYNC | SGPU_IRQ_CONNECTOR)
                                            : 0;

    UNREFERENCED_PARAMETER(MessageNumber);
    if (!causes)
        return FALSE;
    refdod_write(adapter, SGPU_REG_IRQ_STATUS, causes);
    if ((causes & SGPU_IRQ_SYNC) && adapter->is_pending)
        tell_progress(adapter);
    if (causes & SGPU_IRQ_CONNECTOR)
        adapter->has_changed = TRUE;
    adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
    return TRUE;
}

/* VIDPN-009. */
static VOID tell_connection(struct refdod_adapter *adapter)
{
    DXGK_CHILD_STATUS status;

    adapter->has_changed = FALSE;
    RtlZeroMemory(&status, sizeof status);
    status.Type = StatusConnection;
    status.ChildUid = REFDOD_CHILD;
    status.HotPlug.Connected = is_connected(adapter, REFDOD_CHILD);
    adapter->dxgkrnl.DxgkCbIndicateChildStatus(adapter->dxgkrnl.DeviceHandle, &status);
}

static VOID NTAPI run_dpc(IN_CONST_PVOID MiniportDeviceContext)
{
    struct refdod_adapter *adapter = MiniportDeviceContext;

    adapter->dxgkrnl.DxgkCbNotifyDpc(adapter->dxgkrnl.DeviceHandle);
    if (adapter->has_changed)
        tell_connection(adapter);
}

/* ---- The table ------------------------------------------------------------------------------- */

NTSTATUS NTAPI RefDodDriverEntry(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path)
{
    KMDDOD_INITIALIZATION_DATA table = {
        .Version = DXGKDDI_INTERFACE_VERSION_WIN8,
        .DxgkDdiAddDevice = add_device,
        .DxgkDdiStartDevice = start_device,
        .DxgkDdiStopDevice = stop_device,
        .DxgkDdiRemoveDevice = remove_device,
        .DxgkDdiInterruptRoutine = interrupt,
        .DxgkDdiDpcRoutine = run_dpc,
        .DxgkDdiQueryChildRelations = query_relations,
        .DxgkDdiQueryChildStatus = query_status,
        .DxgkDdiQueryDeviceDescriptor = query_descriptor,
        .DxgkDdiSetPowerState = set_power,
        .DxgkDdiUnload = unload,
        .DxgkDdiQueryAdapterInfo = query_adapter,
        .DxgkDdiSetPointerPosition = RefDodSetPointerPosition,
        .DxgkDdiSetPointerShape = RefDodSetPointerShape,
        .DxgkDdiIsSupportedVidPn = RefDodIsSupportedVidPn,
        .DxgkDdiRecommendFunctionalVidPn = RefDodRecommendFunctionalVidPn,
        .DxgkDdiEnumVidPnCofuncModality = RefDodEnumVidPnCofuncModality,
        .DxgkDdiSetVidPnSourceVisibility = RefDodSetVidPnSourceVisibility,
        .DxgkDdiCommitVidPn = RefDodCommitVidPn,
        .DxgkDdiUpdateActiveVidPnPresentPath = RefDodUpdateActiveVidPnPresentPath,
        .DxgkDdiPresentDisplayOnly = RefDodPresentDisplayOnly,
        .DxgkDdiStopDeviceAndReleasePostDisplayOwnership = give_back,
    };

    return DxgkInitializeDisplayOnlyDriver(driver, registry_path, &table);
}
