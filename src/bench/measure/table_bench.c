#include "bench/measure/table_bench.h"

#include "bench/measure/live_manager.h"

#include "base/bits.h"
#include "miniport/miniport.h"

#include <drydock/sgpu.h>

#include <sys/mman.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define BENCH_VA      (UINT64_C(1) << 40)
#define MAPPING_BYTES (1 * GiB) /* of one request */

/* Of a slice, at least; but no more mappings than that. */
#define SLICE_ENTRIES 262144u
#define MOST_ROUNDS   32u
#define FLOOR_WORDS   1048576u

/* With a layer that takes the page-table updates of one process without handing them on. */
struct table_run {
    struct miniport layer; /* first: the layer's functions find the run by it */
    struct miniport_ops ops;
    HANDLE created; /* the driver's handle of the process that was created last */
    HANDLE closed;  /* ... and of the one whose updates are taken */
    uint64_t entries_taken;

    enum table_page page;
    uint64_t bytes;
    unsigned slices;
    struct table_bench *result;
    bool is_done;

    const struct run_live *live;
    uint64_t *floor; /* the words of the floor, two at least */
};

/* The manager alone, or with driver and GPU; each maps into a process of its own. */
struct table_side {
    struct table_run *run;
    bool is_closed;
    struct vidmm_process *process;
    struct vidmm_device *device;
    struct vidmm_allocation *allocation;
};

uint64_t table_page_bytes(enum table_page page)
{
    static const uint64_t bytes[TABLE_PAGE_COUNT] = {
        [TABLE_PAGE_4K] = 4 * KiB,
        [TABLE_PAGE_64K] = 64 * KiB,
        [TABLE_PAGE_2M] = 2 * MiB,
    };

    return bytes[page];
}

/* ---- The layer ------------------------------------------------------------------------------- */

static NTSTATUS create_process(struct miniport *layer, HANDLE object, DXGKARG_CREATEPROCESS *args)
{
    struct table_run *run = (struct table_run *)layer;
    NTSTATUS status = miniport_create_process(layer->next, object, args);

    run->created = args->hKmdProcess;
    return status;
}

static NTSTATUS take_updates(struct miniport *layer, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct table_run *run = (struct table_run *)layer;

    if (run->closed && args->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE &&
        args->UpdatePageTable.hProcess == run->closed) {
        run->entries_taken += args->UpdatePageTable.NumPageTableEntries;
        return STATUS_SUCCESS;
    }
    return miniport_build_paging_buffer(layer->next, object, args);
}

static struct miniport *add_closing_layer(void *context, struct miniport *next)
{
    struct table_run *run = context;

    run->ops = miniport_forward_ops;
    run->ops.name = "closing";
    run->ops.create_process = create_process;
    run->ops.build_paging_buffer = take_updates;
    run->layer = (struct miniport){.ops = &run->ops, .next = next};
    return &run->layer;
}

/* ---- Slices ---------------------------------------------------------------------------------- */

static bool map(const struct table_side *side)
{
    const struct table_run *run = side->run;
    bool is_done = true;

    for (uint64_t at = 0; at < run->bytes && is_done; at += MAPPING_BYTES) {
        const struct vidmm_map_request request = {
            .allocation = side->allocation, .bytes = MAPPING_BYTES, .va = BENCH_VA + at};
        uint64_t va;

        is_done = NT_SUCCESS(vidmm_map_gpu_va(side->process, &request, &va));
    }
    return live_manager_settle(run->live) && is_done;
}

static bool unmap(const struct table_side *side)
{
    const struct table_run *run = side->run;

    for (uint64_t at = 0; at < run->bytes; at += MAPPING_BYTES)
        vidmm_unmap_gpu_va(side->process, BENCH_VA + at, NULL, NULL);
    return live_manager_settle(run->live);
}

/* Maps and unmaps, with the time of the mapping in nanoseconds; negative: it failed. */
static double map_once(const struct table_side *side)
{
    struct table_run *run = side->run;
    double start = compare_now(), ns;
    bool is_done;

    run->entries_taken = 0;
    is_done = map(side);
    ns = compare_now() - start;
    /* Entries of a fresh table are written twice; of the next smaller size there were 16 times. */
    if (side->is_closed && (run->entries_taken < run->result->entries ||
                            run->entries_taken > 4 * run->result->entries))
        is_done = false;
    return unmap(side) && is_done ? ns : -1;
}

/* Nanoseconds an entry. */
static double map_slice(void *context)
{
    const struct table_side *side = context;
    uint64_t rounds = div_round_up(SLICE_ENTRIES, side->run->result->entries);
    double total = 0;

    rounds = min_u64(rounds, MOST_ROUNDS);
    for (uint64_t i = 0; i < rounds; i++) {
        double ns = map_once(side);

        if (ns < 0)
            return -1;
        total += ns;
    }
    return total / (double)(rounds * side->run->result->entries);
}

