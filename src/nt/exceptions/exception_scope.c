/*
 * The handler of C: one for every function with __try, that reads the function's scopes.
 *
 * A scope is a range of instructions. Inner ones stand before outer ones. One with a jump target is
 * an __except: its filter says whether to go on there. One without is a __finally.
 */
#include "nt/exceptions/exception_private.h"

#include "base/bits.h"

#include <string.h>

typedef LONG NTAPI filter_function(EXCEPTION_POINTERS *exception, void *frame);
typedef VOID NTAPI finally_function(BOOLEAN is_abnormal, void *frame);

#define ALWAYS 1 /* in place of a filter: the scope handles everything */

struct scopes {
    const SCOPE_TABLE_AMD64 *table;
    ULONG count; /* those that lie in the image: its own count may be anything */
    uint64_t base;
};

static struct scopes scopes_of(const struct nt *nt, const DISPATCHER_CONTEXT *dispatcher)
{
    uint64_t at = (uintptr_t)dispatcher->HandlerData, end;
    const struct image_section *section = image_section_at(nt->image, at);
    struct scopes scopes = {.base = dispatcher->ImageBase};

    if (!section || !section->is_readable || !is_aligned(at, 4))
        return scopes;
    end = image_base(nt->image) + section->rva + section->bytes;
    if (end - at < offsetof(SCOPE_TABLE_AMD64, ScopeRecord))
        return scopes;
    scopes.table = (const SCOPE_TABLE_AMD64 *)dispatcher->HandlerData;
    scopes.count =
        (ULONG)min_u64(scopes.table->Count, (end - at - offsetof(SCOPE_TABLE_AMD64, ScopeRecord)) /
                                                sizeof scopes.table->ScopeRecord[0]);
    return scopes;
}

static bool covers(const struct scopes *scopes, ULONG index, uint64_t address)
{
    uint64_t rva = address - scopes->base;

    return rva >= scopes->table->ScopeRecord[index].BeginAddress &&
           rva < scopes->table->ScopeRecord[index].EndAddress;
}

/*
 * Whether the address is in a piece of the scope: one scope can have several, with the same
 * handler.
 */
static bool is_within(const struct scopes *scopes, ULONG index, uint64_t address)
{
    for (ULONG i = index; i < scopes->count; i++) {
        if (covers(scopes, i, address) &&
            scopes->table->ScopeRecord[i].HandlerAddress ==
                scopes->table->ScopeRecord[index].HandlerAddress &&
            scopes->table->ScopeRecord[i].JumpTarget ==
                scopes->table->ScopeRecord[index].JumpTarget)
            return true;
    }
    return false;
}

static EXCEPTION_DISPOSITION search(struct nt *nt, const struct scopes *scopes,
                                    EXCEPTION_RECORD *record, void *frame, CONTEXT *context,
                                    DISPATCHER_CONTEXT *dispatcher)
{
    EXCEPTION_POINTERS pointers = {record, context};

    for (ULONG i = dispatcher->ScopeIndex; i < scopes->count; i++) {
        ULONG filter = scopes->table->ScopeRecord[i].HandlerAddress;
        ULONG target = scopes->table->ScopeRecord[i].JumpTarget;
        LONG answer = EXCEPTION_EXECUTE_HANDLER;

        if (!target || !covers(scopes, i, dispatcher->ControlPc))
            continue;
        if (filter != ALWAYS) {
            filter_function *function = (filter_function *)nt_driver_function(
                nt, (const void *)(uintptr_t)(scopes->base + filter));

            answer = function ? function(&pointers, frame) : EXCEPTION_CONTINUE_SEARCH;
        }
        if (answer < 0)
            return ExceptionContinueExecution;
        if (answer > 0)
            RtlUnwindEx(frame, (PVOID)(uintptr_t)(scopes->base + target), record,
                        (PVOID)(uintptr_t)(ULONG)record->ExceptionCode, dispatcher->ContextRecord,
                        dispatcher->HistoryTable);
    }
    return ExceptionContinueSearch;
}

static EXCEPTION_DISPOSITION unwind(struct nt *nt, const struct scopes *scopes,
                                    const EXCEPTION_RECORD *record, void *frame,
                                    DISPATCHER_CONTEXT *dispatcher)
{
    bool is_target = (record->ExceptionFlags & EXCEPTION_TARGET_UNWIND) != 0;

    for (ULONG i = dispatcher->ScopeIndex; i < scopes->count; i++) {
        ULONG handler = scopes->table->ScopeRecord[i].HandlerAddress;
        ULONG target = scopes->table->ScopeRecord[i].JumpTarget;
        finally_function *function;

        if (!covers(scopes, i, dispatcher->ControlPc))
            continue;
        /* The place to go on lies in this scope or is its __except: the scope is not left. */
        if (is_target && (is_within(scopes, i, dispatcher->TargetIp) ||
                          (target && dispatcher->TargetIp == scopes->base + target)))
            return ExceptionContinueSearch;
        if (target)
            continue;
        dispatcher->ScopeIndex = i + 1; /* an exception in it is none of this scope */
        function = (finally_function *)nt_driver_function(
            nt, (const void *)(uintptr_t)(scopes->base + handler));
        if (function)
            function(TRUE, frame);
    }
    return ExceptionContinueSearch;
}

EXCEPTION_DISPOSITION NTAPI __C_specific_handler(struct _EXCEPTION_RECORD *ExceptionRecord,
                                                 void *EstablisherFrame,
                                                 struct _CONTEXT *ContextRecord,
                                                 struct _DISPATCHER_CONTEXT *Dispatcher)
{
    struct nt *nt = nt_current();
    struct boundary_call *call = nt->image ? boundary_innermost_call(nt->boundary) : NULL;
    struct exception_note note = {.call = call};
    EXCEPTION_DISPOSITION disposition;
    struct scopes scopes;

    if (!call)
        return ExceptionContinueSearch;
    scopes = scopes_of(nt, Dispatcher);
    exception_context_of_registers(&call->registers, &note.at);
    call->note = &note;
    if (ExceptionRecord->ExceptionFlags & EXCEPTION_UNWIND)
        disposition = unwind(nt, &scopes, ExceptionRecord, EstablisherFrame, Dispatcher);
    else
        disposition =
            search(nt, &scopes, ExceptionRecord, EstablisherFrame, ContextRecord, Dispatcher);
    call->note = NULL;
    return disposition;
}

VOID NTAPI _local_unwind(PVOID TargetFrame, PVOID TargetIp)
{
    RtlUnwindEx(TargetFrame, TargetIp, NULL, NULL, NULL, NULL);
}
