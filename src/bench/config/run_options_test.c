/*
 * Options: what is written is read again.
 */
#include "bench/campaign/campaign.h"
#include "bench/config/run_options.h"
#include "bench/whole_runs/test_run.h"

/* Members that have options are equal, as far as a run can tell. */
static void expect_same(uint64_t seed, const struct run_config *a, const struct run_config *b)
{
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        char x[RUN_OPTION_VALUE_BYTES], y[RUN_OPTION_VALUE_BYTES];

        run_option_print(i, a, x);
        run_option_print(i, b, y);
        if (strcmp(x, y) != 0)
            fail_msg("seed %llu: %s is another: %s, was %s", (unsigned long long)seed,
                     workload_options[i].key, y, x);
    }
}

static void round_trip(uint64_t seed, const struct run_config *config, struct workload *workload)
{
    struct run_config defaults, again;
    struct workload_error error;

    if (!run_config_to_options(config, workload, &error))
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
    run_config_defaults(&again);
    run_config_from_workload(&again, workload);
    expect_same(seed, config, &again);
    /* Nothing that is as by default is written: a word less gives another configuration. */
    run_config_defaults(&defaults);
    for (uint32_t i = 0; i < workload->option_count; i++) {
        struct workload *one = test_parse("drydock-case 1\nalloc a size=4K\n");
        const char *key = workload_string(workload, workload->options[i].key);

        if (strcmp(key, "local-invisible") != 0) {
            test_option(one, key, workload_option(workload, key));
            again = defaults;
            run_config_from_workload(&again, one);
            if (memcmp(&again, &defaults, sizeof again) == 0)
                fail_msg("seed %llu: option %s says nothing", (unsigned long long)seed, key);
        }
        workload_free(one);
    }
}

static void what_a_seed_draws_is_written_and_read_again(void **state)
{
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct campaign_setup setup;
        struct workload_error error;
        struct workload *workload;

        assert_true(campaign_draw_workload(seed, NULL, &workload, &error));
        campaign_draw_setup(
            &(struct campaign_options){.driver = "ref", .model = CAMPAIGN_ALL_MODELS}, seed,
            workload, &setup);
        setup.config.driver = seed % 2 ? "ref" : "zoo:D1";
        round_trip(seed, &setup.config, workload);
        workload_free(workload);
    }
}

/* A member at a value that no seed draws: the least that the case format takes and is not the
 * first. */
static void set_unusual(size_t place, struct run_config *config)
{
    const struct workload_option_info *info = &workload_options[place];
    uint64_t number = run_option_number(place, config);

    switch (info->type) {
    case WORKLOAD_OPTION_NAME:
        run_option_read(place, "zoo:some-defect", config);
        return;
    case WORKLOAD_OPTION_PATH:
        run_option_read(place, "./dry dock \xc3\xa4/#1 \"b\\.so", config);
        return;
    case WORKLOAD_OPTION_TEMPLATE:
        run_option_read(place, "size:u64,0x1:u32*3", config);
        return;
    case WORKLOAD_OPTION_SURROUNDINGS:
        run_option_read(place, "id=ACPI\\X&Y,value:A=3,device:\\Device\\B@4=5", config);
        return;
    case WORKLOAD_OPTION_CHOICE:
        number = run_options[place].kind == RUN_OPTION_LEVEL ? 31 : number ^ 1;
        break;
    case WORKLOAD_OPTION_WORDS:
        number = 3;
        break;
    default:
        number = info->min > 1 ? info->min : 2;
        assert_true(number <= info->max);
        break;
    }
    run_option_set_number(place, config, number);
}

/* Members one by one. */
static void every_option_is_written_and_read_again(void **state)
{
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        struct workload *workload = test_parse("drydock-case 1\nalloc a size=4K\n");
        struct run_config config;

        run_config_defaults(&config);
        if (run_options[i].kind == RUN_OPTION_LOCAL ||
            run_options[i].kind == RUN_OPTION_INVISIBLE) {
            config.local_bytes = 8 * MiB;
            config.visible_bytes = 3 * MiB;
        } else if (run_options[i].kind != RUN_OPTION_NONE) {
            set_unusual(i, &config);
        }
        if (config.remaps_dma)
            config.wddm = 30;
        round_trip(i, &config, workload);
        assert_int_equal(workload->option_count > 0, run_options[i].kind != RUN_OPTION_NONE);
        workload_free(workload);
    }
}

/* What a row says first is lawful as an option, or stands for what the run makes of 0. */
static void initial_values_are_values_of_their_options(void **state)
{
    struct run_config config;

    run_config_defaults(&config);
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        char value[RUN_OPTION_VALUE_BYTES];
        struct workload_error error;

        run_option_print(i, &config, value);
        if (value[0] && strcmp(value, "0") != 0 && strcmp(value, "0.0") != 0 &&
            config.private_data_bytes != run_option_number(i, &config) &&
            !workload_check_option(workload_options[i].key, value, &error))
            fail_msg("%s", error.text);
    }
}

/* A seed's case with its setup as options plays what the seed plays. */
static void a_case_with_its_options_stands_alone(void **state)
{
    for (uint64_t seed = 20; seed < 26; seed++) {
        const struct campaign_options options = {.driver = "ref", .model = CAMPAIGN_ALL_MODELS};
        struct campaign_record *record = calloc(1, sizeof *record);
        struct campaign_setup setup;
        struct workload_error error;
        struct workload *drawn, *alone;
        struct run_result *result;
        size_t size;
        char *text;

        assert_non_null(record);
        campaign_play(&options, seed, 0, record);
        assert_true(campaign_draw_workload(seed, NULL, &drawn, &error));
        campaign_draw_setup(
            &(struct campaign_options){.driver = "ref", .model = CAMPAIGN_ALL_MODELS}, seed, drawn,
            &setup);
        assert_true(run_config_to_options(&setup.config, drawn, &error));
        assert_true(workload_print(drawn, &text, &size, &error));
        alone = test_parse(text);
        result = test_play(alone);
        assert_int_equal(result->outcome, RUN_CLEAN);
        assert_true(result->digest == record->digest);
        test_finish(result);
        free(text);
        free(record);
        workload_free(drawn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_seed_draws_is_written_and_read_again),
        cmocka_unit_test(every_option_is_written_and_read_again),
        cmocka_unit_test(initial_values_are_values_of_their_options),
        cmocka_unit_test(a_case_with_its_options_stands_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
