/*
 * What only WDDM 1.x has, in whole runs.
 */
#include "bench/whole_runs/test_run.h"

static struct run_result *play_physical(const char *name, const char *wddm, const char *buffer)
{
    struct workload *workload = test_load(name);

    test_option(workload, "model", "physical");
    if (wddm)
        test_option(workload, "wddm", wddm);
    if (buffer)
        test_option(workload, "paging-buffer", buffer);
    return test_play(workload);
}

static void agp_memory_is_flushed_before_the_cpu_looks(void **state)
{
    static const char *const levels[] = {"1.1", "1.3"};

    for (size_t i = 0; i < ARRAY_COUNT(levels); i++) {
        struct run_result *result = play_physical("agp.case", levels[i], "256");

        test_assert_clean(result);
        assert_true(test_count(result, DXGK_OPERATION_READ_PHYSICAL) >= 3);
        assert_int_equal(test_count(result, DXGK_OPERATION_READ_PHYSICAL),
                         test_count(result, DXGK_OPERATION_WRITE_PHYSICAL));
        assert_int_equal(result->gpu.touches, 2 * test_count(result, DXGK_OPERATION_READ_PHYSICAL));
        test_finish(result);
    }
}

/* The bridge's driver maps: as long as everything fits, operations 5 and 6 are not needed. */
static void an_agp_segment_gets_no_map_operations(void **state)
{
    struct workload *workload = test_load("agp.case");
    struct run_result *result;

    test_option(workload, "model", "physical");
    test_option(workload, "agp", "4M");
    result = test_play(workload);
    test_assert_clean(result);
    assert_int_equal(test_count(result, DXGK_OPERATION_MAP_APERTURE_SEGMENT), 0);
    assert_int_equal(test_count(result, DXGK_OPERATION_UNMAP_APERTURE_SEGMENT), 0);
    test_finish(result);
}

static void without_a_bridge_nothing_is_flushed(void **state)
{
    struct workload *workload = test_load("agp.case");
    struct run_result *result;

    test_option(workload, "model", "physical");
    test_option(workload, "agp", "0");
    result = test_play(workload);
    test_assert_clean(result);
    assert_int_equal(test_count(result, DXGK_OPERATION_READ_PHYSICAL), 0);
    test_finish(result);
}

static void lack_of_memory_is_survived_with_a_bridge(void **state)
{
    bool has_failed = true;

    for (uint64_t n = 1; has_failed; n++) {
        struct workload *workload = test_load("agp.case");
        struct run_config config;
        struct run_result result;

        run_config_defaults(&config);
        run_config_from_workload(&config, workload);
        config.model = RUN_PHYSICAL;
        config.reference = RUN_REFERENCE_NEVER;
        config.fail_allocation = n;
        run_execute(&config, workload, &result);
        assert_int_not_equal(result.outcome, RUN_BROKEN);
        assert_int_equal(result.mismatches, 0);
        assert_int_equal(result.finding_totals[RUN_FINDING_LEAK], 0);
        has_failed = result.has_failed_allocation;
        run_result_fini(&result);
        workload_free(workload);
    }
}

/* ---- Alternate virtual addresses ------------------------------------------------------------- */

static uint64_t ddi_calls(const struct run_result *result, const char *name)
{
    for (unsigned i = 0; i < result->ddi_count; i++) {
        if (strcmp(result->ddi_names[i], name) == 0)
            return result->ddi_calls[i];
    }
    fail_msg("no DDI is called %s", name);
    return 0;
}

static void an_alternate_address_goes_with_its_allocation(void **state)
{
    static const char *const buffers[] = {"256", "4K", "64K"};

    for (size_t i = 0; i < ARRAY_COUNT(buffers); i++) {
        struct run_result *result =
            play_physical("sequences/S-19-special-lock-transfer.case", "1.1", buffers[i]);

        test_assert_clean(result);
        /* Out and back twice; acquired by the first access and each time that it is back. */
        assert_int_equal(test_count(result, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER), 4);
        assert_int_equal(ddi_calls(result, "DxgkDdiAcquireSwizzlingRange"), 3);
        assert_int_equal(ddi_calls(result, "DxgkDdiReleaseSwizzlingRange"), 2);
        test_finish(result);
    }
}

