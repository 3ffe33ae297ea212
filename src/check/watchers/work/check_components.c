/*
 * Watcher: power components, whose F-states the system chooses (PWC).
 *
 * What a component is comes from the driver's answers to POWERCOMPONENTINFO; those that are asked
 * for once more are described anew.
 */
#include "check/check_watch.h"

#include "base/bits.h"

#define MOST_COMPONENTS 64u

struct watched_component {
    DXGK_POWER_RUNTIME_COMPONENT info;
    bool is_known;
    unsigned state;   /* F-state that it was told last */
    bool is_changing; /* ... and the transition is not over */
    bool is_in_call;
    uint64_t uses; /* of the driver's: activations that are not ended */
};

struct component_watch {
    UINT count; /* that the driver has; 0: none */
    struct watched_component component[MOST_COMPONENTS];
    bool is_managed; /* SupportRuntimePowerManagement */
    bool is_prepared, is_started, is_stopped;
    bool is_shared; /* another driver needs the components of type SHARED */
};

static struct watched_component *find(struct component_watch *watch, UINT index)
{
    return index < watch->count && index < MOST_COMPONENTS && watch->component[index].is_known
               ? &watch->component[index]
               : NULL;
}

static struct watched_component *engine_of(struct component_watch *watch, UINT node)
{
    for (UINT i = 0; i < watch->count && i < MOST_COMPONENTS; i++) {
        const DXGK_POWER_COMPONENT_MAPPING *mapping = &watch->component[i].info.ComponentMapping;

        if (watch->component[i].is_known && mapping->ComponentType == DXGK_POWER_COMPONENT_ENGINE &&
            mapping->EngineDesc.NodeIndex == node)
            return &watch->component[i];
    }
    return NULL;
}

/* ---- What the driver says of them ------------------------------------------------------------ */

static void check_states(struct check *check, const DXGK_POWER_RUNTIME_COMPONENT *info)
{
    const DXGK_POWER_RUNTIME_STATE *f0 = &info->States[0];

    if (!CHECK_RULE(check, RULE_PWC_002,
                    info->StateCount >= 1 && info->StateCount <= DXGK_MAX_F_STATES, NULL,
                    "pOutputData, StateCount", "is {%u} (expected {=1 to %u})",
                    (unsigned)info->StateCount, DXGK_MAX_F_STATES))
        return;
    if (!CHECK_RULE(check, RULE_PWC_002,
                    !f0->TransitionLatency && !f0->ResidencyRequirement && f0->NominalPower, NULL,
                    "pOutputData, States[0]",
                    "has {latency %llu, residency %llu, power %u} (expected {=0, 0 and not 0})",
                    (unsigned long long)f0->TransitionLatency,
                    (unsigned long long)f0->ResidencyRequirement, (unsigned)f0->NominalPower))
        return;
    for (ULONG i = 1; i < info->StateCount; i++) {
        const DXGK_POWER_RUNTIME_STATE *state = &info->States[i];

        if (!CHECK_RULE(check, RULE_PWC_002,
                        state->NominalPower < state[-1].NominalPower &&
                            state->TransitionLatency > state[-1].TransitionLatency,
                        NULL, check_field(check, "pOutputData, States[%u]", (unsigned)i),
                        "uses {%u uW} and takes {%llu x 100 ns} (expected {=less than %u and more "
                        "than %llu}, which F%u has)",
                        (unsigned)state->NominalPower, (unsigned long long)state->TransitionLatency,
                        (unsigned)state[-1].NominalPower,
                        (unsigned long long)state[-1].TransitionLatency, (unsigned)i - 1))
            return;
    }
}

/* Engines and segments are what is known; of displays the numbers are taken as they are. */
static bool exists(struct check *check, const DXGK_POWER_COMPONENT_MAPPING *mapping)
{
    const struct check_ledger *ledger = check_ledger(check);

    switch (mapping->ComponentType) {
    case DXGK_POWER_COMPONENT_ENGINE:
        return mapping->EngineDesc.NodeIndex <
               ledger->caps.driver.GpuEngineTopology.NbAsymetricProcessingNodes;
    case DXGK_POWER_COMPONENT_MEMORY:
        return check_find_segment(ledger, mapping->MemoryDesc.SegmentID) != NULL;
    default:
        return (unsigned)mapping->ComponentType < DXGK_POWER_COMPONENT_MAX;
    }
}

