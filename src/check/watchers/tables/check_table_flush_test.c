#include "check/rig/test_rig_memory.h"

static void gpu_flushes(struct rig *rig, uint64_t start, uint64_t end)
{
    check_gpu(rig->check, &(struct check_gpu_event){
                              .kind = CHECK_GPU_FLUSHED,
                              .address = 103 * 4096,
                              .start = start,
                              .end = end,
                          });
}

static void gpu_runs(struct rig *rig, uint32_t fence, unsigned operations)
{
    check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_QUEUED,
                                                    .fence = fence,
                                                    .address = 0x10000,
                                                    .bytes = operations * RIG_PACKET_BYTES});
    check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_DONE, .fence = fence});
}

/* An entry changes and is flushed by a GPU that carries out [start, end) of it, 0, 0: nothing. */
static void flush_on_gpu(struct rig *rig, uint64_t start, uint64_t end, bool is_in_order)
{
    struct rig_memory memory;
    struct rig_update update;
    uint32_t fence;

    rig_make_memory(rig, &memory);
    rig_begin_map(rig, &update, RIG_VA + 0x10000, NULL, 32, 16);
    rig_update(rig, &update);
    rig_flush(rig, rig->process, RIG_VA + 0x10000, RIG_VA + 0x20000);
    fence = rig_submit(rig);
    if (is_in_order)
        rig_write_memory(rig, &update, NO_MISTAKE);
    if (end)
        gpu_flushes(rig, start, end);
    if (!is_in_order)
        rig_write_memory(rig, &update, NO_MISTAKE);
    gpu_runs(rig, fence, 2);
    rig_complete(rig, 0, fence);
    rig->walk = NULL;
}

RULE_BROKEN(TLB_002)
{
    flush_on_gpu(rig, 0, 0, true);
    assert_string_equal(rig->last.detail.where, "DxgkDdiBuildPagingBuffer(FLUSH_TLB)");
}

RULE_KEPT(TLB_002)
{
    flush_on_gpu(rig, RIG_VA + 0x10000, RIG_VA + 0x20000, true);
}

RULE_BROKEN(TLB_007)
{
    flush_on_gpu(rig, RIG_VA + 0x10000, RIG_VA + 0x1f000, true);
}

/* Wider than asked. */
RULE_KEPT(TLB_007)
{
    flush_on_gpu(rig, RIG_VA, RIG_VA + 0x200000, true);
}

RULE_BROKEN(TLB_006)
{
    flush_on_gpu(rig, RIG_VA + 0x10000, RIG_VA + 0x20000, false);
}

RULE_KEPT(TLB_006)
{
    flush_on_gpu(rig, RIG_VA + 0x10000, RIG_VA + 0x20000, true);
}

/*
 * Two flushes of one range, an entry written between them: the GPU's first one serves the first
 * operation alone. Whether it serves the second one in order is the test's.
 */
static void a_flush_serves_what_was_written_before_it(void **state)
{
    for (unsigned is_in_order = 0; is_in_order < 2; is_in_order++) {
        struct rig *rig = malloc(sizeof *rig);
        struct rig_update first, second;
        struct rig_memory memory;
        uint32_t fence;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig_make_memory(rig, &memory);
        rig_begin_map(rig, &first, RIG_VA + 0x10000, NULL, 32, 16);
        rig_update(rig, &first);
        rig_flush(rig, rig->process, RIG_VA + 0x10000, RIG_VA + 0x20000);
        rig_flush(rig, rig->process, RIG_VA + 0x10000, RIG_VA + 0x20000);
        rig_begin_map(rig, &second, RIG_VA + 0x20000, NULL, 64, 16);
        rig_update(rig, &second);
        rig_flush(rig, rig->process, RIG_VA + 0x10000, RIG_VA + 0x30000);
        fence = rig_submit(rig);
        rig_write_memory(rig, &first, NO_MISTAKE);
        gpu_flushes(rig, RIG_VA + 0x10000, RIG_VA + 0x20000);
        gpu_flushes(rig, RIG_VA + 0x10000, RIG_VA + 0x20000);
        if (is_in_order)
            rig_write_memory(rig, &second, NO_MISTAKE);
        gpu_flushes(rig, RIG_VA + 0x10000, RIG_VA + 0x30000);
        if (!is_in_order)
            rig_write_memory(rig, &second, NO_MISTAKE);
        gpu_runs(rig, fence, 5);
        rig_complete(rig, 0, fence);
        assert_int_equal(rig->counts.evaluated[RULE_TLB_002], 3); /* each flush once */
        if (is_in_order)
            rig_expect_silence(rig, RULE_TLB_006);
        else
            rig_expect_only(rig, RULE_TLB_006);
        rig->walk = NULL;
        rig_fini(rig);
        free(rig);
    }
}

/*
 * A GPU that tells of flushes and of nothing else, and that flushes everything at any time: before
 * the entry is written, and behind it, or not.
 */
static void flush_by_the_way(bool is_early, bool is_late, enum rule_id expected)
{
    struct rig *rig = malloc(sizeof *rig);
    const struct check_gpu_event everything = {.kind = CHECK_GPU_FLUSHED, .is_everywhere = true};
    struct rig_update update;
    struct rig_memory memory;
    uint32_t fence;

    assert_non_null(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->config.hears_flushes = true;
    rig_init_prepared(rig);
    rig_make_memory(rig, &memory);
    rig_begin_map(rig, &update, RIG_VA + 0x10000, NULL, 32, 16);
    rig_update(rig, &update);
    rig_flush(rig, rig->process, RIG_VA + 0x10000, RIG_VA + 0x20000);
    fence = rig_submit(rig);
    if (is_early)
        check_gpu(rig->check, &everything);
    rig_write_memory(rig, &update, NO_MISTAKE);
    if (is_late)
        check_gpu(rig->check, &everything);
    rig_complete(rig, 0, fence);
    if (expected)
        rig_expect_only(rig, expected);
    else
        rig_expect_silence(rig, RULE_TLB_002);
    rig->walk = NULL;
    rig_fini(rig);
    free(rig);
}

static void flushes_of_a_gpu_that_tells_nothing_else_are_judged(void **state)
{
    flush_by_the_way(false, true, RULE_NONE);
    flush_by_the_way(true, true, RULE_NONE);
    flush_by_the_way(false, false, RULE_TLB_002);
    flush_by_the_way(true, false, RULE_TLB_006);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flush_serves_what_was_written_before_it),
        cmocka_unit_test(flushes_of_a_gpu_that_tells_nothing_else_are_judged),
    };

    return RIG_RUN_TESTS(tests);
}
