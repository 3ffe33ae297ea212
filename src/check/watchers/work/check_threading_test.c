#include "check/rig/test_rig_submit.h"

/* ---- Calls in the middle of calls ---- */

struct nesting {
    enum miniport_ddi outer, inner;
    bool is_done;
};

static NTSTATUS nest(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    struct nesting *nesting = rig->told;
    const DXGKARG_CANCELCOMMAND cancel = {.hContext = rig->context};
    DXGKARG_QUERYDEPENDENTENGINEGROUP group = {0};
    DXGK_DRIVERCAPS caps = {0};

    if (ddi != nesting->outer || nesting->is_done)
        return rig_answer(rig, ddi, object, arg);
    nesting->is_done = true;
    switch ((unsigned)nesting->inner) {
    case MINIPORT_DDI_CancelCommand:
        miniport_cancel_command(rig->top, NULL, &cancel);
        break;
    case MINIPORT_DDI_QueryDependentEngineGroup:
        miniport_query_dependent_engine_group(rig->top, NULL, &group);
        break;
    case MINIPORT_DDI_QueryAdapterInfo:
        rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
        break;
    case MINIPORT_DDI_DestroyContext:
        miniport_destroy_context(rig->top, rig->context);
        break;
    case MINIPORT_DDI_InterruptRoutine:
        miniport_interrupt(rig->top, 0);
        break;
    default:
        fail();
    }
    return rig_answer(rig, ddi, object, arg);
}

static void call_in(struct rig *rig, enum miniport_ddi outer, enum miniport_ddi inner)
{
    struct nesting nesting = {.outer = outer, .inner = inner};
    DXGKARG_RENDER render = {0};

    rig->answer = nest;
    rig->told = &nesting;
    switch ((unsigned)outer) {
    case MINIPORT_DDI_PreemptCommand:
        rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
        break;
    case MINIPORT_DDI_Render:
        miniport_render(rig->top, rig->context, &render);
        break;
    case MINIPORT_DDI_SetPowerState:
        rig->top->ops->set_power_state(rig->top, 0, PowerDeviceD3, PowerActionSleep);
        break;
    default:
        fail();
    }
    assert_true(nesting.is_done);
    rig->answer = NULL;
}

RULE_BROKEN(IOMMU_006)
{
    call_in(rig, MINIPORT_DDI_PreemptCommand, MINIPORT_DDI_CancelCommand);
    assert_string_equal(rig->last.text, "is called in the middle of DxgkDdiPreemptCommand: one "
                                        "call of the scheduler's at a time");
}

static void asking_for_a_group_is_the_scheduler_s_too(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    call_in(rig, MINIPORT_DDI_PreemptCommand, MINIPORT_DDI_QueryDependentEngineGroup);
    rig_expect_only(rig, RULE_IOMMU_006);
    rig_fini(rig);
    free(rig);
}

RULE_KEPT(IOMMU_006)
{
    call_in(rig, MINIPORT_DDI_Render, MINIPORT_DDI_CancelCommand);
}

RULE_BROKEN(IOMMU_007)
{
    call_in(rig, MINIPORT_DDI_SetPowerState, MINIPORT_DDI_DestroyContext);
}

RULE_KEPT(IOMMU_007)
{
    call_in(rig, MINIPORT_DDI_SetPowerState, MINIPORT_DDI_QueryAdapterInfo);
    call_in(rig, MINIPORT_DDI_SetPowerState, MINIPORT_DDI_InterruptRoutine);
}

static void nothing_is_in_flight_when_the_device_stops(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_render(rig);
    rig->top->ops->stop_device(rig->top);
    rig_expect_only(rig, RULE_IOMMU_007);
    assert_string_equal(rig->last.text, "is called while the packet with fence 0x1 of node 1 is "
                                        "under way");
    rig_fini(rig);
    free(rig);
}

static void what_was_in_flight_goes_with_the_device(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_render(rig);
    miniport_notify_surprise_removal(rig->top, DxgkRemovalHibernation);
    rig->top->ops->stop_device(rig->top);
    assert_int_equal(rig->counts.broken[RULE_IOMMU_007], 0);
    rig_fini(rig);
    free(rig);
}

