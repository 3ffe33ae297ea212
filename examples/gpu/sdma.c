/*
 * The model of the engines and the memory controller that sdma.h describes.
 *
 * A packet takes effect when its time is over, and the next is fetched then. What is read through a
 * VMID is translated by a cache of 1024 entries, one place for each page: a driver that forgets to
 * invalidate reads what the entry said before.
 */
#include "sdma.h"

#include <drydock/gpu_model.h>

#include <stdlib.h>
#include <string.h>

#define LONGEST_FIXED SDMA_WORK_DWORDS /* dwords of the longest packet without data behind it */
#define CACHE_ENTRIES 1024u
#define PAGE          (UINT64_C(1) << SDMA_PAGE_BITS)
#define PACKET_NS     50u
#define DOORBELLS     SDMA_REGISTER_BYTES /* behind the registers */

/* Where packets come from: the ring (VMID 0), or a buffer that INDIRECT names. */
struct stream {
    unsigned vmid;
    uint64_t at, end;
};

struct engine {
    struct sdma *gpu;
    unsigned number;
    uint32_t cntl, base, base_hi, traps;
    uint64_t rptr, wptr;
    struct stream buffer; /* at its end: packets come from the ring */
    uint64_t token;       /* of the client's work in the buffer; 0: none */
    bool is_running, has_faulted;
};

struct cached {
    uint64_t tag; /* page number and VMID; 0: empty, as VMID 0 is not translated */
    uint64_t entry;
};

struct sdma {
    const struct drydock_gpu_host *host;
    struct drydock_gpu_board board;
    struct engine engines[SDMA_ENGINES];
    uint64_t roots[SDMA_VMIDS];
    struct cached cache[CACHE_ENTRIES];
};

static uint64_t wide(const uint32_t *dwords)
{
    return dwords[0] | (uint64_t)dwords[1] << 32;
}

static uint64_t smaller_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static struct drydock_gpu_place physical(uint64_t address)
{
    bool is_local = address >= SDMA_FB;

    return (struct drydock_gpu_place){is_local, is_local ? address - SDMA_FB : address};
}

static struct drydock_gpu_place place_of(uint64_t entry)
{
    return (struct drydock_gpu_place){!(entry & SDMA_PTE_SYSTEM), entry & SDMA_PTE_ADDRESS_MASK};
}

/* The leaf entry, 0 where one on the way is not valid. False: a table is where nothing answers. */
static bool walk(const struct sdma *gpu, struct drydock_gpu_place table, uint64_t va, uint64_t *out)
{
    *out = 0;
    for (unsigned level = SDMA_LEVELS; level-- > 0;) {
        unsigned shift = SDMA_PAGE_BITS + SDMA_LEVEL_BITS * level;
        uint64_t entry;

        table.address += 8 * (va >> shift & ((1u << SDMA_LEVEL_BITS) - 1));
        if (!gpu->host->read(gpu->host->context, table, &entry, sizeof entry))
            return false;
        if (!(entry & SDMA_PTE_VALID))
            return true;
        table = place_of(entry);
        if (!level)
            *out = entry;
    }
    return true;
}

/* Where an address is, and how many bytes follow there. False: the engine stops. */
static bool find(struct sdma *gpu, unsigned vmid, uint64_t address, bool is_write,
                 struct drydock_gpu_place *out, uint64_t *out_room)
{
    uint64_t page = address >> SDMA_PAGE_BITS, tag = page << 4 | vmid;
    struct cached *cached = &gpu->cache[page % CACHE_ENTRIES];

    *out_room = PAGE - address % PAGE;
    *out = physical(address);
    if (!vmid)
        return true;
    if (cached->tag != tag) {
        uint64_t entry;

        if (!walk(gpu, place_of(gpu->roots[vmid]), address, &entry) || !entry)
            return false;
        *cached = (struct cached){tag, entry};
    }
    *out = place_of(cached->entry);
    out->address += address % PAGE;
    return !is_write || (cached->entry & SDMA_PTE_WRITEABLE);
}