/* Those that are of the driver alone, or of nothing that is documented, have no number. */
static bool has_number(const DXGK_POWER_COMPONENT_MAPPING *mapping)
{
    return mapping->ComponentType <= DXGK_POWER_COMPONENT_MEMORY;
}

static void check_mapping(struct check *check, struct component_watch *watch, UINT index)
{
    const DXGK_POWER_COMPONENT_MAPPING *mapping = &watch->component[index].info.ComponentMapping;

    if (!CHECK_RULE(check, RULE_PWC_003, exists(check, mapping), NULL,
                    "pOutputData, ComponentMapping",
                    "is type {%d, number %u}, which the adapter does not have",
                    (int)mapping->ComponentType, mapping->EngineDesc.NodeIndex))
        return;
    for (UINT i = 0; i < MOST_COMPONENTS && has_number(mapping); i++) {
        const struct watched_component *other = &watch->component[i];

        if (i == index || !other->is_known)
            continue;
        CHECK_RULE(check, RULE_PWC_003,
                   other->info.ComponentMapping.ComponentType != mapping->ComponentType ||
                       other->info.ComponentMapping.EngineDesc.NodeIndex !=
                           mapping->EngineDesc.NodeIndex,
                   NULL, "pOutputData, ComponentMapping",
                   "is type {%d, number %u}, as that of component %u is",
                   (int)mapping->ComponentType, mapping->EngineDesc.NodeIndex, i);
    }
}

static void check_rest(struct check *check, const struct component_watch *watch,
                       const DXGK_POWER_RUNTIME_COMPONENT *info)
{
    CHECK_RULE(check, RULE_PWC_004, !info->Flags.Reserved0 && !info->Flags.Reserved, NULL,
               "pOutputData, Flags", "is {0x%x} (expected {=0 in its reserved bits})",
               info->Flags.Value);
    if (!CHECK_RULE(check, RULE_PWC_004, info->ProviderCount <= DXGK_MAX_POWER_COMPONENT_PROVIDERS,
                    NULL, "pOutputData, ProviderCount", "is {%u} (expected {=%u at most})",
                    (unsigned)info->ProviderCount, DXGK_MAX_POWER_COMPONENT_PROVIDERS))
        return;
    for (ULONG i = 0; i < info->ProviderCount; i++)
        CHECK_RULE(check, RULE_PWC_004, info->Providers[i] < watch->count, NULL,
                   check_field(check, "pOutputData, Providers[%u]", (unsigned)i),
                   "is {%u} (expected {=less than %u}, the number of components)",
                   (unsigned)info->Providers[i], watch->count);
}

static void after_query(struct check *check, struct component_watch *watch,
                        const struct check_call *call)
{
    const DXGKARG_QUERYADAPTERINFO *query = call->arg.query_adapter_info;
    UINT index;

    if (!NT_SUCCESS(call->status) || !query->pOutputData)
        return;
    if (query->Type == DXGKQAITYPE_DRIVERCAPS) {
        watch->is_managed = check_ledger(check)->caps.driver.SupportRuntimePowerManagement;
        if (watch->is_managed)
            CHECK_RULE(check, RULE_PWC_001,
                       check_ledger(check)->has_ddi[MINIPORT_DDI_SetPowerComponentFState] &&
                           check_ledger(check)->has_ddi[MINIPORT_DDI_PowerRuntimeControlRequest],
                       NULL, "pOutputData, SupportRuntimePowerManagement",
                       "is TRUE without DxgkDdiSetPowerComponentFState and "
                       "DxgkDdiPowerRuntimeControlRequest");
    } else if (query->Type == DXGKQAITYPE_NUMPOWERCOMPONENTS) {
        *watch = (struct component_watch){.count = *(const UINT *)query->pOutputData,
                                          .is_managed = watch->is_managed,
                                          .is_shared = watch->is_shared};
    } else if (query->Type == DXGKQAITYPE_POWERCOMPONENTINFO && query->pInputData) {
        index = *(const UINT *)query->pInputData;
        if (index >= watch->count || index >= MOST_COMPONENTS)
            return;
        watch->component[index].info = *(const DXGK_POWER_RUNTIME_COMPONENT *)query->pOutputData;
        watch->component[index].is_known = true;
        check_states(check, &watch->component[index].info);
        check_mapping(check, watch, index);
        check_rest(check, watch, &watch->component[index].info);
    }
}

