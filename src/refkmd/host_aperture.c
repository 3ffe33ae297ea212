/*
 * CPU host aperture: pages of BAR 1 that the driver points at pages of local memory, so that the CPU
 * reaches what no linear window shows.
 *
 * The kernel chooses both lists, in any order (CHA-002), and keeps account of what is mapped; the
 * driver only points. It works from the moment the segments have been described, before any device
 * or context exists (CHA-001): the kernel writes the paging process's page tables through it.
 */
#include "adapter.h"

#include <ntstatus.h>

static void point(struct refkmd_adapter *adapter, UINT32 slot, ULONG page)
{
    refkmd_write(adapter, SGPU_REG_WINDOW_SLOT, slot);
    refkmd_write(adapter, SGPU_REG_WINDOW_PAGE, page);
}

NTSTATUS NTAPI RefKmdMapCpuHostAperture(IN_CONST_HANDLE hAdapter,
                                        IN_CONST_PDXGKARG_MAPCPUHOSTAPERTURE args)
{
    struct refkmd_adapter *adapter = hAdapter;
    UINT64 i;

    if (args->SegmentId != REFKMD_SEGMENT_LOCAL)
        return STATUS_INVALID_PARAMETER;
    for (i = 0; i < args->NumberOfPages; i++) {
        if (args->pCpuHostAperturePages[i] >= adapter->window_pages ||
            args->pMemorySegmentPages[i] >= adapter->local_bytes / SGPU_PAGE_BYTES)
            return STATUS_INVALID_PARAMETER;
    }
    for (i = 0; i < args->NumberOfPages; i++)
        point(adapter, args->pCpuHostAperturePages[i], (ULONG)args->pMemorySegmentPages[i]);
    return STATUS_SUCCESS;
}

/* Never fails (CHA-004). */
NTSTATUS NTAPI RefKmdUnmapCpuHostAperture(IN_CONST_HANDLE hAdapter,
                                          IN_CONST_PDXGKARG_UNMAPCPUHOSTAPERTURE args)
{
    struct refkmd_adapter *adapter = hAdapter;
    UINT64 i;

    for (i = 0; i < args->NumberOfPages; i++)
        point(adapter, args->pCpuHostAperturePages[i], SGPU_WINDOW_NOTHING);
    return STATUS_SUCCESS;
}
