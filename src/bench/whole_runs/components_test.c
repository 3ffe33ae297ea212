/* Power components in whole runs: which F-states they are told, when, and what waits for them. */
#include "bench/whole_runs/test_run.h"

#include "machine/machine.h"

#define MOST_SEEN 64u

static struct {
    struct {
        unsigned component, state;
    } told[MOST_SEEN];
    unsigned count, work_when_off, phases;
    unsigned state[8]; /* of each component, as it was told last */
    bool is_asleep_off;
} seen;

/* What else the driver says of its components, for some of the tests. */
static struct {
    bool has_provider; /* the first engine needs the driver's own component */
    ULONGLONG latency; /* of that one, from the start on; 0: none is set */
    struct miniport_host *host;
} says;

static NTSTATUS describe(struct miniport *self, HANDLE object, const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, arg);
    DXGK_POWER_RUNTIME_COMPONENT *component = arg->pOutputData;

    if (NT_SUCCESS(status) && arg->Type == DXGKQAITYPE_POWERCOMPONENTINFO && says.has_provider &&
        *(const UINT *)arg->pInputData == 0) {
        component->ProviderCount = 1;
        component->Providers[0] = 2;
    }
    return status;
}

static void keep_host(struct miniport *self, struct miniport_host *host)
{
    says.host = host;
    miniport_set_host(self->next, host);
}

static NTSTATUS see_state(struct miniport *self, HANDLE object, const struct miniport_f_state *arg)
{
    assert_in_range(arg->ComponentIndex, 0, 7);
    if (seen.count < MOST_SEEN) {
        seen.told[seen.count].component = arg->ComponentIndex;
        seen.told[seen.count].state = arg->FState;
    }
    seen.count++;
    if (says.has_provider && arg->ComponentIndex == 0 && arg->FState == 0)
        assert_int_equal(seen.state[2], 0);
    if (says.has_provider && arg->ComponentIndex == 2 && arg->FState)
        assert_int_not_equal(seen.state[0], 0);
    seen.state[arg->ComponentIndex] = arg->FState;
    return miniport_forward_set_power_component_f_state(self, object, arg);
}

static NTSTATUS see_phase(struct miniport *self, HANDLE object,
                          const struct miniport_power_control *arg)
{
    assert_int_equal(miniport_power_phase(arg->PowerControlCode), seen.phases % 3);
    seen.phases++;
    if (miniport_power_phase(arg->PowerControlCode) == MINIPORT_POWER_STARTED && says.latency)
        says.host->ops->power(
            says.host, &(struct miniport_power_request){MINIPORT_POWER_SetPowerComponentLatency, 2,
                                                        says.latency});
    return miniport_forward_power_runtime_control_request(self, object, arg);
}

static NTSTATUS see_submission(struct miniport *self, HANDLE object,
                               const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    seen.work_when_off += seen.state[arg->NodeOrdinal] != 0;
    return miniport_forward_submit_command_virtual(self, object, arg);
}

static NTSTATUS see_sleep(struct miniport *self, ULONG device_uid, DEVICE_POWER_STATE state,
                          POWER_ACTION action)
{
    if (state != PowerDeviceD0)
        seen.is_asleep_off |= seen.state[0] || seen.state[1];
    return miniport_set_power_state(self->next, device_uid, state, action);
}

static struct miniport *put_on_top(void *context, struct miniport *next)
{
    struct miniport *layer = NULL;
    struct miniport_ops *ops = test_put_layer(base_services_libc(), next, &layer);

    ops->set_host = keep_host;
    ops->query_adapter_info = describe;
    ops->set_power_component_f_state = see_state;
    ops->power_runtime_control_request = see_phase;
    ops->submit_command_virtual = see_submission;
    ops->set_power_state = see_sleep;
    return layer;
}

static void play_case(const char *text)
{
    struct workload *workload = test_parse(text);
    struct run_config config = test_config(workload);
    struct run_result *result;

    config.model = RUN_GPUMMU;
    config.add_layer = put_on_top;
    memset(&seen, 0, sizeof seen);
    result = test_execute(&config, workload);
    test_assert_clean(result);
    test_finish(result);
    assert_int_equal(seen.work_when_off, 0);
}

static void play(const char *how, const char *lines)
{
    char text[512];

    snprintf(text, sizeof text,
             "drydock-case 1\noption power-components %s\ncontext c0\nalloc a size=1M\n%s", how,
             lines);
    play_case(text);
}

/* The states of the component, in their order: "0120". */
static void expect(unsigned component, const char *states)
{
    char found[MOST_SEEN + 1] = {0};
    unsigned count = 0;

    for (unsigned i = 0; i < seen.count && i < MOST_SEEN; i++) {
        if (seen.told[i].component == component)
            found[count++] = (char)('0' + seen.told[i].state);
    }
    assert_string_equal(found, states);
}

