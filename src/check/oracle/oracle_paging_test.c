/*
 * What the oracle says about paging: correct flows are silent, planted defects are reported once
 * and in their place. oracle_stage.h has the driver and the calls.
 */
#include "check/oracle/oracle_stage.h"

static void assert_silent(struct bench *bench)
{
    assert_true(oracle_final_check(bench->oracle));
    assert_int_equal(bench->report_count, 0);
    assert_int_equal(oracle_counters(bench->oracle)->unmatched_packets, 0);
    assert_int_equal(oracle_counters(bench->oracle)->lost_operations, 0);
}

/* One report, of content, that says where. */
static void assert_reported(const struct bench *bench, uint64_t offset, const char *where,
                            const char *when)
{
    assert_int_equal(bench->report_count, 1);
    assert_int_equal(bench->last.problem, ORACLE_CONTENT);
    assert_int_equal(bench->last.allocation, TEXTURE);
    assert_int_equal(bench->last.page, offset / PAGE_BYTES);
    assert_int_equal(bench->last.offset, offset);
    if (!strstr(bench->text, where) || !strstr(bench->text, when))
        print_error("%s\n", bench->text);
    assert_non_null(strstr(bench->text, where));
    assert_non_null(strstr(bench->text, when));
}

/* ---- Correct flows ---- */

static void pages_are_followed_in_and_out_in_silence(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct pages other;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
    build(&bench, &arg);
    assert_at(&bench, 3, bench.ram, home.pfns[MDL_POISON + 3]);
    submit(&bench);
    assert_at(&bench, 3, bench.ram, home.pfns[MDL_POISON + 3]); /* not before its fence */
    complete(&bench, bench.fence);
    assert_int_equal(bench.interrupt_count, 1);
    assert_at(&bench, 3, bench.local, 43);
    make_pages(&other, 500, TEXTURE_PAGES);
    arg = transfer(&other, 40, false, 0, TEXTURE_PAGES);
    build(&bench, &arg);
    submit_and_complete(&bench);
    assert_at(&bench, 15, bench.ram, other.pfns[MDL_POISON + 15]);
    assert_silent(&bench);
    assert_int_equal(oracle_counters(bench.oracle)->pages_checked, 3 * TEXTURE_PAGES);
    assert_int_equal(oracle_counters(bench.oracle)->packets, 2);
    close_bench(&bench);
}

static void an_operation_in_parts_is_published_with_its_last_one(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    bench.buffer_bytes = 5 * 8;
    make_texture(&bench, &home);
    arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
    build(&bench, &arg);
    submit(&bench);
    assert_int_equal(bench.fence, 4);
    complete(&bench, 3);
    assert_at(&bench, 0, bench.ram, home.pfns[MDL_POISON]);
    assert_int_equal(oracle_counters(bench.oracle)->packets, 3);
    complete(&bench, 4);
    assert_at(&bench, 0, bench.local, 40);
    assert_silent(&bench);
    close_bench(&bench);
}

static void pieces_of_a_move_are_where_their_offsets_say(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    for (uint32_t first = 0; first < TEXTURE_PAGES; first += 4) {
        arg = transfer(&home, 40, true, first, 4);
        build(&bench, &arg);
        if (first == 4)
            submit(&bench);
    }
    submit(&bench);
    complete(&bench, bench.fence);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        assert_at(&bench, i, bench.local, 40 + i);
    assert_silent(&bench);
    close_bench(&bench);
}

static void packets_that_one_interrupt_completes_are_judged_by_what_is_there_now(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct pages other;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    make_pages(&other, 500, TEXTURE_PAGES);
    arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
    build(&bench, &arg);
    submit(&bench);
    arg = transfer(&other, 40, false, 0, TEXTURE_PAGES);
    build(&bench, &arg);
    submit(&bench);
    page_store_fill(bench.local, PAGE_NUMBER(40), PAGE_NUMBER(4), 0xabcdef01); /* reused */
    complete(&bench, bench.fence);
    assert_at(&bench, 2, bench.ram, other.pfns[MDL_POISON + 2]);
    assert_int_equal(oracle_counters(bench.oracle)->pages_checked, TEXTURE_PAGES);
    assert_silent(&bench);
    close_bench(&bench);
}

