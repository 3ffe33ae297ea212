/*
 * Page tables of all shapes: what is listed of them, and what packets reach through them, is what
 * the walk to each page says.
 */
#include "sgpu/test_rig.h"

#include "base/bits.h"
#include "base/rng.h"

#include <string.h>

#define PLACES 24u

struct shape {
    uint32_t straps;
    uint8_t bits[SGPU_MAX_LEVELS]; /* all 0: of an ordinary board */
};

static const struct shape shapes[] = {
    {0, {0}},
    {0, {10, 6, 11}},
    {SGPU_STRAP_LARGE_PAGES, {0}},
    {SGPU_STRAP_LARGE_PAGES, {6, 6, 7, 8}},
    {SGPU_STRAP_LARGE_PAGES | SGPU_STRAP_PLAIN_ENTRIES, {12, 9, 6}},
    {SGPU_STRAP_64K_SINGLE, {0}},
    {SGPU_STRAP_64K_SINGLE | SGPU_STRAP_LARGE_PAGES, {10, 10, 3}},
    {SGPU_STRAP_64K_DUAL, {0}},
    {SGPU_STRAP_64K_DUAL | SGPU_STRAP_LARGE_PAGES | SGPU_STRAP_PLAIN_ENTRIES, {8, 11, 7}},
    {1u << SGPU_STRAP_GPU_PAGE_SHIFT, {0}},
    {2u << SGPU_STRAP_GPU_PAGE_SHIFT | SGPU_STRAP_LARGE_PAGES, {11, 9, 9}},
};

/* Tables that are being made at random, and where in the space something was put. */
struct maker {
    struct rig *rig;
    struct rng *rng;
    struct shape shape;
    uint32_t levels;
    uint64_t places[PLACES];
    uint32_t place_count;
};

static bool has(const struct maker *maker, uint32_t strap)
{
    return maker->shape.straps & strap;
}

static unsigned shift_of(const struct maker *maker, uint32_t level)
{
    unsigned shift = SGPU_PAGE_SHIFT;

    for (uint32_t i = 0; i < level; i++)
        shift += maker->shape.bits[i];
    return shift;
}

static void note_place(struct maker *maker, uint64_t va)
{
    if (maker->place_count < PLACES)
        maker->places[maker->place_count++] = va;
    else
        maker->places[rng_below(maker->rng, PLACES)] = va;
}

static uint64_t make_table(struct maker *maker, uint64_t words)
{
    uint64_t table = rig_table(maker->rig);

    for (uint64_t done = SGPU_TABLE_ENTRIES; done < words; done += SGPU_TABLE_ENTRIES)
        rig_table(maker->rig);
    return table;
}

static void put(struct maker *maker, uint64_t table, uint64_t word, uint64_t entry)
{
    rig_entries(maker->rig,
                table + word / SGPU_TABLE_ENTRIES * PAGE_BYTES)[word % SGPU_TABLE_ENTRIES] = entry;
}

/* A leaf entry for so many bytes; its page lies in one of the memories. */
static uint64_t random_entry(struct maker *maker, uint64_t bytes)
{
    static const uint64_t attributes[] = {
        0, 0, SGPU_PTE_READ_ONLY, SGPU_PTE_ZERO, SGPU_PTE_COHERENT, UINT64_C(5) << 48};
    uint64_t address = align_down(rng_below(maker->rng, 32 * MiB), PAGE_BYTES);

    if (bytes == SGPU_64K_BYTES)
        address = align_down(address, SGPU_64K_BYTES);
    return address | SGPU_PTE_VALID | attributes[rng_below(maker->rng, ARRAY_COUNT(attributes))] |
           (rng_chance(maker->rng, 1, 2) ? SGPU_PTE_SYSTEM : 0);
}

/* Some runs of entries, each of which goes on where the one before it ends, and single ones. */
static void fill_leaf(struct maker *maker, uint64_t table, uint64_t count, uint64_t bytes,
                      uint64_t va)
{
    for (uint64_t runs = 1 + rng_below(maker->rng, 4); runs > 0; runs--) {
        uint64_t entry = random_entry(maker, bytes);
        uint64_t i = rng_chance(maker->rng, 1, 4) ? 0 : rng_below(maker->rng, count);
        uint64_t end = min_u64(count, i + 1 + rng_below(maker->rng, 90));

        if (rng_chance(maker->rng, 1, 4))
            end = count;
        note_place(maker, va + i * bytes);
        for (; i < end; i++) {
            put(maker, table, i, entry);
            entry += rng_chance(maker->rng, 1, 60) ? 3 * bytes : bytes;
            if ((entry & SGPU_PTE_ADDRESS_MASK) >= 60 * MiB)
                break;
        }
    }
}

