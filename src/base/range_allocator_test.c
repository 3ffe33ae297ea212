#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/range_allocator.h"
#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRANULARITY (4 * KiB)
#define BASE        (64 * MiB)

/* The plainest true model: one byte for each unit, taken or not, and the owner of each. */
struct model {
    uint64_t unit_count;
    uint64_t *owners; /* 0 for free; owners in these tests are never 0 */
};

static void assert_whole(const struct range_allocator *ra)
{
    const char *broken = range_allocator_check(ra);

    if (broken)
        fail_msg("range_allocator_check: %s", broken);
}

static uint64_t take(struct range_allocator *ra, uint64_t size, uint64_t owner)
{
    struct range_request request = {.size = size, .owner = owner};
    uint64_t offset;

    assert_int_equal(range_allocator_take(ra, &request, &offset), RANGE_OK);
    return offset;
}

static bool model_is_free(const struct model *model, uint64_t start, uint64_t units)
{
    for (uint64_t i = start; i < start + units; i++) {
        if (model->owners[i])
            return false;
    }
    return true;
}

static void model_set(struct model *model, uint64_t start, uint64_t units, uint64_t owner)
{
    for (uint64_t i = start; i < start + units; i++)
        model->owners[i] = owner;
}

/* The lowest or highest start that the request allows; false when there is none. */
static bool model_find(const struct model *model, const struct range_request *request,
                       bool is_highest, uint64_t *out_offset)
{
    uint64_t units = div_round_up(request->size, GRANULARITY);
    bool is_found = false;

    for (uint64_t i = 0; i + units <= model->unit_count; i++) {
        uint64_t offset = BASE + i * GRANULARITY;
        uint64_t end = offset + units * GRANULARITY;

        if ((request->alignment && offset % request->alignment) || offset < request->window_low ||
            (request->window_high && end > request->window_high) || !model_is_free(model, i, units))
            continue;
        *out_offset = offset;
        is_found = true;
        if (!is_highest)
            break;
    }
    return is_found;
}

static uint64_t model_largest(const struct model *model, uint64_t *out_free)
{
    uint64_t largest = 0, run = 0;

    *out_free = 0;
    for (uint64_t i = 0; i < model->unit_count; i++) {
        run = model->owners[i] ? 0 : run + 1;
        *out_free += !model->owners[i];
        largest = max_u64(largest, run);
    }
    return largest;
}

static struct range_request random_request(struct rng *rng, uint64_t unit_count, uint64_t units_max,
                                           uint64_t owner)
{
    struct range_request request = {
        .size = rng_between(rng, 1, units_max * GRANULARITY),
        .owner = owner,
        .place = (enum range_place)rng_below(rng, 3),
    };

    if (rng_chance(rng, 1, 3))
        request.alignment = GRANULARITY << rng_below(rng, 6);
    if (rng_chance(rng, 1, 3)) {
        request.window_low = BASE + rng_below(rng, unit_count * GRANULARITY);
        if (rng_chance(rng, 1, 2))
            request.window_high =
                request.window_low + rng_below(rng, unit_count * GRANULARITY / 2) + 1;
    }
    return request;
}

static void assert_agrees(struct range_allocator *ra, const struct model *model)
{
    uint64_t free_units;
    uint64_t largest = model_largest(model, &free_units);
    uint64_t at = BASE;
    struct range_info info;

    assert_int_equal(range_allocator_free_bytes(ra), free_units * GRANULARITY);
    assert_int_equal(range_allocator_largest_free(ra), largest * GRANULARITY);
    for (; range_allocator_range_at(ra, at, &info); at = info.offset + info.size) {
        assert_int_equal(info.offset, at);
        for (uint64_t i = 0; i < info.size / GRANULARITY; i++)
            assert_int_equal(model->owners[(at - BASE) / GRANULARITY + i],
                             info.is_free ? 0 : info.owner);
    }
    assert_int_equal(at, BASE + model->unit_count * GRANULARITY);
}

struct live {
    uint64_t offset;
    uint64_t size;
    uint32_t handle; /* 0: it was taken without one */
};

/* By handle, where there is one, every second time. */
static void release(struct range_allocator *ra, const struct live *live)
{
    if (live->handle && live->offset / GRANULARITY % 2)
        assert_int_equal(range_allocator_release_handle(ra, live->handle), RANGE_OK);
    else
        assert_int_equal(range_allocator_release(ra, live->offset, live->size), RANGE_OK);
}

