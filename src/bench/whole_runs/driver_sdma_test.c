/*
 * The example of a driver that speaks packets of its own (examples/driver-sdma), linked in, with
 * the model of its GPU as a plug-in: packets, page tables and interrupts are the model's, and the
 * bench follows them.
 */
static int mistake;
#define SDMA_MISTAKE mistake

/* The driver is part of this file; a program has several of them. */
#define DriverEntry driver_sdma_driver_entry
#include "../examples/driver-sdma/adapter.c"
#include "../examples/driver-sdma/memory.c"
#include "../examples/driver-sdma/paging.c"
#include "../examples/driver-sdma/ring.c"

/* The bench has other ideas of these. */
#undef PAGE

#include "base/bits.h"
#include "bench/drivers/drivers.h"
#include "bench/whole_runs/test_run.h"
#include "bench/child/child_run.h"

static bool sdma_level(const struct run_driver *driver, unsigned index, enum run_model *out_model,
                       unsigned *out_wddm)
{
    *out_model = RUN_GPUMMU;
    *out_wddm = 26;
    return index == 0;
}

static bool find_sdma(const char *name, struct run_driver *out_driver)
{
    if (strcmp(name, "test:sdma") != 0)
        return false;
    *out_driver = (struct run_driver){.name = "test:sdma",
                                      .entry = DriverEntry,
                                      .level = sdma_level,
                                      .gpu = GPU_FOLDER "/sdma.so"};
    return true;
}

static struct run_result *play(struct workload *workload)
{
    test_option(workload, "driver", "test:sdma");
    return test_play(workload);
}

static bool has_rule(const struct run_result *result, const char *rule)
{
    for (uint32_t i = 0; i < result->finding_count; i++) {
        if (strcmp(result->findings[i].rule, rule) == 0)
            return true;
    }
    return false;
}

static void play_mistake(int which, const char *rule)
{
    struct run_result *result;

    mistake = which;
    result = play(test_load("../examples/driver-sdma/sdma.case"));
    mistake = 0;
    assert_int_equal(result->outcome, RUN_FINDINGS);
    if (!has_rule(result, rule))
        fail_msg("mistake %d: no finding of %s, but %s", which, rule, result->findings[0].rule);
    test_finish(result);
}

/* ---- Clean ----------------------------------------------------------------------------------- */

static void what_its_packets_do_is_followed(void **state)
{
    static const char *const cases[] = {
        "../examples/driver-sdma/sdma.case",
        "evict-and-restore.case",
        "two-processes.case",
        "partial-writes.case",
        "preemption.case",
        "gpu-va-map.case",
        "tables-that-go.case",
        "kept-part.case",
        "stop-with-work.case",
        "surprise-removal.case",
        "reset-before-paging.case",
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct run_result *result = play(test_load(cases[i]));

        test_assert_clean(result);
        test_finish(result);
    }
}

/* Content through its engines, entries by its translate(), flushes by what it tells of them. */
static void its_model_tells_what_is_judged(void **state)
{
    static const enum rule_id rules[] = {RULE_VX_003, RULE_VX_008,  RULE_PT_017,
                                         RULE_PT_019, RULE_TLB_002, RULE_TLB_006};
    struct run_result *result = play(test_load("../examples/driver-sdma/sdma.case"));

    test_assert_clean(result);
    for (size_t i = 0; i < ARRAY_COUNT(rules); i++)
        assert_true(result->rules.evaluated[rules[i]] > 0);
    assert_int_equal(result->submissions, 9);
    assert_true(test_count(result, DXGK_OPERATION_VIRTUAL_TRANSFER) >= 5);
    assert_true(result->pages_checked > 6 * MiB / 4096);
    test_finish(result);
}

/* Bits of DriverProtection that its entries hold are compared, the others cannot be. */
static void protections_of_its_own_are_compared(void **state)
{
    static const char text[] = "drydock-case 1\n"
                               "alloc a size=64K flags=nomap\n"
                               "map a va=auto driver-protection=0x1a5\n"
                               "submit c0 a:w\n"
                               "wait all\n";
    struct run_result *result = play(test_parse(text));

    test_assert_clean(result);
    assert_true(result->rules.evaluated[RULE_PT_028] > 0);
    test_finish(result);
}

/*
 * An entry that no format of its own can say is not asked for: no finding, and the line is counted.
 */
static void lines_that_its_entries_cannot_say_are_skipped(void **state)
{
    static const char text[] = "drydock-case 1\n"
                               "alloc a size=64K\n"
                               "pte p0 zero va=0x10000000 pages=1\n"
                               "submit c0 a:w\n"
                               "wait all\n";
    struct run_result *result = play(test_parse(text));

    test_assert_clean(result);
    assert_int_equal(result->page_table_lines_skipped, 1);
    test_finish(result);
}

/* ---- Mistakes -------------------------------------------------------------------------------- */

static void a_wrong_entry_is_found(void **state)
{
    play_mistake(1, "PT-017");
}

static void a_wrong_length_is_found(void **state)
{
    play_mistake(2, "VX-003");
}

static void a_flush_that_is_missing_is_found(void **state)
{
    play_mistake(3, "TLB-002");
}

static void a_fence_that_is_not_written_is_found(void **state)
{
    play_mistake(4, "FENCE-004");
}

/* ---- Models that end badly ------------------------------------------------------------------- */