static uint64_t make_leaf(struct maker *maker, bool is_64k, uint64_t va)
{
    uint64_t count = (UINT64_C(1) << maker->shape.bits[0]) / (is_64k ? SGPU_64K_ENTRIES : 1);
    uint64_t table = make_table(maker, count);

    fill_leaf(maker, table, count, is_64k ? SGPU_64K_BYTES : PAGE_BYTES, va);
    return table | SGPU_PTE_VALID;
}

static uint64_t make_tables(struct maker *maker, uint32_t level, uint64_t va)
{
    const uint64_t words = level == 1 && has(maker, SGPU_STRAP_64K_DUAL) ? 2 : 1;
    const uint64_t count = UINT64_C(1) << maker->shape.bits[level];
    uint64_t table = make_table(maker, count * words);
    uint64_t i = rng_chance(maker->rng, 1, 4) ? 0 : rng_below(maker->rng, count);

    for (uint64_t entries = 2 + rng_below(maker->rng, level == 1 ? 3 : 2); entries > 0; entries--) {
        uint64_t at = va + (i << shift_of(maker, level));

        if (has(maker, SGPU_STRAP_LARGE_PAGES) && rng_chance(maker->rng, 1, 4)) {
            put(maker, table, i * words, random_entry(maker, PAGE_BYTES) | SGPU_PTE_LARGE);
            note_place(maker, at);
            note_place(maker, at + (UINT64_C(77) << SGPU_PAGE_SHIFT));
        } else if (level > 1) {
            put(maker, table, i, make_tables(maker, level - 1, at));
        } else if (has(maker, SGPU_STRAP_64K_SINGLE) && rng_chance(maker->rng, 1, 2)) {
            put(maker, table, i, make_leaf(maker, true, at) | SGPU_PTE_TABLE_64K);
        } else if (words == 2) {
            bool is_both = rng_chance(maker->rng, 1, 2);

            if (is_both || rng_chance(maker->rng, 1, 2))
                put(maker, table, 2 * i, make_leaf(maker, false, at));
            if (is_both || rng_chance(maker->rng, 1, 2))
                put(maker, table, 2 * i + 1, make_leaf(maker, true, at));
        } else {
            put(maker, table, i, make_leaf(maker, false, at));
        }
        i = rng_chance(maker->rng, 1, 2) ? (i + 1) % count : rng_below(maker->rng, count);
    }
    return table | SGPU_PTE_VALID;
}

static void init(struct rig *rig, struct maker *maker, struct rng *rng, const struct shape *shape)
{
    static const uint8_t ordinary[SGPU_MAX_LEVELS] = {9, 9, 9, 9};
    struct sgpu_config config = {.straps = shape->straps};
    const struct machine_config board = rig_board();

    memcpy(config.index_bits, shape->bits, sizeof config.index_bits);
    rig_init_with(rig, &board, &config);
    *maker = (struct maker){.rig = rig, .rng = rng, .shape = *shape};
    if (!shape->bits[0])
        memcpy(maker->shape.bits, ordinary, sizeof ordinary);
    while (maker->levels < SGPU_MAX_LEVELS && maker->shape.bits[maker->levels])
        maker->levels++;
}

/* ---- The list of runs ------------------------------------------------------------------------ */

struct runs {
    struct sgpu_run list[512];
    unsigned count;
};

static bool take_run(void *context, const struct sgpu_run *run)
{
    struct runs *runs = context;

    assert_in_range(runs->count, 0, ARRAY_COUNT(runs->list) - 1);
    runs->list[runs->count++] = *run;
    return true;
}

static uint64_t attributes_of(uint64_t pte)
{
    return pte & ~(SGPU_PTE_ADDRESS_MASK | SGPU_PTE_LARGE | SGPU_PTE_TABLE_64K);
}

