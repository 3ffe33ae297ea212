/* The first questions of every service: its kernel, its caller, and its highest IRQL. */
#include "nt/nt_private.h"

#include "nt/machine/boundary.h"
#include "nt/memory/paging.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES 128 /* of the word of something asked for in vain */

/* ---- The kernel of the thread ---------------------------------------------------------------- */

static _Thread_local struct nt *current;

struct nt *nt_bind(struct nt *nt)
{
    struct nt *before = current;

    current = nt;
    return before;
}

struct nt *nt_current_or_none(void)
{
    return current;
}

struct nt *nt_current(void)
{
    if (!current) {
        fprintf(stderr, "nt: a driver called the kernel, and none is bound to this thread\n");
        abort();
    }
    return current;
}

/* ---- The driver ------------------------------------------------------------------------------ */

void nt_watch_entries(struct nt *nt, void (*tell)(void *context), void *context)
{
    nt->tell_entry = tell;
    nt->entry_context = context;
}

void nt_set_lacking(struct nt *nt, const struct nt_lacking *first)
{
    nt->lacking = first;
}

const struct nt_lacking *nt_find_lacking(const struct nt *nt, const void *address)
{
    const struct nt_lacking *lacking = nt->lacking;

    while (lacking && (uintptr_t)address - (uintptr_t)lacking->page >= NT_LACKING_BYTES)
        lacking = lacking->next;
    return lacking;
}

void *nt_driver_function(struct nt *nt, const void *function)
{
    if (nt->tell_entry)
        nt->tell_entry(nt->entry_context);
    return nt->boundary ? boundary_entry(nt->boundary, function) : (void *)(uintptr_t)function;
}

uint64_t nt_caller(const struct nt *nt)
{
    const struct boundary_registers *caller = nt->boundary ? boundary_caller(nt->boundary) : NULL;

    return caller ? caller->rip : 0;
}

bool nt_is_first_thread(const struct nt *nt)
{
    return nt->scheduler.current == &nt->scheduler.first;
}

uint32_t nt_running_thread(const struct nt *nt)
{
    return nt->scheduler.stop.thread ? nt->scheduler.stop.thread : nt->scheduler.current->number;
}

/* ---- IRQL ------------------------------------------------------------------------------------ */

bool nt_explain_address(const struct nt *nt, const void *address, char *text, size_t size)
{
    if ((uintptr_t)address < nt->user_start || (uintptr_t)address >= nt->user_end)
        return nt_pool_explain(nt, address, text, size);
    snprintf(text, size, "%s",
             "memory of the client, which its process has taken away; PATCH-016: the driver reads "
             "it under an exception handler");
    return true;
}

void nt_set_user_memory(struct nt *nt, const void *start, size_t bytes)
{
    nt->user_start = (uintptr_t)start;
    nt->user_end = nt->user_start + bytes;
}

KIRQL nt_set_irql(struct nt *nt, KIRQL irql)
{
    KIRQL before = nt->irql;

    nt->irql = irql;
    if (nt->paging.has_any && before < DISPATCH_LEVEL && irql >= DISPATCH_LEVEL)
        nt_paging_rise(nt);
    return before;
}

KIRQL nt_irql(const struct nt *nt)
{
    return nt->irql;
}

uint32_t nt_held_by_thread(const struct nt *nt)
{
    const struct nt_thread *thread = nt->scheduler.current;

    return (uint32_t)thread->critical_depth + (uint32_t)thread->guarded_depth +
           thread->owned_mutexes + nt->held_locks;
}

uint32_t nt_held_lock_count(const struct nt *nt)
{
    return nt->held_locks;
}

/* ---- Reports to the host --------------------------------------------------------------------- */

void nt_report_missing(struct nt *nt, const char *name)
{
    if (nt->host.missing)
        nt->host.missing(nt->host.context, name);
}

void nt_report_trespass(struct nt *nt, const char *what)
{
    if (nt->host.trespass)
        nt->host.trespass(nt->host.context, what);
}

void nt_report_in_vain(struct nt *nt, const char *kind, PCUNICODE_STRING name, const char *end)
{
    char word[WORD_BYTES];
    int length = snprintf(word, sizeof word, "%s", kind);

    if (!nt->host.in_vain)
        return;
    for (USHORT i = 0; i < name->Length / sizeof(WCHAR) && length < WORD_BYTES - 16; i++) {
        const WCHAR sign = name->Buffer[i];
        const bool is_plain = sign > ' ' && sign <= '~' && !strchr("\"#',%=", sign);

        length += snprintf(word + length, sizeof word - (size_t)length, is_plain ? "%c" : "%%%02X",
                           sign & 0xffu);
    }
    snprintf(word + length, sizeof word - (size_t)length, "%s", end);
    nt->host.in_vain(nt->host.context, word);
}

void nt_misuse(struct nt *nt, const char *format, ...)
{
    char text[760];
    va_list arguments;

    if (!nt->host.misuse)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    nt->host.misuse(nt->host.context, text);
}

void nt_require_irql(struct nt *nt, const char *service, KIRQL highest)
{
    if (nt->irql > highest)
        nt_misuse(nt, "%s is called at IRQL %u; it is for IRQL %u at most", service, nt->irql,
                  highest);
}
