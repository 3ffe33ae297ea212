/*
 * Rules that only content can show: the reference driver with one thing altered breaks this rule
 * alone, as content, and as it is keeps it in the same case.
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "bench/child/explain.h"
#include "bench/drivers/drivers.h"
#include "bench/whole_runs/test_run.h"

#include "base/services.h"

#include <errno.h>
#include <inttypes.h>

#define PAGE 4096u

typedef void alter(DXGKARG_BUILDPAGINGBUFFER *arg);

static alter *altered; /* by the driver "test:altered" */

static NTSTATUS build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;

    altered(&as);
    return test_forward_build(self, object, arg, &as);
}

static NTSTATUS wrap(const struct run_driver *driver, const struct base_services *services,
                     struct miniport *next, struct miniport **out_layer)
{
    test_put_layer(services, next, out_layer)->build_paging_buffer = build;
    return STATUS_SUCCESS;
}

static bool find(const char *name, struct run_driver *out_driver)
{
    *out_driver = (struct run_driver){.name = "test:altered", .wrap = wrap};
    return strcmp(name, "test:altered") == 0;
}

/*
 * A layer that plays a bad manager is on top of all others; one that plays a bad driver below them.
 */
enum player_of { DRIVER, MANAGER };

struct scene {
    const char *file; /* or the lines of a case */
    enum run_model model;
    enum player_of side;
};

static struct miniport *put_on_top(void *context, struct miniport *next)
{
    struct miniport *layer = NULL;

    wrap(NULL, base_services_libc(), next, &layer);
    return layer;
}

static struct run_result *play(const struct scene *scene, alter *function)
{
    bool is_text = strchr(scene->file, '\n') != NULL;
    struct workload *workload = is_text ? test_parse(scene->file) : test_load(scene->file);
    struct run_result *result = calloc(1, sizeof *result);
    struct run_config config;

    assert_non_null(result);
    config = test_config(workload);
    config.model = scene->model;
    config.driver = function && scene->side == DRIVER ? "test:altered" : "ref";
    if (function && scene->side == MANAGER)
        config.add_layer = put_on_top;
    altered = function;
    run_execute(&config, workload, result);
    for (uint32_t i = 0; i < result->step_count; i++)
        result->steps[i].name = NULL;
    workload_free(workload);
    return result;
}

