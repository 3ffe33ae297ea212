/*
 * Campaigns: what a seed draws, and that neither workers nor their ends change what is recorded.
 */
#include "bench/campaign/campaign_shrinker.h"
#include "bench/campaign/campaign_shrink.h"
#include "bench/config/profile.h"
#include "bench/config/run_options.h"
#include "bench/whole_runs/test_drivers.h"
#include "bench/whole_runs/test_run.h"
#include "bench/child/crash_recorder.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_SEEN 64

struct seen {
    const struct campaign_options *options;
    struct campaign_summary summary;
    uint64_t seeds[MAX_SEEN];
    unsigned count;
    uint64_t known; /* seeds below it were played before */
    uint64_t stop_at;
    struct campaign_record last_bad;
};

static bool is_known(void *context, uint64_t seed, size_t case_index)
{
    return seed < ((struct seen *)context)->known;
}

static bool take(void *context, const struct campaign_record *record)
{
    struct seen *seen = context;

    assert_true(seen->count < MAX_SEEN);
    seen->seeds[seen->count++] = record->seed;
    campaign_summary_add(&seen->summary, record);
    if (record->outcome != CAMPAIGN_CLEAN)
        seen->last_bad = *record;
    return !seen->stop_at || seen->count < seen->stop_at;
}

static struct campaign_options some_seeds(uint64_t count, unsigned jobs)
{
    return (struct campaign_options){
        .driver = "ref",
        .model = CAMPAIGN_ALL_MODELS,
        .first_seed = 1,
        .seed_count = count,
        .shard_count = 1,
        .jobs = jobs,
        .run_limit_seconds = 60,
    };
}

static enum campaign_stop run_seen(const struct campaign_options *options, struct seen *seen)
{
    const struct campaign_watcher watcher = {.context = seen, .is_known = is_known, .record = take};

    assert_true(campaign_summary_init(&seen->summary));
    return campaign_run(options, &watcher);
}

/* ---- What a seed draws ----------------------------------------------------------------------- */

static void a_seed_draws_the_same_case_and_setup_again(void **state)
{
    for (uint64_t seed = 1; seed < 50; seed++) {
        struct campaign_setup first, second;
        struct workload *a, *b;
        struct workload_error error;

        assert_true(campaign_draw_workload(seed, NULL, &a, &error));
        assert_true(campaign_draw_workload(seed, NULL, &b, &error));
        assert_true(workload_equal(a, b));
        campaign_draw_setup(
            &(struct campaign_options){.driver = "ref", .model = CAMPAIGN_ALL_MODELS}, seed, a,
            &first);
        campaign_draw_setup(
            &(struct campaign_options){.driver = "ref", .model = CAMPAIGN_ALL_MODELS}, seed, b,
            &second);
        assert_string_equal(first.text, second.text);
        /* Naming the model that was drawn changes nothing: replays do. */
        campaign_draw_setup(&(struct campaign_options){.driver = "ref", .model = first.model}, seed,
                            b, &second);
        assert_string_equal(first.text, second.text);
        assert_int_equal(first.config.model, second.config.model);
        workload_free(a);
        workload_free(b);
    }
}

/* `faults` is both: an option where the value is one of the option's. */
static void a_focus_wins_over_what_a_seed_draws(void **state)
{
    const char *focus = "rows=yes  faults=pool pitch=yes ops=600 faults=yes driver=other";
    static const char *const names[] = {"rows", "faults", "pitch", "ops", "faults", "driver"};
    struct campaign_options options = {.driver = "ref", .model = CAMPAIGN_PHYSICAL};
    struct campaign_focus_word word;
    struct workload_error error;
    const char *rest = focus;

    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        assert_true(campaign_focus_next(&rest, &word));
        assert_string_equal(word.name, names[i]);
        assert_int_equal(word.place < WORKLOAD_OPTION_COUNT, i == 1 || i == 2);
    }
    assert_false(campaign_focus_next(&rest, &word));
    assert_false(campaign_draw_workload(1, &(struct campaign_options){.focus = focus},
                                        &(struct workload *){0}, &error));
    assert_non_null(strstr(error.text, "driver=other"));
    options.focus = "rows=yes faults=pool pitch=yes ops=600";
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct campaign_setup setup;
        struct workload *drawn;
        unsigned rows = 0;

        assert_true(campaign_draw_workload(seed, &options, &drawn, &error));
        campaign_draw_setup(&options, seed, drawn, &setup);
        assert_true(setup.config.faults & RUN_FAULT_POOL); /* beside what the seed draws */
        assert_true(setup.config.has_pitch);
        for (uint32_t i = 0; i < drawn->allocation_count; i++)
            rows += (drawn->allocations[i].flags & WORKLOAD_ALLOCATION_ROWS) != 0;
        assert_int_not_equal(rows, 0);
        assert_in_range(drawn->op_count, 500, UINT32_MAX);
        workload_free(drawn);
    }
}

