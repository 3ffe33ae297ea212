/*
 * Outcome of a run: refused, broken, or by its findings.
 */
#include "bench/run/run_private.h"

#include <stdarg.h>
#include <stdio.h>

bool run_refuse(struct run_assembly *run, const char *format, ...)
{
    va_list arguments;

    run->result->outcome = RUN_REFUSED;
    va_start(arguments, format);
    vsnprintf(run->result->error, sizeof run->result->error, format, arguments);
    va_end(arguments);
    return false;
}

void run_break(struct run_assembly *run, const char *text)
{
    if (run->result->outcome != RUN_BROKEN)
        snprintf(run->result->error, sizeof run->result->error, "%s", text);
    run->result->outcome = RUN_BROKEN;
}

void run_settle_outcome(struct run_result *result)
{
    if (result->outcome != RUN_CLEAN)
        return;
    for (unsigned i = 0; i < RUN_FINDING_KIND_COUNT; i++) {
        if (!run_finding_is_remark((enum run_finding_kind)i) && result->finding_totals[i])
            result->outcome = RUN_FINDINGS;
    }
}
