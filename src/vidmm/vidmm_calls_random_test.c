/*
 * vidmm: random calls of what vidmm_random_test leaves out, together: offers, tiles, pages by
 * number, moves, priorities, budgets, lists, forecasts, allocations of contexts, by two processes;
 * then, behind a hang, resets and sleeps between them. And set-ups that vidmm_random_test leaves
 * out: paging buffers in an aperture, policies, segments with holes, limits.
 *
 * No work is submitted, so content is not judged. The manager's own walk holds behind each step,
 * all goes away without a leak, and what is called, told and answered is golden (tests/told.h).
 * VIDMM_SEED=n in the environment runs one seed.
 */
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/rig/test_rig_told.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"
#include "base/rng.h"
#include "tests/told.h"

#define SEEDS         160
#define STEPS         400 /* in front of the hang, and behind it */
#define OBJECTS       12
#define TILES         (UINT64_C(16) * MiB)
#define PAGES         (UINT64_C(64) * MiB) /* by number */
#define ALIEN_PAGE    (UINT64_C(1) << 30)  /* of system memory: nobody here has it */
#define SEGMENT_PAGES 160
#define OWN           3 /* allocations of a context that never runs */

struct calls_run;

struct calls_object {
    struct rig_object base;
    struct calls_run *run;
    unsigned client; /* of devices and processes */
    bool is_mapped, is_locked;
    unsigned pending; /* calls that have not ended */
};

struct calls_run {
    struct rig *rig;
    struct vidmm_process *processes[2];
    struct vidmm_device *devices[2];
    struct vidmm_context *quiet;
    struct calls_object objects[OBJECTS];
    struct vidmm_list *list; /* of objects, which are not destroyed meanwhile; NULL: none */
    unsigned listed;         /* a bit for each object that is in it */
    unsigned list_references;
    unsigned list_client;
    bool list_is_pending;
    HANDLE own[OWN];
    unsigned pending; /* of no object */
    bool is_asleep;
    bool has_hung;
    bool shows_memory; /* pages by number are of a segment, too */
};

/* Over all seeds: what did not happen has not been tested. */
static unsigned answers, resets, sleeps, offers, discards, pages_by_number, tiles;
static unsigned lists, forecasts, owned;

static void tell(NTSTATUS status)
{
    told_number((uint32_t)status);
    answers++;
}

static unsigned choose(struct calls_run *run, unsigned count)
{
    return (unsigned)rng_below(&run->rig->rng, count);
}

static struct calls_object *pick(struct calls_run *run)
{
    struct calls_object *object = &run->objects[choose(run, OBJECTS)];

    return object->base.allocation ? object : NULL;
}

/* ---- What ends later ---- */

static void ended(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct calls_run *run = context;

    tell(status);
    told_number(needed);
    told_number(available);
    EXPECT(run->pending > 0);
    run->pending--;
}

static void object_ended(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct calls_object *object = context;

    tell(status);
    told_number(needed);
    told_number(available);
    EXPECT(object->pending > 0);
    object->pending--;
}

static void resident(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct calls_object *object = context;

    object->base.references += NT_SUCCESS(status);
    object_ended(object, status, needed, available);
}

static void mapped(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct calls_object *object = context;

    object->is_mapped = NT_SUCCESS(status);
    object_ended(object, status, needed, available);
}

/* ---- Steps ---- */

static void create(struct calls_run *run)
{
    struct calls_object *object = &run->objects[choose(run, OBJECTS)];
    struct rig_request request = {0};

    if (object->base.allocation || object->pending)
        return;
    memset(object, 0, sizeof *object);
    object->run = run;
    request.bytes = 16 * PAGE_BYTES * (1 + choose(run, 4));
    request.preferred[0] = 1 + choose(run, run->rig->segment_count);
    request.preferred[1] = choose(run, 2) ? 1 + choose(run, run->rig->segment_count) : 0;
    if (request.preferred[1] == request.preferred[0])
        request.preferred[1] = 0;
    request.priority = 0x28000000u * (1 + choose(run, 5));
    request.is_physical = choose(run, 4) == 0;
    request.is_cached = choose(run, 4) == 0;
    if (!run->rig->config.is_virtual && choose(run, 2))
        request.eviction_set = 1u << (run->rig->segment_count - 1);
    object->client = choose(run, 2);
    tell(rig_try_object(run->rig, run->devices[object->client], &request, &object->base));
}

