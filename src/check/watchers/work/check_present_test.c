/*
 * Rules of commands that the driver makes by itself: of DxgkDdiPresent, and of what the kernel
 * draws (DxgkDdiRenderKm, DxgkDdiRenderGdi).
 */
#include "check/rig/test_rig_commands.h"
#include "check/rig/test_rig_tables.h"

#define BROKEN(identifier) RULE_BROKEN_IN(identifier, RIG_PHYSICAL)
#define KEPT(identifier)   RULE_KEPT_IN(identifier, RIG_PHYSICAL)

/* ---- Present ---- */

/* A copy, or a fill, of two rectangles. */
static NTSTATUS call_present(struct rig *rig, struct rig_commands *commands, bool is_fill,
                             bool has_source, LONG bottom)
{
    const RECT parts[] = {{0, 0, 1024, 4}, {0, 4, 1024, bottom}};
    DXGK_ALLOCATIONLIST list[MINIPORT_PRESENT_ALLOCATIONS] = {{0}};
    DXGKARG_PRESENT arg = {
        .pDmaBuffer = commands->buffer,
        .DmaSize = RIG_COMMANDS_BYTES,
        .pAllocationList = list,
        .pPatchLocationListOut = commands->locations,
        .PatchLocationListOutSize = RIG_LOCATIONS,
        .SrcRect = {0, 0, 1024, 8},
        .DstRect = {0, 0, 1024, 8},
        .SubRectCnt = 2,
        .pDstSubRects = (RECT *)parts,
        .DmaBufferPhysicalAddress.QuadPart = RIG_COMMANDS_PHYSICAL,
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
    call_present(rig, rig_new_commands(rig), false, false, 8);
}

KEPT(PATCH_019)
{
    call_present(rig, rig_new_commands(rig), false, true, 8);
    call_present(rig, rig_new_commands(rig), true, false, 8);
}

static void a_rectangle_outside_of_the_destination_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    call_present(rig, rig_new_commands(rig), false, true, 9);
    rig_expect_only(rig, RULE_PATCH_019);
    rig_fini(rig);
    free(rig);
}

/* Patch and the submission agree with each other, and not with who has made the buffer. */
static void submit_a_present(struct rig *rig, unsigned says)
{
    struct rig_commands *commands = rig_new_commands(rig);
    DXGKARG_PATCH patch;
    DXGKARG_SUBMITCOMMAND submit;

    call_present(rig, commands, true, false, 8);
    patch = rig_patch_of(rig, commands, 0, 0);
    patch.PatchLocationListSize = 0;
    submit = rig_submit_of(rig, &patch);
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
                                               .DmaSize = RIG_COMMANDS_BYTES,
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
    rig_render_commands(rig, rig_new_commands(rig));
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
    struct rig_commands *commands = rig_new_commands(rig);

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
    struct rig_commands *commands = rig_new_commands(rig);
    DXGKARG_CREATECONTEXT create = {.NodeOrdinal = 1, .EngineAffinity = 1};
    DXGK_DRIVERCAPS caps;
    DXGKARG_RENDER arg = {
        .pCommand = &command,
        .CommandLength = sizeof command - drawing.missing_bytes,
        .pDmaBuffer = commands->buffer,
        .DmaSize = RIG_COMMANDS_BYTES,
        .pAllocationList = commands->allocations,
        .AllocationListSize = 2,
        .pPatchLocationListOut = commands->locations,
        .PatchLocationListOutSize = RIG_LOCATIONS,
        .DmaBufferPhysicalAddress.QuadPart = RIG_COMMANDS_PHYSICAL,
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
        .DmaSize = RIG_COMMANDS_BYTES,
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
                                 .DmaSize = RIG_COMMANDS_BYTES};

        miniport_render_gdi(rig->top, create.hContext, &arg);
        rig_expect_only(rig, times < most ? RULE_NONE : RULE_PATCH_014);
    }
    rig_fini(rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_wrong_drawing_breaks_PATCH_025),
        cmocka_unit_test(each_wrong_drawing_by_address_breaks_its_rule),
        cmocka_unit_test(a_drawing_by_address_does_not_fill_dma_buffers_for_ever),
        cmocka_unit_test(a_rectangle_outside_of_the_destination_is_found),
        cmocka_unit_test(what_present_has_made_is_what_is_submitted),
        cmocka_unit_test(what_render_has_made_is_no_present),
        cmocka_unit_test(each_member_that_says_an_address_is_looked_at),
        cmocka_unit_test(a_present_goes_with_its_context),
        cmocka_unit_test(a_present_does_not_fill_dma_buffers_for_ever),
    };

    return RIG_RUN_TESTS(tests);
}
