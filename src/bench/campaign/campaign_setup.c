/*
 * What a seed draws: a case of random operations, and the configuration of a run.
 *
 * Every choice draws from a generator of its own stream, so that a choice more does not change what
 * the others of the same seed are. Half of the time a choice is what a plain run has: a mistake
 * that needs two unusual settings and no third is found that way too.
 */
#include "bench/campaign/campaign.h"

#include "base/bits.h"
#include "bench/drivers/drivers.h"
#include "bench/config/profile.h"
#include "bench/config/run_options.h"
#include "workload/generate/generate.h"

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
    STREAM_BOARD,
    STREAM_WORKLOAD,
    STREAM_FAULTS,
    STREAM_OPERATIONS, /* of the case: which kinds it has */
    STREAM_BANKS,
    STREAM_DEAD_MEMORY,
    STREAM_NOTICES,
    STREAM_APERTURE,
    STREAM_SPLITS,
    STREAM_BUSY,
    STREAM_BUDGET,
    STREAM_SLEEP,
    STREAM_RESETS,
    STREAM_COHERENCE,
    STREAM_FILLS,
    STREAM_DMA_SIZE,
    STREAM_PITCH,
    STREAM_RESERVED,
    STREAM_CONTEXTS,
    STREAM_FENCES,
    STREAM_RENAMES,
    STREAM_DISCARDS,
    STREAM_OBSERVED, /* what Windows has been seen to do where documents leave it open */
    STREAM_PRESSURE,
};

static const char *const model_names[] = {
    [CAMPAIGN_PHYSICAL] = "physical",
    [CAMPAIGN_GPUMMU] = "gpummu",
    [CAMPAIGN_IOMMU] = "iommu",
    [CAMPAIGN_ALL_MODELS] = "all",
};

#define LEAST_PAGING_BUFFER    64u /* room for the largest command of the reference GPU */
#define FIRST_REMAPPING_LEVEL  30u
#define FIRST_PROTECTING_LEVEL 21u
#define FIRST_FENCES_LEVEL     31u
#define FIRST_PARTS_LEVEL      32u /* that is told of residency in parts, and has auxiliary MMUs */

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

/* ---- The case -------------------------------------------------------------------------------- */

/* From low to high, every magnitude equally likely. */
static uint64_t magnitude(struct rng *rng, uint64_t low, uint64_t high)
{
    uint64_t steps = log2_floor_u64(high / low) + 1;
    uint64_t base = low << rng_below(rng, steps);

    return min_u64(high, base + rng_below(rng, base));
}

/* How many allocations of what size, and how many of them at once in local memory of what size. */
struct sizes {
    uint64_t operations, allocations, largest, pressure, references, held;
    bool is_full;
};

/*
 * One third as they come: most of it fits. The others are under pressure: many allocations, of
 * which few are used at once, so that what fits a submission is far less than what there is.
 */
static void draw_sizes(uint64_t seed, struct sizes *out)
{
    struct rng rng;

    stream_of(seed, STREAM_PRESSURE, &rng);
    if (rng_chance(&rng, 2, 3)) {
        out->operations = 150 + rng_below(&rng, 200);
        out->allocations = magnitude(&rng, 32, 96);
        out->largest = magnitude(&rng, 128 * KiB, 768 * KiB);
        out->pressure = magnitude(&rng, 400, 1600);
        out->references = magnitude(&rng, 2, 4);
        out->held = rng_chance(&rng, 1, 4);
        out->is_full = true;
        return;
    }
    out->operations = 150 + rng_below(&rng, 300);
    out->allocations = magnitude(&rng, 8, 128);
    out->largest = magnitude(&rng, 16 * KiB, 2 * MiB);
    out->pressure = magnitude(&rng, 100, 1600);
    out->references = magnitude(&rng, 1, 6);
    out->held = rng_below(&rng, 4);
    out->is_full = rng_chance(&rng, 1, 2);
}

