/*
 * Backing store: the system pages of an allocation.
 *
 * Place      vidmm. Uses the platform and the IOMMU; used by whatever gives an allocation content.
 * Model      An allocation has a backing store while its content is outside of a memory segment,
 *            or, with PermanentSysMem, all the time. Its page numbers follow the MDL. Over memory
 *            of the client's (ExistingSysMem) the backing store is that memory, from the creation
 *            of the allocation to its end.
 * Ownership  The allocation's, from allocation_take_backing() to allocation_release_backing(), or
 *            from allocation_adopt_memory() to allocation_end_backing().
 * Errors     STATUS_NO_MEMORY: there are no pages, nor any that an offered allocation could lose.
 * Units      Pages of 4 KiB.
 * Source     contract.md ALLOC-012, ALLOC-024, OFFER-003, RES-017.
 */
#ifndef VIDMM_BACKING_H
#define VIDMM_BACKING_H

#include <stdint.h>

#include <ntddk.h>

struct vidmm_allocation;
struct vidmm_client_memory;

#define MDL_MOST_BYTES 0xfffff000u /* whole pages that ByteCount can say */

NTSTATUS allocation_take_backing(struct vidmm_allocation *allocation);
/*
 * The list of the pages of one part, offset being where it starts: of vidmm_config.transfer_bytes,
 * or the rest. Allocations with UseAlternateVA have such lists, of which each lives as long as the
 * store (SLT-003); where one part is all, it is the list of all pages.
 */
MDL *allocation_backing_part(const struct vidmm_allocation *allocation, uint64_t offset);
/* Nothing when it has none, or has memory of the client's, which is not released before its end. */
void allocation_release_backing(struct vidmm_allocation *allocation);
/* Memory of the client's, which has as many pages at least, becomes the backing store; BACKED. */
NTSTATUS allocation_adopt_memory(struct vidmm_allocation *allocation,
                                 const struct vidmm_client_memory *memory);
/* The allocation ends: its backing store goes, whosever it is. */
void allocation_end_backing(struct vidmm_allocation *allocation);
/* The content of an offered allocation that has no place goes; EMPTY. */
void allocation_forget_content(struct vidmm_allocation *allocation);

#endif
