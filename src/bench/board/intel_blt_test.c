/*
 * The model of Intel's copy engines (examples/gpu/intel_blt/), driven by registers and packets
 * through the machine: the command streamer, what is told of a batch, and each kind of page. Copies
 * and fills: intel_blt_copies_test.c; batches that mean harm: intel_blt_harm_test.c.
 */
#include "bench/board/rig/test_copy_engines.h"

/* ---- Command streamer ------------------------------------------------------------------------ */

static void batches_chain_and_come_back(void **state)
{
    struct blt_rig rig;

    blt_open(&rig);
    blt_put_store(&rig, VA(DATA), 1);
    blt_write_batch(&rig, SECOND);
    blt_put(&rig, IBLT_MI_BATCH_START | IBLT_PPGTT | IBLT_SECOND_LEVEL | 1);
    blt_put_wide(&rig, VA(SECOND));
    blt_put_store(&rig, VA(DATA) + 4, 2); /* behind the second level */
    blt_put(&rig, IBLT_MI_BATCH_START | IBLT_PPGTT | 1);
    blt_put_wide(&rig, VA(OTHER)); /* and there is no way back from a chain */
    blt_put_store(&rig, VA(DATA) + 8, 3);
    blt_play_any(&rig, IBLT_NODE_COPY); /* page OTHER is zeros: no operation, up to its end */
    assert_int_equal(blt_word_at(&rig, DATA, 0), 1);
    assert_int_equal(blt_word_at(&rig, DATA, 4), 2);
    assert_int_equal(blt_word_at(&rig, DATA, 8), 0);
    blt_put_word(&rig, OTHER, 16, IBLT_MI_BATCH_END);
    blt_start_engines(&rig);
    blt_ring_batch(&rig, IBLT_NODE_COPY);
    blt_run(&rig);
    assert_string_equal(rig.model.fault, "");
    assert_int_equal(rig.model.messages[IBLT_NODE_COPY], 1);
    assert_int_equal(blt_peek(&rig, blt_bases[IBLT_NODE_COPY] + IBLT_RING_HEAD), 16);
    blt_close(&rig);
}

static void data_is_stored_in_words_of_32_and_64_bits(void **state)
{
    struct blt_rig rig;

    blt_open(&rig);
    blt_put_store(&rig, VA(DATA) + 4, 0x11111111);
    blt_put(&rig, IBLT_MI_STORE_DATA | IBLT_STORE_QWORDS | 5);
    blt_put_wide(&rig, VA(DATA) + 0xff8); /* over the end of the page */
    blt_put_wide(&rig, UINT64_C(0x2222222233333333));
    blt_put_wide(&rig, UINT64_C(0x4444444455555555));
    blt_play(&rig, IBLT_NODE_VIDEO);
    assert_int_equal(blt_word_at(&rig, DATA, 4), 0x11111111);
    assert_int_equal(blt_word_at(&rig, DATA, 0xff8), 0x33333333);
    assert_int_equal(blt_word_at(&rig, DATA, 0xffc), 0x22222222);
    assert_int_equal(blt_word_at(&rig, OTHER, 0), 0x55555555);
    assert_int_equal(blt_word_at(&rig, OTHER, 4), 0x44444444);
    blt_close(&rig);
}

static void semaphores_compare_what_memory_has(void **state)
{
    static const struct {
        uint32_t compare, data;
        bool goes; /* with 5 in memory */
    } waits[] = {
        {0, 4, true}, {0, 5, false}, {1, 5, true}, {1, 6, false}, {2, 6, true}, {2, 5, false},
        {3, 5, true}, {3, 4, false}, {4, 5, true}, {4, 4, false}, {5, 4, true}, {5, 5, false},
    };
    struct blt_rig rig;

    blt_open(&rig);
    for (unsigned i = 0; i < ARRAY_COUNT(waits); i++) {
        const unsigned before = rig.model.messages[IBLT_NODE_COPY];

        blt_put_word(&rig, DATA, 0, 5);
        blt_put(&rig, IBLT_MI_SEMAPHORE_WAIT | 1u << 15 | waits[i].compare << 12 | 3);
        blt_put(&rig, waits[i].data);
        blt_put_wide(&rig, VA(DATA));
        blt_put(&rig, 0);
        blt_play_any(&rig, IBLT_NODE_COPY);
        assert_string_equal(rig.model.fault, "");
        assert_int_equal(rig.model.messages[IBLT_NODE_COPY], before + waits[i].goes);
        assert_true(rig.events < 10000); /* it does not look all the time */
        blt_start_engines(&rig);
    }
    blt_close(&rig);
}