bool campaign_draw_workload(uint64_t seed, struct workload **out, struct workload_error *error)
{
    static const struct {
        const char *name;
        unsigned sixths; /* of the seeds */
    } kinds[] = {{"tiles", 6},  {"incidents", 3}, {"power", 2}, {"saves", 2},
                 {"wishes", 3}, {"tiled", 3},     {"rows", 2},  {"pinned", 2}};
    struct rng rng;
    char settings[14 + ARRAY_COUNT(kinds)][40];
    const char *pointers[ARRAY_COUNT(settings)];
    uint64_t processes, contexts;
    struct sizes sizes;

    draw_sizes(seed, &sizes);
    stream_of(seed, STREAM_WORKLOAD, &rng);
    processes = 1 + rng_below(&rng, 3);
    contexts = 1 + rng_below(&rng, 2);
    snprintf(settings[0], sizeof settings[0], "seed=%" PRIu64, rng_next(&rng));
    snprintf(settings[1], sizeof settings[1], "ops=%" PRIu64, sizes.operations);
    snprintf(settings[2], sizeof settings[2], "allocations=%" PRIu64, sizes.allocations);
    snprintf(settings[3], sizeof settings[3], "max-size=%" PRIu64, sizes.largest);
    snprintf(settings[4], sizeof settings[4], "pressure=%" PRIu64, sizes.pressure);
    snprintf(settings[5], sizeof settings[5], "refs=%" PRIu64, sizes.references);
    snprintf(settings[6], sizeof settings[6], "processes=%" PRIu64, processes);
    snprintf(settings[7], sizeof settings[7], "contexts=%" PRIu64, contexts);
    snprintf(settings[8], sizeof settings[8], "maps=%s", rng_chance(&rng, 3, 4) ? "yes" : "no");
    snprintf(settings[9], sizeof settings[9], "ptes=%s", rng_chance(&rng, 1, 2) ? "yes" : "no");
    snprintf(settings[10], sizeof settings[10], "full=%s", sizes.is_full ? "yes" : "no");
    snprintf(settings[11], sizeof settings[11], "held=%" PRIu64, sizes.held);
    stream_of(seed, STREAM_OPERATIONS, &rng);
    /* Tiles count only without pte lines, and copies of their entries only in one update mode. */
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
        snprintf(settings[12 + i], sizeof settings[12 + i], "%s=%s", kinds[i].name,
                 rng_chance(&rng, kinds[i].sixths, 6) ? "yes" : "no");
    /* Few drivers have native fences, and for the others the lines are nothing. */
    snprintf(settings[12 + ARRAY_COUNT(kinds)], sizeof settings[0], "fences=%s",
             rng_chance(&rng, 3, 4) ? "yes" : "no");
    stream_of(seed, STREAM_DISCARDS, &rng);
    snprintf(settings[13 + ARRAY_COUNT(kinds)], sizeof settings[0], "discards=%s",
             rng_chance(&rng, 1, 4) ? "yes" : "no");
    for (size_t i = 0; i < ARRAY_COUNT(settings); i++)
        pointers[i] = settings[i];
    return workload_generate("random", pointers, ARRAY_COUNT(settings), out, error);
}

/* ---- The configuration ----------------------------------------------------------------------- */

static const struct run_profile *profile_of(const struct campaign_options *options)
{
    const struct run_profile *profile =
        options->profile ? run_find_profile(options->profile) : NULL;

    return profile ? profile : run_profile_at(0);
}

/* The campaign's driver, or the reference driver where there is none of that name. */
static struct run_driver driver_of(const struct campaign_options *options)
{
    struct run_driver driver;

    if (!run_find_driver(options->driver, &driver))
        driver = (struct run_driver){.name = "ref"};
    return driver;
}

/*
 * An image that works with the CPU: its paging buffers are as it asked for them, or it loses count.
 */
static bool is_bare(const struct run_driver *driver, const struct campaign_options *options,
                    const struct workload *workload)
{
    const char *gpu = options->gpu ? options->gpu : workload_option(workload, "gpu");

    return driver->image_path && strcmp(gpu ? gpu : run_driver_gpu(driver), RUN_GPU_NONE) == 0;
}

/*
 * A level of the driver that has the model, in the profile; 0: none. The newest, which has most of
 * what there is, is one of four, whatever the others.
 */
static unsigned draw_level(struct rng *rng, const struct run_driver *driver,
                           const struct run_profile *profile, enum run_model model)
{
    unsigned found[32], count = 0, wddm;
    enum run_model has;

    for (unsigned i = 0; run_driver_level(driver, i, &has, &wddm) && count < ARRAY_COUNT(found);
         i++) {
        if (has == model && run_profile_has_level(profile, wddm))
            found[count++] = wddm;
    }
    if (!count)
        return 0;
    return rng_chance(rng, 1, 4) ? found[count - 1] : found[rng_below(rng, count)];
}

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

static bool has_level(const struct run_driver *driver, enum campaign_model model, unsigned level)
{
    enum run_model has;
    unsigned wddm;

    for (unsigned i = 0; run_driver_level(driver, i, &has, &wddm); i++) {
        if (wddm == level && (enum campaign_model)has == model)
            return true;
    }
    return false;
}