static void a_submission_takes_what_it_covers_and_no_more(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct bench bench;
    uint32_t covered;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    arg = transfer(&home, 40, true, 0, 8);
    build(&bench, &arg);
    covered = bench.used;
    arg = transfer(&home, 40, true, 8, 8);
    build(&bench, &arg);
    bench.used = covered;
    submit_and_complete(&bench);
    assert_at(&bench, 7, bench.local, 47);
    assert_at(&bench, 8, bench.ram, home.pfns[MDL_POISON + 8]);
    bench.used = 2 * covered;
    submit_and_complete(&bench);
    assert_at(&bench, 8, bench.local, 48);
    assert_silent(&bench);
    close_bench(&bench);
}

static DXGKARG_BUILDPAGINGBUFFER fill(uint64_t id, uint64_t local_page, uint32_t pattern)
{
    return (DXGKARG_BUILDPAGINGBUFFER){
        .Operation = DXGK_OPERATION_FILL,
        .Fill = {.hAllocation = HANDLE_OF(id),
                 .FillSize = PAGE_NUMBER(TEXTURE_PAGES),
                 .FillPattern = pattern,
                 .Destination = {.SegmentId = 1,
                                 .SegmentAddress.QuadPart =
                                     (LONGLONG)(SEGMENT_BASE + PAGE_NUMBER(local_page))}},
    };
}

