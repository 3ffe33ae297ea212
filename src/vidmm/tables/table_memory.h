/*
 * Table memory: the pages that a page table lies in, and how the CPU and the paging process see
 * them.
 *
 * Place      vidmm, below page_table.c. Uses segment tables, the window of the paging process and
 *            the CPU host aperture.
 * Ownership  The memory is the caller's from table_memory_take() to table_memory_release().
 * Errors     STATUS_GRAPHICS_NO_VIDEO_MEMORY, STATUS_NO_MEMORY, STATUS_NOT_SUPPORTED.
 * Units      Bytes; pages of 4 KiB.
 * Source     contract.md PT-005, PT-006, PT-012, PT-019, PT-020.
 */
#ifndef VIDMM_TABLE_MEMORY_H
#define VIDMM_TABLE_MEMORY_H

#include "vidmm/views/aperture.h"

#include "base/bits.h"

#include <stdbool.h>
#include <stdint.h>

#include <ntddk.h>

struct address_space;
struct vidmm;

struct table_memory {
    unsigned segment;     /* 0: system */
    uint64_t first_page;  /* in the segment, or system page number */
    uint64_t page_count;  /* 0: none yet */
    uint32_t window_slot; /* GPU_VIRTUAL: where the paging process sees it; 0: none */
    uint32_t host_slot;   /* through which the CPU sees it, plus 1; 0: none */
    bool slot_is_used;    /* it has shown another table before */
    void *cpu;            /* CPU_VIRTUAL or paging process: where the CPU sees it */
    uint64_t entry_count;
    uint64_t alignment_pages;
};

/*
 * Window slots of a table: as many as its alignment has pages at least, so that its address there
 * is aligned as the driver wants the table. A GPU page may be as large (PT-026).
 */
static inline uint64_t table_memory_slot_pages(const struct table_memory *memory)
{
    return max_u64(memory->page_count, memory->alignment_pages);
}

/* Where the paging process, or the driver, finds a table. */
NTSTATUS table_memory_take(struct address_space *space, unsigned level, uint64_t bytes,
                           uint64_t entry_count, struct table_memory *out_memory);
void table_memory_release(struct address_space *space, struct table_memory *memory);
/* Its first page for the device: of the segment, or the device's page of a system page. */
static inline uint64_t table_memory_device_page(const struct vidmm *vidmm,
                                                const struct table_memory *memory)
{
    return memory->segment ? memory->first_page : device_page(vidmm, memory->first_page);
}

#endif
