/*
 * Rules of DxgkDdiPatch, of what is submitted behind it, and of DxgkDdiRender. Present and what the
 * kernel draws: check_present_test.c.
 */
#include "check/rig/test_rig_commands.h"

#define BROKEN(identifier) RULE_BROKEN_IN(identifier, RIG_PHYSICAL)
#define KEPT(identifier)   RULE_KEPT_IN(identifier, RIG_PHYSICAL)

/* ---- Patch and what is submitted ---- */

BROKEN(PATCH_001)
{
    struct rig_commands *commands = rig_new_commands(rig);
    DXGKARG_PATCH patch;
    DXGKARG_SUBMITCOMMAND packet;

    rig_render_commands(rig, commands);
    patch = rig_patch_of(rig, commands, 0, RIG_LOCATIONS);
    miniport_patch(rig->top, NULL, &patch);
    packet = rig_packet(rig); /* the next fence */
    packet.DmaBufferPhysicalAddress = patch.DmaBufferPhysicalAddress;
    packet.DmaBufferSubmissionEndOffset = patch.DmaBufferSubmissionEndOffset;
    packet.DmaBufferPrivateDataSubmissionEndOffset = 0;
    rig_submit_packet(rig, &packet);
    assert_string_equal(rig->last.detail.where, "DxgkDdiSubmitCommand");
    assert_string_equal(rig->last.text, "bytes 0x0 to 0x100 with fence 0x2; Patch was called for "
                                        "0x0 to 0x100 and fence 0x1");
}

KEPT(PATCH_001)
{
    rig_run_commands(rig, rig_new_commands(rig));
}

static void what_is_patched_is_resident(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct rig_commands *commands;

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    commands = rig_new_commands(rig);
    commands->allocations[1].SegmentId = 0;
    rig_render_commands(rig, commands); /* may be anywhere by then */
    rig_expect_only(rig, RULE_NONE);
    rig_patch_and_submit(rig, commands, 0, RIG_LOCATIONS);
    rig_expect_only(rig, RULE_PATCH_001);
    assert_string_equal(rig->last.text, "allocation 1 of the list is not resident");
    rig_fini(rig);
    free(rig);
}

BROKEN(PATCH_002)
{
    struct rig_commands *commands = rig_new_commands(rig);
    DXGKARG_PATCH patch;

    rig_render_commands(rig, commands);
    commands->status = STATUS_NO_MEMORY;
    patch = rig_patch_of(rig, commands, 0, RIG_LOCATIONS);
    miniport_patch(rig->top, NULL, &patch);
}

KEPT(PATCH_002)
{
    rig_run_commands(rig, rig_new_commands(rig));
}

BROKEN(PATCH_003)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->patches_all = true;
    rig_render_commands(rig, commands);
    rig_patch_and_submit(rig, commands, 1, 3);
    assert_string_equal(rig->last.text, "a location outside of 1 to 3 was processed, which are "
                                        "those of the submission");
}

KEPT(PATCH_003)
{
    struct rig_commands *commands = rig_new_commands(rig);

    rig_render_commands(rig, commands);
    rig_patch_and_submit(rig, commands, 0, 1);
    rig_patch_and_submit(rig, commands, 1, 3);
    rig_patch_and_submit(rig, commands, 3, RIG_LOCATIONS);
}

BROKEN(PATCH_004)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->patch_error = 4096;
    rig_run_commands(rig, commands);
    assert_string_equal(rig->last.detail.where, "DxgkDdiPatch.pPatchLocationList[0]");
    assert_string_equal(rig->last.text, "0x101000 stands at 0x0; allocation 0 is in segment 1, and "
                                        "the GPU needs 0x100000");
}

KEPT(PATCH_004)
{
    rig_run_commands(rig, rig_new_commands(rig));
}

/* Whose bits nobody knows: a fault of the GPU in commands of a client. */
static void a_fault_is_a_wrong_address(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        struct rig *rig = malloc(sizeof *rig);
        uint32_t fence;

        assert_non_null(rig);
        rig_prepare(rig, RIG_PHYSICAL);
        rig->config.patched_address = NULL;
        rig_init_prepared(rig);
        fence = rig_run_commands(rig, rig_new_commands(rig));
        check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_FAULT,
                                                        .node = RIG_CLIENT_NODE,
                                                        .fence = fence,
                                                        .address = 0x77000,
                                                        .is_malformed_packet = i});
        rig_expect_only(rig, i ? RULE_NONE : RULE_PATCH_004);
        rig_fini(rig);
        free(rig);
    }
}

