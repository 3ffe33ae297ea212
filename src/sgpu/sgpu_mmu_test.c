/*
 * GPU: page tables, page-table packets, and the runs that translations are. Their cache:
 * sgpu_mmu_cache_test.c.
 */
#include "sgpu/test_rig.h"

#include <string.h>

#define VA UINT64_C(0x123456789000)

static void a_walk_visits_four_levels(void **state)
{
    struct sgpu_walk walk;
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_table(&rig);
    rig_map(&rig, root, VA, 1, RIG_SYSTEM_PTE(0x5000) | SGPU_PTE_READ_ONLY);
    sgpu_mmu_walk(rig.gpu, root, VA + 0x123, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NONE);
    assert_int_equal(walk.level, 0);
    assert_int_equal(walk.pa, SGPU_PA_SYSTEM | 0x5123);
    assert_int_equal(walk.pte, RIG_SYSTEM_PTE(0x5000) | SGPU_PTE_READ_ONLY);
    assert_int_equal(walk.read_levels, 15);
    assert_int_equal(walk.tables_pa[3], root);
    assert_int_equal(walk.entries_pa[0], walk.tables_pa[0] + (VA >> 12 & 511) * 8);
    for (uint32_t level = 1; level < SGPU_LEVELS; level++)
        assert_int_equal(walk.entries[level], walk.tables_pa[level - 1] | SGPU_PTE_VALID);

    sgpu_mmu_walk(rig.gpu, root, VA + PAGE_BYTES, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NOT_VALID);
    assert_int_equal(walk.level, 0);
    sgpu_mmu_walk(rig.gpu, root, VA + 1 * GiB, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NOT_VALID);
    assert_int_equal(walk.level, 2);
    assert_int_equal(walk.read_levels, 12);
    assert_int_equal(walk.pa, 0);
    sgpu_mmu_walk(rig.gpu, root, UINT64_C(1) << 48, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NOT_VALID);
    sgpu_mmu_walk(rig.gpu, 64 * MiB, VA, &walk); /* no memory there */
    assert_int_equal(walk.fault, SGPU_FAULT_BUS);
    rig_fini(&rig);
}

/* Whoever asks why there was a fault sees the entry that was found, valid or not. */
/* What the root's table has behind its entries is none of them. */
static void a_walk_ends_behind_the_entries_of_its_root(void **state)
{
    const uint64_t bits = SGPU_MIN_INDEX_BITS, va = UINT64_C(1) << (39 + bits);
    struct sgpu_walk walk;
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_table(&rig);
    rig_map(&rig, root, va - PAGE_BYTES, 1, RIG_LOCAL_PTE(0x100000));
    rig_map(&rig, root, va, 1, RIG_LOCAL_PTE(0x200000));
    sgpu_mmu_walk(rig.gpu, root, va, &walk);
    assert_int_equal(walk.pa, 0x200000);
    sgpu_mmu_walk(rig.gpu, root | bits, va - PAGE_BYTES, &walk);
    assert_int_equal(walk.pa, 0x100000);
    sgpu_mmu_walk(rig.gpu, root | bits, va, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NOT_VALID);
    rig_fini(&rig);
}

static void a_walk_tells_the_leaf_entry_that_faults(void **state)
{
    const uint64_t entry = 0x5000 | SGPU_PTE_READ_ONLY; /* not VALID */
    struct sgpu_walk walk;
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_table(&rig);
    rig_map(&rig, root, VA, 1, entry);
    sgpu_mmu_walk(rig.gpu, root, VA, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NOT_VALID);
    assert_int_equal(walk.level, 0);
    assert_int_equal(walk.pte, entry);
    assert_int_equal(walk.entries[0], entry);
    assert_int_equal(walk.pa, 0);
    rig_fini(&rig);
}

static void tables_that_were_never_written_are_empty_and_patterns_are_entries(void **state)
{
    struct sgpu_walk walk;
    struct rig rig;

    rig_init(&rig);
    sgpu_mmu_walk(rig.gpu, 0x7000, VA, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NOT_VALID);
    assert_int_equal(walk.level, 3);
    page_store_fill(rig.local, 0x7000, PAGE_BYTES, 0x7001); /* every entry valid and itself... */
    sgpu_mmu_walk(rig.gpu, 0x7000, VA, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_BUS); /* ...but for the address bits above 32 */
    assert_int_equal(walk.entries[3], UINT64_C(0x0000700100007001));
    rig_fini(&rig);
}

static void virtual_packets_reach_scattered_pages(void **state)
{
    static const uint64_t order[] = {9, 4, 7, 8, 2, 3};
    uint64_t value = 0;
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    for (uint64_t i = 0; i < 6; i++)
        rig_map(&rig, root, VA + i * PAGE_BYTES, 1, RIG_SYSTEM_PTE(order[i] * PAGE_BYTES));
    rig_map(&rig, root, VA + 1 * GiB, 6, RIG_LOCAL_PTE(0x100000));
    page_store_write_tag(rig.local, 0x100000, 6 * PAGE_BYTES, 60);
    rig_copy(&rig, 0, VA, VA + 1 * GiB, 6 * PAGE_BYTES);
    rig_copy(&rig, SGPU_PACKET_PHYSICAL, 0x200000, 0x100000, PAGE_BYTES);
    rig_fence(&rig, 0, VA + 2 * PAGE_BYTES + 8, 77);
    rig_execute_virtual(&rig, SGPU_NODE_RENDER, root);
    for (uint64_t i = 0; i < 6; i++)
        assert_true(i == 2 || page_store_value(rig.ram, order[i]) == 60 + i);
    assert_int_equal(page_store_value(rig.local, 0x200), 60);
    page_store_read(rig.ram, 7 * PAGE_BYTES + 8, &value, 8);
    assert_int_equal(value, 77);
    rig_fini(&rig);
}

