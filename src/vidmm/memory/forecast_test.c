/* Forecasts: uses that the clock passes, the first absent allocation, and what will be free. */
#include "vidmm/memory/forecast.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/segment.h"
#include "vidmm/policy.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm_private.h"

#include "base/failing_services.h"
#include "base/rng.h"

static struct rig *create(void)
{
    struct rig_config config = rig_model(0);

    return rig_create(&config);
}

static uint64_t next_use(const struct rig_object *object)
{
    uint64_t ns;

    assert_true(forecast_next_use(object->allocation, &ns));
    return ns;
}

static void the_clock_passes_uses_and_the_last_one_leaves_none(void **state)
{
    static const uint64_t uses[] = {10, 20, 20, 30}, wrong[] = {2, 1};
    struct rig *rig = create();
    struct rig_object object;
    uint64_t ns;

    rig_object(rig, 1, 1, &object);
    assert_false(forecast_next_use(object.allocation, &ns));
    assert_true(ns == VIDMM_NEVER);
    assert_int_equal(vidmm_forecast_uses(object.allocation, 4, uses), STATUS_SUCCESS);
    assert_int_equal(next_use(&object), 10);
    vidmm_forecast_time(rig->vidmm, 10, 0);
    assert_int_equal(next_use(&object), 10); /* it begins now, and has not been submitted */
    vidmm_forecast_time(rig->vidmm, 11, 0);
    assert_int_equal(next_use(&object), 20);
    vidmm_forecast_time(rig->vidmm, 30, 20);
    assert_int_equal(next_use(&object), 30);
    vidmm_forecast_time(rig->vidmm, 31, 31);
    assert_true(next_use(&object) == VIDMM_NEVER);

    assert_int_equal(vidmm_forecast_uses(object.allocation, 2, wrong), STATUS_INVALID_PARAMETER);
    failing_services_fail_at(&rig->memory, 1);
    assert_int_equal(vidmm_forecast_uses(object.allocation, 1, uses), STATUS_NO_MEMORY);
    assert_true(next_use(&object) == VIDMM_NEVER); /* as before */
    assert_int_equal(vidmm_forecast_uses(object.allocation, 0, NULL), STATUS_SUCCESS);
    assert_true(next_use(&object) == VIDMM_NEVER);
    rig_destroy_object(rig, &object);
    rig_free(rig); /* which finds what is left of a forecast */
}

static void the_absent_allocation_that_is_used_first_comes_first(void **state)
{
    enum { COUNT = 40, USES = 6 };
    struct rig *rig = create();
    struct rig_object objects[COUNT];
    uint64_t uses[COUNT][USES];
    struct rng rng;

    rng_init(&rng, 5);
    for (unsigned i = 0; i < COUNT; i++) {
        uint64_t ns = 0;

        rig_object(rig, 1, 1, &objects[i]);
        for (unsigned j = 0; j < USES; j++)
            uses[i][j] = ns += rng_below(&rng, 50);
        assert_int_equal(vidmm_forecast_uses(objects[i].allocation, USES, uses[i]), STATUS_SUCCESS);
        if (i % 4)
            rig_cpu(rig, &objects[i], true); /* content, outside of memory; the others have none */
    }
    for (uint64_t now = 0; now < 320; now += 7) {
        uint64_t first = VIDMM_NEVER, ns;
        struct vidmm_allocation *found;

        vidmm_forecast_time(rig->vidmm, now, now);
        for (unsigned i = 0; i < COUNT; i++) {
            for (unsigned j = 0; i % 4 && j < USES; j++) {
                if (uses[i][j] >= now && uses[i][j] < first)
                    first = uses[i][j];
            }
        }
        found = forecast_take_absent(rig->vidmm, &ns);
        assert_int_equal(found != NULL, first != VIDMM_NEVER);
        assert_true(ns == first);
        if (found)
            forecast_put_back(found);
    }
    for (unsigned i = 0; i < COUNT; i++)
        rig_destroy_object(rig, &objects[i]);
    rig_free(rig);
}

/* The plainest model: every moment from one to another is looked at by itself. */
static int64_t plain_least(const struct vidmm_demand *demand, unsigned count, uint64_t submitted,
                           uint64_t from, uint64_t until, int64_t free_bytes)
{
    int64_t least = INT64_MAX;

    for (uint64_t now = from; now <= until; now++) {
        int64_t then = free_bytes;

        for (unsigned i = 0; i < count; i++) {
            if (demand[i].at_ns < submitted || demand[i].at_ns > now)
                continue;
            then += (int64_t)demand[i].destroyed - (int64_t)demand[i].created;
        }
        if (then < least)
            least = then;
    }
    return least;
}

static void the_least_that_will_be_free_agrees_with_a_plain_model(void **state)
{
    enum { COUNT = 30 };
    struct rig *rig = create();
    struct vidmm_demand demand[COUNT];
    struct rng rng;

    rng_init(&rng, 6);
    for (unsigned round = 0; round < 200; round++) {
        uint64_t at = 200, submitted = at + rng_below(&rng, 60);
        uint64_t from = submitted + rng_below(&rng, 30), until = from + rng_below(&rng, 30);

        for (unsigned i = 0; i < COUNT; i++) {
            at += 1 + rng_below(&rng, 4);
            demand[i] = (struct vidmm_demand){.at_ns = at};
            if (rng_below(&rng, 2))
                demand[i].created = rng_below(&rng, 1000);
            else
                demand[i].destroyed = rng_below(&rng, 1000);
        }
        vidmm_forecast_time(rig->vidmm, 0, 0);
        assert_int_equal(vidmm_forecast_demand(rig->vidmm, 1, COUNT, demand), STATUS_SUCCESS);
        vidmm_forecast_time(rig->vidmm, submitted, submitted - rng_below(&rng, 20));
        assert_int_equal(
            forecast_least_free(rig->vidmm, &rig->vidmm->segments[0], from, until, 500),
            plain_least(demand, COUNT, submitted, from, until, 500));
        assert_int_equal(
            forecast_least_free(rig->vidmm, &rig->vidmm->segments[1], from, until, 500),
            500); /* nothing has been told of it */
    }
    assert_int_equal(vidmm_forecast_demand(rig->vidmm, 0, 0, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_forecast_demand(rig->vidmm, 99, 0, NULL), STATUS_INVALID_PARAMETER);
    demand[1].at_ns = 0;
    assert_int_equal(vidmm_forecast_demand(rig->vidmm, 1, 2, demand), STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_forecast_demand(rig->vidmm, 1, 0, NULL), STATUS_SUCCESS);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_passes_uses_and_the_last_one_leaves_none),
        cmocka_unit_test(the_absent_allocation_that_is_used_first_comes_first),
        cmocka_unit_test(the_least_that_will_be_free_agrees_with_a_plain_model),
    };

    return cmocka_run_group_tests_name("vidmm/forecast", tests, NULL, NULL);
}