static void make_resident(struct calls_run *run)
{
    struct calls_object *object = pick(run);
    uint64_t fence = 0, above = 0;
    NTSTATUS status;

    if (!object || !run->rig->config.is_virtual)
        return;
    object->pending++;
    if (choose(run, 3))
        status = vidmm_make_resident(run->devices[object->client], 1, &object->base.allocation,
                                     resident, object, &fence);
    else
        status =
            vidmm_make_resident_in_budget(run->devices[object->client], 1, &object->base.allocation,
                                          resident, object, &fence, &above);
    tell(status);
    told_number(fence);
    told_number(above);
    if (status == STATUS_PENDING)
        return;
    object->pending--;
    object->base.references += NT_SUCCESS(status);
}

static void evict(struct calls_run *run)
{
    struct calls_object *object = pick(run);

    if (!object || !object->base.references)
        return;
    object->base.references--;
    vidmm_evict(run->devices[object->client], 1, &object->base.allocation);
}

static void map(struct calls_run *run)
{
    struct calls_object *object = pick(run);
    NTSTATUS status;

    if (!object || !run->rig->config.is_virtual || object->is_mapped || object->pending)
        return;
    object->pending++;
    status = vidmm_map_gpu_va(
        run->processes[object->client],
        &(struct vidmm_map_request){.allocation = object->base.allocation,
                                    .bytes = PAGE_BYTES_OF(object->base.pages),
                                    .va = choose(run, 4) ? 0 : TILES + MiB * choose(run, 8),
                                    .done = mapped,
                                    .context = object},
        &object->base.va);
    tell(status);
    object->pending -= !NT_SUCCESS(status);
}

static void unmap(struct calls_run *run)
{
    struct calls_object *object = pick(run);
    NTSTATUS status;

    if (!object || !object->is_mapped || object->pending)
        return;
    object->is_mapped = false;
    object->pending++;
    status =
        vidmm_unmap_gpu_va(run->processes[object->client], object->base.va, object_ended, object);
    tell(status);
    object->pending -= !NT_SUCCESS(status);
}

static void offer(struct calls_run *run)
{
    struct calls_object *object = pick(run);
    NTSTATUS status;

    if (!object)
        return;
    status = vidmm_offer(run->devices[object->client], 1, &object->base.allocation,
                         (enum vidmm_offer_priority)choose(run, 3));
    tell(status);
    offers += NT_SUCCESS(status);
}

static void reclaim(struct calls_run *run)
{
    enum vidmm_reclaim_result result = VIDMM_RECLAIM_OK;
    struct calls_object *object = pick(run);
    uint64_t fence = 0;
    NTSTATUS status;

    if (!object)
        return;
    object->pending++;
    status = vidmm_reclaim(run->devices[object->client], 1, &object->base.allocation, &result,
                           object_ended, object, &fence);
    tell(status);
    told_number(result);
    told_number(fence);
    discards += result == VIDMM_RECLAIM_DISCARDED;
    object->pending -= status != STATUS_PENDING;
}

static void update_tiles(struct calls_run *run)
{
    struct vidmm_tile_operation operations[3] = {0};
    const unsigned count = 1 + choose(run, 3);
    NTSTATUS status;

    for (unsigned i = 0; i < count; i++) {
        struct vidmm_tile_operation *operation = &operations[i];
        struct calls_object *pool = pick(run);

        operation->kind = (enum vidmm_tile_kind)choose(run, 3);
        operation->va = TILES + VIDMM_TILE_BYTES * choose(run, 40);
        operation->page_count = 16 * (1 + choose(run, 4));
        if (operation->kind == VIDMM_TILE_COPY)
            operation->source_va = TILES + VIDMM_TILE_BYTES * choose(run, 40);
        if (operation->kind != VIDMM_TILE_MAP)
            continue;
        operation->page_count = 16;
        operation->pool = pool ? pool->base.allocation : NULL;
        operation->first_page = pool ? 16 * choose(run, (unsigned)pool->base.pages / 16) : 0;
    }
    run->pending++;
    status = vidmm_update_gpu_va(run->rig->context, count, operations, ended, run);
    tell(status);
    run->pending -= !NT_SUCCESS(status);
    tiles += NT_SUCCESS(status);
}

