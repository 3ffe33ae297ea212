#include "vidmm/adapter/components.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/power.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/memory/segment.h"
#include "vidmm/vidmm_private.h"

#include "base/bits.h"
#include "base/services.h"
#include "miniport/miniport.h"
#include "vidsch/vidsch.h"

#include <stdio.h>

#define DEBOUNCE_NS     UINT64_C(100000) /* before an idle component goes down (NoDebounce: 0) */
#define UNIT_NS         100u             /* of the times that drivers tell */
#define MOST_COMPONENTS 256u

struct vidmm_component {
    DXGK_POWER_RUNTIME_COMPONENT info;
    unsigned state; /* the F-state that the driver was told last */
    bool is_changing;
    bool is_closed;              /* its engine gets no work */
    bool is_wanted;              /* as of the last look */
    bool is_rising;              /* to a deeper state, by way of F0, when its providers are there */
    uint64_t uses;               /* of the driver's */
    uint64_t idle_ns;            /* since when it is not wanted */
    uint64_t latency, residency; /* that the driver has set, in its units; 0, UINT64_MAX: none */
};

static uint64_t now_ns(const struct vidmm *vidmm)
{
    return vidmm->config.platform.now_ns(vidmm->config.platform.context);
}

static bool is_engine(const struct vidmm *vidmm, const struct vidmm_component *component)
{
    return component->info.ComponentMapping.ComponentType == DXGK_POWER_COMPONENT_ENGINE &&
           component->info.ComponentMapping.EngineDesc.NodeIndex < vidmm->caps.node_count;
}

static bool is_on(const struct vidmm_component *component)
{
    return component->state == 0 && !component->is_changing;
}

/* ---- Who needs it ---------------------------------------------------------------------------- */

static bool is_segment_used(const struct vidmm *vidmm, unsigned id)
{
    return id >= 1 && id <= vidmm->caps.segment_count && vidmm->segments[id - 1].used;
}

/*
 * Engines and segments are seen to be idle here, and other drivers say what they share; of what
 * displays do, and of D3_TRANSITION, nothing is known.
 */
static bool is_needed(const struct vidmm *vidmm, const struct vidmm_component *component)
{
    const DXGK_POWER_COMPONENT_MAPPING *mapping = &component->info.ComponentMapping;

    if (component->uses)
        return true;
    if (vidmm->power.state != POWER_ON && component->info.Flags.TransitionTo_F0_OnDx)
        return true;
    switch (mapping->ComponentType) {
    case DXGK_POWER_COMPONENT_ENGINE:
        return !is_engine(vidmm, component) ||
               vidsch_node_has_work(vidmm->vidsch, mapping->EngineDesc.NodeIndex);
    case DXGK_POWER_COMPONENT_MEMORY:
        return is_segment_used(vidmm, mapping->MemoryDesc.SegmentID);
    case DXGK_POWER_COMPONENT_OTHER:
        return false;
    case DXGK_POWER_COMPONENT_SHARED:
        return vidmm->components.is_shared;
    default:
        return true;
    }
}

static struct vidmm_component *provider_of(const struct vidmm *vidmm,
                                           const struct vidmm_component *component, unsigned i)
{
    uint32_t index = component->info.Providers[i];
    struct vidmm_component *provider = &vidmm->components.array[index];

    return index < vidmm->components.count && provider != component ? provider : NULL;
}

static unsigned provider_count(const struct vidmm_component *component)
{
    return (unsigned)min_u64(component->info.ProviderCount, DXGK_MAX_POWER_COMPONENT_PROVIDERS);
}

