/*
 * Test rig, GPU: what operations mean, checked when they are given and done when they are run.
 *
 * Place  vidmm, tests only; see test_rig.h. Small tables (64, 64 and 256 entries), so that every
 *        allocation of a test crosses the end of one.
 */
#ifndef DRYDOCK_VIDMM_TEST_RIG_GPU_H
#define DRYDOCK_VIDMM_TEST_RIG_GPU_H

#include "vidmm/rig/test_rig.h"

#define RIG_VA_BITS 32

unsigned rig_level_count(const struct rig *rig);
unsigned rig_index_bits(const struct rig *rig, unsigned level);

/* How many bytes an entry of the level translates. */
uint64_t rig_reach(const struct rig *rig, unsigned level);
uint64_t rig_coverage(unsigned level); /* of plain tables */
struct rig_allocation *rig_allocation_of(struct rig *rig, HANDLE handle);
bool rig_is_system(const struct rig *rig, HANDLE process);

/* ---- Translation ----------------------------------------------------------------------------- */

DXGK_PTE rig_walk(struct rig *rig, D3DGPU_PHYSICAL_ADDRESS root, uint64_t va);
struct rig_page *rig_access(struct rig *rig, HANDLE process, D3DGPU_PHYSICAL_ADDRESS root,
                            uint64_t va);

/* ---- Page tables ----------------------------------------------------------------------------- */

/* A table is about to leave: the call says nothing of its entries (PT-037). */
bool rig_is_farewell(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update);
void rig_free_entries(struct rig_table *table);
void rig_accept_update(struct rig *rig, struct rig_operation *operation);

/* ---- Moves, GpuMmu --------------------------------------------------------------------------- */

void rig_accept_virtual_move(struct rig *rig, struct rig_operation *operation);

/* ---- Moves, physical model ------------------------------------------------------------------- */

void rig_accept_transfer(struct rig *rig, struct rig_operation *operation);
void rig_accept_fill(struct rig *rig, struct rig_operation *operation);
void rig_accept_discard(struct rig *rig, struct rig_operation *operation);

/* ---- The aperture ---------------------------------------------------------------------------- */

void rig_accept_map(struct rig *rig, struct rig_operation *operation);
void rig_accept_unmap(struct rig *rig, struct rig_operation *operation);

/* ---- Running a record ------------------------------------------------------------------------ */

void rig_run_operation(struct rig *rig, struct rig_operation *operation, uint64_t first,
                       uint64_t count);

#endif
