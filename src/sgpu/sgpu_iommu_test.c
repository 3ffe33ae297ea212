/*
 * System memory through the IOMMU: addresses of processes, logical addresses, and what nothing
 * answers.
 */
#include "sgpu/test_rig.h"

#include "base/bits.h"

#define VA UINT64_C(0x7f0012340000)

/* A process's space with count pages from VA on, of which the first holds the commands so far. */
static uint32_t make_space(struct rig *rig, const uint64_t *pfns, uint64_t count)
{
    uint32_t pasid;

    assert_true(machine_iommu_space_create(machine_iommu(rig->machine), &pasid));
    assert_true(
        machine_iommu_map(machine_iommu(rig->machine), pasid, VA / PAGE_BYTES, count, pfns));
    return pasid;
}

static uint32_t submit_for(struct rig *rig, uint32_t pasid)
{
    return rig_submit_at(rig, SGPU_NODE_COPY, VA, pasid, rig->used, SGPU_SUBMIT_PASID);
}

static void commands_and_data_are_found_at_addresses_of_the_process(void **state)
{
    uint64_t pfns[3];
    struct rig rig;
    uint32_t pasid;

    rig_init(&rig);
    pfns[0] = rig.command_base / PAGE_BYTES;
    assert_true(machine_alloc_pages(rig.machine, 2, pfns + 1));
    pasid = make_space(&rig, pfns, 3);
    rig_fill(&rig, VA + PAGE_BYTES, 2 * PAGE_BYTES, 0x77);
    rig_expect_done(&rig, SGPU_NODE_COPY, submit_for(&rig, pasid));
    assert_int_equal(page_store_value(rig.ram, pfns[1]), 0x77);
    assert_int_equal(page_store_value(rig.ram, pfns[2]), 0x77);
    rig_fini(&rig);
}

static void what_the_process_has_not_mapped_faults_at_its_address(void **state)
{
    uint64_t pfn;
    struct rig rig;
    uint32_t pasid;

    rig_init(&rig);
    pfn = rig.command_base / PAGE_BYTES;
    pasid = make_space(&rig, &pfn, 1);
    rig_fill(&rig, VA + PAGE_BYTES, PAGE_BYTES, 1);
    rig_expect_fault_at(&rig, SGPU_NODE_COPY, submit_for(&rig, pasid), SGPU_FAULT_NOT_VALID,
                        VA + PAGE_BYTES);
    rig_fini(&rig);
}

static void a_page_is_out_of_reach_as_soon_as_it_is_unmapped(void **state)
{
    uint64_t pfns[2];
    struct rig rig;
    uint32_t pasid;

    rig_init(&rig);
    pfns[0] = rig.command_base / PAGE_BYTES;
    assert_true(machine_alloc_pages(rig.machine, 1, pfns + 1));
    pasid = make_space(&rig, pfns, 2);
    rig_fill(&rig, VA + PAGE_BYTES, PAGE_BYTES, 5);
    rig_expect_done(&rig, SGPU_NODE_COPY, submit_for(&rig, pasid));
    machine_iommu_unmap(machine_iommu(rig.machine), pasid, VA / PAGE_BYTES + 1, 1);
    rig_expect_fault_at(&rig, SGPU_NODE_COPY, submit_for(&rig, pasid), SGPU_FAULT_NOT_VALID,
                        VA + PAGE_BYTES);
    rig_fini(&rig);
}

