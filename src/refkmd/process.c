/*
 * Processes and their address spaces (WDDM 2).
 *
 * The kernel builds the page tables; the driver only learns where the root of a context is (mmu.c).
 * So a process is little more than a name here; in the IoMmu model, where the system's own tables
 * are walked, it is its PASID. No range of virtual addresses is reserved (PT-044).
 */
#include "adapter.h"

#include <ntstatus.h>

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
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RefKmdDestroyProcess(IN_CONST_HANDLE hAdapter, IN_CONST_HANDLE hKmdProcess)
{
    UNREFERENCED_PARAMETER(hAdapter);
    refkmd_free(hKmdProcess);
    return STATUS_SUCCESS;
}
