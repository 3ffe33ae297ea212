/*
 * The device as a whole: preemption, hangs, lost interrupts, resets, power.
 */
#include "sgpu/test_rig.h"

#define CONTROL(node) (SGPU_REG_NODE(node) + SGPU_NODE_CONTROL)

/* Three fills, one a submission, of pages 1 to 3. */
static void submit_three(struct rig *rig, uint32_t node)
{
    for (uint64_t i = 1; i <= 3; i++) {
        rig_fill(rig, i * PAGE_BYTES, PAGE_BYTES, 7);
        rig_submit(rig, node);
    }
}

static void preemption_lets_the_running_submission_end(void **state)
{
    struct rig rig;

    rig_init(&rig);
    submit_three(&rig, 0);
    rig_write(&rig, CONTROL(0), 4, SGPU_CONTROL_PREEMPT);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS) & SGPU_IRQ_PREEMPTED(0), 0);
    rig_run(&rig);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS),
                     SGPU_IRQ_PREEMPTED(0) | SGPU_IRQ_COMPLETED(0));
    assert_int_equal(rig_completed(&rig, 0), 1);
    assert_int_equal(page_store_kind(rig.local, 1), PAGE_PATTERN);
    assert_int_equal(page_store_kind(rig.local, 2), PAGE_ZERO);
    assert_true(sgpu_is_idle(rig.gpu));
    rig_write(&rig, SGPU_REG_IRQ_STATUS, 4, UINT32_MAX);
    rig_write(&rig, CONTROL(0), 4, SGPU_CONTROL_PREEMPT);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS), SGPU_IRQ_PREEMPTED(0));
    rig_fini(&rig);
}

static void note_dropped(void *context, uint32_t node, uint32_t fence)
{
    uint32_t *fences = context;

    assert_int_equal(node, 0);
    fences[0] = fences[0] * 10 + fence;
}

/* Of three, a preemption takes the two that wait, and a reset the one that runs, too. */
static void what_a_node_drops_is_told(void **state)
{
    static const struct sgpu_observer observer = {.submission_dropped = note_dropped};
    uint32_t fences = 0;
    struct rig rig;

    rig_init(&rig);
    sgpu_set_observer(rig.gpu, &observer, &fences);
    submit_three(&rig, 0);
    rig_write(&rig, CONTROL(0), 4, SGPU_CONTROL_PREEMPT);
    assert_int_equal(fences, 23);
    rig_write(&rig, CONTROL(0), 4, SGPU_CONTROL_RESET);
    assert_int_equal(fences, 231);
    rig_fini(&rig);
}

static void a_hung_node_answers_nothing_until_it_is_reset(void **state)
{
    struct rig rig;

    rig_init(&rig);
    sgpu_hang(rig.gpu, 1, 1);
    submit_three(&rig, 1);
    rig_run(&rig);
    assert_true(sgpu_is_hung(rig.gpu, 1));
    assert_false(sgpu_is_hung(rig.gpu, 0));
    assert_int_equal(rig_completed(&rig, 1), 1);
    assert_int_equal(page_store_kind(rig.local, 2), PAGE_ZERO);
    rig_write(&rig, CONTROL(1), 4, SGPU_CONTROL_PREEMPT);
    rig_run(&rig);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS) & SGPU_IRQ_PREEMPTED(1), 0);
    rig_write(&rig, CONTROL(1), 4, SGPU_CONTROL_RESET);
    assert_false(sgpu_is_hung(rig.gpu, 1));
    rig_fill(&rig, 5 * PAGE_BYTES, PAGE_BYTES, 7);
    rig_execute(&rig, 1);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS) & SGPU_IRQ_PREEMPTED(1), 0);
    assert_int_equal(page_store_kind(rig.local, 5), PAGE_PATTERN);
    rig_fini(&rig);
}

static void a_lost_interrupt_leaves_the_registers_right(void **state)
{
    struct rig rig;

    rig_init(&rig);
    sgpu_lose_interrupt(rig.gpu, 0);
    rig_fill(&rig, PAGE_BYTES, PAGE_BYTES, 7);
    rig_submit(&rig, 0);
    rig_run(&rig);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS), 0);
    assert_int_equal(rig_completed(&rig, 0), 1);
    rig_submit(&rig, 0);
    rig_run(&rig);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS), SGPU_IRQ_COMPLETED(0));
    rig_fini(&rig);
}

static void a_device_reset_loses_local_memory(void **state)
{
    struct rig rig;

    rig_init(&rig);
    rig_fill(&rig, PAGE_BYTES, PAGE_BYTES, 7);
    rig_execute(&rig, 0);
    submit_three(&rig, 1);
    rig_write(&rig, SGPU_REG_RESET, 4, 1);
    assert_false(sgpu_is_idle(rig.gpu));
    rig_write(&rig, SGPU_REG_IRQ_ENABLE, 4, 1);
    rig_write(&rig, SGPU_REG_RESET, 4, SGPU_RESET_KEY);
    assert_true(sgpu_is_idle(rig.gpu));
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_ENABLE), 0);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS), 0);
    assert_true(page_store_is_fill(rig.local, PAGE_BYTES, PAGE_BYTES, SGPU_LOST_PATTERN, NULL));
    rig_fini(&rig);
}

