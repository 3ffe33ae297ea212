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

/*
 * Logical pages of 512 RAM pages that follow each other; 0: the RAM page is not handed out. A run
 * uses pages of a few such pieces of its RAM, and the others have no leaf.
 */
#define PLATFORM_LEAF_PAGES 512u
struct platform_remap_leaf {
    uint64_t logical[PLATFORM_LEAF_PAGES];
};

struct platform_remap {
    struct machine *machine;
    struct range_allocator logical;      /* bytes of logical address space */
    struct platform_remap_leaf **leaves; /* of all RAM; NULL: remapping is off */
    uint64_t leaf_count;
};

bool platform_remap_init(struct platform_remap *remap, struct machine *machine);
void platform_remap_fini(struct platform_remap *remap);

static inline bool platform_remap_is_on(const struct platform_remap *remap)
{
    return remap->leaves != NULL;
}

bool platform_remap_show(struct platform_remap *remap, const uint64_t *pages, uint64_t count);
/* A range that one call showed, whole. */
void platform_remap_hide(struct platform_remap *remap, const uint64_t *pages, uint64_t count);
void platform_remap_hide_range(struct platform_remap *remap, uint64_t first_page, uint64_t count);

/* The logical page of a RAM page; 0: the page is not handed out. Remapping is on. */
uint64_t platform_remap_logical(const struct platform_remap *remap, uint64_t page);

#endif