static void a_render_through_tables_writes_by_position(void **state)
{
    const struct sgpu_render_ref ref = {
        .address = VA + 0x800, .bytes = 3 * PAGE_BYTES, .key = 500, .flags = SGPU_REF_WRITE};
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, VA, 1, RIG_LOCAL_PTE(0x9000));
    rig_map(&rig, root, VA + PAGE_BYTES, 2, RIG_SYSTEM_PTE(0x20000));
    rig_map(&rig, root, VA + 3 * PAGE_BYTES, 1, RIG_LOCAL_PTE(0x3000));
    rig_render(&rig, 1, 10, &ref, 1);
    rig_execute_virtual(&rig, 0, root);
    assert_true(page_store_is_tag(rig.local, 0x9800, 0x800, 500, NULL));
    assert_true(page_store_is_tag(rig.ram, 0x20000, 2 * PAGE_BYTES, 501, NULL));
    assert_true(page_store_is_tag(rig.local, 0x3000, 0x800, 503, NULL));
    assert_true(page_store_is_fill(rig.local, 0x3800, 0x800, 0, NULL));
    rig_fini(&rig);
}

static void zero_entries_read_zero_and_swallow_writes(void **state)
{
    const uint64_t entry = RIG_LOCAL_PTE(0x200000);
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    for (uint64_t i = 0; i < 4; i++) /* whatever the address says */
        rig_map(&rig, root, VA + i * PAGE_BYTES, 1,
                SGPU_PTE_VALID | SGPU_PTE_ZERO | i * 0x5000000000);
    rig_map(&rig, root, VA + 4 * PAGE_BYTES, 4, RIG_LOCAL_PTE(0x100000));
    page_store_write_tag(rig.local, 0x100000, 4 * PAGE_BYTES, 60);
    rig_copy(&rig, 0, VA + 100, VA + 4 * PAGE_BYTES, 3 * PAGE_BYTES);
    rig_fence(&rig, 0, VA, 5);
    rig_fill(&rig, VA, 16, 5);
    rig_pte(&rig, SGPU_OP_PTE_WRITE, SGPU_PTE_TABLE_VIRTUAL, VA, 0, 1, &entry);
    rig_copy(&rig, 0, VA + 5 * PAGE_BYTES, VA, 3 * PAGE_BYTES);
    rig_execute_virtual(&rig, 1, root);
    assert_int_equal(page_store_value(rig.local, 0x100), 60);
    assert_true(page_store_is_fill(rig.local, 0x101000, 3 * PAGE_BYTES, 0, NULL));
    rig_fini(&rig);
}

static void translation_faults_name_the_address(void **state)
{
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, VA, 2, RIG_LOCAL_PTE(0x100000));
    rig_map(&rig, root, VA + 2 * PAGE_BYTES, 1, RIG_LOCAL_PTE(0x200000) | SGPU_PTE_READ_ONLY);
    rig_map(&rig, root, VA + 4 * PAGE_BYTES, 1, RIG_LOCAL_PTE(UINT64_C(64) * MiB));
    rig_map(&rig, root, VA + 5 * PAGE_BYTES, 1, RIG_LOCAL_PTE(SGPU_PA_APERTURE));
    rig_map(&rig, root, VA + 6 * PAGE_BYTES, 1, RIG_SYSTEM_PTE(0x6000) | SGPU_PTE_NO_EXECUTE);

    rig_fill(&rig, VA + 16, 3 * PAGE_BYTES, 1);
    rig_expect_fault_at(&rig, 0, rig_submit_virtual(&rig, 0, root), SGPU_FAULT_READ_ONLY,
                        VA + 2 * PAGE_BYTES);
    rig_copy(&rig, 0, VA, VA + 2 * PAGE_BYTES, PAGE_BYTES); /* reading it is fine */
    rig_execute_virtual(&rig, 0, root);
    rig_copy(&rig, 0, VA, VA + 3 * PAGE_BYTES + 5, 8);
    rig_expect_fault_at(&rig, 0, rig_submit_virtual(&rig, 0, root), SGPU_FAULT_NOT_VALID,
                        VA + 3 * PAGE_BYTES + 5);
    rig_fill(&rig, VA + 4 * PAGE_BYTES, 8, 1);
    rig_expect_fault_at(&rig, 0, rig_submit_virtual(&rig, 0, root), SGPU_FAULT_BUS,
                        VA + 4 * PAGE_BYTES);
    rig_fill(&rig, VA + 5 * PAGE_BYTES, 8, 1);
    rig_expect_fault_at(&rig, 0, rig_submit_virtual(&rig, 0, root), SGPU_FAULT_BUS,
                        VA + 5 * PAGE_BYTES);
    rig_fill(&rig, UINT64_MAX - 7, 8, 1);
    rig_expect_fault_at(&rig, 0, rig_submit_virtual(&rig, 0, root), SGPU_FAULT_NOT_VALID,
                        UINT64_MAX - 7);
    rig_expect_fault_at(&rig, 0,
                        rig_submit_at(&rig, 0, VA + 6 * PAGE_BYTES, root, 64, SGPU_SUBMIT_VIRTUAL),
                        SGPU_FAULT_NO_EXECUTE, VA + 6 * PAGE_BYTES);
    rig_expect_fault_at(&rig, 0,
                        rig_submit_at(&rig, 0, VA + 7 * PAGE_BYTES, root, 64, SGPU_SUBMIT_VIRTUAL),
                        SGPU_FAULT_NOT_VALID, VA + 7 * PAGE_BYTES);
    rig_fini(&rig);
}

