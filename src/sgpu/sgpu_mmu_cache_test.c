/* GPU: the cache of translations, and what a forgotten flush does. */
#include "sgpu/test_rig.h"

#define VA UINT64_C(0x123456789000)

/* ---- The translation cache ------------------------------------------------------------------ */

/* One piece to whoever watches, up to the end of the 2 MiB; a fault behind it is where it is. */
static void what_is_taken_over_for_a_long_access_is_one_run(void **state)
{
    const uint64_t va = align_down(VA, 2 * MiB), page_count = 700;
    struct sgpu_statistics before, after;
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, va, page_count, RIG_LOCAL_PTE(0x100000));
    sgpu_get_statistics(rig.gpu, &before);
    rig_fill(&rig, va + 8, (page_count + 10) * PAGE_BYTES, 7);
    rig_expect_fault_at(&rig, 0, rig_submit_virtual(&rig, 0, root), SGPU_FAULT_NOT_VALID,
                        va + page_count * PAGE_BYTES);
    sgpu_get_statistics(rig.gpu, &after);
    assert_true(page_store_is_fill(rig.local, 0x100008, page_count * PAGE_BYTES - 8, 7, NULL));
    assert_int_equal(after.filled_bytes - before.filled_bytes, page_count * PAGE_BYTES - 8);
    /*
     * 8 of 64 pages, 3 in the next table, at the end one that fails, some for the packet; hits: it.
     */
    assert_in_range(after.tlb_misses - before.tlb_misses, 12, 14);
    assert_in_range(after.tlb_hits - before.tlb_hits, 0, 3);
    rig_fini(&rig);
}

/*
 * Map a page to local 0x100000, use it, point it at 0x200000, flush as told, fill it. Returns
 * whether the fill reached the new place; it must have reached the old one otherwise.
 */
static bool fill_after_remap(struct rig *rig, uint32_t flags, uint64_t root, uint64_t flushed_root,
                             uint64_t start, uint64_t end, uint32_t flushing_node)
{
    bool is_new;

    page_store_fill(rig->local, 0x100000, PAGE_BYTES, 0);
    page_store_fill(rig->local, 0x200000, PAGE_BYTES, 0);
    rig_map(rig, root, VA, 1, RIG_LOCAL_PTE(0x100000));
    rig_flush(rig, SGPU_TLB_ALL, root, 0, 0);
    rig_fill(rig, VA, 8, 1);
    rig_execute_virtual(rig, 0, root);
    rig_map(rig, root, VA, 1, RIG_LOCAL_PTE(0x200000));
    rig_flush(rig, flags, flushed_root, start, end);
    rig_execute(rig, flushing_node);
    rig_fill(rig, VA, PAGE_BYTES, 0x55);
    rig_execute_virtual(rig, 0, root);
    is_new = page_store_value(rig->local, 0x200) == 0x55;
    assert_int_equal(page_store_value(rig->local, 0x100) == 0x55, !is_new);
    return is_new;
}

static void a_stale_translation_lives_until_its_flush(void **state)
{
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    assert_true(fill_after_remap(&rig, 0, root, root, VA, VA + PAGE_BYTES, 0));
    assert_true(fill_after_remap(&rig, 0, root, root, VA, VA + PAGE_BYTES, 1)); /* on all nodes */
    assert_true(fill_after_remap(&rig, SGPU_TLB_ALL, root, root, 0, 0, 1));
    assert_true(fill_after_remap(&rig, 0, root, root, VA + 1, VA + 2, 1)); /* whole pages */
    assert_true(fill_after_remap(&rig, 0, root, root, 0, UINT64_C(1) << 48, 1));
    /* Long ranges, which begin and end in the block of the page. */
    assert_true(fill_after_remap(&rig, 0, root, root, VA, UINT64_C(1) << 48, 1));
    assert_true(fill_after_remap(&rig, 0, root, root, 0, VA + PAGE_BYTES, 1));

    assert_false(fill_after_remap(&rig, 0, root, root, VA, VA, 1)); /* empty */
    assert_false(fill_after_remap(&rig, 0, root, root, VA + PAGE_BYTES, VA + 2 * PAGE_BYTES, 1));
    assert_false(fill_after_remap(&rig, 0, root, root, VA - PAGE_BYTES, VA, 1));
    assert_false(fill_after_remap(&rig, 0, root, root, VA + PAGE_BYTES, UINT64_C(1) << 48, 1));
    assert_false(fill_after_remap(&rig, 0, root, root, 0, VA, 1));
    assert_false(fill_after_remap(&rig, SGPU_TLB_ALL, root, root + PAGE_BYTES, 0, 0, 1));
    rig_fini(&rig);
}

