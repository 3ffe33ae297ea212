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
    remap->page_count = machine_get_config(machine)->ram_bytes / PAGE_BYTES;
    remap->logical_of = base_alloc_array(services, remap->page_count, sizeof *remap->logical_of);
    if (!remap->logical_of)
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
    if (!remap->logical_of)
        return;
    machine_iommu_set_remapping(machine_iommu(remap->machine), false);
    range_allocator_fini(&remap->logical);
    base_free_array(machine_services(remap->machine), remap->logical_of, remap->page_count,
                    sizeof *remap->logical_of);
    remap->logical_of = NULL;
}

bool platform_remap_show(struct platform_remap *remap, const uint64_t *pages, uint64_t count)
{
    const struct range_request request = {.size = count * PAGE_BYTES, .alignment = PAGE_BYTES};
    uint64_t start;

    if (range_allocator_take(&remap->logical, &request, &start) != RANGE_OK)
        return false;
    if (!machine_iommu_map(machine_iommu(remap->machine), MACHINE_NO_PASID, start / PAGE_BYTES,
                           count, pages)) {
        range_allocator_release(&remap->logical, start, count * PAGE_BYTES);
        return false;
    }
    for (uint64_t i = 0; i < count; i++)
        remap->logical_of[pages[i]] = start / PAGE_BYTES + i;
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
    uint64_t first = remap->logical_of[pages[0]];

    for (uint64_t i = 0; i < count; i++) {
        ASSERT(remap->logical_of[pages[i]] == first + i);
        remap->logical_of[pages[i]] = 0;
    }
    release_logical(remap, first, count);
}

void platform_remap_hide_range(struct platform_remap *remap, uint64_t first_page, uint64_t count)
{
    uint64_t first = remap->logical_of[first_page];

    for (uint64_t i = 0; i < count; i++)
        remap->logical_of[first_page + i] = 0;
    release_logical(remap, first, count);
}