/* ---- Exclusive access ---- */

static void open_window(struct rig *rig)
{
    DXGKARG_BEGINEXCLUSIVEACCESS arg = {0};

    miniport_begin_exclusive_access(rig->top, NULL, &arg);
}

static void close_window(struct rig *rig)
{
    DXGKARG_ENDEXCLUSIVEACCESS arg = {0};

    miniport_end_exclusive_access(rig->top, NULL, &arg);
}

RULE_BROKEN(IOMMU_001)
{
    open_window(rig);
    miniport_destroy_context(rig->top, rig->context);
}

RULE_KEPT(IOMMU_001)
{
    open_window(rig);
    miniport_interrupt(rig->top, 0);
    close_window(rig);
    miniport_destroy_context(rig->top, rig->context);
}

static void no_window_opens_while_a_packet_is_under_way(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_render(rig);
    open_window(rig);
    rig_expect_only(rig, RULE_IOMMU_001);
    assert_string_equal(rig->last.text, "is called while the packet with fence 0x1 of node 1 is "
                                        "under way");
    rig_fini(rig);
    free(rig);
}

static void reach_system_memory(struct rig *rig)
{
    check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_SYSTEM});
}

RULE_BROKEN(IOMMU_002)
{
    open_window(rig);
    reach_system_memory(rig);
    reach_system_memory(rig);
    close_window(rig);
}

/* What else the GPU does in the window is no access to system memory. */
RULE_KEPT(IOMMU_002)
{
    reach_system_memory(rig);
    open_window(rig);
    check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_FLUSHED});
    close_window(rig);
    reach_system_memory(rig);
}

/* ---- The IOMMU ---- */

static NTSTATUS answer_iommu(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const DXGKARG_QUERYADAPTERINFO *query = arg;

    if (ddi != MINIPORT_DDI_QueryAdapterInfo || query->Type != DXGKQAITYPE_IOMMU_CAPS)
        return rig_answer(rig, ddi, object, arg);
    memcpy(query->pOutputData, rig->told, sizeof(DXGK_IOMMU_CAPS));
    return STATUS_SUCCESS;
}

static void query_iommu(struct rig *rig, DXGK_IOMMU_CAPS caps)
{
    DXGK_IOMMU_CAPS answer = {0};

    rig->answer = answer_iommu;
    rig->told = &caps;
    rig_query(rig, DXGKQAITYPE_IOMMU_CAPS, NULL, 0, &answer, sizeof answer);
    rig->answer = NULL;
}

RULE_BROKEN(IOMMU_004)
{
    query_iommu(rig, (DXGK_IOMMU_CAPS){.GpuVaIommuRequired = 1});
    assert_non_null(strstr(rig->last.text, "in PHYSICALADAPTERCAPS"));
}

RULE_KEPT(IOMMU_004)
{
    query_iommu(rig, (DXGK_IOMMU_CAPS){.DmaRemappingSupported = 1});
}

/* ---- Other caps ---- */

static DXGK_WDDMDEVICECAPS told_version;
static DXGK_FRAMEBUFFERSAVEAREA told_area;

static NTSTATUS answer_other(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const DXGKARG_QUERYADAPTERINFO *query = arg;

    if (ddi == MINIPORT_DDI_QueryAdapterInfo && query->Type == DXGKQAITYPE_WDDMDEVICECAPS)
        memcpy(query->pOutputData, &told_version, sizeof told_version);
    else if (ddi == MINIPORT_DDI_QueryAdapterInfo && query->Type == DXGKQAITYPE_FRAMEBUFFERSAVESIZE)
        memcpy(query->pOutputData, &told_area, sizeof told_area);
    else
        return rig_answer(rig, ddi, object, arg);
    return STATUS_SUCCESS;
}

static void query_version(struct rig *rig, DXGK_WDDMVERSION version)
{
    DXGK_WDDMDEVICECAPS answer = {0};

    rig->answer = answer_other;
    told_version.WDDMVersion = version;
    rig_query(rig, DXGKQAITYPE_WDDMDEVICECAPS, NULL, 0, &answer, sizeof answer);
}

