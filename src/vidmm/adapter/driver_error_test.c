/* Drivers that break the contract, and GPUs that hang: told by rule, and the manager goes on. */
#include "vidmm/rig/test_rig_build.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

/* ---- BuildPagingBuffer ---- */

enum wrong {
    WRONG_STATUS,
    WRONG_BUSY,
    WRONG_POINTER_BEYOND,
    WRONG_POINTER_BEFORE,
    WRONG_NO_PROGRESS,
    WRONG_POINTER_WITHOUT_END,
    WRONG_PRIVATE,
    WRONG_AIMLESS,
    WRONG_COUNT
};

static const struct wrong_case {
    const char *rules;
    unsigned count; /* of errors told */
} wrong_cases[WRONG_COUNT] = {
    [WRONG_STATUS] = {"PB-008", 1},         [WRONG_BUSY] = {"PB-008", 1},
    [WRONG_POINTER_BEYOND] = {"PB-004", 1}, [WRONG_POINTER_BEFORE] = {"PB-004", 1},
    [WRONG_NO_PROGRESS] = {"PB-012", 1},    [WRONG_POINTER_WITHOUT_END] = {"PB-004 PB-012", 4},
    [WRONG_PRIVATE] = {"PB-023", 1},        [WRONG_AIMLESS] = {"PB-014", 1},
};

/* Wrong about the fill; the rest is the plain driver's. */
static bool build_wrong(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *args, NTSTATUS *status)
{
    const enum wrong *wrong = rig->test;
    uint8_t *pointer = args->pDmaBuffer;

    if (args->Operation != DXGK_OPERATION_VIRTUAL_FILL)
        return false;
    rig->last_end = pointer;
    *status = STATUS_SUCCESS;
    switch (*wrong) {
    case WRONG_STATUS:
        *status = STATUS_NO_MEMORY;
        break;
    case WRONG_BUSY:
        *status = STATUS_GRAPHICS_ALLOCATION_BUSY;
        break;
    case WRONG_POINTER_BEYOND:
        args->pDmaBuffer = pointer + args->DmaSize + 1;
        break;
    case WRONG_POINTER_BEFORE:
        args->pDmaBuffer = pointer - 1;
        break;
    case WRONG_NO_PROGRESS:
        *status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        break;
    case WRONG_POINTER_WITHOUT_END:
        args->pDmaBuffer = pointer + args->DmaSize + 1;
        *status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        break;
    case WRONG_AIMLESS: /* all of it, again and again */
        rig->build_hook = NULL;
        EXPECT(rig_build(&rig->miniport, NULL, args) == STATUS_SUCCESS);
        rig->build_hook = build_wrong;
        *status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        break;
    default:
        args->pDmaBufferPrivateData =
            (uint8_t *)args->pDmaBufferPrivateData + args->DmaBufferPrivateDataSize + 1;
        break;
    }
    return true;
}

