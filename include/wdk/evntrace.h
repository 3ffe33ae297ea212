/*
 * Levels of traces.
 *
 * Place   include/wdk. Stands alone.
 * Source  Public documentation of evntrace.h's levels and of winmeta.h's, which are the same.
 */
#ifndef _EVNTRACE_
#define _EVNTRACE_

#define TRACE_LEVEL_NONE        0
#define TRACE_LEVEL_CRITICAL    1
#define TRACE_LEVEL_FATAL       1
#define TRACE_LEVEL_ERROR       2
#define TRACE_LEVEL_WARNING     3
#define TRACE_LEVEL_INFORMATION 4
#define TRACE_LEVEL_VERBOSE     5

#define WINEVENT_LEVEL_LOG_ALWAYS 0
#define WINEVENT_LEVEL_CRITICAL   1
#define WINEVENT_LEVEL_ERROR      2
#define WINEVENT_LEVEL_WARNING    3
#define WINEVENT_LEVEL_INFO       4
#define WINEVENT_LEVEL_VERBOSE    5

#endif
