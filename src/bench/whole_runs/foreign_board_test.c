/*
 * Runs on a foreign board, with a driver that copies in software (tests/images/softcopy), linked
 * in.
 */
/* The driver is part of this file; a program has several of them. */
#define DriverEntry foreign_board_driver_entry
#include "../tests/images/softcopy/softcopy.c"

#include "base/bits.h"
#include "bench/board/foreign_board.h"
#include "bench/drivers/drivers.h"
#include "bench/whole_runs/test_run.h"

static bool softcopy_level(const struct run_driver *driver, unsigned index,
                           enum run_model *out_model, unsigned *out_wddm)
{
    *out_model = RUN_PHYSICAL;
    *out_wddm = 13;
    return index == 0;
}

static const struct test_mistake *planted;

/* What stands between the driver and the kernel, where a test wants something there. */
struct test_mistake {
    const char *rule; /* that it breaks */
    NTSTATUS (*build)(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg);
    NTSTATUS (*render)(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg);
    NTSTATUS (*patch)(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg);
    NTSTATUS (*query)(struct miniport *self, HANDLE object, const DXGKARG_QUERYADAPTERINFO *arg);
    void (*dpc)(struct miniport *self);
};

static NTSTATUS wrap_mistake(const struct run_driver *driver, const struct base_services *services,
                             struct miniport *next, struct miniport **out_layer)
{
    struct miniport_ops *ops = test_put_layer(services, next, out_layer);

    if (planted->build)
        ops->build_paging_buffer = planted->build;
    if (planted->render)
        ops->render = planted->render;
    if (planted->patch)
        ops->patch = planted->patch;
    if (planted->query)
        ops->query_adapter_info = planted->query;
    if (planted->dpc)
        ops->dpc = planted->dpc;
    return STATUS_SUCCESS;
}

static bool find_softcopy(const char *name, struct run_driver *out_driver)
{
    if (strcmp(name, "test:softcopy") != 0 && strcmp(name, "test:softcopy-forgets") != 0)
        return false;
    *out_driver =
        (struct run_driver){.name = "test:softcopy", .entry = DriverEntry, .level = softcopy_level};
    if (strcmp(name, "test:softcopy-forgets") == 0)
        out_driver->wrap = wrap_mistake;
    return true;
}

static struct run_result *play(struct workload *workload, const char *driver)
{
    test_option(workload, "model", "physical");
    test_option(workload, "driver", driver);
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

/* ---- Clean ----------------------------------------------------------------------------------- */

static void a_driver_that_copies_in_software_is_followed(void **state)
{
    static const char *const cases[] = {
        "evict-and-restore.case", "cpu-writes.case", "aperture-pieces.case", "budgets.case",
        "dropped-offers.case",    "preemption.case", "stop-with-work.case"};

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct run_result *result = play(test_load(cases[i]), "test:softcopy");

        test_assert_clean(result);
        assert_string_equal(result->config.gpu, RUN_GPU_NONE);
        assert_int_equal(result->gpu.submissions, 0);
        test_finish(result);
    }
}

/* What a line has the GPU write is there, and moves, though no GPU has written it. */
static void content_is_written_and_moves(void **state)
{
    struct run_result *result = play(test_load("evict-and-restore.case"), "test:softcopy");

    test_assert_clean(result);
    assert_int_equal(result->submissions, 5);
    assert_true(result->pages_checked >= 9 * MiB / PAGE_BYTES);
    assert_true(test_count(result, DXGK_OPERATION_TRANSFER) >= 6);
    test_finish(result);
}

static void what_needs_the_gpus_word_is_not_judged(void **state)
{
    struct run_result *result = play(test_load("reset-before-paging.case"), "test:softcopy");

    test_assert_clean(result);
    assert_int_equal(result->rules.evaluated[RULE_SUB_002], 0);
    assert_true(result->rules.evaluated[RULE_FENCE_002] > 0);
    test_finish(result);
}

/* ---- Sleep and resets ------------------------------------------------------------------------ */

