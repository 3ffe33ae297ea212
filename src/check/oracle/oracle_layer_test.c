/*
 * What the oracle's layer follows besides whole moves: parts of a move that keeps the order of
 * tiles, runs of entries, a board that is pulled, and what it does when memory is short.
 */
#include "check/rig/test_stage.h"
#include "check/rig/test_told.h"

static void the_layer_says_who_it_is(void **state)
{
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    assert_string_equal(stage.top->ops->name, "oracle");
    stage_close(&stage);
}

/* ---- Places ---- */

/* Tiles of four pages, each of them backwards. */
static uint64_t backwards(uint64_t page)
{
    return page ^ 3;
}

/* A move within local memory, from page 40 to page 80. */
static void move_part(struct stage *stage, uint32_t first, uint32_t count)
{
    struct stage_pages none;
    DXGKARG_BUILDPAGINGBUFFER arg = stage_transfer(&none, 80, true, first, count);

    arg.Transfer.Source.SegmentId = 1; /* in the place of the pages */
    arg.Transfer.Source.SegmentAddress.QuadPart = (LONGLONG)(SEGMENT_BASE + PAGE_NUMBER(40));
    arg.Transfer.Flags.TransferEnd = first + count == TEXTURE_PAGES;
    stage_build(stage, &arg);
    stage_submit_and_complete(stage);
}

/* The first part ends within a tile: of that tile nothing is known before the second one. */
static void a_part_of_a_move_tells_where_whole_tiles_are(void **state)
{
    struct page_store *store;
    struct stage stage;
    uint64_t page;

    stage_open(&stage, NO_DEFECT);
    stage_create(&stage, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
    oracle_allocation_reordered(stage.oracle, TEXTURE, backwards, false);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++) {
        uint64_t address = PAGE_NUMBER(40 + backwards(i));

        page_store_write_tag(stage.local, address, PAGE_BYTES, 1000 + i);
        oracle_cpu_write(stage.oracle, TEXTURE, PAGE_NUMBER(i), stage.local, address, PAGE_BYTES,
                         1000 + i);
    }
    move_part(&stage, 0, 6);
    for (uint32_t i = 0; i < 4; i++)
        stage_assert_at(&stage, i, stage.local, 80 + backwards(i));
    assert_false(oracle_find_page(stage.oracle, TEXTURE, 4, &store, &page));
    move_part(&stage, 6, TEXTURE_PAGES - 6);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        stage_assert_at(&stage, i, stage.local, 80 + backwards(i));
    assert_true(oracle_final_check(stage.oracle));
    assert_int_equal(stage.report_count, 0);
    stage_close(&stage);
}

static void map(struct stage *stage, uint64_t va_page, const uint64_t *pages, uint32_t segment)
{
    DXGK_PTE entries[TEXTURE_PAGES] = {0};
    DXGKARG_BUILDPAGINGBUFFER arg = {
        .Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE,
        .UpdatePageTable = {.pPageTableEntries = entries,
                            .NumPageTableEntries = TEXTURE_PAGES,
                            .hProcess = HANDLE_OF(0x101),
                            .FirstPteVirtualAddress = PAGE_NUMBER(va_page)},
    };

    for (uint32_t i = 0; i < TEXTURE_PAGES; i++) {
        entries[i].Valid = 1;
        entries[i].Segment = segment;
        entries[i].PageAddress = pages[i];
    }
    stage_build(stage, &arg);
}

