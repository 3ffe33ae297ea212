#define _GNU_SOURCE
#include "sgpu/sgpu_bench.h"

#include "sgpu/sgpu.h"

#include "base/bits.h"

#include <string.h>
#include <time.h>

#define SMALLEST_BYTES (4 * KiB)
#define LARGEST_BYTES  (16 * MiB)
#define TURNS          7
#define TURN_BYTES     (32 * MiB) /* moved by each side in one turn, at least */

#define SOURCE_ADDRESS      UINT64_C(0)
#define DESTINATION_ADDRESS (2 * LARGEST_BYTES)
#define COMMAND_ADDRESS     (4 * LARGEST_BYTES)
#define BENCH_LOCAL_BYTES   (4 * LARGEST_BYTES + 1 * MiB)

/* A byte pattern, which memset can write too. */
#define BENCH_PATTERN 0x5a5a5a5au

struct bench {
    struct machine *machine;
    struct sgpu *gpu;
    uint8_t *source;
    uint8_t *destination;
};

static double now_seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void write_register(struct bench *bench, uint64_t offset, uint64_t value, unsigned size)
{
    machine_bus_write(bench->machine, machine_bar0_pa(bench->machine) + offset, &value, size);
}

static void submit_and_run(struct bench *bench, uint32_t size)
{
    uint64_t base = SGPU_REG_NODE(SGPU_NODE_COPY);

    write_register(bench, base + SGPU_NODE_ADDRESS, COMMAND_ADDRESS, 8);
    write_register(bench, base + SGPU_NODE_SIZE, size, 4);
    write_register(bench, base + SGPU_NODE_FENCE, 1, 4);
    write_register(bench, base + SGPU_NODE_DOORBELL, 0, 4);
    while (machine_run_next(bench->machine))
        ;
}

static uint32_t build_packet(struct bench *bench, bool is_copy, uint64_t bytes)
{
    struct sgpu_packet_copy copy = {
        .header = SGPU_PACKET_HEADER(SGPU_OP_COPY, sizeof copy / 4),
        .source = SOURCE_ADDRESS,
        .destination = DESTINATION_ADDRESS,
        .bytes = bytes,
    };
    struct sgpu_packet_fill fill = {
        .header = SGPU_PACKET_HEADER(SGPU_OP_FILL, sizeof fill / 4),
        .destination = DESTINATION_ADDRESS,
        .bytes = bytes,
        .pattern = BENCH_PATTERN,
    };
    struct page_store *local = machine_local(bench->machine);

    if (is_copy)
        page_store_write(local, COMMAND_ADDRESS, &copy, sizeof copy);
    else
        page_store_write(local, COMMAND_ADDRESS, &fill, sizeof fill);
    return is_copy ? sizeof copy : sizeof fill;
}

/* Bytes per second of one turn. */
static double time_engine(struct bench *bench, uint32_t packet_size, uint64_t bytes, uint64_t times)
{
    double start = now_seconds();

    for (uint64_t i = 0; i < times; i++)
        submit_and_run(bench, packet_size);
    return (double)(bytes * times) / (now_seconds() - start);
}

static double time_peer(struct bench *bench, bool is_copy, uint64_t bytes, uint64_t times)
{
    double start = now_seconds();

    for (uint64_t i = 0; i < times; i++) {
        if (is_copy)
            memcpy(bench->destination, bench->source, bytes);
        else
            memset(bench->destination, (int)(BENCH_PATTERN & 0xff), bytes);
        /* The compiler must not join or drop the repetitions. */
        __asm__ volatile("" : : "r"(bench->destination) : "memory");
    }
    return (double)(bytes * times) / (now_seconds() - start);
}

static void measure(struct bench *bench, bool is_copy, uint64_t bytes, struct sgpu_bench_row *row)
{
    uint32_t packet_size = build_packet(bench, is_copy, bytes);
    uint64_t times = div_round_up(TURN_BYTES, bytes);

    *row = (struct sgpu_bench_row){
        .name = is_copy ? "copy" : "fill",
        .peer = is_copy ? "memcpy" : "memset",
        .bytes = bytes,
    };
    for (int turn = 0; turn < TURNS; turn++) {
        double engine = time_engine(bench, packet_size, bytes, times);
        double peer = time_peer(bench, is_copy, bytes, times);

        if (engine > row->engine_bytes_per_second)
            row->engine_bytes_per_second = engine;
        if (peer > row->peer_bytes_per_second)
            row->peer_bytes_per_second = peer;
    }
    row->ratio = row->engine_bytes_per_second / row->peer_bytes_per_second;
}

bool sgpu_bench(struct sgpu_bench_row out_rows[SGPU_BENCH_ROWS])
{
    struct machine_config board;
    struct sgpu_config config = {0};
    struct bench bench = {0};
    struct page_store *local;
    size_t row = 0;

    memset(out_rows, 0, SGPU_BENCH_ROWS * sizeof *out_rows);
    machine_config_defaults(&board, 1);
    board.ram_bytes = 4 * MiB;
    board.local_bytes = BENCH_LOCAL_BYTES;
    board.visible_bytes = 0;
    board.aperture_bytes = 0;
    bench.machine = machine_create(base_services_libc(), &board);
    if (!bench.machine)
        return false;
    bench.gpu = sgpu_create(bench.machine, &config);
    if (!bench.gpu) {
        machine_destroy(bench.machine);
        return false;
    }
    local = machine_local(bench.machine);
    page_store_write_tag(local, SOURCE_ADDRESS, LARGEST_BYTES, 1);
    page_store_pin(local, SOURCE_ADDRESS / PAGE_BYTES, LARGEST_BYTES / PAGE_BYTES);
    page_store_pin(local, DESTINATION_ADDRESS / PAGE_BYTES, LARGEST_BYTES / PAGE_BYTES);
    bench.source = page_store_bytes(local, SOURCE_ADDRESS / PAGE_BYTES);
    bench.destination = page_store_bytes(local, DESTINATION_ADDRESS / PAGE_BYTES);

    for (int is_copy = 1; is_copy >= 0; is_copy--)
        for (uint64_t bytes = SMALLEST_BYTES; bytes <= LARGEST_BYTES; bytes *= 4)
            measure(&bench, is_copy, bytes, &out_rows[row++]);

    sgpu_destroy(bench.gpu);
    machine_destroy(bench.machine);
    return true;
}