static void hardware_that_ignores_flushes_stays_stale(void **state)
{
    struct machine_config board = rig_board();
    struct sgpu_config config = {.ignores_tlb_flush = true};
    struct rig rig;
    uint64_t root;

    rig_init_with(&rig, &board, &config);
    root = rig_root(&rig);
    assert_false(fill_after_remap(&rig, 0, root, root, VA, VA + PAGE_BYTES, 1));
    rig_fini(&rig);
}

/* The page behind one that was reached becomes valid. Gives the root of the tables. */
static uint64_t map_behind_one_that_was_read(struct rig *rig, uint32_t straps)
{
    const struct sgpu_config config = {.straps = straps};
    struct machine_config board = rig_board();
    uint64_t root;

    rig_init_with(rig, &board, &config);
    root = rig_root(rig);
    rig_map(rig, root, VA, 1, RIG_LOCAL_PTE(0x100000));
    rig_fill(rig, VA, PAGE_BYTES, 1);
    rig_execute_virtual(rig, 0, root);
    rig_map(rig, root, VA + PAGE_BYTES, 1, RIG_LOCAL_PTE(0x101000));
    return root;
}

/* It has been read with its neighbour. */
static void a_board_without_the_promise_keeps_what_was_not_valid(void **state)
{
    for (int keeps = 0; keeps < 2; keeps++) {
        struct rig rig;
        uint64_t root =
            map_behind_one_that_was_read(&rig, keeps ? SGPU_STRAP_MAY_CACHE_INVALID : 0);

        rig_fill(&rig, VA + PAGE_BYTES, PAGE_BYTES, 2);
        if (keeps) {
            rig_expect_fault_at(&rig, 0, rig_submit_virtual(&rig, 0, root), SGPU_FAULT_NOT_VALID,
                                VA + PAGE_BYTES);
        } else {
            rig_execute_virtual(&rig, 0, root);
            assert_int_equal(page_store_value(rig.local, 0x101), 2);
        }
        rig_fini(&rig);
    }
}

static void a_flush_drops_what_was_not_valid(void **state)
{
    struct rig rig;
    uint64_t root = map_behind_one_that_was_read(&rig, SGPU_STRAP_MAY_CACHE_INVALID);

    rig_flush(&rig, 0, root, VA + PAGE_BYTES, VA + 2 * PAGE_BYTES);
    rig_fill(&rig, VA + PAGE_BYTES, PAGE_BYTES, 2);
    rig_execute_virtual(&rig, 0, root);
    assert_int_equal(page_store_value(rig.local, 0x101), 2);
    rig_fini(&rig);
}

static void invalid_entries_are_never_cached(void **state)
{
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, VA, 1, RIG_LOCAL_PTE(0x100000));
    rig_fill(&rig, VA, PAGE_BYTES, 1);
    rig_execute_virtual(&rig, 0, root);
    rig_fill(&rig, VA + PAGE_BYTES, PAGE_BYTES, 1);
    rig_expect_fault_at(&rig, 1, rig_submit_virtual(&rig, 1, root), SGPU_FAULT_NOT_VALID,
                        VA + PAGE_BYTES);
    rig_map(&rig, root, VA + PAGE_BYTES, 1, RIG_LOCAL_PTE(0x200000));
    rig_fill(&rig, VA + PAGE_BYTES, PAGE_BYTES, 2);
    rig_submit_virtual(&rig, 0, root);
    rig_fill(&rig, VA, 2 * PAGE_BYTES, 3);
    rig_execute_virtual(&rig, 1, root);
    assert_int_equal(page_store_value(rig.local, 0x200), 3);
    rig_fini(&rig);
}

