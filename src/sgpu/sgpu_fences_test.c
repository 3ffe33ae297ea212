/*
 * The fence unit: homes, signals, and what it forgets.
 */
#include "sgpu/test_rig.h"

#include "base/bits.h"

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

struct heard {
    uint64_t address, value;
    unsigned written, passed;
    uint32_t node;
};

static void note_written(void *context, uint32_t node, uint64_t address, uint64_t value)
{
    struct heard *heard = context;

    heard->written++;
    heard->node = node;
    heard->address = address;
    heard->value = value;
}

static void note_passed(void *context, uint32_t node)
{
    struct heard *heard = context;

    assert_int_equal(node, heard->node);
    heard->passed++;
}

/* Of a node's own, and only where the value has passed the one that is waited for. */
static void a_signal_is_told_and_interrupts_when_its_value_has_passed(void **state)
{
    static const struct sgpu_observer observer = {.fence_written = note_written,
                                                  .fence_passed = note_passed};
    const struct sgpu_config config = {.straps = SGPU_STRAP_FENCE_UNIT};
    struct machine_config board = rig_board();
    const uint64_t monitored = UINT64_C(0x500000000);

    for (int more = -1; more <= 1; more++) {
        struct heard heard = {0};
        struct rig rig;

        rig_init_with(&rig, &board, &config);
        sgpu_set_observer(rig.gpu, &observer, &heard);
        page_store_write(rig.local, 0x5000, &monitored, sizeof monitored);
        give_home(&rig, 0, 0x4000, 0x5000);
        signal_fence(&rig, 0, monitored + more);
        rig_execute(&rig, 1);
        assert_int_equal(heard.written, 1);
        assert_int_equal(heard.node, 1);
        assert_int_equal(heard.address, 0x4000);
        assert_true(heard.value == monitored + more);
        assert_true(word_at(&rig, 0x4000) == monitored + more);
        assert_int_equal(heard.passed, more > 0);
        assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS),
                         SGPU_IRQ_COMPLETED(1) | (more > 0 ? SGPU_IRQ_FENCE(1) : 0));
        rig_fini(&rig);
    }
}

/* The value is written before the other word is read. */
static void a_home_that_no_memory_answers_faults_at_the_signal(void **state)
{
    const struct sgpu_config config = {.straps = SGPU_STRAP_FENCE_UNIT};
    struct machine_config board = rig_board();
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    give_home(&rig, 1, 64 * MiB, 0x5000);
    give_home(&rig, 2, 0x4000, 64 * MiB);
    rig_execute(&rig, 0);
    signal_fence(&rig, 1, 7);
    rig_expect_fault(&rig, 0, SGPU_FAULT_BUS, 64 * MiB);
    signal_fence(&rig, 2, 7);
    rig_expect_fault(&rig, 0, SGPU_FAULT_BUS, 64 * MiB);
    assert_int_equal(word_at(&rig, 0x4000), 7);
    rig_fini(&rig);
}

/* Of two fences one keeps its home. */
static void a_fence_is_forgotten_by_its_number(void **state)
{
    const struct sgpu_config config = {.straps = SGPU_STRAP_FENCE_UNIT};
    struct machine_config board = rig_board();
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    give_home(&rig, 0, 0x4000, 0x5000);
    give_home(&rig, 5, 0x6000, 0x7000);
    rig_execute(&rig, 0);
    rig_write(&rig, SGPU_REG_FENCE_FORGET, 4, 0);
    rig_write(&rig, SGPU_REG_FENCE_FORGET, 4, SGPU_FENCES);
    rig_write(&rig, SGPU_REG_FENCE_FORGET, 4, UINT32_MAX);
    signal_fence(&rig, 5, 3);
    rig_execute(&rig, 0);
    assert_int_equal(word_at(&rig, 0x6000), 3);
    signal_fence(&rig, 0, 3);
    rig_expect_fault(&rig, 0, SGPU_FAULT_NO_HOME, 0);
    rig_fini(&rig);
}

