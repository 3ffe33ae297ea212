/*
 * vidmm: random calls of what vidmm_random_test leaves out, together: offers, tiles, pages by
 * number, moves, priorities, budgets; then, behind a hang, resets and sleeps between them.
 *
 * No work is submitted, so content is not judged. The manager's own walk holds behind each step,
 * all goes away without a leak, and what is called and answered is golden (tests/told.h).
 * VIDMM_SEED=n in the environment runs one seed.
 */
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"
#include "tests/told.h"

#define SEEDS         96
#define STEPS         400 /* in front of the hang, and behind it */
#define OBJECTS       12
#define TILES         (UINT64_C(16) * MiB)
#define PAGES         (UINT64_C(64) * MiB) /* by number */
#define ALIEN_PAGE    (UINT64_C(1) << 30)  /* of system memory: nobody here has it */
#define SEGMENT_PAGES 160

struct calls_run;

struct calls_object {
    struct rig_object base;
    struct calls_run *run;
    bool is_mapped, is_locked;
    unsigned pending; /* calls that have not ended */
};

struct calls_run {
    struct rig *rig;
    struct calls_object objects[OBJECTS];
    unsigned pending; /* of no object */
    bool is_asleep;
    bool has_hung;
    bool shows_memory; /* pages by number are of a segment, too */
};

/* Over all seeds: what did not happen has not been tested. */
static unsigned answers, resets, sleeps, offers, discards, pages_by_number, tiles;

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
    tell(rig_try_object(run->rig, run->rig->device, &request, &object->base));
}

static void make_resident(struct calls_run *run)
{
    struct calls_object *object = pick(run);
    uint64_t fence = 0;
    NTSTATUS status;

    if (!object || !run->rig->config.is_virtual)
        return;
    object->pending++;
    status = vidmm_make_resident(run->rig->device, 1, &object->base.allocation, resident, object,
                                 &fence);
    tell(status);
    told_number(fence);
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
    vidmm_evict(run->rig->device, 1, &object->base.allocation);
}

static void map(struct calls_run *run)
{
    struct calls_object *object = pick(run);
    NTSTATUS status;

    if (!object || !run->rig->config.is_virtual || object->is_mapped || object->pending)
        return;
    object->pending++;
    status = vidmm_map_gpu_va(
        run->rig->process,
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
    status = vidmm_unmap_gpu_va(run->rig->process, object->base.va, object_ended, object);
    tell(status);
    object->pending -= !NT_SUCCESS(status);
}

static void offer(struct calls_run *run)
{
    struct calls_object *object = pick(run);
    NTSTATUS status;

    if (!object)
        return;
    status = vidmm_offer(run->rig->device, 1, &object->base.allocation,
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
    status = vidmm_reclaim(run->rig->device, 1, &object->base.allocation, &result, object_ended,
                           object, &fence);
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
    vidmm_set_budget(run->rig->process, (enum vidmm_budget_group)choose(run, 2),
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

static void destroy(struct calls_run *run)
{
    struct calls_object *object = pick(run);

    if (!object || object->is_locked || object->pending)
        return;
    vidmm_allocation_destroy(object->base.allocation);
    for (; object->base.references; object->base.references--)
        vidmm_evict(run->rig->device, 1, &object->base.allocation);
    object->base.allocation = NULL;
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
    if (choose(run, 2))
        vidmm_device_clear_error(run->rig->device);
}

static void play_steps(struct calls_run *run)
{
    static void (*const steps[])(struct calls_run *) = {
        create,       create,    create,        make_resident,  make_resident, evict,
        map,          unmap,     offer,         offer,          reclaim,       update_tiles,
        update_tiles, map_pages, map_pages,     move_or_prefer, set_budget,    lock,
        lock,         destroy,   reset_or_sleep};

    for (unsigned i = 0; i < STEPS; i++) {
        if (choose(run, 3) == 0)
            for (unsigned n = choose(run, 6); n; n--)
                rig_step_machine(run->rig);
        else if (!run->is_asleep)
            steps[choose(run, ARRAY_COUNT(steps))](run);
        else
            reset_or_sleep(run);
        told_number(vidmm_device_is_in_error(run->rig->device));
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

static void run_seed(uint64_t seed)
{
    struct rig_config config = rig_model((unsigned)(seed % RIG_MODELS));
    struct calls_run *run = calloc(1, sizeof *run);
    struct rig *rig;

    assert_non_null(run);
    snprintf(rig_repeat, sizeof rig_repeat,
             "VIDMM_SEED=%" PRIu64 " vidmm_tests vidmm_calls_random_test", seed);
    config.seed = seed;
    config.segment_pages[0] = SEGMENT_PAGES;
    config.memory_segments = 2;
    config.segment_pages[1] = 96;
    config.keeps_tables_in_system = seed & 4;
    config.caches_invalid = seed & 8;
    run->shows_memory = seed & 16;
    rig = run->rig = rig_create(&config);
    rig->ops.reset_from_timeout = reset_from_timeout;
    rig->ops.restart_from_timeout = restart_from_timeout;
    rig->ops.set_power_state = set_power_state;
    play_steps(run);
    while (rig_step_machine(rig))
        ;
    rig_hang(rig);
    vidmm_reset(rig->vidmm);
    run->has_hung = true;
    play_steps(run);
    while (run->is_asleep)
        reset_or_sleep(run);
    for (unsigned i = 0; i < OBJECTS; i++) {
        if (run->objects[i].is_locked)
            vidmm_unlock(run->objects[i].base.allocation);
        run->objects[i].is_locked = false;
    }
    vidmm_device_clear_error(rig->device);
    set_budget(run);
    while (rig_step_machine(rig))
        ;
    EXPECT(!run->pending);
    for (unsigned i = 0; i < OBJECTS; i++) {
        struct calls_object *object = &run->objects[i];

        EXPECT(!object->pending);
        if (!object->base.allocation)
            continue;
        vidmm_allocation_destroy(object->base.allocation);
        for (; object->base.references; object->base.references--)
            vidmm_evict(rig->device, 1, &object->base.allocation);
    }
    rig_drain(rig);
    rig_free(rig);
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
    assert_true(answers > 20000 && resets > 400 && sleeps > 200 && offers > 800 && discards > 20);
    assert_true(pages_by_number > 2000 && tiles > 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls_of_everything_leave_the_manager_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
