/*
 * The model of Intel's copy engines (examples/gpu/intel_blt/), driven by registers and packets
 * through the machine: each packet, each kind of page, and batches that mean harm.
 */
#include "bench/whole_runs/test_model.h"

#include "machine/machine.h"
#include "machine/page_store.h"

#include "../examples/gpu/intel_blt/intel_blt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* System pages, and the virtual addresses and global ones that they have. */
enum { RING, BATCH, SECOND, DATA, OTHER, SPARE, PAGES };
#define VA(page)     (UINT64_C(0x700000000000) + (page)*PAGE_BYTES)
#define GLOBAL(page) ((page)*PAGE_BYTES)

/* Local memory: tables from TABLES on; pages of 64 KiB, of 4 KiB that make up one, and of 2 MiB. */
#define TABLES        UINT64_C(0x10000)
#define VA_COMPACT    UINT64_C(0x40000000)
#define LOCAL_COMPACT UINT64_C(0x100000) /* two pages, the second one in front */
#define VA_HINT       UINT64_C(0x50000000)
#define LOCAL_HINT    UINT64_C(0x140000)
#define VA_LARGE      UINT64_C(0x80000000)
#define LOCAL_LARGE   UINT64_C(0x200000)
#define VA_NULL       UINT64_C(0x90000000)
#define VA_READ_ONLY  UINT64_C(0x90001000)
#define VA_HUGE       UINT64_C(0x8000000000)
#define VA_NOTHING    UINT64_C(0x123456789000)

#define LOCAL   (IBLT_PTE_PRESENT | IBLT_PTE_WRITABLE | IBLT_PTE_LOCAL)
#define SYSTEM  (IBLT_PTE_PRESENT | IBLT_PTE_WRITABLE)
#define POINTER (IBLT_PTE_PRESENT | IBLT_PTE_WRITABLE)

static const uint32_t bases[IBLT_ENGINES] = IBLT_BASES;

struct rig {
    struct test_model model;
    uint64_t pages[PAGES];
    uint64_t next_table;
    uint32_t tail[IBLT_ENGINES];
    uint32_t batch[512];
    unsigned words;
    unsigned events;
};

/* ---- Memory and tables ----------------------------------------------------------------------- */

static void write_local(struct rig *rig, uint64_t at, const void *from, uint64_t bytes)
{
    page_store_write(machine_local(rig->model.machine), at, from, bytes);
}

static void write_page(struct rig *rig, unsigned page, uint64_t offset, const void *from,
                       uint64_t bytes)
{
    page_store_write(machine_ram(rig->model.machine), rig->pages[page] + offset, from, bytes);
}

static void read_page(struct rig *rig, unsigned page, uint64_t offset, void *out, uint64_t bytes)
{
    page_store_read(machine_ram(rig->model.machine), rig->pages[page] + offset, out, bytes);
}

static uint32_t word_at(struct rig *rig, unsigned page, uint64_t offset)
{
    uint32_t value;

    read_page(rig, page, offset, &value, sizeof value);
    return value;
}

static void put_word(struct rig *rig, unsigned page, uint64_t offset, uint32_t value)
{
    write_page(rig, page, offset, &value, sizeof value);
}

/* Makes the tables on the way; the entry of this level is set. */
static void map_at(struct rig *rig, uint64_t va, unsigned level, uint64_t entry)
{
    struct page_store *local = machine_local(rig->model.machine);
    uint64_t table = TABLES;

    for (unsigned i = 3; i > level; i--) {
        uint64_t at = table + 8 * (va >> (12 + 9 * i) & 511), pointer;

        page_store_read(local, at, &pointer, sizeof pointer);
        if (!pointer) {
            rig->next_table += PAGE_BYTES;
            pointer = rig->next_table | POINTER;
            write_local(rig, at, &pointer, sizeof pointer);
        }
        table = pointer & IBLT_PTE_ADDRESS_MASK;
    }
    write_local(rig, table + 8 * (va >> (12 + 9 * level) & 511), &entry, sizeof entry);
}

static void map_everything(struct rig *rig)
{
    const uint64_t compact = TABLES + 0x30000;
    uint64_t entry;

    for (unsigned i = 0; i < PAGES; i++)
        map_at(rig, VA(i), 0, rig->pages[i] | SYSTEM);
    map_at(rig, VA_COMPACT, 1, compact | POINTER | IBLT_PDE_TABLE_64K);
    entry = (LOCAL_COMPACT + 0x10000) | LOCAL;
    write_local(rig, compact, &entry, sizeof entry);
    entry = LOCAL_COMPACT | LOCAL;
    write_local(rig, compact + 8, &entry, sizeof entry);
    for (unsigned i = 0; i < 16; i++) /* what the others say is not looked at */
        map_at(rig, VA_HINT + i * PAGE_BYTES, 0, (i ? 0x7000 : LOCAL_HINT) | LOCAL | IBLT_PTE_64K);
    map_at(rig, VA_LARGE, 1, LOCAL_LARGE | LOCAL | IBLT_PDE_LARGE);
    map_at(rig, VA_NULL, 0, SYSTEM | IBLT_PTE_NULL);
    map_at(rig, VA_READ_ONLY, 0, rig->pages[DATA] | IBLT_PTE_PRESENT);
    map_at(rig, VA_HUGE, 2, LOCAL | IBLT_PDE_LARGE);
}

/* ---- Registers and rings --------------------------------------------------------------------- */

static void poke(struct rig *rig, uint64_t offset, unsigned size, uint64_t value)
{
    assert_true(machine_bus_write(rig->model.machine, machine_bar0_pa(rig->model.machine) + offset,
                                  &value, size));
}

static uint32_t peek(struct rig *rig, uint64_t offset)
{
    uint32_t value = 0;

    machine_bus_read(rig->model.machine, machine_bar0_pa(rig->model.machine) + offset, &value,
                     sizeof value);
    return value;
}

static void start_engines(struct rig *rig)
{
    poke(rig, IBLT_RESET, 4, 1);
    for (unsigned i = 0; i < PAGES; i++)
        poke(rig, IBLT_GGTT + 8 * i, 8, rig->pages[i] | IBLT_PTE_PRESENT);
    for (unsigned i = 0; i < IBLT_ENGINES; i++) {
        poke(rig, bases[i] + IBLT_RING_START, 4, GLOBAL(RING));
        poke(rig, bases[i] + IBLT_RING_CTL, 4, 1);
        poke(rig, bases[i] + IBLT_PDP0_UDW, 4, 0);
        poke(rig, bases[i] + IBLT_PDP0, 4, TABLES);
        rig->tail[i] = 0;
    }
    rig->model.fault[0] = '\0';
}