/* Nothing is said to be preserved: what is written again comes from system memory. */
static void a_sleep_takes_what_segments_do_not_preserve(void **state)
{
    static const char *const sleeps[] = {"standby", "hibernate", "d3"};
    static const char format[] = "drydock-case 1\n"
                                 "option local-memory 1M\n"
                                 "alloc a size=64K segments=local flags=cpu-visible\n"
                                 "submit c0 a:w\n"
                                 "wait all\n"
                                 "power %s\n"
                                 "power on\n"
                                 "submit c0 a:r\n"
                                 "wait all\n"
                                 "read a\n";
    char text[512];

    for (size_t i = 0; i < ARRAY_COUNT(sleeps); i++) {
        struct run_result *result;

        snprintf(text, sizeof text, format, sleeps[i]);
        result = play(test_parse(text), "test:softcopy");
        test_assert_clean(result);
        assert_true(test_count(result, DXGK_OPERATION_TRANSFER) >= 3);
        test_finish(result);
    }
}

struct lost {
    uint32_t pattern;
};

static void look_at_local(void *context, const struct run_live *live)
{
    struct lost *lost = context;

    page_store_read(machine_local(live->machine), 0, &lost->pattern, sizeof lost->pattern);
}

static void a_reset_takes_local_memory(void **state)
{
    static const char text[] = "drydock-case 1\n"
                               "option local-memory 1M\n"
                               "alloc a size=64K segments=local flags=cpu-visible\n"
                               "submit c0 a:w\n"
                               "wait all\n"
                               "reset\n"
                               "wait all\n"
                               "note \"look\"\n";
    struct workload *workload = test_parse(text);
    struct lost lost = {0};
    const struct run_tamper tamper = {
        .op_index = workload->op_count - 1, .fn = look_at_local, .context = &lost};
    struct run_result *result = calloc(1, sizeof *result);
    struct run_config config;

    assert_non_null(result);
    run_config_defaults(&config);
    config.model = RUN_PHYSICAL;
    config.driver = "test:softcopy";
    config.reference = RUN_REFERENCE_NEVER;
    config.tamper = &tamper;
    run_config_from_workload(&config, workload);
    assert_int_equal(run_execute(&config, workload, result), RUN_CLEAN);
    assert_int_equal(lost.pattern, 0xdead1057);
    workload_free(workload);
    test_finish(result);
}

/* ---- Mistakes -------------------------------------------------------------------------------- */

/* The last record of a paging buffer is taken back. */
static NTSTATUS build_nothing(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct command *command = arg->pDmaBuffer;
    NTSTATUS status = miniport_forward_build_paging_buffer(self, object, arg);

    if (NT_SUCCESS(status) && arg->Operation == DXGK_OPERATION_TRANSFER)
        command->kind = COMMAND_RENDER;
    return status;
}

static void a_transfer_that_does_nothing_is_found(void **state)
{
    static const struct test_mistake mistake = {.build = build_nothing};
    struct run_result *result;

    planted = &mistake;
    result = play(test_load("evict-and-restore.case"), "test:softcopy-forgets");
    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_true(result->finding_totals[RUN_FINDING_CONTENT] > 0);
    assert_true(has_rule(result, "XFER-006"));
    test_finish(result);
}

/* Sixteen bytes more than the driver has written. */
static NTSTATUS build_loosely(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    char *start = arg->pDmaBuffer;
    NTSTATUS status = miniport_forward_build_paging_buffer(self, object, arg);
    size_t moved = (size_t)((char *)arg->pDmaBuffer - start);

    if (moved && moved + 16 <= arg->DmaSize)
        arg->pDmaBuffer = (char *)arg->pDmaBuffer + 16;
    return status;
}

static NTSTATUS build_beyond(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->pDmaBuffer)
        ((char *)arg->pDmaBuffer)[arg->DmaSize] = 1;
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static NTSTATUS render_beyond(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    ((char *)arg->pDmaBuffer)[arg->DmaSize + 3] = 1;
    return miniport_forward_render(self, object, arg);
}

static NTSTATUS patch_outside(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    if (arg->DmaBufferSubmissionEndOffset < arg->DmaBufferSize)
        ((char *)arg->pDmaBuffer)[arg->DmaBufferSize - 1] ^= 1;
    return miniport_forward_patch(self, object, arg);
}

/* A byte of the record that nobody looks at. */
static NTSTATUS patch_paging(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    const char *buffer = arg->pDmaBuffer;

    if (arg->Flags.Paging &&
        arg->DmaBufferSubmissionEndOffset > arg->DmaBufferSubmissionStartOffset)
        ((struct command *)(buffer + arg->DmaBufferSubmissionStartOffset))->reserved[0] ^= 1;
    return miniport_forward_patch(self, object, arg);
}

