#include "check/rig/test_rig_submit.h"
#include "check/rig/test_rig_tables.h"

#define LOCATIONS       4u
#define LOCATION_BYTES  64u /* of commands, with an address at the start of each */
#define BUFFER_BYTES    4096u
#define BUFFER_PHYSICAL 0x50000

/* Commands of the rig's client: allocation i at 1 MiB * (i + 1) of local memory. */
struct commands {
    char *buffer;
    DXGK_ALLOCATIONLIST allocations[2];
    D3DDDI_PATCHLOCATIONLIST locations[LOCATIONS];
    /* What the driver does wrong. */
    NTSTATUS status;
    unsigned multipass;
    uint32_t bytes;       /* of the command buffer */
    unsigned slot, split; /* of location 1 */
    uint32_t prepatch_error, patch_error;
    uint32_t patch_offset;      /* of location 0, when not 0 */
    uint32_t allocation_offset; /* of location 1, when not 0 */
    bool patches_all, patches_once, edits;
    int64_t writes_at; /* when not 0 */
};

static uint64_t address_of(const DXGK_ALLOCATIONLIST *list,
                           const D3DDDI_PATCHLOCATIONLIST *location)
{
    return (uint64_t)list[location->AllocationIndex].PhysicalAddress.QuadPart +
           location->AllocationOffset;
}