static void map_pages(struct calls_run *run)
{
    const uint64_t va = PAGES + VIDMM_TILE_BYTES * choose(run, 600);
    const uint64_t count = 1 + choose(run, 40);
    const bool is_local = run->shows_memory && choose(run, 2);
    NTSTATUS status;

    run->pending++;
    if (choose(run, 3))
        status = vidmm_map_physical(run->rig->process, va, is_local ? 1 : 0,
                                    is_local ? choose(run, SEGMENT_PAGES) : ALIEN_PAGE, count,
                                    choose(run, 2), ended, run);
    else
        status = vidmm_unmap_physical(run->rig->process, va, PAGE_BYTES_OF(count), ended, run);
    tell(status);
    run->pending -= !NT_SUCCESS(status);
    pages_by_number += NT_SUCCESS(status);
}

static void move_or_prefer(struct calls_run *run)
{
    struct calls_object *object = pick(run);

    if (!object)
        return;
    if (choose(run, 2))
        tell(vidmm_move(object->base.allocation, 1 + choose(run, run->rig->segment_count)));
    else
        tell(vidmm_set_priority(object->base.allocation, 0x28000000u * (1 + choose(run, 5))));
}

static void set_budget(struct calls_run *run)
{
    vidmm_set_budget(run->processes[choose(run, 2)], (enum vidmm_budget_group)choose(run, 2),
                     choose(run, 3) ? PAGE_BYTES_OF(choose(run, 400)) : UINT64_MAX);
}

static void lock(struct calls_run *run)
{
    struct calls_object *object = pick(run);
    NTSTATUS status;

    if (!object)
        return;
    if (object->is_locked) {
        vidmm_unlock(object->base.allocation);
        object->is_locked = false;
        return;
    }
    status = vidmm_lock_with(object->base.allocation, 0);
    tell(status);
    object->is_locked = NT_SUCCESS(status);
}

static void destroy(struct calls_run *run, struct calls_object *object)
{
    if (object->is_locked || object->pending)
        return;
    vidmm_allocation_destroy(object->base.allocation);
    for (; object->base.references; object->base.references--)
        vidmm_evict(run->devices[object->client], 1, &object->base.allocation);
    object->base.allocation = NULL;
}

static void destroy_any(struct calls_run *run)
{
    struct calls_object *object = pick(run);

    if (object && !(run->listed >> (object - run->objects) & 1))
        destroy(run, object);
}

/* ---- A list ---- */

static void list_ended(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct calls_run *run = context;

    run->list_is_pending = false;
    run->list_references += NT_SUCCESS(status);
    ended(run, status, needed, available);
}

static void list_make_resident(struct calls_run *run)
{
    uint64_t fence = 0;
    NTSTATUS status;

    if (run->list_is_pending)
        return;
    run->pending++;
    run->list_is_pending = true;
    status = vidmm_list_make_resident(run->list, list_ended, run, &fence);
    tell(status);
    told_number(fence);
    if (status == STATUS_PENDING)
        return;
    run->pending--;
    run->list_is_pending = false;
    run->list_references += NT_SUCCESS(status);
}