static void run_against_model(uint64_t seed, uint64_t unit_count, uint64_t units_max,
                              unsigned steps, unsigned check_every, bool has_placement)
{
    struct failing_services memory;
    struct range_allocator ra;
    struct model model = {unit_count, calloc(unit_count, sizeof(uint64_t))};
    struct live *lives = calloc(unit_count, sizeof *lives);
    uint64_t live_count = 0;
    unsigned fill_percent = 0;
    struct rng rng;

    assert_non_null(model.owners);
    assert_non_null(lives);
    rng_init(&rng, seed);
    failing_services_init(&memory);
    assert_int_equal(
        range_allocator_init(&ra, &memory.services, BASE, unit_count * GRANULARITY, GRANULARITY),
        RANGE_OK);

    for (unsigned step = 0; step < steps; step++) {
        if (step % (steps / 8) == 0)
            fill_percent = step == 0 ? 80 : (unsigned)rng_between(&rng, 20, 80);
        if (live_count == 0 || rng_chance(&rng, fill_percent, 100)) {
            struct range_request request = random_request(&rng, unit_count, units_max, step + 1);
            uint64_t units = div_round_up(request.size, GRANULARITY);
            uint64_t offset, expected = 0;
            uint32_t handle = 0;
            enum range_status status;

            bool is_fixed = rng_chance(&rng, 1, 8);

            if (!has_placement || is_fixed)
                request = (struct range_request){.size = request.size, .owner = step + 1};
            if (is_fixed) {
                uint64_t start = rng_below(&rng, unit_count - units + 1);
                bool is_free = model_is_free(&model, start, units);

                offset = BASE + start * GRANULARITY;
                status = range_allocator_take_at(&ra, offset, request.size, request.owner);
                assert_int_equal(status, is_free ? RANGE_OK : RANGE_FULL);
            } else if (has_placement) {
                bool is_found =
                    model_find(&model, &request, request.place == RANGE_HIGHEST, &expected);

                status = range_allocator_take_handle(&ra, &request, &offset, &handle);
                assert_int_equal(status, is_found ? RANGE_OK : RANGE_FULL);
                if (!is_found || request.place != RANGE_ANYWHERE)
                    assert_int_equal(offset, expected);
            } else {
                status = range_allocator_take_handle(&ra, &request, &offset, &handle);
                if (status != RANGE_OK)
                    assert_true(range_allocator_largest_free(&ra) < units * GRANULARITY);
            }
            if (status == RANGE_OK) {
                assert_int_equal(offset % max_u64(request.alignment, GRANULARITY), 0);
                assert_true(offset >= request.window_low);
                if (request.window_high)
                    assert_true(offset + units * GRANULARITY <= request.window_high);
                assert_true(model_is_free(&model, (offset - BASE) / GRANULARITY, units));
                model_set(&model, (offset - BASE) / GRANULARITY, units, request.owner);
                lives[live_count++] = (struct live){offset, request.size, handle};
            }
        } else {
            uint64_t i = rng_below(&rng, live_count);
            struct live live = lives[i];
            uint64_t start = (live.offset - BASE) / GRANULARITY;
            struct range_info info;

            assert_true(range_allocator_find(&ra, live.offset + rng_below(&rng, live.size), &info));
            assert_int_equal(info.offset, live.offset);
            assert_int_equal(info.owner, model.owners[start]);
            release(&ra, &live);
            assert_false(range_allocator_find(&ra, live.offset, &info));
            model_set(&model, start, div_round_up(live.size, GRANULARITY), 0);
            lives[i] = lives[--live_count];
        }
        assert_int_equal(range_allocator_live_count(&ra), live_count);
        if (step % check_every == 0) {
            assert_whole(&ra);
            assert_agrees(&ra, &model);
        }
    }

    while (live_count) {
        release(&ra, &lives[--live_count]);
        if (live_count % check_every == 0)
            assert_whole(&ra);
    }
    assert_whole(&ra);
    assert_int_equal(range_allocator_hole_count(&ra), 1);
    assert_int_equal(range_allocator_largest_free(&ra), unit_count * GRANULARITY);
    range_allocator_fini(&ra);
    assert_int_equal(memory.live_blocks, 0);
    assert_int_equal(memory.live_bytes, 0);
    free(lives);
    free(model.owners);
}

static void random_ops_agree_with_an_array(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        print_message("seed %u\n", (unsigned)seed);
        run_against_model(seed, 64, 6, 600, 1, true);
        run_against_model(seed, 700, 12, 1500, 1, true);
        run_against_model(seed, 3000, 5, 4000, 31, true);
    }
}

/* Enough ranges for four levels of nodes, which are then taken down again. */
static void random_ops_on_a_tall_tree_agree_with_an_array(void **state)
{
    (void)state;
    run_against_model(21, 100000, 3, 120000, 12000, false);
    run_against_model(22, 60000, 2, 120000, 12000, false);
    run_against_model(23, 20000, 2, 12000, 1500, true); /* two, with windows at both ends */
}

static void takes_an_exact_fit_and_merges_on_release(void **state)
{
    struct range_allocator ra;
    uint64_t a, b, c;

    (void)state;
    assert_int_equal(
        range_allocator_init(&ra, base_services_libc(), BASE, 12 * GRANULARITY, GRANULARITY),
        RANGE_OK);
    a = take(&ra, 4 * GRANULARITY, 1);
    b = take(&ra, 4 * GRANULARITY, 2);
    c = take(&ra, 4 * GRANULARITY, 3);
    assert_int_equal(range_allocator_hole_count(&ra), 0);
    assert_int_equal(range_allocator_free_bytes(&ra), 0);

    assert_int_equal(range_allocator_release(&ra, a, 4 * GRANULARITY), RANGE_OK);
    assert_int_equal(range_allocator_release(&ra, c, 4 * GRANULARITY), RANGE_OK);
    assert_int_equal(range_allocator_hole_count(&ra), 2);
    assert_int_equal(range_allocator_largest_free(&ra), 4 * GRANULARITY);
    assert_int_equal(take(&ra, 4 * GRANULARITY, 4), a);
    assert_int_equal(range_allocator_release(&ra, a, 4 * GRANULARITY), RANGE_OK);

    assert_int_equal(range_allocator_release(&ra, b, 4 * GRANULARITY), RANGE_OK);
    assert_int_equal(range_allocator_hole_count(&ra), 1);
    assert_int_equal(range_allocator_largest_free(&ra), 12 * GRANULARITY);
    assert_whole(&ra);
    range_allocator_fini(&ra);
}

