/*
 * Hardware queues of contexts: their fences and the page of these, with a driver that fails and
 * tables that have no room. Runs of the whole bench: bench/whole_runs/hw_queue_test.c.
 */
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig_driver.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/work/client.h"
#include "vidmm/work/hw_queue.h"
#include "vidmm/work/space_contexts.h"

#include "base/failing_services.h"

/* The driver's side. */
static struct {
    unsigned created, destroyed;
    NTSTATUS create_status;
    DXGKARG_CREATEHWQUEUE last;
    unsigned banded, scheduled, logged;
    NTSTATUS band_status, schedule_status, log_status;
    DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES properties;
    DXGKARG_SETSCHEDULINGLOGBUFFER log;
    bool has_no_priorities;
    unsigned suspended, resumed;
    DXGKARG_SUSPENDCONTEXT suspension;
} driver;

static ULONG newest(struct miniport *self)
{
    return DXGKDDI_INTERFACE_VERSION_WDDM3_2;
}

static NTSTATUS say_node(struct miniport *self, HANDLE object, struct miniport_node *node)
{
    node->metadata.Flags.ContextSchedulingSupported = 1;
    node->metadata.Flags.RingBufferFenceRelease = 1;
    return STATUS_SUCCESS;
}

static NTSTATUS create_queue(struct miniport *self, HANDLE object, DXGKARG_CREATEHWQUEUE *arg)
{
    if (!NT_SUCCESS(driver.create_status))
        return driver.create_status;
    driver.created++;
    driver.last = *arg;
    arg->hHwQueue = &driver;
    return STATUS_SUCCESS;
}

static NTSTATUS destroy_queue(struct miniport *self, HANDLE object)
{
    EXPECT(object == &driver);
    driver.destroyed++;
    return STATUS_SUCCESS;
}

static NTSTATUS submit_to_queue(struct miniport *self, HANDLE object,
                                const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg)
{
    return STATUS_NOT_SUPPORTED;
}

static NTSTATUS set_bands(struct miniport *self, HANDLE object,
                          const DXGKARG_SETUPPRIORITYBANDS *arg)
{
    driver.banded++;
    return driver.band_status;
}

static NTSTATUS schedule(struct miniport *self, HANDLE object,
                         const DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES *arg)
{
    driver.scheduled++;
    driver.properties = *arg;
    return driver.schedule_status;
}

/* The header is as HWQ-021 wants it. */
static NTSTATUS set_log(struct miniport *self, HANDLE object,
                        const DXGKARG_SETSCHEDULINGLOGBUFFER *arg)
{
    EXPECT(!arg->LogBufferCpuVa->Header.FirstFreeEntryIndex);
    EXPECT(!arg->LogBufferCpuVa->Header.WraparoundCount);
    EXPECT(arg->LogBufferCpuVa->Header.NumberOfEntries == arg->NumberOfEntries);
    driver.logged++;
    if (NT_SUCCESS(driver.log_status))
        driver.log = *arg;
    return driver.log_status;
}

static NTSTATUS suspend(struct miniport *self, HANDLE object, const DXGKARG_SUSPENDCONTEXT *arg)
{
    EXPECT(arg->hContext != driver.suspension.hContext ||
           arg->contextSuspendFence > driver.suspension.contextSuspendFence);
    driver.suspended++;
    driver.suspension = *arg;
    return STATUS_SUCCESS;
}

static NTSTATUS resume(struct miniport *self, HANDLE object, const DXGKARG_RESUMECONTEXT *arg)
{
    driver.resumed++;
    return STATUS_SUCCESS;
}

static bool has(struct miniport *self, enum miniport_ddi ddi)
{
    return rig_has(self, ddi) &&
           (!driver.has_no_priorities || (ddi != MINIPORT_DDI_SetupPriorityBands &&
                                          ddi != MINIPORT_DDI_SetContextSchedulingProperties &&
                                          ddi != MINIPORT_DDI_SetSchedulingLogBuffer));
}

