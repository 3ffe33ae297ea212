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

/* What it had still to do is done at once, when it goes on. */
static void a_node_that_hangs_for_a_while_ends_its_submission_at_once(void **state)
{
    struct rig rig;

    for (unsigned for_ever = 0; for_ever < 2; for_ever++) {
        rig_init(&rig);
        if (for_ever)
            sgpu_hang(rig.gpu, 1, 2);
        else
            sgpu_hang_for_a_while(rig.gpu, 1, 2);
        for (uint64_t i = 1; i <= 4; i++)
            rig_fill(&rig, i * PAGE_BYTES, PAGE_BYTES, 7);
        rig_submit(&rig, 1);
        rig_fill(&rig, 5 * PAGE_BYTES, PAGE_BYTES, 7);
        rig_submit(&rig, 1);
        sgpu_end_hang(rig.gpu, 1); /* it does not hang yet */
        rig_run(&rig);
        assert_true(sgpu_is_hung(rig.gpu, 1));
        assert_int_equal(page_store_kind(rig.local, 2), PAGE_PATTERN);
        assert_int_equal(page_store_kind(rig.local, 3), PAGE_ZERO);
        sgpu_end_hang(rig.gpu, 0);
        sgpu_end_hang(rig.gpu, 17);
        assert_false(sgpu_is_hung(rig.gpu, 17));
        assert_true(sgpu_is_hung(rig.gpu, 1));
        sgpu_end_hang(rig.gpu, 1);
        assert_int_equal(sgpu_is_hung(rig.gpu, 1), for_ever);
        assert_int_equal(rig_completed(&rig, 1), for_ever ? 0 : 1);
        assert_int_equal(page_store_kind(rig.local, 4), for_ever ? PAGE_ZERO : PAGE_PATTERN);
        assert_int_equal(page_store_kind(rig.local, 5), PAGE_ZERO); /* it takes its time again */
        rig_run(&rig);
        assert_int_equal(rig_completed(&rig, 1), for_ever ? 0 : 2);
        assert_int_equal(page_store_kind(rig.local, 5), for_ever ? PAGE_ZERO : PAGE_PATTERN);
        rig_fini(&rig);
    }
}

static void a_node_that_goes_on_after_a_hang_may_fault(void **state)
{
    struct rig rig;

    rig_init(&rig);
    sgpu_hang_for_a_while(rig.gpu, 1, 0);
    rig_fill(&rig, PAGE_BYTES, PAGE_BYTES, 7);
    rig_fill(&rig, 64 * MiB, PAGE_BYTES, 7);
    rig_submit(&rig, 1);
    rig_run(&rig);
    sgpu_end_hang(rig.gpu, 1);
    assert_int_equal(page_store_kind(rig.local, 1), PAGE_PATTERN);
    rig_expect_fault_at(&rig, 1, rig.fence, SGPU_FAULT_BUS, 64 * MiB);
    rig_fini(&rig);
}

/* A hang that has not come yet goes with a reset, too. */
static void a_reset_heals_a_hang_that_is_to_come(void **state)
{
    struct rig rig;

    rig_init(&rig);
    sgpu_hang(rig.gpu, 1, 1);
    rig_write(&rig, CONTROL(1), 4, SGPU_CONTROL_RESET);
    submit_three(&rig, 1);
    rig_expect_done(&rig, 1, 3);
    rig_fini(&rig);
}

/* Of a preemption, too; a reset of the device does away with the loss, one of the node does not. */
static void one_interrupt_is_lost_and_no_other(void **state)
{
    struct rig rig;

    rig_init(&rig);
    sgpu_lose_interrupt(rig.gpu, 1);
    rig_execute(&rig, 0); /* of another node */
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS), SGPU_IRQ_COMPLETED(0));
    rig_write(&rig, CONTROL(1), 4, SGPU_CONTROL_RESET);
    rig_write(&rig, CONTROL(1), 4, SGPU_CONTROL_PREEMPT);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS), SGPU_IRQ_COMPLETED(0));
    rig_write(&rig, CONTROL(1), 4, SGPU_CONTROL_PREEMPT);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS),
                     SGPU_IRQ_COMPLETED(0) | SGPU_IRQ_PREEMPTED(1));
    sgpu_lose_interrupt(rig.gpu, 1);
    rig_write(&rig, SGPU_REG_RESET, 4, SGPU_RESET_KEY);
    rig_execute(&rig, 1);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS), SGPU_IRQ_COMPLETED(1));
    rig_fini(&rig);
}

