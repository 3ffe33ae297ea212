/*
 * Table memory: the pages that a page table lies in, and how the CPU and the paging process see
 * them.
 *
 * Source     contract.md PT-005, PT-006, PT-012, PT-019, PT-020.
 */
#include "vidmm/tables/table_memory.h"

#include "vidmm/views/host_aperture.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/tables/segment_tables.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include "base/bits.h"

static void *map_memory(struct vidmm *vidmm, struct table_memory *memory)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;
    struct segment *segment = segment_by_id(vidmm, memory->segment);
    uint64_t address;
    uint32_t slot;

    if (segment->kind == SEGMENT_SYSTEM)
        return platform->map_pages(platform->context, 1, &memory->first_page);
    if (segment->caps->has_host_aperture) {
        if (!NT_SUCCESS(host_aperture_map_range(vidmm, segment, memory->first_page,
                                                memory->page_count, &slot, &address)))
            return NULL;
        memory->host_slot = slot + 1;
        return platform->map_bus(platform->context, address, PAGE_BYTES_OF(memory->page_count));
    }
    return platform->map_bus(platform->context,
                             vidmm->segments[memory->segment - 1].caps->cpu_address +
                                 PAGE_BYTES_OF(memory->first_page),
                             PAGE_BYTES_OF(memory->page_count));
}

static void unmap_memory(struct vidmm *vidmm, const struct table_memory *memory)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;

    if (memory->cpu && memory->segment == 0)
        platform->unmap_pages(platform->context, memory->cpu, 1);
    else if (memory->cpu)
        platform->unmap_bus(platform->context, memory->cpu, PAGE_BYTES_OF(memory->page_count));
    if (memory->host_slot)
        host_aperture_unmap_range(vidmm, segment_by_id(vidmm, memory->segment),
                                  memory->host_slot - 1, memory->first_page, memory->page_count);
}

void table_memory_release(struct address_space *space, struct table_memory *memory)
{
    static const struct table_memory none;
    struct vidmm *vidmm = space->vidmm;

    unmap_memory(vidmm, memory);
    if (memory->window_slot && !space->is_paging_process)
        paging_process_release_slot(vidmm, table_memory_slot_pages(memory), memory->window_slot);
    if (memory->page_count)
        segment_release_pages(vidmm, memory->segment, memory->first_page, memory->page_count,
                              memory->alignment_pages);
    *memory = none;
}

NTSTATUS table_memory_take(struct address_space *space, unsigned level, uint64_t bytes,
                           uint64_t entry_count, struct table_memory *out_memory)
{
    struct vidmm *vidmm = space->vidmm;
    const struct vidmm_level_caps *caps = &vidmm->caps.levels[level];
    bool needs_cpu =
        space->is_paging_process || vidmm->caps.update_mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    bool needs_slot =
        !space->is_paging_process && vidmm->caps.update_mode == DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
    struct table_memory memory = {
        .segment = space->is_paging_process ? caps->paging_segment : caps->segment,
        .entry_count = entry_count,
        .alignment_pages = bytes_to_pages(caps->alignment),
    };
    uint64_t page_count = bytes_to_pages(bytes);
    NTSTATUS status;

    *out_memory = (struct table_memory){0};
    status =
        segment_take_pages(vidmm, memory.segment, page_count, memory.alignment_pages,
                           space->is_paging_process && vidmm->paging.is_ready, &memory.first_page);
    if (!NT_SUCCESS(status)) {
        vidmm->table_shortage =
            (struct table_shortage){memory.segment, page_count, memory.alignment_pages};
        return status;
    }
    memory.page_count = page_count;
    if (needs_slot) {
        status = paging_process_take_slot(vidmm, table_memory_slot_pages(&memory),
                                          &memory.window_slot, &memory.slot_is_used);
        if (!NT_SUCCESS(status))
            goto release;
    }
    if (needs_cpu) {
        memory.cpu = map_memory(vidmm, &memory);
        status = STATUS_NO_MEMORY;
        if (!memory.cpu)
            goto release;
    }
    *out_memory = memory;
    return STATUS_SUCCESS;

release:
    table_memory_release(space, &memory);
    return status;
}