static void take_fails_cleanly_when_full(void **state)
{
    struct range_request request = {.size = GRANULARITY};
    struct range_allocator ra;
    uint64_t offset = 1;

    (void)state;
    assert_int_equal(
        range_allocator_init(&ra, base_services_libc(), 0, 2 * GRANULARITY, GRANULARITY), RANGE_OK);
    take(&ra, 2 * GRANULARITY, 1);
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_FULL);
    assert_int_equal(offset, 0);
    assert_int_equal(range_allocator_take_at(&ra, GRANULARITY, GRANULARITY, 2), RANGE_FULL);
    assert_int_equal(range_allocator_release(&ra, 0, 2 * GRANULARITY), RANGE_OK);
    request.size = 3 * GRANULARITY;
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_FULL);
    request.size = UINT64_MAX;
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_FULL);
    assert_whole(&ra);
    range_allocator_fini(&ra);
}

static void release_refuses_what_is_not_a_live_range(void **state)
{
    struct range_allocator ra;
    uint64_t a;

    (void)state;
    assert_int_equal(
        range_allocator_init(&ra, base_services_libc(), BASE, 64 * GRANULARITY, GRANULARITY),
        RANGE_OK);
    a = take(&ra, 8 * GRANULARITY, 1);
    assert_int_equal(range_allocator_release(&ra, a, 4 * GRANULARITY), RANGE_INVALID);
    assert_int_equal(range_allocator_release(&ra, a, 9 * GRANULARITY), RANGE_INVALID);
    assert_int_equal(range_allocator_release(&ra, a + GRANULARITY, 7 * GRANULARITY), RANGE_INVALID);
    assert_int_equal(range_allocator_release(&ra, a + 1, 8 * GRANULARITY), RANGE_INVALID);
    assert_int_equal(range_allocator_release(&ra, a + 8 * GRANULARITY, 56 * GRANULARITY),
                     RANGE_INVALID);
    assert_int_equal(range_allocator_release(&ra, 0, GRANULARITY), RANGE_INVALID);
    assert_int_equal(range_allocator_release(&ra, BASE + 64 * GRANULARITY, GRANULARITY),
                     RANGE_INVALID);
    assert_int_equal(range_allocator_release(&ra, a, 0), RANGE_INVALID);
    assert_int_equal(range_allocator_release(&ra, a, UINT64_MAX), RANGE_INVALID);
    assert_int_equal(range_allocator_release(&ra, a, 8 * GRANULARITY), RANGE_OK);
    assert_int_equal(range_allocator_release(&ra, a, 8 * GRANULARITY), RANGE_INVALID);
    assert_whole(&ra);
    range_allocator_fini(&ra);
}

static void init_refuses_what_is_no_space(void **state)
{
    const struct base_services *libc = base_services_libc();
    struct range_allocator ra;

    (void)state;
    assert_int_equal(range_allocator_init(&ra, libc, 0, 0, GRANULARITY), RANGE_INVALID);
    assert_int_equal(range_allocator_init(&ra, libc, 0, GRANULARITY, 0), RANGE_INVALID);
    assert_int_equal(range_allocator_init(&ra, libc, 0, GRANULARITY, 3), RANGE_INVALID);
    assert_int_equal(range_allocator_init(&ra, libc, 1, GRANULARITY, GRANULARITY), RANGE_INVALID);
    assert_int_equal(range_allocator_init(&ra, libc, 0, 1, GRANULARITY), RANGE_INVALID);
    assert_int_equal(
        range_allocator_init(&ra, libc, UINT64_MAX - GRANULARITY + 1, GRANULARITY, GRANULARITY),
        RANGE_INVALID);
    range_allocator_fini(&ra);
}

static void a_space_up_to_the_top_works(void **state)
{
    const uint64_t unit = 1024;
    struct range_request request = {.size = 1, .place = RANGE_HIGHEST, .alignment = unit};
    struct range_allocator ra;
    uint64_t offset;

    (void)state;
    assert_int_equal(range_allocator_init(&ra, base_services_libc(), 0, UINT64_C(1) << 63, 256),
                     RANGE_INVALID); /* 2^55 units */
    assert_int_equal(range_allocator_init(&ra, base_services_libc(), unit, 0 - 2 * unit, unit),
                     RANGE_OK);
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    assert_int_equal(offset, 0 - 2 * unit);
    request.alignment = UINT64_C(1) << 63;
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    assert_int_equal(offset, UINT64_C(1) << 63);
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_FULL);
    request.place = RANGE_ANYWHERE;
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_FULL);
    assert_whole(&ra);
    range_allocator_fini(&ra);
}

static void placement_and_windows_choose_the_end_they_name(void **state)
{
    struct range_request request = {.size = 2 * GRANULARITY};
    struct range_allocator ra;
    uint64_t offset;

    (void)state;
    assert_int_equal(
        range_allocator_init(&ra, base_services_libc(), BASE, 64 * GRANULARITY, GRANULARITY),
        RANGE_OK);
    request.place = RANGE_LOWEST;
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    assert_int_equal(offset, BASE);
    request.place = RANGE_HIGHEST;
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    assert_int_equal(offset, BASE + 62 * GRANULARITY);
    request.alignment = 16 * GRANULARITY;
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    assert_int_equal(offset, BASE + 48 * GRANULARITY);

    request = (struct range_request){.size = 2 * GRANULARITY,
                                     .window_low = BASE + 20 * GRANULARITY + 1,
                                     .window_high = BASE + 24 * GRANULARITY - 1};
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    assert_int_equal(offset, BASE + 21 * GRANULARITY);
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_FULL);
    assert_whole(&ra);
    range_allocator_fini(&ra);
}

