/* Machine: pages, bus, mappings, events, interrupts, links. */
#include "machine/machine.h"

#include "base/failing_services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct machine *new_machine(enum machine_scatter scatter, uint64_t seed)
{
    struct machine_config config;
    struct machine *machine;

    machine_config_defaults(&config, seed);
    config.ram_bytes = 64 * MiB;
    config.local_bytes = 32 * MiB;
    config.visible_bytes = 8 * MiB;
    config.scatter = scatter;
    machine = machine_create(base_services_libc(), &config);
    assert_non_null(machine);
    return machine;
}

static void unlawful_configurations_give_null(void **state)
{
    struct machine_config config;

    machine_config_defaults(&config, 1);
    config.ram_bytes = 5 * MiB;
    assert_null(machine_create(base_services_libc(), &config));
    machine_config_defaults(&config, 1);
    config.visible_bytes = config.local_bytes + PAGE_BYTES;
    assert_null(machine_create(base_services_libc(), &config));
    machine_config_defaults(&config, 1);
    config.aperture_bytes = 100;
    assert_null(machine_create(base_services_libc(), &config));
}

static void every_lost_allocation_leaves_nothing_behind(void **state)
{
    struct failing_services memory;
    struct machine_config config;
    struct machine *machine;

    machine_config_defaults(&config, 1);
    for (uint64_t n = 1;; n++) {
        failing_services_init(&memory);
        failing_services_fail_at(&memory, n);
        machine = machine_create(&memory.services, &config);
        assert_true(memory.has_failed == (machine == NULL));
        machine_destroy(machine);
        assert_int_equal(memory.live_blocks, 0);
        if (!memory.has_failed)
            break;
    }
}

static void pages_never_neighbour_and_come_once(enum machine_scatter scatter)
{
    struct machine *machine = new_machine(scatter, 7);
    uint64_t total = machine_free_page_count(machine);
    uint64_t *pfns = calloc(total, sizeof *pfns);
    uint8_t *seen = calloc(total + 1, 1);
    struct rng rng;
    uint64_t held = 0;

    rng_init(&rng, 5);
    assert_int_equal(total, 64 * MiB / PAGE_BYTES - 1);
    for (int round = 0; round < 400; round++) {
        uint64_t count = rng_below(&rng, total / 8);

        if (held + count <= total * 3 / 4 && rng_chance(&rng, 2, 3)) {
            assert_true(machine_alloc_pages(machine, count, pfns + held));
            for (uint64_t i = held; i < held + count; i++) {
                assert_in_range(pfns[i], 1, total);
                assert_int_equal(seen[pfns[i]]++, 0);
                assert_true(machine_page_is_allocated(machine, pfns[i]));
                if (i > held) {
                    assert_int_not_equal(pfns[i], pfns[i - 1] + 1);
                    assert_int_not_equal(pfns[i] + 1, pfns[i - 1]);
                }
            }
            held += count;
        } else if (held) {
            count = rng_below(&rng, held) + 1;
            rng_shuffle_u64(&rng, pfns, held);
            held -= count;
            machine_free_pages(machine, pfns + held, count);
            for (uint64_t i = held; i < held + count; i++)
                seen[pfns[i]]--;
        }
        assert_int_equal(machine_allocated_pages(machine), held);
    }
    assert_false(machine_alloc_pages(machine, total - held + 1, pfns));
    assert_true(machine_alloc_pages(machine, total - held, pfns + held)); /* to the last page */
    machine_free_pages(machine, pfns, total);
    assert_int_equal(machine_allocated_pages(machine), 0);
    free(seen);
    free(pfns);
    machine_destroy(machine);
}

static void scattered_pages_never_neighbour_and_come_once(void **state)
{
    pages_never_neighbour_and_come_once(MACHINE_SCATTERED);
}

static void fragmented_pages_never_neighbour_and_come_once(void **state)
{
    pages_never_neighbour_and_come_once(MACHINE_FRAGMENTED);
}

