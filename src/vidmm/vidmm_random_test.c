/*
 * vidmm: random public calls on the rig, whose model knows what every page must hold.
 *
 * After each step vidmm_check() holds; the rig judges every record, every packet and every page
 * that is released. At the end all content is compared and everything must go away without a leak.
 *
 * A run is one seed. VIDMM_SEED=n in the environment runs only that one.
 */
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_notes.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"
#include "base/rng.h"

#define SEED_COUNT   200
#define STEP_COUNT   1500
#define OBJECT_COUNT 24
#define DEVICE_COUNT 2

struct random_object {
    struct rig_object base; /* first: the cookie is its address */
    struct random_run *run;
    unsigned device;
    bool is_locked;
    bool is_mapping, is_mapped, is_unmapping;
    unsigned requests; /* make_resident that has not ended */
    unsigned packets;  /* submitted and not done */
};

struct random_run {
    struct rig *rig;
    struct vidmm_device *devices[DEVICE_COUNT];
    struct vidmm_context *contexts[DEVICE_COUNT];
    struct random_object objects[OBJECT_COUNT];
    uint64_t last_fence[DEVICE_COUNT];
    unsigned failed_requests, ended_requests, packets, failed_packets;
};

/* Over all seeds: what did not happen has not been tested. */
static struct {
    uint64_t evictions, operations[32], multipass_calls;
    uint64_t failed_requests, ended_requests, packets, failed_packets;
    uint64_t switches, host_maps, acquired_ranges;
    uint64_t grown_roots, large_entries, fallen_back_tables, splits, scattered;
} total;

static struct rig_config random_config(uint64_t seed)
{
    struct rig_config config = rig_model((unsigned)(seed % RIG_MODELS));
    struct rng rng;

