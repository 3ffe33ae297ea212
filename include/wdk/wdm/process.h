/*
 * Processes: their identifiers, what happens to them, and whose addresses a thread sees.
 *
 * Place   include/wdk/wdm.
 * Source  Public documentation of each function; layout of KAPC_STATE as public headers have it.
 */
#ifndef WDM_PROCESS_H
#define WDM_PROCESS_H

#include "io.h"

typedef PEPROCESS PRKPROCESS, PKPROCESS;

typedef struct _KAPC_STATE {
    LIST_ENTRY ApcListHead[2];
    PKPROCESS Process;
    BOOLEAN KernelApcInProgress;
    BOOLEAN KernelApcPending;
    BOOLEAN UserApcPending;
} KAPC_STATE, *PKAPC_STATE, *PRKAPC_STATE;

typedef struct _PS_CREATE_NOTIFY_INFO {
    SIZE_T Size;
    union {
        ULONG Flags;
        struct {
            ULONG FileOpenNameAvailable : 1;
            ULONG IsSubsystemProcess : 1;
            ULONG Reserved : 30;
        };
    };
    HANDLE ParentProcessId;
    CLIENT_ID CreatingThreadId;
    struct _FILE_OBJECT *FileObject;
    PCUNICODE_STRING ImageFileName;
    PCUNICODE_STRING CommandLine;
    NTSTATUS CreationStatus;
} PS_CREATE_NOTIFY_INFO, *PPS_CREATE_NOTIFY_INFO;

typedef enum _PSCREATEPROCESSNOTIFYTYPE {
    PsCreateProcessNotifySubsystems = 0
} PSCREATEPROCESSNOTIFYTYPE;

typedef struct _IMAGE_INFO {
    union {
        ULONG Properties;
        struct {
            ULONG ImageAddressingMode : 8;
            ULONG SystemModeImage : 1;
            ULONG ImageMappedToAllPids : 1;
            ULONG ExtendedInfoPresent : 1;
            ULONG MachineTypeMismatch : 1;
            ULONG ImageSignatureLevel : 4;
            ULONG ImageSignatureType : 3;
            ULONG ImagePartialMap : 1;
            ULONG Reserved : 12;
        };
    };
    PVOID ImageBase;
    ULONG ImageSelector;
    SIZE_T ImageSize;
    ULONG ImageSectionNumber;
} IMAGE_INFO, *PIMAGE_INFO;

typedef VOID NTAPI CREATE_PROCESS_NOTIFY_ROUTINE(HANDLE ParentId, HANDLE ProcessId, BOOLEAN Create);
typedef VOID NTAPI CREATE_PROCESS_NOTIFY_ROUTINE_EX(PEPROCESS Process, HANDLE ProcessId,
                                                    PPS_CREATE_NOTIFY_INFO CreateInfo);
typedef VOID NTAPI CREATE_THREAD_NOTIFY_ROUTINE(HANDLE ProcessId, HANDLE ThreadId, BOOLEAN Create);
typedef VOID NTAPI LOAD_IMAGE_NOTIFY_ROUTINE(PUNICODE_STRING FullImageName, HANDLE ProcessId,
                                             PIMAGE_INFO ImageInfo);
typedef CREATE_PROCESS_NOTIFY_ROUTINE *PCREATE_PROCESS_NOTIFY_ROUTINE;
typedef CREATE_PROCESS_NOTIFY_ROUTINE_EX *PCREATE_PROCESS_NOTIFY_ROUTINE_EX;
typedef CREATE_THREAD_NOTIFY_ROUTINE *PCREATE_THREAD_NOTIFY_ROUTINE;
typedef LOAD_IMAGE_NOTIFY_ROUTINE *PLOAD_IMAGE_NOTIFY_ROUTINE;

EXTERN_C_START

/* The system process, which every call of a driver here comes from. */
NTKERNELAPI PEPROCESS NTAPI IoGetCurrentProcess(VOID);
NTKERNELAPI HANDLE NTAPI PsGetCurrentProcessId(VOID);
NTKERNELAPI HANDLE NTAPI PsGetProcessId(PEPROCESS Process);
/* With a reference. STATUS_INVALID_CID: there is no such process; here is one. */
NTKERNELAPI NTSTATUS NTAPI PsLookupProcessByProcessId(HANDLE ProcessId, PEPROCESS *Process);
NTKERNELAPI LONGLONG NTAPI PsGetProcessCreateTimeQuadPart(PEPROCESS Process);
extern POBJECT_TYPE *PsProcessType;

/*
 * What is registered has to be taken back before the driver is unloaded. Nobody calls it here: no
 * process, thread or image of user mode comes or goes. STATUS_INVALID_PARAMETER: it is registered
 * already; STATUS_PROCEDURE_NOT_FOUND: it is to be removed, and is not.
 */
NTKERNELAPI NTSTATUS NTAPI
PsSetCreateProcessNotifyRoutine(PCREATE_PROCESS_NOTIFY_ROUTINE NotifyRoutine, BOOLEAN Remove);
NTKERNELAPI NTSTATUS NTAPI
PsSetCreateProcessNotifyRoutineEx(PCREATE_PROCESS_NOTIFY_ROUTINE_EX NotifyRoutine, BOOLEAN Remove);
NTKERNELAPI NTSTATUS NTAPI PsSetCreateProcessNotifyRoutineEx2(PSCREATEPROCESSNOTIFYTYPE NotifyType,
                                                              PVOID NotifyInformation,
                                                              BOOLEAN Remove);
NTKERNELAPI NTSTATUS NTAPI
PsSetCreateThreadNotifyRoutine(PCREATE_THREAD_NOTIFY_ROUTINE NotifyRoutine);
/* STATUS_PROCEDURE_NOT_FOUND: it is not registered. */
NTKERNELAPI NTSTATUS NTAPI
PsRemoveCreateThreadNotifyRoutine(PCREATE_THREAD_NOTIFY_ROUTINE NotifyRoutine);
NTKERNELAPI NTSTATUS NTAPI PsSetLoadImageNotifyRoutine(PLOAD_IMAGE_NOTIFY_ROUTINE NotifyRoutine);
NTKERNELAPI NTSTATUS NTAPI PsRemoveLoadImageNotifyRoutine(PLOAD_IMAGE_NOTIFY_ROUTINE NotifyRoutine);

/*
 * The thread sees the addresses of that process until KeUnstackDetachProcess, which gets the state
 * that is written here. Attachments end in the opposite order.
 */
NTKERNELAPI VOID NTAPI KeStackAttachProcess(PRKPROCESS PROCESS, PRKAPC_STATE ApcState);
NTKERNELAPI VOID NTAPI KeUnstackDetachProcess(PRKAPC_STATE ApcState);

EXTERN_C_END

#define PsGetCurrentProcess() IoGetCurrentProcess()

#endif
