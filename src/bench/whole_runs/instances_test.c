/*
 * Renamed allocations in whole runs: the driver sees one handle at several places, and one that
 * thinks of an allocation as of one place is found by what it moves.
 */
#include "bench/drivers/drivers.h"
#include "bench/whole_runs/test_run.h"

#define MOST_PLACES 8

/*
 * Of the allocation that was brought in first: where it has been put and not been discarded since.
 */
static struct {
    HANDLE handle;
    UINT64 places[MOST_PLACES];
    unsigned count, most;
    bool keeps_first; /* the driver puts it where it put it first */
} seen;

static void forget_place(UINT64 address)
{
    for (unsigned i = 0; i < seen.count; i++) {
        if (seen.places[i] == address) {
            seen.places[i] = seen.places[--seen.count];
            return;
        }
    }
    fail_msg("discarded at 0x%llx, where it is not", (unsigned long long)address);
}

static NTSTATUS look(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER copy = *arg;

    if (arg->Operation == DXGK_OPERATION_TRANSFER && arg->Transfer.Destination.SegmentId &&
        (!seen.handle || seen.handle == arg->Transfer.hAllocation)) {
        seen.handle = arg->Transfer.hAllocation;
        assert_true(seen.count < MOST_PLACES);
        seen.places[seen.count++] = (UINT64)arg->Transfer.Destination.SegmentAddress.QuadPart;
        seen.most = seen.count > seen.most ? seen.count : seen.most;
        if (seen.keeps_first)
            copy.Transfer.Destination.SegmentAddress.QuadPart = (LONGLONG)seen.places[0];
    } else if (arg->Operation == DXGK_OPERATION_DISCARD_CONTENT &&
               seen.handle == arg->DiscardContent.hAllocation) {
        forget_place((UINT64)arg->DiscardContent.SegmentAddress.QuadPart);
    }
    return test_forward_build(self, object, arg, &copy);
}

static NTSTATUS wrap(const struct run_driver *driver, const struct base_services *services,
                     struct miniport *next, struct miniport **out_layer)
{
    test_put_layer(services, next, out_layer)->build_paging_buffer = look;
    return STATUS_SUCCESS;
}

static bool find_driver(const char *name, struct run_driver *out_driver)
{
    *out_driver = (struct run_driver){.name = "test:looks", .wrap = wrap};
    return strcmp(name, "test:looks") == 0;
}

static struct run_result *play(bool renames, bool keeps_first)
{
    struct workload *workload = test_load("renamed.case");
    struct run_result *result;
    struct run_config config;

    memset(&seen, 0, sizeof seen);
    seen.keeps_first = keeps_first;
    test_option(workload, "model", "physical");
    test_option(workload, "rename", renames ? "yes" : "no");
    config = test_config(workload);
    config.driver = "test:looks";
    result = test_execute(&config, workload);
    return result;
}

static void the_driver_sees_one_handle_at_several_places(void **state)
{
    struct run_result *result = play(true, false);

    test_assert_clean(result);
    assert_true(result->statistics.renames > 4);
    assert_true(result->rules.evaluated[RULE_ALLOC_022] >= result->statistics.renames);
    assert_int_equal(seen.most, 3);
    assert_int_equal(seen.count, 0);
    test_finish(result);
}

static void without_renaming_it_has_one_place(void **state)
{
    struct run_result *result = play(false, false);

    test_assert_clean(result);
    assert_int_equal(result->statistics.renames, 0);
    assert_int_equal(seen.most, 1);
    test_finish(result);
}

static void a_driver_that_knows_one_place_is_found(void **state)
{
    struct run_result *result = play(true, true);

    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_true(result->mismatches > 0);
    test_finish(result);
    result = play(false, true); /* and is right where nothing is renamed */
    test_assert_clean(result);
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_driver_sees_one_handle_at_several_places),
        cmocka_unit_test(without_renaming_it_has_one_place),
        cmocka_unit_test(a_driver_that_knows_one_place_is_found),
    };

    run_add_drivers(find_driver);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
