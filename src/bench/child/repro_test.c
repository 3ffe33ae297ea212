/*
 * Runs in a process of their own, what is left of one that crashes or hangs, and cases that get
 * smaller.
 */
#define _GNU_SOURCE /* memfd_create() */
#include "bench/child/repro.h"

#include "bench/whole_runs/test_drivers.h"
#include "bench/whole_runs/test_run.h"
#include "bench/child/child_run.h"
#include "bench/child/crash_recorder.h"
#include "record/record_reader.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

/* Physical: what the submission reads is transferred in. */
static const char pages_in[] = "drydock-case 1\n"
                               "option model physical\n"
                               "option seed 7\n"
                               "option local-memory 8M\n"
                               "alloc a size=64K segments=local flags=cpu-visible\n"
                               "alloc b size=64K segments=local flags=cpu-visible\n"
                               "alloc c size=1M segments=local\n"
                               "write a\n"
                               "write b\n"
                               "step one\n"
                               "submit c0 duration=500 a:r b:w c:rw\n"
                               "wait all\n"
                               "step two\n"
                               "submit c0 duration=500 b:r c:rw\n"
                               "read b\n"
                               "wait all\n";

static struct workload *parse_for(const char *driver)
{
    struct workload *workload = test_parse(pages_in);

    test_option(workload, "driver", driver);
    return workload;
}

static struct run_result *try_case(struct workload *workload, double seconds)
{
    struct run_result *result = calloc(1, sizeof *result);
    struct run_config config;

    assert_non_null(result);
    config = test_config(workload);
    assert_true(child_run_execute(&config, workload, seconds, result));
    return result;
}

/* ---- Trials ---------------------------------------------------------------------------------- */

static void a_run_in_a_process_of_its_own_gives_the_same_result(void **state)
{
    struct workload *workload = test_parse(pages_in);
    struct run_result *there = try_case(workload, 60), *here;

    assert_int_equal(there->outcome, RUN_CLEAN);
    assert_int_equal(there->step_count, 3); /* one before the first mark */
    assert_string_equal(there->steps[2].name, "two");
    assert_true(there->pages_checked > 0);
    here = test_play(test_parse(pages_in));
    assert_true(here->digest == there->digest);
    assert_int_equal(here->step_count, there->step_count);
    assert_int_equal(here->virtual_time_ns, there->virtual_time_ns);
    test_finish(here);
    test_finish(there);
    workload_free(workload);
}

static const struct run_finding *only_finding(const struct run_result *result)
{
    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_int_equal(result->finding_count, 1);
    return &result->findings[0];
}

static void a_crash_is_a_finding_with_a_backtrace_and_the_last_calls(void **state)
{
    struct workload *workload = parse_for("test:crash");
    struct run_result *result = try_case(workload, 60);
    const struct run_finding *finding = only_finding(result);

    assert_int_equal(finding->kind, RUN_FINDING_CRASHED);
    assert_non_null(strstr(finding->text, "signal 6"));
    assert_non_null(strstr(result->ending, "bench_tests")); /* a frame of this program */
    assert_non_null(strstr(result->ending, "last calls:\n"));
    assert_non_null(strstr(result->ending, "> DxgkDdiBuildPagingBuffer(TRANSFER) DmaSize="));
    assert_non_null(strstr(result->ending, "< DxgkDdiCreateAllocation"));
    test_finish(result);
    workload_free(workload);
}

static void a_hang_is_a_finding_that_says_where(void **state)
{
    struct workload *workload = parse_for("test:hang");
    struct run_result *result = try_case(workload, 0.3);
    const struct run_finding *finding = only_finding(result);

    assert_int_equal(finding->kind, RUN_FINDING_HUNG);
    assert_non_null(strstr(finding->text, "no end within 0.3 s"));
    assert_non_null(strstr(result->ending, "bench_tests"));
    assert_non_null(strstr(result->ending, "> DxgkDdiBuildPagingBuffer(TRANSFER)"));
    test_finish(result);
    workload_free(workload);
}

/* What can be read in the record of a run that did not come to its end. */
struct left {
    uint64_t items, steps;
    char last_call[64];
    bool last_has_returned;
};

