/*
 * Context allocations in whole runs: every kind of them in all models, through tiny buffers, by
 * either handle, and that the GPU finds an area that is not what it should be.
 */
#include "bench/whole_runs/test_run.h"
#include "miniport/operation.h"

#include "drydock/sgpu.h"

#define CASE "sequences/S-20-context-allocation-kinds.case"

/* Looks at what the driver is told, and keeps one kind of operation from it. */
struct observer {
    struct miniport layer; /* first: the layer's functions find the observer by it */
    struct miniport_ops ops;
    enum run_model model;
    bool by_driver_handle;
    unsigned swallowed;
    unsigned images, by_cpu, by_mdl;
    HANDLE made[8]; /* what INIT_CONTEXT_RESOURCE named */
    const struct sgpu_save_area
        *seen_by_cpu; /* the area that has an address for the CPU, while it lives */
    unsigned looks;
    uint64_t runs;
};

static void look_at_init(struct observer *observer, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    HANDLE handle = args->InitContextResource.hAllocation;

    assert_non_null(handle);
    /* The kernel's are small numbers, the driver's addresses of its objects. */
    assert_true(((uintptr_t)handle > UINT32_MAX) == observer->by_driver_handle);
    for (unsigned i = 0; i < observer->images; i++)
        assert_ptr_not_equal(observer->made[i], handle); /* CTX-005: once */
    assert_true(observer->images < 8);
    observer->made[observer->images++] = handle;
    if (args->InitContextResource.Destination.VirtualAddress) {
        observer->by_cpu++;
        observer->seen_by_cpu = args->InitContextResource.Destination.VirtualAddress;
    }
    if (!args->InitContextResource.Destination.SegmentId) {
        assert_non_null(args->InitContextResource.Destination.pMdl);
        observer->by_mdl++;
    }
    assert_int_equal(args->InitContextResource.Destination.GpuVirtualAddress == 0,
                     observer->model != RUN_GPUMMU); /* CTX-008 */
}

static NTSTATUS observe_build(struct miniport *layer, HANDLE object,
                              DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct observer *observer = (struct observer *)layer;
    bool is_first_call = args->MultipassOffset == 0;
    DXGKARG_BUILDPAGINGBUFFER before = *args;
    NTSTATUS status;

    if ((unsigned)args->Operation == observer->swallowed)
        return STATUS_SUCCESS;
    status = miniport_build_paging_buffer(layer->next, object, args);
    if (before.Operation == DXGK_OPERATION_INIT_CONTEXT_RESOURCE && is_first_call &&
        (status == STATUS_SUCCESS || args->MultipassOffset))
        look_at_init(observer, &before);
    return status;
}

/*
 * Before the driver destroys a context, and with the last one the area: the address is good, shows
 * the first word of the area still, and how often the GPU has stored it.
 */
static NTSTATUS observe_destroy_context(struct miniport *layer, HANDLE context)
{
    struct observer *observer = (struct observer *)layer;

    if (observer->seen_by_cpu) {
        assert_int_equal(observer->seen_by_cpu->magic, SGPU_SAVE_MAGIC);
        observer->looks++;
        observer->runs = observer->seen_by_cpu->runs;
        observer->seen_by_cpu = NULL;
    }
    return miniport_forward_destroy_context(layer, context);
}

static struct miniport *add_observer(void *context, struct miniport *next)
{
    struct observer *observer = context;

    observer->ops = miniport_forward_ops;
    observer->ops.build_paging_buffer = observe_build;
    observer->ops.destroy_context = observe_destroy_context;
    observer->layer = (struct miniport){.ops = &observer->ops, .next = next};
    return &observer->layer;
}

static struct run_result *observe(struct observer *observer, uint32_t buffer_bytes)
{
    struct workload *workload = test_load(CASE);
    struct run_result *result;
    struct run_config config;

    config = test_config(workload);
    config.model = observer->model;
    config.inits_by_driver_handle = observer->by_driver_handle;
    config.paging_buffer_bytes = buffer_bytes;
    config.add_layer = add_observer;
    config.layer_context = observer;
    result = test_execute(&config, workload);
    return result;
}

/* CTX-003 to CTX-009; the GPU faults where an image is wrong or a run was lost. */
static void every_kind_is_made_once_and_moves(void **state)
{
    static const enum run_model models[] = {RUN_PHYSICAL, RUN_GPUMMU, RUN_IOMMU};

    for (unsigned n = 0; n < 24; n++) {
        struct observer observer = {
            .model = models[n % 3],
            .by_driver_handle = n / 3 % 2,
            .swallowed = MINIPORT_OPERATION_COUNT,
        };
        struct run_result *result = observe(&observer, 64u << (n / 6 * 2));

        test_assert_clean(result);
        assert_int_equal(observer.images, 6); /* c2 and c3 have one together */
        /* Where there is system memory only, c5 is there as well as c4. */
        assert_int_equal(observer.by_cpu, observer.model == RUN_IOMMU ? 2 : 1);
        assert_int_equal(observer.by_mdl, observer.model == RUN_GPUMMU ? 1 : 0);
        assert_int_equal(observer.looks, 1);
        assert_int_equal(observer.runs, observer.model == RUN_IOMMU ? 3 : 2);
        test_finish(result);
    }
}

