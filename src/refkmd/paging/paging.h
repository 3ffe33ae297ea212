/*
 * Paging operations: the call that the packer hands to the builder of an operation.
 *
 * Place      refkmd, private: between paging_buffer.c and the files of the operations.
 * Model      A builder appends packets to writer until the operation is complete (STATUS_SUCCESS)
 *            or the room is used up (STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER). In the latter case
 *            the packets already written run by themselves, and MultipassOffset counts the units
 *            of the operation that they cover: pages or table entries, never bytes, so that 32
 *            bits last for 16 TiB. The kernel calls again with that count and a fresh buffer.
 *            There is no third status (PB-008): nothing here allocates, waits or asks.
 * Source     contract.md PB-008..PB-015.
 */
#ifndef REFKMD_PAGING_H
#define REFKMD_PAGING_H

#include "refkmd/objects.h"
#include "refkmd/work/packet.h"

struct paging_call {
    struct refkmd_adapter *adapter;
    DXGKARG_BUILDPAGINGBUFFER *args;
    struct packet_writer writer;
};

typedef NTSTATUS paging_builder(struct paging_call *call);

/* Print contradictions between the operation and the driver's own objects (paging_check.c). */
void paging_check(const struct paging_call *call);

paging_builder paging_build_transfer;
paging_builder paging_build_fill;
paging_builder paging_build_discard_content;
paging_builder paging_build_virtual_transfer;
paging_builder paging_build_virtual_fill;
paging_builder paging_build_special_lock_transfer;
paging_builder paging_build_read_physical;
paging_builder paging_build_write_physical;
paging_builder paging_build_map_aperture_segment;
paging_builder paging_build_map_aperture_segment2;
paging_builder paging_build_unmap_aperture_segment;
paging_builder paging_build_update_page_table;
paging_builder paging_build_flush_tlb;
paging_builder paging_build_copy_page_table_entries;
paging_builder paging_build_signal_monitored_fence;
paging_builder paging_build_notify_residency;
paging_builder paging_build_notify_alloc;
paging_builder paging_build_notify_residency2;
paging_builder paging_build_notify_fence_residency;
paging_builder paging_build_for_absent_hardware;
paging_builder paging_build_init_context_resource;
paging_builder paging_build_update_context_allocation;

/*
 * Build an operation that consists of unit_count equal units, from the one that MultipassOffset
 * names. build_some() packs units [first, first + return value), at most limit; 0 means no room.
 */
typedef UINT paging_unit_builder(struct paging_call *call, UINT64 first, UINT64 limit);
NTSTATUS paging_build_units(struct paging_call *call, UINT64 unit_count,
                            paging_unit_builder *build_some);

#endif