static void unmapped_pages_stay_reachable_until_flushed_and_then_fault(void **state)
{
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, VA, 1, RIG_LOCAL_PTE(0x100000));
    rig_fill(&rig, VA, PAGE_BYTES, 1);
    rig_execute_virtual(&rig, 0, root);
    *rig_leaf(&rig, root, VA) = 0;
    rig_fill(&rig, VA, PAGE_BYTES, 2);
    rig_execute_virtual(&rig, 0, root);
    assert_int_equal(page_store_value(rig.local, 0x100), 2);
    rig_flush(&rig, 0, root, VA, VA + PAGE_BYTES);
    rig_fill(&rig, VA, PAGE_BYTES, 3);
    rig_expect_fault_at(&rig, 0, rig_submit_virtual(&rig, 0, root), SGPU_FAULT_NOT_VALID, VA);
    assert_int_equal(page_store_value(rig.local, 0x100), 2);
    rig_fini(&rig);
}

static void a_reset_empties_the_cache(void **state)
{
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, VA, 1, RIG_LOCAL_PTE(0x100000));
    rig_fill(&rig, VA, PAGE_BYTES, 1);
    rig_execute_virtual(&rig, 0, root);
    rig_map(&rig, root, VA, 1, RIG_LOCAL_PTE(0x200000));
    rig_write(&rig, SGPU_REG_NODE(0) + SGPU_NODE_CONTROL, 4, SGPU_CONTROL_RESET);
    rig_fill(&rig, VA, PAGE_BYTES, 2);
    rig_execute_virtual(&rig, 0, root);
    assert_int_equal(page_store_value(rig.local, 0x200), 2);
    rig_fini(&rig);
}

static void a_miss_next_to_it_does_not_cure_a_stale_translation(void **state)
{
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, VA, 1, RIG_LOCAL_PTE(0x100000));
    rig_fill(&rig, VA, PAGE_BYTES, 1);
    rig_execute_virtual(&rig, 0, root);
    rig_map(&rig, root, VA, 1, RIG_LOCAL_PTE(0x200000));
    rig_map(&rig, root, VA + PAGE_BYTES, 1, RIG_LOCAL_PTE(0x300000));
    rig_fill(&rig, VA + PAGE_BYTES, PAGE_BYTES, 2);
    rig_fill(&rig, VA, PAGE_BYTES, 3);
    rig_execute_virtual(&rig, 0, root);
    assert_int_equal(page_store_value(rig.local, 0x300), 2);
    assert_int_equal(page_store_value(rig.local, 0x100), 3);
    assert_int_equal(page_store_kind(rig.local, 0x200), PAGE_ZERO);
    rig_fini(&rig);
}

static void many_roots_do_not_share_translations(void **state)
{
    uint64_t roots[1500];
    struct rig rig;

    rig_init(&rig);
    roots[0] = rig_root(&rig);
    for (uint64_t i = 0; i < ARRAY_COUNT(roots); i++) {
        if (i) {
            roots[i] = rig_table(&rig);
            rig_entries(&rig, roots[i])[RIG_COMMAND_VA >> 39] =
                rig_entries(&rig, roots[0])[RIG_COMMAND_VA >> 39];
        }
        rig_map(&rig, roots[i], VA, 1, RIG_LOCAL_PTE(0x100000 + i * PAGE_BYTES));
    }
    for (uint32_t i = 0; i < ARRAY_COUNT(roots); i++) {
        rig_fill(&rig, VA, PAGE_BYTES, i + 1);
        rig_execute_virtual(&rig, 0, roots[i]);
    }
    for (uint32_t i = 0; i < ARRAY_COUNT(roots); i++)
        assert_int_equal(page_store_value(rig.local, 0x100 + i), i + 1);
    rig_fini(&rig);
}

