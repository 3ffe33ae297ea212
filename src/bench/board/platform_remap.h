/*
 * Remapping: logical addresses for the device, behind the machine's IOMMU.
 *
 * Place      bench, used by the platform only.
 * Model      What is handed out to the manager together is one range of logical pages, from
 *            PLATFORM_LOGICAL_BASE on and so outside of RAM: whoever takes one for a physical page
 *            meets nothing there. The IOMMU shows a page as long as it is handed out.
 * Ownership  Embedded in the platform; zeroed memory is a remapping that is off.
 * Errors     false: no memory, nothing has changed.
 */
#ifndef DRYDOCK_BENCH_PLATFORM_REMAP_H
#define DRYDOCK_BENCH_PLATFORM_REMAP_H

#include "base/range_allocator.h"
#include "machine/machine.h"

#define PLATFORM_LOGICAL_BASE (UINT64_C(1) << 33) /* page; RAM of this machine ends before */

struct platform_remap {
    struct machine *machine;
    struct range_allocator logical; /* bytes of logical address space */
    uint64_t *logical_of;           /* by RAM page; 0: not handed out; NULL: off */
    uint64_t page_count;
};

bool platform_remap_init(struct platform_remap *remap, struct machine *machine);
void platform_remap_fini(struct platform_remap *remap);

static inline bool platform_remap_is_on(const struct platform_remap *remap)
{
    return remap->logical_of != NULL;
}

bool platform_remap_show(struct platform_remap *remap, const uint64_t *pages, uint64_t count);
/* A range that one call showed, whole. */
void platform_remap_hide(struct platform_remap *remap, const uint64_t *pages, uint64_t count);
void platform_remap_hide_range(struct platform_remap *remap, uint64_t first_page, uint64_t count);

#endif