/* 100 us without work: F1. 2 ms: F2, by way of F0. The second component is the engine of paging. */
static void longer_idle_times_lead_deeper(void **state)
{
    for (unsigned is_slow = 0; is_slow < 2; is_slow++) {
        const char *how = is_slow ? "slow" : "yes";

        play(how, "submit c0 a:w\nwait all\n");
        expect(0, "");
        play(how, "submit c0 a:w\nwait all\npause 500000\n");
        expect(0, "1");
        play(how, "submit c0 a:w\nwait all\npause 500000\nsubmit c0 a:r\nwait all\n");
        expect(0, "10");
        play(how, "submit c0 a:w\nwait all\npause 5000000\n");
        expect(0, "102");
        play(how, "submit c0 a:w\nwait all\npause 5000000\nsubmit c0 a:r\nwait all\n");
        expect(0, "1020");
        assert_int_equal(seen.phases, 3);
    }
}

static void components_are_on_when_the_adapter_goes_to_sleep(void **state)
{
    play("slow", "submit c0 a:w\nwait all\npause 500000\npower standby\npower on\n"
                 "submit c0 a:r\nwait all\n");
    assert_true(seen.count >= 4);
    assert_false(seen.is_asleep_off);
}

/* An escape that reads the hardware activates the driver's own component around it. */
static void a_component_of_the_drivers_own_follows_its_word(void **state)
{
    play("yes", "submit c0 a:w\nescape c0 hardware=yes expect=success \"1:u32 2:u32 0:u64*2\"\n"
                "wait all\n");
    expect(2, "101");
    play("yes", "submit c0 a:w\nwait all\n");
    expect(2, "1");
}

/* see_state() looks at the order: a provider is on before, and off behind, what it provides for. */
static void providers_come_first_and_go_last(void **state)
{
    for (unsigned is_slow = 0; is_slow < 2; is_slow++) {
        says.has_provider = true;
        play(is_slow ? "slow" : "yes",
             "submit c0 a:w\nwait all\npause 500000\nsubmit c0 a:r\nwait all\n");
        says.has_provider = false;
        expect(0, "10");
        expect(2, "10");
    }
}

/* Its F1 takes a microsecond, 10 in the units of the DDI. */
static void a_state_that_takes_longer_than_the_driver_allows_is_not_chosen(void **state)
{
    for (ULONGLONG latency = 9; latency <= 10; latency++) {
        says.latency = latency;
        play("yes", "submit c0 a:w\nwait all\n");
        says.latency = 0;
        expect(2, latency < 10 ? "" : "1");
    }
}

/*
 * The reset has switched the engine on. While it is told to go to F0, in slow accesses of
 * registers, the DPC of the other engine comes: no transition has ended for that.
 */
static void a_reset_engine_is_not_in_f0_before_it_is_told(void **state)
{
    play_case("drydock-case 1\noption power-components slow\noption paging-buffer 64\n"
              "option register-time 2839\noption display yes\n"
              "option faults start,preemptions,reserved-ranges\n"
              "context c0\ncontext c1 node=1\nalloc b size=95097\n"
              "alloc d size=4K flags=primary\nalloc e size=27\nsubmit c1 e:w b:r\n"
              "show d\nshow d\nfree d\nwait all\nreset\nwait c1\nsubmit c1\nwait all\n"
              "wait c1\nwait c1\nwait c1\nsubmit c0 e:rw\nsubmit c1\n");
    expect(0, "10");
}

/* Of a board with two engines: behind them and the driver's own one. */
#define CLOCK 3u

/* Engines need the clock; another driver does for three lines, and then not for three. */
static void a_shared_component_is_on_for_engines_and_for_another_driver(void **state)
{
    play("yes", "submit c0 a:w\npause 400000\npause 200000\npause 200000\npause 200000\n"
                "pause 200000\npause 200000\n");
    expect(0, "10"); /* it is needed again when all ends */
    expect(CLOCK, "1010");
    expect(CLOCK + 1, ""); /* D3_TRANSITION */
}

static void without_the_option_nothing_is_managed(void **state)
{
    play("no", "submit c0 a:w\nwait all\npause 5000000\n");
    assert_int_equal(seen.count, 0);
    assert_int_equal(seen.phases, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longer_idle_times_lead_deeper),
        cmocka_unit_test(components_are_on_when_the_adapter_goes_to_sleep),
        cmocka_unit_test(a_component_of_the_drivers_own_follows_its_word),
        cmocka_unit_test(providers_come_first_and_go_last),
        cmocka_unit_test(a_state_that_takes_longer_than_the_driver_allows_is_not_chosen),
        cmocka_unit_test(a_reset_engine_is_not_in_f0_before_it_is_told),
        cmocka_unit_test(a_shared_component_is_on_for_engines_and_for_another_driver),
        cmocka_unit_test(without_the_option_nothing_is_managed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
