/*
 * Allocations over memory of the client's (ALLOC-023, ALLOC-024), and what they have in common with
 * PermanentSysMem: a lock gives the backing store, and its end brings the content back.
 */
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"
#include "base/rng.h"

#define FLAGS(...) ((DXGK_ALLOCATIONINFOFLAGS){{{__VA_ARGS__}}}).Value

enum { PAGES = 6, SPARE = 2 };

struct memory {
    uint64_t pages[PAGES + SPARE];
    struct vidmm_client_memory given;
    unsigned released;
};

static void released(void *context)
{
    ((struct memory *)context)->released++;
}

static void take_memory(struct rig *rig, struct memory *memory, bool is_kernels)
{
    *memory = (struct memory){.released = 0};
    assert_int_equal(rig_take_pages(rig, PAGES + SPARE, memory->pages), STATUS_SUCCESS);
    memory->given = (struct vidmm_client_memory){.pages = memory->pages,
                                                 .page_count = PAGES + SPARE,
                                                 .is_kernels = is_kernels,
                                                 .released = released,
                                                 .context = memory};
}

static void give_memory_back(struct rig *rig, const struct memory *memory)
{
    rig_release_pages(rig, PAGES + SPARE, memory->pages);
}

static NTSTATUS create_over(struct rig *rig, struct memory *memory,
                            const struct rig_request *request, struct rig_object *object)
{
    NTSTATUS status;

    *object = (struct rig_object){.pages = PAGES};
    status = vidmm_allocation_create_over(rig->device, request, sizeof *request, object,
                                          memory ? &memory->given : NULL, &object->allocation);
    assert_int_equal(NT_SUCCESS(status), object->allocation != NULL);
    if (!NT_SUCCESS(status))
        return status;
    object->driver = rig->allocations[rig->allocation_count - 1];
    for (uint64_t i = 0; memory && i < PAGES; i++) {
        struct rig_page *page = rig_page(rig, 0, memory->pages[i]);

        page->owner = object->driver->number;
        page->owner_page = (uint32_t)i;
        page->content = object->driver->model[i] = rng_next(&rig->rng);
    }
    return status;
}

/* The CPU is given these pages, whatever the place of the content is. */
static void look_at(struct rig *rig, struct rig_object *object, const struct memory *memory,
                    bool is_write)
{
    rig_lock(rig, object);
    for (uint64_t i = 0; i < PAGES; i++)
        assert_int_equal(vidmm_locked_page_address(object->allocation, i),
                         PAGE_BYTES_OF(memory->pages[i]));
    rig_touch_locked(rig, object, is_write);
    vidmm_unlock(object->allocation);
    rig_drain(rig);
}

/* GPU work on it, after which nothing holds it. */
static void work_on(struct rig *rig, struct rig_object *object)
{
    const bool is_virtual = vidmm_is_virtual(rig->vidmm);

    if (is_virtual && !object->va)
        rig_map(rig, object);
    if (is_virtual)
        rig_make_resident(rig, object);
    rig_gpu(rig, object, 4);
    rig_drain(rig);
    if (is_virtual)
        rig_evict(rig, object);
}

static void the_clients_pages_are_the_backing_store(void **state)
{
    for (unsigned i = 0; i < RIG_MODELS * 4; i++) {
        struct rig_config config = rig_model(i % RIG_MODELS);
        struct rig *rig = rig_create(&config);
        const bool is_kernels = i / RIG_MODELS % 2, is_in_aperture = i / RIG_MODELS / 2;
        const unsigned segment = is_in_aperture ? config.memory_segments + 1 : 1;
        const struct rig_request request = {.bytes = PAGE_BYTES_OF(PAGES),
                                            .preferred = {segment},
                                            .flags = is_kernels ? FLAGS(.ExistingKernelSysMem = 1)
                                                                : FLAGS(.ExistingSysMem = 1)};
        const uint64_t fills =
            rig_count(rig, DXGK_OPERATION_FILL) + rig_count(rig, DXGK_OPERATION_VIRTUAL_FILL);
        const bool has_moved = !is_in_aperture;
        struct rig_object object;
        struct memory memory;

        take_memory(rig, &memory, is_kernels);
        assert_int_equal(create_over(rig, &memory, &request, &object), STATUS_SUCCESS);
        look_at(rig, &object, &memory, false);
        for (unsigned round = 0; round < 3; round++) {
            work_on(rig, &object);
            look_at(rig, &object, &memory, round == 1);
        }
        /* Its content was there from the beginning: nothing was filled. */
        assert_int_equal(rig_count(rig, DXGK_OPERATION_FILL) +
                             rig_count(rig, DXGK_OPERATION_VIRTUAL_FILL),
                         fills);
        assert_true(!has_moved || rig_count(rig, DXGK_OPERATION_TRANSFER) +
                                      rig_count(rig, DXGK_OPERATION_VIRTUAL_TRANSFER));
        assert_int_equal(memory.released, 0);
        rig_destroy_object(rig, &object);
        rig_drain(rig);
        assert_int_equal(memory.released, 1);
        give_memory_back(rig, &memory);
        rig_free(rig);
    }
}

