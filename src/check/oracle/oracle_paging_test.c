/*
 * What the oracle says about paging: correct flows are silent, planted defects are reported once
 * and in their place. test_stage.h has the driver and the calls.
 */
#include "check/rig/test_stage.h"
#include "check/rig/test_told.h"

/* ---- Correct flows ---- */

static void pages_are_followed_in_and_out_in_silence(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;
    struct stage_pages other;
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    stage_make_texture(&stage, &home);
    arg = stage_transfer(&home, 40, true, 0, TEXTURE_PAGES);
    stage_build(&stage, &arg);
    stage_assert_at(&stage, 3, stage.ram, home.pfns[MDL_POISON + 3]);
    stage_submit(&stage);
    stage_assert_at(&stage, 3, stage.ram, home.pfns[MDL_POISON + 3]); /* not before its fence */
    stage_complete(&stage, stage.fence);
    assert_int_equal(stage.interrupt_count, 1);
    stage_assert_at(&stage, 3, stage.local, 43);
    stage_make_pages(&other, 500, TEXTURE_PAGES);
    arg = stage_transfer(&other, 40, false, 0, TEXTURE_PAGES);
    stage_build(&stage, &arg);
    stage_submit_and_complete(&stage);
    stage_assert_at(&stage, 15, stage.ram, other.pfns[MDL_POISON + 15]);
    stage_assert_silent(&stage);
    assert_int_equal(oracle_counters(stage.oracle)->pages_checked, 3 * TEXTURE_PAGES);
    assert_int_equal(oracle_counters(stage.oracle)->packets, 2);
    stage_close(&stage);
}

static void an_operation_in_parts_is_published_with_its_last_one(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    stage.buffer_bytes = 5 * 8;
    stage_make_texture(&stage, &home);
    arg = stage_transfer(&home, 40, true, 0, TEXTURE_PAGES);
    stage_build(&stage, &arg);
    stage_submit(&stage);
    assert_int_equal(stage.fence, 4);
    stage_complete(&stage, 3);
    stage_assert_at(&stage, 0, stage.ram, home.pfns[MDL_POISON]);
    assert_int_equal(oracle_counters(stage.oracle)->packets, 3);
    stage_complete(&stage, 4);
    stage_assert_at(&stage, 0, stage.local, 40);
    stage_assert_silent(&stage);
    stage_close(&stage);
}

static void pieces_of_a_move_are_where_their_offsets_say(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    stage_make_texture(&stage, &home);
    for (uint32_t first = 0; first < TEXTURE_PAGES; first += 4) {
        arg = stage_transfer(&home, 40, true, first, 4);
        stage_build(&stage, &arg);
        if (first == 4)
            stage_submit(&stage);
    }
    stage_submit(&stage);
    stage_complete(&stage, stage.fence);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        stage_assert_at(&stage, i, stage.local, 40 + i);
    stage_assert_silent(&stage);
    stage_close(&stage);
}

static void packets_that_one_interrupt_completes_are_judged_by_what_is_there_now(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;
    struct stage_pages other;
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    stage_make_texture(&stage, &home);
    stage_make_pages(&other, 500, TEXTURE_PAGES);
    arg = stage_transfer(&home, 40, true, 0, TEXTURE_PAGES);
    stage_build(&stage, &arg);
    stage_submit(&stage);
    arg = stage_transfer(&other, 40, false, 0, TEXTURE_PAGES);
    stage_build(&stage, &arg);
    stage_submit(&stage);
    page_store_fill(stage.local, PAGE_NUMBER(40), PAGE_NUMBER(4), 0xabcdef01); /* reused */
    stage_complete(&stage, stage.fence);
    stage_assert_at(&stage, 2, stage.ram, other.pfns[MDL_POISON + 2]);
    assert_int_equal(oracle_counters(stage.oracle)->pages_checked, TEXTURE_PAGES);
    stage_assert_silent(&stage);
    stage_close(&stage);
}

static void a_submission_takes_what_it_covers_and_no_more(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;
    struct stage stage;
    uint32_t covered;

    stage_open(&stage, NO_DEFECT);
    stage_make_texture(&stage, &home);
    arg = stage_transfer(&home, 40, true, 0, 8);
    stage_build(&stage, &arg);
    covered = stage.used;
    arg = stage_transfer(&home, 40, true, 8, 8);
    stage_build(&stage, &arg);
    stage.used = covered;
    stage_submit_and_complete(&stage);
    stage_assert_at(&stage, 7, stage.local, 47);
    stage_assert_at(&stage, 8, stage.ram, home.pfns[MDL_POISON + 8]);
    stage.used = 2 * covered;
    stage_submit_and_complete(&stage);
    stage_assert_at(&stage, 8, stage.local, 48);
    stage_assert_silent(&stage);
    stage_close(&stage);
}

