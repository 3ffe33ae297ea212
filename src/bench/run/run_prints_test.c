/*
 * What a driver prints: a note beside the findings that follow, unless the run asks for more.
 */
#include "bench/whole_runs/test_run.h"

#include <limits.h>

/* The driver talks a lot, and from one operation on it does nothing else. */
struct talker {
    struct miniport layer; /* first: the layer's functions find the talker by it */
    struct miniport_ops ops;
    unsigned passes; /* updates of page tables that it still writes */
    unsigned lines;
};

static NTSTATUS talk(struct miniport *layer, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct talker *talker = (struct talker *)layer;

    DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL, "line %u\n", talker->lines++);
    if (args->Operation != DXGK_OPERATION_UPDATE_PAGE_TABLE)
        return miniport_build_paging_buffer(layer->next, object, args);
    if (!talker->passes)
        return STATUS_SUCCESS;
    talker->passes--;
    return miniport_build_paging_buffer(layer->next, object, args);
}

static struct miniport *add_talker(void *context, struct miniport *next)
{
    struct talker *talker = context;

    talker->ops = miniport_forward_ops;
    talker->ops.build_paging_buffer = talk;
    talker->layer = (struct miniport){.ops = &talker->ops, .next = next};
    return &talker->layer;
}

static struct run_result *play(struct talker *talker, bool are_findings)
{
    struct workload *workload = test_load("evict-and-restore.case");
    struct run_config config = test_config(workload);

    config.model = RUN_GPUMMU;
    config.add_layer = add_talker;
    config.layer_context = talker;
    config.prints_are_findings = are_findings;
    return test_execute(&config, workload);
}

static bool is_print(const struct run_finding *finding)
{
    return strncmp(finding->text, "the driver prints: line ", 24) == 0;
}

static void words_alone_are_no_finding(void **state)
{
    struct talker talker = {.passes = UINT_MAX};
    struct run_result *result = play(&talker, false);

    test_assert_clean(result);
    assert_true(talker.lines > RUN_MAX_FINDINGS);
    assert_true(result->print_count >= talker.lines);
    test_finish(result);
}

static void words_stand_beside_a_finding(void **state)
{
    struct talker talker = {.passes = 400};
    struct run_result *result = play(&talker, false);

    assert_int_equal(result->outcome, RUN_FINDINGS);
    for (uint32_t i = 0; i < result->finding_count; i++) {
        assert_false(is_print(&result->findings[i]));
        assert_non_null(strstr(result->findings[i].detail.printed, "line "));
    }
    test_finish(result);
}

static void words_that_are_findings_leave_room_for_others(void **state)
{
    struct talker talker = {.passes = 400};
    struct run_result *result = play(&talker, true);
    unsigned prints = 0, others = 0;

    assert_int_equal(result->outcome, RUN_FINDINGS);
    for (uint32_t i = 0; i < result->finding_count; i++) {
        prints += is_print(&result->findings[i]);
        others += !is_print(&result->findings[i]);
    }
    assert_int_equal(prints, RUN_MAX_FINDINGS / 4);
    assert_true(others > 0);
    assert_true(result->finding_totals[RUN_FINDING_DRIVER] >= talker.lines);
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_alone_are_no_finding),
        cmocka_unit_test(words_stand_beside_a_finding),
        cmocka_unit_test(words_that_are_findings_leave_room_for_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