static void rig_open(struct rig *rig)
{
    memset(rig, 0, sizeof *rig);
    test_model_open(&rig->model, "intel_blt", PAGES, rig->pages);
    rig->next_table = TABLES;
    map_everything(rig);
    start_engines(rig);
}

static void rig_close(struct rig *rig)
{
    test_model_close(&rig->model);
}

/* Two seconds, after which a system resets what is not done. */
static void run(struct rig *rig)
{
    const uint64_t end = machine_now(rig->model.machine) + UINT64_C(2000000000);

    for (rig->events = 0; machine_now(rig->model.machine) < end; rig->events++) {
        if (!machine_run_next(rig->model.machine))
            break;
    }
}

/* These words come next in the ring of a node; all rings are the same page. */
static void ring(struct rig *rig, unsigned node, const uint32_t *words, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        put_word(rig, RING, rig->tail[node], words[i]);
        rig->tail[node] = (rig->tail[node] + 4) % PAGE_BYTES;
    }
    poke(rig, bases[node] + IBLT_RING_TAIL, 4, rig->tail[node]);
}

static void ring_batch(struct rig *rig, unsigned node)
{
    const uint32_t words[] = {IBLT_MI_BATCH_START | IBLT_PPGTT | 1, (uint32_t)VA(BATCH),
                              (uint32_t)(VA(BATCH) >> 32), IBLT_MI_USER_INTERRUPT};

    ring(rig, node, words, ARRAY_COUNT(words));
}

/* ---- Batches --------------------------------------------------------------------------------- */

static void put(struct rig *rig, uint32_t word)
{
    assert_true(rig->words < ARRAY_COUNT(rig->batch));
    rig->batch[rig->words++] = word;
}

static void put_wide(struct rig *rig, uint64_t value)
{
    put(rig, (uint32_t)value);
    put(rig, (uint32_t)(value >> 32));
}

static void put_zeros(struct rig *rig, unsigned count)
{
    while (count--)
        put(rig, 0);
}

static void put_store(struct rig *rig, uint64_t to, uint32_t value)
{
    put(rig, IBLT_MI_STORE_DATA | 2);
    put_wide(rig, to);
    put(rig, value);
}

static void write_batch(struct rig *rig, unsigned page)
{
    put(rig, IBLT_MI_BATCH_END);
    write_page(rig, page, 0, rig->batch, 4 * rig->words);
    rig->words = 0;
}

static void play_any(struct rig *rig, unsigned node)
{
    write_batch(rig, BATCH);
    ring_batch(rig, node);
    run(rig);
}

/* The batch as it is by now, to its end. */
static void play(struct rig *rig, unsigned node)
{
    const unsigned before = rig->model.messages[node];

    play_any(rig, node);
    assert_string_equal(rig->model.fault, "");
    assert_int_equal(rig->model.messages[node], before + 1);
}

/* It stops the engine, with these words; afterwards all are as new. */
static void play_fault(struct rig *rig, unsigned node, const char *text)
{
    const unsigned before = rig->model.messages[node];

    play_any(rig, node);
    if (!strstr(rig->model.fault, text))
        fail_msg("'%s' is not '%s'", rig->model.fault, text);
    assert_int_equal(rig->model.messages[node], before);
    start_engines(rig);
}

struct shape {
    unsigned depth; /* as the packet says it */
    uint32_t pitch, left, top, right, bottom;
    uint64_t to;
    uint32_t from_pitch, from_left, from_top;
    uint64_t from;
    uint32_t tiling;
    uint32_t to_slice, to_slice_rows; /* of an array or a volume; rows are multiples of 4 */
    uint32_t from_slice, from_slice_rows;
};

/* What packets say of a slice: the rows from slice to slice, and which one. */
static void put_slice(struct rig *rig, uint32_t slice, uint32_t rows)
{
    put(rig, rows / 4 << 4);
    put(rig, slice << 21);
}

static void put_copy(struct rig *rig, const struct shape *shape)
{
    put(rig, IBLT_BLOCK_COPY | IBLT_DEPTH(shape->depth) | (IBLT_BLOCK_COPY_WORDS - 2));
    put(rig, (shape->pitch - 1) | shape->tiling << 30);
    put(rig, shape->left | shape->top << 16);
    put(rig, shape->right | shape->bottom << 16);
    put_wide(rig, shape->to);
    put(rig, 0);
    put(rig, shape->from_left | shape->from_top << 16);
    put(rig, shape->from_pitch - 1);
    put_wide(rig, shape->from);
    put_zeros(rig, 6);
    put_slice(rig, shape->to_slice, shape->to_slice_rows);
    put(rig, 0);
    put_slice(rig, shape->from_slice, shape->from_slice_rows);
}

static void put_fill(struct rig *rig, const struct shape *shape, const uint8_t colour[16])
{
    uint32_t words[4];

    memcpy(words, colour, sizeof words);
    put(rig, IBLT_FAST_COLOR | IBLT_DEPTH(shape->depth) | (IBLT_FAST_COLOR_WORDS - 2));
    put(rig, (shape->pitch - 1) | shape->tiling << 30);
    put(rig, shape->left | shape->top << 16);
    put(rig, shape->right | shape->bottom << 16);
    put_wide(rig, shape->to);
    put(rig, 0);
    for (unsigned i = 0; i < 4; i++)
        put(rig, words[i]);
    put_zeros(rig, 3);
    put_slice(rig, shape->to_slice, shape->to_slice_rows);
}

static void put_bytes(struct rig *rig, unsigned page)
{
    uint8_t bytes[PAGE_BYTES];

    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    write_page(rig, page, 0, bytes, sizeof bytes);
}

/* ---- Command streamer ------------------------------------------------------------------------ */