    rng_init(&rng, seed);
    config.seed = seed;
    config.memory_segments = 1 + (unsigned)rng_below(&rng, 2);
    config.segment_pages[0] = 120 + rng_below(&rng, 200);
    config.segment_pages[1] = 64 + rng_below(&rng, 100);
    config.hides_segment[0] =
        rng_chance(&rng, 1, 3) && config.mode != DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    /* The paging process's tables are written by the CPU. */
    if (config.hides_segment[0] || rng_chance(&rng, 1, 2))
        config.keeps_tables_in_system = true;
    config.hides_segment[1] = rng_chance(&rng, 1, 2);
    for (unsigned i = 0; i < config.memory_segments && config.is_virtual; i++) {
        config.has_64kb_pages[i] = rng_chance(&rng, 1, 4);
        config.segment_pages[i] =
            align_up((1 + config.has_64kb_pages[i]) * config.segment_pages[i], 16);
    }
    config.aperture_pages = 64 + rng_below(&rng, 100);
    config.has_two_apertures = !config.is_virtual && rng_chance(&rng, 1, 3);
    if (config.has_two_apertures && rng_chance(&rng, 1, 2)) /* one would fill it */
        config.all_apertures_limit_pages = config.aperture_pages;
    config.is_coherent = rng_chance(&rng, 1, 2);
    config.caches_invalid = rng_chance(&rng, 1, 2);
    config.has_protections = rng_chance(&rng, 1, 2);
    config.private_bytes = rng_chance(&rng, 1, 2) ? 8 + 4 * (uint32_t)rng_below(&rng, 30) : 0;
    config.moves_private = config.private_bytes && rng_chance(&rng, 1, 2);
    config.buffer_bytes = rng_chance(&rng, 1, 2) ? 4096 : 48 + 8 * (uint32_t)rng_below(&rng, 60);
    config.buffer_count = (unsigned)rng_below(&rng, 4);
    config.is_busy_once = rng_chance(&rng, 1, 2);
    config.skips_discards = rng_chance(&rng, 1, 2);
    config.completes_at_once = rng_chance(&rng, 1, 8);
    config.skips_patch = rng_chance(&rng, 1, 3);
    config.slots_at_once = rng_chance(&rng, 1, 3);
    config.switches_to_null = rng_chance(&rng, 1, 3);
    if (config.is_virtual && rng_chance(&rng, 1, 3)) {
        config.host_slots = 64 + rng_below(&rng, 100);
        config.keeps_tables_in_system = rng_chance(&rng, 1, 3);
    } else if (config.mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL && config.is_virtual) {
        config.keeps_tables_in_system = rng_chance(&rng, 1, 2);
    }
    if (config.is_virtual) {
        config.tables = (enum rig_tables)rng_below(&rng, RIG_TABLES_DUAL + 1);
        for (unsigned i = 0; i < config.memory_segments && config.tables >= RIG_TABLES_ONE_LEAF;
             i++)
            config.has_64kb_pages[i] = rng_chance(&rng, 3, 4);
        if (config.tables == RIG_TABLES_GROWING && config.mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL)
            config.tables = RIG_TABLES_SMALL; /* no root is in local memory there: PT-022 */
        if (config.tables == RIG_TABLES_GROWING) {
            config.keeps_tables_in_system = false;
            config.hides_segment[0] = false;
        }
    }
    if (!config.is_virtual && rng_chance(&rng, 2, 3)) {
        config.swizzling_ranges = 1 + (unsigned)rng_below(&rng, RIG_RANGES);
        config.refuses_ranges = rng_chance(&rng, 1, 3);
        config.hides_segment[0] = config.hides_segment[1] = false;
    }
    if (!config.is_virtual) {
        config.split_steps =
            rng_chance(&rng, 2, 3) ? 1 + (unsigned)rng_below(&rng, RIG_PROGRAM_STEPS / 2) : 0;
        config.splits_dma_buffers = rng_chance(&rng, 1, 4);
        if (rng_chance(&rng, 1, 3)) { /* what one packet needs often does not fit together */
            config.memory_segments = 1;
            config.swizzling_ranges = 0;
            config.has_two_apertures = false;
            config.all_apertures_limit_pages = 0;
            config.segment_pages[0] = 48 + rng_below(&rng, 48);
            config.aperture_pages = 48 + rng_below(&rng, 16);
        }
        config.pages_in_patched_only = rng_chance(&rng, 1, 3);
        config.dma_bytes =
            (uint32_t)(sizeof(struct rig_command) * (1 + rng_below(&rng, RIG_PROGRAM_STEPS)));
    }
    if (config.segment_pages[0] >= 120 && rng_chance(&rng, 1, 3))
        config.start_pages = 16 * (1 + rng_below(&rng, 2));
    config.invalidates_tables = config.is_virtual && rng_chance(&rng, 1, 4);
    config.updates_when_idle = config.is_virtual && rng_chance(&rng, 1, 4);
    return config;
}

static struct random_object *pick(struct random_run *run)
{
    struct random_object *object = &run->objects[rng_below(&run->rig->rng, OBJECT_COUNT)];

    return object->base.allocation ? object : NULL;
}

