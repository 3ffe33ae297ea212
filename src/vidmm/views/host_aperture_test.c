/* Which slots of the CPU host aperture show what, when there are few, and over a sleep. */
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/rig/test_rig_views.h"
#include "vidmm/views/host_aperture.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/page_allocator.h"

#define SLOTS 160u /* more than two calls of 64 */

static uint64_t shown(const struct rig *rig)
{
    uint64_t count = 0;

    for (uint64_t slot = 0; slot < rig->config.host_slots; slot++)
        count += rig->host_shown[slot] != 0;
    return count;
}

static NTSTATUS set_power_state(struct miniport *self, ULONG device, DEVICE_POWER_STATE state,
                                POWER_ACTION action)
{
    struct rig *rig = rig_of(self);

    if (state != PowerDeviceD0)
        EXPECT(rig_shows_nothing(rig)); /* CHA-005 */
    rig->is_asleep = state != PowerDeviceD0;
    return STATUS_SUCCESS;
}

/* The paging process's tables are in segment 1 as well, and hold slots from the start on. */
static struct rig *start(bool has_64kb_pages)
{
    struct rig_config config = rig_model(1);
    struct rig *rig;

    config.host_slots = SLOTS;
    config.has_64kb_pages[0] = has_64kb_pages;
    config.segment_pages[0] = 1024;
    config.kept_pages = 1024; /* a sleep leaves everything where it is */
    rig = rig_create(&config);
    rig->ops.set_power_state = set_power_state;
    return rig;
}

static void create_resident(struct rig *rig, uint64_t pages, struct rig_object *object)
{
    rig_object(rig, pages, 1, object);
    rig_make_resident(rig, object);
    rig_map(rig, object);
    rig_gpu(rig, object, 8);
}

static bool is_seen_in_memory(const struct rig_object *object)
{
    return vidmm_locked_page_address(object->allocation, 0) >= rig_segment_window(0);
}

