#include <ntddk.h>

#include <initguid.h>

#include "miniport/power_request.h"

#include "base/bits.h"

static const char *const names[] = {
#define X(slot) "DxgkCb" #slot,
    MINIPORT_POWER_LIST(X)
#undef X
};

const char *miniport_power_name(enum miniport_power_kind kind)
{
    return (size_t)kind < ARRAY_COUNT(names) ? names[kind] : "?";
}

static const struct {
    const GUID *code;
    const char *name;
} phases[] = {
#define PHASE(phase)                                                                               \
    [MINIPORT_POWER_##                                                                             \
        phase] = {&GUID_DXGKDDI_POWER_MANAGEMENT_##phase, "GUID_DXGKDDI_POWER_MANAGEMENT_" #phase}
    PHASE(PREPARE_TO_START),
    PHASE(STARTED),
    PHASE(STOPPED),
};

const GUID *miniport_power_phase_code(enum miniport_power_phase phase)
{
    return phases[phase].code;
}

enum miniport_power_phase miniport_power_phase(LPCGUID code)
{
    unsigned phase = 0;

    while (phase < MINIPORT_POWER_PHASES && !(code && IsEqualGUID(code, phases[phase].code)))
        phase++;
    return (enum miniport_power_phase)phase;
}

const char *miniport_power_phase_name(enum miniport_power_phase phase)
{
    return (size_t)phase < ARRAY_COUNT(phases) ? phases[phase].name : "?";
}
