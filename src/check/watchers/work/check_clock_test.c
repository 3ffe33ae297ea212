/* The clocks of nodes (CLK-001 to CLK-004). */
#include "check/check_private.h"
#include "check/rig/test_rig_submit.h"

#define NOW_NS UINT64_C(5000000000)

/* What the driver answers. */
static struct {
    UINT64 frequency, gpu;
    int late; /* the processor's counter, beside the moment of the call, in ticks */
    NTSTATUS status;
} clocks;
static uint64_t time_ns;

static NTSTATUS answer(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    struct miniport_clock *clock = arg;

    if (ddi != MINIPORT_DDI_CalibrateGpuClock)
        return rig_answer(rig, ddi, object, arg);
    time_ns += 500;
    clock->calibration.GpuFrequency = clocks.frequency;
    clock->calibration.GpuClockCounter = clocks.gpu;
    clock->calibration.CpuClockCounter = time_ns / 100 + (UINT64)(INT64)clocks.late;
    time_ns += 500;
    return clocks.status;
}

static uint64_t tell_time(void *context)
{
    return time_ns;
}

static void prepare(struct rig *rig)
{
    rig->check->config.now = tell_time;
    rig->answer = answer;
    time_ns = NOW_NS;
    clocks.frequency = 1000;
    clocks.late = 0;
    clocks.status = STATUS_SUCCESS;
}

/* Takes a microsecond, in whose middle the driver looks at the processor's counter. */
static void calibrate(struct rig *rig, unsigned node, UINT64 gpu)
{
    struct miniport_clock clock = {.NodeOrdinal = node};

    clocks.gpu = gpu;
    rig->irql = DISPATCH_LEVEL;
    miniport_calibrate_gpu_clock(rig->top, NULL, &clock);
    rig->irql = PASSIVE_LEVEL;
}

RULE_BROKEN(CLK_001)
{
    struct miniport_clock clock = {.EngineOrdinal = 1};

    prepare(rig);
    rig->irql = DISPATCH_LEVEL;
    miniport_calibrate_gpu_clock(rig->top, NULL, &clock);
    rig->irql = PASSIVE_LEVEL;
    assert_string_equal(rig->last.text, "is 1 (expected 0: the adapter is not linked)");
}

RULE_KEPT(CLK_001)
{
    prepare(rig);
    calibrate(rig, 0, 1);
    calibrate(rig, 1, 1);
}

RULE_BROKEN(CLK_002)
{
    prepare(rig);
    clocks.frequency = 0;
    calibrate(rig, 1, 1);
    assert_string_equal(rig->last.text, "of node 1 is 0");
}

/* What a call that fails has left is nobody's. */
RULE_KEPT(CLK_002)
{
    prepare(rig);
    calibrate(rig, 1, 1);
    clocks.frequency = 0;
    clocks.status = STATUS_UNSUCCESSFUL;
    calibrate(rig, 1, 1);
}

RULE_BROKEN(CLK_003)
{
    prepare(rig);
    calibrate(rig, 0, 100);
    calibrate(rig, 1, 50);
    calibrate(rig, 0, 99);
    assert_string_equal(rig->last.text, "of node 0 is 99 (expected 100, as before, or more)");
}

/* Each node has its own; it may stand still, begin anew when 32 bits are full, and with the board.
 */
RULE_KEPT(CLK_003)
{
    DXGKARG_RESETENGINE engine = {0};

    prepare(rig);
    calibrate(rig, 0, 0xfffffff0);
    calibrate(rig, 1, 50);
    calibrate(rig, 0, 0xfffffff0);
    calibrate(rig, 0, 0x10);
    miniport_set_power_state(rig->top, 0, PowerDeviceD3, PowerActionSleep);
    miniport_set_power_state(rig->top, 0, PowerDeviceD0, PowerActionNone);
    calibrate(rig, 0, 3);
    miniport_reset_engine(rig->top, NULL, &engine);
    calibrate(rig, 0, 1);
}

RULE_BROKEN(CLK_004)
{
    prepare(rig);
    clocks.late = 6;
    calibrate(rig, 0, 1);
    assert_string_equal(rig->last.text, "is 50000011 (expected 50000000 to 50000010, what the "
                                        "performance counter was during the call)");
}

RULE_KEPT(CLK_004)
{
    prepare(rig);
    clocks.late = -5;
    calibrate(rig, 0, 1);
    clocks.late = 5;
    calibrate(rig, 0, 1);
}

static void play(unsigned irql, int late, bool has_time, enum rule_id expected)
{
    struct rig *rig = malloc(sizeof *rig);
    struct miniport_clock clock = {0};

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    prepare(rig);
    if (!has_time)
        rig->check->config.now = NULL;
    clocks.late = late;
    rig->irql = irql;
    miniport_calibrate_gpu_clock(rig->top, NULL, &clock);
    rig->irql = PASSIVE_LEVEL;
    rig_expect_only(rig, expected);
    rig_fini(rig);
    free(rig);
}

static void irql_and_both_sides_of_the_call_count(void **state)
{
    play(DISPATCH_LEVEL, 0, true, RULE_NONE);
    play(PASSIVE_LEVEL, 0, true, RULE_CLK_001);
    play(DISPATCH_LEVEL, -6, true, RULE_CLK_004);
    play(DISPATCH_LEVEL, 6, true, RULE_CLK_004);
    play(DISPATCH_LEVEL, 6, false, RULE_NONE); /* nobody tells the time */
}

/* The rig's driver has no component, which is another rule's business. */
static void a_clock_may_begin_anew_where_power_was_saved(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    prepare(rig);
    calibrate(rig, 0, 3);
    miniport_set_power_component_f_state(rig->top, NULL, &(const struct miniport_f_state){0, 1});
    calibrate(rig, 0, 2);
    rig_expect_only(rig, RULE_PWC_006);
    rig_fini(rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(irql_and_both_sides_of_the_call_count),
        cmocka_unit_test(a_clock_may_begin_anew_where_power_was_saved),
    };

    return RIG_RUN_TESTS(tests);
}