/* Bytes that nobody wrote, behind the last operation of a buffer, are none of the next buffer's. */
static void a_submission_takes_nothing_of_another_buffer(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;
    struct stage stage;
    uint32_t covered;

    stage_open(&stage, NO_DEFECT);
    stage_make_texture(&stage, &home);
    arg = stage_transfer(&home, 40, true, 0, 8);
    stage_build(&stage, &arg);
    covered = stage.used;
    stage.buffer ^= 1;
    stage.used = 0;
    arg = stage_transfer(&home, 40, true, 8, 8);
    stage_build(&stage, &arg);
    stage.used = 2 * covered;
    stage_submit_and_complete(&stage);
    stage_assert_at(&stage, 7, stage.local, 47);
    stage_assert_at(&stage, 8, stage.ram, home.pfns[MDL_POISON + 8]);
    stage.submitted = 0;
    stage.used = covered;
    stage_submit_and_complete(&stage);
    stage_assert_at(&stage, 8, stage.local, 48);
    stage_close(&stage);
}

static void a_fill_of_what_was_never_written_is_zero(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = stage_fill(TEXTURE, 80, 0);
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    page_store_fill(stage.local, 0, PAGE_NUMBER(STORE_PAGES), 0x55555555);
    stage_create(&stage, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
    stage_build(&stage, &arg);
    stage_submit_and_complete(&stage);
    stage_assert_silent(&stage);
    arg = stage_fill(TEXTURE, 120, 0x11);
    stage_build(&stage, &arg);
    stage_submit_and_complete(&stage);
    stage_assert_reported(&stage, 0, "segment 1 page 0x78", "FILL of event");
    stage_close(&stage);
}

/* It overran the end of segment 1, and shows when the page leaves that follows there. */
static void a_fill_that_went_too_far_is_blamed_for_the_first_page_of_a_segment(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    stage_create(&stage, TEXTURE + 1, PAGE_NUMBER(TEXTURE_PAGES));
    stage_make_texture(&stage, &home);
    arg = stage_transfer(&home, STORE_PAGES, true, 0, TEXTURE_PAGES);
    arg.Transfer.Destination.SegmentId = UPPER_SEGMENT;
    stage_build(&stage, &arg);
    arg = stage_fill(TEXTURE + 1, STORE_PAGES - TEXTURE_PAGES, 0);
    stage_build(&stage, &arg);
    stage_submit_and_complete(&stage);
    page_store_fill(stage.local, PAGE_NUMBER(STORE_PAGES), PAGE_BYTES, 0);
    arg = stage_transfer(&home, STORE_PAGES, false, 0, TEXTURE_PAGES);
    arg.Transfer.Source.SegmentId = UPPER_SEGMENT;
    stage_build(&stage, &arg);
    stage_submit_and_complete(&stage);
    stage_assert_reported(&stage, 0, "where", "TRANSFER of event");
    assert_int_equal(stage.last.rule, RULE_FILL_005);
    stage_close(&stage);
}

static void an_aperture_map_tells_where_an_allocation_lives(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT};
    struct stage_pages home;
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    stage_create(&stage, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
    stage_make_pages(&home, 300, TEXTURE_PAGES);
    memmove(home.pfns, home.pfns + MDL_POISON, TEXTURE_PAGES * sizeof home.pfns[0]);
    home.mdl.ByteCount = TEXTURE_PAGES * (ULONG)PAGE_BYTES;
    arg.MapApertureSegment.hAllocation = HANDLE_OF(TEXTURE);
    arg.MapApertureSegment.SegmentId = 2;
    arg.MapApertureSegment.OffsetInPages = 8;
    arg.MapApertureSegment.NumberOfPages = TEXTURE_PAGES;
    arg.MapApertureSegment.pMdl = &home.mdl;
    stage_build(&stage, &arg);
    stage_assert_at(&stage, 5, stage.ram, home.pfns[5]);
    stage_assert_silent(&stage);
    page_store_fill(stage.ram, PAGE_NUMBER(home.pfns[5]) + 8, 4, 1);
    assert_false(oracle_final_check(stage.oracle));
    stage_assert_reported(&stage, PAGE_NUMBER(5) + 8, "system page", "final check");
    stage_close(&stage);
}

static void a_map_without_a_list_or_an_aperture_tells_nothing(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT};
    struct stage stage;
    MDL list = {0};

    stage_open(&stage, NO_DEFECT);
    arg.MapApertureSegment.NumberOfPages = 1;
    for (unsigned i = 0; i < 2; i++) {
        arg.MapApertureSegment.SegmentId = i ? 77 : 2;
        arg.MapApertureSegment.pMdl = i ? &list : NULL;
        stage_build(&stage, &arg);
    }
    stage_assert_silent(&stage);
    stage_close(&stage);
}

static DXGKARG_BUILDPAGINGBUFFER discard(uint64_t local_page)
{
    return (DXGKARG_BUILDPAGINGBUFFER){
        .Operation = DXGK_OPERATION_DISCARD_CONTENT,
        .DiscardContent = {.hAllocation = HANDLE_OF(TEXTURE),
                           .SegmentId = 1,
                           .SegmentAddress.QuadPart =
                               (LONGLONG)(SEGMENT_BASE + PAGE_NUMBER(local_page))},
    };
}

