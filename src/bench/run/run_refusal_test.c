/*
 * An allocation that does not come about, and a request that fails some time after it was made: the
 * finding names who refused it, and the rule.
 */
#include "bench/drivers/drivers.h"
#include "bench/whole_runs/test_run.h"

static NTSTATUS driver_status; /* of CreateAllocation */
static bool lacks_priority;    /* its answer */
static SIZE_T bytes_given;     /* its answer, where it is another one than the line asks for */

static NTSTATUS create(struct miniport *layer, HANDLE object, DXGKARG_CREATEALLOCATION *args)
{
    NTSTATUS status = miniport_create_allocation(layer->next, object, args);

    if (lacks_priority)
        args->pAllocationInfo[0].AllocationPriority = 0;
    if (bytes_given)
        args->pAllocationInfo[0].Size = bytes_given;
    return NT_SUCCESS(driver_status) ? status : driver_status;
}

static unsigned contexts_left; /* that the driver goes on to create */

static NTSTATUS create_context(struct miniport *layer, HANDLE object, DXGKARG_CREATECONTEXT *args)
{
    if (!args->Flags.SystemContext && !contexts_left)
        return STATUS_INSUFFICIENT_RESOURCES;
    contexts_left -= !args->Flags.SystemContext;
    return miniport_create_context(layer->next, object, args);
}

static bool lacks_functions;

static bool has(struct miniport *layer, enum miniport_ddi ddi)
{
    return miniport_has(layer->next, ddi) &&
           !(lacks_functions && (ddi == MINIPORT_DDI_StopDevice || ddi == MINIPORT_DDI_Render ||
                                 ddi == MINIPORT_DDI_CreateDevice));
}

static NTSTATUS wrap(const struct run_driver *driver, const struct base_services *services,
                     struct miniport *next, struct miniport **out_layer)
{
    struct miniport_ops *ops = test_put_layer(services, next, out_layer);

    ops->create_allocation = create;
    ops->create_context = create_context;
    ops->has = has;
    return STATUS_SUCCESS;
}

static bool find(const char *name, struct run_driver *out_driver)
{
    if (strcmp(name, "test:refuses") != 0)
        return false;
    *out_driver = (struct run_driver){.name = "test:refuses", .wrap = wrap};
    return true;
}

/* Plays one allocation, and expects this text of the finding about it. */
static void expect(NTSTATUS status, bool has_no_priority, const char *size, const char *text)
{
    struct run_config config;
    struct run_result *result;
    struct workload *workload;
    const struct run_finding *found = NULL;
    char line[64];

    driver_status = status;
    contexts_left = UINT32_MAX;
    lacks_priority = has_no_priority;
    snprintf(line, sizeof line, "drydock-case 1\nalloc a size=%s\n", size);
    workload = test_parse(line);
    config = test_config(workload);
    config.model = RUN_PHYSICAL;
    config.driver = "test:refuses";
    result = test_execute(&config, workload);
    assert_int_equal(result->outcome, RUN_FINDINGS);
    for (uint32_t i = 0; i < result->finding_count; i++) {
        if (result->findings[i].kind == RUN_FINDING_SUBMISSION)
            found = &result->findings[i];
    }
    assert_non_null(found);
    assert_string_equal(found->text, text);
    test_finish(result);
}

static void the_driver_may_refuse(void **state)
{
    expect(STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE, false, "1M",
           "alloc a of 1048576 bytes failed with status 0xc01e0110 "
           "STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE: "
           "DxgkDdiCreateAllocation has "
           "answered so");
}

static void the_manager_may_refuse_the_answer(void **state)
{
    expect(STATUS_SUCCESS, true, "1M",
           "alloc a of 1048576 bytes failed with status 0xc000000d STATUS_INVALID_PARAMETER: the "
           "memory "
           "manager refuses it "
           "(ALLOC-008: DxgkDdiCreateAllocation.pAllocationInfo[0].AllocationPriority is 0)");
}

static void the_manager_may_have_a_limit(void **state)
{
    expect(STATUS_SUCCESS, false, "5G",
           "alloc a of 5368709120 bytes failed with status 0xc00000bb STATUS_NOT_SUPPORTED: the "
           "memory "
           "manager refuses "
           "it (U3: 5368709120 bytes: neither an MDL nor TransferOffset can say where the end is)");
}