static void contiguous_machines_hand_out_ascending_pages(void **state)
{
    struct machine *machine = new_machine(MACHINE_CONTIGUOUS, 7);
    uint64_t pfns[1000];

    assert_true(machine_alloc_pages(machine, 1000, pfns));
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(pfns[i], i + 1);
    machine_destroy(machine);
}

static void the_seed_decides_which_pages(void **state)
{
    struct machine *a = new_machine(MACHINE_SCATTERED, 1);
    struct machine *b = new_machine(MACHINE_SCATTERED, 1);
    struct machine *c = new_machine(MACHINE_SCATTERED, 2);
    uint64_t from_a[600], from_b[600], from_c[600];

    assert_true(machine_alloc_pages(a, 600, from_a));
    assert_true(machine_alloc_pages(b, 600, from_b));
    assert_true(machine_alloc_pages(c, 600, from_c));
    assert_memory_equal(from_a, from_b, sizeof from_a);
    assert_memory_not_equal(from_a, from_c, sizeof from_a);
    machine_destroy(a);
    machine_destroy(b);
    machine_destroy(c);
}

static void contiguous_blocks_are_aligned_and_disjoint(void **state)
{
    struct machine *machine = new_machine(MACHINE_SCATTERED, 3);
    uint64_t scattered[2000];
    uint64_t blocks[40];
    uint64_t first;
    uint64_t count = 0;

    assert_true(machine_alloc_pages(machine, 2000, scattered));
    for (; count < 40; count++) {
        if (!machine_alloc_contiguous(machine, 100, 64, &blocks[count]))
            break;
        assert_int_equal(blocks[count] % 64, 0);
        for (uint64_t i = 0; i < count; i++)
            assert_false(ranges_overlap(blocks[i], 100, blocks[count], 100));
        for (uint64_t i = 0; i < 2000; i++)
            assert_false(ranges_overlap(blocks[count], 100, scattered[i], 1));
    }
    assert_true(count >= 8);
    assert_int_equal(machine_allocated_pages(machine), 2000 + 100 * count);
    assert_false(machine_alloc_contiguous(machine, UINT64_C(1) << 40, 1, &first));
    assert_false(machine_alloc_contiguous(machine, 16 * 1024 - 1, 2, &first));
    assert_int_equal(first, 0);
    while (count--)
        machine_free_contiguous(machine, blocks[count], 100);
    machine_free_pages(machine, scattered, 2000);
    assert_int_equal(machine_allocated_pages(machine), 0);
    assert_true(machine_alloc_contiguous(machine, 16 * 1024 - 1, 1, &first)); /* all but page 0 */
    assert_int_equal(first, 1);
    machine_destroy(machine);
}

static void freed_memory_reads_as_freed(void **state)
{
    struct machine *machine = new_machine(MACHINE_SCATTERED, 3);
    uint64_t pfn;

    assert_true(machine_alloc_pages(machine, 1, &pfn));
    page_store_write_tag(machine_ram(machine), pfn * PAGE_BYTES, PAGE_BYTES, 1);
    machine_free_pages(machine, &pfn, 1);
    assert_int_equal(page_store_value(machine_ram(machine), pfn), MACHINE_FREED_PATTERN);
    assert_false(machine_page_is_allocated(machine, pfn));
    assert_false(machine_page_is_allocated(machine, 0));
    assert_false(machine_page_is_allocated(machine, UINT64_MAX));
    machine_destroy(machine);
}

static void freed_regions_cost_no_descriptors(void **state)
{
    struct machine *machine = new_machine(MACHINE_SCATTERED, 3);
    uint64_t total = machine_free_page_count(machine);
    uint64_t *pfns = calloc(total, sizeof *pfns);
    struct page_store_usage used, freed;

    assert_true(machine_alloc_pages(machine, total, pfns));
    for (uint64_t i = 0; i < total; i++)
        page_store_write_tag(machine_ram(machine), pfns[i] * PAGE_BYTES, PAGE_BYTES, i);
    page_store_usage(machine_ram(machine), &used);
    machine_free_pages(machine, pfns, total);
    page_store_usage(machine_ram(machine), &freed);
    assert_true(freed.descriptor_bytes < used.descriptor_bytes / 8); /* page 0 is nobody's */
    free(pfns);
    machine_destroy(machine);
}

