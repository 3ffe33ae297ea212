/*
 * The physical bus: who answers an address, and host pointers to it.
 */
#define _GNU_SOURCE
#include "machine/machine_private.h"

#include "machine/page_window.h"

#include <string.h>
#include <sys/mman.h>

/* BARs lie above RAM, each at a multiple of this, and of its own size. */
#define BAR_ALIGNMENT  (4 * GiB)
#define MOST_REGISTERS (128 * MiB)
#define MOST_ADDRESS   (1ull << 52)

/* Mappings of more pages than this, 16 MiB, make bytes of a page only when it is touched. */
#define WINDOW_PAGES 4096u

uint64_t machine_bar1_bytes(const struct machine *machine)
{
    const struct machine_config *config = &machine->config;

    return config->visible_bytes + (config->shows_aperture ? config->aperture_bytes : 0);
}

uint64_t machine_bar0_pa(const struct machine *machine)
{
    return machine->config.registers_pa ? machine->config.registers_pa
                                        : align_up(machine->config.ram_bytes, BAR_ALIGNMENT);
}

uint64_t machine_bar1_pa(const struct machine *machine)
{
    const uint64_t bytes = machine_bar1_bytes(machine);
    const uint64_t lowest = max_u64(machine_bar0_pa(machine), machine->config.ram_bytes);
    const uint64_t size = bytes > BAR_ALIGNMENT ? machine_pci_bar_size(bytes) : BAR_ALIGNMENT;

    return machine->config.window_pa ? machine->config.window_pa
                                     : align_up(lowest + BAR_ALIGNMENT, size);
}

static bool is_inside(uint64_t pa, uint64_t bytes, uint64_t base, uint64_t size)
{
    return pa >= base && pa - base < size && bytes <= size - (pa - base);
}

bool machine_bars_are_lawful(const struct machine *machine)
{
    const struct machine_config *config = &machine->config;
    const uint64_t registers = machine_bar0_pa(machine), window = machine_bar1_pa(machine);
    const uint64_t size = machine_pci_bar_size(max_u64(machine_bar1_bytes(machine), PAGE_BYTES));

    return registers >= config->ram_bytes && window >= config->ram_bytes &&
           is_aligned(registers, MOST_REGISTERS) && is_aligned(window, size) &&
           window < MOST_ADDRESS - size && registers < MOST_ADDRESS &&
           (registers + MOST_REGISTERS <= window || window + size <= registers);
}

void machine_set_window_pages(struct machine *machine, const uint64_t *pages)
{
    machine->window_pages = pages;
}

void machine_set_window_function(struct machine *machine, machine_window_page *function,
                                 void *context)
{
    ASSERT(!function || !machine->window_pages);
    machine->window_function = function;
    machine->window_context = context;
}

void machine_set_aperture_function(struct machine *machine, machine_window_page *function,
                                   void *context)
{
    machine->aperture_function = function;
    machine->aperture_context = context;
}

static uint64_t window_page(const struct machine *machine, uint64_t page)
{
    if (machine->window_function)
        return machine->window_function(machine->window_context, page);
    return machine->window_pages[page];
}

/* Where a range of BAR 1 lies in local memory; false when parts of it lie apart or nowhere. */
static bool find_in_window(const struct machine *machine, uint64_t offset, uint64_t bytes,
                           uint64_t *out_address)
{
    uint64_t page = offset / PAGE_BYTES;
    uint64_t count = bytes_to_pages(offset % PAGE_BYTES + bytes);
    uint64_t first;

    *out_address = offset;
    if (!machine->window_pages && !machine->window_function)
        return true;
    first = window_page(machine, page);
    if (first == UINT64_MAX)
        return false;
    for (uint64_t i = 1; i < count; i++) {
        if (window_page(machine, page + i) != first + i)
            return false;
    }
    *out_address = first * PAGE_BYTES + offset % PAGE_BYTES;
    return true;
}