/* What counts with hardware queues alone is drawn where the focus, and nobody else, has them. */
static void a_focus_on_hardware_queues_draws_what_they_need(void **state)
{
    struct campaign_options options = {.driver = "ref", .model = CAMPAIGN_GPUMMU};
    unsigned suspends = 0, lists = 0, bands = 0, logs = 0;

    for (unsigned i = 0; i < 2; i++) {
        const unsigned has_focus = i == 0;

        options.focus = has_focus ? "hardware-queues=yes" : NULL;
        for (uint64_t seed = 1; seed <= 60; seed++) {
            struct campaign_setup setup;
            struct workload_error error;
            struct workload *drawn;

            assert_true(campaign_draw_workload(seed, &options, &drawn, &error));
            campaign_draw_setup(&options, seed, drawn, &setup);
            suspends |= has_focus << setup.config.suspends;
            lists |= has_focus << setup.config.lists;
            bands |= has_focus << setup.config.bands;
            logs += setup.config.log_entries < 127;
            assert_true(has_focus || (!setup.config.suspends && !setup.config.lists &&
                                      !setup.config.bands && setup.config.log_entries == 127));
            workload_free(drawn);
        }
    }
    assert_int_equal(suspends, 7);
    assert_int_equal(bands, 3);
    assert_int_equal(lists, 7);
    assert_true(logs > 10);
}

static void seeds_reach_every_model_level_and_size(void **state)
{
    bool has_model[CAMPAIGN_ALL_MODELS] = {0}, has_none = false, has_least = false,
         has_page = false;
    unsigned modes = 0, scatters = 0, patches = 0;
    struct workload *workload = test_parse("drydock-case 1\nalloc a size=4K\n");

    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct campaign_setup setup;
        unsigned bytes;

        campaign_draw_setup(
            &(struct campaign_options){.driver = "ref", .model = CAMPAIGN_ALL_MODELS}, seed,
            workload, &setup);
        bytes = setup.config.paging_buffer_bytes;
        has_model[setup.model] = true;
        assert_true(bytes == 0 || (bytes >= 64 && bytes <= 4096));
        has_least |= bytes && bytes <= 72;
        has_page |= bytes >= 4088;
        has_none |= setup.config.private_data_bytes == 0;
        modes |= 1u << setup.config.update_mode;
        scatters |= 1u << setup.config.scatter;
        patches |= 1u << setup.config.skips_paging_patch;
    }
    for (unsigned i = 0; i < CAMPAIGN_ALL_MODELS; i++)
        assert_true(has_model[i]);
    assert_true(has_none && has_least && has_page);
    assert_int_equal(modes, 7);
    assert_int_equal(scatters, 7);
    assert_int_equal(patches, 3);
    workload_free(workload);
}

/* 2 and 3 levels translate less than the address needs. */
static void a_board_has_the_addresses_that_the_case_chooses(void **state)
{
    static const struct campaign_options options = {.driver = "ref", .model = CAMPAIGN_GPUMMU};
    struct workload *high =
        test_parse("drydock-case 1\noption model gpummu\nprocess p0\n"
                   "pte p0 map va=0x600000000000 segment=local page=1 pages=4\n");
    struct workload *highest = test_parse("drydock-case 1\noption model gpummu\n"
                                          "alloc a size=64K va=0xfffffff00000\n");
    unsigned levels = 0;

    for (uint64_t seed = 0; seed < 300; seed++) {
        struct campaign_setup setup;

        campaign_draw_setup(&options, seed, high, &setup);
        assert_true(run_mmu_va_bits(&setup.config.mmu) >= 47);
        levels |= 1u << setup.config.mmu.levels;
        campaign_draw_setup(&options, seed, highest, &setup);
        assert_int_equal(run_mmu_va_bits(&setup.config.mmu), 48);
    }
    assert_int_equal(levels, 1u << 0 | 1u << 4 | 1u << 5 | 1u << 6);
    workload_free(high);
    workload_free(highest);
}

static void options_of_a_case_win(void **state)
{
    struct workload *workload = test_parse("drydock-case 1\noption model physical\n"
                                           "option paging-buffer 512\noption scatter no\n"
                                           "alloc a size=4K\n");
    struct campaign_options options = {.driver = "ref", .model = CAMPAIGN_GPUMMU};
    struct campaign_setup setup;

    for (uint64_t seed = 0; seed < 50; seed++) {
        campaign_draw_setup(
            &(struct campaign_options){.driver = "ref", .model = CAMPAIGN_ALL_MODELS}, seed,
            workload, &setup);
        assert_int_equal(setup.model, CAMPAIGN_PHYSICAL);
        assert_int_equal(setup.config.paging_buffer_bytes, 512);
        assert_int_equal(setup.config.scatter, MACHINE_CONTIGUOUS);
        campaign_draw_setup(&options, seed, workload, &setup);
        assert_int_equal(setup.config.model, RUN_GPUMMU);
        assert_true(setup.config.wddm >= 20);
    }
    options.settings[workload_option_place("pool-guard")] = "begin";
    campaign_draw_setup(&options, 1, workload, &setup);
    assert_int_equal(setup.config.pool_guard, RUN_POOL_BEGIN); /* of the command line win over it */
    workload_free(workload);
}

