/*
 * Scan-out, as far as memory is concerned: the surface that a source shows.
 *
 * There are no modes and no children here. The kernel keeps a primary where it is from the moment
 * in which this driver is given its address until a vertical sync has reported another one, or
 * until nothing is shown.
 */
#include "refkmd/ddi.h"
#include "refkmd/memory/segments.h"
#include "refkmd/registers.h"
#include "refkmd/traits.h"

#include <ntstatus.h>

/*
 * Called at device IRQL for a flip, and at PASSIVE_LEVEL for the first surface: not pageable. The
 * hardware takes the address at the next vertical sync, whatever the flags ask for (FENCE-021).
 */
NTSTATUS NTAPI RefKmdSetVidPnSourceAddress(
    IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETVIDPNSOURCEADDRESS pSetVidPnSourceAddress)
{
    struct refkmd_adapter *adapter = hAdapter;
    UINT64 address = refkmd_bus_address(adapter, pSetVidPnSourceAddress->PrimarySegment,
                                        (UINT64)pSetVidPnSourceAddress->PrimaryAddress.QuadPart);

    if (!refkmd_has_display(adapter) || pSetVidPnSourceAddress->VidPnSourceId != 0)
        return STATUS_INVALID_PARAMETER;
    refkmd_write64(adapter, SGPU_REG_SCAN_NEXT, address);
    return STATUS_SUCCESS;
}

/* When this returns with nothing visible, the surface may go. */
NTSTATUS NTAPI RefKmdSetVidPnSourceVisibility(
    IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETVIDPNSOURCEVISIBILITY pSetVidPnSourceVisibility)
{
    struct refkmd_adapter *adapter = hAdapter;

    if (!refkmd_has_display(adapter) || pSetVidPnSourceVisibility->VidPnSourceId != 0)
        return STATUS_INVALID_PARAMETER;
    refkmd_write(adapter, SGPU_REG_SCAN_CONTROL,
                 pSetVidPnSourceVisibility->Visible ? SGPU_SCAN_SHOW : SGPU_SCAN_HIDE);
    return STATUS_SUCCESS;
}
