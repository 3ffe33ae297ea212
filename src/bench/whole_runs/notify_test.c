/*
 * Operations that tell: paging fences in memory, residency notices, context allocations. Whole
 * runs, with a layer that watches the calls and may swallow one kind of them.
 */
#include "bench/run/run.h"

#include "base/bits.h"
#include "bench/board/platform_remap.h"
#include "miniport/miniport.h"
#include "miniport/operation.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Runs ------------------------------------------------------------------------------------ */

static struct workload *load(const char *name)
{
    struct workload_error error;
    struct workload *workload;
    char path[512];

    snprintf(path, sizeof path, "%s/cases/%s", DRYDOCK_SOURCE_DIR, name);
    if (!workload_load(path, &workload, &error))
        fail_msg("%s", error.text);
    return workload;
}

static struct run_config config_for(const struct workload *workload)
{
    struct run_config config;

    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.model = RUN_GPUMMU;
    config.reference = RUN_REFERENCE_NEVER;
    return config;
}

static struct run_result *execute(const struct run_config *config, const struct workload *workload)
{
    struct run_result *result = calloc(1, sizeof *result);

    assert_non_null(result);
    run_execute(config, workload, result);
    return result;
}

static void finish(struct run_result *result)
{
    run_result_fini(result);
    free(result);
}

static void assert_outcome(const struct run_result *result, enum run_outcome outcome)
{
    if (result->outcome != outcome) {
        fprintf(stderr, "%s %s\n", run_outcome_name(result->outcome), result->error);
        for (uint32_t i = 0; i < result->finding_count; i++)
            fprintf(stderr, "  line %u: %s\n", result->findings[i].line, result->findings[i].text);
    }
    assert_int_equal(result->outcome, outcome);
    assert_int_equal(result->mismatches, 0);
}

/* A layer that looks at the calls in the order in which the driver gets them. */
struct watcher {
    struct miniport layer; /* first: the layer's functions find the watcher by it */
    struct miniport_ops ops;
    unsigned swallowed; /* operation that the driver is not told of; UINT_MAX: none */
    uint64_t counts[MINIPORT_OPERATION_COUNT];
    void (*look)(struct watcher *watcher, const DXGKARG_BUILDPAGINGBUFFER *args);
    /* Changes the call; true: nobody hears of it. */
    bool (*bend)(DXGKARG_BUILDPAGINGBUFFER *args);
    uint64_t last_value;
    D3DGPU_VIRTUAL_ADDRESS last_va;
};

static NTSTATUS watch_build(struct miniport *layer, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct watcher *watcher = (struct watcher *)layer;
    DXGKARG_BUILDPAGINGBUFFER before = *args;
    NTSTATUS status;

    if ((unsigned)args->Operation == watcher->swallowed)
        return STATUS_SUCCESS;
    if (watcher->bend && watcher->bend(args))
        return STATUS_SUCCESS;
    status = miniport_build_paging_buffer(layer->next, object, args);
    if (status == STATUS_SUCCESS) {
        watcher->counts[before.Operation]++;
        if (watcher->look)
            watcher->look(watcher, &before);
    }
    return status;
}

static struct miniport *add_watcher(void *context, struct miniport *next)
{
    struct watcher *watcher = context;

    watcher->ops = miniport_forward_ops;
    watcher->ops.build_paging_buffer = watch_build;
    watcher->layer = (struct miniport){.ops = &watcher->ops, .next = next};
    return &watcher->layer;
}

static struct run_result *watch(struct watcher *watcher, const struct workload *workload)
{
    struct run_config config = config_for(workload);

    config.add_layer = add_watcher;
    config.layer_context = watcher;
    return execute(&config, workload);
}

/* ---- SIGNAL_MONITORED_FENCE ------------------------------------------------------------------ */

static void look_at_fence(struct watcher *watcher, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    if (args->Operation != DXGK_OPERATION_SIGNAL_MONITORED_FENCE)
        return;
    assert_int_equal(args->SignalMonitoredFence.MonitoredFenceGpuVa % 8, 0); /* FENCE-011 */
    if (args->SignalMonitoredFence.MonitoredFenceGpuVa == watcher->last_va)
        assert_true(args->SignalMonitoredFence.MonitoredFenceValue > watcher->last_value);
    watcher->last_va = args->SignalMonitoredFence.MonitoredFenceGpuVa;
    watcher->last_value = args->SignalMonitoredFence.MonitoredFenceValue;
}

