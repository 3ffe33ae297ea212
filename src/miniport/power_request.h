/*
 * Power requests: the callbacks by which a driver tells what it needs of its power components.
 *
 * Place      miniport. struct miniport_host_ops has one function for all of them, power().
 * Model      A request is the kind of callback and its arguments. Callbacks that return nothing
 *            have a status here: what the kernel found, for the layers between driver and kernel.
 * Source     The pages of DXGKCB_SETPOWERCOMPONENTACTIVE and those that it names.
 */
#ifndef MINIPORT_POWER_REQUEST_H
#define MINIPORT_POWER_REQUEST_H

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

/* X(slot of DXGKRNL_INTERFACE). The last one alone has a control code, and returns a status. */
#define MINIPORT_POWER_LIST(X)                                                                     \
    X(SetPowerComponentActive)                                                                     \
    X(SetPowerComponentIdle)                                                                       \
    X(SetPowerComponentLatency)                                                                    \
    X(SetPowerComponentResidency)                                                                  \
    X(CompleteFStateTransition)                                                                    \
    X(PowerRuntimeControlRequest)

enum miniport_power_kind {
#define X(slot) MINIPORT_POWER_##slot,
    MINIPORT_POWER_LIST(X)
#undef X
        MINIPORT_POWER_COUNT
};

struct miniport_power_request {
    enum miniport_power_kind kind;
    UINT ComponentIndex;
    ULONGLONG time; /* Latency or Residency, in units of 100 ns */
};

/*
 * What DxgkDdiPowerRuntimeControlRequest tells of the kernel's own, by its GUID. Their values are
 * in no documentation, and those of the headers are Drydock's.
 */
enum miniport_power_phase {
    MINIPORT_POWER_PREPARE_TO_START,
    MINIPORT_POWER_STARTED,
    MINIPORT_POWER_STOPPED,
    MINIPORT_POWER_PHASES
};
const GUID *miniport_power_phase_code(enum miniport_power_phase phase);
/* MINIPORT_POWER_PHASES: it is none of these. */
enum miniport_power_phase miniport_power_phase(LPCGUID code);
/* "GUID_DXGKDDI_POWER_MANAGEMENT_STARTED" */
const char *miniport_power_phase_name(enum miniport_power_phase phase);

/* "DxgkCbSetPowerComponentActive" */
const char *miniport_power_name(enum miniport_power_kind kind);

#endif
