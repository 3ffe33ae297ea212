/*
 * Tiles: pages of a pool at addresses that change in the order of the GPU's work.
 *
 * Place      vidmm. vidmm_pump() drives the updates; vidmm_update_gpu_va() is in vidmm.h.
 * Source     contract.md CPTE-001..007, PT-019; sequence S-25.
 */
#ifndef VIDMM_TILE_H
#define VIDMM_TILE_H

#include <stdbool.h>

struct vidmm;

/* Starts the oldest update if its turn has come. True if it did anything. */
bool tile_updates_run(struct vidmm *vidmm);

#endif
