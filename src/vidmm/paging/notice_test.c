/*
 * NOTIFY_RESIDENCY: a driver hears where an allocation is, and that it goes.
 * NOTIFY_ALLOC: a driver that keeps content in caches of its own hears which pages leave.
 */
#include "vidmm/memory/allocation.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_for_it_hears_of_residency),
        cmocka_unit_test(what_leaves_an_aperture_is_told_of_from_its_first_page_to_its_last),
        cmocka_unit_test(an_address_is_told_of_when_the_driver_knows_its_root),
    };

    return cmocka_run_group_tests_name("vidmm/notice", tests, NULL, NULL);
}