static void batches_chain_and_come_back(void **state)
{
    struct rig rig;

    rig_open(&rig);
    put_store(&rig, VA(DATA), 1);
    write_batch(&rig, SECOND);
    put(&rig, IBLT_MI_BATCH_START | IBLT_PPGTT | IBLT_SECOND_LEVEL | 1);
    put_wide(&rig, VA(SECOND));
    put_store(&rig, VA(DATA) + 4, 2); /* behind the second level */
    put(&rig, IBLT_MI_BATCH_START | IBLT_PPGTT | 1);
    put_wide(&rig, VA(OTHER)); /* and there is no way back from a chain */
    put_store(&rig, VA(DATA) + 8, 3);
    play_any(&rig, IBLT_NODE_COPY); /* page OTHER is zeros: no operation, up to its end */
    assert_int_equal(word_at(&rig, DATA, 0), 1);
    assert_int_equal(word_at(&rig, DATA, 4), 2);
    assert_int_equal(word_at(&rig, DATA, 8), 0);
    put_word(&rig, OTHER, 16, IBLT_MI_BATCH_END);
    start_engines(&rig);
    ring_batch(&rig, IBLT_NODE_COPY);
    run(&rig);
    assert_string_equal(rig.model.fault, "");
    assert_int_equal(rig.model.messages[IBLT_NODE_COPY], 1);
    assert_int_equal(peek(&rig, bases[IBLT_NODE_COPY] + IBLT_RING_HEAD), 16);
    rig_close(&rig);
}

static void data_is_stored_in_words_of_32_and_64_bits(void **state)
{
    struct rig rig;

    rig_open(&rig);
    put_store(&rig, VA(DATA) + 4, 0x11111111);
    put(&rig, IBLT_MI_STORE_DATA | IBLT_STORE_QWORDS | 5);
    put_wide(&rig, VA(DATA) + 0xff8); /* over the end of the page */
    put_wide(&rig, UINT64_C(0x2222222233333333));
    put_wide(&rig, UINT64_C(0x4444444455555555));
    play(&rig, IBLT_NODE_VIDEO);
    assert_int_equal(word_at(&rig, DATA, 4), 0x11111111);
    assert_int_equal(word_at(&rig, DATA, 0xff8), 0x33333333);
    assert_int_equal(word_at(&rig, DATA, 0xffc), 0x22222222);
    assert_int_equal(word_at(&rig, OTHER, 0), 0x55555555);
    assert_int_equal(word_at(&rig, OTHER, 4), 0x44444444);
    rig_close(&rig);
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
    struct rig rig;

    rig_open(&rig);
    for (unsigned i = 0; i < ARRAY_COUNT(waits); i++) {
        const unsigned before = rig.model.messages[IBLT_NODE_COPY];

        put_word(&rig, DATA, 0, 5);
        put(&rig, IBLT_MI_SEMAPHORE_WAIT | 1u << 15 | waits[i].compare << 12 | 3);
        put(&rig, waits[i].data);
        put_wide(&rig, VA(DATA));
        put(&rig, 0);
        play_any(&rig, IBLT_NODE_COPY);
        assert_string_equal(rig.model.fault, "");
        assert_int_equal(rig.model.messages[IBLT_NODE_COPY], before + waits[i].goes);
        assert_true(rig.events < 10000); /* it does not look all the time */
        start_engines(&rig);
    }
    rig_close(&rig);
}

static void engines_wait_for_each_other(void **state)
{
    struct rig rig;

    rig_open(&rig);
    put(&rig, IBLT_MI_SEMAPHORE_WAIT | 1u << 15 | 5u << 12 | 3); /* until it is not 0 */
    put(&rig, 0);
    put_wide(&rig, VA(DATA));
    put(&rig, 0);
    put_store(&rig, VA(DATA) + 4, 7);
    write_batch(&rig, BATCH);
    ring_batch(&rig, IBLT_NODE_COPY);
    for (unsigned i = 0; i < 5; i++)
        machine_run_next(rig.model.machine);
    assert_int_equal(word_at(&rig, DATA, 4), 0);
    put_store(&rig, VA(DATA), 1);
    write_batch(&rig, SECOND);
    {
        const uint32_t words[] = {IBLT_MI_BATCH_START | IBLT_PPGTT | 1, (uint32_t)VA(SECOND),
                                  (uint32_t)(VA(SECOND) >> 32), IBLT_MI_NOOP};

        poke(&rig, bases[IBLT_NODE_RENDER] + IBLT_RING_START, 4, GLOBAL(SPARE));
        for (unsigned i = 0; i < ARRAY_COUNT(words); i++)
            put_word(&rig, SPARE, 4 * i, words[i]);
        poke(&rig, bases[IBLT_NODE_RENDER] + IBLT_RING_TAIL, 4, sizeof words);
    }
    run(&rig);
    assert_string_equal(rig.model.fault, "");
    assert_int_equal(word_at(&rig, DATA, 4), 7);
    assert_int_equal(rig.model.messages[IBLT_NODE_COPY], 1);
    rig_close(&rig);
}

static void flushes_write_behind_everything(void **state)
{
    uint32_t time;
    struct rig rig;

    rig_open(&rig);
    put(&rig, IBLT_MI_FLUSH_DW | 3); /* as they are seen between copies */
    put_zeros(&rig, 4);
    put(&rig, IBLT_MI_FLUSH_DW | 1u << 16 | 1u << 9 | 3);
    put_zeros(&rig, 4);
    put(&rig, IBLT_MI_ARB_CHECK);
    put(&rig, IBLT_MI_FLUSH_DW | IBLT_FLUSH_WRITE | 3);
    put_wide(&rig, VA(DATA) + 8);
    put_wide(&rig, UINT64_C(0x123456789abcdef0));
    put(&rig, IBLT_MI_FLUSH_DW | 3u << 14 | 3);
    put_wide(&rig, VA(DATA) + 16);
    put_wide(&rig, 0);
    put(&rig, IBLT_MI_STORE_REGISTER | IBLT_REMAP | 2);
    put(&rig, 0x2358);
    put_wide(&rig, VA(DATA) + 24);
    machine_run_until(rig.model.machine, 5000000);
    play(&rig, IBLT_NODE_COPY);
    assert_int_equal(word_at(&rig, DATA, 8), 0x9abcdef0);
    assert_int_equal(word_at(&rig, DATA, 12), 0x12345678);
    time = word_at(&rig, DATA, 16);
    assert_in_range(time, 5000 * 12, 5100 * 12); /* of 12 MHz */
    assert_in_range(word_at(&rig, DATA, 24), time, 5100 * 12);
    rig_close(&rig);
}