/* ---- Bus ------------------------------------------------------------------------------------- */

struct device {
    uint64_t last_offset;
    unsigned last_size;
    uint64_t last_value;
};

static uint64_t device_read(void *context, uint64_t offset, unsigned size)
{
    struct device *device = context;

    device->last_offset = offset;
    device->last_size = size;
    return UINT64_C(0x1122334455667788);
}

static void device_write(void *context, uint64_t offset, unsigned size, uint64_t value)
{
    struct device *device = context;

    device->last_offset = offset;
    device->last_size = size;
    device->last_value = value;
}

static const struct machine_registers device_registers = {
    .bytes = 0x4000,
    .read = device_read,
    .write = device_write,
};

static void the_bus_finds_ram_registers_and_local_memory(void **state)
{
    struct machine *machine = new_machine(MACHINE_SCATTERED, 3);
    uint64_t bar0 = machine_bar0_pa(machine);
    uint64_t bar1 = machine_bar1_pa(machine);
    struct machine_target target;
    struct device device = {0};
    uint32_t value = 5;

    assert_false(machine_bus_find(machine, bar0, 4, &target));
    assert_true(machine_set_registers(machine, &device_registers, &device));
    assert_true(machine_bus_find(machine, 64 * MiB - 1, 1, &target));
    assert_int_equal(target.kind, MACHINE_RAM);
    assert_false(machine_bus_find(machine, 64 * MiB - 1, 2, &target));
    assert_true(machine_bus_find(machine, bar1 + 8 * MiB - 8, 8, &target));
    assert_int_equal(target.kind, MACHINE_LOCAL);
    assert_int_equal(target.address, 8 * MiB - 8);
    assert_false(machine_bus_find(machine, bar1 + 8 * MiB, 1, &target));
    assert_false(machine_bus_find(machine, UINT64_MAX, 1, &target));

    assert_true(machine_bus_write(machine, bar1 + 12, &value, 4));
    value = 0;
    page_store_read(machine_local(machine), 12, &value, 4);
    assert_int_equal(value, 5);
    assert_true(machine_bus_write(machine, bar0 + 0x20, &value, 4));
    assert_int_equal(device.last_offset, 0x20);
    assert_int_equal(device.last_size, 4);
    assert_int_equal(device.last_value, 5);
    assert_true(machine_bus_read(machine, bar0 + 0x24, &value, 4));
    assert_int_equal(value, 0x55667788);
    assert_false(machine_bus_read(machine, bar0, &value, 3));
    assert_false(machine_bus_read(machine, bar1 - 8, &value, 4));
    assert_int_equal(value, UINT32_MAX);
    machine_destroy(machine);
}

static void mappings_show_memory_and_recognise_registers(void **state)
{
    struct machine *machine = new_machine(MACHINE_SCATTERED, 3);
    uint64_t bar0 = machine_bar0_pa(machine);
    uint64_t bar1 = machine_bar1_pa(machine);
    struct device device = {0};
    struct page_store_usage usage;
    uint64_t offset;
    uint8_t *local;
    uint8_t *ram;
    uint8_t *registers;

    assert_true(machine_set_registers(machine, &device_registers, &device));
    local = machine_map_physical(machine, bar1 + 0x1ff0, 0x20); /* two pages */
    ram = machine_map_physical(machine, 0x5000, 0x1000);
    registers = machine_map_physical(machine, bar0 + 0x100, 0x100);
    assert_non_null(local);
    assert_non_null(ram);
    assert_null(machine_map_physical(machine, bar1 - 0x1000, 0x1000));
    page_store_usage(machine_local(machine), &usage);
    assert_int_equal(usage.pinned_pages, 2);

    memset(local, 0x77, 0x20);
    page_store_read(machine_local(machine), 0x2008, &offset, 8);
    assert_int_equal(offset, UINT64_C(0x7777777777777777));
    assert_true(machine_register_at(machine, registers + 8, &offset));
    assert_int_equal(offset, 0x108);
    assert_false(machine_register_at(machine, local, &offset));
    machine_write_register(machine, registers + 8, 8, 9);
    assert_int_equal(device.last_offset, 0x108);
    assert_int_equal(machine_read_register(machine, registers, 8), UINT64_C(0x1122334455667788));
    machine_write_register(machine, ram + 4, 2, 0xabcd);
    assert_int_equal(machine_read_register(machine, ram + 4, 4), 0xabcd);

    machine_unmap_physical(machine, local, 0x20);
    machine_unmap_physical(machine, ram, 0x1000);
    machine_unmap_physical(machine, registers, 0x100);
    page_store_usage(machine_local(machine), &usage);
    assert_int_equal(usage.pinned_pages, 0);
    machine_destroy(machine);
}

