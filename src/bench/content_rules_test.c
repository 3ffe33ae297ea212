/*
 * Rules that only content can show: the reference driver with one thing altered breaks this rule alone,
 * as content, and as it is keeps it in the same case.
 */
#include "bench/drivers.h"
#include "bench/test_run.h"

#include "base/services.h"

#define PAGE 4096u

/* A layer right above the driver that alters the arguments of paging operations. */
struct altering {
    struct miniport miniport;
    struct miniport_ops ops;
};

typedef void alter(DXGKARG_BUILDPAGINGBUFFER *arg);

static alter *altered; /* by the driver "test:altered" */

static NTSTATUS build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    NTSTATUS status;

    altered(&as);
    status = miniport_forward_build_paging_buffer(self, object, &as);
    arg->pDmaBuffer = as.pDmaBuffer;
    arg->DmaSize = as.DmaSize;
    arg->pDmaBufferPrivateData = as.pDmaBufferPrivateData;
    arg->MultipassOffset = as.MultipassOffset;
    return status;
}

static void destroy(struct miniport *self)
{
    free(self);
}

static NTSTATUS wrap(const struct run_driver *driver, const struct base_services *services,
                     struct miniport *next, struct miniport **out_layer)
{
    struct altering *layer = calloc(1, sizeof *layer);

    *out_layer = NULL;
    if (!layer)
        return STATUS_NO_MEMORY;
    layer->ops = miniport_forward_ops;
    layer->ops.name = "altering";
    layer->ops.destroy = destroy;
    layer->ops.build_paging_buffer = build;
    layer->miniport.ops = &layer->ops;
    layer->miniport.next = next;
    *out_layer = &layer->miniport;
    return STATUS_SUCCESS;
}

static bool find(const char *name, struct run_driver *out_driver)
{
    *out_driver = (struct run_driver){.name = "test:altered", .wrap = wrap};
    return strcmp(name, "test:altered") == 0;
}

static struct run_result *play(const char *file, alter *function)
{
    struct workload *workload = test_load(file);
    struct run_result *result = calloc(1, sizeof *result);
    struct run_config config;

    assert_non_null(result);
    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.reference = RUN_REFERENCE_NEVER;
    config.model = RUN_PHYSICAL;
    config.driver = function ? "test:altered" : "ref";
    altered = function;
    run_execute(&config, workload, result);
    for (uint32_t i = 0; i < result->step_count; i++)
        result->steps[i].name = NULL;
    workload_free(workload);
    return result;
}

static void expect_broken(enum rule_id rule, const char *file, alter *function)
{
    struct run_result *result = play(file, function);
    bool is_told = false;

    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        if ((result->rules.broken[i] != 0) != (i == (unsigned)rule))
            fail_msg("%s was %s", rule_get((enum rule_id)i)->id,
                     result->rules.broken[i] ? "found" : "not found");
    }
    for (uint32_t i = 0; i < result->finding_count; i++) {
        const struct run_finding *finding = &result->findings[i];

        is_told |= strcmp(finding->rule, rule_get(rule)->id) == 0 && finding->detail.where[0] &&
                   (finding->kind != RUN_FINDING_CONTENT || finding->detail.bytes[0]);
    }
    assert_true(is_told);
    test_finish(result);
}

static void expect_kept(enum rule_id rule, const char *file)
{
    struct run_result *result = play(file, NULL);

    test_assert_clean(result);
    assert_true(result->rules.evaluated[rule] > 0);
    assert_int_equal(result->rules.broken[rule], 0);
    test_finish(result);
}

#define CONTENT_RULE(identifier, file)                                                             \
    static void alter_##identifier(DXGKARG_BUILDPAGINGBUFFER *arg);                                \
    static void rule_##identifier##_is_found_when_broken(void **state)                             \
    {                                                                                              \
        expect_broken(RULE_##identifier, file, alter_##identifier);                                \
    }                                                                                              \
    static void rule_##identifier##_is_silent_when_kept(void **state)                              \
    {                                                                                              \
        expect_kept(RULE_##identifier, file);                                                      \
    }                                                                                              \
    static void alter_##identifier(DXGKARG_BUILDPAGINGBUFFER *arg)
#define RULE_PAIR(identifier)                                                                      \
    cmocka_unit_test(rule_##identifier##_is_found_when_broken),                                    \
        cmocka_unit_test(rule_##identifier##_is_silent_when_kept)

CONTENT_RULE(XFER_003, "transfer-pieces.case")
{
    if (arg->Operation == DXGK_OPERATION_TRANSFER)
        arg->Transfer.TransferOffset = 0;
}

CONTENT_RULE(XFER_004, "transfer-pieces.case")
{
    if (arg->Operation == DXGK_OPERATION_TRANSFER)
        arg->Transfer.MdlOffset = 0;
}

/* The page list as the driver would see it if only its first page told where it is. */
CONTENT_RULE(XFER_005, "evict-and-restore.case")
{
    static struct {
        MDL head;
        PFN_NUMBER pages[8192];
    } run;
    MDL *real;
    SIZE_T count = arg->Transfer.TransferSize / PAGE;

    if (arg->Operation != DXGK_OPERATION_TRANSFER || !count || count > ARRAY_COUNT(run.pages))
        return;
    real =
        arg->Transfer.Source.SegmentId ? arg->Transfer.Destination.pMdl : arg->Transfer.Source.pMdl;
    run.head.ByteCount = (ULONG)(count * PAGE);
    run.head.Size = (CSHORT)(sizeof run.head + sizeof run.pages[0]);
    for (SIZE_T i = 0; i < count; i++)
        run.pages[i] = MmGetMdlPfnArray(real)[arg->Transfer.MdlOffset] + i;
    arg->Transfer.MdlOffset = 0;
    if (arg->Transfer.Source.SegmentId)
        arg->Transfer.Destination.pMdl = &run.head;
    else
        arg->Transfer.Source.pMdl = &run.head;
}

/* Linearises what is to stay in the order of its tiles. */
CONTENT_RULE(XFER_014, "tiles.case")
{
    if (arg->Operation == DXGK_OPERATION_TRANSFER && arg->Transfer.Source.SegmentId)
        arg->Transfer.Flags.Unswizzle = 1;
}

CONTENT_RULE(FILL_005, "fill-pattern.case")
{
    if (arg->Operation == DXGK_OPERATION_FILL)
        arg->Fill.FillPattern = (arg->Fill.FillPattern & 0xff) * 0x01010101u;
}

CONTENT_RULE(DISC_003, "main.case")
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;

    if (arg->Operation != DXGK_OPERATION_DISCARD_CONTENT)
        return;
    as.Operation = DXGK_OPERATION_FILL;
    memset(&as.Fill, 0, sizeof as.Fill);
    as.Fill.FillSize = PAGE;
    as.Fill.FillPattern = 0xdddddddd;
    as.Fill.Destination.SegmentId = arg->DiscardContent.SegmentId;
    as.Fill.Destination.SegmentAddress.QuadPart = arg->DiscardContent.SegmentAddress.QuadPart;
    *arg = as;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE_PAIR(XFER_003), RULE_PAIR(XFER_004), RULE_PAIR(XFER_005),
        RULE_PAIR(XFER_014), RULE_PAIR(FILL_005), RULE_PAIR(DISC_003),
    };

    run_add_drivers(find);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