/* A doorbell that is rung during a preemption is of what comes after it. */
static void what_is_queued_during_a_preemption_runs_behind_it(void **state)
{
    struct rig rig;

    rig_init(&rig);
    submit_three(&rig, 0);
    rig_write(&rig, CONTROL(0), 4, SGPU_CONTROL_PREEMPT);
    rig_fill(&rig, 8 * PAGE_BYTES, PAGE_BYTES, 7);
    rig_submit(&rig, 0); /* fence 4 */
    while (!(rig_read(&rig, SGPU_REG_IRQ_STATUS) & SGPU_IRQ_PREEMPTED(0)))
        assert_true(machine_run_next(rig.machine));
    assert_int_equal(rig_completed(&rig, 0), 1);
    rig_expect_done(&rig, 0, 4);
    assert_int_equal(page_store_kind(rig.local, 2), PAGE_ZERO);
    assert_int_equal(page_store_kind(rig.local, 8), PAGE_PATTERN);
    rig_fini(&rig);
}

/* The queue of a node that has stopped is dropped but for the submission that faulted. */
static void a_preemption_of_a_stopped_node_is_never_done(void **state)
{
    struct rig rig;

    rig_init(&rig);
    rig_fill(&rig, 64 * MiB, PAGE_BYTES, 7);
    rig_submit(&rig, 0);
    submit_three(&rig, 0);
    rig_run(&rig);
    assert_int_equal(rig_read(&rig, SGPU_REG_NODE(0) + SGPU_NODE_FREE), SGPU_QUEUE_SLOTS - 4);
    rig_write(&rig, CONTROL(0), 4, SGPU_CONTROL_PREEMPT);
    rig_run(&rig);
    assert_int_equal(rig_read(&rig, SGPU_REG_NODE(0) + SGPU_NODE_FREE), SGPU_QUEUE_SLOTS - 1);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS), SGPU_IRQ_FAULTED(0));
    rig_write(&rig, CONTROL(0), 4, SGPU_CONTROL_RESET | SGPU_CONTROL_PREEMPT);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS), SGPU_IRQ_FAULTED(0));
    assert_int_equal(rig_read(&rig, SGPU_REG_NODE(0) + SGPU_NODE_QUEUED), 0);
    assert_int_equal(rig_read(&rig, SGPU_REG_NODE(0) + SGPU_NODE_FAULT_FENCE), 0);
    assert_int_equal(rig_read(&rig, SGPU_REG_NODE(0) + SGPU_NODE_FAULT_VA), 0);
    rig_execute(&rig, 0);
    rig_fini(&rig);
}

struct faults {
    struct sgpu_fault last;
    unsigned count;
};

static void note_fault(void *context, const struct sgpu_fault *fault)
{
    struct faults *faults = context;

    faults->last = *fault;
    faults->count++;
}

static void a_fault_is_told_with_its_packet(void **state)
{
    static const struct sgpu_observer observer = {.fault = note_fault};
    const struct sgpu_render_ref ref = {.address = 64 * MiB, .bytes = 8, .flags = SGPU_REF_WRITE};
    struct faults faults = {0};
    struct sgpu_statistics statistics;
    struct rig rig;

    rig_init(&rig);
    sgpu_set_observer(rig.gpu, &observer, &faults);
    rig_render(&rig, 77, 100, NULL, 0);
    rig_fill(&rig, 64 * MiB, 16, 7); /* shorter than what a token stands in */
    rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, 64 * MiB);
    assert_int_equal(faults.last.node, 1);
    assert_int_equal(faults.last.fence, 1);
    assert_int_equal(faults.last.kind, SGPU_FAULT_BUS);
    assert_int_equal(faults.last.address, 64 * MiB);
    assert_int_equal(faults.last.packet_offset, sizeof(struct sgpu_packet_render));
    assert_int_equal(faults.last.packet_bytes, sizeof(struct sgpu_packet_fill));
    assert_int_equal(faults.last.token, 0);
    rig_copy(&rig, 0, 64 * MiB, 77, 8);
    rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, 64 * MiB);
    assert_int_equal(faults.last.token, 0);
    rig_fill(&rig, 0, 16, 7);
    rig_render(&rig, 78, 100, &ref, 1);
    rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, 64 * MiB);
    assert_int_equal(faults.last.token, 78);
    assert_int_equal(faults.last.packet_bytes, sizeof(struct sgpu_packet_render) + sizeof ref);
    assert_int_equal(faults.count, 3);
    sgpu_get_statistics(rig.gpu, &statistics);
    assert_int_equal(statistics.faults, 3);
    rig_fini(&rig);
}

static uint64_t read_8(struct rig *rig, uint64_t offset)
{
    return machine_read_register(rig->machine, rig->bar0 + offset, 8);
}