static void a_discard_falls_back_to_the_backing_and_finds_what_is_stale(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    stage_make_texture(&stage, &home);
    for (unsigned is_dirty = 0; is_dirty < 2; is_dirty++) {
        arg = stage_transfer(&home, 40, true, 0, TEXTURE_PAGES);
        stage_build(&stage, &arg);
        stage_submit_and_complete(&stage);
        if (is_dirty) {
            page_store_write_tag(stage.local, PAGE_NUMBER(42), PAGE_BYTES, 9);
            oracle_cpu_write(stage.oracle, TEXTURE, PAGE_NUMBER(2), stage.local, PAGE_NUMBER(42),
                             PAGE_BYTES, 9);
        }
        arg = discard(40);
        stage_build(&stage, &arg);
        if (is_dirty)
            break;
        stage_assert_at(&stage, 2, stage.ram, home.pfns[MDL_POISON + 2]);
        stage_assert_silent(&stage);
    }
    stage_assert_reported(&stage, PAGE_NUMBER(2), "system page", "DISCARD_CONTENT");
    stage_close(&stage);
}

static void system_pages_are_remembered_until_the_last_page_is_out(void **state)
{
    const uint32_t half = TEXTURE_PAGES / 2;
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct failing_services memory;
    struct stage_pages home, other;
    uint64_t before, whole;
    struct stage stage;

    failing_services_init(&memory);
    assert_int_equal(stage_open_with(&stage, &memory.services), STATUS_SUCCESS);
    stage_make_texture(&stage, &home);
    stage_make_pages(&other, 500, TEXTURE_PAGES);
    before = memory.live_blocks;
    for (unsigned i = 0; i < 2; i++) {
        arg = stage_transfer(i ? &other : &home, 40, true, 0, TEXTURE_PAGES);
        stage_build(&stage, &arg);
        stage_submit_and_complete(&stage);
        whole = memory.live_blocks;
        assert_true(whole > before);
        arg = stage_transfer(&other, 40 + half, false, half, half);
        stage_build(&stage, &arg);
        stage_submit_and_complete(&stage);
        assert_int_equal(memory.live_blocks, whole);
        if (i)
            break;
        arg = stage_transfer(&other, 40, false, 0, half);
        stage_build(&stage, &arg);
        stage_submit_and_complete(&stage);
        arg = stage_transfer(&other, 40 + half, false, half, half); /* the last page is looked at */
        stage_build(&stage, &arg);
        stage_submit_and_complete(&stage);
        assert_true(memory.live_blocks < whole);
    }
    arg = discard(40);
    stage_build(&stage, &arg);
    stage_assert_at(&stage, half - 1, stage.ram, other.pfns[MDL_POISON + half - 1]);
    stage_assert_at(&stage, half, stage.ram, other.pfns[MDL_POISON + half]);
    stage_close(&stage);
    assert_int_equal(memory.live_blocks, 0);
}

static void a_discard_without_a_copy_leaves_written_content_nowhere(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = stage_fill(TEXTURE, 40, 0);
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    stage_create(&stage, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
    stage_build(&stage, &arg);
    stage_submit_and_complete(&stage);
    arg = discard(40);
    stage_build(&stage, &arg);
    stage_assert_silent(&stage); /* it was zero, and will be filled again */
    arg = stage_fill(TEXTURE, 40, 0);
    stage_build(&stage, &arg);
    stage_submit_and_complete(&stage);
    oracle_cpu_write(stage.oracle, TEXTURE, PAGE_NUMBER(3), stage.local, PAGE_NUMBER(43),
                     PAGE_BYTES, 5);
    page_store_write_tag(stage.local, PAGE_NUMBER(43), PAGE_BYTES, 5);
    arg = discard(40);
    stage_build(&stage, &arg);
    assert_false(oracle_final_check(stage.oracle));
    assert_int_equal(stage.report_count, 1);
    assert_int_equal(stage.last.problem, ORACLE_UNLOCATED);
    assert_int_equal(stage.last.page, 3);
    stage_close(&stage);
}

/* ---- Virtual operations ---- */

/* Moves the texture to local page 200 in chunks of four pages through one scratch range. */
static void move_virtually(struct stage *stage, const struct stage_pages *home)
{
    DXGKARG_CREATEPROCESS process = {.Flags.SystemProcess = 1};

    miniport_create_process(stage->top, NULL, &process);
    for (uint32_t first = 0; first < TEXTURE_PAGES; first += 4) {
        uint64_t system[4];
        uint64_t local[4];
        DXGKARG_BUILDPAGINGBUFFER arg = {
            .Operation = DXGK_OPERATION_VIRTUAL_TRANSFER,
            .TransferVirtual = {.hAllocation = HANDLE_OF(TEXTURE),
                                .AllocationOffsetInBytes = PAGE_NUMBER(first),
                                .TransferSizeInBytes = PAGE_NUMBER(4),
                                .SourceVirtualAddress = PAGE_NUMBER(16),
                                .DestinationVirtualAddress = PAGE_NUMBER(32)},
        };

        for (uint32_t i = 0; i < 4; i++) {
            system[i] = home->pfns[MDL_POISON + first + i];
            local[i] = 200 + first + i;
        }
        stage_map_scratch(stage, 16, 0, system, 4);
        stage_map_scratch(stage, 32, 1, local, 4);
        stage_build(stage, &arg);
    }
}

static void scratch_addresses_mean_what_they_were_mapped_to_when_it_was_built(void **state)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL arg = {.NodeOrdinal = NODE, .Flags.Paging = 1};
    struct stage_pages home;
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    stage_make_texture(&stage, &home);
    move_virtually(&stage, &home);
    arg.DmaBufferSize = stage.used;
    arg.SubmissionFenceId = ++stage.fence;
    miniport_submit_command_virtual(stage.top, NULL, &arg);
    stage_complete(&stage, stage.fence);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        stage_assert_at(&stage, i, stage.local, 200 + i);
    stage_assert_silent(&stage);
    stage_close(&stage);
}