/* The rig's own context has no queue: the manager hears of them behind it. */
static struct rig *prepare(bool has_tables_in_system)
{
    struct rig_config config = rig_model(2);
    struct rig *rig;

    memset(&driver, 0, sizeof driver);
    config.keeps_tables_in_system = has_tables_in_system;
    rig = rig_new(&config);
    rig->manager.hardware_queues = true;
    rig->ops.interface_version = newest;
    rig->ops.get_node_metadata = say_node;
    rig->ops.create_hw_queue = create_queue;
    rig->ops.destroy_hw_queue = destroy_queue;
    rig->ops.submit_command_to_hw_queue = submit_to_queue;
    rig->ops.setup_priority_bands = set_bands;
    rig->ops.set_context_scheduling_properties = schedule;
    rig->ops.set_scheduling_log_buffer = set_log;
    rig->ops.suspend_context = suspend;
    rig->ops.resume_context = resume;
    rig->ops.has = has;
    return rig;
}

static struct rig *open(struct rig *rig)
{
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    assert_int_equal(rig->vidmm->queue_nodes & 1, 1);
    rig->vidmm->queue_nodes = 0;
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    rig->vidmm->queue_nodes = 1;
    return rig;
}

static struct rig *start(bool has_tables_in_system)
{
    return open(prepare(has_tables_in_system));
}

static NTSTATUS try_context(struct rig *rig, struct vidmm_context **out)
{
    return vidmm_context_create(rig->device, 0, NULL, 0, out);
}

static void a_context_waits_for_the_page_of_its_fence(void **state)
{
    struct rig *rig = start(true);
    struct vidmm_context *first, *second;
    const struct queue_fences *fences = &rig->process->queue_fences;

    assert_int_equal(try_context(rig, &first), STATUS_SUCCESS);
    assert_true(first->queue.is_held && fences->is_being_mapped && !fences->is_mapped);
    assert_int_equal(driver.last.HwQueueProgressFenceGPUVirtualAddress, fences->va);
    assert_int_equal(*(const volatile UINT64 *)driver.last.HwQueueProgressFenceCPUVirtualAddress,
                     0);
    assert_int_equal(try_context(rig, &second), STATUS_SUCCESS);
    assert_true(second->queue.is_held);
    assert_int_equal(driver.last.HwQueueProgressFenceGPUVirtualAddress,
                     fences->va + sizeof(UINT64));
    rig_drain(rig);
    assert_true(fences->is_mapped && !fences->is_being_mapped);
    assert_true(!first->queue.is_held && !second->queue.is_held);
    vidmm_context_destroy(first);
    assert_int_equal(try_context(rig, &first), STATUS_SUCCESS);
    assert_false(first->queue.is_held);
    assert_int_equal(driver.last.HwQueueProgressFenceGPUVirtualAddress, fences->va);
    vidmm_context_destroy(first);
    vidmm_context_destroy(second);
    assert_int_equal(driver.destroyed, driver.created);
    rig_free(rig);
}

static void a_context_may_go_while_the_page_is_being_mapped(void **state)
{
    struct rig *rig = start(true);
    struct vidmm_context *context;

    assert_int_equal(try_context(rig, &context), STATUS_SUCCESS);
    vidmm_context_destroy(context);
    rig_drain(rig);
    assert_true(rig->process->queue_fences.is_mapped);
    rig_free(rig);
}

static void a_queue_that_the_driver_refuses_leaves_its_fence_free(void **state)
{
    struct rig *rig = start(true);
    struct vidmm_context *context;
    uint64_t contexts = rig->live_contexts;

    driver.create_status = STATUS_NO_MEMORY;
    for (unsigned i = 0; i < 2 * QUEUE_FENCES; i++)
        assert_int_equal(try_context(rig, &context), STATUS_NO_MEMORY);
    assert_int_equal(rig->live_contexts, contexts);
    driver.create_status = STATUS_SUCCESS;
    assert_int_equal(try_context(rig, &context), STATUS_SUCCESS);
    assert_int_equal(driver.last.HwQueueProgressFenceGPUVirtualAddress,
                     rig->process->queue_fences.va);
    rig_drain(rig);
    vidmm_context_destroy(context);
    rig_free(rig);
}