/* ---- Time ------------------------------------------------------------------------------------ */

struct log {
    struct machine *machine;
    struct machine_event event;
    int number;
    int repeats;
    int *count;
    int *order;
};

static void note(void *context)
{
    struct log *log = context;

    log->order[(*log->count)++] = log->number;
    if (log->repeats-- > 0)
        machine_schedule(log->machine, &log->event, machine_now(log->machine) + 10, note, log);
}

static void events_run_by_time_and_then_in_order(void **state)
{
    struct machine *machine = new_machine(MACHINE_SCATTERED, 3);
    static const uint64_t times[] = {50, 20, 50, 0, 20, 70};
    static const int expected[] = {3, 1, 4, 0, 2, 0, 0};
    int order[16];
    int count = 0;
    struct log logs[6] = {0};

    for (int i = 0; i < 6; i++) {
        logs[i] = (struct log){.machine = machine, .number = i, .count = &count, .order = order};
        machine_schedule(machine, &logs[i].event, times[i], note, &logs[i]);
    }
    logs[0].repeats = 2;
    machine_cancel(machine, &logs[5].event);
    machine_cancel(machine, &logs[5].event);
    assert_int_equal(machine_next_event_time(machine), 0);
    while (machine_run_next(machine))
        ;
    assert_int_equal(count, 7);
    assert_memory_equal(order, expected, sizeof expected);
    assert_int_equal(machine_now(machine), 70);
    assert_int_equal(machine_next_event_time(machine), UINT64_MAX);
    machine_run_until(machine, 1000);
    assert_int_equal(machine_now(machine), 1000);
    machine_schedule(machine, &logs[1].event, 5, note, &logs[1]); /* the past is now */
    assert_true(machine_run_next(machine));
    assert_int_equal(machine_now(machine), 1000);
    machine_destroy(machine);
}

/* One of them lay on a stack that is gone. */
static void forgotten_events_are_not_looked_at(void **state)
{
    struct machine *machine = new_machine(MACHINE_SCATTERED, 3);
    struct log *gone = calloc(1, sizeof *gone);
    int order[1], count = 0;
    struct log log = {.machine = machine, .count = &count, .order = order};

    assert_non_null(gone);
    *gone = log;
    machine_schedule(machine, &gone->event, 10, note, gone);
    machine_schedule(machine, &log.event, 20, note, &log);
    memset(gone, 0xa5, sizeof *gone);
    free(gone);
    machine_forget_events(machine);
    machine_cancel(machine, &log.event);
    assert_false(machine_run_next(machine));
    assert_int_equal(count, 0);
    machine_destroy(machine);
}

struct line {
    struct machine *machine;
    int calls;
    int lower_at;
};

static void on_interrupt(void *context)
{
    struct line *line = context;

    if (++line->calls == line->lower_at)
        machine_set_interrupt_line(line->machine, false);
}

static void the_line_is_delivered_until_it_falls(void **state)
{
    struct machine *machine = new_machine(MACHINE_SCATTERED, 3);
    struct line line = {.machine = machine, .lower_at = 3};

    machine_set_interrupt_line(machine, true); /* before there is a handler */
    machine_set_interrupt_handler(machine, on_interrupt, &line);
    while (machine_run_next(machine))
        ;
    assert_int_equal(line.calls, 3);
    assert_int_equal(machine_now(machine), 3 * 2000);
    machine_set_interrupt_line(machine, true);
    machine_set_interrupt_line(machine, false);
    assert_false(machine_run_next(machine));
    assert_int_equal(machine_interrupt_count(machine), 3);
    machine_destroy(machine);
}

