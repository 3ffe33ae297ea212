#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bits.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/rng.h"

struct event {
    uint64_t time;
    struct heap_node node;
    bool is_queued;
};

static bool is_earlier(const struct heap_node *a, const struct heap_node *b)
{
    return container_of(a, struct event, node)->time < container_of(b, struct event, node)->time;
}

/* The plainest true model: look at them all. */
static uint64_t earliest(const struct event *events, size_t count)
{
    uint64_t time = UINT64_MAX;

    for (size_t i = 0; i < count; i++) {
        if (events[i].is_queued)
            time = min_u64(time, events[i].time);
    }
    return time;
}

static void random_ops_agree_with_looking_at_all(void **state)
{
    static struct event events[200];
    struct heap heap;
    struct rng rng;
    size_t queued = 0;

    (void)state;
    heap_init(&heap, is_earlier);
    rng_init(&rng, 1);
    for (int step = 0; step < 20000; step++) {
        struct event *event = &events[rng_below(&rng, ARRAY_COUNT(events))];

        if (rng_chance(&rng, 1, 4)) {
            struct heap_node *node = heap_pop(&heap);

            assert_true((node != NULL) == (queued > 0));
            if (node) {
                event = container_of(node, struct event, node);
                assert_true(event->time == earliest(events, ARRAY_COUNT(events)));
                event->is_queued = false;
                queued--;
            }
        } else if (event->is_queued) {
            heap_remove(&heap, &event->node);
            event->is_queued = false;
            queued--;
        } else {
            event->time = rng_below(&rng, 50);
            event->is_queued = true;
            heap_insert(&heap, &event->node);
            queued++;
        }
        assert_true(heap_check(&heap));
        assert_int_equal(heap.count, queued);
        assert_true(heap_is_empty(&heap) == (queued == 0));
        if (queued)
            assert_true(container_of(heap_first(&heap), struct event, node)->time ==
                        earliest(events, ARRAY_COUNT(events)));
    }
}

static void a_hundred_thousand_in_order_need_no_stack(void **state)
{
    enum { COUNT = 100000 };
    static struct event events[COUNT];
    struct heap heap;

    (void)state;
    heap_init(&heap, is_earlier);
    for (uint64_t i = 0; i < COUNT; i++) {
        events[i].time = COUNT - i;
        heap_insert(&heap, &events[i].node);
    }
    assert_true(heap_check(&heap));
    for (uint64_t i = 0; i < COUNT; i++)
        assert_int_equal(container_of(heap_pop(&heap), struct event, node)->time, i + 1);
    assert_null(heap_pop(&heap));
}

static void check_finds_a_changed_key(void **state)
{
    struct event events[3] = {{.time = 1}, {.time = 2}, {.time = 3}};
    struct heap heap;

    (void)state;
    heap_init(&heap, is_earlier);
    for (int i = 0; i < 3; i++)
        heap_insert(&heap, &events[i].node);
    assert_true(heap_check(&heap));
    events[2].time = 0;
    assert_false(heap_check(&heap));
    events[2].time = 3;
    heap.count = 2;
    assert_false(heap_check(&heap));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_ops_agree_with_looking_at_all),
        cmocka_unit_test(a_hundred_thousand_in_order_need_no_stack),
        cmocka_unit_test(check_finds_a_changed_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
