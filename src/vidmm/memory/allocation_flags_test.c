/* Flags of allocations: what must not be said together, what is refused, what is pinned. */
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

static uint32_t flags_of(DXGK_ALLOCATIONINFOFLAGS flags)
{
    return flags.Value;
}

#define FLAGS(...) flags_of((DXGK_ALLOCATIONINFOFLAGS){{{__VA_ARGS__}}})

struct flag_case {
    uint32_t flags;
    bool is_primary;
    const char *rule; /* that it breaks; NULL: none */
    NTSTATUS status;
    uint64_t pitch_aligned_bytes;
};

static void try_flags(const struct flag_case *one)
{
    struct rig_config config = rig_model(0);
    struct rig *rig = rig_create(&config);
    const struct rig_request request = {.bytes = PAGE_BYTES,
                                        .preferred = {1},
                                        .flags = one->flags,
                                        .pitch_aligned_bytes = one->pitch_aligned_bytes};
    struct vidmm_allocation *allocation;

    rig->expected_rules = one->rule;
    assert_int_equal((one->is_primary ? vidmm_primary_create : vidmm_allocation_create)(
                         rig->device, &request, sizeof request, NULL, &allocation),
                     one->status);
    assert_int_equal(rig->rule_count, one->rule ? 1 : 0);
    if (allocation)
        vidmm_allocation_destroy(allocation);
    rig_drain(rig);
    rig_free(rig);
}