static void create_object(struct random_run *run)
{
    struct rig *rig = run->rig;
    struct random_object *object = &run->objects[rng_below(&rig->rng, OBJECT_COUNT)];
    struct rig_request request = {0};
    unsigned first =
        rng_chance(&rig->rng, 1, 2) ? 1 : 1 + (unsigned)rng_below(&rig->rng, rig->segment_count);
    unsigned second = 1 + (unsigned)rng_below(&rig->rng, rig->segment_count);

    if (object->base.allocation || object->packets || object->requests || object->is_unmapping)
        return;
    memset(object, 0, sizeof *object);
    object->run = run;
    object->device = (unsigned)rng_below(&rig->rng, DEVICE_COUNT);
    request.bytes = 1 + rng_below(&rig->rng, 40 * PAGE_BYTES);
    request.preferred[0] = first;
    if (second != first && rng_chance(&rig->rng, 1, 2))
        request.preferred[1] = second;
    if (rng_chance(&rig->rng, 1, 3))
        request.alignment = (uint32_t)(PAGE_BYTES << rng_below(&rig->rng, 3));
    if (!rig->config.is_virtual && rng_chance(&rig->rng, 1, 2))
        request.eviction_set = 1u << (rig->segment_count - 1);
    if (rig->config.tables >= RIG_TABLES_ONE_LEAF && rng_chance(&rig->rng, 1, 2)) {
        request.bytes = align_up(request.bytes, 64 * KiB); /* entries of 64 KiB can map it */
        request.alignment = 64 * KiB;
        request.preferred[1] = 0;
    }
    request.priority = 0x28000000u * (1 + (uint32_t)rng_below(&rig->rng, 5));
    request.is_cached = rng_chance(&rig->rng, 1, 2);
    request.is_physical = rng_chance(&rig->rng, 1, 4);
    if (rig->config.swizzling_ranges && rng_chance(&rig->rng, 1, 2))
        request.flags = (DXGK_ALLOCATIONINFOFLAGS){.Swizzled = 1}.Value;
    if (!rig->config.is_virtual && (object - run->objects) % 8 == 0)
        request.flags |= (DXGK_ALLOCATIONINFOFLAGS){.SynchronousPaging = 1}.Value;
    request.has_no_range = rng_chance(&rig->rng, 1, 8);
    if (rig->config.swizzling_ranges && !request.is_cached && rng_chance(&rig->rng, 2, 3)) {
        request.is_primary = true;
        request.flags |= (DXGK_ALLOCATIONINFOFLAGS){.UseAlternateVA = 1}.Value;
    }
    EXPECT(rig_try_object(rig, run->devices[object->device], &request, &object->base) ==
           STATUS_SUCCESS);
}

/* ---- Callbacks ---- */

static void resident(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct random_object *object = context;
    struct random_run *run = object->run;

    EXPECT(object->requests > 0);
    object->requests--;
    run->ended_requests++;
    if (NT_SUCCESS(status)) {
        /* The fence may be seen before the packet that wrote it has retired. */
        EXPECT(vidmm_allocation_is_resident(object->base.allocation) ||
               object->base.allocation->state == ALLOCATION_ENTERING);
        object->base.references++;
        return;
    }
    run->failed_requests++;
    EXPECT(status == STATUS_GRAPHICS_NO_VIDEO_MEMORY ||
           status == STATUS_GRAPHICS_CANT_RENDER_LOCKED_ALLOCATION);
}

static void mapped(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct random_object *object = context;

    EXPECT(object->is_mapping);
    object->is_mapping = false;
    object->is_mapped = NT_SUCCESS(status);
    EXPECT(NT_SUCCESS(status) || status == STATUS_GRAPHICS_NO_VIDEO_MEMORY);
}

static void unmapped(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct random_object *object = context;

    EXPECT(object->is_unmapping && NT_SUCCESS(status));
    object->is_unmapping = false;
}

struct random_packet {
    struct random_object *objects[4];
    unsigned count;
};

static void packet_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct random_packet *packet = context;
    struct random_run *run = packet->objects[0]->run;

    if (!NT_SUCCESS(status)) {
        EXPECT(!run->rig->config.is_virtual);
        EXPECT(status == STATUS_GRAPHICS_NO_VIDEO_MEMORY || status == STATUS_UNSUCCESSFUL ||
               status == STATUS_GRAPHICS_CANT_RENDER_LOCKED_ALLOCATION);
        run->failed_packets++;
    }
    for (unsigned i = 0; i < packet->count; i++)
        packet->objects[i]->packets--;
    run->packets++;
    free(packet);
}

/* ---- Steps ---- */

static void make_resident(struct random_run *run)
{
    struct random_object *object = pick(run);
    NTSTATUS status;
    uint64_t fence;

    if (!object || !run->rig->config.is_virtual || object->base.references > 3)
        return;
    object->requests++;
    status = vidmm_make_resident(run->devices[object->device], 1, &object->base.allocation,
                                 resident, object, &fence);
    EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
    if (status == STATUS_PENDING) {
        EXPECT(fence > run->last_fence[object->device]);
        run->last_fence[object->device] = fence;
        return;
    }
    EXPECT(fence == 0 && vidmm_allocation_is_resident(object->base.allocation));
    object->requests--;
    object->base.references++;
}