/*
 * Entries in all mixtures of runs, over the end of what is kept together: each page is where its
 * entry says. Then all of them in one run, of entries of 64 KiB, and not valid any more.
 */
static void runs_of_entries_end_where_an_entry_does_not_follow(void **state)
{
    enum { HOME = 16, MIXED = 504, WHOLE = 640 };
    static const uint64_t at_segment_1[] = {200, 201, 202, 204, 204,  203, 330, 331,
                                            332, 333, 400, 401, 1023, 210, 0,   500};
    static const bool is_system[TEXTURE_PAGES] = {[4] = true, [8] = true, [9] = true, [15] = true};
    DXGKARG_CREATEPROCESS process = {.Flags.SystemProcess = 1};
    DXGK_PTE entries[TEXTURE_PAGES] = {0};
    DXGKARG_BUILDPAGINGBUFFER arg = {
        .Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE,
        .UpdatePageTable = {.pPageTableEntries = entries,
                            .NumPageTableEntries = TEXTURE_PAGES,
                            .hProcess = HANDLE_OF(0x101),
                            .FirstPteVirtualAddress = PAGE_NUMBER(MIXED)},
    };
    struct stage_pages home;
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    stage_make_texture(&stage, &home);
    miniport_create_process(stage.top, NULL, &process);
    stage_map_scratch(&stage, HOME, 0, &home.pfns[MDL_POISON], TEXTURE_PAGES);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++) {
        entries[i].Valid = 1;
        entries[i].Segment = is_system[i] ? 0 : 1;
        entries[i].PageAddress = at_segment_1[i];
    }
    stage_build(&stage, &arg);
    stage_move_virtually(&stage, HOME, MIXED);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        stage_assert_at(&stage, i, is_system[i] ? stage.ram : stage.local, at_segment_1[i]);

    arg.UpdatePageTable.FirstPteVirtualAddress = PAGE_NUMBER(WHOLE);
    arg.UpdatePageTable.NumPageTableEntries = 1;
    arg.UpdatePageTable.Flags.Use64KBPages = 1;
    entries[0].Segment = 1;
    entries[0].PageAddress = 700;
    stage_build(&stage, &arg);
    stage_move_virtually(&stage, MIXED, WHOLE);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        stage_assert_at(&stage, i, stage.local, 700 + i);
    stage_assert_silent(&stage);

    /*
     * One entry that is not valid, for all but the first of them; the driver moves them regardless.
     */
    arg.UpdatePageTable.FirstPteVirtualAddress = PAGE_NUMBER(MIXED + 1);
    arg.UpdatePageTable.NumPageTableEntries = TEXTURE_PAGES - 1;
    arg.UpdatePageTable.Flags.Use64KBPages = 0;
    arg.UpdatePageTable.Flags.Repeat = 1;
    entries[0] = (DXGK_PTE){0};
    stage_build(&stage, &arg);
    stage_move_virtually(&stage, WHOLE, MIXED);
    stage_assert_at(&stage, 0, stage.local, 200);
    for (uint32_t i = 1; i < TEXTURE_PAGES; i++) {
        struct page_store *store;
        uint64_t page;

        assert_false(oracle_find_page(stage.oracle, TEXTURE, i, &store, &page));
    }
    stage_close(&stage);
}

/* Its offset in bytes has more than 64 bits, and the last 64 of them lead into the segment. */
static void an_entry_far_behind_its_segment_leads_nowhere(void **state)
{
    DXGKARG_CREATEPROCESS process = {.Flags.SystemProcess = 1};
    uint64_t pages[TEXTURE_PAGES];
    struct page_store *store;
    struct stage_pages home;
    struct stage stage;
    uint64_t page;

    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        pages[i] = (UINT64_C(1) << 52) + 200 + i;
    stage_open(&stage, NO_DEFECT);
    stage_make_texture(&stage, &home);
    miniport_create_process(stage.top, NULL, &process);
    stage_map_scratch(&stage, 16, 0, &home.pfns[MDL_POISON], TEXTURE_PAGES);
    stage_map_scratch(&stage, 32, 1, pages, TEXTURE_PAGES);
    stage_move_virtually(&stage, 16, 32);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        assert_false(oracle_find_page(stage.oracle, TEXTURE, i, &store, &page));
    stage_close(&stage);
}