static void every_batch_ends_with_a_rising_value(void **state)
{
    struct workload *workload = load("evict-and-restore.case");
    struct watcher watcher = {.swallowed = UINT_MAX, .look = look_at_fence};
    struct run_result *result = watch(&watcher, workload);

    assert_outcome(result, RUN_CLEAN);
    assert_true(watcher.counts[DXGK_OPERATION_SIGNAL_MONITORED_FENCE] > 0);
    finish(result);
    workload_free(workload);
}

/* A driver that does not write the value is found, and the run goes on by its packets. */
static void a_fence_that_is_not_written_is_found(void **state)
{
    struct workload *workload = load("evict-and-restore.case");
    struct watcher watcher = {.swallowed = DXGK_OPERATION_SIGNAL_MONITORED_FENCE};
    struct run_result *result = watch(&watcher, workload);

    assert_outcome(result, RUN_FINDINGS);
    assert_true(result->finding_count > 0);
    assert_int_equal(result->findings[0].kind, RUN_FINDING_DRIVER);
    assert_string_equal(result->findings[0].rule, "NTF-007");
    finish(result);
    workload_free(workload);
}

/* ---- NOTIFY_RESIDENCY ------------------------------------------------------------------------ */

#define NOTICE_CASE "sequences/S-05-S-07-notify-residency.case"

/* NTF-001, NTF-003, NTF-004, NTF-005: what comes before each notice. */
struct notices {
    struct watcher watcher; /* first */
    HANDLE moved;           /* by the last fill or transfer */
    bool was_out;
    unsigned resident, gone;
};

static void look_at_notice(struct watcher *watcher, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct notices *notices = (struct notices *)watcher;
    const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *notice = &args->NotifyResidency;

    switch ((unsigned)args->Operation) {
    case DXGK_OPERATION_VIRTUAL_FILL:
        notices->moved = args->FillVirtual.hAllocation;
        notices->was_out = false;
        break;
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        notices->moved = args->TransferVirtual.hAllocation;
        notices->was_out =
            args->TransferVirtual.TransferDirection == DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM;
        break;
    case DXGK_OPERATION_NOTIFY_RESIDENCY:
        notices->resident += notice->Resident;
        notices->gone += !notice->Resident;
        if (notice->Resident && notice->PhysicalAddress.SegmentId == 1) {
            assert_ptr_equal(notices->moved, notice->hAllocation);
            assert_false(notices->was_out);
        } else if (!notice->Resident) {
            assert_int_equal(notice->PhysicalAddress.SegmentId, 0);
            assert_int_equal(notice->PhysicalAddress.SegmentOffset, 0);
            assert_true(notices->moved != notice->hAllocation || !notices->was_out);
        }
        break;
    default:
        break;
    }
}

static void residency_is_told_once_a_commit_and_once_an_eviction(void **state)
{
    struct workload *workload = load(NOTICE_CASE);
    struct notices notices = {.watcher = {.swallowed = UINT_MAX, .look = look_at_notice}};
    struct run_result *result = watch(&notices.watcher, workload);

    assert_outcome(result, RUN_CLEAN);
    /* queue twice and ring once; queue evicted, freed, and ring freed when all is taken down. */
    assert_int_equal(notices.resident, 3);
    assert_int_equal(notices.gone, 3);
    finish(result);
    workload_free(workload);
}

static bool name_another_place(DXGKARG_BUILDPAGINGBUFFER *args)
{
    if (args->Operation == DXGK_OPERATION_NOTIFY_RESIDENCY && args->NotifyResidency.Resident)
        args->NotifyResidency.PhysicalAddress.SegmentOffset += PAGE_BYTES;
    return false;
}

static bool keep_farewells(DXGKARG_BUILDPAGINGBUFFER *args)
{
    return args->Operation == DXGK_OPERATION_NOTIFY_RESIDENCY && !args->NotifyResidency.Resident;
}

static void wrong_notices_are_found(void **state)
{
    static const struct {
        bool (*bend)(DXGKARG_BUILDPAGINGBUFFER *args);
        const char *text;
    } cases[] = {
        {name_another_place, "names another place"},
        {keep_farewells, "moves while the driver believes it to be resident"},
    };
    struct workload *workload = load(NOTICE_CASE);

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct watcher watcher = {.swallowed = UINT_MAX, .bend = cases[i].bend};
        struct run_result *result = watch(&watcher, workload);

        assert_int_equal(result->outcome, RUN_FINDINGS);
        assert_non_null(strstr(result->findings[0].text, cases[i].text));
        finish(result);
    }
    workload_free(workload);
}

