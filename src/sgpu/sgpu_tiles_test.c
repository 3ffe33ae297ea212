/*
 * Tiles: copies, renders and ranges of BAR 1 that change the order of pages.
 */
#include "sgpu/test_rig.h"

#define TAG 500

/* Five pages, amid a tile: linear pages 2..6 of a surface at 0x10000. */
static void copies_between_tiles_and_lists_change_the_order(void **state)
{
    static const uint64_t list[] = {30, 31, 40, 41, 50};
    static const uint64_t there[] = {0x11000, 0x13000, 0x14000, 0x16000, 0x15000};
    static const uint64_t back[] = {60, 61, 62, 63, 64};
    struct rig rig;

    rig_init(&rig);
    for (unsigned i = 0; i < 5; i++)
        page_store_write_tag(rig.ram, list[i] * PAGE_BYTES, PAGE_BYTES, TAG + i);
    rig_copy_pages(&rig, SGPU_COPY_TILED, 0x12000, list, 5);
    rig_copy_pages(&rig, SGPU_COPY_TILED | SGPU_COPY_TO_PAGES, 0x12000, back, 5);
    rig_execute(&rig, SGPU_NODE_COPY);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(page_store_is_tag(rig.local, there[i], PAGE_BYTES, TAG + i, NULL));
        assert_true(page_store_is_tag(rig.ram, back[i] * PAGE_BYTES, PAGE_BYTES, TAG + i, NULL));
    }
    rig_fini(&rig);
}

static void a_tiled_reference_is_to_the_linear_surface(void **state)
{
    const struct sgpu_render_ref ref = {.address = 0x10800,
                                        .bytes = 3 * PAGE_BYTES,
                                        .key = TAG,
                                        .flags = SGPU_REF_WRITE | SGPU_REF_TILED};
    struct rig rig;

    rig_init(&rig);
    rig_render(&rig, 1, 1000, &ref, 1);
    rig_execute(&rig, SGPU_NODE_RENDER);
    assert_true(page_store_is_tag(rig.local, 0x10800, 0x800, TAG, NULL));
    assert_true(page_store_is_tag(rig.local, 0x12000, PAGE_BYTES, TAG + 1, NULL));
    assert_true(page_store_is_tag(rig.local, 0x11000, PAGE_BYTES, TAG + 2, NULL));
    assert_true(page_store_is_tag(rig.local, 0x13000, 0x800, TAG + 3, NULL));
    rig_fini(&rig);
}

static void pages_are_copied_into_rows_and_back(void **state)
{
    static const uint64_t list[] = {7, 3, 9, 4, 5};
    static const uint64_t back[] = {20, 31, 22, 33, 24};
    /* From the second page of a row on; page 3 of each four is between rows. */
    static const uint64_t there[] = {0x11000, 0x12000, 0x14000, 0x15000, 0x16000};
    struct rig rig;

    rig_init(&rig);
    for (unsigned i = 0; i < 5; i++)
        page_store_write_tag(rig.ram, list[i] * PAGE_BYTES, PAGE_BYTES, TAG + i);
    rig_copy_pages(&rig, 0, SGPU_PA_PITCHED | 0x11000, list, 5);
    rig_copy_pages(&rig, SGPU_COPY_TO_PAGES, SGPU_PA_PITCHED | 0x11000, back, 5);
    rig_execute(&rig, SGPU_NODE_COPY);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(page_store_is_tag(rig.local, there[i], PAGE_BYTES, TAG + i, NULL));
        assert_true(page_store_is_tag(rig.ram, back[i] * PAGE_BYTES, PAGE_BYTES, TAG + i, NULL));
    }
    assert_int_equal(page_store_kind(rig.local, 0x13), PAGE_ZERO);
    rig_fini(&rig);
}

/* The pages that follow the last one stand behind its list, where the packet before had them. */
static void a_list_of_pages_ends_with_its_count(void **state)
{
    static const uint64_t before[] = {30, 40, 21, 22}, list[] = {10, 20};
    struct rig rig;

    rig_init(&rig);
    for (unsigned i = 0; i < 4; i++)
        page_store_write_tag(rig.local, 0x14000 + i * PAGE_BYTES, PAGE_BYTES, TAG + i);
    rig_copy_pages(&rig, 0, 0x80000, before, 4);
    rig_copy_pages(&rig, SGPU_COPY_TO_PAGES, SGPU_PA_PITCHED | 0x12000, list, 2);
    rig_execute(&rig, SGPU_NODE_COPY);
    assert_true(page_store_is_tag(rig.ram, 20 * PAGE_BYTES, PAGE_BYTES, TAG, NULL));
    assert_int_equal(page_store_kind(rig.ram, 21), PAGE_ZERO);
    assert_int_equal(page_store_kind(rig.ram, 22), PAGE_ZERO);
    rig_fini(&rig);
}

