#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/page_allocator.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

/* The plainest true model: one bool for each page. */
struct model {
    uint64_t page_count;
    bool *is_taken;
};

static void assert_whole(const struct page_allocator *pa)
{
    const char *broken = page_allocator_check(pa);

    if (broken)
        fail_msg("page_allocator_check: %s", broken);
}

static uint64_t model_free_count(const struct model *model)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < model->page_count; i++)
        count += !model->is_taken[i];
    return count;
}

static uint64_t model_longest(const struct model *model)
{
    uint64_t run = 0, longest = 0;

    for (uint64_t i = 0; i < model->page_count; i++) {
        run = model->is_taken[i] ? 0 : run + 1;
        longest = max_u64(longest, run);
    }
    return longest;
}

static bool model_is_all(const struct model *model, uint64_t first, uint64_t count, bool is_taken)
{
    for (uint64_t i = first; i < first + count; i++) {
        if (model->is_taken[i] != is_taken)
            return false;
    }
    return true;
}

static void model_set(struct model *model, uint64_t first, uint64_t count, bool is_taken)
{
    assert_true(model_is_all(model, first, count, !is_taken));
    memset(model->is_taken + first, is_taken, count);
}

static bool model_has_aligned(const struct model *model, uint64_t count, uint64_t alignment)
{
    for (uint64_t i = 0; i + count <= model->page_count; i += alignment) {
        if (model_is_all(model, i, count, false))
            return true;
    }
    return false;
}

static int compare_descending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x < y) - (x > y);
}

/* The fewest runs that can hold count pages: take the longest first. */
static uint64_t model_fewest_runs(const struct model *model, uint64_t count)
{
    uint64_t *lengths = calloc(model->page_count + 1, sizeof *lengths);
    uint64_t run_count = 0, fewest = 0;

    assert_non_null(lengths);
    for (uint64_t i = 0; i < model->page_count; i++) {
        if (model->is_taken[i])
            continue;
        lengths[run_count]++;
        if (i + 1 == model->page_count || model->is_taken[i + 1])
            run_count++;
    }
    qsort(lengths, run_count, sizeof *lengths, compare_descending);
    while (count) {
        count -= min_u64(count, lengths[fewest]);
        fewest++;
    }
    free(lengths);
    return fewest;
}

static void random_take(struct page_allocator *pa, struct model *model, struct rng *rng,
                        uint64_t pages_max)
{
    uint64_t count = rng_between(rng, 1, pages_max);
    uint64_t free_count = model_free_count(model);
    enum page_policy policy = rng_chance(rng, 1, 2) ? PAGE_LONG_RUNS : PAGE_FILL_GAPS;
    size_t runs_max = rng_chance(rng, 1, 4) ? (size_t)rng_between(rng, 0, 3) : (size_t)count;
    struct page_run *runs = calloc(count, sizeof *runs);
    size_t run_count = 7;
    uint64_t given = 0;
    enum page_status status;

    assert_non_null(runs);
    status = page_allocator_take(pa, count, policy, runs, runs_max, &run_count);
    if (count > free_count) {
        assert_int_equal(status, PAGE_FULL);
    } else if (policy == PAGE_LONG_RUNS) {
        uint64_t fewest = model_fewest_runs(model, count);

        assert_int_equal(status, fewest > runs_max ? PAGE_TOO_MANY_RUNS : PAGE_OK);
        if (status == PAGE_OK)
            assert_int_equal(run_count, fewest);
    } else if (runs_max == count) {
        assert_int_equal(status, PAGE_OK);
    }
    if (status == PAGE_OK && policy == PAGE_FILL_GAPS) {
        uint64_t last = runs[run_count - 1].first_page + runs[run_count - 1].page_count;

        for (size_t i = 0; i < run_count; i++)
            memset(model->is_taken + runs[i].first_page, true, runs[i].page_count);
        assert_true(model_is_all(model, 0, last, true));
        for (size_t i = 0; i < run_count; i++)
            memset(model->is_taken + runs[i].first_page, false, runs[i].page_count);
    }
    if (status != PAGE_OK)
        assert_int_equal(run_count, 0);
    for (size_t i = 0; i < run_count; i++) {
        model_set(model, runs[i].first_page, runs[i].page_count, true);
        given += runs[i].page_count;
    }
    assert_int_equal(given, status == PAGE_OK ? count : 0);
    free(runs);
}