/* ---- Context allocations --------------------------------------------------------------------- */

#define CONTEXT_CASE "sequences/S-20-context-allocation.case"

/* CTX-005, CTX-008, CTX-010. */
static void look_at_context(struct watcher *watcher, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    if (args->Operation == DXGK_OPERATION_INIT_CONTEXT_RESOURCE) {
        assert_non_null(args->InitContextResource.hAllocation);
        assert_null(args->InitContextResource.Destination.VirtualAddress);
        assert_true(args->InitContextResource.Destination.GpuVirtualAddress != 0);
        assert_true(args->InitContextResource.Destination.SegmentId != 0);
    }
    if (args->Operation == DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION) {
        assert_int_equal(args->UpdateContextAllocation.ContextAllocation % PAGE_BYTES, 0);
        assert_true(args->UpdateContextAllocation.ContextAllocationSize > 0);
        assert_int_equal(args->UpdateContextAllocation.DriverPrivateDataSize, 8);
    }
}

static void context_allocations_are_initialised_once_and_move(void **state)
{
    static const enum run_update_mode modes[] = {RUN_UPDATE_GPU_VIRTUAL, RUN_UPDATE_GPU_PHYSICAL,
                                                 RUN_UPDATE_CPU};
    struct workload *workload = load(CONTEXT_CASE);

    for (size_t i = 0; i < ARRAY_COUNT(modes); i++) {
        for (uint32_t bytes = 64; bytes <= 4096; bytes *= 4) {
            struct watcher watcher = {.swallowed = UINT_MAX, .look = look_at_context};
            struct run_config config = config_for(workload);
            struct run_result *result;

            bool grows = modes[i] != RUN_UPDATE_CPU; /* its tables are in system memory: 4 KiB */

            config.update_mode = modes[i];
            if (!grows)
                config.mmu.levels = 4;
            config.paging_buffer_bytes = bytes;
            config.add_layer = add_watcher;
            config.layer_context = &watcher;
            result = execute(&config, workload);
            assert_outcome(result, RUN_CLEAN);
            assert_int_equal(watcher.counts[DXGK_OPERATION_INIT_CONTEXT_RESOURCE], 3);
            assert_int_equal(watcher.counts[DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION],
                             grows ? 3 : 0);
            finish(result);
        }
    }
    workload_free(workload);
}

/* The GPU does not run a context in an area that is not the one it stored last. */
static void a_wrong_save_area_is_found(void **state)
{
    static const unsigned operations[] = {DXGK_OPERATION_INIT_CONTEXT_RESOURCE,
                                          DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION,
                                          DXGK_OPERATION_NOTIFY_RESIDENCY};
    struct workload *workload = load(CONTEXT_CASE);

    for (size_t i = 0; i < ARRAY_COUNT(operations); i++) {
        struct watcher watcher = {.swallowed = operations[i]};
        struct run_result *result = watch(&watcher, workload);

        assert_int_equal(result->outcome, RUN_FINDINGS);
        assert_true(result->finding_totals[RUN_FINDING_FAULT] > 0);
        finish(result);
    }
    workload_free(workload);
}

/* ---- NOTIFY_ALLOC ---------------------------------------------------------------------------- */

#define ALLOC_CASE "sequences/S-26-allocation-notification.case"

/* NTF-016, NTF-018, NTF-020: one kind at a time, with and without a process. */
static void look_at_alloc(struct watcher *watcher, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *notice = &args->NotifyAllocation;

    if (args->Operation != DXGK_OPERATION_NOTIFY_ALLOC)
        return;
    assert_true(notice->Flags.Eviction != notice->Flags.IoMmuUnmap);
    assert_true((notice->hKmdProcessHandle == NULL) == (notice->Flags.Eviction == 1));
    assert_true(notice->SizeInBytes > 0 && notice->GpuVirtualAddressAtOffset > 0);
    watcher->last_value += notice->Flags.Eviction ? notice->SizeInBytes : 0;
}

