/* Page tables that leave and come back, and what moves so that others fit in one piece. GpuMmu. */
#include "vidmm/memory/segment.h"
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_gpu.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/vidmm.h"
#include "vidmm/work/client.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/page_allocator.h"

#define MODELS 2 /* whose page tables are in local memory */

static void make_physical(struct rig *rig, uint64_t pages, struct rig_object *object)
{
    const struct rig_request request = {
        .bytes = pages * PAGE_BYTES, .preferred = {1}, .is_physical = true};

    assert_int_equal(rig_try_object(rig, rig->device, &request, object), STATUS_SUCCESS);
}

/* Maps the object at the address too. */
static void map_at(struct rig *rig, struct rig_object *object, uint64_t va)
{
    uint64_t got;

    assert_int_equal(vidmm_map_gpu_va(rig->process,
                                      &(struct vidmm_map_request){.allocation = object->allocation,
                                                                  .bytes = PAGE_BYTES,
                                                                  .va = va},
                                      &got),
                     STATUS_SUCCESS);
    rig_drain(rig);
}

static NTSTATUS try_resident(struct rig *rig, struct rig_object *object)
{
    struct rig_done done = {0};
    uint64_t fence;
    NTSTATUS status =
        vidmm_make_resident(rig->device, 1, &object->allocation, rig_done, &done, &fence);

    if (status != STATUS_PENDING)
        return status;
    while (rig_step_machine(rig))
        assert_true(vidmm_check(rig->vidmm));
    rig_drain(rig);
    assert_int_equal(done.calls, 1);
    if (NT_SUCCESS(done.status))
        object->references++;
    return done.status;
}

static uint64_t longest_run(struct rig *rig)
{
    return page_allocator_longest_free_run(&rig->vidmm->segments[0].pages);
}

static uint64_t free_pages(struct rig *rig)
{
    return page_allocator_free_count(&rig->vidmm->segments[0].pages);
}

