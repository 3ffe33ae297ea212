/*
 * A driver without contexts, in whole runs: which handles it gets.
 */
#include "bench/whole_runs/test_run.h"

struct watcher {
    struct miniport_ops ops;
    struct miniport miniport;
    HANDLE devices[8];
    unsigned device_count;
    unsigned clients_buffers, paging_buffers, nobodys_buffers, renders, patches;
    unsigned strange, system_contexts, contexts;
};

static struct watcher *watcher_of(struct miniport *self)
{
    return (struct watcher *)((char *)self - offsetof(struct watcher, miniport));
}

static bool is_device(const struct watcher *watcher, HANDLE handle)
{
    for (unsigned i = 0; i < watcher->device_count; i++) {
        if (watcher->devices[i] == handle)
            return true;
    }
    return false;
}

static NTSTATUS see_create_device(struct miniport *self, HANDLE object, DXGKARG_CREATEDEVICE *arg)
{
    struct watcher *watcher = watcher_of(self);
    NTSTATUS status = miniport_forward_create_device(self, object, arg);

    assert_true(watcher->device_count < ARRAY_COUNT(watcher->devices));
    assert_true(arg->pInfo->DmaBufferSize > 0 && arg->pInfo->AllocationListSize > 0);
    watcher->devices[watcher->device_count++] = arg->hDevice;
    return status;
}

static NTSTATUS see_create_context(struct miniport *self, HANDLE object, DXGKARG_CREATECONTEXT *arg)
{
    watcher_of(self)->contexts++;
    return miniport_forward_create_context(self, object, arg);
}

static NTSTATUS see_render(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    struct watcher *watcher = watcher_of(self);

    watcher->renders++;
    watcher->strange += !is_device(watcher, object);
    return miniport_forward_render(self, object, arg);
}

static NTSTATUS see_patch(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    struct watcher *watcher = watcher_of(self);

    watcher->patches++;
    watcher->strange += arg->hDevice ? !is_device(watcher, arg->hDevice) : !arg->Flags.Paging;
    return miniport_forward_patch(self, object, arg);
}

static NTSTATUS see_submit(struct miniport *self, HANDLE object, const DXGKARG_SUBMITCOMMAND *arg)
{
    struct watcher *watcher = watcher_of(self);

    watcher->strange += arg->hDevice ? !is_device(watcher, arg->hDevice) : !arg->Flags.Paging;
    watcher->strange += arg->NodeOrdinal;
    watcher->nobodys_buffers += !arg->hDevice;
    watcher->paging_buffers += arg->Flags.Paging;
    watcher->clients_buffers += !arg->Flags.Paging;
    return miniport_forward_submit_command(self, object, arg);
}

static NTSTATUS see_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    watcher_of(self)->system_contexts += arg->hSystemContext != NULL;
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static void see_destroy(struct miniport *self)
{
}

static struct miniport *add_watcher(void *context, struct miniport *next)
{
    struct watcher *watcher = context;

    watcher->ops = miniport_forward_ops;
    watcher->ops.destroy = see_destroy;
    watcher->ops.create_device = see_create_device;
    watcher->ops.create_context = see_create_context;
    watcher->ops.render = see_render;
    watcher->ops.patch = see_patch;
    watcher->ops.submit_command = see_submit;
    watcher->ops.build_paging_buffer = see_build;
    watcher->miniport = (struct miniport){.ops = &watcher->ops, .next = next};
    return &watcher->miniport;
}

static void devices_take_the_place_of_contexts(void **state)
{
    struct workload *workload = test_load("no-contexts.case");
    struct run_config config = test_config(workload);
    struct watcher watcher = {.device_count = 0};
    struct run_result *result;

    config.add_layer = add_watcher;
    config.layer_context = &watcher;
    result = test_execute(&config, workload);
    test_assert_clean(result);
    test_finish(result);
    assert_int_equal(watcher.device_count, 3); /* and the system's */
    assert_int_equal(watcher.contexts, 0);
    assert_int_equal(watcher.system_contexts, 0);
    assert_int_equal(watcher.strange, 0);
    assert_int_equal(watcher.renders, 4);
    assert_int_equal(watcher.clients_buffers, 4);
    assert_true(watcher.patches > 4);
    assert_true(watcher.nobodys_buffers > 0);
    assert_true(watcher.paging_buffers > watcher.nobodys_buffers);
}

static void a_device_s_dma_buffers_may_be_in_the_aperture_too(void **state)
{
    struct workload *workload = test_load("dma-buffers-in-the-aperture.case");
    struct run_result *result;

    test_option(workload, "wddm", "1.0");
    result = test_play(workload);
    test_assert_clean(result);
    assert_true(test_count(result, DXGK_OPERATION_MAP_APERTURE_SEGMENT) > 10);
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_take_the_place_of_contexts),
        cmocka_unit_test(a_device_s_dma_buffers_may_be_in_the_aperture_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