static const char three_primaries[] = "drydock-case 1\n"
                                      "option model physical\n"
                                      "option local-memory 4M\n"
                                      "alloc a size=1M segments=local "
                                      "flags=cpu-visible,use-alternate-va,primary\n"
                                      "alloc b size=1M segments=local "
                                      "flags=cpu-visible,use-alternate-va,primary\n"
                                      "alloc c size=1M segments=local "
                                      "flags=cpu-visible,use-alternate-va,primary\n"
                                      "alloc big size=4M segments=local\n"
                                      "submit c0 a:w b:w c:w\nwait all\n"
                                      "write a\nread b\nwrite c\nread c\n"
                                      "submit c0 big:w\nwait all\n"
                                      "read a\nread b\nread c\n"
                                      "submit c0 a:rw b:rw c:rw\nwait all\n"
                                      "read a\nread b\nread c\n";

/* The driver has two: the third takes one from who does not need it now. */
static void there_may_be_more_allocations_than_ranges(void **state)
{
    struct run_result *result = test_play(test_parse(three_primaries));

    test_assert_clean(result);
    assert_int_equal(test_count(result, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER), 4);
    assert_int_equal(test_count(result, DXGK_OPERATION_TRANSFER), 2 + 1); /* and big out */
    test_finish(result);
}

static void wddm_2_knows_no_swizzling_range(void **state)
{
    struct workload *workload = test_parse(three_primaries);
    struct run_result *result;

    test_option(workload, "model", "gpummu");
    test_option(workload, "local-memory", "8M");
    result = test_play(workload);
    test_assert_clean(result);
    assert_int_equal(ddi_calls(result, "DxgkDdiAcquireSwizzlingRange"), 0);
    assert_int_equal(test_count(result, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER), 0);
    test_finish(result);
}

/* ---- Permanent system memory ----------------------------------------------------------------- */

static void what_nobody_wrote_leaves_without_being_copied(void **state)
{
    struct run_result *result = play_physical("sequences/S-08-clean-eviction.case", NULL, NULL);

    test_assert_clean(result);
    assert_int_equal(test_count(result, DXGK_OPERATION_DISCARD_CONTENT), 1);
    assert_int_equal(result->statistics.discarded_bytes, 2 * MiB);
    /* texture in three times and out once, other out once and in once: cut nowhere. */
    assert_int_equal(test_count(result, DXGK_OPERATION_TRANSFER), 5);
    test_finish(result);
}

static void what_the_cpu_wrote_is_in_the_backing_store_already(void **state)
{
    struct run_result *result =
        test_play(test_parse("drydock-case 1\noption model physical\noption local-memory 4M\n"
                             "alloc t size=2M segments=local flags=cpu-visible,permanent-sysmem\n"
                             "alloc other size=3M segments=local\n"
                             "write t\nsubmit c0 t:r\nwait all\n"
                             "write t offset=8K size=4K\n" /* out for the lock, and in again */
                             "submit c0 other:w\nwait all\nread t\n"));

    test_assert_clean(result);
    assert_int_equal(test_count(result, DXGK_OPERATION_DISCARD_CONTENT), 2);
    assert_int_equal(result->statistics.moved_out_bytes, 0);
    test_finish(result);
}

/* ---- Banks ----------------------------------------------------------------------------------- */

struct seen {
    uint64_t offsets[8];
};

static void look_where(void *context, const struct run_live *live)
{
    struct seen *seen = context;

    for (uint32_t i = 0; i < live->workload->allocation_count && i < 8; i++) {
        if (!live->allocations[i] || !NT_SUCCESS(vidmm_lock(live->allocations[i])))
            continue;
        seen->offsets[i] =
            vidmm_locked_page_address(live->allocations[i], 0) - machine_bar1_pa(live->machine);
        vidmm_unlock(live->allocations[i]);
    }
}

static void hints_of_banks_and_directions_are_followed(void **state)
{
    static const char *const levels[] = {"1.1", "1.3"};

    for (size_t i = 0; i < ARRAY_COUNT(levels); i++) {
        struct workload *workload = test_load("banks.case");
        struct seen seen = {{0}};
        const struct run_tamper tamper = {.op_index = 10, .fn = look_where, .context = &seen};
        struct run_config config;
        struct run_result result;

        test_option(workload, "wddm", levels[i]);
        run_config_defaults(&config);
        run_config_from_workload(&config, workload);
        config.model = RUN_PHYSICAL;
        config.reference = RUN_REFERENCE_NEVER;
        config.tamper = &tamper;
        run_execute(&config, workload, &result);
        test_assert_clean(&result);
        assert_int_equal(seen.offsets[0], 0);                   /* the start of bank 1 */
        assert_int_equal(seen.offsets[1], MiB);                 /* the start of bank 2 */
        assert_int_equal(seen.offsets[2], 3 * MiB - 768 * KiB); /* the end of bank 3 */
        assert_int_equal(seen.offsets[3], 4 * MiB - 64 * KiB);  /* the end of bank 4 */
        assert_int_equal(seen.offsets[4], 4 * MiB - 128 * KiB);
        assert_int_equal(seen.offsets[5], 4 * MiB - 256 * KiB);
        run_result_fini(&result);
        workload_free(workload);
    }
}

