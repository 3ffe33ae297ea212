/* Context-save areas: what is loaded and stored around a submission, and what faults. */
#include "sgpu/test_rig.h"

#include "base/bits.h"

#define AREA       UINT64_C(0x40000) /* in local memory */
#define AREA_BYTES 256u
#define ROOT       0u
#define NODE       SGPU_NODE_RENDER

static uint64_t at(struct rig *rig, uint64_t address)
{
    uint64_t word;

    page_store_read(rig->local, address, &word, sizeof word);
    return word;
}

static void put(struct rig *rig, uint64_t address, uint64_t word)
{
    page_store_write(rig->local, address, &word, sizeof word);
}

/* Lawful but for where it lies, and run in so many times. */
static void make_area_at(struct rig *rig, uint64_t address, uint32_t bytes, uint64_t runs)
{
    const struct sgpu_save_area area = {.magic = SGPU_SAVE_MAGIC,
                                        .node = NODE,
                                        .root = ROOT,
                                        .root_check = SGPU_SAVE_ROOT_CHECK(ROOT),
                                        .runs = runs};

    page_store_write(rig->local, address, &area, sizeof area);
    put(rig, address + bytes - 8, runs);
}

static void make_area(struct rig *rig, uint64_t runs)
{
    make_area_at(rig, AREA, AREA_BYTES, runs);
}

/* Submits a fill of one page at 0x9000, in the area. */
static uint32_t submit_in(struct rig *rig, uint64_t area, uint32_t bytes, uint64_t runs)
{
    uint64_t size;
    uint32_t fence;

    rig_fill(rig, 0x9000, PAGE_BYTES, 0x1234abcd);
    size = rig->used;
    rig_write(rig, SGPU_REG_NODE(NODE) + SGPU_NODE_SAVE_AREA, 8, area);
    rig_write(rig, SGPU_REG_NODE(NODE) + SGPU_NODE_SAVE_RUNS, 8, runs);
    rig_write(rig, SGPU_REG_NODE(NODE) + SGPU_NODE_SAVE_BYTES, 4, bytes);
    fence =
        rig_submit_at(rig, NODE, SGPU_PA_SYSTEM | rig->command_pa, ROOT, size, SGPU_SUBMIT_SAVE);
    rig->command_pa += align_up(size, SGPU_SUBMIT_ALIGN);
    rig->used = 0;
    return fence;
}

static bool has_run(struct rig *rig)
{
    return page_store_is_fill(rig->local, 0x9000, PAGE_BYTES, 0x1234abcd, NULL);
}

static void each_run_is_counted_at_both_ends_of_the_area(void **state)
{
    struct rig rig;

    rig_init(&rig);
    make_area(&rig, 7);
    for (uint64_t runs = 7; runs < 10; runs++) {
        uint64_t wanted = runs == 8 ? SGPU_SAVE_RUNS_ANY : runs;

        rig_expect_done(&rig, NODE, submit_in(&rig, AREA, AREA_BYTES, wanted));
        assert_int_equal(at(&rig, AREA + offsetof(struct sgpu_save_area, runs)), runs + 1);
        assert_int_equal(at(&rig, AREA + AREA_BYTES - 8), runs + 1);
        assert_int_equal(at(&rig, AREA + AREA_BYTES), 0); /* behind it nothing */
    }
    assert_true(has_run(&rig));
    rig_fini(&rig);
}

/* Nothing of the submission runs, and nothing is stored. */
static void an_area_that_is_not_this_contexts_faults(void **state)
{
    const struct {
        uint64_t offset; /* of a word that is changed, in the area */
        uint64_t change; /* by exclusive or */
        uint64_t area;
        uint32_t bytes;
        uint64_t runs; /* that the submission wants */
    } rows[] = {
        {offsetof(struct sgpu_save_area, magic), 1, AREA, AREA_BYTES, 7},
        {offsetof(struct sgpu_save_area, magic), UINT64_C(1) << 32, AREA, AREA_BYTES, 7}, /* node */
        {offsetof(struct sgpu_save_area, root), 0x1000, AREA, AREA_BYTES, 7},
        {offsetof(struct sgpu_save_area, root_check), 1, AREA, AREA_BYTES, 7},
        {offsetof(struct sgpu_save_area, runs), 1, AREA, AREA_BYTES, SGPU_SAVE_RUNS_ANY},
        {AREA_BYTES - 8, 1, AREA, AREA_BYTES, SGPU_SAVE_RUNS_ANY},
        {0, 0, AREA, AREA_BYTES, 8},
        {0, 0, AREA, AREA_BYTES, 6},
        {0, 0, AREA + 4, AREA_BYTES, 7},
        {0, 0, AREA, AREA_BYTES - 4, 7},
        {0, 0, AREA, sizeof(struct sgpu_save_area) - 8, 7},
        {0, 0, UINT64_C(1) << 50, AREA_BYTES, 7}, /* nowhere */
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct rig rig;

        rig_init(&rig);
        make_area(&rig, 7);
        put(&rig, AREA + rows[i].offset, at(&rig, AREA + rows[i].offset) ^ rows[i].change);
        rig_expect_fault_at(&rig, NODE, submit_in(&rig, rows[i].area, rows[i].bytes, rows[i].runs),
                            SGPU_FAULT_SAVE_AREA, rows[i].area);
        assert_false(has_run(&rig));
        assert_int_equal(
            at(&rig, AREA + offsetof(struct sgpu_save_area, runs)),
            7 ^ (rows[i].offset == offsetof(struct sgpu_save_area, runs) ? rows[i].change : 0));
        rig_fini(&rig);
    }
}