static void evict(struct random_run *run)
{
    struct random_object *object = pick(run);

    if (!object || !object->base.references)
        return;
    object->base.references--;
    vidmm_evict(run->devices[object->device], 1, &object->base.allocation);
}

/* Mostly 0: the manager chooses. Of a root that grows: behind what is privileged, and its end. */
static uint64_t choose_va(struct random_run *run, const struct random_object *object)
{
    if (!rng_chance(&run->rig->rng, 1, 2))
        return 0;
    return (run->rig->config.tables == RIG_TABLES_GROWING ? 2 * GiB : 0) +
           GiB / 8 * (1 + rng_below(&run->rig->rng, 6)) +
           (uint64_t)(object - run->objects) * PAGE_BYTES_OF(48); /* 1.3 to a leaf */
}

static void map(struct random_run *run)
{
    struct random_object *object = pick(run);
    struct rig *rig = run->rig;
    NTSTATUS status;

    if (!object || !rig->config.is_virtual || object->is_mapped || object->is_mapping ||
        object->is_unmapping)
        return;
    object->is_mapping = true;
    status =
        vidmm_map_gpu_va(rig->process,
                         &(struct vidmm_map_request){.allocation = object->base.allocation,
                                                     .bytes = PAGE_BYTES_OF(object->base.pages),
                                                     .va = choose_va(run, object),
                                                     .protect = (uint32_t)rng_below(&rig->rng, 4),
                                                     .done = mapped,
                                                     .context = object},
                         &object->base.va);
    if (!NT_SUCCESS(status)) {
        /* The range is taken, or no slot is left for the CPU to write a table through. */
        EXPECT(status == STATUS_RESOURCE_IN_USE ||
               (status == STATUS_NO_MEMORY && rig->config.host_slots));
        object->is_mapping = false;
    }
}

static void unmap(struct random_run *run)
{
    struct random_object *object = pick(run);

    if (!object || !object->is_mapped || object->packets)
        return;
    object->is_mapped = false;
    object->is_unmapping = true;
    EXPECT(vidmm_unmap_gpu_va(run->rig->process, object->base.va, unmapped, object) ==
           STATUS_SUCCESS);
}

static bool is_usable(const struct random_run *run, const struct random_object *object,
                      unsigned device)
{
    if (!object || object->is_locked || object->device != device)
        return false;
    return !run->rig->config.is_virtual || (object->is_mapped && object->base.references);
}

static void submit(struct random_run *run)
{
    struct rig *rig = run->rig;
    struct random_packet *packet = calloc(1, sizeof *packet);
    struct rig_object *objects[ARRAY_COUNT(packet->objects)];
    unsigned device = (unsigned)rng_below(&rig->rng, DEVICE_COUNT);
    unsigned wanted = 1 + (unsigned)rng_below(&rig->rng, ARRAY_COUNT(packet->objects));

    assert_non_null(packet);
    for (unsigned i = 0; i < 12 && packet->count < wanted; i++) {
        struct random_object *object = pick(run);
        bool is_there = false;

        for (unsigned j = 0; j < packet->count; j++)
            is_there = is_there || packet->objects[j] == object;
        if (is_there || !is_usable(run, object, device))
            continue;
        objects[packet->count] = &object->base;
        packet->objects[packet->count++] = object;
    }
    if (!packet->count) {
        free(packet);
        return;
    }
    for (unsigned i = 0; i < packet->count; i++)
        packet->objects[i]->packets++;
    EXPECT(rig_gpu_in(rig, run->contexts[device], objects, packet->count,
                      1 + (unsigned)rng_below(&rig->rng, RIG_PROGRAM_STEPS), packet_done,
                      packet) == STATUS_SUCCESS);
}