static void engines_wait_for_each_other(void **state)
{
    struct blt_rig rig;

    blt_open(&rig);
    blt_put(&rig, IBLT_MI_SEMAPHORE_WAIT | 1u << 15 | 5u << 12 | 3); /* until it is not 0 */
    blt_put(&rig, 0);
    blt_put_wide(&rig, VA(DATA));
    blt_put(&rig, 0);
    blt_put_store(&rig, VA(DATA) + 4, 7);
    blt_write_batch(&rig, BATCH);
    blt_ring_batch(&rig, IBLT_NODE_COPY);
    for (unsigned i = 0; i < 5; i++)
        machine_run_next(rig.model.machine);
    assert_int_equal(blt_word_at(&rig, DATA, 4), 0);
    blt_put_store(&rig, VA(DATA), 1);
    blt_write_batch(&rig, SECOND);
    {
        const uint32_t words[] = {IBLT_MI_BATCH_START | IBLT_PPGTT | 1, (uint32_t)VA(SECOND),
                                  (uint32_t)(VA(SECOND) >> 32), IBLT_MI_NOOP};

        blt_poke(&rig, blt_bases[IBLT_NODE_RENDER] + IBLT_RING_START, 4, GLOBAL(SPARE));
        for (unsigned i = 0; i < ARRAY_COUNT(words); i++)
            blt_put_word(&rig, SPARE, 4 * i, words[i]);
        blt_poke(&rig, blt_bases[IBLT_NODE_RENDER] + IBLT_RING_TAIL, 4, sizeof words);
    }
    blt_run(&rig);
    assert_string_equal(rig.model.fault, "");
    assert_int_equal(blt_word_at(&rig, DATA, 4), 7);
    assert_int_equal(rig.model.messages[IBLT_NODE_COPY], 1);
    blt_close(&rig);
}

static void flushes_write_behind_everything(void **state)
{
    uint32_t time;
    struct blt_rig rig;

    blt_open(&rig);
    blt_put(&rig, IBLT_MI_FLUSH_DW | 3); /* as they are seen between copies */
    blt_put_zeros(&rig, 4);
    blt_put(&rig, IBLT_MI_FLUSH_DW | 1u << 16 | 1u << 9 | 3);
    blt_put_zeros(&rig, 4);
    blt_put(&rig, IBLT_MI_ARB_CHECK);
    blt_put(&rig, IBLT_MI_FLUSH_DW | IBLT_FLUSH_WRITE | 3);
    blt_put_wide(&rig, VA(DATA) + 8);
    blt_put_wide(&rig, UINT64_C(0x123456789abcdef0));
    blt_put(&rig, IBLT_MI_FLUSH_DW | 3u << 14 | 3);
    blt_put_wide(&rig, VA(DATA) + 16);
    blt_put_wide(&rig, 0);
    blt_put(&rig, IBLT_MI_STORE_REGISTER | IBLT_REMAP | 2);
    blt_put(&rig, 0x2358);
    blt_put_wide(&rig, VA(DATA) + 24);
    machine_run_until(rig.model.machine, 5000000);
    blt_play(&rig, IBLT_NODE_COPY);
    assert_int_equal(blt_word_at(&rig, DATA, 8), 0x9abcdef0);
    assert_int_equal(blt_word_at(&rig, DATA, 12), 0x12345678);
    time = blt_word_at(&rig, DATA, 16);
    assert_in_range(time, 5000 * 12, 5100 * 12); /* of 12 MHz */
    assert_in_range(blt_word_at(&rig, DATA, 24), time, 5100 * 12);
    blt_close(&rig);
}