/* Commands by their physical address, in which all addresses are virtual. */
static void commands_may_be_fetched_past_the_tables(void **state)
{
    struct rig rig;
    uint64_t root, size;
    uint32_t word;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, VA, 1, RIG_LOCAL_PTE(0x100000));
    rig_fill(&rig, VA, PAGE_BYTES, 0x5a5a5a5a);
    size = rig.used;
    rig.used = 0;
    rig_expect_done(&rig, 0,
                    rig_submit_at(&rig, 0, SGPU_PA_SYSTEM | rig.command_pa, root, size,
                                  SGPU_SUBMIT_VIRTUAL | SGPU_SUBMIT_FETCH_PHYSICAL));
    page_store_read(rig.local, 0x100000 + PAGE_BYTES - 4, &word, sizeof word);
    assert_int_equal(word, 0x5a5a5a5a);
    rig_expect_fault_at(
        &rig, 0,
        rig_submit_at(&rig, 0, SGPU_PA_SYSTEM | rig.command_pa, root, size, SGPU_SUBMIT_VIRTUAL),
        SGPU_FAULT_NOT_VALID, SGPU_PA_SYSTEM | rig.command_pa);
    rig_fini(&rig);
}

/* User mode reaches its own addresses; every way to others', or to tables, is malformed. */
static void user_mode_has_no_way_past_its_address_space(void **state)
{
    const uint64_t page = 1, entry = RIG_LOCAL_PTE(0);
    struct sgpu_packet_clean clean = {.address = VA, .bytes = 8};
    struct sgpu_packet_fence_home home = {0};
    struct rig rig;
    uint64_t root, size;
    uint32_t word;

    rig_init(&rig);
    root = rig_root(&rig);
    for (unsigned i = 0; i < 11; i++) {
        rig_map(&rig, root, VA, 1, RIG_LOCAL_PTE(0x100000));
        rig_map(&rig, root, VA + PAGE_BYTES, 1, RIG_SYSTEM_PTE(rig.command_pa));
        switch (i) {
        case 0:
            rig_fill(&rig, VA, PAGE_BYTES, 0x5a5a5a5a);
            break;
        case 1:
            rig_copy(&rig, SGPU_PACKET_PHYSICAL, 0x100000, 0x200000, PAGE_BYTES);
            break;
        case 2:
            rig_fence(&rig, SGPU_PACKET_PHYSICAL, 0x100000, 1);
            break;
        case 3:
            rig_copy_pages(&rig, SGPU_COPY_TO_PAGES, 0x100000, &page, 1);
            break;
        case 4:
            rig_gart(&rig, SGPU_OP_GART_WRITE, 0, 0, 1, &page);
            break;
        case 5:
            rig_gart(&rig, SGPU_OP_GART_FILL, 0, 0, 1, &page);
            break;
        case 6:
            rig_pte(&rig, SGPU_OP_PTE_WRITE, 0, 0x100000, 0, 1, &entry);
            break;
        case 7:
            rig_pte(&rig, SGPU_OP_PTE_FILL, SGPU_PTE_TABLE_VIRTUAL, VA, 0, 1, &entry);
            break;
        case 8:
            rig_flush(&rig, SGPU_TLB_ALL, root, 0, 0);
            break;
        case 9:
            rig_packet(&rig, SGPU_OP_CLEAN, &clean, sizeof clean, NULL, 0);
            break;
        case 10:
            rig_packet(&rig, SGPU_OP_FENCE_HOME, &home, sizeof home, NULL, 0);
            break;
        }
        size = rig.used;
        rig.used = 0;
        if (i == 0) {
            rig_expect_done(&rig, 0,
                            rig_submit_at(&rig, 0, VA + PAGE_BYTES, root, size,
                                          SGPU_SUBMIT_VIRTUAL | SGPU_SUBMIT_USER));
            page_store_read(rig.local, 0x100000, &word, sizeof word);
            assert_int_equal(word, 0x5a5a5a5a);
            continue;
        }
        rig_expect_fault_at(&rig, 0,
                            rig_submit_at(&rig, 0, VA + PAGE_BYTES, root, size,
                                          SGPU_SUBMIT_VIRTUAL | SGPU_SUBMIT_USER),
                            SGPU_FAULT_PACKET, 0);
        page_store_read(rig.local, 0x100000, &word, sizeof word);
        assert_int_equal(word, 0x5a5a5a5a);
    }
    rig_fini(&rig);
}