/* A window of gigabytes is a resource of another kind, and may not be where others are. */
static void a_board_that_somebody_has_laid_out_is_not_drawn_larger(void **state)
{
    static const struct {
        const char *options;
        bool is_far;
    } boards[] = {{"", true},
                  {"option surroundings value:X=1\n", true},
                  {"option surroundings memory:0=64K\n", false},
                  {"option surroundings bar:4=64K\n", false},
                  {"option surroundings address:2=0x10000000000\n", false}};
    struct campaign_options options = {.driver = "ref", .model = CAMPAIGN_PHYSICAL};

    for (size_t i = 0; i < ARRAY_COUNT(boards); i++) {
        char text[128];
        struct workload *workload;
        struct campaign_setup setup;
        bool is_far = false;

        snprintf(text, sizeof text, "drydock-case 1\n%salloc a size=4K\n", boards[i].options);
        workload = test_parse(text);
        for (uint64_t seed = 0; seed < 200; seed++) {
            campaign_draw_setup(&options, seed, workload, &setup);
            is_far |= setup.config.far_bytes != 0;
        }
        assert_int_equal(is_far, boards[i].is_far);
        workload_free(workload);
    }
}

/* No seed draws an option for a model or level in which it does not count. */
static void nothing_is_drawn_where_it_does_not_count(void **state)
{
    const struct campaign_options options = {.driver = "ref", .model = CAMPAIGN_ALL_MODELS};
    struct workload *workload = test_parse("drydock-case 1\nalloc a size=4K\n");
    bool is_drawn[WORKLOAD_OPTION_COUNT] = {false};
    struct run_config defaults;

    run_config_defaults(&defaults);
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct campaign_setup setup;

        campaign_draw_setup(&options, seed, workload, &setup);
        for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
            const struct workload_option_where *where = &workload_options[i].where;
            bool counts =
                setup.config.wddm >= where->wddm && (where->models >> setup.config.model & 1);
            char initial[RUN_OPTION_VALUE_BYTES], value[RUN_OPTION_VALUE_BYTES];

            run_option_print(i, &defaults, initial);
            run_option_print(i, &setup.config, value);
            is_drawn[i] |= strcmp(initial, value) != 0;
            if (!counts && strcmp(initial, value) != 0)
                fail_msg("seed %llu: %s is %s in the %s model", (unsigned long long)seed,
                         workload_options[i].key, value, run_model_name(setup.config.model));
        }
    }
    /* A row at either end of the table, one with a function, and one of several to a stream. */
    assert_true(is_drawn[workload_option_place("wddm")]);
    assert_true(is_drawn[workload_option_place("initial-update")]);
    assert_true(is_drawn[workload_option_place("private-data")]);
    assert_true(is_drawn[workload_option_place("idle-updates")]);
    workload_free(workload);
}

/* ---- Many ------------------------------------------------------------------------------------ */

static void records_do_not_depend_on_the_number_of_workers(void **state)
{
    struct campaign_options one = some_seeds(12, 1), three = some_seeds(12, 3);
    struct seen a = {0}, b = {0};
    struct campaign_record alone;

    assert_int_equal(run_seen(&one, &a), CAMPAIGN_DONE);
    assert_int_equal(run_seen(&three, &b), CAMPAIGN_DONE);
    assert_int_equal(a.count, 12);
    assert_int_equal(b.count, 12);
    assert_int_equal(a.summary.findings, 0);
    assert_true(a.summary.operations && a.summary.pages_checked);
    assert_true(a.summary.digest == b.summary.digest);
    assert_memory_equal(&a.summary.rules, &b.summary.rules, sizeof a.summary.rules);
    assert_true(a.summary.rules.evaluated[RULE_PB_004] > 0);
    /* What no run can see, as its reason says, was not looked at. */
    for (unsigned id = RULE_NONE + 1; id < RULE_COUNT; id++) {
        if (rule_reason_unchecked((enum rule_id)id) && a.summary.rules.evaluated[id])
            fail_msg("%s has a reason why it cannot be checked, and was", rule_get(id)->id);
    }
    campaign_summary_fini(&a.summary);
    /* Nor on the process. */
    assert_true(campaign_summary_init(&a.summary));
    for (uint64_t seed = 1; seed <= 12; seed++) {
        campaign_play(&one, seed, 0, &alone);
        campaign_summary_add(&a.summary, &alone);
    }
    assert_true(a.summary.digest == b.summary.digest);
    /* Alternatives that calls had: the same, however the runs were divided. */
    assert_memory_equal(&a.summary.arms, &b.summary.arms, sizeof a.summary.arms);
    assert_true(coverage_arm_counts_seen(&a.summary.arms) > 80);
    for (unsigned i = 0; i < COVERAGE_ARMS_MOST; i++)
        assert_true(a.summary.arms.runs[i] <= 12);
    campaign_summary_fini(&a.summary);
    campaign_summary_fini(&b.summary);
}

static bool has_gpummu_only(const struct run_driver *driver, enum run_model model)
{
    return model == RUN_GPUMMU;
}

