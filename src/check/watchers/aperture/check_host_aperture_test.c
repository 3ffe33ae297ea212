#include "check/rig/test_rig.h"

#define SLOTS 64u

/* A driver with a CPU host aperture of SLOTS pages; it points at once. */
static NTSTATUS point(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_MapCpuHostAperture) {
        const DXGKARG_MAPCPUHOSTAPERTURE *map = arg;

        for (UINT64 i = 0; i < map->NumberOfPages; i++)
            rig->window[map->pCpuHostAperturePages[i] % RIG_SLOTS] =
                map->pMemorySegmentPages[i] + 1;
    } else if (ddi == MINIPORT_DDI_UnmapCpuHostAperture) {
        const DXGKARG_UNMAPCPUHOSTAPERTURE *unmap = arg;

        for (UINT64 i = 0; i < unmap->NumberOfPages; i++)
            rig->window[unmap->pCpuHostAperturePages[i] % RIG_SLOTS] = 0;
    }
    return rig_answer(rig, ddi, object, arg);
}

static void describe(struct rig *rig)
{
    rig->segments[0].Flags.SupportsCpuHostAperture = 1;
    rig->segments[0].CpuHostAperture.PhysicalAddress = RIG_BAR;
    rig->segments[0].CpuHostAperture.SizeInPages = SLOTS;
    rig->has_window = true;
    rig->answer = point;
}

static void open_aperture(struct rig *rig)
{
    describe(rig);
    rig_query_segments(rig);
}

/* Nothing exists but the adapter and its segments. */
static void open_cold(struct rig *rig)
{
    rig_fini(rig);
    rig_init_cold(rig, RIG_GPUMMU);
    describe(rig);
    rig_start(rig);
}

/* Three pages in no order. */
static NTSTATUS map(struct rig *rig)
{
    UINT32 slots[] = {7, 3, 9};
    UINT64 pages[] = {0x20, 0x10, 0x11};
    const DXGKARG_MAPCPUHOSTAPERTURE arg = {
        .SegmentId = 1,
        .NumberOfPages = 3,
        .pCpuHostAperturePages = slots,
        .pMemorySegmentPages = pages,
    };

    return miniport_map_cpu_host_aperture(rig->top, NULL, &arg);
}

static void unmap(struct rig *rig)
{
    UINT32 slots[] = {3, 7, 9};
    const DXGKARG_UNMAPCPUHOSTAPERTURE arg = {
        .SegmentId = 1, .NumberOfPages = 3, .pCpuHostAperturePages = slots};

    miniport_unmap_cpu_host_aperture(rig->top, NULL, &arg);
}

static NTSTATUS refuse_map(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    return ddi == MINIPORT_DDI_MapCpuHostAperture ? STATUS_INVALID_DEVICE_STATE
                                                  : point(rig, ddi, object, arg);
}

RULE_BROKEN(CHA_001)
{
    open_cold(rig);
    rig->answer = refuse_map;
    map(rig);
    assert_non_null(strstr(rig->last.text, "before any context of a client exists"));
}

RULE_KEPT(CHA_001)
{
    open_cold(rig);
    map(rig);
}

/* It takes the pages for a run from the first one on. */
static NTSTATUS point_in_order(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const DXGKARG_MAPCPUHOSTAPERTURE *map = arg;

    if (ddi != MINIPORT_DDI_MapCpuHostAperture)
        return point(rig, ddi, object, arg);
    for (UINT64 i = 0; i < map->NumberOfPages; i++)
        rig->window[map->pCpuHostAperturePages[i]] = map->pMemorySegmentPages[0] + i + 1;
    return STATUS_SUCCESS;
}

RULE_BROKEN(CHA_002)
{
    open_aperture(rig);
    rig->answer = point_in_order;
    map(rig);
    assert_non_null(strstr(rig->last.text, "element 2, slot 0x9: the CPU sees 0x22000 of local"));
}

RULE_KEPT(CHA_002)
{
    open_aperture(rig);
    map(rig);
}

RULE_BROKEN(CHA_003)
{
    open_aperture(rig);
    map(rig);
    map(rig);
}

RULE_KEPT(CHA_003)
{
    open_aperture(rig);
    map(rig);
    unmap(rig);
    map(rig);
}

static void what_is_not_mapped_is_not_unmapped(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    open_aperture(rig);
    map(rig);
    unmap(rig);
    rig_expect_only(rig, RULE_NONE);
    unmap(rig);
    rig_expect_only(rig, RULE_CHA_003);
    rig_fini(rig);
    free(rig);
}

static NTSTATUS refuse_unmap(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    return ddi == MINIPORT_DDI_UnmapCpuHostAperture ? STATUS_INVALID_PARAMETER
                                                    : point(rig, ddi, object, arg);
}

RULE_BROKEN(CHA_004)
{
    open_aperture(rig);
    map(rig);
    rig->answer = refuse_unmap;
    unmap(rig);
}

RULE_KEPT(CHA_004)
{
    open_aperture(rig);
    map(rig);
    unmap(rig);
}

RULE_BROKEN(CHA_005)
{
    open_aperture(rig);
    map(rig);
    miniport_set_power_state(rig->top, 0, PowerDeviceD3, PowerActionNone);
}

RULE_KEPT(CHA_005)
{
    open_aperture(rig);
    map(rig);
    unmap(rig);
    miniport_set_power_state(rig->top, 0, PowerDeviceD3, PowerActionNone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_mapped_is_not_unmapped),
    };

    return RIG_RUN_TESTS(tests);
}
