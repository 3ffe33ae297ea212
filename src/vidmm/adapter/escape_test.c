/* What goes to DxgkDdiEscape, and what is answered without the driver. */
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include <string.h>

/* The call that the driver has seen last. */
static struct {
    DXGKARG_ESCAPE args;
    unsigned calls;
    NTSTATUS answer;
} seen;

static bool has_no_escape(struct miniport *self, enum miniport_ddi ddi)
{
    return ddi != MINIPORT_DDI_Escape && rig_has(self, ddi);
}

static NTSTATUS hear_escape(struct miniport *self, HANDLE object, const DXGKARG_ESCAPE *args)
{
    (void)self;
    (void)object;
    seen.args = *args;
    seen.calls++;
    if (args->PrivateDriverDataSize)
        memset(args->pPrivateDriverData, 0x5a, args->PrivateDriverDataSize);
    return seen.answer;
}

static struct rig *start(unsigned model)
{
    struct rig_config config = rig_model(model);
    struct rig *rig = rig_create(&config);

    rig->ops.escape = hear_escape;
    memset(&seen, 0, sizeof seen);
    return rig;
}

static void a_driver_without_the_function_is_not_asked(void **state)
{
    struct rig *rig = start(0);
    struct vidmm_escape escape = {.was_asked = true};

    rig->ops.has = has_no_escape;
    assert_int_equal(vidmm_escape(rig->vidmm, &escape), STATUS_NOT_SUPPORTED);
    assert_false(escape.was_asked);
    assert_int_equal(seen.calls, 0);
    rig_free(rig);
}

/* The adapter's own; a device's, with its process; a context's. The status is the driver's. */
static void the_driver_gets_handles_of_its_own_and_the_bytes(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig *rig = start(model);
        unsigned char data[24] = {0};
        struct vidmm_escape escape = {.data = data, .bytes = sizeof data - 1};

        assert_int_equal(vidmm_escape(rig->vidmm, &escape), STATUS_SUCCESS);
        assert_true(escape.was_asked);
        assert_null(seen.args.hDevice);
        assert_null(seen.args.hContext);
        assert_null(seen.args.hKmdProcessHandle);
        assert_int_equal(seen.args.Flags.Value, 0);
        assert_ptr_equal(seen.args.pPrivateDriverData, data);
        assert_int_equal(seen.args.PrivateDriverDataSize, sizeof data - 1);
        assert_int_equal(data[sizeof data - 2], 0x5a);
        assert_int_equal(data[sizeof data - 1], 0);

        escape.device = rig->device;
        escape.context = rig->context;
        seen.answer = STATUS_NO_MEMORY;
        assert_int_equal(vidmm_escape(rig->vidmm, &escape), STATUS_NO_MEMORY);
        assert_true(escape.was_asked);
        assert_ptr_equal(seen.args.hDevice, rig->device->driver_device);
        assert_ptr_equal(seen.args.hContext, rig->context->driver_context);
        assert_ptr_equal(seen.args.hKmdProcessHandle, rig->process->space.driver_process);
        assert_int_equal(seen.calls, 2);
        rig_free(rig);
    }
}

/* HardwareAccess comes to an idle GPU alone; other escapes come at any time. */
static void hardware_access_waits_for_an_idle_gpu(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig *rig = start(model);
        struct vidmm_escape escape = {.needs_hardware = true};
        struct rig_done resident = {0};
        struct rig_object object;
        uint64_t value;

        rig_object(rig, 10, 1, &object);
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &object.allocation, rig_done, &resident, &value),
            STATUS_PENDING);
        object.references++;
        assert_int_equal(vidmm_escape(rig->vidmm, &escape), STATUS_DEVICE_BUSY);
        assert_false(escape.was_asked);
        escape.needs_hardware = false;
        assert_int_equal(vidmm_escape(rig->vidmm, &escape), STATUS_SUCCESS);
        rig_drain(rig);
        escape.needs_hardware = true;
        assert_int_equal(vidmm_escape(rig->vidmm, &escape), STATUS_SUCCESS);
        assert_true(seen.args.Flags.HardwareAccess);
        assert_int_equal(seen.calls, 2);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void an_adapter_that_sleeps_is_not_asked(void **state)
{
    struct rig *rig = start(0);
    struct vidmm_escape escape = {.was_asked = true};

    rig->vidmm->power.state = POWER_OFF;
    assert_int_equal(vidmm_escape(rig->vidmm, &escape), STATUS_INVALID_DEVICE_STATE);
    assert_false(escape.was_asked);
    assert_int_equal(seen.calls, 0);
    rig->vidmm->power.state = POWER_ON;
    rig_free(rig);
}

/* ---- Clocks and nodes ------------------------------------------------------------------------ */

static NTSTATUS tell_clock(struct miniport *self, HANDLE object, struct miniport_clock *clock)
{
    (void)self;
    assert_null(object);
    assert_int_equal(clock->EngineOrdinal, 0);
    clock->calibration = (DXGKARG_CALIBRATEGPUCLOCK){
        .GpuFrequency = 100 + clock->NodeOrdinal, .GpuClockCounter = 2, .CpuClockCounter = 3};
    seen.calls++;
    return seen.answer;
}