/* A member is in it once, so that the test need not know which of two is taken out. */
static void change_list(struct calls_run *run)
{
    struct calls_object *object = pick(run);
    const unsigned bit = object ? 1u << (object - run->objects) : 0;
    NTSTATUS status;

    if (!object || object->client != run->list_client)
        return;
    if (run->listed & bit)
        status = vidmm_list_remove(run->list, object->base.allocation);
    else
        status = vidmm_list_add(run->list, object->base.allocation);
    tell(status);
    EXPECT((status == STATUS_GRAPHICS_ALLOCATION_BUSY) ==
           (run->list_is_pending || run->list_references));
    if (NT_SUCCESS(status))
        run->listed ^= bit;
}

static void list_evict(struct calls_run *run)
{
    if (!run->list_references)
        return;
    run->list_references--;
    vidmm_list_evict(run->list);
}

static void end_list(struct calls_run *run)
{
    if (!run->list || run->list_is_pending)
        return;
    while (run->list_references)
        list_evict(run);
    vidmm_list_destroy(run->list);
    run->list = NULL;
    run->listed = 0;
}

static void use_list(struct calls_run *run)
{
    if (!run->rig->config.is_virtual)
        return;
    if (!run->list) {
        run->list_client = choose(run, 2);
        tell(vidmm_list_create(run->devices[run->list_client], 0, NULL, &run->list));
        lists++;
    }
    switch (choose(run, 8)) {
    case 0:
    case 1:
    case 2:
        change_list(run);
        break;
    case 3:
    case 4:
        list_make_resident(run);
        break;
    case 5:
    case 6:
        list_evict(run);
        break;
    default:
        if (choose(run, 4) == 0)
            end_list(run);
    }
}

/* ---- What will be ---- */

static void forecast(struct calls_run *run)
{
    struct calls_object *object = pick(run);
    struct vidmm_demand demand[3] = {0};
    uint64_t uses[4], at = 1000 * choose(run, 50);

    forecasts++;
    switch (choose(run, 4)) {
    case 0:
        vidmm_forecast_time(run->rig->vidmm, at, at - at / 3);
        break;
    case 1:
        for (unsigned i = 0; i < ARRAY_COUNT(demand); i++) {
            demand[i].at_ns = at += 1000 * choose(run, 20);
            demand[i].created = PAGE_BYTES_OF(choose(run, 60));
            demand[i].destroyed = PAGE_BYTES_OF(choose(run, 60));
        }
        tell(vidmm_forecast_demand(run->rig->vidmm, choose(run, 3), choose(run, 4), demand));
        break;
    default:
        for (unsigned i = 0; i < ARRAY_COUNT(uses); i++)
            uses[i] = at += 1000 * choose(run, 20);
        if (object)
            tell(vidmm_forecast_uses(object->base.allocation, choose(run, 5), uses));
    }
}

/* ---- Allocations of the context ---- */

static void create_own(struct calls_run *run, HANDLE *own)
{
    DXGKARGCB_CREATECONTEXTALLOCATION args = {.hDriverAllocation = own};
    const bool is_shared = choose(run, 3) == 0;

    args.ContextAllocationFlags.SharedAcrossContexts = is_shared;
    if (is_shared)
        args.hDevice = run->devices[1];
    else
        args.hContext = run->quiet;
    args.Size = PAGE_BYTES_OF(1 + choose(run, 6));
    args.Alignment = PAGE_BYTES;
    args.SupportedSegmentSet = choose(run, 3) ? 1 : 3;
    args.PreferredSegment.SegmentId0 = 1;
    args.Flags.CpuVisible = choose(run, 2);
    tell(vidmm_context_allocation_create(run->rig->vidmm, &args));
    *own = args.hAllocation;
    owned += *own != NULL;
}

static void use_own(struct calls_run *run)
{
    HANDLE *own = &run->own[choose(run, OWN)];

    if (!*own) {
        create_own(run, own);
    } else if (choose(run, 2)) {
        tell(vidmm_context_allocation_destroy(run->rig->vidmm, *own));
        *own = NULL;
    }
}

