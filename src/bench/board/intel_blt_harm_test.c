/*
 * Batches, rings and tables that mean harm to the model of Intel's copy engines: the engine stops
 * with words, and neither it nor the machine goes on for ever.
 */
#include "bench/board/rig/test_copy_engines.h"

/* ---- Batches that mean harm ------------------------------------------------------------------ */

static void what_is_not_known_stops_the_engine(void **state)
{
    struct blt_rig rig;

    blt_open(&rig);
    blt_put(&rig, IBLT_MI(0x3fu));
    blt_play_fault(&rig, IBLT_NODE_COPY, "packet 0x1f800000 is not known");
    assert_int_equal(rig.model.faulting.node, IBLT_NODE_COPY);
    blt_put(&rig, 0x50000014);
    blt_play_fault(&rig, IBLT_NODE_COPY, "packet 0x50000014 is not known");
    blt_put(&rig, IBLT_BLOCK_COPY | 19);
    blt_play_fault(&rig, IBLT_NODE_COPY,
                   "XY_BLOCK_COPY_BLT (0x50400013): has another number of words");
    blt_put(&rig, IBLT_BLOCK_COPY | 20);
    blt_play_fault(&rig, IBLT_NODE_RENDER, "is of another engine than node 0x0");
    blt_put(&rig, 0x7a000a04);
    blt_play_fault(&rig, IBLT_NODE_COPY, "PIPE_CONTROL (0x7a000a04): is of another engine");
    blt_put(&rig, IBLT_MI_FLUSH_DW | 0x3f);
    blt_play_fault(&rig, IBLT_NODE_COPY, "a number of words that is not known");
    blt_put(&rig, IBLT_MI_STORE_DATA | 1);
    blt_put_wide(&rig, VA(DATA));
    blt_play_fault(&rig, IBLT_NODE_COPY, "words without data");
    blt_put(&rig, IBLT_MI_LOAD_REGISTER | 2);
    blt_play_fault(&rig, IBLT_NODE_COPY, "half a register");
    blt_put(&rig, IBLT_MI_SEMAPHORE_WAIT | 6u << 12 | 3);
    blt_put(&rig, 0);
    blt_put_wide(&rig, VA(DATA));
    blt_put(&rig, 0);
    blt_play_fault(&rig, IBLT_NODE_COPY, "no such comparison");
    blt_close(&rig);
}

static void wild_addresses_stop_the_engine(void **state)
{
    const uint8_t colour[16] = {0};
    struct blt_shape shape = {.depth = 0, .pitch = 64, .right = 8, .bottom = 1, .from_pitch = 64};
    const uint64_t wild[] = {VA_NOTHING, 0, UINT64_MAX - 7, VA_READ_ONLY, VA_LARGE + 0x200000};
    struct blt_rig rig;

    blt_open(&rig);
    for (unsigned i = 0; i < ARRAY_COUNT(wild); i++) {
        blt_put_store(&rig, wild[i], 1);
        blt_play_fault(&rig, IBLT_NODE_COPY, "MI_STORE_DATA_IMM (0x10000002): cannot write 0x");
        blt_put(&rig, IBLT_MI_FLUSH_DW | IBLT_FLUSH_WRITE | 3);
        blt_put_wide(&rig, wild[i] & ~UINT64_C(7));
        blt_put_wide(&rig, 0);
        blt_play_fault(&rig, IBLT_NODE_VIDEO, "MI_FLUSH_DW (0x13004003): cannot write 0x");
        shape.to = wild[i];
        shape.from = VA(DATA);
        blt_put_copy(&rig, &shape);
        blt_play_fault(&rig, IBLT_NODE_COPY, "cannot write");
        blt_put_fill(&rig, &shape, colour);
        blt_play_fault(&rig, IBLT_NODE_COPY, "cannot write");
        if (wild[i] == VA_READ_ONLY)
            continue;
        shape.to = VA(DATA);
        shape.from = wild[i];
        blt_put_copy(&rig, &shape);
        blt_play_fault(&rig, IBLT_NODE_COPY, "cannot read");
        blt_put(&rig, IBLT_MI_BATCH_START | IBLT_PPGTT | 1);
        blt_put_wide(&rig, wild[i]);
        blt_play_fault(&rig, IBLT_NODE_COPY, "a batch goes on where nothing answers");
        blt_put(&rig, IBLT_MI_SEMAPHORE_WAIT | 4u << 12 | 3);
        blt_put(&rig, 0);
        blt_put_wide(&rig, wild[i]);
        blt_put(&rig, 0);
        blt_play_fault(&rig, IBLT_NODE_COPY, "cannot read");
    }
    /* The last page is there, the one behind it is not. */
    shape = (struct blt_shape){.pitch = 4096,
                               .right = 4096,
                               .bottom = 9,
                               .to = VA_LARGE + 0x1fa000,
                               .from_pitch = 4096,
                               .from = VA_LARGE};
    blt_put_copy(&rig, &shape);
    blt_play_fault(&rig, IBLT_NODE_COPY, "cannot write 0x80200000");
    blt_close(&rig);
}

