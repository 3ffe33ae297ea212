/*
 * Processes and their address spaces (WDDM 2).
 *
 * The kernel builds the page tables; the driver only learns where the root of a context is (mmu.c).
 * So a process is little more than a name here; in the IoMmu model, where the system's own tables
 * are walked, it is its PASID.
 */
#include "refkmd/ddi.h"
#include "refkmd/objects.h"
#include "refkmd/registers.h"

#include <ntstatus.h>

/*
 * Boards with SGPU_STRAP_OWN_RANGE want an entry of every root to themselves, that of the paging
 * process too. The kernel gives nobody addresses there and keeps the entry invalid (PT-045); a
 * driver that has tables of its own may point it at those whenever the root becomes resident. The
 * range can be asked for only here, in units of the addresses that an entry of the root translates;
 * Alignment cannot always say that much (PT-044). The kernel chooses the place; the range ends with
 * the process.
 */
static NTSTATUS reserve_range(struct refkmd_process *process, HANDLE kernel_process)
{
    const struct refkmd_adapter *adapter = process->adapter;
    UINT64 span = 1ull << (adapter->va_bits - adapter->index_bits[adapter->level_count - 1]);
    DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE range = {0};
    NTSTATUS status;

    range.hDxgkProcess = kernel_process;
    range.SizeInBytes = span;
    range.Alignment = (UINT)span == span ? (UINT)span : 0;
    status =
        adapter->dxgkrnl.DxgkCbReserveGpuVirtualAddressRange(adapter->dxgkrnl.DeviceHandle, &range);
    if (!NT_SUCCESS(status))
        return status;
    process->own_va = range.StartVirtualAddress;
    process->own_bytes = span;
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RefKmdCreateProcess(IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CREATEPROCESS args)
{
    struct refkmd_adapter *adapter = hAdapter;
    struct refkmd_process *process = refkmd_alloc(sizeof *process);

    args->hKmdProcess = process;
    if (!process)
        return STATUS_NO_MEMORY;
    process->signature = REFKMD_PROCESS_SIGNATURE;
    process->adapter = adapter;
    process->is_system = args->Flags.SystemProcess;
    /* One physical adapter, one PASID (RES-017). */
    if (adapter->model == REFKMD_IO_MMU && args->NumPasid)
        process->pasid = args->pPasid[0];
    if (adapter->model == REFKMD_GPU_MMU && (adapter->straps & SGPU_STRAP_OWN_RANGE)) {
        NTSTATUS status = reserve_range(process, args->hDxgkProcess);

        if (!NT_SUCCESS(status)) {
            args->hKmdProcess = NULL;
            refkmd_free(process);
            return status;
        }
    }
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RefKmdDestroyProcess(IN_CONST_HANDLE hAdapter, IN_CONST_HANDLE hKmdProcess)
{
    UNREFERENCED_PARAMETER(hAdapter);
    refkmd_free(hKmdProcess);
    return STATUS_SUCCESS;
}
