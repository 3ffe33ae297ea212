/*
 * Configuration space: made from the description, then bytes.
 */
#include "machine/machine_private.h"

#include <string.h>

enum {
    SPACE_VENDOR = 0x00,
    SPACE_DEVICE = 0x02,
    SPACE_COMMAND = 0x04,
    SPACE_STATUS = 0x06,
    SPACE_REVISION = 0x08,
    SPACE_CACHE_LINE = 0x0c,
    SPACE_LATENCY = 0x0d,
    SPACE_BARS = 0x10,
    SPACE_SUBSYSTEM_VENDOR = 0x2c,
    SPACE_SUBSYSTEM = 0x2e,
    SPACE_CAPABILITIES = 0x34,
    SPACE_INTERRUPT_LINE = 0x3c,
    SPACE_INTERRUPT_PIN = 0x3d,
};

#define COMMAND_MEMORY         0x0002u
#define COMMAND_MASTER         0x0004u
#define COMMAND_NO_LINE        0x0400u
#define COMMAND_WRITABLE       0x0547u
#define STATUS_HAS_LIST        0x0010u
#define BAR_64_BIT             0x4u
#define BAR_PREFETCHABLE       0x8u
#define BAR_FLAGS              0xfu
#define CAPABILITY_MSI         0x05u
#define MSI_64_BIT             0x80u
#define DISPLAY_CONTROLLER_VGA 0x030000u
#define INTERRUPT_LINE         11u

static void put(uint8_t *space, unsigned offset, unsigned size, uint64_t value)
{
    for (unsigned i = 0; i < size; i++)
        space[offset + i] = (uint8_t)(value >> (8 * i));
}

uint64_t machine_pci_bar_size(uint64_t bytes)
{
    uint64_t size = PAGE_BYTES;

    while (size < bytes)
        size *= 2;
    return size;
}

static uint64_t bar_size(const struct machine_pci_bar *bar)
{
    return machine_pci_bar_size(bar->bytes);
}

static uint64_t bar_flags(const struct machine_pci_bar *bar)
{
    return BAR_64_BIT | (bar->is_prefetchable ? BAR_PREFETCHABLE : 0);
}

/* Messages without capabilities of the board's own: by MSI, the power of two that holds them. */
static void put_messages(uint8_t *space, uint32_t message_count)
{
    unsigned exponent = 0;

    while (exponent < 5 && (1u << exponent) < message_count)
        exponent++;
    space[MACHINE_PCI_CAPABILITY_START] = CAPABILITY_MSI;
    put(space, MACHINE_PCI_CAPABILITY_START + 2, 2,
        MSI_64_BIT | exponent << 1 | exponent << 4 | 1u);
}

static void make_space(struct machine *machine, const uint8_t *capabilities)
{
    const struct machine_pci *pci = &machine->pci;
    uint8_t *space = machine->pci_space;
    bool has_list = pci->message_count || pci->capability_bytes;

    memset(space, 0, MACHINE_PCI_SPACE_BYTES);
    put(space, SPACE_VENDOR, 2, pci->vendor_id);
    put(space, SPACE_DEVICE, 2, pci->device_id);
    put(space, SPACE_COMMAND, 2,
        COMMAND_MEMORY | COMMAND_MASTER | (pci->message_count ? COMMAND_NO_LINE : 0));
    put(space, SPACE_STATUS, 2, has_list ? STATUS_HAS_LIST : 0);
    put(space, SPACE_REVISION, 4, (uint64_t)pci->class_code << 8 | pci->revision);
    put(space, SPACE_SUBSYSTEM_VENDOR, 2, pci->subsystem_vendor_id);
    put(space, SPACE_SUBSYSTEM, 2, pci->subsystem_id);
    put(space, SPACE_CAPABILITIES, 1, has_list ? MACHINE_PCI_CAPABILITY_START : 0);
    put(space, SPACE_INTERRUPT_LINE, 1, INTERRUPT_LINE);
    put(space, SPACE_INTERRUPT_PIN, 1, 1);
    for (unsigned i = 0; i < MACHINE_PCI_BARS; i++) {
        if (pci->bars[i].bytes)
            put(space, SPACE_BARS + 4 * i, 8, pci->bars[i].pa | bar_flags(&pci->bars[i]));
    }
    if (pci->capability_bytes)
        memcpy(space + MACHINE_PCI_CAPABILITY_START, capabilities, pci->capability_bytes);
    else if (pci->message_count)
        put_messages(space, pci->message_count);
}