static void allocations_are_announced_before_they_leave_system_memory(void **state)
{
    struct workload *workload = load(ALLOC_CASE);
    struct watcher watcher = {.swallowed = UINT_MAX, .look = look_at_alloc};
    struct run_result *result = watch(&watcher, workload);

    assert_outcome(result, RUN_CLEAN);
    /* ring out and freed, frames freed in two chunks; ring twice and shared once by address. */
    assert_int_equal(watcher.last_value, 2 * 640 * KiB + 40 * MiB);
    assert_int_equal(watcher.counts[DXGK_OPERATION_NOTIFY_ALLOC], 7);
    assert_int_equal(result->gpu.cleaned_bytes, 4 * 640 * KiB + 40 * MiB + 64 * KiB);
    finish(result);
    workload_free(workload);
}

static bool show_the_next_page(DXGKARG_BUILDPAGINGBUFFER *args)
{
    if (args->Operation == DXGK_OPERATION_NOTIFY_ALLOC && args->NotifyAllocation.Flags.Eviction) {
        args->NotifyAllocation.OffsetInBytes += PAGE_BYTES;
        args->NotifyAllocation.SizeInBytes -= PAGE_BYTES;
    }
    return false;
}

static void a_wrong_announcement_is_found(void **state)
{
    struct workload *workload = load(ALLOC_CASE);
    struct watcher watcher = {.swallowed = UINT_MAX, .bend = show_the_next_page};
    struct run_result *result = watch(&watcher, workload);

    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_non_null(strstr(result->findings[0].text, "NOTIFY_ALLOC names another place"));
    finish(result);
    workload_free(workload);
}

/* ---- Operations 19 to 21 --------------------------------------------------------------------- */

/* Parts rise from page 0 to the end; the address goes with them. */
static void look_at_parts(struct watcher *watcher, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY2 *notice = &args->NotifyResidency2;

    if (args->Operation == DXGK_OPERATION_MAP_MMU) {
        assert_in_range(args->MmapMmu.MmuId, 1, 2);
        assert_true(args->MmapMmu.Adl.PageCount > 0);
        assert_true(args->MmapMmu.Adl.Flags.Contiguous || args->MmapMmu.Adl.Pages != NULL);
        assert_true(args->MmapMmu.Adl.Flags.Contiguous || args->MmapMmu.SegmentId == 0);
    }
    if (args->Operation == DXGK_OPERATION_UNMAP_MMU) {
        assert_in_range(args->UnmapMmu.MmuId, 1, 2);
        assert_true(args->UnmapMmu.NumberOfPages > 0);
    }
    if (args->Operation != DXGK_OPERATION_NOTIFY_RESIDENCY2)
        return;
    assert_int_equal(notice->SegmentId != 0, notice->Resident);
    if (notice->AllocationOffsetInPages)
        assert_int_equal(notice->AllocationOffsetInPages, watcher->last_value);
    watcher->last_value = notice->AllocationOffsetInPages + notice->SizeInPages;
}

static void silent_operations_follow_the_reading_written_down(void **state)
{
    struct workload *workload = load("sequences/S-05-S-07-parts-and-mmus.case");
    struct watcher watcher = {.swallowed = UINT_MAX, .look = look_at_parts};
    struct run_result *result = watch(&watcher, workload);

    assert_outcome(result, RUN_CLEAN);
    assert_int_equal(watcher.counts[DXGK_OPERATION_NOTIFY_RESIDENCY], 0);
    assert_int_equal(watcher.counts[DXGK_OPERATION_NOTIFY_RESIDENCY2], 16);
    assert_int_equal(watcher.counts[DXGK_OPERATION_MAP_MMU], 18 + 48);
    assert_int_equal(watcher.counts[DXGK_OPERATION_UNMAP_MMU], 18 + 48);
    finish(result);
    workload_free(workload);
}

/* Behind an IOMMU system memory comes as one range of logical pages (ADL-008). */
static void look_at_logical_parts(struct watcher *watcher, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    look_at_parts(watcher, args);
    if (args->Operation != DXGK_OPERATION_MAP_MMU || args->MmapMmu.SegmentId)
        return;
    assert_true(args->MmapMmu.Adl.Flags.Contiguous);
    assert_true(args->MmapMmu.Adl.BasePageNumber >= PLATFORM_LOGICAL_BASE);
}

