/*
 * A driver that raises, faults and handles, for src/nt/machine/exception_test.c.
 *
 * DriverEntry(number, argument) does the part with this number. What happens is printed, one letter
 * or word each, so that the order can be compared; what comes out is the result.
 */
#include <ntddk.h>

#define NOINLINE __attribute__((noinline))
#define CODE_A   ((NTSTATUS)0xC0001111)
#define CODE_B   ((NTSTATUS)0xC0002222)

VOID TestCallBack(VOID (*Function)(PVOID Context), PVOID Context);

static volatile ULONG zero;
static volatile ULONG64 sink;

static VOID NOINLINE say(PCSTR text)
{
    DbgPrint("%s", text);
}

static LONG NOINLINE filter(NTSTATUS code, NTSTATUS expected, PCSTR text)
{
    say(text);
    return code == expected ? EXCEPTION_EXECUTE_HANDLER : EXCEPTION_CONTINUE_SEARCH;
}

/* ---- Software -------------------------------------------------------------------------------- */

static NTSTATUS NOINLINE raise_and_handle(NTSTATUS status)
{
    __try {
        say("a");
        ExRaiseStatus(status);
        say("never");
    } __except (filter((NTSTATUS)GetExceptionCode(), CODE_A, "f")) {
        say("h");
        return (NTSTATUS)GetExceptionCode();
    }
    return STATUS_SUCCESS;
}

static NTSTATUS NOINLINE outer_handles(void)
{
    __try {
        raise_and_handle(CODE_B);
    } __except (filter((NTSTATUS)GetExceptionCode(), CODE_B, "F")) {
        say("H");
        return (NTSTATUS)GetExceptionCode();
    }
    return STATUS_SUCCESS;
}

static NTSTATUS NOINLINE with_finally(ULONG raises)
{
    __try {
        __try {
            say("1");
            if (raises)
                ExRaiseStatus(CODE_A);
            say("2");
        } __finally {
            say(AbnormalTermination() ? "x" : "n");
        }
        say("3");
    } __finally {
        say(AbnormalTermination() ? "X" : "N");
    }
    return 7;
}

static NTSTATUS NOINLINE finally_in_order(void)
{
    NTSTATUS result = with_finally(0);

    __try {
        with_finally(1);
        result = 0;
    } __except (say("?"), EXCEPTION_EXECUTE_HANDLER) {
        say("!");
    }
    return result;
}

static ULONG64 NOINLINE deep(ULONG depth, ULONG64 a, ULONG64 b)
{
    volatile UCHAR room[200];
    ULONG64 sum;

    room[depth % 200] = (UCHAR)a;
    if (depth == 0)
        ExRaiseStatus(CODE_A);
    sum = deep(depth - 1, a * 3, b + a) + a * b;
    return sum + room[depth % 200];
}

static NTSTATUS NOINLINE locals_survive(ULONG64 seed)
{
    ULONG64 a = seed * 5, b = seed ^ 0x55, c = seed + 9, d = seed << 3, e = ~seed, f = seed | 1;

    sink = a ^ b ^ c ^ d ^ e ^ f;
    __try {
        sink = deep(20, a, b);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return (a ^ b ^ c ^ d ^ e ^ f) ==
                       (seed * 5 ^ (seed ^ 0x55) ^ (seed + 9) ^ (seed << 3) ^ ~seed ^ (seed | 1))
                   ? 1
                   : 2;
    }
    return 3;
}

static LONG NOINLINE filter_with_try(void)
{
    __try {
        say("(");
        ExRaiseStatus(CODE_B);
    } __except (filter((NTSTATUS)GetExceptionCode(), CODE_B, "g")) {
        say(")");
    }
    return EXCEPTION_EXECUTE_HANDLER;
}

static NTSTATUS NOINLINE exception_in_a_filter(void)
{
    __try {
        ExRaiseStatus(CODE_A);
    } __except (filter_with_try()) {
        say("h");
        return (NTSTATUS)GetExceptionCode();
    }
    return 0;
}

static LONG NOINLINE filter_that_raises(NTSTATUS code)
{
    say("r");
    if (code == CODE_A)
        ExRaiseStatus(CODE_B);
    return EXCEPTION_CONTINUE_SEARCH;
}

