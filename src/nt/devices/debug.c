/*
 * Debugger and last resorts: there is nobody to ask, and no way on.
 */
#include "nt/exports.h"

#include "nt/nt_internal.h"

#include <bugcodes.h>
#include <ntstatus.h>
#include <wdm.h>

BOOLEAN NTAPI KdRefreshDebuggerNotPresent(VOID)
{
    return TRUE;
}

/* The question goes into the run's log; nobody answers. */
ULONG NTAPI DbgPrompt(PCCH Prompt, PCH Response, ULONG Length)
{
    DbgPrint("%s", Prompt);
    if (Length)
        Response[0] = '\0';
    return 0;
}

/* A pure virtual function was called: of an object that is not made yet, or gone. */
static void NTAPI call_pure(void)
{
    KeBugCheckEx(KMODE_EXCEPTION_NOT_HANDLED, (ULONG_PTR)(ULONG)STATUS_NOT_IMPLEMENTED, 0, 0, 0);
}

const struct nt_export nt_debug_exports[] = {
    NT_SERVICE(KdRefreshDebuggerNotPresent),
    NT_SERVICE(DbgPrompt),
    {"_purecall", (const void *)call_pure, NT_EXPORT_SERVICE, NULL},
    {0},
};