static bool find_narrow(const char *name, struct run_driver *out_driver)
{
    *out_driver = (struct run_driver){.name = name, .has_model = has_gpummu_only};
    return strcmp(name, "narrow") == 0;
}

static void a_driver_is_played_in_the_models_that_it_has(void **state)
{
    struct campaign_options options = some_seeds(6, 1);
    struct campaign_record record;
    struct campaign_setup setup;
    struct workload *workload = test_parse("drydock-case 1\noption model physical\n"
                                           "alloc a size=4K\n");

    run_add_drivers(find_narrow);
    options.driver = "narrow";
    for (uint64_t seed = 1; seed <= 6; seed++) {
        campaign_play(&options, seed, 0, &record);
        assert_int_equal(record.outcome, CAMPAIGN_CLEAN);
        assert_int_equal(record.model, CAMPAIGN_GPUMMU);
    }
    /* What was asked for by name, or by the case, is refused where it cannot be. */
    campaign_draw_setup(&options, 1, workload, &setup);
    assert_int_equal(setup.model, CAMPAIGN_PHYSICAL);
    options.model = CAMPAIGN_PHYSICAL;
    campaign_play(&options, 1, 0, &record);
    assert_int_equal(record.outcome, CAMPAIGN_REFUSED);
    workload_free(workload);
}

static void play_nothing(const struct campaign_options *options, uint64_t seed, size_t case_index,
                         struct campaign_record *out_record)
{
    *out_record = (struct campaign_record){.seed = seed, .digest = seed * 3};
}

static void shards_and_known_items_add_up_to_the_whole(void **state)
{
    struct campaign_options options = some_seeds(20, 2);
    uint64_t digest;
    struct seen whole = {0}, parts = {0};

    options.play = play_nothing;
    assert_int_equal(run_seen(&options, &whole), CAMPAIGN_DONE);
    digest = whole.summary.digest;
    campaign_summary_fini(&whole.summary);
    assert_int_equal(whole.count, 20);

    options.shard_count = 3;
    assert_true(campaign_summary_init(&parts.summary));
    for (options.shard = 0; options.shard < 3; options.shard++) {
        const struct campaign_watcher watcher = {.context = &parts, .record = take};

        assert_int_equal(campaign_run(&options, &watcher), CAMPAIGN_DONE);
    }
    assert_int_equal(parts.count, 20);
    assert_true(parts.summary.digest == digest);
    campaign_summary_fini(&parts.summary);

    options = some_seeds(20, 2);
    options.play = play_nothing;
    parts = (struct seen){.known = 15};
    assert_int_equal(run_seen(&options, &parts), CAMPAIGN_DONE);
    assert_int_equal(parts.count, 6);
    campaign_summary_fini(&parts.summary);
}

static void play_badly(const struct campaign_options *options, uint64_t seed, size_t case_index,
                       struct campaign_record *out_record)
{
    if (seed == 3) {
        crash_recorder_note_line("> DxgkDdiTheLastOne", strlen("> DxgkDdiTheLastOne"));
        fprintf(stderr, "before the end\nsomewhere.c:1: assertion failed: true\n");
        raise(SIGSEGV);
    }
    if (seed == 5)
        _exit(7);
    while (seed == 7)
        pause();
    play_nothing(options, seed, case_index, out_record);
}

static void a_campaign_survives_crashes_and_hangs(void **state)
{
    struct campaign_options options = some_seeds(12, 2);
    struct seen seen = {0};

    options.play = play_badly;
    options.run_limit_seconds = 0.3;
    assert_int_equal(run_seen(&options, &seen), CAMPAIGN_DONE);
    assert_int_equal(seen.count, 12);
    assert_int_equal(seen.summary.findings, 3);
    assert_int_equal(seen.summary.runs_by_outcome[CAMPAIGN_CRASHED], 2);
    assert_int_equal(seen.summary.runs_by_outcome[CAMPAIGN_HUNG], 1);
    assert_int_equal(seen.summary.cause_count, 3);
    for (size_t i = 0; i < seen.summary.cause_count; i++) {
        const struct campaign_record *record = &seen.summary.causes[i].first;
        const char *text = record->findings[0].text;
        char replay[256];

        if (record->seed == 3) {
            assert_non_null(strstr(text, "signal 11"));
            assert_non_null(strstr(text, "somewhere.c:1: assertion failed: true"));
            assert_non_null(strstr(record->detail, "before the end"));
            assert_non_null(strstr(record->detail, "bench_tests")); /* a frame */
            assert_non_null(strstr(record->detail, "last calls:\n> DxgkDdiTheLastOne\n"));
        } else if (record->seed == 5) {
            assert_non_null(strstr(text, "exit status 7"));
        } else {
            assert_int_equal(record->seed, 7);
            assert_non_null(strstr(text, "no end within 0.3 s"));
            assert_non_null(strstr(record->detail, "bench_tests"));
        }
        campaign_replay_command(record, replay, sizeof replay);
        assert_non_null(strstr(replay, "--seeds 1"));
    }
    campaign_summary_fini(&seen.summary);
}

