/* For what the manager waits, at each stage of its work. */
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include <string.h>

static void a_packet_that_is_not_reported_is_the_drivers(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig *rig = rig_create(&config);
        struct rig_done resident = {0};
        struct rig_object object;
        const char *rule;
        char text[200] = "";
        uint64_t value;

        rig_object(rig, 10, 1, &object);
        assert_null(vidmm_explain_wait(rig->vidmm, text, sizeof text));
        assert_string_equal(text, "nothing of the memory manager is pending");
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &object.allocation, rig_done, &resident, &value),
            STATUS_PENDING);
        rule = vidmm_explain_wait(rig->vidmm, text, sizeof text);
        assert_non_null(rule);
        assert_string_equal(rule, "FENCE-004");
        assert_non_null(strstr(text, "a paging packet, was submitted, and not reported complete"));
        rig_drain(rig);
        assert_int_equal(resident.calls, 1);
        assert_null(vidmm_explain_wait(rig->vidmm, text, sizeof text));
        object.references++;
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_that_is_not_reported_is_the_drivers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
