/* The packets of the model of Intel's copy engines that copy and fill. */
#include "bench/board/rig/test_copy_engines.h"

/* ---- Copies and fills ------------------------------------------------------------------------ */

static void rectangles_are_copied_at_all_depths(void **state)
{
    static const unsigned depths[] = {1, 2, 4, 8, 12, 16};
    uint8_t from[PAGE_BYTES], to[PAGE_BYTES];
    struct blt_rig rig;

    blt_open(&rig);
    blt_put_bytes(&rig, DATA);
    blt_read_page(&rig, DATA, 0, from, sizeof from);
    for (unsigned i = 0; i < ARRAY_COUNT(depths); i++) {
        const unsigned depth = depths[i];
        const struct blt_shape shape = {.depth = i,
                                        .pitch = 256,
                                        .left = 1,
                                        .top = 2,
                                        .right = 6,
                                        .bottom = 5,
                                        .to = VA(OTHER),
                                        .from_pitch = 300,
                                        .from_left = 3,
                                        .from_top = 1,
                                        .from = VA(DATA) + 5};

        memset(to, 0, sizeof to);
        blt_write_page(&rig, OTHER, 0, to, sizeof to);
        blt_put_copy(&rig, &shape);
        blt_play(&rig, IBLT_NODE_COPY);
        blt_read_page(&rig, OTHER, 0, to, sizeof to);
        for (unsigned at = 0; at < sizeof to; at++) {
            const unsigned row = at / 256, column = at % 256;
            const bool is_in = row >= 2 && row < 5 && column >= depth && column < 6 * depth;
            const unsigned source = 5 + (1 + row - 2) * 300 + 3 * depth + column - depth;

            if (to[at] != (is_in ? from[source] : 0))
                fail_msg("depth %u: byte %u", depth, at);
        }
    }
    blt_close(&rig);
}

static void rectangles_are_filled_at_all_depths(void **state)
{
    static const unsigned depths[] = {1, 2, 4, 8, 12, 16};
    uint8_t colour[16], bytes[2 * PAGE_BYTES];
    struct blt_rig rig;

    blt_open(&rig);
    for (unsigned i = 0; i < sizeof colour; i++)
        colour[i] = (uint8_t)(i + 1);
    for (unsigned i = 0; i < ARRAY_COUNT(depths); i++) {
        /* Rows go over the end of a page amid a colour. */
        const struct blt_shape shape = {
            .depth = i, .pitch = 400, .left = 1, .right = 20, .bottom = 15, .to = VA(DATA) + 3};

        memset(bytes, 0, sizeof bytes);
        blt_write_page(&rig, DATA, 0, bytes, PAGE_BYTES);
        blt_write_page(&rig, OTHER, 0, bytes, PAGE_BYTES);
        blt_put_fill(&rig, &shape, colour);
        blt_play(&rig, IBLT_NODE_PAGING);
        blt_read_page(&rig, DATA, 0, bytes, PAGE_BYTES);
        blt_read_page(&rig, OTHER, 0, bytes + PAGE_BYTES, PAGE_BYTES);
        for (unsigned at = 0; at < sizeof bytes; at++) {
            const unsigned row = (at - 3) / 400, column = (at - 3) % 400, depth = depths[i];
            const bool is_in = at >= 3 && row < 15 && column >= depth && column < 20 * depth;

            if (bytes[at] != (is_in ? colour[column % depth] : 0))
                fail_msg("depth %u: byte %u", depth, at);
        }
    }
    blt_close(&rig);
}

/* The driver's own shape of a copy: rows of 16384, then one for the rest. Over pages of all kinds.
 */
static void long_copies_cross_pages_of_all_kinds(void **state)
{
    const struct blt_shape shapes[] = {
        {.pitch = 16384,
         .right = 16384,
         .bottom = 6,
         .to = VA_LARGE + 0x12345,
         .from_pitch = 16384,
         .from = VA_COMPACT + 0x321},
        {.pitch = 16384,
         .right = 777,
         .bottom = 1,
         .to = VA_LARGE + 0x12345 + 6 * 16384,
         .from_pitch = 16384,
         .from = VA_COMPACT + 0x321 + 6 * 16384},
    };
    static uint8_t from[0x20000], to[6 * 16384 + 778];
    struct blt_rig rig;

    blt_open(&rig);
    for (unsigned i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 3 + i / 1000);
    blt_write_local(&rig, LOCAL_COMPACT + 0x10000, from, 0x10000);
    blt_write_local(&rig, LOCAL_COMPACT, from + 0x10000, 0x10000);
    blt_put_copy(&rig, &shapes[0]);
    blt_put_copy(&rig, &shapes[1]);
    blt_play(&rig, IBLT_NODE_COPY);
    page_store_read(machine_local(rig.model.machine), LOCAL_LARGE + 0x12345, to, sizeof to);
    assert_memory_equal(to, from + 0x321, sizeof to - 1);
    assert_int_equal(to[sizeof to - 1], 0);
    blt_close(&rig);
}

