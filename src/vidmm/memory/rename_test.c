/*
 * Renaming: a lock with Discard of what work uses gives another instance, under the same handles.
 */
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/rename.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/failing_services.h"
#include "miniport/miniport.h"

#define MOST_SEEN 16

static struct {
    unsigned creates, destroys, limit;
    /* Lists of packets and operations, as the driver saw them. */
    unsigned patch_count, discard_count;
    HANDLE patch_handle[MOST_SEEN], discard_handle[MOST_SEEN];
    uint64_t patch_address[MOST_SEEN], discard_address[MOST_SEEN];
    const void *discard_instance[MOST_SEEN];
    unsigned end_count;
    const void *ended[MOST_SEEN];
    unsigned map_count, coherent_count; /* MAP_APERTURE_SEGMENT; those of them with CacheCoherent */
    struct rig *rig;
    struct miniport_ops ops; /* of the rig's driver */
} seen;

static NTSTATUS see_create(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *arg)
{
    NTSTATUS status = seen.ops.create_allocation(self, object, arg);

    arg->pAllocationInfo->MaximumRenamingListLength = seen.limit;
    seen.creates++;
    return status;
}

static NTSTATUS see_destroy(struct miniport *self, HANDLE object,
                            const DXGKARG_DESTROYALLOCATION *arg)
{
    seen.destroys++;
    return seen.ops.destroy_allocation(self, object, arg);
}

static NTSTATUS see_patch(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    if (!arg->Flags.Paging && seen.patch_count < MOST_SEEN) {
        seen.patch_handle[seen.patch_count] = arg->pAllocationList[0].hDeviceSpecificAllocation;
        seen.patch_address[seen.patch_count++] =
            (uint64_t)arg->pAllocationList[0].PhysicalAddress.QuadPart;
    }
    return seen.ops.patch(self, object, arg);
}

static NTSTATUS see_operation(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    NTSTATUS status;

    if (arg->Operation == DXGK_OPERATION_DISCARD_CONTENT && seen.discard_count < MOST_SEEN) {
        seen.discard_handle[seen.discard_count] = arg->DiscardContent.hAllocation;
        seen.discard_instance[seen.discard_count] = vidmm_paging_instance(seen.rig->vidmm);
        seen.discard_address[seen.discard_count++] =
            (uint64_t)arg->DiscardContent.SegmentAddress.QuadPart;
    }
    if (arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT) {
        seen.map_count++;
        seen.coherent_count += arg->MapApertureSegment.Flags.CacheCoherent;
    }
    status = seen.ops.build_paging_buffer(self, object, arg);
    return status;
}

static void see_end(void *context, struct vidmm_allocation *allocation, const void *instance)
{
    assert_int_equal(vidmm_allocation_size(allocation), PAGE_BYTES_OF(4));
    if (seen.end_count < MOST_SEEN)
        seen.ended[seen.end_count++] = instance;
}

static struct rig *rig_that_renames(const struct rig_config *config, bool renames)
{
    struct rig *rig = rig_new(config);

    memset(&seen, 0, sizeof seen);
    seen.rig = rig;
    seen.ops = rig->ops;
    rig->ops.create_allocation = see_create;
    rig->ops.destroy_allocation = see_destroy;
    rig->ops.patch = see_patch;
    rig->ops.build_paging_buffer = see_operation;
    rig->manager.renames = renames;
    rig->manager.events.instance_ended = see_end;
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    return rig;
}

/* A packet that uses the object and touches nothing of it; not waited for. */
static void use(struct rig *rig, struct rig_object *object, struct rig_done *done)
{
    assert_int_equal(rig_gpu_in(rig, rig->context, &object, 1, 0, rig_done, done), STATUS_SUCCESS);
}

