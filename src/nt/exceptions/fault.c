/*
 * Faults: an access that the processor refuses to an image becomes an exception or a bug check.
 *
 * The signal's handler only looks whose fault it is, and notes it. The exception is made when the
 * handler has returned, on the bench's stack, like a service that the image called.
 */
#define _GNU_SOURCE /* REG_RIP */
#include "nt/exceptions/exception_private.h"
#include "nt/exceptions/service_fault.h"
#include "nt/machine/bug_check.h"

#include "base/bits.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__linux__)

#define ERROR_WRITE  0x2 /* of a page fault's error code */
#define ERROR_FETCH  0x10
#define KERNEL_HALF  UINT64_C(0xffff800000000000)
#define DOUBLE_FAULT 8
#define NOT_PRESENT  2 /* parameter 4 of bug check 0x50: no page table entry */

struct fault {
    struct nt *nt;
    struct boundary_state state;
    int signal, code;
    uint64_t address, error;
    const struct nt_lacking *lacking; /* the import that address belongs to; NULL: to none */
    struct service_fault service;     /* in which it was, if in one */
};

enum access { ACCESS_READ = 0, ACCESS_WRITE = 1, ACCESS_EXECUTE = 8 };

static enum access access_of(const struct fault *fault)
{
    return fault->error & ERROR_FETCH   ? ACCESS_EXECUTE
           : fault->error & ERROR_WRITE ? ACCESS_WRITE
                                        : ACCESS_READ;
}

static const char *verb_of(enum access access)
{
    return access == ACCESS_READ ? "reads" : access == ACCESS_WRITE ? "writes to" : "executes";
}

/* ---- Bug checks ------------------------------------------------------------------------------ */

static bool is_of_client(const struct fault *fault)
{
    return fault->address >= fault->nt->user_start && fault->address < fault->nt->user_end;
}

/* "the driver reads 0x10": with the block that the address belongs to. */
static size_t describe_access(const struct fault *fault, const char *what, char *text, size_t size)
{
    char block[160];
    bool is_known =
        nt_explain_address(fault->nt, (const void *)(uintptr_t)fault->address, block, sizeof block);

    return (size_t)snprintf(text, size, "%s %s 0x%" PRIx64 "%s%s%s%s",
                            fault->service.name ? fault->service.name : "the driver",
                            verb_of(access_of(fault)), fault->address, is_known ? " (" : "",
                            is_known ? block : "", is_known ? ")" : "", what);
}

/* Where the image is behind it; of a service also which argument it was. */
static void add_place(const struct fault *fault, char *text, size_t size, size_t used)
{
    char where[200];

    exception_name_address(fault->nt, fault->state.rip, where, sizeof where);
    if (used >= size)
        return;
    if (fault->service.name)
        snprintf(text + used, size - used, ": %s; the driver calls it at %s",
                 fault->service.argument, where);
    else
        snprintf(text + used, size - used, ", at %s", where);
}

/* what: text behind the address. */
static void __attribute__((noreturn))
stop(const struct fault *fault, uint32_t bug_check, uint64_t second, uint64_t third,
     uint64_t fourth, const char *what)
{
    const uint64_t parameters[4] = {fault->address, second, third, fourth};
    char text[700];

    add_place(fault, text, sizeof text, describe_access(fault, what, text, sizeof text));
    exception_crash(fault->nt, &fault->state, bug_check, parameters, text);
}

/* On Windows the processor finds no stack for the first fault, and that is a double fault. */
static void __attribute__((noreturn)) stop_without_stack(const struct fault *fault)
{
    uint64_t rsp = fault->state.general[IMAGE_RSP];
    const uint64_t parameters[4] = {DOUBLE_FAULT, fault->address, 0, fault->state.rip};
    char text[320], where[200];

    exception_name_address(fault->nt, fault->state.rip, where, sizeof where);
    snprintf(text, sizeof text,
             "the driver's stack pointer is 0x%" PRIx64 ", where there is no stack of it (double "
             "fault), at %s",
             rsp, where);
    exception_crash(fault->nt, &fault->state, NT_UNEXPECTED_KERNEL_MODE_TRAP, parameters, text);
}

static void __attribute__((noreturn)) stop_of_stack(const struct fault *fault)
{
    const uint64_t parameters[4] = {DOUBLE_FAULT, fault->address, 0, fault->state.rip};
    char text[320], where[200];

    exception_name_address(fault->nt, fault->state.rip, where, sizeof where);
    snprintf(text, sizeof text,
             "the driver needs more than the %u KiB of a kernel stack (double fault), at %s",
             BOUNDARY_KERNEL_STACK / 1024, where);
    exception_crash(fault->nt, &fault->state, NT_UNEXPECTED_KERNEL_MODE_TRAP, parameters, text);
}