static NTSTATUS render(const struct commands *commands, DXGKARG_RENDER *arg)
{
    char *buffer = arg->pDmaBuffer;

    if (!NT_SUCCESS(commands->status) &&
        commands->status != STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
        return commands->status;
    if (commands->status && !commands->multipass)
        return commands->status;
    memset(buffer, 0, LOCATIONS * LOCATION_BYTES);
    for (unsigned i = 0; i < LOCATIONS; i++) {
        D3DDDI_PATCHLOCATIONLIST *location = arg->pPatchLocationListOut++;

        *location = (D3DDDI_PATCHLOCATIONLIST){
            .AllocationIndex = i % 2,
            .AllocationOffset = i * 4096,
            .PatchOffset = i * LOCATION_BYTES,
            .SplitOffset = i * LOCATION_BYTES,
        };
        if (i == 0 && commands->patch_offset)
            location->PatchOffset = commands->patch_offset;
        if (i == 1) {
            location->SlotId = commands->slot;
            location->SplitOffset += commands->split;
            if (commands->allocation_offset)
                location->AllocationOffset = commands->allocation_offset;
        }
        if (arg->pAllocationList[location->AllocationIndex].SegmentId) {
            uint64_t address =
                address_of(arg->pAllocationList, location) + commands->prepatch_error;

            memcpy(buffer + location->PatchOffset, &address, sizeof address);
        }
    }
    arg->pDmaBuffer = buffer + LOCATIONS * LOCATION_BYTES;
    arg->MultipassOffset = commands->multipass;
    return commands->status;
}

static void patch_one(const struct commands *commands, const DXGKARG_PATCH *arg, unsigned index)
{
    const D3DDDI_PATCHLOCATIONLIST *location = &arg->pPatchLocationList[index];
    uint64_t address = address_of(arg->pAllocationList, location) + commands->patch_error;
    uint64_t old;

    memcpy(&old, (char *)arg->pDmaBuffer + location->PatchOffset, sizeof old);
    if (commands->patches_once && old)
        return;
    memcpy((char *)arg->pDmaBuffer + location->PatchOffset, &address, sizeof address);
}

static NTSTATUS answer(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const struct commands *commands = rig->told;
    const DXGKARG_PATCH *patch = arg;

    if (ddi == MINIPORT_DDI_OpenAllocation) {
        const DXGKARGCB_GETHANDLEDATA data = {
            .hObject = ((const DXGKARG_OPENALLOCATION *)arg)->pOpenAllocation[0].hAllocation};

        rig->drivers_host->ops->get_handle_data(rig->drivers_host, &data);
    }
    if (ddi == MINIPORT_DDI_Render)
        return render(commands, arg);
    if (ddi == MINIPORT_DDI_Present)
        return commands->status; /* commands that name no allocation */
    if (ddi != MINIPORT_DDI_Patch)
        return rig_answer(rig, ddi, object, arg);
    for (unsigned i = 0; i < patch->PatchLocationListSize; i++) {
        if (commands->patches_all || (i >= patch->PatchLocationListSubmissionStart &&
                                      i < patch->PatchLocationListSubmissionStart +
                                              patch->PatchLocationListSubmissionLength))
            patch_one(commands, patch, i);
    }
    if (commands->writes_at)
        ((char *)patch->pDmaBuffer)[commands->writes_at]++;
    if (commands->edits)
        ((char *)patch->pDmaBuffer)[patch->DmaBufferSubmissionStartOffset]++;
    return commands->status;
}

/* What the client of a test does wrong is set in it before. */
static struct commands *new_commands(struct rig *rig)
{
    static struct commands commands;

    commands = (struct commands){.buffer = rig->buffer};
    for (unsigned i = 0; i < 2; i++)
        commands.allocations[i] = (DXGK_ALLOCATIONLIST){
            .hDeviceSpecificAllocation = rig->context, /* any handle: nobody looks behind it */
            .SegmentId = 1,
            .PhysicalAddress.QuadPart = (LONGLONG)(i + 1) << 20,
        };
    rig->answer = answer;
    rig->told = &commands;
    return &commands;
}

static NTSTATUS call_render(struct rig *rig, struct commands *commands)
{
    DXGKARG_RENDER arg = {
        .CommandLength = commands->bytes,
        .pDmaBuffer = commands->buffer,
        .DmaSize = BUFFER_BYTES,
        .pAllocationList = commands->allocations,
        .AllocationListSize = 2,
        .pPatchLocationListOut = commands->locations,
        .PatchLocationListOutSize = LOCATIONS,
        .DmaBufferPhysicalAddress.QuadPart = BUFFER_PHYSICAL,
    };

    return miniport_render(rig->top, rig->context, &arg);
}

/* Locations [first, end) and their commands. */
static DXGKARG_PATCH patch_of(struct rig *rig, struct commands *commands, unsigned first,
                              unsigned end)
{
    return (DXGKARG_PATCH){
        .hContext = rig->context,
        .DmaBufferPhysicalAddress.QuadPart = BUFFER_PHYSICAL,
        .pDmaBuffer = commands->buffer,
        .DmaBufferSize = BUFFER_BYTES,
        .DmaBufferSubmissionStartOffset = first * LOCATION_BYTES,
        .DmaBufferSubmissionEndOffset = end * LOCATION_BYTES,
        .pAllocationList = commands->allocations,
        .AllocationListSize = 2,
        .pPatchLocationList = commands->locations,
        .PatchLocationListSize = LOCATIONS,
        .PatchLocationListSubmissionStart = first,
        .PatchLocationListSubmissionLength = end - first,
        .SubmissionFenceId = ++rig->fence,
    };
}

static DXGKARG_SUBMITCOMMAND submit_of(const struct rig *rig, const DXGKARG_PATCH *patch)
{
    return (DXGKARG_SUBMITCOMMAND){
        .hContext = rig->context,
        .DmaBufferPhysicalAddress = patch->DmaBufferPhysicalAddress,
        .DmaBufferSize = BUFFER_BYTES,
        .DmaBufferSubmissionStartOffset = patch->DmaBufferSubmissionStartOffset,
        .DmaBufferSubmissionEndOffset = patch->DmaBufferSubmissionEndOffset,
        .SubmissionFenceId = patch->SubmissionFenceId,
        .NodeOrdinal = RIG_CLIENT_NODE,
    };
}

static uint32_t patch_and_submit(struct rig *rig, struct commands *commands, unsigned first,
                                 unsigned end)
{
    const DXGKARG_PATCH patch = patch_of(rig, commands, first, end);
    const DXGKARG_SUBMITCOMMAND submit = submit_of(rig, &patch);

    miniport_patch(rig->top, NULL, &patch);
    rig_submit_packet(rig, &submit);
    return patch.SubmissionFenceId;
}

/* Everything, in one piece. */
static uint32_t run_commands(struct rig *rig, struct commands *commands)
{
    call_render(rig, commands);
    return patch_and_submit(rig, commands, 0, LOCATIONS);
}

#define BROKEN(identifier) RULE_BROKEN_IN(identifier, RIG_PHYSICAL)
#define KEPT(identifier)   RULE_KEPT_IN(identifier, RIG_PHYSICAL)

/* ---- Patch and what is submitted ---- */

BROKEN(PATCH_001)
{
    struct commands *commands = new_commands(rig);
    DXGKARG_PATCH patch;
    DXGKARG_SUBMITCOMMAND packet;

    call_render(rig, commands);
    patch = patch_of(rig, commands, 0, LOCATIONS);
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
    run_commands(rig, new_commands(rig));
}

static void what_is_patched_is_resident(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct commands *commands;

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    commands = new_commands(rig);
    commands->allocations[1].SegmentId = 0;
    call_render(rig, commands); /* may be anywhere by then */
    rig_expect_only(rig, RULE_NONE);
    patch_and_submit(rig, commands, 0, LOCATIONS);
    rig_expect_only(rig, RULE_PATCH_001);
    assert_string_equal(rig->last.text, "allocation 1 of the list is not resident");
    rig_fini(rig);
    free(rig);
}

BROKEN(PATCH_002)
{
    struct commands *commands = new_commands(rig);
    DXGKARG_PATCH patch;

    call_render(rig, commands);
    commands->status = STATUS_NO_MEMORY;
    patch = patch_of(rig, commands, 0, LOCATIONS);
    miniport_patch(rig->top, NULL, &patch);
}

KEPT(PATCH_002)
{
    run_commands(rig, new_commands(rig));
}

BROKEN(PATCH_003)
{
    struct commands *commands = new_commands(rig);

    commands->patches_all = true;
    call_render(rig, commands);
    patch_and_submit(rig, commands, 1, 3);
    assert_string_equal(rig->last.text, "a location outside of 1 to 3 was processed, which are "
                                        "those of the submission");
}

KEPT(PATCH_003)
{
    struct commands *commands = new_commands(rig);

    call_render(rig, commands);
    patch_and_submit(rig, commands, 0, 1);
    patch_and_submit(rig, commands, 1, 3);
    patch_and_submit(rig, commands, 3, LOCATIONS);
}

BROKEN(PATCH_004)
{
    struct commands *commands = new_commands(rig);

    commands->patch_error = 4096;
    run_commands(rig, commands);
    assert_string_equal(rig->last.detail.where, "DxgkDdiPatch.pPatchLocationList[0]");
    assert_string_equal(rig->last.text, "0x101000 stands at 0x0; allocation 0 is in segment 1, and "
                                        "the GPU needs 0x100000");
}

KEPT(PATCH_004)
{
    run_commands(rig, new_commands(rig));
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
        fence = run_commands(rig, new_commands(rig));
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
    struct commands *commands = new_commands(rig);
    const DXGKARG_PATCH patch = patch_of(rig, commands, 0, LOCATIONS);

    commands->patch_offset = LOCATIONS * LOCATION_BYTES;
    call_render(rig, commands);
    commands->patches_once = true; /* it does not write there */
    miniport_patch(rig->top, NULL, &patch);
}

KEPT(PATCH_005)
{
    run_commands(rig, new_commands(rig));
}

/* Patched, preempted, moved, patched again. */
static void patch_twice(struct rig *rig, bool patches_once)
{
    struct commands *commands = new_commands(rig);

    commands->allocations[0].SegmentId = commands->allocations[1].SegmentId = 0;
    call_render(rig, commands); /* nothing is known yet */
    commands->allocations[0].SegmentId = commands->allocations[1].SegmentId = 1;
    patch_and_submit(rig, commands, 0, LOCATIONS);
    commands->patches_once = patches_once;
    commands->allocations[0].PhysicalAddress.QuadPart = 4 << 20;
    patch_and_submit(rig, commands, 0, LOCATIONS);
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
    struct commands *commands = new_commands(rig);

    commands->writes_at = 2 * LOCATION_BYTES;
    call_render(rig, commands);
    patch_and_submit(rig, commands, 0, 2);
    assert_string_equal(rig->last.text, "byte 128 was written; the submission is 0x0 to 0x80");
}

/* A fence behind the commands of the submission may be (PATCH-008). */
KEPT(PATCH_007)
{
    struct commands *commands = new_commands(rig);

    commands->writes_at = 2 * LOCATION_BYTES - 1;
    call_render(rig, commands);
    patch_and_submit(rig, commands, 0, 2);
}

static void bytes_around_the_buffer_are_watched(void **state)
{
    const int64_t offsets[] = {-1, BUFFER_BYTES};

    for (unsigned i = 0; i < 2; i++) {
        struct rig *rig = malloc(sizeof *rig);
        struct commands *commands;

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        commands = new_commands(rig);
        commands->writes_at = offsets[i];
        run_commands(rig, commands);
        rig_expect_only(rig, RULE_PATCH_007);
        rig_fini(rig);
        free(rig);
    }
}

static void present_redirected(struct rig *rig, unsigned patch_says, unsigned submit_says)
{
    struct commands *commands = new_commands(rig);
    DXGKARG_PATCH patch;
    DXGKARG_SUBMITCOMMAND submit;

    call_render(rig, commands);
    patch = patch_of(rig, commands, 0, LOCATIONS);
    submit = submit_of(rig, &patch);
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

/* A copy, or a fill, of two rectangles. */
static NTSTATUS call_present(struct rig *rig, struct commands *commands, bool is_fill,
                             bool has_source, LONG bottom)
{
    const RECT parts[] = {{0, 0, 1024, 4}, {0, 4, 1024, bottom}};
    DXGK_ALLOCATIONLIST list[MINIPORT_PRESENT_ALLOCATIONS] = {{0}};
    DXGKARG_PRESENT arg = {
        .pDmaBuffer = commands->buffer,
        .DmaSize = BUFFER_BYTES,
        .pAllocationList = list,
        .pPatchLocationListOut = commands->locations,
        .PatchLocationListOutSize = LOCATIONS,
        .SrcRect = {0, 0, 1024, 8},
        .DstRect = {0, 0, 1024, 8},
        .SubRectCnt = 2,
        .pDstSubRects = (RECT *)parts,
        .DmaBufferPhysicalAddress.QuadPart = BUFFER_PHYSICAL,
    };

    if (has_source)
        list[DXGK_PRESENT_SOURCE_INDEX] = commands->allocations[0];
    list[DXGK_PRESENT_DESTINATION_INDEX] = commands->allocations[1];
    arg.Flags.Blt = !is_fill;
    arg.Flags.ColorFill = is_fill;
    return miniport_present(rig->top, rig->context, &arg);
}

BROKEN(PATCH_019)
{
    call_present(rig, new_commands(rig), false, false, 8);
}

KEPT(PATCH_019)
{
    call_present(rig, new_commands(rig), false, true, 8);
    call_present(rig, new_commands(rig), true, false, 8);
}

static void a_rectangle_outside_of_the_destination_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    call_present(rig, new_commands(rig), false, true, 9);
    rig_expect_only(rig, RULE_PATCH_019);
    rig_fini(rig);
    free(rig);
}

/* Patch and the submission agree with each other, and not with who has made the buffer. */
static void submit_a_present(struct rig *rig, unsigned says)
{
    struct commands *commands = new_commands(rig);
    DXGKARG_PATCH patch;
    DXGKARG_SUBMITCOMMAND submit;

    call_present(rig, commands, true, false, 8);
    patch = patch_of(rig, commands, 0, 0);
    patch.PatchLocationListSize = 0;
    submit = submit_of(rig, &patch);
    patch.Flags.Present = says;
    submit.Flags.Present = says;
    miniport_patch(rig->top, NULL, &patch);
    rig_submit_packet(rig, &submit);
}

BROKEN(PATCH_020)
{
    submit_a_present(rig, 0);
}

KEPT(PATCH_020)
{
    submit_a_present(rig, 1);
}

static NTSTATUS make_64_bytes(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_PRESENT *present = arg;

    if (ddi != MINIPORT_DDI_Present)
        return rig_answer(rig, ddi, object, arg);
    present->pDmaBuffer = (char *)present->pDmaBuffer + 64;
    return STATUS_SUCCESS;
}

struct present_by_address {
    DXGKARG_PRESENT arg;
    DXGK_ALLOCATIONLIST list[MINIPORT_PRESENT_ALLOCATIONS];
};

/* A fill, of which the driver writes 64 bytes, in a context with virtual addresses. */
static void begin_present(struct rig *rig, struct present_by_address *present, uint64_t destination)
{
    static const RECT part = {0, 0, 1024, 4};

    *present = (struct present_by_address){.arg = {
                                               .pDmaBuffer = rig->buffer,
                                               .DmaSize = BUFFER_BYTES,
                                               .pAllocationList = present->list,
                                               .DstRect = {0, 0, 1024, 8},
                                               .SubRectCnt = 1,
                                               .pDstSubRects = (RECT *)(uintptr_t)&part,
                                               .DmaBufferGpuVirtualAddress = RIG_VA,
                                           }};
    present->list[DXGK_PRESENT_DESTINATION_INDEX].hDeviceSpecificAllocation = (HANDLE)0x500;
    present->list[DXGK_PRESENT_DESTINATION_INDEX].VirtualAddress = destination;
    present->arg.Flags.ColorFill = 1;
    rig->answer = make_64_bytes;
}

static void submit_present(struct rig *rig, uint32_t bytes, unsigned says)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL packet = rig_packet_virtual(rig);

    packet.DmaBufferVirtualAddress = RIG_VA;
    packet.DmaBufferSize = bytes;
    packet.Flags.Present = says;
    rig_submit_virtual(rig, &packet);
}

