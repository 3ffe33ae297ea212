/*
 * The MMU of a run: which board, of those that sgpu.h describes.
 *
 * Place      bench, part of struct run_config.
 * Model      0 throughout is the ordinary board, of 4 levels. A shape that the chosen levels make
 *            larger than a page needs page tables in local memory (PT-006).
 */
#ifndef DRYDOCK_BENCH_RUN_MMU_H
#define DRYDOCK_BENCH_RUN_MMU_H

#include "sgpu/sgpu.h"

#include <stdbool.h>
#include <stdint.h>

enum run_pages_64k { RUN_PAGES_64K_NONE, RUN_PAGES_64K_SINGLE, RUN_PAGES_64K_DUAL };
enum run_gpu_page { RUN_GPU_PAGE_4K, RUN_GPU_PAGE_16K, RUN_GPU_PAGE_64K };

/* A member for each RUN_MMU_OPTION, with its meaning: workload/case/run_options.inc. */
struct run_mmu {
#define RUN_OPTION(...)
#define RUN_MMU_OPTION(type, member, ...) type member;
#define CASE_OPTION(...)
#include "workload/case/run_options.inc"
};

/* The board: SGPU_STRAP_* to add, and the index bits of its levels. */
uint32_t run_mmu_straps(const struct run_mmu *mmu);
void run_mmu_index_bits(const struct run_mmu *mmu, uint8_t out_bits[SGPU_MAX_LEVELS]);
uint64_t run_mmu_gpu_page_bytes(const struct run_mmu *mmu);
unsigned run_mmu_va_bits(const struct run_mmu *mmu);

/*
 * The addresses among which those are that the manager gives the driver with reserves_range: entry
 * 1 of a root or, where that grows, what is up to one behind the addresses of tile pools, which end
 * at 2 GiB.
 */
void run_mmu_reserved(const struct run_mmu *mmu, uint64_t *out_start, uint64_t *out_end);

#endif