static void batches_write_no_registers_but_those_that_they_may(void **state)
{
    struct drydock_gpu_translation found;
    const struct drydock_gpu_place root = {true, TABLES};
    struct blt_rig rig;

    blt_open(&rig);
    blt_put(&rig, IBLT_MI_LOAD_REGISTER | 3);
    blt_put(&rig, blt_bases[IBLT_NODE_COPY] + IBLT_PDP0);
    blt_put(&rig, 0x7000); /* no table: nothing would answer behind it */
    blt_put(&rig, 0x2580);
    blt_put(&rig, 1);
    blt_put_store(&rig, VA(DATA), 1);
    blt_play(&rig, IBLT_NODE_COPY);
    assert_int_equal(blt_word_at(&rig, DATA, 0), 1);

    /* What is cached goes on to be used, until the register is written. */
    blt_map_at(&rig, VA(DATA), 0, rig.pages[OTHER] | SYSTEM);
    assert_true(gpu_plugin_translate(rig.model.plugin, root, VA(DATA), &found));
    assert_int_equal(found.at.address, rig.pages[OTHER]);
    for (uint32_t i = 0; i < 2; i++) {
        blt_put(&rig, IBLT_MI_LOAD_REGISTER | 1);
        blt_put(&rig, IBLT_TLB_COPY);
        blt_put(&rig, 3);
        blt_put_store(&rig, VA(DATA), 2 + i);
        blt_play(&rig, IBLT_NODE_COPY);
        assert_int_equal(blt_word_at(&rig, DATA, 0), 2);
        blt_poke(&rig, blt_bases[IBLT_NODE_COPY] + IBLT_NONPRIV(3), 4, IBLT_TLB_COPY);
    }
    assert_int_equal(blt_word_at(&rig, OTHER, 0), 3);
    blt_close(&rig);
}

static void a_flush_and_another_root_empty_the_engines_cache(void **state)
{
    struct blt_rig rig;

    blt_open(&rig);
    blt_put_store(&rig, VA(DATA), 1);
    blt_play(&rig, IBLT_NODE_COPY);
    blt_map_at(&rig, VA(DATA), 0, rig.pages[OTHER] | SYSTEM);
    blt_put(&rig, IBLT_MI_FLUSH_DW | IBLT_FLUSH_TLB | 3);
    blt_put_zeros(&rig, 4);
    blt_put_store(&rig, VA(DATA), 2);
    blt_play(&rig, IBLT_NODE_COPY);
    assert_int_equal(blt_word_at(&rig, DATA, 0), 1);
    assert_int_equal(blt_word_at(&rig, OTHER, 0), 2);
    blt_map_at(&rig, VA(DATA), 0, rig.pages[DATA] | SYSTEM);
    blt_poke(&rig, blt_bases[IBLT_NODE_COPY] + IBLT_PDP0, 4, TABLES);
    blt_put_store(&rig, VA(DATA), 3);
    blt_play(&rig, IBLT_NODE_COPY);
    assert_int_equal(blt_word_at(&rig, DATA, 0), 3);
    blt_close(&rig);
}

static void a_word_is_copied(void **state)
{
    struct blt_rig rig;

    blt_open(&rig);
    blt_put_word(&rig, DATA, 12, 0xfeedbeef);
    blt_put(&rig, IBLT_MI_COPY_MEM_MEM | 3);
    blt_put_wide(&rig, VA(OTHER) + 4);
    blt_put_wide(&rig, VA(DATA) + 12);
    blt_play(&rig, IBLT_NODE_VIDEO);
    assert_int_equal(blt_word_at(&rig, OTHER, 4), 0xfeedbeef);
    blt_close(&rig);
}