/* ---- Page-table packets --------------------------------------------------------------------- */

static void pte_packets_write_tables_by_physical_and_virtual_address(void **state)
{
    const uint64_t entries[] = {RIG_LOCAL_PTE(0x100000), RIG_LOCAL_PTE(0x300000)};
    const uint64_t fill = SGPU_PTE_VALID | SGPU_PTE_ZERO;
    struct sgpu_walk walk;
    uint64_t *leaf_table;
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, VA, 1, 0); /* makes the leaf table */
    sgpu_mmu_walk(rig.gpu, root, VA, &walk);
    leaf_table = rig_entries(&rig, walk.tables_pa[0]);
    rig_map(&rig, root, UINT64_C(1) << 46, 1, RIG_LOCAL_PTE(walk.tables_pa[0]));

    rig_pte(&rig, SGPU_OP_PTE_WRITE, 0, walk.tables_pa[0], VA >> 12 & 511, 2, entries);
    rig_pte(&rig, SGPU_OP_PTE_FILL, SGPU_PTE_TABLE_VIRTUAL, UINT64_C(1) << 46, (VA >> 12 & 511) + 2,
            3, &fill);
    rig_fill(&rig, VA + PAGE_BYTES, 2 * PAGE_BYTES, 6); /* at once: they were not valid before */
    rig_execute_virtual(&rig, 1, root);
    assert_int_equal(page_store_value(rig.local, 0x300), 6);
    assert_int_equal(leaf_table[VA >> 12 & 511], entries[0]);
    assert_int_equal(leaf_table[(VA >> 12 & 511) + 4], fill);
    assert_int_equal(leaf_table[(VA >> 12 & 511) + 5], 0);

    /* The same, to a table in system memory, that has never been touched. */
    rig_pte(&rig, SGPU_OP_PTE_WRITE, 0, SGPU_PA_SYSTEM | 0x7000, 0, 2, entries);
    rig_execute(&rig, 1);
    assert_int_equal(((const uint64_t *)(const void *)page_store_peek_bytes(rig.ram, 7))[1],
                     entries[1]);
    rig_pte(&rig, SGPU_OP_PTE_WRITE, 0, 64 * MiB, 0, 2, entries);
    rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, 64 * MiB);
    rig_fini(&rig);
}

static void a_table_of_invalid_entries_costs_no_bytes(void **state)
{
    const uint64_t zero = 0, halves = UINT64_C(5) << 32;
    uint64_t entries[SGPU_TABLE_ENTRIES];
    struct sgpu_walk walk;
    struct rig rig;
    uint64_t root, table;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, VA, 1, RIG_LOCAL_PTE(0x100000));
    sgpu_mmu_walk(rig.gpu, root, VA, &walk);
    table = walk.tables_pa[0];
    for (uint64_t i = 0; i < SGPU_TABLE_ENTRIES; i++)
        entries[i] = RIG_LOCAL_PTE(0x100000 + i * PAGE_BYTES);

    rig_pte(&rig, SGPU_OP_PTE_FILL, 0, table, 0, SGPU_TABLE_ENTRIES, &zero);
    rig_execute(&rig, 1);
    assert_int_equal(page_store_kind(rig.local, table / PAGE_BYTES), PAGE_ZERO);
    sgpu_mmu_walk(rig.gpu, root, VA, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NOT_VALID);

    rig_pte(&rig, SGPU_OP_PTE_WRITE, 0, table, 0, SGPU_TABLE_ENTRIES, entries);
    rig_pte(&rig, SGPU_OP_PTE_FILL, 0, table, 1, SGPU_TABLE_ENTRIES - 1, &zero);
    rig_execute(&rig, 1);
    sgpu_mmu_walk(rig.gpu, root, VA - VA % (2 * MiB), &walk);
    assert_int_equal(walk.pa, 0x100000);
    sgpu_mmu_walk(rig.gpu, root, VA - VA % (2 * MiB) + PAGE_BYTES, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NOT_VALID);

    rig_pte(&rig, SGPU_OP_PTE_FILL, 0, table, 0, SGPU_TABLE_ENTRIES, &halves);
    rig_execute(&rig, 1);
    assert_int_equal(rig_entries(&rig, table)[511], halves);
    rig_fini(&rig);
}

