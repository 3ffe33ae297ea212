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
#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"

#include <string.h>

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

/* Size and ByteCount of a list are too small for large allocations: they say as much as fits. */
static void describe_pages(MDL *mdl, uint64_t page_count)
{
    uint64_t bytes = PAGE_BYTES_OF(page_count);

    mdl->Size = (CSHORT)(mdl_bytes(page_count) < 0x7ff8 ? mdl_bytes(page_count) : 0x7ff8);
    mdl->MdlFlags = MDL_PAGES_LOCKED;
    mdl->ByteCount = bytes <= MDL_MOST_BYTES ? (ULONG)bytes : MDL_MOST_BYTES;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static uint64_t part_pages(const struct vidmm_allocation *allocation)
{
    return allocation->vidmm->config.transfer_bytes / PAGE_BYTES;
}

/* Of the lists of all parts; 0: one part is all, or nobody asks for parts. */
static size_t parts_bytes(const struct vidmm_allocation *allocation)
{
    const uint64_t pages = part_pages(allocation);

    if (!allocation->uses_alternate_va || allocation->page_count <= pages)
        return 0;
    return (size_t)div_round_up(allocation->page_count, pages) * mdl_bytes(pages);
}

static MDL *part_at(const struct vidmm_allocation *allocation, const struct backing *backing,
                    uint64_t index)
{
    return (MDL *)(void *)((char *)backing->parts + index * mdl_bytes(part_pages(allocation)));
}

/* False: no memory. */
static bool make_parts(const struct vidmm_allocation *allocation, struct backing *backing,
                       const uint64_t *pages)
{
    const size_t bytes = parts_bytes(allocation);
    const uint64_t most = part_pages(allocation);

    if (!bytes)
        return true;
    backing->parts = base_alloc(allocation->vidmm->services, bytes);
    if (!backing->parts)
        return false;
    for (uint64_t first = 0; first < allocation->page_count; first += most) {
        MDL *part = part_at(allocation, backing, first / most);
        const uint64_t count = min_u64(most, allocation->page_count - first);

        describe_pages(part, count);
        memcpy(part + 1, pages + first, (size_t)count * sizeof *pages);
    }
    return true;
}

MDL *allocation_backing_part(const struct vidmm_allocation *allocation, uint64_t offset)
{
    const struct backing *backing = allocation_backing(allocation);

    return backing->parts
               ? part_at(allocation, backing, offset / PAGE_BYTES / part_pages(allocation))
               : allocation->mdl;
}

/* ---- The store ------------------------------------------------------------------------------- */

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

static void end_backing(struct vidmm_allocation *allocation)
{
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;
    struct backing *backing = allocation_backing(allocation);
    void (*released)(void *context) = backing->released;
    void *context = backing->released_context;

    iommu_hide_backing(allocation);
    aperture_close_view(allocation);
    if (backing->cpu_address)
        platform->unmap_pages(platform->context, backing->cpu_address, allocation->page_count);
    if (!allocation->is_over_memory)
        platform->release_pages(platform->context, allocation->page_count,
                                allocation_backing_pages(allocation));
    base_free(allocation->vidmm->services, backing->parts, parts_bytes(allocation));
    base_free(allocation->vidmm->services, backing, backing_bytes(allocation->page_count));
    allocation->mdl = NULL;
    if (released)
        released(context);
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
    describe_pages(&backing->mdl, count);
    if (!make_parts(allocation, backing, pages)) {
        status = STATUS_NO_MEMORY;
        goto release_pages;
    }
    if (allocation->is_dma_buffer ||
        (allocation->context && allocation->context->wants_cpu_address)) {
        backing->cpu_address = platform->map_pages(platform->context, count, pages);
        if (!backing->cpu_address) {
            status = STATUS_NO_MEMORY;
            goto free_parts;
        }
    }
    allocation->mdl = &backing->mdl;
    status = iommu_show_backing(allocation);
    if (!NT_SUCCESS(status))
        allocation_release_backing(allocation);
    return status;

free_parts:
    base_free(services, backing->parts, parts_bytes(allocation));
release_pages:
    platform->release_pages(platform->context, count, pages);
free_backing:
    base_free(services, backing, backing_bytes(count));
    return status;
}

void allocation_release_backing(struct vidmm_allocation *allocation)
{
    if (allocation->mdl && !allocation->is_over_memory)
        end_backing(allocation);
}

void allocation_end_backing(struct vidmm_allocation *allocation)
{
    if (allocation->mdl)
        end_backing(allocation);
}

NTSTATUS allocation_adopt_memory(struct vidmm_allocation *allocation,
                                 const struct vidmm_client_memory *memory)
{
    const struct base_services *services = allocation->vidmm->services;
    const uint64_t count = allocation->page_count;
    struct backing *backing = base_alloc(services, backing_bytes(count));

    ASSERT(!allocation->mdl && allocation->is_over_memory && memory->page_count >= count);
    if (!backing)
        return STATUS_NO_MEMORY;
    memcpy(&backing->mdl + 1, memory->pages, (size_t)count * sizeof *memory->pages);
    describe_pages(&backing->mdl, count);
    if (!make_parts(allocation, backing, memory->pages)) {
        base_free(services, backing, backing_bytes(count));
        return STATUS_NO_MEMORY;
    }
    allocation->mdl = &backing->mdl;
    allocation->has_content = true;
    allocation_set_state(allocation, ALLOCATION_BACKED);
    return STATUS_SUCCESS;
}
