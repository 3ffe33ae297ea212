#include "bench/measure/transfer_bench.h"

#include "sgpu/sgpu.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LARGEST_BYTES TRANSFER_BENCH_MOST_BYTES
#define SLICE_BYTES   (32 * MiB) /* moved by each side in a slice, at least */
#define PACKETS_MOST  64u        /* in one buffer */
#define BUFFER_BYTES  (8 * MiB)  /* moved by the packets of one buffer, if they are small */

#define SOURCE_ADDRESS      UINT64_C(0)
#define DESTINATION_ADDRESS (2 * LARGEST_BYTES)
#define COMMAND_ADDRESS     (4 * LARGEST_BYTES)
#define BENCH_LOCAL_BYTES   (4 * LARGEST_BYTES + 1 * MiB)

/* A byte pattern, which memset can write too. */
#define BENCH_PATTERN 0x5a5a5a5au

struct transfer_bench {
    struct machine *machine;
    struct sgpu *gpu;
    uint8_t *source;
    uint8_t *destination;

    /* Of the comparison that runs. */
    bool is_copy;
    uint64_t bytes;
    uint32_t buffer_packets, buffer_bytes;
};

static uint64_t packets_of_slice(const struct transfer_bench *bench)
{
    return align_up(div_round_up(SLICE_BYTES, bench->bytes), bench->buffer_packets);
}

/* ---- The engine ---- */

static void write_register(struct transfer_bench *bench, uint64_t offset, uint64_t value,
                           unsigned size)
{
    machine_bus_write(bench->machine, machine_bar0_pa(bench->machine) + offset, &value, size);
}

static void submit_and_run(struct transfer_bench *bench)
{
    uint64_t base = SGPU_REG_NODE(SGPU_NODE_COPY);

    write_register(bench, base + SGPU_NODE_ADDRESS, COMMAND_ADDRESS, 8);
    write_register(bench, base + SGPU_NODE_SIZE, bench->buffer_bytes, 4);
    write_register(bench, base + SGPU_NODE_FENCE, 1, 4);
    write_register(bench, base + SGPU_NODE_DOORBELL, 0, 4);
    while (machine_run_next(bench->machine))
        ;
}

static void build_buffer(struct transfer_bench *bench)
{
    const struct sgpu_packet_copy copy = {
        .header = SGPU_PACKET_HEADER(SGPU_OP_COPY, sizeof copy / 4),
        .source = SOURCE_ADDRESS,
        .destination = DESTINATION_ADDRESS,
        .bytes = bench->bytes,
    };
    const struct sgpu_packet_fill fill = {
        .header = SGPU_PACKET_HEADER(SGPU_OP_FILL, sizeof fill / 4),
        .destination = DESTINATION_ADDRESS,
        .bytes = bench->bytes,
        .pattern = BENCH_PATTERN,
    };
    const void *packet = bench->is_copy ? (const void *)&copy : &fill;
    const uint32_t packet_bytes = bench->is_copy ? sizeof copy : sizeof fill;

    bench->buffer_packets =
        (uint32_t)min_u64(max_u64(BUFFER_BYTES / bench->bytes, 1), PACKETS_MOST);
    bench->buffer_bytes = bench->buffer_packets * packet_bytes;
    for (uint32_t i = 0; i < bench->buffer_packets; i++)
        page_store_write(machine_local(bench->machine), COMMAND_ADDRESS + i * packet_bytes, packet,
                         packet_bytes);
}

/* The engine does what the peers do: the destination, which had other bytes, has the right ones. */
static bool moves_bytes(struct transfer_bench *bench)
{
    struct page_store *local = machine_local(bench->machine);

    page_store_fill(local, DESTINATION_ADDRESS, bench->bytes, ~BENCH_PATTERN);
    submit_and_run(bench);
    if (bench->is_copy)
        return page_store_compare_bytes(local, SOURCE_ADDRESS, local, DESTINATION_ADDRESS,
                                        bench->bytes, NULL);
    return page_store_is_fill(local, DESTINATION_ADDRESS, bench->bytes, BENCH_PATTERN, NULL);
}

static double time_engine(void *context)
{
    struct transfer_bench *bench = context;
    const uint64_t packets = packets_of_slice(bench);
    double start = compare_now();

    for (uint64_t i = 0; i < packets; i += bench->buffer_packets)
        submit_and_run(bench);
    return (compare_now() - start) / (double)packets;
}

