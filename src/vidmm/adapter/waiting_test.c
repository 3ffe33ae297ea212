/* For what the manager waits, at each stage of its work. */
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidsch/vidsch.h"

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

/* Nothing is with the GPU: the manager itself has not gone on. */
static void what_the_manager_has_not_begun_is_its_own(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig *rig = rig_create(&config);
        struct rig_done resident = {0};
        struct rig_object object;
        char text[200] = "";
        uint64_t value;

        rig_object(rig, 10, 1, &object);
        rig->vidmm->callback_depth++; /* as if the pump never came to run */
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &object.allocation, rig_done, &resident, &value),
            STATUS_PENDING);
        assert_null(vidmm_explain_wait(rig->vidmm, text, sizeof text));
        assert_string_equal(text, "1 residency requests wait for places in memory");
        rig->vidmm->callback_depth--;
        vidmm_forecast_time(rig->vidmm, 0, 0); /* which pumps */
        rig_drain(rig);
        object.references++;
        rig_destroy_object(rig, &object);
        rig_drain(rig);

        rig_object(rig, 10, 1, &object);
        rig->vidmm->callback_depth++;
        vidmm_allocation_destroy(object.allocation);
        assert_null(vidmm_explain_wait(rig->vidmm, text, sizeof text));
        assert_string_equal(text, "1 destroyed allocations have not gone");
        rig->vidmm->callback_depth--;
        vidmm_forecast_time(rig->vidmm, 0, 0);
        rig_drain(rig);
        rig_free(rig);
    }
}

/* A client's packet stays with the scheduler while its context is held. */
static void a_packet_that_is_held_waits_in_its_context(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig *rig = rig_create(&config);
        struct rig_done ran = {0};
        struct rig_object object;
        struct rig_object *objects[] = {&object};
        char text[200] = "";

        rig_object(rig, 10, 1, &object);
        rig_make_resident(rig, &object);
        if (config.is_virtual)
            rig_map(rig, &object);
        rig_drain(rig);
        vidsch_context_hold(rig->context->scheduler);
        assert_int_equal(rig_gpu_in(rig, rig->context, objects, 1, 1, rig_done, &ran),
                         STATUS_SUCCESS);
        assert_int_equal(ran.calls, 0);
        assert_null(vidmm_explain_wait(rig->vidmm, text, sizeof text));
        assert_string_equal(text, "packets wait in their contexts, and none of them is submitted");
        vidsch_context_release(rig->context->scheduler);
        rig_drain(rig);
        assert_int_equal(ran.calls, 1);
        assert_null(vidmm_explain_wait(rig->vidmm, text, sizeof text));
        assert_string_equal(text, "nothing of the memory manager is pending");
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_that_is_not_reported_is_the_drivers),
        cmocka_unit_test(what_the_manager_has_not_begun_is_its_own),
        cmocka_unit_test(a_packet_that_is_held_waits_in_its_context),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