static void present_by_address(struct rig *rig, uint64_t destination, uint32_t bytes, unsigned says)
{
    struct present_by_address present;

    begin_present(rig, &present, destination);
    miniport_present(rig->top, rig->context, &present.arg);
    submit_present(rig, bytes, says);
}

RULE_BROKEN_IN(PATCH_023, RIG_GPUMMU)
{
    present_by_address(rig, 0, 64, 1);
}

RULE_KEPT_IN(PATCH_023, RIG_GPUMMU)
{
    present_by_address(rig, RIG_VA + 0x10000, 64, 1);
}

static void expect_of_present(enum rule_id rule, uint32_t bytes, unsigned says)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    present_by_address(rig, RIG_VA + 0x10000, bytes, says);
    rig_expect_only(rig, rule);
    rig_fini(rig);
    free(rig);
}

static void what_present_has_made_is_what_is_submitted(void **state)
{
    expect_of_present(RULE_PATCH_023, 32, 1);
    expect_of_present(RULE_PATCH_020, 64, 0);
}

static void each_member_that_says_an_address_is_looked_at(void **state)
{
    enum { VA, SEGMENT, LIST, IN_PAGE, OF_NOTHING, IN_SEGMENT, NOTHING_IN_SEGMENT, WAYS };
    struct rig *rig = malloc(sizeof *rig);
    D3DDDI_PATCHLOCATIONLIST locations[1];

    assert_non_null(rig);
    for (int way = 0; way < WAYS; way++) {
        struct present_by_address present;
        DXGK_ALLOCATIONLIST *source = &present.list[DXGK_PRESENT_SOURCE_INDEX],
                            *destination = &present.list[DXGK_PRESENT_DESTINATION_INDEX];

        rig_init(rig, RIG_GPUMMU);
        begin_present(rig, &present, RIG_VA + 0x10000 + (way == IN_PAGE ? 8 : 0));
        present.arg.pPatchLocationListOut = locations;
        present.arg.DmaBufferGpuVirtualAddress = way == VA ? 0 : RIG_VA;
        present.arg.DmaBufferSegmentId = way == SEGMENT;
        present.arg.PatchLocationListOutSize = way == LIST;
        source->VirtualAddress = way == OF_NOTHING ? RIG_VA : 0;
        source->SegmentId = way == NOTHING_IN_SEGMENT;
        destination->SegmentId = way == IN_SEGMENT;
        miniport_present(rig->top, rig->context, &present.arg);
        assert_int_equal(rig->counts.broken[RULE_PATCH_023], 1);
        rig_fini(rig);
    }
    free(rig);
}

