#include "check/rig/test_rig_aperture.h"

/* ---- What the driver does with slots --------------------------------------------------------- */

static void map_ignored(struct rig *rig)
{
    struct rig_frames frames = rig_frames_of(0x100);
    HANDLE allocation = rig_aperture_allocation(rig);
    DXGKARG_BUILDPAGINGBUFFER map = rig_map_of(rig, allocation, 8, &frames);
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(allocation);

    rig_build(rig, &map);
    rig_build(rig, &fill);
    rig_retire(rig);
}

RULE_BROKEN(APER_001)
{
    RIG_ANSWER_WITH(rig_do_nothing);
    map_ignored(rig);
}

RULE_KEPT(APER_001)
{
    map_ignored(rig);
}

static NTSTATUS has_no_map(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return STATUS_NOT_SUPPORTED;
}

static void map_from_the_middle(struct rig *rig)
{
    struct rig_frames frames = rig_frames_of(0x100);
    DXGKARG_BUILDPAGINGBUFFER map = rig_map_of(rig, rig_aperture_allocation(rig), 8, &frames);

    map.MapApertureSegment.MdlOffset = 4;
    map.MapApertureSegment.NumberOfPages = 4;
    rig_build_and_retire(rig, map);
}

RULE_BROKEN(APER_002)
{
    RIG_ANSWER_WITH(rig_ignore_offset);
    map_from_the_middle(rig);
    assert_non_null(strstr(rig->last.text, "slot 0x8 of aperture segment 2 shows page 0x100; "));
    assert_non_null(strstr(rig->last.text, "put page 0x10c there"));
    /* It is seen when the packet has retired, and stands at the call that built the packet. */
    assert_string_equal(rig->last.detail.where, "DxgkDdiBuildPagingBuffer(MAP_APERTURE_SEGMENT)");
    assert_true(rig->last.detail.event && rig->last.detail.event < rig->calls.last);
    assert_non_null(strstr(rig->last.detail.arguments, "MapApertureSegment.OffsetInPages"));
}

RULE_KEPT(APER_002)
{
    map_from_the_middle(rig);
}

static NTSTATUS do_not_snoop(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    NTSTATUS status = rig_answer_build(rig, arg);

    memset(rig->is_coherent, 0, sizeof rig->is_coherent);
    return status;
}

static void map_cached(struct rig *rig)
{
    struct rig_frames frames = rig_frames_of(0x100);
    DXGK_ALLOCATIONINFO info = {
        .Flags.Cached = 1, .Flags.CpuVisible = 1, .SupportedWriteSegmentSet = 2};
    DXGKARG_BUILDPAGINGBUFFER map = rig_map_of(rig, rig_create_allocation(rig, &info), 8, &frames);

    map.MapApertureSegment.Flags.CacheCoherent = 1;
    rig_build_and_retire(rig, map);
}

RULE_BROKEN(APER_007)
{
    RIG_ANSWER_WITH(do_not_snoop);
    map_cached(rig);
}

RULE_KEPT(APER_007)
{
    map_cached(rig);
}

/* It writes commands, and they do nothing. */
RULE_BROKEN(APER_009)
{
    HANDLE allocation = rig_map_some(rig);

    RIG_ANSWER_WITH(rig_keep_slots);
    rig_build_and_retire(rig, rig_unmap_of(rig, allocation, 8));
    assert_non_null(strstr(rig->last.text, "put page 0x77, the dummy page, there"));
}

RULE_KEPT(APER_009)
{
    rig_build_and_retire(rig, rig_unmap_of(rig, rig_map_some(rig), 8));
}

/* In the middle of a packet, whose commands are elsewhere. */
static void fault_at(struct rig *rig, uint64_t address)
{
    uint32_t fence = rig_render(rig);

    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_FAULT,
                                                    .node = RIG_CLIENT_NODE,
                                                    .fence = fence,
                                                    .address = address});
}

RULE_BROKEN_IN(APER_010, RIG_PHYSICAL)
{
    rig_build_and_retire(rig, rig_unmap_of(rig, rig_map_some(rig), 8));
    fault_at(rig, (1u << 30) + 8 * 4096);
}

