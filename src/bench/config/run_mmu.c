/*
 * Boards by their number of levels. All but the smallest translate 48 bits, or as many as they can:
 *
 *     levels | index bits, leaf first | shows
 *     2      | 11, 17                 | tables of 16 KiB; a root that grows to 1 MiB
 *     3      | 10, 10, 10             | tables of 8 KiB
 *     4      | 9, 9, 9, 9             | the ordinary board
 *     5      | 9, 7, 7, 7, 6          | tables that fill a part of their page
 *     6      | 6, 6, 6, 6, 6, 6       | small leaves: 256 KiB each
 *
 * With two words to an entry of level 1 (dual 64 KiB tables) that level has a bit less, so that its
 * table is still one page.
 */
#include "bench/config/run_mmu.h"

#include "base/bits.h"

#include <string.h>

#define ORDINARY_LEVELS 4u

uint32_t run_mmu_straps(const struct run_mmu *mmu)
{
    static const uint32_t pages_64k[] = {
        [RUN_PAGES_64K_NONE] = 0,
        [RUN_PAGES_64K_SINGLE] = SGPU_STRAP_64K_SINGLE,
        [RUN_PAGES_64K_DUAL] = SGPU_STRAP_64K_DUAL,
    };

    return pages_64k[mmu->pages_64k] | (uint32_t)mmu->gpu_page << SGPU_STRAP_GPU_PAGE_SHIFT |
           (mmu->has_plain_entries ? SGPU_STRAP_PLAIN_ENTRIES : 0) |
           (mmu->has_large_pages ? SGPU_STRAP_LARGE_PAGES : 0) |
           (mmu->clears_tables ? SGPU_STRAP_CLEAR_TABLES : 0) |
           (mmu->has_idle_updates ? SGPU_STRAP_IDLE_UPDATES : 0) |
           (mmu->may_cache_invalid ? SGPU_STRAP_MAY_CACHE_INVALID : 0) |
           (mmu->reserves_range ? SGPU_STRAP_OWN_RANGE : 0);
}

void run_mmu_index_bits(const struct run_mmu *mmu, uint8_t out_bits[SGPU_MAX_LEVELS])
{
    static const uint8_t boards[][SGPU_MAX_LEVELS] = {
        {11, 17}, {10, 10, 10}, {9, 9, 9, 9}, {9, 7, 7, 7, 6}, {6, 6, 6, 6, 6, 6},
    };
    unsigned levels = mmu->levels ? mmu->levels : ORDINARY_LEVELS;

    memcpy(out_bits, boards[levels - 2], SGPU_MAX_LEVELS);
    if (mmu->pages_64k == RUN_PAGES_64K_DUAL && out_bits[1] == SGPU_INDEX_BITS)
        out_bits[1]--;
}

uint64_t run_mmu_gpu_page_bytes(const struct run_mmu *mmu)
{
    return SGPU_GPU_PAGE_ENTRIES(run_mmu_straps(mmu)) * (uint64_t)SGPU_PAGE_BYTES;
}

unsigned run_mmu_va_bits(const struct run_mmu *mmu)
{
    uint8_t bits[SGPU_MAX_LEVELS];
    unsigned sum = SGPU_PAGE_SHIFT;

    run_mmu_index_bits(mmu, bits);
    for (unsigned i = 0; i < SGPU_MAX_LEVELS; i++)
        sum += bits[i];
    return sum;
}

void run_mmu_reserved(const struct run_mmu *mmu, uint64_t *out_start, uint64_t *out_end)
{
    unsigned levels = mmu->levels ? mmu->levels : ORDINARY_LEVELS;
    uint8_t bits[SGPU_MAX_LEVELS];

    run_mmu_index_bits(mmu, bits);
    *out_start = UINT64_C(1) << (run_mmu_va_bits(mmu) - bits[levels - 1]);
    *out_end = max_u64(*out_start, levels == 2 ? 2 * GiB : 0) + *out_start;
}
