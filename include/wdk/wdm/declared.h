/*
 * Services that are documented and that the bench does not have: sections, other processes, events
 * and devices by name, the error log, power settings. They are declared, so that a driver compiles
 * that names them; one that calls them is told which service is not there.
 *
 * Place   include/wdk/wdm.
 * Source  Public documentation of each function.
 */
#ifndef WDM_DECLARED_H
#define WDM_DECLARED_H

#include "irp.h"
#include "process.h"

typedef struct _ACCESS_STATE *PACCESS_STATE;

typedef enum _SECTION_INHERIT { ViewShare = 1, ViewUnmap = 2 } SECTION_INHERIT;

typedef VOID(NTAPI *PIO_APC_ROUTINE)(PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock,
                                     ULONG Reserved);

typedef VOID NTAPI EXPAND_STACK_CALLOUT(PVOID Parameter);
typedef EXPAND_STACK_CALLOUT *PEXPAND_STACK_CALLOUT;

typedef NTSTATUS NTAPI POWER_SETTING_CALLBACK(LPCGUID SettingGuid, PVOID Value, ULONG ValueLength,
                                              PVOID Context);
typedef POWER_SETTING_CALLBACK *PPOWER_SETTING_CALLBACK;

typedef struct _IO_ERROR_LOG_PACKET {
    UCHAR MajorFunctionCode;
    UCHAR RetryCount;
    USHORT DumpDataSize;
    USHORT NumberOfStrings;
    USHORT StringOffset;
    USHORT EventCategory;
    NTSTATUS ErrorCode;
    ULONG UniqueErrorValue;
    NTSTATUS FinalStatus;
    ULONG SequenceNumber;
    ULONG IoControlCode;
    LARGE_INTEGER DeviceOffset;
    ULONG DumpData[1];
} IO_ERROR_LOG_PACKET, *PIO_ERROR_LOG_PACKET;

EXTERN_C_START

/* Sections and user mode's memory. */
NTSYSAPI NTSTATUS NTAPI ZwCreateSection(PHANDLE SectionHandle, ACCESS_MASK DesiredAccess,
                                        POBJECT_ATTRIBUTES ObjectAttributes,
                                        PLARGE_INTEGER MaximumSize, ULONG SectionPageProtection,
                                        ULONG AllocationAttributes, HANDLE FileHandle);
NTSYSAPI NTSTATUS NTAPI ZwOpenSection(PHANDLE SectionHandle, ACCESS_MASK DesiredAccess,
                                      POBJECT_ATTRIBUTES ObjectAttributes);
NTSYSAPI NTSTATUS NTAPI ZwMapViewOfSection(HANDLE SectionHandle, HANDLE ProcessHandle,
                                           PVOID *BaseAddress, ULONG_PTR ZeroBits,
                                           SIZE_T CommitSize, PLARGE_INTEGER SectionOffset,
                                           SIZE_T *ViewSize, SECTION_INHERIT InheritDisposition,
                                           ULONG AllocationType, ULONG Win32Protect);
NTSYSAPI NTSTATUS NTAPI ZwUnmapViewOfSection(HANDLE ProcessHandle, PVOID BaseAddress);
NTKERNELAPI NTSTATUS NTAPI MmMapViewInSystemSpace(PVOID Section, PVOID *MappedBase,
                                                  SIZE_T *ViewSize);
NTKERNELAPI NTSTATUS NTAPI MmUnmapViewInSystemSpace(PVOID MappedBase);
NTSYSAPI NTSTATUS NTAPI ZwAllocateVirtualMemory(HANDLE ProcessHandle, PVOID *BaseAddress,
                                                ULONG_PTR ZeroBits, SIZE_T *RegionSize,
                                                ULONG AllocationType, ULONG Protect);
NTSYSAPI NTSTATUS NTAPI ZwFreeVirtualMemory(HANDLE ProcessHandle, PVOID *BaseAddress,
                                            SIZE_T *RegionSize, ULONG FreeType);
NTKERNELAPI HANDLE NTAPI MmSecureVirtualMemory(PVOID Address, SIZE_T Size, ULONG ProbeMode);
NTKERNELAPI VOID NTAPI MmUnsecureVirtualMemory(HANDLE SecureHandle);

/* Processes, threads and objects by name or handle. */
NTSYSAPI NTSTATUS NTAPI ZwOpenProcess(PHANDLE ProcessHandle, ACCESS_MASK DesiredAccess,
                                      POBJECT_ATTRIBUTES ObjectAttributes, PCLIENT_ID ClientId);
NTSYSAPI NTSTATUS NTAPI ZwTerminateProcess(HANDLE ProcessHandle, NTSTATUS ExitStatus);
NTSYSAPI NTSTATUS NTAPI ZwDuplicateObject(HANDLE SourceProcessHandle, HANDLE SourceHandle,
                                          HANDLE TargetProcessHandle, PHANDLE TargetHandle,
                                          ACCESS_MASK DesiredAccess, ULONG HandleAttributes,
                                          ULONG Options);