static void lock(struct random_run *run)
{
    struct random_object *object = pick(run);
    NTSTATUS status;

    if (!object || object->is_locked)
        return;
    status = vidmm_lock_with(object->base.allocation,
                             rng_chance(&run->rig->rng, 1, 2) ? VIDMM_LOCK_ACQUIRE_APERTURE : 0);
    if (status == STATUS_SUCCESS) {
        EXPECT(run->rig->config.is_virtual || !object->packets);
        object->is_locked = true;
        rig_touch_locked(run->rig, &object->base, rng_chance(&run->rig->rng, 1, 2));
        return;
    }
    EXPECT(status == STATUS_GRAPHICS_ALLOCATION_BUSY ||
           (status == STATUS_GRAPHICS_CANT_EVICT_PINNED_ALLOCATION && object->base.references) ||
           (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY && object->base.driver->is_swizzled));
}

static void unlock(struct random_run *run)
{
    struct random_object *object = pick(run);

    if (!object || !object->is_locked)
        return;
    if (!object->packets)
        rig_touch_locked(run->rig, &object->base, rng_chance(&run->rig->rng, 1, 2));
    vidmm_unlock(object->base.allocation);
    object->is_locked = false;
}

/* Whatever is in flight; but a request that has not ended still needs its allocation. */
static void destroy(struct random_run *run)
{
    struct random_object *object = pick(run);

    if (!object || object->is_locked || object->requests || object->is_mapping)
        return;
    vidmm_allocation_destroy(object->base.allocation);
    EXPECT(vidmm_check(run->rig->vidmm));
    for (; object->base.references; object->base.references--)
        vidmm_evict(run->devices[object->device], 1, &object->base.allocation);
    object->base.allocation = NULL;
    object->is_mapped = false;
}

/* Nothing lies in front of local_start, or behind local_limit. */
static void expect_within(const struct rig *rig)
{
    const uint64_t limit = rig->manager.local_limit / PAGE_BYTES;

    for (unsigned segment = 0; segment < rig->config.memory_segments; segment++) {
        for (uint64_t i = 0; i < rig->config.start_pages; i++)
            EXPECT(!rig->segments[segment][i].owner);
        for (uint64_t i = rig->config.start_pages + limit; limit && i < rig->segment_pages[segment];
             i++)
            EXPECT(!rig->segments[segment][i].owner);
    }
}

static void finish(struct random_run *run)
{
    for (unsigned i = 0; i < OBJECT_COUNT; i++) {
        struct random_object *object = &run->objects[i];

        if (object->is_locked)
            vidmm_unlock(object->base.allocation);
        object->is_locked = false;
    }
    rig_drain(run->rig);
    for (unsigned i = 0; i < OBJECT_COUNT; i++) {
        struct random_object *object = &run->objects[i];

        EXPECT(!object->requests && !object->packets && !object->is_mapping &&
               !object->is_unmapping);
        for (; object->base.references; object->base.references--)
            vidmm_evict(run->devices[object->device], 1, &object->base.allocation);
    }
    for (unsigned i = 0; i < OBJECT_COUNT; i++) {
        struct random_object *object = &run->objects[i];

        if (!object->base.allocation)
            continue;
        rig_cpu(run->rig, &object->base, false);
        vidmm_allocation_destroy(object->base.allocation);
    }
    rig_drain(run->rig);
}

