/* The one service that the reference driver imports by name. */
#include "refkmd/test_kernel.h"

struct test_kernel *test_current;

NTSTATUS NTAPI DxgkInitialize(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
                              PDRIVER_INITIALIZATION_DATA DriverInitializationData)
{
    test_current->ddi = *DriverInitializationData;
    return STATUS_SUCCESS;
}