/* The end of a lock updates the segment (PermanentSysMem, and memory of the client's). */
static void the_end_of_a_lock_brings_the_content_back(void **state)
{
    for (unsigned i = 0; i < RIG_MODELS; i++) {
        struct rig_config config = rig_model(i);
        struct rig *rig = rig_create(&config);
        const struct rig_request request = {.bytes = PAGE_BYTES_OF(PAGES),
                                            .preferred = {1},
                                            .flags = FLAGS(.PermanentSysMem = 1, .CpuVisible = 1)};
        struct rig_object object;
        unsigned segment;

        assert_int_equal(create_over(rig, NULL, &request, &object), STATUS_SUCCESS);
        work_on(rig, &object);
        assert_true(vidmm_allocation_segment(object.allocation, &segment) && segment == 1);
        rig_lock(rig, &object);
        assert_false(vidmm_allocation_segment(object.allocation, &segment) && segment == 1);
        rig_touch_locked(rig, &object, true);
        vidmm_unlock(object.allocation);
        rig_drain(rig);
        assert_true(vidmm_allocation_segment(object.allocation, &segment) && segment == 1);
        work_on(rig, &object);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void the_driver_takes_over_what_there_is(void **state)
{
    const struct {
        uint32_t flags;
        uint64_t pages;
        bool is_kernels;
        NTSTATUS status;
        const char *rule;
    } cases[] = {
        {FLAGS(.ExistingSysMem = 1), PAGES + SPARE, false, STATUS_SUCCESS, NULL},
        {FLAGS(.ExistingSysMem = 1), PAGES + SPARE + 1, false, STATUS_INVALID_PARAMETER,
         "ALLOC-023"},
        {FLAGS(.ExistingSysMem = 1), PAGES, true, STATUS_INVALID_PARAMETER, "ALLOC-023"},
        {FLAGS(.ExistingKernelSysMem = 1), PAGES, false, STATUS_INVALID_PARAMETER, "ALLOC-023"},
        {0, PAGES, false, STATUS_NOT_SUPPORTED, NULL},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct rig_config config = rig_model(0);
        struct rig *rig = rig_create(&config);
        const struct rig_request request = {
            .bytes = PAGE_BYTES_OF(cases[i].pages), .preferred = {1}, .flags = cases[i].flags};
        struct rig_object object;
        struct memory memory;

        rig->expected_rules = cases[i].rule;
        take_memory(rig, &memory, cases[i].is_kernels);
        assert_int_equal(create_over(rig, &memory, &request, &object), cases[i].status);
        assert_int_equal(rig->rule_count, cases[i].rule ? 1 : 0);
        if (object.allocation)
            rig_destroy_object(rig, &object);
        rig_drain(rig);
        assert_int_equal(memory.released, NT_SUCCESS(cases[i].status));
        give_memory_back(rig, &memory);
        rig_free(rig);
    }
}

static void the_clients_memory_is_not_offered(void **state)
{
    struct rig_config config = rig_model(1);
    struct rig *rig = rig_create(&config);
    const struct rig_request request = {
        .bytes = PAGE_BYTES_OF(PAGES), .preferred = {1}, .flags = FLAGS(.ExistingSysMem = 1)};
    struct rig_object object;
    struct memory memory;

    take_memory(rig, &memory, false);
    assert_int_equal(create_over(rig, &memory, &request, &object), STATUS_SUCCESS);
    assert_int_equal(vidmm_offer(rig->device, 1, &object.allocation, VIDMM_OFFER_LOW),
                     STATUS_INVALID_PARAMETER);
    rig_destroy_object(rig, &object);
    rig_drain(rig);
    give_memory_back(rig, &memory);
    rig_free(rig);
}

static void the_cpu_gets_no_access_to_what_is_protected(void **state)
{
    for (unsigned i = 0; i < RIG_MODELS; i++) {
        struct rig_config config = rig_model(i);
        struct rig *rig = rig_create(&config);
        const struct rig_request request = {.bytes = PAGE_BYTES_OF(PAGES),
                                            .preferred = {1},
                                            .flags = FLAGS(.Protected = 1, .CpuVisible = 1)};
        struct rig_object object;

        assert_int_equal(create_over(rig, NULL, &request, &object), STATUS_SUCCESS);
        assert_int_equal(vidmm_lock(object.allocation), STATUS_ACCESS_DENIED);
        work_on(rig, &object);
        assert_int_equal(vidmm_lock(object.allocation), STATUS_ACCESS_DENIED);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clients_pages_are_the_backing_store),
        cmocka_unit_test(the_end_of_a_lock_brings_the_content_back),
        cmocka_unit_test(the_driver_takes_over_what_there_is),
        cmocka_unit_test(the_clients_memory_is_not_offered),
        cmocka_unit_test(the_cpu_gets_no_access_to_what_is_protected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
