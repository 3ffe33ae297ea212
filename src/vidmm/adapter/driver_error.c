#include "vidmm/adapter/driver_error.h"

#include "vidmm/vidmm_private.h"

#include <stdarg.h>
#include <stdio.h>

static void tell(struct vidmm *vidmm, bool is_error, bool is_refusal, const char *rule,
                 const char *format, va_list arguments)
{
    const struct vidmm_events *events = &vidmm->config.events;
    char text[256];

    vsnprintf(text, sizeof text, format, arguments);
    if (is_error && events->driver_error)
        events->driver_error(events->context, rule, text);
    if (is_refusal && events->refused)
        events->refused(events->context, rule, text);
}

void vidmm_driver_error(struct vidmm *vidmm, const char *rule, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    tell(vidmm, true, false, rule, format, arguments);
    va_end(arguments);
}

void vidmm_refuse(struct vidmm *vidmm, const char *rule, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    tell(vidmm, false, true, rule, format, arguments);
    va_end(arguments);
}

void vidmm_refuse_answer(struct vidmm *vidmm, const char *rule, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    tell(vidmm, true, true, rule, format, arguments);
    va_end(arguments);
}
