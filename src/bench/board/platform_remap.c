/*
 * Logical page ranges: taken, shown by the IOMMU, hidden, released.
 */
#include "bench/board/platform_remap.h"

#include "base/assert.h"
#include "base/bits.h"

#define LOGICAL_BYTES (UINT64_C(1) << 44)

bool platform_remap_init(struct platform_remap *remap, struct machine *machine)
{
    const struct base_services *services = machine_services(machine);

    remap->machine = machine;
    remap->leaf_count =
        div_round_up(machine_get_config(machine)->ram_bytes / PAGE_BYTES, PLATFORM_LEAF_PAGES);
    remap->leaves = base_alloc_array(services, remap->leaf_count, sizeof *remap->leaves);
    if (!remap->leaves)
        return false;
    if (range_allocator_init(&remap->logical, services, PLATFORM_LOGICAL_BASE * PAGE_BYTES,
                             LOGICAL_BYTES, PAGE_BYTES) != RANGE_OK) {
        platform_remap_fini(remap);
        return false;
    }
    machine_iommu_set_remapping(machine_iommu(machine), true);
    return true;
}

void platform_remap_fini(struct platform_remap *remap)
{
    const struct base_services *services;

    if (!remap->leaves)
        return;
    services = machine_services(remap->machine);
    machine_iommu_set_remapping(machine_iommu(remap->machine), false);
    range_allocator_fini(&remap->logical);
    for (uint64_t i = 0; i < remap->leaf_count; i++)
        base_free(services, remap->leaves[i], sizeof *remap->leaves[i]);
    base_free_array(services, remap->leaves, remap->leaf_count, sizeof *remap->leaves);
    remap->leaves = NULL;
}

/* Every page has a leaf. False: no memory; leaves that were made stay, and say nothing. */
static bool make_leaves(struct platform_remap *remap, const uint64_t *pages, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct platform_remap_leaf **leaf = &remap->leaves[pages[i] / PLATFORM_LEAF_PAGES];

        if (!*leaf)
            *leaf = base_alloc(machine_services(remap->machine), sizeof **leaf);
        if (!*leaf)
            return false;
    }
    return true;
}

/* Of a page that has a leaf. */
static uint64_t *logical_of(const struct platform_remap *remap, uint64_t page)
{
    return &remap->leaves[page / PLATFORM_LEAF_PAGES]->logical[page % PLATFORM_LEAF_PAGES];
}

uint64_t platform_remap_logical(const struct platform_remap *remap, uint64_t page)
{
    return remap->leaves[page / PLATFORM_LEAF_PAGES] ? *logical_of(remap, page) : 0;
}

bool platform_remap_show(struct platform_remap *remap, const uint64_t *pages, uint64_t count)
{
    const struct range_request request = {.size = count * PAGE_BYTES, .alignment = PAGE_BYTES};
    uint64_t start;

    if (!make_leaves(remap, pages, count) ||
        range_allocator_take(&remap->logical, &request, &start) != RANGE_OK)
        return false;
    if (!machine_iommu_map(machine_iommu(remap->machine), MACHINE_NO_PASID, start / PAGE_BYTES,
                           count, pages)) {
        range_allocator_release(&remap->logical, start, count * PAGE_BYTES);
        return false;
    }
    for (uint64_t i = 0; i < count; i++)
        *logical_of(remap, pages[i]) = start / PAGE_BYTES + i;
    return true;
}

static void release_logical(struct platform_remap *remap, uint64_t first, uint64_t count)
{
    enum range_status status;

    machine_iommu_unmap(machine_iommu(remap->machine), MACHINE_NO_PASID, first, count);
    status = range_allocator_release(&remap->logical, first * PAGE_BYTES, count * PAGE_BYTES);
    ASSERT(status == RANGE_OK);
    (void)status;
}

void platform_remap_hide(struct platform_remap *remap, const uint64_t *pages, uint64_t count)
{
    uint64_t first = *logical_of(remap, pages[0]);

    for (uint64_t i = 0; i < count; i++) {
        uint64_t *logical = logical_of(remap, pages[i]);

        ASSERT(*logical == first + i);
        *logical = 0;
    }
    release_logical(remap, first, count);
}

void platform_remap_hide_range(struct platform_remap *remap, uint64_t first_page, uint64_t count)
{
    uint64_t first = *logical_of(remap, first_page);

    for (uint64_t i = 0; i < count; i++)
        *logical_of(remap, first_page + i) = 0;
    release_logical(remap, first, count);
}