static void batches_write_no_registers_but_those_that_they_may(void **state)
{
    struct drydock_gpu_translation found;
    const struct drydock_gpu_place root = {true, TABLES};
    struct rig rig;

    rig_open(&rig);
    put(&rig, IBLT_MI_LOAD_REGISTER | 3);
    put(&rig, bases[IBLT_NODE_COPY] + IBLT_PDP0);
    put(&rig, 0x7000); /* no table: nothing would answer behind it */
    put(&rig, 0x2580);
    put(&rig, 1);
    put_store(&rig, VA(DATA), 1);
    play(&rig, IBLT_NODE_COPY);
    assert_int_equal(word_at(&rig, DATA, 0), 1);

    /* What is cached goes on to be used, until the register is written. */
    map_at(&rig, VA(DATA), 0, rig.pages[OTHER] | SYSTEM);
    assert_true(gpu_plugin_translate(rig.model.plugin, root, VA(DATA), &found));
    assert_int_equal(found.at.address, rig.pages[OTHER]);
    for (uint32_t i = 0; i < 2; i++) {
        put(&rig, IBLT_MI_LOAD_REGISTER | 1);
        put(&rig, IBLT_TLB_COPY);
        put(&rig, 3);
        put_store(&rig, VA(DATA), 2 + i);
        play(&rig, IBLT_NODE_COPY);
        assert_int_equal(word_at(&rig, DATA, 0), 2);
        poke(&rig, bases[IBLT_NODE_COPY] + IBLT_NONPRIV(3), 4, IBLT_TLB_COPY);
    }
    assert_int_equal(word_at(&rig, OTHER, 0), 3);
    rig_close(&rig);
}

static void a_flush_and_another_root_empty_the_engines_cache(void **state)
{
    struct rig rig;

    rig_open(&rig);
    put_store(&rig, VA(DATA), 1);
    play(&rig, IBLT_NODE_COPY);
    map_at(&rig, VA(DATA), 0, rig.pages[OTHER] | SYSTEM);
    put(&rig, IBLT_MI_FLUSH_DW | IBLT_FLUSH_TLB | 3);
    put_zeros(&rig, 4);
    put_store(&rig, VA(DATA), 2);
    play(&rig, IBLT_NODE_COPY);
    assert_int_equal(word_at(&rig, DATA, 0), 1);
    assert_int_equal(word_at(&rig, OTHER, 0), 2);
    map_at(&rig, VA(DATA), 0, rig.pages[DATA] | SYSTEM);
    poke(&rig, bases[IBLT_NODE_COPY] + IBLT_PDP0, 4, TABLES);
    put_store(&rig, VA(DATA), 3);
    play(&rig, IBLT_NODE_COPY);
    assert_int_equal(word_at(&rig, DATA, 0), 3);
    rig_close(&rig);
}

static void a_word_is_copied(void **state)
{
    struct rig rig;

    rig_open(&rig);
    put_word(&rig, DATA, 12, 0xfeedbeef);
    put(&rig, IBLT_MI_COPY_MEM_MEM | 3);
    put_wide(&rig, VA(OTHER) + 4);
    put_wide(&rig, VA(DATA) + 12);
    play(&rig, IBLT_NODE_VIDEO);
    assert_int_equal(word_at(&rig, OTHER, 4), 0xfeedbeef);
    rig_close(&rig);
}

/* What the user-mode driver sends around its kernels; the kernels themselves are not run. */
static void compute_packets_are_stepped_over(void **state)
{
    static const struct {
        uint32_t header, words;
    } over[] = {
        {0x61010014, 22}, {0x69048302, 1}, {0x72000004, 6}, {0x61050000, 2}, {0x79190002, 4}};
    struct rig rig;

    rig_open(&rig);
    for (unsigned i = 0; i < ARRAY_COUNT(over); i++) {
        put(&rig, over[i].header);
        put_zeros(&rig, over[i].words - 1);
    }
    put(&rig, 0x7a000a04);
    put(&rig, 1u << 14);
    put_wide(&rig, VA(DATA) + 8);
    put_wide(&rig, 77);
    for (uint32_t what = 0; what < 4; what += what ? 2 : 1) { /* none, at once, times */
        put(&rig, 0x72080025);
        put_zeros(&rig, 25);
        put(&rig, what);
        put_wide(&rig, VA(DATA) + 64 * (what + 1));
        put_wide(&rig, 88);
        put_zeros(&rig, 8);
    }
    put_store(&rig, VA(DATA), 99);
    machine_run_until(rig.model.machine, 1000000);
    play(&rig, IBLT_NODE_RENDER);
    assert_int_equal(gpu_plugin_left_out(rig.model.plugin), 3);
    assert_int_equal(word_at(&rig, DATA, 8), 77);
    assert_int_equal(word_at(&rig, DATA, 64), 0);
    assert_int_equal(word_at(&rig, DATA, 128), 88);
    assert_in_range(word_at(&rig, DATA, 256), 12000, 12100);
    assert_int_equal(word_at(&rig, DATA, 264), word_at(&rig, DATA, 256) + 1);
    assert_int_equal(word_at(&rig, DATA, 0), 99);
    rig_close(&rig);
}

/* ---- Copies and fills ------------------------------------------------------------------------ */