static void a_page_has_so_many_fences(void **state)
{
    static struct vidmm_context *contexts[QUEUE_FENCES + 1];
    struct rig *rig = start(true);

    for (unsigned i = 0; i < QUEUE_FENCES; i++)
        assert_int_equal(try_context(rig, &contexts[i]), STATUS_SUCCESS);
    assert_int_equal(try_context(rig, &contexts[QUEUE_FENCES]), STATUS_INSUFFICIENT_RESOURCES);
    rig_drain(rig);
    vidmm_context_destroy(contexts[7]);
    assert_int_equal(try_context(rig, &contexts[7]), STATUS_SUCCESS);
    for (unsigned i = 0; i < QUEUE_FENCES; i++)
        vidmm_context_destroy(contexts[i]);
    rig_free(rig);
}

/* All of the segment that the tables lie in is held; then there is room. */
static void without_room_for_its_page_a_context_fails_and_is_not_held_for_ever(void **state)
{
    struct rig *rig = start(false);
    struct vidmm_context *context = NULL;
    const uint64_t room = rig->segment_pages[0] - rig->table_count;
    struct rig_object objects[256];
    unsigned count = 0;
    NTSTATUS status;

    while (count < room) {
        rig_object(rig, 1, 1, &objects[count]);
        rig_make_resident(rig, &objects[count++]);
    }
    status = try_context(rig, &context);
    rig_drain(rig);
    assert_false(NT_SUCCESS(status));
    assert_false(rig->process->queue_fences.is_mapped);
    assert_false(rig->process->queue_fences.is_being_mapped);
    vidmm_device_clear_error(rig->device);
    for (unsigned i = 0; i < count; i++)
        rig_destroy_object(rig, &objects[i]);
    rig_drain(rig);
    assert_int_equal(try_context(rig, &context), STATUS_SUCCESS);
    rig_drain(rig);
    assert_true(rig->process->queue_fences.is_mapped && !context->queue.is_held);
    vidmm_context_destroy(context);
    rig_free(rig);
}

static void the_page_is_nobody_elses(void **state)
{
    struct rig *rig = start(true);
    struct vidmm_context *context;
    const uint64_t leaf = page_table_coverage(rig->vidmm, 1);
    uint64_t va;

    assert_int_equal(try_context(rig, &context), STATUS_SUCCESS);
    rig_drain(rig);
    va = rig->process->queue_fences.va;
    for (uint64_t at = 0; at < leaf; at += leaf - PAGE_BYTES) {
        assert_int_equal(vidmm_map_physical(rig->process, va + at, 1, 0, 1, 0, NULL, NULL),
                         STATUS_RESOURCE_IN_USE);
        assert_int_equal(vidmm_unmap_physical(rig->process, va + at, PAGE_BYTES, NULL, NULL),
                         STATUS_RESOURCE_IN_USE);
    }
    assert_int_equal(vidmm_unmap_physical(rig->process, va - leaf, leaf, NULL, NULL),
                     STATUS_SUCCESS);
    rig_drain(rig);
    vidmm_context_destroy(context);
    rig_free(rig);
}

static void each_context_has_a_band_before_its_work(void **state)
{
    struct rig *rig = start(true);
    struct vidmm_context *contexts[5];

    assert_int_equal(driver.banded, 1);
    assert_int_equal(driver.scheduled, 0); /* the rig's context has no queue */
    for (unsigned i = 0; i < ARRAY_COUNT(contexts); i++) {
        assert_int_equal(try_context(rig, &contexts[i]), STATUS_SUCCESS);
        assert_int_equal(driver.scheduled, i + 1);
        assert_ptr_equal(driver.properties.hContext, contexts[i]->driver_context);
        assert_int_equal(driver.properties.priorityBand, DXGK_SCHEDULING_PRIORITY_BAND_NORMAL);
        assert_int_equal(driver.properties.inProcessPriority, 0);
    }
    rig_drain(rig);
    for (unsigned i = 0; i < ARRAY_COUNT(contexts); i++)
        vidmm_context_destroy(contexts[i]);
    rig_free(rig);
}