static void a_lock_with_discard_gives_another_place_of_the_same_handle(void **state)
{
    for (unsigned is_aperture = 0; is_aperture < 2; is_aperture++) {
        struct rig_config config = rig_model(0);
        struct rig *rig = rig_that_renames(&config, true);
        struct rig_done done = {0};
        struct rig_object object;
        const void *instance;

        rig_object(rig, 4, is_aperture ? rig->segment_count : 1, &object);
        use(rig, &object, &done);
        assert_int_equal(vidmm_lock(object.allocation), STATUS_GRAPHICS_ALLOCATION_BUSY);
        assert_null(vidmm_allocation_instance(object.allocation));

        assert_int_equal(vidmm_lock_with(object.allocation, VIDMM_LOCK_DISCARD), STATUS_SUCCESS);
        instance = vidmm_allocation_instance(object.allocation);
        assert_non_null(instance);
        assert_false(vidmm_allocation_is_resident(object.allocation)); /* in system memory */
        assert_int_equal(vidmm_locked_page_address(object.allocation, 0) >> 40, 0);
        vidmm_unlock(object.allocation);
        use(rig, &object, &done);
        assert_int_equal(seen.end_count, 0);
        rig_drain(rig);

        assert_int_equal(done.calls, 2);
        assert_int_equal(done.status, STATUS_SUCCESS);
        assert_int_equal(seen.patch_count, 2);
        assert_ptr_equal(seen.patch_handle[0], seen.patch_handle[1]);
        assert_int_not_equal(seen.patch_address[0], seen.patch_address[1]);
        assert_int_equal(seen.creates, 1);
        /* The old one has gone, behind its packet; the new one stays. */
        assert_int_equal(seen.end_count, 1);
        assert_null(seen.ended[0]);
        assert_true(vidmm_allocation_is_resident(object.allocation));
        assert_int_equal(vidmm_statistics(rig->vidmm)->renames, 1);
        assert_true(vidmm_check(rig->vidmm));

        /* What nobody uses is the same instance. */
        assert_int_equal(vidmm_lock_with(object.allocation, VIDMM_LOCK_DISCARD), STATUS_SUCCESS);
        vidmm_unlock(object.allocation);
        assert_ptr_equal(vidmm_allocation_instance(object.allocation), instance);

        rig_destroy_object(rig, &object);
        rig_drain(rig);
        assert_int_equal(seen.destroys, 1);
        assert_int_equal(seen.end_count, 2);
        assert_ptr_equal(seen.ended[1], instance);
        if (!is_aperture) {
            assert_int_equal(seen.discard_count, 2);
            assert_ptr_equal(seen.discard_handle[0], seen.discard_handle[1]);
            assert_int_equal(seen.discard_address[0], seen.patch_address[0]);
            assert_int_equal(seen.discard_address[1], seen.patch_address[1]);
            assert_null(seen.discard_instance[0]);
            assert_ptr_equal(seen.discard_instance[1], instance);
        }
        rig_free(rig);
    }
}