/* Where nothing was ever mapped a fault is the client's own. */
RULE_KEPT_IN(APER_010, RIG_PHYSICAL)
{
    rig_build_and_retire(rig, rig_unmap_of(rig, rig_map_some(rig), 8));
    fault_at(rig, (1u << 30) + 100 * 4096);
}

/* Mapping slots 8 and up, it writes the one behind them, too. */
static NTSTATUS write_one_more(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    NTSTATUS status = rig_answer_build(rig, arg);

    rig->slots[8 + RIG_PAGES] = 0x500;
    return status;
}

static void map_beside(struct rig *rig)
{
    struct rig_frames frames = rig_frames_of(0x200);
    struct rig_frames others = rig_frames_of(0x300);

    rig_build_and_retire(rig,
                         rig_map_of(rig, rig_aperture_allocation(rig), 8 + RIG_PAGES, &frames));
    if (rig->told)
        rig->answer = rig_answer_slots;
    rig_build_and_retire(rig, rig_map_of(rig, rig_aperture_allocation(rig), 8, &others));
}

RULE_BROKEN(APER_013)
{
    RIG_ANSWER_WITH(write_one_more);
    rig->answer = NULL;
    map_beside(rig);
    assert_non_null(strstr(rig->last.text, "it was right before"));
}

RULE_KEPT(APER_013)
{
    map_beside(rig);
}

/* The slots are written when the second of two packets runs. */
static void map_in_two_packets(struct rig *rig, bool is_late)
{
    struct rig_frames frames = rig_frames_of(0x100);
    HANDLE allocation = rig_aperture_allocation(rig);
    DXGKARG_BUILDPAGINGBUFFER map = rig_map_of(rig, allocation, 8, &frames);
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(allocation);
    uint64_t slots[RIG_SLOTS];
    uint32_t first, second;

    rig_build(rig, &map);
    first = rig_submit(rig);
    rig_build(rig, &fill);
    second = rig_submit(rig);
    memcpy(slots, rig->slots, sizeof slots);
    if (is_late)
        memset(rig->slots, 0, sizeof rig->slots);
    rig_complete(rig, 0, first);
    memcpy(rig->slots, slots, sizeof slots);
    rig_complete(rig, 0, second);
}

/*
 * The last slot of a mapping shows nothing when its packet retires, or when the next one does, with
 * which nothing is under way any more.
 */
static void the_last_slot_of_a_mapping_is_looked_at(void **state)
{
    static const struct {
        bool is_wrong[2];
        enum rule_id rule;
    } rows[] = {{{true, false}, RULE_APER_014}, {{false, true}, RULE_APER_002}};

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct rig_frames frames = rig_frames_of(0x100);
        DXGKARG_BUILDPAGINGBUFFER map, fill;
        uint32_t fences[2];
        uint64_t *last;
        struct rig rig;

        rig_init(&rig, RIG_GPUMMU);
        map = rig_map_of(&rig, rig_aperture_allocation(&rig), 8, &frames);
        fill = rig_fill(map.MapApertureSegment.hAllocation);
        rig_build(&rig, &map);
        fences[0] = rig_submit(&rig);
        rig_build(&rig, &fill);
        fences[1] = rig_submit(&rig);
        last = &rig.slots[8 + RIG_PAGES - 1];
        for (unsigned packet = 0; packet < 2; packet++) {
            uint64_t shown = *last;

            if (rows[i].is_wrong[packet])
                *last = 0;
            rig_complete(&rig, 0, fences[packet]);
            *last = shown;
        }
        rig_expect_only(&rig, rows[i].rule);
        rig_fini(&rig);
    }
}

RULE_BROKEN(APER_014)
{
    map_in_two_packets(rig, true);
}

RULE_KEPT(APER_014)
{
    map_in_two_packets(rig, false);
}

static NTSTATUS be_busy(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return STATUS_GRAPHICS_ALLOCATION_BUSY;
}

