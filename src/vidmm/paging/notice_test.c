/*
 * NOTIFY_RESIDENCY: a driver hears where an allocation is, and that it goes.
 * NOTIFY_ALLOC: a driver that keeps content in caches of its own hears which pages leave.
 */
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/segment.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"
#include "vidmm/work/client.h"

#include "base/bits.h"

#define PAGES 40 /* of an aperture of 64 */

struct witness {
    unsigned unmaps, evictions;
    uint64_t unmapped_bytes, next_eviction;
};

static void take_notice(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct witness *witness = rig->test;
    const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *notice = &args->NotifyAllocation;

    if (args->Operation != DXGK_OPERATION_NOTIFY_ALLOC)
        return;
    if (notice->Flags.IoMmuUnmap) {
        assert_int_equal(witness->evictions, 0); /* while the address is still good */
        witness->unmaps++;
        witness->unmapped_bytes += notice->SizeInBytes;
    } else {
        assert_true(notice->Flags.Eviction);
        assert_int_equal(notice->OffsetInBytes, witness->next_eviction);
        witness->evictions++;
        witness->next_eviction += notice->SizeInBytes;
    }
}

/* NTF-015..020: each of the two notices covers every page, whether the other is asked for too. */
static void what_leaves_an_aperture_is_told_of_from_its_first_page_to_its_last(void **state)
{
    for (unsigned variant = 0; variant < 4 * RIG_MODELS; variant++) {
        bool tells_unmap = variant & 1, tells_eviction = variant & 2;
        struct rig_config config = rig_model(variant / 4);
        const struct rig_request request = {
            .bytes = PAGES * PAGE_BYTES, .preferred = {2}, .is_physical = true};
        struct witness witness = {0};
        struct rig_object first, second;
        struct rig *rig;

        if (!config.is_virtual)
            continue;
        rig = rig_create(&config);
        rig->test = &witness;
        rig->watch = take_notice;
        assert_int_equal(rig_try_object(rig, rig->device, &request, &first), STATUS_SUCCESS);
        assert_int_equal(rig_try_object(rig, rig->device, &request, &second), STATUS_SUCCESS);
        first.allocation->wants_unmap_notice = tells_unmap;
        first.allocation->wants_eviction_notice = tells_eviction;
        rig_map(rig, &first);
        rig_make_resident(rig, &first);
        rig_gpu(rig, &first, 8);
        rig_evict(rig, &first);
        assert_true(witness.unmaps == 0 && witness.evictions == 0);
        rig_make_resident(rig, &second); /* which has no room beside it */
        assert_false(vidmm_allocation_is_resident(first.allocation));
        assert_int_equal(witness.unmaps, tells_unmap);
        assert_int_equal(witness.unmapped_bytes, tells_unmap ? PAGES * PAGE_BYTES : 0);
        assert_int_equal(witness.next_eviction, tells_eviction ? PAGES * PAGE_BYTES : 0);
        rig_destroy_object(rig, &first);
        rig_destroy_object(rig, &second);
        rig_free(rig);
    }
}

static void look_for_the_root(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct witness *witness = rig->test;
    const struct rig_context *context = rig->context->driver_context;
    unsigned segment;
    uint64_t offset, entry_count;

    if (args->Operation != DXGK_OPERATION_NOTIFY_ALLOC || !args->NotifyAllocation.Flags.IoMmuUnmap)
        return;
    witness->unmaps++;
    assert_true(vidmm_process_root(rig->process, &segment, &offset, &entry_count));
    assert_int_equal(context->root.SegmentId, segment);
    assert_int_equal(context->root.SegmentOffset, offset);
    assert_int_equal(context->root_entries, entry_count);
}

