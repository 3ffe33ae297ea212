/*
 * Asking the handlers of an image, frame by frame, and unwinding.
 *
 * Everything here runs on the bench's stack, as a service of the image. The frames of the image
 * stay where they are on the kernel stack meanwhile, and the handlers run below them, until
 * boundary_resume() goes on in one of them and gives up the stack below.
 */
#include "nt/exceptions/exception_private.h"

#include "base/bits.h"

#include <string.h>

#define MOST_NESTED 24u /* exceptions of handlers of exceptions */

/* The pieces of handlers that the image has are called with the driver's convention. */
typedef EXCEPTION_DISPOSITION NTAPI handler_function(EXCEPTION_RECORD *record, void *frame,
                                                     CONTEXT *context,
                                                     DISPATCHER_CONTEXT *dispatcher);

/* ---- Contexts -------------------------------------------------------------------------------- */

#define KERNEL_CS   0x10 /* as drivers of Windows x64 find it */
#define KERNEL_DATA 0x2b
#define KERNEL_SS   0x18

static void context_of_state(const struct boundary_state *state, CONTEXT *out)
{
    struct image_context context;

    memset(out, 0, sizeof *out);
    exception_context_of_state(state, &context);
    exception_write_context(&context, out);
    out->ContextFlags = CONTEXT_FULL | CONTEXT_SEGMENTS;
    out->MxCsr = out->FltSave.MxCsr = state->mxcsr;
    out->EFlags = (ULONG)state->flags;
    out->SegCs = KERNEL_CS;
    out->SegSs = KERNEL_SS;
    out->SegDs = out->SegEs = out->SegGs = KERNEL_DATA;
}

/* The flags that a program may set, and those that never change. */
#define FLAGS_FREE  UINT64_C(0x40cd5)
#define FLAGS_FIXED UINT64_C(0x202)

void exception_state_of_context(const CONTEXT *from, struct boundary_state *out)
{
    memcpy(out->general, &from->Rax, sizeof out->general);
    memcpy(out->vector, &from->Xmm0, sizeof out->vector);
    out->rip = from->Rip;
    out->flags = (from->EFlags & FLAGS_FREE) | FLAGS_FIXED;
    out->mxcsr = from->MxCsr & 0xffff;
}

static struct exception_walk begin_walk(const struct nt *nt, struct boundary_call *call,
                                        const struct image_context *context)
{
    return (struct exception_walk){.nt = nt, .call = call, .context = *context};
}

/* ---- Handlers -------------------------------------------------------------------------------- */

static void fill_dispatcher(const struct nt *nt, const struct exception_frame *frame,
                            CONTEXT *context, DISPATCHER_CONTEXT *out)
{
    uint64_t base = image_base(nt->image);

    *out = (DISPATCHER_CONTEXT){
        .ControlPc = frame->before.rip,
        .ImageBase = base,
        .FunctionEntry =
            (PRUNTIME_FUNCTION)(uintptr_t)image_function_entry_at(nt->image, frame->before.rip),
        .EstablisherFrame = frame->place.establisher,
        .ContextRecord = context,
        .LanguageHandler = (PEXCEPTION_ROUTINE)(uintptr_t)(base + frame->place.handler_rva),
        .HandlerData = (PVOID)(uintptr_t)(base + frame->place.handler_data_rva),
        .ScopeIndex = frame->scope_index,
    };
}

static EXCEPTION_DISPOSITION call_handler(struct nt *nt, EXCEPTION_RECORD *record, CONTEXT *context,
                                          DISPATCHER_CONTEXT *dispatcher)
{
    handler_function *handler =
        (handler_function *)nt_driver_function(nt, (const void *)dispatcher->LanguageHandler);

    if (!handler)
        return ExceptionContinueSearch;
    return handler(record, (void *)(uintptr_t)dispatcher->EstablisherFrame, context, dispatcher);
}

static void __attribute__((noreturn))
crash_of_handling(struct nt *nt, const struct image_context *at, NTSTATUS status)
{
    EXCEPTION_RECORD record = {.ExceptionCode = status,
                               .ExceptionFlags = EXCEPTION_NONCONTINUABLE,
                               .ExceptionAddress = (PVOID)(uintptr_t)at->rip};
    struct boundary_state state = {.rip = at->rip};

    memcpy(state.general, at->general, sizeof state.general);
    memcpy(state.vector, at->vector, sizeof state.vector);
    nt->explained = NULL;
    exception_crash_unhandled(nt, &state, &record);
}

/* ---- The search ------------------------------------------------------------------------------ */

/* Whether the exception's context is to be gone on with; false: nobody handles it. */
static bool ask_handlers(struct nt *nt, struct boundary_call *call, EXCEPTION_RECORD *record,
                         CONTEXT *context, const struct image_context *origin)
{
    struct exception_walk walk = begin_walk(nt, call, origin);
    struct exception_frame frame;

    while (exception_next_frame(&walk, &frame)) {
        DISPATCHER_CONTEXT dispatcher;
        CONTEXT scratch = *context;

        if (!frame.place.handler_rva || !frame.place.handles_exceptions)
            continue;
        exception_write_context(&frame.after, &scratch);
        fill_dispatcher(nt, &frame, &scratch, &dispatcher);
        switch (call_handler(nt, record, context, &dispatcher)) {
        case ExceptionContinueSearch:
            break;
        case ExceptionContinueExecution:
            if (record->ExceptionFlags & EXCEPTION_NONCONTINUABLE)
                crash_of_handling(nt, origin, STATUS_NONCONTINUABLE_EXCEPTION);
            return true;
        default:
            crash_of_handling(nt, origin, STATUS_INVALID_DISPOSITION);
        }
    }
    return false;
}

