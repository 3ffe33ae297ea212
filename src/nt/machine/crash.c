/*
 * The end of what nobody handled: which bug check it would have been, where, and how it came there.
 */
#include "nt/machine/exception_internal.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MOST_FRAMES 4096u
#define MOST_LINES  24u
#define STATE_BYTES 4096u

/* ---- Text ------------------------------------------------------------------------------------ */

struct text {
    char *at;
    size_t size, used; /* used stays below size */
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
    size_t room = text->size - text->used;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text->at + text->used, room, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->used += min_u64((uint64_t)length, room - 1);
}

void exception_name_address(const struct nt *nt, uint64_t address, char *text, size_t size)
{
    struct image_symbol symbol;

    if (nt->image && image_symbol_at(nt->image, address, &symbol))
        snprintf(text, size, "%s!%.120s+0x%" PRIx64, nt->image_name, symbol.name, symbol.offset);
    else if (nt->boundary && boundary_is_on_stack(nt->boundary, address))
        snprintf(text, size, "0x%" PRIx64 " (its stack)", address);
    else
        snprintf(text, size, "0x%" PRIx64, address);
}

const char *exception_name_status(NTSTATUS status)
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

/* ---- Frames ---------------------------------------------------------------------------------- */

/* A recursion is told once. */
static void add_repeats(struct text *text, unsigned *repeats)
{
    if (*repeats)
        add(text, "\n  ... %u more of it", *repeats);
    *repeats = 0;
}

/* For who looks the line up: of a call, inside it, as what it returns to may be the next line. */
static void add_mark(const struct nt *nt, struct text *text, uint64_t address)
{
    struct image_symbol symbol;

    if (image_symbol_at(nt->image, address, &symbol))
        add(text, " (+0x%" PRIx64 ")", address - image_base(nt->image));
}

static void add_frames(const struct nt *nt, struct text *text, const struct boundary_call *call,
                       struct image_context context)
{
    unsigned repeats = 0, lines = 0;
    uint64_t last_rip = 0;

    for (unsigned number = 0; number < MOST_FRAMES && lines < MOST_LINES; number++) {
        struct image_frame frame;
        char name[200];

        if (number && context.rip == last_rip) {
            repeats++;
        } else if (boundary_is_return(context.rip)) {
            add_repeats(text, &repeats);
            call = call ? call->outer : NULL;
            if (!call)
                return;
            add(text, "\n  -- the bench");
            exception_context_of_registers(&call->registers, &context);
            last_rip = 0;
            lines++;
            continue;
        } else {
            add_repeats(text, &repeats);
            exception_name_address(nt, context.rip, name, sizeof name);
            add(text, "\n  #%u %s", number, name);
            add_mark(nt, text, number ? context.rip - 1 : context.rip);
            lines++;
        }
        last_rip = context.rip;
        if (!exception_step(nt, &context, &frame)) {
            add_repeats(text, &repeats);
            add(text, "\n  -- what is below is no frame of the image");
            return;
        }
    }
    add(text, "\n  ...");
}

size_t exception_backtrace(const struct nt *nt, const void *signal_context, char *out, size_t size)
{
    const struct boundary_call *call = nt->image ? boundary_innermost_call(nt->boundary) : NULL;
    struct text text = {out, size, 0};
    struct image_context context;
    struct boundary_state state;

    out[0] = '\0';
    if (!nt->image)
        return 0;
    if (signal_context) {
        struct boundary_call interrupted = {.outer = (struct boundary_call *)(uintptr_t)call};

        boundary_state_of_signal(signal_context, &state);
        if (boundary_is_on_stack(nt->boundary, state.general[IMAGE_RSP])) {
            exception_context_of_state(&state, &context);
            add_frames(nt, &text, &interrupted, context);
            return text.used;
        }
    }
    if (call) {
        exception_context_of_registers(&call->registers, &context);
        add_frames(nt, &text, call, context);
    }
    return text.used;
}

static void add_registers(struct text *text, const struct boundary_state *state)
{
    static const char *const names[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                          "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

    for (unsigned i = 0; i < 16; i++)
        add(text, "%s%s=%" PRIx64, i % 4 ? " " : "\n  ", names[i], state->general[i]);
    add(text, "\n  rip=%" PRIx64 " flags=%" PRIx64, state->rip, state->flags);
}

/* ---- The end --------------------------------------------------------------------------------- */

void exception_crash(struct nt *nt, const struct boundary_state *state, uint32_t bug_check,
                     const uint64_t parameters[4], const char *what)
{
    static char lines[STATE_BYTES];
    struct text text = {lines, sizeof lines, 0};
    struct nt_crash crash = {.bug_check = bug_check, .what = what, .state = lines};
    struct image_context context;

    lines[0] = '\0';
    memcpy(crash.parameters, parameters, sizeof crash.parameters);
    if (state && nt->image) {
        const struct boundary_call *call = boundary_innermost_call(nt->boundary);

        exception_context_of_state(state, &context);
        add_frames(nt, &text, call, context);
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

static void describe(const struct nt *nt, const EXCEPTION_RECORD *record, struct text *text)
{
    char where[200], block[128];

    exception_name_address(nt, (uintptr_t)record->ExceptionAddress, where, sizeof where);
    add(text, "%s (0x%08x) that nobody handles", exception_name_status(record->ExceptionCode),
        (unsigned)record->ExceptionCode);
    if (nt->explained == record) {
        add(text, ": %s", nt->explanation);
        return;
    }
    if (record->ExceptionCode == STATUS_ACCESS_VIOLATION && record->NumberParameters == 2) {
        const char *verb = record->ExceptionInformation[0] == 0   ? "reading"
                           : record->ExceptionInformation[0] == 1 ? "writing"
                                                                  : "executing";

        if (record->ExceptionInformation[1] == UINT64_MAX)
            add(text, ", %s an address that is none", verb);
        else
            add(text, ", %s 0x%" PRIx64, verb, (uint64_t)record->ExceptionInformation[1]);
        if (nt_pool_explain(nt, (const void *)record->ExceptionInformation[1], block, sizeof block))
            add(text, " (%s)", block);
    }
    add(text, ", at %s", where);
}

void exception_crash_unhandled(struct nt *nt, const struct boundary_state *state,
                               EXCEPTION_RECORD *record)
{
    uint64_t parameters[4] = {(uint64_t)(int64_t)record->ExceptionCode,
                              (uintptr_t)record->ExceptionAddress, record->ExceptionInformation[0],
                              record->ExceptionInformation[1]};
    bool is_in_thread = nt->image && boundary_current_thread(nt->boundary) != nt->first_thread;
    char buffer[800];
    struct text text = {buffer, sizeof buffer, 0};

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