static NTSTATUS NOINLINE filter_leaves_it_outside(void)
{
    __try {
        __try {
            ExRaiseStatus(CODE_A);
        } __except (filter_that_raises((NTSTATUS)GetExceptionCode())) {
            say("never");
        }
    } __except (filter((NTSTATUS)GetExceptionCode(), CODE_B, "o")) {
        return (NTSTATUS)GetExceptionCode();
    }
    return 0;
}

/* Of a __finally that never comes back some compilers leave out the one around it. */
static VOID(NTAPI *volatile raise_status)(NTSTATUS Status) = ExRaiseStatus;

static VOID NOINLINE finally_that_raises(void)
{
    __try {
        __try {
            ExRaiseStatus(CODE_A);
        } __finally {
            say("i");
            raise_status(CODE_B);
        }
    } __finally {
        say("j");
    }
}

static NTSTATUS NOINLINE exception_in_a_finally(void)
{
    __try {
        __try {
            finally_that_raises();
        } __except (filter((NTSTATUS)GetExceptionCode(), CODE_A, "p")) {
            say("never");
        }
    } __except (filter((NTSTATUS)GetExceptionCode(), CODE_B, "q")) {
        say("h");
        return (NTSTATUS)GetExceptionCode();
    }
    return 0;
}

static NTSTATUS NOINLINE leave_early(ULONG way)
{
    for (ULONG i = 0; i < 3; i++) {
        __try {
            if (way == 0)
                __leave;
            if (way == 1 && i == 1)
                break;
            if (way == 2)
                return 5;
            say("t");
        } __finally {
            say("l");
        }
    }
    return 6;
}

static NTSTATUS NOINLINE leaving_runs_finally(void)
{
    leave_early(0);
    say("|");
    leave_early(1);
    say("|");
    return leave_early(2);
}

/* Without a call in the block the compiler would think that nothing raises there. */
static NTSTATUS NOINLINE copies_in_the_block(const char *at, SIZE_T bytes)
{
    static char copy[64];

    __try {
        RtlCopyMemory(copy, at, bytes);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return STATUS_INVALID_USER_BUFFER;
    }
    return copy[0] ? 0 : 1;
}

static VOID NOINLINE breakpoint(void)
{
    __debugbreak();
}

static LONG NOINLINE go_on(PEXCEPTION_POINTERS exception)
{
    say("c");
    if (exception->ExceptionRecord->ExceptionCode == STATUS_BREAKPOINT)
        exception->ContextRecord->Rip++;
    return EXCEPTION_CONTINUE_EXECUTION;
}

static NTSTATUS NOINLINE a_filter_continues(void)
{
    EXCEPTION_RECORD record = {CODE_A};
    NTSTATUS result = 1;

    __try {
        RtlRaiseException(&record);
        say("d");
        breakpoint();
        say("e");
        result = 2;
    } __except (go_on(GetExceptionInformation())) {
        result = 3;
    }
    return result;
}

static NTSTATUS NOINLINE record_is_whole(void)
{
    EXCEPTION_RECORD inner = {CODE_B}, record = {CODE_A, 0, &inner, NULL, 2, {77, 88}};
    NTSTATUS result = 0;

    __try {
        RtlRaiseException(&record);
    } __except (result = GetExceptionInformation()->ExceptionRecord->ExceptionRecord == &inner &&
                         GetExceptionInformation()->ExceptionRecord->NumberParameters == 2 &&
                         GetExceptionInformation()->ExceptionRecord->ExceptionInformation[1] == 88,
                EXCEPTION_EXECUTE_HANDLER) {
        return result;
    }
    return 9;
}