bool campaign_has_model(const struct campaign_options *options, enum campaign_model model)
{
    const struct run_driver driver = driver_of(options);
    enum run_model has;
    unsigned wddm;

    if (driver.has_model && !driver.has_model(&driver, (enum run_model)model))
        return false;
    for (unsigned i = 0; run_driver_level(&driver, i, &has, &wddm); i++) {
        if ((enum campaign_model)has == model && run_profile_has_level(profile_of(options), wddm))
            return true;
    }
    return false;
}

static enum campaign_model draw_model(const struct campaign_options *options, uint64_t seed,
                                      const struct workload *workload)
{
    bool has_any = false;
    const char *name = workload_option(workload, "model");
    enum campaign_model model = CAMPAIGN_ALL_MODELS;
    const struct run_driver driver = driver_of(options);
    struct run_config of_case = {0};
    struct rng rng;

    run_config_from_workload(&of_case, workload);
    if (name)
        campaign_find_model(name, &model);
    else if (of_case.wddm)
        model = model_of_level(&driver, of_case.wddm);
    stream_of(seed, STREAM_MODEL, &rng);
    for (unsigned i = 0; i < CAMPAIGN_ALL_MODELS; i++)
        has_any |= campaign_has_model(options, (enum campaign_model)i);
    if (model != CAMPAIGN_ALL_MODELS)
        return model;
    do
        model = (enum campaign_model)rng_below(&rng, CAMPAIGN_ALL_MODELS);
    while (has_any && !campaign_has_model(options, model));
    return model;
}

static bool has_raw_entries(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->op_count; i++) {
        if (workload->ops[i].kind == WORKLOAD_OP_PTE_MAP)
            return true; /* of any page size, protected, or zero */
    }
    return false;
}

static bool is_in(uint64_t va, uint64_t bytes, uint64_t low, uint64_t high)
{
    return va != WORKLOAD_VA_AUTO && va < high && bytes > (va < low ? low - va : 0);
}

/* The case chooses addresses in [low, high). */
static bool chooses_addresses(const struct workload *workload, uint64_t low, uint64_t high)
{
    for (uint32_t i = 0; i < workload->allocation_count; i++) {
        if (is_in(workload->allocations[i].va, workload->allocations[i].size, low, high))
            return true;
    }
    for (uint32_t i = 0; i < workload->op_count; i++) {
        const struct workload_op *op = &workload->ops[i];

        switch (op->kind) {
        case WORKLOAD_OP_MAP:
            if (is_in(op->value, op->size, low, high))
                return true;
            break;
        case WORKLOAD_OP_PTE_MAP:
        case WORKLOAD_OP_TILE_MAP:
        case WORKLOAD_OP_TILE_UNMAP:
        case WORKLOAD_OP_TILE_COPY:
            if (is_in(op->offset, op->size, low, high))
                return true;
            break;
        default:
            break;
        }
    }
    return false;
}

static bool has_room_for_reserved(const struct workload *workload, const struct run_mmu *mmu)
{
    uint64_t start, end;

    run_mmu_reserved(mmu, &start, &end);
    return !chooses_addresses(workload, start, end);
}

/*
 * Tables of more than a page, which 2 and 3 levels have, are in local memory (PT-006), where the
 * processor does not write them. Where a leaf table has entries of one size, a case that writes
 * entries of its own would ask for two in one table.
 */
static void draw_mmu(struct rng *rng, const struct workload *workload, struct run_config *config)
{
    static const unsigned levels[] = {0, 2, 3, 4, 5, 6};
    struct run_mmu *mmu = &config->mmu;

    mmu->levels = levels[rng_below(rng, ARRAY_COUNT(levels))];
    if ((config->has_tables_in_system_memory || config->update_mode == RUN_UPDATE_CPU) &&
        (mmu->levels == 2 || mmu->levels == 3))
        mmu->levels = 0;
    mmu->has_plain_entries = rng_chance(rng, 1, 8) && !has_raw_entries(workload);
    mmu->pages_64k = (enum run_pages_64k)rng_below(rng, 3);
    if (mmu->pages_64k == RUN_PAGES_64K_SINGLE && has_raw_entries(workload))
        mmu->pages_64k = RUN_PAGES_64K_NONE;
    if (mmu->levels == 2 &&
        mmu->pages_64k == RUN_PAGES_64K_DUAL) /* its root, of two words, grows */
        mmu->pages_64k = RUN_PAGES_64K_NONE;
    mmu->has_large_pages = rng_chance(rng, 1, 4);
    mmu->clears_tables = rng_chance(rng, 1, 4);
    mmu->has_idle_updates = rng_chance(rng, 1, 4);
    mmu->frees_tables = rng_chance(rng, 1, 2);
    mmu->may_cache_invalid = rng_chance(rng, 1, 4);
    mmu->reserves_range = rng_chance(rng, 1, 4) && has_room_for_reserved(workload, mmu);
}