NTKERNELAPI NTSTATUS NTAPI PsLookupThreadByThreadId(HANDLE ThreadId, PETHREAD *Thread);
NTKERNELAPI NTSTATUS NTAPI ObOpenObjectByPointer(PVOID Object, ULONG HandleAttributes,
                                                 PACCESS_STATE PassedAccessState,
                                                 ACCESS_MASK DesiredAccess, POBJECT_TYPE ObjectType,
                                                 KPROCESSOR_MODE AccessMode, PHANDLE Handle);
NTSYSAPI NTSTATUS NTAPI ZwCreateEvent(PHANDLE EventHandle, ACCESS_MASK DesiredAccess,
                                      POBJECT_ATTRIBUTES ObjectAttributes, EVENT_TYPE EventType,
                                      BOOLEAN InitialState);
NTSYSAPI NTSTATUS NTAPI ZwOpenEvent(PHANDLE EventHandle, ACCESS_MASK DesiredAccess,
                                    POBJECT_ATTRIBUTES ObjectAttributes);
NTSYSAPI NTSTATUS NTAPI ZwSetEvent(HANDLE EventHandle, PLONG PreviousState);
NTSYSAPI NTSTATUS NTAPI ZwWaitForSingleObject(HANDLE Handle, BOOLEAN Alertable,
                                              PLARGE_INTEGER Timeout);
NTSYSAPI NTSTATUS NTAPI ZwDeviceIoControlFile(HANDLE FileHandle, HANDLE Event,
                                              PIO_APC_ROUTINE ApcRoutine, PVOID ApcContext,
                                              PIO_STATUS_BLOCK IoStatusBlock, ULONG IoControlCode,
                                              PVOID InputBuffer, ULONG InputBufferLength,
                                              PVOID OutputBuffer, ULONG OutputBufferLength);
NTSYSAPI NTSTATUS NTAPI ZwOpenSymbolicLinkObject(PHANDLE LinkHandle, ACCESS_MASK DesiredAccess,
                                                 POBJECT_ATTRIBUTES ObjectAttributes);
NTSYSAPI NTSTATUS NTAPI ZwQuerySymbolicLinkObject(HANDLE LinkHandle, PUNICODE_STRING LinkTarget,
                                                  PULONG ReturnedLength);

/* The driver, the error log, power settings, timers, firmware, stacks. */
NTKERNELAPI NTSTATUS NTAPI IoAllocateDriverObjectExtension(PDRIVER_OBJECT DriverObject,
                                                           PVOID ClientIdentificationAddress,
                                                           ULONG DriverObjectExtensionSize,
                                                           PVOID *DriverObjectExtension);
NTKERNELAPI PVOID NTAPI IoGetDriverObjectExtension(PDRIVER_OBJECT DriverObject,
                                                   PVOID ClientIdentificationAddress);
NTKERNELAPI PVOID NTAPI IoAllocateErrorLogEntry(PVOID IoObject, UCHAR EntrySize);
NTKERNELAPI VOID NTAPI IoWriteErrorLogEntry(PVOID ElEntry);
NTKERNELAPI VOID NTAPI IoFreeErrorLogEntry(PVOID ElEntry);
NTKERNELAPI NTSTATUS NTAPI PoRegisterPowerSettingCallback(PDEVICE_OBJECT DeviceObject,
                                                          LPCGUID SettingGuid,
                                                          PPOWER_SETTING_CALLBACK Callback,
                                                          PVOID Context, PVOID *Handle);
NTKERNELAPI NTSTATUS NTAPI PoUnregisterPowerSettingCallback(PVOID Handle);
NTKERNELAPI ULONG NTAPI ExSetTimerResolution(ULONG DesiredTime, BOOLEAN SetResolution);
NTKERNELAPI VOID NTAPI ExQueryTimerResolution(PULONG MaximumTime, PULONG MinimumTime,
                                              PULONG CurrentTime);
NTKERNELAPI NTSTATUS NTAPI ExGetFirmwareEnvironmentVariable(PUNICODE_STRING VariableName,
                                                            GUID *VendorGuid, PVOID Value,
                                                            PULONG ValueLength, PULONG Attributes);
NTKERNELAPI NTSTATUS NTAPI KeExpandKernelStackAndCallout(PEXPAND_STACK_CALLOUT Callout,
                                                         PVOID Parameter, SIZE_T Size);
NTKERNELAPI VOID NTAPI IoGetStackLimits(ULONG_PTR *LowLimit, ULONG_PTR *HighLimit);
NTKERNELAPI ULONG_PTR NTAPI IoGetRemainingStackSize(VOID);

EXTERN_C_END

#endif