static void expect_broken(enum rule_id rule, const struct scene *scene, alter *function)
{
    struct run_result *result = play(scene, function);
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

static void expect_kept(enum rule_id rule, const struct scene *scene)
{
    struct run_result *result = play(scene, NULL);

    test_assert_clean(result);
    assert_true(result->rules.evaluated[rule] > 0);
    assert_int_equal(result->rules.broken[rule], 0);
    test_finish(result);
}

#define CONTENT_RULE_IN(identifier, ...)                                                           \
    static void alter_##identifier(DXGKARG_BUILDPAGINGBUFFER *arg);                                \
    static const struct scene scene_##identifier = {__VA_ARGS__};                                  \
    static void rule_##identifier##_is_found_when_broken(void **state)                             \
    {                                                                                              \
        expect_broken(RULE_##identifier, &scene_##identifier, alter_##identifier);                 \
    }                                                                                              \
    static void rule_##identifier##_is_silent_when_kept(void **state)                              \
    {                                                                                              \
        expect_kept(RULE_##identifier, &scene_##identifier);                                       \
    }                                                                                              \
    static void alter_##identifier(DXGKARG_BUILDPAGINGBUFFER *arg)
#define CONTENT_RULE(identifier, file) CONTENT_RULE_IN(identifier, file, RUN_PHYSICAL, DRIVER)
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

/*
 * What is tiled and not marked Swizzled goes out in the order of its tiles, as a plain copy does.
 */
CONTENT_RULE(SWZ_007, "tiles.case")
{
    if (arg->Operation == DXGK_OPERATION_TRANSFER && !arg->Transfer.Flags.Swizzle &&
        !arg->Transfer.Flags.Unswizzle)
        arg->Transfer.hAllocation = NULL;
}

/* Without the allocation its rows are not known. */
CONTENT_RULE(XFER_018, "rows.case")
{
    if (arg->Operation == DXGK_OPERATION_TRANSFER && !arg->Transfer.Destination.SegmentId)
        arg->Transfer.hAllocation = NULL;
}

/* A manager that fills what had content and comes back. */
CONTENT_RULE_IN(FILL_001, "evict-and-restore.case", RUN_PHYSICAL, MANAGER)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;

    if (arg->Operation != DXGK_OPERATION_TRANSFER || arg->Transfer.Source.SegmentId)
        return;
    as.Operation = DXGK_OPERATION_FILL;
    memset(&as.Fill, 0, sizeof as.Fill);
    as.Fill.hAllocation = arg->Transfer.hAllocation;
    as.Fill.FillSize = arg->Transfer.TransferSize;
    as.Fill.Destination.SegmentId = arg->Transfer.Destination.SegmentId;
    as.Fill.Destination.SegmentAddress = arg->Transfer.Destination.SegmentAddress;
    *arg = as;
}

/* The last tile is the allocation's in part; the driver leaves it out. */
CONTENT_RULE(FILL_007, "drydock-case 1\n"
                       "option model physical\n"
                       "option local-memory 4M\n"
                       "option fill-pattern 0xdeadbeef\n"
                       "alloc a size=1000K segments=local flags=cpu-visible,swizzled\n"
                       "submit c0 duration=1000 a:r\n"
                       "wait all\n"
                       "read a\n")
{
    if (arg->Operation == DXGK_OPERATION_FILL)
        arg->Fill.FillSize -= 16 * PAGE;
}

CONTENT_RULE_IN(VX_008, "fill-pattern.case", RUN_GPUMMU, DRIVER)
{
    if (arg->Operation == DXGK_OPERATION_VIRTUAL_FILL)
        arg->FillVirtual.FillPattern = (arg->FillVirtual.FillPattern & 0xff) * 0x01010101u;
}

/* A page list that is begun at its second page. */
CONTENT_RULE(SLT_003, "sequences/S-19-special-lock-transfer.case")
{
    static struct {
        MDL head;
        PFN_NUMBER pages[8192];
    } list;
    SIZE_T count = arg->SpecialLockTransfer.TransferSize / PAGE;
    bool is_out = arg->SpecialLockTransfer.Source.SegmentId != 0;
    MDL *real;

    if (arg->Operation != DXGK_OPERATION_SPECIAL_LOCK_TRANSFER || !count ||
        count > ARRAY_COUNT(list.pages))
        return;
    real =
        is_out ? arg->SpecialLockTransfer.Destination.pMdl : arg->SpecialLockTransfer.Source.pMdl;
    list.head = *real;
    for (SIZE_T i = 0; i < count; i++)
        list.pages[i] = MmGetMdlPfnArray(real)[(i + 1) % count];
    if (is_out)
        arg->SpecialLockTransfer.Destination.pMdl = &list.head;
    else
        arg->SpecialLockTransfer.Source.pMdl = &list.head;
}

/* The order of the tiles stays where the application saw it linear. */
CONTENT_RULE(SLT_004, "drydock-case 1\n"
                      "option model physical\n"
                      "option local-memory 4M\n"
                      "alloc front size=2M segments=local "
                      "flags=cpu-visible,use-alternate-va,primary,swizzled\n"
                      "alloc other size=3M segments=local\n"
                      "submit c0 duration=1000 front:w\n"
                      "wait all\n"
                      "write front offset=64K size=128K\n"
                      "submit c0 duration=1000 other:w\n"
                      "wait all\n"
                      "read front\n")
{
    if (arg->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER)
        arg->SpecialLockTransfer.Flags.Unswizzle = 0;
}

/* Half of it is moved: the application sees that. */
CONTENT_RULE(SLT_007, "sequences/S-19-special-lock-transfer.case")
{
    if (arg->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER)
        arg->SpecialLockTransfer.TransferSize /= 2;
}

/* ---- Who wrote what belongs to another ------------------------------------------------------- */

/* What comes in is one page too long: the first page of it again, over what lies behind. */
static void bring_a_page_more(DXGKARG_BUILDPAGINGBUFFER *arg)
{
    static struct {
        MDL head;
        PFN_NUMBER pages[8192];
    } list;
    SIZE_T count = arg->Transfer.TransferSize / PAGE;
    MDL *real = arg->Transfer.Source.pMdl;

    if (arg->Operation != DXGK_OPERATION_TRANSFER || arg->Transfer.Source.SegmentId ||
        !arg->Transfer.Destination.SegmentId || arg->Transfer.MdlOffset ||
        count >= ARRAY_COUNT(list.pages))
        return;
    list.head = *real;
    list.head.ByteCount += PAGE;
    memcpy(list.pages, MmGetMdlPfnArray(real), count * sizeof list.pages[0]);
    list.pages[count] = list.pages[0];
    arg->Transfer.Source.pMdl = &list.head;
    arg->Transfer.TransferSize += PAGE;
}

static void wrong_bytes_stand_at_the_operation_that_wrote_them(void **state)
{
    static const struct scene scene = {"evict-and-restore.case", RUN_PHYSICAL, DRIVER};
    struct run_result *result = play(&scene, bring_a_page_more);
    unsigned named = 0;

    for (uint32_t i = 0; i < result->finding_count; i++) {
        const struct run_finding *finding = &result->findings[i];

        if (finding->kind != RUN_FINDING_CONTENT)
            continue;
        assert_string_equal(finding->detail.where, "DxgkDdiBuildPagingBuffer(TRANSFER)");
        assert_non_null(strstr(finding->detail.objects,
                               "written  DxgkDdiBuildPagingBuffer(TRANSFER) of event"));
        assert_non_null(strstr(finding->detail.arguments, "Transfer.TransferSize"));
        named++;
    }
    assert_true(named > 0);
    test_finish(result);
}

/*
 * The command that moved the page too many, among those of its call, and the reference driver's
 * code that wrote it.
 */
static void a_second_run_tells_who_wrote_the_commands(void **state)
{
    static const struct scene scene = {"evict-and-restore.case", RUN_PHYSICAL, DRIVER};
    struct workload *workload = test_load(scene.file);
    struct run_result *result = play(&scene, bring_a_page_more);
    struct run_config config = result->config;
    unsigned named = 0;

    altered = bring_a_page_more;
    explain_result(&config, workload, 60, result);
    for (uint32_t i = 0; i < result->finding_count; i++) {
        const struct finding_detail *detail = &result->findings[i].detail;
        uint32_t start, end, first;
        char program[64] = "";
        uint64_t event;

        if (result->findings[i].kind != RUN_FINDING_CONTENT)
            continue;
        assert_int_equal(sscanf(detail->writers,
                                "bytes 0x%" SCNx32 " to 0x%" SCNx32
                                " of what the call of event %" SCNu64 " wrote\n0x%" SCNx32
                                " to 0x%*x %63s (+0x",
                                &start, &end, &event, &first, program),
                         5);
        assert_int_equal(event, detail->commands.event);
        assert_true(start < end && first == start);
        assert_string_equal(program, program_invocation_short_name);
        named++;
    }
    assert_true(named > 0);
    workload_free(workload);
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE_PAIR(XFER_003),
        RULE_PAIR(XFER_004),
        RULE_PAIR(XFER_005),
        RULE_PAIR(XFER_014),
        RULE_PAIR(FILL_001),
        RULE_PAIR(FILL_005),
        RULE_PAIR(FILL_007),
        RULE_PAIR(DISC_003),
        RULE_PAIR(SLT_003),
        RULE_PAIR(SLT_004),
        RULE_PAIR(SLT_007),
        RULE_PAIR(VX_008),
        RULE_PAIR(SWZ_007),
        RULE_PAIR(XFER_018),
        cmocka_unit_test(wrong_bytes_stand_at_the_operation_that_wrote_them),
        cmocka_unit_test(a_second_run_tells_who_wrote_the_commands),
    };

    run_add_drivers(find);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
