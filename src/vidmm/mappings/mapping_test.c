/* Mappings: page tables, their order and arithmetic, conflicts, and the ends of things. GpuMmu. */
#include "vidmm/mappings/mapping.h"

#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_gpu.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"
#include "vidmm/work/client.h"

#include "base/bits.h"

#define VIRTUAL_MODELS 3

static struct rig_config virtual_model(unsigned index)
{
    return rig_model(index + 1);
}

/* ---- Order ---- */

static void done_of_an_unmap_is_called_when_the_unmap_has_run(void **state)
{
    for (unsigned model = 0; model < VIRTUAL_MODELS; model++) {
        struct rig_config config = virtual_model(model);
        struct rig *rig = rig_create(&config);
        struct rig_done done = {0};
        struct rig_object object;
        uint64_t va, again;

        rig_object(rig, 8, 1, &object);
        rig_make_resident(rig, &object);
        assert_int_equal(
            vidmm_map_gpu_va(rig->process,
                             &(struct vidmm_map_request){.allocation = object.allocation,
                                                         .bytes = 8 * PAGE_BYTES},
                             &va),
            STATUS_SUCCESS);
        assert_int_equal(vidmm_unmap_gpu_va(rig->process, va, rig_done, &done), STATUS_SUCCESS);
        assert_int_equal(vidmm_unmap_gpu_va(rig->process, va, NULL, NULL), STATUS_NOT_FOUND);
        while (!done.calls)
            assert_true(rig_step_machine(rig));
        /* The address is free by then. */
        assert_int_equal(
            vidmm_map_gpu_va(rig->process,
                             &(struct vidmm_map_request){.allocation = object.allocation,
                                                         .bytes = 8 * PAGE_BYTES,
                                                         .va = va},
                             &again),
            STATUS_SUCCESS);
        rig_drain(rig);
        assert_int_equal(done.calls, 1);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void a_mapping_of_a_destroyed_allocation_cannot_be_unmapped(void **state)
{
    struct rig_config config = virtual_model(0);
    struct rig *rig = rig_create(&config);
    struct rig_object object;

    rig_object(rig, 8, 1, &object);
    rig_make_resident(rig, &object);
    rig_map(rig, &object);
    rig_destroy_object(rig, &object);
    assert_int_equal(vidmm_unmap_gpu_va(rig->process, object.va, NULL, NULL), STATUS_NOT_FOUND);
    rig_free(rig);
}

static void
an_allocation_destroyed_while_it_waits_in_line_stays_until_its_request_ends(void **state)
{
    struct rig_config config = virtual_model(0);
    struct rig *rig = rig_create(&config);
    struct rig_done first = {0}, second = {0}, third = {0};
    struct rig_object objects[3];
    uint64_t fence;

    for (unsigned i = 0; i < 3; i++)
        rig_object(rig, 100, 1, &objects[i]);
    rig_make_resident(rig, &objects[0]);
    rig_make_resident(rig, &objects[1]);
    rig_map(rig, &objects[0]);
    rig_map(rig, &objects[1]);
    rig_evict(rig, &objects[0]);
    /* The first must wait for an eviction, and the second stands in line behind it. */
    assert_int_equal(
        vidmm_make_resident(rig->device, 1, &objects[2].allocation, rig_done, &first, &fence),
        STATUS_PENDING);
    assert_int_equal(
        vidmm_make_resident(rig->device, 1, &objects[1].allocation, rig_done, &second, &fence),
        STATUS_PENDING);
    assert_int_equal(
        vidmm_make_resident(rig->device, 1, &objects[0].allocation, rig_done, &third, &fence),
        STATUS_PENDING);
    assert_int_equal(fence, 5);
    vidmm_allocation_destroy(objects[0].allocation);
    while (rig_step_machine(rig))
        assert_true(vidmm_check(rig->vidmm));
    assert_true(first.calls == 1 && second.calls == 1 && third.calls == 1);
    assert_int_equal(first.status, STATUS_SUCCESS);
    assert_int_equal(second.status, STATUS_SUCCESS);
    assert_int_equal(third.status, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    objects[1].references = 2;
    objects[2].references = 1;
    rig_destroy_object(rig, &objects[1]);
    rig_destroy_object(rig, &objects[2]);
    rig_free(rig);
}

/* ---- Physical mappings ---- */

static DXGK_PTE entry_at(struct rig *rig, uint64_t va)
{
    D3DGPU_PHYSICAL_ADDRESS root = {0};
    DXGK_PTE none = {0};
    unsigned segment;
    uint64_t offset, entry_count;

    if (!vidmm_process_root(rig->process, &segment, &offset, &entry_count))
        return none;
    root.SegmentId = segment;
    root.SegmentOffset = offset;
    return rig_walk(rig, root, va);
}

static NTSTATUS map_physical(struct rig *rig, unsigned segment, uint64_t first_page,
                             uint64_t page_count, uint32_t protect)
{
    return vidmm_map_physical(rig->process, 64 * MiB, segment, first_page, page_count, protect,
                              NULL, NULL);
}

/* The rig's query, in which the aperture is the first of two segments. */
static NTSTATUS (*query_last_aperture)(struct miniport *, HANDLE, const DXGKARG_QUERYADAPTERINFO *);

static NTSTATUS query_first_aperture(struct miniport *self, HANDLE adapter,
                                     const DXGKARG_QUERYADAPTERINFO *query)
{
    NTSTATUS status = query_last_aperture(self, adapter, query);
    const DXGK_QUERYSEGMENTOUT4 *out = query->pOutputData;

    if (query->Type == DXGKQAITYPE_QUERYSEGMENT4 && out->pSegmentDescriptor) {
        DXGK_SEGMENTDESCRIPTOR4 *first = (DXGK_SEGMENTDESCRIPTOR4 *)out->pSegmentDescriptor;
        DXGK_SEGMENTDESCRIPTOR4 *second =
            (DXGK_SEGMENTDESCRIPTOR4 *)(out->pSegmentDescriptor + out->SegmentDescriptorStride);
        DXGK_SEGMENTFLAGS flags = first->Flags;

        first->Flags = second->Flags;
        second->Flags = flags;
    }
    return status;
}

static void physical_mappings_are_of_pages_that_a_segment_has(void **state)
{
    struct rig_config config = virtual_model(0);
    struct rig *rig;

    config.keeps_tables_in_system = true;
    config.hides_segment[0] = true;
    config.aperture_pages = 64;
    rig = rig_new(&config);
    query_last_aperture = rig->ops.query_adapter_info;
    rig->ops.query_adapter_info = query_first_aperture;
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    assert_int_equal(map_physical(rig, 2, 0, 64, 0), STATUS_SUCCESS);
    assert_int_equal(map_physical(rig, 2, 1, 64, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(map_physical(rig, 2, 64, 1, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(map_physical(rig, 1, 0, 1, 0), STATUS_INVALID_PARAMETER); /* the aperture */
    assert_int_equal(map_physical(rig, 3, 0, 1, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(map_physical(rig, 0, UINT64_C(1) << 30, 4, 0), STATUS_SUCCESS);
    /* The page of zeros is nobody's, and this GPU has none. */
    assert_int_equal(map_physical(rig, 2, 0, 1, VIDMM_PROTECT_ZERO), STATUS_INVALID_PARAMETER);
    assert_int_equal(map_physical(rig, 0, 1, 1, VIDMM_PROTECT_ZERO), STATUS_INVALID_PARAMETER);
    assert_int_equal(map_physical(rig, 0, 0, 1, VIDMM_PROTECT_ZERO), STATUS_NOT_SUPPORTED);
    rig_drain(rig);
    rig_free(rig);
}

static void physical_mappings_are_made_replaced_and_unmapped(void **state)
{
    for (unsigned model = 0; model < VIRTUAL_MODELS; model++) {
        struct rig_config config = virtual_model(model);
        struct rig *rig = rig_create(&config);
        struct rig_done done = {0};
        uint64_t va = 7 * MiB - 3 * PAGE_BYTES; /* the last pages of a leaf table */
        uint64_t i;

        assert_int_equal(vidmm_unmap_physical(rig->process, va, 4 * MiB, rig_done, &done),
                         STATUS_SUCCESS);
        rig_drain(rig);
        assert_int_equal(done.calls, 1);
        assert_int_equal(vidmm_map_physical(rig->process, va, 1, 20, 70, 0, rig_done, &done),
                         STATUS_SUCCESS);
        rig_drain(rig);
        for (i = 0; i < 70; i++) {
            DXGK_PTE entry = entry_at(rig, va + PAGE_BYTES_OF(i));

            assert_true(entry.Valid && entry.Segment == 1 && entry.PageAddress == 20 + i);
        }
        assert_false(entry_at(rig, va - PAGE_BYTES).Valid);
        assert_false(entry_at(rig, va + PAGE_BYTES_OF(70)).Valid);
        assert_int_equal(vidmm_map_physical(rig->process, va + PAGE_BYTES, 0, 9, 2, 0, NULL, NULL),
                         STATUS_SUCCESS);
        assert_int_equal(vidmm_unmap_physical(rig->process, va + 10 * PAGE_BYTES, 5 * PAGE_BYTES,
                                              rig_done, &done),
                         STATUS_SUCCESS);
        rig_drain(rig);
        assert_int_equal(done.calls, 3);
        assert_true(entry_at(rig, va + PAGE_BYTES).Segment == 0);
        assert_true(entry_at(rig, va + 2 * PAGE_BYTES).PageAddress == 10);
        for (i = 0; i < 70; i++)
            assert_int_equal(entry_at(rig, va + PAGE_BYTES_OF(i)).Valid, i < 10 || i >= 15);
        assert_int_equal(
            vidmm_unmap_physical(rig->process, 0, UINT64_C(1) << RIG_VA_BITS, NULL, NULL),
            STATUS_SUCCESS);
        rig_drain(rig);
        for (i = 0; i < 70; i++)
            assert_false(entry_at(rig, va + PAGE_BYTES_OF(i)).Valid);
        rig_free(rig);
    }
}

/*
 * The tables of the first call wait until an allocation has left; the second call is not to
 * overtake it.
 */
static void physical_updates_count_in_the_order_of_the_calls(void **state)
{
    for (unsigned unmaps = 0; unmaps < 2; unmaps++) {
        struct rig_config config = virtual_model(0);
        struct rig *rig = rig_create(&config);
        struct rig_object objects[2];
        struct rig_done done = {0};
        uint64_t va = 64 * MiB;

        for (unsigned i = 0; i < 2; i++) {
            rig_object(rig, 112, 1, &objects[i]);
            rig_make_resident(rig, &objects[i]);
            rig_evict(rig, &objects[i]);
        }
        assert_int_equal(vidmm_map_physical(rig->process, va, 0, 20, 40 * 256, 0, rig_done, &done),
                         STATUS_SUCCESS);
        if (unmaps)
            assert_int_equal(
                vidmm_unmap_physical(rig->process, va + PAGE_BYTES, PAGE_BYTES, rig_done, &done),
                STATUS_SUCCESS);
        else
            assert_int_equal(
                vidmm_map_physical(rig->process, va + PAGE_BYTES, 0, 9, 1, 0, rig_done, &done),
                STATUS_SUCCESS);
        assert_int_equal(done.calls, 0);
        rig_drain(rig);
        assert_int_equal(done.calls, 2);
        assert_int_equal(rig->process->space.waiting_updates, 0);
        assert_int_equal(entry_at(rig, va).PageAddress, 20);
        assert_int_equal(entry_at(rig, va + PAGE_BYTES).Valid, !unmaps);
        if (!unmaps)
            assert_int_equal(entry_at(rig, va + PAGE_BYTES).PageAddress, 9);
        assert_int_equal(entry_at(rig, va + 2 * PAGE_BYTES).PageAddress, 22);
        for (unsigned i = 0; i < 2; i++)
            rig_destroy_object(rig, &objects[i]);
        rig_free(rig);
    }
}

/* The sleep takes the page tables that are in memory of the board. */
static NTSTATUS lose_tables(struct miniport *self, ULONG device_uid, DEVICE_POWER_STATE state,
                            POWER_ACTION action)
{
    struct rig *rig = rig_of(self);

    for (unsigned segment = 0; segment < rig->config.memory_segments; segment++) {
        for (uint64_t i = 0; i < rig->segment_pages[segment] && state != PowerDeviceD0; i++) {
            struct rig_page *page = &rig->segments[segment][i];

            if (page->table)
                rig->tables[page->table - 1].is_initialised = false;
        }
    }
    return STATUS_SUCCESS;
}

static void physical_mappings_outlive_sleeps(void **state)
{
    for (unsigned model = 0; model < VIRTUAL_MODELS; model++) {
        struct rig_config config = virtual_model(model);
        struct rig *rig = rig_create(&config);
        uint64_t va = 7 * MiB - 3 * PAGE_BYTES; /* the last pages of a leaf table */
        struct rig_done done = {0};

        rig->ops.set_power_state = lose_tables;
        assert_int_equal(vidmm_map_physical(rig->process, va, 0, 20, 70, 0, NULL, NULL),
                         STATUS_SUCCESS);
        assert_int_equal(
            vidmm_map_physical(rig->process, va + 2 * PAGE_BYTES, 0, 9, 2, 0, NULL, NULL),
            STATUS_SUCCESS);
        assert_int_equal(
            vidmm_unmap_physical(rig->process, va + 10 * PAGE_BYTES, 5 * PAGE_BYTES, NULL, NULL),
            STATUS_SUCCESS);
        for (unsigned round = 0; round < 2; round++) {
            assert_int_equal(vidmm_power_down(rig->vidmm, VIDMM_SLEEP_D3, rig_done, &done),
                             STATUS_SUCCESS);
            rig_drain(rig);
            assert_int_equal(done.calls, round + 1);
            assert_int_equal(vidmm_power_up(rig->vidmm), STATUS_SUCCESS);
            rig_drain(rig);
            for (uint64_t i = 0; i < 70; i++) {
                DXGK_PTE entry = entry_at(rig, va + PAGE_BYTES_OF(i));

                assert_int_equal(entry.Valid, i < 10 || i >= 15);
                if (entry.Valid)
                    assert_int_equal(entry.PageAddress, i == 2 || i == 3 ? 7 + i : 20 + i);
            }
            assert_false(entry_at(rig, va - PAGE_BYTES).Valid);
            assert_false(entry_at(rig, va + PAGE_BYTES_OF(70)).Valid);
        }
        rig_free(rig);
    }
}

/* Farewells of tables, and what is written to tables behind them. */
struct last_words {
    unsigned said;
    unsigned written;
};

static void watch_last_words(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct last_words *words = rig->test;

    if (args->Operation != DXGK_OPERATION_UPDATE_PAGE_TABLE)
        return;
    words->said += args->UpdatePageTable.Flags.NotifyEviction;
    words->written += words->said && !args->UpdatePageTable.Flags.NotifyEviction;
}

/*
 * Pages are mapped while tables are told of, and in the sleep: in a table that is there, and where
 * new ones are made. Nothing is written behind NotifyEviction (PT-037), then it is to new tables.
 */
static void pages_that_are_mapped_at_a_sleep_are_there_after_it(void **state)
{
    for (unsigned variant = 0; variant < 2 * VIRTUAL_MODELS; variant++) {
        bool is_asleep = variant & 1;
        struct rig_config config = virtual_model(variant / 2);
        struct rig *rig = rig_create(&config);
        uint64_t va[2] = {7 * MiB, 64 * MiB};
        struct rig_done slept = {0}, mapped = {0};
        struct last_words words = {0};

        rig->ops.set_power_state = lose_tables;
        assert_int_equal(vidmm_map_physical(rig->process, va[0], 0, 20, 2, 0, NULL, NULL),
                         STATUS_SUCCESS);
        rig_drain(rig);
        rig->test = &words;
        rig->watch = watch_last_words;
        assert_int_equal(vidmm_power_down(rig->vidmm, VIDMM_SLEEP_D3, rig_done, &slept),
                         STATUS_SUCCESS);
        while (!slept.calls && (is_asleep || !words.said))
            assert_true(rig_step_machine(rig));
        assert_int_equal(slept.calls, is_asleep || !words.said); /* or no table is lost */
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(vidmm_map_physical(rig->process, va[i] + PAGE_BYTES, 0, 30 + i, 1, 0,
                                                rig_done, &mapped),
                             STATUS_SUCCESS);
        while (rig_step_machine(rig))
            ;
        assert_int_equal(slept.calls, 1);
        assert_int_equal(mapped.calls, 0);
        assert_int_equal(words.written, 0);

        rig->watch = NULL;
        assert_int_equal(vidmm_power_up(rig->vidmm), STATUS_SUCCESS);
        rig_drain(rig);
        assert_int_equal(mapped.calls, 2);
        assert_int_equal(entry_at(rig, va[0]).PageAddress, 20);
        for (unsigned i = 0; i < 2; i++) {
            assert_true(entry_at(rig, va[i] + PAGE_BYTES).Valid);
            assert_int_equal(entry_at(rig, va[i] + PAGE_BYTES).PageAddress, 30 + i);
        }
        rig_free(rig);
    }
}

static void count_window_flushes(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    unsigned *flushes = rig->test;

    *flushes += args->Operation == DXGK_OPERATION_FLUSH_TLB &&
                args->FlushTlb.StartVirtualAddress == rig->vidmm->paging.window_va;
}

/* New tables are written through addresses that were invalid until now (TLB-005). */
static void new_tables_are_flushed_into_view_where_invalid_entries_are_cached(void **state)
{
    for (unsigned caches = 0; caches < 2; caches++) {
        struct rig_config config = virtual_model(0);
        struct rig_object object;
        unsigned flushes = 0;
        struct rig *rig;

        config.caches_invalid = caches;
        rig = rig_create(&config);
        rig_object(rig, 8, 1, &object);
        rig->watch = count_window_flushes;
        rig->test = &flushes;
        rig_map(rig, &object);
        rig_drain(rig);
        assert_int_equal(flushes, caches);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

struct flushes {
    uint64_t start, end; /* of the range that is looked for */
    unsigned count;
};

static void count_flushes(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct flushes *flushes = rig->test;

    flushes->count += args->Operation == DXGK_OPERATION_FLUSH_TLB &&
                      args->FlushTlb.StartVirtualAddress == flushes->start &&
                      args->FlushTlb.EndVirtualAddress == flushes->end;
}

/* TLB-004: its tables are there already, and only entries become valid. */
static void a_new_mapping_is_flushed_where_invalid_entries_are_cached(void **state)
{
    for (unsigned caches = 0; caches < 2; caches++) {
        struct rig_config config = virtual_model(0);
        struct rig_object object, beside;
        struct flushes flushes = {0};
        struct rig *rig;

        config.caches_invalid = caches;
        rig = rig_create(&config);
        rig_object(rig, 4, 1, &beside);
        rig_object(rig, 8, 1, &object);
        rig_make_resident(rig, &beside);
        rig_make_resident(rig, &object);
        rig_map(rig, &beside);
        rig_drain(rig);
        rig->watch = count_flushes;
        rig->test = &flushes;
        flushes.start = align_up(beside.va + PAGE_BYTES_OF(4), 64 * KiB);
        flushes.end = flushes.start + PAGE_BYTES_OF(8);
        rig_map(rig, &object);
        rig_drain(rig);
        assert_int_equal(object.va, flushes.start);
        assert_int_equal(flushes.count, caches);
        rig_destroy_object(rig, &object);
        rig_destroy_object(rig, &beside);
        rig_free(rig);
    }
}

static void a_conflict_leaves_no_trace(void **state)
{
    struct rig_config config = virtual_model(0);
    struct rig *rig = rig_create(&config);
    struct rig_object object;
    uint64_t leaf = rig_coverage(1);
    uint64_t taken = 16 * MiB, va;

    rig_object(rig, 8, 1, &object);
    assert_int_equal(vidmm_map_gpu_va(rig->process,
                                      &(struct vidmm_map_request){.allocation = object.allocation,
                                                                  .bytes = PAGE_BYTES,
                                                                  .va = taken},
                                      &va),
                     STATUS_SUCCESS);
    assert_int_equal(vidmm_map_gpu_va(rig->process,
                                      &(struct vidmm_map_request){.allocation = object.allocation,
                                                                  .bytes = PAGE_BYTES,
                                                                  .va = taken},
                                      &va),
                     STATUS_RESOURCE_IN_USE);
    assert_int_equal(va, 0);
    rig_drain(rig);
    /* Two leaves before it and its own. */
    assert_int_equal(vidmm_map_physical(rig->process, taken - 2 * leaf, 1, 0, 150, 0, NULL, NULL),
                     STATUS_RESOURCE_IN_USE);
    assert_true(vidmm_is_idle(rig->vidmm));
    assert_int_equal(vidmm_map_gpu_va(rig->process,
                                      &(struct vidmm_map_request){.allocation = object.allocation,
                                                                  .bytes = PAGE_BYTES,
                                                                  .va = taken - 2 * leaf},
                                      &va),
                     STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(vidmm_map_physical(rig->process, 32 * MiB, 1, 0, 1, 0, NULL, NULL),
                     STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(vidmm_map_gpu_va(rig->process,
                                      &(struct vidmm_map_request){.allocation = object.allocation,
                                                                  .bytes = PAGE_BYTES,
                                                                  .va = 32 * MiB + PAGE_BYTES},
                                      &va),
                     STATUS_RESOURCE_IN_USE);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

static void bad_arguments_are_refused(void **state)
{
    struct rig_config config = virtual_model(0);
    struct rig *rig = rig_create(&config);
    struct rig_object object;
    uint64_t size = UINT64_C(1) << RIG_VA_BITS;
    struct {
        uint64_t offset, bytes, va;
    } maps[] = {{0, 0, 0},
                {0, 1, 0},
                {1, PAGE_BYTES, 0},
                {0, PAGE_BYTES, 1},
                {0, 9 * PAGE_BYTES, 0},
                {8 * PAGE_BYTES, PAGE_BYTES, 0},
                {0, PAGE_BYTES, size},
                {0, PAGE_BYTES, PAGE_BYTES}};
    uint64_t va;

    rig_object(rig, 8, 1, &object);
    for (size_t i = 0; i < ARRAY_COUNT(maps); i++)
        assert_int_equal(
            vidmm_map_gpu_va(rig->process,
                             &(struct vidmm_map_request){.allocation = object.allocation,
                                                         .offset = maps[i].offset,
                                                         .bytes = maps[i].bytes,
                                                         .va = maps[i].va},
                             &va),
            STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_map_physical(rig->process, MiB, 3, 0, 1, 0, NULL, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_map_physical(rig->process, MiB, 2, 0, 1, 0, NULL, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_map_physical(rig->process, MiB, 1, 255, 2, 0, NULL, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_map_physical(rig->process, size - PAGE_BYTES, 1, 0, 2, 0, NULL, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_map_physical(rig->process, 5, 1, 0, 2, 0, NULL, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_map_physical(rig->process, 0, 1, 0, 2, 0, NULL, NULL),
                     STATUS_INVALID_PARAMETER); /* null pointers fault */
    assert_int_equal(vidmm_unmap_physical(rig->process, MiB, 1, NULL, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_unmap_gpu_va(rig->process, MiB, NULL, NULL), STATUS_NOT_FOUND);
    assert_int_equal(vidmm_submit_virtual(rig->context, MiB, 1, NULL, NULL),
                     STATUS_INVALID_PARAMETER); /* no root */
    assert_int_equal(vidmm_render(rig->context, NULL, 0, 0, NULL, NULL, NULL),
                     STATUS_NOT_SUPPORTED);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

/* The first page that may be mapped, the last one of the segment, the last one of the addresses. */
static void the_last_of_everything_can_be_mapped(void **state)
{
    struct rig_config config = virtual_model(2);
    struct rig *rig = rig_create(&config);
    uint64_t end = UINT64_C(1) << RIG_VA_BITS;
    struct rig_object object;
    bool is_physical = false;
    uint64_t va, reach;

    assert_int_equal(vidmm_map_physical(rig->process, 64 * KiB, 1, 255, 1, 0, NULL, NULL),
                     STATUS_SUCCESS);
    assert_null(mapping_at(&rig->process->space, 64 * KiB - 1, &reach, &is_physical));
    assert_int_equal(reach, 64 * KiB);
    assert_false(is_physical);
    assert_null(mapping_at(&rig->process->space, 64 * KiB, &reach, &is_physical));
    assert_true(reach > 64 * KiB);
    assert_true(is_physical);
    assert_int_equal(
        vidmm_map_physical(rig->process, end - 2 * PAGE_BYTES, 1, 254, 2, 0, NULL, NULL),
        STATUS_SUCCESS);
    rig_object(rig, 8, 1, &object);
    assert_int_equal(vidmm_map_gpu_va(rig->process,
                                      &(struct vidmm_map_request){.allocation = object.allocation,
                                                                  .offset = 7 * PAGE_BYTES,
                                                                  .bytes = PAGE_BYTES},
                                      &va),
                     STATUS_SUCCESS);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

/*
 * A root grows up to the last address, so those that the manager chooses are not in the upper half,
 * nor in the gap between two of a client, which fits best: the client has plans for it.
 */
static void addresses_under_a_root_that_grows_are_the_lowest_behind_those_of_clients(void **state)
{
    static const unsigned bits[] = {RIG_VA_BITS, 36, 31, 30}; /* a driver may have fewer than 32 */

    for (unsigned i = 0; i < ARRAY_COUNT(bits); i++) {
        const struct rig_config config = {.is_virtual = true,
                                          .mode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL,
                                          .tables = RIG_TABLES_GROWING};
        const uint64_t low = UINT64_C(1) << (min_u64(bits[i], 32) - 1);
        const uint64_t wanted[] = {low + MiB, low + MiB + 128 * KiB, 0, 0};
        const uint64_t expected[] = {wanted[0], wanted[1], low, low + 64 * KiB};
        struct rig *rig = rig_create(&config);
        struct rig_object object;
        uint64_t va;

        rig->vidmm->caps.va_bits = bits[i];
        rig_object(rig, 1, 1, &object);
        for (unsigned j = 0; j < ARRAY_COUNT(wanted); j++) {
            const struct vidmm_map_request request = {
                .allocation = object.allocation, .bytes = PAGE_BYTES, .va = wanted[j]};

            assert_int_equal(vidmm_map_gpu_va(rig->process, &request, &va), STATUS_SUCCESS);
            assert_int_equal(va, expected[j]);
            rig_drain(rig);
        }
        rig_destroy_object(rig, &object);
        rig->vidmm->caps.va_bits = RIG_VA_BITS;
        rig_free(rig);
    }
}

/* Each allocation of the growth fails once: the root is what it was, and grows when asked again. */
static void a_root_that_cannot_grow_stays(void **state)
{
    const struct rig_config config = {.is_virtual = true,
                                      .mode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL,
                                      .tables = RIG_TABLES_GROWING};
    bool has_failed = true;

    for (uint64_t n = 1; has_failed; n++) {
        struct rig *rig = rig_create(&config);
        struct vidmm_map_request request = {.bytes = PAGE_BYTES, .va = 4 * MiB};
        uint64_t va, entries, grown, offset;
        struct rig_object object;
        unsigned segment;
        NTSTATUS status;

        rig_object(rig, 1, 1, &object);
        request.allocation = object.allocation;
        assert_int_equal(vidmm_map_gpu_va(rig->process, &request, &va), STATUS_SUCCESS);
        rig_drain(rig);
        assert_true(vidmm_process_root(rig->process, &segment, &offset, &entries));
        request.va = 64 * MiB;
        failing_services_fail_at(&rig->memory, n);
        status = vidmm_map_gpu_va(rig->process, &request, &va);
        has_failed = rig->memory.has_failed;
        failing_services_fail_at(&rig->memory, 0);
        assert_true(vidmm_check(rig->vidmm));
        assert_int_equal(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
        if (has_failed)
            assert_int_equal(vidmm_map_gpu_va(rig->process, &request, &va), STATUS_SUCCESS);
        rig_drain(rig);
        assert_true(vidmm_process_root(rig->process, &segment, &offset, &grown));
        assert_true(grown > entries);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

/*
 * PT-006: a root in system memory has one page. It grows to what is needed, not to twice what it
 * has, and a driver that wants a second page is told of, once for each address that needs it.
 */
static void a_root_in_system_memory_has_one_page(void **state)
{
    const struct rig_config config = {.is_virtual = true,
                                      .mode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL,
                                      .tables = RIG_TABLES_GROWING};
    struct rig *rig = rig_create(&config); /* whose paging process has its root in segment 1 */
    const uint64_t reach = rig_reach(rig, 1);
    const uint64_t entries_wanted[] = {64, 320, 512, 513, 450};
    struct rig_object object;

    rig->expected_rules = "PT-006";
    rig->vidmm->caps.levels[1].segment = 0;
    rig_object(rig, 1, 1, &object);
    for (unsigned i = 0; i < ARRAY_COUNT(entries_wanted); i++) {
        const struct vidmm_map_request request = {.allocation = object.allocation,
                                                  .bytes = PAGE_BYTES,
                                                  .va = (entries_wanted[i] - 1) * reach};
        const bool fits = entries_wanted[i] <= 512;
        uint64_t va;

        assert_int_equal(vidmm_map_gpu_va(rig->process, &request, &va),
                         fits ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER);
        assert_int_equal(rig->rule_count, i >= 3);
        assert_true(vidmm_check(rig->vidmm));
        rig_drain(rig);
    }
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

static NTSTATUS map_uniquely(struct rig *rig, struct rig_object *object, uint64_t first,
                             uint64_t count, unsigned protection)
{
    uint64_t va;

    return vidmm_map_gpu_va(
        rig->process,
        &(struct vidmm_map_request){.allocation = object->allocation,
                                    .offset = first * PAGE_BYTES,
                                    .bytes = count * PAGE_BYTES,
                                    .driver_protection = VIDMM_UNIQUE_PROTECTION | protection},
        &va);
}

/* Pages with a unique protection have that one alone; their neighbours may have another. */
static void a_unique_protection_is_that_of_its_pages_alone(void **state)
{
    struct rig_config config = virtual_model(0);
    struct rig *rig = rig_create(&config);
    static const unsigned protections[] = {2, 1, 2};
    struct rig_object object;
    uint64_t pages;

    rig_object(rig, 12, 1, &object);
    assert_int_equal(map_uniquely(rig, &object, 4, 4, 1), STATUS_SUCCESS);
    assert_int_equal(mapping_unique_protection(object.allocation, 5, &pages),
                     VIDMM_UNIQUE_PROTECTION | 1);
    assert_int_equal(pages, 3); /* none of those behind it, which have none of their own */
    assert_int_equal(map_uniquely(rig, &object, 0, 5, 2), STATUS_INVALID_PARAMETER);
    assert_int_equal(map_uniquely(rig, &object, 7, 1, 2), STATUS_INVALID_PARAMETER);
    assert_int_equal(map_uniquely(rig, &object, 7, 1, 1), STATUS_SUCCESS);
    assert_int_equal(map_uniquely(rig, &object, 0, 4, 2), STATUS_SUCCESS);
    assert_int_equal(mapping_unique_protection(object.allocation, 8, &pages), 0);
    assert_int_equal(pages, 4);
    assert_int_equal(map_uniquely(rig, &object, 8, 4, 2), STATUS_SUCCESS);
    for (unsigned page = 0; page < 12; page++) {
        assert_int_equal(mapping_unique_protection(object.allocation, page, &pages),
                         VIDMM_UNIQUE_PROTECTION | protections[page / 4]);
        assert_int_equal(pages, page == 4 || page == 5 || page == 6 ? 7 - page : 4 - page % 4);
    }
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

/* One of the two is enough, whichever was there first. */
static void a_unique_protection_is_not_shared_with_a_plain_one(void **state)
{
    for (unsigned is_first = 0; is_first < 2; is_first++) {
        struct rig_config config = virtual_model(0);
        struct rig *rig = rig_create(&config);
        struct vidmm_map_request plain = {.bytes = PAGE_BYTES, .driver_protection = 1};
        struct rig_object object;
        uint64_t va;

        rig_object(rig, 4, 1, &object);
        plain.allocation = object.allocation;
        if (is_first) {
            assert_int_equal(map_uniquely(rig, &object, 0, 2, 1), STATUS_SUCCESS);
            assert_int_equal(vidmm_map_gpu_va(rig->process, &plain, &va), STATUS_INVALID_PARAMETER);
        } else {
            assert_int_equal(vidmm_map_gpu_va(rig->process, &plain, &va), STATUS_SUCCESS);
            assert_int_equal(map_uniquely(rig, &object, 0, 2, 1), STATUS_INVALID_PARAMETER);
        }
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

/* ---- What entries say ---- */

struct seen {
    unsigned read_only, no_execute, coherent, protections;
};

static void see_entries(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &args->UpdatePageTable;
    struct seen *seen = rig->test;

    if (args->Operation != DXGK_OPERATION_UPDATE_PAGE_TABLE || !update->hAllocation ||
        rig_is_system(rig, update->hProcess) || !update->pPageTableEntries[0].Valid)
        return;
    seen->read_only += (unsigned)update->pPageTableEntries[0].ReadOnly;
    seen->no_execute += (unsigned)update->pPageTableEntries[0].NoExecute;
    seen->coherent += (unsigned)update->pPageTableEntries[0].CacheCoherent;
    seen->protections += update->DriverProtection == 0x1234;
}

static void protections_are_in_the_entries_only_when_the_caps_say_so(void **state)
{
    for (unsigned has = 0; has < 2; has++) {
        struct rig_config config = virtual_model(0);
        struct rig_request request = {.bytes = 100 * PAGE_BYTES, .is_cached = true};
        struct seen seen = {0};
        struct rig_object object;
        struct rig *rig;
        uint64_t va;

        config.has_protections = has;
        config.aperture_pages = 128;
        rig = rig_create(&config);
        rig->watch = see_entries;
        rig->test = &seen;
        request.preferred[0] = 2; /* the aperture: system memory, for a page table */
        assert_int_equal(rig_try_object(rig, rig->device, &request, &object), STATUS_SUCCESS);
        rig_make_resident(rig, &object);
        assert_int_equal(
            vidmm_map_gpu_va(rig->process,
                             &(struct vidmm_map_request){.allocation = object.allocation,
                                                         .offset = 30 * PAGE_BYTES,
                                                         .bytes = 70 * PAGE_BYTES,
                                                         .va = 16 * MiB - 3 * PAGE_BYTES,
                                                         .protect = VIDMM_PROTECT_READ_ONLY |
                                                                    VIDMM_PROTECT_NO_EXECUTE,
                                                         .driver_protection = 0x1234},
                             &va),
            STATUS_SUCCESS);
        rig_drain(rig);
        /* 70 pages from 3 before the end of a table on: three tables. */
        assert_int_equal(seen.protections, 3);
        assert_int_equal(seen.read_only, has ? 3 : 0);
        assert_int_equal(seen.no_execute, has ? 3 : 0);
        assert_int_equal(seen.coherent, has ? 3 : 0);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void an_allocation_is_followed_by_all_its_mappings_wherever_it_moves(void **state)
{
    for (unsigned model = 0; model < 2 * VIRTUAL_MODELS; model++) {
        struct rig_config config = virtual_model(model % VIRTUAL_MODELS);
        struct rig_object object, other, part;
        struct rig_object *both[2] = {&object, &part};
        struct rig *rig;

        config.caches_invalid = model >= VIRTUAL_MODELS;
        rig = rig_create(&config);
        rig_object(rig, 130, 1, &object);
        rig_object(rig, 130, 1, &other);
        rig_map(rig, &object);
        part = object;
        assert_int_equal(
            vidmm_map_gpu_va(rig->process,
                             &(struct vidmm_map_request){.allocation = object.allocation,
                                                         .bytes = 130 * PAGE_BYTES},
                             &part.va),
            STATUS_SUCCESS);
        for (unsigned i = 0; i < 3; i++) {
            struct rig_done done = {0};

            rig_make_resident(rig, &object);
            assert_int_equal(
                rig_gpu_in(rig, rig->context, both, 2, RIG_PROGRAM_STEPS, rig_done, &done),
                STATUS_SUCCESS);
            rig_drain(rig);
            assert_int_equal(done.status, STATUS_SUCCESS);
            rig_evict(rig, &object);
            rig_make_resident(rig, &other); /* there is no room for both */
            assert_false(vidmm_allocation_is_resident(object.allocation));
            assert_false(entry_at(rig, object.va).Valid);
            assert_false(entry_at(rig, part.va + 129 * PAGE_BYTES).Valid);
            rig_evict(rig, &other);
        }
        assert_int_equal(rig->eviction_count, 5);
        rig_cpu(rig, &object, false);
        rig_destroy_object(rig, &object);
        rig_destroy_object(rig, &other);
        rig_free(rig);
    }
}

static void a_mapping_goes_while_its_allocation_moves(void **state)
{
    for (unsigned model = 0; model < VIRTUAL_MODELS; model++) {
        struct rig_config config = virtual_model(model);
        struct rig_done resident = {0}, unmapped = {0};
        struct rig_object object;
        struct rig *rig;
        uint64_t fence;

        config.buffer_bytes = 48; /* a record or two at a time */
        config.buffer_count = 1;
        rig = rig_create(&config);
        rig_object(rig, 150, 1, &object);
        rig_map(rig, &object);
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &object.allocation, rig_done, &resident, &fence),
            STATUS_PENDING);
        rig_step_machine(rig);
        assert_int_equal(vidmm_unmap_gpu_va(rig->process, object.va, rig_done, &unmapped),
                         STATUS_SUCCESS);
        rig_drain(rig);
        assert_true(resident.calls == 1 && unmapped.calls == 1);
        assert_false(entry_at(rig, object.va).Valid);
        object.references = 1;
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void an_unmapped_address_stays_so_when_its_allocation_comes_in_behind(void **state)
{
    for (unsigned model = 0; model < VIRTUAL_MODELS; model++) {
        struct rig_config config = virtual_model(model);
        struct rig *rig = rig_create(&config);
        struct rig_done done[3] = {{0}};
        struct rig_object object, other;
        uint64_t fence;

        rig_object(rig, 30, 1, &object);
        rig_object(rig, 30, 1, &other);
        rig_map(rig, &object);
        /* The unmap has nothing to build, and ends with what is in flight before it. */
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &other.allocation, rig_done, &done[0], &fence),
            STATUS_PENDING);
        assert_int_equal(vidmm_unmap_gpu_va(rig->process, object.va, rig_done, &done[1]),
                         STATUS_SUCCESS);
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &object.allocation, rig_done, &done[2], &fence),
            STATUS_PENDING);
        rig_drain(rig);
        assert_true(done[0].calls == 1 && done[1].calls == 1 && done[2].calls == 1);
        for (unsigned i = 0; i < 30; i++)
            assert_false(entry_at(rig, object.va + PAGE_BYTES_OF(i)).Valid);
        object.references = other.references = 1;
        rig_destroy_object(rig, &object);
        rig_destroy_object(rig, &other);
        rig_free(rig);
    }
}

static void an_unmap_leaves_tables_alone_that_are_made_behind_it(void **state)
{
    for (unsigned model = 0; model < VIRTUAL_MODELS; model++) {
        struct rig_config config = virtual_model(model);
        struct rig_done done = {0};
        struct rig_object object;
        struct rig *rig;
        uint64_t fence;

        config.buffer_bytes = 48;
        config.buffer_count = 1;
        rig = rig_create(&config);
        rig_object(rig, 100, 1, &object);
        assert_int_equal(vidmm_map_physical(rig->process, MiB, 1, 0, 1, 0, NULL, NULL),
                         STATUS_SUCCESS);
        rig_drain(rig);
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &object.allocation, rig_done, &done, &fence),
            STATUS_PENDING);
        assert_int_equal(vidmm_unmap_physical(rig->process, MiB, 8 * MiB, rig_done, &done),
                         STATUS_SUCCESS);
        assert_int_equal(vidmm_map_physical(rig->process, 4 * MiB, 1, 7, 2, 0, rig_done, &done),
                         STATUS_SUCCESS);
        rig_drain(rig);
        assert_int_equal(done.calls, 3);
        assert_false(entry_at(rig, MiB).Valid);
        assert_true(entry_at(rig, 4 * MiB).Valid);
        object.references = 1;
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void processes_have_tables_of_their_own(void **state)
{
    for (unsigned model = 0; model < VIRTUAL_MODELS; model++) {
        struct rig_config config = virtual_model(model);
        struct rig *rig = rig_create(&config);
        struct rig_done done = {0};
        struct rig_object object;
        uint64_t free_pages, offset, entry_count;
        unsigned segment;
        uint32_t slots = 0;

        rig_object(rig, 10, 1, &object);
        rig_map(rig, &object);
        rig_make_resident(rig, &object);
        free_pages = rig->taken_pages;
        /* Their tables and window slots are used again, one process after the other. */
        for (unsigned i = 0; i < 20; i++) {
            struct vidmm_process *process;

            assert_int_equal(vidmm_process_create(rig->vidmm, &process), STATUS_SUCCESS);
            assert_false(vidmm_process_root(process, &segment, &offset, &entry_count));
            assert_int_equal(
                vidmm_map_physical(process, MiB * (1 + i), 1, 0, 200, 0, rig_done, &done),
                STATUS_SUCCESS);
            rig_drain(rig);
            assert_true(vidmm_process_root(process, &segment, &offset, &entry_count));
            assert_int_equal(done.calls, i + 1);
            vidmm_process_destroy(process);
            rig_gpu(rig, &object, 8);
            assert_true(i == 0 || rig->vidmm->paging.window_next == slots);
            slots = rig->vidmm->paging.window_next;
        }
        assert_int_equal(rig->taken_pages, free_pages);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(done_of_an_unmap_is_called_when_the_unmap_has_run),
        cmocka_unit_test(a_mapping_of_a_destroyed_allocation_cannot_be_unmapped),
        cmocka_unit_test(
            an_allocation_destroyed_while_it_waits_in_line_stays_until_its_request_ends),
        cmocka_unit_test(physical_mappings_are_of_pages_that_a_segment_has),
        cmocka_unit_test(physical_mappings_are_made_replaced_and_unmapped),
        cmocka_unit_test(physical_updates_count_in_the_order_of_the_calls),
        cmocka_unit_test(physical_mappings_outlive_sleeps),
        cmocka_unit_test(pages_that_are_mapped_at_a_sleep_are_there_after_it),
        cmocka_unit_test(new_tables_are_flushed_into_view_where_invalid_entries_are_cached),
        cmocka_unit_test(a_new_mapping_is_flushed_where_invalid_entries_are_cached),
        cmocka_unit_test(a_conflict_leaves_no_trace),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(the_last_of_everything_can_be_mapped),
        cmocka_unit_test(addresses_under_a_root_that_grows_are_the_lowest_behind_those_of_clients),
        cmocka_unit_test(a_root_that_cannot_grow_stays),
        cmocka_unit_test(a_root_in_system_memory_has_one_page),
        cmocka_unit_test(a_unique_protection_is_that_of_its_pages_alone),
        cmocka_unit_test(a_unique_protection_is_not_shared_with_a_plain_one),
        cmocka_unit_test(protections_are_in_the_entries_only_when_the_caps_say_so),
        cmocka_unit_test(an_allocation_is_followed_by_all_its_mappings_wherever_it_moves),
        cmocka_unit_test(a_mapping_goes_while_its_allocation_moves),
        cmocka_unit_test(an_unmapped_address_stays_so_when_its_allocation_comes_in_behind),
        cmocka_unit_test(an_unmap_leaves_tables_alone_that_are_made_behind_it),
        cmocka_unit_test(processes_have_tables_of_their_own),
    };

    return cmocka_run_group_tests_name("vidmm/mapping", tests, NULL, NULL);
}