/* Every eighth submission of a context changes it. */
static void mixed_bands_change_by_turns(void **state)
{
    static const DXGK_SCHEDULING_PRIORITY_BAND expected[] = {
        DXGK_SCHEDULING_PRIORITY_BAND_NORMAL, DXGK_SCHEDULING_PRIORITY_BAND_FOCUS,
        DXGK_SCHEDULING_PRIORITY_BAND_IDLE, DXGK_SCHEDULING_PRIORITY_BAND_REALTIME,
        DXGK_SCHEDULING_PRIORITY_BAND_NORMAL};
    struct rig *rig = prepare(true);
    struct vidmm_context *contexts[ARRAY_COUNT(expected)];

    rig->manager.bands = VIDMM_BANDS_MIXED;
    open(rig);
    for (unsigned i = 0; i < ARRAY_COUNT(expected); i++) {
        assert_int_equal(try_context(rig, &contexts[i]), STATUS_SUCCESS);
        assert_int_equal(driver.properties.priorityBand, expected[i]);
        assert_int_equal(driver.properties.inProcessPriority, (int)i - 7);
        assert_int_equal(driver.properties.realtimeBandPriorityLevel, i);
    }
    rig_drain(rig);
    for (unsigned i = 1; i <= 24; i++) {
        assert_int_equal(hw_queue_ready(contexts[0]), STATUS_SUCCESS);
        assert_int_equal(driver.scheduled, ARRAY_COUNT(expected) + i / 8);
        assert_int_equal(driver.properties.priorityBand, i < 8 ? expected[0] : expected[i / 8]);
    }
    for (unsigned i = 0; i < ARRAY_COUNT(expected); i++)
        vidmm_context_destroy(contexts[i]);
    rig_free(rig);
}

static void a_driver_that_refuses_priorities_gets_no_work(void **state)
{
    struct rig *rig = start(true);
    struct vidmm_context *context;

    driver.schedule_status = STATUS_INVALID_PARAMETER;
    assert_int_equal(try_context(rig, &context), STATUS_INVALID_PARAMETER);
    assert_int_equal(driver.destroyed, 1);
    driver.schedule_status = STATUS_SUCCESS;
    assert_int_equal(try_context(rig, &context), STATUS_SUCCESS);
    rig_drain(rig);
    vidmm_context_destroy(context);
    rig_free(rig);

    rig = prepare(true);
    driver.band_status = STATUS_NOT_SUPPORTED;
    assert_int_equal(rig_start(rig), STATUS_NOT_SUPPORTED);
    rig_free(rig);
}

static void a_driver_without_priorities_is_not_told_of_any(void **state)
{
    struct rig *rig = prepare(true);
    struct vidmm_context *context;

    driver.has_no_priorities = true;
    rig->manager.log_entries = 4;
    open(rig);
    assert_int_equal(try_context(rig, &context), STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(driver.banded + driver.scheduled + driver.logged, 0);
    assert_int_equal(rig->vidmm->logs.page_count, 0);
    vidmm_context_destroy(context);
    rig_free(rig);
}

static void tell_log(struct rig *rig, unsigned node)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType =
                                                DXGK_INTERRUPT_SCHEDULING_LOG_INTERRUPT};

    data.SchedulingLogInterrupt.NodeOrdinal = node;
    vidmm_notify_interrupt(rig->vidmm, &data);
    vidmm_notify_dpc(rig->vidmm);
}

