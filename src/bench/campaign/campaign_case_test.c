/*
 * What a campaign plays and what its written case plays alone are one run.
 */
#include "bench/campaign/campaign.h"
#include "bench/whole_runs/test_run.h"

/* Of each model; a campaign of thousands of seeds once had one that differed. */
#define SEEDS 24

/* The case as a file would hold it, as any command reads it. */
static struct workload *written(const struct campaign_options *options,
                                const struct campaign_record *record)
{
    struct workload_error error;
    struct workload *workload = campaign_case(options, record, &error), *read;
    size_t size;
    char *text;

    if (!workload)
        fail_msg("%s", error.text);
    assert_true(workload_print(workload, &text, &size, &error));
    workload_free(workload);
    read = test_parse(text);
    free(text);
    return read;
}

/* seed: where it starts, another for each model. */
static void play_both_ways(struct campaign_options options, uint64_t seed)
{
    struct campaign_record *record = calloc(1, sizeof *record);

    assert_non_null(record);
    for (uint64_t end = seed + SEEDS; seed < end; seed++) {
        struct run_result *alone;

        campaign_play(&options, seed, 0, record);
        alone = test_play(written(&options, record));
        if (alone->digest != record->digest)
            fail_msg(
                "%s-%llu.case alone has digest %016llx, in the campaign %016llx: drydock check -m "
                "%s --profile %s --first-seed %llu --seeds 1 (%s)",
                campaign_model_name(record->model), (unsigned long long)seed,
                (unsigned long long)alone->digest, (unsigned long long)record->digest,
                campaign_model_name(record->model), alone->config.profile, (unsigned long long)seed,
                record->setup);
        assert_int_equal(alone->outcome, RUN_CLEAN);
        test_finish(alone);
    }
    free(record);
}

static void a_seed_plays_alone_as_in_the_campaign_physical(void **state)
{
    play_both_ways((struct campaign_options){.driver = "ref", .model = CAMPAIGN_PHYSICAL}, 1000);
}

static void a_seed_plays_alone_as_in_the_campaign_gpummu(void **state)
{
    play_both_ways((struct campaign_options){.driver = "ref", .model = CAMPAIGN_GPUMMU}, 2000);
}

static void a_seed_plays_alone_as_in_the_campaign_iommu(void **state)
{
    play_both_ways((struct campaign_options){.driver = "ref", .model = CAMPAIGN_IOMMU}, 3000);
}

static void a_seed_plays_alone_as_in_the_campaign_all(void **state)
{
    play_both_ways((struct campaign_options){.driver = "ref", .model = CAMPAIGN_ALL_MODELS}, 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_plays_alone_as_in_the_campaign_physical),
        cmocka_unit_test(a_seed_plays_alone_as_in_the_campaign_gpummu),
        cmocka_unit_test(a_seed_plays_alone_as_in_the_campaign_iommu),
        cmocka_unit_test(a_seed_plays_alone_as_in_the_campaign_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