BROKEN(PATCH_005)
{
    struct rig_commands *commands = rig_new_commands(rig);
    const DXGKARG_PATCH patch = rig_patch_of(rig, commands, 0, RIG_LOCATIONS);

    commands->patch_offset = RIG_LOCATIONS * RIG_LOCATION_BYTES;
    rig_render_commands(rig, commands);
    commands->patches_once = true; /* it does not write there */
    miniport_patch(rig->top, NULL, &patch);
}

KEPT(PATCH_005)
{
    rig_run_commands(rig, rig_new_commands(rig));
}

/* Patched, preempted, moved, patched again. */
static void patch_twice(struct rig *rig, bool patches_once)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->allocations[0].SegmentId = commands->allocations[1].SegmentId = 0;
    rig_render_commands(rig, commands); /* nothing is known yet */
    commands->allocations[0].SegmentId = commands->allocations[1].SegmentId = 1;
    rig_patch_and_submit(rig, commands, 0, RIG_LOCATIONS);
    commands->patches_once = patches_once;
    commands->allocations[0].PhysicalAddress.QuadPart = 4 << 20;
    rig_patch_and_submit(rig, commands, 0, RIG_LOCATIONS);
}

BROKEN(PATCH_006)
{
    patch_twice(rig, true);
    assert_string_equal(rig->last.text, "0x100000 stands at 0x0, patched for the second time; "
                                        "allocation 0 is in segment 1, and the GPU needs 0x400000");
}

KEPT(PATCH_006)
{
    patch_twice(rig, false);
}

BROKEN(PATCH_007)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->writes_at = 2 * RIG_LOCATION_BYTES;
    rig_render_commands(rig, commands);
    rig_patch_and_submit(rig, commands, 0, 2);
    assert_string_equal(rig->last.text, "byte 128 was written; the submission is 0x0 to 0x80");
}

/* A fence behind the commands of the submission may be (PATCH-008). */
KEPT(PATCH_007)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->writes_at = 2 * RIG_LOCATION_BYTES - 1;
    rig_render_commands(rig, commands);
    rig_patch_and_submit(rig, commands, 0, 2);
}

static void bytes_around_the_buffer_are_watched(void **state)
{
    const int64_t offsets[] = {-1, RIG_COMMANDS_BYTES};

    for (unsigned i = 0; i < 2; i++) {
        struct rig *rig = malloc(sizeof *rig);
        struct rig_commands *commands;

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        commands = rig_new_commands(rig);
        commands->writes_at = offsets[i];
        rig_run_commands(rig, commands);
        rig_expect_only(rig, RULE_PATCH_007);
        rig_fini(rig);
        free(rig);
    }
}

/* Without pages of a guard around a copy, what was there is compared with what is there. */
static void without_guards_bytes_beside_the_submission_are_compared(void **state)
{
    static const struct {
        unsigned first, count;
        int64_t writes_at;
        bool is_outside;
    } rows[] = {
        {1, 2, RIG_LOCATION_BYTES - 1, true},
        {1, 2, RIG_LOCATION_BYTES + 16, false},
        {1, 2, 3 * RIG_LOCATION_BYTES, true},
        {0, RIG_LOCATIONS, 0, false},
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct rig *rig = malloc(sizeof *rig);
        struct rig_commands *commands;

        assert_non_null(rig);
        rig_prepare(rig, RIG_PHYSICAL);
        rig->config.guards_buffers = false;
        rig_init_prepared(rig);
        commands = rig_new_commands(rig);
        commands->writes_at = rows[i].writes_at;
        rig_render_commands(rig, commands);
        rig_patch_and_submit(rig, commands, rows[i].first, rows[i].count);
        assert_int_equal(rig->counts.broken[RULE_PATCH_007], rows[i].is_outside);
        rig_fini(rig);
        free(rig);
    }
}

static void present_redirected(struct rig *rig, unsigned patch_says, unsigned submit_says)
{
    struct rig_commands *commands = rig_new_commands(rig);
    DXGKARG_PATCH patch;
    DXGKARG_SUBMITCOMMAND submit;

    rig_render_commands(rig, commands);
    patch = rig_patch_of(rig, commands, 0, RIG_LOCATIONS);
    submit = rig_submit_of(rig, &patch);
    patch.Flags.RedirectedPresent = patch_says;
    submit.Flags.RedirectedPresent = submit_says;
    miniport_patch(rig->top, NULL, &patch);
    rig_submit_packet(rig, &submit);
}

BROKEN(PATCH_018)
{
    present_redirected(rig, 1, 0);
}