static bool read_space(struct sdma *gpu, unsigned vmid, uint64_t from, void *out, uint64_t bytes)
{
    struct drydock_gpu_place place;
    uint8_t *at = out;
    uint64_t piece;

    for (; bytes; bytes -= piece, from += piece, at += piece) {
        if (!find(gpu, vmid, from, false, &place, &piece))
            return false;
        piece = smaller_of(piece, bytes);
        if (!gpu->host->read(gpu->host->context, place, at, piece))
            return false;
    }
    return true;
}

static bool write_space(struct sdma *gpu, unsigned vmid, uint64_t to, const void *from,
                        uint64_t bytes)
{
    struct drydock_gpu_place place;
    const uint8_t *at = from;
    uint64_t piece;

    for (; bytes; bytes -= piece, to += piece, at += piece) {
        if (!find(gpu, vmid, to, true, &place, &piece))
            return false;
        piece = smaller_of(piece, bytes);
        if (!gpu->host->write(gpu->host->context, place, at, piece))
            return false;
    }
    return true;
}

/* ---- Registers that packets write, too ------------------------------------------------------- */

static void invalidate(struct sdma *gpu, uint32_t vmids)
{
    for (unsigned i = 0; i < CACHE_ENTRIES; i++) {
        if (vmids & 1u << (gpu->cache[i].tag & 0xf))
            gpu->cache[i] = (struct cached){0};
    }
    if ((vmids & 0xffff) == 0xffff) {
        gpu->host->flushed(gpu->host->context, NULL, 0, 0);
        return;
    }
    for (unsigned vmid = 1; vmid < SDMA_VMIDS; vmid++) {
        const struct drydock_gpu_place root = place_of(gpu->roots[vmid]);

        if (vmids & 1u << vmid)
            gpu->host->flushed(gpu->host->context, &root, 0, 0);
    }
}

static void write_controller(struct sdma *gpu, uint64_t offset, uint32_t value)
{
    unsigned vmid = (unsigned)(offset - SDMA_VM_BASE(0)) / 8;

    if (offset == SDMA_VM_INVALIDATE)
        invalidate(gpu, value);
    else if (offset >= SDMA_VM_BASE(0) && vmid < SDMA_VMIDS)
        memcpy((uint8_t *)&gpu->roots[vmid] + offset % 8, &value, sizeof value);
}

/* ---- Packets --------------------------------------------------------------------------------- */

/* Dwords of the packet; 0: none of ours. */
static uint32_t packet_length(const uint32_t *packet)
{
    switch (packet[0] & 0xffff) {
    case SDMA_OP_NOP:
        return 1 + (packet[0] >> 16 & 0x3fff);
    case SDMA_OP_COPY:
        return SDMA_COPY_DWORDS;
    case SDMA_OP_WRITE:
        return SDMA_WRITE_DWORDS + (packet[3] & (SDMA_MOST_DWORDS - 1)) + 1;
    case SDMA_OP_INDIRECT:
        return SDMA_INDIRECT_DWORDS;
    case SDMA_OP_FENCE:
        return SDMA_FENCE_DWORDS;
    case SDMA_OP_TRAP:
        return SDMA_TRAP_DWORDS;
    case SDMA_OP_CONST_FILL:
        return SDMA_FILL_DWORDS;
    case SDMA_OP_PTEPDE:
        return SDMA_PTEPDE_DWORDS;
    case SDMA_OP_SRBM_WRITE:
        return SDMA_SRBM_DWORDS;
    default:
        return 0;
    }
}

static bool copy(struct sdma *gpu, unsigned vmid, const uint32_t *packet)
{
    uint64_t bytes = (uint64_t)(packet[1] & (SDMA_MOST_BYTES - 1)) + 1, piece, room;
    uint64_t from = wide(packet + 3), to = wide(packet + 5);
    struct drydock_gpu_place source, destination;

    for (; bytes; bytes -= piece, from += piece, to += piece) {
        if (!find(gpu, vmid, from, false, &source, &piece) ||
            !find(gpu, vmid, to, true, &destination, &room))
            return false;
        piece = smaller_of(bytes, smaller_of(piece, room));
        if (!gpu->host->copy(gpu->host->context, destination, source, piece))
            return false;
    }
    return true;
}