static void roots_do_not_share_translations(void **state)
{
    struct rig rig;
    uint64_t a;
    uint64_t b;

    rig_init(&rig);
    a = rig_root(&rig);
    b = rig_root(&rig);
    rig_map(&rig, a, VA, 1, RIG_LOCAL_PTE(0x100000));
    rig_map(&rig, b, VA, 1, RIG_LOCAL_PTE(0x200000));
    rig_fill(&rig, VA, PAGE_BYTES, 1);
    rig_submit_virtual(&rig, 0, a);
    rig_fill(&rig, VA, PAGE_BYTES, 2);
    rig_execute_virtual(&rig, 0, b);
    assert_int_equal(page_store_value(rig.local, 0x100), 1);
    assert_int_equal(page_store_value(rig.local, 0x200), 2);
    rig_fini(&rig);
}

/* ---- Random address spaces against the plain walk ------------------------------------------- */

struct reach {
    struct rig *rig;
    uint64_t root;
    uint64_t va;
    bool is_wrong;
};

/* What a reference touched must be what a walk of each of its pages says. */
static void check_read(void *context, uint64_t token, uint32_t index, uint64_t offset,
                       struct page_store *store, uint64_t address, uint64_t bytes)
{
    struct reach *reach = context;
    struct sgpu_walk walk;

    for (uint64_t done = 0; done < bytes; done += PAGE_BYTES - (address + done) % PAGE_BYTES) {
        sgpu_mmu_walk(reach->rig->gpu, reach->root, reach->va + offset + done, &walk);
        if (walk.fault != SGPU_FAULT_NONE ||
            walk.pa != (store == reach->rig->ram ? SGPU_PA_SYSTEM : 0) + address + done)
            reach->is_wrong = true;
    }
}

static void cached_translations_agree_with_walks(void **state)
{
    static const struct sgpu_observer observer = {.render_read = check_read};
    struct sgpu_statistics statistics;
    struct reach reach = {0};
    struct rng rng;
    struct rig rig;

    rig_init(&rig);
    rng_init(&rng, 11);
    reach.rig = &rig;
    reach.root = rig_root(&rig);
    sgpu_set_observer(rig.gpu, &observer, &reach);
    for (int round = 0; round < 300; round++) {
        uint64_t first = rng_below(&rng, 3000);
        uint64_t count = 1 + rng_below(&rng, 1000);
        struct sgpu_render_ref ref = {.flags = SGPU_REF_READ};

        for (uint64_t i = first; i < first + count;) {
            uint64_t run = min_u64(1 + rng_below(&rng, 40), first + count - i);
            uint64_t page = rng_below(&rng, 8000 - run);

            rig_map(&rig, reach.root, VA + i * PAGE_BYTES, run,
                    rng_chance(&rng, 1, 2) ? RIG_LOCAL_PTE(page * PAGE_BYTES)
                                           : RIG_SYSTEM_PTE(page * PAGE_BYTES));
            i += run;
        }
        rig_flush(&rig, 0, reach.root, VA + first * PAGE_BYTES, VA + (first + count) * PAGE_BYTES);
        reach.va = VA + first * PAGE_BYTES + rng_below(&rng, PAGE_BYTES);
        ref.address = reach.va;
        ref.bytes = 1 + rng_below(&rng, VA + (first + count) * PAGE_BYTES - reach.va);
        rig_render(&rig, 1, 1, &ref, 1);
        rig_execute_virtual(&rig, 0, reach.root);
        if (reach.is_wrong)
            fail_msg("a translation is wrong in round %d of seed 11", round);
    }
    sgpu_get_statistics(rig.gpu, &statistics);
    assert_true(statistics.tlb_hits > statistics.tlb_misses);
    rig_fini(&rig);
}