static void tables_that_hold_nothing_leave_for_others_and_come_back(void **state)
{
    for (unsigned model = 0; model < MODELS; model++) {
        struct rig_config config = rig_model(model + 1);
        struct rig *rig = rig_create(&config);
        struct rig_object used, large;
        const struct vidmm_statistics *statistics = vidmm_statistics(rig->vidmm);
        uint64_t tables, all;

        all = free_pages(rig);
        rig_object(rig, 8, 1, &used);
        rig_map(rig, &used);
        for (unsigned i = 1; i <= 4; i++)
            map_at(rig, &used, i * 64 * MiB);
        rig_make_resident(rig, &used);
        rig_gpu(rig, &used, 8);
        rig_evict(rig, &used);
        tables = statistics->page_table_count;

        /* Everything but the root, which stays, and what is pinned. */
        rig_object(rig, all - 1, 1, &large);
        assert_int_equal(try_resident(rig, &large), STATUS_SUCCESS);
        assert_true(statistics->evicted_tables >= 5);
        assert_int_equal(statistics->page_table_count, tables - statistics->evicted_tables);
        assert_int_equal(statistics->compactions, 0);
        rig_evict(rig, &large);

        rig_make_resident(rig, &used);
        assert_int_equal(statistics->page_table_count, tables);
        rig_gpu(rig, &used, 8);
        rig_evict(rig, &used);
        rig_cpu(rig, &used, false);
        rig_destroy_object(rig, &used);
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
}

/* What is elsewhere and idle leaves when its page tables are all that is in the way. */
static void tables_of_what_is_idle_elsewhere_leave_for_others_and_come_back(void **state)
{
    for (unsigned model = 0; model < MODELS; model++) {
        const struct rig_request elsewhere = {.bytes = 8 * PAGE_BYTES, .preferred = {2}};
        struct rig_config config = rig_model(model + 1);
        struct rig *rig = rig_create(&config);
        struct rig_object used, large;
        const struct vidmm_statistics *statistics = vidmm_statistics(rig->vidmm);
        uint64_t all = free_pages(rig);

        assert_int_equal(rig_try_object(rig, rig->device, &elsewhere, &used), STATUS_SUCCESS);
        rig_map(rig, &used);
        for (unsigned i = 1; i <= 4; i++)
            map_at(rig, &used, i * 64 * MiB);
        rig_make_resident(rig, &used);
        rig_gpu(rig, &used, 8);
        rig_object(rig, all - 1, 1, &large);
        assert_int_equal(try_resident(rig, &large), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
        assert_true(vidmm_allocation_is_resident(used.allocation)); /* it is not idle */

        rig_evict(rig, &used);
        assert_int_equal(try_resident(rig, &large), STATUS_SUCCESS);
        assert_false(vidmm_allocation_is_resident(used.allocation));
        assert_true(statistics->evicted_tables >= 5);
        rig_evict(rig, &large);

        rig_make_resident(rig, &used);
        rig_gpu(rig, &used, 8);
        rig_evict(rig, &used);
        rig_cpu(rig, &used, false);
        rig_destroy_object(rig, &used);
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
}

/* It prefers a segment that it could never fit in: the other one is where room is made. */
static void make_room_where_it_is_large_enough(uint64_t start_pages, uint64_t dead_pages)
{
    for (unsigned model = 0; model < MODELS; model++) {
        struct rig_config config = rig_model(model + 1);
        struct rig_request request = {.preferred = {2, 1}};
        struct rig_object used, large;
        struct rig *rig;
        uint64_t all;

        config.memory_segments = 2;
        config.start_pages = start_pages;
        config.segment_pages[0] = start_pages + 256;
        config.segment_pages[1] = start_pages + dead_pages + 16;
        config.dead_pages[1] = dead_pages;
        rig = rig_create(&config);
        all = free_pages(rig);
        rig_object(rig, 8, 1, &used);
        rig_map(rig, &used);
        map_at(rig, &used, 64 * MiB);
        request.bytes = (all - 1) * PAGE_BYTES;
        assert_int_equal(rig_try_object(rig, rig->device, &request, &large), STATUS_SUCCESS);
        assert_int_equal(try_resident(rig, &large), STATUS_SUCCESS);
        assert_true(vidmm_statistics(rig->vidmm)->evicted_tables > 0);
        rig_evict(rig, &large);
        rig_destroy_object(rig, &used);
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
}

static void room_is_made_in_the_first_segment_that_is_large_enough(void **state)
{
    make_room_where_it_is_large_enough(0, 0);
}

/* What the manager does not use of a segment makes it no larger. */
static void room_is_made_where_the_part_that_is_used_is_large_enough(void **state)
{
    make_room_where_it_is_large_enough(512, 0);
    make_room_where_it_is_large_enough(0, 512);
}

/* The manager leaves the front of each segment alone, but not a segment that is all front. */
static void a_segment_that_is_smaller_than_the_front_is_used(void **state)
{
    for (unsigned model = 0; model < MODELS; model++) {
        struct rig_config config = rig_model(model + 1);
        struct rig_request request = {.bytes = 8 * PAGE_BYTES, .preferred = {2}};
        struct rig_object object;
        struct rig *rig;

        config.memory_segments = 2;
        config.start_pages = 512;
        config.segment_pages[0] = 512 + 256;
        config.segment_pages[1] = 16;
        rig = rig_create(&config);
        assert_int_equal(rig_try_object(rig, rig->device, &request, &object), STATUS_SUCCESS);
        assert_int_equal(try_resident(rig, &object), STATUS_SUCCESS);
        rig_evict(rig, &object);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

/* Two of three would fit in the segment that they prefer: what is smaller goes to the other one. */
static void a_request_starts_over_when_another_segment_may_help(void **state)
{
    for (unsigned model = 0; model < MODELS; model++) {
        struct rig_config config = rig_model(model + 1);
        const struct rig_request small = {.bytes = 30 * PAGE_BYTES, .preferred = {2, 1}};
        const struct rig_request large = {
            .bytes = 90 * PAGE_BYTES, .preferred = {2, 1}, .is_physical = true};
        struct vidmm_allocation *allocations[3];
        struct rig_object objects[3];
        struct rig_done done = {0};
        struct rig *rig;
        uint64_t fence;

        config.keeps_tables_in_system = true;
        config.memory_segments = 2;
        config.segment_pages[0] = config.segment_pages[1] = 100;
        rig = rig_create(&config);
        assert_int_equal(rig_try_object(rig, rig->device, &small, &objects[0]), STATUS_SUCCESS);
        rig_object(rig, 30, 1, &objects[1]);
        assert_int_equal(rig_try_object(rig, rig->device, &large, &objects[2]), STATUS_SUCCESS);
        for (unsigned i = 0; i < 3; i++)
            allocations[i] = objects[i].allocation;
        assert_int_equal(vidmm_make_resident(rig->device, 3, allocations, rig_done, &done, &fence),
                         STATUS_PENDING);
        rig_drain(rig);
        assert_int_equal(done.status, STATUS_SUCCESS);
        for (unsigned i = 0; i < 3; i++) {
            objects[i].references = 1;
            rig_evict(rig, &objects[i]);
            rig_destroy_object(rig, &objects[i]);
        }
        rig_free(rig);
    }
}

/* An address is given up, and another one taken, while its tables are out. */
static void what_is_unmapped_while_its_tables_are_out_needs_none(void **state)
{
    for (unsigned model = 0; model < MODELS; model++) {
        struct rig_config config = rig_model(model + 1);
        struct rig *rig = rig_create(&config);
        struct rig_done done = {0};
        struct rig_object used, large;
        uint64_t all = free_pages(rig);

        rig_object(rig, 8, 1, &used);
        rig_map(rig, &used);
        map_at(rig, &used, 64 * MiB);
        rig_object(rig, all - 1, 1, &large);
        assert_int_equal(try_resident(rig, &large), STATUS_SUCCESS);
        assert_true(vidmm_statistics(rig->vidmm)->evicted_tables > 0);
        rig_evict(rig, &large);
        assert_int_equal(vidmm_unmap_gpu_va(rig->process, 64 * MiB, rig_done, &done),
                         STATUS_SUCCESS);
        rig_drain(rig);
        assert_int_equal(done.calls, 1);
        map_at(rig, &used, 128 * MiB);
        rig_make_resident(rig, &used);
        rig_gpu(rig, &used, 8);
        rig_evict(rig, &used);
        rig_destroy_object(rig, &used);
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
}

/* Both come back in one request, whose first one is not the only one without its tables. */
static void tables_of_all_of_a_request_come_back(void **state)
{
    for (unsigned model = 0; model < MODELS; model++) {
        struct rig_config config = rig_model(model + 1);
        struct rig *rig = rig_create(&config);
        struct rig_object objects[2], large;
        struct vidmm_allocation *allocations[2];
        struct rig_done done = {0};
        uint64_t fence, all = free_pages(rig);

        for (unsigned i = 0; i < 2; i++) {
            rig_object(rig, 8, 1, &objects[i]);
            rig_make_resident(rig, &objects[i]);
            map_at(rig, &objects[i], (1 + i) * 64 * MiB);
            objects[i].va = (1 + i) * 64 * MiB;
            rig_evict(rig, &objects[i]);
            allocations[i] = objects[i].allocation;
        }
        rig_object(rig, all - 1, 1, &large);
        assert_int_equal(try_resident(rig, &large), STATUS_SUCCESS);
        assert_true(allocations[0]->tables_left && allocations[1]->tables_left);
        rig_evict(rig, &large);
        assert_int_equal(vidmm_make_resident(rig->device, 2, allocations, rig_done, &done, &fence),
                         STATUS_PENDING);
        rig_drain(rig);
        assert_true(done.calls == 1 && NT_SUCCESS(done.status));
        for (unsigned i = 0; i < 2; i++) {
            objects[i].references = 1;
            assert_false(allocations[i]->tables_left);
            rig_destroy_object(rig, &objects[i]);
        }
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
}

/* 'held', with its tables, lies in the middle of what is free when the filler is out. */
static void put_in_the_middle(struct rig *rig, struct rig_object *held, struct rig_object *filler)
{
    rig_object(rig, 100, 1, filler);
    rig_make_resident(rig, filler);
    make_physical(rig, 5, held);
    rig_make_resident(rig, held);
    rig_map(rig, held);
    map_at(rig, held, 64 * MiB);
    rig_gpu(rig, held, 8);
    rig_evict(rig, filler);
}

static void what_is_held_moves_with_its_tables_for_what_has_to_be_in_one_piece(void **state)
{
    for (unsigned model = 0; model < MODELS; model++) {
        struct rig_config config = rig_model(model + 1);
        struct rig *rig = rig_create(&config);
        const struct vidmm_statistics *statistics = vidmm_statistics(rig->vidmm);
        struct rig_object held, filler, large;
        uint64_t offset, before, pieces;

        put_in_the_middle(rig, &held, &filler);
        before = segment_page_offset(held.allocation, 0);
        pieces = max_u64(longest_run(rig), 100);
        make_physical(rig, pieces + 8, &large);
        assert_int_equal(try_resident(rig, &large), STATUS_SUCCESS);
        assert_int_equal(segment_run(large.allocation, 0, &offset), pieces + 8);
        assert_int_equal(statistics->compactions, 1);
        assert_true(statistics->moved_tables > 0);
        assert_true(segment_page_offset(held.allocation, 0) != before);
        assert_int_equal(rig->eviction_count, 1); /* the filler */
        assert_true(vidmm_allocation_is_resident(held.allocation));
        rig_gpu(rig, &held, 8);
        rig_evict(rig, &large);
        rig_make_resident(rig, &filler);
        rig_evict(rig, &filler);
        rig_destroy_object(rig, &held);
        rig_destroy_object(rig, &filler);
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
}

/* The window that is cleared begins at a multiple of the alignment. */
static void what_needs_an_alignment_gets_a_window_that_has_it(void **state)
{
    for (unsigned pages = 2; pages <= 64; pages *= 2) {
        struct rig_config config = rig_model(1);
        struct rig_request request = {
            .preferred = {1}, .is_physical = true, .alignment = pages * (uint32_t)PAGE_BYTES};
        struct rig_object held, filler, large;
        uint64_t offset;
        struct rig *rig;

        config.start_pages = 3; /* so that nothing is aligned by chance */
        rig = rig_create(&config);
        put_in_the_middle(rig, &held, &filler);
        request.bytes = (max_u64(longest_run(rig), 100) + 8) * PAGE_BYTES;
        assert_int_equal(rig_try_object(rig, rig->device, &request, &large), STATUS_SUCCESS);
        assert_int_equal(try_resident(rig, &large), STATUS_SUCCESS);
        assert_int_equal(vidmm_statistics(rig->vidmm)->compactions, 1);
        segment_run(large.allocation, 0, &offset);
        assert_int_equal(offset % request.alignment, 0);
        rig_gpu(rig, &held, 8);
        rig_evict(rig, &large);
        rig_destroy_object(rig, &held);
        rig_destroy_object(rig, &filler);
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
}

/*
 * A window that begins anywhere may have less to move, and what it makes free is of no use:
 *
 *     page     0  3     8 9  12 13  16        32
 *              L  .     h .   h .    L           locked, free, held
 *              window   |------------|
 */
static void a_window_without_the_alignment_is_not_cleared_where_it_has_less_to_move(void **state)
{
    const struct rig_request request = {.bytes = PAGE_BYTES_OF(8),
                                        .preferred = {1},
                                        .is_physical = true,
                                        .alignment = 8 * (uint32_t)PAGE_BYTES};
    enum { PAGES = 32 };
    struct rig_config config = rig_model(1);
    struct rig_object pages[PAGES], large;
    struct rig *rig;

    config.keeps_tables_in_system = true;
    config.segment_pages[0] = PAGES;
    rig = rig_create(&config);
    assert_int_equal(free_pages(rig), PAGES);
    for (unsigned i = 0; i < PAGES; i++) {
        make_physical(rig, 1, &pages[i]);
        rig_make_resident(rig, &pages[i]);
    }
    for (unsigned i = 0; i < PAGES; i++) {
        uint64_t page = segment_page_offset(pages[i].allocation, 0) / PAGE_BYTES;

        if (page < 3 || page >= 16)
            rig_lock(rig, &pages[i]);
        else if (page != 8 && page != 12)
            rig_destroy_object(rig, &pages[i]);
    }
    rig_drain(rig);
    assert_int_equal(free_pages(rig), 11);
    assert_int_equal(rig_try_object(rig, rig->device, &request, &large), STATUS_SUCCESS);
    assert_int_equal(try_resident(rig, &large), STATUS_SUCCESS);
    assert_int_equal(vidmm_statistics(rig->vidmm)->compactions, 1);
    assert_int_equal(segment_page_offset(large.allocation, 0), PAGE_BYTES_OF(8));
    rig_evict(rig, &large);
    for (unsigned i = 0; i < PAGES; i++) {
        if (!pages[i].allocation)
            continue;
        if (segment_page_offset(pages[i].allocation, 0) < PAGE_BYTES_OF(3) ||
            segment_page_offset(pages[i].allocation, 0) >= PAGE_BYTES_OF(16))
            vidmm_unlock(pages[i].allocation);
        rig_destroy_object(rig, &pages[i]);
    }
    rig_destroy_object(rig, &large);
    rig_free(rig);
}

/* A root of several pages is in one piece, too. */
static void what_is_held_moves_for_a_root_that_grows(void **state)
{
    const uint64_t va = UINT64_C(3) * GiB; /* 24 pages of root lead there */
    struct rig_config config = rig_model(1);
    struct rig_object holes[3], held[3];
    struct rig *rig;

    config.tables = RIG_TABLES_GROWING;
    rig = rig_create(&config);
    for (unsigned i = 0; i < 3; i++) {
        make_physical(rig, 16, &holes[i]);
        rig_make_resident(rig, &holes[i]);
        make_physical(rig, i == 2 ? free_pages(rig) - 4 : 1, &held[i]);
        rig_make_resident(rig, &held[i]);
    }
    for (unsigned i = 0; i < 3; i++)
        rig_destroy_object(rig, &holes[i]);
    rig_drain(rig);
    assert_int_equal(longest_run(rig), 16);
    map_at(rig, &held[0], va);
    assert_int_equal(vidmm_statistics(rig->vidmm)->compactions, 1);
    assert_true(page_table_find(&rig->process->space, va) != NULL);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(vidmm_allocation_is_resident(held[i].allocation));
        rig_destroy_object(rig, &held[i]);
    }
    rig_free(rig);
}

static void what_is_locked_stays_where_it_is(void **state)
{
    for (unsigned model = 0; model < MODELS; model++) {
        struct rig_config config = rig_model(model + 1);
        struct rig *rig = rig_create(&config);
        struct rig_object held, filler, large;
        uint64_t before;

        put_in_the_middle(rig, &held, &filler);
        rig_lock(rig, &held);
        before = segment_page_offset(held.allocation, 0);
        make_physical(rig, free_pages(rig) + 100 - 20, &large);
        assert_int_equal(try_resident(rig, &large), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
        assert_int_equal(segment_page_offset(held.allocation, 0), before);
        assert_int_equal(vidmm_statistics(rig->vidmm)->compactions, 0);
        rig_touch_locked(rig, &held, true);
        vidmm_unlock(held.allocation);
        rig_gpu(rig, &held, 8);
        rig_destroy_object(rig, &held);
        rig_destroy_object(rig, &filler);
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
}

/* Work that is submitted meanwhile waits, and then sees everything where it is. */
static void work_submitted_while_things_move_waits(void **state)
{
    for (unsigned model = 0; model < MODELS; model++) {
        struct rig_config config = rig_model(model + 1);
        struct rig *rig = rig_create(&config);
        struct rig_done done = {0}, resident = {0};
        struct rig_object held, filler, large, *objects[1] = {&held};
        uint64_t fence;

        put_in_the_middle(rig, &held, &filler);
        make_physical(rig, max_u64(longest_run(rig), 100) + 8, &large);
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &large.allocation, rig_done, &resident, &fence),
            STATUS_PENDING);
        while (!vidmm_statistics(rig->vidmm)->compactions)
            assert_true(rig_step_machine(rig));
        assert_int_equal(rig_gpu_in(rig, rig->context, objects, 1, 8, rig_done, &done),
                         STATUS_SUCCESS);
        assert_true(rig->vidmm->compaction.is_under_way);
        rig_drain(rig);
        assert_true(done.calls == 1 && NT_SUCCESS(done.status));
        assert_true(resident.calls == 1 && NT_SUCCESS(resident.status));
        large.references = 1;
        rig_destroy_object(rig, &held);
        rig_destroy_object(rig, &filler);
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
}

static NTSTATUS drop_work(struct miniport *self, HANDLE adapter)
{
    rig_forget_work(rig_of(self));
    return STATUS_SUCCESS;
}

static NTSTATUS restart(struct miniport *self, HANDLE adapter)
{
    return STATUS_SUCCESS;
}

/* The transfer of nothing that tells of a lost place: the model of the rig has no such thing. */
static bool skip_lost_places(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *args, NTSTATUS *status)
{
    *status = STATUS_SUCCESS;
    return args->Operation == DXGK_OPERATION_TRANSFER && !args->Transfer.TransferSize;
}

static void expect_out_of_window(struct page_table *table, void *window)
{
    assert_false(
        table->memory.segment == 1 &&
        compaction_is_in_window(window, table->memory.first_page, table->memory.page_count));
}

/* A reset comes before the tables' turn to move: they are made anew where they would have gone. */
static void tables_that_have_not_begun_to_move_are_made_anew_out_of_the_way(void **state)
{
    for (unsigned model = 0; model < MODELS; model++) {
        struct rig_config config = rig_model(model + 1);
        struct rig_object held, filler, large;
        struct rig_done resident = {0};
        struct compaction window;
        struct rig *rig;
        uint64_t fence;

        config.buffer_bytes = 64; /* a record or two */
        config.buffer_count = 1;
        rig = rig_create(&config);
        rig->ops.reset_from_timeout = drop_work;
        rig->ops.restart_from_timeout = restart;
        rig->build_hook = skip_lost_places;
        put_in_the_middle(rig, &held, &filler);
        make_physical(rig, max_u64(longest_run(rig), 100) + 8, &large);
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &large.allocation, rig_done, &resident, &fence),
            STATUS_PENDING);
        while (!rig->vidmm->compaction.is_under_way)
            assert_true(rig_step_machine(rig));
        window = rig->vidmm->compaction;
        vidmm_reset(rig->vidmm);
        rig_drain(rig);
        assert_int_equal(resident.calls, 1);
        assert_int_equal(vidmm_statistics(rig->vidmm)->compactions, 1);
        page_tables_visit(&rig->process->space, expect_out_of_window, &window);
        large.references = NT_SUCCESS(resident.status);
        vidmm_device_clear_error(rig->device);
        rig_destroy_object(rig, &held);
        rig_destroy_object(rig, &filler);
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
}

/* Where the address leads; 0: nowhere. */
static uint64_t physical_page(struct rig *rig, uint64_t va)
{
    D3DGPU_PHYSICAL_ADDRESS root = {0};
    uint64_t offset, entry_count;
    unsigned segment;
    DXGK_PTE entry;

    assert_true(vidmm_process_root(rig->process, &segment, &offset, &entry_count));
    root.SegmentId = segment;
    root.SegmentOffset = offset;
    entry = rig_walk(rig, root, va);
    return entry.Valid ? entry.PageAddress : 0;
}

static void tables_of_physical_pages_move_with_what_is_recorded_of_them(void **state)
{
    for (unsigned model = 0; model < MODELS; model++) {
        struct rig_config config = rig_model(model + 1);
        struct rig *rig = rig_create(&config);
        struct rig_object filler, large;
        struct rig_done done = {0};
        const struct page_table *table;
        uint64_t page;

        rig_object(rig, 100, 1, &filler);
        rig_make_resident(rig, &filler);
        assert_int_equal(vidmm_map_physical(rig->process, 64 * MiB + PAGE_BYTES, 0, RIG_FIRST_PAGE,
                                            3, 0, rig_done, &done),
                         STATUS_SUCCESS);
        rig_drain(rig);
        assert_int_equal(vidmm_unmap_physical(rig->process, 64 * MiB + 2 * PAGE_BYTES, PAGE_BYTES,
                                              rig_done, &done),
                         STATUS_SUCCESS);
        rig_drain(rig);
        rig_evict(rig, &filler);
        table = page_table_find(&rig->process->space, 64 * MiB);
        page = table->memory.first_page;
        make_physical(rig, max_u64(longest_run(rig), 100) + 3, &large);
        assert_int_equal(try_resident(rig, &large), STATUS_SUCCESS);
        assert_int_equal(vidmm_statistics(rig->vidmm)->compactions, 1);
        assert_ptr_equal(page_table_find(&rig->process->space, 64 * MiB), table);
        assert_true(table->memory.first_page != page);
        assert_int_equal(physical_page(rig, 64 * MiB), 0);
        assert_int_equal(physical_page(rig, 64 * MiB + PAGE_BYTES), RIG_FIRST_PAGE);
        assert_int_equal(physical_page(rig, 64 * MiB + 2 * PAGE_BYTES), 0);
        assert_int_equal(physical_page(rig, 64 * MiB + 3 * PAGE_BYTES), RIG_FIRST_PAGE + 2);
        assert_int_equal(physical_page(rig, 64 * MiB + 4 * PAGE_BYTES), 0);
        rig_destroy_object(rig, &filler);
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
}

static void tables_of_physical_pages_do_not_leave(void **state)
{
    for (unsigned model = 0; model < MODELS; model++) {
        struct rig_config config = rig_model(model + 1);
        struct rig *rig = rig_create(&config);
        struct rig_object large;
        struct rig_done done = {0};
        uint64_t all = free_pages(rig);
        struct page_table *table;
        uint64_t page;

        assert_int_equal(
            vidmm_map_physical(rig->process, 64 * MiB, 0, RIG_FIRST_PAGE, 1, 0, rig_done, &done),
            STATUS_SUCCESS);
        rig_drain(rig);
        table = page_table_find(&rig->process->space, 64 * MiB);
        page = table->memory.first_page;
        rig_object(rig, all, 1, &large);
        assert_int_equal(try_resident(rig, &large), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
        assert_ptr_equal(page_table_find(&rig->process->space, 64 * MiB), table);
        assert_int_equal(table->memory.first_page, page);
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
}

/*
 * The window grows by pinned leaf tables while tables of the process lie on both sides of where it
 * stands. When those have left, all but a few pages is one piece (PT-043).
 */
static void tables_of_the_window_do_not_cut_up_what_is_free(void **state)
{
    struct rig_config config = rig_model(1);
    struct rig_object mapped, large;
    const struct vidmm_statistics *statistics;
    uint64_t offset, tables, all;
    struct rig *rig;

    assert_int_equal(config.mode, DXGK_PAGETABLEUPDATE_GPU_VIRTUAL);
    config.segment_pages[0] = 2048;
    rig = rig_create(&config);
    statistics = vidmm_statistics(rig->vidmm);
    all = free_pages(rig);
    rig_object(rig, 1, 1, &mapped);
    rig_map(rig, &mapped);
    tables = statistics->page_table_count;
    for (unsigned i = 1; i <= 600; i++)
        map_at(rig, &mapped, (64 + i) * MiB); /* a leaf each */
    assert_true(statistics->page_table_count >= tables + 600 + 600 / 16 + 600 / 64);

    make_physical(rig, all - 16, &large);
    assert_int_equal(try_resident(rig, &large), STATUS_SUCCESS);
    assert_int_equal(segment_run(large.allocation, 0, &offset), all - 16);
    rig_evict(rig, &large);
    rig_make_resident(rig, &mapped);
    rig_gpu(rig, &mapped, 8);
    rig_evict(rig, &mapped);
    rig_destroy_object(rig, &mapped);
    rig_destroy_object(rig, &large);
    rig_free(rig);
}

/* Whatever memory the host refuses: the request fails or succeeds, and everything is as it was. */
static void every_nth_allocation_failure_leaves_it_whole(void **state)
{
    bool has_failed = true;

    for (uint64_t n = 1; has_failed; n++) {
        struct rig_config config = rig_model(1);
        struct rig *rig = rig_create(&config);
        struct rig_object held, filler, large;
        NTSTATUS status;

        put_in_the_middle(rig, &held, &filler);
        make_physical(rig, max_u64(longest_run(rig), 100) + 8, &large);
        failing_services_fail_at(&rig->memory, n);
        status = try_resident(rig, &large);
        has_failed = rig->memory.has_failed;
        failing_services_fail_at(&rig->memory, 0);
        assert_true(has_failed || status == STATUS_SUCCESS);
        assert_true(vidmm_check(rig->vidmm));
        rig_gpu(rig, &held, 8);
        rig_destroy_object(rig, &held);
        rig_destroy_object(rig, &filler);
        rig_destroy_object(rig, &large);
        rig_free(rig);
        assert_true(n < 200);
    }
}

/* vidmm_config.local_start: a multiple of the segment's unit, with a unit behind it. */
static void a_start_that_is_no_boundary_of_a_page_is_refused(void **state)
{
    static const struct {
        bool has_64kb_pages;
        uint64_t start_pages, pages;
        NTSTATUS status;
    } rows[] = {
        {false, 1, 64, STATUS_SUCCESS},           {true, 16, 64, STATUS_SUCCESS},
        {true, 8, 64, STATUS_INVALID_PARAMETER},  {true, 17, 64, STATUS_INVALID_PARAMETER},
        {true, 64, 72, STATUS_INVALID_PARAMETER}, /* half a unit is left */
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct rig_config config = rig_model(RIG_MODELS - 1);
        struct rig *rig;

        config.is_virtual = true;
        config.tables = RIG_TABLES_PLAIN;
        config.has_64kb_pages[0] = rows[i].has_64kb_pages;
        config.start_pages = rows[i].start_pages;
        config.segment_pages[0] = rows[i].pages;
        rig = rig_new(&config);
        assert_int_equal(rig_start(rig), rows[i].status);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_that_is_no_boundary_of_a_page_is_refused),
        cmocka_unit_test(tables_that_hold_nothing_leave_for_others_and_come_back),
        cmocka_unit_test(tables_of_what_is_idle_elsewhere_leave_for_others_and_come_back),
        cmocka_unit_test(room_is_made_in_the_first_segment_that_is_large_enough),
        cmocka_unit_test(room_is_made_where_the_part_that_is_used_is_large_enough),
        cmocka_unit_test(a_segment_that_is_smaller_than_the_front_is_used),
        cmocka_unit_test(a_request_starts_over_when_another_segment_may_help),
        cmocka_unit_test(what_is_unmapped_while_its_tables_are_out_needs_none),
        cmocka_unit_test(tables_of_all_of_a_request_come_back),
        cmocka_unit_test(what_is_held_moves_with_its_tables_for_what_has_to_be_in_one_piece),
        cmocka_unit_test(what_needs_an_alignment_gets_a_window_that_has_it),
        cmocka_unit_test(a_window_without_the_alignment_is_not_cleared_where_it_has_less_to_move),
        cmocka_unit_test(what_is_held_moves_for_a_root_that_grows),
        cmocka_unit_test(what_is_locked_stays_where_it_is),
        cmocka_unit_test(work_submitted_while_things_move_waits),
        cmocka_unit_test(tables_that_have_not_begun_to_move_are_made_anew_out_of_the_way),
        cmocka_unit_test(tables_of_physical_pages_move_with_what_is_recorded_of_them),
        cmocka_unit_test(tables_of_physical_pages_do_not_leave),
        cmocka_unit_test(tables_of_the_window_do_not_cut_up_what_is_free),
        cmocka_unit_test(every_nth_allocation_failure_leaves_it_whole),
    };

    return cmocka_run_group_tests_name("vidmm/compaction", tests, NULL, NULL);
}
