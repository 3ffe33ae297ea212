/*
 * The IoMmu model: the GPU goes by the process's own addresses, through the system's IOMMU.
 *
 * There is system memory only, no page table of ours and no UPDATE_PAGE_TABLE (RES-017). A process
 * has a PASID, which the driver learns when the process and its devices are created; mapping an
 * allocation shows its backing store at an address of the process, at once and for as long as the
 * mapping lives. So a backing store that is mapped never moves: residency asks nothing of the GPU,
 * and only what is AccessedPhysically (a primary, before it is displayed) is mapped in the
 * aperture. One that goes because it was offered is not shown any more; the next one is, at the
 * same addresses.
 *
 * Source     contract.md RES-017, IOMMU-003, PT-001.
 */
#include "vidmm/views/iommu.h"

#include "vidmm/mappings/mapping.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/backing.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/assert.h"
#include "base/list.h"

NTSTATUS iommu_check(const struct vidmm *vidmm)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;

    if (vidmm->caps.has_page_tables || !vidmm->caps.is_virtual)
        return STATUS_SUCCESS;
    return platform->create_space && platform->destroy_space && platform->map_space &&
                   platform->unmap_space
               ? STATUS_SUCCESS
               : STATUS_NOT_SUPPORTED;
}

NTSTATUS iommu_open_process(struct vidmm_process *process)
{
    const struct vidmm_platform *platform = &process->vidmm->config.platform;
    NTSTATUS status;

    if (process->vidmm->caps.has_page_tables)
        return STATUS_SUCCESS;
    status = platform->create_space(platform->context, &process->pasid);
    process->has_pasid = NT_SUCCESS(status);
    return status;
}

void iommu_close_process(struct vidmm_process *process)
{
    const struct vidmm_platform *platform = &process->vidmm->config.platform;

    if (process->has_pasid)
        platform->destroy_space(platform->context, process->pasid);
    process->has_pasid = false;
}

NTSTATUS iommu_show_mapping(struct mapping *mapping)
{
    struct vidmm_allocation *allocation = mapping->allocation;
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;
    NTSTATUS status = STATUS_SUCCESS;

    if (!allocation->mdl) {
        ASSERT(allocation->state == ALLOCATION_EMPTY);
        status = allocation_take_backing(allocation);
        if (!NT_SUCCESS(status))
            return status;
        allocation->has_content = true;
        allocation_set_state(allocation, ALLOCATION_BACKED);
    }
    if (mapping->is_shown)
        return STATUS_SUCCESS;
    status = platform->map_space(platform->context, mapping->process->pasid, mapping->va,
                                 mapping->page_count,
                                 allocation_backing_pages(allocation) + mapping->first_page);
    mapping->is_shown = NT_SUCCESS(status);
    return status;
}

void iommu_hide_mapping(struct mapping *mapping)
{
    const struct vidmm_platform *platform = &mapping->process->vidmm->config.platform;

    if (mapping->is_shown)
        platform->unmap_space(platform->context, mapping->process->pasid, mapping->va,
                              mapping->page_count);
    mapping->is_shown = false;
}

void iommu_hide_backing(struct vidmm_allocation *allocation)
{
    struct mapping *mapping;

    list_for_each (mapping, &allocation->mappings, struct mapping, allocation_link)
        iommu_hide_mapping(mapping);
}

NTSTATUS iommu_show_backing(struct vidmm_allocation *allocation)
{
    struct mapping *mapping;
    NTSTATUS status;

    if (allocation->vidmm->caps.has_page_tables)
        return STATUS_SUCCESS;
    list_for_each (mapping, &allocation->mappings, struct mapping, allocation_link) {
        status = iommu_show_mapping(mapping);
        if (!NT_SUCCESS(status))
            return status;
    }
    return STATUS_SUCCESS;
}
