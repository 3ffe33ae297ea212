/*
 * What a seed draws: a case of random operations, and the configuration of a run.
 *
 * Every choice draws from a generator of its own stream, so that a choice more does not change what
 * the others of the same seed are. Half of the time a choice is what a plain run has: a mistake that
 * needs two unusual settings and no third is found that way too.
 */
#include "bench/campaign.h"

#include "base/bits.h"
#include "workload/generate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum stream {
    STREAM_MODEL,
    STREAM_LEVEL,
    STREAM_PAGE_TABLES,
    STREAM_PAGING_BUFFER,
    STREAM_PRIVATE_DATA,
    STREAM_PAGES,
    STREAM_QUEUES,
    STREAM_HIDDEN,
    STREAM_TIMING,
    STREAM_SWITCHES,
    STREAM_PIECES,
    STREAM_WORKLOAD,
};

static const char *const model_names[] = {
    [CAMPAIGN_PHYSICAL] = "physical",
    [CAMPAIGN_GPUMMU] = "gpummu",
    [CAMPAIGN_IOMMU] = "iommu",
    [CAMPAIGN_ALL_MODELS] = "all",
};

#define LEAST_PAGING_BUFFER   64u /* room for the largest command of the reference GPU */
#define FIRST_REMAPPING_LEVEL 30u

const char *campaign_model_name(enum campaign_model model)
{
    return model_names[model];
}

bool campaign_find_model(const char *name, enum campaign_model *out)
{
    for (size_t i = 0; i < ARRAY_COUNT(model_names); i++) {
        if (strcmp(model_names[i], name) == 0) {
            *out = (enum campaign_model)i;
            return true;
        }
    }
    return false;
}

static void stream_of(uint64_t seed, enum stream stream, struct rng *out)
{
    struct rng parent;

    rng_init(&parent, seed);
    rng_fork(&parent, stream, out);
}

/* ---- The case ----------------------------------------------------------------------------------- */

/* From low to high, every magnitude equally likely. */
static uint64_t magnitude(struct rng *rng, uint64_t low, uint64_t high)
{
    uint64_t steps = log2_floor_u64(high / low) + 1;
    uint64_t base = low << rng_below(rng, steps);

    return min_u64(high, base + rng_below(rng, base));
}

bool campaign_draw_workload(uint64_t seed, struct workload **out, struct workload_error *error)
{
    struct rng rng;
    char settings[10][40];
    const char *pointers[ARRAY_COUNT(settings)];
    uint64_t processes, contexts;

    stream_of(seed, STREAM_WORKLOAD, &rng);
    processes = 1 + rng_below(&rng, 3);
    contexts = 1 + rng_below(&rng, 2);
    snprintf(settings[0], sizeof settings[0], "seed=%" PRIu64, rng_next(&rng));
    snprintf(settings[1], sizeof settings[1], "ops=%" PRIu64, 150 + rng_below(&rng, 300));
    snprintf(settings[2], sizeof settings[2], "allocations=%" PRIu64, magnitude(&rng, 8, 128));
    snprintf(settings[3], sizeof settings[3], "max-size=%" PRIu64,
             magnitude(&rng, 16 * KiB, 2 * MiB));
    snprintf(settings[4], sizeof settings[4], "pressure=%" PRIu64, magnitude(&rng, 100, 1600));
    snprintf(settings[5], sizeof settings[5], "refs=%" PRIu64, magnitude(&rng, 1, 6));
    snprintf(settings[6], sizeof settings[6], "processes=%" PRIu64, processes);
    snprintf(settings[7], sizeof settings[7], "contexts=%" PRIu64, contexts);
    snprintf(settings[8], sizeof settings[8], "maps=%s", rng_chance(&rng, 3, 4) ? "yes" : "no");
    snprintf(settings[9], sizeof settings[9], "ptes=%s", rng_chance(&rng, 1, 2) ? "yes" : "no");
    for (size_t i = 0; i < ARRAY_COUNT(settings); i++)
        pointers[i] = settings[i];
    return workload_generate("random", pointers, ARRAY_COUNT(settings), out, error);
}

/* ---- The configuration -------------------------------------------------------------------------- */