/* Of a GPU page in local memory the first entry counts, and no other; system pages are 4 KiB. */
static void gpu_pages_are_mapped_by_their_first_entry(void **state)
{
    const struct machine_config board = rig_board();
    const struct sgpu_config config = {.straps = 1u << SGPU_STRAP_GPU_PAGE_SHIFT};
    const uint64_t va = UINT64_C(0x123456780000);
    struct sgpu_walk walk;
    struct rig rig;
    uint64_t root;

    rig_init_with(&rig, &board, &config);
    root = rig_root(&rig);
    rig_map(&rig, root, va, 1, RIG_LOCAL_PTE(0x109000)); /* bits within a GPU page are ignored */
    rig_map(&rig, root, va + PAGE_BYTES, 1, RIG_LOCAL_PTE(0x700000));
    rig_map(&rig, root, va + 0x4000, 1, RIG_SYSTEM_PTE(0x5000));
    rig_map(&rig, root, va + 0x5000, 1, RIG_LOCAL_PTE(0x300000));
    rig_map(&rig, root, va + 0x6000, 1, RIG_SYSTEM_PTE(0x9000));

    sgpu_mmu_walk(rig.gpu, root, va + 0x3123, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NONE);
    assert_int_equal(walk.pa, 0x10b123);
    assert_int_equal(walk.gpu_page_bytes, 0x4000);
    sgpu_mmu_walk(rig.gpu, root, va + 0x1000, &walk);
    assert_int_equal(walk.pa, 0x109000);
    sgpu_mmu_walk(rig.gpu, root, va + 0x4000, &walk);
    assert_int_equal(walk.pa, SGPU_PA_SYSTEM | 0x5000);
    sgpu_mmu_walk(rig.gpu, root, va + 0x5000, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NOT_VALID);
    sgpu_mmu_walk(rig.gpu, root, va + 0x6010, &walk);
    assert_int_equal(walk.pa, SGPU_PA_SYSTEM | 0x9010);

    page_store_write_tag(rig.local, 0x108000, 4 * PAGE_BYTES, 60);
    rig_copy(&rig, 0, va + 0x6000, va + 0x2000, PAGE_BYTES);
    rig_execute_virtual(&rig, SGPU_NODE_RENDER, root);
    assert_int_equal(page_store_value(rig.ram, 9), 62);
    rig_fini(&rig);
}

/* The tables above level 1; gives that one, which has two pages. */
static uint64_t level_1_of(struct rig *rig, uint64_t root)
{
    uint64_t level_2 = rig_table(rig), level_1 = rig_table(rig);

    rig_table(rig);
    rig_entries(rig, root)[0] = level_2 | SGPU_PTE_VALID;
    rig_entries(rig, level_2)[0] = level_1 | SGPU_PTE_VALID;
    return level_1;
}

static void an_entry_of_two_tables_leads_to_64_kib_pages_first(void **state)
{
    const struct machine_config board = rig_board();
    const struct sgpu_config config = {.straps = SGPU_STRAP_64K_DUAL};
    const uint64_t va = 16 * MiB;
    uint64_t root, level_1, small, large;
    struct sgpu_walk walk;
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    root = rig_table(&rig);
    level_1 = level_1_of(&rig, root);
    small = rig_table(&rig);
    large = rig_table(&rig);
    rig_entries(&rig, level_1)[2 * (va >> 21)] = small | SGPU_PTE_VALID;
    rig_entries(&rig, level_1)[2 * (va >> 21) + 1] = large | SGPU_PTE_VALID;
    rig_entries(&rig, large)[0] = RIG_LOCAL_PTE(0x200000);
    rig_entries(&rig, small)[0] = RIG_SYSTEM_PTE(0x5000);
    rig_entries(&rig, small)[16] = RIG_SYSTEM_PTE(0x6000);
    sgpu_mmu_walk(rig.gpu, root, va + 0x2123, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NONE);
    assert_int_equal(walk.pa, 0x202123);
    assert_int_equal(walk.pte, RIG_LOCAL_PTE(0x200000));
    assert_int_equal(walk.page_bytes, 64 * KiB);
    assert_int_equal(walk.tables_pa[0], large);
    assert_int_equal(walk.entries_pa[0], large);
    rig_entries(&rig, large)[2] = RIG_LOCAL_PTE(0x400000);
    sgpu_mmu_walk(rig.gpu, root, va + 0x20000, &walk);
    assert_int_equal(walk.pa, 0x400000);
    assert_int_equal(walk.entries_pa[0], large + 2 * sizeof(uint64_t));
    sgpu_mmu_walk(rig.gpu, root, va + 0x10123, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NONE);
    assert_int_equal(walk.pa, SGPU_PA_SYSTEM | 0x6123);
    assert_int_equal(walk.page_bytes, PAGE_BYTES);
    rig_fini(&rig);
}

/* An entry leads to a table of one kind or of the other one. */
static void an_entry_of_one_table_says_which_pages_it_has(void **state)
{
    const struct machine_config board = rig_board();
    const struct sgpu_config config = {.straps = SGPU_STRAP_64K_SINGLE};
    const uint64_t va = 16 * MiB;
    uint64_t root, level_1, small, large;
    struct sgpu_walk walk;
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    root = rig_table(&rig);
    level_1 = level_1_of(&rig, root);
    small = rig_table(&rig);
    large = rig_table(&rig);
    rig_entries(&rig, level_1)[va >> 21] = large | SGPU_PTE_VALID | SGPU_PTE_TABLE_64K;
    rig_entries(&rig, level_1)[(va >> 21) + 1] = small | SGPU_PTE_VALID;
    rig_entries(&rig, large)[1] = RIG_LOCAL_PTE(0x200000);
    rig_entries(&rig, small)[1] = RIG_SYSTEM_PTE(0x5000);
    sgpu_mmu_walk(rig.gpu, root, va + 0x12123, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NONE);
    assert_int_equal(walk.pa, 0x202123);
    assert_int_equal(walk.page_bytes, 64 * KiB);
    sgpu_mmu_walk(rig.gpu, root, va + 0x1000, &walk); /* in the first piece of 64 KiB */
    assert_int_equal(walk.fault, SGPU_FAULT_NOT_VALID);
    sgpu_mmu_walk(rig.gpu, root, va + 2 * MiB + 0x1123, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NONE);
    assert_int_equal(walk.pa, SGPU_PA_SYSTEM | 0x5123);
    assert_int_equal(walk.page_bytes, PAGE_BYTES);
    rig_fini(&rig);
}