static void query_area(struct rig *rig, SIZE_T bytes)
{
    DXGK_FRAMEBUFFERSAVEAREA answer = {0};

    rig->answer = answer_other;
    told_area.MaximumSize = bytes;
    rig_query(rig, DXGKQAITYPE_FRAMEBUFFERSAVESIZE, NULL, 0, &answer, sizeof answer);
}

RULE_BROKEN(CALL_005)
{
    query_version(rig, rig->caps.WDDMVersion + 1);
    assert_non_null(strstr(rig->last.text, "in WDDMDEVICECAPS and "));
}

RULE_KEPT(CALL_005)
{
    query_version(rig, rig->caps.WDDMVersion);
}

RULE_BROKEN(IOMMU_022)
{
    query_area(rig, 4097);
    assert_string_equal(rig->last.text, "is 0x1001 (expected a multiple of 0x1000)");
}

RULE_KEPT(IOMMU_022)
{
    query_area(rig, 0);
    query_area(rig, 8192);
}

/* CALL-005: as it is asked, the device's version is known before the driver's caps. */
static void the_later_answer_about_the_version_is_judged(void **state)
{
    for (unsigned differs = 0; differs < 2; differs++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_prepare(rig, RIG_GPUMMU);
        rig_init_layer(rig);
        query_version(rig, rig->caps.WDDMVersion + differs);
        assert_int_equal(rig->counts.broken[RULE_CALL_005], 0);
        rig_start(rig);
        assert_int_equal(rig->counts.broken[RULE_CALL_005] > 0, differs);
        rig_fini(rig);
        free(rig);
    }
}

static void isolation_is_said_alike(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    query_iommu(rig, (DXGK_IOMMU_CAPS){.IommuIsolationSupported = 1});
    rig_expect_only(rig, RULE_IOMMU_004);
    assert_non_null(strstr(rig->last.text, "in DRIVERCAPS"));
    rig_fini(rig);
    free(rig);
}

static void map_pages(struct rig *rig, uint64_t page)
{
    DXGK_PAGE_NUMBER pages[4] = {0, 1, page, 2};
    DXGKARG_BUILDPAGINGBUFFER map = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT2};
    DXGK_ALLOCATIONINFO info = {.Size = 3 * 4096, .SupportedWriteSegmentSet = 3};

    rig->version = DXGKDDI_INTERFACE_VERSION_WDDM2_9;
    rig->caps.MemoryManagementCaps.MapAperture2Supported = 1;
    rig_start(rig);
    info.FlagsWddm2.AccessedPhysically = 1;
    map.MapApertureSegment2.hDevice = rig->device;
    map.MapApertureSegment2.hAllocation = rig_create_allocation(rig, &info);
    map.MapApertureSegment2.SegmentId = 2;
    map.MapApertureSegment2.NumberOfPages = 3;
    map.MapApertureSegment2.Adl.PageCount = 4;
    map.MapApertureSegment2.Adl.Pages = pages;
    map.MapApertureSegment2.AdlOffset = 1;
    rig_build(rig, &map);
}

/* One of the pages is hidden by the IOMMU. */
RULE_BROKEN(IOMMU_003)
{
    map_pages(rig, RIG_RAM_PAGES);
    assert_non_null(strstr(rig->last.text, "number 2 of the list"));
}

RULE_KEPT(IOMMU_003)
{
    map_pages(rig, RIG_RAM_PAGES - 1);
}

/* ---- Callbacks ---- */

static D3DKMT_HANDLE ask_at(struct rig *rig, KIRQL irql, bool is_parent)
{
    const DXGKARGCB_ENUMHANDLECHILDREN first = {.hObject = 1};
    D3DKMT_HANDLE found;

    rig->irql = irql;
    found = is_parent ? rig->drivers_host->ops->get_handle_parent(rig->drivers_host, 1)
                      : rig->drivers_host->ops->enum_handle_children(rig->drivers_host, &first);
    rig->irql = PASSIVE_LEVEL;
    return found;
}

RULE_BROKEN(CALL_004)
{
    ask_at(rig, DISPATCH_LEVEL, true);
    assert_string_equal(rig->last.detail.where, "DxgkCbGetHandleParent");
}

