/*
 * CPU host aperture: pages of BAR 1 that the driver points at pages of local memory, so that the
 * CPU reaches memory that no linear window shows.
 *
 * The kernel chooses both lists, in any order and in pages of the segment (CHA-002), and keeps
 * account of the mapped pages; the driver only points. It works from the moment the segments have
 * been described, before any device or context exists (CHA-001): the kernel writes the paging
 * process's page tables through it.
 */
#include "refkmd/memory/host_aperture.h"

#include "refkmd/ddi.h"
#include "refkmd/registers.h"
#include "refkmd/traits.h"

#include <ntstatus.h>

/* Pages of BAR 1, and of local memory, that make one page of the segment. */
static UINT pages_of_unit(const struct refkmd_adapter *adapter)
{
    return refkmd_has_64k_pages(adapter) ? SGPU_64K_BYTES / SGPU_PAGE_BYTES : 1;
}

UINT refkmd_host_aperture_slots(const struct refkmd_adapter *adapter)
{
    return adapter->window_pages / pages_of_unit(adapter);
}

static void point(struct refkmd_adapter *adapter, UINT32 slot, ULONG page)
{
    refkmd_write(adapter, SGPU_REG_WINDOW_SLOT, slot);
    refkmd_write(adapter, SGPU_REG_WINDOW_PAGE, page);
}

NTSTATUS NTAPI RefKmdMapCpuHostAperture(IN_CONST_HANDLE hAdapter,
                                        IN_CONST_PDXGKARG_MAPCPUHOSTAPERTURE args)
{
    struct refkmd_adapter *adapter = hAdapter;
    UINT unit = pages_of_unit(adapter);
    UINT64 i;
    UINT j;

    if (args->SegmentId != REFKMD_SEGMENT_LOCAL)
        return STATUS_INVALID_PARAMETER;
    for (i = 0; i < args->NumberOfPages; i++) {
        if (args->pCpuHostAperturePages[i] >= adapter->window_pages / unit ||
            args->pMemorySegmentPages[i] >= adapter->local_bytes / SGPU_PAGE_BYTES / unit)
            return STATUS_INVALID_PARAMETER;
    }
    for (i = 0; i < args->NumberOfPages; i++) {
        for (j = 0; j < unit; j++)
            point(adapter, args->pCpuHostAperturePages[i] * unit + j,
                  (ULONG)args->pMemorySegmentPages[i] * unit + j);
    }
    return STATUS_SUCCESS;
}

/* Never fails (CHA-004). */
NTSTATUS NTAPI RefKmdUnmapCpuHostAperture(IN_CONST_HANDLE hAdapter,
                                          IN_CONST_PDXGKARG_UNMAPCPUHOSTAPERTURE args)
{
    struct refkmd_adapter *adapter = hAdapter;
    UINT unit = pages_of_unit(adapter);
    UINT64 i;
    UINT j;

    for (i = 0; i < args->NumberOfPages; i++) {
        for (j = 0; j < unit; j++)
            point(adapter, args->pCpuHostAperturePages[i] * unit + j, SGPU_WINDOW_NOTHING);
    }
    return STATUS_SUCCESS;
}
