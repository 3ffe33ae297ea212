/*
 * Time is the machine's; there is one processor.
 */
#include "nt/nt_private.h"

#define FREQUENCY      10000000u /* of the performance counter: 100 ns, as on today's systems */
#define TIME_INCREMENT 156250u   /* 100 ns a tick: 15.625 ms */

VOID NTAPI KeStallExecutionProcessor(ULONG MicroSeconds)
{
    nt_stall(nt_current(), (uint64_t)MicroSeconds * 1000);
}

LARGE_INTEGER NTAPI KeQueryPerformanceCounter(PLARGE_INTEGER PerformanceFrequency)
{
    struct nt *nt = nt_current();
    LARGE_INTEGER counter;

    nt_look_at_clock(nt);
    if (PerformanceFrequency)
        PerformanceFrequency->QuadPart = FREQUENCY;
    counter.QuadPart = (LONGLONG)(nt_now(nt) / 100);
    return counter;
}

ULONGLONG NTAPI KeQueryInterruptTime(VOID)
{
    struct nt *nt = nt_current();

    nt_look_at_clock(nt);
    return nt_now(nt) / 100;
}

ULONGLONG NTAPI KeQueryInterruptTimePrecise(PULONG64 QpcTimeStamp)
{
    ULONGLONG time = KeQueryInterruptTime();

    *QpcTimeStamp = time;
    return time;
}

ULONGLONG NTAPI KeQueryUnbiasedInterruptTime(VOID)
{
    return KeQueryInterruptTime();
}

ULONG NTAPI KeQueryTimeIncrement(VOID)
{
    return TIME_INCREMENT;
}

VOID NTAPI KeQueryTickCount(PLARGE_INTEGER CurrentCount)
{
    CurrentCount->QuadPart = (LONGLONG)(KeQueryInterruptTime() / TIME_INCREMENT);
}

VOID NTAPI KeQuerySystemTimePrecise(PLARGE_INTEGER CurrentTime)
{
    struct nt *nt = nt_current();

    nt_look_at_clock(nt);
    CurrentTime->QuadPart = (LONGLONG)nt_system_time(nt);
}

VOID NTAPI KeQuerySystemTime(PLARGE_INTEGER CurrentTime)
{
    KeQuerySystemTimePrecise(CurrentTime);
}

/* The machine stands in Greenwich. */
VOID NTAPI ExSystemTimeToLocalTime(PLARGE_INTEGER SystemTime, PLARGE_INTEGER LocalTime)
{
    *LocalTime = *SystemTime;
}

VOID NTAPI ExLocalTimeToSystemTime(PLARGE_INTEGER LocalTime, PLARGE_INTEGER SystemTime)
{
    *SystemTime = *LocalTime;
}

/* ---- Processors ------------------------------------------------------------------------------ */

ULONG NTAPI KeQueryActiveProcessorCount(PKAFFINITY ActiveProcessors)
{
    if (ActiveProcessors)
        *ActiveProcessors = 1;
    return 1;
}

ULONG NTAPI KeQueryActiveProcessorCountEx(USHORT GroupNumber)
{
    return GroupNumber == 0 || GroupNumber == ALL_PROCESSOR_GROUPS ? 1 : 0;
}

KAFFINITY NTAPI KeQueryActiveProcessors(VOID)
{
    return 1;
}

ULONG NTAPI KeQueryMaximumProcessorCount(VOID)
{
    return 1;
}

ULONG NTAPI KeQueryMaximumProcessorCountEx(USHORT GroupNumber)
{
    return KeQueryActiveProcessorCountEx(GroupNumber);
}

ULONG NTAPI KeGetCurrentProcessorNumber(VOID)
{
    return 0;
}

ULONG NTAPI KeGetCurrentProcessorNumberEx(PPROCESSOR_NUMBER ProcNumber)
{
    if (ProcNumber)
        *ProcNumber = (PROCESSOR_NUMBER){0};
    return 0;
}

/* 0xffffffff: there is none. */
ULONG NTAPI KeGetProcessorIndexFromNumber(PPROCESSOR_NUMBER ProcNumber)
{
    return ProcNumber->Group || ProcNumber->Number || ProcNumber->Reserved ? MAXULONG : 0;
}