static void random_take_contiguous(struct page_allocator *pa, struct model *model, struct rng *rng,
                                   uint64_t pages_max)
{
    uint64_t count = rng_between(rng, 1, pages_max);
    uint64_t alignment = rng_chance(rng, 1, 2) ? 0 : UINT64_C(1) << rng_below(rng, 8);
    bool is_possible = model_has_aligned(model, count, max_u64(alignment, 1));
    uint64_t first = 7;
    enum page_status status = page_allocator_take_contiguous(pa, count, alignment, &first);

    assert_int_equal(status, is_possible ? PAGE_OK : PAGE_FULL);
    if (status != PAGE_OK) {
        assert_int_equal(first, 0);
        return;
    }
    assert_int_equal(first % max_u64(alignment, 1), 0);
    model_set(model, first, count, true);
}

/* The last run with pages to spare for any alignment; without one, any. */
static void random_take_last(struct page_allocator *pa, struct model *model, struct rng *rng,
                             uint64_t pages_max)
{
    uint64_t count = rng_between(rng, 1, pages_max);
    uint64_t alignment = UINT64_C(1) << rng_below(rng, 8);
    uint64_t room = count + alignment - 1;
    uint64_t first = 7, expected = model->page_count;
    bool is_possible = model_has_aligned(model, count, alignment);

    while (expected &&
           (expected + room > model->page_count || !model_is_all(model, expected, room, false)))
        expected--;
    assert_int_equal(page_allocator_take_last(pa, count, alignment, &first),
                     is_possible ? PAGE_OK : PAGE_FULL);
    assert_int_equal(first % alignment, 0);
    if (!is_possible)
        return;
    if (room <= model->page_count && model_is_all(model, expected, room, false))
        assert_int_equal(first, align_up(expected, alignment));
    model_set(model, first, count, true);
}

static void random_at(struct page_allocator *pa, struct model *model, struct rng *rng,
                      uint64_t pages_max, bool is_take)
{
    uint64_t first = rng_below(rng, model->page_count);
    uint64_t count = min_u64(rng_between(rng, 1, pages_max), model->page_count - first);
    bool is_possible = model_is_all(model, first, count, !is_take);
    enum page_status status = is_take ? page_allocator_take_at(pa, first, count)
                                      : page_allocator_release(pa, first, count);

    assert_int_equal(status, is_possible ? PAGE_OK : is_take ? PAGE_FULL : PAGE_INVALID);
    if (is_possible)
        model_set(model, first, count, is_take);
}

/* Release the whole run of taken pages around a random one. */
static void random_release(struct page_allocator *pa, struct model *model, struct rng *rng)
{
    uint64_t first = rng_below(rng, model->page_count);
    uint64_t end = first;

    while (end < model->page_count && model->is_taken[end])
        end++;
    while (first && model->is_taken[first] && model->is_taken[first - 1])
        first--;
    if (first == end)
        return;
    end = first + rng_between(rng, 1, end - first);
    assert_int_equal(page_allocator_release(pa, first, end - first), PAGE_OK);
    model_set(model, first, end - first, false);
}

static void run_against_model(uint64_t seed, uint64_t page_count, uint64_t pages_max,
                              unsigned steps)
{
    struct failing_services memory;
    struct page_allocator pa;
    struct model model = {page_count, calloc(page_count, sizeof(bool))};
    uint64_t take_percent = 50;
    struct rng rng;

    assert_non_null(model.is_taken);
    rng_init(&rng, seed);
    failing_services_init(&memory);
    assert_int_equal(page_allocator_init(&pa, &memory.services, page_count), PAGE_OK);

    for (unsigned step = 0; step < steps; step++) {
        if (step % 128 == 0)
            take_percent = rng_between(&rng, 10, 70);
        if (rng_chance(&rng, take_percent, 100))
            random_take(&pa, &model, &rng, pages_max);
        else if (rng_chance(&rng, 1, 4))
            random_take_contiguous(&pa, &model, &rng, pages_max);
        else if (rng_chance(&rng, 1, 4))
            random_take_last(&pa, &model, &rng, pages_max);
        else if (rng_chance(&rng, 1, 4))
            random_at(&pa, &model, &rng, 20, rng_chance(&rng, 1, 2));
        else
            random_release(&pa, &model, &rng);

        assert_whole(&pa);
        assert_int_equal(page_allocator_free_count(&pa), model_free_count(&model));
        assert_int_equal(page_allocator_longest_free_run(&pa), model_longest(&model));
        for (uint64_t i = 0; i < page_count; i++)
            assert_true(page_allocator_is_free(&pa, i) == !model.is_taken[i]);
    }
    page_allocator_fini(&pa);
    assert_int_equal(memory.live_blocks, 0);
    assert_int_equal(memory.live_bytes, 0);
    free(model.is_taken);
}