static void a_fill_of_what_was_never_written_is_zero(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = fill(TEXTURE, 80, 0);
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    page_store_fill(bench.local, 0, PAGE_NUMBER(STORE_PAGES), 0x55555555);
    create(&bench, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
    build(&bench, &arg);
    submit_and_complete(&bench);
    assert_silent(&bench);
    arg = fill(TEXTURE, 120, 0x11);
    build(&bench, &arg);
    submit_and_complete(&bench);
    assert_reported(&bench, 0, "segment 1 page 0x78", "FILL of event");
    close_bench(&bench);
}

static void an_aperture_map_tells_where_an_allocation_lives(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT};
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    create(&bench, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
    make_pages(&home, 300, TEXTURE_PAGES);
    memmove(home.pfns, home.pfns + MDL_POISON, TEXTURE_PAGES * sizeof home.pfns[0]);
    home.mdl.ByteCount = TEXTURE_PAGES * (ULONG)PAGE_BYTES;
    arg.MapApertureSegment.hAllocation = HANDLE_OF(TEXTURE);
    arg.MapApertureSegment.SegmentId = 2;
    arg.MapApertureSegment.OffsetInPages = 8;
    arg.MapApertureSegment.NumberOfPages = TEXTURE_PAGES;
    arg.MapApertureSegment.pMdl = &home.mdl;
    build(&bench, &arg);
    assert_at(&bench, 5, bench.ram, home.pfns[5]);
    assert_silent(&bench);
    page_store_fill(bench.ram, PAGE_NUMBER(home.pfns[5]) + 8, 4, 1);
    assert_false(oracle_final_check(bench.oracle));
    assert_reported(&bench, PAGE_NUMBER(5) + 8, "system page", "final check");
    close_bench(&bench);
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
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    for (unsigned is_dirty = 0; is_dirty < 2; is_dirty++) {
        arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
        build(&bench, &arg);
        submit_and_complete(&bench);
        if (is_dirty) {
            page_store_write_tag(bench.local, PAGE_NUMBER(42), PAGE_BYTES, 9);
            oracle_cpu_write(bench.oracle, TEXTURE, PAGE_NUMBER(2), bench.local, PAGE_NUMBER(42),
                             PAGE_BYTES, 9);
        }
        arg = discard(40);
        build(&bench, &arg);
        if (is_dirty)
            break;
        assert_at(&bench, 2, bench.ram, home.pfns[MDL_POISON + 2]);
        assert_silent(&bench);
    }
    assert_reported(&bench, PAGE_NUMBER(2), "system page", "DISCARD_CONTENT");
    close_bench(&bench);
}

static void a_discard_without_a_copy_leaves_written_content_nowhere(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = fill(TEXTURE, 40, 0);
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    create(&bench, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
    build(&bench, &arg);
    submit_and_complete(&bench);
    arg = discard(40);
    build(&bench, &arg);
    assert_silent(&bench); /* it was zero, and will be filled again */
    arg = fill(TEXTURE, 40, 0);
    build(&bench, &arg);
    submit_and_complete(&bench);
    oracle_cpu_write(bench.oracle, TEXTURE, PAGE_NUMBER(3), bench.local, PAGE_NUMBER(43),
                     PAGE_BYTES, 5);
    page_store_write_tag(bench.local, PAGE_NUMBER(43), PAGE_BYTES, 5);
    arg = discard(40);
    build(&bench, &arg);
    assert_false(oracle_final_check(bench.oracle));
    assert_int_equal(bench.report_count, 1);
    assert_int_equal(bench.last.problem, ORACLE_UNLOCATED);
    assert_int_equal(bench.last.page, 3);
    close_bench(&bench);
}

/* ---- Virtual operations ---- */

static void map_scratch(struct bench *bench, uint64_t va_page, uint32_t segment,
                        const uint64_t *pages, uint32_t count)
{
    DXGK_PTE entries[64] = {0};
    DXGKARG_BUILDPAGINGBUFFER arg = {
        .Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE,
        .UpdatePageTable = {.pPageTableEntries = entries,
                            .NumPageTableEntries = count,
                            .hProcess = HANDLE_OF(0x101),
                            .FirstPteVirtualAddress = PAGE_NUMBER(va_page)},
    };

    for (uint32_t i = 0; i < count; i++) {
        entries[i].Valid = 1;
        entries[i].Segment = segment;
        entries[i].PageAddress = pages[i];
    }
    build(bench, &arg);
}

/* Moves the texture to local page 200 in chunks of four pages through one scratch range. */
static void move_virtually(struct bench *bench, const struct pages *home)
{
    DXGKARG_CREATEPROCESS process = {.Flags.SystemProcess = 1};

    miniport_create_process(bench->top, NULL, &process);
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
        map_scratch(bench, 16, 0, system, 4);
        map_scratch(bench, 32, 1, local, 4);
        build(bench, &arg);
    }
}

static void scratch_addresses_mean_what_they_were_mapped_to_when_it_was_built(void **state)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL arg = {.NodeOrdinal = NODE, .Flags.Paging = 1};
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    move_virtually(&bench, &home);
    arg.DmaBufferSize = bench.used;
    arg.SubmissionFenceId = ++bench.fence;
    miniport_submit_command_virtual(bench.top, NULL, &arg);
    complete(&bench, bench.fence);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        assert_at(&bench, i, bench.local, 200 + i);
    assert_silent(&bench);
    close_bench(&bench);
}