static bool fill(struct sdma *gpu, unsigned vmid, const uint32_t *packet)
{
    uint64_t bytes = (uint64_t)(packet[4] & (SDMA_MOST_BYTES - 1)) + 1, piece;
    uint64_t to = wide(packet + 1);
    struct drydock_gpu_place place;

    if (packet[0] >> 30 == 2)
        bytes = (bytes + 3) & ~UINT64_C(3);
    for (; bytes; bytes -= piece, to += piece) {
        if (!find(gpu, vmid, to, true, &place, &piece))
            return false;
        piece = smaller_of(piece, bytes);
        if (!gpu->host->fill(gpu->host->context, place, packet[3], piece))
            return false;
    }
    return true;
}

static bool write_entries(struct sdma *gpu, unsigned vmid, const uint32_t *packet)
{
    uint64_t to = wide(packet + 1), entry = wide(packet + 5);
    uint64_t count = (uint64_t)(packet[9] & (SDMA_MOST_ENTRIES - 1)) + 1;

    for (uint64_t i = 0; i < count; i++, entry += wide(packet + 7)) {
        uint64_t value = entry | wide(packet + 3);

        if (!write_space(gpu, vmid, to + 8 * i, &value, sizeof value))
            return false;
    }
    return true;
}

/* The data follows in the stream. */
static bool write_data(struct sdma *gpu, const struct stream *stream, const uint32_t *packet)
{
    uint64_t from = stream->at + 4 * SDMA_WRITE_DWORDS, to = wide(packet + 1), piece;
    uint64_t bytes = 4 * (uint64_t)(packet_length(packet) - SDMA_WRITE_DWORDS);
    uint8_t data[1024];

    for (; bytes; bytes -= piece, from += piece, to += piece) {
        piece = smaller_of(bytes, sizeof data);
        if (!read_space(gpu, stream->vmid, from, data, piece) ||
            !write_space(gpu, stream->vmid, to, data, piece))
            return false;
    }
    return true;
}

/* A NOP that says what the client's commands would do. */
static bool do_work(struct engine *engine, const uint32_t *packet)
{
    const struct drydock_gpu_host *host = engine->gpu->host;
    uint64_t token = wide(packet + 5), va = wide(packet + 7), bytes = wide(packet + 9), piece;
    bool is_write = packet[2] & SDMA_WORK_WRITE;
    struct drydock_gpu_place place;

    if (!engine->token)
        host->begin_work(host->context, engine->token = token, engine->number);
    for (uint64_t done = 0; done < bytes; done += piece) {
        if (!find(engine->gpu, engine->buffer.vmid, va + done, is_write, &place, &piece))
            return false;
        piece = smaller_of(piece, bytes - done);
        if ((packet[2] & SDMA_WORK_READ) &&
            !host->read_work(host->context, token, packet[3], done, place, piece))
            return false;
        if (is_write && !host->write_work(host->context, token, packet[3], done, place, piece,
                                          wide(packet + 11)))
            return false;
    }
    return true;
}

static bool is_work(const uint32_t *packet)
{
    return packet[0] == SDMA_NOP(SDMA_WORK_DWORDS - 1) && packet[1] == SDMA_WORK_MAGIC;
}

static bool execute(struct engine *engine, const struct stream *stream, const uint32_t *packet)
{
    struct sdma *gpu = engine->gpu;

    switch (packet[0] & 0xff) {
    case SDMA_OP_NOP:
        return !is_work(packet) || do_work(engine, packet);
    case SDMA_OP_COPY:
        return copy(gpu, stream->vmid, packet);
    case SDMA_OP_WRITE:
        return write_data(gpu, stream, packet);
    case SDMA_OP_INDIRECT:
        engine->buffer = (struct stream){.vmid = packet[0] >> 16 & 0xf,
                                         .at = wide(packet + 1),
                                         .end = wide(packet + 1) +
                                                4 * (uint64_t)(packet[3] & (SDMA_MOST_DWORDS - 1))};
        return true;
    case SDMA_OP_FENCE:
        return write_space(gpu, stream->vmid, wide(packet + 1), &packet[3], sizeof packet[3]);
    case SDMA_OP_TRAP:
        engine->traps |= packet[1] & 0xfffffff;
        gpu->host->raise_interrupt(gpu->host->context, engine->number);
        return true;
    case SDMA_OP_CONST_FILL:
        return fill(gpu, stream->vmid, packet);
    case SDMA_OP_SRBM_WRITE:
        write_controller(gpu, 4 * (uint64_t)packet[1], packet[2]);
        return true;
    default:
        return write_entries(gpu, stream->vmid, packet);
    }
}