static void entries_of_a_process_tell_where_an_allocation_lives(void **state)
{
    DXGK_PTE entries[TEXTURE_PAGES] = {0};
    DXGKARG_BUILDPAGINGBUFFER arg = {
        .Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE,
        .UpdatePageTable = {.hAllocation = HANDLE_OF(TEXTURE),
                            .pPageTableEntries = entries,
                            .NumPageTableEntries = TEXTURE_PAGES,
                            .hProcess = HANDLE_OF(0x100),
                            .FirstPteVirtualAddress = PAGE_NUMBER(5000)},
    };
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    stage_create(&stage, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++) {
        entries[i].Valid = 1;
        entries[i].PageAddress = 600 - 3 * i;
    }
    stage_build(&stage, &arg);
    stage_assert_at(&stage, 4, stage.ram, 588);
    stage_assert_silent(&stage);
    stage_close(&stage);
}

/* ---- Planted defects ---- */

struct defect_case {
    enum stage_defect defect;
    uint32_t first; /* the transfer that shows it */
    uint32_t count;
    bool is_in;
    uint32_t buffer_bytes;
    uint64_t offset; /* of the first wrong byte */
    const char *where;
};

/* Brings the texture to local page 40 without a defect, unless the transfer in is what shows it. */
static void show_defect(struct stage *stage, const struct defect_case *shown)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;
    struct stage_pages other;

    stage_open(stage, NO_DEFECT);
    page_store_fill(stage->local, 0, PAGE_NUMBER(STORE_PAGES), 0x55555555);
    stage_make_texture(stage, &home);
    stage_make_pages(&other, 500, TEXTURE_PAGES);
    if (!shown->is_in) {
        arg = stage_transfer(&home, 40, true, 0, TEXTURE_PAGES);
        stage_build(stage, &arg);
        stage_submit_and_complete(stage);
    }
    assert_int_equal(stage->report_count, 0);
    stage->driver->defect = shown->defect;
    stage->buffer_bytes = shown->buffer_bytes;
    stage->used = stage->submitted = 0;
    stage->buffer ^= 1;
    arg =
        stage_transfer(shown->is_in ? &home : &other, 40, shown->is_in, shown->first, shown->count);
    stage_build(stage, &arg);
    stage_submit_and_complete(stage);
}