static void random_ops_agree_with_an_array(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        print_message("seed %u\n", (unsigned)seed);
        run_against_model(seed, 61, 20, 400);
        run_against_model(seed, 512, 90, 600);
        run_against_model(seed, 1700, 300, 600);
        run_against_model(seed, 5000, 1200, 400);
    }
}

static void a_fresh_pool_gives_one_run(void **state)
{
    struct page_allocator pa;
    struct page_run runs[2];
    size_t run_count;
    const uint64_t page_count = 40 * GiB / PAGE_BYTES;

    (void)state;
    assert_int_equal(page_allocator_init(&pa, base_services_libc(), page_count), PAGE_OK);
    assert_int_equal(
        page_allocator_take(&pa, 25600, PAGE_LONG_RUNS, runs, ARRAY_COUNT(runs), &run_count),
        PAGE_OK);
    assert_int_equal(run_count, 1);
    assert_int_equal(runs[0].page_count, 25600);
    assert_int_equal(page_allocator_longest_free_run(&pa), page_count - 25600);
    assert_true(page_allocator_metadata_bytes(&pa) * 8 < 2 * page_count);
    page_allocator_fini(&pa);
}

static void every_other_page_still_serves_but_not_in_one_run(void **state)
{
    enum { COUNT = 2048 };
    struct page_allocator pa;
    struct page_run *runs = calloc(COUNT, sizeof *runs);
    size_t run_count;
    uint64_t first;

    (void)state;
    assert_non_null(runs);
    assert_int_equal(page_allocator_init(&pa, base_services_libc(), COUNT), PAGE_OK);
    for (uint64_t i = 0; i < COUNT; i += 2)
        assert_int_equal(page_allocator_take_at(&pa, i, 1), PAGE_OK);
    assert_int_equal(page_allocator_take_contiguous(&pa, 2, 0, &first), PAGE_FULL);
    assert_int_equal(page_allocator_take(&pa, 100, PAGE_LONG_RUNS, runs, 99, &run_count),
                     PAGE_TOO_MANY_RUNS);
    assert_int_equal(page_allocator_free_count(&pa), COUNT / 2);
    assert_whole(&pa);
    assert_int_equal(page_allocator_take(&pa, COUNT / 2, PAGE_FILL_GAPS, runs, COUNT, &run_count),
                     PAGE_OK);
    assert_int_equal(run_count, COUNT / 2);
    assert_int_equal(page_allocator_take(&pa, 1, PAGE_FILL_GAPS, runs, COUNT, &run_count),
                     PAGE_FULL);
    assert_int_equal(page_allocator_longest_free_run(&pa), 0);
    assert_whole(&pa);
    page_allocator_fini(&pa);
    free(runs);
}

/* The first hundred runs are long enough and all misaligned; one more suits. */
static void an_aligned_run_is_found_behind_many_that_do_not_fit(void **state)
{
    struct page_allocator pa;
    uint64_t first;

    (void)state;
    assert_int_equal(page_allocator_init(&pa, base_services_libc(), 16 * 200), PAGE_OK);
    assert_int_equal(page_allocator_take_at(&pa, 0, 16 * 200), PAGE_OK);
    for (uint64_t i = 0; i < 200; i++)
        assert_int_equal(page_allocator_release(&pa, 16 * i + (i == 150 ? 0 : 3), 9), PAGE_OK);
    assert_int_equal(page_allocator_take_contiguous(&pa, 9, 16, &first), PAGE_OK);
    assert_int_equal(first, 16 * 150);
    assert_int_equal(page_allocator_take_contiguous(&pa, 9, 16, &first), PAGE_FULL);
    assert_int_equal(page_allocator_take_contiguous(&pa, 1, UINT64_C(1) << 63, &first), PAGE_FULL);
    assert_int_equal(page_allocator_take_contiguous(&pa, 1, 3, &first), PAGE_INVALID);
    assert_whole(&pa);
    page_allocator_fini(&pa);
}

/* More misaligned runs than are tried, then one with room for any alignment. */
static void an_aligned_run_is_cut_from_a_longer_one(void **state)
{
    struct page_allocator pa;
    uint64_t first;

    (void)state;
    assert_int_equal(page_allocator_init(&pa, base_services_libc(), 16 * 200), PAGE_OK);
    assert_int_equal(page_allocator_take_at(&pa, 0, 16 * 200), PAGE_OK);
    for (uint64_t i = 0; i < 190; i++)
        assert_int_equal(page_allocator_release(&pa, 16 * i + 3, 9), PAGE_OK);
    assert_int_equal(page_allocator_release(&pa, 16 * 195 + 1, 24), PAGE_OK);
    assert_int_equal(page_allocator_take_contiguous(&pa, 9, 16, &first), PAGE_OK);
    assert_int_equal(first, 16 * 196);
    assert_whole(&pa);
    page_allocator_fini(&pa);
}

