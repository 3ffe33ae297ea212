/*
 * Defects of power components.
 */
#include "zoo/zoo_tables.h"

static NTSTATUS describe(struct miniport *self, HANDLE object, const DXGKARG_QUERYADAPTERINFO *arg,
                         void (*change)(DXGK_POWER_RUNTIME_COMPONENT *component))
{
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, arg);

    if (NT_SUCCESS(status) && arg->Type == DXGKQAITYPE_POWERCOMPONENTINFO)
        change(arg->pOutputData);
    return status;
}

#define DESCRIBE(name)                                                                             \
    static NTSTATUS query_##name(struct miniport *self, HANDLE object,                             \
                                 const DXGKARG_QUERYADAPTERINFO *arg)                              \
    {                                                                                              \
        return describe(self, object, arg, name);                                                  \
    }                                                                                              \
    static void plant_##name(struct zoo_layer *layer)                                              \
    {                                                                                              \
        layer->ops.query_adapter_info = query_##name;                                              \
    }

static void tell_latency_of_f0(DXGK_POWER_RUNTIME_COMPONENT *component)
{
    component->States[0].TransitionLatency = component->States[1].TransitionLatency;
}
DESCRIBE(tell_latency_of_f0)

static void map_all_to_first_engine(DXGK_POWER_RUNTIME_COMPONENT *component)
{
    component->ComponentMapping.EngineDesc.NodeIndex = 0;
}
DESCRIBE(map_all_to_first_engine)

/* Counts components from 1. */
static void count_providers_from_one(DXGK_POWER_RUNTIME_COMPONENT *component)
{
    if (component->ComponentMapping.ComponentType != DXGK_POWER_COMPONENT_D3_TRANSITION)
        return;
    component->ProviderCount = 1;
    component->Providers[0] = component->ComponentGuid.Data1 + 1;
}
DESCRIBE(count_providers_from_one)

static void complete(struct zoo_layer *layer, UINT component)
{
    const struct miniport_power_request request = {MINIPORT_POWER_CompleteFStateTransition,
                                                   component, 0};

    layer->host.upper->ops->power(layer->host.upper, &request);
}

static NTSTATUS refuse_deep(struct miniport *self, HANDLE object,
                            const struct miniport_f_state *arg)
{
    return arg->FState ? STATUS_INVALID_PARAMETER
                       : miniport_forward_set_power_component_f_state(self, object, arg);
}

static void plant_refuse_deep(struct zoo_layer *layer)
{
    layer->ops.set_power_component_f_state = refuse_deep;
}

static NTSTATUS complete_unasked(struct miniport *self, HANDLE object,
                                 const struct miniport_f_state *arg)
{
    NTSTATUS status = miniport_forward_set_power_component_f_state(self, object, arg);

    complete(zoo_layer_of(self), arg->ComponentIndex);
    return status;
}

static void plant_complete_unasked(struct zoo_layer *layer)
{
    layer->ops.set_power_component_f_state = complete_unasked;
}

static NTSTATUS complete_nothing(struct miniport_host *host,
                                 const struct miniport_power_request *request)
{
    struct miniport_host *upper = zoo_layer_of_host(host)->host.upper;

    return request->kind == MINIPORT_POWER_CompleteFStateTransition
               ? STATUS_SUCCESS
               : upper->ops->power(upper, request);
}

static void plant_complete_nothing(struct zoo_layer *layer)
{
    layer->host_ops.power = complete_nothing;
}

static NTSTATUS stay_active(struct miniport_host *host,
                            const struct miniport_power_request *request)
{
    struct miniport_host *upper = zoo_layer_of_host(host)->host.upper;

    return request->kind == MINIPORT_POWER_SetPowerComponentIdle
               ? STATUS_SUCCESS
               : upper->ops->power(upper, request);
}

static void plant_stay_active(struct zoo_layer *layer)
{
    layer->host_ops.power = stay_active;
}

/* The engine that goes down needs, it thinks, the one before. */
static NTSTATUS wake_neighbour(struct miniport *self, HANDLE object,
                               const struct miniport_f_state *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    struct miniport_power_request request = {MINIPORT_POWER_SetPowerComponentActive, 0, 0};

    if (arg->ComponentIndex == 1 && arg->FState) {
        layer->host.upper->ops->power(layer->host.upper, &request);
        request.kind = MINIPORT_POWER_SetPowerComponentIdle;
        layer->host.upper->ops->power(layer->host.upper, &request);
    }
    return miniport_forward_set_power_component_f_state(self, object, arg);
}

static void plant_wake_neighbour(struct zoo_layer *layer)
{
    layer->ops.set_power_component_f_state = wake_neighbour;
}

