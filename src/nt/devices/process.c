/*
 * The system process, which is the only one, and the routines that a driver registers for
 * processes, threads and images that come and go. None of user mode does, so nobody calls them; but
 * Windows would call one of a driver that is gone, so one that is left is told.
 */
#include "nt/nt_private.h"

#include <bugcodes.h>
#include <ntstatus.h>

#include <stdio.h>

#define SYSTEM_PROCESS_ID 4u
#define ROUTINES_MOST     64u /* as many as Windows takes of each kind */

enum routine_kind { ROUTINE_PROCESS, ROUTINE_THREAD, ROUTINE_IMAGE, ROUTINE_KINDS };

static const char *const registered_by[ROUTINE_KINDS] = {
    [ROUTINE_PROCESS] = "PsSetCreateProcessNotifyRoutine",
    [ROUTINE_THREAD] = "PsSetCreateThreadNotifyRoutine",
    [ROUTINE_IMAGE] = "PsSetLoadImageNotifyRoutine",
};

/* The state of the area. Drivers hold its address for the process. */
struct process {
    struct nt_object object;
    const void *routines[ROUTINE_KINDS][ROUTINES_MOST];
    unsigned counts[ROUTINE_KINDS];
    unsigned attached; /* KeStackAttachProcess() without its opposite */
};

static struct process *process_of(const struct nt *nt)
{
    return NT_STATE(nt, process);
}

/* ---- The process ----------------------------------------------------------------------------- */

static void destroy(struct nt *nt, struct nt_object *object)
{
}

const struct nt_object_type nt_process_type = {"process", destroy};

PEPROCESS NTAPI IoGetCurrentProcess(VOID)
{
    return (PEPROCESS)(void *)process_of(nt_current());
}

HANDLE NTAPI PsGetCurrentProcessId(VOID)
{
    return (HANDLE)(uintptr_t)SYSTEM_PROCESS_ID;
}

HANDLE NTAPI PsGetProcessId(PEPROCESS Process)
{
    return Process == IoGetCurrentProcess() ? PsGetCurrentProcessId() : NULL;
}

NTSTATUS NTAPI PsLookupProcessByProcessId(HANDLE ProcessId, PEPROCESS *Process)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt, "PsLookupProcessByProcessId", APC_LEVEL);
    *Process = NULL;
    if (ProcessId != PsGetCurrentProcessId())
        return STATUS_INVALID_CID;
    nt_object_reference(&process_of(nt)->object);
    *Process = IoGetCurrentProcess();
    return STATUS_SUCCESS;
}

/* The system process is as old as the clock. */
LONGLONG NTAPI PsGetProcessCreateTimeQuadPart(PEPROCESS Process)
{
    return 0;
}

/* ---- Attachments ----------------------------------------------------------------------------- */

/* All addresses of the kernel are the same in every process: nothing else changes. */
VOID NTAPI KeStackAttachProcess(PRKPROCESS PROCESS, PRKAPC_STATE ApcState)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt, "KeStackAttachProcess", DISPATCH_LEVEL);
    if (PROCESS != IoGetCurrentProcess())
        nt_misuse(nt, "KeStackAttachProcess: there is no process here");
    *ApcState = (KAPC_STATE){.Process = IoGetCurrentProcess()};
    process_of(nt)->attached++;
}

VOID NTAPI KeUnstackDetachProcess(PRKAPC_STATE ApcState)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt, "KeUnstackDetachProcess", DISPATCH_LEVEL);
    if (!process_of(nt)->attached || ApcState->Process != IoGetCurrentProcess())
        KeBugCheckEx(INVALID_PROCESS_DETACH_ATTEMPT, 0, 0, 0, 0);
    ApcState->Process = NULL;
    process_of(nt)->attached--;
}

/* ---- Routines -------------------------------------------------------------------------------- */

static NTSTATUS set_routine(const char *service, enum routine_kind kind, const void *routine)
{
    struct nt *nt = nt_current();
    struct process *process = process_of(nt);

    nt_require_irql(nt, service, PASSIVE_LEVEL);
    for (unsigned i = 0; i < process->counts[kind]; i++) {
        if (process->routines[kind][i] == routine)
            return STATUS_INVALID_PARAMETER;
    }
    if (!routine || process->counts[kind] == ROUTINES_MOST)
        return STATUS_INVALID_PARAMETER;
    process->routines[kind][process->counts[kind]++] = routine;
    return STATUS_SUCCESS;
}

static NTSTATUS remove_routine(const char *service, enum routine_kind kind, const void *routine)
{
    struct nt *nt = nt_current();
    struct process *process = process_of(nt);

    nt_require_irql(nt, service, PASSIVE_LEVEL);
    for (unsigned i = 0; i < process->counts[kind]; i++) {
        if (process->routines[kind][i] != routine)
            continue;
        process->routines[kind][i] = process->routines[kind][--process->counts[kind]];
        return STATUS_SUCCESS;
    }
    return STATUS_PROCEDURE_NOT_FOUND;
}

