/* When the driver is asked for debug information, and with what. */
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include <bugcodes.h>
#include <string.h>

#define TIMEOUT_NS 1000u

/* The calls of the driver. */
static struct {
    unsigned calls, resets;
    UINT reason;
    SIZE_T bytes;
    unsigned resets_before; /* the last call */
    bool is_newer;          /* it was CollectDbgInfo2, with: */
    DXGK_TDR_TYPE type;
    UINT payload_bytes;
} seen;

static bool has_no_report(struct miniport *self, enum miniport_ddi ddi)
{
    return ddi != MINIPORT_DDI_CollectDbgInfo && ddi != MINIPORT_DDI_CollectDbgInfo2 &&
           rig_has(self, ddi);
}

static bool has_older_report(struct miniport *self, enum miniport_ddi ddi)
{
    return ddi != MINIPORT_DDI_CollectDbgInfo2 && rig_has(self, ddi);
}

static NTSTATUS hear(struct miniport *self, HANDLE object, const DXGKARG_COLLECTDBGINFO *args)
{
    const unsigned char *byte = args->pBuffer;

    assert_null(object);
    assert_non_null(args->pExtension);
    for (SIZE_T i = 0; i < args->BufferSize; i++)
        assert_int_equal(byte[i], 0);
    if (args->BufferSize)
        memset(args->pBuffer, 0x5a, args->BufferSize);
    seen.calls++;
    seen.reason = args->Reason;
    seen.bytes = args->BufferSize;
    seen.resets_before = seen.resets;
    return STATUS_NO_MEMORY;
}

static NTSTATUS hear_newer(struct miniport *self, HANDLE object, DXGKARG_COLLECTDBGINFO2 *args)
{
    const DXGKARG_COLLECTDBGINFO older = {args->Reason, args->pBuffer, args->BufferSize,
                                          args->pExtension};

    seen.is_newer = true;
    seen.type = args->TdrType;
    seen.payload_bytes = args->TdrPayloadSize;
    assert_int_equal(!args->TdrPayload, !args->TdrPayloadSize);
    return hear(self, object, &older);
}

static NTSTATUS reset(struct miniport *self, HANDLE adapter)
{
    seen.resets++;
    return STATUS_SUCCESS;
}

static NTSTATUS restart(struct miniport *self, HANDLE adapter)
{
    return STATUS_SUCCESS;
}

static struct rig *start(void)
{
    struct rig_config config = rig_model(0);
    struct rig *rig = rig_new(&config);

    memset(&seen, 0, sizeof seen);
    rig->manager.timeout_ns = TIMEOUT_NS;
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    rig->ops.has = has_older_report;
    rig->ops.collect_dbg_info = hear;
    rig->ops.collect_dbg_info2 = hear_newer;
    rig->ops.reset_from_timeout = reset;
    rig->ops.restart_from_timeout = restart;
    return rig;
}

static void a_driver_without_the_function_is_not_asked(void **state)
{
    struct rig *rig = start();

    rig->ops.has = has_no_report;
    assert_int_equal(vidmm_collect_debug_info(rig->vidmm, VIDEO_TDR_TIMEOUT_DETECTED, NULL, 0),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(seen.calls, 0);
    rig_free(rig);
}

static void the_answer_is_the_drivers(void **state)
{
    struct rig *rig = start();
    unsigned char bytes[40];

    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(vidmm_collect_debug_info(rig->vidmm, VIDEO_ENGINE_TIMEOUT_DETECTED, bytes,
                                              sizeof bytes - 1),
                     STATUS_NO_MEMORY);
    assert_int_equal(seen.reason, VIDEO_ENGINE_TIMEOUT_DETECTED);
    assert_int_equal(seen.bytes, sizeof bytes - 1);
    assert_int_equal(bytes[sizeof bytes - 2], 0x5a);
    assert_int_equal(bytes[sizeof bytes - 1], 0xff);
    rig_free(rig);
}

static void nobody_asks_while_the_power_is_off(void **state)
{
    struct rig *rig = start();

    rig->vidmm->power.state = POWER_OFF;
    assert_int_equal(vidmm_collect_debug_info(rig->vidmm, VIDEO_TDR_TIMEOUT_DETECTED, NULL, 0),
                     STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(seen.calls, 0);
    rig->vidmm->power.state = POWER_ON;
    rig_free(rig);
}

/* TDR-017: no engine was reset alone before WDDM 1.2. */
static void older_drivers_are_asked_for_the_adapter_alone(void **state)
{
    struct rig *rig = start();

    rig->vidmm->caps.interface_version = DXGKDDI_INTERFACE_VERSION_WIN7;
    assert_int_equal(vidmm_collect_debug_info(rig->vidmm, VIDEO_ENGINE_TIMEOUT_DETECTED, NULL, 0),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(seen.calls, 0);
    vidmm_collect_debug_info(rig->vidmm, VIDEO_TDR_TIMEOUT_DETECTED, NULL, 0);
    assert_int_equal(seen.calls, 1);
    rig_free(rig);
}

static void a_driver_with_the_newer_function_is_asked_by_that(void **state)
{
    struct rig *rig = start();
    unsigned char bytes[8];

    vidmm_collect_debug_info(rig->vidmm, VIDEO_TDR_TIMEOUT_DETECTED, bytes, sizeof bytes);
    assert_false(seen.is_newer);
    rig->ops.has = rig_has;
    assert_int_equal(
        vidmm_collect_debug_info(rig->vidmm, VIDEO_TDR_TIMEOUT_DETECTED, bytes, sizeof bytes),
        STATUS_NO_MEMORY);
    assert_true(seen.is_newer);
    assert_int_equal(seen.calls, 2);
    assert_int_equal(seen.bytes, sizeof bytes);
    assert_int_equal(seen.type, DXGK_TDR_TYPE_FORCED);
    assert_int_equal(seen.payload_bytes, 0);
    vidmm_collect_debug_info(rig->vidmm, VIDEO_ENGINE_TIMEOUT_DETECTED, bytes, sizeof bytes);
    assert_int_equal(seen.type, DXGK_TDR_TYPE_ENGINE_TIMEOUT);
    assert_int_equal(seen.payload_bytes, 0); /* no engine has timed out */
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_without_the_function_is_not_asked),
        cmocka_unit_test(the_answer_is_the_drivers),
        cmocka_unit_test(a_driver_with_the_newer_function_is_asked_by_that),
        cmocka_unit_test(older_drivers_are_asked_for_the_adapter_alone),
        cmocka_unit_test(nobody_asks_while_the_power_is_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