static void ranges_that_overlap_are_copied(void **state)
{
    uint8_t before[PAGE_BYTES], after[PAGE_BYTES];
    const struct blt_shape shape = {.pitch = 4096,
                                    .right = 1000,
                                    .bottom = 1,
                                    .to = VA(DATA) + 100,
                                    .from_pitch = 4096,
                                    .from = VA(DATA)};
    struct blt_rig rig;

    blt_open(&rig);
    blt_put_bytes(&rig, DATA);
    blt_read_page(&rig, DATA, 0, before, sizeof before);
    blt_put_copy(&rig, &shape);
    blt_play(&rig, IBLT_NODE_COPY);
    blt_read_page(&rig, DATA, 0, after, sizeof after);
    assert_memory_equal(after + 100, before, 1000);
    assert_memory_equal(after, before, 100);
    blt_close(&rig);
}

static void a_tiled_surface_comes_back_as_it_was(void **state)
{
    struct blt_shape there = {.depth = 2,
                              .pitch = 128,
                              .right = 100,
                              .bottom = 7,
                              .to = VA_LARGE,
                              .from_pitch = 400,
                              .from = VA(DATA),
                              .tiling = 3};
    uint8_t before[PAGE_BYTES], after[PAGE_BYTES];
    struct blt_rig rig;

    blt_open(&rig);
    blt_put_bytes(&rig, DATA);
    blt_put_copy(&rig, &there);
    blt_put(&rig, IBLT_BLOCK_COPY | IBLT_DEPTH(2u) | (IBLT_BLOCK_COPY_WORDS - 2));
    blt_put(&rig, 400 - 1);
    blt_put(&rig, 0);
    blt_put(&rig, 100 | 7 << 16);
    blt_put_wide(&rig, VA(OTHER));
    blt_put_zeros(&rig, 2);
    blt_put(&rig, (128 - 1) | 3u << 30);
    blt_put_wide(&rig, VA_LARGE);
    blt_put_zeros(&rig, 11);
    blt_play(&rig, IBLT_NODE_COPY);
    blt_read_page(&rig, DATA, 0, before, sizeof before);
    blt_read_page(&rig, OTHER, 0, after, sizeof after);
    assert_memory_equal(after, before, 7 * 400);
    assert_int_equal(after[7 * 400], 0);
    blt_close(&rig);
}

/* Slice 2 of 8 rows each becomes slice 3 of 4 rows each; slice 1 of those is filled. */
static void a_slice_of_a_volume_is_copied_and_filled(void **state)
{
    const struct blt_shape copy = {.pitch = 64,
                                   .right = 64,
                                   .bottom = 4,
                                   .to = VA(OTHER),
                                   .from = VA(DATA),
                                   .from_pitch = 64,
                                   .to_slice = 3,
                                   .to_slice_rows = 4,
                                   .from_slice = 2,
                                   .from_slice_rows = 8};
    const struct blt_shape fill = {
        .pitch = 64, .right = 64, .bottom = 4, .to = VA(OTHER), .to_slice = 1, .to_slice_rows = 4};
    const uint8_t colour[16] = {0x5a};
    uint8_t from[PAGE_BYTES], to[PAGE_BYTES], expected[PAGE_BYTES] = {0};
    struct blt_rig rig;

    blt_open(&rig);
    blt_put_bytes(&rig, DATA);
    blt_put_copy(&rig, &copy);
    blt_put_fill(&rig, &fill, colour);
    blt_play(&rig, IBLT_NODE_COPY);
    blt_read_page(&rig, DATA, 0, from, sizeof from);
    blt_read_page(&rig, OTHER, 0, to, sizeof to);
    memset(expected + 1 * 4 * 64, 0x5a, 4 * 64);
    memcpy(expected + 3 * 4 * 64, from + 2 * 8 * 64, 4 * 64);
    assert_memory_equal(to, expected, sizeof to);
    blt_close(&rig);
}

static void put_mem_copy(struct blt_rig *rig, uint32_t flags, uint32_t width, uint32_t height,
                         uint64_t from, uint64_t to)
{
    blt_put(rig, IBLT_MEM_COPY | flags | (IBLT_MEM_COPY_WORDS - 2));
    blt_put(rig, width - 1);
    blt_put(rig, height - 1);
    blt_put(rig, 64 - 1);
    blt_put(rig, 128 - 1);
    blt_put_wide(rig, from);
    blt_put_wide(rig, to);
    blt_put(rig, 0);
}

