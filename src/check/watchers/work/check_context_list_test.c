/* Lists of contexts that an engine is switched to (HWQ-023). */
#include "check/rig/test_rig_queue.h"

#include "check/check_private.h"

/* Which of the two contexts are on the list; 2: none. */
static void switch_to(struct rig *rig, unsigned first, unsigned second)
{
    const DXGKARG_SWITCHTOHWCONTEXTLIST arg = {
        .hHwContextFirst = first < 2 ? rig_queues.q[first].context : NULL,
        .hHwContextSecond = second < 2 ? rig_queues.q[second].context : NULL,
        .NodeOrdinal = RIG_CLIENT_NODE,
    };

    miniport_switch_to_hw_context_list(rig->top, NULL, &arg);
}

/* The board has two submissions of the first context, and then one of the second. */
static void begin(struct rig *rig)
{
    rig_queues_begin(rig);
    rig_queue_submit(rig, 0, 5);
    rig_queue_submit(rig, 0, 6);
    rig_queue_submit(rig, 1, 7);
    for (UINT64 id = 5; id <= 7; id++)
        rig_queue_gpu(rig, CHECK_GPU_QUEUED, id);
}

RULE_BROKEN(HWQ_023)
{
    begin(rig);
    switch_to(rig, 1, 2);
    rig_queue_run(rig, 0, 5);
    rig_queue_run(rig, 0, 6);
}

RULE_KEPT(HWQ_023)
{
    begin(rig);
    switch_to(rig, 1, 0);
    rig_queue_gpu(rig, CHECK_GPU_DROPPED, 6);
    rig_queue_run(rig, 0, 5); /* it ran when the engine was switched */
    rig_queue_run(rig, 1, 7);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 6);
    rig_queue_run(rig, 0, 6);
}

static void runs_the_second_one_first(struct rig *rig)
{
    begin(rig);
    switch_to(rig, 1, 0);
    rig_queue_run(rig, 0, 5);
    rig_queue_run(rig, 0, 6);
}

static void is_not_idle(struct rig *rig)
{
    begin(rig);
    rig_queue_run(rig, 0, 5);
    rig_queue_run(rig, 0, 6);
    switch_to(rig, 2, 2);
    rig_queue_submit(rig, 1, 8);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 8);
    rig_queue_run(rig, 1, 7);
    rig_queue_run(rig, 1, 8);
}

/* The first one's work came later. */
static void runs_what_is_there(struct rig *rig)
{
    begin(rig);
    rig_queue_run(rig, 0, 5);
    rig_queue_run(rig, 0, 6);
    switch_to(rig, 0, 1);
    rig_queue_submit(rig, 0, 8);
    rig_queue_submit(rig, 1, 9);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 9);
    rig_queue_run(rig, 1, 7);
    rig_queue_run(rig, 1, 9);
}

/* The board has the newer submission first. */
static void ends_what_it_had_first(struct rig *rig)
{
    rig_queues_begin(rig);
    rig_queue_submit(rig, 0, 5);
    rig_queue_submit(rig, 1, 6);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 6);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 5);
    switch_to(rig, 0, 2);
    rig_queue_run(rig, 1, 6);
    rig_queue_run(rig, 0, 5);
}

static void is_switched_by_nobody(struct rig *rig)
{
    begin(rig);
    rig_queue_run(rig, 0, 5);
    rig_queue_run(rig, 0, 6);
    rig_queue_run(rig, 1, 7);
}

static void each_way_to_break_the_rule_is_found(void **state)
{
    static const struct {
        void (*act)(struct rig *rig);
        enum rule_id rule; /* RULE_NONE: lawful */
    } ways[] = {
        {runs_the_second_one_first, RULE_HWQ_023}, {is_not_idle, RULE_HWQ_023},
        {runs_what_is_there, RULE_NONE},           {ends_what_it_had_first, RULE_NONE},
        {is_switched_by_nobody, RULE_NONE},
    };

    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        ways[i].act(rig);
        rig_expect_only(rig, ways[i].rule);
        rig_fini(rig);
        free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_to_break_the_rule_is_found),
    };

    return RIG_RUN_TESTS(tests);
}