static void auxiliary_mmus_map_logical_pages_behind_an_iommu(void **state)
{
    struct workload *workload = load("sequences/S-05-S-07-parts-and-mmus.case");
    struct watcher watcher = {.swallowed = UINT_MAX, .look = look_at_logical_parts};
    struct workload_error error;
    struct run_result *result;

    assert_true(workload_set_option(workload, "dma-remapping", "yes", &error));
    result = watch(&watcher, workload);
    assert_outcome(result, RUN_CLEAN);
    assert_int_equal(watcher.counts[DXGK_OPERATION_MAP_MMU], 18 + 48);
    assert_int_equal(watcher.counts[DXGK_OPERATION_UNMAP_MMU], 18 + 48);
    finish(result);
    workload_free(workload);
}

/* One of the three is told of by the list of its pages, twice: it comes and goes. */
static void look_at_lists(struct watcher *watcher, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY2 *notice = &args->NotifyResidency2;

    if (args->Operation != DXGK_OPERATION_NOTIFY_RESIDENCY2 || !notice->Resident)
        return;
    if (!notice->SegmentId) {
        watcher->last_value++;
        assert_int_equal(notice->AllocationOffsetInPages, 0);
        assert_int_equal(notice->SizeInPages, 12);
        assert_true(notice->Mdl->ByteCount == 12 * PAGE_BYTES);
    }
}

static void what_lies_in_an_aperture_may_be_told_of_by_its_pages(void **state)
{
    struct workload *workload = load("residency-list.case");
    struct watcher watcher = {.swallowed = UINT_MAX, .look = look_at_lists};
    struct run_result *result = watch(&watcher, workload);

    assert_outcome(result, RUN_CLEAN);
    assert_true(watcher.last_value > 0);
    assert_true(watcher.counts[DXGK_OPERATION_NOTIFY_RESIDENCY2] > 5);
    finish(result);
    workload_free(workload);
}

static bool swap_the_pages(DXGKARG_BUILDPAGINGBUFFER *args)
{
    static union {
        MDL mdl;
        uint64_t words[64];
    } list;
    const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY2 *notice = &args->NotifyResidency2;

    if (args->Operation != DXGK_OPERATION_NOTIFY_RESIDENCY2 || !notice->Resident ||
        notice->SegmentId)
        return false;
    memcpy(&list, notice->Mdl, sizeof(MDL) + notice->SizeInPages * sizeof(uint64_t));
    MmGetMdlPfnArray(&list.mdl)[1] = MmGetMdlPfnArray(notice->Mdl)[2];
    args->NotifyResidency2.Mdl = &list.mdl;
    return false;
}

static void a_wrong_list_is_found(void **state)
{
    struct workload *workload = load("residency-list.case");
    struct watcher watcher = {.swallowed = UINT_MAX, .bend = swap_the_pages};
    struct run_result *result = watch(&watcher, workload);

    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_non_null(strstr(result->findings[0].text, "NOTIFY_RESIDENCY2 names another place"));
    finish(result);
    workload_free(workload);
}

static bool name_another_part(DXGKARG_BUILDPAGINGBUFFER *args)
{
    if (args->Operation == DXGK_OPERATION_NOTIFY_RESIDENCY2 && args->NotifyResidency2.Resident)
        args->NotifyResidency2.PhysicalAddress.SegmentOffset += PAGE_BYTES;
    return false;
}

static void a_wrong_part_is_found(void **state)
{
    struct workload *workload = load("sequences/S-05-S-07-parts-and-mmus.case");
    struct watcher watcher = {.swallowed = UINT_MAX, .bend = name_another_part};
    struct run_result *result = watch(&watcher, workload);

    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_non_null(strstr(result->findings[0].text, "NOTIFY_RESIDENCY2 names another place"));
    finish(result);
    workload_free(workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_batch_ends_with_a_rising_value),
        cmocka_unit_test(a_fence_that_is_not_written_is_found),
        cmocka_unit_test(residency_is_told_once_a_commit_and_once_an_eviction),
        cmocka_unit_test(wrong_notices_are_found),
        cmocka_unit_test(context_allocations_are_initialised_once_and_move),
        cmocka_unit_test(a_wrong_save_area_is_found),
        cmocka_unit_test(allocations_are_announced_before_they_leave_system_memory),
        cmocka_unit_test(a_wrong_announcement_is_found),
        cmocka_unit_test(silent_operations_follow_the_reading_written_down),
        cmocka_unit_test(auxiliary_mmus_map_logical_pages_behind_an_iommu),
        cmocka_unit_test(what_lies_in_an_aperture_may_be_told_of_by_its_pages),
        cmocka_unit_test(a_wrong_list_is_found),
        cmocka_unit_test(a_wrong_part_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