static void behind_a_remapping_iommu_only_logical_pages_answer(void **state)
{
    const uint64_t logical = UINT64_C(1) << 33;
    struct machine_iommu *iommu;
    uint64_t pfns[2], pages[2] = {logical + 1, logical};
    struct rig rig;

    rig_init(&rig);
    iommu = machine_iommu(rig.machine);
    assert_true(machine_alloc_pages(rig.machine, 2, pfns));
    /* The commands stay where they are in physical memory. */
    for (uint64_t i = 0; i < RIG_COMMAND_PAGES; i++) {
        uint64_t page = rig.command_base / PAGE_BYTES + i;

        assert_true(machine_iommu_map(iommu, MACHINE_NO_PASID, page, 1, &page));
    }
    assert_true(machine_iommu_map(iommu, MACHINE_NO_PASID, logical, 2, pfns));
    machine_iommu_set_remapping(iommu, true);

    /* By address, by slot and by list. */
    rig_fill(&rig, SGPU_PA_SYSTEM | logical * PAGE_BYTES, PAGE_BYTES, 0x11);
    rig_gart(&rig, SGPU_OP_GART_WRITE, 0, 3, 2, pages);
    rig_fill(&rig, SGPU_PA_APERTURE + 3 * PAGE_BYTES, PAGE_BYTES, 0x22);
    rig_copy_pages(&rig, 0, 0, pages, 2);
    rig_execute(&rig, SGPU_NODE_COPY);
    assert_int_equal(page_store_value(rig.ram, pfns[0]), 0x11);
    assert_int_equal(page_store_value(rig.ram, pfns[1]), 0x22);
    assert_int_equal(page_store_value(rig.local, 0), 0x22);
    assert_int_equal(page_store_value(rig.local, 1), 0x11);

    rig_fill(&rig, SGPU_PA_SYSTEM | pfns[0] * PAGE_BYTES, PAGE_BYTES, 1);
    rig_expect_fault(&rig, SGPU_NODE_COPY, SGPU_FAULT_BUS, SGPU_PA_SYSTEM | pfns[0] * PAGE_BYTES);
    rig_fini(&rig);
}

/* The page behind the last of RAM has a logical address as well, right behind the last one's. */
static void a_logical_run_ends_with_the_ram(void **state)
{
    const uint64_t logical = UINT64_C(1) << 33;
    struct machine_iommu *iommu;
    uint64_t pfns[2];
    struct rig rig;
    uint32_t pasid;

    rig_init(&rig);
    iommu = machine_iommu(rig.machine);
    pasid = make_space(&rig, &(uint64_t){rig.command_base / PAGE_BYTES}, 1);
    pfns[0] = page_store_page_count(rig.ram) - 1;
    pfns[1] = pfns[0] + 1;
    assert_true(machine_iommu_map(iommu, pasid, logical, 2, pfns));
    rig_fill(&rig, logical * PAGE_BYTES, 2 * PAGE_BYTES, 0x22);
    rig_expect_fault_at(&rig, SGPU_NODE_COPY, submit_for(&rig, pasid), SGPU_FAULT_NOT_VALID,
                        (logical + 1) * PAGE_BYTES);
    assert_int_equal(page_store_value(rig.ram, pfns[0]), 0x22);
    rig_fini(&rig);
}

static void the_agp_window_begins_at_its_first_byte(void **state)
{
    struct rig rig;
    uint64_t pfn;

    rig_init(&rig);
    assert_true(machine_alloc_pages(rig.machine, 1, &pfn));
    assert_true(machine_iommu_map(machine_iommu(rig.machine), MACHINE_AGP, 0, 1, &pfn));
    rig_fill(&rig, SGPU_PA_SYSTEM | MACHINE_AGP_BASE, PAGE_BYTES, 0x33);
    rig_execute(&rig, SGPU_NODE_COPY);
    assert_int_equal(page_store_value(rig.ram, pfn), 0x33);
    rig_fill(&rig, SGPU_PA_SYSTEM | (MACHINE_AGP_BASE - PAGE_BYTES), PAGE_BYTES, 0x44);
    rig_expect_fault(&rig, SGPU_NODE_COPY, SGPU_FAULT_BUS,
                     SGPU_PA_SYSTEM | (MACHINE_AGP_BASE - PAGE_BYTES));
    rig_fini(&rig);
}

struct pieces {
    unsigned count;
    uint64_t address, bytes; /* of the last one */
};

static void note_piece(void *context, const struct sgpu_command *command, struct page_store *store,
                       uint64_t address, uint64_t bytes)
{
    struct pieces *pieces = context;

    pieces->count++;
    pieces->address = address;
    pieces->bytes = bytes;
}

