/*
 * The model of the engines that intel_blt.h describes.
 *
 * A packet takes effect when its time is over; of a long copy each piece of PIECE_BYTES does. What
 * has no time of its own is done BURST packets at a time. A batch that goes on and on takes more
 * and more time, and so does a semaphore that nobody signals: the watchdog of the system comes.
 *
 * Tiled surfaces are rows of their pitch here, like linear ones: what the engine writes so, it
 * reads so, and nothing else of this model looks at them.
 *
 * There are no execution units. A COMPUTE_WALKER does its post-sync operation and nothing else:
 * what its kernel would have written is not known, and stays as it was.
 */
#include "intel_blt.h"
#include "intel_tokens.h"

#include <drydock/gpu_model.h>
#include <drydock/sgpu.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE          (UINT64_C(1) << IBLT_PAGE_BITS)
#define VA_MASK       ((UINT64_C(1) << IBLT_VA_BITS) - 1)
#define CACHE_ENTRIES 1024u
#define PACKET_MOST   1032u /* words of the longest packet: MI_STORE_DATA_IMM has 10 bits */
#define PIECE_BYTES   (UINT64_C(4) << 20)
#define BURST         64u
#define PACKET_NS     20u
#define POLL_NS       500u
#define MOST_POLL_NS  1000000u
#define PATIENCE      65536u /* packets of a batch, after which each takes twice as long */
#define TICKS_PER_US  12u    /* of the timestamps: 12 MHz */
#define FAULT_BYTES   160u
#define ESCAPE_CODE   12u
#define ESCAPE_CLOCKS 25u
#define ESCAPE_OUT    24u /* bytes in front of the clocks */

#define STATUS_NOT_SUPPORTED_CODE     ((int32_t)0xc00000bb)
#define STATUS_INVALID_PARAMETER_CODE ((int32_t)0xc000000d)

enum on { /* which engines know a packet, a bit each */
          ON_RENDER = 1u << IBLT_NODE_RENDER,
          ON_COPY = 1u << IBLT_NODE_COPY | 1u << IBLT_NODE_PAGING,
          ON_ALL = (1u << IBLT_ENGINES) - 1,
};

struct cached {
    uint64_t page;  /* number of the virtual page plus one; 0: empty */
    uint64_t entry; /* as one of 4 KiB */
};

struct engine {
    struct iblt *gpu;
    unsigned number;

    /* Registers. */
    uint32_t start, ctl, pdp_high;
    uint64_t head, tail; /* ever growing */
    uint64_t root;       /* the root table, by its offset of local memory */
    bool has_root;
    uint32_t nonpriv[IBLT_NONPRIVS];

    /* Where packets come from: the ring at depth 0, a batch at 1, one of second level at 2. */
    unsigned depth;
    uint64_t at[3];
    bool is_virtual; /* the batch has virtual addresses */

    /* The packet that is under way. */
    uint64_t packet_at;
    uint64_t done;    /* bytes of it that have been moved */
    uint64_t poll_ns; /* until a semaphore is looked at again; 0: it has not waited */
    bool has_waited;  /* its time is over */
    uint32_t packets; /* of this batch */
    uint64_t token;   /* of the client's work in it; 0: none */
    uint32_t words[PACKET_MOST];

    bool is_running, has_faulted;
    char text[FAULT_BYTES];
    bool has_cached; /* anything */
    struct cached cache[CACHE_ENTRIES];
};

struct iblt {
    const struct drydock_gpu_host *host;
    struct drydock_gpu_board board;
    struct engine engines[IBLT_ENGINES];
    uint64_t ggtt[IBLT_GGTT_ENTRIES];
};

static const uint32_t bases[IBLT_ENGINES] = IBLT_BASES;

static uint64_t wide(const uint32_t *words)
{
    return words[0] | (uint64_t)words[1] << 32;
}

static uint64_t smaller_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

/* An address of an entry that a walk has found, as an entry of 4 KiB; 0: there is none. */
static uint64_t leaf_of(uint64_t entry, unsigned bits, uint64_t va, uint64_t writable)
{
    const uint64_t offsets = (UINT64_C(1) << bits) - 1;
    uint64_t address = (entry & IBLT_PTE_ADDRESS_MASK & ~offsets) | (va & offsets);

    return (address & IBLT_PTE_ADDRESS_MASK) |
           (entry & (IBLT_PTE_PRESENT | IBLT_PTE_LOCAL | IBLT_PTE_NULL)) | writable;
}

static bool read_entry(const struct iblt *gpu, uint64_t table, uint64_t index, uint64_t *out)
{
    const struct drydock_gpu_place place = {true, (table & IBLT_PTE_ADDRESS_MASK) + 8 * index};

    return gpu->host->read(gpu->host->context, place, out, sizeof *out);
}

static uint64_t index_of(uint64_t va, unsigned shift, unsigned bits)
{
    return va >> shift & ((UINT64_C(1) << bits) - 1);
}

/* The last table: of 4 KiB pages, 16 of which may be one of 64 KiB, or of 64 KiB pages. */
static bool walk_last(const struct iblt *gpu, uint64_t pointer, uint64_t va, uint64_t writable,
                      uint64_t *out, unsigned *out_bits)
{
    const bool is_64k = pointer & IBLT_PDE_TABLE_64K;
    const unsigned shift = is_64k ? IBLT_64K_BITS : IBLT_PAGE_BITS;
    uint64_t index = index_of(va, shift, IBLT_LEVEL_BITS + IBLT_PAGE_BITS - shift), entry;

    *out_bits = shift;
    if (!read_entry(gpu, pointer, index, &entry))
        return false;
    if (!is_64k && (entry & IBLT_PTE_PRESENT) && (entry & IBLT_PTE_64K)) {
        if (!read_entry(gpu, pointer, index & ~UINT64_C(15), &entry))
            return false;
        if (entry & IBLT_PTE_PRESENT)
            *out = leaf_of(entry, IBLT_64K_BITS, va, entry & writable);
        return true;
    }
    if (entry & IBLT_PTE_PRESENT)
        *out = leaf_of(entry, shift, va, entry & writable);
    return true;
}

/*
 * The leaf entry as one of 4 KiB, 0 where there is none; out_bits: of an offset in the page that
 * the entry maps, or would map. False: a table is where nothing answers.
 */
static bool walk(const struct iblt *gpu, uint64_t root, uint64_t va, uint64_t *out,
                 unsigned *out_bits)
{
    uint64_t table = root, writable = IBLT_PTE_WRITABLE, entry;

    *out = 0;
    *out_bits = IBLT_PAGE_BITS;
    for (unsigned level = IBLT_LEVELS - 1; level; level--) {
        unsigned shift = IBLT_PAGE_BITS + IBLT_LEVEL_BITS * level;

        if (!read_entry(gpu, table, index_of(va, shift, IBLT_LEVEL_BITS), &entry))
            return false;
        if (!(entry & IBLT_PTE_PRESENT))
            return true;
        writable &= entry;
        if (level < 3 && (entry & IBLT_PDE_LARGE)) {
            *out = leaf_of(entry, shift, va, writable);
            *out_bits = shift;
            return true;
        }
        table = entry;
    }
    return walk_last(gpu, table, va, writable, out, out_bits);
}

