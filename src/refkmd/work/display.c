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
#include "refkmd/work/interrupt.h"

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

/* ---- Vertical syncs -------------------------------------------------------------------------- */

struct sync_call {
    struct refkmd_adapter *adapter;
    BOOLEAN is_on;
};

/* A sync that came while nobody wanted to know is not told later. */
static BOOLEAN NTAPI control_at_device_irql(PVOID context)
{
    const struct sync_call *call = context;

    if (call->is_on && !call->adapter->wants_syncs)
        refkmd_write(call->adapter, SGPU_REG_IRQ_STATUS, SGPU_IRQ_SYNC);
    call->adapter->wants_syncs = call->is_on;
    refkmd_write(call->adapter, SGPU_REG_IRQ_ENABLE, refkmd_interrupt_mask(call->adapter));
    return TRUE;
}

/* The hardware goes on with its syncs, told or not: it stays in phase (FENCE-024). */
static NTSTATUS control(struct refkmd_adapter *adapter, DXGK_INTERRUPT_TYPE type, BOOLEAN is_on)
{
    struct sync_call call = {adapter, is_on};

    if (type != DXGK_INTERRUPT_CRTC_VSYNC || !refkmd_has_display(adapter))
        return STATUS_NOT_IMPLEMENTED;
    refkmd_synchronize(adapter, control_at_device_irql, &call);
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RefKmdControlInterrupt(IN_CONST_HANDLE hAdapter,
                                      IN_CONST_DXGK_INTERRUPT_TYPE InterruptType,
                                      IN_BOOLEAN EnableInterrupt)
{
    return control(hAdapter, InterruptType, EnableInterrupt);
}

/* From WDDM 1.3 on. */
NTSTATUS NTAPI RefKmdControlInterrupt2(IN_CONST_HANDLE hAdapter,
                                       IN_CONST_DXGKARG_CONTROLINTERRUPT2 InterruptControl)
{
    return control(hAdapter, InterruptControl.InterruptType,
                   InterruptControl.CrtcVsyncState == DXGK_VSYNC_ENABLE);
}

/* From WDDM 2.7 on. There is one source: all of them are that one. */
NTSTATUS NTAPI RefKmdControlInterrupt3(IN_CONST_HANDLE hAdapter,
                                       IN_CONST_PDXGKARG_CONTROLINTERRUPT3 pInterruptControl)
{
    return control(hAdapter, pInterruptControl->InterruptType,
                   pInterruptControl->CrtcVsyncState == DXGK_VSYNC_ENABLE);
}