/* What the driver said of the first it said of all of them. */
static void an_instance_is_cached_as_the_first_is(void **state)
{
    struct rig_config config = rig_model(0);
    struct rig_request request = {
        .bytes = PAGE_BYTES_OF(4), .is_cpu_visible = true, .is_cached = true};
    struct rig_done done = {0};
    struct rig_object object;
    struct rig *rig;

    config.is_coherent = true;
    rig = rig_that_renames(&config, true);
    request.preferred[0] = rig->segment_count;
    assert_int_equal(rig_try_object(rig, rig->device, &request, &object), STATUS_SUCCESS);
    use(rig, &object, &done);
    assert_int_equal(vidmm_lock_with(object.allocation, VIDMM_LOCK_DISCARD), STATUS_SUCCESS);
    vidmm_unlock(object.allocation);
    use(rig, &object, &done);
    rig_drain(rig);
    assert_int_equal(done.calls, 2);
    assert_int_equal(vidmm_statistics(rig->vidmm)->renames, 1);
    assert_int_equal(seen.map_count, 2);
    assert_int_equal(seen.coherent_count, 2);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

static void an_instance_is_aligned_as_the_first_is(void **state)
{
    const struct rig_config config = rig_model(0);
    const struct rig_request request = {
        .bytes = PAGE_BYTES_OF(4), .preferred = {1}, .alignment = PAGE_BYTES_OF(16)};
    struct rig *rig = rig_that_renames(&config, true);
    struct rig_done done = {0};
    struct rig_object object;

    assert_int_equal(rig_try_object(rig, rig->device, &request, &object), STATUS_SUCCESS);
    use(rig, &object, &done);
    assert_int_equal(vidmm_lock_with(object.allocation, VIDMM_LOCK_DISCARD), STATUS_SUCCESS);
    vidmm_unlock(object.allocation);
    use(rig, &object, &done);
    rig_drain(rig);
    assert_int_equal(seen.patch_count, 2);
    assert_int_not_equal(seen.patch_address[0], seen.patch_address[1]);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(seen.patch_address[i] % PAGE_BYTES_OF(16), 0);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

/* ALLOC-015: the rig looks at each operation of it, whichever instance that is of. */
static void an_instance_pages_synchronously_as_the_first_does(void **state)
{
    const struct rig_config config = rig_model(0);
    const struct rig_request request = {
        .bytes = PAGE_BYTES_OF(4),
        .preferred = {1},
        .flags = (DXGK_ALLOCATIONINFOFLAGS){.SynchronousPaging = 1}.Value};
    struct rig *rig = rig_that_renames(&config, true);
    struct rig_done done = {0};
    struct rig_object object;
    uint64_t moves;

    assert_int_equal(rig_try_object(rig, rig->device, &request, &object), STATUS_SUCCESS);
    use(rig, &object, &done);
    while (list_is_empty(&rig->queued[0]))
        assert_true(rig_step_machine(rig));
    moves = rig->operation_count;
    assert_int_equal(vidmm_lock_with(object.allocation, VIDMM_LOCK_DISCARD), STATUS_SUCCESS);
    vidmm_unlock(object.allocation);
    use(rig, &object, &done);
    assert_int_equal(rig->operation_count, moves); /* the first packet is with the GPU */
    rig_drain(rig);
    assert_true(rig->operation_count > moves);
    assert_int_equal(done.calls, 2);
    assert_int_equal(vidmm_statistics(rig->vidmm)->renames, 1);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

static void the_handle_goes_behind_the_last_instance(void **state)
{
    struct rig_config config = rig_model(0);
    struct rig *rig = rig_that_renames(&config, true);
    struct rig_done done = {0};
    struct rig_object object;

    rig_object(rig, 4, 1, &object);
    for (unsigned i = 0; i < 3; i++) {
        use(rig, &object, &done);
        assert_int_equal(vidmm_lock_with(object.allocation, VIDMM_LOCK_DISCARD), STATUS_SUCCESS);
        vidmm_unlock(object.allocation);
    }
    rig_destroy_object(rig, &object); /* the one in force is used by nobody */
    assert_int_equal(seen.destroys, 0);
    rig_drain(rig);
    assert_int_equal(done.calls, 3);
    assert_int_equal(seen.destroys, 1);
    assert_int_equal(seen.end_count, 4);
    assert_int_equal(seen.discard_count, 3);
    rig_free(rig);
}

static void a_list_is_as_long_as_the_driver_says(void **state)
{
    for (unsigned limit = 0; limit < 3; limit++) {
        struct rig_config config = rig_model(0);
        struct rig *rig = rig_that_renames(&config, true);
        struct rig_done done = {0};
        struct rig_object object;
        unsigned renames = 0;

        seen.limit = limit;
        rig_object(rig, 4, 1, &object);
        for (unsigned i = 0; i < 5; i++) {
            use(rig, &object, &done);
            if (!NT_SUCCESS(vidmm_lock_with(object.allocation, VIDMM_LOCK_DISCARD)))
                continue;
            renames++;
            vidmm_unlock(object.allocation);
        }
        assert_int_equal(renames, limit ? limit - 1 : 5);
        rig_drain(rig);
        use(rig, &object, &done); /* room on the list again */
        assert_int_equal(vidmm_lock_with(object.allocation, VIDMM_LOCK_DISCARD),
                         limit == 1 ? STATUS_GRAPHICS_ALLOCATION_BUSY : STATUS_SUCCESS);
        if (limit != 1)
            vidmm_unlock(object.allocation);
        rig_drain(rig);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void expect_a_wait(struct rig *rig, struct rig_object *object)
{
    struct rig_done done = {0};

    use(rig, object, &done);
    assert_int_equal(vidmm_lock_with(object->allocation, VIDMM_LOCK_DISCARD),
                     STATUS_GRAPHICS_ALLOCATION_BUSY);
    assert_null(vidmm_allocation_instance(object->allocation));
    rig_drain(rig);
    assert_int_equal(done.calls, 1);
    assert_int_equal(vidmm_lock_with(object->allocation, VIDMM_LOCK_DISCARD), STATUS_SUCCESS);
    vidmm_unlock(object->allocation);
    assert_int_equal(vidmm_statistics(rig->vidmm)->renames, 0);
}

static void what_is_switched_off_shown_or_shared_is_waited_for(void **state)
{
    enum { OFF, SHARED, PRIMARY, COUNT };

    for (unsigned i = 0; i < COUNT; i++) {
        struct rig_config config = rig_model(0);
        struct rig *rig = rig_that_renames(&config, i != OFF);
        struct rig_request request = {.bytes = PAGE_BYTES_OF(4), .preferred = {1}};
        struct vidmm_device *other = NULL;
        struct rig_object object;

        rig_object(rig, 4, 1, &object);
        if (i == PRIMARY) {
            rig_destroy_object(rig, &object);
            assert_int_equal(vidmm_primary_create(rig->device, &request, sizeof request, &object,
                                                  &object.allocation),
                             STATUS_SUCCESS);
            object.driver = rig->allocations[rig->allocation_count - 1];
        } else if (i == SHARED) {
            assert_int_equal(vidmm_device_create(rig->process, &other), STATUS_SUCCESS);
            assert_int_equal(
                vidmm_allocation_open(other, object.allocation, &request, sizeof request),
                STATUS_SUCCESS);
        }
        expect_a_wait(rig, &object);
        rig_destroy_object(rig, &object);
        rig_drain(rig);
        if (other)
            vidmm_device_destroy(other);
        rig_free(rig);
    }
}

static void without_memory_it_is_waited_for(void **state)
{
    bool is_renamed = false;

    for (unsigned n = 1; !is_renamed; n++) {
        struct rig_config config = rig_model(0);
        struct rig *rig = rig_that_renames(&config, true);
        struct rig_done done = {0};
        struct rig_object object;
        NTSTATUS status;

        rig_object(rig, 4, 1, &object);
        use(rig, &object, &done);
        failing_services_fail_at(&rig->memory, n);
        status = vidmm_lock_with(object.allocation, VIDMM_LOCK_DISCARD);
        is_renamed = !rig->memory.has_failed;
        failing_services_fail_at(&rig->memory, 0);
        assert_int_equal(status, is_renamed ? STATUS_SUCCESS : STATUS_GRAPHICS_ALLOCATION_BUSY);
        assert_int_equal(vidmm_allocation_instance(object.allocation) != NULL, is_renamed);
        if (is_renamed)
            vidmm_unlock(object.allocation);
        assert_true(vidmm_check(rig->vidmm));
        rig_drain(rig);
        rig_destroy_object(rig, &object);
        rig_free(rig);
        assert_true(n < 16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_with_discard_gives_another_place_of_the_same_handle),
        cmocka_unit_test(an_instance_is_cached_as_the_first_is),
        cmocka_unit_test(an_instance_is_aligned_as_the_first_is),
        cmocka_unit_test(an_instance_pages_synchronously_as_the_first_does),
        cmocka_unit_test(the_handle_goes_behind_the_last_instance),
        cmocka_unit_test(a_list_is_as_long_as_the_driver_says),
        cmocka_unit_test(what_is_switched_off_shown_or_shared_is_waited_for),
        cmocka_unit_test(without_memory_it_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