static NTSTATUS NOINLINE continuing_what_cannot(void)
{
    __try {
        ExRaiseStatus(CODE_A);
    } __except (EXCEPTION_CONTINUE_EXECUTION) {
    }
    return 0;
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static EXCEPTION_RECORD last;
static ULONG64 last_rip;

static LONG NOINLINE keep(PEXCEPTION_POINTERS exception)
{
    last = *exception->ExceptionRecord;
    last_rip = exception->ContextRecord->Rip;
    return EXCEPTION_EXECUTE_HANDLER;
}

/* 0 when all is as it should be. */
static NTSTATUS NOINLINE judge(NTSTATUS code, ULONG parameters, ULONG64 first, ULONG64 second)
{
    if (last.ExceptionCode != code)
        return last.ExceptionCode;
    if (last.NumberParameters != parameters)
        return 0x100 + last.NumberParameters;
    if (parameters == 2 && last.ExceptionInformation[0] != first)
        return 0x200;
    if (parameters == 2 && last.ExceptionInformation[1] != second)
        return 0x300;
    return (ULONG64)last.ExceptionAddress == last_rip ? 0 : 0x400;
}

/* Faults are in functions that are called: clang 14 does not see others in a __try. */
static VOID NOINLINE read_it(volatile ULONG *where)
{
    sink = *where;
}

static VOID NOINLINE write_it(volatile ULONG *where)
{
    *where = 3;
}

static VOID NOINLINE divide_by(ULONG by)
{
    sink = 100 / by;
}

static NTSTATUS NOINLINE reads(volatile ULONG *where)
{
    __try {
        read_it(where);
        return 1;
    } __except (keep(GetExceptionInformation())) {
    }
    return judge(STATUS_ACCESS_VIOLATION, 2, 0, (ULONG64)where);
}

static NTSTATUS NOINLINE writes(volatile ULONG *where)
{
    __try {
        write_it(where);
        return 1;
    } __except (keep(GetExceptionInformation())) {
    }
    return judge(STATUS_ACCESS_VIOLATION, 2, 1, (ULONG64)where);
}

static NTSTATUS NOINLINE divides(ULONG by)
{
    __try {
        divide_by(by);
        return 1;
    } __except (keep(GetExceptionInformation())) {
    }
    return judge(STATUS_INTEGER_DIVIDE_BY_ZERO, 0, 0, 0);
}

static VOID NOINLINE no_instruction(void)
{
    __asm__ volatile("ud2");
}

static VOID NOINLINE assertion(void)
{
    __asm__ volatile("int $0x2c");
}

static VOID NOINLINE misaligned(void)
{
    static UCHAR room[64] __attribute__((aligned(16)));

    __asm__ volatile("movaps 1(%0), %%xmm0" : : "r"(room) : "xmm0");
}

static VOID NOINLINE copy_from_null(void)
{
    UCHAR room[512];
    volatile SIZE_T bytes = sizeof room;

    memcpy(room, (const void *)(ULONG64)zero, bytes);
    sink = room[7];
}

static VOID NOINLINE call_null(void)
{
    VOID (*volatile function)(void) = (VOID(*)(void))(ULONG64)zero;

    function();
    say("never");
}

static NTSTATUS NOINLINE caught(VOID (*function)(void), NTSTATUS code, ULONG parameters,
                                ULONG64 first, ULONG64 second)
{
    __try {
        function();
        return 1;
    } __except (keep(GetExceptionInformation())) {
    }
    return judge(code, parameters, first, second);
}

static NTSTATUS NOINLINE probes(ULONG64 argument)
{
    static UCHAR room[3 * 4096];
    NTSTATUS result = 0;

    ProbeForRead(room, sizeof room, 1);
    ProbeForWrite(room, sizeof room, 1);
    ProbeForRead((PVOID)1, 0, 4);
    __try {
        ProbeForRead(room + 1, 4, 4);
        result |= 1;
    } __except (filter((NTSTATUS)GetExceptionCode(), STATUS_DATATYPE_MISALIGNMENT, "m")) {
    }
    __try {
        ProbeForRead(room, ~(SIZE_T)0, 1);
        result |= 2;
    } __except (filter((NTSTATUS)GetExceptionCode(), STATUS_ACCESS_VIOLATION, "w")) {
    }
    __try {
        ProbeForWrite((PVOID)argument, 4, 1);
        result |= 4;
    } __except (filter((NTSTATUS)GetExceptionCode(), STATUS_ACCESS_VIOLATION, "p")) {
    }
    return result;
}

/* ---- Services that are led astray ------------------------------------------------------------ */

static VOID NOINLINE init_string(PCWSTR source)
{
    UNICODE_STRING string;

    RtlInitUnicodeString(&string, source);
    sink = string.Length;
}

static VOID NOINLINE compare_strings(PWSTR buffer)
{
    UNICODE_STRING bad = {16, 16, buffer}, good = RTL_CONSTANT_STRING(L"eight ch");

    sink = (ULONG64)RtlCompareUnicodeString(&good, &bad, FALSE);
}

static VOID NOINLINE copy_to(ULONG64 where, SIZE_T bytes)
{
    static UCHAR room[3 * 4096];
    MM_COPY_ADDRESS from;
    SIZE_T copied;

    from.VirtualAddress = room;
    MmCopyMemory((PVOID)where, from, bytes, MM_COPY_MEMORY_VIRTUAL, &copied);
}

static NTSTATUS NOINLINE services_fault(ULONG64 where)
{
    NTSTATUS result;

    __try {
        init_string((PCWSTR)where);
        return 1;
    } __except (keep(GetExceptionInformation())) {
        result = judge(STATUS_ACCESS_VIOLATION, 2, 0, where);
    }
    __try {
        compare_strings((PWSTR)where);
        return 2;
    } __except (keep(GetExceptionInformation())) {
        result |= judge(STATUS_ACCESS_VIOLATION, 2, 0, where);
    }
    __try {
        copy_to(where, 1);
        return 3;
    } __except (keep(GetExceptionInformation())) {
        result |= judge(STATUS_ACCESS_VIOLATION, 2, 1, where);
    }
    return result;
}

static NTSTATUS NOINLINE sets_event(PKEVENT event)
{
    __try {
        KeSetEvent(event, 0, FALSE);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        say("never");
    }
    return 0;
}

/* ---- Nobody handles -------------------------------------------------------------------------- */

static ULONG NOINLINE recursion(volatile ULONG *depth)
{
    volatile UCHAR room[512];

    room[0] = (UCHAR)*depth;
    (*depth)++;
    return recursion(depth) + room[0];
}

static NTSTATUS NOINLINE overflow(void)
{
    ULONG depth = 0;

    __try {
        return (NTSTATUS)recursion(&depth);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return 1;
    }
}

static const ULONG constant = 5;

static NTSTATUS NOINLINE at_level(volatile ULONG *where)
{
    KIRQL before;

    KeRaiseIrql(DISPATCH_LEVEL, &before);
    __try {
        read_it(where);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        say("never");
    }
    KeLowerIrql(before);
    return 0;
}

static NTSTATUS NOINLINE guarded_access(ULONG64 where, ULONG writes)
{
    __try {
        if (writes)
            write_it((volatile ULONG *)where);
        else
            read_it((volatile ULONG *)where);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        say("never");
    }
    return 0;
}

static NTSTATUS NOINLINE run_data(void)
{
    static UCHAR code[16] = {0xc3};
    VOID (*volatile function)(void) = (VOID(*)(void))(ULONG_PTR)code;

    __try {
        function();
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        say("never");
    }
    return 0;
}

static VOID raise_in_callback(PVOID context)
{
    say("b");
    ExRaiseStatus((NTSTATUS)(ULONG_PTR)context);
}

static NTSTATUS NOINLINE through_a_service(void)
{
    __try {
        TestCallBack(raise_in_callback, (PVOID)(ULONG_PTR)(ULONG)CODE_A);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        say("never");
    }
    return 0;
}

static LONG NOINLINE filter_without_end(void)
{
    ExRaiseStatus(CODE_A);
    return EXCEPTION_CONTINUE_SEARCH;
}

static NTSTATUS NOINLINE filters_without_end(void)
{
    __try {
        ExRaiseStatus(CODE_A);
    } __except (filter_without_end()) {
    }
    return 0;
}

/* ---- Unwinding by hand ----------------------------------------------------------------------- */

static ULONG64 NOINLINE where_it_returns(PVOID *stack)
{
    CONTEXT context;
    ULONG64 base, frame;
    PVOID data, header;
    PRUNTIME_FUNCTION function;

    RtlCaptureContext(&context);
    if (RtlCaptureStackBackTrace(0, 2, stack, NULL) != 2)
        return 1;
    function = RtlLookupFunctionEntry(context.Rip, &base, NULL);
    if (!function || context.Rip - base < function->BeginAddress ||
        context.Rip - base >= function->EndAddress ||
        RtlPcToFileHeader((PVOID)context.Rip, &header) != (PVOID)base || header != (PVOID)base)
        return 2;
    if (RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, context.Rip, function, &context, &data, &frame,
                         NULL))
        return 3;
    return context.Rip;
}