static void flags_that_exclude_one_another_are_told_by_rule(void **state)
{
    const NTSTATUS bad = STATUS_INVALID_PARAMETER;
    const struct flag_case cases[] = {
        {FLAGS(.PermanentSysMem = 1), false, "ALLOC-009", bad, 0},
        {FLAGS(.PermanentSysMem = 1, .CpuVisible = 1), false, NULL, STATUS_SUCCESS, 0},
        {FLAGS(.Cached = 1), false, "ALLOC-009", bad, 0},
        {FLAGS(.Cached = 1, .CpuVisible = 1), false, NULL, STATUS_SUCCESS, 0},
        {FLAGS(.HistoryBuffer = 1), false, "ALLOC-009", bad, 0},
        {FLAGS(.HistoryBuffer = 1, .CpuVisible = 1), false, NULL, STATUS_SUCCESS, 0},
        {FLAGS(.Cached = 1, .CpuVisible = 1), true, "ALLOC-009", bad, 0},
        {FLAGS(.Protected = 1), true, "ALLOC-009", bad, 0},
        {FLAGS(.CpuVisible = 1), true, NULL, STATUS_SUCCESS, 0},
        {FLAGS(.Protected = 1, .ExistingSysMem = 1), false, "ALLOC-010", bad, 0},
        {FLAGS(.ExistingSysMem = 1, .ExistingKernelSysMem = 1), false, "ALLOC-010", bad, 0},
        {FLAGS(.UseAlternateVA = 1), false, "ALLOC-011", bad, 0},
        {FLAGS(.UseAlternateVA = 1), true, NULL, STATUS_SUCCESS, 0},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        try_flags(&cases[i]);
}

static void protected_ones_are_made_and_memory_is_taken_over_where_there_is_some(void **state)
{
    const struct flag_case cases[] = {
        {FLAGS(.Protected = 1), false, NULL, STATUS_SUCCESS, 0},
        {FLAGS(.ExistingSysMem = 1), false, "ALLOC-023", STATUS_INVALID_PARAMETER, 0},
        {FLAGS(.ExistingKernelSysMem = 1), false, "ALLOC-023", STATUS_INVALID_PARAMETER, 0},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        try_flags(&cases[i]);
}

/* It comes in, goes out, and the CPU sees it where CpuVisible says so. */
static void content_of_hardware_protection_is_paged_as_any_other(void **state)
{
    struct rig_config config = rig_model(1);
    struct rig *rig = rig_create(&config);
    const struct rig_request request = {
        .bytes = PAGE_BYTES,
        .preferred = {1},
        .flags = ((DXGK_ALLOCATIONINFOFLAGS_WDDM2_0){{{.HardwareProtected = 1, .CpuVisible = 1}}})
                     .Value};
    struct rig_object object;

    assert_int_equal(rig_try_object(rig, rig->device, &request, &object), STATUS_SUCCESS);
    rig_make_resident(rig, &object);
    assert_int_equal(vidmm_lock(object.allocation), STATUS_SUCCESS);
    vidmm_unlock(object.allocation);
    rig_evict(rig, &object);
    assert_int_equal(rig->rule_count, 0);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

/* Without addresses of a paging process: what 32 bits of an MDL and of TransferOffset can say. */
static void what_an_mdl_cannot_describe_is_refused_where_it_would_have_to(void **state)
{
    const struct {
        unsigned model;
        uint64_t bytes;
        NTSTATUS status;
    } cases[] = {
        {0, UINT64_C(0xfffff000), STATUS_SUCCESS},
        {0, UINT64_C(0xfffff000) + PAGE_BYTES, STATUS_NOT_SUPPORTED},
        {0, UINT64_C(8) << 30, STATUS_NOT_SUPPORTED},
        {1, UINT64_C(8) << 30, STATUS_SUCCESS},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct rig_config config = rig_model(cases[i].model);
        struct rig_request request = {.bytes = cases[i].bytes, .preferred = {1}};
        struct rig_object object;
        struct rig *rig;

        rig = rig_create(&config);
        assert_int_equal(rig_try_object(rig, rig->device, &request, &object), cases[i].status);
        if (NT_SUCCESS(cases[i].status))
            rig_destroy_object(rig, &object);
        assert_int_equal(rig->rule_count, 0);
        rig_free(rig);
    }
}

static void pitch_aligned_sizes_are_no_smaller(void **state)
{
    const struct flag_case cases[] = {
        {0, false, "ALLOC-004", STATUS_INVALID_PARAMETER, PAGE_BYTES - 1},
        {0, false, NULL, STATUS_SUCCESS, PAGE_BYTES},
        {0, false, NULL, STATUS_SUCCESS, 2 * PAGE_BYTES},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        try_flags(&cases[i]);
}

/* XFER-018: without the size that an allocation has where rows are aligned it is not put there. */
static void a_segment_of_aligned_rows_is_for_those_that_have_a_size_there(void **state)
{
    const struct {
        uint64_t pitch_aligned_bytes;
        uint32_t preferred[2];
        const char *rule;
        unsigned segment;
    } cases[] = {
        {0, {1}, "ALLOC-005", 0},
        {0, {1, 2}, NULL, 2},
        {PAGE_BYTES, {1, 2}, NULL, 1},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct rig_config config = rig_model(0);
        struct rig_request request = {.bytes = PAGE_BYTES,
                                      .pitch_aligned_bytes = cases[i].pitch_aligned_bytes};
        struct rig_object object;
        struct rig *rig;
        unsigned segment;

        config.memory_segments = 2;
        config.has_pitch[0] = true;
        rig = rig_create(&config);
        rig->expected_rules = cases[i].rule;
        memcpy(request.preferred, cases[i].preferred, sizeof cases[i].preferred);
        assert_int_equal(rig_try_object(rig, rig->device, &request, &object),
                         cases[i].rule ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
        assert_int_equal(rig->rule_count, cases[i].rule ? 1 : 0);
        if (!cases[i].rule) {
            rig_gpu(rig, &object, 1);
            rig_drain(rig);
            assert_true(vidmm_allocation_segment(object.allocation, &segment));
            assert_int_equal(segment, cases[i].segment);
            rig_destroy_object(rig, &object);
        }
        rig_free(rig);
    }
}

/* ALLOC-014, in a segment of 100 pages that are asked for three times over. */
static void pinned_ones_keep_their_place_at_the_end(void **state)
{
    for (unsigned anywhere = 0; anywhere < 2; anywhere++) {
        struct rig_config config = rig_model(2);
        const struct rig_request request = {
            .bytes = 31 * PAGE_BYTES, .preferred = {1}, .flags = FLAGS(.Overlay = 1)};
        struct rig_request small = request;
        struct rig_object pinned, large, others[3];
        struct rig_done done = {0};
        uint64_t fence_value;
        unsigned segment;
        struct rig *rig;

        config.segment_pages[0] = 100 + 100; /* with page tables */
        config.pins_anywhere = anywhere;
        rig = rig_create(&config);
        small.bytes = 10 * PAGE_BYTES;
        small.flags = FLAGS(.Capture = 1);
        assert_int_equal(rig_try_object(rig, rig->device, &small, &pinned), STATUS_SUCCESS);
        rig_make_resident(rig, &pinned);
        rig_evict(rig, &pinned);
        for (unsigned i = 0; i < 3; i++) {
            rig_object(rig, 90, 1, &others[i]);
            rig_make_resident(rig, &others[i]);
            rig_evict(rig, &others[i]);
        }
        assert_true(vidmm_allocation_is_resident(pinned.allocation));
        assert_int_equal(vidmm_offer(rig->device, 1, &pinned.allocation, VIDMM_OFFER_LOW),
                         STATUS_GRAPHICS_CANT_EVICT_PINNED_ALLOCATION);
        assert_true(vidmm_allocation_segment(pinned.allocation, &segment));
        assert_int_equal(vidmm_move(pinned.allocation, segment),
                         STATUS_GRAPHICS_CANT_EVICT_PINNED_ALLOCATION);
        /* 40 pages are the last fifth, and 10 of them are taken. */
        assert_int_equal(rig_try_object(rig, rig->device, &request, &large), STATUS_SUCCESS);
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &large.allocation, rig_done, &done, &fence_value),
            STATUS_PENDING);
        rig_drain(rig);
        assert_int_equal(done.calls, 1);
        assert_int_equal(done.status, anywhere ? STATUS_SUCCESS : STATUS_GRAPHICS_NO_VIDEO_MEMORY);
        if (anywhere)
            vidmm_evict(rig->device, 1, &large.allocation);
        rig_destroy_object(rig, &large);
        for (unsigned i = 0; i < 3; i++)
            rig_destroy_object(rig, &others[i]);
        rig_destroy_object(rig, &pinned);
        rig_free(rig);
    }
}

/* Its content moves when no context of any process runs; other content moves meanwhile. */
static void what_pages_synchronously_waits_until_contexts_are_idle(void **state)
{
    for (unsigned is_synchronous = 0; is_synchronous < 2; is_synchronous++) {
        struct rig_config config = rig_model(0);
        const struct rig_request request = {.bytes = 4 * PAGE_BYTES,
                                            .preferred = {1},
                                            .flags =
                                                FLAGS(.SynchronousPaging = (is_synchronous != 0))};
        struct rig_object object, other;
        struct rig_object *list[1] = {&other};
        struct rig_done done = {0};
        struct rig *rig;
        uint64_t moves;

        config.hides_segment[0] = true; /* what the CPU looks at leaves it */
        rig = rig_create(&config);
        assert_int_equal(rig_try_object(rig, rig->device, &request, &object), STATUS_SUCCESS);
        rig_object(rig, 4, 1, &other);
        rig_gpu(rig, &object, 4);
        rig_gpu(rig, &other, 4);
        rig_drain(rig);
        assert_int_equal(rig_gpu_in(rig, rig->context, list, 1, 4, rig_done, &done),
                         STATUS_SUCCESS);
        moves = rig_count(rig, DXGK_OPERATION_TRANSFER);
        assert_int_equal(vidmm_lock(object.allocation), STATUS_GRAPHICS_ALLOCATION_BUSY);
        assert_int_equal(rig_count(rig, DXGK_OPERATION_TRANSFER), moves + !is_synchronous);
        assert_int_equal(done.calls, 0);
        rig_drain(rig);
        assert_int_equal(rig_count(rig, DXGK_OPERATION_TRANSFER), moves + 1);
        assert_int_equal(done.calls, 1);
        assert_int_equal(vidmm_lock(object.allocation), STATUS_SUCCESS);
        vidmm_unlock(object.allocation);
        rig_destroy_object(rig, &object);
        rig_destroy_object(rig, &other);
        rig_free(rig);
    }
}

/* Its work, too, gets to the GPU when the move has ended (ALLOC-015). */
static void a_process_that_comes_during_a_synchronous_move_waits(void **state)
{
    const struct rig_request request = {
        .bytes = 4 * PAGE_BYTES, .preferred = {1}, .flags = FLAGS(.SynchronousPaging = 1)};
    struct rig_config config = rig_model(0);
    struct vidmm_process *process;
    struct vidmm_device *device;
    struct vidmm_context *context;
    struct rig_object object;
    struct rig_done done = {0};
    struct rig *rig;

    config.hides_segment[0] = true; /* what the CPU looks at leaves it */
    rig = rig_create(&config);
    assert_int_equal(rig_try_object(rig, rig->device, &request, &object), STATUS_SUCCESS);
    rig_gpu(rig, &object, 4);
    assert_int_equal(vidmm_lock(object.allocation), STATUS_GRAPHICS_ALLOCATION_BUSY);
    assert_true(rig->synchronous_operations);
    assert_int_equal(vidmm_process_create(rig->vidmm, &process), STATUS_SUCCESS);
    assert_int_equal(vidmm_device_create(process, &device), STATUS_SUCCESS);
    assert_int_equal(vidmm_context_create(device, 1, NULL, 0, &context), STATUS_SUCCESS);
    assert_int_equal(rig_gpu_in(rig, context, NULL, 0, 0, rig_done, &done), STATUS_SUCCESS);
    assert_int_equal(done.calls, 0); /* the rig looks at each submission */
    rig_drain(rig);
    assert_int_equal(done.calls, 1);
    rig_destroy_object(rig, &object);
    vidmm_context_destroy(context);
    vidmm_device_destroy(device);
    vidmm_process_destroy(process);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_that_exclude_one_another_are_told_by_rule),
        cmocka_unit_test(protected_ones_are_made_and_memory_is_taken_over_where_there_is_some),
        cmocka_unit_test(content_of_hardware_protection_is_paged_as_any_other),
        cmocka_unit_test(what_an_mdl_cannot_describe_is_refused_where_it_would_have_to),
        cmocka_unit_test(pitch_aligned_sizes_are_no_smaller),
        cmocka_unit_test(a_segment_of_aligned_rows_is_for_those_that_have_a_size_there),
        cmocka_unit_test(pinned_ones_keep_their_place_at_the_end),
        cmocka_unit_test(what_pages_synchronously_waits_until_contexts_are_idle),
        cmocka_unit_test(a_process_that_comes_during_a_synchronous_move_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
