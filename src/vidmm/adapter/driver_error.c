#include "vidmm/adapter/driver_error.h"

#include "vidmm/vidmm_private.h"

#include <stdarg.h>
#include <stdio.h>

void vidmm_driver_error(struct vidmm *vidmm, const char *rule, const char *format, ...)
{
    char text[256];
    va_list arguments;

    if (!vidmm->config.events.driver_error)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    vidmm->config.events.driver_error(vidmm->config.events.context, rule, text);
}
