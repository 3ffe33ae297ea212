#include "check/rig/test_rig_submit.h"

static const unsigned char data[8];

/* Of the rig's one client. */
static DXGKARG_ESCAPE lawful(const struct rig *rig)
{
    return (DXGKARG_ESCAPE){.hDevice = rig->device,
                            .hContext = rig->context,
                            .hKmdProcessHandle = rig->process,
                            .pPrivateDriverData = (void *)(uintptr_t)data,
                            .PrivateDriverDataSize = sizeof data};
}

static void escape(struct rig *rig, const DXGKARG_ESCAPE *arg)
{
    miniport_escape(rig->top, NULL, arg);
}

RULE_BROKEN(ESC_001)
{
    DXGKARG_ESCAPE arg = lawful(rig);

    arg.hContext = rig->device;
    escape(rig, &arg);
    assert_string_equal(rig->last.text, "is no context of hDevice");
}

RULE_KEPT(ESC_001)
{
    DXGKARG_ESCAPE arg = lawful(rig);

    escape(rig, &arg);
    arg.hContext = NULL;
    escape(rig, &arg);
    arg.hDevice = NULL;
    escape(rig, &arg);
    arg.pPrivateDriverData = NULL;
    arg.PrivateDriverDataSize = 0;
    escape(rig, &arg);
}

static void a_context_goes_with_its_device(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_ESCAPE arg;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    arg = lawful(rig);
    arg.hDevice = NULL;
    escape(rig, &arg);
    rig_expect_only(rig, RULE_ESC_001);
    rig_fini(rig);
    free(rig);
}

static void data_is_where_its_size_says(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_ESCAPE arg;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    arg = lawful(rig);
    arg.pPrivateDriverData = NULL;
    escape(rig, &arg);
    rig_expect_only(rig, RULE_ESC_001);
    assert_string_equal(rig->last.text, "is NULL, and PrivateDriverDataSize is 8");
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(ESC_002)
{
    DXGKARG_ESCAPE arg = lawful(rig);

    rig_render(rig);
    arg.Flags.HardwareAccess = 1;
    escape(rig, &arg);
    assert_string_equal(rig->last.text,
                        "is called while the packet with fence 0x1 of node 1 is under way");
}

RULE_KEPT(ESC_002)
{
    DXGKARG_ESCAPE arg = lawful(rig);

    arg.Flags.HardwareAccess = 1;
    escape(rig, &arg);
    rig_render(rig);
    arg.Flags.HardwareAccess = 0;
    escape(rig, &arg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_goes_with_its_device),
        cmocka_unit_test(data_is_where_its_size_says),
    };

    return RIG_RUN_TESTS(tests);
}