static void registers_tell_how_the_board_was_built(void **state)
{
    struct machine_config board = rig_board();
    const struct sgpu_config config = {
        .index_bits = {9, 8, 7, 6, 6},
        .node_count = 4,
        .kept_bytes = 0x3000,
        .dead_offset = 0x5000,
        .dead_bytes = 0x2000,
        .traits = 0x81,
        .protected_offset = 0x10000,
        .protected_bytes = 0x11000,
        .picture_offset = 0x20000,
        .picture_bytes = 0x21000,
    };
    const struct sgpu_config other = {.kept_bytes = 65 * MiB};
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    assert_int_equal(rig_read(&rig, SGPU_REG_NODE_COUNT), 4);
    assert_true(read_8(&rig, SGPU_REG_INDEX_BITS) == UINT64_C(0x0606070809));
    assert_int_equal(read_8(&rig, SGPU_REG_KEPT_SIZE), 0x3000);
    assert_int_equal(read_8(&rig, SGPU_REG_DEAD_OFFSET), 0x5000);
    assert_int_equal(read_8(&rig, SGPU_REG_DEAD_SIZE), 0x2000);
    assert_int_equal(rig_read(&rig, SGPU_REG_TRAITS), 0x81);
    assert_int_equal(read_8(&rig, SGPU_REG_PROTECTED_OFFSET), 0x10000);
    assert_int_equal(read_8(&rig, SGPU_REG_PROTECTED_SIZE), 0x11000);
    assert_int_equal(read_8(&rig, SGPU_REG_PICTURE_OFFSET), 0x20000);
    assert_int_equal(read_8(&rig, SGPU_REG_PICTURE_SIZE), 0x21000);
    rig_execute(&rig, 3); /* the last node is one */
    assert_int_equal(rig_read(&rig, SGPU_REG_NODE(3) + SGPU_NODE_FREE), SGPU_QUEUE_SLOTS);
    assert_int_equal(rig_read(&rig, SGPU_REG_NODE(4) + SGPU_NODE_FREE), 0);
    rig_fini(&rig);
    rig_init_with(&rig, &board, &other); /* no more is kept than there is */
    assert_int_equal(read_8(&rig, SGPU_REG_KEPT_SIZE), 64 * MiB);
    assert_true(read_8(&rig, SGPU_REG_INDEX_BITS) == UINT64_C(0x09090909));
    rig_fini(&rig);
}

/* No register has another access than one of 4 or 8 bytes at a multiple of its size. */
static void odd_accesses_read_ones_and_write_nothing(void **state)
{
    static const struct {
        uint32_t offset;
        unsigned size;
    } odd[] = {{0, 1}, {0, 2}, {4, 2}, {2, 4}, {1, 1}, {4, 8}};
    struct rig rig;

    rig_init(&rig);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        const uint64_t offset = SGPU_REG_IRQ_ENABLE - 4 + odd[i].offset;

        assert_true(machine_read_register(rig.machine, rig.bar0 + offset, odd[i].size) ==
                    UINT64_MAX);
        machine_write_register(rig.machine, rig.bar0 + offset, odd[i].size, UINT64_MAX);
        assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_ENABLE), 0);
    }
    rig_write(&rig, SGPU_REG_IRQ_STATUS, 8, UINT64_C(0x5) << 32); /* two registers */
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_ENABLE), 5);
    assert_true(read_8(&rig, SGPU_REG_IRQ_STATUS) == UINT64_C(5) << 32);
    assert_int_equal(sgpu_enabled_interrupts(rig.gpu), 5);
    rig_fini(&rig);
}

static void note_run(void *context, const struct sgpu_command *command, struct page_store *store,
                     uint64_t address, uint64_t bytes)
{
    ++*(unsigned *)context;
}

/* Wherever no bytes are defective: what lies around the place is one run. */
static void memory_without_a_defect_is_one_run(void **state)
{
    static const struct sgpu_observer observer = {.wrote = note_run};
    const struct sgpu_config config = {.dead_offset = 8 * MiB};
    const struct machine_config board = rig_board();
    unsigned runs = 0;
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    sgpu_set_observer(rig.gpu, &observer, &runs);
    rig_fill(&rig, 8 * MiB - PAGE_BYTES, 2 * PAGE_BYTES, 7);
    rig_execute(&rig, 1);
    assert_int_equal(runs, 1);
    rig_fini(&rig);
}

