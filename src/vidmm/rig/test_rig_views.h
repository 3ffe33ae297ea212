/*
 * Test rig, views: how the CPU sees pages of a segment, and the order of swizzled allocations.
 *
 * Place  vidmm, tests only; see test_rig.h. The platform sees tables through the same addresses.
 * Model  An address of the bus names a page: linearly in the window of its segment, by a slot of
 *        the CPU host aperture of segment 1, or by a swizzling range. A page that a slot or a range
 *        shows may not go to another allocation. A Swizzled allocation lies in memory in an order
 *        of its own, and in this order in its backing store unless a transfer undoes it: a word in
 *        it is then rig_swizzle() of the word that the model has.
 */
#ifndef DRYDOCK_VIDMM_TEST_RIG_VIEWS_H
#define DRYDOCK_VIDMM_TEST_RIG_VIEWS_H

#include "vidmm/rig/test_rig.h"

uint64_t rig_host_window(void);

/* How many pages of 4 KiB a slot of the host aperture shows. */
uint64_t rig_host_unit(const struct rig *rig);

/* The page of an address of the bus that is not system memory. */
struct rig_page *rig_bus_page(struct rig *rig, uint64_t address);

/* What the CPU reads at an address, or writes there. */
uint64_t rig_cpu_read(struct rig *rig, uint64_t address);
void rig_cpu_write(struct rig *rig, uint64_t address, uint64_t value);

uint64_t rig_swizzle(uint64_t linear);
uint64_t rig_unswizzle(uint64_t word);

/* No slot shows anything and no range is acquired. */
bool rig_shows_nothing(const struct rig *rig);

NTSTATUS rig_map_host(struct miniport *self, HANDLE object, const DXGKARG_MAPCPUHOSTAPERTURE *map);
NTSTATUS rig_unmap_host(struct miniport *self, HANDLE object,
                        const DXGKARG_UNMAPCPUHOSTAPERTURE *unmap);
NTSTATUS rig_acquire_range(struct miniport *self, HANDLE object,
                           DXGKARG_ACQUIRESWIZZLINGRANGE *acquire);
NTSTATUS rig_release_range(struct miniport *self, HANDLE object,
                           const DXGKARG_RELEASESWIZZLINGRANGE *release);

#endif
