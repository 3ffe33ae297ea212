#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/node_pool.h"
#include "base/services.h"

#include <string.h>

static void memory_is_zeroed_and_counted(void **state)
{
    struct failing_services memory;
    unsigned char *bytes;

    (void)state;
    bytes = base_alloc(base_services_libc(), 100);
    assert_non_null(bytes);
    for (int i = 0; i < 100; i++)
        assert_int_equal(bytes[i], 0);
    base_free(base_services_libc(), bytes, 100);

    failing_services_init(&memory);
    bytes = base_alloc(&memory.services, 100);
    assert_non_null(bytes);
    for (int i = 0; i < 100; i++)
        assert_int_equal(bytes[i], 0);
    assert_int_equal(memory.live_blocks, 1);
    assert_int_equal(memory.live_bytes, 100);
    base_free(&memory.services, bytes, 100);
    base_free(&memory.services, NULL, 100);
    assert_int_equal(memory.live_blocks, 0);
    assert_int_equal(memory.live_bytes, 0);
    assert_int_equal(memory.peak_bytes, 100);
}

static void sizes_that_make_no_sense_give_nothing(void **state)
{
    (void)state;
    assert_null(base_alloc(base_services_libc(), 0));
    assert_null(base_alloc_array(base_services_libc(), SIZE_MAX / 2, 3));
    assert_null(base_alloc_array(base_services_libc(), 0, 3));
}

static void exactly_the_nth_allocation_fails(void **state)
{
    struct failing_services memory;
    void *blocks[4];

    (void)state;
    failing_services_init(&memory);
    failing_services_fail_at(&memory, 3);
    for (int i = 0; i < 4; i++)
        blocks[i] = base_alloc(&memory.services, 8);
    assert_non_null(blocks[0]);
    assert_non_null(blocks[1]);
    assert_null(blocks[2]);
    assert_non_null(blocks[3]);
    assert_true(memory.has_failed);
    assert_int_equal(memory.allocation_count, 4);
    for (int i = 0; i < 4; i++)
        base_free(&memory.services, blocks[i], 8);
    assert_int_equal(memory.live_blocks, 0);
}

static void nodes_are_aligned_distinct_and_reused(void **state)
{
    enum { COUNT = 1000, SIZE = 192 };
    static void *nodes[COUNT];
    struct failing_services memory;
    struct node_pool pool;
    size_t bytes;

    (void)state;
    failing_services_init(&memory);
    node_pool_init(&pool, &memory.services, SIZE, 64);
    for (int i = 0; i < COUNT; i++) {
        nodes[i] = node_pool_get(&pool);
        assert_non_null(nodes[i]);
        assert_int_equal((uintptr_t)nodes[i] % 64, 0);
        memset(nodes[i], i & 0xff, SIZE);
    }
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < SIZE; j++)
            assert_int_equal(((unsigned char *)nodes[i])[j], i & 0xff);
    }
    bytes = pool.bytes;
    for (int i = 0; i < COUNT; i++)
        node_pool_put(&pool, nodes[i]);
    assert_int_equal(pool.spare_count, pool.node_count);
    assert_ptr_equal(node_pool_get(&pool), nodes[COUNT - 1]);
    assert_int_equal(pool.bytes, bytes);
    assert_int_equal(pool.bytes, memory.live_bytes);
    node_pool_fini(&pool);
    assert_int_equal(memory.live_blocks, 0);
}

static void a_reservation_makes_gets_succeed(void **state)
{
    struct failing_services memory;
    struct node_pool pool;

    (void)state;
    failing_services_init(&memory);
    node_pool_init(&pool, &memory.services, 64, 8);
    failing_services_fail_at(&memory, 1);
    assert_false(node_pool_reserve(&pool, 20));
    assert_int_equal(pool.node_count, 0);
    assert_true(node_pool_reserve(&pool, 20));
    failing_services_fail_at(&memory, 1);
    assert_true(pool.spare_count >= 20);
    for (size_t i = pool.spare_count; i; i--)
        assert_non_null(node_pool_get(&pool));
    assert_null(node_pool_get(&pool));
    assert_true(memory.has_failed);
    node_pool_fini(&pool);
    assert_int_equal(memory.live_blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_counted),
        cmocka_unit_test(sizes_that_make_no_sense_give_nothing),
        cmocka_unit_test(exactly_the_nth_allocation_fails),
        cmocka_unit_test(nodes_are_aligned_distinct_and_reused),
        cmocka_unit_test(a_reservation_makes_gets_succeed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
