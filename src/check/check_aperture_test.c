#include "check/test_rig_submit.h"

#include "miniport/lend.h"

#define APERTURE 2u
#define PAGES    8u

/* A list of PAGES frames, 0x100 and up. */
struct frames {
    MDL mdl;
    PFN_NUMBER pages[PAGES];
};

static struct frames frames_of(PFN_NUMBER first)
{
    struct frames frames = {.mdl = {.MdlFlags = MDL_PAGES_LOCKED, .ByteCount = PAGES * 4096}};

    for (unsigned i = 0; i < PAGES; i++)
        frames.pages[i] = first + 3 * i;
    return frames;
}

static HANDLE make_allocation(struct rig *rig)
{
    DXGK_ALLOCATIONINFO info = {
        .Size = PAGES * 4096, .SupportedReadSegmentSet = 2, .SupportedWriteSegmentSet = 2};

    info.FlagsWddm2.AccessedPhysically = rig->model == RIG_GPUMMU;
    return rig_create_allocation(rig, &info);
}

static DXGKARG_BUILDPAGINGBUFFER map_of(struct rig *rig, HANDLE allocation, SIZE_T slot,
                                        struct frames *frames)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT};

    arg.MapApertureSegment.hDevice = rig->device;
    arg.MapApertureSegment.hAllocation = allocation;
    arg.MapApertureSegment.SegmentId = APERTURE;
    arg.MapApertureSegment.OffsetInPages = slot;
    arg.MapApertureSegment.NumberOfPages = PAGES;
    arg.MapApertureSegment.pMdl = &frames->mdl;
    return arg;
}

static DXGKARG_BUILDPAGINGBUFFER unmap_of(struct rig *rig, HANDLE allocation, SIZE_T slot)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_UNMAP_APERTURE_SEGMENT};

    arg.UnmapApertureSegment.hDevice = rig->device;
    arg.UnmapApertureSegment.hAllocation = allocation;
    arg.UnmapApertureSegment.SegmentId = APERTURE;
    arg.UnmapApertureSegment.OffsetInPages = slot;
    arg.UnmapApertureSegment.NumberOfPages = PAGES;
    arg.UnmapApertureSegment.DummyPage.QuadPart = RIG_DUMMY_PAGE * 4096;
    return arg;
}

/* Submits what was built; it retires. */
static void retire(struct rig *rig)
{
    rig_complete(rig, 0, rig_submit(rig));
}

static void build_and_retire(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER arg)
{
    rig_build(rig, &arg);
    retire(rig);
}

/* Maps at slot 8 and gives the allocation. The MDL is dead behind it. */
static HANDLE map_some(struct rig *rig)
{
    struct frames frames = frames_of(0x100);
    HANDLE allocation = make_allocation(rig);

    build_and_retire(rig, map_of(rig, allocation, 8, &frames));
    return allocation;
}

/* A driver that does what its `told` says with an operation on slots, and is lawful otherwise. */
typedef NTSTATUS build_function(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg);

static NTSTATUS answer_slots(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_BUILDPAGINGBUFFER *build = arg;
    build_function *const *function = rig->told;

    if (ddi != MINIPORT_DDI_BuildPagingBuffer || build->Operation == DXGK_OPERATION_FILL)
        return rig_answer(rig, ddi, object, arg);
    return (*function)(rig, build);
}

#define ANSWER_WITH(function)                                                                      \
    static build_function *const told = (function);                                                \
    rig->answer = answer_slots;                                                                    \
    rig->told = (void *)&told

/* ---- What the driver does with slots --------------------------------------------------------- */

static NTSTATUS do_nothing(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return STATUS_SUCCESS;
}

static void map_ignored(struct rig *rig)
{
    struct frames frames = frames_of(0x100);
    HANDLE allocation = make_allocation(rig);
    DXGKARG_BUILDPAGINGBUFFER map = map_of(rig, allocation, 8, &frames);
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(allocation);

    rig_build(rig, &map);
    rig_build(rig, &fill);
    retire(rig);
}

