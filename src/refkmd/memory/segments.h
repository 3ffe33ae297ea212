/*
 * Segments: how the adapter's memory is laid out for the memory manager.
 *
 * Place      refkmd, private.
 * Source     contract.md SEG-001..SEG-027.
 */
#ifndef REFKMD_SEGMENTS_H
#define REFKMD_SEGMENTS_H

#include "refkmd/objects.h"

/* Lay the adapter's memory out in segments, once the registers have told how much there is. */
void refkmd_segments_init(struct refkmd_adapter *adapter);

/*
 * A board without memory of its own takes that of the system, from StartDevice to StopDevice. Where
 * the system has none to give, local memory is not said to be the system's.
 */
void refkmd_populate(struct refkmd_adapter *adapter);
void refkmd_depopulate(struct refkmd_adapter *adapter);

/*
 * A GPU physical address from a segment and an offset in it, which is how WDDM 2 names memory.
 * WDDM 1 hands out addresses that have the segment's base in them already (SEG-018).
 */
UINT64 refkmd_physical_address(const struct refkmd_adapter *adapter, UINT segment, UINT64 offset);

/*
 * A GPU physical address from one that has the segment's base in it already, as WDDM 1 hands them
 * out: of an AGP segment it is an address of the bus.
 */
UINT64 refkmd_bus_address(const struct refkmd_adapter *adapter, UINT segment, UINT64 address);

/*
 * The bytes lie in the segment, at an address that has its base in it; in an AGP segment only the
 * kernel can tell.
 */
BOOLEAN refkmd_is_in_segment(const struct refkmd_adapter *adapter, UINT segment, UINT64 address,
                             UINT64 bytes);
/*
 * Where bytes of an allocation are that an entry of the list places, as the GPU names them: that
 * they are in rows with a pitch is in the address, because it is not known before the place is
 * (PATCH-006).
 */
UINT64 refkmd_listed_address(const struct refkmd_adapter *adapter, const DXGK_ALLOCATIONLIST *entry,
                             UINT64 offset);
UINT refkmd_aperture_segment(const struct refkmd_adapter *adapter);
/* Where the kernel puts DMA buffers of clients: DmaBufferSegmentSet (CTX-015). */
UINT refkmd_dma_buffer_segments(const struct refkmd_adapter *adapter);

/* The allocation has rows, and they have a pitch in that segment. */
BOOLEAN refkmd_is_pitched(const struct refkmd_adapter *adapter,
                          const struct refkmd_allocation *allocation, UINT segment);

NTSTATUS refkmd_query_segments(struct refkmd_adapter *adapter,
                               const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS refkmd_query_segments3(struct refkmd_adapter *adapter,
                                const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS refkmd_query_segment_memory_state(struct refkmd_adapter *adapter,
                                           const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS refkmd_query_firmware_ranges(struct refkmd_adapter *adapter,
                                      const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS refkmd_query_segments4(struct refkmd_adapter *adapter,
                                const DXGKARG_QUERYADAPTERINFO *query);

#endif