KEPT(PATCH_018)
{
    present_redirected(rig, 1, 1);
}

BROKEN(PATCH_008)
{
    uint32_t fence = rig_run_commands(rig, rig_new_commands(rig));

    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence,
                  RIG_LOCATIONS * RIG_LOCATION_BYTES);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
    rig_complete(rig, RIG_CLIENT_NODE, fence);
}

KEPT(PATCH_008)
{
    uint32_t fence = rig_run_commands(rig, rig_new_commands(rig));

    rig_run(rig, RIG_CLIENT_NODE, fence, RIG_LOCATIONS * RIG_LOCATION_BYTES);
}

static void patch_paging(struct rig *rig, bool edits)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));
    struct rig_commands *commands = rig_new_commands(rig);
    const DXGKARG_PATCH patch = {
        .DmaBufferPhysicalAddress.QuadPart = 0x10000,
        .pDmaBuffer = rig->buffer,
        .DmaBufferSize = RIG_BUFFER_BYTES,
        .DmaBufferSubmissionEndOffset = RIG_PACKET_BYTES,
        .pDmaBufferPrivateData = rig->private_data,
        .DmaBufferPrivateDataSize = RIG_PRIVATE_BYTES,
        .SubmissionFenceId = rig->fence + 1,
        .Flags.Paging = 1,
    };

    rig_build(rig, &fill);
    commands->edits = edits;
    miniport_patch(rig->top, NULL, &patch);
}

BROKEN(PATCH_009)
{
    rig_fini(rig);
    rig_prepare(rig, RIG_PHYSICAL);
    rig->config.profile.wants_built_complete = true;
    rig_init_prepared(rig);
    patch_paging(rig, true);
}

static void what_patch_adds_to_a_paging_buffer_is_advice(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    patch_paging(rig, true);
    assert_true(rig->last.is_advice);
    assert_int_equal(rig->last.rule, RULE_PATCH_009);
    rig_expect_only(rig, RULE_NONE);
    rig_fini(rig);
    free(rig);
}

KEPT(PATCH_009)
{
    patch_paging(rig, false);
    rig_submit(rig);
}

BROKEN(PATCH_010)
{
    struct rig_commands *commands = rig_new_commands(rig);
    DXGKARG_PATCH patch;

    rig_render_commands(rig, commands);
    patch = rig_patch_of(rig, commands, 1, RIG_LOCATIONS);
    patch.DmaBufferPhysicalAddress.QuadPart += RIG_LOCATION_BYTES;
    miniport_patch(rig->top, NULL, &patch);
}

KEPT(PATCH_010)
{
    struct rig_commands *commands = rig_new_commands(rig);

    rig_render_commands(rig, commands);
    rig_patch_and_submit(rig, commands, 1, RIG_LOCATIONS);
}

/* ---- Render ---- */

BROKEN(PATCH_011)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->prepatch_error = 4096;
    rig_render_commands(rig, commands);
}

KEPT(PATCH_011)
{
    rig_render_commands(rig, rig_new_commands(rig));
}

static uint32_t count_addresses(void *context, const void *commands, uint64_t bytes)
{
    return RIG_LOCATIONS;
}

static uint32_t count_one_more(void *context, const void *commands, uint64_t bytes)
{
    return RIG_LOCATIONS + 1;
}

static void every_address_has_a_location(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_prepare(rig, RIG_PHYSICAL);
        rig->config.count_references = i ? count_one_more : count_addresses;
        rig_init_prepared(rig);
        rig_render_commands(rig, rig_new_commands(rig));
        rig_expect_only(rig, i ? RULE_PATCH_011 : RULE_NONE);
        rig_fini(rig);
        free(rig);
    }
}

BROKEN(PATCH_012)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->split = 2 * RIG_LOCATION_BYTES;
    rig_render_commands(rig, commands);
}

KEPT(PATCH_012)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->split = RIG_LOCATION_BYTES; /* as the one behind it */
    rig_render_commands(rig, commands);
}

BROKEN(PATCH_013)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->slot = 16;
    rig_render_commands(rig, commands);
    assert_string_equal(rig->last.text, "slot 16; MaxAllocationListSlotId is 16");
}

KEPT(PATCH_013)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->slot = 15;
    rig_render_commands(rig, commands);
}