static void every_defect_is_reported_once_and_in_its_place(void **state)
{
    static const struct defect_case cases[] = {
        {WRONG_BYTE, 0, 16, true, 256, 0x5009, "segment 1 page 0x2d, byte 0x9"},
        {WRONG_BYTE, 0, 16, false, 256, 0x5009, "system page 0x2ad, byte 0x9"},
        {WRONG_ORDER, 0, 16, true, 256, 0x4000, "segment 1 page 0x2c, byte 0x0"},
        {WRONG_ORDER, 0, 16, false, 256, 0x4000, "system page 0x288"},
        {MISSING_PAGE, 0, 16, true, 256, 0x5000, "segment 1 page 0x2d"},
        {MISSING_PAGE, 0, 16, false, 256, 0x5000, "system page 0x2ad"},
        {SWALLOWED, 0, 16, true, 256, 0x0, "segment 1 page 0x28"},
        {IGNORES_OFFSET, 4, 4, true, 256, 0x4000, "segment 1 page 0x2c"},
        {IGNORES_OFFSET, 4, 4, false, 256, 0x4000, "system page 0x288"},
        {OFFSET_ON_MDL, 4, 4, true, 256, 0x4000, "segment 1 page 0x2c"},
        {OFFSET_ON_MDL, 4, 4, false, 256, 0x4000, "system page 0x288"},
        {IGNORES_MDL_OFFSET, 0, 16, true, 256, 0x0, "segment 1 page 0x28"},
        {IGNORES_MDL_OFFSET, 0, 16, false, 256, 0x0, "system page 0x1f4"},
        {RESTARTS, 0, 16, true, 32, 0x0, "segment 1 page 0x28"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct stage stage;

        show_defect(&stage, &cases[i]);
        stage_assert_reported(&stage, cases[i].offset, cases[i].where, "TRANSFER of event");
        assert_false(oracle_final_check(stage.oracle));
        assert_int_equal(stage.report_count, 1);
        stage_close(&stage);
    }
}

static void the_same_flows_without_a_defect_are_silent(void **state)
{
    static const struct defect_case cases[] = {
        {NO_DEFECT, 0, 16, true, 256, 0, ""}, {NO_DEFECT, 0, 16, false, 256, 0, ""},
        {NO_DEFECT, 4, 4, true, 256, 0, ""},  {NO_DEFECT, 4, 4, false, 256, 0, ""},
        {NO_DEFECT, 0, 16, true, 32, 0, ""},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct stage stage;

        show_defect(&stage, &cases[i]);
        stage_assert_silent(&stage);
        stage_close(&stage);
    }
}

/* PB-011 when it took more than one call, VX-003 when it took one. */
static void a_virtual_transfer_that_loses_a_part_is_blamed_by_its_calls(void **state)
{
    for (unsigned is_repeated = 0; is_repeated < 2; is_repeated++) {
        DXGKARG_CREATEPROCESS process = {.Flags.SystemProcess = 1};
        uint64_t local[TEXTURE_PAGES];
        struct stage_pages home;
        struct stage stage;

        for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
            local[i] = 40 + i;
        stage_open(&stage, is_repeated ? RESTARTS : SWALLOWED);
        stage.buffer_bytes = is_repeated ? 4 * 8 : 256;
        stage_make_texture(&stage, &home);
        miniport_create_process(stage.top, NULL, &process);
        stage_map_scratch(&stage, 16, 0, &home.pfns[MDL_POISON], TEXTURE_PAGES);
        stage_map_scratch(&stage, 32, 1, local, TEXTURE_PAGES);
        stage_move_virtually(&stage, 16, 32);
        stage_assert_reported(&stage, 0, "segment 1 page 0x28", "VIRTUAL_TRANSFER of event");
        assert_int_equal(stage.last.rule, is_repeated ? RULE_PB_011 : RULE_VX_003);
        stage_close(&stage);
    }
}

static void content_that_changes_behind_everyone_is_found_at_the_end(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    stage_make_texture(&stage, &home);
    arg = stage_transfer(&home, 40, true, 0, TEXTURE_PAGES);
    stage_build(&stage, &arg);
    stage_submit_and_complete(&stage);
    page_store_write(stage.local, PAGE_NUMBER(47) + 100, "?", 1);
    assert_false(oracle_final_check(stage.oracle));
    stage_assert_reported(&stage, PAGE_NUMBER(7) + 100, "segment 1 page 0x2f, byte 0x64",
                          "final check");
    stage_close(&stage);
}

/* ---- What never ends ---- */

static void operations_that_nobody_submits_or_completes_are_reported(void **state)
{
    for (unsigned is_submitted = 0; is_submitted < 2; is_submitted++) {
        DXGKARG_BUILDPAGINGBUFFER arg;
        struct stage_pages home;
        struct stage stage;

        stage_open(&stage, NO_DEFECT);
        stage_make_texture(&stage, &home);
        arg = stage_transfer(&home, 40, true, 0, TEXTURE_PAGES);
        stage_build(&stage, &arg);
        if (is_submitted)
            stage_submit(&stage);
        stage_complete(&stage, is_submitted ? stage.fence - 1 : 5);
        assert_false(oracle_final_check(stage.oracle));
        assert_int_equal(stage.report_count, 1);
        assert_int_equal(stage.last.problem, ORACLE_UNFINISHED);
        assert_non_null(strstr(stage.text, is_submitted ? "fence 1 of node 1" : "never submitted"));
        stage_close(&stage);
    }
}

static void an_allocation_may_go_before_its_operation_retires(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;
    struct stage stage;

    stage_open(&stage, NO_DEFECT);
    stage_make_texture(&stage, &home);
    arg = stage_transfer(&home, 40, true, 0, TEXTURE_PAGES);
    stage_build(&stage, &arg);
    stage_submit(&stage);
    oracle_allocation_freed(stage.oracle, TEXTURE);
    stage_destroy(&stage, TEXTURE);
    assert_true(oracle_check(stage.oracle));
    stage_complete(&stage, stage.fence);
    arg = stage_fill(TEXTURE, 40, 1); /* nobody's now */
    stage_build(&stage, &arg);
    stage_submit_and_complete(&stage);
    assert_int_equal(oracle_counters(stage.oracle)->operations_foreign, 1);
    stage_assert_silent(&stage);
    stage_close(&stage);
}

static void every_nth_allocation_failure_is_told_and_leaves_it_whole(void **state)
{
    struct failing_services memory;
    unsigned told_count = 0;

    for (uint64_t n = 1;; n++) {
        struct stage stage;

        failing_services_init(&memory);
        failing_services_fail_at(&memory, n);
        if (stage_open_with(&stage, &memory.services) == STATUS_SUCCESS) {
            struct stage_pages home;

            stage_make_pages(&home, 100, TEXTURE_PAGES);
            if (stage_create(&stage, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES)) == STATUS_SUCCESS) {
                DXGKARG_BUILDPAGINGBUFFER arg = stage_fill(TEXTURE, 40, 0);

                stage_build(&stage, &arg);
                stage_submit_and_complete(&stage);
                move_virtually(&stage, &home);
                stage_submit_and_complete(&stage);
                oracle_final_check(stage.oracle);
            }
            assert_int_equal(oracle_counters(stage.oracle)->mismatches, 0);
            told_count += oracle_counters(stage.oracle)->lost_operations != 0;
            stage_close(&stage);
        }
        assert_int_equal(memory.live_blocks, 0);
        if (!memory.has_failed)
            break;
    }
    assert_true(told_count > 5);
}

/* ---- Reports that come too early ---- */

/* A page is not there when its packet is reported; it may come before the driver is called again.
 */
