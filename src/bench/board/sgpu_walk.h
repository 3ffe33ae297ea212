/*
 * Page tables of the modelled GPU for the checking layer: an address walked, entry by entry.
 *
 * Place      bench. Knows the GPU's entries, which check does not.
 */
#ifndef DRYDOCK_BENCH_SGPU_WALK_H
#define DRYDOCK_BENCH_SGPU_WALK_H

#include "check/check.h"
#include "sgpu/sgpu.h"

/* struct check_config.walk for the Drydock GPU. */
bool sgpu_walk_tables(struct sgpu *gpu, bool is_system, uint64_t root, uint64_t va,
                      struct check_gpu_walk *out_walk);

#endif