static void draw_level_and_tables(const struct campaign_options *options, uint64_t seed,
                                  const struct workload *workload, struct campaign_setup *setup)
{
    const struct run_driver driver = driver_of(options);
    struct run_config *config = &setup->config, of_case = {0};
    struct rng rng;

    stream_of(seed, STREAM_LEVEL, &rng);
    config->model = (enum run_model)setup->model;
    config->wddm = draw_level(&rng, &driver, profile_of(options), config->model);
    /* What else is drawn is for the level that will be played. */
    run_config_from_workload(&of_case, workload);
    if (has_level(&driver, setup->model, of_case.wddm))
        config->wddm = of_case.wddm;
    config->remaps_dma = config->model == RUN_GPUMMU && config->wddm >= FIRST_REMAPPING_LEVEL &&
                         rng_chance(&rng, 1, 2);
    stream_of(seed, STREAM_PAGE_TABLES, &rng);
    if (config->model != RUN_GPUMMU)
        return;
    /* Half of them by GPU addresses: most that is done with tables needs those. */
    config->update_mode = (enum run_update_mode)rng_below(&rng, 2 * RUN_UPDATE_MODE_COUNT - 2);
    if ((unsigned)config->update_mode >= RUN_UPDATE_MODE_COUNT)
        config->update_mode = RUN_UPDATE_GPU_VIRTUAL;
    config->has_tables_in_system_memory = rng_chance(&rng, 1, 3);
    if (rng_chance(&rng, 2, 3))
        draw_mmu(&rng, workload, config);
}

/* What one kind of board has and others have not. */
static void draw_board(uint64_t seed, struct campaign_setup *setup)
{
    struct run_config *config = &setup->config;
    struct rng rng;

    stream_of(seed, STREAM_BOARD, &rng);
    if (config->model == RUN_PHYSICAL)
        config->agp_bytes = rng_chance(&rng, 1, 4) ? 16 * MiB << rng_below(&rng, 5) : 0;
    else
        config->has_host_aperture = rng_chance(&rng, 1, 4);
    stream_of(seed, STREAM_BANKS, &rng);
    config->has_banks = config->model == RUN_PHYSICAL && rng_chance(&rng, 1, 4);
    stream_of(seed, STREAM_PITCH, &rng);
    config->has_pitch = config->model == RUN_PHYSICAL && rng_chance(&rng, 1, 2);
    config->evicts_through_aperture = config->model == RUN_PHYSICAL && rng_chance(&rng, 1, 4);
    stream_of(seed, STREAM_DEAD_MEMORY, &rng);
    if (config->model != RUN_PHYSICAL && rng_chance(&rng, 1, 8))
        config->dead_bytes = 64 * KiB * magnitude(&rng, 1, 16);
    stream_of(seed, STREAM_RESERVED, &rng);
    if (config->model == RUN_GPUMMU && config->wddm >= FIRST_PROTECTING_LEVEL &&
        rng_chance(&rng, 1, 8))
        config->protected_bytes = 64 * KiB * magnitude(&rng, 1, 16);
    stream_of(seed, STREAM_SLEEP, &rng);
    config->preserve = (enum run_preserve)rng_below(&rng, RUN_PRESERVE_PART + 1);
    stream_of(seed, STREAM_COHERENCE, &rng);
    config->has_coherent_aperture = rng_chance(&rng, 1, 2);
    stream_of(seed, STREAM_FILLS, &rng);
    config->fill_pattern = rng_chance(&rng, 1, 4) ? (uint32_t)rng_next(&rng) : 0;
    config->tells_tables_in_transfer = config->model == RUN_GPUMMU && rng_chance(&rng, 1, 2);
    stream_of(seed, STREAM_CONTEXTS, &rng);
    config->switches_to_null_context = rng_chance(&rng, 1, 4);
    config->inits_by_driver_handle = rng_chance(&rng, 1, 2);
}

/*
 * Which of several readings the driver follows, where the profile accepts more than one (U1,
 * SEG-017).
 */
static void draw_reading(uint64_t seed, const struct check_profile *profile,
                         struct run_config *config)
{
    struct rng rng;