static NTSTATUS set_process_routine(const char *service, const void *routine, BOOLEAN is_removed)
{
    return is_removed ? remove_routine(service, ROUTINE_PROCESS, routine)
                      : set_routine(service, ROUTINE_PROCESS, routine);
}

NTSTATUS NTAPI PsSetCreateProcessNotifyRoutine(PCREATE_PROCESS_NOTIFY_ROUTINE NotifyRoutine,
                                               BOOLEAN Remove)
{
    return set_process_routine("PsSetCreateProcessNotifyRoutine", (const void *)NotifyRoutine,
                               Remove);
}

NTSTATUS NTAPI PsSetCreateProcessNotifyRoutineEx(PCREATE_PROCESS_NOTIFY_ROUTINE_EX NotifyRoutine,
                                                 BOOLEAN Remove)
{
    return set_process_routine("PsSetCreateProcessNotifyRoutineEx", (const void *)NotifyRoutine,
                               Remove);
}

NTSTATUS NTAPI PsSetCreateProcessNotifyRoutineEx2(PSCREATEPROCESSNOTIFYTYPE NotifyType,
                                                  PVOID NotifyInformation, BOOLEAN Remove)
{
    if (NotifyType != PsCreateProcessNotifySubsystems)
        return STATUS_INVALID_PARAMETER;
    return set_process_routine("PsSetCreateProcessNotifyRoutineEx2", NotifyInformation, Remove);
}

NTSTATUS NTAPI PsSetCreateThreadNotifyRoutine(PCREATE_THREAD_NOTIFY_ROUTINE NotifyRoutine)
{
    return set_routine("PsSetCreateThreadNotifyRoutine", ROUTINE_THREAD,
                       (const void *)NotifyRoutine);
}

NTSTATUS NTAPI PsRemoveCreateThreadNotifyRoutine(PCREATE_THREAD_NOTIFY_ROUTINE NotifyRoutine)
{
    return remove_routine("PsRemoveCreateThreadNotifyRoutine", ROUTINE_THREAD,
                          (const void *)NotifyRoutine);
}

NTSTATUS NTAPI PsSetLoadImageNotifyRoutine(PLOAD_IMAGE_NOTIFY_ROUTINE NotifyRoutine)
{
    return set_routine("PsSetLoadImageNotifyRoutine", ROUTINE_IMAGE, (const void *)NotifyRoutine);
}

NTSTATUS NTAPI PsRemoveLoadImageNotifyRoutine(PLOAD_IMAGE_NOTIFY_ROUTINE NotifyRoutine)
{
    return remove_routine("PsRemoveLoadImageNotifyRoutine", ROUTINE_IMAGE,
                          (const void *)NotifyRoutine);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void init(struct nt *nt)
{
    struct process *process = process_of(nt);

    nt_object_init(nt, &process->object, &nt_process_type, process);
    process->object.is_held = true;
}

static void left(struct nt *nt, nt_leftover *tell, void *context)
{
    const struct process *process = process_of(nt);
    char text[128];

    for (unsigned kind = 0; kind < ROUTINE_KINDS; kind++) {
        if (!process->counts[kind])
            continue;
        snprintf(text, sizeof text, "a routine of %s is still registered", registered_by[kind]);
        tell(context, text);
    }
    if (process->object.references > 1)
        tell(context, "the system process has references left");
    if (process->attached)
        tell(context, "a thread is still attached to a process (KeStackAttachProcess)");
}

static const struct nt_export services[] = {
    NT_SERVICE(IoGetCurrentProcess),
    {"PsGetCurrentProcess", (const void *)IoGetCurrentProcess, NT_EXPORT_SERVICE, NULL},
    NT_SERVICE(PsGetCurrentProcessId),
    NT_SERVICE(PsGetProcessId),
    NT_SERVICE(PsLookupProcessByProcessId),
    NT_SERVICE(PsGetProcessCreateTimeQuadPart),
    NT_SERVICE(KeStackAttachProcess),
    NT_SERVICE(KeUnstackDetachProcess),
    NT_SERVICE(PsSetCreateProcessNotifyRoutine),
    NT_SERVICE(PsSetCreateProcessNotifyRoutineEx),
    NT_SERVICE(PsSetCreateProcessNotifyRoutineEx2),
    NT_SERVICE(PsSetCreateThreadNotifyRoutine),
    NT_SERVICE(PsRemoveCreateThreadNotifyRoutine),
    NT_SERVICE(PsSetLoadImageNotifyRoutine),
    NT_SERVICE(PsRemoveLoadImageNotifyRoutine),
    {0},
};

const struct nt_area nt_process_area = {
    .exports = services,
    .state_bytes = sizeof(struct process),
    .init = init,
    .left = left,
};