static void a_guard_page_names_the_rule_in_a_campaign_that_goes_on(void **state)
{
    struct workload *workload = test_parse("drydock-case 1\noption model physical\n"
                                           "alloc a size=64K segments=local flags=cpu-visible\n"
                                           "write a\nsubmit c0 a:r\nwait all\n");
    const struct workload *const cases[] = {workload};
    struct campaign_options options = some_seeds(4, 1);
    const struct campaign_finding *finding;
    struct seen seen = {0};

    options.driver = "test:overrun";
    options.cases = cases;
    options.case_count = 1;
    assert_int_equal(run_seen(&options, &seen), CAMPAIGN_DONE);
    assert_int_equal(seen.count, 4);
    assert_int_equal(seen.summary.runs_by_outcome[CAMPAIGN_CRASHED], 4);
    assert_int_equal(seen.summary.cause_count, 1);
    assert_true(seen.summary.rules.broken[RULE_PB_005] > 0);
    finding = &seen.summary.causes[0].first.findings[0];
    assert_string_equal(finding->rule, "PB-005");
    assert_string_equal(finding->detail.where, "DxgkDdiBuildPagingBuffer(TRANSFER).pDmaBuffer");
    assert_non_null(strstr(seen.last_bad.detail, "> DxgkDdiBuildPagingBuffer(TRANSFER) DmaSize="));
    campaign_summary_fini(&seen.summary);
    workload_free(workload);
}

static void a_campaign_stops_when_it_is_told(void **state)
{
    struct campaign_options options = some_seeds(40, 1);
    struct seen seen = {0};

    options.play = play_badly;
    options.max_findings = 2;
    assert_int_equal(run_seen(&options, &seen), CAMPAIGN_STOPPED_BY_FINDINGS);
    assert_int_equal(seen.summary.findings, 2);
    campaign_summary_fini(&seen.summary);

    options.max_findings = 0;
    options.play = play_nothing;
    seen = (struct seen){.stop_at = 4};
    assert_int_equal(run_seen(&options, &seen), CAMPAIGN_STOPPED_BY_CALLER);
    assert_int_equal(seen.count, 4);
    campaign_summary_fini(&seen.summary);
}

static void findings_that_differ_in_numbers_have_one_cause(void **state)
{
    struct campaign_record record = {.seed = 9,
                                     .outcome = CAMPAIGN_FINDINGS,
                                     .finding_count = 1,
                                     .findings = {{.kind = "content", .text = "a7, page 12: bad"}}};
    struct campaign_summary summary;

    assert_true(campaign_summary_init(&summary));
    campaign_summary_add(&summary, &record);
    record.seed = 4;
    snprintf(record.findings[0].text, sizeof record.findings[0].text, "a131, page 0x7: bad");
    campaign_summary_add(&summary, &record);
    assert_int_equal(summary.cause_count, 1);
    assert_int_equal(summary.causes[0].count, 2);
    assert_int_equal(summary.causes[0].first.seed, 4);
    snprintf(record.findings[0].text, sizeof record.findings[0].text, "a131, page 0x7: worse");
    campaign_summary_add(&summary, &record);
    assert_int_equal(summary.cause_count, 2);
    campaign_summary_fini(&summary);
}

/* ---- Drivers and profiles -------------------------------------------------------------------- */

static bool has_only_gpummu(const struct run_driver *driver, enum run_model model)
{
    return model == RUN_GPUMMU;
}

static bool find_gpummu_driver(const char *name, struct run_driver *out_driver)
{
    const bool is_tolerant = strcmp(name, "test:gpummu") == 0;

    if (!is_tolerant && strcmp(name, "test:particular") != 0)
        return false;
    *out_driver =
        (struct run_driver){.name = name, .has_model = has_only_gpummu, .is_tolerant = is_tolerant};
    return true;
}

static void seeds_draw_among_the_models_of_the_driver(void **state)
{
    const struct campaign_options every = {.driver = "ref", .model = CAMPAIGN_ALL_MODELS},
                                  one = {.driver = "test:gpummu", .model = CAMPAIGN_ALL_MODELS};
    struct workload *workload = test_parse("drydock-case 1\nalloc a size=4K\n");

    assert_true(campaign_has_model(&one, CAMPAIGN_GPUMMU));
    assert_false(campaign_has_model(&one, CAMPAIGN_PHYSICAL));
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct campaign_setup setup, usual;

        campaign_draw_setup(&one, seed, workload, &setup);
        assert_int_equal(setup.model, CAMPAIGN_GPUMMU);
        assert_string_equal(setup.config.driver, "test:gpummu");
        campaign_draw_setup(&every, seed, workload, &usual);
        if (usual.model == CAMPAIGN_GPUMMU) /* what it draws otherwise is the same */
            assert_string_equal(usual.text, setup.text);
    }
    workload_free(workload);
}