static void rectangles_are_copied_at_all_depths(void **state)
{
    static const unsigned depths[] = {1, 2, 4, 8, 12, 16};
    uint8_t from[PAGE_BYTES], to[PAGE_BYTES];
    struct rig rig;

    rig_open(&rig);
    put_bytes(&rig, DATA);
    read_page(&rig, DATA, 0, from, sizeof from);
    for (unsigned i = 0; i < ARRAY_COUNT(depths); i++) {
        const unsigned depth = depths[i];
        const struct shape shape = {.depth = i,
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
        write_page(&rig, OTHER, 0, to, sizeof to);
        put_copy(&rig, &shape);
        play(&rig, IBLT_NODE_COPY);
        read_page(&rig, OTHER, 0, to, sizeof to);
        for (unsigned at = 0; at < sizeof to; at++) {
            const unsigned row = at / 256, column = at % 256;
            const bool is_in = row >= 2 && row < 5 && column >= depth && column < 6 * depth;
            const unsigned source = 5 + (1 + row - 2) * 300 + 3 * depth + column - depth;

            if (to[at] != (is_in ? from[source] : 0))
                fail_msg("depth %u: byte %u", depth, at);
        }
    }
    rig_close(&rig);
}

static void rectangles_are_filled_at_all_depths(void **state)
{
    static const unsigned depths[] = {1, 2, 4, 8, 12, 16};
    uint8_t colour[16], bytes[2 * PAGE_BYTES];
    struct rig rig;

    rig_open(&rig);
    for (unsigned i = 0; i < sizeof colour; i++)
        colour[i] = (uint8_t)(i + 1);
    for (unsigned i = 0; i < ARRAY_COUNT(depths); i++) {
        /* Rows go over the end of a page amid a colour. */
        const struct shape shape = {
            .depth = i, .pitch = 400, .left = 1, .right = 20, .bottom = 15, .to = VA(DATA) + 3};

        memset(bytes, 0, sizeof bytes);
        write_page(&rig, DATA, 0, bytes, PAGE_BYTES);
        write_page(&rig, OTHER, 0, bytes, PAGE_BYTES);
        put_fill(&rig, &shape, colour);
        play(&rig, IBLT_NODE_PAGING);
        read_page(&rig, DATA, 0, bytes, PAGE_BYTES);
        read_page(&rig, OTHER, 0, bytes + PAGE_BYTES, PAGE_BYTES);
        for (unsigned at = 0; at < sizeof bytes; at++) {
            const unsigned row = (at - 3) / 400, column = (at - 3) % 400, depth = depths[i];
            const bool is_in = at >= 3 && row < 15 && column >= depth && column < 20 * depth;

            if (bytes[at] != (is_in ? colour[column % depth] : 0))
                fail_msg("depth %u: byte %u", depth, at);
        }
    }
    rig_close(&rig);
}

/* The driver's own shape of a copy: rows of 16384, then one for the rest. Over pages of all kinds.
 */
static void long_copies_cross_pages_of_all_kinds(void **state)
{
    const struct shape shapes[] = {
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
    struct rig rig;

    rig_open(&rig);
    for (unsigned i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 3 + i / 1000);
    write_local(&rig, LOCAL_COMPACT + 0x10000, from, 0x10000);
    write_local(&rig, LOCAL_COMPACT, from + 0x10000, 0x10000);
    put_copy(&rig, &shapes[0]);
    put_copy(&rig, &shapes[1]);
    play(&rig, IBLT_NODE_COPY);
    page_store_read(machine_local(rig.model.machine), LOCAL_LARGE + 0x12345, to, sizeof to);
    assert_memory_equal(to, from + 0x321, sizeof to - 1);
    assert_int_equal(to[sizeof to - 1], 0);
    rig_close(&rig);
}

static void ranges_that_overlap_are_copied(void **state)
{
    uint8_t before[PAGE_BYTES], after[PAGE_BYTES];
    const struct shape shape = {.pitch = 4096,
                                .right = 1000,
                                .bottom = 1,
                                .to = VA(DATA) + 100,
                                .from_pitch = 4096,
                                .from = VA(DATA)};
    struct rig rig;

    rig_open(&rig);
    put_bytes(&rig, DATA);
    read_page(&rig, DATA, 0, before, sizeof before);
    put_copy(&rig, &shape);
    play(&rig, IBLT_NODE_COPY);
    read_page(&rig, DATA, 0, after, sizeof after);
    assert_memory_equal(after + 100, before, 1000);
    assert_memory_equal(after, before, 100);
    rig_close(&rig);
}

static void a_tiled_surface_comes_back_as_it_was(void **state)
{
    struct shape there = {.depth = 2,
                          .pitch = 128,
                          .right = 100,
                          .bottom = 7,
                          .to = VA_LARGE,
                          .from_pitch = 400,
                          .from = VA(DATA),
                          .tiling = 3};
    uint8_t before[PAGE_BYTES], after[PAGE_BYTES];
    struct rig rig;

    rig_open(&rig);
    put_bytes(&rig, DATA);
    put_copy(&rig, &there);
    put(&rig, IBLT_BLOCK_COPY | IBLT_DEPTH(2u) | (IBLT_BLOCK_COPY_WORDS - 2));
    put(&rig, 400 - 1);
    put(&rig, 0);
    put(&rig, 100 | 7 << 16);
    put_wide(&rig, VA(OTHER));
    put_zeros(&rig, 2);
    put(&rig, (128 - 1) | 3u << 30);
    put_wide(&rig, VA_LARGE);
    put_zeros(&rig, 11);
    play(&rig, IBLT_NODE_COPY);
    read_page(&rig, DATA, 0, before, sizeof before);
    read_page(&rig, OTHER, 0, after, sizeof after);
    assert_memory_equal(after, before, 7 * 400);
    assert_int_equal(after[7 * 400], 0);
    rig_close(&rig);
}

/* Slice 2 of 8 rows each becomes slice 3 of 4 rows each; slice 1 of those is filled. */
static void a_slice_of_a_volume_is_copied_and_filled(void **state)
{
    const struct shape copy = {.pitch = 64,
                               .right = 64,
                               .bottom = 4,
                               .to = VA(OTHER),
                               .from = VA(DATA),
                               .from_pitch = 64,
                               .to_slice = 3,
                               .to_slice_rows = 4,
                               .from_slice = 2,
                               .from_slice_rows = 8};
    const struct shape fill = {
        .pitch = 64, .right = 64, .bottom = 4, .to = VA(OTHER), .to_slice = 1, .to_slice_rows = 4};
    const uint8_t colour[16] = {0x5a};
    uint8_t from[PAGE_BYTES], to[PAGE_BYTES], expected[PAGE_BYTES] = {0};
    struct rig rig;

    rig_open(&rig);
    put_bytes(&rig, DATA);
    put_copy(&rig, &copy);
    put_fill(&rig, &fill, colour);
    play(&rig, IBLT_NODE_COPY);
    read_page(&rig, DATA, 0, from, sizeof from);
    read_page(&rig, OTHER, 0, to, sizeof to);
    memset(expected + 1 * 4 * 64, 0x5a, 4 * 64);
    memcpy(expected + 3 * 4 * 64, from + 2 * 8 * 64, 4 * 64);
    assert_memory_equal(to, expected, sizeof to);
    rig_close(&rig);
}

/* ---- What a batch will do -------------------------------------------------------------------- */

struct told {
    struct rig *rig;
    struct drydock_gpu_access accesses[16];
    unsigned count;
};

static bool show_batch(void *context, uint64_t va, void *out, uint64_t bytes)
{
    struct told *told = context;

    if (va < VA(0) || va >= VA(PAGES) || bytes > PAGE_BYTES - va % PAGE_BYTES)
        return false;
    read_page(told->rig, (unsigned)((va - VA(0)) / PAGE_BYTES), va % PAGE_BYTES, out, bytes);
    return true;
}

static void take_access(void *context, const struct drydock_gpu_access *access)
{
    struct told *told = context;

    if (told->count < ARRAY_COUNT(told->accesses))
        told->accesses[told->count] = *access;
    told->count++;
}

static bool walk(struct rig *rig, struct told *told)
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
    const struct shape rows = {
        .pitch = 64, .right = 16, .bottom = 2, .to = VA(OTHER), .from = VA(DATA), .from_pitch = 32};
    const struct shape piece = {
        .pitch = 64, .right = 64, .bottom = 4, .to = VA(OTHER), .to_slice = 1, .to_slice_rows = 8};
    const struct shape many = {.pitch = 32,
                               .right = 16,
                               .bottom = 65,
                               .to = VA(OTHER),
                               .from = VA(DATA),
                               .from_pitch = 16};
    uint32_t before;
    struct told told;
    struct rig rig;

    rig_open(&rig);
    put_bytes(&rig, DATA);
    put_copy(&rig, &rows);
    write_batch(&rig, SECOND);
    put(&rig, IBLT_MI_BATCH_START | IBLT_PPGTT | IBLT_SECOND_LEVEL | 1);
    put_wide(&rig, VA(SECOND));
    put_fill(&rig, &piece, colour);
    put_store(&rig, VA(DATA) + 8, 7);
    put(&rig, IBLT_MI_FLUSH_DW | IBLT_FLUSH_WRITE | 3);
    put_wide(&rig, VA(DATA) + 16);
    put_wide(&rig, 0x123456789abc);
    write_batch(&rig, BATCH);
    before = word_at(&rig, OTHER, 0);
    assert_true(walk(&rig, &told));
    assert_int_equal(told.count, 5);
    expect_access(&told, 0, DRYDOCK_GPU_COPY, VA(DATA), VA(OTHER), 16, 0);
    expect_access(&told, 1, DRYDOCK_GPU_COPY, VA(DATA) + 32, VA(OTHER) + 64, 16, 0);
    expect_access(&told, 2, DRYDOCK_GPU_FILL, 0, VA(OTHER) + 512, 256,
                  UINT64_C(0x5a5a5a5a5a5a5a5a));
    expect_access(&told, 3, DRYDOCK_GPU_WRITE, 0, VA(DATA) + 8, 4, 0);
    expect_access(&told, 4, DRYDOCK_GPU_WRITE, 0, VA(DATA) + 16, 8, 0x123456789abc);
    assert_int_equal(word_at(&rig, OTHER, 0), before);

    put_copy(&rig, &many);
    put(&rig, IBLT_COMPUTE_WALKER | 37);
    put_zeros(&rig, 38);
    write_batch(&rig, BATCH);
    assert_true(walk(&rig, &told));
    assert_int_equal(told.count, 3);
    expect_access(&told, 0, DRYDOCK_GPU_READ, VA(DATA), 0, 64 * 16 + 16, 0);
    expect_access(&told, 1, DRYDOCK_GPU_WRITE, 0, VA(OTHER), 64 * 32 + 16, 0);
    assert_int_equal(told.accesses[2].kind, DRYDOCK_GPU_UNKNOWN);
    rig_close(&rig);
}

/* One that goes round for ever, one that is not shown, one of an unknown packet. */
static void a_batch_that_cannot_be_told_to_its_end_is_none(void **state)
{
    const uint64_t next[] = {VA(BATCH), VA(PAGES), 0};
    struct told told;
    struct rig rig;

    rig_open(&rig);
    for (unsigned i = 0; i < ARRAY_COUNT(next); i++) {
        put_store(&rig, VA(DATA), 1);
        if (next[i]) {
            put(&rig, IBLT_MI_BATCH_START | IBLT_PPGTT | 1);
            put_wide(&rig, next[i]);
        } else {
            put(&rig, IBLT_MI(0x3fu));
        }
        write_batch(&rig, BATCH);
        assert_false(walk(&rig, &told));
        assert_true(told.count >= 1 && told.count <= 65536);
    }
    rig_close(&rig);
}

static void put_mem_copy(struct rig *rig, uint32_t flags, uint32_t width, uint32_t height,
                         uint64_t from, uint64_t to)
{
    put(rig, IBLT_MEM_COPY | flags | (IBLT_MEM_COPY_WORDS - 2));
    put(rig, width - 1);
    put(rig, height - 1);
    put(rig, 64 - 1);
    put(rig, 128 - 1);
    put_wide(rig, from);
    put_wide(rig, to);
    put(rig, 0);
}

static void memory_is_copied_and_set(void **state)
{
    uint8_t from[PAGE_BYTES], to[PAGE_BYTES];
    struct rig rig;

    rig_open(&rig);
    put_bytes(&rig, DATA);
    read_page(&rig, DATA, 0, from, sizeof from);
    put_mem_copy(&rig, 0, 1000, 9, VA(DATA) + 1, VA(OTHER));
    put_mem_copy(&rig, IBLT_MATRIX, 10, 3, VA(DATA), VA(OTHER) + 2048);
    put(&rig, IBLT_MEM_SET | IBLT_MATRIX | (IBLT_MEM_SET_WORDS - 2));
    put(&rig, 5 - 1);
    put(&rig, 2 - 1);
    put(&rig, 32 - 1);
    put_wide(&rig, VA(OTHER) + 3000);
    put(&rig, 0xa5u << 24);
    play(&rig, IBLT_NODE_COPY);
    read_page(&rig, OTHER, 0, to, sizeof to);
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
    rig_close(&rig);
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
    struct rig rig;

    rig_open(&rig);
    for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
        uint32_t value;

        assert_true(gpu_plugin_translate(rig.model.plugin, root, rows[i].va, &found));
        assert_true(found.is_valid && found.at.is_local && !found.is_read_only);
        assert_int_equal(found.at.address, rows[i].local);
        put_store(&rig, rows[i].va & ~UINT64_C(3), 0xc0de0000 + i);
        play(&rig, IBLT_NODE_COPY);
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
    rig_close(&rig);
}

static void no_page_reads_as_zeros_and_keeps_nothing(void **state)
{
    const struct shape out = {.pitch = 4096,
                              .right = 64,
                              .bottom = 1,
                              .to = VA(OTHER),
                              .from_pitch = 4096,
                              .from = VA_NULL};
    struct rig rig;

    rig_open(&rig);
    put_word(&rig, OTHER, 60, 1);
    put_word(&rig, OTHER, 64, 1);
    put_store(&rig, VA_NULL, 5);
    put_copy(&rig, &out);
    play(&rig, IBLT_NODE_COPY);
    assert_int_equal(word_at(&rig, OTHER, 60), 0);
    assert_int_equal(word_at(&rig, OTHER, 64), 1);
    rig_close(&rig);
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
    struct rig rig;
    uint32_t bytes;

    rig_open(&rig);
    bytes = gpu_plugin_commands(rig.model.plugin, &work, rig.batch, sizeof rig.batch);
    assert_int_equal(bytes, 4 * (3 * IBLT_WORK_WORDS + 2));
    assert_int_equal(gpu_plugin_commands(rig.model.plugin, &work, NULL, 0), bytes);
    write_page(&rig, BATCH, 0, rig.batch, bytes);
    ring_batch(&rig, IBLT_NODE_RENDER);
    while (machine_run_next(rig.model.machine))
        ;
    assert_string_equal(rig.model.fault, "");
    assert_true(machine_now(rig.model.machine) >= UINT32_MAX);
    assert_true(rig.model.begun == work.token && rig.model.ended == work.token);
    assert_int_equal(rig.model.read_bytes, 3 * PAGE_BYTES);
    assert_int_equal(rig.model.written_bytes, 3 * PAGE_BYTES);
    assert_true(page_store_is_tag(machine_local(rig.model.machine), LOCAL_LARGE, PAGE_BYTES,
                                  reference.key, NULL));
    rig_close(&rig);
}

/* ---- Batches that mean harm ------------------------------------------------------------------ */

static void what_is_not_known_stops_the_engine(void **state)
{
    struct rig rig;

    rig_open(&rig);
    put(&rig, IBLT_MI(0x3fu));
    play_fault(&rig, IBLT_NODE_COPY, "packet 0x1f800000 is not known");
    assert_int_equal(rig.model.faulting.node, IBLT_NODE_COPY);
    put(&rig, 0x50000014);
    play_fault(&rig, IBLT_NODE_COPY, "packet 0x50000014 is not known");
    put(&rig, IBLT_BLOCK_COPY | 19);
    play_fault(&rig, IBLT_NODE_COPY, "XY_BLOCK_COPY_BLT (0x50400013): has another number of words");
    put(&rig, IBLT_BLOCK_COPY | 20);
    play_fault(&rig, IBLT_NODE_RENDER, "is of another engine than node 0x0");
    put(&rig, 0x7a000a04);
    play_fault(&rig, IBLT_NODE_COPY, "PIPE_CONTROL (0x7a000a04): is of another engine");
    put(&rig, IBLT_MI_FLUSH_DW | 0x3f);
    play_fault(&rig, IBLT_NODE_COPY, "a number of words that is not known");
    put(&rig, IBLT_MI_STORE_DATA | 1);
    put_wide(&rig, VA(DATA));
    play_fault(&rig, IBLT_NODE_COPY, "words without data");
    put(&rig, IBLT_MI_LOAD_REGISTER | 2);
    play_fault(&rig, IBLT_NODE_COPY, "half a register");
    put(&rig, IBLT_MI_SEMAPHORE_WAIT | 6u << 12 | 3);
    put(&rig, 0);
    put_wide(&rig, VA(DATA));
    put(&rig, 0);
    play_fault(&rig, IBLT_NODE_COPY, "no such comparison");
    rig_close(&rig);
}

static void wild_addresses_stop_the_engine(void **state)
{
    const uint8_t colour[16] = {0};
    struct shape shape = {.depth = 0, .pitch = 64, .right = 8, .bottom = 1, .from_pitch = 64};
    const uint64_t wild[] = {VA_NOTHING, 0, UINT64_MAX - 7, VA_READ_ONLY, VA_LARGE + 0x200000};
    struct rig rig;

    rig_open(&rig);
    for (unsigned i = 0; i < ARRAY_COUNT(wild); i++) {
        put_store(&rig, wild[i], 1);
        play_fault(&rig, IBLT_NODE_COPY, "MI_STORE_DATA_IMM (0x10000002): cannot write 0x");
        put(&rig, IBLT_MI_FLUSH_DW | IBLT_FLUSH_WRITE | 3);
        put_wide(&rig, wild[i] & ~UINT64_C(7));
        put_wide(&rig, 0);
        play_fault(&rig, IBLT_NODE_VIDEO, "MI_FLUSH_DW (0x13004003): cannot write 0x");
        shape.to = wild[i];
        shape.from = VA(DATA);
        put_copy(&rig, &shape);
        play_fault(&rig, IBLT_NODE_COPY, "cannot write");
        put_fill(&rig, &shape, colour);
        play_fault(&rig, IBLT_NODE_COPY, "cannot write");
        if (wild[i] == VA_READ_ONLY)
            continue;
        shape.to = VA(DATA);
        shape.from = wild[i];
        put_copy(&rig, &shape);
        play_fault(&rig, IBLT_NODE_COPY, "cannot read");
        put(&rig, IBLT_MI_BATCH_START | IBLT_PPGTT | 1);
        put_wide(&rig, wild[i]);
        play_fault(&rig, IBLT_NODE_COPY, "a batch goes on where nothing answers");
        put(&rig, IBLT_MI_SEMAPHORE_WAIT | 4u << 12 | 3);
        put(&rig, 0);
        put_wide(&rig, wild[i]);
        put(&rig, 0);
        play_fault(&rig, IBLT_NODE_COPY, "cannot read");
    }
    /* The last page is there, the one behind it is not. */
    shape = (struct shape){.pitch = 4096,
                           .right = 4096,
                           .bottom = 9,
                           .to = VA_LARGE + 0x1fa000,
                           .from_pitch = 4096,
                           .from = VA_LARGE};
    put_copy(&rig, &shape);
    play_fault(&rig, IBLT_NODE_COPY, "cannot write 0x80200000");
    rig_close(&rig);
}

static void batches_keep_to_their_address_space(void **state)
{
    struct rig rig;

    rig_open(&rig);
    put(&rig, IBLT_MI_STORE_DATA | IBLT_STORE_GGTT | 2);
    put_wide(&rig, GLOBAL(DATA));
    put(&rig, 1);
    play_fault(&rig, IBLT_NODE_COPY, "a batch may not write by global address");
    put(&rig, IBLT_MI_FLUSH_DW | IBLT_FLUSH_WRITE | 3);
    put_wide(&rig, GLOBAL(DATA) | IBLT_ADDRESS_GGTT);
    put_wide(&rig, 1);
    play_fault(&rig, IBLT_NODE_COPY, "a batch may not write by global address");
    put(&rig, IBLT_MI_COPY_MEM_MEM | 1u << 22 | 3);
    put_wide(&rig, VA(DATA));
    put_wide(&rig, GLOBAL(RING));
    play_fault(&rig, IBLT_NODE_COPY, "a batch may not read by global address");
    put(&rig, IBLT_MI_BATCH_START | 1);
    put_wide(&rig, GLOBAL(OTHER));
    play_fault(&rig, IBLT_NODE_COPY, "a batch may not leave its address space");
    assert_int_equal(word_at(&rig, DATA, 0), 0);
    rig_close(&rig);
}

/* A loop takes more and more time: few events until the watchdog comes. */
static void loops_do_not_keep_the_machine(void **state)
{
    struct rig rig;

    rig_open(&rig);
    put(&rig, IBLT_MI_BATCH_START | IBLT_PPGTT | 1);
    put_wide(&rig, VA(BATCH));
    play_any(&rig, IBLT_NODE_COPY);
    assert_string_equal(rig.model.fault, "");
    assert_int_equal(rig.model.messages[IBLT_NODE_COPY], 0);
    assert_true(rig.events < 100000);
    start_engines(&rig);
    assert_false(machine_run_next(rig.model.machine)); /* nothing is left of it */
    /* The second level calls itself: there is no third, so that it is a chain. */
    put(&rig, IBLT_MI_BATCH_START | IBLT_PPGTT | IBLT_SECOND_LEVEL | 1);
    put_wide(&rig, VA(BATCH));
    play_any(&rig, IBLT_NODE_COPY);
    assert_string_equal(rig.model.fault, "");
    assert_true(rig.events < 100000);
    start_engines(&rig);
    put_store(&rig, VA(DATA), 1);
    play(&rig, IBLT_NODE_COPY);
    rig_close(&rig);
}

/* As large as a packet can say, over and over the same page. */
static void huge_rectangles_do_not_keep_the_machine(void **state)
{
    const struct shape shape = {.depth = 5,
                                .pitch = 1,
                                .right = 8,
                                .bottom = 65535,
                                .to = VA_LARGE,
                                .from_pitch = 1,
                                .from = VA_LARGE + 0x20000};
    struct rig rig;

    rig_open(&rig);
    put_copy(&rig, &shape);
    play_any(&rig, IBLT_NODE_COPY);
    assert_string_equal(rig.model.fault, "");
    assert_true(rig.events < 10000);
    rig_close(&rig);
}

static void rings_that_make_no_sense_stop_the_engine(void **state)
{
    const uint32_t end[] = {IBLT_MI_BATCH_END, 0}, cut[] = {IBLT_MI_STORE_DATA | 2, 0};
    struct rig rig;

    rig_open(&rig);
    ring(&rig, IBLT_NODE_COPY, end, 2);
    run(&rig);
    assert_non_null(strstr(rig.model.fault, "the ring is no batch"));
    start_engines(&rig);
    ring(&rig, IBLT_NODE_COPY, cut, 2);
    run(&rig);
    assert_non_null(strstr(rig.model.fault, "is not whole in the ring"));
    start_engines(&rig);
    poke(&rig, bases[IBLT_NODE_COPY] + IBLT_RING_START, 4, 0xfffff000);
    poke(&rig, bases[IBLT_NODE_COPY] + IBLT_RING_TAIL, 4, 8);
    run(&rig);
    assert_string_equal(rig.model.fault, "a batch goes on where nothing answers");
    start_engines(&rig);
    poke(&rig, IBLT_GGTT + 8 * RING, 8, 0);
    poke(&rig, bases[IBLT_NODE_COPY] + IBLT_RING_TAIL, 4, 8);
    run(&rig);
    assert_string_equal(rig.model.fault, "a batch goes on where nothing answers");
    rig_close(&rig);
}

/* Tables that lead out of local memory, and to themselves. */
static void wild_tables_stop_the_engine(void **state)
{
    const uint64_t roots[] = {TEST_MODEL_LOCAL_BYTES, UINT64_C(0xfffffffff000)};
    const uint64_t itself = TABLES | LOCAL;
    uint32_t value;
    struct drydock_gpu_translation found;
    struct rig rig;

    rig_open(&rig);
    for (unsigned i = 0; i < ARRAY_COUNT(roots); i++) {
        const struct drydock_gpu_place root = {true, roots[i]};

        poke(&rig, bases[IBLT_NODE_COPY] + IBLT_PDP0_UDW, 4, roots[i] >> 32);
        poke(&rig, bases[IBLT_NODE_COPY] + IBLT_PDP0, 4, (uint32_t)roots[i]);
        play_fault(&rig, IBLT_NODE_COPY, "a batch goes on where nothing answers");
        assert_false(gpu_plugin_translate(rig.model.plugin, root, VA(DATA), &found));
    }
    write_local(&rig, TABLES + 8 * 511, &itself, sizeof itself);
    put_store(&rig, UINT64_C(0xfffffffff000), 0x1234); /* the root, through itself */
    play(&rig, IBLT_NODE_COPY);
    page_store_read(machine_local(rig.model.machine), TABLES, &value, sizeof value);
    assert_int_equal(value, 0x1234);
    rig_close(&rig);
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
        cmocka_unit_test(rectangles_are_copied_at_all_depths),
        cmocka_unit_test(rectangles_are_filled_at_all_depths),
        cmocka_unit_test(long_copies_cross_pages_of_all_kinds),
        cmocka_unit_test(ranges_that_overlap_are_copied),
        cmocka_unit_test(a_tiled_surface_comes_back_as_it_was),
        cmocka_unit_test(a_slice_of_a_volume_is_copied_and_filled),
        cmocka_unit_test(a_batch_is_told_without_being_run),
        cmocka_unit_test(a_batch_that_cannot_be_told_to_its_end_is_none),
        cmocka_unit_test(memory_is_copied_and_set),
        cmocka_unit_test(pages_of_all_sizes_translate),
        cmocka_unit_test(no_page_reads_as_zeros_and_keeps_nothing),
        cmocka_unit_test(the_clients_work_is_told),
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