static struct left record_left_by(const char *driver, double seconds)
{
    struct workload *workload = parse_for(driver);
    struct run_result *result = calloc(1, sizeof *result);
    struct run_config config = test_config(workload);
    struct record_reader *reader;
    struct record_reader_item item;
    struct left left = {0};
    char error[256];

    assert_non_null(result);
    config.record_file = memfd_create("record", MFD_CLOEXEC);
    assert_true(config.record_file > 0);
    assert_true(child_run_execute(&config, workload, seconds, result));
    only_finding(result);
    reader = record_reader_open_file(base_services_libc(), driver, config.record_file, error);
    assert_non_null(reader);
    while (record_reader_next(reader, &item)) {
        left.items++;
        left.steps += item.kind == RECORD_KIND_step;
        if (item.kind != RECORD_KIND_call)
            continue;
        left.last_has_returned = RECORD_FIELDS(call, &item)->phase != 0;
        snprintf(left.last_call, sizeof left.last_call, "%s %s",
                 record_reader_text(reader, RECORD_FIELDS(call, &item)->name),
                 record_reader_text(reader, RECORD_FIELDS(call, &item)->operation));
    }
    assert_int_equal(record_reader_state(reader), RECORD_CUT);
    assert_non_null(strstr(record_reader_error(reader), driver));
    record_reader_close(reader);
    close(config.record_file);
    test_finish(result);
    workload_free(workload);
    return left;
}

static void the_record_of_a_crash_or_a_hang_ends_with_the_call(void **state)
{
    struct left crash = record_left_by("test:crash", 60), hang = record_left_by("test:hang", 0.3);

    assert_string_equal(crash.last_call, "DxgkDdiBuildPagingBuffer TRANSFER");
    assert_false(crash.last_has_returned);
    assert_string_equal(hang.last_call, "DxgkDdiBuildPagingBuffer TRANSFER");
    assert_false(hang.last_has_returned);
    assert_int_equal(crash.items, hang.items);
    assert_true(crash.steps > 0);
}

/* Nobody writes what was not written: up to the step that was played, the record is there. */
static void the_record_of_a_killed_run_has_the_steps_before(void **state)
{
    struct left killed = record_left_by("test:die", 60), crash = record_left_by("test:crash", 60);

    assert_true(killed.items > 20 && killed.items < crash.items);
    assert_int_equal(killed.steps, crash.steps);
}

static void a_fault_on_a_guard_page_names_the_rule(void **state)
{
    struct workload *workload = parse_for("test:overrun");
    struct run_result *result = try_case(workload, 60);
    const struct run_finding *finding = only_finding(result);

    assert_int_equal(finding->kind, RUN_FINDING_CRASHED);
    assert_string_equal(finding->rule, "PB-005");
    assert_non_null(strstr(finding->text, "behind the paging buffer was touched"));
    assert_string_equal(finding->detail.where, "DxgkDdiBuildPagingBuffer(TRANSFER).pDmaBuffer");
    assert_non_null(strstr(finding->detail.arguments, "DmaSize"));
    assert_int_equal(result->rules.broken[RULE_PB_005], 1);
    test_finish(result);
    workload_free(workload);
}

/* ---- Smaller cases --------------------------------------------------------------------------- */

static void expect_shrunk(const char *driver, const char *rule, const char *kind, uint32_t most)
{
    const struct repro_shrink how = {.seconds = 60, .try_seconds = 0.3};
    struct workload *workload = parse_for(driver), *small, *again;
    struct run_result *result = try_case(workload, 0.3);
    struct workload_shrink_result shrunk;
    struct workload_error error;
    char path[] = "/tmp/drydock-repro-XXXXXX";
    struct repro repro;

    assert_true(repro_of_result(&repro, result));
    assert_string_equal(repro.rule, rule);
    assert_string_equal(repro.kind, kind);
    test_finish(result);
    if (!repro_shrink(&how, &repro, workload, &small, &shrunk, &error))
        fail_msg("%s", error.text);
    assert_true(shrunk.is_finished);
    assert_int_equal(shrunk.lines_before, workload->op_count);
    assert_true(small->op_count <= most);
    assert_null(workload_option(small, "seed")); /* options that are not needed go */
    assert_string_equal(workload_option(small, "driver"), driver);

    /* The file says what it shows, and shows it. */
    close(mkstemp(path));
    assert_true(repro_save(&repro, small, &shrunk, path, &error));
    assert_true(workload_load(path, &again, &error));
    unlink(path);
    assert_true(workload_equal(small, again));
    result = try_case(again, 0.3);
    assert_true(repro_is_shown(&repro, result));
    test_finish(result);
    workload_free(again);
    workload_free(small);
    workload_free(workload);
}

