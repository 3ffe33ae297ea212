/* Paging fences: values in memory, who waits for them on the CPU and on the GPU. */
#include "vidmm/memory/page_units.h"
#include "vidmm/paging/monitored_fence.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/list.h"

/* The values of the fence come after `first`. */
static void submit_behind_a_page_in(uint64_t first)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig_done resident = {0}, ran = {0};
        struct rig_object object;
        struct rig_object *list[] = {&object};
        struct rig *rig;
        uint64_t fence;

        if (!config.is_virtual)
            continue;
        config.first_paging_fence = first;
        rig = rig_create(&config);
        rig_object(rig, 100, 1, &object);
        rig_map(rig, &object);
        assert_int_equal(vidmm_device_paging_fence(rig->device), first);
        assert_int_equal(vidmm_context_wait_for_paging(rig->context, first + 1),
                         STATUS_INVALID_PARAMETER);
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &object.allocation, rig_done, &resident, &fence),
            STATUS_PENDING);
        assert_int_equal(fence, first + 1);
        assert_int_equal(vidmm_context_wait_for_paging(rig->context, fence), STATUS_SUCCESS);
        object.references++;
        /* Nothing has been paged in: it goes to the GPU all the same, behind the fence. */
        assert_int_equal(rig_gpu_in(rig, rig->context, list, 1, 4, rig_done, &ran), STATUS_SUCCESS);
        assert_true(resident.calls == 0 && ran.calls == 0);
        assert_true(list_is_empty(&rig->queued[0]));
        rig_drain(rig);
        assert_true(resident.calls == 1 && resident.status == STATUS_SUCCESS);
        assert_true(ran.calls == 1 && ran.status == STATUS_SUCCESS);
        assert_int_equal(vidmm_device_paging_fence(rig->device), fence);
        assert_int_equal(rig_count(rig, DXGK_OPERATION_SIGNAL_MONITORED_FENCE), 1);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void submissions_wait_for_the_paging_fence_on_the_gpu(void **state)
{
    submit_behind_a_page_in(0);
}

static void a_paging_fence_may_have_values_of_more_than_32_bits(void **state)
{
    submit_behind_a_page_in(UINT32_MAX);
    submit_behind_a_page_in(UINT64_C(1) << 62);
}

static void a_request_that_fails_passes_its_value_over(void **state)
{
    struct rig_config config = rig_model(2);
    struct rig_done failed = {0}, fine = {0};
    struct rig_object huge, small;
    struct rig *rig;
    uint64_t first, second;

    config.keeps_tables_in_system = true;
    rig = rig_create(&config); /* 256 pages */
    rig_object(rig, 257, 1, &huge);
    rig_object(rig, 10, 1, &small);
    assert_int_equal(
        vidmm_make_resident(rig->device, 1, &huge.allocation, rig_done, &failed, &first),
        STATUS_PENDING);
    rig_drain(rig);
    assert_int_equal(failed.status, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    assert_string_equal(rig->refusal_rule, "RES-003");
    assert_int_equal(vidmm_device_paging_fence(rig->device), first);
    assert_int_equal(
        vidmm_make_resident(rig->device, 1, &small.allocation, rig_done, &fine, &second),
        STATUS_PENDING);
    rig_drain(rig);
    assert_true(second > first && fine.status == STATUS_SUCCESS);
    assert_int_equal(vidmm_device_paging_fence(rig->device), second);
    small.references = 1;
    rig_destroy_object(rig, &huge);
    rig_destroy_object(rig, &small);
    rig_free(rig);
}

/* In every update mode, and where they need several leaves. */
static void the_values_of_all_fences_stand_in_one_block(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        for (unsigned tables = 0; tables <= RIG_TABLES_DUAL; tables++) {
            struct rig_config config = rig_model(model);
            struct rig *rig;

            config.tables = (enum rig_tables)tables;
            if (tables == RIG_TABLES_GROWING && config.mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL)
                continue; /* no root is in local memory there: PT-022 */
            rig = rig_create(&config);
            for (uint64_t i = 0; i < MONITORED_FENCE_PAGES; i++) {
                DXGK_PTE entry = rig_walk(rig, rig->system_context->root,
                                          rig->vidmm->paging.fence_va + PAGE_BYTES_OF(i));

                assert_true(entry.Valid && !entry.Segment);
                assert_int_equal(entry.PageAddress, rig->vidmm->fences.first_page + i);
            }
            rig_free(rig);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_values_of_all_fences_stand_in_one_block),
        cmocka_unit_test(submissions_wait_for_the_paging_fence_on_the_gpu),
        cmocka_unit_test(a_paging_fence_may_have_values_of_more_than_32_bits),
        cmocka_unit_test(a_request_that_fails_passes_its_value_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