/*
 * SEG-010: the aperture stands behind local memory in BAR 1. A primary with UseAlternateVA, and
 * what is no primary, are in system memory for the CPU.
 */
static void a_primary_is_seen_in_the_aperture(void **state)
{
    struct workload *workload = test_load("primary-seen-in-the-aperture.case");
    struct seen seen = {{0}};
    const struct run_tamper tamper = {.op_index = 8, .fn = look_where, .context = &seen};
    struct run_config config;
    struct run_result result;

    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.model = RUN_PHYSICAL;
    config.reference = RUN_REFERENCE_NEVER;
    config.tamper = &tamper;
    run_execute(&config, workload, &result);
    test_assert_clean(&result);
    assert_in_range(seen.offsets[0], 8 * MiB, 9 * MiB - 512 * KiB);
    assert_true(seen.offsets[1] > 9 * MiB);
    assert_true(seen.offsets[2] > 9 * MiB);
    run_result_fini(&result);
    workload_free(workload);
}

/* ---- Splitting ------------------------------------------------------------------------------- */

static struct run_result *play_split(const char *splitting, const char *local, const char *piece)
{
    struct workload *workload = test_load("dma-split.case");

    test_option(workload, "model", "physical");
    test_option(workload, "aperture", "64K");
    test_option(workload, "dma-split", splitting);
    test_option(workload, "local-memory", local);
    test_option(workload, "render-piece", piece);
    return test_play(workload);
}

static void what_does_not_fit_at_once_runs_in_parts(void **state)
{
    static const char *const sizes[] = {"2M", "3M", "4M", "5M"};

    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        struct run_result *result = play_split("needed", sizes[i], "2");

        test_assert_clean(result);
        assert_true(result->statistics.dma_buffer_splits >= 2);
        assert_int_equal(result->submissions, 5);
        test_finish(result);
    }
}

static void what_fits_is_not_cut_unless_it_is_asked_for(void **state)
{
    struct run_result *result = play_split("needed", "8M", "1");

    test_assert_clean(result);
    assert_int_equal(result->statistics.dma_buffer_splits, 0);
    test_finish(result);
    result = play_split("always", "8M", "1");
    test_assert_clean(result);
    /* Three fills in two parts, two draws in six. */
    assert_int_equal(result->gpu.submissions - result->statistics.paging_submissions,
                     3 * 2 + 2 * 6);
    test_finish(result);
}

static void a_part_that_does_not_fit_fails_with_its_numbers(void **state)
{
    struct run_result *result = play_split("needed", "2M", "3");

    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_int_equal(result->failed_submissions, 2);
    assert_int_equal(result->findings[0].needed, 3 * MiB);
    assert_int_equal(result->findings[0].available, 2 * MiB);
    assert_int_equal(result->mismatches, 0);
    test_finish(result);
}

static void lack_of_memory_is_survived_while_splitting(void **state)
{
    bool has_failed = true;

    for (uint64_t n = 1; has_failed; n++) {
        struct workload *workload = test_load("dma-split.case");
        struct run_config config;
        struct run_result result;

        test_option(workload, "aperture", "64K");
        test_option(workload, "local-memory", "3M");
        test_option(workload, "dma-split", n % 2 ? "needed" : "always");
        run_config_defaults(&config);
        run_config_from_workload(&config, workload);
        config.model = RUN_PHYSICAL;
        config.reference = RUN_REFERENCE_NEVER;
        config.fail_allocation = n;
        run_execute(&config, workload, &result);
        assert_int_not_equal(result.outcome, RUN_BROKEN);
        assert_int_equal(result.mismatches, 0);
        assert_int_equal(result.finding_totals[RUN_FINDING_LEAK], 0);
        has_failed = result.has_failed_allocation;
        run_result_fini(&result);
        workload_free(workload);
    }
}

/* ---- Locks over lines ------------------------------------------------------------------------ */