/* Whoever does not say that less will do gets what it declares, and Patch for paging buffers. */
static void a_driver_gets_what_it_declares(void **state)
{
    struct campaign_options options = {.driver = "test:particular", .model = CAMPAIGN_GPUMMU};
    struct workload *workload = test_parse("drydock-case 1\nalloc a size=4K\n");
    unsigned smaller = 0;

    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct campaign_setup setup;

        options.profile = NULL;
        campaign_draw_setup(&options, seed, workload, &setup);
        assert_int_equal(setup.config.paging_buffer_bytes, 0);
        assert_int_equal(setup.config.private_data_bytes, RUN_DRIVERS_OWN);
        assert_false(setup.config.skips_paging_patch);
        options.profile = "small-buffers";
        campaign_draw_setup(&options, seed, workload, &setup);
        smaller += setup.config.paging_buffer_bytes != 0;
    }
    workload_free(workload);
    assert_in_range(smaller, 50, 200);
}

static void a_profile_narrows_levels_and_faults(void **state)
{
    struct workload *workload = test_parse("drydock-case 1\nalloc a size=4K\n");
    struct campaign_options options = {.driver = "ref", .model = CAMPAIGN_ALL_MODELS};
    const struct run_profile *profile;

    for (unsigned i = 0; (profile = run_profile_at(i)) != NULL; i++) {
        unsigned faults = 0;

        options.profile = profile->name;
        assert_ptr_equal(run_find_profile(profile->name), profile);
        for (uint64_t seed = 0; seed < 200; seed++) {
            struct campaign_setup setup;

            campaign_draw_setup(&options, seed, workload, &setup);
            assert_string_equal(setup.config.profile, profile->name);
            assert_true(run_profile_has_level(profile, setup.config.wddm));
            faults |= setup.config.faults;
        }
        assert_int_equal(faults, profile->faults);
    }
    options.profile = "wddm-1";
    assert_true(campaign_has_model(&options, CAMPAIGN_PHYSICAL));
    assert_false(campaign_has_model(&options, CAMPAIGN_GPUMMU));
    workload_free(workload);
}

/* A case in which the driver leaves DmaSize as it is, whatever the profile accepts (U1). */
static struct workload *dma_size_is_left(void)
{
    struct workload *workload = test_load("evict-and-restore.case");
    struct workload_error error;

    assert_true(workload_set_option(workload, "lowers-dma-size", "no", &error));
    return workload;
}

/* One reading of U1 breaks, the other does not. */
static void a_strict_profile_finds_what_the_default_accepts(void **state)
{
    static const struct {
        const char *profile;
        bool is_found;
    } cases[] = {{"default", false},
                 {"strict-dma-size-unchanged", false},
                 {"strict-dma-size-lowered", true}};
    struct campaign_record *record = calloc(1, sizeof *record);
    struct workload *workload = dma_size_is_left();

    assert_non_null(record);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const struct campaign_options options = {.driver = "ref",
                                                 .profile = cases[i].profile,
                                                 .model = CAMPAIGN_PHYSICAL,
                                                 .cases = (const struct workload *const *)&workload,
                                                 .case_count = 1};
        char replay[256];

        campaign_play(&options, 1, 0, record);
        assert_int_equal(record->rules.broken[RULE_PB_007] != 0, cases[i].is_found);
        assert_int_equal(record->outcome, cases[i].is_found ? CAMPAIGN_FINDINGS : CAMPAIGN_CLEAN);
        campaign_replay_command(record, replay, sizeof replay);
        assert_int_equal(strstr(replay, "--profile strict") != NULL, i > 0);
    }
    workload_free(workload);
    free(record);
}

/* Without a case that says otherwise the reference driver follows the profile. */
static void the_reference_driver_follows_a_strict_profile(void **state)
{
    static const char *const profiles[] = {"strict-dma-size-unchanged", "strict-dma-size-lowered"};
    struct campaign_record *record = calloc(1, sizeof *record);

    assert_non_null(record);
    for (size_t i = 0; i < ARRAY_COUNT(profiles); i++) {
        const struct campaign_options options = {
            .driver = "ref", .profile = profiles[i], .model = CAMPAIGN_ALL_MODELS};
        uint64_t evaluated = 0; /* a seed may have no paging operation */

        for (uint64_t seed = 0; seed < 10; seed++) {
            campaign_play(&options, seed, 0, record);
            assert_int_equal(record->outcome, CAMPAIGN_CLEAN);
            evaluated += record->rules.evaluated[RULE_PB_007];
        }
        assert_true(evaluated > 0);
    }
    free(record);
}

/* The one case, by the reading that it breaks. */
static struct campaign_options strict_about(struct workload *const *workload)
{
    return (struct campaign_options){.driver = "ref",
                                     .profile = "strict-dma-size-lowered",
                                     .model = CAMPAIGN_ALL_MODELS,
                                     .cases = (const struct workload *const *)workload,
                                     .case_count = 1};
}