static void take_three_seconds(struct miniport *self)
{
    KeStallExecutionProcessor(3000000);
    miniport_forward_ops.dpc(self);
}

/* The last page of the window is behind BAR 1. */
static NTSTATUS query_beyond(struct miniport *self, HANDLE object,
                             const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, arg);
    const DXGK_QUERYSEGMENTOUT3 *out = arg->pOutputData;

    if (NT_SUCCESS(status) && arg->Type == DXGKQAITYPE_QUERYSEGMENT3 && out->pSegmentDescriptor)
        out->pSegmentDescriptor[0].CpuTranslatedAddress.QuadPart += PAGE;
    return status;
}

/* The driver has its buffers themselves, as an image without a model has. */
static void what_needs_no_model_is_judged_without_one(void **state)
{
    static const struct test_mistake mistakes[] = {
        {"PB-002", .build = build_loosely},     {"PB-005", .build = build_beyond},
        {"PATCH-007", .patch = patch_outside},  {"PATCH-009", .patch = patch_paging},
        {"MEM-001", .render = render_beyond},   {"SEG-011", .query = query_beyond},
        {"TDR-012", .dpc = take_three_seconds},
    };
    static const enum rule_id looked_at[] = {RULE_PB_002,    RULE_PB_005,  RULE_PATCH_007,
                                             RULE_PATCH_009, RULE_SEG_011, RULE_TDR_012};
    struct workload *workload = test_load("evict-and-restore.case");
    struct run_result *result;

    test_option(workload, "lent", "kept");
    result = play(workload, "test:softcopy");
    test_assert_clean(result);
    for (size_t i = 0; i < ARRAY_COUNT(looked_at); i++)
        assert_true(result->rules.evaluated[looked_at[i]] > 0);
    test_finish(result);
    for (size_t i = 0; i < ARRAY_COUNT(mistakes); i++) {
        planted = &mistakes[i];
        workload = test_load("evict-and-restore.case");
        test_option(workload, "lent", "kept");
        test_option(workload, "profile", "strict-open");
        result = play(workload, "test:softcopy-forgets");
        if (!has_rule(result, mistakes[i].rule))
            fail_msg("%s is not found", mistakes[i].rule);
        test_finish(result);
    }
}

/* ---- Options --------------------------------------------------------------------------------- */

/* The driver refuses allocations that it is told too little of. */
static void templates_reach_the_driver(void **state)
{
    struct workload *workload = test_load("evict-and-restore.case");
    struct run_result *result;

    test_option(workload, "allocation-data", "size:u64");
    result = play(workload, "test:softcopy");
    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_true(result->finding_totals[RUN_FINDING_SUBMISSION] >= 3);
    test_finish(result);

    workload = test_load("evict-and-restore.case");
    test_option(workload, "allocation-data", "size:u64 flags:u32 index:u32 seed:u64*3");
    test_option(workload, "context-data", "1:u32 index:u32");
    test_option(workload, "command-data", "index:u32 pages:u64");
    result = play(workload, "test:softcopy");
    test_assert_clean(result);
    test_finish(result);
}

static void a_driver_meets_the_gpu_that_a_run_asks_for(void **state)
{
    struct workload *workload = test_load("evict-and-restore.case");
    struct run_result *result;

    test_option(workload, "gpu", "none");
    result = play(workload, "ref");
    assert_int_equal(result->outcome, RUN_REFUSED); /* its registers do not answer */
    assert_non_null(strstr(result->error, "DxgkDdiStartDevice"));
    test_finish(result);

    workload = test_load("evict-and-restore.case");
    test_option(workload, "gpu", "voodoo");
    result = play(workload, "ref");
    assert_int_equal(result->outcome, RUN_REFUSED);
    assert_non_null(strstr(result->error, "there is no GPU 'voodoo'"));
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_that_copies_in_software_is_followed),
        cmocka_unit_test(content_is_written_and_moves),
        cmocka_unit_test(what_needs_the_gpus_word_is_not_judged),
        cmocka_unit_test(a_sleep_takes_what_segments_do_not_preserve),
        cmocka_unit_test(a_reset_takes_local_memory),
        cmocka_unit_test(a_transfer_that_does_nothing_is_found),
        cmocka_unit_test(what_needs_no_model_is_judged_without_one),
        cmocka_unit_test(templates_reach_the_driver),
        cmocka_unit_test(a_driver_meets_the_gpu_that_a_run_asks_for),
    };

    run_add_drivers(find_softcopy);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