/* More defective memory than there is, and some behind its end, are what there is of them. */
static void a_defect_ends_with_the_memory(void **state)
{
    static const struct {
        uint64_t offset, bytes, answers;
    } defects[] = {
        {60 * MiB, UINT64_MAX, 60 * MiB}, {65 * MiB, 8 * MiB, 64 * MiB}, {0, 65 * MiB, 0}};
    const struct machine_config board = rig_board();

    for (size_t i = 0; i < sizeof defects / sizeof *defects; i++) {
        const struct sgpu_config config = {.dead_offset = defects[i].offset,
                                           .dead_bytes = defects[i].bytes};
        struct page_store *store;
        uint64_t address, bytes;
        struct rig rig;

        rig_init_with(&rig, &board, &config);
        assert_int_equal(sgpu_resolve(rig.gpu, 0, 128 * MiB, &store, &address, &bytes),
                         defects[i].answers != 0);
        assert_int_equal(bytes, defects[i].answers);
        assert_false(sgpu_resolve(rig.gpu, 64 * MiB - 1, 1, &store, &address, &bytes) &&
                     defects[i].answers < 64 * MiB);
        rig_fini(&rig);
    }
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

/* More slots than one word of blocks has, and no whole number of blocks. */
static void slots_of_a_large_aperture_are_empty_after_a_sleep(void **state)
{
    static const uint32_t slots[] = {0, 511, 512, 32767, 32768, 32768 + 64 * 511, 66000, 66049};
    struct machine_config board = rig_board();
    const struct sgpu_config config = {0};
    const uint64_t page = 4;
    struct rig rig;

    board.aperture_bytes = 66050 * PAGE_BYTES;
    rig_init_with(&rig, &board, &config);
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        if (i % 2) {
            rig_gart(&rig, SGPU_OP_GART_WRITE, 0, slots[i], 1, &page);
            rig_execute(&rig, 0);
        } else {
            rig_write(&rig, SGPU_REG_SLOT, 4, slots[i]);
            rig_write(&rig, SGPU_REG_SLOT_PAGE, 8, page);
        }
    }
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        assert_int_equal(sgpu_aperture_page(rig.gpu, slots[i]), page);
    sgpu_power_off(rig.gpu, SGPU_SLEEP_STANDBY);
    sgpu_power_on(rig.gpu);
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        assert_int_equal(sgpu_aperture_page(rig.gpu, slots[i]), SGPU_NO_PAGE);
    rig_fini(&rig);
}

static void the_slot_behind_the_last_is_none(void **state)
{
    struct machine_config board = rig_board();
    const struct sgpu_config config = {0};
    struct page_store *store;
    uint64_t address, bytes;
    struct rig rig;

    board.aperture_bytes = 4097 * PAGE_BYTES;
    rig_init_with(&rig, &board, &config);
    rig_gart(&rig, SGPU_OP_GART_FILL, SGPU_GART_COHERENT, 0, 4097, (const uint64_t[]){7});
    rig_execute(&rig, 0);
    assert_int_equal(sgpu_aperture_page(rig.gpu, 4096), 7);
    assert_true(sgpu_aperture_is_coherent(rig.gpu, 4096));
    assert_true(sgpu_aperture_page(rig.gpu, 4097) == SGPU_NO_PAGE);
    assert_false(sgpu_aperture_is_coherent(rig.gpu, 4097));
    assert_true(sgpu_resolve(rig.gpu, SGPU_PA_APERTURE + 4096 * PAGE_BYTES, 2 * PAGE_BYTES, &store,
                             &address, &bytes));
    assert_int_equal(bytes, PAGE_BYTES);
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
        cmocka_unit_test(a_node_that_hangs_for_a_while_ends_its_submission_at_once),
        cmocka_unit_test(a_node_that_goes_on_after_a_hang_may_fault),
        cmocka_unit_test(a_reset_heals_a_hang_that_is_to_come),
        cmocka_unit_test(one_interrupt_is_lost_and_no_other),
        cmocka_unit_test(what_is_queued_during_a_preemption_runs_behind_it),
        cmocka_unit_test(a_preemption_of_a_stopped_node_is_never_done),
        cmocka_unit_test(a_fault_is_told_with_its_packet),
        cmocka_unit_test(registers_tell_how_the_board_was_built),
        cmocka_unit_test(odd_accesses_read_ones_and_write_nothing),
        cmocka_unit_test(memory_without_a_defect_is_one_run),
        cmocka_unit_test(a_defect_ends_with_the_memory),
        cmocka_unit_test(a_lost_interrupt_leaves_the_registers_right),
        cmocka_unit_test(a_device_reset_loses_local_memory),
        cmocka_unit_test(local_memory_outlives_what_the_board_keeps_it_through),
        cmocka_unit_test(aperture_slots_are_empty_after_a_sleep_wherever_they_were),
        cmocka_unit_test(slots_of_a_large_aperture_are_empty_after_a_sleep),
        cmocka_unit_test(the_slot_behind_the_last_is_none),
        cmocka_unit_test(a_machine_without_its_board_has_no_registers_and_waits_for_nothing),
        cmocka_unit_test(a_board_that_is_gone_tells_who_touches_it),
        cmocka_unit_test(a_board_that_is_gone_reads_as_ones_and_does_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