/* What the user-mode driver sends around its kernels; the kernels themselves are not run. */
static void compute_packets_are_stepped_over(void **state)
{
    static const struct {
        uint32_t header, words;
    } over[] = {
        {0x61010014, 22}, {0x69048302, 1}, {0x72000004, 6}, {0x61050000, 2}, {0x79190002, 4}};
    struct blt_rig rig;

    blt_open(&rig);
    for (unsigned i = 0; i < ARRAY_COUNT(over); i++) {
        blt_put(&rig, over[i].header);
        blt_put_zeros(&rig, over[i].words - 1);
    }
    blt_put(&rig, 0x7a000a04);
    blt_put(&rig, 1u << 14);
    blt_put_wide(&rig, VA(DATA) + 8);
    blt_put_wide(&rig, 77);
    for (uint32_t what = 0; what < 4; what += what ? 2 : 1) { /* none, at once, times */
        blt_put(&rig, 0x72080025);
        blt_put_zeros(&rig, 25);
        blt_put(&rig, what);
        blt_put_wide(&rig, VA(DATA) + 64 * (what + 1));
        blt_put_wide(&rig, 88);
        blt_put_zeros(&rig, 8);
    }
    blt_put_store(&rig, VA(DATA), 99);
    machine_run_until(rig.model.machine, 1000000);
    blt_play(&rig, IBLT_NODE_RENDER);
    assert_int_equal(gpu_plugin_left_out(rig.model.plugin), 3);
    assert_int_equal(blt_word_at(&rig, DATA, 8), 77);
    assert_int_equal(blt_word_at(&rig, DATA, 64), 0);
    assert_int_equal(blt_word_at(&rig, DATA, 128), 88);
    assert_in_range(blt_word_at(&rig, DATA, 256), 12000, 12100);
    assert_int_equal(blt_word_at(&rig, DATA, 264), blt_word_at(&rig, DATA, 256) + 1);
    assert_int_equal(blt_word_at(&rig, DATA, 0), 99);
    blt_close(&rig);
}

/* ---- What a batch will do -------------------------------------------------------------------- */

struct told {
    struct blt_rig *rig;
    struct drydock_gpu_access accesses[16];
    unsigned count;
};

static bool show_batch(void *context, uint64_t va, void *out, uint64_t bytes)
{
    struct told *told = context;

    if (va < VA(0) || va >= VA(PAGES) || bytes > PAGE_BYTES - va % PAGE_BYTES)
        return false;
    blt_read_page(told->rig, (unsigned)((va - VA(0)) / PAGE_BYTES), va % PAGE_BYTES, out, bytes);
    return true;
}

static void take_access(void *context, const struct drydock_gpu_access *access)
{
    struct told *told = context;

    if (told->count < ARRAY_COUNT(told->accesses))
        told->accesses[told->count] = *access;
    told->count++;
}

static bool walk(struct blt_rig *rig, struct told *told)
{
    *told = (struct told){.rig = rig};
    return gpu_plugin_walk_batch(
        rig->model.plugin, VA(BATCH), PAGE_BYTES,
        &(struct drydock_gpu_walk){.context = told, .read = show_batch, .each = take_access});
}

static void expect_access(const struct told *told, unsigned i, enum drydock_gpu_access_kind kind,
                          uint64_t from, uint64_t to, uint64_t bytes, uint64_t value)
{
    assert_true(i < told->count);
    assert_int_equal(told->accesses[i].kind, kind);
    assert_int_equal(told->accesses[i].from, from);
    assert_int_equal(told->accesses[i].to, to);
    assert_int_equal(told->accesses[i].bytes, bytes);
    assert_int_equal(told->accesses[i].value, value);
}

