/*
 * The packets: what each one does once its time is over.
 */
#include "model.h"

#include <stdio.h>

enum on { /* which engines know a packet, a bit each */
          ON_RENDER = 1u << IBLT_NODE_RENDER,
          ON_COPY = 1u << IBLT_NODE_COPY | 1u << IBLT_NODE_PAGING,
          ON_ALL = (1u << IBLT_ENGINES) - 1,
};

bool iblt_fails(struct engine *engine, const char *what, uint64_t address)
{
    const struct packet *packet = iblt_packet_of(engine->words[0]);

    snprintf(engine->text, sizeof engine->text, "%s (0x%08x): %s 0x%llx",
             packet ? packet->name : "packet", engine->words[0], what, (unsigned long long)address);
    return false;
}

/* A batch has no business at global addresses. */
static bool may_address(const struct engine *engine, bool is_ggtt)
{
    return !is_ggtt || !engine->depth || !engine->is_virtual;
}

static bool store(struct engine *engine, bool is_ggtt, uint64_t to, const void *from,
                  uint64_t bytes)
{
    if (!may_address(engine, is_ggtt))
        return iblt_fails(engine, "a batch may not write by global address", to);
    return iblt_write(engine, !is_ggtt, to, from, bytes) ||
           iblt_fails(engine, "cannot write", to & VA_MASK);
}

static bool do_nothing(struct engine *engine)
{
    (void)engine;
    return true;
}

static bool store_data(struct engine *engine)
{
    const uint32_t words = (engine->words[0] & 0x3ff) + 2;
    const uint64_t to = iblt_wide(engine->words + 1) & ~UINT64_C(3);

    if (words < 4 || ((engine->words[0] & IBLT_STORE_QWORDS) && words % 2 == 0))
        return iblt_fails(engine, "words without data:", words);
    return store(engine, engine->words[0] & IBLT_STORE_GGTT, to, engine->words + 3,
                 4 * (uint64_t)(words - 3));
}

static bool store_register(struct engine *engine)
{
    uint32_t offset = engine->words[1] & 0x7ffffc, value;

    if (engine->words[0] & IBLT_REMAP)
        offset = offset % PAGE + iblt_bases[engine->number];
    value = iblt_read_any(engine->gpu, offset);
    return store(engine, engine->words[0] & IBLT_STORE_GGTT,
                 iblt_wide(engine->words + 2) & ~UINT64_C(3), &value, sizeof value);
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
        return iblt_fails(engine, "half a register in words:", (engine->words[0] & 0xff) + 2);
    for (uint32_t i = 0; i < pairs; i++) {
        uint32_t offset = engine->words[1 + 2 * i] & 0x7ffffc;

        if (engine->words[0] & IBLT_REMAP)
            offset = offset % PAGE + iblt_bases[engine->number];
        if (is_allowed(engine, offset))
            iblt_write_any(engine->gpu, offset, engine->words[2 + 2 * i]);
    }
    return true;
}

/* What MI_FLUSH_DW and PIPE_CONTROL write behind everything: 1 a quad word, 3 the time. */
static bool post_sync(struct engine *engine, unsigned what, bool is_ggtt, uint64_t to,
                      const uint32_t *data)
{
    uint64_t value = what == 3 ? iblt_ticks(engine->gpu) : iblt_wide(data);

    if (what != 1 && what != 3)
        return !what || iblt_fails(engine, "no such post-sync operation:", what);
    return store(engine, is_ggtt, to & ~UINT64_C(7), &value, sizeof value);
}

static bool flush(struct engine *engine)
{
    if (engine->words[0] & IBLT_FLUSH_TLB)
        iblt_invalidate(engine);
    return post_sync(engine, engine->words[0] >> 14 & 3, engine->words[1] & IBLT_ADDRESS_GGTT,
                     iblt_wide(engine->words + 1), engine->words + 3);
}

static bool pipe_control(struct engine *engine)
{
    if (engine->words[1] & 1u << 18)
        iblt_invalidate(engine);
    return post_sync(engine, engine->words[1] >> 14 & 3, engine->words[1] & 1u << 24,
                     iblt_wide(engine->words + 2), engine->words + 4);
}

/* Its kernels are not run. Operation 3: begin and end, of the context and of all. */
static bool walk_compute(struct engine *engine)
{
    const uint64_t to = iblt_wide(engine->words + 27) & ~UINT64_C(7);
    const uint32_t now = (uint32_t)iblt_ticks(engine->gpu), times[4] = {now, now, now + 1, now + 1};

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

static bool start_batch(struct engine *engine)
{
    const uint64_t to = iblt_wide(engine->words + 1) & VA_MASK & ~UINT64_C(3);
    const bool is_virtual = engine->words[0] & IBLT_PPGTT;

    if (engine->depth && engine->is_virtual && !is_virtual)
        return iblt_fails(engine, "a batch may not leave its address space, to", to);
    if (!engine->depth || ((engine->words[0] & IBLT_SECOND_LEVEL) && engine->depth == 1))
        engine->depth++;
    engine->is_virtual = is_virtual;
    engine->at[engine->depth] = to;
    return true;
}

static bool end_batch(struct engine *engine)
{
    if (!engine->depth)
        return iblt_fails(engine, "the ring is no batch, at", engine->packet_at);
    if (--engine->depth)
        return true;
    engine->packets = 0;
    if (engine->token)
        engine->gpu->host->end_work(engine->gpu->host->context, engine->token);
    engine->token = 0;
    return true;
}

bool iblt_wait_semaphore(struct engine *engine)
{
    const uint64_t from = iblt_wide(engine->words + 2) & ~UINT64_C(3);
    const bool is_ggtt = engine->words[0] & IBLT_STORE_GGTT;
    const uint32_t data = engine->words[1];
    uint32_t value;

    if (engine->words[0] & 1u << 16)
        return iblt_fails(engine, "a wait for a register is not known, of", engine->words[2]);
    if (!may_address(engine, is_ggtt))
        return iblt_fails(engine, "a batch may not read by global address", from);
    if (!iblt_read(engine, !is_ggtt, from, &value, sizeof value))
        return iblt_fails(engine, "cannot read", from & VA_MASK);
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
        return iblt_fails(engine, "no such comparison:", engine->words[0] >> 12 & 7);
    }
}