/* The context has gone, and with it what was in its buffers. */
static void a_present_goes_with_its_context(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int is_gone = 0; is_gone < 2; is_gone++) {
        rig_init(rig, RIG_GPUMMU);
        present_by_address(rig, RIG_VA + 0x10000, 64, 1);
        if (is_gone)
            miniport_destroy_context(rig->top, rig->context);
        submit_present(rig, 64, 0);
        assert_int_equal(rig->counts.broken[RULE_PATCH_020], !is_gone);
        rig_fini(rig);
    }
    free(rig);
}

static NTSTATUS want_another(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    NTSTATUS status = make_64_bytes(rig, ddi, object, arg);

    return ddi == MINIPORT_DDI_Present ? STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER : status;
}

static void a_present_does_not_fill_dma_buffers_for_ever(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    for (unsigned times = 1; times <= 65; times++) {
        struct present_by_address present;

        begin_present(rig, &present, RIG_VA + 0x10000);
        rig->answer = want_another;
        miniport_present(rig->top, rig->context, &present.arg);
        rig_expect_only(rig, times < 65 ? RULE_NONE : RULE_PATCH_014);
    }
    rig_fini(rig);
    free(rig);
}

/* A Render by address has no address of its DMA buffer, and nobody takes its commands for those of
 * a Present. */
