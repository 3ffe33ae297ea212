/* Test rig of the model of Intel's copy engines. */
#include "bench/board/rig/test_copy_engines.h"

const uint32_t blt_bases[IBLT_ENGINES] = IBLT_BASES;

/* ---- Memory and tables ----------------------------------------------------------------------- */

void blt_write_local(struct blt_rig *rig, uint64_t at, const void *from, uint64_t bytes)
{
    page_store_write(machine_local(rig->model.machine), at, from, bytes);
}

void blt_write_page(struct blt_rig *rig, unsigned page, uint64_t offset, const void *from,
                    uint64_t bytes)
{
    page_store_write(machine_ram(rig->model.machine), rig->pages[page] + offset, from, bytes);
}

void blt_read_page(struct blt_rig *rig, unsigned page, uint64_t offset, void *out, uint64_t bytes)
{
    page_store_read(machine_ram(rig->model.machine), rig->pages[page] + offset, out, bytes);
}

uint32_t blt_word_at(struct blt_rig *rig, unsigned page, uint64_t offset)
{
    uint32_t value;

    blt_read_page(rig, page, offset, &value, sizeof value);
    return value;
}

void blt_put_word(struct blt_rig *rig, unsigned page, uint64_t offset, uint32_t value)
{
    blt_write_page(rig, page, offset, &value, sizeof value);
}

/* Makes the tables on the way; the entry of this level is set. */
void blt_map_at(struct blt_rig *rig, uint64_t va, unsigned level, uint64_t entry)
{
    struct page_store *local = machine_local(rig->model.machine);
    uint64_t table = TABLES;

    for (unsigned i = 3; i > level; i--) {
        uint64_t at = table + 8 * (va >> (12 + 9 * i) & 511), pointer;

        page_store_read(local, at, &pointer, sizeof pointer);
        if (!pointer) {
            rig->next_table += PAGE_BYTES;
            pointer = rig->next_table | POINTER;
            blt_write_local(rig, at, &pointer, sizeof pointer);
        }
        table = pointer & IBLT_PTE_ADDRESS_MASK;
    }
    blt_write_local(rig, table + 8 * (va >> (12 + 9 * level) & 511), &entry, sizeof entry);
}

static void map_everything(struct blt_rig *rig)
{
    const uint64_t compact = TABLES + 0x30000;
    uint64_t entry;

    for (unsigned i = 0; i < PAGES; i++)
        blt_map_at(rig, VA(i), 0, rig->pages[i] | SYSTEM);
    blt_map_at(rig, VA_COMPACT, 1, compact | POINTER | IBLT_PDE_TABLE_64K);
    entry = (LOCAL_COMPACT + 0x10000) | LOCAL;
    blt_write_local(rig, compact, &entry, sizeof entry);
    entry = LOCAL_COMPACT | LOCAL;
    blt_write_local(rig, compact + 8, &entry, sizeof entry);
    for (unsigned i = 0; i < 16; i++) /* what the others say is not looked at */
        blt_map_at(rig, VA_HINT + i * PAGE_BYTES, 0,
                   (i ? 0x7000 : LOCAL_HINT) | LOCAL | IBLT_PTE_64K);
    blt_map_at(rig, VA_LARGE, 1, LOCAL_LARGE | LOCAL | IBLT_PDE_LARGE);
    blt_map_at(rig, VA_NULL, 0, SYSTEM | IBLT_PTE_NULL);
    blt_map_at(rig, VA_READ_ONLY, 0, rig->pages[DATA] | IBLT_PTE_PRESENT);
    blt_map_at(rig, VA_HUGE, 2, LOCAL | IBLT_PDE_LARGE);
}

/* ---- Registers and rings --------------------------------------------------------------------- */

void blt_poke(struct blt_rig *rig, uint64_t offset, unsigned size, uint64_t value)
{
    assert_true(machine_bus_write(rig->model.machine, machine_bar0_pa(rig->model.machine) + offset,
                                  &value, size));
}

uint32_t blt_peek(struct blt_rig *rig, uint64_t offset)
{
    uint32_t value = 0;

    machine_bus_read(rig->model.machine, machine_bar0_pa(rig->model.machine) + offset, &value,
                     sizeof value);
    return value;
}

void blt_start_engines(struct blt_rig *rig)
{
    blt_poke(rig, IBLT_RESET, 4, 1);
    for (unsigned i = 0; i < PAGES; i++)
        blt_poke(rig, IBLT_GGTT + 8 * i, 8, rig->pages[i] | IBLT_PTE_PRESENT);
    for (unsigned i = 0; i < IBLT_ENGINES; i++) {
        blt_poke(rig, blt_bases[i] + IBLT_RING_START, 4, GLOBAL(RING));
        blt_poke(rig, blt_bases[i] + IBLT_RING_CTL, 4, 1);
        blt_poke(rig, blt_bases[i] + IBLT_PDP0_UDW, 4, 0);
        blt_poke(rig, blt_bases[i] + IBLT_PDP0, 4, TABLES);
        rig->tail[i] = 0;
    }
    rig->model.fault[0] = '\0';
}

void blt_open(struct blt_rig *rig)
{
    memset(rig, 0, sizeof *rig);
    test_model_open(&rig->model, "intel_blt", PAGES, rig->pages);
    rig->next_table = TABLES;
    map_everything(rig);
    blt_start_engines(rig);
}

void blt_close(struct blt_rig *rig)
{
    test_model_close(&rig->model);
}