static void a_large_page_ends_the_walk_above_the_leaf(void **state)
{
    const struct machine_config board = rig_board();
    const struct sgpu_config config = {.straps = SGPU_STRAP_LARGE_PAGES};
    const uint64_t va = 16 * MiB, entry = RIG_LOCAL_PTE(0x400000) | SGPU_PTE_LARGE;
    struct sgpu_walk walk;
    struct rig rig;
    uint64_t root;

    rig_init_with(&rig, &board, &config);
    root = rig_table(&rig);
    rig_entries(&rig, level_1_of(&rig, root))[va >> 21] = entry;
    sgpu_mmu_walk(rig.gpu, root, va + 0x12345, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NONE);
    assert_int_equal(walk.level, 1);
    assert_int_equal(walk.pa, 0x412345);
    assert_int_equal(walk.pte, entry);
    assert_int_equal(walk.page_bytes, 2 * MiB);
    rig_fini(&rig);
}

/* A board is refused whose tables cannot be: nothing of it is made. */
static void page_tables_of_an_impossible_shape_are_refused(void **state)
{
    static const struct {
        uint8_t bits[SGPU_MAX_LEVELS];
        uint32_t straps;
        bool is_possible;
    } shapes[] = {
        {{SGPU_MIN_INDEX_BITS, SGPU_MAX_INDEX_BITS}, 0, true},
        {{SGPU_MAX_INDEX_BITS, SGPU_MIN_INDEX_BITS}, 0, true},
        {{SGPU_MIN_INDEX_BITS, SGPU_MIN_INDEX_BITS, 1}, 0, true},
        {{SGPU_MAX_INDEX_BITS, 16}, 0, true}, /* 48 bits */
        {{SGPU_MAX_INDEX_BITS, 17}, 0, false},
        {{SGPU_MAX_INDEX_BITS + 1, SGPU_MIN_INDEX_BITS}, 0, false},
        {{SGPU_MIN_INDEX_BITS, SGPU_MAX_INDEX_BITS + 1}, 0, false},
        {{SGPU_MIN_INDEX_BITS - 1, 9}, 0, false},
        {{9, SGPU_MIN_INDEX_BITS - 1, 9}, 0, false},
        {{9}, 0, false},
        {{9, 9}, SGPU_STRAP_64K_SINGLE, true},
        {{9, 9}, SGPU_STRAP_64K_DUAL, true},
        {{9, 9}, SGPU_STRAP_64K_SINGLE | SGPU_STRAP_64K_DUAL, false},
        {{9, 9}, 2u << SGPU_STRAP_GPU_PAGE_SHIFT, true},
        {{9, 9}, 1u << SGPU_STRAP_GPU_PAGE_SHIFT | SGPU_STRAP_64K_SINGLE, false},
        {{9, 9}, 1u << SGPU_STRAP_GPU_PAGE_SHIFT | SGPU_STRAP_64K_DUAL, false},
        {{9, 9}, 3u << SGPU_STRAP_GPU_PAGE_SHIFT, false},
    };

    for (size_t i = 0; i < ARRAY_COUNT(shapes); i++) {
        struct machine_config board = rig_board();
        struct machine *machine = machine_create(base_services_libc(), &board);
        struct sgpu_config config = {.straps = shapes[i].straps};
        struct sgpu *gpu;

        assert_non_null(machine);
        memcpy(config.index_bits, shapes[i].bits, sizeof config.index_bits);
        gpu = sgpu_create(machine, &config);
        assert_int_equal(gpu != NULL, shapes[i].is_possible);
        if (gpu)
            sgpu_destroy(gpu);
        machine_destroy(machine);
    }
}

/* ---- Every run ------------------------------------------------------------------------------ */

struct runs {
    struct sgpu_run list[64];
    size_t count;
    size_t stop_at;
};

static bool take_run(void *context, const struct sgpu_run *run)
{
    struct runs *runs = context;

    runs->list[runs->count++] = *run;
    return runs->count != runs->stop_at;
}

static void assert_run(const struct sgpu_run *run, uint64_t va, uint64_t bytes, uint64_t pa,
                       uint64_t attributes)
{
    assert_int_equal(run->va, va);
    assert_int_equal(run->bytes, bytes);
    assert_int_equal(run->pa, pa);
    assert_int_equal(run->attributes, attributes);
}