static void a_preference_is_followed_while_it_can_be(void **state)
{
    struct range_request request = {.size = 4 * GRANULARITY,
                                    .preferred_low = BASE + 32 * GRANULARITY,
                                    .preferred_high = BASE + 40 * GRANULARITY};
    struct range_allocator ra;
    uint64_t offset;

    (void)state;
    assert_int_equal(
        range_allocator_init(&ra, base_services_libc(), BASE, 64 * GRANULARITY, GRANULARITY),
        RANGE_OK);
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    assert_int_equal(offset, BASE + 32 * GRANULARITY);
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    assert_int_equal(offset, BASE + 36 * GRANULARITY);
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    assert_true(offset + 4 * GRANULARITY <= BASE + 32 * GRANULARITY ||
                offset >= BASE + 40 * GRANULARITY);
    assert_whole(&ra);
    range_allocator_fini(&ra);
}

/*
 * Only one hole suits the alignment, behind far more holes than the bins' tries: the search must
 * still find it, and then say full.
 */
static void an_aligned_hole_is_found_behind_many_that_do_not_fit(void **state)
{
    struct range_request request = {.size = 2 * GRANULARITY, .alignment = 8 * GRANULARITY};
    const uint64_t unit_count = 4096, suitable = 2048;
    struct range_allocator ra;
    uint64_t offset;

    (void)state;
    assert_int_equal(
        range_allocator_init(&ra, base_services_libc(), 0, unit_count * GRANULARITY, GRANULARITY),
        RANGE_OK);
    for (uint64_t i = 0; i < unit_count; i++)
        assert_int_equal(range_allocator_take_at(&ra, i * GRANULARITY, GRANULARITY, i), RANGE_OK);
    for (uint64_t i = 0; i < unit_count; i += 8) {
        uint64_t first = i == suitable ? i : i + 3;

        assert_int_equal(range_allocator_release(&ra, first * GRANULARITY, GRANULARITY), RANGE_OK);
        assert_int_equal(range_allocator_release(&ra, (first + 1) * GRANULARITY, GRANULARITY),
                         RANGE_OK);
    }
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    assert_int_equal(offset, suitable * GRANULARITY);
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_FULL);
    assert_whole(&ra);
    range_allocator_fini(&ra);
}

/*
 * A search in vain among holes that are large enough and badly aligned is paid for once: it leaves
 * bounds that keep the next one out. With them a space full of such holes costs what any other
 * does.
 */
static void a_search_in_vain_leaves_bounds_for_its_alignment(void **state)
{
    const uint64_t granule = 16 * GRANULARITY, granule_count = 4096;
    struct range_request request = {.size = GRANULARITY, .alignment = granule};
    struct range_inner *root;
    struct range_allocator ra;
    uint64_t offset;

    (void)state;
    assert_int_equal(
        range_allocator_init(&ra, base_services_libc(), 0, granule_count * granule, GRANULARITY),
        RANGE_OK);
    request.place = RANGE_LOWEST;
    for (uint64_t i = 0; i < granule_count; i++) {
        assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
        assert_int_equal(offset, i * granule);
    }
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_FULL);
    assert_whole(&ra);
    assert_true(ra.tree.height > 1);
    root = (struct range_inner *)ra.tree.inners.items + ra.tree.root;
    for (unsigned i = 0; i < root->count; i++)
        assert_int_equal(root->largest[1][i], 0);

    /* A hole that is aligned raises the bounds of all tiers again. */
    assert_int_equal(range_allocator_release(&ra, 3000 * granule, GRANULARITY), RANGE_OK);
    assert_whole(&ra);
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    assert_int_equal(offset, 3000 * granule);
    request.alignment = GRANULARITY;
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    assert_int_equal(offset, GRANULARITY);
    root->largest[2][0] = 0;
    root->largest[1][0] = 0;
    assert_whole(&ra);
    root->largest[0][0] = 14;
    assert_non_null(range_allocator_check(&ra));
    range_allocator_fini(&ra);
}

