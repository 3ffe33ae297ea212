#include "check/rig/test_rig_aperture.h"

#include "layers/lend.h"

/* From here on the driver is one of WDDM 2.9 that takes address lists. */
static void take_lists(struct rig *rig)
{
    rig->version = DXGKDDI_INTERFACE_VERSION_WDDM2_9;
    rig->caps.MemoryManagementCaps.MapAperture2Supported = 1;
    rig_start(rig);
}

static DXGKARG_BUILDPAGINGBUFFER map_array(struct rig *rig, HANDLE allocation, SIZE_T slot,
                                           struct rig_frames *frames)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT2};

    arg.MapApertureSegment2.hDevice = rig->device;
    arg.MapApertureSegment2.hAllocation = allocation;
    arg.MapApertureSegment2.SegmentId = RIG_APERTURE;
    arg.MapApertureSegment2.OffsetInPages = slot;
    arg.MapApertureSegment2.NumberOfPages = RIG_PAGES;
    arg.MapApertureSegment2.Adl.PageCount = RIG_PAGES;
    arg.MapApertureSegment2.Adl.Pages = (DXGK_PAGE_NUMBER *)frames->pages;
    return arg;
}

static DXGKARG_BUILDPAGINGBUFFER map_contiguous(struct rig *rig, HANDLE allocation, SIZE_T slot)
{
    DXGKARG_BUILDPAGINGBUFFER arg = map_array(rig, allocation, slot, &(struct rig_frames){0});

    arg.MapApertureSegment2.Adl.Flags.Contiguous = 1;
    arg.MapApertureSegment2.Adl.BasePageNumber = 0x400;
    return arg;
}

static void map_both_kinds(struct rig *rig)
{
    struct rig_frames frames = rig_frames_of(0x100);

    rig_build_and_retire(rig, map_array(rig, rig_aperture_allocation(rig), 8, &frames));
    rig_build_and_retire(rig, map_contiguous(rig, rig_aperture_allocation(rig), 80));
}

RULE_BROKEN(APER_019)
{
    HANDLE allocation;
    DXGKARG_BUILDPAGINGBUFFER unmap, fill;

    take_lists(rig);
    allocation = rig_aperture_allocation(rig);
    rig_build_and_retire(rig, map_contiguous(rig, allocation, 8));
    RIG_ANSWER_WITH(rig_do_nothing);
    unmap = rig_unmap_of(rig, allocation, 8);
    fill = rig_fill(allocation);
    rig_build(rig, &unmap);
    rig_build(rig, &fill);
    rig_retire(rig);
}

RULE_KEPT(APER_019)
{
    HANDLE allocation;

    take_lists(rig);
    allocation = rig_aperture_allocation(rig);
    rig_build_and_retire(rig, map_contiguous(rig, allocation, 8));
    rig_build_and_retire(rig, rig_unmap_of(rig, allocation, 8));
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
    rig_map_at(rig, 8);
}

RULE_KEPT(ADL_002)
{
    take_lists(rig);
    map_both_kinds(rig);
}

RULE_BROKEN(ADL_003)
{
    struct rig_frames frames = rig_frames_of(0x100);

    take_lists(rig);
    RIG_ANSWER_WITH(rig_keep_slots);
    rig_build_and_retire(rig, map_array(rig, rig_aperture_allocation(rig), 8, &frames));
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
    map = map_contiguous(rig, rig_aperture_allocation(rig), 8);
    map.MapApertureSegment2.Adl.BasePageNumber = RIG_RAM_PAGES - RIG_PAGES + 1;
    rig_build_and_retire(rig, map);
}

RULE_KEPT(ADL_004)
{
    DXGKARG_BUILDPAGINGBUFFER map;

    take_lists(rig);
    map = map_contiguous(rig, rig_aperture_allocation(rig), 8);
    map.MapApertureSegment2.Adl.BasePageNumber = RIG_RAM_PAGES - RIG_PAGES;
    rig_build_and_retire(rig, map);
}

RULE_BROKEN(ADL_005)
{
    struct rig_frames frames = rig_frames_of(0x100);

    take_lists(rig);
    frames.pages[RIG_PAGES - 1] = RIG_RAM_PAGES; /* what stands behind the end of an array */
    rig_build_and_retire(rig, map_array(rig, rig_aperture_allocation(rig), 8, &frames));
}

RULE_KEPT(ADL_005)
{
    struct rig_frames frames = rig_frames_of(0x100);

    take_lists(rig);
    frames.pages[RIG_PAGES - 1] = 1; /* in any order */
    rig_build_and_retire(rig, map_array(rig, rig_aperture_allocation(rig), 8, &frames));
}

static void map_list_from_the_middle(struct rig *rig)
{
    DXGKARG_BUILDPAGINGBUFFER map = map_contiguous(rig, rig_aperture_allocation(rig), 8);

    map.MapApertureSegment2.AdlOffset = 4;
    map.MapApertureSegment2.NumberOfPages = 4;
    rig_build_and_retire(rig, map);
}

RULE_BROKEN(ADL_006)
{
    take_lists(rig);
    RIG_ANSWER_WITH(rig_ignore_offset);
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
    map = map_contiguous(rig, rig_aperture_allocation(rig), 8);
    map.MapApertureSegment2.AdlOffset = 1;
    rig_build_and_retire(rig, map);
}

