#include "bench/board/foreign_registers.h"

#include "base/assert.h"
#include "base/bits.h"
#include "workload/case/surroundings.h"

#include <string.h>

/* Bytes of registers come in pieces of this size, when they are written first. */
#define PIECE_BYTES 4096u

struct foreign_registers {
    const struct base_services *services;
    struct machine *machine;
    struct machine_registers bus; /* the machine borrows it */
    bool keeps_nothing;
    uint64_t piece_count;
    uint8_t **pieces; /* NULL: zeros */
};

/* ---- What they hold -------------------------------------------------------------------------- */

/* The bytes at an offset. Accesses are aligned; one that is not ends at the end of its piece. */
static uint8_t *find(struct foreign_registers *registers, uint64_t offset, unsigned size,
                     bool is_written)
{
    uint8_t **piece = &registers->pieces[offset / PIECE_BYTES];

    ASSERT(offset / PIECE_BYTES < registers->piece_count);
    if (!*piece && is_written)
        *piece = base_alloc(registers->services, PIECE_BYTES);
    return *piece ? *piece + min_u64(offset % PIECE_BYTES, PIECE_BYTES - size) : NULL;
}

static uint64_t read_register(void *context, uint64_t offset, unsigned size)
{
    struct foreign_registers *registers = context;
    const uint8_t *at;
    uint64_t value = 0;

    if (registers->keeps_nothing)
        return UINT64_MAX >> (64 - 8 * size);
    at = find(registers, offset, size, false);
    if (at)
        memcpy(&value, at, size);
    return value;
}

static void write_register(void *context, uint64_t offset, unsigned size, uint64_t value)
{
    struct foreign_registers *registers = context;
    uint8_t *at = registers->keeps_nothing ? NULL : find(registers, offset, size, true);

    if (at)
        memcpy(at, &value, size);
}

/* ---- What the surroundings say --------------------------------------------------------------- */

/* The registers' ranges, one behind the other: base addresses 0 and 4, and what else there is. */
#define RANGES (2 + MACHINE_PCI_OTHERS)
_Static_assert(WORKLOAD_MAX_SURROUNDING_MEMORY == MACHINE_PCI_OTHERS,
               "a case names as many ranges as a board has");

struct layout {
    uint64_t bytes[RANGES], first[RANGES], end;
    struct machine_pci pci;
    bool keeps_nothing;
};

static void say_of_function(struct machine_pci *pci, const struct workload_surrounding *word)
{
    switch ((enum workload_pci_member)word->place) {
    case WORKLOAD_PCI_VENDOR:
        pci->vendor_id = (uint16_t)word->number;
        break;
    case WORKLOAD_PCI_DEVICE:
        pci->device_id = (uint16_t)word->number;
        break;
    case WORKLOAD_PCI_SUBSYSTEM_VENDOR:
        pci->subsystem_vendor_id = (uint16_t)word->number;
        break;
    case WORKLOAD_PCI_SUBSYSTEM:
        pci->subsystem_id = (uint16_t)word->number;
        break;
    case WORKLOAD_PCI_REVISION:
        pci->revision = (uint8_t)word->number;
        break;
    case WORKLOAD_PCI_CLASS:
        pci->class_code = word->number;
        break;
    case WORKLOAD_PCI_MESSAGES:
        pci->message_count = word->number;
        break;
    }
}

static struct layout read_layout(const char *surroundings)
{
    struct layout layout = {.bytes = {FOREIGN_REGISTER_BYTES}, .pci = machine_pci_nameless()};
    struct workload_surrounding word;

