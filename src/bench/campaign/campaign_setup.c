/*
 * The configuration of an item: which model and level, then what the seed draws, the case and the
 * command line over it, and the memory for all of that.
 */
#include "bench/campaign/campaign_private.h"

#include "base/bits.h"
#include "bench/config/run_options.h"
#include "workload/case/surroundings.h"

#include <string.h>

const char *campaign_model_name(enum campaign_model model)
{
    return model == CAMPAIGN_ALL_MODELS ? "all" : run_model_name((enum run_model)model);
}

bool campaign_find_model(const char *name, enum campaign_model *out)
{
    for (unsigned i = 0; i <= CAMPAIGN_ALL_MODELS; i++) {
        if (strcmp(campaign_model_name((enum campaign_model)i), name) == 0) {
            *out = (enum campaign_model)i;
            return true;
        }
    }
    return false;
}

/* ---- Driver and profile ---------------------------------------------------------------------- */

static bool has_model(const struct campaign_draw *draw, enum run_model model)
{
    const struct run_driver *driver = &draw->driver;
    enum run_model has;
    unsigned wddm;

    if (driver->has_model && !driver->has_model(driver, model))
        return false;
    for (unsigned i = 0; run_driver_level(driver, i, &has, &wddm); i++) {
        if (has == model && run_profile_has_level(draw->profile, wddm))
            return true;
    }
    return false;
}

bool campaign_has_model(const struct campaign_options *options, enum campaign_model model)
{
    struct campaign_draw draw;

    campaign_draw_init(&draw, options, 0, NULL);
    return has_model(&draw, (enum run_model)model);
}

/* ---- The model ------------------------------------------------------------------------------- */

/* The model that a level of the driver belongs to, the first that has it. */
static enum campaign_model model_of_level(const struct run_driver *driver, unsigned level)
{
    enum run_model model;
    unsigned wddm;

    for (unsigned i = 0; run_driver_level(driver, i, &model, &wddm); i++) {
        if (wddm == level)
            return (enum campaign_model)model;
    }
    return CAMPAIGN_ALL_MODELS;
}

/* The model that the case states, by its name or by its level. */
static enum campaign_model model_of_case(const struct campaign_draw *draw)
{
    const char *name = workload_option(draw->workload, "model");
    enum campaign_model model = CAMPAIGN_ALL_MODELS;
    struct run_config of_case = {0};

    run_config_from_workload(&of_case, draw->workload);
    if (name)
        campaign_find_model(name, &model);
    else if (of_case.wddm)
        model = model_of_level(&draw->driver, of_case.wddm);
    return model;
}

static enum campaign_model draw_model(const struct campaign_draw *draw)
{
    enum campaign_model model = model_of_case(draw);
    bool has_any = false;
    struct rng rng;

    if (model != CAMPAIGN_ALL_MODELS)
        return model;
    campaign_stream_of(draw->seed, STREAM_MODEL, &rng);
    for (unsigned i = 0; i < CAMPAIGN_ALL_MODELS; i++)
        has_any |= has_model(draw, (enum run_model)i);
    do
        model = (enum campaign_model)rng_below(&rng, CAMPAIGN_ALL_MODELS);
    while (has_any && !has_model(draw, (enum run_model)model));
    return model;
}

/* ---- The setup ------------------------------------------------------------------------------- */

/* The campaign's business, whatever the case says. */
static void take_command_line(const struct campaign_draw *draw, const struct run_config *drawn,
                              struct run_config *config)
{
    const char *focus = draw->options->focus;
    struct campaign_focus_word word;

    config->seed = draw->seed;
    config->driver = draw->options->driver;
    config->profile = draw->profile->name;
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        if (draw->options->settings[i])
            run_option_read(i, draw->options->settings[i], config);
    }
    while (campaign_focus_next(&focus, &word)) {
        if (word.place < WORKLOAD_OPTION_COUNT)
            run_option_read(word.place, word.value, config);
    }
    config->model = drawn->model;
    if (!campaign_driver_has_level(&draw->driver, config->model, config->wddm))
        config->wddm = drawn->wddm;
}

#define NOBODY_SAYS UINT64_MAX /* for bytes of far memory */

/* Somebody has said what the board shows on its bus, where a larger window would be in the way. */
static bool has_own_layout(const char *surroundings)
{
    struct workload_surrounding word;

    while (workload_surroundings_next(&surroundings, &word)) {
        if (word.kind == WORKLOAD_SURROUNDING_BAR || word.kind == WORKLOAD_SURROUNDING_MEMORY ||
            word.kind == WORKLOAD_SURROUNDING_ADDRESS)
            return true;
    }
    return false;
}

void campaign_draw_setup(const struct campaign_options *options, uint64_t seed,
                         const struct workload *workload, struct campaign_setup *out_setup)
{
    struct run_config *config = &out_setup->config;
    struct campaign_draw draw;
    struct run_config drawn;

    memset(out_setup, 0, sizeof *out_setup);
    campaign_draw_init(&draw, options, seed, workload);
    out_setup->model = options->model == CAMPAIGN_ALL_MODELS ? draw_model(&draw) : options->model;
    run_config_defaults(config);
    config->model = (enum run_model)out_setup->model;
    config->reference = RUN_REFERENCE_NEVER;
    config->check_interval = 16;
    campaign_draw_options(&draw, config);
    /* Documents disagree on whether it is called: who was told so may rely on it (C2). */
    config->skips_paging_patch &= draw.driver.is_tolerant || draw.profile->draws_small_buffers ||
                                  draw.profile->check.wants_built_complete;
    drawn = *config;
    config->far_bytes = NOBODY_SAYS;
    run_config_from_workload(config, workload);
    take_command_line(&draw, &drawn, config);
    /* A driver needs what it asked for to know which buffer has no address. */
    if (config->private_data_bytes != RUN_DRIVERS_OWN)
        config->hides_buffer_address = false;
    if (config->far_bytes == NOBODY_SAYS)
        config->far_bytes = has_own_layout(config->surroundings) ? 0 : drawn.far_bytes;
    campaign_draw_memory(&draw, config);
    campaign_describe(config, out_setup->text, sizeof out_setup->text);
}