static void a_broken_rule_stays_broken_in_the_smallest_case(void **state)
{
    expect_shrunk("test:keep-pointer", "PB-004", "driver", 3);
}

static void a_crash_can_be_made_smaller(void **state)
{
    expect_shrunk("test:crash", "", "crashed", 3);
}

static void a_hang_can_be_made_smaller(void **state)
{
    expect_shrunk("test:hang", "", "hung", 3);
}

static void what_is_not_shown_is_said(void **state)
{
    const struct repro_shrink how = {.seconds = 60};
    struct workload *workload = parse_for("ref"), *small;
    struct run_result *result = try_case(workload, 60);
    struct workload_shrink_result shrunk;
    struct workload_error error;
    struct repro repro;

    assert_false(repro_of_result(&repro, result));
    repro_of_rule(&repro, "PB-004");
    assert_false(repro_is_shown(&repro, result));
    assert_false(repro_shrink(&how, &repro, workload, &small, &shrunk, &error));
    assert_null(small);
    assert_non_null(strstr(error.text, "does not show it"));
    test_finish(result);
    workload_free(workload);
}

/* A signal in code of the bench, with nothing that says why. */
static void a_signal_in_the_bench_is_said_to_be_the_images(void **state)
{
    static const char sentence[] = "written over memory that is not its own";
    struct crash_recorder *recorder = calloc(1, sizeof *recorder);
    char text[1024];

    assert_non_null(recorder);
    recorder->is_image = true;
    snprintf(recorder->ddi, sizeof recorder->ddi, "DxgkDdiPatch");
    crash_recorder_explain_end(recorder, SIGSEGV, "", text, sizeof text);
    assert_non_null(strstr(text, sentence));
    assert_non_null(strstr(text, "DxgkDdiPatch"));
    crash_recorder_explain_end(recorder, SIGKILL, "", text, sizeof text);
    assert_null(strstr(text, sentence));
    recorder->is_image = false;
    crash_recorder_explain_end(recorder, SIGSEGV, "", text, sizeof text);
    assert_null(strstr(text, sentence));
    assert_non_null(strstr(text, "probably the driver's"));
    free(recorder);
}

/* The time of a run is named only where the run has used it up. */
static void what_ended_a_process_is_what_is_said(void **state)
{
    struct crash_recorder *recorder = calloc(1, sizeof *recorder);
    char text[1024];

    assert_non_null(recorder);
    recorder->is_image = true;
    crash_recorder_explain_hang(recorder, CHILD_OVERDUE, 60, text, sizeof text);
    assert_string_equal(text, "no end within 60 s of wall time");
    crash_recorder_explain_hang(recorder, CHILD_CUT_OFF, 60, text, sizeof text);
    assert_non_null(strstr(text, "no end within 5 s after it had stopped telling the bench"));
    assert_null(strstr(text, "60"));
    crash_recorder_explain_end(recorder, SIGSYS, "", text, sizeof text);
    assert_non_null(strstr(text, "a system call that the bench allows no driver"));
    free(recorder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_in_a_process_of_its_own_gives_the_same_result),
        cmocka_unit_test(a_crash_is_a_finding_with_a_backtrace_and_the_last_calls),
        cmocka_unit_test(a_hang_is_a_finding_that_says_where),
        cmocka_unit_test(the_record_of_a_crash_or_a_hang_ends_with_the_call),
        cmocka_unit_test(the_record_of_a_killed_run_has_the_steps_before),
        cmocka_unit_test(a_fault_on_a_guard_page_names_the_rule),
        cmocka_unit_test(a_broken_rule_stays_broken_in_the_smallest_case),
        cmocka_unit_test(a_crash_can_be_made_smaller),
        cmocka_unit_test(a_hang_can_be_made_smaller),
        cmocka_unit_test(what_is_not_shown_is_said),
        cmocka_unit_test(a_signal_in_the_bench_is_said_to_be_the_images),
        cmocka_unit_test(what_ended_a_process_is_what_is_said),
    };

    run_add_drivers(test_find_driver);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