static void a_node_that_says_so_gets_the_other_log(void **state)
{
    struct rig *rig = prepare(true);
    DXGKARG_SETSCHEDULINGLOGBUFFER first, second;

    rig->manager.log_entries = 5;
    open(rig);
    assert_true(driver.logged > 0);
    driver.logged = 0;
    tell_log(rig, 0);
    assert_int_equal(driver.logged, 1);
    first = driver.log;
    assert_int_equal(first.NodeOrdinal, 0);
    assert_int_equal(first.NumberOfEntries, 5);
    assert_int_equal(first.InterruptEntry, 2);
    first.LogBufferCpuVa->Header.FirstFreeEntryIndex = 3;
    tell_log(rig, 0);
    second = driver.log;
    assert_int_equal(first.LogBufferGpuVa - second.LogBufferGpuVa, PAGE_BYTES);
    assert_ptr_equal((char *)first.LogBufferCpuVa - PAGE_BYTES, second.LogBufferCpuVa);
    assert_int_equal(first.LogBufferCpuVa->Header.FirstFreeEntryIndex, 3); /* left as it is */

    /* A driver that refuses is asked with the same one the next time. */
    driver.log_status = STATUS_NOT_SUPPORTED;
    tell_log(rig, 0);
    driver.log_status = STATUS_SUCCESS;
    tell_log(rig, 0);
    assert_ptr_equal(driver.log.LogBufferCpuVa, first.LogBufferCpuVa);

    driver.logged = 0;
    tell_log(rig, 63); /* there is no such node */
    vidmm_notify_dpc(rig->vidmm);
    assert_int_equal(driver.logged, 0);
    rig_free(rig);
}

/* It waits for the page of its fence, and goes. */
static void a_context_is_suspended_while_it_waits_and_in_front_of_its_end(void **state)
{
    static const enum vidmm_suspends all[] = {VIDMM_SUSPENDS_NONE, VIDMM_SUSPENDS_BUSY,
                                              VIDMM_SUSPENDS_ALL};

    for (unsigned i = 0; i < 3; i++) {
        struct rig *rig = prepare(true);
        struct vidmm_context *context;
        const unsigned times = all[i] == VIDMM_SUSPENDS_ALL;

        rig->manager.suspends = all[i];
        open(rig);
        assert_int_equal(try_context(rig, &context), STATUS_SUCCESS);
        assert_int_equal(driver.suspended, times);
        rig_drain(rig);
        assert_int_equal(driver.resumed, times);
        vidmm_context_destroy(context);
        assert_int_equal(driver.suspended, 2 * times);
        assert_int_equal(driver.resumed, times);
        rig_free(rig);
    }
}