RULE_BROKEN(APER_001)
{
    ANSWER_WITH(do_nothing);
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

static NTSTATUS ignore_offset(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER lawful = *arg;
    NTSTATUS status;

    if (lawful.Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT)
        lawful.MapApertureSegment.MdlOffset = 0;
    else
        lawful.MapApertureSegment2.AdlOffset = 0;
    status = rig_answer_build(rig, &lawful);
    arg->pDmaBuffer = lawful.pDmaBuffer;
    return status;
}

static void map_from_the_middle(struct rig *rig)
{
    struct frames frames = frames_of(0x100);
    DXGKARG_BUILDPAGINGBUFFER map = map_of(rig, make_allocation(rig), 8, &frames);

    map.MapApertureSegment.MdlOffset = 4;
    map.MapApertureSegment.NumberOfPages = 4;
    build_and_retire(rig, map);
}

RULE_BROKEN(APER_002)
{
    ANSWER_WITH(ignore_offset);
    map_from_the_middle(rig);
    assert_non_null(strstr(rig->last.text, "slot 0x8 of aperture segment 2 shows page 0x100; "));
    assert_non_null(strstr(rig->last.text, "put page 0x10c there"));
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
    struct frames frames = frames_of(0x100);
    DXGK_ALLOCATIONINFO info = {
        .Flags.Cached = 1, .Flags.CpuVisible = 1, .SupportedWriteSegmentSet = 2};
    DXGKARG_BUILDPAGINGBUFFER map = map_of(rig, rig_create_allocation(rig, &info), 8, &frames);

    map.MapApertureSegment.Flags.CacheCoherent = 1;
    build_and_retire(rig, map);
}

RULE_BROKEN(APER_007)
{
    ANSWER_WITH(do_not_snoop);
    map_cached(rig);
}

RULE_KEPT(APER_007)
{
    map_cached(rig);
}

/* It writes commands, and they do nothing. */
static NTSTATUS keep_slots(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    uint64_t slots[RIG_SLOTS];
    NTSTATUS status;

    memcpy(slots, rig->slots, sizeof slots);
    status = rig_answer_build(rig, arg);
    memcpy(rig->slots, slots, sizeof slots);
    return status;
}

RULE_BROKEN(APER_009)
{
    HANDLE allocation = map_some(rig);

    ANSWER_WITH(keep_slots);
    build_and_retire(rig, unmap_of(rig, allocation, 8));
    assert_non_null(strstr(rig->last.text, "put page 0x77, the dummy page, there"));
}

RULE_KEPT(APER_009)
{
    build_and_retire(rig, unmap_of(rig, map_some(rig), 8));
}

static void fault_at(struct rig *rig, uint64_t address)
{
    check_gpu(rig->check,
              &(struct check_gpu_event){.kind = CHECK_GPU_FAULT, .node = 1, .address = address});
}

RULE_BROKEN_IN(APER_010, RIG_PHYSICAL)
{
    build_and_retire(rig, unmap_of(rig, map_some(rig), 8));
    fault_at(rig, (1u << 30) + 8 * 4096);
}

/* Where nothing was ever mapped a fault is the client's own. */
RULE_KEPT_IN(APER_010, RIG_PHYSICAL)
{
    build_and_retire(rig, unmap_of(rig, map_some(rig), 8));
    fault_at(rig, (1u << 30) + 100 * 4096);
}

/* Mapping slots 8 and up, it writes the one behind them, too. */
static NTSTATUS write_one_more(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    NTSTATUS status = rig_answer_build(rig, arg);

    rig->slots[8 + PAGES] = 0x500;
    return status;
}

static void map_beside(struct rig *rig)
{
    struct frames frames = frames_of(0x200);
    struct frames others = frames_of(0x300);

    build_and_retire(rig, map_of(rig, make_allocation(rig), 8 + PAGES, &frames));
    if (rig->told)
        rig->answer = answer_slots;
    build_and_retire(rig, map_of(rig, make_allocation(rig), 8, &others));
}

RULE_BROKEN(APER_013)
{
    ANSWER_WITH(write_one_more);
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
    struct frames frames = frames_of(0x100);
    HANDLE allocation = make_allocation(rig);
    DXGKARG_BUILDPAGINGBUFFER map = map_of(rig, allocation, 8, &frames);
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
    struct frames frames = frames_of(0x100);
    DXGKARG_BUILDPAGINGBUFFER map = map_of(rig, make_allocation(rig), 8, &frames);

    ANSWER_WITH(be_busy);
    rig_build(rig, &map);
}

RULE_KEPT(APER_015)
{
    map_some(rig);
}

/* ---- What the system asks -------------------------------------------------------------------- */

static void map_at(struct rig *rig, SIZE_T slot)
{
    struct frames frames = frames_of(0x100);

    build_and_retire(rig, map_of(rig, make_allocation(rig), slot, &frames));
}

RULE_BROKEN(APER_003)
{
    map_at(rig, RIG_SLOTS - PAGES + 1);
}

RULE_KEPT(APER_003)
{
    map_at(rig, RIG_SLOTS - PAGES);
}

static void a_list_that_is_too_short_or_not_locked_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned i = 0; i < 2; i++) {
        struct frames frames = frames_of(0x100);
        DXGKARG_BUILDPAGINGBUFFER map;

        rig_init(rig, RIG_GPUMMU);
        map = map_of(rig, make_allocation(rig), 8, &frames);
        if (i)
            frames.mdl.MdlFlags = 0;
        else
            map.MapApertureSegment.MdlOffset = 1;
        rig->answer = answer_slots;
        rig->told = (build_function *[]){do_nothing};
        rig_build(rig, &map);
        rig_expect_only(rig, RULE_APER_003);
        rig_fini(rig);
    }
    free(rig);
}

