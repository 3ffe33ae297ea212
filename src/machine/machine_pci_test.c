/*
 * The PCI function: what a driver that looks for its device reads.
 */
#include "machine/machine.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define REGISTER_BYTES UINT64_C(0x4000)

static uint64_t read_nothing(void *context, uint64_t offset, unsigned size)
{
    return 0;
}

static void write_nothing(void *context, uint64_t offset, unsigned size, uint64_t value)
{
}

static const struct machine_registers registers = {REGISTER_BYTES, read_nothing, write_nothing};

static struct machine *new_machine_with(uint64_t visible_bytes)
{
    struct machine_config config;
    struct machine *machine;

    machine_config_defaults(&config, 1);
    config.local_bytes = visible_bytes + 6 * MiB;
    config.visible_bytes = visible_bytes;
    machine = machine_create(base_services_libc(), &config);
    assert_non_null(machine);
    return machine;
}

static struct machine *new_machine(void)
{
    return new_machine_with(2 * MiB);
}

static uint32_t read_at(const struct machine *machine, uint32_t offset, uint32_t bytes)
{
    uint32_t value = 0;

    assert_int_equal(machine_pci_read(machine, offset, &value, bytes), bytes);
    return value;
}

static void write_at(struct machine *machine, uint32_t offset, uint32_t value)
{
    assert_int_equal(machine_pci_write(machine, offset, &value, 4), 4);
}

static uint64_t bar(const struct machine *machine, unsigned number)
{
    return read_at(machine, 0x10 + 4 * number, 4) | (uint64_t)read_at(machine, 0x14 + 4 * number, 4)
                                                        << 32;
}

static void a_machine_has_registers_and_a_window(void **state)
{
    struct machine *machine = new_machine();

    assert_int_equal(bar(machine, 0), 0); /* no registers yet */
    assert_true(machine_set_registers(machine, &registers, NULL));
    assert_int_equal(read_at(machine, 0, 2), MACHINE_PCI_NO_VENDOR);
    assert_int_equal(read_at(machine, 2, 2), MACHINE_PCI_NO_DEVICE);
    assert_int_equal(read_at(machine, 8, 4) >> 8, 0x030000);
    assert_int_equal(read_at(machine, 0x0e, 1), 0); /* a header of type 0 */
    assert_int_equal(read_at(machine, 6, 2) & 0x10, 0);
    assert_int_equal(read_at(machine, 0x3d, 1), 1);
    assert_int_equal(bar(machine, 0), machine_bar0_pa(machine) | 0x4);
    assert_int_equal(bar(machine, 2), machine_bar1_pa(machine) | 0xc);
    assert_int_equal(bar(machine, 4), 0);
    machine_destroy(machine);
}

static void sizing_a_base_address_moves_nothing(void **state)
{
    struct machine *machine = new_machine();
    uint64_t was;

    assert_true(machine_set_registers(machine, &registers, NULL));
    was = bar(machine, 0);
    write_at(machine, 0x10, UINT32_MAX);
    write_at(machine, 0x14, UINT32_MAX);
    assert_int_equal(bar(machine, 0), ~(REGISTER_BYTES - 1) | 0x4);
    assert_int_equal(machine_pci(machine)->bars[0].pa, machine_bar0_pa(machine));
    write_at(machine, 0x10, (uint32_t)was);
    write_at(machine, 0x14, (uint32_t)(was >> 32));
    assert_int_equal(bar(machine, 0), was);
    write_at(machine, 0x20, UINT32_MAX); /* there is no fifth */
    assert_int_equal(bar(machine, 4), 0);
    machine_destroy(machine);
}

static void what_is_read_only_stays(void **state)
{
    struct machine *machine = new_machine();

    write_at(machine, 0, 0xdeadbeef);
    assert_int_equal(read_at(machine, 0, 2), MACHINE_PCI_NO_VENDOR);
    write_at(machine, 4, UINT32_MAX);
    assert_int_equal(read_at(machine, 4, 2), 0x0547);
    assert_int_equal(read_at(machine, 6, 2), 0);
    write_at(machine, 0x3c, 0x01020305);
    assert_int_equal(read_at(machine, 0x3c, 2), 0x0105);
    write_at(machine, 0x80, 0xdeadbeef); /* the board's own */
    assert_int_equal(read_at(machine, 0x80, 4), 0xdeadbeef);
    machine_destroy(machine);
}

static void there_are_4096_bytes_and_no_more(void **state)
{
    struct machine *machine = new_machine();
    uint8_t bytes[8] = {0};

    assert_int_equal(machine_pci_read(machine, 4092, bytes, 8), 4);
    assert_int_equal(machine_pci_write(machine, 4092, bytes, 8), 4);
    assert_int_equal(machine_pci_read(machine, 4096, bytes, 1), 0);
    assert_int_equal(machine_pci_read(machine, UINT32_MAX, bytes, UINT32_MAX), 0);
    machine_destroy(machine);
}