/* One field of a lawful packet is changed at a time. */
static void packets_of_the_fence_unit_are_checked_field_by_field(void **state)
{
    const struct sgpu_config config = {.straps = SGPU_STRAP_FENCE_UNIT};
    struct machine_config board = rig_board();
    const struct {
        uint64_t offset, value;
        bool is_fine;
    } homes[] =
        {
            {offsetof(struct sgpu_packet_fence_home, reserved), 1, false},
            {offsetof(struct sgpu_packet_fence_home, current), 0x4004, false},
            {offsetof(struct sgpu_packet_fence_home, monitored), 0x4004, false},
            {offsetof(struct sgpu_packet_fence_home, current), 0x4008, true},
            {offsetof(struct sgpu_packet_fence_home, flags), 1, false},
            {offsetof(struct sgpu_packet_fence_home, header),
             SGPU_PACKET_HEADER(SGPU_OP_FENCE_HOME, sizeof(struct sgpu_packet_fence_home) / 4 + 2),
             false},
        },
      signals[] = {
          {offsetof(struct sgpu_packet_fence_signal, reserved), 1, false},
          {offsetof(struct sgpu_packet_fence_signal, flags), 1, false},
          {offsetof(struct sgpu_packet_fence_signal, fence), 1, true},
          {offsetof(struct sgpu_packet_fence_signal, header),
           SGPU_PACKET_HEADER(SGPU_OP_FENCE_SIGNAL,
                              sizeof(struct sgpu_packet_fence_signal) / 4 + 2),
           false},
      };
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    give_home(&rig, 1, 0x4000, 0x5000);
    rig_execute(&rig, 0);
    for (size_t i = 0; i < ARRAY_COUNT(homes) + ARRAY_COUNT(signals); i++) {
        const bool is_home = i < ARRAY_COUNT(homes);
        const size_t row = is_home ? i : i - ARRAY_COUNT(homes);
        const uint64_t offset = is_home ? homes[row].offset : signals[row].offset;

        if (is_home)
            give_home(&rig, 2, 0x6000, 0x7000);
        else
            signal_fence(&rig, 1, 3);
        page_store_write(rig.ram, rig.command_pa + offset,
                         is_home ? &homes[row].value : &signals[row].value, 4);
        rig_bytes(&rig, (const uint64_t[]){SGPU_PACKET_HEADER(SGPU_OP_NOP, 2)}, 8);
        if (is_home ? homes[row].is_fine : signals[row].is_fine)
            rig_execute(&rig, 0);
        else
            rig_expect_fault(&rig, 0, SGPU_FAULT_PACKET, 0);
    }
    rig_fini(&rig);
}

static void a_forgotten_fence_faults(void **state)
{
    const struct sgpu_config config = {.straps = SGPU_STRAP_FENCE_UNIT};
    struct machine_config board = rig_board();

    for (unsigned way = 0; way < 3; way++) {
        struct rig rig;

        rig_init_with(&rig, &board, &config);
        give_home(&rig, 63, 0x4000, 0x5000);
        rig_execute(&rig, 0);
        if (way == 0)
            rig_write(&rig, SGPU_REG_FENCE_FORGET, 4, 63);
        else if (way == 1)
            rig_write(&rig, SGPU_REG_RESET, 4, SGPU_RESET_KEY);
        else
            sgpu_power_off(rig.gpu, SGPU_SLEEP_D3);
        if (way == 2)
            sgpu_power_on(rig.gpu);
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
        cmocka_unit_test(a_signal_is_told_and_interrupts_when_its_value_has_passed),
        cmocka_unit_test(a_home_that_no_memory_answers_faults_at_the_signal),
        cmocka_unit_test(a_fence_is_forgotten_by_its_number),
        cmocka_unit_test(packets_of_the_fence_unit_are_checked_field_by_field),
        cmocka_unit_test(a_forgotten_fence_faults),
        cmocka_unit_test(a_fence_behind_the_last_is_malformed),
        cmocka_unit_test(boards_without_a_fence_unit_know_no_such_packets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
