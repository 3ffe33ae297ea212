/*
 * The recorder of WPP traces, which keeps nothing here.
 *
 * Place   include/wdk. What the trace functions of a source become is written by drydock cc.
 * Source  Public documentation of the Inflight Trace Recorder and of evntrace.h's levels.
 */
#ifndef _WPPRECORDER_H_
#define _WPPRECORDER_H_

#include "ntdef.h"

#define TRACE_LEVEL_NONE        0
#define TRACE_LEVEL_CRITICAL    1
#define TRACE_LEVEL_FATAL       1
#define TRACE_LEVEL_ERROR       2
#define TRACE_LEVEL_WARNING     3
#define TRACE_LEVEL_INFORMATION 4
#define TRACE_LEVEL_VERBOSE     5

typedef struct _RECORDER_CONFIGURE_PARAMS {
    ULONG Size;
    BOOLEAN CreateDefaultLog;
} RECORDER_CONFIGURE_PARAMS, *PRECORDER_CONFIGURE_PARAMS;

FORCEINLINE VOID RECORDER_CONFIGURE_PARAMS_INIT(PRECORDER_CONFIGURE_PARAMS Params)
{
    Params->Size = sizeof *Params;
    Params->CreateDefaultLog = TRUE;
}

FORCEINLINE VOID WppRecorderConfigure(PRECORDER_CONFIGURE_PARAMS Params)
{
    UNREFERENCED_PARAMETER(Params);
}

#endif