/* Two seconds, after which a system resets what is not done. */
void blt_run(struct blt_rig *rig)
{
    const uint64_t end = machine_now(rig->model.machine) + UINT64_C(2000000000);

    for (rig->events = 0; machine_now(rig->model.machine) < end; rig->events++) {
        if (!machine_run_next(rig->model.machine))
            break;
    }
}

/* These words come next in the ring of a node; all rings are the same page. */
void blt_ring(struct blt_rig *rig, unsigned node, const uint32_t *words, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        blt_put_word(rig, RING, rig->tail[node], words[i]);
        rig->tail[node] = (rig->tail[node] + 4) % PAGE_BYTES;
    }
    blt_poke(rig, blt_bases[node] + IBLT_RING_TAIL, 4, rig->tail[node]);
}

void blt_ring_batch(struct blt_rig *rig, unsigned node)
{
    const uint32_t words[] = {IBLT_MI_BATCH_START | IBLT_PPGTT | 1, (uint32_t)VA(BATCH),
                              (uint32_t)(VA(BATCH) >> 32), IBLT_MI_USER_INTERRUPT};

    blt_ring(rig, node, words, ARRAY_COUNT(words));
}

/* ---- Batches --------------------------------------------------------------------------------- */

void blt_put(struct blt_rig *rig, uint32_t word)
{
    assert_true(rig->words < ARRAY_COUNT(rig->batch));
    rig->batch[rig->words++] = word;
}

void blt_put_wide(struct blt_rig *rig, uint64_t value)
{
    blt_put(rig, (uint32_t)value);
    blt_put(rig, (uint32_t)(value >> 32));
}

void blt_put_zeros(struct blt_rig *rig, unsigned count)
{
    while (count--)
        blt_put(rig, 0);
}

void blt_put_store(struct blt_rig *rig, uint64_t to, uint32_t value)
{
    blt_put(rig, IBLT_MI_STORE_DATA | 2);
    blt_put_wide(rig, to);
    blt_put(rig, value);
}

void blt_write_batch(struct blt_rig *rig, unsigned page)
{
    blt_put(rig, IBLT_MI_BATCH_END);
    blt_write_page(rig, page, 0, rig->batch, 4 * rig->words);
    rig->words = 0;
}

void blt_play_any(struct blt_rig *rig, unsigned node)
{
    blt_write_batch(rig, BATCH);
    blt_ring_batch(rig, node);
    blt_run(rig);
}

/* The batch as it is by now, to its end. */
void blt_play(struct blt_rig *rig, unsigned node)
{
    const unsigned before = rig->model.messages[node];

    blt_play_any(rig, node);
    assert_string_equal(rig->model.fault, "");
    assert_int_equal(rig->model.messages[node], before + 1);
}

/* It stops the engine, with these words; afterwards all are as new. */
void blt_play_fault(struct blt_rig *rig, unsigned node, const char *text)
{
    const unsigned before = rig->model.messages[node];

    blt_play_any(rig, node);
    if (!strstr(rig->model.fault, text))
        fail_msg("'%s' is not '%s'", rig->model.fault, text);
    assert_int_equal(rig->model.messages[node], before);
    blt_start_engines(rig);
}

/* What packets say of a slice: the rows from slice to slice, and which one. */
static void put_slice(struct blt_rig *rig, uint32_t slice, uint32_t rows)
{
    blt_put(rig, rows / 4 << 4);
    blt_put(rig, slice << 21);
}

void blt_put_copy(struct blt_rig *rig, const struct blt_shape *shape)
{
    blt_put(rig, IBLT_BLOCK_COPY | IBLT_DEPTH(shape->depth) | (IBLT_BLOCK_COPY_WORDS - 2));
    blt_put(rig, (shape->pitch - 1) | shape->tiling << 30);
    blt_put(rig, shape->left | shape->top << 16);
    blt_put(rig, shape->right | shape->bottom << 16);
    blt_put_wide(rig, shape->to);
    blt_put(rig, 0);
    blt_put(rig, shape->from_left | shape->from_top << 16);
    blt_put(rig, shape->from_pitch - 1);
    blt_put_wide(rig, shape->from);
    blt_put_zeros(rig, 6);
    put_slice(rig, shape->to_slice, shape->to_slice_rows);
    blt_put(rig, 0);
    put_slice(rig, shape->from_slice, shape->from_slice_rows);
}

void blt_put_fill(struct blt_rig *rig, const struct blt_shape *shape, const uint8_t colour[16])
{
    uint32_t words[4];

    memcpy(words, colour, sizeof words);
    blt_put(rig, IBLT_FAST_COLOR | IBLT_DEPTH(shape->depth) | (IBLT_FAST_COLOR_WORDS - 2));
    blt_put(rig, (shape->pitch - 1) | shape->tiling << 30);
    blt_put(rig, shape->left | shape->top << 16);
    blt_put(rig, shape->right | shape->bottom << 16);
    blt_put_wide(rig, shape->to);
    blt_put(rig, 0);
    for (unsigned i = 0; i < 4; i++)
        blt_put(rig, words[i]);
    blt_put_zeros(rig, 3);
    put_slice(rig, shape->to_slice, shape->to_slice_rows);
}

void blt_put_bytes(struct blt_rig *rig, unsigned page)
{
    uint8_t bytes[PAGE_BYTES];

    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    blt_write_page(rig, page, 0, bytes, sizeof bytes);
}