/* Where a range of the aperture behind it lies in RAM; false when parts lie apart or nowhere. */
static bool find_in_aperture(const struct machine *machine, uint64_t offset, uint64_t bytes,
                             uint64_t *out_address)
{
    machine_window_page *function = machine->aperture_function;
    const uint64_t page = offset / PAGE_BYTES;
    const uint64_t count = bytes_to_pages(offset % PAGE_BYTES + bytes);
    const uint64_t first = function ? function(machine->aperture_context, page) : UINT64_MAX;

    for (uint64_t i = 0; i < count; i++) {
        if (first == UINT64_MAX || function(machine->aperture_context, page + i) != first + i)
            return false;
    }
    *out_address = first * PAGE_BYTES + offset % PAGE_BYTES;
    return true;
}

bool machine_bus_find(struct machine *machine, uint64_t pa, uint64_t bytes,
                      struct machine_target *out_target)
{
    const struct machine_config *config = &machine->config;
    struct machine_target target = {.kind = MACHINE_NOTHING};

    if (is_inside(pa, bytes, 0, config->ram_bytes)) {
        target.kind = MACHINE_RAM;
        target.store = machine->ram;
        target.address = pa;
    } else if (is_inside(pa, bytes, machine_bar1_pa(machine), config->visible_bytes)) {
        if (find_in_window(machine, pa - machine_bar1_pa(machine), bytes, &target.address)) {
            target.kind = MACHINE_LOCAL;
            target.store = machine->local;
        }
    } else if (config->shows_aperture &&
               is_inside(pa, bytes, machine_bar1_pa(machine) + config->visible_bytes,
                         config->aperture_bytes)) {
        if (find_in_aperture(machine, pa - machine_bar1_pa(machine) - config->visible_bytes, bytes,
                             &target.address)) {
            target.kind = MACHINE_RAM;
            target.store = machine->ram;
        }
    } else if (machine->registers &&
               is_inside(pa, bytes, machine_bar0_pa(machine), machine->registers->bytes)) {
        target.kind = MACHINE_REGISTERS;
        target.address = pa - machine_bar0_pa(machine);
    }
    *out_target = target;
    return target.kind != MACHINE_NOTHING;
}

static bool is_register_size(uint64_t bytes)
{
    return bytes <= 8 && is_power_of_two(bytes);
}

bool machine_bus_read(struct machine *machine, uint64_t pa, void *out, uint64_t bytes)
{
    struct machine_target target;
    uint64_t value;

    if (!machine_bus_find(machine, pa, bytes, &target) ||
        (target.kind == MACHINE_REGISTERS && !is_register_size(bytes))) {
        memset(out, 0xff, bytes);
        return false;
    }
    if (target.kind != MACHINE_REGISTERS) {
        page_store_read(target.store, target.address, out, bytes);
        return true;
    }
    value = machine->registers->read(machine->registers_context, target.address, (unsigned)bytes);
    memcpy(out, &value, bytes);
    return true;
}

bool machine_bus_write(struct machine *machine, uint64_t pa, const void *from, uint64_t bytes)
{
    struct machine_target target;
    uint64_t value = 0;

    if (!machine_bus_find(machine, pa, bytes, &target) ||
        (target.kind == MACHINE_REGISTERS && !is_register_size(bytes)))
        return false;
    if (target.kind != MACHINE_REGISTERS) {
        page_store_write(target.store, target.address, from, bytes);
        return true;
    }
    memcpy(&value, from, bytes);
    machine->registers->write(machine->registers_context, target.address, (unsigned)bytes, value);
    return true;
}

/* ---- Registers ------------------------------------------------------------------------------ */

uint64_t machine_register_bytes(const struct machine *machine)
{
    return machine->registers ? machine->registers->bytes : 0;
}

