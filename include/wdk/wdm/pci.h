/*
 * PCI: configuration space as structures.
 *
 * Place   include/wdk/wdm. Read with DxgkCbReadDeviceSpace or HalGetBusDataByOffset.
 * Source  PCI Local Bus Specification 3.0, chapter 6 and appendix H; PCI-to-PCI Bridge and PC Card
 *         headers; the documented names of their fields.
 */
#ifndef WDM_PCI_H
#define WDM_PCI_H

#include "base.h"

/* Which space of a device. */
#define PCI_WHICHSPACE_CONFIG 0x0
#define PCI_WHICHSPACE_ROM    0x52696350

#define PCI_TYPE0_ADDRESSES 6
#define PCI_TYPE1_ADDRESSES 2
#define PCI_TYPE2_ADDRESSES 5

/* Where a device is: five bits of device and three of function. */
typedef struct _PCI_SLOT_NUMBER {
    union {
        struct {
            ULONG DeviceNumber : 5;
            ULONG FunctionNumber : 3;
            ULONG Reserved : 24;
        } bits;
        ULONG AsULONG;
    } u;
} PCI_SLOT_NUMBER, *PPCI_SLOT_NUMBER;

/* The first 64 bytes. */
#define WDM_PCI_HEADER_MEMBERS                                                                     \
    USHORT VendorID;                                                                               \
    USHORT DeviceID;                                                                               \
    USHORT Command;                                                                                \
    USHORT Status;                                                                                 \
    UCHAR RevisionID;                                                                              \
    UCHAR ProgIf;                                                                                  \
    UCHAR SubClass;                                                                                \
    UCHAR BaseClass;                                                                               \
    UCHAR CacheLineSize;                                                                           \
    UCHAR LatencyTimer;                                                                            \
    UCHAR HeaderType;                                                                              \
    UCHAR BIST;                                                                                    \
    union {                                                                                        \
        struct {                                                                                   \
            ULONG BaseAddresses[PCI_TYPE0_ADDRESSES];                                              \
            ULONG CIS;                                                                             \
            USHORT SubVendorID;                                                                    \
            USHORT SubSystemID;                                                                    \
            ULONG ROMBaseAddress;                                                                  \
            UCHAR CapabilitiesPtr;                                                                 \
            UCHAR Reserved1[3];                                                                    \
            ULONG Reserved2;                                                                       \
            UCHAR InterruptLine;                                                                   \
            UCHAR InterruptPin;                                                                    \
            UCHAR MinimumGrant;                                                                    \
            UCHAR MaximumLatency;                                                                  \
        } type0;                                                                                   \
        struct {                                                                                   \
            ULONG BaseAddresses[PCI_TYPE1_ADDRESSES];                                              \
            UCHAR PrimaryBus;                                                                      \
            UCHAR SecondaryBus;                                                                    \
            UCHAR SubordinateBus;                                                                  \
            UCHAR SecondaryLatency;                                                                \
            UCHAR IOBase;                                                                          \
            UCHAR IOLimit;                                                                         \
            USHORT SecondaryStatus;                                                                \
            USHORT MemoryBase;                                                                     \
            USHORT MemoryLimit;                                                                    \
            USHORT PrefetchBase;                                                                   \
            USHORT PrefetchLimit;                                                                  \
            ULONG PrefetchBaseUpper32;                                                             \
            ULONG PrefetchLimitUpper32;                                                            \
            USHORT IOBaseUpper16;                                                                  \
            USHORT IOLimitUpper16;                                                                 \
            UCHAR CapabilitiesPtr;                                                                 \
            UCHAR Reserved1[3];                                                                    \
            ULONG ROMBaseAddress;                                                                  \
            UCHAR InterruptLine;                                                                   \
            UCHAR InterruptPin;                                                                    \
            USHORT BridgeControl;                                                                  \
        } type1;                                                                                   \
        struct {                                                                                   \
            ULONG SocketRegistersBaseAddress;                                                      \
            UCHAR CapabilitiesPtr;                                                                 \
            UCHAR Reserved;                                                                        \
            USHORT SecondaryStatus;                                                                \
            UCHAR PrimaryBus;                                                                      \
            UCHAR SecondaryBus;                                                                    \
            UCHAR SubordinateBus;                                                                  \
            UCHAR SecondaryLatency;                                                                \
            struct {                                                                               \
                ULONG Base;                                                                        \
                ULONG Limit;                                                                       \
            } Range[PCI_TYPE2_ADDRESSES - 1];                                                      \
            UCHAR InterruptLine;                                                                   \
            UCHAR InterruptPin;                                                                    \
            USHORT BridgeControl;                                                                  \
        } type2;                                                                                   \
    } u