/* A level of the driver that has the model; 0: none. */
static unsigned draw_level(struct rng *rng, enum campaign_model model)
{
    unsigned found[32], count = 0, wddm;
    enum run_model has;

    for (unsigned i = 0; run_driver_level(i, &has, &wddm) && count < ARRAY_COUNT(found); i++) {
        if ((has == RUN_PHYSICAL) == (model == CAMPAIGN_PHYSICAL) &&
            (model != CAMPAIGN_IOMMU || wddm >= FIRST_REMAPPING_LEVEL))
            found[count++] = wddm;
    }
    return count ? found[rng_below(rng, count)] : 0;
}

static enum campaign_model draw_model(uint64_t seed, enum campaign_model model,
                                      const struct workload *workload)
{
    const char *of_case = workload_option(workload, "model");
    const char *remapping = workload_option(workload, "dma-remapping");
    const char *level = workload_option(workload, "wddm");
    struct rng rng;

    if (model != CAMPAIGN_ALL_MODELS)
        return model;
    if (remapping && strcmp(remapping, "yes") == 0)
        return CAMPAIGN_IOMMU;
    if (of_case)
        return strcmp(of_case, "physical") == 0 ? CAMPAIGN_PHYSICAL : CAMPAIGN_GPUMMU;
    if (level)
        return level[0] == '1' ? CAMPAIGN_PHYSICAL : CAMPAIGN_GPUMMU;
    stream_of(seed, STREAM_MODEL, &rng);
    return (enum campaign_model)rng_below(&rng, CAMPAIGN_ALL_MODELS);
}

static void draw_level_and_tables(uint64_t seed, struct campaign_setup *setup)
{
    struct run_config *config = &setup->config;
    struct rng rng;

    stream_of(seed, STREAM_LEVEL, &rng);
    config->model = setup->model == CAMPAIGN_PHYSICAL ? RUN_PHYSICAL : RUN_GPUMMU;
    config->remaps_dma = setup->model == CAMPAIGN_IOMMU;
    config->wddm = draw_level(&rng, setup->model);
    stream_of(seed, STREAM_PAGE_TABLES, &rng);
    if (setup->model == CAMPAIGN_PHYSICAL)
        return;
    config->update_mode = (enum run_update_mode)rng_below(&rng, run_update_mode_count());
    config->has_tables_in_system_memory = rng_chance(&rng, 1, 3);
}

static void draw_buffers(uint64_t seed, struct campaign_setup *setup)
{
    /* None, too little for a record of the reference driver, one record, three. */
    static const uint32_t private_bytes[] = {0, 4, 8, 24};
    struct run_config *config = &setup->config;
    struct rng rng;

    stream_of(seed, STREAM_PAGING_BUFFER, &rng);
    if (rng_chance(&rng, 1, 2))
        config->paging_buffer_bytes =
            (uint32_t)magnitude(&rng, LEAST_PAGING_BUFFER, PAGE_BYTES) & ~UINT32_C(7);
    if (rng_chance(&rng, 1, 2))
        config->paging_buffer_count = 1 + (unsigned)rng_below(&rng, 6);
    stream_of(seed, STREAM_PRIVATE_DATA, &rng);
    setup->has_private_bytes = rng_chance(&rng, 1, 2);
    if (setup->has_private_bytes)
        setup->private_bytes = private_bytes[rng_below(&rng, ARRAY_COUNT(private_bytes))];
}

static void draw_machine(uint64_t seed, struct campaign_setup *setup)
{
    struct run_config *config = &setup->config;
    struct rng rng;

    stream_of(seed, STREAM_PAGES, &rng);
    config->scatter = (enum machine_scatter)rng_below(&rng, 3);
    stream_of(seed, STREAM_QUEUES, &rng);
    config->hardware_queue_depth = rng_chance(&rng, 1, 2) ? 1 + (unsigned)rng_below(&rng, 4) : 0;
    config->queue_depth = rng_chance(&rng, 1, 2) ? 1 + (unsigned)rng_below(&rng, 16) : 0;
    stream_of(seed, STREAM_TIMING, &rng);
    config->jitter_ns = magnitude(&rng, 1, 100000);
    if (rng_chance(&rng, 1, 4)) /* a slow link: everything waits for paging, and so in turn */
        config->link_bytes_per_second = magnitude(&rng, 64 * MiB, 4 * GiB);
    stream_of(seed, STREAM_SWITCHES, &rng);
    config->skips_paging_patch = rng_chance(&rng, 1, 2);
    config->announces_idle = rng_chance(&rng, 1, 2);
    stream_of(seed, STREAM_PIECES, &rng);
    if (rng_chance(&rng, 1, 4))
        config->transfer_piece_bytes = PAGE_BYTES * magnitude(&rng, 1, 64);
    if (rng_chance(&rng, 1, 4))
        config->aperture_piece_bytes = PAGE_BYTES * magnitude(&rng, 1, 64);
}