/* The whole texture from an address of the paging process to another one. */
static void move_in_paging_process(struct bench *bench, uint64_t from_page, uint64_t to_page)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {
        .Operation = DXGK_OPERATION_VIRTUAL_TRANSFER,
        .TransferVirtual = {.hAllocation = HANDLE_OF(TEXTURE),
                            .TransferSizeInBytes = PAGE_NUMBER(TEXTURE_PAGES),
                            .SourceVirtualAddress = PAGE_NUMBER(from_page),
                            .DestinationVirtualAddress = PAGE_NUMBER(to_page)},
    };
    DXGKARG_SUBMITCOMMANDVIRTUAL submission = {.NodeOrdinal = NODE, .Flags.Paging = 1};

    build(bench, &arg);
    submission.DmaBufferSize = bench->used - bench->submitted;
    submission.SubmissionFenceId = ++bench->fence;
    bench->submitted = bench->used;
    miniport_submit_command_virtual(bench->top, NULL, &submission);
    complete(bench, bench->fence);
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
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    miniport_create_process(bench.top, NULL, &process);
    map_scratch(&bench, HOME, 0, &home.pfns[MDL_POISON], TEXTURE_PAGES);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++) {
        entries[i].Valid = 1;
        entries[i].Segment = is_system[i] ? 0 : 1;
        entries[i].PageAddress = at_segment_1[i];
    }
    build(&bench, &arg);
    move_in_paging_process(&bench, HOME, MIXED);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        assert_at(&bench, i, is_system[i] ? bench.ram : bench.local, at_segment_1[i]);

    arg.UpdatePageTable.FirstPteVirtualAddress = PAGE_NUMBER(WHOLE);
    arg.UpdatePageTable.NumPageTableEntries = 1;
    arg.UpdatePageTable.Flags.Use64KBPages = 1;
    entries[0].Segment = 1;
    entries[0].PageAddress = 700;
    build(&bench, &arg);
    move_in_paging_process(&bench, MIXED, WHOLE);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        assert_at(&bench, i, bench.local, 700 + i);
    assert_silent(&bench);

    /*
     * One entry that is not valid, for all but the first of them; the driver moves them regardless.
     */
    arg.UpdatePageTable.FirstPteVirtualAddress = PAGE_NUMBER(MIXED + 1);
    arg.UpdatePageTable.NumPageTableEntries = TEXTURE_PAGES - 1;
    arg.UpdatePageTable.Flags.Use64KBPages = 0;
    arg.UpdatePageTable.Flags.Repeat = 1;
    entries[0] = (DXGK_PTE){0};
    build(&bench, &arg);
    move_in_paging_process(&bench, WHOLE, MIXED);
    assert_at(&bench, 0, bench.local, 200);
    for (uint32_t i = 1; i < TEXTURE_PAGES; i++) {
        struct page_store *store;
        uint64_t page;

        assert_false(oracle_find_page(bench.oracle, TEXTURE, i, &store, &page));
    }
    close_bench(&bench);
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
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    create(&bench, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++) {
        entries[i].Valid = 1;
        entries[i].PageAddress = 600 - 3 * i;
    }
    build(&bench, &arg);
    assert_at(&bench, 4, bench.ram, 588);
    assert_silent(&bench);
    close_bench(&bench);
}

/* ---- Planted defects ---- */

struct defect_case {
    enum defect defect;
    uint32_t first; /* the transfer that shows it */
    uint32_t count;
    bool is_in;
    uint32_t buffer_bytes;
    uint64_t offset; /* of the first wrong byte */
    const char *where;
};

/* Brings the texture to local page 40 without a defect, unless the transfer in is what shows it. */
static void show_defect(struct bench *bench, const struct defect_case *shown)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct pages other;

    open_bench(bench, NO_DEFECT);
    page_store_fill(bench->local, 0, PAGE_NUMBER(STORE_PAGES), 0x55555555);
    make_texture(bench, &home);
    make_pages(&other, 500, TEXTURE_PAGES);
    if (!shown->is_in) {
        arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
        build(bench, &arg);
        submit_and_complete(bench);
    }
    assert_int_equal(bench->report_count, 0);
    bench->driver->defect = shown->defect;
    bench->buffer_bytes = shown->buffer_bytes;
    bench->used = bench->submitted = 0;
    bench->buffer ^= 1;
    arg = transfer(shown->is_in ? &home : &other, 40, shown->is_in, shown->first, shown->count);
    build(bench, &arg);
    submit_and_complete(bench);
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
        struct bench bench;

        show_defect(&bench, &cases[i]);
        assert_reported(&bench, cases[i].offset, cases[i].where, "TRANSFER of event");
        assert_false(oracle_final_check(bench.oracle));
        assert_int_equal(bench.report_count, 1);
        close_bench(&bench);
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
        struct bench bench;

        show_defect(&bench, &cases[i]);
        assert_silent(&bench);
        close_bench(&bench);
    }
}

static void content_that_changes_behind_everyone_is_found_at_the_end(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
    build(&bench, &arg);
    submit_and_complete(&bench);
    page_store_write(bench.local, PAGE_NUMBER(47) + 100, "?", 1);
    assert_false(oracle_final_check(bench.oracle));
    assert_reported(&bench, PAGE_NUMBER(7) + 100, "segment 1 page 0x2f, byte 0x64", "final check");
    close_bench(&bench);
}

/* ---- What never ends ---- */