/* Through a batch of second level. */
static void a_batch_is_told_without_being_run(void **state)
{
    const uint8_t colour[16] = {0x5a};
    const struct blt_shape rows = {
        .pitch = 64, .right = 16, .bottom = 2, .to = VA(OTHER), .from = VA(DATA), .from_pitch = 32};
    const struct blt_shape piece = {
        .pitch = 64, .right = 64, .bottom = 4, .to = VA(OTHER), .to_slice = 1, .to_slice_rows = 8};
    const struct blt_shape many = {.pitch = 32,
                                   .right = 16,
                                   .bottom = 65,
                                   .to = VA(OTHER),
                                   .from = VA(DATA),
                                   .from_pitch = 16};
    uint32_t before;
    struct told told;
    struct blt_rig rig;

    blt_open(&rig);
    blt_put_bytes(&rig, DATA);
    blt_put_copy(&rig, &rows);
    blt_write_batch(&rig, SECOND);
    blt_put(&rig, IBLT_MI_BATCH_START | IBLT_PPGTT | IBLT_SECOND_LEVEL | 1);
    blt_put_wide(&rig, VA(SECOND));
    blt_put_fill(&rig, &piece, colour);
    blt_put_store(&rig, VA(DATA) + 8, 7);
    blt_put(&rig, IBLT_MI_FLUSH_DW | IBLT_FLUSH_WRITE | 3);
    blt_put_wide(&rig, VA(DATA) + 16);
    blt_put_wide(&rig, 0x123456789abc);
    blt_write_batch(&rig, BATCH);
    before = blt_word_at(&rig, OTHER, 0);
    assert_true(walk(&rig, &told));
    assert_int_equal(told.count, 5);
    expect_access(&told, 0, DRYDOCK_GPU_COPY, VA(DATA), VA(OTHER), 16, 0);
    expect_access(&told, 1, DRYDOCK_GPU_COPY, VA(DATA) + 32, VA(OTHER) + 64, 16, 0);
    expect_access(&told, 2, DRYDOCK_GPU_FILL, 0, VA(OTHER) + 512, 256,
                  UINT64_C(0x5a5a5a5a5a5a5a5a));
    expect_access(&told, 3, DRYDOCK_GPU_WRITE, 0, VA(DATA) + 8, 4, 0);
    expect_access(&told, 4, DRYDOCK_GPU_WRITE, 0, VA(DATA) + 16, 8, 0x123456789abc);
    assert_int_equal(blt_word_at(&rig, OTHER, 0), before);

    blt_put_copy(&rig, &many);
    blt_put(&rig, IBLT_COMPUTE_WALKER | 37);
    blt_put_zeros(&rig, 38);
    blt_write_batch(&rig, BATCH);
    assert_true(walk(&rig, &told));
    assert_int_equal(told.count, 3);
    expect_access(&told, 0, DRYDOCK_GPU_READ, VA(DATA), 0, 64 * 16 + 16, 0);
    expect_access(&told, 1, DRYDOCK_GPU_WRITE, 0, VA(OTHER), 64 * 32 + 16, 0);
    assert_int_equal(told.accesses[2].kind, DRYDOCK_GPU_UNKNOWN);
    blt_close(&rig);
}

/* One that goes round for ever, one that is not shown, one of an unknown packet. */
static void a_batch_that_cannot_be_told_to_its_end_is_none(void **state)
{
    const uint64_t next[] = {VA(BATCH), VA(PAGES), 0};
    struct told told;
    struct blt_rig rig;

    blt_open(&rig);
    for (unsigned i = 0; i < ARRAY_COUNT(next); i++) {
        blt_put_store(&rig, VA(DATA), 1);
        if (next[i]) {
            blt_put(&rig, IBLT_MI_BATCH_START | IBLT_PPGTT | 1);
            blt_put_wide(&rig, next[i]);
        } else {
            blt_put(&rig, IBLT_MI(0x3fu));
        }
        blt_write_batch(&rig, BATCH);
        assert_false(walk(&rig, &told));
        assert_true(told.count >= 1 && told.count <= 65536);
    }
    blt_close(&rig);
}

/* ---- Pages ----------------------------------------------------------------------------------- */

static void pages_of_all_sizes_translate(void **state)
{
    static const struct {
        uint64_t va, local;
    } rows[] = {
        {VA_COMPACT, LOCAL_COMPACT + 0x10000},
        {VA_COMPACT + 0xf123, LOCAL_COMPACT + 0x1f000},
        {VA_COMPACT + 0x10000, LOCAL_COMPACT},
        {VA_HINT, LOCAL_HINT},
        {VA_HINT + 0xf000, LOCAL_HINT + 0xf000},
        {VA_LARGE + 0x1ff000, LOCAL_LARGE + 0x1ff000},
        {VA_HUGE + 0x5000, 0x5000},
    };
    const struct drydock_gpu_place root = {true, TABLES};
    struct drydock_gpu_translation found;
    struct blt_rig rig;

    blt_open(&rig);
    for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
        uint32_t value;

        assert_true(gpu_plugin_translate(rig.model.plugin, root, rows[i].va, &found));
        assert_true(found.is_valid && found.at.is_local && !found.is_read_only);
        assert_int_equal(found.at.address, rows[i].local);
        blt_put_store(&rig, rows[i].va & ~UINT64_C(3), 0xc0de0000 + i);
        blt_play(&rig, IBLT_NODE_COPY);
        page_store_read(machine_local(rig.model.machine), rows[i].local + (rows[i].va & 0xffc),
                        &value, sizeof value);
        assert_int_equal(value, 0xc0de0000 + i);
    }
    assert_true(gpu_plugin_translate(rig.model.plugin, root, VA(DATA), &found));
    assert_true(found.is_valid && !found.at.is_local);
    assert_int_equal(found.at.address, rig.pages[DATA]);
    assert_true(gpu_plugin_translate(rig.model.plugin, root, VA_NULL, &found));
    assert_true(found.is_valid && found.is_zero);
    assert_true(gpu_plugin_translate(rig.model.plugin, root, VA_READ_ONLY, &found));
    assert_true(found.is_valid && found.is_read_only);
    assert_true(gpu_plugin_translate(rig.model.plugin, root, VA_NOTHING, &found));
    assert_false(found.is_valid);
    blt_close(&rig);
}