/* The walk to each page of the range says the same, and no two runs could be one. */
static void expect_runs(struct rig *rig, uint64_t root, uint64_t start, uint64_t end)
{
    static struct runs runs;
    unsigned i = 0;

    runs.count = 0;
    assert_true(sgpu_mmu_for_each_run(rig->gpu, root, start, end, take_run, &runs));
    for (uint64_t va = start; va < end; va = align_down(va, PAGE_BYTES) + PAGE_BYTES) {
        const struct sgpu_run *run;
        struct sgpu_walk walk;

        sgpu_mmu_walk(rig->gpu, root, va, &walk);
        if (i < runs.count && va >= runs.list[i].va + runs.list[i].bytes)
            i++;
        run = i < runs.count && va >= runs.list[i].va ? &runs.list[i] : NULL;
        assert_int_equal(run != NULL, walk.fault == SGPU_FAULT_NONE);
        if (!run)
            continue;
        assert_true(run->va >= start && run->va + run->bytes <= end);
        assert_true(run->attributes == attributes_of(walk.pte));
        if (run->attributes & SGPU_PTE_ZERO)
            assert_true(run->pa == 0);
        else
            assert_true(run->pa + (va - run->va) == walk.pa);
    }
    assert_true(i + 1 >= runs.count);
    for (i = 1; i < runs.count; i++) {
        const struct sgpu_run *before = &runs.list[i - 1], *run = &runs.list[i];

        assert_true(before->va + before->bytes <= run->va);
        assert_false(before->va + before->bytes == run->va &&
                     before->attributes == run->attributes &&
                     ((run->attributes & SGPU_PTE_ZERO) || before->pa + before->bytes == run->pa));
    }
}

static void runs_of_tables_of_any_shape_are_those_of_their_walks(void **state)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        for (size_t i = 0; i < ARRAY_COUNT(shapes); i++) {
            struct maker maker;
            struct rng rng;
            struct rig rig;
            uint64_t root;

            rng_init(&rng, seed);
            init(&rig, &maker, &rng, &shapes[i]);
            root = align_down(make_tables(&maker, maker.levels - 1, 0), PAGE_BYTES);
            for (uint32_t place = 0; place < maker.place_count; place++) {
                uint64_t va = maker.places[place];
                uint64_t before = rng_below(&rng, 200 * PAGE_BYTES);
                uint64_t end = va + 1 + rng_below(&rng, 400 * PAGE_BYTES);

                if (rng_chance(&rng, 1, 3))
                    before = align_down(before, 64 * KiB);
                va -= min_u64(va, before);
                expect_runs(&rig, root, va,
                            min_u64(end, UINT64_C(1) << shift_of(&maker, maker.levels)));
            }
            rig_fini(&rig);
        }
    }
}

/* ---- What packets reach ---------------------------------------------------------------------- */

struct reader {
    struct rig *rig;
    uint64_t root, start, read; /* so many bytes from there */
};

/* What the walk to it says. */
static void expect_read(void *context, uint64_t token, uint32_t index, uint64_t offset,
                        struct page_store *store, uint64_t address, uint64_t bytes)
{
    struct reader *reader = context;

    assert_true(offset == reader->read);
    for (uint64_t done = 0; done < bytes; done += PAGE_BYTES) {
        struct page_store *walked;
        struct sgpu_walk walk;
        uint64_t place, run;

        sgpu_mmu_walk(reader->rig->gpu, reader->root, reader->start + offset + done, &walk);
        assert_int_equal(walk.fault, SGPU_FAULT_NONE);
        assert_int_equal(!store, (walk.pte & SGPU_PTE_ZERO) != 0);
        if (!store)
            continue;
        assert_true(sgpu_resolve(reader->rig->gpu, walk.pa, 1, &walked, &place, &run));
        assert_ptr_equal(walked, store);
        assert_true(place == address + done);
    }
    reader->read += bytes;
}

static void expect_reads(struct rig *rig, uint64_t root, uint64_t va, uint64_t bytes)
{
    static const struct sgpu_observer observer = {.render_read = expect_read};
    const struct sgpu_render_ref ref = {.address = va, .bytes = bytes, .flags = SGPU_REF_READ};
    struct reader reader = {.rig = rig, .root = root, .start = va};
    const uint64_t fault_register = SGPU_REG_NODE(0) + SGPU_NODE_FAULT_VA;
    struct page_store *store;
    struct sgpu_walk walk;
    uint64_t address, run, size;

    sgpu_set_observer(rig->gpu, &observer, &reader);
    rig_render(rig, 1, 10, &ref, 1);
    size = rig->used;
    rig->used = 0;
    rig_submit_at(rig, 0, SGPU_PA_SYSTEM | rig->command_pa, root, size,
                  SGPU_SUBMIT_VIRTUAL | SGPU_SUBMIT_FETCH_PHYSICAL);
    rig_run(rig);
    if (reader.read == bytes) {
        assert_true(sgpu_is_idle(rig->gpu));
        return;
    }
    assert_true(machine_read_register(rig->machine, rig->bar0 + fault_register, 8) ==
                va + reader.read);
    sgpu_mmu_walk(rig->gpu, root, va + reader.read, &walk);
    if (walk.fault == SGPU_FAULT_NONE) { /* a page that goes on behind the end of memory */
        assert_false(sgpu_resolve(rig->gpu, walk.pa, 1, &store, &address, &run));
        walk.fault = SGPU_FAULT_BUS;
    }
    assert_int_equal(rig_read(rig, SGPU_REG_NODE(0) + SGPU_NODE_FAULT_KIND), walk.fault);
    rig_reset_node(rig, 0);
}