static void runs_join_across_tables_and_split_at_changes(void **state)
{
    const uint64_t va = UINT64_C(3) * GiB - 8 * PAGE_BYTES;
    struct runs runs = {0};
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_table(&rig);
    rig_map(&rig, root, va, 16, RIG_LOCAL_PTE(0x100000));
    rig_map(&rig, root, va + 16 * PAGE_BYTES, 2, RIG_LOCAL_PTE(0x110000) | SGPU_PTE_READ_ONLY);
    rig_map(&rig, root, va + 19 * PAGE_BYTES, 1, RIG_SYSTEM_PTE(0x7000));
    for (uint64_t i = 20; i < 30; i++)
        rig_map(&rig, root, va + i * PAGE_BYTES, 1, SGPU_PTE_VALID | SGPU_PTE_ZERO | i << 20);

    assert_true(sgpu_mmu_for_each_run(rig.gpu, root, 0, UINT64_MAX, take_run, &runs));
    assert_int_equal(runs.count, 4);
    assert_run(&runs.list[0], va, 16 * PAGE_BYTES, 0x100000, SGPU_PTE_VALID);
    assert_run(&runs.list[1], va + 16 * PAGE_BYTES, 2 * PAGE_BYTES, 0x110000,
               SGPU_PTE_VALID | SGPU_PTE_READ_ONLY);
    assert_run(&runs.list[2], va + 19 * PAGE_BYTES, PAGE_BYTES, SGPU_PA_SYSTEM | 0x7000,
               SGPU_PTE_VALID | SGPU_PTE_SYSTEM);
    assert_run(&runs.list[3], va + 20 * PAGE_BYTES, 10 * PAGE_BYTES, 0,
               SGPU_PTE_VALID | SGPU_PTE_ZERO);

    runs.count = 0; /* a part, by bytes */
    assert_true(sgpu_mmu_for_each_run(rig.gpu, root, va + 0x1800, va + 0x3010, take_run, &runs));
    assert_int_equal(runs.count, 1);
    assert_run(&runs.list[0], va + 0x1800, 0x1810, 0x101800, SGPU_PTE_VALID);

    runs.count = 0;
    runs.stop_at = 2;
    assert_false(sgpu_mmu_for_each_run(rig.gpu, root, 0, UINT64_MAX, take_run, &runs));
    assert_int_equal(runs.count, 2);
    runs.stop_at = 0;
    assert_true(sgpu_mmu_for_each_run(rig.gpu, root, va, va, take_run, &runs));
    assert_false(sgpu_mmu_for_each_run(rig.gpu, 64 * MiB, 0, 1, take_run, &runs));
    assert_int_equal(runs.count, 2);
    rig_fini(&rig);
}

static void neighbours_in_two_tables_join_only_when_physically_so(void **state)
{
    const uint64_t va = UINT64_C(3) * GiB;
    struct runs runs = {0};
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_table(&rig);
    rig_map(&rig, root, va - PAGE_BYTES, 1, RIG_LOCAL_PTE(0x100000));
    rig_map(&rig, root, va, 1, RIG_LOCAL_PTE(0x103000));
    assert_true(sgpu_mmu_for_each_run(rig.gpu, root, 0, UINT64_MAX, take_run, &runs));
    assert_int_equal(runs.count, 2);
    assert_run(&runs.list[1], va, PAGE_BYTES, 0x103000, SGPU_PTE_VALID);
    rig_fini(&rig);
}

/* The entry behind the range leads out of memory, and nobody asks where. */
static void no_run_is_looked_for_behind_the_range(void **state)
{
    const uint64_t va = UINT64_C(3) * GiB;
    struct sgpu_walk walk;
    struct runs runs = {0};
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_table(&rig);
    rig_map(&rig, root, va, 1, RIG_LOCAL_PTE(0x100000));
    sgpu_mmu_walk(rig.gpu, root, va, &walk);
    rig_entries(&rig, walk.tables_pa[1])[1] = RIG_LOCAL_PTE(64 * MiB);
    assert_true(sgpu_mmu_for_each_run(rig.gpu, root, va, va + 2 * MiB, take_run, &runs));
    assert_int_equal(runs.count, 1);
    assert_false(sgpu_mmu_for_each_run(rig.gpu, root, va, va + 2 * MiB + 1, take_run, &runs));
    rig_fini(&rig);
}