RULE_BROKEN(APER_015)
{
    struct rig_frames frames = rig_frames_of(0x100);
    DXGKARG_BUILDPAGINGBUFFER map = rig_map_of(rig, rig_aperture_allocation(rig), 8, &frames);

    RIG_ANSWER_WITH(be_busy);
    rig_build(rig, &map);
}

RULE_KEPT(APER_015)
{
    rig_map_some(rig);
}

/* ---- What the system asks -------------------------------------------------------------------- */

RULE_BROKEN(APER_003)
{
    rig_map_at(rig, RIG_SLOTS - RIG_PAGES + 1);
}

RULE_KEPT(APER_003)
{
    rig_map_at(rig, RIG_SLOTS - RIG_PAGES);
}

static void a_list_that_is_too_short_or_not_locked_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned i = 0; i < 2; i++) {
        struct rig_frames frames = rig_frames_of(0x100);
        DXGKARG_BUILDPAGINGBUFFER map;

        rig_init(rig, RIG_GPUMMU);
        map = rig_map_of(rig, rig_aperture_allocation(rig), 8, &frames);
        if (i)
            frames.mdl.MdlFlags = 0;
        else
            map.MapApertureSegment.MdlOffset = 1;
        rig->answer = rig_answer_slots;
        rig->told = (rig_build_function *[]){rig_do_nothing};
        rig_build(rig, &map);
        rig_expect_only(rig, RULE_APER_003);
        rig_fini(rig);
    }
    free(rig);
}

RULE_BROKEN(APER_004)
{
    rig_map_at(rig, 8);
    rig_map_at(rig, 8 + RIG_PAGES - 1);
}

RULE_KEPT(APER_004)
{
    rig_build_and_retire(rig, rig_unmap_of(rig, rig_map_some(rig), 8));
    rig_map_at(rig, 8);
}

RULE_BROKEN(APER_005)
{
    struct rig_frames frames = rig_frames_of(0x100);

    rig_build_and_retire(rig, rig_map_of(rig, (HANDLE)0x666000, 8, &frames));
}

RULE_KEPT(APER_005)
{
    struct rig_frames frames = rig_frames_of(0x100);

    rig_build_and_retire(rig, rig_map_of(rig, NULL, 8, &frames));
}

/* The driver asks what the handle stands for, as a driver must. */
static NTSTATUS open_properly(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_OpenAllocation) {
        const DXGKARG_OPENALLOCATION *open = arg;
        const DXGKARGCB_GETHANDLEDATA data = {.hObject = open->pOpenAllocation[0].hAllocation};

        rig->drivers_host->ops->get_handle_data(rig->drivers_host, &data);
    }
    return rig_answer(rig, ddi, object, arg);
}

static void open_in(struct rig *rig, HANDLE device, HANDLE allocation, bool is_creator)
{
    DXGK_OPENALLOCATIONINFO info = {.hAllocation = (D3DKMT_HANDLE)(uintptr_t)allocation};
    const DXGKARG_OPENALLOCATION open = {
        .NumAllocations = 1, .pOpenAllocation = &info, .Flags.Create = is_creator};
    NTSTATUS (*before)(struct rig *, enum miniport_ddi, HANDLE, void *) = rig->answer;

    rig->answer = open_properly;
    miniport_open_allocation(rig->top, device, &open);
    rig->answer = before;
}

RULE_BROKEN(APER_006)
{
    HANDLE allocation = rig_map_some(rig);
    DXGKARG_BUILDPAGINGBUFFER unmap = rig_unmap_of(rig, allocation, 8);

    unmap.UnmapApertureSegment.hDevice = rig_create_device(rig, rig->process);
    rig_build_and_retire(rig, unmap);
}

RULE_KEPT(APER_006)
{
    rig_build_and_retire(rig, rig_unmap_of(rig, rig_map_some(rig), 8));
}