/* A provider is needed as long as what it provides for is, or has not gone down. */
static void find_wanted(struct vidmm *vidmm)
{
    struct vidmm_components *all = &vidmm->components;
    bool has_changed = true;

    for (uint32_t i = 0; i < all->count; i++) {
        struct vidmm_component *component = &all->array[i];
        const bool was_wanted = component->is_wanted;

        component->is_wanted = is_needed(vidmm, component);
        if (was_wanted)
            component->idle_ns = now_ns(vidmm);
    }
    while (has_changed) {
        has_changed = false;
        for (uint32_t i = 0; i < all->count; i++) {
            struct vidmm_component *component = &all->array[i];

            if (!component->is_wanted && component->state && !component->is_changing &&
                !component->is_rising)
                continue;
            for (unsigned j = 0; j < provider_count(component); j++) {
                struct vidmm_component *provider = provider_of(vidmm, component, j);

                if (provider && !provider->is_wanted)
                    provider->is_wanted = has_changed = true;
            }
        }
    }
}

/* ---- Transitions ----------------------------------------------------------------------------- */

static void change(struct vidmm *vidmm, struct vidmm_component *component, unsigned state)
{
    const struct miniport_f_state arg = {(UINT)(component - vidmm->components.array), state};
    NTSTATUS status;

    if (state && is_engine(vidmm, component)) {
        component->is_closed = true;
        vidsch_power_node(vidmm->vidsch, component->info.ComponentMapping.EngineDesc.NodeIndex,
                          false);
    }
    component->is_changing = true;
    component->is_rising = false;
    component->state = state;
    status = miniport_set_power_component_f_state(vidmm->miniport, NULL, &arg);
    if (!NT_SUCCESS(status))
        vidmm_driver_error(vidmm, "PWC-005",
                           "DxgkDdiSetPowerComponentFState(component %u, F%u) returned 0x%08x",
                           arg.ComponentIndex, state, (unsigned)status);
    if (!component->info.Flags.DriverCompletesFStateTransition || !NT_SUCCESS(status))
        component->is_changing = false;
}

/* Towards F0, as far as it goes now. True: something was done. */
static bool raise(struct vidmm *vidmm, struct vidmm_component *component)
{
    if (component->is_changing || component->state == 0)
        return false;
    for (unsigned i = 0; i < provider_count(component); i++) {
        struct vidmm_component *provider = provider_of(vidmm, component, i);

        if (provider && !is_on(provider))
            return false; /* it is wanted, too */
    }
    change(vidmm, component, 0);
    return true;
}

/* A deeper state is reached by way of F0, which needs the providers (PWC-018). */
static bool rise(struct vidmm *vidmm, struct vidmm_component *component)
{
    const bool was_rising = component->is_rising;

    component->is_rising = true; /* the next look finds its providers wanted */
    return raise(vidmm, component) || !was_rising;
}

/* How long it has to have been idle for the state. UINT64_MAX: it is not to be in it. */
static uint64_t idle_before(const struct vidmm_component *component, unsigned state)
{
    const DXGK_POWER_RUNTIME_STATE *info = &component->info.States[state];
    const uint64_t debounce = component->info.Flags.NoDebounce ? 0 : DEBOUNCE_NS;

    if (info->TransitionLatency > component->latency)
        return UINT64_MAX;
    if (component->residency && info->ResidencyRequirement <= component->residency)
        return debounce;
    if (info->ResidencyRequirement >= UINT64_MAX / UNIT_NS)
        return UINT64_MAX;
    return max_u64(debounce, info->ResidencyRequirement * UNIT_NS);
}

/*
 * The deepest state for the time that it has been idle. *wake_ns: when another one is to be looked
 * for, if that is before.
 */
static unsigned choose(const struct vidmm_component *component, uint64_t now, uint64_t *wake_ns)
{
    const unsigned count = (unsigned)min_u64(component->info.StateCount, DXGK_MAX_F_STATES);
    unsigned chosen = component->state;

    for (unsigned state = component->state + 1; state < count; state++) {
        const uint64_t idle = idle_before(component, state);

        if (idle == UINT64_MAX)
            continue;
        if (now - component->idle_ns >= idle)
            chosen = state;
        else
            *wake_ns = min_u64(*wake_ns, component->idle_ns + idle);
    }
    return chosen;
}

