/*
 * Fuzz target: any bytes as a ring, a batch and a page of entries of the model of Intel's copy
 * engines (examples/gpu/intel_blt/). It touches no memory but what the host has, asks for no
 * range that overlaps itself, lets time pass, and comes to an end of its events.
 */
#include "../examples/gpu/intel_blt/blit.c"
#include "../examples/gpu/intel_blt/engine.c"
#include "../examples/gpu/intel_blt/memory.c"
#include "../examples/gpu/intel_blt/model.c"
#include "../examples/gpu/intel_blt/packets.c"
#include "../examples/gpu/intel_blt/registers.c"
#include "../examples/gpu/intel_blt/user_mode.c"
#include "../examples/gpu/intel_blt/walk.c"
#include "../examples/gpu/intel_blt/work.c"

#define LOCAL_BYTES  (1u << 20)
#define SYSTEM_BYTES (1u << 20)
#define EVENTS       32u
#define MOST_EVENTS  300u
#define VA_BATCH     UINT64_C(0x10000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct event {
    uint64_t at;
    void (*fn)(void *argument);
    void *argument;
};

struct board {
    uint8_t *local, *system;
    uint64_t now;
    struct event events[EVENTS];
    unsigned event_count;
    unsigned works;
    unsigned told; /* accesses, by the walk */
};

static void must(bool is_so)
{
    if (!is_so)
        abort();
}

static uint8_t *at(struct board *board, struct drydock_gpu_place place, uint64_t bytes)
{
    const uint64_t room = place.is_local ? LOCAL_BYTES : SYSTEM_BYTES;

    if (place.address > room || bytes > room - place.address)
        return NULL;
    return (place.is_local ? board->local : board->system) + place.address;
}

static uint64_t host_now(void *context)
{
    return ((struct board *)context)->now;
}

static bool host_schedule(void *context, uint64_t after_ns, void (*fn)(void *argument),
                          void *argument)
{
    struct board *board = context;

    must(after_ns > 0 && board->event_count < EVENTS);
    for (unsigned i = 0; i < board->event_count; i++)
        must(board->events[i].argument != argument); /* an engine waits for one thing */
    board->events[board->event_count++] = (struct event){board->now + after_ns, fn, argument};
    return true;
}

static void host_cancel(void *context, void *argument)
{
    struct board *board = context;

    for (unsigned i = 0; i < board->event_count;) {
        if (board->events[i].argument == argument)
            board->events[i] = board->events[--board->event_count];
        else
            i++;
    }
}

static void host_interrupt(void *context, uint32_t message)
{
    (void)context;
    must(message < IBLT_ENGINES);
}

static bool host_read(void *context, struct drydock_gpu_place from, void *out, uint64_t bytes)
{
    const uint8_t *source = at(context, from, bytes);

    memset(out, 0xff, bytes);
    if (source)
        memcpy(out, source, bytes);
    return source != NULL;
}

static bool host_write(void *context, struct drydock_gpu_place to, const void *from, uint64_t bytes)
{
    uint8_t *destination = at(context, to, bytes);

    if (destination)
        memcpy(destination, from, bytes);
    return destination != NULL;
}

static bool host_copy(void *context, struct drydock_gpu_place to, struct drydock_gpu_place from,
                      uint64_t bytes)
{
    const uint8_t *source = at(context, from, bytes);
    uint8_t *destination = at(context, to, bytes);

    if (!source || !destination)
        return false;
    must(source + bytes <= destination || destination + bytes <= source);
    memcpy(destination, source, bytes);
    return true;
}

static bool host_fill(void *context, struct drydock_gpu_place to, uint32_t pattern, uint64_t bytes)
{
    uint8_t *destination = at(context, to, bytes);

    for (uint64_t i = 0; destination && i < bytes; i++)
        destination[i] = (uint8_t)(pattern >> 8 * (i % 4));
    return destination != NULL;
}

static void host_fault(void *context, uint32_t node, uint32_t fence, uint64_t address,
                       const char *text)
{
    (void)context;
    (void)fence;
    (void)address;
    must(node < IBLT_ENGINES && *text && strlen(text) < FAULT_BYTES);
}

static void host_begin(void *context, uint64_t token, uint32_t node)
{
    (void)token;
    must(node < IBLT_ENGINES);
    ((struct board *)context)->works++;
}

static bool host_read_work(void *context, uint64_t token, uint32_t index, uint64_t offset,
                           struct drydock_gpu_place place, uint64_t bytes)
{
    (void)token;
    (void)index;
    (void)offset;
    return at(context, place, bytes) != NULL;
}

static bool host_write_work(void *context, uint64_t token, uint32_t index, uint64_t offset,
                            struct drydock_gpu_place place, uint64_t bytes, uint64_t key)
{
    (void)key;
    return host_read_work(context, token, index, offset, place, bytes);
}

static void host_end(void *context, uint64_t token)
{
    (void)context;
    (void)token;
}

static void host_flushed(void *context, const struct drydock_gpu_place *root, uint64_t start,
                         uint64_t end)
{
    (void)context;
    must((!root || root->is_local) && !start && !end);
}

static void host_executes(void *context, uint32_t node, uint64_t address, uint32_t bytes)
{
    (void)context;
    (void)address;
    must(node < IBLT_ENGINES && bytes <= 4 * PACKET_MOST);
}

static void host_leaves_out(void *context, uint32_t node)
{
    (void)context;
    must(node == IBLT_NODE_RENDER);
}

