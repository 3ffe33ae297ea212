/*
 * examples/driver-sdma that answers DxgkDdiQueryAdapterInfo otherwise as long as its device has not
 * been started, but for WDDMDEVICECAPS, which is asked before the start: LATE 1 fails, 2 crashes,
 * 3 does not return, 4 says that it is of the IoMmu model. With LATE 5 it registers no
 * DxgkDdiSetRootPageTable, with 6 it always says that it is of WDDM 2.1.
 */
#include "../../examples/driver-sdma/driver.h"

static NTSTATUS register_late(DRIVER_OBJECT *driver, UNICODE_STRING *path,
                              DRIVER_INITIALIZATION_DATA *table);

#define DxgkInitialize register_late
#include "../../examples/driver-sdma/adapter.c"
#undef DxgkInitialize

static NTSTATUS NTAPI QueryLate(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_QUERYADAPTERINFO query)
{
    const struct adapter *adapter = (const struct adapter *)hAdapter;
    NTSTATUS status = QueryAdapterInfo(hAdapter, query);

#if LATE == 6
    if (query->Type == DXGKQAITYPE_DRIVERCAPS)
        ((DXGK_DRIVERCAPS *)query->pOutputData)->WDDMVersion = DXGKDDI_WDDMv2_1;
#endif
    if (adapter->registers || LATE > 4 || query->Type == DXGKQAITYPE_WDDMDEVICECAPS)
        return status;
#if LATE == 1
    return STATUS_UNSUCCESSFUL;
#elif LATE == 2
    return *(volatile NTSTATUS *)8;
#elif LATE == 3
    for (;;)
        ;
#else
    if (query->Type == DXGKQAITYPE_DRIVERCAPS) {
        ((DXGK_DRIVERCAPS *)query->pOutputData)->MemoryManagementCaps.GpuMmuSupported = 0;
        ((DXGK_DRIVERCAPS *)query->pOutputData)->MemoryManagementCaps.IoMmuSupported = 1;
    }
    return status;
#endif
}

static NTSTATUS register_late(DRIVER_OBJECT *driver, UNICODE_STRING *path,
                              DRIVER_INITIALIZATION_DATA *table)
{
    table->DxgkDdiQueryAdapterInfo = QueryLate;
    if (LATE == 5)
        table->DxgkDdiSetRootPageTable = NULL;
    return DxgkInitialize(driver, path, table);
}