static bool may_tell_time(const struct vidmm *vidmm)
{
    return vidmm->config.platform.now_ns && vidmm->config.platform.wake;
}

bool components_run(struct vidmm *vidmm)
{
    struct vidmm_components *all = &vidmm->components;
    const struct vidmm_platform *platform = &vidmm->config.platform;
    uint64_t wake_ns = UINT64_MAX;
    bool has_done = false;
    uint64_t now;

    if (!all->count || !all->is_started || all->is_abandoned)
        return false;
    now = now_ns(vidmm);
    find_wanted(vidmm);
    for (uint32_t i = 0; i < all->count; i++) {
        struct vidmm_component *component = &all->array[i];
        unsigned state;

        if (component->is_closed && is_on(component)) {
            component->is_closed = false;
            vidsch_power_node(vidmm->vidsch, component->info.ComponentMapping.EngineDesc.NodeIndex,
                              true);
            has_done = true;
        } else if (component->is_wanted) {
            has_done |= raise(vidmm, component);
        } else if (!component->is_changing) {
            state = choose(component, now, &wake_ns);
            if (state == component->state) {
                component->is_rising = false;
                continue;
            }
            if (component->state) {
                has_done |= rise(vidmm, component);
            } else {
                change(vidmm, component, state);
                has_done = true;
            }
        }
    }
    if (wake_ns != UINT64_MAX && wake_ns != all->wake_ns)
        platform->wake(platform->context, wake_ns);
    all->wake_ns = wake_ns == UINT64_MAX ? 0 : wake_ns;
    return has_done;
}

void vidmm_wake(struct vidmm *vidmm)
{
    vidmm->components.wake_ns = 0;
    vidmm_pump(vidmm);
}

bool components_may_sleep(const struct vidmm *vidmm)
{
    const struct vidmm_components *all = &vidmm->components;

    if (all->is_abandoned)
        return true;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct vidmm_component *component = &all->array[i];

        if (component->is_changing ||
            (component->info.Flags.TransitionTo_F0_OnDx && component->state))
            return false;
    }
    return true;
}

bool components_are_settled(const struct vidmm *vidmm)
{
    const struct vidmm_components *all = &vidmm->components;

    for (uint32_t i = 0; i < all->count && !all->is_abandoned; i++) {
        if (all->array[i].is_changing)
            return false;
    }
    return true;
}

const char *components_explain_wait(const struct vidmm *vidmm, char *text, size_t size)
{
    const struct vidmm_components *all = &vidmm->components;

    for (uint32_t i = 0; i < all->count && !all->is_abandoned; i++) {
        if (!all->array[i].is_changing)
            continue;
        snprintf(text, size,
                 "power component %u was told to go to F%u, and DxgkCbCompleteFStateTransition was "
                 "not called",
                 (unsigned)i, all->array[i].state);
        return "PWC-009";
    }
    return NULL;
}

/* ---- From the driver ------------------------------------------------------------------------- */

/* Providers first; the driver waits meanwhile, so the pump is not what does it. */
static void raise_wanted(struct vidmm *vidmm)
{
    struct vidmm_components *all = &vidmm->components;
    bool has_done = true;

    find_wanted(vidmm);
    while (has_done) {
        has_done = false;
        for (uint32_t i = 0; i < all->count; i++)
            has_done |= all->array[i].is_wanted && raise(vidmm, &all->array[i]);
    }
}

