/* Tiles: what they show after maps, copies and unmaps, when, and while their pools move. GpuMmu. */
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_gpu.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"
#include "vidmm/work/client.h"

#include "base/bits.h"

#define BASE (UINT64_C(16) * MiB)

static DXGK_PTE entry_at(struct rig *rig, uint64_t va)
{
    D3DGPU_PHYSICAL_ADDRESS root = {0};
    unsigned segment;
    uint64_t offset, entry_count;

    assert_true(vidmm_process_root(rig->process, &segment, &offset, &entry_count));
    root.SegmentId = segment;
    root.SegmentOffset = offset;
    return rig_walk(rig, root, va);
}

/* All 16 pages of the tile are those of the pool, from first on. */
static void check_tile(struct rig *rig, uint64_t tile, const struct rig_object *pool,
                       uint64_t first)
{
    for (uint64_t i = 0; i < PAGES_64K; i++) {
        DXGK_PTE entry = entry_at(rig, BASE + tile * VIDMM_TILE_BYTES + PAGE_BYTES_OF(i));
        const struct rig_page *page;

        assert_true(entry.Valid);
        page = rig_page(rig, entry.Segment, entry.PageAddress);
        assert_int_equal(page->owner, pool->driver->number);
        assert_int_equal(page->owner_page, first + i);
    }
}

static void check_nothing(struct rig *rig, uint64_t tile)
{
    for (uint64_t i = 0; i < PAGES_64K; i++)
        assert_false(entry_at(rig, BASE + tile * VIDMM_TILE_BYTES + PAGE_BYTES_OF(i)).Valid);
}

static struct vidmm_tile_operation map(const struct rig_object *pool, uint64_t tile, uint64_t first,
                                       uint64_t pages)
{
    return (struct vidmm_tile_operation){.kind = VIDMM_TILE_MAP,
                                         .va = BASE + tile * VIDMM_TILE_BYTES,
                                         .page_count = pages,
                                         .pool = pool->allocation,
                                         .first_page = first};
}

static struct vidmm_tile_operation unmap(uint64_t tile, uint64_t pages)
{
    return (struct vidmm_tile_operation){
        .kind = VIDMM_TILE_UNMAP, .va = BASE + tile * VIDMM_TILE_BYTES, .page_count = pages};
}

static struct vidmm_tile_operation copy(uint64_t from, uint64_t to, uint64_t pages)
{
    return (struct vidmm_tile_operation){.kind = VIDMM_TILE_COPY,
                                         .va = BASE + to * VIDMM_TILE_BYTES,
                                         .source_va = BASE + from * VIDMM_TILE_BYTES,
                                         .page_count = pages};
}

static void update(struct rig *rig, unsigned count, const struct vidmm_tile_operation *operations)
{
    struct rig_done done = {0};

    assert_int_equal(vidmm_update_gpu_va(rig->context, count, operations, rig_done, &done),
                     STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(done.calls, 1);
    assert_int_equal(done.status, STATUS_SUCCESS);
    assert_true(vidmm_check(rig->vidmm));
}

static void tiles_show_what_the_last_operation_said(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig *rig = rig_create(&config);
        struct rig_object pool, other;
        struct vidmm_tile_operation operations[3];

        rig_object(rig, 128, 1, &pool);
        rig_object(rig, 32, 1, &other);
        rig_make_resident(rig, &pool);
        rig_make_resident(rig, &other);
        operations[0] = map(&pool, 0, 16, 96); /* six tiles, in two tables */
        update(rig, 1, operations);
        for (uint64_t i = 0; i < 6; i++)
            check_tile(rig, i, &pool, 16 + i * PAGES_64K);
        /* Others in the middle; then they are seen a second time; then some go. */
        operations[0] = map(&other, 1, 0, 32);
        operations[1] = copy(0, 8, 64);
        operations[2] = unmap(2, 32);
        update(rig, 3, operations);
        check_tile(rig, 0, &pool, 16);
        check_tile(rig, 1, &other, 0);
        check_nothing(rig, 2);
        check_nothing(rig, 3);
        check_tile(rig, 4, &pool, 80);
        check_tile(rig, 8, &pool, 16);
        check_tile(rig, 9, &other, 0);
        check_tile(rig, 10, &other, 16);
        check_tile(rig, 11, &pool, 64);
        /* A copy of nothing is nothing. */
        operations[0] = copy(2, 8, 16);
        update(rig, 1, operations);
        check_nothing(rig, 8);
        /* CPTE-005, and where tables have no address that a copy could name. */
        if (config.mode == DXGK_PAGETABLEUPDATE_GPU_VIRTUAL)
            assert_true(rig_count(rig, DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES) >= 3);
        else
            assert_int_equal(rig_count(rig, DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES), 0);
        rig_destroy_object(rig, &other);
        rig_drain(rig);
        check_nothing(rig, 9);
        check_tile(rig, 11, &pool, 64);
        rig_destroy_object(rig, &pool);
        rig_free(rig);
    }
}

