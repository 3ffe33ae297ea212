/*
 * Fuzz target: the first eight bytes are a seed, the rest the options of a case: what a run takes
 * from them it writes as options again, and a campaign draws a setup around them that can be
 * written, too.
 */
#include "bench/campaign/campaign.h"
#include "bench/config/run_options.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As options and back. */
static void check(const struct run_config *config, struct workload *workload)
{
    char values[WORKLOAD_OPTION_COUNT][RUN_OPTION_VALUE_BYTES], value[RUN_OPTION_VALUE_BYTES];
    struct run_config once, twice;
    struct workload_error error;

    if (!run_config_to_options(config, workload, &error))
        return; /* a name that no case can state */
    run_config_defaults(&once);
    run_config_from_workload(&once, workload);
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++)
        run_option_print(i, &once, values[i]);
    if (!run_config_to_options(&once, workload, &error))
        abort();
    run_config_defaults(&twice);
    run_config_from_workload(&twice, workload);
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        run_option_print(i, &twice, value);
        if (strcmp(values[i], value) != 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char head[] = "drydock-case 1\n";
    const struct campaign_options options = {.driver = "ref", .model = CAMPAIGN_ALL_MODELS};
    struct workload_error error;
    struct workload *workload;
    uint64_t seed;
    char *text;

    if (size < sizeof seed)
        return 0;
    memcpy(&seed, data, sizeof seed);
    size -= sizeof seed;
    text = malloc(sizeof head - 1 + size);
    if (!text)
        return 0;
    memcpy(text, head, sizeof head - 1);
    memcpy(text + sizeof head - 1, data + sizeof seed, size);
    if (workload_parse(text, sizeof head - 1 + size, "fuzz", &workload, &error)) {
        struct campaign_setup *setup = malloc(sizeof *setup);
        struct run_config config;

        if (!setup)
            abort();
        run_config_defaults(&config);
        run_config_from_workload(&config, workload);
        campaign_draw_setup(&options, seed, workload, setup);
        run_config_resolve(&config, workload);
        run_config_resolve(&setup->config, workload);
        check(&setup->config, workload);
        free(setup);
        workload_free(workload);
    }
    free(text);
    return 0;
}
