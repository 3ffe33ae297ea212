#include <ntddk.h>

#include <initguid.h>

#include "refkmd/work/components.h"

#include "refkmd/ddi.h"
#include "refkmd/registers.h"
#include "refkmd/traits.h"
#include "refkmd/work/node.h"

#include <ntstatus.h>

/* Times in units of 100 ns, power in microwatts. Deeper ones use less and take longer (PWC-002). */
static const DXGK_POWER_RUNTIME_STATE engine_states[] = {
    {0, 0, 2000000},
    {200, 1000, 400000}, /* 20 us, worth it from 100 us on */
    {400, 20000, 10000}, /* 40 us, from 2 ms on */
};
static const DXGK_POWER_RUNTIME_STATE other_states[] = {
    {0, 0, 1000},
    {10, 0, 1},
};

/* Behind the engines. */
enum further { IDENTIFICATION, CLOCK, DEVICE_POWER, FURTHER_COUNT };

static UINT component_count(const struct refkmd_adapter *adapter)
{
    return refkmd_has_components(adapter) ? adapter->node_count + FURTHER_COUNT : 0;
}

static BOOLEAN is_engine(const struct refkmd_adapter *adapter, UINT index)
{
    return index < adapter->node_count;
}

NTSTATUS refkmd_query_component_count(struct refkmd_adapter *adapter,
                                      const DXGKARG_QUERYADAPTERINFO *query)
{
    if (!refkmd_has_components(adapter))
        return STATUS_NOT_SUPPORTED;
    *(UINT *)query->pOutputData = component_count(adapter);
    return STATUS_SUCCESS;
}

static void describe_engine(const struct refkmd_adapter *adapter, UINT index,
                            DXGK_POWER_RUNTIME_COMPONENT *component)
{
    component->StateCount = RTL_NUMBER_OF(engine_states);
    RtlCopyMemory(component->States, engine_states, sizeof engine_states);
    component->ComponentMapping.ComponentType = DXGK_POWER_COMPONENT_ENGINE;
    component->ComponentMapping.EngineDesc.NodeIndex = index;
    component->Flags.DriverCompletesFStateTransition = refkmd_has_slow_components(adapter);
    component->Flags.TransitionTo_F0_OnDx = 1;
    component->ProviderCount = 1;
    component->Providers[0] = adapter->node_count + CLOCK;
    RtlCopyMemory(component->ComponentName, "engine", sizeof "engine");
}

static void describe_further(enum further which, DXGK_POWER_RUNTIME_COMPONENT *component)
{
    static const struct {
        DXGK_POWER_COMPONENT_TYPE type;
        char name[16];
    } of[FURTHER_COUNT] = {
        [IDENTIFICATION] = {DXGK_POWER_COMPONENT_OTHER, "identification"},
        [CLOCK] = {DXGK_POWER_COMPONENT_SHARED, "clock"},
        [DEVICE_POWER] = {DXGK_POWER_COMPONENT_D3_TRANSITION, "device"},
    };

    component->StateCount = RTL_NUMBER_OF(other_states);
    RtlCopyMemory(component->States, other_states, sizeof other_states);
    component->ComponentMapping.ComponentType = of[which].type;
    component->Flags.NoDebounce = which == IDENTIFICATION;
    RtlCopyMemory(component->ComponentName, of[which].name, sizeof of[which].name);
}

/* Keeps PWC-002 to PWC-004. */
NTSTATUS refkmd_query_component(struct refkmd_adapter *adapter,
                                const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_POWER_RUNTIME_COMPONENT *component = query->pOutputData;
    UINT index;

    if (!refkmd_has_components(adapter))
        return STATUS_NOT_SUPPORTED;
    if (!query->pInputData || query->InputDataSize < sizeof index)
        return STATUS_INVALID_PARAMETER;
    index = *(const UINT *)query->pInputData;
    if (index >= component_count(adapter))
        return STATUS_INVALID_PARAMETER;
    RtlZeroMemory(component, sizeof *component);
    component->ComponentGuid.Data1 = index;
    if (is_engine(adapter, index))
        describe_engine(adapter, index, component);
    else
        describe_further((enum further)(index - adapter->node_count), component);
    return STATUS_SUCCESS;
}

void refkmd_switch_on(struct refkmd_adapter *adapter, UINT ordinal)
{
    const ULONG power = SGPU_REG_NODE(ordinal) + SGPU_NODE_POWER;

    if (!refkmd_has_components(adapter) || !refkmd_read(adapter, power))
        return;
    refkmd_write(adapter, power, 0);
    while (refkmd_read(adapter, power) == SGPU_POWER_CHANGES && !adapter->is_gone)
        KeStallExecutionProcessor(10);
}

BOOLEAN refkmd_is_on(const struct refkmd_adapter *adapter, UINT ordinal)
{
    return !refkmd_has_components(adapter) ||
           refkmd_read(adapter, SGPU_REG_NODE(ordinal) + SGPU_NODE_POWER) == 0;
}

struct transition {
    struct refkmd_adapter *adapter;
    UINT ordinal, state;
    BOOLEAN is_reset; /* which has ended it */
    BOOLEAN has_ended;
};

