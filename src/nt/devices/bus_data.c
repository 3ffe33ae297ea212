/*
 * Bus data: the board's configuration space, by bus and slot.
 *
 * The board is device 0, function 0 of bus 1, as its properties say (device_property.c), and the
 * only one there; no other bus is. A device that is not there reads as a vendor of
 * PCI_INVALID_VENDORID, two bytes; a bus that is not there as nothing. Addresses of the bus are
 * those of the processor.
 */
#include "nt/nt_private.h"

#include "machine/machine_pci.h"

#include <wdm.h>

#include <string.h>

#define BOARD_BUS  1u
#define BOARD_SLOT 0u

static bool has_bus(const struct nt *nt, BUS_DATA_TYPE type, ULONG bus)
{
    return nt->machine && type == PCIConfiguration && bus == BOARD_BUS;
}

ULONG NTAPI HalGetBusDataByOffset(BUS_DATA_TYPE BusDataType, ULONG BusNumber, ULONG SlotNumber,
                                  PVOID Buffer, ULONG Offset, ULONG Length)
{
    struct nt *nt = nt_current();
    const USHORT nobody = PCI_INVALID_VENDORID;

    if (!has_bus(nt, BusDataType, BusNumber))
        return 0;
    if (SlotNumber == BOARD_SLOT)
        return machine_pci_read(nt->machine, Offset, Buffer, Length);
    if (Offset || Length < sizeof nobody)
        return 0;
    memcpy(Buffer, &nobody, sizeof nobody);
    return sizeof nobody;
}

ULONG NTAPI HalSetBusDataByOffset(BUS_DATA_TYPE BusDataType, ULONG BusNumber, ULONG SlotNumber,
                                  PVOID Buffer, ULONG Offset, ULONG Length)
{
    struct nt *nt = nt_current();

    if (!has_bus(nt, BusDataType, BusNumber) || SlotNumber != BOARD_SLOT)
        return 0;
    return machine_pci_write(nt->machine, Offset, Buffer, Length);
}

ULONG NTAPI HalGetBusData(BUS_DATA_TYPE BusDataType, ULONG BusNumber, ULONG SlotNumber,
                          PVOID Buffer, ULONG Length)
{
    return HalGetBusDataByOffset(BusDataType, BusNumber, SlotNumber, Buffer, 0, Length);
}

ULONG NTAPI HalSetBusData(BUS_DATA_TYPE BusDataType, ULONG BusNumber, ULONG SlotNumber,
                          PVOID Buffer, ULONG Length)
{
    return HalSetBusDataByOffset(BusDataType, BusNumber, SlotNumber, Buffer, 0, Length);
}

/* AddressSpace stays what it is: x64 has memory and ports, like the bus. */
BOOLEAN NTAPI HalTranslateBusAddress(INTERFACE_TYPE InterfaceType, ULONG BusNumber,
                                     PHYSICAL_ADDRESS BusAddress, PULONG AddressSpace,
                                     PPHYSICAL_ADDRESS TranslatedAddress)
{
    if (InterfaceType != PCIBus || BusNumber != BOARD_BUS || *AddressSpace > 1)
        return FALSE;
    *TranslatedAddress = BusAddress;
    return TRUE;
}

static const struct nt_export services[] = {
    NT_SERVICE_OF("hal.dll", HalGetBusData),
    NT_SERVICE_OF("hal.dll", HalGetBusDataByOffset),
    NT_SERVICE_OF("hal.dll", HalSetBusData),
    NT_SERVICE_OF("hal.dll", HalSetBusDataByOffset),
    NT_SERVICE_OF("hal.dll", HalTranslateBusAddress),
    {0},
};

const struct nt_area nt_bus_data_area = {.exports = services};
