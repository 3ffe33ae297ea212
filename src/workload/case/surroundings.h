/*
 * Surroundings: what a driver finds around its board, and of a board without a model, as a line of
 * text.
 *
 * Place      workload. An option of a case holds it; whoever raises a driver reads it word by word.
 * Model      Words, separated by commas or blanks:
 *
 *                id=ACPI\VEN_BCM&DEV_2850        the hardware ID of the device
 *                value:RenderOnly=1              a REG_DWORD in the keys of the driver
 *                text:Chip=A%20B                 a REG_SZ there
 *                bytes:Table=00ff10              a REG_BINARY there
 *                device:\DosDevices\RPIQ         a device of another driver: it can be opened, and
 *                                                answers every request with what was sent
 *                device:\Device\X@4=0x80000000   the same, but for the u32 at byte 4 of the answer
 *                pci:vendor=0x8086               a number of the PCI function's header
 *                bar:0=4M                        the size of a base address; 0: there is none
 *                memory:0=64K                    a memory resource behind those of base addresses
 *                address:0=0xf0000000            where it lies; of 0 and 2
 *                registers=ones                  registers keep nothing; or memory: they do
 *                register:0x40=7                 what the u32 at byte 0x40 of them says at first
 *                port:0x1ce=0xb0c5               what a port of the processor says at first
 *
 *            %XX in the names and texts of the registry is the character of that number. The name
 *            of a value is looked for in the driver's own keys; behind the last backslash of a path
 *            in a key below them; a path that begins with a backslash goes from the root.
 * Ownership  Texts are borrowed.
 * Errors     A sentence that names the offending word. Only what was checked may be read.
 */
#ifndef DRYDOCK_WORKLOAD_SURROUNDINGS_H
#define DRYDOCK_WORKLOAD_SURROUNDINGS_H

#include "workload/workload.h"

#include <stdbool.h>
#include <stdint.h>

#define WORKLOAD_MAX_SURROUNDINGS         4000 /* characters of the line */
#define WORKLOAD_MAX_SURROUNDING_NAME     200  /* characters */
#define WORKLOAD_MAX_SURROUNDING_BYTES    512  /* of a text or of bytes */
#define WORKLOAD_MAX_SURROUNDING_BAR      (64u << 20)
#define WORKLOAD_MAX_SURROUNDING_MEMORY   8 /* memory resources that are no base addresses */
#define WORKLOAD_SURROUNDING_REGISTER_END (2 * WORKLOAD_MAX_SURROUNDING_BAR) /* of all of them */

enum workload_surrounding_kind {
    WORKLOAD_SURROUNDING_ID,
    WORKLOAD_SURROUNDING_VALUE,
    WORKLOAD_SURROUNDING_TEXT,
    WORKLOAD_SURROUNDING_BYTES,
    WORKLOAD_SURROUNDING_DEVICE,
    WORKLOAD_SURROUNDING_PCI,
    WORKLOAD_SURROUNDING_BAR,
    WORKLOAD_SURROUNDING_MEMORY,
    WORKLOAD_SURROUNDING_ADDRESS,
    WORKLOAD_SURROUNDING_REGISTERS,
    WORKLOAD_SURROUNDING_REGISTER,
    WORKLOAD_SURROUNDING_PORT,
};

/* struct workload_surrounding.place of a PCI word. */
enum workload_pci_member {
    WORKLOAD_PCI_VENDOR,
    WORKLOAD_PCI_DEVICE,
    WORKLOAD_PCI_SUBSYSTEM_VENDOR,
    WORKLOAD_PCI_SUBSYSTEM,
    WORKLOAD_PCI_REVISION,
    WORKLOAD_PCI_CLASS,
    WORKLOAD_PCI_MESSAGES, /* interrupts by message; 0: by line */
};

struct workload_surrounding {
    enum workload_surrounding_kind kind;
    char name[WORKLOAD_MAX_SURROUNDING_NAME + 1]; /* ID, VALUE, TEXT, BYTES, DEVICE */
    bool has_answer;                              /* DEVICE: a part of the answer is not what was
                                                     sent */
    /*
     * Of that part; PCI: enum workload_pci_member; BAR, ADDRESS: 0 to 5; MEMORY: 0 to 7; REGISTER:
     * in bytes, a multiple of 4.
     */
    uint32_t place;
    uint32_t number;  /* the answer, the value, the size; REGISTERS: 1: they are memory */
    uint64_t address; /* ADDRESS */
    uint32_t byte_count;
    uint8_t bytes[WORKLOAD_MAX_SURROUNDING_BYTES]; /* TEXT: without a zero behind it */
};

bool workload_surroundings_check(const char *text, struct workload_error *error);

/* The next word of the text, which goes behind it; false at the end, and for NULL. */
bool workload_surroundings_next(const char **text, struct workload_surrounding *out);

#endif
