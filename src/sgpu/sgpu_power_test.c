/* Power of the nodes, which are switched off one by one. */
#include "sgpu/test_rig.h"

#define POWER(node) (SGPU_REG_NODE(node) + SGPU_NODE_POWER)

static unsigned lost_writes;
static uint64_t lost_offset;

static void count_lost(void *context, uint32_t node, uint64_t offset)
{
    assert_int_equal(node, 1);
    lost_writes++;
    lost_offset = offset;
}

static void init(struct rig *rig, uint32_t straps)
{
    static const struct sgpu_observer observer = {.touched_off = count_lost};
    const struct sgpu_config config = {.straps = straps};
    const struct machine_config board = rig_board();

    lost_writes = 0;
    rig_init_with(rig, &board, &config);
    sgpu_set_observer(rig->gpu, &observer, NULL);
}

static void fill(struct rig *rig, uint32_t node, uint32_t pattern)
{
    rig_fill(rig, 0, PAGE_BYTES, pattern);
    rig_submit(rig, node);
    rig_run(rig);
}

static uint32_t word_of_memory(struct rig *rig)
{
    uint32_t word = 0;

    page_store_read(rig->local, 0, &word, sizeof word);
    return word;
}

static void a_node_that_is_off_does_nothing(void **state)
{
    struct rig rig;

    init(&rig, SGPU_STRAP_POWER);
    fill(&rig, 1, 0x11111111);
    rig_write(&rig, POWER(1), 4, 2);
    assert_int_equal(rig_read(&rig, POWER(1)), 2);
    fill(&rig, 1, 0x22222222);
    assert_int_equal(word_of_memory(&rig), 0x11111111);
    assert_true(lost_writes > 1);
    assert_int_equal(lost_offset, SGPU_NODE_DOORBELL);
    fill(&rig, 0, 0x33333333); /* the other node is on */
    assert_int_equal(word_of_memory(&rig), 0x33333333);
    rig_write(&rig, POWER(1), 4, 0);
    fill(&rig, 1, 0x44444444);
    assert_int_equal(word_of_memory(&rig), 0x44444444);
    rig_fini(&rig);
}

static void without_the_strap_nodes_are_always_on(void **state)
{
    struct rig rig;

    init(&rig, 0);
    rig_write(&rig, POWER(1), 4, 1);
    assert_int_equal(rig_read(&rig, POWER(1)), 0);
    fill(&rig, 1, 0x11111111);
    assert_int_equal(word_of_memory(&rig), 0x11111111);
    assert_int_equal(lost_writes, 0);
    rig_fini(&rig);
}

static void a_slow_switch_tells_its_end(void **state)
{
    struct rig rig;

    init(&rig, SGPU_STRAP_POWER | SGPU_STRAP_SLOW_POWER);
    for (uint32_t power = 2; power-- > 0;) {
        const uint64_t begin = machine_now(rig.machine);

        rig_write(&rig, POWER(1), 4, power);
        assert_int_equal(rig_read(&rig, POWER(1)), SGPU_POWER_CHANGES);
        assert_false(rig_read(&rig, SGPU_REG_IRQ_STATUS) & SGPU_IRQ_POWER);
        rig_run(&rig);
        assert_in_range(machine_now(rig.machine) - begin, SGPU_POWER_NS, 2 * SGPU_POWER_NS);
        assert_true(rig_read(&rig, SGPU_REG_IRQ_STATUS) & SGPU_IRQ_POWER);
        assert_int_equal(rig_read(&rig, POWER(1)), power);
        rig_write(&rig, SGPU_REG_IRQ_STATUS, 4, SGPU_IRQ_POWER);
    }
    fill(&rig, 1, 0x11111111);
    assert_int_equal(word_of_memory(&rig), 0x11111111);
    rig_fini(&rig);
}

static void a_reset_of_the_device_switches_all_nodes_on(void **state)
{
    struct rig rig;

    init(&rig, SGPU_STRAP_POWER | SGPU_STRAP_SLOW_POWER);
    rig_write(&rig, POWER(1), 4, 1);
    rig_write(&rig, SGPU_REG_RESET, 4, SGPU_RESET_KEY);
    assert_int_equal(rig_read(&rig, POWER(1)), 0);
    rig_run(&rig);
    assert_false(rig_read(&rig, SGPU_REG_IRQ_STATUS) & SGPU_IRQ_POWER);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_is_off_does_nothing),
        cmocka_unit_test(without_the_strap_nodes_are_always_on),
        cmocka_unit_test(a_slow_switch_tells_its_end),
        cmocka_unit_test(a_reset_of_the_device_switches_all_nodes_on),
    };

    return cmocka_run_group_tests_name("sgpu/power", tests, NULL, NULL);
}