static void store_words(uint64_t *to, uint64_t count, uint64_t step)
{
    uint64_t entry = step | SGPU_PTE_VALID;

#ifdef __SSE2__
    __m128i two = _mm_set_epi64x((long long)(entry + step), (long long)entry);
    const __m128i steps = _mm_set1_epi64x((long long)(2 * step));

    for (uint64_t i = 0; i < count; i += 2, two = _mm_add_epi64(two, steps))
        _mm_stream_si128((__m128i *)(void *)(to + i), two);
    _mm_sfence();
#else
    for (uint64_t i = 0; i < count; i++, entry += step)
        ((volatile uint64_t *)to)[i] = entry;
#endif
}

/* Nanoseconds a word: made up, and stored past the cache where the processor can. */
static double floor_slice(void *context)
{
    const struct table_run *run = context;
    uint64_t count = align_up(run->result->entries, 2), rounds = div_round_up(FLOOR_WORDS, count);
    double start = compare_now();

    for (uint64_t i = 0; i < rounds; i++)
        store_words(run->floor, count, table_page_bytes(run->page));
    return (compare_now() - start) / (double)(rounds * count);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static bool begin(struct table_side *side)
{
    const struct sgpu_umd_allocation data = {
        .version = SGPU_UMD_VERSION,
        .flags = SGPU_UMD_NO_APERTURE, /* which is in 4 KiB pages */
        .bytes = MAPPING_BYTES,
        .alignment = (uint32_t)table_page_bytes(side->run->page),
    };
    const struct run_live *live = side->run->live;
    uint64_t fence;
    bool is_made = NT_SUCCESS(vidmm_process_create(live->vidmm, &side->process)) &&
                   NT_SUCCESS(vidmm_device_create(side->process, &side->device)) &&
                   NT_SUCCESS(vidmm_allocation_create(side->device, &data, sizeof data, NULL,
                                                      &side->allocation));

    return is_made &&
           NT_SUCCESS(
               vidmm_make_resident(side->device, 1, &side->allocation, NULL, NULL, &fence)) &&
           live_manager_settle(live) && vidmm_allocation_is_resident(side->allocation) &&
           map(side) && unmap(side);
}

static void end(struct table_side *side)
{
    if (side->allocation && vidmm_allocation_is_resident(side->allocation))
        vidmm_evict(side->device, 1, &side->allocation);
    if (side->allocation)
        vidmm_allocation_destroy(side->allocation);
    live_manager_settle(side->run->live);
    if (side->device)
        vidmm_device_destroy(side->device);
    if (side->process)
        vidmm_process_destroy(side->process);
    live_manager_settle(side->run->live);
}

static void measure(void *context, const struct run_live *live)
{
    struct table_run *run = context;
    struct table_side alone = {.run = run, .is_closed = true}, whole = {.run = run};
    struct table_bench *result = run->result;

    run->live = live;
    run->is_done = begin(&alone);
    run->closed = run->created;
    run->is_done =
        run->is_done && begin(&whole) &&
        compare_run(map_slice, &alone, floor_slice, run, run->slices, &result->manager) &&
        compare_run(map_slice, &whole, map_slice, &alone, run->slices, &result->whole);
    end(&alone);
    end(&whole);
}

bool table_bench_run(enum table_page page, uint64_t bytes, unsigned slices,
                     struct table_bench *out_result)
{
    struct table_run run = {.page = page, .bytes = bytes, .slices = slices, .result = out_result};
    const struct live_manager manager = {
        .model = RUN_GPUMMU,
        .local_bytes = 4 * GiB,
        .ram_bytes = 4 * GiB,
        .mmu = {.pages_64k = page == TABLE_PAGE_64K ? RUN_PAGES_64K_SINGLE : RUN_PAGES_64K_NONE,
                .has_large_pages = page == TABLE_PAGE_2M,
                .frees_tables = page != TABLE_PAGE_2M},
        .add_layer = add_closing_layer,
        .fn = measure,
        .context = &run};
    uint64_t floor_bytes;
    bool is_run;

    *out_result = (struct table_bench){.entries = bytes / table_page_bytes(page)};
    floor_bytes = align_up(out_result->entries, 2) * sizeof *run.floor;
    run.floor = mmap(NULL, floor_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (run.floor == MAP_FAILED)
        return false;
    is_run = live_manager_run(&manager) && run.is_done;
    munmap(run.floor, floor_bytes);
    return is_run;
}
