/*
 * softcopy with a StartDevice that looks around first, for tests/images/board.sh: the keys of the
 * registry, the PCI function, and registers that remember.
 *
 * softcopy is compiled with DxgkInitialize renamed, so that its table comes here first. The driver
 * does not start where something is not as board.inf and the command line of the test say.
 */
#include <ntddk.h>
#include <dispmprt.h>

#undef DxgkInitialize
NTSTATUS NTAPI DxgkInitialize(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
                              PDRIVER_INITIALIZATION_DATA DriverInitializationData);

static PDXGKDDI_START_DEVICE start_softcopy;
static ULONG level;

static BOOLEAN has_registers(DXGKRNL_INTERFACE *interface, PHYSICAL_ADDRESS address, ULONG bytes)
{
    BOOLEAN is_right = FALSE;
    volatile ULONG *registers;
    PVOID mapping;

    if (bytes != 0x200000 ||
        !NT_SUCCESS(interface->DxgkCbMapMemory(interface->DeviceHandle, address, bytes, FALSE,
                                               FALSE, MmNonCached, &mapping)))
        return FALSE;
    registers = mapping;
    is_right = READ_REGISTER_ULONG((PULONG)&registers[16]) == 7 &&
               READ_REGISTER_ULONG((PULONG)&registers[17]) == 0;
    WRITE_REGISTER_ULONG((PULONG)&registers[17], 0x12345678);
    is_right = is_right && READ_REGISTER_ULONG((PULONG)&registers[17]) == 0x12345678;
    interface->DxgkCbUnmapMemory(interface->DeviceHandle, mapping);
    return is_right;
}

static NTSTATUS NTAPI look_around(IN_CONST_PVOID MiniportDeviceContext,
                                  IN_PDXGK_START_INFO DxgkStartInfo,
                                  IN_PDXGKRNL_INTERFACE DxgkInterface,
                                  OUT_PULONG NumberOfVideoPresentSources,
                                  OUT_PULONG NumberOfChildren)
{
    DXGK_DEVICE_INFO info;
    ULONG identity, read = 0;
    PCM_PARTIAL_RESOURCE_LIST list;

    if (level != 9 ||
        !NT_SUCCESS(DxgkInterface->DxgkCbReadDeviceSpace(
            DxgkInterface->DeviceHandle, DXGK_WHICHSPACE_CONFIG, &identity, 0, 4, &read)) ||
        read != 4 || identity != 0x10501af4 ||
        !NT_SUCCESS(DxgkInterface->DxgkCbGetDeviceInformation(DxgkInterface->DeviceHandle, &info)))
        return STATUS_DEVICE_CONFIGURATION_ERROR;
    list = &info.TranslatedResourceList->List[0].PartialResourceList;
    if (list->PartialDescriptors[0].Type != CmResourceTypeMemory ||
        !has_registers(DxgkInterface, list->PartialDescriptors[0].u.Memory.Start,
                       list->PartialDescriptors[0].u.Memory.Length))
        return STATUS_DEVICE_CONFIGURATION_ERROR;
    return start_softcopy(MiniportDeviceContext, DxgkStartInfo, DxgkInterface,
                          NumberOfVideoPresentSources, NumberOfChildren);
}

/* The driver's own key has Level from the INF; Absent is nowhere. */
static void read_registry(PUNICODE_STRING path)
{
    RTL_QUERY_REGISTRY_TABLE table[4] = {0};
    ULONG absent = 0;

    table[0].Flags = RTL_QUERY_REGISTRY_SUBKEY;
    table[0].Name = L"Parameters";
    table[1].Flags = RTL_QUERY_REGISTRY_DIRECT;
    table[1].Name = L"Level";
    table[1].EntryContext = &level;
    table[2].Flags = RTL_QUERY_REGISTRY_DIRECT;
    table[2].Name = L"Absent";
    table[2].EntryContext = &absent;
    RtlQueryRegistryValues(RTL_REGISTRY_ABSOLUTE, path->Buffer, table, NULL, NULL);
}

NTSTATUS NTAPI BoardInitialize(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
                               PDRIVER_INITIALIZATION_DATA DriverInitializationData)
{
    read_registry(RegistryPath);
    start_softcopy = DriverInitializationData->DxgkDdiStartDevice;
    DriverInitializationData->DxgkDdiStartDevice = look_around;
    return DxgkInitialize(DriverObject, RegistryPath, DriverInitializationData);
}
