/* Power components (PWC). */
#include "check/rig/test_rig.h"
#include "check/rig/test_rig_submit.h"

#include "check/check_private.h"

#define COMPONENTS 3u /* engines 0 and 1, and one of the driver's own */
#define OWN        2u

static struct told_components {
    DXGK_POWER_RUNTIME_COMPONENT of[COMPONENTS];
    NTSTATUS status;
    void (*within)(struct rig *rig); /* DxgkDdiSetPowerComponentFState */
} told;

static NTSTATUS answer(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const DXGKARG_QUERYADAPTERINFO *query = arg;

    if (ddi == MINIPORT_DDI_QueryAdapterInfo && query->Type == DXGKQAITYPE_NUMPOWERCOMPONENTS) {
        *(UINT *)query->pOutputData = COMPONENTS;
        return STATUS_SUCCESS;
    }
    if (ddi == MINIPORT_DDI_QueryAdapterInfo && query->Type == DXGKQAITYPE_POWERCOMPONENTINFO) {
        *(DXGK_POWER_RUNTIME_COMPONENT *)query->pOutputData =
            told.of[*(const UINT *)query->pInputData];
        return STATUS_SUCCESS;
    }
    if (ddi == MINIPORT_DDI_SetPowerComponentFState) {
        if (told.within)
            told.within(rig);
        return told.status;
    }
    return rig_answer(rig, ddi, object, arg);
}

static void describe(void)
{
    told = (struct told_components){0};
    for (UINT i = 0; i < COMPONENTS; i++) {
        DXGK_POWER_RUNTIME_COMPONENT *component = &told.of[i];

        component->StateCount = 3;
        component->States[0].NominalPower = 100;
        component->States[1] = (DXGK_POWER_RUNTIME_STATE){10, 20, 50};
        component->States[2] = (DXGK_POWER_RUNTIME_STATE){20, 40, 5};
        component->ComponentMapping.ComponentType =
            i == OWN ? DXGK_POWER_COMPONENT_OTHER : DXGK_POWER_COMPONENT_ENGINE;
        component->ComponentMapping.EngineDesc.NodeIndex = i;
    }
}

static void ask_for_caps(struct rig *rig)
{
    DXGK_DRIVERCAPS caps = {0};

    rig->caps.SupportRuntimePowerManagement = TRUE;
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
}

static void ask(struct rig *rig)
{
    UINT count = 0;

    rig->answer = answer;
    ask_for_caps(rig);
    rig_query(rig, DXGKQAITYPE_NUMPOWERCOMPONENTS, NULL, 0, &count, sizeof count);
    for (UINT i = 0; i < COMPONENTS; i++) {
        DXGK_POWER_RUNTIME_COMPONENT component = {0};

        rig_query(rig, DXGKQAITYPE_POWERCOMPONENTINFO, &i, sizeof i, &component, sizeof component);
    }
}

static void tell(struct rig *rig, enum miniport_power_phase phase)
{
    const struct miniport_power_control arg = {miniport_power_phase_code(phase)};

    miniport_power_runtime_control_request(rig->top, NULL, &arg);
}

static void begin(struct rig *rig)
{
    ask(rig);
    tell(rig, MINIPORT_POWER_PREPARE_TO_START);
    tell(rig, MINIPORT_POWER_STARTED);
}

static void start(struct rig *rig)
{
    describe();
    begin(rig);
}

static void set(struct rig *rig, UINT component, UINT state)
{
    const struct miniport_f_state arg = {component, state};

    miniport_set_power_component_f_state(rig->top, NULL, &arg);
}

static void call(struct rig *rig, enum miniport_power_kind kind, UINT component)
{
    const struct miniport_power_request request = {kind, component, 5};

    rig->drivers_host->ops->power(rig->drivers_host, &request);
}

static void activate(struct rig *rig, UINT component)
{
    call(rig, MINIPORT_POWER_SetPowerComponentActive, component);
}

static void idle(struct rig *rig, UINT component)
{
    call(rig, MINIPORT_POWER_SetPowerComponentIdle, component);
}

static void complete(struct rig *rig, UINT component)
{
    call(rig, MINIPORT_POWER_CompleteFStateTransition, component);
}

/* ---- What the driver says of them ---- */

RULE_BROKEN(PWC_001)
{
    rig->lacking = MINIPORT_DDI_PowerRuntimeControlRequest;
    miniport_add_device(rig->top); /* its functions are looked at again */
    ask_for_caps(rig);
}

RULE_KEPT(PWC_001)
{
    ask_for_caps(rig);
}