/* ---- The engine ------------------------------------------------------------------------------ */

static void step(void *argument);

static bool is_in_buffer(const struct engine *engine)
{
    return engine->buffer.at < engine->buffer.end;
}

static uint64_t ring_address(const struct engine *engine, uint64_t position)
{
    uint64_t bytes = UINT64_C(4) << (engine->cntl >> 1 & 0x1f);

    return ((uint64_t)engine->base << 8 | (uint64_t)engine->base_hi << 40) + position % bytes;
}

/* Bytes that the packet moves take time; the rest is its fixed cost. */
static uint64_t duration(const struct sdma *gpu, const uint32_t *packet)
{
    uint64_t bytes = 0, speed = gpu->board.link_bytes_per_second;

    if (is_work(packet))
        return packet[4];
    if ((packet[0] & 0xff) == SDMA_OP_COPY)
        bytes = (packet[1] & (SDMA_MOST_BYTES - 1)) + 1;
    else if ((packet[0] & 0xff) == SDMA_OP_CONST_FILL)
        bytes = (packet[4] & (SDMA_MOST_BYTES - 1)) + 1;
    return PACKET_NS + (speed ? bytes * 1000 / (speed / 1000000 + 1) : 0);
}

static void fault(struct engine *engine, const struct stream *stream, const char *text)
{
    const struct drydock_gpu_host *host = engine->gpu->host;

    engine->has_faulted = true;
    engine->is_running = false;
    host->report_fault(host->context, engine->number, 0, stream->at, text);
}

/* The packet that is next, as far as it has a fixed length. False: the engine has stopped. */
static bool fetch(struct engine *engine, struct stream *out, uint32_t packet[LONGEST_FIXED],
                  uint32_t *out_length)
{
    uint64_t left = engine->wptr - engine->rptr;

    *out = engine->buffer;
    if (is_in_buffer(engine))
        left = engine->buffer.end - engine->buffer.at;
    else /* a packet may go round the end of the ring, but no data of one does */
        *out = (struct stream){.at = ring_address(engine, engine->rptr)};
    memset(packet, 0, LONGEST_FIXED * sizeof *packet);
    for (unsigned i = 0; i < LONGEST_FIXED && 4 * i < left; i++) {
        uint64_t at =
            is_in_buffer(engine) ? out->at + 4 * i : ring_address(engine, engine->rptr + 4 * i);

        if (!read_space(engine->gpu, out->vmid, at, &packet[i], sizeof packet[i])) {
            fault(engine, out, "packets are where nothing answers");
            return false;
        }
    }
    *out_length = packet_length(packet);
    if (!*out_length || 4 * (uint64_t)*out_length > left ||
        (is_in_buffer(engine) && (packet[0] & 0xff) == SDMA_OP_INDIRECT)) {
        fault(engine, out, *out_length ? "the stream ends amid a packet" : "a packet is not known");
        return false;
    }
    return true;
}

/* The next packet takes effect when its time is over. */
static void begin(struct engine *engine)
{
    const struct drydock_gpu_host *host = engine->gpu->host;
    uint32_t packet[LONGEST_FIXED], length;
    struct stream stream;

    engine->is_running = (engine->cntl & 1) && !engine->has_faulted &&
                         (is_in_buffer(engine) || engine->rptr < engine->wptr);
    if (engine->is_running && fetch(engine, &stream, packet, &length))
        engine->is_running =
            host->schedule(host->context, duration(engine->gpu, packet), step, engine);
}