RULE_BROKEN(APER_004)
{
    map_at(rig, 8);
    map_at(rig, 8 + PAGES - 1);
}

RULE_KEPT(APER_004)
{
    build_and_retire(rig, unmap_of(rig, map_some(rig), 8));
    map_at(rig, 8);
}

RULE_BROKEN(APER_005)
{
    struct frames frames = frames_of(0x100);

    build_and_retire(rig, map_of(rig, (HANDLE)0x666000, 8, &frames));
}

RULE_KEPT(APER_005)
{
    struct frames frames = frames_of(0x100);

    build_and_retire(rig, map_of(rig, NULL, 8, &frames));
}

RULE_BROKEN(APER_006)
{
    HANDLE allocation = map_some(rig);
    DXGKARG_BUILDPAGINGBUFFER unmap = unmap_of(rig, allocation, 8);

    unmap.UnmapApertureSegment.hDevice = rig_create_device(rig, rig->process);
    build_and_retire(rig, unmap);
}

RULE_KEPT(APER_006)
{
    build_and_retire(rig, unmap_of(rig, map_some(rig), 8));
}

RULE_BROKEN(APER_008)
{
    struct frames frames = frames_of(0x100);
    DXGKARG_BUILDPAGINGBUFFER map = map_of(rig, make_allocation(rig), 8, &frames);

    map.MapApertureSegment.Flags.CacheCoherent = 1;
    build_and_retire(rig, map);
}

RULE_KEPT(APER_008)
{
    map_cached(rig);
}

RULE_BROKEN(APER_011)
{
    build_and_retire(rig, unmap_of(rig, map_some(rig), 8));
    rig->dummy[100] = 1;
}

RULE_KEPT(APER_011)
{
    rig->dummy[100] = 1; /* it holds what it holds */
    build_and_retire(rig, unmap_of(rig, map_some(rig), 8));
}

static void another_dummy_page_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    HANDLE allocation;
    DXGKARG_BUILDPAGINGBUFFER unmap;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    allocation = map_some(rig);
    unmap = unmap_of(rig, allocation, 8);
    unmap.UnmapApertureSegment.NumberOfPages = 4;
    build_and_retire(rig, unmap);
    rig_expect_only(rig, RULE_NONE);
    unmap.UnmapApertureSegment.OffsetInPages = 12;
    unmap.UnmapApertureSegment.DummyPage.QuadPart += 4096;
    build_and_retire(rig, unmap);
    rig_expect_only(rig, RULE_APER_011);
    rig_fini(rig);
    free(rig);
}

