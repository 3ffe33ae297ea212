/*
 * Time and processors.
 *
 * Place  include/wdk/wdm.
 * Units  System and interrupt time are 100 ns units.
 */
#ifndef WDM_CLOCK_H
#define WDM_CLOCK_H

#include "base.h"
#include "sync.h"

typedef struct _PROCESSOR_NUMBER {
    USHORT Group;
    UCHAR Number;
    UCHAR Reserved;
} PROCESSOR_NUMBER, *PPROCESSOR_NUMBER;

typedef struct _GROUP_AFFINITY {
    KAFFINITY Mask;
    USHORT Group;
    USHORT Reserved[3];
} GROUP_AFFINITY, *PGROUP_AFFINITY;

#define ALL_PROCESSOR_GROUPS 0xffff

typedef ULONG_PTR NTAPI KIPI_BROADCAST_WORKER(ULONG_PTR Argument);
typedef KIPI_BROADCAST_WORKER *PKIPI_BROADCAST_WORKER;

typedef struct _TIME_FIELDS {
    CSHORT Year;
    CSHORT Month;
    CSHORT Day;
    CSHORT Hour;
    CSHORT Minute;
    CSHORT Second;
    CSHORT Milliseconds;
    CSHORT Weekday; /* 0: Sunday */
} TIME_FIELDS, *PTIME_FIELDS;

typedef struct _KFLOATING_SAVE {
    ULONG Dummy;
} KFLOATING_SAVE, *PKFLOATING_SAVE;

EXTERN_C_START

/* Since the beginning of 1601. FALSE: there is no such time, or the seconds do not fit. */
NTSYSAPI VOID NTAPI RtlTimeToTimeFields(PLARGE_INTEGER Time, PTIME_FIELDS TimeFields);
NTSYSAPI BOOLEAN NTAPI RtlTimeFieldsToTime(PTIME_FIELDS TimeFields, PLARGE_INTEGER Time);
NTSYSAPI BOOLEAN NTAPI RtlTimeToSecondsSince1970(PLARGE_INTEGER Time, PULONG ElapsedSeconds);
NTSYSAPI BOOLEAN NTAPI RtlTimeToSecondsSince1980(PLARGE_INTEGER Time, PULONG ElapsedSeconds);
NTSYSAPI VOID NTAPI RtlSecondsSince1970ToTime(ULONG ElapsedSeconds, PLARGE_INTEGER Time);

NTKERNELAPI NTSTATUS NTAPI KeSaveFloatingPointState(PKFLOATING_SAVE FloatSave);
NTKERNELAPI NTSTATUS NTAPI KeRestoreFloatingPointState(PKFLOATING_SAVE FloatSave);

NTKERNELAPI VOID NTAPI KeStallExecutionProcessor(ULONG MicroSeconds);
NTKERNELAPI LARGE_INTEGER NTAPI KeQueryPerformanceCounter(PLARGE_INTEGER PerformanceFrequency);
NTKERNELAPI ULONGLONG NTAPI KeQueryInterruptTime(VOID);
NTKERNELAPI ULONGLONG NTAPI KeQueryInterruptTimePrecise(PULONG64 QpcTimeStamp);
NTKERNELAPI ULONGLONG NTAPI KeQueryUnbiasedInterruptTime(VOID);
NTKERNELAPI ULONG NTAPI KeQueryTimeIncrement(VOID);
NTKERNELAPI VOID NTAPI KeQueryTickCount(PLARGE_INTEGER CurrentCount);
NTKERNELAPI VOID NTAPI KeQuerySystemTime(PLARGE_INTEGER CurrentTime);
NTKERNELAPI VOID NTAPI KeQuerySystemTimePrecise(PLARGE_INTEGER CurrentTime);
NTKERNELAPI VOID NTAPI ExSystemTimeToLocalTime(PLARGE_INTEGER SystemTime, PLARGE_INTEGER LocalTime);
NTKERNELAPI VOID NTAPI ExLocalTimeToSystemTime(PLARGE_INTEGER LocalTime, PLARGE_INTEGER SystemTime);

NTKERNELAPI ULONG NTAPI KeQueryActiveProcessorCount(PKAFFINITY ActiveProcessors);
NTKERNELAPI ULONG NTAPI KeQueryActiveProcessorCountEx(USHORT GroupNumber);
NTKERNELAPI KAFFINITY NTAPI KeQueryActiveProcessors(VOID);
NTKERNELAPI ULONG NTAPI KeQueryMaximumProcessorCount(VOID);
NTKERNELAPI ULONG NTAPI KeQueryMaximumProcessorCountEx(USHORT GroupNumber);
NTKERNELAPI ULONG NTAPI KeGetCurrentProcessorNumber(VOID);
NTKERNELAPI ULONG NTAPI KeGetCurrentProcessorNumberEx(PPROCESSOR_NUMBER ProcNumber);
NTKERNELAPI ULONG NTAPI KeGetProcessorIndexFromNumber(PPROCESSOR_NUMBER ProcNumber);
NTKERNELAPI NTSTATUS NTAPI KeGetProcessorNumberFromIndex(ULONG ProcIndex,
                                                         PPROCESSOR_NUMBER ProcNumber);
NTKERNELAPI VOID NTAPI KeSetSystemAffinityThread(KAFFINITY Affinity);
NTKERNELAPI KAFFINITY NTAPI KeSetSystemAffinityThreadEx(KAFFINITY Affinity);
NTKERNELAPI VOID NTAPI KeRevertToUserAffinityThread(VOID);
NTKERNELAPI VOID NTAPI KeRevertToUserAffinityThreadEx(KAFFINITY Affinity);
NTKERNELAPI VOID NTAPI KeSetSystemGroupAffinityThread(PGROUP_AFFINITY Affinity,
                                                      PGROUP_AFFINITY PreviousAffinity);
NTKERNELAPI VOID NTAPI KeRevertToUserGroupAffinityThread(PGROUP_AFFINITY PreviousAffinity);
NTKERNELAPI NTSTATUS NTAPI KeSetTargetProcessorDpcEx(PKDPC Dpc, PPROCESSOR_NUMBER ProcNumber);
NTKERNELAPI ULONG_PTR NTAPI KeIpiGenericCall(PKIPI_BROADCAST_WORKER BroadcastFunction,
                                             ULONG_PTR Context);

EXTERN_C_END

#endif