/* A piece of memory: where it is, or that there is none and nothing is meant to be. */
struct piece {
    struct drydock_gpu_place place;
    uint64_t bytes; /* that follow there */
    bool is_null;
};

static bool find_virtual(struct engine *engine, uint64_t va, bool is_write, struct piece *out)
{
    const uint64_t page = (va & VA_MASK) >> IBLT_PAGE_BITS;
    struct cached *cached = &engine->cache[page % CACHE_ENTRIES];

    if (cached->page != page + 1) {
        uint64_t entry;
        unsigned bits;

        if (!engine->has_root || !walk(engine->gpu, engine->root, va & VA_MASK, &entry, &bits) ||
            !entry)
            return false;
        *cached = (struct cached){page + 1, entry};
        engine->has_cached = true;
    }
    if (is_write && !(cached->entry & IBLT_PTE_WRITABLE))
        return false;
    *out = (struct piece){
        .place = {.is_local = cached->entry & IBLT_PTE_LOCAL,
                  .address = (cached->entry & IBLT_PTE_ADDRESS_MASK) + va % PAGE},
        .bytes = PAGE - va % PAGE,
        .is_null = cached->entry & IBLT_PTE_NULL,
    };
    return true;
}

/* False: nothing is there, or nothing that may be written. */
static bool find(struct engine *engine, bool is_virtual, uint64_t address, bool is_write,
                 struct piece *out)
{
    uint64_t entry;

    if (is_virtual)
        return find_virtual(engine, address, is_write, out);
    if (address / PAGE >= IBLT_GGTT_ENTRIES)
        return false;
    entry = engine->gpu->ggtt[address / PAGE];
    *out = (struct piece){
        .place = {.is_local = entry & IBLT_GGTT_LOCAL,
                  .address = (entry & IBLT_PTE_ADDRESS_MASK) + address % PAGE},
        .bytes = PAGE - address % PAGE,
    };
    return entry & IBLT_PTE_PRESENT;
}

static bool read_space(struct engine *engine, bool is_virtual, uint64_t from, void *out,
                       uint64_t bytes)
{
    const struct drydock_gpu_host *host = engine->gpu->host;
    uint8_t *at = out;
    struct piece piece;

    for (; bytes; bytes -= piece.bytes, from += piece.bytes, at += piece.bytes) {
        if (!find(engine, is_virtual, from, false, &piece))
            return false;
        piece.bytes = smaller_of(piece.bytes, bytes);
        if (piece.is_null)
            memset(at, 0, piece.bytes);
        else if (!host->read(host->context, piece.place, at, piece.bytes))
            return false;
    }
    return true;
}

static bool write_space(struct engine *engine, bool is_virtual, uint64_t to, const void *from,
                        uint64_t bytes)
{
    const struct drydock_gpu_host *host = engine->gpu->host;
    const uint8_t *at = from;
    struct piece piece;

    for (; bytes; bytes -= piece.bytes, to += piece.bytes, at += piece.bytes) {
        if (!find(engine, is_virtual, to, true, &piece))
            return false;
        piece.bytes = smaller_of(piece.bytes, bytes);
        if (!piece.is_null && !host->write(host->context, piece.place, at, piece.bytes))
            return false;
    }
    return true;
}

/* ---- Caches ---------------------------------------------------------------------------------- */

static void forget(struct engine *engine)
{
    if (engine->has_cached)
        memset(engine->cache, 0, sizeof engine->cache);
    engine->has_cached = false;
}

/* Who asks for a flush of an address space wants it gone from all engines that have cached it. */
static void invalidate(struct engine *engine)
{
    struct iblt *gpu = engine->gpu;
    const struct drydock_gpu_place root = {true, engine->root};
    bool are_all = true, is_root = engine->has_root;

    forget(engine);
    for (unsigned i = 0; i < IBLT_ENGINES; i++) {
        const struct engine *other = &gpu->engines[i];

        are_all &= !other->has_cached;
        is_root &= !other->has_cached || other->root != engine->root;
    }
    if (are_all)
        gpu->host->flushed(gpu->host->context, NULL, 0, 0);
    else if (is_root)
        gpu->host->flushed(gpu->host->context, &root, 0, 0);
}

/* ---- Registers that packets write, too ------------------------------------------------------- */

static struct engine *engine_of(struct iblt *gpu, uint64_t offset)
{
    for (unsigned i = 0; i < IBLT_ENGINES; i++) {
        if (offset >= bases[i] && offset - bases[i] < PAGE)
            return &gpu->engines[i];
    }
    return NULL;
}

static void load_root(struct engine *engine, uint32_t low)
{
    engine->root = (low | (uint64_t)engine->pdp_high << 32) & IBLT_PTE_ADDRESS_MASK;
    engine->has_root = true;
    forget(engine);
}

static void write_engine(struct engine *engine, uint64_t offset, uint32_t value)
{
    uint64_t ring = (UINT64_C(1) + (engine->ctl >> 12 & 0x1ff)) * PAGE;

    switch (offset) {
    case IBLT_RING_START:
        engine->start = value;
        break;
    case IBLT_RING_CTL:
        engine->ctl = value;
        break;
    case IBLT_RING_TAIL: /* goes round the ring; it only grows */
        engine->tail += (value % ring + ring - engine->tail % ring) % ring;
        break;
    case IBLT_PDP0_UDW:
        engine->pdp_high = value;
        break;
    case IBLT_PDP0:
        load_root(engine, value);
        break;
    default:
        if (offset >= IBLT_NONPRIV(0) && offset < IBLT_NONPRIV(IBLT_NONPRIVS))
            engine->nonpriv[(offset - IBLT_NONPRIV(0)) / 4] = value;
        break;
    }
}

/* Its entries are not cached. */
static void write_ggtt(struct iblt *gpu, uint64_t at, const void *from, unsigned size)
{
    if (at + size <= sizeof gpu->ggtt)
        memcpy((uint8_t *)gpu->ggtt + at, from, size);
}