bool machine_set_registers(struct machine *machine, const struct machine_registers *registers,
                           void *context)
{
    void *window = NULL;

    if (registers) {
        window = mmap(NULL, registers->bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (window == MAP_FAILED)
            return false;
    }
    machine_bus_fini(machine);
    machine->registers = registers;
    machine->registers_context = context;
    machine->register_window = window;
    machine->register_window_bytes = registers ? registers->bytes : 0;
    if (!machine->has_own_pci)
        machine_pci_make_default(machine);
    return true;
}

void machine_bus_fini(struct machine *machine)
{
    if (machine->register_window)
        munmap(machine->register_window, machine->register_window_bytes);
    machine->register_window = NULL;
}

bool machine_register_at(const struct machine *machine, const volatile void *pointer,
                         uint64_t *out_offset)
{
    uintptr_t base = (uintptr_t)machine->register_window;
    uintptr_t offset = (uintptr_t)pointer - base;

    *out_offset = 0;
    if (!base || (uintptr_t)pointer < base || offset >= machine->register_window_bytes)
        return false;
    *out_offset = offset;
    return true;
}

uint64_t machine_read_register(struct machine *machine, const volatile void *pointer, unsigned size)
{
    uint64_t offset;

    ASSERT(is_register_size(size));
    if (machine_register_at(machine, pointer, &offset)) {
        const struct machine_deed deed = {
            .kind = MACHINE_DEED_READ, .size = size, .offset = offset};
        const bool is_told = machine_tell_before(machine, &deed);
        const uint64_t value = machine->registers->read(machine->registers_context, offset, size);

        machine_tell_after(machine, is_told, &deed);
        return value;
    }
    switch (size) {
    case 1:
        return *(const volatile uint8_t *)pointer;
    case 2:
        return *(const volatile uint16_t *)pointer;
    case 4:
        return *(const volatile uint32_t *)pointer;
    default:
        return *(const volatile uint64_t *)pointer;
    }
}

void machine_write_register(struct machine *machine, volatile void *pointer, unsigned size,
                            uint64_t value)
{
    uint64_t offset;

    ASSERT(is_register_size(size));
    if (machine_register_at(machine, pointer, &offset)) {
        const struct machine_deed deed = {
            .kind = MACHINE_DEED_WRITE, .size = size, .offset = offset, .value = value};
        const bool is_told = machine_tell_before(machine, &deed);

        machine->registers->write(machine->registers_context, offset, size, value);
        machine_tell_after(machine, is_told, &deed);
        return;
    }
    switch (size) {
    case 1:
        *(volatile uint8_t *)pointer = (uint8_t)value;
        break;
    case 2:
        *(volatile uint16_t *)pointer = (uint16_t)value;
        break;
    case 4:
        *(volatile uint32_t *)pointer = (uint32_t)value;
        break;
    default:
        *(volatile uint64_t *)pointer = value;
        break;
    }
}

/* ---- Mapping -------------------------------------------------------------------------------- */

static uint64_t pages_touched(uint64_t address, uint64_t bytes)
{
    return bytes_to_pages(address % PAGE_BYTES + bytes);
}

void *machine_map_physical(struct machine *machine, uint64_t pa, uint64_t bytes)
{
    struct page_window *window;
    struct machine_target target;
    uint64_t page;
    uint64_t count;

    if (bytes == 0 || !machine_bus_find(machine, pa, bytes, &target))
        return NULL;
    if (target.kind == MACHINE_REGISTERS)
        return machine->register_window + target.address;
    page = target.address / PAGE_BYTES;
    count = pages_touched(target.address, bytes);
    if (count > WINDOW_PAGES) {
        window = page_window_open(target.store, page, count);
    } else {
        /* Neighbours in physical memory are neighbours in the arena most often: no window then. */
        page_store_pin(target.store, page, count);
        if (page_store_is_in_one_piece(target.store, page, count))
            return page_store_shown(target.store, page) + target.address % PAGE_BYTES;
        page_store_unpin(target.store, page, count);
        window = page_window_open_whole(target.store, page, count);
    }
    return window ? page_window_address(window) + target.address % PAGE_BYTES : NULL;
}

void machine_unmap_physical(struct machine *machine, void *pointer, uint64_t bytes)
{
    uint64_t count = pages_touched((uintptr_t)pointer, bytes);
    struct page_window *window = page_window_find(pointer);
    uint64_t page;

    if (window)
        page_window_close(window);
    else if (page_store_find_page(machine->ram, pointer, &page))
        page_store_unpin(machine->ram, page, count);
    else if (machine->local && page_store_find_page(machine->local, pointer, &page))
        page_store_unpin(machine->local, page, count);
}