static void a_context_that_a_reset_has_hit_is_invalid_for_ever(void **state)
{
    struct rig *rig = start(true);
    struct vidmm_context *first, *second;
    DXGKARGCB_INVALIDATEHWCONTEXT invalid = {.hHwContext = rig->context};

    assert_int_equal(try_context(rig, &first), STATUS_SUCCESS);
    assert_int_equal(try_context(rig, &second), STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(vidmm_invalidate_hw_context(rig->vidmm, &invalid), STATUS_INVALID_PARAMETER);
    assert_false(vidmm_device_is_in_error(rig->device));
    invalid.hHwContext = first;
    assert_int_equal(vidmm_invalidate_hw_context(rig->vidmm, &invalid), STATUS_SUCCESS);
    assert_true(vidmm_device_is_in_error(rig->device));
    vidmm_device_clear_error(rig->device);
    assert_true(vidmm_context_is_invalid(first));
    assert_false(vidmm_context_has_tile_updates(first));
    assert_false(vidmm_context_is_invalid(second));
    vidmm_context_destroy(first);
    vidmm_context_destroy(second);
    assert_int_equal(vidmm_invalidate_hw_context(rig->vidmm, &invalid), STATUS_INVALID_PARAMETER);
    rig_free(rig);
}

/* ---- Queues that the client makes ------------------------------------------------------------ */

#define NO_FLAGS ((D3DDDI_CREATEHWQUEUEFLAGS){{{0}}})

static NTSTATUS try_queue(struct vidmm_context *context)
{
    return vidmm_hw_queue_create(context, NO_FLAGS, NULL, 0);
}

static void only_a_context_for_queues_of_a_node_with_them_gets_one(void **state)
{
    struct rig *rig = start(true);
    struct vidmm_context *context;

    assert_true(vidmm_has_hw_queues(rig->vidmm, 0));
    assert_int_equal(try_queue(rig->context), STATUS_INVALID_PARAMETER);
    rig->vidmm->queue_nodes = 0;
    assert_false(vidmm_has_hw_queues(rig->vidmm, 0));
    assert_int_equal(vidmm_hw_context_create(rig->device, 0, NULL, 0, &context),
                     STATUS_NOT_SUPPORTED);
    assert_null(context);
    rig->vidmm->queue_nodes = 1;
    assert_int_equal(driver.created, 0);
    rig_free(rig);
}

static NTSTATUS answer_by_data(struct miniport *self, HANDLE object, DXGKARG_CREATEHWQUEUE *arg)
{
    NTSTATUS status = create_queue(self, object, arg);

    EXPECT(arg->Flags.DisableGpuTimeout && !arg->Flags.NoBroadcastWait);
    EXPECT(arg->PrivateDriverDataSize == 4 && memcmp(arg->pPrivateDriverData, "ask", 4) == 0);
    memcpy(arg->pPrivateDriverData, "hear", 4);
    return status;
}

static void flags_and_private_data_are_the_clients(void **state)
{
    struct rig *rig = prepare(true);
    struct vidmm_context *context;
    char data[4] = "ask";

    rig->ops.create_hw_queue = answer_by_data;
    open(rig);
    assert_int_equal(vidmm_hw_context_create(rig->device, 0, NULL, 0, &context), STATUS_SUCCESS);
    driver.create_status = STATUS_INVALID_PARAMETER; /* then nothing comes back */
    assert_int_equal(vidmm_hw_queue_create(context,
                                           (D3DDDI_CREATEHWQUEUEFLAGS){{{.DisableGpuTimeout = 1}}},
                                           data, sizeof data),
                     STATUS_INVALID_PARAMETER);
    assert_memory_equal(data, "ask", 4);
    driver.create_status = STATUS_SUCCESS;
    assert_int_equal(vidmm_hw_queue_create(context,
                                           (D3DDDI_CREATEHWQUEUEFLAGS){{{.DisableGpuTimeout = 1}}},
                                           data, sizeof data),
                     STATUS_SUCCESS);
    assert_memory_equal(data, "hear", 4);
    rig_drain(rig);
    vidmm_context_destroy(context);
    rig_free(rig);
}

/* It has one at a time; submissions go to one that is there. */
static void a_context_gets_another_queue_when_its_queue_has_gone(void **state)
{
    static const enum vidmm_suspends all[] = {VIDMM_SUSPENDS_NONE, VIDMM_SUSPENDS_BUSY,
                                              VIDMM_SUSPENDS_ALL};

    for (unsigned i = 0; i < ARRAY_COUNT(all); i++) {
        struct rig *rig = prepare(true);
        struct vidmm_context *context;

        rig->manager.suspends = all[i];
        open(rig);
        assert_int_equal(vidmm_hw_context_create(rig->device, 0, NULL, 0, &context),
                         STATUS_SUCCESS);
        assert_int_equal(hw_queue_ready(context), STATUS_INVALID_PARAMETER);
        for (unsigned k = 1; k <= 3; k++) {
            assert_int_equal(try_queue(context), STATUS_SUCCESS);
            assert_int_equal(try_queue(context), STATUS_NOT_SUPPORTED);
            if (k > 1) /* the first waits for the page, and goes while it does */
                rig_drain(rig);
            assert_int_equal(hw_queue_ready(context), STATUS_SUCCESS);
            assert_int_equal(driver.last.HwQueueProgressFenceGPUVirtualAddress,
                             rig->process->queue_fences.va);
            assert_int_equal(*context->queue.progress, 0);
            *context->queue.progress = k;
            vidmm_hw_queue_destroy(context);
            vidmm_hw_queue_destroy(context); /* there is none: nothing happens */
            assert_int_equal(driver.destroyed, k);
            assert_int_equal(hw_queue_ready(context), STATUS_INVALID_PARAMETER);
            assert_true(vidmm_check(rig->vidmm));
        }
        /* What was suspended when its queue left goes on with the next one. */
        assert_true(all[i] != VIDMM_SUSPENDS_ALL || driver.resumed >= 2);
        vidmm_context_destroy(context);
        assert_int_equal(driver.created, driver.destroyed);
        assert_false(vidsch_has_queues(rig->vidmm->vidsch, 0));
        rig_free(rig);
    }
}

/* Behind the driver's call, too. */
static void a_context_whose_queue_failed_gets_one_later(void **state)
{
    struct rig *rig = start(true);
    struct vidmm_context *context;

    assert_int_equal(vidmm_hw_context_create(rig->device, 0, NULL, 0, &context), STATUS_SUCCESS);
    driver.create_status = STATUS_NO_MEMORY;
    assert_int_equal(try_queue(context), STATUS_NO_MEMORY);
    driver.create_status = STATUS_SUCCESS;
    driver.schedule_status = STATUS_INVALID_PARAMETER;
    for (unsigned i = 0; i < 2 * QUEUE_FENCES; i++)
        assert_int_equal(try_queue(context), STATUS_INVALID_PARAMETER);
    assert_int_equal(driver.created, driver.destroyed);
    assert_int_equal(hw_queue_ready(context), STATUS_INVALID_PARAMETER);
    driver.schedule_status = STATUS_SUCCESS;
    assert_int_equal(try_queue(context), STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(hw_queue_ready(context), STATUS_SUCCESS);
    vidmm_context_destroy(context);
    rig_free(rig);
}

/* They are of one context of the driver's, and the first one ends it. */
static void a_context_shares_the_drivers_context_and_has_a_queue_of_its_own(void **state)
{
    static const enum vidmm_suspends all[] = {VIDMM_SUSPENDS_NONE, VIDMM_SUSPENDS_BUSY,
                                              VIDMM_SUSPENDS_ALL};

    for (unsigned i = 0; i < ARRAY_COUNT(all); i++) {
        const unsigned times = all[i] == VIDMM_SUSPENDS_ALL;
        struct rig *rig = prepare(true);
        struct vidmm_context *first, *second, *third;
        DXGKARGCB_INVALIDATEHWCONTEXT invalid;
        uint64_t fence;

        rig->manager.suspends = all[i];
        open(rig);
        assert_int_equal(try_context(rig, &first), STATUS_SUCCESS);
        fence = driver.last.HwQueueProgressFenceGPUVirtualAddress;
        assert_int_equal(driver.suspended, times);
        assert_int_equal(vidmm_hw_context_share(first, &second), STATUS_SUCCESS);
        assert_int_equal(hw_queue_ready(second), STATUS_INVALID_PARAMETER);
        assert_int_equal(try_queue(second), STATUS_SUCCESS);
        assert_int_equal(vidmm_hw_context_share(second, &third), STATUS_SUCCESS);
        assert_int_equal(try_queue(third), STATUS_SUCCESS);
        assert_int_equal(driver.created, 3);
        assert_ptr_equal(second->driver_context, first->driver_context);
        assert_ptr_equal(third->first, first);
        assert_int_not_equal(driver.last.HwQueueProgressFenceGPUVirtualAddress, fence);
        rig_drain(rig);
        assert_true(all[i] == VIDMM_SUSPENDS_ALL ? driver.resumed : !driver.resumed);
        assert_int_equal(hw_queue_ready(third), STATUS_SUCCESS);

        /* One of them leaves, and the others go on: the driver's context is not suspended. */
        driver.suspended = 0;
        vidmm_context_destroy(third);
        assert_int_equal(driver.destroyed, 1);
        vidmm_hw_queue_destroy(first);
        assert_int_equal(driver.suspended, 0);
        assert_int_equal(hw_queue_ready(second), STATUS_SUCCESS);
        space_hold(&rig->process->space);
        assert_int_equal(driver.suspended, times);
        assert_true(space_is_quiet(&rig->process->space));
        space_release(&rig->process->space);

        invalid.hHwContext = second; /* no name of a context for the driver */
        assert_int_equal(vidmm_invalidate_hw_context(rig->vidmm, &invalid),
                         STATUS_INVALID_PARAMETER);
        invalid.hHwContext = first;
        assert_int_equal(vidmm_invalidate_hw_context(rig->vidmm, &invalid), STATUS_SUCCESS);
        assert_true(vidmm_context_is_invalid(first) && vidmm_context_is_invalid(second));
        assert_true(vidmm_check(rig->vidmm));
        vidmm_context_destroy(second);
        vidmm_context_destroy(first);
        assert_int_equal(driver.created, driver.destroyed);
        rig_free(rig);
    }
}

/* A context with a queue, and one that shares it; what is there already stays. */
static NTSTATUS make_both(struct rig *rig, struct vidmm_context *contexts[2])
{
    char data[8] = "private";

    for (unsigned i = 0; i < 2; i++) {
        NTSTATUS status =
            contexts[i] ? STATUS_SUCCESS
            : i         ? vidmm_hw_context_share(contexts[0], &contexts[1])
                        : vidmm_hw_context_create(rig->device, 0, data, sizeof data, &contexts[0]);

        if (NT_SUCCESS(status) && !contexts[i]->queue.progress)
            status = vidmm_hw_queue_create(contexts[i], NO_FLAGS, data, sizeof data);
        if (!NT_SUCCESS(status))
            return status;
    }
    return STATUS_SUCCESS;
}

/* Memory of the host's, and pages; a second attempt succeeds. */
static void every_nth_allocation_may_fail_while_a_queue_is_made(void **state)
{
    for (unsigned of_pages = 0; of_pages < 2; of_pages++) {
        bool has_failed = true;

        for (uint64_t n = 1; has_failed; n++) {
            struct rig *rig = start(true);
            struct vidmm_context *contexts[2] = {NULL, NULL};
            NTSTATUS status;

            if (of_pages)
                rig->fail_pages_at = n;
            else
                failing_services_fail_at(&rig->memory, n);
            status = make_both(rig, contexts);
            has_failed = of_pages ? !rig->fail_pages_at : rig->memory.has_failed;
            assert_int_equal(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
            assert_true(vidmm_check(rig->vidmm));
            assert_true(n > 2 || has_failed);
            if (has_failed)
                assert_int_equal(make_both(rig, contexts), STATUS_SUCCESS);
            rig_drain(rig);
            assert_true(rig->process->queue_fences.is_mapped && !contexts[0]->queue.is_held &&
                        !contexts[1]->queue.is_held);
            vidmm_context_destroy(contexts[1]);
            vidmm_context_destroy(contexts[0]);
            assert_int_equal(driver.created, driver.destroyed);
            rig_free(rig);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_waits_for_the_page_of_its_fence),
        cmocka_unit_test(a_context_may_go_while_the_page_is_being_mapped),
        cmocka_unit_test(a_queue_that_the_driver_refuses_leaves_its_fence_free),
        cmocka_unit_test(a_page_has_so_many_fences),
        cmocka_unit_test(a_context_shares_the_drivers_context_and_has_a_queue_of_its_own),
        cmocka_unit_test(without_room_for_its_page_a_context_fails_and_is_not_held_for_ever),
        cmocka_unit_test(the_page_is_nobody_elses),
        cmocka_unit_test(each_context_has_a_band_before_its_work),
        cmocka_unit_test(mixed_bands_change_by_turns),
        cmocka_unit_test(a_driver_that_refuses_priorities_gets_no_work),
        cmocka_unit_test(a_driver_without_priorities_is_not_told_of_any),
        cmocka_unit_test(a_node_that_says_so_gets_the_other_log),
        cmocka_unit_test(a_context_is_suspended_while_it_waits_and_in_front_of_its_end),
        cmocka_unit_test(a_context_that_a_reset_has_hit_is_invalid_for_ever),
        cmocka_unit_test(only_a_context_for_queues_of_a_node_with_them_gets_one),
        cmocka_unit_test(flags_and_private_data_are_the_clients),
        cmocka_unit_test(a_context_gets_another_queue_when_its_queue_has_gone),
        cmocka_unit_test(a_context_whose_queue_failed_gets_one_later),
        cmocka_unit_test(every_nth_allocation_may_fail_while_a_queue_is_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