RULE_KEPT(ADL_007)
{
    take_lists(rig);
    map_list_from_the_middle(rig);
}

/* The device's addresses are remapped. */
static void remap(struct rig *rig, unsigned version)
{
    rig_fini(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->config.remaps_dma = true;
    rig->version = version;
    rig->caps.MemoryManagementCaps.MapAperture2Supported = 1;
    rig_init_prepared(rig);
}

RULE_BROKEN(ADL_008)
{
    struct rig_frames frames = rig_frames_of(0x100);

    remap(rig, DXGKDDI_INTERFACE_VERSION_WDDM2_9);
    rig_build_and_retire(rig, map_array(rig, rig_aperture_allocation(rig), 8, &frames));
}

RULE_KEPT(ADL_008)
{
    remap(rig, DXGKDDI_INTERFACE_VERSION_WDDM2_9);
    rig_build_and_retire(rig, map_contiguous(rig, rig_aperture_allocation(rig), 8));
}

/* The list of a mapping in an auxiliary MMU is one, too. */
static void map_in_mmu(struct rig *rig, bool is_contiguous)
{
    struct rig_frames frames = rig_frames_of(0x100);
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_MAP_MMU};

    arg.MmapMmu.hAllocation = rig_aperture_allocation(rig);
    arg.MmapMmu.VirtualAddress = 0x10000;
    arg.MmapMmu.MmuId = 1;
    arg.MmapMmu.Adl.PageCount = RIG_PAGES;
    arg.MmapMmu.Adl.Flags.Contiguous = is_contiguous;
    if (is_contiguous)
        arg.MmapMmu.Adl.BasePageNumber = 0x400;
    else
        arg.MmapMmu.Adl.Pages = (DXGK_PAGE_NUMBER *)frames.pages;
    rig_build_and_retire(rig, arg);
}

static void lists_of_auxiliary_mmus_are_judged_too(void **state)
{
    for (unsigned is_contiguous = 0; is_contiguous < 2; is_contiguous++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        remap(rig, DXGKDDI_INTERFACE_VERSION_WDDM3_2);
        map_in_mmu(rig, is_contiguous);
        check_end(rig->check, false);
        if (is_contiguous)
            rig_expect_silence(rig, RULE_ADL_008);
        else
            rig_expect_only(rig, RULE_ADL_008);
        rig_fini(rig);
        free(rig);
    }
}

/* It takes what it saw first for the mode that holds. */
static NTSTATUS expect_arrays(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->MapApertureSegment2.Adl.Flags.Contiguous ? rig_keep_slots(rig, arg)
                                                         : rig_answer_build(rig, arg);
}

RULE_BROKEN(ADL_009)
{
    take_lists(rig);
    RIG_ANSWER_WITH(expect_arrays);
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
    rig_build_and_retire(rig, map);
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
    rig_build_and_retire(rig, map_contiguous(rig, rig_create_allocation(rig, &info), 8));
}

RULE_KEPT(ADL_013)
{
    take_lists(rig);
    rig_build_and_retire(rig, map_contiguous(rig, rig_aperture_allocation(rig), 8));
}

/* It reads the array when its commands run: what is lent is not there any more. */
static NTSTATUS read_later(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    NTSTATUS status = rig_answer_build(rig, arg);

    for (unsigned i = 0; i < RIG_PAGES; i++)
        rig->slots[8 + i] = LEND_STALE_PAGE + 1;
    return status;
}

RULE_BROKEN(ADL_014)
{
    struct rig_frames frames = rig_frames_of(0x100);

    take_lists(rig);
    RIG_ANSWER_WITH(read_later);
    rig_build_and_retire(rig, map_array(rig, rig_aperture_allocation(rig), 8, &frames));
}

RULE_KEPT(ADL_014)
{
    take_lists(rig);
    map_both_kinds(rig);
}

/* A page that the slots show, or another one. */
static void map_for_cpu(struct rig *rig, uint64_t page)
{
    struct rig_frames frames = rig_frames_of(0x100);

    take_lists(rig);
    rig_build_and_retire(rig, map_array(rig, rig_aperture_allocation(rig), 8, &frames));
    check_maps(rig->check, &page, 1);
}

RULE_BROKEN(ADL_010)
{
    map_for_cpu(rig, 0x100);
}

RULE_KEPT(ADL_010)
{
    map_for_cpu(rig, 0x5000);
}

/* What the driver left in the flags of a creation that failed is nothing. */
static void a_creation_that_fails_says_nothing_of_its_flags(void **state)
{
    struct rig_refusal refusal = {MINIPORT_DDI_CreateAllocation, STATUS_NO_MEMORY};
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    take_lists(rig);
    rig->caps.MemoryManagementCaps.MapAperture2Supported = 0;
    rig_start(rig);
    rig_refuse(rig, &refusal);
    create_visible(rig);
    assert_int_equal(rig->counts.evaluated[RULE_ADL_012], 0);
    assert_int_equal(rig->counts.broken[RULE_ADL_012], 0);
    rig_fini(rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_auxiliary_mmus_are_judged_too),
        cmocka_unit_test(a_creation_that_fails_says_nothing_of_its_flags),
    };

    return RIG_RUN_TESTS(tests);
}
