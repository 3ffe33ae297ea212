/*
 * DriverEntry: which DDIs a driver of either model registers.
 *
 * The device is render only: it has no video present sources and no children, so all DDIs of
 * scanning out are left NULL.
 */
#include "adapter.h"

/* What WDDM 1.3 and WDDM 2.6 have in common. */
static void fill_common(DRIVER_INITIALIZATION_DATA *table)
{
    RtlZeroMemory(table, sizeof *table);

    table->DxgkDdiStartDevice = RefKmdStartDevice;
    table->DxgkDdiStopDevice = RefKmdStopDevice;
    table->DxgkDdiRemoveDevice = RefKmdRemoveDevice;
    table->DxgkDdiSetPowerState = RefKmdSetPowerState;
    table->DxgkDdiQueryChildRelations = RefKmdQueryChildRelations;
    table->DxgkDdiResetDevice = RefKmdResetDevice;
    table->DxgkDdiUnload = RefKmdUnload;
    table->DxgkDdiInterruptRoutine = RefKmdInterruptRoutine;
    table->DxgkDdiDpcRoutine = RefKmdDpcRoutine;

    table->DxgkDdiQueryAdapterInfo = RefKmdQueryAdapterInfo;
    table->DxgkDdiGetNodeMetadata = RefKmdGetNodeMetadata;

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
    table->DxgkDdiSubmitCommand = RefKmdSubmitCommand;
    table->DxgkDdiPreemptCommand = RefKmdPreemptCommand;
    table->DxgkDdiQueryCurrentFence = RefKmdQueryCurrentFence;

    table->DxgkDdiResetFromTimeout = RefKmdResetFromTimeout;
    table->DxgkDdiRestartFromTimeout = RefKmdRestartFromTimeout;
    table->DxgkDdiQueryDependentEngineGroup = RefKmdQueryDependentEngineGroup;
    table->DxgkDdiQueryEngineStatus = RefKmdQueryEngineStatus;
    table->DxgkDdiResetEngine = RefKmdResetEngine;
    table->DxgkDdiCollectDbgInfo = RefKmdCollectDbgInfo;
}

/* Commands hold physical addresses: the driver translates them and patches them in. */
NTSTATUS NTAPI RefKmdDriverEntryPhysical(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path)
{
    DRIVER_INITIALIZATION_DATA table;

    fill_common(&table);
    table.Version = DXGKDDI_INTERFACE_VERSION_WDDM1_3;
    table.DxgkDdiAddDevice = RefKmdAddDevicePhysical;
    table.DxgkDdiRender = RefKmdRender;
    table.DxgkDdiPatch = RefKmdPatch;
    return DxgkInitialize(driver, registry_path, &table);
}

/* Commands hold virtual addresses and come from the user-mode half as they are. */
NTSTATUS NTAPI RefKmdDriverEntryGpuMmu(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path)
{
    DRIVER_INITIALIZATION_DATA table;

    fill_common(&table);
    table.Version = DXGKDDI_INTERFACE_VERSION_WDDM2_6;
    table.DxgkDdiAddDevice = RefKmdAddDeviceGpuMmu;
    table.DxgkDdiPatch = RefKmdPatch;
    table.DxgkDdiSubmitCommandVirtual = RefKmdSubmitCommandVirtual;
    table.DxgkDdiCreateProcess = RefKmdCreateProcess;
    table.DxgkDdiDestroyProcess = RefKmdDestroyProcess;
    table.DxgkDdiSetRootPageTable = RefKmdSetRootPageTable;
    table.DxgkDdiGetRootPageTableSize = RefKmdGetRootPageTableSize;
    return DxgkInitialize(driver, registry_path, &table);
}