/* NTF-018: the address is good in the root that the driver knows, also while the root grows. */
static void an_address_is_told_of_when_the_driver_knows_its_root(void **state)
{
    static const DXGK_PAGETABLEUPDATEMODE modes[] = {DXGK_PAGETABLEUPDATE_GPU_VIRTUAL,
                                                     DXGK_PAGETABLEUPDATE_GPU_PHYSICAL};

    for (unsigned i = 0; i < ARRAY_COUNT(modes); i++) {
        struct rig_config config = {
            .is_virtual = true, .mode = modes[i], .tables = RIG_TABLES_GROWING};
        const struct rig_request request = {
            .bytes = 8 * PAGE_BYTES, .preferred = {2}, .is_physical = true};
        struct vidmm_map_request far = {.bytes = 8 * PAGE_BYTES, .va = 3 * GiB};
        struct witness witness = {0};
        struct rig_object first, second;
        struct rig *rig = rig_create(&config);
        uint64_t va;

        rig->test = &witness;
        rig->watch = look_for_the_root;
        assert_int_equal(rig_try_object(rig, rig->device, &request, &first), STATUS_SUCCESS);
        rig_object(rig, 8, 1, &second);
        first.allocation->wants_unmap_notice = true;
        rig_map(rig, &first);
        rig_make_resident(rig, &first);
        rig_gpu(rig, &first, 8);
        rig_evict(rig, &first);
        far.allocation = second.allocation;
        assert_int_equal(vidmm_map_gpu_va(rig->process, &far, &va), STATUS_SUCCESS);
        assert_int_equal(witness.unmaps, 0);
        assert_int_equal(rig->grown_roots, 0);
        rig_destroy_object(rig, &first);
        rig_drain(rig);
        assert_int_equal(witness.unmaps, 1);
        assert_int_equal(rig->grown_roots, 1);
        rig_destroy_object(rig, &second);
        rig_free(rig);
    }
}

struct whereabouts {
    struct rig_object *object;
    unsigned came, went;
};

static void hear_of_residency(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct whereabouts *heard = rig->test;
    const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *notice = &args->NotifyResidency;

    if (args->Operation != DXGK_OPERATION_NOTIFY_RESIDENCY)
        return;
    assert_ptr_equal(notice->hAllocation, heard->object->driver);
    if (notice->Resident) {
        const struct rig_page *page;

        assert_int_equal(notice->PhysicalAddress.SegmentId, 1);
        page = &rig->segments[0][notice->PhysicalAddress.SegmentOffset / PAGE_BYTES];
        assert_true(page >= rig->segments[0] && page < rig->segments[0] + rig->segment_pages[0]);
        heard->came++;
        return;
    }
    assert_int_equal(notice->PhysicalAddress.SegmentId, 0); /* NTF-004 */
    assert_int_equal(notice->PhysicalAddress.SegmentOffset, 0);
    heard->went++;
}

/* NTF-001..004: once each time that it comes and goes, and of no other allocation. */
static void who_asks_for_it_hears_of_residency(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        const uint32_t asks = (DXGK_ALLOCATIONINFOFLAGS_WDDM2_0){
            {{.ExplicitResidencyNotification = 1,
              .AccessedPhysically =
                  1}}}.Value;
        const struct rig_request request = {
            .bytes = 8 * PAGE_BYTES, .preferred = {1}, .flags = asks};
        struct rig_object object, large;
        struct whereabouts heard = {.object = &object};
        struct rig *rig;

        config.keeps_tables_in_system = true;
        rig = rig_create(&config);
        rig->test = &heard;
        rig->watch = hear_of_residency;
        assert_int_equal(rig_try_object(rig, rig->device, &request, &object), STATUS_SUCCESS);
        rig_object(rig, rig->segment_pages[0], 1, &large);
        for (unsigned turn = 1; turn <= 3; turn++) {
            rig_make_resident(rig, &object);
            assert_int_equal(heard.came, turn);
            assert_int_equal(heard.went, turn - 1);
            rig_evict(rig, &object);
            rig_make_resident(rig, &large); /* which has no room beside it */
            rig_evict(rig, &large);
            assert_int_equal(heard.went, turn);
        }
        rig_destroy_object(rig, &object);
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
}

/* ---- NOTIFY_RESIDENCY2 ----------------------------------------------------------------------- */

#define PARTED_PAGES 8u

/* Where the parts of an allocation are told to be: the next page, and what has been told. */
struct parts {
    struct vidmm_allocation *allocation;
    uint64_t part_pages; /* as the option says */
    bool is_listed, was_resident;
    uint64_t next_page;
    unsigned came, went;
};

