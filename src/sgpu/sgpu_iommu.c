/*
 * System memory as the device reaches it: directly, or through the machine's IOMMU.
 *
 * The device keeps no translation of the IOMMU: what is unmapped there is out of reach at once.
 */
#include "sgpu/sgpu_private.h"

bool sgpu_system_page(const struct sgpu *gpu, uint64_t page, uint64_t *out_page)
{
    sgpu_note_system(gpu);
    *out_page = page;
    if (machine_iommu_is_remapping(gpu->iommu) &&
        !machine_iommu_find(gpu->iommu, MACHINE_NO_PASID, page, out_page))
        return false;
    return *out_page < gpu->ram_bytes / PAGE_BYTES;
}

/* The longest run of RAM behind pages of an IOMMU space. */
static void resolve_space(const struct sgpu *gpu, uint32_t pasid, uint64_t address, uint64_t bytes,
                          struct sgpu_span *span)
{
    uint64_t page = address / PAGE_BYTES;
    uint64_t in_page = address % PAGE_BYTES;
    uint64_t first, following;
    uint64_t run = 1;

    sgpu_note_system(gpu);
    if (!machine_iommu_find(gpu->iommu, pasid, page, &first) ||
        first >= gpu->ram_bytes / PAGE_BYTES)
        return;
    while (run * PAGE_BYTES - in_page < bytes &&
           machine_iommu_find(gpu->iommu, pasid, page + run, &following) &&
           following == first + run && following < gpu->ram_bytes / PAGE_BYTES)
        run++;
    span->store = gpu->ram;
    span->is_system = true;
    span->address = first * PAGE_BYTES + in_page;
    span->bytes = min_u64(bytes, run * PAGE_BYTES - in_page);
}

void sgpu_resolve_system(const struct sgpu *gpu, uint64_t address, uint64_t bytes,
                         struct sgpu_span *span)
{
    *span = (struct sgpu_span){0};
    if (machine_iommu_is_remapping(gpu->iommu)) {
        resolve_space(gpu, MACHINE_NO_PASID, address, bytes, span);
    } else if (address < gpu->ram_bytes) {
        sgpu_note_system(gpu);
        span->store = gpu->ram;
        span->is_system = true;
        span->address = address;
        span->bytes = min_u64(bytes, gpu->ram_bytes - address);
    } else if (address >= MACHINE_AGP_BASE) {
        resolve_space(gpu, MACHINE_AGP, address - MACHINE_AGP_BASE, bytes, span);
    }
}

void sgpu_resolve_process(const struct sgpu *gpu, uint32_t pasid, uint64_t va, uint64_t bytes,
                          struct sgpu_span *span)
{
    *span = (struct sgpu_span){0};
    resolve_space(gpu, pasid, va, bytes, span);
}
