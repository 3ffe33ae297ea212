/* The id map against an array. */
#include "check/ledger/id_map.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define KEYS 300u

static int objects[KEYS];

static void random_ops_agree_with_an_array(void **state)
{
    struct failing_services memory;
    void *plain[KEYS] = {0};
    struct id_map map;
    struct rng rng;
    size_t count = 0;

    failing_services_init(&memory);
    id_map_init(&map, &memory.services);
    rng_init(&rng, 1);
    for (int step = 0; step < 200000; step++) {
        uint64_t key = rng_below(&rng, KEYS);
        size_t position = 0;
        size_t walked = 0;

        if (rng_below(&rng, 2)) {
            count += !plain[key];
            plain[key] = &objects[rng_below(&rng, KEYS)];
            assert_true(id_map_set(&map, key << 40, plain[key]));
        } else {
            assert_ptr_equal(id_map_remove(&map, key << 40), plain[key]);
            count -= plain[key] != NULL;
            plain[key] = NULL;
        }
        key = rng_below(&rng, KEYS);
        assert_ptr_equal(id_map_find(&map, key << 40), plain[key]);
        assert_int_equal(map.count, count);
        if (step % 1000 == 0) {
            while (id_map_next(&map, &position))
                walked++;
            assert_int_equal(walked, count);
        }
    }
    id_map_fini(&map);
    assert_int_equal(memory.live_blocks, 0);
}

static void a_failed_set_changes_nothing(void **state)
{
    struct failing_services memory;
    struct id_map map;

    failing_services_init(&memory);
    id_map_init(&map, &memory.services);
    for (uint64_t key = 0; key < 8; key++)
        assert_true(id_map_set(&map, key, &objects[key]));
    failing_services_fail_at(&memory, 1);
    assert_false(id_map_set(&map, 8, &objects[8]));
    assert_true(id_map_set(&map, 3, &objects[30])); /* needs no memory */
    assert_null(id_map_find(&map, 8));
    assert_ptr_equal(id_map_find(&map, 3), &objects[30]);
    assert_int_equal(map.count, 8);
    id_map_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_ops_agree_with_an_array),
        cmocka_unit_test(a_failed_set_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