static void a_line_that_nobody_lowers_is_lost_not_endless(void **state)
{
    struct machine *machine = new_machine(MACHINE_SCATTERED, 3);
    struct line line = {.machine = machine};

    machine_set_interrupt_handler(machine, on_interrupt, &line);
    machine_set_interrupt_line(machine, true);
    while (machine_run_next(machine))
        ;
    assert_int_equal(line.calls, MACHINE_INTERRUPT_STORM);
    assert_int_equal(machine_interrupt_storm_count(machine), 1);
    machine_set_interrupt_line(machine, false);
    line = (struct line){.machine = machine, .lower_at = 1};
    machine_set_interrupt_line(machine, true);
    while (machine_run_next(machine))
        ;
    assert_int_equal(line.calls, 1);
    machine_destroy(machine);
}

static void a_link_carries_one_transfer_after_another(void **state)
{
    struct machine_link link = {.bytes_per_second = 1000000000, .latency_ns = 7};

    assert_int_equal(machine_link_occupy(&link, 100, 50), 157);
    assert_int_equal(machine_link_occupy(&link, 120, 50), 207); /* waits until 150 */
    assert_int_equal(machine_link_occupy(&link, 1000, 1 * TiB), 1000 + 1 * TiB + 7);
    assert_int_equal(link.carried_bytes, 1 * TiB + 100);
}

static void jitter_is_bounded_and_seeded(void **state)
{
    struct machine_config config;
    struct machine *machine;
    uint64_t highest = 0;

    machine_config_defaults(&config, 3);
    config.jitter_ns = 100;
    machine = machine_create(base_services_libc(), &config);
    for (int i = 0; i < 1000; i++)
        highest = max_u64(highest, machine_jitter(machine));
    assert_int_equal(highest, 100);
    machine_destroy(machine);
    machine = new_machine(MACHINE_SCATTERED, 3);
    assert_int_equal(machine_jitter(machine), 0);
    machine_destroy(machine);
}

static void the_digest_depends_on_values_and_order(void **state)
{
    struct machine *a = new_machine(MACHINE_SCATTERED, 1);
    struct machine *b = new_machine(MACHINE_SCATTERED, 1);

    machine_digest_add(a, 1);
    machine_digest_add(a, 2);
    machine_digest_add(b, 2);
    machine_digest_add(b, 1);
    assert_int_not_equal(machine_digest(a), machine_digest(b));
    machine_destroy(a);
    machine_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unlawful_configurations_give_null),
        cmocka_unit_test(every_lost_allocation_leaves_nothing_behind),
        cmocka_unit_test(scattered_pages_never_neighbour_and_come_once),
        cmocka_unit_test(fragmented_pages_never_neighbour_and_come_once),
        cmocka_unit_test(contiguous_machines_hand_out_ascending_pages),
        cmocka_unit_test(the_seed_decides_which_pages),
        cmocka_unit_test(contiguous_blocks_are_aligned_and_disjoint),
        cmocka_unit_test(freed_memory_reads_as_freed),
        cmocka_unit_test(freed_regions_cost_no_descriptors),
        cmocka_unit_test(the_bus_finds_ram_registers_and_local_memory),
        cmocka_unit_test(mappings_show_memory_and_recognise_registers),
        cmocka_unit_test(events_run_by_time_and_then_in_order),
        cmocka_unit_test(forgotten_events_are_not_looked_at),
        cmocka_unit_test(the_line_is_delivered_until_it_falls),
        cmocka_unit_test(a_line_that_nobody_lowers_is_lost_not_endless),
        cmocka_unit_test(a_link_carries_one_transfer_after_another),
        cmocka_unit_test(jitter_is_bounded_and_seeded),
        cmocka_unit_test(the_digest_depends_on_values_and_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
