/*
 * Backing store: the system pages of an allocation.
 *
 * Where there are none left, offered allocations that are out lose theirs, one after the other.
 *
 * Source     contract.md ALLOC-012, OFFER-003, RES-017.
 */
#include "vidmm/memory/backing.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/views/aperture.h"
#include "vidmm/views/iommu.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/vidmm_private.h"

#include "base/assert.h"
#include "base/list.h"
#include "base/services.h"

static size_t mdl_bytes(uint64_t page_count)
{
    return sizeof(MDL) + (size_t)page_count * sizeof(uint64_t);
}

/* Pages come zeroed; content that is there at first is something else if config.fill_pattern is. */
static NTSTATUS fill_backing(const struct vidmm_allocation *allocation, const uint64_t *pages)
{
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;
    uint32_t pattern = allocation->vidmm->config.fill_pattern;
    uint32_t *words;

    if (!pattern || allocation->has_content)
        return STATUS_SUCCESS;
    if (platform->fill_pages) {
        platform->fill_pages(platform->context, allocation->page_count, pages, pattern);
        return STATUS_SUCCESS;
    }
    words = platform->map_pages(platform->context, allocation->page_count, pages);
    if (!words)
        return STATUS_NO_MEMORY;
    for (uint64_t i = 0; i < PAGE_BYTES_OF(allocation->page_count) / sizeof *words; i++)
        words[i] = pattern;
    platform->unmap_pages(platform->context, words, allocation->page_count);
    return STATUS_SUCCESS;
}

static size_t backing_bytes(uint64_t page_count)
{
    return offsetof(struct backing, mdl) + mdl_bytes(page_count);
}

/* Size and ByteCount are too small for large allocations: they say as much as fits. */
static void describe_backing(MDL *mdl, uint64_t page_count)
{
    uint64_t bytes = PAGE_BYTES_OF(page_count);

    mdl->Size = (CSHORT)(mdl_bytes(page_count) < 0x7ff8 ? mdl_bytes(page_count) : 0x7ff8);
    mdl->MdlFlags = MDL_PAGES_LOCKED;
    mdl->ByteCount = bytes <= MDL_MOST_BYTES ? (ULONG)bytes : MDL_MOST_BYTES;
}

void allocation_forget_content(struct vidmm_allocation *allocation)
{
    allocation->vidmm->statistics.discarded_bytes += PAGE_BYTES_OF(allocation->page_count);
    allocation_release_backing(allocation);
    allocation->has_content = false;
    allocation->is_dropped = true;
    allocation->had_content = true;
    allocation_set_state(allocation, ALLOCATION_EMPTY);
}

/* Releases the system pages of one offered allocation that is out; false: there is none. */
static bool drop_offered(struct vidmm *vidmm)
{
    unsigned class;

    for (class = 0; class < OFFER_CLASSES; class ++) {
        struct list *link = list_pop_front(&vidmm->offered[class]);

        if (link) {
            struct vidmm_allocation *victim = container_of(link, struct vidmm_allocation, link);

            allocation_forget_content(victim);
            return true;
        }
    }
    return false;
}

NTSTATUS allocation_take_backing(struct vidmm_allocation *allocation)
{
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;
    const struct base_services *services = allocation->vidmm->services;
    uint64_t count = allocation->page_count;
    struct backing *backing;
    uint64_t *pages;
    NTSTATUS status;

    ASSERT(!allocation->mdl);
    backing = base_alloc(services, backing_bytes(count));
    if (!backing)
        return STATUS_NO_MEMORY;
    pages = (uint64_t *)(&backing->mdl + 1);
    do {
        status = platform->take_pages(platform->context, count, pages);
    } while (!NT_SUCCESS(status) && drop_offered(allocation->vidmm));
    if (!NT_SUCCESS(status)) {
        status = STATUS_NO_MEMORY;
        goto free_backing;
    }
    status = fill_backing(allocation, pages);
    if (!NT_SUCCESS(status))
        goto release_pages;
    describe_backing(&backing->mdl, count);
    if (allocation->is_dma_buffer ||
        (allocation->context && allocation->context->wants_cpu_address)) {
        backing->cpu_address = platform->map_pages(platform->context, count, pages);
        if (!backing->cpu_address) {
            status = STATUS_NO_MEMORY;
            goto release_pages;
        }
    }
    allocation->mdl = &backing->mdl;
    status = iommu_show_backing(allocation);
    if (!NT_SUCCESS(status))
        allocation_release_backing(allocation);
    return status;

release_pages:
    platform->release_pages(platform->context, count, pages);
free_backing:
    base_free(services, backing, backing_bytes(count));
    return status;
}

void allocation_release_backing(struct vidmm_allocation *allocation)
{
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;
    struct backing *backing = allocation_backing(allocation);

    if (!allocation->mdl)
        return;
    iommu_hide_backing(allocation);
    aperture_close_view(allocation);
    if (backing->cpu_address)
        platform->unmap_pages(platform->context, backing->cpu_address, allocation->page_count);
    platform->release_pages(platform->context, allocation->page_count,
                            allocation_backing_pages(allocation));
    base_free(allocation->vidmm->services, backing, backing_bytes(allocation->page_count));
    allocation->mdl = NULL;
}