static void an_area_is_of_words_and_has_room_for_its_head(void **state)
{
    const uint32_t least = sizeof(struct sgpu_save_area);
    const struct {
        uint64_t area;
        uint32_t bytes;
        bool is_one;
    } rows[] = {
        {AREA + 4, AREA_BYTES, false},
        {AREA, AREA_BYTES - 4, false},
        {AREA, least, true},
        {AREA, least - 8, false},
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct rig rig;

        rig_init(&rig);
        make_area_at(&rig, rows[i].area, rows[i].bytes, 7);
        if (rows[i].bytes < least) /* whose last word would be root_check */
            put(&rig, AREA + least - 8, SGPU_SAVE_ROOT_CHECK(ROOT));
        if (rows[i].is_one)
            rig_expect_done(&rig, NODE, submit_in(&rig, rows[i].area, rows[i].bytes, 7));
        else
            rig_expect_fault_at(&rig, NODE, submit_in(&rig, rows[i].area, rows[i].bytes, 7),
                                SGPU_FAULT_SAVE_AREA, rows[i].area);
        assert_int_equal(has_run(&rig), rows[i].is_one);
        rig_fini(&rig);
    }
}

/* Its head is in one piece of memory: not in two, and not where nothing is kept. */
static void an_area_that_no_piece_of_memory_holds_faults(void **state)
{
    const uint64_t va = UINT64_C(0x200000), end = va + PAGE_BYTES;

    for (unsigned is_zero = 0; is_zero < 2; is_zero++) {
        struct sgpu_save_area area = {.magic = SGPU_SAVE_MAGIC, .node = NODE, .runs = 3};
        uint64_t at = is_zero ? va : end - 16, size, root;
        struct rig rig;

        rig_init(&rig);
        root = rig_root(&rig);
        rig_map(&rig, root, va, 1, SGPU_PTE_VALID | (is_zero ? SGPU_PTE_ZERO : AREA));
        rig_map(&rig, root, end, 1, SGPU_PTE_VALID | (AREA + 4 * PAGE_BYTES));
        area.root = root;
        area.root_check = SGPU_SAVE_ROOT_CHECK(root);
        page_store_write(rig.local, AREA + PAGE_BYTES - 16, &area, 16);
        page_store_write(rig.local, AREA + PAGE_BYTES, &area.root_check, 16);
        put(&rig, AREA + 4 * PAGE_BYTES - 16 + AREA_BYTES - 8, 3);
        rig_fill(&rig, 0x9000, PAGE_BYTES, 0x1234abcd);
        size = rig.used;
        rig_write(&rig, SGPU_REG_NODE(NODE) + SGPU_NODE_SAVE_AREA, 8, at);
        rig_write(&rig, SGPU_REG_NODE(NODE) + SGPU_NODE_SAVE_RUNS, 8, 3);
        rig_write(&rig, SGPU_REG_NODE(NODE) + SGPU_NODE_SAVE_BYTES, 4, AREA_BYTES);
        rig_expect_fault_at(&rig, NODE,
                            rig_submit_at(&rig, NODE, SGPU_PA_SYSTEM | rig.command_pa, root, size,
                                          SGPU_SUBMIT_SAVE | SGPU_SUBMIT_SAVE_VIRTUAL),
                            SGPU_FAULT_SAVE_AREA, at);
        assert_false(has_run(&rig));
        rig_fini(&rig);
    }
}

/* It can be loaded and not stored: the submission does not complete. */
static void an_area_that_cannot_be_written_faults_at_the_end(void **state)
{
    const uint64_t va = UINT64_C(0x200000);
    struct sgpu_save_area area = {.magic = SGPU_SAVE_MAGIC, .node = NODE, .runs = 3};
    uint64_t size, root;
    struct rig rig;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, va, 1, AREA | SGPU_PTE_VALID | SGPU_PTE_READ_ONLY);
    area.root = root;
    area.root_check = SGPU_SAVE_ROOT_CHECK(root);
    page_store_write(rig.local, AREA, &area, sizeof area);
    put(&rig, AREA + AREA_BYTES - 8, 3);
    rig_fill(&rig, 0x9000, PAGE_BYTES, 0x1234abcd);
    size = rig.used;
    rig_write(&rig, SGPU_REG_NODE(NODE) + SGPU_NODE_SAVE_AREA, 8, va);
    rig_write(&rig, SGPU_REG_NODE(NODE) + SGPU_NODE_SAVE_RUNS, 8, 3);
    rig_write(&rig, SGPU_REG_NODE(NODE) + SGPU_NODE_SAVE_BYTES, 4, AREA_BYTES);
    rig_expect_fault_at(&rig, NODE,
                        rig_submit_at(&rig, NODE, SGPU_PA_SYSTEM | rig.command_pa, root, size,
                                      SGPU_SUBMIT_SAVE | SGPU_SUBMIT_SAVE_VIRTUAL),
                        SGPU_FAULT_SAVE_AREA, va + offsetof(struct sgpu_save_area, runs));
    assert_true(has_run(&rig));
    assert_int_equal(at(&rig, AREA + offsetof(struct sgpu_save_area, runs)), 3);
    assert_int_equal(at(&rig, AREA + AREA_BYTES - 8), 3);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_run_is_counted_at_both_ends_of_the_area),
        cmocka_unit_test(an_area_that_is_not_this_contexts_faults),
        cmocka_unit_test(an_area_is_of_words_and_has_room_for_its_head),
        cmocka_unit_test(an_area_that_no_piece_of_memory_holds_faults),
        cmocka_unit_test(an_area_that_cannot_be_written_faults_at_the_end),
    };

    return cmocka_run_group_tests_name("sgpu/save_area", tests, NULL, NULL);
}
