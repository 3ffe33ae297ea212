/*
 * READ_PHYSICAL and WRITE_PHYSICAL: one access by the GPU.
 *
 * The kernel uses them on an AGP segment, to get the GPU's writes through the bridge before the CPU
 * looks (PHYS-005). Packets run in the order of the buffer, so an access is done before the fence
 * of its submission (PHYS-002). Which value is read or written does not matter (PHYS-003).
 */
#include "refkmd/memory/segments.h"
#include "refkmd/paging/paging.h"

#include <ntstatus.h>

static NTSTATUS build_touch(struct paging_call *call, UINT segment, LARGE_INTEGER address,
                            ULONG flags)
{
    struct sgpu_packet_touch *touch = packet_begin(&call->writer, SGPU_OP_TOUCH, sizeof *touch);

    if (!touch)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    touch->flags = flags | SGPU_PACKET_PHYSICAL;
    touch->address = refkmd_bus_address(call->adapter, segment, (UINT64)address.QuadPart);
    touch->bytes = sizeof(UINT64); /* of the 1 to 8 that PHYS-001 leaves open */
    touch->reserved = 0;
    return STATUS_SUCCESS;
}

NTSTATUS paging_build_read_physical(struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;

    return build_touch(call, args->ReadPhysical.SegmentId, args->ReadPhysical.PhysicalAddress, 0);
}

NTSTATUS paging_build_write_physical(struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;

    return build_touch(call, args->WritePhysical.SegmentId, args->WritePhysical.PhysicalAddress,
                       SGPU_TOUCH_WRITE);
}
