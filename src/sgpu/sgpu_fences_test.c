/*
 * The fence unit: homes, signals, and what it forgets.
 */
#include "sgpu/test_rig.h"

static void signal_fence(struct rig *rig, uint32_t fence, uint64_t value)
{
    const struct sgpu_packet_fence_signal signal = {
        .header = SGPU_PACKET_HEADER(SGPU_OP_FENCE_SIGNAL, sizeof signal / 4),
        .fence = fence,
        .value = value,
    };

    rig_bytes(rig, &signal, sizeof signal);
}

static void give_home(struct rig *rig, uint32_t fence, uint64_t current, uint64_t monitored)
{
    const struct sgpu_packet_fence_home home = {
        .header = SGPU_PACKET_HEADER(SGPU_OP_FENCE_HOME, sizeof home / 4),
        .fence = fence,
        .current = current,
        .monitored = monitored,
    };

    rig_bytes(rig, &home, sizeof home);
}

static uint64_t word_at(const struct rig *rig, uint64_t address)
{
    uint64_t word;

    page_store_read(rig->local, address, &word, sizeof word);
    return word;
}

static void a_fence_is_written_at_its_last_home(void **state)
{
    const struct sgpu_config config = {.straps = SGPU_STRAP_FENCE_UNIT};
    struct machine_config board = rig_board();
    const uint64_t monitored = 9;
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    page_store_write(rig.local, 0x5008, &monitored, sizeof monitored);
    give_home(&rig, 3, 0x4008, 0x5008);
    signal_fence(&rig, 3, 9);
    rig_execute(&rig, 0);
    assert_int_equal(word_at(&rig, 0x4008), 9);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS) & SGPU_IRQ_FENCE(0), 0);
    give_home(&rig, 3, 0x6000, 0x5008);
    signal_fence(&rig, 3, 10);
    rig_execute(&rig, 0);
    assert_int_equal(word_at(&rig, 0x4008), 9);
    assert_int_equal(word_at(&rig, 0x6000), 10);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS) & SGPU_IRQ_FENCE(0), SGPU_IRQ_FENCE(0));
    rig_fini(&rig);
}

static void a_forgotten_fence_faults(void **state)
{
    const struct sgpu_config config = {.straps = SGPU_STRAP_FENCE_UNIT};
    struct machine_config board = rig_board();

    for (unsigned is_reset = 0; is_reset < 2; is_reset++) {
        struct rig rig;

        rig_init_with(&rig, &board, &config);
        give_home(&rig, 63, 0x4000, 0x5000);
        rig_execute(&rig, 0);
        if (is_reset)
            rig_write(&rig, SGPU_REG_RESET, 4, SGPU_RESET_KEY);
        else
            rig_write(&rig, SGPU_REG_FENCE_FORGET, 4, 63);
        signal_fence(&rig, 63, 1);
        rig_expect_fault(&rig, 0, SGPU_FAULT_NO_HOME, 63);
        rig_fini(&rig);
    }
}

static void a_fence_behind_the_last_is_malformed(void **state)
{
    const struct sgpu_config config = {.straps = SGPU_STRAP_FENCE_UNIT};
    struct machine_config board = rig_board();
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    give_home(&rig, SGPU_FENCES, 0x4000, 0x5000);
    rig_expect_fault(&rig, 0, SGPU_FAULT_PACKET, 0);
    signal_fence(&rig, SGPU_FENCES, 1);
    rig_expect_fault(&rig, 0, SGPU_FAULT_PACKET, 0);
    rig_fini(&rig);
}

static void boards_without_a_fence_unit_know_no_such_packets(void **state)
{
    struct rig rig;

    rig_init(&rig);
    give_home(&rig, 0, 0x4000, 0x5000);
    rig_expect_fault(&rig, 0, SGPU_FAULT_PACKET, 0);
    signal_fence(&rig, 0, 1);
    rig_expect_fault(&rig, 0, SGPU_FAULT_PACKET, 0);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fence_is_written_at_its_last_home),
        cmocka_unit_test(a_forgotten_fence_faults),
        cmocka_unit_test(a_fence_behind_the_last_is_malformed),
        cmocka_unit_test(boards_without_a_fence_unit_know_no_such_packets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
