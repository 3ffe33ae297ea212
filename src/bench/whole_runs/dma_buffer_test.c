/*
 * Where DMA and paging buffers are, in whole runs: contiguous system memory, or slots of an
 * aperture that are mapped before a buffer is used and unmapped before its pages go.
 */
#include "bench/whole_runs/test_run.h"

#include "base/bits.h"

#define SLOTS 1024u

/* Nearest to the kernel: follows the slots of buffers, whose operations name no allocation. */
struct watcher {
    struct miniport_ops ops;
    struct miniport miniport;
    uint8_t shown[SLOTS]; /* by slot: a buffer */
    unsigned maps, unmaps, left_at_sleep, left_at_stop;
    unsigned in_system, in_aperture, in_the_void; /* submissions, by the place of their buffer */
};

static struct watcher *watcher_of(struct miniport *self)
{
    return (struct watcher *)((char *)self - offsetof(struct watcher, miniport));
}

static NTSTATUS see_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct watcher *watcher = watcher_of(self);

    if (arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT &&
        !arg->MapApertureSegment.hAllocation) {
        watcher->maps++;
        memset(watcher->shown + arg->MapApertureSegment.OffsetInPages, 1,
               arg->MapApertureSegment.NumberOfPages);
    }
    if (arg->Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT &&
        !arg->UnmapApertureSegment.hAllocation) {
        watcher->unmaps++;
        memset(watcher->shown + arg->UnmapApertureSegment.OffsetInPages, 0,
               arg->UnmapApertureSegment.NumberOfPages);
    }
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static NTSTATUS see_submit(struct miniport *self, HANDLE object, const DXGKARG_SUBMITCOMMAND *arg)
{
    struct watcher *watcher = watcher_of(self);
    uint64_t slot = (uint64_t)arg->DmaBufferPhysicalAddress.QuadPart % (UINT64_C(1) << 40) / 4096;
    bool is_shown = true;

    for (uint64_t i = 0; arg->DmaBufferSegmentId && i < div_round_up(arg->DmaBufferSize, 4096); i++)
        is_shown &= slot + i < SLOTS && watcher->shown[slot + i];
    watcher->in_system += !arg->DmaBufferSegmentId;
    watcher->in_aperture += arg->DmaBufferSegmentId && is_shown;
    watcher->in_the_void += !is_shown;
    return miniport_forward_submit_command(self, object, arg);
}

static unsigned count_shown(const struct watcher *watcher)
{
    unsigned shown = 0;

    for (unsigned i = 0; i < SLOTS; i++)
        shown += watcher->shown[i];
    return shown;
}

static NTSTATUS see_power(struct miniport *self, ULONG device, DEVICE_POWER_STATE state,
                          POWER_ACTION action)
{
    if (state == PowerDeviceD3)
        watcher_of(self)->left_at_sleep += count_shown(watcher_of(self));
    return miniport_set_power_state(self->next, device, state, action);
}

static NTSTATUS see_stop(struct miniport *self)
{
    watcher_of(self)->left_at_stop += count_shown(watcher_of(self));
    return miniport_stop_device(self->next);
}

static void see_destroy(struct miniport *self)
{
}

static struct miniport *add_watcher(void *context, struct miniport *next)
{
    struct watcher *watcher = context;

    watcher->ops = miniport_forward_ops;
    watcher->ops.destroy = see_destroy;
    watcher->ops.build_paging_buffer = see_build;
    watcher->ops.submit_command = see_submit;
    watcher->ops.set_power_state = see_power;
    watcher->ops.stop_device = see_stop;
    watcher->miniport = (struct miniport){.ops = &watcher->ops, .next = next};
    return &watcher->miniport;
}

static struct watcher play(const char *dma, const char *paging)
{
    struct workload *workload = test_load("dma-buffers-in-the-aperture.case");
    struct watcher watcher = {.maps = 0};
    struct run_result *result;
    struct run_config config;

    test_option(workload, "dma-segment", dma);
    test_option(workload, "paging-segment", paging);
    config = test_config(workload);
    config.add_layer = add_watcher;
    config.layer_context = &watcher;
    result = test_execute(&config, workload);
    test_assert_clean(result);
    test_finish(result);
    assert_int_equal(watcher.in_the_void, 0);
    assert_int_equal(watcher.left_at_sleep, 0);
    assert_int_equal(watcher.left_at_stop, 0);
    assert_int_equal(watcher.maps, watcher.unmaps);
    return watcher;
}

static void buffers_are_in_system_memory_where_nobody_asks_for_an_aperture(void **state)
{
    struct watcher watcher = play("system", "system");

    assert_int_equal(watcher.maps + watcher.in_aperture, 0);
    assert_true(watcher.in_system > 0);
}

/* 1 MiB of slots holds the two allocations, and no DMA buffer beside them: buffers are evicted. */
static void dma_buffers_come_and_go_with_the_aperture_s_other_users(void **state)
{
    struct watcher watcher = play("aperture", "system");

    assert_int_equal(watcher.in_aperture, 5);
    assert_true(watcher.maps > 4);
}

/* Four of them: at the start, and behind the sleep. */
static void paging_buffers_are_unmapped_around_a_sleep_and_at_the_stop(void **state)
{
    struct watcher watcher = play("system", "aperture");

    assert_int_equal(watcher.maps, 2 * 4);
    assert_true(watcher.in_aperture > 5);
    assert_int_equal(watcher.in_system, 5); /* the client's */
}

static void both_kinds_of_buffers_may_be_there(void **state)
{
    struct watcher watcher = play("aperture", "aperture");

    assert_int_equal(watcher.in_system, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_are_in_system_memory_where_nobody_asks_for_an_aperture),
        cmocka_unit_test(dma_buffers_come_and_go_with_the_aperture_s_other_users),
        cmocka_unit_test(paging_buffers_are_unmapped_around_a_sleep_and_at_the_stop),
        cmocka_unit_test(both_kinds_of_buffers_may_be_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