    stream_of(seed, STREAM_DMA_SIZE, &rng);
    config->lowers_dma_size = profile->wants_dma_size_lowered || rng_chance(&rng, 1, 4);
    if (profile->wants_dma_size_unchanged)
        config->lowers_dma_size = false;
    /* The boards of the reference driver have such a segment in front of the aperture segment. */
    if (profile->wants_host_aperture_last)
        config->has_host_aperture = false;
}

/* What only some levels have, or only one model. */
static void draw_level_features(uint64_t seed, struct campaign_setup *setup)
{
    struct run_config *config = &setup->config;
    struct rng rng;

    stream_of(seed, STREAM_NOTICES, &rng);
    if (config->wddm >= FIRST_PARTS_LEVEL) {
        if (rng_chance(&rng, 1, 2))
            config->residency_part_bytes = PAGE_BYTES * magnitude(&rng, 1, 256);
        if (rng_chance(&rng, 1, 2))
            config->auxiliary_mmus = 1 + (unsigned)rng_below(&rng, 8);
    }
    stream_of(seed, STREAM_FENCES, &rng);
    if (config->model == RUN_GPUMMU && config->wddm >= FIRST_FENCES_LEVEL && rng_chance(&rng, 7, 8))
        config->native_fences = (unsigned)magnitude(&rng, 1, 8);
    stream_of(seed, STREAM_SPLITS, &rng);
    if (config->model == RUN_PHYSICAL && rng_chance(&rng, 1, 2)) {
        config->render_piece_refs = 1 + (unsigned)rng_below(&rng, 4);
        config->splits_dma_buffers = rng_chance(&rng, 1, 2);
    }
    stream_of(seed, STREAM_RENAMES, &rng);
    config->renames = config->model == RUN_PHYSICAL && rng_chance(&rng, 1, 2);
    stream_of(seed, STREAM_BUSY, &rng);
    config->is_busy_until_idle = rng_chance(&rng, 1, 4);
    stream_of(seed, STREAM_BUDGET, &rng);
    if (rng_chance(&rng, 1, 4))
        config->budget = magnitude(&rng, 64 * KiB, 16 * MiB);
    stream_of(seed, STREAM_RESETS, &rng);
    config->resets_whole_adapter = rng_chance(&rng, 1, 4);
}

static void draw_buffers(uint64_t seed, struct campaign_setup *setup)
{
    /*
     * None, which is half of them, for progress must be in MultipassOffset then; too little for a
     * record of the reference driver, one record, three.
     */
    static const uint32_t private_bytes[] = {0, 0, 0, 4, 24, 72};
    struct run_config *config = &setup->config;
    uint64_t most;
    struct rng rng;

    /* Half of the small ones for a few commands, so that most operations come in parts. */
    stream_of(seed, STREAM_PAGING_BUFFER, &rng);
    most = rng_chance(&rng, 1, 2) ? PAGE_BYTES : 6 * LEAST_PAGING_BUFFER;
    if (rng_chance(&rng, 2, 3))
        config->paging_buffer_bytes =
            (uint32_t)magnitude(&rng, LEAST_PAGING_BUFFER, most) & ~UINT32_C(7);
    if (rng_chance(&rng, 1, 2))
        config->paging_buffer_count = 1 + (unsigned)rng_below(&rng, 6);
    stream_of(seed, STREAM_PRIVATE_DATA, &rng);
    if (rng_chance(&rng, 2, 3))
        config->private_data_bytes = private_bytes[rng_below(&rng, ARRAY_COUNT(private_bytes))];
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
    config->has_no_ranges = rng_chance(&rng, 1, 4);
    config->marks_paging_only = rng_chance(&rng, 1, 4);
    stream_of(seed, STREAM_PIECES, &rng);
    if (rng_chance(&rng, 1, 2))
        config->transfer_piece_bytes = PAGE_BYTES * magnitude(&rng, 1, 16);
    if (rng_chance(&rng, 1, 4))
        config->aperture_piece_bytes = PAGE_BYTES * magnitude(&rng, 1, 64);
    if (config->model == RUN_GPUMMU &&
        rng_chance(&rng, 1, 2)) /* a quarter of it is one operation's */
        config->scratch_bytes = magnitude(&rng, 512 * KiB, 8 * MiB);
}

/* docs/observed.md */
static void draw_observed(uint64_t seed, struct run_config *config)
{
    struct rng rng;

    stream_of(seed, STREAM_OBSERVED, &rng);
    config->starts_as_observed = rng_chance(&rng, 1, 2);
    config->pages_in_patched_only = rng_chance(&rng, 1, 2) && config->model == RUN_PHYSICAL;
    config->hides_buffer_address = rng_chance(&rng, 1, 2) && config->model == RUN_GPUMMU;
    config->pages_through_aperture = rng_chance(&rng, 1, 4);
    config->initialises_in_pieces = rng_chance(&rng, 1, 2) && config->model == RUN_GPUMMU;
}

