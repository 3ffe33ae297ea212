/*
 * clients: processes that share a GPU, and whose memory does not fit together.
 *
 *     process   its set                            one round of its work
 *     decodeN   weights and keys and values of     a token: each layer's weights, keys and
 *               each layer                         values read, a page of these written
 *     trainN    weights, gradients, states,        forward, backward, update
 *               activations
 *     gameN     textures and targets, of high      a frame: some textures read, a target
 *               priority                           written
 *
 * Each process fills its set in the step `load`, and works for the same GPU time in the step `run`
 * (a game for half of it: it waits for the screen). No line waits for another process: with the
 * option backlog, which the case states, each works as if it had a thread of its own.
 */
#include "workload/generate/gen.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DECODE,
    TRAINING,
    GAMES,
    DECODE_SET,
    TRAINING_SET,
    GAME_SET,
    LAYERS,
    BUSY_MS,
    BANDWIDTH,
};

#define MAX_LAYERS  256
#define MAX_CLIENTS 64
#define MAX_LINES   (UINT64_C(1) << 22)

const struct workload_param gen_clients_params[] = {
    {"decode", NULL, 8, 0, MAX_CLIENTS, "processes that decode with a language model"},
    {"training", NULL, 0, 0, MAX_CLIENTS, "processes that train a network"},
    {"games", NULL, 0, 0, MAX_CLIENTS, "games"},
    {"decode-set", NULL, 8500 * MiB, 4 * MiB, 1024 * GiB, "bytes that a decoding process uses"},
    {"training-set", NULL, 6000 * MiB, 4 * MiB, 1024 * GiB, "bytes that a training process uses"},
    {"game-set", NULL, 2000 * MiB, 4 * MiB, 1024 * GiB, "bytes that a game uses"},
    {"layers", NULL, 32, 2, MAX_LAYERS, "layers of a network; textures of a game"},
    {"busy-ms", NULL, 4000, 1, 10000000, "GPU time of each process, in milliseconds"},
    {"bandwidth", NULL, 900, 1, 1000000,
     "local memory traffic of the GPU, 10^9 bytes per second: a round lasts as long as its reads"},
    {NULL, NULL, 0, 0, 0, NULL},
};

/* What a layer has: parts of its process's set, in units of a 32nd of the layer's share. */
enum { WEIGHTS, GRADIENTS, STATES, ACTIVATIONS, PARTS };

struct kind {
    const char *name;
    const char *parts[PARTS]; /* NULL: it has no such allocation */
    unsigned shares[PARTS];
    double round_factor;  /* time of a round, in times that the set is read once */
    unsigned busy_half;   /* halves of busy-ms */
    unsigned submissions; /* of a round, in times that it has layers; at most */
    uint32_t priority;
    void (*play)(struct gen *gen, const uint64_t *values, uint32_t context,
                 uint32_t (*layers)[PARTS], double round_ns, uint64_t round);
};

static void play_token(struct gen *gen, const uint64_t *values, uint32_t context,
                       uint32_t (*layers)[PARTS], double round_ns, uint64_t round)
{
    for (uint64_t i = 0; i < values[LAYERS]; i++) {
        uint64_t share = values[DECODE_SET] / values[LAYERS] / 32 / 4096;
        uint64_t page = share > 1 ? round % (share - 1) : 0;

        workload_builder_submit_begin(gen->builder, context,
                                      (uint64_t)(round_ns / (double)values[LAYERS]) + 1);
        workload_builder_ref(gen->builder, layers[i][WEIGHTS], 0, 0, WORKLOAD_ACCESS_READ, 0);
        workload_builder_ref(gen->builder, layers[i][STATES], 0, 0, WORKLOAD_ACCESS_READ, 0);
        workload_builder_ref(gen->builder, layers[i][STATES], page * 4096, 4096,
                             WORKLOAD_ACCESS_WRITE, 0);
        workload_builder_submit_end(gen->builder);
    }
}

static void play_training_step(struct gen *gen, const uint64_t *values, uint32_t context,
                               uint32_t (*layers)[PARTS], double round_ns, uint64_t round)
{
    double kernel_ns = round_ns / (double)values[LAYERS] / 4;
    uint64_t count = values[LAYERS];

    (void)round;
    for (uint64_t i = 0; i < count; i++)
        GEN_SUBMIT(gen, context, kernel_ns, GEN_R(layers[i][WEIGHTS]),
                   GEN_W(layers[i][ACTIVATIONS]));
    for (uint64_t i = count; i-- > 0;)
        GEN_SUBMIT(gen, context, 2 * kernel_ns, GEN_R(layers[i][WEIGHTS]),
                   GEN_R(layers[i][ACTIVATIONS]), GEN_W(layers[i][GRADIENTS]));
    for (uint64_t i = 0; i < count; i++)
        GEN_SUBMIT(gen, context, kernel_ns, GEN_R(layers[i][GRADIENTS]), GEN_RW(layers[i][STATES]),
                   GEN_RW(layers[i][WEIGHTS]));
}

/* Half of the textures are in sight, from one that moves on slowly. */
static void play_frame(struct gen *gen, const uint64_t *values, uint32_t context,
                       uint32_t (*layers)[PARTS], double round_ns, uint64_t round)
{
    uint64_t count = values[LAYERS] / 2, first = round / 16;

    for (uint64_t i = 0; i < count; i++)
        GEN_SUBMIT(gen, context, round_ns / (double)count,
                   GEN_R(layers[(first + i) % values[LAYERS]][WEIGHTS]),
                   GEN_RW(layers[round % 2][ACTIVATIONS]));
}