RULE_BROKEN(PWC_002)
{
    describe();
    told.of[1].States[2].NominalPower = told.of[1].States[1].NominalPower;
    begin(rig);
    assert_string_equal(rig->last.text,
                        "uses 50 uW and takes 20 x 100 ns (expected less than 50 and more than "
                        "10, which F1 has)");
}

RULE_KEPT(PWC_002)
{
    start(rig);
}

static void states_of_f0_and_their_number_are_looked_at(void **state)
{
    for (int i = 0; i < 5; i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        describe();
        switch (i) {
        case 0:
            told.of[0].StateCount = 0;
            break;
        case 1:
            told.of[0].StateCount = DXGK_MAX_F_STATES + 1;
            break;
        case 2:
            told.of[0].States[0].TransitionLatency = 1;
            break;
        case 3:
            told.of[0].States[0].NominalPower = 0;
            break;
        default:
            told.of[0].States[2].TransitionLatency = told.of[0].States[1].TransitionLatency;
            break;
        }
        begin(rig);
        rig_expect_only(rig, RULE_PWC_002);
        rig_fini(rig);
        free(rig);
    }
}

RULE_BROKEN(PWC_003)
{
    describe();
    told.of[1].ComponentMapping.EngineDesc.NodeIndex = 0;
    begin(rig);
    assert_string_equal(rig->last.text, "is type 0, number 0, as that of component 0 is");
}

RULE_KEPT(PWC_003)
{
    start(rig);
}

static void an_engine_that_there_is_none_of_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    describe();
    told.of[1].ComponentMapping.EngineDesc.NodeIndex = 60;
    begin(rig);
    rig_expect_only(rig, RULE_PWC_003);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(PWC_004)
{
    describe();
    told.of[0].ProviderCount = 1;
    told.of[0].Providers[0] = COMPONENTS;
    begin(rig);
}

RULE_KEPT(PWC_004)
{
    describe();
    told.of[0].ProviderCount = 1;
    told.of[0].Providers[0] = OWN;
    begin(rig);
}

static void reserved_flags_are_zero(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    describe();
    told.of[0].Flags.Reserved0 = 1;
    begin(rig);
    rig_expect_only(rig, RULE_PWC_004);
    rig_fini(rig);
    free(rig);
}

/* ---- Transitions ---- */

RULE_BROKEN(PWC_005)
{
    start(rig);
    told.status = STATUS_INVALID_PARAMETER;
    set(rig, 0, 1);
}

RULE_KEPT(PWC_005)
{
    start(rig);
    set(rig, 0, 1);
}

RULE_BROKEN(PWC_006)
{
    start(rig);
    set(rig, 0, 1);
    set(rig, 0, 2);
    assert_string_equal(rig->last.text, "is F2 in F1 (expected to F0 or from F0)");
}

RULE_KEPT(PWC_006)
{
    start(rig);
    set(rig, 0, 1);
    set(rig, 0, 0);
    set(rig, 0, 2);
}

static void states_and_components_that_were_not_reported_are_not_set(void **state)
{
    for (int i = 0; i < 3; i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        start(rig);
        if (i == 2)
            tell(rig, MINIPORT_POWER_STOPPED);
        set(rig, i == 0 ? COMPONENTS : 0, i == 1 ? 3 : 1);
        rig_expect_only(rig, RULE_PWC_006);
        rig_fini(rig);
        free(rig);
    }
}

RULE_BROKEN(PWC_007)
{
    describe();
    told.of[0].Flags.DriverCompletesFStateTransition = 1;
    begin(rig);
    set(rig, 0, 1);
    set(rig, 0, 0);
}

RULE_KEPT(PWC_007)
{
    describe();
    told.of[0].Flags.DriverCompletesFStateTransition = 1;
    begin(rig);
    set(rig, 0, 1);
    complete(rig, 0);
    set(rig, 0, 0);
}

RULE_BROKEN(PWC_008)
{
    describe();
    told.of[0].Flags.DriverCompletesFStateTransition = 1;
    begin(rig);
    set(rig, 0, 1);
    complete(rig, 0);
    complete(rig, 0);
    assert_string_equal(rig->last.text, "is 0, whose transition to F1 is over");
}

static void complete_first(struct rig *rig)
{
    complete(rig, 0);
}

/* The function may do so before it returns. */
RULE_KEPT(PWC_008)
{
    describe();
    told.of[0].Flags.DriverCompletesFStateTransition = 1;
    told.within = complete_first;
    begin(rig);
    set(rig, 0, 1);
    set(rig, 0, 0);
}

