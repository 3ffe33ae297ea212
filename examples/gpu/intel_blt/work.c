/*
 * The client's work: NOOPs with numbers in them, which the model carries out (intel_blt.h).
 */
#include "model.h"

static uint64_t three_numbers(const uint32_t *words)
{
    return (words[0] & IBLT_NUMBER_MASK) | (uint64_t)(words[1] & IBLT_NUMBER_MASK) << 22 |
           (uint64_t)(words[2] & IBLT_NUMBER_MASK) << 44;
}

bool iblt_is_work(const uint32_t *words)
{
    for (unsigned i = 0; i < IBLT_WORK_WORDS; i++) {
        if (words[i] & ~IBLT_NUMBER_MASK)
            return false;
    }
    return words[0] == (IBLT_MI_NOOP | IBLT_WORK_MAGIC);
}

uint32_t iblt_work_ns(const uint32_t *words)
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
        if (!iblt_find(engine, true, va + done, flags & IBLT_WORK_WRITE, &piece) || piece.is_null)
            return iblt_fails(engine, "the client's work does not find", (va + done) & VA_MASK);
        piece.bytes = iblt_smaller(piece.bytes, bytes - done);
        if ((flags & IBLT_WORK_READ) &&
            !host->read_work(host->context, token, index, done, piece.place, piece.bytes))
            return iblt_fails(engine, "the client's work cannot read", (va + done) & VA_MASK);
        if ((flags & IBLT_WORK_WRITE) &&
            !host->write_work(host->context, token, index, done, piece.place, piece.bytes, key))
            return iblt_fails(engine, "the client's work cannot write", (va + done) & VA_MASK);
    }
    return true;
}

bool iblt_no_op(struct engine *engine)
{
    return !iblt_is_work(engine->words) || do_work(engine);
}