/* ---- The peers ---- */

static double time_library(void *context)
{
    struct transfer_bench *bench = context;
    const uint64_t packets = packets_of_slice(bench);
    double start = compare_now();

    for (uint64_t i = 0; i < packets; i++) {
        if (bench->is_copy)
            memcpy(bench->destination, bench->source, bench->bytes);
        else
            memset(bench->destination, (int)(BENCH_PATTERN & 0xff), bench->bytes);
        /* The compiler must not join or drop the repetitions. */
        __asm__ volatile("" : : "r"(bench->destination) : "memory");
    }
    return (compare_now() - start) / (double)packets;
}

#ifdef __SSE2__

static void stream(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    const __m128i pattern = _mm_set1_epi32((int)BENCH_PATTERN);

    for (uint64_t at = 0; at < bytes; at += 64) {
        for (unsigned i = 0; i < 64; i += 16)
            _mm_stream_si128((__m128i *)(void *)(to + at + i),
                             from ? _mm_load_si128((const __m128i *)(const void *)(from + at + i))
                                  : pattern);
    }
    _mm_sfence();
}

static double time_stream(void *context)
{
    struct transfer_bench *bench = context;
    const uint64_t packets = packets_of_slice(bench);
    double start = compare_now();

    for (uint64_t i = 0; i < packets; i++)
        stream(bench->destination, bench->is_copy ? bench->source : NULL, bench->bytes);
    return (compare_now() - start) / (double)packets;
}

#else
#define time_stream time_library
#endif

bool transfer_bench_run(struct transfer_bench *bench, bool is_copy, uint64_t bytes, unsigned slices,
                        struct comparison *out_comparison, const char **out_peer)
{
    struct comparison library, streamed;

    bench->is_copy = is_copy;
    bench->bytes = bytes;
    build_buffer(bench);
    if (!moves_bytes(bench) ||
        !compare_run(time_engine, bench, time_library, bench, slices, &library) ||
        !compare_run(time_engine, bench, time_stream, bench, slices, &streamed))
        return false;
    if (streamed.peer_ns < library.peer_ns) {
        *out_comparison = streamed;
        *out_peer = "non-temporal";
    } else {
        *out_comparison = library;
        *out_peer = is_copy ? "memcpy" : "memset";
    }
    return true;
}

/* ---- Life ---- */

struct transfer_bench *transfer_bench_create(void)
{
    struct transfer_bench *bench = calloc(1, sizeof *bench);
    struct sgpu_config config = {0};
    struct machine_config board;
    struct page_store *local;

    if (!bench)
        return NULL;
    machine_config_defaults(&board, 1);
    board.ram_bytes = 4 * MiB;
    board.local_bytes = BENCH_LOCAL_BYTES;
    board.visible_bytes = 0;
    board.aperture_bytes = 0;
    bench->machine = machine_create(base_services_libc(), &board);
    bench->gpu = bench->machine ? sgpu_create(bench->machine, &config) : NULL;
    if (!bench->gpu) {
        transfer_bench_destroy(bench);
        return NULL;
    }
    /* Laid together, so that the peers have their bytes in one piece. */
    local = machine_local(bench->machine);
    page_store_write_tag(local, SOURCE_ADDRESS, LARGEST_BYTES, 1);
    page_store_lay_together(local, SOURCE_ADDRESS / PAGE_BYTES, LARGEST_BYTES / PAGE_BYTES);
    page_store_lay_together(local, DESTINATION_ADDRESS / PAGE_BYTES, LARGEST_BYTES / PAGE_BYTES);
    page_store_pin(local, SOURCE_ADDRESS / PAGE_BYTES, LARGEST_BYTES / PAGE_BYTES);
    page_store_pin(local, DESTINATION_ADDRESS / PAGE_BYTES, LARGEST_BYTES / PAGE_BYTES);
    bench->source = page_store_bytes(local, SOURCE_ADDRESS / PAGE_BYTES);
    bench->destination = page_store_bytes(local, DESTINATION_ADDRESS / PAGE_BYTES);
    return bench;
}

void transfer_bench_destroy(struct transfer_bench *bench)
{
    if (bench->gpu)
        sgpu_destroy(bench->gpu);
    if (bench->machine)
        machine_destroy(bench->machine);
    free(bench);
}
