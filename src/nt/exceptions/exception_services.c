/*
 * Services of exceptions and of unwinding.
 */
#include "nt/exceptions/exception_private.h"
#include "nt/machine/direct.h"

#include "base/bits.h"

#include <string.h>

/* ---- Raising --------------------------------------------------------------------------------- */

VOID NTAPI ExRaiseStatus(NTSTATUS Status)
{
    exception_raise_status(nt_current(), Status);
}

VOID NTAPI RtlRaiseStatus(NTSTATUS Status)
{
    exception_raise_status(nt_current(), Status);
}

VOID NTAPI ExRaiseAccessViolation(VOID)
{
    exception_raise_status(nt_current(), STATUS_ACCESS_VIOLATION);
}

VOID NTAPI ExRaiseDatatypeMisalignment(VOID)
{
    exception_raise_status(nt_current(), STATUS_DATATYPE_MISALIGNMENT);
}

VOID NTAPI RtlRaiseException(PEXCEPTION_RECORD ExceptionRecord)
{
    EXCEPTION_RECORD record = *ExceptionRecord;

    record.ExceptionAddress = NULL; /* documented: the caller's return address */
    exception_raise(nt_current(), &record);
}

/*
 * Memory of the bench lies where addresses of users do; so a range is refused that would not be a
 * user's on Windows, and not one that is the kernel's here.
 */
#define USER_PROBE_ADDRESS UINT64_C(0x7fffffff0000)

static void probe(uint64_t address, SIZE_T length, ULONG alignment)
{
    struct nt *nt = nt_current();

    if (length == 0)
        return;
    if (address & (alignment - 1))
        exception_raise_status(nt, STATUS_DATATYPE_MISALIGNMENT);
    if (address + length < address || address + length > USER_PROBE_ADDRESS)
        exception_raise_status(nt, STATUS_ACCESS_VIOLATION);
}

VOID NTAPI ProbeForRead(volatile const VOID *Address, SIZE_T Length, ULONG Alignment)
{
    nt_require_irql(nt_current(), "ProbeForRead", APC_LEVEL);
    probe((uintptr_t)Address, Length, Alignment);
}

VOID NTAPI ProbeForWrite(volatile VOID *Address, SIZE_T Length, ULONG Alignment)
{
    nt_require_irql(nt_current(), "ProbeForWrite", APC_LEVEL);
    probe((uintptr_t)Address, Length, Alignment);
#if defined(__x86_64__) && defined(__linux__)
    if (Length)
        direct_touch(Address,
                     Length); /* a page that cannot be written raises where we were called */
#endif
}

/* ---- Unwinding ------------------------------------------------------------------------------- */

VOID NTAPI RtlUnwind(PVOID TargetFrame, PVOID TargetIp, PEXCEPTION_RECORD ExceptionRecord,
                     PVOID ReturnValue)
{
    RtlUnwindEx(TargetFrame, TargetIp, ExceptionRecord, ReturnValue, NULL, NULL);
}

PRUNTIME_FUNCTION NTAPI RtlLookupFunctionEntry(ULONG64 ControlPc, PULONG64 ImageBase,
                                               PUNWIND_HISTORY_TABLE HistoryTable)
{
    const struct nt *nt = nt_current();

    *ImageBase = nt->image && image_contains(nt->image, ControlPc) ? image_base(nt->image) : 0;
    return *ImageBase ? (PRUNTIME_FUNCTION)(uintptr_t)image_function_entry_at(nt->image, ControlPc)
                      : NULL;
}

PVOID NTAPI RtlPcToFileHeader(PVOID PcValue, PVOID *BaseOfImage)
{
    ULONG64 base;

    RtlLookupFunctionEntry((uintptr_t)PcValue, &base, NULL);
    *BaseOfImage = (PVOID)(uintptr_t)base;
    return *BaseOfImage;
}

PEXCEPTION_ROUTINE NTAPI RtlVirtualUnwind(ULONG HandlerType, ULONG64 ImageBase, ULONG64 ControlPc,
                                          PRUNTIME_FUNCTION FunctionEntry, PCONTEXT ContextRecord,
                                          PVOID *HandlerData, PULONG64 EstablisherFrame,
                                          PKNONVOLATILE_CONTEXT_POINTERS ContextPointers)
{
    struct nt *nt = nt_current();
    struct image_context context;
    struct image_frame frame;

    exception_read_context(ContextRecord, &context);
    context.rip = ControlPc;
    if (!nt->image || !exception_step(nt, &context, &frame))
        exception_raise_status(nt, STATUS_BAD_STACK);
    exception_write_context(&context, ContextRecord);
    *EstablisherFrame = frame.establisher;
    if (!frame.handler_rva || !((HandlerType & UNW_FLAG_EHANDLER && frame.handles_exceptions) ||
                                (HandlerType & UNW_FLAG_UHANDLER && frame.handles_unwinding)))
        return NULL;
    *HandlerData = (PVOID)(uintptr_t)(ImageBase + frame.handler_data_rva);
    return (PEXCEPTION_ROUTINE)(uintptr_t)(ImageBase + frame.handler_rva);
}

VOID NTAPI RtlRestoreContext(PCONTEXT ContextRecord, PEXCEPTION_RECORD ExceptionRecord)
{
    struct nt *nt = nt_current();
    struct boundary_state state;

    if (!nt->image)
        exception_raise_status(nt, STATUS_NOT_SUPPORTED);
    exception_state_of_context(ContextRecord, &state);
    boundary_continue(nt->boundary, &state);
}