static void write_any(struct iblt *gpu, uint64_t offset, uint32_t value)
{
    struct engine *engine = engine_of(gpu, offset);

    if (offset >= IBLT_GGTT)
        write_ggtt(gpu, offset - IBLT_GGTT, &value, sizeof value);
    else if (engine)
        write_engine(engine, offset - bases[engine->number], value);
    else if (offset == IBLT_TLB_RENDER && (value & 1))
        invalidate(&gpu->engines[IBLT_NODE_RENDER]);
    else if (offset == IBLT_TLB_VIDEO && (value & 1))
        invalidate(&gpu->engines[IBLT_NODE_VIDEO]);
    else if (offset == IBLT_TLB_COPY) {
        if (value & 1)
            invalidate(&gpu->engines[IBLT_NODE_COPY]);
        if (value & 2)
            invalidate(&gpu->engines[IBLT_NODE_PAGING]);
    }
}

static uint64_t ticks(const struct iblt *gpu)
{
    return gpu->host->now(gpu->host->context) * TICKS_PER_US / 1000;
}

static uint32_t read_any(struct iblt *gpu, uint64_t offset)
{
    const struct engine *engine = engine_of(gpu, offset);
    uint64_t ring;

    if (!engine)
        return 0;
    ring = (UINT64_C(1) + (engine->ctl >> 12 & 0x1ff)) * PAGE;
    switch (offset - bases[engine->number]) {
    case IBLT_RING_START:
        return engine->start;
    case IBLT_RING_CTL:
        return engine->ctl;
    case IBLT_RING_HEAD:
        return (uint32_t)(engine->head % ring);
    case IBLT_RING_TAIL:
        return (uint32_t)(engine->tail % ring);
    case IBLT_TIMESTAMP:
    case IBLT_CONTEXT_TIMESTAMP:
        return (uint32_t)ticks(gpu);
    default:
        return 0;
    }
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static const char *packet_name(uint32_t header);

/* Always false: the packet has failed. Its address goes with the fault. */
static bool fails(struct engine *engine, const char *what, uint64_t address)
{
    snprintf(engine->text, sizeof engine->text, "%s (0x%08x): %s 0x%llx",
             packet_name(engine->words[0]), engine->words[0], what, (unsigned long long)address);
    return false;
}

static void fault(struct engine *engine)
{
    const struct drydock_gpu_host *host = engine->gpu->host;

    engine->has_faulted = true;
    engine->is_running = false;
    host->report_fault(host->context, engine->number, 0, engine->packet_at, engine->text);
}

/* ---- Stores ---------------------------------------------------------------------------------- */

/* A batch has no business at global addresses. */
static bool may_address(const struct engine *engine, bool is_ggtt)
{
    return !is_ggtt || !engine->depth || !engine->is_virtual;
}

static bool store(struct engine *engine, bool is_ggtt, uint64_t to, const void *from,
                  uint64_t bytes)
{
    if (!may_address(engine, is_ggtt))
        return fails(engine, "a batch may not write by global address", to);
    return write_space(engine, !is_ggtt, to, from, bytes) ||
           fails(engine, "cannot write", to & VA_MASK);
}

static bool do_nothing(struct engine *engine)
{
    (void)engine;
    return true;
}

static bool store_data(struct engine *engine)
{
    const uint32_t words = (engine->words[0] & 0x3ff) + 2;
    const uint64_t to = wide(engine->words + 1) & ~UINT64_C(3);

    if (words < 4 || ((engine->words[0] & IBLT_STORE_QWORDS) && words % 2 == 0))
        return fails(engine, "words without data:", words);
    return store(engine, engine->words[0] & IBLT_STORE_GGTT, to, engine->words + 3,
                 4 * (uint64_t)(words - 3));
}

static bool store_register(struct engine *engine)
{
    uint32_t offset = engine->words[1] & 0x7ffffc, value;

    if (engine->words[0] & IBLT_REMAP)
        offset = offset % PAGE + bases[engine->number];
    value = read_any(engine->gpu, offset);
    return store(engine, engine->words[0] & IBLT_STORE_GGTT, wide(engine->words + 2) & ~UINT64_C(3),
                 &value, sizeof value);
}

static bool is_allowed(const struct engine *engine, uint32_t offset)
{
    if (!engine->depth || !engine->is_virtual)
        return true;
    for (unsigned i = 0; i < IBLT_NONPRIVS; i++) {
        if (engine->nonpriv[i] && (engine->nonpriv[i] & 0x3fffffc) == offset)
            return true;
    }
    return false;
}

/* Registers that a batch may not write are not written: so does the hardware. */
static bool load_register(struct engine *engine)
{
    const uint32_t pairs = (engine->words[0] & 0xff) / 2 + 1;

    if (!(engine->words[0] & 1))
        return fails(engine, "half a register in words:", (engine->words[0] & 0xff) + 2);
    for (uint32_t i = 0; i < pairs; i++) {
        uint32_t offset = engine->words[1 + 2 * i] & 0x7ffffc;

        if (engine->words[0] & IBLT_REMAP)
            offset = offset % PAGE + bases[engine->number];
        if (is_allowed(engine, offset))
            write_any(engine->gpu, offset, engine->words[2 + 2 * i]);
    }
    return true;
}

/* What MI_FLUSH_DW and PIPE_CONTROL write behind everything: 1 a quad word, 3 the time. */
static bool post_sync(struct engine *engine, unsigned what, bool is_ggtt, uint64_t to,
                      const uint32_t *data)
{
    uint64_t value = what == 3 ? ticks(engine->gpu) : wide(data);

    if (what != 1 && what != 3)
        return !what || fails(engine, "no such post-sync operation:", what);
    return store(engine, is_ggtt, to & ~UINT64_C(7), &value, sizeof value);
}

static bool flush(struct engine *engine)
{
    if (engine->words[0] & IBLT_FLUSH_TLB)
        invalidate(engine);
    return post_sync(engine, engine->words[0] >> 14 & 3, engine->words[1] & IBLT_ADDRESS_GGTT,
                     wide(engine->words + 1), engine->words + 3);
}

static bool pipe_control(struct engine *engine)
{
    if (engine->words[1] & 1u << 18)
        invalidate(engine);
    return post_sync(engine, engine->words[1] >> 14 & 3, engine->words[1] & 1u << 24,
                     wide(engine->words + 2), engine->words + 4);
}

/* Its kernels are not run. Operation 3: begin and end, of the context and of all. */
static bool walk_compute(struct engine *engine)
{
    const uint64_t to = wide(engine->words + 27) & ~UINT64_C(7);
    const uint32_t now = (uint32_t)ticks(engine->gpu), times[4] = {now, now, now + 1, now + 1};

    engine->gpu->host->leaves_out(engine->gpu->host->context, engine->number);
    if ((engine->words[26] & 3) == 3)
        return store(engine, false, to, times, sizeof times);
    return post_sync(engine, engine->words[26] & 3, false, to, engine->words + 29);
}

static bool interrupt(struct engine *engine)
{
    engine->gpu->host->raise_interrupt(engine->gpu->host->context, engine->number);
    return true;
}

/* ---- Batches --------------------------------------------------------------------------------- */

static bool start_batch(struct engine *engine)
{
    const uint64_t to = wide(engine->words + 1) & VA_MASK & ~UINT64_C(3);
    const bool is_virtual = engine->words[0] & IBLT_PPGTT;

    if (engine->depth && engine->is_virtual && !is_virtual)
        return fails(engine, "a batch may not leave its address space, to", to);
    if (!engine->depth || ((engine->words[0] & IBLT_SECOND_LEVEL) && engine->depth == 1))
        engine->depth++;
    engine->is_virtual = is_virtual;
    engine->at[engine->depth] = to;
    return true;
}

static bool end_batch(struct engine *engine)
{
    if (!engine->depth)
        return fails(engine, "the ring is no batch, at", engine->packet_at);
    if (--engine->depth)
        return true;
    engine->packets = 0;
    if (engine->token)
        engine->gpu->host->end_work(engine->gpu->host->context, engine->token);
    engine->token = 0;
    return true;
}

/* True: the wait is over. False and no text: not yet. */
static bool wait_semaphore(struct engine *engine)
{
    const uint64_t from = wide(engine->words + 2) & ~UINT64_C(3);
    const bool is_ggtt = engine->words[0] & IBLT_STORE_GGTT;
    const uint32_t data = engine->words[1];
    uint32_t value;

    if (engine->words[0] & 1u << 16)
        return fails(engine, "a wait for a register is not known, of", engine->words[2]);
    if (!may_address(engine, is_ggtt))
        return fails(engine, "a batch may not read by global address", from);
    if (!read_space(engine, !is_ggtt, from, &value, sizeof value))
        return fails(engine, "cannot read", from & VA_MASK);
    switch (engine->words[0] >> 12 & 7) {
    case 0:
        return value > data;
    case 1:
        return value >= data;
    case 2:
        return value < data;
    case 3:
        return value <= data;
    case 4:
        return value == data;
    case 5:
        return value != data;
    default:
        return fails(engine, "no such comparison:", engine->words[0] >> 12 & 7);
    }
}

/* ---- Copies and fills ------------------------------------------------------------------------ */

/* Rows of bytes that are read, or written. */
struct surface {
    uint64_t address;
    uint64_t pitch;
};

struct blit {
    struct surface to, from;
    uint64_t row_bytes, rows;
    uint8_t colour[16];
    unsigned colour_bytes; /* 0: a copy */
};

static const uint8_t depths[8] = {1, 2, 4, 8, 12, 16, 0, 0};

/* A place in a surface: of word 1 and its like, x and y of one word, an address, offsets. */
static struct surface surface_at(uint32_t control, uint32_t corner, const uint32_t *address,
                                 uint32_t offsets, unsigned depth)
{
    const bool is_tiled = control >> 30;
    const uint64_t pitch = ((uint64_t)(control & 0x3ffff) + 1) * (is_tiled ? 4 : 1);
    const uint64_t x = (corner & 0xffff) + (offsets & 0x3fff);
    const uint64_t y = (corner >> 16) + (offsets >> 16 & 0x3fff);

    return (struct surface){wide(address) + y * pitch + x * depth, pitch};
}

/* What a packet of rectangles is to do. False: it makes no sense. */
static bool take_rectangle(struct engine *engine, struct blit *out)
{
    const uint32_t *words = engine->words;
    const unsigned depth = depths[words[0] >> 19 & 7];
    const uint32_t left = words[2] & 0xffff, top = words[2] >> 16;
    const uint32_t right = words[3] & 0xffff, bottom = words[3] >> 16;

    if (!depth)
        return fails(engine, "no such colour depth:", words[0] >> 19 & 7);
    if (words[0] >> 12 & 3)
        return fails(engine, "a special mode is not known:", words[0] >> 12 & 3);
    if (words[1] & 1u << 29)
        return fails(engine, "a compressed surface is not known:", wide(words + 4) & VA_MASK);
    out->to = surface_at(words[1], words[2], words + 4, words[6], depth);
    if (right > left && bottom > top) {
        out->row_bytes = (uint64_t)(right - left) * depth;
        out->rows = bottom - top;
    }
    if ((words[0] & 0xffc00000u) == IBLT_FAST_COLOR) {
        out->colour_bytes = depth;
        memcpy(out->colour, words + 7, sizeof out->colour);
    } else if (words[8] & 1u << 29) {
        return fails(engine, "a compressed surface is not known:", wide(words + 9) & VA_MASK);
    } else {
        out->from = surface_at(words[8], words[7], words + 9, words[11], depth);
    }
    return true;
}

static void take_linear(const struct engine *engine, struct blit *out)
{
    const uint32_t *words = engine->words;
    const bool has_rows = words[0] & IBLT_MATRIX;
    const bool is_copy = (words[0] & 0xffc00000u) == IBLT_MEM_COPY;

    out->row_bytes = (uint64_t)(words[1] & (has_rows ? 0x3ffff : 0xffffff)) + 1;
    out->rows = has_rows ? (uint64_t)(words[2] & 0x3ffff) + 1 : 1;
    if (is_copy) {
        out->from = (struct surface){wide(words + 5), (uint64_t)(words[3] & 0x3ffff) + 1};
        out->to = (struct surface){wide(words + 7), (uint64_t)(words[4] & 0x3ffff) + 1};
        return;
    }
    out->to = (struct surface){wide(words + 4), (uint64_t)(words[3] & 0x3ffff) + 1};
    out->colour[0] = (uint8_t)(words[6] >> 24);
    out->colour_bytes = 1;
}

/* False: it is none, or makes no sense. */
static bool take_blit(struct engine *engine, struct blit *out)
{
    const uint32_t kind = engine->words[0] & 0xffc00000u;

    memset(out, 0, sizeof *out);
    if (kind == IBLT_BLOCK_COPY || kind == IBLT_FAST_COLOR)
        return take_rectangle(engine, out);
    take_linear(engine, out);
    return true;
}

static bool overlaps(const struct drydock_gpu_place *a, const struct drydock_gpu_place *b,
                     uint64_t bytes)
{
    return a->is_local == b->is_local && a->address < b->address + bytes &&
           b->address < a->address + bytes;
}

static bool copy_piece(struct engine *engine, uint64_t to, uint64_t from, uint64_t most,
                       uint64_t *out_bytes)
{
    const struct drydock_gpu_host *host = engine->gpu->host;
    struct piece source, destination;
    uint8_t bytes[PAGE];
    bool did;

    if (!find(engine, true, from, false, &source))
        return fails(engine, "cannot read", from & VA_MASK);
    if (!find(engine, true, to, true, &destination))
        return fails(engine, "cannot write", to & VA_MASK);
    most = smaller_of(most, smaller_of(source.bytes, destination.bytes));
    *out_bytes = most;
    if (destination.is_null)
        return true;
    if (source.is_null)
        did = host->fill(host->context, destination.place, 0, most);
    else if (overlaps(&source.place, &destination.place, most))
        did = host->read(host->context, source.place, bytes, most) &&
              host->write(host->context, destination.place, bytes, most);
    else
        did = host->copy(host->context, destination.place, source.place, most);
    return did || fails(engine, "nothing answers for", to & VA_MASK);
}

/* `in_row` bytes of the row are filled by now. */
static bool fill_piece(struct engine *engine, const struct blit *blit, uint64_t to, uint64_t in_row,
                       uint64_t most, uint64_t *out_bytes)
{
    const struct drydock_gpu_host *host = engine->gpu->host;
    const unsigned period = blit->colour_bytes;
    uint8_t bytes[PAGE];
    struct piece piece;
    uint32_t pattern;
    bool is_short = true; /* four bytes repeat */

    if (!find(engine, true, to, true, &piece))
        return fails(engine, "cannot write", to & VA_MASK);
    *out_bytes = most = smaller_of(most, piece.bytes);
    if (piece.is_null)
        return true;
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = blit->colour[(in_row + i) % period];
    memcpy(&pattern, bytes, sizeof pattern);
    for (unsigned i = 4; i < 20 && i < most; i++)
        is_short &= blit->colour[(in_row + i) % period] == bytes[i % 4];
    if (is_short)
        return host->fill(host->context, piece.place, pattern, most) ||
               fails(engine, "nothing answers for", to & VA_MASK);
    for (uint64_t i = 0; i < most; i++)
        bytes[i] = blit->colour[(in_row + i) % period];
    return host->write(host->context, piece.place, bytes, most) ||
           fails(engine, "nothing answers for", to & VA_MASK);
}

/* The next piece, of at most PIECE_BYTES. False: it failed. */
static bool blit_some(struct engine *engine, const struct blit *blit)
{
    uint64_t end = smaller_of(engine->done + PIECE_BYTES, blit->row_bytes * blit->rows), bytes;

    for (; engine->done < end; engine->done += bytes) {
        const uint64_t row = engine->done / blit->row_bytes,
                       in_row = engine->done % blit->row_bytes;
        const uint64_t to = blit->to.address + row * blit->to.pitch + in_row;
        const uint64_t from = blit->from.address + row * blit->from.pitch + in_row;
        uint64_t most = smaller_of(end - engine->done, blit->row_bytes - in_row);

        if (blit->row_bytes == blit->to.pitch && !blit->colour_bytes &&
            blit->row_bytes == blit->from.pitch)
            most = end - engine->done; /* row behind row */
        if (blit->colour_bytes ? !fill_piece(engine, blit, to, in_row, most, &bytes)
                               : !copy_piece(engine, to, from, most, &bytes))
            return false;
    }
    return true;
}

/* ---- The client's work ----------------------------------------------------------------------- */

static uint64_t three_numbers(const uint32_t *words)
{
    return (words[0] & IBLT_NUMBER_MASK) | (uint64_t)(words[1] & IBLT_NUMBER_MASK) << 22 |
           (uint64_t)(words[2] & IBLT_NUMBER_MASK) << 44;
}

static bool is_work(const uint32_t *words)
{
    for (unsigned i = 0; i < IBLT_WORK_WORDS; i++) {
        if (words[i] & ~IBLT_NUMBER_MASK)
            return false;
    }
    return words[0] == (IBLT_MI_NOOP | IBLT_WORK_MAGIC);
}

static uint32_t work_ns(const uint32_t *words)
{
    return (words[2] & IBLT_NUMBER_MASK) | words[3] << IBLT_NUMBER_BITS;
}

static bool do_work(struct engine *engine)
{
    const struct drydock_gpu_host *host = engine->gpu->host;
    const uint32_t *words = engine->words;
    const uint32_t flags = words[1] & 3, index = (words[1] & IBLT_NUMBER_MASK) >> 2;
    const uint64_t token = three_numbers(words + 4), va = three_numbers(words + 7);
    const uint64_t bytes = three_numbers(words + 10), key = three_numbers(words + 13);
    struct piece piece;

    if (engine->token != token && engine->depth) {
        host->begin_work(host->context, token, engine->number);
        engine->token = token;
    }
    for (uint64_t done = 0; flags && done < bytes; done += piece.bytes) {
        if (!find(engine, true, va + done, flags & IBLT_WORK_WRITE, &piece) || piece.is_null)
            return fails(engine, "the client's work does not find", (va + done) & VA_MASK);
        piece.bytes = smaller_of(piece.bytes, bytes - done);
        if ((flags & IBLT_WORK_READ) &&
            !host->read_work(host->context, token, index, done, piece.place, piece.bytes))
            return fails(engine, "the client's work cannot read", (va + done) & VA_MASK);
        if ((flags & IBLT_WORK_WRITE) &&
            !host->write_work(host->context, token, index, done, piece.place, piece.bytes, key))
            return fails(engine, "the client's work cannot write", (va + done) & VA_MASK);
    }
    return true;
}

static bool no_op(struct engine *engine)
{
    return !is_work(engine->words) || do_work(engine);
}

/* ---- Packets --------------------------------------------------------------------------------- */

/*
 * words 0: by the lowest bits of word 0, and two. do NULL: a copy or a fill, piece by piece.
 */
static const struct packet {
    uint32_t mask, header;
    uint32_t words;
    uint32_t length_mask; /* 0: of one word */
    unsigned engines;
    const char *name;
    bool (*execute)(struct engine *engine);
} packets[] = {
#define MI_MASK  0xff800000u
#define BLT_MASK 0xffc00000u
#define GFX_MASK 0xffff0000u
    {MI_MASK, IBLT_MI_NOOP, 1, 0, ON_ALL, "MI_NOOP", no_op},
    {MI_MASK, IBLT_MI_USER_INTERRUPT, 1, 0, ON_ALL, "MI_USER_INTERRUPT", interrupt},
    {MI_MASK, IBLT_MI_ARB_CHECK, 1, 0, ON_ALL, "MI_ARB_CHECK", do_nothing},
    {MI_MASK, IBLT_MI_ARB_ON_OFF, 1, 0, ON_ALL, "MI_ARB_ON_OFF", do_nothing},
    {MI_MASK, IBLT_MI_BATCH_END, 1, 0, ON_ALL, "MI_BATCH_BUFFER_END", end_batch},
    {MI_MASK, IBLT_MI_SEMAPHORE_WAIT, 5, 0xff, ON_ALL, "MI_SEMAPHORE_WAIT", NULL},
    {MI_MASK, IBLT_MI_STORE_DATA, 0, 0x3ff, ON_ALL, "MI_STORE_DATA_IMM", store_data},
    {MI_MASK, IBLT_MI_LOAD_REGISTER, 0, 0xff, ON_ALL, "MI_LOAD_REGISTER_IMM", load_register},
    {MI_MASK, IBLT_MI_STORE_REGISTER, 4, 0xff, ON_ALL, "MI_STORE_REGISTER_MEM", store_register},
    {MI_MASK, IBLT_MI_FLUSH_DW, 0, 0x3f, ON_ALL, "MI_FLUSH_DW", flush},
    {MI_MASK, IBLT_MI_COPY_MEM_MEM, 5, 0xff, ON_ALL, "MI_COPY_MEM_MEM", NULL},
    {MI_MASK, IBLT_MI_BATCH_START, 3, 0xff, ON_ALL, "MI_BATCH_BUFFER_START", start_batch},
    {BLT_MASK, IBLT_BLOCK_COPY, IBLT_BLOCK_COPY_WORDS, 0xff, ON_COPY, "XY_BLOCK_COPY_BLT", NULL},
    {BLT_MASK, IBLT_FAST_COLOR, IBLT_FAST_COLOR_WORDS, 0xff, ON_COPY, "XY_FAST_COLOR_BLT", NULL},
    {BLT_MASK, IBLT_MEM_COPY, IBLT_MEM_COPY_WORDS, 0xff, ON_COPY, "MEM_COPY", NULL},
    {BLT_MASK, IBLT_MEM_SET, IBLT_MEM_SET_WORDS, 0xff, ON_COPY, "MEM_SET", NULL},
    {GFX_MASK, 0x7a000000u, 6, 0xff, ON_RENDER, "PIPE_CONTROL", pipe_control},
    {GFX_MASK, 0x72080000u, 39, 0xff, ON_RENDER, "COMPUTE_WALKER", walk_compute},
    {GFX_MASK, 0x61010000u, 22, 0xff, ON_RENDER, "STATE_BASE_ADDRESS", do_nothing},
    {GFX_MASK, 0x69040000u, 1, 0, ON_RENDER, "PIPELINE_SELECT", do_nothing},
    {GFX_MASK, 0x72000000u, 6, 0xff, ON_RENDER, "CFE_STATE", do_nothing},
    {GFX_MASK, 0x61050000u, 2, 0xff, ON_RENDER, "STATE_COMPUTE_MODE", do_nothing},
    {GFX_MASK, 0x79190000u, 4, 0xff, ON_RENDER, "3DSTATE_BINDING_TABLE_POOL_ALLOC", do_nothing},
#undef MI_MASK
#undef BLT_MASK
#undef GFX_MASK
};

static const struct packet *packet_of(uint32_t header)
{
    for (size_t i = 0; i < sizeof packets / sizeof packets[0]; i++) {
        if ((header & packets[i].mask) == packets[i].header)
            return &packets[i];
    }
    return NULL;
}

static const char *packet_name(uint32_t header)
{
    const struct packet *packet = packet_of(header);

    return packet ? packet->name : "packet";
}

static bool is_blit(uint32_t header)
{
    return header >> 29 == 2;
}

static bool copy_word(struct engine *engine)
{
    const bool to_ggtt = engine->words[0] & 1u << 21, from_ggtt = engine->words[0] & 1u << 22;
    const uint64_t from = wide(engine->words + 3) & ~UINT64_C(3);
    uint32_t value;

    if (!may_address(engine, from_ggtt))
        return fails(engine, "a batch may not read by global address", from);
    if (!read_space(engine, !from_ggtt, from, &value, sizeof value))
        return fails(engine, "cannot read", from & VA_MASK);
    return store(engine, to_ggtt, wide(engine->words + 1) & ~UINT64_C(3), &value, sizeof value);
}

/* ---- The engine ------------------------------------------------------------------------------ */

static void step(void *argument);

static uint64_t ring_bytes(const struct engine *engine)
{
    return (UINT64_C(1) + (engine->ctl >> 12 & 0x1ff)) * PAGE;
}

/* Words from the stream at `skip` words behind its packet. */
static bool read_stream(struct engine *engine, uint32_t skip, uint32_t count)
{
    const uint64_t from = engine->packet_at + 4 * (uint64_t)skip;
    uint64_t ring, position;

    if (engine->depth)
        return read_space(engine, engine->is_virtual, from, engine->words + skip,
                          4 * (uint64_t)count);
    ring = ring_bytes(engine);
    for (uint32_t i = 0; i < count; i++) { /* a packet may go round the end */
        position = (engine->head + 4 * (uint64_t)(skip + i)) % ring;
        if (!read_space(engine, false, (engine->start & ~(uint32_t)(PAGE - 1)) + position,
                        engine->words + skip + i, 4))
            return false;
    }
    return true;
}

/* The packet that is next, whole. False: the engine has stopped. */
static bool fetch(struct engine *engine, const struct packet **out, uint32_t *out_words)
{
    const struct packet *packet;
    uint64_t left = engine->tail - engine->head;
    uint32_t words;

    engine->packet_at =
        engine->depth ? engine->at[engine->depth]
                      : (engine->start & ~(uint32_t)(PAGE - 1)) + engine->head % ring_bytes(engine);
    engine->words[0] = 0;
    if (!read_stream(engine, 0, 1)) {
        snprintf(engine->text, sizeof engine->text, "a batch goes on where nothing answers");
        return false;
    }
    packet = packet_of(engine->words[0]);
    if (!packet) {
        snprintf(engine->text, sizeof engine->text, "packet 0x%08x is not known", engine->words[0]);
        return false;
    }
    if (!(packet->engines & 1u << engine->number))
        return fails(engine, "is of another engine than node", engine->number);
    words = packet->length_mask ? (engine->words[0] & packet->length_mask) + 2 : 1;
    if (packet->words && words != packet->words)
        return fails(engine, "has another number of words than", packet->words);
    if (packet->execute == flush && words != 4 && words != IBLT_FLUSH_WORDS)
        return fails(engine, "has a number of words that is not known:", words);
    if (engine->words[0] == (IBLT_MI_NOOP | IBLT_WORK_MAGIC) && engine->depth) {
        if (!read_stream(engine, 1, IBLT_WORK_WORDS - 1))
            return fails(engine, "nothing answers behind", engine->packet_at);
        words = is_work(engine->words) ? IBLT_WORK_WORDS : 1;
    }
    if (!engine->depth && 4 * (uint64_t)words > left)
        return fails(engine, "is not whole in the ring, whose bytes are", left);
    if (words > 1 && !read_stream(engine, 1, words - 1))
        return fails(engine, "nothing answers behind", engine->packet_at);
    if (words == 4 && packet->execute == flush)
        engine->words[4] = 0;
    *out = packet;
    *out_words = words;
    return true;
}

static bool has_packets(const struct engine *engine)
{
    return engine->depth || ((engine->ctl & 1) && engine->head < engine->tail);
}

/* Of what is about to take effect; 0: at once. */
static uint64_t duration(const struct engine *engine, const struct packet *packet,
                         const struct blit *blit)
{
    const uint64_t speed = engine->gpu->board.link_bytes_per_second;

    if (packet->execute == no_op)
        return is_work(engine->words) ? work_ns(engine->words) : 0;
    if (!is_blit(engine->words[0]) || !speed)
        return 0;
    return PACKET_NS + smaller_of(PIECE_BYTES, blit->row_bytes * blit->rows - engine->done) * 1000 /
                           (speed / 1000000 + 1);
}

static void rest(struct engine *engine, uint64_t ns)
{
    const struct drydock_gpu_host *host = engine->gpu->host;

    engine->is_running = host->schedule(host->context, ns, step, engine);
}

enum outcome { NEXT, LATER, STOP };

static enum outcome run_packet(struct engine *engine, const struct packet *packet,
                               const struct blit *blit)
{
    if (is_blit(engine->words[0])) {
        if (!blit_some(engine, blit))
            return STOP;
        engine->has_waited = false;
        return engine->done < blit->row_bytes * blit->rows ? LATER : NEXT;
    }
    if (packet->header == IBLT_MI_COPY_MEM_MEM)
        return copy_word(engine) ? NEXT : STOP;
    if (packet->header == IBLT_MI_SEMAPHORE_WAIT) {
        engine->text[0] = '\0';
        if (wait_semaphore(engine))
            return NEXT;
        return engine->text[0] ? STOP : LATER;
    }
    return packet->execute(engine) ? NEXT : STOP;
}

/* One packet, or a part of it. False: the engine rests, is done, or has stopped. */
static bool advance(struct engine *engine)
{
    const struct drydock_gpu_host *host = engine->gpu->host;
    const unsigned depth = engine->depth;
    const struct packet *packet = NULL;
    struct blit blit = {.rows = 0};
    enum outcome outcome;
    uint32_t words = 0;
    uint64_t ns;

    engine->is_running = has_packets(engine) && !engine->has_faulted;
    if (!engine->is_running)
        return false;
    if (!fetch(engine, &packet, &words) ||
        (is_blit(engine->words[0]) && !take_blit(engine, &blit))) {
        fault(engine);
        return false;
    }
    ns = engine->has_waited ? 0 : duration(engine, packet, &blit);
    if (ns) {
        engine->has_waited = true;
        rest(engine, ns);
        return false;
    }
    host->executes(host->context, engine->number, engine->packet_at, 4 * words);
    engine->at[depth] += 4 * (uint64_t)words; /* where a batch that it starts comes back to */
    outcome = run_packet(engine, packet, &blit);
    if (outcome == STOP) {
        fault(engine);
        return false;
    }
    host->executes(host->context, engine->number, 0, 0);
    if (outcome == LATER) {
        engine->at[depth] -= 4 * (uint64_t)words;
        if (is_blit(engine->words[0]))
            return true;
        engine->poll_ns = engine->poll_ns ? smaller_of(2 * engine->poll_ns, MOST_POLL_NS) : POLL_NS;
        rest(engine, engine->poll_ns);
        return false;
    }
    if (!depth)
        engine->head += 4 * (uint64_t)words;
    engine->done = 0;
    engine->poll_ns = 0;
    engine->has_waited = false;
    if (engine->depth)
        engine->packets++;
    return true;
}

static void step(void *argument)
{
    struct engine *engine = argument;
    unsigned i = 0;

    while (i < BURST && advance(engine))
        i++;
    if (i == BURST) {
        const uint32_t doubled = engine->packets / PATIENCE;

        rest(engine, (uint64_t)BURST * PACKET_NS << (doubled < 24 ? doubled : 24));
    }
}

/* ---- Registers and life ---------------------------------------------------------------------- */

static void reset_engine(struct engine *engine)
{
    struct iblt *gpu = engine->gpu;
    const unsigned number = engine->number;

    gpu->host->cancel(gpu->host->context, engine);
    memset(engine, 0, sizeof *engine);
    engine->gpu = gpu;
    engine->number = number;
}

static void reset_engines(struct iblt *gpu)
{
    for (unsigned i = 0; i < IBLT_ENGINES; i++)
        reset_engine(&gpu->engines[i]);
}

static void reset(void *self)
{
    struct iblt *gpu = self;

    reset_engines(gpu);
    memset(gpu->ggtt, 0, sizeof gpu->ggtt);
}

static uint64_t read_register(void *self, uint64_t offset, unsigned size)
{
    (void)size;
    return read_any(self, offset & ~UINT64_C(3));
}

static void write_register(void *self, uint64_t offset, unsigned size, uint64_t value)
{
    struct iblt *gpu = self;
    struct engine *engine = engine_of(gpu, offset);

    if (offset == IBLT_RESET && (value & 1))
        reset_engines(gpu);
    else if (offset >= IBLT_GGTT)
        write_ggtt(gpu, offset - IBLT_GGTT, &value, size);
    else
        write_any(gpu, offset & ~UINT64_C(3), (uint32_t)value);
    if (engine && !engine->is_running && !engine->has_faulted && has_packets(engine))
        rest(engine, PACKET_NS);
}

static bool translate(void *self, struct drydock_gpu_place root, uint64_t va,
                      struct drydock_gpu_translation *out)
{
    uint64_t entry;
    unsigned bits;

    *out = (struct drydock_gpu_translation){0};
    if (!root.is_local || !walk(self, root.address, va & VA_MASK, &entry, &bits))
        return false;
    out->page_bytes = UINT64_C(1) << bits;
    if (!entry)
        return true;
    out->is_valid = true;
    out->is_read_only = !(entry & IBLT_PTE_WRITABLE);
    out->is_zero = entry & IBLT_PTE_NULL;
    out->at = (struct drydock_gpu_place){entry & IBLT_PTE_LOCAL, entry & IBLT_PTE_ADDRESS_MASK};
    return true;
}

static void *create(const struct drydock_gpu_host *host, const struct drydock_gpu_board *board)
{
    struct iblt *gpu = calloc(1, sizeof *gpu);

    if (!gpu)
        return NULL;
    gpu->host = host;
    gpu->board = *board;
    for (unsigned i = 0; i < IBLT_ENGINES; i++) {
        gpu->engines[i].gpu = gpu;
        gpu->engines[i].number = i;
    }
    return gpu;
}

/* ---- The user-mode half ---------------------------------------------------------------------- */

/* Words that are counted first, and written where there is room. */
struct words {
    uint32_t *out;
    uint32_t room, count;
};

static void put(struct words *words, uint32_t value)
{
    if (words->count < words->room)
        words->out[words->count] = value;
    words->count++;
}

static void put_wide(struct words *words, uint64_t value)
{
    put(words, (uint32_t)value);
    put(words, (uint32_t)(value >> 32));
}

/* Returns where its length is. */
static uint32_t open_token(struct words *words, uint32_t id)
{
    put(words, id | TOKEN_NESTED);
    put(words, 0);
    put(words, 0);
    put(words, 0);
    return words->count - 2;
}

static void close_token(struct words *words, uint32_t at)
{
    const uint32_t length = words->count - at - 2;

    if (words->count > words->room)
        return;
    words->out[at] = 4 * length;
    words->out[at + 1] = length;
}

static void put_flag(struct words *words, uint32_t id, bool is_set)
{
    if (!is_set)
        return;
    put(words, id | 1u << 16);
    put(words, 1);
}

static uint32_t allocation_data(void *self, const struct drydock_gpu_allocation *allocation,
                                void *out, uint32_t room)
{
    const uint32_t flags = allocation->flags;
    struct words words = {out, room / 4, 0};
    uint32_t resource, body, surface, group, info;

    (void)self;
    resource = open_token(&words, TOKEN_RESOURCE);
    body = open_token(&words, TOKEN_RESOURCE_BODY);
    surface = open_token(&words, TOKEN_SURFACE);
    group = open_token(&words, TOKEN_FLAGS);
    info = open_token(&words, TOKEN_INFO_FLAGS);
    put_flag(&words, TOKEN_CACHEABLE, flags & SGPU_UMD_CACHED);
    put_flag(&words, TOKEN_LOCAL_ONLY, flags & SGPU_UMD_NO_APERTURE);
    put_flag(&words, TOKEN_NEVER_DEMOTED, flags & SGPU_UMD_NO_APERTURE);
    put_flag(&words, TOKEN_NOT_LOCKABLE, !(flags & (SGPU_UMD_CPU_VISIBLE | SGPU_UMD_CACHED)));
    put_flag(&words, TOKEN_NON_LOCAL_ONLY,
             flags & (SGPU_UMD_APERTURE_ONLY | SGPU_UMD_PREFER_APERTURE));
    close_token(&words, info);
    close_token(&words, group);
    put(&words, TOKEN_SIZE | 2u << 16);
    put_wide(&words, allocation->bytes);
    close_token(&words, surface);
    close_token(&words, body);
    close_token(&words, resource);
    return 4 * words.count;
}

/* Of memory of the client's: as many bytes as the resource has. */
static uint64_t client_bytes(void *self, const void *data, uint32_t bytes)
{
    static const unsigned short path[] = {TOKEN_RESOURCE, TOKEN_RESOURCE_BODY, TOKEN_SURFACE,
                                          TOKEN_SIZE};
    unsigned long long value = 0;
    uint32_t *words = malloc(bytes + 1);

    (void)self;
    if (!words)
        return 0;
    memcpy(words, data, bytes);
    token_find(words, bytes / 4, path, sizeof path / sizeof path[0], &value);
    free(words);
    return value;
}

/*
 * The one escape that is known: the GPU's clock and the CPU's. In: words 2 and 4, what is wanted;
 * out: over that, both clocks and how fast they go.
 */
static int32_t escape(void *self, void *data, uint32_t bytes)
{
    const struct iblt *gpu = self;
    const uint64_t now = gpu->host->now(gpu->host->context);
    const uint64_t out[] = {ticks(gpu), now, TICKS_PER_US * UINT64_C(1000000),
                            UINT64_C(1000000000)};
    uint32_t words[5];

    if (bytes < ESCAPE_OUT + sizeof out)
        return STATUS_INVALID_PARAMETER_CODE;
    memcpy(words, data, sizeof words);
    if (words[2] != ESCAPE_CODE || words[4] != ESCAPE_CLOCKS)
        return STATUS_NOT_SUPPORTED_CODE;
    memset((uint8_t *)data + 16, 0, 8);
    memcpy((uint8_t *)data + ESCAPE_OUT, out, sizeof out);
    return 0;
}

static void put_three(struct words *words, uint64_t value)
{
    put(words, (uint32_t)value & IBLT_NUMBER_MASK);
    put(words, (uint32_t)(value >> 22) & IBLT_NUMBER_MASK);
    put(words, (uint32_t)(value >> 44));
}

/* One of the user-mode driver's; flags 0: nothing is touched. */
static void put_work(struct words *words, const struct drydock_gpu_work *work, uint32_t index,
                     uint32_t flags, uint32_t duration_ns)
{
    const struct drydock_gpu_reference *reference = flags ? &work->references[index] : NULL;

    put(words, IBLT_MI_NOOP | IBLT_WORK_MAGIC);
    put(words, flags | index << 2);
    put(words, duration_ns & IBLT_NUMBER_MASK);
    put(words, duration_ns >> IBLT_NUMBER_BITS);
    put_three(words, work->token);
    put_three(words, reference ? reference->va : 0);
    put_three(words, reference ? reference->bytes : 0);
    put_three(words, reference ? reference->key : 0);
}

/* First the time that it takes, then all that it reads, then what it writes. */
static uint32_t commands(void *self, const struct drydock_gpu_work *work, void *out, uint32_t room)
{
    struct words words = {out, room / 4, 0};

    (void)self;
    put_work(&words, work, 0, 0, (uint32_t)smaller_of(work->duration_ns, UINT32_MAX));
    for (uint32_t i = 0; i < work->reference_count; i++) {
        if (work->references[i].is_read)
            put_work(&words, work, i, IBLT_WORK_READ, 0);
    }
    for (uint32_t i = 0; i < work->reference_count; i++) {
        if (work->references[i].is_written)
            put_work(&words, work, i, IBLT_WORK_WRITE, 0);
    }
    put(&words, IBLT_MI_BATCH_END);
    put(&words, IBLT_MI_NOOP);
    return 4 * words.count;
}

const struct drydock_gpu_model *drydock_gpu_model(uint32_t api_version)
{
    static const struct drydock_gpu_pci pci = {
        .vendor_id = 0x8086,
        .device_id = 0x56a0,
        .class_code = 0x030000,
        .bars[0] = {.is_there = true, .bytes = IBLT_REGISTER_BYTES},
        .bars[2] = {.is_there = true, .is_local = true},
        .message_count = IBLT_ENGINES,
    };
    static const struct drydock_gpu_application application = {
        .description = "Drydock's model of Intel graphics (DG2)",
        .client_bytes = client_bytes,
        .escape = escape,
    };
    static const struct drydock_gpu_model model = {
        .api_version = DRYDOCK_GPU_MODEL_API,
        .name = "intel_blt",
        .register_bytes = IBLT_REGISTER_BYTES,
        .create = create,
        .destroy = free,
        .reset = reset,
        .read_register = read_register,
        .write_register = write_register,
        .translate = translate,
        .allocation_data = allocation_data,
        .commands = commands,
        .pci = &pci,
        .application = &application,
        .tells_flushes = true,
    };

    return api_version == DRYDOCK_GPU_MODEL_API ? &model : NULL;
}