/* ---- Transitions ----------------------------------------------------------------------------- */

static bool is_of_others(const struct watched_component *component)
{
    return component->info.ComponentMapping.ComponentType == DXGK_POWER_COMPONENT_SHARED;
}

static void before_transition(struct check *check, struct component_watch *watch,
                              const struct miniport_f_state *arg)
{
    struct watched_component *component = find(watch, arg->ComponentIndex);

    if (!CHECK_RULE(check, RULE_PWC_006,
                    component && arg->FState < component->info.StateCount && watch->is_prepared &&
                        !watch->is_stopped,
                    NULL, "", "is called for component {%u} and {F%u}, which the driver %s",
                    arg->ComponentIndex, arg->FState,
                    component ? "did not report, or is not to be told now" : "did not report"))
        return;
    CHECK_RULE(check, RULE_PWC_006,
               arg->FState != component->state && (!arg->FState || !component->state), NULL,
               "FState", "is {F%u} in F%u (expected {=to F0 or from F0})", arg->FState,
               component->state);
    CHECK_RULE(check, RULE_PWC_007, !component->is_changing, NULL, "",
               "is called for component %u, whose transition to F%u is not over",
               arg->ComponentIndex, component->state);
    for (ULONG i = 0; i < component->info.ProviderCount && arg->FState == 0 &&
                      i < DXGK_MAX_POWER_COMPONENT_PROVIDERS;
         i++) {
        const struct watched_component *provider = find(watch, component->info.Providers[i]);

        if (provider)
            CHECK_RULE(check, RULE_PWC_018, provider->state == 0 && !provider->is_changing, NULL,
                       "ComponentIndex", "is {%u}, whose provider %u is not in F0",
                       arg->ComponentIndex, (unsigned)component->info.Providers[i]);
    }
    if (is_of_others(component))
        CHECK_RULE(check, RULE_PWC_020, !arg->FState || !watch->is_shared, NULL, "FState",
                   "is {F%u} for component %u, which another driver needs (expected {=F0})",
                   arg->FState, arg->ComponentIndex);
    component->state = arg->FState;
    component->is_changing = true;
    component->is_in_call = true;
}

static void after_transition(struct check *check, struct component_watch *watch,
                             const struct check_call *call)
{
    const struct miniport_f_state *arg = call->arg.set_power_component_f_state;
    struct watched_component *component = find(watch, arg->ComponentIndex);

    CHECK_RULE(check, RULE_PWC_005, NT_SUCCESS(call->status), NULL, "status",
               "{0x%08x} for F%u of component %u, which the driver has reported (expected "
               "{=STATUS_SUCCESS})",
               (unsigned)call->status, arg->FState, arg->ComponentIndex);
    if (!component)
        return;
    component->is_in_call = false;
    if (!component->info.Flags.DriverCompletesFStateTransition || !NT_SUCCESS(call->status))
        component->is_changing = false;
}

static void check_nothing_open(struct check *check, struct component_watch *watch)
{
    for (UINT i = 0; i < watch->count && i < MOST_COMPONENTS; i++) {
        const struct watched_component *component = &watch->component[i];

        if (!component->is_known)
            continue;
        CHECK_RULE(check, RULE_PWC_010, !component->uses, NULL, "",
                   "comes while component %u is active {%llu} times by "
                   "DxgkCbSetPowerComponentActive (expected {=0})",
                   i, (unsigned long long)component->uses);
    }
}