/* ---- The description ---- */

struct machine_pci machine_pci_nameless(void)
{
    return (struct machine_pci){
        .vendor_id = MACHINE_PCI_NO_VENDOR,
        .device_id = MACHINE_PCI_NO_DEVICE,
        .subsystem_vendor_id = MACHINE_PCI_NO_VENDOR,
        .subsystem_id = MACHINE_PCI_NO_DEVICE,
        .class_code = DISPLAY_CONTROLLER_VGA,
    };
}

static bool is_lawful(const struct machine_pci *pci)
{
    for (unsigned i = 0; i < MACHINE_PCI_BARS; i++) {
        const struct machine_pci_bar *bar = &pci->bars[i];

        if (!bar->bytes)
            continue;
        if (i + 1 == MACHINE_PCI_BARS || (bar + 1)->bytes || bar->pa % bar_size(bar))
            return false;
    }
    return pci->capability_bytes <= MACHINE_PCI_SPACE_BYTES - MACHINE_PCI_CAPABILITY_START;
}

void machine_pci_make_default(struct machine *machine)
{
    machine->has_own_pci = false;
    machine->pci = machine_pci_nameless();
    machine->pci.bars[0] =
        (struct machine_pci_bar){machine_register_bytes(machine), machine_bar0_pa(machine), false};
    machine->pci.bars[2] =
        (struct machine_pci_bar){machine_bar1_bytes(machine), machine_bar1_pa(machine), true};
    make_space(machine, NULL);
}

bool machine_set_pci(struct machine *machine, const struct machine_pci *pci)
{
    if (!pci) {
        machine_pci_make_default(machine);
        return true;
    }
    if (!is_lawful(pci))
        return false;
    machine->has_own_pci = true;
    machine->pci = *pci;
    machine->pci.capabilities = NULL;
    make_space(machine, pci->capabilities);
    return true;
}

const struct machine_pci *machine_pci(const struct machine *machine)
{
    return &machine->pci;
}

/* ---- Access ---- */

/* How many of the bytes there are. */
static uint32_t clip(uint32_t offset, uint32_t bytes)
{
    if (offset >= MACHINE_PCI_SPACE_BYTES)
        return 0;
    return (uint32_t)min_u64(bytes, MACHINE_PCI_SPACE_BYTES - offset);
}

uint32_t machine_pci_read(const struct machine *machine, uint32_t offset, void *out, uint32_t bytes)
{
    uint32_t count = clip(offset, bytes);

    memcpy(out, machine->pci_space + offset, count);
    return count;
}

/* Which bits of a byte of the header a write reaches. */
static uint8_t writable_bits(const struct machine *machine, uint32_t offset)
{
    if (offset >= MACHINE_PCI_CAPABILITY_START)
        return 0xff;
    if (offset == SPACE_CACHE_LINE || offset == SPACE_LATENCY || offset == SPACE_INTERRUPT_LINE)
        return 0xff;
    if (offset == SPACE_COMMAND || offset == SPACE_COMMAND + 1)
        return (uint8_t)(COMMAND_WRITABLE >> (8 * (offset - SPACE_COMMAND)));
    if (offset >= SPACE_BARS && offset < SPACE_BARS + 4 * MACHINE_PCI_BARS) {
        unsigned bar = (offset - SPACE_BARS) / 4, byte = (offset - SPACE_BARS) % 4;

        if (!machine->pci.bars[bar].bytes) {
            if (!bar || !machine->pci.bars[bar - 1].bytes)
                return 0;
            bar--;
            byte += 4; /* the upper half of one of 64 bits */
        }
        return (uint8_t)(~(bar_size(&machine->pci.bars[bar]) - 1) >> (8 * byte));
    }
    return 0;
}

uint32_t machine_pci_write(struct machine *machine, uint32_t offset, const void *from,
                           uint32_t bytes)
{
    const struct machine_deed deed = {
        .kind = MACHINE_DEED_CONFIGURE, .offset = offset, .count = bytes, .bytes = from};
    const bool is_told = machine_tell_before(machine, &deed);
    uint32_t count = clip(offset, bytes);

    for (uint32_t i = 0; i < count; i++) {
        uint8_t *at = &machine->pci_space[offset + i];
        uint8_t bits = writable_bits(machine, offset + i);

        *at = (uint8_t)((*at & ~bits) | (((const uint8_t *)from)[i] & bits));
    }
    machine_tell_after(machine, is_told, &deed);
    return count;
}
