/*
 * The debugger: lines for it go to the host's log, and nobody answers its questions.
 */
#include "nt/nt_private.h"
#include "nt/text/format.h"

#include <bugcodes.h>
#include <ntstatus.h>
#include <wdm.h>

#define DEBUG_LINE_BYTES 512u /* as much as the kernel takes of one call */

static void print(ULONG component, ULONG level, PCSTR format, nt_va_list *arguments)
{
    struct nt *nt = nt_current();
    char text[DEBUG_LINE_BYTES];

    if (!nt->host.log)
        return;
    nt_format(text, sizeof text, format, arguments);
    nt->host.log(nt->host.context, component, level, text);
}

ULONG NTAPI DbgPrint(PCSTR Format, ...)
{
    nt_va_list arguments;

    NT_VA_START(arguments, Format);
    print(0, DPFLTR_INFO_LEVEL, Format, &arguments);
    NT_VA_END(arguments);
    return STATUS_SUCCESS;
}

ULONG NTAPI DbgPrintEx(ULONG ComponentId, ULONG Level, PCSTR Format, ...)
{
    nt_va_list arguments;

    NT_VA_START(arguments, Format);
    print(ComponentId, Level, Format, &arguments);
    NT_VA_END(arguments);
    return STATUS_SUCCESS;
}

/* The list of arguments of an image is a pointer to them. */
static ULONG NTAPI print_list(ULONG ComponentId, ULONG Level, PCCH Format, nt_va_list arguments)
{
    print(ComponentId, Level, Format, &arguments);
    return STATUS_SUCCESS;
}

static ULONG NTAPI print_prefixed(PCCH prefix, ULONG component, ULONG level, PCCH format,
                                  nt_va_list arguments)
{
    char text[DEBUG_LINE_BYTES];

    nt_format(text, sizeof text, format, &arguments);
    return DbgPrintEx(component, level, "%s%s", prefix, text);
}

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

/* Drivers declare pointers to these: the import is bound to the pointer's value. */
static BOOLEAN debugger_enabled = FALSE, debugger_not_present = TRUE;
PBOOLEAN KdDebuggerEnabled = &debugger_enabled, KdDebuggerNotPresent = &debugger_not_present;

VOID NTAPI DbgBreakPointWithStatus(ULONG Status)
{
    DbgBreakPoint();
}

static const struct nt_export services[] = {
    {"KdDebuggerEnabled", &debugger_enabled, NT_EXPORT_VARIABLE, NULL},
    {"KdDebuggerNotPresent", &debugger_not_present, NT_EXPORT_VARIABLE, NULL},
    NT_SERVICE(DbgBreakPointWithStatus),
    NT_SERVICE(DbgPrint),
    NT_SERVICE(DbgPrintEx),
    {"vDbgPrintEx", (const void *)print_list, NT_EXPORT_SERVICE, NULL},
    {"vDbgPrintExWithPrefix", (const void *)print_prefixed, NT_EXPORT_SERVICE, NULL},
    NT_SERVICE(KdRefreshDebuggerNotPresent),
    NT_SERVICE(DbgPrompt),
    {"_purecall", (const void *)call_pure, NT_EXPORT_SERVICE, NULL},
    {0},
};

const struct nt_area nt_debug_area = {.exports = services};