static void what_render_has_made_is_no_present(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_SUBMITCOMMANDVIRTUAL packet;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    call_render(rig, new_commands(rig));
    rig->answer = NULL;
    packet = rig_packet_virtual(rig);
    packet.DmaBufferVirtualAddress = 0;
    rig_submit_virtual(rig, &packet);
    assert_true(rig->counts.evaluated[RULE_PATCH_020] > 0);
    assert_int_equal(rig->counts.broken[RULE_PATCH_020], 0);
    rig_fini(rig);
    free(rig);
}

static void present_with(struct rig *rig, NTSTATUS status)
{
    struct commands *commands = new_commands(rig);

    commands->status = status;
    call_present(rig, commands, true, false, 8);
}

BROKEN(PATCH_021)
{
    present_with(rig, STATUS_INVALID_PARAMETER);
}

KEPT(PATCH_021)
{
    present_with(rig, STATUS_GRAPHICS_CANNOTCOLORCONVERT);
}

/* ---- What the kernel draws ---- */

/* One copy of two rectangles, on a context of the kernel's, and what is wrong with it. */
struct drawing {
    bool is_clients, is_unasked; /* the context; the driver reports no support */
    UINT index, missing_bytes;
    LONG bottom; /* of the last rectangle; 4 is that of DstRect */
    NTSTATUS status;
};

static NTSTATUS refuse_drawing(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    return ddi == MINIPORT_DDI_RenderKm ? ((const struct drawing *)rig->told)->status
                                        : rig_answer(rig, ddi, object, arg);
}

static void draw(struct rig *rig, struct drawing drawing)
{
    RECT rectangles[] = {{0, 0, 1024, 2}, {0, 2, 1024, drawing.bottom}};
    DXGK_RENDERKM_COMMAND command = {
        .OpCode = DXGK_GDIOP_BITBLT,
        .CommandSize = sizeof command,
        .Command.BitBlt = {.SrcRect = {0, 0, 1024, 4},
                           .DstRect = {0, 0, 1024, 4},
                           .DstAllocationIndex = drawing.index,
                           .NumSubRects = 2,
                           .pSubRects = rectangles,
                           .Rop = DXGK_GDIROP_SRCCOPY},
    };
    struct commands *commands = new_commands(rig);
    DXGKARG_CREATECONTEXT create = {.NodeOrdinal = 1, .EngineAffinity = 1};
    DXGK_DRIVERCAPS caps;
    DXGKARG_RENDER arg = {
        .pCommand = &command,
        .CommandLength = sizeof command - drawing.missing_bytes,
        .pDmaBuffer = commands->buffer,
        .DmaSize = BUFFER_BYTES,
        .pAllocationList = commands->allocations,
        .AllocationListSize = 2,
        .pPatchLocationListOut = commands->locations,
        .PatchLocationListOutSize = LOCATIONS,
        .DmaBufferPhysicalAddress.QuadPart = BUFFER_PHYSICAL,
    };

    rig->answer = refuse_drawing;
    rig->told = &drawing;
    rig->caps.PresentationCaps.SupportKernelModeCommandBuffer = !drawing.is_unasked;
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
    create.Flags.GdiContext = !drawing.is_clients;
    assert_int_equal(miniport_create_context(rig->top, rig->device, &create), STATUS_SUCCESS);
    miniport_render_km(rig->top, create.hContext, &arg);
}