static void memory_is_copied_and_set(void **state)
{
    uint8_t from[PAGE_BYTES], to[PAGE_BYTES];
    struct blt_rig rig;

    blt_open(&rig);
    blt_put_bytes(&rig, DATA);
    blt_read_page(&rig, DATA, 0, from, sizeof from);
    put_mem_copy(&rig, 0, 1000, 9, VA(DATA) + 1, VA(OTHER));
    put_mem_copy(&rig, IBLT_MATRIX, 10, 3, VA(DATA), VA(OTHER) + 2048);
    blt_put(&rig, IBLT_MEM_SET | IBLT_MATRIX | (IBLT_MEM_SET_WORDS - 2));
    blt_put(&rig, 5 - 1);
    blt_put(&rig, 2 - 1);
    blt_put(&rig, 32 - 1);
    blt_put_wide(&rig, VA(OTHER) + 3000);
    blt_put(&rig, 0xa5u << 24);
    blt_play(&rig, IBLT_NODE_COPY);
    blt_read_page(&rig, OTHER, 0, to, sizeof to);
    assert_memory_equal(to, from + 1, 1000);
    assert_int_equal(to[1000], 0); /* not in rows: the height does not count */
    for (unsigned row = 0; row < 3; row++) {
        assert_memory_equal(to + 2048 + 128 * row, from + 64 * row, 10);
        assert_int_equal(to[2048 + 128 * row + 10], 0);
    }
    for (unsigned row = 0; row < 2; row++) {
        for (unsigned i = 0; i < 6; i++)
            assert_int_equal(to[3000 + 32 * row + i], i < 5 ? 0xa5 : 0);
    }
    blt_close(&rig);
}

#define VA_FROM  UINT64_C(0xa01f8000) /* of 16 pages: the second eight are in the next table */
#define VA_TO    UINT64_C(0xb0000000)
#define RUN      16u
#define RUN_FROM UINT64_C(0x400000)
#define RUN_TO   UINT64_C(0x500000)
#define RUN_GAP  UINT64_C(0x600000)

/* A page elsewhere ends a piece; one whose old translation the engine has kept, does so, too. */
static void pages_that_lie_one_behind_the_other_are_copied_at_once(void **state)
{
    uint8_t from[RUN * PAGE_BYTES], to[RUN * PAGE_BYTES];
    struct page_store *local;
    struct blt_rig rig;
    unsigned before;

    blt_open(&rig);
    local = machine_local(rig.model.machine);
    for (unsigned i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 7 + i / PAGE_BYTES);
    blt_write_local(&rig, RUN_FROM, from, sizeof from);
    for (unsigned i = 0; i < RUN; i++) {
        blt_map_at(&rig, VA_FROM + i * PAGE_BYTES, 0, (RUN_FROM + i * PAGE_BYTES) | LOCAL);
        blt_map_at(&rig, VA_TO + i * PAGE_BYTES, 0,
                   ((i == 5 ? RUN_GAP : RUN_TO) + i * PAGE_BYTES) | LOCAL);
    }
    put_mem_copy(&rig, 0, sizeof from, 1, VA_FROM, VA_TO);
    before = rig.model.writes;
    blt_play(&rig, IBLT_NODE_COPY);
    assert_int_equal(rig.model.writes - before, 3);
    page_store_read(local, RUN_TO, to, sizeof to);
    assert_memory_equal(to, from, 5 * PAGE_BYTES);
    assert_memory_equal(to + 6 * PAGE_BYTES, from + 6 * PAGE_BYTES, 10 * PAGE_BYTES);
    page_store_read(local, RUN_GAP + 5 * PAGE_BYTES, to, PAGE_BYTES);
    assert_memory_equal(to, from + 5 * PAGE_BYTES, PAGE_BYTES);
    /* Page 9 goes elsewhere, and nobody has told the engine. */
    blt_map_at(&rig, VA_TO + 9 * PAGE_BYTES, 0, (RUN_GAP + 9 * PAGE_BYTES) | LOCAL);
    blt_map_at(&rig, VA_TO + 5 * PAGE_BYTES, 0, (RUN_TO + 5 * PAGE_BYTES) | LOCAL);
    page_store_fill(local, RUN_GAP, sizeof from, 0);
    put_mem_copy(&rig, 0, sizeof from, 1, VA_FROM, VA_TO);
    blt_play(&rig, IBLT_NODE_COPY);
    page_store_read(local, RUN_GAP, to, sizeof to);
    assert_memory_equal(to + 5 * PAGE_BYTES, from + 5 * PAGE_BYTES, PAGE_BYTES);
    assert_int_equal(to[9 * PAGE_BYTES + 1], 0);
    blt_put(&rig, IBLT_MI_FLUSH_DW | IBLT_FLUSH_TLB | 3);
    blt_put_zeros(&rig, 4);
    put_mem_copy(&rig, 0, sizeof from, 1, VA_FROM, VA_TO);
    before = rig.model.writes;
    blt_play(&rig, IBLT_NODE_COPY);
    assert_int_equal(rig.model.writes - before, 3);
    page_store_read(local, RUN_GAP, to, sizeof to);
    assert_memory_equal(to + 9 * PAGE_BYTES, from + 9 * PAGE_BYTES, PAGE_BYTES);
    blt_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rectangles_are_copied_at_all_depths),
        cmocka_unit_test(rectangles_are_filled_at_all_depths),
        cmocka_unit_test(long_copies_cross_pages_of_all_kinds),
        cmocka_unit_test(ranges_that_overlap_are_copied),
        cmocka_unit_test(a_tiled_surface_comes_back_as_it_was),
        cmocka_unit_test(a_slice_of_a_volume_is_copied_and_filled),
        cmocka_unit_test(memory_is_copied_and_set),
        cmocka_unit_test(pages_that_lie_one_behind_the_other_are_copied_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
