/*
 * The system around a driver: its version, processes, privileges, tracing, callbacks, files.
 *
 * Place  include/wdk/wdm.
 */
#ifndef WDM_SYSTEM_H
#define WDM_SYSTEM_H

#include "io.h"

typedef struct _OSVERSIONINFOW {
    ULONG dwOSVersionInfoSize;
    ULONG dwMajorVersion;
    ULONG dwMinorVersion;
    ULONG dwBuildNumber;
    ULONG dwPlatformId;
    WCHAR szCSDVersion[128];
} RTL_OSVERSIONINFOW, *PRTL_OSVERSIONINFOW;

typedef struct _OSVERSIONINFOEXW {
    ULONG dwOSVersionInfoSize;
    ULONG dwMajorVersion;
    ULONG dwMinorVersion;
    ULONG dwBuildNumber;
    ULONG dwPlatformId;
    WCHAR szCSDVersion[128];
    USHORT wServicePackMajor;
    USHORT wServicePackMinor;
    USHORT wSuiteMask;
    UCHAR wProductType;
    UCHAR wReserved;
} RTL_OSVERSIONINFOEXW, *PRTL_OSVERSIONINFOEXW;

typedef struct _IO_STATUS_BLOCK {
    union {
        NTSTATUS Status;
        PVOID Pointer;
    };
    ULONG_PTR Information;
} IO_STATUS_BLOCK, *PIO_STATUS_BLOCK;

/* Tracing. */

typedef ULONGLONG REGHANDLE, *PREGHANDLE;
typedef struct _EVENT_DESCRIPTOR {
    USHORT Id;
    UCHAR Version;
    UCHAR Channel;
    UCHAR Level;
    UCHAR Opcode;
    USHORT Task;
    ULONGLONG Keyword;
} EVENT_DESCRIPTOR, *PEVENT_DESCRIPTOR;
typedef const EVENT_DESCRIPTOR *PCEVENT_DESCRIPTOR;
typedef struct _EVENT_DATA_DESCRIPTOR {
    ULONGLONG Ptr;
    ULONG Size;
    ULONG Reserved;
} EVENT_DATA_DESCRIPTOR, *PEVENT_DATA_DESCRIPTOR;
typedef VOID NTAPI ETWENABLECALLBACK(LPCGUID SourceId, ULONG ControlCode, UCHAR Level,
                                     ULONGLONG MatchAnyKeyword, ULONGLONG MatchAllKeyword,
                                     PVOID FilterData, PVOID CallbackContext);
typedef ETWENABLECALLBACK *PETWENABLECALLBACK;
typedef enum _TRACE_INFORMATION_CLASS {
    TraceIdClass = 0,
    TraceHandleClass = 1,
    TraceEnableFlagsClass = 2,
    TraceEnableLevelClass = 3,
} TRACE_INFORMATION_CLASS;

/* Bug check callbacks. */

typedef enum _KBUGCHECK_CALLBACK_REASON {
    KbCallbackInvalid = 0,
    KbCallbackReserved1 = 1,
    KbCallbackSecondaryDumpData = 2,
    KbCallbackDumpIo = 3,
    KbCallbackAddPages = 4,
} KBUGCHECK_CALLBACK_REASON;
typedef struct _KBUGCHECK_REASON_CALLBACK_RECORD {
    LIST_ENTRY Entry;
    PVOID CallbackRoutine;
    PUCHAR Component;
    ULONG_PTR Checksum;
    KBUGCHECK_CALLBACK_REASON Reason;
    UCHAR State;
} KBUGCHECK_REASON_CALLBACK_RECORD, *PKBUGCHECK_REASON_CALLBACK_RECORD;
#define KeInitializeCallbackRecord(record) ((record)->State = 0)

EXTERN_C_START

NTSYSAPI NTSTATUS NTAPI RtlGetVersion(PRTL_OSVERSIONINFOW VersionInformation);
NTSYSAPI BOOLEAN NTAPI RtlIsNtDdiVersionAvailable(ULONG Version);
NTKERNELAPI BOOLEAN NTAPI PsGetVersion(PULONG MajorVersion, PULONG MinorVersion, PULONG BuildNumber,
                                       PUNICODE_STRING CSDVersion);
NTKERNELAPI PVOID NTAPI MmGetSystemRoutineAddress(PUNICODE_STRING SystemRoutineName);

NTKERNELAPI KPROCESSOR_MODE NTAPI ExGetPreviousMode(VOID);
NTKERNELAPI USHORT NTAPI KeQueryActiveGroupCount(VOID);
NTKERNELAPI USHORT NTAPI KeQueryMaximumGroupCount(VOID);
NTKERNELAPI USHORT NTAPI KeQueryHighestNodeNumber(VOID);
NTKERNELAPI BOOLEAN NTAPI SeSinglePrivilegeCheck(LUID PrivilegeValue, KPROCESSOR_MODE PreviousMode);
NTKERNELAPI NTSTATUS NTAPI ExUuidCreate(GUID *Uuid);
NTSYSAPI ULONG NTAPI RtlRandomEx(PULONG Seed);
NTSYSAPI ULONG NTAPI RtlRandom(PULONG Seed);
/* The CRC of zip files; PartialCrc is that of what stands before, 0 for nothing. */
NTSYSAPI ULONG NTAPI RtlComputeCrc32(ULONG PartialCrc, const VOID *Buffer, ULONG Length);

