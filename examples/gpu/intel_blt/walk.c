/*
 * What a batch of an application will access, told without running it (drydock/gpu_model.h,
 * walk_batch). Packets that wait, and values that registers have, are as nothing here: who asks
 * wants to know which memory the batch reads and writes.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

/* What goes on longer is given up: batches come from applications. */
#define MOST_PACKETS  16384u
#define MOST_ACCESSES 65536u
#define MOST_ROWS     64u /* that are told one by one */

struct walker {
    const struct drydock_gpu_walk *walk;
    struct engine *engine; /* of nobody's: the packet, and where it is */
    bool is_done;
    unsigned accesses;
    uint64_t page_at; /* of the page that was read last; 1: none was */
    uint8_t page[PAGE];
};

static void tell(struct walker *walker, enum drydock_gpu_access_kind kind, uint64_t from,
                 uint64_t to, uint64_t bytes, uint64_t value)
{
    const struct drydock_gpu_access access = {
        .kind = kind, .from = from & VA_MASK, .to = to & VA_MASK, .bytes = bytes, .value = value};

    if (walker->accesses++ < MOST_ACCESSES)
        walker->walk->each(walker->walk->context, &access);
}

static bool read_batch(struct walker *walker, uint64_t va, void *out, uint64_t bytes)
{
    uint8_t *at = out;

    for (uint64_t part; bytes; va += part, at += part, bytes -= part) {
        const uint64_t page = va & ~(PAGE - 1);

        part = iblt_smaller(bytes, PAGE - va % PAGE);
        if (page != walker->page_at &&
            !walker->walk->read(walker->walk->context, page, walker->page, PAGE)) {
            walker->page_at = 1;
            return false;
        }
        walker->page_at = page;
        memcpy(at, walker->page + va % PAGE, part);
    }
    return true;
}

/* The packet that is next, whole. False: it is not known, or not there. */
static bool fetch_unrun(struct walker *walker, const struct packet **out, uint32_t *out_words)
{
    struct engine *engine = walker->engine;
    const uint64_t va = engine->at[engine->depth];
    const struct packet *packet;
    uint32_t words;

    if (!read_batch(walker, va, engine->words, 4))
        return false;
    packet = iblt_packet_of(engine->words[0]);
    if (!packet)
        return false;
    words = packet->length_mask ? (engine->words[0] & packet->length_mask) + 2 : 1;
    if ((packet->words && words != packet->words) || words > PACKET_MOST ||
        !read_batch(walker, va, engine->words, 4 * (uint64_t)words))
        return false;
    *out = packet;
    *out_words = words;
    return true;
}

/*
 * Rows that lie one behind the other are one access. Of many others, what lies between them is told
 * as well: a record of each would have more rows of images than anything else.
 */
static bool tell_blit(struct walker *walker)
{
    struct blit blit;
    uint64_t rows, bytes, value = 0;
    bool is_copy;

    if (!iblt_take_blit(walker->engine, &blit))
        return false;
    is_copy = !blit.colour_bytes;
    rows = blit.rows;
    bytes = blit.row_bytes;
    if (bytes == blit.to.pitch && (!is_copy || bytes == blit.from.pitch)) {
        bytes *= rows;
        rows = rows != 0;
    }
    for (unsigned i = 0; !is_copy && i < 8; i++)
        value |= (uint64_t)blit.colour[i % blit.colour_bytes] << 8 * i;
    if (rows > MOST_ROWS && bytes) {
        if (is_copy)
            tell(walker, DRYDOCK_GPU_READ, blit.from.address, 0,
                 (rows - 1) * blit.from.pitch + bytes, 0);
        tell(walker, DRYDOCK_GPU_WRITE, 0, blit.to.address, (rows - 1) * blit.to.pitch + bytes, 0);
        return true;
    }
    for (uint64_t row = 0; row < rows && bytes; row++) {
        const uint64_t to = blit.to.address + row * blit.to.pitch;

        if (is_copy)
            tell(walker, DRYDOCK_GPU_COPY, blit.from.address + row * blit.from.pitch, to, bytes, 0);
        else
            tell(walker, DRYDOCK_GPU_FILL, 0, to, bytes, value);
    }
    return true;
}

/* Of MI_FLUSH_DW and its like: a quad word of the packet's, or the time. */
static void tell_post_sync(struct walker *walker, unsigned what, bool is_ggtt, uint64_t to,
                           const uint32_t *data)
{
    if (what && !is_ggtt)
        tell(walker, DRYDOCK_GPU_WRITE, 0, to & ~UINT64_C(7), 8, what == 1 ? iblt_wide(data) : 0);
}