static void a_cause_is_made_a_case_that_stands_alone(void **state)
{
    struct workload *workload = dma_size_is_left();
    const struct campaign_options options = strict_about(&workload);
    const struct repro_shrink how = {.seconds = 30};
    struct campaign_cause *cause = calloc(1, sizeof *cause);
    char path[] = "/tmp/drydock-cause-XXXXXX";
    struct workload_error error;
    struct run_result *result;
    struct workload *small;

    assert_non_null(cause);
    campaign_play(&options, 1, 0, &cause->first);
    assert_string_equal(cause->first.findings[0].rule, "PB-007");
    close(mkstemp(path));
    if (!campaign_shrink_cause(&options, cause, &how, path, &error))
        fail_msg("%s", error.text);
    assert_string_equal(cause->shrunk_path, path);
    assert_true(cause->shrunk_lines <= 3 && cause->shrunk_from == workload->op_count);
    assert_true(workload_load(path, &small, &error));
    unlink(path);
    assert_int_equal(small->op_count, cause->shrunk_lines);
    result = test_play(small);
    assert_true(result->rules.broken[RULE_PB_007] > 0);
    test_finish(result);

    /* What is not shown is not made smaller. */
    snprintf(cause->first.findings[0].rule, sizeof cause->first.findings[0].rule, "PB-005");
    assert_false(campaign_shrink_cause(&options, cause, &how, path, &error));
    assert_non_null(strstr(error.text, "does not show it"));
    workload_free(workload);
    free(cause);
}

/* The bytes of a file; the caller frees them. */
static char *text_of(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 64 * 1024);

    assert_non_null(file);
    assert_true(text && fread(text, 1, 64 * 1024 - 1, file) > 0);
    fclose(file);
    return text;
}

static void a_case_that_is_made_beside_a_campaign_is_the_same(void **state)
{
    struct workload *workload = dma_size_is_left();
    const struct campaign_options options = strict_about(&workload);
    const struct repro_shrink how = {.seconds = 60};
    struct campaign_shrinker *shrinker = campaign_shrinker_create(&options, &how);
    struct campaign_cause *cause = calloc(2, sizeof *cause), *other = cause + 1;
    char path[] = "/tmp/drydock-cause-XXXXXX";
    struct workload_error error;
    char *before, *beside;

    assert_non_null(cause);
    campaign_play(&options, 1, 0, &cause->first);
    *other = *cause;
    other->first.seed++;
    campaign_shrinker_add(shrinker, cause);
    campaign_shrinker_look(shrinker);
    close(mkstemp(path));
    assert_true(campaign_shrink_cause(&options, cause, &how, path, &error));
    before = text_of(path);
    assert_false(cause->shrunk_in_part);

    *cause->shrunk_path = '\0';
    cause->shrunk_lines = cause->shrunk_from = 0;
    assert_false(campaign_shrinker_take(shrinker, other, path)); /* of another seed */
    unlink(path);
    assert_true(campaign_shrinker_take(shrinker, cause, path));
    beside = text_of(path);
    assert_string_equal(beside, before);
    assert_string_equal(cause->shrunk_path, path);
    assert_true(cause->shrunk_lines <= 3 && cause->shrunk_from == workload->op_count);
    unlink(path);
    campaign_shrinker_destroy(shrinker);
    free(before);
    free(beside);
    workload_free(workload);
    free(cause);
}

/* Of the campaign's workers, whose ends it would put off. */
static void what_is_made_beside_a_campaign_keeps_no_files_of_it_open(void **state)
{
    struct workload *workload = dma_size_is_left();
    const struct campaign_options options = strict_about(&workload);
    const struct repro_shrink how = {.seconds = 60};
    struct campaign_shrinker *shrinker = campaign_shrinker_create(&options, &how);
    struct campaign_cause *cause = calloc(1, sizeof *cause);
    siginfo_t ended = {0};
    char nothing;
    int ends[2];

    assert_non_null(cause);
    campaign_play(&options, 1, 0, &cause->first);
    assert_int_equal(pipe(ends), 0);
    campaign_shrinker_add(shrinker, cause);
    close(ends[1]);
    assert_int_equal(read(ends[0], &nothing, 1), 0);
    usleep(20000); /* what ends closes its files a little earlier */
    assert_int_equal(waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT), 0);
    assert_int_equal(ended.si_pid, 0); /* its process is still at work */
    close(ends[0]);
    campaign_shrinker_destroy(shrinker);
    workload_free(workload);
    free(cause);
}

static void what_cannot_be_made_beside_a_campaign_has_no_result(void **state)
{
    struct workload *workload = dma_size_is_left();
    const struct campaign_options options = strict_about(&workload);
    const struct repro_shrink how = {.seconds = 60};
    struct campaign_shrinker *shrinker = campaign_shrinker_create(&options, &how);
    struct campaign_cause *cause = calloc(2, sizeof *cause), *second = cause + 1;

    assert_non_null(cause);
    campaign_play(&options, 1, 0, &cause->first);
    snprintf(cause->first.findings[0].rule, sizeof cause->first.findings[0].rule, "PB-005");
    *second = *cause;
    second->first.seed++;
    campaign_shrinker_add(shrinker, cause);
    campaign_shrinker_add(shrinker, second);
    assert_false(campaign_shrinker_take(shrinker, second, "/tmp/drydock-nothing")); /* waits */
    assert_false(campaign_shrinker_take(shrinker, cause, "/tmp/drydock-nothing"));
    assert_int_equal(access("/tmp/drydock-nothing", F_OK), -1);
    campaign_shrinker_destroy(shrinker);
    campaign_shrinker_destroy(NULL);
    assert_false(campaign_shrinker_take(NULL, cause, "/tmp/drydock-nothing"));
    workload_free(workload);
    free(cause);
}