/* One run of takes and releases, all of which may fail for memory; the allocator stays whole. */
static void run_with_failures(struct failing_services *memory, uint64_t fail_at)
{
    struct range_allocator ra;
    static struct live lives[3000];
    unsigned live_count = 0;
    uint64_t taken = 0;
    enum range_status status;
    struct rng rng;

    rng_init(&rng, 7);
    failing_services_init(memory);
    failing_services_fail_at(memory, fail_at);
    status = range_allocator_init(&ra, &memory->services, BASE, 20000 * GRANULARITY, GRANULARITY);
    if (status != RANGE_OK) {
        assert_int_equal(status, RANGE_NO_MEMORY);
        range_allocator_fini(&ra);
        assert_int_equal(memory->live_blocks, 0);
        return;
    }
    for (unsigned step = 0; step < 6000; step++) {
        if (live_count < ARRAY_COUNT(lives) && (live_count == 0 || rng_chance(&rng, 2, 3))) {
            struct range_request request = {.size = rng_between(&rng, 1, 12) * GRANULARITY};
            uint64_t offset;

            status = range_allocator_take(&ra, &request, &offset);
            if (status == RANGE_OK) {
                lives[live_count++] = (struct live){.offset = offset, .size = request.size};
                taken += request.size;
            } else {
                assert_true(status == RANGE_NO_MEMORY || status == RANGE_FULL);
                assert_int_equal(offset, 0);
            }
        } else {
            unsigned i = (unsigned)rng_below(&rng, live_count);

            assert_int_equal(range_allocator_release(&ra, lives[i].offset, lives[i].size),
                             RANGE_OK);
            taken -= lives[i].size;
            lives[i] = lives[--live_count];
        }
        if (step % 64 == 0 || memory->fail_at == 1)
            assert_whole(&ra);
        assert_int_equal(range_allocator_free_bytes(&ra), 20000 * GRANULARITY - taken);
        assert_int_equal(range_allocator_live_count(&ra), live_count);
    }
    assert_whole(&ra);
    while (live_count--)
        assert_int_equal(
            range_allocator_release(&ra, lives[live_count].offset, lives[live_count].size),
            RANGE_OK);
    assert_whole(&ra);
    assert_int_equal(range_allocator_largest_free(&ra), 20000 * GRANULARITY);
    range_allocator_fini(&ra);
    assert_int_equal(memory->live_blocks, 0);
    assert_int_equal(memory->live_bytes, 0);
}

static void every_nth_allocation_failure_leaves_it_whole(void **state)
{
    struct failing_services memory;
    uint64_t n = 0;

    (void)state;
    do
        run_with_failures(&memory, ++n);
    while (memory.has_failed);
    assert_true(n > 10);
}

static void *refuse(void *context, size_t size)
{
    (void)context;
    (void)size;
    return NULL;
}

/* The index is a help: without memory for it, or for a change of it, everything works without. */
static void without_memory_for_an_index_a_search_walks(void **state)
{
    struct failing_services memory;
    struct range_request request = {.size = GRANULARITY, .place = RANGE_LOWEST};
    struct range_allocator ra;
    struct range_info info;
    void *(*allocate)(void *context, size_t size);
    uint64_t offset;

    (void)state;
    failing_services_init(&memory);
    allocate = memory.services.allocate;
    assert_int_equal(
        range_allocator_init(&ra, &memory.services, 0, 2000 * GRANULARITY, GRANULARITY), RANGE_OK);
    for (uint64_t i = 0; i < 1000; i++)
        take(&ra, GRANULARITY, i + 1);
    assert_false(ra.tree.is_made);
    memory.services.allocate = refuse;
    for (uint64_t i = 0; i < 1000; i += 2)
        assert_int_equal(range_allocator_release(&ra, i * GRANULARITY, GRANULARITY), RANGE_OK);
    assert_true(range_allocator_find(&ra, 501 * GRANULARITY, &info));
    assert_int_equal(info.owner, 502);
    assert_false(ra.tree.is_made);
    for (uint64_t i = 0; i < 100; i += 2) {
        assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
        assert_int_equal(offset, i * GRANULARITY);
    }
    assert_whole(&ra);

    memory.services.allocate = allocate;
    assert_true(range_allocator_find(&ra, 501 * GRANULARITY, &info));
    assert_true(ra.tree.is_made);
    assert_whole(&ra);
    request.place = RANGE_HIGHEST;
    while (ra.tree.leaves.spare_count || ra.nodes.spare_count < 40)
        assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    memory.services.allocate = refuse;
    for (unsigned i = 0; i < 40; i++) {
        uint64_t before = offset;

        assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
        assert_int_equal(offset, before - GRANULARITY);
    }
    assert_false(ra.tree.is_made); /* there was no leaf for the last ones */
    assert_whole(&ra);
    memory.services.allocate = allocate;
    range_allocator_fini(&ra);
    assert_int_equal(memory.live_blocks, 0);
}

/* A space from which only some place is asked, and given back by handle, has no index. */
static void handles_need_no_index(void **state)
{
    struct range_request request = {.size = 3 * GRANULARITY, .owner = 7};
    uint32_t handles[200];
    struct range_allocator ra;
    uint64_t offset;

    (void)state;
    assert_int_equal(
        range_allocator_init(&ra, base_services_libc(), BASE, 600 * GRANULARITY, GRANULARITY),
        RANGE_OK);
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(range_allocator_take_handle(&ra, &request, &offset, &handles[i]),
                         RANGE_OK);
        assert_int_not_equal(handles[i], 0);
    }
    assert_int_equal(range_allocator_take_handle(&ra, &request, &offset, &handles[0]), RANGE_FULL);
    assert_int_equal(handles[0], 0);
    assert_int_equal(range_allocator_release_handle(&ra, handles[0]), RANGE_INVALID);
    for (unsigned i = 1; i < 200; i += 2) {
        assert_int_equal(range_allocator_release_handle(&ra, handles[i]), RANGE_OK);
        assert_int_equal(range_allocator_release_handle(&ra, handles[i]), RANGE_INVALID);
    }
    assert_int_equal(range_allocator_hole_count(&ra), 100);
    for (unsigned i = 2; i < 200; i += 2)
        assert_int_equal(range_allocator_release_handle(&ra, handles[i]), RANGE_OK);
    assert_int_equal(range_allocator_release_handle(&ra, handles[2]), RANGE_INVALID);
    assert_int_equal(range_allocator_release_handle(&ra, UINT32_MAX), RANGE_INVALID);
    assert_int_equal(range_allocator_live_count(&ra), 1);
    assert_int_equal(range_allocator_hole_count(&ra), 1);
    assert_false(ra.tree.is_made);
    assert_whole(&ra);
    range_allocator_fini(&ra);
}