/* What is left of local memory after a sleep. */
static void check_kept(uint32_t straps, enum sgpu_sleep sleep, uint64_t kept_bytes)
{
    struct machine_config board = rig_board();
    const struct sgpu_config config = {.straps = straps, .kept_bytes = 2 * PAGE_BYTES};
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    submit_three(&rig, 0);
    rig_run(&rig);
    sgpu_power_off(rig.gpu, sleep);
    assert_int_equal(rig_read(&rig, SGPU_REG_ID), UINT32_MAX);
    rig_write(&rig, SGPU_REG_IRQ_ENABLE, 4, 1);
    sgpu_power_on(rig.gpu);
    assert_int_equal(rig_read(&rig, SGPU_REG_ID), SGPU_ID);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_ENABLE), 0);
    for (uint64_t page = 1; page <= 3; page++) {
        uint32_t pattern = page * PAGE_BYTES < kept_bytes ? 7 : SGPU_LOST_PATTERN;

        assert_true(page_store_is_fill(rig.local, page * PAGE_BYTES, PAGE_BYTES, pattern, NULL));
    }
    rig_fini(&rig);
}

static void local_memory_outlives_what_the_board_keeps_it_through(void **state)
{
    const uint32_t both = SGPU_STRAP_KEEPS_STANDBY | SGPU_STRAP_KEEPS_HIBERNATE;

    check_kept(0, SGPU_SLEEP_STANDBY, 0);
    check_kept(0, SGPU_SLEEP_D3, 0);
    check_kept(SGPU_STRAP_KEEPS_STANDBY, SGPU_SLEEP_STANDBY, UINT64_MAX);
    check_kept(SGPU_STRAP_KEEPS_STANDBY, SGPU_SLEEP_D3, UINT64_MAX);
    check_kept(SGPU_STRAP_KEEPS_STANDBY, SGPU_SLEEP_HIBERNATE, 0);
    check_kept(both, SGPU_SLEEP_HIBERNATE, 2 * PAGE_BYTES);
}

static void aperture_slots_are_empty_after_a_sleep_wherever_they_were(void **state)
{
    const uint64_t last = 16 * MiB / PAGE_BYTES - 1; /* of the rig's aperture */
    const uint64_t pages[] = {3, 4};
    struct rig rig;

    rig_init(&rig);
    for (unsigned round = 0; round < 2; round++) {
        rig_gart(&rig, SGPU_OP_GART_WRITE, 0, 700, 2, pages);
        rig_gart(&rig, SGPU_OP_GART_FILL, 0, round ? 5 : last - 1, 2, pages);
        rig_execute(&rig, 0);
        assert_int_equal(sgpu_aperture_page(rig.gpu, 701), 4);
        sgpu_power_off(rig.gpu, SGPU_SLEEP_STANDBY);
        sgpu_power_on(rig.gpu);
        for (uint64_t slot = 0; slot <= last; slot++)
            assert_int_equal(sgpu_aperture_page(rig.gpu, slot), SGPU_NO_PAGE);
    }
    rig_fini(&rig);
}

static void count_touch(void *context, uint64_t offset, bool is_write)
{
    unsigned *counts = context;

    assert_int_equal(offset, is_write ? SGPU_REG_IRQ_ENABLE : SGPU_REG_ID);
    counts[is_write]++;
}

static void a_board_that_is_gone_tells_who_touches_it(void **state)
{
    static const struct sgpu_observer observer = {.touched_gone = count_touch};
    unsigned counts[2] = {0};
    struct rig rig;

    rig_init(&rig);
    sgpu_set_observer(rig.gpu, &observer, counts);
    sgpu_power_off(rig.gpu, SGPU_SLEEP_D3);
    rig_read(&rig, SGPU_REG_ID);
    assert_int_equal(counts[0], 0); /* it sleeps, and will be there again */
    sgpu_remove(rig.gpu);
    rig_read(&rig, SGPU_REG_ID);
    rig_write(&rig, SGPU_REG_IRQ_ENABLE, 4, 0);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
    rig_fini(&rig);
}

static void a_board_that_is_gone_reads_as_ones_and_does_nothing(void **state)
{
    struct rig rig;

    rig_init(&rig);
    submit_three(&rig, 0);
    rig_write(&rig, SGPU_REG_IRQ_ENABLE, 4, UINT32_MAX);
    sgpu_remove(rig.gpu);
    rig_run(&rig);
    assert_true(sgpu_is_idle(rig.gpu));
    assert_int_equal(rig_read(&rig, SGPU_REG_ID), UINT32_MAX);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS), UINT32_MAX);
    assert_true(page_store_is_fill(rig.local, PAGE_BYTES, 3 * PAGE_BYTES, SGPU_LOST_PATTERN, NULL));
    rig_fini(&rig);
}

static void a_machine_without_its_board_has_no_registers_and_waits_for_nothing(void **state)
{
    const struct sgpu_config config = {.straps = SGPU_STRAP_DISPLAY};
    const struct machine_config board = rig_board();
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    rig_write(&rig, SGPU_REG_SCAN_CONTROL, 4, SGPU_SCAN_SHOW);
    rig_write(&rig, SGPU_REG_SCAN_NEXT, 8, 0);
    submit_three(&rig, 0);
    sgpu_destroy(rig.gpu);
    assert_null(machine_map_physical(rig.machine, machine_bar0_pa(rig.machine), SGPU_BAR0_BYTES));
    assert_false(machine_run_next(rig.machine));
    machine_destroy(rig.machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(preemption_lets_the_running_submission_end),
        cmocka_unit_test(what_a_node_drops_is_told),
        cmocka_unit_test(a_hung_node_answers_nothing_until_it_is_reset),
        cmocka_unit_test(a_lost_interrupt_leaves_the_registers_right),
        cmocka_unit_test(a_device_reset_loses_local_memory),
        cmocka_unit_test(local_memory_outlives_what_the_board_keeps_it_through),
        cmocka_unit_test(aperture_slots_are_empty_after_a_sleep_wherever_they_were),
        cmocka_unit_test(a_machine_without_its_board_has_no_registers_and_waits_for_nothing),
        cmocka_unit_test(a_board_that_is_gone_tells_who_touches_it),
        cmocka_unit_test(a_board_that_is_gone_reads_as_ones_and_does_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