/*
 * Two primaries with UseAlternateVA leave and come back four times between them; what a lock with
 * AcquireAperture alone shows goes by TRANSFER (SLT-001), though it is locked over two sleeps.
 */
static void special_transfers_are_for_alternate_addresses_alone(void **state)
{
    struct run_result *result = play_physical("locked-over-a-sleep.case", NULL, NULL);

    test_assert_clean(result);
    assert_int_equal(test_count(result, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER), 8);
    test_finish(result);
}

/*
 * 1,100 KiB go in five parts of 256 KiB, out, back and out again; what is Swizzled goes at once,
 * and has room to stay in the end.
 */
static void special_transfers_come_in_parts(void **state)
{
    struct run_result *result = play_physical("special-lock-transfer-in-parts.case", NULL, NULL);

    test_assert_clean(result);
    assert_int_equal(test_count(result, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER), 3 * 5 + 2);
    test_finish(result);
}

/* Nothing is released or acquired for a lock that ends while the power is off. */
static void a_lock_may_end_asleep(void **state)
{
    static const char *const models[] = {"physical", "gpummu", "iommu"};

    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        struct workload *workload = test_parse("drydock-case 1\n"
                                               "option local-memory 8M\n"
                                               "alloc a size=1M flags=tiled\n"
                                               "alloc b size=1M\n"
                                               "write a\n"
                                               "submit c0 a:rw b:rw\n"
                                               "wait all\n"
                                               "lock a\n"
                                               "lock b\n"
                                               "power d3\n"
                                               "unlock a\n"
                                               "power on\n"
                                               "read b\n"
                                               "submit c0 a:rw\n"
                                               "wait all\n"
                                               "read a\n"
                                               "free b\n");
        struct run_result *result;

        test_option(workload, "model", models[i]);
        result = test_play(workload);
        test_assert_clean(result);
        assert_int_equal(test_count(result, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER), 0);
        test_finish(result);
    }
}

/* ---- PermanentSysMem ------------------------------------------------------------------------- */

/*
 * In by TRANSFER for the submission; out by DISCARD_CONTENT for the lock of the read, which gets
 * the backing store; in again when the lock ends, though nobody submits anything; out at the end.
 */
static void a_lock_of_permanent_memory_is_its_backing_store(void **state)
{
    struct workload *workload = test_parse("drydock-case 1\n"
                                           "option model physical\n"
                                           "option local-memory 8M\n"
                                           "alloc a size=1M segments=local "
                                           "flags=cpu-visible,permanent-sysmem\n"
                                           "write a\n"
                                           "submit c0 a:r\n"
                                           "wait all\n"
                                           "read a\n"
                                           "wait all\n"
                                           "free a\n");
    struct run_result *result = test_play(workload);

    test_assert_clean(result);
    assert_int_equal(test_count(result, DXGK_OPERATION_TRANSFER), 2);
    assert_int_equal(test_count(result, DXGK_OPERATION_DISCARD_CONTENT), 2);
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_of_permanent_memory_is_its_backing_store),
        cmocka_unit_test(special_transfers_are_for_alternate_addresses_alone),
        cmocka_unit_test(special_transfers_come_in_parts),
        cmocka_unit_test(a_primary_is_seen_in_the_aperture),
        cmocka_unit_test(a_lock_may_end_asleep),
        cmocka_unit_test(agp_memory_is_flushed_before_the_cpu_looks),
        cmocka_unit_test(an_agp_segment_gets_no_map_operations),
        cmocka_unit_test(without_a_bridge_nothing_is_flushed),
        cmocka_unit_test(lack_of_memory_is_survived_with_a_bridge),
        cmocka_unit_test(an_alternate_address_goes_with_its_allocation),
        cmocka_unit_test(there_may_be_more_allocations_than_ranges),
        cmocka_unit_test(wddm_2_knows_no_swizzling_range),
        cmocka_unit_test(hints_of_banks_and_directions_are_followed),
        cmocka_unit_test(what_nobody_wrote_leaves_without_being_copied),
        cmocka_unit_test(what_the_cpu_wrote_is_in_the_backing_store_already),
        cmocka_unit_test(what_does_not_fit_at_once_runs_in_parts),
        cmocka_unit_test(what_fits_is_not_cut_unless_it_is_asked_for),
        cmocka_unit_test(a_part_that_does_not_fit_fails_with_its_numbers),
        cmocka_unit_test(lack_of_memory_is_survived_while_splitting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