static void a_lock_has_a_slot_for_each_page_and_gives_them_back(void **state)
{
    struct rig *rig = start(false);
    struct rig_object object;
    uint64_t tables;

    create_resident(rig, 70, &object);
    tables = shown(rig);
    assert_true(tables > 0);
    for (unsigned turn = 0; turn < 3; turn++) {
        assert_int_equal(vidmm_lock(object.allocation), STATUS_SUCCESS);
        assert_int_equal(vidmm_lock(object.allocation), STATUS_SUCCESS); /* shares them */
        assert_int_equal(shown(rig), tables + object.pages);
        rig_touch_locked(rig, &object, true);
        vidmm_unlock(object.allocation);
        assert_int_equal(shown(rig), tables + object.pages);
        vidmm_unlock(object.allocation);
        assert_int_equal(shown(rig), tables);
        rig_gpu(rig, &object, 8); /* which sees what the CPU wrote */
    }
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

static void what_needs_one_slot_more_than_there_are_is_seen_in_system_memory(void **state)
{
    for (unsigned more = 0; more < 2; more++) {
        struct rig *rig = start(false);
        struct rig_object object;

        create_resident(rig, 1, &object); /* whose tables are there now */
        rig_destroy_object(rig, &object);
        rig_drain(rig);
        create_resident(rig, SLOTS - shown(rig) + more, &object);
        rig_evict(rig, &object); /* it may leave for the CPU */
        rig_lock(rig, &object);
        assert_int_equal(is_seen_in_memory(&object), !more);
        assert_true(more || shown(rig) == SLOTS);
        rig_touch_locked(rig, &object, true);
        vidmm_unlock(object.allocation);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

/* CHA-002: the first call, or the second one of 64 slots, is refused; no slot is lost by it. */
static void slots_that_the_driver_refuses_to_map_are_free_again(void **state)
{
    for (unsigned call = 1; call <= 2; call++) {
        struct rig *rig = start(false);
        struct rig_object object;
        uint64_t tables;

        rig->expected_rules = "CHA-002";
        create_resident(rig, 100, &object);
        tables = shown(rig);
        rig->refused_host_map = call;
        rig_evict(rig, &object);
        rig_lock(rig, &object);
        assert_int_equal(rig->rule_count, 1);
        assert_false(is_seen_in_memory(&object));
        assert_int_equal(shown(rig), tables);
        rig_touch_locked(rig, &object, false);
        vidmm_unlock(object.allocation);
        rig_destroy_object(rig, &object);
        rig_drain(rig);
        create_resident(rig, SLOTS - shown(rig), &object); /* all that are left */
        rig_lock(rig, &object);
        assert_true(is_seen_in_memory(&object) && shown(rig) == SLOTS);
        vidmm_unlock(object.allocation);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

/* CHA-002: of three pages that are shown one by one; whichever is refused. */
static void a_range_that_is_refused_in_its_middle_gives_its_slots_back(void **state)
{
    for (unsigned call = 1; call <= 4; call++) {
        struct rig *rig = start(false);
        struct segment *segment = &rig->vidmm->segments[0];
        uint64_t free_count = page_allocator_free_count(&segment->host_slots);
        uint64_t tables = shown(rig), address;
        uint32_t slot;

        rig->expected_rules = "CHA-002";
        rig->refused_host_map = call;
        assert_int_equal(
            NT_SUCCESS(host_aperture_map_range(rig->vidmm, segment, 1000, 3, &slot, &address)),
            call == 4);
        if (call == 4) {
            assert_int_equal(shown(rig), tables + 3);
            host_aperture_unmap_range(rig->vidmm, segment, slot, 1000, 3);
        }
        assert_int_equal(rig->rule_count, call < 4);
        assert_int_equal(shown(rig), tables);
        assert_int_equal(page_allocator_free_count(&segment->host_slots), free_count);
        rig_free(rig);
    }
}

/* CHA-005; what is unlocked while the adapter sleeps is not shown again. */
static void a_sleep_unmaps_every_slot_and_maps_those_that_are_still_held(void **state)
{
    for (unsigned is_unlocked = 0; is_unlocked < 2; is_unlocked++) {
        struct rig *rig = start(false);
        uint64_t before[SLOTS];
        struct rig_object object, second;
        uint64_t count;

        create_resident(rig, 64, &object);
        create_resident(rig, 7, &second);
        rig_lock(rig, &object);
        rig_lock(rig, &second);
        count = shown(rig);
        assert_true(count > 64 + 7);
        memcpy(before, rig->host_shown, sizeof before);
        assert_int_equal(vidmm_power_down(rig->vidmm, VIDMM_SLEEP_STANDBY, NULL, NULL),
                         STATUS_SUCCESS);
        rig_drain(rig);
        assert_true(rig->is_asleep && shown(rig) == 0);
        if (is_unlocked)
            vidmm_unlock(second.allocation);
        assert_int_equal(vidmm_power_up(rig->vidmm), STATUS_SUCCESS);
        rig_drain(rig);
        assert_int_equal(shown(rig), is_unlocked ? count - 7 : count);
        for (uint64_t slot = 0; slot < SLOTS; slot++)
            assert_true(rig->host_shown[slot] == before[slot] ||
                        (is_unlocked && !rig->host_shown[slot]));
        rig_touch_locked(rig, &object, true);
        vidmm_unlock(object.allocation);
        if (!is_unlocked)
            vidmm_unlock(second.allocation);
        rig_gpu(rig, &object, 8);
        rig_cpu(rig, &second, true); /* all slots that were released can be had again */
        rig_destroy_object(rig, &object);
        rig_destroy_object(rig, &second);
        rig_free(rig);
    }
}

/* CHA-002: a slot shows 16 pages; the page tables in them share it, and the last one unmaps it. */
static void tables_in_one_page_of_64_kib_share_its_slot(void **state)
{
    struct rig *rig = start(true);
    struct rig_object object;
    uint64_t tables = shown(rig);

    assert_true(tables > 0 && tables < vidmm_statistics(rig->vidmm)->page_table_count);
    create_resident(rig, 33, &object);
    rig_lock(rig, &object);
    assert_true(is_seen_in_memory(&object));
    assert_int_equal(shown(rig), tables + 3);
    rig_touch_locked(rig, &object, true);
    vidmm_unlock(object.allocation);
    assert_int_equal(shown(rig), tables);
    rig_gpu(rig, &object, 8);
    rig_destroy_object(rig, &object);
    rig_free(rig); /* where nothing is shown any more */
}

static NTSTATUS fail_to_unmap(struct miniport *self, HANDLE object,
                              const DXGKARG_UNMAPCPUHOSTAPERTURE *unmap)
{
    rig_unmap_host(self, object, unmap);
    return STATUS_INVALID_PARAMETER;
}

static void rule_CHA_004_is_told_when_an_unmapping_fails(void **state)
{
    struct rig *rig = start(false);
    struct rig_object object;

    create_resident(rig, 3, &object);
    rig->expected_rules = "CHA-004";
    rig_cpu(rig, &object, false);
    assert_int_equal(rig->rule_count, 0);
    rig->ops.unmap_cpu_host_aperture = fail_to_unmap;
    rig_cpu(rig, &object, false);
    assert_int_equal(rig->rule_count, 1);
    rig->ops.unmap_cpu_host_aperture = rig_unmap_host;
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

static void every_nth_allocation_failure_of_a_start_leaves_nothing(void **state)
{
    NTSTATUS status = STATUS_NO_MEMORY;

    for (uint64_t n = 1; status == STATUS_NO_MEMORY; n++) {
        struct rig_config config = rig_model(1);
        struct rig *rig;

        config.host_slots = SLOTS;
        rig = rig_new(&config);
        failing_services_fail_at(&rig->memory, n);
        status = rig_start(rig);
        rig_free(rig);
    }
    assert_int_equal(status, STATUS_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_has_a_slot_for_each_page_and_gives_them_back),
        cmocka_unit_test(what_needs_one_slot_more_than_there_are_is_seen_in_system_memory),
        cmocka_unit_test(slots_that_the_driver_refuses_to_map_are_free_again),
        cmocka_unit_test(a_range_that_is_refused_in_its_middle_gives_its_slots_back),
        cmocka_unit_test(a_sleep_unmaps_every_slot_and_maps_those_that_are_still_held),
        cmocka_unit_test(tables_in_one_page_of_64_kib_share_its_slot),
        cmocka_unit_test(rule_CHA_004_is_told_when_an_unmapping_fails),
        cmocka_unit_test(every_nth_allocation_failure_of_a_start_leaves_nothing),
    };

    return cmocka_run_group_tests_name("vidmm/host_aperture", tests, NULL, NULL);
}
