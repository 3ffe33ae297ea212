/*
 * Processes and their address spaces (WDDM 2).
 *
 * The kernel builds the page tables; the driver only learns where the root of a context is. So a
 * process is little more than a name here; in the IoMmu model, where the system's own tables are
 * walked, it is its PASID. No range of virtual addresses is reserved (PT-044).
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

/*
 * Asked only of drivers with two levels, whose root grows (PT-007). The answer for a root of fixed
 * size keeps PT-008 all the same.
 */
SIZE_T NTAPI RefKmdGetRootPageTableSize(IN_CONST_HANDLE hAdapter,
                                        INOUT_PDXGKARG_GETROOTPAGETABLESIZE args)
{
    UNREFERENCED_PARAMETER(hAdapter);
    args->NumberOfPte = SGPU_TABLE_ENTRIES;
    return SGPU_PAGE_BYTES;
}

/*
 * The context is not scheduled (PT-010); its next submission takes the new root along (SUB-011).
 * The root has SGPU_TABLE_ENTRIES entries always, and those not in use are not valid (PT-011).
 */
VOID NTAPI RefKmdSetRootPageTable(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETROOTPAGETABLE args)
{
    struct refkmd_context *context = args->hContext;

    context->root =
        refkmd_physical_address(hAdapter, args->Address.SegmentId, args->Address.SegmentOffset);
    context->has_root = TRUE;
}