static unsigned nesting_of(const struct boundary_call *call)
{
    unsigned count = 0;

    for (; call; call = call->outer)
        count += call->note != NULL;
    return count;
}

void exception_dispatch(struct nt *nt, struct boundary_call *call, EXCEPTION_RECORD *record,
                        struct boundary_state *state)
{
    struct exception_note note = {.call = call};
    CONTEXT context;

    exception_context_of_state(state, &note.at);
    context_of_state(state, &context);
    if (nesting_of(call) >= MOST_NESTED)
        exception_crash_unhandled(nt, state, record);
    call->note = &note;
    if (!ask_handlers(nt, call, record, &context, &note.at))
        exception_crash_unhandled(nt, state, record);
    exception_state_of_context(&context, state);
    boundary_continue(nt->boundary, state);
}

void exception_raise_at(struct nt *nt, struct boundary_call *call, EXCEPTION_RECORD *record)
{
    struct boundary_state state = {.flags = FLAGS_FIXED, .mxcsr = 0x1f80};
    struct image_context context;

    exception_context_of_registers(&call->registers, &context);
    state.rip = context.rip;
    memcpy(state.general, context.general, sizeof state.general);
    memcpy(state.vector, context.vector, sizeof state.vector);
    if (!record->ExceptionAddress)
        record->ExceptionAddress = (PVOID)(uintptr_t)state.rip;
    exception_dispatch(nt, call, record, &state);
}

void exception_raise(struct nt *nt, EXCEPTION_RECORD *record)
{
    struct boundary_call *call = nt->image ? boundary_innermost_call(nt->boundary) : NULL;

    if (nt->explained == record)
        nt->explained = NULL;
    if (!call)
        exception_crash_unhandled(nt, NULL, record);
    exception_raise_at(nt, call, record);
}

void exception_raise_status(struct nt *nt, NTSTATUS status)
{
    EXCEPTION_RECORD record = {.ExceptionCode = status, .ExceptionFlags = EXCEPTION_NONCONTINUABLE};

    exception_raise(nt, &record);
}

/* ---- Unwinding ------------------------------------------------------------------------------- */

VOID NTAPI RtlUnwindEx(PVOID TargetFrame, PVOID TargetIp, PEXCEPTION_RECORD ExceptionRecord,
                       PVOID ReturnValue, PCONTEXT ContextRecord,
                       PUNWIND_HISTORY_TABLE HistoryTable)
{
    struct nt *nt = nt_current();
    struct boundary_call *call = nt->image ? boundary_innermost_call(nt->boundary) : NULL;
    EXCEPTION_RECORD own = {.ExceptionCode = STATUS_UNWIND};
    EXCEPTION_RECORD *record = ExceptionRecord ? ExceptionRecord : &own;
    uint64_t target = (uintptr_t)TargetFrame;
    struct exception_note note = {.call = call};
    DISPATCHER_CONTEXT dispatcher;
    struct exception_walk walk;
    struct exception_frame frame;
    CONTEXT scratch;

    if (!call)
        exception_raise_status(nt, STATUS_INVALID_UNWIND_TARGET);
    exception_context_of_registers(&call->registers, &note.at);
    own.ExceptionAddress = (PVOID)(uintptr_t)note.at.rip;
    memset(&scratch, 0, sizeof scratch);
    walk = begin_walk(nt, call, &note.at);
    while (exception_next_frame(&walk, &frame)) {
        bool is_target = frame.place.establisher == target;

        if (frame.place.establisher > target)
            break;
        if (frame.place.handler_rva && frame.place.handles_unwinding) {
            record->ExceptionFlags = (record->ExceptionFlags & EXCEPTION_NONCONTINUABLE) |
                                     EXCEPTION_UNWINDING |
                                     (is_target ? EXCEPTION_TARGET_UNWIND : 0) |
                                     (frame.is_collided ? EXCEPTION_COLLIDED_UNWIND : 0);
            exception_write_context(&frame.before, &scratch);
            scratch.Rax = (uintptr_t)ReturnValue;
            fill_dispatcher(nt, &frame, &scratch, &dispatcher);
            dispatcher.TargetIp = (uintptr_t)TargetIp;
            note = (struct exception_note){frame.before, frame.call, &dispatcher};
            call->note = &note;
            if (call_handler(nt, record, &scratch, &dispatcher) != ExceptionContinueSearch)
                crash_of_handling(nt, &frame.before, STATUS_INVALID_DISPOSITION);
        }
        if (is_target) {
            struct boundary_registers registers =
                boundary_preserved(frame.before.general, frame.before.vector, frame.before.rip);

            registers.rip = (uintptr_t)TargetIp;
            boundary_resume(nt->boundary, &registers, (uintptr_t)ReturnValue);
        }
    }
    crash_of_handling(nt, &walk.context, STATUS_INVALID_UNWIND_TARGET);
}
