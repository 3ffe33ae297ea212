/*
 * How much memory a drawn board has: the case's local memory, and what the board takes of it.
 */
#include "bench/campaign/campaign_private.h"

#include "base/bits.h"

/* The bytes that tiled allocations take in whole tiles, and lose in gaps between others. */
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

/* The bytes of gaps between rows, and of the space in front of the first row. */
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

#define USUAL_LEAVES 128u /* of the scratch range of the paging process */

/* What leaves of a scratch range of gigabytes take more: tables of small and of large pages. */
static uint64_t far_scratch_bytes(const struct run_config *config)
{
    const uint64_t leaves = config->scratch_bytes / (2 * MiB);

    if (leaves <= USUAL_LEAVES || config->has_tables_in_system_memory)
        return 0;
    return 2 * leaves * PAGE_BYTES;
}

/* What tables take more in local memory where each begins at a GPU page of its own. */
static uint64_t gpu_page_bytes(const struct workload *workload, const struct run_config *config)
{
    const uint64_t most_leaves = USUAL_LEAVES;
    const uint64_t scratch = config->scratch_bytes ? config->scratch_bytes : most_leaves * 2 * MiB;
    const uint64_t tables = min_u64(scratch / (256 * KiB), most_leaves) +
                            8 * (workload->process_count + 2) + workload->allocation_count / 4;

    if (config->mmu.gpu_page == RUN_GPU_PAGE_4K || config->has_tables_in_system_memory ||
        config->update_mode == RUN_UPDATE_CPU)
        return 0;
    return tables * (config->mmu.gpu_page == RUN_GPU_PAGE_16K ? 16 * KiB : 64 * KiB);
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

/* Roots of a megabyte, six levels of tables, and pages that have to lie in 64 KiB take more. */
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
    if (config->mmu.pages_64k != RUN_PAGES_64K_NONE || config->mmu.has_large_pages ||
        config->mmu.gpu_page != RUN_GPU_PAGE_4K)
        config->local_bytes += config->local_bytes / 2 + MiB;
    config->local_bytes += far_scratch_bytes(config);
    config->local_bytes += align_up(gpu_page_bytes(workload, config), 64 * KiB);
    if (!workload_option(workload, "local-invisible"))
        config->visible_bytes = config->local_bytes;
}

/*
 * Where a part of local memory is defective, either side of it holds what the whole did. An
 * aperture as large as local memory holds what local memory does.
 */
static void shape_memory(const struct campaign_draw *draw, struct run_config *config)
{
    const struct workload *workload = draw->workload;
    const uint32_t traits = config->local_traits | draw->driver.local_traits;
    const bool has_aperture_alone =
        config->model == RUN_IOMMU ||
        (config->model == RUN_GPUMMU && (traits & SGPU_TRAIT_LEFT_ALONE));
    struct rng rng;

    campaign_stream_of(draw->seed, STREAM_APERTURE, &rng);
    if (!config->local_bytes)
        return;
    if (config->protected_bytes && !workload_option(workload, "protected-memory"))
        config->local_bytes = 2 * align_up(config->local_bytes, MiB) + 8 * config->protected_bytes;
    if (config->dead_bytes && !workload_option(workload, "dead-memory"))
        config->local_bytes = 2 * align_up(config->local_bytes, MiB) + config->dead_bytes;
    if (!workload_option(workload, "local-invisible"))
        config->visible_bytes = config->local_bytes;
    if (!config->aperture_bytes && rng_chance(&rng, has_aperture_alone ? 2 : 1, 4))
        config->aperture_bytes = align_up(config->local_bytes, MiB);
}

/*
 * More local memory than the case needs, which the CPU cannot see, so that there is a segment more.
 */
static void draw_hidden(uint64_t seed, const struct workload *workload, struct run_config *config)
{
    struct rng rng;

    campaign_stream_of(seed, STREAM_HIDDEN, &rng);
    if (!config->local_bytes || workload_option(workload, "local-invisible") ||
        rng_chance(&rng, 1, 2))
        return;
    config->visible_bytes = align_up(config->local_bytes, PAGE_BYTES);
    config->local_bytes =
        config->visible_bytes +
        align_up(max_u64(64 * KiB, config->visible_bytes / 64 * campaign_magnitude(&rng, 1, 64)),
                 PAGE_BYTES);
}

void campaign_draw_memory(const struct campaign_draw *draw, struct run_config *config)
{
    make_room(draw->workload, config);
    shape_memory(draw, config);
    draw_hidden(draw->seed, draw->workload, config);
}