static void tiles_follow_their_pool(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig *rig;
        struct rig_object pool, others[2];
        struct vidmm_tile_operation operation;

        config.keeps_tables_in_system = true;
        rig = rig_create(&config);
        rig_object(rig, 100, 1, &pool);
        for (unsigned i = 0; i < 2; i++)
            rig_object(rig, 100, 1, &others[i]);
        operation = map(&pool, 0, 32, 64);
        update(rig, 1, &operation); /* nowhere yet */
        check_nothing(rig, 0);
        for (unsigned round = 0; round < 2; round++) {
            rig_make_resident(rig, &pool);
            check_tile(rig, 0, &pool, 32);
            rig_evict(rig, &pool);
            for (unsigned i = 0; i < 2; i++)
                rig_make_resident(rig, &others[i]);
            if (!vidmm_allocation_is_resident(pool.allocation))
                check_nothing(rig, 0);
            operation = copy(0, 8 + round, 16);
            update(rig, 1, &operation);
            for (unsigned i = 0; i < 2; i++)
                rig_evict(rig, &others[i]);
        }
        rig_make_resident(rig, &pool);
        check_tile(rig, 0, &pool, 32);
        check_tile(rig, 8, &pool, 32);
        check_tile(rig, 9, &pool, 32);
        for (unsigned i = 0; i < 2; i++)
            rig_destroy_object(rig, &others[i]);
        rig_destroy_object(rig, &pool);
        rig_free(rig);
    }
}

/* Their pool comes in behind the update, while its operations are under way. */
static void tiles_that_go_do_not_come_in_with_their_pool(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig_done gone = {0}, resident = {0};
        struct vidmm_tile_operation operation;
        struct rig_object pool;
        struct rig *rig;
        uint64_t fence;

        config.keeps_tables_in_system = true;
        rig = rig_create(&config);
        rig_object(rig, 64, 1, &pool);
        operation = map(&pool, 0, 0, 64);
        update(rig, 1, &operation); /* nowhere yet */
        operation = unmap(0, 32);
        assert_int_equal(vidmm_update_gpu_va(rig->context, 1, &operation, rig_done, &gone),
                         STATUS_SUCCESS);
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &pool.allocation, rig_done, &resident, &fence),
            STATUS_PENDING);
        assert_int_equal(gone.calls, 0);
        rig_drain(rig);
        assert_true(gone.calls == 1 && gone.status == STATUS_SUCCESS);
        assert_true(resident.calls == 1 && resident.status == STATUS_SUCCESS);
        pool.references++;
        check_nothing(rig, 0);
        check_nothing(rig, 1);
        check_tile(rig, 2, &pool, 32);
        check_tile(rig, 3, &pool, 48);
        rig_destroy_object(rig, &pool);
        rig_free(rig);
    }
}