BROKEN(PATCH_025)
{
    draw(rig, (struct drawing){.index = 2, .bottom = 4});
}

KEPT(PATCH_025)
{
    draw(rig, (struct drawing){.index = 1, .bottom = 4});
}

static void each_wrong_drawing_breaks_PATCH_025(void **state)
{
    static const struct drawing wrong[] = {
        {.index = 1, .bottom = 4, .is_clients = true},
        {.index = 1, .bottom = 4, .is_unasked = true},
        {.index = 1, .bottom = 4, .missing_bytes = 8},
        {.index = 1, .bottom = 5},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        draw(rig, wrong[i]);
        rig_expect_only(rig, RULE_PATCH_025);
        rig_fini(rig);
        free(rig);
    }
}

BROKEN(PATCH_026)
{
    draw(rig, (struct drawing){.index = 1, .bottom = 4, .status = STATUS_NOT_SUPPORTED});
}

KEPT(PATCH_026)
{
    draw(rig, (struct drawing){.index = 1, .bottom = 4, .status = STATUS_INVALID_HANDLE});
}

/* ---- What the kernel draws by virtual addresses ---- */

/* A fill of one surface, of which the driver writes 64 bytes, and what is wrong with it. */
struct gdi {
    bool is_clients, is_unasked, is_nowhere; /* the context; no support; no address of the buffer */
    UINT index, segment;
    uint32_t wrong_bytes;
    unsigned says_present;
    uint64_t destination;
    NTSTATUS status;
};

static const struct gdi lawful_gdi = {.destination = RIG_VA + 0x10000};

static NTSTATUS answer_gdi(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_RENDERGDI *gdi = arg;

    if (ddi != MINIPORT_DDI_RenderGdi)
        return rig_answer(rig, ddi, object, arg);
    gdi->pDmaBuffer = (char *)gdi->pDmaBuffer + 64;
    return ((const struct gdi *)rig->told)->status;
}

static void draw_by_address(struct rig *rig, struct gdi gdi)
{
    RECT rectangle = {0, 0, 1024, 4};
    DXGK_RENDERKM_COMMAND command = {
        .OpCode = DXGK_GDIOP_COLORFILL,
        .CommandSize = sizeof command,
        .Command.ColorFill = {.DstRect = {0, 0, 1024, 4},
                              .DstAllocationIndex = gdi.index,
                              .NumSubRects = 1,
                              .pSubRects = &rectangle,
                              .Rop = DXGK_GDIROPCF_PATCOPY},
    };
    DXGK_ALLOCATIONLIST list[] = {{.hDeviceSpecificAllocation = (HANDLE)0x500}};
    DXGKARG_CREATECONTEXT create = {.NodeOrdinal = 1, .EngineAffinity = 1};
    DXGKARG_SUBMITCOMMANDVIRTUAL packet;
    DXGK_DRIVERCAPS caps;
    DXGKARG_RENDERGDI arg = {
        .pCommand = &command,
        .CommandLength = sizeof command,
        .pDmaBuffer = rig->buffer,
        .DmaBufferGpuVirtualAddress = gdi.is_nowhere ? 0 : RIG_VA,
        .DmaSize = BUFFER_BYTES,
        .pAllocationList = list,
        .AllocationListSize = 1,
    };

    list[0].VirtualAddress = gdi.destination;
    list[0].SegmentId = gdi.segment;
    rig->answer = answer_gdi;
    rig->told = &gdi;
    rig->caps.PresentationCaps.SupportKernelModeCommandBuffer = !gdi.is_unasked;
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
    create.Flags.GdiContext = !gdi.is_clients;
    create.Flags.VirtualAddressing = 1;
    assert_int_equal(miniport_create_context(rig->top, rig->device, &create), STATUS_SUCCESS);
    rig_set_root(rig, create.hContext);
    miniport_render_gdi(rig->top, create.hContext, &arg);
    if (gdi.is_nowhere || !NT_SUCCESS(gdi.status))
        return;
    packet = rig_packet_virtual(rig);
    packet.hContext = create.hContext;
    packet.DmaBufferVirtualAddress = RIG_VA;
    packet.DmaBufferSize = 64 + gdi.wrong_bytes;
    packet.Flags.Present = gdi.says_present;
    rig_submit_virtual(rig, &packet);
}