/* Each fault in half of the runs, whatever the others. */
static void draw_faults(uint64_t seed, struct run_config *config)
{
    struct rng rng;

    stream_of(seed, STREAM_FAULTS, &rng);
    for (unsigned bit = 1; bit <= RUN_FAULT_ALL; bit <<= 1)
        config->faults |= rng_chance(&rng, 1, 2) ? bit : 0;
}

/* What it takes that allocations are whole tiles, begin at one, and leave gaps between others. */
static uint64_t tile_bytes(const struct workload *workload)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < workload->allocation_count; i++) {
        if (workload->allocations[i].flags &
            (WORKLOAD_ALLOCATION_TILED | WORKLOAD_ALLOCATION_SWIZZLED))
            bytes = max_u64(bytes, align_up(workload->allocations[i].size, SGPU_TILE_BYTES));
    }
    return bytes;
}

/* What gaps between rows take beside packed bytes, and what lies in front of the first row. */
static uint64_t row_bytes(uint64_t bytes)
{
    return bytes / SGPU_ROW_BYTES * (SGPU_PITCH_BYTES - SGPU_ROW_BYTES) + 64 * SGPU_PITCH_BYTES;
}

/* One page that cannot leave the last fifth may stand in the way of any piece there. */
static bool has_pinned(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->allocation_count; i++) {
        if (workload->allocations[i].flags &
            (WORKLOAD_ALLOCATION_OVERLAY | WORKLOAD_ALLOCATION_CAPTURE))
            return true;
    }
    return false;
}

/* Tables with tiles stay where they are, and may stand in the way as well. */
static bool has_tiles(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->op_count; i++) {
        if (workload->ops[i].kind == WORKLOAD_OP_TILE_MAP)
            return true;
    }
    return false;
}

/*
 * Behind the options of the case, which say how much local memory the case needs on an ordinary
 * board: roots of a megabyte, six levels of tables, and pages that have to lie in 64 KiB take more.
 */
static void make_room(const struct workload *workload, struct run_config *config)
{
    if (config->local_bytes && has_pinned(workload))
        config->local_bytes += config->local_bytes / 2;
    if (config->local_bytes && config->model == RUN_PHYSICAL)
        config->local_bytes += tile_bytes(workload);
    if (config->local_bytes && config->has_pitch && config->model == RUN_PHYSICAL)
        config->local_bytes += row_bytes(config->local_bytes);
    if (!config->local_bytes || config->model != RUN_GPUMMU)
        return;
    if (has_tiles(workload))
        config->local_bytes += align_up(config->local_bytes / 4, MiB);
    if (config->mmu.levels == 2 || config->mmu.levels == 3)
        config->local_bytes += workload->process_count * (MiB + 256 * KiB) + MiB;
    if (config->mmu.levels == 6)
        config->local_bytes += config->local_bytes / 2 + MiB;
    if (config->mmu.pages_64k != RUN_PAGES_64K_NONE || config->mmu.has_large_pages)
        config->local_bytes += config->local_bytes / 2 + MiB;
    if (!workload_option(workload, "local-invisible"))
        config->visible_bytes = config->local_bytes;
}

/*
 * Where a part of local memory is defective, either side of it holds what the whole did. What else
 * the boards have that this bench adds follows from the memory that there is.
 */
static void shape_memory(uint64_t seed, const struct workload *workload, struct run_config *config)
{
    struct rng rng;

    stream_of(seed, STREAM_APERTURE, &rng);
    if (!config->local_bytes)
        return;
    if (config->protected_bytes && !workload_option(workload, "protected-memory"))
        config->local_bytes = 2 * align_up(config->local_bytes, MiB) + 8 * config->protected_bytes;
    if (config->dead_bytes && !workload_option(workload, "dead-memory"))
        config->local_bytes = 2 * align_up(config->local_bytes, MiB) + config->dead_bytes;
    if (!workload_option(workload, "local-invisible"))
        config->visible_bytes = config->local_bytes;
    /* What fits into local memory fits into such an aperture. */
    if (!config->aperture_bytes && rng_chance(&rng, config->model == RUN_IOMMU ? 2 : 1, 4))
        config->aperture_bytes = align_up(config->local_bytes, MiB);
}