static bool copy_word(struct engine *engine)
{
    const bool to_ggtt = engine->words[0] & 1u << 21, from_ggtt = engine->words[0] & 1u << 22;
    const uint64_t from = iblt_wide(engine->words + 3) & ~UINT64_C(3);
    uint32_t value;

    if (!may_address(engine, from_ggtt))
        return iblt_fails(engine, "a batch may not read by global address", from);
    if (!iblt_read(engine, !from_ggtt, from, &value, sizeof value))
        return iblt_fails(engine, "cannot read", from & VA_MASK);
    return store(engine, to_ggtt, iblt_wide(engine->words + 1) & ~UINT64_C(3), &value,
                 sizeof value);
}

static const struct packet packets[] = {
#define MI_MASK  0xff800000u
#define BLT_MASK 0xffc00000u
#define GFX_MASK 0xffff0000u
    {MI_MASK, IBLT_MI_NOOP, 1, 0, ON_ALL, "MI_NOOP", iblt_no_op},
    {MI_MASK, IBLT_MI_USER_INTERRUPT, 1, 0, ON_ALL, "MI_USER_INTERRUPT", interrupt},
    {MI_MASK, IBLT_MI_ARB_CHECK, 1, 0, ON_ALL, "MI_ARB_CHECK", do_nothing},
    {MI_MASK, IBLT_MI_ARB_ON_OFF, 1, 0, ON_ALL, "MI_ARB_ON_OFF", do_nothing},
    {MI_MASK, IBLT_MI_BATCH_END, 1, 0, ON_ALL, "MI_BATCH_BUFFER_END", end_batch},
    {MI_MASK, IBLT_MI_SEMAPHORE_WAIT, 5, 0xff, ON_ALL, "MI_SEMAPHORE_WAIT", NULL},
    {MI_MASK, IBLT_MI_STORE_DATA, 0, 0x3ff, ON_ALL, "MI_STORE_DATA_IMM", store_data},
    {MI_MASK, IBLT_MI_LOAD_REGISTER, 0, 0xff, ON_ALL, "MI_LOAD_REGISTER_IMM", load_register},
    {MI_MASK, IBLT_MI_STORE_REGISTER, 4, 0xff, ON_ALL, "MI_STORE_REGISTER_MEM", store_register},
    {MI_MASK, IBLT_MI_FLUSH_DW, 0, 0x3f, ON_ALL, "MI_FLUSH_DW", flush},
    {MI_MASK, IBLT_MI_COPY_MEM_MEM, 5, 0xff, ON_ALL, "MI_COPY_MEM_MEM", copy_word},
    {MI_MASK, IBLT_MI_BATCH_START, 3, 0xff, ON_ALL, "MI_BATCH_BUFFER_START", start_batch},
    {BLT_MASK, IBLT_BLOCK_COPY, IBLT_BLOCK_COPY_WORDS, 0xff, ON_COPY, "XY_BLOCK_COPY_BLT", NULL},
    {BLT_MASK, IBLT_FAST_COLOR, IBLT_FAST_COLOR_WORDS, 0xff, ON_COPY, "XY_FAST_COLOR_BLT", NULL},
    {BLT_MASK, IBLT_MEM_COPY, IBLT_MEM_COPY_WORDS, 0xff, ON_COPY, "MEM_COPY", NULL},
    {BLT_MASK, IBLT_MEM_SET, IBLT_MEM_SET_WORDS, 0xff, ON_COPY, "MEM_SET", NULL},
    {GFX_MASK, IBLT_PIPE_CONTROL, 6, 0xff, ON_RENDER, "PIPE_CONTROL", pipe_control},
    {GFX_MASK, IBLT_COMPUTE_WALKER, 39, 0xff, ON_RENDER, "COMPUTE_WALKER", walk_compute},
    {GFX_MASK, 0x61010000u, 22, 0xff, ON_RENDER, "STATE_BASE_ADDRESS", do_nothing},
    {GFX_MASK, 0x69040000u, 1, 0, ON_RENDER, "PIPELINE_SELECT", do_nothing},
    {GFX_MASK, 0x72000000u, 6, 0xff, ON_RENDER, "CFE_STATE", do_nothing},
    {GFX_MASK, 0x61050000u, 2, 0xff, ON_RENDER, "STATE_COMPUTE_MODE", do_nothing},
    {GFX_MASK, 0x79190000u, 4, 0xff, ON_RENDER, "3DSTATE_BINDING_TABLE_POOL_ALLOC", do_nothing},
#undef MI_MASK
#undef BLT_MASK
#undef GFX_MASK
};

const struct packet *iblt_packet_of(uint32_t header)
{
    for (size_t i = 0; i < sizeof packets / sizeof packets[0]; i++) {
        if ((header & packets[i].mask) == packets[i].header)
            return &packets[i];
    }
    return NULL;
}