/*
 * Behind the options of the case, which say how much local memory the case needs: more of it, that
 * the CPU cannot see, so that there is a segment more.
 */
static void draw_hidden(uint64_t seed, const struct workload *workload, struct run_config *config)
{
    struct rng rng;

    stream_of(seed, STREAM_HIDDEN, &rng);
    if (!config->local_bytes || workload_option(workload, "local-invisible") ||
        rng_chance(&rng, 1, 2))
        return;
    config->visible_bytes = align_up(config->local_bytes, PAGE_BYTES);
    config->local_bytes =
        config->visible_bytes +
        align_up(config->visible_bytes / 64 * (1 + rng_below(&rng, 64)), PAGE_BYTES);
}

static void say(struct campaign_setup *setup, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(struct campaign_setup *setup, const char *format, ...)
{
    size_t used = strlen(setup->text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(setup->text + used, sizeof setup->text - used, format, arguments);
    va_end(arguments);
}

static void describe(struct campaign_setup *setup)
{
    static const char *const scatters[] = {
        [MACHINE_SCATTERED] = "scattered",
        [MACHINE_FRAGMENTED] = "fragmented",
        [MACHINE_CONTIGUOUS] = "contiguous",
    };
    const struct run_config *config = &setup->config;

    say(setup, "wddm %u.%u, %s pages", config->wddm / 10, config->wddm % 10,
        scatters[config->scatter]);
    if (config->model != RUN_PHYSICAL)
        say(setup, ", %s updates%s", run_update_mode_name(config->update_mode),
            config->has_tables_in_system_memory ? ", tables in system memory" : "");
    if (config->paging_buffer_bytes)
        say(setup, ", paging buffers of %u", config->paging_buffer_bytes);
    if (config->paging_buffer_count)
        say(setup, ", %u paging buffers", config->paging_buffer_count);
    if (setup->has_private_bytes)
        say(setup, ", private data %u", setup->private_bytes);
    if (config->hardware_queue_depth)
        say(setup, ", hardware queue %u", config->hardware_queue_depth);
    if (config->queue_depth)
        say(setup, ", queue %u", config->queue_depth);
    if (config->visible_bytes && config->visible_bytes < config->local_bytes)
        say(setup, ", %" PRIu64 " of %" PRIu64 " KiB visible", config->visible_bytes / KiB,
            config->local_bytes / KiB);
    if (config->transfer_piece_bytes)
        say(setup, ", transfers of %" PRIu64 " KiB", config->transfer_piece_bytes / KiB);
    if (config->aperture_piece_bytes)
        say(setup, ", aperture maps of %" PRIu64 " KiB", config->aperture_piece_bytes / KiB);
    if (config->link_bytes_per_second)
        say(setup, ", link %" PRIu64 " MiB/s", config->link_bytes_per_second / MiB);
    say(setup, ", jitter %" PRIu64 " ns%s%s", config->jitter_ns,
        config->skips_paging_patch ? ", no patch" : "",
        config->announces_idle ? ", idle announced" : "");
}

void campaign_draw_setup(uint64_t seed, enum campaign_model model, const struct workload *workload,
                         struct campaign_setup *out_setup)
{
    struct run_config *config = &out_setup->config;
    struct run_config drawn;

    memset(out_setup, 0, sizeof *out_setup);
    out_setup->model = draw_model(seed, model, workload);
    run_config_defaults(config);
    config->seed = seed;
    config->reference = RUN_REFERENCE_NEVER;
    config->check_interval = 16;
    draw_level_and_tables(seed, out_setup);
    draw_buffers(seed, out_setup);
    draw_machine(seed, out_setup);
    drawn = *config;
    run_config_from_workload(config, workload);
    /* The campaign's business, whatever the case says. */
    config->seed = seed;
    if (model != CAMPAIGN_ALL_MODELS) {
        config->model = drawn.model;
        config->remaps_dma = drawn.remaps_dma;
        if ((config->wddm < 20) != (drawn.model == RUN_PHYSICAL))
            config->wddm = drawn.wddm;
    }
    draw_hidden(seed, workload, config);
    describe(out_setup);
}