static void each_wrong_drawing_by_address_breaks_its_rule(void **state)
{
    static const struct {
        enum rule_id rule;
        struct gdi wrong;
    } cases[] = {
        {RULE_NONE, {0}},
        {RULE_PATCH_025, {.is_clients = true}},
        {RULE_PATCH_025, {.is_unasked = true}},
        {RULE_PATCH_025, {.index = 1}},
        {RULE_PATCH_023, {.is_nowhere = true}},
        {RULE_PATCH_023, {.segment = 1}},
        {RULE_PATCH_023, {.destination = 8}},
        {RULE_PATCH_023, {.wrong_bytes = 8}},
        {RULE_PATCH_020, {.says_present = 1}},
        {RULE_PATCH_026, {.status = STATUS_NOT_SUPPORTED}},
        {RULE_PATCH_026, {.status = STATUS_INVALID_HANDLE}}, /* RenderKm has it */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig *rig = malloc(sizeof *rig);
        struct gdi gdi = cases[i].wrong;

        assert_non_null(rig);
        gdi.destination += lawful_gdi.destination;
        rig_init(rig, RIG_GPUMMU);
        draw_by_address(rig, gdi);
        rig_expect_only(rig, cases[i].rule);
        assert_true(rig->counts.evaluated[RULE_PATCH_023] > 0);
        assert_int_equal(rig->counts.evaluated[RULE_PATCH_026], 1);
        rig_fini(rig);
        free(rig);
    }
}

/* In a fresh DMA buffer each time, and MultipassOffset stays: 64 and one for each word of it. */
static void a_drawing_by_address_does_not_fill_dma_buffers_for_ever(void **state)
{
    struct gdi gdi = lawful_gdi;
    const unsigned most = 64 + sizeof(DXGK_RENDERKM_COMMAND) / sizeof(ULONG);
    struct rig *rig = malloc(sizeof *rig);
    DXGK_RENDERKM_COMMAND command = {.OpCode = DXGK_GDIOP_ESCAPE, .CommandSize = sizeof command};
    DXGKARG_CREATECONTEXT create = {.NodeOrdinal = 1, .EngineAffinity = 1};
    DXGK_DRIVERCAPS caps;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    gdi.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    rig->answer = answer_gdi;
    rig->told = &gdi;
    rig->caps.PresentationCaps.SupportKernelModeCommandBuffer = 1;
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
    create.Flags.GdiContext = 1;
    create.Flags.VirtualAddressing = 1;
    assert_int_equal(miniport_create_context(rig->top, rig->device, &create), STATUS_SUCCESS);
    for (unsigned times = 1; times <= most; times++) {
        DXGKARG_RENDERGDI arg = {.pCommand = &command,
                                 .CommandLength = sizeof command,
                                 .pDmaBuffer = rig->buffer,
                                 .DmaBufferGpuVirtualAddress = RIG_VA,
                                 .DmaSize = BUFFER_BYTES};

        miniport_render_gdi(rig->top, create.hContext, &arg);
        rig_expect_only(rig, times < most ? RULE_NONE : RULE_PATCH_014);
    }
    rig_fini(rig);
    free(rig);
}

BROKEN(PATCH_008)
{
    uint32_t fence = run_commands(rig, new_commands(rig));

    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, LOCATIONS * LOCATION_BYTES);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
    rig_complete(rig, RIG_CLIENT_NODE, fence);
}

KEPT(PATCH_008)
{
    uint32_t fence = run_commands(rig, new_commands(rig));

    rig_run(rig, RIG_CLIENT_NODE, fence, LOCATIONS * LOCATION_BYTES);
}

static void patch_paging(struct rig *rig, bool edits)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));
    struct commands *commands = new_commands(rig);
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
    struct commands *commands = new_commands(rig);
    DXGKARG_PATCH patch;

    call_render(rig, commands);
    patch = patch_of(rig, commands, 1, LOCATIONS);
    patch.DmaBufferPhysicalAddress.QuadPart += LOCATION_BYTES;
    miniport_patch(rig->top, NULL, &patch);
}

KEPT(PATCH_010)
{
    struct commands *commands = new_commands(rig);

    call_render(rig, commands);
    patch_and_submit(rig, commands, 1, LOCATIONS);
}

/* ---- Render ---- */

BROKEN(PATCH_011)
{
    struct commands *commands = new_commands(rig);

    commands->prepatch_error = 4096;
    call_render(rig, commands);
}

KEPT(PATCH_011)
{
    call_render(rig, new_commands(rig));
}

static uint32_t count_addresses(void *context, const void *commands, uint64_t bytes)
{
    return LOCATIONS;
}

static uint32_t count_one_more(void *context, const void *commands, uint64_t bytes)
{
    return LOCATIONS + 1;
}

static void every_address_has_a_location(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_prepare(rig, RIG_PHYSICAL);
        rig->config.count_references = i ? count_one_more : count_addresses;
        rig_init_prepared(rig);
        call_render(rig, new_commands(rig));
        rig_expect_only(rig, i ? RULE_PATCH_011 : RULE_NONE);
        rig_fini(rig);
        free(rig);
    }
}

BROKEN(PATCH_012)
{
    struct commands *commands = new_commands(rig);

    commands->split = 2 * LOCATION_BYTES;
    call_render(rig, commands);
}

KEPT(PATCH_012)
{
    struct commands *commands = new_commands(rig);

    commands->split = LOCATION_BYTES; /* as the one behind it */
    call_render(rig, commands);
}

