/*
 * The recorder of WPP traces, which keeps nothing here.
 *
 * Place   include/wdk. What the trace functions of a source become is written by drydock cc.
 * Source  Public documentation of the Inflight Trace Recorder. Public sources that use it call the
 *         functions of Ntstrsafe.h and include it nowhere (Microsoft's imx6dod).
 */
#ifndef _WPPRECORDER_H_
#define _WPPRECORDER_H_

#include "evntrace.h"
#include "ntdef.h"
#include "ntstrsafe.h"

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