/*
 * Where every range begins at 16 units, the ends that are left over are no candidates: the bins
 * come to sort holes by what is behind that alignment.
 */
static void bins_sort_by_the_alignment_that_most_requests_have(void **state)
{
    struct range_request request = {.size = 5 * GRANULARITY, .alignment = 16 * GRANULARITY};
    struct range_allocator ra;
    struct range_info info;
    uint64_t offset;

    (void)state;
    assert_int_equal(
        range_allocator_init(&ra, base_services_libc(), 0, 16000 * GRANULARITY, GRANULARITY),
        RANGE_OK);
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
        assert_int_equal(offset % request.alignment, 0);
    }
    assert_int_equal(ra.key_tier, 1);
    assert_int_equal(range_allocator_free_bytes(&ra), 11000 * GRANULARITY);
    assert_true(range_allocator_hole_count(&ra) < 700); /* the other ends are slack */
    assert_whole(&ra);
    assert_true(range_allocator_range_at(&ra, (16 * 999 + 7) * GRANULARITY, &info));
    assert_true(info.is_free);
    assert_int_equal(info.offset, (16 * 999 + 5) * GRANULARITY);
    assert_int_equal(info.size, 11 * GRANULARITY);
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_FULL);
    assert_true(ra.slack_units > 0);
    assert_int_equal(range_allocator_release(&ra, 16 * 999 * GRANULARITY, 5 * GRANULARITY),
                     RANGE_OK);
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    assert_int_equal(offset, 16 * 999 * GRANULARITY);

    /* They are still there for those who can use them, who bring the old order back. */
    request = (struct range_request){.size = 11 * GRANULARITY};
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_OK);
    assert_int_equal(ra.slack_units, 0);
    assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_FULL);
    for (unsigned i = 0; i < 2000; i++)
        assert_int_equal(range_allocator_take(&ra, &request, &offset), RANGE_FULL);
    assert_int_equal(ra.key_tier, 0);
    assert_int_equal(range_allocator_free_bytes(&ra), 0);
    assert_whole(&ra);
    range_allocator_fini(&ra);
}

/* Aligned requests, and so many among them that are not, against the plainest model. */
static void run_aligned_against_model(uint64_t seed, unsigned others_percent)
{
    const uint64_t unit_count = 4000;
    struct model model = {unit_count, calloc(unit_count, sizeof(uint64_t))};
    struct live *lives = calloc(unit_count, sizeof *lives);
    unsigned live_count = 0, fill_percent = 90;
    struct range_allocator ra;
    bool had_slack = false;
    struct rng rng;

    assert_non_null(model.owners);
    assert_non_null(lives);
    rng_init(&rng, seed);
    assert_int_equal(range_allocator_init(&ra, base_services_libc(), BASE, unit_count * GRANULARITY,
                                          GRANULARITY),
                     RANGE_OK);
    for (unsigned step = 0; step < 6000; step++) {
        if (step % 500 == 499)
            fill_percent = (unsigned)rng_between(&rng, 20, 90);
        if (!live_count || rng_chance(&rng, fill_percent, 100)) {
            bool is_other = step > 1000 && rng_chance(&rng, others_percent, 100);
            struct range_request request = {.size = rng_between(&rng, 1, 40) * GRANULARITY,
                                            .alignment = 16 * GRANULARITY,
                                            .owner = step + 1};
            uint64_t units = request.size / GRANULARITY, offset, expected = 0;
            uint32_t handle;
            bool is_found;

            if (is_other)
                request.alignment = GRANULARITY << rng_below(&rng, 7);
            if (is_other && rng_chance(&rng, 1, 4))
                request.place = RANGE_LOWEST;
            is_found = model_find(&model, &request, false, &expected);
            assert_int_equal(range_allocator_take_handle(&ra, &request, &offset, &handle),
                             is_found ? RANGE_OK : RANGE_FULL);
            had_slack = had_slack || ra.slack_units;
            if (!is_found)
                continue;
            if (request.place == RANGE_LOWEST)
                assert_int_equal(offset, expected);
            assert_int_equal(offset % request.alignment, 0);
            assert_true(model_is_free(&model, (offset - BASE) / GRANULARITY, units));
            model_set(&model, (offset - BASE) / GRANULARITY, units, request.owner);
            lives[live_count++] = (struct live){offset, request.size, handle};
        } else {
            unsigned i = (unsigned)rng_below(&rng, live_count);

            release(&ra, &lives[i]);
            model_set(&model, (lives[i].offset - BASE) / GRANULARITY, lives[i].size / GRANULARITY,
                      0);
            lives[i] = lives[--live_count];
        }
        if (step % 16 == 0)
            assert_whole(&ra);
        if (step % 600 == 0) {
            uint64_t free_units;

            model_largest(&model, &free_units);
            assert_int_equal(range_allocator_free_bytes(&ra), free_units * GRANULARITY);
        }
    }
    assert_true(had_slack);
    assert_agrees(&ra, &model);
    while (live_count)
        release(&ra, &lives[--live_count]);
    assert_whole(&ra);
    assert_int_equal(range_allocator_hole_count(&ra), 1);
    range_allocator_fini(&ra);
    free(lives);
    free(model.owners);
}

