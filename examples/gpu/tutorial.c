/*
 * The shortest GPU model: an engine that runs buffers of packets. docs/gpu-models.md walks through
 * it.
 *
 * Registers  0x00 r   identity, 0x7475
 *            0x04 r   fence of the buffer that ended last
 *            0x08 w8  address of a buffer: bit 63 says local memory
 *            0x10 w   bytes of it
 *            0x14 w   its fence; starts it. It interrupts with message 0 when it has ended.
 */
#include <drydock/gpu_model.h>

#include <stdlib.h>

#define IDENTITY  0x7475u
#define LOCAL     (UINT64_C(1) << 63)
#define PACKET_NS 100u

enum { OP_COPY = 1, OP_FILL, OP_READ, OP_WRITE };

struct packet {
    uint64_t op;
    uint64_t to, from; /* addresses; FILL: from is the pattern, WRITE: the key of the content */
    uint64_t bytes;
    uint64_t token, index; /* READ, WRITE: of the client's work, and which reference of it */
};

struct gpu {
    const struct drydock_gpu_host *host;
    uint64_t address, bytes;
    uint32_t fence, completed;
    bool is_busy;
};

static struct drydock_gpu_place place(uint64_t address)
{
    return (struct drydock_gpu_place){.is_local = address & LOCAL, .address = address & ~LOCAL};
}

static bool execute(const struct drydock_gpu_host *host, const struct packet *p)
{
    struct drydock_gpu_place to = place(p->to);

    if (p->op == OP_COPY)
        return host->copy(host->context, to, place(p->from), p->bytes);
    if (p->op == OP_FILL)
        return host->fill(host->context, to, (uint32_t)p->from, p->bytes);
    if (p->op == OP_READ)
        return host->read_work(host->context, p->token, (uint32_t)p->index, 0, to, p->bytes);
    return p->op == OP_WRITE &&
           host->write_work(host->context, p->token, (uint32_t)p->index, 0, to, p->bytes, p->from);
}

/* All packets of a buffer take effect together, at the end of the time that they take. */
static void end(void *argument)
{
    struct gpu *gpu = argument;
    const struct drydock_gpu_host *host = gpu->host;
    struct packet packet;
    uint64_t token = 0;

    for (uint64_t at = 0; at + sizeof packet <= gpu->bytes; at += sizeof packet) {
        bool is_read = host->read(host->context, place(gpu->address + at), &packet, sizeof packet);

        if (is_read && packet.token && !token)
            host->begin_work(host->context, token = packet.token, 0);
        host->executes(host->context, 0, place(gpu->address).address + at, sizeof packet);
        if (!is_read || !execute(host, &packet)) {
            host->report_fault(host->context, 0, gpu->fence, gpu->address + at, "a packet failed");
            return; /* busy until it is reset */
        }
    }
    host->executes(host->context, 0, 0, 0);
    if (token)
        host->end_work(host->context, token);
    gpu->completed = gpu->fence;
    gpu->is_busy = false;
    host->raise_interrupt(host->context, 0);
}

static uint64_t read_register(void *self, uint64_t offset, unsigned size)
{
    return offset == 0x00 ? IDENTITY : offset == 0x04 ? ((struct gpu *)self)->completed : 0;
}

static void write_register(void *self, uint64_t offset, unsigned size, uint64_t value)
{
    struct gpu *gpu = self;

    if (gpu->is_busy)
        return; /* what comes now is lost */
    if (offset == 0x08)
        gpu->address = value;
    else if (offset == 0x10)
        gpu->bytes = value;
    else if (offset == 0x14) {
        gpu->fence = (uint32_t)value;
        gpu->is_busy = gpu->host->schedule(
            gpu->host->context, gpu->bytes / sizeof(struct packet) * PACKET_NS, end, gpu);
    }
}

static void reset(void *self)
{
    struct gpu *gpu = self;

    gpu->host->cancel(gpu->host->context, gpu);
    *gpu = (struct gpu){.host = gpu->host};
}

static void *create(const struct drydock_gpu_host *host, const struct drydock_gpu_board *board)
{
    struct gpu *gpu = calloc(1, sizeof *gpu);

    if (gpu)
        gpu->host = host;
    return gpu;
}

/*
 * Of the user-mode half: all reads, then all writes. The driver adds where allocation `to >> 32`
 * is.
 */
static uint32_t commands(void *self, const struct drydock_gpu_work *work, void *out, uint32_t room)
{
    struct packet *packet = out;
    uint32_t bytes = 0;

    for (uint64_t op = OP_READ; op <= OP_WRITE; op++) {
        for (uint32_t i = 0; i < work->reference_count; i++) {
            const struct drydock_gpu_reference *r = &work->references[i];
            uint64_t to = r->offset | (uint64_t)r->allocation << 32;
            if (op == OP_READ ? !r->is_read : !r->is_written)
                continue;
            if ((bytes += sizeof *packet) <= room)
                *packet++ = (struct packet){op, to, r->key, r->bytes, work->token, i};
        }
    }
    return bytes;
}

const struct drydock_gpu_model *drydock_gpu_model(uint32_t api_version)
{
    static const struct drydock_gpu_model model = {DRYDOCK_GPU_MODEL_API,
                                                   .name = "tutorial",
                                                   .register_bytes = 4096,
                                                   .create = create,
                                                   .destroy = free,
                                                   .reset = reset,
                                                   .commands = commands,
                                                   .read_register = read_register,
                                                   .write_register = write_register};

    return api_version == DRYDOCK_GPU_MODEL_API ? &model : NULL;
}