/* In a process of its own; what is said names the plug-in, or says what of it ran. */
static void expect_blame_of(const char *option, const char *path, double seconds, const char *text)
{
    struct workload *workload = test_load("../examples/driver-sdma/sdma.case");
    struct run_result *result = calloc(1, sizeof *result);
    const char *name = strcmp(option, "gpu") == 0 ? path : "client";
    struct run_config config;

    assert_non_null(result);
    test_option(workload, "driver", "test:sdma");
    test_option(workload, option, path);
    config = test_config(workload);
    assert_true(child_run_execute(&config, workload, seconds, result));
    if (result->outcome != RUN_REFUSED || !strstr(result->error, name) ||
        !strstr(result->error, text) || !strstr(result->error, "tells nothing of the driver"))
        fail_msg("%s: %s, '%s'", path, run_outcome_name(result->outcome), result->error);
    assert_int_equal(result->finding_totals[RUN_FINDING_CRASHED], 0);
    assert_int_equal(result->finding_totals[RUN_FINDING_HUNG], 0);
    test_finish(result);
    workload_free(workload);
}

static void expect_blame(const char *model, double seconds, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, GPU_FOLDER "/odd-%s.so", model);
    expect_blame_of("gpu", path, seconds, text);
}

static void a_model_that_crashes_is_to_blame(void **state)
{
    expect_blame("entering", 20, "in drydock_gpu_model(): ended by signal 11");
    expect_blame("closing", 20, "in create(): it closes files of the bench");
    expect_blame("crashing", 20, "in write_register(): ended by signal 11");
    expect_blame("late", 20, "in an event that it has scheduled: ended by signal 11");
}

static void a_model_that_hangs_is_to_blame(void **state)
{
    expect_blame("hanging", 1, "in an event that it has scheduled: no end within 1 s");
}

static void a_model_that_never_rests_is_to_blame(void **state)
{
    expect_blame("storming", 300, "goes on without end: 2");
    expect_blame("busy", 300, "goes on without end: 0 interrupts and 500001 events");
}

/* ---- A client of its own --------------------------------------------------------------------- */

#define KERNEL_HALF (UINT64_C(1) << 47) /* of the paging process */

/* The highest address of clients that page tables were written for. */
static uint64_t highest_va;

static NTSTATUS look_at_tables(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE &&
        arg->UpdatePageTable.FirstPteVirtualAddress < KERNEL_HALF)
        highest_va = max_u64(highest_va, arg->UpdatePageTable.FirstPteVirtualAddress);
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static struct miniport *put_on_top(void *context, struct miniport *next)
{
    struct miniport *layer = NULL;

    test_put_layer(base_services_libc(), next, &layer)->build_paging_buffer = look_at_tables;
    return layer;
}

/* client NULL: the bench's own. */
static struct run_result *play_with(const char *client, const char *name)
{
    struct workload *workload = test_load(name);
    struct run_config config;

    highest_va = 0;
    test_option(workload, "driver", "test:sdma");
    if (client)
        test_option(workload, "client-file", client);
    config = test_config(workload);
    config.add_layer = put_on_top;
    return test_execute(&config, workload);
}

/* Its words are taken for the model's, work at its addresses is followed, mistakes are found. */
static void a_client_speaks_for_the_application(void **state)
{
    static const char *const cases[] = {"../examples/driver-sdma/sdma.case", "two-processes.case",
                                        "partial-writes.case"};
    struct run_result *result;

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct run_result *plain = play_with(NULL, cases[i]);
        const uint64_t plain_va = highest_va;

        result = play_with(CLIENT_FOLDER "/sdma_client.so", cases[i]);
        test_assert_clean(result);
        assert_int_equal(result->submissions, plain->submissions);
        assert_true(result->pages_checked >= plain->pages_checked);
        if (highest_va <= plain_va) /* addresses begin at the upper end */
            fail_msg("0x%llx, 0x%llx", (unsigned long long)highest_va,
                     (unsigned long long)plain_va);
        test_finish(plain);
        test_finish(result);
    }
    mistake = 2;
    result = play_with(CLIENT_FOLDER "/sdma_client.so", "../examples/driver-sdma/sdma.case");
    mistake = 0;
    assert_true(has_rule(result, "VX-003"));
    test_finish(result);
}

static void a_client_that_ends_badly_is_to_blame(void **state)
{
    expect_blame_of("client-file", CLIENT_FOLDER "/odd-crashing.so", 20,
                    "the client's allocation_data(): ended by signal 11");
    expect_blame_of("client-file", CLIENT_FOLDER "/odd-hanging.so", 1,
                    "the client's allocation_data(): no end within 1 s");
    expect_blame_of("client-file", CLIENT_FOLDER "/odd-lying.so", 20,
                    "client 'odd': allocation_data() gives 24 bytes, and has said 16");
    expect_blame_of("client-file", CLIENT_FOLDER "/odd-taken.so", 20,
                    "client 'odd': choose_address() gives");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_its_packets_do_is_followed),
        cmocka_unit_test(its_model_tells_what_is_judged),
        cmocka_unit_test(protections_of_its_own_are_compared),
        cmocka_unit_test(lines_that_its_entries_cannot_say_are_skipped),
        cmocka_unit_test(a_wrong_entry_is_found),
        cmocka_unit_test(a_wrong_length_is_found),
        cmocka_unit_test(a_flush_that_is_missing_is_found),
        cmocka_unit_test(a_fence_that_is_not_written_is_found),
        cmocka_unit_test(a_client_speaks_for_the_application),
        cmocka_unit_test(a_client_that_ends_badly_is_to_blame),
        cmocka_unit_test(a_model_that_crashes_is_to_blame),
        cmocka_unit_test(a_model_that_hangs_is_to_blame),
        cmocka_unit_test(a_model_that_never_rests_is_to_blame),
    };

    run_add_drivers(find_sdma);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