/* With a cache that is empty, since a fault was reset, or that has some of it. */
static void packets_reach_what_walks_through_any_shape_say(void **state)
{
    for (uint64_t seed = 11; seed <= 13; seed++) {
        for (size_t i = 0; i < ARRAY_COUNT(shapes); i++) {
            struct maker maker;
            struct rng rng;
            struct rig rig;
            uint64_t root;

            rng_init(&rng, seed);
            init(&rig, &maker, &rng, &shapes[i]);
            root = align_down(make_tables(&maker, maker.levels - 1, 0), PAGE_BYTES);
            for (uint32_t place = 0; place < maker.place_count; place++) {
                uint64_t va = maker.places[place] + rng_below(&rng, 40 * PAGE_BYTES);

                expect_reads(&rig, root, va, 1 + rng_below(&rng, 60 * PAGE_BYTES));
                expect_reads(&rig, root, va, 1 + rng_below(&rng, 200 * PAGE_BYTES));
                expect_reads(&rig, root, maker.places[place],
                             1 + rng_below(&rng, 100 * PAGE_BYTES));
            }
            rig_fini(&rig);
        }
    }
}

/* 4 KiB entries beside a 64 KiB one that is valid are not looked at, nor taken over with others. */
static void entries_beside_a_64_kib_one_are_never_cached(void **state)
{
    const struct shape shape = {SGPU_STRAP_64K_DUAL, {0}};
    uint64_t root, level_2, level_1, small, large;
    struct maker maker;
    struct rng rng;
    struct rig rig;

    rng_init(&rng, 1);
    init(&rig, &maker, &rng, &shape);
    root = rig_table(&rig);
    level_2 = rig_table(&rig);
    level_1 = make_table(&maker, 1024);
    small = rig_table(&rig);
    large = rig_table(&rig);
    put(&maker, root, 0, level_2 | SGPU_PTE_VALID);
    put(&maker, level_2, 0, level_1 | SGPU_PTE_VALID);
    put(&maker, level_1, 0, small | SGPU_PTE_VALID);
    put(&maker, level_1, 1, large | SGPU_PTE_VALID);
    for (uint64_t i = 0; i < 48; i++)
        put(&maker, small, i, (0x100000 + i * PAGE_BYTES) | SGPU_PTE_VALID);
    put(&maker, large, 1, 0x200000 | SGPU_PTE_VALID);
    expect_reads(&rig, root, 0, PAGE_BYTES);
    expect_reads(&rig, root, 0x11000, PAGE_BYTES);
    expect_reads(&rig, root, 0, 48 * PAGE_BYTES);
    rig_fini(&rig);
}

/* Behind a table lies another one, whose entries go on where those of the first one end. */
static void a_run_ends_with_its_table(void **state)
{
    const uint64_t va = 64 * MiB;
    static struct runs runs;
    struct sgpu_walk walk;
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, va + 8 * PAGE_BYTES, 504, 0x100000 | SGPU_PTE_VALID);
    sgpu_mmu_walk(rig.gpu, root, va + 8 * PAGE_BYTES, &walk);
    for (uint64_t i = 0; i < SGPU_TABLE_ENTRIES; i++)
        rig_entries(&rig, walk.tables_pa[0] + PAGE_BYTES)[i] =
            (0x100000 + (504 + i) * PAGE_BYTES) | SGPU_PTE_VALID;
    runs.count = 0;
    assert_true(sgpu_mmu_for_each_run(rig.gpu, root, va, va + 8 * MiB, take_run, &runs));
    assert_int_equal(runs.count, 1);
    assert_int_equal(runs.list[0].bytes, 504 * PAGE_BYTES);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_tables_of_any_shape_are_those_of_their_walks),
        cmocka_unit_test(packets_reach_what_walks_through_any_shape_say),
        cmocka_unit_test(entries_beside_a_64_kib_one_are_never_cached),
        cmocka_unit_test(a_run_ends_with_its_table),
    };

    return cmocka_run_group_tests_name("sgpu/shapes", tests, NULL, NULL);
}
