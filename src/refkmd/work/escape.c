/*
 * Escapes: what the user-mode half asks that no other call tells it.
 */
#include "refkmd/ddi.h"
#include "refkmd/memory/own_memory.h"
#include "refkmd/registers.h"
#include "refkmd/work/components.h"

#include <ntstatus.h>

/*
 * The data is the client's: its size is looked at before anything in it is. Registers are read only
 * where the kernel has made the hardware idle (ESC-002), so that a call without HardwareAccess
 * fails, as D3DDDI_ESCAPEFLAGS wants it.
 */
NTSTATUS NTAPI RefKmdEscape(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_ESCAPE pEscape)
{
    struct refkmd_adapter *adapter = hAdapter;
    struct sgpu_umd_escape *data = pEscape->pPrivateDriverData;

    if (pEscape->PrivateDriverDataSize != sizeof *data || data->version != SGPU_UMD_VERSION)
        return STATUS_INVALID_PARAMETER;
    switch (data->code) {
    case SGPU_ESCAPE_BOARD:
        data->values[0] = adapter->node_count;
        data->values[1] = adapter->local_bytes;
        return STATUS_SUCCESS;
    case SGPU_ESCAPE_ID:
        if (!pEscape->Flags.HardwareAccess)
            return STATUS_INVALID_PARAMETER;
        refkmd_begin_identification(adapter);
        data->values[0] = refkmd_read(adapter, SGPU_REG_ID);
        refkmd_end_identification(adapter);
        data->values[1] = 0;
        return refkmd_own_memory_is_right(adapter) ? STATUS_SUCCESS : STATUS_DEVICE_DATA_ERROR;
    default:
        return STATUS_INVALID_PARAMETER;
    }
}