static void aligned_requests_agree_with_an_array(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        run_aligned_against_model(seed, 0);
        run_aligned_against_model(seed, 1);
        run_aligned_against_model(seed, 30);
    }
}

/*
 * Ranges that come and go by handle, most of them of sizes that come again, and now and then
 * somebody who looks at the holes: a lookup, a request by address, one that only merged holes hold.
 */
static void run_kept_against_model(uint64_t seed, uint64_t alignment)
{
    const uint64_t unit_count = 3000;
    struct model model = {unit_count, calloc(unit_count, sizeof(uint64_t))};
    struct live *lives = calloc(unit_count, sizeof *lives);
    unsigned live_count = 0, kept_steps = 0;
    struct range_allocator ra;
    struct rng rng;

    assert_non_null(model.owners);
    assert_non_null(lives);
    rng_init(&rng, seed);
    assert_int_equal(range_allocator_init(&ra, base_services_libc(), BASE, unit_count * GRANULARITY,
                                          GRANULARITY),
                     RANGE_OK);
    for (unsigned step = 0; step < 12000; step++) {
        uint64_t low = BASE, free_units, largest = model_largest(&model, &free_units);

        if (free_units > unit_count / 10 || !live_count) {
            struct range_request request = {.size = rng_between(&rng, 1, 9) * GRANULARITY,
                                            .alignment = alignment,
                                            .owner = step + 1};
            uint64_t offset, expected;
            enum range_status status;
            uint32_t handle;
            bool is_found;

            if (rng_chance(&rng, 1, 300))
                request = (struct range_request){.size = largest * GRANULARITY, .owner = step + 1};
            if (rng_chance(&rng, 1, 300))
                request.place = RANGE_LOWEST;
            is_found = model_find(&model, &request, false, &expected);
            status = range_allocator_take_handle(&ra, &request, &offset, &handle);
            assert_int_equal(status, is_found ? RANGE_OK : RANGE_FULL);
            if (is_found) {
                uint64_t start = (offset - BASE) / GRANULARITY, units = request.size / GRANULARITY;

                if (request.place == RANGE_LOWEST)
                    assert_int_equal(offset, expected);
                assert_true(model_is_free(&model, start, units));
                model_set(&model, start, units, request.owner);
                lives[live_count++] = (struct live){offset, request.size, handle};
            }
        }
        model_largest(&model, &free_units);
        if (free_units <= unit_count / 10 || rng_chance(&rng, 1, 3)) {
            unsigned i = (unsigned)rng_below(&rng, live_count);

            assert_int_equal(range_allocator_release_handle(&ra, lives[i].handle), RANGE_OK);
            assert_int_equal(range_allocator_release_handle(&ra, lives[i].handle), RANGE_INVALID);
            assert_int_equal(range_allocator_release(&ra, lives[i].offset, lives[i].size),
                             RANGE_INVALID);
            low = lives[i].offset;
            model_set(&model, (low - BASE) / GRANULARITY, lives[i].size / GRANULARITY, 0);
            lives[i] = lives[--live_count];
        }
        kept_steps += ra.kept_count != 0;
        assert_int_equal(range_allocator_live_count(&ra), live_count);
        if (step % 8 == 0)
            assert_whole(&ra);
        if (step % 1000 == 999)
            assert_agrees(&ra, &model);
        if (step % 500 == 250) {
            struct range_info info;

            assert_true(range_allocator_range_at(&ra, low, &info));
            for (uint64_t at = info.offset; at < info.offset + info.size; at += GRANULARITY)
                assert_int_equal(model.owners[(at - BASE) / GRANULARITY], info.owner);
        }
    }
    assert_true(kept_steps > 1000);
    while (live_count)
        assert_int_equal(range_allocator_release_handle(&ra, lives[--live_count].handle), RANGE_OK);
    assert_int_equal(range_allocator_hole_count(&ra), 1);
    assert_whole(&ra);
    range_allocator_fini(&ra);
    free(lives);
    free(model.owners);
}

static void ranges_that_are_kept_agree_with_an_array(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        run_kept_against_model(seed, 0);
        run_kept_against_model(seed, 4 * GRANULARITY);
    }
}