BROKEN(PATCH_013)
{
    struct commands *commands = new_commands(rig);

    commands->slot = 16;
    call_render(rig, commands);
    assert_string_equal(rig->last.text, "slot 16; MaxAllocationListSlotId is 16");
}

KEPT(PATCH_013)
{
    struct commands *commands = new_commands(rig);

    commands->slot = 15;
    call_render(rig, commands);
}

/* A command reaches so far into the second allocation of the list, which takes four pages. */
static void reach_into_four_pages(struct rig *rig, uint64_t size, uint32_t offset)
{
    struct commands *commands = new_commands(rig);
    DXGK_ALLOCATIONINFO info = {.Size = size};
    DXGK_OPENALLOCATIONINFO opened = {0};
    const DXGKARG_OPENALLOCATION open = {.NumAllocations = 1, .pOpenAllocation = &opened};

    opened.hAllocation = (D3DKMT_HANDLE)(uintptr_t)rig_create_allocation(rig, &info);
    miniport_open_allocation(rig->top, rig->device, &open);
    commands->allocations[1].hDeviceSpecificAllocation = opened.hDeviceSpecificAllocation;
    commands->allocations[1].SegmentId = 0;
    commands->allocation_offset = offset;
    call_render(rig, commands);
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
    struct commands *commands = new_commands(rig);

    commands->status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    call_render(rig, commands);
}

KEPT(PATCH_014)
{
    struct commands *commands = new_commands(rig);

    commands->status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    commands->multipass = 64;
    call_render(rig, commands);
}

static void want_buffers(struct rig *rig, struct commands *commands, unsigned count)
{
    commands->status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    for (unsigned i = 0; i < count; i++) {
        commands->multipass++;
        call_render(rig, commands);
    }
}

/* Progress or not: there is an end to it, which is farther away where there is more to translate.
 */
static void a_command_buffer_does_not_fill_dma_buffers_for_ever(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned words = 0; words < 200; words += 100) {
        struct commands *commands;

        rig_init(rig, RIG_PHYSICAL);
        commands = new_commands(rig);
        commands->bytes = words * 4;
        want_buffers(rig, commands, 63 + words);
        commands->status = STATUS_SUCCESS; /* the next command buffer begins anew */
        call_render(rig, commands);
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
    struct commands *commands;

    assert_non_null(rig);
    rig_prepare(rig, RIG_PHYSICAL);
    rig->config.guarantees_one_buffer = true;
    rig_init_prepared(rig);
    commands = new_commands(rig);
    call_render(rig, commands);
    rig_expect_only(rig, RULE_NONE);
    commands->status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    commands->multipass = 64;
    call_render(rig, commands);
    rig_expect_only(rig, RULE_PATCH_014);
    assert_non_null(strstr(rig->last.text, "is guaranteed to be enough"));
    rig_fini(rig);
    free(rig);
}

BROKEN(PATCH_015)
{
    struct commands *commands = new_commands(rig);

    commands->allocations[1].PhysicalAddress.QuadPart = 16 << 20; /* behind the segment */
    call_render(rig, commands);
}

KEPT(PATCH_015)
{
    struct commands *commands = new_commands(rig);

    commands->allocations[1].PhysicalAddress.QuadPart = (16 << 20) - 4096;
    commands->allocations[1].WriteOperation = 1;
    call_render(rig, commands);
}

BROKEN(PATCH_016)
{
    struct commands *commands = new_commands(rig);

    commands->status = STATUS_ACCESS_VIOLATION; /* of the user's buffer, not caught */
    call_render(rig, commands);
}

KEPT(PATCH_016)
{
    struct commands *commands = new_commands(rig);

    commands->status = STATUS_INVALID_USER_BUFFER;
    call_render(rig, commands);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_wrong_drawing_breaks_PATCH_025),
        cmocka_unit_test(each_wrong_drawing_by_address_breaks_its_rule),
        cmocka_unit_test(a_drawing_by_address_does_not_fill_dma_buffers_for_ever),
        cmocka_unit_test(what_is_patched_is_resident),
        cmocka_unit_test(what_patch_adds_to_a_paging_buffer_is_advice),
        cmocka_unit_test(a_fault_is_a_wrong_address),
        cmocka_unit_test(bytes_around_the_buffer_are_watched),
        cmocka_unit_test(a_rectangle_outside_of_the_destination_is_found),
        cmocka_unit_test(what_present_has_made_is_what_is_submitted),
        cmocka_unit_test(what_render_has_made_is_no_present),
        cmocka_unit_test(each_member_that_says_an_address_is_looked_at),
        cmocka_unit_test(a_present_goes_with_its_context),
        cmocka_unit_test(a_present_does_not_fill_dma_buffers_for_ever),
        cmocka_unit_test(every_address_has_a_location),
        cmocka_unit_test(a_command_buffer_does_not_fill_dma_buffers_for_ever),
        cmocka_unit_test(one_buffer_is_enough_where_it_is_guaranteed),
    };

    return RIG_RUN_TESTS(tests);
}