typedef struct _PCI_COMMON_HEADER {
    WDM_PCI_HEADER_MEMBERS;
} PCI_COMMON_HEADER, *PPCI_COMMON_HEADER;

typedef struct _PCI_COMMON_CONFIG {
    WDM_PCI_HEADER_MEMBERS;
    UCHAR DeviceSpecific[192];
} PCI_COMMON_CONFIG, *PPCI_COMMON_CONFIG;

#define PCI_COMMON_HDR_LENGTH (FIELD_OFFSET(PCI_COMMON_CONFIG, DeviceSpecific))

#define PCI_INVALID_VENDORID 0xffff

/* Command. */
#define PCI_ENABLE_IO_SPACE               0x0001
#define PCI_ENABLE_MEMORY_SPACE           0x0002
#define PCI_ENABLE_BUS_MASTER             0x0004
#define PCI_ENABLE_SPECIAL_CYCLES         0x0008
#define PCI_ENABLE_WRITE_AND_INVALIDATE   0x0010
#define PCI_ENABLE_VGA_COMPATIBLE_PALETTE 0x0020
#define PCI_ENABLE_PARITY                 0x0040
#define PCI_ENABLE_SERR                   0x0100
#define PCI_ENABLE_FAST_BACK_TO_BACK      0x0200
#define PCI_DISABLE_LEVEL_INTERRUPT       0x0400

/* Status. */
#define PCI_STATUS_INTERRUPT_PENDING 0x0008
#define PCI_STATUS_CAPABILITIES_LIST 0x0010

/* HeaderType. */
#define PCI_MULTIFUNCTION       0x80
#define PCI_DEVICE_TYPE         0x00
#define PCI_BRIDGE_TYPE         0x01
#define PCI_CARDBUS_BRIDGE_TYPE 0x02

/* Bits of a base address. */
#define PCI_ADDRESS_IO_SPACE            0x00000001
#define PCI_ADDRESS_MEMORY_TYPE_MASK    0x00000006
#define PCI_ADDRESS_MEMORY_PREFETCHABLE 0x00000008
#define PCI_ADDRESS_IO_ADDRESS_MASK     0xfffffffc
#define PCI_ADDRESS_MEMORY_ADDRESS_MASK 0xfffffff0
#define PCI_ADDRESS_ROM_ADDRESS_MASK    0xfffff800
#define PCI_TYPE_32BIT                  0
#define PCI_TYPE_20BIT                  2
#define PCI_TYPE_64BIT                  4

/* Classes. */
#define PCI_CLASS_DISPLAY_CTLR    0x03
#define PCI_SUBCLASS_VID_VGA_CTLR 0x00
#define PCI_SUBCLASS_VID_XGA_CTLR 0x01
#define PCI_SUBCLASS_VID_3D_CTLR  0x02
#define PCI_SUBCLASS_VID_OTHER    0x80

/* The list of capabilities. */
typedef struct _PCI_CAPABILITIES_HEADER {
    UCHAR CapabilityID;
    UCHAR Next;
} PCI_CAPABILITIES_HEADER, *PPCI_CAPABILITIES_HEADER;

#define PCI_CAPABILITY_ID_POWER_MANAGEMENT 0x01
#define PCI_CAPABILITY_ID_AGP              0x02
#define PCI_CAPABILITY_ID_VPD              0x03
#define PCI_CAPABILITY_ID_MSI              0x05
#define PCI_CAPABILITY_ID_VENDOR_SPECIFIC  0x09
#define PCI_CAPABILITY_ID_PCI_EXPRESS      0x10
#define PCI_CAPABILITY_ID_MSIX             0x11

#endif