/* Without the first image, or without its way back, the next submission finds another area. */
static void a_wrong_area_is_found_without_page_tables(void **state)
{
    static const struct {
        enum run_model model;
        unsigned operation;
    } cases[] = {
        {RUN_PHYSICAL, DXGK_OPERATION_INIT_CONTEXT_RESOURCE},
        {RUN_PHYSICAL, DXGK_OPERATION_MAP_APERTURE_SEGMENT},
        {RUN_PHYSICAL, DXGK_OPERATION_TRANSFER},
        {RUN_IOMMU, DXGK_OPERATION_INIT_CONTEXT_RESOURCE},
        {RUN_IOMMU, DXGK_OPERATION_MAP_APERTURE_SEGMENT},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct observer observer = {.model = cases[i].model, .swallowed = cases[i].operation};
        struct run_result *result = observe(&observer, 0);

        assert_int_equal(result->outcome, RUN_FINDINGS);
        assert_true(result->finding_totals[RUN_FINDING_FAULT] > 0);
        test_finish(result);
    }
}

/* Each part of a submission that is cut in two runs in the area by itself. */
static void parts_of_a_submission_hold_the_area_each(void **state)
{
    struct workload *workload = test_parse("drydock-case 1\n"
                                           "option model physical\n"
                                           "option local-memory 4M\n"
                                           "option render-piece 1\n"
                                           "context c0 save=64K save-in=local\n"
                                           "alloc a size=3M segments=local\n"
                                           "alloc b size=3M segments=local\n"
                                           "submit c0 a:w b:w\n"
                                           "submit c0 a:rw b:rw\n"
                                           "wait all\n"
                                           "read a\n"
                                           "read b\n");
    struct run_result *result = test_play(workload);

    test_assert_clean(result);
    assert_int_equal(result->statistics.dma_buffer_splits, 2);
    assert_int_equal(test_count(result, DXGK_OPERATION_INIT_CONTEXT_RESOURCE), 1);
    test_finish(result);
}

/* A count of runs says nothing after a preemption, and the content is still the one stored last. */
static void preempted_submissions_find_their_area(void **state)
{
    struct workload *workload = test_parse("drydock-case 1\n"
                                           "option model physical\n"
                                           "option local-memory 4M\n"
                                           "context c0 save=64K\n"
                                           "alloc a size=1M segments=local\n"
                                           "submit c0 a:w\n"
                                           "wait all\n"
                                           "submit c0 duration=200000 a:rw\n"
                                           "submit c0 duration=200000 a:rw\n"
                                           "submit c0 duration=200000 a:rw\n"
                                           "preempt 0\n"
                                           "wait all\n"
                                           "submit c0 a:rw\n"
                                           "wait all\n"
                                           "read a\n");
    struct run_result *result = test_play(workload);

    test_assert_clean(result);
    assert_int_equal(result->statistics.preemptions, 1);
    test_finish(result);
}

/* Before WDDM 1.2 there is no call to ask for an area; contexts run without. */
static void older_kernels_are_asked_for_nothing(void **state)
{
    struct workload *workload = test_load(CASE);
    struct run_result *result;

    test_option(workload, "model", "physical");
    test_option(workload, "wddm", "1.1");
    result = test_play(workload);
    test_assert_clean(result);
    assert_int_equal(test_count(result, DXGK_OPERATION_INIT_CONTEXT_RESOURCE), 0);
    test_finish(result);
}

/*
 * The area of c1 does not fit beside what both contexts use. Its first submission is tried again
 * alone, and the second one, which has asked already, gives back what it was given.
 */
static void a_submission_that_runs_alone_does_not_wait_for_the_one_behind_it(void **state)
{
    struct run_result *result = test_play(
        test_parse("drydock-case 1\n"
                   "option model gpummu\n"
                   "option local-memory 1769472\n"
                   "option page-table-memory system\n"
                   "process p0\n"
                   "device d0 process=p0\n"
                   "context c0 device=d0 node=0\n"
                   "context c1 device=d0 node=0 save=63456 save-in=local save-by=address\n"
                   "alloc a size=1600K\n"
                   "alloc b size=128K\n"
                   "submit c1 a:r\n"
                   "submit c0 duration=38353 b:r\n"
                   "submit c1 a:r\n"
                   "wait all\n"));

    test_assert_clean(result);
    assert_int_equal(result->submissions, 3);
    test_finish(result);
}

/*
 * The driver waits in SetRootPageTable for the update of its area, and meanwhile a longer root
 * takes the place of the one that it was called for.
 */
static void a_root_that_grows_while_a_context_is_told_of_one_is_told_of_too(void **state)
{
    struct run_result *result =
        test_play(test_parse("drydock-case 1\n"
                             "option model gpummu\n"
                             "option page-table-levels 2\n"
                             "option paging-buffer 96\n"
                             "process p0\n"
                             "device d0 process=p0\n"
                             "context c0 device=d0 node=0\n"
                             "context c1 device=d0 node=0 save=20480 save-for=device\n"
                             "alloc a15 size=4K\n"
                             "submit c0\n"
                             "wait all\n"
                             "alloc a32 size=4K\n"
                             "submit c1 a15:w\n"
                             "submit c0 a32:w\n"
                             "alloc a60 size=4K va=0x1000060000\n"));

    test_assert_clean(result);
    assert_int_equal(result->submissions, 3);
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_made_once_and_moves),
        cmocka_unit_test(a_wrong_area_is_found_without_page_tables),
        cmocka_unit_test(parts_of_a_submission_hold_the_area_each),
        cmocka_unit_test(preempted_submissions_find_their_area),
        cmocka_unit_test(older_kernels_are_asked_for_nothing),
        cmocka_unit_test(a_submission_that_runs_alone_does_not_wait_for_the_one_behind_it),
        cmocka_unit_test(a_root_that_grows_while_a_context_is_told_of_one_is_told_of_too),
    };

    return cmocka_run_group_tests_name("bench/context_allocation", tests, NULL, NULL);
}