/* Page faults that no handler is asked about. */
static void stop_if_fatal(const struct fault *fault)
{
    const struct image_section *section = image_section_at(fault->nt->image, fault->address);
    enum access access = access_of(fault);
    uint64_t rip = fault->state.rip;
    KIRQL irql = (KIRQL)max_u64(fault->nt->irql, fault->service.irql);
    char text[160];

    if (fault->lacking) {
        snprintf(text, sizeof text, ": %s, which it imports and the bench does not have",
                 fault->lacking->name);
        stop(fault, NT_PAGE_FAULT_IN_NONPAGED_AREA, (uint64_t)access * 2, rip, NOT_PRESENT, text);
    }
    if (irql >= DISPATCH_LEVEL) {
        snprintf(text, sizeof text, ", which is not there, at IRQL %u", irql);
        stop(fault,
             fault->service.name ? NT_IRQL_NOT_LESS_OR_EQUAL : NT_DRIVER_IRQL_NOT_LESS_OR_EQUAL,
             irql, access, rip, text);
    }
    if (fault->code == SEGV_ACCERR && access == ACCESS_EXECUTE)
        stop(fault, NT_ATTEMPTED_EXECUTE_OF_NOEXECUTE_MEMORY, 0, 0, 0, ", which is data");
    if (access == ACCESS_WRITE && section && !section->is_writable)
        stop(fault, NT_ATTEMPTED_WRITE_TO_READONLY_MEMORY, 0, 0, 0,
             " of its own image, in a section that is not writable");
    if (is_of_client(fault))
        return;
    if (fault->address >= KERNEL_HALF || fault->code == SEGV_ACCERR)
        stop(fault, NT_PAGE_FAULT_IN_NONPAGED_AREA, (uint64_t)access * 2, rip, NOT_PRESENT,
             ", which nobody may touch");
}

/* ---- Exceptions ------------------------------------------------------------------------------ */

static void fill_page_fault(const struct fault *fault, EXCEPTION_RECORD *record)
{
    bool is_canonical = fault->code != SI_KERNEL;

    record->ExceptionCode = STATUS_ACCESS_VIOLATION;
    record->NumberParameters = 2;
    record->ExceptionInformation[0] = is_canonical ? (ULONG_PTR)access_of(fault) : 0;
    record->ExceptionInformation[1] = is_canonical ? fault->address : UINT64_MAX;
}

/* "int 2ch": the compiler's own assertion. */
static bool is_assertion(const struct fault *fault)
{
    static const uint8_t instruction[] = {0xcd, 0x2c};
    uint64_t rip = fault->state.rip;

    return fault->code == SI_KERNEL && image_contains(fault->nt->image, rip) &&
           image_contains(fault->nt->image, rip + 1) &&
           memcmp((const void *)(uintptr_t)rip, instruction, sizeof instruction) == 0;
}

static NTSTATUS arithmetic_status(int code)
{
    switch (code) {
    case FPE_INTDIV:
        return STATUS_INTEGER_DIVIDE_BY_ZERO;
    case FPE_INTOVF:
        return STATUS_INTEGER_OVERFLOW;
    case FPE_FLTDIV:
        return STATUS_FLOAT_DIVIDE_BY_ZERO;
    case FPE_FLTOVF:
        return STATUS_FLOAT_OVERFLOW;
    case FPE_FLTUND:
        return STATUS_FLOAT_UNDERFLOW;
    case FPE_FLTRES:
        return STATUS_FLOAT_INEXACT_RESULT;
    default:
        return STATUS_FLOAT_INVALID_OPERATION;
    }
}

static void fill_record(struct fault *fault, EXCEPTION_RECORD *record)
{
    switch (fault->signal) {
    case SIGFPE:
        record->ExceptionCode = arithmetic_status(fault->code);
        break;
    case SIGILL:
        record->ExceptionCode = STATUS_ILLEGAL_INSTRUCTION;
        break;
    case SIGTRAP:
        record->ExceptionCode = STATUS_SINGLE_STEP;
        if (fault->code == TRAP_TRACE)
            break;
        record->ExceptionCode = STATUS_BREAKPOINT;
        record->NumberParameters = 1;
        fault->state.rip--; /* int3 is told as where it is, not behind it */
        break;
    case SIGBUS:
        record->ExceptionCode =
            fault->code == BUS_ADRALN ? STATUS_DATATYPE_MISALIGNMENT : STATUS_IN_PAGE_ERROR;
        break;
    default:
        if (is_assertion(fault))
            record->ExceptionCode = STATUS_ASSERTION_FAILURE;
        else
            fill_page_fault(fault, record);
    }
    record->ExceptionAddress = (PVOID)(uintptr_t)fault->state.rip;
}

