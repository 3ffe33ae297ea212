#include "bench/board/foreign_registers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct machine *make_machine(void)
{
    struct machine_config config;
    struct machine *machine;

    machine_config_defaults(&config, 1);
    machine = machine_create(base_services_libc(), &config);
    assert_non_null(machine);
    return machine;
}

static struct foreign_registers *open_registers(struct machine *machine, const char *words)
{
    struct foreign_registers *registers;

    assert_null(foreign_registers_open(base_services_libc(), machine, words, &registers));
    return registers;
}

static uint64_t read_at(struct machine *machine, uint64_t pa, unsigned size)
{
    uint64_t value = 0;

    machine_bus_read(machine, pa, &value, size);
    return value;
}

static void write_at(struct machine *machine, uint64_t pa, uint64_t value, unsigned size)
{
    assert_true(machine_bus_write(machine, pa, &value, size));
}

static void registers_remember_what_was_written(void **state)
{
    struct machine *machine = make_machine();
    struct foreign_registers *registers = open_registers(machine, NULL);
    const uint64_t bar = machine_bar0_pa(machine);

    assert_int_equal(machine_register_bytes(machine), FOREIGN_REGISTER_BYTES);
    assert_int_equal(read_at(machine, bar + 0x40, 4), 0);
    write_at(machine, bar + 0x40, 0x1122334455667788, 8);
    assert_int_equal(read_at(machine, bar + 0x40, 8), 0x1122334455667788);
    assert_int_equal(read_at(machine, bar + 0x44, 4), 0x11223344);
    write_at(machine, bar + 0x41, 0xab, 1);
    assert_int_equal(read_at(machine, bar + 0x40, 4), 0x5566ab88);
    write_at(machine, bar + FOREIGN_REGISTER_BYTES - 2, 0xbeef, 2);
    assert_int_equal(read_at(machine, bar + FOREIGN_REGISTER_BYTES - 2, 2), 0xbeef);
    write_at(machine, bar + 0xfff, 0x1234, 2); /* crosses an end: nothing beside it changes */
    assert_int_equal(read_at(machine, bar + 0x1000, 4), 0);
    assert_int_equal(read_at(machine, bar + 0xffe, 2), 0x1234);
    foreign_registers_close(registers);
    assert_int_equal(machine_register_bytes(machine), 0);
    machine_destroy(machine);
}

static void ones_keep_nothing(void **state)
{
    struct machine *machine = make_machine();
    struct foreign_registers *registers = open_registers(machine, "registers=ones");
    const uint64_t bar = machine_bar0_pa(machine);

    write_at(machine, bar + 8, 0, 4);
    assert_int_equal(read_at(machine, bar + 8, 4), UINT32_MAX);
    assert_int_equal(read_at(machine, bar + 8, 8), UINT64_MAX);
    foreign_registers_close(registers);
    machine_destroy(machine);
}

static void words_say_what_the_board_is(void **state)
{
    struct machine *machine = make_machine();
    struct foreign_registers *registers = open_registers(
        machine, "pci:vendor=0x8086,pci:device=0x5690,pci:subsystem-vendor=1,pci:subsystem=2,"
                 "pci:revision=8,pci:class=0x038000,pci:messages=4,bar:0=16M,bar:4=32M,"
                 "register:0x40=7,register:0x2fffffc=9,value:Ignored=1");
    const struct machine_pci *pci = machine_pci(machine);
    uint32_t word;

    assert_int_equal(pci->vendor_id, 0x8086);
    assert_int_equal(pci->device_id, 0x5690);
    assert_int_equal(pci->subsystem_vendor_id, 1);
    assert_int_equal(pci->subsystem_id, 2);
    assert_int_equal(pci->revision, 8);
    assert_int_equal(pci->class_code, 0x038000);
    assert_int_equal(pci->message_count, 4);
    assert_int_equal(pci->bars[0].bytes, 16 << 20);
    assert_int_equal(pci->bars[4].bytes, 32 << 20);
    assert_int_equal(pci->bars[4].pa, machine_bar0_pa(machine) + (32 << 20));
    assert_int_equal(pci->bars[2].pa, machine_bar1_pa(machine));
    assert_int_equal(read_at(machine, pci->bars[0].pa + 0x40, 4), 7);
    assert_int_equal(read_at(machine, pci->bars[4].pa + 0xfffffc, 4), 9);
    assert_int_equal(machine_pci_read(machine, 0, &word, 4), 4);
    assert_int_equal(word, 0x56908086);
    foreign_registers_close(registers);
    assert_int_equal(machine_pci(machine)->vendor_id, MACHINE_PCI_NO_VENDOR);
    machine_destroy(machine);
}

static void other_memory_lies_behind_the_base_addresses(void **state)
{
    struct machine *machine = make_machine();
    struct foreign_registers *registers = open_registers(
        machine, "memory:3=64K,bar:0=4K,memory:0=4M,register:0x400000=5,register:0x800004=6");
    const struct machine_pci *pci = machine_pci(machine);
    const uint64_t base = machine_bar0_pa(machine);

    assert_int_equal(pci->others[0].bytes, 4 << 20);
    assert_int_equal(pci->others[0].pa, base + (4 << 20)); /* at a multiple of its size */
    assert_int_equal(pci->others[3].pa, base + (8 << 20));
    assert_int_equal(pci->others[1].bytes + pci->others[2].bytes + pci->bars[4].bytes, 0);
    assert_int_equal(read_at(machine, pci->others[0].pa, 4), 5);
    assert_int_equal(read_at(machine, pci->others[3].pa + 4, 4), 6);
    write_at(machine, pci->others[3].pa + 0xfffc, 8, 4);
    assert_int_equal(read_at(machine, pci->others[3].pa + 0xfffc, 4), 8);
    foreign_registers_close(registers);
    assert_non_null(foreign_registers_open(base_services_libc(), machine,
                                           "memory:0=64M,memory:1=64M", &registers));
    machine_destroy(machine);
}

static void a_register_behind_the_end_is_refused(void **state)
{
    struct machine *machine = make_machine();
    struct foreign_registers *registers;

    assert_non_null(strstr(
        foreign_registers_open(base_services_libc(), machine, "register:0x100000=1", &registers),
        "behind the end"));
    assert_null(registers);
    registers = open_registers(machine, "bar:0=0");
    assert_int_equal(machine_register_bytes(machine), 0);
    assert_int_equal(machine_pci(machine)->bars[0].bytes, 0);
    foreign_registers_close(registers);
    machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_remember_what_was_written),
        cmocka_unit_test(ones_keep_nothing),
        cmocka_unit_test(words_say_what_the_board_is),
        cmocka_unit_test(other_memory_lies_behind_the_base_addresses),
        cmocka_unit_test(a_register_behind_the_end_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