enum since { NOTHING_SINCE, WRITTEN_SINCE, WRITTEN_AND_LATE };

static void look_behind_an_early_report(bool comes_late, enum since since)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;
    struct stage stage;

    stage_open(&stage, MISSING_PAGE);
    stage_make_texture(&stage, &home);
    arg = stage_transfer(&home, 40, true, 0, TEXTURE_PAGES);
    stage_build(&stage, &arg);
    stage_submit_and_complete(&stage);
    assert_int_equal(stage.report_count, 1);
    assert_int_equal(stage.counts.evaluated[RULE_FENCE_003], 1);
    if (since != NOTHING_SINCE) { /* by its client: it is another content that is there */
        page_store_write_tag(stage.local, PAGE_NUMBER(45), PAGE_BYTES, 77);
        oracle_cpu_write(stage.oracle, TEXTURE, PAGE_NUMBER(5), stage.local, PAGE_NUMBER(45),
                         PAGE_BYTES, 77);
    }
    if (comes_late && since != WRITTEN_SINCE) {
        page_store_copy(stage.local, 45, stage.ram, home.pfns[MDL_POISON + 5], 1);
    }
    oracle_final_check(stage.oracle);
    assert_int_equal(stage.counts.broken[RULE_FENCE_003], comes_late && since == NOTHING_SINCE);
    /* What comes late over another content is wrong in another way. */
    assert_int_equal(stage.report_count, 1 + (comes_late && since == NOTHING_SINCE));
    if (comes_late && since == NOTHING_SINCE) {
        assert_int_equal(stage.last.rule, RULE_FENCE_003);
        assert_non_null(strstr(stage.text, "byte 0x5000: right now, and wrong when fence 0x1"));
    }
    stage_close(&stage);
}

/* What comes to its former place is not the content any more. */
static void a_page_that_an_operation_has_placed_anew_is_not_late(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct stage_pages home;
    struct stage stage;

    stage_open(&stage, MISSING_PAGE);
    stage_make_texture(&stage, &home);
    arg = stage_transfer(&home, 40, true, 0, TEXTURE_PAGES);
    stage_build(&stage, &arg);
    stage_submit_and_complete(&stage);
    assert_int_equal(stage.counts.evaluated[RULE_FENCE_003], 1);
    arg = stage_transfer(&home, 40, false, 0, TEXTURE_PAGES);
    stage_build(&stage, &arg);
    stage_submit_and_complete(&stage);
    page_store_copy(stage.local, 45, stage.ram, home.pfns[MDL_POISON + 5], 1);
    oracle_final_check(stage.oracle);
    assert_int_equal(stage.counts.broken[RULE_FENCE_003], 0);
    stage_close(&stage);
}

static void what_is_right_behind_its_report_came_too_late(void **state)
{
    look_behind_an_early_report(true, NOTHING_SINCE);
    look_behind_an_early_report(false, NOTHING_SINCE);
    look_behind_an_early_report(true, WRITTEN_SINCE);
    look_behind_an_early_report(true, WRITTEN_AND_LATE);
}

/* ---- What is looked at, and what is not known ---- */