static void reset_or_sleep(struct calls_run *run)
{
    if (!run->has_hung)
        return;
    if (run->is_asleep) {
        while (rig_step_machine(run->rig))
            ;
        if (!run->pending)
            tell(vidmm_power_up(run->rig->vidmm));
        run->is_asleep = run->pending;
    } else if (choose(run, 3) == 0) {
        run->pending++;
        run->is_asleep = true;
        tell(vidmm_power_down(run->rig->vidmm, (enum vidmm_sleep)choose(run, 3), ended, run));
        sleeps++;
    } else {
        vidmm_reset(run->rig->vidmm);
        resets++;
    }
    for (unsigned i = 0; i < ARRAY_COUNT(run->devices); i++) {
        if (choose(run, 2))
            vidmm_device_clear_error(run->devices[i]);
    }
}

static void play_steps(struct calls_run *run)
{
    static void (*const steps[])(struct calls_run *) = {
        create,         create,       create,       make_resident, make_resident,
        evict,          map,          unmap,        offer,         offer,
        reclaim,        update_tiles, update_tiles, map_pages,     map_pages,
        move_or_prefer, set_budget,   lock,         lock,          destroy_any,
        reset_or_sleep, use_list,     use_list,     forecast,      use_own};

    for (unsigned i = 0; i < STEPS; i++) {
        if (choose(run, 3) == 0)
            for (unsigned n = choose(run, 6); n; n--)
                rig_step_machine(run->rig);
        else if (!run->is_asleep)
            steps[choose(run, ARRAY_COUNT(steps))](run);
        else
            reset_or_sleep(run);
        told_number(vidmm_device_is_in_error(run->rig->device));
        if (i % 16 == 0)
            rig_told_state(run->rig);
        EXPECT(vidmm_check(run->rig->vidmm));
    }
}

/* ---- The driver ---- */

static NTSTATUS reset_from_timeout(struct miniport *self, HANDLE adapter)
{
    rig_forget_packets(rig_of(self));
    return STATUS_SUCCESS;
}

static NTSTATUS restart_from_timeout(struct miniport *self, HANDLE adapter)
{
    return STATUS_SUCCESS;
}

static NTSTATUS set_power_state(struct miniport *self, ULONG device, DEVICE_POWER_STATE state,
                                POWER_ACTION action)
{
    return STATUS_SUCCESS;
}

/* ---- A run ---- */

static struct rig_config random_setup(uint64_t seed)
{
    static const struct vidmm_policy *const policies[] = {
        &vidmm_policy_lru, &vidmm_policy_look_ahead, &vidmm_policy_hinted, &vidmm_policy_turns};
    struct rig_config config = rig_model((unsigned)(seed % RIG_MODELS));
    struct rng rng;

    rng_init(&rng, seed);
    config.seed = seed;
    config.segment_pages[0] = SEGMENT_PAGES;
    config.memory_segments = 2;
    config.segment_pages[1] = 96;
    config.keeps_tables_in_system = seed & 4;
    config.caches_invalid = seed & 8;
    config.policy = policies[rng_below(&rng, ARRAY_COUNT(policies))];
    config.has_protections = rng_chance(&rng, 1, 2);
    config.is_coherent = rng_chance(&rng, 1, 2);
    config.private_bytes = rng_chance(&rng, 1, 3) ? 16 : 0;
    config.buffer_bytes = rng_chance(&rng, 1, 2) ? 96 + 8 * (uint32_t)rng_below(&rng, 60) : 0;
    config.buffer_count = (unsigned)rng_below(&rng, 4);
    config.places_from_end = rng_chance(&rng, 1, 4);
    config.aperture_limit_pages = rng_chance(&rng, 1, 4) ? 48 : 0;
    config.kept_pages = rng_chance(&rng, 1, 3) ? rng_below(&rng, SEGMENT_PAGES) : 0;
    config.first_paging_fence = rng_chance(&rng, 1, 4) ? UINT64_C(0xfffffff0) : 0;
    config.pins_anywhere = rng_chance(&rng, 1, 4);
    if (config.is_virtual) {
        config.initialises_in_pieces = rng_chance(&rng, 1, 4);
        config.writes_neighbours = rng_chance(&rng, 1, 4);
        config.dead_pages[1] = rng_chance(&rng, 1, 4) ? 16 : 0;
        config.host_slots = rng_chance(&rng, 1, 4) ? 200 : 0;
    } else {
        config.pages_through_aperture = rng_chance(&rng, 1, 2);
        config.switches_to_null = rng_chance(&rng, 1, 2);
    }
    config.invalidates_tables = config.is_virtual && rng_chance(&rng, 1, 4);
    config.updates_when_idle = config.is_virtual && rng_chance(&rng, 1, 4);
    return config;
}

