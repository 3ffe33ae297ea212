/* What a reset of the adapter takes from allocations, and what it leaves, as the oracle sees it. */
#include "check/rig/test_stage.h"
#include "check/rig/test_told.h"

/* A reset comes while a submission that uses the texture waits, for which it is filled then. */
static void reset_and_fill(struct stage *stage, bool is_freed)
{
    const struct oracle_reference use = {
        .allocation = TEXTURE, .bytes = PAGE_NUMBER(TEXTURE_PAGES), .is_read = true};
    const DXGKARG_BUILDPAGINGBUFFER arg = stage_fill(TEXTURE, 80, 0);

    assert_int_equal(oracle_submission(stage->oracle, 1, 1, &use), STATUS_SUCCESS);
    if (is_freed)
        oracle_allocation_freed(stage->oracle, TEXTURE);
    assert_int_equal(miniport_reset_from_timeout(stage->top, NULL), STATUS_SUCCESS);
    stage_build(stage, &arg);
    stage_submit_and_complete(stage);
    oracle_submission_cancelled(stage->oracle, 1);
}

/* So many pages of the texture, from the first on, are in local memory when the reset comes. */
static void fill_after_a_reset(struct stage *stage, uint32_t local_pages, bool is_freed)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;

    stage_open(stage, NO_DEFECT);
    stage_make_texture(stage, &home);
    if (local_pages) {
        arg = stage_transfer(&home, 40, true, 0, local_pages);
        stage_build(stage, &arg);
        stage_submit_and_complete(stage);
    }
    reset_and_fill(stage, is_freed);
}

/* Nobody is told of the loss, so the manager may fill all of it. */
static void what_a_reset_takes_of_a_freed_allocation_takes_all_its_content(void **state)
{
    struct stage stage;

    fill_after_a_reset(&stage, TEXTURE_PAGES / 2, true);
    stage_assert_silent(&stage);
    stage_close(&stage);
}

static void a_reset_takes_no_page_of_system_memory_that_somebody_is_told_of(void **state)
{
    struct stage stage;

    fill_after_a_reset(&stage, TEXTURE_PAGES / 2, false);
    stage_assert_reported(&stage, PAGE_NUMBER(TEXTURE_PAGES / 2), "segment 1 page 0x58",
                          "FILL of event");
    stage_close(&stage);
}

static void a_reset_that_takes_nothing_leaves_a_freed_allocation_its_content(void **state)
{
    struct stage stage;

    fill_after_a_reset(&stage, 0, true);
    stage_assert_reported(&stage, 0, "segment 1 page 0x50", "FILL of event");
    stage_close(&stage);
}

/*
 * Until an operation of another allocation has run, an eviction by addresses has not ended, and a
 * reset takes all of it. That a third allocation goes meanwhile changes nothing.
 */
static void an_eviction_by_addresses_ends_with_an_operation_of_another_allocation(void **state)
{
    for (unsigned has_ended = 0; has_ended < 2; has_ended++) {
        DXGKARG_CREATEPROCESS process = {.Flags.SystemProcess = 1};
        DXGKARG_BUILDPAGINGBUFFER arg;
        uint64_t local[TEXTURE_PAGES];
        struct stage_pages home;
        struct stage stage;

        for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
            local[i] = 40 + i;
        stage_open(&stage, NO_DEFECT);
        for (uint64_t id = TEXTURE + 1; id <= TEXTURE + 2; id++)
            stage_create(&stage, id, PAGE_NUMBER(TEXTURE_PAGES));
        stage_make_texture(&stage, &home);
        miniport_create_process(stage.top, NULL, &process);
        stage_map_scratch(&stage, 16, 1, local, TEXTURE_PAGES);
        stage_map_scratch(&stage, 32, 0, &home.pfns[MDL_POISON], TEXTURE_PAGES);
        arg = stage_transfer(&home, 40, true, 0, TEXTURE_PAGES);
        stage_build(&stage, &arg);
        stage_submit_and_complete(&stage);
        stage_move_virtually(&stage, 16, 32); /* LOCAL_TO_SYSTEM */
        oracle_allocation_freed(stage.oracle, TEXTURE + 1);
        stage_destroy(&stage, TEXTURE + 1);
        arg = stage_fill(TEXTURE + 2, 200, 0);
        if (has_ended) {
            stage_build(&stage, &arg);
            stage_submit_and_complete(&stage);
        }
        reset_and_fill(&stage, true);
        if (has_ended)
            stage_assert_reported(&stage, 0, "segment 1 page 0x50", "FILL of event");
        else
            stage_assert_silent(&stage);
        stage_close(&stage);
    }
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_reset_takes_of_a_freed_allocation_takes_all_its_content),
        cmocka_unit_test(a_reset_takes_no_page_of_system_memory_that_somebody_is_told_of),
        cmocka_unit_test(a_reset_that_takes_nothing_leaves_a_freed_allocation_its_content),
        cmocka_unit_test(an_eviction_by_addresses_ends_with_an_operation_of_another_allocation),
    };

    return told_run(tests, ARRAY_COUNT(tests), __FILE__);
}