/* The page tables of the pool's own mapping find no room, and so it goes before the update. */
static void an_update_without_room_for_the_pools_tables_fails(void **state)
{
    struct rig_config config = rig_model(1);
    struct rig *rig = rig_create(&config);
    struct rig_done done = {0};
    struct rig_object pool, large;
    struct vidmm_tile_operation operation;

    rig_object(rig, 64, 2, &pool);
    rig_object(rig, segment_free(rig->vidmm, &rig->vidmm->segments[0]) / PAGE_BYTES, 1, &large);
    rig_make_resident(rig, &large);
    operation = map(&pool, 0, 0, 64);
    assert_int_equal(vidmm_update_gpu_va(rig->context, 1, &operation, rig_done, &done),
                     STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(done.calls, 1);
    assert_int_equal(done.status, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    assert_true(vidmm_check(rig->vidmm));
    rig_destroy_object(rig, &large);
    rig_make_resident(rig, &pool);
    update(rig, 1, &operation);
    check_tile(rig, 0, &pool, 0);
    rig_destroy_object(rig, &pool);
    rig_free(rig);
}

/* CPTE-001: behind what was submitted; CPTE-006: no more than 128 of them. */
static void updates_wait_for_work_and_are_counted(void **state)
{
    struct rig_config config = rig_model(1);
    struct rig *rig = rig_create(&config);
    struct rig_done work = {0}, done = {0};
    struct rig_object pool, *objects[1] = {&pool};
    struct vidmm_tile_operation operation;

    rig_object(rig, 64, 1, &pool);
    rig_make_resident(rig, &pool);
    rig_map(rig, &pool);
    assert_int_equal(rig_gpu_in(rig, rig->context, objects, 1, 8, rig_done, &work), STATUS_SUCCESS);
    operation = map(&pool, 0, 0, 64);
    for (unsigned i = 0; i < 128; i++)
        assert_int_equal(vidmm_update_gpu_va(rig->context, 1, &operation, rig_done, &done),
                         STATUS_SUCCESS);
    assert_int_equal(vidmm_update_gpu_va(rig->context, 1, &operation, rig_done, &done),
                     STATUS_DEVICE_BUSY);
    while (!work.calls) {
        assert_int_equal(rig_count(rig, DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES), 0);
        assert_true(rig_step_machine(rig));
    }
    /* A pool that is destroyed stays until nothing queued wants it. */
    rig_destroy_object(rig, &pool);
    rig_drain(rig);
    assert_int_equal(done.calls, 128);
    assert_int_equal(done.status, STATUS_SUCCESS);
    assert_int_equal(rig_count(rig, DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES), 128);
    check_nothing(rig, 0);
    rig_free(rig);
}

/* CPTE-007: made with the first update of a context, once, on the node that its driver named. */
static void copies_run_on_a_companion_of_the_context(void **state)
{
    for (unsigned node = 0; node < 3; node++) {
        struct rig_config config = rig_model(1);
        struct rig *rig;
        struct rig_object pool;
        struct vidmm_tile_operation operation;
        uint64_t contexts;

        config.companion_node = node;
        rig = rig_create(&config);
        rig_object(rig, 64, 1, &pool);
        rig_make_resident(rig, &pool);
        operation = map(&pool, 0, 0, 64);
        contexts = rig->live_contexts;
        rig->expected_rules = "CPTE-007";
        rig->fails_at_create = STATUS_NO_MEMORY;
        assert_int_equal(vidmm_update_gpu_va(rig->context, 1, &operation, NULL, NULL),
                         node == 2 ? STATUS_INVALID_PARAMETER : STATUS_NO_MEMORY);
        assert_int_equal(rig->live_contexts, contexts);
        rig->fails_at_create = STATUS_SUCCESS;
        if (node < 2) {
            update(rig, 1, &operation);
            check_tile(rig, 0, &pool, 0);
            assert_int_equal(rig->live_contexts, contexts + 1);
            operation = copy(0, 8, 64);
            update(rig, 1, &operation);
            check_tile(rig, 8, &pool, 0);
            assert_int_equal(rig->live_contexts, contexts + 1);
        }
        rig_destroy_object(rig, &pool);
        rig_free(rig); /* where no context is left */
    }
}

/* A new context may lie where the old one did: nobody takes its companion for the old one's. */
static void a_companion_goes_with_its_context(void **state)
{
    struct rig_config config = rig_model(1);
    struct rig *rig = rig_create(&config);
    struct vidmm_tile_operation operation;
    struct rig_object pool;

    rig_object(rig, 64, 1, &pool);
    rig_make_resident(rig, &pool);
    operation = map(&pool, 0, 0, 64);
    update(rig, 1, &operation);
    assert_ptr_equal(rig->vidmm->queue.submitted_for, &rig->context->companion);
    vidmm_context_destroy(rig->context);
    assert_null(rig->vidmm->queue.companion);
    assert_null(rig->vidmm->queue.submitted_for);
    assert_true(vidmm_check(rig->vidmm));
    assert_int_equal(vidmm_context_create(rig->device, 0, NULL, 0, &rig->context), STATUS_SUCCESS);
    operation = copy(0, 8, 64);
    update(rig, 1, &operation);
    check_tile(rig, 8, &pool, 0);
    rig_destroy_object(rig, &pool);
    rig_free(rig);
}

/* What was submitted last for another context is still under way when a companion leaves. */
static void a_companion_leaves_what_was_submitted_for_another_one(void **state)
{
    struct rig_config config = rig_model(1);
    struct rig *rig = rig_create(&config);
    struct vidmm_context *first = rig->context, *second;
    struct vidmm_tile_operation operation;
    struct rig_object pool;

    rig_object(rig, 64, 1, &pool);
    rig_make_resident(rig, &pool);
    operation = map(&pool, 0, 0, 64);
    update(rig, 1, &operation);
    assert_int_equal(vidmm_context_create(rig->device, 0, NULL, 0, &second), STATUS_SUCCESS);
    rig->context = second;
    operation = copy(0, 8, 64);
    update(rig, 1, &operation);
    assert_ptr_equal(rig->vidmm->queue.submitted_for, &second->companion);
    vidmm_context_destroy(first);
    assert_ptr_equal(rig->vidmm->queue.submitted_for, &second->companion);
    rig_destroy_object(rig, &pool);
    rig_free(rig);
}

static void bad_arguments_are_refused(void **state)
{
    struct rig_config config = rig_model(1);
    struct rig *rig = rig_create(&config);
    struct rig_done done = {0};
    struct rig_object pool;
    struct vidmm_tile_operation good, bad;
    uint64_t va;

    rig_object(rig, 64, 1, &pool);
    good = map(&pool, 0, 0, 64);
#define REFUSED(member, value)                                                                     \
    (bad = good, bad.member = (value),                                                             \
     assert_int_equal(vidmm_update_gpu_va(rig->context, 1, &bad, NULL, NULL),                      \
                      STATUS_INVALID_PARAMETER))
    REFUSED(va, BASE + PAGE_BYTES);
    REFUSED(va, UINT64_C(1) << RIG_VA_BITS);
    REFUSED(page_count, 0);
    REFUSED(page_count, 8);
    REFUSED(page_count, 80);
    REFUSED(first_page, 16);
    REFUSED(first_page, 1);
    REFUSED(pool, NULL);
    REFUSED(kind, VIDMM_TILE_UNMAP);
    good = copy(0, 4, 64);
    REFUSED(source_va, good.va + VIDMM_TILE_BYTES);
#undef REFUSED
    /* Somebody else's addresses, and nobody unmaps tiles by hand. */
    assert_int_equal(vidmm_map_gpu_va(rig->process,
                                      &(struct vidmm_map_request){.allocation = pool.allocation,
                                                                  .bytes = 4 * VIDMM_TILE_BYTES,
                                                                  .va = BASE},
                                      &va),
                     STATUS_SUCCESS);
    good = map(&pool, 0, 0, 64);
    assert_int_equal(vidmm_update_gpu_va(rig->context, 1, &good, rig_done, &done), STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(done.calls, 1);
    assert_int_equal(done.status, STATUS_RESOURCE_IN_USE);
    good = map(&pool, 8, 0, 64);
    update(rig, 1, &good);
    assert_int_equal(vidmm_unmap_gpu_va(rig->process, good.va, NULL, NULL), STATUS_NOT_FOUND);
    rig_destroy_object(rig, &pool);
    rig_free(rig);
}

/* Nobody's range is where pools have their own mapping; what the manager chooses is below. */
static void tiles_reach_from_the_first_address_to_the_last(void **state)
{
    struct rig_config config = rig_model(1);
    struct rig *rig = rig_create(&config);
    struct vidmm_tile_operation operation;
    struct rig_object pool;

    rig_object(rig, 64, 1, &pool);
    operation = map(&pool, 0, 48, 16);
    operation.va = VIDMM_TILE_BYTES; /* null pointers fault */
    assert_int_equal(vidmm_update_gpu_va(rig->context, 1, &operation, NULL, NULL), STATUS_SUCCESS);
    operation.va = (UINT64_C(1) << RIG_VA_BITS) - VIDMM_TILE_BYTES;
    assert_int_equal(vidmm_update_gpu_va(rig->context, 1, &operation, NULL, NULL), STATUS_SUCCESS);
    operation = copy(0, 4, 64); /* its neighbours, on either side */
    assert_int_equal(vidmm_update_gpu_va(rig->context, 1, &operation, NULL, NULL), STATUS_SUCCESS);
    operation = copy(4, 0, 64);
    assert_int_equal(vidmm_update_gpu_va(rig->context, 1, &operation, NULL, NULL), STATUS_SUCCESS);
    rig_drain(rig);
    rig_destroy_object(rig, &pool);
    rig_free(rig);
}

static void addresses_of_pools_are_kept_from_clients(void **state)
{
    const uint64_t end = UINT64_C(1) << RIG_VA_BITS, start = end - end / 8;
    struct rig_config config = rig_model(1);
    struct rig *rig = rig_create(&config);
    struct rig_object pool;
    uint64_t va;

    rig_object(rig, 64, 1, &pool);
    assert_int_equal(vidmm_map_gpu_va(rig->process,
                                      &(struct vidmm_map_request){.allocation = pool.allocation,
                                                                  .bytes = 2 * PAGE_BYTES,
                                                                  .va = start - PAGE_BYTES},
                                      &va),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_map_physical(rig->process, end - PAGE_BYTES, 0, 0, 1, 0, NULL, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_map_gpu_va(rig->process,
                                      &(struct vidmm_map_request){.allocation = pool.allocation,
                                                                  .bytes = PAGE_BYTES,
                                                                  .va = start - PAGE_BYTES},
                                      &va),
                     STATUS_SUCCESS);
    assert_int_equal(vidmm_map_gpu_va(rig->process,
                                      &(struct vidmm_map_request){.allocation = pool.allocation,
                                                                  .bytes = 64 * PAGE_BYTES},
                                      &va),
                     STATUS_SUCCESS);
    assert_true(va + 64 * PAGE_BYTES <= start);
    rig_drain(rig);
    rig_destroy_object(rig, &pool);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_show_what_the_last_operation_said),
        cmocka_unit_test(tiles_follow_their_pool),
        cmocka_unit_test(tiles_that_go_do_not_come_in_with_their_pool),
        cmocka_unit_test(an_update_without_room_for_the_pools_tables_fails),
        cmocka_unit_test(updates_wait_for_work_and_are_counted),
        cmocka_unit_test(copies_run_on_a_companion_of_the_context),
        cmocka_unit_test(a_companion_goes_with_its_context),
        cmocka_unit_test(a_companion_leaves_what_was_submitted_for_another_one),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(tiles_reach_from_the_first_address_to_the_last),
        cmocka_unit_test(addresses_of_pools_are_kept_from_clients),
    };

    return cmocka_run_group_tests_name("vidmm/tile", tests, NULL, NULL);
}
