/*
 * On Windows a driver runs in the process of the bench, which does not outlive its crash: nothing
 * is noted for anybody.
 */
#include "bench/child/crash_recorder.h"

#include <stddef.h>

static const char *model;

bool crash_recorder_is_on(void)
{
    return false;
}

void crash_recorder_set_record(struct record *record)
{
}

void crash_recorder_set_locator(size_t (*locate)(const void *signal_context, char *text,
                                                 size_t size))
{
}

void crash_recorder_set_check(struct check *check)
{
}

const char *crash_recorder_enter_model(const char *what)
{
    const char *before = model;

    model = what;
    return before;
}

void crash_recorder_leave_model(const char *before)
{
    model = before;
}

bool crash_recorder_runs_model(void)
{
    return model != NULL;
}

void crash_recorder_note_line(const char *line, size_t length)
{
}

void crash_recorder_note_paging(const struct trace_event *event)
{
}