/* A range that was kept is two things at once until somebody asks: free, and of its size. */
static void a_kept_range_is_free_and_goes_to_the_next_of_its_size(void **state)
{
    struct range_request request = {.size = 3 * GRANULARITY};
    uint32_t handles[1000], handle;
    struct range_allocator ra;
    struct range_info info;
    uint64_t offset;

    (void)state;
    assert_int_equal(
        range_allocator_init(&ra, base_services_libc(), BASE, 3001 * GRANULARITY, GRANULARITY),
        RANGE_OK);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(range_allocator_take_handle(&ra, &request, &offset, &handles[i]),
                         RANGE_OK);
    for (unsigned i = 10; i < 14; i++)
        assert_int_equal(range_allocator_release_handle(&ra, handles[i]), RANGE_OK);
    assert_int_equal(ra.kept_count, 4);
    assert_int_equal(range_allocator_free_bytes(&ra), 13 * GRANULARITY);
    assert_false(range_allocator_find(&ra, BASE + 30 * GRANULARITY, &info));
    assert_int_equal(ra.kept_count, 0);

    assert_int_equal(range_allocator_take_handle(&ra, &request, &offset, &handle), RANGE_OK);
    assert_int_equal(offset, BASE + 30 * GRANULARITY);
    assert_int_equal(range_allocator_release_handle(&ra, handles[20]), RANGE_OK);
    assert_int_equal(ra.kept_count, 1);
    request.size = 2 * GRANULARITY;
    assert_int_equal(range_allocator_take_handle(&ra, &request, &offset, &handle), RANGE_OK);
    assert_int_equal(offset, BASE + 33 * GRANULARITY);
    request.size = 3 * GRANULARITY;
    assert_int_equal(range_allocator_take_handle(&ra, &request, &offset, &handle), RANGE_OK);
    assert_int_equal(offset, BASE + 60 * GRANULARITY);
    assert_int_equal(ra.kept_count, 0);

    /* Five units at once are only there when a kept range and the hole beside it are one. */
    assert_int_equal(range_allocator_release_handle(&ra, handles[9]), RANGE_OK);
    request.size = 5 * GRANULARITY;
    assert_int_equal(range_allocator_take_handle(&ra, &request, &offset, &handle), RANGE_OK);
    request.size = 8 * GRANULARITY;
    assert_int_equal(range_allocator_take_handle(&ra, &request, &offset, &handle), RANGE_FULL);
    assert_whole(&ra);
    range_allocator_fini(&ra);
}

struct lines {
    unsigned count;
    char last[128];
};

static void keep_line(void *context, const char *line)
{
    struct lines *lines = context;

    lines->count++;
    snprintf(lines->last, sizeof lines->last, "%s", line);
}

static void dump_prints_each_range(void **state)
{
    struct range_allocator ra;
    struct lines lines = {0};

    (void)state;
    assert_int_equal(
        range_allocator_init(&ra, base_services_libc(), 0, 8 * GRANULARITY, GRANULARITY), RANGE_OK);
    assert_int_equal(range_allocator_take_at(&ra, 4 * GRANULARITY, 4 * GRANULARITY, 0xa3),
                     RANGE_OK);
    range_allocator_dump(&ra, keep_line, &lines);
    assert_int_equal(lines.count, 2);
    assert_string_equal(lines.last, "0x000000004000 0x000000004000 owner 0xa3");
    range_allocator_fini(&ra);
}

/* Corrupt one thing at a time: check() must see it. */
static void check_finds_what_is_broken(void **state)
{
    struct range_allocator ra;
    struct range_node *nodes;
    struct range_leaf *leaf;
    struct range_info info;
    uint32_t first;

    (void)state;
    assert_int_equal(
        range_allocator_init(&ra, base_services_libc(), 0, 64 * GRANULARITY, GRANULARITY),
        RANGE_OK);
    for (unsigned i = 0; i < 40; i++)
        take(&ra, GRANULARITY, i);
    assert_true(range_allocator_find(&ra, 0, &info));
    assert_true(ra.tree.is_made);
    assert_whole(&ra);
    nodes = ra.nodes.items;
    first = nodes[ra.bin_count].after;
    leaf = ra.tree.leaves.items;

    nodes[first].extent++;
    assert_non_null(range_allocator_check(&ra));
    nodes[first].extent--;
    nodes[nodes[first].after].before++;
    assert_non_null(range_allocator_check(&ra));
    nodes[nodes[first].after].before--;
    nodes[first].extent ^= RANGE_FREE;
    assert_non_null(range_allocator_check(&ra));
    nodes[first].extent ^= RANGE_FREE;
    leaf->first++;
    assert_non_null(range_allocator_check(&ra));
    leaf->first--;
    leaf->holes ^= 2;
    assert_non_null(range_allocator_check(&ra));
    leaf->holes ^= 2;
    ra.free_units++;
    assert_non_null(range_allocator_check(&ra));
    ra.free_units--;
    ra.bin_bits[0] ^= 1;
    assert_non_null(range_allocator_check(&ra));
    ra.bin_bits[0] ^= 1;
    assert_whole(&ra);
    range_allocator_fini(&ra);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_an_exact_fit_and_merges_on_release),
        cmocka_unit_test(take_fails_cleanly_when_full),
        cmocka_unit_test(release_refuses_what_is_not_a_live_range),
        cmocka_unit_test(init_refuses_what_is_no_space),
        cmocka_unit_test(a_space_up_to_the_top_works),
        cmocka_unit_test(placement_and_windows_choose_the_end_they_name),
        cmocka_unit_test(a_preference_is_followed_while_it_can_be),
        cmocka_unit_test(an_aligned_hole_is_found_behind_many_that_do_not_fit),
        cmocka_unit_test(a_search_in_vain_leaves_bounds_for_its_alignment),
        cmocka_unit_test(random_ops_agree_with_an_array),
        cmocka_unit_test(random_ops_on_a_tall_tree_agree_with_an_array),
        cmocka_unit_test(every_nth_allocation_failure_leaves_it_whole),
        cmocka_unit_test(without_memory_for_an_index_a_search_walks),
        cmocka_unit_test(handles_need_no_index),
        cmocka_unit_test(bins_sort_by_the_alignment_that_most_requests_have),
        cmocka_unit_test(aligned_requests_agree_with_an_array),
        cmocka_unit_test(ranges_that_are_kept_agree_with_an_array),
        cmocka_unit_test(a_kept_range_is_free_and_goes_to_the_next_of_its_size),
        cmocka_unit_test(dump_prints_each_range),
        cmocka_unit_test(check_finds_what_is_broken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