static void batches_keep_to_their_address_space(void **state)
{
    struct blt_rig rig;

    blt_open(&rig);
    blt_put(&rig, IBLT_MI_STORE_DATA | IBLT_STORE_GGTT | 2);
    blt_put_wide(&rig, GLOBAL(DATA));
    blt_put(&rig, 1);
    blt_play_fault(&rig, IBLT_NODE_COPY, "a batch may not write by global address");
    blt_put(&rig, IBLT_MI_FLUSH_DW | IBLT_FLUSH_WRITE | 3);
    blt_put_wide(&rig, GLOBAL(DATA) | IBLT_ADDRESS_GGTT);
    blt_put_wide(&rig, 1);
    blt_play_fault(&rig, IBLT_NODE_COPY, "a batch may not write by global address");
    blt_put(&rig, IBLT_MI_COPY_MEM_MEM | 1u << 22 | 3);
    blt_put_wide(&rig, VA(DATA));
    blt_put_wide(&rig, GLOBAL(RING));
    blt_play_fault(&rig, IBLT_NODE_COPY, "a batch may not read by global address");
    blt_put(&rig, IBLT_MI_BATCH_START | 1);
    blt_put_wide(&rig, GLOBAL(OTHER));
    blt_play_fault(&rig, IBLT_NODE_COPY, "a batch may not leave its address space");
    assert_int_equal(blt_word_at(&rig, DATA, 0), 0);
    blt_close(&rig);
}

/* A loop takes more and more time: few events until the watchdog comes. */
static void loops_do_not_keep_the_machine(void **state)
{
    struct blt_rig rig;

    blt_open(&rig);
    blt_put(&rig, IBLT_MI_BATCH_START | IBLT_PPGTT | 1);
    blt_put_wide(&rig, VA(BATCH));
    blt_play_any(&rig, IBLT_NODE_COPY);
    assert_string_equal(rig.model.fault, "");
    assert_int_equal(rig.model.messages[IBLT_NODE_COPY], 0);
    assert_true(rig.events < 100000);
    blt_start_engines(&rig);
    assert_false(machine_run_next(rig.model.machine)); /* nothing is left of it */
    /* The second level calls itself: there is no third, so that it is a chain. */
    blt_put(&rig, IBLT_MI_BATCH_START | IBLT_PPGTT | IBLT_SECOND_LEVEL | 1);
    blt_put_wide(&rig, VA(BATCH));
    blt_play_any(&rig, IBLT_NODE_COPY);
    assert_string_equal(rig.model.fault, "");
    assert_true(rig.events < 100000);
    blt_start_engines(&rig);
    blt_put_store(&rig, VA(DATA), 1);
    blt_play(&rig, IBLT_NODE_COPY);
    blt_close(&rig);
}

