/* What a sleep keeps in place, and what it moves out. */
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"
#include "vidmm/work/client.h"

#include "base/bits.h"

#define KEPT_PAGES 10

static struct {
    HANDLE moved[8]; /* out of a segment, in order */
    unsigned moved_count;
    unsigned tables_told; /* that are evicted */
} seen;

static NTSTATUS set_power_state(struct miniport *self, ULONG device, DEVICE_POWER_STATE state,
                                POWER_ACTION action)
{
    return STATUS_SUCCESS;
}

static void see_move(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    bool is_move = args->Operation == DXGK_OPERATION_TRANSFER && args->Transfer.Source.SegmentId;

    if (args->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE)
        seen.tables_told += args->UpdatePageTable.Flags.NotifyEviction;
    if (args->Operation == DXGK_OPERATION_VIRTUAL_TRANSFER)
        seen.moved_count++;
    else if (is_move && seen.moved_count < ARRAY_COUNT(seen.moved))
        seen.moved[seen.moved_count++] = args->Transfer.hAllocation;
}

static void sleep(struct rig *rig, enum vidmm_sleep how)
{
    struct rig_done done = {0};

    seen.moved_count = 0;
    assert_int_equal(vidmm_power_down(rig->vidmm, how, rig_done, &done), STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(done.calls, 1);
    assert_int_equal(vidmm_power_up(rig->vidmm), STATUS_SUCCESS);
    rig_drain(rig);
}

static struct rig *start(struct rig_config config)
{
    struct rig *rig;

    config.kept_pages = KEPT_PAGES;
    rig = rig_create(&config);
    rig->ops.set_power_state = set_power_state;
    rig->watch = see_move;
    return rig;
}

/* PWR-004, PWR-005: what ends with the last byte that is kept stays, one page behind it goes. */
static void hibernation_keeps_what_ends_in_the_kept_part(void **state)
{
    struct rig *rig = start(rig_model(0));
    struct rig_object kept, beyond;

    rig_object(rig, KEPT_PAGES, 1, &kept);
    rig_object(rig, 1, 1, &beyond);
    rig_gpu(rig, &kept, 4); /* which writes, so that there is content to lose */
    rig_gpu(rig, &beyond, 4);
    rig_drain(rig);

    sleep(rig, VIDMM_SLEEP_STANDBY);
    assert_int_equal(seen.moved_count, 0);
    sleep(rig, VIDMM_SLEEP_HIBERNATE);
    assert_int_equal(seen.moved_count, 1);
    assert_ptr_equal(seen.moved[0], beyond.driver);
    rig_destroy_object(rig, &kept);
    rig_destroy_object(rig, &beyond);
    rig_free(rig);
}

/* PWR-004: a page of 64 KiB may reach beyond the part, when the allocation in it does not. */
static void hibernation_keeps_the_pages_of_an_allocation_and_not_those_of_its_units(void **state)
{
    for (uint64_t pages = KEPT_PAGES; pages <= KEPT_PAGES + 1; pages++) {
        struct rig_config config = rig_model(1);
        struct rig_object object;
        struct rig *rig;

        config.keeps_tables_in_system = true;
        config.has_64kb_pages[0] = true;
        rig = start(config);
        rig_object(rig, pages, 1, &object);
        rig_make_resident(rig, &object);
        rig_map(rig, &object);
        rig_gpu(rig, &object, 4);
        rig_drain(rig);

        sleep(rig, VIDMM_SLEEP_HIBERNATE);
        assert_int_equal(seen.moved_count != 0, pages > KEPT_PAGES);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

/* The first process has no context yet, and so no tables. */
static void the_tables_of_every_process_are_told_to_go(void **state)
{
    struct rig_config config = rig_model(1);
    struct rig *rig = rig_new(&config);
    struct vidmm_process *first;
    struct rig_object object;

    memset(&seen, 0, sizeof seen);
    rig->ops.set_power_state = set_power_state;
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    assert_int_equal(vidmm_process_create(rig->vidmm, &first), STATUS_SUCCESS);
    assert_null(first->space.root);
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    rig_object(rig, 4, 1, &object);
    rig_make_resident(rig, &object);
    rig_map(rig, &object);
    rig_gpu(rig, &object, 4);
    rig->watch = see_move;
    sleep(rig, VIDMM_SLEEP_STANDBY);
    assert_true(seen.tables_told >= 3); /* a root, and a table at each level */
    rig_destroy_object(rig, &object);
    vidmm_process_destroy(first);
    rig_free(rig);
}

/* Of three contexts the one in the middle has no companion. */
static void companions_are_told_of_the_root_that_is_made_anew(void **state)
{
    struct rig_config config = rig_model(1);
    struct vidmm_context *contexts[3];
    struct vidmm_tile_operation operation = {
        .kind = VIDMM_TILE_MAP, .va = 16 * MiB, .page_count = PAGES_64K};
    struct rig *rig = rig_create(&config);
    struct rig_object pool;

    rig->ops.set_power_state = set_power_state;
    rig_object(rig, PAGES_64K, 1, &pool);
    operation.pool = pool.allocation;
    contexts[0] = rig->context;
    for (unsigned i = 0; i < 3; i++) {
        if (i)
            assert_int_equal(vidmm_context_create(rig->device, 0, NULL, 0, &contexts[i]),
                             STATUS_SUCCESS);
        if (i != 1)
            assert_int_equal(vidmm_update_gpu_va(contexts[i], 1, &operation, NULL, NULL),
                             STATUS_SUCCESS);
        rig_drain(rig);
    }
    for (unsigned i = 0; i < 3; i += 2)
        ((struct rig_context *)contexts[i]->companion.driver_context)->has_root = false;
    assert_null(contexts[1]->companion.driver_context);
    sleep(rig, VIDMM_SLEEP_STANDBY);
    for (unsigned i = 0; i < 3; i += 2)
        assert_true(((struct rig_context *)contexts[i]->companion.driver_context)->has_root);
    for (unsigned i = 1; i < 3; i++)
        vidmm_context_destroy(contexts[i]);
    rig_destroy_object(rig, &pool);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hibernation_keeps_what_ends_in_the_kept_part),
        cmocka_unit_test(hibernation_keeps_the_pages_of_an_allocation_and_not_those_of_its_units),
        cmocka_unit_test(the_tables_of_every_process_are_told_to_go),
        cmocka_unit_test(companions_are_told_of_the_root_that_is_made_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
