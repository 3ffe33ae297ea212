/*
 * Registers, by whomever they are written: the driver or a packet.
 */
#include "model.h"

#include <string.h>

const uint32_t iblt_bases[IBLT_ENGINES] = IBLT_BASES;

struct engine *iblt_engine_of(struct iblt *gpu, uint64_t offset)
{
    for (unsigned i = 0; i < IBLT_ENGINES; i++) {
        if (offset >= iblt_bases[i] && offset - iblt_bases[i] < PAGE)
            return &gpu->engines[i];
    }
    return NULL;
}

uint64_t iblt_ring_bytes(const struct engine *engine)
{
    return (UINT64_C(1) + (engine->ctl >> 12 & 0x1ff)) * PAGE;
}

static void load_root(struct engine *engine, uint32_t low)
{
    engine->root = (low | (uint64_t)engine->pdp_high << 32) & IBLT_PTE_ADDRESS_MASK;
    engine->has_root = true;
    iblt_forget(engine);
}

static void write_engine(struct engine *engine, uint64_t offset, uint32_t value)
{
    const uint64_t ring = iblt_ring_bytes(engine);

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
void iblt_write_ggtt(struct iblt *gpu, uint64_t at, const void *from, unsigned size)
{
    if (at + size <= sizeof gpu->ggtt)
        memcpy((uint8_t *)gpu->ggtt + at, from, size);
}

void iblt_write_any(struct iblt *gpu, uint64_t offset, uint32_t value)
{
    struct engine *engine = iblt_engine_of(gpu, offset);

    if (offset >= IBLT_GGTT)
        iblt_write_ggtt(gpu, offset - IBLT_GGTT, &value, sizeof value);
    else if (engine)
        write_engine(engine, offset - iblt_bases[engine->number], value);
    else if (offset == IBLT_TLB_RENDER && (value & 1))
        iblt_invalidate(&gpu->engines[IBLT_NODE_RENDER]);
    else if (offset == IBLT_TLB_VIDEO && (value & 1))
        iblt_invalidate(&gpu->engines[IBLT_NODE_VIDEO]);
    else if (offset == IBLT_TLB_COPY) {
        if (value & 1)
            iblt_invalidate(&gpu->engines[IBLT_NODE_COPY]);
        if (value & 2)
            iblt_invalidate(&gpu->engines[IBLT_NODE_PAGING]);
    }
}

uint64_t iblt_ticks(const struct iblt *gpu)
{
    return gpu->host->now(gpu->host->context) * TICKS_PER_US / 1000;
}

uint32_t iblt_read_any(struct iblt *gpu, uint64_t offset)
{
    const struct engine *engine = iblt_engine_of(gpu, offset);
    uint64_t ring;

    if (!engine)
        return 0;
    ring = iblt_ring_bytes(engine);
    switch (offset - iblt_bases[engine->number]) {
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
        return (uint32_t)iblt_ticks(gpu);
    default:
        return 0;
    }
}