USHORT NTAPI RtlCaptureStackBackTrace(ULONG FramesToSkip, ULONG FramesToCapture, PVOID *BackTrace,
                                      PULONG BackTraceHash)
{
    struct nt *nt = nt_current();
    const struct boundary_registers *caller = nt->image ? boundary_caller(nt->boundary) : NULL;
    struct image_context context;
    struct image_frame frame;
    ULONG count = 0, hash = 0;

    if (!caller)
        return 0;
    exception_context_of_registers(caller, &context);
    for (ULONG at = 0; count < min_u64(FramesToCapture, 0xffff); at++) {
        if (boundary_is_return(context.rip))
            break;
        if (at >= FramesToSkip) {
            BackTrace[count++] = (PVOID)(uintptr_t)context.rip;
            hash += (ULONG)context.rip;
        }
        if (!exception_step(nt, &context, &frame))
            break;
    }
    if (BackTraceHash)
        *BackTraceHash = hash;
    return (USHORT)count;
}

/*
 * rcx: where the caller's registers go, aligned to 16 as a CONTEXT is. On the caller's own stack.
 */
#if defined(__x86_64__) && defined(__linux__)
void nt_capture_context(void) __attribute__((visibility("hidden")));
_Static_assert(offsetof(CONTEXT, Rax) == 0x78 && offsetof(CONTEXT, FltSave) == 0x100 &&
                   offsetof(CONTEXT, EFlags) == 0x44 && CONTEXT_FULL == 0x10000b,
               "known to the assembly");
/* clang-format off */
__asm__(
    ".text\n.hidden nt_capture_context\n.globl nt_capture_context\n"
    ".type nt_capture_context, @function\n"
    "nt_capture_context:\n"
    "  movq %rax, 0x78(%rcx)\n  movq %rcx, 0x80(%rcx)\n  movq %rdx, 0x88(%rcx)\n"
    "  movq %rbx, 0x90(%rcx)\n  movq %rbp, 0xa0(%rcx)\n  movq %rsi, 0xa8(%rcx)\n"
    "  movq %rdi, 0xb0(%rcx)\n  movq %r8, 0xb8(%rcx)\n   movq %r9, 0xc0(%rcx)\n"
    "  movq %r10, 0xc8(%rcx)\n  movq %r11, 0xd0(%rcx)\n  movq %r12, 0xd8(%rcx)\n"
    "  movq %r13, 0xe0(%rcx)\n  movq %r14, 0xe8(%rcx)\n  movq %r15, 0xf0(%rcx)\n"
    "  pushfq\n  popq %rax\n    movl %eax, 0x44(%rcx)\n"
    "  leaq 8(%rsp), %rax\n     movq %rax, 0x98(%rcx)\n"
    "  movq (%rsp), %rax\n      movq %rax, 0xf8(%rcx)\n"
    "  movl $0x10000b, 0x30(%rcx)\n"
    "  stmxcsr 0x34(%rcx)\n"
    "  fxsave 0x100(%rcx)\n"
    "  movq 0x78(%rcx), %rax\n"
    "  ret\n"
    ".size nt_capture_context, . - nt_capture_context\n");
/* clang-format on */
#endif

/* ---- C++ ------------------------------------------------------------------------------------- */

#define CPP_EXCEPTION ((NTSTATUS)0xE06D7363)

/*
 * Compilers call these for throw and catch. No kernel has them, and a driver that needs them was
 * built wrong.
 */
static VOID NTAPI refuse_cplusplus(VOID)
{
    struct nt *nt = nt_current();

    nt_report_missing(nt, "C++ exceptions (throw or catch), which no Windows kernel has");
    exception_raise_status(nt, CPP_EXCEPTION);
}

#define REFUSED(name)                                                                              \
    {                                                                                              \
        name, (const void *)refuse_cplusplus, NT_EXPORT_SERVICE, NULL                              \
    }

static const struct nt_export services[] = {
    NT_SERVICE(ExRaiseStatus),
    NT_SERVICE(RtlRaiseStatus),
    NT_SERVICE(ExRaiseAccessViolation),
    NT_SERVICE(ExRaiseDatatypeMisalignment),
    NT_SERVICE(RtlRaiseException),
    NT_SERVICE(ProbeForRead),
    NT_SERVICE(ProbeForWrite),
    NT_SERVICE(__C_specific_handler),
    NT_SERVICE(_local_unwind),
    NT_SERVICE(RtlUnwind),
    NT_SERVICE(RtlUnwindEx),
    NT_SERVICE(RtlLookupFunctionEntry),
    NT_SERVICE(RtlPcToFileHeader),
    NT_SERVICE(RtlVirtualUnwind),
    NT_SERVICE(RtlRestoreContext),
    NT_SERVICE(RtlCaptureStackBackTrace),
#if defined(__x86_64__) && defined(__linux__)
    NT_DIRECT("RtlCaptureContext", nt_capture_context),
#endif
    REFUSED("_CxxThrowException"),
    REFUSED("__CxxFrameHandler"),
    REFUSED("__CxxFrameHandler2"),
    REFUSED("__CxxFrameHandler3"),
    REFUSED("__CxxFrameHandler4"),
    {0},
};

const struct nt_area nt_exception_services_area = {.exports = services};