/*
 * More local memory than the case needs, which the CPU cannot see, so that there is a segment more.
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
        align_up(max_u64(64 * KiB, config->visible_bytes / 64 * magnitude(&rng, 1, 64)),
                 PAGE_BYTES);
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

static void describe_tables(struct campaign_setup *setup)
{
    static const char *const pages_64k[] = {
        [RUN_PAGES_64K_NONE] = "",
        [RUN_PAGES_64K_SINGLE] = ", 64 KiB pages",
        [RUN_PAGES_64K_DUAL] = ", dual tables",
    };
    const struct run_config *config = &setup->config;
    const struct run_mmu *mmu = &config->mmu;

    say(setup, ", %s updates%s", run_update_mode_name(config->update_mode),
        config->has_tables_in_system_memory ? ", tables in system memory" : "");
    if (mmu->levels)
        say(setup, ", %u levels", mmu->levels);
    say(setup, "%s%s%s%s%s%s%s%s", mmu->has_plain_entries ? ", plain entries" : "",
        pages_64k[mmu->pages_64k], mmu->has_large_pages ? ", large pages" : "",
        mmu->clears_tables ? ", tables cleared" : "", mmu->frees_tables ? ", tables freed" : "",
        mmu->has_idle_updates ? ", idle updates" : "",
        mmu->may_cache_invalid ? ", cached invalid entries" : "",
        mmu->reserves_range ? ", reserved range" : "");
}

static void describe_board(struct campaign_setup *setup)
{
    static const char *const kept[] = {
        [RUN_PRESERVE_NOTHING] = "",
        [RUN_PRESERVE_STANDBY] = ", kept in standby",
        [RUN_PRESERVE_HIBERNATE] = ", kept in hibernation",
        [RUN_PRESERVE_PART] = ", kept in part",
    };
    const struct run_config *config = &setup->config;

    if (config->has_banks)
        say(setup, ", banks");
    if (config->has_pitch)
        say(setup, ", pitch");
    if (config->evicts_through_aperture)
        say(setup, ", evictions through the aperture");
    if (config->has_coherent_aperture)
        say(setup, ", coherent aperture");
    if (config->switches_to_null_context)
        say(setup, ", null context");
    if (config->inits_by_driver_handle)
        say(setup, ", driver's handles");
    if (config->fill_pattern)
        say(setup, ", filled with 0x%08" PRIx32, config->fill_pattern);
    if (config->tells_tables_in_transfer)
        say(setup, ", tables in transfers");
    if (config->dead_bytes)
        say(setup, ", dead %" PRIu64 " KiB", config->dead_bytes / KiB);
    if (config->protected_bytes)
        say(setup, ", protected %" PRIu64 " KiB", config->protected_bytes / KiB);
    if (config->residency_part_bytes)
        say(setup, ", residency by %" PRIu64 " KiB", config->residency_part_bytes / KiB);
    if (config->auxiliary_mmus)
        say(setup, ", %u auxiliary MMUs", config->auxiliary_mmus);
    if (config->native_fences)
        say(setup, ", %u native fences a page", config->native_fences);
    if (config->render_piece_refs)
        say(setup, ", %s after %u references",
            config->splits_dma_buffers ? "split" : "may be split", config->render_piece_refs);
    if (config->renames)
        say(setup, ", renames");
    if (config->aperture_bytes)
        say(setup, ", aperture %" PRIu64 " KiB", config->aperture_bytes / KiB);
    if (config->budget)
        say(setup, ", budget %" PRIu64 " KiB", config->budget / KiB);
    say(setup, "%s%s%s%s", config->is_busy_until_idle ? ", busy" : "",
        config->lowers_dma_size ? ", DmaSize lowered" : "", kept[config->preserve],
        config->resets_whole_adapter ? ", whole resets" : "");
}

static void describe(struct campaign_setup *setup)
{
    static const char *const scatters[] = {
        [MACHINE_SCATTERED] = "scattered",
        [MACHINE_FRAGMENTED] = "fragmented",
        [MACHINE_CONTIGUOUS] = "contiguous",
    };
    static const char *const faults[] = {"probed",           "parts of page lists", "pool fails",
                                         "start fails once", "saves denied",        "preempted",
                                         "late DPCs"};
    const struct run_config *config = &setup->config;

    say(setup, "wddm %u.%u, %s pages", config->wddm / 10, config->wddm % 10,
        scatters[config->scatter]);
    if (config->model == RUN_GPUMMU)
        describe_tables(setup);
    if (config->remaps_dma)
        say(setup, ", remapped");
    if (config->agp_bytes)
        say(setup, ", AGP %" PRIu64 " MiB", config->agp_bytes / MiB);
    if (config->has_host_aperture)
        say(setup, ", host aperture");
    if (config->paging_buffer_bytes)
        say(setup, ", paging buffers of %u", config->paging_buffer_bytes);
    if (config->paging_buffer_count)
        say(setup, ", %u paging buffers", config->paging_buffer_count);
    if (config->private_data_bytes != RUN_DRIVERS_OWN)
        say(setup, ", private data %u", config->private_data_bytes);
    if (config->hardware_queue_depth)
        say(setup, ", hardware queue %u", config->hardware_queue_depth);
    if (config->queue_depth)
        say(setup, ", queue %u", config->queue_depth);
    if (config->visible_bytes && config->visible_bytes < config->local_bytes)
        say(setup, ", %" PRIu64 " of %" PRIu64 " KiB visible", config->visible_bytes / KiB,
            config->local_bytes / KiB);
    if (config->transfer_piece_bytes)
        say(setup, ", transfers of %" PRIu64 " KiB", config->transfer_piece_bytes / KiB);
    if (config->scratch_bytes)
        say(setup, ", scratch of %" PRIu64 " KiB", config->scratch_bytes / KiB);
    if (config->aperture_piece_bytes)
        say(setup, ", aperture maps of %" PRIu64 " KiB", config->aperture_piece_bytes / KiB);
    if (config->link_bytes_per_second)
        say(setup, ", link %" PRIu64 " MiB/s", config->link_bytes_per_second / MiB);
    say(setup, ", jitter %" PRIu64 " ns%s%s%s", config->jitter_ns,
        config->skips_paging_patch ? ", no patch" : "",
        config->marks_paging_only ? ", paging marked" : "",
        config->announces_idle ? ", idle announced" : "");
    say(setup, "%s%s", config->starts_as_observed ? ", started as observed" : "",
        config->pages_in_patched_only ? ", patched brought in" : "");
    if (config->pages_through_aperture)
        say(setup, ", paging buffers in the aperture");
    if (config->initialises_in_pieces)
        say(setup, ", tables begun in pieces");
    if (config->hides_buffer_address)
        say(setup, ", paging buffers without address");
    describe_board(setup);
    for (size_t i = 0; i < ARRAY_COUNT(faults); i++) {
        if (config->faults >> i & 1)
            say(setup, ", %s", faults[i]);
    }
}

void campaign_draw_setup(const struct campaign_options *options, uint64_t seed,
                         const struct workload *workload, struct campaign_setup *out_setup)
{
    const struct run_driver driver = driver_of(options);
    enum campaign_model model = options->model;
    struct run_config *config = &out_setup->config;
    struct run_config drawn;

    memset(out_setup, 0, sizeof *out_setup);
    out_setup->model = model == CAMPAIGN_ALL_MODELS ? draw_model(options, seed, workload) : model;
    run_config_defaults(config);
    config->seed = seed;
    config->reference = RUN_REFERENCE_NEVER;
    config->check_interval = 16;
    draw_level_and_tables(options, seed, workload, out_setup);
    draw_board(seed, out_setup);
    draw_level_features(seed, out_setup);
    if (!is_bare(&driver, options, workload))
        draw_buffers(seed, out_setup);
    draw_reading(seed, &profile_of(options)->check, config);
    draw_machine(seed, out_setup);
    draw_observed(seed, config);
    draw_faults(seed, config);
    config->faults &= profile_of(options)->faults;
    drawn = *config;
    run_config_from_workload(config, workload);
    /* The campaign's business, whatever the case says. */
    config->seed = seed;
    config->driver = options->driver;
    config->profile = profile_of(options)->name;
    config->gpu = options->gpu ? options->gpu : config->gpu;
    config->allocation_data =
        options->allocation_data ? options->allocation_data : config->allocation_data;
    config->context_data = options->context_data ? options->context_data : config->context_data;
    config->command_data = options->command_data ? options->command_data : config->command_data;
    if (options->pool_guard)
        run_option_read(workload_option_place("pool-guard"), options->pool_guard, config);
    config->surroundings = options->surroundings ? options->surroundings : config->surroundings;
    config->model = drawn.model;
    if (!has_level(&driver, out_setup->model, config->wddm))
        config->wddm = drawn.wddm;
    /* A driver needs what it asked for to know which buffer has no address. */
    if (config->private_data_bytes != RUN_DRIVERS_OWN)
        config->hides_buffer_address = false;
    make_room(workload, config);
    shape_memory(seed, workload, config);
    draw_hidden(seed, workload, config);
    describe(out_setup);
}