/* ---- What campaigns have found --------------------------------------------------------------- */

/*
 * A mapping without room for its tables fails every submission that uses it. Such a one, resident
 * already, was tried again for ever, while the one that was to run alone waited for it.
 */
static void a_submission_that_cannot_run_does_not_keep_others_waiting(void **state)
{
    struct workload *workload =
        test_parse("drydock-case 1\n"
                   "option model gpummu\noption local-memory 584K\noption local-invisible 2488K\n"
                   "process p0\nprocess p1\nprocess p2\n"
                   "device d0 process=p0\ndevice d1 process=p1\ndevice d2 process=p2\n"
                   "context c0 device=d0 node=0\ncontext c1 device=d0 node=1\n"
                   "context c2 device=d1 node=0\ncontext c3 device=d1 node=1\n"
                   "context c4 device=d2 node=0\ncontext c5 device=d2 node=1\n"
                   "alloc a10 size=88662 device=d1 segments=local,aperture flags=shared\n"
                   "alloc a12 size=505692 device=d1 align=16K segments=aperture,local\n"
                   "alloc a13 size=536267 align=64K segments=local\n"
                   "alloc a14 size=382474 device=d1 segments=local flags=cpu-visible\n"
                   "submit c3 a14@159717+204771:rw\nsubmit c5 a10@33934+26665:w\n"
                   "pte p2 zero va=0x4002200000 pages=2048\n"
                   "alloc a15 size=487952 align=32K segments=aperture,local\n"
                   "submit c1 a10@29765+45508:r\n");
    struct run_result *result = test_play(workload);

    assert_int_not_equal(result->outcome, RUN_BROKEN);
    test_finish(result);
}

/*
 * A notice names an address that is good until the GPU has seen it (NTF-018): page tables that the
 * processor writes at once have to wait for it.
 */
static void a_notice_is_seen_before_the_processor_clears_its_entries(void **state)
{
    struct workload *workload =
        test_parse("drydock-case 1\n"
                   "option model gpummu\noption wddm 3.2\noption page-tables cpu\n"
                   "alloc a size=3261 segments=aperture,local flags=notify-iommu-unmap\n"
                   "submit c0 a:r\nwait all\nfree a\nstep \"after\"\n");
    struct run_result *result = test_play(workload);

    assert_int_equal(result->outcome, RUN_CLEAN);
    assert_int_equal(result->statistics.operations[DXGK_OPERATION_NOTIFY_ALLOC], 1);
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_draws_the_same_case_and_setup_again),
        cmocka_unit_test(a_focus_wins_over_what_a_seed_draws),
        cmocka_unit_test(a_focus_on_hardware_queues_draws_what_they_need),
        cmocka_unit_test(seeds_reach_every_model_level_and_size),
        cmocka_unit_test(a_board_has_the_addresses_that_the_case_chooses),
        cmocka_unit_test(options_of_a_case_win),
        cmocka_unit_test(a_board_that_somebody_has_laid_out_is_not_drawn_larger),
        cmocka_unit_test(nothing_is_drawn_where_it_does_not_count),
        cmocka_unit_test(records_do_not_depend_on_the_number_of_workers),
        cmocka_unit_test(shards_and_known_items_add_up_to_the_whole),
        cmocka_unit_test(a_driver_is_played_in_the_models_that_it_has),
        cmocka_unit_test(a_campaign_survives_crashes_and_hangs),
        cmocka_unit_test(a_guard_page_names_the_rule_in_a_campaign_that_goes_on),
        cmocka_unit_test(a_campaign_stops_when_it_is_told),
        cmocka_unit_test(findings_that_differ_in_numbers_have_one_cause),
        cmocka_unit_test(seeds_draw_among_the_models_of_the_driver),
        cmocka_unit_test(a_driver_gets_what_it_declares),
        cmocka_unit_test(a_profile_narrows_levels_and_faults),
        cmocka_unit_test(a_strict_profile_finds_what_the_default_accepts),
        cmocka_unit_test(the_reference_driver_follows_a_strict_profile),
        cmocka_unit_test(a_cause_is_made_a_case_that_stands_alone),
        cmocka_unit_test(a_case_that_is_made_beside_a_campaign_is_the_same),
        cmocka_unit_test(what_is_made_beside_a_campaign_keeps_no_files_of_it_open),
        cmocka_unit_test(what_cannot_be_made_beside_a_campaign_has_no_result),
        cmocka_unit_test(a_submission_that_cannot_run_does_not_keep_others_waiting),
        cmocka_unit_test(a_notice_is_seen_before_the_processor_clears_its_entries),
    };

    run_add_drivers(find_gpummu_driver);
    run_add_drivers(test_find_driver);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
