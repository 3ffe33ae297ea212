/*
 * An engine: it fetches packets from its ring and from batches, and runs each when its time is
 * over.
 *
 * What has no time of its own is done BURST packets at a time. A batch that goes on and on takes
 * more and more time, and so does a semaphore that nobody signals: the watchdog of the system
 * comes.
 */
#include "model.h"

#include <stdio.h>
#include <string.h>

#define BURST        64u
#define POLL_NS      500u
#define MOST_POLL_NS 1000000u
#define PATIENCE     65536u /* packets of a batch, after which each takes twice as long */

static void step(void *argument);

static bool is_blit(uint32_t header)
{
    return header >> 29 == 2;
}

/* Words from the stream at `skip` words behind its packet. */
static bool read_stream(struct engine *engine, uint32_t skip, uint32_t count)
{
    const uint64_t from = engine->packet_at + 4 * (uint64_t)skip;
    uint64_t ring, position;

    if (engine->depth)
        return iblt_read(engine, engine->is_virtual, from, engine->words + skip,
                         4 * (uint64_t)count);
    ring = iblt_ring_bytes(engine);
    for (uint32_t i = 0; i < count; i++) { /* a packet may go round the end */
        position = (engine->head + 4 * (uint64_t)(skip + i)) % ring;
        if (!iblt_read(engine, false, (engine->start & ~(uint32_t)(PAGE - 1)) + position,
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

    engine->packet_at = engine->depth ? engine->at[engine->depth]
                                      : (engine->start & ~(uint32_t)(PAGE - 1)) +
                                            engine->head % iblt_ring_bytes(engine);
    engine->words[0] = 0;
    if (!read_stream(engine, 0, 1)) {
        snprintf(engine->text, sizeof engine->text, "a batch goes on where nothing answers");
        return false;
    }
    packet = iblt_packet_of(engine->words[0]);
    if (!packet) {
        snprintf(engine->text, sizeof engine->text, "packet 0x%08x is not known", engine->words[0]);
        return false;
    }
    if (!(packet->engines & 1u << engine->number))
        return iblt_fails(engine, "is of another engine than node", engine->number);
    words = packet->length_mask ? (engine->words[0] & packet->length_mask) + 2 : 1;
    if (packet->words && words != packet->words)
        return iblt_fails(engine, "has another number of words than", packet->words);
    if (packet->header == IBLT_MI_FLUSH_DW && words != 4 && words != IBLT_FLUSH_WORDS)
        return iblt_fails(engine, "has a number of words that is not known:", words);
    if (engine->words[0] == (IBLT_MI_NOOP | IBLT_WORK_MAGIC) && engine->depth) {
        if (!read_stream(engine, 1, IBLT_WORK_WORDS - 1))
            return iblt_fails(engine, "nothing answers behind", engine->packet_at);
        words = iblt_is_work(engine->words) ? IBLT_WORK_WORDS : 1;
    }
    if (!engine->depth && 4 * (uint64_t)words > left)
        return iblt_fails(engine, "is not whole in the ring, whose bytes are", left);
    if (words > 1 && !read_stream(engine, 1, words - 1))
        return iblt_fails(engine, "nothing answers behind", engine->packet_at);
    if (words == 4 && packet->header == IBLT_MI_FLUSH_DW)
        engine->words[4] = 0;
    *out = packet;
    *out_words = words;
    return true;
}

bool iblt_has_packets(const struct engine *engine)
{
    return engine->depth || ((engine->ctl & 1) && engine->head < engine->tail);
}

/* Of what is about to take effect; 0: at once. */
static uint64_t duration(const struct engine *engine, const struct packet *packet,
                         const struct blit *blit)
{
    const uint64_t speed = engine->gpu->board.link_bytes_per_second;

    if (packet->header == IBLT_MI_NOOP)
        return iblt_is_work(engine->words) ? iblt_work_ns(engine->words) : 0;
    if (!is_blit(engine->words[0]) || !speed)
        return 0;
    return PACKET_NS + iblt_smaller(PIECE_BYTES, blit->row_bytes * blit->rows - engine->done) *
                           1000 / (speed / 1000000 + 1);
}

void iblt_rest(struct engine *engine, uint64_t ns)
{
    const struct drydock_gpu_host *host = engine->gpu->host;

    engine->is_running = host->schedule(host->context, ns, step, engine);
}

enum outcome { NEXT, LATER, STOP };

static enum outcome run_packet(struct engine *engine, const struct packet *packet,
                               const struct blit *blit)
{
    if (is_blit(engine->words[0])) {
        if (!iblt_blit(engine, blit))
            return STOP;
        engine->has_waited = false;
        return engine->done < blit->row_bytes * blit->rows ? LATER : NEXT;
    }
    if (packet->header == IBLT_MI_SEMAPHORE_WAIT) {
        engine->text[0] = '\0';
        if (iblt_wait_semaphore(engine))
            return NEXT;
        return engine->text[0] ? STOP : LATER;
    }
    return packet->execute(engine) ? NEXT : STOP;
}

static void fault(struct engine *engine)
{
    const struct drydock_gpu_host *host = engine->gpu->host;

    engine->has_faulted = true;
    engine->is_running = false;
    host->report_fault(host->context, engine->number, 0, engine->packet_at, engine->text);
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

    engine->is_running = iblt_has_packets(engine) && !engine->has_faulted;
    if (!engine->is_running)
        return false;
    if (!fetch(engine, &packet, &words) ||
        (is_blit(engine->words[0]) && !iblt_take_blit(engine, &blit))) {
        fault(engine);
        return false;
    }
    ns = engine->has_waited ? 0 : duration(engine, packet, &blit);
    if (ns) {
        engine->has_waited = true;
        iblt_rest(engine, ns);
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
        engine->poll_ns =
            engine->poll_ns ? iblt_smaller(2 * engine->poll_ns, MOST_POLL_NS) : POLL_NS;
        iblt_rest(engine, engine->poll_ns);
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

        iblt_rest(engine, (uint64_t)BURST * PACKET_NS << (doubled < 24 ? doubled : 24));
    }
}

static void reset_engine(struct engine *engine)
{
    struct iblt *gpu = engine->gpu;
    const unsigned number = engine->number;

    gpu->host->cancel(gpu->host->context, engine);
    memset(engine, 0, sizeof *engine);
    engine->gpu = gpu;
    engine->number = number;
}

void iblt_reset_engines(struct iblt *gpu)
{
    for (unsigned i = 0; i < IBLT_ENGINES; i++)
        reset_engine(&gpu->engines[i]);
}