/* The owner is the device that made the allocation; one that others opened may be any of theirs. */
static void another_device_is_the_owner_of_what_is_shared_alone(void **state)
{
    for (unsigned is_shared = 0; is_shared < 2; is_shared++) {
        struct rig *rig = malloc(sizeof *rig);
        struct rig_frames frames = rig_frames_of(0x100);
        DXGKARG_BUILDPAGINGBUFFER map;
        HANDLE allocation, other;

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        allocation = rig_aperture_allocation(rig);
        other = rig_create_device(rig, rig->process);
        open_in(rig, rig->device, allocation, true);
        if (is_shared)
            open_in(rig, other, allocation, false);
        map = rig_map_of(rig, allocation, 8, &frames);
        map.MapApertureSegment.hDevice = other;
        rig_build_and_retire(rig, map);
        rig_expect_only(rig, is_shared ? RULE_NONE : RULE_APER_006);
        rig_fini(rig);
        free(rig);
    }
}

/* Nobody is the owner of a primary, and of nothing else. */
static void nobody_owns_a_primary_alone(void **state)
{
    for (unsigned is_primary = 0; is_primary < 2; is_primary++) {
        struct rig *rig = malloc(sizeof *rig);
        struct rig_frames frames = rig_frames_of(0x100);
        DXGKARG_BUILDPAGINGBUFFER map;
        HANDLE allocation;

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_CREATE,
                                                              .is_primary = is_primary});
        allocation = rig_aperture_allocation(rig);
        open_in(rig, rig->device, allocation, true);
        map = rig_map_of(rig, allocation, 8, &frames);
        map.MapApertureSegment.hDevice = NULL;
        rig_build_and_retire(rig, map);
        rig_expect_only(rig, is_primary ? RULE_NONE : RULE_APER_006);
        rig_fini(rig);
        free(rig);
    }
}

RULE_BROKEN(APER_008)
{
    struct rig_frames frames = rig_frames_of(0x100);
    DXGKARG_BUILDPAGINGBUFFER map = rig_map_of(rig, rig_aperture_allocation(rig), 8, &frames);

    map.MapApertureSegment.Flags.CacheCoherent = 1;
    rig_build_and_retire(rig, map);
}

RULE_KEPT(APER_008)
{
    map_cached(rig);
}

RULE_BROKEN(APER_011)
{
    rig_build_and_retire(rig, rig_unmap_of(rig, rig_map_some(rig), 8));
    rig->dummy[100] = 1;
}

RULE_KEPT(APER_011)
{
    rig->dummy[100] = 1; /* it holds what it holds */
    rig_build_and_retire(rig, rig_unmap_of(rig, rig_map_some(rig), 8));
}

static void another_dummy_page_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    HANDLE allocation;
    DXGKARG_BUILDPAGINGBUFFER unmap;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    allocation = rig_map_some(rig);
    unmap = rig_unmap_of(rig, allocation, 8);
    unmap.UnmapApertureSegment.NumberOfPages = 4;
    rig_build_and_retire(rig, unmap);
    rig_expect_only(rig, RULE_NONE);
    unmap.UnmapApertureSegment.OffsetInPages = 12;
    unmap.UnmapApertureSegment.DummyPage.QuadPart += 4096;
    rig_build_and_retire(rig, unmap);
    rig_expect_only(rig, RULE_APER_011);
    rig_fini(rig);
    free(rig);
}

/* A client's packet uses slot 8; whether it retires before the slot is unmapped is the test's. */
static void unmap_behind_a_packet(struct rig *rig, bool is_retired)
{
    HANDLE allocation = rig_map_some(rig);
    DXGK_ALLOCATIONLIST list = {.SegmentId = RIG_APERTURE,
                                .PhysicalAddress.QuadPart = (1u << 30) + 8 * 4096};
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);
    DXGKARG_PATCH patch = {
        .hContext = rig->context,
        .pDmaBuffer = rig->buffer,
        .DmaBufferSize = RIG_BUFFER_BYTES,
        .DmaBufferPhysicalAddress = packet.DmaBufferPhysicalAddress,
        .DmaBufferSubmissionEndOffset = RIG_CLIENT_BYTES,
        .pDmaBufferPrivateData = rig->private_data,
        .DmaBufferPrivateDataSize = RIG_PRIVATE_BYTES,
        .DmaBufferPrivateDataSubmissionEndOffset = RIG_PRIVATE_BYTES,
        .pAllocationList = &list,
        .AllocationListSize = 1,
        .SubmissionFenceId = packet.SubmissionFenceId,
    };
    unsigned irql = rig->irql;

    rig->irql = DISPATCH_LEVEL;
    miniport_patch(rig->top, NULL, &patch);
    rig->irql = irql;
    rig_submit_packet(rig, &packet);
    if (is_retired)
        rig_complete(rig, RIG_CLIENT_NODE, packet.SubmissionFenceId);
    rig_build_and_retire(rig, rig_unmap_of(rig, allocation, 8));
}