/* A client's packet uses slot 8; whether it retires before the slot is unmapped is the test's. */
static void unmap_behind_a_packet(struct rig *rig, bool is_retired)
{
    HANDLE allocation = map_some(rig);
    DXGK_ALLOCATIONLIST list = {.SegmentId = APERTURE,
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
    build_and_retire(rig, unmap_of(rig, allocation, 8));
}

RULE_BROKEN_IN(APER_012, RIG_PHYSICAL)
{
    unmap_behind_a_packet(rig, false);
}

RULE_KEPT_IN(APER_012, RIG_PHYSICAL)
{
    unmap_behind_a_packet(rig, true);
}

RULE_BROKEN(APER_016)
{
    build_and_retire(rig, unmap_of(rig, map_some(rig), 9));
}

RULE_KEPT(APER_016)
{
    HANDLE allocation = map_some(rig);
    DXGKARG_BUILDPAGINGBUFFER unmap = unmap_of(rig, allocation, 8);

    unmap.UnmapApertureSegment.NumberOfPages = 3;
    build_and_retire(rig, unmap);
    unmap.UnmapApertureSegment.OffsetInPages = 11;
    unmap.UnmapApertureSegment.NumberOfPages = 5;
    build_and_retire(rig, unmap);
}

static void set_commit_limit(struct rig *rig, SIZE_T pages)
{
    DXGK_DRIVERCAPS caps;

    rig->caps.ApertureSegmentCommitLimit = pages * 4096;
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
}

RULE_BROKEN(APER_017)
{
    set_commit_limit(rig, 2 * PAGES - 1);
    map_at(rig, 8);
    map_at(rig, 80);
}

RULE_KEPT(APER_017)
{
    set_commit_limit(rig, 2 * PAGES);
    build_and_retire(rig, unmap_of(rig, map_some(rig), 8));
    map_at(rig, 8);
    map_at(rig, 80);
}

RULE_BROKEN(APER_018)
{
    map_some(rig);
    miniport_reset_from_timeout(rig->top, NULL);
    miniport_restart_from_timeout(rig->top, NULL);
    rig_new_buffer(rig);
    map_at(rig, 8);
}

RULE_KEPT(APER_018)
{
    HANDLE allocation = map_some(rig);
    DXGKARG_BUILDPAGINGBUFFER unmap = unmap_of(rig, allocation, 8);

    miniport_reset_from_timeout(rig->top, NULL);
    rig_new_buffer(rig);
    rig_build(rig, &unmap);
    miniport_restart_from_timeout(rig->top, NULL);
    retire(rig);
    map_at(rig, 8);
}

/* ---- Address lists --------------------------------------------------------------------------- */

/* From here on the driver is one of WDDM 2.9 that takes address lists. */
static void take_lists(struct rig *rig)
{
    rig->version = DXGKDDI_INTERFACE_VERSION_WDDM2_9;
    rig->caps.MemoryManagementCaps.MapAperture2Supported = 1;
    rig_start(rig);
}

static DXGKARG_BUILDPAGINGBUFFER map_array(struct rig *rig, HANDLE allocation, SIZE_T slot,
                                           struct frames *frames)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT2};

    arg.MapApertureSegment2.hDevice = rig->device;
    arg.MapApertureSegment2.hAllocation = allocation;
    arg.MapApertureSegment2.SegmentId = APERTURE;
    arg.MapApertureSegment2.OffsetInPages = slot;
    arg.MapApertureSegment2.NumberOfPages = PAGES;
    arg.MapApertureSegment2.Adl.PageCount = PAGES;
    arg.MapApertureSegment2.Adl.Pages = (DXGK_PAGE_NUMBER *)frames->pages;
    return arg;
}

static DXGKARG_BUILDPAGINGBUFFER map_contiguous(struct rig *rig, HANDLE allocation, SIZE_T slot)
{
    DXGKARG_BUILDPAGINGBUFFER arg = map_array(rig, allocation, slot, &(struct frames){0});

    arg.MapApertureSegment2.Adl.Flags.Contiguous = 1;
    arg.MapApertureSegment2.Adl.BasePageNumber = 0x400;
    return arg;
}

static void map_both_kinds(struct rig *rig)
{
    struct frames frames = frames_of(0x100);

    build_and_retire(rig, map_array(rig, make_allocation(rig), 8, &frames));
    build_and_retire(rig, map_contiguous(rig, make_allocation(rig), 80));
}

RULE_BROKEN(APER_019)
{
    HANDLE allocation;
    DXGKARG_BUILDPAGINGBUFFER unmap, fill;

    take_lists(rig);
    allocation = make_allocation(rig);
    build_and_retire(rig, map_contiguous(rig, allocation, 8));
    ANSWER_WITH(do_nothing);
    unmap = unmap_of(rig, allocation, 8);
    fill = rig_fill(allocation);
    rig_build(rig, &unmap);
    rig_build(rig, &fill);
    retire(rig);
}

RULE_KEPT(APER_019)
{
    HANDLE allocation;

    take_lists(rig);
    allocation = make_allocation(rig);
    build_and_retire(rig, map_contiguous(rig, allocation, 8));
    build_and_retire(rig, unmap_of(rig, allocation, 8));
}