/* What there is no room for is found out when all else has left: long after the line, perhaps. */
static void the_manager_may_have_no_room(void **state)
{
    static const struct {
        enum run_model model;
        const char *line, *text;
    } rows[] = {
        {RUN_GPUMMU, "resident a\n",
         "resident a failed with status 0xc01e0100 STATUS_GRAPHICS_NO_VIDEO_MEMORY: needs "
         "8388608 bytes, "},
        {RUN_GPUMMU, "submit c0 b:w\nsubmit c0 a:w\nalloc c size=4K\nwait all\n",
         "submission on context 'c0' does not fit: its 1 allocations need 8388608 bytes, "},
        {RUN_PHYSICAL, "submit c0 b:w\nsubmit c0 a:w\nalloc c size=4K\nwait all\n",
         "submission on context 'c0' does not fit: its 1 allocations need 8388608 bytes, "},
    };

    driver_status = STATUS_SUCCESS;
    lacks_priority = false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[400];
        struct workload *workload;
        struct run_config config;
        struct run_result *result;
        unsigned count = 0;

        snprintf(text, sizeof text,
                 "drydock-case 1\noption local-memory 4M\nalloc a size=8M segments=local\n"
                 "alloc b size=1M segments=local\n%s",
                 rows[i].line);
        workload = test_parse(text);
        config = test_config(workload);
        config.model = rows[i].model;
        config.driver = "test:refuses";
        result = test_execute(&config, workload);
        for (uint32_t j = 0; j < result->finding_count; j++) {
            const struct run_finding *found = &result->findings[j];

            if (found->kind != RUN_FINDING_SUBMISSION)
                continue;
            count++;
            assert_int_equal(strncmp(found->text, rows[i].text, strlen(rows[i].text)), 0);
            assert_non_null(strstr(found->text, rows[i].model == RUN_PHYSICAL
                                                    ? "the memory manager refuses it (RES-001: "
                                                    : "the memory manager refuses it (RES-003: "));
        }
        assert_int_equal(count, 1);
        test_finish(result);
    }
}

/* The CPU comes to no page that the driver has not given, and the part that is there may be
 * written. */
static void an_allocation_may_be_smaller_than_its_line(void **state)
{
    static const enum run_model models[] = {RUN_PHYSICAL, RUN_GPUMMU, RUN_IOMMU};

    driver_status = STATUS_SUCCESS;
    lacks_priority = false;
    contexts_left = UINT32_MAX;
    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        struct workload *workload = test_parse("drydock-case 1\n"
                                               "alloc a size=1M\n"
                                               "write a size=512K\n"
                                               "write a\n"
                                               "read a offset=508K size=8K\n");
        struct run_config config = test_config(workload);
        struct run_result *result;

        config.model = models[i];
        config.driver = "test:refuses";
        bytes_given = 0x80000;
        result = test_execute(&config, workload);
        bytes_given = 0;
        assert_int_equal(result->outcome, RUN_FINDINGS);
        assert_int_equal(result->finding_count, 2);
        assert_int_equal(result->findings[0].kind, RUN_FINDING_SUBMISSION);
        assert_string_equal(result->findings[0].text,
                            "locked allocation 'a': the CPU comes to byte 0x100000, and the driver "
                            "has given it 0x80000 bytes");
        assert_string_equal(result->findings[1].text,
                            "locked allocation 'a': the CPU comes to byte 0x81000, and the driver "
                            "has given it 0x80000 bytes");
        test_finish(result);
    }
}

/*
 * A context is refused while the GPU works for another one: that work ends as always, and nobody is
 * blamed for how it ends.
 */
static void what_runs_when_a_context_is_refused_ends_in_order(void **state)
{
    static const enum run_model models[] = {RUN_PHYSICAL, RUN_GPUMMU, RUN_IOMMU};

    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        struct workload *workload = test_parse("drydock-case 1\n"
                                               "process p0\n"
                                               "device d0 process=p0\n"
                                               "context c0 device=d0 node=0\n"
                                               "context c1 device=d0 node=1\n"
                                               "alloc a size=1M\n"
                                               "submit c0 duration=5000000 a:w\n"
                                               "submit c0 duration=5000000 a:r\n"
                                               "renew c1\n");
        struct run_config config = test_config(workload);
        struct run_result *result;

        driver_status = STATUS_SUCCESS;
        lacks_priority = false;
        contexts_left = 2;
        config.model = models[i];
        config.driver = "test:refuses";
        result = test_execute(&config, workload);
        assert_int_equal(result->outcome, RUN_REFUSED);
        assert_int_equal(result->finding_count, 0);
        assert_int_equal(result->submissions, 2);
        assert_int_equal(result->failed_submissions, 0);
        test_finish(result);
    }
}

/* Before the device is added, and all of them at once. */
static void functions_that_are_missing_are_named_together(void **state)
{
    struct workload *workload = test_parse("drydock-case 1\nalloc a size=1M\n");
    struct run_config config = test_config(workload);
    struct run_result *result;

    config.model = RUN_PHYSICAL;
    config.driver = "test:refuses";
    lacks_functions = true;
    result = test_execute(&config, workload);
    lacks_functions = false;
    assert_int_equal(result->outcome, RUN_REFUSED);
    assert_string_equal(result->error,
                        "driver 'test:refuses' registers no DxgkDdiStopDevice, "
                        "DxgkDdiCreateDevice, DxgkDdiRender, without which no driver of WDDM 1.3 "
                        "and the physical model can be played");
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_runs_when_a_context_is_refused_ends_in_order),
        cmocka_unit_test(the_driver_may_refuse),
        cmocka_unit_test(the_manager_may_refuse_the_answer),
        cmocka_unit_test(the_manager_may_have_a_limit),
        cmocka_unit_test(the_manager_may_have_no_room),
        cmocka_unit_test(an_allocation_may_be_smaller_than_its_line),
        cmocka_unit_test(functions_that_are_missing_are_named_together),
    };

    run_add_drivers(find);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