RULE_BROKEN_IN(APER_012, RIG_PHYSICAL)
{
    unmap_behind_a_packet(rig, false);
}

RULE_KEPT_IN(APER_012, RIG_PHYSICAL)
{
    unmap_behind_a_packet(rig, true);
}

/* A paging operation writes through slot 8; whether it retires before the slot is unmapped, too. */
static void unmap_behind_a_transfer(struct rig *rig, bool is_retired)
{
    HANDLE allocation = rig_map_some(rig);
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(allocation);

    fill.Fill.FillSize = RIG_PAGES * 4096;
    rig_build(rig, &fill);
    fill = (DXGKARG_BUILDPAGINGBUFFER){
        .Operation = DXGK_OPERATION_TRANSFER,
        .Transfer = {.hAllocation = allocation,
                     .TransferSize = RIG_PAGES * 4096,
                     .Source = {.SegmentId = 1},
                     .Destination = {.SegmentId = RIG_APERTURE,
                                     .SegmentAddress.QuadPart = (1u << 30) + 8 * 4096},
                     .Flags = {.TransferStart = 1, .TransferEnd = 1}}};
    rig_build(rig, &fill);
    if (is_retired)
        rig_retire(rig);
    rig_build_and_retire(rig, rig_unmap_of(rig, allocation, 8));
}

static void slots_in_use_by_paging_are_not_unmapped(void **state)
{
    for (unsigned is_retired = 0; is_retired < 2; is_retired++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        unmap_behind_a_transfer(rig, is_retired);
        rig_expect_only(rig, is_retired ? RULE_NONE : RULE_APER_012);
        rig_fini(rig);
        free(rig);
    }
}

/* ---- DMA buffers behind slots ---------------------------------------------------------------- */

static NTSTATUS want_dma_segments(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    NTSTATUS status = rig_answer(rig, ddi, object, arg);

    if (ddi == MINIPORT_DDI_CreateContext)
        ((DXGKARG_CREATECONTEXT *)arg)->ContextInfo.DmaBufferSegmentSet = *(const UINT *)rig->told;
    return status;
}

/* A client's packet of RIG_PAGES, patched and submitted at slot 8 of the segment. */
static void run_buffer(struct rig *rig, UINT set, UINT segment)
{
    DXGKARG_SUBMITCOMMAND packet;
    DXGKARG_PATCH patch;
    unsigned irql = rig->irql;

    rig->answer = want_dma_segments;
    rig->told = &set;
    rig->context = rig_create_context(rig, rig->device, RIG_CLIENT_NODE, false);
    packet = rig_packet(rig);
    packet.DmaBufferSegmentId = segment;
    packet.DmaBufferPhysicalAddress.QuadPart = segment ? (1u << 30) + 8 * 4096 : 0x40000;
    packet.DmaBufferSize = RIG_PAGES * 4096;
    patch = (DXGKARG_PATCH){
        .hContext = rig->context,
        .DmaBufferSegmentId = packet.DmaBufferSegmentId,
        .DmaBufferPhysicalAddress = packet.DmaBufferPhysicalAddress,
        .pDmaBuffer = rig->buffer,
        .DmaBufferSize = packet.DmaBufferSize,
        .DmaBufferSubmissionEndOffset = RIG_CLIENT_BYTES,
        .pDmaBufferPrivateData = rig->private_data,
        .DmaBufferPrivateDataSize = RIG_PRIVATE_BYTES,
        .DmaBufferPrivateDataSubmissionEndOffset = RIG_PRIVATE_BYTES,
        .SubmissionFenceId = packet.SubmissionFenceId,
    };
    rig->irql = DISPATCH_LEVEL;
    miniport_patch(rig->top, NULL, &patch);
    rig->irql = irql;
    rig_submit_packet(rig, &packet);
    rig_complete(rig, RIG_CLIENT_NODE, packet.SubmissionFenceId);
}