NTSTATUS NTAPI KeGetProcessorNumberFromIndex(ULONG ProcIndex, PPROCESSOR_NUMBER ProcNumber)
{
    if (ProcIndex)
        return STATUS_INVALID_PARAMETER;
    *ProcNumber = (PROCESSOR_NUMBER){0};
    return STATUS_SUCCESS;
}

static void require_processor(const char *service, KAFFINITY affinity)
{
    if (affinity != 1)
        nt_misuse(nt_current(), "%s: there is one processor, and the mask is 0x%llx", service,
                  (unsigned long long)affinity);
}

VOID NTAPI KeSetSystemAffinityThread(KAFFINITY Affinity)
{
    require_processor("KeSetSystemAffinityThread", Affinity);
}

/* 0: the thread had none of its own before. */
KAFFINITY NTAPI KeSetSystemAffinityThreadEx(KAFFINITY Affinity)
{
    require_processor("KeSetSystemAffinityThreadEx", Affinity);
    return 0;
}

VOID NTAPI KeRevertToUserAffinityThread(VOID)
{
}

VOID NTAPI KeRevertToUserAffinityThreadEx(KAFFINITY Affinity)
{
}

VOID NTAPI KeSetSystemGroupAffinityThread(PGROUP_AFFINITY Affinity,
                                          PGROUP_AFFINITY PreviousAffinity)
{
    require_processor("KeSetSystemGroupAffinityThread", Affinity->Group ? 0 : Affinity->Mask);
    if (PreviousAffinity)
        *PreviousAffinity = (GROUP_AFFINITY){0};
}

VOID NTAPI KeRevertToUserGroupAffinityThread(PGROUP_AFFINITY PreviousAffinity)
{
}

/* On all processors at once, at IPI_LEVEL. */
#define IPI_LEVEL 14

ULONG_PTR NTAPI KeIpiGenericCall(PKIPI_BROADCAST_WORKER BroadcastFunction, ULONG_PTR Context)
{
    struct nt *nt = nt_current();
    KIPI_BROADCAST_WORKER *function =
        (KIPI_BROADCAST_WORKER *)nt_driver_function(nt, (const void *)BroadcastFunction);
    KIRQL irql = nt_set_irql(nt, IPI_LEVEL);
    ULONG_PTR result = function ? function(Context) : 0;

    nt_set_irql(nt, irql);
    return result;
}

static const struct nt_export services[] = {
    NT_SERVICE(KeStallExecutionProcessor),
    NT_SERVICE(KeQueryPerformanceCounter),
    NT_SERVICE(KeQueryInterruptTime),
    NT_SERVICE(KeQueryInterruptTimePrecise),
    NT_SERVICE(KeQueryUnbiasedInterruptTime),
    NT_SERVICE(KeQueryTimeIncrement),
    NT_SERVICE(KeQueryTickCount),
    NT_SERVICE(KeQuerySystemTime),
    NT_SERVICE(KeQuerySystemTimePrecise),
    NT_SERVICE(ExSystemTimeToLocalTime),
    NT_SERVICE(ExLocalTimeToSystemTime),
    NT_SERVICE(KeQueryActiveProcessorCount),
    NT_SERVICE(KeQueryActiveProcessorCountEx),
    NT_SERVICE(KeQueryActiveProcessors),
    NT_SERVICE(KeQueryMaximumProcessorCount),
    NT_SERVICE(KeQueryMaximumProcessorCountEx),
    NT_SERVICE(KeGetCurrentProcessorNumber),
    NT_SERVICE(KeGetCurrentProcessorNumberEx),
    NT_SERVICE(KeGetProcessorIndexFromNumber),
    NT_SERVICE(KeGetProcessorNumberFromIndex),
    NT_SERVICE(KeSetSystemAffinityThread),
    NT_SERVICE(KeSetSystemAffinityThreadEx),
    NT_SERVICE(KeRevertToUserAffinityThread),
    NT_SERVICE(KeRevertToUserAffinityThreadEx),
    NT_SERVICE(KeSetSystemGroupAffinityThread),
    NT_SERVICE(KeRevertToUserGroupAffinityThread),
    NT_SERVICE(KeIpiGenericCall),
    {0},
};

const struct nt_area nt_clock_area = {.exports = services};
