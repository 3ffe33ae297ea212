/* Escapes: what the driver answers comes back, and those for the hardware find it idle. */
#include "bench/whole_runs/test_run.h"

#include "base/bits.h"
#include "drydock/sgpu.h"

/* What the last escape came with, and what it came back with. */
static struct {
    unsigned count;
    DXGKARG_ESCAPE arg;
    struct sgpu_umd_escape answer;
    NTSTATUS status;
} seen;

static NTSTATUS look_at_escape(struct miniport *self, HANDLE object, const DXGKARG_ESCAPE *arg)
{
    seen.count++;
    seen.arg = *arg;
    seen.status = miniport_forward_escape(self, object, arg);
    if (arg->PrivateDriverDataSize == sizeof seen.answer)
        memcpy(&seen.answer, arg->pPrivateDriverData, sizeof seen.answer);
    return seen.status;
}

/* Between the manager and everything else. */
static struct miniport *put_on_top(void *context, struct miniport *next)
{
    struct miniport *layer = NULL;

    test_put_layer(base_services_libc(), next, &layer)->escape = look_at_escape;
    return layer;
}

static struct run_result *play(const char *model, const char *lines)
{
    char text[1024];
    struct workload *workload;
    struct run_config config;

    memset(&seen, 0, sizeof seen);
    snprintf(text, sizeof text,
             "drydock-case 1\noption local-memory 4M\ncontext c0\ncontext c1 node=1\n"
             "alloc a size=1M segments=local\nsubmit c0 duration=90000 a:w\n%s",
             lines);
    workload = test_parse(text);
    test_option(workload, "model", model);
    config = test_config(workload);
    config.add_layer = put_on_top;
    return test_execute(&config, workload);
}

/* A client says other bytes than the line, which the driver does not know. */
static void a_client_says_bytes_of_its_own(void **state)
{
    struct workload *workload =
        test_parse("drydock-case 1\ncontext c0\nalloc a size=1M\nsubmit c0 a:w\nwait all\n"
                   "escape c0 expect=failure \"1:u32 1:u32 0:u64*2\"\n");
    struct run_config config;
    struct run_result *result;

    memset(&seen, 0, sizeof seen);
    test_option(workload, "client-file", CLIENT_FOLDER "/odd-talking.so");
    config = test_config(workload);
    config.add_layer = put_on_top;
    result = test_execute(&config, workload);
    test_assert_clean(result);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.arg.PrivateDriverDataSize, 8);
    assert_false(NT_SUCCESS(seen.status));
    test_finish(result);
}

/* The Drydock GPU's client is the bench. */
static void a_client_that_makes_data_is_for_other_boards(void **state)
{
    struct workload *workload = test_parse("drydock-case 1\nalloc a size=1M\n");
    struct run_result *result;

    test_option(workload, "client-file", CLIENT_FOLDER "/sdma_client.so");
    result = test_play(workload);
    assert_int_equal(result->outcome, RUN_REFUSED);
    assert_non_null(strstr(result->error, "client 'sdma' makes private data or commands"));
    test_finish(result);
}

static const char *const models[] = {"physical", "gpummu", "iommu"};

static void the_driver_answers_in_every_model(void **state)
{
    for (unsigned i = 0; i < ARRAY_COUNT(models); i++) {
        struct run_result *result =
            play(models[i], "escape c0 expect=success \"1:u32 1:u32 0:u64*2\"\n");

        test_assert_clean(result);
        assert_int_equal(seen.count, 1);
        assert_int_equal(seen.status, STATUS_SUCCESS);
        assert_int_equal(seen.answer.values[1], 4 * MiB);
        assert_in_range(seen.answer.values[0], 2, 8);
        assert_non_null(seen.arg.hDevice);
        assert_non_null(seen.arg.hContext);
        assert_false(seen.arg.Flags.Value);
        assert_true(result->rules.evaluated[RULE_ESC_001] > 0);
        assert_int_equal(result->rules.evaluated[RULE_ESC_002], 0);
        test_finish(result);
    }
}

static void by_says_whose_handles_go_along(void **state)
{
    struct run_result *result = play("gpummu", "escape c0 by=device \"1:u32 1:u32 0:u64*2\"\n");

    assert_non_null(seen.arg.hDevice);
    assert_non_null(seen.arg.hKmdProcessHandle);
    assert_null(seen.arg.hContext);
    test_finish(result);
    result = play("gpummu", "escape c1 by=adapter \"1:u32 1:u32 0:u64*2\"\n");
    assert_null(seen.arg.hDevice);
    assert_null(seen.arg.hKmdProcessHandle);
    assert_null(seen.arg.hContext);
    test_assert_clean(result);
    test_finish(result);
}

/* The submission of 90 us before it has ended. */
static void an_escape_for_the_hardware_finds_it_idle(void **state)
{
    for (unsigned i = 0; i < ARRAY_COUNT(models); i++) {
        struct run_result *result =
            play(models[i], "escape c0 hardware=yes expect=success \"1:u32 2:u32 0:u64*2\"\n");

        test_assert_clean(result);
        assert_true(seen.arg.Flags.HardwareAccess);
        assert_int_equal(seen.answer.values[0], SGPU_ID);
        assert_true(result->rules.evaluated[RULE_ESC_002] > 0);
        test_finish(result);
    }
}

static void an_answer_that_is_not_the_expected_one_is_found(void **state)
{
    struct run_result *result =
        play("gpummu", "escape c0 expect=success \"1:u32 2:u32 0:u64*2\"\n");

    assert_int_equal(seen.status, STATUS_INVALID_PARAMETER); /* it needs the hardware */
    assert_int_equal(result->finding_count, 1);
    assert_non_null(
        strstr(result->findings[0].text, "the escape returned 0xc000000d; expected success"));
    test_finish(result);
    result = play("gpummu", "escape c0 expect=failure \"1:u32\"\n");
    test_assert_clean(result);
    assert_int_equal(seen.arg.PrivateDriverDataSize, 4);
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_says_bytes_of_its_own),
        cmocka_unit_test(a_client_that_makes_data_is_for_other_boards),
        cmocka_unit_test(the_driver_answers_in_every_model),
        cmocka_unit_test(by_says_whose_handles_go_along),
        cmocka_unit_test(an_escape_for_the_hardware_finds_it_idle),
        cmocka_unit_test(an_answer_that_is_not_the_expected_one_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