static NTSTATUS tell_node(struct miniport *self, HANDLE object, struct miniport_node *node)
{
    (void)self;
    assert_null(object);
    node->metadata.EngineType = DXGK_ENGINE_TYPE_COPY;
    node->metadata.FriendlyName[0] = (WCHAR)('0' + node->NodeOrdinalAndAdapterIndex);
    seen.calls++;
    return seen.answer;
}

static bool lacks_both(struct miniport *self, enum miniport_ddi ddi)
{
    return ddi != MINIPORT_DDI_CalibrateGpuClock && ddi != MINIPORT_DDI_GetNodeMetadata &&
           rig_has(self, ddi);
}

static void expect_unasked(struct rig *rig, unsigned node, NTSTATUS expected)
{
    DXGKARG_CALIBRATEGPUCLOCK clock = {.GpuFrequency = 7};
    DXGKARG_GETNODEMETADATA metadata = {.EngineType = DXGK_ENGINE_TYPE_OVERLAY};

    seen.calls = 0;
    assert_int_equal(vidmm_calibrate_clock(rig->vidmm, node, &clock), expected);
    assert_int_equal(vidmm_node_metadata(rig->vidmm, node, &metadata), expected);
    assert_int_equal(seen.calls, 0);
    assert_int_equal(clock.GpuFrequency, 0);
    assert_int_equal(metadata.EngineType, 0);
}

static void a_node_is_asked_what_it_is_and_its_clock(void **state)
{
    struct rig *rig = start(0);
    const unsigned last = vidmm_node_count(rig->vidmm) - 1;
    DXGKARG_CALIBRATEGPUCLOCK clock;
    DXGKARG_GETNODEMETADATA metadata;

    rig->ops.calibrate_gpu_clock = tell_clock;
    rig->ops.get_node_metadata = tell_node;
    assert_int_equal(vidmm_calibrate_clock(rig->vidmm, last, &clock), STATUS_SUCCESS);
    assert_int_equal(clock.GpuFrequency, 100 + last);
    assert_int_equal(clock.GpuClockCounter, 2);
    assert_int_equal(clock.CpuClockCounter, 3);
    assert_int_equal(vidmm_node_metadata(rig->vidmm, last, &metadata), STATUS_SUCCESS);
    assert_int_equal(metadata.EngineType, DXGK_ENGINE_TYPE_COPY);
    assert_int_equal(metadata.FriendlyName[0], '0' + last);
    /* What a driver wrote before it failed is no answer. */
    seen.answer = STATUS_NO_MEMORY;
    assert_int_equal(vidmm_calibrate_clock(rig->vidmm, last, &clock), STATUS_NO_MEMORY);
    assert_int_equal(clock.GpuFrequency, 0);
    assert_int_equal(vidmm_node_metadata(rig->vidmm, last, &metadata), STATUS_NO_MEMORY);
    assert_int_equal(metadata.FriendlyName[0], 0);
    expect_unasked(rig, last + 1, STATUS_INVALID_PARAMETER);
    rig->ops.has = lacks_both;
    expect_unasked(rig, last, STATUS_NOT_SUPPORTED);
    rig->ops.has = rig_has;
    rig->vidmm->caps.interface_version = DXGKDDI_INTERFACE_VERSION_WIN8;
    expect_unasked(rig, last, STATUS_NOT_SUPPORTED);
    rig_free(rig);
}

/* The clock may stand still; what a node is stays. */
static void the_clock_of_an_adapter_that_sleeps_is_not_asked(void **state)
{
    struct rig *rig = start(0);
    DXGKARG_CALIBRATEGPUCLOCK clock;
    DXGKARG_GETNODEMETADATA metadata;

    rig->ops.calibrate_gpu_clock = tell_clock;
    rig->ops.get_node_metadata = tell_node;
    rig->vidmm->power.state = POWER_OFF;
    assert_int_equal(vidmm_calibrate_clock(rig->vidmm, 0, &clock), STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(seen.calls, 0);
    assert_int_equal(vidmm_node_metadata(rig->vidmm, 0, &metadata), STATUS_SUCCESS);
    rig->vidmm->power.state = POWER_EXCLUSIVE; /* nothing at all goes to the driver */
    expect_unasked(rig, 0, STATUS_INVALID_DEVICE_STATE);
    rig->vidmm->power.state = POWER_ON;
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_without_the_function_is_not_asked),
        cmocka_unit_test(the_driver_gets_handles_of_its_own_and_the_bytes),
        cmocka_unit_test(hardware_access_waits_for_an_idle_gpu),
        cmocka_unit_test(an_adapter_that_sleeps_is_not_asked),
        cmocka_unit_test(a_node_is_asked_what_it_is_and_its_clock),
        cmocka_unit_test(the_clock_of_an_adapter_that_sleeps_is_not_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