static void run_seed(uint64_t seed)
{
    static void (*const steps[])(struct random_run *) = {
        create_object, create_object, create_object, make_resident, make_resident, make_resident,
        evict,         evict,         evict,         map,           map,           unmap,
        submit,        submit,        submit,        submit,        submit,        lock,
        unlock,        unlock,        destroy};
    struct rig_config config = random_config(seed);
    struct random_run *run = calloc(1, sizeof *run);
    struct rig *rig;

    assert_non_null(run);
    snprintf(rig_repeat, sizeof rig_repeat, "VIDMM_SEED=%" PRIu64 " vidmm_tests vidmm_random_test",
             seed);
    rig = run->rig = rig_new(&config);
    rig_draw_options(rig, seed);
    if (config.segment_pages[0] >= 120 && seed % 5 == 0)
        rig->manager.local_limit = PAGE_BYTES_OF(112);
    EXPECT(rig_start(rig) == STATUS_SUCCESS && rig_open(rig) == STATUS_SUCCESS);
    run->devices[0] = rig->device;
    run->contexts[0] = rig->context;
    EXPECT(vidmm_device_create(rig->process, &run->devices[1]) == STATUS_SUCCESS);
    EXPECT(vidmm_context_create(run->devices[1], 0, NULL, 0, &run->contexts[1]) == STATUS_SUCCESS);
    for (unsigned i = 0; i < STEP_COUNT; i++) {
        if (rng_chance(&rig->rng, 1, 3)) {
            for (uint64_t n = rng_below(&rig->rng, 8); n > 0; n--)
                rig_step_machine(rig);
        } else {
            steps[rng_below(&rig->rng, ARRAY_COUNT(steps))](run);
        }
        EXPECT(vidmm_check(rig->vidmm));
        rig_notes_check(rig);
        expect_within(rig);
    }
    finish(run);
    for (unsigned i = 0; i < 32; i++)
        total.operations[i] += rig_count(rig, i);
    total.evictions += vidmm_statistics(rig->vidmm)->evictions;
    total.multipass_calls += vidmm_statistics(rig->vidmm)->multipass_calls;
    total.failed_requests += run->failed_requests;
    total.ended_requests += run->ended_requests;
    total.packets += run->packets;
    total.failed_packets += run->failed_packets;
    total.switches += rig->switches;
    total.host_maps += rig->host_maps;
    total.acquired_ranges += rig->acquired_ranges;
    total.grown_roots += rig->grown_roots;
    total.large_entries += rig->large_entries;
    total.splits += vidmm_statistics(rig->vidmm)->dma_buffer_splits;
    total.scattered += rig_notes_scattered(rig);
    total.fallen_back_tables += vidmm_statistics(rig->vidmm)->fallen_back_tables;
    vidmm_context_destroy(run->contexts[1]);
    vidmm_device_destroy(run->devices[1]);
    rig_free(rig);
    free(run);
    rig_repeat[0] = '\0';
}

static void random_calls_keep_content_translations_and_counts(void **state)
{
    static const unsigned operations[] = {
        DXGK_OPERATION_TRANSFER,         DXGK_OPERATION_FILL,
        DXGK_OPERATION_DISCARD_CONTENT,  DXGK_OPERATION_MAP_APERTURE_SEGMENT,
        DXGK_OPERATION_VIRTUAL_TRANSFER, DXGK_OPERATION_UNMAP_APERTURE_SEGMENT,
        DXGK_OPERATION_VIRTUAL_FILL,     DXGK_OPERATION_UPDATE_PAGE_TABLE,
        DXGK_OPERATION_FLUSH_TLB};
    const char *seed = getenv("VIDMM_SEED");

    if (seed) {
        run_seed(strtoull(seed, NULL, 10));
        return;
    }
    for (uint64_t i = 0; i < SEED_COUNT; i++)
        run_seed(i);
    assert_true(total.evictions > 1000 && total.multipass_calls > 1000);
    assert_true(total.failed_requests > 100 && total.ended_requests > 1000);
    assert_true(total.packets > 5000 && total.failed_packets > 10);
    assert_true(total.switches > 300 && total.host_maps > 300 && total.acquired_ranges > 200);
    assert_true(total.operations[DXGK_OPERATION_SPECIAL_LOCK_TRANSFER] > 50);
    assert_true(total.grown_roots > 10 && total.large_entries > 500);
    assert_true(total.fallen_back_tables > 10 && total.splits > 10 && total.scattered > 100);
    for (size_t i = 0; i < ARRAY_COUNT(operations); i++)
        assert_true(total.operations[operations[i]] > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls_keep_content_translations_and_counts),
    };

    return cmocka_run_group_tests_name("vidmm/random", tests, NULL, NULL);
}
