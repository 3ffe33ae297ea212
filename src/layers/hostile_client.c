#include "layers/hostile_client.h"

#include "base/rng.h"
#include "layers/layer.h"

#include <string.h>

#define CLIENT_RNG_STREAM UINT64_C(0x636c69656e74) /* "client" */
#define ALWAYS_FIRST      4u /* calls that are tried; of the others one in... */
#define THEN_ONE_IN       4u
#define MOST_TRIALS       32u
#define MOST_BYTES        (UINT32_C(64) << 10) /* commands of more are not tried */

enum difference { SHORT_LIST, CUT_COMMANDS, OTHER_WORD };

struct hostile_client {
    struct layer layer;
    struct rng rng;
    uint64_t calls, trials;
};

static uint32_t other_word(struct rng *rng, uint32_t word, uint32_t list_size)
{
    switch (rng_below(rng, 6)) {
    case 0:
        return list_size;
    case 1:
        return UINT32_MAX;
    case 2:
        return word + 1;
    case 3:
        return word ^ UINT32_C(0x80000000);
    case 4:
        return UINT32_MAX / 2;
    default:
        return list_size + (uint32_t)rng_below(rng, 64);
    }
}

/* commands: a copy of the client's. */
static void make_hostile(struct hostile_client *client, DXGKARG_RENDER *trial, char *commands)
{
    const uint32_t words = trial->CommandLength / sizeof(uint32_t);
    /* Most words are those of references: each mistake is as likely as what they are all for. */
    const enum difference difference = rng_chance(&client->rng, 1, 4)   ? SHORT_LIST
                                       : rng_chance(&client->rng, 1, 6) ? CUT_COMMANDS
                                                                        : OTHER_WORD;

    trial->pCommand = commands;
    if (difference == SHORT_LIST && trial->AllocationListSize) {
        trial->AllocationListSize = (UINT)rng_below(&client->rng, trial->AllocationListSize);
    } else if (difference == CUT_COMMANDS || !words) {
        const uint32_t cut = 1 + (uint32_t)rng_below(&client->rng, trial->CommandLength);

        trial->CommandLength -= cut;
        memset(commands + trial->CommandLength, 0xff, cut);
    } else {
        char *at = commands + rng_below(&client->rng, words) * sizeof(uint32_t);
        uint32_t word;

        memcpy(&word, at, sizeof word);
        word = other_word(&client->rng, word, trial->AllocationListSize);
        memcpy(at, &word, sizeof word);
    }
}

static bool is_due(struct hostile_client *client, const DXGKARG_RENDER *arg)
{
    const bool is_drawn = rng_chance(&client->rng, 1, THEN_ONE_IN);

    return (client->calls++ < ALWAYS_FIRST || is_drawn) && client->trials < MOST_TRIALS &&
           arg->pCommand && arg->CommandLength && arg->CommandLength <= MOST_BYTES;
}

/* The driver's private data is as the call found it when the call itself is made. */
static void try_commands(struct hostile_client *client, HANDLE object, const DXGKARG_RENDER *arg)
{
    const struct base_services *services = client->layer.services;
    const size_t private_bytes = arg->DmaBufferPrivateDataSize;
    char *commands = base_alloc(services, arg->CommandLength + private_bytes);
    char *private_data = commands + arg->CommandLength;
    DXGKARG_RENDER trial = *arg;

    if (!commands)
        return;
    client->trials++;
    memcpy(commands, arg->pCommand, arg->CommandLength);
    if (private_bytes)
        memcpy(private_data, arg->pDmaBufferPrivateData, private_bytes);
    make_hostile(client, &trial, commands);
    miniport_render(client->layer.miniport.next, object, &trial);
    if (private_bytes)
        memcpy(arg->pDmaBufferPrivateData, private_data, private_bytes);
    base_free(services, commands, arg->CommandLength + private_bytes);
}

static NTSTATUS render(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    struct hostile_client *client = (struct hostile_client *)self;

    if (is_due(client, arg))
        try_commands(client, object, arg);
    return miniport_forward_render(self, object, arg);
}

NTSTATUS hostile_client_layer_create(const struct base_services *services, uint64_t seed,
                                     struct miniport *next, struct miniport **out_layer)
{
    struct hostile_client *client = layer_create(services, sizeof *client, "hostile client", next);
    struct rng parent;

    *out_layer = NULL;
    if (!client)
        return STATUS_NO_MEMORY;
    rng_init(&parent, seed);
    rng_fork(&parent, CLIENT_RNG_STREAM, &client->rng);
    client->layer.ops.render = render;
    *out_layer = &client->layer.miniport;
    return STATUS_SUCCESS;
}

uint64_t hostile_client_layer_trials(const struct miniport *layer)
{
    return ((const struct hostile_client *)layer)->trials;
}