static void a_component_without_the_flag_is_not_completed(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    start(rig);
    told.within = complete_first;
    set(rig, 0, 1);
    rig_expect_only(rig, RULE_PWC_008);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(PWC_009)
{
    describe();
    told.of[0].Flags.DriverCompletesFStateTransition = 1;
    begin(rig);
    set(rig, 0, 1);
    assert_int_equal(check_stands_still(rig->check), 1);
}

RULE_KEPT(PWC_009)
{
    describe();
    told.of[0].Flags.DriverCompletesFStateTransition = 1;
    begin(rig);
    set(rig, 0, 1);
    complete(rig, 0);
    assert_int_equal(check_stands_still(rig->check), 0);
}

/* ---- What the driver calls ---- */

RULE_BROKEN(PWC_010)
{
    start(rig);
    activate(rig, OWN);
    idle(rig, OWN);
    idle(rig, OWN);
}

RULE_KEPT(PWC_010)
{
    start(rig);
    activate(rig, OWN);
    activate(rig, OWN);
    idle(rig, OWN);
    idle(rig, OWN);
    tell(rig, MINIPORT_POWER_STOPPED);
}

static void a_component_that_is_left_active_is_found_at_the_stop(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    start(rig);
    activate(rig, OWN);
    tell(rig, MINIPORT_POWER_STOPPED);
    rig_expect_only(rig, RULE_PWC_010);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(PWC_011)
{
    start(rig);
    rig->irql = DISPATCH_LEVEL;
    activate(rig, OWN);
    rig->irql = PASSIVE_LEVEL;
}

RULE_KEPT(PWC_011)
{
    start(rig);
    activate(rig, OWN);
    rig->irql = DISPATCH_LEVEL;
    idle(rig, OWN);
    rig->irql = PASSIVE_LEVEL;
}

static void a_component_that_the_system_manages_is_not_idle_at_dispatch_level(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    start(rig);
    activate(rig, 0);
    rig->irql = DISPATCH_LEVEL;
    idle(rig, 0);
    rig->irql = PASSIVE_LEVEL;
    rig_expect_only(rig, RULE_PWC_011);
    rig_fini(rig);
    free(rig);
}

static void activate_own(struct rig *rig)
{
    activate(rig, OWN);
}

RULE_BROKEN(PWC_012)
{
    start(rig);
    told.within = activate_own;
    set(rig, 0, 1);
}

RULE_KEPT(PWC_012)
{
    start(rig);
    set(rig, 0, 1);
    activate(rig, OWN);
}

RULE_BROKEN(PWC_013)
{
    start(rig);
    call(rig, MINIPORT_POWER_SetPowerComponentResidency, 0);
}

RULE_KEPT(PWC_013)
{
    start(rig);
    call(rig, MINIPORT_POWER_SetPowerComponentLatency, OWN);
    call(rig, MINIPORT_POWER_SetPowerComponentResidency, OWN);
}

RULE_BROKEN(PWC_014)
{
    start(rig);
    tell(rig, MINIPORT_POWER_STOPPED);
    activate(rig, OWN);
}

/* Activity may begin before power management has started. */
RULE_KEPT(PWC_014)
{
    describe();
    ask(rig);
    tell(rig, MINIPORT_POWER_PREPARE_TO_START);
    activate(rig, OWN);
    tell(rig, MINIPORT_POWER_STARTED);
    idle(rig, OWN);
}

static void components_are_not_told_of_before_their_phase(void **state)
{
    for (int i = 0; i < 3; i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        describe();
        ask(rig);
        if (i == 0) {
            activate(rig, OWN);
        } else {
            tell(rig, MINIPORT_POWER_PREPARE_TO_START);
            if (i == 1)
                call(rig, MINIPORT_POWER_PowerRuntimeControlRequest, 0);
            else
                activate(rig, COMPONENTS);
        }
        rig_expect_only(rig, RULE_PWC_014);
        rig_fini(rig);
        free(rig);
    }
}

RULE_BROKEN(PWC_015)
{
    describe();
    ask(rig);
    tell(rig, MINIPORT_POWER_STARTED);
}

RULE_KEPT(PWC_015)
{
    start(rig);
    tell(rig, MINIPORT_POWER_STOPPED);
}

/* ---- Work, hardware, sleeps ---- */

RULE_BROKEN(PWC_016)
{
    start(rig);
    set(rig, RIG_CLIENT_NODE, 1);
    rig_render(rig);
}

RULE_KEPT(PWC_016)
{
    start(rig);
    set(rig, RIG_CLIENT_NODE, 1);
    set(rig, RIG_CLIENT_NODE, 0);
    rig_render(rig);
}

RULE_BROKEN(PWC_017)
{
    start(rig);
    set(rig, 0, 1);
    check_gpu(rig->check,
              &(struct check_gpu_event){.kind = CHECK_GPU_UNPOWERED, .node = 0, .address = 0x18});
    assert_string_equal(rig->last.text, "a register of engine 0 is written, at offset 0x18 of its "
                                        "block, and its component is in F1");
}

RULE_KEPT(PWC_017)
{
    start(rig);
    check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_QUEUED, .node = 0});
}