/* What lies behind the 2 MiB of an entry of the cache is never taken over into it. */
static void an_access_across_2_mib_leaves_each_its_own(void **state)
{
    const uint64_t va = UINT64_C(3) * GiB;
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, va, 512, RIG_LOCAL_PTE(0x400000));
    rig_map(&rig, root, va + 2 * MiB, 64, RIG_LOCAL_PTE(0x800000));
    rig_fill(&rig, va + 2 * MiB - 0x800, 0x900, 5);
    rig_fill(&rig, va, PAGE_BYTES, 6);
    rig_fill(&rig, va + 3 * PAGE_BYTES, PAGE_BYTES, 7);
    rig_execute_virtual(&rig, 0, root);
    assert_true(page_store_is_fill(rig.local, 0x600000 - 0x800, 0x800, 5, NULL));
    assert_true(page_store_is_fill(rig.local, 0x800000, 0x100, 5, NULL));
    assert_int_equal(page_store_value(rig.local, 0x400), 6);
    assert_int_equal(page_store_value(rig.local, 0x403), 7);
    assert_int_equal(page_store_kind(rig.local, 0x803), PAGE_ZERO);
    rig_fini(&rig);
}

static void a_run_of_zeros_ends_at_the_next_entry_that_is_none(void **state)
{
    const uint64_t va = UINT64_C(3) * GiB;
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    for (uint64_t i = 0; i < 21; i++)
        rig_map(&rig, root, va + i * PAGE_BYTES, 1, SGPU_PTE_VALID | SGPU_PTE_ZERO);
    rig_map(&rig, root, va + 21 * PAGE_BYTES, 30, RIG_LOCAL_PTE(0x400000));
    rig_map(&rig, root, va + 4 * MiB, 20, RIG_LOCAL_PTE(0x800000));
    page_store_write_tag(rig.local, 0x400000, 30 * PAGE_BYTES, 50);
    page_store_write_tag(rig.local, 0x800000, 20 * PAGE_BYTES, 90);
    rig_copy(&rig, 0, va + 4 * MiB, va + 13 * PAGE_BYTES, 20 * PAGE_BYTES);
    rig_execute_virtual(&rig, 0, root);
    assert_true(page_store_is_fill(rig.local, 0x800000, 8 * PAGE_BYTES, 0, NULL));
    assert_true(page_store_is_tag(rig.local, 0x808000, 12 * PAGE_BYTES, 50, NULL));
    rig_fini(&rig);
}

static void replacement_forgets_but_never_invents(void **state)
{
    struct sgpu_statistics statistics;
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    /* More leaf tables than the cache has entries, twice over; 8 MiB of local memory for them. */
    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t i = 0; i < 3000; i++) {
            rig_map(&rig, root, VA + i * 2 * MiB, 1, RIG_LOCAL_PTE(0x100000));
            rig_fill(&rig, VA + i * 2 * MiB, PAGE_BYTES, (uint32_t)i + 1);
            rig_execute_virtual(&rig, 0, root);
            assert_int_equal(page_store_value(rig.local, 0x100), i + 1);
        }
    }
    sgpu_get_statistics(rig.gpu, &statistics);
    assert_true(statistics.tlb_misses > 3000 + 900);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken_over_for_a_long_access_is_one_run),
        cmocka_unit_test(a_stale_translation_lives_until_its_flush),
        cmocka_unit_test(hardware_that_ignores_flushes_stays_stale),
        cmocka_unit_test(a_board_without_the_promise_keeps_what_was_not_valid),
        cmocka_unit_test(a_flush_drops_what_was_not_valid),
        cmocka_unit_test(invalid_entries_are_never_cached),
        cmocka_unit_test(unmapped_pages_stay_reachable_until_flushed_and_then_fault),
        cmocka_unit_test(a_reset_empties_the_cache),
        cmocka_unit_test(a_miss_next_to_it_does_not_cure_a_stale_translation),
        cmocka_unit_test(roots_do_not_share_translations),
        cmocka_unit_test(many_roots_do_not_share_translations),
        cmocka_unit_test(cached_translations_agree_with_walks),
        cmocka_unit_test(an_access_across_2_mib_leaves_each_its_own),
        cmocka_unit_test(a_run_of_zeros_ends_at_the_next_entry_that_is_none),
        cmocka_unit_test(replacement_forgets_but_never_invents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
