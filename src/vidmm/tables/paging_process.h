/*
 * Paging process: the system process that paging operations run in (GpuMmu).
 *
 * Place      vidmm. Uses page_table.h; used by the generators that need scratch addresses, and by
 *            table memory, for the window.
 * Model      A fixed layout (PT-043), by powers of two of the addresses that the GPU translates:
 *
 *                0             va_size/16     /8          /4             /2             va_size
 *                | driver's ..... | fences     | buffers   | scratch      | window       |
 *
 *            VIRTUAL_TRANSFER and VIRTUAL_FILL find pages in scratch, which is used in turn. The
 *            window shows the page tables of all processes, a slot of a page each
 *            (GPU_VIRTUAL only).
 * Ownership  In struct vidmm. Window slots are the caller's until paging_process_release_slot().
 * Errors     STATUS_NO_MEMORY, STATUS_NOT_SUPPORTED: the layout does not fit; the driver's own.
 * Units      Addresses in bytes; scratch and tables in pages of 4 KiB; slots by number, 0: none.
 * Source     contract.md PT-020, PT-043, VX-001; sequence S-02.
 */
#ifndef VIDMM_PAGING_PROCESS_H
#define VIDMM_PAGING_PROCESS_H

#include "vidmm/tables/address_space.h"

#include "base/bits.h"

/* Released slots of tables of 2^i pages; releasing never needs memory. */
#define WINDOW_STACKS 20
struct window_stack {
    uint32_t *slots;
    uint32_t count, capacity;
    uint32_t given; /* slots that exist, free or not */
};

struct paging_process {
    bool is_ready; /* from then on tables are written in the driver's update mode */
    struct address_space space;

    /* The layout; fixed from the start. */
    uint64_t buffer_va;
    uint64_t fence_va; /* monitored fences */
    uint64_t va_end;   /* of the layout */
    uint64_t scratch_va, scratch_pages;
    uint64_t window_va; /* GPU_VIRTUAL: page tables are seen here, one slot each */

    uint64_t scratch_next; /* page; the range is used in turn */
    uint32_t window_next;  /* slots never used start here */
    struct window_stack window_stacks[WINDOW_STACKS];
    bool has_reserved;
    struct range_allocator reserved; /* below the layout, for the driver's ranges */
};

/*
 * Gives pages of scratch address space to the operations generated next. False: not before the
 * paging queue has drained, because tables are written at once (CPU_VIRTUAL) and the transfers that
 * still use the range are not.
 */
bool paging_process_take_scratch(struct vidmm *vidmm, uint64_t pages, uint64_t *out_va);
/* Pages of scratch from where so many begin to where the next ones can. */
uint64_t paging_process_scratch_stride(const struct vidmm *vidmm, uint64_t pages);
/* Most pages that one chunk may have on each side. */
uint64_t paging_process_chunk_pages(const struct vidmm *vidmm);
NTSTATUS paging_process_init(struct vidmm *vidmm);
/* The process's handle for the driver while it is created. */
#define PAGING_PROCESS_HANDLE ((HANDLE)(uintptr_t)1)
/* Nothing of its own is below; known as soon as the caps are. */
uint64_t paging_process_layout_start(const struct vidmm *vidmm);
/* Where the scheduling logs are (work/scheduling_log.h). */
uint64_t paging_process_log_va(const struct vidmm *vidmm);
/* Most that its page tables can take; once paging_process_init() has been called. */
uint64_t paging_process_bytes(const struct vidmm *vidmm);
/* All tables are lost: writes those of the paging process anew, and shows it everybody's. */
NTSTATUS paging_process_rebuild(struct vidmm *vidmm);
/* Tells the driver the root of the paging process for one of its contexts (PT-009). */
NTSTATUS paging_process_set_root(struct vidmm *vidmm, HANDLE driver_context);
void paging_process_fini(struct vidmm *vidmm);
/*
 * The first of consecutive window slots for a table of page_count pages (GPU_VIRTUAL), never 0. All
 * lie in one leaf table of the window: STATUS_NOT_SUPPORTED when it is larger than that. A used
 * slot has shown another table before, so a new table in it needs a flush: the GPU may have
 * cached it with its neighbours at any time.
 */
NTSTATUS paging_process_take_slot(struct vidmm *vidmm, uint64_t page_count, uint32_t *out_slot,
                                  bool *out_is_used);
void paging_process_release_slot(struct vidmm *vidmm, uint64_t page_count, uint32_t slot);
static inline uint64_t paging_process_slot_va(const struct paging_process *process, uint32_t slot)
{
    return process->window_va + ((uint64_t)slot << PAGE_SHIFT_BITS);
}

#endif
