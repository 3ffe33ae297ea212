/*
 * DriverEntry: which DDIs a driver of either model registers.
 *
 * A display has no children and no modes here: of the DDIs of scanning out there are those two that
 * say which surface is shown, and the others are left NULL.
 */
#include "refkmd/ddi.h"
#include "refkmd/refkmd.h"

/*
 * Which GPU the driver is for, in words for a bench that plays it as an image: it cannot tell by
 * looking. A driver for a board that a system finds by its bus needs nothing of the kind.
 */
#ifdef _WIN32
__declspec(dllexport) extern const char DrydockGpu[];
__declspec(dllexport) const char DrydockGpu[] = "sgpu";
#endif

/* DDIs of all versions. */
static void fill_common(DRIVER_INITIALIZATION_DATA *table)
{
    RtlZeroMemory(table, sizeof *table);

    table->DxgkDdiStartDevice = RefKmdStartDevice;
    table->DxgkDdiStopDevice = RefKmdStopDevice;
    table->DxgkDdiRemoveDevice = RefKmdRemoveDevice;
    table->DxgkDdiSetPowerState = RefKmdSetPowerState;
    table->DxgkDdiNotifySurpriseRemoval = RefKmdNotifySurpriseRemoval;
    table->DxgkDdiQueryChildRelations = RefKmdQueryChildRelations;
    table->DxgkDdiResetDevice = RefKmdResetDevice;
    table->DxgkDdiUnload = RefKmdUnload;
    table->DxgkDdiInterruptRoutine = RefKmdInterruptRoutine;
    table->DxgkDdiDpcRoutine = RefKmdDpcRoutine;

    table->DxgkDdiQueryAdapterInfo = RefKmdQueryAdapterInfo;
    table->DxgkDdiGetNodeMetadata = RefKmdGetNodeMetadata;
    table->DxgkDdiCalibrateGpuClock = RefKmdCalibrateGpuClock;

    table->DxgkDdiGetStandardAllocationDriverData = RefKmdGetStandardAllocationDriverData;
    table->DxgkDdiCreateAllocation = RefKmdCreateAllocation;
    table->DxgkDdiDestroyAllocation = RefKmdDestroyAllocation;
    table->DxgkDdiDescribeAllocation = RefKmdDescribeAllocation;
    table->DxgkDdiOpenAllocation = RefKmdOpenAllocation;
    table->DxgkDdiCloseAllocation = RefKmdCloseAllocation;
    table->DxgkDdiCreateDevice = RefKmdCreateDevice;
    table->DxgkDdiDestroyDevice = RefKmdDestroyDevice;
    table->DxgkDdiCreateContext = RefKmdCreateContext;
    table->DxgkDdiDestroyContext = RefKmdDestroyContext;

    table->DxgkDdiBuildPagingBuffer = RefKmdBuildPagingBuffer;
    table->DxgkDdiPresent = RefKmdPresent;
    table->DxgkDdiSetVidPnSourceAddress = RefKmdSetVidPnSourceAddress;
    table->DxgkDdiSetVidPnSourceVisibility = RefKmdSetVidPnSourceVisibility;
    table->DxgkDdiPatch = RefKmdPatch;
    table->DxgkDdiSubmitCommand = RefKmdSubmitCommand;
    table->DxgkDdiPreemptCommand = RefKmdPreemptCommand;
    table->DxgkDdiQueryCurrentFence = RefKmdQueryCurrentFence;

    table->DxgkDdiResetFromTimeout = RefKmdResetFromTimeout;
    table->DxgkDdiRestartFromTimeout = RefKmdRestartFromTimeout;
    table->DxgkDdiQueryDependentEngineGroup = RefKmdQueryDependentEngineGroup;
    table->DxgkDdiQueryEngineStatus = RefKmdQueryEngineStatus;
    table->DxgkDdiResetEngine = RefKmdResetEngine;
    table->DxgkDdiCollectDbgInfo = RefKmdCollectDbgInfo;
    table->DxgkDdiCollectDbgInfo2 = RefKmdCollectDbgInfo2;
    table->DxgkDdiEscape = RefKmdEscape;
    table->DxgkDdiControlInterrupt = RefKmdControlInterrupt;
    table->DxgkDdiControlInterrupt2 = RefKmdControlInterrupt2;
    table->DxgkDdiControlInterrupt3 = RefKmdControlInterrupt3;
    table->DxgkDdiSetPowerComponentFState = RefKmdSetPowerComponentFState;
    table->DxgkDdiPowerRuntimeControlRequest = RefKmdPowerRuntimeControlRequest;
}

/* Commands hold physical addresses: the driver translates them and patches them in. */
static void fill_physical(DRIVER_INITIALIZATION_DATA *table, ULONG version)
{
    fill_common(table);
    table->Version = version;
    table->DxgkDdiAddDevice = RefKmdAddDevicePhysical;
    table->DxgkDdiAcquireSwizzlingRange = RefKmdAcquireSwizzlingRange;
    table->DxgkDdiReleaseSwizzlingRange = RefKmdReleaseSwizzlingRange;
    table->DxgkDdiRender = RefKmdRender;
    table->DxgkDdiRenderKm = RefKmdRenderKm;
}