static void step(void *argument)
{
    struct engine *engine = argument;
    const struct drydock_gpu_host *host = engine->gpu->host;
    bool was_in_buffer = is_in_buffer(engine);
    uint32_t packet[LONGEST_FIXED], length;
    struct stream stream;

    if (!fetch(engine, &stream, packet, &length))
        return;
    host->executes(host->context, engine->number, stream.at, 4 * length);
    if (!execute(engine, &stream, packet)) {
        fault(engine, &stream, "an address of the packet does not translate, or nothing answers");
        return;
    }
    host->executes(host->context, engine->number, 0, 0);
    if (was_in_buffer)
        engine->buffer.at += 4 * (uint64_t)length;
    else
        engine->rptr += 4 * (uint64_t)length;
    if (was_in_buffer && !is_in_buffer(engine) && engine->token) {
        host->end_work(host->context, engine->token);
        engine->token = 0;
    }
    begin(engine);
}

/* ---- Registers and life ---------------------------------------------------------------------- */

static void reset_engine(struct engine *engine)
{
    struct sdma *gpu = engine->gpu;

    gpu->host->cancel(gpu->host->context, engine);
    *engine = (struct engine){.gpu = gpu, .number = (unsigned)(engine - gpu->engines)};
}

static uint64_t read_register(void *self, uint64_t offset, unsigned size)
{
    struct sdma *gpu = self;
    struct engine *engine = &gpu->engines[offset / SDMA_BLOCK(1) % SDMA_ENGINES];
    uint32_t value;

    if (offset >= SDMA_BLOCK(SDMA_ENGINES))
        return 0;
    switch (offset % SDMA_BLOCK(1)) {
    case SDMA_RB_CNTL:
        return engine->cntl;
    case SDMA_RB_BASE:
        return engine->base;
    case SDMA_RB_BASE_HI:
        return engine->base_hi;
    case SDMA_RB_RPTR:
        return (uint32_t)engine->rptr;
    case SDMA_RB_WPTR:
        return (uint32_t)engine->wptr;
    case SDMA_TRAPS:
        value = engine->traps;
        engine->traps = 0;
        return value;
    default:
        return 0;
    }
}

static void write_engine(struct engine *engine, uint64_t offset, uint32_t value)
{
    switch (offset) {
    case SDMA_RB_CNTL:
        engine->cntl = value;
        break;
    case SDMA_RB_BASE:
        engine->base = value;
        break;
    case SDMA_RB_BASE_HI:
        engine->base_hi = value;
        break;
    case SDMA_RB_WPTR: /* its upper half follows from the lower: it only grows */
        engine->wptr += (uint32_t)(value - engine->wptr);
        break;
    case SDMA_RESET:
        reset_engine(engine);
        break;
    default:
        break;
    }
    if (!engine->is_running)
        begin(engine);
}

static void write_register(void *self, uint64_t offset, unsigned size, uint64_t value)
{
    struct sdma *gpu = self;

    if (offset < SDMA_BLOCK(SDMA_ENGINES))
        write_engine(&gpu->engines[offset / SDMA_BLOCK(1)], offset % SDMA_BLOCK(1),
                     (uint32_t)value);
    else if (offset >= DOORBELLS)
        write_engine(&gpu->engines[(offset - DOORBELLS) / SDMA_DOORBELL(1) % SDMA_ENGINES],
                     SDMA_RB_WPTR, (uint32_t)value);
    else
        write_controller(gpu, offset, (uint32_t)value);
}

static void reset(void *self)
{
    struct sdma *gpu = self;

    memset(gpu->roots, 0, sizeof gpu->roots);
    memset(gpu->cache, 0, sizeof gpu->cache);
    for (unsigned i = 0; i < SDMA_ENGINES; i++)
        reset_engine(&gpu->engines[i]);
}

static bool translate(void *self, struct drydock_gpu_place root, uint64_t va,
                      struct drydock_gpu_translation *out)
{
    uint64_t entry;