RULE_BROKEN(ADL_001)
{
    rig_fini(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->config.remaps_dma = true;
    rig_init_prepared(rig);
}

RULE_KEPT(ADL_001)
{
    rig_fini(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->config.remaps_dma = true;
    rig->version = DXGKDDI_INTERFACE_VERSION_WDDM2_9;
    rig->caps.MemoryManagementCaps.MapAperture2Supported = 1;
    rig_init_prepared(rig);
}

RULE_BROKEN(ADL_002)
{
    take_lists(rig);
    map_at(rig, 8);
}

RULE_KEPT(ADL_002)
{
    take_lists(rig);
    map_both_kinds(rig);
}

RULE_BROKEN(ADL_003)
{
    struct frames frames = frames_of(0x100);

    take_lists(rig);
    ANSWER_WITH(keep_slots);
    build_and_retire(rig, map_array(rig, make_allocation(rig), 8, &frames));
}

RULE_KEPT(ADL_003)
{
    take_lists(rig);
    map_both_kinds(rig);
}

RULE_BROKEN(ADL_004)
{
    DXGKARG_BUILDPAGINGBUFFER map;

    take_lists(rig);
    map = map_contiguous(rig, make_allocation(rig), 8);
    map.MapApertureSegment2.Adl.BasePageNumber = RIG_RAM_PAGES - PAGES + 1;
    build_and_retire(rig, map);
}

RULE_KEPT(ADL_004)
{
    DXGKARG_BUILDPAGINGBUFFER map;

    take_lists(rig);
    map = map_contiguous(rig, make_allocation(rig), 8);
    map.MapApertureSegment2.Adl.BasePageNumber = RIG_RAM_PAGES - PAGES;
    build_and_retire(rig, map);
}

RULE_BROKEN(ADL_005)
{
    struct frames frames = frames_of(0x100);

    take_lists(rig);
    frames.pages[PAGES - 1] = RIG_RAM_PAGES; /* what stands behind the end of an array */
    build_and_retire(rig, map_array(rig, make_allocation(rig), 8, &frames));
}

RULE_KEPT(ADL_005)
{
    struct frames frames = frames_of(0x100);

    take_lists(rig);
    frames.pages[PAGES - 1] = 1; /* in any order */
    build_and_retire(rig, map_array(rig, make_allocation(rig), 8, &frames));
}

static void map_list_from_the_middle(struct rig *rig)
{
    DXGKARG_BUILDPAGINGBUFFER map = map_contiguous(rig, make_allocation(rig), 8);

    map.MapApertureSegment2.AdlOffset = 4;
    map.MapApertureSegment2.NumberOfPages = 4;
    build_and_retire(rig, map);
}

RULE_BROKEN(ADL_006)
{
    take_lists(rig);
    ANSWER_WITH(ignore_offset);
    map_list_from_the_middle(rig);
}

RULE_KEPT(ADL_006)
{
    take_lists(rig);
    map_list_from_the_middle(rig);
}

RULE_BROKEN(ADL_007)
{
    DXGKARG_BUILDPAGINGBUFFER map;

    take_lists(rig);
    map = map_contiguous(rig, make_allocation(rig), 8);
    map.MapApertureSegment2.AdlOffset = 1;
    build_and_retire(rig, map);
}

RULE_KEPT(ADL_007)
{
    take_lists(rig);
    map_list_from_the_middle(rig);
}

/* The device's addresses are remapped. */
static void remap(struct rig *rig)
{
    rig_fini(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->config.remaps_dma = true;
    rig->version = DXGKDDI_INTERFACE_VERSION_WDDM2_9;
    rig->caps.MemoryManagementCaps.MapAperture2Supported = 1;
    rig_init_prepared(rig);
}

RULE_BROKEN(ADL_008)
{
    struct frames frames = frames_of(0x100);

    remap(rig);
    build_and_retire(rig, map_array(rig, make_allocation(rig), 8, &frames));
}

RULE_KEPT(ADL_008)
{
    remap(rig);
    build_and_retire(rig, map_contiguous(rig, make_allocation(rig), 8));
}

/* It takes what it saw first for the mode that holds. */
static NTSTATUS expect_arrays(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->MapApertureSegment2.Adl.Flags.Contiguous ? keep_slots(rig, arg)
                                                         : rig_answer_build(rig, arg);
}

RULE_BROKEN(ADL_009)
{
    take_lists(rig);
    ANSWER_WITH(expect_arrays);
    map_both_kinds(rig);
}

RULE_KEPT(ADL_009)
{
    take_lists(rig);
    map_both_kinds(rig);
}

static void map_with_view(struct rig *rig, PVOID view)
{
    DXGK_ALLOCATIONINFO info = {.SupportedWriteSegmentSet = 2};
    DXGKARG_BUILDPAGINGBUFFER map;

    take_lists(rig);
    info.FlagsWddm2.AccessedPhysically = 1;
    info.FlagsWddm2.MapApertureCpuVisible = 1;
    map = map_contiguous(rig, rig_create_allocation(rig, &info), 8);
    map.MapApertureSegment2.CpuVisibleAddress = view;
    build_and_retire(rig, map);
}

RULE_BROKEN(ADL_011)
{
    map_with_view(rig, NULL);
}

RULE_KEPT(ADL_011)
{
    map_with_view(rig, rig->private_data);
}

static void create_visible(struct rig *rig)
{
    DXGK_ALLOCATIONINFO info = {.SupportedWriteSegmentSet = 2};

    info.FlagsWddm2.AccessedPhysically = 1;
    info.FlagsWddm2.MapApertureCpuVisible = 1;
    rig_create_allocation(rig, &info);
}

RULE_BROKEN(ADL_012)
{
    take_lists(rig);
    rig->caps.MemoryManagementCaps.MapAperture2Supported = 0;
    rig_start(rig);
    create_visible(rig);
}

RULE_KEPT(ADL_012)
{
    take_lists(rig);
    create_visible(rig);
}

RULE_BROKEN(ADL_013)
{
    DXGK_ALLOCATIONINFO info = {.SupportedWriteSegmentSet = 2};

    take_lists(rig);
    build_and_retire(rig, map_contiguous(rig, rig_create_allocation(rig, &info), 8));
}

RULE_KEPT(ADL_013)
{
    take_lists(rig);
    build_and_retire(rig, map_contiguous(rig, make_allocation(rig), 8));
}

/* It reads the array when its commands run: what is lent is not there any more. */
static NTSTATUS read_later(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    NTSTATUS status = rig_answer_build(rig, arg);

    for (unsigned i = 0; i < PAGES; i++)
        rig->slots[8 + i] = LEND_STALE_PAGE + 1;
    return status;
}

RULE_BROKEN(ADL_014)
{
    struct frames frames = frames_of(0x100);

    take_lists(rig);
    ANSWER_WITH(read_later);
    build_and_retire(rig, map_array(rig, make_allocation(rig), 8, &frames));
}

RULE_KEPT(ADL_014)
{
    take_lists(rig);
    map_both_kinds(rig);
}

/* ---- How it is looked at --------------------------------------------------------------------- */

static void a_driver_that_says_it_cannot_map_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct frames frames = frames_of(0x100);
    DXGKARG_BUILDPAGINGBUFFER map;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    map = map_of(rig, make_allocation(rig), 8, &frames);
    rig->answer = answer_slots;
    rig->told = (build_function *[]){has_no_map};
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
        map_some(rig);
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
        RULE_PAIR(APER_001),
        RULE_PAIR(APER_002),
        RULE_PAIR(APER_003),
        RULE_PAIR(APER_004),
        RULE_PAIR(APER_005),
        RULE_PAIR(APER_006),
        RULE_PAIR(APER_007),
        RULE_PAIR(APER_008),
        RULE_PAIR(APER_009),
        RULE_PAIR(APER_010),
        RULE_PAIR(APER_011),
        RULE_PAIR(APER_012),
        RULE_PAIR(APER_013),
        RULE_PAIR(APER_014),
        RULE_PAIR(APER_015),
        RULE_PAIR(APER_016),
        RULE_PAIR(APER_017),
        RULE_PAIR(APER_018),
        RULE_PAIR(APER_019),
        RULE_PAIR(ADL_001),
        RULE_PAIR(ADL_002),
        RULE_PAIR(ADL_003),
        RULE_PAIR(ADL_004),
        RULE_PAIR(ADL_005),
        RULE_PAIR(ADL_006),
        RULE_PAIR(ADL_007),
        RULE_PAIR(ADL_008),
        RULE_PAIR(ADL_009),
        RULE_PAIR(ADL_011),
        RULE_PAIR(ADL_012),
        RULE_PAIR(ADL_013),
        RULE_PAIR(ADL_014),
        cmocka_unit_test(a_list_that_is_too_short_or_not_locked_is_found),
        cmocka_unit_test(another_dummy_page_is_found),
        cmocka_unit_test(a_driver_that_says_it_cannot_map_is_found),
        cmocka_unit_test(a_slot_that_changes_by_itself_is_found_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