static NTSTATUS enter_physical(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path, ULONG version)
{
    DRIVER_INITIALIZATION_DATA table;

    fill_physical(&table, version);
    return DxgkInitialize(driver, registry_path, &table);
}

/*
 * Commands hold virtual addresses and, but for presents and what the kernel draws, come from the
 * user-mode half as they are.
 */
static NTSTATUS enter_virtual(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path, ULONG version,
                              DXGKDDI_ADD_DEVICE *add_device)
{
    DRIVER_INITIALIZATION_DATA table;

    fill_common(&table);
    table.Version = version;
    table.DxgkDdiAddDevice = add_device;
    table.DxgkDdiSubmitCommandVirtual = RefKmdSubmitCommandVirtual;
    table.DxgkDdiRenderGdi = RefKmdRenderGdi;
    table.DxgkDdiCreateProcess = RefKmdCreateProcess;
    table.DxgkDdiDestroyProcess = RefKmdDestroyProcess;
    table.DxgkDdiSetRootPageTable = RefKmdSetRootPageTable;
    table.DxgkDdiGetRootPageTableSize = RefKmdGetRootPageTableSize;
    table.DxgkDdiMapCpuHostAperture = RefKmdMapCpuHostAperture;
    table.DxgkDdiUnmapCpuHostAperture = RefKmdUnmapCpuHostAperture;
    table.DxgkDdiCreateNativeFence = RefKmdCreateNativeFence;
    table.DxgkDdiDestroyNativeFence = RefKmdDestroyNativeFence;
    table.DxgkDdiBeginExclusiveAccess = RefKmdBeginExclusiveAccess;
    table.DxgkDdiEndExclusiveAccess = RefKmdEndExclusiveAccess;
    table.DxgkDdiUpdateMonitoredValues = RefKmdUpdateMonitoredValues;
    table.DxgkDdiCreateHwQueue = RefKmdCreateHwQueue;
    table.DxgkDdiDestroyHwQueue = RefKmdDestroyHwQueue;
    table.DxgkDdiSubmitCommandToHwQueue = RefKmdSubmitCommandToHwQueue;
    table.DxgkDdiPresentToHwQueue = RefKmdPresentToHwQueue;
    table.DxgkDdiSetupPriorityBands = RefKmdSetupPriorityBands;
    table.DxgkDdiSetContextSchedulingProperties = RefKmdSetContextSchedulingProperties;
    table.DxgkDdiSetSchedulingLogBuffer = RefKmdSetSchedulingLogBuffer;
    table.DxgkDdiSuspendContext = RefKmdSuspendContext;
    table.DxgkDdiResumeContext = RefKmdResumeContext;
    table.DxgkDdiResetHwEngine = RefKmdResetHwEngine;
    table.DxgkDdiResumeHwEngine = RefKmdResumeHwEngine;
    table.DxgkDdiSwitchToHwContextList = RefKmdSwitchToHwContextList;
    return DxgkInitialize(driver, registry_path, &table);
}

/* A driver that knows of one engine and of no contexts: devices take their place. */
NTSTATUS NTAPI RefKmdDriverEntryPhysicalVista(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path)
{
    DRIVER_INITIALIZATION_DATA table;

    fill_physical(&table, DXGKDDI_INTERFACE_VERSION_VISTA);
    table.DxgkDdiCreateContext = NULL;
    table.DxgkDdiDestroyContext = NULL;
    return DxgkInitialize(driver, registry_path, &table);
}

NTSTATUS NTAPI RefKmdDriverEntryPhysical(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path)
{
    return enter_physical(driver, registry_path, DXGKDDI_INTERFACE_VERSION_WDDM1_3);
}

NTSTATUS NTAPI RefKmdDriverEntryPhysicalWin7(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path)
{
    return enter_physical(driver, registry_path, DXGKDDI_INTERFACE_VERSION_WIN7);
}

NTSTATUS NTAPI RefKmdDriverEntryGpuMmu(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path)
{
    return enter_virtual(driver, registry_path, DXGKDDI_INTERFACE_VERSION_WDDM2_6,
                         RefKmdAddDeviceGpuMmu);
}

NTSTATUS NTAPI RefKmdDriverEntryGpuMmu30(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path)
{
    return enter_virtual(driver, registry_path, DXGKDDI_INTERFACE_VERSION_WDDM3_0,
                         RefKmdAddDeviceGpuMmu);
}

NTSTATUS NTAPI RefKmdDriverEntryGpuMmu32(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path)
{
    return enter_virtual(driver, registry_path, DXGKDDI_INTERFACE_VERSION_WDDM3_2,
                         RefKmdAddDeviceGpuMmu);
}

NTSTATUS NTAPI RefKmdDriverEntryIoMmu(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path)
{
    return enter_virtual(driver, registry_path, DXGKDDI_INTERFACE_VERSION_WDDM2_6,
                         RefKmdAddDeviceIoMmu);
}

NTSTATUS NTAPI RefKmdDriverEntryIoMmu30(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path)
{
    return enter_virtual(driver, registry_path, DXGKDDI_INTERFACE_VERSION_WDDM3_0,
                         RefKmdAddDeviceIoMmu);
}