    *out = (struct drydock_gpu_translation){0};
    if (!walk(self, root, va, &entry))
        return false;
    if (!entry)
        return true;
    out->is_valid = true;
    out->is_read_only = !(entry & SDMA_PTE_WRITEABLE);
    out->is_no_execute = !(entry & SDMA_PTE_EXECUTABLE);
    out->protection = entry >> SDMA_PTE_SOFTWARE & SDMA_SOFTWARE_MASK;
    out->protection_mask = SDMA_SOFTWARE_MASK;
    out->at = place_of(entry);
    return true;
}

static void *create(const struct drydock_gpu_host *host, const struct drydock_gpu_board *board)
{
    struct sdma *gpu = calloc(1, sizeof *gpu);

    if (!gpu)
        return NULL;
    gpu->host = host;
    gpu->board = *board;
    for (unsigned i = 0; i < SDMA_ENGINES; i++)
        gpu->engines[i] = (struct engine){.gpu = gpu, .number = i};
    return gpu;
}

/* ---- The user-mode half ---------------------------------------------------------------------- */

static void put(uint32_t *dwords, uint64_t value)
{
    dwords[0] = (uint32_t)value;
    dwords[1] = (uint32_t)(value >> 32);
}

/* One of the user-mode driver's packets; flags 0: nothing is touched. */
static uint32_t *put_work(uint32_t *packet, const struct drydock_gpu_work *work, uint32_t index,
                          uint32_t flags, uint32_t duration_ns)
{
    const struct drydock_gpu_reference *reference = &work->references[index];

    packet[0] = SDMA_NOP(SDMA_WORK_DWORDS - 1);
    packet[1] = SDMA_WORK_MAGIC;
    packet[2] = flags;
    packet[3] = index;
    packet[4] = duration_ns;
    put(packet + 5, work->token);
    put(packet + 7, flags ? reference->va : 0);
    put(packet + 9, flags ? reference->bytes : 0);
    put(packet + 11, flags ? reference->key : 0);
    return packet + SDMA_WORK_DWORDS;
}

/*
 * By addresses of its process: first the time that it takes, then all that it reads, then what it
 * writes.
 */
static uint32_t commands(void *self, const struct drydock_gpu_work *work, void *out, uint32_t room)
{
    uint32_t *packet = out, packets = 1;

    for (uint32_t i = 0; i < work->reference_count; i++)
        packets += (uint32_t)work->references[i].is_read + (uint32_t)work->references[i].is_written;
    if (packets * SDMA_WORK_DWORDS * 4 > room)
        return packets * SDMA_WORK_DWORDS * 4;
    packet = put_work(packet, work, 0, 0, (uint32_t)smaller_of(work->duration_ns, UINT32_MAX));
    for (uint32_t i = 0; i < work->reference_count; i++) {
        if (work->references[i].is_read)
            packet = put_work(packet, work, i, SDMA_WORK_READ, 0);
    }
    for (uint32_t i = 0; i < work->reference_count; i++) {
        if (work->references[i].is_written)
            packet = put_work(packet, work, i, SDMA_WORK_WRITE, 0);
    }
    return packets * SDMA_WORK_DWORDS * 4;
}

const struct drydock_gpu_model *drydock_gpu_model(uint32_t api_version)
{
    static const struct drydock_gpu_pci pci = {
        .vendor_id = 0x1234, /* nobody's */
        .device_id = 0x5d3a,
        .class_code = 0x038000,
        .bars[0] = {.is_there = true, .is_local = true},
        .bars[2] = {.is_there = true, .bytes = SDMA_DOORBELL_BYTES, .first = DOORBELLS},
        .bars[4] = {.is_there = true, .bytes = SDMA_REGISTER_BYTES},
        .message_count = SDMA_ENGINES,
    };
    static const struct drydock_gpu_model model = {
        .api_version = DRYDOCK_GPU_MODEL_API,
        .name = "sdma",
        .register_bytes = SDMA_REGISTER_BYTES + SDMA_DOORBELL_BYTES,
        .create = create,
        .destroy = free,
        .reset = reset,
        .read_register = read_register,
        .write_register = write_register,
        .translate = translate,
        .commands = commands,
        .pci = &pci,
        .tells_flushes = true,
    };

    return api_version == DRYDOCK_GPU_MODEL_API ? &model : NULL;
}
