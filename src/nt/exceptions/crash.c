/*
 * The end of a run by an exception that nobody handled: its bug check, its place, and the frames
 * that led there.
 */
#include "nt/exceptions/exception_private.h"
#include "nt/machine/bug_check.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STATE_BYTES 4096u

static const char *name_of_status(NTSTATUS status)
{
    static const struct {
        NTSTATUS status;
        const char *name;
    } names[] = {
        {STATUS_ACCESS_VIOLATION, "access violation"},
        {STATUS_DATATYPE_MISALIGNMENT, "misaligned data"},
        {STATUS_BREAKPOINT, "breakpoint"},
        {STATUS_SINGLE_STEP, "single step"},
        {STATUS_IN_PAGE_ERROR, "page that cannot be read"},
        {STATUS_ILLEGAL_INSTRUCTION, "illegal instruction"},
        {STATUS_NONCONTINUABLE_EXCEPTION, "continuing what cannot be continued"},
        {STATUS_INVALID_DISPOSITION, "invalid answer of a handler"},
        {STATUS_BAD_STACK, "bad stack"},
        {STATUS_INVALID_UNWIND_TARGET, "invalid target of unwinding"},
        {STATUS_FLOAT_DIVIDE_BY_ZERO, "float division by zero"},
        {STATUS_FLOAT_INVALID_OPERATION, "invalid float operation"},
        {STATUS_FLOAT_OVERFLOW, "float overflow"},
        {STATUS_FLOAT_UNDERFLOW, "float underflow"},
        {STATUS_FLOAT_INEXACT_RESULT, "inexact float result"},
        {STATUS_INTEGER_DIVIDE_BY_ZERO, "integer division by zero"},
        {STATUS_INTEGER_OVERFLOW, "integer overflow"},
        {STATUS_ASSERTION_FAILURE, "failed assertion"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (names[i].status == status)
            return names[i].name;
    return "exception";
}

static void add_registers(struct exception_text *text, const struct boundary_state *state)
{
    static const char *const names[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                          "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

    for (unsigned i = 0; i < 16; i++)
        exception_add(text, "%s%s=%" PRIx64, i % 4 ? " " : "\n  ", names[i], state->general[i]);
    exception_add(text, "\n  rip=%" PRIx64 " flags=%" PRIx64, state->rip, state->flags);
}

/* ---- The end --------------------------------------------------------------------------------- */

void exception_crash(struct nt *nt, const struct boundary_state *state, uint32_t bug_check,
                     const uint64_t parameters[4], const char *what)
{
    static char lines[STATE_BYTES];
    struct exception_text text = {lines, sizeof lines, 0};
    struct nt_crash crash = {.bug_check = bug_check, .what = what, .state = lines};
    struct image_context context;

    lines[0] = '\0';
    memcpy(crash.parameters, parameters, sizeof crash.parameters);
    if (state && nt->image) {
        const struct boundary_call *call = boundary_innermost_call(nt->boundary);

        exception_context_of_state(state, &context);
        exception_add_frames(nt, &text, call, context);
        add_registers(&text, state);
    }
    if (nt->host.crash) {
        nt_crash_from_thread(nt, &crash);
        nt->host.crash(nt->host.context, &crash);
    }
    fprintf(stderr, "nt: %s%s\n", what, lines);
    KeBugCheckEx(bug_check, parameters[0], parameters[1], parameters[2], parameters[3]);
    __builtin_trap();
}

static void describe(const struct nt *nt, const EXCEPTION_RECORD *record,
                     struct exception_text *text)
{
    char where[200], block[128];

    exception_name_address(nt, (uintptr_t)record->ExceptionAddress, where, sizeof where);
    exception_add(text, "%s (0x%08x) that nobody handles", name_of_status(record->ExceptionCode),
                  (unsigned)record->ExceptionCode);
    if (nt->explained == record) {
        exception_add(text, ": %s", nt->explanation);
        return;
    }
    if (record->ExceptionCode == STATUS_ACCESS_VIOLATION && record->NumberParameters == 2) {
        const char *verb = record->ExceptionInformation[0] == 0   ? "reading"
                           : record->ExceptionInformation[0] == 1 ? "writing"
                                                                  : "executing";

        if (record->ExceptionInformation[1] == UINT64_MAX)
            exception_add(text, ", %s an address that is none", verb);
        else
            exception_add(text, ", %s 0x%" PRIx64, verb, (uint64_t)record->ExceptionInformation[1]);
        if (nt_explain_address(nt, (const void *)record->ExceptionInformation[1], block,
                               sizeof block))
            exception_add(text, " (%s)", block);
    }
    exception_add(text, ", at %s", where);
}

void exception_crash_unhandled(struct nt *nt, const struct boundary_state *state,
                               EXCEPTION_RECORD *record)
{
    uint64_t parameters[4] = {(uint64_t)(int64_t)record->ExceptionCode,
                              (uintptr_t)record->ExceptionAddress, record->ExceptionInformation[0],
                              record->ExceptionInformation[1]};
    bool is_in_thread = nt->image && boundary_current_thread(nt->boundary) != nt->first_thread;
    char buffer[800];
    struct exception_text text = {buffer, sizeof buffer, 0};

    describe(nt, record, &text);
    if (is_in_thread) {
        parameters[2] = (uintptr_t)record;
        parameters[3] = 0;
    }
    exception_crash(nt, state,
                    is_in_thread ? NT_SYSTEM_THREAD_EXCEPTION_NOT_HANDLED
                                 : NT_KMODE_EXCEPTION_NOT_HANDLED,
                    parameters, buffer);
}