static void before_phase(struct check *check, struct component_watch *watch, LPCGUID code)
{
    const enum miniport_power_phase phase = miniport_power_phase(code);
    bool is_in_order = true;

    switch (phase) {
    case MINIPORT_POWER_PREPARE_TO_START:
        is_in_order = !watch->is_prepared;
        watch->is_prepared = true;
        break;
    case MINIPORT_POWER_STARTED:
        is_in_order = watch->is_prepared && !watch->is_started;
        watch->is_started = true;
        break;
    case MINIPORT_POWER_STOPPED:
        is_in_order = watch->is_started && !watch->is_stopped;
        check_nothing_open(check, watch);
        break;
    case MINIPORT_POWER_PHASES:
        return;
    }
    CHECK_RULE(check, RULE_PWC_015, is_in_order && watch->is_managed, NULL, "PowerControlCode",
               "is {%s} out of its order", miniport_power_phase_name(phase));
}

/*
 * What is on its way to another state, or waits for a provider that is, or for one of that, can
 * only be told behind that.
 */
static bool can_be_told(struct component_watch *watch, const struct watched_component *component)
{
    const struct watched_component *waits_for[MOST_COMPONENTS] = {component};
    unsigned count = 1;

    for (unsigned i = 0; i < count; i++) {
        const DXGK_POWER_RUNTIME_COMPONENT *info = &waits_for[i]->info;

        if (waits_for[i]->is_changing)
            return false;
        for (ULONG j = 0; j < info->ProviderCount && j < DXGK_MAX_POWER_COMPONENT_PROVIDERS; j++) {
            const struct watched_component *provider = find(watch, info->Providers[j]);
            unsigned k = 0;

            while (k < count && waits_for[k] != provider)
                k++;
            if (provider && k == count && count < MOST_COMPONENTS)
                waits_for[count++] = provider;
        }
    }
    return true;
}

static void client(struct check *check, void *state, const struct check_client_event *event)
{
    struct component_watch *watch = state;

    if (event->kind == CHECK_CLIENT_SHARE_COMPONENTS && !event->is_active)
        watch->is_shared = false;
    if (event->kind != CHECK_CLIENT_COMPONENTS_SHARED || !event->is_active)
        return;
    watch->is_shared = true;
    for (UINT i = 0; i < watch->count && i < MOST_COMPONENTS; i++) {
        const struct watched_component *component = find(watch, i);

        if (component && is_of_others(component) && can_be_told(watch, component))
            CHECK_RULE(
                check, RULE_PWC_020, component->state == 0, NULL, "",
                "component %u is in {F%u}, and another driver needs it from now on (expected "
                "{=F0})",
                i, component->state);
    }
}

/* ---- Work ------------------------------------------------------------------------------------ */

static void before_submit(struct check *check, struct component_watch *watch, UINT node)
{
    const struct watched_component *component = watch->count ? engine_of(watch, node) : NULL;

    if (component)
        CHECK_RULE(check, RULE_PWC_016, component->state == 0 && !component->is_changing, NULL,
                   "NodeOrdinal", "is {%u}, whose component is %s F%u (expected {=in F0})", node,
                   component->is_changing ? "on its way to" : "in", component->state);
}