static BOOLEAN NTAPI begin_at_device_irql(PVOID context)
{
    const struct transition *transition = context;
    struct refkmd_node *node = &transition->adapter->nodes[transition->ordinal];

    node->power = transition->state;
    node->is_switching = refkmd_has_slow_components(transition->adapter);
    refkmd_write(transition->adapter, SGPU_REG_NODE(transition->ordinal) + SGPU_NODE_POWER,
                 transition->state);
    return TRUE;
}

/*
 * Called at any level up to DISPATCH_LEVEL. An engine has nothing to save: each submission writes
 * all registers that it needs. Keeps PWC-005, PWC-008.
 */
NTSTATUS NTAPI RefKmdSetPowerComponentFState(IN_CONST_HANDLE DriverContext, UINT ComponentIndex,
                                             UINT FState)
{
    struct transition transition = {DriverContext, ComponentIndex, FState, FALSE, FALSE};

    if (ComponentIndex >= component_count(transition.adapter))
        return STATUS_INVALID_PARAMETER;
    if (is_engine(transition.adapter, ComponentIndex))
        refkmd_synchronize(transition.adapter, begin_at_device_irql, &transition);
    return STATUS_SUCCESS;
}

static BOOLEAN NTAPI end_at_device_irql(PVOID context)
{
    struct transition *transition = context;
    struct refkmd_node *node = &transition->adapter->nodes[transition->ordinal];
    const ULONG power = SGPU_REG_NODE(transition->ordinal) + SGPU_NODE_POWER;

    transition->has_ended =
        node->is_switching &&
        (transition->is_reset || refkmd_read(transition->adapter, power) == node->power);
    if (transition->has_ended)
        node->is_switching = FALSE;
    return TRUE;
}

/*
 * Once for each transition (PWC-008, PWC-009). The DPC may be another one's, so the power that is
 * there says which transition has ended. It does so from the write of the register on alone: an
 * engine that was reset while it was off has the power of F0 before it is told to go there.
 */
void refkmd_complete_components(struct refkmd_adapter *adapter, BOOLEAN is_reset)
{
    UINT i;

    for (i = 0; i < adapter->node_count; i++) {
        struct transition transition = {adapter, i, 0, is_reset, FALSE};

        if (!adapter->nodes[i].is_switching)
            continue;
        refkmd_synchronize(adapter, end_at_device_irql, &transition);
        if (transition.has_ended)
            adapter->dxgkrnl.DxgkCbCompleteFStateTransition(adapter->dxgkrnl.DeviceHandle, i);
    }
}

#define IDENTIFICATION_LATENCY   20   /* 2 us: an escape does not wait for longer */
#define IDENTIFICATION_RESIDENCY 1000 /* 100 us: how long nobody reads it, mostly */

/* Of the component of the driver's own alone (PWC-013). */
static void limit_identification(const struct refkmd_adapter *adapter)
{
    const UINT index = adapter->node_count + IDENTIFICATION;

    adapter->dxgkrnl.DxgkCbSetPowerComponentLatency(adapter->dxgkrnl.DeviceHandle, index,
                                                    IDENTIFICATION_LATENCY);
    adapter->dxgkrnl.DxgkCbSetPowerComponentResidency(adapter->dxgkrnl.DeviceHandle, index,
                                                      IDENTIFICATION_RESIDENCY);
}

/* The kernel's word on the phases of power management; requests of others are not known. */
NTSTATUS NTAPI RefKmdPowerRuntimeControlRequest(IN_CONST_HANDLE DriverContext,
                                                IN_LPCGUID PowerControlCode, PVOID InBuffer,
                                                SIZE_T InBufferSize, PVOID OutBuffer,
                                                SIZE_T OutBufferSize, PSIZE_T BytesReturned)
{
    struct refkmd_adapter *adapter = DriverContext;

    UNREFERENCED_PARAMETER(InBuffer);
    UNREFERENCED_PARAMETER(InBufferSize);
    UNREFERENCED_PARAMETER(OutBuffer);
    UNREFERENCED_PARAMETER(OutBufferSize);
    if (BytesReturned)
        *BytesReturned = 0;
    if (IsEqualGUID(PowerControlCode, &GUID_DXGKDDI_POWER_MANAGEMENT_STARTED))
        adapter->is_power_managed = TRUE;
    else if (IsEqualGUID(PowerControlCode, &GUID_DXGKDDI_POWER_MANAGEMENT_STOPPED))
        adapter->is_power_managed = FALSE;
    else if (IsEqualGUID(PowerControlCode, &GUID_DXGKDDI_POWER_MANAGEMENT_PREPARE_TO_START))
        limit_identification(adapter);
    else
        return STATUS_NOT_SUPPORTED;
    return STATUS_SUCCESS;
}

/* At PASSIVE_LEVEL, and not out of RefKmdSetPowerComponentFState (PWC-011, PWC-012). */
void refkmd_begin_identification(struct refkmd_adapter *adapter)
{
    if (adapter->is_power_managed)
        adapter->dxgkrnl.DxgkCbSetPowerComponentActive(adapter->dxgkrnl.DeviceHandle,
                                                       adapter->node_count + IDENTIFICATION);
}

void refkmd_end_identification(struct refkmd_adapter *adapter)
{
    if (adapter->is_power_managed)
        adapter->dxgkrnl.DxgkCbSetPowerComponentIdle(adapter->dxgkrnl.DeviceHandle,
                                                     adapter->node_count + IDENTIFICATION);
}