static void operations_that_nobody_submits_or_completes_are_reported(void **state)
{
    for (unsigned is_submitted = 0; is_submitted < 2; is_submitted++) {
        DXGKARG_BUILDPAGINGBUFFER arg;
        struct pages home;
        struct bench bench;

        open_bench(&bench, NO_DEFECT);
        make_texture(&bench, &home);
        arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
        build(&bench, &arg);
        if (is_submitted)
            submit(&bench);
        complete(&bench, is_submitted ? bench.fence - 1 : 5);
        assert_false(oracle_final_check(bench.oracle));
        assert_int_equal(bench.report_count, 1);
        assert_int_equal(bench.last.problem, ORACLE_UNFINISHED);
        assert_non_null(strstr(bench.text, is_submitted ? "fence 1 of node 1" : "never submitted"));
        close_bench(&bench);
    }
}

static void an_allocation_may_go_before_its_operation_retires(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
    build(&bench, &arg);
    submit(&bench);
    oracle_allocation_freed(bench.oracle, TEXTURE);
    destroy(&bench, TEXTURE);
    assert_true(oracle_check(bench.oracle));
    complete(&bench, bench.fence);
    arg = fill(TEXTURE, 40, 1); /* nobody's now */
    build(&bench, &arg);
    submit_and_complete(&bench);
    assert_int_equal(oracle_counters(bench.oracle)->operations_foreign, 1);
    assert_silent(&bench);
    close_bench(&bench);
}

static void every_nth_allocation_failure_is_told_and_leaves_it_whole(void **state)
{
    struct failing_services memory;
    unsigned told_count = 0;

    for (uint64_t n = 1;; n++) {
        struct bench bench;

        failing_services_init(&memory);
        failing_services_fail_at(&memory, n);
        if (open_with(&bench, &memory.services) == STATUS_SUCCESS) {
            struct pages home;

            make_pages(&home, 100, TEXTURE_PAGES);
            if (create(&bench, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES)) == STATUS_SUCCESS) {
                DXGKARG_BUILDPAGINGBUFFER arg = fill(TEXTURE, 40, 0);

                build(&bench, &arg);
                submit_and_complete(&bench);
                move_virtually(&bench, &home);
                submit_and_complete(&bench);
                oracle_final_check(bench.oracle);
            }
            assert_int_equal(oracle_counters(bench.oracle)->mismatches, 0);
            told_count += oracle_counters(bench.oracle)->lost_operations != 0;
            close_bench(&bench);
        }
        assert_int_equal(memory.live_blocks, 0);
        if (!memory.has_failed)
            break;
    }
    assert_true(told_count > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_followed_in_and_out_in_silence),
        cmocka_unit_test(an_operation_in_parts_is_published_with_its_last_one),
        cmocka_unit_test(pieces_of_a_move_are_where_their_offsets_say),
        cmocka_unit_test(packets_that_one_interrupt_completes_are_judged_by_what_is_there_now),
        cmocka_unit_test(a_submission_takes_what_it_covers_and_no_more),
        cmocka_unit_test(a_fill_of_what_was_never_written_is_zero),
        cmocka_unit_test(an_aperture_map_tells_where_an_allocation_lives),
        cmocka_unit_test(a_discard_falls_back_to_the_backing_and_finds_what_is_stale),
        cmocka_unit_test(a_discard_without_a_copy_leaves_written_content_nowhere),
        cmocka_unit_test(scratch_addresses_mean_what_they_were_mapped_to_when_it_was_built),
        cmocka_unit_test(runs_of_entries_end_where_an_entry_does_not_follow),
        cmocka_unit_test(entries_of_a_process_tell_where_an_allocation_lives),
        cmocka_unit_test(every_defect_is_reported_once_and_in_its_place),
        cmocka_unit_test(the_same_flows_without_a_defect_are_silent),
        cmocka_unit_test(content_that_changes_behind_everyone_is_found_at_the_end),
        cmocka_unit_test(operations_that_nobody_submits_or_completes_are_reported),
        cmocka_unit_test(an_allocation_may_go_before_its_operation_retires),
        cmocka_unit_test(every_nth_allocation_failure_is_told_and_leaves_it_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