RULE_BROKEN_IN(PATCH_017, RIG_PHYSICAL)
{
    rig_map_some(rig); /* slot 8 on shows an allocation */
    run_buffer(rig, 1u << (RIG_APERTURE - 1), RIG_APERTURE);
}

RULE_KEPT_IN(PATCH_017, RIG_PHYSICAL)
{
    struct rig_frames frames = rig_frames_of(0x100);

    rig_build_and_retire(rig, rig_map_of(rig, NULL, 8, &frames));
    run_buffer(rig, 1u << (RIG_APERTURE - 1), RIG_APERTURE);
    run_buffer(rig, 0, 0);
}

static void a_buffer_in_another_segment_than_the_context_wants_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned wants = 0; wants < 2; wants++) {
        struct rig_frames frames = rig_frames_of(0x100);

        rig_init(rig, RIG_PHYSICAL);
        rig_build_and_retire(rig, rig_map_of(rig, NULL, 8, &frames));
        run_buffer(rig, wants ? 1u << (RIG_APERTURE - 1) : 0, wants ? 0 : RIG_APERTURE);
        rig_expect_only(rig, RULE_PATCH_017);
        rig_fini(rig);
    }
    free(rig);
}

/* No slot shows a buffer of no bytes, and one of GpuMmu is at an address of its process. */
static void a_buffer_that_no_slot_shows_is_not_looked_for(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (enum rig_model model = RIG_PHYSICAL; model <= RIG_GPUMMU; model++) {
        DXGKARG_SUBMITCOMMAND packet;

        rig_init(rig, model);
        packet = rig_packet(rig);
        packet.DmaBufferSegmentId = RIG_APERTURE;
        packet.DmaBufferPhysicalAddress.QuadPart = (1u << 30) + 8 * 4096;
        if (model == RIG_PHYSICAL)
            packet.DmaBufferSize = packet.DmaBufferSubmissionEndOffset = 0;
        rig_submit_packet(rig, &packet);
        assert_int_equal(rig->counts.evaluated[RULE_PATCH_017], 0);
        rig_fini(rig);
    }
    free(rig);
}

RULE_BROKEN_IN(CTX_015, RIG_PHYSICAL)
{
    UINT memory = 1;

    rig->answer = want_dma_segments;
    rig->told = &memory;
    rig_create_context(rig, rig->device, RIG_CLIENT_NODE, false);
}

RULE_KEPT_IN(CTX_015, RIG_PHYSICAL)
{
    UINT set = 1u << (RIG_APERTURE - 1);

    rig->answer = want_dma_segments;
    rig->told = &set;
    rig_create_context(rig, rig->device, RIG_CLIENT_NODE, false);
}

RULE_BROKEN(APER_016)
{
    rig_build_and_retire(rig, rig_unmap_of(rig, rig_map_some(rig), 9));
}

RULE_KEPT(APER_016)
{
    HANDLE allocation = rig_map_some(rig);
    DXGKARG_BUILDPAGINGBUFFER unmap = rig_unmap_of(rig, allocation, 8);

    unmap.UnmapApertureSegment.NumberOfPages = 3;
    rig_build_and_retire(rig, unmap);
    unmap.UnmapApertureSegment.OffsetInPages = 11;
    unmap.UnmapApertureSegment.NumberOfPages = 5;
    rig_build_and_retire(rig, unmap);
}

static void set_commit_limit(struct rig *rig, SIZE_T pages)
{
    DXGK_DRIVERCAPS caps;

    rig->caps.ApertureSegmentCommitLimit = pages * 4096;
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
}