static void begin(struct calls_run *run, const struct rig_config *config)
{
    struct rig *rig = run->rig = rig_new(config);

    rig_draw_options(rig, config->seed);
    EXPECT(rig_start(rig) == STATUS_SUCCESS && rig_open(rig) == STATUS_SUCCESS);
    rig->ops.reset_from_timeout = reset_from_timeout;
    rig->ops.restart_from_timeout = restart_from_timeout;
    rig->ops.set_power_state = set_power_state;
    run->processes[0] = rig->process;
    run->devices[0] = rig->device;
    EXPECT(vidmm_process_create(rig->vidmm, &run->processes[1]) == STATUS_SUCCESS);
    EXPECT(vidmm_device_create(run->processes[1], &run->devices[1]) == STATUS_SUCCESS);
    EXPECT(vidmm_context_create(run->devices[1], 1, NULL, 0, &run->quiet) == STATUS_SUCCESS);
}

static void end(struct calls_run *run)
{
    struct rig *rig = run->rig;

    for (unsigned i = 0; i < OBJECTS; i++) {
        if (run->objects[i].is_locked)
            vidmm_unlock(run->objects[i].base.allocation);
        run->objects[i].is_locked = false;
    }
    for (unsigned i = 0; i < ARRAY_COUNT(run->devices); i++) {
        vidmm_device_clear_error(run->devices[i]);
        vidmm_set_budget(run->processes[i], VIDMM_BUDGET_LOCAL, UINT64_MAX);
    }
    while (rig_step_machine(rig))
        ;
    EXPECT(!run->pending);
    end_list(run);
    for (unsigned i = 0; i < OWN; i++) {
        if (run->own[i])
            tell(vidmm_context_allocation_destroy(rig->vidmm, run->own[i]));
    }
    for (unsigned i = 0; i < OBJECTS; i++) {
        EXPECT(!run->objects[i].pending);
        if (run->objects[i].base.allocation)
            destroy(run, &run->objects[i]);
    }
    vidmm_context_destroy(run->quiet);
    rig_drain(rig);
    vidmm_device_destroy(run->devices[1]);
    vidmm_process_destroy(run->processes[1]);
    rig_free(rig);
}

static void run_seed(uint64_t seed)
{
    const struct rig_config config = random_setup(seed);
    struct calls_run *run = calloc(1, sizeof *run);

    assert_non_null(run);
    snprintf(rig_repeat, sizeof rig_repeat,
             "VIDMM_SEED=%" PRIu64 " vidmm_tests vidmm_calls_random_test", seed);
    run->shows_memory = seed & 16;
    begin(run, &config);
    play_steps(run);
    while (rig_step_machine(run->rig))
        ;
    rig_hang(run->rig);
    vidmm_reset(run->rig->vidmm);
    run->has_hung = true;
    play_steps(run);
    while (run->is_asleep)
        reset_or_sleep(run);
    end(run);
    free(run);
    rig_repeat[0] = '\0';
}

static void random_calls_of_everything_leave_the_manager_whole(void **state)
{
    const char *seed = getenv("VIDMM_SEED");

    if (seed) {
        run_seed(strtoull(seed, NULL, 10));
        return;
    }
    for (uint64_t i = 0; i < SEEDS; i++)
        run_seed(i);
    assert_true(answers > 40000 && resets > 400 && sleeps > 200 && offers > 800 && discards > 20);
    assert_true(pages_by_number > 2000 && tiles > 1500);
    assert_true(lists > 200 && forecasts > 2000 && owned > 900);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls_of_everything_leave_the_manager_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