NTKERNELAPI DECLSPEC_NORETURN VOID NTAPI KeBugCheck(ULONG BugCheckCode);
NTKERNELAPI BOOLEAN NTAPI KeRegisterBugCheckReasonCallback(
    PKBUGCHECK_REASON_CALLBACK_RECORD CallbackRecord, PVOID CallbackRoutine,
    KBUGCHECK_CALLBACK_REASON Reason, PUCHAR Component);
NTKERNELAPI BOOLEAN NTAPI
KeDeregisterBugCheckReasonCallback(PKBUGCHECK_REASON_CALLBACK_RECORD CallbackRecord);

NTKERNELAPI NTSTATUS NTAPI EtwRegister(LPCGUID ProviderId, PETWENABLECALLBACK EnableCallback,
                                       PVOID CallbackContext, PREGHANDLE RegHandle);
NTKERNELAPI NTSTATUS NTAPI EtwUnregister(REGHANDLE RegHandle);
NTKERNELAPI NTSTATUS NTAPI EtwSetInformation(REGHANDLE RegHandle, ULONG InformationClass,
                                             PVOID EventInformation, ULONG InformationLength);
NTKERNELAPI NTSTATUS NTAPI EtwWrite(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor,
                                    LPCGUID ActivityId, ULONG UserDataCount,
                                    PEVENT_DATA_DESCRIPTOR UserData);
NTKERNELAPI NTSTATUS NTAPI EtwWriteEx(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor,
                                      ULONG64 Filter, ULONG Flags, LPCGUID ActivityId,
                                      LPCGUID RelatedActivityId, ULONG UserDataCount,
                                      PEVENT_DATA_DESCRIPTOR UserData);
NTKERNELAPI NTSTATUS NTAPI EtwWriteTransfer(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor,
                                            LPCGUID ActivityId, LPCGUID RelatedActivityId,
                                            ULONG UserDataCount, PEVENT_DATA_DESCRIPTOR UserData);
NTKERNELAPI NTSTATUS NTAPI EtwWriteString(REGHANDLE RegHandle, UCHAR Level, ULONGLONG Keyword,
                                          LPCGUID ActivityId, PCWSTR String);
NTKERNELAPI BOOLEAN NTAPI EtwEventEnabled(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor);
NTKERNELAPI BOOLEAN NTAPI EtwProviderEnabled(REGHANDLE RegHandle, UCHAR Level, ULONGLONG Keyword);
NTKERNELAPI NTSTATUS NTAPI EtwActivityIdControl(ULONG ControlCode, GUID *ActivityId);
NTKERNELAPI NTSTATUS NTAPI WmiTraceMessage(ULONG64 LoggerHandle, ULONG MessageFlags,
                                           LPCGUID MessageGuid, USHORT MessageNumber, ...);
NTKERNELAPI NTSTATUS NTAPI WmiQueryTraceInformation(TRACE_INFORMATION_CLASS TraceInformationClass,
                                                    PVOID TraceInformation,
                                                    ULONG TraceInformationLength,
                                                    PULONG RequiredLength, PVOID Buffer);
NTKERNELAPI NTSTATUS NTAPI IoWMIRegistrationControl(PDEVICE_OBJECT DeviceObject, ULONG Action);

/* Files: there are none. */
NTSYSAPI NTSTATUS NTAPI ZwCreateFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
                                     POBJECT_ATTRIBUTES ObjectAttributes,
                                     PIO_STATUS_BLOCK IoStatusBlock, PLARGE_INTEGER AllocationSize,
                                     ULONG FileAttributes, ULONG ShareAccess,
                                     ULONG CreateDisposition, ULONG CreateOptions, PVOID EaBuffer,
                                     ULONG EaLength);
NTSYSAPI NTSTATUS NTAPI ZwOpenFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
                                   POBJECT_ATTRIBUTES ObjectAttributes,
                                   PIO_STATUS_BLOCK IoStatusBlock, ULONG ShareAccess,
                                   ULONG OpenOptions);
NTSYSAPI NTSTATUS NTAPI ZwReadFile(HANDLE FileHandle, HANDLE Event, PVOID ApcRoutine,
                                   PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer,
                                   ULONG Length, PLARGE_INTEGER ByteOffset, PULONG Key);
NTSYSAPI NTSTATUS NTAPI ZwWriteFile(HANDLE FileHandle, HANDLE Event, PVOID ApcRoutine,
                                    PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer,
                                    ULONG Length, PLARGE_INTEGER ByteOffset, PULONG Key);
NTSYSAPI NTSTATUS NTAPI ZwQueryInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
                                               PVOID FileInformation, ULONG Length,
                                               ULONG FileInformationClass);
NTSYSAPI NTSTATUS NTAPI ZwSetInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
                                             PVOID FileInformation, ULONG Length,
                                             ULONG FileInformationClass);

EXTERN_C_END

/* CreateDisposition. */
#define FILE_SUPERSEDE    0u
#define FILE_OPEN         1u
#define FILE_CREATE       2u
#define FILE_OPEN_IF      3u
#define FILE_OVERWRITE    4u
#define FILE_OVERWRITE_IF 5u

#define WMIREG_ACTION_REGISTER   1
#define WMIREG_ACTION_DEREGISTER 2

#endif