static void hear_of_parts(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY2 *part = &args->NotifyResidency2;
    struct parts *heard = rig->test;
    const struct placement *place = &heard->allocation->place;
    uint64_t wanted = min_u64(heard->part_pages, PARTED_PAGES - heard->next_page);

    if (args->Operation != DXGK_OPERATION_NOTIFY_RESIDENCY2)
        return;
    assert_ptr_equal(part->hAllocation, heard->allocation->driver_handle);
    assert_int_equal(part->AllocationOffsetInPages, heard->next_page);
    assert_int_equal(part->SizeInPages, wanted);
    assert_true(!heard->next_page || part->Resident == heard->was_resident);
    if (!part->Resident || heard->is_listed) {
        assert_int_equal(part->SegmentId, 0);
        assert_ptr_equal(part->Mdl, part->Resident ? heard->allocation->mdl : NULL);
    } else {
        assert_int_equal(part->SegmentId, place->segment->id);
        assert_int_equal(part->PhysicalAddress.SegmentId, place->segment->id);
        assert_int_equal(part->PhysicalAddress.SegmentOffset,
                         place->segment->kind == SEGMENT_PAGES
                             ? segment_page_offset(heard->allocation, heard->next_page)
                             : place->offset + PAGE_BYTES_OF(heard->next_page));
    }
    heard->was_resident = part->Resident;
    heard->next_page += wanted;
    if (heard->next_page < PARTED_PAGES)
        return;
    heard->next_page = 0;
    *(part->Resident ? &heard->came : &heard->went) += 1;
}

static void hear_of(unsigned model, unsigned segment, uint64_t part_pages, bool lists)
{
    struct rig_config config = rig_model(model);
    const uint32_t asks = (DXGK_ALLOCATIONINFOFLAGS_WDDM2_0){
        {{.ExplicitResidencyNotification = 1,
          .AccessedPhysically =
              1}}}.Value;
    const struct rig_request request = {
        .bytes = PAGE_BYTES_OF(PARTED_PAGES), .preferred = {segment}, .flags = asks};
    const struct rig_request rival = {.bytes = PAGE_BYTES_OF(segment == 1 ? 256 : 64),
                                      .preferred = {segment},
                                      .is_physical = true};
    struct parts heard = {.part_pages = part_pages};
    struct rig_object object, large;
    struct rig *rig;

    config.keeps_tables_in_system = true;
    rig = rig_new(&config);
    rig->manager.residency_part_pages = part_pages;
    rig->manager.lists_residency = lists;
    rig->test = &heard;
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    rig->vidmm->caps.interface_version = DXGKDDI_INTERFACE_VERSION_WDDM3_2;
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    assert_int_equal(rig_try_object(rig, rig->device, &request, &object), STATUS_SUCCESS);
    assert_int_equal(rig_try_object(rig, rig->device, &rival, &large), STATUS_SUCCESS);
    heard.allocation = object.allocation;
    heard.is_listed = lists && segment == 2 && part_pages >= PARTED_PAGES;
    rig->watch = hear_of_parts;
    for (unsigned turn = 1; turn <= 2; turn++) {
        rig_make_resident(rig, &object);
        assert_true(heard.came == turn && heard.went == turn - 1);
        rig_evict(rig, &object);
        rig_make_resident(rig, &large); /* which has no room beside it */
        rig_evict(rig, &large);
        assert_true(heard.went == turn && !heard.next_page);
    }
    rig_destroy_object(rig, &object);
    rig_destroy_object(rig, &large);
    rig_free(rig);
}

/* Each part in its turn, by its address; a whole one in an aperture by its pages, if so asked. */
static void residency_is_told_in_parts_of_so_many_pages(void **state)
{
    static const uint64_t sizes[] = {1, 3, 7, 8, 100};

    for (unsigned model = 1; model < RIG_MODELS; model++) {
        for (unsigned i = 0; i < ARRAY_COUNT(sizes); i++) {
            for (unsigned variant = 0; variant < 4; variant++)
                hear_of(model, 1 + variant % 2, sizes[i], variant & 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residency_is_told_in_parts_of_so_many_pages),
        cmocka_unit_test(who_asks_for_it_hears_of_residency),
        cmocka_unit_test(what_leaves_an_aperture_is_told_of_from_its_first_page_to_its_last),
        cmocka_unit_test(an_address_is_told_of_when_the_driver_knows_its_root),
    };

    return cmocka_run_group_tests_name("vidmm/notice", tests, NULL, NULL);
}