NTSTATUS vidmm_power_request(struct vidmm *vidmm, const struct miniport_power_request *request)
{
    struct vidmm_component *component;

    if (request->kind == MINIPORT_POWER_PowerRuntimeControlRequest)
        return STATUS_NOT_SUPPORTED; /* there is no plug-in that would understand it */
    if (request->ComponentIndex >= vidmm->components.count || vidmm->components.is_abandoned)
        return STATUS_INVALID_PARAMETER;
    component = &vidmm->components.array[request->ComponentIndex];
    switch (request->kind) {
    case MINIPORT_POWER_SetPowerComponentActive:
        component->uses++;
        raise_wanted(vidmm);
        return STATUS_SUCCESS;
    case MINIPORT_POWER_SetPowerComponentIdle:
        component->uses -= component->uses != 0;
        break;
    case MINIPORT_POWER_SetPowerComponentLatency:
        component->latency = request->time;
        break;
    case MINIPORT_POWER_SetPowerComponentResidency:
        component->residency = request->time;
        break;
    case MINIPORT_POWER_CompleteFStateTransition:
        component->is_changing = false;
        break;
    default:
        return STATUS_INVALID_PARAMETER;
    }
    return STATUS_SUCCESS;
}

/* A flag alone while the adapter does not run, or behind the end of the board. */
void vidmm_share_components(struct vidmm *vidmm, bool is_active)
{
    struct vidmm_components *all = &vidmm->components;

    all->is_shared = is_active;
    if (!all->count || all->is_abandoned || vidmm->power.state != POWER_ON)
        return;
    if (is_active)
        raise_wanted(vidmm);
    vidmm_pump(vidmm);
}

bool vidmm_component_is_on(const struct vidmm *vidmm, uint32_t index)
{
    const struct vidmm_components *all = &vidmm->components;

    return index >= all->count || all->is_abandoned || is_on(&all->array[index]);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void tell_phase(struct vidmm *vidmm, enum miniport_power_phase phase)
{
    const struct miniport_power_control arg = {miniport_power_phase_code(phase)};

    miniport_power_runtime_control_request(vidmm->miniport, NULL, &arg);
}

static NTSTATUS ask(struct vidmm *vidmm, DXGK_QUERYADAPTERINFOTYPE type, UINT *index, void *out,
                    UINT bytes)
{
    const DXGKARG_QUERYADAPTERINFO arg = {.Type = type,
                                          .pInputData = index,
                                          .InputDataSize = index ? sizeof *index : 0,
                                          .pOutputData = out,
                                          .OutputDataSize = bytes};

    return miniport_query_adapter_info(vidmm->miniport, NULL, &arg);
}

/* A driver that fails a question has no components. */
NTSTATUS components_init(struct vidmm *vidmm)
{
    struct vidmm_components *all = &vidmm->components;
    UINT count = 0;

    *all = (struct vidmm_components){0};
    if (!vidmm->caps.manages_components || !may_tell_time(vidmm) ||
        !NT_SUCCESS(ask(vidmm, DXGKQAITYPE_NUMPOWERCOMPONENTS, NULL, &count, sizeof count)) ||
        !count || count > MOST_COMPONENTS)
        return STATUS_SUCCESS;
    all->array = base_alloc_array(vidmm->services, count, sizeof *all->array);
    if (!all->array)
        return STATUS_NO_MEMORY;
    all->count = count;
    for (UINT i = 0; i < count; i++) {
        struct vidmm_component *component = &all->array[i];
        UINT index = i;

        *component = (struct vidmm_component){.latency = UINT64_MAX, .is_wanted = true};
        if (!NT_SUCCESS(ask(vidmm, DXGKQAITYPE_POWERCOMPONENTINFO, &index, &component->info,
                            sizeof component->info)))
            component->info.StateCount = 0; /* it stays in F0 */
    }
    tell_phase(vidmm, MINIPORT_POWER_PREPARE_TO_START);
    tell_phase(vidmm, MINIPORT_POWER_STARTED);
    all->is_started = true;
    return STATUS_SUCCESS;
}

void components_fini(struct vidmm *vidmm)
{
    struct vidmm_components *all = &vidmm->components;

    if (all->count)
        tell_phase(vidmm, MINIPORT_POWER_STOPPED);
    base_free_array(vidmm->services, all->array, all->count, sizeof *all->array);
    *all = (struct vidmm_components){0};
}

void components_abandon(struct vidmm *vidmm)
{
    vidmm->components.is_abandoned = true;
}
