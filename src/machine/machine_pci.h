/*
 * PCI function: the device as its bus sees it. Identity, base addresses, capabilities, messages.
 *
 * Place      machine. The host of a driver and the kernel services read and write it for the
 *            driver.
 * Model      4096 bytes of configuration space: a type 0 header, made from struct machine_pci, and
 *            what that gives from 0x40 on. Base addresses lie above 4 GiB, so that each is of 64
 *            bits and takes two of the six registers. Where they lie is decided when the function
 *            is made: a driver may size one as a bus driver does, and it stays where it is.
 *
 *            | bytes                                        | a write                             |
 *            | command (its defined bits), cache line size, | is kept, and has no effect          |
 *            | latency timer, interrupt line                |                                     |
 *            | base address registers                       | reads back as one of that size does |
 *            | from 0x40 on                                 | is kept                             |
 *            | all others                                   | is lost                             |
 *
 *            A machine has one from the start: registers at base address 0, the window on local
 *            memory at 2, one interrupt by line. It follows machine_set_registers() until another
 *            is set.
 * Ownership  Embedded in the machine; machine_set_pci() copies what it is given.
 * Source     PCI Local Bus Specification 3.0, chapter 6, as public documents repeat it.
 */
#ifndef DRYDOCK_MACHINE_MACHINE_PCI_H
#define DRYDOCK_MACHINE_MACHINE_PCI_H

#include <stdbool.h>
#include <stdint.h>

#define MACHINE_PCI_BARS             6u
#define MACHINE_PCI_OTHERS           8u
#define MACHINE_PCI_SPACE_BYTES      4096u
#define MACHINE_PCI_CAPABILITY_START 0x40u

/* What a board without a name of its own says. Nobody has this vendor number. */
#define MACHINE_PCI_NO_VENDOR 0x1234u
#define MACHINE_PCI_NO_DEVICE 0xd0ccu

struct machine;

struct machine_pci_bar {
    uint64_t bytes; /* 0: none */
    uint64_t pa;
    bool is_prefetchable;
};

struct machine_pci {
    uint16_t vendor_id, device_id, subsystem_vendor_id, subsystem_id;
    uint8_t revision;
    uint32_t class_code; /* class, subclass and interface, the class in bits 16 to 23 */
    struct machine_pci_bar bars[MACHINE_PCI_BARS];
    /* Memory that is the device's by its firmware: configuration space says nothing of it. */
    struct machine_pci_bar others[MACHINE_PCI_OTHERS];
    /*
     * Configuration space from 0x40 on; a list of capabilities begins there. NULL: none, but that
     * of the messages.
     */
    const uint8_t *capabilities;
    uint32_t capability_bytes;
    uint32_t message_count; /* interrupts that it signals by message; 0: by line */
};

/* The structure's values, a board that has no name: for who fills in the rest. */
struct machine_pci machine_pci_nameless(void);

/* False: a base address or the capabilities do not fit. NULL: as at first. */
bool machine_set_pci(struct machine *machine, const struct machine_pci *pci);

/* As it was set; capabilities is NULL. */
const struct machine_pci *machine_pci(const struct machine *machine);

/*
 * How many bytes of [offset, offset + bytes) there are; those were read or written. An access
 * beyond the end reads nothing there.
 */
uint32_t machine_pci_read(const struct machine *machine, uint32_t offset, void *out,
                          uint32_t bytes);
uint32_t machine_pci_write(struct machine *machine, uint32_t offset, const void *from,
                           uint32_t bytes);

#endif
