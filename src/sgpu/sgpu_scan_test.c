/* Scan-out: when an address is taken, what is told of it, and what ends it. */
#include "sgpu/test_rig.h"

#include "base/bits.h"

#define NO_PAGE UINT64_MAX
#define FIRST   (SGPU_PA_SYSTEM | UINT64_C(0x123456000))
#define SECOND  UINT64_C(0x40000)

struct scans {
    uint64_t address;
    unsigned count;
};

static void note_scan(void *context, uint64_t address)
{
    struct scans *scans = context;

    scans->address = address;
    scans->count++;
}

static void init(struct rig *rig, uint32_t straps, struct scans *scans)
{
    static const struct sgpu_observer observer = {.scanned = note_scan};
    const struct sgpu_config config = {.straps = straps};
    const struct machine_config board = rig_board();

    *scans = (struct scans){0};
    rig_init_with(rig, &board, &config);
    sgpu_set_observer(rig->gpu, &observer, scans);
}

static uint64_t current(struct rig *rig)
{
    return machine_read_register(rig->machine, rig->bar0 + SGPU_REG_SCAN_CURRENT, 8);
}

static void control(struct rig *rig, uint32_t value)
{
    rig_write(rig, SGPU_REG_SCAN_CONTROL, 4, value);
}

static bool take_sync(struct rig *rig)
{
    bool is_raised = rig_read(rig, SGPU_REG_IRQ_STATUS) & SGPU_IRQ_SYNC;

    rig_write(rig, SGPU_REG_IRQ_STATUS, 4, SGPU_IRQ_SYNC);
    return is_raised;
}

/* The last one that was written until the sync is; nothing happens at syncs behind it. */
static void an_address_is_taken_at_the_next_sync(void **state)
{
    struct scans scans;
    struct rig rig;

    init(&rig, SGPU_STRAP_DISPLAY, &scans);
    control(&rig, SGPU_SCAN_SHOW);
    assert_false(machine_run_next(rig.machine)); /* there is nothing to wait for */
    assert_true(current(&rig) == NO_PAGE);
    rig_write(&rig, SGPU_REG_SCAN_NEXT, 8, SECOND);
    machine_run_until(rig.machine, SGPU_SYNC_NS / 2);
    rig_write(&rig, SGPU_REG_SCAN_NEXT, 4, (uint32_t)FIRST);
    rig_write(&rig, SGPU_REG_SCAN_NEXT + 4, 4, FIRST >> 32);
    machine_run_until(rig.machine, SGPU_SYNC_NS - 1);
    assert_true(current(&rig) == NO_PAGE);
    assert_false(take_sync(&rig));
    machine_run_until(rig.machine, SGPU_SYNC_NS);
    assert_true(current(&rig) == FIRST);
    assert_true(take_sync(&rig));
    assert_int_equal(scans.count, 1);
    assert_true(scans.address == FIRST);
    assert_false(machine_run_next(rig.machine));
    rig_write(&rig, SGPU_REG_SCAN_NEXT, 8, SECOND);
    rig_run(&rig);
    assert_int_equal(machine_now(rig.machine), 2 * SGPU_SYNC_NS);
    assert_true(current(&rig) == SECOND);
    assert_true(take_sync(&rig));
    assert_int_equal(scans.count, 2);
    rig_fini(&rig);
}

static void what_is_written_before_the_scan_out_begins_is_taken_then(void **state)
{
    struct scans scans;
    struct rig rig;

    init(&rig, SGPU_STRAP_DISPLAY, &scans);
    rig_write(&rig, SGPU_REG_SCAN_NEXT, 8, FIRST);
    assert_false(machine_run_next(rig.machine));
    assert_true(current(&rig) == NO_PAGE);
    control(&rig, SGPU_SCAN_SHOW);
    rig_run(&rig);
    assert_true(current(&rig) == FIRST);
    assert_true(take_sync(&rig));
    rig_fini(&rig);
}

enum end { END_HIDE, END_RESET, END_SLEEP, ENDS };

static void end_scan_out(struct rig *rig, enum end end)
{
    switch (end) {
    case END_HIDE:
        control(rig, SGPU_SCAN_HIDE);
        break;
    case END_RESET:
        rig_write(rig, SGPU_REG_RESET, 4, SGPU_RESET_KEY);
        break;
    case END_SLEEP:
        sgpu_power_off(rig->gpu, SGPU_SLEEP_STANDBY);
        sgpu_power_on(rig->gpu);
        break;
    case ENDS:
        break;
    }
}

/* Neither what is scanned out nor what was to be taken outlives it. */
static void the_scan_out_ends_at_once_and_begins_with_nothing(void **state)
{
    for (enum end end = 0; end < ENDS; end++) {
        struct scans scans;
        struct rig rig;

        init(&rig, SGPU_STRAP_DISPLAY, &scans);
        control(&rig, SGPU_SCAN_SHOW);
        rig_write(&rig, SGPU_REG_SCAN_NEXT, 8, FIRST);
        rig_run(&rig);
        assert_true(take_sync(&rig));
        rig_write(&rig, SGPU_REG_SCAN_NEXT, 8, SECOND);
        end_scan_out(&rig, end);
        assert_true(current(&rig) == NO_PAGE);
        control(&rig, SGPU_SCAN_SHOW);
        assert_false(machine_run_next(rig.machine));
        assert_false(take_sync(&rig));
        assert_true(current(&rig) == NO_PAGE);
        end_scan_out(&rig, end);
        rig_write(&rig, SGPU_REG_SCAN_NEXT, 8, SECOND); /* it is not shown */
        assert_false(machine_run_next(rig.machine));
        assert_int_equal(scans.count, 1);
        rig_fini(&rig);
    }
}

static void a_board_without_a_display_scans_nothing_out(void **state)
{
    struct scans scans;
    struct rig rig;

    init(&rig, 0, &scans);
    control(&rig, SGPU_SCAN_SHOW);
    rig_write(&rig, SGPU_REG_SCAN_NEXT, 8, FIRST);
    assert_false(machine_run_next(rig.machine));
    assert_true(current(&rig) == NO_PAGE);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_taken_at_the_next_sync),
        cmocka_unit_test(what_is_written_before_the_scan_out_begins_is_taken_then),
        cmocka_unit_test(the_scan_out_ends_at_once_and_begins_with_nothing),
        cmocka_unit_test(a_board_without_a_display_scans_nothing_out),
    };

    return cmocka_run_group_tests_name("sgpu/scan", tests, NULL, NULL);
}
