/*
 * The DDIs that the driver registers, each in the file of its subject.
 *
 * Place      refkmd, private: driver_entry.c fills the kernel's table with them.
 * Model      Functions named RefKmd* are called by the kernel, at the IRQL and in the
 *            synchronisation class that the DDI's page names; all others are the driver's own.
 */
#ifndef REFKMD_DDI_H
#define REFKMD_DDI_H

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

DXGKDDI_START_DEVICE RefKmdStartDevice;
DXGKDDI_STOP_DEVICE RefKmdStopDevice;
DXGKDDI_REMOVE_DEVICE RefKmdRemoveDevice;
DXGKDDI_ADD_DEVICE RefKmdAddDevicePhysical;
DXGKDDI_ADD_DEVICE RefKmdAddDeviceGpuMmu;
DXGKDDI_ADD_DEVICE RefKmdAddDeviceIoMmu;
DXGKDDI_SET_POWER_STATE RefKmdSetPowerState;
DXGKDDI_NOTIFY_SURPRISE_REMOVAL RefKmdNotifySurpriseRemoval;
DXGKDDI_BEGINEXCLUSIVEACCESS RefKmdBeginExclusiveAccess;
DXGKDDI_ENDEXCLUSIVEACCESS RefKmdEndExclusiveAccess;
DXGKDDI_QUERY_CHILD_RELATIONS RefKmdQueryChildRelations;
DXGKDDI_RESET_DEVICE RefKmdResetDevice;
DXGKDDI_UNLOAD RefKmdUnload;
DXGKDDI_INTERRUPT_ROUTINE RefKmdInterruptRoutine;
DXGKDDI_DPC_ROUTINE RefKmdDpcRoutine;

DXGKDDI_QUERYADAPTERINFO RefKmdQueryAdapterInfo;
DXGKDDI_GETNODEMETADATA RefKmdGetNodeMetadata;

DXGKDDI_CREATEALLOCATION RefKmdCreateAllocation;
DXGKDDI_DESTROYALLOCATION RefKmdDestroyAllocation;
DXGKDDI_DESCRIBEALLOCATION RefKmdDescribeAllocation;
DXGKDDI_OPENALLOCATIONINFO RefKmdOpenAllocation;
DXGKDDI_CLOSEALLOCATION RefKmdCloseAllocation;

DXGKDDI_CREATEPROCESS RefKmdCreateProcess;
DXGKDDI_DESTROYPROCESS RefKmdDestroyProcess;
DXGKDDI_CREATEDEVICE RefKmdCreateDevice;
DXGKDDI_DESTROYDEVICE RefKmdDestroyDevice;
DXGKDDI_CREATECONTEXT RefKmdCreateContext;
DXGKDDI_DESTROYCONTEXT RefKmdDestroyContext;
DXGKDDI_GETROOTPAGETABLESIZE RefKmdGetRootPageTableSize;
DXGKDDI_MAPCPUHOSTAPERTURE RefKmdMapCpuHostAperture;
DXGKDDI_UNMAPCPUHOSTAPERTURE RefKmdUnmapCpuHostAperture;
DXGKDDI_SETROOTPAGETABLE RefKmdSetRootPageTable;

DXGKDDI_BUILDPAGINGBUFFER RefKmdBuildPagingBuffer;
DXGKDDI_CREATENATIVEFENCE RefKmdCreateNativeFence;
DXGKDDI_DESTROYNATIVEFENCE RefKmdDestroyNativeFence;
DXGKDDI_UPDATEMONITOREDVALUES RefKmdUpdateMonitoredValues;
DXGKDDI_ACQUIRESWIZZLINGRANGE RefKmdAcquireSwizzlingRange;
DXGKDDI_RELEASESWIZZLINGRANGE RefKmdReleaseSwizzlingRange;
DXGKDDI_RENDER RefKmdRender;
DXGKDDI_PRESENT RefKmdPresent;
DXGKDDI_PATCH RefKmdPatch;
DXGKDDI_SUBMITCOMMAND RefKmdSubmitCommand;
DXGKDDI_SUBMITCOMMANDVIRTUAL RefKmdSubmitCommandVirtual;
DXGKDDI_PREEMPTCOMMAND RefKmdPreemptCommand;
DXGKDDI_QUERYCURRENTFENCE RefKmdQueryCurrentFence;
DXGKDDI_QUERYDEPENDENTENGINEGROUP RefKmdQueryDependentEngineGroup;
DXGKDDI_QUERYENGINESTATUS RefKmdQueryEngineStatus;
DXGKDDI_RESETENGINE RefKmdResetEngine;
DXGKDDI_RESETFROMTIMEOUT RefKmdResetFromTimeout;
DXGKDDI_RESTARTFROMTIMEOUT RefKmdRestartFromTimeout;
DXGKDDI_COLLECTDBGINFO RefKmdCollectDbgInfo;

#endif