RULE_KEPT(CALL_004)
{
    ask_at(rig, APC_LEVEL, true);
    ask_at(rig, PASSIVE_LEVEL, false);
}

static NTSTATUS keep_a_lock(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_QueryAdapterInfo)
        rig->irql = DISPATCH_LEVEL;
    return rig_answer(rig, ddi, object, arg);
}

RULE_BROKEN(CALL_006)
{
    DXGK_DRIVERCAPS caps = {0};

    rig->answer = keep_a_lock;
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
    assert_string_equal(rig->last.detail.where, "DxgkDdiQueryAdapterInfo");
    assert_string_equal(rig->last.text, "came back at IRQL 2, and was called at 0");
}

RULE_KEPT(CALL_006)
{
    rig_render(rig); /* SubmitCommand is called at DISPATCH_LEVEL, and comes back there */
    rig_complete(rig, 0, rig_submit(rig));
}

static NTSTATUS keep_a_region(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    rig->held += ddi == MINIPORT_DDI_QueryAdapterInfo;
    return rig_answer(rig, ddi, object, arg);
}

RULE_BROKEN(CALL_007)
{
    DXGK_DRIVERCAPS caps = {0};

    rig->held = 1; /* by somebody else, before */
    rig->answer = keep_a_region;
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
    assert_string_equal(rig->last.detail.where, "DxgkDdiQueryAdapterInfo");
    assert_string_equal(rig->last.text, "came back with 2 regions without APCs, mutexes and spin "
                                        "locks, and was called with 1");
}

RULE_KEPT(CALL_007)
{
    rig->held = 1;
    rig_render(rig);
}

static NTSTATUS keep_a_fast_mutex(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    rig->held++;
    rig->irql = APC_LEVEL;
    return rig_answer(rig, ddi, object, arg);
}

/* A fast mutex that is kept is one mistake, though it raises the level and counts as held. */
static void a_kept_fast_mutex_is_told_once(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGK_DRIVERCAPS caps = {0};

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig->answer = keep_a_fast_mutex;
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
    rig_expect_only(rig, RULE_CALL_006);
    rig->irql = PASSIVE_LEVEL;
    rig_fini(rig);
    free(rig);
}

/* Each has the level of its page. */
static void callbacks_of_passive_level_are_none_of_apc_level(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE range = {0};

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    ask_at(rig, APC_LEVEL, false);
    rig_expect_only(rig, RULE_CALL_004);
    assert_int_equal(rig->counts.broken[RULE_CALL_004], 1);
    rig->irql = APC_LEVEL;
    rig->drivers_host->ops->reserve_gpu_virtual_address_range(rig->drivers_host, NULL, &range);
    assert_int_equal(rig->counts.broken[RULE_CALL_004], 2);
    rig_fini(rig);
    free(rig);
}

/* There is no second answer yet, which the first one could contradict. */
static void iommu_caps_are_not_compared_with_caps_that_nobody_asked_for(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig_init_layer(rig);
    query_iommu(rig, (DXGK_IOMMU_CAPS){.GpuVaIommuRequired = 1});
    assert_int_equal(rig->counts.broken[RULE_IOMMU_004], 0);
    rig_start(rig);
    assert_int_equal(rig->counts.broken[RULE_IOMMU_004], 1);
    rig_fini(rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(isolation_is_said_alike),
        cmocka_unit_test(the_later_answer_about_the_version_is_judged),
        cmocka_unit_test(no_window_opens_while_a_packet_is_under_way),
        cmocka_unit_test(asking_for_a_group_is_the_scheduler_s_too),
        cmocka_unit_test(nothing_is_in_flight_when_the_device_stops),
        cmocka_unit_test(what_was_in_flight_goes_with_the_device),
        cmocka_unit_test(callbacks_of_passive_level_are_none_of_apc_level),
        cmocka_unit_test(a_kept_fast_mutex_is_told_once),
        cmocka_unit_test(iommu_caps_are_not_compared_with_caps_that_nobody_asked_for),
    };

    return RIG_RUN_TESTS(tests);
}
