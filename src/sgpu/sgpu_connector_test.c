/* The connector: what its registers read, and who is told when a monitor comes or goes. */
#include "sgpu/test_rig.h"

#include <string.h>

static void init(struct rig *rig)
{
    const struct sgpu_config config = {0};
    const struct machine_config board = rig_board();

    rig_init_with(rig, &board, &config);
}

static bool take_interrupt(struct rig *rig)
{
    bool is_raised = rig_read(rig, SGPU_REG_IRQ_STATUS) & SGPU_IRQ_CONNECTOR;

    rig_write(rig, SGPU_REG_IRQ_STATUS, 4, SGPU_IRQ_CONNECTOR);
    return is_raised;
}

static void make_edid(uint8_t edid[SGPU_EDID_BYTES], uint8_t first)
{
    for (unsigned i = 0; i < SGPU_EDID_BYTES; i++)
        edid[i] = (uint8_t)(first + i);
}

static void expect_edid(struct rig *rig, const uint8_t *edid)
{
    for (unsigned i = 0; i < SGPU_EDID_BYTES; i += 4) {
        uint32_t word = 0;

        if (edid)
            memcpy(&word, edid + i, 4);
        assert_int_equal(rig_read(rig, SGPU_REG_EDID + i), word);
    }
    assert_int_equal(rig_read(rig, SGPU_REG_EDID + SGPU_EDID_BYTES), 0);
    assert_int_equal(rig_read(rig, SGPU_REG_CONNECTOR), edid ? SGPU_CONNECTED : 0);
}

static void a_monitor_is_told_of_when_it_comes_and_when_it_goes(void **state)
{
    uint8_t first[SGPU_EDID_BYTES], second[SGPU_EDID_BYTES];
    struct rig rig;

    init(&rig);
    make_edid(first, 1);
    make_edid(second, 77);
    expect_edid(&rig, NULL);
    sgpu_plug(rig.gpu, NULL); /* there was none */
    assert_false(take_interrupt(&rig));
    sgpu_plug(rig.gpu, first);
    assert_true(take_interrupt(&rig));
    expect_edid(&rig, first);
    sgpu_plug(rig.gpu, second); /* in the place of the first */
    assert_true(take_interrupt(&rig));
    expect_edid(&rig, second);
    sgpu_plug(rig.gpu, NULL);
    assert_true(take_interrupt(&rig));
    expect_edid(&rig, NULL);
    rig_fini(&rig);
}

static void resets_and_sleeps_leave_it_where_it_is(void **state)
{
    uint8_t edid[SGPU_EDID_BYTES];
    struct rig rig;

    init(&rig);
    make_edid(edid, 5);
    sgpu_plug(rig.gpu, edid);
    assert_true(take_interrupt(&rig));
    rig_write(&rig, SGPU_REG_RESET, 4, SGPU_RESET_KEY);
    expect_edid(&rig, edid);
    sgpu_power_off(rig.gpu, SGPU_SLEEP_STANDBY);
    sgpu_plug(rig.gpu, NULL);
    sgpu_power_on(rig.gpu);
    assert_false(take_interrupt(&rig)); /* it is looked for when the board wakes */
    expect_edid(&rig, NULL);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_monitor_is_told_of_when_it_comes_and_when_it_goes),
        cmocka_unit_test(resets_and_sleeps_leave_it_where_it_is),
    };

    return cmocka_run_group_tests_name("sgpu/connector", tests, NULL, NULL);
}