RULE_BROKEN(APER_017)
{
    set_commit_limit(rig, 2 * RIG_PAGES - 1);
    rig_map_at(rig, 8);
    rig_map_at(rig, 80);
}

RULE_KEPT(APER_017)
{
    set_commit_limit(rig, 2 * RIG_PAGES);
    rig_build_and_retire(rig, rig_unmap_of(rig, rig_map_some(rig), 8));
    rig_map_at(rig, 8);
    rig_map_at(rig, 80);
}

RULE_BROKEN(APER_018)
{
    rig_map_some(rig);
    miniport_reset_from_timeout(rig->top, NULL);
    miniport_restart_from_timeout(rig->top, NULL);
    rig_new_buffer(rig);
    rig_map_at(rig, 8);
}

RULE_KEPT(APER_018)
{
    HANDLE allocation = rig_map_some(rig);
    DXGKARG_BUILDPAGINGBUFFER unmap = rig_unmap_of(rig, allocation, 8);

    miniport_reset_from_timeout(rig->top, NULL);
    rig_new_buffer(rig);
    rig_build(rig, &unmap);
    miniport_restart_from_timeout(rig->top, NULL);
    rig_retire(rig);
    rig_map_at(rig, 8);
}

RULE_BROKEN(APER_020)
{
    struct rig_frames frames = rig_frames_of(0x100);

    rig_build_and_retire(rig, rig_map_of(rig, NULL, 8, &frames));
    miniport_set_power_state(rig->top, 0, PowerDeviceD3, PowerActionSleep);
}

RULE_KEPT(APER_020)
{
    struct rig_frames frames = rig_frames_of(0x100);

    rig_build_and_retire(rig, rig_map_of(rig, NULL, 8, &frames));
    rig_build_and_retire(rig, rig_unmap_of(rig, NULL, 8));
    rig_build_and_retire(rig, rig_unmap_of(rig, rig_map_some(rig), 8));
    miniport_set_power_state(rig->top, 0, PowerDeviceD3, PowerActionSleep);
}

/* ---- How it is looked at --------------------------------------------------------------------- */

static void a_driver_that_says_it_cannot_map_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct rig_frames frames = rig_frames_of(0x100);
    DXGKARG_BUILDPAGINGBUFFER map;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    map = rig_map_of(rig, rig_aperture_allocation(rig), 8, &frames);
    rig->answer = rig_answer_slots;
    rig->told = (rig_build_function *[]){has_no_map};
    rig_build(rig, &map);
    rig_expect_only(rig, RULE_APER_001);
    rig_fini(rig);
    free(rig);
}

static void a_slot_that_changes_by_itself_is_found_at_the_end(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned sleeps = 0; sleeps < 2; sleeps++) {
        rig_init(rig, RIG_GPUMMU);
        rig_map_some(rig);
        rig->slots[11] = 0;
        if (sleeps)
            miniport_set_power_state(rig->top, 0, PowerDeviceD3, PowerActionSleep);
        check_end(rig->check, true);
        assert_int_equal(rig->counts.broken[RULE_APER_013], !sleeps);
        rig_fini(rig);
    }
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_device_is_the_owner_of_what_is_shared_alone),
        cmocka_unit_test(nobody_owns_a_primary_alone),
        cmocka_unit_test(the_last_slot_of_a_mapping_is_looked_at),
        cmocka_unit_test(a_list_that_is_too_short_or_not_locked_is_found),
        cmocka_unit_test(another_dummy_page_is_found),
        cmocka_unit_test(slots_in_use_by_paging_are_not_unmapped),
        cmocka_unit_test(a_buffer_in_another_segment_than_the_context_wants_is_found),
        cmocka_unit_test(a_buffer_that_no_slot_shows_is_not_looked_for),
        cmocka_unit_test(a_driver_that_says_it_cannot_map_is_found),
        cmocka_unit_test(a_slot_that_changes_by_itself_is_found_at_the_end),
    };

    return RIG_RUN_TESTS(tests);
}