static void a_run_may_reach_the_end_of_a_full_tree(void **state)
{
    struct page_allocator pa;
    struct page_run run;
    size_t run_count;

    (void)state;
    assert_int_equal(page_allocator_init(&pa, base_services_libc(), 4096), PAGE_OK);
    assert_int_equal(page_allocator_take_at(&pa, 0, 700), PAGE_OK);
    assert_int_equal(page_allocator_take(&pa, 3396, PAGE_FILL_GAPS, &run, 1, &run_count), PAGE_OK);
    assert_int_equal(run.first_page, 700);
    assert_int_equal(run.page_count, 3396);
    assert_int_equal(page_allocator_free_count(&pa), 0);
    assert_whole(&pa);
    page_allocator_fini(&pa);
}

static void out_of_bounds_is_refused(void **state)
{
    struct page_allocator pa;
    struct page_run run;
    size_t run_count;

    (void)state;
    assert_int_equal(page_allocator_init(&pa, base_services_libc(), 0), PAGE_INVALID);
    assert_int_equal(page_allocator_init(&pa, base_services_libc(), PAGE_ALLOCATOR_PAGES_MAX + 1),
                     PAGE_INVALID);
    page_allocator_fini(&pa);
    assert_int_equal(page_allocator_init(&pa, base_services_libc(), 100), PAGE_OK);
    assert_int_equal(page_allocator_take_at(&pa, 100, 1), PAGE_INVALID);
    assert_int_equal(page_allocator_take_at(&pa, 99, 2), PAGE_INVALID);
    assert_int_equal(page_allocator_take_at(&pa, 1, UINT64_MAX), PAGE_INVALID);
    assert_int_equal(page_allocator_release(&pa, 0, 1), PAGE_INVALID);
    assert_int_equal(page_allocator_release(&pa, 0, 0), PAGE_INVALID);
    assert_int_equal(page_allocator_take(&pa, 0, PAGE_LONG_RUNS, &run, 1, &run_count),
                     PAGE_INVALID);
    assert_false(page_allocator_is_free(&pa, 100));
    assert_whole(&pa);
    page_allocator_fini(&pa);
}

static void every_nth_allocation_failure_leaves_nothing_behind(void **state)
{
    struct failing_services memory;
    struct page_allocator pa;
    enum page_status status;
    uint64_t n = 0;

    (void)state;
    do {
        failing_services_init(&memory);
        failing_services_fail_at(&memory, ++n);
        status = page_allocator_init(&pa, &memory.services, 1000);
        assert_int_equal(status, memory.has_failed ? PAGE_NO_MEMORY : PAGE_OK);
        page_allocator_fini(&pa);
        assert_int_equal(memory.live_blocks, 0);
    } while (memory.has_failed);
    assert_int_equal(n, 3);
}

static void check_finds_what_is_broken(void **state)
{
    struct page_allocator pa;

    (void)state;
    assert_int_equal(page_allocator_init(&pa, base_services_libc(), 1000), PAGE_OK);
    pa.words[3] ^= 4;
    assert_string_equal(page_allocator_check(&pa), "the free count is not that of the bitmap");
    pa.free_count--;
    assert_string_equal(page_allocator_check(&pa), "a block does not agree with the bitmap");
    pa.words[3] ^= 4;
    pa.words[15] |= UINT64_C(1) << 63;
    pa.free_count += 2;
    assert_string_equal(page_allocator_check(&pa), "a page beyond the last is free");
    pa.words[15] &= ~(UINT64_C(1) << 63);
    pa.free_count--;
    assert_whole(&pa);
    page_allocator_fini(&pa);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_pool_gives_one_run),
        cmocka_unit_test(every_other_page_still_serves_but_not_in_one_run),
        cmocka_unit_test(an_aligned_run_is_found_behind_many_that_do_not_fit),
        cmocka_unit_test(an_aligned_run_is_cut_from_a_longer_one),
        cmocka_unit_test(a_run_may_reach_the_end_of_a_full_tree),
        cmocka_unit_test(out_of_bounds_is_refused),
        cmocka_unit_test(random_ops_agree_with_an_array),
        cmocka_unit_test(every_nth_allocation_failure_leaves_nothing_behind),
        cmocka_unit_test(check_finds_what_is_broken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
