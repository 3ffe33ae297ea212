/*
 * Watcher: the clocks of nodes (CLK), by what DxgkDdiCalibrateGpuClock tells of them.
 */
#include "check/check_watch.h"

#define TICK_NS 100u /* of the performance counter (KeQueryPerformanceCounter) */

/* A counter of so many bits or more may begin anew. What falls by less was not full. */
#define LEAST_COUNTER_BITS 32

struct clock_watch {
    struct {
        bool is_known;
        UINT64 counter;
    } nodes[CHECK_MAX_NODES];
    uint64_t called_ns;
};

static uint64_t now(struct check *check)
{
    const struct check_config *config = check_configuration(check);

    return config->now ? config->now(config->context) : 0;
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct clock_watch *watch = state;
    const struct miniport_clock *clock = call->arg.calibrate_gpu_clock;

    /* What has lost its power, or was reset, may begin anew. */
    if (call->ddi != MINIPORT_DDI_CalibrateGpuClock) {
        memset(watch->nodes, 0, sizeof watch->nodes);
        return;
    }
    CHECK_RULE(check, RULE_CLK_001, !clock->EngineOrdinal, NULL, "EngineOrdinal",
               "is {%u} (expected {=0}: the adapter is not linked)", clock->EngineOrdinal);
    CHECK_RULE(check, RULE_CLK_001, check_irql(check) == DISPATCH_LEVEL, NULL, "",
               "is called at IRQL %u (expected DISPATCH_LEVEL)", check_irql(check));
    watch->called_ns = now(check);
}

static void check_counter(struct check *check, struct clock_watch *watch,
                          const struct miniport_clock *clock)
{
    const UINT64 counter = clock->calibration.GpuClockCounter;
    UINT64 last;

    if (clock->NodeOrdinal >= CHECK_MAX_NODES)
        return;
    last = watch->nodes[clock->NodeOrdinal].counter;
    if (watch->nodes[clock->NodeOrdinal].is_known)
        CHECK_RULE(check, RULE_CLK_003,
                   counter >= last || last - counter >= UINT64_C(1) << (LEAST_COUNTER_BITS - 1),
                   NULL, "GpuClockCounter",
                   "of node %u is {%llu} (expected {=%llu, as before,} or more)",
                   clock->NodeOrdinal, (unsigned long long)counter, (unsigned long long)last);
    watch->nodes[clock->NodeOrdinal].is_known = true;
    watch->nodes[clock->NodeOrdinal].counter = counter;
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct clock_watch *watch = state;
    const struct miniport_clock *clock = call->arg.calibrate_gpu_clock;
    const uint64_t first = watch->called_ns / TICK_NS, last = now(check) / TICK_NS;
    const UINT64 counter = clock->calibration.CpuClockCounter;

    if (!NT_SUCCESS(call->status))
        return;
    CHECK_RULE(check, RULE_CLK_002, clock->calibration.GpuFrequency, NULL, "GpuFrequency",
               "of node %u is {0}{=~not 0~}", clock->NodeOrdinal);
    check_counter(check, watch, clock);
    if (check_configuration(check)->now)
        CHECK_RULE(
            check, RULE_CLK_004, counter >= first && counter <= last, NULL, "CpuClockCounter",
            "is {%llu} (expected {=%llu to %llu, what the performance counter was during the "
            "call})",
            (unsigned long long)counter, (unsigned long long)first, (unsigned long long)last);
}

const struct check_watcher check_clock_watcher = {
    .name = "clocks",
    .state_bytes = sizeof(struct clock_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_CalibrateGpuClock, MINIPORT_DDI_SetPowerState,
                                MINIPORT_DDI_SetPowerComponentFState, MINIPORT_DDI_StartDevice,
                                MINIPORT_DDI_ResetFromTimeout, MINIPORT_DDI_ResetEngine),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_CalibrateGpuClock),
};