/* As long as pages that follow one another there are followed by the next one in memory. */
static void what_lies_in_a_row_behind_the_iommu_is_one_run(void **state)
{
    static const struct sgpu_observer observer = {.wrote = note_piece};
    const uint64_t offset = PAGE_BYTES - 8, bytes = 2 * PAGE_BYTES + 16; /* to the fourth page */
    struct pieces pieces = {0};
    uint64_t first, pfns[4];
    struct rig rig;

    rig_init(&rig);
    assert_true(machine_alloc_contiguous(rig.machine, ARRAY_COUNT(pfns), 1, &first));
    for (unsigned i = 0; i < ARRAY_COUNT(pfns); i++)
        pfns[i] = first + i;
    assert_true(
        machine_iommu_map(machine_iommu(rig.machine), MACHINE_AGP, 0, ARRAY_COUNT(pfns), pfns));
    sgpu_set_observer(rig.gpu, &observer, &pieces);
    rig_fill(&rig, SGPU_PA_SYSTEM | (MACHINE_AGP_BASE + offset), bytes, 0x55);
    rig_execute(&rig, SGPU_NODE_COPY);
    assert_int_equal(pieces.count, 1);
    assert_int_equal(pieces.address, first * PAGE_BYTES + offset);
    assert_int_equal(pieces.bytes, bytes);
    rig_fini(&rig);
}

/* How long a copy of 2 MiB out of local memory takes. */
static uint64_t time_copy(struct rig *rig, uint64_t to)
{
    uint64_t start = machine_now(rig->machine);

    rig_copy(rig, 0, to, 0, 2 * MiB);
    rig_execute(rig, SGPU_NODE_COPY);
    return machine_now(rig->machine) - start;
}

static void memory_behind_the_iommu_is_as_far_as_other_system_memory(void **state)
{
    enum { PAGES = 512 };
    uint64_t first, pfns[PAGES], direct, remapped;
    struct rig rig;

    rig_init(&rig);
    assert_true(machine_alloc_contiguous(rig.machine, PAGES, 1, &first));
    for (unsigned i = 0; i < PAGES; i++)
        pfns[i] = first + i;
    assert_true(machine_iommu_map(machine_iommu(rig.machine), MACHINE_AGP, 0, PAGES, pfns));
    direct = time_copy(&rig, SGPU_PA_SYSTEM | first * PAGE_BYTES);
    remapped = time_copy(&rig, SGPU_PA_SYSTEM | MACHINE_AGP_BASE);
    assert_in_range(remapped * 100, direct * 98, direct * 102);
    rig_fini(&rig);
}

static void count_access(void *context)
{
    ++*(unsigned *)context;
}

/* Commands are in system memory, so whatever the device does reaches it. */
static void what_reaches_system_memory_is_told_while_it_is_watched(void **state)
{
    static const struct sgpu_observer observer = {.system_reached = count_access};
    unsigned count = 0;
    struct rig rig;

    rig_init(&rig);
    sgpu_set_observer(rig.gpu, &observer, &count);
    for (unsigned is_watched = 0; is_watched < 2; is_watched++) {
        sgpu_watch_system_memory(rig.gpu, is_watched);
        rig_fill(&rig, 0, PAGE_BYTES, 1);
        rig_expect_done(&rig, SGPU_NODE_COPY, rig_submit(&rig, SGPU_NODE_COPY));
        assert_int_equal(count != 0, is_watched);
    }
    rig_fini(&rig);
}

