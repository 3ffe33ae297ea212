#include "nt/machine/bug_check.h"

#include "nt/exceptions/exception.h"
#include "nt/machine/boundary.h"
#include "nt/memory/paging.h"
#include "nt/nt_private.h"

#include "base/bits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *nt_bug_check_name(uint32_t code)
{
    static const struct {
        uint32_t code;
        const char *name;
    } names[] = {
#define X(name, code) {(code), #name},
        NT_BUG_CHECKS(X)
#undef X
    };

    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (names[i].code == code)
            return names[i].name;
    return "";
}

/* ---- On a thread of the driver --------------------------------------------------------------- */

/* The first thread stops the machine for it, and never gives the thread another turn. */
static void __attribute__((noreturn)) leave_for_ever(struct nt *nt)
{
    for (;;)
        boundary_switch(nt->scheduler.home);
}

/* Returns on the first thread only. */
static void stop_from_thread(struct nt *nt, uint32_t code, const uint64_t parameters[4])
{
    if (nt_is_first_thread(nt))
        return;
    nt->scheduler.stop.is_pending = true;
    nt->scheduler.stop.thread = nt->scheduler.current->number;
    nt->scheduler.stop.is_deadlock = false;
    nt->scheduler.stop.code = code;
    memcpy(nt->scheduler.stop.parameters, parameters, sizeof nt->scheduler.stop.parameters);
    leave_for_ever(nt);
}

void nt_crash_from_thread(struct nt *nt, const struct nt_crash *crash)
{
    nt->scheduler.stop.crash = crash;
    stop_from_thread(nt, crash->bug_check, crash->parameters);
}

/* ---- The end --------------------------------------------------------------------------------- */

/* On the thread that stops the machine, not on the first one, which only passes it on. */
static void note_where(struct nt *nt)
{
    if (!nt->scheduler.stop.thread)
        exception_backtrace(nt, NULL, nt->stopped_at, sizeof nt->stopped_at);
}

const char *nt_stopped_at(const struct nt *nt)
{
    return nt->stopped_at;
}

VOID NTAPI KeBugCheckEx(ULONG BugCheckCode, ULONG_PTR P1, ULONG_PTR P2, ULONG_PTR P3, ULONG_PTR P4)
{
    struct nt *nt = nt_current();
    const uint64_t parameters[4] = {P1, P2, P3, P4};

    nt_paging_bring_in(nt);
    note_where(nt);
    stop_from_thread(nt, BugCheckCode, parameters);
    if (nt->host.bug_check)
        nt->host.bug_check(nt->host.context, BugCheckCode, parameters);
    fprintf(stderr, "nt: bug check 0x%x (0x%llx, 0x%llx, 0x%llx, 0x%llx)\n", BugCheckCode,
            (unsigned long long)P1, (unsigned long long)P2, (unsigned long long)P3,
            (unsigned long long)P4);
    abort();
}

void nt_deadlock(struct nt *nt, const char *text)
{
    if (!nt_is_first_thread(nt)) {
        nt->scheduler.stop.is_pending = nt->scheduler.stop.is_deadlock = true;
        nt->scheduler.stop.thread = nt->scheduler.current->number;
        snprintf(nt->scheduler.stop.text, sizeof nt->scheduler.stop.text, "%s", text);
        leave_for_ever(nt);
    }
    if (nt->host.deadlock)
        nt->host.deadlock(nt->host.context, text);
    fprintf(stderr, "nt: %s\n", text);
    abort();
}

void nt_stop_run(struct nt *nt)
{
    nt->scheduler.stop.is_pending = false;
    if (nt->scheduler.stop.is_deadlock)
        nt_deadlock(nt, nt->scheduler.stop.text);
    if (nt->scheduler.stop.crash)
        nt->host.crash(nt->host.context, nt->scheduler.stop.crash);
    KeBugCheckEx(nt->scheduler.stop.code, nt->scheduler.stop.parameters[0],
                 nt->scheduler.stop.parameters[1], nt->scheduler.stop.parameters[2],
                 nt->scheduler.stop.parameters[3]);
}

static const struct nt_export services[] = {
    NT_SERVICE(KeBugCheckEx),
    {0},
};

const struct nt_area nt_bug_check_area = {.exports = services};