static void no_page_reads_as_zeros_and_keeps_nothing(void **state)
{
    const struct blt_shape out = {.pitch = 4096,
                                  .right = 64,
                                  .bottom = 1,
                                  .to = VA(OTHER),
                                  .from_pitch = 4096,
                                  .from = VA_NULL};
    struct blt_rig rig;

    blt_open(&rig);
    blt_put_word(&rig, OTHER, 60, 1);
    blt_put_word(&rig, OTHER, 64, 1);
    blt_put_store(&rig, VA_NULL, 5);
    blt_put_copy(&rig, &out);
    blt_play(&rig, IBLT_NODE_COPY);
    assert_int_equal(blt_word_at(&rig, OTHER, 60), 0);
    assert_int_equal(blt_word_at(&rig, OTHER, 64), 1);
    blt_close(&rig);
}

static void the_clients_work_is_told(void **state)
{
    struct drydock_gpu_reference reference = {.va = VA_LARGE,
                                              .bytes = 3 * PAGE_BYTES,
                                              .key = UINT64_C(0xfedcba9876543210),
                                              .is_read = true,
                                              .is_written = true};
    const struct drydock_gpu_work work = {.token = UINT64_C(0x8000000000000001),
                                          .duration_ns = UINT32_MAX,
                                          .reference_count = 1,
                                          .references = &reference};
    struct blt_rig rig;
    uint32_t bytes;

    blt_open(&rig);
    bytes = gpu_plugin_commands(rig.model.plugin, &work, rig.batch, sizeof rig.batch);
    assert_int_equal(bytes, 4 * (3 * IBLT_WORK_WORDS + 2));
    assert_int_equal(gpu_plugin_commands(rig.model.plugin, &work, NULL, 0), bytes);
    blt_write_page(&rig, BATCH, 0, rig.batch, bytes);
    blt_ring_batch(&rig, IBLT_NODE_RENDER);
    while (machine_run_next(rig.model.machine))
        ;
    assert_string_equal(rig.model.fault, "");
    assert_true(machine_now(rig.model.machine) >= UINT32_MAX);
    assert_true(rig.model.begun == work.token && rig.model.ended == work.token);
    assert_int_equal(rig.model.read_bytes, 3 * PAGE_BYTES);
    assert_int_equal(rig.model.written_bytes, 3 * PAGE_BYTES);
    assert_true(page_store_is_tag(machine_local(rig.model.machine), LOCAL_LARGE, PAGE_BYTES,
                                  reference.key, NULL));
    blt_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_chain_and_come_back),
        cmocka_unit_test(data_is_stored_in_words_of_32_and_64_bits),
        cmocka_unit_test(semaphores_compare_what_memory_has),
        cmocka_unit_test(engines_wait_for_each_other),
        cmocka_unit_test(flushes_write_behind_everything),
        cmocka_unit_test(batches_write_no_registers_but_those_that_they_may),
        cmocka_unit_test(a_flush_and_another_root_empty_the_engines_cache),
        cmocka_unit_test(a_word_is_copied),
        cmocka_unit_test(compute_packets_are_stepped_over),
        cmocka_unit_test(a_batch_is_told_without_being_run),
        cmocka_unit_test(a_batch_that_cannot_be_told_to_its_end_is_none),
        cmocka_unit_test(pages_of_all_sizes_translate),
        cmocka_unit_test(no_page_reads_as_zeros_and_keeps_nothing),
        cmocka_unit_test(the_clients_work_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