/* The command lies in local memory, so that nothing but what it fills can be system memory. */
static void system_memory_is_reached_by_its_address_through_slots_and_the_agp_window(void **state)
{
    static const struct sgpu_observer observer = {.system_reached = count_access};
    const uint64_t commands = 2 * MiB, slot_page = 0x9000, agp_page = 0xa;
    const struct {
        uint64_t to;
        bool is_system, is_fault;
    } rows[] = {
        {0, false, false},
        {SGPU_PA_SYSTEM | 0x8000, true, false},
        {SGPU_PA_APERTURE, true, false},
        {SGPU_PA_SYSTEM | MACHINE_AGP_BASE, true, false},
        {SGPU_PA_SYSTEM | 64 * MiB, false, true}, /* behind its end */
    };
    struct rig rig;

    rig_init(&rig);
    assert_true(machine_iommu_map(machine_iommu(rig.machine), MACHINE_AGP, 0, 1, &agp_page));
    rig_gart(&rig, SGPU_OP_GART_WRITE, 0, 0, 1, &(uint64_t){slot_page / PAGE_BYTES});
    rig_execute(&rig, SGPU_NODE_COPY);
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        uint8_t packet[sizeof(struct sgpu_packet_fill)];
        unsigned count = 0;
        uint32_t fence;

        rig_fill(&rig, rows[i].to, PAGE_BYTES, 1);
        assert_int_equal(rig.used, sizeof packet);
        page_store_read(rig.ram, rig.command_pa, packet, sizeof packet);
        page_store_write(rig.local, commands, packet, sizeof packet);
        rig.used = 0;
        sgpu_set_observer(rig.gpu, &observer, &count);
        sgpu_watch_system_memory(rig.gpu, true);
        fence = rig_submit_at(&rig, SGPU_NODE_COPY, commands, 0, sizeof packet, 0);
        if (rows[i].is_fault)
            rig_expect_fault_at(&rig, SGPU_NODE_COPY, fence, SGPU_FAULT_BUS, rows[i].to);
        else
            rig_expect_done(&rig, SGPU_NODE_COPY, fence);
        sgpu_watch_system_memory(rig.gpu, false);
        assert_int_equal(count != 0, rows[i].is_system);
    }
    assert_int_equal(page_store_value(rig.ram, slot_page / PAGE_BYTES), 1);
    assert_int_equal(page_store_value(rig.ram, agp_page), 1);
    rig_fini(&rig);
}

/* Tables and command lie in local memory. */
static void system_memory_is_reached_through_page_tables(void **state)
{
    static const struct sgpu_observer observer = {.system_reached = count_access};
    const uint64_t commands = 2 * MiB, va = UINT64_C(5) << 30;

    for (unsigned is_system = 0; is_system < 2; is_system++) {
        uint8_t packet[sizeof(struct sgpu_packet_fill)];
        unsigned count = 0;
        struct rig rig;
        uint64_t root;

        rig_init(&rig);
        root = rig_root(&rig);
        rig_map(&rig, root, va, 1, 0x8000 | SGPU_PTE_VALID | (is_system ? SGPU_PTE_SYSTEM : 0));
        rig_fill(&rig, va, PAGE_BYTES, 1);
        page_store_read(rig.ram, rig.command_pa, packet, sizeof packet);
        page_store_write(rig.local, commands, packet, sizeof packet);
        rig.used = 0;
        sgpu_set_observer(rig.gpu, &observer, &count);
        sgpu_watch_system_memory(rig.gpu, true);
        rig_expect_done(&rig, SGPU_NODE_COPY,
                        rig_submit_at(&rig, SGPU_NODE_COPY, commands, root, sizeof packet,
                                      SGPU_SUBMIT_VIRTUAL | SGPU_SUBMIT_FETCH_PHYSICAL));
        sgpu_watch_system_memory(rig.gpu, false);
        assert_int_equal(count != 0, is_system);
        assert_int_equal(page_store_value(is_system ? rig.ram : rig.local, 8), 1);
        rig_fini(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_and_data_are_found_at_addresses_of_the_process),
        cmocka_unit_test(what_the_process_has_not_mapped_faults_at_its_address),
        cmocka_unit_test(a_page_is_out_of_reach_as_soon_as_it_is_unmapped),
        cmocka_unit_test(behind_a_remapping_iommu_only_logical_pages_answer),
        cmocka_unit_test(a_logical_run_ends_with_the_ram),
        cmocka_unit_test(the_agp_window_begins_at_its_first_byte),
        cmocka_unit_test(what_lies_in_a_row_behind_the_iommu_is_one_run),
        cmocka_unit_test(memory_behind_the_iommu_is_as_far_as_other_system_memory),
        cmocka_unit_test(what_reaches_system_memory_is_told_while_it_is_watched),
        cmocka_unit_test(system_memory_is_reached_by_its_address_through_slots_and_the_agp_window),
        cmocka_unit_test(system_memory_is_reached_through_page_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