static const struct kind kinds[] = {
    [DECODE] = {.name = "decode",
                .parts = {"weights", NULL, "kv", NULL},
                .shares = {30, 0, 2, 0},
                .round_factor = 1,
                .busy_half = 2,
                .submissions = 1,
                .play = play_token},
    [TRAINING] = {.name = "train",
                  .parts = {"weights", "gradients", "states", "activations"},
                  .shares = {4, 4, 8, 16},
                  .round_factor = 8,
                  .busy_half = 2,
                  .submissions = 3,
                  .play = play_training_step},
    [GAMES] = {.name = "game",
               .parts = {"texture", NULL, NULL, "target"},
               .shares = {30, 0, 0, 2},
               .round_factor = 3.6,
               .busy_half = 1,
               .submissions = 1,
               .priority = WORKLOAD_PRIORITY_HIGH,
               .play = play_frame},
};

struct client {
    const struct kind *kind;
    unsigned number; /* of its kind */
    uint64_t set;
    uint32_t device, context;
    double round_ns;
    uint64_t rounds;
    uint32_t layers[MAX_LAYERS][PARTS];
};

static void make_client(struct gen *gen, const uint64_t *values, unsigned kind_index,
                        unsigned number, struct client *client)
{
    const struct kind *kind = &kinds[kind_index];
    uint32_t process;
    char name[24];

    client->kind = kind;
    client->number = number;
    client->set = values[DECODE_SET + kind_index];
    snprintf(name, sizeof name, "%s%u", kind->name, number);
    process = workload_builder_process(gen->builder, name);
    client->device = workload_builder_device(gen->builder, name, process);
    client->context = workload_builder_context(gen->builder, name, client->device, 0);
    client->round_ns = kind->round_factor * (double)client->set / (double)values[BANDWIDTH];
    client->rounds =
        max_u64(1, (uint64_t)((double)values[BUSY_MS] * 5e5 * kind->busy_half / client->round_ns));
}

static void make_layers(struct gen *gen, const uint64_t *values, struct client *client)
{
    const struct kind *kind = client->kind;
    uint64_t share = client->set / values[LAYERS] / 32;

    for (uint64_t i = 0; i < values[LAYERS]; i++) {
        struct gen_access filled[PARTS];
        size_t count = 0;

        for (unsigned part = 0; part < PARTS; part++) {
            struct workload_allocation_info info = {
                .size = align_up(max_u64(share * kind->shares[part], 4096), 4096),
                .device = client->device,
                .priority = kind->priority,
                .segments = {WORKLOAD_SEGMENT_LOCAL},
                .segment_count = 1,
            };
            char name[64];

            if (!kind->parts[part])
                continue;
            snprintf(name, sizeof name, "%s%u.%s%u", kind->name, client->number, kind->parts[part],
                     (unsigned)i);
            client->layers[i][part] = workload_builder_alloc(gen->builder, name, &info);
            filled[count++] = (struct gen_access)GEN_W(client->layers[i][part]);
        }
        gen_submit(gen, client->context, 32.0 * (double)share / (double)values[BANDWIDTH], filled,
                   count);
    }
}

static void play_clients(struct gen *gen, const uint64_t *values, struct client *clients,
                         unsigned count)
{
    uint64_t most_rounds = 0, lines = 0;
    char text[24];

    for (unsigned i = 0; i < count; i++) {
        most_rounds = max_u64(most_rounds, clients[i].rounds);
        lines += values[LAYERS] * (1 + clients[i].rounds * clients[i].kind->submissions);
    }
    if (lines > MAX_LINES) {
        workload_builder_fail(gen->builder,
                              "more than %" PRIu64 " submissions (expected larger sets, "
                              "less busy-ms or a lower bandwidth)",
                              MAX_LINES);
        return;
    }
    snprintf(text, sizeof text, "%" PRIu64, lines);
    workload_builder_option(gen->builder, "backlog", text);
    workload_builder_step(gen->builder, "load");
    for (unsigned i = 0; i < count; i++)
        make_layers(gen, values, &clients[i]);
    workload_builder_step(gen->builder, "run");
    for (uint64_t round = 0; round < most_rounds && !workload_builder_failed(gen->builder);
         round++) {
        for (unsigned i = 0; i < count; i++) {
            if (round < clients[i].rounds)
                clients[i].kind->play(gen, values, clients[i].context, clients[i].layers,
                                      clients[i].round_ns, round);
        }
    }
    workload_builder_wait(gen->builder, WORKLOAD_NONE);
}

void gen_clients(struct gen *gen, const uint64_t *values)
{
    unsigned most = (unsigned)(values[DECODE] + values[TRAINING] + values[GAMES]), count = 0;
    struct client *clients = calloc(most + 1, sizeof *clients);
    char title[96];

    if (!clients || !most) {
        workload_builder_fail(gen->builder, clients ? "no process (expected decode, training or "
                                                      "games)"
                                                    : "out of memory");
        free(clients);
        return;
    }
    snprintf(title, sizeof title, "clients: %u decode, %u train, %u games",
             (unsigned)values[DECODE], (unsigned)values[TRAINING], (unsigned)values[GAMES]);
    workload_builder_name(gen->builder, title);
    for (unsigned kind = 0; kind < ARRAY_COUNT(kinds); kind++) {
        for (unsigned i = 0; i < values[kind]; i++)
            make_client(gen, values, kind, i, &clients[count++]);
    }
    play_clients(gen, values, clients, count);
    free(clients);
}