static void what_a_driver_builds_wrong_is_told_by_rule_and_dropped(void **state)
{
    for (enum wrong wrong = 0; wrong < WRONG_COUNT; wrong++) {
        struct rig_config config = rig_model(2);
        struct rig_object object;
        struct rig *rig;

        config.private_bytes = 32;
        rig = rig_create(&config);
        rig->test = &wrong;
        rig->build_hook = build_wrong;
        rig->expected_rules = wrong_cases[wrong].rules;
        rig_object(rig, 10, 1, &object); /* one chunk */
        rig_make_resident(rig, &object);
        assert_int_equal(rig->rule_count, wrong_cases[wrong].count);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

/* Every other call on a fresh buffer asks for another one; in between it goes on. */
static bool build_haltingly(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *args, NTSTATUS *status)
{
    unsigned *stalls = rig->test;

    if (args->Operation != DXGK_OPERATION_TRANSFER || args->DmaBufferWriteOffset)
        return false;
    if (++*stalls % 2 == 0)
        return false;
    rig->last_end = args->pDmaBuffer;
    *status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    return true;
}

static void a_driver_that_stalls_and_goes_on_is_silent(void **state)
{
    struct rig_config config = rig_model(0);
    struct rig_object object;
    unsigned stalls = 0;
    struct rig *rig;

    config.buffer_bytes = 48; /* one record */
    config.buffer_count = 1;
    config.segment_pages[0] = 1000;
    rig = rig_create(&config);
    rig->test = &stalls;
    rig->build_hook = build_haltingly;
    rig_object(rig, 5 * RIG_RECORD_PAGES, 1, &object);
    rig_cpu(rig, &object, true);
    rig_gpu(rig, &object, 8);
    assert_true(stalls >= 10); /* five records, each behind a stall */
    assert_int_equal(rig->rule_count, 0);
    rig->build_hook = NULL;
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

/* ---- CreateAllocation ---- */

static void an_allocation_that_breaks_a_rule_is_refused_by_that_rule(void **state)
{
    static const struct {
        const char *rule;
        NTSTATUS status;
        struct rig_request request;
    } cases[] = {
        {"ALLOC-001",
         STATUS_INVALID_PARAMETER,
         {.bytes = 1, .preferred = {1}, .has_no_handle = true}},
        {"ALLOC-001", STATUS_INVALID_PARAMETER, {.bytes = 0, .preferred = {1}}},
        {"ALLOC-001",
         STATUS_INVALID_PARAMETER,
         {.bytes = 1, .claimed_bytes = (UINT64_C(1) << 46) + 1, .preferred = {1}}},
        /* As large as a size may be, which the physical model cannot page. */
        {NULL,
         STATUS_NOT_SUPPORTED,
         {.bytes = 1, .claimed_bytes = UINT64_C(1) << 46, .preferred = {1}}},
        {"ALLOC-001",
         STATUS_INVALID_PARAMETER,
         {.bytes = 1, .preferred = {1}, .alignment = (UINT32_C(1) << 31) + 1}},
        {"ALLOC-005", STATUS_INVALID_PARAMETER, {.bytes = 1}},
        {"ALLOC-005", STATUS_INVALID_PARAMETER, {.bytes = 1, .write_set = 4, .read_set = 4}},
        {"ALLOC-005",
         STATUS_INVALID_PARAMETER,
         {.bytes = 1, .preferred = {1}, .write_set = 2, .read_set = 2}},
        /* One of the adapter's segments, and one that it does not have. */
        {"ALLOC-005",
         STATUS_INVALID_PARAMETER,
         {.bytes = 1, .preferred = {1}, .write_set = 5, .read_set = 5}},
        {"ALLOC-007", STATUS_INVALID_PARAMETER, {.bytes = 1, .preferred = {1}, .eviction_set = 1}},
        {"ALLOC-008",
         STATUS_INVALID_PARAMETER,
         {.bytes = 1, .preferred = {1}, .has_no_priority = true}},
        {NULL,
         STATUS_GRAPHICS_NO_VIDEO_MEMORY,
         {.bytes = 1, .preferred = {1}, .refusal = STATUS_GRAPHICS_NO_VIDEO_MEMORY}},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct rig_config config = rig_model(0);
        struct rig *rig = rig_create(&config);
        struct rig_object object;

        rig->expected_rules = cases[i].rule;
        assert_int_equal(rig_try_object(rig, rig->device, &cases[i].request, &object),
                         cases[i].status);
        assert_int_equal(rig->rule_count, cases[i].rule != NULL);
        assert_string_equal(rig->refusal_rule, cases[i].rule ? cases[i].rule
                                               : cases[i].status == STATUS_NOT_SUPPORTED ? "U3"
                                                                                         : "");
        assert_int_equal(rig->live_handles, 0);
        rig_free(rig);
    }
}

static void an_unusual_allocation_is_accepted(void **state)
{
    static const struct rig_request requests[] = {
        {.bytes = 3 * PAGE_BYTES, .preferred = {1}, .has_odd_alignment = true},
        {.bytes = 3 * PAGE_BYTES, .preferred = {1}, .alignment = UINT32_C(1) << 31},
        {.bytes = 3 * PAGE_BYTES, .preferred = {1}, .write_set = 1, .read_set = 2},
        {.bytes = 3 * PAGE_BYTES, .preferred = {2}, .write_set = 1, .read_set = 2},
    };

    for (size_t i = 0; i < ARRAY_COUNT(requests); i++) {
        struct rig_config config = rig_model(0);
        struct rig *rig = rig_create(&config);
        struct rig_object object;

        assert_int_equal(rig_try_object(rig, rig->device, &requests[i], &object), STATUS_SUCCESS);
        rig_gpu(rig, &object, 1);
        assert_int_equal(rig->rule_count, 0);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

/* ---- Render ---- */

static bool render_wrong(struct rig *rig, DXGKARG_RENDER *render, NTSTATUS *status)
{
    unsigned kind = *(const unsigned *)rig->test;

    *status = STATUS_SUCCESS;
    if (kind == 0)
        *status = STATUS_INVALID_PARAMETER;
    else if (kind == 1)
        *status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    else if (kind == 2)
        render->pDmaBuffer = (uint8_t *)render->pDmaBuffer + render->DmaSize + 1;
    else if (kind == 3)
        render->pDmaBufferPrivateData =
            (uint8_t *)render->pDmaBufferPrivateData + render->DmaBufferPrivateDataSize + 1;
    else if (kind == 5) { /* again and again, with progress that leads nowhere */
        render->MultipassOffset++;
        *status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    } else
        render->pPatchLocationListOut += render->PatchLocationListOutSize + 1;
    return true;
}

static void what_a_driver_renders_wrong_is_not_submitted(void **state)
{
    static const NTSTATUS statuses[] = {
        STATUS_INVALID_PARAMETER,     STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER,
        STATUS_DRIVER_INTERNAL_ERROR, STATUS_DRIVER_INTERNAL_ERROR,
        STATUS_DRIVER_INTERNAL_ERROR, STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER};

    for (unsigned kind = 0; kind < ARRAY_COUNT(statuses); kind++) {
        struct rig_config config = rig_model(0);
        struct rig_done done = {0};
        struct rig_object object, *objects[1] = {&object};
        struct rig *rig;

        config.private_bytes = 32;
        rig = rig_create(&config);
        rig_object(rig, 8, 1, &object);
        rig->render_hook = render_wrong;
        rig->test = &kind;
        rig->expected_rules = kind ? "PATCH-014" : NULL;
        assert_int_equal(rig_gpu_in(rig, rig->context, objects, 1, 4, rig_done, &done),
                         statuses[kind]);
        assert_int_equal(rig->rule_count, kind ? 1 : 0);
        assert_true(vidmm_is_idle(rig->vidmm));
        rig->render_hook = NULL;
        rig_gpu(rig, &object, 4);
        assert_int_equal(done.calls, 0);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

/* Where the second of two commands begins. */
#define SECOND ((UINT)sizeof(struct rig_command))

struct patched {
    D3DDDI_PATCHLOCATIONLIST locations[2];
    bool is_lawful;
};

/* A buffer of two commands, which write, with these locations. */
static bool render_patched(struct rig *rig, DXGKARG_RENDER *render, NTSTATUS *status)
{
    const struct patched *patched = rig->test;
    const struct rig_step *step = render->pCommand;
    struct rig_command *commands = render->pDmaBuffer;

    commands[0] = commands[1] =
        (struct rig_command){.magic = RIG_COMMAND_MAGIC, .is_write = true, .number = step->number};
    render->pDmaBuffer = commands + 2;
    memcpy(render->pPatchLocationListOut, patched->locations, sizeof patched->locations);
    render->pPatchLocationListOut += ARRAY_COUNT(patched->locations);
    *status = STATUS_SUCCESS;
    return true;
}

/* PATCH-012, at the last value that is lawful and the first that is not. */
static void patch_locations_are_in_the_buffer_in_the_list_and_in_order(void **state)
{
    static const struct patched cases[] = {
        {{{.PatchOffset = 0}, {.PatchOffset = SECOND}}, true},
        {{{.PatchOffset = 0}, {.PatchOffset = 2 * SECOND}}, false},
        {{{.PatchOffset = 0}, {.PatchOffset = SECOND, .SplitOffset = SECOND}}, true},
        {{{.PatchOffset = 0}, {.PatchOffset = SECOND, .SplitOffset = SECOND + 1}}, false},
        {{{.PatchOffset = SECOND, .SplitOffset = 1}, {.PatchOffset = SECOND}}, false},
        {{{.PatchOffset = 0}, {.PatchOffset = SECOND, .AllocationIndex = 1}}, false},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct rig_config config = rig_model(0);
        struct rig_done done = {0};
        struct rig_object object, *objects[1] = {&object};
        struct rig *rig = rig_create(&config);
        NTSTATUS status;

        rig_object(rig, 8, 1, &object);
        rig->render_hook = render_patched;
        rig->test = (void *)&cases[i];
        rig->expected_rules = "PATCH-012";
        status = rig_gpu_in(rig, rig->context, objects, 1, 4, rig_done, &done);
        assert_int_equal(status,
                         cases[i].is_lawful ? STATUS_SUCCESS : STATUS_DRIVER_INTERNAL_ERROR);
        assert_int_equal(rig->rule_count, !cases[i].is_lawful);
        rig->render_hook = NULL;
        rig_drain(rig);
        assert_int_equal(done.calls, cases[i].is_lawful);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

/* ---- Hanging GPUs ---- */

static void abort_ends_everything_at_any_time(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        for (unsigned steps = 0; steps < 40; steps++) {
            struct rig_config config = rig_model(model);
            struct rig_object objects[4];
            struct rig_done done[4] = {{0}};
            struct rig_done resident = {0};
            struct rig *rig;
            uint64_t fence;

            config.buffer_bytes = 64;
            config.seed = steps;
            rig = rig_create(&config);
            for (unsigned i = 0; i < 4; i++) {
                rig_object(rig, i == 3 ? 100 : 40, 1, &objects[i]);
                if (!config.is_virtual || i == 3)
                    continue;
                rig_map(rig, &objects[i]);
                rig_make_resident(rig, &objects[i]);
            }
            for (unsigned i = 0; i < 3; i++) {
                struct rig_object *object = &objects[i];

                assert_int_equal(rig_gpu_in(rig, rig->context, &object, 1, 8, rig_done, &done[i]),
                                 STATUS_SUCCESS);
                if (config.is_virtual)
                    rig_evict(rig, object);
            }
            if (config.is_virtual)
                assert_int_equal(vidmm_make_resident(rig->device, 1, &objects[3].allocation,
                                                     rig_done, &resident, &fence),
                                 STATUS_PENDING);
            vidmm_allocation_destroy(objects[1].allocation);
            for (unsigned i = 0; i < steps; i++)
                rig_step_machine(rig);
            rig_hang(rig);
            for (unsigned i = 0; i < 8 && !vidmm_is_idle(rig->vidmm); i++) {
                vidmm_abort(rig->vidmm, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
                assert_true(vidmm_check(rig->vidmm));
                rig_forget_packets(rig);
            }
            assert_true(vidmm_is_idle(rig->vidmm));
            for (unsigned i = 0; i < 3; i++) {
                assert_int_equal(done[i].calls, 1);
                assert_true(done[i].status == STATUS_SUCCESS ||
                            done[i].status == STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
            }
            if (config.is_virtual) {
                assert_int_equal(resident.calls, 1);
                objects[3].references = NT_SUCCESS(resident.status);
            }
            rig_destroy_object(rig, &objects[0]);
            rig_destroy_object(rig, &objects[2]);
            rig_destroy_object(rig, &objects[3]);
            rig_free(rig);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_driver_builds_wrong_is_told_by_rule_and_dropped),
        cmocka_unit_test(a_driver_that_stalls_and_goes_on_is_silent),
        cmocka_unit_test(an_allocation_that_breaks_a_rule_is_refused_by_that_rule),
        cmocka_unit_test(an_unusual_allocation_is_accepted),
        cmocka_unit_test(what_a_driver_renders_wrong_is_not_submitted),
        cmocka_unit_test(patch_locations_are_in_the_buffer_in_the_list_and_in_order),
        cmocka_unit_test(abort_ends_everything_at_any_time),
    };

    return cmocka_run_group_tests_name("vidmm/driver_error", tests, NULL, NULL);
}