/* Each half of the texture is a run of its own, and lies in a chunk of addresses of its own. */
static void a_run_that_goes_on_elsewhere_in_the_next_chunk_is_two(void **state)
{
    const uint64_t from_va = 16, to_va = 512 - TEXTURE_PAGES / 2;
    DXGKARG_CREATEPROCESS process = {.Flags.SystemProcess = 1};
    DXGKARG_BUILDPAGINGBUFFER arg = {
        .Operation = DXGK_OPERATION_VIRTUAL_TRANSFER,
        .TransferVirtual = {.hAllocation = HANDLE_OF(TEXTURE),
                            .TransferSizeInBytes = PAGE_NUMBER(TEXTURE_PAGES),
                            .SourceVirtualAddress = PAGE_NUMBER(from_va),
                            .DestinationVirtualAddress = PAGE_NUMBER(to_va)},
    };
    uint64_t pages[TEXTURE_PAGES];
    struct stage_pages home;
    struct stage stage;

    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        pages[i] = i < TEXTURE_PAGES / 2 ? 200 + i : 300 + i;
    stage_open(&stage, NO_DEFECT);
    stage_make_texture(&stage, &home);
    miniport_create_process(stage.top, NULL, &process);
    map(&stage, from_va, &home.pfns[MDL_POISON], 0);
    map(&stage, to_va, pages, 1);
    stage_build(&stage, &arg);
    stage_submit_and_complete(&stage);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        stage_assert_at(&stage, i, stage.local, pages[i]);
    assert_true(oracle_final_check(stage.oracle));
    stage_close(&stage);
}

/* ---- Losses ---- */

/* The texture at local page 40, whose bytes are others without anybody being told. */
static void spoil_texture(struct stage *stage)
{
    page_store_fill(stage->local, PAGE_NUMBER(40), PAGE_NUMBER(TEXTURE_PAGES), 0xdeadbeef);
}

static void move_in(struct stage *stage)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;

    stage_make_texture(stage, &home);
    arg = stage_transfer(&home, 40, true, 0, TEXTURE_PAGES);
    stage_build(stage, &arg);
    stage_submit_and_complete(stage);
}

static NTSTATUS notice_removal(struct miniport *self, DXGK_SURPRISE_REMOVAL_TYPE type)
{
    return STATUS_SUCCESS;
}

static void what_was_on_a_board_is_gone_with_it(void **state)
{
    for (unsigned is_pulled = 0; is_pulled < 2; is_pulled++) {
        struct stage stage;

        stage_open(&stage, NO_DEFECT);
        stage.driver->ops.notify_surprise_removal = notice_removal;
        move_in(&stage);
        if (is_pulled)
            miniport_notify_surprise_removal(stage.top, DxgkRemovalHibernation);
        spoil_texture(&stage);
        assert_int_equal(oracle_final_check(stage.oracle), is_pulled);
        stage_close(&stage);
    }
}

/* There is no memory to tell which pages are lost: nothing of the allocation is compared. */
static void an_allocation_that_cannot_be_followed_is_left_alone(void **state)
{
    struct failing_services memory;
    struct stage stage;

    failing_services_init(&memory);
    assert_int_equal(stage_open_with(&stage, &memory.services), STATUS_SUCCESS);
    move_in(&stage);
    failing_services_fail_at(&memory, 1);
    oracle_content_lost(stage.oracle, TEXTURE);
    assert_true(memory.has_failed);
    assert_int_equal(oracle_counters(stage.oracle)->lost_operations, 1);
    spoil_texture(&stage);
    assert_true(oracle_final_check(stage.oracle));
    assert_int_equal(stage.report_count, 0);
    stage_close(&stage);
    assert_int_equal(memory.live_blocks, 0);
}

/* ---- Fences ---- */

static void a_notice_of_a_fence_that_nobody_has_is_reported(void **state)
{
    DXGK_FENCE_RESIDENCY_INFO place = {.hGlobalNativeFence = HANDLE_OF(1)};
    const DXGKARG_BUILDPAGINGBUFFER arg = {
        .Operation = DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY,
        .NotifyFenceResidency = {.NumFences = 1, .FenceResidencyInfo = &place}};
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    stage_build(&stage, &arg);
    assert_int_equal(stage.report_count, 1);
    assert_non_null(strstr(stage.text, "is about a fence that does not exist"));
    stage_close(&stage);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layer_says_who_it_is),
        cmocka_unit_test(a_part_of_a_move_tells_where_whole_tiles_are),
        cmocka_unit_test(a_run_that_goes_on_elsewhere_in_the_next_chunk_is_two),
        cmocka_unit_test(what_was_on_a_board_is_gone_with_it),
        cmocka_unit_test(an_allocation_that_cannot_be_followed_is_left_alone),
        cmocka_unit_test(a_notice_of_a_fence_that_nobody_has_is_reported),
    };

    return told_run(tests, ARRAY_COUNT(tests), __FILE__);
}
