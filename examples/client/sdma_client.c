/*
 * A client of one's own: the user-mode half of the example driver for system DMA engines.
 *
 *     cc -shared -fPIC -I include -o sdma_client.so examples/client/sdma_client.c
 *     drydock run examples/driver-sdma/sdma.case --driver ./sdma.sys --gpu ./sdma.so \
 *         --client-file ./sdma_client.so
 *
 * It lays out private data in a structure of its own, writes the packets that the engines take for
 * work, and gives GPU virtual addresses from the upper end of what is free downward, as a driver
 * does that keeps the lower end for pointers of 32 bits.
 */
#include <drydock/client.h>

#include <stdlib.h>

#include "../gpu/sdma.h"

/* What this driver's halves tell each other about an allocation. */
struct allocation_data {
    uint64_t bytes;
    uint32_t flags, index;
};

struct client {
    uint64_t next; /* addresses from here up are given away; 0: none has been asked for */
};

static void *create(uint64_t seed)
{
    (void)seed;
    return calloc(1, sizeof(struct client));
}

/* ---- Private data ---------------------------------------------------------------------------- */

static uint32_t allocation_data(void *self, const struct drydock_gpu_allocation *allocation,
                                void *out, uint32_t room)
{
    const struct allocation_data data = {allocation->bytes, allocation->flags, allocation->index};

    (void)self;
    if (room >= sizeof data)
        *(struct allocation_data *)out = data;
    return sizeof data;
}

/* ---- Commands -------------------------------------------------------------------------------- */

static void put_64(uint32_t *at, uint64_t value)
{
    at[0] = (uint32_t)value;
    at[1] = (uint32_t)(value >> 32);
}

/* One packet: what to do with reference i; flags 0: how long the work takes. */
static uint32_t *put(uint32_t *packet, const struct drydock_gpu_work *work, uint32_t i,
                     uint32_t flags)
{
    static const struct drydock_gpu_reference none;
    const struct drydock_gpu_reference *reference = flags ? &work->references[i] : &none;
    const uint64_t most = UINT32_MAX;

    packet[0] = SDMA_NOP(SDMA_WORK_DWORDS - 1);
    packet[1] = SDMA_WORK_MAGIC;
    packet[2] = flags;
    packet[3] = i;
    packet[4] = flags ? 0 : (uint32_t)(work->duration_ns < most ? work->duration_ns : most);
    put_64(packet + 5, work->token);
    put_64(packet + 7, reference->va);
    put_64(packet + 9, reference->bytes);
    put_64(packet + 11, reference->key);
    return packet + SDMA_WORK_DWORDS;
}

/* All that is read is read before anything is written. */
static uint32_t commands(void *self, const struct drydock_gpu_work *work, void *out, uint32_t room)
{
    uint32_t *packet = out, packets = 1, bytes;

    (void)self;
    for (uint32_t i = 0; i < work->reference_count; i++)
        packets += (uint32_t)work->references[i].is_read + (uint32_t)work->references[i].is_written;
    bytes = packets * SDMA_WORK_DWORDS * 4;
    if (bytes > room)
        return bytes;
    packet = put(packet, work, 0, 0);
    for (uint32_t i = 0; i < work->reference_count; i++) {
        if (work->references[i].is_read)
            packet = put(packet, work, i, SDMA_WORK_READ);
    }
    for (uint32_t i = 0; i < work->reference_count; i++) {
        if (work->references[i].is_written)
            packet = put(packet, work, i, SDMA_WORK_WRITE);
    }
    return bytes;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static uint64_t choose_address(void *self, const struct drydock_client_range *range)
{
    struct client *client = self;

    if (!client->next)
        client->next = range->end;
    if (client->next - range->lowest < range->bytes)
        return 0;
    client->next = (client->next - range->bytes) & ~(range->alignment - 1);
    return client->next < range->lowest ? 0 : client->next;
}

/* The name is DRYDOCK_CLIENT_SYMBOL, by which the bench finds the table. */
extern const struct drydock_client drydock_client;

const struct drydock_client drydock_client = {
    .api_version = DRYDOCK_CLIENT_API,
    .name = "sdma",
    .create = create,
    .destroy = free,
    .allocation_data = allocation_data,
    .commands = commands,
    .choose_address = choose_address,
};
