/*
 * Events that describe themselves. No session traces here, so no provider is ever enabled, and the
 * arguments of an event are not evaluated, as they are not on a machine where nobody listens.
 *
 * Place   include/wdk.
 * Source  Public documentation of TraceLoggingProvider.h.
 */
#ifndef _TRACELOGGINGPROVIDER_H_
#define _TRACELOGGINGPROVIDER_H_

#include "evntrace.h"
#include "ntstatus.h"
#include "windef.h"

struct _tlgProvider_t;
typedef const struct _tlgProvider_t *TraceLoggingHProvider;

#define TRACELOGGING_DECLARE_PROVIDER(handle) EXTERN_C const TraceLoggingHProvider handle
#define TRACELOGGING_DEFINE_PROVIDER(handle, name, guid, ...)                                      \
    EXTERN_C const TraceLoggingHProvider handle;                                                   \
    const TraceLoggingHProvider handle = NULL

#define TraceLoggingRegister(handle)                           ((void)(handle), STATUS_SUCCESS)
#define TraceLoggingRegisterEx(handle, callback, context)      ((void)(handle), STATUS_SUCCESS)
#define TraceLoggingUnregister(handle)                         ((void)(handle))
#define TraceLoggingProviderEnabled(handle, level, keyword)    ((void)(handle), FALSE)
#define TraceLoggingWrite(handle, name, ...)                   ((void)(handle))
#define TraceLoggingWriteActivity(handle, name, id, from, ...) ((void)(handle))

#endif