/* As large as a packet can say, over and over the same page. */
static void huge_rectangles_do_not_keep_the_machine(void **state)
{
    const struct blt_shape shape = {.depth = 5,
                                    .pitch = 1,
                                    .right = 8,
                                    .bottom = 65535,
                                    .to = VA_LARGE,
                                    .from_pitch = 1,
                                    .from = VA_LARGE + 0x20000};
    struct blt_rig rig;

    blt_open(&rig);
    blt_put_copy(&rig, &shape);
    blt_play_any(&rig, IBLT_NODE_COPY);
    assert_string_equal(rig.model.fault, "");
    assert_true(rig.events < 10000);
    blt_close(&rig);
}

static void rings_that_make_no_sense_stop_the_engine(void **state)
{
    const uint32_t end[] = {IBLT_MI_BATCH_END, 0}, cut[] = {IBLT_MI_STORE_DATA | 2, 0};
    struct blt_rig rig;

    blt_open(&rig);
    blt_ring(&rig, IBLT_NODE_COPY, end, 2);
    blt_run(&rig);
    assert_non_null(strstr(rig.model.fault, "the ring is no batch"));
    blt_start_engines(&rig);
    blt_ring(&rig, IBLT_NODE_COPY, cut, 2);
    blt_run(&rig);
    assert_non_null(strstr(rig.model.fault, "is not whole in the ring"));
    blt_start_engines(&rig);
    blt_poke(&rig, blt_bases[IBLT_NODE_COPY] + IBLT_RING_START, 4, 0xfffff000);
    blt_poke(&rig, blt_bases[IBLT_NODE_COPY] + IBLT_RING_TAIL, 4, 8);
    blt_run(&rig);
    assert_string_equal(rig.model.fault, "a batch goes on where nothing answers");
    blt_start_engines(&rig);
    blt_poke(&rig, IBLT_GGTT + 8 * RING, 8, 0);
    blt_poke(&rig, blt_bases[IBLT_NODE_COPY] + IBLT_RING_TAIL, 4, 8);
    blt_run(&rig);
    assert_string_equal(rig.model.fault, "a batch goes on where nothing answers");
    blt_close(&rig);
}

/* Tables that lead out of local memory, and to themselves. */
static void wild_tables_stop_the_engine(void **state)
{
    const uint64_t roots[] = {TEST_MODEL_LOCAL_BYTES, UINT64_C(0xfffffffff000)};
    const uint64_t itself = TABLES | LOCAL;
    uint32_t value;
    struct drydock_gpu_translation found;
    struct blt_rig rig;

    blt_open(&rig);
    for (unsigned i = 0; i < ARRAY_COUNT(roots); i++) {
        const struct drydock_gpu_place root = {true, roots[i]};

        blt_poke(&rig, blt_bases[IBLT_NODE_COPY] + IBLT_PDP0_UDW, 4, roots[i] >> 32);
        blt_poke(&rig, blt_bases[IBLT_NODE_COPY] + IBLT_PDP0, 4, (uint32_t)roots[i]);
        blt_play_fault(&rig, IBLT_NODE_COPY, "a batch goes on where nothing answers");
        assert_false(gpu_plugin_translate(rig.model.plugin, root, VA(DATA), &found));
    }
    blt_write_local(&rig, TABLES + 8 * 511, &itself, sizeof itself);
    blt_put_store(&rig, UINT64_C(0xfffffffff000), 0x1234); /* the root, through itself */
    blt_play(&rig, IBLT_NODE_COPY);
    page_store_read(machine_local(rig.model.machine), TABLES, &value, sizeof value);
    assert_int_equal(value, 0x1234);
    blt_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_known_stops_the_engine),
        cmocka_unit_test(wild_addresses_stop_the_engine),
        cmocka_unit_test(batches_keep_to_their_address_space),
        cmocka_unit_test(loops_do_not_keep_the_machine),
        cmocka_unit_test(huge_rectangles_do_not_keep_the_machine),
        cmocka_unit_test(rings_that_make_no_sense_stop_the_engine),
        cmocka_unit_test(wild_tables_stop_the_engine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