/* Sets the latency of its engines when power management has started. */
static NTSTATUS limit_engines(struct miniport *self, HANDLE object,
                              const struct miniport_power_control *arg)
{
    const struct miniport_power_request request = {MINIPORT_POWER_SetPowerComponentLatency, 0, 300};
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status = miniport_forward_power_runtime_control_request(self, object, arg);

    if (miniport_power_phase(arg->PowerControlCode) == MINIPORT_POWER_STARTED)
        layer->host.upper->ops->power(layer->host.upper, &request);
    return status;
}

static void plant_limit_engines(struct zoo_layer *layer)
{
    layer->ops.power_runtime_control_request = limit_engines;
}

/* Uses a component as soon as it hears of power management. */
static NTSTATUS use_when_prepared(struct miniport *self, HANDLE object,
                                  const struct miniport_power_control *arg)
{
    struct miniport_power_request request = {MINIPORT_POWER_SetPowerComponentActive, 0, 0};
    struct zoo_layer *layer = zoo_layer_of(self);

    if (miniport_power_phase(arg->PowerControlCode) == MINIPORT_POWER_PREPARE_TO_START) {
        layer->host.upper->ops->power(layer->host.upper, &request);
        request.kind = MINIPORT_POWER_SetPowerComponentIdle;
        layer->host.upper->ops->power(layer->host.upper, &request);
    }
    return miniport_forward_power_runtime_control_request(self, object, arg);
}

static void plant_use_when_prepared(struct zoo_layer *layer)
{
    layer->ops.power_runtime_control_request = use_when_prepared;
}

/* Takes the flag away, and its engines take their time all the same. */
static void deny_completion(DXGK_POWER_RUNTIME_COMPONENT *component)
{
    component->Flags.DriverCompletesFStateTransition = 0;
}

static NTSTATUS query_deny_completion(struct miniport *self, HANDLE object,
                                      const DXGKARG_QUERYADAPTERINFO *arg)
{
    return describe(self, object, arg, deny_completion);
}

static void plant_deny_completion(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = query_deny_completion;
    layer->host_ops.power = complete_nothing;
}

static bool has_no_requests(struct miniport *self, enum miniport_ddi ddi)
{
    return ddi != MINIPORT_DDI_PowerRuntimeControlRequest && miniport_has(self->next, ddi);
}

static void plant_lack_requests(struct zoo_layer *layer)
{
    layer->ops.has = has_no_requests;
}

/* clang-format off */
#define COMPONENTS "power-components=yes"

const struct zoo_defect zoo_component_defects[] = {
    PLANT("POWER-without-requests", ZOO_ALL, "PWC-001", plant_lack_requests,
          "reports SupportRuntimePowerManagement without DxgkDdiPowerRuntimeControlRequest",
          .focus = COMPONENTS),
    PLANT("POWER-slow-f0", ZOO_ALL, "PWC-002", plant_tell_latency_of_f0,
          "tells a latency for F0", .focus = COMPONENTS),
    PLANT("POWER-one-engine", ZOO_ALL, "PWC-003", plant_map_all_to_first_engine,
          "maps each component to the first engine", .focus = COMPONENTS),
    PLANT("POWER-providers-from-one", ZOO_ALL, "PWC-004", plant_count_providers_from_one,
          "numbers providers from 1 on", .focus = COMPONENTS),
    PLANT("POWER-refuses-depth", ZOO_ALL, "PWC-005", plant_refuse_deep,
          "refuses the F-states that it has reported", .focus = COMPONENTS),
    PLANT("POWER-completes-unasked", ZOO_ALL, "PWC-008", plant_complete_unasked,
          "completes transitions of components that do so by returning", .focus = COMPONENTS),
    PLANT("POWER-completes-twice", ZOO_ALL, "PWC-008", plant_complete_unasked,
          "completes a transition when it begins, and when it is over",
          .focus = "power-components=slow"),
    PLANT("POWER-completes-nothing", ZOO_ALL, "PWC-009", plant_complete_nothing,
          "never calls DxgkCbCompleteFStateTransition", .focus = "power-components=slow"),
    PLANT("POWER-stays-active", ZOO_ALL, "PWC-010", plant_stay_active,
          "never calls DxgkCbSetPowerComponentIdle", .focus = COMPONENTS " escapes=yes"),
    PLANT("POWER-wakes-neighbour", ZOO_ALL, "PWC-012", plant_wake_neighbour,
          "activates a component out of DxgkDdiSetPowerComponentFState", .focus = COMPONENTS),
    PLANT("POWER-limits-engines", ZOO_ALL, "PWC-013", plant_limit_engines,
          "sets the latency of an engine", .focus = COMPONENTS),
    PLANT("POWER-idle-early", ZOO_ALL, "PWC-014", plant_use_when_prepared,
          "calls DxgkCbSetPowerComponentIdle before power management has started",
          .focus = COMPONENTS),
    PLANT("POWER-flag-missing", ZOO_ALL, "PWC-017", plant_deny_completion,
          "returns from DxgkDdiSetPowerComponentFState before the engine is on",
          .focus = "power-components=slow"),
    {0},
};
/* clang-format on */
