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

/* The driver's side. */
static struct {
    unsigned created, destroyed;
    NTSTATUS create_status;
    DXGKARG_CREATEHWQUEUE last;
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

/* The rig's own context has no queue: the manager hears of them behind it. */
static struct rig *start(bool has_tables_in_system)
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
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    assert_int_equal(rig->vidmm->queue_nodes & 1, 1);
    rig->vidmm->queue_nodes = 0;
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    rig->vidmm->queue_nodes = 1;
    return rig;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_waits_for_the_page_of_its_fence),
        cmocka_unit_test(a_context_may_go_while_the_page_is_being_mapped),
        cmocka_unit_test(a_queue_that_the_driver_refuses_leaves_its_fence_free),
        cmocka_unit_test(a_page_has_so_many_fences),
        cmocka_unit_test(without_room_for_its_page_a_context_fails_and_is_not_held_for_ever),
        cmocka_unit_test(the_page_is_nobody_elses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