/* Where the 64 KiB table has nothing the other one is asked, for that piece alone. */
static void runs_go_on_behind_a_piece_of_small_pages(void **state)
{
    const struct machine_config board = rig_board();
    const struct sgpu_config config = {.straps = SGPU_STRAP_64K_DUAL};
    const uint64_t va = 16 * MiB;
    uint64_t root, level_1, small, large;
    struct runs runs = {0};
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    root = rig_table(&rig);
    level_1 = level_1_of(&rig, root);
    small = rig_table(&rig);
    large = rig_table(&rig);
    rig_entries(&rig, level_1)[2 * (va >> 21)] = small | SGPU_PTE_VALID;
    rig_entries(&rig, level_1)[2 * (va >> 21) + 1] = large | SGPU_PTE_VALID;
    rig_entries(&rig, small)[3] = RIG_SYSTEM_PTE(0x5000);
    rig_entries(&rig, small)[17] = RIG_SYSTEM_PTE(0x6000); /* behind a large page: nobody asks */
    rig_entries(&rig, large)[1] = RIG_LOCAL_PTE(0x200000);
    rig_entries(&rig, small)[32] = RIG_SYSTEM_PTE(0x7000);
    rig_entries(&rig, large)[3] = RIG_LOCAL_PTE(0x400000);
    assert_true(sgpu_mmu_for_each_run(rig.gpu, root, 0, UINT64_MAX, take_run, &runs));
    assert_int_equal(runs.count, 4);
    assert_run(&runs.list[0], va + 0x3000, PAGE_BYTES, SGPU_PA_SYSTEM | 0x5000,
               SGPU_PTE_VALID | SGPU_PTE_SYSTEM);
    assert_run(&runs.list[1], va + 0x10000, 64 * KiB, 0x200000, SGPU_PTE_VALID);
    assert_run(&runs.list[2], va + 0x20000, PAGE_BYTES, SGPU_PA_SYSTEM | 0x7000,
               SGPU_PTE_VALID | SGPU_PTE_SYSTEM);
    assert_run(&runs.list[3], va + 0x30000, 64 * KiB, 0x400000, SGPU_PTE_VALID);

    runs.count = 0; /* from within the first piece to within the last */
    assert_true(sgpu_mmu_for_each_run(rig.gpu, root, va + 0x3800, va + 0x31000, take_run, &runs));
    assert_int_equal(runs.count, 4);
    assert_run(&runs.list[0], va + 0x3800, 0x800, SGPU_PA_SYSTEM | 0x5800,
               SGPU_PTE_VALID | SGPU_PTE_SYSTEM);
    assert_run(&runs.list[3], va + 0x30000, PAGE_BYTES, 0x400000, SGPU_PTE_VALID);
    rig_fini(&rig);
}

/* The bit that tells the two kinds of table apart has no meaning in an entry above level 1. */
static void runs_are_found_in_one_table_of_either_kind(void **state)
{
    const struct machine_config board = rig_board();
    const struct sgpu_config config = {.straps = SGPU_STRAP_64K_SINGLE};
    const uint64_t va = 16 * MiB;
    uint64_t root, level_1, small, large;
    struct runs runs = {0};
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    root = rig_table(&rig);
    level_1 = level_1_of(&rig, root);
    rig_entries(&rig, root)[0] |= SGPU_PTE_TABLE_64K;
    small = rig_table(&rig);
    large = rig_table(&rig);
    rig_entries(&rig, level_1)[va >> 21] = large | SGPU_PTE_VALID | SGPU_PTE_TABLE_64K;
    rig_entries(&rig, level_1)[(va >> 21) + 1] = small | SGPU_PTE_VALID;
    rig_entries(&rig, large)[1] = RIG_LOCAL_PTE(0x200000);
    rig_entries(&rig, small)[1] = RIG_SYSTEM_PTE(0x5000);
    assert_true(sgpu_mmu_for_each_run(rig.gpu, root, 0, UINT64_MAX, take_run, &runs));
    assert_int_equal(runs.count, 2);
    assert_run(&runs.list[0], va + 0x10000, 64 * KiB, 0x200000, SGPU_PTE_VALID);
    assert_run(&runs.list[1], va + 2 * MiB + 0x1000, PAGE_BYTES, SGPU_PA_SYSTEM | 0x5000,
               SGPU_PTE_VALID | SGPU_PTE_SYSTEM);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_visits_four_levels),
        cmocka_unit_test(a_walk_ends_behind_the_entries_of_its_root),
        cmocka_unit_test(a_walk_tells_the_leaf_entry_that_faults),
        cmocka_unit_test(tables_that_were_never_written_are_empty_and_patterns_are_entries),
        cmocka_unit_test(virtual_packets_reach_scattered_pages),
        cmocka_unit_test(a_render_through_tables_writes_by_position),
        cmocka_unit_test(zero_entries_read_zero_and_swallow_writes),
        cmocka_unit_test(translation_faults_name_the_address),
        cmocka_unit_test(commands_may_be_fetched_past_the_tables),
        cmocka_unit_test(user_mode_has_no_way_past_its_address_space),
        cmocka_unit_test(pte_packets_write_tables_by_physical_and_virtual_address),
        cmocka_unit_test(a_table_of_invalid_entries_costs_no_bytes),
        cmocka_unit_test(gpu_pages_are_mapped_by_their_first_entry),
        cmocka_unit_test(an_entry_of_two_tables_leads_to_64_kib_pages_first),
        cmocka_unit_test(an_entry_of_one_table_says_which_pages_it_has),
        cmocka_unit_test(a_large_page_ends_the_walk_above_the_leaf),
        cmocka_unit_test(page_tables_of_an_impossible_shape_are_refused),
        cmocka_unit_test(runs_join_across_tables_and_split_at_changes),
        cmocka_unit_test(neighbours_in_two_tables_join_only_when_physically_so),
        cmocka_unit_test(no_run_is_looked_for_behind_the_range),
        cmocka_unit_test(runs_go_on_behind_a_piece_of_small_pages),
        cmocka_unit_test(runs_are_found_in_one_table_of_either_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