static void a_board_of_its_own_shows_its_capabilities(void **state)
{
    static const uint8_t capabilities[] = {0x09, 0x00, 0x08, 0xaa, 1, 2, 3, 4};
    struct machine *machine = new_machine();
    struct machine_pci pci = machine_pci_nameless();

    assert_true(machine_set_registers(machine, &registers, NULL));
    pci.vendor_id = 0x1af4;
    pci.message_count = 3;
    pci.bars[4] = (struct machine_pci_bar){REGISTER_BYTES, machine_bar0_pa(machine), false};
    assert_true(machine_set_pci(machine, &pci));
    assert_int_equal(read_at(machine, 0, 2), 0x1af4);
    assert_int_equal(bar(machine, 0), 0);
    assert_int_equal(bar(machine, 4), machine_bar0_pa(machine) | 0x4);
    assert_int_equal(read_at(machine, 6, 2) & 0x10, 0x10);
    assert_int_equal(read_at(machine, 0x34, 1), 0x40);
    assert_int_equal(read_at(machine, 0x40, 2), 0x0005);     /* MSI, the last */
    assert_int_equal(read_at(machine, 0x42, 2) >> 1 & 7, 2); /* of four messages */

    pci.capabilities = capabilities;
    pci.capability_bytes = sizeof capabilities;
    assert_true(machine_set_pci(machine, &pci));
    assert_int_equal(read_at(machine, 0x40, 4), 0xaa080009);
    assert_true(machine_set_registers(machine, &registers, NULL)); /* stays what it is */
    assert_int_equal(read_at(machine, 0, 2), 0x1af4);
    assert_true(machine_set_pci(machine, NULL));
    assert_int_equal(read_at(machine, 0, 2), MACHINE_PCI_NO_VENDOR);
    machine_destroy(machine);
}

static void what_does_not_fit_is_refused(void **state)
{
    struct machine *machine = new_machine();
    struct machine_pci pci = machine_pci_nameless();

    pci.bars[5] = (struct machine_pci_bar){4096, machine_bar0_pa(machine), false};
    assert_false(machine_set_pci(machine, &pci)); /* its upper half is nowhere */
    pci.bars[5].bytes = 0;
    pci.bars[0] = (struct machine_pci_bar){4096, machine_bar0_pa(machine), false};
    pci.bars[1] = (struct machine_pci_bar){4096, machine_bar0_pa(machine) + 4096, false};
    assert_false(machine_set_pci(machine, &pci));
    pci.bars[1].bytes = 0;
    assert_true(machine_set_pci(machine, &pci));
    pci.bars[0].bytes = 8192;
    pci.bars[0].pa += 4096;
    assert_false(machine_set_pci(machine, &pci));
    pci.bars[0].bytes = 0;
    pci.capability_bytes = MACHINE_PCI_SPACE_BYTES;
    assert_false(machine_set_pci(machine, &pci));
    machine_destroy(machine);
}

static enum machine_target_kind answerer(struct machine *machine, uint64_t pa)
{
    struct machine_target target = {.kind = MACHINE_NOTHING};

    machine_bus_find(machine, pa, 4, &target);
    return target.kind;
}

/* Where it is asked to; not over RAM, over each other, or beside a multiple of their size. */
static void base_addresses_may_be_chosen(void **state)
{
    static const struct {
        uint64_t registers, window;
        bool is_lawful;
    } cases[] = {
        {0xe0000000, 0, true},           {0, 0xe0000000, true},
        {0xe0000000, 0x80000000, true},  {0xe0000000, 0xe0000000, false},
        {0xe8000000, 0xe0000000, false}, {0xf0000000, 0xe0000000, true},
        {0x40000000, 0, false},          {0, 0x70000000, false},
        {0xe1000000, 0, false},          {0, 0xe8000000, false},
        {1ull << 52, 0, false},          {0, UINT64_MAX - 256 * MiB + 1, false},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct machine_config config;
        struct machine *machine;

        machine_config_defaults(&config, 1);
        config.ram_bytes = 2 * GiB;
        config.local_bytes = config.visible_bytes = 256 * MiB;
        config.registers_pa = cases[i].registers;
        config.window_pa = cases[i].window;
        machine = machine_create(base_services_libc(), &config);
        assert_int_equal(machine != NULL, cases[i].is_lawful);
        if (!machine)
            continue;
        assert_true(machine_set_registers(machine, &registers, NULL));
        if (cases[i].registers)
            assert_int_equal(bar(machine, 0), cases[i].registers | 0x4);
        if (cases[i].window)
            assert_int_equal(bar(machine, 2), cases[i].window | 0xc);
        assert_int_equal(answerer(machine, machine_bar1_pa(machine)), MACHINE_LOCAL);
        assert_int_equal(answerer(machine, machine_bar0_pa(machine)), MACHINE_REGISTERS);
        assert_int_equal(answerer(machine, 0), MACHINE_RAM);
        machine_destroy(machine);
    }
}

/* A base address says a power of two, at a multiple of itself. */
static void a_window_of_gigabytes_lies_at_a_multiple_of_its_size(void **state)
{
    struct machine *machine = new_machine_with(9 * GiB);
    struct machine_pci pci = machine_pci_nameless();

    assert_int_equal(machine_bar1_pa(machine) % (16 * GiB), 0);
    assert_true(machine_bar1_pa(machine) >= machine_bar0_pa(machine) + 4 * GiB);
    pci.bars[0] = (struct machine_pci_bar){9 * GiB, machine_bar1_pa(machine), true};
    assert_true(machine_set_pci(machine, &pci));
    write_at(machine, 0x10, UINT32_MAX);
    write_at(machine, 0x14, UINT32_MAX);
    assert_int_equal(bar(machine, 0), ~(16 * GiB - 1) | 0xc);
    machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_has_registers_and_a_window),
        cmocka_unit_test(sizing_a_base_address_moves_nothing),
        cmocka_unit_test(what_is_read_only_stays),
        cmocka_unit_test(there_are_4096_bytes_and_no_more),
        cmocka_unit_test(a_board_of_its_own_shows_its_capabilities),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(base_addresses_may_be_chosen),
        cmocka_unit_test(a_window_of_gigabytes_lies_at_a_multiple_of_its_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