static void before_sleep(struct check *check, struct component_watch *watch)
{
    for (UINT i = 0; i < watch->count && i < MOST_COMPONENTS; i++) {
        const struct watched_component *component = &watch->component[i];

        if (component->is_known && component->info.Flags.TransitionTo_F0_OnDx)
            CHECK_RULE(check, RULE_PWC_019, component->state == 0 && !component->is_changing, NULL,
                       "DevicePowerState", "changes while component %u is in F%u (expected {=F0})",
                       i, component->state);
    }
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct component_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_SetPowerComponentFState:
        before_transition(check, watch, call->arg.set_power_component_f_state);
        break;
    case MINIPORT_DDI_PowerRuntimeControlRequest:
        before_phase(check, watch, call->arg.power_runtime_control_request->PowerControlCode);
        break;
    case MINIPORT_DDI_SubmitCommand:
        before_submit(check, watch, call->arg.submit_command->NodeOrdinal);
        break;
    case MINIPORT_DDI_SubmitCommandVirtual:
        before_submit(check, watch, call->arg.submit_command_virtual->NodeOrdinal);
        break;
    case MINIPORT_DDI_SubmitCommandToHwQueue:
        before_submit(check, watch, call->packet ? call->packet->node : UINT32_MAX);
        break;
    case MINIPORT_DDI_SetPowerState:
        if (call->power_state != PowerDeviceD0)
            before_sleep(check, watch);
        break;
    default:
        break;
    }
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct component_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_QueryAdapterInfo:
        after_query(check, watch, call);
        break;
    case MINIPORT_DDI_SetPowerComponentFState:
        after_transition(check, watch, call);
        break;
    case MINIPORT_DDI_PowerRuntimeControlRequest:
        watch->is_stopped |=
            miniport_power_phase(call->arg.power_runtime_control_request->PowerControlCode) ==
            MINIPORT_POWER_STOPPED;
        break;
    default:
        break;
    }
}

/* ---- What the driver calls ------------------------------------------------------------------- */

static bool is_lawful_phase(const struct component_watch *watch, enum miniport_power_kind kind)
{
    const bool is_early = kind == MINIPORT_POWER_SetPowerComponentActive ||
                          kind == MINIPORT_POWER_SetPowerComponentLatency ||
                          kind == MINIPORT_POWER_SetPowerComponentResidency;

    return !watch->is_stopped && (is_early ? watch->is_prepared : watch->is_started);
}

static void check_level(struct check *check, const struct watched_component *component,
                        enum miniport_power_kind kind)
{
    const bool is_own =
        component->info.ComponentMapping.ComponentType == DXGK_POWER_COMPONENT_OTHER;
    const unsigned irql = check_irql(check);

    if (kind == MINIPORT_POWER_SetPowerComponentActive)
        CHECK_RULE(check, RULE_PWC_011, irql == PASSIVE_LEVEL, NULL, "",
                   "is called at IRQL {%u} (expected {=PASSIVE_LEVEL})", irql);
    else
        CHECK_RULE(check, RULE_PWC_011, irql < DISPATCH_LEVEL || (irql == DISPATCH_LEVEL && is_own),
                   NULL, "",
                   "is called at IRQL {%u} (expected {=less than DISPATCH_LEVEL}, which only a "
                   "component of type DXGK_POWER_COMPONENT_OTHER allows)",
                   irql);
}

static void hear_activity(struct check *check, struct watched_component *component,
                          const struct miniport_power_request *request,
                          const struct check_call *outer)
{
    const bool is_end = request->kind == MINIPORT_POWER_SetPowerComponentIdle;

    check_level(check, component, request->kind);
    if (is_end) {
        if (CHECK_RULE(check, RULE_PWC_010, component->uses, NULL, "ComponentIndex",
                       "is {%u}, which is not active by DxgkCbSetPowerComponentActive",
                       request->ComponentIndex))
            component->uses--;
        return;
    }
    component->uses++;
    CHECK_RULE(check, RULE_PWC_012, !outer || outer->ddi != MINIPORT_DDI_SetPowerComponentFState,
               NULL, "ComponentIndex",
               "is {%u}, in the middle of DxgkDdiSetPowerComponentFState, which has to return "
               "first",
               request->ComponentIndex);
}

static void hear_completion(struct check *check, struct watched_component *component, UINT index)
{
    if (!CHECK_RULE(check, RULE_PWC_008, component->info.Flags.DriverCompletesFStateTransition,
                    NULL, "ComponentIndex", "is {%u}, which has no DriverCompletesFStateTransition",
                    index))
        return;
    if (CHECK_RULE(check, RULE_PWC_008, component->is_changing, NULL, "ComponentIndex",
                   "is {%u}, whose transition to F%u is over", index, component->state)) {
        component->is_changing = false;
        check_looked_at(check, RULE_PWC_009);
    }
}

