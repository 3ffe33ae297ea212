/* What the user-mode driver tells its other half of a submission (vidmm_submit_virtual_with()). */
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include <string.h>

enum { DATA_BYTES = 32 };

static struct {
    unsigned submissions, with_data;
    uint32_t bytes;
    uint8_t data[DATA_BYTES];
} seen;

/* The rig has work by program number; this work is none, and is handed on as if it were a present.
 */
static NTSTATUS submit(struct miniport *self, HANDLE object,
                       const DXGKARG_SUBMITCOMMANDVIRTUAL *arguments)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL copy = *arguments;

    if (arguments->Flags.Paging || arguments->Flags.ContextSwitch)
        return rig_submit_virtual(self, object, arguments);
    seen.submissions++;
    seen.bytes = arguments->DmaBufferPrivateDataSize;
    assert_int_equal(arguments->DmaBufferUmdPrivateDataSize, seen.bytes); /* all of it is its */
    if (arguments->pDmaBufferPrivateData) {
        seen.with_data++;
        memcpy(seen.data, arguments->pDmaBufferPrivateData, seen.bytes);
    }
    copy.Flags.Present = 1;
    return rig_submit_virtual(self, object, &copy);
}

static struct rig *start(unsigned model, struct rig_object *object)
{
    struct rig_config config = rig_model(model);
    struct rig *rig;

    config.private_bytes = DATA_BYTES;
    rig = rig_create(&config);
    rig->ops.submit_command_virtual = submit;
    memset(&seen, 0, sizeof seen);
    rig_object(rig, 4, 1, object);
    rig_make_resident(rig, object);
    rig_map(rig, object);
    return rig;
}

static unsigned first_virtual(void)
{
    unsigned model = 0;

    while (!rig_model(model).is_virtual)
        model++;
    return model;
}

static void data_reaches_the_driver_as_it_was_at_the_call(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        uint8_t data[DATA_BYTES] = "as it was";
        struct vidmm_virtual_work work = {
            .bytes = 64, .private_data = data, .private_data_bytes = sizeof data};
        struct rig_object object;
        struct rig_done done = {0};
        struct rig *rig;

        if (!rig_model(model).is_virtual)
            continue;
        rig = start(model, &object);
        work.va = object.va;
        assert_int_equal(vidmm_submit_virtual_with(rig->context, &work, rig_done, &done),
                         STATUS_SUCCESS);
        memset(data, 0, sizeof data);
        rig_drain(rig);
        assert_int_equal(done.calls, 1);
        assert_int_equal(done.status, STATUS_SUCCESS);
        assert_int_equal(seen.bytes, DATA_BYTES);
        assert_string_equal((const char *)seen.data, "as it was");
        work.private_data = NULL;
        work.private_data_bytes = 0;
        assert_int_equal(vidmm_submit_virtual_with(rig->context, &work, rig_done, &done),
                         STATUS_SUCCESS);
        rig_drain(rig);
        assert_int_equal(seen.submissions, 2);
        assert_int_equal(seen.with_data, 1);
        assert_int_equal(seen.bytes, 0);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void more_than_the_driver_has_declared_is_refused(void **state)
{
    const uint8_t data[DATA_BYTES + 1] = {0};
    struct vidmm_virtual_work work = {
        .bytes = 64, .private_data = data, .private_data_bytes = sizeof data};
    struct rig_done done = {0};
    struct rig_object object;
    struct rig *rig = start(first_virtual(), &object);

    work.va = object.va;
    assert_int_equal(vidmm_submit_virtual_with(rig->context, &work, rig_done, &done),
                     STATUS_INVALID_PARAMETER);
    rig_drain(rig);
    assert_int_equal(done.calls, 0);
    assert_int_equal(seen.submissions, 0);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_reaches_the_driver_as_it_was_at_the_call),
        cmocka_unit_test(more_than_the_driver_has_declared_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