static NTSTATUS NOINLINE unwinds_itself(void)
{
    PVOID stack[2] = {0};
    ULONG64 rip = where_it_returns(stack);

    return rip == (ULONG64)stack[1] ? 0 : (NTSTATUS)rip;
}

static NTSTATUS NOINLINE restores(void)
{
    volatile ULONG times = 0;
    CONTEXT context;

    RtlCaptureContext(&context);
    if (++times < 4)
        RtlRestoreContext(&context, NULL);
    return (NTSTATUS)times;
}

/* ---- The processor --------------------------------------------------------------------------- */

static ULONG64 read_gs(ULONG64 offset)
{
    ULONG64 value;

    __asm__ volatile("movq %%gs:(%1), %0" : "=r"(value) : "r"(offset));
    return value;
}

static NTSTATUS NOINLINE processor(ULONG64 argument)
{
    ULONG64 level = 0;
    KIRQL before;

    if (read_gs(0x18) == 0 || read_gs(0x20) != read_gs(0x18) + 0x180)
        return 1;
    if ((UCHAR)read_gs(0x184) != 0 || (ULONG)read_gs(0x1a4) != 0)
        return 2;
    if (read_gs(0x188) != argument)
        return 3;
    KeRaiseIrql(DISPATCH_LEVEL, &before);
    __asm__ volatile("movq %%cr8, %0" : "=r"(level));
    if (level != KeGetCurrentIrql() || level != DISPATCH_LEVEL)
        return 4;
    level = before;
    __asm__ volatile("movq %0, %%cr8" : : "r"(level));
    return KeGetCurrentIrql() == before ? 0 : 5;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    ULONG64 argument = (ULONG64)RegistryPath;

    switch ((ULONG64)DriverObject) {
    case 1:
        return raise_and_handle(CODE_A);
    case 2:
        return outer_handles();
    case 3:
        return finally_in_order();
    case 4:
        return locals_survive(argument);
    case 5:
        return exception_in_a_filter();
    case 6:
        return filter_leaves_it_outside();
    case 7:
        return exception_in_a_finally();
    case 8:
        return leaving_runs_finally();
    case 9:
        return a_filter_continues();
    case 10:
        return record_is_whole();
    case 11:
        return continuing_what_cannot();
    case 20:
        return reads((volatile ULONG *)argument);
    case 21:
        return writes((volatile ULONG *)argument);
    case 22:
        return divides(zero);
    case 23:
        return caught(no_instruction, STATUS_ILLEGAL_INSTRUCTION, 0, 0, 0);
    case 24:
        return caught(assertion, STATUS_ASSERTION_FAILURE, 0, 0, 0);
    case 25:
        return caught(misaligned, STATUS_ACCESS_VIOLATION, 2, 0, ~(ULONG64)0);
    case 26:
        return caught(breakpoint, STATUS_BREAKPOINT, 1, 0, 0);
    case 27:
        return caught(copy_from_null, STATUS_ACCESS_VIOLATION, 2, 0, 0);
    case 28:
        return caught(call_null, STATUS_ACCESS_VIOLATION, 2, 8, 0);
    case 29:
        return probes(argument);
    case 30:
        return services_fault(argument);
    case 40:
        return raise_and_handle(CODE_B);
    case 41:
        read_it((volatile ULONG *)argument);
        return 0;
    case 42:
        return overflow();
    case 43:
        return at_level((volatile ULONG *)argument);
    case 44:
        return guarded_access((ULONG64)&constant, 1);
    case 45:
        return run_data();
    case 51:
        return copies_in_the_block((const char *)argument, 40);
    case 80:
        init_string((PCWSTR)argument);
        return 0;
    case 81:
        compare_strings((PWSTR)argument);
        return 0;
    case 82:
        return sets_event((PKEVENT)argument);
    case 83:
        TestCallBack((VOID(*)(PVOID))(ULONG_PTR)0x20, (PVOID)argument);
        return 0;
    case 84:
        copy_to(argument, 2 * 4096);
        return 0;
    case 85:
        __asm__ volatile("pushfq\n orq $0x40000, (%%rsp)\n popfq" : : : "memory", "cc");
        say("unaligned");
        return 7;
    case 86:
        __asm__ volatile("ldmxcsr %0" : : "m"(argument));
        return 8;
    case 46:
        return guarded_access(argument, 0);
    case 47:
        call_null();
        return 0;
    case 48:
        return through_a_service();
    case 49:
        return filters_without_end();
    case 50:
        ExRaiseAccessViolation();
    case 60:
        return unwinds_itself();
    case 61:
        return restores();
    case 70:
        return processor(argument);
    default:
        return STATUS_INVALID_PARAMETER;
    }
}