static void callback(struct check *check, void *state, const struct check_callback *callback)
{
    const struct miniport_power_request *request = callback->data;
    struct component_watch *watch = state;
    struct watched_component *component;

    if (callback->callback != TRACE_CALLBACK_power)
        return;
    CHECK_RULE(check, RULE_PWC_014, is_lawful_phase(watch, request->kind), NULL, "", "is called %s",
               watch->is_stopped    ? "after GUID_DXGKDDI_POWER_MANAGEMENT_STOPPED"
               : watch->is_prepared ? "before GUID_DXGKDDI_POWER_MANAGEMENT_STARTED"
                                    : "before GUID_DXGKDDI_POWER_MANAGEMENT_PREPARE_TO_START");
    if (request->kind == MINIPORT_POWER_PowerRuntimeControlRequest)
        return;
    component = find(watch, request->ComponentIndex);
    if (!component) {
        CHECK_RULE(check, RULE_PWC_014, !watch->is_prepared, NULL, "ComponentIndex",
                   "is {%u} (expected {=less than %u}, the number of components)",
                   request->ComponentIndex, watch->count);
        return;
    }
    switch (request->kind) {
    case MINIPORT_POWER_SetPowerComponentActive:
    case MINIPORT_POWER_SetPowerComponentIdle:
        hear_activity(check, component, request, callback->outer);
        break;
    case MINIPORT_POWER_SetPowerComponentLatency:
    case MINIPORT_POWER_SetPowerComponentResidency:
        CHECK_RULE(check, RULE_PWC_013,
                   component->info.ComponentMapping.ComponentType == DXGK_POWER_COMPONENT_OTHER,
                   NULL, "ComponentIndex",
                   "is {%u}, of type %d (expected {=DXGK_POWER_COMPONENT_OTHER})",
                   request->ComponentIndex, (int)component->info.ComponentMapping.ComponentType);
        break;
    case MINIPORT_POWER_CompleteFStateTransition:
        hear_completion(check, component, request->ComponentIndex);
        break;
    default:
        break;
    }
}

/* ---- The hardware, and the end --------------------------------------------------------------- */

/* Looked at with each submission of an engine: that its registers were written in F0. */
static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    struct component_watch *watch = state;
    const struct watched_component *component = engine_of(watch, event->node);

    if (!watch->count || !component)
        return;
    if (event->kind == CHECK_GPU_QUEUED)
        check_looked_at(check, RULE_PWC_017);
    if (event->kind == CHECK_GPU_UNPOWERED)
        CHECK_RULE(check, RULE_PWC_017, false, NULL, "",
                   "a register of engine %u is written, at offset 0x%llx of its block, and its "
                   "component is %s F%u",
                   event->node, (unsigned long long)event->address,
                   component->is_changing ? "on its way to" : "in", component->state);
}

static unsigned stands_still(struct check *check, void *state)
{
    struct component_watch *watch = state;
    unsigned owed = 0;

    for (UINT i = 0; i < watch->count && i < MOST_COMPONENTS; i++) {
        struct watched_component *component = &watch->component[i];

        if (!component->is_known || !component->is_changing || component->is_in_call)
            continue;
        owed++;
        CHECK_RULE(check, RULE_PWC_009, false, NULL, "",
                   "DxgkCbCompleteFStateTransition was not called for component %u, which was told "
                   "to go to F%u",
                   i, component->state);
        component->is_changing = false; /* told once */
    }
    return owed;
}

const struct check_watcher check_component_watcher = {
    .name = "power components",
    .state_bytes = sizeof(struct component_watch),
    .before = before,
    .before_calls =
        CHECK_CALLS(MINIPORT_DDI_SetPowerComponentFState, MINIPORT_DDI_PowerRuntimeControlRequest,
                    MINIPORT_DDI_SubmitCommand, MINIPORT_DDI_SubmitCommandVirtual,
                    MINIPORT_DDI_SubmitCommandToHwQueue, MINIPORT_DDI_SetPowerState),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_QueryAdapterInfo, MINIPORT_DDI_SetPowerComponentFState,
                               MINIPORT_DDI_PowerRuntimeControlRequest),
    .callback = callback,
    .client = client,
    .gpu = gpu,
    .stands_still = stands_still,
};