/* Where the image called the service, as if it had faulted there. */
static void go_to_caller(struct fault *fault, const struct boundary_call *call)
{
    const struct boundary_registers *from = &call->registers;
    uint64_t *general = fault->state.general;

    general[1] = call->arguments[0];
    general[2] = call->arguments[1];
    general[3] = from->rbx;
    general[IMAGE_RSP] = from->rsp;
    general[5] = from->rbp;
    general[6] = from->rsi;
    general[7] = from->rdi;
    general[8] = call->arguments[2];
    general[9] = call->arguments[3];
    general[12] = from->r12;
    general[13] = from->r13;
    general[14] = from->r14;
    general[15] = from->r15;
    memcpy(fault->state.vector[6], from->xmm, sizeof from->xmm);
    fault->state.rip = from->rip;
}

/*
 * Handlers are not asked about faults in the graphics kernel's functions: the bench's own records
 * of that call are half done.
 */
static void __attribute__((noreturn))
raise_in_service(struct fault *fault, struct boundary_call *call, EXCEPTION_RECORD *record)
{
    char text[700];

    add_place(fault, text, sizeof text, describe_access(fault, "", text, sizeof text));
    fault->nt->explained = record;
    fault->nt->explanation = text;
    if (fault->service.is_callback)
        exception_crash_unhandled(fault->nt, &fault->state, record);
    exception_raise_at(fault->nt, call, record);
}

static void on_fault(struct boundary_call *call, const void *data)
{
    struct fault fault = *(const struct fault *)data;
    struct boundary *boundary = fault.nt->boundary;
    bool is_page_fault = fault.signal == SIGSEGV && fault.code != SI_KERNEL;
    EXCEPTION_RECORD record = {0};

    if (is_page_fault && boundary_is_beyond_stack(boundary, fault.address))
        stop_of_stack(&fault);
    if (!boundary_is_on_stack(boundary, fault.state.general[IMAGE_RSP]) &&
        !boundary_is_beyond_stack(boundary, fault.state.general[IMAGE_RSP]) &&
        !boundary_is_on_bench_stack(boundary, fault.state.general[IMAGE_RSP]))
        stop_without_stack(&fault);
    fill_record(&fault, &record);
    if (fault.nt->explained == &record)
        fault.nt->explained = NULL;
    /* A service touched memory that the image asked it to touch: the fault is the image's. */
    if ((fault.service.name || exception_is_direct(fault.state.rip)) && !call->registers.rsp &&
        call->outer) {
        call = call->outer;
        boundary_drop_call(boundary);
        go_to_caller(&fault, call);
        record.ExceptionAddress = (PVOID)(uintptr_t)call->registers.rip;
    }
    if (is_page_fault)
        stop_if_fatal(&fault);
    if (!boundary_is_on_stack(boundary, fault.state.general[IMAGE_RSP]))
        exception_crash_unhandled(fault.nt, &fault.state, &record);
    if (fault.service.name)
        raise_in_service(&fault, call, &record);
    if (call->registers.rsp && call->function)
        exception_raise_at(fault.nt, call, &record);
    exception_dispatch(fault.nt, call, &record, &fault.state);
}

/* ---- Signals --------------------------------------------------------------------------------- */

/*
 * The bench fails while it serves the image: the report has to say where the image was.
 */
static void tell_caller(const struct fault *fault)
{
    static char text[2600];
    const struct service_fault *service = &fault->service;
    size_t length = 0;

    if (service->name)
        length = (size_t)snprintf(
            text, sizeof text,
            "the bench fails in %s, and none of its arguments leads to %s0x%" PRIx64 ": %s\n",
            service->name, fault->code == SI_KERNEL ? "an address that is none, for " : "",
            fault->code == SI_KERNEL ? fault->state.rip : fault->address, service->argument);
    length += (size_t)snprintf(text + length, sizeof text - length, "the driver was in:");
    if (!exception_backtrace(fault->nt, NULL, text + length, sizeof text - length - 1))
        return;
    length = strlen(text);
    text[length++] = '\n';
    if (write(STDERR_FILENO, text, length) < 0)
        return;
}

#define BENCH_STACK (512 * KiB) /* of a service's at most */