/* A command reaches so far into the second allocation of the list, which takes four pages. */
static void reach_into_four_pages(struct rig *rig, uint64_t size, uint32_t offset)
{
    struct rig_commands *commands = rig_new_commands(rig);
    DXGK_ALLOCATIONINFO info = {.Size = size};
    DXGK_OPENALLOCATIONINFO opened = {0};
    const DXGKARG_OPENALLOCATION open = {.NumAllocations = 1, .pOpenAllocation = &opened};

    opened.hAllocation = (D3DKMT_HANDLE)(uintptr_t)rig_create_allocation(rig, &info);
    miniport_open_allocation(rig->top, rig->device, &open);
    commands->allocations[1].hDeviceSpecificAllocation = opened.hDeviceSpecificAllocation;
    commands->allocations[1].SegmentId = 0;
    commands->allocation_offset = offset;
    rig_render_commands(rig, commands);
}

BROKEN(PATCH_022)
{
    reach_into_four_pages(rig, 4 * 4096, 4 * 4096 + 1);
    assert_string_equal(rig->last.text, "is 0x4001; allocation 1 of the list has 0x4000 bytes");
}

KEPT(PATCH_022)
{
    reach_into_four_pages(rig, 3 * 4096 + 64, 4 * 4096);
}

BROKEN(PATCH_014)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    rig_render_commands(rig, commands);
}

KEPT(PATCH_014)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    commands->multipass = 64;
    rig_render_commands(rig, commands);
}

static void want_buffers(struct rig *rig, struct rig_commands *commands, unsigned count)
{
    commands->status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    for (unsigned i = 0; i < count; i++) {
        commands->multipass++;
        rig_render_commands(rig, commands);
    }
}

/* Progress or not: there is an end to it, which is farther away where there is more to translate.
 */
static void a_command_buffer_does_not_fill_dma_buffers_for_ever(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned words = 0; words < 200; words += 100) {
        struct rig_commands *commands;

        rig_init(rig, RIG_PHYSICAL);
        commands = rig_new_commands(rig);
        commands->bytes = words * 4;
        want_buffers(rig, commands, 63 + words);
        commands->status = STATUS_SUCCESS; /* the next command buffer begins anew */
        rig_render_commands(rig, commands);
        want_buffers(rig, commands, 63 + words);
        rig->context = rig_create_context(rig, rig->device, RIG_CLIENT_NODE, false);
        want_buffers(rig, commands, 63 + words); /* of another one */
        rig_expect_only(rig, RULE_NONE);
        want_buffers(rig, commands, 1);
        rig_expect_only(rig, RULE_PATCH_014);
        assert_non_null(strstr(rig->last.text, "does not fill so many DMA buffers"));
        rig_fini(rig);
    }
    free(rig);
}

static void one_buffer_is_enough_where_it_is_guaranteed(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct rig_commands *commands;

    assert_non_null(rig);
    rig_prepare(rig, RIG_PHYSICAL);
    rig->config.guarantees_one_buffer = true;
    rig_init_prepared(rig);
    commands = rig_new_commands(rig);
    rig_render_commands(rig, commands);
    rig_expect_only(rig, RULE_NONE);
    commands->status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    commands->multipass = 64;
    rig_render_commands(rig, commands);
    rig_expect_only(rig, RULE_PATCH_014);
    assert_non_null(strstr(rig->last.text, "is guaranteed to be enough"));
    rig_fini(rig);
    free(rig);
}

BROKEN(PATCH_015)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->allocations[1].PhysicalAddress.QuadPart = 16 << 20; /* behind the segment */
    rig_render_commands(rig, commands);
}

KEPT(PATCH_015)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->allocations[1].PhysicalAddress.QuadPart = (16 << 20) - 4096;
    commands->allocations[1].WriteOperation = 1;
    rig_render_commands(rig, commands);
}

BROKEN(PATCH_016)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->status = STATUS_ACCESS_VIOLATION; /* of the user's buffer, not caught */
    rig_render_commands(rig, commands);
}

KEPT(PATCH_016)
{
    struct rig_commands *commands = rig_new_commands(rig);

    commands->status = STATUS_INVALID_USER_BUFFER;
    rig_render_commands(rig, commands);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_patched_is_resident),
        cmocka_unit_test(what_patch_adds_to_a_paging_buffer_is_advice),
        cmocka_unit_test(a_fault_is_a_wrong_address),
        cmocka_unit_test(bytes_around_the_buffer_are_watched),
        cmocka_unit_test(without_guards_bytes_beside_the_submission_are_compared),
        cmocka_unit_test(every_address_has_a_location),
        cmocka_unit_test(a_command_buffer_does_not_fill_dma_buffers_for_ever),
        cmocka_unit_test(one_buffer_is_enough_where_it_is_guaranteed),
    };

    return RIG_RUN_TESTS(tests);
}
