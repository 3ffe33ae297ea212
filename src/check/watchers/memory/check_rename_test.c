#include "check/rig/test_rig.h"

static int client; /* its name for the allocation */

static void tell(struct rig *rig, enum check_client_kind kind, const void *instance, bool discards)
{
    const void *name = &client;

    check_client(rig->check, &(struct check_client_event){.kind = kind,
                                                          .count = 1,
                                                          .allocations = &name,
                                                          .discards = discards,
                                                          .instance = instance});
}

/* Known to the client, with a renaming list of at most so many. */
static HANDLE create(struct rig *rig, UINT limit)
{
    DXGK_ALLOCATIONINFO info = {.MaximumRenamingListLength = limit};
    HANDLE allocation;

    tell(rig, CHECK_CLIENT_CREATE, NULL, false);
    allocation = rig_create_allocation(rig, &info);
    tell(rig, CHECK_CLIENT_CREATED, NULL, false);
    return allocation;
}

static void lock(struct rig *rig, HANDLE instance)
{
    tell(rig, CHECK_CLIENT_LOCK, NULL, true);
    tell(rig, CHECK_CLIENT_RENAMED, instance, false);
    tell(rig, CHECK_CLIENT_LOCKED, NULL, false);
    tell(rig, CHECK_CLIENT_UNLOCK, NULL, false);
}

static void fill_at(struct rig *rig, HANDLE instance, uint64_t address)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(instance);

    fill.Fill.Destination.SegmentAddress.QuadPart = (LONGLONG)address;
    assert_int_equal(rig_build(rig, &fill), STATUS_SUCCESS);
    rig_complete(rig, 0, rig_submit(rig));
}

static void discard_at(struct rig *rig, HANDLE instance, uint64_t address)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_DISCARD_CONTENT};

    arg.DiscardContent.hAllocation = instance;
    arg.DiscardContent.SegmentId = 1;
    arg.DiscardContent.SegmentAddress.QuadPart = (LONGLONG)address;
    assert_int_equal(rig_build(rig, &arg), STATUS_SUCCESS);
    rig_complete(rig, 0, rig_submit(rig));
}

/* As many instances as the manager likes, each in a place of its own, all gone in the end. */
static void rename_times(struct rig *rig, UINT limit, unsigned times)
{
    HANDLE instances[8] = {create(rig, limit)};

    fill_at(rig, instances[0], 0);
    for (unsigned i = 1; i <= times; i++) {
        instances[i] = rig_handle(rig);
        lock(rig, instances[i]);
        fill_at(rig, instances[i], i * 65536);
    }
    for (unsigned i = 0; i <= times; i++) {
        discard_at(rig, instances[i], i * 65536);
        if (i)
            tell(rig, CHECK_CLIENT_INSTANCE_ENDED, instances[i], false);
        else
            tell(rig, CHECK_CLIENT_INSTANCE_ENDED, NULL, false);
    }
    rig_destroy_allocation(rig, instances[0]);
}

RULE_BROKEN_IN(ALLOC_022, RIG_PHYSICAL)
{
    rename_times(rig, 3, 3);
}

RULE_KEPT_IN(ALLOC_022, RIG_PHYSICAL)
{
    rename_times(rig, 4, 3);
    rename_times(rig, 0, 7); /* any number */
}

static struct rig *new_rig(enum rig_model model)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, model);
    return rig;
}

static void end_rig(struct rig *rig, enum rule_id rule)
{
    check_end(rig->check, false);
    rig_expect_only(rig, rule);
    rig_fini(rig);
    free(rig);
}

static void an_allocation_that_is_created_for_a_lock_is_found(void **state)
{
    struct rig *rig = new_rig(RIG_PHYSICAL);

    create(rig, 0);
    tell(rig, CHECK_CLIENT_LOCK, NULL, true);
    rig_create_allocation(rig, NULL);
    tell(rig, CHECK_CLIENT_LOCKED, NULL, false);
    end_rig(rig, RULE_ALLOC_022);
}

static void a_rename_in_wddm_2_is_found(void **state)
{
    struct rig *rig = new_rig(RIG_GPUMMU);

    create(rig, 0);
    lock(rig, rig_handle(rig));
    end_rig(rig, RULE_ALLOC_022);
}

static void a_limit_counts_the_instances_that_there_are(void **state)
{
    struct rig *rig = new_rig(RIG_PHYSICAL);
    HANDLE first = create(rig, 2), former = NULL;

    for (unsigned i = 0; i < 4; i++) {
        HANDLE instance = rig_handle(rig);

        lock(rig, instance);
        tell(rig, CHECK_CLIENT_INSTANCE_ENDED, former, false);
        former = instance;
    }
    tell(rig, CHECK_CLIENT_DESTROY, NULL, false);
    tell(rig, CHECK_CLIENT_INSTANCE_ENDED, former, false);
    rig_destroy_allocation(rig, first);
    end_rig(rig, RULE_NONE);
}

static void two_instances_in_one_place_are_found(void **state)
{
    struct rig *rig = new_rig(RIG_PHYSICAL);
    HANDLE instance = rig_handle(rig);

    fill_at(rig, create(rig, 0), 0);
    lock(rig, instance);
    fill_at(rig, instance, 4096);
    end_rig(rig, RULE_RES_011);
}

static void an_instance_that_ends_without_a_discard_is_found(void **state)
{
    struct rig *rig = new_rig(RIG_PHYSICAL);
    HANDLE instance = rig_handle(rig);

    create(rig, 0);
    lock(rig, instance);
    fill_at(rig, instance, 0);
    tell(rig, CHECK_CLIENT_INSTANCE_ENDED, instance, false);
    end_rig(rig, RULE_DISC_001);
}

static void an_instance_that_ends_before_its_operations_is_found(void **state)
{
    struct rig *rig = new_rig(RIG_PHYSICAL);
    HANDLE instance = rig_handle(rig);
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_DISCARD_CONTENT};

    create(rig, 0);
    lock(rig, instance);
    fill_at(rig, instance, 0);
    arg.DiscardContent.hAllocation = instance;
    arg.DiscardContent.SegmentId = 1;
    assert_int_equal(rig_build(rig, &arg), STATUS_SUCCESS);
    tell(rig, CHECK_CLIENT_INSTANCE_ENDED, instance, false);
    end_rig(rig, RULE_ALLOC_020);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_that_is_created_for_a_lock_is_found),
        cmocka_unit_test(a_rename_in_wddm_2_is_found),
        cmocka_unit_test(a_limit_counts_the_instances_that_there_are),
        cmocka_unit_test(two_instances_in_one_place_are_found),
        cmocka_unit_test(an_instance_that_ends_without_a_discard_is_found),
        cmocka_unit_test(an_instance_that_ends_before_its_operations_is_found),
    };

    return RIG_RUN_TESTS(tests);
}