/* The one that is due first. */
static bool run_next(struct board *board)
{
    unsigned first = 0;
    struct event event;

    if (!board->event_count)
        return false;
    for (unsigned i = 1; i < board->event_count; i++) {
        if (board->events[i].at < board->events[first].at)
            first = i;
    }
    event = board->events[first];
    board->events[first] = board->events[--board->event_count];
    must(event.at >= board->now);
    board->now = event.at;
    event.fn(event.argument);
    return true;
}

/* Batches at VA_BATCH, tables in local memory, the first page of which the input may write. */
static void make_tables(struct board *board)
{
    static const struct {
        uint64_t offset, entry;
    } entries[] = {
        {0x1000, 0x2000 | 3},
        {0x2000, 0x3000 | 3},
        {0x3000 + 8 * (VA_BATCH >> 21), 0x4000 | 3},
        {0x3000, 0x5000 | 3 | IBLT_PDE_TABLE_64K},
        {0x3008, 0 | 3 | IBLT_PDE_LARGE | IBLT_PTE_LOCAL},
        {0x5000, 0x20000 | 3 | IBLT_PTE_LOCAL},
        {0x5008, 0x10000 | 3},
    };
    uint64_t entry;

    for (unsigned i = 0; i < sizeof entries / sizeof entries[0]; i++)
        memcpy(board->local + entries[i].offset, &entries[i].entry, 8);
    for (unsigned i = 0; i < 32; i++) {
        entry = (0x40000 + i * PAGE) | 3;
        memcpy(board->local + 0x4000 + 8 * i, &entry, 8);
    }
}

/* Byte 0: node, and what the rest is; 64 bytes of ring; 512 of entries; the batch. */
/* The client shows the pages of its batch. */
static bool walk_reads(void *context, uint64_t va, void *out, uint64_t bytes)
{
    struct board *board = context;

    if (va < VA_BATCH || va - VA_BATCH >= 32 * PAGE || bytes > 32 * PAGE - (va - VA_BATCH))
        return false;
    memcpy(out, board->system + 0x40000 + (va - VA_BATCH), bytes);
    return true;
}

static void walk_tells(void *context, const struct drydock_gpu_access *access)
{
    must(access->kind <= DRYDOCK_GPU_UNKNOWN);
    ((struct board *)context)->told++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct board board = {.local = calloc(1, LOCAL_BYTES), .system = calloc(1, SYSTEM_BYTES)};
    const struct drydock_gpu_host host = {
        .context = &board,
        .now = host_now,
        .schedule = host_schedule,
        .cancel = host_cancel,
        .raise_interrupt = host_interrupt,
        .read = host_read,
        .write = host_write,
        .copy = host_copy,
        .fill = host_fill,
        .report_fault = host_fault,
        .begin_work = host_begin,
        .read_work = host_read_work,
        .write_work = host_write_work,
        .end_work = host_end,
        .flushed = host_flushed,
        .executes = host_executes,
        .leaves_out = host_leaves_out,
    };
    const struct drydock_gpu_board shape = {.local_bytes = LOCAL_BYTES,
                                            .system_bytes = SYSTEM_BYTES,
                                            .link_bytes_per_second = UINT64_C(16000000000)};
    const uint32_t start[] = {IBLT_MI_BATCH_START | IBLT_PPGTT | 1, (uint32_t)VA_BATCH, 0, 0};
    const unsigned node = size ? data[0] % IBLT_ENGINES : 0;
    const bool has_ring = size && data[0] & 0x40, has_entries = size && data[0] & 0x80;
    struct drydock_gpu_translation found;
    struct iblt *gpu;
    uint32_t tail = sizeof start;

    must(board.local && board.system);
    gpu = create(&host, &shape);
    must(gpu != NULL);
    make_tables(&board);
    memcpy(board.system, start, sizeof start);
    data += size ? 1 : 0;
    size -= size ? 1 : 0;
    if (has_ring) {
        const size_t part = iblt_smaller(size, 64);

        memcpy(board.system, data, part);
        memcpy(board.system + part, start, sizeof start);
        tail = (uint32_t)(part + sizeof start) & ~7u;
        data += part;
        size -= part;
    }
    if (has_entries) {
        const size_t part = iblt_smaller(size, 512);

        memcpy(board.local + 0x3000, data, part);
        data += part;
        size -= part;
    }
    memcpy(board.system + 0x40000, data, iblt_smaller(size, 32 * PAGE));
    for (unsigned i = 0; i < 64; i++)
        write_register(gpu, IBLT_GGTT + 8 * i, 8, (i * PAGE) | IBLT_PTE_PRESENT);
    write_register(gpu, iblt_bases[node] + IBLT_PDP0, 4, 0x1000);
    write_register(gpu, iblt_bases[node] + IBLT_NONPRIV(0), 4, IBLT_TLB_COPY);
    write_register(gpu, iblt_bases[node] + IBLT_RING_CTL, 4, 1);
    write_register(gpu, iblt_bases[node] + IBLT_RING_TAIL, 4, tail);
    for (unsigned i = 0; i < MOST_EVENTS && run_next(&board); i++)
        ;
    iblt_walk_batch(
        gpu, VA_BATCH, size,
        &(struct drydock_gpu_walk){.context = &board, .read = walk_reads, .each = walk_tells});
    must(board.told <= 65536);
    for (uint64_t va = 0; va < UINT64_C(1) << 32; va += UINT64_C(0x3fff1000))
        translate(gpu, (struct drydock_gpu_place){true, 0x1000}, va, &found);
    reset(gpu);
    must(!board.event_count);
    free(gpu);
    free(board.local);
    free(board.system);
    return 0;
}