static void a_reference_with_a_pitch_goes_from_row_to_row(void **state)
{
    const struct sgpu_render_ref ref = {.address = SGPU_PA_PITCHED | 0x11800,
                                        .bytes = 3 * PAGE_BYTES,
                                        .key = TAG,
                                        .flags = SGPU_REF_WRITE};
    struct rig rig;

    rig_init(&rig);
    rig_render(&rig, 1, 1000, &ref, 1);
    rig_execute(&rig, SGPU_NODE_RENDER);
    assert_true(page_store_is_tag(rig.local, 0x11800, 0x800, TAG, NULL));
    assert_true(page_store_is_tag(rig.local, 0x12000, PAGE_BYTES, TAG + 1, NULL));
    assert_int_equal(page_store_kind(rig.local, 0x13), PAGE_ZERO);
    assert_true(page_store_is_tag(rig.local, 0x14000, PAGE_BYTES, TAG + 2, NULL));
    assert_true(page_store_is_tag(rig.local, 0x15000, 0x800, TAG + 3, NULL));
    rig_fini(&rig);
}

/* Where the CPU finds a byte of BAR 1. */
static uint64_t local_address(const struct rig *rig, uint64_t offset)
{
    struct machine_target target;

    assert_true(machine_bus_find(rig->machine, machine_bar1_pa(rig->machine) + offset, 1, &target));
    assert_int_equal(target.kind, MACHINE_LOCAL);
    return target.address;
}

static void a_range_shows_tiles_in_linear_order(void **state)
{
    struct machine_target target;
    struct rig rig;
    uint64_t pa;

    rig_init(&rig);
    pa = machine_bar1_pa(rig.machine);
    rig_write(&rig, SGPU_REG_RANGE_FIRST(1), 4, 0x10);
    rig_write(&rig, SGPU_REG_RANGE_END(1), 4, 0x15);
    assert_int_equal(local_address(&rig, 0x15000), 0x15000); /* it ends in front of this page */
    assert_int_equal(local_address(&rig, 0x16000), 0x16000);
    rig_write(&rig, SGPU_REG_RANGE_END(1), 4, 0x11);
    assert_int_equal(local_address(&rig, 0x11123), 0x11123); /* ... of the tile's second one */
    rig_write(&rig, SGPU_REG_RANGE_END(1), 4, 0x14);
    assert_int_equal(local_address(&rig, 0xf123), 0xf123);
    assert_int_equal(local_address(&rig, 0x10123), 0x10123);
    assert_int_equal(local_address(&rig, 0x11123), 0x12123);
    assert_int_equal(local_address(&rig, 0x12fff), 0x11fff);
    assert_int_equal(local_address(&rig, 0x15000), 0x15000);
    assert_false(machine_bus_find(rig.machine, pa + 0x10000, 2 * PAGE_BYTES, &target));
    assert_true(machine_bus_find(rig.machine, pa + 0x14000, 2 * PAGE_BYTES, &target));
    /* A reset leaves it, the loss of power does not; the other range is another one. */
    rig_write(&rig, SGPU_REG_RESET, 4, SGPU_RESET_KEY);
    rig_write(&rig, SGPU_REG_RANGE_END(0), 4, 0);
    assert_int_equal(local_address(&rig, 0x11000), 0x12000);
    sgpu_power_off(rig.gpu, SGPU_SLEEP_STANDBY);
    sgpu_power_on(rig.gpu);
    assert_int_equal(local_address(&rig, 0x11000), 0x11000);
    rig_fini(&rig);
}

/* A window that is shown page by page stays so: ranges are for the linear one. */
static void a_range_changes_nothing_of_a_window_of_pages(void **state)
{
    struct machine_config board = rig_board();
    struct sgpu_config config = {.straps = SGPU_STRAP_HOST_APERTURE};
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    rig_write(&rig, SGPU_REG_WINDOW_SLOT, 4, 0x11);
    rig_write(&rig, SGPU_REG_WINDOW_PAGE, 4, 0x333);
    assert_int_equal(local_address(&rig, 0x11123), 0x333123);
    rig_write(&rig, SGPU_REG_RANGE_FIRST(1), 4, 0x10);
    rig_write(&rig, SGPU_REG_RANGE_END(1), 4, 0x14);
    assert_int_equal(local_address(&rig, 0x11123), 0x333123);
    rig_write(&rig, SGPU_REG_RANGE_END(1), 4, 0);
    assert_int_equal(local_address(&rig, 0x11123), 0x333123);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_between_tiles_and_lists_change_the_order),
        cmocka_unit_test(a_tiled_reference_is_to_the_linear_surface),
        cmocka_unit_test(pages_are_copied_into_rows_and_back),
        cmocka_unit_test(a_list_of_pages_ends_with_its_count),
        cmocka_unit_test(a_reference_with_a_pitch_goes_from_row_to_row),
        cmocka_unit_test(a_range_shows_tiles_in_linear_order),
        cmocka_unit_test(a_range_changes_nothing_of_a_window_of_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