static void tell_compute(struct walker *walker)
{
    const uint32_t *words = walker->engine->words;
    const unsigned what = words[26] & 3;

    tell(walker, DRYDOCK_GPU_UNKNOWN, 0, 0, 0, 0);
    if (what == 3)
        tell(walker, DRYDOCK_GPU_WRITE, 0, iblt_wide(words + 27) & ~UINT64_C(7), 16, 0);
    else
        tell_post_sync(walker, what, false, iblt_wide(words + 27), words + 29);
}

static bool follow_batch(struct engine *engine)
{
    if (!(engine->words[0] & IBLT_PPGTT))
        return false;
    if ((engine->words[0] & IBLT_SECOND_LEVEL) && engine->depth == 1)
        engine->depth++;
    engine->at[engine->depth] = iblt_wide(engine->words + 1) & VA_MASK & ~UINT64_C(3);
    return true;
}

/* False: what it does is not known. */
static bool tell_packet(struct walker *walker, const struct packet *packet, uint32_t count)
{
    struct engine *engine = walker->engine;
    const uint32_t *words = engine->words;

    switch (packet->header) {
    case IBLT_MI_BATCH_END:
        walker->is_done = --engine->depth == 0;
        return true;
    case IBLT_MI_BATCH_START:
        return follow_batch(engine);
    case IBLT_BLOCK_COPY:
    case IBLT_FAST_COLOR:
    case IBLT_MEM_COPY:
    case IBLT_MEM_SET:
        return tell_blit(walker);
    case IBLT_MI_STORE_DATA:
        if (count < 4 || ((words[0] & IBLT_STORE_QWORDS) && count % 2 == 0))
            return false;
        if (!(words[0] & IBLT_STORE_GGTT))
            tell(walker, DRYDOCK_GPU_WRITE, 0, iblt_wide(words + 1) & ~UINT64_C(3),
                 4 * (uint64_t)(count - 3),
                 words[0] & IBLT_STORE_QWORDS ? iblt_wide(words + 3) : 0);
        return true;
    case IBLT_MI_STORE_REGISTER:
        if (!(words[0] & IBLT_STORE_GGTT))
            tell(walker, DRYDOCK_GPU_WRITE, 0, iblt_wide(words + 2) & ~UINT64_C(3), 4, 0);
        return true;
    case IBLT_MI_COPY_MEM_MEM:
        tell(walker, DRYDOCK_GPU_COPY, iblt_wide(words + 3) & ~UINT64_C(3),
             iblt_wide(words + 1) & ~UINT64_C(3), 4, 0);
        return true;
    case IBLT_MI_FLUSH_DW:
        if (count != 4 && count != IBLT_FLUSH_WORDS)
            return false;
        if (count < IBLT_FLUSH_WORDS)
            engine->words[4] = 0;
        tell_post_sync(walker, words[0] >> 14 & 3, words[1] & IBLT_ADDRESS_GGTT,
                       iblt_wide(words + 1), words + 3);
        return true;
    case IBLT_PIPE_CONTROL:
        tell_post_sync(walker, words[1] >> 14 & 3, words[1] & 1u << 24, iblt_wide(words + 2),
                       words + 4);
        return true;
    case IBLT_COMPUTE_WALKER:
        tell_compute(walker);
        return true;
    default:
        return true;
    }
}

bool iblt_walk_batch(void *self, uint64_t va, uint64_t bytes, const struct drydock_gpu_walk *walk)
{
    struct walker walker = {.walk = walk, .engine = calloc(1, sizeof *walker.engine), .page_at = 1};
    const struct packet *packet;
    uint32_t words;

    (void)bytes; /* shipped drivers round it up, and chain to others: the end is a packet */
    if (!walker.engine)
        return false;
    walker.engine->gpu = self;
    walker.engine->depth = 1;
    walker.engine->at[1] = va & VA_MASK & ~UINT64_C(3);
    for (unsigned i = 0; i < MOST_PACKETS && !walker.is_done; i++) {
        const unsigned depth = walker.engine->depth;

        if (!fetch_unrun(&walker, &packet, &words))
            break;
        walker.engine->at[depth] += 4 * (uint64_t)words;
        if (!tell_packet(&walker, packet, words))
            break;
    }
    free(walker.engine);
    return walker.is_done && walker.accesses <= MOST_ACCESSES;
}