/* In the bench's code, on behalf of the image. */
static void look_for_service(struct fault *fault)
{
    const struct boundary_call *call = boundary_innermost_call(fault->nt->boundary);
    uint64_t rsp = fault->state.general[IMAGE_RSP], place = (uintptr_t)call;

    if (!call || !call->function || rsp >= place || place - rsp >= BENCH_STACK)
        return;
    /* The kernel of the host reads what the arguments point at, and brings nothing in. */
    if (fault->nt->irql < DISPATCH_LEVEL)
        nt_paging_bring_in(fault->nt);
    service_fault_explain(fault->nt, call, fault->code == SI_KERNEL ? UINT64_MAX : fault->address,
                          &fault->service);
}

static volatile sig_atomic_t is_taking;

bool exception_take_fault(struct nt *nt, int signal, const void *information, void *context)
{
    const siginfo_t *info = information;
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t rsp = (uint64_t)registers[REG_RSP], rip = (uint64_t)registers[REG_RIP];
    bool is_page_fault = signal == SIGSEGV && info->si_code != SI_KERNEL;
    struct fault fault = {
        .nt = nt, .signal = signal, .code = info->si_code, .error = (uint64_t)registers[REG_ERR]};

    /* The driver waits meanwhile, and knows nothing of it. */
    if (nt->host.runs_gpu_model && nt->host.runs_gpu_model(nt->host.context))
        return false;
    /* The code below may fault itself, where the bench's own memory has been written over. */
    if (!nt->image || info->si_code <= 0 || is_taking)
        return false;
    is_taking = 1;
    fault.address = is_page_fault ? (uintptr_t)info->si_addr : 0;
    boundary_state_of_signal(context, &fault.state);
    fault.lacking = is_page_fault ? nt_find_lacking(nt, info->si_addr) : NULL;
    if (fault.lacking && rip == fault.address) { /* a call */
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] =
            (greg_t)(uintptr_t)fault.lacking->call;
        is_taking = 0;
        return true;
    }
    if (is_page_fault && nt->host.owns_address &&
        nt->host.owns_address(nt->host.context, info->si_addr)) {
        is_taking = 0;
        return false;
    }
    if (!boundary_is_on_stack(nt->boundary, rsp) && !boundary_is_beyond_stack(nt->boundary, rsp) &&
        !(is_page_fault && boundary_is_beyond_stack(nt->boundary, fault.address)) &&
        !image_contains(nt->image, rip) && !exception_is_direct(rip) &&
        boundary_is_on_bench_stack(nt->boundary, rsp)) {
        if (signal == SIGSEGV)
            look_for_service(&fault);
        if (!fault.service.is_explained) {
            tell_caller(&fault);
            is_taking = 0;
            return false;
        }
    }
    boundary_interrupt(nt->boundary, context, on_fault, &fault, sizeof fault);
    is_taking = 0;
    return true;
}

/* ---- Fast fail ------------------------------------------------------------------------------- */

static const char *fast_fail_name(uint64_t code)
{
    switch (code) {
    case 2:
        return " (a stack cookie that was written over)";
    case 3:
        return " (a corrupt list entry)";
    case 5:
        return " (an invalid argument)";
    case 7:
        return " (asked for)";
    case 8:
        return " (a range check)";
    case 10:
        return " (an indirect call to what is no function)";
    default:
        return "";
    }
}

static void on_fast_fail(struct boundary_call *call, const void *data)
{
    const struct fault *fault = data;
    uint64_t code = fault->state.general[1] & 0xffffffff;
    const uint64_t parameters[4] = {code, 0, 0, 0};
    char text[320], where[200];

    exception_name_address(fault->nt, fault->state.rip, where, sizeof where);
    snprintf(text, sizeof text, "the driver fails fast with code %" PRIu64 "%s, at %s", code,
             fast_fail_name(code), where);
    exception_crash(fault->nt, &fault->state, NT_KERNEL_SECURITY_CHECK_FAILURE, parameters, text);
}

void exception_take_fast_fail(struct nt *nt, void *context)
{
    struct fault fault = {.nt = nt};

    boundary_state_of_signal(context, &fault.state);
    if (!nt->image)
        KeBugCheckEx(NT_KERNEL_SECURITY_CHECK_FAILURE, fault.state.general[1] & 0xffffffff, 0, 0,
                     0);
    boundary_interrupt(nt->boundary, context, on_fast_fail, &fault, sizeof fault);
}

#else

void exception_take_fast_fail(struct nt *nt, void *context)
{
}

bool exception_take_fault(struct nt *nt, int signal, const void *info, void *context)
{
    return false;
}

#endif
