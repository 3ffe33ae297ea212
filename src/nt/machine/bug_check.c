#include "nt/machine/bug_check.h"

#include "nt/exceptions/exception.h"
#include "nt/machine/boundary.h"
#include "nt/nt_private.h"

#include "base/bits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *nt_bug_check_name(uint32_t code)
{
    static const struct {
        uint32_t code;
        const char *name;
    } names[] = {
        {0x01, "APC_INDEX_MISMATCH"},
        {0x09, "IRQL_NOT_GREATER_OR_EQUAL"},
        {0x0A, "IRQL_NOT_LESS_OR_EQUAL"},
        {0x0C, "MAXIMUM_WAIT_OBJECTS_EXCEEDED"},
        {0x0F, "SPIN_LOCK_ALREADY_OWNED"},
        {0x10, "SPIN_LOCK_NOT_OWNED"},
        {0x11, "THREAD_NOT_MUTEX_OWNER"},
        {0x1E, "KMODE_EXCEPTION_NOT_HANDLED"},
        {0x39, "SYSTEM_EXIT_OWNED_MUTEX"},
        {0x40, "TARGET_MDL_TOO_SMALL"},
        {0x4D, "NO_PAGES_AVAILABLE"},
        {0x4E, "PFN_LIST_CORRUPT"},
        {0x50, "PAGE_FAULT_IN_NONPAGED_AREA"},
        {0x7E, "SYSTEM_THREAD_EXCEPTION_NOT_HANDLED"},
        {0x7F, "UNEXPECTED_KERNEL_MODE_TRAP"},
        {0xB8, "ATTEMPTED_SWITCH_FROM_DPC"},
        {0xBE, "ATTEMPTED_WRITE_TO_READONLY_MEMORY"},
        {0xBF, "MUTEX_ALREADY_OWNED"},
        {0xC1, "SPECIAL_POOL_DETECTED_MEMORY_CORRUPTION"},
        {0xC2, "BAD_POOL_CALLER"},
        {0xC7, "TIMER_OR_DPC_INVALID"},
        {0xD1, "DRIVER_IRQL_NOT_LESS_OR_EQUAL"},
        {0xDA, "SYSTEM_PTE_MISUSE"},
        {0xE1, "WORKER_THREAD_RETURNED_AT_BAD_IRQL"},
        {0xE3, "RESOURCE_NOT_OWNED"},
        {0xE4, "WORKER_INVALID"},
        {0xE9, "ACTIVE_EX_WORKER_THREAD_TERMINATION"},
        {0xFC, "ATTEMPTED_EXECUTE_OF_NOEXECUTE_MEMORY"},
        {0x10E, "VIDEO_MEMORY_MANAGEMENT_INTERNAL"},
        {0x113, "VIDEO_DXGKRNL_FATAL_ERROR"},
        {0x116, "VIDEO_TDR_FAILURE"},
        {0x119, "VIDEO_SCHEDULER_INTERNAL_ERROR"},
        {0x139, "KERNEL_SECURITY_CHECK_FAILURE"},
        {0x4000008A, "THREAD_TERMINATE_HELD_MUTEX"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (names[i].code == code)
            return names[i].name;
    return "";
}

/* ---- On a thread of the driver --------------------------------------------------------------- */

/* The first thread stops the machine for it, and never gives the thread another turn. */
static void __attribute__((noreturn)) leave_for_ever(struct nt *nt)
{
    for (;;)
        boundary_switch(nt->scheduler.home);
}

/* Returns on the first thread only. */
static void stop_from_thread(struct nt *nt, uint32_t code, const uint64_t parameters[4])
{
    if (nt_is_first_thread(nt))
        return;
    nt->scheduler.stop.is_pending = true;
    nt->scheduler.stop.thread = nt->scheduler.current->number;
    nt->scheduler.stop.is_deadlock = false;
    nt->scheduler.stop.code = code;
    memcpy(nt->scheduler.stop.parameters, parameters, sizeof nt->scheduler.stop.parameters);
    leave_for_ever(nt);
}

void nt_crash_from_thread(struct nt *nt, const struct nt_crash *crash)
{
    nt->scheduler.stop.crash = crash;
    stop_from_thread(nt, crash->bug_check, crash->parameters);
}

/* ---- The end --------------------------------------------------------------------------------- */

/* On the thread that stops the machine, not on the first one, which only passes it on. */
static void note_where(struct nt *nt)
{
    if (!nt->scheduler.stop.thread)
        exception_backtrace(nt, NULL, nt->stopped_at, sizeof nt->stopped_at);
}

const char *nt_stopped_at(const struct nt *nt)
{
    return nt->stopped_at;
}

VOID NTAPI KeBugCheckEx(ULONG BugCheckCode, ULONG_PTR P1, ULONG_PTR P2, ULONG_PTR P3, ULONG_PTR P4)
{
    struct nt *nt = nt_current();
    const uint64_t parameters[4] = {P1, P2, P3, P4};

    note_where(nt);
    stop_from_thread(nt, BugCheckCode, parameters);
    if (nt->host.bug_check)
        nt->host.bug_check(nt->host.context, BugCheckCode, parameters);
    fprintf(stderr, "nt: bug check 0x%x (0x%llx, 0x%llx, 0x%llx, 0x%llx)\n", BugCheckCode,
            (unsigned long long)P1, (unsigned long long)P2, (unsigned long long)P3,
            (unsigned long long)P4);
    abort();
}

void nt_deadlock(struct nt *nt, const char *text)
{
    if (!nt_is_first_thread(nt)) {
        nt->scheduler.stop.is_pending = nt->scheduler.stop.is_deadlock = true;
        nt->scheduler.stop.thread = nt->scheduler.current->number;
        snprintf(nt->scheduler.stop.text, sizeof nt->scheduler.stop.text, "%s", text);
        leave_for_ever(nt);
    }
    if (nt->host.deadlock)
        nt->host.deadlock(nt->host.context, text);
    fprintf(stderr, "nt: %s\n", text);
    abort();
}

void nt_stop_run(struct nt *nt)
{
    nt->scheduler.stop.is_pending = false;
    if (nt->scheduler.stop.is_deadlock)
        nt_deadlock(nt, nt->scheduler.stop.text);
    if (nt->scheduler.stop.crash)
        nt->host.crash(nt->host.context, nt->scheduler.stop.crash);
    KeBugCheckEx(nt->scheduler.stop.code, nt->scheduler.stop.parameters[0],
                 nt->scheduler.stop.parameters[1], nt->scheduler.stop.parameters[2],
                 nt->scheduler.stop.parameters[3]);
}

static const struct nt_export services[] = {
    NT_SERVICE(KeBugCheckEx),
    {0},
};

const struct nt_area nt_bug_check_area = {.exports = services};