    while (workload_surroundings_next(&surroundings, &word)) {
        if (word.kind == WORKLOAD_SURROUNDING_PCI)
            say_of_function(&layout.pci, &word);
        else if (word.kind == WORKLOAD_SURROUNDING_BAR)
            layout.bytes[word.place / 4] = word.number;
        else if (word.kind == WORKLOAD_SURROUNDING_MEMORY)
            layout.bytes[2 + word.place] = word.number;
        else if (word.kind == WORKLOAD_SURROUNDING_REGISTERS)
            layout.keeps_nothing = !word.number;
    }
    for (unsigned i = 0; i < RANGES; i++) {
        layout.first[i] = align_up(layout.end, max_u64(layout.bytes[i], 1));
        layout.end = layout.first[i] + layout.bytes[i];
    }
    return layout;
}

/* The machine's function: what the layout says, and the window on local memory. */
static bool show_function(struct machine *machine, struct layout *layout)
{
    for (unsigned i = 0; i < RANGES; i++) {
        struct machine_pci_bar *range =
            i < 2 ? &layout->pci.bars[4 * i] : &layout->pci.others[i - 2];

        if (layout->bytes[i])
            *range = (struct machine_pci_bar){layout->bytes[i],
                                              machine_bar0_pa(machine) + layout->first[i], false};
    }
    layout->pci.bars[2] =
        (struct machine_pci_bar){machine_bar1_bytes(machine), machine_bar1_pa(machine), true};
    return machine_set_pci(machine, &layout->pci);
}

/* False: one of them is behind the end. */
static bool set_first_content(struct foreign_registers *registers, const char *surroundings)
{
    struct workload_surrounding word;

    while (workload_surroundings_next(&surroundings, &word)) {
        if (word.kind != WORKLOAD_SURROUNDING_REGISTER)
            continue;
        if (word.place / PIECE_BYTES >= registers->piece_count)
            return false;
        write_register(registers, word.place, 4, word.number);
    }
    return true;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static const char *open_registers(struct foreign_registers *registers, const char *surroundings)
{
    struct layout layout = read_layout(surroundings);

    if (layout.end > WORKLOAD_SURROUNDING_REGISTER_END)
        return "option surroundings: more than 128M of registers (each base address and each "
               "memory begins at a multiple of its size)";
    registers->bus = (struct machine_registers){
        .bytes = layout.end, .read = read_register, .write = write_register};
    registers->keeps_nothing = layout.keeps_nothing;
    registers->piece_count = registers->bus.bytes / PIECE_BYTES;
    registers->pieces = base_alloc_array(registers->services, registers->piece_count + 1,
                                         sizeof *registers->pieces);
    if (!registers->pieces)
        return "no memory for the registers";
    if (!set_first_content(registers, surroundings))
        return "option surroundings: a register behind the end of the board's registers "
               "(bar:0=SIZE, bar:4=SIZE and memory:N=SIZE say how large they are)";
    if (!machine_set_registers(registers->machine, registers->bus.bytes ? &registers->bus : NULL,
                               registers) ||
        !show_function(registers->machine, &layout))
        return "the machine has no room for the registers";
    return NULL;
}

const char *foreign_registers_open(const struct base_services *services, struct machine *machine,
                                   const char *surroundings, struct foreign_registers **out)
{
    struct foreign_registers *registers = base_alloc(services, sizeof *registers);
    const char *why;

    *out = NULL;
    if (!registers)
        return "no memory for the registers";
    *registers = (struct foreign_registers){.services = services, .machine = machine};
    why = open_registers(registers, surroundings);
    if (why)
        foreign_registers_close(registers);
    else
        *out = registers;
    return why;
}

void foreign_registers_close(struct foreign_registers *registers)
{
    if (!registers)
        return;
    machine_set_registers(registers->machine, NULL, NULL);
    machine_set_pci(registers->machine, NULL);
    for (uint64_t i = 0; registers->pieces && i < registers->piece_count; i++)
        base_free(registers->services, registers->pieces[i], PIECE_BYTES);
    base_free_array(registers->services, registers->pieces, registers->piece_count + 1,
                    sizeof *registers->pieces);
    base_free(registers->services, registers, sizeof *registers);
}
