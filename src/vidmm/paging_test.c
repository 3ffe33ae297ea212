/* Paging: allocations move between their segments and the backing store, in every model. */
#include "vidmm/test_rig_run.h"

/* ---- Content ---- */

static void the_first_page_in_is_a_fill(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig *rig = rig_create(&config);
        struct rig_object object;
        bool is_virtual = config.is_virtual;

        rig_object(rig, 70, 1, &object);
        if (is_virtual) {
            rig_map(rig, &object);
            rig_make_resident(rig, &object);
        }
        rig_gpu(rig, &object, 4);
        assert_true(rig_count(rig, is_virtual ? DXGK_OPERATION_VIRTUAL_FILL : DXGK_OPERATION_FILL));
        assert_false(rig_count(rig, DXGK_OPERATION_TRANSFER));
        assert_false(rig_count(rig, DXGK_OPERATION_VIRTUAL_TRANSFER));
        assert_int_equal(vidmm_statistics(rig->vidmm)->filled_bytes, 70 * PAGE_BYTES);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_page_in_is_a_fill),
    };

    return cmocka_run_group_tests_name("vidmm/paging", tests, NULL, NULL);
}