static void a_virtual_fill_is_looked_at_for_VX_008(void **state)
{
    DXGKARG_CREATEPROCESS process = {.Flags.SystemProcess = 1};
    DXGKARG_BUILDPAGINGBUFFER arg = {
        .Operation = DXGK_OPERATION_VIRTUAL_FILL,
        .FillVirtual = {.hAllocation = HANDLE_OF(TEXTURE),
                        .FillSizeInBytes = PAGE_NUMBER(TEXTURE_PAGES),
                        .DestinationVirtualAddress = PAGE_NUMBER(16)},
    };
    uint64_t pages[TEXTURE_PAGES];
    struct stage stage;

    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        pages[i] = 200 + i;
    stage_open(&stage, NO_DEFECT);
    stage_create(&stage, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
    miniport_create_process(stage.top, NULL, &process);
    stage_map_scratch(&stage, 16, 1, pages, TEXTURE_PAGES);
    stage_build(&stage, &arg);
    assert_int_equal(stage.counts.evaluated[RULE_VX_008], 0);
    stage_submit_and_complete(&stage);
    assert_int_equal(stage.counts.evaluated[RULE_VX_008], 1);
    stage_assert_at(&stage, 3, stage.local, 203);
    stage_assert_silent(&stage);
    stage_close(&stage);
}

/* Only then would a driver that takes the list for one run be seen: XFER-005. */
static void a_list_is_scattered_when_its_pages_do_not_follow_the_first_used_one(void **state)
{
    for (unsigned is_scattered = 0; is_scattered < 2; is_scattered++) {
        DXGKARG_BUILDPAGINGBUFFER arg;
        struct stage_pages home;
        struct stage stage;

        stage_open(&stage, NO_DEFECT);
        stage_create(&stage, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
        stage_make_pages(&home, 300, TEXTURE_PAGES);
        for (uint32_t i = 0; i < TEXTURE_PAGES && !is_scattered; i++)
            home.pfns[MDL_POISON + i] = 300 + i;
        arg = stage_transfer(&home, 40, true, 0, TEXTURE_PAGES);
        stage_build(&stage, &arg);
        stage_submit_and_complete(&stage);
        assert_int_equal(stage.counts.evaluated[RULE_XFER_006], 1);
        assert_int_equal(stage.counts.evaluated[RULE_XFER_005], is_scattered);
        stage_close(&stage);
    }
}

/* Rules of the manager judge where it goes; the oracle no longer knows where the pages are. */
static void what_is_filled_beyond_its_segment_is_nowhere_that_is_known(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct page_store *store;
    struct stage_pages home;
    struct stage stage;
    uint64_t page;

    stage_open(&stage, NO_DEFECT);
    stage_make_texture(&stage, &home);
    arg = stage_transfer(&home, 40, true, 0, TEXTURE_PAGES);
    stage_build(&stage, &arg);
    stage_submit_and_complete(&stage);
    stage_assert_at(&stage, 0, stage.local, 40);
    stage.driver->defect = SWALLOWED; /* there is no memory that it could fill */
    arg = stage_fill(TEXTURE, STORE_PAGES - TEXTURE_PAGES / 2, 0);
    stage_build(&stage, &arg);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        assert_false(oracle_find_page(stage.oracle, TEXTURE, i, &store, &page));
    stage_close(&stage);
}

static NTSTATUS create_fence(struct miniport *self, HANDLE object, DXGKARG_CREATENATIVEFENCE *arg)
{
    arg->hGlobalNativeFence = HANDLE_OF(9);
    return STATUS_SUCCESS;
}

static void a_fence_that_is_never_destroyed_goes_with_the_oracle(void **state)
{
    DXGKARG_CREATENATIVEFENCE arg = {0};
    struct failing_services memory;
    uint64_t before;
    struct stage stage;

    failing_services_init(&memory);
    assert_int_equal(stage_open_with(&stage, &memory.services), STATUS_SUCCESS);
    before = memory.live_blocks;
    stage.driver->ops.create_native_fence = create_fence;
    assert_int_equal(miniport_create_native_fence(stage.top, NULL, &arg), STATUS_SUCCESS);
    assert_true(memory.live_blocks > before);
    stage_close(&stage);
    assert_int_equal(memory.live_blocks, 0);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_followed_in_and_out_in_silence),
        cmocka_unit_test(an_operation_in_parts_is_published_with_its_last_one),
        cmocka_unit_test(pieces_of_a_move_are_where_their_offsets_say),
        cmocka_unit_test(packets_that_one_interrupt_completes_are_judged_by_what_is_there_now),
        cmocka_unit_test(a_submission_takes_what_it_covers_and_no_more),
        cmocka_unit_test(a_submission_takes_nothing_of_another_buffer),
        cmocka_unit_test(a_fill_of_what_was_never_written_is_zero),
        cmocka_unit_test(a_fill_that_went_too_far_is_blamed_for_the_first_page_of_a_segment),
        cmocka_unit_test(an_aperture_map_tells_where_an_allocation_lives),
        cmocka_unit_test(a_map_without_a_list_or_an_aperture_tells_nothing),
        cmocka_unit_test(a_discard_falls_back_to_the_backing_and_finds_what_is_stale),
        cmocka_unit_test(system_pages_are_remembered_until_the_last_page_is_out),
        cmocka_unit_test(a_discard_without_a_copy_leaves_written_content_nowhere),
        cmocka_unit_test(scratch_addresses_mean_what_they_were_mapped_to_when_it_was_built),
        cmocka_unit_test(runs_of_entries_end_where_an_entry_does_not_follow),
        cmocka_unit_test(an_entry_far_behind_its_segment_leads_nowhere),
        cmocka_unit_test(entries_of_a_process_tell_where_an_allocation_lives),
        cmocka_unit_test(every_defect_is_reported_once_and_in_its_place),
        cmocka_unit_test(the_same_flows_without_a_defect_are_silent),
        cmocka_unit_test(a_virtual_transfer_that_loses_a_part_is_blamed_by_its_calls),
        cmocka_unit_test(content_that_changes_behind_everyone_is_found_at_the_end),
        cmocka_unit_test(operations_that_nobody_submits_or_completes_are_reported),
        cmocka_unit_test(an_allocation_may_go_before_its_operation_retires),
        cmocka_unit_test(every_nth_allocation_failure_is_told_and_leaves_it_whole),
        cmocka_unit_test(what_is_right_behind_its_report_came_too_late),
        cmocka_unit_test(a_page_that_an_operation_has_placed_anew_is_not_late),
        cmocka_unit_test(a_virtual_fill_is_looked_at_for_VX_008),
        cmocka_unit_test(a_list_is_scattered_when_its_pages_do_not_follow_the_first_used_one),
        cmocka_unit_test(what_is_filled_beyond_its_segment_is_nowhere_that_is_known),
        cmocka_unit_test(a_fence_that_is_never_destroyed_goes_with_the_oracle),
    };

    return told_run(tests, ARRAY_COUNT(tests), __FILE__);
}