RULE_BROKEN(PWC_018)
{
    describe();
    told.of[0].ProviderCount = 1;
    told.of[0].Providers[0] = OWN;
    begin(rig);
    set(rig, 0, 1);
    set(rig, OWN, 1);
    set(rig, 0, 0);
}

RULE_KEPT(PWC_018)
{
    describe();
    told.of[0].ProviderCount = 1;
    told.of[0].Providers[0] = OWN;
    begin(rig);
    set(rig, 0, 1);
    set(rig, OWN, 1);
    set(rig, OWN, 0);
    set(rig, 0, 0);
}

RULE_BROKEN(PWC_019)
{
    describe();
    told.of[0].Flags.TransitionTo_F0_OnDx = 1;
    begin(rig);
    set(rig, 0, 1);
    miniport_set_power_state(rig->top, 0, PowerDeviceD3, PowerActionSleep);
}

RULE_KEPT(PWC_019)
{
    describe();
    told.of[0].Flags.TransitionTo_F0_OnDx = 1;
    begin(rig);
    set(rig, 1, 1);
    miniport_set_power_state(rig->top, 0, PowerDeviceD3, PowerActionSleep);
}

static void share(struct rig *rig, bool is_active)
{
    check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_SHARE_COMPONENTS,
                                                          .is_active = is_active});
}

static void shared(struct rig *rig, bool is_active)
{
    check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_COMPONENTS_SHARED,
                                                          .is_active = is_active});
}

static void start_shared(struct rig *rig)
{
    describe();
    told.of[OWN].ComponentMapping.ComponentType = DXGK_POWER_COMPONENT_SHARED;
    begin(rig);
}

RULE_BROKEN(PWC_020)
{
    start_shared(rig);
    set(rig, OWN, 1);
    share(rig, true);
    shared(rig, true);
}

RULE_KEPT(PWC_020)
{
    start_shared(rig);
    set(rig, OWN, 1);
    share(rig, true);
    set(rig, OWN, 0);
    shared(rig, true);
    set(rig, 0, 1); /* an engine, which is nobody else's */
    share(rig, false);
    set(rig, OWN, 1);
    shared(rig, false);
}

static void a_component_that_another_driver_needs_stays_in_f0(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    start_shared(rig);
    share(rig, true);
    shared(rig, true);
    set(rig, OWN, 1);
    rig_expect_only(rig, RULE_PWC_020);
    rig_fini(rig);
    free(rig);
}

/* Its provider's provider is on its way: it is told behind that. */
static void what_another_driver_needs_waits_for_a_chain_of_providers(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    describe();
    told.of[OWN].ComponentMapping.ComponentType = DXGK_POWER_COMPONENT_SHARED;
    told.of[OWN].ProviderCount = told.of[1].ProviderCount = 1;
    told.of[OWN].Providers[0] = 1;
    told.of[0].Flags.DriverCompletesFStateTransition = 1;
    begin(rig);
    set(rig, OWN, 1);
    set(rig, 1, 1);
    set(rig, 0, 1);
    share(rig, true);
    shared(rig, true);
    assert_int_equal(rig->finding_count, 0);
    complete(rig, 0);
    shared(rig, true);
    rig_expect_only(rig, RULE_PWC_020);
    rig_fini(rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_of_f0_and_their_number_are_looked_at),
        cmocka_unit_test(an_engine_that_there_is_none_of_is_found),
        cmocka_unit_test(reserved_flags_are_zero),
        cmocka_unit_test(states_and_components_that_were_not_reported_are_not_set),
        cmocka_unit_test(a_component_without_the_flag_is_not_completed),
        cmocka_unit_test(a_component_that_is_left_active_is_found_at_the_stop),
        cmocka_unit_test(a_component_that_the_system_manages_is_not_idle_at_dispatch_level),
        cmocka_unit_test(components_are_not_told_of_before_their_phase),
        cmocka_unit_test(a_component_that_another_driver_needs_stays_in_f0),
        cmocka_unit_test(what_another_driver_needs_waits_for_a_chain_of_providers),
    };

    return RIG_RUN_TESTS(tests);
}
